// SPDX-License-Identifier: MIT
#include "widgets/timeline_view.hpp"

#include <algorithm>
#include <cmath>

#include <QScrollBar>
#include <QTextBrowser>

namespace placewright {
namespace {

constexpr double kSegmentSurroundings = 1.5;  // on either side of a segment, in multiples of its duration

}  // namespace

TimelineView::TimelineView(QWidget* parent)
    : OpView(parent), m_scroll(new QScrollBar(Qt::Vertical, this)), m_sums(new QTextBrowser(this)) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAttribute(Qt::WA_OpaquePaintEvent);
    setAccessibleName(tr("Timeline"));
    setAccessibleDescription(tr("What each device computes and each channel transfers, and when"));
    m_scroll->setAccessibleName(tr("Scroll the rows of the timeline"));
    m_scroll->setCursor(Qt::ArrowCursor);
    connect(m_scroll, &QScrollBar::valueChanged, this, qOverload<>(&QWidget::update));
    connect(m_scroll, &QScrollBar::valueChanged, this, &TimelineView::dropTargetsMoved);
    connect(m_scroll, &QScrollBar::valueChanged, this, &TimelineView::zoomChanged);
    m_sums->setObjectName(QStringLiteral("timelineSums"));
    m_sums->setAccessibleName(tr("Sums over the selected time"));
    m_sums->setOpenLinks(false);
    m_sums->setFocusPolicy(Qt::NoFocus);
    m_sums->setLineWrapMode(QTextEdit::NoWrap);
    m_sums->setCursor(Qt::ArrowCursor);
    m_sums->viewport()->setCursor(Qt::ArrowCursor);
    m_sums->document()->setDocumentMargin(5);
    m_sums->hide();
    connect(m_sums, &QTextBrowser::anchorClicked, this, [this] { select(m_areaOps); });
    layOut();
}

void TimelineView::setData(std::shared_ptr<const TimelineData> timeline) {
    const bool sameProblem = m_data && timeline && m_data->problem == timeline->problem;
    const bool sameMachine = m_data && timeline && m_data->problem->machine == timeline->problem->machine;
    m_data = std::move(timeline);
    m_current.reset();
    m_hoveredSpan.reset();
    clearGap();
    if (!sameMachine) {
        m_brushes.clear();
        m_pinned.clear();
    }
    if (!sameProblem) {
        m_selection.clear();
        m_hovered = kInvalidOp;
        m_matches.reset();
        clearArea();
        if (m_gesture == Gesture::area) m_gesture = Gesture::spent;
        m_fitted = true;
    }
    layOut();
    indexSelection();
    if (m_fitted) {
        fit();
    } else {
        setAxis(m_axis, false);
    }
    showSums();
}

void TimelineView::setSelection(const OpList& ops) {
    if (m_selection == ops) return;
    m_selection = ops;
    m_current.reset();
    if (!ops.empty()) m_gap.reset();
    indexSelection();
    repaintAll();
}

void TimelineView::setMatches(const std::optional<OpList>& ops) {
    if (m_matches == ops) return;
    m_matches = ops;
    indexSelection();
    repaintAll();
}

void TimelineView::reveal(OpId op) {
    if (!m_data || op >= m_data->op_spans.size()) return;
    const Span* first = nullptr;
    for (const std::uint32_t index : m_data->op_spans[op]) {
        const Span& span = m_data->trace.spans[index];
        if (span.kind != Span::Kind::op) continue;
        if (span.end_s >= m_axis.start_s && span.start_s <= m_axis.end_s) return scrollTo(*rowOf(span));
        if (first == nullptr || span.start_s < first->start_s) first = &span;
    }
    if (first == nullptr) return;
    scrollTo(*rowOf(*first));
    TimeAxis axis = m_axis;
    axis.pan(m_axis.left + m_axis.width / 2 - m_axis.toX((first->start_s + first->end_s) / 2));
    setAxis(axis, false);
}

TimelineZoom TimelineView::zoom() const {
    return {m_axis.start_s, m_axis.end_s, m_fitted, m_scroll->value()};
}

void TimelineView::setZoom(const TimelineZoom& zoom) {
    if (zoom.fitted) {
        fit();
    } else {
        TimeAxis axis = m_axis;
        axis.start_s = zoom.start_s;
        axis.end_s = zoom.end_s;
        setAxis(axis, false);
    }
    m_scroll->setValue(zoom.scrolled);
}

