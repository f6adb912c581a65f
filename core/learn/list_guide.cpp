// SPDX-License-Identifier: MIT
#include "core/learn/list_guide.hpp"

#include <algorithm>
#include <utility>

namespace placewright {
namespace {

/// Largest number of groups that a move decides on.
constexpr std::size_t kLongestMove = 64;
/// Attempts at a move that changes something.
constexpr int kGuideTries = 4;
/// Draws of a start placement, by number wanted: some are equal.
constexpr std::size_t kDrawsPerStart = 3;

}  // namespace

ListGuide::ListGuide(std::shared_ptr<const PolicyGraph> graph, const ListNetwork& network,
                     std::span<const float> weights)
    : graph_(std::move(graph)), decoder_(*graph_, network, weights) {
    for (const GroupId group : decoder_.order()) {
        if (graph_->choices.of(group).size() > 1) movable_.push_back(group);
    }
}

std::vector<Placement> ListGuide::starts(std::size_t count, Random& random) {
    const DeviceChoices& choices = graph_->choices;
    const Placement one_device = choices.on_one_device(choices.fastest_first().front());
    std::vector<Placement> placements;
    for (std::size_t i = 0; i < kDrawsPerStart * count && placements.size() < count; ++i) {
        Placement placement = last_placement(*graph_, decoder_.decode(one_device, movable_, random, i == 0));
        if (std::ranges::find(placements, placement) == placements.end())
            placements.push_back(std::move(placement));
    }
    return placements;
}

bool ListGuide::move(std::span<DeviceId> placement, Random& random) {
    if (movable_.empty()) return false;
    const Placement before(placement.begin(), placement.end());
    for (int i = 0; i < kGuideTries; ++i) {
        const std::vector<GroupId> part = random_part(*graph_, movable_, kLongestMove, random);
        const Rollout rollout = decoder_.decode(before, part, random, false);
        bool changed = false;
        for (std::size_t k = 0; k < rollout.nodes.size(); ++k) {
            const DeviceId device = graph_->choices.devices()[rollout.devices[k]];
            changed = changed || placement[rollout.nodes[k]] != device;
            placement[rollout.nodes[k]] = device;
        }
        if (changed) return true;
    }
    return false;
}

}  // namespace placewright
