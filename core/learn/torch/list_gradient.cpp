// SPDX-License-Identifier: MIT
// The network of list_policy.cpp in differentiable form. What it reads does not depend on the weights once
// the decisions are known, so all decisions of all rollouts are differentiated together.
#include "core/learn/torch/layers.hpp"
#include "core/learn/torch/networks.hpp"

namespace placewright {
namespace {

/// Inputs of the decisions of rollouts of one graph.
struct ListInputs {
    ListInputs(const ListNetwork& network, const PolicyGraph& graph, const GradientTask& task) {
        const std::vector<GroupId> order = list_order(graph);
        ListState state(graph, order);
        std::vector<float> features, preferences, advantages_of;
        std::vector<std::int64_t> groups_of, taken;
        std::vector<std::uint8_t> forbidden_of;
        const std::size_t devices = graph.devices;
        for (std::size_t r = 0; r < task.rollouts.size(); ++r) {
            const Rollout& rollout = task.rollouts[r];
            std::vector<std::uint8_t> decided(graph.nodes);
            for (const GroupId group : rollout.nodes) decided[group] = 1;
            state.begin(rollout.start, decided);
            std::size_t next = 0;
            for (std::size_t place = 0; place < order.size(); ++place) {
                const GroupId group = order[place];
                if (decided[group] == 0) {
                    state.place(place, state.device(group));
                    continue;
                }
                state.turn_to(place);
                features.resize(features.size() + devices * ListNetwork::kDeviceFeatures);
                float* own = features.data() + features.size() - devices * ListNetwork::kDeviceFeatures;
                for (std::size_t i = 0; i < devices; ++i) {
                    state.device_features(i, own + i * ListNetwork::kDeviceFeatures);
                    preferences.push_back(state.preference(network, i));
                    forbidden_of.push_back(graph.allowed[std::size_t{group} * devices + i] == 0 ? 1 : 0);
                }
                groups_of.push_back(group);
                taken.push_back(rollout.devices[next]);
                advantages_of.push_back(static_cast<float>(task.advantages[r][next]));
                state.place(place, rollout.devices[next++]);
            }
        }
        decisions = static_cast<std::int64_t>(groups_of.size());
        const auto width = static_cast<std::int64_t>(devices);
        device_features =
            tensor_of(features, {decisions, width, static_cast<std::int64_t>(ListNetwork::kDeviceFeatures)},
                      torch::kFloat);
        preference = tensor_of(preferences, {decisions, width}, torch::kFloat);
        forbidden = tensor_of(forbidden_of, {decisions, width}, torch::kByte).to(torch::kBool);
        groups = tensor_of(groups_of, {decisions}, torch::kLong);
        choices = tensor_of(taken, {decisions}, torch::kLong);
        advantages = tensor_of(advantages_of, {decisions}, torch::kFloat);

        group_features =
            tensor_of(ListState::group_features(graph),
                      {graph.nodes, static_cast<std::int64_t>(ListNetwork::kGroupFeatures)}, torch::kFloat);
        for (const bool down : {true, false}) {
            std::vector<std::int64_t> sender, hearer;
            std::vector<float> share;
            for (GroupId node = 0; node < graph.nodes; ++node) {
                const auto others = down ? graph.parents(node) : graph.children(node);
                sender.insert(sender.end(), others.begin(), others.end());
                hearer.insert(hearer.end(), others.size(), node);
                share.push_back(others.empty() ? 0 : 1 / static_cast<float>(others.size()));
            }
            const auto count = static_cast<std::int64_t>(sender.size());
            senders.push_back(tensor_of(sender, {count}, torch::kLong));
            hearers.push_back(tensor_of(hearer, {count}, torch::kLong));
            shares.push_back(tensor_of(share, {graph.nodes, 1}, torch::kFloat));
        }
    }

    std::int64_t decisions = 0;
    at::Tensor group_features;                         ///< [group, feature]
    std::vector<at::Tensor> senders, hearers, shares;  ///< of parents, children
    at::Tensor device_features;                        ///< [decision, device, feature]
    at::Tensor preference, forbidden;                  ///< [decision, device]
    at::Tensor groups, choices, advantages;            ///< [decision]
};

class ListModule {
public:
    ListModule(const ListNetwork& shape, const std::vector<PolicyParameter>& parameters,
               std::span<const float> weights, bool learns)
        : reader_(parameters, weights, learns), input_(reader_) {
        for (std::uint32_t i = 0; i < shape.rounds; ++i) {
            auto& round = rounds_.emplace_back();
            for (int map = 0; map < 3; ++map) round.emplace_back(reader_);
        }
        for (int map = 0; map < 6; ++map) device_.emplace_back(reader_);
    }

    const std::vector<at::Tensor>& weights() const { return reader_.tensors(); }

    /// Returns [decision, device], -inf for devices that a group may not be on.
    at::Tensor logits(const ListInputs& in) const {
        at::Tensor x = torch::relu(input_(in.group_features));
        for (const auto& round : rounds_) {
            at::Tensor sum = round[0](x);
            for (std::size_t way = 0; way < 2; ++way) {
                const at::Tensor mean =
                    torch::zeros_like(x).index_add(0, in.hearers[way], x.index_select(0, in.senders[way])) *
                    in.shares[way];
                sum = sum + round[1 + way](mean);
            }
            x = x + torch::relu(sum);
        }
        const at::Tensor own = device_[0](x).index_select(0, in.groups).unsqueeze(1);
        const at::Tensor first = torch::relu(own + device_[1](in.device_features));
        const at::Tensor attention = torch::softmax(without(device_[2](first).squeeze(-1), in.forbidden), -1);
        const at::Tensor attended = torch::bmm(attention.unsqueeze(1), first);
        const at::Tensor second = torch::relu(device_[3](first) + device_[4](attended));
        return without(device_[5](second).squeeze(-1) + in.preference, in.forbidden);
    }

private:
    WeightReader reader_;
    LinearLayer input_;
    std::vector<std::vector<LinearLayer>> rounds_;  ///< own, parents, children
    std::vector<LinearLayer> device_;               ///< group, features, attention, own, attended, score
};

}  // namespace

GradientSummary list_gradient(const ListNetwork& network, const std::vector<PolicyParameter>& parameters,
                              const GradientTask& task, std::span<float> gradient) {
    const ListModule now(network, parameters, task.weights, true);
    const ListInputs inputs(network, task.graph, task);
    Climb climb;
    if (inputs.decisions > 0) {
        at::Tensor before;
        if (!task.weights_before.empty()) {
            const torch::NoGradGuard none;
            before = ListModule(network, parameters, task.weights_before, false).logits(inputs);
        }
        climb.add(decision_terms(now.logits(inputs), inputs.choices, inputs.advantages, before,
                                 task.entropy_weight, task.divergence_weight));
    }
    add_gradients(now.weights(), gradient);
    return climb.summary();
}

}  // namespace placewright
