// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/units.hpp"
#include "core/graph/flops.hpp"
#include "core/io/input_error.hpp"
#include "core/io/json.hpp"
#include "core/io/module_names.hpp"
#include "core/io/onnx_model.hpp"
#include "core/io/onnx_scope.hpp"
#include "core/io/program.hpp"
#include "core/io/readers.hpp"

namespace placewright {
namespace {

using onnx::NodeProto;
using onnx::TensorProto;

constexpr int kOldestOpset = 7;
/// Nodes of the bodies of functions, branches and loops, counted at each place that runs them.
constexpr std::size_t kMaxBodyNodes = 100'000;
constexpr int kMaxBodyDepth = 32;
/// Bytes of these nodes, counted likewise.
constexpr std::size_t kMaxBodyBytes = std::size_t{512} << 20;
/// Why the size of what an op gives is not known where nothing is wrong with the op.
constexpr const char* kNeedsNumbers =
    "it depends on numbers that are known only when the model runs; from PyTorch, export such a model with placewright.export";

/// The tensor of an ONNX element type; nothing if that has no size of its own (strings), or the size is none.
std::optional<Tensor> make_onnx_tensor(std::int32_t element, std::vector<std::int64_t> extents) {
    static const std::unordered_map<std::int32_t, DType> types{
        {TensorProto::FLOAT, DType::float32},     {TensorProto::DOUBLE, DType::float64}, {TensorProto::FLOAT16, DType::float16},
        {TensorProto::BFLOAT16, DType::bfloat16}, {TensorProto::INT64, DType::int64},    {TensorProto::UINT64, DType::int64},
        {TensorProto::INT32, DType::int32},       {TensorProto::UINT32, DType::int32},   {TensorProto::INT16, DType::int16},
        {TensorProto::UINT16, DType::int16},      {TensorProto::INT8, DType::int8},      {TensorProto::UINT8, DType::uint8},
        {TensorProto::BOOL, DType::boolean}};
    // Later than the library: four kinds of 8 bits (17 to 20), then of 4.
    constexpr std::int32_t kFloat8 = 17, kLastFloat8 = 20, kUint4 = 21, kLast4 = 23;
    try {
        if (const auto found = types.find(element); found != types.end()) return make_tensor(std::move(extents), found->second);
        if (element >= kFloat8 && element <= kLastFloat8) return make_tensor(std::move(extents), DType::uint8);
        Tensor tensor;
        if (element == TensorProto::COMPLEX64 || element == TensorProto::COMPLEX128) {
            tensor.bytes = make_tensor(std::move(extents), DType::float64).bytes;
            if (element == TensorProto::COMPLEX128 && __builtin_mul_overflow(tensor.bytes, 2, &tensor.bytes)) return {};
            return tensor;
        }
        if (element >= kUint4 && element <= kLast4) {
            tensor.bytes = make_tensor(std::move(extents), DType::uint8).bytes / 2;
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

/// Whether a parameter may be called so in a state_dict: "layer1.0.conv1.weight", but not "onnx::MatMul_21" or "input.1".
bool is_state_dict_path(const std::string& name) {
    const std::size_t dot = name.rfind('.');
    return dot != std::string::npos && dot + 1 < name.size() && name.find("::") == std::string::npos &&
           name.find('/') == std::string::npos && name.find_first_not_of("0123456789", dot + 1) != std::string::npos;
}

/// The module of a node that PyTorch calls "/layer1/layer1.0/conv1/Conv": "layer1/0/conv1". A step of a list repeats the list's name.
std::string scope_of_name(const std::string& name) {
    std::vector<std::string> parts = split_path(name, '/');
    parts.pop_back();
    std::string scope, before;
    for (std::string& part : parts) {
        if (part.empty()) continue;
        const std::string own = !before.empty() && part.starts_with(before + '.') ? part.substr(before.size() + 1) : part;
        for (const std::string& step : split_path(own, '.')) scope += (scope.empty() ? "" : "/") + step;
        before = std::move(part);
    }
    return scope;
}

std::string scope_of_path(const std::string& path) {
    return scope_of_module(module_of(path));
}

enum class Arguments : bool { tensors, numbers };

struct Mapping {
    std::string_view kind;
    /// numbers: inputs after the first that are constant are options in PyTorch, no tensors.
    Arguments arguments = Arguments::tensors;
};

/// Kinds of ONNX ops that need no more than a name. Those of images get their number of dimensions appended.
const Mapping* find_mapping(const std::string& op) {
    constexpr Arguments kNumbers = Arguments::numbers;
    static const std::unordered_map<std::string_view, Mapping> by_op{
        {"Conv", {"conv"}},
        {"ConvTranspose", {"conv_transpose"}},
        {"ConvInteger", {"conv"}},
        {"QLinearConv", {"conv"}},
        {"MaxPool", {"max_pool"}},
        {"AveragePool", {"avg_pool"}},
        {"GlobalMaxPool", {"adaptive_max_pool"}},
        {"GlobalAveragePool", {"adaptive_avg_pool"}},
        {"MatMul", {"matmul"}},
        {"MatMulInteger", {"matmul"}},
        {"QLinearMatMul", {"matmul"}},
        {"Einsum", {"einsum"}},
        {"LSTM", {"lstm"}},
        {"GRU", {"gru"}},
        {"RNN", {"rnn"}},
        {"Attention", {"scaled_dot_product_attention"}},
        {"MultiHeadAttention", {"scaled_dot_product_attention"}},

        {"BatchNormalization", {"batch_norm"}},
        {"GroupNormalization", {"group_norm"}},
        {"InstanceNormalization", {"instance_norm"}},
        {"LayerNormalization", {"layer_norm"}},
        {"SkipLayerNormalization", {"layer_norm"}},
        {"RMSNormalization", {"rms_norm"}},
        {"SimplifiedLayerNormalization", {"rms_norm"}},
        {"SkipSimplifiedLayerNormalization", {"rms_norm"}},
        {"LpNormalization", {"normalize"}},
        {"LRN", {"local_response_norm"}},

        {"Relu", {"relu"}},
        {"LeakyRelu", {"leaky_relu"}},
        {"PRelu", {"prelu"}},
        {"ThresholdedRelu", {"threshold"}},
        {"Elu", {"elu"}},
        {"Selu", {"selu"}},
        {"Celu", {"celu"}},
        {"Gelu", {"gelu"}},
        {"FastGelu", {"gelu"}},
        {"BiasGelu", {"gelu"}},
        {"QuickGelu", {"silu"}},
        {"Swish", {"silu"}},
        {"Mish", {"mish"}},
        {"Sigmoid", {"sigmoid"}},
        {"HardSigmoid", {"hardsigmoid"}},
        {"HardSwish", {"hardswish"}},
        {"Softplus", {"softplus"}},
        {"Softsign", {"softsign"}},
        {"Tanh", {"tanh"}},
        {"Trilu", {"tril", kNumbers}},
        {"Softmax", {"softmax"}},
        {"LogSoftmax", {"log_softmax"}},
        {"Dropout", {"dropout", kNumbers}},
        {"Clip", {"clamp", kNumbers}},
        {"SoftmaxCrossEntropyLoss", {"cross_entropy"}},
        {"NegativeLogLikelihoodLoss", {"nll_loss"}},

        {"Add", {"add"}},
        {"Sum", {"add"}},
        {"Mean", {"add"}},
        {"Sub", {"sub"}},
        {"Mul", {"mul"}},
        {"Div", {"div"}},
        {"Mod", {"remainder"}},
        {"Pow", {"pow"}},
        {"Max", {"maximum"}},
        {"Min", {"minimum"}},
        {"Neg", {"neg"}},
        {"Abs", {"abs"}},
        {"Exp", {"exp"}},
        {"Log", {"log"}},
        {"Sqrt", {"sqrt"}},
        {"Reciprocal", {"reciprocal"}},
        {"Erf", {"erf"}},
        {"Sin", {"sin"}},
        {"Cos", {"cos"}},
        {"Floor", {"floor"}},
        {"Ceil", {"ceil"}},
        {"Round", {"round"}},
        {"Sign", {"sign"}},
        {"Equal", {"eq"}},
        {"Less", {"lt"}},
        {"LessOrEqual", {"le"}},
        {"Greater", {"gt"}},
        {"GreaterOrEqual", {"ge"}},
        {"And", {"logical_and"}},
        {"Or", {"logical_or"}},
        {"Xor", {"logical_xor"}},
        {"Not", {"logical_not"}},
        {"IsInf", {"isinf"}},
        {"IsNaN", {"isnan"}},
        {"Where", {"where"}},
        {"Cast", {"to"}},
        {"CastLike", {"to"}},
        {"QuantizeLinear", {"quantize_per_tensor"}},
        {"DynamicQuantizeLinear", {"quantize_per_tensor"}},
        {"DequantizeLinear", {"dequantize"}},

        {"ReduceMean", {"mean", kNumbers}},
        {"ReduceSum", {"sum", kNumbers}},
        {"ReduceMax", {"max", kNumbers}},
        {"ReduceMin", {"min", kNumbers}},
        {"ReduceProd", {"prod", kNumbers}},
        {"ReduceL1", {"norm", kNumbers}},
        {"ReduceL2", {"norm", kNumbers}},
        {"ReduceSumSquare", {"norm", kNumbers}},
        {"ReduceLogSum", {"logsumexp", kNumbers}},
        {"ReduceLogSumExp", {"logsumexp", kNumbers}},
        {"ArgMax", {"argmax"}},
        {"Hardmax", {"argmax"}},
        {"ArgMin", {"argmin"}},
        {"CumSum", {"cumsum", kNumbers}},
        {"TopK", {"topk", kNumbers}},

        {"Identity", {"identity"}},
        {"Reshape", {"reshape", kNumbers}},
        {"Flatten", {"flatten"}},
        {"Transpose", {"permute"}},
        {"Squeeze", {"squeeze", kNumbers}},
        {"Unsqueeze", {"unsqueeze", kNumbers}},
        {"Expand", {"expand", kNumbers}},
        {"Split", {"split", kNumbers}},
        {"Slice", {"slice", kNumbers}},
        {"Concat", {"cat"}},
        {"Gather", {"index_select"}},
        {"GatherElements", {"gather"}},
        {"GatherND", {"gather"}},
        {"Scatter", {"scatter"}},
        {"ScatterElements", {"scatter"}},
        {"ScatterND", {"scatter"}},
        {"Tile", {"repeat", kNumbers}},
        {"Pad", {"pad", kNumbers}},
        {"Resize", {"interpolate", kNumbers}},
        {"Upsample", {"interpolate", kNumbers}},
        {"GridSample", {"grid_sample"}},
        {"Col2Im", {"col2im", kNumbers}},
        {"DepthToSpace", {"pixel_shuffle"}},
        {"SpaceToDepth", {"pixel_unshuffle"}},
        {"OneHot", {"one_hot", kNumbers}},
        {"Range", {"arange"}},
        {"ConstantOfShape", {"full"}},
    };
    const auto found = by_op.find(op);
    return found == by_op.end() ? nullptr : &found->second;
}

/// Ops of ONNX Runtime that are called and behave like ONNX's.
bool is_plain(const NodeProto& node) {
    static const std::set<std::string> contributed{"FastGelu",
                                                   "BiasGelu",
                                                   "QuickGelu",
                                                   "Gelu",
                                                   "SimplifiedLayerNormalization",
                                                   "MultiHeadAttention",
                                                   "SkipLayerNormalization",
                                                   "SkipSimplifiedLayerNormalization"};
    return node.domain().empty() || node.domain() == "ai.onnx" ||
           (node.domain() == "com.microsoft" && contributed.contains(node.op_type()));
}

double product(const std::vector<std::int64_t>& extents) {
    double result = 1;
    for (const std::int64_t extent : extents) result *= static_cast<double>(extent);
    return result;
}

/// All steps and directions of X (steps x batch x features) with R (directions x gates * hidden x hidden), counted as flops.hpp says.
std::optional<double> recurrent_flops(std::string_view kind, const OnnxScope& scope, const NodeProto& node) {
    if (node.input_size() < 3) return {};
    const auto x = scope.shape(node.input(0)), r = scope.shape(node.input(2));
    if (!x || !r || x->size() != 3 || r->size() != 3) return {};
    const double gates = kind == "lstm" ? 4 : kind == "gru" ? 3 : 1, each = kind == "lstm" ? 13 : kind == "gru" ? 12 : 3;
    const double directions = static_cast<double>((*r)[0]), hidden = static_cast<double>((*r)[2]);
    const double rows = static_cast<double>((*x)[0]) * static_cast<double>((*x)[1]);
    return rows * directions * hidden * (2 * gates * (static_cast<double>((*x)[2]) + hidden) + each);
}

/// Its two products and a softmax over the scores, as flops.hpp says.
double attention_flops(const AttentionExtents& extents) {
    const double scores = product({extents.batch, extents.heads, extents.queries, extents.keys});
    return scores * (2 * static_cast<double>(extents.key_size) + 2 * static_cast<double>(extents.value_size) + 5);
}

/// OpShapes::window of interpolate and grid_sample.
std::int64_t points_in_a_row(const NodeProto& node) {
    if (integer_attribute(node, "antialias", 0) != 0) return 0;  // as many as it makes an image smaller
    const onnx::AttributeProto* const given = find_attribute(node, "mode");
    const std::string mode = given != nullptr ? given->s() : node.op_type() == "GridSample" ? "linear" : "nearest";
    if (mode == "nearest") return 1;
    return mode == "cubic" || mode == "bicubic" ? 4 : 2;
}

std::string json_text(const std::vector<std::int64_t>& items) {
    return Json(items).dump();
}

/// Names that a body reads from the graph around it, each once, in their order.
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

    /// The bodies of a node.
    void add(const NodeProto& node) {
        for (const onnx::AttributeProto& attribute : node.attribute()) {
            if (attribute.has_g()) add(attribute.g());
        }
    }

private:
    void read(const std::string& name) {
        if (name.empty() || std::ranges::any_of(own_, [&](const auto& own) { return own.contains(name); })) return;
        if (seen_.insert(name).second) names.push_back(name);
    }

    std::vector<std::unordered_set<std::string>> own_;
    std::unordered_set<std::string> seen_;
};

class OnnxReader {
public:
    OnnxReader(const Path& file, std::optional<std::int64_t> batch, const std::map<std::string, std::int64_t>& dims)
        : file_(printable(file.string(), 4096)), batch_(batch), dims_(dims), model_(read_onnx_model(file)), scope_(opsets_, dims_) {
        program_.name = file.stem().string();
    }

    NetworkFile run() {
        read_opsets();
        for (const onnx::FunctionProto& function : model_.functions())
            functions_.emplace(std::pair(function.domain(), function.name()), &function);
        for (const auto& initializer : graph().initializer()) {
            initializers_.insert(initializer.name());
            if (is_vector(initializer.dims(), [](std::int64_t extent) { return extent; })) vectors_.insert(initializer.name());
        }
        for (const auto& initializer : graph().sparse_initializer()) initializers_.insert(initializer.values().name());
        for (const auto& input : graph().input()) {
            const auto& dims = input.type().tensor_type().shape().dim();
            const bool vector = is_vector(dims, [](const auto& dim) { return dim.dim_value(); });
            if (vector && is_state_dict_path(input.name()) && is_parameter_input(input)) vectors_.insert(input.name());
        }
        find_roles();
        read_inputs();
        for (const auto& initializer : graph().initializer()) {
            scope_.define(initializer.name(), initializer);
            add_parameter(initializer.name(), initializer.data_type(), {initializer.dims().begin(), initializer.dims().end()});
        }
        for (const auto& initializer : graph().sparse_initializer()) add_sparse(initializer);
        for (const auto& value : graph().value_info()) scope_.expect(value.name(), value.type());
        for (const auto& value : graph().output()) scope_.expect(value.name(), value.type());
        const std::vector<std::string> names = onnx_op_names(graph());
        for (int i = 0; i < graph().node_size(); ++i) add_node(graph().node(i), names[static_cast<std::size_t>(i)]);
        for (const auto& output : graph().output()) program_.outputs.push_back(output.name());
        join_uses();
        NetworkFile result = network_of(file_, std::move(program_));
        result.batch_is_open = batch_is_open_;
        return result;
    }

private:
    const onnx::GraphProto& graph() const { return model_.graph(); }

    [[noreturn]] void fail(const std::string& where, const std::string& problem) const { throw InputError(file_, where, problem); }

    static std::string place(const NodeProto& node, const std::string& name) {
        return "node " + in_quotes(name) + " (" + printable(node.op_type(), 80) + ')';
    }

    void read_opsets() {
        for (const auto& import : model_.opset_import()) {
            const auto version = static_cast<int>(std::clamp<std::int64_t>(import.version(), 0, 1'000'000));
            opsets_[import.domain() == "ai.onnx" ? "" : import.domain()] = version;
        }
        const int opset = scope_.opset("");
        if (opset < kOldestOpset) {
            fail("opset_import", "the operator set is " + std::to_string(opset) + ", expected " + std::to_string(kOldestOpset) +
                                     " or later; onnx.version_converter.convert_version makes a newer model of it");
        }
    }

    /// Whether all extents but one are 1.
    static bool is_vector(const auto& dims, auto extent_of) {
        return std::ranges::count_if(dims, [&](const auto& dim) { return extent_of(dim) != 1; }) <= 1;
    }

    /// Who reads parameters, and as what.
    void find_roles() {
        for (const NodeProto& node : graph().node()) {
            if (gives_parameter(node)) continue;
            for (int i = 0; i < node.input_size(); ++i) {
                ++reads_[node.input(i)];
                if (node.op_type() == "BatchNormalization" && i > 2) buffers_.insert(node.input(i));
                const bool weighs = node.op_type() == "MatMul" || node.op_type() == "Gemm" || node.op_type().starts_with("Conv");
                if (weighs && (i == 1 || i == 2)) weighed_by_.emplace(node.input(i), std::pair(&node, i));
            }
        }
    }

    /// The exporter of PyTorch stores equal parameters once, and gives the others their names by such nodes: scales and biases of models
    /// that are not trained yet, which are parameters of their own, as are the biases that it folds batch norms into. Equal matrices are
    /// tied.
    bool gives_parameter(const NodeProto& node) const {
        return node.op_type() == "Identity" && node.domain().empty() && node.input_size() == 1 && node.output_size() == 1 &&
               vectors_.contains(node.input(0)) && (is_state_dict_path(node.output(0)) || node.output(0).starts_with("onnx::"));
    }

    /// An exporter that leaves parameters out lists them among the inputs.
    bool is_parameter_input(const onnx::ValueInfoProto& input) const {
        if (!initializers_.empty() || !is_fixed(input)) return false;
        if (is_state_dict_path(input.name())) return true;
        // Parameters of the whole model have no dot. What is given to the model comes first.
        const std::string& name = input.name();
        if (!is_real(input.type().tensor_type().elem_type()) || &input == &graph().input(0) ||
            name.find_first_of(".:/") != std::string::npos)
            return false;
        if (is_own_parameter(name)) return true;
        // Other names tell something only where what is given is of any batch size.
        const auto& inputs = graph().input();
        const bool has_parameters = model_.producer_name() == "pytorch" || std::ranges::any_of(inputs, [](const auto& other) {
                                        return is_state_dict_path(other.name()) || is_own_parameter(other.name());
                                    });
        return has_parameters && !std::ranges::all_of(inputs, is_fixed);
    }

    /// What PyTorch's linear, recurrent and attention modules call their own: a module of these may be the whole model.
    static bool is_own_parameter(std::string_view name) {
        if (name == "weight" || name == "bias") return true;
        return std::ranges::any_of(std::array{"weight_ih", "weight_hh", "weight_hr", "bias_ih", "bias_hh", "in_proj_"},
                                   [&](const char* prefix) { return name.starts_with(prefix); });
    }

    static bool is_fixed(const onnx::ValueInfoProto& input) {
        return std::ranges::all_of(input.type().tensor_type().shape().dim(), [](const auto& dim) { return dim.has_dim_value(); });
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
                fail("", "the extent " + in_quotes(name) + " cannot be " + std::to_string(extent) + ", expected a positive number");
        }
        std::optional<std::int64_t> fixed_batch;
        for (const auto* input : inputs) read_input(*input, fixed_batch);
        if (!batch_is_open_ && batch_ && *batch_ != fixed_batch.value_or(1)) {
            fail("", "the batch size of this file is fixed at " + std::to_string(fixed_batch.value_or(1)) + ", not " +
                         std::to_string(*batch_) + "; export the model with an open one (dynamic_axes of torch.onnx.export)");
        }
        program_.batch = batch_is_open_ ? *batch_ : std::max<std::int64_t>(1, fixed_batch.value_or(1));
    }

    void read_input(const onnx::ValueInfoProto& input, std::optional<std::int64_t>& fixed_batch) {
        const std::string where = "input " + in_quotes(input.name());
        if (!input.type().has_tensor_type()) fail(where, "is no tensor, which is all that is read");
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
            } else if (axis == 0) {
                batch_is_open_ = true;
                if (!batch_) throw BatchNeeded(file_, where, "leaves the batch size open; give one with --batch");
                if (*batch_ < 1) fail(where, "cannot have a batch size of " + std::to_string(*batch_) + ", expected a positive number");
                dim.set_dim_value(*batch_);
                if (!name.empty()) dims_.emplace(name, *batch_);
            } else {
                const std::string extent =
                    "leaves extent " + std::to_string(axis) + (name.empty() ? "" : " (" + in_quotes(name) + ')') + " open; ";
                if (name.empty()) fail(where, extent + "export the model with a fixed one");
                throw ExtentNeeded(file_, where, extent + "give one with --dim " + printable(name, 80) + "=NUMBER", name);
            }
        }
        scope_.declare(input.name(), type);
        program_.inputs.push_back({input.name(), tensor_of(scope_, input.name())});
    }

