// SPDX-License-Identifier: MIT
// Groups of ops that move together. A placement assigns a device to each group; simulation is still op by op.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.hpp"

namespace placewright {

using GroupId = std::uint32_t;

/// Part of a rule that keeps ops apart (Constraint::Rule::apart).
struct ApartPart {
    std::uint32_t rule = 0, part = 0;

    auto operator<=>(const ApartPart&) const = default;
};
/// Ascending; several parts of one rule contradict each other.
using ApartParts = std::vector<ApartPart>;

struct Grouping {
    std::vector<GroupId> group_of;           ///< [op]
    std::vector<std::vector<OpId>> members;  ///< [group], ascending; groups are ordered by their first op

    std::size_t size() const { return members.size(); }
};

enum class GroupingRule : std::uint8_t {
    none,        ///< the finest grouping that the graph allows
    colocation,  ///< ColocRL (Mirhoseini et al., 2017): an op whose outputs only one other op reads
                 ///< joins that op
    scope,       ///< the ops of a module together
    merge,       ///< Placeto (Addanki et al., 2019): the group with the smallest outputs joins a neighbour,
                 ///< repeatedly
};
std::string_view to_string(GroupingRule rule);
std::optional<GroupingRule> grouping_rule_from(std::string_view text);

struct GroupingOptions {
    GroupingRule rule = GroupingRule::none;
    std::uint32_t scope_depth = 1;    ///< leading parts of an op's scope that count; 1: the outermost module
    std::uint32_t merge_groups = 64;  ///< merge until there are this number of groups, ...
    /// ... or, if this is positive, until the outputs of every group have at least this number of bytes.
    std::int64_t merge_below_bytes = 0;

    bool operator==(const GroupingOptions&) const = default;
};

/// The finest grouping that the graph allows: each forward op with its derived backward and update ops, and
/// all ops with the same colocation label. A backward or update op of an explicit training graph without a
/// label is a group of its own.
Grouping group_by_constraints(const Graph& graph);

/// Starts from group_by_constraints and merges groups by a rule. Derived ops follow their forward op; the
/// rules ignore them. `allowed` [op][device]: whether the op may be placed on the device; an empty inner list
/// allows all devices, an empty span allows everything. Groups that no device allows together are not merged,
/// nor are those that `apart` [op] keeps apart. Each list of `together` is one group, whatever else is said.
///
/// - colocation: every op whose outputs exactly one other op reads joins that op (a cast of autocast counts
/// as
///   the ops that read it); an update op joins the parameters that it reads, as in TensorFlow. Adds no cycle
///   between groups unless labels keep other ops together. O(inputs).
/// - scope: groups ops whose scopes begin with the same `scope_depth` parts (a shorter scope counts whole).
///   Ops without a scope are not merged. Groups may form cycles. O(ops).
/// - merge: the group with the smallest outputs (the first of equals) joins the neighbour with which it
///   shares most bytes (of equals a producer, then the first), skipping neighbours that would close a cycle
///   between groups. A group without neighbours joins the group before it, or else the one behind it. Ends
///   with exactly the number of groups asked for if the graph has as many and device constraints permit. Adds
///   no cycle. O(groups * edges) at worst.
Grouping group_ops(const Graph& graph, const GroupingOptions& options,
                   std::span<const std::vector<bool>> allowed = {},
                   std::span<const std::vector<OpId>> together = {}, std::span<const ApartParts> apart = {});

/// Networks with more forward ops than this are large: too many to inspect, or to search, op by op.
inline constexpr std::size_t kLargeNetwork = 2000;

/// Default grouping of a network. Large networks are grouped by the innermost modules that leave at most
/// `most_groups` groups; if modules leave fewer than an eighth of that (or always more), ops are merged to
/// `most_groups` groups. Other networks are not grouped.
GroupingOptions default_grouping(const Graph& forward, std::uint32_t most_groups = 500);

}  // namespace placewright
