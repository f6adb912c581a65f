// SPDX-License-Identifier: MIT
// Plans of a step, and the threads that follow them, with a network that only keeps the books: every op runs
// once, when its inputs are on its device, and nothing is read after it was released.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include <QtTest>

#include "core/measure/executor.hpp"
#include "core/measure/measurement.hpp"
#include "tests/support/graphs.hpp"

namespace placewright {
namespace {

/// Keeps which tensors are where.
class Ledger : public NetworkRunner {
public:
    Ledger(std::shared_ptr<const Problem> problem, std::span<const DeviceId> placement)
        : problem_(std::move(problem)), placement_(placement.begin(), placement.end()) {}

    std::unique_ptr<Thread> attach(DeviceId) override { return std::make_unique<Thread>(); }

    void start_step(std::uint32_t) override {
        held_.clear();
        ran_.clear();
        copies_ = 0;
    }

    void run(OpId op) override {
        if (op == failing_) throw MeasureError("op fails");
        if (op == waiting_) {
            waits_ = true;
            while (!resumed_) std::this_thread::yield();
        }
        const std::scoped_lock lock(mutex_);
        const DeviceId device = placement_[problem_->grouping.group_of[op]];
        for (std::uint32_t k = problem_->input_begin[op]; k < problem_->input_begin[op + 1]; ++k) {
            if (!held_.contains({problem_->input[k], device})) ++missing_;
        }
        if (!ran_.insert(op).second) ++repeated_;
        for (TensorId tensor = problem_->output_begin[op]; tensor < problem_->output_begin[op + 1]; ++tensor)
            held_.insert({tensor, device});
    }

    void copy(TensorId tensor, DeviceId to) override {
        const std::scoped_lock lock(mutex_);
        const DeviceId from = placement_[problem_->grouping.group_of[problem_->producer[tensor]]];
        if (!held_.contains({tensor, from})) ++missing_;
        if (!held_.insert({tensor, to}).second) ++repeated_;
        ++copies_;
    }

    void release(TensorId tensor, DeviceId device) override {
        const std::scoped_lock lock(mutex_);
        if (held_.erase({tensor, device}) == 0) ++missing_;
    }

    std::vector<double> peak_bytes() const override { return std::vector<double>(problem_->devices); }
    std::vector<double> read_tensor(TensorId, DeviceId) const override { return {}; }
    std::vector<double> read_gradient(OpId) const override { return {}; }
    std::vector<std::vector<double>> whole_gradients(std::uint32_t) override { return {}; }

    std::size_t ran() const { return ran_.size(); }
    std::size_t held() const { return held_.size(); }

    OpId failing_ = kInvalidOp, waiting_ = kInvalidOp;
    std::atomic<bool> waits_{false}, resumed_{false};
    int missing_ = 0, repeated_ = 0, copies_ = 0;

private:
    std::shared_ptr<const Problem> problem_;
    Placement placement_;
    std::mutex mutex_;
    std::set<std::pair<TensorId, DeviceId>> held_;
    std::set<OpId> ran_;
};

struct Run {
    Run(std::shared_ptr<const Problem> of, const Placement& placement, const ExecutorOptions& options = {})
        : problem(std::move(of)),
          ledger(new Ledger(problem, placement)),
          executor(problem, make_execution_plan(problem, placement),
                   std::vector<PhysicalDevice>(problem->devices), std::unique_ptr<NetworkRunner>(ledger),
                   options) {}

    std::shared_ptr<const Problem> problem;
    Ledger* ledger;
    Executor executor;
};

}  // namespace

class TestExecutionPlan : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyOpRunsOnceWithItsInputs() {
        int copies = 0, shared = 0;
        for (std::uint64_t seed = 0; seed < 40; ++seed) {
            const Training training = seed % 4 == 0 ? Training::none : Training::implicit;
            ProblemOptions options;
            options.recomputation =
                seed % 5 == 1 && training == Training::implicit ? Recomputation::cheap : Recomputation::none;
            const auto problem = test::problem(test::random_network(seed, 30, 3, training),
                                               test::random_machine(seed), options);
            Random random(seed);
            const Placement placement = test::random_placement(*problem, random);
            Run run(problem, placement);
            for (int step = 0; step < 3; ++step) {
                StepRecord record;
                QVERIFY(run.executor.run_step(record));
                QCOMPARE(run.ledger->missing_, 0);
                QCOMPARE(run.ledger->repeated_, 0);
                QCOMPARE(run.ledger->ran(), std::size_t{problem->ops});
                // What nothing reads stays; all else was released.
                std::size_t unread = 0;
                for (TensorId tensor = 0; tensor < problem->tensors; ++tensor)
                    unread += problem->consumer_begin[tensor] == problem->consumer_begin[tensor + 1] ? 1 : 0;
                QCOMPARE(run.ledger->held(), unread);
                checkTimes(*problem, run.executor.plan(), record);
            }
            copies += run.ledger->copies_;
            for (const PlannedTransfer& transfer : run.executor.plan().transfers)
                shared += transfer.tensors.size() > 1 ? 1 : 0;
        }
        QVERIFY(copies > 100);
        QVERIFY(shared > 0);
    }

