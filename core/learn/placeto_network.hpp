// SPDX-License-Identifier: MIT
// Placeto's policy (Addanki et al.: Learning Generalizable Device Placement Algorithms for Distributed Machine Learning, 2019, section 2.2
// and appendix A.7): messages between neighbouring groups, pooling as seen from the group to be placed, a choice of device.
#pragma once

#include <span>
#include <vector>

#include "core/learn/placeto_state.hpp"

namespace placewright {

class PlacetoPolicy final : public Policy {
public:
    explicit PlacetoPolicy(const PlacetoNetwork& network) : network_(network), parameters_(network.parameters()) {}

    const std::vector<PolicyParameter>& parameters() const override { return parameters_; }
    bool improves() const override { return true; }

    /// Follows only what a decision changes: a node's features reach as far as the rounds carry them.
    Rollout roll_out(const PolicyGraph& graph, std::span<const float> weights, const Placement& start, std::span<const GroupId> order,
                     Random& random, bool greedy) const override;
    GradientSummary add_gradient(const GradientTask& task, std::span<float> gradient) const override;

    /// The probabilities of the devices for the current node of `state`, computed from the beginning.
    std::vector<float> probabilities(const PolicyGraph& graph, std::span<const float> weights, const PlacetoState& state) const;

private:
    PlacetoNetwork network_;
    std::vector<PolicyParameter> parameters_;
};

}  // namespace placewright
