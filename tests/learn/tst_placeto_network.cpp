// SPDX-License-Identifier: MIT
// Placeto's network: products of matrices against plain loops, what follows decisions one by one against what
// is computed from the beginning, and the gradient against differences of the log-likelihood.
#include <cmath>

#include <QtTest>

#include "core/graph/networks.hpp"
#include "core/learn/matrix.hpp"
#include "core/learn/placeto_network.hpp"
#include "tests/support/finite_differences.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

namespace {

std::shared_ptr<const PolicyGraph> policy_graph(std::uint64_t seed) {
    return std::make_shared<const PolicyGraph>(
        test::problem(test::random_network(seed, 12), test::random_machine(seed)), true);
}

struct Variant {
    const char* name;
    PlacetoNetwork network;
};

std::vector<Variant> variants(const PolicyGraph& graph) {
    using enum PlacetoAggregation;
    using enum PlacetoDevices;
    std::vector<Variant> all{
        {"messages", {messages, one_hot}},
        {"deep messages", {messages, one_hot}},
        {"no rounds", {messages, one_hot}},
        {"messages, features", {messages, features}},
        {"pooling", {pooling, one_hot}},
        {"pooling, features", {pooling, features}},
        {"flat", {flat, one_hot}},
        {"flat, features", {flat, features}},
        {"sums of messages", {messages, one_hot}},
    };
    for (Variant& variant : all) {
        variant.network.devices = graph.devices;
        variant.network.flat_nodes = graph.nodes;
        variant.network.width = 5;
        variant.network.hidden = 7;
        variant.network.rounds = 3;
        variant.network.inertia = 0.7F;
        variant.network.foresight = 1.5F;
    }
    all[1].network.layers = 2;
    all[2].network.rounds = 0;
    all.back().network.mean_messages = false;
    return all;
}

/// Not near 0, so that all parts of the network matter.
std::vector<float> weights_of(const Policy& policy, std::uint64_t seed) {
    std::vector<float> weights = policy.initial_weights(seed);
    Random random(seed + 1);
    for (float& weight : weights) weight += static_cast<float>(random.uniform(-0.3, 0.3));
    return weights;
}

Placement start_of(const PolicyGraph& graph, Random& random) {
    return graph.choices.random_placement(random);
}

/// Objective of a task (GradientTask) by the probabilities of the network, each computed from the beginning.
double objective(const PlacetoPolicy& policy, const GradientTask& task) {
    double sum = 0;
    for (std::size_t i = 0; i < task.rollouts.size(); ++i) {
        PlacetoState state(task.graph, task.rollouts[i].start);
        for (std::size_t step = 0; step < task.rollouts[i].nodes.size(); ++step) {
            const std::uint16_t device = task.rollouts[i].devices[step];
            state.turn_to(task.rollouts[i].nodes[step]);
            const auto now = policy.probabilities(task.graph, task.weights, state);
            for (const float p : now) sum -= p > 0 ? task.entropy_weight * p * std::log(p) : 0;
            if (task.weights_before.empty()) {
                sum += task.advantages[i][step] * std::log(now[device]);
            } else {
                const auto before = policy.probabilities(task.graph, task.weights_before, state);
                sum += task.advantages[i][step] * now[device] / before[device];
                for (std::size_t d = 0; d < now.size(); ++d)
                    sum -=
                        before[d] > 0 ? task.divergence_weight * before[d] * std::log(before[d] / now[d]) : 0;
            }
            state.decide(device);
        }
    }
    return sum;
}

}  // namespace

class TestPlacetoNetwork : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void products_add_in_order();
    void graph_has_the_reach_of_its_edges();
    void follows_decisions_exactly();
    void gradient_data();
    void gradient();
    void begins_without_preferences();
    void is_the_same_whatever_the_order_of_devices();
    void foresight_does_not_depend_on_the_order_of_decisions();
    void learns_without_libtorch();
};

void TestPlacetoNetwork::products_add_in_order() {
    Random random(1);
    for (const std::size_t rows : {1U, 3U, 4U, 9U}) {
        for (const std::size_t columns : {1U, 7U, 8U, 16U, 27U}) {
            for (const std::size_t inner : {0U, 1U, 5U, 33U}) {
                std::vector<float> left(rows * (inner + 1)), right(inner * (columns + 2)),
                    sum(rows * columns);
                for (auto* all : {&left, &right, &sum}) {
                    for (float& value : *all) value = static_cast<float>(random.uniform(-1, 1));
                }
                for (const bool by_columns : {false, true}) {
                    const MatrixView view{left.data(), by_columns ? 1 : inner + 1, by_columns ? rows : 1};
                    std::vector<float> expected = sum, found = sum;
                    for (std::size_t r = 0; r < rows; ++r) {
                        for (std::size_t c = 0; c < columns; ++c) {
                            for (std::size_t i = 0; i < inner; ++i) {
                                const volatile float product =  // volatile: rounded before the addition
                                    left[r * view.row_stride + i * view.column_stride] *
                                    right[i * (columns + 2) + c];
                                expected[r * columns + c] += product;
                            }
                        }
                    }
                    add_product(found.data(), columns, rows, columns, view, inner, right.data(), columns + 2);
                    QCOMPARE(found, expected);
                }
            }
        }
    }
}

