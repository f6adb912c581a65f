// SPDX-License-Identifier: MIT
// Sizes of what operators of TorchScript give, where LibTorch would find them only by computing the numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <torch/script.h>

namespace placewright {

/// Numbers beyond which a text or list is not multiplied.
inline constexpr std::int64_t kMostElements = 1'000'000;

/// Whether a tensor has a size and no numbers (device "meta").
bool is_meta(const at::Tensor& tensor);
/// The same tensor without numbers.
at::Tensor without_numbers(const at::Tensor& tensor);

/// As TorchScript calls it, "conv2d" for aten::conv2d.
std::string_view operator_name(const torch::jit::Node& node);

/// What an operator gives, without numbers; nothing where LibTorch itself tells. Throws std::exception for inputs that do not fit.
std::optional<std::vector<c10::IValue>> result_by_shape(const torch::jit::Node& node, const std::vector<c10::IValue>& inputs);

}  // namespace placewright
