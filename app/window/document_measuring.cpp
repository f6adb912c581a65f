// SPDX-License-Identifier: MIT
// Benchmarks, measured placements and profiles of a document.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "app/window/document.hpp"
#include "core/io/traces/chrome_trace.hpp"
#include "widgets/quantities.hpp"

namespace placewright {
namespace {

/// "; gpu:1 used 18 GB of 16 GB: …" of the device that lacks most; empty if all peaks fit.
QString shortageText(const Problem& problem, const std::vector<double>& peak_bytes) {
    std::optional<DeviceId> fullest;
    const auto share = [&](DeviceId device) {
        return peak_bytes[device] / problem.memory_limit_bytes[device];
    };
    for (DeviceId device = 0; device < peak_bytes.size(); ++device) {
        if (share(device) > 1 && (!fullest || share(device) > share(*fullest))) fullest = device;
    }
    if (!fullest) return {};
    return Document::tr("; %1 used %2 of %3: move ops away or take a smaller batch")
        .arg(QString::fromStdString(problem.machine->device(*fullest).name), bytesText(peak_bytes[*fullest]),
             bytesText(problem.memory_limit_bytes[*fullest]));
}

}  // namespace

void Document::findPlan() {
    if (isOpen()) m_measuring.look(problem());
}

QString Document::measuringHindrance() const {
    switch (m_measuring.running()) {
        case Measuring::Kind::benchmark:
            return tr("A benchmark runs: measure when it has ended, or stop it.");
        case Measuring::Kind::profile:
            return tr("A profile runs: measure when it has ended, or stop it.");
        case Measuring::Kind::best:
            return tr("Placements are measured: start when that has ended, or stop it.");
        case Measuring::Kind::none:
            break;
    }
    return m_otherWork ? m_otherWork() : QString();
}

QString Document::measuredNow() const {
    switch (m_measuring.running()) {
        case Measuring::Kind::benchmark:
            return tr("A benchmark runs, which this would disturb: start it when the benchmark has ended.");
        case Measuring::Kind::profile:
            return tr("A profile runs, which this would disturb: start it when the profile has ended.");
        case Measuring::Kind::best:
            return tr("Placements are measured, which this would disturb: start it when that has ended.");
        case Measuring::Kind::none:
            break;
    }
    return {};
}

QString Document::stopMeasuring() {
    const Measuring::Kind kind = m_measuring.running();
    if (kind == Measuring::Kind::none) return {};
    if (kind == Measuring::Kind::profile) m_profileFailure = tr("Stopped; nothing was written.");
    m_measuring.cancel();
    Q_EMIT profileChanged();
    if (kind == Measuring::Kind::best) {
        const QString doubts = doubtsText(*m_best);
        return tr("The measuring of placements of %1 was stopped; those measured so far are kept.")
                   .arg(m_measured) +
               (doubts.isEmpty() ? QString() : QStringLiteral(" ") + doubts);
    }
    return kind == Measuring::Kind::profile
               ? tr("The profile of %1 was stopped; nothing was written.").arg(m_measured)
               : tr("The benchmark of %1 was stopped; nothing of it is kept.").arg(m_measured);
}

void Document::cancelMeasuring() {
    if (const QString text = stopMeasuring(); !text.isEmpty()) Q_EMIT message(false, text);
}

void Document::exportMeasured(int id, const QString& file) {
    const auto kept = m_measurements.runOf(id);
    if (!kept.first) return;
    m_background.run(
        m_traceLane,
        [run = kept.first, of = kept.second, file](std::stop_token) {
            write_chrome_trace(run->trace, *of, file.toStdString());
            return true;
        },
        [this, id, file](bool) {
            m_measurements.setSaved(id);
            Q_EMIT message(false, tr("Trace written to %1").arg(file));
        },
        [this](const QString& error) { Q_EMIT message(true, error); });
}

void Document::startBenchmark(std::vector<PhysicalDevice> devices, const MeasureOptions& options) {
    if (!isOpen()) return;
    if (const QString hindrance = measuringHindrance(); !hindrance.isEmpty()) {
        Q_EMIT message(true, hindrance);
        return;
    }
    holdOtherWork();
    m_benchmarked = m_scenario;
    m_measuring.benchmark(problem(), m_placement, std::move(devices), options);
}

void Document::startProfile(std::vector<PhysicalDevice> devices, std::uint32_t steps, bool transfers,
                            bool throttles, const QString& file) {
    if (!isOpen()) return;
    if (const QString hindrance = measuringHindrance(); !hindrance.isEmpty()) {
        Q_EMIT message(true, hindrance);
        return;
    }
    holdOtherWork();
    m_profileFailure.clear();
    m_measuring.profile({job(), std::move(devices), steps, transfers, throttles, file});
    Q_EMIT profileChanged();
}

void Document::measureBest(BestRequest request) {
    if (!isOpen() || request.placements.empty()) return;
    if (const QString hindrance = measuringHindrance(); !hindrance.isEmpty()) {
        Q_EMIT message(true, hindrance);
        return;
    }
    holdOtherWork();
    if (m_best) ++m_bestRevision;
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

std::size_t Document::unsavedPlacements() const {
    return m_best && m_best != m_bestSaved && sameNetwork(*m_bestScenario, *m_scenario) ? m_best->all.size()
                                                                                        : 0;
}

void Document::addMeasuredPlacements(const std::vector<MeasuredPlacements::Each>& measured) {
    MeasuredPlacements grown = *m_best;
    // The first ones are those that were awaited, in this order.
    grown.awaited.erase(
        grown.awaited.begin(),
        grown.awaited.begin() + static_cast<std::ptrdiff_t>(std::min(grown.awaited.size(), measured.size())));
    grown.all.insert(grown.all.end(), measured.begin(), measured.end());
    m_best = std::make_shared<const MeasuredPlacements>(std::move(grown));
    ++m_bestRevision;
    Q_EMIT measuredPlacementsChanged();
}

void Document::endBest(MeasuredPlacements::State state) {
    if (!m_best || m_best->state != MeasuredPlacements::State::measuring) return;
    MeasuredPlacements ended = *m_best;
    ended.state = state;
    m_best = std::make_shared<const MeasuredPlacements>(std::move(ended));
    if (!m_best->all.empty()) ++m_bestRevision;
    Q_EMIT measuredPlacementsChanged();
}

void Document::showFastest() {
    const QString text = fastestText(*m_best);
    const QString doubts = doubtsText(*m_best);
    const auto tell = [&](bool failed, const QString& where) {
        Q_EMIT message(failed || !doubts.isEmpty(),
                       text + where + (doubts.isEmpty() ? QString() : QStringLiteral(" ") + doubts));
    };
    const auto fastest = m_best->fastest();
    if (!fastest) {
        tell(true, tr(" The placement on screen is unchanged."));
        return;
    }
    const Placement& placement = *m_best->all[*fastest].placement;
    // What a search that goes on shows is no edit.
    const bool edited = m_placement != m_bestScreen && (shownRun() == nullptr || !follows(*shownRun()));
    if (placement == m_placement) {
        tell(false, tr(" It is on screen."));
    } else if (edited) {
        tell(false,
             tr(" The placement on screen was changed meanwhile and stays; Show fastest in the Measured "
                "panel puts this one there."));
    } else {
        change(tr("Measured best of %1").arg(m_best->run), {m_scenario, placement, nullptr, 0});
        tell(false, tr(" It is now on screen."));
    }
}

void Document::showMeasuredBest(std::size_t index) {
    const auto placements = measuredPlacements();
    if (!placements || index >= placements->all.size()) return;
    change(tr("Show the measured placement of %1").arg(secondsText(placements->all[index].measured.value_s)),
           {m_scenario, *placements->all[index].placement, nullptr, 0});
}

void Document::useProfile(const QString& file) {
    JobOptions options = latestOptions();
    options.profile = file.toStdString();
    options.problem.cost.profile.reset();
    setOptions(options);
}

void Document::setProofWanted(bool wanted) {
    m_proofWanted = wanted;
    if (!m_proofHeld) m_insights.setProofWanted(wanted);
}

void Document::holdOtherWork() {
    m_measured = QString::fromStdString(problem()->network->name());
    for (const auto& run : m_runs.all()) {
        if (run->state() == Run::State::running && !run->isPaused()) m_held.push_back(run->id());
    }
    for (const int id : m_held) pauseRun(id, true);
    // Also one that has yet to begin.
    m_proofHeld = true;
    m_insights.setProofWanted(false);
}

void Document::resumeOtherWork() {
    for (const int id : std::exchange(m_held, {})) pauseRun(id, false);
    if (std::exchange(m_proofHeld, false)) m_insights.setProofWanted(m_proofWanted);
}

void Document::addBenchmark(Measurement measurement) {
    const Spread& step = measurement.step;
    const std::size_t steps = measurement.run.step_times_s.size();
    QString text = steps == 1 ? tr("Measured %1 in one step").arg(secondsText(step.median_s))
                              : tr("Measured %1 a step (the middle half of %2 steps took %3 to %4)")
                                    .arg(secondsText(step.median_s))
                                    .arg(steps)
                                    .arg(secondsText(step.low_s), secondsText(step.high_s));
    if (!measurement.fits) text += shortageText(*m_benchmarked->job.problem, measurement.run.peak_bytes);
    const QString warning = QString::fromStdString(measurement.noise_warning());
    if (!warning.isEmpty()) text += tr("; %1").arg(warning);
    ++m_benchmarks;
    if (measurement.cores_for_accelerators) {
        text += tr("; cores ran what is simulated on GPUs, so that the two times cannot be compared");
        measurement.run.name = tr("Benchmark %1 (cores as GPUs)").arg(m_benchmarks).toStdString();
    } else {
        measurement.run.name = tr("Benchmark %1").arg(m_benchmarks).toStdString();
    }
    if (!sameStep(*m_benchmarked, *m_scenario))
        text += tr("; it measured another step than that on screen (%1) and is hidden")
                    .arg(stepText(*m_benchmarked, *m_scenario));
    m_measurements.add(m_benchmarked, std::move(measurement.run));
    Q_EMIT message(!warning.isEmpty(), text + QLatin1Char('.'));
}

}  // namespace placewright
