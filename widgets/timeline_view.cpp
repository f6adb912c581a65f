// SPDX-License-Identifier: MIT
#include "widgets/timeline_view.hpp"

#include <algorithm>
#include <cmath>

#include <QApplication>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QTextDocument>
#include <QToolTip>

#include "widgets/palette.hpp"
#include "widgets/quantities.hpp"

namespace placewright {
namespace {

constexpr double kZoomStep = 1.25;
constexpr int kPointingSlack = 3;  // pixels beside a narrow span that still point at it
constexpr int kPanKeyPixels = 80;
constexpr std::size_t kHeldThings = 5;        // of a memory peak in a tooltip
constexpr int kPeakReach = 6;                 // pixels from the mark of a memory peak that still point at it
constexpr double kSegmentSurroundings = 1.5;  // of its duration, to either side

bool isZoomOrPanKey(int key) {
    return key == Qt::Key_W || key == Qt::Key_S || key == Qt::Key_A || key == Qt::Key_D || key == Qt::Key_F || key == Qt::Key_Comma ||
           key == Qt::Key_Period || (key >= Qt::Key_1 && key <= Qt::Key_9);
}

QString idleText(std::size_t channels) {
    return channels == 1 ? TimelineView::tr("1 idle channel") : TimelineView::tr("%1 idle channels").arg(channels);
}

}  // namespace

TimelineView::TimelineView(QWidget* parent) : OpView(parent), m_scroll(new QScrollBar(Qt::Vertical, this)) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAttribute(Qt::WA_OpaquePaintEvent);
    setAccessibleName(tr("Timeline"));
    setAccessibleDescription(tr("What each device computes and each channel transfers, and when"));
    m_scroll->setAccessibleName(tr("Scroll the rows of the timeline"));
    m_scroll->setCursor(Qt::ArrowCursor);
    connect(m_scroll, &QScrollBar::valueChanged, this, &TimelineView::repaintAll);
    layOut();
}

void TimelineView::setData(std::shared_ptr<const TimelineData> timeline) {
    const bool sameProblem = m_data && timeline && m_data->problem == timeline->problem;
    const bool sameMachine = m_data && timeline && m_data->problem->machine == timeline->problem->machine;
    m_data = std::move(timeline);
    m_current.reset();
    m_hoveredSpan.reset();
    if (!sameMachine) m_brushes.clear();
    if (!sameProblem) {
        m_selection.clear();
        m_hovered = kInvalidOp;
        m_measure.reset();
        if (m_gesture == Gesture::measure) m_gesture = Gesture::spent;
        m_fitted = true;
    }
    layOut();
    indexSelection();
    if (m_fitted) {
        fit();
    } else {
        setAxis(m_axis, false);
    }
}

void TimelineView::setSelection(const OpList& ops) {
    if (m_selection == ops) return;
    m_selection = ops;
    m_current.reset();
    indexSelection();
    update();
}

void TimelineView::setHovered(OpId op) {
    if (m_hovered == op) return;
    m_hovered = op;
    update();
}

void TimelineView::setDropPreview(const DropPreviews& previews, std::optional<DeviceId> target) {
    if (m_previews == previews && m_target == target) return;
    m_previews = previews;
    m_target = target;
    if (target && *target < m_rows.size() && m_rows[*target].kind == Row::Kind::device) scrollTo(m_rows[*target]);
    update();
}

void TimelineView::setWhy(std::shared_ptr<const TimelineWhy> why) {
    if (why == m_why) return;
    m_why = std::move(why);
    if (m_pathShown) repaintAll();
    update();
}

void TimelineView::setPathShown(bool shown) {
    if (shown == m_pathShown) return;
    m_pathShown = shown;
    repaintAll();
}

void TimelineView::zoomToSegment(std::size_t index) {
    if (!why() || index >= why()->path.segments.size()) return;
    const PathSegment& segment = why()->path.segments[index];
    const Span& span = m_data->trace.spans[segment.span];
    select({m_data->forwardOf(span)});
    m_current = segment.span;
    TimeAxis axis = m_axis;
    const double around_s = std::max(segment.duration_s(), m_data->outcome.total_time_s * 1e-6) * kSegmentSurroundings;
    axis.start_s = segment.start_s - around_s;
    axis.end_s = segment.end_s + around_s;
    setAxis(axis, false);
    scrollTo(*rowOf(span));
}

