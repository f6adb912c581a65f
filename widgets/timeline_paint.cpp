// SPDX-License-Identifier: MIT
// Painting of a TimelineView.
#include <algorithm>
#include <cmath>
#include <map>

#include <QImage>
#include <QPainter>
#include <QPainterPath>

#include "widgets/palette.hpp"
#include "widgets/quantities.hpp"
#include "widgets/timeline_view.hpp"

namespace placewright {
namespace {

constexpr std::size_t kMostArrows = 200;

/// The brush covered by `veil`, with opacity `share`.
QBrush veiled(QBrush brush, const QColor& veil, double share) {
    if (brush.style() != Qt::TexturePattern) return QBrush(mixedColor(brush.color(), veil, share));
    QImage tile = brush.textureImage();
    QColor over = veil;
    over.setAlphaF(static_cast<float>(share));
    QPainter painter(&tile);
    painter.fillRect(tile.rect(), over);
    painter.end();
    brush.setTextureImage(tile);
    brush.setColor(mixedColor(brush.color(), veil, share));
    return brush;
}

QColor withAlpha(QColor color, double alpha) {
    color.setAlphaF(static_cast<float>(alpha));
    return color;
}

/// The longest form of an op's name that fits: the whole name, or without its leading scopes. A derived op
/// ("conv1/backward") keeps the name of its forward op.
QString fittingName(const Graph& graph, OpId op, const QFontMetrics& metrics, int width) {
    if (width < 3 * metrics.averageCharWidth()) return {};
    const auto fits = [&](const QString& text) { return metrics.horizontalAdvance(text) <= width; };
    const QString name = QString::fromStdString(graph.op(op).name);
    const int least = graph.op(op).forward_op == kInvalidOp ? 1 : 2;
    for (int parts = static_cast<int>(name.count(QLatin1Char('/'))) + 1; parts >= least; --parts) {
        const QString text = name.section(QLatin1Char('/'), -parts);
        if (fits(text)) return text;
    }
    const QString forward =
        QString::fromStdString(graph.op(forwardOf(graph, op)).name).section(QLatin1Char('/'), -1);
    return fits(forward) ? forward : QString();
}

/// Draws text on its own background, so that it is readable on top of anything.
void drawChip(QPainter& painter, const QRect& area, const QString& text, const QColor& color,
              const QColor& background, bool strong) {
    QFont font = painter.font();
    font.setBold(strong);
    painter.save();
    painter.setFont(font);
    const QFontMetrics metrics(font);
    // Advances are rounded; a spare pixel avoids eliding text that fits.
    const int width = std::min(area.width(), metrics.horizontalAdvance(text) + 14);
    const int height = std::min(area.height(), metrics.height() + 4);
    const QRect chip(area.left(), area.top() + (area.height() - height) / 2, width, height);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(strong ? QPen(color, 1) : QPen(Qt::NoPen));
    painter.setBrush(withAlpha(background, 0.92));
    painter.drawRoundedRect(QRectF(chip).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    painter.setPen(color);
    painter.drawText(chip.adjusted(6, 0, -6, 0), Qt::AlignVCenter | Qt::AlignLeft,
                     metrics.elidedText(text, Qt::ElideRight, width - 12));
    painter.restore();
}

}  // namespace

const std::array<QBrush, 3>& TimelineView::brushesOf(DeviceId device) const {
    if (m_brushes.empty()) {
        const Machine& machine = *m_data->problem->machine;
        for (DeviceId id = 0; id < machine.devices().size(); ++id) {
            const QBrush forward = deviceBrush(machine, id);
            m_brushes.push_back({forward, veiled(forward, Qt::black, 0.35),
                                 veiled(forward, palette().color(QPalette::Base), 0.55)});
        }
    }
    return m_brushes[device];
}

void TimelineView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (!m_data) {
        painter.fillRect(rect(), palette().color(QPalette::Base));
        painter.setPen(mutedColor(palette()));
        painter.drawText(
            rect().adjusted(16, 8, -16, -8), Qt::AlignCenter | Qt::TextWordWrap,
            tr("Open a network to see when each device computes, when each channel transfers, and "
               "how much memory is in use."));
    } else {
        const QSize pixels = size() * devicePixelRatioF();
        if (m_chart.size() != pixels) {
            m_chart = QPixmap(pixels);
            m_chart.setDevicePixelRatio(devicePixelRatioF());
            QPainter chart(&m_chart);
            chart.setFont(font());
            paintChart(chart);
        }
        painter.drawPixmap(0, 0, m_chart);
        painter.setClipRect(plotRect());
        paintPeaks(painter);
        paintOutlines(painter);
        paintArrows(painter);
        paintMeasure(painter);
        paintDropPreview(painter);
        painter.setClipping(false);
    }
    if (hasFocus()) {
        painter.setPen(palette().color(QPalette::Highlight));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
}

void TimelineView::paintChart(QPainter& painter) const {
    painter.fillRect(rect(), palette().color(QPalette::Base));
    painter.fillRect(QRect(0, 0, m_headerWidth, height()), palette().color(QPalette::Window));
    const QColor line = mixedColor(palette().color(QPalette::Base), palette().color(QPalette::Text), 0.14);

    painter.setClipRect(
        QRect(0, m_rulerHeight, m_headerWidth + plotRect().width(), height() - m_rulerHeight));
    for (const Row& row : m_rows) {
        const int top = rowTop(row);
        if (top + row.height < m_rulerHeight || top > height()) continue;
        painter.fillRect(QRect(0, top + row.height - 1, width(), 1), line);
    }
    painter.setClipping(false);
    paintRuler(painter);
    painter.setClipRect(
        QRect(0, m_rulerHeight, m_headerWidth + plotRect().width(), height() - m_rulerHeight));
    for (const Row& row : m_rows) {
        const int top = rowTop(row);
        if (top + row.height < m_rulerHeight || top > height()) continue;
        painter.save();
        painter.setClipRect(QRect(0, top, m_headerWidth, row.height), Qt::IntersectClip);
        paintHeader(painter, row);
        painter.restore();
        painter.save();
        painter.setClipRect(plotRect(), Qt::IntersectClip);
        if (row.kind == Row::Kind::device && (!isMeasured() || !m_data->memory[row.resource].empty()))
            paintMemory(painter, row);
        paintSpans(painter, row);
        painter.restore();
    }
    painter.setClipRect(plotRect());
    paintPath(painter);
    painter.setClipping(false);
    painter.fillRect(QRect(m_headerWidth - 1, 0, 1, height()), line);
    painter.fillRect(QRect(0, m_rulerHeight - 1, width(), 1), line);
}

void TimelineView::paintRuler(QPainter& painter) const {
    const QFontMetrics metrics(painter.font());
    painter.fillRect(QRect(0, 0, width(), m_rulerHeight), palette().color(QPalette::Window));
    // The label width depends on the step and the step on the label width: two rounds are enough.
    double step_s = tickStep(m_axis.secondsPerPixel() * 60);
    for (int i = 0; i < 2; ++i) {
        step_s = tickStep(m_axis.secondsPerPixel() *
                          (metrics.horizontalAdvance(tickText(m_axis.end_s, step_s, m_axis.end_s)) + 28));
    }
    const QColor grid = withAlpha(palette().color(QPalette::Text), 0.07);
    const QColor muted = mutedColor(palette());
    const auto first = static_cast<std::int64_t>(std::ceil(m_axis.start_s / step_s - 1e-9));
    for (std::int64_t i = first; static_cast<double>(i) * step_s <= m_axis.end_s * (1 + 1e-12); ++i) {
        const double time_s = static_cast<double>(i) * step_s;
        const int x = static_cast<int>(m_axis.toX(time_s));
        painter.fillRect(QRect(x, m_rulerHeight, 1, height() - m_rulerHeight), grid);
        painter.fillRect(QRect(x, m_rulerHeight - 6, 1, 5), muted);
        const QString text = tickText(time_s, step_s, m_axis.end_s);
        const int textWidth = metrics.horizontalAdvance(text);
        if (x + 4 + textWidth > m_headerWidth + static_cast<int>(m_axis.width)) continue;
        painter.setPen(muted);
        painter.drawText(QRect(x + 4, 0, textWidth + 2, m_rulerHeight - 4), Qt::AlignLeft | Qt::AlignVCenter,
                         text);
    }
}

void TimelineView::paintHeader(QPainter& painter, const Row& row) const {
    const QFontMetrics metrics(painter.font());
    const int top = rowTop(row), line = metrics.height();
    const bool isDevice = row.kind == Row::Kind::device;
    int left = 8;
    if (isDevice) {
        const int side = line - 5;
        const QRect swatch(left, top + kBarTop + (line - side) / 2 + 2, side, side);
        painter.setPen(Qt::NoPen);
        painter.setBrush(brushesOf(row.resource)[0]);
        painter.setBrushOrigin(swatch.topLeft());
        painter.drawRoundedRect(swatch, 2, 2);
        painter.setBrushOrigin(0, 0);
        left = swatch.right() + 7;
    }
    if (row.kind == Row::Kind::idle_channels) {
        // The row opens and closes, so it has the arrow of a tree item.
        const double x = left + 2, y = top + row.height / 2.0;
        const QPolygonF closed{{{x, y - 4}, {x + 5, y}, {x, y + 4}}},
            open{{{x - 2, y - 2}, {x + 6, y - 2}, {x + 2, y + 3}}};
        painter.save();
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(Qt::NoPen);
        painter.setBrush(mutedColor(palette()));
        painter.drawPolygon(m_idleShown ? open : closed);
        painter.restore();
        left += 14;
    }
    const QRect first(left, top + (isDevice ? kBarTop + 2 : 0), m_headerWidth - left - 6,
                      isDevice                ? line
                      : row.strips.size() > 1 ? kBarTop + row.strips.front().height
                                              : row.height);
    painter.setPen(isDevice ? palette().color(QPalette::WindowText) : mutedColor(palette()));
    painter.drawText(first, Qt::AlignVCenter | Qt::AlignLeft,
                     metrics.elidedText(row.name, Qt::ElideMiddle, first.width()));
    for (const Strip& strip : row.strips) {
        if (strip.run == kSimulated || m_measuredLayout != MeasuredLayout::below) continue;
        const QString name =
            measured().size() == 1 ? tr("measured") : measured()[static_cast<std::size_t>(strip.run)].of.name;
        const QRect label(22, top + strip.top, m_headerWidth - 28, strip.height);
        painter.setPen(mutedColor(palette()));
        painter.drawText(label, Qt::AlignVCenter | Qt::AlignLeft,
                         metrics.elidedText(name, Qt::ElideMiddle, label.width()));
    }
    if (row.detail.isEmpty()) return;
    const QRect second(8, top + row.stripsEnd() + 4, m_headerWidth - 14, line);
    painter.setPen(row.warn ? warningColor(palette()) : mutedColor(palette()));
    painter.drawText(second, Qt::AlignVCenter | Qt::AlignLeft,
                     metrics.elidedText(row.detail, Qt::ElideRight, second.width()));
}

void TimelineView::paintSpans(QPainter& painter, const Row& row) const {
    for (const Strip& strip : row.strips) {
        const bool outlines = strip.run != kSimulated && m_measuredLayout == MeasuredLayout::overlay;
        for (int lane = 0; lane < strip.lanes; ++lane) {
            if (outlines) {
                paintLaneOutlines(painter, row, strip, lane);
            } else {
                paintLane(painter, row, strip, lane);
            }
            if (strip.run != kSimulated) paintDifferences(painter, row, strip, lane);
        }
    }
}

void TimelineView::paintLaneOutlines(QPainter& painter, const Row& row, const Strip& strip, int lane) const {
    const auto [offset, height] = laneSpace(strip, lane);
    const int top = rowTop(row) + offset;
    const auto& [spans, busy_s] = laneAt(row, strip, lane);
    // Several runs differ in their dashes.
    QPen pen(palette().color(QPalette::Text), 1);
    pen.setStyle(strip.run % 2 == 0 ? Qt::SolidLine : Qt::DashLine);
    const QColor halo = withAlpha(palette().color(QPalette::Base), 0.75);
    painter.setBrush(Qt::NoBrush);
    for (const SpanMark& mark : visibleMarks(traceOf(row, strip), spans, m_axis)) {
        if (mark.width < 5) {
            // Sides would hide what is so narrow.
            const double share =
                std::min(1.0, (busy_s[mark.last] - busy_s[mark.first]) / m_axis.secondsPerPixel());
            painter.setOpacity(0.25 + 0.75 * share);
            painter.fillRect(QRect(mark.x, top, mark.width, 1), pen.color());
            painter.fillRect(QRect(mark.x, top + height - 1, mark.width, 1), pen.color());
            painter.setOpacity(1);
            continue;
        }
        const QRectF block(mark.x + 0.5, top + 0.5, mark.width - 2, height - 1);
        painter.setPen(QPen(halo, 1));
        painter.drawRect(block.adjusted(1, 1, -1, -1));
        painter.setPen(pen);
        painter.drawRect(block);
    }
}

void TimelineView::paintDifferences(QPainter& painter, const Row& row, const Strip& strip, int lane) const {
    const MeasuredRuns::Run& run = measured()[static_cast<std::size_t>(strip.run)];
    const std::size_t index = firstLane(row, strip.run) + static_cast<std::size_t>(lane);
    const auto [offset, height] = laneSpace(strip, lane);
    const int top = rowTop(row) + offset + height;
    const auto paint = [&](const std::vector<std::uint32_t>& spans, const QColor& color, bool dashed) {
        for (const SpanMark& mark : visibleMarks(traceOf(row, strip), spans, m_axis)) {
            const int right = mark.x + std::max(mark.width - 1, 1);
            if (!dashed) {
                painter.fillRect(QRect(mark.x, top, right - mark.x, kMarkHeight - 1), color);
                continue;
            }
            for (int x = mark.x; x < right; x += 5)
                painter.fillRect(QRect(x, top, std::min(3, right - x), kMarkHeight - 1), color);
        }
    };
    paint(run.longer[index], warningColor(palette()), false);
    paint(run.shorter[index], shorterColor(palette()), true);
}

void TimelineView::paintLane(QPainter& painter, const Row& row, const Strip& strip, int index) const {
    const auto& [spans, busy_s] = laneAt(row, strip, index);
    if (spans.empty()) return;
    const auto [offset, height] = laneSpace(strip, index);
    const int top = rowTop(row) + offset;
    const Graph& graph = *m_data->problem->graph;
    const bool isDevice = row.kind == Row::Kind::device;
    const QColor base = palette().color(QPalette::Base);
    const QColor neutral = mixedColor(base, palette().color(QPalette::Text), 0.45);
    const QRect plot = plotRect();
    const QFontMetrics metrics(painter.font());

    const auto brushOf = [&](const Span& span) -> QBrush {
        if (isDevice) return brushesOf(row.resource)[static_cast<std::size_t>(graph.op(span.op).phase)];
        const DeviceId device = row.kind == Row::Kind::host ? span.resource : span.from;
        return mixedColor(neutral, brushesOf(device)[0].color(), 0.45);
    };
    const Trace& trace = traceOf(row, strip);
    for (const SpanMark& mark : visibleMarks(trace, spans, m_axis)) {
        const Span& span = trace.spans[spans[mark.first + (mark.last - mark.first) / 2]];
        if (mark.merged() || mark.width == 1) {
            // A pixel column stands for the spans that begin in it: the busier, the more opaque, never
            // invisible.
            const double share =
                std::min(1.0, (busy_s[mark.last] - busy_s[mark.first]) / m_axis.secondsPerPixel());
            painter.setOpacity(0.25 + 0.75 * share);
            painter.fillRect(QRect(mark.x, top, 1, height), brushOf(span));
            painter.setOpacity(1);
            continue;
        }
        // A gap separates neighbours if there is room.
        const QRect block(mark.x, top, mark.width >= 4 ? mark.width - 1 : mark.width, height);
        const QBrush brush = brushOf(span);
        painter.fillRect(block, brush);
        const QRect seen = (block & plot).adjusted(4, 0, -3, 0);
        const QString name = fittingName(graph, span.op, metrics, seen.width());
        if (name.isEmpty() || height < metrics.height()) continue;
        painter.setPen(readableOn(brush.color()));
        painter.drawText(seen, Qt::AlignVCenter | Qt::AlignLeft, name);
    }
}

void TimelineView::paintMemory(QPainter& painter, const Row& row) const {
    const double limit_bytes = m_data->problem->memory_limit_bytes[row.resource];
    const MemoryScale scale = memoryScale(row);
    const int bottom = scale.bottom;
    const QColor color = brushesOf(row.resource)[0].color();
    const QColor area = mixedColor(palette().color(QPalette::Base), color, 0.3);
    const QColor edge = mixedColor(palette().color(QPalette::Base), color, 0.8);
    const QColor warning = warningColor(palette());
    const int limitY = scale.y(limit_bytes);

    const auto marks = visibleMemory(*m_data, row.resource, m_axis);
    int before = marks.empty() ? bottom : scale.y(marks.front().bytes);
    for (const MemoryMark& mark : marks) {
        const int y = scale.y(mark.bytes);
        const int over = mark.bytes > limit_bytes ? limitY : y;
        painter.fillRect(QRect(mark.x, over, mark.width, bottom - over), area);
        if (over > y) painter.fillRect(QRect(mark.x, y, mark.width, over - y), warning);
        if (mark.bytes > 0 || y != before) {
            // Edge of the step function: along the value, and vertically to the value before.
            painter.fillRect(QRect(mark.x, y, mark.width, 1), over > y ? warning : edge);
            painter.fillRect(QRect(mark.x, std::min(y, before), 1, std::abs(y - before) + 1), edge);
        }
        before = y;
    }
    for (const MeasuredRuns::Run& run : measured()) {
        const TimelineData& shown = *run.of.timeline;
        if (shown.outcome.peak_bytes[row.resource] <= 0) continue;
        const QColor line = palette().color(QPalette::Text);
        if (shown.memory[row.resource].empty()) {
            // Only the peak was recorded.
            const int y = std::max(scale.top, scale.y(shown.outcome.peak_bytes[row.resource]));
            painter.fillRect(QRect(plotRect().left(), y, plotRect().width(), 1), line);
            continue;
        }
        const auto measuredMarks = visibleMemory(shown, row.resource, m_axis);
        int from = measuredMarks.empty() ? bottom : scale.y(measuredMarks.front().bytes);
        for (const MemoryMark& mark : measuredMarks) {
            const int y = scale.y(mark.bytes);
            painter.fillRect(QRect(mark.x, y, mark.width, 1), line);
            painter.fillRect(QRect(mark.x, std::min(y, from), 1, std::abs(y - from) + 1), line);
            from = y;
        }
    }
    if (scale.limitShown) {
        painter.setPen(QPen(row.warn ? warning : mutedColor(palette()), 1, Qt::DashLine));
        painter.drawLine(plotRect().left(), limitY, plotRect().right(), limitY);
    }
}

/// Draws a dot on each device's memory peak.
void TimelineView::paintPeaks(QPainter& painter) const {
    if (!why()) return;
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(palette().color(QPalette::Base), 1.5));
    painter.setBrush(palette().color(QPalette::Text));
    for (const MemoryPeak& peak : why()->peaks) {
        const QRectF mark = peakRect(peak.device);
        if (!mark.isNull()) painter.drawEllipse(mark.center(), 3.5, 3.5);
    }
    painter.restore();
}

/// Draws the critical path: outlined segments, waiting ones hatched, joined where the path continues in
/// another row. Of segments in the same pixel column only the first is drawn.
void TimelineView::paintPath(QPainter& painter) const {
    if (!m_pathShown || !why()) return;
    const std::vector<PathSegment>& segments = why()->path.segments;
    const QColor line = pathColor(palette()), halo = palette().color(QPalette::Base);
    const auto endsBefore = [&](double time_s) {
        return [time_s](const PathSegment& segment) { return segment.end_s <= time_s; };
    };
    auto next = std::partition_point(segments.begin(), segments.end(), endsBefore(m_axis.start_s));
    std::optional<QRectF> before;
    while (next != segments.end() && next->start_s <= m_axis.end_s) {
        const Row& row = *rowOf(*next);
        const auto [top, height] = laneSpace(
            row.strips.front(), row.kind == Row::Kind::host ? 0 : laneIn(row, {kSimulated, next->span}));
        const double left = std::floor(std::max(m_axis.toX(next->start_s), m_axis.left - 8));
        const double right = std::floor(std::min(m_axis.toX(next->end_s), m_axis.left + m_axis.width + 8));
        const QRectF block(left, rowTop(row) + top, std::max(right - left, 1.0), height);
        if (before && (before->top() >= block.bottom() || before->bottom() <= block.top())) {
            const double from = std::min(before->bottom(), block.bottom()),
                         to = std::max(before->top(), block.top());
            painter.fillRect(QRectF(left, from, 1, to - from), withAlpha(line, 0.5));
        }
        before = block;
        const bool waits = next->kind == PathKind::queue;
        if (waits && block.width() >= 4) {
            painter.fillRect(block, withAlpha(halo, 0.3));
            painter.fillRect(block, QBrush(line, Qt::BDiagPattern));
        }
        if (block.width() < 12) {
            // Vertical sides would hide so narrow a block.
            painter.fillRect(QRectF(left, block.top() - 1, block.width(), 2), line);
            painter.fillRect(QRectF(left, block.bottom() - 1, block.width(), 2), line);
        } else {
            painter.setBrush(Qt::NoBrush);
            painter.setPen(QPen(line, 2, waits ? Qt::DashLine : Qt::SolidLine, Qt::FlatCap, Qt::MiterJoin));
            painter.drawRect(block.adjusted(1, 0, -1, 0));
            if (!waits) {
                painter.setPen(QPen(halo, 1));
                painter.drawRect(block.adjusted(2.5, 1.5, -2.5, -1.5));
            }
        }
        // Skip segments that end within this column.
        ++next;
        if (right - left < 1)
            next = std::partition_point(next, segments.end(), endsBefore(m_axis.toTime(left + 1)));
    }
}

void TimelineView::paintOutlines(QPainter& painter) const {
    const QColor line = palette().color(QPalette::Text), halo = palette().color(QPalette::Base);
    const auto outline = [&](const Row& row, const Strip& strip, int lane, int x, int width, bool strong) {
        const auto [top, height] = laneSpace(strip, lane);
        const QRect block(x, rowTop(row) + top, width, height);
        if (width < 5) {
            painter.fillRect(block.adjusted(0, -2, width > 1 ? 0 : 1, 2), line);
            return;
        }
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(line, strong ? 2 : 1));
        painter.drawRect(QRectF(block).adjusted(0, 0, -1, -1));
        if (!strong) return;
        painter.setPen(QPen(halo, 1));
        painter.drawRect(QRectF(block).adjusted(1.5, 1.5, -2.5, -2.5));
    };
    for (const Row& row : m_rows) {
        if (row.kind == Row::Kind::host) continue;
        for (const Strip& strip : row.strips) {
            const auto& selected = m_selectedSpans[static_cast<std::size_t>(strip.run + 1)];
            for (int lane = 0; lane < strip.lanes; ++lane) {
                const std::size_t index = firstLane(row, strip.run) + static_cast<std::size_t>(lane);
                for (const SpanMark& mark : visibleMarks(traceOf(row, strip), selected[index], m_axis))
                    outline(row, strip, lane, mark.x, mark.width, true);
            }
        }
    }
    if (m_hovered == kInvalidOp || m_hovered >= m_data->op_spans.size()) return;
    for (int run = kSimulated; run < std::ssize(measured()); ++run) {
        for (const std::uint32_t index : dataOf(run).op_spans[m_hovered]) {
            const SpanRef ref{run, index};
            const Span& span = spanOf(ref);
            const Row* row = rowOf(span);
            if (!row || span.end_s < m_axis.start_s || span.start_s > m_axis.end_s) continue;
            const auto strip = std::ranges::find(row->strips, run, &Strip::run);
            if (strip == row->strips.end()) continue;
            for (const SpanMark& mark : visibleMarks(dataOf(run).trace, std::span(&index, 1), m_axis))
                outline(*row, *strip, laneIn(*row, ref), mark.x, mark.width, m_hoveredSpan == ref);
        }
    }
}

