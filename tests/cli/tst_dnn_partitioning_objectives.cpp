// SPDX-License-Identifier: MIT
// The two objectives of dnn-partitioning: max load and block latency.
#include <algorithm>
#include <map>
#include <set>

#include <QTest>

#include "core/base/random.hpp"
#include "core/sim/block_latency.hpp"
#include "core/sim/max_load.hpp"
#include "core/sim/memory_penalty.hpp"
#include "core/sim/objectives.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/workloads.hpp"

using namespace placewright;
using test::Edge, test::error_of, test::kBackward, test::kTriangle, test::ms, test::Node, test::placed,
    test::Workload;

namespace {

/// Both models again, in a slow form with sets.
struct SlowModel {
    const Workload& workload;
    const std::map<int, int>& device_of;

    const Node& node(int id) const { return *std::ranges::find(workload.nodes, id, &Node::id); }
    double cost_ms(int id) const { return std::ranges::find(workload.edges, id, &Edge::from)->cost_ms; }

    double max_load_ms() const {
        double most = 0;
        for (int device = 0; device <= workload.accelerators; ++device) {
            double load = 0;
            std::set<int> crossing;
            for (const Node& n : workload.nodes) {
                if (device_of.at(n.id) == device) load += device == 0 ? n.cpu_ms : n.accelerator_ms;
            }
            for (const Edge& edge : workload.edges) {
                if ((device_of.at(edge.from) == device) != (device_of.at(edge.to) == device))
                    crossing.insert(edge.from);
            }
            for (const int id : crossing) load += device == 0 ? 0 : cost_ms(id);
            most = std::max(most, load);
        }
        return most;
    }

    int level(int id, int device) const {
        const bool inside = device_of.at(id) == device;
        int result = inside ? 1 : 0;
        for (const Edge& edge : workload.edges) {
            if (edge.to == id)
                result = std::max(
                    result, level(edge.from, device) + (inside && device_of.at(edge.from) != device ? 1 : 0));
        }
        return result;
    }

    /// (device, piece), or (0, -id) for a node on the CPU.
    std::pair<int, int> block(int id) const {
        const int device = device_of.at(id);
        return {device, device == 0 ? -1 - id : level(id, device)};
    }

    /// Nothing if blocks wait for each other.
    std::optional<double> latency_ms() const {
        std::map<std::pair<int, int>, std::set<int>> members;
        for (const Node& n : workload.nodes) members[block(n.id)].insert(n.id);
        std::map<std::pair<int, int>, double> end;
        double latest = 0;
        for (bool progress = true; progress;) {
            progress = false;
            for (const auto& [name, nodes] : members) {
                if (end.contains(name)) continue;
                std::set<int> in, out;
                for (const Edge& edge : workload.edges) {
                    const bool from_inside = nodes.contains(edge.from), to_inside = nodes.contains(edge.to);
                    if (!from_inside && to_inside) in.insert(edge.from);
                    if (from_inside && !to_inside) out.insert(edge.from);
                }
                if (std::ranges::any_of(in, [&](int id) { return !end.contains(block(id)); })) continue;
                double time = 0;
                for (const int id : in) time = std::max(time, end.at(block(id)));
                for (const int id : nodes)
                    time += name.first == 0 ? node(id).cpu_ms : node(id).accelerator_ms;
                if (name.first != 0) {
                    for (const int id : in) time += cost_ms(id);
                    for (const int id : out) time += cost_ms(id);
                }
                end[name] = time;
                latest = std::max(latest, time);
                progress = true;
            }
        }
        if (end.size() < members.size()) return {};
        return latest;
    }
};

Workload random_workload(Random& random) {
    Workload workload;
    workload.accelerators = 1 + static_cast<int>(random.index(3));
    const int count = 2 + static_cast<int>(random.index(9));
    for (int id = 0; id < count; ++id) {
        workload.nodes.push_back({id, 1.0 + static_cast<double>(random.index(9)),
                                  10.0 + static_cast<double>(random.index(40)), 1});
        const double cost_ms = 0.25 * static_cast<double>(random.index(9));
        for (int to = id + 1; to < count; ++to) {
            if (random.chance(0.3)) workload.edges.push_back({id, to, cost_ms});
        }
    }
    return workload;
}

}  // namespace

using Placing = std::map<int, int>;

class TestDnnPartitioningObjectives : public test::WorkloadFixture {
    Q_OBJECT

private Q_SLOTS:
    void maxLoads_data();
    void maxLoads();
    void memory();
    void maxLoadOfTraining();
    void latencies_data();
    void latencies();
    void waitingForEachOther();
    void latencyOfTraining();
    void randomWorkloads();
    void otherMachines();
    void scores();
    void listOfObjectives();
};

