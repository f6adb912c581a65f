// SPDX-License-Identifier: MIT
// Changes of the rules for placements, by what is selected.
#pragma once

#include <string>
#include <vector>

#include "core/cost/problem.hpp"
#include "widgets/graph_scene.hpp"
#include "widgets/op_view.hpp"

namespace placewright {

/// What is selected as it is drawn: a closed module whose ops are all selected is one member, other ops are
/// members by themselves. Backward and update ops count as their forward op.
std::vector<Constraint::Member> membersOf(const GraphScene& scene, const Graph& graph, const OpList& ops);

/// The rules with these ops pinned to the devices where they are (`device` [op]), in place of earlier pins.
Constraints pinnedHere(const Constraints& constraints, const Problem& problem,
                       std::vector<Constraint::Member> members, const std::vector<DeviceId>& device);
/// The same with one device for all.
Constraints pinnedTo(const Constraints& constraints, const std::vector<Constraint::Member>& members,
                     const std::string& device);
/// The rules without the members that these ops are or lie in; a rule that then says nothing goes.
Constraints withoutOps(const Constraints& constraints, const Graph& graph, const OpList& ops);

/// The ops that are pinned by a rule.
OpList pinnedOps(const Problem& problem);

/// The text of a rule that pins an op of the group to other devices; empty if none does.
std::string pinAgainst(const Problem& problem, GroupId group, DeviceId device);

}  // namespace placewright
