// SPDX-License-Identifier: MIT
#include "app/cli/complaint.hpp"

#include <algorithm>
#include <vector>

#include "app/cli/usage.hpp"
#include "core/base/closest_name.hpp"

namespace placewright {
namespace {

std::string unknown_option(const std::string& given, const CLI::App& command) {
    const std::string name = given.substr(0, given.find('='));
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& known : option->get_lnames()) names.push_back("--" + known);
    }
    return "unknown option " + given + similar_to(name, names);
}

std::string unknown_command(const std::string& name, const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* known : app.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(known->get_name());
    return usage::unknown(name, "command", names);
}

/// "GRAPH, --catalogue and --budget are required"; empty if the command has all that it always needs.
std::string missing(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options()) {
        if (option->get_required() && option->count() == 0) names.push_back(option->get_name());
    }
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i)
        text += (i == 0 ? "" : i + 1 < names.size() ? ", " : " and ") + names[i];
    return names.empty() ? text : text + (names.size() == 1 ? " is required" : " are required");
}

}  // namespace

std::string complaint(const CLI::App& app, const CLI::ParseError& error) {
    const auto commands = app.get_subcommands();
    const CLI::App& command = commands.empty() ? app : *commands.front();
    const std::vector<std::string> extras = command.remaining();
    const auto option =
        std::ranges::find_if(extras, [](const std::string& extra) { return extra.starts_with('-'); });
    std::string text = error.what();
    if (commands.empty() && extras.empty()) {
        text = "a command is required";
    } else if (commands.empty() && option != extras.begin()) {
        text = unknown_command(extras.front(), app);
    } else if (option != extras.end()) {
        text = unknown_option(*option, command);
    } else if (!extras.empty()) {
        text = "unexpected argument " + extras.front();
    } else if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !missing(command).empty()) {
        text = missing(command);
    } else if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
        const bool repeated = text.find("At Most") != std::string::npos;
        text = text.substr(0, text.find(':')) + (repeated ? " is given more than once" : " needs a value");
    } else if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
        // Values are checked before conversion, so the only remaining cause is "--flag=value".
        text = text.substr(text.rfind(": ") + 2) + ": the option takes no value";
    }
    return (commands.empty() ? "" : command.get_name() + ": ") + text + "; see placewright-cli " +
           (commands.empty() ? "" : command.get_name() + " ") + "--help";
}

}  // namespace placewright
