// SPDX-License-Identifier: MIT
#include "core/sim/delta.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/sim/event_loop.hpp"

namespace placewright {
namespace {

using namespace event_loop;

constexpr std::size_t kMostSnapshots = 64;
constexpr std::size_t kLeastEvents = 24;                       ///< between two snapshots on average: to go on from one costs as much
constexpr std::size_t kSnapshotBytes = std::size_t{64} << 20;  ///< of all together
constexpr std::size_t kMostMoves = 16;                         ///< groups that may differ from the base

/// The base run just after one of its events.
struct Snapshot {
    /// Of all messages that there may be few are under way together: room is made for those that are.
    explicit Snapshot(const Layout& layout) : progress(layout, 0) {}

    std::uint32_t event = 0;
    Progress progress;
    std::vector<Event> events;                                        ///< the pending ones, first to come first
    std::vector<std::pair<std::uint32_t, std::uint32_t>> references;  ///< those that are not zero: index, number
    std::vector<double> peak_before;                                  ///< [device], from the beginning
    std::vector<double> peak_of_part;                                 ///< [device], since the snapshot before
};

/// `to = from`, without what is not in use and without references.
void copy(const Layout& layout, const Progress& from, Progress& to) {
    std::copy_n(from.waiting.begin(), layout.problem.ops, to.waiting.begin());
    if (layout.sorts_ops()) {
        std::copy_n(from.next_op.begin(), layout.problem.ops, to.next_op.begin());
        std::copy_n(from.op_child.begin(), layout.problem.ops, to.op_child.begin());
        std::copy_n(from.op_place.begin(), layout.problem.ops, to.op_place.begin());
    } else {
        for (const DeviceState& device : from.devices) {
            for (std::uint32_t item = device.queue.head; item != kNone; item = from.next_op[item]) to.next_op[item] = from.next_op[item];
        }
    }
    std::copy_n(from.transfers.begin(), from.fresh_transfer, to.transfers.begin());
    std::copy_n(from.next_transfer.begin(), std::size_t{from.fresh_transfer} << layout.leg_bits, to.next_transfer.begin());
    if (layout.sorts_transfers()) {
        std::copy_n(from.transfer_child.begin(), std::size_t{from.fresh_transfer} << layout.leg_bits, to.transfer_child.begin());
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
    if (!layout.general) return;
    to.stream_item = from.stream_item;
    to.share_taken = from.share_taken;
    to.updates = from.updates;
}

/// Some tensors and those that some ops give or take, with all that share memory with them, and the ops that give or take these.
class Surroundings {
public:
    explicit Surroundings(const Problem& problem) : problem_(problem), tensor_marked_(problem.tensors), op_marked_(problem.ops) {
        view_begin_.assign(problem.tensors + 1, 0);
        for (const TensorId base : problem.alias_of) {
            if (base != kNoTensor) ++view_begin_[base + 1];
        }
        for (TensorId t = 0; t < problem.tensors; ++t) view_begin_[t + 1] += view_begin_[t];
        views_.resize(view_begin_.back());
        std::vector<std::uint32_t> next(view_begin_.begin(), view_begin_.end() - 1);
        for (TensorId t = 0; t < problem.tensors; ++t) {
            if (problem.alias_of[t] != kNoTensor) views_[next[problem.alias_of[t]]++] = t;
        }
    }

    void collect(std::span<const OpId> ops, std::span<const TensorId> tensors) {
        for (const TensorId tensor : tensors_) tensor_marked_[tensor] = false;
        for (const OpId op : ops_) op_marked_[op] = false;
        tensors_.clear();
        ops_.clear();
        for (const TensorId tensor : tensors) add_tensor(tensor);
        for (const OpId op : ops) {
            add_op(op);
            for (auto i = problem_.input_begin[op]; i < problem_.input_begin[op + 1]; ++i) add_tensor(problem_.input[i]);
            for (auto t = problem_.output_begin[op]; t < problem_.output_begin[op + 1]; ++t) add_tensor(t);
        }
        for (std::size_t i = 0; i < tensors_.size(); ++i) {
            const TensorId tensor = tensors_[i];
            if (problem_.alias_of[tensor] != kNoTensor) add_tensor(problem_.alias_of[tensor]);
            for (auto v = view_begin_[tensor]; v < view_begin_[tensor + 1]; ++v) add_tensor(views_[v]);
            add_op(problem_.producer[tensor]);
            for (auto c = problem_.consumer_begin[tensor]; c < problem_.consumer_begin[tensor + 1]; ++c) add_op(problem_.consumer[c]);
        }
    }

    std::span<const TensorId> tensors() const { return tensors_; }
    std::span<const OpId> ops() const { return ops_; }

private:
    void add_op(OpId op) {
        if (op_marked_[op]) return;
        op_marked_[op] = true;
        ops_.push_back(op);
    }
    void add_tensor(TensorId tensor) {
        if (tensor_marked_[tensor]) return;
        tensor_marked_[tensor] = true;
        tensors_.push_back(tensor);
    }

    const Problem& problem_;
    std::vector<std::uint32_t> view_begin_;  ///< [tensors + 1]
    std::vector<TensorId> views_;
    std::vector<char> tensor_marked_, op_marked_;
    std::vector<TensorId> tensors_;
    std::vector<OpId> ops_;
};

/// Notes what each event of the base run touches, and how much is pending after it.
struct Recorder {
    static constexpr bool kActive = true;

    const Progress& progress;
    std::vector<std::uint32_t>& op_event;                         ///< [op]
    std::vector<std::pair<TensorId, std::uint32_t>>& leg_events;  ///< tensor, event
    std::vector<std::pair<std::uint32_t, OpId>>& pending_after;   ///< [event]: number, the op that ended or kInvalidOp

    bool after(OpId op, std::uint32_t transfer, double /*now_s*/) {
        const auto event = static_cast<std::uint32_t>(pending_after.size());
        pending_after.emplace_back(static_cast<std::uint32_t>(progress.heap.size()), op);
        if (op != kInvalidOp) {
            op_event[op] = event;
        } else {
            const Transfer& message = progress.transfers[transfer];
            for (TensorId tensor = message.tensor; tensor < message.tensor_end; ++tensor) leg_events.emplace_back(tensor, event);
        }
        return false;
    }
};

/// Saves the base run after the events that the snapshots name.
struct Saver {
    static constexpr bool kActive = true;

    const Layout& layout;
    Progress& progress;
    std::span<Snapshot> snapshots;
    std::vector<double> peak;  ///< [device], from the beginning
    std::uint32_t event = 0;

    bool after(OpId /*op*/, std::uint32_t /*transfer*/, double now_s) {
        if (!snapshots.empty() && snapshots.front().event == event) {
            Snapshot& snapshot = snapshots.front();
            close_part(snapshot.peak_of_part);
            snapshot.peak_before = peak;
            snapshot.progress.make_room(layout, progress.fresh_transfer);
            copy(layout, progress, snapshot.progress);
            snapshot.progress.now_s = now_s;
            snapshot.progress.references = progress.references;
            note_references(snapshot.references);
            snapshot.events.assign(progress.heap.events().begin(), progress.heap.events().end());
            std::ranges::sort(snapshot.events, [](const Event& a, const Event& b) { return a.before(b); });
            snapshots = snapshots.subspan(1);
        }
        ++event;
        return false;
    }

    void note_references(std::vector<std::pair<std::uint32_t, std::uint32_t>>& kept) const {
        constexpr std::uint32_t kBlock = 16;
        const auto& all = progress.references;
        kept.clear();
        for (std::uint32_t begin = 0; begin < all.size(); begin += kBlock) {
            const auto block = std::span(all).subspan(begin, std::min<std::size_t>(kBlock, all.size() - begin));
            std::uint32_t any = 0;
            for (const std::uint32_t number : block) any |= number;
            if (any == 0) continue;
            for (std::uint32_t i = 0; i < block.size(); ++i) {
                if (block[i] != 0) kept.emplace_back(begin + i, block[i]);
            }
        }
    }

    /// The peaks since the last call; the next part begins with what is held now.
    void close_part(std::vector<double>& peak_of_part) {
        for (std::size_t device = 0; device < peak.size(); ++device) {
            DeviceState& state = progress.devices[device];
            peak_of_part[device] = state.peak_bytes;
            peak[device] = std::max(peak[device], state.peak_bytes);
            state.peak_bytes = state.memory_bytes;
        }
    }
};

}  // namespace

struct DeltaSimulator::State {
    Layout layout;
    Plan plan;  ///< of the base, but while a placement runs
    Progress progress;
    bool whole_only;
    bool keeps_references;  ///< beyond the end of a run

