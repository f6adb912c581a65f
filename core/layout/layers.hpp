// SPDX-License-Identifier: MIT
#pragma once

#include "core/layout/layout.hpp"

namespace placewright {

/// Throws std::invalid_argument unless sizes are finite and not negative and edges join known, different nodes.
void check(const LayoutInput& input);

/// Layer of each node: below all of its producers, no more layers than the longest path has nodes, and edges short in all: what has room to
/// move is relaxed towards its neighbours. O(nodes + edges). Throws std::invalid_argument if the edges form a cycle.
std::vector<std::uint32_t> layers(const LayoutInput& input);

}  // namespace placewright
