// SPDX-License-Identifier: MIT
// Through which ops and tensors of a network gradients flow in training.
#pragma once

#include <vector>

#include "core/graph/graph.hpp"

namespace placewright {

/// [op]: whether gradients flow through the op in training: it has parameters, or reads a tensor that carries
/// a gradient. `graph` has forward ops alone.
std::vector<bool> needs_gradient(const Graph& graph);
/// Whether a tensor of such a graph has a gradient, given needs_gradient(): its op needs one and its type has
/// fractions. "f/backward" has one output for each input of f of which this is true, in the order of the
/// inputs.
bool carries_gradient(const Graph& graph, const std::vector<bool>& needs_gradient, const TensorRef& tensor);

}  // namespace placewright
