// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "app/manual/program_options.hpp"

namespace placewright {

/// Manual page of a program (section 1, macros of man(7)), with a list of its commands. `has_help`: the pages
/// of the help are installed in section 7.
std::string manual_page(const ProgramUsage& program, const std::string& version, bool has_help);

/// Manual page of one command, called PROGRAM-COMMAND.
std::string manual_page(const ProgramUsage& program, const ProgramCommand& command,
                        const std::string& version, bool has_help);

}  // namespace placewright
