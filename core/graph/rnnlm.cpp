// SPDX-License-Identifier: MIT
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/network_builder.hpp"
#include "core/graph/networks.hpp"

namespace placewright {

namespace {

// The large model of the paper.
constexpr std::int64_t kLargeHidden = 1'500, kLargeSteps = 35;

}  // namespace

// It is built layer by layer, so that a layer's steps are consecutive in the
// list; they may run in any order that the data allows.
Graph rnn_language_model(const std::string& name, std::int64_t batch, int layers, std::int64_t hidden,
                         std::int64_t unrolled) {
    constexpr std::int64_t kVocabulary = 10'000;
    NetworkBuilder net(name, batch);
    Value x = net.tokens("words", unrolled);
    x = net.embedding("embedding/table", x, kVocabulary, hidden);
    x = net.dropout("embedding/dropout", x);
    std::vector<Value> steps = net.unbind("embedding/steps", x);
    for (int layer = 1; layer <= layers; ++layer) {
        const std::string scope = "layer" + std::to_string(layer) + '/';
        const Value weights = net.lstm_weights(scope + "weights", hidden, hidden);
        std::optional<LstmState> state;
        for (std::size_t step = 0; step < steps.size(); ++step) {
            const std::string at = scope + "step" + std::to_string(step) + '/';
            state = net.lstm_cell(at + "cell", {&steps[step], 1}, state ? &*state : nullptr, weights);
            steps[step] = net.dropout(at + "dropout", state->hidden);
        }
    }
    x = net.stack("output/steps", steps);
    x = net.linear("output/projection", x, kVocabulary);
    net.cross_entropy("loss", x);
    return net.build();
}

Graph rnnlm(std::int64_t batch) {
    return rnn_language_model("rnnlm", batch, 2, kLargeHidden, kLargeSteps);
}

Graph rnnlm4(std::int64_t batch) {
    return rnn_language_model("rnnlm4", batch, 4, kLargeHidden, kLargeSteps);
}

}  // namespace placewright
