// SPDX-License-Identifier: MIT
#include "widgets/distribution_view.hpp"

#include <algorithm>
#include <cmath>

#include "widgets/heat_map.hpp"
#include "widgets/palette.hpp"
#include "widgets/plot_style.hpp"
#include "widgets/qcustomplot_header.hpp"

namespace placewright {
namespace {

/// A group counts as decided if one device has at least this probability.
constexpr double kDecided = 0.9;

QString probabilityText(double share) {
    if (share > 0 && share < 0.0005) return QObject::tr("<0.1 %");
    return QObject::tr("%1 %").arg(100 * share, 0, 'f', share > 0 && share < 0.095 ? 1 : 0);
}

}  // namespace

DistributionMap::DistributionMap(QWidget* parent)
    : HeatMapFrame(tr("Distribution of placements"),
                   tr("Run Post, cross-entropy, policy gradient or proximal policy optimization to plot the "
                      "probability of each device for each op."),
                   cividis(), parent) {
    plot()->setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
    plot()->axisRect()->setRangeDrag(Qt::Horizontal);
    plot()->axisRect()->setRangeZoom(Qt::Horizontal);
    setAxisTitle(*plot()->xAxis, tr("Groups of ops"));
    plot()->yAxis->setRangeReversed(true);  // devices from top to bottom, as in the device panel
    map()->setDataRange({0, 1});
    scale()->setDataRange({0, 1});
    setAxisTitle(*scale()->axis(), tr("Probability"));
    makeEntropyPlot();
    connect(plot(), &QCustomPlot::mouseDoubleClick, this, &DistributionMap::showAll);
    connect(plot()->xAxis, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), this,
            &DistributionMap::keepInside);
    updateStyle();
    setDistribution(nullptr, nullptr);
}

void DistributionMap::makeEntropyPlot() {
    m_below = new QCPAxisRect(plot());
    plot()->plotLayout()->addElement(1, 0, m_below);
    plot()->plotLayout()->setRowStretchFactors({3, 1});
    m_below->setRangeDrag({});
    m_below->setRangeZoom({});
    m_entropy = plot()->addGraph(m_below->axis(QCPAxis::atBottom), m_below->axis(QCPAxis::atLeft));
    setAxisTitle(*m_below->axis(QCPAxis::atBottom), tr("Evaluations"));
    setAxisTitle(*m_below->axis(QCPAxis::atLeft), tr("Entropy"), tr("nats"));
    m_below->axis(QCPAxis::atLeft)->ticker()->setTickCount(2);
    m_below->axis(QCPAxis::atBottom)->ticker()->setTickCount(4);
    auto* across = new QCPMarginGroup(plot());
    plot()->axisRect()->setMarginGroup(QCP::msLeft, across);
    m_below->setMarginGroup(QCP::msLeft, across);
}

void DistributionMap::setDistribution(std::shared_ptr<const DistributionView> distribution,
                                      std::shared_ptr<const Problem> problem) {
    const bool same = m_distribution && distribution && m_problem == problem &&
                      m_distribution->devices == distribution->devices;
    m_distribution = std::move(distribution);
    m_problem = std::move(problem);
    if (m_distribution) {
        updateCells();
        updateEntropy();
        updateHeader();
    }
    if (!same) {
        setCurrent({});
        if (m_distribution) {
            updateTicks();
            showAll();
        }
    }
    setEmpty(m_distribution == nullptr);
    redraw();
}

std::optional<HeatMapFrame::Cell> DistributionMap::cellAfter(int key) const {
    const int step = key == Qt::Key_Right ? 1 : key == Qt::Key_Left ? -1 : 0;
    if (step == 0 || groups() == 0) return std::nullopt;
    return Cell{std::clamp(current() ? current()->x + step : 0, 0, groups() - 1), 0};
}

void DistributionMap::reveal(Cell cell) {
    const QCPRange range = plot()->xAxis->range();
    if (!range.contains(cell.x)) plot()->xAxis->setRange(cell.x, range.size(), Qt::AlignCenter);
}

double DistributionMap::probability(int group, int row) const {
    const std::size_t devices = m_distribution->devices.size();
    return m_distribution
        ->probability[static_cast<std::size_t>(group) * devices + static_cast<std::size_t>(row)];
}

std::optional<HeatMapFrame::Cell> DistributionMap::cellAt(QPointF position) const {
    if (groups() == 0 || !plot()->axisRect()->rect().contains(position.toPoint())) return std::nullopt;
    const int group = static_cast<int>(std::lround(plot()->xAxis->pixelToCoord(position.x())));
    return Cell{std::clamp(group, 0, groups() - 1), 0};
}

