// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <string_view>

#include "app/experiments/measured_layers.hpp"
#include "core/graph/networks.hpp"

namespace placewright {

std::size_t LayeredNetwork::layer_of(OpId op) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(ends, op) - ends.begin());
}

LayeredNetwork layered_resnet101(std::int64_t batch) {
    LayeredNetwork network{resnet101(batch), {}};
    const Graph& graph = network.graph;
    for (OpId id = 0; id < graph.size(); ++id) {
        const Op& op = graph.op(id);
        // A block begins with an identity, which keeps its input for the shortcut.
        if (op.scope.starts_with("layer") && op.name.ends_with("/conv1")) network.ends.push_back(id - 1);
        // The projection belongs to the sum, the image to the first and the loss to the last layer.
        const bool inside = op.scope.ends_with("/downsample") || op.kind == "input" || op.kind == "linear" ||
                            op.kind == "cross_entropy";
        if (!inside) network.ends.push_back(id);
    }
    return network;
}

namespace {

/// Convolutions, each followed by dropout, norm and activation.
Value unet_cell(NetworkOfLayers& net, Value x, std::int64_t inner, std::int64_t outer) {
    constexpr int kConvolutions = 5;
    for (int i = 1; i <= kConvolutions; ++i) {
        x = net.end_layer(net.conv(x, i == kConvolutions ? outer : inner, {.kernel = 3, .padding = 1}));
        for (const char* kind : {"dropout2d", "instance_norm", "leaky_relu"})
            x = net.end_layer(net.each(kind, x));
    }
    return x;
}

}  // namespace

LayeredNetwork layered_unet(std::int64_t batch) {
    constexpr std::array<std::int64_t, 5> kChannels{64, 128, 256, 512, 1024};
    NetworkOfLayers net("unet", batch);
    Value x = net.image(192);
    std::vector<Value> skipped;
    for (const std::int64_t channels : kChannels) {
        x = unet_cell(net, x, channels, channels);
        skipped.push_back(x);
        net.end_layer(x);  // keeps it for the way up
        x = net.end_layer(net.max_pool(x, {.kernel = 2, .stride = 2}));
    }
    x = unet_cell(net, x, 2 * kChannels.back(), kChannels.back());
    for (std::size_t level = kChannels.size(); level-- > 0;) {
        const Shape& small = x.shape;
        x = net.end_layer(net.of_kind("interpolate", {x}, {small[0], small[1], 2 * small[2], 2 * small[3]}));
        x = net.end_layer(net.cat({x, skipped[level]}));
        x = unet_cell(net, x, kChannels[level] / 2, kChannels[level] / 2);
    }
    x = net.conv(x, 1, {.kernel = 1});
    net.of_kind("binary_cross_entropy_with_logits", {x}, {});
    return net.build_layers();
}

namespace {

/// The cells of AmoebaNet-D.
class Amoeba {
public:
    Amoeba(NetworkOfLayers& net, std::int64_t filters)
        : net_(net), channels_(filters / 4), older_(filters / 4), newer_(filters / 4) {}

    struct States {
        Value newer, older;
    };
    States cell(const States& states, bool reduces);

private:
    enum class Kind : std::uint8_t { skip, average, largest, conv1x1, conv3x3, conv1x7 };
    struct Step {
        std::size_t from;  ///< a state of the cell
        Kind kind;
    };

    Value activated(const Value& x, std::int64_t channels, const Window& window = {.kernel = 1}) {
        return net_.bn(net_.conv(net_.relu(x), channels, window));
    }
    Value halved(const Value& from, std::int64_t channels);
    Value step(const Step& step, const Value& x, std::int64_t stride);
    Value conv1x7(const Value& from, std::int64_t stride);

