// SPDX-License-Identifier: MIT
// The searches of a document.
#include <algorithm>
#include <utility>

#include <QFileInfo>
#include <QUndoCommand>

#include "app/window/document.hpp"
#include "app/window/saved_run.hpp"
#include "core/io/state/shipped_policy.hpp"
#include "widgets/quantities.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

/// What the best placement that a run shows is worth.
double shownScore_s(const Run& run) {
    return run.simulated()->assessment.score.penalised_s;
}

}  // namespace

/// Takes a run out of the list and keeps it for undo.
class Document::RemoveCommand : public QUndoCommand {
public:
    RemoveCommand(Document& document, int id, const QString& text)
        : QUndoCommand(text), m_document(document), m_id(id) {}
    ~RemoveCommand() override {
        if (m_taken.run) m_document.m_runs.leave(std::move(m_taken.run));
    }

    void redo() override {
        m_wasShown = m_document.m_shown == m_id;
        if (m_wasShown) m_document.m_shown = 0;
        m_document.m_followed.erase(m_id);
        std::erase(m_document.m_waiting, m_id);
        std::erase(m_document.m_held, m_id);
        if (m_document.m_pinned == m_id) m_document.m_pinned = 0;
        m_taken = m_document.m_runs.take(m_id);
        if (!m_document.isFollowing()) m_document.forgetFollowed();
        Q_EMIT m_document.runsChanged();
    }

    void undo() override {
        const bool waits = !m_taken.run->isStarted() && m_taken.run->state() == Run::State::running;
        m_document.m_runs.putBack(std::move(m_taken));
        if (m_wasShown && m_document.m_shown == 0) m_document.m_shown = m_id;
        if (waits) {  // it was cancelled, and ends as soon as it starts
            m_document.m_waiting.push_back(m_id);
            m_document.startWaiting();
        }
        Q_EMIT m_document.runsChanged();
    }

private:
    Document& m_document;
    const int m_id;
    RunList::Taken m_taken;  ///< while the run is removed
    bool m_wasShown = false;
};

void Document::endPointlessSearches() {
    const QString reason = m_insights.infeasible();
    if (!reason.isEmpty() && m_runs.cancelAllOf(*m_scenario))
        Q_EMIT message(true, tr("The search was stopped: %1.").arg(reason));
}

int Document::startSearch(RunRequest request) {
    if (!isOpen()) return 0;
    if (const QString reason = m_insights.infeasible(); !reason.isEmpty() && !request.predicted) {
        if (!request.unasked) Q_EMIT message(true, tr("No search was started: %1.").arg(reason));
        return 0;
    }
    if (!request.unasked) m_search = nullptr;  // what the new search improves is an undo step of its own
    if (!request.predicted && !request.known) request.starts.push_back(m_placement);
    Run& run = m_runs.add(m_scenario, std::move(request));
    connect(&run, &Run::progressed, this, [this, &run] { progress(run); });
    connect(&run, &Run::ended, this, [this, &run] { endOf(run); });
    followAll();
    m_waiting.push_back(run.id());
    if (m_insights.current()) startWaiting();
    Q_EMIT runsChanged();
    return run.id();
}

void Document::search(RunRequest request) {
    if (!isChanging()) {
        startSearch(std::move(request));
        return;
    }
    m_waitingSearch = std::move(request);
    Q_EMIT searchWaits(true);
}

std::optional<RunRequest> Document::takeWaitingSearch() {
    std::optional<RunRequest> waiting = std::exchange(m_waitingSearch, {});
    if (waiting) Q_EMIT searchWaits(false);
    return waiting;
}

void Document::placeAtOnce() {
    m_placesAtOnce = false;
    if (!isOpen()) return;
    const auto devices = job().machine->devices();
    const auto cpus = static_cast<std::size_t>(std::ranges::count(devices, DeviceKind::cpu, &Device::kind));
    // A network that the only accelerator cannot hold is on a CPU alone.
    const bool tooLarge =
        devices.size() == cpus + 1 && std::ranges::all_of(job().single_device, [&](DeviceId device) {
            return devices[device].kind == DeviceKind::cpu;
        });
    const bool chooses = devices.size() > cpus + 1 || tooLarge;
    m_placesAtOnce = job().objective->is_step_time() && problem()->groups <= kMostGuidedGroups &&
                     (chooses || !job().single_device_fits) &&
                     QFileInfo::exists(toQString(shipped_policy_file().string()));
    if (!m_placesAtOnce || !bound()) return;
    m_placesAtOnce = false;
    const bool edited = m_placement != job().single_device && m_shown == 0;
    if (edited || m_measuring.running() != Measuring::Kind::none) return;
    RunRequest request;
    request.algorithm = "instant";
    request.budget = {Budget::kUnlimited};  // it ends by itself
    request.unasked = true;
    startSearch(std::move(request));
}

