// SPDX-License-Identifier: MIT
// Training steps that ran for real under a placement, in the terms of the simulator, so that both can be
// compared op by op and drawn on one time axis.
#pragma once

#include <optional>
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

/// Returns what a trace of op spans says of a run as an outcome: busy times of devices and channels, bytes,
/// peaks, and the end of the last span as total time. The resident bytes of a device are its first sample of
/// memory.
Outcome measured_outcome(const Problem& problem, const MeasuredRun& run);

/// Returns a run of `from` in the terms of `to`, the same network with other options or on another machine,
/// by the names of ops, devices and channels. What does not exist in `to` is left out; returns nothing if no
/// op is left. The placement is empty unless every group of `to` has a device.
std::optional<MeasuredRun> carried_run(const MeasuredRun& run, const Problem& from, const Problem& to);

}  // namespace placewright
