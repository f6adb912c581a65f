// SPDX-License-Identifier: MIT
#include "core/base/units.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <span>

namespace placewright {
namespace {

std::string three_digits(double value) {
    std::array<char, 48> text{};
    const double magnitude = std::abs(value);
    const int decimals = magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : 2;
    std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
    return text.data();
}

struct Unit {
    double size;
    const char* name;
};

/// `value` in the largest unit in which it is at least 1; `units` must be in descending order.
std::string scaled(double value, std::span<const Unit> units) {
    for (const Unit& unit : units) {
        // 0.9995 keeps 999.96 ms from reading "1000 ms".
        if (std::abs(value) >= unit.size * 0.9995) return three_digits(value / unit.size) + unit.name;
    }
    return three_digits(value / units.back().size) + units.back().name;
}

}  // namespace

std::string format_seconds(double seconds) {
    if (std::isinf(seconds)) return seconds > 0 ? "∞" : "-∞";
    if (std::isnan(seconds)) return "?";
    if (seconds == 0) return "0 s";
    static constexpr std::array<Unit, 4> units{{{1, " s"}, {1e-3, " ms"}, {1e-6, " µs"}, {1e-9, " ns"}}};
    return scaled(seconds, units);
}

std::string format_bytes(double bytes) {
    static constexpr std::array<Unit, 5> units{
        {{1e12, " TB"}, {1e9, " GB"}, {1e6, " MB"}, {1e3, " kB"}, {1, " B"}}};
    if (std::abs(bytes) < 1000) return std::to_string(static_cast<std::int64_t>(bytes)) + " B";
    return scaled(bytes, units);
}

std::string format_count(double count) {
    static constexpr std::array<Unit, 4> units{{{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}}};
    if (std::abs(count) < 1e4) return std::to_string(static_cast<std::int64_t>(std::llround(count)));
    return scaled(count, units);
}

std::string format_flops(double flops) {
    static constexpr std::array<Unit, 5> units{
        {{1e12, " TFLOP"}, {1e9, " GFLOP"}, {1e6, " MFLOP"}, {1e3, " kFLOP"}, {1, " FLOP"}}};
    if (std::abs(flops) < 1000) return std::to_string(static_cast<std::int64_t>(flops)) + " FLOP";
    return scaled(flops, units);
}

std::string format_clock(double seconds) {
    if (!std::isfinite(seconds) || seconds < 0) return "–:––";
    const auto whole = static_cast<long long>(seconds);
    std::array<char, 48> text{};
    if (whole >= 3600) {
        std::snprintf(text.data(), text.size(), "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60,
                      whole % 60);
    } else {
        std::snprintf(text.data(), text.size(), "%lld:%02lld", whole / 60, whole % 60);
    }
    return text.data();
}

}  // namespace placewright
