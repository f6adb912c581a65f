// SPDX-License-Identifier: MIT
// Random numbers that are the same on every machine. The distributions of <random> are not specified to the
// bit, so the few that searches need are implemented here. The engines of <random> are specified, but several
// times slower than this one, which matters to searches that draw a number for every op.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>

#include "core/base/uint128.hpp"

namespace placewright {

/// xoshiro256++ 1.0 (Blackman and Vigna, Scrambled linear pseudorandom number generators, 2021), period 2^256
/// - 1.
class Xoshiro256 {
public:
    /// Must not be all zero.
    using State = std::array<std::uint64_t, 4>;

    explicit Xoshiro256(const State& state) : state_(state) {}

    /// Seeds the state with splitmix64, as the authors recommend, so that seeds that differ in one bit have
    /// unrelated sequences.
    explicit Xoshiro256(std::uint64_t seed) {
        for (std::uint64_t& word : state_) {
            seed += 0x9e3779b97f4a7c15ULL;
            std::uint64_t bits = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9ULL;
            bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
            word = bits ^ (bits >> 31);
        }
    }

    std::uint64_t operator()() {
        const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
        const std::uint64_t shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }

private:
    State state_{};
};

class Random {
public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}

    std::uint64_t bits() { return engine_(); }

    /// Uniform in [0, count). `count` must be positive. Multiply-shift: the bias is below count / 2^64.
    std::size_t index(std::size_t count) {
        return static_cast<std::size_t>((static_cast<uint128>(engine_()) * count) >> 64);
    }

    /// Uniform in [0, 1), with 53 random bits.
    double uniform() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }

    double uniform(double low, double high) { return low + (high - low) * uniform(); }

    bool chance(double probability) { return uniform() < probability; }

    /// Normal, by the Box-Muller transform. The second value of each pair is discarded, so that the state of
    /// the generator is the whole state.
    double normal(double mean, double deviation) {
        const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
        return mean + deviation * radius * std::cos(2.0 * std::numbers::pi * uniform());
    }

    /// Geometric: the number of trials up to and including the first success, at least 1; mean 1 /
    /// probability. `probability` must be positive.
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
    Xoshiro256 engine_;
};

}  // namespace placewright
