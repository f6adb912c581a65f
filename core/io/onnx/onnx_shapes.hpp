// SPDX-License-Identifier: MIT
// Shapes that the ONNX library does not infer, or infers only for newer operator sets.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <onnx/onnx_pb.h>

#include "core/io/onnx/onnx_scope.hpp"

namespace placewright {

/// Returns the product of extents; 1 for none.
double product(const std::vector<std::int64_t>& extents);

/// Extents of Attention(queries, keys, values) of operator set 23, or of MultiHeadAttention or
/// GroupQueryAttention of ONNX Runtime.
struct AttentionExtents {
    std::int64_t batch, heads, key_heads, queries;
    std::int64_t keys;  ///< includes the keys of earlier steps that are an input
    std::int64_t key_size, value_size;
    std::vector<std::int64_t> output;
};
/// Returns nothing for another op, and for extents that are unknown or do not match.
std::optional<AttentionExtents> attention_extents(const onnx::NodeProto& node, const OnnxScope& scope);

/// Returns the outputs of a Split into a number of parts (from operator set 18 on), the last of which may be
/// smaller.
std::vector<onnx::TypeProto> split_evenly(const onnx::NodeProto& node, const onnx::TypeProto& input);

/// Returns the extents of a Slice before operator set 10, for which the library refuses negative bounds;
/// nothing for wrong axes.
std::optional<std::vector<std::int64_t>> early_slice_shape(const onnx::NodeProto& node,
                                                           const OnnxScope& scope);

/// Returns the extents of an Einsum with an equation such as "bij,jk->bik" or "...ij,jk"; nothing if it does
/// not match the operands.
std::optional<std::vector<std::int64_t>> einsum_shape(const onnx::NodeProto& node, const OnnxScope& scope);

/// The output of FusedMatMul of ONNX Runtime, a product of matrices that may be transposed first, and the
/// extent that its sums run over.
struct FusedProduct {
    std::vector<std::int64_t> shape;
    std::int64_t depth;
};
/// Returns nothing for another op, and for extents that are unknown or do not match.
std::optional<FusedProduct> fused_product(const onnx::NodeProto& node, const OnnxScope& scope);

/// Returns the extents of a Resize with `axes` or `keep_aspect_ratio_policy` (operator set 18) and of a Pad
/// with axes as an input; nothing if they are not known, or for another op.
std::optional<std::vector<std::int64_t>> resized_shape(const onnx::NodeProto& node, const OnnxScope& scope);
std::optional<std::vector<std::int64_t>> padded_shape(const onnx::NodeProto& node, const OnnxScope& scope);

/// Returns the extents of a OneHot of known depth.
std::optional<std::vector<std::int64_t>> one_hot_shape(const onnx::NodeProto& node, const OnnxScope& scope);

/// Returns the type of a Slice whose bounds are known only when it runs.
onnx::TypeProto loosely_sliced(const onnx::NodeProto& node, const OnnxScope& scope);

}  // namespace placewright
