// SPDX-License-Identifier: MIT
// ONNX files as protobuf messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <onnx/onnx_pb.h>

#include "core/base/path.hpp"

namespace placewright {

// Numbers of fields that ONNX 1.12 does not know and so keeps as unknown fields. The readers below make them
// unknown fields with later versions of the library, too, so that all code finds them in one place.
inline constexpr int kNodeMetadata = 9;               ///< NodeProto.metadata_props, ONNX 1.16
inline constexpr int kNodeDeviceConfigurations = 10;  ///< NodeProto.device_configurations, ONNX 1.18
inline constexpr int kModelConfiguration = 26;        ///< ModelProto.configuration, ONNX 1.18

/// Returns the model in a file without the content of tensors of more than 64 KiB; external data is not read.
/// Limits: 2 GB of file (protobuf's limit), 256 MiB of it outside such tensors, 10 million messages and
/// strings, 64 levels. Throws InputError for a file that exceeds a limit, is not an ONNX model, is cut off or
/// has no graph.
onnx::ModelProto read_onnx_model(const Path& file);

/// Returns the model with the content of all tensors; takes as much memory as the file. Same errors.
onnx::ModelProto read_whole_onnx_model(const Path& file);

/// Returns for each node of the graph the name of its op in the network: that of the node, else that of its
/// first output, made unique by a suffix such as "#2".
std::vector<std::string> onnx_op_names(const onnx::GraphProto& graph);

/// Returns an attribute by name; nullptr if the node does not have it.
const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name);
std::int64_t integer_attribute(const onnx::NodeProto& node, std::string_view name, std::int64_t other);
/// Returns a value of a node's metadata (from IR version 10 on), such as PyTorch's
/// "pkg.torch.onnx.class_hierarchy"; empty if there is none.
std::string node_metadata(const onnx::NodeProto& node, std::string_view key);
std::vector<std::int64_t> integers_attribute(const onnx::NodeProto& node, std::string_view name);

}  // namespace placewright
