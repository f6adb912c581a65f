// SPDX-License-Identifier: MIT
// What steers a search by experience with other problems: a learned policy.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "core/base/random.hpp"
#include "core/cost/problem.hpp"

namespace placewright {

/// Several threads may use a guide at the same time.
class SearchGuide {
public:
    virtual ~SearchGuide() = default;

    /// Returns at most `count` different placements to start from, the most likely one first; fewer if `stop`
    /// is requested.
    virtual std::vector<Placement> starts(std::size_t count, Random& random, const std::stop_token& stop) = 0;

    /// Changes the devices of some groups. Returns whether that changes anything.
    virtual bool move(std::span<DeviceId> placement, Random& random) = 0;
};

}  // namespace placewright
