// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <QtTest>

#include "core/base/infinity.hpp"
#include "core/base/random.hpp"
#include "core/bounds/bounds.hpp"
#include "core/bounds/chain_windows.hpp"
#include "core/bounds/dependency_chain.hpp"
#include "core/bounds/device_classes.hpp"
#include "core/bounds/least_times.hpp"
#include "core/bounds/placement_proof.hpp"
#include "core/bounds/simple_bounds.hpp"
#include "core/bounds/window_time.hpp"
#include "core/sim/simulator.hpp"
#include "tests/support/graphs.hpp"

namespace placewright {
namespace {

constexpr double kSecond = 1e12;  // FLOPs that take one second on test::uniform_machine
constexpr std::size_t kSteps = 10'000'000;

/// A machine with features of real ones, each with its chance.
Machine featured(const Machine& machine, Random& random, double streams, double copy_engines, double bus) {
    const bool has_streams = random.chance(streams), has_copy_engines = random.chance(copy_engines),
               has_bus = random.chance(bus), cuts_through = random.chance(0.5);
    return test::with_features(
        machine, random.bits(),
        {.streams = has_streams,
         .copy_engines = has_copy_engines,
         .bus = has_bus,
         .crossing = cuts_through ? Crossing::cut_through : Crossing::store_and_forward});
}

/// A problem and a placement of it that was simulated.
struct Step {
    std::shared_ptr<const Problem> problem;
    Placement placement;
    std::vector<Span> spans;  ///< [op]

    DeviceId device(OpId op) const { return placement[problem->grouping.group_of[op]]; }
};

/// Networks of three sorts on two to five devices, alike or not; of every placement some groups are pinned to
/// their devices, so that the windows know them.
Step random_step(std::uint64_t seed) {
    Random random(seed);
    const std::size_t ops = 4 + random.index(40);
    const Training training = random.chance(0.8) ? Training::implicit : Training::none;
    Graph graph = seed % 3 == 0   ? test::modular_network(seed, ops)
                  : seed % 3 == 1 ? test::random_network(seed, ops, 1 + random.index(4), training)
                                  : test::random_graph(seed, ops, 1 + random.index(4), training);
    std::uint64_t machine_seed = seed;
    while (test::random_machine(machine_seed).devices().size() < 2) machine_seed += 10'000;
    Machine machine =
        random.chance(0.5) ? test::uniform_machine(2 + random.index(4)) : test::random_machine(machine_seed);
    machine = featured(machine, random, 0.3, 0.2, 0.2);
    auto problem = test::problem(graph, machine);
    // Few changes of devices, or many.
    Placement placement = test::random_placement(*problem, random);
    const double stays = random.chance(0.5) ? 0.9 : 0.3;
    for (GroupId group = 1; group < problem->groups; ++group) {
        if (random.chance(stays) &&
            std::ranges::count(problem->allowed_devices(group), placement[group - 1]) > 0)
            placement[group] = placement[group - 1];
    }
    const double pinned = random.uniform(0, 1.3);
    GroupId next = 0;
    GraphBuilder builder(graph.name(), graph.batch(), graph.training());
    for (Op op : graph.ops()) {
        const GroupId group = problem->grouping.group_of[next++];
        Random own(seed + 1000 * group);
        if (own.chance(pinned)) op.devices = {machine.device(placement[group]).name};
        builder.add(std::move(op));
    }
    problem = test::problem(builder.build(), machine);
    if (random.chance(0.3)) problem = test::with_whole_seconds(*problem, random);
    Trace trace;
    Simulator(problem, {}).run(placement, trace);
    Step step{problem, placement, std::vector<Span>(problem->ops)};
    for (const Span& span : trace.spans) {
        if (span.kind == Span::Kind::op) step.spans[span.op] = span;
    }
    return step;
}

struct Parts {
    explicit Parts(const Problem& problem)
        : times_s(least_times_s(problem, 1)),
          classes(problem, times_s),
          chain(problem, fastest_of(problem, times_s), true) {}

    std::vector<double> times_s;
    DeviceClasses classes;
    DependencyChain chain;
};

}  // namespace

class TestChainWindows : public QObject {
    Q_OBJECT

