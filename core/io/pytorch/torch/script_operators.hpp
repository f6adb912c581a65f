// SPDX-License-Identifier: MIT
// What is done to the arguments of a TorchScript operator before LibTorch runs it, and which operators may
// run.
#pragma once

#include <vector>

#include <torch/script.h>

namespace placewright {

/// Runs a node that the interpreter of TorchScript executes without an operator: one that makes or takes
/// apart lists, tuples, dicts and objects. Returns true if the results are on the stack.
bool construct(torch::jit::Node& node, std::vector<c10::IValue>& stack);

/// Replaces a second operand that is a constant tensor of one number by this number, as the interpreter
/// of TorchScript does (runRequiredPasses, CanonicalizeOps): a number has less influence on the type of
/// the result.
void take_as_number(const torch::jit::Node& node, std::vector<c10::IValue>& stack);

/// Returns whether an operator takes values of any type, as those on lists and dicts do; it only moves
/// these values.
bool moves_values(const c10::FunctionSchema* schema);

/// Returns whether an operator repeats a text or a list more than a million times.
bool repeats_too_often(const torch::jit::Node& node, const std::vector<c10::IValue>& stack);

/// Prepares the arguments of an operator: numbers are kept if they are sizes; all other tensors lose their
/// numbers, so that the operator takes neither time nor memory.
void forget_numbers(const torch::jit::Node& node, std::vector<c10::IValue>& stack);

/// Returns whether an operator may change anything but tensors: files (aten::save, aten::from_file), the
/// random numbers of this program, other computers. Only PyTorch's own operators are known not to.
bool reaches_out(const torch::jit::Node& node);

}  // namespace placewright
