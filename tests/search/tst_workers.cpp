// SPDX-License-Identifier: MIT
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <QTest>

#include "core/search/threads.hpp"
#include "core/search/workers.hpp"

using namespace placewright;

class TestWorkers : public QObject {
    Q_OBJECT

private slots:
    void as_many_threads_as_cores_at_most() {
        QCOMPARE(Workers().threads(), 1U);
        QCOMPARE(Workers(0).threads(), usable_threads(0));
        QCOMPARE(Workers(1'000'000).threads(), usable_threads(0));
    }

    /// Many short rounds, with pauses after which the helpers sleep.
    void every_number_is_taken_once() {
        for (const unsigned threads : {1U, 2U, 0U}) {
            Workers workers(threads);
            for (std::size_t round = 0; round < 3000; ++round) {
                const std::size_t count = round % 17;
                std::vector<std::atomic<int>> taken(count);
                std::atomic<bool> known_threads = true;
                workers.for_each(count, [&](unsigned thread, std::size_t i) {
                    if (thread >= workers.threads()) known_threads = false;
                    ++taken[i];
                });
                QVERIFY(known_threads);
                for (const std::atomic<int>& times : taken) QCOMPARE(times.load(), 1);
                if (round % 1000 == 999) std::this_thread::sleep_for(std::chrono::milliseconds(5));
            }
        }
    }

    /// Numbers wait for each other, which they could not on one thread.
    void threads_run_side_by_side() {
        Workers workers(2);
        if (workers.threads() < 2) QSKIP("one core");
        std::atomic<int> running = 0;
        workers.for_each(2, [&](unsigned, std::size_t) {
            ++running;
            while (running < 2) std::this_thread::yield();
        });
        QCOMPARE(running.load(), 2);
    }

    void exceptions_arrive_and_the_next_round_runs() {
        for (const unsigned threads : {1U, 2U}) {
            Workers workers(threads);
            for (int round = 0; round < 100; ++round) {
                QVERIFY_THROWS_EXCEPTION(std::runtime_error, workers.for_each(8, [](unsigned, std::size_t i) {
                    if (i % 3 == 1) throw std::runtime_error("no");
                }));
                std::atomic<int> done = 0;
                workers.for_each(8, [&](unsigned, std::size_t) { ++done; });
                QCOMPARE(done.load(), 8);
            }
        }
    }

    void time_in_rounds_is_counted() {
        Workers workers;
        workers.for_each(
            2, [](unsigned, std::size_t) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); });
        QVERIFY(workers.shared_s() >= 0.004);
    }
};

QTEST_GUILESS_MAIN(TestWorkers)
#include "tst_workers.moc"
