// SPDX-License-Identifier: MIT
// Inputs that are proposed for a TorchScript model, which does not say how large its inputs are.
#pragma once

#include <vector>

#include <torch/script.h>

#include "core/io/pytorch/example_input.hpp"

namespace placewright {

/// Returns an input of a usual size for each argument that "forward" needs, found from the layers that read
/// the arguments; empty if one cannot be determined. Only inspects the code: nothing is run, and calls are
/// followed for a bounded number of steps.
std::vector<ExampleInput> proposed_inputs(const torch::jit::Module& module);

}  // namespace placewright
