// SPDX-License-Identifier: MIT
#include "widgets/curve_plot.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <QCheckBox>
#include <QComboBox>
#include <QFontMetricsF>
#include <QHBoxLayout>
#include <QLabel>
#include <QStackedWidget>
#include <QToolButton>
#include <QToolTip>
#include <QVBoxLayout>

#include "core/base/units.hpp"
#include "widgets/palette.hpp"
#include "widgets/qcustomplot_header.hpp"

namespace placewright {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The part of a search in which it falls from anything to something, as a share of the longest one: what comes later shall be seen.
constexpr double kEarly = 0.03;

/// The lower bound is in the range unless the curves would have less than a third of it.
constexpr double kMostOfBound = 2;

/// Share of the height that the label of the bound may take.
constexpr double kMostForLabel = 0.25;

QString emptyText(bool searched) {
    return searched ? CurvePlot::tr("No placement has been found yet that fits the memory. The best that do are drawn here.")
                    : CurvePlot::tr("No curves yet. Press Optimize: the best of each search is drawn here while it runs.");
}

/// Infinite ones come from outside.
bool isDrawn(const CurvePoint& point) {
    return point.fits && std::isfinite(point.best_s);
}

}  // namespace

CurvePlot::CurvePlot(QWidget* parent) : QWidget(parent), m_unit(timeUnitFor(1e-3)) {
    m_against = new QComboBox(this);
    m_against->setObjectName("against");
    m_against->addItems({tr("Evaluations"), tr("Seconds")});
    m_against->setAccessibleName(tr("Horizontal axis"));
    m_against->setToolTip(tr("What the curves are drawn against"));
    const auto makeCheck = [this](const QString& name, const QString& text, const QString& toolTip) {
        auto* check = new QCheckBox(text, this);
        check->setObjectName(name);
        check->setToolTip(toolTip);
        return check;
    };
    m_logX = makeCheck("logX", tr("Log x"), tr("Logarithmic horizontal axis"));
    m_logY = makeCheck("logY", tr("Log y"), tr("Logarithmic vertical axis"));
    m_means = makeCheck("means", tr("Mean"), tr("Also the mean of the placements that each search has scored, against evaluations"));
    auto* fitButton = new QToolButton(this);
    fitButton->setObjectName("fit");
    fitButton->setText(tr("Fit"));
    fitButton->setToolTip(tr("Shows the curves from beginning to end, as a double click in the plot does"));
    fitButton->setFocusPolicy(Qt::StrongFocus);

    m_plot = new QCustomPlot(this);
    m_plot->setAccessibleName(tr("Learning curves"));
    m_plot->setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
    m_plot->setNoAntialiasingOnDrag(true);
    m_plot->setPlottingHint(QCP::phFastPolylines);
    fitAround(*m_plot, true);
    m_plot->installEventFilter(this);
    for (QCPAxis* axis : {m_plot->xAxis, m_plot->yAxis}) {
        axis->setNumberFormat("gb");
        axis->setNumberPrecision(5);
        connect(axis, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), this, [axis] { updateLogTicker(*axis); });
    }
    connect(m_plot, &QCustomPlot::afterLayout, this, [this] {
        if (m_following && m_plot->axisRect()->height() != m_fittedHeight) updateAxes();
    });
    connect(m_plot->yAxis, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), this, &CurvePlot::updateBound);

    m_bound = new QCPItemStraightLine(m_plot);
    m_boundLabel = new QCPItemText(m_plot);
    m_boundLabel->position->setTypeX(QCPItemPosition::ptAxisRectRatio);
    m_boundLabel->position->setTypeY(QCPItemPosition::ptPlotCoords);
    m_boundLabel->setPositionAlignment(Qt::AlignTop | Qt::AlignLeft);
    m_boundLabel->setPadding(QMargins(4, 1, 4, 1));
    m_tracer = new QCPItemTracer(m_plot);
    m_tracer->setStyle(QCPItemTracer::tsCircle);
    m_tracer->setSize(8);
    m_tracer->setVisible(false);

    m_empty = makeEmptyLabel(emptyText(false), this);
    m_pages = new QStackedWidget(this);
    m_pages->addWidget(m_empty);
    m_pages->addWidget(m_plot);

    auto* controls = new QHBoxLayout;
    controls->setContentsMargins(4, 4, 4, 4);
    for (QWidget* widget :
         {static_cast<QWidget*>(m_against), static_cast<QWidget*>(m_logX), static_cast<QWidget*>(m_logY), static_cast<QWidget*>(m_means)})
        controls->addWidget(widget);
    controls->addStretch(1);
    controls->addWidget(fitButton);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(controls);
    layout->addWidget(m_pages, 1);

    const auto fitAgain = [this] {
        m_following = true;
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
    connect(m_logX, &QCheckBox::toggled, this, fitAgain);
    connect(m_logY, &QCheckBox::toggled, this, fitAgain);
    connect(fitButton, &QToolButton::clicked, this, fitAgain);
    connect(m_plot, &QCustomPlot::mouseDoubleClick, this, fitAgain);
    connect(m_plot, &QCustomPlot::mouseWheel, this, [this] { m_following = false; });
    connect(m_plot, &QCustomPlot::mouseMove, this, [this](QMouseEvent* event) {
        if (event->buttons() & Qt::LeftButton) m_following = false;
        showValueAt(event->pos());
    });
    updateStyle();
    updateBound();
    updateAxes();
}

