// SPDX-License-Identifier: MIT
#include "widgets/cdf_plot.hpp"

#include <algorithm>
#include <cmath>

#include <QCheckBox>
#include <QComboBox>
#include <QHeaderView>
#include <QPainter>
#include <QSignalBlocker>
#include <QStandardItemModel>
#include <QTreeWidget>

#include "core/base/infinity.hpp"
#include "core/base/statistics.hpp"
#include "widgets/palette.hpp"
#include "widgets/plain_text.hpp"
#include "widgets/qcustomplot_header.hpp"
#include "widgets/quantities.hpp"

namespace placewright {
namespace {

enum CdfColumn { Title, Median, Slowest, Fits, CdfColumnCount };
enum Axis { RelativeAxis, SecondsAxis };

/// Icon with the line of a scheme as in the plot.
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

CdfPlot::CdfPlot(QWidget* parent)
    : PlotFrame(Legend::in_pictures, tr("Cumulative distribution"),
                tr("Fits the axes to all curves (or double-click the plot)"), parent) {
    setEmptyText(
        tr("No comparison yet. Compare algorithms (Run menu) to plot the distribution of each one's results "
           "over networks, machines and seeds."));
    m_axis = addChoice("axis", {tr("Relative to one device"), m_data.objective}, tr("Horizontal axis"),
                       tr("Absolute values, or multiples of the graph's value on one device"));
    m_log = addCheck("logX", tr("Log x"), tr("Logarithmic horizontal axis"));
    makeList();

    plot()->axisRect()->setRangeDrag(Qt::Horizontal);
    plot()->axisRect()->setRangeZoom(Qt::Horizontal);
    plot()->xAxis->setNumberFormat("gb");
    plot()->xAxis->setNumberPrecision(5);
    plot()->yAxis->setRange(0, 116);  // leaves room above 100 % for the label of the line at 1
    connect(plot()->xAxis, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), this, [this] {
        updateLogTicker(*plot()->xAxis);
        // The label goes to the side of the line that has room for it.
        const bool left = plot()->xAxis->coordToPixel(1) < plot()->axisRect()->center().x();
        m_oneDeviceLabel->setPositionAlignment(Qt::AlignTop | (left ? Qt::AlignLeft : Qt::AlignRight));
    });

    m_half = new QCPItemStraightLine(plot());
    m_half->point1->setCoords(0, 50);
    m_half->point2->setCoords(1, 50);
    m_oneDevice = new QCPItemStraightLine(plot());
    m_oneDevice->point1->setCoords(1, 0);
    m_oneDevice->point2->setCoords(1, 1);
    m_oneDeviceLabel = new QCPItemText(plot());
    m_oneDeviceLabel->setText(tr("one device"));
    m_oneDeviceLabel->setPositionAlignment(Qt::AlignTop | Qt::AlignRight);
    m_oneDeviceLabel->position->setTypeY(QCPItemPosition::ptAxisRectRatio);
    m_oneDeviceLabel->position->setCoords(1, 0);
    m_oneDeviceLabel->setPadding(QMargins(4, 1, 4, 0));
    addTracer();

