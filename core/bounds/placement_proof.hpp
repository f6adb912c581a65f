// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>

#include "core/base/infinity.hpp"
#include "core/cost/placement.hpp"
#include "core/cost/problem.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

/// What a search of all placements has shown.
struct PlacementProof {
    /// No placement that fits the memory takes less (seconds per batch).
    double bound_s = 0;
    /// The fastest placement that was found to be faster than the incumbent; empty if none was found.
    Placement placement;
    double step_time_s = kInfinity;  ///< of `placement`
    bool finished = false;           ///< bound_s is the optimum: that of `placement`, or the incumbent
};

/// Searches all placements that could be faster than `incumbent_s`, depth first, group by group in the order
/// of the ops, and simulates those that are left. A branch ends where the groups that are placed show by
/// windows (core/bounds/chain_windows.hpp) that no placement of the others is faster, or where what they
/// hold does not fit the memory. Of devices that are alike in all (ops, memory, links), the first that is not
/// used yet stands for the others; a placement that is left is simulated with all their names, since events
/// at the same time are handled in the order of the devices.
///
/// Goes up to the incumbent in steps: first it searches for placements that are a little above `bound_s`,
/// which is known. `told` is called with each bound that is shown. Ends when `is_over`. For problems of some
/// dozen groups.
PlacementProof prove_by_placements(const Problem& problem, const SimulationOptions& options, bool is_fifo,
                                   double bound_s, double incumbent_s,
                                   const std::function<void(double bound_s)>& told,
                                   const std::function<bool()>& is_over);

/// [device]: the first device that it is alike with in all that a simulation knows: to exchange the two in a
/// placement changes nothing but names, and the order of events at the same time.
std::vector<DeviceId> first_interchangeable(const Problem& problem);

}  // namespace placewright
