// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include <QWidget>

#include "core/search/search.hpp"
#include "widgets/plot_style.hpp"

class QCheckBox;
class QComboBox;
class QCPItemStraightLine;
class QCPItemText;
class QCPItemTracer;
class QCustomPlot;
class QLabel;
class QPainter;
class QStackedWidget;

namespace placewright {

struct CurveSeries {
    int run = 0;  ///< colours follow it
    QString title;
    std::shared_ptr<const std::vector<CurvePoint>> points;
    double evaluations = 0;  ///< the best so far holds up to here
    double seconds = 0;
    std::vector<SeriesPoint> means;  ///< mean of the placements scored, by evaluations
    bool ended = false;              ///< by itself: its best holds however long the others take
};

/// The best step time, or what else is made small, against evaluations or seconds, several runs over each other, with linear or logarithmic
/// axes and the lower bound as a line. What was built without a search is a line from side to side. On demand a lighter line a run shows
/// the mean of the placements that it has scored; that is known by evaluations only. What does not fit the memory has a penalty in place of
/// a time, which is not drawn. The axes follow the data until the person zooms or drags; a double click or "Fit" makes them follow again.
class CurvePlot : public QWidget {
    Q_OBJECT
public:
    explicit CurvePlot(QWidget* parent = nullptr);
    /// Graph i of the plot is series i, then come the means where they are shown. Cheap: called while searches run.
    void setSeries(std::vector<CurveSeries> series);
    /// What the vertical axis is about: "Step time".
    void setGoal(const QString& title);
    /// A horizontal line; 0: none.
    void setLowerBound(double seconds);
    void renderWhole(QPainter& painter, const QRect& target) const;
    QCustomPlot* plot() const { return m_plot; }

protected:
    bool eventFilter(QObject*, QEvent*) override;

private:
    void updateGraphs();
    void updateAxes();
    void updateBound();
    void updateStyle();
    void fit();
    void showValueAt(QPoint position);
    void hideValue();
    double bestTime() const;
    bool againstSeconds() const;
    /// Height of the bound's label over that of the axes.
    double labelShare() const;

    std::vector<CurveSeries> m_series;
    QString m_goal = tr("Step time");
    double m_lowerBound_s = 0;
    TimeUnit m_unit;
    bool m_following = true;  ///< the axes follow the data
    int m_fittedHeight = 0;   ///< of the axes when they did last, in pixels

    QStackedWidget* m_pages = nullptr;
    QLabel* m_empty = nullptr;
    QComboBox* m_against = nullptr;
    QCheckBox* m_logX = nullptr;
    QCheckBox* m_logY = nullptr;
    QCheckBox* m_means = nullptr;
    QCustomPlot* m_plot = nullptr;
    QCPItemStraightLine* m_bound = nullptr;
    QCPItemText* m_boundLabel = nullptr;
    QCPItemTracer* m_tracer = nullptr;
};

}  // namespace placewright
