// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>

#include <QtTest>

#include "core/base/random.hpp"
#include "core/sim/objective.hpp"
#include "core/sim/simulator.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/reference_simulator.hpp"

namespace {

bool counting = false;
std::size_t allocations = 0;

void* counted(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) {
    if (counting) ++allocations;
    const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
    if (void* memory = std::aligned_alloc(alignment, rounded)) return memory;
    throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) {
    return counted(bytes);
}
void* operator new[](std::size_t bytes) {
    return counted(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return counted(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
    return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}

namespace placewright {
namespace {

constexpr double kGB = 1e9;

// On test::uniform_machine (1 TFLOP/s, 1 GB/s) an op of 1e12 FLOPs takes one second and a tensor of 1e9 bytes another to cross, both
// exactly.
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

Span op_span(const Problem& problem, const char* name, DeviceId device, double queued_s, double start_s, double end_s,
             std::uint32_t batch = 0) {
    Span span;
    span.resource = device;
    span.op = *problem.graph->find(name);
    span.batch = batch;
    span.queued_s = queued_s;
    span.start_s = start_s;
    span.end_s = end_s;
    return span;
}

/// A hop of output 0 of the op.
Span hop_span(const Problem& problem, const char* producer, ChannelId channel, DeviceId from, DeviceId to, double queued_s, double start_s,
              double end_s, std::uint32_t batch = 0) {
    Span span = op_span(problem, producer, channel, queued_s, start_s, end_s, batch);
    span.kind = Span::Kind::transfer;
    span.from = from;
    span.to = to;
    span.tensor = problem.output_begin[span.op];
    span.bytes = problem.tensor_bytes[span.tensor];
    return span;
}

QByteArray text(const Span& span) {
    const QString what = span.kind == Span::Kind::op ? QString("op %1 on device %2").arg(span.op).arg(span.resource)
                                                     : QString("tensor %1 of op %2 from %3 to %4 on channel %5")
                                                           .arg(span.tensor)
                                                           .arg(span.op)
                                                           .arg(span.from)
                                                           .arg(span.to)
                                                           .arg(span.resource);
    return QString("%1, batch %2: queued %3, %4 to %5")
        .arg(what)
        .arg(span.batch)
        .arg(span.queued_s)
        .arg(span.start_s)
        .arg(span.end_s)
        .toUtf8();
}

/// The first span that differs, or nothing.
QByteArray difference(const std::vector<Span>& actual, const std::vector<Span>& expected) {
    for (std::size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
        if (actual[i] != expected[i])
            return QByteArray("span ") + QByteArray::number(qulonglong{i}) + ": " + text(actual[i]) + "; expected " + text(expected[i]);
    }
    if (actual.size() == expected.size()) return {};
    return QByteArray::number(qulonglong{actual.size()}) + " spans; expected " + QByteArray::number(qulonglong{expected.size()});
}

#define COMPARE_SPANS(actual, ...)                                \
    do {                                                          \
        const QByteArray wrong = difference(actual, __VA_ARGS__); \
        QVERIFY2(wrong.isEmpty(), wrong.constData());             \
    } while (false)

/// Device 0 and 1 and whatever channels and routes a case needs between them.
Machine two_devices(std::vector<double> channel_bandwidths, std::vector<ChannelId> forth, std::vector<ChannelId> back) {
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

struct Case {
    std::shared_ptr<const Problem> problem;
    Placement placement;
    SimulationOptions options;
};

Placement random_placement(const Problem& problem, Random& random) {
    Placement placement(problem.groups);
    for (GroupId group = 0; group < problem.groups; ++group) placement[group] = random.pick(problem.allowed_devices(group));
    return placement;
}

constexpr std::uint64_t kCases = 400;

/// Small and large, wide and narrow, for inference and training, one batch and many. Every fourth has times in whole seconds, so that many
/// events tie.
Case random_case(std::uint64_t seed) {
    Random random(seed * 7919 + 1);
    const std::size_t ops = 1 + random.index(seed % 10 == 0 ? 60 : 16);
    const std::size_t inputs = 1 + random.index(4);
    const Training training = random.chance(0.5) ? Training::implicit : Training::none;
    Case c;
    c.problem = test::problem(test::random_graph(seed, ops, inputs, training), test::random_machine(seed));
    if (seed % 4 == 0) {
        Problem whole = *c.problem;
        for (double& time : whole.op_time_s) time = static_cast<double>(random.index(3));
        for (double& time : whole.transfer_s) time = static_cast<double>(random.index(3));
        c.problem = std::make_shared<const Problem>(std::move(whole));
    }
    c.placement = random_placement(*c.problem, random);
    if (random.chance(0.6)) {
        c.options.batches = static_cast<std::uint32_t>(1 + random.index(6));
        c.options.in_flight = static_cast<std::uint32_t>(1 + random.index(7));
    }
    return c;
}

DeviceId device_of(const Case& c, OpId op) {
    return c.placement[c.problem->grouping.group_of[op]];
}

/// The spans of one resource by start.
using Lane = std::vector<const Span*>;

/// Devices, then channels. Spans come in the order of their ends, and on one resource nothing that starts later ends earlier.
std::vector<Lane> lanes(const Problem& problem, const Trace& trace) {
    std::vector<Lane> result(problem.devices + problem.channels);
    for (const Span& span : trace.spans)
        result[span.kind == Span::Kind::op ? span.resource : problem.devices + span.resource].push_back(&span);
    return result;
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

    void agrees_with_reference_data() { random_cases(); }
    void agrees_with_reference();
    void resources_do_one_thing_at_a_time_data() { random_cases(); }
    void resources_do_one_thing_at_a_time();
    void inputs_are_there_data() { random_cases(); }
    void inputs_are_there();
    void nothing_idles_with_work_queued_data() { random_cases(); }
    void nothing_idles_with_work_queued();
    void busy_times_and_counts_add_up_data() { random_cases(); }
    void busy_times_and_counts_add_up();
    void memory_returns_to_resident_data() { random_cases(); }
    void memory_returns_to_resident();
    void admission_keeps_the_limit_data() { random_cases(); }
    void admission_keeps_the_limit();
    void doubled_costs_double_the_time_data() { random_cases(); }
    void doubled_costs_double_the_time();
    void tracing_changes_nothing_data() { random_cases(); }
    void tracing_changes_nothing();
    void runs_leave_no_state();
    void run_allocates_nothing();

    void objective_data();
    void objective();
    void memory_rules_by_name();

private:
    static void random_cases();
};

void TestSimulator::chain_on_one_device() {
    const auto problem = test::problem(test::chain(3, kSecond, kTensor), test::uniform_machine(1));
    Simulator simulator(problem);
    Trace trace;
    const Outcome& outcome = simulator.run(Placement{0, 0, 0}, trace);
    COMPARE_SPANS(trace.spans,
                  {op_span(*problem, "op0", 0, 0, 0, 1), op_span(*problem, "op1", 0, 1, 1, 2), op_span(*problem, "op2", 0, 2, 2, 3)});
    QCOMPARE(outcome.total_time_s, 3.0);
    QCOMPARE(outcome.step_time_s, 3.0);
    QCOMPARE(outcome.device_busy_s, std::vector<double>{3.0});
    QCOMPARE(outcome.ops_run, 3U);
    QCOMPARE(outcome.transfers, 0U);
    QVERIFY(outcome.channel_busy_s.empty());
    QVERIFY(outcome.fits);
    // op0's output until op1 is done, then op1's and op2's.
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
                                   // The transfer starts before the device goes on to branch0, so it ends before it.
                                   hop_span(*problem, "source", 0, 0, 1, 1, 1, 2),
                                   op_span(*problem, "branch0", 0, 1, 1, 2),
                                   op_span(*problem, "branch1", 1, 2, 2, 3),
                                   hop_span(*problem, "branch1", 1, 1, 0, 3, 3, 4),
                                   op_span(*problem, "sink", 0, 4, 4, 5),
                               });
    QCOMPARE(outcome.total_time_s, 5.0);
    // Device 0: source's and branch0's outputs; later branch0's, branch1's copy and sink's. Device 1: the copy of source's and branch1's.
    QCOMPARE(outcome.peak_bytes, (std::vector<double>{3 * kGB, 2 * kGB}));
}

void TestSimulator::remote_tensor_is_sent_once() {
    const auto problem = test::problem(test::fork_join(3, kSecond, kTensor), test::uniform_machine(3));
    Simulator simulator(problem);
    // source on 0; two branches on 1, one on 2; sink on 1.
    const Outcome& outcome = simulator.run(Placement{0, 1, 1, 2, 1});
    QCOMPARE(outcome.transfers, 3U);  // source to 1 once, source to 2, the branch on 2 to 1
    QCOMPARE(outcome.channel_bytes[0], kGB);
    // To 1 at 2, two branches until 4; the branch on 2 is done at 3, its output there at 4; sink until 5.
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

void TestSimulator::two_hops() {
    const auto problem = test::problem(test::chain(2, kSecond, kTensor), two_devices({1e9, 2e9}, {0, 1}, {1}));
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
    // The sender's copy goes when the first hop is done, the receiver's comes when the last hop starts.
    QCOMPARE(trace.memory, (std::vector<MemorySample>{
                               {0, 0, 0},
                               {1, 0, 0},
                               {0, 0, kGB},
                               {0, 2, 0},
                               {1, 2, kGB},
                               {1, 2.5, 2 * kGB},
                               // op1's output, which nobody reads, then its input
                               {1, 3.5, 0},
                           }));
}

void TestSimulator::route_over_one_channel_twice() {
    const auto problem = test::problem(test::fork_join(2, kSecond, kTensor), two_devices({1e9}, {0, 0}, {0}));
    Simulator simulator(problem);
    Trace trace;
    simulator.run(Placement{0, 0, 1, 1}, trace);
    COMPARE_SPANS(trace.spans, {
                                   op_span(*problem, "source", 0, 0, 0, 1),
                                   hop_span(*problem, "source", 0, 0, 1, 1, 1, 2),
                                   op_span(*problem, "branch0", 0, 1, 1, 2),
                                   // The second crossing was started at 2 with branch0 still at work; branch0's output waits for it.
                                   hop_span(*problem, "source", 0, 0, 1, 2, 2, 3),
                                   // What an event lets start elsewhere starts first, the resource goes on last.
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
    COMPARE_SPANS(std::vector<Span>(trace.spans.end() - 3, trace.spans.end()), {
                                                                                   op_span(*problem, "blocker", 2, 0, 0, 4),
                                                                                   op_span(*problem, "early", 2, 1, 4, 5),
                                                                                   op_span(*problem, "late", 2, 2, 5, 6),
                                                                               });
}

void TestSimulator::ties_keep_the_order_of_starting() {
    // "long" on device 1 starts at 0, "second" on device 0 at 1; both end at 2, the one that started first is handled first.
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
    COMPARE_SPANS(std::vector<Span>(trace.spans.end() - 2, trace.spans.end()), {
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
    // 4   a/weight_gradient  gradient of a 1, gradient of b's 5, gradient of a's 3       9  (it was ready at 3, before b/update)
    // 5   b/update           5, 3                                                        8
    // 6   a/update           3
    QCOMPARE(alone.total_time_s, 7.0);
    QCOMPARE(alone.peak_bytes, (std::vector<double>{(16 + 9) * kGB, 0}));

    // a on device 0: 6 resident; its output 1 until it is sent at 2; the gradient of it 1 arrives, the gradient of its parameters 3: 6 + 1
    // + 3. b on device 1: 10 resident, copy of a 1, b 2, gradient of a 1 (its transfer, one second, runs beside b/weight_gradient),
    // gradient of b 5: 10 + 9.
    const Outcome apart = simulator.run(Placement{0, 1});
    QCOMPARE(apart.resident_bytes, (std::vector<double>{6 * kGB, 10 * kGB}));
    QCOMPARE(apart.peak_bytes, (std::vector<double>{10 * kGB, 19 * kGB}));
}

void TestSimulator::memory_limit() {
    const auto fits = [](double memory_bytes) {
        const auto problem = test::problem(test::chain(3, kSecond, kTensor), test::uniform_machine(1, memory_bytes));
        return Simulator(problem).run(Placement{0, 0, 0}).fits;
    };
    QVERIFY(fits(2 * kGB));
    QVERIFY(!fits(2 * kGB - 1));
}

void TestSimulator::peak_of_an_instant() {
    // "burst" takes no time, so what it holds goes in the moment in which it came.
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
    // Batch 1's copy beside batch 0's.
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
                                   // Device 0 was idle from 1 on, device 1 only from 3 on.
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
    // The last of as many channels as a machine may have: resources need more than 16 bits.
    const auto count = std::size_t{std::numeric_limits<ChannelId>::max()} + 1;
    const ChannelId last = std::numeric_limits<ChannelId>::max();
    const auto problem = test::problem(test::chain(3, kSecond, kTensor), two_devices(std::vector<double>(count, 1e9), {last}, {last - 1}));
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
    // More slots than are used cost nothing: at most `batches` of them are ever needed.
    QCOMPARE(Simulator(problem, {.batches = 2, .in_flight = std::numeric_limits<std::uint32_t>::max()}).run(Placement{0, 0}).ops_run, 4U);
}

void TestSimulator::random_cases() {
    QTest::addColumn<quint64>("seed");
    for (std::uint64_t seed = 0; seed < kCases; ++seed) QTest::addRow("%llu", static_cast<unsigned long long>(seed)) << quint64{seed};
}

void TestSimulator::agrees_with_reference() {
    QFETCH(quint64, seed);
    const Case c = random_case(seed);
    Simulator simulator(c.problem, c.options);
    Trace trace;
    const Outcome& outcome = simulator.run(c.placement, trace);
    const test::ReferenceRun reference = test::reference_run(*c.problem, c.placement, c.options);
    COMPARE_SPANS(trace.spans, reference.spans);
    QCOMPARE(outcome.total_time_s, reference.outcome.total_time_s);
    QCOMPARE(outcome.peak_bytes, reference.outcome.peak_bytes);
    QVERIFY(outcome == reference.outcome);
}

void TestSimulator::resources_do_one_thing_at_a_time() {
    QFETCH(quint64, seed);
    const Case c = random_case(seed);
    Simulator simulator(c.problem, c.options);
    Trace trace;
    simulator.run(c.placement, trace);
    QVERIFY(std::ranges::is_sorted(trace.spans, {}, &Span::end_s));
    for (const Lane& lane : lanes(*c.problem, trace)) {
        for (std::size_t i = 0; i < lane.size(); ++i) {
            QVERIFY(lane[i]->queued_s <= lane[i]->start_s);
            QVERIFY(lane[i]->start_s <= lane[i]->end_s);
            if (i > 0) QVERIFY(lane[i - 1]->end_s <= lane[i]->start_s);
            if (i > 0) QVERIFY(lane[i - 1]->queued_s <= lane[i]->queued_s);
        }
    }
}

void TestSimulator::inputs_are_there() {
    QFETCH(quint64, seed);
    const Case c = random_case(seed);
    const Problem& problem = *c.problem;
    Simulator simulator(c.problem, c.options);
    Trace trace;
    simulator.run(c.placement, trace);
    for (const Span& span : trace.spans) {
        if (span.kind == Span::Kind::transfer) {
            QCOMPARE(span.from, device_of(c, span.op));
            QVERIFY(span.to != span.from);
            const bool needed = std::ranges::any_of(problem.graph->ops(), [&](const Op& op) {
                const auto reader = static_cast<OpId>(&op - problem.graph->ops().data());
                return device_of(c, reader) == span.to &&
                       std::ranges::count(op.inputs, TensorRef{span.op, span.tensor - problem.output_begin[span.op]}) > 0;
            });
            QVERIFY(needed);
            continue;
        }
        QCOMPARE(span.resource, device_of(c, span.op));
        double ready_s = 0;
        for (const TensorRef& input : problem.graph->op(span.op).inputs) {
            const DeviceId from = device_of(c, input.op);
            // The last thing that brought the input: its producer, or the last hop to this device.
            const auto brought = std::ranges::find_if(trace.spans.rbegin(), trace.spans.rend(), [&](const Span& other) {
                if (other.batch != span.batch || other.op != input.op) return false;
                if (from == span.resource) return other.kind == Span::Kind::op;
                return other.kind == Span::Kind::transfer && other.to == span.resource &&
                       other.tensor == problem.output_begin[input.op] + input.output;
            });
            QVERIFY(brought != trace.spans.rend());
            QVERIFY(brought->end_s <= span.start_s);
            ready_s = std::max(ready_s, brought->end_s);
        }
        // Ops with inputs are queued the moment the last of them is there.
        if (!problem.graph->op(span.op).inputs.empty()) QCOMPARE(span.queued_s, ready_s);
    }
}

void TestSimulator::nothing_idles_with_work_queued() {
    QFETCH(quint64, seed);
    const Case c = random_case(seed);
    Simulator simulator(c.problem, c.options);
    Trace trace;
    simulator.run(c.placement, trace);
    for (const Lane& lane : lanes(*c.problem, trace)) {
        for (std::size_t i = 0; i < lane.size(); ++i) {
            // Going back from its start, what ran before must join on without a gap until the moment of queueing.
            double busy_from_s = lane[i]->start_s;
            for (std::size_t before = i; before > 0 && busy_from_s > lane[i]->queued_s; --before) {
                QCOMPARE(lane[before - 1]->end_s, busy_from_s);
                busy_from_s = lane[before - 1]->start_s;
            }
            QVERIFY(busy_from_s <= lane[i]->queued_s);
        }
    }
}

void TestSimulator::busy_times_and_counts_add_up() {
    QFETCH(quint64, seed);
    const Case c = random_case(seed);
    const Problem& problem = *c.problem;
    Simulator simulator(c.problem, c.options);
    const Outcome& outcome = simulator.run(c.placement);

    std::vector<double> device_busy_s(problem.devices), channel_busy_s(problem.channels), channel_bytes(problem.channels);
    std::vector<std::uint64_t> crossings(problem.channels);
    std::uint64_t transfers = 0;
    for (OpId op = 0; op < problem.ops; ++op) {
        device_busy_s[device_of(c, op)] += problem.time_s(op, device_of(c, op));
        for (TensorId tensor = problem.output_begin[op]; tensor < problem.output_begin[op + 1]; ++tensor) {
            std::vector<bool> sent(problem.devices);
            for (auto i = problem.consumer_begin[tensor]; i < problem.consumer_begin[tensor + 1]; ++i)
                sent[device_of(c, problem.consumer[i])] = true;
            sent[device_of(c, op)] = false;
            for (DeviceId to = 0; to < problem.devices; ++to) {
                if (!sent[to]) continue;
                ++transfers;
                for (const ChannelId channel : problem.machine->route(device_of(c, op), to)) {
                    ++crossings[channel];
                    channel_bytes[channel] += problem.tensor_bytes[tensor];
                    channel_busy_s[channel] += problem.transfer_s[tensor * problem.channel_classes + problem.channel_class[channel]];
                }
            }
        }
    }
    const std::uint64_t batches = c.options.batches;
    QCOMPARE(outcome.ops_run, problem.ops * batches);
    QCOMPARE(outcome.transfers, transfers * batches);
    QCOMPARE(outcome.step_time_s * static_cast<double>(batches), outcome.total_time_s);
    for (DeviceId device = 0; device < problem.devices; ++device) {
        // qCompare of doubles allows 1e-12 relative: the order of the sum differs.
        QCOMPARE(outcome.device_busy_s[device], device_busy_s[device] * static_cast<double>(batches));
        QVERIFY(outcome.device_busy_s[device] <= outcome.total_time_s * (1 + 1e-12));
    }
    for (ChannelId channel = 0; channel < problem.channels; ++channel) {
        QCOMPARE(outcome.channel_transfers[channel], crossings[channel] * batches);
        QCOMPARE(outcome.channel_bytes[channel], channel_bytes[channel] * static_cast<double>(batches));
        QCOMPARE(outcome.channel_busy_s[channel], channel_busy_s[channel] * static_cast<double>(batches));
    }
}

void TestSimulator::memory_returns_to_resident() {
    QFETCH(quint64, seed);
    const Case c = random_case(seed);
    const Problem& problem = *c.problem;
    Simulator simulator(c.problem, c.options);
    Trace trace;
    const Outcome& outcome = simulator.run(c.placement, trace);

    std::vector<double> resident(problem.devices);
    for (OpId op = 0; op < problem.ops; ++op) resident[device_of(c, op)] += problem.resident_bytes[op];
    QCOMPARE(outcome.resident_bytes, resident);
    QVERIFY(std::ranges::is_sorted(trace.memory, {}, &MemorySample::time_s));
    std::vector<double> largest(problem.devices), last(problem.devices);
    for (const MemorySample& sample : trace.memory) {
        QVERIFY(sample.bytes >= resident[sample.device]);
        largest[sample.device] = std::max(largest[sample.device], sample.bytes);
        last[sample.device] = sample.bytes;
    }
    QCOMPARE(last, resident);
    QCOMPARE(largest, outcome.peak_bytes);
    bool fits = true;
    for (DeviceId device = 0; device < problem.devices; ++device)
        fits = fits && largest[device] <= problem.machine->device(device).memory_bytes;
    QCOMPARE(outcome.fits, fits);
}

void TestSimulator::admission_keeps_the_limit() {
    QFETCH(quint64, seed);
    const Case c = random_case(seed);
    const Problem& problem = *c.problem;
    Simulator simulator(c.problem, c.options);
    Trace trace;
    simulator.run(c.placement, trace);
    std::vector<double> entered_s(c.options.batches, std::numeric_limits<double>::infinity()), left_s(c.options.batches);
    for (const Span& span : trace.spans) {
        entered_s[span.batch] = std::min(entered_s[span.batch], span.queued_s);
        left_s[span.batch] = std::max(left_s[span.batch], span.end_s);
    }
    QVERIFY(std::ranges::is_sorted(entered_s));
    for (std::uint32_t batch = 0; batch < c.options.batches; ++batch) {
        std::uint32_t others = 0;
        for (std::uint32_t earlier = 0; earlier < batch; ++earlier) others += left_s[earlier] > entered_s[batch] ? 1 : 0;
        QVERIFY(others < c.options.in_flight);
        for (const OpId source : problem.sources) {
            const bool busy = std::ranges::any_of(trace.spans, [&](const Span& span) {
                return span.kind == Span::Kind::op && span.resource == device_of(c, source) && span.batch < batch &&
                       span.start_s < entered_s[batch] && span.end_s > entered_s[batch];
            });
            QVERIFY(!busy);
        }
    }
}

void TestSimulator::doubled_costs_double_the_time() {
    QFETCH(quint64, seed);
    const Case c = random_case(seed);
    Problem doubled = *c.problem;
    for (double& time : doubled.op_time_s) time *= 2;
    for (double& time : doubled.transfer_s) time *= 2;
    Simulator simulator(c.problem, c.options);
    Simulator slower(std::make_shared<const Problem>(doubled), c.options);
    const Outcome& outcome = simulator.run(c.placement);
    const Outcome& slow = slower.run(c.placement);
    QVERIFY(slow.step_time_s == 2 * outcome.step_time_s);
    QVERIFY(slow.peak_bytes == outcome.peak_bytes);
}

void TestSimulator::tracing_changes_nothing() {
    QFETCH(quint64, seed);
    const Case c = random_case(seed);
    Simulator simulator(c.problem, c.options);
    Trace trace;
    const Outcome traced = simulator.run(c.placement, trace);
    const Outcome untraced = simulator.run(c.placement);
    QVERIFY(traced == untraced);
    const Trace before = trace;
    simulator.run(c.placement, trace);
    QVERIFY(trace == before);
}

void TestSimulator::runs_leave_no_state() {
    const auto problem = test::problem(test::random_graph(3, 60, 3, Training::implicit), test::uniform_machine(4));
    const SimulationOptions options{.batches = 4, .in_flight = 3};
    Random random(5);
    std::vector<Placement> placements;
    std::vector<Outcome> expected;
    for (int i = 0; i < 12; ++i) {
        placements.push_back(random_placement(*problem, random));
        expected.push_back(Simulator(problem, options).run(placements.back()));
    }
    QVERIFY(expected[0] != expected[1]);
    Simulator shared(problem, options);
    Trace trace;
    for (int step = 0; step < 200; ++step) {
        const std::size_t i = random.index(placements.size());
        QVERIFY((step % 3 == 0 ? shared.run(placements[i], trace) : shared.run(placements[i])) == expected[i]);
    }
    Simulator moved = std::move(shared);
    QVERIFY(moved.run(placements[0]) == expected[0]);
    QCOMPARE(&moved.problem(), problem.get());
    QCOMPARE(moved.options().in_flight, 3U);
}

void TestSimulator::run_allocates_nothing() {
    const auto problem = test::problem(test::random_graph(11, 300, 4, Training::implicit), test::uniform_machine(4));
    Simulator simulator(problem, {.batches = 6, .in_flight = 3});
    Random random(2);
    std::vector<Placement> placements;
    for (int i = 0; i < 20; ++i) placements.push_back(random_placement(*problem, random));

    allocations = 0;
    counting = true;
    double sum_s = 0;
    for (const Placement& placement : placements) sum_s += simulator.run(placement).step_time_s;
    counting = false;
    QVERIFY(sum_s > 0);
    QCOMPARE(allocations, std::size_t{0});

    counting = true;
    const Placement copy = placements[0];
    counting = false;
    QVERIFY2(allocations > 0, "the counter must count");
}

void TestSimulator::objective_data() {
    QTest::addColumn<int>("rule");
    QTest::addColumn<double>("peak0_gb");
    QTest::addColumn<double>("peak1_gb");
    QTest::addColumn<double>("seconds");
    // Two devices of 10 GB, a step of 0.5 s. Exprimo 1000 s a MB over, summed; Placeto 2 s a GB on the fullest; Post 100 s in all.
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

void TestSimulator::objective() {
    QFETCH(int, rule);
    QFETCH(double, peak0_gb);
    QFETCH(double, peak1_gb);
    QFETCH(double, seconds);
    Outcome outcome;
    outcome.step_time_s = 0.5;
    outcome.peak_bytes = {peak0_gb * kGB, peak1_gb * kGB};
    outcome.fits = peak0_gb <= 10 && peak1_gb <= 10;
    Objective objective;
    objective.rule = static_cast<MemoryRule>(rule);
    const Score score = objective.score(test::uniform_machine(2, 10 * kGB), outcome);
    QCOMPARE(score.seconds, seconds);
    QCOMPARE(score.step_time_s, 0.5);
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
