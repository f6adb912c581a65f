// SPDX-License-Identifier: MIT
// Shapes of policies that decide on a whole placement at once; TorchModule makes these policies. All
// distinguish devices by number, as their papers do, so a policy is for one machine only.
#pragma once

#include <cstdint>

namespace placewright {

/// Maps a sequence of groups to a sequence of devices: a bi-directional LSTM reads the groups; another LSTM
/// is fed the previous device and looks back with additive attention (Mirhoseini et al.: Device Placement
/// Optimization with Reinforcement Learning, 2017, section 3.2). The attention's result goes into the logits
/// and not into the decoder's next input, as in the authors' hierarchical_controller.py.
struct SequenceNetwork {
    std::uint32_t devices = 0;   ///< PolicyGraph::devices
    std::uint32_t kinds = 0;     ///< PolicyGraph::kind_count
    std::uint32_t hidden = 128;  ///< LSTM units of the decoder, half of them for the encoder in each
                                 ///< direction: even. The authors: 512
    std::uint32_t embedding =
        64;  ///< size of the embedding of an op kind, and of a device. The authors: 512 for a device
    std::uint32_t attention = 64;
    std::uint32_t neighbours =
        10;                    ///< number of neighbours in a group's input, readers first, more bytes first
    double temperature = 1;    ///< divisor of the logits
    double tanh_constant = 0;  ///< c: the final logits are c tanh(logits); 0: unchanged
};

/// A feed-forward grouper puts each group into a cluster, and a sequence network reads the clusters and
/// places them (Mirhoseini et al.: A Hierarchical Model for Device Placement, 2018). Both are drawn, and
/// trained together: p(rollout) = p(clusters) p(devices | clusters).
///
/// The device of a cluster is decided once: for the member with the most devices to choose from, the first of
/// equals in the order of the rollout. Members that may not be there go to the fastest of the devices that
/// they may be on. The devices of the other members therefore follow with probability 1 and have no gradient;
/// the decision of the leading member counts with its own advantage, and the choice of a cluster with that of
/// the rollout's last decision. Clusters without members are read as zeros and decide nothing.
struct HierarchicalNetwork {
    SequenceNetwork placer;
    std::uint32_t clusters = 64;        ///< at most 65535. The authors: min(256, 20 * devices)
    std::uint32_t grouper_hidden = 64;  ///< units of the grouper's one hidden layer
};

/// Graph convolutions, then transformer layers over the order of the rollout, then the devices of all groups,
/// independent of each other (Zhou et al.: GDP: Generalized Device Placement for Dataflow Graphs, 2019). As
/// there, positions are not encoded: the convolutions carry information on neighbours. Parents and children
/// are aggregated separately. Long orders are cut into segments that attend to themselves and the one before;
/// unlike in Transformer-XL (Dai et al., 2019) gradients flow into the latter. Layers are normalised at their
/// inputs (Xiong et al., 2020).
struct GdpNetwork {
    enum class Aggregation : std::uint8_t { max, mean };

    std::uint32_t devices = 0;  ///< PolicyGraph::devices
    std::uint32_t kinds = 0;    ///< PolicyGraph::kind_count
    std::uint32_t width = 64;   ///< width of a group's embedding: a multiple of `heads`
    std::uint32_t rounds =
        3;  ///< rounds of graph convolution (GraphSAGE; Hamilton et al., 2017), each with weights of its own
    Aggregation aggregation = Aggregation::max;
    std::uint32_t layers = 2;  ///< layers of the transformer; 0: none
    std::uint32_t heads = 4;
    std::uint32_t segment = 128;  ///< maximum number of groups in a segment
    double temperature = 1;
    double tanh_constant = 0;
};

}  // namespace placewright
