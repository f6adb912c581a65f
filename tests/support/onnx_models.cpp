// SPDX-License-Identifier: MIT
#include "tests/support/onnx_models.hpp"

namespace placewright::test {

using onnx::AttributeProto;

onnx::NodeProto onnx_node(const std::string& op, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs,
                          const std::vector<OnnxAttribute>& attributes, const std::string& name) {
    onnx::NodeProto node;
    node.set_op_type(op);
    node.set_name(name);
    for (const std::string& input : inputs) node.add_input(input);
    for (const std::string& output : outputs) node.add_output(output);
    for (const auto& [key, value] : attributes) {
        AttributeProto& attribute = *node.add_attribute();
        attribute.set_name(key);
        if (const auto* integer = std::get_if<std::int64_t>(&value)) {
            attribute.set_type(AttributeProto::INT);
            attribute.set_i(*integer);
        } else if (const auto* integers = std::get_if<Extents>(&value)) {
            attribute.set_type(AttributeProto::INTS);
            for (const std::int64_t item : *integers) attribute.add_ints(item);
        } else if (const auto* text = std::get_if<std::string>(&value)) {
            attribute.set_type(AttributeProto::STRING);
            attribute.set_s(*text);
        } else if (const auto* real = std::get_if<float>(&value)) {
            attribute.set_type(AttributeProto::FLOAT);
            attribute.set_f(*real);
        } else {
            attribute.set_type(AttributeProto::GRAPH);
            *attribute.mutable_g() = std::get<onnx::GraphProto>(value);
        }
    }
    return node;
}

onnx::ValueInfoProto onnx_value(const std::string& name, const Extents& shape, std::int32_t type) {
    onnx::ValueInfoProto value;
    value.set_name(name);
    value.mutable_type()->mutable_tensor_type()->set_elem_type(type);
    for (const std::int64_t extent : shape) {
        auto& dim = *value.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim();
        if (extent >= 0) dim.set_dim_value(extent);
        if (extent == -2) dim.set_dim_param("batch");
        if (extent == -3) dim.set_dim_param("sequence");
    }
    value.mutable_type()->mutable_tensor_type()->mutable_shape();
    return value;
}

onnx::TensorProto onnx_tensor(const std::string& name, const Extents& shape, std::int32_t type) {
    onnx::TensorProto tensor;
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const std::int64_t extent : shape) tensor.add_dims(extent);
    return tensor;
}

onnx::TensorProto onnx_numbers(const std::string& name, const Extents& values) {
    onnx::TensorProto tensor =
        onnx_tensor(name, {static_cast<std::int64_t>(values.size())}, onnx::TensorProto::INT64);
    for (const std::int64_t value : values) tensor.add_int64_data(value);
    return tensor;
}

OnnxModel::OnnxModel(std::int64_t opset) {
    proto.set_ir_version(7);
    proto.add_opset_import()->set_version(opset);
    graph().set_name("main");
}

OnnxModel& OnnxModel::input(const std::string& name, const Extents& shape, std::int32_t type) {
    *graph().add_input() = onnx_value(name, shape, type);
    return *this;
}

OnnxModel& OnnxModel::weight(const std::string& name, const Extents& shape, std::int32_t type) {
    *graph().add_initializer() = onnx_tensor(name, shape, type);
    return *this;
}

OnnxModel& OnnxModel::numbers(const std::string& name, const Extents& values) {
    *graph().add_initializer() = onnx_numbers(name, values);
    return *this;
}

OnnxModel& OnnxModel::node(const std::string& op, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs,
                           const std::vector<OnnxAttribute>& attributes, const std::string& name) {
    *graph().add_node() = onnx_node(op, inputs, outputs, attributes, name);
    return *this;
}

OnnxModel& OnnxModel::output(const std::string& name) {
    graph().add_output()->set_name(name);
    return *this;
}

OnnxModel deep_onnx_model(std::size_t nodes) {
    OnnxModel model;
    model.input("image", {-2, 16, 14, 14});
    std::string value = "image";
    for (std::size_t block = 0; block < nodes / 4; ++block) {
        const std::string module = "layer" + std::to_string(block / 10) + '.' + std::to_string(block % 10);
        const std::string path = "/layer" + std::to_string(block / 10) + "/" + module;
        const auto at = [&](const char* op) { return path + '/' + op + "_output_0"; };
        model.weight(module + ".conv.weight", {16, 16, 3, 3});
        for (const char* part : {"weight", "bias", "running_mean", "running_var"})
            model.weight(module + ".bn." + part, {16});
        model.node("Conv", {value, module + ".conv.weight"}, {at("conv/Conv")},
                   {{"kernel_shape", Extents{3, 3}}, {"pads", Extents{1, 1, 1, 1}}}, path + "/conv/Conv");
        model.node("BatchNormalization",
                   {at("conv/Conv"), module + ".bn.weight", module + ".bn.bias", module + ".bn.running_mean",
                    module + ".bn.running_var"},
                   {at("bn/BatchNormalization")}, {}, path + "/bn/BatchNormalization");
        model.node("Relu", {at("bn/BatchNormalization")}, {at("relu/Relu")}, {}, path + "/relu/Relu");
        model.node("Add", {at("relu/Relu"), value}, {at("Add")}, {}, path + "/Add");
        value = at("Add");
    }
    model.output(value);
    return model;
}

OnnxModel single(const std::string& op, const std::vector<Extents>& weights,
                 const std::vector<OnnxAttribute>& attributes, const Extents& input, std::int64_t opset) {
    OnnxModel model(opset);
    model.input("x", input);
    std::vector<std::string> inputs{"x"};
    for (std::size_t i = 0; i < weights.size(); ++i) {
        inputs.emplace_back(1, 'w') += std::to_string(i);
        model.weight(inputs.back(), weights[i]);
    }
    model.node(op, inputs, {"y"}, attributes).output("y");
    return model;
}

onnx::GraphProto body(const std::vector<onnx::NodeProto>& nodes,
                      const std::vector<onnx::ValueInfoProto>& inputs,
                      const std::vector<std::string>& outputs) {
    onnx::GraphProto graph;
    for (const auto& node : nodes) *graph.add_node() = node;
    for (const auto& input : inputs) *graph.add_input() = input;
    for (const auto& output : outputs) graph.add_output()->set_name(output);
    return graph;
}

}  // namespace placewright::test
