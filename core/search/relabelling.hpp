// SPDX-License-Identifier: MIT
// Alike devices are interchangeable: which of them a placement calls the first is chance. Names that change
// from one placement to the next hide what really changed.
#pragma once

#include "core/sim/simulator.hpp"

namespace placewright {

/// The placement with its alike devices named so that it agrees with `like` as far as possible: groups that
/// take most of the time first. Devices are alike if they have the same description but for their names.
/// Returns the placement itself if no other naming agrees more, or if the other naming is not exactly as good
/// (links may differ). O(ops * devices + devices^2 log devices) and two
/// simulations.
Placement relabelled(const Problem& problem, Simulator& simulator, const Placement& placement,
                     const Placement& like);

}  // namespace placewright
