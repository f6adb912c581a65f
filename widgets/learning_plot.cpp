// SPDX-License-Identifier: MIT
#include "widgets/learning_plot.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QStackedWidget>
#include <QToolButton>
#include <QToolTip>
#include <QVBoxLayout>

#include "widgets/palette.hpp"
#include "widgets/plot_style.hpp"
#include "widgets/qcustomplot_header.hpp"

namespace placewright {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kPace_ms = 100;

QString pointText(const TrainingPoint& point) {
    return LearningPlot::tr(
               "Update %L1: its episodes %2 ± %3 of one device; best so far %4, mean of all networks; entropy %5 nats; learning rate %6")
        .arg(point.updates)
        .arg(point.cost, 0, 'f', 3)
        .arg(point.cost_spread, 0, 'f', 3)
        .arg(point.best_cost, 0, 'f', 3)
        .arg(point.entropy, 0, 'f', 3)
        .arg(point.learning_rate, 0, 'g', 3);
}

}  // namespace

LearningPlot::LearningPlot(QWidget* parent) : QWidget(parent) {
    m_header = new QLabel(this);
    m_header->setObjectName("header");
    m_header->setAccessibleName(tr("Latest update"));
    m_header->setWordWrap(true);
    m_header->setMargin(4);
    const auto makeCheck = [this](Part part, const QString& name, const QString& text, const QString& toolTip) {
        m_checks[part] = new QCheckBox(text, this);
        m_checks[part]->setObjectName(name);
        m_checks[part]->setToolTip(toolTip);
        m_checks[part]->setChecked(true);
        connect(m_checks[part], &QCheckBox::toggled, this, &LearningPlot::showParts);
    };
    makeCheck(Entropy, "entropy", tr("Entropy"), tr("How undecided the policy is: the mean over its decisions"));
    makeCheck(Rate, "rate", tr("Learning rate"), tr("How far an update moves the weights"));
    auto* fitButton = new QToolButton(this);
    fitButton->setObjectName("fit");
    fitButton->setText(tr("Fit"));
    fitButton->setToolTip(tr("Shows the training from beginning to end, as a double click in the plot does"));
    fitButton->setFocusPolicy(Qt::StrongFocus);

    m_plot = new QCustomPlot(this);
    m_plot->setAccessibleName(tr("Learning of a policy"));
    m_plot->setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
    m_plot->setNoAntialiasingOnDrag(true);
    m_plot->installEventFilter(this);
    m_parts[Cost] = m_plot->axisRect();
    auto* across = new QCPMarginGroup(m_plot);
    for (const Part part : {Cost, Entropy, Rate}) {
        if (part != Cost) {
            m_parts[part] = new QCPAxisRect(m_plot);
            m_plot->plotLayout()->addElement(part, 0, m_parts[part]);
        }
        // The plot may be small, and what is learned matters most.
        m_parts[part]->setMinimumSize(50, part == Cost ? 80 : 44);
        m_parts[part]->setMinimumMargins(QMargins(0, 4, 8, 0));
        m_parts[part]->setRangeDrag(Qt::Horizontal);
        m_parts[part]->setRangeZoom(Qt::Horizontal);
        m_parts[part]->setMarginGroup(QCP::msLeft | QCP::msRight, across);
        // There are no parts of updates.
        const QSharedPointer<QCPAxisTickerFixed> ticker(new QCPAxisTickerFixed);
        ticker->setTickStep(1);
        ticker->setScaleStrategy(QCPAxisTickerFixed::ssMultiples);
        updatesAxis(part)->setTicker(ticker);
        updatesAxis(part)->setNumberFormat("gb");
        updatesAxis(part)->setNumberPrecision(6);
        valueAxis(part)->setNumberFormat("gb");
        valueAxis(part)->setNumberPrecision(3);
        connect(updatesAxis(part), qOverload<const QCPRange&>(&QCPAxis::rangeChanged), this, [this](const QCPRange& range) {
            for (const Part other : {Cost, Entropy, Rate}) updatesAxis(other)->setRange(range);
        });
    }
    setAxisTitle(*valueAxis(Cost), tr("Cost"));
    setAxisTitle(*valueAxis(Entropy), tr("Entropy"));
    setAxisTitle(*valueAxis(Rate), tr("Rate"));

    const auto addGraph = [this](Part part, const QString& name) {
        QCPGraph* graph = m_plot->addGraph(updatesAxis(part), valueAxis(part));
        graph->setName(name);
        return graph;
    };
    m_above = addGraph(Cost, tr("± deviation"));
    m_below = addGraph(Cost, {});
    m_mean = addGraph(Cost, tr("episodes of an update, on its networks"));
    m_best = addGraph(Cost, tr("best so far, mean of all networks"));
    m_best->setLineStyle(QCPGraph::lsStepLeft);
    m_entropy = addGraph(Entropy, {});
    m_rate = addGraph(Rate, {});
    m_above->setPen(Qt::NoPen);
    m_below->setPen(Qt::NoPen);
    m_above->setChannelFillGraph(m_below);
    for (QCPGraph* graph : {m_below, m_entropy, m_rate}) graph->removeFromLegend();
    fitAround(*m_plot, true);

    m_oneDevice = new QCPItemStraightLine(m_plot);
    m_oneDevice->point1->setCoords(0, 1);
    m_oneDevice->point2->setCoords(1, 1);
    m_oneDeviceLabel = new QCPItemText(m_plot);
    m_oneDeviceLabel->setText(tr("one device"));
    m_oneDeviceLabel->position->setTypeX(QCPItemPosition::ptAxisRectRatio);
    m_oneDeviceLabel->position->setTypeY(QCPItemPosition::ptPlotCoords);
    m_oneDeviceLabel->position->setCoords(1, 1);
    m_oneDeviceLabel->setPositionAlignment(Qt::AlignBottom | Qt::AlignRight);
    m_oneDeviceLabel->setPadding(QMargins(4, 1, 4, 1));
    m_oneDeviceLabel->setClipToAxisRect(true);

    m_empty =
        makeEmptyLabel(tr("Nothing learns yet. Train a policy (Learn menu), or press Optimize with a learned algorithm such as Placeto: "
                          "what its placements cost is drawn here update by update."),
                       this);
    m_pages = new QStackedWidget(this);
    m_pages->addWidget(m_empty);
    m_pages->addWidget(m_plot);

    auto* controls = new QHBoxLayout;
    controls->setContentsMargins(4, 4, 4, 4);
    controls->addWidget(m_checks[Entropy]);
    controls->addWidget(m_checks[Rate]);
    controls->addStretch(1);
    controls->addWidget(fitButton);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(controls);
    layout->addWidget(m_header);
    layout->addWidget(m_pages, 1);

    m_pace.setSingleShot(true);
    m_pace.setInterval(kPace_ms);
    connect(&m_pace, &QTimer::timeout, this, [this] {
        if (m_curve != m_drawn) draw();
    });
    const auto fitAgain = [this] {
        m_following = true;
        fit();
    };
    connect(fitButton, &QToolButton::clicked, this, fitAgain);
    connect(m_plot, &QCustomPlot::mouseDoubleClick, this, fitAgain);
    connect(m_plot, &QCustomPlot::mouseWheel, this, [this] { m_following = false; });
    connect(m_plot, &QCustomPlot::mouseMove, this, [this](QMouseEvent* event) {
        if (event->buttons() & Qt::LeftButton) m_following = false;
        showValueAt(event->pos());
    });
    m_header->hide();
    showParts();
    updateStyle();
}

