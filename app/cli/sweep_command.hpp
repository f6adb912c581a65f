// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "app/cli/usage.hpp"

namespace placewright {

struct SweepArguments {
    std::string file;
    std::string out;
    std::string part;        ///< "K/N"; empty: everything
    std::string placements;  ///< folder; empty: none are written
    unsigned threads = 0;
    bool json = false;

    void add_to(CLI::App& command);
};

/// placewright-cli sweep. Returns the exit status.
int run_sweep(const SweepArguments& arguments);

}  // namespace placewright
