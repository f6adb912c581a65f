// SPDX-License-Identifier: MIT
// Weights that are streamed from a CPU to the device that computes with them: two runs worked out by hand,
// and what holds for all of them.
#include <algorithm>
#include <numeric>

#include <QtTest>

#include "core/bounds/bounds.hpp"
#include "core/sim/delta.hpp"
#include "core/sim/explain.hpp"
#include "core/sim/simulator.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/hand_simulation.hpp"
#include "tests/support/spans.hpp"

namespace placewright {
namespace {

using test::changed, test::kGB;

/// The first device is a CPU that is slower than the GPUs.
Machine with_cpu(const Machine& machine, double gpu_bytes = 1e12) {
    return changed(machine, [&](std::vector<Device>& all, std::vector<Channel>&) {
        for (Device& device : all) device.memory_bytes = gpu_bytes;
        all.front().kind = DeviceKind::cpu;
        all.front().memory_bytes = 1e12;
        all.front().peak_flops /= 10;
    });
}

ProblemOptions streaming() {
    ProblemOptions options;
    options.offload = Offload::stream;
    return options;
}

/// a, b and c take a second each, and two to get their weights; the CPU is device 0.
std::shared_ptr<const Problem> three_ops(double gpu_bytes) {
    GraphBuilder builder("three", 1, Training::none);
    for (const auto& [name, before] : {std::pair("a", ""), {"b", "a"}, {"c", "b"}}) {
        Op op = test::op_of(name, 1, {0});
        op.parameter_bytes = static_cast<std::int64_t>(2 * kGB);
        builder.add(op, *before == 0 ? std::vector<std::string>() : std::vector<std::string>{before});
    }
    return test::problem(builder.build(), with_cpu(test::uniform_machine(2), gpu_bytes), streaming());
}

Span run_of(const Problem& problem, const char* op, double queued_s, double start_s) {
    Span span = test::op_span(problem, op, 1, queued_s, start_s, start_s + 1);
    span.from = 0;
    return span;
}

Span copy_of(const Problem& problem, const char* op, double queued_s, double start_s) {
    Span span = test::hop_span(problem, op, 0, 0, 1, queued_s, start_s, start_s + 2);
    span.tensor = problem.streamed[span.op];
    span.bytes = 2 * kGB;
    return span;
}

struct Traced {
    Outcome outcome;
    Trace trace;
    Traced(const std::shared_ptr<const Problem>& problem, const Placement& placement,
           const SimulationOptions& options = {}) {
        Simulator simulator(problem, options);
        outcome = simulator.run(placement, trace);
    }
};

}  // namespace

class TestStreaming : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// With two buffers the copy of b goes on while a runs, and that of c waits until a has ended.
    void copies_go_on_beside_computing() {
        const auto problem = three_ops(5 * kGB);
        const Traced run(problem, {0, 0, 0});
        COMPARE_SPANS(run.trace.spans, {copy_of(*problem, "a", 0, 0), run_of(*problem, "a", 2, 2),
                                        copy_of(*problem, "b", 0, 2), run_of(*problem, "b", 4, 4),
                                        copy_of(*problem, "c", 3, 4), run_of(*problem, "c", 6, 6)});
        QCOMPARE(run.outcome.device_busy_s, (std::vector<double>{0, 3}));
        QCOMPARE(run.outcome.peak_bytes, (std::vector<double>{6 * kGB, 4 * kGB}));
        QCOMPARE(run.outcome.channel_bytes.front(), 6 * kGB);
        QVERIFY(run.outcome.fits);
        const auto peaks = memory_peaks(*problem, run.trace);
        QCOMPARE(peaks[0].parameter_bytes, 6 * kGB);
        QCOMPARE(peaks[1].parameter_bytes, 0.0);
        QCOMPARE(peaks[1].held, (std::vector<Held>{{HeldKind::weights, 0, kNoTensor, 0, 2 * kGB, 0},
                                                   {HeldKind::weights, 1, kNoTensor, 0, 2 * kGB, 2}}));
        // a's copy, a, the queue until b's copy has ended, c's copy, c.
        const CriticalPath path = critical_path(*problem, run.trace);
        QCOMPARE(path.total_s(), 7.0);
        QCOMPARE(path.transfer_s, 4.0);
        QCOMPARE(path.queue_s, 1.0);
    }

    void one_buffer_is_filled_when_its_op_has_ended() {
        const auto problem = three_ops(3 * kGB);
        const Traced run(problem, {0, 0, 0});
        COMPARE_SPANS(run.trace.spans, {copy_of(*problem, "a", 0, 0), run_of(*problem, "a", 2, 2),
                                        copy_of(*problem, "b", 3, 3), run_of(*problem, "b", 5, 5),
                                        copy_of(*problem, "c", 6, 6), run_of(*problem, "c", 8, 8)});
        QCOMPARE(run.outcome.peak_bytes[1], 2 * kGB);
        QVERIFY(run.outcome.fits);
        // A buffer that is larger than the memory does not fit.
        QVERIFY(!Traced(three_ops(1 * kGB), {0, 0, 0}).outcome.fits);
    }

    void ops_on_gpus_have_their_weights_there() {
        const auto problem = three_ops(5 * kGB);
        const Traced run(problem, {1, 0, 1});
        QCOMPARE(run.outcome.total_time_s, 4.0);  // b waits for two seconds, c for b
        QCOMPARE(run.outcome.channel_bytes.front(), 2 * kGB);
        // Beside 4 GB there is room for one buffer of 2 GB only if the memory is as large.
        QCOMPARE(run.outcome.peak_bytes[1], 6 * kGB);
        QVERIFY(!run.outcome.fits);
        QCOMPARE(Traced(problem, {1, 1, 1}).outcome.channel_bytes.front(), 0.0);
    }

