// SPDX-License-Identifier: MIT
// Messages, the file of the placement, small windows and settings.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>

#include <QCheckBox>
#include <QComboBox>
#include <QDockWidget>
#include <QLabel>
#include <QScreen>
#include <QTabBar>
#include <QTest>
#include <QTreeWidget>

#include "app/window/budget_box.hpp"
#include "app/window/compare/compare_window.hpp"
#include "core/io/text/csv_table.hpp"
#include "core/io/text/input_error.hpp"
#include "core/job/search_table.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/curve_plot.hpp"

using namespace placewright;
using test::panelVisible, test::request, test::Shown;

class TestWindow : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;
    QString m_machine;  ///< three equal GPUs

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        m_machine = m_place->write("three.json", test::uniform_machine(3));
    }
    void cleanup() { m_place.reset(); }

    // --- messages ---

    void measuredCostsSayWhatIsNotMeasured() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), m_machine));
        JobOptions options = shown.document.options();
        options.problem.cost.model = find_cost_model("measured");
        shown.document.setOptions(options);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY2(shown.message().startsWith("none of 10 ops has a measured time for"),
                 qPrintable(shown.message()));
    }

    void whatWasSaidOfAStepGoesWithIt() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), m_machine));
        shown.document.moveOps({shown.op("branch1")}, 2);
        QVERIFY(shown.waitUntilIdle());
        shown.document.setMachine(m_place->write("two.json", test::uniform_machine(2)));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY2(shown.message().contains("cannot hold this placement"), qPrintable(shown.message()));
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(shown.message(), QString());
    }

    // --- export ---

    void thePlacementIsExportedByDialog() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), m_machine));
        shown.document.startSearch(request("expert", 10));
        QVERIFY(shown.waitUntilIdle());
        const QString file = m_place->file("out.json");
        test::giveFile(file);
        shown.action("Placement")->trigger();
        QVERIFY2(shown.message().contains(file), qPrintable(shown.message()));
        QVERIFY(QFile::exists(file));
        QCOMPARE(read_placement(file.toStdString(), *shown.document.problem()), shown.document.placement());
        QFile written(file);
        QVERIFY(written.open(QIODevice::ReadOnly));
        QVERIFY(written.readAll().contains("expert"));  // the algorithm that produced it
    }

    void tablesOfTheSearchesAreWrittenAndReadAgain() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), m_machine));
        for (const char* algorithm : {"random", "hill-climbing"}) {
            RunRequest wanted = request(algorithm, 50);
            wanted.seed = 7;
            shown.document.startSearch(wanted);
            QVERIFY(shown.waitUntilIdle());
        }
        const QString file = m_place->file("searches.csv");
        test::giveFile(file);
        shown.action("Table of searches")->trigger();
        QVERIFY2(shown.message().contains(file), qPrintable(shown.message()));
        const SearchTable table = read_search_table(file.toStdString());
        const auto& runs = shown.document.runs();
        QCOMPARE(table.searches.size(), runs.size());
        for (std::size_t i = 0; i < runs.size(); ++i) {
            const TabledSearch& search = table.searches[i];
            QVERIFY(search.key.algorithm.starts_with(runs[i]->request().algorithm));
            QCOMPARE(search.key.network, shown.document.problem()->graph->name());
            QCOMPARE(search.key.machine, shown.document.problem()->machine->name());
            QCOMPARE(search.key.seed, runs[i]->request().seed);
            QCOMPARE(search.score.value_s, runs[i]->progress().best.value_s);
            QCOMPARE(search.evaluations, runs[i]->progress().evaluations);
            QCOMPARE(search.curve.size(), runs[i]->progress().curve->size());
        }

        // A machine of the same name with other factors is a case of its own in the Compare window.
        WhatIf factors = shown.document.whatIf();
        for (const double factor : {2.0, 4.0}) {
            set_all(factors.speed, shown.document.problem()->machine->devices().size(), factor);
            shown.document.setWhatIf(factors);
            QVERIFY(shown.waitUntilIdle());
            shown.document.startSearch(request("random", 50));
            QVERIFY(shown.waitUntilIdle());
        }
        QVERIFY(QFile::remove(file));
        test::giveFile(file);
        shown.action("Table of searches")->trigger();
        const std::vector<ComparedCase> cases = compared_cases(read_search_table(file.toStdString()));
        QCOMPARE(cases.size(), std::size_t{3});
        QCOMPARE(cases[0].runs.size(), std::size_t{2});
        QVERIFY(cases[1].labels != cases[2].labels);
        // It opens there, although only the machine on screen has a bound, and says what it cannot show.
        shown.document.startSearch(request("random", 20));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(QFile::remove(file));
        test::giveFile(file);
        shown.action("Table of searches")->trigger();
        QVERIFY(shown.dropFile(file));
        const auto* compare = shown.window.findChild<CompareWindow*>();
        QTRY_VERIFY(compare->run() != nullptr);
        const auto* standings = compare->findChild<QTreeWidget*>("standings");
        QCOMPARE(standings->topLevelItemCount(), 3);
        QCOMPARE(standings->topLevelItem(0)->child(0)->text(7), QString("-"));
        QVERIFY(standings->topLevelItem(2)->child(0)->text(7).contains('%'));
        const auto labels = compare->findChildren<QLabel*>();
        QVERIFY(std::ranges::any_of(
            labels, [](const QLabel* label) { return label->text().contains("1 more not shown"); }));

        const QString curves = m_place->file("curves.csv");
        test::giveFile(curves);
        shown.action("Table of learning curves")->trigger();
        CsvTable rows(curves.toStdString());
        const std::size_t run = rows.column("run"), best = rows.column("best_s");
        std::map<std::string, double> last;
        while (rows.next()) last[rows[run]] = rows.number(best);
        QCOMPARE(last.size(), runs.size());
        for (const auto& each : runs)
            QCOMPARE(last.at(runTitle(*each).toStdString()), each->progress().best.penalised_s);
    }

    void aTableWithoutSearchesIsRefused() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), m_machine));
        while (!shown.document.runs().empty()) shown.document.removeRun(shown.document.runs().front()->id());
        shown.action("Table of searches")->trigger();
        QVERIFY2(shown.message().contains("Press Optimize"), qPrintable(shown.message()));
    }

    void aPlacementThatCannotBeWrittenIsAnError() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), m_machine));
        QVERIFY_THROWS_EXCEPTION(InputError,
                                 shown.document.exportPlacement(m_place->file("no folder/out.json")));
    }

    // --- small windows ---

    void theTimelineKeepsItsShareOfTheWindow() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph())));
        const auto resize = [&](QSize size) {
            shown.window.resize(size);
            for (int i = 0; i < 5; ++i) QTest::qWait(20);
            return shown.window.size() == size;
        };
        const auto share = [&] {
            return static_cast<double>(shown.window.findChild<QDockWidget*>("timelineDock")->height()) /
                   shown.window.height();
        };
        QVERIFY(resize({1400, 900}));
        const double first = share();
        QVERIFY(first > 0.25);
        QVERIFY(resize({1000, 620}));
        QVERIFY2(std::abs(share() - first) < 0.03, qPrintable(QString::number(share())));
        QVERIFY(resize({1400, 900}));
        QVERIFY2(std::abs(share() - first) < 0.01, qPrintable(QString::number(share())));
    }

    /// A control hidden behind an overflow arrow is not found by users.
    void everyControlOfTheToolBarsIsSeen_data() {
        QTest::addColumn<int>("width");
        QTest::addColumn<bool>("long_options");
        for (const int width : {760, 1000, 1280, 1400, 1920}) {
            QTest::addRow("%d", width) << width << false;
            QTest::addRow("%d, many options", width) << width << true;
        }
    }
    void everyControlOfTheToolBarsIsSeen() {
        QFETCH(int, width);
        QFETCH(bool, long_options);
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph())));
        if (long_options) {
            JobOptions options;
            options.simulation = {10, 4, Order::one_forward_one_backward};
            options.problem.optimizer_states = 2;
            options.problem.usable_memory = 0.9;
            shown.document.setOptions(options);
            QVERIFY(shown.waitUntilIdle());
        }
        shown.window.resize(width, 800);
        for (int i = 0; i < 5; ++i) QTest::qWait(20);
        for (const char* name : {"machine", "simulationButton", "exportButton", "optimizeButton", "algorithm",
                                 "budget", "seed"}) {
            const auto* control = shown.window.findChild<QWidget*>(QLatin1String(name));
            QVERIFY2(control != nullptr && control->isVisible(), name);
            const QRect place(control->mapTo(&shown.window, QPoint()), control->size());
            QVERIFY2(shown.window.rect().contains(place), name);
        }
    }

    void namesOfPanelsAreReadable() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph())));
        shown.window.resize(1400, 900);
        for (int i = 0; i < 5; ++i) QTest::qWait(20);
        QStringList names;
        for (const QTabBar* bar :
             shown.window.findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly)) {
            for (int tab = 0; bar->isVisible() && tab < bar->count(); ++tab) {
                names << bar->tabText(tab);
                QVERIFY2(bar->rect().contains(bar->tabRect(tab)), qPrintable(bar->tabText(tab)));
                QVERIFY2(
                    bar->tabRect(tab).width() > bar->fontMetrics().horizontalAdvance(bar->tabText(tab)) + 8,
                    qPrintable(bar->tabText(tab)));
            }
        }
        names.sort();
        QCOMPARE(names.join(QLatin1Char(' ')),
                 QStringLiteral(
                     "Archive CDF Curve Devices Distribution History Learning Machine Measured Ops Runs "
                     "Selection Suggestions Why"));
    }

    // --- settings ---

    void settingsComeBack() {
        const QString wide = m_place->write("wide.json", test::wide_graph());
        {
            Shown first;
            QVERIFY(first.open(wide));
            first.window.chooseAlgorithm("genetic");
            first.window.chooseEvaluations(777);
            first.document.setMachine(QStringLiteral("1x-v100"));
            QVERIFY(first.waitUntilIdle());
            auto* curve = first.window.findChild<CurvePlot*>();
            curve->findChild<QCheckBox*>("logY")->click();
            curve->findChild<QCheckBox*>("candidates")->click();
            curve->findChild<QComboBox*>("against")->setCurrentIndex(1);
            first.window.findChild<QDockWidget*>("selectionDock")->close();
            first.window.resize(800, 700);  // within the screen
            QCoreApplication::processEvents();
            QVERIFY(first.window.close());
        }
        {
            Shown second;
            QVERIFY(second.waitUntilIdle());
            QCOMPARE(second.window.findChild<QComboBox*>("algorithm")->currentData().toString(),
                     QStringLiteral("genetic"));
            QVERIFY(budgetFrom(second.window.findChild<QComboBox*>("budget")->currentText()) == Budget{777});
            QCOMPARE(second.document.machineFile(), QStringLiteral("1x-v100"));
            const auto* curve = second.window.findChild<CurvePlot*>();
            QVERIFY(curve->findChild<QCheckBox*>("logY")->isChecked());
            QVERIFY(!curve->findChild<QCheckBox*>("candidates")->isChecked());
            QCOMPARE(curve->findChild<QComboBox*>("against")->currentIndex(), 1);
            QCOMPARE(second.window.size(), QSize(800, 700));
            QVERIFY(!panelVisible(second, "timelineDock"));
            QVERIFY(second.window.close());  // from the start page, where the panels are hidden
        }
        Shown third;
        QVERIFY(third.open(wide));
        QVERIFY(panelVisible(third, "timelineDock"));
        QVERIFY(panelVisible(third, "runsDock"));
        QVERIFY(!panelVisible(third, "selectionDock"));
        third.action("Restore default layout")->trigger();
        QVERIFY(panelVisible(third, "selectionDock"));
        third.window.resize(780, 1700);  // as on a larger screen
        QVERIFY(third.window.close());
        Shown fourth;
        QVERIFY(fourth.window.height() <= fourth.window.screen()->availableSize().height());
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindow)
#include "tst_window.moc"
