// SPDX-License-Identifier: MIT
#include "app/manual/manual_page.hpp"

#include <sstream>

namespace placewright {
namespace {

/// Text that roff prints as it is.
std::string escaped(const std::string& text) {
    std::string roff;
    for (const char c : text) {
        if (c == '\\') {
            roff += "\\e";
        } else if (c == '-') {
            roff += "\\-";
        } else {
            roff += c;
        }
    }
    // A line that begins with one of these is a request.
    if (roff.starts_with('.') || roff.starts_with('\'')) roff.insert(0, "\\&");
    return roff;
}

/// As an argument of a request, between quotes.
std::string quoted(const std::string& text) {
    std::string roff;
    for (const char c : escaped(text)) roff += c == '"' ? "\\(dq" : std::string(1, c);
    return '"' + roff + '"';
}

std::string bold(const std::string& text) {
    return "\\fB" + escaped(text) + "\\fR";
}

std::string italic(const std::string& text) {
    return "\\fI" + escaped(text) + "\\fR";
}

std::string upper(std::string text) {
    for (char& c : text) {
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    return text;
}

std::string head(const std::string& page, std::string help, const std::string& version) {
    if (help.ends_with('.')) help.pop_back();
    return ".TH " + escaped(upper(page)) + " 1 \"\" \"Placewright " + version +
           "\" \"Placewright\"\n.SH NAME\n" + escaped(page) + " \\- " + escaped(help) + "\n.SH SYNOPSIS\n";
}

/// Positional arguments in a synopsis: [POLICY] GRAPHS...
std::string synopsis(const std::vector<ProgramOption>& arguments) {
    std::string roff;
    for (const ProgramOption& argument : arguments) {
        const std::string name = italic(argument.value) + (argument.is_repeated ? "..." : "");
        roff += argument.is_optional ? " [" + name + ']' : ' ' + name;
    }
    return roff;
}

std::string described(const std::vector<ProgramOption>& options) {
    std::string roff;
    for (const ProgramOption& option : options) {
        roff += ".TP\n";
        for (std::size_t i = 0; i < option.names.size(); ++i)
            roff += (i > 0 ? ", " : "") + bold(option.names[i]);
        if (!option.is_flag()) roff += (option.names.empty() ? "" : " ") + italic(option.value);
        roff += '\n' + escaped(option.help) + '\n';
    }
    return roff;
}

/// A text as --help prints it. A line at the margin that ends in a colon is a title; indented lines keep
/// their columns.
std::string noted(const std::string& notes) {
    std::string roff;
    bool is_table = false;
    const auto set_table = [&](bool table) {
        if (table != is_table) roff += table ? ".PP\n.nf\n" : ".fi\n";
        is_table = table;
    };
    std::istringstream lines(notes);
    for (std::string line; std::getline(lines, line);) {
        if (line.empty()) {
            set_table(false);
            roff += ".PP\n";
            continue;
        }
        set_table(line.front() == ' ');
        if (!is_table && line.ends_with(':')) {
            roff += ".SS " + quoted(line.substr(0, line.size() - 1)) + '\n';
        } else {
            roff += escaped(line) + '\n';
        }
    }
    set_table(false);
    return roff;
}

/// The end of "SEE ALSO".
std::string help_page(const char* name, bool has_help) {
    return has_help ? ", " + bold(name) + "(7)\n" : "\n";
}

}  // namespace

std::string manual_page(const ProgramUsage& program, const std::string& version, bool has_help) {
    const bool has_commands = !program.commands.empty();
    std::string roff =
        head(program.name, program.help, version) + bold(program.name) + " [" + italic("options") + ']';
    const ProgramCommand* const only =
        has_commands && program.commands.front().name.empty() ? &program.commands.front() : nullptr;
    if (only != nullptr) {
        roff += synopsis(only->arguments);
    } else if (has_commands) {
        roff += ' ' + italic("command") + " [" + italic("arguments") + ']';
    }
    roff += "\n.SH DESCRIPTION\n" + escaped(program.help) + '\n';
    if (only != nullptr && !only->arguments.empty()) roff += described(only->arguments);
    roff += ".SH OPTIONS\n" + described(program.options);
    if (only != nullptr) {
        roff += described(only->options);
    } else if (has_commands) {
        roff += ".SH COMMANDS\n";
        for (const ProgramCommand& command : program.commands)
            roff += ".TP\n" + bold(command.name) + '\n' + escaped(command.help) + ". See " +
                    bold(program.name + '-' + command.name) + "(1).\n";
    }
    if (!program.notes.empty()) roff += ".SH NOTES\n" + noted(program.notes);
    const std::string other = program.name == "placewright" ? "placewright-cli" : "placewright";
    return roff + ".SH SEE ALSO\n" + bold(other) + "(1)" + help_page("placewright-help", has_help);
}

std::string manual_page(const ProgramUsage& program, const ProgramCommand& command,
                        const std::string& version, bool has_help) {
    std::string roff = head(program.name + '-' + command.name, command.help, version) +
                       bold(program.name + ' ' + command.name) + " [" + italic("options") + ']';
    roff += synopsis(command.arguments) + "\n.SH DESCRIPTION\n" + escaped(command.help) + ".\n" +
            described(command.arguments) + ".SH OPTIONS\n" + described(command.options);
    if (!command.notes.empty()) roff += ".SH NOTES\n" + noted(command.notes);
    return roff + ".SH SEE ALSO\n" + bold(program.name) + "(1)" +
           help_page("placewright-command-line", has_help);
}

}  // namespace placewright
