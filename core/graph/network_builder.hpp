// SPDX-License-Identifier: MIT
// The layers that the network generators share, with their exact shapes, parameters and FLOPs. Tensors and
// parameters are float32; tensors are in the order batch, channels, height, width or batch, positions,
// features.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/flops.hpp"
#include "core/graph/graph.hpp"

namespace placewright {

/// Rows and columns of a kernel, stride or padding.
struct Extent {
    std::int64_t height = 0;
    std::int64_t width = 0;

    constexpr Extent(std::int64_t side) : height(side), width(side) {}
    constexpr Extent(std::int64_t rows, std::int64_t columns) : height(rows), width(columns) {}
};

/// How a window moves over an image.
struct Window {
    Extent kernel;
    Extent stride = 1;
    Extent padding = 0;
};

struct Convolution {
    std::int64_t channels = 0;  ///< of the output
    Window window;
    bool bias = false;
    std::int64_t groups = 1;
};

/// An output of an op that has been added.
struct Value {
    OpId op = kInvalidOp;
    std::vector<std::int64_t> shape;
    std::uint32_t output = 0;

    std::int64_t channels() const { return shape[1]; }
};

/// The state that a recurrent cell passes to the next step.
struct LstmState {
    Value hidden, cell;
};

/// The shapes from which the FLOPs of an op are computed (see OpShapes), if they differ from its inputs.
struct Counted {
    std::vector<Shape> operands{};  ///< empty: the inputs
    std::vector<Shape> weights{};
    std::int64_t window = 1;
};

/// Adds one op per call. An op's scope is its name up to the last '/'. FLOPs are those of flops.hpp. Throws
/// std::invalid_argument if shapes do not fit, GraphError for a repeated name.
class NetworkBuilder {
public:
    NetworkBuilder(std::string name, std::int64_t batch);

    /// `shape` without the batch.
    Value input(const std::string& name, std::span<const std::int64_t> shape);
    Value conv2d(const std::string& name, const Value& from, const Convolution& convolution);
    Value batch_norm(const std::string& name, const Value& from);
    Value relu(const std::string& name, const Value& from);
    Value dropout(const std::string& name, const Value& from);
    Value max_pool2d(const std::string& name, const Value& from, const Window& window);
    Value avg_pool2d(const std::string& name, const Value& from, const Window& window);
    Value adaptive_avg_pool2d(const std::string& name, const Value& from, Extent size);
    /// Shifts an image up and left by one pixel; the vacated pixels are zero.
    Value shift(const std::string& name, const Value& from);
    /// `b` has the extents of `a`, or 1 in their place; its first extent may be missing.
    Value add(const std::string& name, const Value& a, const Value& b);
    /// The same for a difference and a product of elements.
    Value sub(const std::string& name, const Value& a, const Value& b);
    Value mul(const std::string& name, const Value& a, const Value& b);
    /// Concatenation along the channels.
    Value cat(const std::string& name, std::span<const Value> parts);
    Value flatten(const std::string& name, const Value& from);
    /// Applied to the last extent of rows or of a sequence.
    Value linear(const std::string& name, const Value& from, std::int64_t features, bool bias = true);
    /// Without bias, with weights (features x extent) that other ops may use too.
    Value linear(const std::string& name, const Value& from, const Value& weights);

    /// An integer input: `positions` tokens.
    Value tokens(const std::string& name, std::int64_t positions);
    /// Parameters that several ops read.
    Value parameter(const std::string& name, std::vector<std::int64_t> shape);
    Value embedding(const std::string& name, const Value& tokens, std::int64_t vocabulary,
                    std::int64_t features);
    /// With a table (vocabulary x features) that other ops may use too.
    Value embedding(const std::string& name, const Value& tokens, const Value& table);
    /// A step of a long short-term memory (Hochreiter, Schmidhuber, 1997) on the concatenated features of all
    /// `from`; without `state`, the state is zero. `weights` come from lstm_weights. A third output holds the
    /// gates, which the backward reads.
    LstmState lstm_cell(const std::string& name, std::span<const Value> from, const LstmState* state,
                        const Value& weights);
    Value lstm_weights(const std::string& name, std::int64_t inputs, std::int64_t hidden);
    Value layer_norm(const std::string& name, const Value& from);
    Value gelu(const std::string& name, const Value& from);
    Value tanh(const std::string& name, const Value& from);
    Value sigmoid(const std::string& name, const Value& from);
    /// Division by a number.
    Value div(const std::string& name, const Value& from);
    /// Cuts rows of features into two halves.
    std::array<Value, 2> halves(const std::string& name, const Value& from);
    Value softmax(const std::string& name, const Value& from);
    /// Product of (batch x m x n) and (batch x n x p).
    Value bmm(const std::string& name, const Value& a, const Value& b);
    /// softmax(q k^T) v on batch x positions x features, for each of the heads that the features are divided
    /// into (Vaswani and others, 2017).
    Value attention(const std::string& name, const Value& query, const Value& key, const Value& value,
                    std::int64_t heads);
    /// Cuts batch x positions x features into its positions.
    std::vector<Value> unbind(const std::string& name, const Value& from);
    /// The inverse of unbind.
    Value stack(const std::string& name, std::span<const Value> steps);
    /// One position of a sequence.
    Value select(const std::string& name, const Value& from);
    /// The same elements in another shape.
    Value reshape(const std::string& name, const Value& from, std::vector<std::int64_t> shape);
    /// An op of any kind without parameters and attributes, whose only output has `shape`. Throws
    /// std::invalid_argument for a kind without a formula of FLOPs for these shapes.
    Value op(const std::string& name, const char* kind, std::span<const Value> from, Shape shape);

    /// Sets the colocation label of ops added from now on: they share a device with all others of the same
    /// label. With an empty label they have no such constraint.
    void colocate(std::string label) { colocate_ = std::move(label); }
    /// The mean loss over the batch, a scalar; labels are not modelled.
    Value cross_entropy(const std::string& name, const Value& logits);

    Graph build() { return builder_.build(); }

private:
    Value append(Op op, Shape shape, std::span<const Value> inputs, const Counted& counted = {});
    Value elementwise(const std::string& name, const char* kind, const Value& from);
    Value combined(const std::string& name, const char* kind, const Value& a, const Value& b);
    Value pool(const std::string& name, const char* kind, const Value& from, const Window& window);

    std::int64_t batch_;
    std::string colocate_;
    GraphBuilder builder_;
};

}  // namespace placewright
