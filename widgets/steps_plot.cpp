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
namespace {

enum StepSeries : std::uint32_t { kRun, kPlacement, kFastest };

/// Keys of dots are ids of runs below this, and indices of placements from it on.
constexpr std::uint32_t kFirstPlacement = 1U << 24;

std::uint32_t keyOf(std::size_t placement) {
    return kFirstPlacement + static_cast<std::uint32_t>(placement);
}

constexpr int kRunColor = 0, kPlacementColor = 1, kFastestColor = 2;  // of runColor()

}  // namespace

QColor placementColor(bool fastest, const QColor& background) {
    return runColor(fastest ? kFastestColor : kPlacementColor, background);
}

StepsPlot::StepsPlot(QWidget* parent)
    : IdentityPlot(Legend::in_pictures, tr("Measured against simulated step times of placements"),
                   tr("Fits the axes to all placements (or double-click the plot)"), tr("Simulated"), parent),
      m_figures(new QLabel) {
    setEmptyText(tr(
        "Benchmark placements of this network (F7), or measure the best of a run (Shift+F7): each is a dot "
        "here. A run of unknown placement has none."));
    m_figures->setObjectName(QStringLiteral("stepsFigures"));
    m_figures->setAccessibleName(tr("Correlation of simulated and measured step times"));
    m_figures->setTextFormat(Qt::PlainText);
    m_figures->setWordWrap(true);
    m_figures->setContentsMargins(2, 0, 4, 0);
    m_figures->setToolTip(
        tr("Median error of the simulated step times, and their correlation with the measured ones"));
    addBeside(m_figures);
    updateStyle();
}

void StepsPlot::setMeasured(std::shared_ptr<const MeasuredRuns> measured) {
    if (!measured || !m_measured || measured->simulated->problem != m_measured->simulated->problem) follow();
    m_measured = std::move(measured);
    showDots();
}

void StepsPlot::setPlacements(std::shared_ptr<const MeasuredPlacements> placements) {
    // Those of another run.
    if (!placements || !m_placements || placements->all.size() < m_placements->all.size()) follow();
    m_placements = std::move(placements);
    showDots();
}

void StepsPlot::showDots() {
    std::vector<Dot> dots;
    std::vector<double> simulated_s, measured_s, errors;
    const auto add = [&](std::uint32_t key, StepSeries series, const ComparedSeconds& step) {
        if (!(step.factor() > 0)) return;
        dots.push_back({key, series, step.simulated_s, step.measured_s});
        simulated_s.push_back(step.simulated_s);
        measured_s.push_back(step.measured_s);
        errors.push_back(std::abs(step.simulated_s / step.measured_s - 1));
    };
    if (m_measured) {
        for (const MeasuredRuns::Run& run : m_measured->runs)
            add(static_cast<std::uint32_t>(run.of.id), kRun,
                {run.of.placement_s, run.comparison.step.measured_s});
    }
    if (m_placements) {
        const auto fastest = m_placements->fastest();
        for (std::size_t index = 0; index < m_placements->all.size(); ++index) {
            const MeasuredPlacements::Each& each = m_placements->all[index];
            add(keyOf(index), index == fastest ? kFastest : kPlacement,
                {each.simulated.value_s, each.measured.value_s});
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
        for (QString& part : parts) part = unbroken(part);
        text = parts.join(QStringLiteral(" · "));
    }
    m_figures->setText(text);
    setDots(std::move(dots));
}

void StepsPlot::setChosen(int id) {
    m_chosen = id;
    showMarks();
}

void StepsPlot::setChosenPlacement(std::optional<std::size_t> index) {
    m_chosenPlacement = index;
    showMarks();
}

void StepsPlot::showMarks() {
    std::vector<std::uint32_t> keys;
    if (m_chosen > 0) keys.push_back(static_cast<std::uint32_t>(m_chosen));
    if (m_chosenPlacement) keys.push_back(keyOf(*m_chosenPlacement));
    setMarked(keys);
}

std::optional<QPointF> StepsPlot::positionOfPlacement(std::size_t index) const {
    return positionOf(keyOf(index));
}

QString StepsPlot::seriesName(std::uint32_t series) const {
    return series == kRun         ? tr("Run")
           : series == kPlacement ? tr("Placement of the search")
                                  : tr("Fastest measured");
}

QColor StepsPlot::seriesColor(std::uint32_t series) const {
    const QColor base = plot()->palette().color(QPalette::Base);
    return series == kRun ? runColor(kRunColor, base) : placementColor(series == kFastest, base);
}

IdentityPlot::Shape StepsPlot::seriesShape(std::uint32_t series) const {
    return series == kFastest ? Shape::diamond : Shape::circle;
}

QString StepsPlot::textOf(const Dot& dot) const {
    QString title;
    if (dot.key >= kFirstPlacement) {
        const std::size_t rank = m_placements->rank(dot.key - kFirstPlacement);
        title = (dot.series == kFastest ? tr("Fastest measured, %1 in the simulation")
                                        : tr("%1 in the simulation"))
                    .arg(ordinalText(rank));
    } else {
        const auto run = std::ranges::find(m_measured->runs, static_cast<int>(dot.key),
                                           [](const MeasuredRuns::Run& each) { return each.of.id; });
        title = run->of.name;
    }
    return tr("%1\nstep measured %2, simulated %3: %4")
        .arg(title, secondsText(dot.measured_s), secondsText(dot.simulated_s),
             factorText(dot.measured_s / dot.simulated_s));
}

void StepsPlot::clicked(const Dot* dot) {
    if (dot == nullptr) return;
    if (dot->key >= kFirstPlacement) {
        Q_EMIT placementChosen(dot->key - kFirstPlacement);
    } else {
        Q_EMIT runChosen(static_cast<int>(dot->key));
    }
}

bool StepsPlot::activated(const Dot& dot) {
    if (dot.key < kFirstPlacement) return false;
    Q_EMIT placementActivated(dot.key - kFirstPlacement);
    return true;
}

}  // namespace placewright
