// SPDX-License-Identifier: MIT
// Simulated and measured times of ops, devices and steps, and runs that are carried to another problem.
#include <QTest>

#include "core/sim/run_comparison.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;
using Difference = RunComparison::Difference;

namespace {

/// The simulation of a placement as if it had been measured, with every op `factor` times as long.
MeasuredRun slower(const Problem& problem, const Placement& placement, const Trace& simulated,
                   double factor) {
    MeasuredRun run;
    run.name = "run";
    run.placement = placement;
    double end_s = 0;
    for (Span span : simulated.spans) {
        span.start_s *= factor;
        span.end_s *= factor;
        end_s = std::max(end_s, span.end_s);
        run.trace.spans.push_back(span);
    }
    run.step_times_s = {end_s};
    run.peak_bytes.assign(problem.devices, 1e6);
    return run;
}

Span op_span(OpId op, DeviceId device, double start_s, double end_s) {
    Span span;
    span.resource = device;
    span.op = op;
    span.start_s = span.queued_s = start_s;
    span.end_s = end_s;
    return span;
}

}  // namespace

class TestRunComparison : public QObject {
    Q_OBJECT

    std::shared_ptr<const Problem> m_problem;
    Placement m_placement;
    Trace m_simulated;
    Outcome m_outcome;

private Q_SLOTS:
    void init() {
        // 1 ms of forward an op, trained on two GPUs.
        m_problem = test::problem(test::chain(8, 1e9, 1000, Training::implicit), test::uniform_machine(2));
        m_placement.assign(m_problem->groups, 0);
        for (GroupId group = m_problem->groups / 2; group < m_problem->groups; ++group)
            m_placement[group] = 1;
        m_outcome = Simulator(m_problem).run(m_placement, m_simulated);
    }

    void aUniformFactorIsNoDifference() {
        const MeasuredRun run = slower(*m_problem, m_placement, m_simulated, 1.7);
        const MeasuredRun* const runs[]{&run};
        const RunComparison compared = compare_runs(*m_problem, m_simulated, m_outcome, runs);
        QCOMPARE(compared.typical_factor, 1.7);
        QCOMPARE(compared.step.factor(), 1.7);
        QCOMPARE(compared.elsewhere, 0U);
        std::size_t forward = 0;
        for (OpId op = 0; op < m_problem->ops; ++op) {
            if (m_problem->graph->op(op).forward_op != kInvalidOp) {
                QCOMPARE(compared.ops[op].runs, 0U);
                continue;
            }
            ++forward;
            QCOMPARE(compared.ops[op].runs, 1U);
            QCOMPARE(compared.difference(op), Difference::none);
            QCOMPARE(compared.ops[op].device, m_placement[m_problem->grouping.group_of[op]]);
        }
        QCOMPARE(compared.measured, forward);
        for (DeviceId device = 0; device < 2; ++device) {
            QCOMPARE(compared.devices[device].simulated_s, m_outcome.device_busy_s[device]);
            QCOMPARE(compared.devices[device].factor(), 1.7);
        }
    }

    void opsFarFromTheTypicalFactorDiffer() {
        MeasuredRun run = slower(*m_problem, m_placement, m_simulated, 2);
        const OpId longer = *m_problem->graph->find("op3"), shorter = *m_problem->graph->find("op5"),
                   usual = *m_problem->graph->find("op6");
        for (Span& span : run.trace.spans) {
            if (span.kind != Span::Kind::op) continue;
            const OpId forward = m_problem->graph->op(span.op).forward_op;
            const OpId op = forward == kInvalidOp ? span.op : forward;
            const double factor = op == longer ? 3 : op == shorter ? 0.2 : op == usual ? 1.4 : 1;
            span.end_s = span.start_s + factor * (span.end_s - span.start_s);
        }
        const MeasuredRun* const runs[]{&run};
        const RunComparison compared = compare_runs(*m_problem, m_simulated, m_outcome, runs);
        QCOMPARE(compared.typical_factor, 2.0);
        QCOMPARE(compared.difference(longer), Difference::longer);
        QCOMPARE(compared.difference(shorter), Difference::shorter);
        QCOMPARE(compared.difference(usual), Difference::none);
        QCOMPARE(compared.ops[longer].time.factor(), 6.0);
        // An op that hardly counts is not marked, however far off.
        run.step_times_s = {1000};
        QCOMPARE(compare_runs(*m_problem, m_simulated, m_outcome, runs).difference(longer), Difference::none);
    }

