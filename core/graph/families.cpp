// SPDX-License-Identifier: MIT
#include "core/graph/families.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.hpp"
#include "core/graph/cells.hpp"
#include "core/graph/network_builder.hpp"
#include "core/graph/networks.hpp"

namespace placewright {
namespace {

constexpr std::string_view kEnas =
    "Pham, Guan, Zoph, Le, Dean: Efficient Neural Architecture Search via Parameter Sharing (2018)";

constexpr std::array kFamilies{
    FamilyInfo{"cifar10", "Image classifiers of sampled cells", kEnas, 128, cifar10_network},
    FamilyInfo{"ptb", "Language models of sampled recurrent cells", kEnas, 128, ptb_network},
    FamilyInfo{
        "nmt", "Translation, sentences of different lengths",
        "Wu, Schuster, Chen, Le, Norouzi and others: Google's Neural Machine Translation System (2016)", 160,
        nmt_network},
    FamilyInfo{"general", "Networks of all kinds", "this program's generators", 0, general_network},
};

/// A whole number from `low` to `high`.
std::int64_t sample(Random& random, std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random.index(static_cast<std::size_t>(high - low + 1)));
}

std::string scope_of(const char* what, std::size_t number) {
    return what + std::to_string(number) + '/';
}

// --- Convolutional cells

enum class CellOp : std::uint8_t { separable3, separable5, average, max, identity };

/// An input of a node and its op. Inputs: 0 is the cell before the last one, 1 the last cell, 2 the first
/// node.
struct Branch {
    std::size_t input = 0;
    CellOp op = CellOp::identity;
};

using Cell = std::array<std::array<Branch, 2>, 5>;

/// `spread`: probability that an input is any earlier one rather than one of the two newest.
Cell sample_cell(Random& random, double spread) {
    Cell cell;
    for (std::size_t node = 0; node < cell.size(); ++node) {
        const std::size_t inputs = node + 2;
        for (Branch& branch : cell[node]) {
            branch.input = random.chance(spread) ? random.index(inputs) : inputs - 1 - random.index(2);
            branch.op = static_cast<CellOp>(random.index(5));
        }
    }
    return cell;
}

bool reads(const Cell& cell, std::size_t input) {
    return std::ranges::any_of(
        cell, [&](const auto& node) { return node[0].input == input || node[1].input == input; });
}

Value pooled(NetworkBuilder& net, const std::string& at, const Value& from, CellOp op, std::int64_t stride) {
    const Window window{.kernel = 3, .stride = stride, .padding = 1};
    return op == CellOp::average ? net.avg_pool2d(at + "pool", from, window)
                                 : net.max_pool2d(at + "pool", from, window);
}

Value branch_value(NetworkBuilder& net, const std::string& at, const Value& from, CellOp op,
                   std::int64_t channels, std::int64_t stride) {
    switch (op) {
        case CellOp::separable3:
            return separable(net, at, from, channels, 3, stride);
        case CellOp::separable5:
            return separable(net, at, from, channels, 5, stride);
        case CellOp::average:
        case CellOp::max:
            return pooled(net, at, from, op, stride);
        case CellOp::identity:
            break;
    }
    return stride == 1 ? from : factorized_reduction(net, at, from, channels);
}

/// Concatenates the nodes and inputs that no node reads. In a reduction cell, ops on the cell's inputs take
/// every second pixel.
Value add_cell(NetworkBuilder& net, const std::string& scope, const Cell& cell,
               const std::array<Value, 2>& inputs, std::int64_t channels, bool reduction) {
    const bool larger = inputs[0].shape[2] != inputs[1].shape[2];
    std::vector<Value> values{larger ? factorized_reduction(net, scope + "previous/", inputs[0], channels)
                                     : squeeze(net, scope + "previous/", inputs[0], channels)};
    values.push_back(squeeze(net, scope + "last/", inputs[1], channels));
    std::vector<Value> loose;
    for (std::size_t input = 0; input < inputs.size(); ++input) {
        if (reads(cell, input)) continue;
        const std::string at = scope_of((scope + "unread").c_str(), input + 1);
        loose.push_back(branch_value(net, at, values[input], CellOp::identity, channels, reduction ? 2 : 1));
    }
    for (std::size_t node = 0; node < cell.size(); ++node) {
        const std::string at = scope_of((scope + "node").c_str(), node + 1);
        std::vector<Value> parts;
        for (std::size_t side = 0; side < 2; ++side) {
            const auto [input, op] = cell[node][side];
            const std::int64_t stride = reduction && input < inputs.size() ? 2 : 1;
            parts.push_back(branch_value(net, at + (side == 0 ? "left/" : "right/"), values[input], op,
                                         channels, stride));
        }
        values.push_back(net.add(at + "add", parts[0], parts[1]));
        if (!reads(cell, node + inputs.size())) loose.push_back(values.back());
    }
    return loose.size() == 1 ? loose.front() : net.cat(scope + "cat", loose);
}

// --- Recurrent cells

enum class Activation : std::uint8_t { tanh, relu, identity, sigmoid };

struct HighwayNode {
    std::size_t previous = 0;  ///< its input node; the first node reads the state
    Activation activation = Activation::tanh;
};

constexpr std::size_t kHighwayNodes = 12;

std::vector<HighwayNode> sample_highway(Random& random, double depth) {
    std::vector<HighwayNode> nodes(kHighwayNodes);
    for (std::size_t node = 0; node < nodes.size(); ++node) {
        if (node > 0) nodes[node].previous = node - std::min(random.geometric(depth), node);
        const double draw = random.uniform();
        if (draw >= 0.35)
            nodes[node].activation = draw < 0.7    ? Activation::relu
                                     : draw < 0.85 ? Activation::identity
                                                   : Activation::sigmoid;
    }
    return nodes;
}

Value activated(NetworkBuilder& net, const std::string& at, const Value& from, Activation activation) {
    switch (activation) {
        case Activation::tanh:
            return net.tanh(at + "tanh", from);
        case Activation::relu:
            return net.relu(at + "relu", from);
        case Activation::sigmoid:
            return net.sigmoid(at + "sigmoid", from);
        case Activation::identity:
            break;
    }
    return from;
}

/// c = sigmoid(W_c v), h = c * f(W_h v) + (1 - c) * s, computed as s + c * (f(W_h v) - s); one product
/// computes W_c v and W_h v.
Value highway(NetworkBuilder& net, const std::string& at, const Value& from, const Value& weights,
              const Value& carried, Activation activation) {
    const auto [gate, candidate] = net.halves(at + "halves", net.linear(at + "linear", from, weights));
    const Value c = net.sigmoid(at + "gate", gate);
    const Value h = activated(net, at, candidate, activation);
    return net.add(at + "add", carried, net.mul(at + "gated", c, net.sub(at + "difference", h, carried)));
}

/// One step, whose output is the mean of the nodes that no other node reads.
Value recurrent_step(NetworkBuilder& net, const std::string& scope, std::span<const HighwayNode> nodes,
                     std::span<const Value> weights, const Value& word, const Value& state) {
    std::vector<Value> values;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
        const std::string at = scope_of((scope + "node").c_str(), node + 1);
        const Value& carried = node == 0 ? state : values[nodes[node].previous];
        const Value from = node == 0 ? net.cat(at + "cat", std::array{word, state}) : carried;
        values.push_back(highway(net, at, from, weights[node], carried, nodes[node].activation));
    }
    std::optional<Value> sum;
    std::size_t loose = 0;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
        const auto reads_it = [&](const HighwayNode& other) { return other.previous == node; };
        if (std::ranges::any_of(nodes.subspan(node + 1), reads_it)) continue;
        sum =
            ++loose == 1 ? values[node] : net.add(scope + "sum" + std::to_string(loose), *sum, values[node]);
    }
    return loose == 1 ? *sum : net.div(scope + "mean", *sum);
}

}  // namespace

