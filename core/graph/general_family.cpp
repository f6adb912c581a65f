// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/random.hpp"
#include "core/graph/classifiers.hpp"
#include "core/graph/families.hpp"
#include "core/graph/networks.hpp"

namespace placewright {
namespace {

std::int64_t between(Random& random, std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random.index(static_cast<std::size_t>(high - low + 1)));
}
/// A number whose logarithm is uniform.
std::int64_t of_any_scale(Random& random, double low, double high) {
    return static_cast<std::int64_t>(std::llround(low * std::pow(high / low, random.uniform())));
}
int layers_between(Random& random, int low, int high) {
    return static_cast<int>(between(random, low, high));
}

Graph residual_network(const std::string& name, std::int64_t batch, Random& random) {
    NetworkBuilder net(name, batch);
    const Value image = net.input("input", std::array<std::int64_t, 3>{3, 224, 224});
    ResidualLayers layers;
    for (int& blocks : layers.blocks) blocks = layers_between(random, 1, 4);
    // Deep networks are deep in the middle stages.
    for (const std::size_t stage : {1, 2}) {
        if (random.chance(0.4)) layers.blocks[stage] = layers_between(random, 4, 36);
    }
    layers.bottleneck = random.chance(0.75);
    if (random.chance(0.3)) {
        layers.groups = 32;
        layers.width = 128;
    } else if (random.chance(0.3)) {
        layers.width = 128;
    }
    net.cross_entropy("loss", residual_layers(net, image, layers));
    return net.build();
}

Graph plain_network(const std::string& name, std::int64_t batch, Random& random) {
    NetworkBuilder net(name, batch);
    const Value image = net.input("input", std::array<std::int64_t, 3>{3, 224, 224});
    VggLayers layers;
    for (int& count : layers.convolutions) count = layers_between(random, 1, 5);
    layers.batch_norm = random.chance(0.5);
    net.cross_entropy("loss", vgg_layers(net, image, layers));
    return net.build();
}

Value convolved(NetworkBuilder& net, const std::string& scope, const Value& from, std::int64_t channels,
                std::int64_t kernel, std::int64_t stride = 1) {
    Value x = net.conv2d(
        scope + "conv", from,
        {.channels = channels, .window = {.kernel = kernel, .stride = stride, .padding = kernel / 2}});
    return net.relu(scope + "relu", net.batch_norm(scope + "bn", x));
}

/// Blocks of parallel branches of different lengths, as in Inception (Szegedy and others, 2014).
Graph branched_network(const std::string& name, std::int64_t batch, Random& random) {
    NetworkBuilder net(name, batch);
    const std::int64_t size = 32 * between(random, 5, 10);
    Value x = net.input("input", std::array<std::int64_t, 3>{3, size, size});
    std::int64_t channels = 16 * between(random, 2, 4);
    for (int i = 1; i <= 3; ++i)
        x = convolved(net, "stem" + std::to_string(i) + '/', x, channels * i, 3, i == 2 ? 1 : 2);
    const int blocks = layers_between(random, 4, 14), stage = std::max(blocks / 3, 1);
    for (int number = 1; number <= blocks; ++number) {
        const std::string scope = "block" + std::to_string(number) + '/';
        if (number % stage == 0 && x.shape[2] > 7) {
            x = net.max_pool2d(scope + "pool", x, {.kernel = 3, .stride = 2, .padding = 1});
            channels += channels / 2;
        }
        std::vector<Value> branches;
        const int count = layers_between(random, 2, 6);
        for (int branch = 1; branch <= count; ++branch) {
            const std::string at = scope + "branch" + std::to_string(branch) + '/';
            Value y = x;
            if (random.chance(0.2)) y = net.avg_pool2d(at + "pool", y, {.kernel = 3, .padding = 1});
            const int length = layers_between(random, 1, 5);
            for (int i = 1; i <= length; ++i)
                y = convolved(net, at + std::to_string(i) + '/', y, channels * between(random, 1, 4) / 2,
                              i == 1 ? 1 : 2 * between(random, 0, 3) + 1);
            branches.push_back(std::move(y));
        }
        x = net.cat(scope + "cat", branches);
    }
    x = net.flatten("flatten", net.adaptive_avg_pool2d("avgpool", x, 1));
    net.cross_entropy("loss", net.linear("fc", net.dropout("dropout", x), 1000));
    return net.build();
}

Graph transformer_network(const std::string& name, std::int64_t batch, Random& random) {
    TransformerSizes sizes;
    sizes.heads = between(random, 4, 16);
    sizes.features = 64 * sizes.heads;
    sizes.inner = sizes.features * between(random, 2, 4);
    sizes.gelu = random.chance(0.5);
    sizes.pre_norm = random.chance(0.5);
    sizes.encoder_layers = layers_between(random, 3, 14);
    sizes.decoder_layers = random.chance(0.4) ? layers_between(random, 2, 10) : 0;
    sizes.positions = 64 * between(random, 1, 12);
    sizes.vocabulary = of_any_scale(random, 8'000, 60'000);
    return transformer(name, batch, sizes);
}

}  // namespace

Graph general_network(std::string_view called, std::uint64_t seed) {
    Random random(seed);
    const std::string name(called);
    const std::int64_t batch = of_any_scale(random, 8, 128);
    // Networks with many branches have most to gain, and are the hardest to place.
    const std::size_t kind = random.index(20);
    if (kind < 3) return residual_network(name, batch, random);
    if (kind == 3) return plain_network(name, batch, random);
    if (kind < 8) return branched_network(name, batch, random);
    if (kind < 12)
        return nasnet_a(name, batch, random.chance(0.5) ? 224 : 299, 32, 4 * between(random, 8, 42),
                        layers_between(random, 1, 6));
    if (kind < 14)
        return rnn_language_model(name, batch, layers_between(random, 1, 6), 128 * between(random, 4, 14),
                                  between(random, 12, 40));
    if (kind < 16) return nmt(name, batch, layers_between(random, 2, 8), between(random, 12, 36));
    if (kind < 18) return transformer_network(name, batch, random);
    return kind == 18 ? cifar10_network(name, random.bits()) : ptb_network(name, random.bits());
}

}  // namespace placewright
