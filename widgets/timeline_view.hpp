// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <memory>
#include <optional>

#include <QBrush>
#include <QPixmap>

#include "widgets/drop_preview.hpp"
#include "widgets/op_view.hpp"
#include "widgets/timeline_data.hpp"

class QPainter;
class QScrollBar;

namespace placewright {

/// The Gantt chart of one step: a row a device with its memory below, a row a channel. Device rows are also lanes onto which ops can be
/// dropped.
class TimelineView : public OpView {
    Q_OBJECT
public:
    explicit TimelineView(QWidget* parent = nullptr);

    /// Keeps the zoom if the data is of the same problem. Null shows what would fill the panel.
    void setData(std::shared_ptr<const TimelineData> timeline);
    void setSelection(const OpList& ops);
    void setHovered(OpId op);
    /// A target that is out of view is scrolled into it.
    void setDropPreview(const DropPreviews& previews, std::optional<DeviceId> target);
    /// Device whose lane is at a global position.
    std::optional<DeviceId> deviceAt(QPoint global) const;

    void fit();
    const TimeAxis& axis() const { return m_axis; }
    /// Where a span is drawn now, for tests and for pointing at it.
    QRectF spanRect(std::uint32_t span) const;
    QRectF laneRect(DeviceId device) const;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;
    void wheelEvent(QWheelEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void leaveEvent(QEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void hideEvent(QHideEvent*) override;
    bool event(QEvent*) override;

private:
    struct Row {
        enum class Kind { device, channel, idle_channels };
        Kind kind = Kind::device;
        std::uint16_t resource = 0;  ///< device or channel
        int top = 0;                 ///< below the ruler, not scrolled
        int height = 0;
        int bar = 0;  ///< height of the spans; the memory of a device is below

        QString name;
        QString detail;
        bool warn = false;
    };
    /// What the pressed mouse button does.
    enum class Gesture { none, press, pan, measure, drag, spent };
    struct Measure {
        double from_s = 0, to_s = 0;
    };

    // Layout
    void layOut();
    void setAxis(const TimeAxis& axis, bool fitted);
    int rowTop(const Row& row) const;
    const Row* rowAt(QPoint position) const;
    const Row* rowOf(const Span& span) const;
    QRect plotRect() const;
    std::span<const std::uint32_t> spansOf(const Row& row) const;
    std::optional<std::uint32_t> spanAt(QPoint position) const;
    std::ptrdiff_t spansInColumn(const Row& row, int x) const;
    void scrollTo(const Row& row);
    void repaintAll();

    // Painting
    void paintChart(QPainter& painter) const;
    void paintRuler(QPainter& painter) const;
    void paintHeader(QPainter& painter, const Row& row) const;
    void paintSpans(QPainter& painter, const Row& row) const;
    void paintMemory(QPainter& painter, const Row& row) const;
    void paintOutlines(QPainter& painter) const;
    void paintArrows(QPainter& painter) const;
    void paintDropPreview(QPainter& painter) const;
    void paintMeasure(QPainter& painter) const;
    const std::array<QBrush, 3>& brushesOf(DeviceId device) const;

    // Selection and pointing
    void select(const OpList& ops);
    void hover(QPoint position);
    void stepSpan(int direction);
    void indexSelection();
    QString toolTipAt(QPoint position) const;

    std::shared_ptr<const TimelineData> m_data;
    TimeAxis m_axis;
    bool m_fitted = true;
    bool m_idleShown = false;  ///< channels that carried nothing have rows

    std::vector<Row> m_rows;  ///< devices first, in order
    int m_rulerHeight = 0;
    int m_headerWidth = 0;
    int m_naturalHeight = 0;  ///< of the rows, before they share what is left over
    int m_contentHeight = 0;
    QScrollBar* m_scroll = nullptr;

    OpList m_selection;
    std::vector<std::vector<std::uint32_t>> m_selectedSpans;  ///< by device, then by channel; ascending in start
    std::optional<std::uint32_t> m_current;                   ///< the span that the keyboard steps from
    OpId m_hovered = kInvalidOp;
    std::optional<std::uint32_t> m_hoveredSpan;
    DropPreviews m_previews;
    std::optional<DeviceId> m_target;
    std::optional<Measure> m_measure;

    Gesture m_gesture = Gesture::none;
    QPoint m_pressed, m_last;

    mutable QPixmap m_chart;                               ///< all but what follows the pointer; null when it must be painted anew
    mutable std::vector<std::array<QBrush, 3>> m_brushes;  ///< by device and phase
};

}  // namespace placewright
