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
        {"FusedMatMul", {"matmul"}},
        {"Einsum", {"einsum"}},
        {"LSTM", {"lstm"}},
        {"GRU", {"gru"}},
        {"RNN", {"rnn"}},
        {"Attention", {"scaled_dot_product_attention"}},
        {"MultiHeadAttention", {"scaled_dot_product_attention"}},
        {"GroupQueryAttention", {"scaled_dot_product_attention"}},

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
                                                   "GroupQueryAttention",
                                                   "FusedMatMul",
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
    op.attributes["dim"] = std::to_string(integer_attribute(node, "axis", 0));
    if (index != nullptr && index->shape.empty()) {
        op.kind = "select";
        op.inputs.resize(1);
        if (index->values.size() == 1) op.attributes["index"] = std::to_string(index->whole().front());
    } else if (shape && shape->size() == 2 && integer_attribute(node, "axis", 0) == 0 &&
               context.paths.contains(node.input(0))) {
        op.kind = "embedding";
        op.attributes.erase("dim");
    }
}

/// Longer lists are no attributes.
constexpr std::size_t kMostItems = 64;

/// Adds attributes: windows in the form of the other readers, others under their names in the file.
void describe(const NodeProto& node, Program::Node& op) {
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

/// Numbers of an argument that older operator sets have as an attribute and later ones as an input; nothing
/// if they are computed, or left out.
std::vector<std::int64_t> argument(const NodeProto& node, const OnnxScope& scope, const char* attribute,
                                   int input) {
    auto given = integers_attribute(node, attribute);
    if (!given.empty() || input >= node.input_size()) return given;
    const Numbers* numbers = scope.numbers(node.input(input));
    return numbers == nullptr ? given : numbers->whole();
}

/// "dim", "start" and "step" of the dimensions that a Slice shortens, with numbers from the front.
void describe_slice(const NodeProto& node, const OnnxScope& scope, Program::Node& op) {
    const auto from = scope.shape(node.input(0)), to = scope.shape(node.output(0));
    const auto starts = argument(node, scope, "starts", 1);
    auto axes = argument(node, scope, "axes", 3), steps = argument(node, scope, "steps", 4);
    if (axes.empty()) {
        for (std::size_t k = 0; k < starts.size(); ++k) axes.push_back(static_cast<std::int64_t>(k));
    }
    if (steps.empty()) steps.assign(starts.size(), 1);
    if (!from || !to || from->size() != to->size() || starts.size() != axes.size() ||
        starts.size() != steps.size())
        return;
    std::vector<std::int64_t> dims, firsts, each;
    const auto rank = static_cast<std::int64_t>(from->size());
    for (std::size_t k = 0; k < starts.size(); ++k) {
        const std::int64_t dim = axes[k] < 0 ? axes[k] + rank : axes[k];
        if (dim < 0 || dim >= rank || steps[k] < 1) return;
        const std::int64_t extent = (*from)[static_cast<std::size_t>(dim)];
        if (extent == (*to)[static_cast<std::size_t>(dim)]) continue;
        dims.push_back(dim);
        firsts.push_back(std::clamp<std::int64_t>(starts[k] < 0 ? starts[k] + extent : starts[k], 0, extent));
        each.push_back(steps[k]);
    }
    if (dims.empty()) return;
    const auto text = [](const std::vector<std::int64_t>& numbers) {
        return numbers.size() == 1 ? std::to_string(numbers.front()) : json_text(numbers);
    };
    op.attributes["dim"] = text(dims);
    op.attributes["start"] = text(firsts);
    if (std::ranges::any_of(each, [](std::int64_t step) { return step != 1; }))
        op.attributes["step"] = text(each);
}

/// "pad" in the order of torch.nn.functional.pad: begin and end of the last dimension first.
void describe_pad(const NodeProto& node, const OnnxScope& scope, Program::Node& op) {
    const auto shape = scope.shape(node.input(0));
    const auto pads = argument(node, scope, "pads", 1);
    auto axes = argument(node, scope, "axes", 3);
    op.attributes.erase("padding");
    if (!shape) return;
    const std::size_t rank = shape->size();
    if (axes.empty()) {
        for (std::size_t k = 0; k < rank; ++k) axes.push_back(static_cast<std::int64_t>(k));
    }
    if (pads.size() != 2 * axes.size()) return;
    std::vector<std::int64_t> amounts(2 * rank);
    for (std::size_t k = 0; k < axes.size(); ++k) {
        const std::int64_t dim = axes[k] < 0 ? axes[k] + static_cast<std::int64_t>(rank) : axes[k];
        if (dim < 0 || dim >= static_cast<std::int64_t>(rank)) return;
        const std::size_t place = 2 * (rank - 1 - static_cast<std::size_t>(dim));
        amounts[place] = pads[k];
        amounts[place + 1] = pads[k + axes.size()];
    }
    op.attributes["pad"] = json_text(amounts);
    const onnx::AttributeProto* mode = find_attribute(node, "mode");
    if (mode != nullptr && mode->s() == "reflect") op.attributes["mode"] = "\"reflect\"";
    if (mode != nullptr && mode->s() == "edge") op.attributes["mode"] = "\"replicate\"";
}

/// The extents of the window of a convolution or pool; those of a convolution may be left to its weights.
std::vector<std::int64_t> kernel_of(const NodeProto& node, const OnnxScope& scope) {
    auto kernel = integers_attribute(node, "kernel_shape");
    const int weights = node.op_type() == "QLinearConv" ? 3 : 1;
    if (!kernel.empty() || node.op_type().find("Conv") == std::string::npos || weights >= node.input_size())
        return kernel;
    if (const auto extents = scope.shape(node.input(weights)); extents && extents->size() > 2)
        kernel.assign(extents->begin() + 2, extents->end());
    return kernel;
}

/// The padding that auto_pad stands for: as many places as strides fit the image, which is the output of a
/// transposed convolution.
void describe_auto_pad(const NodeProto& node, const OnnxScope& scope, Program::Node& op) {
    const onnx::AttributeProto* mode = find_attribute(node, "auto_pad");
    auto from = scope.shape(node.input(0)), to = scope.shape(node.output(0));
    const bool transposed = node.op_type() == "ConvTranspose";
    const bool by_shape = transposed && find_attribute(node, "output_shape") != nullptr;
    const bool same = mode != nullptr && mode->s().starts_with("SAME");
    const bool more_in_front =
        transposed ? mode == nullptr || mode->s() != "SAME_UPPER" : same && mode->s() == "SAME_LOWER";
    const auto kernel = kernel_of(node, scope);
    if ((!same && !by_shape) || !from || !to || from->size() != to->size() || kernel.empty() ||
        from->size() != kernel.size() + 2)
        return;
    if (transposed) std::swap(from, to);
    const std::size_t rank = kernel.size();
    auto more = integers_attribute(node, "output_padding");
    more.resize(rank);
    auto strides = integers_attribute(node, "strides"), dilations = integers_attribute(node, "dilations");
    strides.resize(rank, 1);
    dilations.resize(rank, 1);
    std::vector<std::int64_t> begins, ends;
    for (std::size_t k = 0; k < rank; ++k) {
        std::int64_t span = 0, reach = 0, total = 0;
        if (kernel[k] < 1 || (*from)[k + 2] < 1 || (*to)[k + 2] < 1 ||
            __builtin_mul_overflow((*to)[k + 2] - 1, strides[k], &span) ||
            __builtin_mul_overflow(dilations[k], kernel[k] - 1, &reach) ||
            __builtin_add_overflow(span, reach, &total) ||
            __builtin_sub_overflow(total, (*from)[k + 2] - 1, &total) ||
            (transposed && __builtin_add_overflow(total, more[k], &total)))
            return;
        total = std::max<std::int64_t>(0, total);
        const std::int64_t less = total / 2;
        begins.push_back(more_in_front ? total - less : less);
        ends.push_back(total - begins.back());
    }
    if (begins != ends) begins.insert(begins.end(), ends.begin(), ends.end());
    op.attributes["padding"] = json_text(begins);
}

/// Adds what is said by inputs, by attributes of other names, or by leaving an attribute out.
void describe_arguments(const NodeProto& node, const OnnxScope& scope, Program::Node& op) {
    const std::string& type = node.op_type();
    if (node.input_size() == 0 || node.output_size() == 0) return;
    if (type == "Transpose") {
        auto order = integers_attribute(node, "perm");
        if (const auto shape = scope.shape(node.input(0)); order.empty() && shape) {
            for (std::size_t k = shape->size(); k-- > 0;) order.push_back(static_cast<std::int64_t>(k));
        }
        if (!order.empty()) op.attributes["dims"] = json_text(order);
    } else if (type == "Slice") {
        describe_slice(node, scope, op);
    } else if (type == "Pad") {
        describe_pad(node, scope, op);
    } else if (type.starts_with("Reduce")) {
        const auto axes = argument(node, scope, "axes", 1);
        if (!axes.empty())
            op.attributes["dim"] = axes.size() == 1 ? std::to_string(axes.front()) : json_text(axes);
    } else if (type == "Softmax" || type == "LogSoftmax") {
        if (!op.attributes.contains("dim")) op.attributes["dim"] = scope.opset("") >= 13 ? "-1" : "1";
    } else if (type == "Resize" || type == "Upsample") {
        const onnx::AttributeProto* mode = find_attribute(node, "mode");
        const std::string text = mode == nullptr ? "nearest" : mode->s();
        if (text == "nearest" || text == "linear" || text == "cubic")
            op.attributes["mode"] = Json(text).dump();
    } else if (type == "MultiHeadAttention" || type == "GroupQueryAttention") {
        if (const auto heads = integer_attribute(node, "num_heads", 0); heads > 0)
            op.attributes["heads"] = std::to_string(heads);
    } else if (type == "GroupNormalization") {
        if (const auto groups = integer_attribute(node, "num_groups", 0); groups > 0)
            op.attributes["groups"] = std::to_string(groups);
    } else if (op.kind.starts_with("conv") || type.ends_with("Pool")) {
        if (const auto kernel = kernel_of(node, scope); !kernel.empty() && kernel.size() <= kMostItems)
            op.attributes["kernel"] = json_text(kernel);
        describe_auto_pad(node, scope, op);
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
    if (mapping != nullptr) describe_arguments(node, scope, op);
    const auto shape_of = [&](int input) {
        return input < node.input_size() ? scope.shape(node.input(input)) : std::nullopt;
    };
    const auto output_shape = [&] {
        return node.output_size() > 0 ? scope.shape(node.output(0)) : std::nullopt;
    };
    const std::string& type = node.op_type();
    if (mapping == nullptr && type == "Gemm" && is_plain(node)) {
        translate_gemm(node, scope, op);
    } else if (type == "MatMulNBits" && node.domain() == "com.microsoft") {
        // A linear map whose weights are packed into 2 to 8 bits each.
        op.kind = "linear";
        const std::int64_t depth = integer_attribute(node, "K", 0);
        if (const auto shape = output_shape(); shape && depth > 0)
            op.flops = 2 * product(*shape) * static_cast<double>(depth);
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
    } else if (type == "Dropout") {
        // A dropout with the ratio 0, an attribute before operator set 12, does nothing.
        const Numbers* const ratio = node.input_size() > 1 ? scope.numbers(node.input(1)) : nullptr;
        const onnx::AttributeProto* const given = find_attribute(node, "ratio");
        if ((ratio != nullptr && ratio->values == std::vector<double>{0}) ||
            (given != nullptr && given->f() == 0))
            op.kind = "identity";
    } else if (type == "LRN") {
        op.window = std::max<std::int64_t>(1, integer_attribute(node, "size", 1));
    } else if (type == "LSTM" || type == "GRU" || type == "RNN") {
        op.flops = recurrent_flops(op.kind, scope, node);
    } else if (type == "Sum" || type == "Mean" || type == "Max" || type == "Min") {
        // A mean divides.
        const int each = type == "Mean" ? node.input_size() : std::max(0, node.input_size() - 1);
        if (const auto shape = output_shape()) op.flops = product(*shape) * each;
    } else if (type == "ReduceLogSum") {
        const auto from = shape_of(0), to = output_shape();
        if (from && to) op.flops = product(*from) + product(*to);
    } else if (type == "Trilu") {
        if (integer_attribute(node, "upper", 1) != 0) op.kind = "triu";
    } else if (op.kind == "scaled_dot_product_attention") {
        if (const auto extents = attention_extents(node, scope)) op.flops = attention_flops(*extents);
    } else if (type == "FusedMatMul") {
        // x times a transposed matrix is a linear map with PyTorch's order of the weights. Other transposed
        // factors have no kind of their own.
        const bool left = integer_attribute(node, "transA", 0) != 0;
        const auto right = shape_of(1);
        if (left || integer_attribute(node, "transB", 0) != 0)
            op.kind = !left && right && right->size() == 2 ? "linear" : own_word(node);
        if (const auto fused = fused_product(node, scope))
            op.flops = 2 * product(fused->shape) * static_cast<double>(fused->depth);
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
