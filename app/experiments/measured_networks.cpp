// SPDX-License-Identifier: MIT
#include "app/experiments/measured_networks.hpp"

#include <array>
#include <functional>
#include <map>

#include "app/experiments/measured_layers.hpp"
#include "core/graph/classifiers.hpp"

namespace placewright {

Value NetworkOfLayers::attention(const Value& x, std::int64_t heads, bool fused) {
    const std::int64_t n = x.shape[0], positions = x.shape[1], width = x.shape[2], each_head = width / heads;
    const Value all = of_kind("permute", {linear(x, 3 * width)}, {3, n, heads, positions, each_head});
    const Shape by_head{n, heads, positions, each_head}, scores{n, heads, positions, positions};
    const Value query = of_kind("select", {all}, by_head);
    const Value key = of_kind("select", {all}, by_head);
    const Value value = of_kind("select", {all}, by_head);
    const Value turned = of_kind("transpose", {key}, {n, heads, each_head, positions});
    Value y = of_kind("matmul", {query, turned}, scores);
    if (!fused) y = each("mul", y);
    y = each("softmax", y);
    if (fused) y = each("dropout", y);
    y = of_kind("matmul", {y, value}, by_head);
    y = of_kind("permute", {y}, {n, positions, heads, each_head});
    return linear(of_kind("contiguous", {y}, x.shape), width);
}

namespace {

/// Huang and others, 2016: each layer reads all before it in its block.
Value densenet(NetworkOfLayers& net, const Value& image, std::int64_t growth,
               const std::array<int, 4>& blocks, std::int64_t first) {
    const auto activated = [&](const Value& x) { return net.relu(net.bn(x)); };
    Value x = net.relu(net.conv_bn(image, first, {.kernel = 7, .stride = 2, .padding = 3}));
    x = net.max_pool(x, {.kernel = 3, .stride = 2, .padding = 1});
    for (std::size_t block = 0; block < blocks.size(); ++block) {
        std::vector<Value> features{x};
        for (int layer = 0; layer < blocks[block]; ++layer) {
            const Value before = features.size() > 1 ? net.cat(features) : features.front();
            const Value narrow = net.conv(activated(before), 4 * growth, {.kernel = 1});
            features.push_back(net.conv(activated(narrow), growth, {.kernel = 3, .padding = 1}));
        }
        x = net.cat(features);
        if (block + 1 == blocks.size()) break;
        x = net.conv(activated(x), x.channels() / 2, {.kernel = 1});
        x = net.avg_pool(x, {.kernel = 2, .stride = 2});
    }
    return net.pooled_logits(activated(x));
}

/// Sandler and others, 2018, table 2.
Value mobilenet_v2(NetworkOfLayers& net, const Value& image) {
    struct Stage {
        std::int64_t expansion, channels;
        int blocks;
        std::int64_t stride;
    };
    static constexpr std::array<Stage, 7> kStages{{{1, 16, 1, 1},
                                                   {6, 24, 2, 2},
                                                   {6, 32, 3, 2},
                                                   {6, 64, 4, 2},
                                                   {6, 96, 3, 1},
                                                   {6, 160, 3, 2},
                                                   {6, 320, 1, 1}}};
    const auto bounded = [&](const Value& x) { return net.each("relu6", x); };
    Value x = bounded(net.conv_bn(image, 32, {.kernel = 3, .stride = 2, .padding = 1}));
    for (const Stage& stage : kStages) {
        for (int block = 0; block < stage.blocks; ++block) {
            const Value start = x;
            const std::int64_t inner = start.channels() * stage.expansion;
            const std::int64_t stride = block == 0 ? stage.stride : 1;
            if (stage.expansion > 1) x = bounded(net.conv_bn(x, inner, {.kernel = 1}));
            x = bounded(net.conv_bn(x, inner, {.kernel = 3, .stride = stride, .padding = 1}, inner));
            x = net.conv_bn(x, stage.channels, {.kernel = 1});
            if (stride == 1 && start.channels() == stage.channels) x = net.add(x, start);
        }
    }
    return net.pooled_logits(bounded(net.conv_bn(x, 1280, {.kernel = 1})));
}

/// The image as a sequence of patches.
Value patches(NetworkOfLayers& net, const Value& image, std::int64_t side, std::int64_t width) {
    const Value x = net.conv(image, width, {.kernel = side, .stride = side}, 1, true);
    const std::int64_t count = x.shape[2] * x.shape[3];
    const Value flat = net.of_kind("flatten", {x}, {x.shape[0], width, count});
    return net.of_kind("transpose", {flat}, {x.shape[0], count, width});
}

/// Dosovitskiy and others, 2020.
Value vision_transformer(NetworkOfLayers& net, const Value& image, std::int64_t patch, std::int64_t width,
                         int depth, std::int64_t heads) {
    Value x = patches(net, image, patch, width);
    const std::int64_t n = x.shape[0], positions = x.shape[1] + 1;
    const Value token = net.builder().parameter("class_token", {1, 1, width});
    const Value places = net.builder().parameter("positions", {1, positions, width});
    x = net.cat({net.of_kind("expand", {token}, {n, 1, width}), x});
    x = net.add(x, places);
    for (int layer = 0; layer < depth; ++layer) {
        x = net.add(x, net.attention(net.norm(x), heads, false));
        x = net.add(x, net.mlp(net.norm(x), 4 * width, width));
    }
    return net.linear(net.of_kind("select", {net.norm(x)}, {n, width}), 1000);
}

/// Tolstikhin and others, 2021.
Value mixer(NetworkOfLayers& net, const Value& image, std::int64_t patch, std::int64_t width, int depth,
            std::int64_t token_width, std::int64_t channel_width) {
    Value x = patches(net, image, patch, width);
    const std::int64_t n = x.shape[0], positions = x.shape[1];
    for (int layer = 0; layer < depth; ++layer) {
        const Value turned = net.of_kind("transpose", {net.norm(x)}, {n, width, positions});
        const Value mixed = net.mlp(turned, token_width, positions);
        x = net.add(x, net.of_kind("transpose", {mixed}, x.shape));
        x = net.add(x, net.mlp(net.norm(x), channel_width, width));
    }
    return net.linear(net.of_kind("mean", {net.norm(x)}, {n, width}), 1000);
}

using Logits = std::function<Value(NetworkOfLayers&, const Value&)>;

Logits residual(const ResidualLayers& layers) {
    return [layers](NetworkOfLayers& net, const Value& image) {
        return residual_layers(net.builder(), image, layers);
    };
}

Logits vgg(const VggLayers& layers) {
    return [layers](NetworkOfLayers& net, const Value& image) {
        return vgg_layers(net.builder(), image, layers);
    };
}

Logits dense(std::int64_t growth, const std::array<int, 4>& blocks, std::int64_t first) {
    return
        [=](NetworkOfLayers& net, const Value& image) { return densenet(net, image, growth, blocks, first); };
}

Logits vit(std::int64_t patch, std::int64_t width, int depth, std::int64_t heads) {
    return [=](NetworkOfLayers& net, const Value& image) {
        return vision_transformer(net, image, patch, width, depth, heads);
    };
}

Logits mixed(std::int64_t patch, std::int64_t width, int depth, std::int64_t token_width,
             std::int64_t channel_width) {
    return [=](NetworkOfLayers& net, const Value& image) {
        return mixer(net, image, patch, width, depth, token_width, channel_width);
    };
}

/// By the names of pytorch-image-models.
const std::map<std::string, Logits, std::less<>>& classifiers() {
    static const std::map<std::string, Logits, std::less<>> by_name{
        {"resnet18", residual({.blocks = {2, 2, 2, 2}, .bottleneck = false})},
        {"resnet34", residual({.blocks = {3, 4, 6, 3}, .bottleneck = false})},
        {"resnet26", residual({.blocks = {2, 2, 2, 2}})},
        {"resnet50", residual({.blocks = {3, 4, 6, 3}})},
        {"resnet101", residual({.blocks = {3, 4, 23, 3}})},
        {"resnet152", residual({.blocks = {3, 8, 36, 3}})},
        {"resnet200", residual({.blocks = {3, 24, 36, 3}})},
        {"resnext50_32x4d", residual({.blocks = {3, 4, 6, 3}, .groups = 32, .width = 128})},
        {"resnext101_32x8d", residual({.blocks = {3, 4, 23, 3}, .groups = 32, .width = 256})},
        {"wide_resnet50_2", residual({.blocks = {3, 4, 6, 3}, .width = 128})},
        {"wide_resnet101_2", residual({.blocks = {3, 4, 23, 3}, .width = 128})},
        {"vgg11", vgg({{1, 1, 2, 2, 2}})},
        {"vgg13", vgg({{2, 2, 2, 2, 2}})},
        {"vgg16", vgg({{2, 2, 3, 3, 3}})},
        {"vgg19", vgg({{2, 2, 4, 4, 4}})},
        {"vgg11_bn", vgg({{1, 1, 2, 2, 2}, true})},
        {"vgg13_bn", vgg({{2, 2, 2, 2, 2}, true})},
        {"vgg16_bn", vgg({{2, 2, 3, 3, 3}, true})},
        {"vgg19_bn", vgg({{2, 2, 4, 4, 4}, true})},
        {"densenet121", dense(32, {6, 12, 24, 16}, 64)},
        {"densenet169", dense(32, {6, 12, 32, 32}, 64)},
        {"densenet201", dense(32, {6, 12, 48, 32}, 64)},
        {"densenet161", dense(48, {6, 12, 36, 24}, 96)},
        {"mobilenetv2_100", mobilenet_v2},
        {"vit_tiny_patch16_224", vit(16, 192, 12, 3)},
        {"vit_small_patch16_224", vit(16, 384, 12, 6)},
        {"vit_small_patch32_224", vit(32, 384, 12, 6)},
        {"vit_base_patch16_224", vit(16, 768, 12, 12)},
        {"vit_base_patch32_224", vit(32, 768, 12, 12)},
        {"vit_base_patch16_384", vit(16, 768, 12, 12)},
        {"vit_base_patch8_224", vit(8, 768, 12, 12)},
        {"vit_large_patch16_224", vit(16, 1024, 24, 16)},
        {"vit_large_patch32_224", vit(32, 1024, 24, 16)},
        {"mixer_s32_224", mixed(32, 512, 8, 256, 2048)},
        {"mixer_s16_224", mixed(16, 512, 8, 256, 2048)},
        {"mixer_b16_224", mixed(16, 768, 12, 384, 3072)},
    };
    return by_name;
}

}  // namespace

std::optional<Graph> image_classifier(const std::string& name, std::int64_t batch, std::int64_t image) {
    const auto found = classifiers().find(name);
    if (found == classifiers().end()) return {};
    NetworkOfLayers net(name, batch);
    const Value logits = found->second(net, net.image(image));
    net.builder().cross_entropy("loss", logits);
    return net.build();
}

Graph resnet50_with_squared_error(std::int64_t batch, std::int64_t image) {
    NetworkOfLayers net("resnet50", batch);
    const Value outputs = residual_layers(net.builder(), net.image(image), {.blocks = {3, 4, 6, 3}});
    net.of_kind("mse_loss", {outputs}, {});
    return net.build();
}

}  // namespace placewright
