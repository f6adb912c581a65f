// SPDX-License-Identifier: MIT
// What the tests of plots share: small data for them, and the points that they draw.
#pragma once

#include <memory>
#include <vector>

#include <QList>
#include <QPointF>

#include "widgets/cdf_plot.hpp"
#include "widgets/curve_plot.hpp"
#include "widgets/qcustomplot_header.hpp"

namespace placewright::test {

inline CurveSeries series(int id, std::vector<CurvePoint> points, double evaluations, double seconds) {
    return {{"auto", id - 1},
            QStringLiteral("Run #%1").arg(id),
            std::make_shared<const std::vector<CurvePoint>>(std::move(points)),
            evaluations,
            seconds,
            {}};
}

/// A curve that falls from 90 ms, after a penalty, to 41 ms.
inline CurveSeries usualSeries(int id = 1) {
    return series(
        id, {{10, 0.1, 5e5, 5e5}, {20, 0.2, 0.090, 0.1}, {300, 3.0, 0.050, 0.06}, {800, 8.0, 0.041, 0.05}},
        1000, 10);
}

/// Three graphs placed by two schemes; "random" does not fit on one of them.
inline CdfData family() {
    return {{{"small", 0.010}, {"middle", 0.040}, {"large", 0.100}},
            {{"optimized", {{2, 0.050}, {0, 0.010}, {1, 0.030}}},
             {"random", {{0, 0.020}, {1, 0.060}, {2, 0.001, false}}}}};
}

inline QList<QPointF> dataOf(const QCustomPlot& plot, int graph) {
    QList<QPointF> points;
    for (const QCPGraphData& point : *plot.graph(graph)->data()) points << QPointF(point.key, point.value);
    return points;
}

}  // namespace placewright::test
