// SPDX-License-Identifier: MIT
#include "core/io/onnx_scope.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <set>

#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>

namespace placewright {
namespace {

using onnx::TensorProto;

/// Shapes have few numbers, positions of tokens some thousands.
constexpr std::size_t kMostNumbers = 8192;
/// Kept of all that are computed in a file: 32 MB.
constexpr std::size_t kMostNumbersInAll = std::size_t{4} << 20;
constexpr int kMostExtents = 64;
/// Of numbers that are computed with: a matrix.
constexpr std::size_t kMostRank = 2;
/// The newest operator set of the ONNX library: of later ones it knows what has not changed.
constexpr int kLibraryOpset = 17;

std::int64_t saturated(double value) {
    constexpr double kLimit = 9223372036854775808.0;
    if (std::isnan(value)) return 0;
    if (value >= kLimit) return std::numeric_limits<std::int64_t>::max();
    if (value < -kLimit) return std::numeric_limits<std::int64_t>::min();
    return static_cast<std::int64_t>(value);
}

template <class Element>
std::vector<double> elements_of(const std::string& bytes) {
    std::vector<double> result(bytes.size() / sizeof(Element));
    for (std::size_t i = 0; i < result.size(); ++i) {
        Element element;
        std::memcpy(&element, bytes.data() + i * sizeof(Element), sizeof(Element));
        result[i] = static_cast<double>(element);
    }
    return result;
}

std::vector<double> content(const TensorProto& tensor) {
    const auto list = [](const auto& items) { return std::vector<double>(items.begin(), items.end()); };
    const bool raw = tensor.has_raw_data();
    const std::string& bytes = tensor.raw_data();
    switch (tensor.data_type()) {
        case TensorProto::FLOAT:
            return raw ? elements_of<float>(bytes) : list(tensor.float_data());
        case TensorProto::DOUBLE:
            return raw ? elements_of<double>(bytes) : list(tensor.double_data());
        case TensorProto::INT64:
            return raw ? elements_of<std::int64_t>(bytes) : list(tensor.int64_data());
        case TensorProto::INT32:
            return raw ? elements_of<std::int32_t>(bytes) : list(tensor.int32_data());
        case TensorProto::INT16:
            return raw ? elements_of<std::int16_t>(bytes) : list(tensor.int32_data());
        case TensorProto::INT8:
            return raw ? elements_of<std::int8_t>(bytes) : list(tensor.int32_data());
        case TensorProto::BOOL:
        case TensorProto::UINT8:
            return raw ? elements_of<std::uint8_t>(bytes) : list(tensor.int32_data());
        default:
            return {};
    }
}

/// Nothing for a tensor that is large, of more than one dimension, or stored elsewhere.
std::optional<Numbers> numbers_of(const TensorProto& tensor) {
    if (tensor.dims_size() > 1) return {};
    Numbers numbers;
    numbers.type = tensor.data_type();
    numbers.shape.assign(tensor.dims().begin(), tensor.dims().end());
    const std::int64_t count = numbers.shape.empty() ? 1 : numbers.shape[0];
    if (count < 0 || count > std::int64_t{kMostNumbers}) return {};
    numbers.values = content(tensor);
    if (numbers.values.size() != static_cast<std::size_t>(count)) return {};
    return numbers;
}

TensorProto tensor_of(const Numbers& numbers) {
    TensorProto tensor;
    for (const std::int64_t extent : numbers.shape) tensor.add_dims(extent);
    tensor.set_data_type(numbers.type);
    for (const double value : numbers.values) {
        switch (numbers.type) {
            case TensorProto::INT64:
                tensor.add_int64_data(saturated(value));
                break;
            case TensorProto::DOUBLE:
                tensor.add_double_data(value);
                break;
            case TensorProto::FLOAT:
                tensor.add_float_data(static_cast<float>(value));
                break;
            default:
                tensor.add_int32_data(static_cast<std::int32_t>(saturated(value)));
                break;
        }
    }
    return tensor;
}

onnx::TypeProto tensor_type(std::int32_t element, const auto& extents) {
    onnx::TypeProto type;
    type.mutable_tensor_type()->set_elem_type(element);
    auto& shape = *type.mutable_tensor_type()->mutable_shape();
    for (const std::int64_t extent : extents) shape.add_dim()->set_dim_value(extent);
    return type;
}

bool is_complete(const onnx::TypeProto& type) {
    if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return false;
    return std::ranges::all_of(type.tensor_type().shape().dim(),
                               [](const auto& dim) { return dim.has_dim_value() && dim.dim_value() >= 0; });
}

/// By element, the shorter operands repeated if they have one.
template <class Function>
std::optional<Numbers> by_element(std::initializer_list<const Numbers*> operands, std::int32_t type, Function function) {
    std::size_t count = 1;
    std::vector<std::int64_t> shape;
    for (const Numbers* operand : operands) {
        if (operand->values.size() != 1) count = operand->values.size();
        if (operand->values.size() != 1 || shape.empty()) shape = operand->shape;
    }
    for (const Numbers* operand : operands) {
        if (operand->values.size() != 1 && operand->values.size() != count) return {};
    }
    Numbers result{std::move(shape), type, std::vector<double>(count)};
    std::vector<double> at(operands.size());
    for (std::size_t i = 0; i < count; ++i) {
        std::size_t slot = 0;
        for (const Numbers* operand : operands) at[slot++] = operand->values[operand->values.size() == 1 ? 0 : i];
        result.values[i] = function(at);
        if (!is_real(type)) result.values[i] = std::trunc(result.values[i]);
    }
    return result;
}

using Operands = std::vector<const Numbers*>;
using Evaluation = std::optional<Numbers> (*)(const onnx::NodeProto&, const Operands&);

template <auto kFunction, bool kCompares = false>
std::optional<Numbers> unary(const onnx::NodeProto&, const Operands& in) {
    return by_element({in[0]}, kCompares ? std::int32_t{TensorProto::BOOL} : in[0]->type,
                      [](const auto& at) { return double(kFunction(at[0])); });
}

template <auto kFunction, bool kCompares = false>
std::optional<Numbers> binary(const onnx::NodeProto&, const Operands& in) {
    if (in.size() != 2) return {};
    return by_element({in[0], in[1]}, kCompares ? std::int32_t{TensorProto::BOOL} : in[0]->type,
                      [](const auto& at) { return double(kFunction(at[0], at[1])); });
}

std::optional<Numbers> cast(const onnx::NodeProto& node, const Operands& in) {
    const auto to = static_cast<std::int32_t>(integer_attribute(node, "to", 0));
    if (to == TensorProto::BOOL) return by_element({in[0]}, to, [](const auto& at) { return at[0] != 0 ? 1.0 : 0.0; });
    return by_element({in[0]}, to, [](const auto& at) { return at[0]; });
}

std::optional<Numbers> identity(const onnx::NodeProto&, const Operands& in) {
    return *in[0];
}

std::optional<Numbers> gather(const onnx::NodeProto& node, const Operands& in) {
    if (in.size() != 2 || in[0]->shape.empty() || integer_attribute(node, "axis", 0) > 0) return {};
    const auto count = static_cast<std::int64_t>(in[0]->values.size());
    Numbers result{in[1]->shape, in[0]->type, {}};
    for (std::int64_t index : in[1]->whole()) {
        if (index < 0) index += count;
        if (index < 0 || index >= count) return {};
        result.values.push_back(in[0]->values[static_cast<std::size_t>(index)]);
    }
    return result;
}

std::optional<Numbers> concat(const onnx::NodeProto&, const Operands& in) {
    Numbers result{{0}, in[0]->type, {}};
    for (const Numbers* item : in) {
        if (item->shape.empty()) return {};
        result.values.insert(result.values.end(), item->values.begin(), item->values.end());
    }
    result.shape[0] = static_cast<std::int64_t>(result.values.size());
    return result;
}

/// An axis of numbers, of which a negative one counts from the last; nothing where there is none.
std::optional<std::size_t> axis_of(const Numbers& numbers, std::int64_t axis) {
    const auto rank = static_cast<std::int64_t>(numbers.shape.size());
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return {};
    return static_cast<std::size_t>(axis);
}

/// Slice of one axis, whose bounds are inputs from operator set 10 on.
std::optional<Numbers> slice(const onnx::NodeProto& node, const Operands& in) {
    const bool given = in.size() > 2;
    const auto starts = given ? in[1]->whole() : integers_attribute(node, "starts");
    const auto ends = given ? in[2]->whole() : integers_attribute(node, "ends");
    const auto axes = in.size() > 3 ? in[3]->whole() : integers_attribute(node, "axes");
    const auto steps = in.size() > 4 ? in[4]->whole() : std::vector<std::int64_t>{1};
    if (starts.size() != 1 || ends.size() != 1 || axes.size() > 1 || steps.size() != 1 || steps[0] == 0) return {};
    const auto axis = axis_of(*in[0], axes.empty() ? 0 : axes[0]);
    if (!axis) return {};
    const std::int64_t count = in[0]->shape[*axis], step = steps[0];
    const auto bound = [&](std::int64_t at) {
        if (at < 0) at = at < -count ? -1 : at + count;
        return step > 0 ? std::clamp<std::int64_t>(at, 0, count) : std::clamp<std::int64_t>(at, -1, count - 1);
    };
    const std::int64_t end = bound(ends[0]);
    if (std::abs(static_cast<double>(step)) > static_cast<double>(kMostNumbers)) return {};
    std::vector<std::size_t> kept;
    for (std::int64_t i = bound(starts[0]); step > 0 ? i < end : i > end; i += step) {
        if (i < 0 || i >= count) return {};
        kept.push_back(static_cast<std::size_t>(i));
    }
    Numbers result{in[0]->shape, in[0]->type, {}};
    result.shape[*axis] = static_cast<std::int64_t>(kept.size());
    const auto columns = static_cast<std::size_t>(in[0]->shape.back());
    if (*axis + 1 == in[0]->shape.size()) {
        for (std::size_t row = 0; row < in[0]->values.size(); row += columns) {
            for (const std::size_t column : kept) result.values.push_back(in[0]->values[row + column]);
        }
    } else {
        for (const std::size_t row : kept) {
            const auto from = in[0]->values.begin() + static_cast<std::ptrdiff_t>(row * columns);
            result.values.insert(result.values.end(), from, from + static_cast<std::ptrdiff_t>(columns));
        }
    }
    return result;
}

std::optional<Numbers> transpose(const onnx::NodeProto& node, const Operands& in) {
    const auto order = integers_attribute(node, "perm");
    if (in[0]->shape.size() != 2 || order == std::vector<std::int64_t>{0, 1}) return *in[0];
    if (!order.empty() && order != std::vector<std::int64_t>{1, 0}) return {};
    Numbers result{{in[0]->shape[1], in[0]->shape[0]}, in[0]->type, {}};
    const auto columns = static_cast<std::size_t>(in[0]->shape[1]);
    for (std::size_t column = 0; column < columns; ++column) {
        for (std::size_t at = column; at < in[0]->values.size(); at += columns) result.values.push_back(in[0]->values[at]);
    }
    return result;
}

/// Squeeze and Unsqueeze between a number and a list of one.
std::optional<Numbers> squeeze(const onnx::NodeProto&, const Operands& in) {
    if (in[0]->values.size() != 1) return {};
    return Numbers{{}, in[0]->type, in[0]->values};
}
std::optional<Numbers> unsqueeze(const onnx::NodeProto& node, const Operands& in) {
    const std::size_t axes = in.size() > 1 ? in[1]->values.size() : integers_attribute(node, "axes").size();
    if (!in[0]->shape.empty() || axes != 1) return {};
    return Numbers{{1}, in[0]->type, in[0]->values};
}
std::optional<Numbers> reshape(const onnx::NodeProto& node, const Operands& in) {
    if (in.size() != 2 || in[1]->values.size() > kMostRank) return {};
    Numbers result{in[1]->whole(), in[0]->type, in[0]->values};
    std::int64_t known = 1, *open = nullptr;
    for (std::size_t i = 0; i < result.shape.size(); ++i) {
        std::int64_t& extent = result.shape[i];
        if (extent == 0 && integer_attribute(node, "allowzero", 0) == 0) {
            if (i >= in[0]->shape.size()) return {};
            extent = in[0]->shape[i];
        }
        if (extent == -1 && open == nullptr)
            open = &extent;
        else if (extent < 0 || extent > std::int64_t{kMostNumbers})
            return {};
        else
            known *= extent;
    }
    const auto count = static_cast<std::int64_t>(result.values.size());
    if (open != nullptr) {
        if (known == 0) return {};
        *open = count / known;
        known *= *open;
    }
    if (known != count) return {};
    return result;
}

/// The length that a list of one extent says; nothing for another shape, or a large one.
std::optional<std::size_t> length_from(const Numbers& shape) {
    if (shape.values.empty()) return 1;
    if (shape.values.size() > 1 || !(shape.values[0] >= 0 && shape.values[0] <= double(kMostNumbers))) return {};
    return static_cast<std::size_t>(shape.values[0]);
}

std::optional<Numbers> constant_of_shape(const onnx::NodeProto& node, const Operands& in) {
    const auto length = length_from(*in[0]);
    if (!length) return {};
    Numbers result{{}, TensorProto::FLOAT, std::vector<double>(*length)};
    if (const onnx::AttributeProto* value = find_attribute(node, "value")) {
        const auto filler = numbers_of(value->t());
        if (!filler || filler->values.size() != 1) return {};
        result.type = filler->type;
        std::ranges::fill(result.values, filler->values[0]);
    }
    if (!in[0]->values.empty()) result.shape = {static_cast<std::int64_t>(*length)};
    return result;
}

std::optional<Numbers> expand(const onnx::NodeProto&, const Operands& in) {
    if (in.size() != 2) return {};
    const auto length = length_from(*in[1]);
    if (!length || in[0]->values.size() != 1 || in[1]->values.empty()) return {};
    return Numbers{{static_cast<std::int64_t>(*length)}, in[0]->type, std::vector<double>(*length, in[0]->values[0])};
}

std::optional<Numbers> range(const onnx::NodeProto&, const Operands& in) {
    if (in.size() != 3 || in[0]->values.size() != 1 || in[1]->values.size() != 1 || in[2]->values.size() != 1) return {};
    const double start = in[0]->values[0], delta = in[2]->values[0];
    const double count = std::max(0.0, std::ceil((in[1]->values[0] - start) / delta));
    if (!(count <= static_cast<double>(kMostNumbers))) return {};
    Numbers result{{static_cast<std::int64_t>(count)}, in[0]->type, {}};
    for (double i = 0; i < count; ++i) result.values.push_back(start + i * delta);
    return result;
}

std::optional<Numbers> where(const onnx::NodeProto&, const Operands& in) {
    if (in.size() != 3) return {};
    return by_element({in[0], in[1], in[2]}, in[1]->type, [](const auto& at) { return at[0] != 0 ? at[1] : at[2]; });
}

template <auto kFunction>
std::optional<Numbers> reduction(const onnx::NodeProto& node, const Operands& in) {
    if (in[0]->values.empty()) return {};
    double result = in[0]->values[0];
    for (std::size_t i = 1; i < in[0]->values.size(); ++i) result = kFunction(result, in[0]->values[i]);
    Numbers numbers{{}, in[0]->type, {result}};
    if (integer_attribute(node, "keepdims", 1) != 0 && !in[0]->shape.empty()) numbers.shape = {1};
    return numbers;
}

constexpr auto kAdd = [](double a, double b) { return a + b; };
constexpr auto kMultiply = [](double a, double b) { return a * b; };
constexpr auto kLarger = [](double a, double b) { return std::max(a, b); };
constexpr auto kSmaller = [](double a, double b) { return std::min(a, b); };

/// Of the sign of the divisor, or of the dividend as C has it.
std::optional<Numbers> remainder(const onnx::NodeProto& node, const Operands& in) {
    if (integer_attribute(node, "fmod", 0) != 0) return binary<[](double a, double b) { return std::fmod(a, b); }>(node, in);
    return binary<[](double a, double b) { return a - b * std::floor(a / b); }>(node, in);
}

/// Ops that leave numbers as they are, or in another order: those take matrices as well, which pads of PyTorch are turned around in.
bool takes_matrices(const std::string& op) {
    static const std::set<std::string> ops{"Cast", "Identity", "Reshape", "Slice", "Transpose"};
    return ops.contains(op);
}

/// Ops that shapes are computed with.
Evaluation evaluation(const std::string& op) {
    static const std::unordered_map<std::string, Evaluation> by_op{
        {"Cast", cast},
        {"Identity", identity},
        {"Gather", gather},
        {"Concat", concat},
        {"Slice", slice},
        {"Squeeze", squeeze},
        {"Unsqueeze", unsqueeze},
        {"Reshape", reshape},
        {"Transpose", transpose},
        {"ConstantOfShape", constant_of_shape},
        {"Expand", expand},
        {"Range", range},
        {"Where", where},
        {"ReduceProd", reduction<kMultiply>},
        {"ReduceSum", reduction<kAdd>},
        {"ReduceMax", reduction<kLarger>},
        {"ReduceMin", reduction<kSmaller>},
        {"Add", binary<kAdd>},
        {"Sub", binary<[](double a, double b) { return a - b; }>},
        {"Mul", binary<kMultiply>},
        {"Div", binary<[](double a, double b) { return a / b; }>},
        {"Mod", remainder},
        {"Pow", binary<[](double a, double b) { return std::pow(a, b); }>},
        {"Max", binary<kLarger>},
        {"Min", binary<kSmaller>},
        {"Equal", binary<[](double a, double b) { return a == b; }, true>},
        {"Less", binary<[](double a, double b) { return a < b; }, true>},
        {"LessOrEqual", binary<[](double a, double b) { return a <= b; }, true>},
        {"Greater", binary<[](double a, double b) { return b < a; }, true>},
        {"GreaterOrEqual", binary<[](double a, double b) { return b <= a; }, true>},
        {"And", binary<[](double a, double b) { return a != 0 && b != 0; }, true>},
        {"Or", binary<[](double a, double b) { return a != 0 || b != 0; }, true>},
        {"Not", unary<[](double a) { return a == 0; }, true>},
        {"Neg", unary<[](double a) { return -a; }>},
        {"Abs", unary<[](double a) { return std::abs(a); }>},
        {"Floor", unary<[](double a) { return std::floor(a); }>},
        {"Ceil", unary<[](double a) { return std::ceil(a); }>},
        {"Round", unary<[](double a) { return std::nearbyint(a); }>},
        {"Sqrt", unary<[](double a) { return std::sqrt(a); }>},
    };
    const auto found = by_op.find(op);
    return found == by_op.end() ? nullptr : found->second;
}

/// Ops that the ONNX library does not know, with a first output like the first input.
bool gives_what_it_takes(const std::string& op) {
    static const std::set<std::string> ops{"Gelu",
                                           "FastGelu",
                                           "QuickGelu",
                                           "BiasGelu",
                                           "Mish",
                                           "Swish",
                                           "LayerNormalization",
                                           "SimplifiedLayerNormalization",
                                           "SkipLayerNormalization",
                                           "SkipSimplifiedLayerNormalization",
                                           "RMSNormalization",
                                           "GroupNormalization",
                                           "RotaryEmbedding",
                                           "Attention"};
    return ops.contains(op);
}

/// What the library would divide by, or go through.
std::string wrong_attribute(const onnx::NodeProto& node) {
    constexpr std::array kPositive{"kernel_shape", "strides", "dilations", "group", "blocksize", "num_outputs", "size", "hidden_size"};
    for (const onnx::AttributeProto& attribute : node.attribute()) {
        if (std::ranges::find(kPositive, attribute.name()) == kPositive.end()) continue;
        const bool list = attribute.ints_size() > 0;
        if (list ? std::ranges::any_of(attribute.ints(), [](auto item) { return item < 1; }) : attribute.has_i() && attribute.i() < 1)
            return '"' + attribute.name() + "\" is not positive";
    }
    return {};
}

/// Ops over images whose shape inference takes the number of extents of its inputs for granted.
std::string wrong_rank(const onnx::NodeProto& node, const OnnxScope& scope) {
    static const std::unordered_map<std::string, int> weight_input{
        {"Conv", 1}, {"ConvTranspose", 1}, {"ConvInteger", 1}, {"QLinearConv", 3}};
    static const std::set<std::string> others{
        "MaxPool",       "AveragePool",       "LpPool",       "MaxUnpool",          "MaxRoiPool",           "RoiAlign", "GridSample",
        "GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool", "BatchNormalization", "InstanceNormalization"};
    const auto weight = weight_input.find(node.op_type());
    if (weight == weight_input.end() && !others.contains(node.op_type())) return {};
    const auto rank = [&](int input) {
        const auto shape = input < node.input_size() ? scope.shape(node.input(input)) : std::nullopt;
        return shape ? static_cast<int>(shape->size()) : -1;
    };
    const int least = node.op_type() == "BatchNormalization"                                ? 1
                      : node.op_type().ends_with("RoiPool") || node.op_type() == "RoiAlign" ? 4
                                                                                            : 3;
    if (rank(0) < least) return "its input has not the " + std::to_string(least) + " extents that it takes";
    if (weight != weight_input.end() && rank(weight->second) != rank(0)) return "its weight has not as many extents as its input";
    if (node.op_type() == "MaxUnpool" && rank(1) != rank(0)) return "its indices have not as many extents as its input";
    return {};
}

/// The node as the operator sets that the library knows write it. Returns what it cannot say.
std::string to_known_opset(onnx::NodeProto& node, const OnnxScope& scope) {
    // From operator set 18 on, the axes of these are an input, as those of ReduceSum are since 13.
    static const std::set<std::string> reductions{"ReduceMean", "ReduceMax",    "ReduceMin",       "ReduceProd",     "ReduceL1",
                                                  "ReduceL2",   "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"};
    if (reductions.contains(node.op_type()) && node.input_size() > 1) {
        if (!node.input(1).empty()) {
            const Numbers* axes = scope.numbers(node.input(1));
            if (axes == nullptr) return "its axes are not constant";
            if (axes->values.empty()) return "it has no axes";
            onnx::AttributeProto& attribute = *node.add_attribute();
            attribute.set_name("axes");
            attribute.set_type(onnx::AttributeProto::INTS);
            for (const std::int64_t axis : axes->whole()) attribute.add_ints(axis);
        }
        node.mutable_input()->DeleteSubrange(1, node.input_size() - 1);
    }
    return {};
}

/// From operator set 18 on, Split says in how many parts, the last of which may be smaller.
std::vector<onnx::TypeProto> split_evenly(const onnx::NodeProto& node, const onnx::TypeProto& input) {
    const std::int64_t parts = node.output_size(), rank = input.tensor_type().shape().dim_size();
    std::int64_t axis = integer_attribute(node, "axis", 0);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank || parts < 1) return {};
    std::int64_t left = input.tensor_type().shape().dim(static_cast<int>(axis)).dim_value();
    const std::int64_t each = left / parts + (left % parts != 0 ? 1 : 0);
    std::vector<onnx::TypeProto> types;
    for (std::int64_t i = 0; i < parts; ++i) {
        types.push_back(input);
        types.back().mutable_tensor_type()->mutable_shape()->mutable_dim(static_cast<int>(axis))->set_dim_value(std::min(each, left));
        left -= std::min(each, left);
    }
    return types;
}

/// The extents of a slice before operator set 10, of whose bounds the library takes no negative ones; nothing for wrong axes.
std::optional<std::vector<std::int64_t>> early_slice_shape(const onnx::NodeProto& node, const OnnxScope& scope) {
    auto shape = scope.shape(node.input(0));
    const auto starts = integers_attribute(node, "starts"), ends = integers_attribute(node, "ends"),
               axes = integers_attribute(node, "axes");
    if (!shape || starts.size() != ends.size() || (!axes.empty() && axes.size() != starts.size())) return {};
    const auto rank = static_cast<std::int64_t>(shape->size());
    for (std::size_t i = 0; i < starts.size(); ++i) {
        std::int64_t axis = axes.empty() ? static_cast<std::int64_t>(i) : axes[i];
        if (axis < 0) axis += rank;
        if (axis < 0 || axis >= rank) return {};
        std::int64_t& extent = (*shape)[static_cast<std::size_t>(axis)];
        const auto bound = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + extent : at, 0, extent); };
        extent = std::max<std::int64_t>(0, bound(ends[i]) - bound(starts[i]));
    }
    return shape;
}

