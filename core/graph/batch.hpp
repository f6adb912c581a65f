// SPDX-License-Identifier: MIT
// A network with another batch size.
#pragma once

#include <cstdint>
#include <string>

#include "core/graph/graph.hpp"

namespace placewright {

inline constexpr std::int64_t kMostBatch = 1'000'000'000;

/// Returns the network with another batch size (1 to kMostBatch). `graph` has forward ops only.
///
/// What an op computes from an input scales with the batch: FLOPs, workspace, seconds of transfers, and of
/// each output the first extent that equals the batch size, else its first extent, which holds the batch and
/// something else (a view of batch x heads). Scalars, such as a loss, parameters and what is computed from
/// parameters alone stay. Measured times of ops hold for one batch size and are left out.
///
/// Throws GraphError for a training graph that lists its own backward ops (gradients of parameters do not
/// scale, and cannot be told from activations), if no input holds the batch, for an op without an extent or a
/// number of bytes that holds the batch, and if a size does not fit into 63 bits. O(ops + inputs).
Graph with_batch(const Graph& graph, std::int64_t batch);

/// Why with_batch() cannot change the batch size of this graph; empty if it can.
std::string fixed_batch_reason(const Graph& graph);

}  // namespace placewright
