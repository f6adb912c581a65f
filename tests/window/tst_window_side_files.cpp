// SPDX-License-Identifier: MIT
// Op times of traces and sizes of parameters from other files, with a real mouse and keyboard.
#include <memory>

#include <QApplication>
#include <QComboBox>
#include <QFileDialog>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QProcess>
#include <QPushButton>
#include <QScrollArea>
#include <QSpinBox>
#include <QTest>
#include <QTimer>
#include <QToolButton>

#include "app/window/compare/comparison_run.hpp"
#include "app/window/dialogs/simulation_dialog.hpp"
#include "app/window/trace_window.hpp"
#include "core/algorithms.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/quantities.hpp"

using namespace placewright;
using test::leave;
using test::openSimulation;
using test::preview;
using test::Shown;

namespace {

/// Three linear ops of 1 MFLOP in a row.
Graph chain(const std::string& name) {
    GraphBuilder builder("chain of " + name, 1, Training::none);
    for (int i = 0; i < 3; ++i) {
        Op op;
        op.name = name + std::to_string(i);
        op.kind = "linear";
        op.flops = 1e6;
        op.parameter_bytes = 4'000'000;
        op.outputs = {make_tensor({1000})};
        builder.add(op, i > 0 ? std::vector{name + std::to_string(i - 1)} : std::vector<std::string>());
    }
    return builder.build();
}

/// A second for each of the ops fc0, fc1 and fc2: without a model as they are recorded on a CPU, with one as
/// kernels of it.
QByteArray trace(const QString& model = {}, const QString& ops = QStringLiteral("fc")) {
    QJsonArray events;
    for (int i = 0; i < 3; ++i) {
        events.append(QJsonObject{{"ph", "X"},
                                  {"cat", QString(model.isEmpty() ? "user_annotation" : "kernel")},
                                  {"name", QString(ops + QString::number(i))},
                                  {"pid", 0},
                                  {"tid", 7},
                                  {"ts", 2e6 * i},
                                  {"dur", 1e6}});
    }
    QJsonObject file{{"traceEvents", events}};
    if (!model.isEmpty()) file["deviceProperties"] = QJsonArray{QJsonObject{{"id", 0}, {"name", model}}};
    return QJsonDocument(file).toJson();
}

/// Three GPUs, the last of another model if it is given.
Machine machine_of(const std::string& model, const std::string& last = {},
                   DeviceKind kind = DeviceKind::gpu) {
    const Machine uniform = test::uniform_machine(3);
    std::vector<Device> devices(uniform.devices().begin(), uniform.devices().end());
    for (Device& device : devices) device.model = model;
    if (!last.empty()) {
        devices.back().model = last;
        devices.back().kind = kind;
    }
    return Machine("three of " + model, std::move(devices),
                   {uniform.channels().begin(), uniform.channels().end()},
                   {uniform.routes().begin(), uniform.routes().end()});
}

template <class Control>
Control* control(QWidget* in, const char* name) {
    auto* found = in->findChild<Control*>(QString::fromLatin1(name));
    if (found == nullptr) qFatal("no control %s", name);
    return found;
}

void click(QWidget* in, const char* name) {
    QTest::mouseClick(control<QPushButton>(in, name), Qt::LeftButton);
}

/// Clicks what asks for a file, and gives that.
void giveFile(QWidget* in, const char* button, const QString& file) {
    test::giveFile(file);
    click(in, button);
}

QString seconds(double value_s) {
    return QStringLiteral("<b>%1</b>").arg(secondsText(value_s));
}

QString notes(SimulationDialog* dialog) {
    const auto* label = control<QLabel>(dialog, "fileNotes");
    return label->isVisible() ? label->text() : QString();
}

}  // namespace

