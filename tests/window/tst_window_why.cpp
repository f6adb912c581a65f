// SPDX-License-Identifier: MIT
// Why a step takes as long as it does, and what would help: critical path, memory peaks and suggestions, with
// a real mouse and keyboard.
#include <algorithm>
#include <functional>
#include <memory>

#include <QAction>
#include <QApplication>
#include <QDockWidget>
#include <QHelpEvent>
#include <QLabel>
#include <QPushButton>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>
#include <QTextBrowser>
#include <QToolTip>
#include <QTreeWidget>

#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/device_panel.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/palette.hpp"
#include "widgets/suggestions_panel.hpp"
#include "widgets/why_panel.hpp"

using namespace placewright;
using test::raise;
using test::Shown;

namespace {

QTextBrowser* textOf(const Shown& shown) {
    return shown.window.whyPanel()->findChild<QTextBrowser*>();
}

QTreeWidget* listOf(const Shown& shown) {
    return shown.window.suggestionsPanel()->findChild<QTreeWidget*>();
}

/// Clicks the first link to `target` in what is seen of the text, which is scrolled until there is one.
bool clickLink(QTextBrowser* text, const QString& target) {
    for (text->moveCursor(QTextCursor::Start);;) {
        for (int y = 2; y < text->viewport()->height(); y += 3) {
            for (int x = 2; x < text->viewport()->width(); x += 3) {
                if (!text->anchorAt({x, y}).startsWith(target)) continue;
                QTest::mouseClick(text->viewport(), Qt::LeftButton, {}, {x, y});
                return true;
            }
        }
        QScrollBar* bar = text->verticalScrollBar();
        if (bar->value() == bar->maximum()) return false;
        bar->triggerAction(QAbstractSlider::SliderPageStepAdd);
    }
}

int pixelsOf(const QImage& image, const QColor& color) {
    int count = 0;
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) count += image.pixelColor(x, y) == color;
    }
    return count;
}

QString toolTipAt(QWidget* widget, QPoint position) {
    QToolTip::hideText();
    QHelpEvent event(QEvent::ToolTip, position, widget->mapToGlobal(position));
    QApplication::sendEvent(widget, &event);
    return QToolTip::text();
}

}  // namespace

