// SPDX-License-Identifier: MIT
#include <algorithm>

#include "app/manual/program_options.hpp"
#include "app/window/arguments.hpp"

namespace placewright {

ProgramUsage window_program() {
    // What the command line offers for the same values.
    const ProgramUsage command_line = command_line_program();
    const auto optimize = std::ranges::find(command_line.commands, "optimize", &ProgramCommand::name);
    const auto take = [&](ProgramOption& option, const std::string& name) {
        for (const auto* options : {&optimize->options, &optimize->arguments}) {
            for (const ProgramOption& known : *options) {
                if (known.value != name && std::ranges::find(known.names, name) == known.names.end())
                    continue;
                option.choices = known.choices;
                option.takes_files = known.takes_files;
            }
        }
    };
    ProgramUsage program{"placewright", arguments::kDescription, {}, {}, {}};
    program.options = {{{"-h", "--help"}, "", "Print this help and exit."},
                       {{"-v", "--version"}, "", "Print the version and exit."}};
    ProgramCommand command;
    ProgramOption file{{}, arguments::kFile.value, arguments::kFile.help};
    take(file, "GRAPH");
    command.arguments.push_back(std::move(file));
    for (const arguments::Option& known : arguments::kOptions) {
        ProgramOption option{{std::string("--") + known.name}, known.value, known.help};
        const std::string value = known.value;
        if (value == "ALGORITHM") {
            take(option, "--algorithm");
        } else if (value == "MACHINE") {
            take(option, "--machine");
        } else if (value == "TRACE" || value == "RULES" || value == "OUT") {
            option.takes_files = true;
        }
        command.options.push_back(std::move(option));
    }
    program.commands.push_back(std::move(command));
    return program;
}

}  // namespace placewright