void CurvePlot::setSeries(std::vector<CurveSeries> series) {
    m_series = std::move(series);
    const bool empty = !std::isfinite(bestTime());
    const bool any = std::ranges::any_of(m_series, [](const CurveSeries& one) { return one.points && !one.points->empty(); });
    m_empty->setText(emptyText(any));
    m_pages->setCurrentWidget(empty ? static_cast<QWidget*>(m_empty) : m_plot);
    updateGraphs();
    updateBound();
    updateAxes();
}

void CurvePlot::setGoal(const QString& title) {
    m_goal = title;
    updateAxes();
}

void CurvePlot::setLowerBound(double seconds) {
    if (seconds == m_lowerBound_s) return;
    m_lowerBound_s = seconds;
    updateBound();
    updateAxes();
}

void CurvePlot::renderWhole(QPainter& painter, const QRect& target) const {
    renderPlot(*m_plot, painter, target);
}

bool CurvePlot::eventFilter(QObject* watched, QEvent* event) {
    if (watched == m_plot) {
        if (event->type() == QEvent::Leave) hideValue();
        if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) updateStyle();
    }
    return QWidget::eventFilter(watched, event);
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
    while (m_plot->graphCount() > graphs) m_plot->removeGraph(m_plot->graphCount() - 1);
    while (m_plot->graphCount() < graphs) m_plot->addGraph()->setLineStyle(QCPGraph::lsStepLeft);

    const QColor base = m_plot->palette().color(QPalette::Base);
    const auto endOf = [seconds](const CurveSeries& series) { return seconds ? series.seconds : series.evaluations; };
    double right = 0;
    for (const CurveSeries& series : m_series) right = std::max(right, endOf(series));
    for (int i = 0; i < runs; ++i) {
        const CurveSeries& series = m_series[i];
        QCPGraph& graph = *m_plot->graph(i);
        QVector<QCPGraphData> points;
        if (series.points) {
            points.reserve(static_cast<qsizetype>(series.points->size()) + 1);
            for (const CurvePoint& point : *series.points) {
                if (!isDrawn(point)) continue;
                points.append({seconds ? point.seconds : static_cast<double>(point.evaluations), point.best_s * m_unit.per_second});
            }
        }
        const double end = series.ended ? right : endOf(series);
        if (series.ended && points.size() == 1) points.prepend({0, points.first().value});
        if (!points.isEmpty() && end > points.last().key) points.append({end, points.last().value});
        const bool above = !points.isEmpty() && points.last().value > kRelevantFactor * best * m_unit.per_second;
        graph.data()->set(points, true);
        graph.setPen(seriesPen(series.run, base));
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
        QCPGraph& graph = *m_plot->graph(i);
        QPen pen = seriesPen(series.run, base);
        pen.setColor(mixedColor(base, pen.color(), 0.55F));
        pen.setWidthF(1.2);
        graph.data()->set(points, true);
        graph.setPen(pen);
        graph.setName(tr("%1, mean").arg(series.title));
        // The lines of the best stand for their runs.
        graph.removeFromLegend();
    }
}

void CurvePlot::updateBound() {
    const bool visible = m_lowerBound_s > 0 && std::isfinite(m_lowerBound_s);
    m_bound->setVisible(visible);
    m_boundLabel->setVisible(visible && labelShare() <= kMostForLabel);
    if (!visible) return;
    const double y = m_lowerBound_s * m_unit.per_second;
    m_bound->point1->setCoords(0, y);
    m_bound->point2->setCoords(1, y);
    const bool below = y < m_plot->yAxis->range().lower;
    m_boundLabel->position->setTypeY(below ? QCPItemPosition::ptAxisRectRatio : QCPItemPosition::ptPlotCoords);
    // Under the line unless the axis ends there.
    const int height = m_plot->axisRect()->height();
    const bool over = below || m_plot->axisRect()->bottom() - m_plot->yAxis->coordToPixel(y) < labelShare() * height;
    m_boundLabel->setPositionAlignment((over ? Qt::AlignBottom : Qt::AlignTop) | Qt::AlignLeft);
    m_boundLabel->position->setCoords(0, below ? 1 : y);
    const QString text = tr("lower bound %1").arg(QString::fromStdString(format_seconds(m_lowerBound_s)));
    m_boundLabel->setText(below ? text + QStringLiteral(" ↓") : text);
}