std::span<const FamilyInfo> known_families() {
    return kFamilies;
}

const FamilyInfo* find_family(std::string_view name) {
    const auto found = std::ranges::find(kFamilies, name, &FamilyInfo::name);
    return found == kFamilies.end() ? nullptr : &*found;
}

Graph family_member(const FamilyInfo& family, std::uint64_t seed, std::uint32_t number) {
    // Draws the seeds from one generator, so that neighbouring networks are unrelated.
    Random random(seed);
    std::uint64_t own = random.bits();
    for (std::uint32_t i = 0; i < number; ++i) own = random.bits();
    const std::string digits = std::to_string(number);
    return family.build(std::string(family.name) + '_' + std::string(digits.size() < 2 ? "0" : "") + digits,
                        own);
}

std::vector<bool> training_half(std::uint32_t count, std::uint64_t seed) {
    std::vector<std::uint32_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0U);
    Random(seed).shuffle(std::span(numbers));
    std::vector<bool> trained(count);
    for (std::uint32_t i = 0; i < (count + 1) / 2; ++i) trained[numbers[i]] = true;
    return trained;
}

Graph cifar10_network(std::string_view name, std::uint64_t seed) {
    Random random(seed);
    const double spread = random.uniform(0.3, 0.9);
    const Cell normal = sample_cell(random, spread);
    const Cell reduction = sample_cell(random, spread);
    const std::int64_t cells = sample(random, 9, 17);
    std::int64_t channels = 2 * sample(random, 10, 20);  // even: a factorized reduction has two halves
    const std::int64_t batch = sample(random, 240, 360);

    NetworkBuilder net(std::string(name), batch);
    Value x = net.input("images", std::array<std::int64_t, 3>{3, 32, 32});
    x = net.batch_norm(
        "stem/bn",
        net.conv2d("stem/conv", x, {.channels = 3 * channels, .window = {.kernel = 3, .padding = 1}}));
    Value previous = x;
    std::size_t number = 0;
    for (std::int64_t cell = 0; cell < cells; ++cell) {
        if (cell == cells / 3 || cell == 2 * cells / 3) {
            channels *= 2;
            Value next = add_cell(net, scope_of("cell", ++number), reduction, {previous, x}, channels, true);
            previous = std::exchange(x, std::move(next));
        }
        Value next = add_cell(net, scope_of("cell", ++number), normal, {previous, x}, channels, false);
        previous = std::exchange(x, std::move(next));
    }
    x = net.adaptive_avg_pool2d("avgpool", net.relu("relu", x), 1);
    x = net.linear("fc", net.dropout("dropout", net.flatten("flatten", x)), 10);
    net.cross_entropy("loss", x);
    return net.build();
}

