// SPDX-License-Identifier: MIT
// Which search the screen follows, and what becomes of runs that are stopped, removed, hidden or renamed.
#include <algorithm>
#include <memory>

#include <QApplication>
#include <QContextMenuEvent>
#include <QLineEdit>
#include <QMenu>
#include <QTest>
#include <QToolButton>

#include "tests/support/graphs.hpp"
#include "tests/support/menus.hpp"
#include "tests/support/window.hpp"
#include "widgets/archive_view.hpp"
#include "widgets/curve_plot.hpp"
#include "widgets/message_bar.hpp"
#include "widgets/qcustomplot_header.hpp"
#include "widgets/runs_view.hpp"

using namespace placewright;
using test::clickOptimize, test::kEndless, test::pressInMenu, test::rows, test::running, test::Shown,
    test::statusText;

namespace {

constexpr int kPatience = 60'000;

/// Selects the row of a run with the mouse; keys go to it then.
RunsView* select(const Shown& shown, int id) {
    RunsView* view = shown.window.runsView();
    for (int row = 0; row < view->model()->rowCount(); ++row) {
        const QModelIndex index = view->model()->index(row, 0);
        if (index.data(RunsModel::IdRole).toInt() == id)
            QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, view->visualRect(index).center());
    }
    return view;
}

void press(const Shown& shown, int id, Qt::Key key) {
    QTest::keyClick(select(shown, id), key);
}

const RunRow& rowOf(const Shown& shown, int id) {
    return *std::ranges::find(rows(shown), id, &RunRow::id);
}

/// Starts a search that does not end; it only tries placements near one device, so that it stays behind.
int startBehind(Shown& shown) {
    RunRequest request = test::request("hill-climbing", kEndless);
    request.options["patience"] = std::int64_t{0};
    request.options["neighbourhood"] = std::string("random");
    request.options["restarts"] = std::int64_t{0};
    return shown.document.startSearch(request);
}

bool hasPlacement(const Shown& shown, int id) {
    return QTest::qWaitFor(
        [&] { return rowOf(shown, id).step_time_s > 0 && rowOf(shown, id).evaluations > 50; }, kPatience);
}

}  // namespace

class TestWindowFollow : public QObject {
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

    // --- the screen ---

