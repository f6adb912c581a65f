// SPDX-License-Identifier: MIT
// Helpers for the text of messages.
#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace placewright {

/// A number in the form used in files: "0.5", "1e+12", "nan".
inline std::string short_number(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%g", value);
    return text.data();
}

/// A number in a format of printf: decimals("%.2f", 0.5) is "0.50".
inline std::string decimals(const char* format, double value) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), format, value);
    return text.data();
}
/// A ratio with two decimals, or two digits if it is small: "1.31", "0.042".
inline std::string ratio_text(double ratio) {
    return decimals(ratio < 0.1 ? "%.2g" : "%.2f", ratio);
}

/// A field of a CSV table, quoted as in RFC 4180. A text that spreadsheets would take for a formula has an
/// apostrophe before it, as spreadsheets write texts (OWASP, "CSV Injection").
std::string csv_field(std::string_view text);
/// These fields as a line of a CSV table.
std::string csv_line(const std::vector<std::string>& fields);
/// The text of a field without such an apostrophe.
std::string_view text_of_csv_field(std::string_view field);

/// `text` on one line and safe to print: control characters and bytes that are not UTF-8 are written as \xNN,
/// characters that cannot be seen or that turn the direction of writing as \u{NNNN}, and what exceeds `limit`
/// bytes is cut.
std::string printable(std::string_view text, std::size_t limit = 1000);
/// Whether all bytes are characters of UTF-8.
bool is_utf8(std::string_view text);
/// A name from a file in double quotes, printable and cut after 80 bytes.
std::string in_quotes(std::string_view name);
/// The text of an error without the location at its beginning, if it starts with `prefix`.
std::string without_prefix(std::string_view text, std::string_view prefix);

}  // namespace placewright