std::optional<DeviceId> TimelineView::deviceAt(QPoint global) const {
    const QPoint position = mapFromGlobal(global);
    const Row* row = rect().contains(position) ? rowAt(position) : nullptr;
    if (!row || row->kind != Row::Kind::device) return std::nullopt;
    return row->resource;
}

void TimelineView::fit() {
    TimeAxis axis = m_axis;
    axis.start_s = 0;
    axis.end_s = m_data && m_data->outcome.total_time_s > 0 ? m_data->outcome.total_time_s : 1;
    setAxis(axis, true);
}

// Layout

void TimelineView::layOut() {
    const QFontMetrics metrics(font());
    const int line = metrics.height();
    m_rulerHeight = line + 10;
    m_rows.clear();
    m_headerWidth = 0;
    if (m_data) {
        const Machine& machine = *m_data->problem->machine;
        const Outcome& outcome = m_data->outcome;
        std::vector<Row> idle;
        for (DeviceId device = 0; device < machine.devices().size(); ++device) {
            const double limit_bytes = m_data->problem->memory_limit_bytes[device];
            const int lanes = static_cast<int>(m_data->lanesOf(device).size());
            const int bar = lanes == 1 ? line + 6 : lanes * (line + 1);
            m_rows.push_back({Row::Kind::device, device, 0, bar + line + 14, bar, lanes,
                              QString::fromStdString(machine.device(device).name),
                              isMeasured() ? tr("busy for %1").arg(secondsText(outcome.device_busy_s[device]))
                                           : shareOfBytesText(outcome.peak_bytes[device], limit_bytes),
                              outcome.peak_bytes[device] > limit_bytes});
        }
        for (ChannelId channel = 0; channel < m_data->problem->channels; ++channel) {
            const bool isIdle = m_data->channelLane(channel).spans.empty();
            Row row{Row::Kind::channel, channel, 0, line + 6, line, 1, QString::fromStdString(machine.channels()[channel].name), {}, false};
            (isIdle ? idle : m_rows).push_back(std::move(row));
        }
        if (!idle.empty()) {
            m_rows.push_back({Row::Kind::idle_channels, 0, 0, line + 6, 0, 0, idleText(idle.size()), {}, false});
            if (m_idleShown) m_rows.insert(m_rows.end(), idle.begin(), idle.end());
        }
        // The width hangs on the machine alone, so that the chart does not shift while a search runs.
        for (DeviceId device = 0; device < machine.devices().size(); ++device) {
            const QString limit = bytesText(m_data->problem->memory_limit_bytes[device]);
            m_headerWidth = std::max({m_headerWidth, metrics.horizontalAdvance(QString::fromStdString(machine.device(device).name)) + line,
                                      metrics.horizontalAdvance(tr("888 MB") + QStringLiteral(" / ") + limit)});
        }
        for (const Channel& channel : machine.channels()) {
            m_headerWidth = std::max(m_headerWidth, metrics.horizontalAdvance(QString::fromStdString(channel.name)));
        }
        m_headerWidth = std::max(m_headerWidth, metrics.horizontalAdvance(idleText(machine.channels().size())) + 14);
        // Names are elided rather than that they take the chart's place.
        m_headerWidth = std::min({m_headerWidth + 22, std::max(width() * 2 / 5, 60), metrics.averageCharWidth() * 32});

        // Rows share what height is left over, up to twice their own.
        m_naturalHeight = 4;
        for (const Row& row : m_rows) m_naturalHeight += row.height;
        const int spare = std::max(0, height() - m_rulerHeight - m_naturalHeight);
        const int devices = static_cast<int>(machine.devices().size());
        const int extra = std::clamp(spare / devices, 0, 2 * line + 20);
        int top = 0;
        for (Row& row : m_rows) {
            if (row.kind == Row::Kind::device) {
                row.height += extra;
                row.bar += extra / 3;
            }
            row.top = top;
            top += row.height;
        }
        m_contentHeight = top + 4;
    } else {
        m_contentHeight = m_naturalHeight = 0;
    }

    const int page = std::max(0, height() - m_rulerHeight);
    const int scrollWidth = m_scroll->sizeHint().width();
    m_scroll->setVisible(m_contentHeight > page);
    m_scroll->setGeometry(width() - scrollWidth, m_rulerHeight, scrollWidth, page);
    m_scroll->setPageStep(page);
    m_scroll->setSingleStep(line);
    m_scroll->setRange(0, std::max(0, m_contentHeight - page));

    m_axis.left = m_headerWidth;
    m_axis.width = std::max(1, width() - m_headerWidth - (m_contentHeight > page ? scrollWidth : 0));
    repaintAll();
}

