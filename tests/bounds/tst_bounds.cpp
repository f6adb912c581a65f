// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>

#include <QtTest>

#include "core/base/infinity.hpp"
#include "core/base/random.hpp"
#include "core/bounds/bounds.hpp"
#include "core/sim/memory_shortage.hpp"
#include "core/sim/simulator.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/placements.hpp"

namespace placewright {
namespace {

constexpr double kSecond = 1e12;  // FLOPs that take one second on test::uniform_machine

double bound(const std::vector<Bound>& bounds, std::string_view name) {
    const auto found = std::ranges::find(bounds, name, &Bound::name);
    return found == bounds.end() ? std::numeric_limits<double>::quiet_NaN() : found->value_s;
}

Machine with_devices(const Machine& machine, const auto& change) {
    std::vector<Device> devices(machine.devices().begin(), machine.devices().end());
    for (Device& device : devices) change(device);
    return Machine(machine.name(), devices, {machine.channels().begin(), machine.channels().end()},
                   {machine.routes().begin(), machine.routes().end()}, machine.crossing());
}

Graph with_ops(const Graph& graph, const auto& change) {
    GraphBuilder builder(graph.name(), graph.batch(), graph.training());
    for (Op op : graph.ops()) {
        change(op);
        builder.add(std::move(op));
    }
    return builder.build();
}

struct Case {
    std::shared_ptr<const Problem> problem;
    SimulationOptions options;
};

/// Up to 7 groups on 2 or 3 different devices; from plenty of memory to none; in every other case some ops
/// may not be on every device.
Case tiny_case(std::uint64_t seed) {
    Random random(seed + 100);
    const auto training = random.chance(0.5) ? Training::implicit : Training::none;
    const bool constrained = seed % 2 == 0;
    Graph graph = test::random_graph(seed, 1 + random.index(7), 3, training);
    double parameters = 0, outputs = 0;
    for (const Op& op : graph.ops()) {
        parameters += 2 * static_cast<double>(op.parameter_bytes);
        outputs += static_cast<double>(op.outputs[0].bytes);
    }
    std::uint64_t machine_seed = seed;
    while (test::random_machine(machine_seed).devices().size() < 2 ||
           test::random_machine(machine_seed).devices().size() > 3)
        machine_seed += 1000;
    const Machine base = test::random_machine(machine_seed);
    const std::size_t devices = base.devices().size();
    const double tightness = random.uniform(0.7, 3);
    const Machine machine = with_devices(base, [&](Device& device) {
        device.memory_bytes = (parameters * tightness + outputs * random.uniform(0, 3)) /
                                  static_cast<double>(devices) * random.uniform(0.5, 1.5) +
                              1;
    });
    if (constrained) {
        graph = with_ops(graph, [&](Op& op) {
            for (const Device& device : machine.devices()) {
                if (random.chance(0.5)) op.devices.push_back(device.name);
            }
        });
    }
    Case c;
    c.problem = test::problem(std::move(graph), machine);
    if (random.chance(0.5)) {
        c.options.batches = static_cast<std::uint32_t>(1 + random.index(4));
        c.options.in_flight = static_cast<std::uint32_t>(1 + random.index(4));
    }
    return c;
}

/// Two to four blocks of ops that stay together; within a block, ops read any ops before them, and the last
/// op reads all that no other reads. Blocks pass one tensor, or a second one to the end of the next block.
Graph blocks_of_branches(std::uint64_t seed, Training training) {
    Random random(seed + 7);
    GraphBuilder builder("blocks", 1, training);
    const auto tensor = [&] {
        Tensor made;
        made.bytes = static_cast<std::int64_t>(1000 * random.uniform(1, 5000));
        return made;
    };
    OpId ops = 0;
    const std::size_t blocks = 2 + random.index(3);
    for (std::size_t block = 0; block < blocks; ++block) {
        const OpId first = ops;
        const std::size_t size = 2 + random.index(4);
        std::vector<bool> is_read(size, false);
        for (std::size_t i = 0; i < size; ++i) {
            Op op;
            op.name = "op" + std::to_string(ops);
            op.kind = "matmul";
            op.flops = 1e9 * random.uniform(0.1, 5);
            op.colocate = "block/" + std::to_string(block);
            op.outputs.push_back(tensor());
            if (i == 0 && block > 0) op.inputs.push_back({first - 1, 0});
            if (i + 1 == size) {
                for (std::size_t j = 0; j < i; ++j) {
                    if (!is_read[j]) op.inputs.push_back({static_cast<OpId>(first + j), 0});
                }
                if (block > 0 && random.chance(0.5)) op.inputs.push_back({first - 1, 0});
            } else if (i > 0) {
                const std::size_t from = random.index(i);
                is_read[from] = true;
                op.inputs.push_back({static_cast<OpId>(first + from), 0});
                if (block > 0 && random.chance(0.3)) op.inputs.push_back({first - 1, 0});
            }
            builder.add(std::move(op));
            ++ops;
        }
    }
    return builder.build();
}

Case block_case(std::uint64_t seed) {
    Case c = tiny_case(2 * seed + 1);
    c.problem = test::problem(blocks_of_branches(seed, seed % 3 == 0 ? Training::implicit : Training::none),
                              *c.problem->machine);
    return c;
}

/// The same with features of real machines and steps: several streams, copy engines, cut-through, views, ops
/// in place, workspaces, accumulation, recomputation, reserved memory, other orders.
Case real_case(std::uint64_t seed) {
    Random random(seed + 7000);
    Graph graph = test::random_graph(seed + 500, 1 + random.index(5), 3,
                                     random.chance(0.7) ? Training::implicit : Training::none);
    constexpr std::array<std::string_view, 5> kKinds{"matmul", "conv2d", "relu", "add", "flatten"};
    double bytes = 1;
    graph = with_ops(graph, [&](Op& op) {
        op.kind = kKinds[random.index(kKinds.size())];
        if (random.chance(0.3)) op.flops /= 1000;  // otherwise no op leaves room for another
        if (random.chance(0.3)) op.workspace_bytes = static_cast<std::int64_t>(random.uniform(0, 1e6));
        op.in_place = random.chance(0.2);
        bytes += 2 * static_cast<double>(op.parameter_bytes + op.outputs[0].bytes);
    });
    std::uint64_t machine_seed = seed + 500;
    while (test::random_machine(machine_seed).devices().size() < 2 ||
           test::random_machine(machine_seed).devices().size() > 3)
        machine_seed += 1000;
    const double tightness = random.uniform(0.5, 3);
    const Machine machine = with_devices(test::random_machine(machine_seed), [&](Device& device) {
        device.memory_bytes = std::floor(bytes * tightness * random.uniform(0.2, 0.8)) + 1;
        device.streams = static_cast<std::uint32_t>(1 + random.index(4));
        device.copy_engines = static_cast<std::uint32_t>(random.index(3));
        device.half_efficiency_flops = random.uniform(0, 1e10);
        device.efficiency_by_kind["conv2d"] = random.uniform(0.1, 1);
        if (random.chance(0.5)) device.memory_efficiency = random.uniform(0.1, 1);
    });
    ProblemOptions options;
    options.accumulate_gradients = random.chance(0.4);
    options.recomputation = static_cast<Recomputation>(random.index(3));
    if (seed % 3 == 0) {
        graph = test::with_phases(graph, seed);
        options.accumulate_gradients = true;
        options.recomputation = Recomputation::none;
    }
    options.in_place = random.chance(0.5);
    options.optimizer_states = static_cast<double>(random.index(3));
    if (random.chance(0.5)) options.usable_memory = random.uniform(0.5, 1);
    if (random.chance(0.5)) options.crossing = Crossing::cut_through;
    Case c;
    c.problem = test::problem(std::move(graph), machine, options);
    c.options = {.batches = static_cast<std::uint32_t>(1 + random.index(5)),
                 .in_flight = static_cast<std::uint32_t>(1 + random.index(4)),
                 .order = static_cast<Order>(random.index(4))};
    return c;
}

/// The same with a framework's host that takes about as long as the ops.
Case eager_case(std::uint64_t seed) {
    Random random(seed + 9000);
    Case c = real_case(seed);
    if (c.options.order == Order::critical_path) c.options.order = Order::fifo;
    const double total_s = std::accumulate(c.problem->op_time_s.begin(), c.problem->op_time_s.end(), 0.0);
    c.options.runtime = Runtime::eager;
    c.options.host_time_s =
        total_s / static_cast<double>(c.problem->op_time_s.size()) * std::exp2(random.uniform(-4, 2));
    return c;
}

/// Whether no device exceeds its memory limit.
bool within_limits(const Problem& problem, const std::vector<double>& bytes) {
    return std::ranges::equal(bytes, problem.memory_limit_bytes, std::ranges::less_equal{});
}

constexpr std::uint64_t kCases = 150;

}  // namespace

class TestBounds : public QObject {
    Q_OBJECT

