// SPDX-License-Identifier: MIT
// Small tensors of known values, from which an ONNX model computes shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <onnx/onnx_pb.h>

namespace placewright {

/// Maximum of numbers kept per value: shapes have few numbers, positions of tokens some thousands.
inline constexpr std::size_t kMostNumbers = 8192;
/// Maximum rank of tensors with known numbers: a matrix.
inline constexpr std::size_t kMostRank = 2;

/// A small tensor of known values. Integers up to 2^53 are exact; larger ones mean "to the end".
struct Numbers {
    std::vector<std::int64_t> shape;  ///< of rank 0, 1 or 2
    std::int32_t type = onnx::TensorProto::INT64;
    std::vector<double> values;

    std::vector<std::int64_t> whole() const;
};

/// Returns the numbers of a stored tensor; nothing if it is large, has more than one dimension or is stored
/// elsewhere.
std::optional<Numbers> numbers_of(const onnx::TensorProto& tensor);
/// Returns the tensor that stores these numbers.
onnx::TensorProto stored_tensor(const Numbers& numbers);

/// Returns whether an element type of ONNX is a floating-point type.
bool is_real(std::int32_t type);

}  // namespace placewright
