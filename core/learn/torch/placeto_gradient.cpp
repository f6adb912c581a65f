// SPDX-License-Identifier: MIT
// The network of placeto_network.cpp once more, for many decisions at a time and differentiable.
#include "core/learn/torch/networks.hpp"
#include "core/learn/torch/objective.hpp"
#include "core/learn/torch/tensors.hpp"

namespace placewright {
namespace {

constexpr auto kSets = static_cast<std::int64_t>(PlacetoNetwork::kSets);

/// Decisions that one pass through the network takes: as many as keep a layer within the cache.
std::size_t batch_size(const PlacetoNetwork& network, const PolicyGraph& graph) {
    constexpr std::size_t kFloats = 1 << 16;
    const std::size_t row =
        std::size_t{graph.nodes} * (network.aggregation == PlacetoAggregation::messages ? network.width : network.node_features());
    return std::clamp<std::size_t>(kFloats / std::max<std::size_t>(row, 1), 1, 256);
}

/// What the network is shown for some decisions.
struct Batch {
    explicit Batch(const PlacetoNetwork& shape, const PolicyGraph& policy_graph) : network(shape), graph(policy_graph) {}

    void add(const PlacetoState& state, std::uint16_t device, double advantage) {
        const std::size_t own = network.node_features(), bins = rows();
        const GroupId current = state.current();
        features.resize(features.size() + graph.nodes * own);
        float* next = features.data() + features.size() - graph.nodes * own;
        for (GroupId node = 0; node < graph.nodes; ++node) state.node_features(network, node, next + node * own);
        if (network.aggregation != PlacetoAggregation::flat) {
            masks.resize(masks.size() + kSets * bins * graph.nodes);
            float* mask = masks.data() + masks.size() - kSets * bins * graph.nodes;
            const float share = 1.0F / static_cast<float>(graph.nodes);
            for (GroupId node = 0; node < graph.nodes; ++node) {
                if (node == current) continue;
                const std::size_t set = PlacetoNetwork::set_of(graph, current, node);
                mask[(set * bins) * graph.nodes + node] = share;
                if (!network.one_hot() && state.device(node) < graph.devices)
                    mask[(set * bins + 1 + state.device(node)) * graph.nodes + node] = share;
            }
        }
        if (!network.one_hot()) {
            device_features.resize(device_features.size() + graph.devices * PlacetoNetwork::kDeviceFeatures);
            float* feature = device_features.data() + device_features.size() - graph.devices * PlacetoNetwork::kDeviceFeatures;
            for (std::size_t i = 0; i < graph.devices; ++i) state.device_features(i, feature + i * PlacetoNetwork::kDeviceFeatures);
        }
        for (std::size_t i = 0; i < graph.devices; ++i)
            forbidden.push_back(graph.allowed[std::size_t{current} * graph.devices + i] == 0 ? 1 : 0);
        nodes.push_back(current);
        devices.push_back(device);
        advantages.push_back(static_cast<float>(advantage));
    }

    /// Sums over a set: over all its nodes and, where devices are told apart by features, over those on each device.
    std::size_t rows() const { return network.one_hot() ? 1 : 1 + graph.devices; }
    std::int64_t size() const { return static_cast<std::int64_t>(nodes.size()); }

    const PlacetoNetwork& network;
    const PolicyGraph& graph;
    std::vector<float> features;               ///< [decision, node, feature]
    std::vector<float> masks;                  ///< [decision, set, row, node]
    std::vector<float> device_features;        ///< [decision, device, feature]
    std::vector<std::uint8_t> forbidden;       ///< [decision, device]
    std::vector<std::int64_t> nodes, devices;  ///< [decision]
    std::vector<float> advantages;             ///< [decision]
};

class Network {
public:
    Network(const PlacetoNetwork& shape, const PolicyGraph& graph, const std::vector<PolicyParameter>& parameters,
            std::span<const float> weights, bool learns)
        : shape_(shape), graph_(graph), weights_(weight_tensors(parameters, weights, learns)) {
        if (shape.aggregation != PlacetoAggregation::messages) return;
        for (const bool down : {true, false}) sums_.push_back(neighbour_sums(down));
    }

