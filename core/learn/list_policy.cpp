// SPDX-License-Identifier: MIT
#include "core/learn/list_policy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/learn/dense.hpp"
#include "core/learn/policies.hpp"
#include "core/learn/torch_module.hpp"
#include "core/learn/training_schema.hpp"

namespace placewright {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

void rectify(std::vector<float>& values) {
    for (float& value : values) value = std::max(value, 0.0F);
}

/// Rows that are all equal to this one.
std::vector<float> rows_of(const float* row, std::size_t rows, std::size_t width) {
    std::vector<float> all;
    all.reserve(rows * width);
    for (std::size_t i = 0; i < rows; ++i) all.insert(all.end(), row, row + width);
    return all;
}

/// Reads the maps before those of the head. Returns the embeddings of the groups: [group * width].
std::vector<float> embeddings_of(const PolicyGraph& graph, const ListNetwork& network, LayerReader& reader) {
    const std::vector<float> features = ListState::group_features(graph);
    const std::size_t width = network.width;
    const Linear input = reader.linear();
    std::vector<float> x = rows_of(input.bias(), graph.nodes, width), means(x.size());
    input.add(features.data(), graph.nodes, x.data());
    rectify(x);
    for (std::uint32_t round = 0; round < network.rounds; ++round) {
        const Linear own = reader.linear();
        std::vector<float> heard = rows_of(own.bias(), graph.nodes, width);
        own.add(x.data(), graph.nodes, heard.data());
        for (const bool down : {true, false}) {
            const Linear map = reader.linear();
            std::ranges::fill(means, 0.0F);
            for (GroupId group = 0; group < graph.nodes; ++group) {
                const auto others = down ? graph.parents(group) : graph.children(group);
                float* const mean = means.data() + group * width;
                for (const GroupId other : others) {
                    for (std::size_t i = 0; i < width; ++i) mean[i] += x[other * width + i];
                }
                for (std::size_t i = 0; i < width && !others.empty(); ++i)
                    mean[i] /= static_cast<float>(others.size());
                for (std::size_t i = 0; i < width; ++i) heard[group * width + i] += map.bias()[i];
            }
            map.add(means.data(), graph.nodes, heard.data());
        }
        rectify(heard);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] += heard[i];
    }
    return x;
}

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

/// The maps that score a device.
struct ListDecoder::Head {
    explicit Head(LayerReader& reader)
        : embedding(reader.linear()),
          features(reader.linear()),
          attention(reader.linear()),
          candidate(reader.linear()),
          attended(reader.linear()),
          score(reader.linear()) {}

    Linear embedding, features, attention, candidate, attended, score;
};

ListDecoder::ListDecoder(const PolicyGraph& graph, const ListNetwork& network, std::span<const float> weights)
    : graph_(graph),
      network_(network),
      weights_(weights.begin(), weights.end()),
      order_(list_order(graph)),
      state_(graph, order_),
      decided_(graph.nodes),
      features_(graph.devices * ListNetwork::kDeviceFeatures),
      first_(std::size_t{graph.devices} * network.hidden),
      second_(first_.size()),
      mean_(network.hidden),
      attended_(network.hidden),
      attention_(graph.devices),
      scores_(graph.devices) {
    const std::vector<PolicyParameter> parameters = network.parameters();
    LayerReader reader(parameters, weights_);
    const std::vector<float> embeddings = embeddings_of(graph, network, reader);
    head_ = std::make_unique<const Head>(reader);
    embedded_ = rows_of(head_->embedding.bias(), graph.nodes, network.hidden);
    head_->embedding.add(embeddings.data(), graph.nodes, embedded_.data());
    for (std::size_t i = 0; i < embedded_.size(); ++i)
        embedded_[i] += head_->features.bias()[i % network.hidden];
}

ListDecoder::~ListDecoder() = default;

void ListDecoder::score(GroupId group) {
    const std::size_t devices = graph_.devices, hidden = network_.hidden;
    const float* embedded = embedded_.data() + std::size_t{group} * hidden;
    const auto allowed = [&](std::size_t device) {
        return graph_.allowed[std::size_t{group} * devices + device] != 0;
    };
    for (std::size_t device = 0; device < devices; ++device) {
        state_.device_features(device, features_.data() + device * ListNetwork::kDeviceFeatures);
        std::copy_n(embedded, hidden, first_.data() + device * hidden);
    }
    head_->features.add(features_.data(), devices, first_.data());
    rectify(first_);
    std::ranges::fill(attention_, *head_->attention.bias());
    head_->attention.add(first_.data(), devices, attention_.data());

    float most = kNever, sum = 0;
    for (std::size_t device = 0; device < devices; ++device) {
        if (allowed(device)) most = std::max(most, attention_[device]);
    }
    std::ranges::fill(mean_, 0.0F);
    for (std::size_t device = 0; device < devices; ++device) {
        if (!allowed(device)) continue;
        const float weight = std::exp(attention_[device] - most);
        sum += weight;
        for (std::size_t i = 0; i < hidden; ++i) mean_[i] += weight * first_[device * hidden + i];
    }
    for (float& value : mean_) value /= sum;
    std::copy_n(head_->attended.bias(), hidden, attended_.begin());
    head_->attended.add(mean_.data(), 1, attended_.data());
    for (std::size_t i = 0; i < hidden; ++i) attended_[i] += head_->candidate.bias()[i];
    for (std::size_t device = 0; device < devices; ++device)
        std::ranges::copy(attended_, second_.data() + device * hidden);
    head_->candidate.add(first_.data(), devices, second_.data());
    rectify(second_);
    std::ranges::fill(scores_, *head_->score.bias());
    head_->score.add(second_.data(), devices, scores_.data());
    for (std::size_t device = 0; device < devices; ++device)
        scores_[device] = allowed(device) ? scores_[device] + state_.preference(network_, device) : kNever;
}

Rollout ListDecoder::decode(const Placement& start, std::span<const GroupId> decided, Random& random,
                            bool greedy) {
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
                sum += attention_[i] = std::exp(scores_[i] - *best);
            for (float& weight : attention_) weight /= sum;
            device = draw_index(attention_, random);
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
