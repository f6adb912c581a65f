// SPDX-License-Identifier: MIT
// Steps that are run for real from the window, and profiles of ops, by mouse and keyboard.
#include <memory>

#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QTabWidget>
#include <QTest>
#include <QToolButton>
#include <QToolTip>
#include <QTreeWidget>

#include "app/window/dialogs/benchmark_dialog.hpp"
#include "app/window/dialogs/profile_dialog.hpp"
#include "app/window/dialogs/simulation_dialog.hpp"
#include "core/graph/network_builder.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/measured_panel.hpp"
#include "widgets/ops_view.hpp"
#include "widgets/qcustomplot_header.hpp"
#include "widgets/steps_plot.hpp"

using namespace placewright;
using test::Shown;

namespace {

constexpr int kPatienceMs = 60'000;

/// A small network that takes about a millisecond a step; other channels make other ops.
Graph small(const std::string& name, std::int64_t channels) {
    NetworkBuilder net(name, 2);
    Value x = net.input("image", std::array<std::int64_t, 3>{3, 16, 16});
    x = net.relu("relu", net.conv2d("conv", x, {.channels = channels, .window = {3, 1, 1}}));
    net.cross_entropy("loss", net.linear("classifier", net.flatten("flatten", x), 10));
    return net.build();
}

template <class Dialog>
Dialog* dialogOf(Shown& shown) {
    auto* dialog = shown.window.findChild<Dialog*>();
    if (dialog == nullptr || !QTest::qWaitForWindowExposed(dialog)) qFatal("the dialog does not appear");
    return dialog;
}

/// Enters a number as a person does.
void enter(QSpinBox* box, int value) {
    box->setFocus();
    box->selectAll();
    QTest::keyClicks(box, QString::number(value));
}

/// Gives the keys back to the window after a dialog.
void backToWindow(Shown& shown) {
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    shown.window.activateWindow();
    if (!QTest::qWaitForWindowActive(&shown.window)) qFatal("the window does not get the keys back");
}

/// Opens the dialog by its key and starts a benchmark of so many steps once the devices are known.
void startBenchmark(Shown& shown, int steps) {
    QTest::keyClick(&shown.window, Qt::Key_F7);
    auto* dialog = dialogOf<BenchmarkDialog>(shown);
    auto* start = dialog->findChild<QPushButton*>("startBenchmark");
    if (!QTest::qWaitFor([&] { return start->isEnabled(); }, kPatienceMs))
        qFatal("%s", qPrintable(dialog->findChild<QLabel*>("planTitle")->text()));
    enter(dialog->findChild<QSpinBox*>("benchmarkSteps"), steps);
    QTest::mouseClick(start, Qt::LeftButton);
    backToWindow(shown);
}

bool measures(const Shown& shown) {
    return shown.document.measuring().running() != Measuring::Kind::none;
}

/// Waits until steps have been run.
bool hasBegun(const Shown& shown) {
    return QTest::qWaitFor([&] { return shown.document.measuring().progress().done > 1; }, kPatienceMs);
}

/// Starts a profile into `file` and waits for its end.
ProfileDialog* profiled(Shown& shown, const QString& file) {
    test::pressInMenu(shown, shown.window.action(ActionId::profile));
    auto* dialog = dialogOf<ProfileDialog>(shown);
    test::giveFile(file);
    QTest::mouseClick(dialog->findChild<QPushButton*>("chooseProfileFile"), Qt::LeftButton);
    auto* start = dialog->findChild<QPushButton*>("startProfile");
    if (!QTest::qWaitFor([&] { return start->isEnabled(); }, kPatienceMs)) qFatal("nothing can be profiled");
    enter(dialog->findChild<QSpinBox*>("profileSteps"), 3);
    QTest::mouseClick(start, Qt::LeftButton);
    if (!QTest::qWaitFor([&] { return shown.document.profiled().has_value(); }, kPatienceMs))
        qFatal("%s", qPrintable(shown.message()));
    return dialog;
}

QString simulatedCell(const Shown& shown, const char* op) {
    const OpsModel& ops = *shown.window.opsView()->ops();
    return ops.index(ops.rowOf(shown.op(op)), OpsModel::Simulated).data().toString();
}

}  // namespace

