// SPDX-License-Identifier: MIT
#include "core/learn/torch/networks.hpp"
#include "core/learn/torch/seq2seq.hpp"

namespace placewright {
namespace {

class SequenceModule {
public:
    static std::vector<PolicyParameter> declare(const SequenceNetwork& shape) {
        WeightList list;
        list.table("kinds", shape.kinds, shape.embedding);
        Seq2Seq::declare(list, shape, shape.embedding + kGroupNumbers + 2 * std::size_t{shape.neighbours});
        return list.all;
    }

    SequenceModule(const SequenceNetwork& shape, const std::vector<PolicyParameter>& parameters,
                   std::span<const float> weights, bool learns)
        : reader_(parameters, weights, learns), kinds_(reader_.take()), placer_(shape, reader_) {}

    const std::vector<at::Tensor>& weights() const { return reader_.tensors(); }
    const Seq2Seq& placer() const { return placer_; }

    /// [1, place, input]
    at::Tensor inputs(const GroupFeatures& features) const {
        return torch::cat({torch::mm(features.kinds, kinds_), features.numbers}, -1).unsqueeze(0);
    }

private:
    WeightReader reader_;
    at::Tensor kinds_;
    Seq2Seq placer_;
};

class SequencePolicy final : public Policy {
public:
    explicit SequencePolicy(const SequenceNetwork& shape)
        : shape_(shape), parameters_(SequenceModule::declare(shape)) {}

    const std::vector<PolicyParameter>& parameters() const override { return parameters_; }
    bool improves() const override { return false; }
    std::uint32_t batch_size() const override { return kBatchSize; }

    Rollout roll_out(const PolicyGraph& graph, std::span<const float> weights, const Placement& start,
                     std::span<const GroupId> order, Random& random, bool greedy) const override {
        check_fits(graph, shape_.devices, shape_.kinds);
        const c10::InferenceMode none;
        Rollout rollout{start, {order.begin(), order.end()}, {}, {}};
        if (order.empty()) return rollout;
        const SequenceModule network(shape_, parameters_, weights, false);
        const Seq2Seq::Memory memory =
            network.placer().encode(network.inputs(group_features(graph, order, shape_.neighbours)));
        network.placer().decode(memory, [&](std::size_t place, std::span<const float> logits) {
            return rollout.devices.emplace_back(
                choose_allowed(graph, order[place], logits, greedy ? nullptr : &random));
        });
        return rollout;
    }

    GradientSummary add_gradient(const GradientTask& task, std::span<float> gradient) const override {
        check_fits(task.graph, shape_.devices, shape_.kinds);
        const SequenceModule now(shape_, parameters_, task.weights, true);
        std::optional<SequenceModule> before;
        if (!task.weights_before.empty()) before.emplace(shape_, parameters_, task.weights_before, false);
        Climb climb;
        const std::size_t most = Seq2Seq::batch(shape_, task.graph.nodes);
        for_each_batch(task, most, [&](std::size_t first, std::size_t last) {
            const std::vector<GroupId>& order = task.rollouts[first].nodes;
            const GroupFeatures features = group_features(task.graph, order, shape_.neighbours);
            const auto device = [&](std::size_t i, std::size_t place) {
                return task.rollouts[i].devices[place];
            };
            const auto previous = [&](std::size_t i, std::size_t place) {
                return place == 0 ? shape_.devices : device(i, place - 1);
            };
            const auto advantage = [&](std::size_t i, std::size_t place) {
                return task.advantages[i][place];
            };
            Seq2Seq::climb(climb, task, now.placer(), now.inputs(features),
                           before ? &before->placer() : nullptr,
                           before ? before->inputs(features) : at::Tensor(),
                           {gather_decisions<std::int64_t>(first, last, order.size(), torch::kLong, previous),
                            gather_decisions<std::int64_t>(first, last, order.size(), torch::kLong, device),
                            forbidden_devices(task.graph, order).unsqueeze(0),
                            gather_decisions<float>(first, last, order.size(), torch::kFloat, advantage)});
        });
        add_gradients(now.weights(), gradient);
        return climb.summary();
    }

private:
    SequenceNetwork shape_;
    std::vector<PolicyParameter> parameters_;
};

}  // namespace

std::unique_ptr<Policy> make_sequence_policy(const SequenceNetwork& network) {
    return std::make_unique<SequencePolicy>(network);
}

}  // namespace placewright
