// SPDX-License-Identifier: MIT
// Event-based simulation of a training (or inference) step under a placement, as in Placeto (section 4.2 and
// appendix) and Exprimo: computation and transfers overlap, and ops and transfers wait in the queues of the
// devices and channels that they need. In those simulators a device runs one op at a time and a channel one
// transfer at a time, first come, first served; here a device may have several streams, a transfer may need
// several channels at once, and queues may have other orders.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cost/problem.hpp"

namespace placewright {

/// Which of the ops and transfers that wait for a device or channel goes first.
enum class Order : std::uint8_t {
    fifo,           ///< the one that was ready first; batches are admitted as in Exprimo
    critical_path,  ///< the one of the earlier batch, then the one with the longest path to the end
                    ///< (Topcuoglu et al., HEFT, 2002: upward rank with mean times); batches are admitted as
                    ///< soon as there is room
    gpipe,          ///< forward ops of all batches in flight before the backward ops of any, device by device
                    ///< (Huang et al., GPipe, 2019)
    one_forward_one_backward,  ///< a device works on as many batches at a time as there are devices from its
                               ///< stage on, backward ops first (Narayanan et al., PipeDream, 2019: 1F1B)
};
std::string_view to_string(Order order);
std::optional<Order> order_from(std::string_view text);

/// Who starts the ops.
enum class Runtime : std::uint8_t {
    ideal,     ///< each op and transfer as soon as it can, as in Placeto and Exprimo
    eager,     ///< a framework that runs the program op by op (PyTorch): its host issues the ops in program
               ///< order, which takes time; a device runs them in the order of issue
    compiled,  ///< a recorded program (CUDA graphs): the order of eager, without the time of the host
};
std::string_view to_string(Runtime runtime);
std::optional<Runtime> runtime_from(std::string_view text);

/// What the host of PyTorch takes to dispatch an op, and again to launch each of its kernels.
inline constexpr double kPyTorchHostTimeS = 10e-6;

struct SimulationOptions {
    std::uint32_t batches = 1;    ///< number of batches to run
    std::uint32_t in_flight = 1;  ///< largest number of batches under way at a time
    Order order = Order::fifo;
    Runtime runtime = Runtime::ideal;
    double host_time_s = kPyTorchHostTimeS;  ///< of an op and of each kernel; Runtime::eager only

    /// How many batches are under way at a time.
    std::uint32_t batches_in_flight() const { return std::min(batches, in_flight); }

    bool operator==(const SimulationOptions&) const = default;
};

struct Outcome {
    double total_time_s = 0;  ///< end of the last event over all batches
    double step_time_s = 0;   ///< total_time_s / batches
    /// Seconds per batch between the filling and the draining of the pipeline, measured from the time at
    /// which `in_flight` batches are done, whichever these are, over the largest multiple of `in_flight`
    /// batches that leaves as many for the draining. Nothing with fewer than three times `in_flight` batches
    /// (four with one in flight). A longer run is more exact. With GPipe it is measured from the end of the
    /// first round to that of the last whole round; nothing with fewer than two rounds.
    std::optional<double> steady_step_time_s;
    bool fits = true;  ///< no device's peak exceeds its memory limit (Problem::memory_limit_bytes)
    /// [device]: sum over all streams; with several streams it may exceed the total time.
    std::vector<double> device_busy_s;
    std::vector<double> peak_bytes;      ///< [device]
    std::vector<double> resident_bytes;  ///< [device]: held from beginning to end
    std::vector<double> channel_busy_s;
    std::vector<double> channel_bytes;
    std::vector<std::uint64_t> channel_transfers;  ///< [channel]: number of crossings
    std::uint64_t ops_run = 0;
    std::uint64_t transfers = 0;  ///< messages sent from one device to another; each route counts once

    bool operator==(const Outcome&) const = default;
};

/// An op on a device, or a leg of a transfer on one of its channels (a cut-through leg has a span per
/// channel).
struct Span {
    enum class Kind : std::uint8_t { op, transfer };
    Kind kind = Kind::op;
    std::uint16_t resource = 0;  ///< device of an op, channel of a transfer
    /// Of a transfer. Of an op that another device runs (Problem::streams_to), `from` is where it is placed.
    DeviceId from = kInvalidDevice, to = kInvalidDevice;
    OpId op = kInvalidOp;  ///< the op, or the producer of the transferred tensor, or the reader of what is
                           ///< streamed
    TensorId tensor = 0;   ///< of a transfer; the first where several travel together
    double bytes = 0;      ///< of a transfer
    std::uint32_t batch = 0;
    double queued_s = 0;  ///< when it was ready; for a later leg, when the previous leg ended
    double start_s = 0;
    double end_s = 0;
    std::uint16_t stream = 0;  ///< of an op, on a device with several

