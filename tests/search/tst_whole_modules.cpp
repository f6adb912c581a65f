// SPDX-License-Identifier: MIT
// Placements of whole modules beside those of single ops.
#include <atomic>
#include <thread>

#include <QtTest>

#include "core/algorithms.hpp"
#include "core/job/whole_modules.hpp"

namespace placewright {

class TestWholeModules : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theSearchWaitsWhilePaused();
};

void TestWholeModules::theSearchWaitsWhilePaused() {
    JobOptions options;
    options.simulation.runtime = Runtime::eager;
    const Job job = load_job("resnet50", "4x-v100-nvlink", options);
    const auto grouping = modules_to_keep_whole(job);
    QVERIFY(grouping.has_value());
    const AlgorithmInfo& algorithm = *find_algorithm("hill-climbing");
    const auto expected = place_whole_modules(job, *grouping, algorithm, {}, 1, {1000});
    QVERIFY(expected.has_value());
    QCOMPARE(modules_to_keep_whole(load_job("resnet50", "4x-v100-nvlink", {})).has_value(), false);

    Pause pause;
    pause.set(true);
    std::atomic<bool> ended = false;
    std::optional<WholeModules> paused;
    std::thread searcher([&] {
        paused = place_whole_modules(job, *grouping, algorithm, {}, 1, {1000}, 0, {}, &pause);
        ended = true;
    });
    QTest::qSleep(300);
    const bool early = ended;
    pause.set(false);
    searcher.join();
    QVERIFY(!early && paused.has_value());
    QCOMPARE(paused->placement, expected->placement);
}

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestWholeModules)
#include "tst_whole_modules.moc"
