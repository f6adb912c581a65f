// SPDX-License-Identifier: MIT
#include "core/search/parts/choices.hpp"

#include <algorithm>

namespace placewright {

std::vector<Placement> checked_seeds(const SearchContext& context) {
    const Problem& problem = *context.problem;
    std::vector<Placement> seeds = context.seeds;
    for (Placement& seed : seeds) {
        const bool known = seed.size() == problem.groups && std::ranges::all_of(seed, [&](DeviceId device) {
                               return device < problem.devices;
                           });
        // A portfolio starts algorithms from what others proposed before it was mended (obeying_rules).
        if (known) seed = obeying(problem, std::move(seed));
        check_placement(problem, seed);
    }
    return seeds;
}

DeviceChoices::DeviceChoices(std::shared_ptr<const Problem> problem, bool allow_cpu)
    : problem_(std::move(problem)), all_devices_(problem_->devices) {
    const auto is_cpu = [&](DeviceId device) {
        return problem_->machine->device(device).kind == DeviceKind::cpu;
    };
    std::vector<bool> used(problem_->devices, false);
    allowed_.resize(problem_->groups * all_devices_, 0);
    begin_.reserve(std::size_t{problem_->groups} + 1);
    begin_.push_back(0);
    for (GroupId group = 0; group < problem_->groups; ++group) {
        const std::span<const DeviceId> allowed = problem_->allowed_devices(group);
        const bool cpu_too = allow_cpu || std::all_of(allowed.begin(), allowed.end(), is_cpu);
        for (const DeviceId device : allowed) {
            if (!cpu_too && is_cpu(device)) continue;
            devices_of_.push_back(device);
            used[device] = true;
            allowed_[group * all_devices_ + device] = 1;
        }
        begin_.push_back(static_cast<std::uint32_t>(devices_of_.size()));
        if (of(group).size() > 1) movable_.push_back(group);
    }
    for (std::size_t device = 0; device < used.size(); ++device) {
        if (used[device]) devices_.push_back(static_cast<DeviceId>(device));
    }
}

bool DeviceChoices::allows(std::span<const DeviceId> placement) const {
    for (GroupId group = 0; group < placement.size(); ++group) {
        if (!allows(group, placement[group])) return false;
    }
    return true;
}

DeviceId DeviceChoices::fastest(GroupId group) const {
    const std::span<const DeviceId> choices = of(group);
    return *std::min_element(choices.begin(), choices.end(), [&](DeviceId a, DeviceId b) {
        return problem_->group_time_s(group, a) < problem_->group_time_s(group, b);
    });
}

Placement DeviceChoices::random_placement(Random& random) const {
    Placement placement(groups());
    for (GroupId group = 0; group < placement.size(); ++group)
        placement[group] = random_device(group, random);
    return placement;
}

Placement DeviceChoices::on_one_device(DeviceId device) const {
    Placement placement = single_device_placement(*problem_, device);
    for (GroupId group = 0; group < placement.size(); ++group) {
        if (!allows(group, placement[group])) placement[group] = fastest(group);
    }
    return placement;
}

std::vector<DeviceId> DeviceChoices::fastest_first() const {
    std::vector<bool> chosen(problem_->devices, movable_.empty());
    for (const GroupId group : movable_) {
        for (const DeviceId device : of(group)) chosen[device] = true;
    }
    std::vector<DeviceId> order;
    std::vector<double> time_s(problem_->devices, 0);
    for (const DeviceId device : devices_) {
        if (!chosen[device]) continue;
        order.push_back(device);
        const Placement placement = on_one_device(device);
        for (GroupId group = 0; group < placement.size(); ++group)
            time_s[device] += problem_->group_time_s(group, placement[group]);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](DeviceId a, DeviceId b) { return time_s[a] < time_s[b]; });
    return order;
}

std::vector<Placement> DeviceChoices::on_each_device() const {
    std::vector<Placement> placements;
    for (const DeviceId device : fastest_first()) placements.push_back(on_one_device(device));
    return placements;
}

}  // namespace placewright
