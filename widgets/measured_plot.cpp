// SPDX-License-Identifier: MIT
#include "widgets/measured_plot.hpp"

#include <algorithm>
#include <cmath>

#include <QApplication>
#include <QMouseEvent>

#include "core/base/infinity.hpp"
#include "widgets/measured_runs.hpp"
#include "widgets/palette.hpp"
#include "widgets/plot_style.hpp"
#include "widgets/qcustomplot_header.hpp"
#include "widgets/quantities.hpp"

namespace placewright {

MeasuredPlot::MeasuredPlot(QWidget* parent)
    : PlotFrame(Legend::in_pictures, tr("Measured against simulated times of ops"),
                tr("Fits the axes to all ops (or double-click the plot)"), parent) {
    setEmptyText(tr("No op of this network was measured."));
    for (QCPAxis* axis : {plot()->xAxis, plot()->yAxis}) {
        axis->setScaleType(QCPAxis::stLogarithmic);
        axis->setNumberFormat("gb");
        axis->setNumberPrecision(5);
        connect(axis, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), this,
                [axis] { updateLogTicker(*axis); });
    }
    m_identity = new QCPItemStraightLine(plot());
    m_typical = new QCPItemStraightLine(plot());
    addTracer();
    connect(plot(), &QCustomPlot::mousePress, this, [this](QMouseEvent* event) { m_pressed = event->pos(); });
    connect(plot(), &QCustomPlot::mouseRelease, this, [this](QMouseEvent* event) {
        if (event->button() != Qt::LeftButton ||
            (event->pos() - m_pressed).manhattanLength() >= QApplication::startDragDistance())
            return;
        const Dot* const dot = dotAt(event->pos());
        Q_EMIT selectionEdited(dot != nullptr ? OpList{dot->op} : OpList());
    });
    updateStyle();
}

void MeasuredPlot::setData(std::shared_ptr<const Problem> problem, const RunComparison& comparison) {
    if (m_problem != problem) follow();
    m_problem = std::move(problem);
    m_comparison = comparison;
    m_dots.clear();
    for (OpId op = 0; m_problem && op < m_comparison.ops.size(); ++op) {
        const ComparedOp& of = m_comparison.ops[op];
        if (of.runs > 0 && of.time.factor() > 0)
            m_dots.push_back({op, of.time.simulated_s, of.time.measured_s, of.device});
    }
    setEmpty(m_dots.empty());
    updateGraphs();
    updateAxes();
}

void MeasuredPlot::setSelection(const OpList& ops) {
    if (ops == m_selection) return;
    m_selection = ops;
    markSelection();
    plot()->replot(QCustomPlot::rpQueuedReplot);
}

QPointF MeasuredPlot::pointOf(const Dot& dot) const {
    return {dot.simulated_s * m_perSecond, dot.measured_s * m_perSecond};
}

std::optional<QPointF> MeasuredPlot::positionOf(OpId op) const {
    const auto dot = std::ranges::lower_bound(m_dots, op, {}, &Dot::op);
    if (dot == m_dots.end() || dot->op != op) return {};
    const QPointF point = pointOf(*dot);
    return QPointF(plot()->xAxis->coordToPixel(point.x()), plot()->yAxis->coordToPixel(point.y()));
}

const MeasuredPlot::Dot* MeasuredPlot::dotAt(QPoint position) const {
    constexpr double kReach = 10;  // pixels
    if (!plot()->axisRect()->rect().contains(position)) return nullptr;
    const Dot* nearest = nullptr;
    double least = kReach * kReach;
    for (const Dot& dot : m_dots) {
        const QPointF point = pointOf(dot);
        const double x = plot()->xAxis->coordToPixel(point.x()) - position.x(),
                     y = plot()->yAxis->coordToPixel(point.y()) - position.y();
        if (x * x + y * y >= least) continue;
        least = x * x + y * y;
        nearest = &dot;
    }
    return nearest;
}

