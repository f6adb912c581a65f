// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include <QColor>
#include <QWidget>

class QCustomPlot;
class QStackedWidget;

namespace placewright {

/// The results of one algorithm.
struct StandingBar {
    QString title;
    double mean_s = 0;
    std::optional<double> half_width_95_s;  ///< of the mean's 95 % interval; none for a single search
    std::vector<double> scores_s;           ///< one per search whose placement fits the memory
    std::size_t searches = 1;  ///< all; if some do not fit, the mean contains penalties and is not drawn

    QColor color{};  ///< invalid: that of the first series

    bool fits() const { return scores_s.size() == searches; }
};

/// Mean objective values as diamonds with their 95 % intervals, each search as a dot. The axis begins near
/// the best, so that small differences show; means far above the best are labelled with their value.
class StandingPlot : public QWidget {
    Q_OBJECT
public:
    explicit StandingPlot(QWidget* parent = nullptr);
    /// The first bar is the topmost. `one_device_s`: value of a reference line. `objective`: title of the
    /// axis, "Step time".
    void setBars(std::vector<StandingBar> bars, std::optional<double> one_device_s, const QString& objective);
    QCustomPlot* plot() const { return m_plot; }

protected:
    bool eventFilter(QObject*, QEvent*) override;

private:
    void draw();

    std::vector<StandingBar> m_bars;
    std::optional<double> m_oneDevice_s;
    QString m_objective;
    QStackedWidget* m_pages = nullptr;
    QCustomPlot* m_plot = nullptr;
};

}  // namespace placewright
