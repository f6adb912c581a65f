// SPDX-License-Identifier: MIT
// Simulations worked out by hand.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <new>
#include <set>
#include <tuple>

#include <QtTest>

#include "core/base/random.hpp"
#include "core/graph/networks.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/shipped.hpp"
#include "core/sim/memory_penalty.hpp"
#include "core/sim/simulator.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/reference_simulator.hpp"
#include "tests/support/spans.hpp"

namespace placewright {
namespace {

using test::kOrders, test::difference;

constexpr double kGB = 1e9;
// On test::uniform_machine (1 TFLOP/s, 1 GB/s) an op of 1e12 FLOPs takes exactly one second, and so does the
// transfer of a tensor of 1e9 bytes.
constexpr double kSecond = 1e12;
constexpr std::int64_t kTensor = 1'000'000'000;

Op op_of(const std::string& name, double seconds, std::vector<double> output_gb) {
    Op op;
    op.name = name;
    op.kind = "matmul";
    op.flops = seconds * kSecond;
    for (const double gb : output_gb) {
        Tensor tensor;
        tensor.bytes = static_cast<std::int64_t>(gb * kGB);
        op.outputs.push_back(tensor);
    }
    return op;
}

Span op_span(const Problem& problem, const char* name, DeviceId device, double queued_s, double start_s,
             double end_s, std::uint32_t batch = 0) {
    Span span;
    span.resource = device;
    span.op = *problem.graph->find(name);
    span.batch = batch;
    span.queued_s = queued_s;
    span.start_s = start_s;
    span.end_s = end_s;
    return span;
}

/// Span of a hop of output 0 of the op.
Span hop_span(const Problem& problem, const char* producer, ChannelId channel, DeviceId from, DeviceId to,
              double queued_s, double start_s, double end_s, std::uint32_t batch = 0) {
    Span span = op_span(problem, producer, channel, queued_s, start_s, end_s, batch);
    span.kind = Span::Kind::transfer;
    span.from = from;
    span.to = to;
    span.tensor = problem.output_begin[span.op];
    span.bytes = problem.tensor_bytes[span.tensor];
    return span;
}

/// Outcome of both simulators; the test fails if they differ.
test::ReferenceRun agreed_run(const std::shared_ptr<const Problem>& problem, const Placement& placement,
                              const SimulationOptions& options = {}) {
    test::ReferenceRun reference = test::reference_run(*problem, placement, options);
    Simulator simulator(problem, options);
    Trace trace;
    const Outcome& outcome = simulator.run(placement, trace);
    const QByteArray wrong = difference(trace.spans, reference.spans);
    QTest::qVerify(wrong.isEmpty(), "the traces agree", wrong.constData(), __FILE__, __LINE__);
    QTest::qVerify(outcome == reference.outcome, "the outcomes agree", "", __FILE__, __LINE__);
    return reference;
}

/// A machine of devices 0 and 1 with the channels and routes of a case.
Machine two_devices(std::vector<double> channel_bandwidths, std::vector<ChannelId> forth,
                    std::vector<ChannelId> back) {
    const Machine base = test::uniform_machine(2);
    std::vector<Channel> channels;
    for (std::size_t i = 0; i < channel_bandwidths.size(); ++i) {
        Channel channel;
        channel.name = "channel" + std::to_string(i);
        channel.bandwidth = channel_bandwidths[i];
        channels.push_back(channel);
    }
    return Machine("two", {base.devices().begin(), base.devices().end()}, std::move(channels),
                   {{0, 1, std::move(forth)}, {1, 0, std::move(back)}});
}

/// uniform_machine after `change` to its devices or channels.
template <class Change>
Machine changed(const Machine& machine, Change change) {
    std::vector<Device> devices(machine.devices().begin(), machine.devices().end());
    std::vector<Channel> channels(machine.channels().begin(), machine.channels().end());
    change(devices, channels);
    return Machine(machine.name(), std::move(devices), std::move(channels),
                   {machine.routes().begin(), machine.routes().end()}, machine.crossing());
}

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

class TestSimulator : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void chain_on_one_device();
    void chain_over_two_devices();
    void fork_join_over_two_devices();
    void remote_tensor_is_sent_once();
    void outputs_go_separately();
    void outputs_go_together();
    void two_hops();
    void route_over_one_channel_twice();
    void shared_channel_is_half_duplex();
    void ready_first_runs_first();
    void ties_keep_the_order_of_starting();
    void memory_peak();
    void memory_limit();
    void peak_of_an_instant();
    void batches_overlap_over_two_devices();
    void batches_do_not_overlap_on_one_device();
    void batches_wait_for_every_source_device();
    void sources_enter_by_device();
    void many_channels();
    void options_are_checked();

    void cut_through();
    void cut_through_waits_for_all_channels();
    void copy_engines();
    void copy_engine_of_each_end();
    void streams();
    void the_ending_device_goes_on_last();
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
    void accumulated_gradients();
    void views_take_no_memory();
    void workspace();
    void memory_margin();

