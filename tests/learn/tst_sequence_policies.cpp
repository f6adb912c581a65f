// SPDX-License-Identifier: MIT
// Policies that place a whole graph at once: sampled rollouts against the likelihoods, and gradients of the
// likelihoods against finite differences.
#include <cmath>
#include <map>

#include <QtTest>

#include "core/algorithms.hpp"
#include "core/graph/kinds.hpp"
#include "core/learn/policies.hpp"
#include "core/learn/policy_kinds.hpp"
#include "core/learn/sequence_policies.hpp"
#include "core/learn/torch_module.hpp"
#include "core/search/evaluator.hpp"
#include "core/search/search.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

namespace {

/// Some ops may only be on some devices.
Graph restricted(const Graph& graph, std::uint64_t seed, std::size_t devices) {
    Random random(seed);
    GraphBuilder builder(graph.name(), graph.batch(), graph.training());
    for (Op op : graph.ops()) {
        if (random.chance(0.5)) {
            for (std::size_t i = 0; i < devices; ++i) {
                if (random.chance(0.5)) op.devices.push_back("gpu:" + std::to_string(i));
            }
        }
        builder.add(std::move(op));
    }
    return builder.build();
}

std::shared_ptr<const PolicyGraph> policy_graph(Graph graph, std::size_t devices) {
    return std::make_shared<const PolicyGraph>(
        test::problem(std::move(graph), test::uniform_machine(devices)), true);
}
std::shared_ptr<const PolicyGraph> random_policy_graph(std::uint64_t seed, std::size_t ops,
                                                       std::size_t devices) {
    return policy_graph(restricted(test::random_graph(seed, ops), seed, devices), devices);
}

struct Variant {
    const char* name;
    std::unique_ptr<Policy> policy;
};

/// All policies, small enough for finite differences. `clusters`: of the hierarchical policy.
std::vector<Variant> variants(const PolicyGraph& graph, std::uint32_t clusters = 4) {
    const TorchModule& torch = torch_module();
    SequenceNetwork sequence{.devices = graph.devices,
                             .kinds = graph.kind_count,
                             .hidden = 6,
                             .embedding = 3,
                             .attention = 5,
                             .neighbours = 2};
    SequenceNetwork shaped = sequence;
    shaped.temperature = 1.5;
    shaped.tanh_constant = 2;
    using enum GdpNetwork::Aggregation;
    GdpNetwork gdp{.devices = graph.devices,
                   .kinds = graph.kind_count,
                   .width = 6,
                   .rounds = 2,
                   .layers = 2,
                   .heads = 2};
    GdpNetwork segments = gdp;
    segments.aggregation = mean;
    segments.segment = 5;
    GdpNetwork plain = gdp;
    plain.rounds = 0;
    plain.layers = 0;
    std::vector<Variant> all;
    all.push_back({"sequence", torch.make_sequence_policy(sequence)});
    all.push_back({"sequence, temperature and tanh", torch.make_sequence_policy(shaped)});
    all.push_back({"hierarchical", torch.make_hierarchical_policy({sequence, clusters, 5})});
    all.push_back({"gdp", torch.make_gdp_policy(gdp)});
    all.push_back({"gdp, mean, segments", torch.make_gdp_policy(segments)});
    all.push_back({"gdp, features alone", torch.make_gdp_policy(plain)});
    return all;
}

/// Weights away from 0, so that all parts of the network matter.
std::vector<float> weights_of(const Policy& policy, std::uint64_t seed) {
    std::vector<float> weights = policy.initial_weights(seed);
    Random random(seed + 1);
    for (float& weight : weights) weight += static_cast<float>(random.uniform(-0.3, 0.3));
    return weights;
}

/// Each group on its first allowed device; policies for whole placements ignore it.
Placement start_of(const PolicyGraph& graph) {
    Placement start;
    for (GroupId node = 0; node < graph.nodes; ++node) start.push_back(graph.choices.of(node).front());
    return start;
}

Rollout draw(const Policy& policy, const PolicyGraph& graph, std::span<const float> weights,
             std::uint64_t seed, bool greedy = false) {
    Random random(seed);
    return policy.roll_out(graph, weights, start_of(graph), graph.order, random, greedy);
}

/// log p(rollout): the sum over all its choices.
double log_likelihood(const Policy& policy, const PolicyGraph& graph, std::span<const float> weights,
                      const Rollout& rollout) {
    const std::vector<double> ones(rollout.nodes.size(), 1);
    std::vector<float> gradient(weights.size());
    return policy.add_gradient({graph, weights, {}, std::span(&rollout, 1), std::span(&ones, 1)}, gradient)
        .objective;
}

constexpr int kSequence = 0, kHierarchical = 2, kGdp = 3;  // indices of the variants

void add_variants() {
    QTest::addColumn<int>("index");
    const auto all = variants(*random_policy_graph(1, 4, 2));
    for (int i = 0; i < static_cast<int>(all.size()); ++i) QTest::newRow(all[i].name) << i;
}
void add_kinds() {
    QTest::addColumn<int>("index");
    QTest::newRow("sequence") << kSequence;
    QTest::newRow("hierarchical") << kHierarchical;
    QTest::newRow("gdp") << kGdp;
}

void add_algorithms() {
    QTest::addColumn<QString>("id");
    for (const char* id : {"colocrl", "hierarchical", "spotlight", "gdp"}) QTest::newRow(id) << id;
}

/// Few weights and large steps.
OptionValues small_options(const std::string& id) {
    OptionValues values{{"learning_rate", 2e-2}, {"final_learning_rate", 5e-3}};
    if (id == "gdp") {
        values["width"] = std::int64_t{8};
        values["heads"] = std::int64_t{2};
    } else {
        values["hidden"] = std::int64_t{8};
        values["embedding"] = std::int64_t{4};
        values["attention"] = std::int64_t{4};
    }
    if (id == "hierarchical") values["clusters"] = std::int64_t{3};
    return values;
}

}  // namespace

