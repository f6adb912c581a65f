// SPDX-License-Identifier: MIT
#include "core/search/options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

namespace placewright {
namespace {

/// Uses as few digits as distinguish the number from its neighbours, and no exponent where that is readable.
std::string number_text(double value) {
    std::array<char, 64> text{};
    char* end = text.data();
    for (const int digits : {15, 16, 17}) {
        end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, digits)
                  .ptr;
        double back = 0;
        std::from_chars(text.data(), end, back);
        if (back == value) break;
    }
    return {text.data(), end};
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

[[noreturn]] void refuse(const OptionInfo& option, std::string_view value, const std::string& why) {
    throw OptionError(option.name + " = " + std::string(value) + " " + why);
}

void check_range(const OptionInfo& option, double value, const std::string& text) {
    const bool below = option.min && !(value >= *option.min);
    const bool above = option.max && !(value <= *option.max);
    if (!below && !above) return;
    std::string expected;
    if (option.min && option.max) {
        expected = number_text(*option.min) + " to " + number_text(*option.max);
    } else if (option.min) {
        expected = "at least " + number_text(*option.min);
    } else {
        expected = "at most " + number_text(*option.max);
    }
    refuse(option, text, "is out of range, expected " + expected);
}

template <class Number>
bool read_number(std::string_view text, Number& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}

template <class... Readers>
struct Overloaded : Readers... {
    using Readers::operator()...;
};
template <class... Readers>
Overloaded(Readers...) -> Overloaded<Readers...>;

}  // namespace

std::string_view type_name(const OptionInfo& option) {
    static constexpr std::array<std::string_view, std::variant_size_v<OptionValue>> names{"bool", "int",
                                                                                          "float", "choice"};
    return names[option.default_value.index()];
}

std::string to_string(const OptionValue& value) {
    return std::visit(Overloaded{
                          [](bool flag) { return std::string(flag ? "true" : "false"); },
                          [](std::int64_t number) { return std::to_string(number); },
                          [](double number) { return number_text(number); },
                          [](const std::string& text) { return text; },
                      },
                      value);
}

OptionValue parse_option(const OptionInfo& option, std::string_view text) {
    const auto read = Overloaded{
        [&](bool) -> OptionValue {
            if (text != "true" && text != "false") refuse(option, text, "is neither true nor false");
            return text == "true";
        },
        [&](std::int64_t number) -> OptionValue {
            if (!read_number(text, number)) refuse(option, text, "is not a whole number");
            return number;
        },
        [&](double number) -> OptionValue {
            if (!read_number(text, number)) refuse(option, text, "is not a number");
            return number;
        },
        [&](const std::string&) -> OptionValue { return std::string(text); },
    };
    return checked_option(option, std::visit(read, option.default_value));
}

OptionValue checked_option(const OptionInfo& option, const OptionValue& value) {
    const std::string text = to_string(value);
    OptionValue checked = value;
    if (const auto* whole = std::get_if<std::int64_t>(&value);
        whole && std::holds_alternative<double>(option.default_value)) {
        checked = static_cast<double>(*whole);
    }
    if (checked.index() != option.default_value.index()) {
        refuse(option, text, "is of the wrong type, expected " + std::string(type_name(option)));
    }
    if (const auto* number = std::get_if<std::int64_t>(&checked))
        check_range(option, static_cast<double>(*number), text);
    if (const auto* number = std::get_if<double>(&checked)) {
        if (!std::isfinite(*number)) refuse(option, text, "is not a finite number");
        check_range(option, *number, text);
    }
    if (const auto* choice = std::get_if<std::string>(&checked)) {
        if (std::find(option.choices.begin(), option.choices.end(), *choice) == option.choices.end()) {
            refuse(option, text, "is not one of " + joined(option.choices));
        }
    }
    return checked;
}

std::size_t position(const std::vector<OptionInfo>& infos, const std::string& name) {
    const auto found =
        std::find_if(infos.begin(), infos.end(), [&](const OptionInfo& info) { return info.name == name; });
    if (found != infos.end()) return static_cast<std::size_t>(found - infos.begin());
    if (infos.empty()) throw OptionError("unknown option \"" + name + "\", there are no options");
    std::vector<std::string> names;
    for (const OptionInfo& info : infos) names.push_back(info.name);
    throw OptionError("unknown option \"" + name + "\", known are " + joined(names));
}

const OptionPreset& find_preset(const std::vector<OptionPreset>& presets, const std::string& name) {
    const auto found = std::ranges::find(presets, name, &OptionPreset::name);
    if (found != presets.end()) return *found;
    if (presets.empty()) throw OptionError("unknown preset \"" + name + "\", there are none");
    std::vector<std::string> names;
    for (const OptionPreset& preset : presets) names.push_back(preset.name);
    throw OptionError("unknown preset \"" + name + "\", known are " + joined(names));
}

}  // namespace placewright
