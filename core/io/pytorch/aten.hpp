// SPDX-License-Identifier: MIT
// Converts operators of ATen to ops of a network.
#pragma once

#include <functional>

#include "core/io/networks/traced_program.hpp"
#include "core/io/pytorch/aten_call.hpp"

namespace placewright {

/// Returns the node of a call: kind, window and attributes from the operator's schema
/// (https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/native_functions.yaml), the inputs in
/// the order of the kind's functional form. An operator without a kind keeps its own name as kind. An
/// operator that uses only the shape of its input (zeros_like) has no inputs. `tensor_of` returns the tensor
/// of a value, nullptr for an unknown one.
Program::Node aten_node(const AtenCall& call,
                        const std::function<const Tensor*(const std::string&)>& tensor_of);

}  // namespace placewright
