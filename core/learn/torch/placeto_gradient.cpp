// SPDX-License-Identifier: MIT
// The network of placeto_network.cpp in differentiable form, for all decisions of an episode at a time.
#include <numeric>

#include "core/learn/torch/networks.hpp"
#include "core/learn/torch/objective.hpp"
#include "core/learn/torch/tensors.hpp"

namespace placewright {
namespace {

constexpr auto kSets = static_cast<std::int64_t>(PlacetoNetwork::kSets);

using Row = std::int64_t;

/// A sparse matrix: rows of the input that are summed into rows of the output.
struct Sums {
    std::vector<Row> to, from;
    std::vector<float> weight;

    void add(Row into, Row row, float times = 1) {
        to.push_back(into);
        from.push_back(row);
        weight.push_back(times);
    }

    /// [rows, x rows] * x
    at::Tensor of(const at::Tensor& x, Row rows) const {
        const auto count = static_cast<std::int64_t>(to.size());
        const at::Tensor index =
            torch::stack({tensor_of(to, {count}, torch::kLong), tensor_of(from, {count}, torch::kLong)});
        const at::Tensor matrix =
            at::_sparse_coo_tensor_unsafe(index, tensor_of(weight, {count}, torch::kFloat), {rows, x.size(0)},
                                          x.options().layout(torch::kSparse));
        return torch::mm(matrix, x);
    }
};

/// Rows of nodes while decisions change a few nodes at a time: a node that does not change keeps its row.
struct Versions {
    explicit Versions(std::size_t nodes) : row(nodes, -1) {}

    Row renew(GroupId node) { return row[node] = count++; }

    std::vector<Row> row;  ///< [node]: current row
    Row count = 0;
};

/// One direction of the messages.
struct Way {
    struct Round {
        explicit Round(std::size_t nodes) : versions(nodes) {}

        Versions versions;
        std::vector<Row> base;     ///< [row]: row of the node's own features
        std::vector<float> hears;  ///< [row]: 0 if there are no senders, because g(0) is not 0
        Sums senders;              ///< sums of rows of the previous round
    };
    std::vector<Round> rounds;  ///< without the first one, which is the base
};

/// Inputs of the network for all decisions of a rollout. Between two decisions the features of two nodes
/// change, so that within the rounds of messages most nodes are the same in most decisions: each version is
/// computed once.
class Shown {
public:
    Shown(const PlacetoNetwork& network, const PolicyGraph& graph)
        : base(graph.nodes),
          embedding(graph.nodes),
          bins(network.one_hot() ? 1 : 1 + static_cast<std::int64_t>(graph.devices)),
          network_(network),
          graph_(graph),
          next_(graph.nodes) {
        if (network.aggregation != PlacetoAggregation::messages) return;
        for (Way& way : ways) way.rounds.assign(network.rounds, Way::Round(graph.nodes));
    }

    /// `changed`: nodes whose features differ from those at the previous decision; all nodes at the first.
    void add(const PlacetoState& state, std::span<const GroupId> changed, std::uint16_t device,
             double advantage) {
        for (const GroupId node : changed) {
            base.renew(node);
            features.resize(features.size() + network_.node_features());
            state.node_features(network_, node, features.data() + features.size() - network_.node_features());
        }
        if (network_.aggregation == PlacetoAggregation::flat) {
            nodes.insert(nodes.end(), base.row.begin(), base.row.end());
        } else {
            renewed_.assign(changed.begin(), changed.end());
            if (network_.aggregation == PlacetoAggregation::messages) pass_messages(changed);
            for (const GroupId node : renewed_) {
                if (network_.aggregation == PlacetoAggregation::messages && network_.rounds > 0) {
                    for (std::size_t way = 0; way < 2; ++way)
                        parts[way].push_back(ways[way].rounds.back().versions.row[node]);
                } else {
                    for (auto& part : parts) part.push_back(base.row[node]);
                }
                embedding.renew(node);
            }
            pool(state);
            nodes.push_back(embedding.row[state.current()]);
        }
        if (!network_.one_hot()) {
            constexpr std::size_t kOwn = PlacetoNetwork::kDeviceFeatures;
            device_features.resize(device_features.size() + graph_.devices * kOwn);
            float* feature = device_features.data() + device_features.size() - graph_.devices * kOwn;
            for (std::size_t i = 0; i < graph_.devices; ++i) state.device_features(i, feature + i * kOwn);
        }
        for (std::size_t i = 0; i < graph_.devices; ++i)
            forbidden.push_back(graph_.allowed[std::size_t{state.current()} * graph_.devices + i] == 0 ? 1
                                                                                                       : 0);
        for (std::size_t i = 0; i < graph_.devices; ++i) preferences.push_back(state.preference(network_, i));
        devices.push_back(device);
        advantages.push_back(static_cast<float>(advantage));
    }

    std::int64_t decisions() const { return static_cast<std::int64_t>(devices.size()); }

