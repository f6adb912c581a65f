// SPDX-License-Identifier: MIT
// What heat maps have in common. For .cpp files only, as qcustomplot_header.hpp is.
#pragma once

#include <functional>

#include <QStringList>

#include "widgets/qcustomplot_header.hpp"

namespace placewright {

/// From dark to bright, even in lightness and the same to colour-blind readers; cells without a number are transparent. Nuñez, Anderton,
/// Renslow: Optimizing colormaps with consideration for color vision deficiency (2018).
QCPColorGradient cividis();

/// Labels the whole numbers from 0 on, as many as there is room for.
class CellTicker : public QCPAxisTicker {
public:
    CellTicker(const QCPAxis& axis, QStringList labels);

protected:
    double getTickStep(const QCPRange& range) override;
    int getSubTickCount(double) override { return 0; }
    QString getTickLabel(double tick, const QLocale&, QChar, int) override;

private:
    const QCPAxis& m_axis;
    QStringList m_labels;
    int m_extent = 1;
};

/// Adds to the plot's overlay what a colour map cannot show; the plot owns it.
void addOverlay(QCustomPlot* plot, std::function<void(QCPPainter&)> paint);

}  // namespace placewright
