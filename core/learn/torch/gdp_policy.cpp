// SPDX-License-Identifier: MIT
#include "core/learn/sequence_policies.hpp"
#include "core/learn/torch/layers.hpp"
#include "core/learn/torch/networks.hpp"

namespace placewright {
namespace {

/// Input of the network: features of all groups, whatever the order contains.
struct Input {
    Input(const PolicyGraph& graph, std::span<const GroupId> order)
        : forbidden(forbidden_devices(graph, order)) {
        std::vector<GroupId> all(graph.nodes);
        std::iota(all.begin(), all.end(), GroupId{0});
        features = group_features(graph, all, 0);
        places = tensor_of(std::vector<std::int64_t>(order.begin(), order.end()),
                           {static_cast<std::int64_t>(order.size())}, torch::kLong);
        for (const bool down : {true, false}) {
            std::vector<std::int64_t> sender, hearer;
            std::vector<float> share;
            auto& pairs = edges.emplace_back();
            for (const GroupId node : all) {
                const auto others = down ? graph.parents(node) : graph.children(node);
                sender.insert(sender.end(), others.begin(), others.end());
                hearer.insert(hearer.end(), others.size(), node);
                for (const GroupId other : others) pairs.emplace_back(other, node);
                share.push_back(others.empty() ? 0 : 1 / static_cast<float>(others.size()));
            }
            const auto count = static_cast<std::int64_t>(sender.size());
            senders.push_back(tensor_of(sender, {count}, torch::kLong));
            hearers.push_back(tensor_of(hearer, {count}, torch::kLong));
            shares.push_back(tensor_of(share, {graph.nodes, 1}, torch::kFloat));
        }
    }

    GroupFeatures features;                                       ///< [group]
    std::vector<std::vector<std::pair<GroupId, GroupId>>> edges;  ///< [direction][edge]: sender, receiver
    std::vector<at::Tensor> senders, hearers;                     ///< [direction][edge]: sender or receiver
    std::vector<at::Tensor> shares;  ///< [direction][group, 1]: 1 / number of senders, or 0
    at::Tensor places;               ///< [place]: group
    at::Tensor forbidden;            ///< [place, device]
};

class GdpModule {
public:
    static std::vector<PolicyParameter> declare(const GdpNetwork& shape) {
        WeightList list;
        const std::size_t width = shape.width;
        const auto number = [](std::size_t i) { return std::string(1, '.').append(std::to_string(i)); };
        list.table("kinds", shape.kinds, width);
        list.linear("input", width, width + kGroupNumbers);
        for (std::size_t i = 0; i < shape.rounds; ++i) {
            list.linear("graph" + number(i) + ".parents", width, width);
            list.linear("graph" + number(i) + ".children", width, width);
            list.linear("graph" + number(i) + ".update", width, 3 * width);
        }
        for (std::size_t i = 0; i < shape.layers; ++i) {
            const std::string layer = "layer" + number(i);
            list.norm(layer + ".attention.norm", width);
            list.linear(layer + ".attention.query", width, width);
            list.linear(layer + ".attention.key_value", 2 * width, width);
            list.linear(layer + ".attention.output", width, width);
            list.norm(layer + ".feed_forward.norm", width);
            list.linear(layer + ".feed_forward.0", 4 * width, width);
            list.linear(layer + ".feed_forward.1", width, 4 * width);
        }
        list.norm("norm", width);
        // Initially all devices are about equally likely.
        list.linear("head", shape.devices, width, 0.1);
        return list.all;
    }

    GdpModule(const GdpNetwork& shape, const std::vector<PolicyParameter>& parameters,
              std::span<const float> weights, bool learns)
        : shape_(shape), reader_(parameters, weights, learns), kinds_(reader_.take()), input_(reader_) {
        for (std::uint32_t i = 0; i < 3 * shape.rounds; ++i) convolutions_.emplace_back(reader_);
        for (std::uint32_t i = 0; i < shape.layers; ++i) layers_.emplace_back(reader_);
        norm_.emplace(reader_);
        head_.emplace(reader_);
    }

