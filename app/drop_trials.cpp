// SPDX-License-Identifier: MIT
#include "app/drop_trials.hpp"

#include <algorithm>

namespace placewright {

DeltaSimulator& DropTrials::knowing(const Job& job, const Placement& placement) {
    if (!m_simulator || m_problem != job.problem || m_options != job.simulation) {
        m_simulator.emplace(job.problem, job.simulation);
        m_problem = job.problem;
        m_options = job.simulation;
    }
    if (!std::ranges::equal(m_simulator->base(), placement)) m_step_time_s = m_simulator->rebase(placement).step_time_s;
    return *m_simulator;
}

void DropTrials::prepare(const Job& job, const Placement& placement) {
    const std::scoped_lock lock(m_mutex);
    knowing(job, placement);
}

DropPreviews DropTrials::previews(const Job& job, const Placement& placement, const std::vector<GroupId>& groups,
                                  const std::stop_token& stop) {
    const std::scoped_lock lock(m_mutex);
    DeltaSimulator& simulator = knowing(job, placement);
    const Problem& problem = *job.problem;
    DropPreviews previews(problem.devices);
    for (DeviceId device = 0; device < problem.devices && !stop.stop_requested(); ++device) {
        const auto mayHold = [&](GroupId group) { return std::ranges::binary_search(problem.allowed_devices(group), device); };
        if (!std::ranges::all_of(groups, mayHold)) continue;
        Placement moved = placement;
        for (const GroupId group : groups) moved[group] = device;
        const Outcome& outcome = simulator.run(moved);
        previews[device] = {true, outcome.fits, outcome.step_time_s, outcome.step_time_s - m_step_time_s};
    }
    return previews;
}

}  // namespace placewright
