// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <numeric>

#include <QtTest>

#include "core/base/random.hpp"
#include "core/search/single_moves.hpp"
#include "core/sim/explain.hpp"
#include "tests/support/graphs.hpp"

namespace placewright {
namespace {

// On test::uniform_machine an op of 1e12 FLOPs takes one second, as does the transfer of a tensor of 1e9
// bytes.
constexpr double kSecond = 1e12;
constexpr double kGB = 1e9;
constexpr std::int64_t kTensor = 1'000'000'000;

Op op_of(const std::string& name, double seconds, const std::string& kind = "matmul") {
    Op op;
    op.name = name;
    op.kind = kind;
    op.flops = seconds * kSecond;
    Tensor tensor;
    tensor.bytes = kTensor;
    op.outputs = {tensor};
    return op;
}

struct Traced {
    std::shared_ptr<const Problem> problem;
    Trace trace;
    Outcome outcome;

    Traced(std::shared_ptr<const Problem> p, const Placement& placement,
           const SimulationOptions& options = {})
        : problem(std::move(p)) {
        outcome = Simulator(problem, options).run(placement, trace);
    }
};

/// "compute op0 0-1", "transfer op0 1-2", "queue op2 2-3 (op1)": one line per segment.
QByteArray text(const Traced& run, const CriticalPath& path) {
    QByteArray lines;
    for (const PathSegment& segment : path.segments) {
        const auto name = [&](std::uint32_t span) {
            return QByteArray::fromStdString(run.problem->graph->op(run.trace.spans[span].op).name);
        };
        lines += QByteArray(to_string(segment.kind).data()) + ' ' + name(segment.span) + ' ' +
                 QByteArray::number(segment.start_s) + '-' + QByteArray::number(segment.end_s);
        if (segment.blocker != kNoSpan) lines += " (" + name(segment.blocker) + ')';
        lines += '\n';
    }
    return lines;
}

QByteArray path_of(const Traced& run) {
    return text(run, critical_path(*run.problem, run.trace));
}

double held_bytes(const MemoryPeak& peak) {
    return std::accumulate(peak.held.begin(), peak.held.end(),
                           peak.parameter_bytes + peak.optimizer_bytes + peak.accumulated_gradient_bytes +
                               peak.other_resident_bytes,
                           [](double sum, const Held& held) { return sum + held.bytes; });
}

constexpr std::uint64_t kIdealSeeds = 80;

struct RandomCase {
    std::shared_ptr<const Problem> problem;
    Placement placement;
    SimulationOptions options;

    explicit RandomCase(std::uint64_t seed, MemoryModel memory = MemoryModel::training) {
        Random random(seed);
        ProblemOptions chosen;
        chosen.memory = memory;
        chosen.inference = random.chance(0.3);
        const Training training = random.chance(0.5) ? Training::implicit : Training::none;
        // Every other case has the features of real machines and ops, in all orders.
        const bool plain = seed % 2 == 0;
        chosen.accumulate_gradients = !plain && random.chance(0.5);
        if (!plain && training == Training::implicit && !chosen.inference && random.chance(0.3)) {
            chosen.recomputation = random.chance(0.5) ? Recomputation::segments : Recomputation::cheap;
        }
        const Machine machine = test::random_machine(seed);
        const auto graph = plain ? test::random_graph : test::random_network;
        const test::MachineFeatures features{
            .streams = random.chance(0.5),
            .copy_engines = random.chance(0.5),
            .bus = random.chance(0.5),
            .crossing = random.chance(0.5) ? Crossing::cut_through : Crossing::store_and_forward};
        problem = test::problem(graph(seed, 5 + random.index(40), 3, training),
                                plain ? machine : test::with_features(machine, seed, features), chosen);
        if (!plain) options.order = static_cast<Order>(random.index(4));
        for (GroupId group = 0; group < problem->groups; ++group) {
            const auto allowed = problem->allowed_devices(group);
            placement.push_back(allowed[random.index(allowed.size())]);
        }
        options.batches = 1 + static_cast<std::uint32_t>(random.index(4));
        options.in_flight = 1 + static_cast<std::uint32_t>(random.index(3));
        if (seed <= kIdealSeeds) return;
        if (options.order == Order::critical_path) options.order = Order::fifo;
        options.runtime = random.chance(0.7) ? Runtime::eager : Runtime::compiled;
        // About as long as ops take.
        const double total_s = std::accumulate(problem->op_time_s.begin(), problem->op_time_s.end(), 0.0);
        options.host_time_s =
            total_s / static_cast<double>(problem->op_time_s.size()) * std::exp2(random.uniform(-6, 2));
    }
};

}  // namespace

class TestExplain : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void chain();
    void fork_join();
    void busy_device();
    void busy_channel();
    void two_batches();
    void host_bound_step();
    void host_of_batches_with_inputs();
    void host_by_thread();
    void path_covers_the_time_data() { seeds(); }
    void path_covers_the_time();

