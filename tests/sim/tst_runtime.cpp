// SPDX-License-Identifier: MIT
// Runtimes that run ops in program order, worked out by hand: the order, the host, what the host waits for.
#include <algorithm>
#include <stdexcept>

#include <QtTest>

#include "core/sim/simulator.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/hand_simulation.hpp"
#include "tests/support/spans.hpp"

namespace placewright {
namespace {

using test::agreed_run, test::changed, test::op_of, test::op_span, test::hop_span;

constexpr SimulationOptions kCompiled{.runtime = Runtime::compiled};

/// The host of these tests takes half a second to dispatch an op and half a second for its one kernel.
SimulationOptions eager(double host_time_s = 0.5) {
    return {.runtime = Runtime::eager, .host_time_s = host_time_s};
}

Op backward_of(const std::string& name, double seconds) {
    Op op = op_of(name, seconds, {0});
    op.phase = Phase::backward;
    return op;
}

/// Transfers take no time.
std::shared_ptr<const Problem> problem_of(GraphBuilder& builder, Machine machine) {
    Problem problem = *test::problem(builder.build(), std::move(machine));
    std::ranges::fill(problem.transfer_s, 0);
    return std::make_shared<const Problem>(std::move(problem));
}

/// GPUs, the first of them replaced by a CPU of the same speed.
Machine with_cpu(std::size_t devices) {
    return changed(test::uniform_machine(devices), [](std::vector<Device>& all, std::vector<Channel>&) {
        all.front().kind = DeviceKind::cpu;
    });
}

double end_s(const Problem& problem, const Trace& trace, std::string_view op) {
    const auto span = std::ranges::find_if(trace.spans, [&](const Span& candidate) {
        return candidate.kind == Span::Kind::op && problem.graph->op(candidate.op).name == op;
    });
    return span->end_s;
}

}  // namespace

class TestRuntime : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void names();
    void refused_options();
    void devices_keep_to_the_program();
    void updates_come_last();
    void the_host_issues_one_op_after_the_other();
    void sources_are_there();
    void copies_take_the_host();
    void each_device_has_a_backward_thread();
    void threads_wait_for_what_they_read();
    void the_host_waits_for_its_own_ops();
    void a_cpu_is_the_host();
    void batches_follow_each_other();
    void stages_of_a_pipeline_have_their_hosts();
    void fast_devices_wait_for_the_host();
    void the_host_updates_once_after_accumulation();
};

void TestRuntime::names() {
    for (const Runtime runtime : {Runtime::ideal, Runtime::eager, Runtime::compiled})
        QCOMPARE(runtime_from(to_string(runtime)), std::optional(runtime));
    QVERIFY(!runtime_from("lazy"));
}

void TestRuntime::refused_options() {
    const auto problem = test::problem(test::chain(3), test::uniform_machine(1));
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, Simulator(problem, {.order = Order::critical_path,
                                                                        .runtime = Runtime::compiled}));
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, Simulator(problem, eager(-1)));
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument,
                             Simulator(problem, eager(std::numeric_limits<double>::infinity())));
}

/// "late" is ready before "early", but comes after it in the program.
void TestRuntime::devices_keep_to_the_program() {
    GraphBuilder builder("branches", 1, Training::none);
    builder.add(op_of("long", 4, {0}), {});
    builder.add(op_of("early", 1, {0}), {"long"});
    builder.add(op_of("late", 2, {0}), {});
    const auto problem = problem_of(builder, test::uniform_machine(2));
    const Placement placement{0, 1, 1};
    QCOMPARE(agreed_run(problem, placement).outcome.total_time_s, 5.0);
    COMPARE_SPANS(agreed_run(problem, placement, kCompiled).spans,
                  {
                      op_span(*problem, "long", 0, 0, 0, 4),
                      hop_span(*problem, "long", 0, 0, 1, 4, 4, 4),
                      op_span(*problem, "early", 1, 4, 4, 5),
                      op_span(*problem, "late", 1, 0, 5, 7),
                  });
}

/// The updates of a derived step, which are beside their gradients in the graph, come after the backward
/// pass.
void TestRuntime::updates_come_last() {
    for (const bool in_backward : {false, true}) {
        GraphBuilder builder("network", 1, Training::implicit);
        for (const std::string name : {"a", "b", "c"}) {
            Op op = op_of(name, 1, {1});
            op.parameter_bytes = 1000;
            const std::string before(1, static_cast<char>(name.front() - 1));
            builder.add(op, name == "a" ? std::vector<std::string>{} : std::vector{before});
        }
        ProblemOptions options;
        options.optimizer_in_backward = in_backward;
        const auto problem = test::problem(builder.build(), test::uniform_machine(1), options);
        Trace trace;
        Simulator(problem, kCompiled).run(Placement(problem->groups, 0), trace);
        QVERIFY(std::ranges::is_sorted(trace.spans, {}, [&](const Span& span) {
                    return problem->graph->op(span.op).phase;
                }) != in_backward);
    }
}

