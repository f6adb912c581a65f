// SPDX-License-Identifier: MIT
#include "core/learn/list_policy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/learn/linear_map.hpp"
#include "core/learn/policies.hpp"
#include "core/learn/torch_module.hpp"
#include "core/learn/training_schema.hpp"

namespace placewright {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

struct ListOptions : PolicyOptions {
    std::uint32_t width = 32;
    std::uint32_t rounds = 3;
    std::uint32_t hidden = 48;
    double foresight = 8;

    ListOptions() {
        measure = "logarithm";
        baseline = "graph";
        graph_episodes = 8;
        part_episodes = 0.5;
        entropy_weight = 1e-3;
        final_entropy_weight = 0;
        final_learning_rate = 1e-5;
    }
};

const OptionSchema<ListOptions>& list_schema() {
    static const auto schema = [] {
        OptionSchema<ListOptions> all;
        all.add("width", &ListOptions::width, 1, 256, "Width of a group's embedding.")
            .add("rounds", &ListOptions::rounds, 0, 64,
                 "Rounds of messages: distance over which groups influence each other.")
            .add("hidden", &ListOptions::hidden, 1, 1024,
                 "Width of the hidden layers of the score of a device.")
            .add("foresight", &ListOptions::foresight, 0, 100,
                 "Penalty on a device's score for finishing the group later than the best device does; an "
                 "untrained policy is a list scheduler.");
        all.add("imitation", &ListOptions::imitation, 0, 1,
                "Share of the episodes that show the best placement known of their network, instead of "
                "drawing "
                "one: imitation.")
            .add("final_imitation", &ListOptions::final_imitation, 0, 1,
                 "This share at the end of the training; linear in between.")
            .add(
                "part_episodes", &ListOptions::part_episodes, 0, 1,
                "Share of the other episodes that decide on a part of a placement, the best one known or one "
                "that the policy drew.");
        add_training(all);
        return all;
    }();
    return schema;
}

}  // namespace

struct ListDecoder::Networks {
    Networks(const ListNetwork& shape, std::span<const float> weights) {
        const std::vector<PolicyParameter> parameters = shape.parameters();
        LinearMapReader reader(parameters, weights);
        input = reader.take();
        for (std::uint32_t i = 0; i < shape.rounds; ++i) {
            auto& round = rounds.emplace_back();
            for (LinearMap& map : round) map = reader.take();
        }
        embedding = reader.take();
        features = reader.take();
        attention = reader.take();
        candidate = reader.take();
        attended = reader.take();
        score = reader.take();
    }

    /// Returns [group * width].
    std::vector<float> embeddings(const PolicyGraph& graph) const {
        const std::vector<float> features_of = ListState::group_features(graph);
        const std::size_t width = input.out;
        std::vector<float> x(graph.nodes * width), y(x.size()), mean(width);
        for (GroupId group = 0; group < graph.nodes; ++group) {
            input.apply(features_of.data() + group * ListNetwork::kGroupFeatures, x.data() + group * width);
            input.rectify(x.data() + group * width);
        }
        for (const auto& [own, parents, children] : rounds) {
            for (GroupId group = 0; group < graph.nodes; ++group) {
                float* to = y.data() + group * width;
                own.apply(x.data() + group * width, to);
                const auto hear = [&](const LinearMap& map, std::span<const GroupId> others) {
                    std::ranges::fill(mean, 0.0F);
                    for (const GroupId other : others) {
                        for (std::size_t i = 0; i < width; ++i) mean[i] += x[other * width + i];
                    }
                    for (float& value : mean)
                        value /= static_cast<float>(std::max<std::size_t>(others.size(), 1));
                    for (std::size_t i = 0; i < width; ++i) to[i] += map.bias[i];
                    map.add(mean.data(), to);
                };
                hear(parents, graph.parents(group));
                hear(children, graph.children(group));
                for (std::size_t i = 0; i < width; ++i) to[i] = x[group * width + i] + std::max(to[i], 0.0F);
            }
            x.swap(y);
        }
        return x;
    }

    LinearMap input, embedding, features, attention, candidate, attended, score;
    std::vector<std::array<LinearMap, 3>> rounds;  ///< own, parents, children
};

ListDecoder::ListDecoder(const PolicyGraph& graph, const ListNetwork& network, std::span<const float> weights)
    : graph_(graph),
      network_(network),
      networks_(std::make_unique<Networks>(network, weights)),
      order_(list_order(graph)),
      state_(graph, order_),
      embedded_(std::size_t{graph.nodes} * network.hidden),
      decided_(graph.nodes),
      features_(ListNetwork::kDeviceFeatures),
      hidden_(std::size_t{graph.devices} * network.hidden),
      attended_(network.hidden),
      second_(network.hidden),
      scores_(graph.devices),
      weights_(graph.devices) {
    const std::vector<float> embeddings = networks_->embeddings(graph);
    for (GroupId group = 0; group < graph.nodes; ++group) {
        float* to = embedded_.data() + std::size_t{group} * network.hidden;
        networks_->embedding.apply(embeddings.data() + std::size_t{group} * network.width, to);
        for (std::size_t i = 0; i < network.hidden; ++i) to[i] += networks_->features.bias[i];
    }
}

ListDecoder::~ListDecoder() = default;

