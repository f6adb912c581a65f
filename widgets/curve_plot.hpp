// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "core/search/progress.hpp"
#include "widgets/plot_frame.hpp"
#include "widgets/plot_style.hpp"

class QCheckBox;
class QComboBox;
class QCPCurve;
class QCPItemStraightLine;
class QCPItemText;

namespace placewright {

class EndLabels;

struct CurveSeries {
    RunStyle style;
    QString title;
    std::shared_ptr<const std::vector<CurvePoint>> points;
    double evaluations = 0;          ///< length of the curve: the best so far holds up to here
    double seconds = 0;              ///< the same in seconds
    std::vector<SeriesPoint> means;  ///< mean of the scored placements, by evaluations
    bool ended = false;              ///< finished by itself: its best holds up to the end of the axis
    std::shared_ptr<const std::vector<SamplePoint>> samples = {};  ///< some of the scored placements
};

/// Learning curves: the best objective value of each run against evaluations or seconds, with linear or
/// logarithmic axes and the lower bound as a line. The name of a run stands at the end of its curve. Faint
/// points are placements that it scored. A placement that was built without a search is a horizontal line
/// across the plot. Optionally a lighter line per run shows the mean of its scored placements, which is known
/// against evaluations only. A placement that does not fit the memory has a penalty instead of a time and is
/// not drawn. The axes follow the data until the user zooms or drags; a double click or "Fit" makes them
/// follow again.
class CurvePlot : public PlotFrame {
    Q_OBJECT
public:
    explicit CurvePlot(QWidget* parent = nullptr);
    ~CurvePlot() override;
    /// Graph i of the plot is series i; the means follow if they are shown. Cheap: called while searches run.
    /// `otherwise`: what to say if there is nothing to plot; empty: the usual text.
    void setSeries(std::vector<CurveSeries> series, const QString& otherwise = {});
    /// Title of the objective on the vertical axis: "Step time".
    void setObjective(const QString& title);
    /// Draws a horizontal line at the bound; 0: none.
    void setLowerBound(double seconds);

private:
    void updateGraphs();
    void updateCandidates();
    void updateLabels();
    /// The value above which curves are left out of the vertical range, as those of searches that are stuck
    /// far above the others; infinity: none is.
    double highestRelevant() const;
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
    QCheckBox* m_candidates = nullptr;
    std::vector<QCPCurve*> m_points;  ///< the candidates of each series, if they are shown
    std::unique_ptr<EndLabels> m_labels;
    QCPItemStraightLine* m_bound = nullptr;
    QCPItemText* m_boundLabel = nullptr;
};

}  // namespace placewright
