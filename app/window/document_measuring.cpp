// SPDX-License-Identifier: MIT
// Benchmarks, measured placements and profiles of a document.
#include <algorithm>
#include <utility>

#include "app/window/document.hpp"
#include "widgets/quantities.hpp"

namespace placewright {

void Document::findPlan() {
    if (isOpen()) m_measuring.look(problem());
}

void Document::startBenchmark(std::vector<PhysicalDevice> devices, const MeasureOptions& options) {
    if (!isOpen() || m_measuring.running() != Measuring::Kind::none) return;
    holdOtherWork();
    m_measuring.benchmark(problem(), m_placement, std::move(devices), options);
}

void Document::startProfile(std::vector<PhysicalDevice> devices, std::uint32_t steps, bool transfers,
                            bool throttles, const QString& file) {
    if (!isOpen() || m_measuring.running() != Measuring::Kind::none) return;
    holdOtherWork();
    m_profiled.reset();
    m_measuring.profile({job(), std::move(devices), steps, transfers, throttles, file});
    Q_EMIT profileChanged();
}

void Document::measureBest(BestRequest request) {
    if (!isOpen() || request.placements.empty() || m_measuring.running() != Measuring::Kind::none) return;
    holdOtherWork();
    MeasuredPlacements placements;
    placements.run = request.run;
    placements.wanted = request.wanted();
    for (const ScoredPlacement& each : request.placements) placements.awaited.push_back(each.score);
    m_best = std::make_shared<const MeasuredPlacements>(std::move(placements));
    m_bestScenario = m_scenario;
    m_bestScreen = m_placement;
    request.runner = m_runner;
    m_measuring.best(std::move(request));
    Q_EMIT measuredPlacementsChanged();
}

std::shared_ptr<const MeasuredPlacements> Document::measuredPlacements() const {
    return m_best && sameScenario(*m_bestScenario, *m_scenario) ? m_best : nullptr;
}

void Document::addMeasuredPlacements(const std::vector<MeasuredPlacements::Each>& measured) {
    MeasuredPlacements grown = *m_best;
    // The first ones are those that were awaited, in this order.
    grown.awaited.erase(
        grown.awaited.begin(),
        grown.awaited.begin() + static_cast<std::ptrdiff_t>(std::min(grown.awaited.size(), measured.size())));
    grown.all.insert(grown.all.end(), measured.begin(), measured.end());
    m_best = std::make_shared<const MeasuredPlacements>(std::move(grown));
    Q_EMIT measuredPlacementsChanged();
}

void Document::endBest(MeasuredPlacements::State state) {
    if (!m_best || m_best->state != MeasuredPlacements::State::measuring) return;
    MeasuredPlacements ended = *m_best;
    ended.state = state;
    m_best = std::make_shared<const MeasuredPlacements>(std::move(ended));
    Q_EMIT measuredPlacementsChanged();
}

void Document::showFastest() {
    const QString text = fastestText(*m_best);
    const auto fastest = m_best->fastest();
    if (!fastest) {
        Q_EMIT message(true, text + tr(" The placement on screen is unchanged."));
        return;
    }
    const Placement& placement = *m_best->all[*fastest].placement;
    // What a search that goes on shows is no edit.
    const bool edited = m_placement != m_bestScreen && (shownRun() == nullptr || !follows(*shownRun()));
    if (placement == m_placement) {
        Q_EMIT message(false, text + tr(" It is on screen."));
    } else if (edited) {
        Q_EMIT message(false,
                       text + tr(" The placement on screen was changed meanwhile and stays; Show fastest "
                                 "in the Measured panel puts this one there."));
    } else {
        change(tr("Measured best of %1").arg(m_best->run), {m_scenario, placement, nullptr, 0});
        Q_EMIT message(false, text + tr(" It is now on screen."));
    }
}

void Document::showMeasuredBest(std::size_t index) {
    const auto placements = measuredPlacements();
    if (!placements || index >= placements->all.size()) return;
    change(tr("Show the measured placement of %1").arg(secondsText(placements->all[index].measured.value_s)),
           {m_scenario, *placements->all[index].placement, nullptr, 0});
}

void Document::useProfile(const QString& file) {
    JobOptions options = this->options();
    options.profile = file.toStdString();
    options.problem.cost.profile.reset();
    setOptions(options);
}

void Document::setProofWanted(bool wanted) {
    m_proofWanted = wanted;
    if (!m_proofHeld) m_insights.setProofWanted(wanted);
}

void Document::holdOtherWork() {
    for (const auto& run : m_runs.all()) {
        if (run->state() == Run::State::running && !run->isPaused()) m_held.push_back(run->id());
    }
    for (const int id : m_held) pauseRun(id, true);
    m_proofHeld = m_insights.isProving();
    if (m_proofHeld) m_insights.setProofWanted(false);
}

void Document::resumeOtherWork() {
    for (const int id : std::exchange(m_held, {})) pauseRun(id, false);
    if (std::exchange(m_proofHeld, false)) m_insights.setProofWanted(m_proofWanted);
}

void Document::addBenchmark(const std::shared_ptr<const Problem>& problem, Measurement measurement) {
    const Spread& step = measurement.step;
    const std::size_t steps = measurement.run.step_times_s.size();
    QString text = steps == 1 ? tr("Measured %1 in one step").arg(secondsText(step.median_s))
                              : tr("Measured %1 a step (half of %2 steps from %3 to %4)")
                                    .arg(secondsText(step.median_s))
                                    .arg(steps)
                                    .arg(secondsText(step.low_s), secondsText(step.high_s));
    if (!measurement.fits) text += tr(", with more memory than a device of this machine has");
    const QString warning = QString::fromStdString(measurement.noise_warning());
    if (!warning.isEmpty()) text += tr("; %1").arg(warning);
    measurement.run.name = tr("Benchmark %1").arg(++m_benchmarks).toStdString();
    m_measurements.add(problem, std::move(measurement.run));
    Q_EMIT message(!warning.isEmpty(), text + QLatin1Char('.'));
}

}  // namespace placewright
