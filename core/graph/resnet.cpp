// SPDX-License-Identifier: MIT
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "core/graph/network_builder.hpp"
#include "core/graph/networks.hpp"

namespace placewright {
namespace {

Value conv_bn(NetworkBuilder& net, const std::string& scope, const std::string& number, const Value& from,
              std::int64_t channels, const Window& window) {
    const Value x = net.conv2d(scope + "conv" + number, from, {.channels = channels, .window = window});
    return net.batch_norm(scope + "bn" + number, x);
}

/// 1x1, 3x3 and 1x1 convolutions beside a shortcut, which is a projection if the shape changes.
Value bottleneck(NetworkBuilder& net, const std::string& scope, const Value& from, std::int64_t width,
                 std::int64_t stride) {
    const std::int64_t channels = 4 * width;
    Value x = conv_bn(net, scope, "1", from, width, {.kernel = 1});
    x = net.relu(scope + "relu1", x);
    x = conv_bn(net, scope, "2", x, width, {.kernel = 3, .stride = stride, .padding = 1});
    x = net.relu(scope + "relu2", x);
    x = conv_bn(net, scope, "3", x, channels, {.kernel = 1});
    const bool project = stride != 1 || from.channels() != channels;
    const Value shortcut =
        project ? conv_bn(net, scope + "downsample/", "", from, channels, {.kernel = 1, .stride = stride})
                : from;
    x = net.add(scope + "add", x, shortcut);
    return net.relu(scope + "relu3", x);
}

Graph resnet(const std::string& name, std::int64_t batch, std::span<const int> blocks) {
    NetworkBuilder net(name, batch);
    Value x = net.input("input", std::array<std::int64_t, 3>{3, 224, 224});
    x = conv_bn(net, "", "1", x, 64, {.kernel = 7, .stride = 2, .padding = 3});
    x = net.relu("relu", x);
    x = net.max_pool2d("maxpool", x, {.kernel = 3, .stride = 2, .padding = 1});
    std::int64_t width = 64;
    for (std::size_t layer = 0; layer < blocks.size(); ++layer, width *= 2) {
        for (int block = 0; block < blocks[layer]; ++block) {
            const std::string scope = "layer" + std::to_string(layer + 1) + '/' + std::to_string(block) + '/';
            x = bottleneck(net, scope, x, width, layer > 0 && block == 0 ? 2 : 1);
        }
    }
    x = net.adaptive_avg_pool2d("avgpool", x, 1);
    x = net.flatten("flatten", x);
    x = net.linear("fc", x, 1000);
    net.cross_entropy("loss", x);
    return net.build();
}

}  // namespace

Graph resnet50(std::int64_t batch) {
    return resnet("resnet50", batch, std::array{3, 4, 6, 3});
}

Graph resnet101(std::int64_t batch) {
    return resnet("resnet101", batch, std::array{3, 4, 23, 3});
}

Graph resnet152(std::int64_t batch) {
    return resnet("resnet152", batch, std::array{3, 8, 36, 3});
}

Graph resnet200(std::int64_t batch) {
    return resnet("resnet200", batch, std::array{3, 24, 36, 3});
}

}  // namespace placewright
