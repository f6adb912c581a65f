// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <QColor>
#include <QPointF>
#include <QString>

class QCPItemLine;
class QCPItemText;
class QCustomPlot;

namespace placewright {

/// A curve's name, to be put at its end.
struct EndLabel {
    QString text;
    QColor color;
    QPointF end;           ///< in plot coordinates
    bool isDrawn = false;  ///< false: the curve has no point
};

/// Names of curves right of the axes, each as high as the end of its curve and joined to it by a thin line,
/// so that no legend is needed. Names that would overlap are moved apart; where there is no room for all, the
/// lowest curves have one. Items of the plot; it owns them.
class EndLabels {
public:
    /// Places the labels whenever the plot has been laid out.
    explicit EndLabels(QCustomPlot* plot);
    /// Cheap: called while searches run. The plot is not redrawn.
    void setLabels(std::vector<EndLabel> labels);

private:
    void place();
    /// Reserves room for the names, if the plot is wide enough.
    void reserve();

    QCustomPlot* m_plot;
    std::vector<EndLabel> m_labels;
    std::vector<QCPItemText*> m_texts;  ///< one a label
    std::vector<QCPItemLine*> m_lines;
    int m_width = 0;  ///< room for the names in pixels; 0: none
};

}  // namespace placewright
