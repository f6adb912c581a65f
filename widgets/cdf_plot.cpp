// SPDX-License-Identifier: MIT
#include "widgets/cdf_plot.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPainter>
#include <QSignalBlocker>
#include <QStackedWidget>
#include <QStandardItemModel>
#include <QToolButton>
#include <QToolTip>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "core/base/statistics.hpp"
#include "widgets/palette.hpp"
#include "widgets/qcustomplot_header.hpp"
#include "widgets/quantities.hpp"

namespace placewright {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

enum Column { Title, Median, Slowest, Fits, ColumnCount };
enum Axis { RelativeAxis, SecondsAxis };

/// The line of a scheme, as it is drawn.
QIcon lineIcon(const QPen& pen, qreal ratio) {
    constexpr int kWidth = 26, kHeight = 12;
    QPixmap pixmap(QSize(kWidth, kHeight) * ratio);
    pixmap.setDevicePixelRatio(ratio);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    painter.setPen(pen);
    painter.drawLine(QPointF(1, kHeight / 2.0), QPointF(kWidth - 1, kHeight / 2.0));
    return QIcon(pixmap);
}

}  // namespace

CdfPlot::CdfPlot(QWidget* parent) : QWidget(parent) {
    m_axis = new QComboBox(this);
    m_axis->setObjectName("axis");
    m_axis->addItems({tr("Relative to one device"), m_data.goal});
    m_axis->setAccessibleName(tr("Horizontal axis"));
    m_axis->setToolTip(tr("Times as they are, or as multiples of what the graph takes on one device"));
    m_log = new QCheckBox(tr("Log x"), this);
    m_log->setObjectName("logX");
    m_log->setToolTip(tr("Logarithmic horizontal axis"));
    auto* fitButton = new QToolButton(this);
    fitButton->setObjectName("fit");
    fitButton->setText(tr("Fit"));
    fitButton->setToolTip(tr("Shows the curves from beginning to end, as a double click in the plot does"));
    fitButton->setFocusPolicy(Qt::StrongFocus);

    m_plot = new QCustomPlot(this);
    m_plot->setAccessibleName(tr("Cumulative distribution"));
    m_plot->setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
    m_plot->setNoAntialiasingOnDrag(true);
    m_plot->axisRect()->setRangeDrag(Qt::Horizontal);
    m_plot->axisRect()->setRangeZoom(Qt::Horizontal);
    fitAround(*m_plot, false);
    m_plot->installEventFilter(this);
    m_plot->xAxis->setNumberFormat("gb");
    m_plot->xAxis->setNumberPrecision(5);
    m_plot->yAxis->setRange(0, 116);  // room above for the label of the line at one
    connect(m_plot->xAxis, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), this, [this] {
        updateLogTicker(*m_plot->xAxis);
        // The label of the line is on the side that has room for it.
        const bool left = m_plot->xAxis->coordToPixel(1) < m_plot->axisRect()->center().x();
        m_oneDeviceLabel->setPositionAlignment(Qt::AlignTop | (left ? Qt::AlignLeft : Qt::AlignRight));
    });

    m_half = new QCPItemStraightLine(m_plot);
    m_half->point1->setCoords(0, 50);
    m_half->point2->setCoords(1, 50);
    m_oneDevice = new QCPItemStraightLine(m_plot);
    m_oneDevice->point1->setCoords(1, 0);
    m_oneDevice->point2->setCoords(1, 1);
    m_oneDeviceLabel = new QCPItemText(m_plot);
    m_oneDeviceLabel->setText(tr("one device"));
    m_oneDeviceLabel->setPositionAlignment(Qt::AlignTop | Qt::AlignRight);
    m_oneDeviceLabel->position->setTypeY(QCPItemPosition::ptAxisRectRatio);
    m_oneDeviceLabel->position->setCoords(1, 0);
    m_oneDeviceLabel->setPadding(QMargins(4, 1, 4, 0));
    m_tracer = new QCPItemTracer(m_plot);
    m_tracer->setStyle(QCPItemTracer::tsCircle);
    m_tracer->setSize(8);
    m_tracer->setVisible(false);

    m_list = new QTreeWidget(this);
    m_list->setObjectName("schemes");
    m_list->setAccessibleName(tr("Schemes"));
    m_list->setToolTip(tr("What is ticked is drawn"));
    m_list->setColumnCount(ColumnCount);
    m_list->setHeaderLabels({tr("Scheme"), tr("Median"), tr("Slowest"), tr("Fit")});
    m_list->headerItem()->setToolTip(
        Median, tr("The middle one of all; of an even number the mean of the two in the middle; – until all are there"));
    m_list->headerItem()->setToolTip(Fits, tr("Placements that are there and fit the memory, of all"));
    for (const int column : {Median, Slowest, Fits}) m_list->headerItem()->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    m_list->setRootIsDecorated(false);
    m_list->setUniformRowHeights(true);
    m_list->setIconSize({26, 12});
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->header()->setStretchLastSection(false);
    m_list->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
    m_list->header()->setSectionResizeMode(Title, QHeaderView::Stretch);

    auto* filled = new QWidget(this);
    auto* filledLayout = new QVBoxLayout(filled);
    filledLayout->setContentsMargins(0, 0, 0, 0);
    filledLayout->setSpacing(0);
    filledLayout->addWidget(m_plot, 1);
    filledLayout->addWidget(m_list);
    m_empty = makeEmptyLabel(tr("No comparison yet. Compare algorithms (Run menu): how the results of each spread over networks, machines "
                                "and seeds is drawn here while the comparison runs."),
                             this);
    m_pages = new QStackedWidget(this);
    m_pages->addWidget(m_empty);
    m_pages->addWidget(filled);

    auto* controls = new QHBoxLayout;
    controls->setContentsMargins(4, 4, 4, 4);
    controls->addWidget(m_axis);
    controls->addWidget(m_log);
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
    connect(m_axis, &QComboBox::activated, this, [this, fitAgain](int axis) {
        m_relativeWanted = axis == RelativeAxis;
        updateCurves();
        updateList();
        fitAgain();
    });
    connect(m_log, &QCheckBox::toggled, this, fitAgain);
    connect(fitButton, &QToolButton::clicked, this, fitAgain);
    connect(m_plot, &QCustomPlot::mouseDoubleClick, this, fitAgain);
    connect(m_plot, &QCustomPlot::mouseWheel, this, [this] { m_following = false; });
    connect(m_plot, &QCustomPlot::mouseMove, this, [this](QMouseEvent* event) {
        if (event->buttons() & Qt::LeftButton) m_following = false;
        showValueAt(event->pos());
    });
    connect(m_list, &QTreeWidget::itemChanged, this, [this](const QTreeWidgetItem* item) {
        if (item->checkState(Title) == Qt::Checked) {
            m_off.remove(item->text(Title));
        } else {
            m_off.insert(item->text(Title));
        }
        updateCurves();
        updateAxes();
    });
    updateStyle();
    updateAxes();
}