class TestWindowSideFiles : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;
    QString m_machine, m_network, m_trace;

    /// What `placewright-cli simulate` prints.
    QJsonObject simulated(const QStringList& more) const {
        QProcess cli;
        cli.start(PLACEWRIGHT_CLI,
                  QStringList{"simulate", m_network, "--machine", m_machine, "--json"} + more);
        if (!cli.waitForFinished(60'000) || cli.exitCode() != 0)
            qFatal("%s", cli.readAllStandardError().constData());
        return QJsonDocument::fromJson(cli.readAllStandardOutput()).object();
    }

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        m_machine = m_place->write("three.json", machine_of("test"));
        m_network = m_place->write("chain.json", chain("fc"));
        m_trace = m_place->write("step.trace.json", trace("test"));
    }
    void cleanup() { m_place.reset(); }

    void opTimesAreThoseOfTheTraceUntilUndone() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        const double before_s = shown.stepTime(),
                     expected_s = simulated({"--times", m_trace})["step_time_s"].toDouble();
        QVERIFY(expected_s > 2 && before_s < 1);
        SimulationDialog* dialog = openSimulation(shown);
        QVERIFY(control<QComboBox>(dialog, "costModel")->isEnabled());
        giveFile(dialog, "addTrace", m_trace);
        QTRY_VERIFY2(preview(dialog).contains(seconds(expected_s)), qPrintable(preview(dialog)));
        QVERIFY2(notes(dialog).startsWith("step.trace.json: 3 events") &&
                     notes(dialog).contains("times of 3 of 3 ops"),
                 qPrintable(notes(dialog)));
        QCOMPARE(control<QComboBox>(dialog, "costModel")->currentText(), QStringLiteral("Measured"));
        QVERIFY(!control<QComboBox>(dialog, "costModel")->isEnabled());
        QCOMPARE(shown.stepTime(), before_s);
        leave(shown, dialog, true);
        QCOMPARE(shown.stepTime(), expected_s);
        QVERIFY2(
            shown.message().contains("step.trace.json") && shown.message().contains("times of 3 of 3 ops"),
            qPrintable(shown.message()));
        QCOMPARE(shown.window.findChild<QToolButton*>("simulationButton")->text(),
                 QStringLiteral("times from step.trace.json"));

        shown.document.undoStack()->undo();
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.stepTime(), before_s);
        QVERIFY(shown.document.options().supplements.times.empty());
        shown.document.undoStack()->redo();
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.stepTime(), expected_s);

        // The last trace takes the cost model with it.
        dialog = openSimulation(shown);
        QTRY_VERIFY(notes(dialog).contains("times of 3 of 3 ops"));
        click(dialog, "removeTrace");
        QVERIFY(control<QComboBox>(dialog, "costModel")->isEnabled());
        QCOMPARE(dialog->options(), JobOptions());
        QTRY_VERIFY2(preview(dialog).contains(seconds(before_s)), qPrintable(preview(dialog)));
        QCOMPARE(notes(dialog), QString());
        leave(shown, dialog, true);
        QCOMPARE(shown.stepTime(), before_s);
    }

    void theCostModelIsThatFromBeforeTheTraces() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        SimulationDialog* dialog = openSimulation(shown);
        test::pick(dialog, "costModel", 1);
        const JobOptions chosen = dialog->options();
        giveFile(dialog, "addTrace", m_trace);
        giveFile(dialog, "addTrace", m_place->write("other.trace.json", trace("test")));
        QCOMPARE(dialog->findChildren<QComboBox*>("traceModel").size(), 2);
        giveFile(dialog, "addTrace", m_trace);  // is there already
        QCOMPARE(dialog->findChildren<QComboBox*>("traceModel").size(), 2);
        QCOMPARE(dialog->options().problem.cost.model, find_cost_model("measured"));
        for (int left : {1, 0}) {
            click(dialog, "removeTrace");
            QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
            QCOMPARE(dialog->findChildren<QComboBox*>("traceModel").size(), left);
            QCOMPARE(dialog->options() == chosen, left == 0);
        }
        giveFile(dialog, "addTrace", m_trace);
        click(dialog, "resetOptions");
        QCOMPARE(dialog->options(), JobOptions());
        leave(shown, dialog, false);
    }

    void aTraceWithoutAnyOpIsRefusedBeforeItCounts() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        SimulationDialog* dialog = openSimulation(shown);
        giveFile(dialog, "addTrace", m_place->write("foreign.trace.json", trace("test", "conv")));
        QTRY_VERIFY2(preview(dialog).contains("no event has the name of an op of chain of fc"),
                     qPrintable(preview(dialog)));
        QVERIFY(!control<QPushButton>(dialog, "okButton")->isEnabled());
        click(dialog, "removeTrace");
        QTRY_VERIFY2(preview(dialog).contains("takes <b>"), qPrintable(preview(dialog)));
        QVERIFY(control<QPushButton>(dialog, "okButton")->isEnabled());
        leave(shown, dialog, false);
    }

    void theModelIsChosenWhereTheTraceDoesNotSay() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_place->write("mixed.json", machine_of("A", "B"))));
        SimulationDialog* dialog = openSimulation(shown);
        giveFile(dialog, "addTrace", m_place->write("silent.trace.json", trace()));
        QTRY_VERIFY2(preview(dialog).contains(
                         "does not say the model of its devices; choose the device model beside it"),
                     qPrintable(preview(dialog)));
        QVERIFY(!control<QPushButton>(dialog, "okButton")->isEnabled());
        auto* models = control<QComboBox>(dialog, "traceModel");
        QCOMPARE(dialog->focusWidget(), models);
        QCOMPARE(models->count(), 3);
        QCOMPARE(models->itemText(2), QStringLiteral("B"));
        QTest::keyClick(models, Qt::Key_End);
        QTRY_VERIFY2(preview(dialog).contains("takes <b>"), qPrintable(preview(dialog)));
        QVERIFY2(notes(dialog).contains("on B"), qPrintable(notes(dialog)));
        QTest::keyClick(models, Qt::Key_Up);
        QTRY_VERIFY2(notes(dialog).contains("on A"), qPrintable(notes(dialog)));
        leave(shown, dialog, true);
        QVERIFY(shown.stepTime() > 2);
        QVERIFY2(shown.message().contains("none of 3 ops has a measured time for B"),
                 qPrintable(shown.message()));
    }

    void timesOfACpuThatCountForAGpuAreTold() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_place->write("host.json", machine_of("A", "Host", DeviceKind::cpu))));
        SimulationDialog* dialog = openSimulation(shown);
        giveFile(dialog, "addTrace", m_place->write("cpu.trace.json", trace()));
        QTRY_VERIFY2(notes(dialog).contains("on Host") && !notes(dialog).contains("warning"),
                     qPrintable(notes(dialog)));
        auto* models = control<QComboBox>(dialog, "traceModel");
        models->setCurrentIndex(0);
        models->setFocus();
        QTest::keyClick(models, Qt::Key_Down);
        QTRY_VERIFY2(notes(dialog).contains("warning: the trace has no GPU kernels") &&
                         notes(dialog).contains("give the times to a CPU (Host)"),
                     qPrintable(notes(dialog)));
        QTest::keyClick(models, Qt::Key_End);
        QTRY_VERIFY2(!notes(dialog).contains("warning"), qPrintable(notes(dialog)));
        leave(shown, dialog, false);
    }

    void anotherMachineKeepsTheTimesOfItsModels() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        SimulationDialog* dialog = openSimulation(shown);
        giveFile(dialog, "addTrace", m_place->write("silent.trace.json", trace()));
        leave(shown, dialog, true);
        QVERIFY(shown.stepTime() > 2);
        // What the trace left to the machine is settled now.
        QCOMPARE(shown.document.options().supplements.times.front().model, std::string("test"));
        shown.document.setMachine(m_place->write("other.json", machine_of("other")));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY2(shown.message().contains(
                     "none of 3 ops has a measured time for other: the roofline model estimates them"),
                 qPrintable(shown.message()));
        QVERIFY(shown.stepTime() < 1);
        dialog = openSimulation(shown);
        QCOMPARE(control<QComboBox>(dialog, "traceModel")->currentText(),
                 QStringLiteral("test (not in this machine)"));
        giveFile(dialog, "addTrace", m_place->write("other.trace.json", trace("other")));
        QTRY_VERIFY2(
            notes(dialog).contains(
                "warning: the times have no effect: no device of three of other has the model \"test\""),
            qPrintable(notes(dialog)));
        leave(shown, dialog, false);
        shown.document.setMachine(m_machine);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.stepTime() > 2);
    }

    void parametersHaveTheSizesOfAFile() {
        QByteArray header = "{", data;
        for (int i = 0; i < 3; ++i) {
            header +=
                (i > 0 ? "," : "") + QStringLiteral(
                                         "\"fc%1.weight\": {\"dtype\": \"BF16\", \"shape\": [1000, 1000], "
                                         "\"data_offsets\": [%2, %3]}")
                                         .arg(i)
                                         .arg(data.size())
                                         .arg(data.size() + 2'000'000)
                                         .toUtf8();
            data += QByteArray(2'000'000, 0);
        }
        header += R"(, "lost": {"dtype": "F32", "shape": [0], "data_offsets": [6000000, 6000000]}})";
        const qint64 length = header.size();
        const QString weights =
            m_place->write("half.safetensors",
                           QByteArray(reinterpret_cast<const char*>(&length), sizeof length) + header + data);
        const auto resident_bytes = [](const QJsonObject& outcome) {
            return outcome["devices"].toArray()[0].toObject()["resident_bytes"].toDouble();
        };
        const double expected = resident_bytes(simulated({"--parameters", weights}));
        QCOMPARE(expected, resident_bytes(simulated({})) / 2);

        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        const double before = shown.document.timeline()->outcome.resident_bytes[0];
        SimulationDialog* dialog = openSimulation(shown);
        QCOMPARE(control<QLabel>(dialog, "parametersFile")->text(), QStringLiteral("The network file"));
        QVERIFY(!control<QPushButton>(dialog, "clearParameters")->isEnabled());
        giveFile(dialog, "chooseParameters", m_place->write("no.safetensors", QByteArray("none")));
        QTRY_VERIFY2(preview(dialog).contains("These options cannot be used") &&
                         preview(dialog).contains("no.safetensors"),
                     qPrintable(preview(dialog)));
        QVERIFY(!control<QPushButton>(dialog, "okButton")->isEnabled());
        giveFile(dialog, "chooseParameters", weights);
        QTRY_VERIFY2(notes(dialog).contains("half.safetensors: 1 tensors belong to no op: lost"),
                     qPrintable(notes(dialog)));
        QCOMPARE(control<QLabel>(dialog, "parametersFile")->toolTip(), weights);
        leave(shown, dialog, true);
        QCOMPARE(shown.document.timeline()->outcome.resident_bytes[0], expected);
        QCOMPARE(shown.window.findChild<QToolButton*>("simulationButton")->text(),
                 QStringLiteral("sizes from half.safetensors"));

        dialog = openSimulation(shown);
        click(dialog, "clearParameters");
        leave(shown, dialog, true);
        QCOMPARE(shown.document.timeline()->outcome.resident_bytes[0], before);
        QCOMPARE(shown.document.options(), JobOptions());

        // Opened like any file, they are what they can be.
        QPointer<SimulationDialog> opened;
        QVERIFY(shown.dropFile(weights));
        QTRY_VERIFY((opened = shown.window.findChild<SimulationDialog*>()) != nullptr && opened->isVisible());
        QCOMPARE(control<QLabel>(opened, "parametersFile")->toolTip(), weights);
        leave(shown, opened, true);
        QCOMPARE(shown.document.timeline()->outcome.resident_bytes[0], expected);
    }

    void anotherNetworkStartsWithoutThem() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        SimulationDialog* dialog = openSimulation(shown);
        giveFile(dialog, "addTrace", m_trace);
        leave(shown, dialog, true);
        QVERIFY(shown.open(m_place->write("next.json", chain("op")), m_machine));
        QCOMPARE(shown.document.options(), JobOptions());
        QCOMPARE(shown.message(), QString());
    }

    void aComparisonTakesThemForTheirNetworkAlone() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        SimulationDialog* dialog = openSimulation(shown);
        giveFile(dialog, "addTrace", m_trace);
        leave(shown, dialog, true);
        ComparisonRequest request;
        request.networks = {m_network.toStdString(), m_place->write("next.json", chain("op")).toStdString()};
        request.machines = {m_machine.toStdString()};
        request.options = shown.document.options();
        request.supplemented = request.networks.front();
        request.contestants = {{find_algorithm("random"), {}}};
        request.seeds = 1;
        request.evaluations = 3;
        ComparisonRun run(request);
        run.start();
        QTRY_VERIFY(run.state() != ComparisonRun::State::running);
        QCOMPARE(run.cases().size(), 2U);
        QCOMPARE(run.cases()[0]->fingerprint, shown.document.fingerprint());
        QCOMPARE(run.cases()[1]->failure, QString());
        QVERIFY(run.cases()[1]->job->single_device_s < 1);
    }

    void aTraceThatIsOpenGivesItsTimes() {
        Shown shown;
        QVERIFY(shown.dropFile(m_trace));
        auto* window = shown.window.findChild<TraceWindow*>();
        QVERIFY(window != nullptr && QTest::qWaitFor([&] { return !window->isReading(); }));
        auto* take = control<QPushButton>(window, "takeTimes");
        QVERIFY(!take->isEnabled());  // there is no network
        QVERIFY(shown.open(m_network, m_machine));
        const double before_s = shown.stepTime();
        QVERIFY(take->isEnabled());
        QTest::mouseClick(take, Qt::LeftButton);
        auto* dialog = shown.window.findChild<SimulationDialog*>();
        QVERIFY(dialog != nullptr && QTest::qWaitForWindowExposed(dialog));
        QTRY_VERIFY2(preview(dialog).contains(QStringLiteral("(now %1").arg(secondsText(before_s))),
                     qPrintable(preview(dialog)));
        QCOMPARE(shown.stepTime(), before_s);
        QVERIFY(!control<QPushButton>(dialog, "addTrace")->visibleRegion().isEmpty());
        leave(shown, dialog, true);
        QCOMPARE(shown.stepTime(), simulated({"--times", m_trace})["step_time_s"].toDouble());
        window->close();
    }

    void allOfItIsReachedByKeys() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        SimulationDialog* dialog = openSimulation(shown);
        dialog->addTrace(m_trace);
        QStringList order;
        auto* model = control<QComboBox>(dialog, "traceModel");
        QTRY_VERIFY(model->isVisible());
        control<QSpinBox>(dialog, "mergeGroups")->setEnabled(true);
        control<QSpinBox>(dialog, "mergeGroups")->setFocus();
        for (int i = 0; i < 5; ++i) {
            order << QApplication::focusWidget()->objectName();
            QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
        }
        QCOMPARE(order,
                 (QStringList{"mergeGroups", "traceModel", "removeTrace", "addTrace", "chooseParameters"}));
        for (const char* name :
             {"traceModel", "removeTrace", "addTrace", "chooseParameters", "clearParameters"}) {
            const auto* widget = control<QWidget>(dialog, name);
            QVERIFY2(widget->toolTip().size() > 40, name);
            if (widget->objectName() != QLatin1String("addTrace"))
                QVERIFY2(!widget->accessibleName().isEmpty(), name);
        }
        leave(shown, dialog, false);
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowSideFiles)
#include "tst_window_side_files.moc"
