// SPDX-License-Identifier: MIT
#include "app/simulated.hpp"

namespace placewright {

std::shared_ptr<const Simulated> Simulated::make(const Job& job, Simulator& simulator, std::shared_ptr<const Placement> placement) {
    Trace trace;
    const Outcome outcome = simulator.run(*placement, trace);
    Assessment assessment = assess(job, *placement, outcome);
    auto timeline = TimelineData::build(job.problem, std::move(trace), outcome);
    return std::make_shared<const Simulated>(Simulated{std::move(placement), std::move(timeline), std::move(assessment)});
}

std::shared_ptr<const Simulated> Simulated::make(const Job& job, const Placement& placement) {
    Simulator simulator(job.problem, job.simulation);
    return make(job, simulator, std::make_shared<const Placement>(placement));
}

}  // namespace placewright
