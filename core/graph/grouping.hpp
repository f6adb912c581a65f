// SPDX-License-Identifier: MIT
// Which ops move together. A placement gives one device to each group.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/graph.hpp"

namespace placewright {

using GroupId = std::uint32_t;

struct Grouping {
    std::vector<GroupId> group_of;           ///< by op
    std::vector<std::vector<OpId>> members;  ///< by group, ascending; groups are ordered by their first op

    std::size_t size() const { return members.size(); }
};

/// The finest grouping that the graph allows: each forward op with its derived backward and update ops, and ops with the same
/// colocation label together. A backward or update op of an explicit training graph without label is a group of its own.
Grouping group_by_constraints(const Graph& graph);

}  // namespace placewright