// ---- Max load ----

void TestDnnPartitioningObjectives::maxLoads_data() {
    QTest::addColumn<Workload>("workload");
    QTest::addColumn<Placing>("device_of");
    QTest::addColumn<QList<double>>("load_ms");
    const auto row = [](const char* name, const Workload& workload, const Placing& device_of,
                        const QList<double>& load_ms) {
        QTest::newRow(name) << workload << device_of << load_ms;
    };
    row("one accelerator", kTriangle, {{1, 1}, {2, 1}, {3, 1}}, {0, 9, 0});
    row("CPU", kTriangle, {{1, 0}, {2, 0}, {3, 0}}, {90, 0, 0});
    // Node 1 costs 0.5 on both sides, although both 2 and 3 read it.
    row("two accelerators", kTriangle, {{1, 1}, {2, 2}, {3, 2}}, {0, 2.5, 7.5});
    // The CPU has no transfer costs; the accelerator reads 1 and writes 2.
    row("CPU at both ends", kTriangle, {{1, 0}, {2, 1}, {3, 0}}, {60, 3.75, 0});
    // 1 is written once although two devices read it, and read by each: 2 + 0.5; 3 + 0.5 + 0.25; CPU 40.
    row("two readers on two devices", kTriangle, {{1, 1}, {2, 2}, {3, 0}}, {40, 2.5, 3.75});
    // 1 and 3 on the same device with 2 between: 6 + 0.5 for 1 out + 0.25 for 2 in; 3 + 0.5 + 0.25.
    row("not contiguous", kTriangle, {{1, 1}, {2, 2}, {3, 1}}, {0, 6.75, 3.75});
    // Forward 1, 2 and backward 4, 3: the activations that 1 keeps for its backward cross too. 1 + 7 + 0.5
    // out (once) + 0.125 in; 2 + 5 + 0.5 + 0.125.
    const Workload step{{{1, 1, 0}, {2, 2, 0}, {3, 5, 0, 0, kBackward}, {4, 7, 0, 0, kBackward}},
                        {{1, 2, 0.5}, {1, 4, 0.5}, {1, 3, 0.5}, {2, 3, 4}, {3, 4, 0.125}}};
    row("training", step, {{1, 1}, {2, 2}, {3, 2}, {4, 1}}, {0, 8.625, 7.625});
    // From backward to backward, and a forward node on the CPU.
    row("backward to backward", step, {{1, 0}, {2, 0}, {3, 1}, {4, 2}}, {0, 9.625, 7.625});
    row("free transfers", {{{1, 2, 0}, {2, 3, 0}}, {{1, 2, 0}}}, {{1, 1}, {2, 2}}, {0, 2, 3});
}

void TestDnnPartitioningObjectives::maxLoads() {
    QFETCH(Workload, workload);
    QFETCH(Placing, device_of);
    QFETCH(QList<double>, load_ms);
    const auto built = problem(workload);
    const Evaluation evaluation = max_load(*built, placed(*built, device_of));
    QCOMPARE(evaluation.device_s.size(), static_cast<std::size_t>(load_ms.size()));
    for (qsizetype i = 0; i < load_ms.size(); ++i)
        COMPARE_MS(evaluation.device_s[static_cast<std::size_t>(i)], load_ms[i]);
    COMPARE_MS(evaluation.seconds, std::ranges::max(load_ms));
    QVERIFY(evaluation.fits);
}

void TestDnnPartitioningObjectives::memory() {
    Workload workload = kTriangle;
    workload.nodes[2].more = kBackward;
    const auto evaluate = [&](double memory_bytes, const Placing& device_of) {
        workload.memory_bytes = memory_bytes;
        const auto built = problem(workload);
        return max_load(*built, placed(*built, device_of));
    };
    const Placing split{{1, 1}, {2, 2}, {3, 1}};
    // Forward and backward nodes count together; an exact fit is a fit.
    QCOMPARE(evaluate(400, split).device_bytes, (std::vector<double>{0, 400, 200}));
    QVERIFY(evaluate(400, split).fits);
    QVERIFY(!evaluate(399, split).fits);
    // The CPU has no limit.
    QVERIFY(evaluate(1, {{1, 0}, {2, 0}, {3, 0}}).fits);
    QVERIFY(!evaluate(1, {{1, 0}, {2, 0}, {3, 1}}).fits);
}

