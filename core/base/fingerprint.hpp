// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace placewright {

/// The finaliser of splitmix64: every bit of the argument reaches every bit of the result.
inline std::uint64_t mixed_bits(std::uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
    return bits ^ (bits >> 31);
}

/// A hash of all added values, by the finaliser of splitmix64: the same in every run, version and machine.
class Fingerprint {
public:
    template <class Number>
    void add(const std::vector<Number>& values) {
        add_bits(values.size());
        for (const Number value : values) {
            if constexpr (std::is_floating_point_v<Number>) {
                add_bits(std::bit_cast<std::uint64_t>(static_cast<double>(value)));
            } else {
                add_bits(static_cast<std::uint64_t>(value));
            }
        }
    }
    void add(std::string_view text) {
        add_bits(text.size());
        for (const char c : text) add_bits(static_cast<unsigned char>(c));
    }
    void add_bits(std::uint64_t bits) { hash_ = mixed_bits(hash_ + 0x9e3779b97f4a7c15ULL + bits); }
    std::string digits() const {
        std::array<char, 17> text{};
        std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash_));
        return text.data();
    }

private:
    std::uint64_t hash_ = 0;
};

}  // namespace placewright
