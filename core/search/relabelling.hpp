// SPDX-License-Identifier: MIT
// Alike devices are interchangeable: which of them a placement calls the first is chance. Names that change
// from one placement to the next hide what really changed.
#pragma once

#include "core/sim/simulator.hpp"

namespace placewright {

/// The placement with its alike devices named so that it agrees with `like` as far as possible: the groups on
/// devices of the same names take the most time together. Devices are alike if they have the same description
/// but for their names. Returns the placement itself if no other naming agrees more, if the other naming is
/// not exactly as good (links may differ), or if there are more than 128 devices. O(ops * devices +
/// devices^3) and two simulations.
Placement relabelled(const Problem& problem, Simulator& simulator, const Placement& placement,
                     const Placement& like);

/// The placement with its alike devices numbered in the order of their first groups: what is on gpu:5 and
/// comes first is on gpu:0. Returns the placement itself where relabelled() would. O(ops + devices^2) and two
/// simulations.
Placement numbered_by_first_use(const Problem& problem, Simulator& simulator, const Placement& placement);

}  // namespace placewright