    void memory_penalty_data();
    void memory_penalty();
    void memory_rules_by_name();
};

void TestSimulator::chain_on_one_device() {
    const auto problem = test::problem(test::chain(3, kSecond, kTensor), test::uniform_machine(1));
    Simulator simulator(problem);
    Trace trace;
    const Outcome& outcome = simulator.run(Placement{0, 0, 0}, trace);
    COMPARE_SPANS(trace.spans, {op_span(*problem, "op0", 0, 0, 0, 1), op_span(*problem, "op1", 0, 1, 1, 2),
                                op_span(*problem, "op2", 0, 2, 2, 3)});
    QCOMPARE(outcome.total_time_s, 3.0);
    QCOMPARE(outcome.step_time_s, 3.0);
    QCOMPARE(outcome.device_busy_s, std::vector<double>{3.0});
    QCOMPARE(outcome.ops_run, 3U);
    QCOMPARE(outcome.transfers, 0U);
    QVERIFY(outcome.channel_busy_s.empty());
    QVERIFY(outcome.fits);
    // Held: op0's output until op1 is done, then op1's and op2's outputs.
    QCOMPARE(outcome.peak_bytes, std::vector<double>{2 * kGB});
}

void TestSimulator::chain_over_two_devices() {
    const auto problem = test::problem(test::chain(3, kSecond, kTensor), test::uniform_machine(2));
    Simulator simulator(problem);
    Trace trace;
    const Outcome& outcome = simulator.run(Placement{0, 1, 0}, trace);
    COMPARE_SPANS(trace.spans, {
                                   op_span(*problem, "op0", 0, 0, 0, 1),
                                   hop_span(*problem, "op0", 0, 0, 1, 1, 1, 2),
                                   op_span(*problem, "op1", 1, 2, 2, 3),
                                   hop_span(*problem, "op1", 1, 1, 0, 3, 3, 4),
                                   op_span(*problem, "op2", 0, 4, 4, 5),
                               });
    QCOMPARE(outcome.total_time_s, 5.0);
    QCOMPARE(outcome.device_busy_s, (std::vector<double>{2, 1}));
    QCOMPARE(outcome.channel_busy_s, (std::vector<double>{1, 1}));
    QCOMPARE(outcome.channel_bytes, (std::vector<double>{kGB, kGB}));
    QCOMPARE(outcome.channel_transfers, (std::vector<std::uint64_t>{1, 1}));
    QCOMPARE(outcome.transfers, 2U);
}

void TestSimulator::fork_join_over_two_devices() {
    const auto problem = test::problem(test::fork_join(2, kSecond, kTensor), test::uniform_machine(2));
    Simulator simulator(problem);
    Trace trace;
    const Outcome& outcome = simulator.run(Placement{0, 0, 1, 0}, trace);
    COMPARE_SPANS(trace.spans, {
                                   op_span(*problem, "source", 0, 0, 0, 1),
                                   // The transfer starts before the device starts branch0, so it ends first.
                                   hop_span(*problem, "source", 0, 0, 1, 1, 1, 2),
                                   op_span(*problem, "branch0", 0, 1, 1, 2),
                                   op_span(*problem, "branch1", 1, 2, 2, 3),
                                   hop_span(*problem, "branch1", 1, 1, 0, 3, 3, 4),
                                   op_span(*problem, "sink", 0, 4, 4, 5),
                               });
    QCOMPARE(outcome.total_time_s, 5.0);
    // Device 0 holds the outputs of source and branch0; later those of branch0 and sink, and the copy of
    // branch1's. Device 1 holds the copy of source's output and branch1's output.
    QCOMPARE(outcome.peak_bytes, (std::vector<double>{3 * kGB, 2 * kGB}));
}

void TestSimulator::remote_tensor_is_sent_once() {
    const auto problem = test::problem(test::fork_join(3, kSecond, kTensor), test::uniform_machine(3));
    Simulator simulator(problem);
    // source on 0; two branches on 1, one on 2; sink on 1.
    const Outcome& outcome = simulator.run(Placement{0, 1, 1, 2, 1});
    QCOMPARE(outcome.transfers, 3U);  // source to 1, source to 2, the branch on 2 to 1
    QCOMPARE(outcome.channel_bytes[0], kGB);
    // Device 1 gets its input at 2 and runs two branches until 4; the branch on 2 ends at 3, its output
    // arrives at 4; sink runs until 5.
    QCOMPARE(outcome.total_time_s, 5.0);
}

void TestSimulator::outputs_go_separately() {
    GraphBuilder builder("split", 1, Training::none);
    builder.add(op_of("split", 1, {1, 2}), {});
    builder.add(op_of("left", 1, {1}), {"split:0"});
    builder.add(op_of("right", 1, {1}), {"split:1"});
    builder.add(op_of("both", 1, {1}), {"split:1", "split:0", "split:1"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(2));
    Simulator simulator(problem);
    Trace trace;
    simulator.run(Placement{0, 1, 1, 1}, trace);
    Span second_hop = hop_span(*problem, "split", 0, 0, 1, 1, 2, 4);
    ++second_hop.tensor;
    second_hop.bytes = problem->tensor_bytes[second_hop.tensor];
    COMPARE_SPANS(trace.spans, {
                                   op_span(*problem, "split", 0, 0, 0, 1),
                                   hop_span(*problem, "split", 0, 0, 1, 1, 1, 2),
                                   op_span(*problem, "left", 1, 2, 2, 3),
                                   second_hop,
                                   op_span(*problem, "right", 1, 4, 4, 5),
                                   op_span(*problem, "both", 1, 4, 5, 6),
                               });
}

/// A transfer is named after the first of its tensors, even if that has no bytes.
void TestSimulator::outputs_go_together() {
    GraphBuilder builder("together", 1, Training::none);
    Op split = op_of("split", 1, {0, 1, 2});
    split.sends_together = true;
    builder.add(split, {});
    builder.add(op_of("all", 1, {1}), {"split:2", "split:1", "split:0"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(2));
    Simulator simulator(problem);
    Trace trace;
    simulator.run(Placement{0, 1}, trace);
    Span message = hop_span(*problem, "split", 0, 0, 1, 1, 1, 4);
    message.bytes = 3 * kGB;
    COMPARE_SPANS(trace.spans,
                  {op_span(*problem, "split", 0, 0, 0, 1), message, op_span(*problem, "all", 1, 4, 4, 5)});
}

void TestSimulator::two_hops() {
    const auto problem =
        test::problem(test::chain(2, kSecond, kTensor), two_devices({1e9, 2e9}, {0, 1}, {1}));
    Simulator simulator(problem);
    Trace trace;
    const Outcome& outcome = simulator.run(Placement{0, 1}, trace);
    COMPARE_SPANS(trace.spans, {
                                   op_span(*problem, "op0", 0, 0, 0, 1),
                                   hop_span(*problem, "op0", 0, 0, 1, 1, 1, 2),
                                   hop_span(*problem, "op0", 1, 0, 1, 2, 2, 2.5),
                                   op_span(*problem, "op1", 1, 2.5, 2.5, 3.5),
                               });
    QCOMPARE(outcome.transfers, 1U);
    QCOMPARE(outcome.channel_transfers, (std::vector<std::uint64_t>{1, 1}));
    QCOMPARE(outcome.channel_busy_s, (std::vector<double>{1, 0.5}));
    // The sender's copy is freed when the first hop is done; the receiver's is allocated when the last hop
    // starts.
    QCOMPARE(trace.memory, (std::vector<MemorySample>{
                               {0, 0, 0},
                               {1, 0, 0},
                               {0, 0, kGB},
                               {0, 2, 0},
                               {1, 2, kGB},
                               {1, 2.5, 2 * kGB},
                               // op1's output, which no op reads, then its input
                               {1, 3.5, 0},
                           }));
}

void TestSimulator::route_over_one_channel_twice() {
    const auto problem = test::problem(test::fork_join(2, kSecond, kTensor), two_devices({1e9}, {0, 0}, {0}));
    Simulator simulator(problem);
    Trace trace;
    simulator.run(Placement{0, 0, 1, 1}, trace);
    COMPARE_SPANS(
        trace.spans,
        {
            op_span(*problem, "source", 0, 0, 0, 1),
            hop_span(*problem, "source", 0, 0, 1, 1, 1, 2),
            op_span(*problem, "branch0", 0, 1, 1, 2),
            // The second transfer started at 2 while branch0 was running; branch0's output waits for it.
            hop_span(*problem, "source", 0, 0, 1, 2, 2, 3),
            // An event first starts work on other resources; its own resource continues last.
            op_span(*problem, "branch1", 1, 3, 3, 4),
            hop_span(*problem, "branch0", 0, 0, 1, 2, 3, 4),
            hop_span(*problem, "branch0", 0, 0, 1, 4, 4, 5),
            op_span(*problem, "sink", 1, 5, 5, 6),
        });
}

void TestSimulator::shared_channel_is_half_duplex() {
    GraphBuilder builder("cross", 1, Training::none);
    builder.add(op_of("a", 1, {1}), {});
    builder.add(op_of("b", 1, {1}), {});
    builder.add(op_of("reads_b", 1, {0}), {"b"});
    builder.add(op_of("reads_a", 1, {0}), {"a"});
    const auto problem = test::problem(builder.build(), two_devices({1e9}, {0}, {0}));
    Simulator simulator(problem);
    Trace trace;
    simulator.run(Placement{0, 1, 0, 1}, trace);
    COMPARE_SPANS(trace.spans, {
                                   op_span(*problem, "a", 0, 0, 0, 1),
                                   op_span(*problem, "b", 1, 0, 0, 1),
                                   hop_span(*problem, "a", 0, 0, 1, 1, 1, 2),
                                   op_span(*problem, "reads_a", 1, 2, 2, 3),
                                   hop_span(*problem, "b", 0, 1, 0, 1, 2, 3),
                                   op_span(*problem, "reads_b", 0, 3, 3, 4),
                               });
}

void TestSimulator::ready_first_runs_first() {
    // "late" comes before "early" in the graph, but its input needs two seconds.
    GraphBuilder builder("queue", 1, Training::none);
    builder.add(op_of("slow", 2, {0}), {});
    builder.add(op_of("fast", 1, {0}), {});
    builder.add(op_of("blocker", 4, {0}), {});
    builder.add(op_of("late", 1, {0}), {"slow"});
    builder.add(op_of("early", 1, {0}), {"fast"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(3));
    Simulator simulator(problem);
    Trace trace;
    simulator.run(Placement{0, 1, 2, 2, 2}, trace);
    COMPARE_SPANS(std::vector<Span>(trace.spans.end() - 3, trace.spans.end()),
                  {
                      op_span(*problem, "blocker", 2, 0, 0, 4),
                      op_span(*problem, "early", 2, 1, 4, 5),
                      op_span(*problem, "late", 2, 2, 5, 6),
                  });
}

void TestSimulator::ties_keep_the_order_of_starting() {
    // "long" on device 1 starts at 0, "second" on device 0 at 1; both end at 2, and the one that started
    // first is handled first.
    GraphBuilder builder("tie", 1, Training::none);
    builder.add(op_of("first", 1, {0}), {});
    builder.add(op_of("long", 2, {0}), {});
    builder.add(op_of("second", 1, {0}), {"first"});
    builder.add(op_of("after_second", 1, {0}), {"second"});
    builder.add(op_of("after_long", 1, {0}), {"long"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(3));
    Simulator simulator(problem);
    Trace trace;
    simulator.run(Placement{0, 1, 0, 2, 2}, trace);
    COMPARE_SPANS(std::vector<Span>(trace.spans.end() - 2, trace.spans.end()),
                  {
                      op_span(*problem, "after_long", 2, 2, 2, 3),
                      op_span(*problem, "after_second", 2, 2, 3, 4),
                  });
}

void TestSimulator::memory_peak() {
    GraphBuilder builder("memory", 1, Training::implicit);
    Op a = op_of("a", 1, {1});
    Op b = op_of("b", 1, {2});
    a.parameter_bytes = 3 * kTensor;
    b.parameter_bytes = 5 * kTensor;
    builder.add(a, {});
    builder.add(b, {"a"});
    Problem with_times = *test::problem(builder.build(), test::uniform_machine(2));
    // a, b, b/backward, b/weight_gradient, b/update, a/weight_gradient, a/update
    QCOMPARE(with_times.ops, 7U);
    std::ranges::fill(with_times.op_time_s, 1);
    const auto problem = std::make_shared<const Problem>(with_times);
    Simulator simulator(problem);

    // Parameters and momentum: 2 x 3 + 2 x 5 = 16.
    const Outcome alone = simulator.run(Placement{0, 0});
    QCOMPARE(alone.resident_bytes, (std::vector<double>{16 * kGB, 0}));
    // t   runs               outputs held                                               sum
    // 0   a                  a 1                                                         1
    // 1   b                  a 1, b 2                                                    3
    // 2   b/backward         a 1, b 2, gradient of a 1                                   4
    // 3   b/weight_gradient  a 1, b 2, gradient of a 1, gradient of b's parameters 5     9
    // 4   a/weight_gradient  gradient of a 1, gradient of b's 5, gradient of a's 3       9
    // 5   b/update           gradients 5 and 3                                           8
    // 6   a/update           gradient of a's 3                                           3
    // a/weight_gradient was ready at 3, before b/update.
    QCOMPARE(alone.total_time_s, 7.0);
    QCOMPARE(alone.peak_bytes, (std::vector<double>{(16 + 9) * kGB, 0}));

    // Device 0 has a: 6 resident; a's output 1 until it is sent at 2; then the gradient of it 1 and the
    // gradient of its parameters 3: 6 + 1 + 3.
    // Device 1 has b: 10 resident, the copy of a 1, b 2, the gradient of a 1 (its transfer of one second runs
    // beside b/weight_gradient) and the gradient of b 5: 10 + 9.
    const Outcome apart = simulator.run(Placement{0, 1});
    QCOMPARE(apart.resident_bytes, (std::vector<double>{6 * kGB, 10 * kGB}));
    QCOMPARE(apart.peak_bytes, (std::vector<double>{10 * kGB, 19 * kGB}));
}

void TestSimulator::memory_limit() {
    const auto fits = [](double memory_bytes) {
        const auto problem =
            test::problem(test::chain(3, kSecond, kTensor), test::uniform_machine(1, memory_bytes));
        return Simulator(problem).run(Placement{0, 0, 0}).fits;
    };
    QVERIFY(fits(2 * kGB));
    QVERIFY(!fits(2 * kGB - 1));
}

void TestSimulator::peak_of_an_instant() {
    // "burst" takes no time, so its memory is freed at the instant of its allocation.
    GraphBuilder builder("instant", 1, Training::none);
    builder.add(op_of("a", 1, {1}), {});
    builder.add(op_of("burst", 0, {4}), {"a"});
    Problem with_times = *test::problem(builder.build(), test::uniform_machine(1));
    with_times.op_time_s = {1, 0};
    Simulator simulator(std::make_shared<const Problem>(with_times));
    Trace trace;
    const Outcome& outcome = simulator.run(Placement{0, 0}, trace);
    QCOMPARE(outcome.total_time_s, 1.0);
    QCOMPARE(outcome.peak_bytes, std::vector<double>{5 * kGB});
    QCOMPARE(trace.memory, (std::vector<MemorySample>{{0, 0, kGB}, {0, 1, 5 * kGB}, {0, 1, 0}}));
}

void TestSimulator::batches_overlap_over_two_devices() {
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

void TestSimulator::batches_do_not_overlap_on_one_device() {
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

void TestSimulator::batches_wait_for_every_source_device() {
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

void TestSimulator::sources_enter_by_device() {
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

void TestSimulator::many_channels() {
    // The last of the maximum number of channels: resources need more than 16 bits.
    const auto count = std::size_t{std::numeric_limits<ChannelId>::max()} + 1;
    const ChannelId last = std::numeric_limits<ChannelId>::max();
    const auto problem = test::problem(test::chain(3, kSecond, kTensor),
                                       two_devices(std::vector<double>(count, 1e9), {last}, {last - 1}));
    Simulator simulator(problem);
    Trace trace;
    simulator.run(Placement{0, 1, 0}, trace);
    COMPARE_SPANS(trace.spans, {
                                   op_span(*problem, "op0", 0, 0, 0, 1),
                                   hop_span(*problem, "op0", last, 0, 1, 1, 1, 2),
                                   op_span(*problem, "op1", 1, 2, 2, 3),
                                   hop_span(*problem, "op1", last - 1, 1, 0, 3, 3, 4),
                                   op_span(*problem, "op2", 0, 4, 4, 5),
                               });
}

void TestSimulator::options_are_checked() {
    const auto problem = test::problem(test::chain(2), test::uniform_machine(1));
    QVERIFY_EXCEPTION_THROWN(Simulator(problem, {.batches = 0, .in_flight = 1}), std::invalid_argument);
    QVERIFY_EXCEPTION_THROWN(Simulator(problem, {.batches = 1, .in_flight = 0}), std::invalid_argument);
    // A larger in_flight costs nothing: at most `batches` slots are needed.
    QCOMPARE(Simulator(problem, {.batches = 2, .in_flight = std::numeric_limits<std::uint32_t>::max()})
                 .run(Placement{0, 0})
                 .ops_run,
             4U);
}

void TestSimulator::cut_through() {
    // Latencies of 1/4 and 1/2 second, then one second at the bandwidth of the slower channel; the other
    // channel would need half of it.
    Machine machine =
        changed(two_devices({1e9, 2e9}, {0, 1}, {1}), [](auto&, std::vector<Channel>& channels) {
            channels[0].latency_s = 0.25;
            channels[1].latency_s = 0.5;
        });
    ProblemOptions options;
    options.crossing = Crossing::cut_through;
    const auto problem = test::problem(test::chain(2, kSecond, kTensor), machine, options);
    const auto run = agreed_run(problem, Placement{0, 1});
    COMPARE_SPANS(run.spans, {
                                 op_span(*problem, "op0", 0, 0, 0, 1),
                                 hop_span(*problem, "op0", 0, 0, 1, 1, 1, 2.75),
                                 hop_span(*problem, "op0", 1, 0, 1, 1, 1, 2.75),
                                 op_span(*problem, "op1", 1, 2.75, 2.75, 3.75),
                             });
    QCOMPARE(run.outcome.transfers, 1U);
    QCOMPARE(run.outcome.channel_transfers, (std::vector<std::uint64_t>{1, 1}));
    QCOMPARE(run.outcome.channel_bytes, (std::vector<double>{kGB, kGB}));
    QCOMPARE(run.outcome.channel_busy_s, (std::vector<double>{1.75, 1.75}));
    // op0's output is held until all of it has left; its copy is held from the start of the transfer.
    QCOMPARE(run.outcome.peak_bytes, (std::vector<double>{kGB, 2 * kGB}));
}

void TestSimulator::cut_through_waits_for_all_channels() {
    const Machine base = test::uniform_machine(3);
    std::vector<Channel> channels(base.channels().begin(), base.channels().begin() + 3);
    const Machine machine("crossing", {base.devices().begin(), base.devices().end()}, std::move(channels),
                          {{0, 1, {0, 1}}, {0, 2, {0}}, {2, 1, {1}}, {1, 0, {2}}, {1, 2, {2}}, {2, 0, {2}}},
                          Crossing::cut_through);
    GraphBuilder builder("wait", 1, Training::none);
    builder.add(op_of("a", 1, {1}), {});
    builder.add(op_of("b", 1, {0}), {"a"});
    builder.add(op_of("c", 0.5, {1}), {});
    builder.add(op_of("d", 1, {0}), {"a"});
    builder.add(op_of("e", 1, {0}), {"c"});
    const auto problem = test::problem(builder.build(), machine);
    const auto run = agreed_run(problem, Placement{0, 1, 2, 2, 1});
    COMPARE_SPANS(run.spans,
                  {
                      op_span(*problem, "c", 2, 0, 0, 0.5),
                      op_span(*problem, "a", 0, 0, 0, 1),
                      hop_span(*problem, "c", 1, 2, 1, 0.5, 0.5, 1.5),
                      op_span(*problem, "e", 1, 1.5, 1.5, 2.5),
                      hop_span(*problem, "a", 0, 0, 1, 1, 1.5, 2.5),
                      hop_span(*problem, "a", 1, 0, 1, 1, 1.5, 2.5),
                      // Channel 0 was free from 1, but the transfer to device 1 was first in its queue.
                      op_span(*problem, "b", 1, 2.5, 2.5, 3.5),
                      hop_span(*problem, "a", 0, 0, 2, 1, 2.5, 3.5),
                      op_span(*problem, "d", 2, 3.5, 3.5, 4.5),
                  });
}

void TestSimulator::copy_engines() {
    const auto run = [](std::uint32_t engines) {
        const Machine machine = changed(test::uniform_machine(3), [&](std::vector<Device>& devices, auto&) {
            devices[0].copy_engines = engines;
        });
        const auto problem = test::problem(test::fork_join(2, kSecond, kTensor), machine);
        // source on 0, its readers on 1 and 2, each over its own channel; sink on 1.
        return agreed_run(problem, Placement{0, 1, 2, 1}).outcome.total_time_s;
    };
    // source takes 1; the transfer to device 1 ends at 2, that to device 2 at 2 or 3; then branch1, the
    // transfer of its output and sink take one second each.
    QCOMPARE(run(0), 5.0);
    QCOMPARE(run(1), 6.0);
    QCOMPARE(run(2), 5.0);
}

void TestSimulator::copy_engine_of_each_end() {
    // Two hops: the first occupies the sender's engine, the last the receiver's.
    const Machine machine =
        changed(two_devices({1e9, 1e9, 1e9}, {0, 1}, {2}), [](std::vector<Device>& devices, auto&) {
            for (Device& device : devices) device.copy_engines = 1;
        });
    GraphBuilder builder("both ways", 1, Training::none);
    builder.add(op_of("a", 1, {1}), {});
    builder.add(op_of("b", 1.5, {1}), {});
    builder.add(op_of("reads_b", 1, {0}), {"b"});
    builder.add(op_of("reads_a", 1, {0}), {"a"});
    const auto problem = test::problem(builder.build(), machine);
    const auto run = agreed_run(problem, Placement{0, 1, 0, 1});
    COMPARE_SPANS(run.spans, {
                                 op_span(*problem, "a", 0, 0, 0, 1),
                                 op_span(*problem, "b", 1, 0, 0, 1.5),
                                 hop_span(*problem, "a", 0, 0, 1, 1, 1, 2),
                                 // Device 0's engine is in use from 1.5; at 2 both are free, and b's output
                                 // was queued before a's.
                                 hop_span(*problem, "b", 2, 1, 0, 1.5, 2, 3),
                                 op_span(*problem, "reads_b", 0, 3, 3, 4),
                                 hop_span(*problem, "a", 1, 0, 1, 2, 3, 4),
                                 op_span(*problem, "reads_a", 1, 4, 4, 5),
                             });
}

void TestSimulator::streams() {
    GraphBuilder builder("streams", 1, Training::none);
    builder.add(op_of("a", 2, {1}), {});
    builder.add(op_of("b", 1, {1}), {});
    builder.add(op_of("c", 1, {1}), {});
    builder.add(op_of("d", 1, {1}), {});
    builder.add(op_of("e", 1, {1}), {});
    const Machine machine = changed(test::uniform_machine(1),
                                    [](std::vector<Device>& devices, auto&) { devices[0].streams = 2; });
    Problem shared = *test::problem(builder.build(), machine);
    shared.op_share = {0.5, 0.5, 0.75, 0.25, 1};
    const auto problem = std::make_shared<const Problem>(shared);
    const auto run = agreed_run(problem, Placement{0, 0, 0, 0, 0});
    const auto on = [](std::uint16_t stream, Span span) {
        span.stream = stream;
        return span;
    };
    COMPARE_SPANS(run.spans, {
                                 on(1, op_span(*problem, "b", 0, 0, 0, 1)),
                                 // c does not fit in memory beside a, and d waits behind c.
                                 on(0, op_span(*problem, "a", 0, 0, 0, 2)),
                                 on(0, op_span(*problem, "c", 0, 0, 2, 3)),
                                 on(1, op_span(*problem, "d", 0, 0, 2, 3)),
                                 // e needs the whole device.
                                 on(0, op_span(*problem, "e", 0, 0, 3, 4)),
                             });
    QCOMPARE(run.outcome.total_time_s, 4.0);
    QCOMPARE(run.outcome.device_busy_s, std::vector<double>{6});
    QCOMPARE(run.outcome.peak_bytes, std::vector<double>{2 * kGB});
}

void TestSimulator::the_ending_device_goes_on_last() {
    // When "a" ends, stream 1 is free; its consumer waits until a's transfer has started, and then takes a's
    // stream.
    GraphBuilder builder("last", 1, Training::none);
    builder.add(op_of("a", 1, {1}), {});
    builder.add(op_of("here", 1, {0}), {"a"});
    builder.add(op_of("there", 1, {0}), {"a"});
    const Machine machine = changed(test::uniform_machine(2),
                                    [](std::vector<Device>& devices, auto&) { devices[0].streams = 2; });
    Problem shared = *test::problem(builder.build(), machine);
    std::ranges::fill(shared.op_share, 0.5);
    const auto problem = std::make_shared<const Problem>(shared);
    const auto run = agreed_run(problem, Placement{0, 0, 1});
    COMPARE_SPANS(run.spans, {
                                 op_span(*problem, "a", 0, 0, 0, 1),
                                 hop_span(*problem, "a", 0, 0, 1, 1, 1, 2),
                                 op_span(*problem, "here", 0, 1, 1, 2),
                                 op_span(*problem, "there", 1, 2, 2, 3),
                             });
}

void TestSimulator::critical_path_first() {
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

void TestSimulator::critical_transfers_first() {
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

void TestSimulator::upward_ranks() {
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

void TestSimulator::pipelines_data() {
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
void TestSimulator::pipelines() {
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

void TestSimulator::gpipe_in_rounds() {
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

void TestSimulator::one_forward_one_backward_in_turn() {
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

void TestSimulator::what_forward_ops_need_is_not_held() {
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

void TestSimulator::steady_state_data() {
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
void TestSimulator::steady_state() {
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
void TestSimulator::steady_state_of_one_device() {
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

void TestSimulator::accumulated_gradients() {
    GraphBuilder builder("accumulate", 1, Training::explicit_);
    builder.add(op_of("f", 1, {1}), {});
    Op gradient = op_of("g", 1, {1});
    gradient.phase = Phase::backward;
    builder.add(gradient, {"f"});
    Op update = op_of("u", 2, {});
    update.phase = Phase::update;
    builder.add(update, {"g"});
    Problem accumulating = *test::problem(builder.build(), test::uniform_machine(1));
    accumulating.accumulates = true;
    accumulating.accumulate_s = {0, 0, 0.5};
    const auto problem = std::make_shared<const Problem>(accumulating);
    const auto run = agreed_run(problem, Placement{0, 0, 0}, {.batches = 3});
    COMPARE_SPANS(run.spans, {
                                 op_span(*problem, "f", 0, 0, 0, 1, 0),
                                 op_span(*problem, "g", 0, 1, 1, 2, 0),
                                 op_span(*problem, "u", 0, 2, 2, 2, 0),
                                 op_span(*problem, "f", 0, 2, 2, 3, 1),
                                 op_span(*problem, "g", 0, 3, 3, 4, 1),
                                 op_span(*problem, "u", 0, 4, 4, 4.5, 1),
                                 op_span(*problem, "f", 0, 4.5, 4.5, 5.5, 2),
                                 op_span(*problem, "g", 0, 5.5, 5.5, 6.5, 2),
                                 op_span(*problem, "u", 0, 6.5, 6.5, 9, 2),
                             });
    QCOMPARE(run.outcome.device_busy_s, std::vector<double>{9});
}

void TestSimulator::views_take_no_memory() {
    const auto problem = [](const char* kind, bool in_place) {
        GraphBuilder builder("view", 1, Training::none);
        builder.add(op_of("a", 1, {2}), {});
        Op view = op_of("v", 1, {2});
        view.kind = kind;
        view.in_place = in_place;
        builder.add(view, {"a"});
        Op second = op_of("w", 1, {2});
        second.kind = "reshape";
        builder.add(second, {"v"});
        builder.add(op_of("b", 1, {1}), {"w"});
        builder.add(op_of("c", 1, {4}), {"b"});
        return test::problem(builder.build(), test::uniform_machine(2));
    };
    const auto peak = [](const auto& of, const Placement& placement) {
        return agreed_run(of, placement).outcome.peak_bytes;
    };
    // Neither v nor w takes memory, and a is held until b has read w: 2 + 1; then b 1 and c 4.
    QCOMPARE(peak(problem("reshape", false), {0, 0, 0, 0, 0}), (std::vector<double>{5 * kGB, 0}));
    QCOMPARE(peak(problem("relu", true), {0, 0, 0, 0, 0}), (std::vector<double>{5 * kGB, 0}));
    // a and v, then w as a view of v.
    QCOMPARE(peak(problem("relu", false), {0, 0, 0, 1, 1}), (std::vector<double>{4 * kGB, 5 * kGB}));
    // Only a, kept for w until w has left; the copy is complete.
    QCOMPARE(peak(problem("reshape", false), {0, 0, 0, 1, 1}), (std::vector<double>{2 * kGB, 5 * kGB}));
    // On device 1 v is a view of the copy of a.
    QCOMPARE(peak(problem("reshape", false), {0, 1, 1, 0, 0}), (std::vector<double>{5 * kGB, 2 * kGB}));
}

void TestSimulator::workspace() {
    GraphBuilder builder("workspace", 1, Training::none);
    Op a = op_of("a", 1, {2});
    a.workspace_bytes = 3 * kTensor;
    builder.add(a, {});
    builder.add(op_of("b", 1, {1}), {"a"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(1));
    // Held: a's output and workspace, then a's and b's outputs.
    QCOMPARE(agreed_run(problem, Placement{0, 0}).outcome.peak_bytes, std::vector<double>{5 * kGB});
}

void TestSimulator::memory_margin() {
    const auto fits = [](double usable_memory) {
        ProblemOptions options;
        options.usable_memory = usable_memory;
        const auto problem =
            test::problem(test::chain(3, kSecond, kTensor), test::uniform_machine(1, 4 * kGB), options);
        return agreed_run(problem, Placement{0, 0, 0}).outcome.fits;
    };
    QVERIFY(fits(0.5));
    QVERIFY(!fits(0.5 - 1e-9));
}

void TestSimulator::memory_penalty_data() {
    QTest::addColumn<int>("rule");
    QTest::addColumn<double>("peak0_gb");
    QTest::addColumn<double>("peak1_gb");
    QTest::addColumn<double>("seconds");
    // Two devices of 10 GB and a step of 0.5 s. Exprimo: 1000 s per MB of overflow, summed over devices;
    // Placeto: 2 s per GB on the fullest device; Post: 100 s in total.
    const auto row = [](const char* name, MemoryRule rule, double peak0, double peak1, double seconds) {
        QTest::newRow(name) << static_cast<int>(rule) << peak0 << peak1 << seconds;
    };
    row("exprimo, fits exactly", MemoryRule::exprimo, 10, 3, 0.5);
    row("exprimo, 2 GB over", MemoryRule::exprimo, 12, 3, 0.5 + 2e6);
    row("exprimo, both over", MemoryRule::exprimo, 12, 11, 0.5 + 3e6);
    row("placeto, fits", MemoryRule::placeto, 9, 10, 0.5);
    row("placeto, one over", MemoryRule::placeto, 9, 12, 0.5 + 4);
    row("placeto, both over", MemoryRule::placeto, 13, 12, 0.5 + 6);
    row("post, fits", MemoryRule::post, 1, 1, 0.5);
    row("post, over", MemoryRule::post, 10.5, 1, 100);
}

void TestSimulator::memory_penalty() {
    QFETCH(int, rule);
    QFETCH(double, peak0_gb);
    QFETCH(double, peak1_gb);
    QFETCH(double, seconds);
    Outcome outcome;
    outcome.step_time_s = 0.5;
    outcome.peak_bytes = {peak0_gb * kGB, peak1_gb * kGB};
    outcome.fits = peak0_gb <= 10 && peak1_gb <= 10;
    MemoryPenalty penalty;
    penalty.rule = static_cast<MemoryRule>(rule);
    const Score score =
        penalty.score(*test::problem(test::chain(1), test::uniform_machine(2, 10 * kGB)), outcome);
    QCOMPARE(score.penalised_s, seconds);
    QCOMPARE(score.value_s, 0.5);
    QCOMPARE(score.fits, outcome.fits);
}

void TestSimulator::memory_rules_by_name() {
    for (const MemoryRule rule : {MemoryRule::exprimo, MemoryRule::placeto, MemoryRule::post})
        QVERIFY(memory_rule_from(to_string(rule)) == rule);
    QCOMPARE(to_string(MemoryRule::placeto), std::string_view("placeto"));
    QVERIFY(!memory_rule_from("none"));
}

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestSimulator)
#include "tst_simulator.moc"