void ListDecoder::score(GroupId group) {
    const std::size_t devices = graph_.devices, hidden = network_.hidden;
    const float* embedded = embedded_.data() + std::size_t{group} * hidden;
    const auto allowed = [&](std::size_t device) {
        return graph_.allowed[std::size_t{group} * devices + device] != 0;
    };
    float most = kNever;
    for (std::size_t device = 0; device < devices; ++device) {
        if (!allowed(device)) continue;
        float* values = hidden_.data() + device * hidden;
        state_.device_features(device, features_.data());
        std::copy_n(embedded, hidden, values);
        networks_->features.add(features_.data(), values);
        networks_->features.rectify(values);
        networks_->attention.apply(values, &weights_[device]);
        most = std::max(most, weights_[device]);
    }
    std::ranges::fill(second_, 0.0F);
    float sum = 0;
    for (std::size_t device = 0; device < devices; ++device) {
        if (!allowed(device)) continue;
        const float weight = std::exp(weights_[device] - most);
        sum += weight;
        for (std::size_t i = 0; i < hidden; ++i) second_[i] += weight * hidden_[device * hidden + i];
    }
    for (float& value : second_) value /= sum;
    networks_->attended.apply(second_.data(), attended_.data());
    for (std::size_t i = 0; i < hidden; ++i) attended_[i] += networks_->candidate.bias[i];
    for (std::size_t device = 0; device < devices; ++device) {
        scores_[device] = kNever;
        if (!allowed(device)) continue;
        std::ranges::copy(attended_, second_.begin());
        networks_->candidate.add(hidden_.data() + device * hidden, second_.data());
        networks_->candidate.rectify(second_.data());
        networks_->score.apply(second_.data(), &scores_[device]);
        scores_[device] += state_.preference(network_, device);
    }
}

Rollout ListDecoder::decode(const Placement& start, std::span<const GroupId> decided, Random& random,
                            bool greedy, float temperature) {
    std::ranges::fill(decided_, std::uint8_t{0});
    for (const GroupId group : decided) decided_[group] = 1;
    Rollout rollout{start, {}, {}, {}};
    rollout.nodes.reserve(decided.size());
    state_.begin(start, decided_);
    for (std::size_t place = 0; place < order_.size(); ++place) {
        const GroupId group = order_[place];
        if (decided_[group] == 0) {
            state_.place(place, state_.device(group));
            continue;
        }
        state_.turn_to(place);
        score(group);
        const auto best = std::ranges::max_element(scores_);
        auto device = static_cast<std::uint16_t>(best - scores_.begin());
        if (!greedy) {
            float sum = 0;
            for (std::size_t i = 0; i < scores_.size(); ++i)
                sum += weights_[i] = std::exp((scores_[i] - *best) / temperature);
            for (float& weight : weights_) weight /= sum;
            device = draw_index(weights_, random);
        }
        state_.place(place, device);
        rollout.nodes.push_back(group);
        rollout.devices.push_back(device);
    }
    return rollout;
}

std::vector<float> ListDecoder::probabilities(const Rollout& rollout) {
    std::ranges::fill(decided_, std::uint8_t{0});
    for (const GroupId group : rollout.nodes) decided_[group] = 1;
    state_.begin(rollout.start, decided_);
    std::vector<float> probabilities;
    std::size_t decision = 0;
    for (std::size_t place = 0; place < order_.size(); ++place) {
        if (decided_[order_[place]] == 0) {
            state_.place(place, state_.device(order_[place]));
            continue;
        }
        state_.turn_to(place);
        score(order_[place]);
        const float most = *std::ranges::max_element(scores_);
        float sum = 0;
        for (float& score : scores_) sum += score = std::exp(score - most);
        for (const float score : scores_) probabilities.push_back(score / sum);
        state_.place(place, rollout.devices[decision++]);
    }
    return probabilities;
}

Rollout ListPolicy::roll_out(const PolicyGraph& graph, std::span<const float> weights, const Placement& start,
                             std::span<const GroupId> order, Random& random, bool greedy) const {
    return ListDecoder(graph, network_, weights).decode(start, order, random, greedy);
}

Rollout ListPolicy::leading_to(const PolicyGraph& graph, const Placement& placement,
                               std::span<const GroupId> order) const {
    std::vector<std::uint8_t> decided(graph.nodes);
    for (const GroupId group : order) decided[group] = 1;
    std::vector<GroupId> own = list_order(graph);
    std::erase_if(own, [&](GroupId group) { return decided[group] == 0; });
    return Policy::leading_to(graph, placement, own);
}

GradientSummary ListPolicy::add_gradient(const GradientTask& task, std::span<float> gradient) const {
    return torch_module().list_gradient(network_, parameters_, task, gradient);
}

PolicyInfo list_policy() {
    return {
        "list-policy", "List policy",
        "A list scheduler whose choice of a device is learned: a graph neural network scores every device "
        "for each group in turn.",
        list_schema().infos(), [](const OptionValues& values, const PolicySize&) {
            const ListOptions options = list_schema().parse(values);
            PolicyDesign design;
            design.policy = std::make_shared<ListPolicy>(ListNetwork{
                options.width, options.rounds, options.hidden, static_cast<float>(options.foresight)});
            design.training = options;
            design.allow_cpu = options.allow_cpu;
            design.any_devices = true;
            return design;
        }};
}

}  // namespace placewright
