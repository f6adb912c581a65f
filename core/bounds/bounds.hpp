// SPDX-License-Identifier: MIT
// Lower bounds for every goal: how far from optimal a placement can still be, and how that is proven. Bounds on the step time that need no
// solver are in core/sim/bounds.hpp.
#pragma once

#include <functional>
#include <limits>
#include <stop_token>
#include <vector>

#include "core/sim/bounds.hpp"
#include "core/sim/goals.hpp"

namespace placewright {

/// What takes no longer than a few seconds, tightest first; each holds for the goal's value of every placement that fits the memory. The
/// same on every computer. Throws what the goal throws of every placement: GraphError, MachineError.
std::vector<Bound> quick_bounds(const Problem& problem, const Goal& goal, const SimulationOptions& options = {});

struct BoundEffort {
    double seconds = 0;
    std::stop_token stop;
    /// The value of a placement that fits the memory: what is no better need not be looked at.
    double incumbent_s = std::numeric_limits<double>::infinity();
};

/// Calls `found`, on any of its threads but one call at a time, with bounds that need more than quick_bounds: as far as `effort` allows,
/// in the order in which they are done, one that is not done again whenever it has grown by a thousandth. What ends early has proven less,
/// but what it has proven holds. Ends once the incumbent is proven optimal, as exactly as a solver can.
void prove_bounds(const Problem& problem, const Goal& goal, const SimulationOptions& options, const BoundEffort& effort,
                  const std::function<void(Bound)>& found);

/// How much something is above optimal at most, in whole per cent: the gap (value / bound - 1) rounded up, but for the noise of floats.
double whole_percent(double gap);

}  // namespace placewright
