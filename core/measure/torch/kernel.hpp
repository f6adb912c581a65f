// SPDX-License-Identifier: MIT
// What the forward pass of an op is in LibTorch. Its backward pass is that of LibTorch's autograd.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include "core/graph/graph.hpp"

namespace placewright {

using Shape = std::vector<std::int64_t>;
using Tensors = std::vector<at::Tensor>;

at::ScalarType scalar_type(DType dtype);

/// What a kernel reads, apart from what it knows of its op.
struct KernelCall {
    const Tensors& inputs;      ///< in the order of the op's inputs
    const Tensors& parameters;  ///< in the order of Kernel::parameters
    const Tensors& buffers;     ///< in the order of Kernel::buffers; may be changed
    at::Generator generator;    ///< for dropout
    at::TensorOptions options;  ///< type of the first output and device, for new tensors
    bool training = true;
};

/// The forward pass of one op, with everything decided that its file says.
struct Kernel {
    std::vector<Shape> parameters;  ///< trained
    std::vector<Shape> buffers;     ///< not trained
    std::function<Tensors(const KernelCall&)> forward;
};

/// Returns the kernel of an op that is neither derived nor Op::recomputes. Attributes that a file leaves out
/// are found from the shapes where only one value fits; where several fit and do not differ in work (which
/// half of a tensor a slice takes), it is the first. Throws std::invalid_argument with the reason if the kind
/// has no kernel, or shapes, parameters and attributes do not go together.
Kernel make_kernel(const Graph& graph, OpId op);

}  // namespace placewright
