// SPDX-License-Identifier: MIT
// The data of a run, split by lifetime: Tables for a problem and its options, PlacedTables for a placement,
// and the RunState of a run, which can be copied to resume from it later.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <boost/core/noinit_adaptor.hpp>

#include "core/base/infinity.hpp"
#include "core/cost/problem.hpp"
#include "core/sim/event_heap.hpp"
#include "core/sim/host_work.hpp"
#include "core/sim/ready_queue.hpp"
#include "core/sim/simulator.hpp"

namespace placewright::event_loop {

struct DeviceState {
    Queue queue;
    /// The running item if there is one stream; otherwise the number of running items, kNone for none.
    std::uint32_t running = kNone;
    std::uint32_t started_by = kNoSpan;  ///< of the running item; traced runs only
    double start_s = 0;                  ///< of the running item; traced runs only
    double busy_s = 0;
    double memory_bytes = 0;
    double peak_bytes = 0;
};

/// State of a channel or of a device's copy engines.
struct LinkState {
    Queue queue;
    std::uint32_t running = kNone;  ///< of a channel: the message whose leg begins with it
    std::uint32_t room = 1;         ///< number of messages that may start now; only with Tables::legs
    double busy_s = 0;
    double bytes = 0;
    std::uint64_t crossings = 0;
};

// The fields that the loop reads of an op or a tensor are stored together: in a large graph one cache miss in
// place of one per field.

/// An op under the current placement. Its outputs and inputs end where those of the next record begin.
struct OpRecord {
    double duration_s = 0;
    double start_bytes = 0;  ///< allocated when it starts
    TensorId first_output = 0;
    std::uint32_t first_input = 0;
};

/// A tensor. Its consumers end where those of the next record begin.
struct TensorRecord {
    double bytes = 0;  ///< that a copy takes of a device's memory
    std::uint32_t first_consumer = 0;
    /// kNone if the tensor has memory of its own. Otherwise it frees no memory on its producer's device and
    /// keeps this tensor alive there (none if it is the tensor itself: parameters, and gradients that stay).
    TensorId shares = kNone;
};

/// An op that waits for inputs in one batch.
struct Waiting {
    std::uint32_t missing = 0;  ///< number of inputs that are not on its device yet
    std::uint32_t device = 0;
};

/// One message: the tensors from `tensor` up to `tensor_end` that have readers on device `to`. Its fields
/// have no values before it is sent (see Room).
struct Transfer {
    TensorId tensor, tensor_end;
    std::uint32_t slot;
    std::uint32_t leg;  ///< index into Tables::leg_table
    std::uint32_t last_leg;
    DeviceId from, to;
    bool left;  ///< whether its first leg is done
    /// Number of links of its leg at which another message is first in the queue or there is no room;
    /// kStarted once it has started. Only with Tables::legs.
    std::uint16_t blocked;
    double bytes;       ///< of all its tensors, as sent
    double duration_s;  ///< of its current leg
    /// QueueKey in the queues; only with Tables::legs, the key only with Tables::sorts_transfers.
    QueueKey place;

    static constexpr std::uint16_t kStarted = std::numeric_limits<std::uint16_t>::max();
};

/// The links that a message holds at the same time on its route.
struct Leg {
    /// In Tables::leg_link: channels in the order of the route, then engines.
    std::uint32_t first_link = 0, links = 0;
    std::uint32_t first_speed = 0, speeds = 0;  ///< in Tables::speeds: those of its channels, each once
    double latency_s = 0;                       ///< sum over its channels
    std::uint32_t channel_class = 0;            ///< if all its channels have one speed
    double more_s = 0;                          ///< in that case: sum of the latencies of all but one channel
};

/// Times of the leg that a message waits for or is on.
struct LegTimes {
    double queued_s = 0;
    double start_s = 0;
    std::uint32_t started_by = kNoSpan;
};

/// Tables that do not depend on the placement. A slot holds one batch in flight. Items of a device queue are
/// `slot << op_bits | op`, those of a link queue `transfer << leg_bits | position in the leg`.
struct Tables {
    /// Properties that the channels of a class share.
    struct Speed {
        std::uint32_t channel_class = 0;
        double latency_s = 0;