void CdfPlot::setData(CdfData family) {
    hideValue();
    m_data = std::move(family);
    m_axis->setItemText(SecondsAxis, m_data.goal);
    const bool empty = std::ranges::all_of(m_data.schemes, [](const CdfScheme& scheme) { return scheme.values.empty(); });
    m_pages->setCurrentIndex(empty ? 0 : 1);
    const bool comparable = std::ranges::any_of(m_data.graphs, [](const CdfGraph& graph) { return graph.one_device_s > 0; });
    auto* choice = qobject_cast<QStandardItemModel*>(m_axis->model())->item(RelativeAxis);
    choice->setEnabled(comparable || empty);
    choice->setToolTip(choice->isEnabled() ? QString() : tr("No graph here fits on one device"));
    m_axis->setCurrentIndex(choice->isEnabled() && m_relativeWanted ? RelativeAxis : SecondsAxis);
    updateCurves();
    updateList();
    updateAxes();
}

void CdfPlot::setEmptyText(const QString& text) {
    m_empty->setText(text);
}

void CdfPlot::renderWhole(QPainter& painter, const QRect& target) const {
    renderPlot(*m_plot, painter, target, true);
}

bool CdfPlot::eventFilter(QObject* watched, QEvent* event) {
    if (watched == m_plot) {
        if (event->type() == QEvent::Leave) hideValue();
        if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) updateStyle();
    }
    return QWidget::eventFilter(watched, event);
}

bool CdfPlot::relative() const {
    return m_axis->currentIndex() == RelativeAxis;
}

QString CdfPlot::valueText(double x) const {
    return relative() ? tr("%1 ×").arg(x, 0, 'g', 4) : secondsText(x / m_unit.per_second);
}