    void theOrderIsThatOfTheSimulator() {
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            const auto problem = test::problem(test::random_graph(seed, 40), test::random_machine(seed));
            Random random(seed);
            const Placement placement = test::random_placement(*problem, random);
            Simulator simulator(problem);
            Trace trace;
            simulator.run(placement, trace);
            std::vector<std::vector<OpId>> expected(problem->devices);
            for (const Span& span : trace.spans) {
                if (span.kind == Span::Kind::op) expected[span.resource].push_back(span.op);
            }
            QCOMPARE(make_execution_plan(problem, placement).ops, expected);
        }
    }

    void updatesComeAfterWhatReadsTheParameters() {
        int moved = 0;
        for (std::uint64_t seed = 0; seed < 30; ++seed) {
            const auto problem = test::problem(test::random_network(seed, 40, 3, Training::implicit),
                                               test::random_machine(seed));
            Random random(seed);
            const Placement placement = test::random_placement(*problem, random);
            const ExecutionPlan plan = make_execution_plan(problem, placement);
            for (const auto& ops : plan.ops) {
                for (std::size_t k = 0; k < ops.size(); ++k) {
                    const Op& update = problem->graph->op(ops[k]);
                    if (update.phase != Phase::update) continue;
                    for (std::size_t later = k + 1; later < ops.size(); ++later) {
                        const Op& op = problem->graph->op(ops[later]);
                        QVERIFY(op.phase == Phase::update || op.forward_op != update.forward_op);
                        QVERIFY(ops[later] != update.forward_op);
                        moved += op.phase == Phase::backward ? 1 : 0;
                    }
                }
            }
        }
        QVERIFY(moved > 0);  // updates are not simply last
    }

    void transfersTakeAtLeastTheSimulatedTime() {
        const auto problem = test::problem(test::fork_join(2, 1e6, 5'000'000), test::uniform_machine(2));
        Placement placement(problem->groups, 0);
        placement[problem->grouping.group_of[*problem->graph->find("branch1")]] = 1;
        Run run(problem, placement, {.throttles = true});
        StepRecord record;
        QVERIFY(run.executor.run_step(record));
        QCOMPARE(run.executor.plan().transfers.size(), std::size_t{2});
        for (std::size_t k = 0; k < 2; ++k) {
            // 5 MB at 1 GB/s.
            QCOMPARE(run.executor.plan().transfers[k].simulated_s, 0.005);
            QVERIFY(record.transfers[k].length_s() >= 0.005);
        }
        QVERIFY(record.time_s >= 0.010);
    }

    void anErrorEndsTheStepOfAllThreads() {
        const auto problem = test::problem(test::fork_join(4), test::uniform_machine(3));
        Placement placement(problem->groups, 0);
        for (GroupId group = 0; group < problem->groups; ++group) placement[group] = group % 3;
        Run run(problem, placement);
        run.ledger->failing_ = *problem->graph->find("source");
        StepRecord record;
        QVERIFY_THROWS_EXCEPTION(MeasureError, run.executor.run_step(record));
        QVERIFY_THROWS_EXCEPTION(MeasureError, run.executor.run_step(record));
    }

    void aStepCanBeCancelled() {
        const auto problem = test::problem(test::chain(20), test::uniform_machine(2));
        Placement placement(problem->groups, 0);
        placement[problem->groups - 1] = 1;
        Run run(problem, placement);
        run.ledger->waiting_ = 3;
        std::stop_source stop;
        std::jthread canceller([&] {
            while (!run.ledger->waits_) std::this_thread::yield();
            stop.request_stop();
            run.ledger->resumed_ = true;
        });
        StepRecord record;
        QVERIFY(!run.executor.run_step(record, stop.get_token()));
        QVERIFY(run.ledger->ran() < 20);
        // The next step is whole again.
        QVERIFY(run.executor.run_step(record));
        QCOMPARE(run.ledger->ran(), std::size_t{20});
        QVERIFY(!run.executor.run_step(record, stop.get_token()));
    }

    void quartiles() {
        const Spread spread = spread_of({4, 1, 3, 2, 5});
        QCOMPARE(spread.low_s, 2.0);
        QCOMPARE(spread.median_s, 3.0);
        QCOMPARE(spread.high_s, 4.0);
        QCOMPARE(spread.relative(), 2.0 / 3);
        QCOMPARE(spread_of({}).median_s, 0.0);
        QCOMPARE(spread_of({1, 2}).median_s, 1.5);
    }

private:
    static void checkTimes(const Problem& problem, const ExecutionPlan& plan, const StepRecord& record) {
        for (const auto& ops : plan.ops) {
            for (std::size_t k = 1; k < ops.size(); ++k)
                QVERIFY(record.ops[ops[k]].start_s >= record.ops[ops[k - 1]].end_s);
        }
        double last = 0;
        for (OpId op = 0; op < problem.ops; ++op) {
            QVERIFY(record.ops[op].end_s >= record.ops[op].start_s);
            last = std::max(last, record.ops[op].end_s);
            for (const OpId reader : plan.local_readers[op])
                QVERIFY(record.ops[reader].start_s >= record.ops[op].end_s);
            for (const std::uint32_t transfer : plan.sends[op]) {
                QVERIFY(record.transfers[transfer].start_s >= record.ops[op].end_s);
                for (const OpId reader : plan.arrivals[transfer])
                    QVERIFY(record.ops[reader].start_s >= record.transfers[transfer].end_s);
            }
        }
        QCOMPARE(record.time_s, last);
    }
};

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestExecutionPlan)
#include "tst_execution_plan.moc"