    const std::vector<at::Tensor>& weights() const { return reader_.tensors(); }

    /// Returns [place, device], -inf for devices that a group may not be on.
    at::Tensor logits(const Input& input) const {
        at::Tensor x = torch::relu(
            input_(torch::cat({torch::mm(input.features.kinds, kinds_), input.features.numbers}, -1)));
        for (std::uint32_t round = 0; round < shape_.rounds; ++round) {
            const LinearLayer* const maps = convolutions_.data() + std::size_t{3} * round;
            x = torch::relu(
                maps[2](torch::cat({x, heard(input, 0, maps[0](x)), heard(input, 1, maps[1](x))}, -1)));
        }
        x = x.index_select(0, input.places);
        if (shape_.layers > 0) x = transformed(x);
        return without(shaped_logits((*head_)((*norm_)(x)), shape_.temperature, shape_.tanh_constant),
                       input.forbidden);
    }

private:
    struct Layer {
        explicit Layer(WeightReader& reader)
            : attention_norm(reader),
              query(reader),
              key_value(reader),
              output(reader),
              feed_norm(reader),
              feed_in(reader),
              feed_out(reader) {}
        NormLayer attention_norm;
        LinearLayer query, key_value, output;
        NormLayer feed_norm;
        LinearLayer feed_in, feed_out;
    };

    /// Returns the maximum or the mean of the values of a group's parents (way 0) or children; 0 if there are
    /// none.
    at::Tensor heard(const Input& input, std::size_t way, const at::Tensor& map) const {
        const at::Tensor said = torch::relu(map), none = torch::zeros_like(said);
        if (shape_.aggregation == GdpNetwork::Aggregation::max)
            return torch::cat({said, none.narrow(0, 0, 1)}).gather(0, loudest(input, way, said));
        return none.index_add(0, input.hearers[way], said.index_select(0, input.senders[way])) *
               input.shares[way];
    }

    /// Returns [group, number]: the sender with the largest value, the first of equals; one past the last
    /// group if there is no sender. LibTorch 1.13 has no stable function for a maximum over edges.
    static at::Tensor loudest(const Input& input, std::size_t way, const at::Tensor& said) {
        const at::Tensor values = said.detach().to(torch::kCPU).contiguous();
        const auto groups = static_cast<std::size_t>(values.size(0)),
                   width = static_cast<std::size_t>(values.size(1));
        const float* const value = values.data_ptr<float>();
        std::vector<std::int64_t> best(groups * width, static_cast<std::int64_t>(groups));
        for (const auto& [sender, hearer] : input.edges[way]) {
            for (std::size_t i = 0; i < width; ++i) {
                std::int64_t& own = best[hearer * width + i];
                if (own == static_cast<std::int64_t>(groups) ||
                    value[sender * width + i] > value[static_cast<std::size_t>(own) * width + i])
                    own = sender;
            }
        }
        return tensor_of(best, values.sizes(), torch::kLong);
    }

