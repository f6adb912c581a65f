// SPDX-License-Identifier: MIT
// Synchronous training of a placement policy: every worker draws an episode with the same weights, their
// gradients are summed, and all weights are updated at once (Placeto, section 3.3). The trainer neither
// simulates nor reads files: its caller scores the placements that it asks for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

#include "core/learn/policy.hpp"
#include "core/search/optimizer.hpp"

namespace placewright {

struct TrainingOptions {
    // Episodes. Options marked "improving" have no effect on policies that decide on the whole placement.
    std::uint32_t workers = 8;
    std::uint32_t passes = 1;           ///< improving: number of decisions per node in an episode
    std::string order = "topological";  ///< improving: "topological", "shuffled" (another for each episode)
    std::string start =
        "one-device";  ///< improving: "one-device", "fixed" (random, the same each time), "random", "best"
    // Rewards and advantages
    std::string reward = "intermediate";  ///< improving: "intermediate", "terminal", "best"
    std::uint32_t reward_interval =
        1;  ///< improving, not terminal: number of decisions that are rewarded together
    std::string measure = "time";    ///< "time", "square-root", "logarithm"
    double discount = 1;             ///< improving: weight of a reward that comes one decision later
    std::string baseline = "steps";  ///< "steps", "moving-average", "batch", "graph"
    std::uint32_t baseline_episodes =
        10;  ///< "steps": number of episodes of the same graph in the mean, the newest included
    double baseline_decay = 0.9;  ///< "moving-average": weight of the previous average
    bool standardize = true;      ///< divide advantages by their root mean square, graph by graph
    /// Share of the episodes that show the best placement known of their graph, in place of drawing one:
    /// imitation. Not for policies that improve placements.
    double imitation = 0, final_imitation = 0;
    /// Policies that complete placements: share of the other episodes that decide on a part of a placement,
    /// the best one known or one that the policy drew.
    double part_episodes = 0;
    std::uint32_t graph_episodes = 1;  ///< number of workers that draw episodes of the same graph
    // Updates of the weights
    double learning_rate = 1e-3, final_learning_rate = 1e-4;
    double entropy_weight = 1e-2, final_entropy_weight = 1e-4;
    double gradient_clip = 1.25;  ///< maximum gradient norm; 0: no limit
    std::uint64_t updates = 500;  ///< updates after which the learning rate and the entropy weight reach
                                  ///< their final values, if the length of the training is unknown
    std::uint32_t proximal_steps =
        0;  ///< steps of proximal policy optimization per update; 0: one step of REINFORCE
    double divergence_target = 0.03;  ///< target of their KL divergence in nats, mean over the decisions
};

/// A graph to train on.
struct TrainingGraph {
    std::string name;
    std::shared_ptr<const PolicyGraph> graph;
    double reference_s = 1;  ///< positive; costs are relative to it
};

/// Returns the cost of a placement: its score divided by the reference. Above ten references, as for
/// placements that do not fit, the cost grows with the logarithm, so that such placements do not drown the
/// others.
double policy_cost(const Score& score, double reference_s);

struct Episode {
    std::uint32_t worker = 0;
    std::size_t graph = 0;  ///< index among the graphs
    Rollout rollout;
    std::vector<Placement> placements;  ///< to be scored: all placements that rewards depend on, in the order
                                        ///< of the decisions; none if it shows a known placement
};

struct BestPlacement {
    Placement placement;  ///< empty: none yet
    Score score;

    bool operator==(const BestPlacement&) const = default;
};

/// State from which a training resumes: with the same policy, options, graphs and seed, it continues as if it
/// had never been interrupted.
struct TrainingState {
    std::vector<float> weights;
    std::vector<float> first_moments, second_moments;  ///< of Adam
    std::uint64_t steps = 0;                           ///< of Adam
    double divergence_weight = 1;                      ///< beta
    std::uint64_t updates = 0, evaluations = 0;
    std::vector<std::vector<std::vector<double>>>
        returns;  ///< [graph][episode][decision]: returns of the last episodes, oldest first
    struct Average {
        double value = 0;
        std::uint64_t episodes = 0;

        bool operator==(const Average&) const = default;
    };
    std::vector<Average> averages;    ///< [graph]: moving average of the episodes' mean returns
    std::vector<BestPlacement> best;  ///< [graph]
    std::vector<TrainingPoint> curve;

