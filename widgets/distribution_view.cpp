// SPDX-License-Identifier: MIT
#include "widgets/distribution_view.hpp"

#include <algorithm>
#include <cmath>

#include <QKeyEvent>
#include <QLabel>
#include <QStackedWidget>
#include <QToolTip>
#include <QVBoxLayout>

#include "widgets/heat_map.hpp"
#include "widgets/palette.hpp"
#include "widgets/plot_style.hpp"
#include "widgets/qcustomplot_header.hpp"

namespace placewright {
namespace {

/// A group that is at least so likely on one device is counted as decided.
constexpr double kDecided = 0.9;

QString percentText(double share) {
    if (share > 0 && share < 0.0005) return QObject::tr("<0.1 %");
    return QObject::tr("%1 %").arg(100 * share, 0, 'f', share > 0 && share < 0.095 ? 1 : 0);
}

}  // namespace

DistributionMap::DistributionMap(QWidget* parent) : QWidget(parent) {
    m_header = new QLabel(this);
    m_header->setObjectName("header");
    m_header->setWordWrap(true);
    m_header->setMargin(4);

    m_plot = new QCustomPlot(this);
    m_plot->setAccessibleName(tr("Distribution of placements"));
    m_plot->setFocusPolicy(Qt::StrongFocus);
    m_plot->setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
    m_plot->installEventFilter(this);
    setFocusProxy(m_plot);
    m_plot->axisRect()->setRangeDrag(Qt::Horizontal);
    m_plot->axisRect()->setRangeZoom(Qt::Horizontal);
    for (QCPAxis* axis : {m_plot->xAxis, m_plot->yAxis}) {
        axis->grid()->setVisible(false);
        axis->setTickLength(0);
        axis->setSubTicks(false);
    }
    setAxisTitle(*m_plot->xAxis, tr("Ops, in groups"));
    m_plot->yAxis->setRangeReversed(true);  // downwards, as in the list of devices
    m_map = new QCPColorMap(m_plot->xAxis, m_plot->yAxis);
    m_map->setInterpolate(false);
    m_map->setGradient(cividis());
    m_map->setDataRange({0, 1});
    m_scale = new QCPColorScale(m_plot);
    m_scale->setRangeDrag(false);
    m_scale->setRangeZoom(false);
    m_scale->setGradient(cividis());
    m_scale->setDataRange({0, 1});
    m_scale->setBarWidth(12);
    setAxisTitle(*m_scale->axis(), tr("Probability"));
    m_plot->plotLayout()->addElement(0, 1, m_scale);
    m_map->setColorScale(m_scale);

    m_below = new QCPAxisRect(m_plot);
    m_plot->plotLayout()->addElement(1, 0, m_below);
    m_plot->plotLayout()->setRowStretchFactors({3, 1});
    m_below->setRangeDrag({});
    m_below->setRangeZoom({});
    m_entropy = m_plot->addGraph(m_below->axis(QCPAxis::atBottom), m_below->axis(QCPAxis::atLeft));
    setAxisTitle(*m_below->axis(QCPAxis::atBottom), tr("Evaluations"));
    setAxisTitle(*m_below->axis(QCPAxis::atLeft), tr("Entropy"), tr("nats"));
    m_below->axis(QCPAxis::atLeft)->ticker()->setTickCount(3);
    m_below->axis(QCPAxis::atBottom)->ticker()->setTickCount(4);
    auto* beside = new QCPMarginGroup(m_plot);
    auto* across = new QCPMarginGroup(m_plot);
    m_plot->axisRect()->setMarginGroup(QCP::msTop | QCP::msBottom, beside);
    m_scale->setMarginGroup(QCP::msTop | QCP::msBottom, beside);
    m_plot->axisRect()->setMarginGroup(QCP::msLeft, across);
    m_below->setMarginGroup(QCP::msLeft, across);
    addOverlay(m_plot, [this](QCPPainter& painter) { paintOverlay(painter); });

    m_empty = makeEmptyLabel(
        tr("Run Post, cross-entropy, policy gradient or proximal policy optimization to see here how likely each op is on each device."),
        this);
    m_pages = new QStackedWidget(this);
    m_pages->addWidget(m_empty);
    m_pages->addWidget(m_plot);

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_header);
    layout->addWidget(m_pages, 1);

