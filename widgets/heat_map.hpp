// SPDX-License-Identifier: MIT
// Shared parts of the heat maps. For .cpp files only, like qcustomplot_header.hpp.
#pragma once

#include <functional>

#include <QStringList>

#include "widgets/qcustomplot_header.hpp"

namespace placewright {

/// Colour gradient from dark to bright, uniform in lightness and safe for colour-blind readers; NaN cells are
/// transparent. Nuñez, Anderton, Renslow: Optimizing colormaps with consideration for color vision deficiency
/// (2018).
QCPColorGradient cividis();

/// Labels the integers from 0 with `labels`, as many as fit along the axis.
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

/// Adds `paint` to the plot's overlay, for marks that a colour map cannot show; the plot owns it.
void addOverlay(QCustomPlot* plot, std::function<void(QCPPainter&)> paint);

}  // namespace placewright