    /// The path of a parameter; the exporter of PyTorch calls what it transposes, or folds batch norms into, "onnx::MatMul_21".
    std::string path_of(const std::string& name) const {
        if (!name.starts_with("onnx::")) return name;
        const auto found = weighed_by_.find(name);
        if (found == weighed_by_.end()) return name;
        std::string module = scope_of_name(found->second.first->name());
        if (module.empty()) return name;
        return dotted(std::move(module)) + (found->second.second == 1 ? ".weight" : ".bias");
    }

    Program::Parameter parameter(const std::string& name, std::int32_t element, std::vector<std::int64_t> extents,
                                 const OnnxScope& scope) const {
        auto tensor = make_onnx_tensor(element, std::move(extents));
        if (!tensor) fail("initializer " + in_quotes(name), "its size is unknown, or too large");
        const bool real = is_real(element);
        const bool buffer = buffers_.contains(name) || name.ends_with("running_mean") || name.ends_with("running_var");
        // A number of the program: indices and sizes, and what has no name of its own.
        const bool number =
            scope.numbers(name) != nullptr && (!real || (name.find("::") != std::string::npos && element_count(*tensor) == 1));
        return {name, number ? "" : path_of(name), *std::move(tensor), real && !buffer && !number};
    }

    void add_parameter(const std::string& name, std::int32_t element, std::vector<std::int64_t> extents) {
        program_.parameters.push_back(parameter(name, element, std::move(extents), scope_));
        paths_[name] = program_.parameters.back().path;
    }

