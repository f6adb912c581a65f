// SPDX-License-Identifier: MIT
// The CDF panel of the main window: scores of running searches, ops and transfers on screen.
#include <memory>

#include <QComboBox>
#include <QDockWidget>
#include <QTest>
#include <QTreeWidget>

#include "app/window/live_cdf.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/qcustomplot_header.hpp"
#include "widgets/runs_view.hpp"
#include "widgets/timeline_data.hpp"

using namespace placewright;
using test::clickOptimize, test::kEndless, test::running, test::Shown;

namespace {

void choose(Shown& shown, int content) {
    auto* choice = shown.window.cdfPlot()->findChild<QComboBox*>("content");
    choice->setFocus();
    QTest::keyClick(choice, Qt::Key_Home);
    for (int i = 0; i < content; ++i) QTest::keyClick(choice, Qt::Key_Down);
}

QString headerOf(Shown& shown) {
    return shown.window.cdfPlot()->findChild<QTreeWidget*>("schemes")->headerItem()->text(0);
}

QString cell(Shown& shown, int row, int column) {
    const auto* item = shown.window.cdfPlot()->findChild<QTreeWidget*>("schemes")->topLevelItem(row);
    return item == nullptr ? QString() : item->text(column);
}

}  // namespace

class TestWindowCdf : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;
    QString m_machine, m_wide;

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        m_machine = m_place->write("three.json", test::uniform_machine(3));
        m_wide = m_place->write("wide.json", test::wide_graph(12));
    }
    void cleanup() { m_place.reset(); }

    void theScoresOfRunningSearchesGrow() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.window.resize(1400, 900);
        test::raise(shown.window.cdfPlot());
        shown.window.chooseAlgorithm("random");
        shown.window.chooseEvaluations(kEndless);
        clickOptimize(shown);
        QCustomPlot* plot = shown.window.cdfPlot()->plot();
        QTRY_VERIFY_WITH_TIMEOUT(running(shown) && plot->isVisible() && plot->graphCount() == 2, 60'000);
        QVERIFY2(plot->height() >= 140, qPrintable(QString::number(plot->height())));
        const QString early = cell(shown, 0, 3);
        QTRY_VERIFY_WITH_TIMEOUT(cell(shown, 0, 3) != early, 60'000);
        // A second one beside it.
        shown.window.chooseAlgorithm("genetic");
        shown.window.optimize();
        QTRY_VERIFY_WITH_TIMEOUT(plot->graphCount() == 4, 60'000);
        clickOptimize(shown);
        QVERIFY(shown.waitUntilIdle());
        const auto& runs = shown.document.runs();
        for (std::size_t i = 0; i < 2; ++i) {
            const int row = static_cast<int>(i);
            QTRY_COMPARE(cell(shown, row, 0), test::rows(shown)[i].title);
            QCOMPARE(headerOf(shown), QStringLiteral("Run"));
            QTRY_COMPARE(cell(shown, row, 3), QLocale().toString(qulonglong(runs[i]->sketch()->count())));
            QVERIFY(runs[i]->sketch()->count() >= runs[i]->progress().evaluations);
            // The least score is the best.
            QVERIFY(std::abs(runs[i]->sketch()->bins().front().value / runs[i]->progress().best.value_s - 1) <
                    1e-3);
        }
    }

    void theSameSeedHasTheSameDistribution() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.window.chooseAlgorithm("genetic");
        shown.window.chooseEvaluations(2'000);
        const Placement before = shown.document.placement();
        for (int i = 0; i < 2; ++i) {
            clickOptimize(shown);
            QVERIFY(shown.waitUntilIdle());
            shown.document.undoStack()->undo();
            QVERIFY(shown.document.placement() == before);
        }
        QVERIFY(shown.document.runs()[0]->sketch()->bins() == shown.document.runs()[1]->sketch()->bins());
        QCOMPARE(shown.document.runs()[0]->sketch()->count(), std::uint64_t{2'000});
    }

    void opsAndTransfersOnScreenAreDistributed() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        test::raise(shown.window.cdfPlot());
        shown.document.moveOps({shown.op("branch1"), shown.op("branch2")}, 1);
        QVERIFY(shown.waitUntilIdle());
        std::size_t ops = 0, transfers = 0;
        double most = 0;
        for (const Span& span : shown.document.timeline()->trace.spans) {
            ++(span.kind == Span::Kind::op ? ops : transfers);
            if (span.kind == Span::Kind::op) most = std::max(most, span.end_s - span.start_s);
        }
        QVERIFY(transfers > 0);
        choose(shown, 1);
        QCOMPARE(cell(shown, 0, 0), QString("All ops"));
        QCOMPARE(cell(shown, 0, 3), QString::number(ops));
        QCOMPARE(cell(shown, 0, 2), QString::fromStdString(format_seconds(most)));
        QCOMPARE(cell(shown, 1, 0), QString("gpu:0"));
        QCOMPARE(cell(shown, 2, 0), QString("gpu:1"));
        QCOMPARE(cell(shown, 2, 3), QString("2"));
        choose(shown, 2);
        QCOMPARE(cell(shown, 0, 0), QString("All transfers"));
        QCOMPARE(cell(shown, 0, 3), QString::number(transfers));
        choose(shown, 3);
        QVERIFY(cell(shown, 0, 1).endsWith("B"));
        QVERIFY(shown.window.cdfPlot()->plot()->xAxis->label().contains("Size"));
        // It follows the screen.
        choose(shown, 1);
        shown.document.undoStack()->undo();
        QVERIFY(shown.waitUntilIdle());
        QTRY_COMPARE(cell(shown, 2, 0), QString());
        choose(shown, 2);
        QVERIFY(!shown.window.cdfPlot()->plot()->isVisible());
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowCdf)
#include "tst_window_cdf.moc"