    Placement base;
    Outcome base_outcome, outcome;
    std::vector<Snapshot> snapshots;  ///< those in use first
    std::size_t used_snapshots = 0;
    std::vector<DeviceState> final_devices;  ///< of the base run
    std::vector<LinkState> final_links;
    std::vector<double> final_part;  ///< [device]: peak since the last snapshot
    double final_s = 0;
    std::uint64_t final_transfers = 0;
    std::uint32_t events = 0;

    std::vector<std::uint32_t> op_event;              ///< [op]: the event of the base run in which it ended
    std::vector<std::uint32_t> leg_begin, leg_event;  ///< [tensors + 1]: events in which legs of a tensor ended
    std::vector<std::uint32_t> landmark;              ///< [op]: the snapshot after its end, or kNone

    // Of the placement at hand.
    std::vector<GroupId> moved;
    std::vector<OpId> moved_ops;
    bool surrounded = false;    ///< whether `surroundings` are those of the moved ops
    Surroundings surroundings;  ///< nothing else reads or writes what becomes different when these ops move
    Surroundings remaining;     ///< what can still become different
    std::vector<OpId> moved_to_come;
    std::vector<TensorId> different;  ///< tensors whose references are not those of the base run
    std::vector<std::uint32_t> kept_references;
    std::vector<Event> pending;
    std::vector<std::uint32_t> items_here, items_there;  ///< of a queue in this run and in the base run
    std::vector<std::pair<std::uint64_t, std::uint64_t>> arrivals;
    std::uint64_t simulated = 0, full = 0;

