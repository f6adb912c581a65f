// SPDX-License-Identifier: MIT
#include "core/sim/base_run.hpp"

#include <algorithm>

#include "core/sim/event_loop.hpp"

namespace placewright::event_loop {
namespace {

/// Records the op or tensors of each event of the base run, and the number of events pending after it.
struct Recorder {
    const RunState& run_state;
    RunRecord& record;

    bool after(OpId op, std::uint32_t transfer, double /*now_s*/) {
        const auto event = static_cast<std::uint32_t>(record.pending_after.size());
        record.pending_after.emplace_back(static_cast<std::uint32_t>(run_state.heap.size()), op);
        if (op != kInvalidOp) {
            record.op_event[op] = event;
        } else {
            const Transfer& message = run_state.transfers[transfer];
            for (TensorId tensor = message.tensor; tensor < message.tensor_end; ++tensor)
                record.leg_events.emplace_back(tensor, event);
        }
        return false;
    }
};

/// Saves the state of the base run after the events of the snapshots.
struct Saver {
    const Tables& tables;
    RunState& run_state;
    std::span<Snapshot> snapshots;
    std::vector<double> peak;  ///< [device], from the beginning
    std::uint32_t event = 0;

    bool after(OpId /*op*/, std::uint32_t /*transfer*/, double now_s) {
        if (!snapshots.empty() && snapshots.front().event == event) save(now_s);
        ++event;
        return false;
    }

    /// Saves the state in the first of the snapshots that are left.
    void save(double now_s) {
        Snapshot& snapshot = snapshots.front();
        close_part(snapshot.peak_of_part);
        snapshot.peak_before = peak;
        snapshot.run_state.make_room(tables, run_state.fresh_transfer);
        copy(tables, run_state, snapshot.run_state);
        snapshot.run_state.now_s = now_s;
        note_references(snapshot.references);
        snapshot.events.assign(run_state.heap.events().begin(), run_state.heap.events().end());
        std::ranges::sort(snapshot.events, [](const Event& a, const Event& b) { return a.before(b); });
        snapshots = snapshots.subspan(1);
    }

    void note_references(std::vector<std::pair<std::uint32_t, std::uint32_t>>& kept) const {
        constexpr std::uint32_t kBlock = 16;
        const auto& all = run_state.references;
        kept.clear();
        for (std::uint32_t begin = 0; begin < all.size(); begin += kBlock) {
            const auto block =
                std::span(all).subspan(begin, std::min<std::size_t>(kBlock, all.size() - begin));
            std::uint32_t any = 0;
            for (const std::uint32_t number : block) any |= number;
            if (any == 0) continue;
            for (std::uint32_t i = 0; i < block.size(); ++i) {
                if (block[i] != 0) kept.emplace_back(begin + i, block[i]);
            }
        }
    }

    /// Stores the peaks since the last call; the next part begins with the current memory.
    void close_part(std::vector<double>& peak_of_part) {
        for (std::size_t device = 0; device < peak.size(); ++device) {
            DeviceState& state = run_state.devices[device];
            peak_of_part[device] = state.peak_bytes;
            peak[device] = std::max(peak[device], state.peak_bytes);
            state.peak_bytes = state.memory_bytes;
        }
    }
};

/// Records the events and saves the state after ops that have a landmark.
struct RestRecorder {
    Recorder recorder;
    Saver saver;
    std::span<std::uint32_t> landmark;  ///< [op]
    std::uint32_t next;                 ///< index of the next snapshot

    bool after(OpId op, std::uint32_t transfer, double now_s) {
        recorder.after(op, transfer, now_s);
        if (op == kInvalidOp || landmark[op] == kNone) return false;
        const bool is_last = saver.run_state.heap.empty();
        landmark[op] = is_last ? kNone : next++;
        if (is_last) return false;
        saver.snapshots.front().event = static_cast<std::uint32_t>(recorder.record.pending_after.size() - 1);
        saver.save(now_s);
        return false;
    }
};

/// One of the three, so that the loop is compiled once for all.
struct BaseHook {
    static constexpr bool kActive = true;

    Recorder* recorder = nullptr;
    Saver* saver = nullptr;
    RestRecorder* rest = nullptr;