    void add_sparse(const onnx::SparseTensorProto& sparse) {
        const std::string& name = sparse.values().name();
        onnx::TypeProto type;
        type.mutable_tensor_type()->set_elem_type(sparse.values().data_type());
        for (const std::int64_t extent : sparse.dims()) type.mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(extent);
        scope_.declare(name, type);
        add_parameter(name, sparse.values().data_type(), {sparse.dims().begin(), sparse.dims().end()});
        // What is stored: the values and where they are.
        const auto bytes = [&](const TensorProto& tensor) {
            const auto stored = make_onnx_tensor(tensor.data_type(), {tensor.dims().begin(), tensor.dims().end()});
            if (!stored) fail("sparse initializer " + in_quotes(name), "its size is unknown, or too large");
            return stored->bytes;
        };
        const std::int64_t values = bytes(sparse.values()), indices = bytes(sparse.indices());
        if (__builtin_add_overflow(values, indices, &program_.parameters.back().tensor.bytes))
            fail("sparse initializer " + in_quotes(name), "its size is too large");
    }

    const onnx::FunctionProto* function_of(const NodeProto& node) const {
        const auto found = functions_.find({node.domain(), node.op_type()});
        return found == functions_.end() ? nullptr : found->second;
    }

    /// What runs a body.
    bool has_body(const NodeProto& node) const {
        return function_of(node) != nullptr ||
               std::ranges::any_of(node.attribute(), [](const auto& attribute) { return attribute.has_g(); });
    }

