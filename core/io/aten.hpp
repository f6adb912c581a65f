// SPDX-License-Identifier: MIT
// Operators of ATen as ops of a network.
#pragma once

#include <functional>

#include "core/graph/aten_call.hpp"
#include "core/io/program.hpp"

namespace placewright {

/// The node of a call: kind, window and attributes from the operator's schema
/// (https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/native_functions.yaml), the inputs in the order of the kind's
/// functional form. Operators that have no kind keep their own name as kind. Those that take but the shape of what they read
/// (zeros_like) read nothing. `tensor_of` gives the tensors of values, null for an unknown one.
Program::Node aten_node(const AtenCall& call, const std::function<const Tensor*(const std::string&)>& tensor_of);

}  // namespace placewright
