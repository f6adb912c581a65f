// SPDX-License-Identifier: MIT
// Families of networks for training a placement policy: many networks of one kind with different structures.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/graph/graph.hpp"

namespace placewright {

/// The three families of Placeto (Addanki et al., 2019, section 4.1): networks as the controller of ENAS
/// (Pham et al., 2018) samples them. Here cells are sampled by rules in place of a trained controller. The
/// share of random choices differs from network to network, so that a family contains both chains and bushes.
struct FamilyInfo {
    std::string_view name;    ///< "cifar10"
    std::string_view title;   ///< "CIFAR-10 cells"
    std::string_view source;  ///< where its architecture is described
    std::uint32_t groups;  ///< that a network's ops are merged into (Placeto, appendix A.3); 0: each op alone
    Graph (*build)(std::string_view name, std::uint64_t seed);
};

std::span<const FamilyInfo> known_families();

/// Returns nullptr if no family has that name.
const FamilyInfo* find_family(std::string_view name);

/// Number of networks per family in Placeto: half to train on, half to test.
inline constexpr std::uint32_t kFamilySize = 32;

/// Network `number` of a family, the same in families of any size. Forward ops with a loss.
Graph family_member(const FamilyInfo& family, std::uint64_t seed, std::uint32_t number);

/// [number]: whether a network of a family of `count` networks is for training; the others are for testing.
/// Half of them are, rounded up.
std::vector<bool> training_half(std::uint32_t count, std::uint64_t seed);

/// Convolutional cells of 5 nodes, each the sum of two of {separable 3x3, 5x5; average, max pool 3x3;
/// identity} of inputs or earlier nodes: a normal cell stacked 9 to 17 times, a reduction cell after each
/// third; 20 to 40 channels, 240 to 360 images of 32 x 32.
Graph cifar10_network(std::string_view name, std::uint64_t seed);
/// A recurrent cell of 12 highway nodes, each connected to an earlier one by tanh, relu, sigmoid or nothing,
/// unrolled over 25 to 40 words; 748 features, 10,000 words, batch 1536 to 3072.
Graph ptb_network(std::string_view name, std::uint64_t seed);
/// Networks of all kinds, for a policy that is to place any: residual and plain classifiers, parallel
/// branches of convolutions, NASNets, recurrent language models, translators, transformers, and members of
/// the other families, of random width and depth, batch 8 to 128. None of them is one of known_networks().
Graph general_network(std::string_view name, std::uint64_t seed);
/// Translation by an encoder and decoder of 2 layers (networks.hpp) over 16 to 32 words, batch 64 to 128.
Graph nmt_network(std::string_view name, std::uint64_t seed);

}  // namespace placewright
