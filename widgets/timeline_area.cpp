// SPDX-License-Identifier: MIT
// Areas of a TimelineView that are selected for their sums, its pinned rows, and the menu of a row.
#include <algorithm>

#include <QApplication>
#include <QMenu>
#include <QScrollBar>
#include <QTextBrowser>
#include <QTextDocument>

#include "widgets/quantities.hpp"
#include "widgets/timeline_sums.hpp"
#include "widgets/timeline_view.hpp"

namespace placewright {

// Areas

void TimelineView::beginArea(QPoint position) {
    m_gesture = Gesture::area;
    const double time_s = m_axis.toTime(position.x());
    m_area = Area{time_s, time_s, {}};
    if (position.y() >= m_rulerHeight) dragArea(position);
    m_sums->hide();
    update();
}

/// Extends the area to a position: over the ruler to all rows, else to those between there and the press.
void TimelineView::dragArea(QPoint position) {
    m_area->to_s = std::clamp(m_axis.toTime(position.x()), m_axis.start_s, m_axis.end_s);
    m_area->rows.clear();
    if (m_pressed.y() >= m_rulerHeight) {
        const int from = std::min(m_pressed.y(), position.y()), to = std::max(m_pressed.y(), position.y());
        for (const Row& row : m_rows) {
            const QRect shown = QRect(0, rowTop(row), width(), row.height) & visiblePart(row);
            const bool isTouched = !shown.isEmpty() && shown.top() <= to && shown.bottom() >= from;
            if (isTouched && row.kind != Row::Kind::idle_channels)
                m_area->rows.push_back({row.kind, row.resource});
        }
    }
    update();
}

void TimelineView::endArea() {
    const double pixels = std::abs(m_axis.toX(m_area->to_s) - m_axis.toX(m_area->from_s));
    if (pixels < QApplication::startDragDistance()) return clearArea();
    showSums();
    update();
}

void TimelineView::clearArea() {
    m_area.reset();
    m_sums->hide();
    update();
}

bool TimelineView::isInArea(const Row& row) const {
    return m_area && (m_area->rows.empty() ||
                      std::ranges::find(m_area->rows, RowKey{row.kind, row.resource}) != m_area->rows.end());
}

/// The area in pixels, of rows that scroll as far as they are visible.
QRect TimelineView::areaRect() const {
    if (!m_area) return {};
    const double reach = m_axis.width + 10;
    const auto x = [&](double time_s) {
        return static_cast<int>(std::clamp(m_axis.toX(time_s), m_axis.left - reach, m_axis.left + 2 * reach));
    };
    QRect rows = plotRect();
    if (!m_area->rows.empty()) {
        rows = QRect();
        for (const Row& row : m_rows) {
            if (isInArea(row)) rows |= QRect(0, rowTop(row), width(), row.height) & visiblePart(row);
        }
    }
    const int left = x(m_area->start_s());
    return QRect(left, rows.top(), std::max(1, x(m_area->end_s()) - left), rows.height());
}

void TimelineView::showSums() {
    if (!m_data || !m_area || m_gesture == Gesture::area) return m_sums->hide();
    std::vector<DeviceId> devices;
    std::vector<ChannelId> channels;
    if (m_area->rows.empty()) {
        for (DeviceId device = 0; device < m_data->memory.size(); ++device) devices.push_back(device);
        for (ChannelId channel = 0; channel < m_data->problem->channels; ++channel)
            channels.push_back(channel);
    } else {
        for (const RowKey& row : m_area->rows) {
            if (row.kind == Row::Kind::device) devices.push_back(row.resource);
            if (row.kind == Row::Kind::channel) channels.push_back(row.resource);
        }
    }
    const TimelineSums sums =
        TimelineSums::of(*m_data, m_area->start_s(), m_area->end_s(), devices, channels);
    m_areaOps = sums.ops;
    m_sums->setHtml(sumsText(sums, *m_data));
    // Beside the area, on the side with more room, else over it; what does not fit scrolls.
    const QRect plot = plotRect().adjusted(4, m_pinnedHeight > 0 ? 0 : 4, -4, -4);
    m_sums->document()->setTextWidth(-1);
    const QSizeF content = m_sums->document()->size();
    const int bar = m_sums->verticalScrollBar()->sizeHint().width();
    const int frame = 2 * m_sums->frameWidth() + 2;
    QSize size(static_cast<int>(content.width()) + frame, static_cast<int>(content.height()) + frame);
    if (size.height() > plot.height()) size.rwidth() += bar;
    // Most of the timeline, and with it the area, stays in sight; long lines wrap.
    constexpr double kWidest = 0.4;
    size = size.boundedTo(QSize(static_cast<int>(plot.width() * kWidest), plot.height()));
    const QRect area = areaRect();
    const int right = plot.right() - area.right(), left = area.left() - plot.left();
    const int x = right >= left ? std::min(area.right() + 6, plot.right() - size.width())
                                : std::max(area.left() - 6 - size.width(), plot.left());
    m_sums->setGeometry(QRect(QPoint(std::max(x, plot.left()), plot.top()), size));
    m_sums->setVisible(true);
}

std::optional<IdleGap> TimelineView::gapAt(QPoint position) const {
    const Row* row = m_data && plotRect().contains(position) ? rowAt(position) : nullptr;
    if (!row || row->kind != Row::Kind::device || isMeasured()) return {};
    const Strip& strip = row->strips.front();
    const int y = position.y() - rowTop(*row) - strip.top;
    if (y < 0 || y > strip.height || spanAt(position)) return {};
    return idleGapAt(*m_data, row->resource, m_axis.toTime(position.x() + 0.5));
}

void TimelineView::clearGap() {
    if (!m_gap) return;
    m_gap.reset();
    update();
    Q_EMIT gapActivated(QString());
}

QRectF TimelineView::gapRect(const IdleGap& gap) const {
    const Row& row = m_rows[gap.device];
    const double left = std::max(m_axis.toX(gap.start_s), m_axis.left - 8);
    const double right = std::min(m_axis.toX(gap.end_s), m_axis.left + m_axis.width + 8);
    return QRectF(left, rowTop(row) + row.strips.front().top, std::max(right - left, 1.0),
                  row.strips.front().height);
}

QString TimelineView::batchText() const {
    const std::size_t batches = m_data->batches.size();
    return tr("A batch ends every %1: %2 batches take %3")
        .arg(secondsText(m_data->outcome.step_time_s))
        .arg(batches)
        .arg(secondsText(m_data->outcome.total_time_s));
}

// Pinned rows

bool TimelineView::isPinned(RowKey row) const {
    return std::ranges::find(m_pinned, row) != m_pinned.end();
}

void TimelineView::setPinned(RowKey row, bool pinned) {
    if (pinned == isPinned(row)) return;
    if (pinned) {
        m_pinned.push_back(row);
    } else {
        std::erase(m_pinned, row);
    }
    layOut();
    showSums();
}

void TimelineView::showMenu(QPoint position, QPoint global) {
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const Row* row = m_data ? rowAt(position) : nullptr;
    if (row && row->kind != Row::Kind::idle_channels) {
        const RowKey key{row->kind, row->resource};
        menu->addAction(
            isPinned(key) ? tr("&Unpin %1").arg(row->name) : tr("&Pin %1 to the top").arg(row->name), this,
            [this, key] { setPinned(key, !isPinned(key)); });
    }
    if (!m_pinned.empty()) {
        menu->addAction(tr("Unpin &all"), this, [this] {
            m_pinned.clear();
            layOut();
            showSums();
        });
    }
    if (m_area && m_sums->isVisible())
        menu->addAction(tr("&Zoom to the selected time"), this, [this] {
            TimeAxis axis = m_axis;
            axis.start_s = m_area->start_s();
            axis.end_s = m_area->end_s();
            setAxis(axis, false);
            showSums();
        });
    if (!menu->isEmpty() && !actions().isEmpty()) menu->addSeparator();
    menu->addActions(actions());
    menu->popup(global);
}

}  // namespace placewright
