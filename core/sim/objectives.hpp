// SPDX-License-Identifier: MIT
// The objective functions that a placement can minimise.
#pragma once

#include <span>
#include <string_view>

#include "core/sim/host_memory.hpp"

namespace placewright {

struct Objective {
    std::string_view id;  ///< as on the command line
    std::string_view title;
    std::string_view help;
    /// Value of a placement; null for the step time, which is simulated. Throws the errors of max_load and
    /// block_latency.
    Evaluation (*evaluate)(const Problem& problem, std::span<const DeviceId> placement);

    bool is_step_time() const { return evaluate == nullptr; }
};

/// step-time, max-load, block-latency.
std::span<const Objective> objectives();
/// Returns nullptr if no objective has that id.
const Objective* find_objective(std::string_view id);

}  // namespace placewright
