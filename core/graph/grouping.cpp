// SPDX-License-Identifier: MIT
#include "core/graph/grouping.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <queue>

#include "core/base/infinity.hpp"
#include "core/graph/kinds.hpp"

namespace placewright {
namespace {

constexpr std::array<std::string_view, 4> kRules{"none", "colocation", "scope", "merge"};

/// Disjoint sets of ops, identified by their first op, with the devices that all ops of a set allow.
class OpSets {
public:
    OpSets(std::size_t ops, std::span<const std::vector<bool>> allowed, std::span<const ApartParts> apart)
        : parent_(ops), allowed_(allowed.begin(), allowed.end()), apart_(apart.begin(), apart.end()) {
        std::iota(parent_.begin(), parent_.end(), OpId{0});
        allowed_.resize(ops);
    }

    OpId first(OpId op) {
        while (parent_[op] != op) op = parent_[op] = parent_[parent_[op]];
        return op;
    }

    bool may_merge(OpId a, OpId b) {
        if (are_apart(a, b)) return false;
        const std::vector<bool>& in_a = allowed_[first(a)];
        const std::vector<bool>& in_b = allowed_[first(b)];
        if (in_a.empty() || in_b.empty()) return true;
        for (std::size_t device = 0; device < in_a.size(); ++device) {
            if (in_a[device] && in_b[device]) return true;
        }
        return false;
    }

    void merge(OpId a, OpId b) {
        a = first(a);
        b = first(b);
        if (a == b) return;
        if (a > b) std::swap(a, b);
        parent_[b] = a;
        if (!apart_.empty()) {
            ApartParts parts;
            std::ranges::set_union(apart_[a], apart_[b], std::back_inserter(parts));
            apart_[a] = std::move(parts);
        }
        std::vector<bool>& together = allowed_[a];
        if (together.empty()) {
            together = std::move(allowed_[b]);
        } else {
            for (std::size_t device = 0; device < allowed_[b].size(); ++device)
                together[device] = together[device] && allowed_[b][device];
        }
    }

    void merge_if_allowed(OpId a, OpId b) {
        if (may_merge(a, b)) merge(a, b);
    }

    Grouping grouping() {
        Grouping grouping;
        grouping.group_of.resize(parent_.size());
        for (OpId op = 0; op < parent_.size(); ++op) {
            if (first(op) == op) {
                grouping.group_of[op] = static_cast<GroupId>(grouping.members.size());
                grouping.members.emplace_back();
            } else {
                grouping.group_of[op] = grouping.group_of[first(op)];
            }
            grouping.members[grouping.group_of[op]].push_back(op);
        }
        return grouping;
    }

private:
    bool are_apart(OpId a, OpId b) {
        if (apart_.empty()) return false;
        for (const ApartPart& one : apart_[first(a)]) {
            for (const ApartPart& other : apart_[first(b)]) {
                if (one.rule == other.rule && one.part != other.part) return true;
            }
        }
        return false;
    }