    bool after(OpId op, std::uint32_t transfer, double now_s) {
        if (recorder != nullptr) return recorder->after(op, transfer, now_s);
        return saver != nullptr ? saver->after(op, transfer, now_s) : rest->after(op, transfer, now_s);
    }
};

void run(const Tables& tables, const PlacedTables& placed, RunState& state, BaseHook hook) {
    with_rules(tables, [&]<class Memory, Features kFeatures>(Rules<Memory, kFeatures>) {
        Loop<false, Memory, kFeatures, BaseHook> loop(tables, placed, state, nullptr, &hook);
        if (hook.rest == nullptr) loop.start();
        loop();
    });
}

/// Closes the last part and gives the devices their peaks of the whole run. Returns those of the last part.
std::vector<double> end_parts(Saver& saver) {
    std::vector<double> last_part(saver.peak.size());
    saver.close_part(last_part);
    for (std::size_t device = 0; device < last_part.size(); ++device)
        saver.run_state.devices[device].peak_bytes = saver.peak[device];
    return last_part;
}

}  // namespace

bool Snapshot::has_references(std::uint32_t first, std::span<const std::uint32_t> numbers) const {
    auto next =
        std::ranges::lower_bound(references, first, {}, &std::pair<std::uint32_t, std::uint32_t>::first);
    for (std::uint32_t i = 0; i < numbers.size(); ++i) {
        const bool is_next = next != references.end() && next->first == first + i;
        if (numbers[i] != (is_next ? next->second : 0)) return false;
        if (is_next) ++next;
    }
    return true;
}

void copy(const Tables& tables, const RunState& from, RunState& to) {
    std::copy_n(from.waiting.begin(), tables.problem.ops, to.waiting.begin());
    // Runs are recorded for one batch alone (DeltaSimulator::saves), so that no device queue is sorted by
    // key.
    if (tables.ranks_ops()) {
        to.ready = from.ready;
    } else {
        for (const DeviceState& device : from.devices) {
            for (std::uint32_t item = device.queue.head; item != kNone; item = from.next_op[item])
                to.next_op[item] = from.next_op[item];
        }
    }
    std::copy_n(from.transfers.begin(), from.fresh_transfer, to.transfers.begin());
    std::copy_n(from.next_transfer.begin(), std::size_t{from.fresh_transfer} << tables.leg_bits,
                to.next_transfer.begin());
    if (tables.sorts_transfers()) {
        std::copy_n(from.transfer_child.begin(), std::size_t{from.fresh_transfer} << tables.leg_bits,
                    to.transfer_child.begin());
    }
    to.free_transfer = from.free_transfer;
    to.fresh_transfer = from.fresh_transfer;
    to.devices = from.devices;
    to.links = from.links;
    to.heap = from.heap;
    to.sequence = from.sequence;
    to.batch_of = from.batch_of;
    to.remaining = from.remaining;
    to.free_slots = from.free_slots;
    to.admitted = from.admitted;
    to.now_s = from.now_s;
    to.ops_run = from.ops_run;
    to.transfers_sent = from.transfers_sent;
    to.arrivals = from.arrivals;
    if (!tables.general) return;
    to.stream_item = from.stream_item;
    to.share_taken = from.share_taken;
    to.updates = from.updates;
}

void record_run(const Tables& tables, const PlacedTables& placed, RunState& state, RunRecord& record) {
    record.leg_events.clear();
    record.pending_after.clear();
    Recorder recorder{state, record};
    run(tables, placed, state, {.recorder = &recorder});
}

std::vector<double> save_snapshots(const Tables& tables, const PlacedTables& placed, RunState& state,
                                   std::span<Snapshot> snapshots) {
    Saver saver{tables, state, snapshots, placed.resident_bytes};
    run(tables, placed, state, {.saver = &saver});
    return end_parts(saver);
}

RestOfRun record_rest(const Tables& tables, const PlacedTables& placed, RunState& state, RunRecord& record,
                      std::span<Snapshot> snapshots, std::size_t first, std::span<std::uint32_t> landmark,
                      std::vector<double> peak) {
    RestRecorder rest{{state, record},
                      {tables, state, snapshots, std::move(peak)},
                      landmark,
                      static_cast<std::uint32_t>(first)};
    run(tables, placed, state, {.rest = &rest});
    return {rest.next - first, end_parts(rest.saver)};
}

}  // namespace placewright::event_loop
