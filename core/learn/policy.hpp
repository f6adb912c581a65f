// SPDX-License-Identifier: MIT
// What policies have in common: they draw placements, and tell how their weights make what they drew more likely.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.hpp"
#include "core/learn/policy_graph.hpp"

namespace placewright {

/// A tensor of weights: flat and row-major, one parameter after the other. At first uniform in [centre - spread, centre + spread].
struct PolicyParameter {
    std::string name;  ///< "encoder.weight_ih"
    std::vector<std::int64_t> shape;
    double spread = 0;
    double centre = 0;

    std::size_t size() const {
        std::size_t size = 1;
        for (const std::int64_t extent : shape) size *= static_cast<std::size_t>(extent);
        return size;
    }
    /// Of a linear map as Glorot and Bengio (2010) have it: spread sqrt(6 / (in + out)); shape [out, in].
    static PolicyParameter linear(std::string name, std::size_t out, std::size_t in, double gain = 1) {
        const double spread = gain * std::sqrt(6.0 / static_cast<double>(in + out));
        return {std::move(name), {static_cast<std::int64_t>(out), static_cast<std::int64_t>(in)}, spread};
    }
    static PolicyParameter bias(std::string name, std::size_t size, double centre = 0) {
        return {std::move(name), {static_cast<std::int64_t>(size)}, 0, centre};
    }
};

/// A placement drawn decision by decision.
struct Rollout {
    Placement start;                      ///< what it began with
    std::vector<GroupId> nodes;           ///< [decision]: which group, any number of times
    std::vector<std::uint16_t> devices;   ///< [decision]: index among PolicyGraph::choices.devices()
    std::vector<std::uint16_t> clusters;  ///< [decision]: of the group, in a hierarchical policy; empty for others

    bool operator==(const Rollout&) const = default;
};

/// start, and what it is after each decision.
std::vector<Placement> placements_along(const PolicyGraph& graph, const Rollout& rollout);
Placement last_placement(const PolicyGraph& graph, const Rollout& rollout);

/// What add_gradient works on: the gradient of
///   sum over rollouts and decisions of advantage * log pi(decision) + entropy_weight * H(pi(.))
/// or, with weights before (proximal policy optimization; Schulman et al., 2017), of
///   sum of advantage * pi / pi_before + entropy_weight * H - divergence_weight * KL(pi_before || pi).
/// For policies with clusters their choices count as decisions behind those of devices, with the advantage of the last one; of the devices
/// in a cluster only one is decided on, see HierarchicalNetwork.
struct GradientTask {
    const PolicyGraph& graph;
    std::span<const float> weights;
    std::span<const float> weights_before;  ///< empty: not proximal
    std::span<const Rollout> rollouts;
    std::span<const std::vector<double>> advantages;  ///< [rollout][decision of devices]
    double entropy_weight = 0;
    double divergence_weight = 0;
};

struct GradientSummary {
    double entropy = 0;     ///< nats, the mean over the decisions that have a choice
    double divergence = 0;  ///< KL(before || now) in nats, likewise; 0 without weights before
    double objective = 0;   ///< what the gradient is of
};

/// Without state: weights are its caller's, so that workers share a policy, and any number of threads may use it.
class Policy {
public:
    virtual ~Policy() = default;

    virtual const std::vector<PolicyParameter>& parameters() const = 0;

    /// Whether it changes a placement node by node, so that what is after each decision is a placement of its own; others decide on the
    /// whole of it, and what they begin with does not matter.
    virtual bool improves() const = 0;

    /// Decides on the nodes of `order`, which may hold nodes more than once if the policy improves; others read the groups in this order.
    /// `greedy`: takes the most likely device (the first of equals) each time; `random` is not used then.
    virtual Rollout roll_out(const PolicyGraph& graph, std::span<const float> weights, const Placement& start,
                             std::span<const GroupId> order, Random& random, bool greedy) const = 0;

    /// Adds the gradient to `gradient`, which has the size of the weights.
    virtual GradientSummary add_gradient(const GradientTask& task, std::span<float> gradient) const = 0;

    /// Rollouts of a graph that add_gradient had best be given at a time.
    virtual std::uint32_t batch_size() const { return 1; }

    std::size_t size() const;
    std::vector<float> initial_weights(std::uint64_t seed) const;
};

/// An index drawn with these probabilities, which are not negative and add up to about 1.
inline std::uint16_t draw_index(std::span<const float> probabilities, Random& random) {
    double left = random.uniform();
    std::uint16_t last = 0;
    for (std::uint16_t i = 0; i < probabilities.size(); ++i) {
        if (probabilities[i] <= 0) continue;
        last = i;
        left -= static_cast<double>(probabilities[i]);
        if (left < 0) break;
    }
    return last;
}

}  // namespace placewright