void TimelineView::paintArrows(QPainter& painter) const {
    struct Journey {
        DeviceId from = kInvalidDevice, to = kInvalidDevice;
        double start_s = 0, end_s = 0;
    };
    // By tensor, destination and batch: the hops of one transfer, in the order in which they end.
    std::map<std::tuple<TensorId, DeviceId, std::uint32_t>, Journey> journeys;
    const std::vector<Span>& spans = m_data->trace.spans;
    const Problem& problem = *m_data->problem;
    const auto take = [&](const Span& span) {
        const auto [at, isNew] = journeys.try_emplace({span.tensor, span.to, span.batch},
                                                      Journey{span.from, span.to, span.queued_s, span.end_s});
        if (!isNew) at->second.end_s = std::max(at->second.end_s, span.end_s);
    };
    for (const OpId op : m_selection) {
        if (journeys.size() >= kMostArrows || op >= m_data->op_spans.size()) break;
        DeviceId device = kInvalidDevice;
        for (const std::uint32_t index : m_data->op_spans[op]) {
            if (spans[index].kind == Span::Kind::transfer) {
                take(spans[index]);
            } else {
                device = spans[index].resource;
            }
        }
        for (const OpId member : problem.grouping.members[problem.grouping.group_of[op]]) {
            if (forwardOf(*problem.graph, member) != op) continue;
            for (std::uint32_t i = problem.input_begin[member]; i < problem.input_begin[member + 1]; ++i) {
                const TensorId tensor = problem.input[i];
                for (const std::uint32_t index :
                     m_data->op_spans[forwardOf(*problem.graph, problem.producer[tensor])]) {
                    const Span& span = spans[index];
                    if (span.kind == Span::Kind::transfer && span.tensor == tensor && span.to == device)
                        take(span);
                }
            }
        }
    }
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    std::size_t drawn = 0;
    for (const auto& [key, journey] : journeys) {
        if (journey.end_s < m_axis.start_s || journey.start_s > m_axis.end_s || ++drawn > kMostArrows)
            continue;
        const Row &from = m_rows[journey.from], &to = m_rows[journey.to];
        const bool down = to.top > from.top;
        const double reach = m_axis.width + 100;
        const QPointF tail(
            std::clamp(m_axis.toX(journey.start_s), m_axis.left - reach, m_axis.left + 2 * reach),
            rowTop(from) + kBarTop + (down ? from.strips.front().height : 0));
        const QPointF head(
            std::clamp(m_axis.toX(journey.end_s), m_axis.left - reach, m_axis.left + 2 * reach),
            rowTop(to) + kBarTop + (down ? 0 : to.strips.front().height));
        const double bend = (head.y() - tail.y()) * 0.5;
        const double size = 6, back = down ? -size : size;
        QPainterPath path(tail);
        path.cubicTo(tail + QPointF(0, bend), head - QPointF(0, bend), head + QPointF(0, back));
        const QPolygonF point{{head, head + QPointF(-size * 0.6, back), head + QPointF(size * 0.6, back)}};
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(withAlpha(palette().color(QPalette::Base), 0.8), 4));
        painter.drawPath(path);
        painter.setPen(QPen(palette().color(QPalette::Text), 1.5));
        painter.drawPath(path);
        painter.setPen(Qt::NoPen);
        painter.setBrush(palette().color(QPalette::Text));
        painter.drawPolygon(point);
    }
    painter.restore();
}

