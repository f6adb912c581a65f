// SPDX-License-Identifier: MIT
// The types of numbers that a network is computed with, as PyTorch gives them to it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/graph/graph.hpp"

namespace placewright {

enum class Precision : std::uint8_t {
    as_given,  ///< types as the file says
    fp32,      ///< float32, and no product in TF32 (torch.set_float32_matmul_precision("highest"))
    tf32,      ///< float32, and products in TF32 where a device has it (allow_tf32)
    amp_fp16,  ///< torch.autocast(dtype=torch.float16) of a network in float32
    amp_bf16,  ///< torch.autocast(dtype=torch.bfloat16) of a network in float32
    bf16,      ///< model.bfloat16()
    fp16,      ///< model.half()
};
/// All of them, in their order.
std::span<const Precision> precisions();
std::string_view to_string(Precision precision);
std::optional<Precision> precision_from(std::string_view text);

/// Returns the network in another precision. `graph` has forward ops, or all ops of a training step.
///
/// First all floating tensors and parameters get one type: float32, bfloat16 or float16. Float64 becomes that
/// type too, although autocast itself leaves float64 alone. Bytes, and seconds of transfers that a file
/// gives, change with the size of the elements. Integers, booleans, resident bytes, workspaces and measured
/// times of ops do not change. A cast between two types that have become one ("to") becomes an "identity".
///
/// Then autocast (amp_*) decides by kind, as PyTorch does on a GPU (aten/src/ATen/autocast_mode.h; "Autocast
/// Op Reference"):
/// - Products, convolutions, attention, recurrent cells and layers, prelu: in the low type.
/// - layer_norm, group_norm, rms_norm, exp, log, pow, cumsum, losses, distances, interpolate and the like: in
///   float32.
/// - softmax, log_softmax, sum, prod, norm and what is made of them: float32 out. Their kernels read the low
///   type, so no cast comes before them, except before a softmax of bfloat16, which has no such kernel.
/// - where, grid_sample, scatter_add, addcmul and the like: in the widest type that they read.
/// - All others: in the widest type that they read, parameters included, without casts: add, cat, mul and the
///   like read two types at once. batch_norm and instance_norm keep the type of their input.
///
/// Parameters stay float32 (Op::parameter_dtype). An op in the low type casts its own parameters as a part of
/// its work (core/cost/op_work.hpp) and holds the copy (cast_parameter_bytes).
///
/// Where an op needs another type than it reads, it reads a cast of its own: "READER_cast_PRODUCER" (kind
/// "to", Op::autocast; "READER_cast_PRODUCER_k" of output k), which is placed with the reader. A tensor that
/// is a parameter is cast once, "PARAMETER_cast", for all readers, and the cast is placed with the parameter.
/// If such a name is taken it gets apostrophes.
///
/// In a training step of explicit ops, a backward op follows the rule of its kind, and updates read float32.
/// Casts of an earlier autocast are left out first.
///
/// Throws GraphError if a size no longer fits into 63 bits. O((ops + inputs) log ops).
Graph with_precision(const Graph& graph, Precision precision);

/// Bytes of the copy that an op in a narrower type than its parameters holds of them: autocast caches it
/// until the end of the forward pass, and the backward pass reads it. 0 for other ops.
std::int64_t cast_parameter_bytes(const Op& op);

}  // namespace placewright
