// SPDX-License-Identifier: MIT
// Which ops move together. A placement gives one device to each group; it is simulated op by op all the same.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.hpp"

namespace placewright {

using GroupId = std::uint32_t;

struct Grouping {
    std::vector<GroupId> group_of;           ///< by op
    std::vector<std::vector<OpId>> members;  ///< by group, ascending; groups are ordered by their first op

    std::size_t size() const { return members.size(); }
};

enum class GroupingRule : std::uint8_t {
    none,        ///< the finest that the graph allows
    colocation,  ///< ColocRL (Mirhoseini et al., 2017): an op whose outputs one other op alone reads goes with that one
    scope,       ///< the ops of a module together
    merge,       ///< Placeto (Addanki et al., 2019): the group with the smallest outputs joins a neighbour, again and again
};
std::string_view to_string(GroupingRule rule);
std::optional<GroupingRule> grouping_rule_from(std::string_view text);

struct GroupingOptions {
    GroupingRule rule = GroupingRule::none;
    std::uint32_t scope_depth = 1;       ///< parts of an op's scope that count: 1 for the outermost module
    std::uint32_t merge_groups = 64;     ///< merge until there are so many groups, ...
    std::int64_t merge_below_bytes = 0;  ///< ... or, where this is positive, until every group has outputs of so many bytes

    bool operator==(const GroupingOptions&) const = default;
};

/// The finest grouping that the graph allows: each forward op with its derived backward and update ops, and ops with the same
/// colocation label together. A backward or update op of an explicit training graph without label is a group of its own.
Grouping group_by_constraints(const Graph& graph);

/// Those groups, merged by a rule. Derived ops follow their forward op and count for none of the rules. `allowed` [op][device]: where each
/// op may be, with an empty list for anywhere; groups that no device allows together are not merged. Empty: all ops may be anywhere.
///
/// - colocation: every op whose outputs exactly one other op reads, with that one; an update op with the parameters that it reads, as
///   TensorFlow has it. Adds no cycle between groups where labels keep no others together. O(inputs).
/// - scope: ops whose scopes begin with the same `scope_depth` parts (a shorter scope counts whole). Ops without a scope stay as they are.
///   Groups may be in a cycle with each other. O(ops).
/// - merge: the group with the smallest outputs (the first of equals) joins the neighbour that it shares most bytes with (of equals a
///   producer, then the first), skipping those that would close a cycle between groups; a group without neighbours joins the one before
///   it, or else behind it. Ends with exactly the number of groups that is asked for where the graph has as many and devices do not
///   forbid it. Adds no cycle. O(groups * edges) at worst.
Grouping group_ops(const Graph& graph, const GroupingOptions& options, std::span<const std::vector<bool>> allowed = {});

/// A network of more forward ops than this is large: nobody looks at its ops one by one, and a search that moves them one by one gets
/// nowhere.
inline constexpr std::size_t kLargeNetwork = 2000;

/// How to group the ops of a network unless a person says: a large one by the innermost modules that leave at most `most_groups` groups,
/// or merged to so many where modules leave fewer than an eighth of that (or more than all); others not at all.
GroupingOptions default_grouping(const Graph& forward, std::uint32_t most_groups = 500);

}  // namespace placewright
