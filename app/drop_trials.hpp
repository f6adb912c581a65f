// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "app/job.hpp"
#include "core/sim/delta.hpp"
#include "widgets/drop_preview.hpp"

namespace placewright {

/// What drops would give, from a simulator that knows the placement on screen and simulates only what a move changes. From any thread; one
/// question is answered at a time.
class DropTrials {
public:
    /// Gets to know the placement, which takes as long as some simulations, so that previews() need not.
    void prepare(const Job& job, const Placement& placement);
    /// By device: all groups there. Those after a request to stop are left out.
    DropPreviews previews(const Job& job, const Placement& placement, const std::vector<GroupId>& groups, const std::stop_token& stop);

private:
    DeltaSimulator& knowing(const Job& job, const Placement& placement);

    std::mutex m_mutex;
    std::shared_ptr<const Problem> m_problem;
    SimulationOptions m_options;
    std::optional<DeltaSimulator> m_simulator;  ///< of both
    double m_step_time_s = 0;                   ///< of the placement that it knows
};

}  // namespace placewright
