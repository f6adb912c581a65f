// SPDX-License-Identifier: MIT
#include "core/learn/policy_graph.hpp"

#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>

#include <queue>

#include "core/learn/policy_kinds.hpp"
#include "core/search/parts/variation.hpp"

namespace placewright {
namespace {

/// Returns the bytes along the edges between groups of the network as it was read, by (from, to). A tensor
/// counts once, however many ops of a group read it.
std::map<std::pair<GroupId, GroupId>, double> edges_of(const Problem& problem) {
    std::map<std::pair<GroupId, GroupId>, double> edges;
    std::set<std::tuple<OpId, std::uint32_t, GroupId>> sent;
    const Graph& graph = *problem.forward;
    for (OpId op = 0; op < graph.size(); ++op) {
        const GroupId to = problem.grouping.group_of[op];
        for (const TensorRef& input : graph.op(op).inputs) {
            const GroupId from = problem.grouping.group_of[input.op];
            if (from == to || !sent.emplace(input.op, input.output, to).second) continue;
            edges[{from, to}] += static_cast<double>(graph.op(input.op).outputs[input.output].bytes);
        }
    }
    return edges;
}

/// Kahn's algorithm, taking the first group (groups are ordered by their first op) whose parents are done; if
/// the remaining groups are in a cycle, it takes the first of them.
std::vector<GroupId> topological(const PolicyGraph& graph) {
    std::vector<std::uint32_t> open(graph.nodes);
    std::priority_queue<GroupId, std::vector<GroupId>, std::greater<>> ready;
    for (GroupId node = 0; node < graph.nodes; ++node) {
        open[node] = static_cast<std::uint32_t>(graph.parents(node).size());
        if (open[node] == 0) ready.push(node);
    }
    std::vector<GroupId> order;
    std::vector<bool> done(graph.nodes);
    GroupId first = 0;
    while (order.size() < graph.nodes) {
        while (done[first]) ++first;
        const GroupId node = ready.empty() ? first : ready.top();
        if (!ready.empty()) ready.pop();
        if (done[node]) continue;
        done[node] = true;
        order.push_back(node);
        for (const GroupId child : graph.children(node)) {
            if (--open[child] == 0 && !done[child]) ready.push(child);
        }
    }
    return order;
}

/// Visits `order` from the first to the last node, and repeats while cycles add nodes to the sets.
template <class Neighbours>
std::vector<NodeSet> reachable(std::span<const GroupId> order, const Neighbours& neighbours) {
    std::vector<NodeSet> sets(order.size(), NodeSet(order.size()));
    for (bool grown = true; grown;) {
        grown = false;
        for (const GroupId node : order) {
            for (const GroupId neighbour : neighbours(node)) {
                NodeSet added = sets[neighbour];
                added.insert(neighbour);
                grown = sets[node].insert(added) || grown;
            }
        }
    }
    for (const GroupId node : order) sets[node].erase(node);
    return sets;
}

/// Returns the values as shares of the largest; all 0 if that is 0.
std::vector<float> shares(std::span<const double> values) {
    const double largest = values.empty() ? 0 : *std::ranges::max_element(values);
    std::vector<float> shares;
    for (const double value : values) shares.push_back(static_cast<float>(largest > 0 ? value / largest : 0));
    return shares;
}

double mean(std::span<const double> values) {
    return values.empty()
               ? 0
               : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Times and sizes of nodes that are no shares yet.
struct NodeSizes {
    std::vector<double> times_s;                   ///< [node]: mean over the devices
    std::vector<double> times_on_s;                ///< [node * devices + device]
    std::vector<double> output_bytes, held_bytes;  ///< [node]
};

void set_neighbours(PolicyGraph& graph) {
    const GroupId nodes = graph.nodes;
    const auto edges = edges_of(graph.choices.problem());
    std::vector<std::vector<GroupId>> parents_of(nodes), children_of(nodes);
    std::vector<std::vector<double>> bytes_from(nodes), bytes_to(nodes);
    for (const auto& [ends, edge_bytes] : edges) {
        children_of[ends.first].push_back(ends.second);
        bytes_to[ends.first].push_back(edge_bytes);
        parents_of[ends.second].push_back(ends.first);
        bytes_from[ends.second].push_back(edge_bytes);
    }
    graph.parent_begin.push_back(0);
    graph.child_begin.push_back(0);
    for (GroupId node = 0; node < nodes; ++node) {
        graph.parent.insert(graph.parent.end(), parents_of[node].begin(), parents_of[node].end());
        graph.parent_bytes.insert(graph.parent_bytes.end(), bytes_from[node].begin(), bytes_from[node].end());
        graph.child.insert(graph.child.end(), children_of[node].begin(), children_of[node].end());
        graph.child_bytes.insert(graph.child_bytes.end(), bytes_to[node].begin(), bytes_to[node].end());
        graph.parent_begin.push_back(static_cast<std::uint32_t>(graph.parent.size()));
        graph.child_begin.push_back(static_cast<std::uint32_t>(graph.child.size()));
    }
}

/// Sets the kinds and shapes of nodes; returns their times and sizes.
NodeSizes set_kinds(PolicyGraph& graph) {
    const Problem& problem = graph.choices.problem();
    const Graph& network = *problem.forward;
    const std::span<const DeviceId> all = graph.choices.devices();
    graph.kind_count = policy_kind_count();
    graph.kinds.resize(std::size_t{graph.nodes} * graph.kind_count);
    graph.shape.resize(std::size_t{graph.nodes} * 4);
    std::map<std::string_view, std::size_t> kind_index;
    for (const std::string_view kind : policy_kinds()) kind_index.emplace(kind, kind_index.size());
    NodeSizes sizes{std::vector<double>(graph.nodes),
                    std::vector<double>(std::size_t{graph.nodes} * graph.devices),
                    std::vector<double>(graph.nodes), std::vector<double>(graph.nodes)};
    for (GroupId node = 0; node < graph.nodes; ++node) {
        for (std::size_t device = 0; device < graph.devices; ++device)
            sizes.times_on_s[node * graph.devices + device] = problem.group_time_s(node, all[device]);
        sizes.times_s[node] =
            mean(std::span(sizes.times_on_s).subspan(std::size_t{node} * graph.devices, graph.devices));
        std::size_t ops = 0;
        double largest = -1;
        for (const OpId op : problem.grouping.members[node]) {
            sizes.held_bytes[node] += problem.resident_bytes[op];
            if (op >= network.size()) continue;
            ++ops;
            const auto found = kind_index.find(network.op(op).kind);
            graph.kinds[node * graph.kind_count +
                        (found == kind_index.end() ? graph.kind_count - 1 : found->second)] += 1;
            for (const Tensor& tensor : network.op(op).outputs) {
                const auto size = static_cast<double>(tensor.bytes);
                sizes.output_bytes[node] += size;
                if (size <= largest) continue;
                largest = size;
                for (std::size_t i = 0; i < 4; ++i) {
                    const bool there = tensor.shape && i < tensor.shape->size();
                    graph.shape[node * 4 + i] =
                        there ? static_cast<float>(std::log1p(static_cast<double>((*tensor.shape)[i])))
                              : 0.0F;
                }
            }
        }
        sizes.held_bytes[node] += sizes.output_bytes[node];
        for (std::size_t kind = 0; kind < graph.kind_count; ++kind)
            graph.kinds[node * graph.kind_count + kind] /= static_cast<float>(std::max<std::size_t>(ops, 1));
    }
    return sizes;
}

/// Sets the earliest run times; returns the length of the longest path in seconds.
double set_levels(PolicyGraph& graph, std::span<const double> times_s) {
    std::vector<double> above_s(graph.nodes), below_s(graph.nodes);
    std::vector<std::size_t> place(graph.nodes);
    for (std::size_t i = 0; i < graph.order.size(); ++i) place[graph.order[i]] = i;
    double longest_s = 0;
    for (const GroupId node : graph.order) {
        for (const GroupId before : graph.parents(node)) {
            if (place[before] < place[node])
                above_s[node] = std::max(above_s[node], above_s[before] + times_s[before]);
        }
        longest_s = std::max(longest_s, above_s[node] + times_s[node]);
    }
    for (auto at = graph.order.rbegin(); at != graph.order.rend(); ++at) {
        const GroupId node = *at;
        for (const GroupId behind : graph.children(node)) {
            if (place[node] < place[behind]) below_s[node] = std::max(below_s[node], below_s[behind]);
        }
        below_s[node] += times_s[node];
    }
    for (GroupId node = 0; node < graph.nodes; ++node) {
        graph.top_level.push_back(static_cast<float>(longest_s > 0 ? above_s[node] / longest_s : 0));
        graph.bottom_level.push_back(static_cast<float>(longest_s > 0 ? below_s[node] / longest_s : 0));
        graph.duration.push_back(static_cast<float>(longest_s > 0 ? times_s[node] / longest_s : 0));
    }
    return longest_s;
}

void set_devices(PolicyGraph& graph, const NodeSizes& sizes) {
    const Problem& problem = graph.choices.problem();
    const std::span<const DeviceId> all = graph.choices.devices();
    const double unit_s = mean(sizes.times_on_s);
    for (const double time_s : sizes.times_on_s)
        graph.time_on.push_back(static_cast<float>(unit_s > 0 ? time_s / unit_s : 0));
    std::vector<double> speeds, capacities;
    graph.allowed.resize(std::size_t{graph.nodes} * graph.devices);
    graph.need.resize(std::size_t{graph.nodes} * graph.devices);
    for (std::size_t device = 0; device < graph.devices; ++device) {
        double here_s = 0, anywhere_s = 0;
        for (GroupId node = 0; node < graph.nodes; ++node) {
            graph.need[node * graph.devices + device] =
                static_cast<float>(sizes.held_bytes[node] / problem.memory_limit_bytes[all[device]]);
            if (!graph.choices.allows(node, all[device])) continue;
            graph.allowed[node * graph.devices + device] = 1;
            here_s += sizes.times_on_s[node * graph.devices + device];
            anywhere_s += sizes.times_s[node];
        }
        speeds.push_back(here_s > 0 ? anywhere_s / here_s : 0);
        capacities.push_back(problem.memory_limit_bytes[all[device]]);
    }
    graph.speed = shares(speeds);
    graph.capacity = shares(capacities);
}

/// Sets the features of links, with times in shares of `way_s`.
void set_links(PolicyGraph& graph, double way_s) {
    const Problem& problem = graph.choices.problem();
    const std::span<const DeviceId> all = graph.choices.devices();
    const double tensor_bytes = mean(problem.tensor_bytes);
    std::vector<double> paces(std::size_t{graph.devices} * graph.devices);
    for (std::size_t from = 0; from < graph.devices; ++from) {
        for (std::size_t to = 0; to < graph.devices; ++to) {
            double moving_s = 0, latency_s = 0;
            for (const ChannelId channel : problem.machine->route(all[from], all[to])) {
                const double own_s = problem.channel_latency_s[channel];
                const double leg_s = std::max(
                    0.0, transfer_time_s(problem.machine->channels()[channel], tensor_bytes) - own_s);
                // A transfer passes the memory of each device on its route, hop after hop, or, with
                // cut-through, goes at the pace of the slowest hop.
                moving_s =
                    problem.crossing == Crossing::cut_through ? std::max(moving_s, leg_s) : moving_s + leg_s;
                latency_s += own_s;
            }
            const double time_s = latency_s + moving_s;
            if (time_s > 0) paces[from * graph.devices + to] = 1 / time_s;
            const double both_ways = problem.inference ? 1 : 2;
            graph.latency.push_back(static_cast<float>(both_ways * latency_s / way_s));
            graph.byte_duration.push_back(
                static_cast<float>(tensor_bytes > 0 ? both_ways * moving_s / tensor_bytes / way_s : 0));
        }
    }
    graph.link = shares(paces);
    for (std::size_t device = 0; device < graph.devices; ++device)
        graph.link[device * graph.devices + device] = 1;
}

}  // namespace

PolicyGraph::PolicyGraph(std::shared_ptr<const Problem> shared, bool allow_cpu, bool reaches)
    : choices(std::move(shared), allow_cpu),
      nodes(choices.problem().groups),
      devices(static_cast<std::uint32_t>(choices.devices().size())) {
    set_neighbours(*this);
    order = topological(*this);
    if (reaches) {
        ancestors = reachable(order, [&](GroupId node) { return parents(node); });
        const std::vector<GroupId> backwards(order.rbegin(), order.rend());
        descendants = reachable(backwards, [&](GroupId node) { return children(node); });
    }

    const NodeSizes sizes = set_kinds(*this);
    time = shares(sizes.times_s);
    bytes = shares(sizes.output_bytes);
    memory = shares(sizes.held_bytes);
    const double longest_s = set_levels(*this, sizes.times_s);
    const double way_s = longest_s > 0 ? longest_s : 1;
    for (const double time_s : sizes.times_on_s) duration_on.push_back(static_cast<float>(time_s / way_s));
    set_devices(*this, sizes);
    set_links(*this, way_s);
}

std::vector<GroupId> random_part(const PolicyGraph& graph, std::span<const GroupId> groups, std::size_t most,
                                 Random& random) {
    const std::size_t length = any_scale(std::min(most, groups.size()), random);
    if (!random.chance(0.5)) return nearest_groups(graph, random.pick(groups), length);
    const auto run = groups.subspan(random.index(groups.size() - length + 1), length);
    return {run.begin(), run.end()};
}

std::vector<GroupId> nearest_groups(const PolicyGraph& graph, GroupId group, std::size_t count) {
    std::vector<std::uint8_t> met(graph.nodes);
    std::vector<GroupId> queue{group}, nearest;
    met[group] = 1;
    for (std::size_t next = 0; next < queue.size() && nearest.size() < count; ++next) {
        const GroupId here = queue[next];
        if (graph.choices.of(here).size() > 1) nearest.push_back(here);
        for (const auto others : {graph.parents(here), graph.children(here)}) {
            for (const GroupId other : others) {
                if (met[other] != 0) continue;
                met[other] = 1;
                queue.push_back(other);
            }
        }
    }
    return nearest;
}

}  // namespace placewright