    void peak_of_a_chain();
    void views_keep_what_they_view();
    void workspace_is_held_while_its_op_runs();
    void resident_parts();
    void gradients_of_own_updates();
    void peaks_are_those_of_the_simulation_data() { seeds(); }
    void peaks_are_those_of_the_simulation();

    void moves_are_simulations_data() { seeds(); }
    void moves_are_simulations();
    void moves_do_not_depend_on_threads();
    void moves_can_be_cancelled();

private:
    static void seeds();
};

void TestExplain::seeds() {
    QTest::addColumn<quint64>("seed");
    for (quint64 seed = 1; seed <= kIdealSeeds + 60; ++seed)
        QTest::addRow("seed %llu", static_cast<unsigned long long>(seed)) << seed;
}

void TestExplain::chain() {
    const Traced run(test::problem(test::chain(3, kSecond, kTensor), test::uniform_machine(2)), {0, 1, 0});
    QCOMPARE(path_of(run),
             QByteArray(
                 "compute op0 0-1\ntransfer op0 1-2\ncompute op1 2-3\ntransfer op1 3-4\ncompute op2 4-5\n"));
    const CriticalPath path = critical_path(*run.problem, run.trace);
    QCOMPARE(path.compute_s, 3.0);
    QCOMPARE(path.transfer_s, 2.0);
    QCOMPARE(path.queue_s, 0.0);
    QCOMPARE(path.device_compute_s, (std::vector<double>{2, 1}));
    QCOMPARE(path.channel_transfer_s, (std::vector<double>{1, 1}));
}

void TestExplain::fork_join() {
    const Traced run(test::problem(test::fork_join(2, kSecond, kTensor), test::uniform_machine(2)),
                     {0, 0, 1, 0});
    QCOMPARE(path_of(run),
             QByteArray("compute source 0-1\ntransfer source 1-2\ncompute branch1 2-3\ntransfer branch1 3-4\n"
                        "compute sink 4-5\n"));
}

void TestExplain::busy_device() {
    // Three branches on one device: the last waits for the first two, which the path names.
    const Traced run(test::problem(test::fork_join(3, kSecond, kTensor), test::uniform_machine(1)),
                     {0, 0, 0, 0, 0});
    QCOMPARE(path_of(run),
             QByteArray(
                 "compute source 0-1\nqueue branch2 1-3 (branch1)\ncompute branch2 3-4\ncompute sink 4-5\n"));
    QCOMPARE(critical_path(*run.problem, run.trace).device_queue_s, std::vector<double>{2.0});
}

void TestExplain::busy_channel() {
    // The outputs of both branches cross one channel and are ready at the same time.
    GraphBuilder builder("contention", 1, Training::none);
    builder.add(op_of("a", 1), {});
    builder.add(op_of("b", 0.5), {});
    builder.add(op_of("c", 0.25), {"a"});
    builder.add(op_of("d", 0.25), {"b"});
    builder.add(op_of("end", 1), {"c", "d"});
    const Traced run(test::problem(builder.build(), test::uniform_machine(2)), {0, 0, 0, 0, 1});
    // a until 1, b 1.5, c 1.75, d 2; c's output crosses from 1.75 to 2.75, d's waits for it.
    QCOMPARE(path_of(run),
             QByteArray("queue b 0-1 (a)\ncompute b 1-1.5\nqueue d 1.5-1.75 (c)\ncompute d 1.75-2\n"
                        "queue d 2-2.75 (c)\ntransfer d 2.75-3.75\ncompute end 3.75-4.75\n"));
    const CriticalPath path = critical_path(*run.problem, run.trace);
    QCOMPARE(path.device_queue_s, (std::vector<double>{1.25, 0}));
    QCOMPARE(path.channel_queue_s, (std::vector<double>{0.75, 0}));
}

