// SPDX-License-Identifier: MIT
// Simulations worked out by hand.
#include <algorithm>
#include <limits>

#include <QtTest>

#include "core/sim/simulator.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/hand_simulation.hpp"
#include "tests/support/spans.hpp"

namespace placewright {
namespace {

using test::agreed_run, test::changed, test::hop_span, test::kGB, test::kSecond, test::kTensor, test::op_of,
    test::op_span;

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
    void many_channels();
    void options_are_checked();

    void cut_through();
    void cut_through_waits_for_all_channels();
    void copy_engines();
    void copy_engine_of_each_end();
    void streams();
    void the_ending_device_goes_on_last();
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
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, Simulator(problem, {.batches = 0, .in_flight = 1}));
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, Simulator(problem, {.batches = 1, .in_flight = 0}));
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

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestSimulator)
#include "tst_simulator.moc"
