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
    : graph_(std::move(graph)), network_(network), weights_(weights.begin(), weights.end()) {
    Decoder decoder = borrow();
    for (const GroupId group : decoder->order()) {
        if (graph_->choices.of(group).size() > 1) movable_.push_back(group);
    }
    give_back(std::move(decoder));
}

ListGuide::Decoder ListGuide::borrow() {
    {
        const std::scoped_lock lock(mutex_);
        if (!decoders_.empty()) {
            Decoder decoder = std::move(decoders_.back());
            decoders_.pop_back();
            return decoder;
        }
    }
    return std::make_unique<ListDecoder>(*graph_, network_, weights_);
}

void ListGuide::give_back(Decoder decoder) {
    const std::scoped_lock lock(mutex_);
    decoders_.push_back(std::move(decoder));
}

std::vector<Placement> ListGuide::starts(std::size_t count, Random& random, const std::stop_token& stop) {
    const DeviceChoices& choices = graph_->choices;
    const Placement one_device = choices.on_one_device(choices.fastest_first().front());
    std::vector<Placement> placements;
    Decoder decoder = borrow();
    for (std::size_t i = 0; i < kDrawsPerStart * count && placements.size() < count && !stop.stop_requested();
         ++i) {
        Placement placement = last_placement(*graph_, decoder->decode(one_device, movable_, random, i == 0));
        if (std::ranges::find(placements, placement) == placements.end())
            placements.push_back(std::move(placement));
    }
    give_back(std::move(decoder));
    return placements;
}

bool ListGuide::move(std::span<DeviceId> placement, Random& random) {
    if (movable_.empty()) return false;
    const Placement before(placement.begin(), placement.end());
    Decoder decoder = borrow();
    bool changed = false;
    for (int i = 0; i < kGuideTries && !changed; ++i) {
        const std::vector<GroupId> part = random_part(*graph_, movable_, kLongestMove, random);
        const Rollout rollout = decoder->decode(before, part, random, false);
        for (std::size_t k = 0; k < rollout.nodes.size(); ++k) {
            const DeviceId device = graph_->choices.devices()[rollout.devices[k]];
            changed = changed || placement[rollout.nodes[k]] != device;
            placement[rollout.nodes[k]] = device;
        }
    }
    give_back(std::move(decoder));
    return changed;
}

}  // namespace placewright
