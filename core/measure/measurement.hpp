// SPDX-License-Identifier: MIT
// Measures a placement: steps that are run for real, and what they say.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/path.hpp"
#include "core/measure/executor.hpp"
#include "core/measure/network_runner.hpp"
#include "core/sim/measured_run.hpp"

namespace placewright {

/// Where the devices of a machine run on this computer: "gpu:k" and others of kind gpu on CUDA devices in
/// order, as long as there are any; all other devices on cores of the CPU in turn, each a logical device: one
/// hardware thread of each physical core first, then the others.
std::vector<PhysicalDevice> physical_devices(const Machine& machine);

/// What a person should know of that assignment: "gpu:0 is core 0 of this computer's CPU", and that several
/// devices share a core, or hardware threads of one. `root`: as in host_files.hpp.
std::vector<std::string> device_notes(const Machine& machine, std::span<const PhysicalDevice> devices,
                                      const Path& root = "/");

struct MeasureOptions {
    std::uint32_t steps = 10;   ///< that count
    std::uint32_t warm_up = 1;  ///< steps before, which do not
    bool throttles = false;     ///< ExecutorOptions
    std::uint64_t seed = 1;
    /// If the measurement is cancelled, returns what the steps before that say, as far as any counts.
    bool keeps_steps = false;
    std::function<void(double time_s)> step_told{};  ///< called after each step that counts, with its time
    /// Makes what runs the ops, in place of LibTorch: MeasureModule::make_runner. For tests.
    std::function<std::unique_ptr<NetworkRunner>(
        std::shared_ptr<const Problem> problem, std::span<const DeviceId> placement,
        std::span<const PhysicalDevice> devices, const NetworkRunnerOptions& options)>
        make_runner{};
};

/// Quartiles of times.
struct Spread {
    double low_s = 0, median_s = 0, high_s = 0;

    /// Distance of the quartiles, as a share of the median.
    double relative() const { return median_s > 0 ? (high_s - low_s) / median_s : 0; }
};
/// Linear interpolation between the values. All 0 without any.
Spread spread_of(const std::vector<double>& times_s);

struct Measurement {
    MeasuredRun run;
    Spread step;
    std::vector<double> op_time_s;  ///< [op]: median on its device
    /// Of transfers that crossed between devices.
    struct Transfer {
        ChannelId channel = 0;
        double bytes = 0;
        Spread spread;
    };
    std::vector<Transfer> transfers;
    /// Seconds between the end of an op and the start of the next on the same device where the next one
    /// waited for nothing: what the executor itself takes an op. Median; nothing if no such pair was seen.
    std::optional<double> overhead_s;
    bool fits = true;  ///< no device used more than its limit (Problem::memory_limit_bytes)
    /// Share of the time of ops on logical CPU devices in which they did not have their core: other programs,
    /// or threads of this one that measure nothing, had it. Devices that share a core do not count
    /// (device_notes() tells of them).
    double disturbed = 0;
    /// Cores of this computer ran ops that the machine runs on GPUs or other accelerators, so that the
    /// measured times cannot be compared with the simulated ones.
    bool cores_for_accelerators = false;

    /// Why the times may be wrong: the cores were not free, or steps differ. Empty if nothing speaks against
    /// them.
    std::string noise_warning() const;
};

/// Called after each step with the number of steps done, warm-up included.
using MeasureProgress = std::function<void(std::uint32_t done, std::uint32_t all)>;

/// Throws MeasureError with the first of the ops that cannot be run and why, and with the number of the
/// others, separated by "; ". Takes milliseconds, so that long work can check before it starts.
void check_runnable(const Problem& problem);

/// Throws as check_runnable() does before anything starts; MeasureError and OutOfMemory from a step. Nothing
/// if `stop` was requested, but for MeasureOptions::keeps_steps. One measurement at a time: calls wait for
/// each other, since two would disturb each other.
std::optional<Measurement> measure(const std::shared_ptr<const Problem>& problem,
                                   std::span<const DeviceId> placement,
                                   std::span<const PhysicalDevice> devices, const MeasureOptions& options,
                                   std::stop_token stop = {}, const MeasureProgress& progress = {});

}  // namespace placewright
