// SPDX-License-Identifier: MIT
// What of a placement can be made small.
#pragma once

#include <span>
#include <string_view>

#include "core/sim/host_memory.hpp"

namespace placewright {

struct Goal {
    std::string_view id;  ///< as on the command line
    std::string_view title;
    std::string_view help;
    /// The value of a placement; null for the step time, which a simulation tells. Throws what max_load and block_latency throw.
    Evaluation (*evaluate)(const Problem& problem, std::span<const DeviceId> placement);

    bool is_step_time() const { return evaluate == nullptr; }
};

/// step-time, max-load, block-latency.
std::span<const Goal> goals();
/// nullptr if there is none of that id.
const Goal* find_goal(std::string_view id);

}  // namespace placewright