    // Scratch of a rebase.
    std::vector<std::pair<TensorId, std::uint32_t>> leg_events;
    std::vector<std::pair<std::uint32_t, OpId>> pending_after;

    State(std::shared_ptr<const Problem> problem, const SimulationOptions& options)
        : layout(std::move(problem), options),
          plan(layout),
          progress(layout),
          whole_only(!DeltaSimulator::saves(options)),
          keeps_references(!readers_release(layout.problem)),
          base_outcome(empty_outcome(layout.problem)),
          outcome(base_outcome),
          op_event(layout.problem.ops),
          landmark(layout.problem.ops, kNone),
          surroundings(layout.problem),
          remaining(layout.problem) {}

    /// Catches up with the base run after the events that are landmarks.
    struct Follower {
        static constexpr bool kActive = true;
        State& state;

        bool after(OpId op, std::uint32_t /*transfer*/, double now_s) {
            ++state.simulated;
            return op != kInvalidOp && state.landmark[op] != kNone && state.catch_up(state.landmark[op], now_s);
        }
    };
    struct Counter {
        static constexpr bool kActive = true;
        State& state;

        bool after(OpId /*op*/, std::uint32_t /*transfer*/, double /*now_s*/) {
            ++state.simulated;
            return false;
        }
    };

    /// Runs on from `progress`, from the beginning if `begin`.
    template <class Hook>
    void loop(Hook&& hook, bool begin) {
        with_rules(layout, [&]<class Memory, Features kFeatures>(Rules<Memory, kFeatures>) {
            Loop<false, Memory, kFeatures, std::remove_reference_t<Hook>> run(layout, plan, progress, nullptr, &hook);
            if (begin) run.start();
            run();
        });
    }

