// SPDX-License-Identifier: MIT
#include "core/io/onnx/onnx_kinds.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "core/base/text.hpp"
#include "core/io/onnx/onnx_model.hpp"
#include "core/io/onnx/onnx_shapes.hpp"
#include "core/io/text/json.hpp"

namespace placewright {
namespace {

using onnx::NodeProto;

enum class Arguments : bool { tensors, numbers };

struct Mapping {
    std::string_view kind;
    /// numbers: constant inputs after the first are options in PyTorch, not tensors.
    Arguments arguments = Arguments::tensors;
};

/// Returns the kind of an ONNX op that maps by name alone. Kinds of image ops get their number of dimensions
/// appended.
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

/// Returns whether a node is an op of ONNX, or one of ONNX Runtime with the name and behaviour of an ONNX op.
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

/// Returns the FLOPs of all steps and directions of X (steps x batch x features) with R (directions x gates *
/// hidden x hidden), as in flops.hpp.
std::optional<double> recurrent_flops(std::string_view kind, const OnnxScope& scope, const NodeProto& node) {
    if (node.input_size() < 3) return {};
    const auto x = scope.shape(node.input(0)), r = scope.shape(node.input(2));
    if (!x || !r || x->size() != 3 || r->size() != 3) return {};
    const double gates = kind == "lstm"  ? 4
                         : kind == "gru" ? 3
                                         : 1,
                 each = kind == "lstm"  ? 13
                        : kind == "gru" ? 12
                                        : 3;
    const double directions = static_cast<double>((*r)[0]), hidden = static_cast<double>((*r)[2]);
    const double rows = static_cast<double>((*x)[0]) * static_cast<double>((*x)[1]);
    return rows * directions * hidden * (2 * gates * (static_cast<double>((*x)[2]) + hidden) + each);
}

/// Returns the FLOPs of two products and a softmax over the scores, as in flops.hpp.
double attention_flops(const AttentionExtents& extents) {
    const double scores = product({extents.batch, extents.heads, extents.queries, extents.keys});
    return scores *
           (2 * static_cast<double>(extents.key_size) + 2 * static_cast<double>(extents.value_size) + 5);
}

/// Returns OpShapes::window of interpolate and grid_sample.
std::int64_t points_in_a_row(const NodeProto& node) {
    if (integer_attribute(node, "antialias", 0) != 0) return 0;  // unknown: depends on the scale
    const onnx::AttributeProto* const given = find_attribute(node, "mode");
    const std::string mode = given != nullptr                 ? given->s()
                             : node.op_type() == "GridSample" ? "linear"
                                                              : "nearest";
    if (mode == "nearest") return 1;
    return mode == "cubic" || mode == "bicubic" ? 4 : 2;
}

std::string json_text(const std::vector<std::int64_t>& items) {
    return Json(items).dump();
}

std::string own_word(const NodeProto& node) {
    return node.domain().empty() ? node.op_type() : node.domain() + '.' + node.op_type();
}

std::int64_t window_of(const std::vector<std::int64_t>& kernel) {
    std::int64_t window = 1;
    for (const std::int64_t extent : kernel) {
        if (extent < 1 || __builtin_mul_overflow(window, extent, &window)) return 1;
    }
    return window;
}

/// Translates Y = A B + C, where A and B may be transposed first: linear if B is, as PyTorch's weights
/// are.
void translate_gemm(const NodeProto& node, const OnnxScope& scope, Program::Node& op) {
    const bool turn_a = integer_attribute(node, "transA", 0) != 0,
               turn_b = integer_attribute(node, "transB", 0) != 0;
    const bool adds = op.inputs.size() > 2;
    op.kind = turn_b && !turn_a ? "linear" : adds ? "addmm" : "mm";
    if (op.kind == "addmm") std::rotate(op.inputs.begin(), op.inputs.begin() + 2, op.inputs.begin() + 3);
    const auto a = node.input_size() > 0 ? scope.shape(node.input(0)) : std::nullopt;
    const auto y = node.output_size() > 0 ? scope.shape(node.output(0)) : std::nullopt;
    if (turn_a && a && y && !a->empty()) op.flops = 2 * product(*y) * static_cast<double>(a->front());
}

void translate_gather(const NodeProto& node, const OnnxScope& scope, const OnnxContext& context,
                      Program::Node& op) {
    const Numbers* index = scope.numbers(node.input(1));
    const auto shape = scope.shape(node.input(0));
    if (index != nullptr && index->shape.empty()) {
        op.kind = "select";
        op.inputs.resize(1);
    } else if (shape && shape->size() == 2 && integer_attribute(node, "axis", 0) == 0 &&
               context.paths.contains(node.input(0))) {
        op.kind = "embedding";
    }
}

/// Adds attributes: windows in the form of the other readers, others under their names in the file.
void describe(const NodeProto& node, Program::Node& op) {
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

}  // namespace

const onnx::FunctionProto* OnnxContext::function_of(const NodeProto& node) const {
    const auto found = functions.find({node.domain(), node.op_type()});
    return found == functions.end() ? nullptr : found->second;
}

Program::Node translated(const NodeProto& node, const OnnxScope& scope, const OnnxContext& context) {
    Program::Node op;
    const Mapping* mapping =
        is_plain(node) && context.function_of(node) == nullptr ? find_mapping(node.op_type()) : nullptr;
    op.kind = mapping != nullptr ? mapping->kind : own_word(node);
    for (int i = 0; i < node.input_size(); ++i) {
        const bool option = mapping != nullptr && mapping->arguments == Arguments::numbers && i > 0 &&
                            scope.numbers(node.input(i)) != nullptr;
        if (!node.input(i).empty() && !option) op.inputs.push_back(node.input(i));
    }
    describe(node, op);
    const auto shape_of = [&](int input) {
        return input < node.input_size() ? scope.shape(node.input(input)) : std::nullopt;
    };
    const auto output_shape = [&] {
        return node.output_size() > 0 ? scope.shape(node.output(0)) : std::nullopt;
    };
    const std::string& type = node.op_type();
    if (mapping == nullptr && type == "Gemm" && is_plain(node)) {
        translate_gemm(node, scope, op);
    } else if (mapping == nullptr) {
        return op;
    } else if (type.ends_with("Pool") || type.starts_with("Conv") || type == "QLinearConv") {
        // Activations of quantized ops come with a scale and a zero point.
        if (type == "QLinearConv" && op.inputs.size() > 3)
            std::rotate(op.inputs.begin() + 1, op.inputs.begin() + 3, op.inputs.begin() + 4);
        if (const auto shape = shape_of(0); shape && shape->size() > 2)
            op.kind += std::to_string(shape->size() - 2) + 'd';
        if (type.ends_with("Pool")) op.window = window_of(integers_attribute(node, "kernel_shape"));
    } else if (type == "QLinearMatMul") {
        if (op.inputs.size() > 3)
            std::rotate(op.inputs.begin() + 1, op.inputs.begin() + 3, op.inputs.begin() + 4);
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
        translate_gather(node, scope, context, op);
    }
    return op;
}

}  // namespace placewright
