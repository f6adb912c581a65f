// SPDX-License-Identifier: MIT
#include "core/io/onnx/onnx.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/text.hpp"
#include "core/io/networks/module_names.hpp"
#include "core/io/networks/traced_program.hpp"
#include "core/io/onnx/onnx_bodies.hpp"
#include "core/io/onnx/onnx_kinds.hpp"
#include "core/io/onnx/onnx_model.hpp"
#include "core/io/onnx/onnx_scope.hpp"
#include "core/io/text/input_error.hpp"

namespace placewright {
namespace {

using onnx::NodeProto;
using onnx::TensorProto;

constexpr int kOldestOpset = 7;
/// Reason for an unknown size of an output of a valid op.
constexpr const char* kNeedsNumbers =
    "it depends on numbers that are known only when the model runs; from PyTorch, export such a model with "
    "placewright.export";

/// Returns a tensor of an ONNX element type; nothing for a type without a fixed size (strings) or invalid
/// extents.
std::optional<Tensor> make_onnx_tensor(std::int32_t element, std::vector<std::int64_t> extents) {
    static const std::unordered_map<std::int32_t, DType> types{
        {TensorProto::FLOAT, DType::float32},   {TensorProto::DOUBLE, DType::float64},
        {TensorProto::FLOAT16, DType::float16}, {TensorProto::BFLOAT16, DType::bfloat16},
        {TensorProto::INT64, DType::int64},     {TensorProto::UINT64, DType::int64},
        {TensorProto::INT32, DType::int32},     {TensorProto::UINT32, DType::int32},
        {TensorProto::INT16, DType::int16},     {TensorProto::UINT16, DType::int16},
        {TensorProto::INT8, DType::int8},       {TensorProto::UINT8, DType::uint8},
        {TensorProto::BOOL, DType::boolean}};
    // Later than the library: four kinds of 8 bits (17 to 20), then of 4.
    constexpr std::int32_t kFloat8 = 17, kLastFloat8 = 20, kUint4 = 21, kLast4 = 23;
    try {
        if (const auto found = types.find(element); found != types.end())
            return make_tensor(std::move(extents), found->second);
        if (element >= kFloat8 && element <= kLastFloat8)
            return make_tensor(std::move(extents), DType::uint8);
        Tensor tensor;
        if (element == TensorProto::COMPLEX64 || element == TensorProto::COMPLEX128) {
            tensor.bytes = make_tensor(std::move(extents), DType::float64).bytes;
            if (element == TensorProto::COMPLEX128 && __builtin_mul_overflow(tensor.bytes, 2, &tensor.bytes))
                return {};
            return tensor;
        }
        if (element >= kUint4 && element <= kLast4) {
            // Two in a byte; the last of an odd number has one alone.
            const std::int64_t elements = make_tensor(std::move(extents), DType::uint8).bytes;
            tensor.bytes = elements / 2 + elements % 2;
            return tensor;
        }
    } catch (const std::invalid_argument&) {
    }
    return {};
}

std::optional<Tensor> tensor_of(const OnnxScope& scope, const std::string& value) {
    auto extents = scope.shape(value);
    if (!extents) return {};
    return make_onnx_tensor(scope.type(value)->tensor_type().elem_type(), *std::move(extents));
}

std::vector<std::string> split_path(const std::string& text, char separator) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == separator)
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

/// Returns whether a name may be that of a parameter in a state_dict: "layer1.0.conv1.weight", but not
/// "onnx::MatMul_21" or "input.1".
bool is_state_dict_path(std::string_view name) {
    constexpr std::size_t kNone = std::string_view::npos;
    const std::size_t dot = name.rfind('.');
    return dot != kNone && dot + 1 < name.size() && name.find("::") == kNone && name.find('/') == kNone &&
           name.find_first_not_of("0123456789", dot + 1) != kNone;
}

/// Returns the module of a node that PyTorch names "/layer1/layer1.0/conv1/Conv": "layer1/0/conv1". An item
/// of a list repeats the list's name.
std::string scope_of_name(const std::string& name) {
    std::vector<std::string> parts = split_path(name, '/');
    parts.pop_back();
    std::string scope, before;
    for (std::string& part : parts) {
        if (part.empty()) continue;
        const std::string own =
            !before.empty() && part.starts_with(before + '.') ? part.substr(before.size() + 1) : part;
        for (const std::string& step : split_path(own, '.')) scope += (scope.empty() ? "" : "/") + step;
        before = std::move(part);
    }
    return scope;
}

std::string scope_of_path(const std::string& path) {
    return scope_of_module(module_of(path));
}

class OnnxReader {
public:
    OnnxReader(const Path& file, std::optional<std::int64_t> batch,
               const std::map<std::string, std::int64_t>& dims)
        : file_(printable(file.string(), 4096)),
          batch_(batch),
          dims_(dims),
          model_(read_onnx_model(file)),
          scope_(opsets_, dims_),
          bodies_(file_, context_, opsets_, dims_) {
        program_.name = file.stem().string();
        program_.functions = is_of_pytorch() ? Program::Functions::exported : Program::Functions::unknown;
    }

