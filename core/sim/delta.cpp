// SPDX-License-Identifier: MIT
#include "core/sim/delta.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <tuple>

#include "core/sim/base_run.hpp"
#include "core/sim/delta_surroundings.hpp"
#include "core/sim/event_loop.hpp"
#include "core/sim/run_loop.hpp"

namespace placewright {
namespace {

using namespace event_loop;

/// Least average number of events between two snapshots: resuming from a snapshot costs as much as these.
constexpr std::size_t kLeastEvents = 24;
constexpr std::size_t kSnapshotBytes = std::size_t{32} << 20;  ///< of all snapshots together
constexpr std::size_t kMostMoves = 16;                         ///< groups that may differ from the base
/// After so many updates a run is recorded as a whole, because its snapshots may have drifted together.
constexpr std::size_t kMostUpdates = 64;

}  // namespace

struct KnownRun::State {
    Placement base;
    std::uint64_t version = 0;  ///< of all runs ever recorded, no other has it
    Outcome outcome;
    std::vector<Snapshot> snapshots;  ///< used ones first
    std::size_t used_snapshots = 0;
    std::size_t updates = 0;                 ///< of the run since it was recorded as a whole
    std::vector<DeviceState> final_devices;  ///< of the base run
    std::vector<LinkState> final_links;
    std::vector<double> final_part;  ///< [device]: peak since the last snapshot
    double final_s = 0;
    std::uint64_t final_transfers = 0;
    std::uint32_t events = 0;

    RunRecord record;  ///< only its op_event is used once the snapshots are taken
    std::vector<std::uint32_t> leg_begin,
        leg_event;                        ///< [tensors + 1]: events in which legs of a tensor ended
    std::vector<std::uint32_t> landmark;  ///< [op]: the snapshot after its end, or kNone
};

struct DeltaSimulator::State {
    Tables tables;
    /// Tables of a run, kept so that going back to it takes no time.
    struct Placed {
        const KnownRun::State* run = nullptr;
        std::uint64_t version = 0;
        std::uint64_t used = 0;
        PlacedTables tables;
    };
    std::vector<Placed> placed_tables;
    PlacedTables whole;    ///< of placements that run whole
    PlacedTables* placed;  ///< of the known run, except while a placement runs
    RunState run_state;
    bool whole_only;
    bool keeps_references;  ///< references are not zero at the end of a run

    KnownRun rebased;                        ///< by rebase()
    const KnownRun::State* known = nullptr;  ///< the run that placements are compared with
    Outcome outcome;

    // Tables of the current placement.
    std::vector<GroupId> moved;
    std::vector<OpId> moved_ops;
    bool surrounded = false;    ///< whether `surroundings` are those of the moved ops
    Surroundings surroundings;  ///< everything that can become different when these ops move
    Surroundings remaining;     ///< everything that can still become different
    std::vector<OpId> moved_to_come;
    std::vector<TensorId> different;  ///< tensors whose references differ from the base run
    std::vector<std::uint32_t> kept_references;
    std::vector<Event> pending;
    std::vector<std::uint32_t> items_here, items_there;  ///< of a queue in this run and in the base run
    std::vector<std::pair<std::uint64_t, std::uint64_t>> arrivals;
    std::uint64_t simulated = 0, full = 0;
    std::uint64_t uses = 0;

    State(std::shared_ptr<const Problem> problem, const SimulationOptions& options)
        : tables(std::move(problem), options),
          whole(tables),
          placed(&whole),
          run_state(tables),
          whole_only(!DeltaSimulator::saves(options) || tables.problem.streams_to),
          keeps_references(!readers_release(tables.problem)),
          outcome(empty_outcome(tables.problem)),
          surroundings(tables.problem),
          remaining(tables.problem) {}

    /// Tries to catch up with the base run after the events that are landmarks.
    struct Follower {
        static constexpr bool kActive = true;
        State& state;

