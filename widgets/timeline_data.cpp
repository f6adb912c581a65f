// SPDX-License-Identifier: MIT
#include "widgets/timeline_data.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include <QCoreApplication>

#include "core/base/units.hpp"

namespace placewright {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Returns the first index in [from, size) that is not `before`, else `size`; fast if it is near `from` or a
/// little beyond `from + guess`.
template <class Before>
std::size_t gallop(std::size_t from, std::size_t size, Before before, std::size_t guess = 1) {
    std::size_t low = from, step = std::max<std::size_t>(guess, 1);
    bool guessed = guess > 1;
    while (low + step <= size && before(low + step - 1)) {
        low += step;
        step = std::exchange(guessed, false) ? 1 + guess / 8 : 2 * step;
    }
    std::size_t high = std::min(size, low + step - 1);
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (before(middle)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/// [devices + channels + 1]: index of the first lane of each; a device has a lane per used stream.
std::vector<std::size_t> firstLanes(const Problem& problem, const Trace& trace) {
    std::vector<std::size_t> first(problem.devices + problem.channels + 1);
    std::fill(first.begin() + 1, first.end(), 1);
    for (const Span& span : trace.spans) {
        if (span.kind == Span::Kind::op)
            first[span.resource + 1] = std::max<std::size_t>(first[span.resource + 1], span.stream + 1);
    }
    std::partial_sum(first.begin(), first.end(), first.begin());
    return first;
}

/// Sorts the spans of a lane and sums their times.
void finish(TimelineData::Lane& lane, const std::vector<Span>& spans) {
    const auto earlier = [&](std::uint32_t a, std::uint32_t b) {
        return std::pair(spans[a].start_s, spans[a].end_s) < std::pair(spans[b].start_s, spans[b].end_s);
    };
    if (!std::ranges::is_sorted(lane.spans, earlier)) std::ranges::stable_sort(lane.spans, earlier);
    lane.busy_s.reserve(lane.spans.size() + 1);
    lane.busy_s.push_back(0);
    lane.start_s.reserve(lane.spans.size());
    for (const std::uint32_t span : lane.spans) {
        lane.busy_s.push_back(lane.busy_s.back() + spans[span].end_s - spans[span].start_s);
        lane.start_s.push_back(spans[span].start_s);
    }
}

/// Seconds in which at least one lane has a span.
double activeSeconds(std::span<const TimelineData::Lane> lanes, const std::vector<Span>& spans) {
    if (lanes.size() == 1) return lanes.front().busy_s.back();
    std::vector<std::uint32_t> all;
    for (const TimelineData::Lane& lane : lanes) all.insert(all.end(), lane.spans.begin(), lane.spans.end());
    std::ranges::sort(all, {}, [&](std::uint32_t span) { return spans[span].start_s; });
    double active_s = 0, end_s = 0;
    for (const std::uint32_t span : all) {
        active_s += std::max(0.0, spans[span].end_s - std::max(spans[span].start_s, end_s));
        end_s = std::max(end_s, spans[span].end_s);
    }
    return active_s;
}

void fillHost(TimelineData& data) {
    const std::vector<Issue>& issues = data.trace.issues;
    std::map<std::uint16_t, TimelineData::Lane> lanes;
    data.host.spans.resize(issues.size());
    for (std::uint32_t i = 0; i < issues.size(); ++i) {
        data.host.spans[i] = data.trace.spans[i];
        data.host.spans[i].start_s = issues[i].start_s;
        data.host.spans[i].end_s = issues[i].end_s;
        if (issues[i].end_s > issues[i].start_s) lanes[issues[i].thread].spans.push_back(i);
    }
    for (auto& [thread, lane] : lanes) {
        finish(lane, data.host.spans);
        data.host_threads.push_back(thread);
        data.host_lanes.push_back(std::move(lane));
    }
}

}  // namespace

std::shared_ptr<const TimelineData> TimelineData::build(std::shared_ptr<const Problem> problem, Trace trace,
                                                        Outcome outcome, Source source) {
    auto data = std::make_shared<TimelineData>();
    data->source = source;
    data->problem = std::move(problem);
    data->trace = std::move(trace);
    data->outcome = std::move(outcome);
    const Problem& of = *data->problem;
    const std::vector<Span>& spans = data->trace.spans;

    data->first_lane = firstLanes(of, data->trace);
    data->lanes.resize(data->first_lane.back());
    data->op_spans.resize(of.graph->size());
    data->memory.resize(of.devices);
    data->memory_peaks.resize(of.devices);
    for (std::uint32_t i = 0; i < spans.size(); ++i) {
        data->lanes[data->laneOf(spans[i])].spans.push_back(i);
        data->op_spans[data->forwardOf(spans[i])].push_back(i);
        const std::size_t batch = spans[i].batch;
        if (batch >= data->batches.size()) data->batches.resize(batch + 1, {kNever, 0});
        Batch& extent = data->batches[batch];
        extent = {std::min(extent.start_s, spans[i].start_s), std::max(extent.end_s, spans[i].end_s)};
    }
    for (Lane& lane : data->lanes) finish(lane, spans);
    for (DeviceId device = 0; device < of.devices; ++device)
        data->active_s.push_back(activeSeconds(data->lanesOf(device), spans));
    fillHost(*data);
    for (const MemorySample& sample : data->trace.memory) {
        auto& samples = data->memory[sample.device];
        auto& peaks = data->memory_peaks[sample.device];
        if (samples.size() % kPeakBlock == 0) peaks.push_back(0);
        peaks.back() = std::max(peaks.back(), sample.bytes);
        samples.push_back(sample);
    }
    return data;
}

double TimelineData::peakBytes(DeviceId device, std::size_t first, std::size_t last) const {
    double peak = 0;
    while (first < last) {
        if (first % kPeakBlock == 0 && first + kPeakBlock <= last) {
            peak = std::max(peak, memory_peaks[device][first / kPeakBlock]);
            first += kPeakBlock;
        } else {
            peak = std::max(peak, memory[device][first++].bytes);
        }
    }
    return peak;
}

double TimelineData::bytesAt(DeviceId device, double time_s) const {
    const auto& samples = memory[device];
    const auto after = std::ranges::upper_bound(samples, time_s, {}, &MemorySample::time_s);
    return after == samples.begin() ? outcome.resident_bytes[device] : std::prev(after)->bytes;
}

void TimeAxis::zoom(double factor, double x) {
    const double at = toTime(x);
    start_s = at - (at - start_s) / factor;
    end_s = at + (end_s - at) / factor;
}

void TimeAxis::pan(double pixels) {
    const double shift = pixels * secondsPerPixel();
    start_s -= shift;
    end_s -= shift;
}

void TimeAxis::clamp(double total_s) {
    const double shown = std::min(end_s - start_s, total_s);
    start_s = std::clamp(start_s, 0.0, total_s - shown);
    end_s = start_s + shown;
}

double tickStep(double least_s) {
    const double power = std::pow(10.0, std::floor(std::log10(least_s)));
    for (const double factor : {1.0, 2.0, 5.0}) {
        // A step that is too small only by rounding is accepted.
        if (factor * power >= least_s * (1 - 1e-9)) return factor * power;
    }
    return 10 * power;
}

QString tickText(double time_s, double step_s, double axis_end_s) {
    struct Unit {
        double seconds;
        const char* name;
    };
    static constexpr std::array<Unit, 4> units{{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}}};
    const auto* unit =
        std::ranges::find_if(units, [&](const Unit& each) { return axis_end_s >= each.seconds; });
    if (unit == units.end()) --unit;
    const int decimals =
        std::clamp(static_cast<int>(std::ceil(std::log10(unit->seconds / step_s) - 1e-9)), 0, 12);
    return QStringLiteral("%1 %2").arg(QString::number(time_s / unit->seconds, 'f', decimals),
                                       QString::fromUtf8(unit->name));
}

QString momentText(double time_s, double duration_s) {
    if (duration_s <= 0) return QString::fromStdString(format_seconds(time_s));
    return tickText(time_s, duration_s / 20, std::max(time_s, duration_s));
}

QString intervalText(double start_s, double end_s) {
    const bool isMoment = end_s <= start_s;
    const auto text = [&](double time_s) {
        return isMoment ? QString::fromStdString(format_seconds(time_s))
                        : tickText(time_s, (end_s - start_s) / 20, end_s);
    };
    return QCoreApplication::translate("Timeline", "%1 to %2").arg(text(start_s), text(end_s));
}

namespace {

/// `start_s(i)`: start of the i-th span of the row.
template <class Start>
std::vector<SpanMark> marksOf(const Trace& trace, std::span<const std::uint32_t> row, const TimeAxis& axis,
                              std::optional<Columns> columns, const Start& start_s) {
    const double right = axis.left + axis.width;
    // Outlines reach beyond their blocks, and the first column may not be complete.
    constexpr int kMargin = 4;
    const double from_s = columns ? axis.toTime(columns->from - kMargin) : axis.start_s;
    const double to_s = columns ? axis.toTime(columns->to + kMargin) : axis.end_s;
    // Coordinates outside the axis are cut, since they may not fit an int.
    const auto pixel = [&](double x) {
        return static_cast<int>(std::floor(std::clamp(x, axis.left - 8, right + 8) + 0.5));
    };
    const auto isWide = [&](std::size_t i) {
        return (trace.spans[row[i]].end_s - start_s(i)) / axis.secondsPerPixel() >= 1;
    };

    std::vector<SpanMark> marks;
    // Columns have about as many spans as those beside them.
    std::size_t guess = 1;
    std::size_t i = static_cast<std::size_t>(
        std::ranges::partition_point(row,
                                     [&](std::uint32_t span) { return trace.spans[span].end_s < from_s; }) -
        row.begin());
    while (i < row.size() && start_s(i) <= to_s) {
        const double x = axis.toX(start_s(i));
        const double column = std::floor(std::max(x, axis.left - 8));
        const double column_end_s = axis.toTime(column + 1);
        std::size_t last = std::max(
            i + 1, gallop(
                       i, row.size(), [&](std::size_t k) { return start_s(k) < column_end_s; }, guess));
        guess = last - i;
        // Only the last span that begins in a column can be wide: it hides the rest of the column.
        if (isWide(last - 1)) {
            if (last == i + 1) {
                const int from = pixel(x);
                const double end_s = trace.spans[row[i]].end_s;
                marks.push_back({i, last, from, std::max(1, pixel(axis.toX(end_s)) - from)});
                i = last;
                continue;
            }
            --last;
        }
        marks.push_back({i, last, static_cast<int>(column), 1});
        i = last;
    }
    return marks;
}

}  // namespace

std::vector<SpanMark> visibleMarks(const Trace& trace, std::span<const std::uint32_t> row,
                                   const TimeAxis& axis, std::optional<Columns> columns) {
    return marksOf(trace, row, axis, columns, [&](std::size_t i) { return trace.spans[row[i]].start_s; });
}

std::vector<SpanMark> visibleMarks(const Trace& trace, const TimelineData::Lane& lane, const TimeAxis& axis,
                                   std::optional<Columns> columns) {
    return marksOf(trace, lane.spans, axis, columns, [&](std::size_t i) { return lane.start_s[i]; });
}

std::vector<MemoryMark> visibleMemory(const TimelineData& data, DeviceId device, const TimeAxis& axis,
                                      std::optional<Columns> columns) {
    const auto& samples = data.memory[device];
    std::vector<MemoryMark> marks;
    const int left = columns ? columns->from : static_cast<int>(std::floor(axis.left));
    const int right = columns ? columns->to : static_cast<int>(std::ceil(axis.left + axis.width));
    std::size_t next = 0;  // first sample after the drawn part
    for (int x = left; x < right; ++x) {
        const double begin_s = axis.toTime(x), end_s = axis.toTime(x + 1);
        if (begin_s >= data.outcome.total_time_s) break;
        const std::size_t first =
            gallop(next, samples.size(), [&](std::size_t k) { return samples[k].time_s <= begin_s; });
        next = gallop(first, samples.size(), [&](std::size_t k) { return samples[k].time_s < end_s; });
        const double before = first > 0 ? samples[first - 1].bytes : data.outcome.resident_bytes[device];
        const double bytes = std::max(before, data.peakBytes(device, first, next));
        if (!marks.empty() && marks.back().bytes == bytes) {
            ++marks.back().width;
        } else {
            marks.push_back({x, 1, bytes});
        }
    }
    return marks;
}

}  // namespace placewright