void TestDnnPartitioningObjectives::maxLoadOfTraining() {
    // Only the forward part.
    Workload workload = kTriangle;
    workload.nodes[2].more = kBackward;
    const auto built = problem(workload, true);
    COMPARE_MS(max_load(*built, placed(*built, {{1, 1}, {2, 2}})).seconds, 3.5);
}

// ---- Block latency ----

void TestDnnPartitioningObjectives::latencies_data() {
    QTest::addColumn<Workload>("workload");
    QTest::addColumn<Placing>("device_of");
    QTest::addColumn<double>("latency_ms");
    const auto row = [](const char* name, const Workload& workload, const Placing& device_of,
                        double latency_ms) { QTest::newRow(name) << workload << device_of << latency_ms; };
    row("one accelerator", kTriangle, {{1, 1}, {2, 1}, {3, 1}}, 9);
    row("CPU", kTriangle, {{1, 0}, {2, 0}, {3, 0}}, 90);
    // 1: 2 + 0.5 out; 2 and 3 as one block: 0.5 in (once) + 7.
    row("two accelerators", kTriangle, {{1, 1}, {2, 2}, {3, 2}}, 10);
    // 1 and 2 end together after 5 and 0.5 + 0.25 out, although 3 also reads 1; 3 on the CPU.
    row("nothing is seen before the block ends", kTriangle, {{1, 1}, {2, 1}, {3, 0}}, 45.75);
    // Pieces {1} and {3} of one accelerator, with 2 between. 1: 2.5; 2 on the CPU: 32.5; 3: 0.5 and 0.25 in,
    // 4: 37.25.
    row("two pieces", kTriangle, {{1, 1}, {2, 0}, {3, 1}}, 37.25);
    // The same with 2 on another accelerator. 1: 2.5; 2: 0.5 in + 3 + 0.25 out: 6.25; 3: 0.75 in + 4.
    row("two pieces round another accelerator", kTriangle, {{1, 1}, {2, 2}, {3, 1}}, 11);

    // CPUs are unlimited: three branches of 10, 20 and 30 run at once, and 5 after the last.
    const Workload branches{{{1, 1, 10}, {2, 1, 20}, {3, 1, 30}, {4, 1, 5}},
                            {{1, 4, 0.5}, {2, 4, 0.5}, {3, 4, 0.5}}};
    row("as many CPUs as needed", branches, {{1, 0}, {2, 0}, {3, 0}, {4, 0}}, 35);
    // The same branches on one accelerator run one after the other, as one block: 3 + 1.5 out, then 5 on the
    // CPU.
    row("one after the other", branches, {{1, 1}, {2, 1}, {3, 1}, {4, 0}}, 9.5);
    // A block waits for all its inputs: 3 has none itself, but its block waits for 1 on the CPU. 10 + 0.5 in
    // + 3.
    row("all or nothing", branches, {{1, 0}, {2, 1}, {3, 1}, {4, 1}}, 13.5);
    // All inputs are available at 20; each is read once: 0.5 + 0.5 in.
    row("two inputs", branches, {{1, 0}, {2, 0}, {3, 1}, {4, 1}}, 23);

    // 1 -> 2 -> 3 -> 4 -> 5, alternating: three pieces of the accelerator. 1.5; 11.5; 13.5 (0.5 in and
    // out); 23.5; 25.
    const Workload chain{{{1, 1, 10}, {2, 1, 10}, {3, 1, 10}, {4, 1, 10}, {5, 1, 10}},
                         {{1, 2, 0.5}, {2, 3, 0.5}, {3, 4, 0.5}, {4, 5, 0.5}}};
    row("three pieces", chain, {{1, 1}, {2, 0}, {3, 1}, {4, 0}, {5, 1}}, 25);

    // 6 depends only on 1, so it is in the first piece, as is 7, which reads nothing: 1, 6, 7 and 0.5 for 1
    // out, 10 for 2, then 3 with 0.5 in.
    const Workload side{{{1, 1, 10}, {2, 1, 10}, {3, 1, 10}, {6, 1, 10}, {7, 1, 10}},
                        {{1, 2, 0.5}, {2, 3, 0.5}, {1, 6, 0.5}}};
    row("pieces by depth", side, {{1, 1}, {2, 0}, {3, 1}, {6, 1}, {7, 1}}, 15);
    // 3 also reads 7, which is sent by the first piece and read by the second: 0.5 out and 0.5 in.
    Workload kept = side;
    kept.edges.push_back({7, 3, 0.5});
    row("between two pieces", kept, {{1, 1}, {2, 0}, {3, 1}, {6, 1}, {7, 1}}, 16);
}

