// SPDX-License-Identifier: MIT
#include "app/window/measurements.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <QDir>
#include <QFileInfo>

#include "core/io/traces/measured_trace.hpp"

namespace placewright {

namespace {

/// The name of a trace file without what all of them end in.
QString nameOf(const QString& file) {
    QString name = QFileInfo(file).fileName();
    for (const QLatin1String ending :
         {QLatin1String(".gz"), QLatin1String(".json"), QLatin1String(".trace"), QLatin1String(".pt")}) {
        if (name.size() > ending.size() && name.endsWith(ending)) name.chop(ending.size());
    }
    return name;
}

}  // namespace

struct Measurements::ReadTraces {
    struct One {
        QString file;
        MeasuredRun run;
    };
    std::vector<One> runs;
    QStringList unmatched, report, errors;
};

struct Measurements::Compared {
    std::vector<Kept> kept;
    std::shared_ptr<const MeasuredRuns> measured;
    std::vector<int> broken;  ///< ids of runs that cannot be compared
    QStringList errors;
};

Measurements::Measurements(QObject* parent) : QObject(parent) {
    connect(&m_background, &Background::settled, this, &Measurements::settled);
}

Measurements::~Measurements() {
    m_background.disconnect(this);
    cancel();
}

void Measurements::clear() {
    cancel();
    m_kept.clear();
    ++m_revision;
    m_simulated.reset();
    m_scenario.reset();
    if (!m_measured) return;
    m_measured.reset();
    Q_EMIT measuredChanged();
}

void Measurements::cancelReading() {
    m_readLane.cancel();
    m_reading.clear();
    Q_EMIT readingChanged();
}

void Measurements::cancel() {
    m_readLane.cancel();
    m_compareLane.cancel();
    m_reading.clear();
}

QString Measurements::fileOf(int id) const {
    const auto found = std::ranges::find(m_kept, id, &Kept::id);
    return found == m_kept.end() ? QString() : found->file;
}

std::pair<std::shared_ptr<const MeasuredRun>, std::shared_ptr<const Problem>> Measurements::runOf(
    int id) const {
    const auto found = std::ranges::find(m_kept, id, &Kept::id);
    if (found == m_kept.end()) return {};
    return {found->run, found->scenario->job.problem};
}

void Measurements::setSaved(int id) {
    const auto found = std::ranges::find(m_kept, id, &Kept::id);
    if (found != m_kept.end()) found->saved = true;
}

void Measurements::setSaved(const MeasuredRun* run) {
    const auto found = std::ranges::find(m_kept, run, [](const Kept& kept) { return kept.run.get(); });
    if (found != m_kept.end()) found->saved = true;
}

std::size_t Measurements::unsaved(const Scenario& scenario) const {
    return static_cast<std::size_t>(std::ranges::count_if(m_kept, [&](const Kept& kept) {
        return kept.file.isEmpty() && !kept.saved && sameNetwork(*kept.scenario, scenario);
    }));
}

std::size_t Measurements::unsaved() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(m_kept, [](const Kept& kept) { return kept.file.isEmpty() && !kept.saved; }));
}

Measurements::ReadTraces Measurements::read(const QStringList& files, const Problem& problem,
                                            const Placement& placement, const std::stop_token& stop) {
    ReadTraces result;
    for (const QString& file : files) {
        if (stop.stop_requested()) break;
        try {
            const TraceFile trace = read_trace(file.toStdString(), stop);
            MeasuredTrace measured = measured_trace(trace, problem, placement, stop);
            if (measured.run.trace.spans.empty()) {
                result.unmatched << file;
                continue;
            }
            QStringList report{QString::fromStdString(measured.report())};
            if (!trace.broken.empty() || trace.bad > 0) {
                const std::vector<std::string> lines = trace.report();
                for (std::size_t i = 1; i < lines.size(); ++i) report << QString::fromStdString(lines[i]);
            }
            result.report << QFileInfo(file).fileName() + QStringLiteral(": ") +
                                 report.join(QStringLiteral("; "));
            result.runs.push_back({file, std::move(measured.run)});
        } catch (const std::exception& error) {
            result.errors << QString::fromUtf8(error.what());
        }
    }
    return result;
}

void Measurements::open(const QStringList& files, std::shared_ptr<const Scenario> scenario,
                        Placement placement) {
    for (const QString& file : files) {
        if (!m_reading.contains(file)) m_reading << file;
    }
    m_background.run(
        m_readLane,
        [reading = m_reading, scenario, placement = std::move(placement)](const std::stop_token& stop) {
            return read(reading, *scenario->job.problem, placement, stop);
        },
        [this, scenario](ReadTraces traces) {
            m_reading.clear();
            Q_EMIT readingChanged();
            for (ReadTraces::One& one : traces.runs)
                keep(nameOf(one.file), one.file, scenario, std::move(one.run));
            if (!traces.runs.empty()) compare();
            const QString report = traces.report.join(u'\n');
            if (!traces.unmatched.isEmpty()) {
                Q_EMIT unmatched(traces.unmatched, report);
            } else if (!report.isEmpty()) {
                Q_EMIT opened(report);
            }
            if (!traces.errors.isEmpty()) Q_EMIT failed(traces.errors.join(u'\n'));
        },
        [this](const QString& error) {
            m_reading.clear();
            Q_EMIT readingChanged();
            Q_EMIT failed(error);
        });
    Q_EMIT readingChanged();
}

void Measurements::add(std::shared_ptr<const Scenario> scenario, MeasuredRun run) {
    QString name = QString::fromStdString(run.name);
    keep(std::move(name), {}, std::move(scenario), std::move(run));
    compare();
}

