// SPDX-License-Identifier: MIT
#include "core/search/relabelling.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "core/base/infinity.hpp"

namespace placewright {
namespace {

/// [device]: the first device with the same description but for its name.
std::vector<DeviceId> first_alike(const Machine& machine) {
    std::vector<Device> kinds;
    std::vector<DeviceId> first, result;
    for (DeviceId id = 0; id < machine.devices().size(); ++id) {
        Device device = machine.device(id);
        device.name.clear();
        const auto known = std::ranges::find(kinds, device);
        if (known == kinds.end()) first.push_back(id);
        result.push_back(known == kinds.end() ? id : first[static_cast<std::size_t>(known - kinds.begin())]);
        if (known == kinds.end()) kinds.push_back(std::move(device));
    }
    return result;
}

/// [group]: seconds on its fastest device.
std::vector<double> group_seconds(const Problem& problem) {
    std::vector<double> seconds(problem.groups);
    for (OpId op = 0; op < problem.ops; ++op) {
        double fastest = kInfinity;
        for (DeviceId device = 0; device < problem.devices; ++device)
            fastest = std::min(fastest, problem.time_s(op, device));
        seconds[problem.grouping.group_of[op]] += fastest;
    }
    return seconds;
}

}  // namespace

Placement relabelled(const Problem& problem, Simulator& simulator, const Placement& placement,
                     const Placement& like) {
    if (placement == like || like.size() != placement.size()) return placement;
    const std::vector<double> seconds = group_seconds(problem);
    std::vector<double> shared(std::size_t{problem.devices} * problem.devices);
    for (GroupId group = 0; group < problem.groups; ++group)
        shared[std::size_t{placement[group]} * problem.devices + like[group]] += seconds[group];

    // The pairs that share most, each device once.
    const std::vector<DeviceId> kind = first_alike(*problem.machine);
    std::vector<std::tuple<double, DeviceId, DeviceId>> pairs;
    for (DeviceId from = 0; from < problem.devices; ++from) {
        for (DeviceId to = 0; to < problem.devices; ++to) {
            const double share = shared[std::size_t{from} * problem.devices + to];
            if (share > 0 && kind[from] == kind[to]) pairs.emplace_back(-share, from, to);
        }
    }
    std::ranges::sort(pairs);
    std::vector<DeviceId> name(problem.devices, kInvalidDevice);
    std::vector<bool> taken(problem.devices);
    const auto give = [&](DeviceId from, DeviceId to) {
        if (name[from] != kInvalidDevice || taken[to]) return;
        name[from] = to;
        taken[to] = true;
    };
    for (const auto& [share, from, to] : pairs) give(from, to);
    // The others keep their names where these are left, or get those of alike devices.
    for (DeviceId device = 0; device < problem.devices; ++device) give(device, device);
    for (DeviceId from = 0; from < problem.devices; ++from) {
        for (DeviceId to = 0; name[from] == kInvalidDevice && to < problem.devices; ++to) {
            if (kind[from] == kind[to]) give(from, to);
        }
    }

    Placement result = placement;
    double before = 0, after = 0;
    for (GroupId group = 0; group < problem.groups; ++group) {
        result[group] = name[placement[group]];
        if (!std::ranges::binary_search(problem.allowed_devices(group), result[group])) return placement;
        before += placement[group] == like[group] ? seconds[group] : 0;
        after += result[group] == like[group] ? seconds[group] : 0;
    }
    if (after <= before || !broken_rule(problem, result).empty()) return placement;
    const auto figures = [&](const Placement& each) {
        const Outcome& outcome = simulator.run(each);
        return std::tuple(outcome.step_time_s, outcome.total_time_s, outcome.fits,
                          std::ranges::max(outcome.peak_bytes));
    };
    return figures(result) == figures(placement) ? result : placement;
}

}  // namespace placewright
