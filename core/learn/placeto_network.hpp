// SPDX-License-Identifier: MIT
// Placeto's policy (Addanki et al.: Learning Generalizable Device Placement Algorithms for Distributed
// Machine Learning, 2019, section 2.2 and appendix A.7): message passing between neighbouring groups, pooling
// relative to the group to be placed, choice of a device.
#pragma once

#include <span>
#include <vector>

#include "core/learn/placeto_state.hpp"

namespace placewright {

class PlacetoPolicy final : public Policy {
public:
    explicit PlacetoPolicy(const PlacetoNetwork& network)
        : network_(network), parameters_(network.parameters()) {}

    const std::vector<PolicyParameter>& parameters() const override { return parameters_; }
    bool improves() const override { return true; }

    /// Updates only what a decision changes: a node's features reach as far as the rounds of messages carry
    /// them.
    Rollout roll_out(const PolicyGraph& graph, std::span<const float> weights, const Placement& start,
                     std::span<const GroupId> order, Random& random, bool greedy) const override;
    GradientSummary add_gradient(const GradientTask& task, std::span<float> gradient) const override;

    /// Returns the probabilities of the devices for the current node of `state`, computed from scratch.
    std::vector<float> probabilities(const PolicyGraph& graph, std::span<const float> weights,
                                     const PlacetoState& state) const;

private:
    PlacetoNetwork network_;
    std::vector<PolicyParameter> parameters_;
};

}  // namespace placewright
