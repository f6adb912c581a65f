// SPDX-License-Identifier: MIT
#include "core/graph/cells.hpp"

#include <array>

namespace placewright {

Value squeeze(NetworkBuilder& net, const std::string& scope, const Value& from, std::int64_t channels) {
    Value x = net.relu(scope + "relu", from);
    x = net.conv2d(scope + "conv", x, {.channels = channels, .window = {.kernel = 1}});
    return net.batch_norm(scope + "bn", x);
}

Value separable(NetworkBuilder& net, const std::string& scope, const Value& from, std::int64_t channels,
                std::int64_t kernel, std::int64_t stride) {
    Value x = from;
    for (const std::string number : {"1", "2"}) {
        x = net.relu(scope + "relu" + number, x);
        x = net.conv2d(
            scope + "depthwise" + number, x,
            {.channels = x.channels(),
             .window = {.kernel = kernel, .stride = number == "1" ? stride : 1, .padding = kernel / 2},
             .groups = x.channels()});
        x = net.conv2d(scope + "pointwise" + number, x, {.channels = channels, .window = {.kernel = 1}});
        x = net.batch_norm(scope + "bn" + number, x);
    }
    return x;
}

Value factorized_reduction(NetworkBuilder& net, const std::string& scope, const Value& from,
                           std::int64_t channels) {
    const Value x = net.relu(scope + "relu", from);
    const Window every_second{.kernel = 1, .stride = 2};
    const Value even = net.conv2d(scope + "even/conv", net.avg_pool2d(scope + "even/pool", x, every_second),
                                  {.channels = channels / 2, .window = {.kernel = 1}});
    const Value shifted = net.shift(scope + "odd/shift", x);
    const Value odd =
        net.conv2d(scope + "odd/conv", net.avg_pool2d(scope + "odd/pool", shifted, every_second),
                   {.channels = channels / 2, .window = {.kernel = 1}});
    return net.batch_norm(scope + "bn", net.cat(scope + "cat", std::array{even, odd}));
}

}  // namespace placewright
