// SPDX-License-Identifier: MIT
// The picture of the chart that a TimelineView keeps. A pan moves it by whole pixels and paints only what has
// come into view, which looks exactly as if all were painted anew.
#include <cmath>

#include <QPainter>
#include <QScrollBar>

#include "widgets/palette.hpp"
#include "widgets/timeline_view.hpp"

namespace placewright {
namespace {

/// How far, in pixels, what a block draws may reach beyond it: its outline, and rounding.
constexpr int kBlockSlack = 3;
/// Pixels that a pan may be off a whole number, by rounding.
constexpr double kPanSlack = 1e-6;

}  // namespace

void TimelineView::repaintAll() {
    m_chart.picture = QPixmap();
    update();
}

void TimelineView::refreshChart() const {
    const double tick_s = rulerStep_s();
    const QSize pixels = size() * devicePixelRatioF();
    const bool fits = m_chart.picture.size() == pixels;
    const std::optional<QPoint> shift = fits ? shiftChart(tick_s) : std::nullopt;
    if (shift && shift->isNull()) return;
    if (!fits) {
        m_chart.picture = QPixmap(pixels);
        m_chart.picture.setDevicePixelRatio(devicePixelRatioF());
    }
    m_chart.axis = m_axis;
    m_chart.scrolled = m_scroll->value();
    m_chart.tick_s = tick_s;

    QPainter painter(&m_chart.picture);
    painter.setFont(font());
    if (shift) {
        if (shift->x() != 0) paintSides(painter, shift->x());
        if (shift->y() != 0) paintEnds(painter, shift->y());
    } else {
        paintPart(painter, rect().adjusted(0, m_rulerHeight, 0, 0));
    }
    painter.setClipRect(QRect(0, 0, width(), m_rulerHeight));
    paintRuler(painter);
    painter.setClipping(false);
    paintFrame(painter);
}

std::optional<QPoint> TimelineView::shiftChart(double tick_s) const {
    const TimeAxis& before = m_chart.axis;
    const double scale = devicePixelRatioF();
    if (before.left != m_axis.left || before.width != m_axis.width || m_chart.tick_s != tick_s ||
        scale != std::floor(scale))
        return {};
    const double moved = m_axis.toX(before.start_s) - m_axis.left, whole = std::round(moved);
    const double stretched = m_axis.toX(before.end_s) - m_axis.left - m_axis.width - whole;
    const QRect plot = plotRect(), rows = rect().adjusted(0, m_rulerHeight + m_pinnedHeight, 0, 0);
    const int down = m_chart.scrolled - m_scroll->value();
    if (std::abs(moved - whole) > kPanSlack || std::abs(stretched) > kPanSlack ||
        std::abs(whole) >= plot.width() || (down != 0 && std::abs(down) >= rows.height()))
        return {};
    const QPoint shift(static_cast<int>(whole), down);
    const auto scroll = [&](int x, int y, const QRect& part) {
        const int ratio = static_cast<int>(scale);
        if (x != 0 || y != 0)
            m_chart.picture.scroll(x * ratio, y * ratio, QRect(part.topLeft() * ratio, part.size() * ratio));
    };
    scroll(shift.x(), 0, plot);
    scroll(0, shift.y(), rows);
    return shift;
}

/// Paints what a pan to the right by that many pixels changes at either side: the columns that came into
/// view, and the blocks that reach beyond the chart now or did before, since their names stay in view.
void TimelineView::paintSides(QPainter& painter, int right) const {
    const QRect plot = plotRect();
    const int begin = plot.left(), end = plot.right() + 1;
    const int left = begin + std::max(right, 0), from = end + std::min(right, 0);
    const auto part = [&](int first, int last) {
        return QRect(first, plot.top(), last - first, plot.height());
    };
    paintBackground(painter, part(begin, std::min(left + kBlockSlack, end)));
    paintBackground(painter, part(std::max(from - kBlockSlack, begin), end));
    for (const Row& row : m_rows) {
        if ((rowRect(row) & visiblePart(row)).isEmpty()) continue;
        const int blockEnd = reach(row, left).to + kBlockSlack,
                  blockBegin = reach(row, from).from - kBlockSlack;
        if (blockEnd >= blockBegin) {
            paintRow(painter, row, plot);
            continue;
        }
        paintRow(painter, row, part(begin, blockEnd));
        paintRow(painter, row, part(blockBegin, end));
    }
}

/// Paints what a pan down by that many pixels changes at either end: what came into view, and the rows that
/// are or were cut, whose lines are dashed from where they are cut.
void TimelineView::paintEnds(QPainter& painter, int down) const {
    const QRect rows = rect().adjusted(0, m_rulerHeight + m_pinnedHeight, 0, 0);
    QRect shown = rows;
    down > 0 ? shown.setHeight(down) : shown.setTop(rows.bottom() + 1 + down);
    paintBackground(painter, shown);
    const auto isWhole = [&](int top, int height) {
        return top >= rows.top() && top + height <= rows.bottom() + 1;
    };
    for (const Row& row : m_rows) {
        if (!row.pinned && !(isWhole(rowTop(row), row.height) && isWhole(rowTop(row) - down, row.height)))
            paintRow(painter, row, rows);
    }
}

/// The columns around `x` that the blocks there cover, within the chart.
Columns TimelineView::reach(const Row& row, int x) const {
    const double from_s = m_axis.toTime(x - kBlockSlack), to_s = m_axis.toTime(x + kBlockSlack);
    double first_s = from_s, last_s = to_s;
    for (const Strip& strip : row.strips) {
        const std::vector<Span>& spans = traceOf(row, strip).spans;
        for (int index = 0; index < strip.lanes; ++index) {
            const TimelineData::Lane& lane = laneAt(row, strip, index);
            const auto begun = std::ranges::upper_bound(lane.start_s, to_s) - lane.start_s.begin();
            if (begun > 0)
                last_s = std::max(last_s, spans[lane.spans[static_cast<std::size_t>(begun - 1)]].end_s);
            const auto ends = std::ranges::partition_point(
                lane.spans, [&](std::uint32_t span) { return spans[span].end_s < from_s; });
            if (ends != lane.spans.end()) first_s = std::min(first_s, spans[*ends].start_s);
        }
    }
    const double right = m_axis.left + m_axis.width;
    const auto inside = [&](double at) { return std::clamp(at, m_axis.left, right); };
    return {static_cast<int>(std::floor(inside(m_axis.toX(first_s)))),
            static_cast<int>(std::ceil(inside(m_axis.toX(last_s))))};
}

bool TimelineView::hasMemory(const Row& row) const {
    return row.kind == Row::Kind::device && (!isMeasured() || !m_data->memory[row.resource].empty());
}

QRect TimelineView::rowRect(const Row& row) const {
    return QRect(0, rowTop(row), width(), row.height);
}

QSize TimelineView::wholeSize() const {
    return QSize(width(), std::max(height(), m_rulerHeight + m_naturalHeight));
}

void TimelineView::renderWhole(QPainter& painter) const {
    TimelineView whole;
    whole.setPalette(palette());
    whole.setFont(font());
    whole.resize(wholeSize());
    whole.m_idleShown = m_idleShown;
    whole.m_measuredLayout = m_measuredLayout;
    whole.m_measured = m_measured;
    whole.m_pathShown = m_pathShown;
    whole.m_why = m_why;
    whole.m_sharedTotal_s = m_sharedTotal_s;
    whole.m_sharedHeaderWidth = m_sharedHeaderWidth;
    whole.setData(m_data);
    whole.setSelection(m_selection);
    whole.setMatches(m_matches);
    whole.setZoom({m_axis.start_s, m_axis.end_s, m_fitted, 0});
    painter.setFont(font());
    if (!m_data) return;
    whole.m_chart.tick_s = whole.rulerStep_s();
    whole.paintPart(painter, whole.rect().adjusted(0, whole.m_rulerHeight, 0, 0));
    painter.setClipping(false);
    whole.paintRuler(painter);
    whole.paintFrame(painter);
    whole.paintLimits(painter);
    whole.paintPath(painter);
    painter.setClipRect(whole.plotRect());
    whole.paintPeaks(painter);
    whole.paintArrows(painter);
    painter.setClipping(false);
}

void TimelineView::paintPart(QPainter& painter, const QRect& part) const {
    paintBackground(painter, part);
    for (const Row& row : m_rows) paintRow(painter, row, part);
}

/// Paints the background below the ruler with the lines of its ticks, and clips to the part.
void TimelineView::paintBackground(QPainter& painter, const QRect& part) const {
    painter.setClipRect(part);
    painter.fillRect(part, palette().color(QPalette::Base));
    painter.fillRect(QRect(0, 0, m_headerWidth, height()), palette().color(QPalette::Window));
    QColor grid = palette().color(QPalette::Text);
    grid.setAlphaF(0.07F);
    forTicks([&](double, int x) { painter.fillRect(QRect(x, m_rulerHeight, 1, height()), grid); });
}

void TimelineView::paintRow(QPainter& painter, const Row& row, const QRect& part) const {
    const QRect area = rowRect(row) & visiblePart(row) & part;
    if (area.isEmpty()) return;
    paintBackground(painter, area);
    painter.fillRect(QRect(0, rowTop(row) + row.height - 1, width(), 1), lineColor());
    if (area.left() < m_headerWidth) {
        painter.setClipRect(area & QRect(0, 0, m_headerWidth, height()));
        paintHeader(painter, row);
    }
    const QRect plot = area & plotRect();
    if (plot.isEmpty()) return;
    painter.setClipRect(plot);
    const Columns columns{plot.left(), plot.right() + 1};
    if (hasMemory(row)) paintMemory(painter, row, columns);
    paintSpans(painter, row, columns);
    if (row.kind != Row::Kind::host) paintSelected(painter, row, columns);
}

QColor TimelineView::lineColor() const {
    return mixedColor(palette().color(QPalette::Base), palette().color(QPalette::Text), 0.14);
}

/// The lines between names, ruler, pinned rows and the rest.
void TimelineView::paintFrame(QPainter& painter) const {
    const QColor line = lineColor();
    if (m_pinnedHeight > 0) painter.fillRect(QRect(0, m_rulerHeight + m_pinnedHeight - 3, width(), 3), line);
    painter.fillRect(QRect(m_headerWidth - 1, 0, 1, height()), line);
    painter.fillRect(QRect(0, m_rulerHeight - 1, width(), 1), line);
}

}  // namespace placewright