/// The indices of a term of an equation. Those of "..." are -1 for the last of them, -2 for the one before it and so on; there are
/// `unnamed`. Nothing if it is no term.
std::optional<std::vector<int>> einsum_indices(std::string_view term, std::int64_t unnamed) {
    std::vector<int> indices;
    for (std::size_t at = 0; at < term.size(); ++at) {
        if (term.substr(at, 3) == "...") {
            for (; unnamed > 0; --unnamed) indices.push_back(static_cast<int>(-unnamed));
            at += 2;
        } else if (std::isalpha(static_cast<unsigned char>(term[at])) != 0) {
            indices.push_back(term[at]);
        } else {
            return {};
        }
    }
    return indices;
}

/// The extents of "bij,jk->bik" or "...ij,jk"; nothing for what is no such equation of these operands.
std::optional<std::vector<std::int64_t>> einsum_shape(const onnx::NodeProto& node, const OnnxScope& scope) {
    const onnx::AttributeProto* attribute = find_attribute(node, "equation");
    std::string equation = attribute != nullptr ? attribute->s() : "";
    std::erase(equation, ' ');
    const std::size_t arrow = std::min(equation.find("->"), equation.size());
    std::string_view terms = std::string_view(equation).substr(0, arrow);
    std::map<int, std::int64_t> extents;
    std::map<int, std::size_t> uses;
    std::int64_t unnamed = 0;
    for (int i = 0; i < node.input_size(); ++i) {
        const std::string_view term = terms.substr(0, terms.find(','));
        const auto shape = scope.shape(node.input(i));
        const bool last = term.size() == terms.size();
        if (!shape || last != (i + 1 == node.input_size())) return {};
        const bool has_dots = term.find("...") != std::string_view::npos;
        const auto named = static_cast<std::int64_t>(term.size()) - (has_dots ? 3 : 0);
        const std::int64_t own = static_cast<std::int64_t>(shape->size()) - named;
        const auto indices = einsum_indices(term, own);
        if (own < 0 || !indices || indices->size() != shape->size()) return {};
        unnamed = std::max(unnamed, own);
        for (std::size_t at = 0; at < shape->size(); ++at) {
            std::int64_t& known = extents[(*indices)[at]];
            known = std::max(known, (*shape)[at]);
            ++uses[(*indices)[at]];
        }
        terms.remove_prefix(last ? terms.size() : term.size() + 1);
    }
    std::vector<int> results;
    if (arrow < equation.size()) {
        const auto indices = einsum_indices(std::string_view(equation).substr(arrow + 2), unnamed);
        if (!indices) return {};
        results = *indices;
    } else {
        // Those of "...", then what is there once, by the alphabet.
        for (const auto& [index, count] : uses) {
            if (index < 0 || count == 1) results.push_back(index);
        }
    }
    std::vector<std::int64_t> shape;
    for (const int index : results) {
        const auto extent = extents.find(index);
        if (extent == extents.end()) return {};
        shape.push_back(extent->second);
    }
    return shape;
}

