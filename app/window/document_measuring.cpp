// SPDX-License-Identifier: MIT
// Benchmarks and profiles of a document.
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

void Document::addBenchmark(const std::shared_ptr<const Problem>& problem, Measurement measurement) {
    const Spread& step = measurement.step;
    const std::size_t steps = measurement.run.step_times_s.size();
    QString text = steps == 1 ? tr("Measured %1 in one step").arg(secondsText(step.median_s))
                              : tr("Measured %1 a step (the middle half of %2 steps took %3 to %4)")
                                    .arg(secondsText(step.median_s))
                                    .arg(steps)
                                    .arg(secondsText(step.low_s), secondsText(step.high_s));
    if (!measurement.fits) text += shortageText(*problem, measurement.run.peak_bytes);
    const QString warning = QString::fromStdString(measurement.noise_warning());
    if (!warning.isEmpty()) text += tr("; %1").arg(warning);
    measurement.run.name = tr("Benchmark %1").arg(++m_benchmarks).toStdString();
    m_measurements.add(problem, std::move(measurement.run));
    Q_EMIT message(!warning.isEmpty(), text + QLatin1Char('.'));
}

}  // namespace placewright