    connect(m_plot, &QCustomPlot::mousePress, this, [this](QMouseEvent* event) { m_pressed = event->pos(); });
    connect(m_plot, &QCustomPlot::mouseRelease, this, [this](QMouseEvent* event) {
        if (event->button() != Qt::LeftButton || (event->pos() - m_pressed).manhattanLength() > 4) return;
        const std::optional<int> group = groupAt(event->pos());
        setCurrent(group);
        if (group) activate(*group);
    });
    connect(m_plot, &QCustomPlot::mouseDoubleClick, this, &DistributionMap::showAll);
    connect(m_plot, &QCustomPlot::mouseMove, this, [this](QMouseEvent* event) {
        if (const std::optional<int> group = groupAt(event->pos())) {
            QToolTip::showText(m_plot->mapToGlobal(event->pos()), describe(*group), m_plot);
        } else {
            QToolTip::hideText();
        }
    });
    connect(m_plot->xAxis, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), this, &DistributionMap::keepInside);
    updateStyle();
    setDistribution(nullptr, nullptr);
}

void DistributionMap::setDistribution(std::shared_ptr<const DistributionView> distribution, std::shared_ptr<const Problem> problem) {
    const bool same = m_distribution && distribution && m_problem == problem && m_distribution->devices == distribution->devices;
    m_distribution = std::move(distribution);
    m_problem = std::move(problem);
    if (m_distribution) {
        updateCells();
        updateEntropy();
        updateHeader();
    }
    if (!same) {
        m_current.reset();
        if (m_distribution) {
            updateTicks();
            showAll();
        }
    }
    m_header->setVisible(m_distribution != nullptr);
    m_pages->setCurrentWidget(m_distribution ? m_plot : m_empty);
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void DistributionMap::renderWhole(QPainter& painter, const QRect& target) const {
    renderPlot(*m_plot, painter, target);
}

void DistributionMap::keyPressEvent(QKeyEvent* event) {
    const int step = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
    if (step != 0 && groups() > 0) {
        const int group = std::clamp(m_current ? *m_current + step : 0, 0, groups() - 1);
        setCurrent(group);
        // Into view, where that is zoomed.
        const QCPRange range = m_plot->xAxis->range();
        if (!range.contains(group)) m_plot->xAxis->setRange(group, range.size(), Qt::AlignCenter);
        QToolTip::showText(m_plot->mapToGlobal(column(group).bottomRight().toPoint()), describe(group), m_plot);
    } else if (m_current && (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter || event->key() == Qt::Key_Space)) {
        activate(*m_current);
    } else {
        QWidget::keyPressEvent(event);
    }
}

bool DistributionMap::eventFilter(QObject* watched, QEvent* event) {
    if (watched == m_plot) {
        if (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut) m_plot->replot(QCustomPlot::rpQueuedReplot);
        if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) updateStyle();
    }
    return QWidget::eventFilter(watched, event);
}

double DistributionMap::probability(int group, int row) const {
    const std::size_t devices = m_distribution->devices.size();
    return m_distribution->probability[static_cast<std::size_t>(group) * devices + static_cast<std::size_t>(row)];
}

std::optional<int> DistributionMap::groupAt(QPointF position) const {
    if (groups() == 0 || !m_plot->axisRect()->rect().contains(position.toPoint())) return std::nullopt;
    return std::clamp(static_cast<int>(std::lround(m_plot->xAxis->pixelToCoord(position.x()))), 0, groups() - 1);
}

QRectF DistributionMap::column(int group) const {
    const QRectF area = m_plot->axisRect()->rect();
    const double left = m_plot->xAxis->coordToPixel(group - 0.5), right = m_plot->xAxis->coordToPixel(group + 0.5);
    return QRectF(QPointF(left, area.top()), QPointF(right, area.bottom())).intersected(area.adjusted(-1, 0, 1, 0));
}