/// What a Slice gives whose bounds are known only when it runs, of an input with extents.
onnx::TypeProto loosely_sliced(const onnx::NodeProto& node, const OnnxScope& scope) {
    onnx::TypeProto result = *scope.type(node.input(0));
    auto& dims = *result.mutable_tensor_type()->mutable_shape()->mutable_dim();
    const Numbers* const axes = node.input_size() > 3 ? scope.numbers(node.input(3)) : nullptr;
    if (axes == nullptr) {
        for (auto& dim : dims) dim.Clear();
        return result;
    }
    for (const std::int64_t axis : axes->whole()) {
        const std::int64_t from_the_front = axis < 0 ? axis + dims.size() : axis;
        if (from_the_front >= 0 && from_the_front < dims.size()) dims[static_cast<int>(from_the_front)].Clear();
    }
    return result;
}

}  // namespace

bool is_real(std::int32_t type) {
    return type == TensorProto::FLOAT || type == TensorProto::DOUBLE || type == TensorProto::FLOAT16 || type == TensorProto::BFLOAT16;
}

std::vector<std::int64_t> Numbers::whole() const {
    std::vector<std::int64_t> result;
    for (const double value : values) result.push_back(saturated(value));
    return result;
}

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name) {
    const auto found =
        std::ranges::find(node.attribute(), name, [](const auto& attribute) -> const std::string& { return attribute.name(); });
    return found == node.attribute().end() ? nullptr : &*found;
}

