// SPDX-License-Identifier: MIT
// What the generators of convolutional networks share: layers with their exact shapes, parameters and FLOPs.
// Tensors are float32 in the order batch, channels, height, width. Parameters are float32 too.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

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

/// The output of an op that was added.
struct Value {
    OpId op = kInvalidOp;
    std::vector<std::int64_t> shape;

    std::int64_t channels() const { return shape[1]; }
};

/// Adds one op a call. An op's scope is its name up to the last '/'.
///
/// FLOPs: convolutions and linear layers count two per multiply-add and nothing for the bias; batch_norm four an element (subtract the
/// mean, divide by the deviation, scale, shift); relu, dropout and add one an element; pools one for each element in each window;
/// cross_entropy four a logit (largest, subtract, exponential, sum); cat and flatten none.
///
/// Throws std::invalid_argument where shapes do not fit, GraphError for a repeated name.
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
    Value add(const std::string& name, const Value& a, const Value& b);
    /// Joined along the channels.
    Value cat(const std::string& name, std::span<const Value> parts);
    Value flatten(const std::string& name, const Value& from);
    /// With bias.
    Value linear(const std::string& name, const Value& from, std::int64_t features);
    /// The mean loss over the batch, a scalar; labels are not modelled.
    Value cross_entropy(const std::string& name, const Value& logits);

    Graph build() { return builder_.build(); }

private:
    Value append(Op op, std::vector<std::int64_t> shape, std::span<const Value> inputs);
    Value elementwise(const std::string& name, const char* kind, const Value& from, double flops_per_element);
    Value pool(const std::string& name, const char* kind, const Value& from, const Window& window);

    std::int64_t batch_;
    GraphBuilder builder_;
};

}  // namespace placewright
