// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>

#include <QBrush>
#include <QPixmap>

#include "widgets/drop_preview.hpp"
#include "widgets/idle_gaps.hpp"
#include "widgets/measured_runs.hpp"
#include "widgets/op_view.hpp"
#include "widgets/timeline_data.hpp"
#include "widgets/timeline_why.hpp"

class QPainter;
class QScrollBar;
class QTextBrowser;

namespace placewright {

/// Where a timeline shows measured runs.
enum class MeasuredLayout {
    below,    ///< in strips below the simulated one of each device and channel
    overlay,  ///< as outlines over the simulated ones
    off
};

/// What a timeline shows of its data: the part of the axis, and how far its rows are scrolled.
struct TimelineZoom {
    double start_s = 0;
    double end_s = 0;
    bool fitted = true;  ///< the whole step is shown, whatever it takes
    int scrolled = 0;    ///< in pixels

    bool operator==(const TimelineZoom&) const = default;
};

/// Gantt chart of one step: one row per device with its memory below, and one row per channel. Measured runs
/// are drawn on the same axis. Ops can be dropped onto device rows. A drag over the ruler selects a span of
/// time, with Shift over the rows also those rows, and shows sums over what runs there.
class TimelineView : public OpView {
    Q_OBJECT
public:
    explicit TimelineView(QWidget* parent = nullptr);

    /// Keeps the zoom if the data belongs to the same problem. Null shows a text that says how to fill the
    /// panel.
    void setData(std::shared_ptr<const TimelineData> timeline);
    void setSelection(const OpList& ops);
    void setHovered(OpId op);
    /// Ops that match the search text: the rest is dimmed, and the ruler has a tick for each. Nothing: there
    /// is no search.
    void setMatches(const std::optional<OpList>& ops);
    /// Pans so that the first span of an op is in view, if none is; does not zoom.
    void reveal(OpId op);
    /// Shows what a drop on each device would give and marks `target`. `reveals`: scrolls `target` into view;
    /// false while the pointer is on this view, whose rows must not move away from it.
    void setDropPreview(const DropPreviews& previews, std::optional<DeviceId> target, bool reveals = true);
    /// Sets the explanation of the data, from which the memory peaks and the critical path are drawn. One
    /// that belongs to other data is ignored.
    void setWhy(std::shared_ptr<const TimelineWhy> why);
    void setPathShown(bool shown);
    /// Sets the measured runs to draw with the data; those of another problem are ignored. Null or none:
    /// there are none.
    void setMeasured(std::shared_ptr<const MeasuredRuns> measured);
    void setMeasuredLayout(MeasuredLayout layout);
    /// Zooms to a segment of the critical path and its surroundings, and selects its op.
    void zoomToSegment(std::size_t segment);
    /// Rectangle of the mark on a device's memory peak; null if the peak is not known or out of view.
    QRectF peakRect(DeviceId device) const;
    /// Device whose row is at a global position.
    std::optional<DeviceId> deviceAt(QPoint global) const;
    void scrollAtEdge(QPoint global) override;

    void fit();
    /// Puts the axis below that of another timeline: it reaches to this time at least and begins behind a
    /// header that is at least so wide. 0: the timeline is alone.
    void setShared(double total_s, int headerWidth);
    /// Width that the texts of the header need, in pixels.
    int wantedHeaderWidth() const;
    TimelineZoom zoom() const;
    void setZoom(const TimelineZoom& zoom);
    const TimeAxis& axis() const { return m_axis; }
    /// Rectangle in which a span is drawn now.
    QRectF spanRect(std::uint32_t span) const { return rectOf({kSimulated, span}); }
    /// The same for a span of a measured run; null if no row shows it.
    QRectF measuredRect(std::size_t run, std::uint32_t span) const {
        return rectOf({static_cast<int>(run), span});
    }
    QRectF laneRect(DeviceId device) const;
    QRectF channelRect(ChannelId channel) const;
    /// The mark of one batch below the ruler; null unless several batches run.
    QRectF batchRect() const;
    /// The handle with which a span of an op is dragged in any direction, while the pointer is on the span;
    /// null if the span is too narrow for it.
    QRectF handleRect(std::uint32_t span) const;
    /// Pins a device's row below the ruler, where it stays while the rest scrolls.
    void setPinned(DeviceId device, bool pinned) { setPinned({Row::Kind::device, device}, pinned); }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    /// Draws the part of the axis on screen with all rows, also those that are scrolled out of view.
    void renderWhole(QPainter& painter) const;
    /// Size of what renderWhole() draws.
    QSize wholeSize() const;

Q_SIGNALS:
    /// The mark of a device's memory peak was clicked.
    void peakActivated(placewright::DeviceId device);
    /// An idle gap of a device was clicked; `html` says why it is idle, ops link to their id. Empty: it is no
    /// longer shown.
    void gapActivated(const QString& html);
    /// The user or setZoom() has zoomed or scrolled.
    void zoomChanged();

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
    static constexpr int kBarTop = 3;      ///< pixels from a row's top to its spans
    static constexpr int kMarkHeight = 4;  ///< pixels below a strip, for marks of differences
    static constexpr int kSimulated = -1;