void TestExplain::two_batches() {
    const auto problem = test::problem(test::chain(2, kSecond, kTensor), test::uniform_machine(2));
    // One batch at a time: the second is admitted when the first has ended.
    QCOMPARE(path_of(Traced(problem, {0, 1}, {2, 1})),
             QByteArray("compute op0 0-1\ntransfer op0 1-2\ncompute op1 2-3\n"
                        "compute op0 3-4\ntransfer op0 4-5\ncompute op1 5-6\n"));
    // Two batches at a time: admitted when the device of op0 is idle; it waits for op0 of the first batch.
    QCOMPARE(path_of(Traced(problem, {0, 1}, {2, 2})),
             QByteArray("compute op0 0-1\ncompute op0 1-2\ntransfer op0 2-3\ncompute op1 3-4\n"));
}

/// Ops that the device runs faster than the host issues them: the step is the host's, and its last op.
void TestExplain::host_bound_step() {
    const auto problem = test::problem(test::chain(3, kSecond / 4, 0), test::uniform_machine(1));
    const SimulationOptions options{.runtime = Runtime::eager, .host_time_s = 0.5};
    QCOMPARE(path_of(Traced(problem, {0, 0, 0}, options)), QByteArray("host op2 0-3\ncompute op2 3-3.25\n"));
    // The host issues the second batch after the end of the first.
    SimulationOptions twice = options;
    twice.batches = 2;
    QCOMPARE(path_of(Traced(problem, {0, 0, 0}, twice)),
             QByteArray("host op2 0-3\ncompute op2 3-3.25\nhost op2 3.25-6.25\ncompute op2 6.25-6.5\n"));
}

/// Inputs that take no time, on another device, end where the host begins with their batch.
void TestExplain::host_of_batches_with_inputs() {
    GraphBuilder builder("input", 1, Training::none);
    Op input;
    input.name = "input";
    input.kind = "input";
    input.outputs.resize(1);
    builder.add(input, {});
    for (const char* const name : {"first", "second"}) {
        Op op;
        op.name = name;
        op.kind = "matmul";
        op.flops = kSecond / 4;
        op.outputs.resize(1);
        builder.add(op, {op.name == "first" ? "input" : "first"});
    }
    const auto problem = test::problem(builder.build(), test::uniform_machine(2));
    SimulationOptions options{.batches = 3, .in_flight = 2, .runtime = Runtime::eager, .host_time_s = 0.5};
    const QByteArray path = path_of(Traced(problem, {1, 0, 0}, options));
    // The first op of a batch has its input copied, another second of the host.
    QCOMPARE(path, QByteArray("host second 0-9\ncompute second 9-9.25\n"));
}

/// The part of the host's threads in the backward pass is told apart.
void TestExplain::host_by_thread() {
    GraphBuilder builder("step", 1, Training::explicit_);
    for (const char* const name : {"forward", "backward", "update"}) {
        Op op;
        op.name = name;
        op.kind = "matmul";
        op.phase = op.name == "forward"    ? Phase::forward
                   : op.name == "backward" ? Phase::backward
                                           : Phase::update;
        op.flops = kSecond / 4;
        op.outputs.resize(1);
        builder.add(op, op.name == "forward"    ? std::vector<std::string>{}
                        : op.name == "backward" ? std::vector<std::string>{"forward"}
                                                : std::vector<std::string>{"backward"});
    }
    const auto problem = test::problem(builder.build(), test::uniform_machine(1));
    const Traced run(problem, {0, 0, 0}, {.runtime = Runtime::eager, .host_time_s = 0.5});
    const CriticalPath path = critical_path(*problem, run.trace);
    std::vector<std::uint16_t> threads;
    for (const PathSegment& segment : path.segments) {
        if (segment.kind == PathKind::host) threads.push_back(segment.resource);
    }
    QCOMPARE(threads, (std::vector<std::uint16_t>{0, 1, 0}));
}