        bool after(OpId op, std::uint32_t /*transfer*/, double now_s) {
            ++state.simulated;
            if (op == kInvalidOp) return false;
            const std::uint32_t landmark = state.known->landmark[op];
            return landmark != kNone && state.catch_up(landmark, now_s);
        }
    };
    /// Follows the base run: resumes from `run_state`, or starts from the beginning if `begin`.
    void follow(bool begin) {
        with_rules(tables, [&]<class Memory, Features kFeatures>(Rules<Memory, kFeatures>) {
            Follower follower{*this};
            Loop<false, Memory, kFeatures, Follower> loop(tables, *placed, run_state, nullptr, &follower);
            if (begin) loop.start();
            loop();
        });
    }

    // --- The known run

    void record(std::span<const DeviceId> placement, KnownRun::State& into, std::size_t most_snapshots) {
        if (!update(placement, into)) record_whole(placement, into, most_snapshots);
        known = nullptr;
    }

    void record_whole(std::span<const DeviceId> placement, KnownRun::State& into,
                      std::size_t most_snapshots) {
        into.base.assign(placement.begin(), placement.end());
        into.landmark.assign(tables.problem.ops, kNone);
        into.used_snapshots = 0;
        into.updates = 0;
        into.outcome = empty_outcome(tables.problem);
        into.version = next_version();
        use_tables_of(into);
        run_state.reset(tables, *placed);
        if (whole_only) {
            run_loop(tables, *placed, run_state);
        } else {
            into.record.op_event.resize(tables.problem.ops);
            record_run(tables, *placed, run_state, into.record);
            index_events(into);
            choose_snapshots(into, most_snapshots);
            save(into);
        }
        collect(tables, *placed, run_state, into.outcome);
    }

    static std::uint64_t next_version() {
        static std::atomic<std::uint64_t> latest = 0;
        return ++latest;
    }

    /// Records a placement that differs in few groups from that of the run in `into`: both runs are the same
    /// up to the first difference, and so are the snapshots there. Later ones are taken anew after the same
    /// ops. Returns false, without any change, if the placement must be recorded as a whole.
    bool update(std::span<const DeviceId> placement, KnownRun::State& into) {
        if (whole_only || into.version == 0 || into.base.size() != placement.size() ||
            into.updates == kMostUpdates)
            return false;
        known = &into;
        if (!find_moved(placement) || moves_source()) return false;
        if (moved.empty()) return true;
        const std::size_t kept = snapshots_before(first_difference());
        if (kept == 0) return false;

        Placed& own = use_tables_of(into);
        move_to(placement);
        resume(kept - 1);
        const Snapshot& last = into.snapshots[kept - 1];
        into.record.pending_after.resize(last.event + 1);
        const auto rest = std::ranges::upper_bound(into.record.leg_events, last.event, {},
                                                   &std::pair<TensorId, std::uint32_t>::second);
        into.record.leg_events.erase(rest, into.record.leg_events.end());
        for (Snapshot& snapshot : std::span(into.snapshots).first(kept)) put_moved(snapshot);
        for (DeviceState& device : run_state.devices) device.peak_bytes = device.memory_bytes;

        RestOfRun found =
            record_rest(tables, *placed, run_state, into.record, std::span(into.snapshots).subspan(kept),
                        kept, into.landmark, last.peak_before);
        into.used_snapshots = kept + found.snapshots;
        into.final_part = std::move(found.last_part);
        keep_end(into);
        index_events(into);
        collect(tables, *placed, run_state, into.outcome);
        into.base.assign(placement.begin(), placement.end());
        ++into.updates;
        own.version = into.version = next_version();
        return true;
    }

    /// Changes a snapshot of the known run for the moved ops, none of which it depends on.
    void put_moved(Snapshot& snapshot) const {
        for (const OpId op : moved_ops) snapshot.run_state.waiting[op].device = placed->fresh[op].device;
        for (std::size_t device = 0; device < tables.problem.devices; ++device) {
            const double more_bytes = placed->resident_bytes[device] - known->outcome.resident_bytes[device];
            snapshot.run_state.devices[device].memory_bytes += more_bytes;
            snapshot.run_state.devices[device].peak_bytes += more_bytes;
            snapshot.peak_before[device] += more_bytes;
            snapshot.peak_of_part[device] += more_bytes;
        }
    }