    void onlyMeasuredPhasesCount() {
        // Of op2 only the forward was measured, for 5 ms.
        MeasuredRun run;
        const OpId op = *m_problem->graph->find("op2");
        run.trace.spans = {op_span(op, 0, 0, 0.005)};
        const MeasuredRun* const runs[]{&run};
        const RunComparison compared = compare_runs(*m_problem, m_simulated, m_outcome, runs);
        QCOMPARE(compared.ops[op].time.simulated_s, m_problem->time_s(op, 0));
        QCOMPARE(compared.ops[op].time.measured_s, 0.005);
        QCOMPARE(compared.measured, 1U);
        QCOMPARE(compared.step.measured_s, 0.0);
        QCOMPARE(compared.step.factor(), 0.0);
    }

    void anOpIsComparedOnTheDeviceWhereItWasMeasured() {
        const Machine uniform = test::uniform_machine(2);
        std::vector<Device> devices(uniform.devices().begin(), uniform.devices().end());
        devices[1].peak_flops /= 4;
        const auto problem = test::problem(
            test::chain(4), Machine("two", devices, {uniform.channels().begin(), uniform.channels().end()},
                                    {uniform.routes().begin(), uniform.routes().end()}));
        const Placement placement(problem->groups, 0);
        Trace simulated;
        const Outcome outcome = Simulator(problem).run(placement, simulated);
        MeasuredRun run;
        run.trace.spans = {op_span(0, 1, 0, 0.004)};
        const MeasuredRun* const runs[]{&run};
        const RunComparison compared = compare_runs(*problem, simulated, outcome, runs);
        QCOMPARE(compared.ops[0].time.simulated_s, problem->time_s(0, 1));
        QVERIFY(problem->time_s(0, 1) > problem->time_s(0, 0));
        QVERIFY(compared.ops[0].elsewhere);
        QCOMPARE(compared.elsewhere, 1U);
    }

    void theMedianOfTheStepsCounts() {
        MeasuredRun run = slower(*m_problem, m_placement, m_simulated, 1);
        run.step_times_s = {4, 1, 3, 2};
        const MeasuredRun* const runs[]{&run};
        QCOMPARE(compare_runs(*m_problem, m_simulated, m_outcome, runs).step.measured_s, 2.5);
    }

    void peaksOfMemoryAreCompared() {
        MeasuredRun first = slower(*m_problem, m_placement, m_simulated, 1), second = first;
        first.peak_bytes = {3e6, 0};
        second.peak_bytes = {};
        second.trace.memory = {{0, 0, 1e6}, {0, 0.001, 4e6}};
        const MeasuredRun* const runs[]{&first, &second};
        const RunComparison compared = compare_runs(*m_problem, m_simulated, m_outcome, runs);
        QCOMPARE(compared.memory[0].measured_bytes, 4e6);
        QCOMPARE(compared.memory[0].simulated_bytes, m_outcome.peak_bytes[0]);
        QCOMPARE(compared.memory[1].measured_bytes, 0.0);
        QCOMPARE(active_seconds(*m_problem, m_simulated)[1], compared.devices[1].simulated_s);
    }