    const auto fitAgain = [this] {
        follow();
        updateAxes();
    };
    connect(m_axis, &QComboBox::activated, this, [this, fitAgain](int axis) {
        m_relativeWanted = axis == RelativeAxis;
        updateCurves();
        updateList();
        fitAgain();
    });
    connect(m_log, &QCheckBox::toggled, this, fitAgain);
    updateStyle();
    updateAxes();
}

/// Makes the list of schemes below the plot.
void CdfPlot::makeList() {
    m_list = new QTreeWidget(this);
    m_list->setObjectName("schemes");
    m_list->setAccessibleName(tr("Curves of the plot"));
    m_list->setToolTip(tr("Ticked rows are drawn"));
    m_list->setColumnCount(CdfColumnCount);
    m_list->setHeaderLabels({m_data.rows, tr("Median"), tr("Largest"), tr("Values")});
    m_list->headerItem()->setToolTip(Median, tr("Median of all values (the mean of the middle two if their "
                                                "number is even); – until all are known"));
    m_list->headerItem()->setToolTip(
        Fits, tr("Values known, of all; of placements, only those that fit the memory"));
    for (const int column : {Median, Slowest, Fits})
        m_list->headerItem()->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    m_list->setRootIsDecorated(false);
    m_list->setUniformRowHeights(true);
    m_list->setIconSize({26, 12});
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->header()->setStretchLastSection(false);
    m_list->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
    m_list->header()->setSectionResizeMode(Title, QHeaderView::Stretch);
    addBelow(m_list);
    connect(m_list, &QTreeWidget::itemChanged, this, [this](const QTreeWidgetItem* item) {
        if (item->checkState(Title) == Qt::Checked) {
            m_off.remove(item->text(Title));
        } else {
            m_off.insert(item->text(Title));
        }
        updateCurves();
        updateAxes();
    });
}

void CdfPlot::setData(CdfData family) {
    hideValue();
    m_data = std::move(family);
    m_axis->setItemText(SecondsAxis, m_data.objective);
    const bool empty =
        std::ranges::all_of(m_data.schemes, [](const CdfScheme& scheme) { return scheme.values.empty(); });
    setEmpty(empty);
    const bool comparable =
        std::ranges::any_of(m_data.graphs, [](const CdfGraph& graph) { return graph.one_device_s > 0; });
    auto* choice = qobject_cast<QStandardItemModel*>(m_axis->model())->item(RelativeAxis);
    choice->setEnabled(comparable || empty);
    choice->setToolTip(choice->isEnabled() ? QString() : tr("No graph fits on one device"));
    m_axis->setCurrentIndex(choice->isEnabled() && m_relativeWanted ? RelativeAxis : SecondsAxis);
    updateCurves();
    updateList();
    updateAxes();
}

bool CdfPlot::relative() const {
    return m_axis->currentIndex() == RelativeAxis;
}

QString CdfPlot::valueText(double x) const {
    if (!relative()) {
        const double value = x / m_unit.per_second;
        return m_data.quantity == CdfData::Quantity::bytes ? bytesText(value) : secondsText(value);
    }
    // What is close to one device is told from it.
    return tr("%1×").arg(x, 0, 'f', std::abs(x - 1) < 0.1 ? 3 : x < 10 ? 2 : 1);
}

std::size_t CdfPlot::Curve::pointOf(std::size_t rank) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(points, rank, {}, &Point::upTo) -
                                    points.begin());
}

/// Takes the unit from the middle between the least and the largest value.
void CdfPlot::updateUnit() {
    double least = kInfinity, most = 0;
    for (const CdfScheme& scheme : m_data.schemes) {
        for (const CdfValue& value : scheme.values) {
            if (!value.fits || !(value.step_time_s > 0) || !std::isfinite(value.step_time_s)) continue;
            least = std::min(least, value.step_time_s);
            most = std::max(most, value.step_time_s);
        }
    }
    if (!std::isfinite(least)) return;
    const double middle = std::sqrt(least * most);
    if (m_data.quantity == CdfData::Quantity::seconds) {
        m_unit = timeUnitFor(middle);
    } else {
        m_unit = middle >= 1e9   ? TimeUnit{1e-9, QStringLiteral("GB")}
                 : middle >= 1e6 ? TimeUnit{1e-6, QStringLiteral("MB")}
                 : middle >= 1e3 ? TimeUnit{1e-3, QStringLiteral("kB")}
                                 : TimeUnit{1, QStringLiteral("B")};
    }
}

CdfPlot::Curve CdfPlot::curveOf(const CdfScheme& scheme) const {
    const bool relative = this->relative();
    Curve curve;
    for (const CdfValue& value : scheme.values) {
        const double one_device_s = m_data.graphs[value.graph].one_device_s;
        if (relative && !(one_device_s > 0)) continue;
        curve.count += value.count;
        if (!value.fits || !std::isfinite(value.step_time_s)) continue;
        curve.points.push_back(
            {relative ? value.step_time_s / one_device_s : value.step_time_s * m_unit.per_second, &value});
    }
    std::ranges::sort(curve.points, {},
                      [](const Point& point) { return std::pair(point.x, point.value->graph); });
    std::size_t sum = 0;
    for (Point& point : curve.points) point.upTo = sum += point.value->count;
    const auto comparable = static_cast<std::size_t>(std::ranges::count_if(
        m_data.graphs, [&](const CdfGraph& graph) { return !relative || graph.one_device_s > 0; }));
    if (const std::size_t whole = scheme.values_per_graph * comparable; curve.count < whole) {
        curve.count = whole;
        curve.whole = false;  // the median is not known yet
    } else if (curve.count > 0) {
        const std::size_t low = curve.pointOf((curve.count - 1) / 2), high = curve.pointOf(curve.count / 2);
        if (high < curve.points.size()) curve.median = (curve.points[low].x + curve.points[high].x) / 2;
    }
    return curve;
}