void CdfPlot::updateCurves() {
    const bool relative = this->relative();
    double least_s = kInfinity;
    for (const CdfScheme& scheme : m_data.schemes) {
        for (const CdfValue& value : scheme.values) {
            if (value.fits && value.step_time_s > 0) least_s = std::min(least_s, value.step_time_s);
        }
    }
    if (std::isfinite(least_s)) m_unit = timeUnitFor(least_s);

    m_curves.clear();
    double most = 0;
    for (const CdfScheme& scheme : m_data.schemes) {
        Curve curve;
        std::vector<double> all;
        for (const CdfValue& value : scheme.values) {
            const double one_device_s = m_data.graphs[value.graph].one_device_s;
            if (relative && !(one_device_s > 0)) continue;
            ++curve.count;
            const bool counts = value.fits && std::isfinite(value.step_time_s);
            const double x = !counts ? kInfinity : relative ? value.step_time_s / one_device_s : value.step_time_s * m_unit.per_second;
            all.push_back(x);
            if (!counts) continue;
            curve.points.push_back({x, &value});
            most = std::max(most, x);
        }
        std::ranges::sort(curve.points, {}, [](const Point& point) { return std::pair(point.x, point.value->graph); });
        const auto comparable = static_cast<std::size_t>(
            std::ranges::count_if(m_data.graphs, [&](const CdfGraph& graph) { return !relative || graph.one_device_s > 0; }));
        if (const std::size_t whole = scheme.values_per_graph * comparable; curve.count < whole) {
            curve.count = whole;
            curve.whole = false;
            all.clear();  // nobody knows their middle yet
        }
        if (const double middle = all.empty() ? kInfinity : median(std::move(all)); std::isfinite(middle)) curve.median = middle;
        m_curves.push_back(std::move(curve));
    }

    // The lines first, so that the medians lie over all of them.
    const QColor base = m_plot->palette().color(QPalette::Base);
    m_plot->clearGraphs();
    for (std::size_t i = 0; i < m_curves.size(); ++i) {
        const Curve& curve = m_curves[i];
        QVector<QCPGraphData> points;
        if (!curve.points.empty()) points.append({curve.points.front().x, 0});
        for (std::size_t p = 0; p < curve.points.size(); ++p) points.append({curve.points[p].x, curve.percent(p)});
        // It stays so high for ever.
        if (!points.isEmpty()) points.append({most * 1e3, points.last().value});
        QCPGraph* line = m_plot->addGraph();
        line->setLineStyle(QCPGraph::lsStepLeft);
        line->data()->set(points, true);
        line->setPen(seriesPen(static_cast<int>(i), base));
        line->setName(m_data.schemes[i].title);
        line->setVisible(shown(i));
        if (!shown(i)) line->removeFromLegend();
    }
    for (std::size_t i = 0; i < m_curves.size(); ++i) {
        QCPGraph* dot = m_plot->addGraph();
        dot->removeFromLegend();
        dot->setLineStyle(QCPGraph::lsNone);
        dot->setScatterStyle(
            QCPScatterStyle(QCPScatterStyle::ssCircle, QPen(base, 1.5), QBrush(seriesPen(static_cast<int>(i), base).color()), 10));
        dot->setVisible(shown(i));
        // Where half of the graphs are reached, which with an odd number of them is a little above 50 %.
        if (m_curves[i].median) dot->addData(*m_curves[i].median, m_curves[i].percent((m_curves[i].count + 1) / 2 - 1));
    }
}

void CdfPlot::updateList() {
    const QSignalBlocker blocker(m_list);
    const int current = m_list->indexOfTopLevelItem(m_list->currentItem());
    m_list->clear();
    for (std::size_t i = 0; i < m_curves.size(); ++i) {
        const Curve& curve = m_curves[i];
        auto* item = new QTreeWidgetItem(m_list);
        item->setText(Title, m_data.schemes[i].title);
        item->setToolTip(Title, m_data.schemes[i].title);
        item->setIcon(Title, lineIcon(m_plot->graph(static_cast<int>(i))->pen(), devicePixelRatioF()));
        item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable);
        item->setCheckState(Title, shown(i) ? Qt::Checked : Qt::Unchecked);
        item->setText(Median, curve.median ? valueText(*curve.median) : QStringLiteral("–"));
        item->setText(Slowest, curve.points.empty() || !curve.whole ? QStringLiteral("–") : valueText(curve.points.back().x));
        item->setText(Fits, curve.points.size() == curve.count ? QString::number(curve.count)
                                                               : tr("%1 of %2").arg(curve.points.size()).arg(curve.count));
        for (const int column : {Median, Slowest, Fits}) item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    }
    m_list->setCurrentItem(m_list->topLevelItem(current));
    // As high as its rows, up to eight; then it scrolls.
    const int rows = std::min(8, static_cast<int>(m_curves.size()));
    m_list->setFixedHeight(m_list->header()->sizeHint().height() + rows * std::max(0, m_list->sizeHintForRow(0)) + 4);
}

