// SPDX-License-Identifier: MIT
// A second simulator, slow and plain, written from the semantics in core/sim/simulator.hpp: no tables, no counters, no heap.
// It looks everything up in the graph and the machine each time, so that a mistake in the fast one does not repeat here.
#pragma once

#include <span>

#include "core/cost/problem.hpp"
#include "core/sim/simulator.hpp"

namespace placewright::test {

struct ReferenceRun {
    Outcome outcome;
    std::vector<Span> spans;  ///< in the order in which they ended
};

/// Takes the seconds of ops and transfers from the problem's tables, all else from its graph, machine and grouping. About O(events * (ops +
/// tensors)).
ReferenceRun reference_run(const Problem& problem, std::span<const DeviceId> placement, const SimulationOptions& options = {});

}  // namespace placewright::test
