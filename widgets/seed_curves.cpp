// SPDX-License-Identifier: MIT
#include "widgets/seed_curves.hpp"

#include <algorithm>
#include <cmath>

#include <QCheckBox>

#include "core/base/infinity.hpp"
#include "core/base/statistics.hpp"
#include "widgets/qcustomplot_header.hpp"
#include "widgets/quantities.hpp"

namespace placewright {

SeedCurves::SeedCurves(QWidget* parent)
    : PlotFrame(Legend::on_screen, tr("Learning curves"),
                tr("Fits the axes to all curves (or double-click the plot)"), parent) {
    setEmptyText(tr("Start the comparison to plot how the algorithms improve over their evaluations."));
    m_log = addCheck("logX", tr("Log x"), tr("Logarithmic axis of evaluations"));
    m_log->setChecked(true);
    plot()->axisRect()->setRangeDrag(Qt::Horizontal);
    plot()->axisRect()->setRangeZoom(Qt::Horizontal);
    plot()->xAxis->setNumberFormat("gb");
    plot()->xAxis->setNumberPrecision(6);
    addTracer();
    connect(m_log, &QCheckBox::toggled, this, [this] {
        follow();
        updateAxes();
    });
    updateStyle();
}

std::vector<SeedCurves::Point> SeedCurves::pointsOf(const SeedCurve& curve, double from, double to) {
    constexpr int kPoints = 200;
    std::vector<Point> points;
    double last = 0;
    for (int i = 0; i <= kPoints; ++i) {
        const double at = std::round(from * std::pow(to / from, static_cast<double>(i) / kPoints));
        if (at == last) continue;
        last = at;
        std::vector<double> values;
        for (const auto& seed : curve.seeds) {
            const auto after =
                std::ranges::upper_bound(*seed, static_cast<std::uint64_t>(at), {}, &CurvePoint::evaluations);
            const bool known = after != seed->begin() && std::prev(after)->fits;
            values.push_back(known ? std::prev(after)->best_s : kInfinity);
        }
        const auto [best, worst] = std::ranges::minmax(values);
        if (std::isfinite(worst)) points.push_back({at, best, median(std::move(values)), worst});
    }
    return points;
}

void SeedCurves::setCurves(const std::vector<SeedCurve>& curves, const QString& objective) {
    hideValue();
    m_objective = objective;
    double from = kInfinity, to = 0;
    for (const SeedCurve& curve : curves) {
        for (const auto& seed : curve.seeds) {
            if (seed->empty()) continue;
            from = std::min(from, static_cast<double>(seed->front().evaluations));
            to = std::max(to, static_cast<double>(seed->back().evaluations));
        }
    }
    m_curves.clear();
    double least_s = kInfinity;
    for (const SeedCurve& curve : curves) {
        m_curves.push_back({curve.title, curve.color, {}});
        if (to > 0 && !curve.seeds.empty())
            m_curves.back().points = pointsOf(curve, std::max(1.0, from), std::max(1.0, to));
        for (const Point& point : m_curves.back().points) least_s = std::min(least_s, point.best_s);
    }
    setEmpty(!std::isfinite(least_s));
    if (std::isfinite(least_s)) m_unit = timeUnitFor(least_s);

    plot()->clearGraphs();
    for (const Curve& curve : m_curves) {
        QVector<QCPGraphData> worst, best, middle;
        for (const Point& point : curve.points) {
            worst.append({point.evaluations, point.worst_s * m_unit.per_second});
            best.append({point.evaluations, point.best_s * m_unit.per_second});
            middle.append({point.evaluations, point.median_s * m_unit.per_second});
        }
        QColor band = curve.color;
        band.setAlphaF(0.18F);
        QCPGraph* above = plot()->addGraph();
        QCPGraph* below = plot()->addGraph();
        QCPGraph* line = plot()->addGraph();
        above->data()->set(worst, true);
        below->data()->set(best, true);
        line->data()->set(middle, true);
        for (QCPGraph* edge : {above, below}) {
            edge->setPen(Qt::NoPen);
            edge->removeFromLegend();
        }
        above->setBrush(band);
        above->setChannelFillGraph(below);
        line->setPen(QPen(curve.color, 2));
        line->setName(curve.title);
        for (QCPGraph* graph : {above, below, line}) graph->setLineStyle(QCPGraph::lsStepLeft);
        if (curve.points.empty()) line->removeFromLegend();
    }
    updateAxes();
}

void SeedCurves::updateAxes() {
    plot()->xAxis->setScaleType(m_log->isChecked() ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
    setAxisTitle(*plot()->xAxis, tr("Evaluations"));
    setAxisTitle(*plot()->yAxis, m_objective, m_unit.name);
    double from = kInfinity, to = 0, low = kInfinity, high = 0;
    for (const Curve& curve : m_curves) {
        if (curve.points.empty()) continue;
        from = std::min(from, curve.points.front().evaluations);
        to = std::max(to, curve.points.back().evaluations);
        for (const Point& point : curve.points) {
            low = std::min(low, point.best_s);
            high = std::max(high, point.median_s);
        }
    }
    if (std::isfinite(low)) {
        // Where all begin, they are far worse: the rest matters.
        high = std::min(high, 2 * low);
        const double span = std::max(high - low, 0.01 * low);
        plot()->yAxis->setRange((low - 0.05 * span) * m_unit.per_second,
                                (high + 0.08 * span) * m_unit.per_second);
        if (isFollowing()) plot()->xAxis->setRange(m_log->isChecked() ? from : 0, std::max(to, from * 1.01));
    }
    updateLogTicker(*plot()->xAxis);
    plot()->replot(QCustomPlot::rpQueuedReplot);
}

void SeedCurves::showValueAt(QPoint position) {
    constexpr double kReach = 24;  // pixels
    if (!plot()->axisRect()->rect().contains(position)) return hideValue();
    const double x = plot()->xAxis->pixelToCoord(position.x());
    const Curve* nearest = nullptr;
    const Point* found = nullptr;
    double distance = kReach;
    for (const Curve& curve : m_curves) {
        const auto after = std::ranges::upper_bound(curve.points, x, {}, &Point::evaluations);
        if (after == curve.points.begin()) continue;
        const Point& point = *std::prev(after);
        const double away =
            std::abs(plot()->yAxis->coordToPixel(point.median_s * m_unit.per_second) - position.y());
        if (away >= distance) continue;
        distance = away;
        nearest = &curve;
        found = &point;
    }
    if (found == nullptr) return hideValue();
    showValue(
        {found->evaluations, found->median_s * m_unit.per_second}, position,
        tr("%1\nafter %L2 evaluations: median %3, from %4 to %5 over the seeds")
            .arg(nearest->title)
            .arg(found->evaluations, 0, 'f', 0)
            .arg(secondsText(found->median_s), secondsText(found->best_s), secondsText(found->worst_s)));
}

}  // namespace placewright
