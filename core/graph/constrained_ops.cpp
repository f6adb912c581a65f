// SPDX-License-Identifier: MIT
#include "core/graph/constrained_ops.hpp"

#include <algorithm>

namespace placewright {

bool is_about(const Constraint::Member& member, const Op& op) {
    return member.is_module ? is_in_module(op.scope, member.name) : op.name == member.name;
}

bool is_about(const Constraint& constraint, const Op& op) {
    return std::ranges::any_of(constraint.members,
                               [&](const Constraint::Member& member) { return is_about(member, op); });
}

std::vector<OpId> ops_of(const Constraint& constraint, const Graph& graph) {
    std::vector<OpId> ops;
    const auto add = [&](OpId op) {
        if (graph.op(op).forward_op == kInvalidOp) ops.push_back(op);
    };
    bool has_modules = false;
    for (const Constraint::Member& member : constraint.members) {
        has_modules |= member.is_module;
        if (const auto op = member.is_module ? std::nullopt : graph.find(member.name)) add(*op);
    }
    for (OpId op = 0; has_modules && op < graph.size(); ++op) {
        if (std::ranges::any_of(constraint.members, [&](const Constraint::Member& member) {
                return member.is_module && is_about(member, graph.op(op));
            }))
            add(op);
    }
    std::ranges::sort(ops);
    ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
    return ops;
}

}  // namespace placewright