    const std::string& file() const { return file_; }
    bool batch_is_open() const { return batch_is_open_; }

    /// To be called once.
    Program run() {
        read_opsets();
        for (const onnx::FunctionProto& function : model_.functions())
            context_.functions.emplace(std::pair(function.domain(), function.name()), &function);
        reserve();
        for (const auto& initializer : graph().initializer()) {
            initializers_.insert(initializer.name());
            if (is_vector(initializer.dims(), [](std::int64_t extent) { return extent; }))
                vectors_.insert(initializer.name());
        }
        for (const auto& initializer : graph().sparse_initializer())
            initializers_.insert(initializer.values().name());
        bool after_parameters = false;
        for (const auto& input : graph().input()) {
            after_parameters |= is_state_dict_path(input.name());
            if (after_parameters && input.name().starts_with("onnx::")) folded_.insert(input.name());
            const auto& dims = input.type().tensor_type().shape().dim();
            const bool vector = is_vector(dims, [](const auto& dim) { return dim.dim_value(); });
            if (vector && is_state_dict_path(input.name()) && is_parameter_input(input))
                vectors_.insert(input.name());
        }
        find_roles();
        read_inputs();
        for (const auto& initializer : graph().initializer()) {
            scope_.define(initializer.name(), initializer);
            add_parameter(initializer.name(), initializer.data_type(),
                          {initializer.dims().begin(), initializer.dims().end()});
        }
        for (const auto& initializer : graph().sparse_initializer()) add_sparse(initializer);
        for (const auto& value : graph().value_info()) scope_.expect(value.name(), value.type());
        for (const auto& value : graph().output()) scope_.expect(value.name(), value.type());
        const std::vector<std::string> names = onnx_op_names(graph());
        for (int i = 0; i < graph().node_size(); ++i)
            add_node(graph().node(i), names[static_cast<std::size_t>(i)]);
        for (const auto& output : graph().output()) program_.outputs.push_back(output.name());
        join_uses();
        return std::move(program_);
    }

private:
    const onnx::GraphProto& graph() const { return model_.graph(); }

    bool is_of_pytorch() const { return model_.producer_name() == "pytorch"; }

    [[noreturn]] void fail(const std::string& where, const std::string& problem) const {
        throw InputError(file_, where, problem);
    }

    static std::string place(const NodeProto& node, const std::string& name) {
        return "node " + in_quotes(name) + " (" + printable(node.op_type(), 80) + ')';
    }

    void read_opsets() {
        add_opsets(opsets_, model_.opset_import());
        const int opset = scope_.opset("");
        if (opset < kOldestOpset) {
            fail("opset_import",
                 "the operator set is " + std::to_string(opset) + ", expected " +
                     std::to_string(kOldestOpset) +
                     " or later; onnx.version_converter.convert_version makes a newer model of it");
        }
    }

    /// Makes room for the values of a large model.
    void reserve() {
        const auto parameters = static_cast<std::size_t>(graph().initializer_size());
        const auto nodes = static_cast<std::size_t>(graph().node_size());
        initializers_.reserve(parameters);
        vectors_.reserve(parameters);
        context_.paths.reserve(parameters);
        reads_.reserve(parameters + nodes);
        scope_.reserve(parameters + nodes);
        program_.parameters.reserve(parameters);
        program_.nodes.reserve(nodes);
    }

    /// Returns whether at most one extent differs from 1.
    static bool is_vector(const auto& dims, auto extent_of) {
        return std::ranges::count_if(dims, [&](const auto& dim) { return extent_of(dim) != 1; }) <= 1;
    }

