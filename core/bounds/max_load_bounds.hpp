// SPDX-License-Identifier: MIT
// Lower bounds on the max load of every placement that fits the memory, contiguous or not. See core/sim/max_load.hpp for the model.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/bounds/load_model.hpp"
#include "core/bounds/programme.hpp"

namespace placewright {

/// [class][group]: a device of the class that holds the group has at least this load.
using LeastLoads = std::vector<std::vector<double>>;

/// The time of the group alone; infinite where it may not be.
LeastLoads own_loads(const LoadModel& model);

/// The least T at which all groups can be shared, in fractions, between devices that each work for at most T and hold no more than they
/// may, none of which has a fraction of a group that it would need more than T for (`least`). Transfers are free but for those. Infinity:
/// nothing fits. The T that comes out is consistent with itself: what CPUs take over within T is counted. Nothing if `stop` was requested.
std::optional<double> balanced_load_s(const LoadModel& model, const LeastLoads& least, std::stop_token stop = {});

/// The least load of an accelerator that holds a group, by minimum cuts: of all sets of groups with this one in it, that with the least
/// sum of op times and transfers across its border (submodular: a tensor read by several groups is paid once). Only where it can be above
/// `floor_s`; elsewhere own_loads. A cut tells of every group on its side, so few flows are needed. At most `flows` of them, those of
/// groups that alone have the largest loads first; on all cores, the result does not depend on their number. What is left when `stop` is
/// requested is own_loads.
/// Flow: Boykov, Kolmogorov (2004), in whole ticks.
LeastLoads cut_loads(const LoadModel& model, double floor_s, std::size_t flows = std::numeric_limits<std::size_t>::max(),
                     std::stop_token stop = {});

/// Of the devices of a class one has at least the average of what the others leave to the class, which take over no more than they can
/// within the cutoff: the least load of a set of groups with so much work, one binary a group. Or of so many of the groups that take the
/// longest, where that is more work (four devices that share nine groups: one has three). `limits.cutoff` is the max load of a placement
/// that fits, in seconds, as is the bound.
double pigeonhole_load_s(const LoadModel& model, std::size_t device_class, const LeastLoads& least, IntegerLimits limits);

/// Max load as an integer programme: which device has which group, exactly.
class LoadProgramme {
public:
    /// Groups that would take a device above `cutoff_s` (infinite if no placement is known) may not be on it.
    LoadProgramme(const LoadModel& model, const LeastLoads& least, double cutoff_s);

    const Programme& programme() const { return programme_; }
    /// Seconds that the value 1 of the programme stands for.
    double unit_s() const { return unit_s_; }
    Placement placement(std::span<const double> x) const;

private:
    Programme programme_;
    double unit_s_ = 1;
    std::vector<std::vector<std::pair<DeviceId, Programme::Column>>> choices_;  ///< [group]
};

/// What a solver's bound is worth after its tolerances.
double within_tolerance(double bound);

}  // namespace placewright
