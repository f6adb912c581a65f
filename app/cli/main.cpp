// SPDX-License-Identifier: MIT
#include "app/cli/cli.hpp"

int main(int argc, char** argv) {
    return placewright::run_cli(argc, argv);
}
