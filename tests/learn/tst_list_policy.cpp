// SPDX-License-Identifier: MIT
// The list policy: its decisions against their likelihoods, LibTorch's gradient against differences of the
// likelihood, imitation, and the guide that it is for searches.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <QtTest>

#include "core/graph/families.hpp"
#include "core/graph/fingerprint.hpp"
#include "core/graph/networks.hpp"
#include "core/learn/list_guide.hpp"
#include "core/learn/policies.hpp"
#include "core/learn/training_run.hpp"
#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/evaluator.hpp"
#include "core/search/search.hpp"
#include "tests/support/finite_differences.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

namespace {

constexpr ListNetwork kSmall{.width = 5, .rounds = 2, .hidden = 7, .foresight = 1.5F};

std::shared_ptr<const PolicyGraph> random_policy_graph(std::uint64_t seed, std::size_t ops = 12) {
    return std::make_shared<const PolicyGraph>(
        test::problem(test::random_network(seed, ops), test::random_machine(seed)), true);
}

/// Not near 0, so that all parts of the network matter.
std::vector<float> stirred_weights(const Policy& policy, std::uint64_t seed) {
    std::vector<float> weights = policy.initial_weights(seed);
    Random random(seed + 1);
    for (float& weight : weights) weight += static_cast<float>(random.uniform(-0.3, 0.3));
    return weights;
}

std::vector<GroupId> some_of(const std::vector<GroupId>& groups, Random& random) {
    std::vector<GroupId> some;
    for (const GroupId group : groups) {
        if (random.chance(0.6)) some.push_back(group);
    }
    return some;
}

/// Objective of a task (GradientTask) by the probabilities as they are computed without LibTorch.
double objective(const ListNetwork& network, const GradientTask& task) {
    ListDecoder now(task.graph, network, task.weights);
    double sum = 0;
    for (std::size_t i = 0; i < task.rollouts.size(); ++i) {
        const Rollout& rollout = task.rollouts[i];
        const std::size_t devices = task.graph.devices;
        const std::vector<float> p = now.probabilities(rollout);
        std::vector<float> before;
        if (!task.weights_before.empty())
            before = ListDecoder(task.graph, network, task.weights_before).probabilities(rollout);
        for (std::size_t step = 0; step < rollout.nodes.size(); ++step) {
            const std::size_t row = step * devices, taken = row + rollout.devices[step];
            for (std::size_t d = row; d < row + devices; ++d)
                sum -= p[d] > 0 ? task.entropy_weight * p[d] * std::log(p[d]) : 0;
            if (before.empty()) {
                sum += task.advantages[i][step] * std::log(p[taken]);
                continue;
            }
            sum += task.advantages[i][step] * p[taken] / before[taken];
            for (std::size_t d = row; d < row + devices; ++d)
                sum -= before[d] > 0 ? task.divergence_weight * before[d] * std::log(before[d] / p[d]) : 0;
        }
    }
    return sum;
}

}  // namespace

class TestListPolicy : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void decidesOnTheGroupsOfTheOrderAlone();
    void drawsByItsProbabilities();
    void leadsToAPlacement();
    void gradient_data();
    void gradient();
    void isTheSameWhateverTheNamesOfDevices();
    void findsTheNearestGroups();
    void learnsWhatItIsShown();
    void guidesASearch();
    void instantEndsByItselfAndFits();
    void generalNetworksDiffer();
};

void TestListPolicy::decidesOnTheGroupsOfTheOrderAlone() {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const auto graph = random_policy_graph(seed, 30);
        const ListPolicy policy(kSmall);
        const std::vector<float> weights = stirred_weights(policy, seed);
        Random random(seed);
        const Placement start = graph->choices.random_placement(random);
        const std::vector<GroupId> order = some_of(graph->order, random);
        for (const bool greedy : {true, false}) {
            const Rollout rollout = policy.roll_out(*graph, weights, start, order, random, greedy);
            QCOMPARE(std::set(rollout.nodes.begin(), rollout.nodes.end()),
                     std::set(order.begin(), order.end()));
            QCOMPARE(rollout.nodes.size(), order.size());
            const Placement placement = last_placement(*graph, rollout);
            for (GroupId group = 0; group < graph->nodes; ++group) {
                if (std::ranges::find(order, group) == order.end()) {
                    QCOMPARE(placement[group], start[group]);
                } else {
                    QVERIFY(graph->choices.allows(group, placement[group]));
                }
            }
        }
        Random other(seed + 1);
        QCOMPARE(policy.roll_out(*graph, weights, start, order, random, true),
                 policy.roll_out(*graph, weights, start, order, other, true));
    }
}