    bool operator==(const Span&) const = default;
};

/// Bytes in use on a device from `time_s` on.
struct MemorySample {
    DeviceId device = 0;
    double time_s = 0;
    double bytes = 0;

    bool operator==(const MemorySample&) const = default;
};

inline constexpr std::uint32_t kNoSpan = std::numeric_limits<std::uint32_t>::max();

/// When and by which thread of the host an op was issued.
struct Issue {
    double start_s = 0;
    double end_s = 0;  ///< the op may start
    /// 0 for the main thread, else 1 + the device whose ops the thread issues.
    std::uint16_t thread = 0;

    bool operator==(const Issue&) const = default;
};
/// "main thread", "thread of gpu:1".
std::string host_thread_name(const Problem& problem, std::uint16_t thread);

/// Spans in the order in which they ended, memory samples in the order of time. Of several changes on a
/// device at the same time, the last one and every one that may be the peak are kept.
struct Trace {
    std::vector<Span> spans;
    /// [span]: index of the span whose end let this one start (the last of those that ended in that event),
    /// or kNoSpan at the start.
    std::vector<std::uint32_t> started_by;
    std::vector<MemorySample> memory;
    std::vector<Issue> issues;  ///< [span]: of an op; empty unless the host takes time (Runtime::eager)

    bool operator==(const Trace&) const = default;
};

/// Runs placements of one problem. Holds all state that a run needs, so that a run allocates nothing; use one
/// Simulator per thread.
///
/// Events. An op is ready when all its input tensors are on its device; ready ops queue in order of
/// readiness. A tensor needed by ops on another device is sent there once, over the legs of the route one
/// after the other. Events are ends of ops and of legs. They are handled in the order of time, and at the
/// same time in the order in which the ops and legs were started; the result depends on nothing else. An
/// event first queues everything that it makes ready, which then starts in the order of its queue; last, the
/// devices and channels that the event has freed start their next op or transfer:
/// - The end of an op queues consumers on its own device, then transfers, output by output and in the order
///   of the consumers. The transfers start, then the next op on the device.
/// - The end of a leg queues the transfer for its next leg, or the consumers on the device that it has
///   reached, in the order of the graph. They start, then the transfers that waited for what the leg held.
/// A batch is admitted when fewer than `in_flight` are under way (not all of their ops have ended) and every
/// device that holds an op without inputs is idle (Exprimo); one at the start and one after an event. Its ops
/// without inputs are queued by device, then in the order of the graph, and start by device.
///
/// Legs and copy engines. A leg of a route consists of everything that is held at the same time. A
/// cut-through route is one leg: all its channels, an engine of the sender and one of the receiver. Each
/// channel of a store-and-forward route is a leg: the first has an engine of the sender, the last one of the
/// receiver. A device without a number of engines sets no limit. A transfer waits in the queues of all
/// channels and devices of its next leg and starts when it is first in each queue and each has room; of
/// several that can start, the one that was queued first does. For each tensor of the message, a leg takes
/// the sum of the latencies of its channels plus the longest of their times without latency; it counts as
/// busy time of each of its channels.
///
/// Streams. On a device with several streams the first op in the queue starts when a stream is free and its
/// share of the device (Problem::op_share) plus the shares of the running ops is at most one. It takes the
/// lowest free stream. Busy times of all streams are summed.
///
/// Orders other than fifo sort the queues; readiness decides ties, and the order of transfers except with
/// critical_path:
/// - critical_path: ops by batch, upward rank (highest first), op id; transfers by batch, then rank and id of
///   the first of their readers on the target device. The rank of an op is its mean time over the devices
///   that it may be placed on, plus the largest requirement of any consumer of an output: the mean time of
///   the output's transfer over all ordered pairs of devices, plus the rank of the consumer.
/// - gpipe: ops by phase (forward, backward, update), batch. The batches come in rounds of `in_flight`: a
///   round is admitted at once, when all earlier ones are done. Backward and update ops of a device are held
///   until the forward ops of all batches of the round have ended there.
/// - one_forward_one_backward: ops by phase (backward and update, forward), batch. Each device has a limit;
///   ops of a batch are held there while as many earlier batches as the limit have ops there that have not
///   ended. The limit of the k-th of n used devices (by their first op in the order of the graph) is n - k, k
///   from 0.
/// An op that a forward op depends on counts as forward. A held op is passed over by those behind it and
/// keeps its place. With critical_path and one_forward_one_backward, as many batches as there is room for are
/// admitted at the start and after each event, one after the other.
///
/// Runtimes. With eager and compiled, except in pipelines, a device has one stream and runs its ops in
/// program order, batch by batch: the order of the graph, with the derived update ops after all others unless
/// the optimizer works in the backward pass. The next op of a device holds it until all inputs of the op are
/// there. As many batches as there is room for are admitted at the start and after each event. In the orders
/// gpipe and one_forward_one_backward the order of the pipeline decides instead; critical_path is refused.
///
/// The host (eager). It takes host_time_s to dispatch an op and again to launch each of its kernels
/// (OpWork::kernels), and twice host_time_s to issue the copy of each tensor that the op needs from another
/// device. Sources without work (KindInfo::computes, no inputs) take none. A device starts an op no earlier
/// than it is issued; the host does not wait for devices. One thread issues everything before the
/// first backward op and after the last one in program order; what lies between is issued by one thread for
/// each device, as in PyTorch's autograd engine, no earlier than the ops that it reads from other devices. A
/// CPU is the host: an op on a CPU takes that time longer in place of being issued, and before and after
/// the backward pass everything behind it in program order is issued after its end. In pipelines each device
/// has a host thread (or process) of its own, which issues the ops in the order in which the device runs
/// them; what stages send each other takes it no time. Memory is allocated when an op is the next of its
/// device and its inputs are there.
///
/// Gradient accumulation (Problem::accumulates). An update op takes accumulate_s each time it starts except
/// the first, when there is nothing to add to, and op_time_s more when it starts for the last time, whichever
/// batches these are. The host's time for it is the same each time: the mean of an addition in all batches
/// but one, and of one update.
///
/// Streamed weights (Problem::streams_to). What the ops on CPUs read of their residents is sent to the device
/// that runs them, one message an op, in the order of the graph. Where that device has room for the two
/// largest beside its resident bytes, the first two messages are queued when the batch is admitted, and the
/// next one whenever one of these ops has ended, so that copies go on beside computing; else one after the
/// other. Such an op needs its message as it needs its inputs; its end frees the copy.
///
/// Memory. A device holds the resident bytes of its ops throughout. Outputs are allocated when their op
/// starts, copies on another device when the last leg of their transfer starts. A tensor is freed on a device
/// when its last reader there (or the first leg of its last transfer from there) is done. A tensor that is a
/// view of another (Problem::alias_of) takes no memory on its producer's device; until it is freed itself, it
/// keeps alive there that other tensor, the copy of it, or the tensor that it in turn is a view of. Copies of
/// a view on other devices are whole. An op's workspace is held from its start to its end. The peak counts
/// every allocation. These are the rules of MemoryModel::training; MemoryModel::exprimo allocates when the op
/// ends or the copy has arrived, and counts what is left after an event.
class Simulator {
public:
    /// Throws std::invalid_argument if `batches` or `in_flight` is 0, the host's time is negative or not
    /// finite, or the runtime does not go with the order; std::length_error for 2^32 ops in flight or more.
    explicit Simulator(std::shared_ptr<const Problem> problem, SimulationOptions options = {});
    ~Simulator();
    Simulator(Simulator&&) noexcept;
    Simulator& operator=(Simulator&&) noexcept;

    const Problem& problem() const;
    const SimulationOptions& options() const;

    /// Simulates a placement that check_placement accepts. The outcome is valid until the next run.
    /// O(events * log(devices + channels)); orders other than fifo add events * log(length of the queues)
    /// (amortized).
    const Outcome& run(std::span<const DeviceId> placement);

    /// Does the same and records every span and memory sample; `trace` is overwritten.
    const Outcome& run(std::span<const DeviceId> placement, Trace& trace);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace placewright
