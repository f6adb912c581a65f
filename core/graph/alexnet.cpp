// SPDX-License-Identifier: MIT
#include <array>
#include <cstdint>
#include <string>

#include "core/graph/network_builder.hpp"
#include "core/graph/networks.hpp"

namespace placewright {
namespace {

struct AlexNetStage {
    Convolution conv;
    bool pooled;
};

constexpr std::array<AlexNetStage, 5> kAlexNetStages{{
    {{.channels = 64, .window = {.kernel = 11, .stride = 4, .padding = 2}, .bias = true}, true},
    {{.channels = 192, .window = {.kernel = 5, .padding = 2}, .bias = true}, true},
    {{.channels = 384, .window = {.kernel = 3, .padding = 1}, .bias = true}, false},
    {{.channels = 256, .window = {.kernel = 3, .padding = 1}, .bias = true}, false},
    {{.channels = 256, .window = {.kernel = 3, .padding = 1}, .bias = true}, true},
}};

}  // namespace

Graph alexnet(std::int64_t batch) {
    NetworkBuilder net("alexnet", batch);
    Value x = net.input("input", std::array<std::int64_t, 3>{3, 224, 224});
    for (std::size_t i = 0; i < kAlexNetStages.size(); ++i) {
        const std::string number = std::to_string(i + 1);
        x = net.conv2d("features/conv" + number, x, kAlexNetStages[i].conv);
        x = net.relu("features/relu" + number, x);
        if (kAlexNetStages[i].pooled)
            x = net.max_pool2d("features/pool" + number, x, {.kernel = 3, .stride = 2});
    }
    x = net.adaptive_avg_pool2d("avgpool", x, 6);
    x = net.flatten("flatten", x);
    for (const std::string number : {"1", "2"}) {
        x = net.dropout("classifier/dropout" + number, x);
        x = net.linear("classifier/fc" + number, x, 4096);
        x = net.relu("classifier/relu" + number, x);
    }
    x = net.linear("classifier/fc3", x, 1000);
    net.cross_entropy("loss", x);
    return net.build();
}

}  // namespace placewright
