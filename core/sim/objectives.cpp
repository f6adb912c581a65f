// SPDX-License-Identifier: MIT
#include "core/sim/objectives.hpp"

#include <algorithm>
#include <array>

#include "core/sim/block_latency.hpp"
#include "core/sim/max_load.hpp"

namespace placewright {
namespace {

constexpr std::array<Objective, 3> kObjectives{{
    {"step-time", "Step time", "Seconds per batch in the event simulation.", nullptr},
    {"max-load", "Max load",
     "Seconds per batch in a pipeline: the load of the busiest device, including its transfers to and from "
     "the CPU's memory.",
     max_load},
    {"block-latency", "Block latency",
     "Seconds for one batch if ops are called block by block; inference only.", block_latency},
}};

}  // namespace

std::span<const Objective> objectives() {
    return kObjectives;
}

const Objective* find_objective(std::string_view id) {
    const auto* found = std::ranges::find(kObjectives, id, &Objective::id);
    return found == kObjectives.end() ? nullptr : found;
}

}  // namespace placewright
