// SPDX-License-Identifier: MIT
// Whole runs of a placement.
#pragma once

#include <cstdint>

#include "core/sim/run_tables.hpp"

namespace placewright::event_loop {

/// Runs the placement of `placed` from the beginning to the end. `state` must be reset. Afterwards
/// `state.sequence` is the number of events.
void run_loop(const Tables& tables, const PlacedTables& placed, RunState& state);

/// The same, recording spans and memory in `trace`.
void run_loop(const Tables& tables, const PlacedTables& placed, RunState& state, Trace& trace);

}  // namespace placewright::event_loop
