// SPDX-License-Identifier: MIT
#include "core/learn/policy.hpp"

#include <utility>

#include "core/cost/apart.hpp"

namespace placewright {

std::vector<Placement> placements_along(const PolicyGraph& graph, const Rollout& rollout) {
    std::vector<Placement> placements{rollout.start};
    placements.reserve(rollout.nodes.size() + 1);
    for (std::size_t i = 0; i < rollout.nodes.size(); ++i) {
        placements.push_back(placements.back());
        placements.back()[rollout.nodes[i]] = graph.choices.devices()[rollout.devices[i]];
    }
    for (Placement& placement : placements)
        placement = obeying(graph.choices.problem(), std::move(placement));
    return placements;
}

Placement last_placement(const PolicyGraph& graph, const Rollout& rollout) {
    Placement placement = rollout.start;
    for (std::size_t i = 0; i < rollout.nodes.size(); ++i)
        placement[rollout.nodes[i]] = graph.choices.devices()[rollout.devices[i]];
    return obeying(graph.choices.problem(), std::move(placement));
}

std::size_t Policy::size() const {
    std::size_t size = 0;
    for (const PolicyParameter& parameter : parameters()) size += parameter.size();
    return size;
}

std::vector<float> Policy::initial_weights(std::uint64_t seed) const {
    Random random(seed);
    std::vector<float> weights;
    weights.reserve(size());
    for (const PolicyParameter& parameter : parameters()) {
        for (std::size_t i = 0; i < parameter.size(); ++i)
            weights.push_back(
                static_cast<float>(parameter.centre + parameter.spread * random.uniform(-1, 1)));
    }
    return weights;
}

}  // namespace placewright