    /// Counts the readers of values, and finds buffers and parameters that are weights of products.
    void find_roles() {
        for (const NodeProto& node : graph().node()) {
            if (gives_parameter(node)) continue;
            for (int i = 0; i < node.input_size(); ++i) {
                ++reads_[node.input(i)];
                // Scales of quantized weights are found after training.
                if ((node.op_type() == "BatchNormalization" && i > 2) ||
                    (node.op_type() == "MatMulNBits" && i > 0))
                    buffers_.insert(node.input(i));
                const bool weighs = node.op_type() == "MatMul" || node.op_type() == "Gemm" ||
                                    node.op_type().starts_with("Conv");
                if (weighs && (i == 1 || i == 2)) weighed_by_.emplace(node.input(i), std::pair(&node, i));
                if (weighs || node.op_type() == "PRelu" || node.op_type().ends_with("Normalization"))
                    learned_.insert(node.input(i));
            }
            if (node.op_type() == "Add" && node.input_size() == 2) {
                summand_.emplace(node.input(0), node.input(1));
                summand_.emplace(node.input(1), node.input(0));
            }
        }
    }

    /// Returns whether a node defines a parameter as a copy of another. PyTorch's exporter stores equal
    /// parameters once and defines the others by Identity nodes. Vectors among them are parameters of their
    /// own: scales and biases of untrained models, and biases into which batch norms were folded. Equal
    /// matrices are tied parameters.
    bool gives_parameter(const NodeProto& node) const {
        return node.op_type() == "Identity" && node.domain().empty() && node.input_size() == 1 &&
               node.output_size() == 1 && vectors_.contains(node.input(0)) &&
               (is_state_dict_path(node.output(0)) || node.output(0).starts_with("onnx::"));
    }

    /// Returns whether an input is a parameter: an exporter that leaves out parameters lists them as inputs.
    bool is_parameter_input(const onnx::ValueInfoProto& input) const {
        if (!initializers_.empty() || !is_fixed(input)) return false;
        if (is_state_dict_path(input.name())) return true;
        if (folded_.contains(input.name()) && is_real(input.type().tensor_type().elem_type())) return true;
        // Parameters of the whole model have no dot. The model's inputs come first.
        const std::string& name = input.name();
        if (!is_real(input.type().tensor_type().elem_type()) || &input == &graph().input(0) ||
            name.find_first_of(".:/") != std::string::npos)
            return false;
        if (is_own_parameter(name)) return true;
        // Other names are conclusive if the model's inputs have an open batch size, or if the tensor has no
        // extent of the batch in front.
        const auto& inputs = graph().input();
        const bool has_parameters =
            is_of_pytorch() || std::ranges::any_of(inputs, [](const auto& other) {
                return is_state_dict_path(other.name()) || is_own_parameter(other.name());
            });
        return has_parameters && (!std::ranges::all_of(inputs, is_fixed) || !begins_like(input, inputs[0]));
    }

    /// Returns whether the first extents of two tensors of known size are equal.
    static bool begins_like(const onnx::ValueInfoProto& one, const onnx::ValueInfoProto& other) {
        const auto& a = one.type().tensor_type().shape();
        const auto& b = other.type().tensor_type().shape();
        return a.dim_size() > 0 && b.dim_size() > 0 && a.dim(0).dim_value() == b.dim(0).dim_value();
    }

    /// Returns whether a name is that of a parameter in PyTorch's linear, recurrent and attention modules,
    /// one of which may be the whole model.
    static bool is_own_parameter(std::string_view name) {
        if (name == "weight" || name == "bias") return true;
        return std::ranges::any_of(
            std::array{"weight_ih", "weight_hh", "weight_hr", "bias_ih", "bias_hh", "in_proj_"},
            [&](const char* prefix) { return name.starts_with(prefix); });
    }

    static bool is_fixed(const onnx::ValueInfoProto& input) {
        return std::ranges::all_of(input.type().tensor_type().shape().dim(),
                                   [](const auto& dim) { return dim.has_dim_value(); });
    }

