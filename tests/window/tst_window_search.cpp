// SPDX-License-Identifier: MIT
// Search, stop, the lower bound and algorithm options in the window.
#include <algorithm>
#include <memory>

#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QStatusBar>
#include <QTest>
#include <QTimer>
#include <QToolButton>

#include "app/window/dialogs/search_options_dialog.hpp"
#include "core/algorithms.hpp"
#include "core/base/infinity.hpp"
#include "core/job/bound_tightening.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/curve_plot.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/qcustomplot_header.hpp"
#include "widgets/quantities.hpp"
#include "widgets/runs_view.hpp"
#include "widgets/text.hpp"

using namespace placewright;
using test::clickOptimize, test::kEndless, test::pressInMenu, test::rows, test::running, test::Shown,
    test::statusLabel, test::statusText;

namespace {

constexpr QChar kTightening(0x2191);  ///< an arrow upwards

/// On three devices one has two of four.
Graph independentOps(std::size_t count) {
    GraphBuilder builder("independent", 1, Training::none);
    for (std::size_t i = 0; i < count; ++i) {
        Op op;
        op.name = "op" + std::to_string(i);
        op.kind = "matmul";
        op.flops = 2e9;
        op.outputs.emplace_back().bytes = 100;
        builder.add(std::move(op));
    }
    return builder.build();
}

}  // namespace

