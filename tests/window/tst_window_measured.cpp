// SPDX-License-Identifier: MIT
// Traces of the open network beside its simulation: the timeline, the table of ops and the plot, by mouse and
// keyboard.
#include <algorithm>
#include <memory>

#include <QComboBox>
#include <QFile>
#include <QHeaderView>
#include <QHelpEvent>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QMenu>
#include <QProcess>
#include <QSignalSpy>
#include <QTest>
#include <QToolTip>
#include <QTreeWidget>

#include "app/window/dialogs/simulation_dialog.hpp"
#include "app/window/trace_window.hpp"
#include "app/window/workspace_keeper.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/widgets.hpp"
#include "tests/support/window.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/measured_panel.hpp"
#include "widgets/measured_plot.hpp"
#include "widgets/ops_view.hpp"
#include "widgets/qcustomplot_header.hpp"
#include "widgets/quantities.hpp"

using namespace placewright;
using test::giveFile, test::Shown;

namespace {

constexpr const char* kSlow = "branch3";

/// The index of the op's span in a timeline.
std::uint32_t spanOf(const TimelineData& timeline, OpId op) {
    for (std::uint32_t span = 0; span < timeline.trace.spans.size(); ++span) {
        const Span& of = timeline.trace.spans[span];
        if (of.kind == Span::Kind::op && of.op == op) return span;
    }
    qFatal("the op has no span");
}

QString toolTipAt(TimelineView* timeline, QPoint position) {
    QHelpEvent ask(QEvent::ToolTip, position, timeline->mapToGlobal(position));
    QCoreApplication::sendEvent(timeline, &ask);
    return test::readText(QToolTip::text());
}

QComboBox* runs(const Shown& shown) {
    return shown.window.findChild<QComboBox*>("measuredRun");
}

QString errorOf(const Shown& shown, const char* op) {
    const OpsModel& ops = *shown.window.opsView()->ops();
    return ops.index(ops.rowOf(shown.op(op)), OpsModel::Error).data().toString();
}

QString cell(const Shown& shown, int row, int column) {
    return shown.window.opsView()->model()->index(row, column).data().toString();
}

}  // namespace

