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
    for (OpId op = 0; op < graph.size(); ++op) {
        if (graph.op(op).forward_op == kInvalidOp && is_about(constraint, graph.op(op))) ops.push_back(op);
    }
    return ops;
}

}  // namespace placewright