std::int64_t integer_attribute(const onnx::NodeProto& node, std::string_view name, std::int64_t other) {
    const onnx::AttributeProto* attribute = find_attribute(node, name);
    return attribute != nullptr && attribute->has_i() ? attribute->i() : other;
}

std::vector<std::int64_t> integers_attribute(const onnx::NodeProto& node, std::string_view name) {
    const onnx::AttributeProto* attribute = find_attribute(node, name);
    if (attribute == nullptr) return {};
    return {attribute->ints().begin(), attribute->ints().end()};
}

std::optional<AttentionExtents> attention_extents(const onnx::NodeProto& node, const OnnxScope& scope) {
    const bool contributed = node.domain() == "com.microsoft" && node.op_type() == "MultiHeadAttention";
    const bool own = (node.domain().empty() || node.domain() == "ai.onnx") && node.op_type() == "Attention";
    if ((!contributed && !own) || node.input_size() < 3) return {};
    struct Heads {
        std::int64_t batch, heads, length, size;
    };
    const auto shape_of = [&](int input) { return input < node.input_size() ? scope.shape(node.input(input)) : std::nullopt; };
    // Side by side in three extents, apart in four.
    const auto heads_of = [&](int input, const char* attribute) -> std::optional<Heads> {
        const auto shape = shape_of(input);
        const std::int64_t heads = integer_attribute(node, attribute, 0);
        if (!shape) return {};
        if (shape->size() == 4) return Heads{(*shape)[0], (*shape)[1], (*shape)[2], (*shape)[3]};
        if (shape->size() != 3 || heads < 1 || (*shape)[2] % heads != 0) return {};
        return Heads{(*shape)[0], heads, (*shape)[1], (*shape)[2] / heads};
    };
    const auto query = heads_of(0, own ? "q_num_heads" : "num_heads");
    const auto key = heads_of(1, own ? "kv_num_heads" : "num_heads"), value = heads_of(2, own ? "kv_num_heads" : "num_heads");
    if (!query || !key || !value || query->size != key->size || key->length != value->length) return {};
    AttentionExtents extents{query->batch, query->heads, key->heads, query->length, key->length, query->size, value->size, {}};
    // Keys of earlier steps are before those of this one.
    const auto past = shape_of(own ? 4 : 6);
    if (past && (past->size() != 4 || __builtin_add_overflow(extents.keys, (*past)[2], &extents.keys))) return {};
    extents.output = {query->batch, query->heads, query->length, value->size};
    if (shape_of(0)->size() == 3) {
        std::int64_t features = 0;
        if (__builtin_mul_overflow(query->heads, value->size, &features)) return {};
        extents.output = {query->batch, query->length, features};
    }
    return extents;
}

