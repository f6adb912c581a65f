// SPDX-License-Identifier: MIT
#include "core/io/onnx/onnx_arithmetic.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/io/onnx/onnx_model.hpp"

namespace placewright {
namespace {

using onnx::TensorProto;

/// Applies a function to each element; an operand with one element is repeated.
template <class Function>
std::optional<Numbers> by_element(std::initializer_list<const Numbers*> operands, std::int32_t type,
                                  Function function) {
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
        for (const Numbers* operand : operands)
            at[slot++] = operand->values[operand->values.size() == 1 ? 0 : i];
        result.values[i] = function(at);
        if (!is_real(type)) result.values[i] = std::trunc(result.values[i]);
    }
    return result;
}

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
    if (to == TensorProto::BOOL)
        return by_element({in[0]}, to, [](const auto& at) { return at[0] != 0 ? 1.0 : 0.0; });
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

/// Returns the index of an axis, where a negative one counts from the end; nothing if it does not exist.
std::optional<std::size_t> axis_of(const Numbers& numbers, std::int64_t axis) {
    const auto rank = static_cast<std::int64_t>(numbers.shape.size());
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return {};
    return static_cast<std::size_t>(axis);
}

/// Slice along one axis; from operator set 10 on its bounds are inputs.
std::optional<Numbers> slice(const onnx::NodeProto& node, const Operands& in) {
    const bool given = in.size() > 2;
    const auto starts = given ? in[1]->whole() : integers_attribute(node, "starts");
    const auto ends = given ? in[2]->whole() : integers_attribute(node, "ends");
    const auto axes = in.size() > 3 ? in[3]->whole() : integers_attribute(node, "axes");
    const auto steps = in.size() > 4 ? in[4]->whole() : std::vector<std::int64_t>{1};
    if (starts.size() != 1 || ends.size() != 1 || axes.size() > 1 || steps.size() != 1 || steps[0] == 0)
        return {};
    const auto axis = axis_of(*in[0], axes.empty() ? 0 : axes[0]);
    if (!axis) return {};
    const std::int64_t count = in[0]->shape[*axis], step = steps[0];
    const auto bound = [&](std::int64_t at) {
        if (at < 0) at = at < -count ? -1 : at + count;
        return step > 0 ? std::clamp<std::int64_t>(at, 0, count)
                        : std::clamp<std::int64_t>(at, -1, count - 1);
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
        for (std::size_t at = column; at < in[0]->values.size(); at += columns)
            result.values.push_back(in[0]->values[at]);
    }
    return result;
}

/// Squeeze and Unsqueeze between a number and a list with one item.
std::optional<Numbers> squeeze(const onnx::NodeProto&, const Operands& in) {
    if (in[0]->values.size() != 1) return {};
    return Numbers{{}, in[0]->type, {in[0]->values.front()}};
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

/// Returns the length of a shape with at most one extent; nothing for another or a large shape.
std::optional<std::size_t> length_from(const Numbers& shape) {
    if (shape.values.empty()) return 1;
    if (shape.values.size() > 1 || !(shape.values[0] >= 0 && shape.values[0] <= double(kMostNumbers)))
        return {};
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
    return Numbers{
        {static_cast<std::int64_t>(*length)}, in[0]->type, std::vector<double>(*length, in[0]->values[0])};
}

std::optional<Numbers> range(const onnx::NodeProto&, const Operands& in) {
    if (in.size() != 3 || in[0]->values.size() != 1 || in[1]->values.size() != 1 || in[2]->values.size() != 1)
        return {};
    const double start = in[0]->values[0], delta = in[2]->values[0];
    const double count = std::max(0.0, std::ceil((in[1]->values[0] - start) / delta));
    if (!(count <= static_cast<double>(kMostNumbers))) return {};
    Numbers result{{static_cast<std::int64_t>(count)}, in[0]->type, {}};
    for (double i = 0; i < count; ++i) result.values.push_back(start + i * delta);
    return result;
}

std::optional<Numbers> where(const onnx::NodeProto&, const Operands& in) {
    if (in.size() != 3) return {};
    return by_element({in[0], in[1], in[2]}, in[1]->type,
                      [](const auto& at) { return at[0] != 0 ? at[1] : at[2]; });
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

/// Remainder with the sign of the divisor or, with "fmod", of the dividend as in C.
std::optional<Numbers> remainder(const onnx::NodeProto& node, const Operands& in) {
    if (integer_attribute(node, "fmod", 0) != 0)
        return binary<[](double a, double b) { return std::fmod(a, b); }>(node, in);
    return binary<[](double a, double b) { return a - b * std::floor(a / b); }>(node, in);
}

}  // namespace

FoldingFunction find_folding_function(const std::string& op) {
    static const std::unordered_map<std::string, FoldingFunction> by_op{
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

bool takes_matrices(const std::string& op) {
    static const std::set<std::string> ops{"Cast", "Identity", "Reshape", "Slice", "Transpose"};
    return ops.contains(op);
}

}  // namespace placewright
