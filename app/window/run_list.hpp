// SPDX-License-Identifier: MIT
// The runs of the window, each with the scenario that it searches, and what is said about them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <QString>

#include "app/window/run.hpp"
#include "app/window/scenario.hpp"
#include "widgets/runs_view.hpp"

namespace placewright {

/// The runs of the open network, also those on other machines and with other options, in the order of their
/// start.
class RunList {
public:
    /// Adds a run of the scenario, with an id of its own; the caller starts it.
    Run& add(std::shared_ptr<const Scenario> scenario, RunRequest request);
    /// Adds a run that ended earlier under the id that it had, which must be larger than all others.
    Run& restore(int id, std::shared_ptr<const Scenario> scenario, RunRequest request, Run::Past past);
    /// Cancels and removes a run; without effect if there is none with this id.
    void remove(int id);
    /// Cancels and removes all runs.
    void clear();
    /// The run with this id; nullptr for none.
    Run* find(int id) const;
    const std::vector<std::unique_ptr<Run>>& all() const { return m_runs; }
    const std::shared_ptr<const Scenario>& scenarioOf(const Run& run) const {
        return m_scenarioOf.at(run.id());
    }
    bool isSearching() const;
    /// Asks all runs to end.
    void cancelAll();
    /// Asks the running searches of this scenario to end; returns whether there was any.
    bool cancelAllOf(const Scenario& scenario);
    /// The lowest objective value of the placements that runs of this scenario found and that fit the memory;
    /// infinity if there is none.
    double leastValue_s(const Scenario& scenario) const;
    /// Rows for the runs of the open network; those with another machine or other options say so. `bound`: of
    /// the open scenario; `shown`: id of the run whose placement is on screen.
    std::vector<RunRow> rows(const Scenario& open, const std::optional<Bound>& bound, int shown) const;

private:
    /// Cancels a run that was removed and destroys it once its thread has ended.
    void leave(std::unique_ptr<Run> run);

    std::vector<std::unique_ptr<Run>> m_runs;
    std::vector<std::unique_ptr<Run>> m_leaving;
    std::map<int, std::shared_ptr<const Scenario>> m_scenarioOf;  ///< by run
    int m_next = 1;                                               ///< id of the next run
};

/// "Genetic algorithm #3".
QString runTitle(const Run& run);
/// Says that a search ended without a better placement, which otherwise would seem to have done nothing.
QString fruitlessText(const Run& run);
/// Says what a policy predicted; `shown`: whether its placement is the current one.
QString predictionText(const Run& run, bool shown);

}  // namespace placewright