void TestPlacetoNetwork::graph_has_the_reach_of_its_edges() {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const auto graph = policy_graph(seed);
        for (GroupId from = 0; from < graph->nodes; ++from) {
            // Depth first, as slow as it is plain.
            std::vector<bool> seen(graph->nodes);
            std::vector<GroupId> open(graph->children(from).begin(), graph->children(from).end());
            while (!open.empty()) {
                const GroupId node = open.back();
                open.pop_back();
                if (seen[node]) continue;
                seen[node] = true;
                open.insert(open.end(), graph->children(node).begin(), graph->children(node).end());
            }
            for (GroupId to = 0; to < graph->nodes; ++to) {
                QCOMPARE(graph->descendants[from].contains(to), bool(seen[to]) && to != from);
                QCOMPARE(graph->ancestors[to].contains(from), bool(seen[to]) && to != from);
            }
        }
        std::vector<std::size_t> place(graph->nodes);
        for (std::size_t i = 0; i < graph->order.size(); ++i) place[graph->order[i]] = i;
        for (GroupId node = 0; node < graph->nodes; ++node) {
            for (const GroupId parent : graph->parents(node))
                QVERIFY(place[parent] < place[node] || graph->descendants[node].contains(parent));
        }
    }
}

void TestPlacetoNetwork::follows_decisions_exactly() {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const auto graph = policy_graph(seed);
        for (const Variant& variant : variants(*graph)) {
            const PlacetoPolicy policy(variant.network);
            const auto weights = weights_of(policy, seed);
            Random random(seed);
            std::vector<GroupId> order(graph->order);
            order.insert(order.end(), graph->order.rbegin(), graph->order.rend());
            const Rollout rollout =
                policy.roll_out(*graph, weights, start_of(*graph, random), order, random, true);
            QCOMPARE(rollout.nodes, order);
            PlacetoState state(*graph, rollout.start);
            for (std::size_t i = 0; i < order.size(); ++i) {
                state.turn_to(order[i]);
                const auto probabilities = policy.probabilities(*graph, weights, state);
                double sum = 0;
                for (const float p : probabilities) sum += p;
                QVERIFY(std::abs(sum - 1) < 1e-5);
                const auto best = std::ranges::max_element(probabilities) - probabilities.begin();
                QCOMPARE(std::ptrdiff_t{rollout.devices[i]}, best);
                QVERIFY(graph->allowed[order[i] * graph->devices + rollout.devices[i]] != 0);
                state.decide(rollout.devices[i]);
            }
            QCOMPARE(placements_along(*graph, rollout).back(), last_placement(*graph, rollout));
        }
    }
}

void TestPlacetoNetwork::gradient_data() {
    QTest::addColumn<int>("index");
    QTest::addColumn<bool>("proximal");
    const auto all = variants(*policy_graph(3));
    for (int i = 0; i < static_cast<int>(all.size()); ++i) {
        for (const bool proximal : {false, true})
            QTest::newRow((std::string(all[i].name) + (proximal ? ", proximal" : "")).c_str())
                << i << proximal;
    }
}

void TestPlacetoNetwork::gradient() {
    QFETCH(int, index);
    QFETCH(bool, proximal);
    const auto graph = policy_graph(3);
    const PlacetoPolicy policy(variants(*graph)[index].network);
    std::vector<float> weights = weights_of(policy, 5);
    const auto before = weights_of(policy, 6);
    Random random(7);
    std::vector<Rollout> rollouts;
    std::vector<std::vector<double>> advantages;
    // Two passes are more than what is differentiated at a time.
    std::vector<GroupId> order(graph->order);
    order.insert(order.end(), graph->order.begin(), graph->order.end());
    for (int i = 0; i < 2; ++i) {
        rollouts.push_back(policy.roll_out(*graph, weights, start_of(*graph, random), order, random, false));
        advantages.emplace_back();
        for (std::size_t step = 0; step < order.size(); ++step)
            advantages.back().push_back(random.uniform(-1, 1));
    }
    const GradientTask task{
        *graph,   weights,    proximal ? std::span<const float>(before) : std::span<const float>(),
        rollouts, advantages, 0.3,
        0.7};
    std::vector<float> gradient(policy.size(), 0.5F);
    const GradientSummary summary = policy.add_gradient(task, gradient);
    QVERIFY(summary.entropy >= 0);
    QCOMPARE(summary.divergence > 0, proximal);
    for (float& slope : gradient) slope -= 0.5F;
    // Tensor by tensor: small gradients would drown among others.
    std::size_t first = 0;
    for (const PolicyParameter& parameter : policy.parameters()) {
        const auto at = [&](std::span<const float> moved) {
            return objective(policy, {task.graph, moved, task.weights_before, task.rollouts, task.advantages,
                                      task.entropy_weight, task.divergence_weight});
        };
        const auto [error, size] =
            test::slope_error(weights, gradient, first, parameter.size(), 2e-4, at, random);
        first += parameter.size();
        QVERIFY2(error < 0.1 * size + 0.02,
                 qPrintable(QString("%1: error %2 of %3").arg(parameter.name.c_str()).arg(error).arg(size)));
    }
}

