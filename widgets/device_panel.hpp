// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <QRectF>

#include "core/sim/simulator.hpp"
#include "widgets/drop_preview.hpp"
#include "widgets/op_view.hpp"
#include "widgets/timeline_why.hpp"

class QPainter;

namespace placewright {

/// One row a device (number key, colour, name and model, busy share, memory against its limit) and one a channel (bytes and busy share);
/// channels that carry nothing share a line that opens and closes (click, or the keys Right and Left).
/// Device rows are where dragged ops are dropped. A row is also draggable: it stands for all ops of the device. Derives from OpView for the
/// drag signals.
class DevicePanel : public OpView {
    Q_OBJECT
public:
    explicit DevicePanel(QWidget* parent = nullptr);

    /// `limits_bytes[device]`: what may be used of its memory.
    void setMachine(std::shared_ptr<const Machine> machine, std::vector<double> limits_bytes);
    /// `active_s[device]`: seconds in which something runs there (TimelineData). `held_bytes[device]`: what tells whether it fits, which
    /// need not be the peak of the outcome. `opsOf[device]`: forward ops there.
    void setOutcome(const Outcome& outcome, std::vector<double> active_s, std::vector<double> held_bytes, std::vector<OpList> opsOf);
    /// What the tooltips of devices tell of their memory peaks; null if that is not known.
    void setWhy(std::shared_ptr<const TimelineWhy> why) { m_why = std::move(why); }
    void setDropPreview(const DropPreviews& previews, std::optional<DeviceId> target);
    std::optional<DeviceId> deviceAt(QPoint global) const;
    QRectF deviceRect(DeviceId device) const;
    QRectF channelRect(ChannelId channel) const;
    /// The line that stands for the idle channels; null if there are none.
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
    bool event(QEvent*) override;

private:
    int deviceRowHeight() const;
    int channelRowHeight() const;
    /// Where the heading of the channels begins; the height of the whole is below the last of them.
    int channelsTop() const;
    int contentHeight() const;
    void listChannels();
    void showIdle(bool show);
    QRectF channelRow(std::size_t row) const;
    QString idleText() const;
    std::optional<DeviceId> deviceIn(QPoint position) const;
    std::optional<ChannelId> channelIn(QPoint position) const;
    OpList opsOn(DeviceId device) const;
    void setCurrent(DeviceId device);
    QString toolTipAt(QPoint position) const;

    void paintDevice(QPainter& painter, DeviceId device) const;
    void paintChannel(QPainter& painter, ChannelId channel) const;
    void paintIdleLine(QPainter& painter) const;
    void paintDropPreview(QPainter& painter, DeviceId device) const;

    std::shared_ptr<const Machine> m_machine;
    std::vector<double> m_limits_bytes;
    std::optional<Outcome> m_outcome;              ///< of m_machine
    std::vector<double> m_active_s, m_held_bytes;  ///< of m_outcome
    std::vector<OpList> m_opsOf;
    std::shared_ptr<const TimelineWhy> m_why;  ///< of m_outcome
    std::vector<ChannelId> m_channels;         ///< in the order of the rows: the busy ones, then the idle ones
    std::size_t m_busyChannels = 0;
    bool m_idleShown = false;
    bool m_idlePressed = false;
    DropPreviews m_previews;
    std::optional<DeviceId> m_target;
    DeviceId m_current = 0;
    std::optional<DeviceId> m_hovered;
    std::optional<QPoint> m_pressed;  ///< until the click has become a drag
};

}  // namespace placewright
