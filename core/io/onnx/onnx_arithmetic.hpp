// SPDX-License-Identifier: MIT
// Constant folding: the ops of ONNX that models use to compute shapes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "core/io/onnx/onnx_numbers.hpp"

namespace placewright {

using Operands = std::vector<const Numbers*>;
using FoldingFunction = std::optional<Numbers> (*)(const onnx::NodeProto&, const Operands&);

/// Returns the function that computes the first output of an op from the numbers of all its inputs, of which
/// there is at least one; nullptr for an op that is not evaluated. The function returns nothing for what it
/// cannot compute.
FoldingFunction find_folding_function(const std::string& op);

/// Returns whether the first input of an op may be a matrix: ops that keep numbers or reorder them, as
/// PyTorch reverses the pads of Pad in a matrix. Other inputs have at most one dimension.
bool takes_matrices(const std::string& op);

}  // namespace placewright
