// SPDX-License-Identifier: MIT
// Explains from a trace why a simulated step takes as long and holds as much memory as it does.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/cost/problem.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

/// What the time of a segment of the critical path is spent on.
enum class PathKind : std::uint8_t {
    compute,   ///< an op runs
    transfer,  ///< a tensor crosses a channel
    queue,     ///< an op or transfer that is ready waits for its device or channel
    host,      ///< the host issues the ops up to one that its device waits for (Runtime::eager)
};
std::string_view to_string(PathKind kind);

struct PathSegment {
    PathKind kind = PathKind::compute;
    std::uint32_t span = 0;           ///< index in Trace::spans of the op or transfer that ran or waited
                                      ///< (host: the last op that is issued)
    std::uint32_t blocker = kNoSpan;  ///< queue only: index of the span whose end let it start
    std::uint16_t resource = 0;       ///< device of an op, channel of a transfer (host: Issue::thread)
    double start_s = 0;
    double end_s = 0;

    double duration_s() const { return end_s - start_s; }
    bool operator==(const PathSegment&) const = default;
};

/// The chain of ops and transfers, each waiting for the one before, that ends with the last event.
///
/// It is followed backwards from the last span to end. An op needs its inputs; the last of them arrives at
/// the end of an op on the same device or of a transfer to it. An op without inputs needs its batch to be
/// admitted, at the end of an op. A channel of a route needs the end of the leg before, or of the op that
/// produces the tensor. Between that end and its own start a span waited in a queue. So every instant between
/// 0 and the end of the last event belongs to one segment, and waiting is visible: with more devices and
/// channels the same chain would take only the time of its compute and transfer segments. All channels of a
/// cut-through route are held at the same time: the slowest one represents them, or for the wait, the one
/// that the transfer waited for.
///
/// An op that starts when it is issued, and not before, does not need its inputs but the host: the path goes
/// on with all that its threads have issued since they last waited for an op on a CPU or the end of a batch,
/// a segment for each thread in turn, and with that op or the last op of that batch.
struct CriticalPath {
    /// In the order of time, without gaps. Ops and transfers of zero duration are kept, waits of zero
    /// duration are not.
    std::vector<PathSegment> segments;
    // Sums over the segments. They add up to the total time exactly if that is less than 2^53 ticks
    // (Problem::tick_s).
    double compute_s = 0, transfer_s = 0, queue_s = 0, host_s = 0;
    std::vector<double> device_compute_s, device_queue_s;     ///< [device]
    std::vector<double> channel_transfer_s, channel_queue_s;  ///< [channel]

    double total_s() const { return compute_s + transfer_s + queue_s + host_s; }
};

/// The critical path of a run of this problem, with any options. O(spans log spans + inputs).
CriticalPath critical_path(const Problem& problem, const Trace& trace);

/// What memory is held for. A workspace is no tensor, but is listed like one.
enum class HeldKind : std::uint8_t {
    activation,  ///< output of a forward op on its own device
    gradient,    ///< output of a backward or update op on its own device
    copy,        ///< sent by another device
    workspace,   ///< scratch memory of a running op
    weights,     ///< streamed from a CPU for an op
};
std::string_view to_string(HeldKind kind);

struct Held {
    HeldKind kind = HeldKind::activation;
    OpId op = kInvalidOp;         ///< producer, or the op whose workspace or weights these are
    TensorId tensor = kNoTensor;  ///< kNoTensor for a workspace and for weights
    std::uint32_t batch = 0;
    double bytes = 0;
    double since_s = 0;

    bool operator==(const Held&) const = default;
};

/// The largest memory use of a device and its parts, which add up to exactly `bytes`.
struct MemoryPeak {
    DeviceId device = 0;
    double bytes = 0;   ///< Outcome::peak_bytes
    double time_s = 0;  ///< first time at which `bytes` are held
    // Held for the whole step.
    double parameter_bytes = 0;
    double optimizer_bytes = 0;             ///< copies of the parameters that the optimizer keeps
    double accumulated_gradient_bytes = 0;  ///< sums of gradients over the batches of a step
    double other_resident_bytes = 0;        ///< Op::resident_bytes
    /// Everything else that is held at that time: largest first, then by op, tensor and batch. A view is part
    /// of the tensor that it is a view of; entries of 0 bytes are left out.
    std::vector<Held> held;
};

/// One per device, from the trace of a run of this problem, under either memory model. O(spans log spans +
/// inputs + batches * tensors * devices).
std::vector<MemoryPeak> memory_peaks(const Problem& problem, const Trace& trace);

}  // namespace placewright
