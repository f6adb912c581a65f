// SPDX-License-Identifier: MIT
// Memory of a step and the penalty for what does not fit, worked out by hand.
#include <algorithm>

#include <QtTest>

#include "core/sim/memory_penalty.hpp"
#include "core/sim/simulator.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/hand_simulation.hpp"
#include "tests/support/spans.hpp"

namespace placewright {

using test::agreed_run, test::kGB, test::kSecond, test::kTensor, test::op_of, test::op_span;

class TestSimulatorMemory : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void memory_peak();
    void memory_limit();
    void peak_of_an_instant();
    void accumulated_gradients();
    void gradients_stay();
    void shared_gradients_are_added_as_they_come();
    void views_take_no_memory();
    void workspace();
    void memory_margin();

    void memory_penalty_data();
    void memory_penalty();
    void memory_rules_by_name();
};

void TestSimulatorMemory::memory_peak() {
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

void TestSimulatorMemory::memory_limit() {
    const auto fits = [](double memory_bytes) {
        const auto problem =
            test::problem(test::chain(3, kSecond, kTensor), test::uniform_machine(1, memory_bytes));
        return Simulator(problem).run(Placement{0, 0, 0}).fits;
    };
    QVERIFY(fits(2 * kGB));
    QVERIFY(!fits(2 * kGB - 1));
}

void TestSimulatorMemory::peak_of_an_instant() {
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

void TestSimulatorMemory::accumulated_gradients() {
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

void TestSimulatorMemory::gradients_stay() {
    GraphBuilder builder("gradients", 1, Training::implicit);
    for (const auto& [name, input] : {std::pair("a", ""), {"b", "a"}, {"c", "b"}}) {
        Op op = op_of(name, 1, {1});
        op.parameter_bytes = 5 * kTensor;
        builder.add(op, *input == '\0' ? std::vector<std::string>() : std::vector<std::string>{input});
    }
    const Graph graph = builder.build();
    // Bytes at the end of a step, over the parameters and their momentum.
    const auto end_gb = [&](bool in_backward, std::uint32_t batches) {
        ProblemOptions options;
        options.optimizer_in_backward = in_backward;
        const auto problem = test::problem(graph, test::uniform_machine(2), options);
        SimulationOptions simulation;
        simulation.batches = batches;
        agreed_run(problem, Placement{0, 0, 1}, simulation);
        Trace trace;
        Simulator simulator(problem, simulation);
        simulator.run(Placement{0, 0, 1}, trace);
        double last = 0;
        for (const MemorySample& sample : trace.memory) last = sample.device == 0 ? sample.bytes : last;
        return last / kGB - 20;
    };
    QCOMPARE(end_gb(false, 1), 10.0);
    QCOMPARE(end_gb(true, 1), 0.0);
    // The gradients of a batch take the place of those of the one before.
    QCOMPARE(end_gb(false, 3), 10.0);
    QCOMPARE(end_gb(true, 3), 0.0);

    const auto peak_gb = [&](bool in_backward) {
        ProblemOptions options;
        options.optimizer_in_backward = in_backward;
        return agreed_run(test::problem(graph, test::uniform_machine(1), options), Placement{0, 0, 0})
                   .outcome.peak_bytes[0] /
               kGB;
    };
    // All three gradients at the end, and the gradient of an activation beside the last two.
    QVERIFY(peak_gb(false) >= 45);
    QVERIFY(peak_gb(true) < peak_gb(false));
}

/// However many ops read a parameter, its gradient takes the memory of four: the sum, what is added, the new
/// sum, and one that comes meanwhile.
void TestSimulatorMemory::shared_gradients_are_added_as_they_come() {
    for (const int readers : {3, 30}) {
        GraphBuilder builder("unrolled", 1, Training::implicit);
        Op weight;
        weight.name = "w";
        weight.kind = "parameter";
        weight.parameter_bytes = static_cast<std::int64_t>(100 * kTensor);
        weight.outputs.resize(1);
        weight.outputs[0].bytes = weight.parameter_bytes;
        builder.add(weight, {});
        builder.add(op_of("x", 0, {0}), {});
        std::string before = "x";
        for (int k = 0; k < readers; ++k) {
            Op step = op_of("step" + std::to_string(k), 1, {0});
            step.kind = "linear";
            builder.add(step, {before, "w"});
            before = step.name;
        }
        Problem with_times = *test::problem(builder.build(), test::uniform_machine(1));
        std::ranges::fill(with_times.op_time_s, 1);
        Simulator simulator(std::make_shared<const Problem>(with_times));
        const Outcome outcome = simulator.run(Placement(with_times.groups, 0));
        // Beside it parameters and momentum.
        QCOMPARE(outcome.peak_bytes[0], (200.0 + 400) * kGB);
    }
}

void TestSimulatorMemory::views_take_no_memory() {
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

void TestSimulatorMemory::workspace() {
    GraphBuilder builder("workspace", 1, Training::none);
    Op a = op_of("a", 1, {2});
    a.workspace_bytes = 3 * kTensor;
    builder.add(a, {});
    builder.add(op_of("b", 1, {1}), {"a"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(1));
    // Held: a's output and workspace, then a's and b's outputs.
    QCOMPARE(agreed_run(problem, Placement{0, 0}).outcome.peak_bytes, std::vector<double>{5 * kGB});
}

void TestSimulatorMemory::memory_margin() {
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

void TestSimulatorMemory::memory_penalty_data() {
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

void TestSimulatorMemory::memory_penalty() {
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

void TestSimulatorMemory::memory_rules_by_name() {
    for (const MemoryRule rule : {MemoryRule::exprimo, MemoryRule::placeto, MemoryRule::post})
        QVERIFY(memory_rule_from(to_string(rule)) == rule);
    QCOMPARE(to_string(MemoryRule::placeto), std::string_view("placeto"));
    QVERIFY(!memory_rule_from("none"));
}

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestSimulatorMemory)
#include "tst_simulator_memory.moc"