    NetworkOfLayers& net_;
    std::int64_t channels_;       ///< of each op in a cell
    std::int64_t older_, newer_;  ///< channels of the last two cells
    bool reduced_ = false;        ///< the last cell halved its images
};

/// Two 1x1 convolutions of every second pixel, one of them shifted.
Value Amoeba::halved(const Value& from, std::int64_t channels) {
    const Value x = net_.relu(from);
    const Shape& s = x.shape;
    const Value inner = net_.of_kind("slice", {x}, {s[0], s[1], s[2] - 1, s[3] - 1});
    const Value shifted = net_.of_kind("pad", {inner}, s);
    const Window window{.kernel = 1, .stride = 2};
    const Value first = net_.conv(x, channels / 2, window);
    const Value second = net_.conv(shifted, channels / 2, window);
    return net_.bn(net_.cat({first, second}));
}

Value Amoeba::conv1x7(const Value& from, std::int64_t stride) {
    const std::int64_t inner = channels_ / 4;
    Value x = activated(from, inner);
    x = activated(x, inner, {.kernel = {1, 7}, .stride = {1, stride}, .padding = {0, 3}});
    x = activated(x, inner, {.kernel = {7, 1}, .stride = {stride, 1}, .padding = {3, 0}});
    return activated(x, channels_);
}

Value Amoeba::step(const Step& step, const Value& x, std::int64_t stride) {
    switch (step.kind) {
        case Kind::skip:
            return stride == 1 ? x : halved(x, channels_);
        case Kind::average:
            return net_.avg_pool(x, {.kernel = 3, .stride = stride, .padding = 1});
        case Kind::largest:
            return net_.max_pool(x, {.kernel = 2, .stride = stride});
        case Kind::conv1x1:
            return activated(x, channels_, {.kernel = 1, .stride = stride});
        case Kind::conv3x3: {
            const Value narrow = activated(x, channels_ / 4);
            return activated(activated(narrow, channels_ / 4, {.kernel = 3, .stride = stride, .padding = 1}),
                             channels_);
        }
        case Kind::conv1x7:
            break;
    }
    return conv1x7(x, stride);
}

Amoeba::States Amoeba::cell(const States& states, bool reduces) {
    using enum Kind;
    static constexpr std::array<Step, 10> kNormal{{{1, conv1x1},
                                                   {1, average},
                                                   {1, skip},
                                                   {0, conv1x7},
                                                   {0, conv1x1},
                                                   {0, conv1x7},
                                                   {2, average},
                                                   {2, skip},
                                                   {1, average},
                                                   {5, conv1x1}}};
    static constexpr std::array<Step, 10> kReduction{{{0, largest},
                                                      {0, average},
                                                      {2, skip},
                                                      {1, conv3x3},
                                                      {2, conv1x7},
                                                      {2, average},
                                                      {3, skip},
                                                      {1, largest},
                                                      {2, average},
                                                      {3, conv1x1}}};
    if (reduces) channels_ *= 2;
    const Value newer = activated(states.newer, channels_);
    Value older = states.older;
    if (reduced_) {
        older = halved(older, channels_);
    } else if (older_ != channels_) {
        older = activated(older, channels_);
    }
    std::vector<Value> pool{newer, older};
    const auto& steps = reduces ? kReduction : kNormal;
    for (std::size_t i = 0; i < steps.size(); i += 2) {
        // In a cell that halves, all that reads one of the two inputs has stride 2.
        const auto made = [&](const Step& each) {
            return step(each, pool[each.from], reduces && each.from < 2 ? 2 : 1);
        };
        const Value left = made(steps[i]);
        pool.push_back(net_.add(left, made(steps[i + 1])));
    }
    const std::vector<Value> parts =
        reduces ? std::vector{pool[4], pool[5], pool[6]} : std::vector{pool[0], pool[3], pool[4], pool[6]};
    older_ = newer_;
    newer_ = channels_ * static_cast<std::int64_t>(parts.size());
    reduced_ = reduces;
    return {net_.end_layer(net_.cat(parts)), states.newer};
}

}  // namespace

LayeredNetwork layered_amoebanet(std::int64_t batch) {
    constexpr std::int64_t kFilters = 256;
    constexpr int kCells = 18;
    NetworkOfLayers net("amoebanetd", batch);
    const Value stem = net.end_layer(
        net.bn(net.conv(net.relu(net.image(224)), kFilters / 4, {.kernel = 3, .stride = 2, .padding = 1})));
    Amoeba cells(net, kFilters);
    Amoeba::States states{stem, stem};
    const auto halve = [&](int times) {
        for (; times > 0; --times) states = cells.cell(states, true);
    };
    for (int stage = 0; stage < 3; ++stage) {
        halve(stage == 0 ? 2 : 1);
        for (int i = 0; i < kCells / 3; ++i) states = cells.cell(states, false);
    }
    const Value pooled = net.avg_pool(states.newer, {.kernel = 7, .stride = 7});
    net.builder().cross_entropy("loss", net.linear(net.flatten(pooled), 1000));
    return net.build_layers();
}

LayeredNetwork layered_gpt(std::int64_t batch, const GptShape& shape) {
    NetworkOfLayers net("gpt", batch);
    const Value tokens = net.builder().tokens("tokens", shape.sequence);
    Value x = net.builder().embedding("embedding", tokens, shape.vocabulary, shape.hidden);
    const Value places = net.builder().parameter("positions", {1, shape.sequence, shape.hidden});
    x = net.each("dropout", net.add(x, places));
    for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
        x = net.add(x, net.attention(net.norm(x), shape.heads, true));
        x = net.add(x, net.mlp(net.norm(x), 4 * shape.hidden, shape.hidden));
        if (layer + 1 < shape.layers) net.end_layer(x);
    }
    net.builder().cross_entropy("loss", net.linear(net.norm(x), shape.vocabulary, false));
    return net.build_layers();
}

}  // namespace placewright