/// How often each device is drawn for a group, beside its probability.
void TestListPolicy::drawsByItsProbabilities() {
    const auto graph = random_policy_graph(3);
    const ListPolicy policy(kSmall);
    const std::vector<float> weights = stirred_weights(policy, 3);
    ListDecoder decoder(*graph, kSmall, weights);
    Random random(3);
    const Placement start = graph->choices.random_placement(random);
    for (const GroupId group : graph->choices.movable()) {
        constexpr int kDraws = 4000;
        std::vector<double> drawn(graph->devices);
        std::vector<float> p;
        for (int i = 0; i < kDraws; ++i) {
            const Rollout rollout = decoder.decode(start, std::array{group}, random, false);
            drawn[rollout.devices.front()] += 1.0 / kDraws;
            if (p.empty()) p = decoder.probabilities(rollout);
        }
        QVERIFY(std::abs(std::accumulate(p.begin(), p.end(), 0.0) - 1) < 1e-5);
        for (std::size_t i = 0; i < drawn.size(); ++i) {
            if (graph->allowed[std::size_t{group} * graph->devices + i] == 0) QCOMPARE(p[i], 0.0F);
            QVERIFY(std::abs(drawn[i] - static_cast<double>(p[i])) < 0.05);
        }
        const Rollout likeliest = decoder.decode(start, std::array{group}, random, true);
        QCOMPARE(p[likeliest.devices.front()], *std::ranges::max_element(p));
    }
}

void TestListPolicy::leadsToAPlacement() {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const auto graph = random_policy_graph(seed, 30);
        const ListPolicy policy(kSmall);
        const std::vector<float> weights = stirred_weights(policy, seed);
        Random random(seed);
        const Placement placement = graph->choices.random_placement(random);
        const std::vector<GroupId> part = some_of(graph->order, random);
        const Rollout rollout = policy.leading_to(*graph, placement, part);
        QCOMPARE(last_placement(*graph, rollout), placement);
        // In the order in which the policy itself decides.
        QCOMPARE(rollout.nodes, policy.roll_out(*graph, weights, placement, part, random, true).nodes);
    }
}

void TestListPolicy::gradient_data() {
    QTest::addColumn<bool>("proximal");
    QTest::addColumn<bool>("parts");
    for (const bool proximal : {false, true}) {
        for (const bool parts : {false, true})
            QTest::addRow("%s, %s", proximal ? "proximal" : "plain", parts ? "parts" : "all groups")
                << proximal << parts;
    }
}

void TestListPolicy::gradient() {
    QFETCH(bool, proximal);
    QFETCH(bool, parts);
    int tensors = 0, bent = 0;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        const auto graph = random_policy_graph(seed);
        const ListPolicy policy(kSmall);
        std::vector<float> weights = stirred_weights(policy, seed);
        const std::vector<float> before = stirred_weights(policy, seed + 100);
        Random random(seed);
        std::vector<Rollout> rollouts;
        std::vector<std::vector<double>> advantages;
        for (int i = 0; i < 3; ++i) {
            const std::vector<GroupId> order = parts ? some_of(graph->order, random) : graph->order;
            rollouts.push_back(policy.roll_out(*graph, weights, graph->choices.random_placement(random),
                                               order, random, false));
            auto& own = advantages.emplace_back();
            for (std::size_t k = 0; k < order.size(); ++k) own.push_back(random.uniform(-1, 1));
        }
        const auto task = [&](std::span<const float> at) {
            return GradientTask{
                *graph,   at,         proximal ? std::span<const float>(before) : std::span<const float>(),
                rollouts, advantages, 0.3,
                0.2};
        };
        std::vector<float> gradient(weights.size());
        const GradientSummary summary = policy.add_gradient(task(weights), gradient);
        QVERIFY(std::abs(summary.objective - objective(kSmall, task(weights))) <
                1e-5 * (1 + std::abs(summary.objective)));
        std::size_t first = 0;
        for (const PolicyParameter& parameter : policy.parameters()) {
            const auto at = [&](std::span<const float> moved) { return objective(kSmall, task(moved)); };
            const auto [error, size] =
                test::slope_error(weights, gradient, first, parameter.size(), 2e-4, at, random);
            first += parameter.size();
            ++tensors;
            bent += error > 0.1 * size + 0.03 ? 1 : 0;
        }
    }
    // A few tensors differ where relus bend within a step.
    QVERIFY2(tensors > 100 && bent * 6 < tensors,
             qPrintable(QStringLiteral("%1 of %2").arg(bent).arg(tensors)));
}

