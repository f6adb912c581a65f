// SPDX-License-Identifier: MIT
// ONNX models for tests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <onnx/onnx_pb.h>

namespace placewright::test {

using Extents = std::vector<std::int64_t>;
using OnnxAttribute =
    std::pair<std::string, std::variant<std::int64_t, Extents, std::string, float, onnx::GraphProto>>;

onnx::NodeProto onnx_node(const std::string& op, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs,
                          const std::vector<OnnxAttribute>& attributes = {}, const std::string& name = {});

/// Extents below 0 are open: -1 without a name, -2 named "batch", -3 named "sequence".
onnx::ValueInfoProto onnx_value(const std::string& name, const Extents& shape,
                                std::int32_t type = onnx::TensorProto::FLOAT);

/// Tensor without data.
onnx::TensorProto onnx_tensor(const std::string& name, const Extents& shape,
                              std::int32_t type = onnx::TensorProto::FLOAT);
/// Tensor of 64-bit integers.
onnx::TensorProto onnx_numbers(const std::string& name, const Extents& values);

/// Builds a model call by call.
struct OnnxModel {
    onnx::ModelProto proto;

    explicit OnnxModel(std::int64_t opset = 13);

    onnx::GraphProto& graph() { return *proto.mutable_graph(); }
    OnnxModel& input(const std::string& name, const Extents& shape,
                     std::int32_t type = onnx::TensorProto::FLOAT);
    OnnxModel& weight(const std::string& name, const Extents& shape,
                      std::int32_t type = onnx::TensorProto::FLOAT);
    OnnxModel& numbers(const std::string& name, const Extents& values);
    OnnxModel& node(const std::string& op, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs,
                    const std::vector<OnnxAttribute>& attributes = {}, const std::string& name = {});
    OnnxModel& output(const std::string& name);

    std::string bytes() const { return proto.SerializeAsString(); }
};

/// x (1 x 8 x 6 x 6) through one node with weights w0, w1, ... to y.
OnnxModel single(const std::string& op, const std::vector<Extents>& weights,
                 const std::vector<OnnxAttribute>& attributes = {}, const Extents& input = {1, 8, 6, 6},
                 std::int64_t opset = 13);

onnx::GraphProto body(const std::vector<onnx::NodeProto>& nodes,
                      const std::vector<onnx::ValueInfoProto>& inputs,
                      const std::vector<std::string>& outputs);

/// A network of convolutions, norms and sums with PyTorch's op names, of about `nodes` nodes.
OnnxModel deep_onnx_model(std::size_t nodes);

}  // namespace placewright::test
