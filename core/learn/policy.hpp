// SPDX-License-Identifier: MIT
// Interface of policies: they draw placements, and compute the gradient that makes given decisions more
// likely.
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

/// A parameter tensor: flat and row-major. Initially uniform in [centre - spread, centre + spread].
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
    /// Linear map initialised as in Glorot and Bengio (2010): spread sqrt(6 / (in + out)); shape [out, in].
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
    Placement start;                     ///< initial placement
    std::vector<GroupId> nodes;          ///< [decision]: the group; a group may occur several times
    std::vector<std::uint16_t> devices;  ///< [decision]: index among PolicyGraph::choices.devices()
    std::vector<std::uint16_t>
        clusters;  ///< [decision]: cluster of the group, in a hierarchical policy; empty for others

    bool operator==(const Rollout&) const = default;
};

// Policies know no rules that keep ops apart: what they decide is mended by obeying() before it is scored, as
// in every search, and they learn the score of what became of it.

/// Returns `start`, and the placement after each decision.
std::vector<Placement> placements_along(const PolicyGraph& graph, const Rollout& rollout);
Placement last_placement(const PolicyGraph& graph, const Rollout& rollout);

/// Input of add_gradient, which computes the gradient of
///   sum over rollouts and decisions of advantage * log pi(decision) + entropy_weight * H(pi(.))
/// or, with weights before (proximal policy optimization; Schulman et al., 2017), of
///   sum of advantage * pi / pi_before + entropy_weight * H - divergence_weight * KL(pi_before || pi).
/// In policies with clusters, the choices of clusters count as decisions after those of devices, with the
/// advantage of the last one; only one device per cluster is decided on, see HierarchicalNetwork.
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
    double entropy = 0;     ///< nats, mean over the decisions that have a choice
    double divergence = 0;  ///< KL(before || now) in nats, likewise; 0 without weights before
    double objective = 0;   ///< value of the objective
};

/// A policy has no state: the caller keeps the weights, so that workers share a policy, and any number of
/// threads may use it.
class Policy {
public:
    virtual ~Policy() = default;

    virtual const std::vector<PolicyParameter>& parameters() const = 0;

    /// Returns whether the policy changes a placement node by node, so that the placement after each decision
    /// can be scored; other policies decide on the whole placement, and their start does not matter.
    virtual bool improves() const = 0;

    /// Decides on the nodes of `order`, which may contain nodes more than once if the policy improves; other
    /// policies read the groups in this order. `greedy`: takes the most likely device (the first of equals)
    /// each time; `random` is then not used.
    virtual Rollout roll_out(const PolicyGraph& graph, std::span<const float> weights, const Placement& start,
                             std::span<const GroupId> order, Random& random, bool greedy) const = 0;

    /// Adds the gradient to `gradient`, which has the size of the weights.
    virtual GradientSummary add_gradient(const GradientTask& task, std::span<float> gradient) const = 0;

    /// Returns whether a rollout decides on the groups of its order alone, and all others stay where it
    /// starts. The orders of other policies hold all groups that have a choice.
    virtual bool completes() const { return false; }

    /// Returns the rollout that ends in `placement` and decides on the groups of `order`, except those on a
    /// device that no group may move to.
    virtual Rollout leading_to(const PolicyGraph& graph, const Placement& placement,
                               std::span<const GroupId> order) const {
        Rollout rollout{placement, {}, {}, {}};
        for (const GroupId group : order) {
            const std::uint16_t device = graph.index_of(placement[group]);
            if (device == graph.devices) continue;
            rollout.nodes.push_back(group);
            rollout.devices.push_back(device);
        }
        return rollout;
    }

    /// Preferred number of rollouts of a graph per call of add_gradient.
    virtual std::uint32_t batch_size() const { return 1; }

    std::size_t size() const;
    std::vector<float> initial_weights(std::uint64_t seed) const;
};

/// Draws an index with these probabilities, which are not negative and add up to about 1.
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
