// SPDX-License-Identifier: MIT
#include "app/cli/console.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "core/base/text.hpp"

namespace placewright {
namespace {

constexpr std::size_t kColumns = 100;
/// Bytes of a line or cell, more than which nobody reads.
constexpr std::size_t kLongest = 8192;

/// Number of characters (not bytes) of UTF-8 text: units may contain µ.
std::size_t width(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string percent(double share) {
    if (share > 0 && share < 0.005) return "<1 %";
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.0f %%", share * 100);
    return text.data();
}

std::string wrapped(std::string_view text, std::size_t indent) {
    std::string result;
    std::size_t column = indent;
    while (!text.empty()) {
        const std::size_t length = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, length);
        text.remove_prefix(std::min(length + 1, text.size()));
        if (column > indent && column + 1 + width(word) > kColumns) {
            result += '\n' + std::string(indent, ' ');
            column = indent;
        } else if (column > indent) {
            result += ' ';
            ++column;
        }
        result += word;
        column += width(word);
    }
    return result + '\n';
}

std::string printable_lines(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const std::size_t length = std::min(text.find('\n'), text.size());
        result += printable(text.substr(0, length), kLongest);
        if (length < text.size()) result += '\n';
        text.remove_prefix(std::min(length + 1, text.size()));
    }
    return result;
}

std::string table(std::string_view alignment, std::vector<Row> rows) {
    for (Row& row : rows) {
        for (std::string& cell : row) cell = printable(cell, kLongest);
    }
    std::vector<std::size_t> widths(alignment.size(), 0);
    for (const Row& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
    }
    std::string text;
    for (const Row& row : rows) {
        std::size_t column = 0;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string space(widths[i] - width(row[i]), ' ');
            const bool last = i + 1 == alignment.size();
            if (alignment[i] == 'r') {
                text += space + row[i] + (last ? "\n" : "  ");
            } else if (last) {
                text += wrapped(row[i], column);
            } else {
                text += row[i] + space + "  ";
            }
            column += widths[i] + 2;
        }
    }
    return text;
}

std::string markdown(const std::vector<Row>& rows) {
    std::string text;
    for (const Row& row : rows) {
        text += '|';
        for (const std::string& cell : row) text += ' ' + cell + " |";
        text += '\n';
        if (&row != &rows.front()) continue;
        for (std::size_t i = 0; i < row.size(); ++i) text += i == 0 ? "|---|" : "---|";
        text += '\n';
    }
    return text;
}

Json finite_or_null(double value) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json objective_json(const Score& score) {
    return score == kUndefinedScore ? Json(nullptr) : Json(score.value_s);
}

Json score_json(const Score& score) {
    return score == kUndefinedScore ? Json(nullptr) : Json(score.penalised_s);
}

Json option_json(const OptionValue& value) {
    return std::visit([](const auto& plain) { return Json(plain); }, value);
}

void print(const Json& json) {
    std::cout << json.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
}

}  // namespace placewright