    void add_node(const NodeProto& node, const std::string& name) {
        where_ = place(node, name);
        // It is said here, since a body is read by names of the graph around it.
        for (const std::string& input : node.input()) {
            if (!input.empty() && !scope_.knows(input) && !unknown_.contains(input))
                fail(where_, "reads " + in_quotes(input) + ", which no input, parameter or node before it gives");
        }
        std::string problem;
        std::optional<double> body_flops;
        const bool body = has_body(node);
        if (body) {
            body_flops = run_body(node, scope_, 0);
        } else {
            problem = scope_.infer(node);
        }
        if (gives_parameter(node)) {
            if (const auto extents = scope_.shape(node.output(0)))
                return add_parameter(node.output(0), scope_.type(node.output(0))->tensor_type().elem_type(), *extents);
        }
        for (const std::string& output : node.output()) {
            if (!output.empty() && !scope_.knows(output)) unknown_.insert(output);
        }
        // What is made of parameters, not of their extents, changes as they are trained.
        const bool of_numbers = node.op_type() != "Shape" && node.op_type() != "Size";
        const bool trained = of_numbers && std::ranges::any_of(node.input(), [&](const std::string& input) {
                                 const auto path = paths_.find(input);
                                 return (path != paths_.end() && !path->second.empty()) || of_parameters_.contains(input);
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
        Program::Node op = translated(node, scope_);
        op.name = name;
        op.scope = scope_of(node);
        op.flops = body ? body_flops : op.flops;
        if (body) add_captured(node, name, op);
        // Statistics and masks are part of what the kind keeps.
        const bool only_first = op.kind == "batch_norm" || op.kind == "dropout";
        for (int i = 0; i < node.output_size(); ++i) {
            const std::string& output = node.output(i);
            if (output.empty() || (only_first && i > 0 && !reads_.contains(output))) continue;
            op.outputs.push_back({output, tensor_of(scope_, output)});
            if (!op.outputs.back().tensor) op.outputs.back().why = problem.empty() ? kNeedsNumbers : printable(problem, 300);
        }
        if (op.kind == "permute" && op.inputs.size() == 1 && paths_.contains(op.inputs[0]) && node.output_size() == 1)
            transposed_from(node.output(0), op.inputs[0]);
        program_.nodes.push_back(std::move(op));
    }

    /// The module of the parameter that it alone reads, else the one in its name.
    std::string scope_of(const NodeProto& node) const {
        std::string named = node.name().find('/') == std::string::npos ? "" : scope_of_name(node.name());
        for (const std::string& input : node.input()) {
            const auto path = paths_.find(input);
            if (path == paths_.end() || !is_state_dict_path(path->second)) continue;
            const auto original = originals_.find(input);
            if (named.empty() || reads_.at(original == originals_.end() ? input : original->second) == 1)
                return scope_of_path(path->second);
        }
        return named;
    }

    void transposed_from(const std::string& output, const std::string& input) {
        paths_[output] = paths_[input];
        const auto original = originals_.find(input);
        originals_[output] = original == originals_.end() ? input : original->second;
    }

    /// The exporter of PyTorch calls the second use of a module "relu_1". That is the module "relu", if there is one and "relu_1" has no
    /// parameters of its own.
    void join_uses() {
        std::set<std::string> scopes, owners;
        for (const Program::Node& node : program_.nodes) scopes.insert(node.scope);
        for (const Program::Parameter& parameter : program_.parameters) {
            if (!is_state_dict_path(parameter.path)) continue;
            std::string owner = scope_of_path(parameter.path);
            // What a module is in owns its parameters too.
            while (owners.insert(owner).second && owner.find('/') != std::string::npos) owner.resize(owner.rfind('/'));
        }
        for (Program::Node& node : program_.nodes) {
            const std::size_t mark = node.scope.find_last_not_of("0123456789");
            if (mark == std::string::npos || mark + 1 == node.scope.size() || node.scope[mark] != '_') continue;
            const std::string first = node.scope.substr(0, mark);
            if (!owners.contains(node.scope) && (scopes.contains(first) || owners.contains(first))) node.scope = first;
        }
    }

    /// Bodies read values of the graph around them, and have parameters of their own.
    void add_captured(const NodeProto& node, const std::string& name, Program::Node& op) {
        Captures captures;
        captures.add(node);
        for (const std::string& captured : captures.names) {
            if (scope_.knows(captured) && std::ranges::find(op.inputs, captured) == op.inputs.end()) op.inputs.push_back(captured);
        }
        const std::function<void(const NodeProto&)> add_initializers = [&](const NodeProto& at) {
            for (const onnx::AttributeProto& attribute : at.attribute()) {
                for (const auto& initializer : attribute.g().initializer()) {
                    OnnxScope inner(opsets_, dims_);
                    inner.define(initializer.name(), initializer);
                    Program::Parameter own = parameter(initializer.name(), initializer.data_type(),
                                                       {initializer.dims().begin(), initializer.dims().end()}, inner);
                    own.name = name + '/' + initializer.name() + '#' + std::to_string(program_.parameters.size());
                    op.inputs.push_back(own.name);
                    program_.parameters.push_back(std::move(own));
                }
                for (const NodeProto& inner : attribute.g().node()) add_initializers(inner);
            }
        };
        add_initializers(node);
    }

    // Bodies: what they compute, and the types of what they give.

    void count_body_node(int depth) {
        if (++body_nodes_ > kMaxBodyNodes || depth > kMaxBodyDepth)
            fail(where_, "its body runs more than " + std::to_string(kMaxBodyNodes) + " nodes, or is nested more than " +
                             std::to_string(kMaxBodyDepth) + " deep, which is the most that is read");
    }
    /// Before a message of a body is copied, which each run of the body does.
    void count_body_bytes(const google::protobuf::Message& message) {
        body_bytes_ += message.ByteSizeLong();
        if (body_bytes_ > kMaxBodyBytes)
            fail(where_, "the bodies run up to it have more than " + format_bytes(static_cast<double>(kMaxBodyBytes)) +
                             " of nodes, counted each time they run, which is the most that is read; make large attributes initializers");
    }

    std::optional<double> run_node(const NodeProto& node, OnnxScope& scope, int depth) {
        count_body_bytes(node);
        if (has_body(node)) return run_body(node, scope, depth + 1);
        scope.infer(node);
        if (node.op_type() == "Constant" || (node.output_size() == 1 && scope.numbers(node.output(0)) != nullptr)) return 0;
        return flops_of(node, scope);
    }

    /// FLOPs of the nodes together; nothing if some are not known. Those of a function have its call.
    template <class Nodes>
    std::optional<double> run_nodes(const Nodes& nodes, OnnxScope& scope, int depth, const NodeProto* call = nullptr) {
        std::optional<double> total = 0;
        for (const NodeProto& node : nodes) {
            count_body_node(depth);
            const bool as_called = call != nullptr && std::ranges::any_of(node.attribute(), refers_to_call);
            const auto flops = as_called ? run_node(with_attributes(node, *call), scope, depth) : run_node(node, scope, depth);
            if (!flops) total.reset();
            if (total) *total += *flops;
        }
        return total;
    }

    std::optional<double> flops_of(const NodeProto& node, const OnnxScope& scope) const {
        const Program::Node op = translated(node, scope);
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

    std::optional<double> run_body(const NodeProto& node, OnnxScope& scope, int depth) {
        count_body_node(depth);
        if (const onnx::FunctionProto* function = function_of(node)) return run_function(node, *function, scope, depth);
        if (node.op_type() == "If") return run_if(node, scope, depth);
        if (node.op_type() == "Loop") return run_loop(node, scope, depth);
        if (node.op_type() == "Scan") return run_scan(node, scope, depth);
        scope.infer(node);
        return {};
    }

    static bool refers_to_call(const onnx::AttributeProto& attribute) { return !attribute.ref_attr_name().empty(); }

    /// A node of a function with the attributes of the call that its own stand for.
    NodeProto with_attributes(const NodeProto& node, const NodeProto& call) {
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
                result.mutable_attribute()->DeleteSubrange(i, 1);  // its default
            }
        }
        return result;
    }

    std::optional<double> run_function(const NodeProto& node, const onnx::FunctionProto& function, OnnxScope& scope, int depth) {
        OnnxScope::Opsets opsets = opsets_;
        for (const auto& import : function.opset_import())
            opsets[import.domain() == "ai.onnx" ? "" : import.domain()] =
                static_cast<int>(std::clamp<std::int64_t>(import.version(), 0, 1'000'000));
        OnnxScope inner(opsets, dims_);
        for (int i = 0; i < std::min(function.input_size(), node.input_size()); ++i) inner.alias(function.input(i), scope, node.input(i));
        const auto flops = run_nodes(function.node(), inner, depth + 1, &node);
        for (int i = 0; i < std::min(function.output_size(), node.output_size()); ++i) {
            if (const onnx::TypeProto* type = inner.type(function.output(i))) scope.declare(node.output(i), *type);
        }
        return flops;
    }

    /// A body within `scope`: the given types are those of its inputs.
    std::optional<double> run_graph(const onnx::GraphProto& body, OnnxScope& inner, const std::vector<onnx::TypeProto>& inputs, int depth) {
        for (int i = 0; i < body.input_size(); ++i) {
            const auto given = static_cast<std::size_t>(i);
            inner.declare(body.input(i).name(), given < inputs.size() && inputs[given].value_case() != onnx::TypeProto::VALUE_NOT_SET
                                                    ? inputs[given]
                                                    : body.input(i).type());
        }
        for (const auto& initializer : body.initializer()) inner.define(initializer.name(), initializer);
        for (const auto& value : body.value_info()) inner.expect(value.name(), value.type());
        for (const auto& value : body.output()) inner.expect(value.name(), value.type());
        return run_nodes(body.node(), inner, depth + 1);
    }

    static const onnx::GraphProto& body_of(const NodeProto& node, std::string_view name) {
        const onnx::AttributeProto* attribute = find_attribute(node, name);
        return attribute != nullptr ? attribute->g() : onnx::GraphProto::default_instance();
    }

    /// The branch that computes more; outputs are as large as the larger.
    std::optional<double> run_if(const NodeProto& node, OnnxScope& scope, int depth) {
        const onnx::GraphProto& then_body = body_of(node, "then_branch");
        const onnx::GraphProto& else_body = body_of(node, "else_branch");
        OnnxScope then_scope(opsets_, dims_, &scope), else_scope(opsets_, dims_, &scope);
        const auto then_flops = run_graph(then_body, then_scope, {}, depth), else_flops = run_graph(else_body, else_scope, {}, depth);
        for (int i = 0; i < std::min({node.output_size(), then_body.output_size(), else_body.output_size()}); ++i) {
            const std::string &then_name = then_body.output(i).name(), &else_name = else_body.output(i).name();
            const auto then_shape = then_scope.shape(then_name), else_shape = else_scope.shape(else_name);
            const bool take_else = else_shape && (!then_shape || product(*else_shape) > product(*then_shape));
            const onnx::TypeProto* type = take_else ? else_scope.type(else_name) : then_scope.type(then_name);
            if (type != nullptr) scope.declare(node.output(i), *type);
        }
        if (!then_flops || !else_flops) return {};
        return std::max(*then_flops, *else_flops);
    }

    static onnx::TypeProto type_or_none(const OnnxScope& scope, const std::string& name) {
        const onnx::TypeProto* type = name.empty() ? nullptr : scope.type(name);
        return type != nullptr ? *type : onnx::TypeProto();
    }

    static onnx::TypeProto without_axis(onnx::TypeProto type) {
        auto& shape = *type.mutable_tensor_type()->mutable_shape();
        if (shape.dim_size() > 0) shape.mutable_dim()->DeleteSubrange(0, 1);
        return type;
    }

    static onnx::TypeProto with_axis(const onnx::TypeProto& type, std::optional<std::int64_t> extent) {
        onnx::TypeProto result = type;
        auto& shape = *result.mutable_tensor_type()->mutable_shape();
        shape.clear_dim();
        auto& first = *shape.add_dim();
        if (extent) first.set_dim_value(*extent);
        for (const auto& dim : type.tensor_type().shape().dim()) *shape.add_dim() = dim;
        return result;
    }

    /// As often as it says, if that is constant.
    std::optional<double> run_loop(const NodeProto& node, OnnxScope& scope, int depth) {
        const onnx::GraphProto& body = body_of(node, "body");
        onnx::TypeProto count, condition;
        count.mutable_tensor_type()->set_elem_type(TensorProto::INT64);
        count.mutable_tensor_type()->mutable_shape();
        condition.mutable_tensor_type()->set_elem_type(TensorProto::BOOL);
        condition.mutable_tensor_type()->mutable_shape();
        std::vector<onnx::TypeProto> inputs{count, condition};
        for (int i = 2; i < node.input_size(); ++i) inputs.push_back(type_or_none(scope, node.input(i)));
        OnnxScope inner(opsets_, dims_, &scope);
        const auto flops = run_graph(body, inner, inputs, depth);
        std::optional<std::int64_t> trips;
        if (node.input_size() > 0) {
            if (const Numbers* limit = scope.numbers(node.input(0)); limit != nullptr && limit->values.size() == 1)
                trips = std::max<std::int64_t>(0, limit->whole()[0]);
        }
        // A body gives its condition, what it carries, and what is stacked.
        const int carried = node.input_size() - 2;
        for (int i = 0; i < std::min(node.output_size(), body.output_size() - 1); ++i) {
            const onnx::TypeProto* type = inner.type(body.output(i + 1).name());
            if (type != nullptr) scope.declare(node.output(i), i < carried ? *type : with_axis(*type, trips));
        }
        if (!flops || !trips) return {};
        return *flops * static_cast<double>(*trips);
    }

    /// Once for each slice of the sequences that it goes over. Those of operator set 8 are left to what the file says of their outputs.
    std::optional<double> run_scan(const NodeProto& node, OnnxScope& scope, int depth) {
        const onnx::GraphProto& body = body_of(node, "body");
        const auto slices = static_cast<int>(std::clamp<std::int64_t>(integer_attribute(node, "num_scan_inputs", 0), 0, node.input_size()));
        const bool plain = std::ranges::all_of(integers_attribute(node, "scan_input_axes"), [](auto axis) { return axis == 0; }) &&
                           std::ranges::all_of(integers_attribute(node, "scan_output_axes"), [](auto axis) { return axis == 0; });
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
            if (const auto shape = scope.shape(node.input(i)); i >= states && shape && !shape->empty()) trips = shape->front();
        }
        OnnxScope inner(opsets_, dims_, &scope);
        const auto flops = run_graph(body, inner, inputs, depth);
        for (int i = 0; i < std::min(node.output_size(), body.output_size()); ++i) {
            const onnx::TypeProto* type = inner.type(body.output(i).name());
            if (type != nullptr) scope.declare(node.output(i), i < states ? *type : with_axis(*type, trips));
        }
        if (!flops || !trips) return {};
        return *flops * static_cast<double>(*trips);
    }

