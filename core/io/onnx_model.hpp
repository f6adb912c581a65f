// SPDX-License-Identifier: MIT
// ONNX files as protobuf messages.
#pragma once

#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "core/io/readers.hpp"

namespace placewright {

/// The model of the file without the content of tensors of more than 64 KiB, which stays on the disk; external data is not looked for.
/// Takes at most 2 GB of file (protobuf's limit), 256 MiB of it beside such tensors, 10 million messages and strings, 64 levels.
/// Throws InputError for a file that is none, or is cut off, or has no graph.
onnx::ModelProto read_onnx_model(const Path& file);

/// The same with all content. It takes as much memory as the file.
onnx::ModelProto read_whole_onnx_model(const Path& file);

/// Of each node of the graph the name that its op has in the network: its own, else its first output's, made unique by "#2".
std::vector<std::string> onnx_op_names(const onnx::GraphProto& graph);

}  // namespace placewright
