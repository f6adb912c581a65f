// SPDX-License-Identifier: MIT
// What the graph and the timeline have in common: they show ops, let them be selected and dragged, and say so in the same way.
#pragma once

#include <functional>
#include <vector>

#include <QCursor>
#include <QPoint>
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

    /// Text of the tooltip of an op; set by whoever knows more than the view.
    void setToolTipSource(std::function<QString(OpId)> source) { m_toolTipSource = std::move(source); }

Q_SIGNALS:
    /// The person chose these ops here (click, Ctrl+click, rubber band, Ctrl+A; empty: cleared).
    void selectionEdited(const placewright::OpList& ops);
    /// The pointer is over this op; kInvalidOp when over none.
    void opHovered(placewright::OpId op);
    /// A drag of ops began (the pressed op is selected first if it was not); positions are global. A drag ends with exactly one of
    /// dropped and cancelled (Escape, or the view hidden).
    void opDragStarted(const placewright::OpList& ops, QPoint global);
    void opDragMoved(QPoint global);
    void opDropped(QPoint global);
    void opDragCancelled();
    /// A key 1 to 9 was pressed while ops are selected.
    void deviceKeyPressed(int number);

protected:
    QString toolTipFor(OpId op) const { return m_toolTipSource ? m_toolTipSource(op) : QString(); }

    /// A drag of ops runs while a mouse button is held, so that this view gets every event of it, wherever the pointer is. That keeps the
    /// drag free of QDrag's own event loop, and lets every other view show what a drop would give.
    bool isDraggingOps() const { return m_draggingOps; }
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
