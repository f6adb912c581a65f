// SPDX-License-Identifier: MIT
#include "app/window/kept_placements.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/infinity.hpp"

namespace placewright {

void KeptPlacements::keep(std::shared_ptr<const Scenario> scenario, Placement placement, double score_s) {
    std::erase_if(m_kept, [&](const Kept& kept) {
        return kept.placement == placement && sameScenario(*kept.scenario, *scenario);
    });
    if (m_kept.size() >= kMostKept) m_kept.erase(m_kept.begin());
    m_kept.push_back({std::move(scenario), std::move(placement), score_s});
}

bool KeptPlacements::lacks(const std::shared_ptr<const Scenario>& scenario,
                           const Placement& placement) const {
    for (const Kept& kept : m_kept) {
        if (sameScenario(*kept.scenario, *scenario) && kept.placement == placement) return false;
    }
    const Job& job = scenario->job;
    return std::ranges::none_of(std::array{&m_kept.front(), &m_kept.back()}, [&](const Kept* kept) {
        if (kept->scenario == scenario) return false;
        const auto along =
            carried(kept->placement, *kept->scenario->job.problem, *job.problem, job.single_device);
        return placement == (along ? along->placement : job.single_device);
    });
}

std::optional<int> KeptPlacements::unsaved(const std::shared_ptr<const Scenario>& open,
                                           const Placement& placement, double score_s, bool edited,
                                           const RunList& runs) const {
    std::optional<int> best;
    std::pair rank(true, kInfinity);
    if (edited && lacks(open, placement)) {
        best = 0;
        rank = {false, score_s};
    }
    for (const auto& run : runs.all()) {
        const Scenario& scenario = *runs.scenarioOf(*run);
        const SearchProgress& progress = run->progress();
        const std::pair own(!sameScenario(scenario, *open), progress.best.penalised_s);
        if (run->request().unasked || !progress.best_placement || !sameNetwork(scenario, *open) ||
            own >= rank || own.second >= leastScore_s(scenario))
            continue;
        best = run->id();
        rank = own;
    }
    return best;
}

bool KeptPlacements::isBestKnown(double score_s, const Scenario& open, double screen_s,
                                 const RunList& runs) const {
    if (score_s >= leastScore_s(open) || score_s >= screen_s) return false;
    return std::ranges::none_of(runs.all(), [&](const auto& run) {
        const SearchProgress& progress = run->progress();
        return progress.best_placement && sameScenario(*runs.scenarioOf(*run), open) &&
               progress.best.penalised_s <= score_s;
    });
}

double KeptPlacements::leastScore_s(const Scenario& scenario) const {
    double least_s = scenario.singleDevice_s;
    for (const Kept& kept : m_kept) {
        if (sameScenario(*kept.scenario, scenario)) least_s = std::min(least_s, kept.score_s);
    }
    return least_s;
}

}  // namespace placewright
