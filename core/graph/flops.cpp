// SPDX-License-Identifier: MIT
#include "core/graph/flops.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>

#include "core/graph/kinds.hpp"

namespace placewright {
double elements(std::span<const std::int64_t> shape) {
    double product = 1;
    for (const std::int64_t extent : shape) product *= static_cast<double>(extent);
    return product;
}

namespace {

using Formula = std::optional<double> (*)(const OpShapes&);

/// kEach FLOPs per element of the first output.
template <int kEach>
std::optional<double> each(const OpShapes& op) {
    if (op.outputs.empty()) return {};
    return kEach * elements(op.outputs[0]);
}

/// kEach FLOPs per element of the first input.
template <int kEach>
std::optional<double> each_input(const OpShapes& op) {
    if (op.inputs.empty()) return {};
    return kEach * elements(op.inputs[0]);
}

/// One addition for each element of the last input, which is added at given positions.
std::optional<double> added(const OpShapes& op) {
    if (op.inputs.empty()) return {};
    return elements(op.inputs.back());
}

std::optional<double> none(const OpShapes&) {
    return 0;
}

/// Each output element sums over the input channels of its group and the kernel.
std::optional<double> convolution(const OpShapes& op) {
    if (op.inputs.size() < 2 || op.inputs[1].size() < 2 || op.outputs.empty()) return {};
    return 2 * elements(op.outputs[0]) * elements(std::span(op.inputs[1]).subspan(1));
}

/// Each input element goes to the output channels of its group and the kernel.
std::optional<double> transposed_convolution(const OpShapes& op) {
    if (op.inputs.size() < 2 || op.inputs[1].size() < 2) return {};
    return 2 * elements(op.inputs[0]) * elements(std::span(op.inputs[1]).subspan(1));
}

/// A product and a sum for each combination of the indices of two operands; the dimensions of "..."
/// correspond from the right.
std::optional<double> einsum(const OpShapes& op) {
    std::map<int, std::int64_t> extents;
    std::size_t operand = 0, begin = 0;
    const std::string_view terms = op.equation.substr(0, op.equation.find("->"));
    for (bool more = true; more; ++operand) {
        const std::size_t end = std::min(terms.find(',', begin), terms.size());
        std::vector<int> labels;
        std::size_t dots = 0, unnamed_at = 0;
        for (const char c : terms.substr(begin, end - begin)) {
            if (c == '.') {
                ++dots;
                unnamed_at = labels.size();
            } else if (c != ' ') {
                labels.push_back(c);
            }
        }
        if (operand >= op.inputs.size() || (dots != 0 && dots != 3)) return {};
        const Shape& shape = op.inputs[operand];
        if (dots == 0 ? shape.size() != labels.size() : shape.size() < labels.size()) return {};
        for (int unnamed = static_cast<int>(shape.size() - labels.size()); unnamed > 0; --unnamed)
            labels.insert(labels.begin() + static_cast<std::ptrdiff_t>(unnamed_at++), -unnamed);
        for (std::size_t i = 0; i < labels.size(); ++i)
            extents[labels[i]] = std::max(extents[labels[i]], shape[i]);
        more = end < terms.size();
        begin = end + 1;
    }
    if (operand != 2 || op.inputs.size() != 2) return {};
    double combinations = 1;
    for (const auto& [label, extent] : extents) combinations *= static_cast<double>(extent);
    return 2 * combinations;
}

/// Rows of operand `kOperand` times columns of the next.
template <std::size_t kOperand>
std::optional<double> product(const OpShapes& op) {
    if (op.inputs.size() <= kOperand || op.inputs[kOperand].empty() || op.outputs.empty()) return {};
    return 2 * elements(op.outputs[0]) * static_cast<double>(op.inputs[kOperand].back());
}

std::optional<double> bilinear(const OpShapes& op) {
    if (op.inputs.size() < 3 || op.inputs[2].size() != 3 || op.outputs.empty()) return {};
    const double first = static_cast<double>(op.inputs[2][1]), second = static_cast<double>(op.inputs[2][2]);
    return 2 * elements(op.outputs[0]) * (first * second + second);
}

std::optional<double> attention(const OpShapes& op) {
    if (op.inputs.size() < 3 || op.inputs[0].size() < 2 || op.inputs[1].size() < 2 || op.inputs[2].empty())
        return {};
    const Shape& query = op.inputs[0];
    const double features = static_cast<double>(query.back());
    const double scores = elements(std::span(query).first(query.size() - 1)) *
                          static_cast<double>(op.inputs[1][op.inputs[1].size() - 2]);
    return scores * (2 * features + 2 * static_cast<double>(op.inputs[2].back()) + 5);
}

std::optional<double> pool(const OpShapes& op) {
    if (op.outputs.empty()) return {};
    return elements(op.outputs[0]) * static_cast<double>(op.window);
}

/// A product and a sum for each of the points that an element is interpolated from; the nearest one is only
/// copied.
std::optional<double> of_points(const OpShapes& op, std::size_t extents) {
    if (op.window < 1) return {};
    double points = op.window > 1 ? 2 : 0;
    for (; extents > 0; --extents) points *= static_cast<double>(op.window);
    return points * elements(op.outputs[0]);
}

std::optional<double> interpolation(const OpShapes& op) {
    if (op.inputs.empty() || op.outputs.empty() || op.inputs[0].size() != op.outputs[0].size()) return {};
    std::size_t changed = 0;
    for (std::size_t i = 0; i < op.outputs[0].size(); ++i)
        changed += op.inputs[0][i] != op.outputs[0][i] ? 1 : 0;
    return of_points(op, changed);
}

std::optional<double> grid_sample(const OpShapes& op) {
    if (op.inputs.empty() || op.inputs[0].size() < 3 || op.outputs.empty()) return {};
    return of_points(op, op.inputs[0].size() - 2);
}

/// A difference, its square and a sum for each coordinate of each pair of points.
std::optional<double> distances(const OpShapes& op) {
    if (op.inputs.empty() || op.inputs[0].empty() || op.outputs.empty()) return {};
    return 3 * elements(op.outputs[0]) * static_cast<double>(op.inputs[0].back());
}

/// A sum of the rows of the table that the first input names.
std::optional<double> embedding_bag(const OpShapes& op) {
    if (op.inputs.empty() || op.outputs.empty() || op.outputs[0].empty()) return {};
    return elements(op.inputs[0]) * static_cast<double>(op.outputs[0].back());
}

/// Both statistics over `window` channels, square, scale, power, divide.
std::optional<double> local_response_norm(const OpShapes& op) {
    if (op.outputs.empty()) return {};
    return elements(op.outputs[0]) * static_cast<double>(op.window + 5);
}

/// A layer of cells over all steps of a sequence, or one cell: all matrices once per step, and kEach per
/// element of the state for each layer and direction. Weights are (gates x hidden) x columns.
template <int kGates, int kEach>
std::optional<double> cells(const OpShapes& op) {
    if (op.inputs.empty() || op.inputs[0].empty() || op.inputs[0].back() == 0) return {};
    const double rows = elements(std::span(op.inputs[0]).first(op.inputs[0].size() - 1));
    double flops = 0;
    std::size_t matrices = 0;
    for (const Shape& shape : op.inputs.subspan(1)) {
        if (shape.size() != 2) continue;  // a bias
        flops += rows * 2 * elements(shape);
        // Every second matrix belongs to the state.
        if (++matrices % 2 == 0) flops += rows * kEach * static_cast<double>(shape[0]) / kGates;
    }
    if (matrices == 0) return {};
    return flops;
}

Formula formula(std::string_view kind) {
    static const std::unordered_map<std::string_view, Formula> by_kind{
        {"conv1d", convolution},
        {"conv2d", convolution},
        {"conv3d", convolution},
        {"conv_transpose1d", transposed_convolution},
        {"conv_transpose2d", transposed_convolution},
        {"conv_transpose3d", transposed_convolution},
        {"linear", product<0>},
        {"matmul", product<0>},
        {"bmm", product<0>},
        {"mm", product<0>},
        {"addmm", product<1>},
        {"baddbmm", product<1>},
        {"bilinear", bilinear},
        {"einsum", einsum},
        {"scaled_dot_product_attention", attention},
        {"embedding", none},
        {"embedding_bag", embedding_bag},
        {"cdist", distances},
        {"pairwise_distance", each_input<4>},
        {"cosine_similarity", each_input<6>},
        {"index_add", added},
        {"scatter_add", added},

        {"batch_norm", each<4>},
        {"group_norm", each<4>},
        {"instance_norm", each<4>},
        {"layer_norm", each<4>},
        {"rms_norm", each<4>},
        {"normalize", each<3>},
        {"weight_norm", each<3>},
        {"local_response_norm", local_response_norm},

        {"gelu", each<8>},
        {"glu", each<2>},
        {"silu", each<2>},
        {"mish", each<4>},
        {"softplus", each<3>},
        {"hardtanh", each<2>},
        {"relu6", each<2>},
        {"clamp", each<2>},
        {"elu", each<3>},
        {"selu", each<3>},
        {"celu", each<3>},
        {"leaky_relu", each<2>},
        {"prelu", each<2>},
        {"hardsigmoid", each<4>},
        {"hardswish", each<5>},
        {"logsigmoid", each<3>},
        {"softmax", each<5>},
        {"log_softmax", each<5>},

        {"max_pool1d", pool},
        {"max_pool2d", pool},
        {"max_pool3d", pool},
        {"avg_pool1d", pool},
        {"avg_pool2d", pool},
        {"avg_pool3d", pool},
        {"adaptive_max_pool1d", each_input<1>},
        {"adaptive_max_pool2d", each_input<1>},
        {"adaptive_max_pool3d", each_input<1>},
        {"adaptive_avg_pool1d", each_input<1>},
        {"adaptive_avg_pool2d", each_input<1>},
        {"adaptive_avg_pool3d", each_input<1>},
        {"interpolate", interpolation},
        {"grid_sample", grid_sample},
        {"mean", each_input<1>},
        {"sum", each_input<1>},
        {"max", each_input<1>},
        {"min", each_input<1>},
        {"cumsum", each_input<1>},
        {"prod", each_input<1>},
        {"var", each_input<4>},
        {"norm", each_input<2>},
        {"logsumexp", each_input<3>},
        {"all", each_input<1>},
        {"any", each_input<1>},
        {"argmax", each_input<1>},
        {"argmin", each_input<1>},

        {"cross_entropy", each_input<4>},
        {"nll_loss", each_input<1>},
        {"mse_loss", each_input<3>},
        {"l1_loss", each_input<3>},
        {"smooth_l1_loss", each_input<5>},
        {"kl_div", each_input<4>},
        {"binary_cross_entropy", each_input<6>},
        {"binary_cross_entropy_with_logits", each_input<7>},

        {"lstm_cell", cells<4, 13>},
        {"gru_cell", cells<3, 12>},
        {"rnn_cell", cells<1, 3>},
        {"lstm", cells<4, 13>},
        {"gru", cells<3, 12>},
        {"rnn", cells<1, 3>},

        {"cat", none},
        {"im2col", none},
        {"pack_padded_sequence", none},
        {"pad_packed_sequence", none},
        {"col2im", each_input<1>},
        {"stack", none},
        {"clone", none},
        {"contiguous", none},
        {"pad", none},
        {"pixel_shuffle", none},
        {"pixel_unshuffle", none},
        {"repeat", none},
        {"to", none},
        {"tril", none},
        {"triu", none},
        {"arange", none},
        {"full", none},
        {"isinf", none},
        {"isnan", none},
        {"isfinite", none},
        {"bucketize", none},
        {"logical_and", none},
        {"logical_not", none},
        {"logical_or", none},
        {"logical_xor", none},
        {"scatter", none},
        {"gather", none},
        {"index_select", none},
        {"masked_fill", none},
        {"where", none},
        {"one_hot", none},
        {"roll", none},
        {"flip", none},
        {"bitwise_and", none},
        {"bitwise_not", none},
        {"bitwise_or", none},
        {"eq", none},
        {"ge", none},
        {"gt", none},
        {"le", none},
        {"lt", none},
        {"ne", none},

        {"relu", each<1>},
        {"sigmoid", each<1>},
        {"tanh", each<1>},
        {"exp", each<1>},
        {"log", each<1>},
        {"log1p", each<1>},
        {"expm1", each<1>},
        {"addcmul", each<3>},
        {"addcdiv", each<3>},
        {"lerp", each<3>},
        {"sqrt", each<1>},
        {"rsqrt", each<2>},
        {"pow", each<1>},
        {"erf", each<1>},
        {"sin", each<1>},
        {"cos", each<1>},
        {"ceil", each<1>},
        {"floor", each<1>},
        {"reciprocal", each<1>},
        {"remainder", each<1>},
        {"maximum", each<1>},
        {"minimum", each<1>},
        {"softsign", each<3>},
        {"threshold", each<2>},
        {"quantize_per_tensor", each<3>},
        {"dequantize", each<2>},
        {"abs", each<1>},
        {"neg", each<1>},
        {"round", each<1>},
        {"sign", each<1>},
        {"add", each<1>},
        {"sub", each<1>},
        {"mul", each<1>},
        {"div", each<1>},
        {"dropout", each<1>},
        {"dropout1d", each<1>},
        {"dropout2d", each<1>},
        {"dropout3d", each<1>},
        {"alpha_dropout", each<2>},
    };
    const auto found = by_kind.find(kind);
    if (found != by_kind.end()) return found->second;
    return kind_info(kind).computes ? nullptr : none;
}

}  // namespace

std::optional<double> forward_flops(const OpShapes& op) {
    const Formula count = formula(op.kind);
    return count != nullptr ? count(op) : std::nullopt;
}

}  // namespace placewright
