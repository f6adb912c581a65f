// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "app/job.hpp"
#include "widgets/timeline_data.hpp"

namespace placewright {

/// A placement as the simulation and the objective see it: what is shown of it.
struct Simulated {
    std::shared_ptr<const Placement> placement;
    std::shared_ptr<const TimelineData> timeline;
    Assessment assessment;

    /// `simulator`: of the job.
    static std::shared_ptr<const Simulated> make(const Job& job, Simulator& simulator, std::shared_ptr<const Placement> placement);
    static std::shared_ptr<const Simulated> make(const Job& job, const Placement& placement);
};

}  // namespace placewright
