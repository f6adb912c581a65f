// SPDX-License-Identifier: MIT
// Incremental max load and block latency of a placement, for searches that try many moves.
#pragma once

#include <memory>
#include <span>

#include "core/cost/problem.hpp"

namespace placewright {

/// A placement with its value. A move can be undone by moving back, which restores everything, except for
/// rounding on a machine without a CPU whose transfers differ in speed.
class IncrementalObjective {
public:
    virtual ~IncrementalObjective() = default;

    virtual void start_at(std::span<const DeviceId> placement) = 0;
    virtual void move(GroupId group, DeviceId device) = 0;

    /// The objective's value in seconds; infinite where it is not defined.
    virtual double value_s() = 0;
    /// The energy that a search minimises in place of the value: in seconds, not below the value; infinite if
    /// it is above the limit.
    virtual double energy_s(double limit_s) = 0;

    const Placement& placement() const { return placement_; }
    /// Bytes in excess of the limits, summed over all devices.
    double excess_bytes() const;

protected:
    explicit IncrementalObjective(std::shared_ptr<const Problem> problem);

    void start_bytes(std::span<const DeviceId> placement);
    void move_bytes(GroupId group, DeviceId device);

    std::shared_ptr<const Problem> problem_;
    Placement placement_;

private:
    std::vector<double> group_bytes_;  ///< [group]
    std::vector<double> device_bytes_;
};

/// A move costs O(tensors that the group reads and writes), a value O(devices). The energy is a norm of the
/// loads, which also reflects the smaller loads when the largest stays the same. On a machine without a CPU
/// each transfer takes its mean time between two devices.
std::unique_ptr<IncrementalObjective> incremental_max_load(std::shared_ptr<const Problem> problem);
/// Each value costs at most O((ops + edges) * devices). Throws what block_latency throws for every placement.
std::unique_ptr<IncrementalObjective> incremental_block_latency(std::shared_ptr<const Problem> problem);

}  // namespace placewright