    Versions base, embedding;
    std::int64_t bins;  ///< sums over a set: over all its nodes and, if devices are distinguished by
                        ///< features, by device
    std::vector<float> features;            ///< [base row, feature]
    std::array<Way, 2> ways;                ///< down, up
    std::array<std::vector<Row>, 2> parts;  ///< [embedding row]: rows of the last round of either way
    std::array<Sums, static_cast<std::size_t>(kSets)>
        pooled;              ///< sums of embedding rows; rows [decision * bins + bin]
    std::vector<Row> nodes;  ///< [decision]: embedding row of the node; flat: [decision, node] base rows
    std::vector<float> device_features;   ///< [decision, device, feature]
    std::vector<std::uint8_t> forbidden;  ///< [decision, device]
    std::vector<float> preferences;       ///< [decision, device]: added to the logits
    std::vector<std::int64_t> devices;    ///< [decision]
    std::vector<float> advantages;        ///< [decision]

private:
    void pass_messages(std::span<const GroupId> changed) {
        for (std::size_t direction = 0; direction < 2; ++direction) {
            const auto readers = [&](GroupId node) {
                return direction == 0 ? graph_.children(node) : graph_.parents(node);
            };
            const auto senders = [&](GroupId node) {
                return direction == 0 ? graph_.parents(node) : graph_.children(node);
            };
            now_.assign(changed.begin(), changed.end());
            const Versions* before = &base;
            for (Way::Round& round : ways[direction].rounds) {
                ahead_.clear();
                const auto reach = [&](GroupId node) {
                    if (next_[node] != 0) return;
                    next_[node] = 1;
                    ahead_.push_back(node);
                };
                for (const GroupId node : changed) reach(node);
                for (const GroupId node : now_) {
                    for (const GroupId reader : readers(node)) reach(reader);
                }
                for (const GroupId node : ahead_) {
                    next_[node] = 0;
                    const Row row = round.versions.renew(node);
                    round.base.push_back(base.row[node]);
                    const auto from = senders(node);
                    round.hears.push_back(from.empty() ? 0.0F : 1.0F);
                    for (const GroupId sender : from) round.senders.add(row, before->row[sender]);
                }
                before = &round.versions;
                now_.swap(ahead_);
            }
            for (const GroupId node : now_) {
                if (std::ranges::find(renewed_, node) == renewed_.end()) renewed_.push_back(node);
            }
        }
    }

    void pool(const PlacetoState& state) {
        const GroupId current = state.current();
        const Row first = decisions() * bins;
        const float share = 1.0F / static_cast<float>(graph_.nodes);
        for (GroupId node = 0; node < graph_.nodes; ++node) {
            if (node == current) continue;
            Sums& sums = pooled[PlacetoNetwork::set_of(graph_, current, node)];
            sums.add(first, embedding.row[node], share);
            if (!network_.one_hot() && state.device(node) < graph_.devices)
                sums.add(first + 1 + state.device(node), embedding.row[node], share);
        }
    }

    const PlacetoNetwork& network_;
    const PolicyGraph& graph_;
    std::vector<std::uint8_t> next_;  ///< [node]: is in ahead_
    std::vector<GroupId> renewed_, now_, ahead_;
};

class PlacetoModule {
public:
    PlacetoModule(const PlacetoNetwork& shape, const PolicyGraph& graph,
                  const std::vector<PolicyParameter>& parameters, std::span<const float> weights, bool learns)
        : shape_(shape), graph_(graph), weights_(weight_tensors(parameters, weights, learns)) {}

    const std::vector<at::Tensor>& weights() const { return weights_; }

    /// Returns [decision, device], -inf for devices that a node may not be on.
    at::Tensor logits(const Shown& shown) {
        next_ = 0;
        const auto count = shown.decisions(), devices = static_cast<std::int64_t>(graph_.devices);
        const at::Tensor features =
            tensor_of(shown.features, {shown.base.count, static_cast<std::int64_t>(shape_.node_features())},
                      torch::kFloat);
        at::Tensor input;
        if (shape_.aggregation == PlacetoAggregation::flat) {
            input = features.index_select(0, index_of(shown.nodes)).view({count, -1});
            if (!shape_.one_hot()) input = input.unsqueeze(1).expand({-1, devices, -1});
        } else {
            input = pooled(shown, embeddings(shown, features));
        }
        if (!shape_.one_hot()) {
            const auto own = static_cast<std::int64_t>(PlacetoNetwork::kDeviceFeatures);
            input = torch::cat(
                {input, tensor_of(shown.device_features, {count, devices, own}, torch::kFloat)}, -1);
        }
        at::Tensor logits = linear(torch::relu(linear(input)));
        if (!shape_.one_hot()) logits = logits.squeeze(-1);
        logits = logits + tensor_of(shown.preferences, {count, devices}, torch::kFloat);
        return logits.masked_fill(tensor_of(shown.forbidden, {count, devices}, torch::kByte).to(torch::kBool),
                                  -std::numeric_limits<float>::infinity());
    }

private:
    static at::Tensor index_of(const std::vector<Row>& rows) {
        return tensor_of(rows, {static_cast<std::int64_t>(rows.size())}, torch::kLong);
    }