    // Kinds.

    static std::string own_word(const NodeProto& node) {
        return node.domain().empty() ? node.op_type() : node.domain() + '.' + node.op_type();
    }

    /// Kind, inputs in the order of its functional form, what its FLOPs need, attributes.
    Program::Node translated(const NodeProto& node, const OnnxScope& scope) const {
        Program::Node op;
        const Mapping* mapping = is_plain(node) && function_of(node) == nullptr ? find_mapping(node.op_type()) : nullptr;
        op.kind = mapping != nullptr ? mapping->kind : own_word(node);
        for (int i = 0; i < node.input_size(); ++i) {
            const bool option =
                mapping != nullptr && mapping->arguments == Arguments::numbers && i > 0 && scope.numbers(node.input(i)) != nullptr;
            if (!node.input(i).empty() && !option) op.inputs.push_back(node.input(i));
        }
        describe(node, op);
        const auto shape_of = [&](int input) { return input < node.input_size() ? scope.shape(node.input(input)) : std::nullopt; };
        const auto output_shape = [&] { return node.output_size() > 0 ? scope.shape(node.output(0)) : std::nullopt; };
        const std::string& type = node.op_type();
        if (mapping == nullptr && type == "Gemm" && is_plain(node)) {
            translate_gemm(node, scope, op);
        } else if (mapping == nullptr) {
            return op;
        } else if (type.ends_with("Pool") || type.starts_with("Conv") || type == "QLinearConv") {
            // Activations of quantized ops come with a scale and a zero point.
            if (type == "QLinearConv" && op.inputs.size() > 3)
                std::rotate(op.inputs.begin() + 1, op.inputs.begin() + 3, op.inputs.begin() + 4);
            if (const auto shape = shape_of(0); shape && shape->size() > 2) op.kind += std::to_string(shape->size() - 2) + 'd';
            if (type.ends_with("Pool")) op.window = window_of(integers_attribute(node, "kernel_shape"));
        } else if (type == "QLinearMatMul") {
            if (op.inputs.size() > 3) std::rotate(op.inputs.begin() + 1, op.inputs.begin() + 3, op.inputs.begin() + 4);
        } else if (type == "LRN") {
            op.window = std::max<std::int64_t>(1, integer_attribute(node, "size", 1));
        } else if (type == "LSTM" || type == "GRU" || type == "RNN") {
            op.flops = recurrent_flops(op.kind, scope, node);
        } else if (type == "Sum" || type == "Mean") {
            // A mean divides.
            const int each = type == "Sum" ? std::max(0, node.input_size() - 1) : node.input_size();
            if (const auto shape = output_shape()) op.flops = product(*shape) * each;
        } else if (type == "ReduceLogSum") {
            const auto from = shape_of(0), to = output_shape();
            if (from && to) op.flops = product(*from) + product(*to);
        } else if (type == "Trilu") {
            if (integer_attribute(node, "upper", 1) != 0) op.kind = "triu";
        } else if (op.kind == "scaled_dot_product_attention") {
            if (const auto extents = attention_extents(node, scope)) op.flops = attention_flops(*extents);
        } else if (type == "Einsum") {
            const onnx::AttributeProto* equation = find_attribute(node, "equation");
            if (equation != nullptr) op.equation = equation->s();
        } else if (op.kind == "interpolate" || op.kind == "grid_sample") {
            op.window = points_in_a_row(node);
        } else if (type == "Gather" && node.input_size() == 2) {
            translate_gather(node, scope, op);
        }
        return op;
    }

