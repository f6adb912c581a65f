// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "app/manual/program_options.hpp"

namespace placewright {

/// Scripts that complete the command line of a program in a shell: commands, options, and values that are
/// known, such as names of shipped networks.
std::string bash_completion(const ProgramUsage& program);
std::string zsh_completion(const ProgramUsage& program);
std::string fish_completion(const ProgramUsage& program);

}  // namespace placewright
