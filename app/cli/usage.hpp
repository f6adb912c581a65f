// SPDX-License-Identifier: MIT
// Argument checks and help text of the command line.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/base/closest_name.hpp"

namespace placewright::usage {

/// `names` with `separator` between them.
inline std::string joined(const std::vector<std::string>& names, const std::string& separator) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : separator) + name;
    return text;
}

/// "--policy placto: there is no such policy (similar: placeto); there are placeto, ...". `what` is the noun
/// for one of `known`.
inline std::string unknown(const std::string& name, const std::string& what,
                           const std::vector<std::string>& known, const std::string& option = "") {
    return (option.empty() ? "" : option + ' ') + name + ": there is no such " + what +
           similar_to(name, known) + "; there are " + joined(known, ", ");
}

/// Items of a comma-separated list; empty items are kept.
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
inline CLI::Validator whole_number(std::uint64_t min,
                                   std::uint64_t max = std::numeric_limits<std::uint64_t>::max()) {
    const auto check = [min, max](const std::string& text) {
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error == std::errc() && end == text.data() + text.size() && value >= min && value <= max)
            return std::string();
        return "expected a whole number from " + std::to_string(min) + " to " + std::to_string(max) +
               ", not " + text;
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

/// A number from 0 to 1.
inline CLI::Validator share() {
    const auto check = [](const std::string& text) {
        double value = 0;
        if (CLI::detail::lexical_cast(text, value) && value >= 0 && value <= 1) return std::string();
        return "expected a number from 0 to 1, not " + text;
    };
    return CLI::Validator(check, "");
}

/// The path of a file or folder, which may not be empty: that is how an unset variable of a script looks, and
/// is not the same as no option.
inline CLI::Validator path() {
    const auto check = [](const std::string& text) {
        return text.empty() ? std::string("expected a path, not an empty text") : std::string();
    };
    return CLI::Validator(check, "");
}

/// A whole number with or without a unit of bytes (1000000, 64MB, 2 GiB); becomes a number of bytes.
inline CLI::Validator byte_size() {
    const auto read = [size = CLI::AsSizeValue(true)](std::string& text) {
        std::string bytes = text;
        try {
            // CLI11 reads -1 as a very large number.
            if (text.find('-') == std::string::npos && size(bytes).empty()) {
                text = bytes;
                return std::string();
            }
        } catch (const CLI::ValidationError&) {
            // Reported below.
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

/// Adds an option that accepts only `names`; its help lists them.
inline CLI::Option* add_choice(CLI::App& command, const std::string& name, std::string& value,
                               const std::vector<std::string>& names, const std::string& help) {
    return command.add_option(name, value, help)
        ->check(one_of(names))
        ->type_name(joined(names, "|"))
        ->capture_default_str();
}

/// Adds an option that may be given several times, each time with one value.
inline CLI::Option* add_repeated(CLI::App& command, const std::string& name, std::vector<std::string>& values,
                                 const std::string& help, const std::string& type) {
    return command.add_option(name, values, help + "; may be repeated")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->type_name(type);
}

/// Adds --placement to a command that runs a placement.
inline void add_placement(CLI::App& command, std::string& file) {
    command
        .add_option("--placement", file, "Placement file; default: all ops on the fastest device that fits")
        ->check(path())
        ->type_name("P");
}

inline void add_threads(CLI::App& command, unsigned& threads, const std::string& help) {
    command.add_option("--threads", threads, help)
        ->check(whole_number(0, 1'024))
        ->type_name("T")
        ->capture_default_str();
}

/// Prints the type of each option beside its name and its default after its description.
class HelpText : public CLI::Formatter {
public:
    HelpText() { column_width(34); }

    std::string make_option_opts(const CLI::Option* option) const override {
        const std::string type = option->get_positional() ? std::string() : option->get_type_name();
        return type.empty() ? type : " " + type;
    }
    std::string make_option_desc(const CLI::Option* option) const override {
        const std::string value = option->get_default_str();
        return option->get_description() +
               (option->get_required() && !option->get_positional() ? " [required]" : "") +
               (value.empty() ? "" : " [" + value + "]");
    }
    std::string make_option_usage(const CLI::Option* option) const override {
        const std::string name = option->get_name(true) + (option->get_expected_max() > 1 ? "..." : "");
        return option->get_required() ? name : '[' + name + ']';
    }
};

}  // namespace placewright::usage