    void read_inputs() {
        std::vector<const onnx::ValueInfoProto*> inputs;
        std::set<std::string> open;
        for (const auto& input : graph().input()) {
            if (initializers_.contains(input.name())) continue;
            if (is_parameter_input(input)) {
                scope_.declare(input.name(), input.type());
                add_parameter(input.name(), input.type().tensor_type().elem_type(),
                              scope_.shape(input.name()).value_or(std::vector<std::int64_t>{}));
            } else {
                inputs.push_back(&input);
            }
        }
        for (const auto* input : inputs) {
            for (const auto& dim : input->type().tensor_type().shape().dim()) {
                if (dim.has_dim_param()) open.insert(dim.dim_param());
            }
        }
        for (const auto& [name, extent] : dims_) {
            if (!open.contains(name))
                fail("", "no input has an open extent called " + in_quotes(name) +
                             (open.empty() ? "" : "; there is " + in_quotes(*open.begin())));
            if (extent < 1)
                fail("", "the extent " + in_quotes(name) + " cannot be " + std::to_string(extent) +
                             ", expected a positive number");
        }
        std::optional<std::int64_t> fixed_batch;
        for (const auto* input : inputs) read_input(*input, fixed_batch);
        // A first extent that the caller gave by its name is the batch size. Inputs with one extent alone are
        // the last choice: they may be positions.
        auto named =
            std::ranges::find_if(named_first_, [](const NamedExtent& each) { return each.rank > 1; });
        if (named == named_first_.end()) named = named_first_.begin();
        if (!batch_is_open_ && !fixed_batch && named != named_first_.end()) {
            const bool is_one = std::ranges::any_of(
                named_first_, [&](const NamedExtent& each) { return each.extent == batch_; });
            if (batch_ && !is_one)
                fail("", "the batch size is given twice: " + std::to_string(named->extent) + " by --dim " +
                             printable(named->name, 80) + " and " + std::to_string(*batch_) +
                             " by --batch; leave one out");
            fixed_batch = batch_.value_or(named->extent);
        }
        if (!batch_is_open_ && batch_ && *batch_ != fixed_batch.value_or(1)) {
            fail("", "the batch size of this file is fixed at " + std::to_string(fixed_batch.value_or(1)) +
                         ", not " + std::to_string(*batch_) +
                         "; export the model with an open one (dynamic_axes of torch.onnx.export)");
        }
        program_.batch = batch_is_open_ ? *batch_ : std::max<std::int64_t>(1, fixed_batch.value_or(1));
    }

    void read_input(const onnx::ValueInfoProto& input, std::optional<std::int64_t>& fixed_batch) {
        const std::string where = "input " + in_quotes(input.name());
        if (!input.type().has_tensor_type()) fail(where, "is not a tensor, expected one");
        if (!input.type().tensor_type().has_shape()) fail(where, "its shape is unknown, expected one");
        onnx::TypeProto type = input.type();
        for (int axis = 0; axis < type.tensor_type().shape().dim_size(); ++axis) {
            auto& dim = *type.mutable_tensor_type()->mutable_shape()->mutable_dim(axis);
            if (dim.has_dim_value() && dim.dim_value() >= 0) {
                if (axis == 0 && !fixed_batch) fixed_batch = dim.dim_value();
                continue;
            }
            const std::string name = dim.dim_param();
            if (const auto given = dims_.find(name); !name.empty() && given != dims_.end()) {
                dim.set_dim_value(given->second);
                if (axis == 0)
                    named_first_.push_back({name, given->second, type.tensor_type().shape().dim_size()});
            } else if (axis == 0) {
                batch_is_open_ = true;
                if (!batch_)
                    throw BatchNeeded(file_, where, "leaves the batch size open; give one with --batch");
                if (*batch_ < 1)
                    fail(where, "cannot have a batch size of " + std::to_string(*batch_) +
                                    ", expected a positive number");
                dim.set_dim_value(*batch_);
                if (!name.empty()) dims_.emplace(name, *batch_);
            } else {
                const std::string extent = "leaves extent " + std::to_string(axis) +
                                           (name.empty() ? "" : " (" + in_quotes(name) + ')') + " open; ";
                if (name.empty()) fail(where, extent + "export the model with a fixed one");
                throw ExtentNeeded(file_, where,
                                   extent + "give one with --dim " + printable(name, 80) + "=NUMBER", name);
            }
        }
        scope_.declare(input.name(), type);
        program_.inputs.push_back({input.name(), tensor_of(scope_, input.name())});
    }

