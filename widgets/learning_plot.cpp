// SPDX-License-Identifier: MIT
#include "widgets/learning_plot.hpp"

#include <algorithm>
#include <cmath>

#include <QCheckBox>
#include <QLabel>
#include <QToolTip>

#include "core/base/infinity.hpp"
#include "widgets/palette.hpp"
#include "widgets/plot_style.hpp"
#include "widgets/qcustomplot_header.hpp"

namespace placewright {
namespace {

constexpr int kPace_ms = 100;

QString pointText(const TrainingPoint& point) {
    return LearningPlot::tr(
               "Update %L1 · cost %2 ± %3 × one device · best %4 (mean over networks) · entropy %5 nats · "
               "learning rate %6")
        .arg(point.updates)
        .arg(point.cost, 0, 'f', 3)
        .arg(point.cost_spread, 0, 'f', 3)
        .arg(point.best_cost, 0, 'f', 3)
        .arg(point.entropy, 0, 'f', 3)
        .arg(point.learning_rate, 0, 'g', 3);
}

}  // namespace

LearningPlot::LearningPlot(QWidget* parent)
    : PlotFrame(Legend::on_screen, tr("Learning of a policy"),
                tr("Fits the axes to the whole training (or double-click the plot)"), parent) {
    setEmptyText(
        tr("Train a policy (Learn menu), or press Optimize with a learned algorithm such as "
           "Placeto, to plot its cost after each update."));
    m_header = new QLabel(this);
    m_header->setObjectName("header");
    m_header->setAccessibleName(tr("Latest update"));
    m_header->setWordWrap(true);
    m_header->setMargin(4);
    m_header->hide();
    addAbove(m_header);
    m_checks[Entropy] =
        addCheck("entropy", tr("Entropy"), tr("Mean entropy of the policy's decisions: how undecided it is"));
    m_checks[Rate] = addCheck("rate", tr("Learning rate"), tr("Step size of each update"));
    for (const Part part : {Entropy, Rate}) {
        m_checks[part]->setChecked(true);
        connect(m_checks[part], &QCheckBox::toggled, this, &LearningPlot::showParts);
    }
    makeAxes();
    makeGraphs();

    m_pace.setSingleShot(true);
    m_pace.setInterval(kPace_ms);
    connect(&m_pace, &QTimer::timeout, this, [this] {
        if (m_curve != m_drawn) draw();
    });
    connect(plot(), &QCustomPlot::afterLayout, this, &LearningPlot::alignTitles);
    showParts();
    updateStyle();
}

/// Makes the axes of the parts, one above the other; the updates have the same range in all.
void LearningPlot::makeAxes() {
    m_parts[Cost] = plot()->axisRect();
    auto* across = new QCPMarginGroup(plot());
    for (const Part part : {Cost, Entropy, Rate}) {
        if (part != Cost) {
            m_parts[part] = new QCPAxisRect(plot());
            plot()->plotLayout()->addElement(part, 0, m_parts[part]);
        }
        // The plot may be small; the cost matters most and gets most room.
        m_parts[part]->setMinimumSize(50, part == Cost ? 80 : 44);
        m_parts[part]->setMinimumMargins(QMargins(0, 4, 8, 0));
        m_parts[part]->setRangeDrag(Qt::Horizontal);
        m_parts[part]->setRangeZoom(Qt::Horizontal);
        m_parts[part]->setMarginGroup(QCP::msLeft | QCP::msRight, across);
        // Ticks are at whole updates.
        const QSharedPointer<QCPAxisTickerFixed> ticker(new QCPAxisTickerFixed);
        ticker->setTickStep(1);
        ticker->setScaleStrategy(QCPAxisTickerFixed::ssMultiples);
        updatesAxis(part)->setTicker(ticker);
        updatesAxis(part)->setNumberFormat("gb");
        updatesAxis(part)->setNumberPrecision(6);
        valueAxis(part)->setNumberFormat("gb");
        valueAxis(part)->setNumberPrecision(3);
        connect(updatesAxis(part), qOverload<const QCPRange&>(&QCPAxis::rangeChanged), this,
                [this](const QCPRange& range) {
                    for (const Part other : {Cost, Entropy, Rate}) updatesAxis(other)->setRange(range);
                });
    }
    setAxisTitle(*valueAxis(Cost), tr("Cost"));
    setAxisTitle(*valueAxis(Entropy), tr("Entropy"));
    setAxisTitle(*valueAxis(Rate), tr("Rate"));
}

void LearningPlot::makeGraphs() {
    const auto addGraph = [this](Part part, const QString& name) {
        QCPGraph* graph = plot()->addGraph(updatesAxis(part), valueAxis(part));
        graph->setName(name);
        return graph;
    };
    m_above = addGraph(Cost, tr("± standard deviation"));
    m_below = addGraph(Cost, {});
    m_mean = addGraph(Cost, tr("mean of the update's episodes"));
    m_best = addGraph(Cost, tr("best so far (mean over networks)"));
    m_best->setLineStyle(QCPGraph::lsStepLeft);
    m_entropy = addGraph(Entropy, {});
    m_rate = addGraph(Rate, {});
    m_above->setPen(Qt::NoPen);
    m_below->setPen(Qt::NoPen);
    m_above->setChannelFillGraph(m_below);
    for (QCPGraph* graph : {m_below, m_entropy, m_rate}) graph->removeFromLegend();

    m_oneDevice = new QCPItemStraightLine(plot());
    m_oneDevice->point1->setCoords(0, 1);
    m_oneDevice->point2->setCoords(1, 1);
    m_oneDeviceLabel = new QCPItemText(plot());
    m_oneDeviceLabel->setText(tr("one device"));
    m_oneDeviceLabel->position->setTypeX(QCPItemPosition::ptAxisRectRatio);
    m_oneDeviceLabel->position->setTypeY(QCPItemPosition::ptPlotCoords);
    m_oneDeviceLabel->position->setCoords(1, 1);
    m_oneDeviceLabel->setPositionAlignment(Qt::AlignBottom | Qt::AlignRight);
    m_oneDeviceLabel->setPadding(QMargins(4, 1, 4, 1));
    m_oneDeviceLabel->setClipToAxisRect(true);
}

QCPAxis* LearningPlot::updatesAxis(Part part) const {
    return m_parts[part]->axis(QCPAxis::atBottom);
}

QCPAxis* LearningPlot::valueAxis(Part part) const {
    return m_parts[part]->axis(QCPAxis::atLeft);
}

void LearningPlot::setCurve(std::shared_ptr<const std::vector<TrainingPoint>> curve) {
    if (curve && curve->empty()) curve.reset();
    // A different training is shown as a whole.
    if (!m_curve || !curve || curve->front() != m_curve->front()) follow();
    m_curve = std::move(curve);
    m_header->setVisible(m_curve != nullptr);
    setEmpty(m_curve == nullptr);
    if (m_curve != m_drawn && isVisible() && !m_pace.isActive()) draw();
}

void LearningPlot::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (m_curve != m_drawn && !m_pace.isActive()) draw();
}