        bool operator==(const Speed&) const = default;
    };

    Tables(std::shared_ptr<const Problem> problem, const SimulationOptions& options);

    std::shared_ptr<const Problem> shared;
    const Problem& problem;
    SimulationOptions options;
    std::uint32_t slots = 0;
    /// Number of batches that have ended when the pipeline is full, and when it begins to drain. They are
    /// whole rounds of `slots` apart, since batches may end in bunches; equal if no steady state can be
    /// measured. With gpipe, which drains after each round, they are the ends of the first and the last whole
    /// round.
    std::uint32_t filled = 0, drained = 0;
    int op_bits = 0;
    /// Whether devices run their ops in program order (runtimes other than ideal, except in pipelines).
    bool in_program_order = false;
    /// Whether the options or the machine need more than one op at a time in the order of readiness.
    bool general = false;
    /// Whether `general` is set or messages hold several links at a time.
    bool legs = false;

    std::vector<TensorRecord> tensors;  ///< [outputs and streamed tensors + 1]
    std::size_t most_departures = 0;    ///< largest number of transfers from one op
    std::size_t most_transfers = 0;     ///< largest number of transfers of all batches in flight

    // Links are the channels and, after them, the devices' copy engines.
    std::vector<std::uint32_t> route_leg;  ///< [devices * devices + 1]: legs of the route from * devices + to
    std::vector<Leg> leg_table;
    std::vector<std::uint32_t> leg_link;
    std::vector<std::uint32_t> link_room;  ///< [link]: number of messages at a time
    bool has_roomy_links = false;          ///< whether some link has room for several messages
    int leg_bits = 0;                      ///< bits for the positions in the longest leg
    std::vector<Speed> speeds;
    std::vector<std::uint32_t> stream_begin;  ///< [devices + 1]
    std::vector<DeviceId> stream_device;
    /// [op * devices + device] in units of 1 / kWholeDevice; empty if every device has one stream.
    std::vector<std::uint32_t> share;
    std::vector<std::uint32_t> rank;  ///< [op]: 0 for the highest upward rank; critical_path only
    std::vector<OpId> op_of_rank;     ///< its inverse
    /// [op]: phase for the order: every op that a forward op depends on is forward; general only.
    std::vector<Phase> phase;
    static constexpr std::uint32_t kWholeDevice = 1U << 20;

    // Runtimes other than ideal.
    double host_s = 0;              ///< SimulationOptions::host_time_s in whole ticks; 0 unless eager
    HostProgram program;            ///< only with in_program_order
    std::vector<double> host_op_s;  ///< [op], host_op_s(); only with host_s
    std::vector<char> by_device;    ///< [op]: whether its device's thread issues it
    std::vector<char> is_host;      ///< [device]: whether it is a CPU

    std::uint32_t streams() const { return stream_begin.back(); }
    std::size_t tensor_count() const { return tensors.size() - 1; }
    /// Whether RunState::ready holds the ops that are ready: those of one batch, by rank.
    bool ranks_ops() const { return options.order == Order::critical_path && slots == 1; }
    /// Whether the queues of the devices are sorted by QueueKey.
    bool sorts_ops() const { return options.order != Order::fifo && !ranks_ops(); }
    /// The same of the queues of the links.
    bool sorts_transfers() const { return options.order == Order::critical_path; }
    /// Seconds of a tensor on a leg: the latencies of its channels plus the longest time of a channel without
    /// latency.
    double leg_time_s(std::uint32_t leg, TensorId tensor) const {
        const Leg& record = leg_table[leg];
        const double* const times_s = &problem.transfer_s[std::size_t{tensor} * problem.channel_classes];
        if (record.speeds == 1) [[likely]]
            return times_s[record.channel_class] + record.more_s;
        return record.latency_s + longest_s(record, times_s);
    }

private:
    void write_program();
    /// The longest time of the leg's channels without their latencies.
    [[gnu::noinline]] double longest_s(const Leg& leg, const double* times_s) const {
        double longest_s = -kInfinity;
        for (const Speed& speed : std::span(&speeds[leg.first_speed], leg.speeds)) {
            longest_s = std::max(longest_s, times_s[speed.channel_class] - speed.latency_s);
        }
        return longest_s;
    }
    void add_route(DeviceId from, DeviceId to);
    void add_leg(std::uint32_t first_link);
};

/// Tables that depend only on the placement.
struct PlacedTables {
    explicit PlacedTables(const Tables& tables);