    std::vector<OpId> parent_;
    std::vector<std::vector<bool>> allowed_;  ///< [first op of a set]; empty: all devices
    std::vector<ApartParts> apart_;           ///< [first op of a set]; empty: nothing is kept apart
};

void merge_by_constraints(const Graph& graph, OpSets& sets) {
    std::unordered_map<std::string_view, OpId> first_with_label;
    for (OpId id = 0; id < graph.size(); ++id) {
        const Op& op = graph.op(id);
        if (op.forward_op != kInvalidOp) sets.merge(id, op.forward_op);
        if (!op.colocate.empty()) sets.merge(id, first_with_label.try_emplace(op.colocate, id).first->second);
    }
}

bool is_derived(const Op& op) {
    return op.forward_op != kInvalidOp;
}

void merge_by_readers(const Graph& graph, OpSets& sets) {
    for (OpId id = 0; id < graph.size(); ++id) {
        if (is_derived(graph.op(id)) || graph.op(id).autocast) continue;
        OpId reader = kInvalidOp;
        std::size_t readers = 0;
        for (const OpId consumer : graph.model_consumers(id)) {
            if (is_derived(graph.op(consumer))) continue;
            reader = consumer;
            ++readers;
        }
        if (readers == 1) sets.merge_if_allowed(id, reader);
        if (graph.op(id).phase != Phase::update) continue;
        for (const OpId producer : graph.producers(id)) {
            if (kind_info(graph.op(producer).kind).parameter) sets.merge_if_allowed(id, producer);
        }
    }
}

/// The first `depth` parts of a scope.
std::string_view outer_scope(std::string_view scope, std::uint32_t depth) {
    std::size_t end = 0;
    for (std::uint32_t part = 0; part < depth; ++part) {
        end = scope.find('/', part == 0 ? 0 : end + 1);
        if (end == std::string_view::npos) return scope;
    }
    return scope.substr(0, end);
}

void merge_by_scope(const Graph& graph, std::uint32_t depth, OpSets& sets) {
    // A scope has several sets if device constraints keep them apart.
    std::unordered_map<std::string_view, std::vector<OpId>> of_scope;
    for (OpId id = 0; id < graph.size(); ++id) {
        const Op& op = graph.op(id);
        if (is_derived(op) || op.scope.empty()) continue;
        std::vector<OpId>& begun = of_scope[outer_scope(op.scope, depth)];
        const auto found = std::ranges::find_if(begun, [&](OpId other) { return sets.may_merge(id, other); });
        if (found == begun.end()) {
            begun.push_back(id);
        } else {
            sets.merge(id, *found);
        }
    }
}

/// The groups while they are merged, each identified by its first op.
class Merging {
public:
    Merging(const Graph& graph, OpSets& sets) : sets_(sets), nodes_(graph.size()), seen_(graph.size(), 0) {
        for (OpId id = 0; id < graph.size(); ++id) {
            const Op& op = graph.op(id);
            const OpId group = sets.first(id);
            nodes_[group].alive = true;
            if (is_derived(op)) continue;
            for (const Tensor& output : op.outputs)
                nodes_[group].output_bytes += static_cast<double>(output.bytes);
            for (const TensorRef& input : op.inputs) {
                const OpId producer = sets.first(input.op);
                if (producer == group || is_derived(graph.op(input.op))) continue;
                const auto bytes = static_cast<double>(graph.op(input.op).outputs[input.output].bytes);
                nodes_[group].before[producer] += bytes;
                nodes_[producer].after[group] += bytes;
            }
        }
        for (OpId group = 0; group < nodes_.size(); ++group) {
            if (nodes_[group].alive) by_cost_.emplace(nodes_[group].output_bytes, group);
        }
        order();
    }

    std::size_t size() const { return by_cost_.size(); }

    /// Merges the smallest group that can be merged into a neighbour, if it has less than `below_bytes`.
    bool merge_smallest(double below_bytes) {
        for (const auto& [bytes, group] : by_cost_) {
            if (bytes >= below_bytes) return false;
            const OpId partner = partner_of(group);
            if (partner == kInvalidOp) continue;
            merge(group, partner);
            return true;
        }
        return false;
    }

private:
    struct Node {
        bool alive = false;
        double output_bytes = 0;
        std::map<OpId, double> before,
            after;  ///< groups that it reads from, and groups that read from it, with the bytes
    };

    OpId partner_of(OpId group) {
        const Node& node = nodes_[group];
        if (node.before.empty() && node.after.empty()) return nearest(group);
        std::map<OpId, double> shared = node.before;
        for (const auto& [other, bytes] : node.after) shared[other] += bytes;
        std::vector<std::tuple<double, bool, OpId>> order;
        for (const auto& [other, bytes] : shared)
            order.emplace_back(-bytes, !node.before.contains(other), other);
        std::ranges::sort(order);
        for (const auto& [bytes, reads, other] : order) {
            if (sets_.may_merge(group, other) && !closes_cycle(group, other)) return other;
        }
        return kInvalidOp;
    }

