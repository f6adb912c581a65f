// SPDX-License-Identifier: MIT
// How the command line checks its arguments, shows its help, and says what is wrong in one line.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace placewright {

/// A combination of arguments that makes no sense, a wrong algorithm or option: exit status 2.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

enum ExitStatus { kDone = 0, kInternalError = 1, kWrongUsage = 2, kBadInput = 3, kNothingFits = 4, kCancelled = 130 };

}  // namespace placewright

namespace placewright::usage {

/// `names` with `separator` between them.
inline std::string joined(const std::vector<std::string>& names, const std::string& separator) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : separator) + name;
    return text;
}

/// The parts of a list with commas; empty ones stay.
inline std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> parts(1);
    for (const char c : list) {
        if (c == ',') {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

/// A whole number of decimal digits in [min, max].
inline CLI::Validator whole_number(std::uint64_t min, std::uint64_t max = std::numeric_limits<std::uint64_t>::max()) {
    const auto check = [min, max](const std::string& text) {
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error == std::errc() && end == text.data() + text.size() && value >= min && value <= max) return std::string();
        return "expected a whole number from " + std::to_string(min) + " to " + std::to_string(max) + ", not " + text;
    };
    return CLI::Validator(check, "");
}

/// A number above 0 and at most `max`.
inline CLI::Validator positive_number(double max, const std::string& expected) {
    const auto check = [max, expected](const std::string& text) {
        double value = 0;
        if (CLI::detail::lexical_cast(text, value) && value > 0 && value <= max) return std::string();
        return "expected " + expected + ", not " + text;
    };
    return CLI::Validator(check, "");
}

/// A whole number with or without a unit of bytes (1000000, 64MB, 2 GiB); becomes a number of bytes.
inline CLI::Validator byte_size() {
    const auto read = [size = CLI::AsSizeValue(true)](std::string& text) {
        std::string bytes = text;
        try {
            // The library takes -1 for a very large number.
            if (text.find('-') == std::string::npos && size(bytes).empty()) {
                text = bytes;
                return std::string();
            }
        } catch (const CLI::ValidationError&) {
            // Said below.
        }
        return "expected a size such as 64MB or 2GB, not " + text;
    };
    return CLI::Validator(read, "");
}

inline CLI::Validator one_of(const std::vector<std::string>& names) {
    const auto check = [names](const std::string& text) {
        if (std::ranges::find(names, text) != names.end()) return std::string();
        return "expected " + joined(names, ", ") + "; not " + text;
    };
    return CLI::Validator(check, "");
}

/// An option with one of a few values: its help lists them.
inline CLI::Option* add_choice(CLI::App& command, const std::string& name, std::string& value, const std::vector<std::string>& names,
                               const std::string& help) {
    return command.add_option(name, value, help)->check(one_of(names))->type_name(joined(names, "|"))->capture_default_str();
}

/// An option that may be given several times, with one value each.
inline void add_repeated(CLI::App& command, const std::string& name, std::vector<std::string>& values, const std::string& help,
                         const std::string& type) {
    command.add_option(name, values, help + "; may be repeated")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->type_name(type);
}

inline void add_threads(CLI::App& command, unsigned& threads, const std::string& help) {
    command.add_option("--threads", threads, help)->check(whole_number(0, 1'024))->type_name("T")->capture_default_str();
}

/// Help with the plain type of each option beside its name, and its default behind its description.
class HelpText : public CLI::Formatter {
public:
    HelpText() { column_width(34); }

    std::string make_option_opts(const CLI::Option* option) const override {
        const std::string type = option->get_positional() ? std::string() : option->get_type_name();
        return type.empty() ? type : " " + type;
    }
    std::string make_option_desc(const CLI::Option* option) const override {
        const std::string value = option->get_default_str();
        return option->get_description() + (option->get_required() && !option->get_positional() ? " [required]" : "") +
               (value.empty() ? "" : " [" + value + "]");
    }
    std::string make_option_usage(const CLI::Option* option) const override {
        return option->get_name(true) + (option->get_expected_max() > 1 ? "..." : "");
    }
};

/// The line that tells what is wrong with the arguments and where to read more.
inline std::string complaint(const CLI::App& app, const CLI::ParseError& error) {
    const auto commands = app.get_subcommands();
    const CLI::App& command = commands.empty() ? app : *commands.front();
    const std::vector<std::string> extras = command.remaining();
    std::string text = error.what();
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
        const bool repeated = text.find("At Most") != std::string::npos;
        text = text.substr(0, text.find(':')) + (repeated ? " is given more than once" : " needs a value");
    } else if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
        // Values are checked before they are converted; what is left is "--flag=value".
        text = text.substr(text.rfind(": ") + 2) + ": the option takes no value";
    }
    if (commands.empty() && (extras.empty() || extras.front().starts_with('-'))) {
        text = extras.empty() ? "a command is required" : "unknown option " + extras.front();
    } else if (commands.empty()) {
        std::vector<std::string> names;
        for (const CLI::App* known : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(known->get_name());
        text = extras.front() + ": there is no such command; there are " + joined(names, ", ");
    } else if (!extras.empty()) {
        const auto option = std::ranges::find_if(extras, [](const std::string& extra) { return extra.starts_with('-'); });
        text = option != extras.end() ? "unknown option " + *option : "unexpected argument " + extras.front();
    }
    return (commands.empty() ? "" : command.get_name() + ": ") + text + "; see placewright-cli " +
           (commands.empty() ? "" : command.get_name() + " ") + "--help";
}

}  // namespace placewright::usage
