// SPDX-License-Identifier: MIT
// Lower bounds on the step time of every placement, and how each is proven.
#pragma once

#include <string>
#include <vector>

#include "core/cost/problem.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

struct Bound {
    std::string name;
    double value_s = 0;  ///< infinity: nothing fits
    std::string proof;
};

/// All bounds, tightest first; each holds for the step time (seconds a batch) of every placement that fits the memory.
std::vector<Bound> lower_bounds(const Problem& problem, const SimulationOptions& options = {});

/// The longest chain of ops, each on its fastest allowed device, transfers free: what each of `batches` takes at least. Accumulating
/// updates only add up then, unless there is one batch.
double critical_path_s(const Problem& problem, std::uint32_t batches = 1);

}  // namespace placewright
