// SPDX-License-Identifier: MIT
// Values as workspace files write them; for the files of this folder alone.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/cost/placement.hpp"
#include "core/io/text/json.hpp"
#include "core/search/progress.hpp"

namespace placewright {

inline constexpr std::int64_t kMostWhole = std::numeric_limits<std::int64_t>::max();

Json number_json(double value);
/// A finite number; null stands for infinity.
double number_from(const JsonValue& value);

template <class Number>
void append_number(std::string& text, Number value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    text.append(digits.data(), end.ptr);
}

/// The numbers in a text, separated by single blanks; "inf" and "nan" are numbers.
template <class Number>
bool next_number(std::string_view& text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return true;
    if (text.front() != ' ') return false;
    text.remove_prefix(1);
    return !text.empty();
}

/// "0 0 1": a device for each group.
std::string placement_text(const Placement& placement);
Placement placement_from(const JsonValue& value);

Json means_json(const std::vector<SeriesPoint>& means);
std::vector<SeriesPoint> means_from(const JsonValue& value);

}  // namespace placewright
