// SPDX-License-Identifier: MIT
// What fills the devices of a placed network from one step to the next.
#pragma once

#include <span>
#include <vector>

#include "core/cost/problem.hpp"

namespace placewright {

/// Bytes that ops hold on a device during the whole step. What the framework and training add (context,
/// gradients, state of the optimizer) and what comes and goes is not in it.
struct DeviceContents {
    double weight_bytes = 0;  ///< parameters
    double cache_bytes = 0;   ///< Op::resident_bytes: in a language model keys and values of its tokens

    bool operator==(const DeviceContents&) const = default;
};

/// [device].
std::vector<DeviceContents> contents_of(const Problem& problem, std::span<const DeviceId> placement);

}  // namespace placewright
