// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/job/job.hpp"
#include "core/sim/delta.hpp"
#include "widgets/drop_preview.hpp"

namespace placewright {

/// Previews of drops, from a simulator that knows the current placement and simulates only what a move
/// changes. Thread-safe; requests are served one at a time.
class DropTrials {
public:
    /// Simulates the placement in advance, which takes as long as a few simulations, so that previews() is
    /// fast.
    void prepare(const Job& job, const Placement& placement);
    /// Returns, by device, the effect of moving all groups there. Devices after a stop request are left out.
    DropPreviews previews(const Job& job, const Placement& placement, const std::vector<GroupId>& groups,
                          const std::stop_token& stop);

private:
    /// Returns the simulator, based on this job and placement.
    DeltaSimulator& knowing(const Job& job, const Placement& placement);

    std::mutex m_mutex;
    std::shared_ptr<const Problem> m_problem;
    SimulationOptions m_options;
    std::optional<DeltaSimulator> m_simulator;  ///< of m_problem and m_options
    double m_step_time_s = 0;                   ///< step time of its base placement
};

}  // namespace placewright
