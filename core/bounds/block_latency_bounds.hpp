// SPDX-License-Identifier: MIT
#pragma once

#include "core/cost/problem.hpp"

namespace placewright {

/// Backbone bound on the block latency (core/sim/block_latency.hpp) of every placement that fits the memory, by dynamic programming.
/// Infinity: nothing fits.
///
/// Between the ends of the critical path the ops that come before or after every other one are the backbone, the ops between two of them a
/// segment. An accelerator's block that holds two ops of the backbone holds all between them; that must fit its memory, with all of the
/// groups that it touches. So the backbone is cut into ops on CPUs and blocks, each of which takes at least its ops, what it reads from
/// before its first and writes for behind its last op of the backbone, and at each end a minimum cut of the segment there: the transfers
/// and the ops off the segment's critical path that it must take to begin or end within it. A segment between two blocks takes its critical
/// path besides. Never below critical_path_s.
/// Throws GraphError for a training graph, MachineError if the machine has no CPU. O(backbone * (ops + edges) * device classes).
double backbone_latency_s(const Problem& problem);

}  // namespace placewright
