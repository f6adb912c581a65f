// SPDX-License-Identifier: MIT
// Why a simulated step takes as long and holds as much as it does, told from its trace.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/cost/problem.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

/// What the time of a stretch of the critical path goes to.
enum class PathKind : std::uint8_t {
    compute,   ///< an op runs
    transfer,  ///< a tensor crosses a channel
    queue,     ///< an op or transfer that has all it needs waits for its device or channel
};
std::string_view to_string(PathKind kind);

struct PathSegment {
    PathKind kind = PathKind::compute;
    std::uint32_t span = 0;           ///< index in Trace::spans of what ran, crossed or waited
    std::uint32_t blocker = kNoSpan;  ///< of a queue: index of the span whose end let it start
    std::uint16_t resource = 0;       ///< device of an op, channel of a transfer
    double start_s = 0;
    double end_s = 0;

    double duration_s() const { return end_s - start_s; }
    bool operator==(const PathSegment&) const = default;
};

/// The chain of ops and transfers, each waiting for the one before, that ends with the last event.
///
/// Walked backwards from the last span to end. What a span needs is: for an op its inputs, the last of which to arrive is the end of an op
/// on the same device or of a transfer to it; for an op without inputs that its batch is admitted, by the end of an op; for a channel of a
/// route that the channel before has been crossed, or the tensor produced. The time from there to its start it spent in a queue.
/// So every instant between 0 and the end of the last event belongs to one segment, and waiting shows as such: with more devices and
/// channels the same chain would take the time of its compute and transfer segments alone.
/// All channels of a cut-through route are held at a time: the one that sets the pace stands for them, or where the transfer waited for
/// another one of them, that one for the wait.
struct CriticalPath {
    /// In the order of time, without gaps; ops and transfers that take no time are kept, waits of no time are not.
    std::vector<PathSegment> segments;
    // Sums over the segments. They add up to the total time exactly as long as that is less than 2^53 ticks (Problem::tick_s).
    double compute_s = 0, transfer_s = 0, queue_s = 0;
    std::vector<double> device_compute_s, device_queue_s;     ///< [device]
    std::vector<double> channel_transfer_s, channel_queue_s;  ///< [channel]
};

/// Of the trace of a run of this problem, under whatever options. O(spans log spans + inputs).
CriticalPath critical_path(const Problem& problem, const Trace& trace);

/// What a tensor is held for; workspace is no tensor, but held as one.
enum class HeldKind : std::uint8_t {
    activation,  ///< output of a forward op on its own device
    gradient,    ///< output of a backward or update op on its own device
    copy,        ///< sent by another device
    workspace,   ///< scratch memory of a running op
};
std::string_view to_string(HeldKind kind);

struct Held {
    HeldKind kind = HeldKind::activation;
    OpId op = kInvalidOp;         ///< producer, or the op whose workspace it is
    TensorId tensor = kNoTensor;  ///< none for a workspace
    std::uint32_t batch = 0;
    double bytes = 0;
    double since_s = 0;

    bool operator==(const Held&) const = default;
};

/// The most that a device holds, and what that is. All bytes together are exactly `bytes`.
struct MemoryPeak {
    DeviceId device = 0;
    double bytes = 0;   ///< Outcome::peak_bytes
    double time_s = 0;  ///< when so much is held for the first time
    // Held throughout.
    double parameter_bytes = 0;
    double optimizer_bytes = 0;             ///< copies of the parameters that the optimizer keeps
    double accumulated_gradient_bytes = 0;  ///< sums of gradients over the batches of a step
    double other_resident_bytes = 0;        ///< Op::resident_bytes
    /// What else is held then: largest first, then by op, tensor and batch. A view is part of what it is a view of; what has no bytes is
    /// left out.
    std::vector<Held> held;
};

/// One a device, from the trace of a run of this problem, under either memory model. O(spans log spans + inputs + batches * tensors *
/// devices).
std::vector<MemoryPeak> memory_peaks(const Problem& problem, const Trace& trace);

}  // namespace placewright