class TestWindowWhy : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;
    QString m_machine;  ///< three equal GPUs
    QString m_wide;

    /// The branches are spread over the devices.
    void openSpread(Shown& shown) {
        QVERIFY(shown.open(m_wide, m_machine));
        Placement placement(shown.document.problem()->groups);
        for (std::size_t group = 0; group < placement.size(); ++group)
            placement[group] = static_cast<DeviceId>(group % 3);
        shown.document.showPlacement(placement, QStringLiteral("Spread"));
        QVERIFY(shown.waitUntilIdle());
    }

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        m_machine = m_place->write("three.json", test::uniform_machine(3));
        m_wide = m_place->write("wide.json", test::wide_graph());
    }
    void cleanup() { m_place.reset(); }

    void theCriticalPathIsDrawnOverTheTimeline() {
        Shown shown;
        openSpread(shown);
        TimelineView* timeline = shown.window.timelineView();
        const auto& why = shown.document.why();
        QVERIFY(why);
        QCOMPARE(why->timeline, shown.document.timeline());
        const QColor line = pathColor(timeline->palette());
        QCOMPARE(pixelsOf(timeline->grab().toImage(), line), 0);
        QTest::keyClick(&shown.window, Qt::Key_K, Qt::ControlModifier);
        QVERIFY(pixelsOf(timeline->grab().toImage(), line) > 100);
        // The outline is where the segments are.
        for (const PathSegment& segment : why->path.segments) {
            if (segment.kind != PathKind::compute) continue;
            const QRect span = timeline->spanRect(segment.span).toRect();
            QVERIFY(pixelsOf(timeline->grab(span.adjusted(-2, -2, 2, 2)).toImage(), line) > 0);
        }
        // It follows the placement.
        shown.document.moveOps({shown.op("branch1")}, 2);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.why()->timeline, shown.document.timeline());
        QVERIFY(pixelsOf(timeline->grab().toImage(), line) > 100);
        QTest::keyClick(&shown.window, Qt::Key_K, Qt::ControlModifier);
        QCOMPARE(pixelsOf(timeline->grab().toImage(), line), 0);
    }

    void thePanelTellsThePathAndLeadsToIt() {
        Shown shown;
        openSpread(shown);
        raise(shown.window.whyPanel());
        const auto why = shown.document.why();
        QVERIFY(textOf(shown)->toPlainText().contains(pathSummary(*why)));
        QVERIFY(!why->shares.empty());
        double told_s = 0;
        for (const auto& share : why->shares) told_s += share.total_s();
        const CriticalPath& path = why->path;
        QVERIFY(qFuzzyCompare(told_s, shown.document.timeline()->outcome.total_time_s));
        QVERIFY(std::ranges::is_sorted(why->shares, std::greater<>(), &TimelineWhy::Share::total_s));
        QVERIFY(!why->longest_waits.empty());
        for (const std::size_t wait : why->longest_waits) {
            QCOMPARE(path.segments[wait].kind, PathKind::queue);
            QTextDocument plain;
            plain.setHtml(segmentText(*why, wait));
            QVERIFY(textOf(shown)->toPlainText().contains(plain.toPlainText()));
        }

        const std::size_t shortest = why->longest_work.back();
        QVERIFY(clickLink(textOf(shown), QStringLiteral("segment:%1").arg(shortest)));
        const PathSegment& segment = path.segments[shortest];
        const TimeAxis& axis = shown.window.timelineView()->axis();
        QVERIFY(axis.start_s <= segment.start_s && axis.end_s >= segment.end_s);
        QVERIFY(axis.end_s - axis.start_s < shown.document.timeline()->outcome.total_time_s);
        QCOMPARE(shown.document.selection(),
                 OpList{why->timeline->forwardOf(why->timeline->trace.spans[segment.span])});
        QVERIFY(shown.action(QStringLiteral("Critical path in the timeline"))->isChecked());
    }

    void theGraphShowsTheCriticalPath() {
        Shown shown;
        openSpread(shown);
        GraphView* graph = shown.window.graphView();
        // Large enough that no op is behind the overview in the corner.
        shown.window.resize(2000, 1400);
        QVERIFY(QTest::qWaitFor([&] { return graph->height() > 500; }));
        graph->fit();
        const OpList onPath = shown.document.why()->ops();
        const auto nodes = [&] {
            const QImage image = graph->grab().toImage();
            std::vector<QColor> seen;
            for (OpId op = 0; op < shown.document.problem()->forward->size(); ++op)
                seen.push_back(image.pixelColor(graph->positionOf(op).toPoint()));
            return seen;
        };
        const auto before = nodes();
        QTest::keyClick(&shown.window, Qt::Key_K, Qt::ControlModifier | Qt::ShiftModifier);
        const auto after = nodes();
        QVERIFY(onPath.size() < before.size());
        for (OpId op = 0; op < before.size(); ++op)
            QCOMPARE(before[op] == after[op], std::ranges::binary_search(onPath, op));
    }

    void thePeakTellsWhatIsAlive() {
        Shown shown;
        openSpread(shown);
        TimelineView* timeline = shown.window.timelineView();
        const auto why = shown.document.why();
        const MemoryPeak& peak = why->peaks[1];
        QVERIFY(!peak.held.empty());
        const QString largest =
            QString::fromStdString(shown.document.problem()->graph->op(peak.held.front().op).name);
        const QPoint mark = timeline->peakRect(1).center().toPoint();
        for (const QString& tip : {toolTipAt(timeline, mark), toolTipAt(timeline, QPoint(5, mark.y())),
                                   toolTipAt(shown.window.devicePanel(), shown.rowOf(1))}) {
            QVERIFY2(tip.contains(peakText(*why, 1, false)), qPrintable(tip));
            QVERIFY2(tip.contains(largest), qPrintable(tip));
        }
        const auto isSeen = [&] { return !textOf(shown)->viewport()->visibleRegion().isEmpty(); };
        QVERIFY(!isSeen());
        QTest::mouseClick(timeline, Qt::LeftButton, {}, mark);
        QTRY_VERIFY(isSeen());
        QVERIFY(clickLink(textOf(shown), QStringLiteral("op:%1").arg(peak.held.front().op)));
        QCOMPARE(shown.document.selection(), OpList{peak.held.front().op});
    }

    void suggestionsAreTheBestSingleMoves() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        QVERIFY(!shown.document.moves());  // nobody sees them
        raise(shown.window.suggestionsPanel());
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.moves());
        const Problem& problem = *shown.document.problem();
        const double now_s = shown.stepTime();
        std::size_t better = 0, alike = 0;
        double best_s = now_s;
        for (GroupId group = 0; group < problem.groups; ++group) {
            std::vector<double> of_group_s;
            for (const DeviceId device : problem.allowed_devices(group)) {
                Placement moved = shown.document.placement();
                moved[group] = device;
                const double moved_s = test::simulated(shown.document, moved);
                best_s = std::min(best_s, moved_s);
                if (moved_s >= now_s) continue;
                // Devices that are alike are one suggestion.
                const bool same = std::ranges::any_of(
                    of_group_s, [&](double other_s) { return std::abs(other_s - moved_s) < 1e-12; });
                (same ? alike : better) += 1;
                of_group_s.push_back(moved_s);
            }
        }
        QVERIFY(better > 0);
        QVERIFY(alike > 0);
        QTreeWidget* list = listOf(shown);
        QCOMPARE(list->topLevelItemCount(), static_cast<int>(better));

        // The pointer at a move shows its op in the other views.
        QSignalSpy hovered(shown.window.suggestionsPanel(), &SuggestionsPanel::opHovered);
        const QTreeWidgetItem* first = list->topLevelItem(0);
        const QPoint at = list->visualItemRect(first).center();
        QTest::mouseMove(list->viewport(), at + QPoint(3, 0));
        QTest::mouseMove(list->viewport(), at);
        QTRY_VERIFY(!hovered.isEmpty());
        const OpId op = shown.op(qPrintable(first->text(0)));
        QCOMPARE(hovered.last().first().value<OpId>(), op);

        // A click selects it, a double-click moves it, and that can be undone.
        const Placement before = shown.document.placement();
        QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, at);
        QCOMPARE(shown.document.selection(), OpList{op});
        QCOMPARE(shown.document.placement(), before);
        QCOMPARE(first->text(2), QStringLiteral("gpu:1 or 1 more"));
        QVERIFY2(first->toolTip(2).startsWith(QStringLiteral("gpu:1, gpu:2")), qPrintable(first->toolTip(2)));
        const QString to = QStringLiteral("gpu:1");
        QTest::mouseDClick(list->viewport(), Qt::LeftButton, {}, at);
        QVERIFY(shown.document.placement() != before);
        QCOMPARE(QString::fromStdString(problem.machine->device(shown.document.deviceOfOps()[op]).name), to);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.stepTime(), best_s);
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(shown.document.placement(), before);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(list->topLevelItemCount(), static_cast<int>(better));
    }

    void followedSuggestionsEndWhereNoneHelps() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        raise(shown.window.suggestionsPanel());
        QTreeWidget* list = listOf(shown);
        auto* apply = shown.window.suggestionsPanel()->findChild<QPushButton*>();
        double step_s = shown.stepTime();
        for (int moves = 0;; ++moves) {
            QVERIFY(moves < 100);
            QVERIFY(shown.waitUntilIdle());
            if (moves > 0) QVERIFY(shown.stepTime() < step_s);
            step_s = shown.stepTime();
            if (list->topLevelItemCount() == 0) break;
            list->setFocus();
            list->setCurrentItem(list->topLevelItem(0));
            QVERIFY(apply->isEnabled());
            if (moves % 2 == 0) {
                QTest::mouseClick(apply, Qt::LeftButton);
            } else {
                QTest::keyClick(list, Qt::Key_Return);
            }
        }
        QVERIFY(!apply->isEnabled());
        bool told = false;
        for (const QLabel* label : shown.window.suggestionsPanel()->findChildren<QLabel*>())
            told |= label->text().contains(QStringLiteral("No single move improves this placement"));
        QVERIFY(told);
    }

    void suggestionsWaitForASearchAndStopWhenHidden() {
        Shown shown;
        const QString large = m_place->write("large.json", test::random_graph(1, 3000));
        QVERIFY(shown.open(large, m_machine));
        raise(shown.window.suggestionsPanel());
        QSignalSpy progress(&shown.document, &Document::movesProgressed);
        QTRY_VERIFY_WITH_TIMEOUT(!progress.isEmpty() || shown.document.moves(), 30'000);
        raise(shown.window.whyPanel());
        QVERIFY(shown.waitUntilIdle());
        if (!shown.document.moves()) {
            const auto told = progress.size();
            QTest::qWait(50);
            QCOMPARE(progress.size(), told);
        }

        QVERIFY(shown.open(m_wide, m_machine));
        shown.window.chooseEvaluations(1'000'000'000);
        shown.window.optimizeOrStop();
        raise(shown.window.suggestionsPanel());
        QVERIFY(shown.document.isSearching());
        QTest::qWait(50);
        QVERIFY(!shown.document.moves());
        shown.window.optimizeOrStop();
        QTRY_VERIFY_WITH_TIMEOUT(shown.document.moves(), 30'000);
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowWhy)
#include "tst_window_why.moc"
