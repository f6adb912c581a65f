// SPDX-License-Identifier: MIT
// The shapes of policies that decide on a whole placement at once: see TorchModule for what makes them. All tell devices apart by number,
// as their papers do, so they are for one machine alone.
#pragma once

#include <cstdint>

namespace placewright {

/// A sequence of groups in, a sequence of devices out: a bi-directional LSTM reads the groups, another LSTM is fed the device before and
/// looks back with additive attention (Mirhoseini et al.: Device Placement Optimization with Reinforcement Learning, 2017, section 3.2).
/// What the decoder has looked up goes into the logits and not into its next input, as in the authors' hierarchical_controller.py.
struct SequenceNetwork {
    std::uint32_t devices = 0;     ///< PolicyGraph::devices
    std::uint32_t kinds = 0;       ///< PolicyGraph::kind_count
    std::uint32_t hidden = 128;    ///< units of the decoder, half of them for the encoder each way: even. The authors: 512
    std::uint32_t embedding = 64;  ///< of a kind of op, and of a device. The authors: 512 of a device
    std::uint32_t attention = 64;
    std::uint32_t neighbours = 10;  ///< of a group that the encoder is told of, readers first, more bytes first
    double temperature = 1;         ///< logits are divided by it
    double tanh_constant = 0;       ///< c: logits are at last c tanh(logits); 0: as they are
};

/// A feed-forward grouper puts each group into a cluster, and a sequence network reads the clusters and places them (Mirhoseini et al.: A
/// Hierarchical Model for Device Placement, 2018). Both are drawn, and trained together: p(rollout) = p(clusters) p(devices | clusters).
///
/// A cluster's device is decided on once: for the member with the most devices to choose from, the first of equals in the order of the
/// rollout. Members that may not be there go to the fastest of the devices that they may be on. So the devices of other members follow with
/// probability 1 and have no gradient; the decision of the leading member counts with its own advantage, and the choice of a cluster with
/// that of the rollout's last decision. Clusters without members are read as zeros and decide nothing.
struct HierarchicalNetwork {
    SequenceNetwork placer;
    std::uint32_t clusters = 64;        ///< at most 65535. The authors: min(256, 20 * devices)
    std::uint32_t grouper_hidden = 64;  ///< units of the grouper's one hidden layer
};

/// Graph convolutions, then transformer layers over the order of the rollout, then the devices of all groups, independent of each other
/// (Zhou et al.: GDP: Generalized Device Placement for Dataflow Graphs, 2019). As there, positions are not told: the convolutions carry
/// what is near. Parents and children are gathered apart. Long orders are cut into segments that look at themselves and the one before;
/// unlike in Transformer-XL (Dai et al., 2019) gradients flow into it. Layers are normalized before they are entered (Xiong et al., 2020).
struct GdpNetwork {
    enum class Aggregation : std::uint8_t { max, mean };

    std::uint32_t devices = 0;  ///< PolicyGraph::devices
    std::uint32_t kinds = 0;    ///< PolicyGraph::kind_count
    std::uint32_t width = 64;   ///< of a group's embedding: a multiple of `heads`
    std::uint32_t rounds = 3;   ///< of graph convolution (GraphSAGE; Hamilton et al., 2017), each with weights of its own
    Aggregation aggregation = Aggregation::max;
    std::uint32_t layers = 2;  ///< of the transformer; 0: none
    std::uint32_t heads = 4;
    std::uint32_t segment = 128;  ///< groups, at most
    double temperature = 1;
    double tanh_constant = 0;
};

}  // namespace placewright