    // --- The base run

    const Outcome& rebase(std::span<const DeviceId> placement) {
        base.assign(placement.begin(), placement.end());
        std::ranges::fill(landmark, kNone);
        used_snapshots = 0;
        plan.set(layout, placement);
        progress.reset(layout, plan);
        if (whole_only) {
            loop(Counter{*this}, true);
        } else {
            leg_events.clear();
            pending_after.clear();
            loop(Recorder{progress, op_event, leg_events, pending_after}, true);
            index_events();
            choose_snapshots();
            save_snapshots();
        }
        collect(layout, plan, progress, base_outcome);
        simulated = full = 0;
        return base_outcome;
    }

    void index_events() {
        events = static_cast<std::uint32_t>(pending_after.size());
        leg_begin.assign(layout.problem.tensors + 1, 0);
        for (const auto& [tensor, event] : leg_events) ++leg_begin[tensor + 1];
        for (std::size_t t = 0; t < layout.problem.tensors; ++t) leg_begin[t + 1] += leg_begin[t];
        leg_event.resize(leg_events.size());
        std::vector<std::uint32_t> next(leg_begin.begin(), leg_begin.end() - 1);
        for (const auto& [tensor, event] : leg_events) leg_event[next[tensor]++] = event;
    }

    /// Ends of ops spread over the run; of those in a stretch the one after which the least is pending, because there the runs are most
    /// likely to meet.
    void choose_snapshots() {
        const std::size_t transfer_bytes =
            sizeof(Transfer) + ((layout.sorts_transfers() ? 2 : 1) * sizeof(std::uint32_t) << layout.leg_bits);
        const std::size_t op_bytes =
            sizeof(Waiting) + sizeof(std::uint32_t) + (layout.sorts_ops() ? sizeof(Place) + sizeof(std::uint32_t) : 0);
        const std::size_t bytes = progress.references.size() * sizeof(std::uint32_t) + progress.waiting.size() * op_bytes +
                                  progress.fresh_transfer * transfer_bytes;
        const std::size_t room = std::clamp(kSnapshotBytes / std::max<std::size_t>(bytes, 1), std::size_t{4}, kMostSnapshots);
        const std::size_t count = std::clamp(events / kLeastEvents, std::size_t{4}, room);
        const std::size_t stretch = std::max<std::size_t>(events / (count + 1), 1);
        for (std::size_t begin = 0; begin + stretch <= events && used_snapshots < count; begin += stretch) {
            std::size_t best = events;
            for (std::size_t event = begin; event < begin + stretch; ++event) {
                if (pending_after[event].second == kInvalidOp || pending_after[event].first == 0) continue;
                if (best == events || pending_after[event].first < pending_after[best].first) best = event;
            }
            if (best == events) continue;
            if (used_snapshots == snapshots.size()) snapshots.emplace_back(layout);
            Snapshot& snapshot = snapshots[used_snapshots];
            snapshot.event = static_cast<std::uint32_t>(best);
            snapshot.peak_of_part.resize(layout.problem.devices);
            landmark[pending_after[best].second] = static_cast<std::uint32_t>(used_snapshots++);
        }
    }

    void save_snapshots() {
        progress.reset(layout, plan);
        Saver saver{layout, progress, std::span(snapshots).first(used_snapshots), plan.resident_bytes};
        loop(saver, true);
        final_part.resize(layout.problem.devices);
        saver.close_part(final_part);
        for (std::size_t device = 0; device < final_part.size(); ++device) progress.devices[device].peak_bytes = saver.peak[device];
        final_devices = progress.devices;
        final_links = progress.links;
        final_s = progress.now_s;
        final_transfers = progress.transfers_sent;
    }

    // --- Other placements

