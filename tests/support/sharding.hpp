// SPDX-License-Identifier: MIT
// Graphs written op by op for tests of ops that are split, and what their ops read.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <QString>
#include <QStringList>

#include "core/graph/graph.hpp"
#include "core/graph/network_builder.hpp"
#include "core/graph/sharding.hpp"

namespace placewright::test {

using Shape = std::vector<std::int64_t>;
using Requests = std::vector<ShardRequest>;

inline Op make_op(const std::string& name, const std::string& kind, Shape shape) {
    Op op;
    op.name = name;
    op.kind = kind;
    op.outputs = {make_tensor(std::move(shape))};
    return op;
}

/// An op with its inputs; the other fields have defaults.
struct Layer {
    Op op;
    std::vector<std::string> inputs = {};
};

inline Graph make_graph(const std::vector<Layer>& layers, Training training = Training::implicit) {
    GraphBuilder builder("hand", 2, training);
    for (const Layer& layer : layers) builder.add(layer.op, layer.inputs);
    return builder.build();
}

inline const Op& find(const Graph& graph, std::string_view name) {
    const auto id = graph.find(name);
    if (!id) qFatal("there is no op %s", std::string(name).c_str());
    return graph.op(*id);
}

inline QString inputs_of(const Graph& graph, const std::string& name) {
    QStringList names;
    for (const TensorRef& input : find(graph, name).inputs) {
        names << QString::fromStdString(graph.op(input.op).name) +
                     (input.output > 0 ? ':' + QString::number(input.output) : QString());
    }
    return names.join(' ');
}

inline Shape shape_of(const Graph& graph, const std::string& name) {
    return *find(graph, name).outputs.front().shape;
}

inline bool close(double a, double b) {
    return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b));
}

/// Image of 4 channels -> 3x3 convolution of 7 channels -> relu, and a parallel max_pool2d.
inline Graph small_network() {
    NetworkBuilder net("small", 2);
    const Value image = net.input("image", std::array<std::int64_t, 3>{4, 8, 8});
    const Value conv = net.conv2d("block/conv", image, {.channels = 7, .window = {3, 1, 1}, .bias = true});
    net.relu("relu", conv);
    net.max_pool2d("pool", conv, {2, 2});
    return net.build();
}

/// A possible input of a split op "x": a value that needs a gradient, or parameters.
struct Source {
    Shape shape;
    bool parameters = false;
};

inline Source weights(Shape shape) {
    return {std::move(shape), true};
}

}  // namespace placewright::test