/// A graph for the dots of each device, and a last one for the rings round those of selected ops.
void MeasuredPlot::updateGraphs() {
    double longest_s = 0;
    for (const Dot& dot : m_dots) longest_s = std::max({longest_s, dot.simulated_s, dot.measured_s});
    const TimeUnit unit = timeUnitFor(longest_s > 0 ? longest_s : 1e-3);
    m_perSecond = unit.per_second;
    m_unit = unit.name;
    plot()->clearGraphs();
    if (!m_problem) return;
    const Machine& machine = *m_problem->machine;
    const QColor base = plot()->palette().color(QPalette::Base);
    for (DeviceId device = 0; device < m_problem->devices; ++device) {
        QVector<QCPGraphData> points;
        for (const Dot& dot : m_dots) {
            if (dot.device == device) points.append({pointOf(dot).x(), pointOf(dot).y()});
        }
        if (points.isEmpty()) continue;
        QCPGraph* graph = plot()->addGraph();
        graph->setName(QString::fromStdString(machine.device(device).name));
        graph->setLineStyle(QCPGraph::lsNone);
        const QColor color = deviceColor(machine, device);
        graph->setPen(QPen(color, 1));
        graph->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssCircle,
                                               QPen(mixedColor(color, base, 0.4F), 0.8), QBrush(color), 6));
        graph->data()->set(points);
    }
    QCPGraph* selected = plot()->addGraph();
    selected->setLineStyle(QCPGraph::lsNone);
    selected->setScatterStyle(QCPScatterStyle(
        QCPScatterStyle::ssCircle, QPen(plot()->palette().color(QPalette::Text), 2), Qt::NoBrush, 11));
    selected->removeFromLegend();
    markSelection();
}

void MeasuredPlot::markSelection() {
    if (plot()->graphCount() == 0) return;
    QVector<QCPGraphData> points;
    for (const OpId op : m_selection) {
        const auto dot = std::ranges::lower_bound(m_dots, op, {}, &Dot::op);
        if (dot != m_dots.end() && dot->op == op) points.append({pointOf(*dot).x(), pointOf(*dot).y()});
    }
    plot()->graph(plot()->graphCount() - 1)->data()->set(points);
}

void MeasuredPlot::updateAxes() {
    setAxisTitle(*plot()->xAxis, tr("Simulated"), m_unit);
    setAxisTitle(*plot()->yAxis, tr("Measured"), m_unit);
    if (isFollowing() && !m_dots.empty()) {
        double low = kInfinity, high = 0;
        for (const Dot& dot : m_dots) {
            low = std::min({low, dot.simulated_s, dot.measured_s});
            high = std::max({high, dot.simulated_s, dot.measured_s});
        }
        const double room = std::pow(std::max(high / low, 1.2), 0.05);
        for (QCPAxis* axis : {plot()->xAxis, plot()->yAxis})
            axis->setRange(low * m_perSecond / room, high * m_perSecond * room);
    }
    // Straight in log coordinates: any two points with the same factor.
    const double factor = m_comparison.typical_factor;
    m_identity->point1->setCoords(1, 1);
    m_identity->point2->setCoords(10, 10);
    m_typical->point1->setCoords(1, factor);
    m_typical->point2->setCoords(10, 10 * factor);
    m_typical->setVisible(!m_dots.empty());
    plot()->replot(QCustomPlot::rpQueuedReplot);
}

void MeasuredPlot::updateStyle() {
    PlotFrame::updateStyle();
    const QColor text = plot()->palette().color(QPalette::Text);
    m_identity->setPen(QPen(text, 1));
    m_typical->setPen(QPen(mutedColor(plot()->palette()), 1, Qt::DashLine));
    updateGraphs();
    updateAxes();
}

void MeasuredPlot::showValueAt(QPoint position) {
    const Dot* const dot = dotAt(position);
    if (dot == nullptr) return hideValue();
    showValue(pointOf(*dot), position,
              tr("%1 on %2\nmeasured %3, simulated %4: %5")
                  .arg(QString::fromStdString(m_problem->graph->op(dot->op).name),
                       QString::fromStdString(m_problem->machine->device(dot->device).name),
                       secondsText(dot->measured_s), secondsText(dot->simulated_s),
                       factorText(dot->measured_s / dot->simulated_s)));
}

}  // namespace placewright