onnx::TypeProto OnnxScope::resolved(onnx::TypeProto type) const {
    if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return type;
    for (auto& dim : *type.mutable_tensor_type()->mutable_shape()->mutable_dim()) {
        if (!dim.has_dim_param()) continue;
        const auto given = dims_->find(dim.dim_param());
        if (given != dims_->end())
            dim.set_dim_value(given->second);
        else
            dim.clear_dim_param();
    }
    return type;
}

void OnnxScope::set_type(const std::string& name, onnx::TypeProto type) {
    if (type.tensor_type().shape().dim_size() > kMostExtents) delete type.mutable_tensor_type()->release_shape();  // clearing keeps memory
    types_[name] = std::move(type);
}

void OnnxScope::declare(const std::string& name, const onnx::TypeProto& type) {
    set_type(name, resolved(type));
}

void OnnxScope::expect(const std::string& name, const onnx::TypeProto& type) {
    expected_[name] = resolved(type);
}

void OnnxScope::define(const std::string& name, const TensorProto& tensor) {
    set_type(name, tensor_type(tensor.data_type(), tensor.dims()));
    if (auto numbers = numbers_of(tensor)) numbers_[name] = std::make_shared<const Numbers>(*std::move(numbers));
    if (tensor.data_location() == TensorProto::EXTERNAL && tensor.dims_size() <= 1 && !is_real(tensor.data_type())) far_.insert(name);
}

