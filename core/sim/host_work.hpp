// SPDX-License-Identifier: MIT
// What the host of a framework does to run a program (Runtime::eager).
#pragma once

#include <vector>

#include "core/cost/problem.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

/// SimulationOptions::host_time_s in whole ticks (Problem::tick_s); 0 unless the runtime is eager.
double host_time_s(const Problem& problem, const SimulationOptions& options);

/// What the host does for an op of a batch on a device other than a CPU, in seconds in whole ticks
/// (Problem::tick_s): it dispatches the op and launches its kernels. 0 for a source without work, which is
/// there already, and unless the runtime is eager. Of an update that accumulates gradients: the mean over the
/// batches, of which all but the first add a gradient and the last updates.
double host_op_s(const Problem& problem, const SimulationOptions& options, OpId op);
/// What the host does to copy a tensor to another device: an op with a kernel.
inline constexpr double kCopyCalls = 2;

/// The order in which a framework runs a step, and what the threads of the devices issue of it.
struct HostProgram {
    /// The order of the graph, derived updates last unless the optimizer works in the backward pass.
    std::vector<OpId> ops;
    std::size_t backward_begin = 0, backward_end = 0;  ///< in `ops`; the main thread issues the others
};
HostProgram program_of(const Problem& problem);

}  // namespace placewright