Graph ptb_network(std::string_view name, std::uint64_t seed) {
    constexpr std::int64_t kVocabulary = 10'000, kFeatures = 748;
    Random random(seed);
    const std::vector<HighwayNode> nodes = sample_highway(random, random.uniform(0.3, 0.7));
    const std::int64_t steps = sample(random, 25, 40);
    const std::int64_t batch = sample(random, 1536, 3072);

    NetworkBuilder net(std::string(name), batch);
    const Value table = net.embedding("embedding/table", net.tokens("words", steps), kVocabulary, kFeatures);
    const std::vector<Value> words = net.unbind("embedding/steps", table);
    std::vector<Value> weights{net.parameter("weights/node1", {2 * kFeatures, 2 * kFeatures})};
    for (std::size_t node = 2; node <= nodes.size(); ++node) {
        weights.push_back(net.parameter("weights/node" + std::to_string(node), {2 * kFeatures, kFeatures}));
    }
    // Truncated back-propagation: the last state of the previous batch is an input.
    Value state = net.input("state", std::array{kFeatures});
    std::vector<Value> outputs;
    for (std::size_t step = 0; step < words.size(); ++step) {
        state = recurrent_step(net, scope_of("step", step), nodes, weights, words[step], state);
        outputs.push_back(state);
    }
    const Value logits = net.linear(
        "output/projection", net.dropout("output/dropout", net.stack("output/steps", outputs)), kVocabulary);
    net.cross_entropy("loss", logits);
    return net.build();
}

Graph nmt_network(std::string_view name, std::uint64_t seed) {
    Random random(seed);
    const std::int64_t steps = sample(random, 16, 32);
    return nmt(std::string(name), sample(random, 64, 128), 2, steps);
}

}  // namespace placewright