void TimelineView::setAxis(const TimeAxis& axis, bool fitted) {
    const double total_s = m_data && m_data->outcome.total_time_s > 0 ? m_data->outcome.total_time_s : 1;
    m_axis = axis;
    // Narrower, and a double would not tell pixels apart.
    const double least_s = total_s * 1e-10;
    if (m_axis.end_s - m_axis.start_s < least_s) m_axis.end_s = m_axis.start_s + least_s;
    m_axis.clamp(total_s);
    m_fitted = fitted || m_axis.end_s - m_axis.start_s >= total_s;
    repaintAll();
}

void TimelineView::repaintAll() {
    m_chart = QPixmap();
    update();
}

QRect TimelineView::plotRect() const {
    return QRect(m_headerWidth, m_rulerHeight, static_cast<int>(m_axis.width), std::max(0, height() - m_rulerHeight));
}

int TimelineView::rowTop(const Row& row) const {
    return m_rulerHeight + row.top - m_scroll->value();
}

const TimelineView::Row* TimelineView::rowAt(QPoint position) const {
    if (position.y() < m_rulerHeight) return nullptr;
    const auto row = std::ranges::find_if(
        m_rows, [&](const Row& each) { return position.y() >= rowTop(each) && position.y() < rowTop(each) + each.height; });
    return row == m_rows.end() ? nullptr : &*row;
}

const TimelineView::Row* TimelineView::rowOf(const Span& span) const {
    if (span.kind == Span::Kind::op) return &m_rows[span.resource];
    const auto row =
        std::ranges::find_if(m_rows, [&](const Row& each) { return each.kind == Row::Kind::channel && each.resource == span.resource; });
    return row == m_rows.end() ? nullptr : &*row;
}

std::size_t TimelineView::firstLane(const Row& row) const {
    return m_data->first_lane[row.resource + (row.kind == Row::Kind::device ? 0 : m_data->memory.size())];
}

std::pair<int, int> TimelineView::laneSpace(const Row& row, int lane) {
    if (row.lanes <= 1) return {kBarTop, row.bar};
    const int top = row.bar * lane / row.lanes, bottom = row.bar * (lane + 1) / row.lanes;
    return {kBarTop + top, bottom - top - 1};
}

/// The spans of the lane at a height; of the nearest if it is between two.
std::span<const std::uint32_t> TimelineView::spansAt(const Row& row, int y) const {
    if (row.lanes == 0) return {};
    const int lane = std::clamp((y - rowTop(row) - kBarTop) * row.lanes / std::max(row.bar, 1), 0, row.lanes - 1);
    return m_data->lanes[firstLane(row) + static_cast<std::size_t>(lane)].spans;
}

QRectF TimelineView::spanRect(std::uint32_t span) const {
    const Span& of = m_data->trace.spans[span];
    const Row* row = rowOf(of);
    if (!row) return {};
    const double x = m_axis.toX(of.start_s);
    const auto [top, height] = laneSpace(*row, static_cast<int>(m_data->laneOf(of) - firstLane(*row)));
    return QRectF(x, rowTop(*row) + top, std::max(1.0, m_axis.toX(of.end_s) - x), height);
}

QRectF TimelineView::laneRect(DeviceId device) const {
    if (!m_data || device >= m_data->memory.size()) return {};
    const Row& row = m_rows[device];
    return QRectF(0, rowTop(row), m_headerWidth + m_axis.width, row.height);
}

