// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "core/io/networks/network_file.hpp"
#include "core/io/text/json.hpp"

namespace placewright {

/// Reads a workload of dnn-partitioning (Tarnawski et al., "Efficient Algorithms for Device Placement of DNN
/// Graph Operators", NeurIPS 2020): nodes and edges with their times, and the number of accelerators. A file
/// counts as one if it has "maxFPGAs" and no "format". `batch` may only be 1.
///
/// Graph. The file's times are in milliseconds and its sizes in bytes. Ops are named by the ids of the nodes.
/// An op has its time by device model ("cpu", "accelerator"). The transfer time of its output is the "cost"
/// of the edges that leave the node, which must agree to 1e-6 ms; it is stored in the output tensor, which
/// has no bytes of its own. The node's "size", outputs included, is in resident_bytes. A colour class is a
/// colocation label. Nodes that no accelerator supports may only run on the CPU. If there are backward nodes,
/// the training is explicit.
///
/// Machine. Device 0 is the CPU, whose memory holds everything. Each accelerator has a channel of its own to
/// the CPU, which both directions share; a tensor between accelerators crosses both of their channels. Speeds
/// and bandwidths are nominal, because all times are given. With "maxCPUs" 0 no op may run on the CPU;
/// otherwise all CPUs count as one device.
NetworkFile read_workload(const JsonFile& file, std::optional<std::int64_t> batch);

}  // namespace placewright