    void use(const KnownRun::State& run) {
        known = &run;
        use_tables_of(run);
    }

    Placed& use_tables_of(const KnownRun::State& run) {
        constexpr std::size_t kMostTables = 4;
        auto own = std::ranges::find(placed_tables, &run, &Placed::run);
        if (own == placed_tables.end() && placed_tables.size() < kMostTables) {
            placed_tables.reserve(kMostTables);  // `placed` points to one of them
            placed_tables.push_back({&run, 0, 0, PlacedTables(tables)});
            own = placed_tables.end() - 1;
        } else if (own == placed_tables.end()) {
            own = std::ranges::min_element(placed_tables, {}, &Placed::used);
            own->run = &run;
            own->version = 0;
        }
        own->used = ++uses;
        placed = &own->tables;
        if (std::exchange(own->version, run.version) != run.version) placed->set(tables, run.base);
        return *own;
    }

    const Outcome& rebase(std::span<const DeviceId> placement) {
        record(placement, *rebased.state_, kMostSnapshots);
        known = rebased.state_.get();
        simulated = full = 0;
        return rebased.state_->outcome;
    }

    void index_events(KnownRun::State& into) const {
        into.events = static_cast<std::uint32_t>(into.record.pending_after.size());
        std::vector<std::uint32_t>& begin = into.leg_begin;
        begin.assign(tables.problem.tensors + 1, 0);
        for (const auto& [tensor, event] : into.record.leg_events) ++begin[tensor + 1];
        for (std::size_t t = 0; t < tables.problem.tensors; ++t) begin[t + 1] += begin[t];
        into.leg_event.resize(into.record.leg_events.size());
        std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
        for (const auto& [tensor, event] : into.record.leg_events) into.leg_event[next[tensor]++] = event;
    }

    /// Chooses ends of ops spread over the run: in each section the one with the fewest pending events after
    /// it, since runs are most likely to coincide there.
    void choose_snapshots(KnownRun::State& into, std::size_t most) const {
        const std::size_t transfer_bytes =
            sizeof(Transfer) +
            ((tables.sorts_transfers() ? 2 : 1) * sizeof(std::uint32_t) << tables.leg_bits);
        const std::size_t op_bytes = sizeof(Waiting) + sizeof(std::uint32_t);
        const std::size_t bytes =
            run_state.waiting.size() * op_bytes + run_state.fresh_transfer * transfer_bytes;
        const std::size_t room = std::clamp(kSnapshotBytes / std::max<std::size_t>(bytes, 1), std::size_t{4},
                                            std::max<std::size_t>(most, 4));
        const std::size_t count = std::clamp(into.events / kLeastEvents, std::size_t{4}, room);
        const std::size_t stretch = std::max<std::size_t>(into.events / (count + 1), 1);
        for (std::size_t begin = 0; begin + stretch <= into.events && into.used_snapshots < count;
             begin += stretch) {
            std::size_t best = into.events;
            for (std::size_t event = begin; event < begin + stretch; ++event) {
                if (into.record.pending_after[event].second == kInvalidOp ||
                    into.record.pending_after[event].first == 0)
                    continue;
                if (best == into.events ||
                    into.record.pending_after[event].first < into.record.pending_after[best].first)
                    best = event;
            }
            if (best == into.events) continue;
            if (into.used_snapshots == into.snapshots.size()) into.snapshots.emplace_back(tables);
            Snapshot& snapshot = into.snapshots[into.used_snapshots];
            snapshot.event = static_cast<std::uint32_t>(best);
            snapshot.peak_of_part.resize(tables.problem.devices);
            into.landmark[into.record.pending_after[best].second] =
                static_cast<std::uint32_t>(into.used_snapshots++);
        }
    }