void TestPlacetoNetwork::begins_without_preferences() {
    // In nmt all steps of a layer read one parameter op, and decoders read all steps of the encoder.
    const PolicyGraph graph(test::problem(find_network("nmt2")->build(32), test::uniform_machine(4)), false);
    for (const PlacetoDevices devices : {PlacetoDevices::one_hot, PlacetoDevices::features}) {
        PlacetoNetwork network{PlacetoAggregation::messages, devices};
        network.devices = graph.devices;
        const PlacetoPolicy policy(network);
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            PlacetoState state(graph, single_device_placement(graph.choices.problem()));
            state.turn_to(graph.order[graph.nodes / 2]);
            for (const float p : policy.probabilities(graph, policy.initial_weights(seed), state))
                QVERIFY2(std::abs(p - 0.25F) < 0.05F, qPrintable(QString::number(p)));
        }
    }
}

void TestPlacetoNetwork::is_the_same_whatever_the_order_of_devices() {
    // A policy that tells devices by features moves with them: two equal GPUs, with what is on them
    // exchanged, are chosen as each other.
    Random random(11);
    const PolicyGraph graph(test::problem(test::random_network(11, 12), test::uniform_machine(2)), false);
    PlacetoNetwork network{PlacetoAggregation::messages, PlacetoDevices::features};
    const PlacetoPolicy policy(network);
    const auto weights = weights_of(policy, 1);
    const Placement placement = start_of(graph, random);
    Placement exchanged = placement;
    for (DeviceId& device : exchanged)
        device =
            device == graph.choices.devices()[0] ? graph.choices.devices()[1] : graph.choices.devices()[0];
    PlacetoState state(graph, placement), other(graph, exchanged);
    state.turn_to(graph.order[1]);
    other.turn_to(graph.order[1]);
    const auto p = policy.probabilities(graph, weights, state),
               q = policy.probabilities(graph, weights, other);
    QVERIFY(std::abs(p[0] - q[1]) < 1e-5F && std::abs(p[1] - q[0]) < 1e-5F);
    QVERIFY(std::abs(p[0] - p[1]) > 1e-6F);
}

void TestPlacetoNetwork::foresight_does_not_depend_on_the_order_of_decisions() {
    const auto graph = policy_graph(3);
    Random random(1);
    const Placement start = start_of(*graph, random);
    std::vector<std::uint16_t> devices(graph->nodes);
    for (auto& device : devices) device = static_cast<std::uint16_t>(random.index(graph->devices));
    bool late = false;
    for (std::size_t place = 0; place < graph->nodes; ++place) {
        PlacetoState forth(*graph, start), back(*graph, start);
        const std::span before = std::span(graph->order).first(place);
        for (std::size_t i = 0; i < place; ++i) {
            forth.turn_to(before[i]);
            forth.decide(devices[before[i]]);
            back.turn_to(before[place - 1 - i]);
            back.decide(devices[before[place - 1 - i]]);
        }
        forth.turn_to(graph->order[place]);
        back.turn_to(graph->order[place]);
        for (std::size_t device = 0; device < graph->devices; ++device) {
            QCOMPARE(forth.lateness(device), back.lateness(device));
            late = late || forth.lateness(device) > 0;
        }
    }
    QVERIFY(late);
}

void TestPlacetoNetwork::learns_without_libtorch() {
    const auto graph = policy_graph(3);
    const PlacetoPolicy policy({PlacetoAggregation::messages, PlacetoDevices::features});
    const auto weights = weights_of(policy, 1);
    Random random(1);
    const std::vector<Rollout> rollouts{
        policy.roll_out(*graph, weights, start_of(*graph, random), graph->order, random, false)};
    const std::vector<std::vector<double>> advantages{std::vector<double>(graph->order.size(), 1)};
    std::vector<float> gradient(policy.size());
    policy.add_gradient({*graph, weights, {}, rollouts, advantages}, gradient);
    QVERIFY(std::ranges::any_of(gradient, [](float slope) { return slope != 0; }));
    QFile maps("/proc/self/maps");
    QVERIFY(maps.open(QIODevice::ReadOnly));
    const QByteArray libraries = maps.readAll();
    QVERIFY(libraries.contains("libc.so"));
    QVERIFY(!libraries.contains("libtorch"));
}

QTEST_APPLESS_MAIN(TestPlacetoNetwork)
#include "tst_placeto_network.moc"
