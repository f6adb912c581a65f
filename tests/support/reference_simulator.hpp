// SPDX-License-Identifier: MIT
// A second, slow and simple simulator, written from the semantics in core/sim/simulator.hpp without tables,
// counters or a heap. It looks everything up in the graph and the machine each time, so that it does not
// repeat a mistake of the fast simulator.
#pragma once

#include <span>
#include <vector>

#include "core/cost/problem.hpp"
#include "core/sim/simulator.hpp"

namespace placewright::test {

struct ReferenceRun {
    Outcome outcome;
    std::vector<Span> spans;  ///< in the order in which they ended
};

/// Takes the figures of a problem that have tests of their own (seconds, shares, workspaces, views, limits)
/// from its tables, and everything else from its graph, machine and grouping. About O(events * ops *
/// batches).
ReferenceRun reference_run(const Problem& problem, std::span<const DeviceId> placement,
                           const SimulationOptions& options = {});

/// Resources that a transfer occupies at the same time.
struct TransferLeg {
    std::vector<ChannelId> channels;  ///< in the order of the route
    std::vector<DeviceId> engines;    ///< devices whose copy engine it uses
};
std::size_t transfer_legs(const Machine& machine, DeviceId from, DeviceId to);
TransferLeg transfer_leg(const Machine& machine, DeviceId from, DeviceId to, std::size_t leg);
double transfer_leg_s(const Problem& problem, TensorId tensor, DeviceId from, DeviceId to, std::size_t leg);

/// The order in which a framework runs the ops: that of the graph, derived updates last unless the optimizer
/// works in the backward pass.
std::vector<OpId> program_order(const Problem& problem);

/// [op]: the phase used by gpipe and 1f1b: forward if a forward op depends on the op.
std::vector<Phase> scheduling_phases(const Graph& graph);

/// [op]: upward rank, the mean time from the op's start to the end of the step (HEFT, Topcuoglu et al.
/// 2002).
std::vector<double> upward_ranks_s(const Problem& problem);

}  // namespace placewright::test
