// SPDX-License-Identifier: MIT
// Ops with names that count up, and the ops that several networks of the measurements share.
#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "app/experiments/measured_networks.hpp"

namespace placewright {

class NetworkOfLayers {
public:
    NetworkOfLayers(std::string name, std::int64_t batch) : net_(std::move(name), batch) {}

    NetworkBuilder& builder() { return net_; }

    Value image(std::int64_t side) { return net_.input("input", std::array<std::int64_t, 3>{3, side, side}); }
    Value conv(const Value& x, std::int64_t channels, const Window& window, std::int64_t groups = 1,
               bool bias = false) {
        return net_.conv2d(name("conv"), x,
                           {.channels = channels, .window = window, .bias = bias, .groups = groups});
    }
    Value bn(const Value& x) { return net_.batch_norm(name("bn"), x); }
    Value relu(const Value& x) { return net_.relu(name("relu"), x); }
    Value conv_bn(const Value& x, std::int64_t channels, const Window& window, std::int64_t groups = 1) {
        return bn(conv(x, channels, window, groups));
    }
    Value max_pool(const Value& x, const Window& window) { return net_.max_pool2d(name("pool"), x, window); }
    Value avg_pool(const Value& x, const Window& window) { return net_.avg_pool2d(name("pool"), x, window); }
    Value cat(std::initializer_list<Value> parts) { return net_.cat(name("cat"), std::span(parts)); }
    Value cat(const std::vector<Value>& parts) { return net_.cat(name("cat"), parts); }
    Value add(const Value& a, const Value& b) { return net_.add(name("add"), a, b); }
    Value norm(const Value& x) { return net_.layer_norm(name("norm"), x); }
    Value linear(const Value& x, std::int64_t features, bool bias = true) {
        return net_.linear(name("linear"), x, features, bias);
    }
    Value gelu(const Value& x) { return net_.gelu(name("gelu"), x); }
    Value flatten(const Value& x) { return net_.flatten(name("flatten"), x); }
    /// An op that keeps the shape.
    Value each(const char* kind, const Value& x) { return of_kind(kind, {x}, x.shape); }
    Value of_kind(const char* kind, std::initializer_list<Value> from, Shape shape) {
        return net_.op(name(kind), kind, std::span(from), std::move(shape));
    }
    Value pooled_logits(const Value& x) {
        return linear(flatten(net_.adaptive_avg_pool2d(name("pool"), x, 1)), 1000);
    }
    /// Two linear maps with a GELU between them.
    Value mlp(const Value& x, std::int64_t inner, std::int64_t outer) {
        return linear(gelu(linear(x, inner)), outer);
    }
    /// Attention of each position to all, as separate ops. `fused`: scale, mask and softmax are one kernel,
    /// and a dropout follows.
    Value attention(const Value& x, std::int64_t heads, bool fused);

    /// Ends the layer whose last op made `x`; the same value again ends a layer without ops.
    Value end_layer(const Value& x) {
        ends_.push_back(x.op);
        return x;
    }

    Graph build() { return net_.build(); }
    LayeredNetwork build_layers() { return {net_.build(), std::move(ends_)}; }

private:
    std::string name(const char* kind) { return kind + std::to_string(count_++); }

    NetworkBuilder net_;
    std::size_t count_ = 0;
    std::vector<OpId> ends_;
};

}  // namespace placewright
