// SPDX-License-Identifier: MIT
// The choice of the objective: search, bound, suggestions, drags and comparisons use it, and every figure is
// labelled with its name.
#include <algorithm>
#include <memory>

#include <QComboBox>
#include <QDockWidget>
#include <QHeaderView>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QStatusBar>
#include <QTest>
#include <QTextBrowser>
#include <QToolButton>
#include <QTreeWidget>

#include "app/window/compare/compare_window.hpp"
#include "app/window/dialogs/simulation_dialog.hpp"
#include "app/window/option_text.hpp"
#include "core/sim/block_latency.hpp"
#include "core/sim/max_load.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/cdf_plot.hpp"
#include "widgets/curve_plot.hpp"
#include "widgets/device_panel.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/qcustomplot_header.hpp"
#include "widgets/quantities.hpp"
#include "widgets/runs_view.hpp"
#include "widgets/standing_plot.hpp"
#include "widgets/suggestions_panel.hpp"
#include "widgets/why_panel.hpp"

using namespace placewright;
using test::leave;
using test::openSimulation;
using test::pick;
using test::preview;
using test::raise;
using test::Shown;
using test::statusLabel;

namespace {

enum Entry { StepTimeEntry, MaxLoadEntry, BlockLatencyEntry };  ///< entries of the list of objectives

/// a -> b and c -> d; either pair may be computed first.
Graph two_pairs() {
    GraphBuilder builder("pairs", 1, Training::implicit);
    const auto add = [&](const char* name, const std::vector<std::string>& inputs) {
        Op op;
        op.name = name;
        op.kind = "linear";
        op.flops = 1e9;
        op.outputs = {make_tensor({1000})};
        builder.add(op, inputs);
    };
    add("a", {});
    add("b", {"a"});
    add("c", {});
    add("d", {"c"});
    return builder.build();
}

/// Selects the objective in the dialog, with inference if it requires that.
void choose(Shown& shown, Entry objective) {
    SimulationDialog* dialog = openSimulation(shown);
    pick(dialog, "objective", objective);
    if (objective == BlockLatencyEntry) pick(dialog, "pass", 1);
    leave(shown, dialog, true);
}

QString columnTitle(const Shown& shown) {
    return shown.window.runsView()->model()->headerData(RunsModel::StepTime, Qt::Horizontal).toString();
}

double maxLoad(const Shown& shown, const Placement& placement) {
    return max_load(*shown.document.problem(), placement).seconds;
}

DeviceId device(const Shown& shown, const char* name) {
    return *shown.document.problem()->machine->find(name);
}

void search(Shown& shown, const char* algorithm, int evaluations) {
    shown.window.chooseAlgorithm(QString::fromLatin1(algorithm));
    shown.window.chooseEvaluations(evaluations);
    QTest::keyClick(&shown.window, Qt::Key_F5);
    if (!shown.document.isSearching() || !shown.waitUntilIdle())
        qFatal("the search does not start or not end");
}

}  // namespace