QPen CdfPlot::penOf(std::size_t scheme) const {
    const QColor base = plot()->palette().color(QPalette::Base);
    const QColor& color = m_data.schemes[scheme].color;
    return color.isValid() ? QPen(color, 2) : seriesPen(static_cast<int>(scheme), base);
}

void CdfPlot::updateCurves() {
    updateUnit();
    m_curves.clear();
    double most = 0;
    for (const CdfScheme& scheme : m_data.schemes) {
        m_curves.push_back(curveOf(scheme));
        if (!m_curves.back().points.empty()) most = std::max(most, m_curves.back().points.back().x);
    }

    // Lines are added first, so that the median dots are drawn above them.
    const QColor base = plot()->palette().color(QPalette::Base);
    plot()->clearGraphs();
    for (std::size_t i = 0; i < m_curves.size(); ++i) {
        const Curve& curve = m_curves[i];
        QVector<QCPGraphData> points;
        if (!curve.points.empty()) points.append({curve.points.front().x, 0});
        for (std::size_t p = 0; p < curve.points.size(); ++p)
            points.append({curve.points[p].x, curve.percent(p)});
        // The curve continues to the right at its last value.
        if (!points.isEmpty()) points.append({most * 1e3, points.last().value});
        QCPGraph* line = plot()->addGraph();
        line->setLineStyle(QCPGraph::lsStepLeft);
        line->data()->set(points, true);
        line->setPen(penOf(i));
        line->setName(m_data.schemes[i].title);
        line->setVisible(shown(i));
        if (!shown(i)) line->removeFromLegend();
    }
    for (std::size_t i = 0; i < m_curves.size(); ++i) {
        QCPGraph* dot = plot()->addGraph();
        dot->removeFromLegend();
        dot->setLineStyle(QCPGraph::lsNone);
        dot->setScatterStyle(
            QCPScatterStyle(QCPScatterStyle::ssCircle, QPen(base, 1.5), QBrush(penOf(i).color()), 10));
        dot->setVisible(shown(i));
        // The dot is at the step that reaches half of the graphs, slightly above 50 % if their number is odd.
        if (m_curves[i].median)
            dot->addData(*m_curves[i].median,
                         m_curves[i].percent(m_curves[i].pointOf((m_curves[i].count + 1) / 2 - 1)));
    }
}

void CdfPlot::updateList() {
    m_list->headerItem()->setText(Title, m_data.rows);
    const QSignalBlocker blocker(m_list);
    // Rows stay while values arrive, so that a click on one is not lost.
    while (m_list->topLevelItemCount() > std::ssize(m_curves)) delete m_list->takeTopLevelItem(0);
    for (std::size_t i = 0; i < m_curves.size(); ++i) {
        const Curve& curve = m_curves[i];
        QTreeWidgetItem* item = m_list->topLevelItem(static_cast<int>(i));
        if (item == nullptr) item = new QTreeWidgetItem(m_list);
        item->setText(Title, m_data.schemes[i].title);
        item->setToolTip(Title, plainToolTip(m_data.schemes[i].title));
        item->setIcon(Title, lineIcon(penOf(i), devicePixelRatioF()));
        item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable);
        item->setCheckState(Title, shown(i) ? Qt::Checked : Qt::Unchecked);
        item->setText(Median, curve.median ? valueText(*curve.median) : QStringLiteral("–"));
        item->setText(Slowest, curve.points.empty() || !curve.whole ? QStringLiteral("–")
                                                                    : valueText(curve.points.back().x));
        const std::size_t fitting = curve.points.empty() ? 0 : curve.points.back().upTo;
        item->setText(Fits, fitting == curve.count ? tr("%L1").arg(curve.count)
                                                   : tr("%L1 of %L2").arg(fitting).arg(curve.count));
        for (const int column : {Median, Slowest, Fits})
            item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    }
    fitList();
}

/// Makes the list as high as its rows, up to eight and up to a third of the panel; beyond that it scrolls.
void CdfPlot::fitList() {
    const int row = std::max(1, m_list->sizeHintForRow(0));
    const int header = m_list->header()->sizeHint().height();
    const int room = std::max(2, (height() / 3 - header) / row);
    const int rows = std::min({8, room, static_cast<int>(m_curves.size())});
    m_list->setFixedHeight(header + rows * row + 4);
}

void CdfPlot::resizeEvent(QResizeEvent* event) {
    PlotFrame::resizeEvent(event);
    fitList();
}

void CdfPlot::setLogarithmic(bool logarithmic) {
    m_log->setChecked(logarithmic);
}

