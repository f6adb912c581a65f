// SPDX-License-Identifier: MIT
// Painting of a TimelineView.
#include <algorithm>
#include <cmath>

#include <QImage>
#include <QPainter>

#include "widgets/palette.hpp"
#include "widgets/quantities.hpp"
#include "widgets/timeline_view.hpp"

namespace placewright {
namespace {

/// Shares of the background in the colours of batches, by batch modulo their number.
constexpr std::array<double, 3> kShadeOfBatch{0, 0.4, 0.2};
constexpr int kLeastWithEdge = 5;     // pixels; edges would hide the colour of what is narrower
constexpr double kLeastContrast = 3;  // of blocks without an edge
constexpr double kDimmed = 0.3;       // opacity of what is not found, or not selected

QColor withAlpha(QColor color, double alpha) {
    color.setAlphaF(static_cast<float>(alpha));
    return color;
}

/// The brush covered by `veil`, with opacity `share`.
QBrush veiled(QBrush brush, const QColor& veil, double share) {
    if (share <= 0) return brush;
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

}  // namespace

const TimelineView::Brushes& TimelineView::brushesOf(DeviceId device) const {
    if (m_brushes.empty()) {
        const Machine& machine = *m_data->problem->machine;
        for (DeviceId id = 0; id < machine.devices().size(); ++id) {
            const QBrush forward = deviceBrush(machine, id);
            const QColor base = palette().color(QPalette::Base);
            const std::array<QBrush, 3> phases{forward, veiled(forward, Qt::black, 0.35),
                                               veiled(forward, base, 0.55)};
            // Batches that follow each other differ; one in three is alike.
            Brushes& brushes = m_brushes.emplace_back();
            for (std::size_t i = 0; i < brushes.size(); ++i)
                brushes[i] = veiled(phases[i % 3], base, kShadeOfBatch[i / 3]);
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
        refreshChart();
        painter.drawPixmap(0, 0, m_chart.picture);
        paintLimits(painter);
        paintPath(painter);
        painter.setClipRect(plotRect());
        paintPeaks(painter);
        paintHovered(painter);
        paintGap(painter);
        paintHandle(painter);
        painter.setClipRect(plotRect());
        paintArrows(painter);
        paintArea(painter);
        paintDropPreview(painter);
        painter.setClipping(false);
        for (const Row& row : m_rows) paintPin(painter, row);
    }
    if (hasFocus()) {
        painter.setPen(palette().color(QPalette::Highlight));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
}

double TimelineView::rulerStep_s() const {
    const QFontMetrics metrics(font());
    // The label width depends on the step and the step on the label width: two rounds are enough.
    double step_s = tickStep(m_axis.secondsPerPixel() * 60);
    for (int i = 0; i < 2; ++i) {
        step_s = tickStep(m_axis.secondsPerPixel() *
                          (metrics.horizontalAdvance(tickText(m_axis.end_s, step_s, m_axis.end_s)) + 28));
    }
    return step_s;
}

void TimelineView::paintRuler(QPainter& painter) const {
    const QFontMetrics metrics(painter.font());
    painter.fillRect(QRect(0, 0, width(), m_rulerHeight), palette().color(QPalette::Window));
    const QColor muted = mutedColor(palette());
    forTicks([&](double time_s, int x) {
        painter.fillRect(QRect(x, m_rulerHeight - 6, 1, 5), muted);
        const QString text = tickText(time_s, m_chart.tick_s, m_axis.end_s);
        const int textWidth = metrics.horizontalAdvance(text);
        if (x + 4 + textWidth > m_headerWidth + static_cast<int>(m_axis.width)) return;
        painter.setPen(muted);
        painter.drawText(QRect(x + 4, 0, textWidth + 2, metrics.height() + 6),
                         Qt::AlignLeft | Qt::AlignVCenter, text);
    });
    paintBatch(painter);
    paintTicks(painter);
}

void TimelineView::paintHeader(QPainter& painter, const Row& row) const {
    const QFontMetrics metrics(painter.font());
    const int top = rowTop(row), line = metrics.height();
    const bool isDevice = row.kind == Row::Kind::device;
    int left = 8;
    if (isDevice) {
        const int side = line - 5;
        const QRect swatch(left, top + kBarTop + (line - side) / 2 + 2, side, side);
        painter.setPen(
            deviceEdge(*m_data->problem->machine, row.resource, palette().color(QPalette::Window)));
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
    if (row.detail.isEmpty() || row.small) return;
    const QRect second(8, top + row.stripsEnd() + 4, m_headerWidth - 14, line);
    painter.setPen(row.warn ? warningColor(palette()) : mutedColor(palette()));
    painter.drawText(second, Qt::AlignVCenter | Qt::AlignLeft,
                     metrics.elidedText(row.detail, Qt::ElideRight, second.width()));
}

void TimelineView::paintSpans(QPainter& painter, const Row& row, Columns columns) const {
    for (const Strip& strip : row.strips) {
        const bool outlines = strip.run != kSimulated && m_measuredLayout == MeasuredLayout::overlay;
        for (int lane = 0; lane < strip.lanes; ++lane) {
            if (outlines) {
                paintLaneOutlines(painter, row, strip, lane, columns);
            } else {
                paintLane(painter, row, strip, lane, columns);
            }
            if (strip.run != kSimulated) paintDifferences(painter, row, strip, lane, columns);
        }
    }
}

void TimelineView::paintLaneOutlines(QPainter& painter, const Row& row, const Strip& strip, int lane,
                                     Columns columns) const {
    const auto [offset, height] = laneSpace(strip, lane);
    const int top = rowTop(row) + offset;
    const TimelineData::Lane& of = laneAt(row, strip, lane);
    // Several runs differ in their dashes.
    QPen pen(palette().color(QPalette::Text), 1);
    pen.setStyle(strip.run % 2 == 0 ? Qt::SolidLine : Qt::DashLine);
    const QColor halo = withAlpha(palette().color(QPalette::Base), 0.75);
    painter.setBrush(Qt::NoBrush);
    for (const SpanMark& mark : visibleMarks(traceOf(row, strip), of, m_axis, columns)) {
        if (mark.width < 5) {
            // Sides would hide what is so narrow.
            const double share =
                std::min(1.0, (of.busy_s[mark.last] - of.busy_s[mark.first]) / m_axis.secondsPerPixel());
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

void TimelineView::paintDifferences(QPainter& painter, const Row& row, const Strip& strip, int lane,
                                    Columns columns) const {
    const MeasuredRuns::Run& run = measured()[static_cast<std::size_t>(strip.run)];
    const std::size_t index = firstLane(row, strip.run) + static_cast<std::size_t>(lane);
    const auto [offset, height] = laneSpace(strip, lane);
    const int top = rowTop(row) + offset + height;
    const auto paint = [&](const std::vector<std::uint32_t>& spans, const QColor& color, bool dashed) {
        for (const SpanMark& mark : visibleMarks(traceOf(row, strip), spans, m_axis, columns)) {
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

void TimelineView::paintLane(QPainter& painter, const Row& row, const Strip& strip, int index,
                             Columns columns) const {
    const TimelineData::Lane& of = laneAt(row, strip, index);
    if (of.spans.empty()) return;
    const Trace& trace = traceOf(row, strip);
    const auto marks = visibleMarks(trace, of, m_axis, columns);
    const SpansOfOps* strong = row.kind == Row::Kind::host ? nullptr : strongSpans();
    if (strong == nullptr) return paintBlocks(painter, row, strip, index, of.spans, marks, of.busy_s);
    painter.setOpacity(kDimmed);
    paintBlocks(painter, row, strip, index, of.spans, marks, of.busy_s);
    painter.setOpacity(1);
    const std::size_t lane = firstLane(row, strip.run) + static_cast<std::size_t>(index);
    const std::vector<std::uint32_t>& spans = (*strong)[static_cast<std::size_t>(strip.run + 1)][lane];
    paintBlocks(painter, row, strip, index, spans, visibleMarks(trace, spans, m_axis, columns), {});
}

void TimelineView::paintBlocks(QPainter& painter, const Row& row, const Strip& strip, int lane,
                               const std::vector<std::uint32_t>& spans, const std::vector<SpanMark>& marks,
                               std::span<const double> busy_s) const {
    const auto [offset, height] = laneSpace(strip, lane);
    const int top = rowTop(row) + offset;
    const Graph& graph = *m_data->problem->graph;
    const bool isDevice = row.kind == Row::Kind::device;
    const QColor base = palette().color(QPalette::Base);
    const QColor neutral = mixedColor(base, palette().color(QPalette::Text), 0.45);
    const QRect plot = plotRect();
    const QFontMetrics metrics(painter.font());
    const double opacity = painter.opacity();
    if (isDevice) {
        // Hatches move with the blocks.
        if (const QImage tile = brushesOf(row.resource)[0].textureImage(); !tile.isNull())
            painter.setBrushOrigin(QPointF(std::fmod(std::floor(m_axis.toX(0)), tile.width()), top));
    }

    std::vector<Brushes> mixed;  // by device, filled as they are needed
    const auto brushOf = [&](const Span& span) -> const QBrush& {
        const std::size_t batch = span.batch % kBatchShades * 3;
        if (isDevice)
            return brushesOf(row.resource)[static_cast<std::size_t>(graph.op(span.op).phase) + batch];
        const DeviceId device = row.kind == Row::Kind::host ? span.resource : span.from;
        if (mixed.size() <= device) mixed.resize(device + std::size_t{1});
        QBrush& brush = mixed[device][batch];
        if (brush.style() == Qt::NoBrush) brush = mixedColor(neutral, brushesOf(device)[batch].color(), 0.45);
        return brush;
    };
    const Trace& trace = traceOf(row, strip);
    for (const SpanMark& mark : marks) {
        const Span& span = trace.spans[spans[mark.first + (mark.last - mark.first) / 2]];
        if (mark.merged() || mark.width == 1) {
            // A pixel column stands for the spans that begin in it: the busier, the more opaque, never
            // invisible.
            const double share =
                busy_s.empty()
                    ? 1
                    : std::min(1.0, (busy_s[mark.last] - busy_s[mark.first]) / m_axis.secondsPerPixel());
            const double opaque = 0.25 + 0.75 * share;
            const QBrush& brush = brushOf(span);
            const QRect column(mark.x, top, 1, height);
            if (brush.style() == Qt::SolidPattern) {  // much faster than with an opacity of the painter
                painter.fillRect(column, withAlpha(brush.color(), opaque));
            } else {
                painter.setOpacity(opacity * opaque);
                painter.fillRect(column, brush);
                painter.setOpacity(opacity);
            }
            continue;
        }
        // A gap separates neighbours if there is room.
        const QRect block(mark.x, top, mark.width >= 4 ? mark.width - 1 : mark.width, height);
        const QBrush& brush = brushOf(span);
        painter.fillRect(block, brush);
        if (isDevice && block.width() >= kLeastWithEdge) {
            const QPen edge = deviceEdge(*m_data->problem->machine, row.resource, base);
            if (edge.style() != Qt::NoPen && contrast(brush.color(), base) < kLeastContrast) {
                painter.setPen(edge);
                painter.setBrush(Qt::NoBrush);
                painter.drawRect(block.adjusted(0, 0, -1, -1));
            }
        }
        const QRect seen = (block & plot).adjusted(4, 0, -3, 0);
        const QString name = fittingName(graph, span.op, metrics, seen.width());
        if (name.isEmpty() || height < metrics.height()) continue;
        painter.setPen(readableOn(brush.color()));
        painter.drawText(seen, Qt::AlignVCenter | Qt::AlignLeft, name);
    }
    painter.setBrushOrigin(0, 0);
}

void TimelineView::paintMemory(QPainter& painter, const Row& row, Columns columns) const {
    const double limit_bytes = m_data->problem->memory_limit_bytes[row.resource];
    const MemoryScale scale = memoryScale(row);
    const int bottom = scale.bottom;
    const QColor color = brushesOf(row.resource)[0].color();
    const QColor area = mixedColor(palette().color(QPalette::Base), color, 0.3);
    const QColor edge = mixedColor(palette().color(QPalette::Base), color, 0.8);
    const QColor warning = warningColor(palette());
    const Columns wider{columns.from - 1, columns.to};  // with the value before
    const int limitY = scale.y(limit_bytes);

    const auto marks = visibleMemory(*m_data, row.resource, m_axis, wider);
    int before = marks.empty() ? bottom : scale.y(marks.front().bytes);
    for (const MemoryMark& mark : marks) {
        const int y = scale.y(mark.bytes);
        const int over = mark.bytes > limit_bytes ? limitY : y;
        painter.fillRect(QRect(mark.x, over, mark.width, bottom - over), area);
        if (over > y) painter.fillRect(QRect(mark.x, y, mark.width, over - y), warning);
        // Edge of the step function: along the value, and vertically to the value before.
        const QColor& along = over > y ? warning : edge;
        if (mark.bytes > 0) painter.fillRect(QRect(mark.x, y, mark.width, 1), along);
        if (y != before)
            painter.fillRect(QRect(mark.x, std::min(y, before), 1, std::abs(y - before) + 1), edge);
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
        const auto measuredMarks = visibleMemory(shown, row.resource, m_axis, wider);
        int from = measuredMarks.empty() ? bottom : scale.y(measuredMarks.front().bytes);
        for (const MemoryMark& mark : measuredMarks) {
            const int y = scale.y(mark.bytes);
            painter.fillRect(QRect(mark.x, y, mark.width, 1), line);
            painter.fillRect(QRect(mark.x, std::min(y, from), 1, std::abs(y - from) + 1), line);
            from = y;
        }
    }
}

/// Draws a line at the memory limit of each device. Its dashes stay where they are during a pan.
void TimelineView::paintLimits(QPainter& painter) const {
    for (const Row& row : m_rows) {
        if (!hasMemory(row) || row.small) continue;
        const MemoryScale scale = memoryScale(row);
        if (!scale.limitShown) continue;
        const int y = scale.y(m_data->problem->memory_limit_bytes[row.resource]);
        painter.setClipRect(visiblePart(row) & plotRect());
        painter.setPen(QPen(row.warn ? warningColor(palette()) : mutedColor(palette()), 1, Qt::DashLine));
        painter.drawLine(plotRect().left(), y, plotRect().right(), y);
    }
}

}  // namespace placewright