    static std::int64_t window_of(const std::vector<std::int64_t>& kernel) {
        std::int64_t window = 1;
        for (const std::int64_t extent : kernel) {
            if (extent < 1 || __builtin_mul_overflow(window, extent, &window)) return 1;
        }
        return window;
    }

    /// Y = A B + C, either of A and B transposed first: linear if that is B, as PyTorch has its weights.
    static void translate_gemm(const NodeProto& node, const OnnxScope& scope, Program::Node& op) {
        const bool turn_a = integer_attribute(node, "transA", 0) != 0, turn_b = integer_attribute(node, "transB", 0) != 0;
        const bool adds = op.inputs.size() > 2;
        op.kind = turn_b && !turn_a ? "linear" : adds ? "addmm" : "mm";
        if (op.kind == "addmm") std::rotate(op.inputs.begin(), op.inputs.begin() + 2, op.inputs.begin() + 3);
        const auto a = node.input_size() > 0 ? scope.shape(node.input(0)) : std::nullopt;
        const auto y = node.output_size() > 0 ? scope.shape(node.output(0)) : std::nullopt;
        if (turn_a && a && y && !a->empty()) op.flops = 2 * product(*y) * static_cast<double>(a->front());
    }

    void translate_gather(const NodeProto& node, const OnnxScope& scope, Program::Node& op) const {
        const Numbers* index = scope.numbers(node.input(1));
        const auto shape = scope.shape(node.input(0));
        if (index != nullptr && index->shape.empty()) {
            op.kind = "select";
            op.inputs.resize(1);
        } else if (shape && shape->size() == 2 && integer_attribute(node, "axis", 0) == 0 && paths_.contains(node.input(0))) {
            op.kind = "embedding";
        }
    }

