// SPDX-License-Identifier: MIT
// How often the window draws what searches come to.
#include <map>

#include <QDockWidget>
#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTest>

#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/curve_plot.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/qcustomplot_header.hpp"
#include "widgets/runs_view.hpp"
#include "widgets/timeline_view.hpp"

using namespace placewright;
using test::Shown;

namespace {

constexpr double kMostPerSecond = 31;  // of a timer of 33 ms
constexpr int kSpare = 5;              // of what is drawn for other reasons
constexpr qint64 kWatchedMs = 600;

class Paints : public QObject {
public:
    void watch(QWidget* widget) {
        m_counts[widget] = 0;
        widget->installEventFilter(this);
    }
    void clear() {
        for (auto& [widget, count] : m_counts) count = 0;
    }
    const std::map<QObject*, int>& counts() const { return m_counts; }

    bool eventFilter(QObject* watched, QEvent* event) override {
        if (event->type() == QEvent::Paint) ++m_counts.at(watched);
        return false;
    }

private:
    std::map<QObject*, int> m_counts;
};

}  // namespace

class TestWindowPace : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void tenSearchesAreDrawnNoOftenerThanOne() {
        const test::Workplace place;
        Shown shown;
        QVERIFY(shown.open(place.write("wide.json", test::wide_graph(12)),
                           place.write("three.json", test::uniform_machine(3))));
        Paints paints;
        paints.watch(shown.window.runsView()->viewport());
        paints.watch(shown.window.timelineView());
        paints.watch(shown.window.graphView());
        auto* curve = shown.window.findChild<CurvePlot*>();
        QVERIFY(curve != nullptr);
        test::raise(curve);
        QTRY_VERIFY(curve->isVisible());
        paints.watch(curve->plot());
        for (int i = 0; i < 10; ++i) {
            RunRequest request = test::request("random", test::kEndless);
            request.seed = static_cast<std::uint64_t>(i) + 1;
            QVERIFY(shown.document.startSearch(std::move(request)) != 0);
        }
        const auto allProgress = [&] {
            return std::ranges::all_of(shown.document.runs(),
                                       [](const auto& run) { return run->simulated() != nullptr; });
        };
        QTRY_VERIFY_WITH_TIMEOUT(allProgress(), 20'000);
        // From here on the test says that they progress, as often as no machine could.
        for (const auto& run : shown.document.runs()) shown.document.pauseRun(run->id(), true);
        QTest::qWait(200);
        QSignalSpy changed(&shown.document, &Document::runsChanged);
        paints.clear();
        QElapsedTimer clock;
        clock.start();
        int said = 0;
        while (clock.elapsed() < kWatchedMs) {
            for (const auto& run : shown.document.runs()) Q_EMIT run->progressed();
            said += 10;
            QTest::qWait(2);
        }
        const double most = kMostPerSecond * static_cast<double>(clock.elapsed()) / 1000 + kSpare;
        QVERIFY(said > 2 * most && changed.count() > 1);
        QVERIFY2(static_cast<double>(changed.count()) <= most, qPrintable(QString::number(changed.count())));
        for (const auto& [widget, count] : paints.counts())
            QVERIFY2(count <= most, qPrintable(QStringLiteral("%1: %2 times")
                                                   .arg(QLatin1String(widget->metaObject()->className()))
                                                   .arg(count)));
        for (const auto& run : shown.document.runs()) shown.document.cancelRun(run->id());
        QVERIFY(shown.waitUntilIdle());
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowPace)
#include "tst_window_pace.moc"
