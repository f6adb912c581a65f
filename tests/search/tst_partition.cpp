// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <cstdio>
#include <functional>
#include <set>
#include <thread>
#include <unistd.h>

#include <QTemporaryFile>
#include <QtTest>

#include "core/algorithms.hpp"
#include "core/base/infinity.hpp"
#include "core/base/random.hpp"
#include "core/search/parts/partition.hpp"
#include "core/search/search.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/optimizers.hpp"

using namespace placewright;
using test::ProblemPtr, test::text, test::whole;

namespace {

constexpr std::array kIds{"scotch", "metis"};

/// Options for `parts` parts with one tolerance, for the methods that keep it.
OptionValues cut_into(const QString& id, std::int64_t parts, double imbalance) {
    OptionValues values{{"parts", whole(parts)}, {"imbalance", imbalance}};
    if (id.startsWith(QLatin1String("scotch"))) values["balance"] = text("time");
    if (id.startsWith(QLatin1String("metis"))) values["method"] = text("recursive");
    return values;
}

std::vector<Placement> proposals(const std::string& id, const ProblemPtr& problem, const OptionValues& values,
                                 std::size_t limit = 1000, std::uint64_t seed = 1) {
    const auto optimizer = find_algorithm(id)->make({problem, seed, {}}, values);
    std::vector<Placement> all;
    while (true) {
        const auto batch = optimizer->ask(limit);
        if (batch.empty()) return all;
        if (batch.size() > limit) qFatal("more than asked for");
        all.insert(all.end(), batch.begin(), batch.end());
        optimizer->tell(std::vector<Score>(batch.size(), Score{1, 1, true}));
    }
}

Op op_of(const std::string& name, double flops, std::int64_t bytes) {
    Op op;
    op.name = name;
    op.kind = "matmul";
    op.flops = flops;
    Tensor output;
    output.bytes = bytes;
    op.outputs = {output};
    return op;
}

/// Each op of a clique reads all previous ones.
void add_clique(GraphBuilder& builder, const std::string& name, int size, std::int64_t bytes,
                const std::vector<std::string>& first_reads) {
    std::vector<std::string> before = first_reads;
    for (int i = 0; i < size; ++i) {
        const std::string op = name + std::to_string(i);
        builder.add(op_of(op, 1e9, bytes), before);
        if (i == 0) before.clear();
        before.push_back(op);
    }
}

/// A chain of ops with the given seconds, and the given bytes between consecutive ops.
Graph chain_of(const std::vector<double>& seconds, const std::vector<std::int64_t>& bytes) {
    GraphBuilder builder("chain", 1, Training::none);
    for (std::size_t i = 0; i < seconds.size(); ++i) {
        std::vector<std::string> inputs;
        if (i > 0) inputs.push_back("op" + std::to_string(i - 1));
        builder.add(op_of("op" + std::to_string(i), seconds[i] * 1e12, i < bytes.size() ? bytes[i] : 0),
                    inputs);
    }
    return builder.build();
}

DeviceId device_of(const Problem& problem, const Placement& placement, const std::string& op) {
    return placement[problem.grouping.group_of[*problem.graph->find(op)]];
}

/// [device]: total seconds of its groups.
std::vector<double> loads_s(const Problem& problem, const Placement& placement) {
    std::vector<double> sum_s(problem.devices, 0);
    for (GroupId group = 0; group < problem.groups; ++group)
        sum_s[placement[group]] += problem.group_time_s(group, placement[group]);
    return sum_s;
}

double cut_traffic(const WeightedGraph& graph, const std::function<std::uint32_t(std::size_t)>& part_of) {
    double sum = 0;
    for (std::size_t vertex = 0; vertex < graph.size(); ++vertex) {
        for (auto i = graph.begin[vertex]; i < graph.begin[vertex + 1]; ++i) {
            if (part_of(vertex) < part_of(graph.neighbour[i])) sum += graph.traffic[i];
        }
    }
    return sum;
}

/// Pairs of GPUs with fast links, and slow links between the pairs.
Machine paired_machine() {
    const Machine uniform = test::uniform_machine(4);
    std::vector<Channel> channels(uniform.channels().begin(), uniform.channels().end());
    for (const Route& route : uniform.routes()) {
        if (route.from / 2 == route.to / 2) channels[route.channels.front()].bandwidth *= 20;
    }
    return Machine("pairs", {uniform.devices().begin(), uniform.devices().end()}, channels,
                   {uniform.routes().begin(), uniform.routes().end()});
}

void add_ids() {
    QTest::addColumn<QString>("id");
    for (const char* id : kIds) QTest::newRow(id) << id;
}

}  // namespace