class TestWindowBenchmark : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;
    QString m_network, m_machine;

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        m_network = m_place->write("small.json", small("small", 4));
        m_machine = m_place->write("machine.json", test::uniform_machine(2));
    }

    void aBenchmarkIsAMeasuredRun() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        QTest::mouseClick(shown.window.findChild<QToolButton*>("benchmarkButton"), Qt::LeftButton);
        auto* dialog = dialogOf<BenchmarkDialog>(shown);
        auto* start = dialog->findChild<QPushButton*>("startBenchmark");
        QTRY_VERIFY_WITH_TIMEOUT(start->isEnabled(), kPatienceMs);
        const QString devices = dialog->findChild<QPlainTextEdit*>("planList")->toPlainText();
        QVERIFY2(devices.contains("gpu:0 is ") && devices.contains("gpu:1 is "), qPrintable(devices));
        QCOMPARE(dialog->findChild<QSpinBox*>("benchmarkSteps")->value(), 10);
        enter(dialog->findChild<QSpinBox*>("benchmarkSteps"), 4);
        QTest::keyClick(start, Qt::Key_Space);
        QVERIFY(measures(shown));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(!measures(shown));
        const auto& runs = shown.document.measured();
        QVERIFY2(runs != nullptr, qPrintable(shown.message()));
        QCOMPARE(runs->runs.size(), 1U);
        QCOMPARE(runs->runs[0].of.name, QStringLiteral("Benchmark 1"));
        QCOMPARE(runs->runs[0].of.run->step_times_s.size(), 4U);
        QCOMPARE(runs->runs[0].of.run->placement, shown.document.placement());
        QCOMPARE(runs->all.measured, 6U);
        QVERIFY(test::panelVisible(shown, "measuredDock"));
        QVERIFY2(shown.message().startsWith("Measured "), qPrintable(shown.message()));
        QVERIFY(!shown.window.findChild<QToolButton*>("stopMeasuring")->isVisible());
        // The next one proposes as many steps.
        backToWindow(shown);
        QTest::keyClick(&shown.window, Qt::Key_F7);
        QCOMPARE(dialogOf<BenchmarkDialog>(shown)->findChild<QSpinBox*>("benchmarkSteps")->value(), 4);
    }

    void movesMeanwhileDoNotChangeWhatIsMeasured() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        const Placement before = shown.document.placement();
        startBenchmark(shown, 200);
        QVERIFY(measures(shown));
        shown.document.setSelection({shown.op("conv")});
        QTest::keyClick(shown.window.graphView(), shown.deviceOf("conv") == 0 ? Qt::Key_2 : Qt::Key_1);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.placement() != before);
        QVERIFY2(shown.document.measured() != nullptr, qPrintable(shown.message()));
        QCOMPARE(shown.document.measured()->runs[0].of.run->placement, before);
    }

    void cancelling() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        for (const bool byKey : {false, true}) {
            startBenchmark(shown, 100'000);
            QVERIFY(hasBegun(shown));
            const QString status = test::statusText(shown, "Search");
            QVERIFY2(status.contains("benchmark: step ") && status.contains(" of 100001") &&
                         status.contains("median") && status.contains("left"),
                     qPrintable(status));
            auto* stop = shown.window.findChild<QToolButton*>("stopMeasuring");
            QVERIFY(stop->isVisible());
            if (byKey) {
                QTest::keyClick(&shown.window, Qt::Key_F7);
            } else {
                QTest::mouseClick(stop, Qt::LeftButton);
            }
            QVERIFY(!measures(shown));
            QVERIFY(!stop->isVisible());
            QVERIFY(shown.waitUntilIdle());
            QVERIFY(shown.document.measured() == nullptr);
            QVERIFY(test::statusText(shown, "Search").isEmpty());
        }
    }

    void unsupportedOpsAreRefusedBeforeAnythingStarts() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), m_machine));
        QTest::keyClick(&shown.window, Qt::Key_F7);
        auto* dialog = dialogOf<BenchmarkDialog>(shown);
        auto* list = dialog->findChild<QPlainTextEdit*>("planList");
        QTRY_VERIFY_WITH_TIMEOUT(list->isVisible(), kPatienceMs);
        QVERIFY2(dialog->findChild<QLabel*>("planTitle")->text().startsWith("10 ops cannot be run"),
                 qPrintable(dialog->findChild<QLabel*>("planTitle")->text()));
        QCOMPARE(list->toPlainText().split(QLatin1Char('\n')).size(), 10);
        QVERIFY(list->toPlainText().contains("branch7"));
        QVERIFY(dialog->findChild<QLabel*>("planRemedy")->text().contains("open the trace"));
        QVERIFY(!dialog->findChild<QPushButton*>("startBenchmark")->isEnabled());
        QTest::keyClick(dialog, Qt::Key_Return);
        QVERIFY(!measures(shown));
        QTest::keyClick(dialog, Qt::Key_Escape);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.measured() == nullptr);
    }

    void pipelinesAreRefused() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        JobOptions options = shown.document.options();
        options.simulation.batches = 3;
        shown.document.setOptions(options);
        QVERIFY(shown.waitUntilIdle());
        QTest::keyClick(&shown.window, Qt::Key_F7);
        auto* dialog = dialogOf<BenchmarkDialog>(shown);
        QVERIFY(dialog->findChild<QLabel*>("planTitle")->text().contains("set Batches to 1"));
        QVERIFY(!dialog->findChild<QPushButton*>("startBenchmark")->isEnabled());
    }

    void closingTheWindowCancels() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        startBenchmark(shown, 100'000);
        QVERIFY(hasBegun(shown));
        QVERIFY(shown.window.close());
        QVERIFY(!measures(shown));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.measured() == nullptr);
    }

    void aWindowMayGoWhileItMeasures() {
        auto shown = std::make_unique<Shown>();
        QVERIFY(shown->open(m_network, m_machine));
        startBenchmark(*shown, 100'000);
        QVERIFY(hasBegun(*shown));
        shown.reset();  // waits for the op under way alone
    }

    void anotherNetworkCancels() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        startBenchmark(shown, 100'000);
        QVERIFY(hasBegun(shown));
        shown.document.openNetwork(m_place->write("other.json", small("other", 3)));
        QTRY_VERIFY_WITH_TIMEOUT(!measures(shown), kPatienceMs);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.measured() == nullptr);
    }

    void searchesPauseMeanwhile() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        const int id = shown.document.startSearch(test::request("random", test::kEndless));
        QTRY_VERIFY(test::running(shown));
        startBenchmark(shown, 100'000);
        QVERIFY(shown.window.allPaused());
        QVERIFY(hasBegun(shown));
        QVERIFY(shown.window.allPaused());
        QTest::mouseClick(shown.window.findChild<QToolButton*>("stopMeasuring"), Qt::LeftButton);
        QVERIFY(!shown.window.allPaused());
        shown.document.cancelRun(id);
        QVERIFY(shown.waitUntilIdle());
    }

    void profiledTimesAreSimulatedWith() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        const double roofline_s = shown.stepTime();
        const QString file = m_place->file("times.json");
        ProfileDialog* dialog = profiled(shown, file);
        const auto* models = dialog->findChild<QTreeWidget*>("profileModels");
        QVERIFY(models->isVisible());
        QCOMPARE(models->topLevelItemCount(), 1);
        QCOMPARE(models->topLevelItem(0)->text(0), QStringLiteral("test"));
        QCOMPARE(models->topLevelItem(0)->text(1), QStringLiteral("6"));
        QVERIFY(shown.waitUntilIdle());
        QTest::mouseClick(dialog->findChild<QPushButton*>("useProfile"), Qt::LeftButton);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(QString::fromStdString(shown.document.options().profile.string()), file);
        QVERIFY(shown.document.options().problem.cost.profile != nullptr);
        QCOMPARE(shown.document.options().problem.cost.model->id, std::string_view("measured"));
        QVERIFY(shown.stepTime() > 10 * roofline_s);
        QTest::keyClick(dialog, Qt::Key_Escape);
        backToWindow(shown);
        QVERIFY(shown.window.findChild<QToolButton*>("simulationButton")->toolTip().contains("times.json"));
        test::raise(shown.window.opsView());
        QVERIFY(!simulatedCell(shown, "conv").startsWith(QLatin1Char('~')));

        // It is an option as any other: undone, and kept by the dialog.
        const double measured_s = shown.stepTime();
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.stepTime(), roofline_s);
        QVERIFY(shown.document.options().profile.empty());
        QTest::keyClick(&shown.window, Qt::Key_Y, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.stepTime(), measured_s);
        SimulationDialog* simulation = test::openSimulation(shown);
        QVERIFY(simulation->options() == shown.document.options());
        QTRY_VERIFY2_WITH_TIMEOUT(
            simulation->findChild<QLabel*>("fileNotes")->text().contains("times.json: all ops have measured"),
            qPrintable(simulation->findChild<QLabel*>("fileNotes")->text()), kPatienceMs);
        QTest::mouseClick(simulation->findChild<QPushButton*>("clearProfile"), Qt::LeftButton);
        QCOMPARE(simulation->options().problem.cost.model->id, JobOptions().problem.cost.model->id);
        test::giveFile(file);
        QTest::mouseClick(simulation->findChild<QPushButton*>("chooseProfile"), Qt::LeftButton);
        QCOMPARE(QString::fromStdString(simulation->options().profile.string()), file);
        test::leave(shown, simulation, true);
        QCOMPARE(shown.stepTime(), measured_s);

        // They serve another network; what was never measured is predicted, and marked.
        QVERIFY(shown.open(m_place->write("other.json", small("other", 5))));
        QVERIFY(shown.document.options().problem.cost.profile != nullptr);
        QVERIFY2(shown.message().contains("4 of 6 ops have no measured time for test"),
                 qPrintable(shown.message()));
        QVERIFY2(simulatedCell(shown, "conv").startsWith(QLatin1Char('~')),
                 qPrintable(simulatedCell(shown, "conv")));
        const OpsModel& ops = *shown.window.opsView()->ops();
        QVERIFY(ops.index(ops.rowOf(shown.op("conv")), 0)
                    .data(Qt::ToolTipRole)
                    .toString()
                    .contains("Predicted by the roofline"));
        QVERIFY(!simulatedCell(shown, "loss").startsWith(QLatin1Char('~')));
    }

    void aDamagedFileOfTimesIsRefused() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        const double before_s = shown.stepTime();
        shown.document.useProfile(m_place->write("bad.json", QByteArray("{}")));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY2(shown.message().contains("bad.json"), qPrintable(shown.message()));
        QVERIFY(shown.document.options().profile.empty());
        QCOMPARE(shown.stepTime(), before_s);
    }

    void stepsGrowAPoint() {
        Shown shown;
        shown.window.resize(1400, 900);  // for room between the dots
        QVERIFY(shown.open(m_network, m_machine));
        StepsPlot* steps = shown.window.measuredPanel()->steps();
        std::vector<int> ids;
        const OpList moved{shown.op("conv"), shown.op("relu"), shown.op("classifier")};
        for (std::size_t k = 0; k < moved.size(); ++k) {
            shown.document.moveOps({moved[k]}, 1);
            QVERIFY(shown.waitUntilIdle());
            MeasuredRun run;
            run.name = "run " + std::to_string(k);
            run.placement = shown.document.placement();
            run.trace.spans = shown.document.timeline()->trace.spans;
            run.step_times_s = {2 * shown.stepTime()};
            shown.document.addMeasured(run);
            QVERIFY(shown.waitUntilIdle());
            QCOMPARE(shown.document.measured()->runs.size(), k + 1);
            ids.push_back(shown.document.measured()->runs.back().of.id);
            QVERIFY(steps->positionOf(static_cast<std::uint32_t>(ids.back())).has_value());
            QVERIFY2(test::stepsFigures(shown).contains("error 50.0 %"),
                     qPrintable(test::stepsFigures(shown)));
            QCOMPARE(test::stepsFigures(shown).contains("Pearson 1.000 · Spearman 1.000"), k == 2);
        }
        // The placement that a run had counts, not the one on screen.
        shown.document.moveOps({shown.op("conv")}, 0);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY2(test::stepsFigures(shown).contains("error 50.0 %"), qPrintable(test::stepsFigures(shown)));
        // A click on a dot chooses its run.
        test::raise(shown.window.measuredPanel());
        auto* tabs = shown.window.findChild<QTabWidget*>("measuredPlots");
        QTest::mouseClick(tabs->tabBar(), Qt::LeftButton, {}, tabs->tabBar()->tabRect(1).center());
        QTRY_VERIFY(steps->isVisible());
        const QPoint dot = steps->positionOf(static_cast<std::uint32_t>(ids[1]))->toPoint();
        QTest::mouseMove(steps->plot(), dot);
        QVERIFY2(QToolTip::text().contains("run 1"), qPrintable(QToolTip::text()));
        QTest::mouseClick(steps->plot(), Qt::LeftButton, {}, dot);
        QCOMPARE(shown.window.measuredPanel()->chosenRun(), ids[1]);
    }
};

QTEST_MAIN(TestWindowBenchmark)
#include "tst_window_benchmark.moc"