    /// Returns the path of a parameter. PyTorch's exporter names parameters that it transposes, or folds
    /// batch norms into, "onnx::MatMul_21".
    std::string path_of(const std::string& name) const {
        if (!name.starts_with("onnx::")) return name;
        const auto found = weighed_by_.find(name);
        if (found == weighed_by_.end()) return name;
        // The bias that is added to the product has the name of the weight's module.
        const auto& [product, operand] = found->second;
        const auto bias = product->output_size() > 0 ? summand_.find(product->output(0)) : summand_.end();
        if (operand == 1 && bias != summand_.end()) {
            constexpr std::string_view kBias = "bias";
            if (is_state_dict_path(bias->second) && bias->second.ends_with(kBias))
                return std::string(bias->second.substr(0, bias->second.size() - kBias.size())) + "weight";
        }
        std::string module = scope_of_name(product->name());
        if (module.empty()) return name;
        return dotted(std::move(module)) + (operand == 1 ? ".weight" : ".bias");
    }

    /// Whether a real number that the file stores is one of a formula, such as the epsilon of a norm, and no
    /// parameter of one element. PyTorch's exporters name such numbers "val_3", "onnx::Mul_7" or
    /// "/norm/Constant_output_0"; other programs store them as tensors without extents.
    bool is_number_of_formula(const std::string& name, const Tensor& tensor) const {
        if (name.find("::") != std::string::npos || name.starts_with("val_")) return true;
        if (learned_.contains(name) || is_state_dict_path(name) || is_own_parameter(name)) return false;
        if (name.find("Constant") != std::string::npos) return true;
        // A parameter of the whole model, such as "logit_scale", has a plain name.
        const bool plain = name.find_first_of("/:") == std::string::npos;
        return tensor.shape && tensor.shape->empty() && !(is_of_pytorch() && plain);
    }

    Program::Parameter parameter(const std::string& name, std::int32_t element,
                                 std::vector<std::int64_t> extents, const OnnxScope& scope) const {
        auto tensor = make_onnx_tensor(element, std::move(extents));
        if (!tensor) fail("initializer " + in_quotes(name), "its size is unknown, or too large");
        const bool real = is_real(element);
        const bool buffer =
            buffers_.contains(name) || name.ends_with("running_mean") || name.ends_with("running_var");
        // A constant of the program: indices and sizes, and numbers without a name of their own.
        const bool number = scope.numbers(name) != nullptr &&
                            (!real || (element_count(*tensor) == 1 && is_number_of_formula(name, *tensor)));
        return {name, number ? "" : path_of(name), *std::move(tensor), real && !buffer && !number};
    }

    void add_parameter(const std::string& name, std::int32_t element, std::vector<std::int64_t> extents) {
        program_.parameters.push_back(parameter(name, element, std::move(extents), scope_));
        context_.paths[name] = program_.parameters.back().path;
    }

    void add_sparse(const onnx::SparseTensorProto& sparse) {
        const std::string& name = sparse.values().name();
        onnx::TypeProto type;
        type.mutable_tensor_type()->set_elem_type(sparse.values().data_type());
        for (const std::int64_t extent : sparse.dims())
            type.mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(extent);
        scope_.declare(name, type);
        add_parameter(name, sparse.values().data_type(), {sparse.dims().begin(), sparse.dims().end()});
        // Stored are the values and their positions.
        const auto bytes = [&](const TensorProto& tensor) {
            const auto stored =
                make_onnx_tensor(tensor.data_type(), {tensor.dims().begin(), tensor.dims().end()});
            if (!stored) fail("sparse initializer " + in_quotes(name), "its size is unknown, or too large");
            return stored->bytes;
        };
        const std::int64_t values = bytes(sparse.values()), indices = bytes(sparse.indices());
        if (__builtin_add_overflow(values, indices, &program_.parameters.back().tensor.bytes))
            fail("sparse initializer " + in_quotes(name), "its size is too large");
    }

