// SPDX-License-Identifier: MIT
// What the tests of the window count as blocking it.
#include <vector>

#include <QEventLoop>
#include <QTest>
#include <QTimer>

#include "tests/support/cpu_time.hpp"
#include "tests/support/watched_application.hpp"

namespace placewright::test {
namespace {

void work(double seconds) {
    const CpuTimer timer;
    while (timer.elapsed_s() < seconds) {
    }
}

}  // namespace

class TestWatchedApplication : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void reportsHandlersThatBlock();
    void countsWhatHandlersSendToTheHandler();
    void leavesOutTheTestItself();
    void leavesOutLoopsWithinHandlers();
    void leavesOutWhatIsUnwatched();

private:
    /// Calls `handler` from the event loop.
    void handle(const std::function<void()>& handler);

    std::vector<WatchedApplication::Handler> m_blocked;
};

namespace {
constexpr double kLeast_s = 0.03, kShort_s = 0.02, kLong_s = 0.04;
}

void TestWatchedApplication::init() {
    m_blocked.clear();
    WatchedApplication::instance()->observe(
        kLeast_s, [this](const WatchedApplication::Handler& handler) { m_blocked.push_back(handler); });
}

void TestWatchedApplication::handle(const std::function<void()>& handler) {
    QTimer timer;
    timer.setObjectName(QStringLiteral("slow"));
    timer.setSingleShot(true);
    bool handled = false;
    connect(&timer, &QTimer::timeout, &timer, [&] {
        handler();
        handled = true;
    });
    timer.start(0);
    QVERIFY(QTest::qWaitFor([&] { return handled; }));
}

void TestWatchedApplication::reportsHandlersThatBlock() {
    handle([] { work(kShort_s); });
    QVERIFY(m_blocked.empty());
    handle([] { work(kLong_s); });
    QCOMPARE(m_blocked.size(), 1U);
    QCOMPARE(m_blocked[0].what, "Timer to QTimer 'slow'");
    QVERIFY(m_blocked[0].cpu_s >= kLong_s);
    QVERIFY(m_blocked[0].wall_s >= kLong_s);
    // Waiting takes no processor time.
    handle([] { QTest::qSleep(60); });
    QCOMPARE(m_blocked.size(), 1U);
}

void TestWatchedApplication::countsWhatHandlersSendToTheHandler() {
    class Worker : public QObject {
        void customEvent(QEvent*) override { work(kShort_s); }
    } worker;
    handle([&] {
        work(kShort_s);
        QEvent event(QEvent::User);
        QCoreApplication::sendEvent(&worker, &event);
    });
    QCOMPARE(m_blocked.size(), 1U);
    QCOMPARE(m_blocked[0].what, "Timer to QTimer 'slow'");
}

void TestWatchedApplication::leavesOutTheTestItself() {
    work(kLong_s);
    QCoreApplication::processEvents();
    QVERIFY(m_blocked.empty());
}

void TestWatchedApplication::leavesOutLoopsWithinHandlers() {
    // A dialog: two handlers in its loop, then the rest of the one that opened it. None is too long by
    // itself.
    handle([] {
        work(kShort_s);
        QEventLoop loop;
        QTimer::singleShot(0, [] { work(kShort_s); });
        QTimer::singleShot(5, &loop, [&] {
            work(kShort_s);
            loop.quit();
        });
        loop.exec();
        work(kShort_s);
    });
    QVERIFY(m_blocked.empty());
    handle([] {
        QEventLoop loop;
        QTimer::singleShot(0, &loop, &QEventLoop::quit);
        loop.exec();
        work(kLong_s);
    });
    QCOMPARE(m_blocked.size(), 1U);
    QCOMPARE(m_blocked[0].what, "Timer to QTimer 'slow'");
    // Before the loop.
    handle([] {
        work(kLong_s);
        QCoreApplication::processEvents();
    });
    QCOMPARE(m_blocked.size(), 2U);
    QCOMPARE(m_blocked[1].what, "Timer to QTimer 'slow'");
}

void TestWatchedApplication::leavesOutWhatIsUnwatched() {
    handle([] {
        const Unwatched unwatched("this test");
        work(kLong_s);
    });
    QVERIFY(m_blocked.empty());
}

}  // namespace placewright::test

int main(int argc, char** argv) {
    placewright::test::WatchedApplication app(argc, argv);
    placewright::test::TestWatchedApplication test;
    return QTest::qExec(&test, argc, argv);
}
#include "tst_watched_application.moc"
