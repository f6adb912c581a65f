// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include <QColor>
#include <QPointF>
#include <QPolygonF>
#include <QRectF>
#include <QString>
#include <QWidget>

#include "core/machine/topology.hpp"

class QPainter;

namespace placewright {

/// Draws a machine: devices as boxes in their colours, switches and buses as small boxes, and links as lines
/// whose width grows with the bandwidth. A legend lists the kinds of links. A click selects a device or a
/// link; the arrow keys go through both, Escape selects nothing.
class TopologyView : public QWidget {
    Q_OBJECT
public:
    explicit TopologyView(QWidget* parent = nullptr);

    /// The selection stays as far as it exists in the new machine.
    void setMachine(std::shared_ptr<const Machine> machine);
    void setSelectedDevice(std::optional<DeviceId> device);
    /// Selects the link that has one of the channels; none: no link.
    void setSelectedChannels(const std::vector<ChannelId>& channels);
    std::optional<DeviceId> selectedDevice() const { return m_device; }
    /// Channels of the selected link, in both directions; empty without one.
    std::vector<ChannelId> selectedChannels() const;

    QRectF deviceRect(DeviceId device) const { return m_boxes[device]; }
    /// A point on the line of the link that has this channel, away from other boxes.
    QPointF pointOf(ChannelId channel) const;
    QSize sizeHint() const override { return {520, 240}; }
    /// High enough for all rows of devices at the present width.
    QSize minimumSizeHint() const override { return {160, std::max(80, m_leastHeight)}; }

Q_SIGNALS:
    /// The user selected a device or a link, or nothing.
    void selectionEdited();

protected:
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    bool event(QEvent*) override;

private:
    /// Links with the same model and bandwidths.
    struct LinkKind {
        QString text;
        double bandwidth = 0, back = 0;  ///< of their first and last channel, which may be one
        std::size_t links = 0;
    };

    void layOut();
    void select(std::optional<DeviceId> device, std::optional<std::size_t> link);
    std::optional<DeviceId> deviceAt(QPointF point) const;
    std::optional<std::size_t> linkAt(QPointF point) const;
    std::size_t kindOf(std::size_t link) const { return m_kindOf[link]; }
    void placeNodes();
    void routeLinks();
    QColor kindColor(std::size_t kind) const;
    qreal kindWidth(std::size_t kind) const;
    QString bandwidthText(std::size_t kind) const;
    void paintLink(QPainter& painter, std::size_t link) const;
    void paintNode(QPainter& painter, std::size_t node) const;
    void paintLegend(QPainter& painter) const;

    std::shared_ptr<const Machine> m_machine;
    Topology m_topology;
    std::vector<QRectF> m_boxes;     ///< by node
    std::vector<QPolygonF> m_lines;  ///< by link; bent round boxes that are in the way
    std::vector<LinkKind> m_kinds;
    std::vector<std::size_t> m_kindOf;  ///< by link
    QRectF m_legend;
    int m_leastHeight = 0;
    std::optional<DeviceId> m_device;
    std::optional<std::size_t> m_link;
};

}  // namespace placewright
