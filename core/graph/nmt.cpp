// SPDX-License-Identifier: MIT
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/network_builder.hpp"
#include "core/graph/networks.hpp"

namespace placewright {
namespace {

constexpr std::int64_t kNmtVocabulary = 32'000, kNmtHidden = 1'024;

using Steps = std::vector<Value>;

std::string numbered(const std::string& scope, std::size_t step) {
    return scope + "step" + std::to_string(step) + '/';
}

Steps embed(NetworkBuilder& net, const std::string& name, std::int64_t steps) {
    const Value tokens = net.tokens(name + "/tokens", steps);
    return net.unbind(name + "/steps", net.embedding(name + "/table", tokens, kNmtVocabulary, kNmtHidden));
}

/// A layer that reads at each step the outputs of all lists in `from`; with `residual` it adds the first of
/// them to its own output.
Steps lstm_layer(NetworkBuilder& net, const std::string& scope, const std::vector<Steps>& from, bool reversed,
                 bool residual) {
    const auto inputs = static_cast<std::int64_t>(from.size()) * kNmtHidden;
    const Value weights = net.lstm_weights(scope + "weights", inputs, kNmtHidden);
    Steps result(from.front().size());
    std::optional<LstmState> state;
    for (std::size_t i = 0; i < result.size(); ++i) {
        const std::size_t step = reversed ? result.size() - 1 - i : i;
        const std::string at = numbered(scope, step);
        std::vector<Value> parts;
        for (const Steps& values : from) parts.push_back(values[step]);
        state = net.lstm_cell(at + "cell", parts, state ? &*state : nullptr, weights);
        result[step] = residual ? net.add(at + "residual", state->hidden, parts.front()) : state->hidden;
    }
    return result;
}

/// Additive attention over the encoder's outputs (Bahdanau, Cho, Bengio, 2015).
struct Attention {
    Value memory, keys, query_weights, score_weights;
};

Attention make_attention(NetworkBuilder& net, const Steps& encoded) {
    const Value memory = net.stack("attention/memory", encoded);
    const Value key_weights = net.parameter("attention/key_weights", {kNmtHidden, kNmtHidden});
    return {memory, net.linear("attention/keys", memory, key_weights),
            net.parameter("attention/query_weights", {kNmtHidden, kNmtHidden}),
            net.parameter("attention/score_weights", {1, kNmtHidden})};
}

/// The context of the decoder's `state`: the encoder's outputs weighted by attention. The ops of a step share
/// a colocation label, as Mirhoseini and others (2017) place them.
Value context(NetworkBuilder& net, const std::string& scope, const Attention& attention, const Value& state) {
    net.colocate(scope);
    const Value query = net.linear(scope + "query", state, attention.query_weights);
    Value x = net.add(scope + "sum", attention.keys,
                      net.reshape(scope + "row", query, {state.shape[0], 1, kNmtHidden}));
    x = net.linear(scope + "scores", net.tanh(scope + "tanh", x), attention.score_weights);
    x = net.softmax(scope + "weights",
                    net.reshape(scope + "scores_row", x, {state.shape[0], 1, attention.memory.shape[1]}));
    x = net.bmm(scope + "context", x, attention.memory);
    x = net.reshape(scope + "context_row", x, {state.shape[0], kNmtHidden});
    net.colocate({});
    return x;
}

}  // namespace

Graph nmt(const std::string& name, std::int64_t batch, int layers, std::int64_t steps) {
    NetworkBuilder net(name, batch);
    const Steps source = embed(net, "source", steps);
    const Steps forwards = lstm_layer(net, "encoder1/forwards/", {source}, false, false);
    const Steps backwards = lstm_layer(net, "encoder1/backwards/", {source}, true, false);
    Steps encoded = lstm_layer(net, "encoder2/", {forwards, backwards}, false, false);
    for (int layer = 3; layer <= layers; ++layer) {
        encoded = lstm_layer(net, "encoder" + std::to_string(layer) + '/', {encoded}, false, true);
    }
    const Attention attention = make_attention(net, encoded);

    const Steps target = embed(net, "target", steps);
    const Value weights = net.lstm_weights("decoder1/weights", 2 * kNmtHidden, kNmtHidden);
    Steps decoded, contexts;
    std::optional<LstmState> state;
    for (std::size_t step = 0; step < target.size(); ++step) {
        const std::string at = numbered("decoder1/", step);
        std::vector<Value> parts{target[step]};
        if (step > 0) parts.push_back(contexts.back());
        state = net.lstm_cell(at + "cell", parts, state ? &*state : nullptr, weights);
        decoded.push_back(state->hidden);
        contexts.push_back(context(net, at + "attention/", attention, state->hidden));
    }
    for (int layer = 2; layer <= layers; ++layer) {
        decoded =
            lstm_layer(net, "decoder" + std::to_string(layer) + '/', {decoded, contexts}, false, layer > 2);
    }
    const Value logits = net.linear("output/projection", net.stack("output/steps", decoded), kNmtVocabulary);
    net.cross_entropy("loss", logits);
    return net.build();
}

Graph nmt2(std::int64_t batch) {
    return nmt("nmt2", batch, 2, 32);
}

Graph nmt4(std::int64_t batch) {
    return nmt("nmt4", batch, 4, 32);
}

Graph nmt8(std::int64_t batch) {
    return nmt("nmt8", batch, 8, 32);
}

}  // namespace placewright