int TimelineView::MemoryScale::y(double bytes) const {
    return bottom - static_cast<int>(std::lround(bytes / top_bytes * (bottom - top)));
}

/// Up to the limit or the peak, whichever is higher. If all devices stay far below, the limit is left out so that something is seen, and
/// all are drawn to the same share of theirs.
TimelineView::MemoryScale TimelineView::memoryScale(const Row& row) const {
    const std::vector<double>& limits_bytes = m_data->problem->memory_limit_bytes;
    double fullest = 0;
    for (DeviceId device = 0; device < limits_bytes.size(); ++device) {
        fullest = std::max(fullest, m_data->outcome.peak_bytes[device] / limits_bytes[device]);
    }
    const double limit_bytes = limits_bytes[row.resource];
    const bool limitShown = fullest >= 0.25;
    return {
        rowTop(row) + kBarTop + row.bar + 4, rowTop(row) + row.height - 3,
        limitShown ? std::max(limit_bytes, m_data->outcome.peak_bytes[row.resource]) * 1.1 : std::max(fullest, 1e-12) * limit_bytes * 1.15,
        limitShown};
}

QRectF TimelineView::peakRect(DeviceId device) const {
    if (!why() || why()->peaks[device].bytes <= 0) return {};
    const MemoryPeak& peak = why()->peaks[device];
    const QPointF at(m_axis.toX(peak.time_s), memoryScale(m_rows[device]).y(peak.bytes));
    if (at.x() < m_axis.left || at.x() > m_axis.left + m_axis.width || at.y() < m_rulerHeight) return {};
    return QRectF(at - QPointF(kPeakReach, kPeakReach), QSizeF(2 * kPeakReach, 2 * kPeakReach));
}

std::optional<DeviceId> TimelineView::peakAt(QPoint position) const {
    const Row* row = plotRect().contains(position) ? rowAt(position) : nullptr;
    if (!row || row->kind != Row::Kind::device || !peakRect(row->resource).contains(position)) return {};
    return row->resource;
}

