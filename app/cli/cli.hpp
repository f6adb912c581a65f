// SPDX-License-Identifier: MIT
// The command line: placewright-cli COMMAND [argument...].
#pragma once

namespace placewright {

/// Runs one command with the arguments of main() and returns the exit status (see exit_status.hpp). Results
/// go to standard output, messages to standard error; nothing is thrown.
int run_cli(int argc, char** argv);

}  // namespace placewright
