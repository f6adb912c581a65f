// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include <QColor>
#include <QString>

#include "core/search/progress.hpp"
#include "widgets/plot_frame.hpp"
#include "widgets/plot_style.hpp"

class QCheckBox;

namespace placewright {

/// The learning curves of one algorithm, a curve per seed.
struct SeedCurve {
    QString title;
    QColor color;
    std::vector<std::shared_ptr<const std::vector<CurvePoint>>> seeds;
};

/// Best values over evaluations of several algorithms: the median over the seeds, in a band from the best to
/// the worst seed. Begins where every seed has a placement that fits.
class SeedCurves : public PlotFrame {
    Q_OBJECT
public:
    explicit SeedCurves(QWidget* parent = nullptr);
    /// Graphs 3i to 3i + 2 of the plot are worst, best and median of curve i. `objective`: title of the
    /// values.
    void setCurves(const std::vector<SeedCurve>& curves, const QString& objective);

private:
    struct Point {
        double evaluations = 0, best_s = 0, median_s = 0, worst_s = 0;
    };
    struct Curve {
        QString title;
        QColor color;
        std::vector<Point> points;
    };
    static std::vector<Point> pointsOf(const SeedCurve& curve, double from, double to);

    void updateAxes() override;
    void showValueAt(QPoint position) override;

    std::vector<Curve> m_curves;
    QString m_objective;
    TimeUnit m_unit;
    QCheckBox* m_log = nullptr;
};

}  // namespace placewright
