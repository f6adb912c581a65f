// SPDX-License-Identifier: MIT
#include "widgets/timeline_view.hpp"

#include <algorithm>
#include <cmath>

#include <QApplication>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>

namespace placewright {
namespace {

constexpr double kZoomStep = 1.25;
constexpr int kPanKeyPixels = 80;
constexpr double kSegmentSurroundings = 1.5;  // on either side of a segment, in multiples of its duration

bool isZoomOrPanKey(int key) {
    return key == Qt::Key_W || key == Qt::Key_S || key == Qt::Key_A || key == Qt::Key_D || key == Qt::Key_F ||
           key == Qt::Key_Comma || key == Qt::Key_Period || (key >= Qt::Key_1 && key <= Qt::Key_9);
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
    connect(m_scroll, &QScrollBar::valueChanged, this, &TimelineView::dropTargetsMoved);
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
    const QRect rows = rect().adjusted(0, m_rulerHeight, 0, 0);
    m_scroll->setValue(m_scroll->value() + edgeStep(mapFromGlobal(global), rows));
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
    m_axis = axis;
    // On a narrower axis doubles could not distinguish pixels.
    const double least_s = whole_s * 1e-10;
    if (m_axis.end_s - m_axis.start_s < least_s) m_axis.end_s = m_axis.start_s + least_s;
    m_axis.clamp(whole_s);
    m_fitted = fitted || m_axis.end_s - m_axis.start_s >= whole_s;
    repaintAll();
    Q_EMIT axisMoved(m_axis.start_s, m_axis.end_s);
}

void TimelineView::setSharedTotal(double total_s) {
    if (total_s == m_sharedTotal_s) return;
    m_sharedTotal_s = total_s;
    if (m_fitted) {
        fit();
    } else {
        setAxis(m_axis, false);
    }
}

void TimelineView::showTimes(double start_s, double end_s) {
    TimeAxis axis = m_axis;
    axis.start_s = start_s;
    axis.end_s = end_s;
    setAxis(axis, false);
}

void TimelineView::repaintAll() {
    m_chart = QPixmap();
    update();
}

// Selection and pointing

void TimelineView::indexSelection() {
    m_selectedSpans.clear();
    if (!m_data) return;
    m_selectedSpans.resize(1 + measured().size());
    std::vector<bool> isSelected(m_data->op_spans.size());
    for (const OpId op : m_selection) {
        if (op < isSelected.size()) isSelected[op] = true;
    }
    for (std::size_t i = 0; i < m_selectedSpans.size(); ++i) {
        const TimelineData& shown = dataOf(static_cast<int>(i) - 1);
        m_selectedSpans[i].resize(shown.lanes.size());
        if (m_selection.empty()) continue;
        // Filtering the lanes keeps their order; sorting the spans of the selected ops would be slower for
        // many.
        for (std::size_t lane = 0; lane < shown.lanes.size(); ++lane) {
            std::ranges::copy_if(
                shown.lanes[lane].spans, std::back_inserter(m_selectedSpans[i][lane]),
                [&](std::uint32_t span) { return isSelected[shown.forwardOf(shown.trace.spans[span])]; });
        }
    }
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
    if (m_gesture == Gesture::press &&
        (position - m_pressed).manhattanLength() >= QApplication::startDragDistance()) {
        const auto span = spanAt(m_pressed);
        const QPoint moved = position - m_pressed;
        const bool isOp = span && spanOf(*span).kind == Span::Kind::op;
        if (isOp && std::abs(moved.y()) >= std::abs(moved.x())) {
            m_gesture = Gesture::drag;
            QToolTip::hideText();
            const OpId op = opOf(*span);
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
                const OpId op = opOf(*span);
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
            if ((position - m_pressed).manhattanLength() < QApplication::startDragDistance())
                m_measure.reset();
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
    if (event->modifiers().testFlag(Qt::ControlModifier) ||
        (!scrolls && delta.x() == 0 && event->modifiers() == Qt::NoModifier)) {
        axis.zoom(std::pow(kZoomStep, delta.y() / 120.0),
                  std::clamp(position.x(), m_axis.left, m_axis.left + m_axis.width));
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
    if (event->modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier))
        return OpView::keyPressEvent(event);
    if (key >= Qt::Key_1 && key <= Qt::Key_9) {
        if (!m_selection.empty()) Q_EMIT deviceKeyPressed(key - Qt::Key_0);
        return;
    }
    TimeAxis axis = m_axis;
    // If the pointer is not over the chart, zoom at its middle.
    const QPoint pointer = mapFromGlobal(QCursor::pos());
    const double at =
        underMouse() && plotRect().contains(pointer) ? pointer.x() : m_axis.left + m_axis.width / 2;
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
            return m_scroll->triggerAction(key == Qt::Key_Up ? QScrollBar::SliderSingleStepSub
                                                             : QScrollBar::SliderSingleStepAdd);
        case Qt::Key_PageUp:
        case Qt::Key_PageDown:
            return m_scroll->triggerAction(key == Qt::Key_PageUp ? QScrollBar::SliderPageStepSub
                                                                 : QScrollBar::SliderPageStepAdd);
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
            // The tooltip stays while the pointer is over the same block.
            const QRect area = span ? rectOf(*span).adjusted(-3, -2, 3, 2).toRect() & rect()
                                    : QRect(help->pos(), QSize(1, 1));
            if (text.isEmpty() || m_gesture != Gesture::none) {
                QToolTip::hideText();
            } else {
                QToolTip::showText(help->globalPos(), text, this, area);
            }
            return true;
        }
        case QEvent::ShortcutOverride: {
            // Keys that this view handles take precedence over shortcuts of the window.
            const auto* key = static_cast<QKeyEvent*>(event);
            const bool plain =
                !(key->modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier));
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

}  // namespace placewright
