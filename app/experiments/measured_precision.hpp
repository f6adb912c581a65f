// SPDX-License-Identifier: MIT
// The types of numbers that training frameworks choose for a network in float32.
#pragma once

#include "core/graph/graph.hpp"

namespace placewright {

/// The forward ops as torch.autocast runs them: products in float16, layer norms, softmax and losses in
/// float32, all others in the widest type that they read, with a copy ("to") of each tensor that has another
/// type than its reader wants. Parameters stay in float32.
Graph autocast(const Graph& graph);

/// All numbers but integers in float16, parameters too.
Graph in_half_precision(const Graph& graph);

}  // namespace placewright
