// SPDX-License-Identifier: MIT
#include "core/graph/network_builder.hpp"

#include <functional>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "core/base/text.hpp"

namespace placewright {
namespace {

constexpr std::int64_t kParameterBytes = 4;

Op make_op(const std::string& name, const char* kind) {
    Op op;
    op.name = name;
    op.kind = kind;
    if (const std::size_t slash = name.rfind('/'); slash != std::string::npos) op.scope = name.substr(0, slash);
    return op;
}

void require(bool good, const std::string& name, const std::string& problem) {
    if (!good) throw std::invalid_argument("op " + quoted(name) + ": " + problem);
}

double elements(std::span<const std::int64_t> shape) {
    return static_cast<double>(std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
}

std::string json(Extent extent) {
    return '[' + std::to_string(extent.height) + ',' + std::to_string(extent.width) + ']';
}

void describe(Op& op, const Window& window) {
    op.attributes["kernel"] = json(window.kernel);
    op.attributes["stride"] = json(window.stride);
    op.attributes["padding"] = json(window.padding);
}

/// Shape of an image after a window went over it, with `channels` channels.
std::vector<std::int64_t> slide(const std::string& name, const Value& from, const Window& window, std::int64_t channels) {
    require(from.shape.size() == 4, name, "expected an image of batch, channels, height and width");
    const std::int64_t rows = from.shape[2] + 2 * window.padding.height - window.kernel.height;
    const std::int64_t columns = from.shape[3] + 2 * window.padding.width - window.kernel.width;
    require(rows >= 0 && columns >= 0, name, "the kernel is larger than the image");
    return {from.shape[0], channels, rows / window.stride.height + 1, columns / window.stride.width + 1};
}

}  // namespace

NetworkBuilder::NetworkBuilder(std::string name, std::int64_t batch) : batch_(batch), builder_(std::move(name), batch, Training::implicit) {
    if (batch < 1) throw std::invalid_argument("batch is " + std::to_string(batch) + ", expected at least 1");
}

Value NetworkBuilder::append(Op op, std::vector<std::int64_t> shape, std::span<const Value> inputs) {
    for (const Value& input : inputs) op.inputs.push_back({input.op, 0});
    op.outputs = {make_tensor(shape)};
    const auto id = static_cast<OpId>(builder_.size());
    builder_.add(std::move(op));
    return {id, std::move(shape)};
}

Value NetworkBuilder::elementwise(const std::string& name, const char* kind, const Value& from, double flops_per_element) {
    Op op = make_op(name, kind);
    op.flops = flops_per_element * elements(from.shape);
    return append(std::move(op), from.shape, {&from, 1});
}

Value NetworkBuilder::pool(const std::string& name, const char* kind, const Value& from, const Window& window) {
    Op op = make_op(name, kind);
    std::vector<std::int64_t> shape = slide(name, from, window, from.channels());
    op.flops = elements(shape) * static_cast<double>(window.kernel.height * window.kernel.width);
    describe(op, window);
    return append(std::move(op), std::move(shape), {&from, 1});
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
    require(from.channels() % groups == 0 && channels % groups == 0, name, "the channels do not divide into the groups");
    const std::int64_t weights_per_channel = from.channels() / groups * window.kernel.height * window.kernel.width;
    op.flops = 2.0 * elements(shape) * static_cast<double>(weights_per_channel);
    op.parameter_bytes = kParameterBytes * channels * (weights_per_channel + (bias ? 1 : 0));
    describe(op, window);
    if (groups != 1) op.attributes["groups"] = std::to_string(groups);
    return append(std::move(op), std::move(shape), {&from, 1});
}

Value NetworkBuilder::batch_norm(const std::string& name, const Value& from) {
    Op op = make_op(name, "batch_norm");
    op.flops = 4.0 * elements(from.shape);
    op.parameter_bytes = kParameterBytes * 2 * from.channels();
    return append(std::move(op), from.shape, {&from, 1});
}

Value NetworkBuilder::relu(const std::string& name, const Value& from) {
    return elementwise(name, "relu", from, 1);
}

Value NetworkBuilder::dropout(const std::string& name, const Value& from) {
    return elementwise(name, "dropout", from, 1);
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
    op.flops = elements(from.shape);
    op.attributes["output_size"] = json(size);
    return append(std::move(op), {from.shape[0], from.shape[1], size.height, size.width}, {&from, 1});
}

Value NetworkBuilder::add(const std::string& name, const Value& a, const Value& b) {
    require(a.shape == b.shape, name, "expected two inputs of the same shape");
    Op op = make_op(name, "add");
    op.flops = elements(a.shape);
    const std::vector<Value> inputs{a, b};
    return append(std::move(op), a.shape, inputs);
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
    const auto features = std::accumulate(from.shape.begin() + 1, from.shape.end(), std::int64_t{1}, std::multiplies<>());
    return append(make_op(name, "flatten"), {from.shape[0], features}, {&from, 1});
}

Value NetworkBuilder::linear(const std::string& name, const Value& from, std::int64_t features) {
    require(from.shape.size() == 2, name, "expected an input of batch and features");
    Op op = make_op(name, "linear");
    op.flops = 2.0 * elements(from.shape) * static_cast<double>(features);
    op.parameter_bytes = kParameterBytes * features * (from.shape[1] + 1);
    return append(std::move(op), {from.shape[0], features}, {&from, 1});
}

Value NetworkBuilder::cross_entropy(const std::string& name, const Value& logits) {
    Op op = make_op(name, "cross_entropy");
    op.flops = 4.0 * elements(logits.shape);
    return append(std::move(op), {}, {&logits, 1});
}

}  // namespace placewright