    const Outcome& run(std::span<const DeviceId> placement) {
        moved.clear();
        for (GroupId group = 0; group < base.size() && moved.size() <= kMostMoves; ++group) {
            if (placement[group] != base[group]) moved.push_back(group);
        }
        if (base.empty() || whole_only || moved.size() > kMostMoves || !is_exact(base_outcome)) return run_whole(placement);
        if (moved.empty()) {
            full += events;
            return outcome = base_outcome;
        }

        collect_moved_ops();
        if (moves_source()) return run_whole(placement);
        full += events;
        move_to(placement);
        const std::size_t before = snapshots_before(first_difference());
        if (before == 0) {
            progress.reset(layout, plan);
            loop(Follower{*this}, true);
        } else {
            resume(before - 1);
            loop(Follower{*this}, false);
        }
        collect(layout, plan, progress, outcome);
        move_to(base);
        return is_exact(outcome) ? outcome : run_whole(placement);
    }

    /// Whether the sums of a run, with several streams those of a device too, are whole numbers of ticks that a double holds.
    bool is_exact(const Outcome& of) const {
        std::uint32_t streams = 1;
        for (const Device& device : layout.problem.machine->devices()) streams = std::max(streams, device.streams);
        return of.total_time_s * streams <= std::ldexp(layout.problem.tick_s, 53);
    }

    const Outcome& run_whole(std::span<const DeviceId> placement) {
        plan.set(layout, placement);
        progress.reset(layout, plan);
        const std::uint64_t before = simulated;
        loop(Counter{*this}, true);
        full += simulated - before;
        collect(layout, plan, progress, outcome);
        if (!base.empty() && !whole_only) plan.set(layout, base);
        return outcome;
    }

    bool moves_source() const {
        return std::ranges::any_of(moved_ops,
                                   [&](OpId op) { return layout.problem.input_begin[op] == layout.problem.input_begin[op + 1]; });
    }

    void collect_moved_ops() {
        surrounded = false;
        moved_ops.clear();
        for (const GroupId group : moved) {
            const auto& members = layout.problem.grouping.members[group];
            moved_ops.insert(moved_ops.end(), members.begin(), members.end());
        }
    }

    /// The event of the base run that first asks where a moved op is: the end of a producer.
    std::uint32_t first_difference() const {
        const Problem& problem = layout.problem;
        std::uint32_t first = kNone;
        for (const OpId op : moved_ops) {
            for (auto i = problem.input_begin[op]; i < problem.input_begin[op + 1]; ++i) {
                first = std::min(first, op_event[problem.producer[problem.input[i]]]);
            }
        }
        return first;
    }

    /// How many snapshots were taken before an event was handled.
    std::size_t snapshots_before(std::uint32_t event) const {
        const auto in_use = std::span(snapshots).first(used_snapshots);
        return static_cast<std::size_t>(std::ranges::lower_bound(in_use, event, {}, &Snapshot::event) - in_use.begin());
    }

    /// Changes the plan, which is of the base or of the placement at hand, where the moved ops are.
    void move_to(std::span<const DeviceId> placement) {
        const Problem& problem = layout.problem;
        for (const OpId op : moved_ops) {
            const DeviceId device = placement[problem.grouping.group_of[op]];
            // Bytes are whole numbers: taking away what was added leaves no trace.
            plan.resident_bytes[plan.fresh[op].device] -= problem.resident_bytes[op];
            plan.resident_bytes[device] += problem.resident_bytes[op];
            plan.fresh[op].device = device;
            plan.ops[op].duration_s = problem.time_s(op, device);
        }
    }

    void resume(std::size_t index) {
        const Snapshot& snapshot = snapshots[index];
        copy(layout, snapshot.progress, progress);
        if (keeps_references) std::ranges::fill(progress.references, 0);
        put_references(snapshot);
        for (const OpId op : moved_ops) progress.waiting[op].device = plan.fresh[op].device;
        for (std::size_t device = 0; device < progress.devices.size(); ++device) {
            const double more_bytes = plan.resident_bytes[device] - base_outcome.resident_bytes[device];
            progress.devices[device].memory_bytes += more_bytes;
            progress.devices[device].peak_bytes = snapshot.peak_before[device] + more_bytes;
        }
    }

    void put_references(const Snapshot& snapshot) {
        for (const auto& [index, number] : snapshot.references) progress.references[index] = number;
    }