    int m_feasible = 0, m_better = 0, m_split_better = 0, m_windows_better = 0, m_optimal = 0,
        m_exactly_optimal = 0, m_host_bound = 0;

private Q_SLOTS:
    void chain();
    void fork_join();
    void batches_in_flight();
    void devices_of_different_speed();
    void constraints();
    void streams();
    void accumulation();
    void accumulation_that_forward_ops_read();
    void usable_memory();
    void memory_shifts_work();
    void what_is_missing_is_named();
    void parameters_that_do_not_fit_data();
    void parameters_that_do_not_fit();
    void tightest_first();
    void ops_that_stay_together_take_their_sum();
    void long_chains_have_no_split_path();
    void gaps_are_rounded_up();
    void hold_for_every_placement_data();
    void hold_for_every_placement();
    void tighter_than_without_a_solver();
    void nothing_is_proven_in_no_time();
    void branch_and_bound_is_told_while_it_grows();
    void cases_are_of_all_kinds_data();
    void cases_are_of_all_kinds();
};

void TestBounds::chain() {
    const auto problem = test::problem(test::chain(4, kSecond), test::uniform_machine(2));
    const auto bounds = lower_bounds(*problem);
    QCOMPARE(bounds.size(), std::size_t{3});
    QCOMPARE(critical_path_s(*problem), 4.0);
    QCOMPARE(bound(bounds, "critical-path"), 4.0);
    QCOMPARE(bound(bounds, "load"), 2.0);
    QCOMPARE(bound(bounds, "memory"), 2.0);
}

void TestBounds::fork_join() {
    const auto problem = test::problem(test::fork_join(10, kSecond), test::uniform_machine(4));
    const auto bounds = lower_bounds(*problem);
    QCOMPARE(bound(bounds, "critical-path"), 3.0);  // source, a branch, sink
    QCOMPARE(bound(bounds, "load"), 12.0 / 4);
    QCOMPARE(bound(bounds, "memory"), 12.0 / 4);
}

void TestBounds::batches_in_flight() {
    const auto problem = test::problem(test::chain(4, kSecond), test::uniform_machine(4));
    const auto path_s = [&](std::uint32_t batches, std::uint32_t in_flight) {
        return bound(lower_bounds(*problem, {.batches = batches, .in_flight = in_flight}), "critical-path");
    };
    QCOMPARE(path_s(1, 1), 4.0);
    QCOMPARE(path_s(10, 1), 4.0);
    QCOMPARE(path_s(10, 5), 4.0 * 2 / 10);
    QCOMPARE(path_s(10, 4), 4.0 * 3 / 10);  // of 10 batches, about 3 run one after the other
    QCOMPARE(path_s(2, 8), 4.0 / 2);
    QCOMPARE(bound(lower_bounds(*problem, {.batches = 10, .in_flight = 4}), "load"), 1.0);
}

void TestBounds::devices_of_different_speed() {
    // 8 s of work on device 0, a third of it on device 1: 1 / (1/8 + 3/8) = 2.
    std::size_t index = 0;
    const Machine machine = with_devices(test::uniform_machine(2),
                                         [&](Device& device) { device.peak_flops *= index++ == 0 ? 1 : 3; });
    const auto problem = test::problem(test::fork_join(6, kSecond), machine);
    const auto bounds = lower_bounds(*problem);
    QCOMPARE(bound(bounds, "load"), 2.0);
    QCOMPARE(bound(bounds, "critical-path"), 1.0);  // three ops of a third of a second
}

void TestBounds::constraints() {
    // Device 1 is three times as fast, but the four branches may only be on device 0.
    std::size_t index = 0;
    const Machine machine = with_devices(test::uniform_machine(2),
                                         [&](Device& device) { device.peak_flops *= index++ == 0 ? 1 : 3; });
    const Graph graph = with_ops(test::fork_join(4, kSecond), [](Op& op) {
        if (op.name.starts_with("branch")) op.devices = {"gpu:0"};
    });
    const auto bounds = lower_bounds(*test::problem(graph, machine));
    QCOMPARE(bound(bounds, "critical-path"), 1.0 + 2.0 / 3);
    const double load_s = bound(bounds, "load");
    QVERIFY(load_s <= 4.0 * (1 + 1e-12));
    QVERIFY2(load_s > 3.9, qPrintable(QString::number(load_s)));
}

void TestBounds::streams() {
    // Six ops of 2 s at the ceiling; overhead and size add as much again, so that two ops run side by side
    // on one device.
    const auto load_s = [](std::uint32_t streams, double overhead_s) {
        const Machine machine = with_devices(test::uniform_machine(1), [&](Device& device) {
            device.streams = streams;
            device.launch_overhead_s = overhead_s;
        });
        const auto bounds = lower_bounds(*test::problem(test::fork_join(4, 2 * kSecond), machine));
        return bound(bounds, "load");
    };
    QCOMPARE(load_s(1, 2), 6 * 4.0);
    QCOMPARE(load_s(2, 2), 6 * 2.0);
    QCOMPARE(load_s(4, 2), 6 * 2.0);  // the shares of the device allow no more
    QCOMPARE(load_s(2, 6), 6 * 4.0);  // the streams allow no more
    QCOMPARE(load_s(4, 0), 6 * 2.0);  // no other op fits beside them

    // An op of 8 s that leaves an eighth of the device free, and seven small ones that run beside it: 1.14 s
    // each, 0.14 s of the device.
    GraphBuilder builder("beside", 1, Training::none);
    for (int i = 0; i < 8; ++i) {
        Op op;
        op.name = "op" + std::to_string(i);
        op.kind = "matmul";
        op.flops = i == 0 ? 7 * kSecond : 0.14 * kSecond;
        builder.add(std::move(op));
    }
    const auto problem =
        test::problem(builder.build(), with_devices(test::uniform_machine(1), [](Device& device) {
                          device.streams = 2;
                          device.launch_overhead_s = 1;
                      }));
    const double bound_s = bound(lower_bounds(*problem), "load");
    QVERIFY(bound_s > 7.98);
    QVERIFY(bound_s <= Simulator(problem).run(Placement(8, 0)).step_time_s);
}

void TestBounds::accumulation() {
    // One op with 1e9 bytes of parameters: forward and weight gradient of 1 s each, and the times of its
    // update and accumulation.
    const Graph graph = with_ops(test::chain(1, kSecond, 0, Training::implicit),
                                 [](Op& op) { op.parameter_bytes = 1'000'000'000; });
    ProblemOptions options;
    options.accumulate_gradients = true;
    const auto problem = test::problem(graph, test::uniform_machine(1), options);
    const OpId update = *problem->graph->find("op0/update");
    const double each_s = problem->accumulate_s[update], once_s = problem->time_s(update, 0);
    QVERIFY(each_s > 0 && once_s > 0);
    const auto bound_s = [&](const char* name, std::uint32_t batches) {
        return bound(lower_bounds(*problem, {.batches = batches, .in_flight = 1}), name);
    };
    QCOMPARE(bound_s("load", 1), 2 + once_s);
    QCOMPARE(bound_s("load", 4), 2 + (3 * each_s + once_s) / 4);
    QCOMPARE(bound_s("critical-path", 1), 2 + once_s);
    QCOMPARE(bound_s("critical-path", 4), 2.0);
}

/// An update op that a forward op reads accumulates gradients like any other: 1 s of accumulation for each
/// batch but the first, 2 s of its own.
void TestBounds::accumulation_that_forward_ops_read() {
    GraphBuilder builder("late", 1, Training::explicit_);
    const auto add = [&](const std::string& name, Phase phase, std::int64_t bytes,
                         const std::vector<std::string>& inputs) {
        Op op;
        op.name = name;
        op.kind = "matmul";
        op.phase = phase;
        op.flops = phase == Phase::update ? 2 * kSecond : 0;
        op.outputs.resize(1);
        op.outputs[0].bytes = bytes;
        builder.add(op, inputs);
    };
    add("in", Phase::forward, 0, {});
    add("gradient", Phase::backward, 1'000'000'000, {"in"});
    add("update", Phase::update, 0, {"gradient"});
    add("next", Phase::forward, 0, {"update"});
    Problem late = *test::problem(builder.build(), test::uniform_machine(1));
    late.accumulates = true;
    late.op_time_s = {0, 0, 2, 0};
    late.accumulate_s = {0, 0, 1, 0};
    const auto problem = std::make_shared<const Problem>(late);
    for (const Order order :
         {Order::fifo, Order::critical_path, Order::gpipe, Order::one_forward_one_backward}) {
        const SimulationOptions options{.batches = 4, .in_flight = 2, .order = order};
        QCOMPARE(Simulator(problem, options).run(Placement(problem->groups, 0)).total_time_s, 3.0 + 2);
        QCOMPARE(bound(lower_bounds(*problem, options), "load"), (3.0 + 2) / 4);
    }
}

void TestBounds::usable_memory() {
    const Graph graph = with_ops(test::chain(2), [](Op& op) { op.parameter_bytes = 4'000'000'000; });
    const auto memory_s = [&](double share) {
        ProblemOptions options;
        options.usable_memory = share;
        return bound(lower_bounds(*test::problem(graph, test::uniform_machine(2, 5e9), options)), "memory");
    };
    QVERIFY(memory_s(1) < kInfinity);
    QVERIFY(memory_s(0.8) < kInfinity);
    QVERIFY(memory_s(0.79) == kInfinity);
}

void TestBounds::what_is_missing_is_named() {
    const auto reason = [](const std::vector<std::int64_t>& parameter_bytes, const char* only_on,
                           double memory_bytes) -> std::string {
        GraphBuilder builder("weights", 1, Training::none);
        for (std::size_t i = 0; i < parameter_bytes.size(); ++i) {
            Op op;
            op.name = "op" + std::to_string(i);
            op.kind = "matmul";
            op.parameter_bytes = parameter_bytes[i];
            if (only_on != nullptr) op.devices = {only_on};
            Tensor output;
            output.bytes = 1;
            op.outputs.push_back(output);
            builder.add(op);
        }
        return memory_shortage(*test::problem(builder.build(), test::uniform_machine(2, memory_bytes)))
            .value_or("");
    };
    QCOMPARE(reason({4'000'000, 4'000'000}, nullptr, 4e6), std::string());
    QCOMPARE(reason({1'000'000, 5'000'000}, nullptr, 4e6),
             std::string("what op1 holds all the time (parameters) is 5.00 MB, but of the "
                         "devices that may hold it gpu:0 has the most memory, 4.00 MB"));
    QCOMPARE(reason({3'000'000, 3'000'000, 3'000'000}, nullptr, 4e6),
             std::string("parameters take 9.00 MB, but all devices together have 8.00 MB of memory"));
    QCOMPARE(
        reason({3'000'000, 3'000'000}, "gpu:1", 4e6),
        std::string(
            "parameters take 6.00 MB, but the devices that may hold them together have 4.00 MB of memory"));
    // 7.5 MB of 8, but no two of the three fit one device.
    const std::string packed = reason({2'500'000, 2'500'000, 2'500'000}, nullptr, 4e6);
    QVERIFY(packed.find("every way to distribute the parameters over the devices was tried") == 0);
    QVERIFY(packed.find("(the largest is op0, 2.50 MB)") != std::string::npos);
}

void TestBounds::memory_shifts_work() {
    // Four ops of 1 s on device 0 and 1/4 s on device 1, each with 1 GB of parameters. Without a limit: 0.8
    // s. With 2 GB on device 1, two ops must be on device 0, which takes 2 s.
    std::size_t index = 0;
    const Machine machine = with_devices(test::uniform_machine(2), [&](Device& device) {
        device.peak_flops *= index == 0 ? 1 : 4;
        device.memory_bytes = index++ == 0 ? 1e10 : 2e9;
    });
    const Graph graph =
        with_ops(test::fork_join(2, kSecond), [](Op& op) { op.parameter_bytes = 1'000'000'000; });
    const auto bounds = lower_bounds(*test::problem(graph, machine));
    QCOMPARE(bound(bounds, "load"), 0.8);
    const double memory_s = bound(bounds, "memory");
    QVERIFY(memory_s <= 2.0 * (1 + 1e-12));
    QVERIFY2(memory_s > 1.8, qPrintable(QString::number(memory_s)));
}

void TestBounds::parameters_that_do_not_fit_data() {
    QTest::addColumn<QList<int>>("parameters_gb");
    QTest::addColumn<QList<int>>("memory_gb");
    QTest::addColumn<QStringList>("devices");
    QTest::addColumn<bool>("infinite");
    QTest::newRow("exactly") << QList<int>{4, 6} << QList<int>{6, 4} << QStringList{"", ""} << false;
    QTest::newRow("together too much") << QList<int>{4, 7} << QList<int>{6, 4} << QStringList{"", ""} << true;
    QTest::newRow("one larger than any device")
        << QList<int>{7, 1} << QList<int>{6, 6} << QStringList{"", ""} << true;
    QTest::newRow("enough memory, but no way to share it")
        << QList<int>{6, 6, 6} << QList<int>{9, 10} << QStringList{"", "", ""} << true;
    QTest::newRow("a way to share it")
        << QList<int>{2, 3, 5, 4, 6} << QList<int>{10, 10} << QStringList{"", "", "", "", ""} << false;
    QTest::newRow("two on a device that is too small")
        << QList<int>{4, 4, 1} << QList<int>{6, 20} << QStringList{"gpu:0", "gpu:0", ""} << true;
    QTest::newRow("two on a device that is large")
        << QList<int>{4, 4, 1} << QList<int>{6, 20} << QStringList{"gpu:1", "gpu:1", ""} << false;
    QTest::newRow("no parameters") << QList<int>{0, 0} << QList<int>{1, 1} << QStringList{"", ""} << false;
}

void TestBounds::parameters_that_do_not_fit() {
    QFETCH(QList<int>, parameters_gb);
    QFETCH(QList<int>, memory_gb);
    QFETCH(QStringList, devices);
    QFETCH(bool, infinite);
    qsizetype index = 0;
    const Machine machine =
        with_devices(test::uniform_machine(static_cast<std::size_t>(memory_gb.size())),
                     [&](Device& device) { device.memory_bytes = memory_gb[index++] * 1e9; });
    index = 0;
    const Graph graph = with_ops(test::chain(static_cast<std::size_t>(parameters_gb.size())), [&](Op& op) {
        op.parameter_bytes = parameters_gb[index] * std::int64_t{1'000'000'000};
        if (!devices[index].isEmpty()) op.devices = {devices[index].toStdString()};
        ++index;
    });
    const auto bounds = lower_bounds(*test::problem(graph, machine));
    QCOMPARE(bound(bounds, "memory") == kInfinity, infinite);
    if (infinite) QCOMPARE(bounds.front().name, std::string("memory"));
}

void TestBounds::tightest_first() {
    for (std::uint64_t seed = 0; seed < kCases; ++seed) {
        const Case c = tiny_case(seed);
        const auto bounds = lower_bounds(*c.problem, c.options);
        QVERIFY(std::ranges::is_sorted(bounds, std::ranges::greater{}, &Bound::value_s));
        for (const Bound& b : bounds) {
            QVERIFY(b.value_s >= 0);
            QVERIFY(!b.proof.empty());
        }
        QVERIFY(bound(bounds, "memory") >= bound(bounds, "load"));
    }
}

/// A device runs the branches of a block one after the other.
void TestBounds::ops_that_stay_together_take_their_sum() {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto problem =
            test::problem(blocks_of_branches(seed, Training::none), test::uniform_machine(3));
        double sum_s = 0;
        for (OpId op = 0; op < problem->ops; ++op) sum_s += problem->time_s(op, 0);
        const auto bounds = quick_bounds(*problem, objectives().front(), {});
        const double step_s = Simulator(problem).run(single_device_placement(*problem, 0)).step_time_s;
        QVERIFY(std::abs(step_s - sum_s) <= 1e-9 * sum_s);
        QVERIFY(std::abs(bound(bounds, "critical-path") - sum_s) <= 1e-9 * sum_s);
        QVERIFY(bound(lower_bounds(*problem), "critical-path") <= sum_s);
    }
}

/// Its time is quadratic in the number of ops in a row.
void TestBounds::long_chains_have_no_split_path() {
    const auto has_split_path = [](std::size_t ops) {
        const auto problem = test::problem(test::chain(ops), test::uniform_machine(4));
        const auto bounds = quick_bounds(*problem, objectives().front(), {});
        return std::ranges::any_of(bounds, [](const Bound& b) { return b.name == "split-path"; });
    };
    QVERIFY(has_split_path(500));
    QVERIFY(!has_split_path(50'000));
}

void TestBounds::gaps_are_rounded_up() {
    QCOMPARE(whole_percent(0.4933), 50.0);
    QCOMPARE(whole_percent(0.5), 50.0);
    QCOMPARE(whole_percent(1.5 / 1.25 - 1), 20.0);  // the quotient is slightly above 0.2
    QCOMPARE(whole_percent(1e-4), 1.0);
    QCOMPARE(whole_percent(0), 0.0);
    QCOMPARE(whole_percent(-1e-12), 0.0);
}

void TestBounds::hold_for_every_placement_data() {
    QTest::addColumn<quint64>("seed");
    QTest::addColumn<int>("kind");
    for (quint64 seed = 0; seed < kCases; ++seed) QTest::addRow("%llu", seed) << seed << 0;
    for (quint64 seed = 0; seed < kCases; ++seed) QTest::addRow("real %llu", seed) << seed << 1;
    for (quint64 seed = 0; seed < kCases / 2; ++seed) QTest::addRow("eager %llu", seed) << seed << 2;
    for (quint64 seed = 0; seed < kCases / 2; ++seed) QTest::addRow("blocks %llu", seed) << seed << 3;
}

void TestBounds::hold_for_every_placement() {
    QFETCH(quint64, seed);
    QFETCH(int, kind);
    const Case c = kind == 0   ? tiny_case(seed)
                   : kind == 1 ? real_case(seed)
                   : kind == 2 ? eager_case(seed)
                               : block_case(seed);
    Simulator simulator(c.problem, c.options);
    double best_s = kInfinity;
    bool parameters_fit = false;
    test::for_each_placement(*c.problem, [&](const Placement& placement) {
        const Outcome& outcome = simulator.run(placement);
        if (within_limits(*c.problem, outcome.peak_bytes)) best_s = std::min(best_s, outcome.step_time_s);
        // What every step holds at its end.
        std::vector<double> bytes(c.problem->devices);
        for (OpId op = 0; op < c.problem->ops; ++op)
            bytes[placement[c.problem->grouping.group_of[op]]] += c.problem->end_bytes(op);
        parameters_fit = parameters_fit || within_limits(*c.problem, bytes);
    });
    const Objective& objective = objectives().front();
    std::vector<Bound> bounds = quick_bounds(*c.problem, objective, c.options);
    QCOMPARE(bounds.size(), std::size_t{kind == 2 ? 6U : 5U});
    BoundEffort effort;
    effort.seconds = 60;
    if (seed % 2 == 0) effort.incumbent_s = (seed % 4 == 0 ? 1.3 : 1.0) * best_s;
    prove_bounds(*c.problem, objective, c.options, effort, [&](const Bound& b) { bounds.push_back(b); });
    for (const Bound& b : bounds) {
        QVERIFY2(b.value_s <= best_s * (1 + 1e-9),
                 (b.name + " " + std::to_string(b.value_s) + " > " + std::to_string(best_s)).c_str());
        if (b.name == "memory") QCOMPARE(b.value_s == kInfinity, !parameters_fit);
    }
    // Each bound includes those before it, up to the tolerances of the solvers.
    const auto as_tight = [&](const char* a, const char* b) {
        return bound(bounds, a) >= bound(bounds, b) * (1 - 1e-5);
    };
    m_host_bound += kind == 2 && best_s < kInfinity && bound(bounds, "host") > best_s * 0.5;
    QVERIFY(as_tight("split-path", "critical-path"));
    QVERIFY(as_tight("windows", "critical-path"));
    // Windows may show that the incumbent is optimal before the linear program is solved.
    const bool is_solved = !std::isnan(bound(bounds, "linear-program"));
    QVERIFY(is_solved || best_s == kInfinity || seed % 2 == 0);
    if (best_s < kInfinity && is_solved)
        QVERIFY(as_tight("linear-program", "critical-path") && as_tight("linear-program", "memory"));
    if (best_s < kInfinity && seed % 2 == 1) QVERIFY(as_tight("branch-and-bound", "linear-program"));
    const double proven_s = std::ranges::max(bounds, {}, &Bound::value_s).value_s,
                 simple_s = lower_bounds(*c.problem, c.options)[0].value_s;
    // With an incumbent all placements are searched: the bound is the optimum, whatever the incumbent was.
    if (best_s < kInfinity && seed % 2 == 0)
        QVERIFY2(proven_s >= best_s * (1 - 1e-9), qPrintable(QString("%1 < %2").arg(proven_s).arg(best_s)));
    if (best_s == kInfinity) return;
    ++m_feasible;
    m_better += proven_s > simple_s * (1 + 1e-3);
    m_split_better += bound(bounds, "split-path") > simple_s * (1 + 1e-3);
    m_windows_better += bound(bounds, "windows") > simple_s * (1 + 1e-3);
    m_optimal += proven_s > best_s * (1 - 1e-4);
    m_exactly_optimal += proven_s == best_s;
}

void TestBounds::tighter_than_without_a_solver() {
    qInfo("of %d: %d tighter, %d by the split path, %d by windows, %d optimal, %d to the last bit",
          m_feasible, m_better, m_split_better, m_windows_better, m_optimal, m_exactly_optimal);
    if (m_feasible < 100) QSKIP("counts what the test before has found");
    QVERIFY(m_better * 3 > m_feasible);
    QVERIFY(m_split_better > 0);
    QVERIFY(m_windows_better * 4 > m_feasible);
    QVERIFY(m_optimal > 0);
    QVERIFY(m_exactly_optimal > 10);
    QVERIFY(m_host_bound > 10);
}

void TestBounds::nothing_is_proven_in_no_time() {
    const auto problem = test::problem(test::random_graph(2, 40), test::uniform_machine(4));
    std::vector<Bound> bounds;
    prove_bounds(*problem, objectives().front(), {}, {}, [&](const Bound& b) { bounds.push_back(b); });
    QVERIFY(bounds.empty());
}

void TestBounds::branch_and_bound_is_told_while_it_grows() {
    // Three ops of 1 GB fit on each of four devices: the relaxation cannot tell where a row of twelve
    // changes devices.
    Random random(1);
    GraphBuilder builder("row", 1, Training::none);
    for (int i = 0; i < 12; ++i) {
        Op op;
        op.name = "op" + std::to_string(i);
        op.kind = "matmul";
        op.flops = kSecond;
        op.parameter_bytes = 1'000'000'000;
        op.outputs.resize(1);
        op.outputs[0].bytes = static_cast<std::int64_t>(random.uniform(1e8, 5e9));
        builder.add(op, i > 0 ? std::vector{"op" + std::to_string(i - 1)} : std::vector<std::string>());
    }
    const auto problem = test::problem(builder.build(), test::uniform_machine(4, 3.5e9));
    BoundEffort effort;
    effort.seconds = 120;
    std::vector<double> told_s;
    prove_bounds(*problem, objectives().front(), {}, effort, [&](const Bound& b) {
        if (b.name == "branch-and-bound") told_s.push_back(b.value_s);
    });
    QVERIFY2(told_s.size() > 1, qPrintable(QString::number(told_s.size())));
    QVERIFY(std::ranges::is_sorted(told_s));
    QVERIFY(told_s.back() > told_s.front() * 1.001);
}

void TestBounds::cases_are_of_all_kinds_data() {
    QTest::addColumn<bool>("real");
    QTest::newRow("plain") << false;
    QTest::newRow("real") << true;
}

void TestBounds::cases_are_of_all_kinds() {
    // The test above needs variety: some cases in which nothing fits, some in which the memory excludes
    // placements, and some without a limit.
    QFETCH(bool, real);
    int none = 0, some = 0, all = 0;
    for (std::uint64_t seed = 0; seed < kCases; ++seed) {
        const Case c = real ? real_case(seed) : tiny_case(seed);
        Simulator simulator(c.problem, c.options);
        std::size_t fitting = 0, placements = 0;
        test::for_each_placement(*c.problem, [&](const Placement& placement) {
            ++placements;
            fitting += within_limits(*c.problem, simulator.run(placement).peak_bytes) ? 1 : 0;
        });
        ++(fitting == 0 ? none : fitting == placements ? all : some);
    }
    QVERIFY2(none >= 10 && some >= 30 && all >= 5,
             qPrintable(QString("%1 %2 %3").arg(none).arg(some).arg(all)));
}

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestBounds)
#include "tst_bounds.moc"