    at::Tensor linear(const at::Tensor& x) {
        const at::Tensor& weight = weights_[next_];
        const at::Tensor& bias = weights_[next_ + 1];
        next_ += 2;
        return torch::nn::functional::linear(x, weight, bias);
    }

    /// Returns [embedding row, embedding].
    at::Tensor embeddings(const Shown& shown, const at::Tensor& features) {
        if (shape_.aggregation == PlacetoAggregation::pooling)
            return features.index_select(0, index_of(shown.parts[0]));
        at::Tensor base = features;
        for (std::uint32_t i = 0; i <= shape_.layers; ++i) {
            base = linear(base);
            if (i < shape_.layers) base = torch::relu(base);
        }
        std::vector<at::Tensor> ways;
        for (std::size_t way = 0; way < 2; ++way) {
            const std::size_t first = next_;
            at::Tensor x = base;
            for (const Way::Round& round : shown.ways[way].rounds) {
                next_ = first;
                for (std::uint32_t i = 0; i < shape_.layers; ++i) x = torch::relu(linear(x));
                x = round.senders.of(x, round.versions.count);
                for (std::uint32_t i = 0; i < shape_.layers; ++i) x = torch::relu(linear(x));
                x = base.index_select(0, index_of(round.base)) +
                    tensor_of(round.hears, {round.versions.count, 1}, torch::kFloat) * x;
            }
            next_ = first + std::size_t{4} * shape_.layers;
            ways.push_back(x.index_select(0, index_of(shown.parts[way])));
        }
        return torch::cat(ways, -1);
    }

    /// Returns [decision, inputs], or [decision, device, inputs] if devices are distinguished by features.
    at::Tensor pooled(const Shown& shown, const at::Tensor& embeddings) {
        const auto count = shown.decisions();
        std::vector<at::Tensor> common, by_device;
        for (const Sums& set : shown.pooled) {
            const at::Tensor each = torch::relu(linear(embeddings));
            const at::Tensor sums =
                torch::relu(linear(set.of(each, count * shown.bins))).view({count, shown.bins, -1});
            common.push_back(sums.select(1, 0));
            if (!shape_.one_hot()) by_device.push_back(sums.narrow(1, 1, shown.bins - 1));
        }
        common.push_back(embeddings.index_select(0, index_of(shown.nodes)));
        const at::Tensor shared = torch::cat(common, -1);
        if (shape_.one_hot()) return shared;
        by_device.insert(by_device.begin(), shared.unsqueeze(1).expand({-1, shown.bins - 1, -1}));
        return torch::cat(by_device, -1);
    }

    const PlacetoNetwork& shape_;
    const PolicyGraph& graph_;
    std::vector<at::Tensor> weights_;
    std::size_t next_ = 0;  ///< next weights to read, in the order of PlacetoNetwork::parameters()
};

}  // namespace

GradientSummary placeto_gradient(const PlacetoNetwork& network,
                                 const std::vector<PolicyParameter>& parameters, const GradientTask& task,
                                 std::span<float> gradient) {
    const bool proximal = !task.weights_before.empty();
    PlacetoModule now(network, task.graph, parameters, task.weights, true);
    std::optional<PlacetoModule> before;
    if (proximal) before.emplace(network, task.graph, parameters, task.weights_before, false);

    Climb climb;
    for (std::size_t i = 0; i < task.rollouts.size(); ++i) {
        const Rollout& rollout = task.rollouts[i];
        if (rollout.nodes.empty()) continue;
        Shown shown(network, task.graph);
        PlacetoState state(task.graph, rollout.start);
        std::vector<GroupId> changed(task.graph.nodes);
        std::iota(changed.begin(), changed.end(), GroupId{0});
        for (std::size_t step = 0; step < rollout.nodes.size(); ++step) {
            const GroupId node = rollout.nodes[step];
            if (step > 0) changed.assign({rollout.nodes[step - 1], node});
            if (changed.size() == 2 && changed[0] == changed[1]) changed.pop_back();
            state.turn_to(node);
            shown.add(state, changed, rollout.devices[step], task.advantages[i][step]);
            state.decide(rollout.devices[step]);
        }
        at::Tensor logits_before;
        if (before) {
            const torch::NoGradGuard none;
            logits_before = before->logits(shown);
        }
        const at::Tensor choices = tensor_of(shown.devices, {shown.decisions()}, torch::kLong);
        const at::Tensor advantages = tensor_of(shown.advantages, {shown.decisions()}, torch::kFloat);
        climb.add(decision_terms(now.logits(shown), choices, advantages, logits_before, task.entropy_weight,
                                 task.divergence_weight));
    }
    add_gradients(now.weights(), gradient);
    return climb.summary();
}

}  // namespace placewright
