// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/base/uint128.hpp"
#include "core/cost/placement.hpp"

namespace placewright {

/// Two independent 64-bit hashes of a placement: among 2^40 placements a collision has a chance below 2^-48.
/// The same on every machine of the same byte order.
struct PlacementKey {
    std::uint64_t first = 0, second = 0;

    bool operator==(const PlacementKey&) const = default;

    struct Hash {
        std::size_t operator()(const PlacementKey& key) const { return static_cast<std::size_t>(key.first); }
    };
};

/// Each half of the key takes one multiplication per 16 bytes and combines both halves of the product by xor
/// (wyhash, Wang Yi, 2019). Fast, because searches hash placements on their own thread.
inline PlacementKey key_of(std::span<const DeviceId> placement) {
    constexpr std::size_t kGenes = 2 * sizeof(std::uint64_t) / sizeof(DeviceId);
    constexpr std::array<std::uint64_t, 4> kSecrets{0xa0761d6478bd642fULL, 0xe7037ed1a0b428dbULL,
                                                    0x8ebc6af09c88c6e3ULL, 0x589965cc75374cc3ULL};
    const auto folded = [](std::uint64_t a, std::uint64_t b) {
        const uint128 product = static_cast<uint128>(a) * b;
        return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    };
    PlacementKey key{placement.size(), ~std::uint64_t{placement.size()}};
    for (std::size_t at = 0; at < placement.size(); at += kGenes) {
        std::array<std::uint64_t, 2> words{};
        std::memcpy(words.data(), placement.data() + at,
                    std::min(kGenes, placement.size() - at) * sizeof(DeviceId));
        key.first = folded(key.first ^ words[0] ^ kSecrets[0], words[1] ^ kSecrets[1]);
        key.second = folded(key.second ^ words[1] ^ kSecrets[2], words[0] ^ kSecrets[3]);
    }
    return key;
}

}  // namespace placewright