    const std::vector<at::Tensor>& weights() const { return weights_; }

    /// [decision, device], -inf for devices that a node may not be on.
    at::Tensor logits(const Batch& batch) {
        next_ = 0;
        const auto count = batch.size();
        const auto nodes = static_cast<std::int64_t>(graph_.nodes), own = static_cast<std::int64_t>(shape_.node_features());
        at::Tensor features = tensor_of(batch.features, {count, nodes, own}, torch::kFloat);
        at::Tensor input;
        if (shape_.aggregation == PlacetoAggregation::flat) {
            input = features.view({count, nodes * own});
            if (!shape_.one_hot()) input = input.unsqueeze(1).expand({-1, graph_.devices, -1});
        } else {
            input = pooled(batch, embeddings(features));
        }
        if (!shape_.one_hot()) {
            const auto devices = static_cast<std::int64_t>(graph_.devices);
            const auto kOwn = static_cast<std::int64_t>(PlacetoNetwork::kDeviceFeatures);
            input = torch::cat({input, tensor_of(batch.device_features, {count, devices, kOwn}, torch::kFloat)}, -1);
        }
        at::Tensor logits = linear(torch::relu(linear(input)));
        if (!shape_.one_hot()) logits = logits.squeeze(-1);
        return logits.masked_fill(tensor_of(batch.forbidden, {count, graph_.devices}, torch::kByte).to(torch::kBool),
                                  -std::numeric_limits<float>::infinity());
    }

private:
    at::Tensor linear(const at::Tensor& x) {
        const at::Tensor& weight = weights_[next_];
        const at::Tensor& bias = weights_[next_ + 1];
        next_ += 2;
        return torch::nn::functional::linear(x, weight, bias);
    }

    /// The matrix that sums over parents (down) or children.
    at::Tensor neighbour_sums(bool down) const {
        std::vector<std::int64_t> to, from;
        for (GroupId node = 0; node < graph_.nodes; ++node) {
            for (const GroupId other : down ? graph_.parents(node) : graph_.children(node)) {
                to.push_back(node);
                from.push_back(other);
            }
        }
        const auto count = static_cast<std::int64_t>(to.size());
        const at::Tensor index = torch::stack({tensor_of(to, {count}, torch::kLong), tensor_of(from, {count}, torch::kLong)});
        return torch::sparse_coo_tensor(index, torch::ones({count}, torch_device()), {graph_.nodes, graph_.nodes}).coalesce();
    }

    /// [node, decision, embedding]
    at::Tensor embeddings(const at::Tensor& features) {
        const at::Tensor by_node = features.transpose(0, 1).contiguous();
        if (shape_.aggregation == PlacetoAggregation::pooling) return by_node;
        at::Tensor base = by_node;
        for (std::uint32_t i = 0; i <= shape_.layers; ++i) {
            base = linear(base);
            if (i < shape_.layers) base = torch::relu(base);
        }
        std::vector<at::Tensor> ways;
        for (std::size_t way = 0; way < 2; ++way) {
            // g(0) is not 0: who hears nothing adds nothing.
            std::vector<float> hears;
            for (GroupId node = 0; node < graph_.nodes; ++node)
                hears.push_back((way == 0 ? graph_.parents(node) : graph_.children(node)).empty() ? 0.0F : 1.0F);
            const at::Tensor mask = tensor_of(hears, {graph_.nodes, 1, 1}, torch::kFloat);
            const std::size_t first = next_;
            at::Tensor x = base;
            for (std::uint32_t round = 0; round < shape_.rounds; ++round) {
                next_ = first;
                for (std::uint32_t i = 0; i < shape_.layers; ++i) x = torch::relu(linear(x));
                x = torch::mm(sums_[way], x.reshape({graph_.nodes, -1})).view(base.sizes());
                for (std::uint32_t i = 0; i < shape_.layers; ++i) x = torch::relu(linear(x));
                x = base + mask * x;
            }
            next_ = first + std::size_t{4} * shape_.layers;
            ways.push_back(x);
        }
        return torch::cat(ways, -1);
    }

