// SPDX-License-Identifier: MIT
// Policies that place a whole network at once, with the rewards and baselines of their papers:
// - ColocRL: Mirhoseini, Pham, Le, Steiner, Larsen, Zhou, Kumar, Norouzi, Bengio, Dean: Device Placement
//   Optimization with Reinforcement Learning (2017)
// - hierarchical: Mirhoseini, Goldie, Pham, Steiner, Le, Dean: A Hierarchical Model for Device Placement
//   (2018)
// - Spotlight: Gao, Chen, Li: Spotlight: Optimizing Device Placement for Training Deep Neural Networks (2018)
// - GDP: Zhou, Roy, Abdolrashidi, Wong, Ma, Xu, Zhong, Liu, Goldie, Mirhoseini, Laudon: GDP: Generalized
//   Device Placement for Dataflow Graphs (2019)
#include "core/learn/sequence_policies.hpp"

#include <algorithm>

#include "core/learn/policies.hpp"
#include "core/learn/policy_kinds.hpp"
#include "core/learn/torch_module.hpp"
#include "core/learn/training_schema.hpp"

namespace placewright {
namespace {

/// Options shared by all of them.
struct WholeOptions : PolicyOptions {
    double temperature = 1;
    double tanh_constant = 0;

    WholeOptions() {
        measure = "square-root";
        baseline = "moving-average";
    }
};

template <class Options>
void add_whole(OptionSchema<Options>& schema) {
    schema
        .add("temperature", &Options::temperature, 1e-3, 1e3,
             "Divisor of the logits; higher values explore more.")
        .add("tanh_constant", &Options::tanh_constant, 0, 1e3,
             "Bound c of the logits, as c tanh(logits); 0: unbounded.")
        .add("order", &Options::order, {"topological", "shuffled"},
             "Order of the groups. topological: along the data flow; shuffled: another random order in each "
             "episode.");
    add_training(schema);
}

struct PlacerOptions : WholeOptions {
    std::uint32_t hidden = 128;
    std::uint32_t embedding = 64;
    std::uint32_t attention = 64;
    std::uint32_t neighbours = 10;
};

template <class Options>
void add_placer(OptionSchema<Options>& schema) {
    schema
        .add("hidden", &Options::hidden, 2, 4096,
             "LSTM units of the decoder, which assigns devices; the encoder has half of them in each "
             "direction. Even; the paper: 512.")
        .add("embedding", &Options::embedding, 1, 4096, "Size of the embeddings of op kinds and devices.")
        .add("attention", &Options::attention, 1, 4096, "Number of units of the attention.")
        .add("neighbours", &Options::neighbours, 0, 1000,
             "Number of neighbours in a group's description, those with most bytes.");
}

SequenceNetwork placer(const PlacerOptions& options, const PolicySize& size) {
    if (options.hidden % 2 != 0)
        throw OptionError("hidden = " + std::to_string(options.hidden) + " is odd, expected an even number");
    return {.devices = size.devices,
            .kinds = policy_kind_count(),
            .hidden = options.hidden,
            .embedding = options.embedding,
            .attention = options.attention,
            .neighbours = options.neighbours,
            .temperature = options.temperature,
            .tanh_constant = options.tanh_constant};
}

PolicyDesign design(std::shared_ptr<const Policy> policy, const PolicyOptions& options) {
    PolicyDesign design;
    design.policy = std::move(policy);
    design.training = options;
    design.allow_cpu = options.allow_cpu;
    return design;
}

const OptionValues& paper_size() {
    static const OptionValues values{
        {"hidden", std::int64_t{512}}, {"embedding", std::int64_t{512}}, {"attention", std::int64_t{512}}};
    return values;
}

/// The sequence network with the defaults of `Options`.
template <class Options>
PolicyInfo sequence_policy(std::string id, std::string title, std::string help) {
    static const auto schema = [] {
        OptionSchema<Options> all;
        add_placer(all);
        add_whole(all);
        return all;
    }();
    return {std::move(id),
            std::move(title),
            std::move(help),
            schema.infos(),
            [](const OptionValues& values, const PolicySize& size) {
                const Options options = schema.parse(values);
                return design(torch_module().make_sequence_policy(placer(options, size)), options);
            },
            {{"paper", "Network size as in the authors' code.", paper_size()}}};
}

struct SpotlightOptions : PlacerOptions {
    SpotlightOptions() {
        measure = "time";
        proximal_steps = 4;
    }
};

struct HierarchicalOptions : PlacerOptions {
    std::uint32_t clusters = 0;
    std::uint32_t grouper_hidden = 64;
};

struct GdpOptions : WholeOptions {
    std::string aggregation = "max";
    std::uint32_t width = 64;
    std::uint32_t rounds = 3;
    std::uint32_t layers = 2;
    std::uint32_t heads = 4;
    std::uint32_t segment = 128;

