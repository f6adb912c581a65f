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

}  // namespace placewright
