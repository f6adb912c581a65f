// SPDX-License-Identifier: MIT
#include <array>
#include <cmath>

#include <QTest>

#include "core/base/random.hpp"
#include "core/graph/networks.hpp"
#include "core/sim/delta.hpp"
#include "core/sim/memory_penalty.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

namespace {

struct Setting {
    const char* name = "";
    Order order = Order::fifo;
    test::MachineFeatures machine = {};
    bool network = false;
    MemoryModel memory = MemoryModel::training;
    std::uint32_t batches = 1;
    Recomputation recomputation = Recomputation::none;
    bool accumulate = false;
    bool own_steps = false;  ///< the graph gives its backward and update ops itself
    bool in_place = false;   ///< all ops that can
    Runtime runtime = Runtime::ideal;
};

constexpr test::MachineFeatures kAll{
    .streams = true, .copy_engines = true, .bus = true, .crossing = Crossing::cut_through};

const std::array kSettings{
    Setting{.name = "plain"},
    Setting{.name = "Exprimo's memory", .memory = MemoryModel::exprimo},
    Setting{.name = "networks", .network = true},
    Setting{
        .name = "cut-through", .machine = {.bus = true, .crossing = Crossing::cut_through}, .network = true},
    Setting{.name = "copy engines", .machine = {.copy_engines = true, .bus = true}},
    Setting{.name = "streams", .machine = {.streams = true}, .network = true},
    Setting{.name = "critical path", .order = Order::critical_path, .machine = kAll, .network = true},
    Setting{.name = "GPipe", .order = Order::gpipe, .network = true, .batches = 3},
    Setting{.name = "batches", .machine = kAll, .network = true, .batches = 4},
    Setting{.name = "segments recomputed", .network = true, .recomputation = Recomputation::segments},
    Setting{.name = "cheap ops recomputed", .machine = kAll, .recomputation = Recomputation::cheap},
    Setting{.name = "accumulation", .network = true, .accumulate = true},
    Setting{.name = "accumulation over batches", .machine = kAll, .batches = 3, .accumulate = true},
    Setting{.name = "accumulation in own steps", .network = true, .accumulate = true, .own_steps = true},
    Setting{.name = "in place", .machine = {.streams = true}, .in_place = true},
    Setting{.name = "compiled", .network = true, .runtime = Runtime::compiled},
    Setting{.name = "eager", .machine = kAll, .network = true, .runtime = Runtime::eager},
    Setting{.name = "all of them",
            .order = Order::critical_path,
            .machine = kAll,
            .network = true,
            .recomputation = Recomputation::segments,
            .accumulate = true,
            .in_place = true},
};

using test::random_placement;

/// Modules between single ops, as in Inception: `width` branches of `length` ops that meet again.
Graph modules(std::size_t count, std::size_t width, std::size_t length, Random& random) {
    GraphBuilder builder("modules", 1, Training::implicit);
    const auto add = [&](const std::string& name, const std::vector<std::string>& inputs) {
        Op op;
        op.name = name;
        op.kind = random.chance(0.2) ? "flatten" : random.chance(0.5) ? "linear" : "relu";
        op.flops = random.uniform(1e6, 1e9);
        if (op.kind == "linear")
            op.parameter_bytes = 4 * static_cast<std::int64_t>(1 + random.index(100'000));
        Tensor tensor;
        tensor.bytes = 4 * static_cast<std::int64_t>(1 + random.index(100'000));
        op.outputs = {tensor};
        builder.add(op, inputs);
    };
    Op input;
    input.name = "input";
    input.kind = "input";
    input.outputs.resize(1);
    input.outputs[0].bytes = 4000;
    builder.add(input, {});
    std::string last = "input";
    for (std::size_t module = 0; module < count; ++module) {
        std::vector<std::string> ends;
        for (std::size_t branch = 0; branch < width; ++branch) {
            std::string before = last;
            for (std::size_t i = 0; i < length; ++i) {
                const std::string name =
                    QStringLiteral("m%1/b%2/%3").arg(module).arg(branch).arg(i).toStdString();
                add(name, {before});
                before = name;
            }
            ends.push_back(before);
        }
        last = QStringLiteral("m%1/cat").arg(module).toStdString();
        add(last, ends);
    }
    return builder.build();
}

std::shared_ptr<const Problem> untied_problem(const Setting& setting, std::uint64_t seed) {
    Random random(seed * 104729 + 3);
    ProblemOptions options;
    options.memory = setting.memory;
    options.recomputation = setting.recomputation;
    options.accumulate_gradients = setting.accumulate;
    options.in_place = setting.in_place;
    const Machine machine = test::with_features(test::random_machine(seed), seed, setting.machine);
    if (seed % 3 == 0 && !setting.own_steps)
        return test::problem(modules(1 + random.index(6), 1 + random.index(4), 1 + random.index(4), random),
                             machine, options);
    const bool trained =
        setting.recomputation != Recomputation::none || setting.accumulate || random.chance(0.5);
    options.inference = !trained;
    const auto graph_of = setting.network ? test::random_network : test::random_graph;
    Graph graph = graph_of(seed, 2 + random.index(120), 1 + random.index(3),
                           trained ? Training::implicit : Training::none);
    return test::problem(setting.own_steps ? test::with_phases(graph, seed) : std::move(graph), machine,
                         options);
}

SimulationOptions options_of(const Setting& setting) {
    return {.batches = setting.batches, .in_flight = 2, .order = setting.order, .runtime = setting.runtime};
}

/// Every fourth with many ties.
std::shared_ptr<const Problem> random_problem(const Setting& setting, std::uint64_t seed) {
    auto problem = untied_problem(setting, seed);
    if (seed % 4 != 0) return problem;
    Random random(seed);
    return test::with_whole_seconds(*problem, random);
}

class TestDelta : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void agrees_with_simulator_data();
    void agrees_with_simulator();
    void shares_known_runs();
    void all_single_moves();
    void long_queues();
    void meets_again_while_many_wait();
    void saves_events();
    void updates_runs_data();
    void updates_runs();
    void slow_channels();
    void without_base();
};

void TestDelta::agrees_with_simulator_data() {
    QTest::addColumn<std::size_t>("setting");
    QTest::addColumn<quint64>("seed");
    for (std::size_t setting = 0; setting < kSettings.size(); ++setting) {
        for (quint64 seed = 0; seed < 60; ++seed)
            QTest::addRow("%s, %llu", kSettings[setting].name, seed) << setting << seed;
    }
}

/// Placements with one, a few or all groups moved from one base after another; most do not fit, which each
/// memory rule charges for.
void TestDelta::agrees_with_simulator() {
    QFETCH(std::size_t, setting);
    QFETCH(quint64, seed);
    const Setting& of = kSettings[setting];
    const auto problem = random_problem(of, seed);
    const SimulationOptions options = options_of(of);
    Simulator simulator(problem, options);
    DeltaSimulator delta(problem, options);
    Random random(seed);
    for (int base = 0; base < 3; ++base) {
        const Placement placement =
            base == 1 ? single_device_placement(*problem) : random_placement(*problem, random);
        QVERIFY(delta.rebase(placement) == simulator.run(placement));
        for (int i = 0; i < 25; ++i) {
            Placement moved = placement;
            const std::size_t moves = i % 8 == 7 ? problem->groups : i % 4 == 3 ? 2 + random.index(4) : 1;
            for (std::size_t m = 0; m < moves; ++m) {
                const auto group = static_cast<GroupId>(random.index(problem->groups));
                moved[group] = random.pick(problem->allowed_devices(group));
            }
            const Outcome& expected = simulator.run(moved);
            QVERIFY(delta.run(moved) == expected);
            for (const MemoryRule rule : {MemoryRule::exprimo, MemoryRule::placeto, MemoryRule::post}) {
                const MemoryPenalty penalty{.rule = rule};
                QCOMPARE(penalty.score(*problem, delta.run(moved)), penalty.score(*problem, expected));
            }
        }
    }
}

/// Simulators that use runs of each other, recorded with few and many snapshots, also over older ones.
void TestDelta::shares_known_runs() {
    for (quint64 seed = 1; seed <= 20; ++seed) {
        const auto problem = random_problem(kSettings.front(), seed);
        Simulator simulator(problem);
        std::array<DeltaSimulator, 2> simulators{DeltaSimulator(problem), DeltaSimulator(problem)};
        std::vector<KnownRun> runs(6);
        Random random(seed);
        for (std::size_t i = 0; i < 60; ++i) {
            const std::size_t which = random.index(runs.size());
            KnownRun& run = runs[which];
            DeltaSimulator& delta = simulators[random.index(2)];
            if (run.placement().empty() || random.chance(0.2)) {
                const Placement placement = random_placement(*problem, random);
                simulators[random.index(2)].record(placement, run, 4 + 30 * which);
                QVERIFY(run.outcome() == simulator.run(placement));
            }
            delta.use(run);
            QVERIFY(std::ranges::equal(delta.base(), run.placement()));
            Placement moved(run.placement().begin(), run.placement().end());
            for (std::size_t move = 0; move < 1 + i % 20; ++move) {
                const auto group = static_cast<GroupId>(random.index(problem->groups));
                moved[group] = random.pick(problem->allowed_devices(group));
            }
            QVERIFY(delta.run(moved) == simulator.run(moved));
        }
    }
}

void TestDelta::updates_runs_data() {
    agrees_with_simulator_data();
}

/// A run that is recorded again and again, after a few moves each time, serves as well as a new one.
void TestDelta::updates_runs() {
    QFETCH(std::size_t, setting);
    QFETCH(quint64, seed);
    const Setting& of = kSettings[setting];
    const auto problem = random_problem(of, seed);
    const SimulationOptions options = options_of(of);
    Simulator simulator(problem, options);
    std::array<DeltaSimulator, 2> simulators{DeltaSimulator(problem, options),
                                             DeltaSimulator(problem, options)};
    Random random(seed);
    const auto move = [&](Placement& placement) {
        const auto group = static_cast<GroupId>(random.index(problem->groups));
        placement[group] = random.pick(problem->allowed_devices(group));
    };
    Placement placement = random_placement(*problem, random);
    KnownRun run;
    for (int step = 0; step < 20; ++step) {
        simulators[random.index(2)].record(placement, run);
        QVERIFY(run.outcome() == simulator.run(placement));
        QVERIFY(std::ranges::equal(run.placement(), placement));
        for (DeltaSimulator& delta : simulators) {
            delta.use(run);
            for (int i = 0; i < 4; ++i) {
                Placement moved = placement;
                for (int m = 0; m <= i; ++m) move(moved);
                QVERIFY(delta.run(moved) == simulator.run(moved));
            }
        }
        for (std::size_t moves = random.index(4) + 1; moves > 0; --moves) move(placement);
    }
}

std::shared_ptr<const Problem> inception(std::size_t gpus) {
    return test::problem(find_network("inception_v3")->build(32), test::uniform_machine(gpus));
}

void TestDelta::all_single_moves() {
    const auto problem = inception(3);
    Simulator simulator(problem);
    DeltaSimulator delta(problem);
    Random random(1);
    const Placement base = random_placement(*problem, random);
    delta.rebase(base);
    for (GroupId group = 0; group < problem->groups; ++group) {
        for (DeviceId device = 0; device < problem->devices; ++device) {
            Placement moved = base;
            moved[group] = device;
            QVERIFY(delta.run(moved) == simulator.run(moved));
        }
    }
}

/// Runs that meet again while many ops and transfers wait, in the order in which they came or by their ranks.
void TestDelta::long_queues() {
    for (const Order order : {Order::fifo, Order::critical_path}) {
        Random random(4);
        auto problem = test::problem(modules(6, 20, 2, random), test::uniform_machine(3));
        problem = test::with_whole_seconds(*problem, random);
        Simulator simulator(problem, {.order = order});
        DeltaSimulator delta(problem, {.order = order});
        const Placement base = random_placement(*problem, random);
        delta.rebase(base);
        for (GroupId group = 0; group < problem->groups; ++group) {
            for (DeviceId device = 0; device < problem->devices; ++device) {
                Placement moved = base;
                moved[group] = device;
                QVERIFY(delta.run(moved) == simulator.run(moved));
            }
        }
        const auto effort = delta.effort();
        QVERIFY(effort.simulated < effort.full);
    }
}

/// One GPU works through a queue while an op that reads the same is moved between two others: once it is
/// through, all is as in the run from which the delta starts, and what is left of the queue need not be run
/// again.
void TestDelta::meets_again_while_many_wait() {
    constexpr std::size_t kWaiting = 2000;
    GraphBuilder builder("fan", 1, Training::none);
    const auto add = [&](const std::string& name, const std::vector<std::string>& inputs) {
        Op op;
        op.name = name;
        op.kind = "relu";
        op.flops = 1e12;
        op.outputs.resize(1);
        op.outputs[0].bytes = 4;
        builder.add(op, inputs);
    };
    add("source", {});
    add("moved", {"source"});
    for (std::size_t i = 0; i < kWaiting; ++i) add("reader" + std::to_string(i), {"source"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(3));
    for (const Order order : {Order::fifo, Order::critical_path}) {
        Simulator simulator(problem, {.order = order});
        DeltaSimulator delta(problem, {.order = order});
        Placement placement = single_device_placement(*problem);
        const GroupId group = problem->grouping.group_of[problem->forward->find("moved").value()];
        placement[group] = 1;
        delta.rebase(placement);
        placement[group] = 2;
        QVERIFY(delta.run(placement) == simulator.run(placement));
        const auto effort = delta.effort();
        QVERIFY2(effort.simulated * 4 < effort.full,
                 qPrintable(QStringLiteral("%1 of %2 events").arg(effort.simulated).arg(effort.full)));
    }
}

/// Of a network of modules most of the step is the same whichever group moves.
void TestDelta::saves_events() {
    const auto problem = inception(3);
    DeltaSimulator delta(problem);
    for (const bool one_device : {true, false}) {
        Random random(2);
        const Placement base =
            one_device ? single_device_placement(*problem) : random_placement(*problem, random);
        delta.rebase(base);
        QCOMPARE(delta.effort().simulated, std::uint64_t{0});
        for (GroupId group = 0; group < problem->groups; ++group) {
            for (DeviceId device = 0; device < problem->devices; ++device) {
                Placement moved = base;
                moved[group] = device;
                if (moved != base) delta.run(moved);
            }
        }
        const auto effort = delta.effort();
        qInfo("simulated %.3f of the events",
              static_cast<double>(effort.simulated) / static_cast<double>(effort.full));
        QVERIFY(effort.simulated * 2 < effort.full);
    }
}

/// Transfers that take far longer than all ops: sums are no longer whole ticks, and the outcome is that of
/// the simulator all the same.
void TestDelta::slow_channels() {
    const Machine fast = test::uniform_machine(4);
    std::vector<Channel> channels(fast.channels().begin(), fast.channels().end());
    for (Channel& channel : channels) channel.bandwidth = 1.3e5;
    const Machine machine("slow", {fast.devices().begin(), fast.devices().end()}, channels,
                          {fast.routes().begin(), fast.routes().end()});
    const auto problem = test::problem(find_network("alexnet")->build(32), machine);
    Simulator simulator(problem);
    DeltaSimulator delta(problem);
    Random random(1);
    const Placement base = random_placement(*problem, random);
    QVERIFY(delta.rebase(base).total_time_s > std::ldexp(problem->tick_s, 53));
    for (GroupId group = 0; group < problem->groups; ++group) {
        Placement moved = base;
        moved[group] = random.pick(problem->allowed_devices(group));
        QVERIFY(delta.run(moved) == simulator.run(moved));
    }
}

void TestDelta::without_base() {
    const auto problem = test::problem(test::random_graph(1, 20), test::uniform_machine(3));
    Random random(1);
    DeltaSimulator delta(problem);
    Simulator simulator(problem);
    QVERIFY(delta.base().empty());
    for (int i = 0; i < 5; ++i) {
        const Placement placement = random_placement(*problem, random);
        QVERIFY(delta.run(placement) == simulator.run(placement));
    }
}

}  // namespace

QTEST_GUILESS_MAIN(TestDelta)
#include "tst_delta.moc"