    void save(KnownRun::State& into) {
        run_state.reset(tables, *placed);
        into.final_part =
            save_snapshots(tables, *placed, run_state, std::span(into.snapshots).first(into.used_snapshots));
        keep_end(into);
    }

    /// Keeps the state at the end of a recorded run.
    void keep_end(KnownRun::State& into) const {
        into.final_devices = run_state.devices;
        into.final_links = run_state.links;
        into.final_s = run_state.now_s;
        into.final_transfers = run_state.transfers_sent;
    }

    // --- Other placements

    const Outcome& run(std::span<const DeviceId> placement) {
        if (known == nullptr || whole_only || !find_moved(placement) || moves_source())
            return run_whole(placement);
        if (moved.empty()) {
            full += known->events;
            return outcome = known->outcome;
        }
        full += known->events;
        move_to(placement);
        const std::size_t before = snapshots_before(first_difference());
        if (before == 0) {
            run_state.reset(tables, *placed);
            follow(true);
        } else {
            resume(before - 1);
            follow(false);
        }
        collect(tables, *placed, run_state, outcome);
        move_to(known->base);
        return is_exact(outcome) ? outcome : run_whole(placement);
    }

    /// Whether the sums of a run (with several streams, also those of a device) are whole numbers of ticks
    /// that a double represents exactly.
    bool is_exact(const Outcome& of) const {
        std::uint32_t streams = 1;
        for (const Device& device : tables.problem.machine->devices())
            streams = std::max(streams, device.streams);
        return of.total_time_s * streams <= std::ldexp(tables.problem.tick_s, 53);
    }

    const Outcome& run_whole(std::span<const DeviceId> placement) {
        whole.set(tables, placement);
        run_state.reset(tables, whole);
        run_loop(tables, whole, run_state);
        simulated += run_state.sequence;
        full += run_state.sequence;
        collect(tables, whole, run_state, outcome);
        return outcome;
    }

    /// Finds the groups in which a placement differs from the known run, and their ops. Returns false if
    /// there are too many, or the known run is not exact.
    bool find_moved(std::span<const DeviceId> placement) {
        moved.clear();
        for (GroupId group = 0; group < placement.size() && moved.size() <= kMostMoves; ++group) {
            if (placement[group] != known->base[group]) moved.push_back(group);
        }
        if (moved.size() > kMostMoves || !is_exact(known->outcome)) return false;
        collect_moved_ops();
        return true;
    }

    bool moves_source() const {
        return std::ranges::any_of(moved_ops, [&](OpId op) {
            return tables.problem.input_begin[op] == tables.problem.input_begin[op + 1];
        });
    }

    void collect_moved_ops() {
        surrounded = false;
        moved_ops.clear();
        for (const GroupId group : moved) {
            const auto& members = tables.problem.grouping.members[group];
            moved_ops.insert(moved_ops.end(), members.begin(), members.end());
        }
    }

    /// The first event of the base run that depends on the device of a moved op: the end of a producer.
    std::uint32_t first_difference() const {
        const Problem& problem = tables.problem;
        std::uint32_t first = kNone;
        for (const OpId op : moved_ops) {
            for (auto i = problem.input_begin[op]; i < problem.input_begin[op + 1]; ++i) {
                first = std::min(first, known->record.op_event[problem.producer[problem.input[i]]]);
            }
        }
        return first;
    }

    /// Number of snapshots that were taken before an event was handled.
    std::size_t snapshots_before(std::uint32_t event) const {
        const auto in_use = std::span(known->snapshots).first(known->used_snapshots);
        return static_cast<std::size_t>(std::ranges::lower_bound(in_use, event, {}, &Snapshot::event) -
                                        in_use.begin());
    }