/// Features are of devices, not of their numbers: with the two GPUs exchanged, so are their probabilities.
void TestListPolicy::isTheSameWhateverTheNamesOfDevices() {
    const auto graph = std::make_shared<const PolicyGraph>(
        test::problem(test::fork_join(4), test::uniform_machine(2)), false);
    const ListPolicy policy(kSmall);
    const std::vector<float> weights = stirred_weights(policy, 5);
    ListDecoder decoder(*graph, kSmall, weights);
    Random random(5);
    QCOMPARE(graph->devices, 2U);
    for (int i = 0; i < 20; ++i) {
        const Placement placement = graph->choices.random_placement(random);
        Placement exchanged = placement;
        for (DeviceId& device : exchanged) device = graph->choices.devices()[1 - graph->index_of(device)];
        const std::vector<GroupId> part = some_of(graph->order, random);
        const std::vector<float> p = decoder.probabilities(policy.leading_to(*graph, placement, part)),
                                 q = decoder.probabilities(policy.leading_to(*graph, exchanged, part));
        for (std::size_t k = 0; k < p.size(); k += 2) {
            QVERIFY(std::abs(p[k] - q[k + 1]) < 1e-5F);
            QVERIFY(std::abs(p[k + 1] - q[k]) < 1e-5F);
        }
    }
}

void TestListPolicy::findsTheNearestGroups() {
    const auto graph =
        std::make_shared<const PolicyGraph>(test::problem(test::chain(9), test::uniform_machine(2)), false);
    const auto near = nearest_groups(*graph, 4, 5);
    QCOMPARE(std::set(near.begin(), near.end()), (std::set<GroupId>{2, 3, 4, 5, 6}));
    QCOMPARE(near.front(), GroupId{4});
    QCOMPARE(nearest_groups(*graph, 0, 100).size(), std::size_t{graph->nodes});
}

/// Imitation: after it the most likely placement is the one that was shown, although no simulation ever
/// preferred it.
void TestListPolicy::learnsWhatItIsShown() {
    const auto problem = test::problem(test::fork_join(4), test::uniform_machine(3));
    const auto graph = std::make_shared<const PolicyGraph>(problem, false);
    const PolicyDesign design = find_policy("list-policy")
                                    ->make({{"imitation", 1.0},
                                            {"final_imitation", 1.0},
                                            {"workers", std::int64_t{4}},
                                            {"learning_rate", 0.01}},
                                           {graph->devices, graph->nodes});
    Trainer trainer(design.policy, design.training, {{"fork", graph, 1}}, 7, 60, 1);
    Placement shown = graph->choices.on_one_device(graph->choices.devices()[1]);
    shown[2] = graph->choices.devices()[2];
    trainer.show({{0, {shown, {1, 1, true}}}});
    std::vector<std::unique_ptr<Evaluator>> evaluators;
    evaluators.push_back(simulation_evaluator(problem, {}, {}));
    QVERIFY(run_training(trainer, evaluators, {.updates = 60}));
    QCOMPARE(trainer.state().evaluations, std::uint64_t{0});
    // GPUs are alike: which of them it is cannot be learned, what is together can.
    const Placement learned = last_placement(*graph, trainer.predict(*graph));
    for (GroupId a = 0; a < graph->nodes; ++a) {
        for (GroupId b = 0; b < graph->nodes; ++b) QCOMPARE(learned[a] == learned[b], shown[a] == shown[b]);
    }
    // A better placement takes its place, a worse one does not.
    trainer.show({{0, {graph->choices.on_one_device(graph->choices.devices()[0]), {2, 2, true}}}});
    QCOMPARE(trainer.state().best[0].placement, shown);
}

