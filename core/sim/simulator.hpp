// SPDX-License-Identifier: MIT
// Event-based simulation of a training (or inference) step under a placement, as in Placeto (section 4.2 and appendix) and
// Exprimo: a device runs one op at a time and a channel one transfer at a time, each from its own first-in-first-out
// queue; computing and transferring overlap.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/cost/problem.hpp"

namespace placewright {

struct SimulationOptions {
    std::uint32_t batches = 1;    ///< batches to run
    std::uint32_t in_flight = 1;  ///< at most this many of them at a time
};

struct Outcome {
    double total_time_s = 0;  ///< end of the last event over all batches
    double step_time_s = 0;   ///< total_time_s / batches
    bool fits = true;         ///< no device's peak exceeds its memory
    std::vector<double> device_busy_s;
    std::vector<double> peak_bytes;      ///< by device
    std::vector<double> resident_bytes;  ///< by device: what is held from beginning to end
    std::vector<double> channel_busy_s;
    std::vector<double> channel_bytes;
    std::vector<std::uint64_t> channel_transfers;  ///< crossings of each channel
    std::uint64_t ops_run = 0;
    std::uint64_t transfers = 0;  ///< tensors sent from a device to another, each route counted once

    bool operator==(const Outcome&) const = default;
};

/// An op on a device or one hop of a transfer on a channel.
struct Span {
    enum class Kind : std::uint8_t { op, transfer };
    Kind kind = Kind::op;
    std::uint16_t resource = 0;                           ///< device of an op, channel of a transfer
    DeviceId from = kInvalidDevice, to = kInvalidDevice;  ///< of a transfer
    OpId op = kInvalidOp;                                 ///< the op, or the producer of the transferred tensor
    TensorId tensor = 0;                                  ///< of a transfer; the first where several travel together
    double bytes = 0;                                     ///< of a transfer
    std::uint32_t batch = 0;
    double queued_s = 0;  ///< when it was ready and entered the queue
    double start_s = 0;
    double end_s = 0;

    bool operator==(const Span&) const = default;
};

/// Bytes in use on a device from `time_s` on.
struct MemorySample {
    DeviceId device = 0;
    double time_s = 0;
    double bytes = 0;

    bool operator==(const MemorySample&) const = default;
};

/// Spans in the order in which they ended, memory samples in the order of time. Of several changes of a device at one time the last is
/// kept and every one that may be the peak.
struct Trace {
    std::vector<Span> spans;
    std::vector<MemorySample> memory;

    bool operator==(const Trace&) const = default;
};

/// Runs placements of one problem. Holds all state that a run needs, so that a run allocates nothing; make one a thread.
///
/// Semantics. An op is ready when all its input tensors are on its device; ready ops queue in order of readiness. A tensor needed by ops on
/// another device is sent there once, over the channels of the route one after the other. When an op ends, consumers on its own device are
/// looked at first, then the transfers are queued, output by output and in the order of the consumers. What an end lets start
/// elsewhere starts first, then the device or channel itself goes on. Events at the same time are handled in the order in which
/// they were started: the result depends on nothing else.
/// A batch is admitted when fewer than `in_flight` are under way and every device that holds an op without inputs is idle (Exprimo);
/// one at the start and one after an event. Its ops without inputs are queued by device, then in the order of the graph.
///
/// Memory. A device holds the resident bytes of its ops throughout. Outputs are allocated when their op starts, copies on another device
/// when the last hop of their transfer starts; a tensor is freed on a device when its last reader there (or the first hop of its last
/// transfer from there) is done. That is MemoryModel::training; MemoryModel::exprimo allocates when the op ends or the copy has arrived.
class Simulator {
public:
    /// Throws std::invalid_argument if there are no batches or none may be in flight, std::length_error for 2^32 ops in flight or more.
    explicit Simulator(std::shared_ptr<const Problem> problem, SimulationOptions options = {});
    ~Simulator();
    Simulator(Simulator&&) noexcept;
    Simulator& operator=(Simulator&&) noexcept;

    const Problem& problem() const;
    const SimulationOptions& options() const;

    /// Simulates a placement that check_placement accepts. The outcome is valid until the next run.
    /// O(events * log(devices + channels)).
    const Outcome& run(std::span<const DeviceId> placement);

    /// The same with every span and memory sample recorded; `trace` is overwritten.
    const Outcome& run(std::span<const DeviceId> placement, Trace& trace);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace placewright