class TestSequencePolicies : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void saved_policies_have_weights_for_these_kinds() {
        const auto kinds = policy_kinds();
        QCOMPARE(kinds.size(), 172U);
        QVERIFY(kinds.front() == "input" && kinds[20] == "conv1d" && kinds[100] == "pixel_unshuffle" &&
                kinds.back() == "sign");
        QCOMPARE(policy_kind_count(), 173U);
        for (const std::string_view kind : kinds) QVERIFY2(kind_info(kind).name == kind, kind.data());
    }

    void draws_by_its_likelihoods_data() { add_kinds(); }
    void draws_by_its_likelihoods();
    void keeps_to_allowed_devices_data() { add_variants(); }
    void keeps_to_allowed_devices();
    void greedy_takes_the_likeliest();
    void gradient_data();
    void gradient();
    void gradient_in_pieces_is_the_same();
    void clusters_follow_their_leader();
    void learns_the_better_device_data() { add_kinds(); }
    void learns_the_better_device();
    void places_long_graphs_data() { add_kinds(); }
    void places_long_graphs();
    void refuses_graphs_of_other_sizes_data() { add_kinds(); }
    void refuses_graphs_of_other_sizes();
    void trains_the_same_on_any_number_of_threads_data() { add_algorithms(); }
    void trains_the_same_on_any_number_of_threads();
    void finds_the_known_optimum_data() { add_algorithms(); }
    void finds_the_known_optimum();
    void refuses_wrong_options();
};

void TestSequencePolicies::draws_by_its_likelihoods() {
    QFETCH(int, index);
    const auto graph = policy_graph(test::random_graph(5, 3), 2);
    QCOMPARE(graph->nodes, 3U);
    const auto policy = std::move(variants(*graph, 2)[index].policy);
    const auto weights = weights_of(*policy, 3);
    constexpr int kDraws = 400;
    std::map<std::pair<std::vector<std::uint16_t>, std::vector<std::uint16_t>>, std::pair<int, Rollout>> seen;
    for (std::uint64_t i = 0; i < kDraws; ++i) {
        Rollout rollout = draw(*policy, *graph, weights, i);
        auto& [count, first] = seen[{rollout.clusters, rollout.devices}];
        ++count;
        first = std::move(rollout);
    }
    // Probabilities sum to one, and the sampled frequencies are within 5 standard deviations.
    double sum = 0;
    for (const auto& [choices, drawn] : seen) {
        const double p = std::exp(log_likelihood(*policy, *graph, weights, drawn.second));
        sum += p;
        const double deviation = std::sqrt(p * (1 - p) / kDraws);
        QVERIFY2(std::abs(drawn.first / double{kDraws} - p) < 5 * deviation,
                 qPrintable(QString("%1 drawn, %2 likely").arg(drawn.first).arg(p)));
    }
    QVERIFY(seen.size() > 4);
    QVERIFY2(sum > 0.95 && sum < 1 + 1e-4, qPrintable(QString::number(sum)));
}

