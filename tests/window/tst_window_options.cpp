// SPDX-License-Identifier: MIT
// Simulation options, with a real mouse and keyboard: the chosen values reach the problem and the
// simulation.
#include <memory>

#include <QCheckBox>
#include <QComboBox>
#include <QFile>
#include <QJsonObject>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QSpinBox>
#include <QStatusBar>
#include <QTest>
#include <QTextBrowser>
#include <QToolButton>

#include "app/window/dialogs/simulation_dialog.hpp"
#include "app/window/option_text.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/message_bar.hpp"
#include "widgets/runs_view.hpp"
#include "widgets/selection_panel.hpp"

using namespace placewright;
using test::leave;
using test::openSimulation;
using test::pick;
using test::preview;
using test::Shown;
using test::statusLabel;

namespace {

/// A network in Exprimo's format, which leaves the batch size open.
constexpr auto kOpenBatch = R"({"name": "open", "layers": {
    "in": {"type": "Input", "tensor": [4, 32, 32, 3], "parents": []},
    "conv1": {"type": "Convolution", "filter": [3, 3, 3, 16], "strides": [1, 1, 1, 1], "padding": "SAME", "parents": ["in"]},
    "conv2": {"type": "Convolution", "filter": [3, 3, 16, 16], "strides": [1, 1, 1, 1], "padding": "SAME", "parents": ["conv1"]}}})";

/// Training graph of three linear ops in a row.
Graph trained_graph() {
    GraphBuilder builder("trained", 1, Training::implicit);
    for (int i = 0; i < 3; ++i) {
        Op op;
        op.name = "fc" + std::to_string(i);
        op.kind = "linear";
        op.flops = 1e9;
        op.parameter_bytes = 4'000'000;
        op.outputs = {make_tensor({1000})};
        builder.add(op, i > 0 ? std::vector{"fc" + std::to_string(i - 1)} : std::vector<std::string>());
    }
    return builder.build();
}

template <class Control>
Control* control(SimulationDialog* dialog, const char* name) {
    auto* found = dialog->findChild<Control*>(QString::fromLatin1(name));
    if (found == nullptr) qFatal("no control %s", name);
    return found;
}

/// Types a value by keyboard.
void type(SimulationDialog* dialog, const char* name, const QString& value) {
    auto* box = control<QAbstractSpinBox>(dialog, name);
    box->setFocus();
    box->selectAll();
    QTest::keyClicks(box, value);
}

void press(SimulationDialog* dialog, const QString& text) {
    for (QPushButton* button : dialog->findChildren<QPushButton*>()) {
        if (button->text().remove(QLatin1Char('&')) == text) return QTest::mouseClick(button, Qt::LeftButton);
    }
    qFatal("no button %s", qPrintable(text));
}

QString summary(const Shown& shown) {
    return shown.window.findChild<QToolButton*>("simulationButton")->text();
}

}  // namespace