    std::size_t m_queued = 0, m_queued_at_once = 0, m_windows = 0, m_tight = 0, m_pinned = 0,
                m_pinned_tight = 0;

private Q_SLOTS:
    void branches_that_cannot_pay_for_their_transfers();
    void weight_gradients_wait_in_the_queue();
    void alike_devices_stand_for_each_other();
    void names_matter_where_events_coincide();
    void all_placements_are_searched_data();
    void all_placements_are_searched();
    void traces_obey_data();
    void traces_obey();
    void traces_put_it_to_the_test();
    void bounds_hold_where_ops_are_pinned_data();
    void bounds_hold_where_ops_are_pinned();
    void pins_put_it_to_the_test();
};

void TestChainWindows::branches_that_cannot_pay_for_their_transfers() {
    // source, three branches of a second each, sink. To send a tensor takes ten seconds, or a tenth of one.
    const auto bound_s = [](std::int64_t bytes, std::size_t gpus) {
        const auto problem = test::problem(test::fork_join(3, kSecond, bytes), test::uniform_machine(gpus));
        return chain_windows(*problem, {}, true, kSteps).seconds;
    };
    const auto close = [](double a, double b) { return std::abs(a - b) < 1e-3; };
    QVERIFY(close(bound_s(10'000'000'000, 4), 5));
    // Two branches of three are on other devices, there and back.
    QVERIFY(close(bound_s(100'000'000, 4), 3.2));
    // One is on the other device; whatever is done, one device has two branches.
    QVERIFY(bound_s(100'000'000, 2) > 3.5);
    QVERIFY(bound_s(100'000'000, 2) <= 4 + 1e-9);
}

void TestChainWindows::weight_gradients_wait_in_the_queue() {
    GraphBuilder builder("layers", 1, Training::implicit);
    constexpr OpId kLayers = 6;
    for (OpId layer = 0; layer < kLayers; ++layer) {
        Op op;
        op.name = "layer" + std::to_string(layer);
        op.kind = "matmul";
        op.flops = kSecond;
        op.parameter_bytes = 1'000'000;
        op.outputs.emplace_back().bytes = 3'000'000'000;
        if (layer > 0) op.inputs.push_back({layer - 1, 0});
        builder.add(std::move(op));
    }
    const auto problem = test::problem(builder.build(), test::uniform_machine(2));
    const double one_device_s = Simulator(problem, {}).run(single_device_placement(*problem)).step_time_s;
    const double in_order_s = chain_windows(*problem, {}, true, kSteps).seconds;
    QVERIFY(in_order_s <= one_device_s * (1 + 1e-9));
    QVERIFY(in_order_s > one_device_s * 0.9);
    // A device that could choose would leave the weight gradients for later.
    const double in_any_order_s = chain_windows(*problem, {}, false, kSteps).seconds;
    QVERIFY(in_any_order_s < in_order_s);
    QVERIFY(in_any_order_s >= critical_path_s(*problem) * (1 - 1e-9));
}

void TestChainWindows::alike_devices_stand_for_each_other() {
    const auto devices_of = [](const Machine& machine) {
        return first_interchangeable(*test::problem(test::chain(3), machine));
    };
    const Machine alike = test::uniform_machine(4);
    QCOMPARE(devices_of(alike), (std::vector<DeviceId>{0, 0, 0, 0}));
    // One faster link between the second and the third.
    std::vector<Channel> channels(alike.channels().begin(), alike.channels().end());
    const auto between = [&](DeviceId from, DeviceId to) {
        const auto route = std::ranges::find_if(
            alike.routes(), [&](const Route& one) { return one.from == from && one.to == to; });
        return route->channels.front();
    };
    channels[between(1, 2)].bandwidth *= 2;
    const Machine linked(alike.name(), {alike.devices().begin(), alike.devices().end()}, channels,
                         {alike.routes().begin(), alike.routes().end()}, alike.crossing());
    QCOMPARE(devices_of(linked), (std::vector<DeviceId>{0, 1, 2, 0}));
    // Less memory on the last.
    std::vector<Device> members(alike.devices().begin(), alike.devices().end());
    members[3].memory_bytes /= 2;
    const Machine smaller(alike.name(), members, {alike.channels().begin(), alike.channels().end()},
                          {alike.routes().begin(), alike.routes().end()}, alike.crossing());
    QCOMPARE(devices_of(smaller), (std::vector<DeviceId>{0, 0, 0, 3}));
}

void TestChainWindows::names_matter_where_events_coincide() {
    // "a" and "b" end at the same time on two alike devices and send over one bus; the first of these devices
    // sends first. "d" of "b", whose reader takes long, should be served first: so "b" belongs on gpu:0.
    const Machine apart = test::uniform_machine(4);
    std::vector<Channel> channels(apart.channels().begin(), apart.channels().end());
    std::vector<Route> routes(apart.routes().begin(), apart.routes().end());
    const auto to_third = [](DeviceId from) {
        return [from](const Route& route) { return route.from == from && route.to == 2; };
    };
    const ChannelId bus = std::ranges::find_if(routes, to_third(0))->channels.front();
    std::ranges::find_if(routes, to_third(1))->channels = {bus};
    const Machine machine(apart.name(), {apart.devices().begin(), apart.devices().end()}, channels, routes,
                          apart.crossing());
    GraphBuilder builder("race", 1, Training::none);
    const auto add = [&](const char* name, double seconds, std::vector<OpId> inputs,
                         std::vector<std::string> devices, std::int64_t bytes) {
        Op op;
        op.name = name;
        op.kind = "matmul";
        op.flops = seconds * kSecond;
        for (const OpId input : inputs) op.inputs.push_back({input, 0});
        op.devices = std::move(devices);
        op.outputs.emplace_back().bytes = bytes;
        builder.add(std::move(op));
    };
    add("a", 1, {}, {"gpu:0", "gpu:1"}, 1'000'000'000);
    add("b", 1, {}, {"gpu:0", "gpu:1"}, 1'000'000'000);
    add("c", 5, {0}, {"gpu:2"}, 1);
    add("d", 1, {1}, {"gpu:2"}, 1);
    add("e", 4, {3}, {"gpu:3"}, 1);
    const auto problem = test::problem(builder.build(), machine);
    QCOMPARE(first_interchangeable(*problem), (std::vector<DeviceId>{0, 0, 2, 3}));
    Simulator simulator(problem, {});
    const auto step_s = [&](DeviceId a, DeviceId b) {
        return simulator.run(Placement{a, b, 2, 2, 3}).step_time_s;
    };
    QVERIFY(step_s(1, 0) < 9 && step_s(0, 1) > 11 && step_s(0, 0) > 9);
    const PlacementProof proof = prove_by_placements(
        *problem, {}, true, 0, 20, [](double) {}, [] { return false; });
    QVERIFY(proof.finished);
    QCOMPARE(proof.bound_s, step_s(1, 0));
}

void TestChainWindows::all_placements_are_searched_data() {
    QTest::addColumn<quint64>("seed");
    for (quint64 seed = 0; seed < 150; ++seed) QTest::addRow("%llu", seed) << seed;
}

void TestChainWindows::all_placements_are_searched() {
    // Up to 4^6 placements, whose optimum is known.
    QFETCH(quint64, seed);
    Random random(seed);
    const Graph graph = test::random_graph(seed, 3 + random.index(4), 3, Training::implicit);
    Machine machine =
        random.chance(0.7) ? test::uniform_machine(2 + random.index(3)) : test::random_machine(seed);
    machine = featured(machine, random, 0.2, 0.3, 0.6);
    auto problem = test::problem(graph, machine);
    // Events at the same time are handled in the order of the devices: names matter.
    if (random.chance(0.7)) problem = test::with_whole_seconds(*problem, random);
    Simulator simulator(problem, {});
    Placement placement(problem->groups, 0);
    double best_s = kInfinity, worst_s = 0;
    while (true) {
        const Outcome& outcome = simulator.run(placement);
        if (outcome.fits) best_s = std::min(best_s, outcome.step_time_s);
        worst_s = std::max(worst_s, outcome.step_time_s);
        GroupId group = 0;
        while (group < problem->groups && ++placement[group] == problem->devices) placement[group++] = 0;
        if (group == problem->groups) break;
    }
    if (best_s == kInfinity || best_s == 0) return;
    for (const double incumbent_s : {best_s, 1.2 * best_s, worst_s + 1}) {
        std::vector<double> told_s;
        const PlacementProof proof = prove_by_placements(
            *problem, {}, true, 0, incumbent_s, [&](double bound_s) { told_s.push_back(bound_s); },
            [] { return false; });
        QVERIFY(proof.finished);
        QCOMPARE(proof.bound_s, best_s);
        QVERIFY(std::ranges::is_sorted(told_s));
        QVERIFY(!told_s.empty() && told_s.back() == best_s);
        QCOMPARE(proof.placement.empty(), incumbent_s == best_s);
        if (!proof.placement.empty()) QCOMPARE(simulator.run(proof.placement).step_time_s, best_s);
    }
    const PlacementProof stopped = prove_by_placements(
        *problem, {}, true, 0, best_s, [](double) {}, [] { return true; });
    QVERIFY(!stopped.finished && stopped.bound_s <= best_s);
}

void TestChainWindows::traces_obey_data() {
    QTest::addColumn<quint64>("seed");
    for (quint64 seed = 0; seed < 400; ++seed) QTest::addRow("%llu", seed) << seed;
}

void TestChainWindows::traces_obey() {
    QFETCH(quint64, seed);
    const Step step = random_step(seed);
    const Problem& problem = *step.problem;
    const Parts parts(problem);
    const DependencyChain& chain = parts.chain;
    for (OpId op = 0; op < problem.ops; ++op) {
        for (std::size_t i = chain.before_on_device[op]; i < chain.sink(); ++i) {
            const OpId behind = *chain.ops[i];
            if (i < chain.before[op]) {
                const DeviceId device = step.device(op);
                if (device != step.device(behind)) continue;
                QVERIFY(step.spans[behind].start_s >= step.spans[op].start_s);
                if (parts.classes.may_overlap(op, behind, parts.classes.class_of(device))) continue;
            }
            m_queued += i < chain.before[op];
            m_queued_at_once += i < chain.before[op] && step.spans[behind].start_s == step.spans[op].end_s;
            QVERIFY2(
                step.spans[behind].start_s >= step.spans[op].end_s,
                (problem.graph->op(behind).name + " starts before the end of " + problem.graph->op(op).name)
                    .c_str());
        }
    }

    const double end_s = std::ranges::max(step.spans, {}, &Span::end_s).end_s;
    WindowTime window_time(problem, parts.classes);
    Random random(seed + 1);
    for (int k = 0; k < 60; ++k) {
        const std::size_t first = random.index(chain.sink()),
                          last = first + 1 + random.index(std::min<std::size_t>(chain.sink() - first, 8));
        OpWindow window{chain.ops[first], chain.ops[last], {}, {}};
        for (OpId op = 0; op < problem.ops; ++op) {
            const bool is_behind =
                chain.position[op] != DependencyChain::kNowhere && chain.position[op] >= last;
            if (chain.after[op] < first || chain.before_on_device[op] > last || is_behind) continue;
            window.ops.push_back(op);
            window.on_device_only.push_back(chain.before[op] > last);
        }
        WindowEnds ends;
        if (window.first) ends.first = parts.classes.class_of(step.device(*window.first));
        if (window.last) ends.last = parts.classes.class_of(step.device(*window.last));
        ends.same_device =
            window.first && window.last && step.device(*window.first) == step.device(*window.last);
        const double took_s = (window.last ? step.spans[*window.last].end_s : end_s) -
                              (window.first ? step.spans[*window.first].end_s : 0);
        window_time.set(window);
        const double least_s = window_time.least_s(ends, 0);
        window_time.clear();
        QVERIFY2(least_s <= took_s + 1e-9 * end_s,
                 qPrintable(QString("%1 to %2: %3 > %4").arg(first).arg(last).arg(least_s).arg(took_s)));
        ++m_windows;
        m_tight += !window.ops.empty() && least_s > took_s * (1 - 1e-6);
    }
    QVERIFY(chain_windows(problem, {}, true, kSteps).seconds <= end_s * (1 + 1e-9));
}

void TestChainWindows::traces_put_it_to_the_test() {
    qInfo(
        "%zu ops that waited for others in the queue, %zu of them to the last moment; of %zu windows, %zu "
        "took "
        "no longer than they must",
        m_queued, m_queued_at_once, m_windows, m_tight);
    if (m_windows < 10'000) QSKIP("counts what the test before has found");
    QVERIFY(m_queued_at_once > 100);
    QVERIFY(m_tight > 1000);
}

void TestChainWindows::bounds_hold_where_ops_are_pinned_data() {
    QTest::addColumn<quint64>("seed");
    for (quint64 seed = 1000; seed < 1900; ++seed) QTest::addRow("%llu", seed) << seed;
}

void TestChainWindows::bounds_hold_where_ops_are_pinned() {
    // All quick bounds, with batches in flight and other orders, too.
    QFETCH(quint64, seed);
    const Step step = random_step(seed);
    Random random(seed);
    SimulationOptions options;
    if (random.chance(0.4)) {
        options = {.batches = static_cast<std::uint32_t>(1 + random.index(4)),
                   .in_flight = static_cast<std::uint32_t>(1 + random.index(4)),
                   .order = static_cast<Order>(random.index(4))};
    }
    Simulator simulator(step.problem, options);
    const Outcome& outcome = simulator.run(step.placement);
    if (!outcome.fits) return;
    ++m_pinned;
    double tightest_s = 0;
    for (const Bound& bound : quick_bounds(*step.problem, objectives().front(), options)) {
        QVERIFY2(
            bound.value_s <= outcome.step_time_s * (1 + 1e-9),
            qPrintable(
                QString("%1: %2 > %3").arg(bound.name.c_str()).arg(bound.value_s).arg(outcome.step_time_s)));
        tightest_s = std::max(tightest_s, bound.value_s);
    }
    m_pinned_tight += tightest_s > outcome.step_time_s * (1 - 1e-6);
}

void TestChainWindows::pins_put_it_to_the_test() {
    qInfo("of %zu placements that fit, %zu took no longer than the tightest bound", m_pinned, m_pinned_tight);
    if (m_pinned == 0) QSKIP("counts what the test before has found");
    QVERIFY(m_pinned > 500);
    QVERIFY(m_pinned_tight > 50);
}

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestChainWindows)
#include "tst_chain_windows.moc"