    bool operator==(const TrainingState&) const = default;
};

/// The other processes that train the same policy; each has some of the workers.
class TrainingPeers {
public:
    virtual ~TrainingPeers() = default;
    virtual std::uint32_t rank() const = 0;
    virtual std::uint32_t size() const = 0;
    /// Returns the messages of all ranks, in the order of the ranks; waits until all have called it. Throws
    /// std::runtime_error if a rank is gone.
    virtual std::vector<std::vector<std::byte>> exchange(std::vector<std::byte> own) = 0;
};

/// Thrown if training leads to weights that are not finite; what() suggests remedies.
class TrainingDiverged : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class Trainer {
public:
    /// `graphs` is not empty. `planned_updates`: total number of updates, if known. `threads` (0: all cores)
    /// draw episodes and differentiate; results depend neither on their number nor on that of the peers.
    Trainer(std::shared_ptr<const Policy> policy, TrainingOptions options, std::vector<TrainingGraph> graphs,
            std::uint64_t seed, std::optional<std::uint64_t> planned_updates = {}, unsigned threads = 0,
            TrainingPeers* peers = nullptr);

    const TrainingOptions& options() const { return options_; }
    const Policy& policy() const { return *policy_; }
    std::span<const TrainingGraph> graphs() const { return graphs_; }
    TrainingPeers* peers() const { return peers_; }
    const TrainingState& state() const { return state_; }
    /// Resumes from `state`. Throws std::invalid_argument for a state of another policy or of other graphs,
    /// PlacementError if these graphs do not allow its best placements.
    void restore(TrainingState state);

    /// Makes placements, those of all peers, the best known of their graphs where they are better; for
    /// imitation. Called by all peers or by none.
    struct KnownPlacement {
        std::size_t graph = 0;
        BestPlacement best;
    };
    void show(std::vector<KnownPlacement> known);

    /// From now on the schedules follow the share of the time that is used, from 0 to 1, in place of planned
    /// updates.
    void set_share(double share) { share_ = share; }

    /// Draws the episodes of the next update, those of this process's workers. Returns the same ones until
    /// finish(). Returns nothing if `stop` was requested before all were drawn.
    std::span<const Episode> begin(const std::stop_token& stop = {});

    /// Takes the scores of the placements of begin(), by episode, and updates the weights. The state stays
    /// unchanged if peers throw.
    void finish(std::span<const std::vector<Score>> scores);

    /// Whether all further episodes show placements, once one is known of each graph.
    bool only_imitates() const;

    /// Returns the number of placements that one update scores, over all workers.
    std::uint64_t evaluations_per_update() const;

    /// Places the graph with the current weights: an episode in which the most likely device is chosen each
    /// time, beginning on one device.
    Rollout predict(const PolicyGraph& graph) const;

private:
    struct Outcome {
        std::uint32_t worker = 0;
        std::size_t graph = 0;
        std::vector<double>
            costs;             ///< of its placements, in the chosen measure; none if it shows a known one
        double last_cost = 0;  ///< of the last placement, without the measure
        BestPlacement best;
    };

    Placement start(std::size_t graph, Random& random) const;
    Episode draw(std::uint32_t worker) const;
    std::vector<double> returns(std::span<const double> costs, std::size_t decisions) const;
    std::vector<std::vector<double>> advantages(std::span<const Outcome> outcomes);
    std::vector<Outcome> gather(std::vector<Outcome> own);
    GradientSummary gather_gradient(std::span<const std::vector<double>> advantages,
                                    std::span<const float> before, double entropy_weight,
                                    std::vector<float>& gradient);
    void step(std::vector<float> gradient, double rate);
    void learn(std::span<const Outcome> outcomes);
    /// Returns the number of returns per episode of the graph: one per decision, or one in total.
    std::size_t return_count(std::size_t graph) const;
    double schedule(double first, double last) const;

    std::shared_ptr<const Policy> policy_;
    TrainingOptions options_;
    std::vector<TrainingGraph> graphs_;
    std::uint64_t seed_;
    std::uint64_t planned_;
    std::optional<double> share_;  ///< of the time; nothing: planned_ counts
    unsigned threads_;
    TrainingPeers* peers_;
    TrainingState state_;
    std::vector<Episode> episodes_;
    bool drawn_ = false;
};

/// Returns the groups that have a choice, `passes` times over: topological or, with `random`, shuffled each
/// time.
std::vector<GroupId> decision_order(const PolicyGraph& graph, std::uint32_t passes, Random* random = nullptr);

/// Places a graph with a policy and its weights: decides on each node `passes` times, beginning on one
/// device. Takes the most likely device each time or, with `random`, draws it.
Rollout predict_placement(const Policy& policy, std::span<const float> weights, const PolicyGraph& graph,
                          std::uint32_t passes, Random* random = nullptr);

}  // namespace placewright
