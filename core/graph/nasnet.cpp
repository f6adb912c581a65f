// SPDX-License-Identifier: MIT
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/graph/cells.hpp"
#include "core/graph/network_builder.hpp"
#include "core/graph/networks.hpp"

namespace placewright {
namespace {

/// The two terms of a block's sum. Braced initialisation creates them from left to right.
struct Parts {
    Value left, right;
};

Value block(NetworkBuilder& net, const std::string& scope, const Parts& parts) {
    return net.add(scope + "add", parts.left, parts.right);
}

/// The inputs of a cell, in the same shape: the output of the previous cell and of the one before it, if any.
struct CellInputs {
    Value current, previous;
};

CellInputs adjust(NetworkBuilder& net, const std::string& scope, const Value& current,
                  const std::optional<Value>& previous, std::int64_t channels) {
    const Value h0 = squeeze(net, scope + "current/", current, channels);
    if (!previous) return {h0, current};
    const bool larger = previous->shape[2] != current.shape[2];
    return {h0, larger ? factorized_reduction(net, scope + "previous/", *previous, channels)
                       : squeeze(net, scope + "previous/", *previous, channels)};
}

Value normal_cell(NetworkBuilder& net, const std::string& scope, const Value& current,
                  const std::optional<Value>& previous, std::int64_t channels) {
    const auto [h0, h1] = adjust(net, scope, current, previous, channels);
    const Window pool{.kernel = 3, .padding = 1};
    std::string at = scope + "block1/";
    const Value b1 = block(
        net, at,
        {separable(net, at + "left/", h0, channels, 5), separable(net, at + "right/", h1, channels, 3)});
    at = scope + "block2/";
    const Value b2 = block(
        net, at,
        {separable(net, at + "left/", h1, channels, 5), separable(net, at + "right/", h1, channels, 3)});
    at = scope + "block3/";
    const Value b3 = block(net, at, {net.avg_pool2d(at + "pool", h0, pool), h1});
    at = scope + "block4/";
    const Value b4 =
        block(net, at, {net.avg_pool2d(at + "left", h1, pool), net.avg_pool2d(at + "right", h1, pool)});
    at = scope + "block5/";
    const Value b5 = block(net, at, {separable(net, at + "left/", h0, channels, 3), h0});
    return net.cat(scope + "cat", std::array{h1, b1, b2, b3, b4, b5});
}

Value reduction_cell(NetworkBuilder& net, const std::string& scope, const Value& current,
                     const std::optional<Value>& previous, std::int64_t channels) {
    const auto [h0, h1] = adjust(net, scope, current, previous, channels);
    const Window pool{.kernel = 3, .padding = 1}, halve{.kernel = 3, .stride = 2, .padding = 1};
    std::string at = scope + "block1/";
    const Value b1 = block(net, at,
                           {separable(net, at + "left/", h0, channels, 5, 2),
                            separable(net, at + "right/", h1, channels, 7, 2)});
    at = scope + "block2/";
    const Value b2 = block(
        net, at, {net.max_pool2d(at + "pool", h0, halve), separable(net, at + "right/", h1, channels, 7, 2)});
    at = scope + "block3/";
    const Value b3 = block(
        net, at, {net.avg_pool2d(at + "pool", h0, halve), separable(net, at + "right/", h1, channels, 5, 2)});
    at = scope + "block4/";
    const Value b4 = block(net, at, {net.avg_pool2d(at + "pool", b1, pool), b2});
    at = scope + "block5/";
    const Value b5 = block(
        net, at, {separable(net, at + "left/", b1, channels, 3), net.max_pool2d(at + "pool", h0, halve)});
    return net.cat(scope + "cat", std::array{b2, b3, b4, b5});
}

}  // namespace

Graph nasnet_a(const std::string& name, std::int64_t batch, std::int64_t image, std::int64_t stem,
               std::int64_t channels, int cells) {
    NetworkBuilder net(name, batch);
    Value x = net.input("input", std::array<std::int64_t, 3>{3, image, image});
    x = net.batch_norm("stem/bn",
                       net.conv2d("stem/conv", x, {.channels = stem, .window = {.kernel = 3, .stride = 2}}));
    std::optional<Value> previous;
    for (const int part : {1, 2}) {
        const Value next = reduction_cell(net, "stem_cell" + std::to_string(part) + '/', x, previous,
                                          part == 1 ? channels / 4 : channels / 2);
        previous = std::exchange(x, next);
    }
    for (int stage = 1; stage <= 3; ++stage, channels *= 2) {
        if (stage > 1) {
            // The next cell has the same second input as this one, so that a path skips the reduction.
            x = reduction_cell(net, "reduction" + std::to_string(stage - 1) + '/', x, previous, channels);
        }
        for (int cell = 1; cell <= cells; ++cell) {
            const std::string scope = "cell" + std::to_string(stage) + '_' + std::to_string(cell) + '/';
            const Value next = normal_cell(net, scope, x, previous, channels);
            previous = std::exchange(x, next);
        }
    }
    x = net.relu("relu", x);
    x = net.adaptive_avg_pool2d("avgpool", x, 1);
    x = net.flatten("flatten", x);
    x = net.linear("fc", net.dropout("dropout", x), 1000);
    net.cross_entropy("loss", x);
    return net.build();
}

Graph nasnet(std::int64_t batch) {
    return nasnet_a("nasnet", batch, 331, 96, 168, 6);
}

Graph nasnet_mobile(std::int64_t batch) {
    return nasnet_a("nasnet_mobile", batch, 224, 32, 44, 4);
}

}  // namespace placewright
