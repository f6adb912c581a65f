// SPDX-License-Identifier: MIT
// Which ops of a graph a rule is about.
#pragma once

#include <vector>

#include "core/graph/constraints.hpp"
#include "core/graph/graph.hpp"

namespace placewright {

/// Whether the member is the op, or the module that it lies in.
bool is_about(const Constraint::Member& member, const Op& op);
bool is_about(const Constraint& constraint, const Op& op);

/// The ops that the rule is about, ascending; backward and update ops that follow a forward op are left out.
std::vector<OpId> ops_of(const Constraint& constraint, const Graph& graph);

}  // namespace placewright
