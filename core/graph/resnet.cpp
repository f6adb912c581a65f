// SPDX-License-Identifier: MIT
#include <array>
#include <cstdint>
#include <string>

#include "core/graph/classifiers.hpp"
#include "core/graph/networks.hpp"

namespace placewright {
namespace {

Value conv_bn(NetworkBuilder& net, const std::string& scope, const std::string& number, const Value& from,
              std::int64_t channels, const Window& window, std::int64_t groups = 1) {
    const Value x =
        net.conv2d(scope + "conv" + number, from, {.channels = channels, .window = window, .groups = groups});
    return net.batch_norm(scope + "bn" + number, x);
}

/// `x` plus the shortcut from the block's input, which is a projection if the shape changes.
Value with_shortcut(NetworkBuilder& net, const std::string& scope, const Value& x, const Value& from,
                    std::int64_t stride) {
    const std::int64_t channels = x.channels();
    const bool project = stride != 1 || from.channels() != channels;
    const Value shortcut =
        project ? conv_bn(net, scope + "downsample/", "", from, channels, {.kernel = 1, .stride = stride})
                : from;
    return net.add(scope + "add", x, shortcut);
}

/// 1x1, 3x3 and 1x1 convolutions beside a shortcut.
Value bottleneck(NetworkBuilder& net, const std::string& scope, const Value& from, std::int64_t width,
                 std::int64_t channels, std::int64_t groups, std::int64_t stride) {
    Value x = conv_bn(net, scope, "1", from, width, {.kernel = 1});
    x = net.relu(scope + "relu1", x);
    x = conv_bn(net, scope, "2", x, width, {.kernel = 3, .stride = stride, .padding = 1}, groups);
    x = net.relu(scope + "relu2", x);
    x = conv_bn(net, scope, "3", x, channels, {.kernel = 1});
    return net.relu(scope + "relu3", with_shortcut(net, scope, x, from, stride));
}

/// Two 3x3 convolutions beside a shortcut.
Value basic_block(NetworkBuilder& net, const std::string& scope, const Value& from, std::int64_t channels,
                  std::int64_t stride) {
    Value x = conv_bn(net, scope, "1", from, channels, {.kernel = 3, .stride = stride, .padding = 1});
    x = net.relu(scope + "relu1", x);
    x = conv_bn(net, scope, "2", x, channels, {.kernel = 3, .padding = 1});
    return net.relu(scope + "relu2", with_shortcut(net, scope, x, from, stride));
}

Graph resnet(const std::string& name, std::int64_t batch, const std::array<int, 4>& blocks) {
    NetworkBuilder net(name, batch);
    const Value image = net.input("input", std::array<std::int64_t, 3>{3, 224, 224});
    net.cross_entropy("loss", residual_layers(net, image, {.blocks = blocks}));
    return net.build();
}

}  // namespace

Value residual_layers(NetworkBuilder& net, const Value& image, const ResidualLayers& layers) {
    Value x = conv_bn(net, "", "1", image, 64, {.kernel = 7, .stride = 2, .padding = 3});
    x = net.relu("relu", x);
    x = net.max_pool2d("maxpool", x, {.kernel = 3, .stride = 2, .padding = 1});
    for (std::size_t stage = 0; stage < layers.blocks.size(); ++stage) {
        const std::int64_t times = std::int64_t{1} << stage;
        for (int block = 0; block < layers.blocks[stage]; ++block) {
            const std::string scope = "layer" + std::to_string(stage + 1) + '/' + std::to_string(block) + '/';
            const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
            x = layers.bottleneck
                    ? bottleneck(net, scope, x, layers.width * times, 256 * times, layers.groups, stride)
                    : basic_block(net, scope, x, 64 * times, stride);
        }
    }
    x = net.adaptive_avg_pool2d("avgpool", x, 1);
    x = net.flatten("flatten", x);
    return net.linear("fc", x, 1000);
}

Graph resnet50(std::int64_t batch) {
    return resnet("resnet50", batch, {3, 4, 6, 3});
}

Graph resnet101(std::int64_t batch) {
    return resnet("resnet101", batch, {3, 4, 23, 3});
}

Graph resnet152(std::int64_t batch) {
    return resnet("resnet152", batch, {3, 8, 36, 3});
}

Graph resnet200(std::int64_t batch) {
    return resnet("resnet200", batch, {3, 24, 36, 3});
}

}  // namespace placewright
