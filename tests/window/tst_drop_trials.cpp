// SPDX-License-Identifier: MIT
// The step times that are shown while ops are dragged: those of whole simulations, whatever was asked before.
#include <atomic>
#include <set>
#include <thread>

#include <QTest>

#include "app/window/drop_trials.hpp"
#include "core/base/random.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

namespace {

/// Every third op may not be on gpu:0; too little memory for all of it on one device.
Job job_of(std::uint64_t seed, const JobOptions& options = {}) {
    const Graph base = test::random_graph(seed, 30, 3, Training::implicit);
    GraphBuilder builder(base.name(), 1, Training::implicit);
    for (Op op : base.ops()) {
        if (builder.size() % 3 == 2) op.devices = {"gpu:1", "gpu:2"};
        builder.add(std::move(op));
    }
    return make_job(std::make_shared<const Graph>(builder.build()),
                    std::make_shared<const Machine>(test::uniform_machine(3, 1.2e8)), options);
}

using test::random_placement;

std::vector<GroupId> random_groups(const Problem& problem, Random& random) {
    std::set<GroupId> groups;
    for (std::size_t count = 1 + random.index(4); groups.size() < count;)
        groups.insert(static_cast<GroupId>(random.index(problem.groups)));
    return {groups.begin(), groups.end()};
}

/// One whole simulation for each device that all the groups may be on.
DropPreviews expected(const Job& job, const Placement& placement, const std::vector<GroupId>& groups) {
    Simulator simulator(job.problem, job.simulation);
    const double now_s = simulator.run(placement).step_time_s;
    DropPreviews previews(job.problem->devices);
    for (DeviceId device = 0; device < job.problem->devices; ++device) {
        Placement moved = placement;
        bool possible = true;
        for (const GroupId group : groups) {
            moved[group] = device;
            possible = possible && std::ranges::binary_search(job.problem->allowed_devices(group), device);
        }
        if (!possible) continue;
        const Outcome& outcome = simulator.run(moved);
        previews[device] = {.possible = true,
                            .fits = outcome.fits,
                            .step_time_s = outcome.step_time_s,
                            .change_s = outcome.step_time_s - now_s,
                            .held_bytes = outcome.peak_bytes[device],
                            .limit_bytes = job.problem->memory_limit_bytes[device]};
    }
    return previews;
}

}  // namespace

class TestDropTrials : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void previewsAreSimulations_data() {
        QTest::addColumn<quint64>("seed");
        for (quint64 seed = 0; seed < 20; ++seed) QTest::addRow("%llu", seed) << seed;
    }
    void previewsAreSimulations() {
        QFETCH(quint64, seed);
        JobOptions options;
        options.problem.recomputation = static_cast<Recomputation>(seed % 3);
        options.problem.in_place = seed % 2 == 0;
        options.problem.accumulate_gradients = seed % 4 == 1;
        if (seed % 5 == 4) options.simulation = {.batches = 3, .in_flight = 2};
        const Job job = job_of(seed, options);
        Random random(seed);
        DropTrials trials;
        for (int drag = 0; drag < 4; ++drag) {
            const Placement placement = random_placement(*job.problem, random);
            // The placement is known before the drag, or only when it begins.
            if (drag % 2 == 0) trials.prepare(job, placement);
            for (int i = 0; i < 6; ++i) {
                const auto groups = random_groups(*job.problem, random);
                const DropPreviews previews = trials.previews(job, placement, groups, {});
                QVERIFY(previews == expected(job, placement, groups));
                m_refused += std::ranges::count(previews, false, &DropPreview::possible);
                m_fitting += std::ranges::count_if(
                    previews, [](const DropPreview& preview) { return preview.possible && preview.fits; });
                m_overflowing += std::ranges::count(previews, false, &DropPreview::fits);
            }
        }
    }
    void allKindsWereSeen() {
        if (m_fitting + m_overflowing == 0) QSKIP("counts what the test before has seen");
        QVERIFY(m_refused > 20 && m_fitting > 20 && m_overflowing > 20);
    }

    void anotherNetworkOrSimulationIsLearnt() {
        JobOptions pipelined;
        pipelined.simulation.batches = 4;
        const Job first = job_of(1), second = job_of(2), third = job_of(2, pipelined);
        Random random(1);
        DropTrials trials;
        for (const Job* job : {&first, &second, &third, &first}) {
            const Placement placement = random_placement(*job->problem, random);
            QVERIFY(trials.previews(*job, placement, {5}, {}) == expected(*job, placement, {5}));
        }
    }

    void aStoppedQuestionIsLeftUnanswered() {
        const Job job = job_of(3);
        std::stop_source stop;
        stop.request_stop();
        DropTrials trials;
        const DropPreviews previews = trials.previews(job, job.single_device, {4}, stop.get_token());
        QVERIFY(std::ranges::none_of(previews, &DropPreview::possible));
    }

    void questionsFromSeveralThreads() {
        const Job job = job_of(4);
        DropTrials trials;
        std::vector<std::jthread> threads;
        std::atomic<int> right = 0;
        for (std::uint64_t seed = 0; seed < 4; ++seed) {
            threads.emplace_back([&, seed] {
                Random random(seed);
                for (int i = 0; i < 10; ++i) {
                    const Placement placement = random_placement(*job.problem, random);
                    const auto groups = random_groups(*job.problem, random);
                    right += trials.previews(job, placement, groups, {}) == expected(job, placement, groups);
                }
            });
        }
        threads.clear();
        QCOMPARE(right.load(), 40);
    }

private:
    std::ptrdiff_t m_refused = 0, m_fitting = 0, m_overflowing = 0;
};

QTEST_GUILESS_MAIN(TestDropTrials)
#include "tst_drop_trials.moc"
