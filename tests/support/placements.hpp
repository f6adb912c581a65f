// SPDX-License-Identifier: MIT
// All placements of a small problem.
#pragma once

#include <vector>

#include "core/cost/problem.hpp"

namespace placewright::test {

/// Calls `visit` with every placement of the groups on devices that they may be on.
void for_each_placement(const Problem& problem, const auto& visit) {
    std::vector<std::size_t> choice(problem.groups, 0);
    Placement placement(problem.groups);
    while (true) {
        for (GroupId group = 0; group < problem.groups; ++group)
            placement[group] = problem.allowed_devices(group)[choice[group]];
        visit(placement);
        GroupId group = 0;
        while (group < problem.groups && ++choice[group] == problem.allowed_devices(group).size())
            choice[group++] = 0;
        if (group == problem.groups) return;
    }
}

}  // namespace placewright::test