void TestSequencePolicies::keeps_to_allowed_devices() {
    QFETCH(int, index);
    bool limited = false;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const auto graph = random_policy_graph(seed, 15, 3);
        const auto policy = std::move(variants(*graph)[index].policy);
        const auto weights = weights_of(*policy, seed);
        for (const bool greedy : {false, true}) {
            const Rollout rollout = draw(*policy, *graph, weights, seed, greedy);
            QCOMPARE(rollout.nodes, graph->order);
            QCOMPARE(rollout, draw(*policy, *graph, weights, greedy ? seed + 1 : seed, greedy));
            for (std::size_t i = 0; i < rollout.nodes.size(); ++i) {
                QVERIFY(graph->allowed[std::size_t{rollout.nodes[i]} * graph->devices + rollout.devices[i]] !=
                        0);
                limited = limited || graph->choices.of(rollout.nodes[i]).size() == 2;
            }
            check_placement(graph->choices.problem(), last_placement(*graph, rollout));
            QVERIFY(std::isfinite(log_likelihood(*policy, *graph, weights, rollout)));
        }
        // With part of the graph in another order, the rest is unchanged.
        Random random(seed);
        std::vector<GroupId> some(graph->order.begin(), graph->order.begin() + 6);
        random.shuffle(std::span(some));
        const Rollout rollout = policy->roll_out(*graph, weights, start_of(*graph), some, random, false);
        QCOMPARE(rollout.nodes, some);
        const Placement placement = last_placement(*graph, rollout);
        for (GroupId node = 0; node < graph->nodes; ++node) {
            if (std::ranges::find(some, node) == some.end())
                QCOMPARE(placement[node], start_of(*graph)[node]);
        }
        QVERIFY(std::isfinite(log_likelihood(*policy, *graph, weights, rollout)));
        QVERIFY(policy->roll_out(*graph, weights, start_of(*graph), {}, random, false).devices.empty());
    }
    QVERIFY(limited);
}

void TestSequencePolicies::greedy_takes_the_likeliest() {
    // Decision by decision: no rollout that differs first in the last decision is more likely.
    const auto graph = policy_graph(test::random_graph(8, 8), 3);
    for (const Variant& variant : variants(*graph)) {
        const auto weights = weights_of(*variant.policy, 4);
        const Rollout best = draw(*variant.policy, *graph, weights, 1, true);
        const double likelihood = log_likelihood(*variant.policy, *graph, weights, best);
        if (!best.clusters.empty()) continue;
        for (std::uint16_t device = 0; device < graph->devices; ++device) {
            Rollout other = best;
            other.devices.back() = device;
            QVERIFY(log_likelihood(*variant.policy, *graph, weights, other) < likelihood + 1e-5);
        }
    }
}

void TestSequencePolicies::gradient_data() {
    QTest::addColumn<int>("index");
    QTest::addColumn<bool>("proximal");
    const auto all = variants(*random_policy_graph(1, 4, 2));
    for (int i = 0; i < static_cast<int>(all.size()); ++i) {
        for (const bool proximal : {false, true})
            QTest::newRow((std::string(all[i].name) + (proximal ? ", proximal" : "")).c_str())
                << i << proximal;
    }
}

