// SPDX-License-Identifier: MIT
// The command line: placewright-cli COMMAND [argument...].
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace placewright {

/// Runs one command with the arguments of main() and returns the exit status (see exit_status.hpp). Results
/// go to standard output, messages to standard error; nothing is thrown.
int run_cli(int argc, char** argv);

/// Calls `use` with the parser of the command line, which knows all commands and options.
void with_parser(const std::function<void(const CLI::App&)>& use);

}  // namespace placewright