    void add_node(const NodeProto& node, const std::string& name) {
        const auto where = [&] { return place(node, name); };
        // Checked here, because a body is read with names of the enclosing graph.
        for (const std::string& input : node.input()) {
            if (!input.empty() && !scope_.knows(input) && !unknown_.contains(input))
                fail(where(),
                     "reads " + in_quotes(input) + ", which no input, parameter or earlier node defines");
        }
        std::string problem;
        std::optional<double> body_flops;
        const bool body = bodies_.has_body(node);
        if (body) {
            body_flops = bodies_.run(node, scope_, where());
        } else {
            problem = scope_.infer(node);
        }
        if (gives_parameter(node)) {
            if (const auto extents = scope_.shape(node.output(0)))
                return add_parameter(node.output(0), scope_.type(node.output(0))->tensor_type().elem_type(),
                                     *extents);
        }
        for (const std::string& output : node.output()) {
            if (!output.empty() && !scope_.knows(output)) unknown_.insert(output);
        }
        // A value computed from parameters, but not from their extents, changes in training.
        const bool of_numbers = node.op_type() != "Shape" && node.op_type() != "Size";
        const bool trained = of_numbers && std::ranges::any_of(node.input(), [&](const std::string& input) {
                                 const auto path = context_.paths.find(input);
                                 return (path != context_.paths.end() && !path->second.empty()) ||
                                        of_parameters_.contains(input);
                             });
        const bool known = node.output_size() == 1 && scope_.numbers(node.output(0)) != nullptr;
        if (known && trained) of_parameters_.insert(node.output(0));
        const bool constant = !body && (node.op_type() == "Constant" || (known && !trained));
        if (constant && node.output_size() == 1) {
            if (auto tensor = tensor_of(scope_, node.output(0))) {
                program_.parameters.push_back({node.output(0), "", *std::move(tensor), false});
                return;
            }
        }
        Program::Node op = translated(node, scope_, context_);
        op.name = name;
        op.scope = scope_of(node);
        if (node_metadata(node, "pkg.torch.onnx.class_hierarchy")
                .find("'torch.nn.modules.normalization.RMSNorm'") != std::string::npos)
            op.part_of = "rms_norm";
        op.flops = body ? body_flops : op.flops;
        if (body) add_captured(node, name, op);
        // The kind itself keeps statistics and masks.
        const bool only_first = op.kind == "batch_norm" || op.kind == "dropout";
        for (int i = 0; i < node.output_size(); ++i) {
            const std::string& output = node.output(i);
            if (output.empty() || (only_first && i > 0 && !reads_.contains(output))) continue;
            op.outputs.push_back({output, tensor_of(scope_, output)});
            if (!op.outputs.back().tensor)
                op.outputs.back().why = problem.empty() ? kNeedsNumbers : printable(problem, 300);
        }
        if (op.kind == "permute" && op.inputs.size() == 1 && context_.paths.contains(op.inputs[0]) &&
            node.output_size() == 1)
            transposed_from(node.output(0), node.input(0));
        program_.nodes.push_back(std::move(op));
    }

    /// Returns the module of a parameter that only this node reads, else the module in the node's name.
    std::string scope_of(const NodeProto& node) const {
        std::string named = node.name().find('/') == std::string::npos ? "" : scope_of_name(node.name());
        for (const std::string& input : node.input()) {
            const auto path = context_.paths.find(input);
            if (path == context_.paths.end() || !is_state_dict_path(path->second)) continue;
            const auto original = originals_.find(input);
            const std::string_view read =
                original == originals_.end() ? std::string_view(input) : original->second;
            if (named.empty() || reads_.at(read) == 1) return scope_of_path(path->second);
        }
        return named;
    }

    /// Both are names in model_.
    void transposed_from(const std::string& output, const std::string& input) {
        context_.paths[output] = context_.paths[input];
        const auto original = originals_.find(input);
        originals_[output] = original == originals_.end() ? std::string_view(input) : original->second;
    }

    /// Renames scopes of repeated uses: PyTorch's exporter names the second use of a module "relu_1". The
    /// scope becomes "relu" if there is one and "relu_1" has no parameters of its own.
    void join_uses() {
        std::unordered_set<std::string> scopes, owners;
        for (const Program::Node& node : program_.nodes) scopes.insert(node.scope);
        for (const Program::Parameter& parameter : program_.parameters) {
            if (!is_state_dict_path(parameter.path)) continue;
            std::string owner = scope_of_path(parameter.path);
            // The modules around a module own its parameters, too.
            while (owners.insert(owner).second && owner.find('/') != std::string::npos)
                owner.resize(owner.rfind('/'));
        }
        for (Program::Node& node : program_.nodes) {
            const std::size_t mark = node.scope.find_last_not_of("0123456789");
            if (mark == std::string::npos || mark + 1 == node.scope.size() || node.scope[mark] != '_')
                continue;
            const std::string first = node.scope.substr(0, mark);
            if (!owners.contains(node.scope) && (scopes.contains(first) || owners.contains(first)))
                node.scope = first;
        }
    }

