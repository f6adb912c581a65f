// SPDX-License-Identifier: MIT
#include "widgets/curve_plot.hpp"

#include <algorithm>
#include <cmath>

#include <QCheckBox>
#include <QComboBox>
#include <QFontMetricsF>

#include "core/base/infinity.hpp"
#include "core/base/units.hpp"
#include "widgets/end_labels.hpp"
#include "widgets/palette.hpp"
#include "widgets/qcustomplot_header.hpp"

namespace placewright {
namespace {

/// Share of a search in which values still fall steeply from arbitrary starts; the vertical range
/// is fitted to the values after it.
constexpr double kEarly = 0.03;

/// The range includes the lower bound unless the curves would then get less than half of it.
constexpr double kMostOfBound = 1;

/// Largest share of the height that is reserved for the bound's label.
constexpr double kMostForLabel = 0.25;

QString emptyText(bool searched) {
    return searched
               ? CurvePlot::tr(
                     "No placement that fits the memory has been found yet. Only those that fit are drawn.")
               : CurvePlot::tr(
                     "No curves yet. Press Optimize to plot the best result of each search while it runs.");
}

/// Curves from outside may contain infinite values.
bool isDrawn(const CurvePoint& point) {
    return point.fits && std::isfinite(point.best_s);
}

}  // namespace

CurvePlot::CurvePlot(QWidget* parent)
    : PlotFrame(Legend::none, tr("Learning curves"),
                tr("Fits the axes to all curves (or double-click the plot)"), parent),
      m_unit(timeUnitFor(1e-3)) {
    setEmptyText(emptyText(false));
    m_against = addChoice("against", {tr("Evaluations"), tr("Seconds")}, tr("Horizontal axis"),
                          tr("Quantity on the horizontal axis"));
    m_logX = addCheck("logX", tr("Log x"), tr("Logarithmic horizontal axis"));
    m_logY = addCheck("logY", tr("Log y"), tr("Logarithmic vertical axis"));
    m_means = addCheck(
        "means", tr("Mean"),
        tr("Also draws the mean of the placements that each search has scored, against evaluations"));
    m_candidates = addCheck("candidates", tr("Points"),
                            tr("Draws placements that each search has scored as faint points"));
    m_candidates->setChecked(true);

    plot()->setPlottingHint(QCP::phFastPolylines);
    for (QCPAxis* axis : {plot()->xAxis, plot()->yAxis}) {
        axis->setNumberFormat("gb");
        axis->setNumberPrecision(5);
        connect(axis, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), this,
                [axis] { updateLogTicker(*axis); });
    }
    connect(plot(), &QCustomPlot::afterLayout, this, [this] {
        if (isFollowing() && plot()->axisRect()->height() != m_fittedHeight) updateAxes();
    });
    connect(plot()->yAxis, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), this, &CurvePlot::updateBound);

    m_bound = new QCPItemStraightLine(plot());
    m_boundLabel = new QCPItemText(plot());
    m_boundLabel->position->setTypeX(QCPItemPosition::ptAxisRectRatio);
    m_boundLabel->position->setTypeY(QCPItemPosition::ptPlotCoords);
    m_boundLabel->setPositionAlignment(Qt::AlignTop | Qt::AlignLeft);
    m_boundLabel->setPadding(QMargins(4, 2, 4, 3));
    addTracer();
    m_labels = std::make_unique<EndLabels>(plot());

    const auto fitAgain = [this] {
        follow();
        updateAxes();
    };
    connect(m_against, &QComboBox::currentIndexChanged, this, [this, fitAgain] {
        m_means->setEnabled(!againstSeconds());
        updateGraphs();
        fitAgain();
    });
    connect(m_means, &QCheckBox::toggled, this, [this, fitAgain] {
        updateGraphs();
        fitAgain();
    });
    connect(m_candidates, &QCheckBox::toggled, this, [this] {
        updateCandidates();
        plot()->replot(QCustomPlot::rpQueuedReplot);
    });
    connect(m_logX, &QCheckBox::toggled, this, fitAgain);
    connect(m_logY, &QCheckBox::toggled, this, fitAgain);
    updateStyle();
    updateBound();
    updateAxes();
}

CurvePlot::~CurvePlot() {
    plot()->disconnect();  // its last signals must not reach the labels
}

void CurvePlot::setSeries(std::vector<CurveSeries> series, const QString& otherwise) {
    m_series = std::move(series);
    const bool empty = !std::isfinite(bestTime());
    const bool any = std::ranges::any_of(
        m_series, [](const CurveSeries& one) { return one.points && !one.points->empty(); });
    setEmptyText(otherwise.isEmpty() ? emptyText(any) : otherwise);
    setEmpty(empty);
    updateGraphs();
    updateBound();
    updateAxes();
}

