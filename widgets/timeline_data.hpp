// SPDX-License-Identifier: MIT
// The Gantt chart as a value: a trace indexed for drawing, the time axis, and what is seen of a row at a zoom.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <QString>

#include "core/sim/simulator.hpp"

namespace placewright {

/// The forward op that a derived op belongs to; any other op stands for itself.
inline OpId forwardOf(const Graph& graph, OpId op) {
    const OpId forward = graph.op(op).forward_op;
    return forward == kInvalidOp ? op : forward;
}

/// A trace prepared for drawing: spans by lane and sorted by start, memory by device. Built off the window's thread.
struct TimelineData {
    /// What runs one span at a time: a stream of a device, or a channel.
    struct Lane {
        /// Indices into trace.spans, ascending in start. They do not overlap, so they ascend in end as well.
        std::vector<std::uint32_t> spans;
        std::vector<double> busy_s;  ///< [k]: seconds of the first k spans
    };

    /// What is known beside the spans: of measured runs neither memory nor what waited.
    enum class Source : std::uint8_t { simulated, measured };

    std::shared_ptr<const Problem> problem;
    Trace trace;
    Outcome outcome;
    Source source = Source::simulated;
    std::vector<Lane> lanes;                           ///< the streams in use of each device, at least one; then the channels
    std::vector<std::size_t> first_lane;               ///< [devices + channels + 1]
    std::vector<double> active_s;                      ///< [device]: seconds in which something runs on it, on however many streams
    std::vector<std::vector<MemorySample>> memory;     ///< by device, ascending in time
    std::vector<std::vector<std::uint32_t>> op_spans;  ///< by forward op: its own, its backward's and update's spans and its transfers
    std::vector<std::vector<double>> memory_peaks;     ///< by device: the highest of each kPeakBlock samples

    static constexpr std::size_t kPeakBlock = 64;

    /// O(spans log spans + samples).
    static std::shared_ptr<const TimelineData> build(std::shared_ptr<const Problem> problem, Trace trace, Outcome outcome,
                                                     Source source = Source::simulated);

    std::span<const Lane> lanesOf(DeviceId device) const {
        return std::span(lanes).subspan(first_lane[device], first_lane[device + 1] - first_lane[device]);
    }
    const Lane& channelLane(ChannelId channel) const { return lanes[first_lane[memory.size() + channel]]; }
    /// Position in `lanes`.
    std::size_t laneOf(const Span& span) const {
        return span.kind == Span::Kind::op ? first_lane[span.resource] + span.stream : first_lane[memory.size() + span.resource];
    }
    OpId forwardOf(const Span& span) const { return placewright::forwardOf(*problem->graph, span.op); }
    /// Highest of the samples first..last (exclusive) of a device; 0 if there are none.
    double peakBytes(DeviceId device, std::size_t first, std::size_t last) const;
    /// Bytes in use on a device at a time. O(log samples).
    double bytesAt(DeviceId device, double time_s) const;
};

/// Time to x and back; a plain value so that it can be tested.
struct TimeAxis {
    double start_s = 0;
    double end_s = 1;
    double left = 0;
    double width = 1;

    double toX(double seconds) const { return left + (seconds - start_s) / (end_s - start_s) * width; }
    double toTime(double x) const { return start_s + (x - left) / width * (end_s - start_s); }
    double secondsPerPixel() const { return (end_s - start_s) / width; }
    /// Shows `factor` times less time, with the time at `x` kept there.
    void zoom(double factor, double x);
    /// Moves what is drawn to the right.
    void pan(double pixels);
    /// Shifts, and shortens where needed, so that the axis lies in [0, total_s].
    void clamp(double total_s);
    bool operator==(const TimeAxis&) const = default;
};

/// The smallest of 1, 2, 5 times a power of ten that is at least `least_s`.
double tickStep(double least_s);
/// A tick's time with as many digits as `step_s` needs, in the unit of the axis's end: "41.2340 ms".
QString tickText(double time_s, double step_s, double axis_end_s);

/// A time with the digits that tell it apart from others `duration_s` away: "992.310 ms".
QString momentText(double time_s, double duration_s);
/// "992.310 ms to 992.350 ms".
QString intervalText(double start_s, double end_s);

/// What is seen of a row at one place: a single span, or all spans that begin within one pixel column.
struct SpanMark {
    std::size_t first = 0, last = 0;  ///< positions in the row, `last` exclusive
    int x = 0;                        ///< left pixel
    int width = 1;                    ///< in pixels; at least 1, cut a little outside of the axis

    bool merged() const { return last - first > 1; }
    bool operator==(const SpanMark&) const = default;
};

/// The marks of a row within the axis. O(axis.width log spans), whatever the number of spans.
std::vector<SpanMark> visibleMarks(const Trace& trace, std::span<const std::uint32_t> row, const TimeAxis& axis);

/// Bytes in use within one or more neighbouring pixel columns: their maximum.
struct MemoryMark {
    int x = 0;
    int width = 1;
    double bytes = 0;

    bool operator==(const MemoryMark&) const = default;
};

/// The memory of a device within the axis. O(axis.width log samples + samples / kPeakBlock).
std::vector<MemoryMark> visibleMemory(const TimelineData& data, DeviceId device, const TimeAxis& axis);

}  // namespace placewright
