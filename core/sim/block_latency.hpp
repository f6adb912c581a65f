// SPDX-License-Identifier: MIT
#pragma once

#include "core/sim/host_memory.hpp"

namespace placewright {

/// Seconds for one sample when accelerators are called block by block (Tarnawski et al. 2020; greedy.cpp of their programs).
///
/// The ops of an accelerator fall into pieces: an op is in piece p if p - 1 is how often the path to it that does so most often leaves the
/// accelerator and comes back. Ops that no such detour separates are one piece. A piece is a block, called as a whole: once all that it
/// reads is there, it reads its inputs, runs its ops one after the other and writes what others read; nothing of it can be seen before it
/// ends. Tensors between two pieces of one accelerator are written and read too. An op on a CPU is a block of its own that
/// runs as soon as its inputs are there: CPUs are never short. The value is when the last block ends; device_s sums the blocks.
///
/// The placement must be one that check_placement accepts. Throws PlacementError if blocks wait for each other, GraphError for a
/// training graph, MachineError if the machine has no CPU. O((ops + edges) * devices).
Evaluation block_latency(const Problem& problem, std::span<const DeviceId> placement);

}  // namespace placewright