class TestWindowMeasured : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;
    QString m_network, m_machine;

    /// Adds a run of the placement on screen, with every op `factor` times as long as simulated.
    static void addRun(Shown& shown, const char* name, double factor = 1,
                       std::vector<double> peak_bytes = {}) {
        MeasuredRun run;
        run.name = name;
        run.placement = shown.document.placement();
        for (Span span : shown.document.timeline()->trace.spans) {
            for (double* time_s : {&span.start_s, &span.end_s, &span.queued_s}) *time_s *= factor;
            run.trace.spans.push_back(span);
        }
        run.step_times_s = {factor * shown.stepTime()};
        run.peak_bytes = std::move(peak_bytes);
        shown.document.addMeasured(std::move(run));
        if (!shown.waitUntilIdle()) qFatal("the runs are not compared");
    }

    /// The trace that `placewright-cli simulate` writes, with every op `factor` times as long and kSlow four
    /// times that.
    QString trace(const QString& name, double factor) {
        const QString plain = m_place->file("plain.json");
        QProcess cli;
        cli.start(PLACEWRIGHT_CLI, {"simulate", m_network, "--machine", m_machine, "--trace", plain});
        if (!cli.waitForFinished(60'000) || cli.exitCode() != 0)
            qFatal("%s", cli.readAllStandardError().constData());
        QFile file(plain);
        if (!file.open(QIODevice::ReadOnly)) qFatal("no trace");
        QJsonObject document = QJsonDocument::fromJson(file.readAll()).object();
        QJsonArray events;
        // All ops are on one device, one after the other.
        double late_us = 0;
        for (const QJsonValue& value : document["traceEvents"].toArray()) {
            QJsonObject event = value.toObject();
            if (event["ph"] == "X") {
                const double times = event["name"] == kSlow ? 4 * factor : factor;
                event["ts"] = event["ts"].toDouble() * factor + late_us;
                late_us += event["dur"].toDouble() * (times - factor);
                event["dur"] = event["dur"].toDouble() * times;
            }
            events.append(event);
        }
        document["traceEvents"] = events;
        return m_place->write(name, QJsonDocument(document).toJson());
    }

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        m_network = m_place->write("wide.json", test::wide_graph());
        m_machine = m_place->write("machine.json", test::uniform_machine(2));
    }

    void aTraceIsShownInTimelineTableAndPlot() {
        Shown shown;
        shown.window.resize(1400, 900);
        QVERIFY(shown.open(m_network, m_machine));
        const QRectF alone = shown.window.timelineView()->spanRect(0);
        QVERIFY(!alone.isEmpty());
        QVERIFY(shown.dropFile(trace("run.trace.json", 1.5)) && shown.waitUntilIdle());
        QCOMPARE(shown.document.networkFile(), m_network);
        QVERIFY2(shown.message().contains("run.trace.json: ") &&
                     shown.message().contains("ops that compute are in it"),
                 qPrintable(shown.message()));
        QVERIFY(shown.window.findChild<TraceWindow*>() == nullptr);
        QVERIFY(test::panelVisible(shown, "measuredDock"));

        // The timeline: a strip below the simulated one, on an axis that has room for it.
        TimelineView* timeline = shown.window.timelineView();
        const MeasuredRuns& measured = *shown.document.measured();
        QCOMPARE(measured.runs.size(), 1U);
        const OpId slow = shown.op(kSlow);
        const std::uint32_t span = spanOf(*measured.runs[0].of.timeline, slow);
        const QRectF below = timeline->measuredRect(0, span),
                     simulated = timeline->spanRect(spanOf(*shown.document.timeline(), slow));
        QVERIFY(below.top() >= simulated.bottom());
        QVERIFY(below.width() > 3 * simulated.width());
        QVERIFY(timeline->laneRect(0).contains(below));
        QCOMPARE(timeline->axis().end_s, measured.runs[0].of.timeline->outcome.total_time_s);
        QTest::mouseClick(timeline, Qt::LeftButton, {}, below.center().toPoint());
        QCOMPARE(shown.document.selection(), OpList{slow});
        const QString tip = toolTipAt(timeline, below.center().toPoint());
        QVERIFY2(tip.contains("Measured in: run") && tip.contains("6.00 ×") &&
                     tip.contains("typically take 1.50 ×"),
                 qPrintable(tip));
        const QString other = toolTipAt(
            timeline,
            timeline->spanRect(spanOf(*shown.document.timeline(), shown.op("branch1"))).center().toPoint());
        QVERIFY2(other.contains("1.50 ×") && !other.contains("Marked"), qPrintable(other));
        QVERIFY(toolTipAt(timeline, QPoint(5, static_cast<int>(timeline->laneRect(0).top()) + 8))
                    .contains("Measured in run: busy for"));

        // Totals of the step and the devices.
        auto* devices = shown.window.findChild<QTreeWidget*>("measuredDevices");
        QCOMPARE(devices->topLevelItemCount(), 2);
        const double factor = measured.all.devices[0].factor();
        QCOMPARE(devices->topLevelItem(0)->text(3), factorText(factor));
        QVERIFY(factor > 1.5 && factor < 6);
        QString step = shown.window.findChild<QLabel*>("measuredStep")->text();
        step.replace(QChar(QChar::Nbsp), QLatin1Char(' '));
        QVERIFY2(step.contains(factorText(measured.all.step.factor())), qPrintable(step));

        // The table: sorted by error, the slow op is first.
        OpsView* ops = shown.window.opsView();
        test::raise(ops);
        QVERIFY(!ops->isColumnHidden(OpsModel::Error) && !ops->isColumnHidden(OpsModel::Measured));
        // Relative to what was measured, as everywhere.
        QCOMPARE(errorOf(shown, "branch1"), QStringLiteral("−33 %"));
        QCOMPARE(errorOf(shown, kSlow), QStringLiteral("−83 %"));
        QHeaderView* header = ops->horizontalHeader();
        ops->scrollTo(ops->model()->index(0, OpsModel::Error));
        const QPoint error(header->sectionViewportPosition(OpsModel::Error) + 10, header->height() / 2);
        for (int clicks = 0; clicks < 2 && cell(shown, 0, OpsModel::Name) != kSlow; ++clicks)
            QTest::mouseClick(header->viewport(), Qt::LeftButton, {}, error);
        QCOMPARE(cell(shown, 0, OpsModel::Name), QString(kSlow));
        // What is selected elsewhere is selected here, and the other way round.
        QCOMPARE(ops->currentIndex().data(OpsModel::OpRole).toUInt(), slow);
        QTest::mouseClick(ops->viewport(), Qt::LeftButton, {},
                          ops->visualRect(ops->model()->index(1, 0)).center());
        QCOMPARE(shown.document.selection(),
                 OpList{ops->model()->index(1, 0).data(OpsModel::OpRole).toUInt()});
        QTest::keyClick(ops, Qt::Key_Up);
        QCOMPARE(shown.document.selection(), OpList{slow});
        QTest::keyClick(ops, Qt::Key_Escape);
        QVERIFY(shown.document.selection().empty());

        // The plot: a click on a dot selects its op.
        MeasuredPlot* plot = shown.window.measuredPanel()->plot();
        test::raise(plot);
        const auto position = plot->positionOf(slow);
        QVERIFY(position.has_value());
        QTest::mouseMove(plot->plot(), position->toPoint());
        QVERIFY2(QToolTip::text().contains(kSlow), qPrintable(QToolTip::text()));
        QTest::mouseClick(plot->plot(), Qt::LeftButton, {}, position->toPoint());
        QCOMPARE(shown.document.selection(), OpList{slow});
        test::raise(ops);
        QCOMPARE(ops->selectionModel()->selectedRows().size(), 1);
        QCOMPARE(ops->selectionModel()->selectedRows().front().data(OpsModel::OpRole).toUInt(), slow);
    }

    void tracesOfOtherNetworksAreNamedBesideThoseThatMatch() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        const QString mine = trace("mine.json", 1);
        const auto other = [&](const char* name) {
            return m_place->write(name, QByteArray(R"({"traceEvents": [{"ph": "X", "name": "else", "ts": 0,
                                                       "dur": 5, "pid": 1, "tid": 1}]})"));
        };
        const auto urls = [](const QStringList& files) {
            QList<QUrl> result;
            for (const QString& file : files) result << QUrl::fromLocalFile(file);
            return result;
        };
        QVERIFY(shown.drop(urls({mine, other("a.json")})) && shown.waitUntilIdle());
        QVERIFY2(shown.message().contains("mine.json: ") &&
                     shown.message().contains("a.json has no event of an op of "),
                 qPrintable(shown.message()));
        QVERIFY(shown.drop(urls({other("a.json"), other("b.json")})) && shown.waitUntilIdle());
        QVERIFY2(shown.message().contains("a.json, b.json have no event"), qPrintable(shown.message()));
    }

    void theLayoutIsChosenInTheMenu() {
        const QString file = trace("run.json", 2);
        {
            Shown shown;
            QVERIFY(shown.open(m_network, m_machine));
            QVERIFY(shown.dropFile(file) && shown.waitUntilIdle());
            TimelineView* timeline = shown.window.timelineView();
            const OpId op = shown.op("source");
            const std::uint32_t span = spanOf(*shown.document.measured()->runs[0].of.timeline, op);
            const QRectF simulated = timeline->spanRect(spanOf(*shown.document.timeline(), op));
            QVERIFY(!timeline->measuredRect(0, span).intersects(simulated));
            test::pressInMenu(shown, shown.action("Over the simulated ones"));
            QVERIFY(timeline->measuredRect(0, span).intersects(
                timeline->spanRect(spanOf(*shown.document.timeline(), op))));
            timeline->grab();
            test::pressInMenu(shown, shown.action("Not in the timeline"));
            QVERIFY(timeline->measuredRect(0, span).isNull());
            QCOMPARE(timeline->axis().end_s, shown.document.timeline()->outcome.total_time_s);
            QVERIFY(shown.window.close());
        }
        Shown shown;
        QVERIFY(shown.window.action(ActionId::measuredOff)->isChecked());
    }

    void ranksShareTheAxis() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        const QString first = trace("rank0.json", 1), second = trace("rank1.json", 3);
        QVERIFY(shown.drop(QList<QUrl>{QUrl::fromLocalFile(first), QUrl::fromLocalFile(second)}));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(runs(shown)->count(), 3);
        QCOMPARE(runs(shown)->itemText(1), QStringLiteral("rank0"));
        QCOMPARE(runs(shown)->itemText(2), QStringLiteral("rank1"));
        const MeasuredRuns& measured = *shown.document.measured();
        const OpId op = shown.op("branch1");
        const TimelineView* timeline = shown.window.timelineView();
        const QRectF upper = timeline->measuredRect(0, spanOf(*measured.runs[0].of.timeline, op)),
                     lower = timeline->measuredRect(1, spanOf(*measured.runs[1].of.timeline, op));
        QVERIFY(lower.top() >= upper.bottom());
        QVERIFY(std::abs(lower.width() - 3 * upper.width()) < 1);
        test::raise(shown.window.opsView());
        QCOMPARE(errorOf(shown, "branch1"), QStringLiteral("−50 %"));  // the mean
        test::raise(shown.window.measuredPanel());
        runs(shown)->setFocus();
        QTest::keyClick(runs(shown), Qt::Key_End);
        test::raise(shown.window.opsView());
        QCOMPARE(errorOf(shown, "branch1"), QStringLiteral("−67 %"));
        // A file that is opened again replaces its run.
        trace("rank1.json", 2);
        QVERIFY(shown.dropFile(second) && shown.waitUntilIdle());
        QCOMPARE(shown.document.measured()->runs.size(), 2U);
        // It is the run that it was, and stays chosen.
        QCOMPARE(runs(shown)->currentText(), QStringLiteral("rank1"));
        QCOMPARE(errorOf(shown, "branch1"), QStringLiteral("−50 %"));
        // The chosen run is removed, then the last.
        test::raise(shown.window.measuredPanel());
        for (const int left : {1, 0}) {
            runs(shown)->setFocus();
            QTest::keyClick(runs(shown), Qt::Key_End);
            test::pressInMenu(shown, shown.window.findChild<QAction*>("removeMeasured"));
            QVERIFY(shown.waitUntilIdle());
            QCOMPARE(runs(shown)->count(), left);
        }
        QVERIFY(shown.document.measured() == nullptr);
        test::raise(shown.window.opsView());
        QVERIFY(shown.window.opsView()->isColumnHidden(OpsModel::Error));
    }

    void runsFollowTheMachineAndItsUndo() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        QVERIFY(shown.dropFile(trace("run.json", 2)) && shown.waitUntilIdle());
        QVERIFY(!shown.window.measuredPanel()->visibleRegion().isEmpty());
        test::raise(shown.window.opsView());
        const auto problem = shown.document.problem();
        shown.document.setMachine(m_place->write("three.json", test::uniform_machine(3)));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.problem() != problem);
        QCOMPARE(shown.document.measured()->simulated->problem, shown.document.problem());
        QCOMPARE(shown.document.measured()->all.ops[shown.op(kSlow)].time.factor(), 8.0);
        // The panel that the user looks at stays.
        QVERIFY(shown.window.measuredPanel()->visibleRegion().isEmpty());
        QCOMPARE(errorOf(shown, kSlow), QStringLiteral("−88 %"));
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.problem(), problem);
        QCOMPARE(shown.document.measured()->simulated->problem, problem);
        // The runs belong to the network.
        QVERIFY(shown.open(m_place->write("other.json", test::wide_graph(3))));
        QVERIFY(shown.document.measured() == nullptr);
        QCOMPARE(runs(shown)->count(), 0);
    }

    void aRunIsHeldAgainstItsOwnStepAlone() {
        Shown shown;
        const QString network = m_place->write("work.json", test::fork_join(8, 2e9, 100'000));
        QVERIFY(shown.open(network, m_machine));
        addRun(shown, "Benchmark 1", 2);
        auto* step = shown.window.findChild<QLabel*>("measuredStep");
        const auto text = [&] { return step->text().replace(QChar(QChar::Nbsp), QLatin1Char(' ')); };
        QVERIFY2(text().contains("(2.00 ×)"), qPrintable(text()));
        // What only the simulation knows leaves it.
        JobOptions options = shown.document.options();
        options.simulation.runtime = Runtime::eager;
        options.simulation.batches = 4;
        shown.document.setOptions(options);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.measured() != nullptr);
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());

        // Another version of the network, with twice the work.
        m_place->write("work.json", test::fork_join(8, 4e9, 100'000));
        QTest::keyClick(&shown.window, Qt::Key_R, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.measured() == nullptr);
        QCOMPARE(runs(shown)->count(), 0);
        QVERIFY2(shown.message().contains("Benchmark 1 measured another step (another version of the "
                                          "network) and is hidden; Ctrl+Z shows it again"),
                 qPrintable(shown.message()));
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(runs(shown)->count(), 1);
        QVERIFY2(text().contains("(2.00 ×)"), qPrintable(text()));
    }

    void aRunOfAnotherBatchOrPassIsHidden() {
        Shown shown;
        QVERIFY(shown.open("alexnet", m_machine));
        addRun(shown, "Benchmark 1");
        const auto batch = shown.document.problem()->network->batch();
        shown.document.setReading(ReadOptions(2 * batch));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.problem()->network->batch(), 2 * batch);
        QVERIFY(shown.document.measured() == nullptr);
        QVERIFY2(shown.message().contains(QStringLiteral("(batch size %1)").arg(batch)),
                 qPrintable(shown.message()));
        addRun(shown, "Benchmark 2");
        QCOMPARE(shown.document.measured()->runs.size(), 1U);
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(runs(shown)->currentText(), QStringLiteral("Benchmark 1"));
        QVERIFY2(shown.message().contains("Benchmark 2 measured another step"), qPrintable(shown.message()));

        auto* dialog = test::openSimulation(shown);
        test::pick(dialog, "pass", 1);
        test::leave(shown, dialog, true);
        QVERIFY(shown.document.problem()->inference);
        QVERIFY(shown.document.measured() == nullptr);
        QVERIFY2(shown.message().contains("(training)"), qPrintable(shown.message()));
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        dialog = test::openSimulation(shown);
        test::pick(dialog, "precision", 2);
        test::leave(shown, dialog, true);
        QVERIFY(shown.document.measured() == nullptr);
        QVERIFY2(shown.message().contains("(as in the file)"), qPrintable(shown.message()));

        // Each is in the file with its own step.
        giveFile(m_place->file("runs.placewright"));
        QVERIFY(shown.window.keeper()->save(true));
        Shown after;
        after.document.openWorkspace(m_place->file("runs.placewright"));
        QTRY_VERIFY_WITH_TIMEOUT(after.document.isOpen(), 20'000);
        QVERIFY(after.waitUntilIdle());
        QVERIFY2(!after.message().contains("left out"), qPrintable(after.message()));
        QVERIFY(after.document.measured() == nullptr);
        QCOMPARE(after.document.snapshot().measured.size(), 2U);
        JobOptions options = after.document.options();
        options.problem.precision = Precision::as_given;
        after.document.setOptions(options);
        QVERIFY(after.waitUntilIdle());
        QCOMPARE(runs(after)->currentText(), QStringLiteral("Benchmark 1"));
    }

    void thePlacementOfARunCanBeShown() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        const QString file = trace("run.json", 2);
        shown.document.moveOps({shown.op(kSlow)}, 1);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.dropFile(file) && shown.waitUntilIdle());
        QCOMPARE(shown.document.measured()->all.elsewhere, 1U);
        QVERIFY(shown.window.findChild<QLabel*>("measuredStep")
                    ->text()
                    .contains("1 op ran on another device than on screen"));
        test::pressInMenu(shown, shown.action("Show its placement"));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.deviceOf(kSlow), 0);
        QCOMPARE(shown.document.measured()->all.elsewhere, 0U);
        // Its op times can be used for the simulation.
        test::pressInMenu(shown, shown.action("Use op times of this trace"));
        auto* dialog = shown.window.findChild<SimulationDialog*>();
        QVERIFY(dialog != nullptr && QTest::qWaitForWindowExposed(dialog));
        QTest::keyClick(dialog, Qt::Key_Escape);
    }

    void whatABenchmarkMeasuresIsShownTheSame() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        MeasuredRun run;
        run.name = "benchmark of 20 steps";
        for (const Span& span : shown.document.timeline()->trace.spans) run.trace.spans.push_back(span);
        run.step_times_s = {shown.stepTime(), shown.stepTime()};
        shown.document.addMeasured(run);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(runs(shown)->currentText(), QStringLiteral("benchmark of 20 steps"));
        QCOMPARE(shown.document.measured()->all.typical_factor, 1.0);
        // It is in no file.
        QVERIFY(!shown.action("Use op times of this trace")->isEnabled());
        QVERIFY(!shown.action("Show its placement")->isEnabled());
    }

    void theChoiceOfARunFollowsTheMachine() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        for (const char* name : {"first", "second", "third"}) {
            addRun(shown, name);
            // A new run is chosen.
            QCOMPARE(runs(shown)->currentText(), QString(name));
        }
        runs(shown)->setCurrentIndex(2);
        QCOMPARE(runs(shown)->currentText(), QStringLiteral("second"));
        const int chosen = shown.window.measuredPanel()->chosenRun();
        shown.document.setMachine(m_place->write("three.json", test::uniform_machine(3)));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(runs(shown)->count(), 4);
        QCOMPARE(runs(shown)->currentText(), QStringLiteral("second"));
        QCOMPARE(shown.window.measuredPanel()->chosenRun(), chosen);
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(runs(shown)->currentText(), QStringLiteral("second"));
    }

    void anOpenListStaysWhileSimulationsFollow() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        for (const char* name : {"first", "second"}) addRun(shown, name);
        auto* devices = shown.window.findChild<QTreeWidget*>("measuredDevices");
        QSignalSpy removed(runs(shown)->model(), &QAbstractItemModel::rowsRemoved);
        QSignalSpy rebuilt(devices->model(), &QAbstractItemModel::rowsInserted);
        const auto before = shown.document.measured();
        shown.document.moveOps({shown.op(kSlow)}, 1);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.measured() != before);
        QCOMPARE(removed.count() + rebuilt.count(), 0);
    }

    void aRunIsHeldAgainstItsOwnPlacement() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        const double onOne_s = shown.stepTime();
        addRun(shown, "on one", 2);
        auto* step = shown.window.findChild<QLabel*>("measuredStep");
        auto* devices = shown.window.findChild<QTreeWidget*>("measuredDevices");
        const auto text = [&] { return step->text().replace(QChar(QChar::Nbsp), QLatin1Char(' ')); };
        QVERIFY2(!text().contains("on screen"), qPrintable(text()));
        const QString busy = devices->topLevelItem(0)->text(1);
        for (const char* op : {"branch0", "branch1", "branch2"}) shown.document.moveOps({shown.op(op)}, 1);
        QVERIFY(shown.waitUntilIdle());
        const double onTwo_s = shown.stepTime();
        QVERIFY(onTwo_s != onOne_s);
        QVERIFY2(text().contains("Step: simulated " + secondsText(onOne_s) + ", measured " +
                                 secondsText(2 * onOne_s) + " (2.00 ×)"),
                 qPrintable(text()));
        QVERIFY2(text().contains("Simulated on screen: " + secondsText(onTwo_s)), qPrintable(text()));
        QCOMPARE(devices->topLevelItem(0)->text(1), busy);
        // The mean step of two placements says nothing.
        addRun(shown, "on two", 2);
        runs(shown)->setCurrentIndex(0);
        QVERIFY2(!text().contains("Step: ") && text().contains("several placements"), qPrintable(text()));
        QVERIFY(devices->isHidden());
        runs(shown)->setCurrentIndex(2);
        QVERIFY2(text().contains("Step: ") && !text().contains("on screen"), qPrintable(text()));
        QVERIFY(!devices->isHidden());
    }

    void measuredMemoryIsShown() {
        Shown shown;
        shown.window.resize(1400, 900);
        QVERIFY(shown.open(m_network, m_machine));
        auto* devices = shown.window.findChild<QTreeWidget*>("measuredDevices");
        addRun(shown, "without", 1);
        QVERIFY(devices->topLevelItem(0)->child(0)->isHidden());
        addRun(shown, "with", 3, {2e9, 0});
        const QTreeWidgetItem* peak = devices->topLevelItem(0)->child(0);
        QVERIFY(!peak->isHidden());
        QCOMPARE(peak->text(1), bytesText(shown.document.timeline()->outcome.peak_bytes[0]));
        QCOMPARE(peak->text(2), bytesText(2e9));
        QCOMPARE(devices->topLevelItem(1)->child(0)->text(2), QStringLiteral("–"));
        TimelineView* timeline = shown.window.timelineView();
        const int left = 5, top = static_cast<int>(timeline->laneRect(0).top()) + 8;
        const QString sums = toolTipAt(timeline, {left, top});
        QVERIFY2(sums.contains("peak memory " + bytesText(2e9)), qPrintable(sums));
        // The axis reaches to the end of the longest run; what is simulated ends before that.
        const int strip = static_cast<int>(timeline->laneRect(0).bottom()) - 5;
        const auto at = [&](double time_s) {
            return toolTipAt(timeline, {static_cast<int>(timeline->axis().toX(time_s)), strip});
        };
        const double end_s = shown.document.timeline()->outcome.total_time_s;
        const QString within = at(end_s / 2), beyond = at(2 * end_s);
        QVERIFY2(within.contains("of memory in use") && within.contains("Measured in with: at most 2"),
                 qPrintable(within));
        QVERIFY2(!beyond.contains("of memory in use") && beyond.contains("Measured in with: at most 2"),
                 qPrintable(beyond));
    }

    void aRunThatCannotBeComparedLeavesTheOthers() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        MeasuredRun broken;
        broken.name = "broken";
        broken.trace.spans = shown.document.timeline()->trace.spans;
        broken.placement = {0};
        shown.document.addMeasured(broken);
        addRun(shown, "sound");
        QVERIFY2(shown.message().startsWith("broken cannot be compared"), qPrintable(shown.message()));
        QVERIFY(shown.document.measured() != nullptr);
        QCOMPARE(shown.document.measured()->runs.size(), 1U);
        QCOMPARE(shown.document.measured()->runs[0].of.name, QStringLiteral("sound"));
    }

    void severalOpsAreSelectedInTheTable() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        OpsView* ops = shown.window.opsView();
        test::raise(ops);
        const auto row = [&](int at) { return ops->visualRect(ops->model()->index(at, 0)).center(); };
        QTest::mouseClick(ops->viewport(), Qt::LeftButton, {}, row(5));
        for (int more = 0; more < 2; ++more) QTest::keyClick(ops, Qt::Key_Up, Qt::ShiftModifier);
        QCOMPARE(shown.document.selection().size(), 3U);
        QCOMPARE(ops->currentIndex().row(), 3);
        // The row from which Shift goes on is the one that the user was on last.
        QTest::keyClick(ops, Qt::Key_Down, Qt::ShiftModifier);
        QCOMPARE(shown.document.selection(), (OpList{4, 5}));
        QCOMPARE(ops->currentIndex().row(), 4);
        QTest::mouseClick(ops->viewport(), Qt::LeftButton, Qt::ControlModifier, row(7));
        QCOMPARE(shown.document.selection(), (OpList{4, 5, 7}));
        QCOMPARE(ops->currentIndex().row(), 7);
        // What is selected elsewhere goes on from there.
        shown.document.setSelection({1});
        QCOMPARE(ops->currentIndex().row(), 1);
    }

    void allOpsMayBeSelected() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("many.json", test::wide_graph(2100)), m_machine));
        OpsView* ops = shown.window.opsView();
        test::raise(ops);
        ops->setFocus();
        QTest::keyClick(ops, Qt::Key_A, Qt::ControlModifier);
        QCOMPARE(shown.document.selection().size(), 2102U);
        QCOMPARE(ops->selectionModel()->selectedRows().size(), 2102);
    }

    void onlyWhatChangesIsTold() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        OpsView* ops = shown.window.opsView();
        test::raise(ops);
        QSignalSpy changed(ops->ops(), &QAbstractItemModel::dataChanged);
        shown.document.moveOps({shown.op(kSlow)}, 1);
        QVERIFY(shown.waitUntilIdle());
        const int row = ops->ops()->rowOf(shown.op(kSlow));
        QVERIFY(changed.count() > 0);
        for (const auto& signal : changed) {
            const auto first = signal[0].toModelIndex(), last = signal[1].toModelIndex();
            QVERIFY(first.row() == row && last.row() == row);
            QVERIFY(first.column() >= OpsModel::Device);
        }
    }

    void aSearchFillsTheTableOfOpsAFewTimesASecond() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("many.json", test::wide_graph(40)), m_machine));
        test::raise(shown.window.opsView());
        QSignalSpy simulated(&shown.document, &Document::timelineChanged);
        QSignalSpy filled(shown.window.opsView()->ops(), &QAbstractItemModel::dataChanged);
        const int id = shown.document.startSearch(test::request("random", test::kEndless));
        QTRY_VERIFY(test::running(shown) && filled.count() > 0);
        // As long as the table pauses, the screen may change as often as it likes.
        const auto first = filled.count();
        const auto fillAgain = [&] { Q_EMIT shown.document.timelineChanged(); };
        for (int times = 0; times < 50; ++times) fillAgain();
        QCOMPARE(filled.count(), first);
        shown.document.cancelRun(id);
        QVERIFY(shown.waitUntilIdle());
        // At the end the table shows what is on screen.
        const OpsModel& ops = *shown.window.opsView()->ops();
        const auto isShown = [&] {
            const std::vector<DeviceId> devices = shown.document.deviceOfOps();
            for (int row = 0; row < ops.rowCount(); ++row) {
                const Device& on = shown.document.problem()->machine->device(devices[ops.opAt(row)]);
                if (ops.index(row, OpsModel::Device).data().toString() != QString::fromStdString(on.name))
                    return false;
            }
            return true;
        };
        QTRY_VERIFY(isShown());
    }

    void readingCanBeCancelled() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        const QString file = trace("run.json", 2);
        shown.document.openTraces({file});
        QVERIFY(shown.document.isLoading());
        shown.document.cancelLoading();
        QVERIFY(!shown.document.isLoading());
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.measured() == nullptr);
        shown.document.openTraces({file});
        shown.window.close();  // must not wait for, nor trip over, what is being read
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowMeasured)
#include "tst_window_measured.moc"
