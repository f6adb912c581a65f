// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include <CLI/CLI.hpp>

#include "app/cli/cli.hpp"
#include "app/cli/usage.hpp"
#include "app/manual/program_options.hpp"
#include "core/algorithms.hpp"
#include "core/io/placements/placement_formats.hpp"
#include "core/io/shipped.hpp"
#include "core/learn/policies.hpp"

namespace placewright {
namespace {

std::vector<std::string> names_of(const std::vector<ShippedFile>& files) {
    std::vector<std::string> names;
    for (const ShippedFile& file : files) names.push_back(file.name);
    return names;
}

std::vector<std::string> algorithm_names() {
    std::vector<std::string> names;
    for (const AlgorithmInfo& algorithm : algorithms()) names.push_back(algorithm.id);
    return names;
}

/// Sets what a shell offers for the value of an option, by the name of the option and by its type.
void complete(ProgramOption& option, const std::string& name, const std::string& type) {
    constexpr std::array kFiles{"FILE", "FILES", "OUT",   "DIR",    "FOLDER",        "TABLE",
                                "P",    "F",     "SWEEP", "POLICY", "TRACE[=MODEL]", "MACHINE"};
    if (name == "GRAPH" || name == "GRAPHS" || name == "--network") {
        option.choices = names_of(shipped_networks());
        option.takes_files = true;
    } else if (name == "--machine") {
        option.choices = names_of(shipped_machines());
        option.takes_files = true;
    } else if (name == "--catalogue") {
        option.choices = names_of(shipped_catalogues());
        option.takes_files = true;
    } else if (name == "--algorithm" || name == "--algorithms") {
        option.choices = algorithm_names();
    } else if (name == "--to") {
        for (const PlacementFormat& format : placement_formats()) option.choices.emplace_back(format.id);
    } else if (name == "--policy") {
        for (const PolicyInfo& policy : policies()) option.choices.push_back(policy.id);
    } else if (type.find('|') != std::string::npos) {
        for (std::size_t begin = 0; begin <= type.size();) {
            const std::size_t end = std::min(type.find('|', begin), type.size());
            // "scope[:DEPTH]" is offered as "scope".
            const std::string choice = type.substr(begin, end - begin);
            option.choices.push_back(choice.substr(0, choice.find('[')));
            begin = end + 1;
        }
    } else if (std::ranges::find(kFiles, name.starts_with('-') ? type : name) != kFiles.end()) {
        option.takes_files = true;
    }
}

ProgramOption program_option(const CLI::Option& option) {
    const usage::HelpText help;
    ProgramOption result;
    result.help = help.make_option_desc(&option);
    if (option.get_positional()) {
        result.value = option.get_name(true);
        complete(result, result.value, option.get_type_name());
        result.is_optional = !option.get_required();
        result.is_repeated = option.get_expected_max() > 1;
        return result;
    }
    for (const std::string& name : option.get_snames()) result.names.push_back('-' + name);
    for (const std::string& name : option.get_lnames()) result.names.push_back("--" + name);
    result.value = option.get_type_size() == 0 ? "" : option.get_type_name();
    complete(result, result.names.back(), result.value);
    return result;
}

std::vector<ProgramOption> options_of(const CLI::App& app, bool positional) {
    std::vector<ProgramOption> options;
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_positional() == positional && !option->get_group().empty())
            options.push_back(program_option(*option));
    }
    return options;
}

}  // namespace

ProgramUsage command_line_program() {
    ProgramUsage program;
    with_parser([&](const CLI::App& app) {
        program.name = app.get_name();
        program.help = app.get_description();
        program.options = options_of(app, false);
        program.notes = app.get_footer();
        for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
            program.commands.push_back({command->get_name(), command->get_description(),
                                        options_of(*command, true), options_of(*command, false),
                                        command->get_footer()});
        }
    });
    return program;
}

}  // namespace placewright
