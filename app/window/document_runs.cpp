// SPDX-License-Identifier: MIT
// The searches of a document.
#include <utility>

#include "app/window/document.hpp"
#include "app/window/saved_run.hpp"
#include "widgets/quantities.hpp"

namespace placewright {

void Document::endPointlessSearches() {
    const QString reason = m_insights.infeasible();
    if (!reason.isEmpty() && m_runs.cancelAllOf(*m_scenario))
        Q_EMIT message(true, tr("The search was stopped: %1.").arg(reason));
}

int Document::startSearch(RunRequest request) {
    if (!isOpen()) return 0;
    if (const QString reason = m_insights.infeasible(); !reason.isEmpty() && !request.predicted) {
        Q_EMIT message(true, tr("No search was started: %1.").arg(reason));
        return 0;
    }
    m_search = nullptr;  // what the new search improves is an undo step of its own
    if (!request.predicted && !request.known) request.starts.push_back(m_placement);
    Run& run = m_runs.add(m_scenario, std::move(request));
    connect(&run, &Run::progressed, this, [this, &run] {
        follow(run);
        Q_EMIT runsChanged();
    });
    connect(&run, &Run::ended, this, [this, &run] { endOf(run); });
    m_followed.insert(run.id());
    m_waiting.push_back(run.id());
    if (m_insights.current()) startWaiting();
    Q_EMIT runsChanged();
    return run.id();
}

void Document::startWaiting() {
    const auto current = m_insights.current();
    for (const int id : std::exchange(m_waiting, {})) {
        Run* run = m_runs.find(id);
        if (run == nullptr) continue;
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

void Document::endOf(Run& run) {
    if (run.state() == Run::State::failed)
        Q_EMIT message(true, tr("%1 failed: %2").arg(runTitle(run), run.failure()));
    if (m_followed.contains(run.id())) {
        if (m_search == nullptr && run.state() == Run::State::finished && !run.request().predicted)
            Q_EMIT message(false, fruitlessText(run));
        stopFollowing(run.id());
    }
    if (run.state() == Run::State::finished && run.request().predicted) {
        const auto& placement = run.progress().best_placement;
        Q_EMIT message(false, predictionText(run, placement && *placement == m_placement));
    }
    Q_EMIT runsChanged();
    m_insights.catchUp();
    Q_EMIT settled();
}

void Document::stopFollowing() {
    m_followed.clear();
    m_search = nullptr;
}

void Document::stopFollowing(int id) {
    m_followed.erase(id);
    if (m_followed.empty()) m_search = nullptr;
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

void Document::resumeSearch(const QString& file, std::uint64_t evaluations) {
    if (!isOpen()) {
        Q_EMIT message(true, tr("%1 is a saved search: open its network first, then this file.").arg(file));
        return;
    }
    m_background.run(
        m_resumeLane,
        [file, job = job(), evaluations](std::stop_token) { return resumedRequest(file, job, evaluations); },
        [this, file, scenario = m_scenario](RunRequest request) {
            if (scenario != m_scenario) return;  // something else was opened meanwhile
            const std::size_t scores = request.known->size();
            const Run* run = m_runs.find(startSearch(std::move(request)));
            if (run == nullptr) return;
            Q_EMIT message(
                false, tr("%1 resumes %2 with %L3 scored placements.").arg(runTitle(*run), file).arg(scores));
        },
        [this](const QString& error) { Q_EMIT message(true, error); });
}

void Document::removeRun(int id) {
    Run* run = m_runs.find(id);
    if (run == nullptr) return;
    stopFollowing(id);
    if (m_shown == id) m_shown = 0;
    run->disconnect(this);
    m_runs.remove(id);
    Q_EMIT runsChanged();
    Q_EMIT settled();
}

void Document::showRun(int id) {
    const Run* run = m_runs.find(id);
    if (run == nullptr || !run->progress().best_placement) return;
    const auto& scenario = m_runs.scenarioOf(*run);
    if (!sameNetwork(*scenario, *m_scenario)) return;
    const bool isBest = run->simulated() && run->simulated()->placement == run->progress().best_placement;
    change(tr("Show %1").arg(runTitle(*run)),
           {sameScenario(*scenario, *m_scenario) ? m_scenario : scenario, *run->progress().best_placement,
            isBest ? run->simulated() : nullptr, id});
}

}  // namespace placewright
