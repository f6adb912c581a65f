// SPDX-License-Identifier: MIT
// Random numbers that are the same on every machine. The engines of <random> are specified to the bit, its
// distributions are not, so the few distributions that searches need are written out here.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <span>
#include <utility>

#include "core/base/uint128.hpp"

namespace placewright {

class Random {
public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}

    std::uint64_t bits() { return engine_(); }

    /// Uniform in [0, count). `count` must be positive. Multiply-shift: the bias is below count / 2^64.
    std::size_t index(std::size_t count) { return static_cast<std::size_t>((static_cast<uint128>(engine_()) * count) >> 64); }

    /// Uniform in [0, 1), with 53 random bits.
    double uniform() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }

    double uniform(double low, double high) { return low + (high - low) * uniform(); }

    bool chance(double probability) { return uniform() < probability; }

    /// Normal by Box and Muller's transform; the second value of each pair is not kept, so that a copy of the
    /// generator's state is the whole state.
    double normal(double mean, double deviation) {
        const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
        return mean + deviation * radius * std::cos(2.0 * std::numbers::pi * uniform());
    }

    /// Geometric: the number of trials up to and including the first success, at least 1; mean 1 / probability.
    /// `probability` must be positive.
    std::size_t geometric(double probability) {
        if (probability >= 1.0) return 1;
        return 1 + static_cast<std::size_t>(std::log1p(-uniform()) / std::log1p(-probability));
    }

    template <class T>
    const T& pick(std::span<const T> values) {
        return values[index(values.size())];
    }

    template <class T>
    void shuffle(std::span<T> values) {
        for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[index(i)]);
    }

private:
    std::mt19937_64 engine_;
};

}  // namespace placewright
