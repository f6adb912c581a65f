// SPDX-License-Identifier: MIT
// Mouse and keyboard of a TimelineView.
#include <algorithm>
#include <cmath>

#include <QApplication>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QTextBrowser>
#include <QToolTip>

#include "widgets/timeline_view.hpp"

namespace placewright {
namespace {

constexpr double kZoomStep = 1.25;
constexpr int kPanKeyPixels = 80;

bool isZoomOrPanKey(int key) {
    return key == Qt::Key_W || key == Qt::Key_S || key == Qt::Key_A || key == Qt::Key_D || key == Qt::Key_F ||
           key == Qt::Key_Comma || key == Qt::Key_Period || (key >= Qt::Key_1 && key <= Qt::Key_9);
}

}  // namespace

void TimelineView::mousePressEvent(QMouseEvent* event) {
    setFocus(Qt::MouseFocusReason);
    if (!m_data || m_gesture != Gesture::none) return;
    if (event->button() == Qt::MiddleButton && event->position().x() >= m_headerWidth) {
        m_pressed = m_last = event->position().toPoint();
        return startPan(false);
    }
    if (event->button() != Qt::LeftButton) return;
    m_pressed = m_last = event->position().toPoint();
    m_gesture = Gesture::press;
    const bool onRuler = m_pressed.y() < m_rulerHeight;
    if (m_pressed.x() >= m_headerWidth && (onRuler || event->modifiers().testFlag(Qt::ShiftModifier)))
        beginArea(m_pressed);
}

/// `ofOp`: began on the block of an op, so that it says how to move the op.
void TimelineView::startPan(bool ofOp) {
    m_gesture = Gesture::pan;
    m_pansOp = ofOp;
    setCursor(Qt::ClosedHandCursor);
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
    const QPoint position = event->position().toPoint();
    const QPoint global = event->globalPosition().toPoint();
    if (m_gesture == Gesture::press &&
        (position - m_pressed).manhattanLength() >= QApplication::startDragDistance()) {
        const auto span = spanAt(m_pressed);
        const QPoint moved = position - m_pressed;
        const bool isOp = span && spanOf(*span).kind == Span::Kind::op;
        const bool onHandle = isOp && span->run == kSimulated && handleRect(span->span).contains(m_pressed);
        if (isOp && (onHandle || std::abs(moved.y()) >= std::abs(moved.x()))) {
            m_gesture = Gesture::drag;
            QToolTip::hideText();
            const OpId op = opOf(*span);
            if (!std::ranges::binary_search(m_selection, op)) select({op});
            beginOpDrag(m_selection, mapToGlobal(m_pressed));
        } else if (m_pressed.x() >= m_headerWidth) {
            startPan(isOp);
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
        case Gesture::area:
            dragArea(position);
            break;
        case Gesture::press:
        case Gesture::spent:
            break;
    }
    m_last = position;
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton) return;
    const Gesture gesture = std::exchange(m_gesture, Gesture::none);
    const QPoint position = event->position().toPoint();
    switch (gesture) {
        case Gesture::press: {
            const bool hadArea = m_area.has_value();
            clearArea();
            clearGap();
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
            } else if (row && row->kind != Row::Kind::idle_channels && pinRect(*row).contains(m_pressed)) {
                const RowKey key{row->kind, row->resource};
                setPinned(key, !isPinned(key));
            } else if (!toggles) {
                if (const auto gap = hadArea ? std::nullopt : gapAt(m_pressed)) {
                    select({});
                    m_gap = gap;
                    Q_EMIT gapActivated(gapText(*m_data, *gap, true));
                } else {
                    select({});
                }
            }
            update();
            break;
        }
        case Gesture::drag:
            dropOps(event->globalPosition().toPoint());
            break;
        case Gesture::pan:
            unsetCursor();
            update();
            break;
        case Gesture::area:
            endArea();
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
            if (m_area) {
                if (m_gesture == Gesture::area) m_gesture = Gesture::spent;
                return clearArea();
            }
            if (m_gap) return clearGap();
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
            if (m_sums->isVisible() && m_sums->geometry().contains(help->pos())) return true;
            const QString text = toolTipAt(help->pos());
            const auto span = m_data ? spanAt(help->pos()) : std::nullopt;
            const auto gap = span ? std::nullopt : gapAt(help->pos());
            // The tooltip stays while the pointer is over the same block or gap.
            QRect area(help->pos(), QSize(1, 1));
            if (span) area = rectOf(*span).adjusted(-3, -2, 3, 2).toRect() & rect();
            if (gap) area = gapRect(*gap).toRect() & rect();
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
            if ((plain && isZoomOrPanKey(key->key())) ||
                (key->key() == Qt::Key_Escape && (isDraggingOps() || m_area || m_gap))) {
                event->accept();
                return true;
            }
            break;
        }
        case QEvent::ContextMenu: {
            const auto* menu = static_cast<QContextMenuEvent*>(event);
            const bool byKeyboard = menu->reason() == QContextMenuEvent::Keyboard;
            if (m_gesture == Gesture::none) showMenu(byKeyboard ? QPoint() : menu->pos(), menu->globalPos());
            return true;
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
