// SPDX-License-Identifier: MIT
#include <QAbstractItemModelTester>
#include <QApplication>
#include <QContextMenuEvent>
#include <QHeaderView>
#include <QLineEdit>
#include <QMenu>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>

#include "core/base/random.hpp"
#include "tests/support/menus.hpp"
#include "tests/support/widgets.hpp"
#include "widgets/palette.hpp"
#include "widgets/runs_view.hpp"

using namespace placewright;
using namespace placewright::test;

namespace {

RunRow run(int id, double stepTime, RunRow::State state = RunRow::State::finished) {
    RunRow row;
    row.id = id;
    row.title = QStringLiteral("Run #%1").arg(id);
    row.state = state;
    row.step_time_s = stepTime;
    row.speedup = stepTime > 0 ? 0.1 / stepTime : 0;
    row.evaluations = 100 * static_cast<quint64>(id);
    row.budget = 20000;
    return row;
}

/// Titles of the rows of a view, from top to bottom.
QStringList titles(const RunsView& view) {
    QStringList result;
    for (int row = 0; row < view.model()->rowCount(); ++row)
        result << view.model()->index(row, RunsModel::Title).data().toString();
    return result;
}

QPoint centreOf(const RunsView& view, int row) {
    return view.visualRect(view.model()->index(row, RunsModel::Title)).center();
}

}  // namespace

