// SPDX-License-Identifier: MIT
// Layout of a TimelineView: where rows, lanes, spans and memory peaks are, and what is at a point.
#include <algorithm>
#include <cmath>

#include <QScrollBar>

#include "widgets/quantities.hpp"
#include "widgets/timeline_view.hpp"

namespace placewright {
namespace {

constexpr int kPointingSlack = 3;  // pixels beside a narrow span that still point at it
constexpr int kSmallMemory = 8;    // pixels below the strip of a small row
constexpr int kPinnedGap = 3;      // pixels between the pinned rows and those that scroll
constexpr int kPeakReach = 6;      // pixels from the mark of a memory peak that still point at it

QString idleText(std::size_t channels) {
    return channels == 1 ? TimelineView::tr("1 idle channel")
                         : TimelineView::tr("%1 idle channels").arg(channels);
}

QString hostText(const Problem& problem, std::uint16_t thread) {
    if (thread == 0) return TimelineView::tr("host");
    return TimelineView::tr("host of %1")
        .arg(QString::fromStdString(problem.machine->device(static_cast<DeviceId>(thread - 1)).name));
}

}  // namespace

int TimelineView::Row::stripsEnd() const {
    int end = kBarTop;
    for (const Strip& strip : strips) end = std::max(end, strip.top + strip.height);
    // The marks of the last measured strip have room below it.
    return end + (strips.size() > 1 ? kMarkHeight : 0);
}

const TimelineData& TimelineView::dataOf(int run) const {
    return run == kSimulated ? *m_data : *m_measured->runs[static_cast<std::size_t>(run)].of.timeline;
}

std::span<const MeasuredRuns::Run> TimelineView::measured() const {
    if (!m_data || !m_measured || m_measuredLayout == MeasuredLayout::off ||
        m_measured->simulated->problem != m_data->problem)
        return {};
    return m_measured->runs;
}

double TimelineView::total_s() const {
    double total_s = std::max(m_sharedTotal_s, m_data ? m_data->outcome.total_time_s : 0);
    for (const MeasuredRuns::Run& run : measured())
        total_s = std::max(total_s, run.of.timeline->outcome.total_time_s);
    return total_s > 0 ? total_s : 1;
}

void TimelineView::addMeasuredStrips(Row& row) const {
    const int line = QFontMetrics(font()).height();
    const Strip simulated = row.strips.front();
    for (std::size_t run = 0; run < measured().size(); ++run) {
        const TimelineData& shown = *measured()[run].of.timeline;
        const bool isDevice = row.kind == Row::Kind::device;
        const auto lanes = isDevice ? shown.lanesOf(row.resource)
                                    : std::span(&shown.channelLane(row.resource), std::size_t{1});
        if (std::ranges::all_of(lanes, [](const TimelineData::Lane& lane) { return lane.spans.empty(); }))
            continue;
        Strip strip{static_cast<int>(run), simulated.top, simulated.height, static_cast<int>(lanes.size())};
        if (m_measuredLayout == MeasuredLayout::below) {
            const Strip& above = row.strips.back();
            strip.top = above.top + above.height + kMarkHeight;
            strip.height = strip.lanes == 1 ? line : strip.lanes * std::max(line - 3, 6);
            row.height += strip.height + kMarkHeight;
        }
        row.strips.push_back(strip);
    }
    if (row.strips.size() > 1) row.height += kMarkHeight;
}

/// Makes a row for each device and busy channel, and for idle ones if they are shown; tops are not set.
void TimelineView::listRows() {
    m_rows.clear();
    if (!m_data) return;
    const int line = QFontMetrics(font()).height();
    const Machine& machine = *m_data->problem->machine;
    const Outcome& outcome = m_data->outcome;
    std::vector<Row> idle;
    for (DeviceId device = 0; device < machine.devices().size(); ++device) {
        const double limit_bytes = m_data->problem->memory_limit_bytes[device];
        const int lanes = static_cast<int>(m_data->lanesOf(device).size());
        const int bar = lanes == 1 ? line + 6 : lanes * (line + 1);
        m_rows.push_back({Row::Kind::device,
                          device,
                          0,
                          bar + line + 14,
                          {{kSimulated, kBarTop, bar, lanes}},
                          QString::fromStdString(machine.device(device).name),
                          isMeasured() && outcome.peak_bytes[device] > 0
                              ? tr("peak %1").arg(bytesText(outcome.peak_bytes[device]))
                          : isMeasured() ? tr("busy for %1").arg(secondsText(outcome.device_busy_s[device]))
                                         : shareOfBytesText(outcome.peak_bytes[device], limit_bytes),
                          outcome.peak_bytes[device] > limit_bytes});
        addMeasuredStrips(m_rows.back());
    }
    const std::vector<Strip> single{{kSimulated, kBarTop, line, 1}};
    for (std::size_t lane = 0; lane < m_data->host_lanes.size(); ++lane) {
        m_rows.push_back({Row::Kind::host,
                          static_cast<std::uint16_t>(lane),
                          0,
                          line + 6,
                          single,
                          hostText(*m_data->problem, m_data->host_threads[lane]),
                          {},
                          false});
    }
    for (ChannelId channel = 0; channel < m_data->problem->channels; ++channel) {
        Row row{Row::Kind::channel,
                channel,
                0,
                line + 6,
                single,
                QString::fromStdString(machine.channels()[channel].name),
                {},
                false};
        addMeasuredStrips(row);
        const bool isIdle = m_data->channelLane(channel).spans.empty() && row.strips.size() == 1;
        (isIdle ? idle : m_rows).push_back(std::move(row));
    }
    if (!idle.empty()) {
        m_rows.push_back({Row::Kind::idle_channels, 0, 0, line + 6, {}, idleText(idle.size()), {}, false});
        if (m_idleShown) m_rows.insert(m_rows.end(), idle.begin(), idle.end());
    }
}

int TimelineView::wantedHeaderWidth() const {
    if (!m_data) return 0;
    const QFontMetrics metrics(font());
    const Machine& machine = *m_data->problem->machine;
    int widest = 0;
    // The width depends on the machine only, so that the chart does not shift while a search runs.
    for (DeviceId device = 0; device < machine.devices().size(); ++device) {
        const QString limit = bytesText(m_data->problem->memory_limit_bytes[device]);
        widest = std::max({widest,
                           metrics.horizontalAdvance(QString::fromStdString(machine.device(device).name)) +
                               metrics.height(),
                           metrics.horizontalAdvance(tr("888 MB") + QStringLiteral(" / ") + limit)});
    }
    for (const Channel& channel : machine.channels()) {
        widest = std::max(widest, metrics.horizontalAdvance(QString::fromStdString(channel.name)));
    }
    widest = std::max(widest, metrics.horizontalAdvance(idleText(machine.channels().size())) + 14);
    if (!measured().empty()) widest = std::max(widest, metrics.horizontalAdvance(tr("measured")) + 14);
    return widest + 22;
}

int TimelineView::headerWidth() const {
    if (!m_data) return 0;
    // Long names are elided to leave room for the chart.
    return std::min({std::max(wantedHeaderWidth(), m_sharedHeaderWidth), std::max(width() * 2 / 5, 60),
                     QFontMetrics(font()).averageCharWidth() * 32});
}

/// Lowers the rows of devices where they would not all fit: first those without spans, then the memory of
/// all, last they lose their details.
void TimelineView::shrinkRows() {
    const int line = QFontMetrics(font()).height();
    const auto isIdle = [this](const Row& row) {
        return std::ranges::all_of(m_data->lanesOf(row.resource),
                                   [](const TimelineData::Lane& lane) { return lane.spans.empty(); });
    };
    const auto least = [&](const Row& row) {
        if (row.strips.size() > 1 || row.warn) return row.height;
        const Strip& strip = row.strips.front();
        const int bar = strip.lanes == 1 ? line : strip.height;
        return strip.top + bar + (isIdle(row) ? 2 : kSmallMemory);
    };
    int wanted = 0, needed = 0, busy = 0;
    for (const Row& row : m_rows) {
        if (row.kind != Row::Kind::device) continue;
        wanted += row.height;
        needed += least(row);
        busy += isIdle(row) ? 0 : 1;
    }
    const int room = height() - m_rulerHeight - 4;
    if (wanted <= room) return;
    const int more = std::max(0, room - needed) / std::max(busy, 1);
    for (Row& row : m_rows) {
        if (row.kind != Row::Kind::device) continue;
        const int lowered = least(row) + (isIdle(row) ? 0 : more);
        if (lowered >= row.height) continue;
        row.height = lowered;
        row.small = true;
        if (row.strips.front().lanes == 1) row.strips.front().height = line;
    }
}

/// Stacks the rows, which share the spare height, up to twice their own.
void TimelineView::stackRows() {
    m_contentHeight = m_naturalHeight = 0;
    if (!m_data) return;
    m_naturalHeight = 4;
    for (const Row& row : m_rows) m_naturalHeight += row.height;
    shrinkRows();
    int stacked = 4;
    for (const Row& row : m_rows) stacked += row.height;
    const int spare = std::max(0, height() - m_rulerHeight - stacked);
    const int devices = static_cast<int>(m_data->problem->machine->devices().size());
    const int extra = std::clamp(spare / devices, 0, 2 * QFontMetrics(font()).height() + 20);
    int top = 0;
    m_pinnedHeight = 0;
    for (Row& row : m_rows) {
        if (row.kind == Row::Kind::device) {
            // A third goes to the strips, the rest to the memory.
            row.height += extra;
            const bool below = m_measuredLayout == MeasuredLayout::below;
            const int more = extra / 3 / (below ? static_cast<int>(row.strips.size()) : 1);
            for (std::size_t i = 0; i < row.strips.size(); ++i) {
                row.strips[i].height += more;
                if (below) row.strips[i].top += static_cast<int>(i) * more;
            }
        }
        row.pinned = isPinned({row.kind, row.resource});
        if (row.pinned) continue;
        row.top = top;
        top += row.height;
    }
    // What does not fit is left to scroll: pinned rows leave room for one more.
    const int most = std::max(0, height() - m_rulerHeight - 4 * QFontMetrics(font()).height());
    for (const RowKey& key : m_pinned) {
        const auto row = std::ranges::find_if(m_rows, [&](const Row& each) {
            return RowKey{each.kind, each.resource} == key;
        });
        if (row == m_rows.end()) continue;
        row->pinned = m_pinnedHeight == 0 || m_pinnedHeight + row->height <= most;
        row->top = row->pinned ? m_pinnedHeight : top;
        (row->pinned ? m_pinnedHeight : top) += row->height;
    }
    if (m_pinnedHeight > 0) m_pinnedHeight += kPinnedGap;
    m_contentHeight = top + 4;
}

void TimelineView::layOut() {
    const int line = QFontMetrics(font()).height();
    m_rulerHeight = line + 10;
    if (m_data && m_data->batches.size() > 1) m_rulerHeight += line + 2;  // for the mark of one batch
    listRows();
    m_headerWidth = headerWidth();
    stackRows();

    const int fixed = m_rulerHeight + m_pinnedHeight;
    const int page = std::max(0, height() - fixed);
    const int scrollWidth = m_scroll->sizeHint().width();
    m_scroll->setVisible(m_contentHeight > page);
    m_scroll->setGeometry(width() - scrollWidth, fixed, scrollWidth, page);
    m_scroll->setPageStep(page);
    m_scroll->setSingleStep(line);
    m_scroll->setRange(0, std::max(0, m_contentHeight - page));

    m_axis.left = m_headerWidth;
    // Beside another timeline the axis is as long with a scroll bar as without.
    const bool leavesRoom = m_contentHeight > page || m_sharedTotal_s > 0;
    m_axis.width = std::max(1, width() - m_headerWidth - (leavesRoom ? scrollWidth : 0));
    repaintAll();
}

QRect TimelineView::plotRect() const {
    return QRect(m_headerWidth, m_rulerHeight, static_cast<int>(m_axis.width),
                 std::max(0, height() - m_rulerHeight));
}

int TimelineView::rowTop(const Row& row) const {
    return m_rulerHeight + row.top + (row.pinned ? 0 : m_pinnedHeight - m_scroll->value());
}

QRect TimelineView::visiblePart(const Row& row) const {
    const int top = m_rulerHeight + (row.pinned ? 0 : m_pinnedHeight);
    return QRect(0, top, m_headerWidth + static_cast<int>(m_axis.width),
                 row.pinned ? m_pinnedHeight : std::max(0, height() - top));
}

const TimelineView::Row* TimelineView::rowAt(QPoint position) const {
    if (position.y() < m_rulerHeight) return nullptr;
    const auto row = std::ranges::find_if(m_rows, [&](const Row& each) {
        return position.y() >= rowTop(each) && position.y() < rowTop(each) + each.height &&
               each.pinned == (position.y() < m_rulerHeight + m_pinnedHeight);
    });
    return row == m_rows.end() ? nullptr : &*row;
}

const TimelineView::Row* TimelineView::rowOf(const Span& span) const {
    if (span.kind == Span::Kind::op) return &m_rows[span.resource];
    const auto row = std::ranges::find_if(m_rows, [&](const Row& each) {
        return each.kind == Row::Kind::channel && each.resource == span.resource;
    });
    return row == m_rows.end() ? nullptr : &*row;
}

const TimelineView::Row* TimelineView::rowOf(const PathSegment& segment) const {
    if (segment.kind != PathKind::host) return rowOf(m_data->trace.spans[segment.span]);
    const auto row = std::ranges::find_if(m_rows, [&](const Row& each) {
        return each.kind == Row::Kind::host && m_data->host_threads[each.resource] == segment.resource;
    });
    return row == m_rows.end() ? nullptr : &*row;
}

const TimelineData::Lane& TimelineView::laneAt(const Row& row, const Strip& strip, int lane) const {
    return row.kind == Row::Kind::host
               ? m_data->host_lanes[row.resource]
               : dataOf(strip.run).lanes[firstLane(row, strip.run) + static_cast<std::size_t>(lane)];
}

const Trace& TimelineView::traceOf(const Row& row, const Strip& strip) const {
    return row.kind == Row::Kind::host ? m_data->host : dataOf(strip.run).trace;
}

std::size_t TimelineView::firstLane(const Row& row, int run) const {
    return dataOf(run).first_lane[row.resource + (row.kind == Row::Kind::device ? 0 : m_data->memory.size())];
}

int TimelineView::laneIn(const Row& row, SpanRef ref) const {
    return static_cast<int>(dataOf(ref.run).laneOf(spanOf(ref)) - firstLane(row, ref.run));
}

std::pair<int, int> TimelineView::laneSpace(const Strip& strip, int lane) {
    if (strip.lanes <= 1) return {strip.top, strip.height};
    const int top = strip.height * lane / strip.lanes, bottom = strip.height * (lane + 1) / strip.lanes;
    return {strip.top + top, bottom - top - 1};
}

QRectF TimelineView::rectOf(SpanRef ref) const {
    const Span& of = spanOf(ref);
    const Row* row = rowOf(of);
    if (!row) return {};
    const auto strip = std::ranges::find(row->strips, ref.run, &Strip::run);
    if (strip == row->strips.end()) return {};
    const double x = m_axis.toX(of.start_s);
    const auto [top, height] = laneSpace(*strip, laneIn(*row, ref));
    return QRectF(x, rowTop(*row) + top, std::max(1.0, m_axis.toX(of.end_s) - x), height);
}

QRectF TimelineView::laneRect(DeviceId device) const {
    if (!m_data || device >= m_data->memory.size()) return {};
    const Row& row = m_rows[device];
    return QRectF(0, rowTop(row), m_headerWidth + m_axis.width, row.height);
}

QRectF TimelineView::channelRect(ChannelId channel) const {
    const auto row = std::ranges::find_if(
        m_rows, [&](const Row& each) { return each.kind == Row::Kind::channel && each.resource == channel; });
    return row == m_rows.end() ? QRectF()
                               : QRectF(0, rowTop(*row), m_headerWidth + m_axis.width, row->height);
}

QRectF TimelineView::handleRect(std::uint32_t span) const {
    constexpr int kHandle = 9, kLeast = 24;
    const QRectF block = spanRect(span);
    if (block.isNull() || m_data->trace.spans[span].kind != Span::Kind::op) return {};
    const double left = std::max(block.left(), m_axis.left);
    if (block.right() - left < kLeast) return {};
    return QRectF(left, block.top(), kHandle, block.height());
}

/// One batch takes the step time on average. Of a pipeline that is the time from the end of one batch to
/// that of the next, so the mark ends where a batch ends: of those that are wholly in view the middle one.
QRectF TimelineView::batchRect() const {
    if (!m_data || m_data->batches.size() < 2) return {};
    const double step_s = m_data->outcome.step_time_s;
    std::vector<double> ends;
    for (const TimelineData::Batch& batch : m_data->batches) ends.push_back(batch.end_s);
    std::ranges::sort(ends);
    const double tiny_s = step_s * 1e-9;
    std::vector<double> whole;
    std::ranges::copy_if(ends, std::back_inserter(whole), [&](double end_s) {
        return end_s - step_s >= m_axis.start_s - tiny_s && end_s <= m_axis.end_s + tiny_s;
    });
    const double middle_s = (m_axis.start_s + m_axis.end_s) / 2;
    const double end_s =
        !whole.empty() ? whole[whole.size() / 2] : *std::ranges::min_element(ends, {}, [&](double each_s) {
            return std::abs(each_s - step_s / 2 - middle_s);
        });
    const double left = std::max(m_axis.toX(end_s - step_s), m_axis.left - 8);
    const double right = std::min(m_axis.toX(end_s), m_axis.left + m_axis.width + 8);
    const int line = QFontMetrics(font()).height();
    return QRectF(left, m_rulerHeight - line - 2, std::max(right - left, 1.0), line);
}

QRect TimelineView::pinRect(const Row& row) const {
    const int side = QFontMetrics(font()).height() - 2;
    return QRect(m_headerWidth - side - 3, rowTop(row) + kBarTop, side, side);
}

int TimelineView::MemoryScale::y(double bytes) const {
    return bottom - static_cast<int>(std::lround(bytes / top_bytes * (bottom - top)));
}

/// The scale reaches up to the limit or the peak, whichever is higher. If all devices stay far below their
/// limits, the limit is left out and all scales end at the same share of their limit, so that something is
/// visible.
TimelineView::MemoryScale TimelineView::memoryScale(const Row& row) const {
    const std::vector<double>& limits_bytes = m_data->problem->memory_limit_bytes;
    double fullest = 0;
    double peak_bytes = 0;
    const auto include = [&](const TimelineData& shown) {
        for (DeviceId device = 0; device < limits_bytes.size(); ++device)
            fullest = std::max(fullest, shown.outcome.peak_bytes[device] / limits_bytes[device]);
        peak_bytes = std::max(peak_bytes, shown.outcome.peak_bytes[row.resource]);
    };
    include(*m_data);
    for (const MeasuredRuns::Run& run : measured()) include(*run.of.timeline);
    const double limit_bytes = limits_bytes[row.resource];
    const bool limitShown = fullest >= 0.25;
    return {
        rowTop(row) + row.stripsEnd() + (row.small ? 1 : 4), rowTop(row) + row.height - (row.small ? 2 : 3),
        limitShown ? std::max(limit_bytes, peak_bytes) * 1.1 : std::max(fullest, 1e-12) * limit_bytes * 1.15,
        limitShown};
}

QRectF TimelineView::peakRect(DeviceId device) const {
    if (!why() || why()->peaks[device].bytes <= 0) return {};
    const MemoryPeak& peak = why()->peaks[device];
    const QPointF at(m_axis.toX(peak.time_s), memoryScale(m_rows[device]).y(peak.bytes));
    if (at.x() < m_axis.left || at.x() > m_axis.left + m_axis.width ||
        !visiblePart(m_rows[device]).contains(at.toPoint()))
        return {};
    return QRectF(at - QPointF(kPeakReach, kPeakReach), QSizeF(2 * kPeakReach, 2 * kPeakReach));
}

std::optional<DeviceId> TimelineView::peakAt(QPoint position) const {
    const Row* row = plotRect().contains(position) ? rowAt(position) : nullptr;
    if (!row || row->kind != Row::Kind::device || !peakRect(row->resource).contains(position)) return {};
    return row->resource;
}

/// The span of the strip under a position, or near it; of several lanes that of the nearest.
std::optional<std::uint32_t> TimelineView::nearestSpan(const Row& row, const Strip& strip,
                                                       QPoint position) const {
    const int y = position.y() - rowTop(row) - strip.top;
    if (y < -1 || y > strip.height + 1) return {};
    const std::vector<Span>& spans = traceOf(row, strip).spans;
    const int lane = std::clamp(y * strip.lanes / std::max(strip.height, 1), 0, strip.lanes - 1);
    const std::vector<std::uint32_t>& row_spans = laneAt(row, strip, lane).spans;
    // Of the few spans around the pointer take the one under it, else the nearest.
    const double slack_s = kPointingSlack * m_axis.secondsPerPixel();
    const double time_s = m_axis.toTime(position.x() + 0.5);
    const auto inside = std::ranges::partition_point(
        row_spans, [&](std::uint32_t span) { return spans[span].end_s < time_s; });
    std::optional<std::uint32_t> nearest;
    double distance_s = slack_s;
    const auto consider = [&](std::uint32_t span) {
        const double away_s = std::max({0.0, spans[span].start_s - time_s, time_s - spans[span].end_s});
        if (away_s <= distance_s && (!nearest || away_s < distance_s)) {
            nearest = span;
            distance_s = away_s;
        }
    };
    if (inside != row_spans.end()) consider(*inside);
    if (inside != row_spans.begin()) consider(*std::prev(inside));
    return nearest;
}

std::optional<TimelineView::SpanRef> TimelineView::spanAt(QPoint position) const {
    const Row* row = plotRect().contains(position) ? rowAt(position) : nullptr;
    if (!row) return {};
    for (const Strip& strip : row->strips) {
        if (const auto span = nearestSpan(*row, strip, position)) return SpanRef{strip.run, *span};
    }
    return {};
}

std::ptrdiff_t TimelineView::spansInColumn(const Row& row, SpanRef ref, QPoint position) const {
    const auto strip = std::ranges::find(row.strips, ref.run, &Strip::run);
    const std::vector<Span>& spans = traceOf(row, *strip).spans;
    const double begin_s = m_axis.toTime(position.x()), end_s = m_axis.toTime(position.x() + 1);
    const auto& row_spans = laneAt(row, *strip, row.kind == Row::Kind::host ? 0 : laneIn(row, ref)).spans;
    return std::ranges::partition_point(row_spans,
                                        [&](std::uint32_t span) { return spans[span].start_s < end_s; }) -
           std::ranges::partition_point(row_spans,
                                        [&](std::uint32_t span) { return spans[span].end_s <= begin_s; });
}

void TimelineView::scrollTo(const Row& row) {
    if (row.pinned) return;
    const int page = height() - m_rulerHeight - m_pinnedHeight;
    if (row.top < m_scroll->value()) {
        m_scroll->setValue(row.top);
    } else if (row.top + row.height > m_scroll->value() + page) {
        m_scroll->setValue(row.top + row.height - page);
    }
}

QSize TimelineView::sizeHint() const {
    const int line = QFontMetrics(font()).height();
    return {50 * line, std::max(m_rulerHeight + m_naturalHeight, 14 * line)};
}

QSize TimelineView::minimumSizeHint() const {
    const int line = QFontMetrics(font()).height();
    return {12 * line, 5 * line};
}

}  // namespace placewright
