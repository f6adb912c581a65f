// SPDX-License-Identifier: MIT
#include "tests/examples/memory_bars.hpp"

#include <QMouseEvent>
#include <QPainter>

#include "widgets/palette.hpp"

namespace placewright::examples {

MemoryBars::MemoryBars(QWidget* parent) : QWidget(parent) {
    setAccessibleName(tr("Peak memory of each device"));
}

// 1. The view gets what it shows, and knows neither the document nor other views.
void MemoryBars::setPeaks(std::shared_ptr<const Machine> machine, std::vector<double> peak_bytes) {
    m_machine = std::move(machine);
    m_peak_bytes = std::move(peak_bytes);
    updateGeometry();
    update();
}

QSize MemoryBars::sizeHint() const {
    const int rows = m_machine == nullptr ? 1 : static_cast<int>(m_machine->devices().size());
    return {240, rows * (fontMetrics().height() + 12)};
}

QRectF MemoryBars::barOf(DeviceId device) const {
    const double row = height() / static_cast<double>(m_peak_bytes.size());
    const double left = fontMetrics().horizontalAdvance(QStringLiteral("accelerator:00"));
    return {left, device * row + 3, width() - left - 3, row - 6};
}

// 2. It draws in the colours that a device has everywhere, and in those of the palette: light and dark work.
void MemoryBars::paintEvent(QPaintEvent*) {
    if (m_machine == nullptr) return;
    QPainter painter(this);
    for (DeviceId device = 0; device < m_peak_bytes.size(); ++device) {
        const QRectF bar = barOf(device);
        const double limit_bytes = m_machine->device(device).memory_bytes;
        const double share = limit_bytes > 0 ? std::min(1.0, m_peak_bytes[device] / limit_bytes) : 0;
        painter.setPen(palette().color(QPalette::WindowText));
        painter.drawText(QRectF(3, bar.top(), bar.left() - 6, bar.height()), Qt::AlignVCenter,
                         QString::fromStdString(m_machine->device(device).name));
        painter.setPen(mutedColor(palette()));
        painter.drawRect(bar);
        painter.fillRect(QRectF(bar.topLeft(), QSizeF(bar.width() * share, bar.height())),
                         deviceBrush(*m_machine, device));
    }
}

// 3. What the user does leaves it as a signal.
void MemoryBars::mousePressEvent(QMouseEvent* event) {
    for (DeviceId device = 0; device < m_peak_bytes.size(); ++device) {
        if (barOf(device).contains(event->position())) Q_EMIT deviceChosen(device);
    }
}

}  // namespace placewright::examples
