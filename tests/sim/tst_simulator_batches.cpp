// SPDX-License-Identifier: MIT
// Several batches in flight, orders and pipelines, worked out by hand.
#include <algorithm>

#include <QtTest>

#include "core/sim/simulator.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/hand_simulation.hpp"
#include "tests/support/reference_simulator.hpp"
#include "tests/support/spans.hpp"

namespace placewright {
namespace {

using test::agreed_run, test::changed, test::hop_span, test::kGB, test::kSecond, test::kTensor, test::op_of,
    test::op_span;

std::string stage_op(char phase, std::size_t stage) {
    return std::string(1, phase).append(std::to_string(stage));
}

/// A pipeline with one forward and one backward op per stage, "f0", "f1", ..., "b1", "b0": each backward op
/// reads the output of its forward op.
Graph pipeline(std::size_t stages, double forward_s, double backward_s) {
    GraphBuilder builder("pipeline", 1, Training::explicit_);
    for (std::size_t i = 0; i < stages; ++i) {
        std::vector<std::string> inputs;
        if (i > 0) inputs.push_back(stage_op('f', i - 1));
        builder.add(op_of(stage_op('f', i), forward_s, {1}), inputs);
    }
    for (std::size_t i = stages; i-- > 0;) {
        std::vector<std::string> inputs{stage_op('f', i)};
        if (i + 1 < stages) inputs.push_back(stage_op('b', i + 1));
        Op op = op_of(stage_op('b', i), backward_s, {0});
        op.phase = Phase::backward;
        builder.add(op, inputs);
    }
    return builder.build();
}

std::shared_ptr<const Problem> with_free_transfers(const Problem& problem) {
    Problem result = problem;
    std::ranges::fill(result.transfer_s, 0);
    return std::make_shared<const Problem>(std::move(result));
}

}  // namespace

class TestSimulatorBatches : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void batches_overlap_over_two_devices();
    void batches_do_not_overlap_on_one_device();
    void batches_wait_for_every_source_device();
    void sources_enter_by_device();
    void critical_path_first();
    void critical_transfers_first();
    void upward_ranks();
    void pipelines_data();
    void pipelines();
    void gpipe_in_rounds();
    void one_forward_one_backward_in_turn();
    void what_forward_ops_need_is_not_held();
    void steady_state_data();
    void steady_state();
    void steady_state_of_one_device();
};

