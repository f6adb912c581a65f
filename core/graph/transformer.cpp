// SPDX-License-Identifier: MIT
#include <cstdint>
#include <string>

#include "core/graph/network_builder.hpp"
#include "core/graph/networks.hpp"

namespace placewright {
namespace {

using Sizes = TransformerSizes;

Value attend(NetworkBuilder& net, const std::string& scope, const Sizes& sizes, const Value& from,
             const Value& memory) {
    const Value query = net.linear(scope + "query", from, sizes.features);
    const Value key = net.linear(scope + "key", memory, sizes.features);
    const Value value = net.linear(scope + "value", memory, sizes.features);
    const Value heads = net.attention(scope + "heads", query, key, value, sizes.heads);
    return net.linear(scope + "output", heads, sizes.features);
}

Value feed_forward(NetworkBuilder& net, const std::string& scope, const Sizes& sizes, const Value& from) {
    Value x = net.linear(scope + "inner", from, sizes.inner);
    x = sizes.gelu ? net.gelu(scope + "gelu", x) : net.relu(scope + "relu", x);
    return net.linear(scope + "outer", x, sizes.features);
}

/// from + layer(from) with a norm on one side of the layer.
template <class Layer>
Value residual(NetworkBuilder& net, const std::string& scope, const Sizes& sizes, const Value& from,
               const Layer& layer) {
    const Value x = sizes.pre_norm ? net.layer_norm(scope + "norm", from) : from;
    const Value sum = net.add(scope + "add", net.dropout(scope + "dropout", layer(x)), from);
    return sizes.pre_norm ? sum : net.layer_norm(scope + "norm", sum);
}

/// Self-attention, attention to `memory` if there is one, feed-forward.
Value block(NetworkBuilder& net, const std::string& scope, const Sizes& sizes, const Value& from,
            const Value* memory = nullptr) {
    Value x = residual(net, scope + "self/", sizes, from,
                       [&](const Value& in) { return attend(net, scope + "self/", sizes, in, in); });
    if (memory) {
        x = residual(net, scope + "cross/", sizes, x,
                     [&](const Value& in) { return attend(net, scope + "cross/", sizes, in, *memory); });
    }
    return residual(net, scope + "mlp/", sizes, x,
                    [&](const Value& in) { return feed_forward(net, scope + "mlp/", sizes, in); });
}

}  // namespace

// Positions are sinusoids, which are constants.
Graph transformer(const std::string& name, std::int64_t batch, const TransformerSizes& sizes) {
    NetworkBuilder net(name, batch);
    const Value table = net.parameter("table", {sizes.vocabulary, sizes.features});
    Value x = net.embedding("source/embedding", net.tokens("source/tokens", sizes.positions), table);
    x = net.dropout("source/dropout", x);
    for (int layer = 1; layer <= sizes.encoder_layers; ++layer)
        x = block(net, "encoder" + std::to_string(layer) + '/', sizes, x);
    if (sizes.decoder_layers > 0) {
        const Value memory = x;
        x = net.embedding("target/embedding", net.tokens("target/tokens", sizes.positions), table);
        x = net.dropout("target/dropout", x);
        for (int layer = 1; layer <= sizes.decoder_layers; ++layer)
            x = block(net, "decoder" + std::to_string(layer) + '/', sizes, x, &memory);
    }
    net.cross_entropy("loss", net.linear("logits", x, table));
    return net.build();
}

Graph transformer(std::int64_t batch) {
    return transformer("transformer", batch, {.decoder_layers = 6, .vocabulary = 37'000});
}

Graph bert_base(std::int64_t batch) {
    constexpr std::int64_t kVocabulary = 30'522, kPositions = 128, kMostPositions = 512, kSegments = 2;
    const Sizes sizes{.features = 768, .inner = 3'072, .heads = 12, .gelu = true, .pre_norm = false};
    NetworkBuilder net("bert_base", batch);
    Value x = net.embedding("embeddings/words", net.tokens("embeddings/tokens", kPositions), kVocabulary,
                            sizes.features);
    const Value segments = net.embedding(
        "embeddings/segments", net.tokens("embeddings/segment_ids", kPositions), kSegments, sizes.features);
    const Value places =
        net.embedding("embeddings/positions", net.tokens("embeddings/position_ids", kPositions),
                      kMostPositions, sizes.features);
    x = net.add("embeddings/add_segments", x, segments);
    x = net.add("embeddings/add_positions", x, places);
    x = net.dropout("embeddings/dropout", net.layer_norm("embeddings/norm", x));
    for (int layer = 1; layer <= 12; ++layer) x = block(net, "layer" + std::to_string(layer) + '/', sizes, x);
    x = net.tanh("pooler/tanh", net.linear("pooler/linear", net.select("pooler/first", x), sizes.features));
    x = net.linear("classifier", net.dropout("dropout", x), 2);
    net.cross_entropy("loss", x);
    return net.build();
}

Graph gpt2(std::int64_t batch) {
    constexpr std::int64_t kVocabulary = 50'257, kPositions = 1'024;
    const Sizes sizes{.features = 768, .inner = 3'072, .heads = 12, .gelu = true, .pre_norm = true};
    NetworkBuilder net("gpt2", batch);
    const Value table = net.parameter("table", {kVocabulary, sizes.features});
    const Value positions = net.parameter("embedding/positions", {kPositions, sizes.features});
    Value x = net.embedding("embedding/words", net.tokens("embedding/tokens", kPositions), table);
    x = net.dropout("embedding/dropout", net.add("embedding/add", x, positions));
    for (int layer = 1; layer <= 12; ++layer) x = block(net, "layer" + std::to_string(layer) + '/', sizes, x);
    net.cross_entropy("loss", net.linear("logits", net.layer_norm("norm", x), table));
    return net.build();
}

}  // namespace placewright
