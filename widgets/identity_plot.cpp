// SPDX-License-Identifier: MIT
#include "widgets/identity_plot.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <QApplication>
#include <QMouseEvent>

#include "core/base/infinity.hpp"
#include "widgets/palette.hpp"
#include "widgets/plot_style.hpp"
#include "widgets/qcustomplot_header.hpp"

namespace placewright {

IdentityPlot::IdentityPlot(Legend legend, const QString& accessibleName, const QString& fitTip,
                           QString across, QWidget* parent)
    : PlotFrame(legend, accessibleName, fitTip, parent), m_across(std::move(across)) {
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
    connect(plot(), &QCustomPlot::mousePress, this, [this](QMouseEvent* event) {
        m_pressed = event->pos();
        m_doubleClicked = false;
    });
    connect(plot(), &QCustomPlot::mouseRelease, this, [this](QMouseEvent* event) {
        if (event->button() != Qt::LeftButton || std::exchange(m_doubleClicked, false) ||
            (event->pos() - m_pressed).manhattanLength() >= QApplication::startDragDistance())
            return;
        const Dot* const dot = dotAt(event->pos());
        if (dot == nullptr) return m_clickedBeside.start();
        m_clickedBeside.stop();  // of a click just before this one
        clicked(dot);
    });
    // A double-click shows all dots and must leave what is selected: its first click is known as such late.
    m_clickedBeside.setSingleShot(true);
    m_clickedBeside.setInterval(QApplication::doubleClickInterval());
    connect(&m_clickedBeside, &QTimer::timeout, this, [this] { clicked(nullptr); });
    connect(plot(), &QCustomPlot::mouseDoubleClick, this, [this] {
        m_clickedBeside.stop();
        m_doubleClicked = true;
    });
}

void IdentityPlot::setDots(std::vector<Dot> dots) {
    m_dots = std::move(dots);
    setEmpty(m_dots.empty());
    updateGraphs();
    updateAxes();
}

void IdentityPlot::setMarked(const std::vector<std::uint32_t>& keys) {
    if (keys == m_marked) return;
    m_marked = keys;
    updateMarks();
    plot()->replot(QCustomPlot::rpQueuedReplot);
}

void IdentityPlot::setTypical(double factor) {
    m_factor = factor;
}

IdentityPlot::Shape IdentityPlot::seriesShape(std::uint32_t) const {
    return Shape::circle;
}

QPointF IdentityPlot::pointOf(const Dot& dot) const {
    return {dot.simulated_s * m_perSecond, dot.measured_s * m_perSecond};
}

std::optional<QPointF> IdentityPlot::positionOf(std::uint32_t key) const {
    const auto dot = std::ranges::lower_bound(m_dots, key, {}, &Dot::key);
    if (dot == m_dots.end() || dot->key != key) return {};
    const QPointF point = pointOf(*dot);
    return QPointF(plot()->xAxis->coordToPixel(point.x()), plot()->yAxis->coordToPixel(point.y()));
}

const IdentityPlot::Dot* IdentityPlot::dotAt(QPoint position) const {
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

/// A graph for the dots of each series, and a last one for the rings round marked ones.
void IdentityPlot::updateGraphs() {
    double longest_s = 0;
    std::set<std::uint32_t> series;
    for (const Dot& dot : m_dots) {
        longest_s = std::max({longest_s, dot.simulated_s, dot.measured_s});
        series.insert(dot.series);
    }
    const TimeUnit unit = timeUnitFor(longest_s > 0 ? longest_s : 1e-3);
    m_perSecond = unit.per_second;
    m_unit = unit.name;
    plot()->clearGraphs();
    if (m_dots.empty()) return;
    const QColor base = plot()->palette().color(QPalette::Base);
    for (const std::uint32_t each : series) {
        QVector<QCPGraphData> points;
        for (const Dot& dot : m_dots) {
            if (dot.series == each) points.append({pointOf(dot).x(), pointOf(dot).y()});
        }
        QCPGraph* graph = plot()->addGraph();
        graph->setName(seriesName(each));
        graph->setLineStyle(QCPGraph::lsNone);
        const QColor color = seriesColor(each);
        graph->setPen(QPen(color, 1));
        const Shape shape = seriesShape(each);
        const QColor edge =
            shape == Shape::diamond ? plot()->palette().color(QPalette::Text) : mixedColor(color, base, 0.4F);
        graph->setScatterStyle(QCPScatterStyle(shape == Shape::circle     ? QCPScatterStyle::ssCircle
                                               : shape == Shape::triangle ? QCPScatterStyle::ssTriangle
                                                                          : QCPScatterStyle::ssDiamond,
                                               QPen(edge, 0.8), QBrush(color),
                                               shape == Shape::circle     ? 6
                                               : shape == Shape::triangle ? 9
                                                                          : 12));
        graph->data()->set(points);
    }
    QCPGraph* marked = plot()->addGraph();
    marked->setLineStyle(QCPGraph::lsNone);
    marked->setScatterStyle(QCPScatterStyle(
        QCPScatterStyle::ssCircle, QPen(plot()->palette().color(QPalette::Text), 2), Qt::NoBrush, 11));
    marked->removeFromLegend();
    updateMarks();
}

void IdentityPlot::updateMarks() {
    if (plot()->graphCount() == 0) return;
    QVector<QCPGraphData> points;
    for (const std::uint32_t key : m_marked) {
        const auto dot = std::ranges::lower_bound(m_dots, key, {}, &Dot::key);
        if (dot != m_dots.end() && dot->key == key) points.append({pointOf(*dot).x(), pointOf(*dot).y()});
    }
    plot()->graph(plot()->graphCount() - 1)->data()->set(points);
}

void IdentityPlot::updateAxes() {
    setAxisTitle(*plot()->xAxis, m_across, m_unit);
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
    m_identity->point1->setCoords(1, 1);
    m_identity->point2->setCoords(10, 10);
    m_typical->setVisible(m_factor > 0 && !m_dots.empty());
    if (m_factor > 0) {
        m_typical->point1->setCoords(1, m_factor);
        m_typical->point2->setCoords(10, 10 * m_factor);
    }
    plot()->replot(QCustomPlot::rpQueuedReplot);
}

void IdentityPlot::updateStyle() {
    PlotFrame::updateStyle();
    m_identity->setPen(QPen(plot()->palette().color(QPalette::Text), 1));
    m_typical->setPen(QPen(mutedColor(plot()->palette()), 1, Qt::DashLine));
    updateGraphs();
    updateAxes();
}

bool IdentityPlot::doubleClicked(QPoint position) {
    const Dot* const dot = dotAt(position);
    return dot != nullptr && activated(*dot);
}

void IdentityPlot::showValueAt(QPoint position) {
    const Dot* const dot = dotAt(position);
    if (dot == nullptr) return hideValue();
    showValue(pointOf(*dot), position, textOf(*dot));
}

}  // namespace placewright