QCPAxis* LearningPlot::updatesAxis(Part part) const {
    return m_parts[part]->axis(QCPAxis::atBottom);
}

QCPAxis* LearningPlot::valueAxis(Part part) const {
    return m_parts[part]->axis(QCPAxis::atLeft);
}

void LearningPlot::setCurve(std::shared_ptr<const std::vector<TrainingPoint>> curve) {
    if (curve && curve->empty()) curve.reset();
    // Another training is looked at as a whole.
    if (!m_curve || !curve || curve->front() != m_curve->front()) m_following = true;
    m_curve = std::move(curve);
    m_header->setVisible(m_curve != nullptr);
    m_pages->setCurrentWidget(m_curve ? static_cast<QWidget*>(m_plot) : m_empty);
    if (m_curve != m_drawn && isVisible() && !m_pace.isActive()) draw();
}

void LearningPlot::setEmptyText(const QString& text) {
    m_empty->setText(text);
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
    fit();
}

/// Heights follow the data, whatever part of the training is looked at.
void LearningPlot::fit() {
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
    valueAxis(Entropy)->setRange(0, entropy > 0 ? 1.1 * entropy : 1);
    valueAxis(Rate)->setRange(0, rate > 0 ? 1.1 * rate : 1);
    if (m_following) updatesAxis(Cost)->setRange(0, std::max(1.0, static_cast<double>(m_drawn->back().updates)));
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void LearningPlot::showParts() {
    QCPLayoutGrid* grid = m_plot->plotLayout();
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
    updateStyle();  // which reaches what is in the grid
}

void LearningPlot::updateStyle() {
    stylePlot(*m_plot);
    const QPalette palette = m_plot->palette();
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
    m_oneDeviceLabel->setFont(m_plot->font());
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void LearningPlot::renderWhole(QPainter& painter, const QRect& target) const {
    renderPlot(*m_plot, painter, target);
}

bool LearningPlot::eventFilter(QObject* watched, QEvent* event) {
    if (watched == m_plot) {
        if (event->type() == QEvent::Leave) QToolTip::hideText();
        if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) updateStyle();
    }
    return QWidget::eventFilter(watched, event);
}

void LearningPlot::showValueAt(QPoint position) {
    const bool inside =
        std::ranges::any_of(m_parts, [&](const QCPAxisRect* part) { return part->realVisibility() && part->rect().contains(position); });
    if (!inside || !m_drawn) return QToolTip::hideText();
    const double update = std::round(updatesAxis(Cost)->pixelToCoord(position.x()));
    const auto found =
        std::ranges::find_if(*m_drawn, [&](const TrainingPoint& point) { return static_cast<double>(point.updates) >= update; });
    QToolTip::showText(m_plot->mapToGlobal(position), pointText(found == m_drawn->end() ? m_drawn->back() : *found), m_plot);
}

}  // namespace placewright