void LearningPlot::draw() {
    m_drawn = m_curve;
    m_pace.start();
    QVector<QCPGraphData> above, below, mean, best, entropy, rate;
    if (m_drawn) {
        for (const TrainingPoint& point : *m_drawn) {
            const auto at = static_cast<double>(point.updates);
            above.append({at, point.cost + point.cost_spread});
            below.append({at, point.cost - point.cost_spread});
            mean.append({at, point.cost});
            best.append({at, point.best_cost});
            entropy.append({at, point.entropy});
            rate.append({at, point.learning_rate});
        }
        m_header->setText(pointText(m_drawn->back()));
    }
    m_above->data()->set(above, true);
    m_below->data()->set(below, true);
    m_mean->data()->set(mean, true);
    m_best->data()->set(best, true);
    m_entropy->data()->set(entropy, true);
    m_rate->data()->set(rate, true);
    updateAxes();
}

/// Fits the vertical ranges to the whole training, whatever part of it is visible.
void LearningPlot::updateAxes() {
    if (!m_drawn) return;
    double least = kInfinity, least_mean = kInfinity, entropy = 0, rate = 0;
    for (const TrainingPoint& point : *m_drawn) {
        least = std::min(least, point.best_cost);
        least_mean = std::min(least_mean, point.cost);
        entropy = std::max(entropy, point.entropy);
        rate = std::max(rate, point.learning_rate);
    }
    const double relevant = std::max(kRelevantFactor * std::max(least, 1.0), 1.2 * least_mean);
    double low = std::min(least, 1.0), high = std::max(least, 1.0);
    for (const TrainingPoint& point : *m_drawn) {
        high = std::max(high, std::min(point.cost + point.cost_spread, relevant));
        low = std::min(low, std::max(0.0, point.cost - point.cost_spread));
    }
    const double span = std::max(high - low, 0.05 * high);
    valueAxis(Cost)->setRange(std::max(0.0, low - 0.06 * span), high + 0.15 * span);
    // The label of one device goes to the side of its line that has room for it.
    const QCPRange cost = valueAxis(Cost)->range();
    m_oneDeviceLabel->setPositionAlignment(
        Qt::AlignRight | (1 - cost.lower > 0.6 * cost.size() ? Qt::AlignTop : Qt::AlignBottom));
    valueAxis(Entropy)->setRange(0, entropy > 0 ? 1.1 * entropy : 1);
    valueAxis(Rate)->setRange(0, rate > 0 ? 1.1 * rate : 1);
    if (isFollowing())
        updatesAxis(Cost)->setRange(0, std::max(1.0, static_cast<double>(m_drawn->back().updates)));
    plot()->replot(QCustomPlot::rpQueuedReplot);
}

