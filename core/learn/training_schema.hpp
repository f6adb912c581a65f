// SPDX-License-Identifier: MIT
// The options that trained policies have in common, for the schemas of those that have them.
#pragma once

#include "core/learn/trainer.hpp"
#include "core/search/choices.hpp"
#include "core/search/options.hpp"

namespace placewright {

/// What an algorithm's options inherit.
struct PolicyOptions : TrainingOptions {
    bool allow_cpu = false;
};

/// Episodes, and how the weights follow them.
template <class Options>
void add_training(OptionSchema<Options>& schema) {
    schema
        .add("workers", &Options::workers, 1, 1024,
             "Episodes drawn with the same weights; all weights move along the mean of their gradients.")
        .add("learning_rate", &Options::learning_rate, 1e-9, 10, "Length of a step of Adam at first.")
        .add("final_learning_rate", &Options::final_learning_rate, 0, 10, "The same at the end of the training; linear in between.")
        .add("entropy_weight", &Options::entropy_weight, 0, 100,
             "What the entropy of a decision is worth at first, against advantages that deviate by 1 (or are not standardized): it keeps "
             "the "
             "policy from settling early.")
        .add("final_entropy_weight", &Options::final_entropy_weight, 0, 100, "The same at the end of the training; linear in between.")
        .add("updates", &Options::updates, 1, 1e9, "Updates in which both reach their final values, where the search ends by time.")
        .add("gradient_clip", &Options::gradient_clip, 0, 1e9, "Longest gradient; longer ones are made so long. 0: any.")
        .add("measure", &Options::measure, {"time", "square-root", "logarithm"},
             "What is rewarded: the step time as a share of that on one device, its square root, or the logarithm of 1 more.")
        .add("baseline", &Options::baseline, {"steps", "moving-average", "batch"},
             "What returns are compared with: the mean of the last episodes at the same decision, a moving average over episodes, or the "
             "mean of the update.")
        .add("baseline_episodes", &Options::baseline_episodes, 1, 1e6, "Episodes of a graph that the first of these is the mean of.")
        .add("baseline_decay", &Options::baseline_decay, 0, 1, "Weight of what came before in the second of these.")
        .add("standardize", &Options::standardize,
             "Divide the advantages of an update by their root mean square, graph by graph where that has enough decisions.")
        .add("proximal_steps", &Options::proximal_steps, 0, 1000,
             "Steps of proximal policy optimization for each update; 0: one step of REINFORCE. With a single one the penalty stays as it "
             "is.")
        .add("divergence_target", &Options::divergence_target, 1e-9, 10,
             "How far these are to move the policy: Kullback-Leibler divergence in nats, the mean over the decisions.")
        .add("allow_cpu", &Options::allow_cpu, kAllowCpuHelp);
}

/// What only policies have that change a placement node by node.
template <class Options>
void add_improvement(OptionSchema<Options>& schema) {
    schema.add("passes", &Options::passes, 1, 1000, "How often each group is decided on in an episode.")
        .add("order", &Options::order, {"topological", "shuffled"},
             "Groups one after the other as the data flow, or in another random order each episode.")
        .add(
            "start", &Options::start, {"one-device", "fixed", "random", "best"},
            "What an episode begins with: all on the fastest device, the same random placement, another one each time, or the best so far.")
        .add("reward", &Options::reward, {"intermediate", "terminal", "best"},
             "What a decision is told: how much better the placements from there on become, the last placement alone, or how much better "
             "the "
             "best of those behind it is. For all but the second every placement on the way is simulated.")
        .add("reward_interval", &Options::reward_interval, 1, 1e6,
             "Decisions that are rewarded together: only the placement after so many is simulated. Fewer simulations, rougher rewards.")
        .add("discount", &Options::discount, 0, 1, "Weight of a reward that comes one decision later.");
}

}  // namespace placewright
