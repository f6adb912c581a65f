// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "core/search/progress.hpp"
#include "widgets/plot_frame.hpp"
#include "widgets/plot_style.hpp"

class QCheckBox;
class QComboBox;
class QCPItemStraightLine;
class QCPItemText;

namespace placewright {

struct CurveSeries {
    int run = 0;  ///< number of the run, which sets its colour
    QString title;
    std::shared_ptr<const std::vector<CurvePoint>> points;
    double evaluations = 0;          ///< length of the curve: the best so far holds up to here
    double seconds = 0;              ///< the same in seconds
    std::vector<SeriesPoint> means;  ///< mean of the scored placements, by evaluations
    bool ended = false;              ///< finished by itself: its best holds up to the end of the axis
};

/// Learning curves: the best objective value of each run against evaluations or seconds, with linear or
/// logarithmic axes and the lower bound as a line. A placement that was built without a search is a
/// horizontal line across the plot. Optionally a lighter line per run shows the mean of its scored
/// placements, which is known against evaluations only. A placement that does not fit the memory has a
/// penalty instead of a time and is not drawn. The axes follow the data until the user zooms or drags; a
/// double click or "Fit" makes them follow again.
class CurvePlot : public PlotFrame {
    Q_OBJECT
public:
    explicit CurvePlot(QWidget* parent = nullptr);
    /// Graph i of the plot is series i; the means follow if they are shown. Cheap: called while searches run.
    void setSeries(std::vector<CurveSeries> series);
    /// Title of the objective on the vertical axis: "Step time".
    void setObjective(const QString& title);
    /// Draws a horizontal line at the bound; 0: none.
    void setLowerBound(double seconds);

private:
    void updateGraphs();
    void updateBound();
    void fit();
    void updateAxes() override;
    void updateStyle() override;
    void showValueAt(QPoint position) override;
    double bestTime() const;
    bool againstSeconds() const;
    /// Height of the bound's label divided by that of the axes.
    double labelShare() const;

    std::vector<CurveSeries> m_series;
    QString m_objective = tr("Step time");
    double m_lowerBound_s = 0;
    TimeUnit m_unit;
    int m_fittedHeight = 0;  ///< height of the axes at the last fit, in pixels

    QComboBox* m_against = nullptr;
    QCheckBox* m_logX = nullptr;
    QCheckBox* m_logY = nullptr;
    QCheckBox* m_means = nullptr;
    QCPItemStraightLine* m_bound = nullptr;
    QCPItemText* m_boundLabel = nullptr;
};

}  // namespace placewright