    GdpOptions() { proximal_steps = 4; }
};

}  // namespace

PolicyInfo colocrl_policy() {
    return sequence_policy<PlacerOptions>(
        "colocrl", "ColocRL",
        "An LSTM reads the groups, and another LSTM with attention assigns devices one by one; trained by "
        "REINFORCE (Mirhoseini et al., 2017).");
}

PolicyInfo spotlight_policy() {
    return sequence_policy<SpotlightOptions>("spotlight", "Spotlight",
                                             "ColocRL's network, trained by proximal policy optimization "
                                             "with an adaptive divergence penalty (Gao et al., 2018).");
}

PolicyInfo hierarchical_policy() {
    static const auto schema = [] {
        OptionSchema<HierarchicalOptions> all;
        all.add("clusters", &HierarchicalOptions::clusters, 0, 4096,
                "Number of clusters that groups are assigned to before placement; 0: 20 per device, at most "
                "256, as in the authors' code.")
            .add("grouper_hidden", &HierarchicalOptions::grouper_hidden, 1, 4096,
                 "Number of units of the hidden layer that selects clusters.");
        add_placer(all);
        add_whole(all);
        return all;
    }();
    return {"hierarchical",
            "Hierarchical",
            "A feed-forward network assigns groups to clusters and ColocRL's network places the clusters; "
            "trained together (Mirhoseini et al., 2018).",
            schema.infos(),
            [](const OptionValues& values, const PolicySize& size) {
                const HierarchicalOptions options = schema.parse(values);
                const std::uint32_t clusters =
                    options.clusters > 0 ? options.clusters : std::min(256U, 20 * size.devices);
                return design(torch_module().make_hierarchical_policy(
                                  {placer(options, size), clusters, options.grouper_hidden}),
                              options);
            },
            {{"paper", "Network size as in the authors' code.", paper_size()}}};
}

PolicyInfo gdp_policy() {
    static const auto schema = [] {
        OptionSchema<GdpOptions> all;
        all.add("aggregation", &GdpOptions::aggregation, {"max", "mean"},
                "How a group aggregates its neighbours' values.")
            .add("width", &GdpOptions::width, 1, 4096, "Width of a group's embedding; a multiple of heads.")
            .add("rounds", &GdpOptions::rounds, 0, 100,
                 "Rounds of graph convolution: distance over which groups influence each other.")
            .add("layers", &GdpOptions::layers, 0, 100, "Number of transformer layers.")
            .add("heads", &GdpOptions::heads, 1, 64, "Number of attention heads of the transformer.")
            .add("segment", &GdpOptions::segment, 1, 1e6,
                 "Number of groups in a segment of the order; a segment attends to itself and the one before "
                 "it.");
        add_whole(all);
        return all;
    }();
    return {"gdp", "GDP",
            "Graph convolutions and a transformer place all groups at once; trained by proximal policy "
            "optimization (Zhou et al., 2019).",
            schema.infos(), [](const OptionValues& values, const PolicySize& size) {
                const GdpOptions options = schema.parse(values);
                if (options.width % options.heads != 0)
                    throw OptionError(
                        "width = " + std::to_string(options.width) +
                        " is out of range, expected a multiple of heads = " + std::to_string(options.heads));
                const GdpNetwork network{.devices = size.devices,
                                         .kinds = policy_kind_count(),
                                         .width = options.width,
                                         .rounds = options.rounds,
                                         .aggregation = options.aggregation == "max"
                                                            ? GdpNetwork::Aggregation::max
                                                            : GdpNetwork::Aggregation::mean,
                                         .layers = options.layers,
                                         .heads = options.heads,
                                         .segment = options.segment,
                                         .temperature = options.temperature,
                                         .tanh_constant = options.tanh_constant};
                return design(torch_module().make_gdp_policy(network), options);
            }};
}

}  // namespace placewright
