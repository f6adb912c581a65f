// SPDX-License-Identifier: MIT
// A trace file as a measured run of a problem.
#pragma once

#include <cstddef>
#include <span>
#include <stop_token>
#include <string>

#include "core/io/traces/trace_file.hpp"
#include "core/sim/measured_run.hpp"

namespace placewright {

struct MeasuredTrace {
    MeasuredRun run;  ///< without spans if no op has an event
    /// Number of ops that compute, derived ones apart, and of those that have an event in the step.
    std::size_t computing = 0, matched = 0;
    std::string missing;           ///< names of ops that have none, shortened; empty if all have
    std::size_t steps = 0;         ///< number of steps in the trace, with those that warm up
    std::size_t by_placement = 0;  ///< number of ops whose device is that of the placement

    /// Returns a text for the user: "312 of 327 ops that compute are in it, none of ...; median of 9 steps,
    /// the first is left out".
    std::string report() const;
};

/// Returns the run that a trace recorded. Events are assigned to ops by op_runs(), with backward and update
/// ops by their own names too; the backward that sequence numbers assign is that of "NAME/backward", or of
/// "NAME/weight_gradient" if there is no other.
///
/// Steps are those of op_runs(). Steps that are cut off (fewer than nine tenths of the runs of the fullest
/// one) do not count, nor does the first of several. A step takes the time from its "ProfilerStep#..." to the
/// next one, else from the start of its first op to the end of its last. The trace of the result is the step
/// of median length, from the start of its first op. Where most steps begin before half of the one before has
/// passed, as in a pipeline, all steps together are one with as many batches.
///
/// Devices. A lane belongs to the device of the machine that its process or thread is named after; "cuda:1",
/// "gpu:1" and "GPU 1" are the second device that is no CPU. Ops on other lanes are on the device that
/// `placement` has for them ([group], as check_placement() accepts). In a trace with kernels, an event that
/// launched none counts only if the placement has its op on a CPU. Spans that overlap on a device are on
/// streams of their own, up to 64; beyond, they are cut.
///
/// Transfers on channels and memory in use are taken where the trace has them: from this program, and memory
/// from PyTorch's profiler (profile_memory=True).
///
/// The run's placement is `placement` with the devices that were measured; empty if that is not allowed.
/// Empty if `stop` was requested. Throws what op_runs() throws.
MeasuredTrace measured_trace(const TraceFile& trace, const Problem& problem,
                             std::span<const DeviceId> placement, const std::stop_token& stop = {});

}  // namespace placewright