void CdfPlot::updateAxes() {
    m_plot->xAxis->setScaleType(m_log->isChecked() ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
    setAxisTitle(*m_plot->yAxis, tr("Share of %1").arg(m_data.members), QStringLiteral("%"));
    setAxisTitle(*m_plot->xAxis, relative() ? tr("%1 / that of one device").arg(m_data.goal) : m_data.goal,
                 relative() ? QString() : m_unit.name);
    m_oneDevice->setVisible(relative());
    m_oneDeviceLabel->setVisible(relative());
    updateLogTicker(*m_plot->xAxis);
    if (m_following) fit();
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void CdfPlot::fit() {
    double low = kInfinity, high = 0;
    for (std::size_t i = 0; i < m_curves.size(); ++i) {
        if (!shown(i) || m_curves[i].points.empty()) continue;
        low = std::min(low, m_curves[i].points.front().x);
        high = std::max(high, m_curves[i].points.back().x);
    }
    if (!std::isfinite(low)) return;
    // One device belongs into the picture unless that would leave little room for the rest.
    if (relative() && low < 2 && high > 0.5) {
        low = std::min(low, 1.0);
        high = std::max(high, 1.0);
    }
    constexpr double kMargin = 0.05;
    if (m_log->isChecked() && low > 0) {
        const double decades = std::max(std::log10(high / low), 0.02);
        m_plot->xAxis->setRange(low * std::pow(10, -kMargin * decades), high * std::pow(10, kMargin * decades));
    } else {
        const double span = std::max(high - low, 0.05 * high);
        m_plot->xAxis->setRange(std::max(0.0, low - kMargin * span), high + kMargin * span);
    }
}

void CdfPlot::updateStyle() {
    const QColor text = m_plot->palette().color(QPalette::Text), base = m_plot->palette().color(QPalette::Base);
    stylePlot(*m_plot);
    m_half->setPen(QPen(mixedColor(base, text, 0.45F), 1, Qt::DotLine));
    m_oneDevice->setPen(QPen(text, 1, Qt::DashLine));
    m_oneDeviceLabel->setColor(text);
    m_oneDeviceLabel->setFont(m_plot->font());
    m_tracer->setPen(QPen(text, 1.5));
    updateCurves();
    updateList();
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

/// The nearest step: each belongs to one graph.
void CdfPlot::showValueAt(QPoint position) {
    constexpr double kReach = 16;  // pixels
    double nearest = kReach;
    std::optional<std::pair<std::size_t, std::size_t>> found;
    for (std::size_t i = 0; i < m_curves.size() && m_plot->axisRect()->rect().contains(position); ++i) {
        const Curve& curve = m_curves[i];
        if (!shown(i) || curve.points.empty()) continue;
        // Only steps within reach are looked at, for there may be thousands.
        const double from = m_plot->xAxis->pixelToCoord(position.x() - kReach), to = m_plot->xAxis->pixelToCoord(position.x() + kReach);
        const auto x = [](const Point& point) { return point.x; };
        const auto begin = std::ranges::lower_bound(curve.points, from, {}, x), end = std::ranges::upper_bound(curve.points, to, {}, x);
        for (auto at = begin; at != end; ++at) {
            const auto index = static_cast<std::size_t>(at - curve.points.begin());
            const double top = m_plot->yAxis->coordToPixel(curve.percent(index));
            const double bottom = m_plot->yAxis->coordToPixel(curve.percent(index) - 100.0 / static_cast<double>(curve.count));
            const double dx = m_plot->xAxis->coordToPixel(at->x) - position.x();
            const double dy = position.y() - std::clamp<double>(position.y(), top, bottom);
            const double distance = std::hypot(dx, dy);
            if (distance >= nearest) continue;
            nearest = distance;
            found = {i, index};
        }
    }
    if (!found) return hideValue();
    const Curve& curve = m_curves[found->first];
    const Point& point = curve.points[found->second];
    const CdfGraph& graph = m_data.graphs[point.value->graph];
    QString value = secondsText(point.value->step_time_s);
    if (graph.one_device_s > 0) value += tr(", %1 of one device").arg(percentText(point.value->step_time_s / graph.one_device_s));
    m_tracer->position->setCoords(point.x, curve.percent(found->second));
    m_tracer->setVisible(true);
    QToolTip::showText(
        m_plot->mapToGlobal(position),
        tr("%1\n%2: %3\n%4 of the %5 take no longer")
            .arg(m_data.schemes[found->first].title, graph.name, value, percentText(curve.percent(found->second) / 100), m_data.members),
        m_plot);
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void CdfPlot::hideValue() {
    if (!m_tracer->visible()) return;
    m_tracer->setVisible(false);
    QToolTip::hideText();
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

}  // namespace placewright