    /// [decision, inputs], or [decision, device, inputs] where devices are told apart by features.
    at::Tensor pooled(const Batch& batch, const at::Tensor& embeddings) {
        const auto count = batch.size(), rows = static_cast<std::int64_t>(batch.rows()), nodes = static_cast<std::int64_t>(graph_.nodes);
        const at::Tensor masks = tensor_of(batch.masks, {count, kSets, rows, nodes}, torch::kFloat);
        std::vector<at::Tensor> common, by_device;
        for (std::int64_t set = 0; set < kSets; ++set) {
            const at::Tensor each = torch::relu(linear(embeddings)).transpose(0, 1);  // [decision, node, embedding]
            const at::Tensor sums = torch::relu(linear(torch::bmm(masks.select(1, set), each)));
            common.push_back(sums.select(1, 0));
            if (!shape_.one_hot()) by_device.push_back(sums.narrow(1, 1, rows - 1));
        }
        const at::Tensor index = tensor_of(batch.nodes, {count}, torch::kLong);
        common.push_back(embeddings.index({index, torch::arange(count, torch_device())}));
        const at::Tensor shared = torch::cat(common, -1);
        if (shape_.one_hot()) return shared;
        by_device.insert(by_device.begin(), shared.unsqueeze(1).expand({-1, rows - 1, -1}));
        return torch::cat(by_device, -1);
    }

    const PlacetoNetwork& shape_;
    const PolicyGraph& graph_;
    std::vector<at::Tensor> weights_;
    std::vector<at::Tensor> sums_;  ///< [direction]
    std::size_t next_ = 0;          ///< the weights that come next, in the order of PlacetoNetwork::parameters()
};

}  // namespace

GradientSummary placeto_gradient(const PlacetoNetwork& network, const std::vector<PolicyParameter>& parameters, const GradientTask& task,
                                 std::span<float> gradient) {
    const bool proximal = !task.weights_before.empty();
    Network now(network, task.graph, parameters, task.weights, true);
    std::optional<Network> before;
    if (proximal) before.emplace(network, task.graph, parameters, task.weights_before, false);

    Climb climb;
    std::optional<Batch> batch;
    const auto flush = [&] {
        if (!batch || batch->size() == 0) return;
        const at::Tensor choices = tensor_of(batch->devices, {batch->size()}, torch::kLong);
        const at::Tensor advantages = tensor_of(batch->advantages, {batch->size()}, torch::kFloat);
        at::Tensor logits_before;
        if (proximal) {
            const torch::NoGradGuard none;
            logits_before = before->logits(*batch);
        }
        climb.add(decision_terms(now.logits(*batch), choices, advantages, logits_before, task.entropy_weight, task.divergence_weight));
        batch.reset();
    };
    const std::size_t most = batch_size(network, task.graph);
    for (std::size_t i = 0; i < task.rollouts.size(); ++i) {
        const Rollout& rollout = task.rollouts[i];
        PlacetoState state(task.graph, rollout.start);
        for (std::size_t step = 0; step < rollout.nodes.size(); ++step) {
            if (!batch) batch.emplace(network, task.graph);
            state.turn_to(rollout.nodes[step]);
            batch->add(state, rollout.devices[step], task.advantages[i][step]);
            state.decide(rollout.devices[step]);
            if (static_cast<std::size_t>(batch->size()) >= most) flush();
        }
    }
    flush();
    add_gradients(now.weights(), gradient);
    return climb.summary();
}

}  // namespace placewright
