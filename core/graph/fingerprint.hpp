// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "core/graph/graph.hpp"

namespace placewright {

/// Returns 16 hexadecimal digits that tell graphs apart by names, FLOPs and parameters of their ops: whether
/// a file still holds the network that it held before. problem_fingerprint() is the identity for results.
/// O(ops).
std::string graph_fingerprint(const Graph& graph);

}  // namespace placewright