    /// Adds the values and parameters that the bodies of a node read as inputs of the op.
    void add_captured(const NodeProto& node, const std::string& name, Program::Node& op) {
        for (const std::string& captured : captured_names(node)) {
            if (scope_.knows(captured) && std::ranges::find(op.inputs, captured) == op.inputs.end())
                op.inputs.push_back(captured);
        }
        const auto add_own = [&](Program::Parameter own) {
            own.name = name + '/' + own.name + '#' + std::to_string(program_.parameters.size());
            op.inputs.push_back(own.name);
            program_.parameters.push_back(std::move(own));
        };
        // Tensors in Constant nodes, but not single numbers.
        const auto add_constant = [&](const NodeProto& at) {
            const onnx::AttributeProto* const value = find_attribute(at, "value");
            if (at.op_type() != "Constant" || value == nullptr || !value->has_t() || at.output_size() != 1)
                return;
            auto tensor = make_onnx_tensor(value->t().data_type(),
                                           {value->t().dims().begin(), value->t().dims().end()});
            if (tensor && element_count(*tensor) > 1) add_own({at.output(0), "", *std::move(tensor), false});
        };
        if (const onnx::FunctionProto* const function = context_.function_of(node)) {
            for (const NodeProto& inner : function->node()) add_constant(inner);
        }
        const std::function<void(const NodeProto&)> add_initializers = [&](const NodeProto& at) {
            for (const onnx::AttributeProto& attribute : at.attribute()) {
                for (const auto& initializer : attribute.g().initializer()) {
                    OnnxScope inner(opsets_, dims_);
                    inner.define(initializer.name(), initializer);
                    add_own(parameter(initializer.name(), initializer.data_type(),
                                      {initializer.dims().begin(), initializer.dims().end()}, inner));
                }
                for (const NodeProto& inner : attribute.g().node()) {
                    add_constant(inner);
                    add_initializers(inner);
                }
            }
        };
        add_initializers(node);
    }

    /// The first extent of an input with a name for which the caller gave a number.
    struct NamedExtent {
        std::string name;
        std::int64_t extent;
        int rank;
    };

    std::string file_;
    std::optional<std::int64_t> batch_;
    std::vector<NamedExtent> named_first_;
    bool batch_is_open_ = false;
    std::map<std::string, std::int64_t>
        dims_;  ///< extents by name, including the batch size once it is known
    onnx::ModelProto model_;
    OnnxScope::Opsets opsets_;
    OnnxScope scope_;
    OnnxContext context_;
    OnnxBodies bodies_;
    // By the names in model_, which holds the texts.
    using Names = std::unordered_set<std::string_view>;
    template <class Item>
    using ByName = std::unordered_map<std::string_view, Item>;
    Names initializers_;
    Names vectors_;                                        ///< parameters for which is_vector() holds
    Names buffers_;                                        ///< parameters that are not trained
    ByName<std::size_t> reads_;                            ///< number of nodes that read a value
    ByName<std::string_view> originals_;                   ///< parameters by the names of their transposes
    ByName<std::pair<const NodeProto*, int>> weighed_by_;  ///< product that a parameter is an operand of
    ByName<std::string_view> summand_;                     ///< what is added to a value
    Names learned_;                                        ///< read where layers have their parameters
    Names folded_;         ///< inputs that the exporter computed from parameters
    Names of_parameters_;  ///< known numbers that depend on parameters
    Names unknown_;        ///< values without type
    Program program_;
};

}  // namespace

NetworkFile read_onnx(const Path& file, std::optional<std::int64_t> batch,
                      const std::map<std::string, std::int64_t>& dims) {
    auto reader = std::make_unique<OnnxReader>(file, batch, dims);
    Program program = reader->run();
    const std::string name = reader->file();
    const bool batch_is_open = reader->batch_is_open();
    reader.reset();  // the model's memory, before the network takes its own
    NetworkFile result = network_of(name, std::move(program));
    result.batch_is_open = batch_is_open;
    return result;
}

}  // namespace placewright