    void set(const Tables& tables, std::span<const DeviceId> placement);

    std::vector<OpRecord> ops;   ///< [ops + 1]
    std::vector<Waiting> fresh;  ///< [op]: state when a batch is admitted
    std::vector<OpId> sources;   ///< ops without inputs, by device
    std::vector<DeviceId> source_devices;
    std::vector<double> resident_bytes;     ///< [device]
    std::vector<std::uint32_t> ops_on;      ///< [device]; general only
    std::vector<std::uint32_t> forward_on;  ///< [device]: forward ops; general only
    std::vector<std::uint32_t> limit;       ///< [device]: most batches; one_forward_one_backward only

    /// An op on a CPU that another device runs, once what it reads has come there.
    struct Streamed {
        OpId op = kInvalidOp;
        DeviceId from = kInvalidDevice;
    };
    std::vector<Streamed> stream;  ///< in the order of the graph
    std::vector<std::uint32_t>
        place_in_stream;              ///< [op]: index in `stream` or kNone; empty if nothing is streamed
    std::uint32_t buffers = 0;        ///< number of them that the device holds at a time
    std::vector<DeviceId> placed_on;  ///< [op]: device of the placement; only with Problem::streams_to

    // Only with Tables::in_program_order.
    std::vector<OpId> program;                 ///< the ops by device, each device's in program order
    std::vector<std::uint32_t> program_begin;  ///< [devices + 1]

    // Only with Tables::host_s. The host waits for some ops on CPUs, its stops.
    struct HostRecord {
        double issue_s = 0;  ///< end of its issue after that of its stop, or after the start of the batch
        double busy_s = 0;   ///< what the host does for it, copies of its inputs included
        // Scratch of issue().
        double gate_s = 0;  ///< latest issue of what it reads from other devices
        double copies = 0;  ///< inputs that the host copies to its device
    };
    std::vector<HostRecord> host;  ///< [op]
    std::vector<OpId> stop;        ///< [op]: the stop before it in program order, or kInvalidOp
    std::vector<char> stops;       ///< [op]: whether it is a stop
    OpId last_stop = kInvalidOp;   ///< of the batch
    double last_issue_s = 0;       ///< end of the batch's last issue, after last_stop

    /// When an op is issued whose stop ended, or whose batch began, at `base_s`.
    Issue issue_of(const Tables& tables, OpId op, double base_s) const;

private:
    void set_stream(const Tables& tables);
    void count_ops(const Tables& tables);
    void sort_program(const Tables& tables);
    void issue(const Tables& tables);
    template <bool kMain>
    void issue_op(const Tables& tables, OpId op, double& thread_s);

    std::vector<std::uint32_t> source_end_;  ///< [device]: scratch for sorting the sources
    // Scratch of issue().
    std::vector<double> thread_s_;  ///< [device]
    std::vector<TensorId> copied_;  ///< [device]: the last tensor that is copied there
};

/// Items without values: of as many as there can be, most runs use few, and the memory of the others is never
/// touched.
template <class Item>
using Room = std::vector<Item, boost::noinit_adaptor<std::allocator<Item>>>;

/// The state of a run.
struct RunState {
    explicit RunState(const Tables& tables) : RunState(tables, tables.most_transfers) {}
    /// Allocates room for fewer messages.
    RunState(const Tables& tables, std::size_t most_transfers);

    void make_room(const Tables& tables, std::size_t most_transfers);

