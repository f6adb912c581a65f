// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include <QWidget>

class QCustomPlot;
class QStackedWidget;

namespace placewright {

/// How one algorithm has done.
struct StandingBar {
    QString title;
    double mean_s = 0;
    std::optional<double> half_width_95_s;  ///< of the interval of the mean; nothing for a single search
    std::vector<double> scores_s;           ///< of each search whose placement fits the memory
    std::size_t searches = 1;               ///< with those whose does not: the mean then holds penalties and is not drawn

    bool fits() const { return scores_s.size() == searches; }
};

/// Mean step times, or of what else is made small, as bars from zero with their 95 % intervals, every search a dot. Bars far above the best
/// are cut off and say how far they go.
class StandingPlot : public QWidget {
    Q_OBJECT
public:
    explicit StandingPlot(QWidget* parent = nullptr);
    /// The first is drawn on top. `one_device_s`: a line to compare with. `goal`: "Step time".
    void setBars(std::vector<StandingBar> bars, std::optional<double> one_device_s, const QString& goal);
    QCustomPlot* plot() const { return m_plot; }

protected:
    bool eventFilter(QObject*, QEvent*) override;

private:
    void draw();

    std::vector<StandingBar> m_bars;
    std::optional<double> m_oneDevice_s;
    QString m_goal;
    QStackedWidget* m_pages = nullptr;
    QCustomPlot* m_plot = nullptr;
};

}  // namespace placewright