    /// Windows as the other readers have them, the rest by the names of the file.
    static void describe(const NodeProto& node, Program::Node& op) {
        constexpr int kMostItems = 64;
        for (const onnx::AttributeProto& attribute : node.attribute()) {
            const std::string& name = attribute.name();
            std::vector<std::int64_t> items(attribute.ints().begin(), attribute.ints().end());
            if (items.size() > kMostItems || printable(name) != name) continue;
            if (name == "kernel_shape")
                op.attributes["kernel"] = json_text(items);
            else if (name == "strides")
                op.attributes["stride"] = json_text(items);
            else if (name == "dilations")
                op.attributes["dilation"] = json_text(items);
            else if (name == "group") {
                if (attribute.i() != 1) op.attributes["groups"] = std::to_string(attribute.i());
            } else if (name == "axis" && attribute.has_i())
                op.attributes["dim"] = std::to_string(attribute.i());
            else if (name == "pads" && !items.empty()) {
                // All begins, then all ends.
                const auto half = items.begin() + static_cast<std::ptrdiff_t>(items.size() / 2);
                const bool even = items.size() % 2 == 0 && std::equal(items.begin(), half, half);
                op.attributes["padding"] = json_text(even ? std::vector(items.begin(), half) : items);
            } else if (!items.empty())
                op.attributes[name] = json_text(items);
            else if (attribute.has_i())
                op.attributes[name] = std::to_string(attribute.i());
        }
    }

