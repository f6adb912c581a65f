// SPDX-License-Identifier: MIT
#include "core/graph/network_builder.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "core/base/text.hpp"
#include "core/graph/flops.hpp"

namespace placewright {
namespace {

constexpr std::int64_t kParameterBytes = 4;

Op make_op(const std::string& name, const char* kind) {
    Op op;
    op.name = name;
    op.kind = kind;
    if (const std::size_t slash = name.rfind('/'); slash != std::string::npos)
        op.scope = name.substr(0, slash);
    return op;
}

void require(bool good, const std::string& name, const std::string& problem) {
    if (!good) throw std::invalid_argument("op " + in_quotes(name) + ": " + problem);
}

std::string json(Extent extent) {
    return '[' + std::to_string(extent.height) + ',' + std::to_string(extent.width) + ']';
}

void describe(Op& op, const Window& window) {
    op.attributes["kernel"] = json(window.kernel);
    op.attributes["stride"] = json(window.stride);
    op.attributes["padding"] = json(window.padding);
}

/// Shape of the output of a window that moves over an image, with `channels` channels.
std::vector<std::int64_t> slide(const std::string& name, const Value& from, const Window& window,
                                std::int64_t channels) {
    require(from.shape.size() == 4, name, "expected an image of batch, channels, height and width");
    const std::int64_t rows = from.shape[2] + 2 * window.padding.height - window.kernel.height;
    const std::int64_t columns = from.shape[3] + 2 * window.padding.width - window.kernel.width;
    require(rows >= 0 && columns >= 0, name, "the kernel is larger than the image");
    return {from.shape[0], channels, rows / window.stride.height + 1, columns / window.stride.width + 1};
}

/// Shape of rows or of a sequence after a linear layer.
std::vector<std::int64_t> mapped(const std::string& name, const Value& from, std::int64_t features) {
    require(from.shape.size() == 2 || from.shape.size() == 3, name,
            "expected an input of batch and features, or batch, positions and features");
    std::vector<std::int64_t> shape = from.shape;
    shape.back() = features;
    return shape;
}

}  // namespace

NetworkBuilder::NetworkBuilder(std::string name, std::int64_t batch)
    : batch_(batch), builder_(std::move(name), batch, Training::implicit) {
    if (batch < 1) throw std::invalid_argument("batch is " + std::to_string(batch) + ", expected at least 1");
}

Value NetworkBuilder::append(Op op, Shape shape, std::span<const Value> inputs, const Counted& counted) {
    for (const Value& input : inputs) op.inputs.push_back({input.op, input.output});
    if (op.outputs.empty()) op.outputs = {make_tensor(shape)};
    std::vector<Shape> operands = counted.operands;
    if (operands.empty()) std::ranges::transform(inputs, std::back_inserter(operands), &Value::shape);
    operands.insert(operands.end(), counted.weights.begin(), counted.weights.end());
    const auto flops = forward_flops({op.kind, operands, std::span(&shape, 1), counted.window});
    require(flops.has_value(), op.name, "no FLOPs are known of " + in_quotes(op.kind) + " of these shapes");
    op.flops = *flops;
    op.colocate = colocate_;
    const auto id = static_cast<OpId>(builder_.size());
    builder_.add(std::move(op));
    return {id, std::move(shape)};
}

Value NetworkBuilder::elementwise(const std::string& name, const char* kind, const Value& from) {
    return append(make_op(name, kind), from.shape, {&from, 1});
}

Value NetworkBuilder::pool(const std::string& name, const char* kind, const Value& from,
                           const Window& window) {
    Op op = make_op(name, kind);
    std::vector<std::int64_t> shape = slide(name, from, window, from.channels());
    describe(op, window);
    return append(std::move(op), std::move(shape), {&from, 1},
                  {.window = window.kernel.height * window.kernel.width});
}

Value NetworkBuilder::input(const std::string& name, std::span<const std::int64_t> shape) {
    std::vector<std::int64_t> batched{batch_};
    batched.insert(batched.end(), shape.begin(), shape.end());
    return append(make_op(name, "input"), std::move(batched), {});
}

Value NetworkBuilder::conv2d(const std::string& name, const Value& from, const Convolution& convolution) {
    Op op = make_op(name, "conv2d");
    const auto& [channels, window, bias, groups] = convolution;
    std::vector<std::int64_t> shape = slide(name, from, window, channels);
    require(from.channels() % groups == 0 && channels % groups == 0, name,
            "the channels do not divide into the groups");
    const std::int64_t weights_per_channel =
        from.channels() / groups * window.kernel.height * window.kernel.width;
    op.parameter_bytes = kParameterBytes * channels * (weights_per_channel + (bias ? 1 : 0));
    describe(op, window);
    if (groups != 1) op.attributes["groups"] = std::to_string(groups);
    return append(std::move(op), std::move(shape), {&from, 1},
                  {.weights = {{channels, weights_per_channel}}});
}

Value NetworkBuilder::batch_norm(const std::string& name, const Value& from) {
    Op op = make_op(name, "batch_norm");
    op.parameter_bytes = kParameterBytes * 2 * from.channels();
    return append(std::move(op), from.shape, {&from, 1});
}

Value NetworkBuilder::relu(const std::string& name, const Value& from) {
    return elementwise(name, "relu", from);
}

Value NetworkBuilder::dropout(const std::string& name, const Value& from) {
    return elementwise(name, "dropout", from);
}

Value NetworkBuilder::max_pool2d(const std::string& name, const Value& from, const Window& window) {
    return pool(name, "max_pool2d", from, window);
}

Value NetworkBuilder::avg_pool2d(const std::string& name, const Value& from, const Window& window) {
    return pool(name, "avg_pool2d", from, window);
}

Value NetworkBuilder::adaptive_avg_pool2d(const std::string& name, const Value& from, Extent size) {
    require(from.shape.size() == 4, name, "expected an image of batch, channels, height and width");
    Op op = make_op(name, "adaptive_avg_pool2d");
    op.attributes["output_size"] = json(size);
    return append(std::move(op), {from.shape[0], from.shape[1], size.height, size.width}, {&from, 1});
}

Value NetworkBuilder::add(const std::string& name, const Value& a, const Value& b) {
    return combined(name, "add", a, b);
}

Value NetworkBuilder::sub(const std::string& name, const Value& a, const Value& b) {
    return combined(name, "sub", a, b);
}

Value NetworkBuilder::mul(const std::string& name, const Value& a, const Value& b) {
    return combined(name, "mul", a, b);
}

Value NetworkBuilder::combined(const std::string& name, const char* kind, const Value& a, const Value& b) {
    const auto fits = [](std::int64_t extent, std::int64_t whole) { return extent == whole || extent == 1; };
    require(b.shape.size() <= a.shape.size() &&
                std::equal(b.shape.rbegin(), b.shape.rend(), a.shape.rbegin(), fits),
            name, "expected two inputs of the same shape");
    const std::vector<Value> inputs{a, b};
    return append(make_op(name, kind), a.shape, inputs);
}

Value NetworkBuilder::shift(const std::string& name, const Value& from) {
    return elementwise(name, "pad", from);
}

Value NetworkBuilder::cat(const std::string& name, std::span<const Value> parts) {
    require(!parts.empty(), name, "expected at least one input");
    std::vector<std::int64_t> shape = parts.front().shape;
    shape[1] = 0;
    for (const Value& part : parts) {
        shape[1] += part.channels();
        std::vector<std::int64_t> rest = part.shape;
        rest[1] = shape[1];
        require(rest == shape, name, "expected inputs that differ in their channels alone");
    }
    return append(make_op(name, "cat"), std::move(shape), parts);
}

Value NetworkBuilder::flatten(const std::string& name, const Value& from) {
    const auto features =
        std::accumulate(from.shape.begin() + 1, from.shape.end(), std::int64_t{1}, std::multiplies<>());
    return append(make_op(name, "flatten"), {from.shape[0], features}, {&from, 1});
}

Value NetworkBuilder::linear(const std::string& name, const Value& from, std::int64_t features, bool bias) {
    Op op = make_op(name, "linear");
    std::vector<std::int64_t> shape = mapped(name, from, features);
    op.parameter_bytes = kParameterBytes * features * (from.shape.back() + (bias ? 1 : 0));
    return append(std::move(op), std::move(shape), {&from, 1});
}

Value NetworkBuilder::linear(const std::string& name, const Value& from, const Value& weights) {
    require(weights.shape.size() == 2 && weights.shape[1] == from.shape.back(), name,
            "the weights do not fit the input");
    return append(make_op(name, "linear"), mapped(name, from, weights.shape[0]), std::array{from, weights});
}

Value NetworkBuilder::tokens(const std::string& name, std::int64_t positions) {
    Op op = make_op(name, "input");
    op.outputs = {make_tensor({batch_, positions}, DType::int64)};
    return append(std::move(op), {batch_, positions}, {});
}

Value NetworkBuilder::parameter(const std::string& name, std::vector<std::int64_t> shape) {
    Op op = make_op(name, "parameter");
    op.outputs = {make_tensor(shape)};
    op.parameter_bytes = op.outputs[0].bytes;
    return append(std::move(op), std::move(shape), {});
}

Value NetworkBuilder::embedding(const std::string& name, const Value& tokens, std::int64_t vocabulary,
                                std::int64_t features) {
    Op op = make_op(name, "embedding");
    op.parameter_bytes = kParameterBytes * vocabulary * features;
    return append(std::move(op), {tokens.shape[0], tokens.shape[1], features}, {&tokens, 1});
}

Value NetworkBuilder::embedding(const std::string& name, const Value& tokens, const Value& table) {
    return append(make_op(name, "embedding"), {tokens.shape[0], tokens.shape[1], table.shape[1]},
                  std::array{tokens, table});
}

Value NetworkBuilder::lstm_weights(const std::string& name, std::int64_t inputs, std::int64_t hidden) {
    return parameter(name, {4 * hidden, inputs + hidden + 1});
}

LstmState NetworkBuilder::lstm_cell(const std::string& name, std::span<const Value> from,
                                    const LstmState* state, const Value& weights) {
    const std::int64_t hidden = weights.shape[0] / 4;
    std::int64_t features = 0;
    std::vector<Value> inputs(from.begin(), from.end());
    for (const Value& input : from) features += input.shape.back();
    require(features + hidden + 1 == weights.shape[1] || (!state && features + hidden + 1 < weights.shape[1]),
            name, "the weights do not fit the input");
    if (state) inputs.insert(inputs.end(), {state->hidden, state->cell});
    inputs.push_back(weights);
    Op op = make_op(name, "lstm_cell");
    op.outputs = {make_tensor({batch_, hidden}), make_tensor({batch_, hidden}),
                  make_tensor({batch_, 4 * hidden})};
    const Counted counted{.operands = {{batch_, features}},
                          .weights = {{4 * hidden, weights.shape[1] - 1 - hidden}, {4 * hidden, hidden}}};
    const Value output = append(std::move(op), {batch_, hidden}, inputs, counted);
    return {output, {output.op, output.shape, 1}};
}

Value NetworkBuilder::layer_norm(const std::string& name, const Value& from) {
    Op op = make_op(name, "layer_norm");
    op.parameter_bytes = kParameterBytes * 2 * from.shape.back();
    return append(std::move(op), from.shape, {&from, 1});
}

Value NetworkBuilder::gelu(const std::string& name, const Value& from) {
    return elementwise(name, "gelu", from);
}

Value NetworkBuilder::tanh(const std::string& name, const Value& from) {
    return elementwise(name, "tanh", from);
}

Value NetworkBuilder::sigmoid(const std::string& name, const Value& from) {
    return elementwise(name, "sigmoid", from);
}

Value NetworkBuilder::div(const std::string& name, const Value& from) {
    return elementwise(name, "div", from);
}

std::array<Value, 2> NetworkBuilder::halves(const std::string& name, const Value& from) {
    require(from.shape.size() == 2 && from.shape[1] % 2 == 0, name,
            "expected rows with an even number of features");
    const std::vector<std::int64_t> shape{from.shape[0], from.shape[1] / 2};
    Op op = make_op(name, "chunk");
    op.outputs.assign(2, make_tensor(shape));
    const Value first = append(std::move(op), shape, {&from, 1});
    return {first, {first.op, first.shape, 1}};
}

Value NetworkBuilder::softmax(const std::string& name, const Value& from) {
    return elementwise(name, "softmax", from);
}

Value NetworkBuilder::bmm(const std::string& name, const Value& a, const Value& b) {
    require(
        a.shape.size() == 3 && b.shape.size() == 3 && a.shape[0] == b.shape[0] && a.shape[2] == b.shape[1],
        name, "expected matrices that can be multiplied");
    return append(make_op(name, "bmm"), {a.shape[0], a.shape[1], b.shape[2]}, std::array{a, b});
}

Value NetworkBuilder::attention(const std::string& name, const Value& query, const Value& key,
                                const Value& value, std::int64_t heads) {
    require(query.shape.size() == 3 && key.shape == value.shape && query.shape[2] == key.shape[2], name,
            "queries, keys and values do not fit");
    require(query.shape[2] % heads == 0, name, "the features do not divide into the heads");
    Op op = make_op(name, "scaled_dot_product_attention");
    op.attributes["heads"] = std::to_string(heads);
    const auto by_head = [&](const Value& from) {
        return Shape{from.shape[0], heads, from.shape[1], from.shape[2] / heads};
    };
    return append(std::move(op), query.shape, std::array{query, key, value},
                  {.operands = {by_head(query), by_head(key), by_head(value)}});
}

std::vector<Value> NetworkBuilder::unbind(const std::string& name, const Value& from) {
    require(from.shape.size() == 3, name, "expected a sequence of batch, positions and features");
    const std::vector<std::int64_t> shape{from.shape[0], from.shape[2]};
    Op op = make_op(name, "unbind");
    op.outputs.assign(static_cast<std::size_t>(from.shape[1]), make_tensor(shape));
    std::vector<Value> steps(static_cast<std::size_t>(from.shape[1]),
                             append(std::move(op), shape, {&from, 1}));
    for (std::uint32_t step = 0; step < steps.size(); ++step) steps[step].output = step;
    return steps;
}

Value NetworkBuilder::stack(const std::string& name, std::span<const Value> steps) {
    require(
        !steps.empty() &&
            std::ranges::all_of(steps, [&](const Value& step) { return step.shape == steps.front().shape; }),
        name, "expected steps of the same shape");
    const Value& first = steps.front();
    return append(make_op(name, "stack"),
                  {first.shape[0], static_cast<std::int64_t>(steps.size()), first.shape[1]}, steps);
}

Value NetworkBuilder::select(const std::string& name, const Value& from) {
    require(from.shape.size() == 3, name, "expected a sequence of batch, positions and features");
    return append(make_op(name, "select"), {from.shape[0], from.shape[2]}, {&from, 1});
}

Value NetworkBuilder::reshape(const std::string& name, const Value& from, std::vector<std::int64_t> shape) {
    require(elements(shape) == elements(from.shape), name,
            "expected a shape with the same number of elements");
    return append(make_op(name, "reshape"), std::move(shape), {&from, 1});
}

Value NetworkBuilder::op(const std::string& name, const char* kind, std::span<const Value> from,
                         Shape shape) {
    return append(make_op(name, kind), std::move(shape), from);
}

Value NetworkBuilder::cross_entropy(const std::string& name, const Value& logits) {
    Op op = make_op(name, "cross_entropy");
    op.flops = 4.0 * elements(logits.shape);
    return append(std::move(op), {}, {&logits, 1});
}

}  // namespace placewright
