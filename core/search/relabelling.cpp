// SPDX-License-Identifier: MIT
#include "core/search/relabelling.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "core/base/infinity.hpp"

namespace placewright {
namespace {

bool alike(Device a, const Device& b) {
    a.name = b.name;
    return a == b;
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

    // The pairs that share most, each device once; then the rest, each with an alike device that is left.
    std::vector<std::tuple<double, DeviceId, DeviceId>> pairs;
    for (DeviceId from = 0; from < problem.devices; ++from) {
        for (DeviceId to = 0; to < problem.devices; ++to) {
            if (alike(problem.machine->device(from), problem.machine->device(to)))
                pairs.emplace_back(-shared[std::size_t{from} * problem.devices + to], from, to);
        }
    }
    std::ranges::sort(pairs);
    std::vector<DeviceId> name(problem.devices, kInvalidDevice);
    std::vector<bool> taken(problem.devices);
    for (const auto& [share, from, to] : pairs) {
        if (name[from] != kInvalidDevice || taken[to]) continue;
        name[from] = to;
        taken[to] = true;
    }

    Placement result = placement;
    double before = 0, after = 0;
    for (GroupId group = 0; group < problem.groups; ++group) {
        result[group] = name[placement[group]];
        if (!std::ranges::binary_search(problem.allowed_devices(group), result[group])) return placement;
        before += placement[group] == like[group] ? seconds[group] : 0;
        after += result[group] == like[group] ? seconds[group] : 0;
    }
    if (after <= before) return placement;
    const auto figures = [&](const Placement& each) {
        const Outcome& outcome = simulator.run(each);
        return std::tuple(outcome.step_time_s, outcome.total_time_s, outcome.fits,
                          std::ranges::max(outcome.peak_bytes));
    };
    return figures(result) == figures(placement) ? result : placement;
}

}  // namespace placewright