double CurvePlot::labelShare() const {
    const QMargins padding = m_boundLabel->padding();
    const double height = QFontMetricsF(m_boundLabel->font()).height() + padding.top() + padding.bottom();
    return height / std::max(1, m_plot->axisRect()->height());
}

void CurvePlot::updateAxes() {
    m_plot->xAxis->setScaleType(m_logX->isChecked() ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
    m_plot->yAxis->setScaleType(m_logY->isChecked() ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
    for (QCPAxis* axis : {m_plot->xAxis, m_plot->yAxis}) updateLogTicker(*axis);
    setAxisTitle(*m_plot->xAxis, againstSeconds() ? tr("Time") : tr("Evaluations"), againstSeconds() ? tr("s") : QString());
    setAxisTitle(*m_plot->yAxis, tr("Best %1").arg(m_goal.toLower()), m_unit.name);
    if (m_following) fit();
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void CurvePlot::fit() {
    m_fittedHeight = m_plot->axisRect()->height();
    const double relevant = kRelevantFactor * bestTime() * m_unit.per_second;
    double left = kInfinity, right = 0, low = kInfinity, high = 0;
    for (int i = 0; i < m_plot->graphCount(); ++i) {
        for (const QCPGraphData& point : *m_plot->graph(i)->data()) {
            if (point.key > 0) left = std::min(left, point.key);
            right = std::max(right, point.key);
        }
    }
    // A logarithmic axis has as much room for what comes first.
    const double from = m_logX->isChecked() ? 0 : kEarly * right;
    double mean = kInfinity;  // least mean of all, which is in the range however much the best is below
    for (int i = 0; i < m_plot->graphCount(); ++i) {
        const auto& points = *m_plot->graph(i)->data();
        const bool isMean = i >= static_cast<int>(m_series.size());
        for (auto at = points.constBegin(); at != points.constEnd(); ++at) {
            const bool over = at + 1 != points.constEnd() && (at + 1)->key <= from;  // before the range begins
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

    // Room below for the label of the bound, where the plot is high enough for one; above for the curve not to run along the border.
    constexpr double kAbove = 0.06;
    const double share = labelShare();
    const double below = m_bound->visible() && share <= kMostForLabel ? share / (1 - share) : kAbove;
    const bool logX = m_logX->isChecked() && left < right;
    m_plot->xAxis->setRange(logX ? left : 0, right > 0 ? right : 1);
    if (m_logY->isChecked() && low > 0) {
        const double decades = std::max(std::log10(high / low), 0.02);
        m_plot->yAxis->setRange(low * std::pow(10, -below * decades), high * std::pow(10, kAbove * decades));
    } else {
        const double span = std::max(high - low, 0.05 * high);
        m_plot->yAxis->setRange(std::max(0.0, low - below * span), high + kAbove * span);
    }
}

void CurvePlot::updateStyle() {
    const QColor text = m_plot->palette().color(QPalette::Text);
    stylePlot(*m_plot);
    m_bound->setPen(QPen(text, 1, Qt::DashLine));
    m_boundLabel->setColor(text);
    m_boundLabel->setFont(m_plot->font());
    m_tracer->setPen(QPen(text, 1.5));
    updateGraphs();
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void CurvePlot::showValueAt(QPoint position) {
    constexpr double kReach = 16;  // pixels
    const double x = m_plot->xAxis->pixelToCoord(position.x());
    double nearest = kReach;
    int found = -1;
    double value = 0;
    for (int i = 0; i < m_plot->graphCount() && m_plot->axisRect()->rect().contains(position); ++i) {
        const auto& points = *m_plot->graph(i)->data();
        const auto at = points.findBegin(x, true);
        if (at == points.constEnd() || at->key > x || x > (points.constEnd() - 1)->key) continue;
        const double distance = std::abs(m_plot->yAxis->coordToPixel(at->value) - position.y());
        if (distance >= nearest) continue;
        nearest = distance;
        found = i;
        value = at->value;
    }
    if (found < 0) {
        hideValue();
        return;
    }
    m_tracer->position->setCoords(x, value);
    m_tracer->setVisible(true);
    const QString where =
        againstSeconds() ? tr("after %1 s").arg(x, 0, 'f', x < 10 ? 2 : 0) : tr("after %L1 evaluations").arg(std::floor(x), 0, 'f', 0);
    const QString time = QString::fromStdString(format_seconds(value / m_unit.per_second));
    const auto runs = static_cast<int>(m_series.size());
    const QString title = found < runs ? m_series[found].title : m_plot->graph(found)->name();
    QToolTip::showText(m_plot->mapToGlobal(position), tr("%1\n%2 %3").arg(title, time, where), m_plot);
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void CurvePlot::hideValue() {
    if (!m_tracer->visible()) return;
    m_tracer->setVisible(false);
    QToolTip::hideText();
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

}  // namespace placewright
