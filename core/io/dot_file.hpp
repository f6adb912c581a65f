// SPDX-License-Identifier: MIT
// Networks as Graphviz DOT.
//
// A node is an op, called by its name; an edge reads an output of its tail. Attributes of nodes have the names and, but for text, the JSON
// values of placewright.graph: kind, scope, phase, flops, backward_flops, parameter_bytes, resident_bytes, workspace_bytes, in_place,
// colocate, devices, time_s, attributes, outputs. In place of outputs a node may give "shape" ("[32,64,56,56]" or "32x64x56x56"; other
// values are shapes to draw) with "dtype", or "bytes", or its edges "bytes". Edges have "input" and "output", the positions in both lists
// (0 and the order of the file unless given); the graph has "batch" and "training". Text with backslashes or control characters stands as a
// JSON string. What else there is, is for drawing.
#pragma once

#include "core/io/placement_formats.hpp"
#include "core/io/readers.hpp"

namespace placewright {

/// The forward network with each op in the colour of its device, which stands in its label and as "device". read_dot gives the same
/// network.
std::string dot_text(const PlacedNetwork& placed);

}  // namespace placewright