void TestExplain::path_covers_the_time() {
    QFETCH(quint64, seed);
    for (const MemoryModel memory : {MemoryModel::training, MemoryModel::exprimo}) {
        const RandomCase random(seed, memory);
        const Traced run(random.problem, random.placement, random.options);
        const CriticalPath path = critical_path(*run.problem, run.trace);
        double at_s = 0;
        for (const PathSegment& segment : path.segments) {
            QCOMPARE(segment.start_s, at_s);
            QVERIFY(segment.end_s >= segment.start_s);
            QVERIFY(segment.span < run.trace.spans.size());
            const Span& span = run.trace.spans[segment.span];
            if (segment.kind == PathKind::host) {
                QCOMPARE(segment.resource, run.trace.issues[segment.span].thread);
                QCOMPARE(segment.end_s, run.trace.issues[segment.span].end_s);
                at_s = segment.end_s;
                continue;
            }
            QCOMPARE(segment.resource, span.resource);
            if (segment.kind == PathKind::queue) {
                // It waited from being ready until its start, and other work held the resource until then.
                QCOMPARE(segment.start_s, span.queued_s);
                QCOMPARE(segment.end_s, span.start_s);
                QVERIFY(segment.blocker < run.trace.spans.size());
                QCOMPARE(run.trace.spans[segment.blocker].end_s, segment.end_s);
                if (seed % 2 == 0 && seed <= kIdealSeeds) {
                    QCOMPARE(run.trace.spans[segment.blocker].resource, span.resource);
                    QCOMPARE(run.trace.spans[segment.blocker].kind, span.kind);
                }
            } else {
                QCOMPARE(segment.kind, span.kind == Span::Kind::op ? PathKind::compute : PathKind::transfer);
                QCOMPARE(segment.start_s, span.start_s);
                QCOMPARE(segment.end_s, span.end_s);
            }
            at_s = segment.end_s;
        }
        QCOMPARE(at_s, run.outcome.total_time_s);
        const auto sum = [](const std::vector<double>& parts) {
            return std::accumulate(parts.begin(), parts.end(), 0.0);
        };
        QVERIFY(path.total_s() == run.outcome.total_time_s);
        const auto host_s = [&](double sum_s, const PathSegment& segment) {
            return sum_s + (segment.kind == PathKind::host ? segment.duration_s() : 0);
        };
        QVERIFY(std::accumulate(path.segments.begin(), path.segments.end(), 0.0, host_s) == path.host_s);
        QVERIFY(sum(path.device_compute_s) == path.compute_s);
        QVERIFY(sum(path.channel_transfer_s) == path.transfer_s);
        QVERIFY(sum(path.device_queue_s) + sum(path.channel_queue_s) == path.queue_s);
    }
}

void TestExplain::peak_of_a_chain() {
    const Traced run(test::problem(test::chain(3, kSecond, kTensor), test::uniform_machine(2)), {0, 0, 1});
    const auto peaks = memory_peaks(*run.problem, run.trace);
    QCOMPARE(peaks.size(), 2U);
    // op0's output until op1 is done, beside op1's output from its start.
    QCOMPARE(peaks[0].bytes, 2 * kGB);
    QCOMPARE(peaks[0].time_s, 1.0);
    QCOMPARE(peaks[0].held, (std::vector<Held>{{HeldKind::activation, 0, 0, 0, kGB, 0},
                                               {HeldKind::activation, 1, 1, 0, kGB, 1}}));
    // The copy of op1's output from the start of its transfer, and op2's output.
    QCOMPARE(peaks[1].bytes, 2 * kGB);
    QCOMPARE(peaks[1].time_s, 3.0);
    QCOMPARE(peaks[1].held,
             (std::vector<Held>{{HeldKind::copy, 1, 1, 0, kGB, 2}, {HeldKind::activation, 2, 2, 0, kGB, 3}}));
}

