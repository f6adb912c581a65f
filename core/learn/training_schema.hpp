// SPDX-License-Identifier: MIT
// Options that trained policies have in common, for their schemas.
#pragma once

#include "core/learn/trainer.hpp"
#include "core/search/options.hpp"
#include "core/search/parts/choices.hpp"

namespace placewright {

/// Base of the options of learned algorithms.
struct PolicyOptions : TrainingOptions {
    bool allow_cpu = false;
};

/// Adds the options of episodes and weight updates.
template <class Options>
void add_training(OptionSchema<Options>& schema) {
    schema
        .add("workers", &Options::workers, 1, 1024,
             "Number of episodes drawn with the same weights per update; the weights move along the mean of "
             "their gradients.")
        .add("learning_rate", &Options::learning_rate, 1e-9, 10, "Initial learning rate of Adam.")
        .add("final_learning_rate", &Options::final_learning_rate, 0, 10,
             "Learning rate at the end of the training; linear in between.")
        .add("entropy_weight", &Options::entropy_weight, 0, 100,
             "Initial weight of a decision's entropy, relative to advantages with a deviation of 1 (or not "
             "standardized); keeps the policy from converging too early.")
        .add("final_entropy_weight", &Options::final_entropy_weight, 0, 100,
             "Entropy weight at the end of the training; linear in between.")
        .add("updates", &Options::updates, 1, 1e9,
             "Number of updates until the learning rate and the entropy weight reach their final values if "
             "the training is limited by time only.")
        .add("gradient_clip", &Options::gradient_clip, 0, 1e9,
             "Maximum norm of the gradient; longer gradients are scaled down to it; 0: no limit.")
        .add("measure", &Options::measure, {"time", "square-root", "logarithm"},
             "Cost that is reduced. time: step time as a share of that on one device; square-root: its "
             "square root; logarithm: logarithm of 1 plus it.")
        .add("baseline", &Options::baseline, {"steps", "moving-average", "batch", "graph"},
             "Baseline of the returns. steps: mean of the last episodes at the same decision; "
             "moving-average: moving average over episodes; batch: mean of the update; graph: mean of the "
             "update's episodes of the same graph.")
        .add("graph_episodes", &Options::graph_episodes, 1, 1024,
             "Number of workers that draw episodes of the same graph.")
        .add("baseline_episodes", &Options::baseline_episodes, 1, 1e6,
             "steps: number of episodes of a graph in the mean.")
        .add("baseline_decay", &Options::baseline_decay, 0, 1,
             "moving-average: weight of the previous average.")
        .add("standardize", &Options::standardize,
             "Divide the advantages of an update by their root mean square, for each graph with enough "
             "decisions separately.")
        .add("proximal_steps", &Options::proximal_steps, 0, 1000,
             "Steps of proximal policy optimization per update; 0: one step of REINFORCE. With a single step "
             "the penalty does not adapt.")
        .add("divergence_target", &Options::divergence_target, 1e-9, 10,
             "Target of the Kullback-Leibler divergence per update, in nats, mean over the decisions.")
        .add("allow_cpu", &Options::allow_cpu, kAllowCpuHelp);
}

/// Adds the options of policies that change a placement node by node.
template <class Options>
void add_improvement(OptionSchema<Options>& schema) {
    schema.add("passes", &Options::passes, 1, 1000, "Number of decisions on each group in an episode.")
        .add("order", &Options::order, {"topological", "shuffled"},
             "Order of the groups. topological: along the data flow; shuffled: another random order in each "
             "episode.")
        .add("start", &Options::start, {"one-device", "fixed", "random", "best"},
             "Start placement of an episode. one-device: everything on the fastest device; fixed: the same "
             "random placement; random: another one each time; best: the best so far.")
        .add("reward", &Options::reward, {"intermediate", "terminal", "best"},
             "Reward of a decision. intermediate: improvement of the placements from there on; terminal: the "
             "last placement only; best: improvement of the best placement after it. All but terminal "
             "simulate every placement of an episode.")
        .add("reward_interval", &Options::reward_interval, 1, 1e6,
             "Number of decisions rewarded together: only the placement after the last of them is simulated, "
             "which gives fewer simulations, but coarser rewards.")
        .add("discount", &Options::discount, 0, 1, "Weight of a reward that comes one decision later.");
}

}  // namespace placewright
