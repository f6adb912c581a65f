// SPDX-License-Identifier: MIT
// Runs of layers: what pipelines of frameworks give each device.
#pragma once

#include <cstddef>
#include <vector>

#include "core/cost/problem.hpp"

namespace placewright {

/// Returns the number of runs of blocks (core/graph/blocks.hpp) that follow each other on one device; 0 for a
/// network without blocks.
std::size_t count_layer_runs(const Problem& problem, const Placement& placement);

/// Returns placements in which each device has as many blocks as in `placement`, but all in one run: in the
/// order of their mean positions, in that of the machine, backwards, and, for at most four devices, in all
/// others. Of each order there is one placement in which what is not in a block stays where it is, and one in
/// which what comes before the blocks is with the first, and what comes after them with the last of them.
/// Groups that may not be on the device of their run stay where they are. Empty for a network without blocks,
/// and if the blocks of each device are one run already.
std::vector<Placement> placements_in_layer_runs(const Problem& problem, const Placement& placement);

}  // namespace placewright
