// SPDX-License-Identifier: MIT
#include <array>
#include <cstdint>
#include <string>

#include "core/graph/network_builder.hpp"
#include "core/graph/networks.hpp"

namespace placewright {
namespace {

struct VggStage {
    std::int64_t channels;
    int convolutions;
};

constexpr std::array<VggStage, 5> kVggStages{{{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}};

}  // namespace

Graph vgg16(std::int64_t batch) {
    NetworkBuilder net("vgg16", batch);
    Value x = net.input("input", std::array<std::int64_t, 3>{3, 224, 224});
    for (std::size_t stage = 0; stage < kVggStages.size(); ++stage) {
        const std::string scope = "stage" + std::to_string(stage + 1) + '/';
        for (int i = 1; i <= kVggStages[stage].convolutions; ++i) {
            x = net.conv2d(scope + "conv" + std::to_string(i), x,
                           {.channels = kVggStages[stage].channels,
                            .window = {.kernel = 3, .padding = 1},
                            .bias = true});
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
    x = net.linear("classifier/fc3", x, 1000);
    net.cross_entropy("loss", x);
    return net.build();
}

}  // namespace placewright
