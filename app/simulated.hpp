// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include <QString>

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

/// How much memory devices lack that do not hold what they are to hold.
struct Misfit {
    double over_bytes = 0;  ///< of the device that lacks most; 0 where devices share a limit and only together exceed it
    QString text;           ///< "does not fit: gpu:0 lacks 1.20 GB, 2 more lack some"
};

/// Of a placement that does not fit.
Misfit misfit(const Problem& problem, const Assessment& assessment);

}  // namespace placewright
