// SPDX-License-Identifier: MIT
// Runs steps of a placed network for real: a thread for each device and one for each channel that is used.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "core/measure/execution_plan.hpp"
#include "core/measure/network_runner.hpp"

namespace placewright {

/// Seconds since the start of the step.
struct Interval {
    double start_s = 0, end_s = 0;
    double length_s() const { return end_s - start_s; }
};

/// One step as it ran.
struct StepRecord {
    double time_s = 0;                ///< from the start to the end of the last op
    std::vector<Interval> ops;        ///< [op]
    std::vector<Interval> transfers;  ///< [transfer of the plan]
    std::vector<double> peak_bytes;   ///< [device]
    /// Seconds of processor time that the threads of logical CPU devices and of channels took, and seconds in
    /// which these devices ran ops. The first is less where other programs had the cores. Devices that share
    /// their core with another one that runs ops do not count: they have it in turn.
    double processor_s = 0, busy_s = 0;
};

struct ExecutorOptions {
    /// A transfer takes at least the time that the simulation gives it, and meanwhile has the channels of its
    /// route to itself. Copies between logical devices cross no link, so this is how they get the speed of
    /// one. Where a route has several legs (store and forward), its first channel starts no other transfer
    /// before the last leg ends.
    bool throttles = false;
};

/// A device runs the ops of its list one after the other (ExecutionPlan), each when all that it reads is
/// there, and waits for its end before the next. A channel makes its copies in order, at the same time as ops
/// run. The thread of a logical CPU device stays on its core and uses no other.
class Executor {
public:
    /// Starts the threads. `devices`: [device]. Throws std::invalid_argument if there are not as many as
    /// devices in the problem, MeasureError if a thread cannot be started, and what NetworkRunner::attach()
    /// throws.
    Executor(std::shared_ptr<const Problem> problem, ExecutionPlan plan,
             std::span<const PhysicalDevice> devices, std::unique_ptr<NetworkRunner> runner,
             const ExecutorOptions& options = {});
    /// Ends the threads.
    ~Executor();

    /// Runs one step. Throws MeasureError and OutOfMemory; after that the executor runs no further step.
    /// Returns false if `stop` was requested; the record is then incomplete.
    bool run_step(StepRecord& record, std::stop_token stop = {});

    const ExecutionPlan& plan() const;
    NetworkRunner& runner();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace placewright