void TestExplain::views_keep_what_they_view() {
    GraphBuilder builder("view", 1, Training::none);
    builder.add(op_of("a", 1), {});
    builder.add(op_of("view", 0, "flatten"), {"a"});
    builder.add(op_of("b", 1), {"view"});
    const Traced run(test::problem(builder.build(), test::uniform_machine(1)), {0, 0, 0});
    QCOMPARE(run.problem->alias_of, (std::vector<TensorId>{kNoTensor, 0, kNoTensor}));
    const auto peaks = memory_peaks(*run.problem, run.trace);
    QCOMPARE(peaks[0].bytes, 2 * kGB);
    QCOMPARE(peaks[0].held, (std::vector<Held>{{HeldKind::activation, 0, 0, 0, kGB, 0},
                                               {HeldKind::activation, 2, 2, 0, kGB, 1}}));
}

void TestExplain::workspace_is_held_while_its_op_runs() {
    GraphBuilder builder("workspace", 1, Training::none);
    Op first = op_of("a", 1);
    first.workspace_bytes = 3 * kTensor;
    builder.add(first, {});
    builder.add(op_of("b", 1), {"a"});
    const Traced run(test::problem(builder.build(), test::uniform_machine(1)), {0, 0});
    const auto peaks = memory_peaks(*run.problem, run.trace);
    QCOMPARE(peaks[0].bytes, 4 * kGB);
    QCOMPARE(peaks[0].time_s, 0.0);
    QCOMPARE(peaks[0].held, (std::vector<Held>{{HeldKind::workspace, 0, kNoTensor, 0, 3 * kGB, 0},
                                               {HeldKind::activation, 0, 0, 0, kGB, 0}}));
}

void TestExplain::resident_parts() {
    GraphBuilder builder("resident", 1, Training::implicit);
    Op op = op_of("a", 1);
    op.parameter_bytes = kTensor;
    op.resident_bytes = 5 * kTensor;
    builder.add(op, {});
    ProblemOptions options;
    options.optimizer_states = 2;
    options.accumulate_gradients = true;
    const Traced run(test::problem(builder.build(), test::uniform_machine(1), options), {0});
    const MemoryPeak peak = memory_peaks(*run.problem, run.trace).front();
    QCOMPARE(peak.parameter_bytes, kGB);
    QCOMPARE(peak.optimizer_bytes, 2 * kGB);
    QCOMPARE(peak.accumulated_gradient_bytes, kGB);
    QCOMPARE(peak.other_resident_bytes, 5 * kGB);

    // Exprimo counts only parameters, with or without accumulation.
    options.memory = MemoryModel::exprimo;
    const Traced exprimo(test::problem(*run.problem->forward, test::uniform_machine(1), options), {0});
    const MemoryPeak alone = memory_peaks(*exprimo.problem, exprimo.trace).front();
    QCOMPARE(alone.parameter_bytes, kGB);
    QCOMPARE(alone.optimizer_bytes, 0.0);
    QCOMPARE(alone.accumulated_gradient_bytes, 0.0);
}

/// A graph with explicit update ops: the tensors that they read from backward ops are accumulated.
void TestExplain::gradients_of_own_updates() {
    GraphBuilder builder("own updates", 1, Training::explicit_);
    Op forward = op_of("a", 1);
    forward.parameter_bytes = kTensor;
    builder.add(forward, {});
    Op backward = op_of("a/backward", 1);
    backward.phase = Phase::backward;
    builder.add(backward, {"a"});
    Op update = op_of("a/update", 1);
    update.phase = Phase::update;
    update.outputs.clear();
    builder.add(update, {"a/backward"});
    ProblemOptions options;
    options.optimizer_states = 0;
    options.accumulate_gradients = true;
    const Traced run(test::problem(builder.build(), test::uniform_machine(1), options), {0, 0, 0});
    const MemoryPeak peak = memory_peaks(*run.problem, run.trace).front();
    QCOMPARE(peak.parameter_bytes, kGB);
    QCOMPARE(peak.optimizer_bytes, 0.0);
    QCOMPARE(peak.accumulated_gradient_bytes, kGB);
}