void CurvePlot::setObjective(const QString& title) {
    m_objective = title;
    updateAxes();
}

void CurvePlot::setLowerBound(double seconds) {
    if (seconds == m_lowerBound_s) return;
    m_lowerBound_s = seconds;
    updateBound();
    updateAxes();
}

bool CurvePlot::againstSeconds() const {
    return m_against->currentIndex() == 1;
}

double CurvePlot::bestTime() const {
    double best = kInfinity;
    for (const CurveSeries& series : m_series) {
        if (!series.points) continue;
        for (const CurvePoint& point : *series.points) {
            if (isDrawn(point) && point.best_s > 0) best = std::min(best, point.best_s);
        }
    }
    return best;
}

void CurvePlot::updateGraphs() {
    const double best = bestTime();
    if (std::isfinite(best)) m_unit = timeUnitFor(best);
    const bool seconds = againstSeconds();
    const auto runs = static_cast<int>(m_series.size());
    const int graphs = m_means->isChecked() && !seconds ? 2 * runs : runs;
    while (plot()->graphCount() > graphs) plot()->removeGraph(plot()->graphCount() - 1);
    while (plot()->graphCount() < graphs) plot()->addGraph()->setLineStyle(QCPGraph::lsStepLeft);

    const QColor base = plot()->palette().color(QPalette::Base);
    const auto endOf = [seconds](const CurveSeries& series) {
        return seconds ? series.seconds : series.evaluations;
    };
    double right = 0;
    for (const CurveSeries& series : m_series) right = std::max(right, endOf(series));
    for (int i = 0; i < runs; ++i) {
        const CurveSeries& series = m_series[i];
        QCPGraph& graph = *plot()->graph(i);
        QVector<QCPGraphData> points;
        if (series.points) {
            points.reserve(static_cast<qsizetype>(series.points->size()) + 1);
            for (const CurvePoint& point : *series.points) {
                if (!isDrawn(point)) continue;
                points.append({seconds ? point.seconds : static_cast<double>(point.evaluations),
                               point.best_s * m_unit.per_second});
            }
        }
        const double end = series.ended ? right : endOf(series);
        if (series.ended && points.size() == 1) points.prepend({0, points.first().value});
        if (!points.isEmpty() && end > points.last().key) points.append({end, points.last().value});
        const bool above =
            !points.isEmpty() && points.last().value > kRelevantFactor * best * m_unit.per_second;
        graph.data()->set(points, true);
        graph.setPen(seriesPen(series.style, base));
        graph.setName(above              ? tr("%1 (above)").arg(series.title)
                      : points.isEmpty() ? tr("%1 (does not fit)").arg(series.title)
                                         : series.title);
    }
    for (int i = runs; i < graphs; ++i) {
        const CurveSeries& series = m_series[i - runs];
        QVector<QCPGraphData> points;
        double from = 0;
        for (const SeriesPoint& mean : series.means) {
            points.append({from, mean.value * m_unit.per_second});
            from = static_cast<double>(mean.evaluations);
        }
        if (!points.isEmpty()) points.append({from, points.last().value});
        QCPGraph& graph = *plot()->graph(i);
        QPen pen = seriesPen(series.style, base);
        pen.setColor(mixedColor(base, pen.color(), 0.55F));
        pen.setWidthF(1.2);
        graph.data()->set(points, true);
        graph.setPen(pen);
        graph.setName(tr("%1, mean").arg(series.title));
    }
    updateCandidates();
    updateLabels();
}

void CurvePlot::updateCandidates() {
    constexpr std::size_t kMost = 6000;  // points of all runs, for smooth drawing
    const std::size_t wanted = m_candidates->isChecked() ? m_series.size() : 0;
    while (m_points.size() > wanted) {
        plot()->removePlottable(m_points.back());
        m_points.pop_back();
    }
    while (m_points.size() < wanted) {
        auto* points = new QCPCurve(plot()->xAxis, plot()->yAxis);
        points->setLineStyle(QCPCurve::lsNone);
        points->setAntialiasedScatters(false);
        points->setLayer(QStringLiteral("grid"));  // below all curves
        m_points.push_back(points);
    }
    std::size_t all = 0;
    for (const CurveSeries& series : m_series) all += series.samples ? series.samples->size() : 0;
    const std::size_t stride = all / kMost + 1;
    const QColor base = plot()->palette().color(QPalette::Base);
    for (std::size_t i = 0; i < wanted; ++i) {
        const CurveSeries& series = m_series[i];
        QVector<QCPCurveData> drawn;
        for (std::size_t k = 0; series.samples && k < series.samples->size(); k += stride) {
            const SamplePoint& point = (*series.samples)[k];
            if (!point.fits) continue;
            const double x = againstSeconds() ? point.seconds : static_cast<double>(point.evaluations);
            drawn.append({static_cast<double>(drawn.size()), x, point.value_s * m_unit.per_second});
        }
        const float share = isDark(plot()->palette()) ? 0.55F : 0.35F;
        const QColor faint = mixedColor(base, runColor(series.style, base), share);
        m_points[i]->setScatterStyle({QCPScatterStyle::ssDisc, faint, 2});
        m_points[i]->data()->set(drawn, true);
    }
}

