// SPDX-License-Identifier: MIT
#include "app/manual/completions.hpp"

#include <algorithm>

#include "app/cli/usage.hpp"

namespace placewright {
namespace {

using usage::joined;

/// `text` with a backslash before each of `special`.
std::string escaped(const std::string& text, const std::string& special) {
    std::string result;
    for (const char c : text) {
        if (special.find(c) != std::string::npos) result += '\\';
        result += c;
    }
    return result;
}

/// In single quotes for bash and zsh.
std::string shell_quoted(const std::string& text) {
    std::string result = "'";
    for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + '\'';
}

std::string function_name(const ProgramUsage& program) {
    std::string name = '_' + program.name;
    std::ranges::replace(name, '-', '_');
    return name;
}

std::vector<std::string> all_names(const std::vector<ProgramOption>& options) {
    std::vector<std::string> names;
    for (const ProgramOption& option : options)
        names.insert(names.end(), option.names.begin(), option.names.end());
    return names;
}

std::vector<std::string> command_names(const ProgramUsage& program) {
    std::vector<std::string> names;
    for (const ProgramCommand& command : program.commands) {
        if (!command.name.empty()) names.push_back(command.name);
    }
    return names;
}

/// What a shell offers in place of any positional argument of a command: all that one of them may be.
ProgramOption any_argument(const ProgramCommand& command) {
    ProgramOption any;
    for (const ProgramOption& argument : command.arguments) {
        any.value = argument.value;
        any.takes_files = any.takes_files || argument.takes_files;
        any.choices.insert(any.choices.end(), argument.choices.begin(), argument.choices.end());
    }
    return any;
}

// --- bash

/// Statement that offers the values of an option or argument.
std::string bash_values(const ProgramOption& option) {
    return std::string("_placewright_offer ") + (option.takes_files ? "files " : "words ") +
           shell_quoted(joined(option.choices, " "));
}

/// Branches of `case $previous` for the options with values.
std::string bash_option_values(const std::vector<ProgramOption>& options, const std::string& indent) {
    std::string text;
    for (const ProgramOption& option : options) {
        if (option.is_flag()) continue;
        text += indent + joined(option.names, "|") + ") " + bash_values(option) + "; return ;;\n";
    }
    return text;
}

}  // namespace

std::string bash_completion(const ProgramUsage& program) {
    const std::string function = function_name(program);
    std::string text = "# bash completion of " + program.name +
                       R"(
_placewright_offer() {
    mapfile -t COMPREPLY < <(
        compgen -W "$2" -- "$current"
        [ "$1" = words ] || compgen -f -- "$current"
    )
}

)" + function + R"(() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} IFS=$' \t\n'
    COMPREPLY=()
)";
    const bool has_commands = !command_names(program).empty();
    if (has_commands) {
        text += "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        _placewright_offer words " +
                shell_quoted(joined(command_names(program), " ") + ' ' +
                             joined(all_names(program.options), " ")) +
                "\n        return\n    fi\n";
    }
    text += has_commands ? "    case ${COMP_WORDS[1]} in\n" : "";
    for (const ProgramCommand& command : program.commands) {
        const std::string indent = has_commands ? "            " : "    ";
        std::vector<ProgramOption> options = command.options;
        if (!has_commands) options.insert(options.begin(), program.options.begin(), program.options.end());
        if (has_commands) text += "        " + command.name + ")\n";
        text +=
            indent + "case $previous in\n" + bash_option_values(options, indent + "    ") + indent + "esac\n";
        text += indent + "case $current in\n" + indent + "    -*) _placewright_offer words " +
                shell_quoted(joined(all_names(options), " ")) + " ;;\n" + indent + "    *) " +
                bash_values(any_argument(command)) + " ;;\n" + indent + "esac\n";
        if (has_commands) text += indent + ";;\n";
    }
    text += has_commands ? "    esac\n" : "";
    return text + "}\ncomplete -o filenames -F " + function + ' ' + program.name + '\n';
}

