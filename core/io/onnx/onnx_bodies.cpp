// SPDX-License-Identifier: MIT
#include "core/io/onnx/onnx_bodies.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "core/base/units.hpp"
#include "core/graph/flops.hpp"
#include "core/io/onnx/onnx_model.hpp"
#include "core/io/onnx/onnx_shapes.hpp"
#include "core/io/text/input_error.hpp"

namespace placewright {
namespace {

using onnx::NodeProto;
using onnx::TensorProto;

/// Maximum number of nodes in the bodies of functions, branches and loops, counted at each place that runs
/// them.
constexpr std::size_t kMaxBodyNodes = 100'000;
constexpr int kMaxBodyDepth = 32;
/// Maximum number of bytes of these nodes, counted likewise.
constexpr std::size_t kMaxBodyBytes = std::size_t{512} << 20;

/// Names that a body reads from the enclosing graph, each once, in the order of their first use.
class Captures {
public:
    std::vector<std::string> names;

    void add(const onnx::GraphProto& graph) {
        std::unordered_set<std::string>& own = own_.emplace_back();
        for (const auto& input : graph.input()) own.insert(input.name());
        for (const auto& initializer : graph.initializer()) own.insert(initializer.name());
        for (const auto& initializer : graph.sparse_initializer()) own.insert(initializer.values().name());
        for (const NodeProto& node : graph.node()) {
            for (const std::string& input : node.input()) read(input);
            add(node);
            own_.back().insert(node.output().begin(), node.output().end());
        }
        for (const auto& output : graph.output()) read(output.name());
        own_.pop_back();
    }

    /// Adds the names that the bodies of a node read.
    void add(const NodeProto& node) {
        for (const onnx::AttributeProto& attribute : node.attribute()) {
            if (attribute.has_g()) add(attribute.g());
        }
    }

private:
    void read(const std::string& name) {
        if (name.empty() || std::ranges::any_of(own_, [&](const auto& own) { return own.contains(name); }))
            return;
        if (seen_.insert(name).second) names.push_back(name);
    }

