// SPDX-License-Identifier: MIT
// The runs of the window, each with the scenario that it searches, and what is said about them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <QString>

#include "app/window/run.hpp"
#include "app/window/scenario.hpp"
#include "core/job/compared_case.hpp"
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
    /// A run that was taken out of the list, and all that the list knows of it.
    struct Taken {
        std::unique_ptr<Run> run;  ///< null: nothing
        std::size_t at = 0;        ///< its place among the others
        std::shared_ptr<const Scenario> scenario;
        int nth = 0;
        bool hidden = false;
    };
    /// Cancels a run and takes it out of the list; there must be one with this id.
    Taken take(int id);
    void putBack(Taken taken);
    /// Cancels a run that is in no list and destroys it once its thread has ended.
    void leave(std::unique_ptr<Run> run);
    /// Cancels and removes all runs.
    void clear();
    /// The run with this id; nullptr for none.
    Run* find(int id) const;
    const std::vector<std::unique_ptr<Run>>& all() const { return m_runs; }
    const std::shared_ptr<const Scenario>& scenarioOf(const Run& run) const {
        return m_about.at(run.id()).scenario;
    }
    /// How the run is drawn: the runs of an algorithm are numbered in the order of their start.
    RunStyle styleOf(const Run& run) const { return {run.request().algorithm, m_about.at(run.id()).nth}; }
    /// Hidden runs are in no plot.
    bool isHidden(const Run& run) const { return m_about.at(run.id()).hidden; }
    void setHidden(int id, bool hidden);
    /// Hides all runs but this one, or shows all if it is the only one that is not hidden.
    void setAlone(int id);
    bool isSearching() const;
    /// Whether a run is under way that the user asked for.
    bool isOptimizing() const { return !running().isEmpty(); }
    /// Titles of the runs that are under way, except those that nobody asked for.
    QStringList running() const;
    /// Asks all runs to end.
    void cancelAll();
    /// Asks the running searches of this scenario to end; returns whether the user asked for any of them.
    bool cancelAllOf(const Scenario& scenario);
    /// The lowest objective value of the placements that runs of this scenario found and that fit the memory;
    /// infinity if there is none.
    double leastValue_s(const Scenario& scenario) const;
    /// Rows for the runs of the open network; those with another machine or other options say so. `bound`: of
    /// the open scenario.
    std::vector<RunRow> rows(const Scenario& open, const std::optional<Bound>& bound) const;
    /// Names of the labels of cases().
    static std::vector<std::string> caseLabels() { return {"run", "state", "network", "machine", "options"}; }
    /// The searches of the open network for its objective that have scored a placement, each as a case of its
    /// own, in the order of their start. Scenarios that differ have labels that differ. `bound`: of the open
    /// scenario.
    std::vector<ComparedCase> cases(const Scenario& open, const std::optional<Bound>& bound) const;

private:
    struct About {
        std::shared_ptr<const Scenario> scenario;
        int nth = 0;  ///< number among the runs of its algorithm, from 0
        bool hidden = false;
    };

    std::vector<std::unique_ptr<Run>> m_runs;
    std::vector<std::unique_ptr<Run>> m_leaving;
    std::map<int, About> m_about;            ///< by run
    std::map<std::string, int> m_startedOf;  ///< number of runs started so far, by algorithm
    int m_next = 1;                          ///< id of the next run
};

/// "Genetic algorithm #3", or the name that the user gave.
QString runTitle(const Run& run);
/// "Auto #1 was stopped", "Auto #1 and MCMC #2 were stopped"; empty for no titles.
QString stoppedText(const QStringList& titles);
/// Says that a search ended without a better placement, which otherwise would seem to have done nothing.
QString fruitlessText(const Run& run);
/// Says what a policy predicted; `shown`: whether its placement is the current one.
QString predictionText(const Run& run, bool shown);

}  // namespace placewright
