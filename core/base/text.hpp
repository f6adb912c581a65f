// SPDX-License-Identifier: MIT
// Small pieces of messages.
#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

namespace placewright {

inline std::string quoted(std::string_view text) {
    return '"' + std::string(text) + '"';
}

/// A number as a person would write it in a file: "0.5", "1e+12", "nan".
inline std::string short_number(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%g", value);
    return text.data();
}

/// A field of a CSV table as in RFC 4180.
inline std::string csv_field(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + '"';
}

}  // namespace placewright