void TestListPolicy::guidesASearch() {
    const auto graph = random_policy_graph(11, 40);
    const ListPolicy policy(kSmall);
    ListGuide guide(graph, kSmall, stirred_weights(policy, 11));
    Random random(1), same(1);
    ListGuide twin(graph, kSmall, stirred_weights(policy, 11));
    const std::vector<Placement> starts = guide.starts(6, random, {});
    QCOMPARE(twin.starts(6, same, {}), starts);
    QVERIFY(starts.size() > 1);
    QCOMPARE(std::set(starts.begin(), starts.end()).size(), starts.size());
    Placement placement = starts.front();
    int moved = 0;
    for (int i = 0; i < 200; ++i) {
        const Placement before = placement;
        const bool changed = guide.move(placement, random);
        QCOMPARE(placement != before, changed);
        moved += changed ? 1 : 0;
        for (GroupId group = 0; group < graph->nodes; ++group)
            QVERIFY(placement[group] == before[group] || graph->choices.allows(group, placement[group]));
    }
    QVERIFY(moved > 20);
}

void TestListPolicy::instantEndsByItselfAndFits() {
    const auto problem = test::problem(test::random_network(5, 40), test::uniform_machine(3));
    const ListPolicy policy(kSmall);
    const std::vector<float> weights = stirred_weights(policy, 2);
    const auto run = [&](const std::shared_ptr<const Problem>& of, unsigned threads) {
        SearchContext context{of, 1, {}};
        context.guide =
            std::make_shared<ListGuide>(std::make_shared<const PolicyGraph>(of, false), kSmall, weights);
        const auto optimizer = instant_algorithm().make(
            context, {{"draws", std::int64_t{8}}, {"refinement", std::int64_t{100}}});
        const auto evaluator = simulation_evaluator(of, {}, {}, threads);
        return run_search(*optimizer, *evaluator, {.evaluations = Budget::kUnlimited});
    };
    const SearchResult result = run(problem, 1);
    QVERIFY(result.end == SearchEnd::exhausted);
    QVERIFY(result.progress.evaluations > 100 && result.progress.evaluations < 150);
    QCOMPARE(*run(problem, 2).progress.best_placement, *result.progress.best_placement);

    // With room for a part of the network on each GPU it still finds a placement that fits.
    double bytes = 0;
    for (OpId op = 0; op < problem->ops; ++op) bytes += problem->resident_bytes[op];
    for (TensorId tensor = 0; tensor < problem->tensors; ++tensor) bytes += problem->output_bytes[tensor];
    const auto tight = test::problem(test::random_network(5, 40), test::uniform_machine(3, bytes / 2));
    const SearchProgress found = run(tight, 1).progress;
    QVERIFY(found.best.fits);
}

void TestListPolicy::generalNetworksDiffer() {
    const FamilyInfo* family = find_family("general");
    QVERIFY(family != nullptr);
    std::set<std::pair<std::size_t, std::int64_t>> sizes;
    for (std::uint32_t number = 0; number < 40; ++number) {
        const Graph graph = family_member(*family, 1, number);
        QVERIFY(graph.size() > 10);
        QCOMPARE(graph_fingerprint(family_member(*family, 1, number)), graph_fingerprint(graph));
        sizes.emplace(graph.size(), graph.batch());
        for (const NetworkInfo& known : known_networks())
            QVERIFY(graph_fingerprint(known.build(graph.batch())) != graph_fingerprint(graph));
    }
    QVERIFY(sizes.size() > 35);
}

QTEST_GUILESS_MAIN(TestListPolicy)
#include "tst_list_policy.moc"
