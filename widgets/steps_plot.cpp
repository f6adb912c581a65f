// SPDX-License-Identifier: MIT
#include "widgets/steps_plot.hpp"

#include <algorithm>
#include <cmath>

#include <QLabel>

#include "core/base/statistics.hpp"
#include "widgets/plot_style.hpp"
#include "widgets/qcustomplot_header.hpp"
#include "widgets/quantities.hpp"

namespace placewright {

StepsPlot::StepsPlot(QWidget* parent)
    : IdentityPlot(Legend::in_pictures, tr("Measured against simulated step times of placements"),
                   tr("Fits the axes to all placements (or double-click the plot)"), tr("Simulated"), parent),
      m_figures(new QLabel) {
    setEmptyText(
        tr("Benchmark placements of this network (F7): each is a dot here. A run of unknown placement has "
           "none."));
    m_figures->setObjectName(QStringLiteral("stepsFigures"));
    m_figures->setAccessibleName(tr("Correlation of simulated and measured step times"));
    m_figures->setTextFormat(Qt::PlainText);
    m_figures->setWordWrap(true);
    m_figures->setContentsMargins(6, 0, 6, 2);
    m_figures->setToolTip(
        tr("Median error of the simulated step times, and their correlation with the measured ones"));
    addBelow(m_figures);
    updateStyle();
}

void StepsPlot::setMeasured(std::shared_ptr<const MeasuredRuns> measured) {
    if (!measured || !m_measured || measured->simulated->problem != m_measured->simulated->problem) follow();
    m_measured = std::move(measured);
    std::vector<Dot> dots;
    std::vector<double> simulated_s, measured_s, errors;
    if (m_measured) {
        for (const MeasuredRuns::Run& run : m_measured->runs) {
            const ComparedSeconds step{run.of.placement_s, run.comparison.step.measured_s};
            if (!(step.factor() > 0)) continue;
            dots.push_back({static_cast<std::uint32_t>(run.of.id), 0, step.simulated_s, step.measured_s});
            simulated_s.push_back(step.simulated_s);
            measured_s.push_back(step.measured_s);
            errors.push_back(std::abs(step.simulated_s / step.measured_s - 1));
        }
    }
    std::ranges::sort(dots, {}, &Dot::key);
    QString text;
    if (!errors.empty()) {
        QStringList parts{errors.size() == 1 ? tr("1 placement") : tr("%1 placements").arg(errors.size()),
                          tr("error %1 %").arg(median(errors) * 100, 0, 'f', 1)};
        const auto linear = pearson(simulated_s, measured_s), ranked = spearman(simulated_s, measured_s);
        if (linear && ranked) {
            parts << tr("Pearson %1").arg(*linear, 0, 'f', 3) << tr("Spearman %1").arg(*ranked, 0, 'f', 3);
        } else if (errors.size() < 3) {
            parts << tr("correlations need 3");
        }
        text = parts.join(QStringLiteral(" · "));
    }
    m_figures->setText(text);
    setDots(std::move(dots));
}

void StepsPlot::setChosen(int id) {
    setMarked(id > 0 ? std::vector{static_cast<std::uint32_t>(id)} : std::vector<std::uint32_t>());
}

QString StepsPlot::seriesName(std::uint32_t) const {
    return tr("Placement");
}

QColor StepsPlot::seriesColor(std::uint32_t) const {
    return runColor(0, plot()->palette().color(QPalette::Base));
}

QString StepsPlot::textOf(const Dot& dot) const {
    const auto run = std::ranges::find(m_measured->runs, static_cast<int>(dot.key),
                                       [](const MeasuredRuns::Run& each) { return each.of.id; });
    return tr("%1\nstep measured %2, simulated %3: %4")
        .arg(run->of.name, secondsText(dot.measured_s), secondsText(dot.simulated_s),
             factorText(dot.measured_s / dot.simulated_s));
}

void StepsPlot::clicked(const Dot* dot) {
    if (dot != nullptr) Q_EMIT runChosen(static_cast<int>(dot->key));
}

}  // namespace placewright
