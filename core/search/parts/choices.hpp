// SPDX-License-Identifier: MIT
// The devices that a search may give to each group.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/base/random.hpp"
#include "core/cost/problem.hpp"
#include "core/search/optimizer.hpp"

namespace placewright {

/// Help of the option `allow_cpu`, which most algorithms have.
inline constexpr const char* kAllowCpuHelp =
    "Let ops move to CPUs; no effect on a machine without a GPU. Start placements may use CPUs in any case.";

/// Returns the context's seeds. Throws PlacementError for a seed that does not fit the problem.
std::vector<Placement> checked_seeds(const SearchContext& context);

/// The devices that Problem::allowed_devices gives a group. Without `allow_cpu`, CPUs are left out for every
/// group that may be on another device. Never empty for any group.
class DeviceChoices {
public:
    DeviceChoices(std::shared_ptr<const Problem> problem, bool allow_cpu);

    const Problem& problem() const { return *problem_; }
    std::size_t groups() const { return begin_.size() - 1; }

    /// Devices that some group may use, ascending.
    std::span<const DeviceId> devices() const { return devices_; }

    /// Devices that the group may use, ascending.
    std::span<const DeviceId> of(GroupId group) const {
        return std::span(devices_of_).subspan(begin_[group], begin_[group + 1] - begin_[group]);
    }

    /// Groups that have a choice, ascending.
    std::span<const GroupId> movable() const { return movable_; }

    bool allows(GroupId group, DeviceId device) const {
        return allowed_[std::size_t{group} * all_devices_ + device] != 0;
    }

    /// Whether every group is on one of its choices.
    bool allows(std::span<const DeviceId> placement) const;

    /// Returns the choice of the group on which it takes the least time; the first of equals.
    DeviceId fastest(GroupId group) const;

    DeviceId random_device(GroupId group, Random& random) const { return random.pick(of(group)); }
    Placement random_placement(Random& random) const;

    /// Puts everything on `device`; groups that may not be there go to the fastest of their choices.
    Placement on_one_device(DeviceId device) const;

    /// Returns the devices among which there is a choice (all devices if there is none), by the time of
    /// on_one_device, fastest first; equals in order of their ids. Transfers are ignored.
    std::vector<DeviceId> fastest_first() const;

    /// Returns on_one_device for each device, in the order of fastest_first().
    std::vector<Placement> on_each_device() const;

private:
    std::shared_ptr<const Problem> problem_;
    std::size_t all_devices_;
    std::vector<std::uint32_t> begin_;  ///< [groups + 1], into devices_of_
    std::vector<DeviceId> devices_of_;
    std::vector<std::uint8_t>
        allowed_;  ///< [group * devices + device]; bytes, which mutations of every op read faster than bits
    std::vector<DeviceId> devices_;
    std::vector<GroupId> movable_;
};

}  // namespace placewright