std::optional<std::uint32_t> TimelineView::spanAt(QPoint position) const {
    const Row* row = plotRect().contains(position) ? rowAt(position) : nullptr;
    if (!row || position.y() < rowTop(*row) + 2 || position.y() > rowTop(*row) + 4 + row->bar) return std::nullopt;
    const std::vector<Span>& spans = m_data->trace.spans;
    const auto row_spans = spansAt(*row, position.y());
    // Among the few spans around the pointer: the one under it, else the nearest.
    const double slack_s = kPointingSlack * m_axis.secondsPerPixel();
    const double time_s = m_axis.toTime(position.x() + 0.5);
    const auto inside = std::ranges::partition_point(row_spans, [&](std::uint32_t span) { return spans[span].end_s < time_s; });
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

std::ptrdiff_t TimelineView::spansInColumn(QPoint position) const {
    const std::vector<Span>& spans = m_data->trace.spans;
    const double begin_s = m_axis.toTime(position.x()), end_s = m_axis.toTime(position.x() + 1);
    const auto row_spans = spansAt(*rowAt(position), position.y());
    return std::ranges::partition_point(row_spans, [&](std::uint32_t span) { return spans[span].start_s < end_s; }) -
           std::ranges::partition_point(row_spans, [&](std::uint32_t span) { return spans[span].end_s <= begin_s; });
}

void TimelineView::scrollTo(const Row& row) {
    const int page = height() - m_rulerHeight;
    if (row.top < m_scroll->value()) {
        m_scroll->setValue(row.top);
    } else if (row.top + row.height > m_scroll->value() + page) {
        m_scroll->setValue(row.top + row.height - page);
    }
}

// Selection and pointing

void TimelineView::indexSelection() {
    m_selectedSpans.clear();
    if (!m_data) return;
    m_selectedSpans.resize(m_data->lanes.size());
    std::vector<bool> isSelected(m_data->op_spans.size());
    for (const OpId op : m_selection) {
        if (op < isSelected.size()) isSelected[op] = true;
    }
    if (m_selection.empty()) return;
    // Filtering the lanes keeps their order; to sort the spans of the selected ops takes longer once there are many.
    for (std::size_t lane = 0; lane < m_data->lanes.size(); ++lane) {
        std::ranges::copy_if(m_data->lanes[lane].spans, std::back_inserter(m_selectedSpans[lane]),
                             [&](std::uint32_t span) { return isSelected[m_data->forwardOf(m_data->trace.spans[span])]; });
    }
}

void TimelineView::select(const OpList& ops) {
    setSelection(ops);
    Q_EMIT selectionEdited(ops);
}

void TimelineView::hover(QPoint position) {
    const auto span = m_data ? spanAt(position) : std::nullopt;
    const OpId op = span ? m_data->forwardOf(m_data->trace.spans[*span]) : kInvalidOp;
    if (span != m_hoveredSpan) {
        m_hoveredSpan = span;
        update();
    }
    if (op != m_hovered) {
        setHovered(op);
        Q_EMIT opHovered(op);
    }
}

void TimelineView::stepSpan(int direction) {
    if (!m_data) return;
    const std::vector<Span>& spans = m_data->trace.spans;
    if (!m_current && !m_selection.empty()) {
        const auto& own = m_data->op_spans[m_selection.front()];
        const auto first = std::ranges::find_if(own, [&](std::uint32_t span) { return spans[span].kind == Span::Kind::op; });
        if (first != own.end()) m_current = *first;
    }
    std::optional<std::uint32_t> next;
    if (!m_current) {
        for (std::size_t lane = 0; lane < m_data->first_lane[m_data->memory.size()]; ++lane) {
            const auto& row = m_data->lanes[lane].spans;
            if (!row.empty() && (!next || spans[row.front()].start_s < spans[*next].start_s)) next = row.front();
        }
    } else {
        const auto& row_spans = m_data->lanes[m_data->laneOf(spans[*m_current])].spans;
        const auto at = std::ranges::find(row_spans, *m_current) - row_spans.begin() + direction;
        if (at >= 0 && at < std::ssize(row_spans)) next = row_spans[static_cast<std::size_t>(at)];
    }
    if (!next) return;
    const Span& span = spans[*next];
    select({m_data->forwardOf(span)});
    m_current = next;
    scrollTo(*rowOf(span));
    const double x = m_axis.toX(span.start_s);
    if (x < m_axis.left || x > m_axis.left + m_axis.width * 0.95) {
        TimeAxis axis = m_axis;
        axis.pan(m_axis.left + m_axis.width * 0.3 - x);
        setAxis(axis, false);
    }
}

QString TimelineView::toolTipAt(QPoint position) const {
    if (!m_data) return {};
    const Machine& machine = *m_data->problem->machine;
    if (const auto device = peakAt(position)) return peakText(*why(), *device, kHeldThings, false);
    const auto deviceName = [&](DeviceId device) { return QString::fromStdString(machine.device(device).name).toHtmlEscaped(); };
    if (const auto index = spanAt(position)) {
        const Span& span = m_data->trace.spans[*index];
        QStringList lines;
        const auto line = [&](const QString& name, const QString& value) { lines << name.toHtmlEscaped() + QStringLiteral(": ") + value; };
        const QString when = tr("%1 (%2)").arg(intervalText(span.start_s, span.end_s), secondsText(span.end_s - span.start_s));
        const double queue_s = span.start_s - span.queued_s;
        if (span.kind == Span::Kind::transfer) {
            const QString producer = QString::fromStdString(m_data->problem->graph->op(span.op).name).toHtmlEscaped();
            lines << QStringLiteral("<b>%1</b>").arg(tr("Output of %1").arg(producer));
            line(tr("Size"), bytesText(span.bytes));
            line(tr("From, to"), tr("%1 → %2").arg(deviceName(span.from), deviceName(span.to)));
            line(tr("Channel"), QString::fromStdString(machine.channels()[span.resource].name).toHtmlEscaped());
        } else {
            QString text = toolTipFor(m_data->forwardOf(span));
            if (text.isEmpty())
                text = QStringLiteral("<b>%1</b>").arg(QString::fromStdString(m_data->problem->graph->op(span.op).name).toHtmlEscaped());
            if (!Qt::mightBeRichText(text)) text = text.toHtmlEscaped().replace(QLatin1Char('\n'), QStringLiteral("<br>"));
            lines << text;
            const std::string_view phase = to_string(m_data->problem->graph->op(span.op).phase);
            if (!isMeasured()) line(tr("This block"), QString::fromUtf8(phase.data(), static_cast<int>(phase.size())));
        }
        line(tr("Time"), when);
        if (const Row* row = rowOf(span); row && row->lanes > 1 && !isMeasured()) line(tr("Stream"), QString::number(span.stream + 1));
        if (!isMeasured()) line(tr("Waited in the queue"), secondsText(std::max(0.0, queue_s)));
        if (m_data->outcome.ops_run > m_data->problem->ops) line(tr("Batch"), QString::number(span.batch + 1));
        if (const auto count = spansInColumn(position); count > 1) {
            lines << tr("One of %1 blocks within this pixel; zoom in to tell them apart.").arg(count);
        }
        return lines.join(QStringLiteral("<br>"));
    }
    if (position.y() < m_rulerHeight) {
        return tr("Zoom: Ctrl+wheel or W, S. Pan: drag or A, D. Fit: F. Measure a span of time: Shift+drag.");
    }
    const Row* row = rowAt(position);
    if (!row) return {};
    if (row->kind == Row::Kind::idle_channels)
        return m_idleShown ? tr("Click to hide them") : tr("These channels carry nothing. Click to show them.");
    if (row->kind == Row::Kind::channel) {
        return tr("%1: %2 in %3, busy for %4")
            .arg(row->name.toHtmlEscaped(), bytesText(m_data->outcome.channel_bytes[row->resource]),
                 transfersText(m_data->outcome.channel_transfers[row->resource]),
                 secondsText(m_data->outcome.channel_busy_s[row->resource]));
    }
    if (isMeasured()) {
        return plotRect().contains(position)
                   ? QString()
                   : tr("%1: busy for %2").arg(row->name.toHtmlEscaped(), secondsText(m_data->outcome.device_busy_s[row->resource]));
    }
    const double limit_bytes = m_data->problem->memory_limit_bytes[row->resource];
    if (!plotRect().contains(position)) {
        const QString sums = tr("%1: busy for %2, at most %3 of memory in use")
                                 .arg(row->name.toHtmlEscaped(), secondsText(m_data->outcome.device_busy_s[row->resource]),
                                      shareOfBytesText(m_data->outcome.peak_bytes[row->resource], limit_bytes));
        return why() ? sums + QStringLiteral("<br>") + peakText(*why(), row->resource, kHeldThings, false) : sums;
    }
    if (position.y() <= rowTop(*row) + 4 + row->bar) return {};
    const double time_s = std::clamp(m_axis.toTime(position.x()), 0.0, m_data->outcome.total_time_s);
    return tr("%1 at %2: %3 of memory in use")
        .arg(row->name.toHtmlEscaped(), secondsText(time_s), shareOfBytesText(m_data->bytesAt(row->resource, time_s), limit_bytes));
}

// Events

void TimelineView::mousePressEvent(QMouseEvent* event) {
    setFocus(Qt::MouseFocusReason);
    if (!m_data || event->button() != Qt::LeftButton || m_gesture != Gesture::none) return;
    m_pressed = m_last = event->position().toPoint();
    m_gesture = Gesture::press;
    if (event->modifiers().testFlag(Qt::ShiftModifier) && m_pressed.x() >= m_headerWidth) {
        m_gesture = Gesture::measure;
        const double time_s = m_axis.toTime(m_pressed.x());
        m_measure = Measure{time_s, time_s};
        update();
    }
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
    const QPoint position = event->position().toPoint();
    const QPoint global = event->globalPosition().toPoint();
    if (m_gesture == Gesture::press && (position - m_pressed).manhattanLength() >= QApplication::startDragDistance()) {
        const auto span = spanAt(m_pressed);
        const QPoint moved = position - m_pressed;
        const bool isOp = span && m_data->trace.spans[*span].kind == Span::Kind::op;
        if (isOp && std::abs(moved.y()) >= std::abs(moved.x())) {
            m_gesture = Gesture::drag;
            QToolTip::hideText();
            const OpId op = m_data->forwardOf(m_data->trace.spans[*span]);
            if (!std::ranges::binary_search(m_selection, op)) select({op});
            beginOpDrag(m_selection, mapToGlobal(m_pressed));
        } else if (m_pressed.x() >= m_headerWidth) {
            m_gesture = Gesture::pan;
            setCursor(Qt::ClosedHandCursor);
        } else {
            m_gesture = Gesture::spent;
        }
    }
    switch (m_gesture) {
        case Gesture::none:
            hover(position);
            break;
        case Gesture::drag:
            Q_EMIT opDragMoved(global);
            break;
        case Gesture::pan: {
            TimeAxis axis = m_axis;
            axis.pan(position.x() - m_last.x());
            setAxis(axis, m_fitted);
            m_scroll->setValue(m_scroll->value() - (position.y() - m_last.y()));
            break;
        }
        case Gesture::measure:
            m_measure->to_s = std::clamp(m_axis.toTime(position.x()), m_axis.start_s, m_axis.end_s);
            update();
            break;
        case Gesture::press:
        case Gesture::spent:
            break;
    }
    m_last = position;
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return;
    const Gesture gesture = std::exchange(m_gesture, Gesture::none);
    const QPoint position = event->position().toPoint();
    switch (gesture) {
        case Gesture::press: {
            m_measure.reset();
            const Row* row = rowAt(m_pressed);
            const bool toggles = event->modifiers().testFlag(Qt::ControlModifier);
            if (const auto device = peakAt(m_pressed)) {
                Q_EMIT peakActivated(*device);
            } else if (const auto span = spanAt(m_pressed)) {
                const OpId op = m_data->forwardOf(m_data->trace.spans[*span]);
                OpList ops{op};
                if (toggles) {
                    ops = m_selection;
                    const auto at = std::ranges::lower_bound(ops, op);
                    if (at != ops.end() && *at == op) {
                        ops.erase(at);
                    } else {
                        ops.insert(at, op);
                    }
                }
                select(ops);
                m_current = span;
            } else if (row && row->kind == Row::Kind::idle_channels) {
                m_idleShown = !m_idleShown;
                layOut();
            } else if (!toggles) {
                select({});
            }
            update();
            break;
        }
        case Gesture::drag:
            dropOps(event->globalPosition().toPoint());
            break;
        case Gesture::pan:
            unsetCursor();
            break;
        case Gesture::measure:
            if ((position - m_pressed).manhattanLength() < QApplication::startDragDistance()) m_measure.reset();
            update();
            break;
        case Gesture::none:
        case Gesture::spent:
            break;
    }
    hover(position);
}

void TimelineView::wheelEvent(QWheelEvent* event) {
    event->accept();
    if (!m_data || m_gesture == Gesture::pan) return;
    const QPoint delta = event->angleDelta();
    const QPointF position = event->position();
    const bool scrolls = m_scroll->maximum() > 0 && position.y() >= m_rulerHeight;
    TimeAxis axis = m_axis;
    if (event->modifiers().testFlag(Qt::ControlModifier) || (!scrolls && delta.x() == 0 && event->modifiers() == Qt::NoModifier)) {
        axis.zoom(std::pow(kZoomStep, delta.y() / 120.0), std::clamp(position.x(), m_axis.left, m_axis.left + m_axis.width));
        setAxis(axis, false);
    } else if (event->modifiers().testFlag(Qt::ShiftModifier) || delta.x() != 0) {
        axis.pan((delta.x() != 0 ? delta.x() : delta.y()) / 120.0 * kPanKeyPixels);
        setAxis(axis, m_fitted);
    } else {
        m_scroll->setValue(m_scroll->value() - delta.y() / 120 * 3 * m_scroll->singleStep());
    }
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
    const int key = event->key();
    if (key == Qt::Key_Escape && isDraggingOps()) {
        m_gesture = Gesture::spent;
        cancelOpDrag();
        return;
    }
    if (event->modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier)) return OpView::keyPressEvent(event);
    if (key >= Qt::Key_1 && key <= Qt::Key_9) {
        if (!m_selection.empty()) Q_EMIT deviceKeyPressed(key - Qt::Key_0);
        return;
    }
    TimeAxis axis = m_axis;
    // Without a pointer over the chart, zoom at its middle.
    const QPoint pointer = mapFromGlobal(QCursor::pos());
    const double at = underMouse() && plotRect().contains(pointer) ? pointer.x() : m_axis.left + m_axis.width / 2;
    switch (key) {
        case Qt::Key_W:
        case Qt::Key_S:
            axis.zoom(key == Qt::Key_W ? kZoomStep : 1 / kZoomStep, at);
            return setAxis(axis, false);
        case Qt::Key_A:
        case Qt::Key_Left:
            axis.pan(kPanKeyPixels);
            return setAxis(axis, m_fitted);
        case Qt::Key_D:
        case Qt::Key_Right:
            axis.pan(-kPanKeyPixels);
            return setAxis(axis, m_fitted);
        case Qt::Key_Up:
        case Qt::Key_Down:
            return m_scroll->triggerAction(key == Qt::Key_Up ? QScrollBar::SliderSingleStepSub : QScrollBar::SliderSingleStepAdd);
        case Qt::Key_PageUp:
        case Qt::Key_PageDown:
            return m_scroll->triggerAction(key == Qt::Key_PageUp ? QScrollBar::SliderPageStepSub : QScrollBar::SliderPageStepAdd);
        case Qt::Key_F:
        case Qt::Key_Home:
            return fit();
        case Qt::Key_Comma:
        case Qt::Key_Period:
            return stepSpan(key == Qt::Key_Comma ? -1 : 1);
        case Qt::Key_Escape:
            if (m_measure) {
                m_measure.reset();
                return update();
            }
            if (!m_selection.empty()) return select({});
            break;
        default:
            break;
    }
    OpView::keyPressEvent(event);
}

