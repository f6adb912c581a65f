// SPDX-License-Identifier: MIT
// Networks as Graphviz DOT.
//
// A node is an op and has the op's name; an edge reads an output of its tail. Attributes of nodes have the
// names and, except for text, the JSON values of placewright.graph: kind, scope, phase, flops,
// backward_flops, parameter_bytes, resident_bytes, workspace_bytes, in_place, colocate, devices, time_s,
// attributes, outputs. Instead of outputs, a node may have "shape" ("[32,64,56,56]" or "32x64x56x56"; any
// other value is a shape to draw) with "dtype", or "bytes"; or its edges have "bytes". An edge has "input",
// its position among the inputs of its head, and "output", that among the outputs of its tail (both 0 by
// default; inputs of equal position keep the order of the file). The graph has "batch" and "training". Text
// with backslashes or control characters is a JSON string. All other attributes are for drawing and are
// ignored.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/path.hpp"
#include "core/io/networks/network_file.hpp"

namespace placewright {

/// Returns whether a file begins like a graph of Graphviz.
bool is_dot(const Path& file);

/// Throws InputError with the node for a faulty file, for one of more than 64 MiB, and if `batch` is given
/// and is not that of the file.
NetworkFile read_dot(const Path& file, std::optional<std::int64_t> batch);

}  // namespace placewright