void TestSequencePolicies::gradient() {
    QFETCH(int, index);
    QFETCH(bool, proximal);
    const auto graph = random_policy_graph(3, 12, 3);
    const auto policy = std::move(variants(*graph)[index].policy);
    const auto weights = weights_of(*policy, 8);
    const auto before = weights_of(*policy, 9);
    Random random(7);
    std::vector<Rollout> rollouts;
    std::vector<std::vector<double>> advantages;
    for (int i = 0; i < 3; ++i) {
        rollouts.push_back(draw(*policy, *graph, weights, static_cast<std::uint64_t>(i)));
        advantages.emplace_back();
        for (std::size_t step = 0; step < graph->nodes; ++step)
            advantages.back().push_back(random.uniform(-1, 1));
    }
    // The last rollout in another order.
    std::vector<GroupId> backwards(graph->order.rbegin(), graph->order.rend());
    rollouts.push_back(policy->roll_out(*graph, weights, start_of(*graph), backwards, random, false));
    advantages.push_back(advantages.front());
    const auto task = [&](std::span<const float> at) {
        return GradientTask{
            *graph,   at,         proximal ? std::span<const float>(before) : std::span<const float>(),
            rollouts, advantages, 0.3,
            0.7};
    };
    std::vector<float> gradient(policy->size(), 0.5F), ignored(policy->size());
    const GradientSummary summary = policy->add_gradient(task(weights), gradient);
    QVERIFY(summary.entropy > 0);
    QCOMPARE(summary.divergence > 0, proximal);
    // Per tensor, along random directions, so that small gradients are not hidden by large ones.
    std::size_t first = 0;
    for (const PolicyParameter& parameter : policy->parameters()) {
        std::vector<float> direction(weights.size());
        double slope = 0;
        for (std::size_t i = first; i < first + parameter.size(); ++i) {
            direction[i] = static_cast<float>(random.uniform(-1, 1));
            slope += static_cast<double>(direction[i]) * (static_cast<double>(gradient[i]) - 0.5);
        }
        first += parameter.size();
        constexpr float kStep = 1.5e-4F;  // small: a larger step crosses kinks of relu and max
        const auto at = [&](float step) {
            std::vector<float> moved = weights;
            for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += step * direction[i];
            return policy->add_gradient(task(moved), ignored).objective;
        };
        const double measured = (at(kStep) - at(-kStep)) / (2 * static_cast<double>(kStep));
        QVERIFY2(
            std::abs(measured - slope) < 0.03 * std::abs(slope) + 6e-3,
            qPrintable(QString("%1: %2 instead of %3").arg(parameter.name.c_str()).arg(slope).arg(measured)));
    }
}

void TestSequencePolicies::gradient_in_pieces_is_the_same() {
    // Long enough that attention is differentiated in pieces; the gradient of a batch is the sum over its
    // rollouts.
    const auto graph = policy_graph(test::random_graph(2, 150), 2);
    const auto policy = torch_module().make_sequence_policy({.devices = graph->devices,
                                                             .kinds = graph->kind_count,
                                                             .hidden = 8,
                                                             .embedding = 4,
                                                             .attention = 64});
    const auto weights = weights_of(*policy, 5);
    std::vector<Rollout> rollouts;
    std::vector<std::vector<double>> advantages;
    for (std::uint64_t i = 0; i < 5; ++i) {
        rollouts.push_back(draw(*policy, *graph, weights, i));
        advantages.emplace_back(graph->nodes, i % 2 == 0 ? 1.0 : -0.5);
    }
    std::vector<float> together(policy->size()), alone(policy->size());
    const GradientSummary all =
        policy->add_gradient({*graph, weights, {}, rollouts, advantages, 0.1}, together);
    double objective = 0;
    for (std::size_t i = 0; i < rollouts.size(); ++i) {
        const GradientTask task{
            *graph, weights, {}, std::span(rollouts).subspan(i, 1), std::span(advantages).subspan(i, 1), 0.1};
        objective += policy->add_gradient(task, alone).objective;
    }
    QVERIFY(std::abs(all.objective - objective) < 1e-4 * std::abs(objective));
    double error = 0, size = 0;
    for (std::size_t i = 0; i < alone.size(); ++i) {
        error += std::pow(static_cast<double>(together[i] - alone[i]), 2);
        size += std::pow(static_cast<double>(alone[i]), 2);
    }
    QVERIFY2(error < 1e-8 * size, qPrintable(QString("squared error %1 of %2").arg(error).arg(size)));
}

