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
/// Subtracts the number of edges of the part from `edges_left`, and returns no blocks if the part has more.
/// This limits the time for blocks within blocks: where every op reads nearly all ops before it, each level
/// only leaves out the first and the last op, and all levels together would take minutes.
std::vector<Block> parallel_blocks(const Graph& graph, std::span<const OpId> ops, std::size_t& edges_left);

/// The number of edges to begin with for all levels of blocks of a graph: enough for hundreds of levels of
/// most networks, and for eight levels of any graph.
std::size_t edges_for_blocks(const Graph& graph);

}  // namespace placewright
