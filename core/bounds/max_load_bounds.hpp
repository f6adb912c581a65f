// SPDX-License-Identifier: MIT
// Lower bounds on the max load of every placement that fits the memory, contiguous or not. See
// core/sim/max_load.hpp for the model.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/bounds/apart_rows.hpp"
#include "core/bounds/integer_program.hpp"
#include "core/bounds/load_model.hpp"

namespace placewright {

/// [class][group]: a device of the class that holds the group has at least this load.
using LeastLoads = std::vector<std::vector<double>>;

/// The time of the group alone; infinity where it is not allowed.
LeastLoads own_loads(const LoadModel& model);

/// The least T for which all groups, in fractions, can be distributed over devices that each work for at most
/// T and stay within their memory. No device has a fraction of a group whose least load there (`least`)
/// exceeds T; apart from that, transfers are free. The result is self-consistent: it includes the work that
/// CPUs take over within T. Infinity if nothing fits; nothing if `stop` was requested.
std::optional<double> balanced_load_s(const LoadModel& model, const LeastLoads& least,
                                      std::stop_token stop = {});

/// The least load of an accelerator that holds a group, by minimum cuts: over all sets of groups that contain
/// this one, the least sum of op times and transfers across the border (submodular: a tensor read by several
/// groups is paid once). Computed only where it can exceed `floor_s`; elsewhere own_loads. A cut gives a
/// bound for every group on its side, so few flows are needed: at most `flows`, beginning with the groups
/// that alone have the largest loads. Uses all cores; the result does not depend on their number. Groups that
/// remain when `stop` is requested keep own_loads. Flow: Boykov, Kolmogorov (2004), in whole ticks.
LeastLoads cut_loads(const LoadModel& model, double floor_s,
                     std::size_t flows = std::numeric_limits<std::size_t>::max(), std::stop_token stop = {});

/// At least one device of a class has at least the average of the work that the other classes leave to it;
/// they take over no more than they can within the cutoff. Returns the least load of a set of groups with
/// that much work, by a program with one binary per group. If it is more work, the set instead has a given
/// number of the longest groups (of four devices that share nine groups, one has three). `limits.cutoff` is
/// the max load of a placement that fits, in seconds; so is the returned bound.
double pigeonhole_load_s(const LoadModel& model, std::size_t device_class, const LeastLoads& least,
                         IntegerLimits limits);

/// Max load as an integer program that assigns each group to a device; exact.
class LoadProgramme {
public:
    /// Groups that would bring a device above `cutoff_s` (infinity if no placement is known) may not be on
    /// it.
    LoadProgramme(const LoadModel& model, const LeastLoads& least, double cutoff_s);

    /// Adds the rules of the model's problem that keep groups apart.
    void keep_apart(const Problem& problem) { add_apart_rows(program_, problem, choices_); }

    const IntegerProgram& program() const { return program_; }
    /// Seconds per unit of the program's value.
    double unit_s() const { return unit_s_; }
    Placement placement(std::span<const double> x) const;

private:
    IntegerProgram program_;
    double unit_s_ = 1;
    std::vector<std::vector<std::pair<DeviceId, IntegerProgram::Column>>> choices_;  ///< [group]
};

/// A solver's bound less its tolerances.
double within_tolerance(double bound);

}  // namespace placewright