    void reset(const Tables& tables, const PlacedTables& placed);

    std::vector<Waiting> waiting;        ///< [item]
    std::vector<std::uint32_t> next_op;  ///< [item]: links of the device queues
    /// [(slot * tensors + tensor) * devices + device]: number of readers and outgoing transfers of the copy
    /// there. All zero after a run, unless readers free nothing (readers_release).
    std::vector<std::uint32_t> references;
    Room<Transfer> transfers;
    /// [transfer << leg_bits | position]: links of the link queues; for unused transfers, of the list of
    /// unused ones.
    Room<std::uint32_t> next_transfer;
    std::uint32_t free_transfer = kNone;  ///< first of the transfers that were returned
    std::uint32_t fresh_transfer = 0;     ///< first transfer that was not used in this run
    std::vector<DeviceState> devices;
    std::vector<LinkState> links;
    EventHeap heap;
    std::uint64_t sequence = 0;
    std::vector<std::uint32_t> batch_of, remaining;  ///< [slot]
    std::vector<std::uint32_t> free_slots;
    std::uint32_t admitted = 0;
    double now_s = 0;
    std::uint64_t ops_run = 0;
    std::uint64_t transfers_sent = 0;
    std::uint32_t ended = 0;  ///< number of batches that have ended
    double filled_s = 0;      ///< when Tables::filled batches had ended
    double drained_s = 0;     ///< when Tables::drained batches had ended

    // General only.
    std::vector<std::uint32_t> stream_item;        ///< [stream]: the running item or kNone
    std::vector<double> stream_start_s;            ///< [stream]
    std::vector<std::uint32_t> stream_started_by;  ///< [stream]
    std::vector<std::uint32_t> share_taken;        ///< [device]
    std::vector<Queue> held;                       ///< [device]: ready items that may not run yet, sorted
    std::vector<std::uint32_t> forward_left;       ///< [device]: ops of the batches under way; gpipe only
    /// [slot * devices + device]: number of ops that have not ended; one_forward_one_backward only.
    std::vector<std::uint32_t> left;
    /// [device]: number of batches with no op left there; one_forward_one_backward only.
    std::vector<std::uint32_t> finished;
    std::vector<std::uint32_t> updates;  ///< [op]: batches in which an update has started; accumulation only
    /// [device]: ranks of the ops that are ready; the queue of the device holds the first alone. Only with
    /// Tables::ranks_ops.
    std::vector<RankSet> ready;
    std::vector<QueueKey> op_place;  ///< [item]: in the sorted device queues; only with Tables::sorts_ops
    std::vector<std::uint32_t> op_child;  ///< [item]: links of these queues
    /// Like next_transfer, for the sorted link queues; only with Tables::sorts_transfers.
    std::vector<std::uint32_t> transfer_child;

    // Runtimes other than ideal.
    /// [device]: the next op in PlacedTables::program, and its batch; only with Tables::in_program_order.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> cursor;
    /// [slot]: when the host begins with the batch; negative: not yet known.
    std::vector<double> host_base_s;
    std::vector<double> stop_s;    ///< [item]: end of a stop of the host; negative: not yet
    std::vector<double> issued_s;  ///< [device]: when its host has issued its latest op; pipelines only

    std::uint64_t arrivals = 0;  ///< number of arrivals in queues; only with Tables::legs

    // Scratch of one event.
    std::vector<std::pair<TensorId, DeviceId>> departures;
    /// Messages that have become free to start, possibly repeated; only with Tables::legs.
    std::vector<std::uint32_t> unblocked;

    // Traced runs only.
    std::vector<double> queued_s;     ///< [item]
    std::vector<LegTimes> leg_times;  ///< [transfer]
    std::vector<Issue> issues;        ///< [item]; only with Tables::host_s
};

/// An outcome with room for every device and channel.
Outcome empty_outcome(const Problem& problem);

/// Fills in the outcome of a finished run.
void collect(const Tables& tables, const PlacedTables& placed, const RunState& run_state, Outcome& outcome);

}  // namespace placewright::event_loop
