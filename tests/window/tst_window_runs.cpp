// SPDX-License-Identifier: MIT
// Runs of searches in the window: paused, saved and side by side, their archive and distribution.
#include <algorithm>
#include <memory>
#include <utility>

#include <QApplication>
#include <QContextMenuEvent>
#include <QDockWidget>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QMenu>
#include <QProcess>
#include <QTest>

#include "core/job/saved_search.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/archive_view.hpp"
#include "widgets/curve_plot.hpp"
#include "widgets/distribution_view.hpp"
#include "widgets/qcustomplot_header.hpp"
#include "widgets/runs_view.hpp"

using namespace placewright;
using test::clickOptimize, test::kEndless, test::pressInMenu, test::rows, test::running, test::Shown,
    test::statusText;

namespace {

/// Position of the table row that shows a run.
QPoint rowOf(const Shown& shown, int id) {
    const RunsView* view = shown.window.runsView();
    for (int row = 0; row < view->model()->rowCount(); ++row) {
        const QModelIndex index = view->model()->index(row, 0);
        if (index.data(RunsModel::IdRole).toInt() == id) return view->visualRect(index).center();
    }
    qFatal("the run is not in the table");
}

void doubleClickRun(const Shown& shown, int id) {
    QWidget* viewport = shown.window.runsView()->viewport();
    QTest::mouseClick(viewport, Qt::LeftButton, {}, rowOf(shown, id));
    QTest::mouseDClick(viewport, Qt::LeftButton, {}, rowOf(shown, id));
}

}  // namespace

