// SPDX-License-Identifier: MIT
#include "app/window/drop_trials.hpp"

#include <algorithm>

#include "core/base/infinity.hpp"
#include "core/search/evaluator.hpp"

namespace placewright {

DeltaSimulator& DropTrials::knowing(const Job& job, const Placement& placement) {
    if (!m_simulator || m_problem != job.problem || m_options != job.simulation) {
        m_simulator.emplace(job.problem, job.simulation);
        m_problem = job.problem;
        m_options = job.simulation;
    }
    if (!std::ranges::equal(m_simulator->base(), placement))
        m_step_time_s = m_simulator->rebase(placement).step_time_s;
    return *m_simulator;
}

void DropTrials::prepare(const Job& job, const Placement& placement) {
    if (!job.objective->is_step_time()) return;  // formulas keep no state between placements
    const std::scoped_lock lock(m_mutex);
    knowing(job, placement);
}

DropPreviews DropTrials::previews(const Job& job, const Placement& placement,
                                  const std::vector<GroupId>& groups, const std::stop_token& stop) {
    const std::scoped_lock lock(m_mutex);
    const Problem& problem = *job.problem;
    DropPreviews previews(problem.devices);
    const auto preview_all = [&](double now_s, const auto& assessment_of) {
        for (DeviceId device = 0; device < problem.devices && !stop.stop_requested(); ++device) {
            const auto mayHold = [&](GroupId group) {
                return std::ranges::binary_search(problem.allowed_devices(group), device);
            };
            if (!std::ranges::all_of(groups, mayHold)) continue;
            Placement moved = placement;
            for (const GroupId group : groups) moved[group] = device;
            if (!broken_rule(problem, moved).empty()) continue;
            const Assessment after = assessment_of(moved);
            previews[device] = {.possible = true,
                                .fits = after.score.fits,
                                .step_time_s = after.score.value_s,
                                .change_s = after.score.value_s - now_s,
                                .defined = after.is_defined(),
                                .held_bytes = after.device_bytes[device],
                                .limit_bytes = problem.memory_limit_bytes[device]};
        }
    };
    if (job.objective->is_step_time()) {
        DeltaSimulator& simulator = knowing(job, placement);
        preview_all(m_step_time_s,
                    [&](const Placement& moved) { return assess(job, moved, simulator.run(moved)); });
    } else {
        // What is not defined has no outcome to take the memory from.
        Outcome none;
        none.peak_bytes.resize(problem.devices);
        const auto assessment_of = [&](const Placement& moved) { return assess(job, moved, none); };
        const Assessment now = assessment_of(placement);
        preview_all(now.is_defined() ? now.score.value_s : kInfinity, assessment_of);
    }
    return previews;
}

}  // namespace placewright