void TimelineView::paintMeasure(QPainter& painter) const {
    if (!m_measure) return;
    const double from = m_axis.toX(std::min(m_measure->from_s, m_measure->to_s)),
                 to = m_axis.toX(std::max(m_measure->from_s, m_measure->to_s));
    const QRectF plot = plotRect();
    const QRectF band(from, plot.top(), to - from, plot.height());
    const QColor color = palette().color(QPalette::Highlight);
    painter.fillRect(band, withAlpha(color, 0.2));
    painter.fillRect(QRectF(from, plot.top(), 1, plot.height()), color);
    painter.fillRect(QRectF(to, plot.top(), 1, plot.height()), color);
    const QString text = tr("ΔT %1").arg(secondsText(std::abs(m_measure->to_s - m_measure->from_s)));
    const QFontMetrics metrics(painter.font());
    const int width = metrics.horizontalAdvance(text) + 24, height = metrics.height() + 8;
    const int x = std::clamp(static_cast<int>((from + to) / 2) - width / 2, m_headerWidth + 2,
                             std::max(m_headerWidth + 2, static_cast<int>(plot.right()) - width));
    drawChip(painter, QRect(x, m_rulerHeight + 2, width, height), text, palette().color(QPalette::Text),
             palette().color(QPalette::Base), true);
}

