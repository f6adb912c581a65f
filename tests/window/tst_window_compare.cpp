// SPDX-License-Identifier: MIT
// Comparison of algorithms in the window, with a real mouse and keyboard.
#include <algorithm>
#include <cmath>
#include <memory>

#include <QApplication>
#include <QComboBox>
#include <QFile>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMessageBox>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTabBar>
#include <QTabWidget>
#include <QTest>
#include <QTimer>
#include <QToolButton>
#include <QTreeWidget>
#include <QUndoStack>

#include "app/window/algorithm_box.hpp"
#include "app/window/compare/compare_window.hpp"
#include "app/window/live_cdf.hpp"
#include "core/algorithms.hpp"
#include "core/job/search_table.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/cdf_plot.hpp"
#include "widgets/qcustomplot_header.hpp"
#include "widgets/seed_curves.hpp"
#include "widgets/standing_plot.hpp"

using namespace placewright;
using test::Shown;

namespace {

constexpr int kPatience_ms = 30'000;

CompareWindow* openCompare(Shown& shown) {
    QTest::keyClick(&shown.window, Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
    auto* compare = shown.window.findChild<CompareWindow*>();
    if (compare == nullptr || !QTest::qWaitForWindowExposed(compare)) qFatal("the window does not appear");
    return compare;
}

template <class Control>
Control* control(CompareWindow* compare, const char* name) {
    auto* found = compare->findChild<Control*>(QLatin1String(name));
    if (found == nullptr) qFatal("no control %s", name);
    return found;
}

/// Checks exactly these entries by keyboard.
void checkOnly(CompareWindow* compare, const char* name, const QStringList& values) {
    auto* list = control<QListWidget>(compare, name);
    list->setFocus();
    for (int row = 0; row < list->count(); ++row) {
        QListWidgetItem* item = list->item(row);
        const bool wanted = values.contains(item->data(Qt::UserRole).toString());
        if (wanted == (item->checkState() == Qt::Checked)) continue;
        list->setCurrentItem(item);
        QTest::keyClick(list, Qt::Key_Space);
    }
}

void type(CompareWindow* compare, const char* name, int value) {
    auto* box = control<QSpinBox>(compare, name);
    box->setFocus();
    box->selectAll();
    QTest::keyClicks(box, QString::number(value));
}

void clickStart(CompareWindow* compare) {
    QTest::mouseClick(control<QPushButton>(compare, "start"), Qt::LeftButton);
}

bool ends(CompareWindow* compare) {
    return QTest::qWaitFor(
        [&] { return compare->run() != nullptr && compare->run()->state() != ComparisonRun::State::running; },
        kPatience_ms);
}

std::vector<const QTreeWidgetItem*> rowsOf(const QTreeWidgetItem* head) {
    std::vector<const QTreeWidgetItem*> rows;
    for (int i = 0; i < head->childCount(); ++i) rows.push_back(head->child(i));
    return rows;
}

}  // namespace

class TestWindowCompare : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;
    QString m_machine, m_network;

private Q_SLOTS:
    void initTestCase() {
        m_place = std::make_unique<test::Workplace>();
        m_machine = m_place->write(QStringLiteral("machine.json"), test::uniform_machine(3));
        m_network = m_place->write(QStringLiteral("wide.json"), test::wide_graph());
    }

    void algorithmsHaveTheHeadingsOfTheMainWindow() {
        Shown shown;
        CompareWindow* compare = openCompare(shown);
        const auto* box = shown.window.findChild<AlgorithmBox*>();
        const auto* list = control<QListWidget>(compare, "algorithms");
        QCOMPARE(list->count(), box->count());
        for (int row = 0; row < list->count(); ++row) {
            QCOMPARE(list->item(row)->text(), box->itemText(row));
            QCOMPARE(list->item(row)->flags().testFlag(Qt::ItemIsUserCheckable),
                     !box->itemData(row).toString().isEmpty());
        }
    }

    void searchesAreCompared() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        CompareWindow* compare = openCompare(shown);
        // The open network is included by default.
        QCOMPARE(control<QListWidget>(compare, "networks")->item(0)->checkState(), Qt::Checked);
        QCOMPARE(control<QListWidget>(compare, "networks")->item(0)->data(Qt::UserRole).toString(),
                 m_network);
        // There is nothing to test yet.
        QVERIFY(!control<QComboBox>(compare, "first")->isVisible());
        checkOnly(compare, "algorithms", {"random", "hill-climbing"});
        type(compare, "seeds", 3);
        type(compare, "evaluations", 40);
        QVERIFY(control<QLabel>(compare, "size")->text().startsWith("6 searches of at most 40"));
        clickStart(compare);
        QVERIFY(ends(compare));
        QCOMPARE(compare->run()->state(), ComparisonRun::State::finished);
        QCOMPARE(control<QLabel>(compare, "status")->text(), QString("6 of 6 searches"));
        QVERIFY(control<QComboBox>(compare, "first")->isVisible());

