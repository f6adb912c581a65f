// SPDX-License-Identifier: MIT
// Which ops of a network compute the same in every step.
#pragma once

#include <vector>

#include "core/graph/graph.hpp"

namespace placewright {

/// [op]: whether a forward op reads only constants, so that it has the same result in every step: tables of
/// rotary embeddings, masks and numbers of positions, and what slices or reshapes them. No path leads to such
/// an op from an input of the network or from a trained parameter. In a network whose file marks no inputs
/// (kind "input"), ops without inputs may read data: only those of kind "constant" count there. Ops of other
/// phases do not count. O(inputs).
std::vector<bool> reads_only_constants(const Graph& graph);

}  // namespace placewright
