// SPDX-License-Identifier: MIT
// Steps that are run for real from the window, and profiles of ops, by mouse and keyboard.
#include <memory>

#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QTabWidget>
#include <QTest>
#include <QTimer>
#include <QToolButton>
#include <QToolTip>
#include <QTreeWidget>

#include "app/window/compare/compare_window.hpp"
#include "app/window/dialogs/benchmark_dialog.hpp"
#include "app/window/dialogs/profile_dialog.hpp"
#include "app/window/dialogs/simulation_dialog.hpp"
#include "app/window/learn/learn_window.hpp"
#include "core/graph/network_builder.hpp"
#include "core/io/traces/trace_file.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/measured_panel.hpp"
#include "widgets/measured_plot.hpp"
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

/// Answers each message box.
class Answers {
public:
    explicit Answers(QMessageBox::StandardButton answer) {
        QObject::connect(&m_timer, &QTimer::timeout, [this, answer] {
            auto* question = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            if (question == nullptr) return;
            m_told << question->informativeText();
            question->button(answer)->click();
        });
        m_timer.start(30);
    }
    int count() const { return static_cast<int>(m_told.size()); }
    QString last() const { return m_told.isEmpty() ? QString() : m_told.last(); }

private:
    QTimer m_timer;
    QStringList m_told;
};

bool measures(const Shown& shown) {
    return shown.document.measuring().running() != Measuring::Kind::none;
}

/// Waits until steps have been run.
bool hasBegun(const Shown& shown) {
    return QTest::qWaitFor([&] { return shown.document.measuring().progress().done > 1; }, kPatienceMs);
}

/// Opens the dialog of profiles with this file and so many steps, once the devices are known.
ProfileDialog* openProfile(Shown& shown, const QString& file, int steps) {
    test::pressInMenu(shown, shown.window.action(ActionId::profile));
    auto* dialog = dialogOf<ProfileDialog>(shown);
    test::giveFile(file);
    QTest::mouseClick(dialog->findChild<QPushButton*>("chooseProfileFile"), Qt::LeftButton);
    auto* start = dialog->findChild<QPushButton*>("startProfile");
    if (!QTest::qWaitFor([&] { return start->isEnabled(); }, kPatienceMs)) qFatal("nothing can be profiled");
    enter(dialog->findChild<QSpinBox*>("profileSteps"), steps);
    return dialog;
}

ProfileDialog* startProfile(Shown& shown, const QString& file, int steps) {
    ProfileDialog* dialog = openProfile(shown, file, steps);
    QTest::mouseClick(dialog->findChild<QPushButton*>("startProfile"), Qt::LeftButton);
    return dialog;
}

