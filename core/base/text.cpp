// SPDX-License-Identifier: MIT
#include "core/base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

namespace placewright {
namespace {

/// Whether a spreadsheet would take a field for a formula, or an apostrophe before it for a part of the
/// field.
bool begins_formula(std::string_view text) {
    const std::size_t first = text.find_first_not_of('\'');
    if (first == std::string_view::npos ||
        std::string_view("=+-@\t\r").find(text[first]) == std::string_view::npos)
        return false;
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc::invalid_argument || end != text.data() + text.size();
}

/// Length of the UTF-8 character at the beginning of `text`; 0 if there is none.
std::size_t character_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    const std::size_t length = first < 0x80   ? 1
                               : first < 0xc2 ? 0
                               : first < 0xe0 ? 2
                               : first < 0xf0 ? 3
                               : first < 0xf5 ? 4
                                              : 0;
    if (length > text.size()) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
    }
    return length;
}

/// The code point of a UTF-8 character of two or three bytes; 0 for one of another length.
unsigned code_point(std::string_view character) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
    if (character.size() == 2) return (byte(0) & 0x1fU) << 6 | (byte(1) & 0x3fU);
    if (character.size() == 3) return (byte(0) & 0x0fU) << 12 | (byte(1) & 0x3fU) << 6 | (byte(2) & 0x3fU);
    return 0;
}

/// Whether a character has no width, breaks the line, or turns the direction of what is beside it.
bool is_deceptive(unsigned code) {
    return code == 0x061c || (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
           code == 0x2060 || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

std::string hex(unsigned char byte) {
    std::array<char, 8> text{};
    std::snprintf(text.data(), text.size(), "%02x", static_cast<unsigned>(byte));
    return text.data();
}

}  // namespace

std::string csv_field(std::string_view text) {
    std::string field(text);
    if (begins_formula(text)) field.insert(field.begin(), '\'');
    if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
    std::string quoted = "\"";
    for (const char c : field) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + '"';
}

std::string csv_line(const std::vector<std::string>& fields) {
    std::string line;
    for (const std::string& field : fields) {
        if (&field != &fields.front()) line += ',';
        line += csv_field(field);
    }
    return line + '\n';
}

std::string_view text_of_csv_field(std::string_view field) {
    if (field.starts_with('\'') && begins_formula(field.substr(1))) field.remove_prefix(1);
    return field;
}

std::string printable(std::string_view text, std::size_t limit) {
    const bool plain = std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
    if (plain && text.size() <= limit) return std::string(text);
    std::string result;
    while (!text.empty()) {
        if (result.size() >= limit) return result + "...";
        const std::size_t length = character_length(text);
        const auto first = static_cast<unsigned char>(text[0]);
        // Terminals treat U+0080 to U+009F as control characters too.
        const bool control = first < 0x20 || first == 0x7f ||
                             (length == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0);
        if (length == 0 || control) {
            result += "\\x" + hex(first);
            text.remove_prefix(1);
        } else if (const unsigned code = code_point(text.substr(0, length)); is_deceptive(code)) {
            std::array<char, 16> escape{};
            std::snprintf(escape.data(), escape.size(), "\\u{%04x}", code);
            result += escape.data();
            text.remove_prefix(length);
        } else {
            result += text.substr(0, length);
            text.remove_prefix(length);
        }
    }
    return result;
}

std::string in_quotes(std::string_view name) {
    return '"' + printable(name, 80) + '"';
}

std::string without_prefix(std::string_view text, std::string_view prefix) {
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
    return std::string(text);
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const std::size_t length = character_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

}  // namespace placewright
