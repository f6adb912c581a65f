// SPDX-License-Identifier: MIT
#pragma once

#include "core/layout/layout.hpp"

namespace placewright {

/// Throws std::invalid_argument unless sizes are finite and not negative and edges connect existing,
/// different nodes.
void check(const LayoutInput& input);

/// Mean width or mean height of the nodes, whichever is less: the measure of distances between nodes.
double mean_short_side(const LayoutInput& input);

/// [node]: its layer, below those of all its producers. There are no more layers than the longest path has
/// nodes, and the edges are short in total: nodes that have room to move are relaxed towards their
/// neighbours. O(nodes + edges). Throws std::invalid_argument if the edges form a cycle.
std::vector<std::uint32_t> layers(const LayoutInput& input);

}  // namespace placewright
