// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/cost/placement.hpp"

namespace placewright {

/// Two independent 64-bit hashes of a placement: among 2^40 placements a collision has a chance below 2^-48. The same on every machine of
/// the same byte order.
struct PlacementKey {
    std::uint64_t first = 0, second = 0;

    bool operator==(const PlacementKey&) const = default;

    struct Hash {
        std::size_t operator()(const PlacementKey& key) const { return static_cast<std::size_t>(key.first); }
    };
};

/// The finaliser of splitmix64: every bit of the argument reaches every bit of the result.
inline std::uint64_t mixed_bits(std::uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
    return bits ^ (bits >> 31);
}

inline PlacementKey key_of(std::span<const DeviceId> placement) {
    static constexpr std::size_t kGenesPerWord = sizeof(std::uint64_t) / sizeof(DeviceId);
    PlacementKey key{placement.size(), ~std::uint64_t{placement.size()}};
    for (std::size_t at = 0; at < placement.size(); at += kGenesPerWord) {
        std::uint64_t word = 0;
        std::memcpy(&word, placement.data() + at, std::min(kGenesPerWord, placement.size() - at) * sizeof(DeviceId));
        key.first = mixed_bits(key.first ^ word);
        key.second = (std::rotl(key.second, 29) ^ mixed_bits(word + 0x9e3779b97f4a7c15ULL)) * 0xd6e8feb86659fd93ULL;
    }
    key.second = mixed_bits(key.second);
    return key;
}

}  // namespace placewright
