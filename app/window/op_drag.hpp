// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <QObject>
#include <QTimer>

#include "app/window/document.hpp"

class QLabel;

namespace placewright {

class DevicePanel;
class TimelineView;

/// A drag of ops from any view to a device: asks the document for previews, shows them on every target and at
/// the pointer, and moves the ops on a drop.
class OpDrag : public QObject {
    Q_OBJECT
public:
    OpDrag(Document* document, DevicePanel* panel, TimelineView* timeline, QObject* parent);
    ~OpDrag() override;

    /// Handles drags that start in `view`.
    void watch(OpView* view);
    bool isActive() const { return !m_ops.empty(); }

private:
    void begin(const OpList& ops, QPoint global);
    void move(QPoint global);
    void drop(QPoint global);
    void end();
    void showPreviews();
    std::optional<DeviceId> deviceAt(QPoint global) const;

    Document* m_document;
    DevicePanel* m_panel;
    TimelineView* m_timeline;
    std::unique_ptr<QLabel> m_ghost;
    OpList m_ops;
    DropPreviews m_previews;
    std::optional<DeviceId> m_target;
    QPoint m_position;
    QTimer m_scrolling;  ///< while the pointer may rest at an edge
};

}  // namespace placewright