void TestSequencePolicies::clusters_follow_their_leader() {
    bool fallen_back = false;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const auto graph = random_policy_graph(seed, 12, 3);
        const auto policy = std::move(variants(*graph)[kHierarchical].policy);
        const Rollout rollout = draw(*policy, *graph, weights_of(*policy, seed), seed);
        QCOMPARE(rollout.clusters.size(), rollout.nodes.size());
        for (std::uint16_t cluster = 0; cluster < 4; ++cluster) {
            std::size_t leader = rollout.nodes.size();
            for (std::size_t i = 0; i < rollout.nodes.size(); ++i) {
                const auto choices = [&](std::size_t place) {
                    return graph->choices.of(rollout.nodes[place]).size();
                };
                if (rollout.clusters[i] == cluster &&
                    (leader == rollout.nodes.size() || choices(i) > choices(leader)))
                    leader = i;
            }
            for (std::size_t i = 0; i < rollout.nodes.size(); ++i) {
                if (rollout.clusters[i] != cluster) continue;
                const GroupId node = rollout.nodes[i];
                const DeviceId wanted = graph->choices.devices()[rollout.devices[leader]];
                const bool may = graph->choices.allows(node, wanted);
                fallen_back = fallen_back || !may;
                QCOMPARE(graph->choices.devices()[rollout.devices[i]],
                         may ? wanted : graph->choices.fastest(node));
            }
        }
    }
    QVERIFY(fallen_back);
}

void TestSequencePolicies::learns_the_better_device() {
    // REINFORCE with plain gradient steps; groups on the second device are rewarded.
    QFETCH(int, index);
    const auto graph = policy_graph(test::random_graph(9, 5), 2);
    const auto policy = std::move(variants(*graph, 2)[index].policy);
    std::vector<float> weights = policy->initial_weights(1);
    const auto share = [&](std::uint64_t first) {
        double sum = 0;
        for (std::uint64_t seed = first; seed < first + 50; ++seed) {
            for (const std::uint16_t device : draw(*policy, *graph, weights, seed).devices)
                sum += device / (50.0 * graph->nodes);
        }
        return sum;
    };
    const double at_first = share(1000);
    QVERIFY2(at_first > 0.2 && at_first < 0.8, qPrintable(QString::number(at_first)));
    for (std::uint64_t update = 0; update < 60; ++update) {
        std::vector<Rollout> rollouts;
        std::vector<std::vector<double>> advantages;
        for (std::uint64_t i = 0; i < 4; ++i) {
            rollouts.push_back(draw(*policy, *graph, weights, update * 4 + i));
            double reward = 0;
            for (const std::uint16_t device : rollouts.back().devices)
                reward += (device - 0.5) / graph->nodes;
            advantages.emplace_back(graph->nodes, reward);
        }
        std::vector<float> gradient(weights.size());
        policy->add_gradient({*graph, weights, {}, rollouts, advantages}, gradient);
        for (std::size_t i = 0; i < weights.size(); ++i) weights[i] += 0.05F * gradient[i];
    }
    const double at_last = share(2000);
    QVERIFY2(at_last > 0.9, qPrintable(QString("%1, at first %2").arg(at_last).arg(at_first)));
}

void TestSequencePolicies::places_long_graphs() {
    QFETCH(int, index);
    const auto graph = policy_graph(test::random_graph(4, 2000), 4);
    QCOMPARE(graph->nodes, 2000U);
    const auto policy = std::move(variants(*graph, 16)[index].policy);
    const auto weights = policy->initial_weights(1);
    const Rollout rollout = draw(*policy, *graph, weights, 1);
    QCOMPARE(rollout.devices.size(), std::size_t{2000});
    const std::vector<double> ones(2000, 1);
    std::vector<float> gradient(weights.size());
    const GradientSummary summary =
        policy->add_gradient({*graph, weights, {}, std::span(&rollout, 1), std::span(&ones, 1)}, gradient);
    QVERIFY(std::isfinite(summary.objective));
    double size = 0;
    for (const float value : gradient) size += std::abs(static_cast<double>(value));
    QVERIFY(std::isfinite(size) && size > 0);
}

void TestSequencePolicies::refuses_graphs_of_other_sizes() {
    QFETCH(int, index);
    const auto two = policy_graph(test::chain(4), 2), three = policy_graph(test::chain(4), 3);
    const auto policy = std::move(variants(*two)[index].policy);
    const auto weights = policy->initial_weights(1);
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, draw(*policy, *three, weights, 1));
    const Rollout rollout = draw(*policy, *two, weights, 1);
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, log_likelihood(*policy, *three, weights, rollout));
}