class TestWindowSearch : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;
    QString m_machine;  ///< three equal GPUs
    QString m_wide;
    QString m_whole;  ///< a network of which only an integer program tells the optimum

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        m_machine = m_place->write("three.json", test::uniform_machine(3));
        m_wide = m_place->write("wide.json", test::wide_graph(12));
        m_whole = m_place->write("whole.json", independentOps(4));
    }
    void cleanup() { m_place.reset(); }

    void optimizeImprovesThePlacementOnScreen_data() {
        QTest::addColumn<QString>("algorithm");
        QTest::newRow("genetic") << "genetic";
        QTest::newRow("map-elites") << "map-elites";
    }
    void optimizeImprovesThePlacementOnScreen() {
        QFETCH(QString, algorithm);
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.window.chooseAlgorithm(algorithm);
        shown.window.chooseEvaluations(20'000);
        const Placement first = shown.document.placement();
        const double firstTime = shown.stepTime();
        const QString firstStatus = statusText(shown, "Step time");
        const QImage firstGraph = shown.window.graphView()->grab().toImage();
        QCOMPARE(statusText(shown, "Search"), QString());
        auto* curve = shown.window.findChild<CurvePlot*>()->plot();
        QCOMPARE(curve->graphCount(), 0);

        // The displayed step time never gets worse and always belongs to the displayed placement.
        double last = firstTime;
        bool worse = false;
        int changes = 0;
        connect(&shown.document, &Document::timelineChanged, &shown.window, [&] {
            worse |= shown.stepTime() > last;
            last = shown.stepTime();
            ++changes;
        });
        QString searchStatus;
        connect(&shown.document, &Document::runsChanged, &shown.window, [&] {
            if (const QString now = statusText(shown, "Search"); !now.isEmpty()) searchStatus = now;
        });
        clickOptimize(shown);
        QCOMPARE(rows(shown).size(), std::size_t{1});
        QCOMPARE(rows(shown).front().state, RunRow::State::running);
        QCOMPARE(shown.action("Stop"),
                 shown.window.findChild<QToolButton*>("optimizeButton")->defaultAction());
        QVERIFY(shown.window.statusBar()->findChild<QProgressBar*>()->isVisible());
        QVERIFY(shown.waitUntilIdle());

        QVERIFY(!worse);
        QVERIFY(changes >= 1);
        QVERIFY2(searchStatus.contains(QLatin1String("simulations/s")), qPrintable(searchStatus));
        QCOMPARE(statusText(shown, "Search"), QString());
        QVERIFY(!shown.window.statusBar()->findChild<QProgressBar*>()->isVisible());
        const RunRow& row = rows(shown).front();
        QCOMPARE(row.state, RunRow::State::finished);
        QCOMPARE(row.evaluations, quint64{20'000});
        QVERIFY(row.shown);
        QVERIFY(row.step_time_s < 0.5 * firstTime);  // twelve branches on three devices
        QCOMPARE(shown.stepTime(), row.step_time_s);
        QCOMPARE(shown.stepTime(), test::simulated(shown.document, shown.document.placement()));
        QVERIFY(row.gap >= 0);
        QVERIFY(statusText(shown, "Step time") != firstStatus);
        QVERIFY(statusText(shown, "Step time").contains(QChar(0x2192)));
        QVERIFY(shown.window.graphView()->grab().toImage() != firstGraph);
        QCOMPARE(curve->graphCount(), 1);
        QVERIFY(curve->graph(0)->dataCount() >= 2);

        // The search is one undo step, however often it improved.
        const Placement found = shown.document.placement();
        QCOMPARE(shown.document.undoStack()->count(), 1);
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(shown.document.placement(), first);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.stepTime(), firstTime);
        QVERIFY(!rows(shown).front().shown);
        QCOMPARE(shown.window.graphView()->grab().toImage(), firstGraph);
        QTest::keyClick(&shown.window, Qt::Key_Y, Qt::ControlModifier);
        QCOMPARE(shown.document.placement(), found);
        QVERIFY(rows(shown).front().shown);
    }

    // What searches say ends in "…" there, before the step time does.
    void aNarrowWindowShowsTheStepTime() {
        Shown shown;
        shown.window.resize(800, 600);
        QVERIFY(shown.open(m_wide, m_machine));
        shown.window.chooseAlgorithm("annealing");
        shown.window.chooseEvaluations(kEndless);
        clickOptimize(shown);
        const QLabel *step = statusLabel(shown, "Step time"), *search = statusLabel(shown, "Search");
        QTRY_VERIFY(search->text().contains(QLatin1String("simulations/s")));
        const auto* bar = shown.window.statusBar();
        QVERIFY(bar->width() < 1000);
        QTRY_VERIFY(search->width() < search->sizeHint().width());
        QVERIFY(search->toolTip().contains(QLatin1String("simulations/s")));
        QTRY_VERIFY2(step->width() >= std::min(step->sizeHint().width(), 400), qPrintable(step->text()));
        QVERIFY(step->toolTip().contains(step->text().toHtmlEscaped()));
        QVERIFY(bar->rect().contains(bar->findChild<QProgressBar*>()->geometry()));
        clickOptimize(shown);  // the button now says "Stop"
        QVERIFY(shown.waitUntilIdle());
    }

    // Equal blocks that one device could just hold: the screen ends with the placement that leaves room.
    void aSearchLeavesRoomInMemory() {
        GraphBuilder builder("blocks", 1, Training::none);
        for (int i = 0; i < 19; ++i) {
            Op op;
            op.name = "block" + std::to_string(i);
            op.kind = "linear";
            op.flops = 1e12;
            op.outputs = {make_tensor({1000})};
            op.parameter_bytes = 50'000'000;
            builder.add(op, i == 0 ? std::vector<std::string>{}
                                   : std::vector<std::string>{"block" + std::to_string(i - 1)});
        }
        Shown shown;
        QVERIFY(shown.open(m_place->write("blocks.json", builder.build()),
                           m_place->write("three-of-1-gb.json", test::uniform_machine(3, 1e9))));
        // Not the best, so that the search shows what it finds.
        shown.document.moveOps({5, 9}, 1);
        QVERIFY(shown.waitUntilIdle());
        shown.window.chooseAlgorithm("auto");
        shown.window.chooseEvaluations(400);
        clickOptimize(shown);
        QVERIFY(shown.waitUntilIdle());
        const Run& run = *shown.document.runs().back();
        QCOMPARE(shown.document.placement(), *run.progress().best_placement);
        QVERIFY(rows(shown).front().shown);
        QCOMPARE(shown.stepTime(), run.progress().best.value_s);
        const Outcome& outcome = shown.document.timeline()->outcome;
        QVERIFY(*std::ranges::max_element(outcome.peak_bytes) < 0.81e9);
        const double found_s = run.progress().curve->back().best_s;
        QVERIFY(shown.stepTime() > found_s && shown.stepTime() <= found_s * 1.005);
        QCOMPARE(shown.document.undoStack()->count(), 2);
    }

    // --- the lower bound ---

    void theBoundIsTightenedInTheBackground() {
        Shown shown;
        QSignalSpy changes(&shown.document, &Document::boundChanged);
        QVERIFY(shown.open(m_whole, m_machine));
        QTRY_VERIFY_WITH_TIMEOUT(!shown.document.isProving(), 90'000);

        const double quick_s = quick_bounds(*shown.document.problem(), objectives().front()).front().value_s;
        const Bound bound = *shown.document.bound();
        // Whichever is done first.
        QVERIFY2(bound.name == "branch-and-bound" || bound.name == "placements", bound.name.c_str());
        QVERIFY2(bound.value_s > 1.01 * quick_s,
                 qPrintable(QString("%1 after %2").arg(bound.value_s).arg(quick_s)));
        const QLabel* label = statusLabel(shown, "Lower bound");
        QVERIFY2(label->text().startsWith(QLatin1String("bound ") + secondsText(bound.value_s)),
                 qPrintable(label->text()));
        QVERIFY(!label->text().contains(kTightening));
        QVERIFY2(label->toolTip().contains(toQString(bound.name)), qPrintable(label->toolTip()));
        QVERIFY(changes.count() >= 3);  // the quick bound, the start of the proof, and its result

        // Runs are compared with the bound.
        shown.window.chooseAlgorithm("genetic");
        shown.window.chooseEvaluations(2'000);
        clickOptimize(shown);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(bound.value_s <= shown.stepTime());
        QCOMPARE(rows(shown).front().gap, rows(shown).front().step_time_s / bound.value_s - 1);
    }

    void theBoundBelongsToTheMachineAndTheOptions() {
        const QString two = m_place->write("two.json", test::uniform_machine(2));
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        QTRY_VERIFY_WITH_TIMEOUT(!shown.document.isProving(), 90'000);
        const double three_s = shown.document.bound()->value_s;
        shown.document.setMachine(two);
        QVERIFY(shown.waitUntilIdle());
        QTRY_VERIFY_WITH_TIMEOUT(!shown.document.isProving(), 90'000);
        QVERIFY(shown.document.bound()->value_s > 1.2 * three_s);
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QTRY_VERIFY_WITH_TIMEOUT(!shown.document.isProving(), 90'000);
        QCOMPARE(shown.document.bound()->value_s, three_s);
    }

    void aSmallWindowKeepsOptimize() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.window.resize(640, 600);
        QTest::qWait(50);
        QVERIFY(shown.window.findChild<QToolButton*>("optimizeButton")->isVisible());
        clickOptimize(shown);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(!rows(shown).empty());
    }

    void tighteningCanBeStopped() {
        Shown shown;
        QVERIFY(shown.open("resnet50", "4x-v100-pcie"));
        QVERIFY(shown.document.isProving());  // a minute is too short for this proof
        QVERIFY(statusText(shown, "Lower bound").contains(kTightening));
        QAction* tighten = shown.action("Tighten the lower bound");
        QVERIFY(tighten->isChecked());
        const Bound before = *shown.document.bound();
        pressInMenu(shown, tighten);
        QVERIFY(!shown.document.isProving());
        QVERIFY(!statusText(shown, "Lower bound").contains(kTightening));
        QVERIFY(shown.document.bound()->value_s >= before.value_s);
        // The proof does not start for another machine until it is requested again.
        QVERIFY(shown.open("resnet50", "2x-v100-pcie"));
        QVERIFY(shown.document.bound());
        QVERIFY(!shown.document.isProving());
        pressInMenu(shown, tighten);
        QVERIFY(shown.document.isProving());
        QVERIFY(statusText(shown, "Lower bound").contains(kTightening));
        // The window closes during the proof.
    }

    void aSearchThatFindsNothingBetterSaysSo() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.window.chooseAlgorithm("auto");
        shown.window.chooseEvaluations(1);
        clickOptimize(shown);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY2(shown.message().contains("scored 1 placement and found none better") &&
                     shown.message().contains("larger budget"),
                 qPrintable(shown.message()));
        shown.window.chooseEvaluations(2000);
        clickOptimize(shown);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY2(!shown.message().contains("found none better"), qPrintable(shown.message()));
    }

    /// Types a budget into the toolbar.
    static void typeBudget(const Shown& shown, const QString& text) {
        auto* field = shown.window.findChild<QComboBox*>("budget")->lineEdit();
        field->selectAll();
        QTest::keyClicks(field, text);
        QTest::keyClick(field, Qt::Key_Return);
    }

    /// Also if it has not been entered.
    void aTypedBudgetHoldsForTheNextSearch() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.window.chooseAlgorithm("genetic");
        auto* field = shown.window.findChild<QComboBox*>("budget")->lineEdit();
        const auto typed = [&](const QString& text) {
            field->setFocus();
            field->selectAll();
            QTest::keyClicks(field, text);
            QTest::keyClick(field, Qt::Key_F5);
        };
        typed("700");
        QVERIFY(shown.waitUntilIdle());
        const std::size_t before = rows(shown).size();
        QCOMPARE(rows(shown).front().budget, quint64{700});
        typed("seven");  // is none: no search starts with another
        QCOMPARE(rows(shown).size(), before);
        QCOMPARE(field->text(), QString("700 evals"));
        QTest::keyClick(field, Qt::Key_F5);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(rows(shown).size(), before + 1);
    }

    void aSearchWaitsForAChangeOfTheMachine() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        const std::size_t before = rows(shown).size();
        shown.document.setMachine(QStringLiteral("2x-v100-pcie"));
        QVERIFY(shown.document.isChanging());
        QTest::keyClick(&shown.window, Qt::Key_F5);
        QCOMPARE(rows(shown).size(), before);
        QTRY_COMPARE(rows(shown).size(), before + 1);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.runs().back()->job().machine->name(),
                 shown.document.problem()->machine->name());
        // A change that fails starts nothing, then or later.
        shown.document.setMachine(QStringLiteral("no-such-machine"));
        QTest::keyClick(&shown.window, Qt::Key_F5);
        QVERIFY(shown.document.isSearchWaiting());
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(!shown.document.isSearchWaiting());
        QVERIFY2(shown.message().contains("no-such-machine"), qPrintable(shown.message()));
        shown.document.setMachine(m_machine);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(rows(shown).size(), before + 1);
    }

    void aSearchWaitsForAMachineFileAndForFactors() {
        Shown shown;
        QVERIFY(shown.open(m_wide, QStringLiteral("2x-v100-pcie")));
        shown.window.chooseAlgorithm("genetic");
        shown.window.chooseEvaluations(50);
        const auto finishedOnScreen = [&] {
            const Run& run = *shown.document.runs().back();
            return run.state() == Run::State::finished && !shown.document.isElsewhere(run);
        };
        std::size_t runs = rows(shown).size();
        shown.document.openFile(m_machine);
        QTest::keyClick(&shown.window, Qt::Key_F5);
        QVERIFY2(shown.message().contains("when the change has been applied"), qPrintable(shown.message()));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(rows(shown).size(), ++runs);
        QVERIFY(finishedOnScreen());
        QVERIFY2(!shown.message().contains("when the change has been applied"), qPrintable(shown.message()));

        // Several steps, of which the last is searched.
        for (const double factor : {2.0, 3.0, 4.0}) {
            WhatIf factors = shown.document.whatIf();
            set_all(factors.speed, shown.document.problem()->machine->devices().size(), factor);
            shown.document.setWhatIf(factors);
        }
        shown.document.endWhatIf();
        QTest::keyClick(&shown.window, Qt::Key_F5);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(rows(shown).size(), ++runs);
        QVERIFY(finishedOnScreen());
        QCOMPARE(factor_of(shown.document.whatIf().speed, 0), 4.0);
        // With factors each placement is also simulated without them, which is no change.
        shown.document.moveOps({0}, 1);
        for (int i = 0; i < 200 && !shown.document.isChanging(); ++i) QTest::qWait(1);
        QVERIFY(!shown.document.isChanging());
    }

    void aWaitingSearchIsDropped() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.document.setMachine(QStringLiteral("2x-v100-pcie"));
        QVERIFY(shown.waitUntilIdle());
        const std::size_t before = rows(shown).size();
        const auto wait = [&] {
            shown.document.setMachine(QStringLiteral("1x-v100"));
            QTest::keyClick(&shown.window, Qt::Key_F5);
            return shown.document.isSearchWaiting();
        };
        QVERIFY(wait());
        QTest::keyClick(&shown.window, Qt::Key_F5);
        QVERIFY(!shown.document.isSearchWaiting());
        QVERIFY2(shown.message().isEmpty(), qPrintable(shown.message()));
        QVERIFY(shown.waitUntilIdle());
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());

        QVERIFY(wait());
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);  // to the first machine
        QVERIFY(!shown.document.isSearchWaiting());
        QVERIFY(shown.waitUntilIdle());

        QVERIFY(wait());
        shown.document.cancelLoading();
        QVERIFY(!shown.document.isSearchWaiting());
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(rows(shown).size(), before);
    }

    void timeEndsASearch() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.window.chooseAlgorithm("genetic");  // does not end by itself
        typeBudget(shown, "1 s");
        clickOptimize(shown);
        QCOMPARE(rows(shown).front().budget_s, 1.0);
        QTRY_VERIFY_WITH_TIMEOUT(rows(shown).front().evaluations > 0, 60'000);
        QVERIFY2(statusText(shown, "Search").contains("evaluations") &&
                     !statusText(shown, "Search").contains(" / "),
                 qPrintable(statusText(shown, "Search")));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(rows(shown).front().state, RunRow::State::finished);
        QVERIFY(rows(shown).front().seconds >= 1);
    }

    void aSearchRunsUntilItIsStopped() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.window.chooseAlgorithm("auto");
        typeBudget(shown, "until stopped");
        clickOptimize(shown);
        QTRY_VERIFY_WITH_TIMEOUT(rows(shown).front().evaluations > 0, 60'000);
        QVERIFY2(!statusText(shown, "Search").contains("left"), qPrintable(statusText(shown, "Search")));
        QTest::keyClick(&shown.window, Qt::Key_F5);
        QVERIFY(shown.waitUntilIdle());
        // It may have tried all that is left to try.
        QVERIFY(rows(shown).front().state != RunRow::State::failed);
        QCOMPARE(shown.document.runs().front()->saved()->evaluations, std::optional<std::uint64_t>());
    }

    void theSameSeedGivesTheSameBest() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.window.chooseAlgorithm("genetic");
        shown.window.chooseEvaluations(600);
        shown.window.chooseSeed(7);
        std::vector<Placement> best;
        for (int run = 0; run < 2; ++run) {
            clickOptimize(shown);
            QVERIFY(shown.waitUntilIdle());
            best.push_back(*shown.document.runs().back()->progress().best_placement);
            shown.document.undoStack()->undo();
            QVERIFY(shown.waitUntilIdle());
        }
        QCOMPARE(best[0], best[1]);
        QCOMPARE(rows(shown).size(), std::size_t{2});
        QCOMPARE(rows(shown)[0].step_time_s, rows(shown)[1].step_time_s);
    }

    void theSameJobGivesTheSameResultWithoutTheWindow() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.window.chooseAlgorithm("genetic");
        shown.window.chooseEvaluations(400);
        shown.window.chooseSeed(3);
        clickOptimize(shown);
        QVERIFY(shown.waitUntilIdle());
        const Run& run = *shown.document.runs().back();
        const Job& job = run.job();
        const auto optimizer =
            find_algorithm("genetic")->make({job.problem, 3, starting_placements(job)}, {});
        const auto evaluator = simulation_evaluator(job.problem, job.simulation, job.penalty);
        const SearchResult alone = run_search(*optimizer, *evaluator, {400});
        QCOMPARE(*run.progress().best_placement, *alone.progress.best_placement);
    }

    void aSearchRightAfterAChangeIsComparedWithIt() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("chain.json", test::chain(10)), m_machine));
        const double single = shown.stepTime();
        for (const char* name : {"op2", "op4", "op6"}) shown.document.moveOps({shown.op(name)}, 1);
        const Placement worse = shown.document.placement();
        // The timeline of the last move has not arrived yet, and the algorithm has only one placement.
        shown.window.chooseAlgorithm("single-device");
        clickOptimize(shown);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(test::simulated(shown.document, worse) > single);
        QCOMPARE(shown.stepTime(), single);
        QVERIFY(rows(shown).front().shown);
        shown.document.undoStack()->undo();
        QCOMPARE(shown.document.placement(), worse);
    }

    void aSearchCanBeStoppedAndStartedAgain() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.window.chooseAlgorithm("genetic");
        shown.window.chooseEvaluations(kEndless);
        const double firstTime = shown.stepTime();
        clickOptimize(shown);
        QTRY_VERIFY_WITH_TIMEOUT(shown.stepTime() < firstTime, 60'000);
        QVERIFY(running(shown));
        clickOptimize(shown);  // the button now says "Stop"
        QTRY_VERIFY_WITH_TIMEOUT(!running(shown), 60'000);
        QCOMPARE(rows(shown).size(), std::size_t{1});
        QCOMPARE(rows(shown)[0].state, RunRow::State::cancelled);
        QVERIFY(rows(shown)[0].evaluations > 0 && rows(shown)[0].evaluations < quint64{kEndless});
        QVERIFY(rows(shown)[0].shown);
        QVERIFY(shown.stepTime() < firstTime);
        QCOMPARE(shown.stepTime(), rows(shown)[0].step_time_s);
        const Placement kept = shown.document.placement();

        shown.window.chooseEvaluations(300);
        shown.window.chooseAlgorithm("map-elites");
        clickOptimize(shown);
        QCOMPARE(rows(shown).size(), std::size_t{2});
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(rows(shown)[1].state, RunRow::State::finished);
        QVERIFY(shown.stepTime() <= test::simulated(shown.document, kept));
    }

    // --- no placement fits ---

    /// Three ops, each with more parameters than a device has memory.
    QString tooLarge() const {
        GraphBuilder builder("heavy", 1, Training::none);
        for (int i = 0; i < 3; ++i) {
            Op op;
            op.name = "op" + std::to_string(i);
            op.kind = "matmul";
            op.parameter_bytes = 2'000'000'000'000;
            Tensor output;
            output.bytes = 1'000;
            op.outputs.push_back(output);
            builder.add(op);
        }
        return m_place->write("heavy.json", builder.build());
    }

    void noSearchBeginsWhereNothingFits() {
        Shown shown;
        QVERIFY(shown.open(tooLarge(), m_machine));
        QCOMPARE(statusText(shown, "Lower bound"), QString("no placement fits"));
        shown.window.chooseEvaluations(kEndless);
        clickOptimize(shown);
        QVERIFY(rows(shown).empty());
        QVERIFY(!running(shown));
        for (const char* part :
             {"No search was started", "op0", "2.00 TB", "1.00 TB", "a machine with more memory"})
            QVERIFY2(shown.message().contains(QLatin1String(part)), qPrintable(shown.message()));
    }

    void aSearchEndsOnceItIsProvenThatNothingFits() {
        Shown shown;
        RunRequest request;
        request.algorithm = "random";
        request.budget.evaluations = kEndless;
        // Before the bound can be known.
        connect(&shown.document, &Document::loadingChanged, &shown.window, [&] {
            if (shown.document.isOpen() && !shown.document.bound() && shown.document.runs().empty())
                shown.document.startSearch(request);
        });
        QVERIFY(shown.open(tooLarge(), m_machine));  // waits until no search runs
        QCOMPARE(rows(shown).size(), std::size_t{1});
        QCOMPARE(rows(shown)[0].state, RunRow::State::cancelled);
        QVERIFY2(shown.message().contains("The search was stopped") && shown.message().contains("op0"),
                 qPrintable(shown.message()));
    }

    void aProofGoesOnBesideOtherWork() {
        Shown shown;
        QVERIFY(shown.open(m_whole, m_machine));
        const auto problem = shown.document.problem();
        const Objective& objective = objectives().front();
        const Bound quick = quick_bounds(*problem, objective).front();
        const Bound whole = Proof(problem, objective, {}, quick, kInfinity).end(90, {});
        QCOMPARE(whole.name, std::string("branch-and-bound"));
        QVERIFY(whole.value_s > 1.01 * quick.value_s);
        // Without time, or after a stop, the known bound still holds.
        const Bound none = Proof(problem, objective, {}, quick, kInfinity).end(0, {});
        QVERIFY(none.value_s >= quick.value_s && none.value_s <= whole.value_s);
        std::stop_source stop;
        stop.request_stop();
        QVERIFY(Proof(problem, objective, {}, quick, kInfinity).end(1e6, stop.get_token()).value_s >=
                quick.value_s);
        // The optimum is known, so there is nothing to prove.
        QCOMPARE(Proof(problem, objective, {}, quick, quick.value_s).end(1e6, {}).value_s, quick.value_s);
    }

    // --- options ---

    void theFormOfEachAlgorithmKeepsDefaults_data() {
        QTest::addColumn<QString>("id");
        for (const AlgorithmInfo& info : algorithms())
            QTest::newRow(info.id.c_str()) << QString::fromStdString(info.id);
    }
    void theFormOfEachAlgorithmKeepsDefaults() {
        QFETCH(QString, id);
        const AlgorithmInfo& info = *find_algorithm(id.toStdString());
        SearchOptionsDialog dialog(info, {});
        QVERIFY(dialog.values().empty());

        // Each control changes its option; "Restore Defaults" resets all.
        OptionValues changed;
        for (const OptionInfo& option : info.options) {
            auto* editor = dialog.findChild<QWidget*>(QString::fromStdString(option.name));
            QVERIFY2(editor, option.name.c_str());
            QVERIFY(editor->toolTip().startsWith(QString::fromStdString(option.help).left(10)));
            QVERIFY(!editor->accessibleName().isEmpty());
            if (auto* box = qobject_cast<QCheckBox*>(editor)) {
                box->toggle();
                changed[option.name] = box->isChecked();
            } else if (auto* whole = qobject_cast<QSpinBox*>(editor)) {
                whole->setValue(whole->value() < whole->maximum() ? whole->value() + 1 : whole->value() - 1);
                changed[option.name] = std::int64_t{whole->value()};
                QCOMPARE(static_cast<double>(whole->minimum()), option.min.value_or(whole->minimum()));
                QCOMPARE(static_cast<double>(whole->maximum()), option.max.value_or(whole->maximum()));
            } else if (auto* real = qobject_cast<QDoubleSpinBox*>(editor)) {
                real->setValue(real->value() + (real->value() < real->maximum() ? 0.0123 : -0.0123));
                changed[option.name] = real->value();
                QCOMPARE(real->minimum(), option.min.value_or(real->minimum()));
                QCOMPARE(real->maximum(), option.max.value_or(real->maximum()));
            } else {
                auto* choice = qobject_cast<QComboBox*>(editor);
                QVERIFY(choice);
                QCOMPARE(choice->count(), static_cast<int>(option.choices.size()));
                choice->setCurrentIndex((choice->currentIndex() + 1) % choice->count());
                changed[option.name] = choice->currentData().toString().toStdString();
            }
        }
        QCOMPARE(dialog.values(), changed);
        QCOMPARE(SearchOptionsDialog(info, changed).values(),
                 changed);  // the options are kept for the next time
        for (const OptionInfo& option : info.options) {
            if (changed.contains(option.name))
                checked_option(option, changed[option.name]);  // throws if the value is refused
        }
        QTest::mouseClick(dialog.findChild<QPushButton*>("resetOptions"), Qt::LeftButton);
        QVERIFY(dialog.values().empty());
    }

    void presetsSetSeveralOptions() {
        const AlgorithmInfo& info = *find_algorithm("genetic");
        SearchOptionsDialog dialog(info, {});
        dialog.show();
        auto* preset = dialog.findChild<QComboBox*>("preset");
        QVERIFY(preset);
        QCOMPARE(preset->currentText(), QString("Defaults"));
        preset->setFocus();
        QTest::keyClick(preset, Qt::Key_Down);
        QCOMPARE(preset->currentText(), QString("Thesis"));
        // values() omits defaults.
        OptionValues expected = find_preset(info.presets, "thesis").values;
        std::erase_if(expected, [&](const auto& item) {
            return info.options[position(info.options, item.first)].default_value == item.second;
        });
        QVERIFY(!expected.empty());
        QCOMPARE(dialog.values(), expected);
        dialog.findChild<QSpinBox*>("elite_size")->stepUp();
        QCOMPARE(preset->currentText(), QString("Custom"));
        dialog.findChild<QSpinBox*>("elite_size")->stepDown();
        QCOMPARE(preset->currentText(), QString("Thesis"));
        QTest::keyClick(preset, Qt::Key_Home);
        QVERIFY(dialog.values().empty());
        QVERIFY(SearchOptionsDialog(*find_algorithm("expert"), {}).findChild<QComboBox*>("preset") ==
                nullptr);
    }

    void everyPresetIsTaken() {
        for (const AlgorithmInfo& info : algorithms()) {
            for (const OptionPreset& preset : info.presets) {
                for (const auto& [name, value] : preset.values)
                    checked_option(info.options[position(info.options, name)], value);  // throws if refused
                QVERIFY(!preset.help.empty());
            }
        }
        QVERIFY_THROWS_EXCEPTION(OptionError, find_preset(find_algorithm("genetic")->presets, "none"));
        QVERIFY_THROWS_EXCEPTION(OptionError, find_preset(find_algorithm("expert")->presets, "thesis"));
    }

    void chosenOptionsAreUsedByTheNextRun() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.window.chooseAlgorithm("genetic");
        shown.window.chooseEvaluations(100);
        const auto inDialog = [&](const std::function<void(SearchOptionsDialog&)>& act) {
            QTimer::singleShot(0, &shown.window, [act] {
                auto* dialog = qobject_cast<SearchOptionsDialog*>(QApplication::activeModalWidget());
                QVERIFY(dialog);
                act(*dialog);
            });
            shown.action("Algorithm options")->trigger();
        };
        inDialog([](SearchOptionsDialog& dialog) {
            dialog.findChild<QSpinBox*>("population_size")->setValue(23);
            dialog.accept();
        });
        inDialog([](SearchOptionsDialog& dialog) {
            QCOMPARE(dialog.findChild<QSpinBox*>("population_size")->value(), 23);
            dialog.findChild<QSpinBox*>("population_size")->setValue(99);
            dialog.reject();
        });
        clickOptimize(shown);
        QVERIFY(shown.waitUntilIdle());
        const OptionValues expected{{"population_size", std::int64_t{23}}};
        QCOMPARE(shown.document.runs().front()->request().options, expected);
        QVERIFY(rows(shown).front().options.contains(QLatin1String("population_size = 23")));

        shown.window.chooseAlgorithm("expert");  // has its own options
        clickOptimize(shown);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.runs().back()->request().options.empty());
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowSearch)
#include "tst_window_search.moc"
