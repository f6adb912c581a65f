// SPDX-License-Identifier: MIT
// What an op writes in the forward pass for its backward alone.
#pragma once

#include <cstdint>
#include <optional>

#include "core/graph/graph.hpp"

namespace placewright {

/// Returns what the forward of an op writes beside its outputs and keeps for its backward, as one tensor:
/// - the mask of a kind that has one (KindInfo::mask_bytes), with the extents of its output;
/// - of multi_head_attention_forward, which PyTorch (torch/nn/functional.py) computes in single steps, the
/// projected queries, keys and values, the mixed values that the last projection reads, and the scores after
/// softmax, without extents. With the attribute "dropout" scores that dropout left and its mask are kept too;
/// with "fused", where the steps are scaled_dot_product_attention, a sum for each row instead of the scores.
///
/// Nothing for other ops, and where extents are unknown. Throws GraphError for a tensor that is too large.
std::optional<Tensor> kept_output(const Graph& graph, const Op& op);

}  // namespace placewright