/// Starts a profile into `file` and waits for its end.
ProfileDialog* profiled(Shown& shown, const QString& file) {
    ProfileDialog* dialog = startProfile(shown, file, 3);
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
    QString m_network, m_machine, m_cores;

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        m_network = m_place->write("small.json", small("small", 4));
        m_machine = m_place->write("machine.json", test::uniform_machine(2));
        // Times can be kept of cores that are said to be cores.
        const Machine gpus = test::uniform_machine(2);
        std::vector<Device> cores(gpus.devices().begin(), gpus.devices().end());
        for (Device& core : cores) core.kind = DeviceKind::cpu;
        m_cores = m_place->write("cores.json",
                                 Machine("cores", cores, {gpus.channels().begin(), gpus.channels().end()},
                                         {gpus.routes().begin(), gpus.routes().end()}));
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
        // The machine has GPUs only; a run on cores says so wherever its name is shown.
        const bool onCores = devices.contains("gpu:0 is core") && devices.contains("gpu:1 is core");
        QCOMPARE(runs->runs[0].of.name,
                 onCores ? QStringLiteral("Benchmark 1 (cores as GPUs)") : QStringLiteral("Benchmark 1"));
        QCOMPARE(shown.message().contains("cannot be compared"), onCores);
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
        startBenchmark(shown, 100'000);
        QVERIFY(hasBegun(shown));
        shown.document.setSelection({shown.op("conv")});
        QTest::keyClick(shown.window.graphView(), shown.deviceOf("conv") == 0 ? Qt::Key_2 : Qt::Key_1);
        QVERIFY(shown.document.placement() != before);
        QVERIFY(measures(shown));
        QCOMPARE(shown.document.measuring().placement(), before);
        shown.document.cancelMeasuring();
        QVERIFY(shown.waitUntilIdle());
    }

    void aSecondBenchmarkIsChosen() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        const auto* runs = shown.window.findChild<QComboBox*>("measuredRun");
        for (const char* name : {"Benchmark 1", "Benchmark 2"}) {
            startBenchmark(shown, 2);
            QVERIFY(shown.waitUntilIdle());
            QVERIFY2(runs->currentText().startsWith(QLatin1String(name)), qPrintable(runs->currentText()));
        }
        // Both are in no file until their traces are written.
        auto* panel = shown.window.measuredPanel();
        test::raise(panel);
        QCOMPARE(shown.document.benchmarks(), 2U);
        auto* remove = shown.window.findChild<QAction*>("removeMeasured");
        QCOMPARE(remove->text(), QStringLiteral("&Remove"));
        const QString file = m_place->file("benchmark.trace.json");
        test::giveFile(file);
        test::pressInMenu(shown, shown.action("Export trace"));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY2(shown.message().contains("benchmark.trace.json"), qPrintable(shown.message()));
        QVERIFY(!read_trace(file.toStdString()).events.empty());
        QCOMPARE(shown.document.benchmarks(), 1U);
        panel->choose(0);
        QCOMPARE(remove->text(), QStringLiteral("&Remove all 2 runs"));
        QVERIFY(!shown.action("Export trace")->isEnabled());
        // The picture is that of the page on screen.
        QVERIFY(panel->shownPlot() == panel->plot());
        auto* tabs = shown.window.findChild<QTabWidget*>("measuredPlots");
        QTest::mouseClick(tabs->tabBar(), Qt::LeftButton, {}, tabs->tabBar()->tabRect(1).center());
        QVERIFY(panel->shownPlot() == panel->steps());
    }

    void whatStartsMeanwhileWaits() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        startBenchmark(shown, 100'000);
        QVERIFY(hasBegun(shown));
        bool proves = false;
        connect(&shown.document, &Document::boundChanged, &shown.document,
                [&] { proves = proves || shown.document.isProving(); });
        // Another machine begins another proof; the benchmark goes on.
        shown.document.setMachine(m_place->write("three.json", test::uniform_machine(3)));
        QTRY_VERIFY_WITH_TIMEOUT(shown.document.problem()->devices == 3 && shown.document.bound(),
                                 kPatienceMs);
        const int id = shown.document.startSearch(test::request("random", test::kEndless));
        const Run* const run = shown.document.runs().back().get();
        QTRY_VERIFY_WITH_TIMEOUT(run->isStarted(), kPatienceMs);
        QVERIFY(run->isPaused());
        QVERIFY2(shown.message().contains("when nothing is measured"), qPrintable(shown.message()));
        QTest::keyClick(&shown.window, Qt::Key_F6);
        QVERIFY(run->isPaused());
        QVERIFY(measures(shown) && !proves);
        shown.document.cancelMeasuring();
        QVERIFY(!run->isPaused());
        QTRY_VERIFY_WITH_TIMEOUT(run->progress().evaluations > 0 && proves, kPatienceMs);
        shown.document.cancelRun(id);
        QVERIFY(shown.waitUntilIdle());
    }

    void otherWindowsAreNotDisturbedNorDisturb() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        QTest::keyClick(&shown.window, Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
        auto* compare = shown.window.findChild<CompareWindow*>();
        QVERIFY(compare != nullptr && QTest::qWaitForWindowExposed(compare));
        enter(compare->findChild<QSpinBox*>("evaluations"), 1'000'000);
        enter(compare->findChild<QSpinBox*>("seeds"), 100);
        auto* begin = compare->findChild<QPushButton*>("start");
        QTest::mouseClick(begin, Qt::LeftButton);
        QVERIFY(compare->isRunning());
        backToWindow(shown);
        shown.action("Benchmark")->trigger();
        auto* dialog = dialogOf<BenchmarkDialog>(shown);
        auto* start = dialog->findChild<QPushButton*>("startBenchmark");
        QTRY_VERIFY_WITH_TIMEOUT(start->isEnabled(), kPatienceMs);
        QTest::mouseClick(start, Qt::LeftButton);
        QVERIFY(!measures(shown));
        QVERIFY(dialog->isVisible());
        const auto* hindrance = dialog->findChild<QLabel*>("hindrance");
        QVERIFY2(hindrance->isVisible() && hindrance->text().startsWith("A comparison is running"),
                 qPrintable(hindrance->text()));
        QTest::mouseClick(begin, Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(!compare->isRunning(), kPatienceMs);
        enter(dialog->findChild<QSpinBox*>("benchmarkSteps"), 100'000);
        QTest::mouseClick(start, Qt::LeftButton);
        QVERIFY(measures(shown));
        // Nor does a comparison begin now.
        QTest::mouseClick(begin, Qt::LeftButton);
        QVERIFY(!compare->isRunning());
        QVERIFY(compare->findChild<QLabel*>("status")->text().startsWith("A benchmark runs"));
        shown.document.cancelMeasuring();
        QVERIFY(shown.waitUntilIdle());
    }

    void noPolicyIsTrainedMeanwhile() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        startBenchmark(shown, 100'000);
        QVERIFY(hasBegun(shown));
        shown.action("Train a policy")->trigger();
        auto* learn = shown.window.findChild<LearnWindow*>();
        QVERIFY(learn != nullptr && QTest::qWaitForWindowExposed(learn));
        QTest::mouseClick(learn->findChild<QPushButton*>("start"), Qt::LeftButton);
        QVERIFY(learn->run() == nullptr);
        QVERIFY(learn->findChild<QLabel*>("status")->text().startsWith("A benchmark runs"));
        shown.document.cancelMeasuring();
        QTest::mouseClick(learn->findChild<QPushButton*>("start"), Qt::LeftButton);
        QVERIFY(learn->isWorking());
        const auto devices = physical_devices(*shown.document.job().machine);
        shown.document.startBenchmark(devices, {});
        QVERIFY(!measures(shown));
        QVERIFY2(shown.message().startsWith("A policy is being trained"), qPrintable(shown.message()));
        QTest::mouseClick(learn->findChild<QPushButton*>("pause"), Qt::LeftButton);
        QVERIFY2(shown.document.measuringHindrance().isEmpty(),
                 qPrintable(shown.document.measuringHindrance()));
    }

    void theDeviceThatLacksMemoryIsNamed() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_place->write("tiny.json", test::uniform_machine(2, 1e3))));
        const auto devices = physical_devices(*shown.document.job().machine);
        MeasureOptions options;
        options.steps = 2;
        shown.document.startBenchmark(devices, options);
        QVERIFY(shown.waitUntilIdle());
        const QString device = shown.deviceOf("conv") == 0 ? "gpu:0" : "gpu:1";
        QVERIFY2(shown.message().contains("; " + device + " used ") &&
                     shown.message().contains(" of 1.00 kB: move ops away or take a smaller batch"),
                 qPrintable(shown.message()));
    }

    void aDialogFollowsWhatHappensMeanwhile() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        QTest::keyClick(&shown.window, Qt::Key_F7);
        auto* dialog = dialogOf<BenchmarkDialog>(shown);
        auto* start = dialog->findChild<QPushButton*>("startBenchmark");
        QTRY_VERIFY_WITH_TIMEOUT(start->isEnabled(), kPatienceMs);
        const auto devices = physical_devices(*shown.document.job().machine);
        shown.document.startProfile(devices, 100'000, false, false, m_place->file("times.json"));
        QVERIFY(measures(shown));
        const auto* hindrance = dialog->findChild<QLabel*>("hindrance");
        QVERIFY(!start->isEnabled());
        QVERIFY2(hindrance->text().startsWith("A profile runs"), qPrintable(hindrance->text()));
        shown.document.cancelMeasuring();
        QVERIFY(start->isEnabled() && hindrance->isHidden());
        // Another network.
        shown.document.openNetwork(m_place->write("other.json", small("other", 3)));
        QTRY_COMPARE_WITH_TIMEOUT(dialog->windowTitle(), QStringLiteral("Benchmark other"), kPatienceMs);
        QTest::keyClick(dialog, Qt::Key_Escape);
        QVERIFY(shown.waitUntilIdle());
    }

    void aLongMeasurementIsStoppedAfterAQuestionOnly() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        startBenchmark(shown, 100'000);
        QVERIFY(hasBegun(shown));
        shown.window.askToStopAfter(0);
        const QString other = m_place->write("other.json", small("other", 3));
        {
            const Answers no(QMessageBox::No);
            QTest::keyClick(&shown.window, Qt::Key_F7);
            QCOMPARE(no.count(), 1);
            QVERIFY(measures(shown));
            QVERIFY(!shown.window.close());
            QCOMPARE(no.count(), 2);
            shown.document.openNetwork(other);
            QTRY_COMPARE_WITH_TIMEOUT(no.count(), 3, kPatienceMs);
            QVERIFY(measures(shown));
            QCOMPARE(shown.document.networkFile(), m_network);
        }
        const Answers yes(QMessageBox::Yes);
        shown.document.openNetwork(other);
        QTRY_COMPARE_WITH_TIMEOUT(shown.document.networkFile(), other, kPatienceMs);
        QCOMPARE(yes.count(), 1);
        QVERIFY(!measures(shown));
        QVERIFY2(shown.message().contains("The benchmark of small was stopped"), qPrintable(shown.message()));
        QVERIFY(shown.waitUntilIdle());
    }

    void aProfileThatIsStoppedSaysSo() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_cores));
        const QString file = m_place->file("times.json");
        ProfileDialog* dialog = startProfile(shown, file, 100'000);
        QVERIFY(hasBegun(shown));
        // A dialog that is opened again shows what runs, and looks at the devices without waiting for it.
        QTest::keyClick(dialog, Qt::Key_Escape);
        backToWindow(shown);
        QVERIFY(measures(shown));
        test::pressInMenu(shown, shown.window.action(ActionId::profile));
        dialog = dialogOf<ProfileDialog>(shown);
        auto* start = dialog->findChild<QPushButton*>("startProfile");
        QCOMPARE(start->text(), QStringLiteral("&Stop"));
        QTRY_VERIFY_WITH_TIMEOUT(dialog->findChild<QPlainTextEdit*>("planList")->isVisible(), kPatienceMs);
        QVERIFY(measures(shown));
        QTest::mouseClick(start, Qt::LeftButton);
        QVERIFY(!measures(shown));
        QVERIFY(shown.waitUntilIdle());
        const auto* state = dialog->findChild<QLabel*>("profileState");
        QCOMPARE(state->text(), QStringLiteral("Stopped; nothing was written."));
        QCOMPARE(shown.message(), QStringLiteral("The profile of small was stopped; nothing was written."));
        QVERIFY(!QFile::exists(file));
    }

    void aProfileThatCannotBeWrittenFailsAtOnce() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_cores));
        // A folder of this name cannot be made.
        const QString file = m_place->write("blocked", QByteArray("x")) + "/times.json";
        ProfileDialog* dialog = startProfile(shown, file, 100'000);
        QTRY_VERIFY_WITH_TIMEOUT(!measures(shown), kPatienceMs);
        QCOMPARE(shown.document.measuring().progress().done, 0U);
        const QString state = dialog->findChild<QLabel*>("profileState")->text();
        QVERIFY2(state.contains("times.json cannot be written") && state.contains("choose another file"),
                 qPrintable(state));
        QCOMPARE(shown.message(), state);
    }

    void transfersAreAPhaseOfTheirOwn() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_cores));
        ProfileDialog* dialog = openProfile(shown, m_place->file("times.json"), 3);
        auto* transfers = dialog->findChild<QCheckBox*>("profileTransfers");
        transfers->setFocus();
        QTest::keyClick(transfers, Qt::Key_Space);
        auto* throttle = dialog->findChild<QCheckBox*>("throttle");
        QVERIFY(throttle->isEnabled() && !throttle->isChecked());
        throttle->setFocus();
        QTest::keyClick(throttle, Qt::Key_Space);
        QTest::mouseClick(dialog->findChild<QPushButton*>("startProfile"), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(shown.document.measuring().progress().transfers, kPatienceMs);
        const QString status = test::statusText(shown, "Search"),
                      state = dialog->findChild<QLabel*>("profileState")->text();
        QVERIFY2(status.startsWith("profile: transfers: ") && !status.contains("left"), qPrintable(status));
        QVERIFY2(state.startsWith("Transfers: "), qPrintable(state));
        QTest::mouseClick(dialog->findChild<QPushButton*>("startProfile"), Qt::LeftButton);
        QVERIFY(shown.waitUntilIdle());
        QTest::keyClick(dialog, Qt::Key_Escape);
        backToWindow(shown);
        // What was ticked is remembered.
        QTest::keyClick(&shown.window, Qt::Key_F7);
        QVERIFY(dialogOf<BenchmarkDialog>(shown)->findChild<QCheckBox*>("throttle")->isChecked());
    }

    void transfersOfABenchmarkAreThrottled() {
        Shown shown;
        // What crosses between the GPUs takes long.
        const Machine fast = test::uniform_machine(2);
        std::vector<Channel> slow(fast.channels().begin(), fast.channels().end());
        for (Channel& channel : slow) channel.bandwidth = 1e5;
        const std::vector<Device> devices(fast.devices().begin(), fast.devices().end());
        const std::vector<Route> routes(fast.routes().begin(), fast.routes().end());
        QVERIFY(shown.open(m_network, m_place->write("slow.json", Machine("slow", devices, slow, routes))));
        shown.document.moveOps({shown.op("classifier")}, 1);
        QVERIFY(shown.waitUntilIdle());
        const double simulated_s = shown.stepTime();
        for (const bool throttles : {false, true}) {
            QTest::keyClick(&shown.window, Qt::Key_F7);
            auto* dialog = dialogOf<BenchmarkDialog>(shown);
            auto* start = dialog->findChild<QPushButton*>("startBenchmark");
            QTRY_VERIFY_WITH_TIMEOUT(start->isEnabled(), kPatienceMs);
            enter(dialog->findChild<QSpinBox*>("benchmarkSteps"), 1);
            auto* box = dialog->findChild<QCheckBox*>("throttle");
            if (box->isChecked() != throttles) QTest::keyClick(box, Qt::Key_Space);
            QTest::mouseClick(start, Qt::LeftButton);
            backToWindow(shown);
            QVERIFY(shown.waitUntilIdle());
        }
        const auto& runs = shown.document.measured()->runs;
        QCOMPARE(runs.size(), 2U);
        QVERIFY(runs[1].of.run->step_times_s[0] >= simulated_s * 0.9);
        QVERIFY(runs[1].of.run->step_times_s[0] > runs[0].of.run->step_times_s[0]);
    }

    void theDefaultFileOfTimesIsOffered() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        const QString file = ProfileDialog::defaultFile();
        QVERIFY(QDir().mkpath(QFileInfo(file).absolutePath()));
        QFile times(file);
        QVERIFY(times.open(QIODevice::WriteOnly));
        times.close();
        SimulationDialog* simulation = test::openSimulation(shown);
        QString folder;
        test::giveFile(file, [&] {
            folder =
                qobject_cast<QFileDialog*>(QApplication::activeModalWidget())->directory().absolutePath();
        });
        QTest::mouseClick(simulation->findChild<QPushButton*>("chooseProfile"), Qt::LeftButton);
        QCOMPARE(folder, QFileInfo(file).absolutePath());
        test::leave(shown, simulation, false);
    }

    void closingNamesTheBenchmarks() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        shown.document.moveOps({shown.op("conv")}, 1);
        QVERIFY(shown.waitUntilIdle());
        startBenchmark(shown, 2);
        QVERIFY(shown.waitUntilIdle());
        const Answers cancel(QMessageBox::Cancel);
        QVERIFY(!shown.window.close());
        QVERIFY2(cancel.last().endsWith("1 unsaved benchmark will be lost too."), qPrintable(cancel.last()));
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
        QVERIFY(shown.open(m_network, m_cores));
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
        QVERIFY2(shown.message().contains("9 of 11 ops have no measured time for test"),
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

    void timesOfCoresAreNotKeptForGpus() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        test::pressInMenu(shown, shown.window.action(ActionId::profile));
        auto* dialog = dialogOf<ProfileDialog>(shown);
        const auto* title = dialog->findChild<QLabel*>("planTitle");
        QTRY_VERIFY2_WITH_TIMEOUT(title->text().startsWith("gpu:0 is core "), qPrintable(title->text()),
                                  kPatienceMs);
        QVERIFY2(title->text().contains("would not be those of \"test\""), qPrintable(title->text()));
        QVERIFY2(title->text().contains("choose This computer as the machine"), qPrintable(title->text()));
        QVERIFY(!dialog->findChild<QPushButton*>("startProfile")->isEnabled());
        QTest::keyClick(dialog, Qt::Key_Escape);
        backToWindow(shown);
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
        QPoint dot;
        // The page is laid out after it is seen, which moves the dots.
        const auto pointsAtRun = [&] {
            dot = steps->positionOf(static_cast<std::uint32_t>(ids[1]))->toPoint();
            for (const QPoint& to : {QPoint(1, 1), dot}) QTest::mouseMove(steps->plot(), to);
            return QToolTip::text().contains("run 1");
        };
        QTRY_VERIFY2(pointsAtRun(), qPrintable(QToolTip::text()));
        QTest::mouseClick(steps->plot(), Qt::LeftButton, {}, dot);
        QCOMPARE(shown.window.measuredPanel()->chosenRun(), ids[1]);
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowBenchmark)
#include "tst_window_benchmark.moc"
