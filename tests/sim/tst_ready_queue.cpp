// SPDX-License-Identifier: MIT
// The set of ranks that are ready, against std::set.
#include <set>

#include <QTest>

#include "core/base/random.hpp"
#include "core/sim/ready_queue.hpp"

using namespace placewright;
using event_loop::kNone, event_loop::RankSet;

class TestReadyQueue : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void firstIsTheLeast_data();
    void firstIsTheLeast();
};

void TestReadyQueue::firstIsTheLeast_data() {
    QTest::addColumn<std::uint32_t>("limit");
    for (const std::uint32_t limit : {1U, 2U, 63U, 64U, 65U, 4'096U, 4'097U, 300'000U})
        QTest::addRow("below %u", limit) << limit;
}

void TestReadyQueue::firstIsTheLeast() {
    QFETCH(const std::uint32_t, limit);
    Random random(limit);
    RankSet ranks(limit);
    std::set<std::uint32_t> expected;
    const auto check_first = [&] { return ranks.first() == (expected.empty() ? kNone : *expected.begin()); };
    QVERIFY(check_first());
    // The set fills up and is emptied again in turn.
    for (int i = 0; i < 20'000; ++i) {
        const bool fills = i / 1'000 % 2 == 0;
        const auto number = static_cast<std::uint32_t>(random.index(limit));
        if (random.uniform(0, 1) < (fills ? 0.8 : 0.2)) {
            ranks.insert(number);
            expected.insert(number);
        } else {
            const std::uint32_t taken =
                expected.empty() || random.uniform(0, 1) < 0.3 ? number : *expected.begin();
            ranks.erase(taken);
            expected.erase(taken);
        }
        QVERIFY(check_first());
    }
    RankSet same(limit);
    for (const std::uint32_t number : expected) same.insert(number);
    QVERIFY(ranks == same);
    while (!expected.empty()) {
        QVERIFY(check_first());
        ranks.erase(*expected.begin());
        expected.erase(expected.begin());
    }
    QVERIFY(check_first());
    QVERIFY(ranks == RankSet(limit));
    same.insert(0);
    same.clear();
    QVERIFY(same == ranks);
}

QTEST_GUILESS_MAIN(TestReadyQueue)
#include "tst_ready_queue.moc"