void CurvePlot::updateLabels() {
    const QColor base = plot()->palette().color(QPalette::Base);
    std::vector<EndLabel> labels;
    for (std::size_t i = 0; i < m_series.size(); ++i) {
        const auto& points = *plot()->graph(static_cast<int>(i))->data();
        EndLabel label{m_series[i].title, runTextColor(m_series[i].style, base), {}};
        label.isDrawn = !points.isEmpty();
        if (label.isDrawn) label.end = {(points.constEnd() - 1)->key, (points.constEnd() - 1)->value};
        labels.push_back(std::move(label));
    }
    m_labels->setLabels(std::move(labels));
}

double CurvePlot::highestRelevant() const {
    constexpr std::size_t kLeast = 3;  // runs, below which none of them is an outlier
    constexpr double kSpreads = 3, kShare = 0.1;
    const double best = bestTime() * m_unit.per_second;
    std::vector<double> ends;
    for (const CurveSeries& series : m_series) {
        if (!series.points) continue;
        const auto last = std::ranges::find_if(series.points->rbegin(), series.points->rend(), isDrawn);
        if (last != series.points->rend()) ends.push_back(last->best_s * m_unit.per_second);
    }
    if (ends.size() < kLeast) return kInfinity;
    std::ranges::sort(ends);
    return best + std::max(kSpreads * (ends[ends.size() / 2] - best), kShare * best);
}

void CurvePlot::updateBound() {
    const bool visible = m_lowerBound_s > 0 && std::isfinite(m_lowerBound_s);
    m_bound->setVisible(visible);
    m_boundLabel->setVisible(visible && labelShare() <= kMostForLabel);
    if (!visible) return;
    const double y = m_lowerBound_s * m_unit.per_second;
    m_bound->point1->setCoords(0, y);
    m_bound->point2->setCoords(1, y);
    const bool below = y < plot()->yAxis->range().lower;
    m_boundLabel->position->setTypeY(below ? QCPItemPosition::ptAxisRectRatio
                                           : QCPItemPosition::ptPlotCoords);
    // The label is below the line unless the axis ends there.
    const int height = plot()->axisRect()->height();
    const bool over =
        below || plot()->axisRect()->bottom() - plot()->yAxis->coordToPixel(y) < labelShare() * height;
    m_boundLabel->setPositionAlignment((over ? Qt::AlignBottom : Qt::AlignTop) | Qt::AlignLeft);
    // Below the range it stands apart from the axes, and covers the grid.
    constexpr double kApart = 5;  // pixels
    const QRect area = plot()->axisRect()->rect();
    m_boundLabel->position->setCoords(below ? kApart / std::max(1, area.width()) : 0,
                                      below ? 1 - kApart / std::max(1, area.height()) : y);
    m_boundLabel->setBrush(below ? plot()->palette().brush(QPalette::Base) : QBrush(Qt::NoBrush));
    const QString text = tr("lower bound %1").arg(QString::fromStdString(format_seconds(m_lowerBound_s)));
    m_boundLabel->setText(below ? text + QStringLiteral(" ↓") : text);
}

double CurvePlot::labelShare() const {
    const QMargins padding = m_boundLabel->padding();
    const double height = QFontMetricsF(m_boundLabel->font()).height() + padding.top() + padding.bottom();
    return height / std::max(1, plot()->axisRect()->height());
}