    OpId nearest(OpId group) {
        for (OpId other = group; other-- > 0;) {
            if (nodes_[other].alive && sets_.may_merge(group, other)) return other;
        }
        for (OpId other = group + 1; other < nodes_.size(); ++other) {
            if (nodes_[other].alive && sets_.may_merge(group, other)) return other;
        }
        return kInvalidOp;
    }

    /// Numbers the groups so that each comes behind those that it reads from, if they have no cycle.
    void order() {
        std::vector<std::size_t> missing(nodes_.size());
        std::priority_queue<OpId, std::vector<OpId>, std::greater<>> ready;
        for (OpId group = 0; group < nodes_.size(); ++group) {
            missing[group] = nodes_[group].before.size();
            if (nodes_[group].alive && missing[group] == 0) ready.push(group);
        }
        place_.resize(nodes_.size());
        std::uint32_t placed = 0;
        while (!ready.empty()) {
            const OpId group = ready.top();
            ready.pop();
            place_[group] = placed++;
            for (const auto& [next, bytes] : nodes_[group].after) {
                if (--missing[next] == 0) ready.push(next);
            }
        }
        is_ordered_ = placed == size();
    }

    /// Before two groups without a detour are merged: changes the order so that what reads from the first,
    /// directly or not, comes behind both, and what the second reads from comes before both. Only what lies
    /// between them moves (Pearce and Kelly, 2006).
    void bring_together(OpId a, OpId b) {
        if (!is_ordered_) return;
        if (place_[a] > place_[b]) std::swap(a, b);
        const std::uint32_t low = place_[a], high = place_[b];
        const auto between = [&](OpId start, OpId end, std::map<OpId, double> Node::*next) {
            ++search_;
            seen_[start] = seen_[end] = search_;
            std::vector<OpId> found{start};
            for (std::size_t i = 0; i < found.size(); ++i) {
                for (const auto& [group, bytes] : nodes_[found[i]].*next) {
                    if (place_[group] > low && place_[group] < high &&
                        std::exchange(seen_[group], search_) != search_)
                        found.push_back(group);
                }
            }
            found.erase(found.begin());
            std::ranges::sort(found, {}, [&](OpId group) { return place_[group]; });
            return found;
        };
        std::vector<OpId> moved = between(b, a, &Node::before);
        const std::vector<OpId> behind = between(a, b, &Node::after);
        moved.push_back(a);
        moved.push_back(b);
        moved.insert(moved.end(), behind.begin(), behind.end());
        std::vector<std::uint32_t> places;
        for (const OpId group : moved) places.push_back(place_[group]);
        std::ranges::sort(places);
        for (std::size_t i = 0; i < moved.size(); ++i) place_[moved[i]] = places[i];
    }

    /// Whether a third group lies on a path from one to the other, unless all three already are in a cycle.
    bool closes_cycle(OpId a, OpId b) {
        const bool forth = has_detour(a, b);
        const bool back = has_detour(b, a);
        return (forth && !back && !nodes_[b].after.contains(a)) ||
               (back && !forth && !nodes_[a].after.contains(b));
    }

    bool has_detour(OpId from, OpId to) {
        if (nodes_[to].before.size() <= nodes_[to].before.count(from)) return false;
        if (is_ordered_ && place_[from] > place_[to]) return false;
        ++search_;
        std::vector<OpId> open;
        const auto visit = [&](OpId group) {
            if (is_ordered_ && place_[group] > place_[to]) return;  // nothing behind `to` leads to it
            if (std::exchange(seen_[group], search_) != search_) open.push_back(group);
        };
        seen_[from] = search_;
        for (const auto& [next, bytes] : nodes_[from].after) {
            if (next != to) visit(next);
        }
        while (!open.empty()) {
            const OpId group = open.back();
            open.pop_back();
            if (nodes_[group].after.contains(to)) return true;
            for (const auto& [next, bytes] : nodes_[group].after) visit(next);
        }
        return false;
    }

