// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <QRectF>

#include "core/sim/device_contents.hpp"
#include "core/sim/simulator.hpp"
#include "widgets/drop_preview.hpp"
#include "widgets/op_view.hpp"
#include "widgets/timeline_why.hpp"

class QPainter;
class QScrollBar;

namespace placewright {

/// Shows one row per device (number key, colour, name and model, busy share, memory against its limit) and
/// one per channel (bytes and busy share). Idle channels share a line that opens and closes (click, or the
/// keys Right and Left). Dragged ops are dropped onto device rows. A device row can itself be dragged: it
/// stands for all ops of the device. Derives from OpView for the drag signals.
class DevicePanel : public OpView {
    Q_OBJECT
public:
    explicit DevicePanel(QWidget* parent = nullptr);

    /// `limits_bytes[device]`: memory that placements may use there.
    void setMachine(std::shared_ptr<const Machine> machine, std::vector<double> limits_bytes);
    /// `active_s[device]`: seconds in which at least one op runs there (TimelineData). `held_bytes[device]`:
    /// bytes that are checked against the limit, which need not be the peak of the outcome. `opsOf[device]`:
    /// forward ops there.
    void setOutcome(const Outcome& outcome, std::vector<double> active_s, std::vector<double> held_bytes,
                    std::vector<OpList> opsOf);
    /// Shows on a line of its own what fills each device: `contents[device]`; empty: no such line.
    void setContents(std::vector<DeviceContents> contents);
    /// Explains the memory peaks in the tooltips of devices; null if not known.
    void setWhy(std::shared_ptr<const TimelineWhy> why) { m_why = std::move(why); }
    /// Shows what a drop on each device would give and marks the device under the pointer, `target`.
    void setDropPreview(const DropPreviews& previews, std::optional<DeviceId> target);
    /// While ops are dragged the rows shrink to a line each if otherwise some device would be out of sight.
    void setDropsExpected(bool expected);
    void scrollAtEdge(QPoint global) override;
    /// The device whose row is visible at a global position.
    std::optional<DeviceId> deviceAt(QPoint global) const;
    QRectF deviceRect(DeviceId device) const;
    QRectF channelRect(ChannelId channel) const;
    /// The line that stands for the idle channels; a null rectangle if there are none.
    QRectF idleLineRect() const;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void leaveEvent(QEvent*) override;
    void hideEvent(QHideEvent*) override;
    void moveEvent(QMoveEvent*) override;
    bool event(QEvent*) override;

private:
    int deviceRowHeight() const;
    int channelRowHeight() const;
    /// Left of the colours and of the figures below the names, in pixels.
    int namesLeft() const;
    /// Top of the heading of the channels, in pixels.
    int channelsTop() const;
    int contentHeight() const;
    void listChannels();
    void showIdle(bool show);
    QRectF channelRow(std::size_t row) const;
    QString idleText() const;
    /// "3.10 GB free", or "1.20 GB too much".
    QString freeText(DeviceId device) const;
    bool hasCache() const;
    double besideWeights(DeviceId device) const;
    /// "weights 35.2 GB · cache 1.34 GB", or "weights 16.1 GB · rest 40.2 GB" where there is no cache.
    QString contentsText(DeviceId device) const;
    std::optional<DeviceId> deviceIn(QPoint position) const;
    std::optional<ChannelId> channelIn(QPoint position) const;
    OpList opsOn(DeviceId device) const;
    void setCurrent(DeviceId device);
    QString toolTipAt(QPoint position) const;

    /// The scroll bar of the area that the panel is in; null if there is none.
    QScrollBar* scrollBar() const;
    /// Draws the number key, the colour and the bold name from `top` on; returns where the rest of the line
    /// begins.
    int paintName(QPainter& painter, DeviceId device, int top, int right) const;
    void paintDevice(QPainter& painter, DeviceId device) const;
    void paintLine(QPainter& painter, DeviceId device) const;
    void paintChannel(QPainter& painter, ChannelId channel) const;
    void paintIdleLine(QPainter& painter) const;
    void paintDropPreview(QPainter& painter, DeviceId device) const;
    void paintDropTarget(QPainter& painter, DeviceId device) const;

    std::shared_ptr<const Machine> m_machine;
    std::vector<double> m_limits_bytes;
    std::optional<Outcome> m_outcome;              ///< of m_machine
    std::vector<double> m_active_s, m_held_bytes;  ///< of m_outcome
    std::vector<OpList> m_opsOf;
    std::vector<DeviceContents> m_contents;    ///< of m_outcome; empty: not shown
    std::shared_ptr<const TimelineWhy> m_why;  ///< of m_outcome
    std::vector<ChannelId> m_channels;         ///< in order of the rows: busy channels, then idle ones
    std::size_t m_busyChannels = 0;
    bool m_idleShown = false;
    bool m_idlePressed = false;
    DropPreviews m_previews;
    std::optional<DeviceId> m_target;
    bool m_compact = false;        ///< a line for each device, for a drag
    int m_scrolledBeforeDrag = 0;  ///< value of the scroll bar
    DeviceId m_current = 0;
    std::optional<DeviceId> m_hovered;
    std::optional<QPoint> m_pressed;  ///< until the click has become a drag
};

}  // namespace placewright
