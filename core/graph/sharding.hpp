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
/// channel each (Lagostra, 2020, splits convolutions so).
///
/// What a part reads. Convolutions, linear and embedding ops: all that the op reads. Ops that work on each channel by itself
/// (batch_norm, pools, elementwise ops, convolutions in groups, which are split between groups): the matching channels of their first
/// input, elementwise ops of every input that is not broadcast. These come straight from the part of the producer that computes them, where
/// there is one; else from a "producer_narrow_begin_end" (kind narrow, placed with the producer, so that only the slice travels).
/// What others read. Each reader r of a split op f reads a "r_conc_f" (kind cat, no FLOPs), which is placed with r. So does each part of a
/// reader that is split itself.
///
/// Output, FLOPs, parameters, resident bytes and measured times of the parts add up to those of the op; the workspace is divided for ops
/// that work on each channel by itself, and whole for the others, which unfold all of their input. Parts keep scope, devices and attributes
/// ("groups" apart). Where all ops of a colocation label are split into as many parts, the i-th parts share a device; otherwise all keep
/// the label. An op is split before training is derived: the backward of each part then returns gradients as large as what it reads.
///
/// Throws GraphError for an op that is unknown, named twice, has no channel dimension or fewer channels (or groups) than parts, less than
/// one part, a name that is taken, or a graph of explicit training.
Graph shard(const Graph& forward, std::span<const ShardRequest> requests);

}  // namespace placewright