    /// A span of the data, or of a measured run.
    struct SpanRef {
        int run = kSimulated;
        std::uint32_t span = 0;

        bool operator==(const SpanRef&) const = default;
    };

    /// The spans that the data or a measured run has on the resource of a row.
    struct Strip {
        int run = kSimulated;
        int top = 0;  ///< in pixels below the row's top
        int height = 0;
        int lanes = 1;  ///< streams of a device, stacked within the strip
    };

    struct Row {
        enum class Kind : std::uint8_t { device, host, channel, idle_channels };
        Kind kind = Kind::device;
        std::uint16_t resource = 0;  ///< device, host lane or channel
        int top = 0;                 ///< in pixels below the ruler, before scrolling; of a pinned row as is
        int height = 0;
        std::vector<Strip> strips{};  ///< the simulated one first; a device's memory is below them

        /// Distance of the lower end of the strips from the row's top.
        int stripsEnd() const;
        QString name;
        QString detail;
        bool warn = false;
        bool pinned = false;
        bool small = false;  ///< without its detail, so that more rows fit
    };
    /// Names a row, whatever other rows there are.
    struct RowKey {
        Row::Kind kind = Row::Kind::device;
        std::uint16_t resource = 0;

        bool operator==(const RowKey&) const = default;
    };
    /// Action of the pressed mouse button.
    enum class Gesture { none, press, pan, area, drag, spent };
    /// A span of time, over all rows or some.
    struct Area {
        double from_s = 0, to_s = 0;
        std::vector<RowKey> rows{};  ///< none: all

        double start_s() const { return std::min(from_s, to_s); }
        double end_s() const { return std::max(from_s, to_s); }
    };
    /// The spans of some ops: [1 + run][lane of its data], ascending in start.
    using SpansOfOps = std::vector<std::vector<std::vector<std::uint32_t>>>;

    /// Maps bytes to y in the row of a device.
    struct MemoryScale {
        int top = 0, bottom = 0;
        double top_bytes = 1;
        bool limitShown = true;

        int y(double bytes) const;
    };

    bool isMeasured() const { return m_data->source == TimelineData::Source::measured; }

    // Layout
    void layOut();
    void listRows();
    /// Width of the names beside the chart, in pixels.
    int headerWidth() const;
    void shrinkRows();
    void stackRows();
    void setAxis(const TimeAxis& axis, bool fitted);
    int rowTop(const Row& row) const;
    /// The part of the chart in which a row is visible: that of the pinned rows, or the one that scrolls.
    QRect visiblePart(const Row& row) const;
    const Row* rowAt(QPoint position) const;
    const Row* rowOf(const Span& span) const;
    /// The row of what a segment of the critical path waits for or does.
    const Row* rowOf(const PathSegment& segment) const;
    QRect plotRect() const;
    /// Index in TimelineData::lanes of the first lane of a row of a device or channel.
    std::size_t firstLane(const Row& row, int run) const;
    const TimelineData::Lane& laneAt(const Row& row, const Strip& strip, int lane) const;
    /// The data, or that of a measured run.
    const TimelineData& dataOf(int run) const;
    /// The measured runs that are drawn; empty if there are none.
    std::span<const MeasuredRuns::Run> measured() const;
    /// Seconds that the axis can show.
    double total_s() const;
    /// The trace whose spans a strip of a row shows.
    const Trace& traceOf(const Row& row, const Strip& strip) const;
    const Span& spanOf(SpanRef ref) const { return dataOf(ref.run).trace.spans[ref.span]; }
    OpId opOf(SpanRef ref) const { return dataOf(ref.run).forwardOf(spanOf(ref)); }
    QRectF rectOf(SpanRef ref) const;
    /// Offset of a lane's spans below the row's top, and their height.
    static std::pair<int, int> laneSpace(const Strip& strip, int lane);
    /// Number of a span's lane within its strip.
    int laneIn(const Row& row, SpanRef ref) const;
    /// Adds the strips of the measured runs that have spans on the row's resource.
    void addMeasuredStrips(Row& row) const;
    std::optional<std::uint32_t> nearestSpan(const Row& row, const Strip& strip, QPoint position) const;
    std::optional<SpanRef> spanAt(QPoint position) const;
    std::ptrdiff_t spansInColumn(const Row& row, SpanRef ref, QPoint position) const;
    MemoryScale memoryScale(const Row& row) const;
    void scrollTo(const Row& row);
    void repaintAll();
    /// The explanation of the shown data; null if there is none.
    const TimelineWhy* why() const { return m_why && m_why->timeline == m_data ? m_why.get() : nullptr; }
    std::optional<DeviceId> peakAt(QPoint position) const;

