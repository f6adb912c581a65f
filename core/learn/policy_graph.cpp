// SPDX-License-Identifier: MIT
#include "core/learn/policy_graph.hpp"

#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>

#include <queue>

#include "core/graph/kinds.hpp"

namespace placewright {
namespace {

/// Bytes along the edges between groups of the network as it was read, by (from, to). A tensor counts once, however many ops of a group
/// read it.
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

/// Kahn's algorithm that takes the first group (groups are ordered by their first op) of those whose parents are done; where groups are in
/// a cycle, the first of all.
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

/// From the first to the last of `order`; again as long as cycles make it grow.
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

/// Of the largest; all 0 if that is.
std::vector<float> shares(std::span<const double> values) {
    const double largest = values.empty() ? 0 : *std::ranges::max_element(values);
    std::vector<float> shares;
    for (const double value : values) shares.push_back(static_cast<float>(largest > 0 ? value / largest : 0));
    return shares;
}

double mean(std::span<const double> values) {
    return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::uint32_t policy_kind_count() {
    return static_cast<std::uint32_t>(policy_kinds().size()) + 1;
}

PolicyGraph::PolicyGraph(std::shared_ptr<const Problem> shared, bool allow_cpu) : choices(std::move(shared), allow_cpu) {
    const Problem& problem = choices.problem();
    const Graph& network = *problem.forward;
    const std::span<const DeviceId> all = choices.devices();
    nodes = problem.groups;
    devices = static_cast<std::uint32_t>(all.size());

    const auto edges = edges_of(problem);
    std::vector<std::vector<GroupId>> parents_of(nodes), children_of(nodes);
    std::vector<std::vector<double>> bytes_from(nodes), bytes_to(nodes);
    for (const auto& [ends, edge_bytes] : edges) {
        children_of[ends.first].push_back(ends.second);
        bytes_to[ends.first].push_back(edge_bytes);
        parents_of[ends.second].push_back(ends.first);
        bytes_from[ends.second].push_back(edge_bytes);
    }
    parent_begin.push_back(0);
    child_begin.push_back(0);
    for (GroupId node = 0; node < nodes; ++node) {
        parent.insert(parent.end(), parents_of[node].begin(), parents_of[node].end());
        parent_bytes.insert(parent_bytes.end(), bytes_from[node].begin(), bytes_from[node].end());
        child.insert(child.end(), children_of[node].begin(), children_of[node].end());
        child_bytes.insert(child_bytes.end(), bytes_to[node].begin(), bytes_to[node].end());
        parent_begin.push_back(static_cast<std::uint32_t>(parent.size()));
        child_begin.push_back(static_cast<std::uint32_t>(child.size()));
    }
    order = topological(*this);
    ancestors = reachable(order, [&](GroupId node) { return parents(node); });
    const std::vector<GroupId> backwards(order.rbegin(), order.rend());
    descendants = reachable(backwards, [&](GroupId node) { return children(node); });

    // What nodes are like.
    kind_count = policy_kind_count();
    kinds.resize(std::size_t{nodes} * kind_count);
    shape.resize(std::size_t{nodes} * 4);
    std::map<std::string_view, std::size_t> kind_index;
    for (const KindInfo& kind : policy_kinds()) kind_index.emplace(kind.name, kind_index.size());
    std::vector<double> times_s(nodes), output_bytes(nodes), held_bytes(nodes);
    std::vector<double> times_on_s(std::size_t{nodes} * devices);
    for (GroupId node = 0; node < nodes; ++node) {
        for (std::size_t device = 0; device < devices; ++device)
            times_on_s[node * devices + device] = problem.group_time_s(node, all[device]);
        times_s[node] = mean(std::span(times_on_s).subspan(std::size_t{node} * devices, devices));
        std::size_t ops = 0;
        double largest = -1;
        for (const OpId op : problem.grouping.members[node]) {
            held_bytes[node] += problem.resident_bytes[op];
            if (op >= network.size()) continue;
            ++ops;
            const auto found = kind_index.find(network.op(op).kind);
            kinds[node * kind_count + (found == kind_index.end() ? kind_count - 1 : found->second)] += 1;
            for (const Tensor& tensor : network.op(op).outputs) {
                const auto size = static_cast<double>(tensor.bytes);
                output_bytes[node] += size;
                if (size <= largest) continue;
                largest = size;
                for (std::size_t i = 0; i < 4; ++i) {
                    const bool there = tensor.shape && i < tensor.shape->size();
                    shape[node * 4 + i] = there ? static_cast<float>(std::log1p(static_cast<double>((*tensor.shape)[i]))) : 0.0F;
                }
            }
        }
        held_bytes[node] += output_bytes[node];
        for (std::size_t kind = 0; kind < kind_count; ++kind)
            kinds[node * kind_count + kind] /= static_cast<float>(std::max<std::size_t>(ops, 1));
    }
    time = shares(times_s);
    bytes = shares(output_bytes);
    memory = shares(held_bytes);

    std::vector<double> above_s(nodes), below_s(nodes);
    std::vector<std::size_t> place(nodes);
    for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    double longest_s = 0;
    for (const GroupId node : order) {
        for (const GroupId before : parents(node)) {
            if (place[before] < place[node]) above_s[node] = std::max(above_s[node], above_s[before] + times_s[before]);
        }
        longest_s = std::max(longest_s, above_s[node] + times_s[node]);
    }
    for (const GroupId node : backwards) {
        for (const GroupId behind : children(node)) {
            if (place[node] < place[behind]) below_s[node] = std::max(below_s[node], below_s[behind]);
        }
        below_s[node] += times_s[node];
    }
    for (GroupId node = 0; node < nodes; ++node) {
        top_level.push_back(static_cast<float>(longest_s > 0 ? above_s[node] / longest_s : 0));
        bottom_level.push_back(static_cast<float>(longest_s > 0 ? below_s[node] / longest_s : 0));
        duration.push_back(static_cast<float>(longest_s > 0 ? times_s[node] / longest_s : 0));
    }

    const double way_s = longest_s > 0 ? longest_s : 1;
    for (const double time_s : times_on_s) duration_on.push_back(static_cast<float>(time_s / way_s));

    // What devices are like.
    const double unit_s = mean(times_on_s);
    for (const double time_s : times_on_s) time_on.push_back(static_cast<float>(unit_s > 0 ? time_s / unit_s : 0));
    std::vector<double> speeds, capacities;
    allowed.resize(std::size_t{nodes} * devices);
    need.resize(std::size_t{nodes} * devices);
    for (std::size_t device = 0; device < devices; ++device) {
        double here_s = 0, anywhere_s = 0;
        for (GroupId node = 0; node < nodes; ++node) {
            need[node * devices + device] = static_cast<float>(held_bytes[node] / problem.memory_limit_bytes[all[device]]);
            if (!choices.allows(node, all[device])) continue;
            allowed[node * devices + device] = 1;
            here_s += times_on_s[node * devices + device];
            anywhere_s += times_s[node];
        }
        speeds.push_back(here_s > 0 ? anywhere_s / here_s : 0);
        capacities.push_back(problem.memory_limit_bytes[all[device]]);
    }
    speed = shares(speeds);
    capacity = shares(capacities);
    const double tensor_bytes = mean(problem.tensor_bytes);
    std::vector<double> paces(std::size_t{devices} * devices);
    for (std::size_t from = 0; from < devices; ++from) {
        for (std::size_t to = 0; to < devices; ++to) {
            double moving_s = 0, latency_s = 0;
            for (const ChannelId channel : problem.machine->route(all[from], all[to])) {
                const double own_s = problem.channel_latency_s[channel];
                const double leg_s = std::max(0.0, transfer_time_s(problem.machine->channels()[channel], tensor_bytes) - own_s);
                // Through the memory of each device on its way, one after the other, or all at once at the pace of the slowest.
                moving_s = problem.crossing == Crossing::cut_through ? std::max(moving_s, leg_s) : moving_s + leg_s;
                latency_s += own_s;
            }
            const double time_s = latency_s + moving_s;
            if (time_s > 0) paces[from * devices + to] = 1 / time_s;
            const double both_ways = problem.inference ? 1 : 2;
            latency.push_back(static_cast<float>(both_ways * latency_s / way_s));
            byte_duration.push_back(static_cast<float>(tensor_bytes > 0 ? both_ways * moving_s / tensor_bytes / way_s : 0));
        }
    }
    link = shares(paces);
    for (std::size_t device = 0; device < devices; ++device) link[device * devices + device] = 1;
}

}  // namespace placewright
