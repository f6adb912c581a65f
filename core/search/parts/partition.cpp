// SPDX-License-Identifier: MIT
#include "core/search/parts/partition.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/search/parts/memory_estimate.hpp"
#include "core/search/parts/schedule.hpp"

namespace placewright {
namespace {

/// Tolerances if none is chosen.
constexpr std::array kImbalances{0.03, 0.1, 0.3, 1.0};

/// With more parts than this, devices are not exchanged: that takes time cubic in the number of parts.
constexpr std::size_t kMostExchanged = 64;

struct Edge {
    GroupId a, b;
    double traffic;
};

std::vector<Edge> merged_edges(const Problem& problem, std::span<const double> traffic) {
    std::vector<Edge> edges;
    std::vector<GroupId> readers;
    for (TensorId tensor = 0; tensor < problem.tensors; ++tensor) {
        const GroupId from = problem.grouping.group_of[problem.producer[tensor]];
        readers.clear();
        for (auto i = problem.consumer_begin[tensor]; i < problem.consumer_begin[tensor + 1]; ++i)
            readers.push_back(problem.grouping.group_of[problem.consumer[i]]);
        std::ranges::sort(readers);
        readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
        for (const GroupId to : readers) {
            if (to == from) continue;
            edges.push_back({from, to, traffic[tensor]});
            edges.push_back({to, from, traffic[tensor]});
        }
    }
    // Stable, so that sums do not depend on the library's sort.
    std::ranges::stable_sort(edges, {}, [](const Edge& edge) { return std::pair(edge.a, edge.b); });
    std::vector<Edge> merged;
    for (const Edge& edge : edges) {
        if (!merged.empty() && merged.back().a == edge.a && merged.back().b == edge.b) {
            merged.back().traffic += edge.traffic;
        } else {
            merged.push_back(edge);
        }
    }
    return merged;
}

/// Returns [from * devices + to]: seconds for all tensors, mean of both directions.
std::vector<double> distances(const Problem& problem) {
    std::vector<double> class_s(problem.channel_classes, 0);
    for (std::size_t i = 0; i < problem.transfer_s.size(); ++i)
        class_s[i % problem.channel_classes] += problem.transfer_s[i];
    std::vector<double> way_s(std::size_t{problem.devices} * problem.devices, 0);
    for (std::size_t route = 0; route < way_s.size(); ++route) {
        for (auto i = problem.route_begin[route]; i < problem.route_begin[route + 1]; ++i) {
            const double leg_s = class_s[problem.channel_class[problem.route_channel[i]]];
            way_s[route] = problem.crossing == Crossing::cut_through ? std::max(way_s[route], leg_s)
                                                                     : way_s[route] + leg_s;
        }
    }
    std::vector<double> distance(way_s.size());
    for (std::size_t a = 0; a < problem.devices; ++a) {
        for (std::size_t b = 0; b < problem.devices; ++b)
            distance[a * problem.devices + b] =
                (way_s[a * problem.devices + b] + way_s[b * problem.devices + a]) / 2;
    }
    return distance;
}

}  // namespace

WeightedGraph group_graph(const DeviceChoices& choices, const std::string& edges) {
    const Problem& problem = choices.problem();
    WeightedGraph graph;
    const MemoryEstimate memory(problem, 1);
    for (GroupId group = 0; group < problem.groups; ++group) {
        double sum_s = 0;
        for (const DeviceId device : choices.of(group)) sum_s += problem.group_time_s(group, device);
        graph.time_s.push_back(sum_s / static_cast<double>(choices.of(group).size()));
        graph.bytes.push_back(memory.kept_bytes(group));
    }
    const bool has_bytes = std::ranges::any_of(problem.tensor_bytes, [](double bytes) { return bytes > 0; });
    const std::vector<double> traffic =
        edges == "bytes" && has_bytes ? problem.tensor_bytes : mean_transfers_s(problem, choices.devices());
    graph.begin.assign(std::size_t{problem.groups} + 1, 0);
    for (const Edge& edge : merged_edges(problem, traffic)) {
        ++graph.begin[edge.a + 1];
        graph.neighbour.push_back(edge.b);
        graph.traffic.push_back(edge.traffic);
    }
    std::partial_sum(graph.begin.begin(), graph.begin.end(), graph.begin.begin());
    return graph;
}

WeightedGraph subgraph(const WeightedGraph& graph, std::span<const GroupId> vertices) {
    constexpr std::uint32_t kLeftOut = ~std::uint32_t{0};
    std::vector<std::uint32_t> number(graph.size(), kLeftOut);
    for (std::size_t i = 0; i < vertices.size(); ++i) number[vertices[i]] = static_cast<std::uint32_t>(i);
    WeightedGraph part;
    part.begin.push_back(0);
    for (const GroupId vertex : vertices) {
        part.time_s.push_back(graph.time_s[vertex]);
        part.bytes.push_back(graph.bytes[vertex]);
        for (auto i = graph.begin[vertex]; i < graph.begin[vertex + 1]; ++i) {
            if (number[graph.neighbour[i]] == kLeftOut) continue;
            part.neighbour.push_back(number[graph.neighbour[i]]);
            part.traffic.push_back(graph.traffic[i]);
        }
        part.begin.push_back(static_cast<std::uint32_t>(part.neighbour.size()));
    }
    return part;
}

std::vector<std::int32_t> whole_weights(std::span<const double> amounts, double total) {
    const double sum = std::accumulate(amounts.begin(), amounts.end(), 0.0);
    std::vector<std::int32_t> weights;
    weights.reserve(amounts.size());
    for (const double amount : amounts)
        weights.push_back(sum > 0 ? std::max(1, static_cast<std::int32_t>(std::floor(amount / sum * total)))
                                  : 1);
    return weights;
}

std::vector<PartitionTrial> partition_trials(const DeviceChoices& choices, const PartitionOptions& options,
                                             std::uint32_t variants, std::uint64_t seed) {
    const std::size_t most =
        std::min(choices.fastest_first().size(), std::max<std::size_t>(choices.movable().size(), 1));
    const std::size_t first = options.parts > 0 ? std::min(options.parts, most) : most;
    const std::size_t last = options.parts > 0 ? first : 2;
    std::vector<double> imbalances(kImbalances.begin(), kImbalances.end());
    if (options.imbalance > 0) imbalances = {options.imbalance};

    std::vector<PartitionTrial> trials;
    Random random(seed);
    for (std::uint32_t attempt = 0; attempt < options.tries; ++attempt) {
        for (const double imbalance : imbalances) {
            for (std::uint32_t variant = 0; variant < variants; ++variant) {
                for (std::size_t parts = first; parts >= std::max<std::size_t>(last, 2); --parts)
                    trials.push_back(
                        {parts, imbalance, variant, static_cast<std::int32_t>(random.bits() >> 33)});
            }
        }
    }
    if (options.parts < 2 || first < 2) trials.emplace_back();
    return trials;
}

Partition::Partition(DeviceChoices choices, const std::string& edges)
    : choices_(std::move(choices)),
      graph_(group_graph(choices_, edges)),
      distance_(distances(choices_.problem())),
      speed_(choices_.problem().devices, 1) {
    for (const DeviceId device : choices_.devices()) {
        double mean_s = 0;
        double own_s = 0;
        for (const GroupId group : choices_.movable()) {
            if (!choices_.allows(group, device)) continue;
            mean_s += graph_.time_s[group];
            own_s += choices_.problem().group_time_s(group, device);
        }
        if (own_s > 0) speed_[device] = mean_s / own_s;
    }
    order_devices();
}

bool Partition::alike(DeviceId a, DeviceId b) const {
    const std::vector<double>& limits = choices_.problem().memory_limit_bytes;
    return speed_[a] == speed_[b] && limits[a] == limits[b];
}

void Partition::order_devices() {
    std::vector<DeviceId> left = choices_.fastest_first();
    std::vector<double> way_s(choices_.problem().devices, 0);  // traffic time to the devices that are taken
    while (!left.empty()) {
        DeviceId next = left.front();
        for (const DeviceId device : left) {
            if (alike(device, left.front()) && way_s[device] < way_s[next]) next = device;
        }
        order_.push_back(next);
        std::erase(left, next);
        for (const DeviceId device : left) way_s[device] += distance(device, next);
    }
}

std::vector<double> Partition::targets(std::span<const DeviceId> devices, std::span<const double> shares,
                                       std::span<const double> amounts) const {
    std::vector<double> stays(devices.size(), 0);
    double all = 0;
    for (GroupId group = 0; group < choices_.groups(); ++group) {
        const bool moves = choices_.of(group).size() > 1;
        const auto device = std::ranges::find(devices, choices_.of(group).front());
        if (moves || device != devices.end()) all += amounts[group];
        if (!moves && device != devices.end())
            stays[static_cast<std::size_t>(device - devices.begin())] += amounts[group];
    }
    const double whole = std::accumulate(shares.begin(), shares.end(), 0.0);
    std::vector<double> target;
    for (std::size_t part = 0; part < devices.size(); ++part) {
        const double share = shares[part] / whole;
        target.push_back(all > 0 ? std::max(share - stays[part] / all, 0.01 * share) : share);
    }
    const double sum = std::accumulate(target.begin(), target.end(), 0.0);
    for (double& part : target) part /= sum;
    return target;
}

Placement Partition::placement(std::span<const std::int32_t> part_of, std::vector<DeviceId> devices) const {
    // Parts come first: the exchange of devices depends on the traffic between them.
    Placement placement(choices_.groups(), kInvalidDevice);
    const std::span<const GroupId> movable = choices_.movable();
    for (std::size_t i = 0; i < movable.size(); ++i)
        placement[movable[i]] = static_cast<DeviceId>(part_of[i]);
    exchange_devices(placement, devices);
    for (GroupId group = 0; group < placement.size(); ++group)
        placement[group] =
            choices_.of(group).size() == 1 ? choices_.of(group).front() : devices[placement[group]];
    for (const GroupId group : choices_.movable()) {
        if (choices_.allows(group, placement[group])) continue;
        placement[group] = *std::ranges::min_element(choices_.of(group), {}, [&](DeviceId device) {
            return std::tuple(way_s(group, device, placement), choices_.problem().group_time_s(group, device),
                              device);
        });
    }
    return placement;
}

double Partition::way_s(GroupId group, DeviceId device, const Placement& placement) const {
    double sum_s = 0;
    for (auto i = graph_.begin[group]; i < graph_.begin[group + 1]; ++i)
        sum_s += graph_.traffic[i] * distance(device, placement[graph_.neighbour[i]]);
    return sum_s;
}

/// Exchanges pairs of devices, each time the first pair that helps, until none does or each had its turn
/// often enough. `part_of`: the part of each group, or kInvalidDevice for groups that stay where they are.
void Partition::exchange_devices(const Placement& part_of, std::vector<DeviceId>& devices) const {
    constexpr int kRounds = 20;
    const std::size_t parts = devices.size();
    if (parts > kMostExchanged) return;
    std::vector<double> between(parts * parts, 0);  // [part * parts + part]
    std::vector<double> to_device(parts * choices_.problem().devices,
                                  0);  // [part * devices + device], of groups that stay
    for (GroupId group = 0; group < part_of.size(); ++group) {
        if (part_of[group] == kInvalidDevice) continue;
        for (auto i = graph_.begin[group]; i < graph_.begin[group + 1]; ++i) {
            const GroupId other = graph_.neighbour[i];
            if (part_of[other] != kInvalidDevice) {
                between[part_of[group] * parts + part_of[other]] += graph_.traffic[i];
            } else {
                to_device[part_of[group] * choices_.problem().devices + choices_.of(other).front()] +=
                    graph_.traffic[i];
            }
        }
    }
    const auto cost = [&](std::size_t part) {
        double sum = 0;
        for (std::size_t other = 0; other < parts; ++other)
            sum += between[part * parts + other] * distance(devices[part], devices[other]);
        for (DeviceId device = 0; device < choices_.problem().devices; ++device)
            sum += to_device[part * choices_.problem().devices + device] * distance(devices[part], device);
        return sum;
    };
    bool better = true;
    for (int round = 0; round < kRounds && better; ++round) {
        better = false;
        for (std::size_t a = 0; a < parts; ++a) {
            for (std::size_t b = a + 1; b < parts; ++b) {
                if (!alike(devices[a], devices[b])) continue;
                const double before = cost(a) + cost(b);
                std::swap(devices[a], devices[b]);
                // Requires an improvement beyond what a different order of summation may change.
                if (cost(a) + cost(b) < before * (1 - 1e-9)) {
                    better = true;
                } else {
                    std::swap(devices[a], devices[b]);
                }
            }
        }
    }
}

}  // namespace placewright
