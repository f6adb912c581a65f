// SPDX-License-Identifier: MIT
// The run that a delta simulation starts from: its events and snapshots of its state.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/sim/run_tables.hpp"

namespace placewright::event_loop {

/// The state of the base run just after one of its events.
struct Snapshot {
    /// Few of all possible messages are under way at the same time: make_room() allocates only for those.
    explicit Snapshot(const Tables& tables) : run_state(tables, 0) { run_state.references = {}; }

    std::uint32_t event = 0;
    RunState run_state;
    std::vector<Event> events;  ///< pending events, earliest first
    /// Those of run_state that are not zero, by index; run_state itself holds none. Index, number.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> references;
    std::vector<double> peak_before;   ///< [device], from the beginning
    std::vector<double> peak_of_part;  ///< [device], since the previous snapshot

    /// Whether the references from an index on are these.
    bool has_references(std::uint32_t first, std::span<const std::uint32_t> numbers) const;
};

/// `to = from`, without unused entries and without references.
void copy(const Tables& tables, const RunState& from, RunState& to);

/// The events of a run.
struct RunRecord {
    std::vector<std::uint32_t> op_event;                         ///< [op]: the event in which it ended
    std::vector<std::pair<TensorId, std::uint32_t>> leg_events;  ///< tensor, event in which a leg ended
    /// [event]: number of pending events after it, and the op that ended or kInvalidOp.
    std::vector<std::pair<std::uint32_t, OpId>> pending_after;
};

/// Runs a placement from the beginning to the end and records its events. `state` must be reset, and
/// `record.op_event` have room for all ops.
void record_run(const Tables& tables, const PlacedTables& placed, RunState& state, RunRecord& record);

/// Runs it again and saves the state after the events of `snapshots`, which must be in order. Returns the
/// peak memory of each device since the last snapshot, in bytes.
std::vector<double> save_snapshots(const Tables& tables, const PlacedTables& placed, RunState& state,
                                   std::span<Snapshot> snapshots);

/// What record_rest() has found.
struct RestOfRun {
    std::size_t snapshots = 0;      ///< number of those saved
    std::vector<double> last_part;  ///< [device]: peak memory since the last snapshot, in bytes
};

/// Runs a placement from `state` to the end and appends its events to `record`. Saves the state after each op
/// whose landmark is not kNone, and sets the landmark to the index of the new snapshot, counted from `first`;
/// to kNone if no event is pending after the op. `state` holds the peak memory since the last snapshot,
/// `peak` [device] that from the beginning to the last snapshot, in bytes.
RestOfRun record_rest(const Tables& tables, const PlacedTables& placed, RunState& state, RunRecord& record,
                      std::span<Snapshot> snapshots, std::size_t first, std::span<std::uint32_t> landmark,
                      std::vector<double> peak);

}  // namespace placewright::event_loop