class TestWindowObjective : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;
    const QString m_machine = QStringLiteral("4x-v100-pcie");  ///< with a CPU, whose memory transfers pass
    QString m_wide, m_pairs;

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        m_wide = m_place->write("wide.json", test::wide_graph(12));
        m_pairs = m_place->write("pairs.json", two_pairs());
    }
    void cleanup() { m_place.reset(); }

    void theDialogSaysWhatAnObjectiveMakesOfThePlacement() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        SimulationDialog* dialog = openSimulation(shown);
        QCOMPARE(dialog->findChild<QComboBox*>("objective")->currentText(), QStringLiteral("Step time"));
        pick(dialog, "objective", MaxLoadEntry);
        const QString value = secondsText(maxLoad(shown, shown.document.placement()));
        QTRY_VERIFY2(preview(dialog).contains(QStringLiteral("has a max load of <b>%1</b>").arg(value)),
                     qPrintable(preview(dialog)));
        // The two values are not comparable.
        QVERIFY2(!preview(dialog).contains(QStringLiteral("now")), qPrintable(preview(dialog)));
        QVERIFY2(preview(dialog).contains(
                     QStringLiteral("a simulated step of %1").arg(secondsText(shown.stepTime()))),
                 qPrintable(preview(dialog)));
        QCOMPARE(shown.document.options(), JobOptions());
        leave(shown, dialog, true);
        QCOMPARE(shown.document.options().objective, find_objective("max-load"));
        QCOMPARE(shown.document.job().objective, find_objective("max-load"));
        QCOMPARE(shown.window.findChild<QToolButton*>("simulationButton")->text(),
                 QStringLiteral("max load"));
    }

    void figuresAreCalledByTheirName() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        auto* timeline = shown.window.findChild<QDockWidget*>("timelineDock");
        auto* why = shown.window.whyPanel()->findChild<QTextBrowser*>();
        raise(shown.window.whyPanel());
        QCOMPARE(timeline->windowTitle(), QStringLiteral("Timeline"));
        QVERIFY(!why->toPlainText().contains(QStringLiteral("max load")));
        choose(shown, MaxLoadEntry);
        const QString value = secondsText(maxLoad(shown, shown.document.placement()));
        const QLabel* status = statusLabel(shown, "Max load");
        QVERIFY2(status->text().startsWith(QStringLiteral("max load %1 · fits").arg(value)),
                 qPrintable(status->text()));
        QVERIFY2(status->toolTip().contains(secondsText(shown.stepTime())), qPrintable(status->toolTip()));
        QCOMPARE(columnTitle(shown), QStringLiteral("Max load"));
        QVERIFY(shown.window.findChild<CurvePlot*>()->plot()->yAxis->label().startsWith(
            QStringLiteral("Best max load")));
        QVERIFY2(timeline->windowTitle().contains(QStringLiteral("simulated step")),
                 qPrintable(timeline->windowTitle()));
        QTRY_VERIFY2(why->toPlainText().contains(QStringLiteral("max load, which is %1").arg(value)),
                     qPrintable(why->toPlainText()));
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(columnTitle(shown), QStringLiteral("Step time"));
        QVERIFY(statusLabel(shown, "Step time")->text().startsWith(QStringLiteral("step ")));
        QCOMPARE(timeline->windowTitle(), QStringLiteral("Timeline"));
        QTRY_VERIFY(!why->toPlainText().contains(QStringLiteral("max load")));
    }

    void searchesMakeItSmall_data() {
        QTest::addColumn<QString>("algorithm");
        QTest::newRow("auto") << "auto";
        QTest::newRow("genetic") << "genetic";
    }
    void searchesMakeItSmall() {
        QFETCH(QString, algorithm);
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        search(shown, qPrintable(algorithm), 2000);  // for the step time
        choose(shown, MaxLoadEntry);
        const double first_s = maxLoad(shown, shown.document.placement());
        shown.document.showPlacement(shown.document.job().single_device, QStringLiteral("One device"));
        QVERIFY(shown.waitUntilIdle());
        const double one_s = maxLoad(shown, shown.document.placement());
        QCOMPARE(shown.document.job().single_device_s, one_s);
        search(shown, qPrintable(algorithm), 2000);

        const auto& rows = shown.window.runsView()->runs()->rows();
        QCOMPARE(rows.size(), std::size_t{2});
        const auto& found = *std::ranges::find(rows, 2, &RunRow::id);
        QVERIFY(found.shown);
        QCOMPARE(found.step_time_s, maxLoad(shown, shown.document.placement()));
        QVERIFY(found.step_time_s < 0.5 * one_s);
        QCOMPARE(found.speedup, one_s / found.step_time_s);
        QVERIFY(found.step_time_s <= first_s);
        // The other run had another objective, so its value cannot be compared.
        const auto& earlier = *std::ranges::find(rows, 1, &RunRow::id);
        QCOMPARE(earlier.objective, QStringLiteral("step time"));
        QVERIFY2(earlier.elsewhere.contains(QStringLiteral("default")), qPrintable(earlier.elsewhere));
        QVERIFY(earlier.gap < 0);
        shown.window.runsView()->sortByColumn(RunsModel::StepTime, Qt::AscendingOrder);
        const auto* model = shown.window.runsView()->model();
        QCOMPARE(model->index(0, RunsModel::StepTime).data().toString(), secondsText(found.step_time_s));
        QCOMPARE(model->index(1, RunsModel::StepTime).data().toString(),
                 QStringLiteral("step time ") + secondsText(earlier.step_time_s));
        QCOMPARE(shown.window.findChild<CurvePlot*>()->plot()->graphCount(), 1);

        // The bound is one of the max load.
        const Bound quick = quick_bounds(*shown.document.problem(), *find_objective("max-load")).front();
        QVERIFY(shown.document.bound()->value_s >= quick.value_s);
        QVERIFY(shown.document.bound()->value_s <= found.step_time_s * (1 + 1e-9));
        QVERIFY(
            statusLabel(shown, "Lower bound")->text().contains(secondsText(shown.document.bound()->value_s)));

        // Showing its placement restores the objective of its search.
        shown.document.showRun(1);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(columnTitle(shown), QStringLiteral("Step time"));
        QCOMPARE(shown.stepTime(), earlier.step_time_s);
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(columnTitle(shown), QStringLiteral("Max load"));
    }

    void suggestionsAndDragsTellIt() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        choose(shown, MaxLoadEntry);
        raise(shown.window.suggestionsPanel());
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.moves());
        const Placement before = shown.document.placement();
        const double before_s = maxLoad(shown, before);
        const SingleMove& move = shown.document.moves()->moves.front();
        Placement moved = before;
        moved[move.group] = move.device;
        QCOMPARE(move.score.value_s, maxLoad(shown, moved));
        auto* list = shown.window.suggestionsPanel()->findChild<QTreeWidget*>();
        QVERIFY(list->topLevelItemCount() > 0);
        QCOMPARE(list->topLevelItem(0)->toolTip(3),
                 QStringLiteral("Max load ") + secondsText(move.score.value_s));

        QSignalSpy previews(&shown.document, &Document::previewReady);
        const DeviceId target = device(shown, "gpu:3");
        GraphView* graph = shown.window.graphView();
        QWidget* panel = shown.window.devicePanel();
        shown.drag(graph, shown.opInGraph("branch2"), panel, shown.rowOf(target), false);
        QTRY_VERIFY_WITH_TIMEOUT(!previews.isEmpty(), 60'000);
        const auto told = previews.first().first().value<DropPreviews>();
        QTest::mouseRelease(graph, Qt::LeftButton, {},
                            graph->mapFromGlobal(panel->mapToGlobal(shown.rowOf(target))));
        QVERIFY(shown.waitUntilIdle());
        const double after_s = maxLoad(shown, shown.document.placement());
        QVERIFY(shown.document.placement() != before);
        QCOMPARE(told[target].step_time_s, after_s);
        QCOMPARE(told[target].change_s, after_s - before_s);
        const QString status = statusLabel(shown, "Max load")->text();
        QVERIFY2(status.startsWith(
                     QStringLiteral("max load %1 → %2").arg(secondsText(before_s), secondsText(after_s))),
                 qPrintable(status));
    }

    // --- unsuitable objectives ---

    void blockLatencyNeedsInference() {
        Shown shown;
        QVERIFY(shown.open(m_pairs, m_machine));
        SimulationDialog* dialog = openSimulation(shown);
        pick(dialog, "objective", BlockLatencyEntry);
        auto* ok = dialog->findChild<QPushButton*>("okButton");
        QTRY_VERIFY(!ok->isEnabled());
        QVERIFY2(preview(dialog).contains(QStringLiteral("choose inference")), qPrintable(preview(dialog)));
        pick(dialog, "pass", 1);
        QTRY_VERIFY(ok->isEnabled() && preview(dialog).contains(QStringLiteral("block latency of")));
        leave(shown, dialog, true);
        QCOMPARE(shown.message(), QString());
        QVERIFY(statusLabel(shown, "Block latency")->text().startsWith(QStringLiteral("block latency ")));
    }

    void aMachineWithoutACpuHasNoMaxLoad() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_place->write("three.json", test::uniform_machine(3))));
        SimulationDialog* dialog = openSimulation(shown);
        pick(dialog, "objective", MaxLoadEntry);
        QTRY_VERIFY(!dialog->findChild<QPushButton*>("okButton")->isEnabled());
        QVERIFY2(preview(dialog).contains(QStringLiteral("has no CPU")), qPrintable(preview(dialog)));
        leave(shown, dialog, false);
        // The same if the objective was chosen first.
        shown.document.setMachine(m_machine);
        QVERIFY(shown.waitUntilIdle());
        choose(shown, MaxLoadEntry);
        shown.document.setMachine(m_place->file("three.json"));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY2(shown.message().contains(QStringLiteral("has no CPU")), qPrintable(shown.message()));
        QCOMPARE(shown.document.machineFile(), m_machine);
    }

    void aPlacementWithoutAValueSaysSo() {
        Shown shown;
        QVERIFY(shown.open(m_pairs, m_machine));
        choose(shown, BlockLatencyEntry);
        const DeviceId first = device(shown, "gpu:0"), second = device(shown, "gpu:1");
        // Each device waits for the other.
        shown.document.moveOps({shown.op("a"), shown.op("d")}, first);
        shown.document.moveOps({shown.op("b"), shown.op("c")}, second);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY_THROWS_EXCEPTION(PlacementError,
                                 block_latency(*shown.document.problem(), shown.document.placement()));
        const QLabel* status = statusLabel(shown, "Block latency");
        QCOMPARE(status->text(), QStringLiteral("block latency not defined"));
        QVERIFY2(status->toolTip().contains(QStringLiteral("waits for")), qPrintable(status->toolTip()));
        raise(shown.window.suggestionsPanel());
        QVERIFY(shown.waitUntilIdle());
        auto* list = shown.window.suggestionsPanel()->findChild<QTreeWidget*>();
        QVERIFY(list->topLevelItemCount() > 0);
        QVERIFY2(list->topLevelItem(0)->text(3).startsWith(QStringLiteral("defined, ")),
                 qPrintable(list->topLevelItem(0)->text(3)));
        search(shown, "genetic", 500);
        QVERIFY(shown.document.assessment()->is_defined());
        QCOMPARE(shown.document.assessment()->score.value_s,
                 block_latency(*shown.document.problem(), shown.document.placement()).seconds);
        QVERIFY2(status->text().startsWith(QStringLiteral("block latency ")) &&
                     !status->text().contains(QStringLiteral("not defined")),
                 qPrintable(status->text()));
    }

    // --- compare ---

    void comparisonsAreAboutIt() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        choose(shown, MaxLoadEntry);
        QTest::keyClick(&shown.window, Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
        auto* compare = shown.window.findChild<CompareWindow*>();
        QVERIFY(compare != nullptr && QTest::qWaitForWindowExposed(compare));
        QVERIFY(compare->findChild<QLabel*>("size")->text().contains(QStringLiteral("max load")));
        auto* seeds = compare->findChild<QSpinBox*>("seeds");
        seeds->setFocus();
        seeds->selectAll();
        QTest::keyClicks(seeds, QStringLiteral("1"));
        auto* evaluations = compare->findChild<QSpinBox*>("evaluations");
        evaluations->setFocus();
        evaluations->selectAll();
        QTest::keyClicks(evaluations, QStringLiteral("60"));
        QTest::mouseClick(compare->findChild<QPushButton*>("start"), Qt::LeftButton);
        QVERIFY(QTest::qWaitFor([&] { return compare->run()->state() != ComparisonRun::State::running; },
                                60'000));
        const CaseOnItsWay& item = *compare->run()->cases().at(0);
        QVERIFY(!item.compared.runs.empty());
        for (const ComparedRun& run : item.compared.runs)
            QCOMPARE(run.progress.best.value_s, maxLoad(shown, *run.progress.best_placement));
        QCOMPARE(*item.compared.one_device_s, maxLoad(shown, shown.document.job().single_device));
        QVERIFY(compare->findChild<StandingPlot*>()->plot()->xAxis->label().startsWith(
            QStringLiteral("Max load")));
        QCOMPARE(compare->cdf().objective, QStringLiteral("Max load"));
        const std::string table = runs_csv({"network", "machine"}, {item.compared});
        QVERIFY2(table.find(",max_load_s,") != std::string::npos, table.c_str());
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowObjective)
#include "tst_window_objective.moc"