class TestWindowRuns : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;
    QString m_machine;  ///< three equal GPUs
    QString m_wide;

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        m_machine = m_place->write("three.json", test::uniform_machine(3));
        m_wide = m_place->write("wide.json", test::wide_graph(12));
    }
    void cleanup() { m_place.reset(); }

    void theMenuOfARunIsReadable() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.window.chooseEvaluations(50);
        clickOptimize(shown);
        QVERIFY(shown.waitUntilIdle());
        RunsView* view = shown.window.runsView();
        const QPoint at = rowOf(shown, 1);
        QContextMenuEvent event(QContextMenuEvent::Mouse, at, view->viewport()->mapToGlobal(at));
        QApplication::sendEvent(view->viewport(), &event);
        auto* menu = view->findChild<QMenu*>();
        QVERIFY(menu != nullptr && QTest::qWaitForWindowExposed(menu));
        for (const QAction* action : menu->actions()) {
            if (action->isSeparator()) continue;
            QFont font = menu->font();
            font.setBold(action == menu->defaultAction());
            const int needed =
                QFontMetrics(font).horizontalAdvance(action->text()) +
                QFontMetrics(font).horizontalAdvance(action->shortcut().toString(QKeySequence::NativeText));
            QVERIFY2(menu->actionGeometry(const_cast<QAction*>(action)).width() >= needed + 40,
                     qPrintable(action->text()));
        }
    }

    // --- pausing ---

    /// Waits until the first run has scored more placements than these.
    bool scores(const Shown& shown, quint64 evaluations) {
        return QTest::qWaitFor(
            [&] { return !rows(shown).empty() && rows(shown)[0].evaluations > evaluations; }, 60'000);
    }
    /// Waits until no result of the first run, which is paused, is under way.
    bool becomesStill(const Shown& shown) {
        quint64 before = 0;
        return QTest::qWaitFor(
            [&] {
                QTest::qWait(100);
                return std::exchange(before, rows(shown)[0].evaluations) == rows(shown)[0].evaluations;
            },
            60'000);
    }

    void aSearchPausesAndGoesOn() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.window.chooseAlgorithm("genetic");
        shown.window.chooseEvaluations(kEndless);
        clickOptimize(shown);
        QVERIFY(scores(shown, 100));
        auto* view = shown.window.runsView();
        view->setFocus();
        QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, rowOf(shown, rows(shown)[0].id));
        QTest::keyClick(view, Qt::Key_Space);
        QCOMPARE(rows(shown)[0].state, RunRow::State::paused);
        QTRY_VERIFY(statusText(shown, "Search").endsWith("paused"));
        QVERIFY(becomesStill(shown));
        const quint64 evaluations = rows(shown)[0].evaluations;
        QTest::qWait(200);
        QCOMPARE(rows(shown)[0].evaluations, evaluations);
        QTest::keyClick(view, Qt::Key_Space);
        QCOMPARE(rows(shown)[0].state, RunRow::State::running);
        QVERIFY(scores(shown, evaluations));
        // A paused search can be stopped too.
        QTest::keyClick(view, Qt::Key_Space);
        clickOptimize(shown);
        QTRY_COMPARE(rows(shown)[0].state, RunRow::State::cancelled);
    }

    // --- saved searches ---

    void aSavedSearchGoesOnInAnotherWindow() {
        const QString file = m_place->file("search.jsonl"), later = m_place->file("later.jsonl");
        constexpr int kEvaluations = 120'000;  // too many to be done before the pause
        constexpr int kSeed = 5;
        const auto prepare = [&](Shown& shown) {
            QVERIFY(shown.open(m_wide, m_machine));
            // The starting placement is part of a search.
            for (const char* name : {"branch2", "branch4", "branch5"})
                shown.document.moveOps({shown.op(name)}, 1);
            QVERIFY(shown.waitUntilIdle());
            shown.window.chooseAlgorithm("genetic");
            shown.window.chooseEvaluations(kEvaluations);
            shown.window.chooseSeed(kSeed);
        };
        {
            Shown shown;
            prepare(shown);
            QVERIFY(!shown.action("Save search")->isEnabled());
            clickOptimize(shown);
            QVERIFY(scores(shown, 100));
            pressInMenu(shown, shown.action("Pause"));
            QCOMPARE(rows(shown)[0].state, RunRow::State::paused);
            QVERIFY(becomesStill(shown));
            test::giveFile(file);
            pressInMenu(shown, shown.action("Save search"));
            QTRY_VERIFY_WITH_TIMEOUT(shown.message().contains(file), 60'000);
            const std::uint64_t evaluations = rows(shown)[0].evaluations;
            QVERIFY(evaluations < kEvaluations);
            const Job& job = shown.document.runs()[0]->job();
            const ScoreContent held = read_scores(file.toStdString(), score_conditions(job));
            QVERIFY(!held.scores.empty() && held.scores.size() < kEvaluations);
            QCOMPARE(held.search->algorithm, std::string("genetic"));
            QCOMPARE(held.search->evaluations, std::optional<std::uint64_t>(kEvaluations));

            // A running search is saved in its current state.
            pressInMenu(shown, shown.action("Resume"));
            QVERIFY(scores(shown, evaluations));
            test::giveFile(later);
            pressInMenu(shown, shown.action("Save search"));
            QTRY_VERIFY_WITH_TIMEOUT(shown.message().contains(later), 60'000);
            const ScoreContent more = read_scores(later.toStdString(), score_conditions(job));
            QVERIFY(more.scores.size() > held.scores.size());
            QVERIFY(std::equal(held.scores.begin(), held.scores.end(), more.scores.begin()));
            for (const auto& run : shown.document.runs()) run->cancel();
            QTRY_VERIFY_WITH_TIMEOUT(!running(shown), 60'000);
        }
        Shown uninterrupted;
        prepare(uninterrupted);
        clickOptimize(uninterrupted);
        QVERIFY(uninterrupted.waitUntilIdle());
        const SearchProgress expected = uninterrupted.document.runs()[0]->progress();

        Shown fresh;
        QVERIFY(fresh.open(m_wide, m_machine));
        fresh.window.chooseAlgorithm("random");  // the algorithm in the toolbar does not matter
        test::giveFile(file);
        pressInMenu(fresh, fresh.action("Resume a search"));
        QTRY_VERIFY_WITH_TIMEOUT(!rows(fresh).empty(), 60'000);
        QVERIFY2(fresh.message().contains("with their known scores, then searches on"),
                 qPrintable(fresh.message()));
        QVERIFY(fresh.waitUntilIdle());
        const Run& run = *fresh.document.runs()[0];
        QCOMPARE(run.state(), Run::State::finished);
        QCOMPARE(run.progress().evaluations, expected.evaluations);
        QCOMPARE(*run.progress().best_placement, *expected.best_placement);
        QCOMPARE(run.progress().best, expected.best);
        QCOMPARE(run.progress().curve->size(), expected.curve->size());
        QVERIFY(run.progress().simulations < expected.simulations);  // known scores were not simulated again
        QCOMPARE(fresh.stepTime(), run.progress().best.value_s);
    }

    void aSearchFromTheCommandLineGoesOn() {
        const QString file = m_place->file("search.jsonl");
        QProcess cli;
        const auto optimize = [&](const QStringList& more) {
            cli.start(PLACEWRIGHT_CLI,
                      QStringList{"optimize", m_wide, "--machine", m_machine, "--json"} + more);
            return cli.waitForFinished(60'000) && cli.exitCode() == 0
                       ? QJsonDocument::fromJson(cli.readAllStandardOutput()).object()
                       : QJsonObject();
        };
        const QJsonObject begun =
            optimize({"--algorithm", "map-elites", "--seed", "4", "--evaluations", "900", "--scores", file});
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        QVERIFY(shown.dropFile(file));  // dropping the file is sufficient
        QTRY_VERIFY_WITH_TIMEOUT(!rows(shown).empty(), 60'000);
        QVERIFY(shown.waitUntilIdle());
        const Run& run = *shown.document.runs()[0];
        QCOMPARE(run.progress().evaluations, std::uint64_t{900});
        QCOMPARE(run.progress().best.value_s, begun["best"]["step_time_s"].toDouble());
        QCOMPARE(run.progress().simulations, std::uint64_t{0});
        QCOMPARE(run.request().seed, std::uint64_t{4});

        // The other direction, from a start that the command line does not know.
        for (const char* name : {"branch2", "branch4", "branch5"})
            shown.document.moveOps({shown.op(name)}, 1);
        QVERIFY(shown.waitUntilIdle());
        shown.window.chooseAlgorithm("hill-climbing");
        shown.window.chooseEvaluations(300);
        clickOptimize(shown);
        QVERIFY(shown.waitUntilIdle());
        const QString other = m_place->file("other.jsonl");
        test::giveFile(other);
        pressInMenu(shown, shown.action("Save search"));
        QTRY_VERIFY_WITH_TIMEOUT(shown.message().contains(other), 60'000);
        const QJsonObject again = optimize({"--scores", other});
        QCOMPARE(again["algorithm"].toString(), QString("hill-climbing"));
        QCOMPARE(again["evaluations"].toInt(), 300);
        QCOMPARE(again["best"]["step_time_s"].toDouble(), shown.document.runs()[1]->progress().best.value_s);
        QCOMPARE(again["simulations_per_s"].toDouble(), 0.0);
    }

    void aSearchOfSomethingElseIsRefused_data() {
        QTest::addColumn<QString>("change");
        QTest::addColumn<QString>("reason");
        QTest::newRow("network") << "network"
                                 << "Open the network fork-join first";
        QTest::newRow("machine") << "machine"
                                 << "the simulated problem differs. Restore batch size";
        QTest::newRow("option") << "batches"
                                << "batches is 1 in the file, 4 here. Change that option in Run";
        QTest::newRow("problem") << "inference"
                                 << "Simulation";
        QTest::newRow("algorithm") << "algorithm"
                                   << "no algorithm \"wishing\"";
        QTest::newRow("without a search") << "search"
                                          << "does not name its search";
    }
    void aSearchOfSomethingElseIsRefused() {
        QFETCH(QString, change);
        QFETCH(QString, reason);
        const QString file = m_place->file("search.jsonl");
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        const ScoreConditions conditions = score_conditions(shown.document.job());
        if (change == "search") {
            ScoreFile(file.toStdString(), conditions);
        } else {
            write_scores(file.toStdString(), conditions, {change == "algorithm" ? "wishing" : "genetic", {}},
                         {});
        }
        JobOptions options = shown.document.options();
        if (change == "batches") options.simulation.batches = 4;
        if (change == "inference") options.problem.cost.compute_efficiency = 0.5;
        shown.document.setOptions(options);
        if (change == "network") QVERIFY(shown.open(m_place->write("chain.json", test::chain(10))));
        if (change == "machine")
            QVERIFY(shown.open(m_wide, m_place->write("two.json", test::uniform_machine(2))));
        QVERIFY(shown.waitUntilIdle());
        test::giveFile(file);
        pressInMenu(shown, shown.action("Resume a search"));
        QTRY_VERIFY_WITH_TIMEOUT(!shown.message().isEmpty(), 60'000);
        QVERIFY2(shown.message().contains(file) && shown.message().contains(reason),
                 qPrintable(shown.message()));
        QVERIFY(rows(shown).empty());
    }

    // --- several runs ---

    void runsAreShownAndRemoved() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        for (const char* algorithm : {"single-device", "expert", "genetic"}) {
            shown.window.chooseAlgorithm(algorithm);
            shown.window.chooseEvaluations(200);
            clickOptimize(shown);
            QVERIFY(shown.waitUntilIdle());
        }
        QCOMPARE(rows(shown).size(), std::size_t{3});
        const int single = rows(shown)[0].id, expert = rows(shown)[1].id, genetic = rows(shown)[2].id;
        const Placement before = shown.document.placement();

        doubleClickRun(shown, single);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.shownRun()->id(), single);
        QCOMPARE(shown.document.placement(), *shown.document.runs()[0]->progress().best_placement);
        QCOMPARE(shown.stepTime(), rows(shown)[0].step_time_s);
        QVERIFY(rows(shown)[0].shown);
        QVERIFY(!rows(shown)[2].shown);
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(shown.document.placement(), before);

        // The selected row in the middle, then all others.
        QWidget* viewport = shown.window.runsView()->viewport();
        QTest::mouseClick(viewport, Qt::LeftButton, {}, rowOf(shown, expert));
        QTest::keyClick(shown.window.runsView(), Qt::Key_Delete);
        QCOMPARE(rows(shown).size(), std::size_t{2});
        QVERIFY(std::ranges::none_of(rows(shown), [&](const RunRow& row) { return row.id == expert; }));
        QCOMPARE(shown.window.findChild<CurvePlot*>()->plot()->graphCount(), 2);
        QTest::mouseClick(viewport, Qt::LeftButton, {}, rowOf(shown, genetic));
        QTest::keyClick(shown.window.runsView(), Qt::Key_Delete);
        QTest::keyClick(shown.window.runsView(), Qt::Key_Delete);
        QCOMPARE(rows(shown).size(), std::size_t{0});
        QVERIFY(shown.document.runs().empty());
        QCOMPARE(shown.document.placement(), before);
    }

    void removingARunningRunKeepsItsStepForUndo() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        const Placement first = shown.document.placement();
        const double firstTime = shown.stepTime();
        shown.window.chooseAlgorithm("genetic");
        shown.window.chooseEvaluations(kEndless);
        clickOptimize(shown);
        QTRY_VERIFY_WITH_TIMEOUT(shown.stepTime() < firstTime, 60'000);
        QTest::mouseClick(shown.window.runsView()->viewport(), Qt::LeftButton, {},
                          rowOf(shown, rows(shown).front().id));
        QTest::keyClick(shown.window.runsView(), Qt::Key_Delete);
        QVERIFY(!running(shown));
        QCOMPARE(rows(shown).size(), std::size_t{0});
        QVERIFY(shown.document.placement() != first);
        // The first undo brings back the run.
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.document.placement() != first);
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(shown.document.placement(), first);
    }

    /// A search waits until the screen has been simulated. Removed and brought back, it must start once.
    void aWaitingRunIsRemovedAndBroughtBack() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.document.moveOps({shown.op("branch0")}, 1);
        const int run = shown.document.startSearch(test::request("random", kEndless));
        QVERIFY(!shown.document.runs().front()->isStarted());
        shown.document.removeRun(run);
        shown.document.undoStack()->undo();
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.runs().size(), std::size_t{1});
        QCOMPARE(shown.document.runs().front()->state(), Run::State::cancelled);
    }

    /// A search that the program began has ended, but its window does not know yet.
    void aRunIsRemovedAsItEnds() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        RunRequest request = test::request("random", 20);
        request.unasked = true;
        const int run = shown.document.startSearch(request);
        QVERIFY(shown.document.runs().front()->isStarted());
        QThread::msleep(500);  // long enough, usually
        shown.document.removeRun(run);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY2(shown.message().contains("removed"), qPrintable(shown.message()));
        shown.document.undoStack()->undo();
        QCOMPARE(shown.document.runs().size(), std::size_t{1});
        QVERIFY(shown.document.runs().front()->state() != Run::State::running);
    }

    void searchesRunSideBySide() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        RunRequest request;
        request.budget.evaluations = 2000;
        request.algorithm = "genetic";
        shown.document.startSearch(request);
        request.algorithm = "map-elites";
        shown.document.startSearch(request);
        for (const auto& run : shown.document.runs()) QVERIFY(shown.document.follows(*run));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(rows(shown).size(), std::size_t{2});
        for (const RunRow& row : rows(shown)) QCOMPARE(row.state, RunRow::State::finished);
        QCOMPARE(shown.window.findChild<CurvePlot*>()->plot()->graphCount(), 2);
    }

    void theScreenFollowsTheBestOfAllRunningSearches() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        const double firstTime = shown.stepTime();
        // The search that is started last ends at once, with one random placement.
        RunRequest request;
        request.algorithm = "genetic";
        request.budget.evaluations = kEndless;
        const int genetic = shown.document.startSearch(request);
        request.algorithm = "random";
        request.budget.evaluations = 1;
        shown.document.startSearch(request);
        QTRY_VERIFY_WITH_TIMEOUT(
            rows(shown)[1].state == RunRow::State::finished && rows(shown)[0].evaluations > 0 &&
                rows(shown)[0].step_time_s < std::min(firstTime, rows(shown)[1].step_time_s),
            60'000);
        shown.document.cancelRun(genetic);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.shownRun()->id(), genetic);
        QCOMPARE(shown.stepTime(), rows(shown)[0].step_time_s);
        QVERIFY(rows(shown)[0].shown);
    }

    void anotherSearchIsStartedBesideTheFirst() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        QAction* beside = shown.action("Start another search");
        shown.window.chooseEvaluations(kEndless);
        shown.window.chooseAlgorithm("genetic");
        pressInMenu(shown, beside);  // without a first one it starts that
        shown.window.chooseAlgorithm("map-elites");
        pressInMenu(shown, beside);
        const auto bothRun = [&](std::size_t runs) {
            return rows(shown).size() == runs && std::ranges::all_of(rows(shown), [](const RunRow& row) {
                       return row.state == RunRow::State::running && row.evaluations > 100;
                   });
        };
        QTRY_VERIFY_WITH_TIMEOUT(bothRun(2), 60'000);
        QVERIFY(rows(shown)[0].title.contains("Genetic") && rows(shown)[1].title.contains("MAP-Elites"));

        // The key does the same; F5 stops all searches.
        QTest::keyClick(&shown.window, Qt::Key_F5, Qt::ShiftModifier);
        QTRY_VERIFY_WITH_TIMEOUT(bothRun(3), 60'000);
        QTest::keyClick(&shown.window, Qt::Key_F5);
        QTRY_VERIFY_WITH_TIMEOUT(!running(shown), 60'000);
        for (const RunRow& row : rows(shown)) QCOMPARE(row.state, RunRow::State::cancelled);
    }

    void aFailedSearchIsReported() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        const Placement before = shown.document.placement();
        RunRequest request;
        request.algorithm = "genetic";
        request.options["population_size"] = std::int64_t{-5};
        shown.document.startSearch(request);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(rows(shown).front().state, RunRow::State::failed);
        QVERIFY(rows(shown).front().failure.contains(QLatin1String("population_size")));
        QVERIFY(shown.message().contains(QLatin1String("population_size")));
        QCOMPARE(shown.document.placement(), before);
    }

    // --- archive ---

    void theQdScoreIsDefinedWhereOneDeviceIsTooSmall() {
        Shown shown;
        const QString network =
            m_place->write("network.json", test::random_graph(2, 30, 3, Training::implicit));
        QVERIFY(shown.open(network, m_machine));
        const Job& roomy = shown.document.job();
        const double needed = std::ranges::max(Simulator(roomy.problem).run(roomy.single_device).peak_bytes);
        const double taken = roomy.machine->device(0).memory_bytes - roomy.problem->memory_limit_bytes[0];
        QVERIFY(shown.open(network,
                           m_place->write("small.json", test::uniform_machine(3, taken + 0.8 * needed))));
        QVERIFY(!shown.document.job().single_device_fits);
        shown.window.findChild<QDockWidget*>("archiveDock")->raise();
        shown.window.chooseAlgorithm("map-elites");
        shown.window.chooseEvaluations(500);
        clickOptimize(shown);
        QVERIFY(shown.waitUntilIdle());
        const auto archive = shown.document.runs().front()->progress().archive;
        double expected = 0;
        for (const auto& elite : archive->elites) {
            if (elite.score.fits) expected += shown.document.job().single_device_s / elite.score.value_s;
        }
        QVERIFY(expected > 0);
        QTRY_COMPARE(shown.window.archiveMap()->findChild<QLabel*>("qdScore")->text(),
                     QStringLiteral("QD score %L1").arg(expected, 0, 'f', 1));
        QVERIFY(shown.window.archiveMap()->findChild<QLabel*>("qdScore")->isVisible());
    }

    void theArchiveFillsAndItsElitesAreShown() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        auto* dock = shown.window.findChild<QDockWidget*>("archiveDock");
        dock->raise();
        shown.window.chooseAlgorithm("map-elites");
        shown.window.chooseEvaluations(kEndless);
        clickOptimize(shown);
        auto* map = qobject_cast<QCPColorMap*>(shown.window.archiveMap()->plot()->plottable(0));
        const auto filled = [&] {
            int cells = 0;
            for (int x = 0; x < map->data()->keySize(); ++x) {
                for (int y = 0; y < map->data()->valueSize(); ++y)
                    cells += map->data()->cell(x, y) > 0;  // NaN where empty
            }
            return cells;
        };
        QTRY_VERIFY_WITH_TIMEOUT(running(shown) && filled() > 3, 60'000);
        clickOptimize(shown);
        QVERIFY(shown.waitUntilIdle());

        // The filled cell with the worst time is not the displayed placement.
        QPoint worst;
        double worstTime = 0;
        for (int x = 0; x < map->data()->keySize(); ++x) {
            for (int y = 0; y < map->data()->valueSize(); ++y) {
                if (map->data()->cell(x, y) <= worstTime || std::isnan(map->data()->cell(x, y))) continue;
                worstTime = map->data()->cell(x, y);
                worst = {x, y};
            }
        }
        const Placement before = shown.document.placement();
        QCustomPlot* plot = shown.window.archiveMap()->plot();
        QVERIFY(plot->isVisible());
        QTest::mouseClick(plot, Qt::LeftButton, {},
                          QPoint(qRound(plot->xAxis->coordToPixel(worst.x())),
                                 qRound(plot->yAxis->coordToPixel(worst.y()))));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.placement() != before);
        QVERIFY(shown.document.shownRun() == nullptr);
        QCOMPARE(shown.stepTime(), test::simulated(shown.document, shown.document.placement()));
        // The map uses milliseconds, or another power of ten.
        const double ratio = worstTime / shown.stepTime();
        QVERIFY2(std::abs(std::log10(ratio) - std::round(std::log10(ratio))) < 1e-9,
                 qPrintable(QString::number(ratio)));
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(shown.document.placement(), before);
    }

    void theArchiveIsThatOfTheChosenRun() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.window.chooseAlgorithm("map-elites");
        for (const int evaluations : {20, 3000}) {
            shown.window.chooseEvaluations(evaluations);
            clickOptimize(shown);
            QVERIFY(shown.waitUntilIdle());
        }
        const auto header = [&] {
            for (const QLabel* label : shown.window.archiveMap()->findChildren<QLabel*>()) {
                if (label->text().contains("niches filled")) return label->text();
            }
            return QString();
        };
        const auto count = [&](int run) {
            return QLocale().toString(
                qulonglong(shown.document.runs()[run]->progress().archive->elites.size()));
        };
        QVERIFY(count(0) != count(1));
        QVERIFY2(header().startsWith(count(1) + " "), qPrintable(header()));  // the latest run
        QTest::mouseClick(shown.window.runsView()->viewport(), Qt::LeftButton, {},
                          rowOf(shown, rows(shown)[0].id));
        QVERIFY2(header().startsWith(count(0) + " "), qPrintable(header()));
    }

    // --- distribution ---

    void theDistributionSharpensAndSelectsOps() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.window.findChild<QDockWidget*>("distributionDock")->raise();
        QCustomPlot* plot = shown.window.distributionMap()->plot();
        QVERIFY(!plot->isVisible());
        shown.window.chooseAlgorithm("post");
        shown.window.chooseEvaluations(kEndless);
        clickOptimize(shown);
        QTRY_VERIFY_WITH_TIMEOUT(plot->isVisible() && running(shown), 60'000);
        const auto entropy = [&] {
            const auto& distribution = shown.document.runs().back()->progress().distribution;
            return distribution ? distribution->entropy / distribution->largest_entropy : 1;
        };
        // The mixed-in uniform distribution keeps the entropy above zero.
        QTRY_VERIFY_WITH_TIMEOUT(entropy() < 0.6, 60'000);
        clickOptimize(shown);
        QVERIFY(shown.waitUntilIdle());
        auto* header = shown.window.distributionMap()->findChild<QLabel*>("header");
        QVERIFY2(header->text().contains("groups at least 90 %") && header->text().contains("nats"),
                 qPrintable(header->text()));

        const Problem& problem = *shown.document.problem();
        const GroupId group = problem.grouping.group_of[shown.op("branch2")];
        plot->replot();
        QTest::mouseClick(
            plot, Qt::LeftButton, {},
            QPoint(qRound(plot->xAxis->coordToPixel(group)), qRound(plot->yAxis->coordToPixel(0))));
        QCOMPARE(shown.document.selection(), OpList{shown.op("branch2")});

        // A run of another algorithm has no distribution: that of the latest run with one stays, and returns
        // when that run is selected.
        shown.window.chooseAlgorithm("random");
        shown.window.chooseEvaluations(50);
        clickOptimize(shown);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(plot->isVisible());
        QVERIFY(shown.document.runs().back()->progress().distribution == nullptr);
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowRuns)
#include "tst_window_runs.moc"
