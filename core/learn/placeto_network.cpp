// SPDX-License-Identifier: MIT
#include "core/learn/placeto_network.hpp"

#include <algorithm>
#include <cmath>

#include "core/learn/placeto_values.hpp"

namespace placewright {
namespace {

constexpr std::array kDirections{"down", "up"};
constexpr std::array kSetNames{"ancestors", "descendants", "others"};

/// Writes the softmax of logits.
template <class T>
void softmax(std::span<const float> logits, std::vector<T>& probabilities) {
    const float largest = std::ranges::max(logits);
    T sum = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
        probabilities[i] = std::exp(static_cast<T>(logits[i]) - static_cast<T>(largest));
        sum += probabilities[i];
    }
    for (T& probability : probabilities) probability /= sum;
}

/// A policy's decisions along an episode.
class Walk {
public:
    Walk(const PlacetoNetwork& network, std::span<const PolicyParameter> parameters,
         std::span<const float> weights, const PolicyGraph& graph)
        : trace_(network, graph),
          values_(network, parameters, weights, graph),
          probabilities_(graph.devices) {}

    /// Returns the probabilities of the devices for the current node. Between two calls only the device of
    /// the current node may change.
    const std::vector<float>& at(const PlacetoState& state) {
        if (trace_.full()) {
            trace_.clear();
            values_.clear();
        }
        trace_.add(state);
        values_.extend(trace_);
        softmax(values_.logits(trace_.decisions() - 1), probabilities_);
        return probabilities_;
    }

private:
    PlacetoTrace trace_;
    PlacetoValues values_;
    std::vector<float> probabilities_;
};

/// Adds up over decisions the objective of GradientTask and its derivatives by the logits.
class DecisionSum {
public:
    DecisionSum(const GradientTask& task, std::size_t devices)
        : task_(task), now_(devices), before_(devices) {}

    /// `before`: logits by the weights before; empty if not proximal. `slope` [device] is written.
    void add(std::span<const float> logits, std::span<const float> before, std::uint16_t device,
             double advantage, float* slope) {
        softmax(logits, now_);
        double entropy = 0, divergence = 0, choices = 0;
        for (const double p : now_) entropy -= p > 0 ? p * std::log(p) : 0;
        double pull = advantage;  // towards the device
        if (!before.empty()) {
            softmax(before, before_);
            pull *= now_[device] / before_[device];
        }
        for (std::size_t i = 0; i < now_.size(); ++i) {
            slope[i] = 0;
            if (std::isinf(logits[i])) continue;
            ++choices;
            const double p = now_[i], log = p > 0 ? std::log(p) : 0;
            double each = pull * ((i == device ? 1 : 0) - p) - task_.entropy_weight * p * (log + entropy);
            if (!before.empty()) {
                each += task_.divergence_weight * (before_[i] - p);
                divergence += before_[i] > 0 ? before_[i] * (std::log(before_[i]) - log) : 0;
            }
            slope[i] = static_cast<float>(each);
        }
        sums_.objective += before.empty() ? advantage * std::log(now_[device]) : pull;
        sums_.objective += task_.entropy_weight * entropy - task_.divergence_weight * divergence;
        sums_.entropy += entropy;
        sums_.divergence += divergence;
        decisions_ += choices > 1 ? 1 : 0;
    }
    GradientSummary summary() const {
        const double each = decisions_ > 0 ? 1 / decisions_ : 0;
        return {sums_.entropy * each, sums_.divergence * each, sums_.objective};
    }

private:
    const GradientTask& task_;
    std::vector<double> now_, before_;  ///< probabilities
    GradientSummary sums_;
    double decisions_ = 0;  ///< that have a choice
};

}  // namespace

std::size_t PlacetoNetwork::head_inputs() const {
    const std::size_t common =
        aggregation == PlacetoAggregation::flat ? flat_nodes * node_features() : (kSets + 1) * embedding();
    if (one_hot()) return common;
    return common + kDeviceFeatures + (aggregation == PlacetoAggregation::flat ? 0 : kSets * embedding());
}

