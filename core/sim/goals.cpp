// SPDX-License-Identifier: MIT
#include "core/sim/goals.hpp"

#include <algorithm>
#include <array>

#include "core/sim/block_latency.hpp"
#include "core/sim/max_load.hpp"

namespace placewright {
namespace {

constexpr std::array<Goal, 3> kGoals{{
    {"step-time", "Step time", "Seconds a batch in the event simulation.", nullptr},
    {"max-load", "Max load", "Seconds a sample in a pipeline: the busiest device, its transfers to and from the CPU's memory included.",
     max_load},
    {"block-latency", "Block latency", "Seconds for one sample whose ops are called block by block; inference only.", block_latency},
}};

}  // namespace

std::span<const Goal> goals() {
    return kGoals;
}

const Goal* find_goal(std::string_view id) {
    const auto* found = std::ranges::find(kGoals, id, &Goal::id);
    return found == kGoals.end() ? nullptr : found;
}

}  // namespace placewright