namespace {

// --- zsh

/// The action of a specification of _arguments.
std::string zsh_action(const ProgramOption& option) {
    const std::string words = joined(option.choices, " ");
    if (words.empty()) return option.takes_files ? "_files" : " ";
    return option.takes_files ? "{_placewright_either " + words + '}' : '(' + words + ')';
}

std::string zsh_specifications(const std::vector<ProgramOption>& options, const ProgramCommand& command,
                               const std::string& indent) {
    std::string text;
    for (const ProgramOption& option : options) {
        for (const std::string& name : option.names) {
            std::string specification = "*" + name + '[' + escaped(option.help, "[]:\\") + ']';
            if (!option.is_flag())
                specification += ':' + escaped(option.value, ":\\") + ':' + zsh_action(option);
            text += indent + shell_quoted(specification) + " \\\n";
        }
    }
    const ProgramOption argument = any_argument(command);
    if (!command.arguments.empty())
        text += indent + shell_quoted("*:" + escaped(argument.value, ":\\") + ':' + zsh_action(argument)) +
                " \\\n";
    return text + indent + "&& return\n";
}

}  // namespace

std::string zsh_completion(const ProgramUsage& program) {
    std::string text = "#compdef " + program.name + "\n# zsh completion of " + program.name +
                       "\n_placewright_either() { _alternative \"names:name:($*)\" 'files:file:_files'; }\n";
    if (command_names(program).empty()) {
        const ProgramCommand& only = program.commands.front();
        std::vector<ProgramOption> options = program.options;
        options.insert(options.end(), only.options.begin(), only.options.end());
        return text + "_arguments \\\n" + zsh_specifications(options, only, "    ");
    }
    text += "if (( CURRENT == 2 )); then\n    local -a commands=(\n";
    for (const ProgramCommand& command : program.commands)
        text += "        " + shell_quoted(escaped(command.name, ":") + ':' + command.help) + '\n';
    text +=
        "    )\n    _describe command commands\n    return\nfi\nlocal command=$words[2]\nshift words\n"
        "(( CURRENT-- ))\ncase $command in\n";
    for (const ProgramCommand& command : program.commands)
        text += "    " + command.name + ")\n        _arguments \\\n" +
                zsh_specifications(command.options, command, "            ") + "        ;;\n";
    return text + "esac\n";
}

namespace {

// --- fish

std::string fish_quoted(const std::string& text) {
    return '\'' + escaped(text, "'\\") + '\'';
}

std::string fish_values(const ProgramOption& option) {
    if (option.is_flag()) return "";
    std::string text = option.takes_files ? " -rF" : " -x";
    if (!option.choices.empty()) text += " -a " + fish_quoted(joined(option.choices, " "));
    return text;
}

std::string fish_option(const ProgramUsage& program, const std::string& condition,
                        const ProgramOption& option) {
    std::string text = "complete -c " + program.name + condition;
    for (const std::string& name : option.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    return text + fish_values(option) + " -d " + fish_quoted(option.help) + '\n';
}

}  // namespace

std::string fish_completion(const ProgramUsage& program) {
    std::string text = "# fish completion of " + program.name + '\n';
    const bool has_commands = !command_names(program).empty();
    const std::string none = has_commands ? " -n __fish_use_subcommand" : "";
    if (has_commands) text += "complete -c " + program.name + " -n __fish_use_subcommand -f\n";
    for (const ProgramOption& option : program.options) text += fish_option(program, none, option);
    for (const ProgramCommand& command : program.commands) {
        const std::string condition =
            has_commands ? " -n '__fish_seen_subcommand_from " + command.name + '\'' : "";
        if (has_commands)
            text += "complete -c " + program.name + none + " -a " + command.name + " -d " +
                    fish_quoted(command.help) + '\n';
        const ProgramOption argument = any_argument(command);
        if (!argument.takes_files) text += "complete -c " + program.name + condition + " -f\n";
        if (!argument.choices.empty())
            text += "complete -c " + program.name + condition + " -a " +
                    fish_quoted(joined(argument.choices, " ")) + '\n';
        for (const ProgramOption& option : command.options) text += fish_option(program, condition, option);
    }
    return text;
}

}  // namespace placewright
