// SPDX-License-Identifier: MIT
// Placeto: Addanki, Bojja Venkatakrishnan, Gupta, Mao, Alizadeh: Learning Generalizable Device Placement
// Algorithms for Distributed Machine Learning (2019). As in the authors' code, but not in their text: a
// node's initial embedding is added after every round, nodes without senders add nothing, and the decisions
// on a node are counted instead of flagged. In neither: sums over sets are divided by the number of nodes and
// sums of messages by that of their senders, embeddings may differ in width from the features, devices can be
// distinguished by their properties, and an untrained policy has preferences.
#include "core/learn/placeto_network.hpp"
#include "core/learn/policies.hpp"
#include "core/learn/training_schema.hpp"

namespace placewright {
namespace {

struct Options : PolicyOptions {
    std::string aggregation = "messages";
    std::string messages = "mean";
    std::string devices = "features";
    std::uint32_t width = 16;
    std::uint32_t layers = 1;
    std::uint32_t rounds = 8;
    std::uint32_t hidden = 64;
    double inertia = 0, foresight = 8;

    Options() {
        // The effect of a decision shows soon; the effects of other decisions until the end of an episode are
        // mostly noise.
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
                "How the policy gathers information on the graph. messages: message passing along the edges; "
                "pooling: features of the nodes, pooled (the paper's simple partitioner); flat: features of "
                "all nodes side by side (its simple aggregator), for one graph only.")
            .add("messages", &Options::messages, {"mean", "sum"},
                 "How a node takes the messages of several senders. sum: as in the paper; it grows with each "
                 "round, so that an untrained policy may always choose the same device.")
            .add(
                "devices", &Options::devices, {"features", "one-hot"},
                "How devices are distinguished. features: by speed, memory, links and load, for any machine; "
                "one-hot: by number, as in the paper, for machines with the same number of devices.")
            .add("rounds", &Options::rounds, 0, 1000,
                 "Rounds of message passing (k): distance over which nodes influence each other.")
            .add("width", &Options::width, 1, PlacetoNetwork::kMostWidth,
                 "Width of a node's embedding in each direction.")
            .add("layers", &Options::layers, 1, 8,
                 "Number of layers of the networks at either end of a message.")
            .add("hidden", &Options::hidden, 1, 4096,
                 "Width of the hidden layer before the choice of a device.");
        all.add("inertia", &Options::inertia, -100, 100,
                "Bonus on the logit of a group's current device: the higher, the fewer groups an untrained "
                "policy moves; the paper has none.");
        all.add("foresight", &Options::foresight, 0, 100,
                "Penalty on a device's logit for finishing the group later than the best device, by the "
                "estimate of a list scheduler; the policy then has less to learn. The paper has none.");
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
    network.mean_messages = options.messages == "mean";
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
            "A graph neural network moves one group after the other and is trained by the improvement of "
            "each move (Addanki et al., 2019).",
            schema().infos(),
            make,
            {{"paper",
              "Closer to the paper: devices by number, no initial preference, rewards neither discounted nor "
              "standardized. The paper does not give the width of layers beyond the features; width and "
              "hidden keep their defaults; so do the means of messages, since with sums networks such as nmt "
              "are not learned.",
              {{"devices", std::string("one-hot")},
               {"foresight", 0.0},
               {"inertia", 0.0},
               {"discount", 1.0},
               {"standardize", false},
               {"start", std::string("fixed")}}},
             {"one-graph",
              "For one graph only: episodes start at the best placement so far and leave most groups in "
              "place; placements are simulated only now and then.",
              {{"start", std::string("best")},
               {"messages", std::string("sum")},
               {"inertia", 3.0},
               {"foresight", 5.0},
               {"learning_rate", 3e-3},
               {"reward_interval", std::int64_t{32}}}},
             {"far-sighted",
              "For networks on which moving one group alone costs time that only later moves recover, as in "
              "the family nmt: rewards count further back, exploration is stronger, and an untrained policy "
              "has no preferences. Needs long trainings.",
              {{"discount", 0.99}, {"foresight", 0.0}, {"entropy_weight", 0.02}}}},
            {{"messages", std::string("sum")}},
            false};
}

}  // namespace placewright
