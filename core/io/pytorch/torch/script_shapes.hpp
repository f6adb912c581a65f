// SPDX-License-Identifier: MIT
// Sizes of the results of TorchScript operators for which LibTorch would have to compute the numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <torch/script.h>

namespace placewright {

/// Maximum number of elements of a text or list that an operator makes.
inline constexpr std::int64_t kMostElements = 1'000'000;

/// Returns whether a tensor has a size but no numbers (device "meta").
bool is_meta(const at::Tensor& tensor);
/// Returns the same tensor without numbers.
at::Tensor without_numbers(const at::Tensor& tensor);

/// Returns the operator's name without namespace: "conv2d" for aten::conv2d.
std::string_view operator_name(const torch::jit::Node& node);

/// Returns the results of an operator as tensors without numbers; nothing if LibTorch itself infers them.
/// Throws std::exception for inputs that do not match.
std::optional<std::vector<c10::IValue>> result_by_shape(const torch::jit::Node& node,
                                                        const std::vector<c10::IValue>& inputs);

}  // namespace placewright
