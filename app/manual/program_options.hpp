// SPDX-License-Identifier: MIT
// What a program takes on its command line, for its manual pages and for completion in shells.
#pragma once

#include <string>
#include <vector>

namespace placewright {

struct ProgramOption {
    std::vector<std::string> names;  ///< "--seed" or "-h"; none for a positional argument
    std::string value;               ///< name of its value, such as "N"; empty for a flag
    std::string help;
    // What a shell offers for the value.
    std::vector<std::string> choices = {};
    bool takes_files = false;
    bool is_optional = true;   ///< of a positional argument: whether it may be left out
    bool is_repeated = false;  ///< of a positional argument: whether there may be several

    bool is_flag() const { return value.empty(); }
};

struct ProgramCommand {
    std::string name;  ///< empty: the program has no commands
    std::string help;
    std::vector<ProgramOption> arguments;  ///< positional
    std::vector<ProgramOption> options;
    std::string notes;  ///< tables and paragraphs that follow the options in --help
};

struct ProgramUsage {
    std::string name;
    std::string help;
    std::vector<ProgramCommand> commands;
    std::vector<ProgramOption> options;  ///< of the program itself
    std::string notes;
};

/// placewright-cli, as its parser knows it.
ProgramUsage command_line_program();

/// The window, placewright.
ProgramUsage window_program();

}  // namespace placewright