    /// Goes on from a later snapshot if the run is where the base run was at this one; true at the end of the base run.
    bool catch_up(std::size_t index, double now_s) {
        const Snapshot& here = snapshots[index];
        if (!same_but_for_time(here, now_s)) return false;
        const std::uint32_t next = next_difference(here);
        const std::size_t to = next == kNone ? used_snapshots : snapshots_before(next) - 1;
        if (to == index) return false;
        skip(index, to, now_s);
        return to == used_snapshots;
    }

    /// The first event of the base run after a snapshot, with which the run has caught up, that can be different: of moved ops that have
    /// not run yet, and of tensors that are held by more or fewer. kNone if there is none.
    std::uint32_t next_difference(const Snapshot& here) {
        if (!std::exchange(surrounded, true)) surroundings.collect(moved_ops, {});
        moved_to_come.clear();
        for (const OpId op : moved_ops) {
            if (op_event[op] > here.event) moved_to_come.push_back(op);
        }
        different.clear();
        for (const TensorId tensor : surroundings.tensors()) {
            const auto own = references_of(tensor);
            const bool same = std::ranges::equal(own, std::span(here.progress.references).subspan(tensor * own.size(), own.size()));
            const bool held = std::ranges::any_of(own, [](std::uint32_t number) { return number > 0; });
            if (!same || (held && is_moved_view(tensor))) different.push_back(tensor);
        }
        remaining.collect(moved_to_come, different);
        std::uint32_t next = kNone;
        const auto consider = [&](std::uint32_t event) {
            if (event > here.event) next = std::min(next, event);
        };
        for (const OpId op : remaining.ops()) consider(op_event[op]);
        for (const TensorId tensor : remaining.tensors()) {
            std::for_each(leg_event.begin() + leg_begin[tensor], leg_event.begin() + leg_begin[tensor + 1], consider);
        }
        return next;
    }

    /// Whether a tensor takes its memory, or none, on another device than in the base run.
    bool is_moved_view(TensorId tensor) const {
        const OpId producer = layout.problem.producer[tensor];
        return layout.tensors[tensor].shares != kNone && plan.fresh[producer].device != base[layout.problem.grouping.group_of[producer]];
    }

    /// Of the copies of a tensor, by device.
    std::span<std::uint32_t> references_of(TensorId tensor) {
        const std::size_t devices = layout.problem.devices;
        return std::span(progress.references).subspan(tensor * devices, devices);
    }

    /// Adds what happened in the base run from one snapshot to another, or to its end.
    void skip(std::size_t from, std::size_t to, double now_s) {
        const Progress& here = snapshots[from].progress;
        const bool to_end = to == used_snapshots;
        const Progress* const there = to_end ? nullptr : &snapshots[to].progress;
        const auto& there_devices = to_end ? final_devices : there->devices;
        const auto& there_links = to_end ? final_links : there->links;
        const double shift_s = now_s - here.now_s;

        parts.resize(progress.devices.size());
        for (std::size_t device = 0; device < parts.size(); ++device) {
            const DeviceState& own = progress.devices[device];
            const double more_bytes = own.memory_bytes - here.devices[device].memory_bytes;
            double peak = to_end ? final_part[device] : 0;
            for (std::size_t part = from + 1; part < std::min(to + 1, used_snapshots); ++part) {
                peak = std::max(peak, snapshots[part].peak_of_part[device]);
            }
            parts[device].memory_bytes = there_devices[device].memory_bytes + more_bytes;
            parts[device].peak_bytes = std::max(own.peak_bytes, peak + more_bytes);
            parts[device].busy_s = own.busy_s + (there_devices[device].busy_s - here.devices[device].busy_s);
        }
        link_parts.resize(progress.links.size());
        for (std::size_t link = 0; link < link_parts.size(); ++link) {
            const LinkState& own = progress.links[link];
            link_parts[link].busy_s = own.busy_s + (there_links[link].busy_s - here.links[link].busy_s);
            link_parts[link].bytes = own.bytes + (there_links[link].bytes - here.links[link].bytes);
            link_parts[link].crossings = own.crossings + (there_links[link].crossings - here.links[link].crossings);
        }
        const std::uint64_t transfers =
            progress.transfers_sent + ((to_end ? final_transfers : there->transfers_sent) - here.transfers_sent);

        clear_references(snapshots[from]);
        if (to_end) {
            progress.now_s = final_s + shift_s;
            progress.ops_run = layout.problem.ops;
        } else {
            copy(layout, *there, progress);
            put_references(snapshots[to]);
            restore_references();
            for (const OpId op : moved_ops) progress.waiting[op].device = plan.fresh[op].device;
            for (Event& event : progress.heap.events()) event.time_bits = std::bit_cast<std::uint64_t>(event.time_s() + shift_s);
        }
        progress.transfers_sent = transfers;
        for (std::size_t device = 0; device < parts.size(); ++device) {
            progress.devices[device].memory_bytes = parts[device].memory_bytes;
            progress.devices[device].peak_bytes = parts[device].peak_bytes;
            progress.devices[device].busy_s = parts[device].busy_s;
        }
        for (std::size_t link = 0; link < link_parts.size(); ++link) {
            progress.links[link].busy_s = link_parts[link].busy_s;
            progress.links[link].bytes = link_parts[link].bytes;
            progress.links[link].crossings = link_parts[link].crossings;
        }
    }

