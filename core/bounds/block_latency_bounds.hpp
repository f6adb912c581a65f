// SPDX-License-Identifier: MIT
#pragma once

#include "core/cost/problem.hpp"

namespace placewright {

/// Backbone bound on the block latency (core/sim/block_latency.hpp) of every placement that fits the memory,
/// by dynamic programming. Returns infinity if nothing fits.
///
/// Between the ends of the critical path, the ops that come before or after every other op are the backbone;
/// the ops between two of them are a segment. An accelerator's block that holds two ops of the backbone holds
/// all ops between them; these, with all of the groups that they belong to, must fit its memory. So the
/// backbone is cut into ops on CPUs and blocks. A block takes at least its ops, the reads from before its
/// first backbone op and the writes for readers behind its last one, and at each end a minimum cut of the
/// segment there: the transfers, and the ops off the segment's critical path, that it must take to begin or
/// end within the segment. A segment between two blocks also takes its critical path. The bound is never
/// below critical_path_s. Throws GraphError for a training graph, MachineError if the machine has no CPU.
/// O(backbone * (ops + edges) * device classes).
double backbone_latency_s(const Problem& problem);

}  // namespace placewright