    /// Changes the placed for the moved ops, from the base to the current placement or back.
    void move_to(std::span<const DeviceId> placement) {
        const Problem& problem = tables.problem;
        for (const OpId op : moved_ops) {
            const DeviceId device = placement[problem.grouping.group_of[op]];
            // Bytes are whole numbers: taking away what was added leaves no trace.
            placed->resident_bytes[placed->fresh[op].device] -= problem.resident_bytes[op];
            placed->resident_bytes[device] += problem.resident_bytes[op];
            placed->fresh[op].device = device;
            placed->ops[op].duration_s = problem.time_s(op, device);
        }
    }

    void resume(std::size_t index) {
        const Snapshot& snapshot = known->snapshots[index];
        copy(tables, snapshot.run_state, run_state);
        if (keeps_references) std::ranges::fill(run_state.references, 0);
        put_references(snapshot);
        for (const OpId op : moved_ops) run_state.waiting[op].device = placed->fresh[op].device;
        for (std::size_t device = 0; device < run_state.devices.size(); ++device) {
            const double more_bytes = placed->resident_bytes[device] - known->outcome.resident_bytes[device];
            run_state.devices[device].memory_bytes += more_bytes;
            run_state.devices[device].peak_bytes = snapshot.peak_before[device] + more_bytes;
        }
    }

    void put_references(const Snapshot& snapshot) {
        for (const auto& [index, number] : snapshot.references) run_state.references[index] = number;
    }

    /// Skips ahead to a later snapshot if the run is in the state of the base run at this one. Returns true
    /// if it has skipped to the end of the base run. Not inlined: the loops of all rules would each contain
    /// it.
    [[gnu::noinline]] bool catch_up(std::size_t index, double now_s) {
        const Snapshot& here = known->snapshots[index];
        if (!same_but_for_time(here, now_s)) return false;
        const std::uint32_t next = next_difference(here);
        const std::size_t to = next == kNone ? known->used_snapshots : snapshots_before(next) - 1;
        if (to == index) return false;
        skip(index, to, now_s);
        return to == known->used_snapshots;
    }

    /// The first event of the base run that can be different after the run has caught up with a snapshot.
    /// Causes are moved ops that have not run yet, and tensors with more or fewer references. kNone if there
    /// is no such event.
    std::uint32_t next_difference(const Snapshot& here) {
        if (!std::exchange(surrounded, true)) surroundings.collect(moved_ops, {});
        moved_to_come.clear();
        for (const OpId op : moved_ops) {
            if (known->record.op_event[op] > here.event) moved_to_come.push_back(op);
        }
        different.clear();
        for (const TensorId tensor : surroundings.tensors()) {
            const auto own = references_of(tensor);
            const bool same = here.has_references(static_cast<std::uint32_t>(tensor * own.size()), own);
            const bool held = std::ranges::any_of(own, [](std::uint32_t number) { return number > 0; });
            if (!same || (held && is_moved_view(tensor))) different.push_back(tensor);
        }
        remaining.collect(moved_to_come, different);
        std::uint32_t next = kNone;
        const auto consider = [&](std::uint32_t event) {
            if (event > here.event) next = std::min(next, event);
        };
        for (const OpId op : remaining.ops()) consider(known->record.op_event[op]);
        for (const TensorId tensor : remaining.tensors()) {
            std::for_each(known->leg_event.begin() + known->leg_begin[tensor],
                          known->leg_event.begin() + known->leg_begin[tensor + 1], consider);
        }
        return next;
    }

    /// Whether a tensor that shares memory does so on another device than in the base run.
    bool is_moved_view(TensorId tensor) const {
        const OpId producer = tables.problem.producer[tensor];
        return tables.tensors[tensor].shares != kNone &&
               placed->fresh[producer].device != known->base[tables.problem.grouping.group_of[producer]];
    }

    /// References to the copies of a tensor, by device.
    std::span<std::uint32_t> references_of(TensorId tensor) {
        const std::size_t devices = tables.problem.devices;
        return std::span(run_state.references).subspan(tensor * devices, devices);
    }

