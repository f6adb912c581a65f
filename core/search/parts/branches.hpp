// SPDX-License-Identifier: MIT
// Parallel parts of a graph.
#pragma once

#include <span>
#include <vector>

#include "core/graph/graph.hpp"

namespace placewright {

using Branch = std::vector<OpId>;  ///< ascending
using Block = std::vector<Branch>;

/// Returns the blocks of the part of `graph` that consists of `ops` (ascending), in topological order. Cut
/// ops are those that every path through the part passes. The ops between two consecutive cut ops (before the
/// first, after the last) form a block, and its branches are its weakly connected pieces. A part that is not
/// divided has no blocks. O((ops + edges) log ops).
std::vector<Block> parallel_blocks(const Graph& graph, std::span<const OpId> ops);

}  // namespace placewright