void Document::startWaiting() {
    const auto current = m_insights.current();
    for (const int id : std::exchange(m_waiting, {})) {
        Run* run = m_runs.find(id);
        if (run == nullptr || run->isStarted()) continue;
        const RunRequest& request = run->request();
        const bool fromScreen =
            !request.starts.empty() && !request.known && request.starts.back() == m_placement;
        if (m_measuring.running() != Measuring::Kind::none) {
            m_held.push_back(id);
            run->setPaused(true);
            Q_EMIT message(false, tr("%1 starts when nothing is measured any more.").arg(runTitle(*run)));
        }
        const bool isKnown = fromScreen && current && current->assessment.is_defined();
        run->start(isKnown ? current->assessment.score.value_s : 0);
    }
}

void Document::progress(Run& run) {
    m_progressed.insert(run.id());
    const bool ends = run.state() != Run::State::running;
    if (ends || !m_pace.isActive()) showProgress();
    if (ends) follow(run);
}

void Document::showProgress() {
    m_pace.start();
    Run* best = nullptr;
    for (const int id : std::exchange(m_progressed, {})) {
        Run* run = m_runs.find(id);
        if (run != nullptr && follows(*run) && run->simulated() &&
            (best == nullptr || shownScore_s(*run) < shownScore_s(*best)))
            best = run;
    }
    if (best != nullptr) follow(*best);
    Q_EMIT runsChanged();
    if (std::exchange(m_whyWaits, false)) Q_EMIT whyChanged();
}

void Document::endOf(Run& run) {
    if (run.state() == Run::State::failed)
        Q_EMIT message(true, tr("%1 failed: %2").arg(runTitle(run), run.failure()));
    const bool asked = !run.request().unasked;
    const bool isRemoved = m_runs.find(run.id()) == nullptr;
    if (!asked && !isRemoved && run.state() == Run::State::finished && run.progress().best_placement)
        m_kept.keep(m_runs.scenarioOf(run), *run.progress().best_placement, run.progress().best.penalised_s);
    if (m_followed.contains(run.id())) {
        // What others found while this run was followed alone counts now.
        if (m_pinned == run.id()) m_pinned = 0;
        if (m_pinned == 0) showBest();
        if (run.state() == Run::State::finished && !run.request().predicted && asked) {
            if (m_search == nullptr) Q_EMIT message(false, fruitlessText(run));
            if (!run.splitting().isEmpty())
                Q_EMIT message(false, QStringLiteral("%1: %2").arg(runTitle(run), run.splitting()));
        }
        if (!isFollowing()) forgetFollowed();
    }
    if (run.state() == Run::State::finished && run.request().predicted) {
        const auto& placement = run.progress().best_placement;
        Q_EMIT message(false, predictionText(run, placement && *placement == m_placement));
    }
    Q_EMIT runsChanged();
    m_insights.catchUp();
    Q_EMIT settled();
}

bool Document::isFollowing() const {
    return std::ranges::any_of(m_runs.all(), [this](const auto& run) {
        return run->state() == Run::State::running && m_followed.contains(run->id());
    });
}

void Document::stopFollowing() {
    if (!isFollowing()) return forgetFollowed();
    const bool asked = std::ranges::any_of(m_followed, [this](int id) {
        const Run* run = m_runs.find(id);
        return run != nullptr && run->state() == Run::State::running && !run->request().unasked;
    });
    forgetFollowed();
    if (asked)
        reportLater(
            tr("The searches go on, but the screen no longer follows them. Run ▸ Follow the best (F8) "
               "follows them again."));
    Q_EMIT runsChanged();
}

void Document::forgetFollowed() {
    m_followed.clear();
    m_pinned = 0;
    m_search = nullptr;
}

void Document::followAll() {
    for (const auto& run : m_runs.all()) {
        if (run->state() == Run::State::running && sameScenario(*m_runs.scenarioOf(*run), *m_scenario))
            m_followed.insert(run->id());
    }
}

void Document::showBest() {
    Run* best = nullptr;
    for (const int id : m_followed) {
        Run* run = m_runs.find(id);
        if (run == nullptr || !run->simulated()) continue;
        if (best == nullptr || shownScore_s(*run) < shownScore_s(*best)) best = run;
    }
    if (best != nullptr) follow(*best);
}

void Document::followBest() {
    forgetFollowed();  // what is shown now is an undo step of its own
    followAll();
    showBest();
    Q_EMIT runsChanged();
}

void Document::followRun(int id) {
    Run* run = m_runs.find(id);
    if (run == nullptr || run->state() != Run::State::running ||
        !sameScenario(*m_runs.scenarioOf(*run), *m_scenario))
        return;
    forgetFollowed();
    followAll();
    m_pinned = id;
    follow(*run);
    Q_EMIT runsChanged();
}

std::vector<RunRow> Document::runRows() const {
    std::vector<RunRow> rows = m_runs.rows(*m_scenario, bound());
    for (RunRow& row : rows) {
        row.pinned = row.id == m_pinned;
        if (row.id != m_shown) continue;
        // An edit may have left an earlier placement of a run that goes on.
        const Run& run = *m_runs.find(row.id);
        row.shown = follows(run) || *run.progress().best_placement == m_placement;
    }
    return rows;
}