void TimelineView::paintDropPreview(QPainter& painter) const {
    for (DeviceId device = 0; device < std::min(m_previews.size(), m_data->memory.size()); ++device) {
        const DropPreview& preview = m_previews[device];
        const bool isTarget = m_target == device;
        const QRect lane = laneRect(device).toRect() & plotRect();
        if (lane.isEmpty()) continue;
        const QColor base = palette().color(QPalette::Base), text = palette().color(QPalette::Text);
        const QColor color = preview.possible ? palette().color(QPalette::Highlight) : mutedColor(palette());
        painter.fillRect(lane, withAlpha(color, isTarget ? 0.45 : 0.18));
        if (!preview.possible)
            painter.fillRect(lane, QBrush(withAlpha(color, isTarget ? 0.8 : 0.5), Qt::DiagCrossPattern));
        if (isTarget) {
            painter.setBrush(Qt::NoBrush);
            painter.setPen(QPen(color, 2));
            painter.drawRect(lane.adjusted(1, 1, -1, -1));
        }
        QString words = dropPreviewText(preview);
        const bool overflows = preview.possible && !preview.fits;
        if (overflows) words += tr(" · does not fit");
        if (const QString memory = dropMemoryText(preview); !memory.isEmpty())
            words += QStringLiteral(" · ") + memory;
        drawChip(painter, lane.adjusted(10, 2, -10, -2), words, overflows ? warningColor(palette()) : text,
                 base, isTarget);
    }
}

}  // namespace placewright
