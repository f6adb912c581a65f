// SPDX-License-Identifier: MIT
// Placeto: Addanki, Bojja Venkatakrishnan, Gupta, Mao, Alizadeh: Learning Generalizable Device Placement Algorithms for Distributed Machine
// Learning (2019). As in the authors' code, and not in their text: what a node starts with is added after every round, nodes that hear
// nothing add nothing, and decisions on a node are counted rather than noted. In neither: sums over sets are shares of the nodes,
// embeddings need not be as wide as the features, devices told apart by what they are like, and what a policy prefers to begin with.
#include "core/learn/placeto_network.hpp"
#include "core/learn/policies.hpp"
#include "core/learn/training_schema.hpp"

namespace placewright {
namespace {

struct Options : PolicyOptions {
    std::string aggregation = "messages";
    std::string devices = "features";
    std::uint32_t width = 16;
    std::uint32_t layers = 1;
    std::uint32_t rounds = 8;
    std::uint32_t hidden = 64;
    double inertia = 0, foresight = 8;

    Options() {
        // A decision shows soon; what many others do until the end of an episode is mostly noise.
        discount = 0.95;
        learning_rate = 2e-3;
        entropy_weight = 0.01;
        final_entropy_weight = 0;
    }
};

const OptionSchema<Options>& schema() {
    static const auto schema = [] {
        OptionSchema<Options> all;
        all.add("aggregation", &Options::aggregation, {"messages", "pooling", "flat"},
                "What a decision knows of the graph: nodes that have heard of others along the edges; nodes by themselves, pooled (the "
                "paper's "
                "simple partitioner); or all nodes side by side (its simple aggregator), for this graph alone.")
            .add("devices", &Options::devices, {"features", "one-hot"},
                 "Devices by speed, memory, links and what is on them, for any machine; or by their number, as in the paper, for machines "
                 "with as many of them.")
            .add("rounds", &Options::rounds, 0, 1000, "Rounds of messages (k): how far nodes hear.")
            .add("width", &Options::width, 1, PlacetoNetwork::kMostWidth, "Numbers that describe a node, each way.")
            .add("layers", &Options::layers, 1, 8, "Layers of the networks at either end of a message.")
            .add("hidden", &Options::hidden, 1, 4096, "Width of the layer before the choice of a device.");
        all.add("inertia", &Options::inertia, -100, 100,
                "Added to the logit of the device that a group is on: how much an untrained policy leaves alone. The paper has none.");
        all.add("foresight", &Options::foresight, 0, 100,
                "Subtracted from a device's logit for how much later the group would end there than on the best one, as a list scheduler "
                "sees it: "
                "a policy that begins with it has less to learn. The paper has none.");
        add_improvement(all);
        add_training(all);
        return all;
    }();
    return schema;
}

PolicyDesign make(const OptionValues& values, const PolicySize& size) {
    const Options options = schema().parse(values);
    PlacetoNetwork network;
    network.aggregation = options.aggregation == "messages"  ? PlacetoAggregation::messages
                          : options.aggregation == "pooling" ? PlacetoAggregation::pooling
                                                             : PlacetoAggregation::flat;
    network.device_rule = options.devices == "one-hot" ? PlacetoDevices::one_hot : PlacetoDevices::features;
    const bool flat = network.aggregation == PlacetoAggregation::flat;
    network.devices = network.one_hot() ? size.devices : 0;
    network.flat_nodes = flat ? size.nodes : 0;
    network.width = options.width;
    network.layers = options.layers;
    network.rounds = options.rounds;
    network.hidden = options.hidden;
    network.inertia = static_cast<float>(options.inertia);
    network.foresight = static_cast<float>(options.foresight);
    PolicyDesign design;
    design.policy = std::make_shared<PlacetoPolicy>(network);
    design.training = options;
    design.allow_cpu = options.allow_cpu;
    design.any_devices = !network.one_hot();
    design.any_nodes = !flat;
    return design;
}

}  // namespace

PolicyInfo placeto_policy() {
    return {"placeto",
            "Placeto",
            "A graph neural network goes over the groups and moves one after the other; trained by how much each move helps.",
            schema().infos(),
            make,
            {{"paper",
              "Closer to the paper: devices by number, no preference to begin with, rewards neither discounted nor standardized. It does "
              "not say how wide its layers are beyond the features; `width` and `hidden` stay ours.",
              {{"devices", std::string("one-hot")},
               {"foresight", 0.0},
               {"inertia", 0.0},
               {"discount", 1.0},
               {"standardize", false},
               {"start", std::string("fixed")}}},
             {"one-graph",
              "For one graph alone: episodes go on from the best placement so far and leave most groups where they are; placements are "
              "simulated now and then alone.",
              {{"start", std::string("best")},
               {"inertia", 3.0},
               {"foresight", 5.0},
               {"learning_rate", 3e-3},
               {"reward_interval", std::int64_t{32}}}},
             {"far-sighted",
              "For networks on which a group that is moved alone costs time, which only others that follow get back, as in the family nmt: "
              "a decision answers for what comes long after it, groups are left where they are more often, and more is tried.",
              {{"discount", 0.99}, {"inertia", 3.0}, {"foresight", 5.0}, {"entropy_weight", 0.03}}}}};
}

}  // namespace placewright