void TestExplain::peaks_are_those_of_the_simulation() {
    QFETCH(quint64, seed);
    for (const MemoryModel memory : {MemoryModel::training, MemoryModel::exprimo}) {
        const RandomCase random(seed, memory);
        const Traced run(random.problem, random.placement, random.options);
        for (const MemoryPeak& peak : memory_peaks(*run.problem, run.trace)) {
            QVERIFY(peak.bytes == run.outcome.peak_bytes[peak.device]);
            QVERIFY(held_bytes(peak) == peak.bytes);
            QVERIFY(peak.parameter_bytes >= 0 && peak.optimizer_bytes >= 0);
            QVERIFY(peak.accumulated_gradient_bytes >= 0 && peak.other_resident_bytes >= 0);
            const auto first = std::ranges::find_if(run.trace.memory, [&](const MemorySample& sample) {
                return sample.device == peak.device && sample.bytes == peak.bytes;
            });
            QVERIFY(first != run.trace.memory.end());
            QCOMPARE(peak.time_s, first->time_s);
            QVERIFY(std::ranges::is_sorted(peak.held, std::greater<>(), &Held::bytes));
            for (const Held& held : peak.held) QVERIFY(held.since_s <= peak.time_s);
        }
    }
}

void TestExplain::moves_are_simulations() {
    QFETCH(quint64, seed);
    const RandomCase random(seed);
    const MemoryPenalty penalty;
    const auto evaluator = simulation_evaluator(random.problem, random.options, penalty);
    const auto result = single_moves(*evaluator, *random.problem, random.placement);
    QVERIFY(result.has_value());
    Simulator simulator(random.problem, random.options);
    const auto score = [&](const Placement& placement) {
        return penalty.score(*random.problem, simulator.run(placement));
    };
    QCOMPARE(result->now, score(random.placement));
    std::size_t expected = 0;
    for (GroupId group = 0; group < random.problem->groups; ++group)
        expected += random.problem->allowed_devices(group).size() - 1;
    QCOMPARE(result->moves.size(), expected);
    for (std::size_t i = 0; i < result->moves.size(); ++i) {
        const SingleMove& move = result->moves[i];
        Placement placement = random.placement;
        QVERIFY(placement[move.group] != move.device);
        placement[move.group] = move.device;
        QCOMPARE(move.score, score(placement));
        QCOMPARE(move.delta_s, move.score.value_s - result->now.value_s);
        if (i > 0) QVERIFY(result->moves[i - 1].score.penalised_s <= move.score.penalised_s);
    }
}

void TestExplain::moves_do_not_depend_on_threads() {
    const auto problem = test::problem(test::random_graph(5, 60), test::uniform_machine(3));
    const Placement placement(problem->groups, 0);
    const auto one = single_moves(*simulation_evaluator(problem, {}, {}, 1), *problem, placement);
    std::size_t last_done = 0;
    std::size_t last_total = 0;
    const auto many = single_moves(*simulation_evaluator(problem, {}, {}), *problem, placement, {},
                                   [&](std::size_t done, std::size_t total) {
                                       QVERIFY(done >= last_done);
                                       last_done = done;
                                       last_total = total;
                                   });
    QVERIFY(one->moves == many->moves);
    QCOMPARE(last_total, 120U);
    QCOMPARE(last_done, last_total);
}

void TestExplain::moves_can_be_cancelled() {
    const auto problem = test::problem(test::chain(20), test::uniform_machine(2));
    std::stop_source stop;
    stop.request_stop();
    QVERIFY(
        !single_moves(*simulation_evaluator(problem, {}, {}), *problem, Placement(20, 0), stop.get_token())
             .has_value());
}

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestExplain)
#include "tst_explain.moc"