class TestRunsView : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void runsModelKeepsItsPromises_data() {
        QTest::addColumn<int>("seed");
        for (int seed = 1; seed <= 5; ++seed) QTest::addRow("seed %d", seed) << seed;
    }
    void runsModelKeepsItsPromises() {
        QFETCH(int, seed);
        Random random(static_cast<std::uint64_t>(seed));
        RunsModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        for (int step = 0; step < 60; ++step) {
            std::vector<RunRow> rows;
            for (int id = 1; id <= 9; ++id) {
                if (random.chance(0.6)) rows.push_back(run(id, random.uniform(0.04, 0.09)));
            }
            if (random.chance(0.4)) random.shuffle(std::span(rows));
            model.setRows(rows);
            QVERIFY(model.rows() == rows);
            QCOMPARE(model.rowCount(), static_cast<int>(rows.size()));
        }
    }

    void runsModelEmitsOnlyWhatChanged() {
        RunsModel model;
        model.setRows({run(1, 0.08), run(2, 0.07), run(3, 0.06)});
        QSignalSpy changed(&model, &QAbstractItemModel::dataChanged),
            inserted(&model, &QAbstractItemModel::rowsInserted),
            removed(&model, &QAbstractItemModel::rowsRemoved), reset(&model, &QAbstractItemModel::modelReset);
        model.setRows({run(1, 0.08), run(2, 0.07), run(3, 0.06)});
        QCOMPARE(changed.size() + inserted.size() + removed.size(), 0);

        const QPersistentModelIndex third = model.index(2, RunsModel::Title);
        model.setRows({run(2, 0.05), run(3, 0.06), run(4, 0)});
        QCOMPARE(removed.size(), 1);
        QCOMPARE(inserted.size(), 1);
        QCOMPARE(changed.size(), 1);
        QCOMPARE(changed[0][0].toModelIndex().row(), 0);
        QCOMPARE(reset.size(), 0);
        QCOMPARE(third.data(RunsModel::IdRole).toInt(), 3);
        QCOMPARE(third.row(), 1);
    }

    void runsSayWhatPeopleRead_data() {
        QTest::addColumn<RunRow>("row");
        QTest::addColumn<int>("column");
        QTest::addColumn<QString>("text");
        const RunRow usual = [] {
            RunRow row = run(6, 0.0412);
            row.speedup = 2.09;
            row.gap = 0.0899;
            row.evaluations = 12400;
            row.seconds = 4.2;
            return row;
        }();
        const auto with = [&](auto change) {
            RunRow row = usual;
            change(row);
            return row;
        };
        QTest::newRow("step time") << usual << int(RunsModel::StepTime) << QStringLiteral("41.2 ms");
        QTest::newRow("none yet") << with([](RunRow& row) { row.step_time_s = 0; })
                                  << int(RunsModel::StepTime) << QString();
        QTest::newRow("does not fit") << with([](RunRow& row) { row.fits = false; })
                                      << int(RunsModel::StepTime) << QStringLiteral("does not fit");
        QTest::newRow("over by so much") << with([](RunRow& row) {
            row.fits = false;
            row.over_bytes = 1.2e9;
        }) << int(RunsModel::StepTime) << QStringLiteral("1.20 GB over");
        QTest::newRow("speed-up of what does not fit")
            << with([](RunRow& row) { row.fits = false; }) << int(RunsModel::Speedup) << QString();
        QTest::newRow("speed-up") << usual << int(RunsModel::Speedup) << QStringLiteral("2.1×");
        QTest::newRow("large speed-up") << with([](RunRow& row) { row.speedup = 12.4; })
                                        << int(RunsModel::Speedup) << QStringLiteral("12×");
        QTest::newRow("speed-up above the error") << with([](RunRow& row) { row.speedup_error = 0.05; })
                                                  << int(RunsModel::Speedup) << QStringLiteral("2.1×");
        QTest::newRow("speed-up within the error") << with([](RunRow& row) {
            row.speedup = 1.04;
            row.speedup_error = 0.05;
        }) << int(RunsModel::Speedup) << QStringLiteral("≈ 1×");
        QTest::newRow("no speed-up") << with([](RunRow& row) { row.speedup = 0; }) << int(RunsModel::Speedup)
                                     << QString();
        QTest::newRow("gap is rounded up") << usual << int(RunsModel::Gap) << QStringLiteral("≤ 9 %");
        QTest::newRow("whole gap") << with([](RunRow& row) { row.gap = 0.09; }) << int(RunsModel::Gap)
                                   << QStringLiteral("≤ 9 %");
        QTest::newRow("a little more")
            << with([](RunRow& row) { row.gap = 0.0901; }) << int(RunsModel::Gap) << QStringLiteral("≤ 10 %");
        QTest::newRow("no gap") << with([](RunRow& row) { row.gap = 0; }) << int(RunsModel::Gap)
                                << QStringLiteral("optimal");
        QTest::newRow("unknown gap") << with([](RunRow& row) { row.gap = -1; }) << int(RunsModel::Gap)
                                     << QString();
        QTest::newRow("gap of what does not fit")
            << with([](RunRow& row) { row.fits = false; }) << int(RunsModel::Gap) << QString();
        QTest::newRow("evaluations") << usual << int(RunsModel::Evaluations) << QStringLiteral("12,400");
        QTest::newRow("on screen") << with([](RunRow& row) { row.shown = true; }) << int(RunsModel::Title)
                                   << QStringLiteral("▸ Run #6");
        QTest::newRow("followed alone")
            << with([](RunRow& row) { row.shown = row.pinned = true; }) << int(RunsModel::Title)
            << QStringLiteral("▸ Run #6, followed alone");
        QTest::newRow("by hand") << with([](RunRow& row) { row.evaluations = 0; })
                                 << int(RunsModel::Evaluations) << QString();
        QTest::newRow("time") << usual << int(RunsModel::Time) << QStringLiteral("0:04");
    }
    void runsSayWhatPeopleRead() {
        QFETCH(RunRow, row);
        QFETCH(int, column);
        QFETCH(QString, text);
        RunsModel model;
        model.setRows({row});
        QCOMPARE(model.index(0, column).data().toString(), text);
    }

    void runsShowTheirState() {
        RunsModel model;
        RunRow failed = run(2, 0, RunRow::State::failed);
        failed.failure = QStringLiteral("temperature must be positive");
        RunRow shown = run(1, 0.04, RunRow::State::running);
        shown.shown = true;
        model.setRows({shown, failed});
        QVERIFY(model.index(0, RunsModel::StepTime).data(Qt::FontRole).value<QFont>().bold());
        QVERIFY(!model.index(1, RunsModel::StepTime).data(Qt::FontRole).isValid());
        QVERIFY(model.index(1, RunsModel::Title).data(Qt::ToolTipRole).toString().contains(failed.failure));
        QCOMPARE(model.index(1, RunsModel::Title).data(Qt::ForegroundRole).value<QColor>(),
                 warningColor(QGuiApplication::palette()));
        QVERIFY(
            model.index(0, RunsModel::Title).data(Qt::AccessibleTextRole).toString().contains(u"running"));
        const auto icon = [&](int row) {
            return model.index(row, RunsModel::Title)
                .data(Qt::DecorationRole)
                .value<QIcon>()
                .pixmap(16)
                .toImage();
        };
        QVERIFY(icon(0) != icon(1));
        for (int column = 0; column < RunsModel::ColumnCount; ++column) {
            QVERIFY(!model.headerData(column, Qt::Horizontal, Qt::ToolTipRole).toString().isEmpty());
        }
    }

    void longNamesLeaveTheFiguresInView() {
        RunsView view;
        showAt(view, {420, 200});
        RunRow named = run(12, 0.0412);
        named.title = QStringLiteral("Simulated annealing by generalized moves, zero-shot #12");
        named.elsewhere = QStringLiteral("4x V100 (PCIe 3), 16 batches");
        named.gap = 0.27;
        view.runs()->setRows({named, run(2, 0.041)});
        const QHeaderView& header = *view.horizontalHeader();
        const auto end = [&](int column) {
            return header.sectionViewportPosition(column) + header.sectionSize(column);
        };
        // Long names are shortened before figures leave the view.
        QTRY_VERIFY(end(RunsModel::Time) <= view.viewport()->width());
        QVERIFY(header.sectionSize(RunsModel::Title) > 60);
        QCOMPARE(view.textElideMode(), Qt::ElideMiddle);
        QVERIFY(view.model()
                    ->index(1, RunsModel::Title)
                    .data(Qt::ToolTipRole)
                    .toString()
                    .startsWith(named.title) ||
                view.model()
                    ->index(0, RunsModel::Title)
                    .data(Qt::ToolTipRole)
                    .toString()
                    .startsWith(named.title));
        // In a very narrow view the first figures stay.
        view.resize(300, 200);
        QTRY_VERIFY(end(RunsModel::Gap) <= view.viewport()->width());
        // With enough room there is no scroll bar.
        view.resize(1200, 200);
        QTRY_VERIFY(end(RunsModel::Time) <= view.viewport()->width());
    }

    void runsAreSortedByClickingAHeader() {
        RunsView view;
        showAt(view, {900, 300});
        RunRow misfit = run(4, 0.03);
        misfit.fits = false;
        view.runs()->setRows({run(1, 0.08), run(2, 0.041), run(3, 0), misfit, run(5, 0.1)});
        QCOMPARE(titles(view), QStringList({"Run #5", "Run #4", "Run #3", "Run #2", "Run #1"}));

        const QHeaderView& header = *view.horizontalHeader();
        const QPoint stepTime(
            header.sectionViewportPosition(RunsModel::StepTime) + header.sectionSize(RunsModel::StepTime) / 2,
            header.height() / 2);
        QTest::mouseClick(header.viewport(), Qt::LeftButton, {}, stepTime);
        if (header.sortIndicatorOrder() == Qt::DescendingOrder)
            QTest::mouseClick(header.viewport(), Qt::LeftButton, {}, stepTime);
        QCOMPARE(titles(view), QStringList({"Run #2", "Run #1", "Run #5", "Run #4", "Run #3"}));
    }

    void updatesKeepSelectionAndScrollPosition() {
        RunsView view;
        showAt(view, {900, 150});
        std::vector<RunRow> rows;
        for (int id = 1; id <= 60; ++id) rows.push_back(run(id, 0.1 - id * 1e-3));
        view.runs()->setRows(rows);
        view.sortByColumn(RunsModel::StepTime, Qt::AscendingOrder);
        QTRY_VERIFY(view.verticalScrollBar()->maximum() > 20);
        view.verticalScrollBar()->setValue(20);
        QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, centreOf(view, 22));
        const int selected = view.currentRun().value();
        QCOMPARE(selected, 38);

        for (RunRow& row : rows) row.evaluations += 10;
        rows[37].step_time_s = 0.001;
        rows.push_back(run(61, 0.2));
        rows.erase(rows.begin());
        view.runs()->setRows(rows);
        QCOMPARE(view.currentRun().value(), selected);
        QCOMPARE(view.currentIndex().row(), 0);
        QCOMPARE(view.selectionModel()->selectedRows().size(), 1);
        QCOMPARE(view.selectionModel()->selectedRows()[0].data(RunsModel::IdRole).toInt(), selected);
        QCOMPARE(view.verticalScrollBar()->value(), 20);
    }

    void runsAnswerMouseAndKeyboard() {
        RunsView view;
        showAt(view, {900, 300});
        QSignalSpy activated(&view, &RunsView::runActivated), removed(&view, &RunsView::removeRequested);
        QTest::keyClick(&view, Qt::Key_Return);
        QTest::keyClick(&view, Qt::Key_Delete);
        QVERIFY(!view.currentRun());
        QCOMPARE(activated.size() + removed.size(), 0);

        view.runs()->setRows({run(1, 0.08), run(2, 0.07), run(3, 0.06)});
        QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, centreOf(view, 0));
        QCOMPARE(activated.size(), 0);
        QTest::mouseDClick(view.viewport(), Qt::LeftButton, {}, centreOf(view, 0));
        QCOMPARE(activated.takeFirst()[0].toInt(), 3);
        QTest::keyClick(&view, Qt::Key_Down);
        QTest::keyClick(&view, Qt::Key_Return);
        QCOMPARE(activated.size(), 1);
        QCOMPARE(activated.takeFirst()[0].toInt(), 2);
        QTest::keyClick(&view, Qt::Key_Enter, Qt::KeypadModifier);
        QCOMPARE(activated.takeFirst()[0].toInt(), 2);
        QTest::keyClick(&view, Qt::Key_Delete);
        QCOMPARE(removed.takeFirst()[0].toInt(), 2);
    }

    void runsHaveAMenu() {
        RunsView view;
        showAt(view, {900, 300});
        view.runs()->setRows({run(1, 0.08), run(2, 0.07, RunRow::State::running)});
        QSignalSpy activated(&view, &RunsView::runActivated), cancelled(&view, &RunsView::cancelRequested),
            removed(&view, &RunsView::removeRequested), paused(&view, &RunsView::pauseRequested),
            measured(&view, &RunsView::measureRequested);
        const auto openMenu = [&](int row) {
            QContextMenuEvent event(QContextMenuEvent::Mouse, centreOf(view, row),
                                    view.viewport()->mapToGlobal(centreOf(view, row)));
            QApplication::sendEvent(view.viewport(), &event);
            return qobject_cast<QMenu*>(QApplication::activePopupWidget());
        };
        const auto item = [](QMenu* menu, const char* text) {
            for (QAction* action : menu->actions()) {
                if (action->text() == QString::fromUtf8(text)) return action;
            }
            qFatal("%s is not in the menu", text);
        };
        const auto choose = [&](QMenu* menu, const char* text) { test::clickInMenu(menu, item(menu, text)); };
        QSignalSpy followed(&view, &RunsView::followRequested), hidden(&view, &RunsView::hideRequested),
            alone(&view, &RunsView::aloneRequested), renamed(&view, &RunsView::renameRequested);
        QMenu* ofRunning = openMenu(0);
        QVERIFY(ofRunning);
        choose(ofRunning, "Pause");
        QVERIFY((paused.takeFirst() == QVariantList{2, true}));
        choose(openMenu(0), "Stop");
        QCOMPARE(cancelled.takeFirst()[0].toInt(), 2);
        choose(openMenu(0), "Follow this run");
        QVERIFY((followed.takeFirst() == QVariantList{2, true}));
        QMenu* ofFinished = openMenu(1);
        QVERIFY(ofFinished);
        for (const char* text : {"Pause", "Stop", "Follow this run"})
            QVERIFY(!item(ofFinished, text)->isEnabled());
        choose(ofFinished, "Show placement");
        QCOMPARE(activated.takeFirst()[0].toInt(), 1);
        choose(openMenu(1), "Hide in plots");
        QVERIFY((hidden.takeFirst() == QVariantList{1, true}));
        choose(openMenu(1), "Only this run in plots");
        QCOMPARE(alone.takeFirst()[0].toInt(), 1);
        choose(openMenu(1), "Measure the best placements…");
        QCOMPARE(measured.takeFirst()[0].toInt(), 1);
        choose(openMenu(1), "Remove");
        QCOMPARE(removed.takeFirst()[0].toInt(), 1);
        choose(openMenu(1), "Rename…");
        auto* editor = view.findChild<QLineEdit*>();
        QVERIFY(editor);
        QCOMPARE(editor->text(), QStringLiteral("Run #1"));
        editor->selectAll();
        QTest::keyClicks(editor, QStringLiteral("first"));
        QTest::keyClick(editor, Qt::Key_Return);
        QTRY_COMPARE(renamed.size(), 1);
        QVERIFY((renamed.takeFirst() == QVariantList{1, QStringLiteral("first")}));
        RunRow seen = run(1, 0.08, RunRow::State::paused);
        seen.pinned = seen.hidden = true;
        view.runs()->setRows({seen});
        choose(openMenu(0), "Resume");
        QVERIFY((paused.takeFirst() == QVariantList{1, false}));
        QVERIFY(item(openMenu(0), "Follow this run")->isChecked());
        QApplication::activePopupWidget()->close();
        choose(openMenu(0), "Show in plots");
        QVERIFY((hidden.takeFirst() == QVariantList{1, false}));
        QCOMPARE(cancelled.size(), 0);
        // What is of another machine, or has no placement yet, cannot be measured.
        RunRow other = run(1, 0.08);
        other.elsewhere = QStringLiteral("4x V100");
        for (const RunRow& row : {other, run(1, 0, RunRow::State::running)}) {
            view.runs()->setRows({row});
            QMenu* menu = openMenu(0);
            QVERIFY(menu);
            QVERIFY(!item(menu, "Measure the best placements…")->isEnabled());
            menu->close();
        }
    }

    void keysFollowHideAndRename() {
        RunsView view;
        showAt(view, {900, 300});
        QSignalSpy followed(&view, &RunsView::followRequested), hidden(&view, &RunsView::hideRequested),
            alone(&view, &RunsView::aloneRequested);
        view.runs()->setRows({run(1, 0.08, RunRow::State::running), run(2, 0.07)});
        QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, centreOf(view, 0));
        QTest::keyClick(&view, Qt::Key_P);  // has ended
        QCOMPARE(followed.size(), 0);
        QTest::keyClick(&view, Qt::Key_H);
        QVERIFY((hidden.takeFirst() == QVariantList{2, true}));
        QTest::keyClick(&view, Qt::Key_S);
        QCOMPARE(alone.takeFirst()[0].toInt(), 2);
        QTest::keyClick(&view, Qt::Key_Down);
        QTest::keyClick(&view, Qt::Key_P);
        QVERIFY((followed.takeFirst() == QVariantList{1, true}));
        QTest::keyClick(&view, Qt::Key_S, Qt::ControlModifier);  // is none of these keys
        QCOMPARE(alone.size(), 0);
    }

    void emptyRunsSayWhatWouldFillThem() {
        RunsView view;
        view.setAlternatingRowColors(false);
        showAt(view, {600, 300});
        const QColor base = view.palette().color(QPalette::Base);
        const auto middle = [&] {
            return view.viewport()->grab(QRect(0, 100, view.viewport()->width(), 100)).toImage();
        };
        QVERIFY(otherThan(middle(), base) > 200);
        view.runs()->setRows({run(1, 0.08)});
        QCOMPARE(otherThan(middle(), base), 0);
    }
};

QTEST_MAIN(TestRunsView)
#include "tst_runs_view.moc"
