// SPDX-License-Identifier: MIT
#include "app/window/constraint_edits.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/graph/constrained_ops.hpp"
#include "widgets/timeline_data.hpp"

namespace placewright {
namespace {

using Rule = Constraint::Rule;
using Members = std::vector<Constraint::Member>;

/// Whether a rule with these members still says something.
bool says(Rule rule, const Members& members) {
    if (rule == Rule::pin) return !members.empty();
    if (rule == Rule::together && members.size() == 1) return members.front().is_module;
    return members.size() > 1;
}

Constraints withoutPins(const Constraints& constraints, const Members& members) {
    Constraints result{{}, constraints.file};
    std::set<std::pair<std::string, bool>> without;
    for (const Constraint::Member& member : members) without.emplace(member.name, member.is_module);
    for (Constraint rule : constraints.rules) {
        if (rule.rule == Rule::pin) {
            std::erase_if(rule.members, [&](const Constraint::Member& member) {
                return without.contains({member.name, member.is_module});
            });
            if (rule.members.empty()) continue;
        }
        result.rules.push_back(std::move(rule));
    }
    return result;
}

}  // namespace

std::vector<Constraint::Member> membersOf(const GraphScene& scene, const Graph& graph, const OpList& ops) {
    std::set<OpId> selected;
    for (const OpId op : ops) selected.insert(forwardOf(graph, op));
    const std::vector<std::uint32_t> shown = scene.modules.shown_as(scene.closed);
    const auto moduleOf = [&](OpId op) {
        return op < scene.modules.scope_of.size() ? shown[scene.modules.scope_of[op]] : ScopeTree::kRoot;
    };
    std::map<std::uint32_t, std::size_t> inModule;
    for (const OpId op : selected) ++inModule[moduleOf(op)];
    Members members;
    std::set<std::uint32_t> known;
    for (const OpId op : selected) {
        const std::uint32_t module = moduleOf(op);
        if (module == ScopeTree::kRoot || inModule[module] < scene.modules.scopes[module].all_ops) {
            members.push_back({graph.op(op).name, false});
        } else if (known.insert(module).second) {
            members.push_back({scene.modules.scopes[module].path, true});
        }
    }
    return members;
}

Constraints pinnedTo(const Constraints& constraints, const Members& members, const std::string& device) {
    Constraints result = withoutPins(constraints, members);
    if (!members.empty()) result.rules.push_back({Rule::pin, members, {device}});
    return result;
}

Constraints pinnedHere(const Constraints& constraints, const Problem& problem, Members members,
                       const std::vector<DeviceId>& device) {
    Constraints result = withoutPins(constraints, members);
    std::map<DeviceId, Members> on;
    for (Constraint::Member& member : members) {
        const std::vector<OpId> ops = ops_of({Rule::pin, {member}, {}}, *problem.graph);
        const bool isWhole =
            std::ranges::all_of(ops, [&](OpId op) { return device[op] == device[ops.front()]; });
        if (ops.empty()) continue;
        if (isWhole) {
            on[device[ops.front()]].push_back(std::move(member));
            continue;
        }
        for (const OpId op : ops) on[device[op]].push_back({problem.graph->op(op).name, false});
    }
    for (auto& [where, pinned] : on) {
        result = withoutPins(result, pinned);
        result.rules.push_back({Rule::pin, std::move(pinned), {problem.machine->device(where).name}});
    }
    return result;
}

Constraints withoutOps(const Constraints& constraints, const Graph& graph, const OpList& ops) {
    Constraints result{{}, constraints.file};
    for (Constraint rule : constraints.rules) {
        std::erase_if(rule.members, [&](const Constraint::Member& member) {
            return std::ranges::any_of(
                ops, [&](OpId op) { return is_about(member, graph.op(forwardOf(graph, op))); });
        });
        if (says(rule.rule, rule.members)) result.rules.push_back(std::move(rule));
    }
    return result;
}

OpList pinnedOps(const Problem& problem) {
    OpList ops;
    for (const Constraint& rule : problem.constraints.rules) {
        if (rule.rule != Rule::pin) continue;
        const std::vector<OpId> pinned = ops_of(rule, *problem.graph);
        ops.insert(ops.end(), pinned.begin(), pinned.end());
    }
    std::ranges::sort(ops);
    ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
    return ops;
}

std::string pinAgainst(const Problem& problem, GroupId group, DeviceId device) {
    for (const Constraint& rule : problem.constraints.rules) {
        if (rule.rule != Rule::pin || std::ranges::any_of(rule.devices, [&](const std::string& name) {
                return problem.machine->matches(device, name);
            }))
            continue;
        if (std::ranges::any_of(problem.grouping.members[group],
                                [&](OpId op) { return is_about(rule, problem.graph->op(op)); }))
            return constraint_text(rule);
    }
    return {};
}

}  // namespace placewright
