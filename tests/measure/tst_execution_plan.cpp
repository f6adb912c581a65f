// SPDX-License-Identifier: MIT
// Plans of a step, and the threads that follow them, with a network that only keeps the books: every op runs
// once, when its inputs are on its device, and nothing is read after it was released.
#include <algorithm>
#include <array>
#include <atomic>
#include <ctime>
#include <fstream>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>

#include <QtTest>
#include <sys/resource.h>

#include "core/graph/network_builder.hpp"
#include "core/measure/executor.hpp"
#include "core/measure/measured_search.hpp"
#include "core/measure/measurement.hpp"
#include "core/measure/profiler.hpp"
#include "tests/support/graphs.hpp"

namespace placewright {
namespace {

double thread_processor_s() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Keeps which tensors are where.
class Ledger : public NetworkRunner {
public:
    Ledger(std::shared_ptr<const Problem> problem, std::span<const DeviceId> placement)
        : problem_(std::move(problem)), placement_(placement.begin(), placement.end()) {}

    std::unique_ptr<Thread> attach(DeviceId device) override {
        if (device == detached_) throw MeasureError("no context");
        return std::make_unique<Thread>();
    }

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
        if (device == full_) throw OutOfMemory(device, "device is full");
        for (std::uint32_t k = problem_->input_begin[op]; k < problem_->input_begin[op + 1]; ++k) {
            if (!held_.contains({problem_->input[k], device})) ++missing_;
        }
        if (!ran_.insert(op).second) ++repeated_;
        for (TensorId tensor = problem_->output_begin[op]; tensor < problem_->output_begin[op + 1]; ++tensor)
            held_.insert({tensor, device});
    }

    void copy(TensorId tensor, DeviceId to) override {
        const double until_s = thread_processor_s() + copy_takes_s_;
        while (thread_processor_s() < until_s) continue;
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
    DeviceId detached_ = kInvalidDevice;  ///< threads cannot attach to it
    DeviceId full_ = kInvalidDevice;
    double copy_takes_s_ = 0;  ///< of processor time
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

/// Messages from gpu:0 and gpu:1 to gpu:2, which take 20 ms on a link of their own and on the last one, that
/// they share.
std::shared_ptr<const Problem> two_messages(Crossing crossing) {
    const Machine plain = test::uniform_machine(3);
    std::vector<Channel> channels(4, plain.channels()[0]);
    for (std::size_t k = 0; k < channels.size(); ++k) channels[k].name = "link" + std::to_string(k);
    std::vector<Route> routes{{0, 2, {0, 3}}, {1, 2, {1, 3}}};
    for (const auto& [from, to] :
         std::array<std::pair<DeviceId, DeviceId>, 4>{{{0, 1}, {1, 0}, {2, 0}, {2, 1}}})
        routes.push_back({from, to, {2}});
    GraphBuilder net("messages", 1, Training::none);
    for (const char* name : {"first", "second"}) {
        Op source;
        source.name = name;
        source.kind = "input";
        source.outputs = {make_tensor({20'000'000}, DType::uint8)};
        net.add(std::move(source), {});
    }
    Op sum;
    sum.name = "sum";
    sum.kind = "add";
    sum.outputs = {make_tensor({20'000'000}, DType::uint8)};
    net.add(std::move(sum), {"first", "second"});
    return test::problem(net.build(), Machine("shared link", {plain.devices().begin(), plain.devices().end()},
                                              channels, routes, crossing));
}

double address_space_bytes() {
    std::ifstream file("/proc/self/statm");
    double pages = 0;
    file >> pages;
    return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

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
            QCOMPARE(run.executor.plan().transfers[k].simulated_s(), 0.005);
            QVERIFY(record.transfers[k].length_s() >= 0.005);
        }
        QVERIFY(record.time_s >= 0.010);
    }