void Document::renameRun(int id, const QString& name) {
    if (Run* run = m_runs.find(id)) run->setName(name.trimmed());
    Q_EMIT runsChanged();
}

void Document::hideRun(int id, bool hidden) {
    m_runs.setHidden(id, hidden);
    Q_EMIT runsChanged();
}

void Document::showAlone(int id) {
    m_runs.setAlone(id);
    Q_EMIT runsChanged();
}

void Document::cancelRun(int id) {
    if (Run* run = m_runs.find(id)) run->cancel();
}

void Document::pauseRun(int id, bool paused) {
    Run* run = m_runs.find(id);
    if (run == nullptr) return;
    if (m_measuring.running() != Measuring::Kind::none) {
        // Paused it is; what the user wants decides whether it goes on afterwards.
        std::erase(m_held, id);
        if (!paused) {
            m_held.push_back(id);
            Q_EMIT message(false, tr("%1 goes on when nothing is measured any more.").arg(runTitle(*run)));
        }
        paused = true;
    }
    run->setPaused(paused);
    Q_EMIT runsChanged();
}

void Document::saveSearch(int id, const QString& file) {
    const Run* run = m_runs.find(id);
    const auto search = run != nullptr ? run->saved() : std::nullopt;
    if (!search || isSaving()) return;
    m_background.run(
        m_saveLane,
        [search, file, job = run->job(), record = run->scores()](std::stop_token) {
            return writeSearch(file, job, *search, *record);
        },
        [this, file, title = runTitle(*run)](std::size_t scores) {
            Q_EMIT runsChanged();
            Q_EMIT message(
                false, tr("%1 saved to %2, with the scores of %L3 placements.").arg(title, file).arg(scores));
        },
        [this](const QString& error) {
            Q_EMIT runsChanged();
            Q_EMIT message(true, error);
        });
    Q_EMIT runsChanged();
}

void Document::resumeSearch(const QString& file, const Budget& budget) {
    if (!isOpen()) {
        Q_EMIT message(true, tr("%1 is a saved search: open its network first, then this file.").arg(file));
        return;
    }
    m_background.run(
        m_resumeLane,
        [file, job = job(), budget](std::stop_token) { return resumedRequest(file, job, budget); },
        [this, file, scenario = m_scenario](RunRequest request) {
            if (scenario != m_scenario) return;  // something else was opened meanwhile
            const std::size_t scores = request.known->size();
            const Run* run = m_runs.find(startSearch(std::move(request)));
            if (run == nullptr) return;
            Q_EMIT message(
                false, tr("%1 repeats the %L3 placements in %2 with their known scores, then searches on.")
                           .arg(runTitle(*run), file)
                           .arg(scores));
        },
        [this](const QString& error) { Q_EMIT message(true, error); });
}

void Document::removeRun(int id) {
    const Run* run = m_runs.find(id);
    if (run == nullptr) return;
    const QString title = runTitle(*run);
    const bool running = run->state() == Run::State::running;
    m_undo.push(new RemoveCommand(*this, id, tr("Remove %1").arg(title)));
    Q_EMIT message(false, (running ? tr("%1 was stopped and removed; Ctrl+Z brings back what it found.")
                                   : tr("%1 was removed; Ctrl+Z brings it back."))
                              .arg(title));
    Q_EMIT settled();
}

QString Document::elsewhereText() const {
    bool any = false;
    for (const auto& run : m_runs.all()) {
        if (!isElsewhere(*run)) return {};
        // Those of an earlier version of the network are in no list.
        any = any || sameNetwork(*m_runs.scenarioOf(*run), *m_scenario);
    }
    if (!any) return {};
    return tr(
        "The searches in Runs have other options, constraints or another machine. Double-click one to go "
        "back to its own.");
}

void Document::showRun(int id) {
    const Run* run = m_runs.find(id);
    if (run == nullptr || !run->progress().best_placement) return;
    const auto& scenario = m_runs.scenarioOf(*run);
    if (!sameNetwork(*scenario, *m_scenario)) return;
    if (run->state() == Run::State::running && sameScenario(*scenario, *m_scenario)) return followRun(id);
    const bool isBest = run->simulated() && run->simulated()->placement == run->progress().best_placement;
    const QString title = runTitle(*run), other = differenceText(*scenario, *m_scenario);
    const bool elsewhere = isElsewhere(*run);
    change(tr("Show %1").arg(title), {elsewhere ? scenario : m_scenario, *run->progress().best_placement,
                                      isBest ? run->simulated() : nullptr, id});
    if (!elsewhere) return;
    // Beside what is said of searches that were stopped.
    QString note = m_later;
    if (!note.isEmpty()) note += QLatin1Char(' ');
    reportLater(note +
                tr("%1 brings its own machine and options back (%2); Ctrl+Z undoes this.").arg(title, other));
}

}  // namespace placewright