void Measurements::keep(QString name, QString file, std::shared_ptr<const Scenario> scenario,
                        MeasuredRun run) {
    if (const auto known = std::ranges::find(m_kept, file, &Kept::file);
        !file.isEmpty() && known != m_kept.end()) {
        // The same run for the user, read anew.
        Kept again;
        again.id = known->id;
        again.name = known->name;
        again.file = file;
        again.scenario = std::move(scenario);
        again.run = std::make_shared<const MeasuredRun>(std::move(run));
        *known = std::move(again);
        ++m_revision;
        return;
    }
    // Files of the same name are told apart by their folder.
    if (!file.isEmpty() && std::ranges::find(m_kept, name, &Kept::name) != m_kept.end())
        name = QFileInfo(file).dir().dirName() + QLatin1Char('/') + name;
    Kept kept;
    kept.id = m_nextId++;
    kept.name = std::move(name);
    kept.file = std::move(file);
    kept.scenario = std::move(scenario);
    kept.run = std::make_shared<const MeasuredRun>(std::move(run));
    m_kept.push_back(std::move(kept));
    ++m_revision;
}

void Measurements::restore(std::vector<KeptMeasurement> runs) {
    for (KeptMeasurement& run : runs) {
        Kept kept;
        static_cast<KeptMeasurement&>(kept) = std::move(run);
        kept.id = m_nextId++;
        m_kept.push_back(std::move(kept));
        ++m_revision;
    }
    if (!m_kept.empty()) compare();
}

std::vector<KeptMeasurement> Measurements::all() const {
    return {m_kept.begin(), m_kept.end()};
}

QStringList Measurements::namesOfOnly(const Scenario& one, const Scenario& other) const {
    QStringList names;
    for (const Kept& kept : m_kept) {
        if (sameStep(*kept.scenario, one) && !sameStep(*kept.scenario, other)) names << kept.name;
    }
    return names;
}

void Measurements::remove(int id) {
    std::erase_if(m_kept,
                  [&](const Kept& kept) { return id == 0 ? kept.shown.run != nullptr : kept.id == id; });
    ++m_revision;
    compare();
}

void Measurements::compareWith(std::shared_ptr<const TimelineData> simulated,
                               std::shared_ptr<const Scenario> scenario) {
    m_simulated = std::move(simulated);
    m_scenario = std::move(scenario);
    if (!m_kept.empty()) compare();
}

void Measurements::compare() {
    m_changed = true;
    if (!m_simulated || m_compareLane.busy()) return;
    m_changed = false;
    m_background.run(
        m_compareLane,
        [kept = m_kept, simulated = m_simulated, scenario = m_scenario](const std::stop_token& stop) {
            const SimulationOptions& options = scenario->job.simulation;
            Compared result{kept, nullptr, {}, {}};
            std::optional<Simulator> simulator;
            std::vector<NamedRun> runs;
            const auto prepare = [&](Kept& of) {
                const bool carry = of.shownFor != simulated->problem;
                if (carry) {
                    const Problem& problem = *simulated->problem;
                    of.shown = {of.id, of.name, of.run, nullptr};
                    if (!sameStep(*of.scenario, *scenario)) {
                        of.shown.run = nullptr;
                    } else if (of.scenario->job.problem != simulated->problem) {
                        auto carried = carried_run(*of.run, *of.scenario->job.problem, problem);
                        of.shown.run =
                            carried ? std::make_shared<const MeasuredRun>(*std::move(carried)) : nullptr;
                    }
                    if (of.shown.run) of.shown.timeline = measuredTimeline(simulated->problem, *of.shown.run);
                    of.shownFor = simulated->problem;
                }
                if (!of.shown.run) return;
                if ((carry || of.shownWith != options) && !of.shown.run->placement.empty()) {
                    if (!simulator) simulator.emplace(simulated->problem, options);
                    check_placement(*simulated->problem, of.shown.run->placement);
                    Trace trace;
                    const Outcome& outcome = simulator->run(of.shown.run->placement, trace);
                    of.shown.placement_s = outcome.step_time_s;
                    of.shown.active_s = active_seconds(*simulated->problem, trace);
                    of.shown.peak_bytes = outcome.peak_bytes;
                }
                of.shownWith = options;
                runs.push_back(of.shown);
            };
            for (Kept& of : result.kept) {
                if (stop.stop_requested()) return result;
                try {
                    prepare(of);
                } catch (const std::exception& error) {
                    // The others need not suffer.
                    result.broken.push_back(of.id);
                    result.errors << tr("%1 cannot be compared with the simulation and was removed: %2")
                                         .arg(of.name, QString::fromUtf8(error.what()));
                }
            }
            if (!runs.empty()) result.measured = MeasuredRuns::build(simulated, std::move(runs));
            return result;
        },
        [this](Compared compared) {
            for (Kept& of : compared.kept) {
                const auto kept = std::ranges::find(m_kept, of.id, &Kept::id);
                // Not a file that was read anew meanwhile.
                if (kept == m_kept.end() || kept->run != of.run) continue;
                if (std::ranges::find(compared.broken, of.id) != compared.broken.end()) {
                    m_kept.erase(kept);
                } else {
                    of.saved = kept->saved;
                    *kept = std::move(of);
                }
            }
            if (!compared.errors.isEmpty()) Q_EMIT failed(compared.errors.join(u'\n'));
            m_measured = std::move(compared.measured);
            Q_EMIT measuredChanged();
            if (m_changed) compare();
        },
        [this](const QString& error) {
            Q_EMIT failed(error);
            if (m_changed) compare();
        });
}

}  // namespace placewright
