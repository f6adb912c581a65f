// SPDX-License-Identifier: MIT
// One op as several that each compute a part of its channels, so that it can be spread over devices.
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

/// The name of a part of an op, counted from 0: "op_shard0", as Exprimo has it.
std::string shard_name(std::string_view op, std::size_t part);

/// The graph with ops split along the channels of their output, into parts of equal size; what is left over goes to the first parts, one
/// channel (group, head) each (Lagostra, 2020, splits convolutions so; Shoeybi and others: Megatron-LM, 2019, linear layers, attention and
/// embeddings).
///
/// Where the channels are, and what a part reads (channels.cpp has the table):
/// - Convolutions, linear, bilinear, embedding, one_hot: all of the input, and of weights and biases that are given as tensors the rows
///   (columns of an embedding table and of a transposed convolution) of its channels. Convolutions in groups are split between groups and
///   read these. The channels of images are in dimension 1, those of linear maps and embeddings in the last.
/// - Products (matmul, mm, bmm, addmm, baddbmm): the columns of the output: the first factor whole, the columns of the second; einsum: the
///   last label of "equation" in every input that has it.
/// - scaled_dot_product_attention: between "heads" of the last dimension, or of dimension 1 of tensors of rank 4, where several queries may
///   share a key: the heads of queries, keys, values and of a mask that has them.
/// - lstm_cell, gru_cell, rnn_cell: hidden units: input and hidden state whole, the cell state (the second output of another lstm_cell) of
///   its units, the rows of the weights, of which the gates of a unit are taken to be neighbours. A cell without such inputs has its share
///   of the parameters. A parameter op: its first dimension.
/// - Each channel by itself: batch_norm, instance_norm, prelu, pools, interpolate, pad, elementwise ops and losses without reduction: the
///   matching channels of every input that is not broadcast; group_norm between groups; glu two channels half of all apart; pixel_shuffle
///   the channels that become one.
/// - softmax, log_softmax, normalize, cumsum, gather, index_select along another "dim", layer_norm and rms_norm without parameters over
/// other
///   dimensions: the same.
/// - cat along the channels: the ranges of those inputs that it covers; along another dimension, and stack: that range of each.
/// - Views and reductions that keep the channels (narrow, slice, select, split, chunk, unbind, expand, permute, transpose, reshape and the
///   like, mean, sum, max, min, argmax, argmin): the same channels, wherever they were. A reshape is split where channels of its input end.
/// Refused, with the reason: what works over its channels (softmax and layer_norm over them, local_response_norm, losses over classes),
/// whole recurrent layers, views that mix channels with another dimension or do not say where they go, sources, unknown kinds.
///
/// A range of an input comes straight from the part of the producer that computes it, where there is one; else from a
/// "producer_narrow_begin_end" (kind narrow, placed with the producer, so that only the slice travels). What others read: each reader r of
/// a split op f reads a "r_conc_f" (kind cat, no FLOPs; "r_conc_f_k" of output k), which is placed with r. So does each part of a reader
/// that is split itself; what it wants a range of, it then cuts as "r_narrow_f_begin_end". Where two of these names are the same (output 1
/// of f, and f_1), the later one gets an apostrophe.
///
/// Outputs, FLOPs, parameters, resident bytes and measured times of the parts add up to those of the op; the workspace is divided for ops
/// whose parts read a range of the first input, and whole for the others, which unfold all of it. Parts keep scope, devices and attributes
/// (the numbers of groups and heads apart). Where all ops of a colocation label are split into as many parts, the i-th parts share a
/// device; otherwise all keep the label. An op is split before training is derived: the backward of each part then returns gradients as
/// large as what it reads.
///
/// Throws GraphError for an op that is unknown, named twice, of which no range of channels can be computed by itself (naming op, kind and
/// reason), or that has fewer channels (groups, heads) than parts, less than one part, a name that is taken, or a graph of explicit
/// training.
Graph shard(const Graph& forward, std::span<const ShardRequest> requests);

}  // namespace placewright