    /// Adds the events of the base run from one snapshot to another, or to its end.
    void skip(std::size_t from, std::size_t to, double now_s) {
        const RunState& here = known->snapshots[from].run_state;
        const bool to_end = to == known->used_snapshots;
        const RunState* const there = to_end ? nullptr : &known->snapshots[to].run_state;
        const auto& there_devices = to_end ? known->final_devices : there->devices;
        const auto& there_links = to_end ? known->final_links : there->links;
        const double shift_s = now_s - here.now_s;

        parts.resize(run_state.devices.size());
        for (std::size_t device = 0; device < parts.size(); ++device) {
            const DeviceState& own = run_state.devices[device];
            const double more_bytes = own.memory_bytes - here.devices[device].memory_bytes;
            double peak = to_end ? known->final_part[device] : 0;
            for (std::size_t part = from + 1; part < std::min(to + 1, known->used_snapshots); ++part) {
                peak = std::max(peak, known->snapshots[part].peak_of_part[device]);
            }
            parts[device].memory_bytes = there_devices[device].memory_bytes + more_bytes;
            parts[device].peak_bytes = std::max(own.peak_bytes, peak + more_bytes);
            parts[device].busy_s = own.busy_s + (there_devices[device].busy_s - here.devices[device].busy_s);
        }
        link_parts.resize(run_state.links.size());
        for (std::size_t link = 0; link < link_parts.size(); ++link) {
            const LinkState& own = run_state.links[link];
            link_parts[link].busy_s = own.busy_s + (there_links[link].busy_s - here.links[link].busy_s);
            link_parts[link].bytes = own.bytes + (there_links[link].bytes - here.links[link].bytes);
            link_parts[link].crossings =
                own.crossings + (there_links[link].crossings - here.links[link].crossings);
        }
        const std::uint64_t transfers =
            run_state.transfers_sent +
            ((to_end ? known->final_transfers : there->transfers_sent) - here.transfers_sent);

        clear_references(known->snapshots[from]);
        if (to_end) {
            run_state.now_s = known->final_s + shift_s;
            run_state.ops_run = tables.problem.ops;
        } else {
            copy(tables, *there, run_state);
            put_references(known->snapshots[to]);
            restore_references();
            for (const OpId op : moved_ops) run_state.waiting[op].device = placed->fresh[op].device;
            for (Event& event : run_state.heap.events())
                event.time_bits = std::bit_cast<std::uint64_t>(event.time_s() + shift_s);
        }
        run_state.transfers_sent = transfers;
        for (std::size_t device = 0; device < parts.size(); ++device) {
            run_state.devices[device].memory_bytes = parts[device].memory_bytes;
            run_state.devices[device].peak_bytes = parts[device].peak_bytes;
            run_state.devices[device].busy_s = parts[device].busy_s;
        }
        for (std::size_t link = 0; link < link_parts.size(); ++link) {
            run_state.links[link].busy_s = link_parts[link].busy_s;
            run_state.links[link].bytes = link_parts[link].bytes;
            run_state.links[link].crossings = link_parts[link].crossings;
        }
    }

    /// Clears the references once the run has caught up with a snapshot; stores those of tensors that differ.
    void clear_references(const Snapshot& here) {
        kept_references.clear();
        for (const TensorId tensor : different) {
            const auto own = references_of(tensor);
            kept_references.insert(kept_references.end(), own.begin(), own.end());
        }
        for (const auto& [index, number] : here.references) run_state.references[index] = 0;
        for (const TensorId tensor : surroundings.tensors()) std::ranges::fill(references_of(tensor), 0);
    }

    void restore_references() {
        auto kept = kept_references.begin();
        for (const TensorId tensor : different) {
            const auto own = references_of(tensor);
            std::copy_n(kept, own.size(), own.begin());
            kept += static_cast<std::ptrdiff_t>(own.size());
        }
    }

    // --- Comparison