    void severalRunsCountWithTheirMean() {
        const MeasuredRun first = slower(*m_problem, m_placement, m_simulated, 1),
                          second = slower(*m_problem, m_placement, m_simulated, 3);
        const MeasuredRun* const runs[]{&first, &second};
        const RunComparison compared = compare_runs(*m_problem, m_simulated, m_outcome, runs);
        QCOMPARE(compared.ops[0].runs, 2U);
        QCOMPARE(compared.ops[0].time.factor(), 2.0);
        QCOMPARE(compared.devices[1].factor(), 2.0);
        QCOMPARE(compared.step.factor(), 2.0);
        // A rank that ran only a part does not lower the mean of the rest.
        MeasuredRun part;
        part.trace.spans = {op_span(0, 0, 0, 0.001)};
        const MeasuredRun* const ranks[]{&second, &part};
        const RunComparison of_ranks = compare_runs(*m_problem, m_simulated, m_outcome, ranks);
        QCOMPARE(of_ranks.ops[5].runs, 1U);
        QCOMPARE(of_ranks.ops[5].time.factor(), 3.0);
        QCOMPARE(of_ranks.step.factor(), 3.0);
    }

    void batchesOfAPipelineAreDivided() {
        Trace simulated;
        const Outcome outcome = Simulator(m_problem, {.batches = 6, .in_flight = 3, .order = Order::gpipe})
                                    .run(m_placement, simulated);
        const MeasuredRun run = slower(*m_problem, m_placement, m_simulated, 1.25);
        const MeasuredRun* const runs[]{&run};
        const RunComparison compared = compare_runs(*m_problem, simulated, outcome, runs);
        QCOMPARE(compared.ops[0].time.factor(), 1.25);
        QCOMPARE(compared.step.simulated_s, outcome.step_time_s);
    }

    void aRunIsCarriedByNames() {
        const MeasuredRun run = slower(*m_problem, m_placement, m_simulated, 1);
        // On three GPUs, in inference: backward and update ops do not exist there.
        const auto other = test::problem(test::chain(8, 1e9, 1000, Training::none), test::uniform_machine(3));
        const auto carried = carried_run(run, *m_problem, *other);
        QVERIFY(carried.has_value());
        std::size_t ops = 0;
        for (const Span& span : carried->trace.spans) {
            if (span.kind == Span::Kind::op) {
                ++ops;
                continue;
            }
            QCOMPARE(other->producer[span.tensor], span.op);
            const auto route = other->machine->route(span.from, span.to);
            QVERIFY(std::ranges::find(route, span.resource) != route.end());
        }
        QCOMPARE(ops, 8U);
        QCOMPARE(carried->placement, m_placement);
        QCOMPARE(carried->peak_bytes, (std::vector<double>{1e6, 1e6, 0}));
        // On one GPU half of the ops are gone, and with them the placement.
        const auto alone =
            test::problem(test::chain(8, 1e9, 1000, Training::implicit), test::uniform_machine(1));
        const auto half = carried_run(run, *m_problem, *alone);
        QVERIFY(half.has_value() && half->placement.empty());
        for (const Span& span : half->trace.spans) QCOMPARE(span.resource, 0);
        // Nothing of another network.
        const auto wide = test::problem(test::fork_join(3), test::uniform_machine(2));
        QVERIFY(!carried_run(run, *m_problem, *wide));
    }

    void theOutcomeIsThatOfTheSpans() {
        MeasuredRun run = slower(*m_problem, m_placement, m_simulated, 1);
        run.trace.memory = {{0, 0, 5}, {0, 1, 9}, {1, 0, 3}};
        run.peak_bytes = {8, 11};
        const Outcome outcome = measured_outcome(*m_problem, run);
        QCOMPARE(outcome.total_time_s, m_outcome.total_time_s);
        QCOMPARE(outcome.device_busy_s, m_outcome.device_busy_s);
        QCOMPARE(outcome.channel_bytes, m_outcome.channel_bytes);
        QCOMPARE(outcome.resident_bytes, (std::vector<double>{5, 3}));
        QCOMPARE(outcome.peak_bytes, (std::vector<double>{9, 11}));
    }
};

QTEST_GUILESS_MAIN(TestRunComparison)
#include "tst_run_comparison.moc"