/// An op takes the host a second (dispatch and kernel) and the device a quarter.
void TestRuntime::the_host_issues_one_op_after_the_other() {
    const auto problem = test::problem(test::chain(4, test::kSecond / 4, 0), test::uniform_machine(1));
    const Placement placement(problem->groups, 0);
    Trace trace;
    Simulator simulator(problem, eager());
    QCOMPARE(simulator.run(placement, trace).total_time_s, 4.25);
    QCOMPARE(trace.issues.size(), std::size_t{4});
    for (std::size_t i = 0; i < 4; ++i) {
        const auto at = static_cast<double>(i);
        QCOMPARE(trace.issues[i], (Issue{at, at + 1, 0}));
        QCOMPARE(trace.spans[i].start_s, at + 1);
        QCOMPARE(trace.spans[i].end_s, at + 1.25);
    }
    agreed_run(problem, placement, eager());
}

/// Inputs and constants are no work of the host, views are half of it.
void TestRuntime::sources_are_there() {
    GraphBuilder builder("view", 1, Training::none);
    Op input = op_of("input", 0, {1});
    input.kind = "input";
    Op view = op_of("view", 0, {1});
    view.kind = "reshape";
    builder.add(input, {});
    builder.add(view, {"input"});
    builder.add(op_of("matmul", 1, {0}), {"view"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(1));
    Trace trace;
    Simulator(problem, eager()).run(Placement(problem->groups, 0), trace);
    QCOMPARE(end_s(*problem, trace, "input"), 0.0);
    QCOMPARE(end_s(*problem, trace, "view"), 0.5);
    QCOMPARE(end_s(*problem, trace, "matmul"), 2.5);
}

/// A tensor is copied to a device once, before its first reader there.
void TestRuntime::copies_take_the_host() {
    GraphBuilder builder("copies", 1, Training::none);
    builder.add(op_of("first", 0, {0}), {});
    builder.add(op_of("second", 0, {0}), {"first"});
    builder.add(op_of("third", 0, {0}), {"first"});
    const auto problem = problem_of(builder, test::uniform_machine(2));
    Trace trace;
    Simulator(problem, eager()).run(Placement{0, 1, 1}, trace);
    QCOMPARE(end_s(*problem, trace, "first"), 1.0);
    QCOMPARE(end_s(*problem, trace, "second"), 3.0);
    QCOMPARE(end_s(*problem, trace, "third"), 4.0);
    agreed_run(problem, Placement{0, 1, 1}, eager());
}

/// Two chains of the backward pass on two devices are issued side by side, forward ops one by one.
void TestRuntime::each_device_has_a_backward_thread() {
    GraphBuilder builder("branches", 1, Training::explicit_);
    builder.add(op_of("forward0", 0, {0}), {});
    builder.add(op_of("forward1", 0, {0}), {});
    builder.add(backward_of("backward0a", 0), {"forward0"});
    builder.add(backward_of("backward0b", 0), {"backward0a"});
    builder.add(backward_of("backward1a", 0), {"forward1"});
    builder.add(backward_of("backward1b", 0), {"backward1a"});
    const auto problem = problem_of(builder, test::uniform_machine(2));
    Trace trace;
    Simulator(problem, eager()).run(Placement{0, 1, 0, 0, 1, 1}, trace);
    QCOMPARE(end_s(*problem, trace, "forward1"), 2.0);
    QCOMPARE(end_s(*problem, trace, "backward0b"), 4.0);
    QCOMPARE(end_s(*problem, trace, "backward1b"), 4.0);
    QCOMPARE(std::ranges::max(trace.issues, {}, &Issue::thread).thread, 2);
    Trace alone;
    Simulator(problem, eager()).run(Placement(6, 0), alone);
    QCOMPARE(end_s(*problem, alone, "backward1b"), 6.0);
}

/// The thread of device 0 issues its op after that of device 1 has issued what it reads.
void TestRuntime::threads_wait_for_what_they_read() {
    GraphBuilder builder("chain", 1, Training::explicit_);
    builder.add(op_of("forward0", 0, {0}), {});
    builder.add(op_of("forward1", 0, {0}), {"forward0"});
    builder.add(backward_of("backward1", 0), {"forward1"});
    builder.add(backward_of("backward0", 0), {"forward0", "backward1"});
    const auto problem = problem_of(builder, test::uniform_machine(2));
    Trace trace;
    Simulator(problem, eager()).run(Placement{0, 1, 1, 0}, trace);
    QCOMPARE(end_s(*problem, trace, "forward1"), 3.0);  // after the copy
    QCOMPARE(end_s(*problem, trace, "backward1"), 4.0);
    QCOMPARE(end_s(*problem, trace, "backward0"), 6.0);  // after another copy
}

/// Forward, the host runs the ops of the CPU itself: what comes behind them is issued later.
void TestRuntime::the_host_waits_for_its_own_ops() {
    GraphBuilder builder("embedding on the CPU", 1, Training::none);
    builder.add(op_of("embedding", 5, {0}), {});
    builder.add(op_of("other", 1, {0}), {});
    const auto problem = problem_of(builder, with_cpu(2));
    Trace trace;
    Simulator(problem, eager()).run(Placement{0, 1}, trace);
    QCOMPARE(end_s(*problem, trace, "embedding"), 6.0);
    QCOMPARE(end_s(*problem, trace, "other"), 8.0);
    const auto other =
        static_cast<std::size_t>(std::ranges::find(trace.spans, 1U, &Span::op) - trace.spans.begin());
    QCOMPARE(trace.issues[other], (Issue{6, 7, 0}));
    agreed_run(problem, Placement{0, 1}, eager());
}

void TestRuntime::a_cpu_is_the_host() {
    const auto problem = test::problem(test::chain(4, test::kSecond, 0), with_cpu(1));
    const Placement placement(problem->groups, 0);
    QCOMPARE(Simulator(problem).run(placement).total_time_s, 4.0);
    QCOMPARE(Simulator(problem, kCompiled).run(placement).total_time_s, 4.0);
    QCOMPARE(Simulator(problem, eager()).run(placement).total_time_s, 8.0);
}

/// With room for two, the host issues the second batch behind the first; otherwise it waits for the end.
void TestRuntime::batches_follow_each_other() {
    const auto problem = test::problem(test::chain(2, test::kSecond / 4, 0), test::uniform_machine(1));
    SimulationOptions options = eager();
    options.batches = 3;
    const Placement placement(problem->groups, 0);
    QCOMPARE(agreed_run(problem, placement, options).outcome.total_time_s, 3 * 2.25);
    options.in_flight = 2;
    // The third batch waits for the end of the first, which the issue of the second outlasts.
    QCOMPARE(agreed_run(problem, placement, options).outcome.total_time_s, 6.25);
}

void TestRuntime::stages_of_a_pipeline_have_their_hosts() {
    const auto problem = test::problem(test::chain(2, test::kSecond / 4, 0), test::uniform_machine(2));
    SimulationOptions options = eager();
    options.batches = 4;
    options.in_flight = 4;
    options.order = Order::gpipe;
    QCOMPARE(agreed_run(problem, Placement{0, 0}, options).outcome.total_time_s, 8.25);
    QCOMPARE(agreed_run(problem, Placement{0, 1}, options).outcome.total_time_s, 4.5);
}

/// With ops that take longer than the host, the host's work is hidden behind that of the device.
void TestRuntime::fast_devices_wait_for_the_host() {
    const auto problem = test::problem(test::chain(50, test::kSecond, 0), test::uniform_machine(1));
    const Placement placement(problem->groups, 0);
    QCOMPARE(Simulator(problem, eager(0.25)).run(placement).total_time_s, 50.5);
    QCOMPARE(Simulator(problem, eager(2)).run(placement).total_time_s, 201.0);
}

/// The host dispatches each update and launches its kernels once; it adds the gradients of all batches but
/// the first, an op of one kernel each.
void TestRuntime::the_host_updates_once_after_accumulation() {
    const Graph graph = test::random_graph(5, 6, 2, Training::implicit);
    for (const double states : {0.0, 1.0, 2.0}) {
        const auto total_s = [&](bool accumulate, std::uint32_t batches) {
            ProblemOptions options;
            options.optimizer_states = states;
            options.accumulate_gradients = accumulate;
            const auto problem = test::problem(graph, test::uniform_machine(1), options);
            SimulationOptions run = eager(1000);  // the ops take next to nothing
            run.batches = batches;
            return Simulator(problem, run).run(Placement(problem->groups, 0)).total_time_s;
        };
        QCOMPARE(total_s(true, 1), total_s(false, 1));
        const auto updates =
            std::ranges::count_if(graph.ops(), [](const Op& op) { return op.parameter_bytes > 0; });
        // Dispatches and kernels of the updates of a batch.
        const double update_s =
            total_s(false, 2) - total_s(true, 2) + static_cast<double>(updates) * 1000 * 2;
        const double saved_s = 3 * (update_s - static_cast<double>(updates) * 1000 * 2);
        const double found_s = total_s(false, 4) - total_s(true, 4);
        if (states > 0)
            QVERIFY(found_s > 1000);  // an update of Momentum and Adam has more kernels than a sum
        QVERIFY2(std::abs(found_s - saved_s) < 1 && found_s > -1,
                 qPrintable(QString::number(found_s - saved_s)));
    }
}

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestRuntime)
#include "tst_runtime.moc"