class TestWindowOptions : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;
    QString m_machine;  ///< three equal GPUs
    QString m_trained;

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        m_machine = m_place->write("three.json", test::uniform_machine(3));
        m_trained = m_place->write("trained.json", trained_graph());
    }
    void cleanup() { m_place.reset(); }

    /// OK changes what the dialog shows alone, not rules that are being taken in.
    void okKeepsWhatIsUnderWay() {
        Shown shown;
        QVERIFY(shown.open(m_trained, m_machine));
        Constraints constraints;
        constraints.rules.push_back(
            {Constraint::Rule::pin, {{shown.document.problem()->graph->op(0).name, false}}, {"gpu:1"}});
        shown.document.setConstraints(constraints);
        QVERIFY(shown.document.isLoading());
        SimulationDialog dialog(&shown.document, &shown.window);
        dialog.open();
        dialog.accept();
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.options().problem.constraints.rules == constraints.rules);
    }

    void aMachineThatCannotTakeThePlacementSaysSo() {
        Shown shown;
        QVERIFY(shown.open(m_trained, m_machine));
        // No message if the machine supports the options.
        shown.document.setMachine(m_place->write("two.json", test::uniform_machine(2)));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.message(), QString());
        shown.document.undoStack()->undo();
        shown.document.moveOps({0}, 2);
        QVERIFY(shown.waitUntilIdle());
        const Placement before = shown.document.placement();
        shown.document.setMachine(m_place->file("two.json"));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY2(shown.message().contains("cannot hold this placement"), qPrintable(shown.message()));
        QCOMPARE(shown.document.placement(), shown.document.job().single_device);
        shown.document.undoStack()->undo();
        QCOMPARE(shown.document.placement(), before);
    }

    // One click applies an option that makes the placement fit.
    void whatMakesItFitIsOffered() {
        Shown shown;
        // 3 layers of parameters, momentum and gradients; without momentum they fit.
        QVERIFY(shown.open(m_trained, m_machine));
        auto* button = shown.window.findChild<QToolButton*>("remedies");
        QVERIFY(button != nullptr && !button->isVisible());
        const double peak_bytes = shown.document.timeline()->outcome.peak_bytes[0];
        const QString small = m_place->write("small.json", test::uniform_machine(1, peak_bytes * 0.9));
        shown.document.setMachine(small);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(!shown.document.assessment()->score.fits);
        QVERIFY(button->isVisible());
        QAction* sgd = nullptr;
        for (QAction* action : button->menu()->actions()) {
            if (action->text().startsWith(QStringLiteral("Plain SGD: a sample takes "))) sgd = action;
        }
        QVERIFY(sgd != nullptr);
        sgd->trigger();
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.options().problem.optimizer_states, 0.0);
        QVERIFY(shown.document.assessment()->score.fits);
        QVERIFY(!button->isVisible());
        shown.document.undoStack()->undo();
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(button->isVisible());
        // Where nothing helps, the tooltip says how much is still missing.
        shown.document.setMachine(m_place->write("tiny.json", test::uniform_machine(1, 1000)));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(!button->isVisible());
        QVERIFY2(statusLabel(shown, "Step time")->toolTip().contains(QStringLiteral("still lacks")),
                 qPrintable(statusLabel(shown, "Step time")->toolTip()));
    }

    // Where a CPU works since no GPU holds the network, one click makes a GPU hold it.
    void whatMakesItFitOnAGpuIsOffered() {
        Shown shown;
        QVERIFY(shown.open(m_trained, m_machine));
        shown.document.moveOps({0, 1, 2}, 0);
        QVERIFY(shown.waitUntilIdle());
        const double peak_bytes = shown.document.timeline()->outcome.peak_bytes[0];
        const Machine pair = test::uniform_machine(2);
        std::vector<Device> devices(pair.devices().begin(), pair.devices().end());
        devices[0].name = "cpu:0";
        devices[0].kind = DeviceKind::cpu;
        devices[0].peak_flops /= 10;
        devices[1].memory_bytes = peak_bytes * 0.9;
        shown.document.setMachine(m_place->write(
            "slow.json", Machine("slow CPU", devices, {pair.channels().begin(), pair.channels().end()},
                                 {pair.routes().begin(), pair.routes().end()})));
        QVERIFY(shown.waitUntilIdle());
        const auto* button = shown.window.findChild<QToolButton*>("remedies");
        QVERIFY(shown.document.assessment()->score.fits);
        QTRY_VERIFY(button->isVisible());
        QCOMPARE(button->text(), QStringLiteral("Make it fit on gpu:1"));
        QVERIFY(button->toolTip().contains(QStringLiteral("gpu:1 lacks ")));
        const double before_s = shown.document.timeline()->outcome.step_time_s;
        QAction* const sgd = button->menu()->actions().front();
        const QString text = sgd->text();
        QVERIFY2(text.startsWith(QStringLiteral("Plain SGD: a sample takes 0.")), qPrintable(text));
        sgd->trigger();
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(std::ranges::all_of(shown.document.placement(), [](DeviceId device) { return device == 1; }));
        QVERIFY(shown.document.assessment()->score.fits);
        const double ratio = shown.document.timeline()->outcome.step_time_s / before_s;
        QVERIFY2(text.contains(QStringLiteral("a sample takes %1 times as long")
                                   .arg(QString::fromStdString(ratio_text(ratio)))),
                 qPrintable(text));
        QVERIFY2(shown.message().contains(QStringLiteral("All ops were moved to gpu:1")),
                 qPrintable(shown.message()));
        QVERIFY(!button->isVisible());
        shown.document.undoStack()->undo();
        QVERIFY(shown.waitUntilIdle());
        QTRY_VERIFY(button->isVisible());
    }

    void aCpuThatTakesMostOfTheStepIsSaid() {
        const Machine pair = test::uniform_machine(2);
        std::vector<Device> devices(pair.devices().begin(), pair.devices().end());
        devices[0].name = "cpu:0";
        devices[0].kind = DeviceKind::cpu;
        devices[0].peak_flops /= 10;
        const Machine machine("with a CPU", devices, {pair.channels().begin(), pair.channels().end()},
                              {pair.routes().begin(), pair.routes().end()});
        Shown shown;
        QVERIFY(shown.open(m_trained, m_place->write("cpu.json", machine)));
        const QLabel* label = statusLabel(shown, "Step time");
        shown.document.moveOps({0, 1, 2}, 0);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY2(label->text().endsWith(QStringLiteral(" · the CPU takes 100 %")), qPrintable(label->text()));
        QVERIFY2(label->toolTip().contains(QStringLiteral("cpu:0 runs ")), qPrintable(label->toolTip()));
        shown.document.moveOps({0, 1, 2}, 1);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(!label->text().contains(QStringLiteral("CPU")));
    }

    // Gradients stay until the end of the step, so an op holds them beside its parameters.
    void theSelectionCountsGradients() {
        Shown shown;
        QVERIFY(shown.open(m_trained, m_machine));
        const auto text = [&] {
            return shown.window.findChild<SelectionPanel*>()->findChild<QTextBrowser*>()->toPlainText();
        };
        const double parameter_bytes =
            static_cast<double>(shown.document.problem()->graph->op(0).parameter_bytes);
        QVERIFY(parameter_bytes > 0);
        shown.document.setSelection({0});
        QVERIFY2(text().contains(QStringLiteral("with gradient and optimizer state %1")
                                     .arg(QString::fromStdString(format_bytes(3 * parameter_bytes)))),
                 qPrintable(text()));
        shown.document.setSelection({0, 1});
        QVERIFY2(
            text().contains(
                QStringLiteral("holds %1").arg(QString::fromStdString(format_bytes(6 * parameter_bytes)))),
            qPrintable(text()));
        JobOptions options;
        options.problem.optimizer_in_backward = true;
        options.problem.optimizer_states = 0;
        shown.document.setOptions(options);
        QVERIFY(shown.waitUntilIdle());
        shown.document.setSelection({0});
        QVERIFY2(!text().contains(QStringLiteral("with gradient")), qPrintable(text()));
    }

    void howMuchMemoryIsMissingIsSaid() {
        Shown shown;
        QVERIFY(shown.open(m_trained, m_place->write("small.json", test::uniform_machine(2, 1000))));
        const Outcome& outcome = shown.document.timeline()->outcome;
        QVERIFY(!outcome.fits);
        QCOMPARE(outcome.peak_bytes[1], 0.0);
        const double missing_bytes = outcome.peak_bytes[0] - shown.document.problem()->memory_limit_bytes[0];
        const QString expected = QStringLiteral("does not fit: gpu:0 lacks %1")
                                     .arg(QString::fromStdString(format_bytes(missing_bytes)));
        QVERIFY2(statusLabel(shown, "Step time")->text().endsWith(expected),
                 qPrintable(statusLabel(shown, "Step time")->text()));
    }

    // --- from the controls to the job ---

    void everyControlReachesTheJob() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("open.json", QByteArray(kOpenBatch)), m_machine));
        SimulationDialog* dialog = openSimulation(shown);
        QCOMPARE(dialog->options(), JobOptions());
        QCOMPARE(control<QSpinBox>(dialog, "batchSize")->text(), QStringLiteral("As in the file (4)"));
        type(dialog, "batchSize", "64");
        pick(dialog, "precision", 3);
        pick(dialog, "costModel", 1);
        type(dialog, "computeEfficiency", "50");
        type(dialog, "channelEfficiency", "80");
        pick(dialog, "crossing", 2);
        type(dialog, "batches", "10");
        type(dialog, "inFlight", "4");
        pick(dialog, "order", 4);
        pick(dialog, "runtime", 1);
        type(dialog, "hostTime", "30");
        QTest::mouseClick(control<QCheckBox>(dialog, "accumulateGradients"), Qt::LeftButton, {}, {8, 8});
        pick(dialog, "optimizer", 2);
        pick(dialog, "recomputation", 2);
        QTest::mouseClick(control<QCheckBox>(dialog, "inPlace"), Qt::LeftButton, {}, {8, 8});
        type(dialog, "workspaceLimit", "256");
        pick(dialog, "framework", 1);
        type(dialog, "contextMemory", "700");
        pick(dialog, "allocator", 2);
        type(dialog, "usableMemory", "90");
        pick(dialog, "memoryRule", 1);
        pick(dialog, "grouping", 3);
        type(dialog, "mergeGroups", "2");
        leave(shown, dialog, true);
        QCOMPARE(shown.message(), QString());

        const JobOptions& options = shown.document.options();
        QCOMPARE(options.reading.batch, std::optional<std::int64_t>(64));
        QCOMPARE(options.problem.precision, Precision::amp_fp16);
        QCOMPARE(options.problem.cost.model, find_cost_model("paleo"));
        QCOMPARE(options.problem.cost.compute_efficiency, std::optional(0.5));
        QCOMPARE(options.problem.cost.channel_efficiency, std::optional(0.8));
        QCOMPARE(options.problem.crossing, std::optional(Crossing::cut_through));
        QCOMPARE(options.simulation,
                 (SimulationOptions{10, 4, Order::one_forward_one_backward, Runtime::eager, 30e-6}));
        QVERIFY(options.problem.accumulate_gradients);
        QCOMPARE(options.problem.optimizer_states, 2.0);
        QCOMPARE(options.problem.recomputation, Recomputation::segments);
        QVERIFY(options.problem.in_place);
        QCOMPARE(options.problem.workspace_limit_bytes, 256e6);
        QCOMPARE(options.problem.framework, Framework::none);
        QCOMPARE(options.problem.context_bytes, std::optional(700e6));
        QCOMPARE(options.problem.allocator, std::optional(Allocator::pytorch));
        QCOMPARE(options.problem.usable_memory, 0.9);
        QCOMPARE(options.penalty.rule, MemoryRule::placeto);
        QCOMPARE(options.problem.grouping.rule, GroupingRule::merge);
        QCOMPARE(options.problem.grouping.merge_groups, std::uint32_t{2});

        const Job& job = shown.document.job();
        const Problem& problem = *job.problem;
        QCOMPARE(problem.forward->batch(), 64);
        QCOMPARE(problem.groups, std::uint32_t{2});
        const Tensor& product = problem.graph->op(*problem.graph->find("conv2")).outputs[0];
        QCOMPARE(product.dtype, DType::float16);
        QVERIFY(problem.graph->find("conv1_cast_in"));
        QCOMPARE(job.simulation, options.simulation);
        QCOMPARE(job.penalty, options.penalty);
        QCOMPARE(problem.machine->device(0).efficiency, 0.5);
        QCOMPARE(problem.machine->channels()[0].efficiency, 0.8);
        QCOMPARE(problem.crossing, Crossing::cut_through);
        QVERIFY(problem.accumulates);
        QCOMPARE(problem.memory_limit_bytes[0], 0.9 * (problem.machine->device(0).memory_bytes - 700e6));
        const OpId conv = *problem.graph->find("conv2");
        const auto parameters = static_cast<double>(problem.graph->op(conv).parameter_bytes);
        QVERIFY(parameters > 0);
        // And the copy in float16.
        QCOMPARE(problem.resident_bytes[conv], 3 * allocated_bytes(Allocator::pytorch, parameters) +
                                                   allocated_bytes(Allocator::pytorch, parameters / 2));
        QVERIFY(problem.workspace_bytes[conv] > 0);
        QCOMPARE(shown.document.timeline()->outcome.ops_run, std::uint64_t{10} * problem.ops);

        QVERIFY2(summary(shown).startsWith(QStringLiteral("batch size 64 · ")), qPrintable(summary(shown)));
        const QStringList all = changedOptions(options);
        QCOMPARE(all.size(), 21);
        for (const QString& part : all)
            QVERIFY(shown.window.findChild<QToolButton*>("simulationButton")
                        ->toolTip()
                        .contains(part.toHtmlEscaped()));

        // The chosen values are kept for the next time, and one click restores the defaults.
        dialog = openSimulation(shown);
        QCOMPARE(dialog->options(), options);
        QTest::mouseClick(dialog->findChild<QPushButton*>("resetOptions"), Qt::LeftButton);
        QCOMPARE(dialog->options(), JobOptions());
        leave(shown, dialog, true);
        QCOMPARE(shown.document.options(), JobOptions());
        QCOMPARE(shown.document.problem()->forward->batch(), 4);
        QCOMPARE(shown.document.problem()->machine->device(0).efficiency,
                 shown.document.job().machine->device(0).efficiency);
        QCOMPARE(summary(shown), QStringLiteral("Simulation…"));
    }

    void everyControlSaysWhatItDoes() {
        Shown shown;
        QVERIFY(shown.open(m_trained, m_machine));
        SimulationDialog* dialog = openSimulation(shown);
        int controls = 0;
        const auto check = [&](QWidget* widget) {
            if (widget->objectName().startsWith(QLatin1String("qt_"))) return;
            QVERIFY2(widget->toolTip().size() > 40, qPrintable(widget->objectName()));
            QVERIFY2(!widget->accessibleName().isEmpty(), qPrintable(widget->objectName()));
            ++controls;
        };
        for (auto* box : dialog->findChildren<QComboBox*>()) {
            check(box);
            for (int i = 0; i < box->count(); ++i) QVERIFY(!box->itemText(i).isEmpty());
        }
        for (auto* box : dialog->findChildren<QSpinBox*>()) check(box);
        for (auto* box : dialog->findChildren<QDoubleSpinBox*>()) check(box);
        for (auto* box : dialog->findChildren<QCheckBox*>()) check(box);
        QCOMPARE(controls, 29);
        dialog->reject();
    }

    void whatMeansNothingIsDisabledAndDoesNotCount() {
        Shown shown;
        QVERIFY(shown.open(m_trained, m_machine));
        SimulationDialog* dialog = openSimulation(shown);
        const auto enabled = [&](const char* name) { return control<QWidget>(dialog, name)->isEnabled(); };
        QVERIFY(!enabled("batchSize"));  // the file fixes it
        QVERIFY(!enabled("inFlight"));
        QVERIFY(!enabled("accumulateGradients"));
        QVERIFY(!enabled("hostTime"));
        pick(dialog, "runtime", 1);
        QVERIFY(enabled("hostTime"));
        pick(dialog, "order", 2);  // critical path first: no program order
        QVERIFY(!enabled("runtime"));
        QVERIFY(!enabled("hostTime"));
        QCOMPARE(dialog->options().simulation.runtime, Runtime::ideal);
        pick(dialog, "order", 0);
        pick(dialog, "runtime", 0);
        type(dialog, "batches", "3");
        QVERIFY(enabled("inFlight"));
        QVERIFY(enabled("accumulateGradients"));
        QTest::mouseClick(control<QCheckBox>(dialog, "accumulateGradients"), Qt::LeftButton, {}, {8, 8});
        pick(dialog, "recomputation", 1);
        pick(dialog, "optimizer", 2);
        QVERIFY(dialog->options().problem.accumulate_gradients);

        pick(dialog, "pass", 1);
        for (const char* name : {"accumulateGradients", "recomputation", "optimizer"})
            QVERIFY2(!enabled(name), name);
        QVERIFY(!dialog->options().problem.accumulate_gradients);
        QCOMPARE(dialog->options().problem.recomputation, Recomputation::none);
        QCOMPARE(dialog->options().problem.optimizer_states, 1.0);

        // Back in training, the earlier choices apply again.
        pick(dialog, "pass", 0);
        QVERIFY(dialog->options().problem.accumulate_gradients);
        QCOMPARE(dialog->options().problem.optimizer_states, 2.0);
        pick(dialog, "grouping", 2);
        QVERIFY(enabled("scopeDepth") && !enabled("mergeGroups"));
        type(dialog, "scopeDepth", "3");
        QCOMPARE(dialog->options().problem.grouping.scope_depth, std::uint32_t{3});
        pick(dialog, "grouping", 1);
        QVERIFY(!enabled("scopeDepth") && !enabled("mergeGroups"));
        QCOMPARE(dialog->options().problem.grouping, GroupingOptions{.rule = GroupingRule::colocation});
        pick(dialog, "memoryModel", 1);
        for (const char* name : {"optimizer", "inPlace", "workspaceLimit"}) QVERIFY2(!enabled(name), name);
        dialog->reject();
    }

    // --- groups ---

    /// Groups chosen in the dialog move as one by hand and in a search; with single ops again, the placement
    /// is the previous one.
    void groupsMoveAsOne() {
        Shown shown;
        QVERIFY(shown.open(m_trained, m_machine));
        SimulationDialog* dialog = openSimulation(shown);
        pick(dialog, "grouping", 1);
        leave(shown, dialog, true);
        QCOMPARE(shown.document.problem()->groups, std::uint32_t{1});
        QCOMPARE(summary(shown), QStringLiteral("colocated ops"));
        shown.document.moveOps({shown.op("fc1")}, 2);
        QVERIFY(shown.waitUntilIdle());
        for (const DeviceId device : shown.document.deviceOfOps()) QCOMPARE(device, DeviceId{2});
        QVERIFY(shown.document.timeline()->outcome.device_busy_s[2] > 0);

        dialog = openSimulation(shown);
        pick(dialog, "grouping", 0);
        leave(shown, dialog, true);
        QCOMPARE(shown.document.problem()->groups, std::uint32_t{3});
        for (const DeviceId device : shown.document.deviceOfOps()) QCOMPARE(device, DeviceId{2});
        shown.document.moveOps({shown.op("fc1")}, 0);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.deviceOfOps()[shown.op("fc0")], DeviceId{2});
    }

    /// A new group goes where most of its ops are; the number of other ops that move is shown before and
    /// after, and can be undone.
    void opsThatMoveWithTheirGroupAreCounted() {
        Shown shown;
        QVERIFY(shown.open(m_trained, m_machine));
        shown.document.moveOps({shown.op("fc1"), shown.op("fc2")}, 2);
        QVERIFY(shown.waitUntilIdle());
        const Placement before = shown.document.placement();
        SimulationDialog* dialog = openSimulation(shown);
        pick(dialog, "grouping", 1);
        QTRY_VERIFY2(preview(dialog).contains(QStringLiteral("1 op would move")),
                     qPrintable(preview(dialog)));
        leave(shown, dialog, true);
        for (const DeviceId device : shown.document.deviceOfOps()) QCOMPARE(device, DeviceId{2});
        QVERIFY2(shown.message().startsWith(QStringLiteral("1 op moved")), qPrintable(shown.message()));
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.placement(), before);
        QCOMPARE(shown.deviceOf("fc0"), DeviceId{0});
    }

    // --- preview, cancel, refusals ---

    void thePreviewTellsWhatOptionsGiveBeforeTheyAreUsed() {
        Shown shown;
        QVERIFY(shown.open(m_trained, m_machine));
        shown.document.moveOps({shown.op("fc1")}, 1);
        QVERIFY(shown.waitUntilIdle());
        const auto problem = shown.document.problem();
        const Placement placement = shown.document.placement();
        SimulationDialog* dialog = openSimulation(shown);
        QTRY_VERIFY(preview(dialog).contains(QString::fromStdString(format_seconds(shown.stepTime()))));
        pick(dialog, "pass", 1);
        JobOptions inference;
        inference.problem.inference = true;
        const Job job = make_job(problem->forward, shown.document.job().machine, inference);
        const double expected = Simulator(job.problem).run(placement).step_time_s;
        QVERIFY(expected < shown.stepTime());
        const QString text =
            QStringLiteral("<b>%1</b>").arg(QString::fromStdString(format_seconds(expected)));
        QTRY_VERIFY2(preview(dialog).contains(text), qPrintable(preview(dialog)));
        QVERIFY(preview(dialog).contains(QStringLiteral("fits")));
        QCOMPARE(shown.document.problem(), problem);  // nothing has changed yet

        press(dialog, QStringLiteral("Cancel"));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.problem(), problem);
        QCOMPARE(shown.document.options(), JobOptions());
        QCOMPARE(shown.document.placement(), placement);
        QCOMPARE(shown.document.undoStack()->count(), 1);
    }

    void refusedOptionsLeaveAllAsItWas() {
        // The inference graph of a network with only backward ops is empty.
        GraphBuilder builder("backward only", 1, Training::explicit_);
        Op op;
        op.name = "b";
        op.kind = "linear";
        op.phase = Phase::backward;
        op.flops = 1e9;
        builder.add(op, {});
        Shown shown;
        QVERIFY(shown.open(m_place->write("backward.json", builder.build()), m_machine));
        const auto problem = shown.document.problem();
        SimulationDialog* dialog = openSimulation(shown);
        pick(dialog, "pass", 1);
        QTRY_VERIFY2(preview(dialog).contains(QStringLiteral("cannot be used")), qPrintable(preview(dialog)));
        QPushButton* ok = dialog->findChild<QPushButton*>("okButton");
        QVERIFY(ok);
        QVERIFY(!ok->isEnabled());
        pick(dialog, "pass", 0);
        QVERIFY(ok->isEnabled());
        // A user who is faster than the preview gets the reason in the window.
        pick(dialog, "pass", 1);
        leave(shown, dialog, true);
        QVERIFY(!shown.message().isEmpty());
        QCOMPARE(shown.document.problem(), problem);
        QCOMPARE(shown.document.options(), JobOptions());
        QCOMPARE(summary(shown), QStringLiteral("Simulation…"));
    }

    void optionsCanBeChosenBeforeANetworkIsOpen() {
        Shown shown;
        QVERIFY(shown.waitUntilIdle());
        SimulationDialog* dialog = openSimulation(shown);
        QVERIFY(preview(dialog).contains(QStringLiteral("Open a network")));
        pick(dialog, "pass", 1);
        leave(shown, dialog, true);
        QCOMPARE(summary(shown), QStringLiteral("inference"));
        QVERIFY(shown.open(m_trained, m_machine));
        QVERIFY(shown.document.problem()->inference);
        QCOMPARE(shown.document.problem()->ops, std::uint32_t{3});
    }

    // --- what stays ---

    void thePlacementStaysAndTheChangeIsUndone() {
        Shown shown;
        QVERIFY(shown.open(m_trained, m_machine));
        shown.document.moveOps({shown.op("fc1")}, 2);
        shown.document.setSelection({shown.op("fc2")});
        QVERIFY(shown.waitUntilIdle());
        const double training_s = shown.stepTime();
        const Placement placement = shown.document.placement();
        SimulationDialog* dialog = openSimulation(shown);
        pick(dialog, "pass", 1);
        leave(shown, dialog, true);
        QVERIFY(shown.document.problem()->inference);
        QCOMPARE(shown.deviceOf("fc1"), DeviceId{2});
        QCOMPARE(shown.document.selection(), OpList{shown.op("fc2")});
        QVERIFY(shown.stepTime() < training_s);
        QCOMPARE(shown.stepTime(), test::simulated(shown.document, placement));
        QVERIFY(!shown.window.graphView()->positionOf(shown.op("fc1")).isNull());

        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(!shown.document.problem()->inference);
        QCOMPARE(shown.stepTime(), training_s);  // at once
        QCOMPARE(shown.document.placement(), placement);
        QCOMPARE(summary(shown), QStringLiteral("Simulation…"));
        QVERIFY(shown.waitUntilIdle());
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.problem()->inference);
        QCOMPARE(summary(shown), QStringLiteral("inference"));
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.deviceOf("fc1") != 2);
    }

    void optionsThatKeepTheOpsKeepTheDrawing() {
        Shown shown;
        QVERIFY(shown.open(m_trained, m_machine));
        const auto scene = shown.document.scene();
        shown.window.graphView()->zoomBy(1.5, {100, 100});
        const double scale = shown.window.graphView()->scale();
        JobOptions options;
        options.simulation.batches = 3;
        shown.document.setOptions(options);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.scene(), scene);
        QCOMPARE(shown.window.graphView()->scale(), scale);
        options.problem.inference = true;
        shown.document.setOptions(options);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.scene() && shown.document.scene() != scene);
    }

    void thePrecisionChangesAndTheFileStays() {
        Shown shown;
        QVERIFY(shown.open(m_trained, m_machine));
        const std::shared_ptr<const Graph> read = shown.document.problem()->network;
        const auto groups = shown.document.problem()->groups;
        QCOMPARE(read->op(1).outputs[0].dtype, DType::float32);
        for (const int choice : {3, 6, 0}) {
            SimulationDialog* dialog = openSimulation(shown);
            pick(dialog, "precision", choice);
            leave(shown, dialog, true);
            QCOMPARE(shown.message(), QString());
            const Problem& problem = *shown.document.problem();
            QCOMPARE(problem.network, read);
            QCOMPARE(problem.groups, groups);
            const Op& op = problem.graph->op(*problem.graph->find("fc1"));
            QCOMPARE(op.outputs[0].dtype, choice == 0 ? DType::float32 : DType::float16);
            QCOMPARE(op.parameter_bytes, std::int64_t{choice == 6 ? 2'000'000 : 4'000'000});
        }
        JobOptions options;
        options.problem.precision = Precision::amp_bf16;
        QCOMPARE(changedOptions(options), QStringList{QStringLiteral("amp-bf16")});
    }

    void runsOfOtherOptionsStayAndLeadBack() {
        Shown shown;
        QVERIFY(shown.open(m_trained, m_machine));
        RunRequest request;
        request.algorithm = "expert";
        request.budget.evaluations = 10;
        const int first = shown.document.startSearch(request);
        QVERIFY(shown.waitUntilIdle());
        const double best_s = shown.document.runs().front()->progress().best.value_s;
        JobOptions options;
        options.problem.inference = true;
        options.simulation.batches = 5;
        shown.document.setOptions(options);
        QVERIFY(shown.waitUntilIdle());
        shown.document.startSearch(request);
        QVERIFY(shown.waitUntilIdle());

        const auto rows = shown.document.runRows();
        QCOMPARE(rows.size(), std::size_t{2});
        QCOMPARE(rows[0].elsewhere, QStringLiteral("default options"));
        QVERIFY(rows[0].gap < 0);  // the bound does not apply to them
        QVERIFY(rows[1].elsewhere.isEmpty());
        const RunsModel* model = shown.window.runsView()->runs();
        const QModelIndex other = model->index(0, RunsModel::Title), own = model->index(1, RunsModel::Title);
        QVERIFY(other.data(Qt::DisplayRole).toString().endsWith(QStringLiteral("(default options)")));
        QVERIFY(other.data(Qt::ForegroundRole).isValid());
        QVERIFY(!own.data(Qt::ForegroundRole).isValid());
        QVERIFY(other.data(Qt::ToolTipRole).toString().contains(QStringLiteral("default options")));

        shown.document.showRun(first);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.options(), JobOptions());
        QCOMPARE(shown.stepTime(), best_s);
        QVERIFY(shown.document.runRows()[0].elsewhere.isEmpty());
        QCOMPARE(shown.document.runRows()[1].elsewhere, QStringLiteral("inference · 5 batches"));
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.options(), options);
    }

    void aSearchUsesTheOptions() {
        Shown shown;
        QVERIFY(shown.open(m_trained, m_machine));
        JobOptions options;
        options.simulation = {4, 2, Order::gpipe};
        options.penalty.rule = MemoryRule::post;
        shown.document.setOptions(options);
        QVERIFY(shown.waitUntilIdle());
        RunRequest request;
        request.algorithm = "expert";
        request.budget.evaluations = 10;
        shown.document.startSearch(request);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.runs().front()->job().simulation, options.simulation);
        QCOMPARE(shown.document.runs().front()->job().penalty, options.penalty);
    }

    void anotherNetworkKeepsTheOptionsButTheBatchSize() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("open.json", QByteArray(kOpenBatch)), m_machine));
        JobOptions options;
        options.reading.batch = 16;
        options.simulation.batches = 2;
        shown.document.setOptions(options);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.problem()->forward->batch(), 16);
        QVERIFY(shown.open(m_trained));
        QCOMPARE(shown.document.options().reading.batch, std::optional<std::int64_t>());
        QCOMPARE(shown.document.job().simulation.batches, std::uint32_t{2});
        QCOMPARE(shown.document.undoStack()->count(), 0);
    }

    void thePipelinesOwnPaceIsShown() {
        Shown shown;
        QVERIFY(shown.open(m_trained, m_machine));
        QVERIFY(!statusLabel(shown, "Step time")->text().contains(QStringLiteral("steady")));
        JobOptions options;
        options.simulation = {12, 3, Order::fifo};
        shown.document.setOptions(options);
        QVERIFY(shown.waitUntilIdle());
        const Outcome& outcome = shown.document.timeline()->outcome;
        if (!outcome.steady_step_time_s) QSKIP("the simulator does not tell");
        const QString steady = QStringLiteral("steady %1")
                                   .arg(QString::fromStdString(format_seconds(*outcome.steady_step_time_s)));
        QVERIFY2(statusLabel(shown, "Step time")->text().contains(steady),
                 qPrintable(statusLabel(shown, "Step time")->text()));
    }

    // --- start page, Exprimo's placements ---

    void theStartPageIsAWayThereAndBack() {
        Shown shown;
        QVERIFY(shown.open(m_trained, m_machine));
        QVERIFY(shown.window.graphView()->isVisible());
        const auto problem = shown.document.problem();
        QTest::keyClick(&shown.window, Qt::Key_H, Qt::ControlModifier | Qt::ShiftModifier);
        QVERIFY(!shown.window.graphView()->isVisible());
        QVERIFY(!shown.window.runsView()->isVisible());
        QVERIFY(shown.action("Back to trained"));
        shown.action("Back to trained")->trigger();
        QVERIFY(shown.window.graphView()->isVisible());
        QVERIFY(shown.window.runsView()->isVisible());
        QCOMPARE(shown.document.problem(), problem);
        QVERIFY(shown.action("Start page"));
    }

    void aFlatPlacementOfExprimoIsOpened() {
        const QString file =
            m_place->write("placement.json", QByteArray(R"({"fc0": 2, "fc1": 1, "fc2": 0})"));
        Shown shown;
        QVERIFY(shown.dropFile(file));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY2(shown.message().contains(QStringLiteral("placement")), qPrintable(shown.message()));
        QVERIFY(!shown.document.isOpen());

        QVERIFY(shown.open(m_trained, m_machine));
        QVERIFY(shown.dropFile(file));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.message(), QString());
        QCOMPARE(shown.deviceOf("fc0"), DeviceId{2});
        QCOMPARE(shown.deviceOf("fc1"), DeviceId{1});
        QCOMPARE(shown.deviceOf("fc2"), DeviceId{0});
        QCOMPARE(shown.document.undoStack()->undoText(), QStringLiteral("Open placement.json"));
    }

    void anOpOfAPlacementMayBeCalledFormat() {
        GraphBuilder builder("formats", 1, Training::none);
        for (const char* name : {"format", "other"}) {
            Op op;
            op.name = name;
            op.kind = "linear";
            op.outputs = {make_tensor({1000})};
            builder.add(op);
        }
        Shown shown;
        QVERIFY(shown.open(m_place->write("formats.json", builder.build()), m_machine));
        DeviceId device = 1;
        for (const char* content :
             {R"({"format": "/device:GPU:1", "other": "/device:GPU:0"})", R"({"other": 0, "format": 2})"}) {
            QVERIFY(shown.dropFile(m_place->write("placement.json", QByteArray(content))));
            QVERIFY(shown.waitUntilIdle());
            QCOMPARE(shown.deviceOf("format"), device++);
        }
    }

    void splitPointsSayWhyTheyAreNoPlacement() {
        Shown shown;
        const QString file = m_place->write(
            "split.json",
            QByteArray(R"({"split_spec": {"fc1": "BEGINNING"}, "devices": ["gpu:0", "gpu:1"]})"));
        for (const bool open : {false, true}) {
            if (open) QVERIFY(shown.open(m_trained, m_machine));
            QVERIFY(shown.dropFile(file));
            QVERIFY(shown.waitUntilIdle());
            QVERIFY2(shown.message().contains(
                         "holds split points for a pipeline, from which no placement can be read"),
                     qPrintable(shown.message()));
        }
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowOptions)
#include "tst_window_options.moc"
