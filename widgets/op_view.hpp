// SPDX-License-Identifier: MIT
// Base of the views that show ops and let the user select and drag them (graph, timeline, devices), with the
// same signals for all.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include <QCursor>
#include <QPoint>
#include <QRect>
#include <QString>
#include <QWidget>

#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"

namespace placewright {

using OpList = std::vector<OpId>;  ///< forward ops, ascending, distinct

class OpView : public QWidget {
    Q_OBJECT
public:
    using QWidget::QWidget;

    /// Sets the function that returns the tooltip of an op.
    void setToolTipSource(std::function<QString(OpId)> source) { m_toolTipSource = std::move(source); }
    /// Scrolls the rows by a step if the pointer of a drag is at their upper or lower edge.
    virtual void scrollAtEdge(QPoint global) { Q_UNUSED(global) }

Q_SIGNALS:
    /// The user selected these ops in this view (click, Ctrl+click, rubber band, Ctrl+A); empty: cleared.
    void selectionEdited(const placewright::OpList& ops);
    /// The pointer moved over this op; kInvalidOp: over none.
    void opHovered(placewright::OpId op);
    /// A drag of ops began (the pressed op is selected first if it was not); positions are global. A drag
    /// ends with exactly one of dropped and cancelled (Escape, or the view hidden).
    void opDragStarted(const placewright::OpList& ops, QPoint global);
    void opDragMoved(QPoint global);
    void opDropped(QPoint global);
    void opDragCancelled();
    /// The rows that ops are dropped on have moved, for example because the wheel scrolled them under the
    /// pointer.
    void dropTargetsMoved();
    /// A key 1 to 9 was pressed while ops are selected.
    void deviceKeyPressed(int number);

protected:
    QString toolTipFor(OpId op) const { return m_toolTipSource ? m_toolTipSource(op) : QString(); }

    /// A drag of ops lasts while a mouse button is held, so that this view receives every event of it,
    /// wherever the pointer is. This avoids QDrag's own event loop and lets every other view preview the
    /// drop.
    bool isDraggingOps() const { return m_draggingOps; }

    /// Pixels to scroll in one step of a drag while the pointer is at `position` of rows that are seen within
    /// `rows`: negative near the upper edge, positive near the lower one, more the nearer it is; 0 elsewhere.
    static int edgeStep(QPoint position, const QRect& rows) {
        constexpr int kReach = 24, kFastest = 20;
        const QRect around = rows.adjusted(0, -kReach, 0, kReach);
        if (!around.contains(position)) return 0;
        const auto step = [](int inside) { return kFastest * (kReach - std::max(inside, 0)) / kReach; };
        const int below = position.y() - rows.top(), above = rows.bottom() - position.y();
        return below < kReach ? -step(below) : above < kReach ? step(above) : 0;
    }
    void beginOpDrag(const OpList& ops, QPoint global) {
        m_draggingOps = true;
        setCursor(Qt::ClosedHandCursor);
        Q_EMIT opDragStarted(ops, global);
    }
    void dropOps(QPoint global) {
        if (endOpDrag()) Q_EMIT opDropped(global);
    }
    void cancelOpDrag() {
        if (endOpDrag()) Q_EMIT opDragCancelled();
    }

private:
    bool endOpDrag() {
        if (!m_draggingOps) return false;
        unsetCursor();
        m_draggingOps = false;
        return true;
    }

    std::function<QString(OpId)> m_toolTipSource;
    bool m_draggingOps = false;
};

}  // namespace placewright