void TestSequencePolicies::trains_the_same_on_any_number_of_threads() {
    // Two graphs, so that a batch has one or the other; the order differs between workers.
    QFETCH(QString, id);
    std::vector<std::shared_ptr<const Problem>> problems;
    std::vector<TrainingGraph> graphs;
    for (const std::size_t width : {4, 6}) {
        problems.push_back(test::problem(test::fork_join(width), test::uniform_machine(2)));
        graphs.push_back({"fork", std::make_shared<const PolicyGraph>(problems.back(), false),
                          reference_s(*problems.back())});
    }
    OptionValues values = small_options(id.toStdString());
    values["order"] = std::string("shuffled");
    values["workers"] = std::int64_t{6};
    const PolicyDesign design = find_policy(id.toStdString())->make(values, {2, 6});
    std::vector<TrainingState> states;
    for (const unsigned threads : {1U, 3U}) {
        Trainer trainer(design.policy, design.training, graphs, 1, 10, threads);
        for (int update = 0; update < 2; ++update) {
            std::vector<std::vector<Score>> scores;
            for (const Episode& episode : trainer.begin()) {
                QCOMPARE(episode.placements.size(), std::size_t{1});
                scores.emplace_back(1);
                simulation_evaluator(problems[episode.graph], {}, {}, 1)
                    ->evaluate(episode.placements, scores.back(), {});
            }
            trainer.finish(scores);
        }
        states.push_back(trainer.state());
    }
    QVERIFY(states[0] == states[1]);
    QVERIFY(states[0].weights != design.policy->initial_weights(1));
}

void TestSequencePolicies::finds_the_known_optimum() {
    // A transfer takes ten times as long as an op, so the optimum is a chain on one of two equal GPUs. A
    // search of 400 placements may find it by chance, so the final policy's samples are checked too: a
    // random placement takes 27 times an op, the optimum 6 times.
    QFETCH(QString, id);
    const auto problem = test::problem(test::chain(6, 1e9, 10'000'000), test::uniform_machine(2));
    const auto search = [&](std::uint64_t evaluations, std::uint64_t seed, unsigned threads) {
        OptionValues values = small_options(id.toStdString());
        values["proximal_steps"] = std::int64_t{id == "spotlight" || id == "gdp" ? 2 : 0};
        const auto optimizer =
            find_algorithm(id.toStdString())->make({problem, seed, {}, evaluations}, values);
        return run_search(*optimizer, *simulation_evaluator(problem, {}, {}, threads), {evaluations});
    };
    const SearchResult result = search(400, 1, 1);
    QCOMPARE(result.progress.evaluations, std::uint64_t{400});
    QVERIFY(std::abs(result.progress.best.penalised_s - 6e-3) < 1e-9);
    const auto& curve = *result.progress.training;
    QCOMPARE(curve.size(), std::size_t{50});
    QVERIFY2(curve.front().cost > 2.5, qPrintable(QString::number(curve.front().cost)));
    double last = 0;
    for (std::size_t i = 0; i < 5; ++i) last += curve[curve.size() - 1 - i].cost / 5;
    QVERIFY2(last < 1.5, qPrintable(QString::number(last)));
    const SearchResult one = search(40, 1, 1), two = search(40, 1, 2), other = search(40, 2, 1);
    QVERIFY(*one.progress.training == *two.progress.training);
    QCOMPARE(*one.progress.best_placement, *two.progress.best_placement);
    QVERIFY(*one.progress.training != *other.progress.training);
}

void TestSequencePolicies::refuses_wrong_options() {
    const auto message = [](const char* id, const OptionValues& values) -> QString {
        try {
            find_policy(id)->make(values, {2, 6});
        } catch (const OptionError& error) {
            return error.what();
        }
        return {};
    };
    QCOMPARE(message("colocrl", {{"hidden", std::int64_t{7}}}), "hidden = 7 is odd, expected an even number");
    QCOMPARE(message("gdp", {{"heads", std::int64_t{3}}}),
             "width = 64 is out of range, expected a multiple of heads = 3");
    QCOMPARE(message("spotlight", {{"temperature", 0.0}}),
             "temperature = 0 is out of range, expected 0.001 to 1000");
}

QTEST_APPLESS_MAIN(TestSequencePolicies)
#include "tst_sequence_policies.moc"
