// SPDX-License-Identifier: MIT
// The Gantt chart as a value: a trace indexed for drawing, the time axis, and the visible marks of a row at a
// zoom level.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <QString>

#include "core/sim/simulator.hpp"

namespace placewright {

/// Returns the forward op that a derived op belongs to; any other op itself.
inline OpId forwardOf(const Graph& graph, OpId op) {
    const OpId forward = graph.op(op).forward_op;
    return forward == kInvalidOp ? op : forward;
}

/// A trace prepared for drawing: spans by lane, sorted by start, and memory by device. Built outside the GUI
/// thread.
struct TimelineData {
    /// A resource that runs one span at a time: a stream of a device, or a channel.
    struct Lane {
        /// Indices into trace.spans, ascending in start. They do not overlap, so they ascend in end as well.
        std::vector<std::uint32_t> spans;
        std::vector<double> busy_s;   ///< [k]: seconds of the first k spans
        std::vector<double> start_s;  ///< of each span: looking for one here misses the cache less often
    };

    /// Origin of the spans. Of measured runs neither memory nor waiting is known.
    enum class Source : std::uint8_t { simulated, measured };

    std::shared_ptr<const Problem> problem;
    Trace trace;
    Outcome outcome;
    Source source = Source::simulated;
    std::vector<Lane> lanes;  ///< the used streams of each device (at least one), then the channels
    std::vector<std::size_t> first_lane;  ///< [devices + channels + 1]
    std::vector<double> active_s;         ///< [device]: seconds in which at least one of its streams is busy
    std::vector<std::vector<MemorySample>> memory;  ///< by device, ascending in time
    /// By forward op: spans of it and of its backward and update ops, and its transfers.
    std::vector<std::vector<std::uint32_t>> op_spans;
    /// What the host does: spans parallel to those of `trace`, from the begin of the issue of an op to its
    /// end; empty unless the host takes time.
    Trace host;
    std::vector<Lane> host_lanes;                   ///< by thread with work; indices into host.spans
    std::vector<std::uint16_t> host_threads;        ///< [host lane]: Issue::thread
    std::vector<std::vector<double>> memory_peaks;  ///< by device: maximum of each kPeakBlock samples
    /// First start and last end of each batch; a single one where only one runs.
    struct Batch {
        double start_s = 0, end_s = 0;
    };
    std::vector<Batch> batches;

    static constexpr std::size_t kPeakBlock = 64;

    /// O(spans log spans + samples).
    static std::shared_ptr<const TimelineData> build(std::shared_ptr<const Problem> problem, Trace trace,
                                                     Outcome outcome, Source source = Source::simulated);

    std::span<const Lane> lanesOf(DeviceId device) const {
        return std::span(lanes).subspan(first_lane[device], first_lane[device + 1] - first_lane[device]);
    }
    const Lane& channelLane(ChannelId channel) const { return lanes[first_lane[memory.size() + channel]]; }
    /// Position in `lanes`.
    std::size_t laneOf(const Span& span) const {
        return span.kind == Span::Kind::op ? first_lane[span.resource] + span.stream
                                           : first_lane[memory.size() + span.resource];
    }
    OpId forwardOf(const Span& span) const { return placewright::forwardOf(*problem->graph, span.op); }
    /// Maximum of the samples `first` to `last` (exclusive) of a device; 0 if there are none.
    double peakBytes(DeviceId device, std::size_t first, std::size_t last) const;
    /// Bytes in use on a device at a time. O(log samples).
    double bytesAt(DeviceId device, double time_s) const;
};

/// Maps time to x and back.
struct TimeAxis {
    double start_s = 0;
    double end_s = 1;
    double left = 0;
    double width = 1;

    double toX(double seconds) const { return left + (seconds - start_s) / (end_s - start_s) * width; }
    double toTime(double x) const { return start_s + (x - left) / width * (end_s - start_s); }
    double secondsPerPixel() const { return (end_s - start_s) / width; }
    /// Shows `factor` times less time and keeps the time at `x` in place.
    void zoom(double factor, double x);
    /// Moves the chart to the right by `pixels`.
    void pan(double pixels);
    /// Shifts the axis, and shortens it if needed, so that it lies in [0, total_s].
    void clamp(double total_s);
    bool operator==(const TimeAxis&) const = default;
};

/// Returns the smallest step of 1, 2 or 5 times a power of ten that is at least `least_s`.
double tickStep(double least_s);
/// A tick's time with as many digits as `step_s` needs, in the unit of the axis's end: "41.2340 ms".
QString tickText(double time_s, double step_s, double axis_end_s);

/// A time with enough digits to distinguish it from times `duration_s` away: "992.310 ms".
QString momentText(double time_s, double duration_s);
/// "992.310 ms to 992.350 ms".
QString intervalText(double start_s, double end_s);

/// Neighbouring pixel columns, `to` exclusive.
struct Columns {
    int from = 0, to = 0;

    bool isEmpty() const { return from >= to; }
};

/// A mark of a row: a single span, or all spans that begin within one pixel column.
struct SpanMark {
    std::size_t first = 0, last = 0;  ///< positions in the row, `last` exclusive
    int x = 0;                        ///< left pixel
    int width = 1;                    ///< in pixels, at least 1; cut slightly outside the axis

    bool merged() const { return last - first > 1; }
    bool operator==(const SpanMark&) const = default;
};

/// Returns the marks of a row within the axis, or at least those that reach into some columns of it; a mark
/// is the same whatever the columns are. O(columns log spans).
std::vector<SpanMark> visibleMarks(const Trace& trace, std::span<const std::uint32_t> row,
                                   const TimeAxis& axis, std::optional<Columns> columns = {});
/// Those of all spans of a lane, which takes less time.
std::vector<SpanMark> visibleMarks(const Trace& trace, const TimelineData::Lane& lane, const TimeAxis& axis,
                                   std::optional<Columns> columns = {});

/// Maximum of the bytes in use within one or more neighbouring pixel columns.
struct MemoryMark {
    int x = 0;
    int width = 1;
    double bytes = 0;

    bool operator==(const MemoryMark&) const = default;
};

/// Returns the memory of a device within the axis, or in some columns. O(columns log samples + samples /
/// kPeakBlock).
std::vector<MemoryMark> visibleMemory(const TimelineData& data, DeviceId device, const TimeAxis& axis,
                                      std::optional<Columns> columns = {});

}  // namespace placewright
