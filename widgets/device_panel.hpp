// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <QRectF>

#include "core/sim/simulator.hpp"
#include "widgets/drop_preview.hpp"
#include "widgets/op_view.hpp"

class QPainter;

namespace placewright {

/// One row a device (number key, colour, name and model, busy share, memory against its limit) and one a channel (bytes and busy share).
/// Device rows are where dragged ops are dropped. A row is also draggable: it stands for all ops of the device. Derives from OpView for the
/// drag signals.
class DevicePanel : public OpView {
    Q_OBJECT
public:
    explicit DevicePanel(QWidget* parent = nullptr);

    void setMachine(std::shared_ptr<const Machine> machine);
    /// `opsOf[device]`: forward ops there.
    void setOutcome(const Outcome& outcome, std::vector<OpList> opsOf);
    void setDropPreview(const DropPreviews& previews, std::optional<DeviceId> target);
    std::optional<DeviceId> deviceAt(QPoint global) const;
    QRectF deviceRect(DeviceId device) const;
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
    std::optional<DeviceId> deviceIn(QPoint position) const;
    std::optional<ChannelId> channelIn(QPoint position) const;
    OpList opsOn(DeviceId device) const;
    void setCurrent(DeviceId device);
    QString toolTipAt(QPoint position) const;

    void paintDevice(QPainter& painter, DeviceId device) const;
    void paintChannel(QPainter& painter, ChannelId channel) const;
    void paintDropPreview(QPainter& painter, DeviceId device) const;

    std::shared_ptr<const Machine> m_machine;
    std::optional<Outcome> m_outcome;  ///< of m_machine
    std::vector<OpList> m_opsOf;
    DropPreviews m_previews;
    std::optional<DeviceId> m_target;
    DeviceId m_current = 0;
    std::optional<DeviceId> m_hovered;
    std::optional<QPoint> m_pressed;  ///< until the click has become a drag
};

}  // namespace placewright