void OnnxScope::keep(const std::string& name, Numbers numbers) {
    set_type(name, tensor_type(numbers.type, numbers.shape));
    if (numbers.values.size() > kMostNumbers || *kept_ + numbers.values.size() > kMostNumbersInAll) return;
    *kept_ += numbers.values.size();
    numbers_[name] = std::make_shared<const Numbers>(std::move(numbers));
}

void OnnxScope::alias(const std::string& name, const OnnxScope& scope, const std::string& value) {
    if (const onnx::TypeProto* known = scope.type(value)) types_[name] = *known;
    if (auto known = scope.shared_numbers(value)) numbers_[name] = std::move(known);
}

bool OnnxScope::knows(const std::string& name) const {
    return type(name) != nullptr;
}

const onnx::TypeProto* OnnxScope::type(const std::string& name) const {
    const auto found = types_.find(name);
    if (found != types_.end()) return &found->second;
    return outer_ != nullptr ? outer_->type(name) : nullptr;
}

std::shared_ptr<const Numbers> OnnxScope::shared_numbers(const std::string& name) const {
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) return found->second;
    // A value of this scope hides one of the same name around it.
    return outer_ != nullptr && !types_.contains(name) ? outer_->shared_numbers(name) : nullptr;
}

const Numbers* OnnxScope::numbers(const std::string& name) const {
    return shared_numbers(name).get();
}

