// SPDX-License-Identifier: MIT
// Families of networks to train a placement policy on: many of one kind, each with a structure of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/graph/graph.hpp"

namespace placewright {

/// The three of Placeto (Addanki et al., 2019, section 4.1): networks as the controller of ENAS (Pham et al., 2018) samples them. Cells are
/// sampled here by rules in place of a trained controller, with a share of chance that differs from network to network, so that a family has
/// chains and bushes.
struct FamilyInfo {
    std::string_view name;    ///< "cifar10"
    std::string_view title;   ///< "CIFAR-10 cells"
    std::string_view source;  ///< where its architecture is described
    std::uint32_t groups;     ///< to merge a network's ops into (Placeto, appendix A.3)
    Graph (*build)(std::string_view name, std::uint64_t seed);
};

std::span<const FamilyInfo> known_families();

/// nullptr if there is none of that name.
const FamilyInfo* find_family(std::string_view name);

/// Placeto has 32 networks a family: half to train on, half to test.
inline constexpr std::uint32_t kFamilySize = 32;

/// The network of that number, the same in families of any size. Forward ops with a loss.
Graph family_member(const FamilyInfo& family, std::uint64_t seed, std::uint32_t number);

/// [number]: whether a network of a family of that size is to be trained on, or tested with. Half of them are, the larger one of an odd
/// number.
std::vector<bool> training_half(std::uint32_t count, std::uint64_t seed);

/// Convolutional cells of 5 nodes, each the sum of two of {separable 3x3, 5x5; average, max pool 3x3; identity} of inputs or earlier nodes: a
/// normal one stacked 9 to 17 times, a reduction one after each third; 20 to 40 channels, 240 to 360 images of 32 x 32.
Graph cifar10_network(std::string_view name, std::uint64_t seed);
/// A recurrent cell of 12 highway nodes, each behind an earlier one by tanh, relu, sigmoid or nothing, unrolled over 25 to 40 words; 748
/// features, 10,000 words, batch 1536 to 3072.
Graph ptb_network(std::string_view name, std::uint64_t seed);
/// Translation by encoder and decoder of 2 layers (networks.hpp) over 16 to 32 words, batch 64 to 128.
Graph nmt_network(std::string_view name, std::uint64_t seed);

}  // namespace placewright
