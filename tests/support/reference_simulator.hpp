// SPDX-License-Identifier: MIT
// A second simulator, slow and plain, written from the semantics in core/sim/simulator.hpp: no tables, no counters, no heap.
// It looks everything up in the graph and the machine each time, so that a mistake in the fast one does not repeat here.
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

/// Takes what belongs to a problem and is tested with it (seconds, shares, workspaces, views, limits) from its tables, all else from its
/// graph, machine and grouping. About O(events * ops * batches).
ReferenceRun reference_run(const Problem& problem, std::span<const DeviceId> placement, const SimulationOptions& options = {});

/// What a transfer holds at the same time.
struct TransferLeg {
    std::vector<ChannelId> channels;  ///< in the order of the route
    std::vector<DeviceId> engines;    ///< devices that lend it a copy engine
};
std::size_t transfer_legs(const Machine& machine, DeviceId from, DeviceId to);
TransferLeg transfer_leg(const Machine& machine, DeviceId from, DeviceId to, std::size_t leg);
double transfer_leg_s(const Problem& problem, TensorId tensor, DeviceId from, DeviceId to, std::size_t leg);

/// [op]: the phase as gpipe and 1f1b see it: forward if a forward op depends on the op.
std::vector<Phase> scheduling_phases(const Graph& graph);

/// [op]: the mean time from the op's start to the end of the step (HEFT, Topcuoglu et al. 2002).
std::vector<double> upward_ranks_s(const Problem& problem);

}  // namespace placewright::test