std::optional<std::vector<std::int64_t>> OnnxScope::shape(const std::string& name) const {
    const onnx::TypeProto* known = type(name);
    if (known == nullptr || !is_complete(*known)) return {};
    std::vector<std::int64_t> extents;
    for (const auto& dim : known->tensor_type().shape().dim()) extents.push_back(dim.dim_value());
    return extents;
}

int OnnxScope::opset(const std::string& domain) const {
    const auto found = opsets_->find(domain == "ai.onnx" ? "" : domain);
    return found == opsets_->end() ? 1 : found->second;
}

std::optional<Numbers> OnnxScope::evaluate(const onnx::NodeProto& node) const {
    if (*kept_ + kMostNumbers > kMostNumbersInAll) return {};
    if (!node.domain().empty() && node.domain() != "ai.onnx") return {};
    if (node.op_type() == "Shape" && node.input_size() == 1) {
        auto extents = shape(node.input(0));
        if (!extents) return {};
        const auto rank = static_cast<std::int64_t>(extents->size());
        const auto bound = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
        const std::int64_t start = bound(integer_attribute(node, "start", 0)), end = bound(integer_attribute(node, "end", rank));
        Numbers result{{std::max<std::int64_t>(0, end - start)}, TensorProto::INT64, {}};
        for (std::int64_t i = start; i < end; ++i) result.values.push_back(static_cast<double>((*extents)[static_cast<std::size_t>(i)]));
        return result;
    }
    if (node.op_type() == "Size" && node.input_size() == 1) {
        const auto extents = shape(node.input(0));
        if (!extents) return {};
        double product = 1;
        for (const std::int64_t extent : *extents) product *= static_cast<double>(extent);
        return Numbers{{}, TensorProto::INT64, {product}};
    }
    const Evaluation function = evaluation(node.op_type());
    if (function == nullptr) return {};
    Operands operands;
    for (const std::string& input : node.input()) {
        const Numbers* known = numbers(input);
        if (known == nullptr) return {};
        if (known->shape.size() > (operands.empty() && takes_matrices(node.op_type()) ? kMostRank : 1)) return {};
        operands.push_back(known);
    }
    if (operands.empty()) return {};
    return function(node, operands);
}

std::string OnnxScope::infer(const onnx::NodeProto& node) {
    if (node.op_type() == "Constant" && node.domain().empty() && node.output_size() == 1) {
        const std::string& output = node.output(0);
        for (const onnx::AttributeProto& attribute : node.attribute()) {
            if (attribute.name() == "value") {
                if (auto numbers = numbers_of(attribute.t()))
                    keep(output, *std::move(numbers));
                else
                    define(output, attribute.t());
            }
            if (attribute.name() == "value_int") keep(output, Numbers{{}, TensorProto::INT64, {double(attribute.i())}});
            if (attribute.name() == "value_float") keep(output, Numbers{{}, TensorProto::FLOAT, {double(attribute.f())}});
            if (attribute.name() == "value_ints")
                keep(output, Numbers{{attribute.ints_size()}, TensorProto::INT64, {attribute.ints().begin(), attribute.ints().end()}});
            if (attribute.name() == "value_floats")
                keep(output,
                     Numbers{{attribute.floats_size()}, TensorProto::FLOAT, {attribute.floats().begin(), attribute.floats().end()}});
        }
        if (types_.contains(node.output(0))) return {};
    }
    if (node.output_size() > 0) {
        if (auto result = evaluate(node); result && result->values.size() <= kMostNumbers) {
            keep(node.output(0), *std::move(result));
            return {};
        }
    }
    std::string problem;
    try {
        problem = infer_types(node);
    } catch (const std::exception& error) {
        problem = error.what();
    } catch (...) {
        problem = "shape inference failed";
    }
    if (problem.empty()) problem = far_input(node);
    for (const std::string& output : node.output()) {
        const auto found = types_.find(output);
        if (output.empty() || (found != types_.end() && is_complete(found->second))) continue;
        const auto expected = expected_.find(output);
        if (expected != expected_.end()) set_type(output, expected->second);
    }
    return problem;
}