void TimelineView::setHovered(OpId op) {
    if (m_hovered == op) return;
    m_hovered = op;
    update();
}

void TimelineView::setDropPreview(const DropPreviews& previews, std::optional<DeviceId> target,
                                  bool reveals) {
    if (m_previews == previews && m_target == target) return;
    m_previews = previews;
    m_target = target;
    if (reveals && target && *target < m_rows.size() && m_rows[*target].kind == Row::Kind::device)
        scrollTo(m_rows[*target]);
    update();
}

void TimelineView::scrollAtEdge(QPoint global) {
    if (!isVisible()) return;
    const QRect rows = rect().adjusted(0, m_rulerHeight + m_pinnedHeight, 0, 0);
    m_scroll->setValue(m_scroll->value() + edgeStep(mapFromGlobal(global), rows));
}

void TimelineView::setWhy(std::shared_ptr<const TimelineWhy> why) {
    if (why == m_why) return;
    m_why = std::move(why);
    update();
}

void TimelineView::setPathShown(bool shown) {
    if (shown == m_pathShown) return;
    m_pathShown = shown;
    update();
}

void TimelineView::setMeasured(std::shared_ptr<const MeasuredRuns> measured) {
    if (measured == m_measured) return;
    m_measured = std::move(measured);
    measuredChanged();
}

void TimelineView::setMeasuredLayout(MeasuredLayout layout) {
    if (layout == m_measuredLayout) return;
    m_measuredLayout = layout;
    measuredChanged();
}

/// Lays the rows out again after the measured runs, or where they are, have changed.
void TimelineView::measuredChanged() {
    if (m_current && m_current->run != kSimulated) m_current.reset();
    m_hoveredSpan.reset();
    layOut();
    indexSelection();
    if (m_fitted) {
        fit();
    } else {
        setAxis(m_axis, false);
    }
}

void TimelineView::zoomToSegment(std::size_t index) {
    if (!why() || index >= why()->path.segments.size()) return;
    const PathSegment& segment = why()->path.segments[index];
    const Span& span = m_data->trace.spans[segment.span];
    select({m_data->forwardOf(span)});
    m_current = SpanRef{kSimulated, segment.span};
    TimeAxis axis = m_axis;
    const double around_s =
        std::max(segment.duration_s(), m_data->outcome.total_time_s * 1e-6) * kSegmentSurroundings;
    axis.start_s = segment.start_s - around_s;
    axis.end_s = segment.end_s + around_s;
    setAxis(axis, false);
    scrollTo(*rowOf(segment));
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
    axis.end_s = total_s();
    setAxis(axis, true);
}

void TimelineView::setAxis(const TimeAxis& axis, bool fitted) {
    const double whole_s = total_s();
    const TimelineZoom before = this->zoom();
    m_axis = axis;
    // On a narrower axis doubles could not distinguish pixels.
    const double least_s = whole_s * 1e-10;
    if (m_axis.end_s - m_axis.start_s < least_s) m_axis.end_s = m_axis.start_s + least_s;
    m_axis.clamp(whole_s);
    m_fitted = fitted || m_axis.end_s - m_axis.start_s >= whole_s;
    update();
    if (m_sums->isVisible()) showSums();
    // A view of the whole stays one while a search changes how long a step is.
    if (const TimelineZoom now = this->zoom(); now != before && !(now.fitted && before.fitted))
        Q_EMIT zoomChanged();
}

void TimelineView::setShared(double total_s, int headerWidth) {
    if (total_s == m_sharedTotal_s && headerWidth == m_sharedHeaderWidth) return;
    m_sharedTotal_s = total_s;
    m_sharedHeaderWidth = headerWidth;
    layOut();
    if (m_fitted) {
        fit();
    } else {
        setAxis(m_axis, false);
    }
}

// Selection and pointing

void TimelineView::indexSelection() {
    m_selectedSpans = spansOf(m_selection);
    m_matchedSpans = spansOf(m_matches.value_or(OpList()));
}