void TestDnnPartitioningObjectives::latencies() {
    QFETCH(Workload, workload);
    QFETCH(Placing, device_of);
    QFETCH(double, latency_ms);
    const auto built = problem(workload);
    const Evaluation evaluation = block_latency(*built, placed(*built, device_of));
    COMPARE_MS(evaluation.seconds, latency_ms);
    QVERIFY(evaluation.fits);

    workload.memory_bytes = 1;
    for (Node& node : workload.nodes) node.bytes = 1;
    const auto small = problem(workload);
    const Evaluation tight = block_latency(*small, placed(*small, device_of));
    COMPARE_MS(tight.seconds, latency_ms);
    // One node per accelerator fits; pieces of a device count together.
    std::map<int, int> nodes_on;
    for (const auto& [id, device] : device_of) ++nodes_on[device];
    nodes_on.erase(0);
    QCOMPARE(tight.fits, std::ranges::all_of(nodes_on, [](const auto& entry) { return entry.second == 1; }));
}

void TestDnnPartitioningObjectives::waitingForEachOther() {
    // 1 -> 2 and 3 -> 4, crosswise on two accelerators: neither device has pieces, and each waits for the
    // other.
    const Workload workload{{{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {4, 1, 1}}, {{1, 2, 1}, {3, 4, 1}}};
    const auto built = problem(workload);
    const Placement crossed = placed(*built, {{1, 1}, {2, 2}, {3, 2}, {4, 1}});
    const QByteArray error = error_of<PlacementError>([&] { block_latency(*built, crossed); });
    QVERIFY2(error.contains("cycle of 2 blocks"), error);
    QVERIFY2(error.contains(R"("accelerator:0" waits for "accelerator:1" (op "4" reads "3"))"), error);
    QVERIFY2(error.contains(R"("accelerator:1" waits for "accelerator:0" (op "2" reads "1"))"), error);
    COMPARE_MS(max_load(*built, crossed).seconds, 4);

    // Nodes that only depend on the cycle are not named.
    Workload behind = workload;
    behind.nodes.push_back({5, 1, 1});
    behind.edges.push_back({4, 5, 1});
    behind.accelerators = 3;
    const auto longer = problem(behind);
    const QByteArray same = error_of<PlacementError>([&] {
        block_latency(*longer, placed(*longer, {{1, 1}, {2, 2}, {3, 2}, {4, 1}, {5, 3}}));
    });
    QVERIFY2(same.contains("cycle of 2 blocks") && !same.contains("accelerator:2"), same);
}

void TestDnnPartitioningObjectives::latencyOfTraining() {
    Workload workload = kTriangle;
    workload.nodes[2].more = kBackward;
    const auto step = problem(workload);
    QVERIFY(error_of<GraphError>([&] {
                block_latency(*step, Placement(step->groups, 0));
            }).contains("not defined for training"));
    const auto inference = problem(workload, true);
    COMPARE_MS(block_latency(*inference, Placement(inference->groups, 1)).seconds, 5);
}

void TestDnnPartitioningObjectives::randomWorkloads() {
    Random random(7);
    int cyclic = 0, defined = 0;
    for (int i = 0; i < 300; ++i) {
        const Workload workload = random_workload(random);
        const auto built = problem(workload);
        for (int j = 0; j < 5; ++j) {
            Placing device_of;
            for (const Node& node : workload.nodes)
                device_of[node.id] =
                    static_cast<int>(random.index(static_cast<std::size_t>(workload.accelerators) + 1));
            const SlowModel slow{workload, device_of};
            const Placement placement = placed(*built, device_of);
            COMPARE_MS(max_load(*built, placement).seconds, slow.max_load_ms());
            if (const auto latency_ms = slow.latency_ms()) {
                COMPARE_MS(block_latency(*built, placement).seconds, *latency_ms);
                ++defined;
            } else {
                QVERIFY(!error_of<PlacementError>([&] { block_latency(*built, placement); }).isEmpty());
                ++cyclic;
            }
        }
    }
    QVERIFY2(cyclic > 20 && defined > 500,
             qPrintable(QString("%1 cyclic, %2 defined").arg(cyclic).arg(defined)));
}

// ---- Graphs and machines in our format ----

void TestDnnPartitioningObjectives::otherMachines() {
    // gpu:0 reaches the first CPU over two channels, at 1 and 2 ms per MB, and is reached over one of 4 ms
    // per MB; the direct link of the GPUs is never used, because all transfers pass the host.
    const auto device = [](const char* name, DeviceKind kind) {
        return Device{name, kind, name, 1e12, 1e12, 2e6, 1, 0};
    };
    const auto channel = [](const char* name, double bandwidth) {
        return Channel{name, bandwidth, 0, 1, {}};
    };
    const auto to_host = [](DeviceId gpu) {
        return std::vector<Route>{{gpu, 0, {0, 1}}, {0, gpu, {2}}, {gpu, 3, {0}}, {3, gpu, {0}}};
    };
    std::vector<Route> routes{{1, 2, {3}}, {2, 1, {3}}, {0, 3, {0}}, {3, 0, {0}}};
    for (const DeviceId gpu : {DeviceId{1}, DeviceId{2}})
        std::ranges::copy(to_host(gpu), std::back_inserter(routes));
    const std::vector<Channel> channels{channel("a", 1e9), channel("b", 5e8), channel("c", 2.5e8),
                                        channel("link", 1e12)};
    const Machine machine("own",
                          {device("cpu:0", DeviceKind::cpu), device("gpu:0", DeviceKind::gpu),
                           device("gpu:1", DeviceKind::gpu), device("cpu:1", DeviceKind::cpu)},
                          channels, routes);
    // Ops of 1 ms with outputs of 1 MB.
    const auto built = test::problem(test::chain(4), machine);
    const Evaluation load = max_load(*built, Placement{1, 2, 3, 0});
    // gpu:0: 1 + (1 + 2) out; gpu:1: 4 in + 1 + 3 out; the CPUs only their op.
    COMPARE_MS(load.device_s[1], 4);
    COMPARE_MS(load.device_s[2], 8);
    COMPARE_MS(load.device_s[3], 1);
    COMPARE_MS(load.device_s[0], 1);
    COMPARE_MS(block_latency(*built, Placement{1, 2, 3, 0}).seconds, 14);
    // Outputs are held beside the resident bytes.
    QCOMPARE(max_load(*built, Placement{1, 1, 2, 2}).device_bytes, (std::vector<double>{0, 2e6, 2e6, 0}));
    QVERIFY(max_load(*built, Placement{1, 1, 2, 2}).fits);
    QVERIFY(!max_load(*built, Placement{1, 1, 1, 2}).fits);

    const auto without_cpu = test::problem(test::chain(4), test::uniform_machine(2));
    QVERIFY(error_of<MachineError>([&] { max_load(*without_cpu, Placement(4, 0)); }).contains("has no CPU"));
    QVERIFY(
        error_of<MachineError>([&] { block_latency(*without_cpu, Placement(4, 0)); }).contains("has no CPU"));
}

void TestDnnPartitioningObjectives::scores() {
    Workload workload = kTriangle;
    workload.memory_bytes = 550;
    const auto built = problem(workload);
    const MemoryPenalty penalty;
    const Score fine = penalty.score(*built, max_load(*built, placed(*built, {{1, 1}, {2, 2}, {3, 2}})));
    QCOMPARE(fine, (Score{fine.value_s, fine.value_s, true}));
    COMPARE_MS(fine.penalised_s, 7.5);
    // 50 bytes too many, at 1000 s per MB.
    const Score over = penalty.score(*built, max_load(*built, placed(*built, {{1, 1}, {2, 1}, {3, 1}})));
    QVERIFY(!over.fits);
    COMPARE_MS(over.value_s, 9);
    COMPARE_MS(over.penalised_s, 59);

    // With half of the memory, 275 bytes, the first placement does not fit either: the second accelerator
    // holds 500 bytes.
    ProblemOptions options;
    options.cost.model = find_cost_model("measured");
    options.usable_memory = 0.5;
    const auto half = make_problem(built->forward, built->machine, options);
    const Score tight = penalty.score(*half, max_load(*half, placed(*half, {{1, 1}, {2, 2}, {3, 2}})));
    QVERIFY(!tight.fits);
    COMPARE_MS(tight.penalised_s, 7.5 + 225);
}

void TestDnnPartitioningObjectives::listOfObjectives() {
    QStringList ids;
    for (const Objective& objective : objectives()) {
        ids << QString::fromUtf8(objective.id.data(), static_cast<qsizetype>(objective.id.size()));
        QCOMPARE(find_objective(objective.id), &objective);
        QVERIFY(!objective.title.empty() && !objective.help.empty());
    }
    QCOMPARE(ids, (QStringList{"step-time", "max-load", "block-latency"}));
    QCOMPARE(find_objective("fame"), nullptr);
    QVERIFY(find_objective("step-time")->is_step_time());
    QVERIFY(find_objective("max-load")->evaluate == max_load);
    QVERIFY(find_objective("block-latency")->evaluate == block_latency);
}

QTEST_GUILESS_MAIN(TestDnnPartitioningObjectives)
#include "tst_dnn_partitioning_objectives.moc"
