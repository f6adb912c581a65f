// SPDX-License-Identifier: MIT
// Synchronous training of a placement policy: every worker draws an episode with the same weights, their gradients are added up, all
// weights move at once (Placeto, section 3.3). It neither simulates nor reads files: others score the placements that it asks for.
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
    // Episodes. What is said of improving policies has no meaning for those that decide on the whole placement.
    std::uint32_t workers = 8;
    std::uint32_t passes = 1;           ///< improving: how often each node is decided on in an episode
    std::string order = "topological";  ///< improving: "topological", "shuffled" (another for each episode)
    std::string start = "one-device";   ///< improving: "one-device", "fixed" (random, the same each time), "random", "best"
    // What an episode is worth
    std::string reward = "intermediate";   ///< improving: "intermediate", "terminal", "best"
    std::uint32_t reward_interval = 1;     ///< improving, not terminal: decisions that are rewarded together
    std::string measure = "time";          ///< "time", "square-root", "logarithm"
    double discount = 1;                   ///< improving: of rewards that are a decision later
    std::string baseline = "steps";        ///< "steps", "moving-average", "batch"
    std::uint32_t baseline_episodes = 10;  ///< "steps": of the same graph, the newest included
    double baseline_decay = 0.9;           ///< "moving-average": of each episode's worth against the next one's
    bool standardize = true;               ///< advantages by their root mean square, graph by graph
    // How the weights follow
    double learning_rate = 1e-3, final_learning_rate = 1e-4;
    double entropy_weight = 1e-2, final_entropy_weight = 1e-4;
    double gradient_clip = 1.25;       ///< longest gradient; 0: any
    std::uint64_t updates = 500;       ///< in which the two above reach their final values, where the length of the training is not known
    std::uint32_t proximal_steps = 0;  ///< steps of proximal policy optimization for each update; 0: one step of REINFORCE
    double divergence_target = 0.03;   ///< KL in nats that they are to cover, the mean over the decisions
};

/// Something to train on.
struct TrainingGraph {
    std::string name;
    std::shared_ptr<const PolicyGraph> graph;
    double reference_s = 1;  ///< positive; costs are shares of it
};

/// What a placement costs to a policy: score over reference. What takes longer than ten references, because it does not fit, grows by its
/// logarithm from there on, so that it does not drown what does fit.
double policy_cost(const Score& score, double reference_s);

struct Episode {
    std::uint32_t worker = 0;
    std::size_t graph = 0;  ///< index among the graphs
    Rollout rollout;
    std::vector<Placement> placements;  ///< to be scored: all that rewards depend on, in the order of the decisions
};

struct BestPlacement {
    Placement placement;  ///< empty: none yet
    Score score;

    bool operator==(const BestPlacement&) const = default;
};

/// All that a training goes on from: with the same policy, options, graphs and seed, it does so as if it had never been cut off.
struct TrainingState {
    std::vector<float> weights;
    std::vector<float> first_moments, second_moments;  ///< of Adam
    std::uint64_t steps = 0;                           ///< of Adam
    double divergence_weight = 1;                      ///< beta
    std::uint64_t updates = 0, evaluations = 0;
    std::vector<std::vector<std::vector<double>>> returns;  ///< [graph][episode][decision]: of the last ones, oldest first
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

/// Other processes that train the same policy: each has some of the workers.
class TrainingPeers {
public:
    virtual ~TrainingPeers() = default;
    virtual std::uint32_t rank() const = 0;
    virtual std::uint32_t size() const = 0;
    /// What every rank gives, in the order of their ranks; all wait for each other. Throws std::runtime_error if one is gone.
    virtual std::vector<std::vector<std::byte>> exchange(std::vector<std::byte> own) = 0;
};

/// Training led to weights that are no numbers; what() says what may help.
class TrainingDiverged : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class Trainer {
public:
    /// `graphs` is not empty. `planned_updates`: how many there are going to be, where that is known. `threads` (0: all cores) draw
    /// episodes and differentiate; nothing depends on their number, nor on that of the peers.
    Trainer(std::shared_ptr<const Policy> policy, TrainingOptions options, std::vector<TrainingGraph> graphs, std::uint64_t seed,
            std::optional<std::uint64_t> planned_updates = {}, unsigned threads = 0, TrainingPeers* peers = nullptr);

    const TrainingOptions& options() const { return options_; }
    const Policy& policy() const { return *policy_; }
    std::span<const TrainingGraph> graphs() const { return graphs_; }
    TrainingPeers* peers() const { return peers_; }
    const TrainingState& state() const { return state_; }
    /// Goes on from there. Throws std::invalid_argument for a state of another policy or of other graphs, PlacementError for one whose best
    /// placements these graphs do not allow.
    void restore(TrainingState state);

    /// Draws the episodes of the next update, those of this process's workers. The same until finish(). Nothing if `stop` was requested
    /// before all were drawn.
    std::span<const Episode> begin(const std::stop_token& stop = {});

    /// Scores of the placements of begin(), by episode. Moves the weights. The state stays as it is if peers throw.
    void finish(std::span<const std::vector<Score>> scores);

    /// Placements that one update scores, over all workers.
    std::uint64_t evaluations_per_update() const;

    /// The weights at the end, or now: an episode in which the most likely device is chosen each time, beginning on one device.
    Rollout predict(const PolicyGraph& graph) const;

private:
    struct Outcome {
        std::uint32_t worker = 0;
        std::size_t graph = 0;
        std::vector<double> costs;  ///< of its placements, as they are measured
        double last_cost = 0;       ///< of the last one, as it is
        BestPlacement best;
    };

    Placement start(std::size_t graph, Random& random) const;
    Episode draw(std::uint32_t worker) const;
    std::vector<double> returns(std::span<const double> costs, std::size_t decisions) const;
    std::vector<std::vector<double>> advantages(std::span<const Outcome> outcomes);
    std::vector<Outcome> gather(std::vector<Outcome> own);
    GradientSummary gather_gradient(std::span<const std::vector<double>> advantages, std::span<const float> before, double entropy_weight,
                                    std::vector<float>& gradient);
    void step(std::vector<float> gradient, double rate);
    void learn(std::span<const Outcome> outcomes);
    /// Returns that an episode of the graph has: one a decision, or one.
    std::size_t return_count(std::size_t graph) const;
    double schedule(double first, double last) const;

    std::shared_ptr<const Policy> policy_;
    TrainingOptions options_;
    std::vector<TrainingGraph> graphs_;
    std::uint64_t seed_;
    std::uint64_t planned_;
    unsigned threads_;
    TrainingPeers* peers_;
    TrainingState state_;
    std::vector<Episode> episodes_;
    bool drawn_ = false;
};

/// Groups that have a choice, `passes` times over: topological or, with `random`, shuffled each time.
std::vector<GroupId> decision_order(const PolicyGraph& graph, std::uint32_t passes, Random* random = nullptr);

/// What a policy makes of a graph with the weights that it has: decides on each node `passes` times, beginning on one device. Takes the
/// most likely device each time or, with `random`, draws it.
Rollout predict_placement(const Policy& policy, std::span<const float> weights, const PolicyGraph& graph, std::uint32_t passes,
                          Random* random = nullptr);

}  // namespace placewright
