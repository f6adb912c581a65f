// SPDX-License-Identifier: MIT
#include <array>
#include <cstdint>
#include <string>

#include "core/graph/classifiers.hpp"
#include "core/graph/networks.hpp"

namespace placewright {

Value vgg_layers(NetworkBuilder& net, const Value& image, const VggLayers& layers) {
    static constexpr std::array<std::int64_t, 5> kChannels{64, 128, 256, 512, 512};
    Value x = image;
    for (std::size_t stage = 0; stage < kChannels.size(); ++stage) {
        const std::string scope = "stage" + std::to_string(stage + 1) + '/';
        for (int i = 1; i <= layers.convolutions[stage]; ++i) {
            x = net.conv2d(
                scope + "conv" + std::to_string(i), x,
                {.channels = kChannels[stage], .window = {.kernel = 3, .padding = 1}, .bias = true});
            if (layers.batch_norm) x = net.batch_norm(scope + "bn" + std::to_string(i), x);
            x = net.relu(scope + "relu" + std::to_string(i), x);
        }
        x = net.max_pool2d(scope + "pool", x, {.kernel = 2, .stride = 2});
    }
    x = net.flatten("flatten", x);
    for (const std::string number : {"1", "2"}) {
        x = net.linear("classifier/fc" + number, x, 4096);
        x = net.relu("classifier/relu" + number, x);
        x = net.dropout("classifier/dropout" + number, x);
    }
    return net.linear("classifier/fc3", x, 1000);
}

Graph vgg16(std::int64_t batch) {
    NetworkBuilder net("vgg16", batch);
    const Value image = net.input("input", std::array<std::int64_t, 3>{3, 224, 224});
    net.cross_entropy("loss", vgg_layers(net, image, {.convolutions = {2, 2, 3, 3, 3}}));
    return net.build();
}

}  // namespace placewright
