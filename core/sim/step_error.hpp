// SPDX-License-Identifier: MIT
// How far a simulated step time may be off, from how far op times were off where they were measured.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "core/cost/problem.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

/// A step time with the interval that holds the real one with a probability of 80 %.
struct StepInterval {
    double low_s = 0, high_s = 0;
};

/// The share of a step by what its error has in common: op times of a class of op on a kind of device are off
/// in the same direction, and so is all work of a kind of device.
class StepError {
public:
    /// The error of a placement's step; nothing if the cost model makes no statement about real devices
    /// (paleo, exprimo). `outcome`: of this placement with these options. O(ops); simulates the placement
    /// twice if the host takes time (Runtime::eager), to see how much of the step is the host's.
    static std::optional<StepError> of(const std::shared_ptr<const Problem>& problem,
                                       std::span<const DeviceId> placement, const Outcome& outcome,
                                       const SimulationOptions& options = {});

    /// Standard deviation of the logarithm of simulated over real step time: the errors of classes and
    /// devices (Efficiencies::error_*), each times its share of the step, added as independent.
    double deviation() const;
    /// The same for the ratio of two steps on one machine: what both have in common cancels.
    double deviation_of_ratio(const StepError& other) const;

    /// Half of the interval of the ratio of two steps, as half_width(): 0.04 for a ratio of 1 that is between
    /// 1 / 1.04 and 1.04 with a probability of 80 %.
    double half_width_of_ratio(const StepError& other) const;

    StepInterval interval(double step_time_s) const;
    /// Half of the interval, in proportion to the step time: 0.09 for a step of 100 ms that takes 92 to 109
    /// ms.
    double half_width() const;

private:
    struct Part {
        std::size_t source = 0;  ///< class of op on a kind of device, or kind of device
        double share = 0;        ///< of the step
        double deviation = 0;
    };
    std::vector<Part> parts_;
};

}  // namespace placewright