void CurvePlot::updateAxes() {
    plot()->xAxis->setScaleType(m_logX->isChecked() ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
    plot()->yAxis->setScaleType(m_logY->isChecked() ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
    for (QCPAxis* axis : {plot()->xAxis, plot()->yAxis}) updateLogTicker(*axis);
    setAxisTitle(*plot()->xAxis, againstSeconds() ? tr("Time") : tr("Evaluations"),
                 againstSeconds() ? tr("s") : QString());
    setAxisTitle(*plot()->yAxis, tr("Best %1").arg(m_objective.toLower()), m_unit.name);
    if (isFollowing()) fit();
    plot()->replot(QCustomPlot::rpQueuedReplot);
}

void CurvePlot::fit() {
    m_fittedHeight = plot()->axisRect()->height();
    const double relevant = std::min(kRelevantFactor * bestTime() * m_unit.per_second, highestRelevant());
    double left = kInfinity, right = 0, low = kInfinity, high = 0;
    for (int i = 0; i < plot()->graphCount(); ++i) {
        for (const QCPGraphData& point : *plot()->graph(i)->data()) {
            if (point.key > 0) left = std::min(left, point.key);
            right = std::max(right, point.key);
        }
    }
    double mean = kInfinity;  // smallest mean; always in the range, however far below it the best is
    for (int i = 0; i < plot()->graphCount(); ++i) {
        const auto& points = *plot()->graph(i)->data();
        const bool isMean = i >= static_cast<int>(m_series.size());
        if (points.isEmpty()) continue;
        // A logarithmic axis has room for the early part of the search as well.
        const double from = m_logX->isChecked() ? 0 : kEarly * (points.constEnd() - 1)->key;
        for (auto at = points.constBegin(); at != points.constEnd(); ++at) {
            const bool over =
                at + 1 != points.constEnd() && (at + 1)->key <= from;  // ends before the fitted part begins
            if (isMean && !over) mean = std::min(mean, at->value);
            if (over || at->value > relevant) continue;
            low = std::min(low, at->value);
            high = std::max(high, at->value);
        }
    }
    if (!std::isfinite(low)) return;
    if (std::isfinite(mean)) high = std::max(high, mean);
    if (m_bound->visible()) {
        const double bound = m_bound->point1->value();
        if (low - bound <= kMostOfBound * std::max(high - low, 0.05 * high)) low = std::min(low, bound);
    }

    // Leave room below for the bound's label if the plot is high enough, and above so that no curve runs
    // along the border.
    constexpr double kAbove = 0.06;
    const double share = labelShare();
    const double below = m_bound->visible() && share <= kMostForLabel ? share / (1 - share) : kAbove;
    const bool logX = m_logX->isChecked() && left < right;
    plot()->xAxis->setRange(logX ? left : 0, right > 0 ? right : 1);
    if (m_logY->isChecked() && low > 0) {
        const double decades = std::max(std::log10(high / low), 0.02);
        plot()->yAxis->setRange(low * std::pow(10, -below * decades), high * std::pow(10, kAbove * decades));
    } else {
        const double span = std::max(high - low, 0.05 * high);
        plot()->yAxis->setRange(std::max(0.0, low - below * span), high + kAbove * span);
    }
}

void CurvePlot::updateStyle() {
    const QColor text = plot()->palette().color(QPalette::Text);
    PlotFrame::updateStyle();
    m_bound->setPen(QPen(text, 1, Qt::DashLine));
    m_boundLabel->setColor(text);
    m_boundLabel->setFont(plot()->font());
    updateBound();
    updateGraphs();
    plot()->replot(QCustomPlot::rpQueuedReplot);
}

void CurvePlot::showValueAt(QPoint position) {
    constexpr double kReach = 16;  // pixels
    const double x = plot()->xAxis->pixelToCoord(position.x());
    double nearest = kReach;
    int found = -1;
    double value = 0;
    for (int i = 0; i < plot()->graphCount() && plot()->axisRect()->rect().contains(position); ++i) {
        const auto& points = *plot()->graph(i)->data();
        const auto at = points.findBegin(x, true);
        if (at == points.constEnd() || at->key > x || x > (points.constEnd() - 1)->key) continue;
        const double distance = std::abs(plot()->yAxis->coordToPixel(at->value) - position.y());
        if (distance >= nearest) continue;
        nearest = distance;
        found = i;
        value = at->value;
    }
    if (found < 0) return hideValue();
    const QString where = againstSeconds() ? tr("after %1 s").arg(x, 0, 'f', x < 10 ? 2 : 0)
                                           : tr("after %L1 evaluations").arg(std::floor(x), 0, 'f', 0);
    const QString time = QString::fromStdString(format_seconds(value / m_unit.per_second));
    const auto runs = static_cast<int>(m_series.size());
    const QString title = found < runs ? m_series[found].title : plot()->graph(found)->name();
    showValue({x, value}, position, tr("%1\n%2 %3").arg(title, time, where));
}

}  // namespace placewright