    /// Cuts the order into segments of about the same length, each of which attends to itself and the one
    /// before.
    at::Tensor transformed(const at::Tensor& groups) const {
        const std::int64_t places = groups.size(0), width = shape_.width, heads = shape_.heads;
        const std::int64_t segments = (places + shape_.segment - 1) / shape_.segment,
                           length = (places + segments - 1) / segments;
        const auto cut = [&](const at::Tensor& table) {
            return torch::constant_pad_nd(table, {0, 0, 0, segments * length - places})
                .view({segments, length, -1});
        };
        // Joins each segment with the one before, which the first segment does not have.
        const auto with_previous = [&](const at::Tensor& x) {
            if (segments == 1) return x;
            return torch::cat(
                {torch::cat({torch::zeros_like(x.narrow(0, 0, 1)), x.narrow(0, 0, segments - 1)}), x}, 1);
        };
        // [segment, head, place, width / heads]
        const auto by_head = [&](const at::Tensor& x) {
            return x.view({segments, -1, heads, width / heads}).transpose(1, 2);
        };
        const at::Tensor absent =
            with_previous(cut(torch::ones({places, 1}, torch_device()))).view({segments, 1, 1, -1}) == 0;
        at::Tensor x = cut(groups);
        for (const Layer& layer : layers_) {
            const at::Tensor normed = layer.attention_norm(x);
            const std::vector<at::Tensor> key_value = layer.key_value(with_previous(normed)).chunk(2, -1);
            const at::Tensor scores =
                torch::matmul(by_head(layer.query(normed)), by_head(key_value[0]).transpose(2, 3)) /
                std::sqrt(static_cast<double>(width) / static_cast<double>(heads));
            const at::Tensor seen =
                torch::matmul(torch::softmax(without(scores, absent), -1), by_head(key_value[1]));
            x = x + layer.output(seen.transpose(1, 2).reshape({segments, length, width}));
            x = x + layer.feed_out(torch::relu(layer.feed_in(layer.feed_norm(x))));
        }
        return x.reshape({segments * length, width}).narrow(0, 0, places);
    }

    const GdpNetwork& shape_;
    WeightReader reader_;
    at::Tensor kinds_;
    LinearLayer input_;
    std::vector<LinearLayer> convolutions_;  ///< parents, children, update; round by round
    std::vector<Layer> layers_;
    std::optional<NormLayer> norm_;
    std::optional<LinearLayer> head_;
};

class GdpPolicy final : public Policy {
public:
    explicit GdpPolicy(const GdpNetwork& shape) : shape_(shape), parameters_(GdpModule::declare(shape)) {}

    const std::vector<PolicyParameter>& parameters() const override { return parameters_; }
    bool improves() const override { return false; }
    std::uint32_t batch_size() const override { return kBatchSize; }

    Rollout roll_out(const PolicyGraph& graph, std::span<const float> weights, const Placement& start,
                     std::span<const GroupId> order, Random& random, bool greedy) const override {
        check_fits(graph, shape_.devices, shape_.kinds);
        const c10::InferenceMode none;
        Rollout rollout{start, {order.begin(), order.end()}, {}, {}};
        if (order.empty()) return rollout;
        const at::Tensor table = GdpModule(shape_, parameters_, weights, false)
                                     .logits(Input(graph, order))
                                     .to(torch::kCPU)
                                     .contiguous();
        for (std::size_t place = 0; place < order.size(); ++place)
            rollout.devices.push_back(choose(row(table, place), greedy ? nullptr : &random));
        return rollout;
    }

    GradientSummary add_gradient(const GradientTask& task, std::span<float> gradient) const override {
        check_fits(task.graph, shape_.devices, shape_.kinds);
        const GdpModule now(shape_, parameters_, task.weights, true);
        std::optional<GdpModule> before;
        if (!task.weights_before.empty()) before.emplace(shape_, parameters_, task.weights_before, false);
        Climb climb;
        for_each_batch(task, task.rollouts.size(), [&](std::size_t first, std::size_t last) {
            const Input input(task.graph, task.rollouts[first].nodes);
            climb_independent(
                climb, task, first, last, now.logits(input), before ? before->logits(input) : at::Tensor(),
                [&](std::size_t i, std::size_t place) { return task.rollouts[i].devices[place]; },
                [&](std::size_t i, std::size_t place) { return task.advantages[i][place]; });
        });
        add_gradients(now.weights(), gradient);
        return climb.summary();
    }

private:
    GdpNetwork shape_;
    std::vector<PolicyParameter> parameters_;
};

}  // namespace

std::unique_ptr<Policy> make_gdp_policy(const GdpNetwork& network) {
    return std::make_unique<GdpPolicy>(network);
}

}  // namespace placewright