    /// Whether both runs are in the same state, except for the time and the references to tensors of the
    /// surroundings. It suffices to compare pending work: take the first op in the order of the graph that
    /// has ended in only one run. All its inputs have been produced in both, so in the other run an input
    /// must still be on its way, as the same message would be in this run: hence the op has moved. The inputs
    /// that ops wait for and the tensors that are held follow from what has ended and what is on its way.
    bool same_but_for_time(const Snapshot& snapshot, double now_s) {
        const RunState& there = snapshot.run_state;
        return run_state.ops_run == there.ops_run && same_events(snapshot, now_s) && same_inputs(there) &&
               same_queues(snapshot);
    }

    bool same_events(const Snapshot& snapshot, double now_s) {
        if (run_state.heap.size() != snapshot.events.size()) return false;
        pending.assign(run_state.heap.events().begin(), run_state.heap.events().end());
        std::ranges::sort(pending, [](const Event& a, const Event& b) { return a.before(b); });
        for (std::size_t i = 0; i < pending.size(); ++i) {
            if (pending[i].time_s() - now_s != snapshot.events[i].time_s() - snapshot.run_state.now_s)
                return false;
            if (!same_work(pending[i].resource(), snapshot.events[i].resource(), snapshot)) return false;
        }
        return true;
    }

    /// Whether a resource of this run does the same work as one of the other run.
    bool same_work(std::uint32_t here, std::uint32_t there, const Snapshot& snapshot) const {
        const RunState& other = snapshot.run_state;
        const std::uint32_t streams = tables.streams();
        if (here != there) return false;
        if (here >= streams)
            return same_message(run_state.links[here - streams].running, snapshot,
                                other.links[here - streams].running);
        return tables.general ? run_state.stream_item[here] == other.stream_item[here]
                              : run_state.devices[here].running == other.devices[here].running;
    }

    bool same_message(std::uint32_t here, const Snapshot& snapshot, std::uint32_t there) const {
        const auto parts_of = [](const Transfer& t) {
            return std::tie(t.tensor, t.tensor_end, t.from, t.to, t.leg, t.left);
        };
        const Transfer& own = run_state.transfers[here];
        const Transfer& other = snapshot.run_state.transfers[there];
        if (parts_of(own) != parts_of(other)) return false;
        if (tables.sorts_transfers() && own.place.key != other.place.key) return false;
        // A tensor is part of the message if it has references on the target device.
        for (TensorId tensor = own.tensor; own.tensor_end - own.tensor > 1 && tensor < own.tensor_end;
             ++tensor) {
            const std::uint32_t copy = tensor * tables.problem.devices + own.to;
            constexpr std::array<std::uint32_t, 1> kNoReference{};
            if ((run_state.references[copy] == 0) != snapshot.has_references(copy, kNoReference))
                return false;
        }
        return true;
    }

    /// The items of a queue in order; `child` is empty if the queue is not sorted.
    template <class PlaceOf>
    static void list(const Queue& queue, std::span<const std::uint32_t> next,
                     std::span<const std::uint32_t> child, PlaceOf place_of,
                     std::vector<std::uint32_t>& items) {
        items.clear();
        const auto add = [&](std::uint32_t item) {
            if (item != kNone) items.push_back(item);
        };
        add(queue.head);
        for (std::size_t i = 0; i < items.size(); ++i) {
            const std::uint32_t item = items[i];
            add(next[item]);
            if (!child.empty()) add(child[item]);
        }
        if (child.empty()) return;
        std::ranges::sort(items,
                          [&](std::uint32_t a, std::uint32_t b) { return place_of(a).before(place_of(b)); });
    }

    /// Whether the same ops wait for each device, first come, first served.
    bool same_ops(const RunState& other) const {
        for (std::size_t device = 0; device < run_state.devices.size(); ++device) {
            std::uint32_t here = run_state.devices[device].queue.head;
            std::uint32_t there = other.devices[device].queue.head;
            for (; here == there && here != kNone; there = other.next_op[there])
                here = run_state.next_op[here];
            if (here != there) return false;
        }
        return true;
    }