    /// Where the run has caught up with a snapshot; keeps those of the tensors that are different.
    void clear_references(const Snapshot& here) {
        kept_references.clear();
        for (const TensorId tensor : different) {
            const auto own = references_of(tensor);
            kept_references.insert(kept_references.end(), own.begin(), own.end());
        }
        for (const auto& [index, number] : here.references) progress.references[index] = 0;
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

    /// Whether what is to come depends on the past in the same way, but for the time and the references to tensors of the surroundings.
    /// That the same work is pending is enough: take the first op in the order of the graph that has ended in one run only. All that it
    /// reads has been made in both, so in the other run an input must still be on its way, as the same message would be in this one: the op
    /// has moved. What ops wait for and which tensors are held follows from what has ended and what is on its way.
    bool same_but_for_time(const Snapshot& snapshot, double now_s) {
        const Progress& there = snapshot.progress;
        return progress.ops_run == there.ops_run && same_events(snapshot, now_s) && same_inputs(there) && same_queues(there);
    }

    bool same_events(const Snapshot& snapshot, double now_s) {
        if (progress.heap.size() != snapshot.events.size()) return false;
        pending.assign(progress.heap.events().begin(), progress.heap.events().end());
        std::ranges::sort(pending, [](const Event& a, const Event& b) { return a.before(b); });
        for (std::size_t i = 0; i < pending.size(); ++i) {
            if (pending[i].time_s() - now_s != snapshot.events[i].time_s() - snapshot.progress.now_s) return false;
            if (!same_work(pending[i].resource(), snapshot.events[i].resource(), snapshot.progress)) return false;
        }
        return true;
    }

    /// Whether a resource does here what another does there.
    bool same_work(std::uint32_t here, std::uint32_t there, const Progress& other) const {
        const std::uint32_t streams = layout.streams();
        if (here != there) return false;
        if (here >= streams) return same_message(progress.links[here - streams].running, other, other.links[here - streams].running);
        return layout.general ? progress.stream_item[here] == other.stream_item[here]
                              : progress.devices[here].running == other.devices[here].running;
    }

    bool same_message(std::uint32_t here, const Progress& other, std::uint32_t there) const {
        const auto parts_of = [](const Transfer& t) { return std::tie(t.tensor, t.tensor_end, t.from, t.to, t.leg, t.left, t.place.key); };
        const Transfer& own = progress.transfers[here];
        if (parts_of(own) != parts_of(other.transfers[there])) return false;
        // Which of several tensors travel together is known from who needs them.
        for (TensorId tensor = own.tensor; own.tensor_end - own.tensor > 1 && tensor < own.tensor_end; ++tensor) {
            const std::size_t copy = std::size_t{tensor} * layout.problem.devices + own.to;
            if ((progress.references[copy] != 0) != (other.references[copy] != 0)) return false;
        }
        return true;
    }

    /// The items of a queue, first to go first; `child` is empty where it is not sorted.
    template <class PlaceOf>
    static void list(const Queue& queue, const std::vector<std::uint32_t>& next, const std::vector<std::uint32_t>& child, PlaceOf place_of,
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
        std::ranges::sort(items, [&](std::uint32_t a, std::uint32_t b) { return place_of(a).before(place_of(b)); });
    }

    bool same_queues(const Progress& other) {
        const auto list_ops = [&](const Progress& of, std::size_t device, std::vector<std::uint32_t>& items) {
            list(
                of.devices[device].queue, of.next_op, of.op_child, [&](std::uint32_t item) { return of.op_place[item]; }, items);
        };
        for (std::size_t device = 0; device < progress.devices.size(); ++device) {
            if (progress.devices[device].queue.head != other.devices[device].queue.head) return false;
            list_ops(progress, device, items_here);
            list_ops(other, device, items_there);
            if (items_here != items_there) return false;
        }
        const auto message = [this](std::uint32_t node) { return node >> layout.leg_bits; };
        const auto list_legs = [&](const Progress& of, std::size_t link, std::vector<std::uint32_t>& nodes) {
            list(
                of.links[link].queue, of.next_transfer, of.transfer_child,
                [&](std::uint32_t node) { return of.transfers[message(node)].place; }, nodes);
        };
        arrivals.clear();
        for (std::size_t link = 0; link < progress.links.size(); ++link) {
            list_legs(progress, link, items_here);
            list_legs(other, link, items_there);
            if (items_here.size() != items_there.size()) return false;
            for (std::size_t i = 0; i < items_here.size(); ++i) {
                const std::uint32_t here = items_here[i], there = items_there[i];
                const std::uint32_t position = (1U << layout.leg_bits) - 1;
                if ((here & position) != (there & position) || !same_message(message(here), other, message(there))) return false;
                if (layout.legs) {
                    arrivals.emplace_back(progress.transfers[message(here)].place.arrival, other.transfers[message(there)].place.arrival);
                }
            }
        }
        // Of two that can start the one that came first does: they must have come in the same order.
        std::ranges::sort(arrivals);
        return std::ranges::is_sorted(arrivals, {}, [](const auto& pair) { return pair.second; });
    }

    bool same_inputs(const Progress& other) const {
        return std::ranges::all_of(moved_ops, [&](OpId op) { return progress.waiting[op].missing == other.waiting[op].missing; });
    }

    // Scratch of skip().
    std::vector<DeviceState> parts;
    std::vector<LinkState> link_parts;
};

DeltaSimulator::DeltaSimulator(std::shared_ptr<const Problem> problem, const SimulationOptions& options)
    : state_(std::make_unique<State>(std::move(problem), options)) {}
DeltaSimulator::~DeltaSimulator() = default;
DeltaSimulator::DeltaSimulator(DeltaSimulator&&) noexcept = default;
DeltaSimulator& DeltaSimulator::operator=(DeltaSimulator&&) noexcept = default;

const Problem& DeltaSimulator::problem() const {
    return state_->layout.problem;
}

bool DeltaSimulator::saves(const SimulationOptions& options) {
    return options.batches == 1 && options.order != Order::gpipe && options.order != Order::one_forward_one_backward;
}

const Outcome& DeltaSimulator::rebase(std::span<const DeviceId> placement) {
    return state_->rebase(placement);
}

std::span<const DeviceId> DeltaSimulator::base() const {
    return state_->base;
}

const Outcome& DeltaSimulator::run(std::span<const DeviceId> placement) {
    return state_->run(placement);
}

DeltaSimulator::Effort DeltaSimulator::effort() const {
    return {state_->simulated, state_->full};
}

}  // namespace placewright
