// SPDX-License-Identifier: MIT
// The list policy: learned list scheduling, for networks and machines of any size. See ListNetwork.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/learn/list_state.hpp"

namespace placewright {

/// A policy with its weights on one graph: what does not change from one rollout to the next is computed
/// once. Not for several threads at a time.
class ListDecoder {
public:
    ListDecoder(const PolicyGraph& graph, const ListNetwork& network, std::span<const float> weights);
    ~ListDecoder();

    /// Decides on the groups of `decided`, in the policy's own order; others stay where `start` has them.
    Rollout decode(const Placement& start, std::span<const GroupId> decided, Random& random, bool greedy);
    /// Returns the probabilities of all devices at each decision of the rollout: [decision * devices +
    /// device].
    std::vector<float> probabilities(const Rollout& rollout);

    /// All groups in the order in which the policy goes through them.
    std::span<const GroupId> order() const { return order_; }

private:
    struct Head;

    /// Computes the scores of the devices that the group may be on; -infinity for the others.
    void score(GroupId group);

    const PolicyGraph& graph_;
    ListNetwork network_;
    std::vector<float> weights_;
    std::unique_ptr<const Head> head_;
    std::vector<GroupId> order_;
    ListState state_;
    std::vector<float> embedded_;  ///< [group * hidden]: what a group's embedding adds to the first layer
    std::vector<std::uint8_t> decided_;
    std::vector<float> features_;            ///< [device * feature]
    std::vector<float> first_, second_;      ///< [device * hidden]: layers
    std::vector<float> mean_, attended_;     ///< [hidden]: of the first layer by the attention, and mapped
    std::vector<float> attention_, scores_;  ///< [device]
};

class ListPolicy final : public Policy {
public:
    explicit ListPolicy(const ListNetwork& network) : network_(network), parameters_(network.parameters()) {}

    const std::vector<PolicyParameter>& parameters() const override { return parameters_; }
    bool improves() const override { return false; }
    bool completes() const override { return true; }
    Rollout roll_out(const PolicyGraph& graph, std::span<const float> weights, const Placement& start,
                     std::span<const GroupId> order, Random& random, bool greedy) const override;
    Rollout leading_to(const PolicyGraph& graph, const Placement& placement,
                       std::span<const GroupId> order) const override;
    GradientSummary add_gradient(const GradientTask& task, std::span<float> gradient) const override;
    std::uint32_t batch_size() const override { return 4; }

    const ListNetwork& network() const { return network_; }

private:
    ListNetwork network_;
    std::vector<PolicyParameter> parameters_;
};

}  // namespace placewright
