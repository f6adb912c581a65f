// SPDX-License-Identifier: MIT
#include "app/window/insights.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/window/learn/training_job.hpp"
#include "core/base/infinity.hpp"
#include "core/job/bound_tightening.hpp"

namespace placewright {

Insights::Insights(const RunList& runs, Background& background) : m_runs(runs), m_background(background) {
    connect(&m_prover, &Background::settled, this, &Insights::settled);
}

Insights::~Insights() {
    m_prover.disconnect(this);
    cancel();
}

void Insights::enter(std::shared_ptr<const Scenario> scenario, Placement placement) {
    for (Background::Lane* lane :
         {&m_simulateLane, &m_whyLane, &m_prepareLane, &m_previewLane, &m_boundLane, &m_proofLane})
        lane->cancel();
    m_scenario = std::move(scenario);
    m_simulated.reset();
    m_why.reset();
    m_bound.reset();
    setPlacement(std::move(placement));
}

void Insights::setPlacement(Placement placement) {
    m_placement = std::move(placement);
    dropMoves();
    dropRemedies();
    dropLongestContext();
}

void Insights::simulate() {
    m_background.run(
        m_simulateLane,
        [job = job(), now = m_placement](std::stop_token) { return Simulated::make(job, now); },
        [this](std::shared_ptr<const Simulated> simulated) { show(std::move(simulated)); },
        [this](const QString& error) { Q_EMIT failed(error); });
}

void Insights::show(std::shared_ptr<const Simulated> simulated) {
    m_simulateLane.cancel();
    m_simulated = std::move(simulated);
    Q_EMIT simulatedChanged();
    explain();
    catchUp();
}

void Insights::catchUp() {
    prepareDrops();
    tryMoves();
    tryRemedies();
    findLongestContext();
}

void Insights::cancel() {
    for (Background::Lane* lane : {&m_simulateLane, &m_whyLane, &m_movesLane, &m_prepareLane, &m_previewLane,
                                   &m_boundLane, &m_remediesLane, &m_contextLane, &m_proofLane})
        lane->cancel();
}

const std::shared_ptr<const TimelineData>& Insights::timeline() const {
    static const std::shared_ptr<const TimelineData> none;
    return m_simulated ? m_simulated->timeline : none;
}

bool Insights::isBusy() const {
    return m_simulateLane.busy() || m_whyLane.busy() || m_movesLane.busy() || m_prepareLane.busy() ||
           m_previewLane.busy() || m_boundLane.busy() || m_remediesLane.busy() || m_contextLane.busy();
}

/// Explains one timeline at a time: a search may produce them faster than they are explained.
void Insights::explain() {
    if (m_whyLane.busy() || !m_simulated || (m_why && m_why->timeline == timeline())) return;
    m_background.run(
        m_whyLane, [timeline = timeline()](std::stop_token) { return TimelineWhy::build(timeline); },
        [this](std::shared_ptr<const TimelineWhy> why) {
            if (why->timeline != timeline()) return explain();
            m_why = std::move(why);
            Q_EMIT whyChanged();
        },
        [this](const QString& error) { Q_EMIT failed(error); });
}

void Insights::setMovesWanted(bool wanted) {
    m_movesWanted = wanted;
    if (wanted) return tryMoves();
    m_movesLane.cancel();
    Q_EMIT settled();
}

void Insights::dropMoves() {
    m_movesLane.cancel();
    m_moves.reset();
    Q_EMIT movesChanged();
}

void Insights::dropRemedies() {
    m_remediesLane.cancel();
    if (m_remedies) {
        m_remedies.reset();
        Q_EMIT remediesChanged();
    }
}

void Insights::tryRemedies() {
    if (!m_simulated || m_remedies || m_remediesLane.busy() || m_simulateLane.busy() ||
        !m_simulated->assessment.is_defined() || m_runs.isSearching())
        return;
    const bool fits = m_simulated->assessment.score.fits;
    const auto& cpu = m_simulated->cpu;
    if (fits && (!cpu || cpu->bound == cpu->ops)) return;
    m_background.run(
        m_remediesLane,
        [scenario = m_scenario, placement = m_placement, fits](const std::stop_token& stop) {
            const auto& [job, options, network] =
                std::tie(scenario->job, scenario->options, scenario->networkPath);
            return fits ? find_accelerator_remedies(job, options, placement, network, stop)
                        : find_remedies(job, options, placement, network, stop);
        },
        [this](std::optional<Remedies> remedies) {
            m_remedies = std::make_shared<const Remedies>(std::move(remedies).value_or(Remedies()));
            Q_EMIT remediesChanged();
        },
        [this](const QString& error) { Q_EMIT failed(error); });
}

void Insights::dropLongestContext() {
    m_contextLane.cancel();
    if (std::exchange(m_longest, std::nullopt)) Q_EMIT longestContextChanged();
}

void Insights::findLongestContext() {
    if (!m_simulated || !job().language || m_longest || m_contextLane.busy() || m_simulateLane.busy() ||
        m_runs.isSearching())
        return;
    m_background.run(
        m_contextLane,
        [scenario = m_scenario, placement = m_placement](const std::stop_token& stop) {
            return longest_context(scenario->job, scenario->options, placement, scenario->networkPath, stop);
        },
        [this](std::optional<LongestContext> longest) {
            m_longest = longest;
            Q_EMIT longestContextChanged();
        },
        [this](const QString& error) { Q_EMIT failed(error); });
}

void Insights::tryMoves() {
    if (!m_movesWanted || !m_scenario || m_moves || m_movesLane.busy() || m_simulateLane.busy() ||
        m_runs.isSearching())
        return;
    m_background.run(
        m_movesLane,
        [this, job = job(), placement = m_placement](std::stop_token stop) {
            const auto evaluator = evaluator_of(job, background_threads());
            return single_moves(*evaluator, *job.problem, placement, stop,
                                [this, stop](std::size_t done, std::size_t total) {
                                    const auto tell = [this, stop, done, total] {
                                        if (!stop.stop_requested()) Q_EMIT movesProgressed(done, total);
                                    };
                                    QMetaObject::invokeMethod(this, tell, Qt::QueuedConnection);
                                });
        },
        [this](std::optional<SingleMoves> moves) {
            m_moves = std::make_shared<const SingleMoves>(*std::move(moves));
            Q_EMIT movesChanged();
        },
        [this](const QString& error) { Q_EMIT failed(error); });
}

/// Does nothing while a search runs: the placement would change too often.
void Insights::prepareDrops() {
    if (!m_scenario || m_runs.isSearching()) return;
    m_background.run(
        m_prepareLane,
        [this, job = job(), placement = m_placement](std::stop_token) {
            m_trials.prepare(job, placement);
            return true;
        },
        [](bool) {}, [this](const QString& error) { Q_EMIT failed(error); });
}

void Insights::requestPreview(std::vector<GroupId> groups) {
    m_background.run(
        m_previewLane,
        [this, job = job(), placement = m_placement, groups = std::move(groups)](std::stop_token stop) {
            return m_trials.previews(job, placement, groups, stop);
        },
        [this](const DropPreviews& previews) { Q_EMIT previewReady(previews); },
        [this](const QString& error) { Q_EMIT failed(error); });
}

void Insights::startBound() {
    m_background.run(
        m_boundLane,
        [scenario = m_scenario](std::stop_token) {
            Bound bound = tightest_bound(scenario->job);
            std::string needed;
            if (!std::isfinite(bound.value_s)) needed = memory_remedy(scenario->job, scenario->options, true);
            return std::pair(std::move(bound), std::move(needed));
        },
        [this](std::pair<Bound, std::string> found) {
            m_needed = std::move(found.second);
            tighten(std::move(found.first));
            prove();
        },
        [this](const QString& error) { Q_EMIT failed(error); });
}

void Insights::setProofWanted(bool wanted) {
    m_proofWanted = wanted;
    if (wanted) return prove();
    m_proofLane.cancel();
    Q_EMIT provingChanged();
    Q_EMIT settled();
}

double Insights::leastKnown_s() const {
    double least_s = job().single_device_fits ? job().single_device_s : kInfinity;
    if (m_simulated && m_simulated->assessment.score.fits)
        least_s = std::min(least_s, m_simulated->assessment.score.value_s);
    return std::min(least_s, m_runs.leastValue_s(*m_scenario));
}

void Insights::prove() {
    if (!m_proofWanted || !m_bound || m_proofLane.busy()) return;
    const double known_s = leastKnown_s();
    if (m_bound->value_s >= known_s) return;
    m_prover.run(
        m_proofLane,
        [this, job = job(), known_s](std::stop_token stop) {
            give_way(19);  // also to the searches, which give way to the window
            prove_bounds(*job.problem, *job.objective, job.simulation, {kProofSeconds, stop, known_s},
                         [this, stop, &job](Bound found) {
                             const auto tell = [this, stop, bound = bound_of(job, std::move(found))] {
                                 if (!stop.stop_requested()) tighten(bound);
                             };
                             QMetaObject::invokeMethod(this, tell, Qt::QueuedConnection);
                         });
            return true;
        },
        [this](bool) { Q_EMIT provingChanged(); },
        [this](const QString& error) {
            Q_EMIT provingChanged();
            Q_EMIT failed(error);
        });
    Q_EMIT provingChanged();
}

void Insights::tighten(Bound bound) {
    // Of equal bounds the later one has the more complete proof.
    if (m_bound && bound.value_s < m_bound->value_s) return;
    m_bound = std::move(bound);
    Q_EMIT boundTightened();
}

QString Insights::infeasible() const {
    if (!m_bound) return {};
    return QString::fromStdString(infeasible_text(
        job(), *m_bound, m_needed.empty() ? std::string("a machine with more memory") : m_needed));
}

}  // namespace placewright
