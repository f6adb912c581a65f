// SPDX-License-Identifier: MIT
// The parallel parts of a graph.
#pragma once

#include <span>
#include <vector>

#include "core/graph/graph.hpp"

namespace placewright {

using Branch = std::vector<OpId>;  ///< ascending
using Block = std::vector<Branch>;

/// The blocks of the part of `graph` that consists of `ops` (ascending), in topological order. Cut ops are those that every path through
/// the part passes; what lies between two consecutive cut ops (before the first, after the last) is a block, and its branches are
/// its weakly connected pieces. A part that this does not divide has no blocks. O((ops + edges) log ops).
std::vector<Block> parallel_blocks(const Graph& graph, std::span<const OpId> ops);

}  // namespace placewright
