// SPDX-License-Identifier: MIT
// Splits an op into several that each compute a part of its channels, so that it can be spread over devices.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/graph/graph.hpp"

namespace placewright {
/// An op and into how many parts it is split.
struct ShardRequest {
    std::string op;
    std::int64_t parts = 1;
};

/// Name of a part of an op; parts are counted from 0: "op_shard0", as in Exprimo.
std::string shard_name(std::string_view op, std::size_t part);

/// Returns the graph with the requested ops split along the channels of their output, into parts of equal
/// size; any remaining channels (groups, heads) go to the first parts, one each. Lagostra (2020) splits
/// convolutions in this way; Shoeybi and others (Megatron-LM, 2019) split linear layers, attention and
/// embeddings.
///
/// Position of the channels, and inputs of a part (channels.cpp has the table):
/// - Convolutions, linear, bilinear, embedding, one_hot: a part reads the whole input and, of weights and
///   biases that are given as tensors, the rows of its channels (the columns of an embedding table and of a
///   transposed convolution). Convolutions in groups are split between groups, and a part reads the channels
///   of its groups. The channels of images are in dimension 1, those of linear maps and embeddings in the
///   last.
/// - Products (matmul, mm, bmm, addmm, baddbmm) are split by the columns of the output: a part reads the
///   whole first factor and its columns of the second. einsum is split by the last label of "equation" in
///   every input that has it.
/// - scaled_dot_product_attention is split between "heads" of the last dimension, or of dimension 1 of
///   tensors of rank 4, where several queries may share a key: a part reads its heads of the queries, keys
///   and values, and of a mask that has heads.
/// - lstm_cell, gru_cell, rnn_cell are split by hidden units: a part reads input and hidden state whole, the
///   cell state (the second output of another lstm_cell) of its units and the rows of the weights; the gates
///   of a unit are assumed to be neighbours there. A cell without such inputs has its share of the
///   parameters.
/// - A parameter op is split along its first dimension.
/// - Ops on each channel by itself (batch_norm, instance_norm, prelu, pools, interpolate, pad, elementwise
///   ops and losses without reduction): a part reads the matching channels of every input that is not
///   broadcast. group_norm is split between groups; a part of glu reads two ranges half of all channels
///   apart; a part of pixel_shuffle reads the channels that become one.
/// - softmax, log_softmax, normalize, cumsum, gather, index_select along another "dim", and layer_norm and
///   rms_norm without parameters over other dimensions: the same.
/// - cat along the channels: a part reads the ranges of the inputs that it covers. stack, and cat along
///   another dimension: it reads its range of each input.
/// - Views and reductions that keep the channels (narrow, slice, select, split, chunk, unbind, expand,
///   permute, transpose, reshape and the like, mean, sum, max, min, argmax, argmin): a part reads the same
///   channels, wherever they are in the input. A reshape is split where channels of its input end.
/// The following are refused, with the reason: ops across channels (softmax and layer_norm over the channels,
/// local_response_norm, losses over classes), whole recurrent layers, views that mix channels with another
/// dimension or do not give their shape, sources, and unknown kinds.
///
/// If a part of the producer computes exactly the range that is read, it is read from that part; otherwise
/// from a "producer_narrow_begin_end" (kind narrow, placed with the producer, so that only the slice
/// travels). Each other reader r of a split op f reads a "r_conc_f" (kind cat, no FLOPs; "r_conc_f_k" of
/// output k), which is placed with r. So does each part of a reader that is split itself; if it needs only a
/// range, it cuts that range out as "r_narrow_f_begin_end". If two of these names are equal (output 1 of f,
/// and f_1), the later one gets an apostrophe.
///
/// Outputs, FLOPs, parameters, resident bytes and measured times of the parts add up to those of the op. The
/// workspace is divided for ops whose parts read a range of the first input, and whole for the others, which
/// unfold all of it. Parts keep scope, devices and attributes, except the numbers of groups and heads. If all
/// ops of a colocation label are split into the same number of parts, the i-th parts share a device;
/// otherwise all keep the label. An op is split before training is derived: the backward of each part then
/// returns gradients as large as what it reads.
///
/// Throws GraphError for an op that is unknown or named twice, that cannot compute a range of channels by
/// itself (the message names op, kind and reason), or that has fewer channels (groups, heads) than parts; for
/// fewer than one part; for a name that is taken; and for a graph of explicit training.
Graph shard(const Graph& forward, std::span<const ShardRequest> requests);

}  // namespace placewright
