// SPDX-License-Identifier: MIT
#include "widgets/heat_map.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <QFontMetrics>

namespace placewright {
namespace {

class Overlay : public QCPAbstractItem {
public:
    Overlay(QCustomPlot* plot, std::function<void(QCPPainter&)> paint)
        : QCPAbstractItem(plot), m_paint(std::move(paint)) {
        setLayer(QStringLiteral("overlay"));
    }
    double selectTest(const QPointF&, bool, QVariant*) const override { return -1; }

protected:
    void draw(QCPPainter* painter) override { m_paint(*painter); }

private:
    std::function<void(QCPPainter&)> m_paint;
};

}  // namespace

QCPColorGradient cividis() {
    static constexpr std::array<QRgb, 9> kStops{0xff123570, 0xff3b496c, 0xff575d6d, 0xff707173, 0xff8a8678,
                                                0xffa59c74, 0xffc3b369, 0xffe1cc55, 0xfffee838};
    QCPColorGradient gradient;
    gradient.clearColorStops();
    for (std::size_t i = 0; i < kStops.size(); ++i)
        gradient.setColorStopAt(static_cast<double>(i) / (kStops.size() - 1), QColor(kStops[i]));
    gradient.setNanHandling(QCPColorGradient::nhTransparent);
    return gradient;
}

CellTicker::CellTicker(const QCPAxis& axis, QStringList labels) : m_axis(axis), m_labels(std::move(labels)) {
    const QFontMetrics metrics(axis.tickLabelFont());
    m_extent = metrics.height();
    if (axis.orientation() == Qt::Vertical) return;
    for (const QString& label : m_labels)
        m_extent = std::max(m_extent, metrics.horizontalAdvance(label) + metrics.averageCharWidth());
}

double CellTicker::getTickStep(const QCPRange& range) {
    // Uses the size of the plot, not of the axis: ticks are made before the axes are laid out. The constants
    // estimate the space beside the axis.
    const QRect area = m_axis.parentPlot()->viewport();
    const double length = m_axis.orientation() == Qt::Horizontal ? area.width() - 150 : area.height() - 50;
    return std::max(1.0, std::ceil(range.size() * m_extent / std::max(1.0, length)));
}

QString CellTicker::getTickLabel(double tick, const QLocale&, QChar, int) {
    return m_labels.value(static_cast<int>(std::lround(tick)));
}

void addOverlay(QCustomPlot* plot, std::function<void(QCPPainter&)> paint) {
    new Overlay(plot, std::move(paint));
}

}  // namespace placewright
