// SPDX-License-Identifier: MIT
// FLOPs of an op, computed from its kind and shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace placewright {

using Shape = std::vector<std::int64_t>;

/// The tensors of an op, including parameters, in the order of PyTorch's functional form of its kind:
/// conv2d(input, weight, bias), linear(input, weight, bias), addmm(bias, a, b), lstm(input, weights and
/// biases...), without the states of recurrent ops. The number of attention scores is computed from the
/// leading extents of the queries: batch and heads.
struct OpShapes {
    std::string_view kind;
    std::span<const Shape> inputs;
    std::span<const Shape> outputs;
    /// Elements of the window of a pool or of a normalisation across channels. For an interpolation, the
    /// number of points in a row that an element is computed from: 1 nearest, 2 linear, 4 cubic, 0 unknown.
    std::int64_t window = 1;
    std::string_view equation{};  ///< of an Einstein sum: "bij,jk->bik"
};

/// Number of elements of a tensor of this shape.
double elements(std::span<const std::int64_t> shape);

/// FLOPs of the forward op, counted from the definition of its kind in PyTorch's documentation; nothing for a
/// kind or shapes without a formula.
///
/// A multiply-add counts two. Convolutions, products and linear layers count nothing for a bias. Per element:
/// batch_norm and the other normalisations four (subtract the mean, divide by the deviation, scale, shift);
/// relu, dropout, add and other functions of an element one; composed functions the sum of their parts (silu:
/// a sigmoid and a product; quantize_per_tensor: divide, round, clamp); gelu eight (the approximation by
/// tanh, Hendrycks, Gimpel, 2016); softmax five (largest, subtract, exponential, sum, divide), cross_entropy
/// four. Per element of the input: sums and means one, norms two, variances four. Pools count one for each
/// element in each window. interpolate and grid_sample count two for each point that an element is
/// interpolated from (the points in a row to the power of the number of extents that change, or of the grid),
/// none to the nearest. einsum of two operands counts two for each combination of its indices. lstm_cell
/// counts its product and 13 per element of its state (four biases, three sigmoids, two tanh, three products,
/// a sum), gru_cell 12 (three biases, two sigmoids, a tanh, three products, three sums); layers of them
/// (lstm, gru) the same per step. scaled_dot_product_attention counts its two products and a softmax over the
/// scores. Ops that only move data count none: views, cat, embedding, pad; neither do comparisons.
std::optional<double> forward_flops(const OpShapes& op);

}  // namespace placewright