QString DistributionMap::describe(int group) const {
    const std::vector<OpId>& ops = m_problem->grouping.members[static_cast<std::size_t>(group)];
    QString text = QString::fromStdString(m_problem->graph->op(ops.front()).name);
    const auto others = std::ranges::count_if(ops, [&](OpId op) { return m_problem->graph->op(op).phase == Phase::forward; }) - 1;
    if (others > 0) text += tr(" and %Ln more op(s)", nullptr, static_cast<int>(others));
    for (int row = 0; row < static_cast<int>(m_distribution->devices.size()); ++row) {
        const DeviceId device = m_distribution->devices[static_cast<std::size_t>(row)];
        text += QStringLiteral("\n%1: %2")
                    .arg(QString::fromStdString(m_problem->machine->device(device).name), percentText(probability(group, row)));
    }
    return text;
}

void DistributionMap::updateCells() {
    // QCPColorMap cannot draw a single row or column; the second one is outside of the axes' ranges.
    const int columns = groups(), rows = static_cast<int>(m_distribution->devices.size());
    QCPColorMapData& cells = *m_map->data();
    cells.setSize(std::max(columns, 2), std::max(rows, 2));
    cells.setRange({0, std::max(columns, 2) - 1.0}, {0, std::max(rows, 2) - 1.0});
    for (int x = 0; x < columns; ++x) {
        for (int y = 0; y < rows; ++y) cells.setCell(x, y, probability(x, y));
    }
    m_plot->yAxis->setRange(-0.5, rows - 0.5);
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
                     .arg(percentText(m_distribution->entropy / m_distribution->largest_entropy));
    }
    m_header->setText(parts.join(QStringLiteral(" · ")));
}

void DistributionMap::updateTicks() {
    if (!m_distribution) return;
    QStringList devices, names;
    for (const DeviceId device : m_distribution->devices) devices << QString::fromStdString(m_problem->machine->device(device).name);
    for (int group = 0; group < groups(); ++group) names << QString::number(group + 1);
    m_plot->yAxis->setTicker(QSharedPointer<CellTicker>::create(*m_plot->yAxis, devices));
    m_plot->xAxis->setTicker(QSharedPointer<CellTicker>::create(*m_plot->xAxis, names));
}

void DistributionMap::updateStyle() {
    stylePlot(*m_plot);
    updateTicks();
    m_entropy->setPen(QPen(runColor(0, m_plot->palette().color(QPalette::Base)), 1.5));
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void DistributionMap::showAll() {
    m_plot->xAxis->setRange(-0.5, std::max(1, groups()) - 0.5);
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

/// Nobody zooms or moves to where there are no groups, nor closer than two of them.
void DistributionMap::keepInside() {
    const double low = -0.5, high = std::max(1, groups()) - 0.5;
    const QCPRange range = m_plot->xAxis->range();
    const double size = std::clamp(range.size(), std::min(2.0, high - low), high - low);
    const double begin = std::clamp(size == range.size() ? range.lower : range.center() - size / 2, low, high - size);
    if (begin != range.lower || begin + size != range.upper) m_plot->xAxis->setRange(begin, begin + size);
}

void DistributionMap::paintOverlay(QCPPainter& painter) const {
    if (!m_current || *m_current >= groups()) return;
    const QRectF marked = column(*m_current);
    if (marked.isEmpty()) return;
    // Two colours, one of which is seen on any cell.
    const QColor base = m_plot->palette().color(QPalette::Base), text = m_plot->palette().color(QPalette::Text);
    const double width = m_plot->hasFocus() ? 3 : 2;
    painter.setAntialiasing(false);
    painter.setBrush(Qt::NoBrush);
    for (const QPen& pen : {QPen(base, width + 3), QPen(text, width)}) {
        painter.setPen(pen);
        painter.drawRect(marked);
    }
}

void DistributionMap::setCurrent(std::optional<int> group) {
    if (m_current == group) return;
    m_current = group;
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void DistributionMap::activate(int group) {
    OpList ops;
    for (const OpId op : m_problem->grouping.members[static_cast<std::size_t>(group)]) {
        if (m_problem->graph->op(op).phase == Phase::forward) ops.push_back(op);
    }
    Q_EMIT groupActivated(ops);
}

}  // namespace placewright
