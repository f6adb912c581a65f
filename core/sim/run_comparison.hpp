// SPDX-License-Identifier: MIT
// How long ops, devices and the step take in a simulation and when measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/sim/measured_run.hpp"

namespace placewright {

/// Seconds per batch in the simulation and measured.
struct ComparedSeconds {
    double simulated_s = 0, measured_s = 0;

    /// measured / simulated; 0 if either is 0.
    double factor() const { return simulated_s > 0 && measured_s > 0 ? measured_s / simulated_s : 0; }
};

/// Peaks of the memory of a device; 0: not known.
struct ComparedBytes {
    double simulated_bytes = 0, measured_bytes = 0;
};

/// An op together with the backward and update ops derived from it. Of these, only the phases (forward,
/// backward, update) that were measured count, on both sides.
struct ComparedOp {
    /// On the device where it was measured: the time in the simulation if it runs there, else the problem's
    /// time of the op on that device.
    ComparedSeconds time;
    std::size_t runs = 0;              ///< number of runs that measured it; 0: none did
    DeviceId device = kInvalidDevice;  ///< where it was measured, in the last of these runs
    bool elsewhere = false;            ///< it was measured on another device than it is simulated on
};

/// Times of a simulation and of measured runs of the same problem. Where several runs measured an op, a
/// device or the step, the measured figure is their mean; of a run, the step is the median of its steps.
struct RunComparison {
    enum class Difference : std::uint8_t { none, longer, shorter };

    /// A difference is marked if the op's factor is this many times the typical factor or more (or as many
    /// times less), ...
    static constexpr double kMarkedFactor = 1.5;
    /// ... and the op's time differs from what the typical factor gives by this share of the measured step.
    static constexpr double kMarkedShare = 0.002;

    std::vector<ComparedOp> ops;           ///< [op]: of forward ops; others are empty
    std::vector<ComparedSeconds> devices;  ///< [device]: time in which at least one op runs
    std::vector<ComparedBytes> memory;     ///< [device]; of several runs, the largest measured peak
    ComparedSeconds step;
    /// Median of the ops' factors, weighted by their simulated time: ops that make up half of that time have
    /// a smaller one. 1 if no op was measured.
    double typical_factor = 1;
    std::size_t measured = 0;   ///< number of ops that were measured
    std::size_t elsewhere = 0;  ///< number of these that were measured on another device than simulated

    /// Whether a forward op takes much longer or shorter than the typical factor makes expect.
    Difference difference(OpId op) const;
};

/// Returns the time in which at least one op runs on each device, in seconds per batch: [device]. The trace
/// is of the problem. O(spans log spans).
std::vector<double> active_seconds(const Problem& problem, const Trace& trace);

/// Compares a simulation (`simulated` is its trace, `outcome` its outcome) with runs of the same problem.
/// O(spans log spans).
RunComparison compare_runs(const Problem& problem, const Trace& simulated, const Outcome& outcome,
                           std::span<const MeasuredRun* const> runs);

}  // namespace placewright