class TestPartition : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void weights_are_whole() {
        QCOMPARE(whole_weights(std::vector<double>{1, 2, 1}, 400),
                 (std::vector<std::int32_t>{100, 200, 100}));
        QCOMPARE(whole_weights(std::vector<double>{0, 0}, 400), (std::vector<std::int32_t>{1, 1}));
        QCOMPARE(whole_weights(std::vector<double>{1e30, 0, 1e-30}, 1 << 24),
                 (std::vector<std::int32_t>{1 << 24, 1, 1}));
        QVERIFY(whole_weights(std::vector<double>{}, 400).empty());
    }

    /// Compared with a count over all ops.
    void graph_of_groups_is_complete() {
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            const ProblemPtr problem = test::problem(test::random_network(seed, 30, 3, Training::implicit),
                                                     test::random_machine(seed));
            const DeviceChoices choices(problem, true);
            const WeightedGraph graph = group_graph(choices, "bytes");
            QCOMPARE(graph.size(), std::size_t{problem->groups});
            std::map<std::pair<GroupId, GroupId>, double> expected;
            for (TensorId tensor = 0; tensor < problem->tensors; ++tensor) {
                const GroupId from = problem->grouping.group_of[problem->producer[tensor]];
                std::set<GroupId> readers;
                for (auto i = problem->consumer_begin[tensor]; i < problem->consumer_begin[tensor + 1]; ++i)
                    readers.insert(problem->grouping.group_of[problem->consumer[i]]);
                readers.erase(from);
                for (const GroupId to : readers)
                    expected[std::minmax(from, to)] += problem->tensor_bytes[tensor];
            }
            std::map<std::pair<GroupId, GroupId>, double> found;
            for (GroupId group = 0; group < graph.size(); ++group) {
                double mean_s = 0;
                for (const DeviceId device : choices.of(group))
                    mean_s += problem->group_time_s(group, device);
                QVERIFY(std::abs(graph.time_s[group] -
                                 mean_s / static_cast<double>(choices.of(group).size())) <= 1e-12 * mean_s);
                for (auto i = graph.begin[group]; i < graph.begin[group + 1]; ++i) {
                    QVERIFY(graph.neighbour[i] != group);
                    found[std::minmax(group, graph.neighbour[i])] += graph.traffic[i] / 2;
                }
            }
            QCOMPARE(found.size(), expected.size());
            for (const auto& [edge, traffic] : expected)
                QVERIFY(std::abs(found[edge] - traffic) <= 1e-9 * traffic);
        }
    }

    void part_of_a_graph_is_renumbered() {
        const DeviceChoices choices(test::problem(test::chain(6), test::uniform_machine(2)), false);
        const std::vector<GroupId> vertices{1, 2, 4, 5};
        const WeightedGraph part = subgraph(group_graph(choices, "bytes"), vertices);
        QCOMPARE(part.begin, (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
        QCOMPARE(part.neighbour, (std::vector<std::uint32_t>{1, 0, 3, 2}));
    }

    void trials_cover_parts_and_tolerances() {
        const DeviceChoices choices(test::problem(test::chain(20), test::uniform_machine(4)), false);
        PartitionOptions options;
        options.tries = 1;
        std::vector<std::size_t> parts;
        std::set<double> imbalances;
        for (const PartitionTrial& trial : partition_trials(choices, options, 1, 1)) {
            parts.push_back(trial.parts);
            if (trial.parts > 1) imbalances.insert(trial.imbalance);
            QVERIFY(trial.seed >= 0);
        }
        QCOMPARE(parts, (std::vector<std::size_t>{4, 3, 2, 4, 3, 2, 4, 3, 2, 4, 3, 2, 1}));
        QCOMPARE(imbalances, (std::set<double>{0.03, 0.1, 0.3, 1}));
        options.parts = 3;
        options.imbalance = 0.2;
        options.tries = 5;
        QCOMPARE(partition_trials(choices, options, 2, 1).size(), std::size_t{10});
        options.parts = 1;
        QCOMPARE(partition_trials(choices, options, 2, 1).size(), std::size_t{1});
        // There are never more parts than groups.
        const DeviceChoices few(test::problem(test::chain(2), test::uniform_machine(4)), false);
        QCOMPARE(partition_trials(few, {}, 1, 1).front().parts, std::size_t{2});
    }

    void cliques_are_cut_at_the_bridge_data() { add_ids(); }

    void cliques_are_cut_at_the_bridge() {
        QFETCH(QString, id);
        for (const Training training : {Training::none, Training::implicit}) {
            GraphBuilder builder("cliques", 1, training);
            add_clique(builder, "left", 9, 1'000'000, {});
            add_clique(builder, "right", 9, 1'000'000, {"left8"});
            const ProblemPtr problem = test::problem(builder.build(), test::uniform_machine(2));
            for (std::uint64_t seed = 1; seed <= 5; ++seed) {
                const std::vector<Placement> all =
                    proposals(id.toStdString(), problem, cut_into(id, 2, 0.2), 1000, seed);
                QVERIFY(!all.empty());
                for (const Placement& placement : all) {
                    const DeviceId left = device_of(*problem, placement, "left0");
                    for (int i = 0; i < 9; ++i) {
                        QCOMPARE(device_of(*problem, placement, "left" + std::to_string(i)), left);
                        QVERIFY(device_of(*problem, placement, "right" + std::to_string(i)) != left);
                    }
                }
            }
        }
    }

    void balance_is_kept_data() { add_ids(); }

    void balance_is_kept() {
        QFETCH(QString, id);
        for (std::uint64_t seed = 1; seed <= 10; ++seed) {
            const ProblemPtr problem =
                test::problem(test::random_graph(seed, 120, 2, Training::implicit), test::uniform_machine(4));
            double all_s = 0;
            double largest_s = 0;
            for (GroupId group = 0; group < problem->groups; ++group) {
                all_s += problem->group_time_s(group, 0);
                largest_s = std::max(largest_s, problem->group_time_s(group, 0));
            }
            for (const double imbalance : {0.05, 0.3}) {
                for (const Placement& placement :
                     proposals(id.toStdString(), problem, cut_into(id, 4, imbalance))) {
                    const double most_s = std::ranges::max(loads_s(*problem, placement));
                    QVERIFY2(most_s <= all_s / 4 * (1 + imbalance) + largest_s,
                             qPrintable(QString::number(most_s / all_s * 4)));
                }
            }
        }
    }

    void heavy_op_is_alone_data() { add_ids(); }

    void heavy_op_is_alone() {
        QFETCH(QString, id);
        std::vector<double> seconds(10, 1);
        seconds.back() = 9;
        const ProblemPtr problem =
            test::problem(chain_of(seconds, std::vector<std::int64_t>(9, 1000)), test::uniform_machine(2));
        for (const Placement& placement : proposals(id.toStdString(), problem, cut_into(id, 2, 0.03)))
            QCOMPARE(std::ranges::count(placement, placement.back()), 1);
    }

    void cheap_edge_is_cut_data() {
        add_ids();
        QTest::newRow("metis k-way") << "metis k-way";
        QTest::newRow("metis volume") << "metis volume";
        QTest::newRow("scotch complete") << "scotch complete";
    }

    void cheap_edge_is_cut() {
        QFETCH(QString, id);
        const QStringList words = id.split(QLatin1Char(' '));
        OptionValues values = cut_into(id, 2, 0.4);
        if (words.contains("k-way") || words.contains("volume")) values["method"] = text("k-way");
        if (words.contains("volume")) values["objective"] = text("volume");
        if (words.contains("complete")) values["architecture"] = text("complete");
        for (const char* edges : {"bytes", "seconds"}) {
            values["edges"] = text(edges);
            std::vector<std::int64_t> bytes(7, 10'000'000);
            bytes[2] = 1000;
            const ProblemPtr problem =
                test::problem(chain_of(std::vector<double>(8, 1), bytes), test::uniform_machine(2));
            for (const Placement& placement : proposals(words.front().toStdString(), problem, values)) {
                for (std::size_t i = 0; i < 8; ++i) QCOMPARE(placement[i] == placement[0], i <= 2);
            }
        }
    }

    void faster_device_gets_more_data() { add_ids(); }

    void faster_device_gets_more() {
        QFETCH(QString, id);
        const Machine uniform = test::uniform_machine(2);
        std::vector<Device> devices(uniform.devices().begin(), uniform.devices().end());
        devices[1].peak_flops *= 3;
        devices[1].memory_bandwidth *= 3;
        const Machine machine("unlike", devices, {uniform.channels().begin(), uniform.channels().end()},
                              {uniform.routes().begin(), uniform.routes().end()});
        const ProblemPtr problem = test::problem(test::chain(40), machine);
        for (const Placement& placement : proposals(id.toStdString(), problem, cut_into(id, 2, 0.03))) {
            QVERIFY2(std::ranges::count(placement, DeviceId{0}) >= 9 &&
                         std::ranges::count(placement, DeviceId{0}) <= 11,
                     qPrintable(QString::number(std::ranges::count(placement, DeviceId{0}))));
        }
        QVERIFY(!proposals(id.toStdString(), problem, cut_into(id, 2, 0.03)).empty());
    }

    /// The cut in the middle balances the time but puts all parameters on one device.
    void memory_is_a_second_constraint() {
        GraphBuilder builder("heavy", 1, Training::none);
        for (int i = 0; i < 12; ++i) {
            Op op = op_of("op" + std::to_string(i), 1e12, i == 5 ? 1000 : 1'000'000);
            if (i < 6) op.parameter_bytes = 4'000'000'000;
            builder.add(op, i > 0 ? std::vector<std::string>{"op" + std::to_string(i - 1)}
                                  : std::vector<std::string>{});
        }
        const ProblemPtr problem = test::problem(builder.build(), test::uniform_machine(2, 18e9));
        const auto heavy = [](const Placement& placement) {
            return std::count(placement.begin(), placement.begin() + 6, placement[0]);
        };
        const OptionValues values = cut_into("metis", 2, 0.1);
        for (const Placement& placement : proposals("metis", problem, values))
            QVERIFY(heavy(placement) >= 2 && heavy(placement) <= 4);
        OptionValues without = values;
        without["memory"] = false;
        for (const Placement& placement : proposals("metis", problem, without)) QCOMPARE(heavy(placement), 6);
        // Scotch balances one quantity at a time.
        OptionValues balanced = cut_into("scotch", 2, 0.1);
        balanced["balance"] = text("memory");
        for (const Placement& placement : proposals("scotch", problem, balanced))
            QCOMPARE(heavy(placement), 3);
        balanced["balance"] = text("time");
        for (const Placement& placement : proposals("scotch", problem, balanced))
            QCOMPARE(heavy(placement), 6);
    }

    /// All balanced cuts of small graphs into two are enumerated.
    void cuts_are_near_the_best_data() { add_ids(); }

    void cuts_are_near_the_best() {
        QFETCH(QString, id);
        constexpr std::uint32_t kOps = 14;
        double best_sum = 0;
        double found_sum = 0;
        for (std::uint64_t seed = 1; seed <= 30; ++seed) {
            Random random(seed);
            GraphBuilder builder("small", 1, Training::none);
            for (std::uint32_t i = 0; i < kOps; ++i) {
                std::set<std::string> inputs;
                for (std::size_t k = 0; k < 2 && i > 0; ++k)
                    inputs.insert("op" + std::to_string(random.index(i)));
                builder.add(op_of("op" + std::to_string(i), 1e12,
                                  static_cast<std::int64_t>(random.uniform(1e5, 1e6))),
                            {inputs.begin(), inputs.end()});
            }
            const ProblemPtr problem = test::problem(builder.build(), test::uniform_machine(2));
            const WeightedGraph graph = group_graph(DeviceChoices(problem, false), "bytes");
            // 7 | 7 and 6 | 8 are within a sixth.
            double best = kInfinity;
            for (std::uint32_t bits = 0; bits < 1U << kOps; ++bits) {
                if (std::abs(std::popcount(bits) - 7) > 1) continue;
                best = std::min(best,
                                cut_traffic(graph, [&](std::size_t vertex) { return bits >> vertex & 1; }));
            }
            double found = kInfinity;
            for (const Placement& placement :
                 proposals(id.toStdString(), problem,
                           {{"parts", whole(2)}, {"imbalance", 0.16}, {"tries", whole(10)}})) {
                if (std::abs(std::ranges::count(placement, DeviceId{0}) - 7) > 1) continue;
                found = std::min(found,
                                 cut_traffic(graph, [&](std::size_t vertex) { return placement[vertex]; }));
            }
            QVERIFY(found >= best);
            best_sum += best;
            found_sum += found;
        }
        QVERIFY2(found_sum <= 1.15 * best_sum, qPrintable(QString::number(found_sum / best_sum)));
    }

    void traffic_keeps_to_fast_links_data() { add_ids(); }

    void traffic_keeps_to_fast_links() {
        QFETCH(QString, id);
        GraphBuilder builder("four", 1, Training::none);
        add_clique(builder, "a", 6, 10'000'000, {});
        add_clique(builder, "b", 6, 10'000'000, {});
        add_clique(builder, "c", 6, 10'000'000, {"a1", "a3", "a5"});
        add_clique(builder, "d", 6, 10'000'000, {"b1", "b3", "b5"});
        builder.add(op_of("bridge", 0, 1'000), {"a0", "b0"});
        const ProblemPtr problem = test::problem(builder.build(), paired_machine());
        for (const Placement& placement : proposals(id.toStdString(), problem, cut_into(id, 4, 0.1))) {
            std::set<DeviceId> used;
            for (const char* const name : {"a0", "b0", "c0", "d0"})
                used.insert(device_of(*problem, placement, name));
            QCOMPARE(used.size(), std::size_t{4});
            QCOMPARE(device_of(*problem, placement, "a0") / 2, device_of(*problem, placement, "c0") / 2);
            QCOMPARE(device_of(*problem, placement, "b0") / 2, device_of(*problem, placement, "d0") / 2);
        }
    }

    void few_parts_are_near_each_other() {
        const Partition partition(DeviceChoices(test::problem(test::chain(12), paired_machine()), false),
                                  "bytes");
        QCOMPARE(partition.devices(2), (std::vector<DeviceId>{0, 1}));
        QVERIFY(partition.distance(0, 1) < partition.distance(0, 2));
        QVERIFY(partition.alike(0, 3));
    }

    void same_seed_same_answer_data() { add_ids(); }

    /// Independent of previous runs, the number of threads and the batch size of ask().
    void same_seed_same_answer() {
        QFETCH(QString, id);
        const std::string name = id.toStdString();
        const ProblemPtr problem =
            test::problem(test::random_graph(3, 150, 3, Training::implicit), test::uniform_machine(4));
        const std::vector<Placement> expected = proposals(name, problem, {});
        QVERIFY(expected.size() > 4);
        QCOMPARE(std::set<Placement>(expected.begin(), expected.end()).size(), expected.size());
        QVERIFY(proposals(name, problem, {}, 1000, 2) != expected);
        QCOMPARE(proposals(name, problem, {}, 1), expected);
        std::vector<std::vector<Placement>> found(8);
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < found.size(); ++i)
            threads.emplace_back([&, i] {
                found[i] =
                    proposals(i % 3 == 2 ? (name == "metis" ? "scotch" : "metis") : name, problem, {}, 1 + i);
            });
        threads.clear();
        for (std::size_t i = 0; i < found.size(); ++i) QCOMPARE(found[i] == expected, i % 3 != 2);
    }

    void choices_are_respected_data() { add_ids(); }

    void choices_are_respected() {
        QFETCH(QString, id);
        for (std::uint64_t seed = 1; seed <= 12; ++seed) {
            Random random(seed);
            const Graph plain = test::random_network(seed, 40, 3, Training::implicit);
            const Machine machine = test::random_machine(seed);
            GraphBuilder builder("restricted", 1, Training::implicit);
            for (Op op : plain.ops()) {
                if (op.colocate.empty() && random.chance(0.3)) {
                    for (const Device& device : machine.devices()) {
                        if (random.chance(0.5)) op.devices.push_back(device.name);
                    }
                }
                builder.add(op);
            }
            const ProblemPtr problem = test::problem(builder.build(), machine);
            for (const bool allow_cpu : {false, true}) {
                const DeviceChoices choices(problem, allow_cpu);
                const std::vector<Placement> all =
                    proposals(id.toStdString(), problem, {{"allow_cpu", allow_cpu}, {"tries", whole(1)}});
                QVERIFY(!all.empty());
                for (const Placement& placement : all) {
                    check_placement(*problem, placement);
                    for (GroupId group = 0; group < placement.size(); ++group)
                        QVERIFY(choices.allows(group, placement[group]));
                }
            }
        }
    }

    void odd_graphs_are_cut_in_silence_data() { add_ids(); }

    /// One group, groups without edges, without time, one that outweighs all others, no alternatives; and
    /// nothing is printed, because standard output belongs to the caller.
    void odd_graphs_are_cut_in_silence() {
        QFETCH(QString, id);
        GraphBuilder loose("loose", 1, Training::none);
        for (int i = 0; i < 9; ++i) loose.add(op_of("op" + std::to_string(i), 1e9, 1000), {});
        std::vector<double> uneven(9, 1e-9);
        uneven[4] = 1e3;
        const std::vector<ProblemPtr> problems{
            test::problem(test::chain(1), test::uniform_machine(8)),
            test::problem(loose.build(), test::uniform_machine(8)),
            test::problem(test::chain(9, 0, 0), test::uniform_machine(8)),
            test::problem(chain_of(uneven, std::vector<std::int64_t>(8, 1000)), test::uniform_machine(8)),
            test::problem(test::chain(9), test::uniform_machine(1)),
        };
        QTemporaryFile printed;
        QVERIFY(printed.open());
        std::fflush(stdout);
        const int terminal = dup(STDOUT_FILENO);
        dup2(printed.handle(), STDOUT_FILENO);
        std::vector<std::size_t> counts;
        for (const ProblemPtr& problem : problems) {
            counts.push_back(0);
            for (const Placement& placement : proposals(id.toStdString(), problem, {{"tries", whole(5)}})) {
                check_placement(*problem, placement);
                ++counts.back();
            }
        }
        std::fflush(stdout);
        dup2(terminal, STDOUT_FILENO);
        close(terminal);
        QCOMPARE(printed.size(), qint64{0});
        QCOMPARE(counts.front(), std::size_t{1});
        QCOMPARE(counts.back(), std::size_t{1});
        QVERIFY(std::ranges::all_of(counts, [](std::size_t count) { return count > 0; }));
    }

    /// The evaluator decides; on two independent chains two devices are twice as fast as one.
    void search_finds_the_obvious_data() { add_ids(); }

    void search_finds_the_obvious() {
        QFETCH(QString, id);
        GraphBuilder builder("two chains", 1, Training::implicit);
        for (const std::string chain : {"a", "b"}) {
            for (int i = 0; i < 10; ++i) {
                std::vector<std::string> inputs;
                if (i > 0) inputs.push_back(chain + std::to_string(i - 1));
                builder.add(op_of(chain + std::to_string(i), 1e10, 1000), inputs);
            }
        }
        const ProblemPtr problem = test::problem(builder.build(), test::uniform_machine(2));
        const auto evaluator = simulation_evaluator(problem, {}, {}, 1);
        const auto optimizer = find_algorithm(id.toStdString())->make({problem, 1, {}}, {});
        const SearchResult result = run_search(*optimizer, *evaluator, {1000});
        QCOMPARE(result.end, SearchEnd::exhausted);
        const double one_s = Simulator(problem).run(single_device_placement(*problem, 0)).step_time_s;
        QVERIFY2(result.progress.best.value_s < 0.501 * one_s,
                 qPrintable(QString::number(result.progress.best.value_s / one_s)));
    }
};

QTEST_APPLESS_MAIN(TestPartition)

#include "tst_partition.moc"
