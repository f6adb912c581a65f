// SPDX-License-Identifier: MIT
#include "core/search/relabelling.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
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

/// [device]: the name that it gets, one of an alike device (`kind` equal), such that the sum of
/// shared[device * devices + name] is the largest; of equal sums one in which a device keeps its own. The
/// assignment problem, by shortest augmenting paths (Kuhn, 1955; Jonker, Volgenant, 1987). O(devices^3).
std::vector<DeviceId> best_names(const std::vector<DeviceId>& kind, const std::vector<double>& shared) {
    const std::size_t devices = kind.size();
    double all = 0;
    for (const double share : shared) all += share;
    const auto cost = [&](std::size_t device, std::size_t name) {
        if (kind[device] != kind[name]) return 4 * all + 1;
        const double own = device == name ? 1e-9 * all : 0;
        return -shared[device * devices + name] - own;
    };
    // Rows are devices, columns names; the last column stands for the row that is being assigned.
    std::vector<double> row_price(devices), column_price(devices + 1);
    std::vector<std::size_t> row_of(devices + 1, devices);
    for (std::size_t row = 0; row < devices; ++row) {
        std::vector<double> least(devices, kInfinity);
        std::vector<std::size_t> before(devices, devices);
        std::vector<bool> reached(devices + 1);
        row_of[devices] = row;
        std::size_t column = devices;
        while (row_of[column] != devices) {
            reached[column] = true;
            const std::size_t at = row_of[column];
            std::size_t next = devices;
            double step = kInfinity;
            for (std::size_t to = 0; to < devices; ++to) {
                if (reached[to]) continue;
                const double reduced = cost(at, to) - row_price[at] - column_price[to];
                if (reduced < least[to]) {
                    least[to] = reduced;
                    before[to] = column;
                }
                if (least[to] < step) {
                    step = least[to];
                    next = to;
                }
            }
            for (std::size_t to = 0; to <= devices; ++to) {
                if (reached[to]) {
                    row_price[row_of[to]] += step;
                    column_price[to] -= step;
                } else if (to < devices) {
                    least[to] -= step;
                }
            }
            column = next;
        }
        while (column != devices) {
            row_of[column] = row_of[before[column]];
            column = before[column];
        }
    }
    std::vector<DeviceId> name(devices);
    for (std::size_t column = 0; column < devices; ++column)
        name[row_of[column]] = static_cast<DeviceId>(column);
    return name;
}

/// Machines with more devices keep the names that a search gives: the assignment would take its time.
constexpr std::size_t kMostDevices = 128;

/// Nothing if a group may not be on its device, or a rule would be broken.
std::optional<Placement> renamed(const Problem& problem, const Placement& placement,
                                 const std::vector<DeviceId>& name) {
    Placement result = placement;
    for (GroupId group = 0; group < problem.groups; ++group) {
        result[group] = name[placement[group]];
        if (!std::ranges::binary_search(problem.allowed_devices(group), result[group])) return {};
    }
    if (!broken_rule(problem, result).empty()) return {};
    return result;
}

bool is_as_good(Simulator& simulator, const Placement& one, const Placement& other) {
    const auto figures = [&](const Placement& each) {
        const Outcome& outcome = simulator.run(each);
        return std::tuple(outcome.step_time_s, outcome.total_time_s, outcome.fits,
                          std::ranges::max(outcome.peak_bytes));
    };
    return figures(one) == figures(other);
}

}  // namespace

Placement relabelled(const Problem& problem, Simulator& simulator, const Placement& placement,
                     const Placement& like) {
    if (placement == like || like.size() != placement.size() || problem.devices > kMostDevices)
        return placement;
    const std::vector<double> seconds = group_seconds(problem);
    std::vector<double> shared(std::size_t{problem.devices} * problem.devices);
    for (GroupId group = 0; group < problem.groups; ++group)
        shared[std::size_t{placement[group]} * problem.devices + like[group]] += seconds[group];

    const std::vector<DeviceId> name = best_names(first_alike(*problem.machine), shared);

    std::optional<Placement> result = renamed(problem, placement, name);
    if (!result) return placement;
    double before = 0, after = 0;
    for (GroupId group = 0; group < problem.groups; ++group) {
        before += placement[group] == like[group] ? seconds[group] : 0;
        after += (*result)[group] == like[group] ? seconds[group] : 0;
    }
    return after > before && is_as_good(simulator, *result, placement) ? *std::move(result) : placement;
}

Placement numbered_by_first_use(const Problem& problem, Simulator& simulator, const Placement& placement) {
    if (problem.devices > kMostDevices) return placement;
    const std::vector<DeviceId> kind = first_alike(*problem.machine);
    std::vector<DeviceId> order;
    const auto use = [&](DeviceId device) {
        if (std::ranges::find(order, device) == order.end()) order.push_back(device);
    };
    for (const DeviceId device : placement) use(device);
    for (DeviceId device = 0; device < problem.devices; ++device) use(device);
    std::vector<DeviceId> name(problem.devices);
    for (DeviceId first = 0; first < problem.devices; ++first) {
        // The devices of a kind, in the order of their use, get its numbers in ascending order.
        DeviceId next = first;
        for (const DeviceId device : order) {
            if (kind[device] != first) continue;
            while (kind[next] != first) ++next;
            name[device] = next++;
        }
    }
    std::optional<Placement> result = renamed(problem, placement, name);
    if (!result || *result == placement) return placement;
    return is_as_good(simulator, *result, placement) ? *std::move(result) : placement;
}

}  // namespace placewright
