// SPDX-License-Identifier: MIT
// A document in and out of a workspace file.
#include <memory>
#include <utility>

#include <QFileInfo>

#include "app/window/document.hpp"

namespace placewright {

void Document::reload() {
    if (!isOpen()) return;
    LoadRequest request = unfinished();
    request.reload = true;
    load(std::move(request));
}

WorkspaceSnapshot Document::snapshot() const {
    WorkspaceSnapshot snapshot;
    snapshot.scenario = m_scenario;
    snapshot.placement = m_placement;
    if (const Assessment* now = assessment(); now != nullptr && now->is_defined() && m_insights.current())
        snapshot.value_s = now->score.value_s;
    snapshot.shownRun = m_shown;
    snapshot.followedRun = m_pinned != 0 ? m_pinned : m_pinnedBefore;
    for (const auto& run : m_runs.all())
        snapshot.runs.push_back({run->id(),
                                 m_runs.scenarioOf(*run),
                                 run->request(),
                                 {run->state(), run->failure(), run->start_s(), run->progress(), run->name(),
                                  run->isExhausted(), run->sketch(), nullptr, run->splitting()},
                                 run->scores(),
                                 m_runs.isHidden(*run)});
    // The same network in every scenario: runs of an earlier version of the file cannot be opened with it.
    snapshot.leftOut = std::erase_if(
        snapshot.runs, [&](const auto& run) { return !sameNetwork(*run.scenario, *m_scenario); });
    for (const KeptPlacements::Kept& kept : m_kept.all()) {
        if (sameNetwork(*kept.scenario, *m_scenario)) snapshot.kept.push_back(kept);
    }
    snapshot.measured = m_measurements.all();
    snapshot.leftOut += std::erase_if(
        snapshot.measured, [&](const auto& run) { return !sameNetwork(*run.scenario, *m_scenario); });
    snapshot.benchmarks = m_benchmarks;
    if (m_best && !m_best->all.empty()) {
        if (sameNetwork(*m_bestScenario, *m_scenario)) {
            snapshot.best = {m_bestScenario, m_best, m_best == m_bestSaved};
        } else {
            ++snapshot.leftOut;
        }
    }
    snapshot.room = m_room;
    snapshot.selection = m_selection;
    snapshot.closed = m_closed;
    return snapshot;
}

void Document::openWorkspace(const QString& file) {
    dropMachineSteps();
    struct Read {
        QByteArray checksum;
        Workspace workspace;
    };
    m_background.run(
        m_openLane,
        [file](const std::stop_token&) {
            // In this order: of a file that is replaced meanwhile it is that of the earlier one.
            Read read{checksumOf(file), {}};
            read.workspace = read_workspace(file.toStdString());
            return read;
        },
        [this, file](Read read) { restore(file, std::move(read.workspace), read.checksum); },
        [this](const QString& error) {
            Q_EMIT loadingChanged();
            Q_EMIT message(true, error);
        });
    m_loading = {};
    m_openingWorkspace = file;
    Q_EMIT loadingChanged();
}

void Document::restore(const QString& file, Workspace workspace, const QByteArray& checksum) {
    const QString network = QString::fromStdString(workspace.network);
    if (network.contains(QLatin1Char('/')) && !QFileInfo::exists(network)) {
        const QString found = m_askForMissing ? m_askForMissing(network) : QString();
        if (found.isEmpty()) {
            Q_EMIT loadingChanged();
            Q_EMIT message(true, tr("%1 was not opened: its network %2 is missing.").arg(file, network));
            return;
        }
        workspace.network = found.toStdString();
    }
    m_loading = {};
    m_openingWorkspace = file;
    const auto read = std::make_shared<const Workspace>(std::move(workspace));
    m_background.run(
        m_openLane,
        [file, read, checksum](const std::stop_token& stop) {
            RestoredWorkspace result = restored(file, *read, stop);
            result.about.checksum = checksum;
            return result;
        },
        [this, file](RestoredWorkspace opened) { adoptWorkspace(file, std::move(opened)); },
        [this, file, read, checksum](const QString& error) {
            QString why = error;
            // A workload does not need the machine: it is asked for if nothing can be opened without it.
            const Workspace::Scenario& first = read->scenarios.front();
            const QString machine = QString::fromStdString(first.machine);
            if (first.edited.empty() && isMachinePath(machine) && !QFileInfo::exists(machine)) {
                const QString found = m_askForMissing ? m_askForMissing(machine) : QString();
                if (!found.isEmpty()) {
                    Workspace other = *read;
                    for (Workspace::Scenario& scenario : other.scenarios) {
                        if (scenario.machine == first.machine) scenario.machine = found.toStdString();
                    }
                    return restore(file, std::move(other), checksum);
                }
                why = tr("its machine %1 is missing.").arg(machine);
            }
            Q_EMIT loadingChanged();
            Q_EMIT message(true, tr("%1 was not opened: %2").arg(file, why));
        });
}

void Document::adoptWorkspace(const QString& file, RestoredWorkspace opened) {
    if (m_mayLeave && !m_mayLeave()) {
        Q_EMIT loadingChanged();
        return;
    }
    opened.notes.prepend(forget());
    for (KeptPlacements::Kept& kept : opened.kept)
        m_kept.keep(std::move(kept.scenario), std::move(kept.placement), kept.score_s);
    if (opened.kept.empty())
        m_kept.keep(opened.scenario, opened.scenario->job.single_device, opened.scenario->singleDevice_s);
    if (opened.room) m_room = *opened.room;
    enter(opened.scenario, opened.placement);
    for (RestoredWorkspace::RestoredRun& run : opened.runs) {
        m_runs.restore(run.id, std::move(run.scenario), std::move(run.request), std::move(run.past));
        m_runs.setHidden(run.id, run.hidden);
    }
    m_shown = opened.shownRun;
    m_pinnedBefore = opened.followedRun;
    m_benchmarks = opened.benchmarks;
    m_measurements.restore(std::move(opened.measured));
    if (opened.best) {
        m_best = std::move(opened.best->placements);
        m_bestScenario = std::move(opened.best->scenario);
        if (opened.best->saved) m_bestSaved = m_best;
        Q_EMIT measuredPlacementsChanged();
    }
    if (opened.closed) setClosedModules(*opened.closed);
    m_insights.simulate();
    setSelection(opened.selection);
    Q_EMIT runsChanged();
    Q_EMIT workspaceOpened(file, opened.about);
    report(opened.notes);
}

void Document::keep(const WorkspaceSnapshot& saved, double score_s) {
    if (!isOpen() || !sameNetwork(*saved.scenario, *m_scenario)) return;
    for (const WorkspaceSnapshot::SavedRun& run : saved.runs) {
        const SearchProgress& progress = run.past.progress;
        if (progress.best_placement)
            m_kept.keep(run.scenario, *progress.best_placement, progress.best.penalised_s);
    }
    m_kept.keep(saved.scenario, saved.placement, score_s);
    for (const KeptMeasurement& of : saved.measured) m_measurements.setSaved(of.run.get());
    if (saved.best) m_bestSaved = saved.best->placements;
}

void Document::resumeRun(int id) {
    const Run* run = m_runs.find(id);
    if (run == nullptr || run->state() == Run::State::running || !run->saved()) return;
    if (!sameScenario(*m_runs.scenarioOf(*run), *m_scenario)) {
        Q_EMIT message(
            true,
            tr("%1 belongs to another machine or other options: double-click it first.").arg(runTitle(*run)));
        return;
    }
    if (run->state() == Run::State::finished && (run->isExhausted() || !run->request().budget.is_timed())) {
        Q_EMIT message(false, tr("%1 is finished: there is nothing to resume. A new search begins at the "
                                 "placement on screen.")
                                  .arg(runTitle(*run)));
        return;
    }
    RunRequest request = run->request();
    request.known = std::make_shared<const std::vector<RecordedScore>>(run->scores()->scores());
    const bool alone = m_pinnedBefore == id;
    const QString before = runTitle(*run);
    const std::uint64_t scored = run->progress().evaluations;
    const int next = startSearch(std::move(request));
    if (next == 0) return;
    if (alone) followRun(next);
    Q_EMIT message(false, tr("%1 repeats the %L3 placements of %2 with their known scores, then searches on.")
                              .arg(runTitle(*m_runs.find(next)), before)
                              .arg(scored));
}

}  // namespace placewright
