// SPDX-License-Identifier: MIT
#include "widgets/standing_plot.hpp"

#include <algorithm>
#include <cmath>

#include <QEvent>
#include <QLabel>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "core/base/infinity.hpp"
#include "widgets/palette.hpp"
#include "widgets/plot_style.hpp"
#include "widgets/qcustomplot_header.hpp"
#include "widgets/quantities.hpp"

namespace placewright {

StandingPlot::StandingPlot(QWidget* parent)
    : QWidget(parent), m_pages(new QStackedWidget), m_plot(new QCustomPlot) {
    m_plot->setAccessibleName(tr("Means"));
    m_plot->installEventFilter(this);
    fitAround(*m_plot, false);
    m_pages->addWidget(makeEmptyLabel(
        tr("Start the comparison to plot the mean of each algorithm with its 95 % interval."), this));
    m_pages->addWidget(m_plot);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_pages);
    setMinimumHeight(140);
}

void StandingPlot::setBars(std::vector<StandingBar> bars, std::optional<double> one_device_s,
                           const QString& objective) {
    m_bars = std::move(bars);
    m_objective = objective;
    m_oneDevice_s = one_device_s;
    m_pages->setCurrentIndex(m_bars.empty() ? 0 : 1);
    draw();
}

bool StandingPlot::eventFilter(QObject* watched, QEvent* event) {
    if (watched == m_plot && (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange))
        draw();
    return QWidget::eventFilter(watched, event);
}

void StandingPlot::draw() {
    m_plot->clearPlottables();
    m_plot->clearItems();
    stylePlot(*m_plot);
    if (m_bars.empty()) return;

    double least_s = kInfinity;
    for (const StandingBar& bar : m_bars) {
        if (bar.fits()) least_s = std::min(least_s, bar.mean_s);
        for (const double score_s : bar.scores_s) least_s = std::min(least_s, score_s);
    }
    if (!std::isfinite(least_s)) least_s = m_oneDevice_s.value_or(1);
    const double most_s = least_s * kRelevantFactor;
    double begin_s = least_s, end_s = least_s;
    for (const StandingBar& bar : m_bars) {
        if (bar.fits()) {
            const double half_s = bar.half_width_95_s.value_or(0);
            begin_s = std::min(begin_s, bar.mean_s - half_s);
            end_s = std::max(end_s, std::min(most_s, bar.mean_s + half_s));
        }
        for (const double score_s : bar.scores_s) end_s = std::max(end_s, std::min(most_s, score_s));
    }
    // One device is shown unless that would compress the differences too much.
    const double span_s = std::max(end_s - begin_s, 0.01 * end_s);
    const bool showsOneDevice = m_oneDevice_s && *m_oneDevice_s <= end_s + span_s;
    if (showsOneDevice) {
        begin_s = std::min(begin_s, *m_oneDevice_s);
        end_s = std::max(end_s, *m_oneDevice_s);
    }
    const double margin_s = 0.06 * std::max(end_s - begin_s, 0.01 * end_s);
    const TimeUnit unit = timeUnitFor(end_s);
    const auto count = static_cast<double>(m_bars.size());

    QCPAxis *names = m_plot->yAxis, *times = m_plot->xAxis;
    const QColor base = palette().color(QPalette::Base), text = palette().color(QPalette::Text);
    const QSharedPointer<QCPAxisTickerText> ticker(new QCPAxisTickerText);
    auto* means = new QCPGraph(names, times);
    auto* intervals = new QCPErrorBars(names, times);
    // In ascending order of place: QCPErrorBars matches intervals to means by their sorted order.
    for (std::size_t i = m_bars.size(); i-- > 0;) {
        const StandingBar& bar = m_bars[i];
        const double place = count - static_cast<double>(i);
        ticker->addTick(place, bar.title);
        if (bar.fits()) {
            means->addData(place, bar.mean_s * unit.per_second);
            intervals->addData(bar.half_width_95_s.value_or(0) * unit.per_second);
        }
        auto* dots = new QCPGraph(names, times);
        for (const double score_s : bar.scores_s) dots->addData(place, score_s * unit.per_second);
        dots->setLineStyle(QCPGraph::lsNone);
        const QColor color = bar.color.isValid() ? bar.color : runColor(0, base);
        dots->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssCircle, QPen(base, 1), QBrush(color), 8));
    }
    means->setLineStyle(QCPGraph::lsNone);
    means->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssDiamond, QPen(text, 1.5), Qt::NoBrush, 11));
    intervals->setDataPlottable(means);
    intervals->setPen(QPen(text, 1.5));
    intervals->setWhiskerWidth(9);

    names->setTicker(ticker);
    names->setTickLength(0);
    names->setSubTicks(false);
    names->grid()->setVisible(false);
    names->setRange(0.4, count + 0.6);
    setAxisTitle(*times, m_objective, unit.name);
    times->setRange(std::max(0.0, begin_s - margin_s) * unit.per_second,
                    (end_s + margin_s) * unit.per_second);
    // A mean that is out of range is labelled with its value, a missing one with the reason.
    for (std::size_t i = 0; i < m_bars.size(); ++i) {
        const StandingBar& bar = m_bars[i];
        if (bar.fits() && bar.mean_s <= times->range().upper / unit.per_second) continue;
        auto* label = new QCPItemText(m_plot);
        label->setText(bar.fits() ? tr("%1 →").arg(secondsText(bar.mean_s))
                       : bar.scores_s.empty()
                           ? tr("does not fit")
                           : tr("%1 of %2 fit").arg(bar.scores_s.size()).arg(bar.searches));
        label->setColor(bar.fits() ? text : warningColor(palette()));
        label->setFont(m_plot->font());
        label->setPositionAlignment(Qt::AlignVCenter | (bar.fits() ? Qt::AlignRight : Qt::AlignLeft));
        label->position->setCoords(bar.fits() ? times->range().upper : times->range().lower,
                                   count - static_cast<double>(i));
        label->setPadding(QMargins(4, 0, 4, 0));
    }
    if (showsOneDevice) {
        auto* line = new QCPItemStraightLine(m_plot);
        line->setPen(QPen(text, 1, Qt::DashLine));
        line->point1->setCoords(*m_oneDevice_s * unit.per_second, 0);
        line->point2->setCoords(*m_oneDevice_s * unit.per_second, 1);
        auto* label = new QCPItemText(m_plot);
        label->setText(tr("one device"));
        label->setColor(text);
        label->setFont(m_plot->font());
        label->setPositionAlignment(Qt::AlignTop | Qt::AlignRight);
        label->position->setTypeY(QCPItemPosition::ptAxisRectRatio);
        label->position->setCoords(*m_oneDevice_s * unit.per_second, 0);
        label->setPadding(QMargins(0, 0, 4, 0));
    }
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

}  // namespace placewright