/// A title begins after the widest label of its own axis alone.
void LearningPlot::alignTitles() {
    constexpr int kGap = 5;
    std::array<int, 3> width{};
    for (const Part part : {Cost, Entropy, Rate}) {
        const QFontMetrics metrics(valueAxis(part)->tickLabelFont());
        for (const QString& label : valueAxis(part)->tickVectorLabels())
            width[part] = std::max(width[part], metrics.horizontalAdvance(label));
        if (!m_parts[part]->realVisibility()) width[part] = 0;
    }
    const int widest = std::ranges::max(width);
    bool changed = false;
    for (const Part part : {Cost, Entropy, Rate}) {
        const int gap = kGap + widest - width[part];
        changed |= valueAxis(part)->labelPadding() != gap;
        valueAxis(part)->setLabelPadding(gap);
    }
    if (changed) plot()->replot(QCustomPlot::rpQueuedReplot);
}

void LearningPlot::showParts() {
    QCPLayoutGrid* grid = plot()->plotLayout();
    Part last = Cost;
    for (const Part part : {Entropy, Rate}) {
        const bool shown = m_checks[part]->isChecked();
        if (m_parts[part]->layout() != nullptr) grid->take(m_parts[part]);
        m_parts[part]->setVisible(shown);
    }
    grid->simplify();
    for (const Part part : {Entropy, Rate}) {
        if (!m_checks[part]->isChecked()) continue;
        grid->addElement(grid->rowCount(), 0, m_parts[part]);
        grid->setRowStretchFactor(grid->rowCount() - 1, 0.4);
        last = part;
    }
    for (const Part part : {Cost, Entropy, Rate}) {
        updatesAxis(part)->setTickLabels(part == last);
        setAxisTitle(*updatesAxis(part), part == last ? tr("Updates") : QString());
    }
    updateStyle();  // styles the parts that are in the grid
}

void LearningPlot::updateStyle() {
    PlotFrame::updateStyle();
    const QPalette palette = plot()->palette();
    const QColor base = palette.color(QPalette::Base), text = palette.color(QPalette::Text);
    QColor band = runColor(1, base);
    m_mean->setPen(QPen(band, 1.5));
    band.setAlphaF(0.25F);
    m_above->setBrush(band);
    m_best->setPen(QPen(text, 2));
    m_entropy->setPen(QPen(runColor(2, base), 1.5));
    m_rate->setPen(QPen(runColor(3, base), 1.5));
    m_oneDevice->setPen(QPen(mixedColor(base, text, 0.6F), 1, Qt::DashLine));
    m_oneDeviceLabel->setColor(text);
    m_oneDeviceLabel->setFont(plot()->font());
    plot()->replot(QCustomPlot::rpQueuedReplot);
}

void LearningPlot::showValueAt(QPoint position) {
    const bool inside = std::ranges::any_of(m_parts, [&](const QCPAxisRect* part) {
        return part->realVisibility() && part->rect().contains(position);
    });
    if (!inside || !m_drawn) return hideValue();
    const double update = std::round(updatesAxis(Cost)->pixelToCoord(position.x()));
    const auto found = std::ranges::find_if(
        *m_drawn, [&](const TrainingPoint& point) { return static_cast<double>(point.updates) >= update; });
    QToolTip::showText(plot()->mapToGlobal(position),
                       pointText(found == m_drawn->end() ? m_drawn->back() : *found), plot());
}

void LearningPlot::hideValue() {
    QToolTip::hideText();
}

}  // namespace placewright