        // The same result as the library with the same seeds.
        const Job& job = shown.document.job();
        ComparisonTask task{job.problem, job.simulation, job.penalty, starting_placements(job),
                            {},          {1, 2, 3},      40};
        for (const char* id : {"random", "hill-climbing"})
            task.contestants.push_back({find_algorithm(id), {}});
        const auto expected = placewright::compare(task);
        const auto& runs = compare->run()->cases().at(0)->compared.runs;
        QCOMPARE(runs.size(), expected.size());
        for (std::size_t i = 0; i < runs.size(); ++i) {
            QCOMPARE(runs[i].contestant, expected[i].contestant);
            QCOMPARE(runs[i].seed, expected[i].seed);
            QCOMPARE(runs[i].progress.best, expected[i].progress.best);
        }

        // Table, plot and test show it.
        auto* table = control<QTreeWidget>(compare, "standings");
        QCOMPARE(table->topLevelItemCount(), 1);
        const auto rows = rowsOf(table->topLevelItem(0));
        QCOMPARE(rows.size(), 2U);
        QCOMPARE(rows[0]->text(0), QString::fromStdString(find_algorithm("random")->title));
        const auto all = compare->run()->cases().at(0)->compared.all_standings();
        QCOMPARE(rows[1]->text(1), QString::fromStdString(format_seconds(all[1].score_s.mean)));
        const Job& compared = *compare->run()->cases().at(0)->job;
        // The row shows the bound of the open network as it is proven so far; no event changes it from here
        // on.
        QVERIFY(shown.document.bound());
        const double bound_s = std::max(tightest_bound(compared).value_s, shown.document.bound()->value_s);
        const double above = whole_percent(all[1].best_s / bound_s - 1);
        QCOMPARE(rows[1]->text(7), QStringLiteral("%1 %").arg(above, 0, 'f', 0));
        auto* plot = compare->findChild<StandingPlot*>()->plot();
        auto* bars = qobject_cast<QCPGraph*>(plot->plottable(0));
        QVERIFY(bars != nullptr);
        QCOMPARE(bars->data()->size(), 2);
        auto* intervals = qobject_cast<QCPErrorBars*>(plot->plottable(1));
        QVERIFY(intervals != nullptr);
        const double unit = bars->data()->at(1)->value / all[0].score_s.mean;  // the first is drawn on top
        for (int i = 0; i < 2; ++i) {
            const SampleStatistics& score_s = all[static_cast<std::size_t>(1 - i)].score_s;
            QCOMPARE(bars->data()->at(i)->value, score_s.mean * unit);
            QCOMPARE(intervals->data()->at(i).errorPlus, score_s.half_width_95.value_or(0) * unit);
        }
        QVERIFY(all[0].score_s.half_width_95 != all[1].score_s.half_width_95);
        const auto test = welch_test(all[0].score_s, all[1].score_s);
        const QString said = control<QLabel>(compare, "test")->text();
        if (test) {
            QVERIFY2(said.contains(QString::number(std::abs(test->t), 'f', 2)), qPrintable(said));
        } else {
            QVERIFY(!said.isEmpty());
        }
        // An algorithm is not tested against itself.
        auto* second = control<QComboBox>(compare, "second");
        second->setFocus();
        QTest::keyClick(second, Qt::Key_Home);
        QVERIFY(control<QLabel>(compare, "test")->text().isEmpty());
    }

    void stepTimesAreDrawnAsDistributions() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        CompareWindow* compare = openCompare(shown);
        checkOnly(compare, "algorithms", {"single-device", "hill-climbing"});
        type(compare, "seeds", 4);
        type(compare, "evaluations", 60);
        // The CDF grows while the comparison runs.
        QList<int> sizes;
        connect(compare, &CompareWindow::resultsChanged, this, [&] {
            int size = 0;
            for (const CdfScheme& scheme : compare->cdf().schemes)
                size += static_cast<int>(scheme.values.size());
            sizes << size;
        });
        clickStart(compare);
        QVERIFY(ends(compare));
        QCOMPARE(sizes.first(), 0);
        QCOMPARE(sizes.last(), 8);
        QVERIFY(std::ranges::is_sorted(sizes));

        auto* tabs = control<QTabWidget>(compare, "plots");
        QTest::mouseClick(tabs->tabBar(), Qt::LeftButton, {}, tabs->tabBar()->tabRect(1).center());
        auto* here = compare->findChild<CdfPlot*>();
        QVERIFY(here->plot()->isVisible());
        const Job& job = shown.document.job();
        std::vector<double> expected;
        for (const ComparedRun& run : compare->run()->cases().at(0)->compared.runs) {
            if (run.contestant == 1) expected.push_back(run.progress.best.value_s / job.single_device_s);
        }
        std::ranges::sort(expected);
        for (const CdfPlot* cdf : std::initializer_list<const CdfPlot*>{here, shown.window.cdfPlot()}) {
            // Only one device, which is the reference of the axis.
            QCOMPARE(cdf->plot()->graph(0)->data()->at(1)->key, 1.0);
            for (int i = 0; i < 4; ++i) {
                QCOMPARE(cdf->plot()->graph(1)->data()->at(i + 1)->key,
                         expected[static_cast<std::size_t>(i)]);
                QCOMPARE(cdf->plot()->graph(1)->data()->at(i + 1)->value, 25.0 * (i + 1));
            }
        }
    }

    void bestPlacementIsShown() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        const Placement before = shown.document.placement();
        CompareWindow* compare = openCompare(shown);
        checkOnly(compare, "algorithms", {"hill-climbing"});
        type(compare, "seeds", 2);
        type(compare, "evaluations", 200);
        clickStart(compare);
        QVERIFY(ends(compare));
        const auto& runs = compare->run()->cases().at(0)->compared.runs;
        const auto best = std::ranges::min_element(
            runs, {}, [](const ComparedRun& run) { return run.progress.best.penalised_s; });
        auto* table = control<QTreeWidget>(compare, "standings");
        const QRect row = table->visualItemRect(table->topLevelItem(0)->child(0));
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, row.center());
        QTest::mouseDClick(table->viewport(), Qt::LeftButton, {}, row.center());
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.placement() == *best->progress.best_placement);
        QVERIFY(qAbs(shown.stepTime() - best->progress.best.value_s) < 1e-9);
        shown.document.undoStack()->undo();
        QVERIFY(shown.document.placement() == before);

        // The displayed placement is not saved, so opening another network asks about it. Then there is
        // nothing to show it on.
        bool asked = false;
        QTimer answers;
        connect(&answers, &QTimer::timeout, this, [&asked] {
            auto* question = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            if (question == nullptr) return;
            asked = true;
            question->button(QMessageBox::Discard)->click();
        });
        answers.start(20);
        QVERIFY(shown.open(m_place->write(QStringLiteral("other.json"), test::chain(5)), m_machine));
        answers.stop();
        QVERIFY(asked);
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, row.center());
        const Placement other = shown.document.placement();
        QTest::mouseDClick(table->viewport(), Qt::LeftButton, {}, row.center());
        QVERIFY(shown.document.placement() == other);
    }

    void closingAsksForWhatOnlyTheComparisonHasFound() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        CompareWindow* compare = openCompare(shown);
        checkOnly(compare, "algorithms", {"random", "hill-climbing"});
        type(compare, "seeds", 2);
        type(compare, "evaluations", 60);
        clickStart(compare);
        QVERIFY(ends(compare));
        const auto best = compare->bestOfOpen();
        QVERIFY(best.has_value());
        QVERIFY(best->score.penalised_s < shown.stepTime());
        QVERIFY(!shown.document.unsaved());
        // The curves alone are not the searches.
        const QString curves = m_place->file(QStringLiteral("curves alone.csv"));
        test::giveFile(curves);
        for (QPushButton* button : compare->findChildren<QPushButton*>()) {
            if (button->text().startsWith(QLatin1String("Export &curves"))) button->click();
        }
        QVERIFY(QFile::exists(curves));
        QCOMPARE(compare->unsavedSearches(), std::size_t{4});

        QStringList asked;
        const auto closeAnd = [&](QMessageBox::StandardButton answer) {
            asked.clear();
            QTimer answering;
            connect(&answering, &QTimer::timeout, this, [&asked, answer] {
                auto* question = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
                if (question == nullptr) return;
                asked << question->text();
                QVERIFY(question->button(QMessageBox::Discard)->text().contains(u'&'));
                question->button(answer)->click();
            });
            answering.start(20);
            return shown.window.close();
        };
        QVERIFY(!closeAnd(QMessageBox::Cancel));
        QCOMPARE(asked.size(), 1);
        QVERIFY2(asked[0].contains(best->by) && asked[0].contains("comparison"), qPrintable(asked[0]));
        QVERIFY(closeAnd(QMessageBox::Discard));
        QCOMPARE(asked.size(), 2);
        // After its export only the searches themselves would be lost, whether their window is open or not.
        shown.window.show();
        shown.document.showPlacement(best->placement, QStringLiteral("Show"));
        QVERIFY(shown.waitUntilIdle());
        shown.document.exportPlacement(m_place->file(QStringLiteral("best.json")));
        for (const bool open : {true, false}) {
            compare->setVisible(open);
            auto* way = shown.window.findChild<QToolButton*>(QStringLiteral("toComparison"));
            QVERIFY(way != nullptr);
            QCOMPARE(way->isVisibleTo(&shown.window), !open);
            if (!open) QVERIFY2(way->text().contains("finished"), qPrintable(way->text()));
            QVERIFY(!closeAnd(QMessageBox::Cancel));
            QCOMPARE(asked.size(), 1);
            QVERIFY2(asked[0].startsWith("Export 4 unsaved searches"), qPrintable(asked[0]));
        }

        // A table for a network that is not open can also be exported.
        QVERIFY(shown.open(m_place->write(QStringLiteral("other.json"), test::chain(5)), m_machine));
        QVERIFY(!closeAnd(QMessageBox::Cancel));
        QCOMPARE(asked.size(), 1);
        QVERIFY2(asked[0].startsWith("Export 4 unsaved searches"), qPrintable(asked[0]));
    }

    void aNewComparisonAsksForTheSearchesOfTheLast() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        CompareWindow* compare = openCompare(shown);
        checkOnly(compare, "algorithms", {"random"});
        type(compare, "seeds", 2);
        type(compare, "evaluations", 20);
        clickStart(compare);
        QVERIFY(ends(compare));
        const ComparisonRun* first = compare->run();
        QStringList asked;
        const auto startAnd = [&](QMessageBox::StandardButton answer) {
            QTimer::singleShot(50, this, [&asked, answer] {
                auto* question = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
                if (question == nullptr) return;
                asked << question->text();
                question->button(answer)->click();
            });
            clickStart(compare);
        };
        startAnd(QMessageBox::Cancel);
        QCOMPARE(asked, QStringList{"Export 2 unsaved searches?"});
        QCOMPARE(compare->run(), first);
        QCOMPARE(compare->run()->finishedSearches(), std::size_t{2});
        type(compare, "seeds", 3);
        startAnd(QMessageBox::Discard);
        QVERIFY(ends(compare));
        QCOMPARE(asked.size(), 2);
        QCOMPARE(compare->run()->finishedSearches(), std::size_t{3});
    }

    void aClosedWindowHasAWayBackWhileItCompares() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        CompareWindow* compare = openCompare(shown);
        checkOnly(compare, "algorithms", {"random"});
        type(compare, "seeds", 1);
        type(compare, "evaluations", 1'000'000'000);
        clickStart(compare);
        auto* back = shown.window.findChild<QToolButton*>("toComparison");
        QVERIFY(!back->isVisible());
        QVERIFY(compare->close());
        QVERIFY(back->isVisible());
        QTRY_COMPARE(back->text(), QString("Comparison: 0 of 1 searches"));
        // Quitting asks, though nothing would be lost yet.
        QStringList asked;
        QTimer::singleShot(50, this, [&asked] {
            auto* question = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            if (question == nullptr) return;
            asked << question->text();
            question->button(QMessageBox::Cancel)->click();
        });
        QVERIFY(!shown.window.close());
        QCOMPARE(asked, QStringList{"Stop the comparison?"});
        QTest::mouseClick(back, Qt::LeftButton);
        QVERIFY(compare->isVisible() && !back->isVisible());
        QVERIFY(compare->isRunning());
        QVERIFY(compare->close());
        QVERIFY(back->isVisible());
        QTest::mouseClick(back, Qt::LeftButton);
        clickStart(compare);  // stops it
        QVERIFY(ends(compare));
        QVERIFY(compare->close());
        QVERIFY(!back->isVisible());
    }

    void learningCurvesHaveBandsOverTheSeeds() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        CompareWindow* compare = openCompare(shown);
        checkOnly(compare, "algorithms", {"random", "hill-climbing"});
        type(compare, "seeds", 3);
        type(compare, "evaluations", 200);
        clickStart(compare);
        QVERIFY(ends(compare));
        // Nothing is selected that the user did not select; the first case is plotted all the same.
        auto* table = control<QTreeWidget>(compare, "standings");
        QVERIFY(table->currentItem() == nullptr);
        QVERIFY(!control<QPushButton>(compare, "showPlacement")->isEnabled());
        QVERIFY2(rowsOf(table->topLevelItem(0))[1]->text(4).contains("/3 seeds"),
                 qPrintable(rowsOf(table->topLevelItem(0))[1]->text(4)));
        auto* tabs = control<QTabWidget>(compare, "plots");
        QTest::mouseClick(tabs->tabBar(), Qt::LeftButton, {}, tabs->tabBar()->tabRect(2).center());
        QCustomPlot* plot = compare->findChild<SeedCurves*>()->plot();
        QVERIFY(plot->isVisible());
        QCOMPARE(plot->graphCount(), 6);
        const auto& compared = compare->run()->cases().at(0)->compared;
        const double unit = plot->graph(0)->data()->at(0)->value / [&] {
            double worst = 0;
            for (const ComparedRun& run : compared.runs) {
                if (run.contestant != compared.all_standings()[0].contestant) continue;
                worst = std::max(worst, run.progress.curve->front().best_s);
            }
            return worst;
        }();
        for (int i = 0; i < 2; ++i) {
            std::vector<double> ends_s;
            for (const ComparedRun& run : compared.runs) {
                if (run.contestant == compared.all_standings()[static_cast<std::size_t>(i)].contestant)
                    ends_s.push_back(run.progress.best.value_s);
            }
            QCOMPARE(ends_s.size(), std::size_t{3});
            const auto last = [&](int graph) {
                const auto data = plot->graph(3 * i + graph)->data();
                return data->at(data->size() - 1)->value / unit;
            };
            std::ranges::sort(ends_s);
            QVERIFY(std::abs(last(0) / ends_s[2] - 1) < 1e-9);
            QVERIFY(std::abs(last(1) / ends_s[0] - 1) < 1e-9);
            QVERIFY(std::abs(last(2) / ends_s[1] - 1) < 1e-9);
        }
        // Its budget is its own, and remembered.
        QCOMPARE(QSettings().value("comparedEvaluations").toInt(), 200);
    }

    void onlyWhatNoTableHasIsUnsaved() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        CompareWindow* compare = openCompare(shown);
        checkOnly(compare, "algorithms", {"random"});
        type(compare, "seeds", 1000);
        type(compare, "evaluations", 5000);
        clickStart(compare);
        const auto finished = [compare] { return compare->run()->finishedSearches(); };
        QVERIFY(QTest::qWaitFor([&] { return finished() > 0; }, kPatience_ms));

        const QString file = m_place->file(QStringLiteral("searches.csv"));
        test::giveFile(file);
        for (QPushButton* button : compare->findChildren<QPushButton*>()) {
            if (button->text().startsWith(QLatin1String("Export &searches"))) button->click();
        }
        QFile table(file);
        QVERIFY(table.open(QIODevice::ReadOnly));
        const auto saved = static_cast<std::size_t>(table.readAll().count('\n')) - 1;
        QVERIFY(saved > 0);
        QVERIFY(QTest::qWaitFor([&] { return finished() > saved; }, kPatience_ms));
        clickStart(compare);  // stops it
        QVERIFY(ends(compare));

        // The table is all that is asked for when something else is open.
        QStringList asked;
        QMessageBox::StandardButton answer = QMessageBox::Discard;
        QTimer answers;
        connect(&answers, &QTimer::timeout, this, [&asked, &answer] {
            auto* question = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            if (question == nullptr) return;
            asked << question->text();
            question->button(answer)->click();
        });
        answers.start(20);
        QVERIFY(shown.open(m_place->write(QStringLiteral("other.json"), test::chain(5)), m_machine));
        asked.clear();
        answer = QMessageBox::Cancel;
        QVERIFY(!shown.window.close());
        QCOMPARE(asked.size(), 1);
        const std::size_t unsaved = finished() - saved;
        const QString expected = unsaved == 1 ? QStringLiteral("Export 1 unsaved search?")
                                              : QStringLiteral("Export %L1 unsaved searches?").arg(unsaved);
        QCOMPARE(asked[0], expected);
    }

    void tablesAreShownAsComparisons() {
        // Two networks with options, of which one has seeds that are no small numbers, and curves.
        SearchTable table;
        const auto add = [&](const char* network, const char* options, const char* algorithm,
                             std::uint64_t seed, double value_s) {
            TabledSearch search;
            search.key = {network, "pair", options, algorithm, seed};
            search.score = {value_s, value_s, true};
            search.evaluations = 40;
            search.simulations = 40;
            search.one_device_s = 0.2;
            search.lower_bound_s = 0.05;
            search.curve = {{1, 0.001, 2 * value_s, 0, true}, {30, 0.02, value_s, 0, true}};
            table.searches.push_back(search);
        };
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            add("one", "", "random", seed, 0.08 + 0.01 * static_cast<double>(seed));
            add("one", "", "genetic", seed, 0.07);
        }
        for (const std::uint64_t seed : {7ULL, 18'000'000'000'000'000'000ULL})
            add("two", "batch=64", "genetic", seed, 0.1);
        add("two", "batch=64", "genetic (population_size=20)", 7, 0.09);
        const QString file =
            m_place->write(QStringLiteral("sweep.csv"), QByteArray::fromStdString(search_csv(table)));

        Shown shown;  // nothing is open
        QVERIFY(shown.dropFile(file));
        auto* compare = shown.window.findChild<CompareWindow*>();
        QVERIFY(compare != nullptr);
        QVERIFY(QTest::qWaitFor([&] { return compare->run() != nullptr; }, kPatience_ms));
        QCOMPARE(control<QLabel>(compare, "status")->text(), QString("9 searches from sweep.csv"));
        const auto* standings = control<QTreeWidget>(compare, "standings");
        QCOMPARE(standings->topLevelItemCount(), 2);
        QCOMPARE(standings->topLevelItem(0)->text(0), QString("one on pair"));
        QCOMPARE(standings->topLevelItem(1)->text(0), QString("two on pair, batch=64"));
        QCOMPARE(standings->topLevelItem(0)->childCount(), 2);
        const QTreeWidgetItem* genetic = standings->topLevelItem(0)->child(1);
        QCOMPARE(genetic->text(0), QString("Genetic algorithm"));
        QCOMPARE(genetic->text(1), QString("70.0 ms"));
        const QTreeWidgetItem* small = standings->topLevelItem(1)->child(1);
        QCOMPARE(small->text(0), QString("Genetic algorithm (population_size=20)"));
        QCOMPARE(small->text(1), QString("90.0 ms"));
        QCOMPARE(genetic->text(7), QString("40 %"));
        QVERIFY2(genetic->text(4).startsWith("3/3 seeds · median 30 evaluations"),
                 qPrintable(genetic->text(4)));
        QVERIFY(!control<QPushButton>(compare, "showPlacement")->isEnabled());
        const CdfData cdf = compare->cdf();
        QCOMPARE(cdf.graphs.size(), std::size_t{5});
        QCOMPARE(cdf.schemes.size(), std::size_t{3});
        QVERIFY(cdf.schemes[1].color != cdf.schemes[2].color);
        // Nothing is lost by closing it; what is exported again can be opened again and shows the same.
        const auto textsOf = [](const QTreeWidgetItem* item) {
            QStringList texts;
            for (int column = 0; column < item->columnCount(); ++column) texts << item->text(column);
            return texts;
        };
        const QStringList before = textsOf(genetic);
        QCOMPARE(compare->unsavedSearches(), std::size_t{0});
        const QString exported = m_place->file(QStringLiteral("exported.csv"));
        const auto exportTo = [&](const QString& to, QLatin1String title) {
            test::giveFile(to);
            for (QPushButton* button : compare->findChildren<QPushButton*>()) {
                if (button->text().startsWith(title)) button->click();
            }
            return QFile::exists(to);
        };
        QVERIFY(exportTo(exported, QLatin1String("Export &searches")));
        test::giveFile(exported);
        control<QPushButton>(compare, "openSearches")->click();
        QVERIFY(QTest::qWaitFor([&] { return compare->run()->file() == QLatin1String("exported.csv"); },
                                kPatience_ms));
        QCOMPARE(standings->topLevelItem(1)->text(0), QString("two on pair, batch=64"));
        QCOMPARE(textsOf(standings->topLevelItem(0)->child(1)), before);

        // A table that is none says where it is wrong; the last one stays.
        QString complaint;
        QTimer answers;
        connect(&answers, &QTimer::timeout, this, [&complaint] {
            auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            if (box == nullptr) return;
            complaint = box->text();
            box->button(QMessageBox::Ok)->click();
        });
        answers.start(20);
        test::giveFile(m_place->write(QStringLiteral("wrong.csv"),
                                      QByteArray::fromStdString(search_csv(table)).replace(" 30:", " x:")));
        control<QPushButton>(compare, "openSearches")->click();
        QVERIFY(QTest::qWaitFor([&] { return !complaint.isEmpty(); }, kPatience_ms));
        QVERIFY2(complaint.contains("wrong.csv: line 2, curve: "), qPrintable(complaint));
        QCOMPARE(compare->run()->file(), QString("exported.csv"));

        // So does a table of curves alone, which has another button.
        complaint.clear();
        const QString curves = m_place->file(QStringLiteral("curves.csv"));
        QVERIFY(exportTo(curves, QLatin1String("Export &curves")));
        test::giveFile(curves);
        control<QPushButton>(compare, "openSearches")->click();
        QVERIFY(QTest::qWaitFor([&] { return !complaint.isEmpty(); }, kPatience_ms));
        QVERIFY2(complaint.contains("learning curves but no results"), qPrintable(complaint));
    }

    void aTableWaitsForTheEndOfAComparison() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        CompareWindow* compare = openCompare(shown);
        checkOnly(compare, "algorithms", {"random"});
        type(compare, "evaluations", 10'000'000);
        clickStart(compare);
        SearchTable table;
        table.searches.emplace_back().key = {"one", "pair", "", "random", 1};
        QVERIFY(shown.dropFile(
            m_place->write(QStringLiteral("table.csv"), QByteArray::fromStdString(search_csv(table)))));
        QVERIFY2(shown.message().contains("table.csv") && shown.message().contains("has ended"),
                 qPrintable(shown.message()));
        QVERIFY(compare->isRunning() && compare->run()->file().isEmpty());
        clickStart(compare);  // stops it
        QVERIFY(ends(compare));
    }

    void whatWasProvenOfTheOpenNetworkCounts() {
        // Four equal ops on three devices: one device runs two of them. The bound of the comparison shares
        // them in fractions, 4/3 of an op to each device; only the proof of the open network shows that two
        // are needed.
        GraphBuilder builder("independent", 1, Training::none);
        for (int i = 0; i < 4; ++i) {
            Op op;
            op.name = "op" + std::to_string(i);
            op.kind = "matmul";
            op.flops = 2e9;
            op.outputs.emplace_back().bytes = 100;
            builder.add(std::move(op));
        }
        const QString network = m_place->write(QStringLiteral("independent.json"), builder.build());
        Shown shown;
        QVERIFY(shown.open(network, m_machine));
        CompareWindow* compare = openCompare(shown);
        checkOnly(compare, "algorithms", {"hill-climbing"});
        type(compare, "seeds", 2);
        type(compare, "evaluations", 200);
        clickStart(compare);
        QVERIFY(ends(compare));
        const CaseOnItsWay& item = *compare->run()->cases()[0];
        QVERIFY(*gap(item.compared, item.compared.all_standings()[0]) > 0.4);
        const auto* standings = control<QTreeWidget>(compare, "standings");
        QTRY_COMPARE_WITH_TIMEOUT(standings->topLevelItem(0)->child(0)->text(7), QString("0 %"),
                                  kPatience_ms);
    }

    void whatFitsNowhereHasNoTime() {
        Shown shown;
        QVERIFY(shown.open(m_network,
                           m_place->write(QStringLiteral("small.json"), test::uniform_machine(2, 1000))));
        CompareWindow* compare = openCompare(shown);
        checkOnly(compare, "algorithms", {"single-device", "random"});
        type(compare, "seeds", 2);
        type(compare, "evaluations", 10);
        clickStart(compare);
        QVERIFY(ends(compare));
        const auto rows = rowsOf(control<QTreeWidget>(compare, "standings")->topLevelItem(0));
        QCOMPARE(rows.size(), 2U);
        for (const QTreeWidgetItem* row : rows) {
            QCOMPARE(row->text(1), QString("does not fit"));
            QCOMPARE(row->text(2), QString("-"));
            QCOMPARE(row->text(3), QString("does not fit"));
            QCOMPARE(row->text(4), QString("2 do not fit"));
        }
    }

    void stoppedKeepsWhatHasEnded() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        CompareWindow* compare = openCompare(shown);
        checkOnly(compare, "algorithms", {"single-device", "random"});
        type(compare, "seeds", 1);
        type(compare, "evaluations", 1'000'000'000);
        clickStart(compare);
        // The single-device searches end soon, the random ones never.
        QVERIFY(QTest::qWaitFor([&] { return compare->run()->finishedSearches() == 1; }, kPatience_ms));
        QVERIFY(!control<QListWidget>(compare, "algorithms")->isEnabled());
        QTRY_VERIFY2(control<QLabel>(compare, "status")->text().endsWith(" left"),
                     qPrintable(control<QLabel>(compare, "status")->text()));
        clickStart(compare);
        QVERIFY(ends(compare));
        QCOMPARE(compare->run()->state(), ComparisonRun::State::cancelled);
        QVERIFY(control<QLabel>(compare, "status")->text().endsWith("stopped"));
        QCOMPARE(rowsOf(control<QTreeWidget>(compare, "standings")->topLevelItem(0)).size(), 1U);
        QVERIFY(control<QListWidget>(compare, "algorithms")->isEnabled());
        QCOMPARE(control<QPushButton>(compare, "start")->text(), QString("&Compare"));
    }

    void unsuitableMachineIsSaid() {
        Shown shown;
        // "branch0" of this graph may only be on gpu:0, a name that this machine does not have.
        Device device = test::uniform_machine(1).device(0);
        device.name = "accelerator";
        const QString other = m_place->write(QStringLiteral("z.json"), Machine("other", {device}, {}, {}));
        const QString network = m_place->write(QStringLiteral("constrained.json"), test::constrained_graph());
        QVERIFY(shown.open(network, m_machine));
        CompareWindow* compare = openCompare(shown);
        auto* item = new QListWidgetItem(QStringLiteral("other"), control<QListWidget>(compare, "machines"));
        item->setData(Qt::UserRole, other);
        item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable);
        item->setCheckState(Qt::Unchecked);
        checkOnly(compare, "machines", {m_machine, other});
        checkOnly(compare, "algorithms", {"random"});
        type(compare, "seeds", 1);
        type(compare, "evaluations", 10);
        clickStart(compare);
        QVERIFY(ends(compare));
        QCOMPARE(compare->run()->state(), ComparisonRun::State::finished);
        const auto& cases = compare->run()->cases();
        QCOMPARE(cases.size(), 2U);
        QVERIFY(cases[0]->failure.isEmpty());
        QVERIFY2(cases[1]->failure.contains("branch0"), qPrintable(cases[1]->failure));
        auto* table = control<QTreeWidget>(compare, "standings");
        QCOMPARE(table->topLevelItem(1)->child(0)->text(0), cases[1]->failure);
    }

    void machinesGoByTheirNames() {
        Shown shown;
        auto* machines = control<QListWidget>(openCompare(shown), "machines");
        QStringList titles;
        for (int row = 0; row < machines->count(); ++row) titles << machines->item(row)->text();
        QVERIFY2(titles.contains("4x V100, NVLink"), qPrintable(titles.join(u'|')));
    }

    void nothingCheckedCannotStart() {
        Shown shown;
        CompareWindow* compare = openCompare(shown);
        checkOnly(compare, "networks", {});
        QVERIFY(!control<QPushButton>(compare, "start")->isEnabled());
        QVERIFY(control<QLabel>(compare, "size")->text().contains("at least one"));
    }

    void closingTheProgramEndsIt() {
        auto shown = std::make_unique<Shown>();
        QVERIFY(shown->open(m_network, m_machine));
        CompareWindow* compare = openCompare(*shown);
        checkOnly(compare, "algorithms", {"random"});
        type(compare, "evaluations", 1'000'000'000);
        clickStart(compare);
        QVERIFY(QTest::qWaitFor([&] { return !compare->run()->cases().empty(); }, kPatience_ms));
        // A closed window continues and is unchanged when it is opened again.
        QTest::mouseClick(control<QPushButton>(compare, "close"), Qt::LeftButton);
        QVERIFY(!compare->isVisible());
        QCOMPARE(compare->run()->state(), ComparisonRun::State::running);
        shown->window.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&shown->window));
        QCOMPARE(openCompare(*shown), compare);
        shown.reset();  // joins the searches; a hang would exceed the time limit of the test
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowCompare)
#include "tst_window_compare.moc"
