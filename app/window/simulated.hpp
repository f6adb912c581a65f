// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>

#include <QString>

#include "core/job/job.hpp"
#include "core/sim/cpu_load.hpp"
#include "core/sim/step_error.hpp"
#include "widgets/timeline_data.hpp"

namespace placewright {

/// A placement with its timeline and its assessment by the objective: what the window shows of it.
struct Simulated {
    std::shared_ptr<const Placement> placement;
    std::shared_ptr<const TimelineData> timeline;
    Assessment assessment;
    std::optional<StepError> error;  ///< of the step time
    std::optional<CpuLoad> cpu;      ///< that takes most of the step

    /// `simulator` must be one of the job's problem and simulation options.
    static std::shared_ptr<const Simulated> make(const Job& job, Simulator& simulator,
                                                 std::shared_ptr<const Placement> placement);
    static std::shared_ptr<const Simulated> make(const Job& job, const Placement& placement);
};

/// How far a placement is over the memory limits.
struct Misfit {
    double over_bytes = 0;  ///< bytes over the limit of the device that lacks most; 0 where devices share a
                            ///< limit and only together exceed it
    QString text;           ///< "does not fit: gpu:0 lacks 1.20 GB, 2 more over the limit"
};

/// Returns the misfit of a placement that does not fit.
Misfit misfit(const Problem& problem, const Assessment& assessment);

}  // namespace placewright
