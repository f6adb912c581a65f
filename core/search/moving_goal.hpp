// SPDX-License-Identifier: MIT
// Max load and block latency of a placement that is changed step by step: for searches that try many moves.
#pragma once

#include <memory>
#include <span>

#include "core/cost/problem.hpp"

namespace placewright {

/// A placement with its value. A move can be undone by moving back; all is then as before, but for rounding where a machine without a CPU
/// has transfers of different speeds.
class MovingGoal {
public:
    virtual ~MovingGoal() = default;

    virtual void start_at(std::span<const DeviceId> placement) = 0;
    virtual void move(GroupId group, DeviceId device) = 0;

    /// The goal's value in seconds; infinite where it is not defined.
    virtual double value_s() = 0;
    /// What to make small on the way to a small value; in seconds, not below the value; infinite if it is above the limit.
    virtual double energy_s(double limit_s) = 0;

    const Placement& placement() const { return placement_; }
    /// Bytes over the limits of all devices.
    double excess_bytes() const;

protected:
    explicit MovingGoal(std::shared_ptr<const Problem> problem);

    void start_bytes(std::span<const DeviceId> placement);
    void move_bytes(GroupId group, DeviceId device);

    std::shared_ptr<const Problem> problem_;
    Placement placement_;

private:
    std::vector<double> group_bytes_;  ///< [group]
    std::vector<double> device_bytes_;
};

/// A move costs O(the tensors that the group reads and writes), a value O(devices). The energy is a norm of the loads, which tells of the
/// others too when the largest is the same. Without a CPU in the machine each transfer takes its mean time between two devices.
std::unique_ptr<MovingGoal> moving_max_load(std::shared_ptr<const Problem> problem);
/// O((ops + edges) * devices) for each value at most. Throws what block_latency throws of every placement.
std::unique_ptr<MovingGoal> moving_block_latency(std::shared_ptr<const Problem> problem);

}  // namespace placewright