    bool same_queues(const Snapshot& snapshot) {
        const RunState& other = snapshot.run_state;
        if (tables.ranks_ops() ? run_state.ready != other.ready : !same_ops(other)) return false;
        const auto message = [this](std::uint32_t node) { return node >> tables.leg_bits; };
        const auto list_legs = [&](const RunState& of, std::size_t link, std::vector<std::uint32_t>& nodes) {
            list(
                of.links[link].queue, of.next_transfer, of.transfer_child,
                [&](std::uint32_t node) { return of.transfers[message(node)].place; }, nodes);
        };
        arrivals.clear();
        for (std::size_t link = 0; link < run_state.links.size(); ++link) {
            list_legs(run_state, link, items_here);
            list_legs(other, link, items_there);
            if (items_here.size() != items_there.size()) return false;
            for (std::size_t i = 0; i < items_here.size(); ++i) {
                const std::uint32_t here = items_here[i], there = items_there[i];
                const std::uint32_t position = (1U << tables.leg_bits) - 1;
                if ((here & position) != (there & position) ||
                    !same_message(message(here), snapshot, message(there)))
                    return false;
                if (tables.legs) {
                    arrivals.emplace_back(run_state.transfers[message(here)].place.arrival,
                                          other.transfers[message(there)].place.arrival);
                }
            }
        }
        // Of two messages that can start, the one that arrived first does: the orders of arrival must be
        // equal.
        std::ranges::sort(arrivals);
        return std::ranges::is_sorted(arrivals, {}, [](const auto& pair) { return pair.second; });
    }

    bool same_inputs(const RunState& other) const {
        return std::ranges::all_of(
            moved_ops, [&](OpId op) { return run_state.waiting[op].missing == other.waiting[op].missing; });
    }

    // Scratch tables of skip().
    std::vector<DeviceState> parts;
    std::vector<LinkState> link_parts;
};

KnownRun::KnownRun() : state_(std::make_unique<State>()) {}
KnownRun::~KnownRun() = default;
KnownRun::KnownRun(KnownRun&&) noexcept = default;
KnownRun& KnownRun::operator=(KnownRun&&) noexcept = default;

std::span<const DeviceId> KnownRun::placement() const {
    return state_->base;
}

const Outcome& KnownRun::outcome() const {
    return state_->outcome;
}

DeltaSimulator::DeltaSimulator(std::shared_ptr<const Problem> problem, const SimulationOptions& options)
    : state_(std::make_unique<State>(std::move(problem), options)) {}
DeltaSimulator::~DeltaSimulator() = default;
DeltaSimulator::DeltaSimulator(DeltaSimulator&&) noexcept = default;
DeltaSimulator& DeltaSimulator::operator=(DeltaSimulator&&) noexcept = default;

const Problem& DeltaSimulator::problem() const {
    return state_->tables.problem;
}

bool DeltaSimulator::saves(const SimulationOptions& options) {
    return options.runtime == Runtime::ideal && options.batches == 1 && options.order != Order::gpipe &&
           options.order != Order::one_forward_one_backward;
}

void DeltaSimulator::record(std::span<const DeviceId> placement, KnownRun& into, std::size_t snapshots) {
    state_->record(placement, *into.state_, snapshots);
}

void DeltaSimulator::use(const KnownRun& run) {
    state_->use(*run.state_);
}

const Outcome& DeltaSimulator::rebase(std::span<const DeviceId> placement) {
    return state_->rebase(placement);
}

std::span<const DeviceId> DeltaSimulator::base() const {
    if (state_->known == nullptr) return {};
    return state_->known->base;
}

const Outcome& DeltaSimulator::run(std::span<const DeviceId> placement) {
    return state_->run(placement);
}

DeltaSimulator::Effort DeltaSimulator::effort() const {
    return {state_->simulated, state_->full};
}

}  // namespace placewright
