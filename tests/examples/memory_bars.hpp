// SPDX-License-Identifier: MIT
// Worked example of a view; README.md explains it.
#pragma once

#include <memory>
#include <vector>

#include <QWidget>

#include "core/machine/machine.hpp"

namespace placewright::examples {

/// A bar for each device: the share of its memory that a placement takes at its peak. A click chooses the
/// device under the pointer.
class MemoryBars : public QWidget {
    Q_OBJECT
public:
    explicit MemoryBars(QWidget* parent = nullptr);

    /// `peak_bytes`: of each device, as in Outcome. A null machine shows nothing.
    void setPeaks(std::shared_ptr<const Machine> machine, std::vector<double> peak_bytes);
    /// The rectangle of a device's bar at 100 %, in pixels of the widget.
    QRectF barOf(DeviceId device) const;
    QSize sizeHint() const override;

Q_SIGNALS:
    void deviceChosen(placewright::DeviceId device);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;

private:
    std::shared_ptr<const Machine> m_machine;
    std::vector<double> m_peak_bytes;
};

}  // namespace placewright::examples