    // Pinned rows and the menu of a row
    void setPinned(RowKey row, bool pinned);
    bool isPinned(RowKey row) const;
    QRect pinRect(const Row& row) const;
    void showMenu(QPoint position, QPoint global);

    // Areas and gaps
    void beginArea(QPoint position);
    void dragArea(QPoint position);
    void endArea();
    void clearArea();
    /// Shows the sums over the area, or hides them if there is none.
    void showSums();
    bool isInArea(const Row& row) const;
    QRect areaRect() const;
    /// The idle gap of a device under a position, where the data says why devices wait.
    std::optional<IdleGap> gapAt(QPoint position) const;
    QRectF gapRect(const IdleGap& gap) const;
    void clearGap();
    QString batchText() const;

    // Painting
    /// Everything but the marks that follow the pointer or stay where they are during a pan.
    struct Chart {
        QPixmap picture;  ///< null: must be painted
        TimeAxis axis;
        int scrolled = 0;
        double tick_s = 0;

        bool isNull() const { return picture.isNull(); }
    };
    void refreshChart() const;
    /// Moves the picture of the chart by whole pixels, as far as it has panned since it was painted, and
    /// returns how far to the right and down; nothing if it has changed in another way.
    std::optional<QPoint> shiftChart(double tick_s) const;
    /// Paints a part of what is below the ruler.
    void paintPart(QPainter& painter, const QRect& part) const;
    void paintRow(QPainter& painter, const Row& row, const QRect& part) const;
    void paintBackground(QPainter& painter, const QRect& part) const;
    void paintFrame(QPainter& painter) const;
    void paintSides(QPainter& painter, int right) const;
    void paintEnds(QPainter& painter, int down) const;
    Columns reach(const Row& row, int x) const;
    bool hasMemory(const Row& row) const;
    QRect rowRect(const Row& row) const;
    QColor lineColor() const;
    /// Seconds between the ticks of the ruler.
    double rulerStep_s() const;
    /// Calls `visit` with the time and the column of each tick in view.
    template <class Visit>
    void forTicks(Visit visit) const;
    void paintRuler(QPainter& painter) const;
    void paintHeader(QPainter& painter, const Row& row) const;
    void paintSpans(QPainter& painter, const Row& row, Columns columns) const;
    void paintLane(QPainter& painter, const Row& row, const Strip& strip, int lane, Columns columns) const;
    /// Paints those spans of a lane, of which `marks` are visible. `busy_s`: as TimelineData::Lane::busy_s;
    /// empty: columns are opaque.
    void paintBlocks(QPainter& painter, const Row& row, const Strip& strip, int lane,
                     const std::vector<std::uint32_t>& spans, const std::vector<SpanMark>& marks,
                     std::span<const double> busy_s) const;
    void paintPin(QPainter& painter, const Row& row) const;
    void paintBatch(QPainter& painter) const;
    void paintTicks(QPainter& painter) const;
    void paintGap(QPainter& painter) const;
    void paintHandle(QPainter& painter) const;
    void paintLaneOutlines(QPainter& painter, const Row& row, const Strip& strip, int lane,
                           Columns columns) const;
    /// Marks what takes much longer or shorter than simulated, below its block.
    void paintDifferences(QPainter& painter, const Row& row, const Strip& strip, int lane,
                          Columns columns) const;
    void paintMemory(QPainter& painter, const Row& row, Columns columns) const;
    void paintLimits(QPainter& painter) const;
    void paintPeaks(QPainter& painter) const;
    void paintPath(QPainter& painter) const;
    void paintSelected(QPainter& painter, const Row& row, Columns columns) const;
    void paintHovered(QPainter& painter) const;
    void paintOutline(QPainter& painter, const QRect& block, bool strong) const;
    void paintArrows(QPainter& painter) const;
    void paintDropPreview(QPainter& painter) const;
    void paintArea(QPainter& painter) const;
    static constexpr std::size_t kBatchShades = 3;
    using Brushes = std::array<QBrush, 3 * kBatchShades>;
    /// By phase, and by batch modulo kBatchShades.
    const Brushes& brushesOf(DeviceId device) const;

