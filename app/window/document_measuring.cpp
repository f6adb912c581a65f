// SPDX-License-Identifier: MIT
// Benchmarks and profiles of a document.
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
