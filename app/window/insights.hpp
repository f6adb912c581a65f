// SPDX-License-Identifier: MIT
// What is computed about the placement on screen, in the background.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <QObject>
#include <QString>

#include "app/window/background.hpp"
#include "app/window/drop_trials.hpp"
#include "app/window/run_list.hpp"
#include "app/window/scenario.hpp"
#include "app/window/simulated.hpp"
#include "core/job/longest_context.hpp"
#include "core/job/remedies.hpp"
#include "core/search/single_moves.hpp"
#include "widgets/drop_preview.hpp"
#include "widgets/timeline_why.hpp"

namespace placewright {

/// Simulation, explanation, single moves and previews of drops of one placement, and the lower bound of its
/// scenario. Lives on the window's thread; each kind of work has a lane. Results of an earlier placement or
/// scenario are dropped.
class Insights : public QObject {
    Q_OBJECT
public:
    /// `background` runs the work, and must be destroyed before this object; `runs` tell whether a search
    /// runs and what is known to be reachable.
    Insights(const RunList& runs, Background& background);
    ~Insights() override;

    /// Forgets all that is known and takes this placement of a scenario with a problem; asks for nothing.
    void enter(std::shared_ptr<const Scenario> scenario, Placement placement);
    /// Takes another placement of the scenario and drops the single moves of the one before. The caller then
    /// asks for simulate() or show().
    void setPlacement(Placement placement);
    /// Simulates the placement and all that follows from it.
    void simulate();
    /// The same with a simulation of the placement that is known.
    void show(std::shared_ptr<const Simulated> simulated);
    /// Starts what waits for the end of the searches, if none runs any more.
    void catchUp();
    /// Cancels all work.
    void cancel();

    /// The latest simulation; null before the first, may lag behind the placement briefly.
    const std::shared_ptr<const Simulated>& simulated() const { return m_simulated; }
    bool isSimulating() const { return m_simulateLane.busy(); }
    /// The same, but null while a newer one is under way.
    std::shared_ptr<const Simulated> current() const { return isSimulating() ? nullptr : m_simulated; }
    const std::shared_ptr<const TimelineData>& timeline() const;
    const std::shared_ptr<const TimelineWhy>& why() const { return m_why; }
    const std::shared_ptr<const SingleMoves>& moves() const { return m_moves; }
    void setMovesWanted(bool wanted);
    /// Options that make the placement fit or, if it fits only because a CPU runs a part, the whole network
    /// on an accelerator; null if nothing is to be mended, or until they have been tried.
    const std::shared_ptr<const Remedies>& remedies() const { return m_remedies; }
    /// The longest context with which the placement fits; nothing if it holds no language model, or until it
    /// has been found.
    const std::optional<LongestContext>& longestContext() const { return m_longest; }
    /// Whether any work is under way, except the proof of a tighter bound.
    bool isBusy() const;

    /// Computes the first bound of the scenario, then searches for tighter ones.
    void startBound();
    const std::optional<Bound>& bound() const { return m_bound; }
    bool isProving() const { return m_proofLane.busy(); }
    void setProofWanted(bool wanted);
    /// Returns the reason why no placement fits; empty unless that is proven.
    QString infeasible() const;

    /// Requests the effect of moving the groups to each device; answered by previewReady().
    void requestPreview(std::vector<GroupId> groups);
    void cancelPreview() { m_previewLane.cancel(); }

Q_SIGNALS:
    void simulatedChanged();
    void whyChanged();
    void movesChanged();
    void remediesChanged();
    void longestContextChanged();
    void movesProgressed(std::size_t done, std::size_t total);
    void boundTightened();
    void provingChanged();
    void previewReady(const placewright::DropPreviews& previews);
    void failed(const QString& error);
    void settled();  ///< some work ended; isBusy() may have changed

private:
    void explain();
    /// Prepares the previews of drags for the current placement.
    void prepareDrops();
    /// Simulates all single moves, if they are wanted and no search runs.
    void tryMoves();
    void dropMoves();
    /// Looks for remedies(), if there is something to mend and no search runs.
    void tryRemedies();
    void dropRemedies();
    /// Looks for the longest context of a language model, if no search runs.
    void findLongestContext();
    void dropLongestContext();
    /// Returns the lowest value of the placements that are known to fit; infinity if there is none.
    double leastKnown_s() const;
    /// Searches for tighter bounds, unless a known placement reaches the bound.
    void prove();
    /// Adopts a bound that is not looser than the present one.
    void tighten(Bound bound);
    const Job& job() const { return m_scenario->job; }

    const RunList& m_runs;
    std::shared_ptr<const Scenario> m_scenario;  ///< null before enter()
    Placement m_placement;

    std::shared_ptr<const Simulated> m_simulated;
    std::shared_ptr<const TimelineWhy> m_why;
    std::shared_ptr<const SingleMoves> m_moves;
    std::shared_ptr<const Remedies> m_remedies;
    std::optional<LongestContext> m_longest;
    bool m_movesWanted = false;
    DropTrials m_trials;
    std::optional<Bound> m_bound;
    std::string m_needed;  ///< memory_remedy() if the bound is infinite
    bool m_proofWanted = true;

    Background& m_background;
    Background::Lane m_simulateLane, m_whyLane, m_movesLane, m_prepareLane, m_previewLane, m_boundLane,
        m_remediesLane, m_contextLane, m_proofLane;
    Background m_prover{1};  ///< last: its destructor waits for the proof, which takes long and yields the
                             ///< cores to all other work
};

}  // namespace placewright