std::vector<PolicyParameter> PlacetoNetwork::parameters() const {
    std::vector<PolicyParameter> all;
    const auto add = [&](const std::string& name, std::size_t out, std::size_t in, double gain = 1) {
        all.push_back(PolicyParameter::linear(name + ".weight", out, in, gain));
        all.push_back(PolicyParameter::bias(name + ".bias", out));
    };
    const auto number = [](std::size_t i) { return std::to_string(i).insert(0, 1, '.'); };
    if (aggregation == PlacetoAggregation::messages) {
        for (std::size_t i = 0; i <= layers; ++i)
            add("transform" + number(i), width, i == 0 ? node_features() : width);
        for (const std::string way : kDirections) {
            for (const char* part : {".f", ".g"}) {
                for (std::size_t i = 0; i < layers; ++i) add(way + part + number(i), width, width);
            }
        }
    }
    if (aggregation != PlacetoAggregation::flat) {
        for (const std::string set : kSetNames) {
            for (const char* part : {".l", ".h"}) add(set + part, embedding(), embedding());
        }
    }
    add("head.0", hidden, head_inputs());
    // Initially all devices are about equally likely.
    add("head.1", head_outputs(), hidden, 0.1);
    return all;
}

Rollout PlacetoPolicy::roll_out(const PolicyGraph& graph, std::span<const float> weights,
                                const Placement& start, std::span<const GroupId> order, Random& random,
                                bool greedy) const {
    PlacetoState state(graph, start);
    Walk walk(network_, parameters_, weights, graph);
    Rollout rollout;
    rollout.start = start;
    for (const GroupId node : order) {
        state.turn_to(node);
        const std::vector<float>& probabilities = walk.at(state);
        const auto device =
            greedy
                ? static_cast<std::uint16_t>(std::ranges::max_element(probabilities) - probabilities.begin())
                : draw_index(probabilities, random);
        rollout.nodes.push_back(node);
        rollout.devices.push_back(device);
        state.decide(device);
    }
    return rollout;
}

std::vector<float> PlacetoPolicy::probabilities(const PolicyGraph& graph, std::span<const float> weights,
                                                const PlacetoState& state) const {
    return Walk(network_, parameters_, weights, graph).at(state);
}

GradientSummary PlacetoPolicy::add_gradient(const GradientTask& task, std::span<float> gradient) const {
    const PolicyGraph& graph = task.graph;
    const bool proximal = !task.weights_before.empty();
    PlacetoTrace trace(network_, graph);
    PlacetoValues now(network_, parameters_, task.weights, graph);
    PlacetoValues before(network_, parameters_, proximal ? task.weights_before : task.weights, graph);
    DecisionSum sum(task, graph.devices);
    for (std::size_t i = 0; i < task.rollouts.size(); ++i) {
        const Rollout& rollout = task.rollouts[i];
        PlacetoState state(graph, rollout.start);
        for (std::size_t step = 0, begin = 0; step < rollout.nodes.size(); ++step) {
            state.turn_to(rollout.nodes[step]);
            trace.add(state);
            state.decide(rollout.devices[step]);
            if (!trace.full() && step + 1 < rollout.nodes.size()) continue;
            now.extend(trace);
            if (proximal) before.extend(trace);
            Table slope(graph.devices, trace.decisions());
            for (std::size_t decision = 0; decision < trace.decisions(); ++decision, ++begin)
                sum.add(now.logits(decision), proximal ? before.logits(decision) : std::span<const float>(),
                        rollout.devices[begin], task.advantages[i][begin], slope[decision]);
            now.add_slopes(trace, std::move(slope), gradient);
            trace.clear();
            now.clear();
            before.clear();
        }
    }
    return sum.summary();
}

}  // namespace placewright