void CdfPlot::updateAxes() {
    plot()->xAxis->setScaleType(m_log->isChecked() ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
    setAxisTitle(*plot()->yAxis, tr("Share of %1").arg(m_data.members), QStringLiteral("%"));
    setAxisTitle(*plot()->xAxis, relative() ? tr("%1 / one device").arg(m_data.objective) : m_data.objective,
                 relative() ? QString() : m_unit.name);
    m_oneDevice->setVisible(relative());
    m_oneDeviceLabel->setVisible(relative());
    updateLogTicker(*plot()->xAxis);
    if (isFollowing()) fit();
    plot()->replot(QCustomPlot::rpQueuedReplot);
}

void CdfPlot::fit() {
    double low = kInfinity, high = 0;
    for (std::size_t i = 0; i < m_curves.size(); ++i) {
        if (!shown(i) || m_curves[i].points.empty()) continue;
        low = std::min(low, m_curves[i].points.front().x);
        high = std::max(high, m_curves[i].points.back().x);
    }
    if (!std::isfinite(low)) return;
    // The range includes the line of one device unless that would compress the curves too much.
    if (relative() && low < 2 && high > 0.5) {
        low = std::min(low, 1.0);
        high = std::max(high, 1.0);
    }
    constexpr double kMargin = 0.05;
    if (m_log->isChecked() && low > 0) {
        const double decades = std::max(std::log10(high / low), 0.02);
        plot()->xAxis->setRange(low * std::pow(10, -kMargin * decades),
                                high * std::pow(10, kMargin * decades));
    } else {
        const double span = std::max(high - low, 0.05 * high);
        plot()->xAxis->setRange(std::max(0.0, low - kMargin * span), high + kMargin * span);
    }
}

void CdfPlot::updateStyle() {
    const QColor text = plot()->palette().color(QPalette::Text),
                 base = plot()->palette().color(QPalette::Base);
    PlotFrame::updateStyle();
    m_half->setPen(QPen(mixedColor(base, text, 0.45F), 1, Qt::DotLine));
    m_oneDevice->setPen(QPen(text, 1, Qt::DashLine));
    m_oneDeviceLabel->setColor(text);
    m_oneDeviceLabel->setFont(plot()->font());
    updateCurves();
    updateList();
    plot()->replot(QCustomPlot::rpQueuedReplot);
}

/// Shows the nearest step; each step belongs to one graph.
void CdfPlot::showValueAt(QPoint position) {
    constexpr double kReach = 16;  // pixels
    double nearest = kReach;
    std::optional<std::pair<std::size_t, std::size_t>> found;
    for (std::size_t i = 0; i < m_curves.size() && plot()->axisRect()->rect().contains(position); ++i) {
        const Curve& curve = m_curves[i];
        if (!shown(i) || curve.points.empty()) continue;
        // Only steps within reach are searched, since there may be thousands.
        const double from = plot()->xAxis->pixelToCoord(position.x() - kReach),
                     to = plot()->xAxis->pixelToCoord(position.x() + kReach);
        const auto x = [](const Point& point) { return point.x; };
        const auto begin = std::ranges::lower_bound(curve.points, from, {}, x),
                   end = std::ranges::upper_bound(curve.points, to, {}, x);
        for (auto at = begin; at != end; ++at) {
            const auto index = static_cast<std::size_t>(at - curve.points.begin());
            const double top = plot()->yAxis->coordToPixel(curve.percent(index));
            const double bottom = plot()->yAxis->coordToPixel(curve.percent(index) -
                                                              100.0 * static_cast<double>(at->value->count) /
                                                                  static_cast<double>(curve.count));
            const double dx = plot()->xAxis->coordToPixel(at->x) - position.x();
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
    QString value = m_data.quantity == CdfData::Quantity::bytes ? bytesText(point.value->step_time_s)
                                                                : secondsText(point.value->step_time_s);
    if (graph.one_device_s > 0)
        value += tr(", %1 of one device").arg(percentText(point.value->step_time_s / graph.one_device_s));
    const QString share = percentText(curve.percent(found->second) / 100);
    showValue({point.x, curve.percent(found->second)}, position,
              QStringList{m_data.schemes[found->first].title,
                          graph.name.isEmpty() ? value : graph.name + QStringLiteral(": ") + value,
                          (m_data.quantity == CdfData::Quantity::bytes ? tr("%1 of the %2 are no larger")
                                                                       : tr("%1 of the %2 take no longer"))
                              .arg(share, m_data.members)}
                  .join(u'\n'));
}

}  // namespace placewright
