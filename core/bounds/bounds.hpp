// SPDX-License-Identifier: MIT
// Lower bounds for every objective: how far from optimal a placement can be at most, and the proof. Bounds on
// the step time that need no solver are in core/bounds/simple_bounds.hpp.
#pragma once

#include <functional>
#include <stop_token>
#include <vector>

#include "core/base/infinity.hpp"
#include "core/bounds/simple_bounds.hpp"
#include "core/sim/objectives.hpp"

namespace placewright {

/// Bounds that take a few seconds at most, tightest first. Each is a lower bound on the objective's value of
/// every placement that fits the memory. The result is the same on every computer. Throws the errors that the
/// objective throws for every placement: GraphError, MachineError.
std::vector<Bound> quick_bounds(const Problem& problem, const Objective& objective,
                                const SimulationOptions& options = {});

struct BoundEffort {
    double seconds = 0;
    std::stop_token stop;
    /// The value of a placement that fits the memory; only better placements are searched for.
    double incumbent_s = kInfinity;
};

/// Calls `found` with bounds that need more time than quick_bounds, as far as `effort` allows: each when it
/// is done, and one that is still in progress whenever it has grown by a thousandth. `found` is called on any
/// of the threads, one call at a time. A proof that ends early gives a weaker but valid bound. Returns once
/// the incumbent is proven optimal, within the tolerance of the solver.
void prove_bounds(const Problem& problem, const Objective& objective, const SimulationOptions& options,
                  const BoundEffort& effort, const std::function<void(Bound)>& found);

/// Whether a placement that fits has a value below the bound by more than the tolerance of the proofs: one of
/// the two is wrong.
bool contradicts(double bound_s, double value_s);

/// A gap (value / bound - 1) as an upper limit in whole per cent: rounded up, but ignoring floating-point
/// noise.
double whole_percent(double gap);

}  // namespace placewright