    /// While several searches run, the row that is marked, the screen and the status bar agree.
    void theMarkedRunIsTheOneOnScreen() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        const int behind = startBehind(shown);
        const int ahead = shown.document.startSearch(test::request("genetic", kEndless));
        const int last = shown.document.startSearch(test::request("random", 1));
        QVERIFY(hasPlacement(shown, ahead) && hasPlacement(shown, behind));
        QTRY_VERIFY_WITH_TIMEOUT(!rowOf(shown, last).isUnderWay(), kPatience);
        QTRY_VERIFY_WITH_TIMEOUT(
            std::ranges::any_of(rows(shown), [](const RunRow& row) { return row.shown; }), kPatience);
        QTRY_VERIFY2(statusText(shown, "Search").contains("the best of 2"),
                     qPrintable(statusText(shown, "Search")));
        clickOptimize(shown);
        QVERIFY(shown.waitUntilIdle());
        double best_s = rows(shown).front().step_time_s;
        for (const RunRow& row : rows(shown)) best_s = std::min(best_s, row.step_time_s);
        QCOMPARE(shown.stepTime(), best_s);
        const auto marked = std::ranges::find_if(rows(shown), [](const RunRow& row) { return row.shown; });
        QVERIFY(marked != rows(shown).end());
        QCOMPARE(marked->step_time_s, shown.stepTime());
        const QModelIndex title = shown.window.runsView()->runs()->index(
            static_cast<int>(marked - rows(shown).begin()), RunsModel::Title);
        QVERIFY(title.data().toString().startsWith(QStringLiteral("▸ ")));
    }

    void aRunIsFollowedAloneUntilAllStop() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        // Its placements are built, so that the other stays behind.
        const int ahead = shown.document.startSearch(test::request("genetic", kEndless));
        QVERIFY(hasPlacement(shown, ahead));
        RunRequest single = test::request("random", kEndless);
        const int behind = shown.document.startSearch(single);
        QVERIFY(hasPlacement(shown, behind));

        // By the menu of the row.
        RunsView* view = select(shown, behind);
        QContextMenuEvent event(QContextMenuEvent::Keyboard, {}, {});
        QApplication::sendEvent(view->viewport(), &event);
        auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
        QVERIFY(menu);
        QAction* follow = nullptr;
        for (QAction* action : menu->actions()) {
            if (action->text() == QStringLiteral("Follow this run")) follow = action;
        }
        QVERIFY(follow != nullptr && follow->isEnabled() && !follow->isChecked());
        test::clickInMenu(menu, follow);
        QCOMPARE(shown.document.pinnedRun()->id(), behind);
        QVERIFY(rowOf(shown, behind).pinned && rowOf(shown, behind).shown && !rowOf(shown, ahead).shown);
        QVERIFY2(statusText(shown, "Search").contains("alone"), qPrintable(statusText(shown, "Search")));
        QVERIFY(!shown.document.follows(*shown.document.runs().front()));
        // What is on screen is a placement of that run, though another has a better one.
        QVERIFY(shown.document.placement() == *shown.document.runs().back()->simulated()->placement);

        // The key ends it: the best of both is followed again.
        press(shown, behind, Qt::Key_P);
        QVERIFY(shown.document.pinnedRun() == nullptr);
        press(shown, behind, Qt::Key_P);
        QCOMPARE(shown.document.pinnedRun()->id(), behind);

        // When all stop the best of all is shown, whichever was followed.
        clickOptimize(shown);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.pinnedRun() == nullptr);
        QCOMPARE(shown.stepTime(),
                 std::min(rowOf(shown, ahead).step_time_s, rowOf(shown, behind).step_time_s));
    }

    void anEditSaysThatNothingIsFollowedAndTheKeyFollowsAgain() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        const double first_s = shown.stepTime();
        QAction* again = shown.action("Follow the best");
        auto* button = shown.window.findChild<QToolButton*>("followAgain");
        QVERIFY(!again->isEnabled() && !button->isVisible());
        const int id = shown.document.startSearch(test::request("genetic", kEndless));
        QTRY_VERIFY_WITH_TIMEOUT(shown.stepTime() < first_s, kPatience);
        QVERIFY(!again->isEnabled() && !button->isVisible());

        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QTRY_VERIFY2(shown.message().contains("no longer follows"), qPrintable(shown.message()));
        QVERIFY(statusText(shown, "Search").contains("not followed"));
        QVERIFY(again->isEnabled() && button->isVisible());
        QVERIFY(!rowOf(shown, id).shown);
        QTest::mouseClick(button, Qt::LeftButton);
        QVERIFY(shown.document.isFollowing());
        QTRY_VERIFY_WITH_TIMEOUT(rowOf(shown, id).shown, kPatience);
        QVERIFY(!button->isVisible());

        // A move by hand ends it too; the key resumes it.
        shown.document.setSelection({shown.op("branch0")});
        QTest::keyClick(&shown.window, Qt::Key_Escape);
        shown.document.moveOps({shown.op("branch0")}, (shown.deviceOf("branch0") + 1) % 3);
        QVERIFY(!shown.document.isFollowing() && button->isVisible());
        QTest::keyClick(&shown.window, Qt::Key_F8);
        QVERIFY(shown.document.isFollowing());
    }

    void anotherMachineSaysWhichSearchesItStopped() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        const int genetic = shown.document.startSearch(test::request("genetic", kEndless));
        const int random = shown.document.startSearch(test::request("random", kEndless));
        QVERIFY(hasPlacement(shown, genetic) && hasPlacement(shown, random));
        shown.document.setMachine(m_place->write("two.json", test::uniform_machine(2)));
        QVERIFY(shown.waitUntilIdle());
        const QString message = shown.message();
        QVERIFY2(message.contains(rowOf(shown, genetic).title + " and " + rowOf(shown, random).title +
                                  " were stopped"),
                 qPrintable(message));
        QCOMPARE(rows(shown).size(), std::size_t{2});
        for (const RunRow& row : rows(shown)) QCOMPARE(row.state, RunRow::State::cancelled);
        // Nothing is said where nothing ran.
        shown.window.messageBar()->dropInformation();
        shown.document.setMachine(m_machine);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY2(!shown.message().contains("stopped"), qPrintable(shown.message()));
    }

    // --- the rows ---

    void aRemovedRunComesBack() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.window.chooseAlgorithm("genetic");
        shown.window.chooseEvaluations(300);
        for (int i = 0; i < 2; ++i) {
            clickOptimize(shown);
            QVERIFY(shown.waitUntilIdle());
        }
        const std::vector<RunRow> before = rows(shown);
        const Placement placement = shown.document.placement();
        press(shown, before[0].id, Qt::Key_Delete);
        QCOMPARE(rows(shown).size(), std::size_t{1});
        QVERIFY2(shown.message().contains("removed") && shown.message().contains("Ctrl+Z"),
                 qPrintable(shown.message()));
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(rows(shown) == before);
        QCOMPARE(shown.document.placement(), placement);
        // Redo removes it again; a run that is gone for good is destroyed with its step.
        QTest::keyClick(&shown.window, Qt::Key_Y, Qt::ControlModifier);
        QCOMPARE(rows(shown).size(), std::size_t{1});
        shown.document.undoStack()->clear();
        QCOMPARE(rows(shown).size(), std::size_t{1});
    }

    void aRunningRunComesBackStopped() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        const int id = shown.document.startSearch(test::request("genetic", kEndless));
        QVERIFY(hasPlacement(shown, id));
        press(shown, id, Qt::Key_Delete);
        QVERIFY(!running(shown));
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QTRY_COMPARE_WITH_TIMEOUT(rowOf(shown, id).state, RunRow::State::cancelled, kPatience);
        QVERIFY(rowOf(shown, id).evaluations > 0);
        // The step that the search made is still undone by itself.
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(!rowOf(shown, id).shown);
    }

    void aWindowClosesWithRemovedRuns() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        const int id = shown.document.startSearch(test::request("genetic", kEndless));
        press(shown, id, Qt::Key_Delete);
        QCOMPARE(rows(shown).size(), std::size_t{0});
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(rows(shown).size(), std::size_t{1});
        press(shown, id, Qt::Key_Delete);
    }

    void hiddenRunsAreInNoPlot() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.window.chooseEvaluations(300);
        for (const char* algorithm : {"map-elites", "genetic", "random"}) {
            shown.window.chooseAlgorithm(algorithm);
            clickOptimize(shown);
            QVERIFY(shown.waitUntilIdle());
        }
        const int elites = rows(shown)[0].id, genetic = rows(shown)[1].id;
        const QCustomPlot* plot = shown.window.findChild<CurvePlot*>()->plot();
        QCOMPARE(plot->graphCount(), 3);
        const auto* archive = shown.window.archiveMap()->plot();
        QVERIFY(!archive->isHidden());
        press(shown, elites, Qt::Key_H);
        QVERIFY(rowOf(shown, elites).hidden);
        QCOMPARE(plot->graphCount(), 2);
        QVERIFY(archive->isHidden() || !archive->isVisibleTo(shown.window.archiveMap()));
        press(shown, elites, Qt::Key_H);
        QCOMPARE(plot->graphCount(), 3);
        // One alone, and all again.
        press(shown, genetic, Qt::Key_S);
        QCOMPARE(plot->graphCount(), 1);
        QCOMPARE(plot->graph(0)->name(), rowOf(shown, genetic).title);
        press(shown, genetic, Qt::Key_S);
        QCOMPARE(plot->graphCount(), 3);
    }

    void runsAreRenamedInPlace() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.window.chooseAlgorithm("genetic");
        shown.window.chooseEvaluations(200);
        clickOptimize(shown);
        QVERIFY(shown.waitUntilIdle());
        const int id = rows(shown)[0].id;
        const QString before = rows(shown)[0].title;
        const auto type = [&](const QString& name) {
            press(shown, id, Qt::Key_F2);
            auto* editor = shown.window.runsView()->findChild<QLineEdit*>();
            QVERIFY(editor);
            editor->selectAll();
            // Letters go to the editor, not to the keys of the table.
            if (name.isEmpty()) QTest::keyClick(editor, Qt::Key_Delete);
            QTest::keyClicks(editor, name);
            QTest::keyClick(editor, Qt::Key_Return);
        };
        type(QStringLiteral("shp large batch"));
        QTRY_COMPARE(rows(shown)[0].title, QStringLiteral("shp large batch"));
        QCOMPARE(shown.window.findChild<CurvePlot*>()->plot()->graph(0)->name(),
                 QStringLiteral("shp large batch"));
        QVERIFY(!rows(shown)[0].hidden);
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
        type(QString());
        QTRY_COMPARE(rows(shown)[0].title, before);
    }

    /// Runs of an algorithm have its colour, each in another shade, wherever they are drawn.
    void runsOfAnAlgorithmHaveShadesOfItsColour() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.window.chooseEvaluations(100);
        for (const char* algorithm : {"genetic", "random", "genetic"}) {
            shown.window.chooseAlgorithm(algorithm);
            clickOptimize(shown);
            QVERIFY(shown.waitUntilIdle());
        }
        QCOMPARE(rows(shown)[0].style, (RunStyle{"genetic", 0}));
        QCOMPARE(rows(shown)[1].style, (RunStyle{"random", 0}));
        QCOMPARE(rows(shown)[2].style, (RunStyle{"genetic", 1}));
        const QCustomPlot* plot = shown.window.findChild<CurvePlot*>()->plot();
        const QColor base = plot->palette().color(QPalette::Base);
        for (int i = 0; i < 3; ++i) QCOMPARE(plot->graph(i)->pen(), seriesPen(rows(shown)[i].style, base));
        // Numbers stay when another run goes.
        press(shown, rows(shown)[0].id, Qt::Key_Delete);
        QCOMPARE(rows(shown)[1].style, (RunStyle{"genetic", 1}));
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowFollow)
#include "tst_window_follow.moc"