    void transfersHoldAllChannelsOfTheirRoutes_data() {
        QTest::addColumn<int>("crossing");
        QTest::addRow("store and forward") << static_cast<int>(Crossing::store_and_forward);
        QTest::addRow("cut through") << static_cast<int>(Crossing::cut_through);
    }
    void transfersHoldAllChannelsOfTheirRoutes() {
        QFETCH(int, crossing);
        const bool cuts = static_cast<Crossing>(crossing) == Crossing::cut_through;
        const auto problem = two_messages(static_cast<Crossing>(crossing));
        Placement placement(problem->groups, 0);
        placement[problem->grouping.group_of[*problem->graph->find("second")]] = 1;
        placement[problem->grouping.group_of[*problem->graph->find("sum")]] = 2;
        Run run(problem, placement, {.throttles = true});
        const std::vector<PlannedTransfer>& transfers = run.executor.plan().transfers;
        QCOMPARE(transfers.size(), std::size_t{2});
        for (const PlannedTransfer& transfer : transfers) {
            QCOMPARE(transfer.legs.size(), std::size_t{cuts ? 1U : 2U});
            QCOMPARE(transfer.legs.back().channels.back(), ChannelId{3});
            QCOMPARE(transfer.simulated_s(), cuts ? 0.020 : 0.040);
        }
        StepRecord record;
        QVERIFY(run.executor.run_step(record));
        const auto [first, second] = std::ranges::minmax(record.transfers, {}, &Interval::start_s);
        if (cuts) QVERIFY(second.start_s >= first.end_s);
        // One on a link of its own, then one after the other on the last link.
        QVERIFY(std::max(first.end_s, second.end_s) - first.start_s >= (cuts ? 0.040 : 0.060));
    }

    void sharedCoresAreNotDisturbed() {
        const auto problem = test::problem(test::fork_join(2), test::uniform_machine(2));
        Placement placement(problem->groups, 0);
        placement[problem->grouping.group_of[*problem->graph->find("branch1")]] = 1;
        const auto step = [&](int second_core) {
            auto ledger = std::make_unique<Ledger>(problem, placement);
            ledger->copy_takes_s_ = 0.01;
            const std::vector<PhysicalDevice> devices{{PhysicalDevice::Kind::logical_cpu, 0},
                                                      {PhysicalDevice::Kind::logical_cpu, second_core}};
            Executor executor(problem, make_execution_plan(problem, placement), devices, std::move(ledger));
            StepRecord record;
            return executor.run_step(record) ? record : StepRecord{};
        };
        const StepRecord apart = step(1), shared = step(0);
        QVERIFY(apart.busy_s > 0);
        // What copies take of the cores is no other program's: there are two.
        QVERIFY2(apart.processor_s >= 0.02, qPrintable(QString::number(apart.processor_s)));
        QCOMPARE(shared.busy_s, 0.0);

        Measurement measurement;
        QCOMPARE(measurement.noise_warning(), std::string());
        measurement.disturbed = 0.2;
        QVERIFY(measurement.noise_warning().starts_with("the cores were not free for 20 % of the time"));
    }

    void threadsThatCannotBeStartedAreAnError() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        QSKIP("sanitizers need more memory than the limit leaves");
#endif
        const auto problem = test::problem(test::chain(3), test::uniform_machine(16));
        const Placement placement(problem->groups, 0);
        ExecutionPlan plan = make_execution_plan(problem, placement);
        auto ledger = std::make_unique<Ledger>(problem, placement);
        // Stacks of which two fit the address space that is left.
        constexpr std::size_t kStackBytes = 256'000'000;
        pthread_attr_t attributes;
        QCOMPARE(pthread_getattr_default_np(&attributes), 0);
        std::size_t stack_before = 0;
        pthread_attr_getstacksize(&attributes, &stack_before);
        rlimit before{};
        QCOMPARE(getrlimit(RLIMIT_AS, &before), 0);
        rlimit limit = before;
        limit.rlim_cur = static_cast<rlim_t>(address_space_bytes() + 2.5 * kStackBytes);
        pthread_attr_setstacksize(&attributes, kStackBytes);
        QCOMPARE(pthread_setattr_default_np(&attributes), 0);
        QCOMPARE(setrlimit(RLIMIT_AS, &limit), 0);
        std::string text;
        try {
            const Executor executor(problem, std::move(plan), std::vector<PhysicalDevice>(16),
                                    std::move(ledger));
        } catch (const MeasureError& error) {
            text = error.what();
        }
        setrlimit(RLIMIT_AS, &before);
        pthread_attr_setstacksize(&attributes, stack_before);
        pthread_setattr_default_np(&attributes);
        pthread_attr_destroy(&attributes);
        QVERIFY2(text.find("of 16 threads") != std::string::npos, text.c_str());
    }

