// SPDX-License-Identifier: MIT
// Parallel parts of a graph.
#pragma once

#include <cstddef>
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
///
/// Takes the edges of the part from `edges_left`; finds no blocks if there are too few. Where every op reads
/// nearly all before it, each level of blocks within blocks only leaves out the two ends, so that all levels
/// together would take minutes.
std::vector<Block> parallel_blocks(const Graph& graph, std::span<const OpId> ops, std::size_t& edges_left);

/// Edges for all levels of a graph: dozens of levels, but for large graphs that take long.
std::size_t edges_for_blocks(const Graph& graph);

}  // namespace placewright
