// SPDX-License-Identifier: MIT
// Blocks of a network that a residual connection spans.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.hpp"

namespace placewright {

/// The block of a residual connection.
struct ResidualBlock {
    std::string scope;      ///< innermost scope that contains the block; empty for none
    OpId add = kInvalidOp;  ///< the add of the residual connection
    std::vector<OpId> ops;
};

/// Returns the blocks in the order of their adds. For an add of two tensors of the same size as its result,
/// the fork is the last op that both depend on; the block is the add and all ops between.
std::vector<ResidualBlock> residual_blocks(const Graph& graph);

/// Returns the depth (GroupingOptions::scope_depth) at which groups by module cut no residual connection that
/// is within a module: that of the outermost block; nothing if there is no such block.
std::optional<std::uint32_t> depth_of_blocks(const Graph& graph);

}  // namespace placewright