    // Selection and pointing
    void select(const OpList& ops);
    void hover(QPoint position);
    void stepSpan(int direction);
    void startPan(bool ofOp);
    void indexSelection();
    SpansOfOps spansOf(const OpList& ops) const;
    /// The spans that keep their full colour; null: all do.
    const SpansOfOps* strongSpans() const;
    void measuredChanged();
    void pointAt(QPoint position);
    QString toolTipAt(QPoint position) const;
    QString toolTipOf(SpanRef ref, QPoint position) const;
    QString deviceToolTip(const Row& row) const;
    /// What the measured runs say of a device, as further lines of its tooltip.
    QString measuredTotals(DeviceId device) const;
    QString memoryText(const Row& row, double time_s) const;

    std::shared_ptr<const TimelineData> m_data;
    std::shared_ptr<const TimelineWhy> m_why;
    std::shared_ptr<const MeasuredRuns> m_measured;
    MeasuredLayout m_measuredLayout = MeasuredLayout::below;
    bool m_pathShown = false;
    TimeAxis m_axis;
    double m_sharedTotal_s = 0;   ///< see setShared()
    int m_sharedHeaderWidth = 0;  ///< see setShared()
    bool m_fitted = true;
    bool m_idleShown = false;  ///< idle channels have rows

    std::vector<Row> m_rows;  ///< devices first, then host lanes, in order
    int m_rulerHeight = 0;
    int m_headerWidth = 0;
    int m_naturalHeight = 0;  ///< of the rows, before they share the spare height
    int m_contentHeight = 0;
    int m_pinnedHeight = 0;
    std::vector<RowKey> m_pinned;  ///< in the order in which they were pinned
    QScrollBar* m_scroll = nullptr;

    OpList m_selection;
    SpansOfOps m_selectedSpans;
    std::optional<OpList> m_matches;
    SpansOfOps m_matchedSpans;
    std::optional<SpanRef> m_current;  ///< the span from which the keyboard steps
    OpId m_hovered = kInvalidOp;
    std::optional<SpanRef> m_hoveredSpan;
    DropPreviews m_previews;
    std::optional<DeviceId> m_target;
    std::optional<Area> m_area;
    QTextBrowser* m_sums = nullptr;
    OpList m_areaOps;              ///< that compute in the area
    std::optional<IdleGap> m_gap;  ///< the one that was clicked
    /// The row whose name is under the pointer.
    std::optional<RowKey> m_hoveredName;

    Gesture m_gesture = Gesture::none;
    QPoint m_pressed, m_last;
    bool m_pansOp = false;  ///< the pan began on the block of an op

    mutable Chart m_chart;
    mutable std::vector<Brushes> m_brushes;  ///< by device
};

template <class Visit>
void TimelineView::forTicks(Visit visit) const {
    const double step_s = m_chart.tick_s;
    const auto first = static_cast<std::int64_t>(std::ceil(m_axis.start_s / step_s - 1e-9));
    for (std::int64_t i = first; static_cast<double>(i) * step_s <= m_axis.end_s * (1 + 1e-12); ++i) {
        const double time_s = static_cast<double>(i) * step_s;
        visit(time_s, static_cast<int>(m_axis.toX(time_s)));
    }
}

}  // namespace placewright