    std::vector<std::unordered_set<std::string>> own_;
    std::unordered_set<std::string> seen_;
};

bool refers_to_call(const onnx::AttributeProto& attribute) {
    return !attribute.ref_attr_name().empty();
}

const onnx::GraphProto& body_of(const NodeProto& node, std::string_view name) {
    const onnx::AttributeProto* attribute = find_attribute(node, name);
    return attribute != nullptr ? attribute->g() : onnx::GraphProto::default_instance();
}

onnx::TypeProto type_or_none(const OnnxScope& scope, const std::string& name) {
    const onnx::TypeProto* type = name.empty() ? nullptr : scope.type(name);
    return type != nullptr ? *type : onnx::TypeProto();
}

onnx::TypeProto without_axis(onnx::TypeProto type) {
    auto& shape = *type.mutable_tensor_type()->mutable_shape();
    if (shape.dim_size() > 0) shape.mutable_dim()->DeleteSubrange(0, 1);
    return type;
}

onnx::TypeProto with_axis(const onnx::TypeProto& type, std::optional<std::int64_t> extent) {
    onnx::TypeProto result = type;
    auto& shape = *result.mutable_tensor_type()->mutable_shape();
    shape.clear_dim();
    auto& first = *shape.add_dim();
    if (extent) first.set_dim_value(*extent);
    for (const auto& dim : type.tensor_type().shape().dim()) *shape.add_dim() = dim;
    return result;
}

}  // namespace

std::vector<std::string> captured_names(const NodeProto& node) {
    Captures captures;
    captures.add(node);
    return std::move(captures.names);
}

bool OnnxBodies::has_body(const NodeProto& node) const {
    return context_->function_of(node) != nullptr ||
           std::ranges::any_of(node.attribute(), [](const auto& attribute) { return attribute.has_g(); });
}

std::optional<double> OnnxBodies::run(const NodeProto& node, OnnxScope& scope, const std::string& where) {
    where_ = where;
    return run_body(node, scope, 0);
}

void OnnxBodies::count_body_node(int depth) {
    if (++nodes_ > kMaxBodyNodes || depth > kMaxBodyDepth)
        throw InputError(*file_, where_,
                         "its body runs more than " + std::to_string(kMaxBodyNodes) +
                             " nodes, or is nested more than " + std::to_string(kMaxBodyDepth) +
                             " deep, the maximum");
}

void OnnxBodies::count_body_bytes(const google::protobuf::Message& message) {
    bytes_ += message.ByteSizeLong();
    if (bytes_ > kMaxBodyBytes)
        throw InputError(
            *file_, where_,
            "the bodies that run up to this node have more than " +
                format_bytes(static_cast<double>(kMaxBodyBytes)) +
                " of nodes, the maximum (each run counts); store large attributes as initializers");
}

std::optional<double> OnnxBodies::run_node(const NodeProto& node, OnnxScope& scope, int depth) {
    count_body_bytes(node);
    if (has_body(node)) return run_body(node, scope, depth + 1);
    scope.infer(node);
    if (node.op_type() == "Constant" || (node.output_size() == 1 && scope.numbers(node.output(0)) != nullptr))
        return 0;
    return flops_of(node, scope);
}

template <class Nodes>
std::optional<double> OnnxBodies::run_nodes(const Nodes& nodes, OnnxScope& scope, int depth,
                                            const NodeProto* call) {
    std::optional<double> total = 0;
    for (const NodeProto& node : nodes) {
        count_body_node(depth);
        const bool as_called = call != nullptr && std::ranges::any_of(node.attribute(), refers_to_call);
        const auto flops =
            as_called ? run_node(with_attributes(node, *call), scope, depth) : run_node(node, scope, depth);
        if (!flops) total.reset();
        if (total) *total += *flops;
    }
    return total;
}

std::optional<double> OnnxBodies::flops_of(const NodeProto& node, const OnnxScope& scope) const {
    const Program::Node op = translated(node, scope, *context_);
    if (op.flops) return op.flops;
    std::vector<Shape> inputs, outputs;
    for (const std::string& input : op.inputs) {
        if (auto shape = scope.shape(input)) inputs.push_back(*std::move(shape));
    }
    for (const std::string& output : node.output()) {
        if (auto shape = scope.shape(output)) outputs.push_back(*std::move(shape));
    }
    return forward_flops({op.kind, inputs, outputs, op.window, op.equation});
}

std::optional<double> OnnxBodies::run_body(const NodeProto& node, OnnxScope& scope, int depth) {
    count_body_node(depth);
    if (const onnx::FunctionProto* function = context_->function_of(node))
        return run_function(node, *function, scope, depth);
    if (node.op_type() == "If") return run_if(node, scope, depth);
    if (node.op_type() == "Loop") return run_loop(node, scope, depth);
    if (node.op_type() == "Scan") return run_scan(node, scope, depth);
    scope.infer(node);
    return {};
}

NodeProto OnnxBodies::with_attributes(const NodeProto& node, const NodeProto& call) {
    count_body_bytes(node);
    NodeProto result = node;
    for (int i = result.attribute_size() - 1; i >= 0; --i) {
        onnx::AttributeProto& attribute = *result.mutable_attribute(i);
        if (!refers_to_call(attribute)) continue;
        if (const onnx::AttributeProto* given = find_attribute(call, attribute.ref_attr_name())) {
            count_body_bytes(*given);
            const std::string own = attribute.name();
            attribute = *given;
            attribute.set_name(own);
        } else {
            result.mutable_attribute()->DeleteSubrange(i, 1);  // the default of the attribute applies
        }
    }
    return result;
}

std::optional<double> OnnxBodies::run_function(const NodeProto& node, const onnx::FunctionProto& function,
                                               OnnxScope& scope, int depth) {
    OnnxScope::Opsets opsets = *opsets_;
    add_opsets(opsets, function.opset_import());
    OnnxScope inner(opsets, *dims_);
    for (int i = 0; i < std::min(function.input_size(), node.input_size()); ++i)
        inner.alias(function.input(i), scope, node.input(i));
    const auto flops = run_nodes(function.node(), inner, depth + 1, &node);
    for (int i = 0; i < std::min(function.output_size(), node.output_size()); ++i) {
        if (const onnx::TypeProto* type = inner.type(function.output(i)))
            scope.declare(node.output(i), *type);
    }
    return flops;
}

std::optional<double> OnnxBodies::run_graph(const onnx::GraphProto& body, OnnxScope& inner,
                                            const std::vector<onnx::TypeProto>& inputs, int depth) {
    for (int i = 0; i < body.input_size(); ++i) {
        const auto given = static_cast<std::size_t>(i);
        inner.declare(body.input(i).name(),
                      given < inputs.size() && inputs[given].value_case() != onnx::TypeProto::VALUE_NOT_SET
                          ? inputs[given]
                          : body.input(i).type());
    }
    for (const auto& initializer : body.initializer()) inner.define(initializer.name(), initializer);
    for (const auto& value : body.value_info()) inner.expect(value.name(), value.type());
    for (const auto& value : body.output()) inner.expect(value.name(), value.type());
    return run_nodes(body.node(), inner, depth + 1);
}

std::optional<double> OnnxBodies::run_if(const NodeProto& node, OnnxScope& scope, int depth) {
    const onnx::GraphProto& then_body = body_of(node, "then_branch");
    const onnx::GraphProto& else_body = body_of(node, "else_branch");
    OnnxScope then_scope(*opsets_, *dims_, &scope), else_scope(*opsets_, *dims_, &scope);
    const auto then_flops = run_graph(then_body, then_scope, {}, depth),
               else_flops = run_graph(else_body, else_scope, {}, depth);
    for (int i = 0; i < std::min({node.output_size(), then_body.output_size(), else_body.output_size()});
         ++i) {
        const std::string &then_name = then_body.output(i).name(), &else_name = else_body.output(i).name();
        const auto then_shape = then_scope.shape(then_name), else_shape = else_scope.shape(else_name);
        const bool take_else = else_shape && (!then_shape || product(*else_shape) > product(*then_shape));
        const onnx::TypeProto* type = take_else ? else_scope.type(else_name) : then_scope.type(then_name);
        if (type != nullptr) scope.declare(node.output(i), *type);
    }
    if (!then_flops || !else_flops) return {};
    return std::max(*then_flops, *else_flops);
}

std::optional<double> OnnxBodies::run_loop(const NodeProto& node, OnnxScope& scope, int depth) {
    const onnx::GraphProto& body = body_of(node, "body");
    onnx::TypeProto count, condition;
    count.mutable_tensor_type()->set_elem_type(TensorProto::INT64);
    count.mutable_tensor_type()->mutable_shape();
    condition.mutable_tensor_type()->set_elem_type(TensorProto::BOOL);
    condition.mutable_tensor_type()->mutable_shape();
    std::vector<onnx::TypeProto> inputs{count, condition};
    for (int i = 2; i < node.input_size(); ++i) inputs.push_back(type_or_none(scope, node.input(i)));
    OnnxScope inner(*opsets_, *dims_, &scope);
    const auto flops = run_graph(body, inner, inputs, depth);
    std::optional<std::int64_t> trips;
    if (node.input_size() > 0) {
        if (const Numbers* limit = scope.numbers(node.input(0));
            limit != nullptr && limit->values.size() == 1)
            trips = std::max<std::int64_t>(0, limit->whole()[0]);
    }
    // The outputs of a body are its condition, carried values and stacked values.
    const int carried = node.input_size() - 2;
    for (int i = 0; i < std::min(node.output_size(), body.output_size() - 1); ++i) {
        const onnx::TypeProto* type = inner.type(body.output(i + 1).name());
        if (type != nullptr) scope.declare(node.output(i), i < carried ? *type : with_axis(*type, trips));
    }
    if (!flops || !trips) return {};
    return *flops * static_cast<double>(*trips);
}

std::optional<double> OnnxBodies::run_scan(const NodeProto& node, OnnxScope& scope, int depth) {
    const onnx::GraphProto& body = body_of(node, "body");
    const auto slices = static_cast<int>(
        std::clamp<std::int64_t>(integer_attribute(node, "num_scan_inputs", 0), 0, node.input_size()));
    const bool plain = std::ranges::all_of(integers_attribute(node, "scan_input_axes"),
                                           [](auto axis) { return axis == 0; }) &&
                       std::ranges::all_of(integers_attribute(node, "scan_output_axes"),
                                           [](auto axis) { return axis == 0; });
    if (scope.opset("") < 9 || !plain || slices == 0) {
        scope.infer(node);
        return {};
    }
    const int states = node.input_size() - slices;
    std::vector<onnx::TypeProto> inputs;
    std::optional<std::int64_t> trips;
    for (int i = 0; i < node.input_size(); ++i) {
        const onnx::TypeProto type = type_or_none(scope, node.input(i));
        inputs.push_back(i < states ? type : without_axis(type));
        if (const auto shape = scope.shape(node.input(i)); i >= states && shape && !shape->empty())
            trips = shape->front();
    }
    OnnxScope inner(*opsets_, *dims_, &scope);
    const auto flops = run_graph(body, inner, inputs, depth);
    for (int i = 0; i < std::min(node.output_size(), body.output_size()); ++i) {
        const onnx::TypeProto* type = inner.type(body.output(i).name());
        if (type != nullptr) scope.declare(node.output(i), i < states ? *type : with_axis(*type, trips));
    }
    if (!flops || !trips) return {};
    return *flops * static_cast<double>(*trips);
}

}  // namespace placewright
