// SPDX-License-Identifier: MIT
// Mouse and keyboard of a GraphView: clicks, drags, pans, zooms, and steps from op to op.
#include <cmath>

#include <QApplication>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>

#include "widgets/graph_view.hpp"

namespace placewright {
namespace {

constexpr double kKeyPan = 60;  ///< pan distance of a key press, pixels
constexpr double kPage = 0.85;  ///< pan distance of Page Up and Down, share of the view's height

}  // namespace

void GraphView::hover(int node) {
    if (node == m_hovered) return;
    m_hovered = node;
    update();
    const bool isOp = node >= 0 && !m_scene->nodes[static_cast<std::size_t>(node)].isModule();
    Q_EMIT opHovered(isOp ? m_scene->nodes[static_cast<std::size_t>(node)].op : kInvalidOp);
}

void GraphView::click(int node, Qt::KeyboardModifiers modifiers) {
    const bool toggles = modifiers & (Qt::ControlModifier | Qt::ShiftModifier);
    if (node < 0) {
        if (!toggles && !m_selection.empty()) editSelection({});
        return;
    }
    const auto clicked = m_scene->nodes[static_cast<std::size_t>(node)].ops();
    if (!toggles) return editSelection({clicked.begin(), clicked.end()});
    OpList ops = m_selection;
    if (isSelected(static_cast<std::uint32_t>(node))) {
        std::erase_if(ops, [&](OpId op) { return std::ranges::binary_search(clicked, op); });
    } else {
        ops.insert(ops.end(), clicked.begin(), clicked.end());
    }
    editSelection(std::move(ops));
}

bool GraphView::startDrag(QPoint global) {
    // Of a partly selected module only the selected ops are dragged.
    if (!holdsSelected(static_cast<std::uint32_t>(m_pressedNode))) click(m_pressedNode, Qt::NoModifier);
    m_gesture = Gesture::drag;
    beginOpDrag(m_selection, global);
    return m_gesture == Gesture::drag;
}

void GraphView::cancelGesture() {
    const Gesture was = std::exchange(m_gesture, m_gesture == Gesture::none ? Gesture::none : Gesture::spent);
    if (was == Gesture::none) return;
    unsetCursor();
    update();
    if (was == Gesture::drag) cancelOpDrag();
}

QRectF GraphView::band() const {
    return QRectF(m_pressed, m_last).normalized();
}

void GraphView::mousePressEvent(QMouseEvent* event) {
    if (m_scene && m_gesture == Gesture::none && event->button() == Qt::RightButton) {
        // The context menu that follows refers to the op under the pointer.
        const int node = nodeUnder(event->position());
        if (node >= 0 && !holdsSelected(static_cast<std::uint32_t>(node))) click(node, Qt::NoModifier);
    }
    const bool pans = event->button() == Qt::MiddleButton;
    if (!m_scene || m_gesture != Gesture::none || (!pans && event->button() != Qt::LeftButton))
        return event->ignore();
    m_pressed = m_last = event->position();
    m_pressedNode = nodeUnder(m_pressed);
    m_gesture = pans ? Gesture::pan : Gesture::press;
    if (pans) setCursor(Qt::ClosedHandCursor);
}

void GraphView::mouseMoveEvent(QMouseEvent* event) {
    const QPointF position = event->position();
    if (event->buttons() == Qt::NoButton) {
        cancelGesture();  // the release went to another window, for example a dialog
        m_gesture = Gesture::none;
        hover(nodeUnder(position));
        return;
    }
    if (m_gesture == Gesture::press) {
        if ((position - m_pressed).manhattanLength() < QApplication::startDragDistance()) return;
        if (event->modifiers() & Qt::ShiftModifier) {
            m_gesture = Gesture::band;
        } else if (m_pressedNode >= 0) {
            if (!startDrag(event->globalPosition().toPoint())) return;
        } else {
            m_gesture = Gesture::pan;
            setCursor(Qt::ClosedHandCursor);
        }
    }
    if (m_gesture == Gesture::pan) {
        const QPointF before(m_view.dx(), m_view.dy());
        panBy(position - m_last);
        // The rounding remainder is kept for the next move, otherwise the graph would drift away from the
        // pointer.
        const QPointF moved = QPointF(m_view.dx(), m_view.dy()) - before, wanted = position - m_last;
        const bool held = (wanted - moved).manhattanLength() >= 2;
        m_last = held ? position : m_last + moved;
    } else if (m_gesture == Gesture::band) {
        m_last = position;
        update();
    } else if (m_gesture == Gesture::drag) {
        Q_EMIT opDragMoved(event->globalPosition().toPoint());
    }
}

void GraphView::mouseReleaseEvent(QMouseEvent* event) {
    const bool ends = event->button() == Qt::LeftButton ||
                      (event->button() == Qt::MiddleButton && m_gesture == Gesture::pan);
    if (!ends) return event->ignore();
    const Gesture was = std::exchange(m_gesture, Gesture::none);
    unsetCursor();
    if (was == Gesture::press) {
        click(m_pressedNode, event->modifiers());
    } else if (was == Gesture::band) {
        OpList ops = event->modifiers() & Qt::ControlModifier ? m_selection : OpList{};
        for (const std::uint32_t node : m_scene->nodesIn(m_view.inverted().mapRect(band()))) {
            ops.insert(ops.end(), m_scene->nodes[node].ops().begin(), m_scene->nodes[node].ops().end());
        }
        editSelection(std::move(ops));
    } else if (was == Gesture::drag) {
        dropOps(event->globalPosition().toPoint());
    }
}

void GraphView::mouseDoubleClickEvent(QMouseEvent* event) {
    const int node = event->button() == Qt::LeftButton ? nodeUnder(event->position()) : -1;
    if (node < 0) return;
    if (m_scene->nodes[static_cast<std::size_t>(node)].isModule()) {
        const std::vector nodes{static_cast<std::uint32_t>(node)};
        openModules(event->modifiers() & Qt::ShiftModifier ? withEqualModules(nodes) : nodes,
                    m_scene->nodes[nodes.front()].op);
    } else {
        zoomTo({m_scene->nodes[static_cast<std::size_t>(node)].op});
    }
}

void GraphView::wheelEvent(QWheelEvent* event) {
    if (!m_scene) return event->ignore();
    const QPoint turned = event->angleDelta();
    if (std::abs(turned.x()) > std::abs(turned.y()) && !(event->modifiers() & Qt::AltModifier)) {
        panBy(QPointF(turned.x() / 2.0, 0));
    } else if (m_wheelScrolls && !(event->modifiers() & (Qt::ControlModifier | Qt::AltModifier))) {
        const QPointF way(0, turned.y() / 2.0);
        panBy(event->modifiers() & Qt::ShiftModifier ? way.transposed() : way);
    } else {
        // On some systems Alt turns the wheel sideways.
        zoomBy(std::pow(1.2, (turned.y() + turned.x()) / 120.0), event->position());
    }
    if (m_gesture == Gesture::none) hover(nodeUnder(event->position()));
    event->accept();
}

void GraphView::selectNeighbour(int key) {
    const std::vector<std::uint32_t> selected = selectedNodes();
    if (selected.size() != 1) {
        panBy({key == Qt::Key_Left    ? kKeyPan
               : key == Qt::Key_Right ? -kKeyPan
                                      : 0,
               key == Qt::Key_Up     ? kKeyPan
               : key == Qt::Key_Down ? -kKeyPan
                                     : 0});
        return;
    }
    const std::uint32_t at = selected.front();
    const QRectF& here = m_scene->nodes[at].rect;
    const bool across = key == Qt::Key_Left || key == Qt::Key_Right;
    const bool rightwards = m_scene->room.direction == LayoutRoom::Direction::right;
    const bool onwards = (key == Qt::Key_Right || key == Qt::Key_Down) != m_scene->nodes[at].backwards;
    const auto offset = [&](std::uint32_t node) {
        return m_scene->nodes[node].rect.center() - here.center();
    };
    int next = -1;
    double distance = 0;
    const auto offer = [&](std::uint32_t node, double d) {
        if (next >= 0 && d >= distance) return;
        next = static_cast<int>(node);
        distance = d;
    };
    if (across == rightwards) {
        // Along the edges: to the straightest reader, or the op that is read.
        for (const auto& edge : m_scene->edges) {
            if ((onwards ? edge.from : edge.to) != at) continue;
            const std::uint32_t other = onwards ? edge.to : edge.from;
            offer(other, std::abs(across ? offset(other).y() : offset(other).x()));
        }
    } else {
        // Across them: to the nearest node of the same layer, on the side of the key.
        const QRectF& all = m_scene->bounds;
        const QRectF layer = across ? QRectF(all.left(), here.center().y(), all.width(), 0)
                                    : QRectF(here.center().x(), all.top(), 0, all.height());
        for (const std::uint32_t other : m_scene->nodesIn(layer)) {
            const double d = (across ? offset(other).x() : offset(other).y()) *
                             (key == Qt::Key_Right || key == Qt::Key_Down ? 1 : -1);
            if (other != at && d > 0) offer(other, d);
        }
    }
    if (next < 0) return;
    click(next, Qt::NoModifier);
    panToShow(static_cast<std::uint32_t>(next));
}

void GraphView::keyPressEvent(QKeyEvent* event) {
    const auto modifiers = event->modifiers() & ~(Qt::KeypadModifier | Qt::ShiftModifier);
    const int key = event->key();
    const QPointF middle = room(m_view.m11()).center();
    if (key == Qt::Key_Escape && m_gesture != Gesture::none) {
        cancelGesture();
    } else if (!m_scene) {
        event->ignore();
    } else if (event->matches(QKeySequence::SelectAll)) {
        OpList ops;
        for (const auto& node : m_scene->nodes) ops.insert(ops.end(), node.ops().begin(), node.ops().end());
        editSelection(std::move(ops));
    } else if (modifiers != Qt::NoModifier) {
        event->ignore();
    } else if (key == Qt::Key_Escape && !m_selection.empty()) {
        editSelection({});
    } else if (key >= Qt::Key_1 && key <= Qt::Key_9 && !m_selection.empty()) {
        Q_EMIT deviceKeyPressed(key - Qt::Key_0);
    } else if ((key == Qt::Key_Return || key == Qt::Key_Enter) && canOpenModules()) {
        event->modifiers() & Qt::ShiftModifier ? openEqualModules() : openSelectedModules();
    } else if (key == Qt::Key_Backspace && canCloseModules()) {
        closeSelectedModules();
    } else if (key == Qt::Key_Plus || key == Qt::Key_Equal) {
        zoomBy(1.25, middle);
    } else if (key == Qt::Key_Minus) {
        zoomBy(1 / 1.25, middle);
    } else if (key == Qt::Key_F || key == Qt::Key_Home) {
        fit();
    } else if (key == Qt::Key_PageUp || key == Qt::Key_PageDown) {
        panBy({0, kPage * height() * (key == Qt::Key_PageUp ? 1 : -1)});
    } else if (key == Qt::Key_Left || key == Qt::Key_Right || key == Qt::Key_Up || key == Qt::Key_Down) {
        selectNeighbour(key);
    } else {
        event->ignore();
    }
}

void GraphView::leaveEvent(QEvent*) {
    if (m_gesture == Gesture::none) hover(-1);
}

void GraphView::resizeEvent(QResizeEvent* event) {
    m_layerValid = false;
    updateMinimap();
    if (m_fit != Fit::kept) {
        applyFit();
        Q_EMIT roomChanged();
        return;
    }
    if (!event->oldSize().isValid()) return;
    place(m_view.m11(), QRectF(rect()).center() - m_centre * m_view.m11());
}

void GraphView::hideEvent(QHideEvent*) {
    cancelGesture();
}

void GraphView::focusInEvent(QFocusEvent*) {
    update();
}

void GraphView::focusOutEvent(QFocusEvent*) {
    update();
}

bool GraphView::event(QEvent* event) {
    switch (event->type()) {
        case QEvent::ToolTip: {
            const auto* help = static_cast<QHelpEvent*>(event);
            const int node = m_gesture == Gesture::none ? nodeUnder(help->pos()) : -1;
            const QString text = node < 0 ? QString() : textOf(static_cast<std::uint32_t>(node));
            if (text.isEmpty()) {
                QToolTip::hideText();
                event->ignore();
            } else {
                QToolTip::showText(help->globalPos(), text, this,
                                   rectInView(static_cast<std::uint32_t>(node), m_view).toAlignedRect());
            }
            return true;
        }
        case QEvent::PaletteChange:
        case QEvent::StyleChange:
            redraw();
            break;
        case QEvent::FontChange:
            std::fill(m_labelWidths.begin(), m_labelWidths.end(), -1.0F);
            redraw();
            break;
        case QEvent::WindowDeactivate:
            if (m_gesture == Gesture::drag) cancelGesture();
            break;
        default:
            break;
    }
    return OpView::event(event);
}

}  // namespace placewright