void TimelineView::leaveEvent(QEvent* event) {
    OpView::leaveEvent(event);
    if (m_gesture == Gesture::none) hover(QPoint(-1, -1));
}

void TimelineView::resizeEvent(QResizeEvent* event) {
    OpView::resizeEvent(event);
    layOut();
}

void TimelineView::hideEvent(QHideEvent* event) {
    OpView::hideEvent(event);
    if (m_gesture == Gesture::pan) unsetCursor();
    m_gesture = Gesture::none;
    cancelOpDrag();
}

bool TimelineView::event(QEvent* event) {
    switch (event->type()) {
        case QEvent::ToolTip: {
            const auto* help = static_cast<QHelpEvent*>(event);
            const QString text = toolTipAt(help->pos());
            const auto span = m_data ? spanAt(help->pos()) : std::nullopt;
            // The text stays while the pointer is over the same block.
            const QRect area = span ? spanRect(*span).adjusted(-3, -2, 3, 2).toRect() & rect() : QRect(help->pos(), QSize(1, 1));
            if (text.isEmpty() || m_gesture != Gesture::none) {
                QToolTip::hideText();
            } else {
                QToolTip::showText(help->globalPos(), text, this, area);
            }
            return true;
        }
        case QEvent::ShortcutOverride: {
            // Single keys that mean something here do so even if the window has a shortcut for them.
            const auto* key = static_cast<QKeyEvent*>(event);
            const bool plain = !(key->modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier));
            if ((plain && isZoomOrPanKey(key->key())) || (key->key() == Qt::Key_Escape && isDraggingOps())) {
                event->accept();
                return true;
            }
            break;
        }
        case QEvent::FontChange:
        case QEvent::StyleChange:
            layOut();
            break;
        case QEvent::PaletteChange:
            m_brushes.clear();
            repaintAll();
            break;
        case QEvent::FocusIn:
        case QEvent::FocusOut:
            update();
            break;
        default:
            break;
    }
    return OpView::event(event);
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