    void merge(OpId a, OpId b) {
        bring_together(a, b);
        sets_.merge(a, b);
        if (a > b) std::swap(a, b);
        by_cost_.erase({nodes_[a].output_bytes, a});
        by_cost_.erase({nodes_[b].output_bytes, b});
        Node gone = std::exchange(nodes_[b], {});
        Node& node = nodes_[a];
        node.before.erase(b);
        node.after.erase(b);
        gone.before.erase(a);
        gone.after.erase(a);
        for (const auto& [other, bytes] : gone.before) {
            node.before[other] += bytes;
            nodes_[other].after.erase(b);
            nodes_[other].after[a] += bytes;
        }
        for (const auto& [other, bytes] : gone.after) {
            node.after[other] += bytes;
            nodes_[other].before.erase(b);
            nodes_[other].before[a] += bytes;
        }
        node.output_bytes += gone.output_bytes;
        by_cost_.emplace(node.output_bytes, a);
    }

    OpSets& sets_;
    std::vector<Node> nodes_;
    std::set<std::pair<double, OpId>> by_cost_;
    std::vector<std::uint32_t> seen_;  ///< [group]: the last search that reached it
    std::uint32_t search_ = 0;
    std::vector<std::uint32_t> place_;  ///< [group]: in a topological order, if there is one
    bool is_ordered_ = false;
};

void merge_small(const Graph& graph, const GroupingOptions& options, OpSets& sets) {
    Merging merging(graph, sets);
    if (options.merge_below_bytes > 0) {
        while (merging.merge_smallest(static_cast<double>(options.merge_below_bytes))) {
        }
        return;
    }
    while (merging.size() > options.merge_groups && merging.merge_smallest(kInfinity)) {
    }
}

}  // namespace

std::string_view to_string(GroupingRule rule) {
    return kRules[static_cast<std::size_t>(rule)];
}

std::optional<GroupingRule> grouping_rule_from(std::string_view text) {
    const auto* const found = std::ranges::find(kRules, text);
    if (found == kRules.end()) return {};
    return static_cast<GroupingRule>(found - kRules.begin());
}

Grouping group_by_constraints(const Graph& graph) {
    return group_ops(graph, {});
}

GroupingOptions default_grouping(const Graph& forward, std::uint32_t most_groups) {
    GroupingOptions options;
    if (forward.size() <= kLargeNetwork) return options;
    options.rule = GroupingRule::merge;
    options.merge_groups = most_groups;
    constexpr std::uint32_t kDeepest = 16;
    for (std::uint32_t depth = 1; depth <= kDeepest; ++depth) {
        std::unordered_set<std::string_view> scopes;
        std::size_t groups = 0, deeper = 0;
        for (const Op& op : forward.ops()) {
            const std::string_view scope = outer_scope(op.scope, depth);
            groups += scope.empty() || scopes.insert(scope).second;
            deeper += scope.size() < op.scope.size();
        }
        if (groups > most_groups) break;
        if (groups >= most_groups / 8) {
            options.rule = GroupingRule::scope;
            options.scope_depth = depth;
        }
        if (deeper == 0) break;
    }
    return options;
}

Grouping group_ops(const Graph& graph, const GroupingOptions& options,
                   std::span<const std::vector<bool>> allowed, std::span<const std::vector<OpId>> together,
                   std::span<const ApartParts> apart) {
    OpSets sets(graph.size(), allowed, apart);
    merge_by_constraints(graph, sets);
    for (const std::vector<OpId>& ops : together) {
        for (const OpId op : ops) sets.merge(ops.front(), op);
    }
    switch (options.rule) {
        case GroupingRule::none:
            break;
        case GroupingRule::colocation:
            merge_by_readers(graph, sets);
            break;
        case GroupingRule::scope:
            merge_by_scope(graph, options.scope_depth, sets);
            break;
        case GroupingRule::merge:
            merge_small(graph, options, sets);
            break;
    }
    return sets.grouping();
}

}  // namespace placewright
