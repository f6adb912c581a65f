// SPDX-License-Identifier: MIT
// Training steps that ran for real under a placement, in the terms of the simulator, so that both can be
// compared op by op and drawn on one time axis.
#pragma once

#include <string>
#include <vector>

#include "core/cost/placement.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

struct MeasuredRun {
    std::string name;     ///< for the user: "benchmark of 20 steps", "rank0.json"
    Placement placement;  ///< under which it ran; empty if unknown
    /// Spans of one step: of ops on devices, and of transfers on channels where they were recorded. The ids
    /// are those of the problem that was measured. Times count from the start of the step. `started_by`,
    /// `memory` and `issues` may be empty.
    Trace trace;
    /// [step]: seconds of all measured steps, without the steps that warm up; the trace is that of the
    /// median.
    std::vector<double> step_times_s;
    std::vector<double> peak_bytes;  ///< [device]: largest memory in use; empty if it was not recorded
};

}  // namespace placewright
