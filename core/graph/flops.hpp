// SPDX-License-Identifier: MIT
// How much an op computes, by its kind and shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace placewright {

using Shape = std::vector<std::int64_t>;

/// The tensors of an op, parameters among them, in the order of PyTorch's functional form of its kind: conv2d(input, weight, bias),
/// linear(input, weight, bias), addmm(bias, a, b), lstm(input, weights and biases...), the
/// states of recurrent ones left out. Scores of attention are counted by the leading extents of the queries: batch and heads.
struct OpShapes {
    std::string_view kind;
    std::span<const Shape> inputs;
    std::span<const Shape> outputs;
    /// Elements of the window of a pool or of a normalisation across channels; of an interpolation the points in a row that an element is
    /// made of: 1 the nearest, 2 linear, 4 cubic, 0 not known.
    std::int64_t window = 1;
    std::string_view equation{};  ///< of an Einstein sum: "bij,jk->bik"
};

/// FLOPs of the forward op, counted from the definition of its kind in PyTorch's documentation; nothing for a kind, or shapes, without a
/// formula.
///
/// A multiply-add is two. Convolutions, products and linear layers count nothing for a bias; batch_norm and the other normalisations four
/// an element (subtract the mean, divide by the deviation, scale, shift); relu, dropout, add and other functions of an element one,
/// composed ones as many as they are composed of (silu: a sigmoid and a product; quantize_per_tensor: divide, round, clamp), gelu eight
/// (the approximation by tanh, Hendrycks, Gimpel, 2016); pools one for each element in each window; sums and means one an element of the
/// input, norms two, variances four; interpolate and grid_sample two for each point that an element is interpolated from (those of a row to
/// the number of extents that change, or of the grid), none to the nearest; einsum of two operands two for each combination of its indices;
/// softmax five an element (largest, subtract, exponential, sum, divide), cross_entropy four; lstm_cell its product and 13 an element of
/// its state (four biases, three sigmoids, two tanh, three products, a sum), gru_cell 12 (three biases, two sigmoids, a tanh, three
/// products, three sums); layers of them (lstm, gru) the same a step; scaled_dot_product_attention its two products and a softmax over the
/// scores. What only moves data counts none: views, cat, embedding, pad, comparisons.
std::optional<double> forward_flops(const OpShapes& op);

}  // namespace placewright