std::string OnnxScope::far_input(const onnx::NodeProto& node) const {
    for (const OnnxScope* scope = this; scope != nullptr; scope = scope->outer_) {
        for (const std::string& input : node.input()) {
            if (scope->far_.contains(input)) return "the numbers of its input \"" + input + "\" are in another file, which is not read";
        }
    }
    return {};
}

std::string OnnxScope::infer_types(onnx::NodeProto node) {
    const std::string& op = node.op_type();
    const auto given = [&](int index) { return index < node.input_size() ? type(node.input(index)) : nullptr; };
    if (std::string problem = wrong_attribute(node); !problem.empty()) return problem;
    if (std::string problem = wrong_rank(node, *this); !problem.empty()) return problem;
    for (const std::string& input : node.input()) {
        if (!input.empty() && !knows(input)) return "the type of its input \"" + input + "\" is unknown";
    }
    if (op == "Split" && find_attribute(node, "num_outputs") != nullptr && given(0) != nullptr && is_complete(*given(0))) {
        const auto types = split_evenly(node, *given(0));
        for (std::size_t i = 0; i < types.size(); ++i) set_type(node.output(static_cast<int>(i)), types[i]);
        return {};
    }
    if (op == "Einsum" && node.input_size() > 0 && node.output_size() == 1) {
        // The library finds no more than the number of extents.
        if (const auto extents = einsum_shape(node, *this)) {
            set_type(node.output(0), tensor_type(given(0)->tensor_type().elem_type(), *extents));
            return {};
        }
    }
    const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
    if (op == "Slice" && domain.empty() && opset("") < 10 && node.input_size() == 1 && node.output_size() == 1) {
        const auto extents = early_slice_shape(node, *this);
        if (!extents) return "its bounds do not fit its input";
        set_type(node.output(0), tensor_type(given(0)->tensor_type().elem_type(), *extents));
        return {};
    }
    if ((op == "Attention" && domain.empty()) || (op == "MultiHeadAttention" && domain == "com.microsoft")) {
        const auto extents = attention_extents(node, *this);
        if (!extents) return "its queries, keys and values are none with heads of one size";
        const std::array<std::vector<std::int64_t>, 4> shapes{extents->output,
                                                              {extents->batch, extents->key_heads, extents->keys, extents->key_size},
                                                              {extents->batch, extents->key_heads, extents->keys, extents->value_size},
                                                              {extents->batch, extents->heads, extents->queries, extents->keys}};
        for (int i = 0; i < std::min(node.output_size(), 4); ++i)
            set_type(node.output(i), tensor_type(given(0)->tensor_type().elem_type(), shapes[static_cast<std::size_t>(i)]));
        return {};
    }
    const onnx::OpSchema* schema =
        onnx::OpSchemaRegistry::Schema(op, std::min(opset(domain), domain.empty() ? kLibraryOpset : 1000), domain);
    if (schema == nullptr || !schema->has_type_and_shape_inference_function()) {
        if (!gives_what_it_takes(op) || given(0) == nullptr || node.output_size() == 0) return "this op is not known";
        set_type(node.output(0), *given(0));
        if (!op.ends_with("LayerNormalization") || !is_complete(*given(0)) || given(0)->tensor_type().shape().dim_size() == 0) return {};
        // Statistics, and the sum that was normalized.
        onnx::TypeProto statistics = *given(0);
        statistics.mutable_tensor_type()->mutable_shape()->mutable_dim()->rbegin()->set_dim_value(1);
        for (int i = 1; i < node.output_size(); ++i) set_type(node.output(i), i == 3 ? *given(0) : statistics);
        return {};
    }
    if (std::string problem = to_known_opset(node, *this); !problem.empty()) return problem;
    // What later operator sets added.
    if (opset(domain) > kLibraryOpset) {
        auto& attributes = *node.mutable_attribute();
        attributes.erase(std::remove_if(attributes.begin(), attributes.end(),
                                        [&](const auto& attribute) { return !schema->attributes().contains(attribute.name()); }),
                         attributes.end());
    }
    schema->Verify(node);
    std::unordered_map<std::string, onnx::TypeProto> types;
    std::unordered_map<std::string, onnx::TypeProto*> type_pointers;
    std::unordered_map<std::string, TensorProto> tensors;
    std::unordered_map<std::string, const TensorProto*> tensor_pointers;
    for (const std::string& input : node.input()) {
        if (input.empty()) continue;
        type_pointers[input] = &(types[input] = *type(input));
        // Extents, pads (two for each) and sizes of outputs are few; more are copied for nothing.
        const auto most = static_cast<std::size_t>(std::max(2 * kMostExtents, node.output_size()));
        if (const Numbers* known = numbers(input); known != nullptr && known->values.size() <= most && known->shape.size() < kMostRank)
            tensor_pointers[input] = &(tensors[input] = tensor_of(*known));
    }
    onnx::shape_inference::InferenceContextImpl context(node, type_pointers, tensor_pointers, {});
    schema->GetTypeAndShapeInferenceFunction()(context);
    std::string problem;
    for (int i = 0; i < node.output_size(); ++i) {
        onnx::TypeProto& found = *context.getOutputType(static_cast<std::size_t>(i));
        if (node.output(i).empty() || found.value_case() == onnx::TypeProto::VALUE_NOT_SET) continue;
        if (op == "Slice" && !found.tensor_type().has_shape() && given(0)->tensor_type().has_shape()) found = loosely_sliced(node, *this);
        if (found.tensor_type().shape().dim_size() > kMostExtents)
            problem = "it has more than " + std::to_string(kMostExtents) + " extents";
        set_type(node.output(i), std::move(found));
    }
    return problem;
}

}  // namespace placewright
