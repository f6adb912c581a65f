// SPDX-License-Identifier: MIT
// Marks that a TimelineView paints over its chart: outlines, the critical path, areas, targets of a drop.
#include <algorithm>
#include <cmath>
#include <map>

#include <QPainter>
#include <QPainterPath>
#include <QTextBrowser>

#include "widgets/palette.hpp"
#include "widgets/quantities.hpp"
#include "widgets/timeline_view.hpp"

namespace placewright {
namespace {

constexpr std::size_t kMostArrows = 200;
constexpr std::size_t kStrongArrows = 16;

QColor translucent(QColor color, double alpha) {
    color.setAlphaF(static_cast<float>(alpha));
    return color;
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
    painter.setBrush(translucent(background, 0.92));
    painter.drawRoundedRect(QRectF(chip).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    painter.setPen(color);
    painter.drawText(chip.adjusted(6, 0, -6, 0), Qt::AlignVCenter | Qt::AlignLeft,
                     metrics.elidedText(text, Qt::ElideRight, width - 12));
    painter.restore();
}

}  // namespace

/// Draws a dot on each device's memory peak.
void TimelineView::paintPeaks(QPainter& painter) const {
    if (!why()) return;
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(palette().color(QPalette::Base), 1.5));
    painter.setBrush(palette().color(QPalette::Text));
    for (const MemoryPeak& peak : why()->peaks) {
        const QRectF mark = peakRect(peak.device);
        painter.setClipRect(visiblePart(m_rows[peak.device]) & plotRect());
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
        painter.setClipRect(visiblePart(row) & plotRect());
        if (before && (before->top() >= block.bottom() || before->bottom() <= block.top())) {
            const double from = std::min(before->bottom(), block.bottom()),
                         to = std::max(before->top(), block.top());
            painter.fillRect(QRectF(left, from, 1, to - from), translucent(line, 0.5));
        }
        before = block;
        const bool waits = next->kind == PathKind::queue;
        if (waits && block.width() >= 4) {
            painter.fillRect(block, translucent(halo, 0.3));
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

/// Outlines lie outside the blocks, whose colours are those of the devices.
void TimelineView::paintOutline(QPainter& painter, const QRect& block, bool strong) const {
    const QColor line = palette().color(QPalette::Text);
    if (block.width() < 5) {
        // Sides would hide so narrow a block.
        painter.fillRect(QRect(block.left(), block.top() - 2, block.width(), 2), line);
        painter.fillRect(QRect(block.left(), block.bottom() + 1, block.width(), 2), line);
        return;
    }
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(line, 1));
    painter.drawRect(block.adjusted(-1, -1, -1, 0));
    if (strong) painter.drawRect(block.adjusted(-2, -2, 0, 1));
}

/// Outlines the spans of the selected ops.
void TimelineView::paintSelected(QPainter& painter, const Row& row, Columns columns) const {
    for (const Strip& strip : row.strips) {
        const auto& selected = m_selectedSpans[static_cast<std::size_t>(strip.run + 1)];
        for (int lane = 0; lane < strip.lanes; ++lane) {
            const auto [top, height] = laneSpace(strip, lane);
            const std::size_t index = firstLane(row, strip.run) + static_cast<std::size_t>(lane);
            for (const SpanMark& mark : visibleMarks(traceOf(row, strip), selected[index], m_axis, columns))
                paintOutline(painter, QRect(mark.x, rowTop(row) + top, mark.width, height), true);
        }
    }
}

/// Outlines the spans of the op under the pointer.
void TimelineView::paintHovered(QPainter& painter) const {
    if (m_hovered == kInvalidOp || m_hovered >= m_data->op_spans.size()) return;
    for (int run = kSimulated; run < std::ssize(measured()); ++run) {
        for (const std::uint32_t index : dataOf(run).op_spans[m_hovered]) {
            const SpanRef ref{run, index};
            const Span& span = spanOf(ref);
            const Row* row = rowOf(span);
            if (!row || span.end_s < m_axis.start_s || span.start_s > m_axis.end_s) continue;
            const auto strip = std::ranges::find(row->strips, run, &Strip::run);
            if (strip == row->strips.end()) continue;
            const auto [top, height] = laneSpace(*strip, laneIn(*row, ref));
            painter.setClipRect(visiblePart(*row) & plotRect());
            for (const SpanMark& mark : visibleMarks(dataOf(run).trace, std::span(&index, 1), m_axis))
                paintOutline(painter, QRect(mark.x, rowTop(*row) + top, mark.width, height),
                             m_hoveredSpan == ref);
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
    // Those of many ops would hide the blocks: they are paler, and without a halo.
    const double strength = std::clamp(
        static_cast<double>(kStrongArrows) / static_cast<double>(std::max<std::size_t>(1, journeys.size())),
        0.12, 1.0);
    const QColor ink = translucent(palette().color(QPalette::Text), strength);
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
        if (strength == 1) {
            painter.setPen(QPen(translucent(palette().color(QPalette::Base), 0.8), 4));
            painter.drawPath(path);
        }
        painter.setPen(QPen(ink, strength == 1 ? 1.5 : 1));
        painter.drawPath(path);
        painter.setPen(Qt::NoPen);
        painter.setBrush(ink);
        painter.drawPolygon(point);
    }
    painter.restore();
}

void TimelineView::paintArea(QPainter& painter) const {
    if (m_gesture == Gesture::pan && m_pansOp) {
        // Who wanted to move the op learns how.
        const QString text = tr("Panning. Drag up or down, or by its handle, to move an op");
        const QFontMetrics metrics(painter.font());
        const int width = metrics.horizontalAdvance(text) + 24, height = metrics.height() + 8;
        const QRect plot = plotRect();
        const int x = std::clamp(m_last.x() - width / 2, plot.left() + 2,
                                 std::max(plot.left() + 2, plot.right() - width));
        drawChip(painter, QRect(x, plot.top() + 2, width, height), text, palette().color(QPalette::Text),
                 palette().color(QPalette::Base), true);
    }
    if (!m_area) return;
    const QRect plot = plotRect(), band = areaRect();
    const QColor color = palette().color(QPalette::Highlight);
    for (const Row& row : m_rows) {
        if (!isInArea(row)) continue;
        const QRect part = QRect(band.left(), rowTop(row), band.width(), row.height) & visiblePart(row);
        painter.fillRect(part, translucent(color, 0.2));
    }
    if (m_area->rows.empty()) {
        const int bottom = m_rows.empty() ? plot.top() : rowTop(m_rows.back()) + m_rows.back().height;
        painter.fillRect(QRect(band.left(), bottom, band.width(), plot.bottom() - bottom),
                         translucent(color, 0.2));
    }
    painter.fillRect(QRect(band.left(), band.top(), 1, band.height()), color);
    painter.fillRect(QRect(band.right(), band.top(), 1, band.height()), color);
    if (m_sums->isVisible()) return;
    const QString text = tr("ΔT %1").arg(secondsText(m_area->end_s() - m_area->start_s()));
    const QFontMetrics metrics(painter.font());
    const int width = metrics.horizontalAdvance(text) + 24, height = metrics.height() + 8;
    const int x = std::clamp(band.center().x() - width / 2, m_headerWidth + 2,
                             std::max(m_headerWidth + 2, plot.right() - width));
    drawChip(painter, QRect(x, m_rulerHeight + 2, width, height), text, palette().color(QPalette::Text),
             palette().color(QPalette::Base), true);
}

/// Outlines the idle gap that was clicked.
void TimelineView::paintGap(QPainter& painter) const {
    if (!m_gap || m_gap->device >= m_data->memory.size()) return;
    painter.setClipRect(visiblePart(m_rows[m_gap->device]) & plotRect());
    painter.setBrush(QBrush(translucent(palette().color(QPalette::Text), 0.25), Qt::BDiagPattern));
    painter.setPen(QPen(palette().color(QPalette::Text), 1, Qt::DashLine));
    painter.drawRect(gapRect(*m_gap).adjusted(0, 0, -1, -1));
}

/// The handle of the block under the pointer: two columns of dots at its left end.
void TimelineView::paintHandle(QPainter& painter) const {
    if (!m_hoveredSpan || m_hoveredSpan->run != kSimulated || m_gesture != Gesture::none) return;
    const QRectF handle = handleRect(m_hoveredSpan->span);
    if (handle.isNull()) return;
    const Span& span = spanOf(*m_hoveredSpan);
    const QColor color = brushesOf(span.resource)[0].color();
    painter.setClipRect(visiblePart(m_rows[span.resource]) & plotRect());
    painter.fillRect(handle, mixedColor(color, palette().color(QPalette::Base), 0.35F));
    const QColor dot = readableOn(color);
    for (const int row : {-1, 0, 1}) {
        for (const int column : {0, 1})
            painter.fillRect(QRectF(handle.left() + 2 + column * 3, handle.center().y() + row * 4 - 1, 2, 2),
                             dot);
    }
}

/// A bracket below the ruler over one batch, with its share of the step.
void TimelineView::paintBatch(QPainter& painter) const {
    const QRectF mark = batchRect();
    if (mark.isNull()) return;
    painter.save();
    painter.setClipRect(QRect(plotRect().left(), 0, plotRect().width(), m_rulerHeight));
    const QColor line = palette().color(QPalette::WindowText);
    const double y = std::floor(mark.center().y());
    const QFontMetrics metrics(painter.font());
    const QString words = tr("a batch every %1").arg(secondsText(m_data->outcome.step_time_s));
    const QString all =
        tr("%1 batches %2").arg(m_data->batches.size()).arg(secondsText(m_data->outcome.total_time_s));
    const auto width = [&](const QString& text) { return metrics.horizontalAdvance(text) + 12; };
    painter.fillRect(QRectF(std::floor(mark.left()), mark.top() + 2, 1, mark.height() - 4), line);
    painter.fillRect(QRectF(std::floor(mark.right()) - 1, mark.top() + 2, 1, mark.height() - 4), line);
    painter.fillRect(QRectF(mark.left(), y, mark.width(), 1), line);
    // Beside the bracket, if it is too narrow for the text.
    QRectF room(mark.center().x() - width(words) / 2.0, mark.top(), width(words), mark.height());
    if (width(words) > mark.width()) room.moveLeft(mark.right() + 2);
    if (room.right() > m_axis.left + m_axis.width) room.moveRight(mark.left() - 2);
    painter.fillRect(room, palette().color(QPalette::Window));
    painter.setPen(line);
    painter.drawText(room, Qt::AlignCenter, words);
    // What all batches take, where there is room beside it.
    QRectF rest(std::max(room.right(), mark.right()) + 4, mark.top(), width(all), mark.height());
    if (rest.right() > m_axis.left + m_axis.width) rest.moveRight(std::min(room.left(), mark.left()) - 4);
    if (rest.left() >= m_axis.left) {
        painter.setPen(mutedColor(palette()));
        painter.drawText(rest, Qt::AlignCenter, all);
    }
    painter.restore();
}

/// A tick at the lower end of the ruler for each match of a search.
void TimelineView::paintTicks(QPainter& painter) const {
    if (!m_matches) return;
    const QColor color = palette().color(QPalette::Highlight);
    for (const std::vector<std::uint32_t>& lane : m_matchedSpans.front()) {
        for (const SpanMark& mark : visibleMarks(m_data->trace, lane, m_axis)) {
            const QRect tick(mark.x, m_rulerHeight - 5, std::max(mark.width, 2), 4);
            painter.fillRect(tick & QRect(plotRect().left(), 0, plotRect().width(), m_rulerHeight), color);
        }
    }
}

/// A pin beside the name of a row that is pinned, or under the pointer.
void TimelineView::paintPin(QPainter& painter, const Row& row) const {
    const bool isHovered = m_hoveredName == RowKey{row.kind, row.resource};
    if (!row.pinned && !isHovered) return;
    const QRectF area = pinRect(row);
    painter.save();
    painter.setClipRect(visiblePart(row) & QRect(0, 0, m_headerWidth, height()));
    painter.fillRect(area, palette().color(QPalette::Window));
    painter.setRenderHint(QPainter::Antialiasing);
    const double unit = area.width() / 10;
    const QColor color = row.pinned ? palette().color(QPalette::WindowText) : mutedColor(palette());
    painter.setPen(QPen(color, 1.2));
    painter.setBrush(row.pinned ? QBrush(color) : QBrush(Qt::NoBrush));
    painter.drawRect(QRectF(area.left() + 3.2 * unit, area.top() + unit, 3.6 * unit, 4 * unit));
    painter.drawLine(area.topLeft() + QPointF(1.5, 5.5) * unit, area.topLeft() + QPointF(8.5, 5.5) * unit);
    painter.drawLine(area.topLeft() + QPointF(5, 5.5) * unit, area.topLeft() + QPointF(5, 9.5) * unit);
    painter.restore();
}

void TimelineView::paintDropPreview(QPainter& painter) const {
    for (DeviceId device = 0; device < std::min(m_previews.size(), m_data->memory.size()); ++device) {
        const DropPreview& preview = m_previews[device];
        const bool isTarget = m_target == device;
        const QRect lane = laneRect(device).toRect() & plotRect() & visiblePart(m_rows[device]);
        if (lane.isEmpty()) continue;
        const QColor base = palette().color(QPalette::Base), text = palette().color(QPalette::Text);
        const QColor color = preview.possible ? palette().color(QPalette::Highlight) : mutedColor(palette());
        painter.fillRect(lane, translucent(color, isTarget ? 0.45 : 0.18));
        if (!preview.possible)
            painter.fillRect(lane, QBrush(translucent(color, isTarget ? 0.8 : 0.5), Qt::DiagCrossPattern));
        if (isTarget) {
            painter.setBrush(Qt::NoBrush);
            painter.setPen(QPen(color, 2));
            painter.drawRect(lane.adjusted(1, 1, -1, -1));
        }
        const bool overflows = preview.possible && !preview.fits;
        const QRect place = lane.adjusted(10, 2, -10, -2);
        QFont font = painter.font();
        font.setBold(isTarget);
        drawChip(painter, place, dropTargetText(preview, QFontMetrics(font), place.width() - 14),
                 overflows ? warningColor(palette()) : text, base, isTarget);
    }
}

}  // namespace placewright