void TestSimulatorBatches::batches_overlap_over_two_devices() {
    GraphBuilder builder("pipeline", 1, Training::none);
    builder.add(op_of("first", 1, {1}), {});
    builder.add(op_of("second", 2, {0}), {"first"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(2));
    Simulator simulator(problem, {.batches = 3, .in_flight = 2});
    Trace trace;
    const Outcome& outcome = simulator.run(Placement{0, 1}, trace);
    COMPARE_SPANS(trace.spans, {
                                   op_span(*problem, "first", 0, 0, 0, 1, 0),
                                   hop_span(*problem, "first", 0, 0, 1, 1, 1, 2, 0),
                                   op_span(*problem, "first", 0, 1, 1, 2, 1),
                                   hop_span(*problem, "first", 0, 0, 1, 2, 2, 3, 1),
                                   op_span(*problem, "second", 1, 2, 2, 4, 0),
                                   // Batch 2 waits until batch 0 is done.
                                   op_span(*problem, "first", 0, 4, 4, 5, 2),
                                   op_span(*problem, "second", 1, 3, 4, 6, 1),
                                   hop_span(*problem, "first", 0, 0, 1, 5, 5, 6, 2),
                                   op_span(*problem, "second", 1, 6, 6, 8, 2),
                               });
    QCOMPARE(outcome.total_time_s, 8.0);
    QCOMPARE(outcome.step_time_s, 8.0 / 3.0);
    QCOMPARE(outcome.ops_run, 6U);
    QCOMPARE(outcome.transfers, 3U);
    // Batch 1's copy is held beside batch 0's.
    QCOMPARE(outcome.peak_bytes, (std::vector<double>{2 * kGB, 2 * kGB}));
}

void TestSimulatorBatches::batches_do_not_overlap_on_one_device() {
    const auto problem = test::problem(test::fork_join(4, kSecond, kTensor), test::uniform_machine(2));
    const Placement placement(problem->groups, 0);
    const double alone_s = Simulator(problem).run(placement).total_time_s;
    Simulator simulator(problem, {.batches = 5, .in_flight = 3});
    Trace trace;
    const Outcome& outcome = simulator.run(placement, trace);
    QCOMPARE(outcome.total_time_s, 5 * alone_s);
    QCOMPARE(outcome.step_time_s, alone_s);
    QVERIFY(std::ranges::is_sorted(trace.spans, {}, &Span::batch));
}

void TestSimulatorBatches::batches_wait_for_every_source_device() {
    GraphBuilder builder("two sources", 1, Training::none);
    builder.add(op_of("short", 1, {0}), {});
    builder.add(op_of("long", 3, {0}), {});
    builder.add(op_of("join", 1, {0}), {"short", "long"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(3));
    Simulator simulator(problem, {.batches = 2, .in_flight = 2});
    Trace trace;
    simulator.run(Placement{0, 1, 2}, trace);
    COMPARE_SPANS(trace.spans, {
                                   op_span(*problem, "short", 0, 0, 0, 1, 0),
                                   hop_span(*problem, "short", 1, 0, 2, 1, 1, 1, 0),
                                   op_span(*problem, "long", 1, 0, 0, 3, 0),
                                   // Device 0 was idle from 1, device 1 only from 3.
                                   hop_span(*problem, "long", 3, 1, 2, 3, 3, 3, 0),
                                   op_span(*problem, "short", 0, 3, 3, 4, 1),
                                   op_span(*problem, "join", 2, 3, 3, 4, 0),
                                   hop_span(*problem, "short", 1, 0, 2, 4, 4, 4, 1),
                                   op_span(*problem, "long", 1, 3, 3, 6, 1),
                                   hop_span(*problem, "long", 3, 1, 2, 6, 6, 6, 1),
                                   op_span(*problem, "join", 2, 6, 6, 7, 1),
                               });
}

void TestSimulatorBatches::sources_enter_by_device() {
    GraphBuilder builder("sources", 1, Training::none);
    for (const char* name : {"a", "b", "c", "d"}) builder.add(op_of(name, 1, {0}), {});
    const auto problem = test::problem(builder.build(), test::uniform_machine(2));
    Simulator simulator(problem);
    Trace trace;
    simulator.run(Placement{1, 0, 1, 0}, trace);
    COMPARE_SPANS(trace.spans, {
                                   op_span(*problem, "b", 0, 0, 0, 1),
                                   op_span(*problem, "a", 1, 0, 0, 1),
                                   op_span(*problem, "d", 0, 0, 1, 2),
                                   op_span(*problem, "c", 1, 0, 1, 2),
                               });
}

void TestSimulatorBatches::critical_path_first() {
    GraphBuilder builder("critical", 1, Training::none);
    builder.add(op_of("short", 1, {0}), {});
    builder.add(op_of("first", 1, {0}), {});
    builder.add(op_of("far", 3, {0}), {"first"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(2));
    const Placement placement{0, 0, 1};
    QCOMPARE(agreed_run(problem, placement).outcome.total_time_s, 5.0);
    const auto run = agreed_run(problem, placement, {.order = Order::critical_path});
    COMPARE_SPANS(run.spans, {
                                 op_span(*problem, "first", 0, 0, 0, 1),
                                 hop_span(*problem, "first", 0, 0, 1, 1, 1, 1),
                                 op_span(*problem, "short", 0, 0, 1, 2),
                                 op_span(*problem, "far", 1, 1, 1, 4),
                             });
    // With several batches the earlier batch goes first, and the next is ready before the first is done.
    const auto batches =
        agreed_run(problem, placement, {.batches = 2, .in_flight = 2, .order = Order::critical_path});
    COMPARE_SPANS(batches.spans, {
                                     op_span(*problem, "first", 0, 0, 0, 1, 0),
                                     hop_span(*problem, "first", 0, 0, 1, 1, 1, 1, 0),
                                     op_span(*problem, "short", 0, 0, 1, 2, 0),
                                     op_span(*problem, "first", 0, 0, 2, 3, 1),
                                     hop_span(*problem, "first", 0, 0, 1, 3, 3, 3, 1),
                                     op_span(*problem, "far", 1, 1, 1, 4, 0),
                                     op_span(*problem, "short", 0, 0, 3, 4, 1),
                                     op_span(*problem, "far", 1, 3, 4, 7, 1),
                                 });
}

void TestSimulatorBatches::critical_transfers_first() {
    // Two tensors are sent over one channel at the same time; the second starts the longer path.
    GraphBuilder builder("transfers", 1, Training::none);
    builder.add(op_of("split", 1, {1, 1}), {});
    builder.add(op_of("short", 1, {0}), {"split:0"});
    builder.add(op_of("long", 3, {0}), {"split:1"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(2));
    const Placement placement{0, 1, 1};
    // The op takes 1 s and each tensor another: short from 2 to 3, long from 3 to 6.
    QCOMPARE(agreed_run(problem, placement).outcome.total_time_s, 6.0);
    // long from 2 to 5, then short.
    const auto run = agreed_run(problem, placement, {.order = Order::critical_path});
    Span second = hop_span(*problem, "split", 0, 0, 1, 1, 1, 2);
    ++second.tensor;
    COMPARE_SPANS(run.spans, {
                                 op_span(*problem, "split", 0, 0, 0, 1),
                                 second,
                                 hop_span(*problem, "split", 0, 0, 1, 1, 2, 3),
                                 op_span(*problem, "long", 1, 2, 2, 5),
                                 op_span(*problem, "short", 1, 3, 5, 6),
                             });
}

void TestSimulatorBatches::upward_ranks() {
    // Two devices, one of half the speed, and one direction of half the bandwidth: the mean is 1.5 s per
    // second of work and 1.5 s per GB.
    const Machine machine =
        changed(test::uniform_machine(2), [](std::vector<Device>& devices, std::vector<Channel>& channels) {
            devices[1].peak_flops /= 2;
            channels[1].bandwidth /= 2;
        });
    GraphBuilder builder("ranks", 1, Training::none);
    builder.add(op_of("a", 2, {1, 2}), {});
    builder.add(op_of("b", 4, {1}), {"a:0"});
    Op c = op_of("c", 2, {0});
    c.devices = {"gpu:0"};
    builder.add(c, {"a:1", "b"});
    const auto problem = test::problem(builder.build(), machine);
    // c: 2 on its only device; b: 6 + 1.5 + 2; a: 3 + max(1.5 + 9.5, 3 + 2).
    QCOMPARE(test::upward_ranks_s(*problem), (std::vector<double>{14, 9.5, 2}));
}

void TestSimulatorBatches::pipelines_data() {
    QTest::addColumn<int>("stages");
    QTest::addColumn<int>("batches");
    QTest::addColumn<double>("forward_s");
    QTest::addColumn<double>("backward_s");
    QTest::newRow("2 stages, 4 batches") << 2 << 4 << 1.0 << 2.0;
    QTest::newRow("2 stages, 7 batches") << 2 << 7 << 1.0 << 1.0;
    QTest::newRow("4 stages, 4 batches") << 4 << 4 << 1.0 << 1.0;
    QTest::newRow("4 stages, 8 batches") << 4 << 8 << 1.0 << 2.0;
    QTest::newRow("4 stages, 8 long batches") << 4 << 8 << 2.0 << 1.0;
}

/// Huang et al., GPipe (2019), section 2.3, and Narayanan et al., PipeDream (2019), figure 4: with s stages
/// of f and b seconds, m batches take (m + s - 1)(f + b) under both schedules; the first stage holds m
/// batches with GPipe and s with 1F1B.
void TestSimulatorBatches::pipelines() {
    QFETCH(int, stages);
    QFETCH(int, batches);
    QFETCH(double, forward_s);
    QFETCH(double, backward_s);
    const auto count = static_cast<std::size_t>(stages);
    const auto problem = with_free_transfers(
        *test::problem(pipeline(count, forward_s, backward_s), test::uniform_machine(count)));
    Placement placement(problem->groups);
    for (OpId op = 0; op < problem->ops; ++op)
        placement[op] = static_cast<DeviceId>(op < count ? op : problem->ops - 1 - op);
    SimulationOptions options;
    options.batches = options.in_flight = static_cast<std::uint32_t>(batches);
    for (const Order order : {Order::gpipe, Order::one_forward_one_backward}) {
        options.order = order;
        const auto run = agreed_run(problem, placement, options);
        QCOMPARE(run.outcome.total_time_s, (batches + stages - 1) * (forward_s + backward_s));
        QCOMPARE(run.outcome.device_busy_s, std::vector<double>(count, batches * (forward_s + backward_s)));
        QCOMPARE(run.outcome.peak_bytes[0], (order == Order::gpipe ? batches : stages) * kGB);
        // The last stage holds its output and the input it works on; with 1F1B the next input has already
        // arrived.
        QCOMPARE(run.outcome.peak_bytes[count - 1], (order == Order::gpipe ? batches + 1 : 3) * kGB);
    }
}

void TestSimulatorBatches::gpipe_in_rounds() {
    const auto problem = with_free_transfers(*test::problem(pipeline(2, 1, 1), test::uniform_machine(2)));
    const auto run =
        agreed_run(problem, Placement{0, 1, 1, 0}, {.batches = 5, .in_flight = 2, .order = Order::gpipe});
    // Rounds of two batches take (2 + 2 - 1) x 2 seconds, the last round of one batch (1 + 2 - 1) x 2.
    QCOMPARE(run.outcome.total_time_s, 6.0 + 6.0 + 4.0);
    std::vector<Span> ops;
    std::ranges::copy_if(run.spans, std::back_inserter(ops),
                         [](const Span& span) { return span.kind == Span::Kind::op && span.batch < 2; });
    COMPARE_SPANS(ops, {
                           op_span(*problem, "f0", 0, 0, 0, 1, 0),
                           op_span(*problem, "f0", 0, 0, 1, 2, 1),
                           op_span(*problem, "f1", 1, 1, 1, 2, 0),
                           op_span(*problem, "f1", 1, 2, 2, 3, 1),
                           // Ready at 2; held until the forward op of batch 1 is done on the device.
                           op_span(*problem, "b1", 1, 2, 3, 4, 0),
                           op_span(*problem, "b1", 1, 3, 4, 5, 1),
                           op_span(*problem, "b0", 0, 4, 4, 5, 0),
                           op_span(*problem, "b0", 0, 5, 5, 6, 1),
                       });
}

void TestSimulatorBatches::one_forward_one_backward_in_turn() {
    const auto problem = with_free_transfers(*test::problem(pipeline(2, 1, 2), test::uniform_machine(2)));
    const auto run = agreed_run(problem, Placement{0, 1, 1, 0},
                                {.batches = 3, .in_flight = 3, .order = Order::one_forward_one_backward});
    std::vector<Span> ops;
    std::ranges::copy_if(run.spans, std::back_inserter(ops),
                         [](const Span& span) { return span.kind == Span::Kind::op; });
    COMPARE_SPANS(ops, {
                           op_span(*problem, "f0", 0, 0, 0, 1, 0),
                           op_span(*problem, "f0", 0, 0, 1, 2, 1),
                           op_span(*problem, "f1", 1, 1, 1, 2, 0),
                           op_span(*problem, "b1", 1, 2, 2, 4, 0),
                           op_span(*problem, "f1", 1, 2, 4, 5, 1),
                           op_span(*problem, "b0", 0, 4, 4, 6, 0),
                           op_span(*problem, "b1", 1, 5, 5, 7, 1),
                           // Device 0 was idle from 2 to 4: two batches were in progress there.
                           op_span(*problem, "f0", 0, 0, 6, 7, 2),
                           op_span(*problem, "f1", 1, 7, 7, 8, 2),
                           op_span(*problem, "b0", 0, 7, 7, 9, 1),
                           op_span(*problem, "b1", 1, 8, 8, 10, 2),
                           op_span(*problem, "b0", 0, 10, 10, 12, 2),
                       });
}

void TestSimulatorBatches::what_forward_ops_need_is_not_held() {
    // An inner gradient step: "f1" waits for the backward op "b0", which GPipe would hold until f1 is done.
    GraphBuilder builder("inner step", 1, Training::explicit_);
    builder.add(op_of("f0", 1, {0}), {});
    Op inner = op_of("b0", 1, {0});
    inner.phase = Phase::backward;
    builder.add(inner, {"f0"});
    builder.add(op_of("f1", 1, {0}), {"b0"});
    Op outer = op_of("b1", 1, {0});
    outer.phase = Phase::backward;
    builder.add(outer, {"f1"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(1));
    const auto run =
        agreed_run(problem, Placement{0, 0, 0, 0}, {.batches = 2, .in_flight = 2, .order = Order::gpipe});
    COMPARE_SPANS(run.spans, {
                                 op_span(*problem, "f0", 0, 0, 0, 1, 0),
                                 op_span(*problem, "b0", 0, 1, 1, 2, 0),
                                 op_span(*problem, "f1", 0, 2, 2, 3, 0),
                                 op_span(*problem, "f0", 0, 0, 3, 4, 1),
                                 op_span(*problem, "b0", 0, 4, 4, 5, 1),
                                 op_span(*problem, "f1", 0, 5, 5, 6, 1),
                                 op_span(*problem, "b1", 0, 3, 6, 7, 0),
                                 op_span(*problem, "b1", 0, 6, 7, 8, 1),
                             });
}

void TestSimulatorBatches::steady_state_data() {
    QTest::addColumn<int>("order");
    QTest::addColumn<int>("batches");
    QTest::addColumn<double>("steady_s");  ///< negative: no value
    QTest::newRow("fifo") << static_cast<int>(Order::fifo) << 16 << 3.0;
    QTest::newRow("critical path") << static_cast<int>(Order::critical_path) << 16 << 3.0;
    QTest::newRow("1F1B") << static_cast<int>(Order::one_forward_one_backward) << 16 << 3.0;
    // Each round of four takes 1 + 3 + 2 seconds and three times 3 seconds.
    QTest::newRow("GPipe") << static_cast<int>(Order::gpipe) << 16 << 15.0 / 4;
    QTest::newRow("GPipe, a round begun") << static_cast<int>(Order::gpipe) << 10 << 15.0 / 4;
    QTest::newRow("GPipe, one round") << static_cast<int>(Order::gpipe) << 7 << -1.0;
    QTest::newRow("a round between") << static_cast<int>(Order::fifo) << 12 << 3.0;
    QTest::newRow("less than a round between") << static_cast<int>(Order::fifo) << 11 << -1.0;
    QTest::newRow("fewer batches than may be in flight") << static_cast<int>(Order::fifo) << 3 << -1.0;
}

/// The slowest stage determines the steady step time, independent of the time to fill and drain the
/// pipeline.
void TestSimulatorBatches::steady_state() {
    QFETCH(int, order);
    QFETCH(int, batches);
    QFETCH(double, steady_s);
    GraphBuilder builder("stages", 1, Training::none);
    builder.add(op_of("a", 1, {0}), {});
    builder.add(op_of("b", 3, {0}), {"a"});
    builder.add(op_of("c", 2, {0}), {"b"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(3));
    SimulationOptions options;
    options.batches = static_cast<std::uint32_t>(batches);
    options.in_flight = 4;
    options.order = static_cast<Order>(order);
    const Outcome outcome = agreed_run(problem, Placement{0, 1, 2}, options).outcome;
    QCOMPARE(outcome.steady_step_time_s.has_value(), steady_s > 0);
    if (steady_s < 0) return;
    QCOMPARE(*outcome.steady_step_time_s, steady_s);
    QVERIFY(outcome.step_time_s >= steady_s);
}

/// One device that is never idle completes one batch after the other, independent of the number in flight,
/// except that several may end together.
void TestSimulatorBatches::steady_state_of_one_device() {
    const auto problem = test::problem(test::chain(3, kSecond, kTensor), test::uniform_machine(1));
    for (const Order order :
         {Order::fifo, Order::gpipe, Order::one_forward_one_backward, Order::critical_path}) {
        for (const std::uint32_t batches : {4U, 7U, 8U, 10U, 18U, 21U}) {
            for (const std::uint32_t in_flight : {1U, 2U, 4U, 8U}) {
                SimulationOptions options;
                options.order = order;
                options.batches = batches;
                options.in_flight = in_flight;
                Simulator simulator(problem, options);
                const Outcome& outcome = simulator.run(Placement{0, 0, 0});
                QCOMPARE(outcome.step_time_s, 3.0);
                if (outcome.steady_step_time_s) QCOMPARE(*outcome.steady_step_time_s, 3.0);
            }
        }
    }
}

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestSimulatorBatches)
#include "tst_simulator_batches.moc"