QRectF DistributionMap::cellRect(Cell cell) const {
    if (cell.x >= groups()) return {};
    const QRectF area = plot()->axisRect()->rect();
    const double left = plot()->xAxis->coordToPixel(cell.x - 0.5),
                 right = plot()->xAxis->coordToPixel(cell.x + 0.5);
    return QRectF(QPointF(left, area.top()), QPointF(right, area.bottom()))
        .intersected(area.adjusted(-1, 0, 1, 0));
}

QString DistributionMap::describe(Cell cell) const {
    const int group = cell.x;
    const std::vector<OpId>& ops = m_problem->grouping.members[static_cast<std::size_t>(group)];
    QString text = QString::fromStdString(m_problem->graph->op(ops.front()).name);
    const auto others = std::ranges::count_if(
                            ops, [&](OpId op) { return m_problem->graph->op(op).phase == Phase::forward; }) -
                        1;
    if (others > 0) text += tr(" and %Ln more op(s)", nullptr, static_cast<int>(others));
    for (int row = 0; row < static_cast<int>(m_distribution->devices.size()); ++row) {
        const DeviceId device = m_distribution->devices[static_cast<std::size_t>(row)];
        text += QStringLiteral("\n%1: %2")
                    .arg(QString::fromStdString(m_problem->machine->device(device).name),
                         probabilityText(probability(group, row)));
    }
    return text;
}

void DistributionMap::updateCells() {
    const int columns = groups(), rows = static_cast<int>(m_distribution->devices.size());
    setMapSize(columns, rows);
    for (int x = 0; x < columns; ++x) {
        for (int y = 0; y < rows; ++y) map()->data()->setCell(x, y, probability(x, y));
    }
    plot()->yAxis->setRange(-0.5, rows - 0.5);
}

void DistributionMap::updateEntropy() {
    QVector<double> evaluations, entropies;
    for (const SeriesPoint& point : m_distribution->entropies) {
        evaluations << static_cast<double>(point.evaluations);
        entropies << point.value;
    }
    m_entropy->setData(evaluations, entropies, true);
    m_entropy->keyAxis()->setRange(0, evaluations.isEmpty() ? 1 : evaluations.last());
    m_entropy->valueAxis()->setRange(0, std::max(1e-9, 1.05 * m_distribution->largest_entropy));
}

void DistributionMap::updateHeader() {
    int decided = 0;
    for (int group = 0; group < groups(); ++group) {
        double largest = 0;
        for (int row = 0; row < static_cast<int>(m_distribution->devices.size()); ++row)
            largest = std::max(largest, probability(group, row));
        decided += largest >= kDecided;
    }
    QStringList parts{tr("%L1 of %L2 groups at least 90 % on one device").arg(decided).arg(groups())};
    if (m_distribution->largest_entropy > 0) {
        parts << tr("entropy %1 of %2 nats (%3)")
                     .arg(m_distribution->entropy, 0, 'f', 2)
                     .arg(m_distribution->largest_entropy, 0, 'f', 2)
                     .arg(probabilityText(m_distribution->entropy / m_distribution->largest_entropy));
    }
    setHeader(parts.join(QStringLiteral(" · ")));
}

void DistributionMap::updateTicks() {
    if (!m_distribution) return;
    QStringList devices, names;
    for (const DeviceId device : m_distribution->devices)
        devices << QString::fromStdString(m_problem->machine->device(device).name);
    for (int group = 0; group < groups(); ++group) names << QString::number(group + 1);
    plot()->yAxis->setTicker(QSharedPointer<CellTicker>::create(*plot()->yAxis, devices));
    plot()->xAxis->setTicker(QSharedPointer<CellTicker>::create(*plot()->xAxis, names));
}

void DistributionMap::updateStyle() {
    HeatMapFrame::updateStyle();
    updateTicks();
    m_entropy->setPen(QPen(runColor(0, plot()->palette().color(QPalette::Base)), 1.5));
}

void DistributionMap::showAll() {
    plot()->xAxis->setRange(-0.5, std::max(1, groups()) - 0.5);
    redraw();
}

/// Keeps the range within the groups, and at least two groups wide.
void DistributionMap::keepInside() {
    const double low = -0.5, high = std::max(1, groups()) - 0.5;
    const QCPRange range = plot()->xAxis->range();
    const double size = std::clamp(range.size(), std::min(2.0, high - low), high - low);
    const double begin =
        std::clamp(size == range.size() ? range.lower : range.center() - size / 2, low, high - size);
    if (begin != range.lower || begin + size != range.upper) plot()->xAxis->setRange(begin, begin + size);
}

void DistributionMap::activate(Cell cell) {
    OpList ops;
    for (const OpId op : m_problem->grouping.members[static_cast<std::size_t>(cell.x)]) {
        if (m_problem->graph->op(op).phase == Phase::forward) ops.push_back(op);
    }
    Q_EMIT groupActivated(ops);
}

}  // namespace placewright