    void machines_without_a_cpu_or_a_gpu_stream_nothing() {
        GraphBuilder builder("one", 1, Training::none);
        builder.add(test::op_of("a", 1, {0}), {});
        const auto graph = builder.build();
        QVERIFY(!test::problem(graph, test::uniform_machine(2), streaming())->streams_to);
        QVERIFY(!test::problem(graph, with_cpu(test::uniform_machine(1)), streaming())->streams_to);
        QCOMPARE(test::problem(graph, with_cpu(test::uniform_machine(2)), streaming())->streams_to,
                 std::optional<DeviceId>(1));
    }

    void ops_on_the_cpu_share_the_streams_of_the_gpu() {
        // Four ops of a quarter of the GPU, which run side by side in the time of one.
        GraphBuilder builder("four", 1, Training::none);
        for (int i = 0; i < 4; ++i) {
            Op op = test::op_of("op" + std::to_string(i), 1e-3, {0});
            op.devices = {"gpu:0"};
            builder.add(std::move(op));
        }
        const Machine machine =
            changed(with_cpu(test::uniform_machine(2)), [](std::vector<Device>& all, std::vector<Channel>&) {
                all[1].streams = 4;
                all[1].launch_overhead_s = 3e-3;
            });
        const auto problem = test::problem(builder.build(), machine, streaming());
        QCOMPARE(problem->streams_to, std::optional<DeviceId>(1));
        const double step_s = Simulator(problem, {}).run(Placement{0, 0, 0, 0}).step_time_s;
        QVERIFY2(std::abs(step_s - 4e-3) < 1e-5, qPrintable(QString::number(step_s)));
        for (const Bound& bound : quick_bounds(*problem, objectives().front(), {}))
            QVERIFY2(bound.value_s <= step_s * (1 + 1e-9), bound.name.c_str());
    }

    void whatever_the_network_holds() {
        for (std::uint64_t seed = 0; seed < 150; ++seed) {
            Random random(seed);
            const bool varied = seed % 2 == 0;
            Graph graph = varied ? test::random_network(seed, 30) : test::random_graph(seed, 30);
            Machine machine = test::random_machine(seed);
            if (machine.devices().size() < 2) machine = test::uniform_machine(3);
            if (seed % 3 == 0)
                machine = test::with_features(machine, seed, {.copy_engines = true, .bus = true});
            ProblemOptions options = streaming();
            if (seed % 7 == 0) options.crossing = Crossing::cut_through;
            const auto problem = test::problem(std::move(graph), with_cpu(machine), options);
            if (!problem->streams_to) continue;
            for (const SimulationOptions& simulation :
                 {SimulationOptions{}, SimulationOptions{.batches = 3, .in_flight = 2},
                  SimulationOptions{.order = Order::critical_path},
                  SimulationOptions{.runtime = Runtime::compiled},
                  SimulationOptions{.runtime = Runtime::eager, .host_time_s = 1e-3}}) {
                Placement placement = test::random_placement(*problem, random);
                const Traced run(problem, placement, simulation);
                Simulator simulator(problem, simulation);
                QCOMPARE(simulator.run(placement), run.outcome);
                QCOMPARE(run.outcome.device_busy_s.front(), 0.0);
                check(*problem, run);
                const auto bound = quick_bounds(*problem, objectives().front(), simulation).front();
                if (run.outcome.fits)
                    QVERIFY2(bound.value_s <= run.outcome.step_time_s * (1 + 1e-9),
                             qPrintable(QString("seed %1: %2").arg(seed).arg(bound.name.c_str())));
                DeltaSimulator delta(problem, simulation);
                delta.rebase(placement);
                const auto group = static_cast<GroupId>(random.index(problem->groups));
                placement[group] = test::random_placement(*problem, random)[group];
                QCOMPARE(delta.run(placement), Outcome(simulator.run(placement)));
            }
        }
    }

private:
    static void check(const Problem& problem, const Traced& run) {
        for (const Span& op : run.trace.spans) {
            if (op.kind != Span::Kind::op || op.from == kInvalidDevice) continue;
            QCOMPARE(op.resource, *problem.streams_to);
            if (problem.streamed[op.op] == kNoTensor) continue;
            const auto copy = std::ranges::find_if(run.trace.spans, [&](const Span& other) {
                return other.kind == Span::Kind::transfer && other.batch == op.batch &&
                       other.tensor == problem.streamed[op.op];
            });
            QVERIFY(copy != run.trace.spans.end());
            QCOMPARE(copy->from, op.from);
            QVERIFY(copy->end_s <= op.start_s);
        }
        const auto peaks = memory_peaks(problem, run.trace);
        for (DeviceId device = 0; device < problem.devices; ++device)
            QCOMPARE(peaks[device].bytes, run.outcome.peak_bytes[device]);
        const CriticalPath path = critical_path(problem, run.trace);
        QVERIFY(std::abs(path.total_s() - run.outcome.total_time_s) <= 1e-9 * run.outcome.total_time_s);
        double at_s = 0;
        for (const PathSegment& segment : path.segments) {
            QCOMPARE(segment.start_s, at_s);
            at_s = segment.end_s;
        }
    }
};

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestStreaming)
#include "tst_streaming.moc"