TimelineView::SpansOfOps TimelineView::spansOf(const OpList& ops) const {
    SpansOfOps found;
    if (!m_data) return found;
    found.resize(1 + measured().size());
    std::vector<bool> isWanted(m_data->op_spans.size());
    for (const OpId op : ops) {
        if (op < isWanted.size()) isWanted[op] = true;
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
        const TimelineData& shown = dataOf(static_cast<int>(i) - 1);
        found[i].resize(shown.lanes.size());
        if (ops.empty()) continue;
        // Filtering the lanes keeps their order; sorting the spans of the wanted ops would be slower for
        // many.
        for (std::size_t lane = 0; lane < shown.lanes.size(); ++lane) {
            std::ranges::copy_if(
                shown.lanes[lane].spans, std::back_inserter(found[i][lane]),
                [&](std::uint32_t span) { return isWanted[shown.forwardOf(shown.trace.spans[span])]; });
        }
    }
    return found;
}

const TimelineView::SpansOfOps* TimelineView::strongSpans() const {
    if (m_matches) return &m_matchedSpans;
    return m_selection.empty() ? nullptr : &m_selectedSpans;
}

void TimelineView::select(const OpList& ops) {
    setSelection(ops);
    Q_EMIT selectionEdited(ops);
}

void TimelineView::hover(QPoint position) {
    const auto span = m_data ? spanAt(position) : std::nullopt;
    const OpId op = span ? opOf(*span) : kInvalidOp;
    if (span != m_hoveredSpan) {
        m_hoveredSpan = span;
        update();
    }
    if (op != m_hovered) {
        setHovered(op);
        Q_EMIT opHovered(op);
    }
    pointAt(position);
}

/// Shows by the cursor what a drag from a position does, and the pin of the row whose name is there.
void TimelineView::pointAt(QPoint position) {
    std::optional<RowKey> name;
    Qt::CursorShape cursor = Qt::ArrowCursor;
    if (m_data && rect().contains(position)) {
        const Row* row = rowAt(position);
        if (position.x() < m_headerWidth) {
            if (row && row->kind != Row::Kind::idle_channels) name = RowKey{row->kind, row->resource};
        } else if (position.y() < m_rulerHeight) {
            cursor = Qt::CrossCursor;
        } else if (m_hoveredSpan && m_hoveredSpan->run == kSimulated &&
                   handleRect(m_hoveredSpan->span).contains(position)) {
            cursor = Qt::OpenHandCursor;
        }
    }
    if (name != m_hoveredName) {
        m_hoveredName = name;
        update();
    }
    if (cursor == Qt::ArrowCursor) {
        unsetCursor();
    } else if (this->cursor().shape() != cursor) {
        setCursor(cursor);
    }
}

void TimelineView::stepSpan(int direction) {
    if (!m_data) return;
    if (!m_current && !m_selection.empty()) {
        const auto& own = m_data->op_spans[m_selection.front()];
        const auto first = std::ranges::find_if(
            own, [&](std::uint32_t span) { return m_data->trace.spans[span].kind == Span::Kind::op; });
        if (first != own.end()) m_current = SpanRef{kSimulated, *first};
    }
    const int run = m_current ? m_current->run : kSimulated;
    const TimelineData& shown = dataOf(run);
    const std::vector<Span>& spans = shown.trace.spans;
    std::optional<std::uint32_t> next;
    if (!m_current) {
        for (std::size_t lane = 0; lane < shown.first_lane[shown.memory.size()]; ++lane) {
            const auto& row = shown.lanes[lane].spans;
            if (!row.empty() && (!next || spans[row.front()].start_s < spans[*next].start_s))
                next = row.front();
        }
    } else {
        const auto& row_spans = shown.lanes[shown.laneOf(spans[m_current->span])].spans;
        const auto at = std::ranges::find(row_spans, m_current->span) - row_spans.begin() + direction;
        if (at >= 0 && at < std::ssize(row_spans)) next = row_spans[static_cast<std::size_t>(at)];
    }
    if (!next) return;
    const Span& span = spans[*next];
    select({shown.forwardOf(span)});
    m_current = SpanRef{run, *next};
    scrollTo(*rowOf(span));
    const double x = m_axis.toX(span.start_s);
    if (x < m_axis.left || x > m_axis.left + m_axis.width * 0.95) {
        TimeAxis axis = m_axis;
        axis.pan(m_axis.left + m_axis.width * 0.3 - x);
        setAxis(axis, false);
    }
}

}  // namespace placewright
