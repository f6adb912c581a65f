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
    double value_s = 0;  ///< infinity if nothing fits
    std::string proof;
};

/// All bounds, tightest first; each holds for the step time (seconds per batch) of every placement that fits
/// the memory.
std::vector<Bound> lower_bounds(const Problem& problem, const SimulationOptions& options = {});

/// The longest chain of ops, each on its fastest allowed device, with free transfers: a lower bound on the
/// time of each of `batches`. With more than one batch, accumulating updates count 0 (OpSeconds::least_s).
double critical_path_s(const Problem& problem, std::uint32_t batches = 1);

}  // namespace placewright