    void anErrorOfAttachingIsThrown() {
        const auto problem = test::problem(test::chain(3), test::uniform_machine(3));
        const Placement placement(problem->groups, 0);
        auto ledger = std::make_unique<Ledger>(problem, placement);
        ledger->detached_ = 1;
        QVERIFY_THROWS_EXCEPTION(MeasureError, Executor(problem, make_execution_plan(problem, placement),
                                                        std::vector<PhysicalDevice>(3), std::move(ledger)));
    }

    void placementsThatRunOutOfMemoryAreScored() {
        const auto problem = test::problem(test::fork_join(2), test::uniform_machine(2));
        const Placement alone(problem->groups, 0);
        Placement split = alone;
        split[problem->grouping.group_of[*problem->graph->find("branch1")]] = 1;
        MeasureOptions options;
        options.steps = 1;
        options.make_runner = [](const std::shared_ptr<const Problem>& of,
                                 std::span<const DeviceId> placement, std::span<const PhysicalDevice>,
                                 const NetworkRunnerOptions&) {
            auto ledger = std::make_unique<Ledger>(of, placement);
            ledger->full_ = 1;
            return ledger;
        };
        const std::vector<PhysicalDevice> devices(2);
        try {
            measure(problem, split, devices, options);
            QFAIL("it fitted");
        } catch (const OutOfMemory& error) {
            QCOMPARE(error.device(), DeviceId{1});
            QCOMPARE(std::string(error.what()), std::string("device is full"));
        }
        // A search goes on with the others.
        const auto measured = measure_placements(problem, std::vector{split, alone}, devices, options, {});
        QCOMPARE(measured.size(), std::size_t{2});
        QCOMPARE(measured[0].placement, alone);
        QVERIFY(measured[0].step && measured[0].score.fits);
        QCOMPARE(measured[1].placement, split);
        QVERIFY(!measured[1].step && !measured[1].score.fits);
        QVERIFY(measured[1].score.penalised_s > measured[0].score.penalised_s);
    }

    void recomputationIsRefusedBeforeAnythingRuns() {
        ProblemOptions options;
        options.recomputation = Recomputation::cheap;
        NetworkBuilder net("layers", 2);
        Value x = net.input("x", std::array<std::int64_t, 1>{8});
        for (const char* name : {"a", "b", "c"})
            x = net.relu(std::string(name) + "/relu", net.linear(name, x, 8));
        net.cross_entropy("loss", x);
        const auto problem = test::problem(net.build(), test::uniform_machine(1), options);
        QVERIFY(std::ranges::any_of(problem->graph->ops(), &Op::recomputes));
        int runners = 0;
        MeasureOptions measuring;
        measuring.make_runner = [&](const std::shared_ptr<const Problem>& of,
                                    std::span<const DeviceId> placement, std::span<const PhysicalDevice>,
                                    const NetworkRunnerOptions&) {
            ++runners;
            return std::make_unique<Ledger>(of, placement);
        };
        try {
            profile_network(problem, std::vector<PhysicalDevice>(1), measuring);
            QFAIL("it was profiled");
        } catch (const std::invalid_argument& error) {
            QVERIFY2(std::string(error.what()).find("--recompute none") != std::string::npos, error.what());
        }
        QCOMPARE(runners, 0);
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
