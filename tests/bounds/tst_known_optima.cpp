// SPDX-License-Identifier: MIT
// Small problems, each with one feature that bounds must see, against the best of all their placements.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <QtTest>

#include "core/algorithms.hpp"
#include "core/base/infinity.hpp"
#include "core/bounds/bounds.hpp"
#include "core/bounds/serial_segments.hpp"
#include "core/search/search.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/placements.hpp"

namespace placewright {
namespace {

/// An op that takes so long on devices of models "fast" and "slow".
Op timed(std::string name, double fast_s, double slow_s, std::vector<std::int64_t> bytes) {
    Op op;
    op.name = std::move(name);
    op.kind = "relu";
    op.flops = 1;
    for (const std::int64_t each : bytes) op.outputs.push_back({.shape = {}, .bytes = each});
    op.time_s["fast"].forward_s = fast_s;
    op.time_s["slow"].forward_s = slow_s;
    return op;
}

Op placed(Op op, std::string device, std::string colocate = {}) {
    op.devices = {std::move(device)};
    op.colocate = std::move(colocate);
    return op;
}

Device device(std::string name, DeviceKind kind, std::string model, double memory_bytes = 1e12) {
    Device device;
    device.name = std::move(name);
    device.kind = kind;
    device.model = std::move(model);
    device.peak_flops = 1e12;
    device.memory_bandwidth = 1e12;
    device.memory_bytes = memory_bytes;
    return device;
}

Channel channel(double bandwidth, double latency_s = 0) {
    Channel channel;
    channel.bandwidth = bandwidth;
    channel.latency_s = latency_s;
    return channel;
}

/// Every ordered pair of devices has a channel of its own; `of` returns the channel from one to another.
Machine linked(std::vector<Device> devices, const std::function<Channel(DeviceId from, DeviceId to)>& of) {
    std::vector<Channel> channels;
    std::vector<Route> routes;
    for (DeviceId from = 0; from < devices.size(); ++from) {
        for (DeviceId to = 0; to < devices.size(); ++to) {
            if (from == to) continue;
            routes.push_back({from, to, {static_cast<ChannelId>(channels.size())}});
            channels.push_back(of(from, to));
            channels.back().name = std::to_string(from) + "-" + std::to_string(to);
        }
    }
    return Machine("linked", std::move(devices), std::move(channels), std::move(routes));
}

Machine three_gpus() {
    return linked({device("gpu:0", DeviceKind::gpu, "fast"), device("gpu:1", DeviceKind::gpu, "fast"),
                   device("gpu:2", DeviceKind::gpu, "fast")},
                  [](DeviceId, DeviceId) { return channel(1e6); });
}

std::shared_ptr<const Problem> measured(Graph graph, Machine machine, ProblemOptions options = {}) {
    options.cost.model = find_cost_model("measured");
    options.inference = true;
    return test::problem(std::move(graph), std::move(machine), options);
}

struct Case {
    std::shared_ptr<const Problem> problem;
    const Objective* objective = find_objective("step-time");
    SimulationOptions simulation{};
};

using Make = Case (*)();

double optimum_s(const Case& given) {
    const auto evaluator = objective_evaluator(given.problem, *given.objective, given.simulation, {}, 1);
    double least_s = kInfinity;
    test::for_each_placement(*given.problem, [&](const Placement& placement) {
        if (obeying(*given.problem, placement) != placement) return;
        Score score;
        evaluator->evaluate({&placement, 1}, {&score, 1}, {}, {});
        if (score.fits) least_s = std::min(least_s, score.value_s);
    });
    return least_s;
}

/// The work of a slow accelerator, which takes none, is no bound for the others.
Case slow_accelerator() {
    GraphBuilder graph("slow accelerator", 1, Training::none);
    for (int i = 0; i < 6; ++i) graph.add(timed("op" + std::to_string(i), 1 + 0.1 * i, 1000, {1000}), {});
    return {measured(graph.build(), linked({device("cpu:0", DeviceKind::cpu, "slow"),
                                            device("gpu:0", DeviceKind::gpu, "fast"),
                                            device("gpu:1", DeviceKind::gpu, "fast"),
                                            device("old:0", DeviceKind::accelerator, "slow")},
                                           [](DeviceId, DeviceId) { return channel(1e6); })),
            find_objective("max-load")};
}

/// A tensor from before the segment arrives late at one of its ops, so the other one runs first.
Case skip_into_a_segment() {
    GraphBuilder graph("skip into a segment", 1, Training::none);
    graph.add(placed(timed("early", 0.1, 1, {10'000'000, 1000}), "gpu:0"), {});
    graph.add(placed(timed("before", 0.1, 1, {1000}), "gpu:2"), {"early:1"});
    graph.add(placed(timed("late", 5, 9, {1000}), "gpu:1", "segment"), {"before", "early"});
    graph.add(placed(timed("other", 5, 9, {1000}), "gpu:1", "segment"), {"before"});
    graph.add(placed(timed("behind", 0.1, 1, {1000}), "gpu:1", "segment"), {"late", "other"});
    return {measured(graph.build(), three_gpus())};
}

/// A large tensor leaves the segment for an op far behind, so the op that sends it runs first.
Case skip_out_of_a_segment() {
    GraphBuilder graph("skip out of a segment", 1, Training::none);
    graph.add(placed(timed("before", 0.1, 1, {1000}), "gpu:1", "segment"), {});
    graph.add(placed(timed("first", 5, 9, {1000}), "gpu:1", "segment"), {"before"});
    graph.add(placed(timed("sends", 5, 9, {1000, 10'000'000}), "gpu:1", "segment"), {"before"});
    graph.add(placed(timed("behind", 0.1, 1, {1000}), "gpu:1", "segment"), {"first", "sends"});
    graph.add(placed(timed("reads", 0.1, 1, {1000}), "gpu:0"), {"behind", "sends:1"});
    SimulationOptions simulation;
    simulation.order = Order::critical_path;
    return {measured(graph.build(), three_gpus()), find_objective("step-time"), simulation};
}

/// A CPU whose ops run on the GPU; two channels between them, of which the slower one depends on the size.
Machine streaming_machine(double memory_bytes, const Channel& first, const Channel& second,
                          const Channel& back) {
    std::vector<Channel> channels{first, second, back};
    channels[0].name = "first";
    channels[1].name = "second";
    channels[2].name = "back";
    return Machine(
        "streams",
        {device("cpu:0", DeviceKind::cpu, "slow"), device("gpu:0", DeviceKind::gpu, "fast", memory_bytes)},
        std::move(channels), {{0, 1, {0, 1}}, {1, 0, {2}}});
}

Graph weights(std::span<const std::int64_t> bytes, double long_s, double short_s) {
    GraphBuilder graph("weights", 1, Training::none);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        Op op = timed("op" + std::to_string(i), i % 2 == 0 ? short_s : long_s, i % 2 == 0 ? short_s : long_s,
                      {100});
        op.parameter_bytes = bytes[i];
        graph.add(std::move(op),
                  i == 0 ? std::vector<std::string>() : std::vector{"op" + std::to_string(i - 1)});
    }
    return graph.build();
}

Case streams(std::span<const std::int64_t> bytes, double long_s, double short_s, double memory_bytes,
             const Channel& first, const Channel& second, const Channel& back) {
    ProblemOptions options;
    options.offload = Offload::stream;
    options.context_bytes = 0;
    return {measured(weights(bytes, long_s, short_s), streaming_machine(memory_bytes, first, second, back),
                     options)};
}

/// Copies of short and of long weights have their slowest channels at different ends of the route.
Case channels_by_size() {
    Channel first = channel(1e7), second = channel(1e7);
    first.efficiency_by_bytes = {{9e4, 9e-3}, {1e5, 1.0}};
    second.efficiency_by_bytes = {{9e4, 1.0}, {1e5, 0.01}};
    return streams(
        std::vector<std::int64_t>{90'000, 100'000, 90'000, 100'000, 90'000, 100'000, 90'000, 100'000}, 1e-3,
        1e-3, 201'500, first, second, channel(1e12));
}

/// What streams from the CPU is copied while other ops run.
Case copies_beside_ops() {
    return streams(std::vector<std::int64_t>{100'000, 1000, 100'000, 1000, 100'000, 1000}, 1, 0.01, 302'500,
                   channel(2e5), channel(1e9), channel(1e5));
}

/// Transfers of a few bytes beside ops of a second: factors of 1e-13 in a linear program.
Case bytes_beside_seconds() {
    GraphBuilder graph("bytes beside seconds", 1, Training::none);
    graph.add(timed("op0", 0.1, 0.5, {1'000'000}), {});
    graph.add(timed("op1", 0.001, 0.001, {4}), {"op0"});
    graph.add(timed("op2", 1, 0.5, {1}), {"op0"});
    graph.add(timed("op3", 0.1, 0.5, {1}), {"op2"});
    ProblemOptions options;
    options.constraints.rules.push_back({Constraint::Rule::apart, {{"op0"}, {"op3"}}});
    return {
        measured(graph.build(),
                 linked({device("gpu:0", DeviceKind::gpu, "slow"), device("gpu:1", DeviceKind::gpu, "fast"),
                         device("gpu:2", DeviceKind::gpu, "fast")},
                        [](DeviceId from, DeviceId to) {
                            if (from == 2) return to == 0 ? channel(1e9, 0.01) : channel(1e11, 0.01);
                            if (from == 1) return to == 0 ? channel(1e13) : channel(1e13, 1e-5);
                            return to == 1 ? channel(1e13, 0.01) : channel(1e13);
                        }),
                 options)};
}

/// Ops of a microsecond and a second, links without and with latency: factors of a millionth.
Case microseconds_beside_seconds() {
    GraphBuilder graph("microseconds beside seconds", 1, Training::none);
    graph.add(timed("op0", 1e-6, 1e-3, {4}), {});
    graph.add(timed("op1", 1e-6, 0.5, {1}), {"op0"});
    graph.add(timed("op2", 1, 1e-3, {4}), {"op0"});
    graph.add(timed("op3", 1, 1, {1000}), {"op1"});
    graph.add(timed("op4", 0.5, 1e-3, {1}), {"op2"});
    graph.add(timed("op5", 0.5, 0.5, {100}), {"op3"});
    return {measured(graph.build(), linked({device("gpu:0", DeviceKind::gpu, "fast"),
                                            device("gpu:1", DeviceKind::gpu, "slow"),
                                            device("gpu:2", DeviceKind::gpu, "slow")},
                                           [](DeviceId from, DeviceId to) {
                                               if (from == 0)
                                                   return to == 1 ? channel(1e10, 1) : channel(1e9, 1);
                                               if (from == 1)
                                                   return to == 0 ? channel(1e12, 1e-3) : channel(1e9, 0.1);
                                               return to == 0 ? channel(1e9) : channel(1e11);
                                           }))};
}

/// The same with two ops that are kept apart.
Case microseconds_apart() {
    GraphBuilder graph("microseconds apart", 1, Training::none);
    graph.add(timed("op0", 1, 0.5, {4}), {});
    graph.add(timed("op1", 1e-6, 1, {1}), {"op0"});
    graph.add(timed("op2", 1e-3, 1e-6, {1}), {"op1"});
    graph.add(timed("op3", 1e-6, 0.1, {1}), {"op1"});
    graph.add(timed("op4", 0.1, 1e-3, {1'000'000}), {"op2"});
    ProblemOptions options;
    options.constraints.rules.push_back({Constraint::Rule::apart, {{"op0"}, {"op4"}}});
    return {
        measured(graph.build(),
                 linked({device("gpu:0", DeviceKind::gpu, "fast"), device("gpu:1", DeviceKind::gpu, "fast"),
                         device("gpu:2", DeviceKind::gpu, "slow")},
                        [](DeviceId from, DeviceId to) {
                            if (from == 0) return to == 1 ? channel(1e12, 0.1) : channel(1e9);
                            if (from == 1) return to == 0 ? channel(1e9, 1) : channel(1e11, 0.1);
                            return to == 0 ? channel(1e10) : channel(1e10, 1e-3);
                        }),
                 options)};
}

}  // namespace

class TestKnownOptima : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void boundsHold_data() {
        QTest::addColumn<Make>("make");
        QTest::newRow("slow accelerator") << &slow_accelerator;
        QTest::newRow("skip into a segment") << &skip_into_a_segment;
        QTest::newRow("skip out of a segment") << &skip_out_of_a_segment;
        QTest::newRow("channels by size") << &channels_by_size;
        QTest::newRow("copies beside ops") << &copies_beside_ops;
        QTest::newRow("bytes beside seconds") << &bytes_beside_seconds;
        QTest::newRow("microseconds beside seconds") << &microseconds_beside_seconds;
        QTest::newRow("microseconds apart") << &microseconds_apart;
    }

    void boundsHold() {
        QFETCH(Make, make);
        const Case given = make();
        const double least_s = optimum_s(given);
        QVERIFY(std::isfinite(least_s));
        const auto holds = [&](const Bound& bound) {
            QVERIFY2(bound.value_s <= least_s * (1 + 1e-12),
                     qPrintable(
                         QString("%1: %2 s > %3 s").arg(bound.name.c_str()).arg(bound.value_s).arg(least_s)));
            QVERIFY(!contradicts(bound.value_s, least_s));
        };
        std::ranges::for_each(quick_bounds(*given.problem, *given.objective, given.simulation), holds);
        for (const double incumbent : {1.0, 1.3, 2.0}) {
            BoundEffort effort;
            effort.seconds = 30;
            effort.incumbent_s = incumbent * least_s;
            prove_bounds(*given.problem, *given.objective, given.simulation, effort, holds);
        }
    }

    /// The integer program of a search is a bound, too.
    void theProgramOfASearchHolds_data() { boundsHold_data(); }
    void theProgramOfASearchHolds() {
        const AlgorithmInfo& milp = *find_algorithm("milp");
        if (!milp.missing.empty()) QSKIP(milp.missing.c_str());
        QFETCH(Make, make);
        const Case given = make();
        const auto optimizer =
            milp.make({given.problem, 1, {}, {}, given.objective, given.simulation}, {{"seconds", 30.0}});
        const auto evaluator = objective_evaluator(given.problem, *given.objective, given.simulation, {}, 1);
        Budget budget;
        budget.evaluations = 500;
        const SearchResult found = run_search(*optimizer, *evaluator, budget, {}, {});
        QVERIFY2(found.progress.lower_bound_s <= optimum_s(given) * (1 + 1e-12),
                 qPrintable(QString("%1 s > %2 s").arg(found.progress.lower_bound_s).arg(optimum_s(given))));
    }

    /// A skip within the group that cannot arrive late leaves the segment as it is.
    void skipsThatComeInTimeDoNotMatter() {
        GraphBuilder graph("skip", 1, Training::none);
        graph.add(placed(timed("early", 0.1, 1, {1000}), "gpu:1", "segment"), {});
        graph.add(placed(timed("before", 0.1, 1, {1000}), "gpu:1", "segment"), {"early"});
        graph.add(placed(timed("one", 5, 9, {1000}), "gpu:1", "segment"), {"before", "early"});
        graph.add(placed(timed("other", 5, 9, {1000}), "gpu:1", "segment"), {"before"});
        graph.add(placed(timed("behind", 0.1, 1, {1000}), "gpu:1", "segment"), {"one", "other"});
        graph.add(placed(timed("last", 0.1, 1, {1000}), "gpu:1", "segment"), {"behind", "other"});
        QVERIFY(with_serial_segments(*measured(graph.build(), three_gpus())).has_value());
    }
};

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestKnownOptima)
#include "tst_known_optima.moc"