    std::string file_;
    std::optional<std::int64_t> batch_;
    bool batch_is_open_ = false;
    std::map<std::string, std::int64_t> dims_;  ///< extents by name, the batch among them once it is known
    onnx::ModelProto model_;
    OnnxScope::Opsets opsets_;
    OnnxScope scope_;
    std::map<std::pair<std::string, std::string>, const onnx::FunctionProto*> functions_;
    std::unordered_set<std::string> initializers_, vectors_;                        ///< vectors_ are the parameters that is_vector()
    std::unordered_set<std::string> buffers_;                                       ///< parameters that are not trained
    std::unordered_map<std::string, std::size_t> reads_;                            ///< of a value, by nodes
    std::unordered_map<std::string, std::string> paths_;                            ///< of parameters, and of their transposes
    std::unordered_map<std::string, std::string> originals_;                        ///< what transposes are of
    std::unordered_map<std::string, std::pair<const NodeProto*, int>> weighed_by_;  ///< a product that a parameter is operand of
    std::unordered_set<std::string> of_parameters_;                                 ///< known numbers that are made of them
    std::unordered_set<std::string> unknown_;                                       ///< values without type
    Program program_;
    std::string where_;  ///< the node that is read
    std::size_t body_nodes_ = 0, body_bytes_ = 0;
};

}  // namespace

NetworkFile read_onnx(const Path& file, std::optional<std::int64_t> batch, const std::map<std::string, std::int64_t>& dims) {
    return OnnxReader(file, batch, dims).run();
}

}  // namespace placewright
