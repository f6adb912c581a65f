// SPDX-License-Identifier: MIT
// Placing by hand, selecting and finding ops, with a real mouse and keyboard.
#include <memory>

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QSignalSpy>
#include <QStatusBar>
#include <QTest>
#include <QTextBrowser>
#include <QWheelEvent>

#include "tests/support/graphs.hpp"
#include "tests/support/menus.hpp"
#include "tests/support/window.hpp"
#include "widgets/device_panel.hpp"
#include "widgets/find_bar.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/message_bar.hpp"
#include "widgets/selection_panel.hpp"

using namespace placewright;
using test::Shown;

namespace {

/// Ops "a" to "f", each with its name, kind and scope.
Graph named_graph() {
    GraphBuilder builder("named", 1, Training::none);
    const auto add = [&](const char* name, const char* kind, const char* scope,
                         std::vector<std::string> inputs) {
        Op op;
        op.name = name;
        op.kind = kind;
        op.scope = scope;
        op.flops = 1e9;
        op.outputs = {make_tensor({100})};
        builder.add(std::move(op), std::move(inputs));
    };
    add("stem/conv1", "conv2d", "stem", {});
    add("stem/relu", "relu", "stem", {"stem/conv1"});
    add("body/conv2", "conv2d", "body", {"stem/relu"});
    add("body/conv3", "conv2d", "body", {"body/conv2"});
    add("head/linear", "linear", "head/classifier", {"body/conv3"});
    return builder.build();
}

QString selectionText(const Shown& shown) {
    return shown.window.findChild<SelectionPanel*>()->findChild<QTextBrowser*>()->toPlainText();
}

/// Span of the op on its device in the timeline.
std::uint32_t spanOf(const Shown& shown, OpId op) {
    const auto& timeline = *shown.document.timeline();
    for (const std::uint32_t span : timeline.op_spans[op]) {
        if (timeline.trace.spans[span].kind == Span::Kind::op) return span;
    }
    qFatal("the op has no span");
}

}  // namespace

class TestWindowEdit : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;
    QString m_machine;  ///< three equal GPUs
    QString m_wide;

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        m_machine = m_place->write("three.json", test::uniform_machine(3));
        m_wide = m_place->write("wide.json", test::wide_graph());
    }
    void cleanup() { m_place.reset(); }

    // --- drag and drop ---

    void anOpIsDraggedToADevice_data() {
        QTest::addColumn<bool>("toTimeline");
        QTest::newRow("row of the device panel") << false;
        QTest::newRow("lane of the timeline") << true;
    }
    void anOpIsDraggedToADevice() {
        QFETCH(bool, toTimeline);
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        const DeviceId before = shown.deviceOf("branch2");
        const DeviceId target = before == 2 ? 1 : 2;
        const Placement placementBefore = shown.document.placement();
        Placement expected = placementBefore;
        expected[shown.document.problem()->grouping.group_of[shown.op("branch2")]] = target;

        QSignalSpy previews(&shown.document, &Document::previewReady);
        QWidget* to =
            toTimeline ? static_cast<QWidget*>(shown.window.timelineView()) : shown.window.devicePanel();
        const QPoint at = toTimeline ? shown.window.timelineView()->laneRect(target).center().toPoint()
                                     : shown.rowOf(target);
        shown.drag(shown.window.graphView(), shown.opInGraph("branch2"), to, at, false);
        QTRY_COMPARE_WITH_TIMEOUT(previews.size(), 1, 60'000);
        const auto told = previews.first().first().value<DropPreviews>();
        QCOMPARE(told.size(), std::size_t{3});
        QVERIFY(told[target].possible);
        QVERIFY(told[target].fits);
        QCOMPARE(told[target].step_time_s, test::simulated(shown.document, expected));
        QCOMPARE(told[target].change_s, test::simulated(shown.document, expected) -
                                            test::simulated(shown.document, placementBefore));
        QCOMPARE(told[before].change_s, 0.0);
        QCOMPARE(shown.document.placement(), placementBefore);  // nothing has been dropped yet
        QCOMPARE(shown.document.selection(), OpList{shown.op("branch2")});

        QSignalSpy simulated(&shown.document, &Document::timelineChanged);
        QTest::mouseRelease(shown.window.graphView(), Qt::LeftButton, {},
                            shown.window.graphView()->mapFromGlobal(to->mapToGlobal(at)));
        QCOMPARE(shown.document.placement(), expected);
        QCOMPARE(shown.deviceOf("branch2"), target);
        QTRY_COMPARE_WITH_TIMEOUT(simulated.size(), 1, 60'000);
        QCOMPARE(shown.stepTime(), test::simulated(shown.document, expected));

        // Undo restores the old timeline at once, and redo the new one.
        QVERIFY(shown.action("Undo Move branch2 to gpu:" + QString::number(target)));
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(shown.document.placement(), placementBefore);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.stepTime(), test::simulated(shown.document, placementBefore));
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
        QCOMPARE(shown.document.placement(), expected);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.stepTime(), test::simulated(shown.document, expected));
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QTest::keyClick(&shown.window, Qt::Key_Y, Qt::ControlModifier);
        QCOMPARE(shown.document.placement(), expected);
    }

    /// The wheel moves the rows of the panel under a pointer that stays.
    void whatIsShownDuringADragFollowsTheWheel() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_place->write("forty.json", test::uniform_machine(40))));
        DevicePanel* panel = shown.window.devicePanel();
        const QPoint row = shown.rowOf(1), global = panel->mapToGlobal(row);
        shown.drag(shown.window.graphView(), shown.opInGraph("branch2"), panel, row, false);
        const auto shownTarget = [] {
            for (const QWidget* widget : QApplication::topLevelWidgets()) {
                const auto* label = qobject_cast<const QLabel*>(widget);
                if (label == nullptr || !label->isVisible()) continue;
                if (const auto at = label->text().indexOf(QStringLiteral(" → gpu:")); at >= 0)
                    return label->text().mid(at + 3).section(QLatin1Char('\n'), 0, 0);
            }
            return QString();
        };
        const DeviceId before = panel->deviceAt(global).value_or(0);
        QCOMPARE(shownTarget(), QStringLiteral("gpu:%1").arg(before));
        QWheelEvent wheel(row, global, {}, {0, -240}, Qt::LeftButton, {}, Qt::NoScrollPhase, false);
        // Qt passes only a wheel event of the system on to the viewport that scrolls.
        QCoreApplication::sendEvent(panel->parentWidget(), &wheel);
        const std::optional<DeviceId> under = panel->deviceAt(global);
        QVERIFY(under && *under > before);
        QCOMPARE(shownTarget(), QStringLiteral("gpu:%1").arg(*under));
        QTest::mouseRelease(shown.window.graphView(), Qt::LeftButton, {},
                            shown.window.graphView()->mapFromGlobal(global));
        QCOMPARE(shown.deviceOf("branch2"), *under);
    }

    void anOpIsDraggedFromTheTimeline() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        TimelineView* timeline = shown.window.timelineView();
        const OpId op = shown.op("branch4");
        const DeviceId target = shown.deviceOf("branch4") == 2 ? 1 : 2;
        const QRectF span = timeline->spanRect(spanOf(shown, op));
        const QPoint lane(span.center().toPoint().x(), timeline->laneRect(target).center().toPoint().y());
        QVERIFY(timeline->rect().contains(lane));
        shown.drag(timeline, span.center().toPoint(), timeline, lane);
        QCOMPARE(shown.deviceOf("branch4"), target);
        QCOMPARE(shown.document.selection(), OpList{op});
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.undoStack()->count(), 1);
    }

    void aDragReachesDevicesOutOfSight_data() {
        QTest::addColumn<bool>("toTimeline");
        QTest::newRow("rows of the device panel") << false;
        QTest::newRow("lanes of the timeline") << true;
    }
    void aDragReachesDevicesOutOfSight() {
        QFETCH(bool, toTimeline);
        const auto devices = static_cast<DeviceId>(toTimeline ? 16 : 40);
        Shown shown;
        QVERIFY(shown.open(m_wide, m_place->write("many.json", test::uniform_machine(devices))));
        QWidget* panel = shown.window.devicePanel();
        QWidget* to = toTimeline ? static_cast<QWidget*>(shown.window.timelineView()) : panel->parentWidget();
        const auto deviceUnder = [&](QPoint position) {
            return toTimeline ? shown.window.timelineView()->deviceAt(to->mapToGlobal(position))
                              : shown.window.devicePanel()->deviceAt(to->mapToGlobal(position));
        };
        const QPoint edge(to->width() / 2, to->height() - 6);
        QVERIFY(deviceUnder(edge).value_or(0) + 1 < devices);
        GraphView* graph = shown.window.graphView();
        shown.drag(graph, shown.opInGraph("branch2"), to, edge, false);
        // The pointer rests; the rows scroll under it.
        if (toTimeline) {
            QTRY_VERIFY(shown.window.timelineView()->laneRect(static_cast<DeviceId>(devices - 1)).bottom() <=
                        to->height());
        } else {
            QTRY_COMPARE(deviceUnder(edge).value_or(0) + 1, int{devices});
        }
        // The channels are below the last lane, where a drop moves nothing.
        const DeviceId expected = deviceUnder(edge).value_or(shown.deviceOf("branch2"));
        const bool onDevice = deviceUnder(edge).has_value();
        const auto* ghost = [] {
            for (QWidget* widget : QApplication::topLevelWidgets()) {
                if (auto* label = qobject_cast<QLabel*>(widget); label && label->isVisible()) return label;
            }
            return static_cast<QLabel*>(nullptr);
        }();
        QVERIFY(ghost);
        if (onDevice) {
            QTRY_VERIFY(ghost->text().contains(QString("gpu:%1").arg(expected)));
            QTRY_VERIFY2(ghost->text().contains("memory"), qPrintable(ghost->text()));
        }
        QTest::mouseRelease(graph, Qt::LeftButton, {}, graph->mapFromGlobal(to->mapToGlobal(edge)));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.deviceOf("branch2"), expected);
    }

    void escapeClearsTheSelectionFromAnyPanel() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        for (QWidget* focused : std::initializer_list<QWidget*>{
                 shown.window.devicePanel(), shown.window.timelineView(), shown.window.graphView(),
                 shown.window.findChild<QTextBrowser*>(), shown.window.findChild<QComboBox*>()}) {
            shown.document.setSelection({shown.op("branch1")});
            focused->setFocus();
            QTest::keyClick(focused, Qt::Key_Escape);
            QVERIFY2(shown.document.selection().empty(), focused->metaObject()->className());
        }
    }

    void alikeOpsAreSelected() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("named.json", named_graph()), m_machine));
        shown.document.setSelection({shown.op("stem/conv1")});
        test::pressInMenu(shown, shown.action("Select ops of the same kind"));
        QCOMPARE(shown.document.selection(),
                 (OpList{shown.op("stem/conv1"), shown.op("body/conv2"), shown.op("body/conv3")}));
        shown.document.setSelection({shown.op("stem/relu")});
        test::pressInMenu(shown, shown.action("Select the module"));
        QCOMPARE(shown.document.selection(), (OpList{shown.op("stem/conv1"), shown.op("stem/relu")}));
        QTest::keyClick(&shown.window, Qt::Key_C, Qt::ControlModifier);
        QCOMPARE(QGuiApplication::clipboard()->text(), QStringLiteral("stem/conv1\nstem/relu"));
    }

    void theMenuSaysWhatEachMoveWouldGive() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.document.setSelection({shown.op("branch2")});
        Placement moved = shown.document.placement();
        const DeviceId target = shown.deviceOf("branch2") == 2 ? 1 : 2;
        moved[shown.document.problem()->grouping.group_of[shown.op("branch2")]] = target;
        const QString expected = secondsText(test::simulated(shown.document, moved));
        QMenu* menu = nullptr;
        for (QMenu* some : shown.window.findChildren<QMenu*>()) {
            if (some->title().remove('&') == "Move selection to") menu = some;
        }
        QVERIFY(menu);
        menu->popup(QPoint(100, 100));
        QCOMPARE(menu->actions().size(), 3);
        QTRY_VERIFY(menu->actions().at(target)->text().contains(expected));
        test::clickInMenu(menu, menu->actions().at(target));
        QCOMPARE(shown.deviceOf("branch2"), target);
        QVERIFY(!menu->isVisible());
    }

    void escapeCancelsADrag() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        const Placement before = shown.document.placement();
        const QPoint row = shown.rowOf(2);
        GraphView* graph = shown.window.graphView();
        graph->setFocus();
        shown.drag(graph, shown.opInGraph("branch2"), shown.window.devicePanel(), row, false);
        QTest::keyClick(graph, Qt::Key_Escape);
        QTest::mouseRelease(graph, Qt::LeftButton, {},
                            graph->mapFromGlobal(shown.window.devicePanel()->mapToGlobal(row)));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.placement(), before);
        QCOMPARE(shown.document.undoStack()->count(), 0);
    }

    void aDropBesideEveryDeviceMovesNothing() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        const Placement before = shown.document.placement();
        GraphView* graph = shown.window.graphView();
        shown.drag(graph, shown.opInGraph("branch2"), graph, shown.opInGraph("sink"));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.placement(), before);
        QCOMPARE(shown.document.undoStack()->count(), 0);
    }

    void severalOpsMoveInOneStep() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        const Placement before = shown.document.placement();
        const DeviceId target = shown.deviceOf("source") == 2 ? 1 : 2;
        GraphView* graph = shown.window.graphView();
        QTest::mouseClick(graph, Qt::LeftButton, {}, shown.opInGraph("branch1"));
        QTest::mouseClick(graph, Qt::LeftButton, Qt::ControlModifier, shown.opInGraph("branch3"));
        QTest::mouseClick(graph, Qt::LeftButton, Qt::ControlModifier, shown.opInGraph("branch5"));
        QCOMPARE(shown.document.selection().size(), std::size_t{3});
        QVERIFY(selectionText(shown).contains("3 ops"));
        shown.drag(graph, shown.opInGraph("branch3"), shown.window.devicePanel(), shown.rowOf(target));
        for (const char* name : {"branch1", "branch3", "branch5"}) QCOMPARE(shown.deviceOf(name), target);
        QCOMPARE(shown.deviceOf("branch2"), before[0]);
        QCOMPARE(shown.document.selection().size(), std::size_t{3});
        QCOMPARE(shown.document.undoStack()->count(), 1);
        shown.document.undoStack()->undo();
        QCOMPARE(shown.document.placement(), before);
    }

    void aRowOfTheDevicePanelIsAllItsOps() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        const DeviceId from = shown.deviceOf("source"), target = from == 2 ? 1 : 2;
        DevicePanel* panel = shown.window.devicePanel();
        shown.drag(panel, shown.rowOf(from), panel, shown.rowOf(target));
        QCOMPARE(shown.document.placement(), Placement(shown.document.problem()->groups, target));
        QCOMPARE(shown.document.undoStack()->count(), 1);
        QCOMPARE(shown.document.selection().size(), shown.document.problem()->forward->size());
    }

    // --- keys and constraints ---

    void numberKeysMoveTheSelection() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        GraphView* graph = shown.window.graphView();
        QTest::mouseClick(graph, Qt::LeftButton, {}, shown.opInGraph("branch6"));
        for (const int number : {3, 2, 1}) {
            QTest::keyClick(graph, static_cast<Qt::Key>(Qt::Key_0 + number));
            QCOMPARE(shown.deviceOf("branch6"), static_cast<DeviceId>(number - 1));
        }
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.message().isEmpty());
        QTest::keyClick(shown.window.timelineView(), Qt::Key_2);
        QCOMPARE(shown.deviceOf("branch6"), DeviceId{1});

        const Placement before = shown.document.placement();
        QTest::keyClick(graph, Qt::Key_7);
        QVERIFY2(shown.message().contains("3 devices"), qPrintable(shown.message()));
        QVERIFY(shown.message().contains("7"));
        QCOMPARE(shown.document.placement(), before);
    }

    void constrainedOpsStayWithAMessage() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("constrained.json", test::constrained_graph()), m_machine));
        QCOMPARE(shown.deviceOf("branch0"), DeviceId{0});
        GraphView* graph = shown.window.graphView();
        QSignalSpy previews(&shown.document, &Document::previewReady);
        shown.drag(graph, shown.opInGraph("branch0"), shown.window.devicePanel(), shown.rowOf(1), false);
        QTRY_COMPARE_WITH_TIMEOUT(previews.size(), 1, 60'000);
        const auto told = previews.first().first().value<DropPreviews>();
        QVERIFY(told[0].possible);
        QVERIFY(!told[1].possible);
        QTest::mouseRelease(graph, Qt::LeftButton, {},
                            graph->mapFromGlobal(shown.window.devicePanel()->mapToGlobal(shown.rowOf(1))));
        QCOMPARE(shown.deviceOf("branch0"), DeviceId{0});
        QVERIFY2(shown.message().contains("gpu:1"), qPrintable(shown.message()));
        QCOMPARE(shown.document.undoStack()->count(), 0);

        // Of several ops, those that are allowed on the device move.
        shown.document.setSelection({shown.op("branch0"), shown.op("branch1")});
        QTest::keyClick(graph, Qt::Key_2);
        QCOMPARE(shown.deviceOf("branch0"), DeviceId{0});
        QCOMPARE(shown.deviceOf("branch1"), DeviceId{1});
        QVERIFY(shown.message().contains("1 op"));
    }

    // --- while a search runs ---

    void editingTakesTheScreenBackFromASearch() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        const Placement first = shown.document.placement();
        const double firstTime = shown.stepTime();
        RunRequest request;
        request.algorithm = "map-elites";
        request.budget.evaluations = 1'000'000'000;
        const int id = shown.document.startSearch(request);
        QTRY_VERIFY_WITH_TIMEOUT(shown.stepTime() < firstTime, 60'000);
        QVERIFY(shown.document.shownRun() != nullptr);
        const Placement found = shown.document.placement();

        shown.document.setSelection({shown.op("branch0")});
        const DeviceId target = (shown.deviceOf("branch0") + 1) % 3;
        QTest::keyClick(shown.window.graphView(), static_cast<Qt::Key>(Qt::Key_1 + target));
        const Placement edited = shown.document.placement();
        QCOMPARE(shown.deviceOf("branch0"), target);
        QVERIFY(edited != first);
        QVERIFY(shown.document.isSearching());
        QTest::qWait(300);
        QCOMPARE(shown.document.placement(), edited);  // the search no longer changes it
        QVERIFY(!shown.document.follows(*shown.document.runs().front()));

        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(shown.document.placement().size(), found.size());
        QCOMPARE(shown.document.shownRun()->id(), id);
        QVERIFY(test::simulated(shown.document, shown.document.placement()) < firstTime);
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(shown.document.placement(), first);
        QTest::keyClick(&shown.window, Qt::Key_Y, Qt::ControlModifier);
        QTest::keyClick(&shown.window, Qt::Key_Y, Qt::ControlModifier);
        QCOMPARE(shown.document.placement(), edited);
        shown.document.cancelRun(id);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.placement(), edited);
    }

    void theStepTimeIsComparedWithTheStepBefore() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), m_machine));
        const auto status = [&] { return test::statusLabel(shown, "Step time")->text(); };
        shown.document.moveOps({shown.op("branch1")}, 1);
        QVERIFY(shown.waitUntilIdle());
        shown.document.moveOps({shown.op("branch2")}, 1);
        QVERIFY(shown.waitUntilIdle());
        const QString done = status();
        QVERIFY2(done.contains(QStringLiteral("→")), qPrintable(done));
        shown.document.undoStack()->undo();
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(status() != done);
        shown.document.undoStack()->redo();
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(status(), done);
    }

    void theContextMenuOfAnOpSelectsAndMovesIt() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), m_machine));
        QTest::mouseClick(shown.window.graphView(), Qt::RightButton, {}, shown.opInGraph("branch2"));
        QCOMPARE(shown.document.selection(), OpList{shown.op("branch2")});
        QMenu* moveTo = nullptr;
        for (const QAction* action : shown.window.graphView()->actions()) {
            if (action->text().remove('&') == "Move selection to") moveTo = action->menu();
        }
        QVERIFY(moveTo);
        Q_EMIT moveTo->aboutToShow();
        const DeviceId to = shown.deviceOf("branch2") == 1 ? 2 : 1;
        moveTo->actions().at(to)->trigger();
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.deviceOf("branch2"), to);
    }

    void undoWhileASearchRunsReturnsToWhereItBegan() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.document.moveOps({shown.op("branch1")}, 1);
        QVERIFY(shown.waitUntilIdle());
        const Placement edited = shown.document.placement();
        const double editedTime = shown.stepTime();
        RunRequest request;
        request.algorithm = "map-elites";
        request.budget.evaluations = 1'000'000'000;
        shown.document.startSearch(request);
        QTRY_VERIFY_WITH_TIMEOUT(shown.stepTime() < editedTime, 60'000);
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(shown.document.placement(), edited);
        QTest::qWait(300);
        QCOMPARE(shown.document.placement(), edited);
        shown.document.cancelRun(shown.document.runs().front()->id());
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.placement(), edited);
        QTest::keyClick(&shown.window, Qt::Key_Y, Qt::ControlModifier);
        QVERIFY(shown.stepTime() < editedTime);
    }

    // --- selecting ---

    void aClickInTheGraphSelectsEverywhere() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        GraphView* graph = shown.window.graphView();
        const QImage before = shown.window.timelineView()->grab().toImage();
        QTest::mouseClick(graph, Qt::LeftButton, {}, shown.opInGraph("branch7"));
        QCOMPARE(shown.document.selection(), OpList{shown.op("branch7")});
        QVERIFY(selectionText(shown).contains("branch7"));
        QVERIFY(shown.window.timelineView()->grab().toImage() != before);
        QTest::mouseClick(graph, Qt::LeftButton, {}, QPoint(3, graph->height() - 3));
        QCOMPARE(shown.document.selection(), OpList{});
        QVERIFY(!selectionText(shown).contains("branch7"));
        QCOMPARE(shown.window.timelineView()->grab().toImage(), before);
    }

    void aClickInTheTimelineSelectsEverywhere() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        const OpId op = shown.op("branch5");
        QTest::mouseClick(shown.window.timelineView(), Qt::LeftButton, {},
                          shown.window.timelineView()->spanRect(spanOf(shown, op)).center().toPoint());
        QCOMPARE(shown.document.selection(), OpList{op});
        QCOMPARE(shown.window.graphView()->selection(), OpList{op});
        QVERIFY(selectionText(shown).contains("branch5"));
    }

    void theSelectionPanelFollowsTheDevice() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.document.setSelection({shown.op("branch5")});
        const QString before = selectionText(shown);
        shown.document.moveOps({shown.op("branch5")}, (shown.deviceOf("branch5") + 1) % 3);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(selectionText(shown) != before);
    }

    // --- finding ---

    void opsAreFoundByNameKindAndScope_data() {
        QTest::addColumn<QString>("typed");
        QTest::addColumn<QStringList>("found");
        QTest::newRow("name") << "CONV3" << QStringList{"body/conv3"};
        QTest::newRow("kind") << "conv2d" << QStringList{"stem/conv1", "body/conv2", "body/conv3"};
        QTest::newRow("scope") << "classifier" << QStringList{"head/linear"};
        QTest::newRow("nothing") << "lstm" << QStringList{};
    }
    void opsAreFoundByNameKindAndScope() {
        QFETCH(QString, typed);
        QFETCH(QStringList, found);
        Shown shown;
        QVERIFY(shown.open(m_place->write("named.json", named_graph()), m_machine));
        auto* bar = shown.window.findChild<FindBar*>();
        QVERIFY(!bar->isVisible());
        QTest::keyClick(&shown.window, Qt::Key_F, Qt::ControlModifier);
        QVERIFY(bar->isVisible());
        auto* edit = bar->findChild<QLineEdit*>();
        QTRY_VERIFY(edit->hasFocus());
        QTest::keyClicks(edit, typed);
        const auto* count = bar->findChild<QLabel*>();
        if (found.isEmpty()) {
            QTRY_COMPARE(count->text(), QStringLiteral("No matches"));
            QTest::keyClick(edit, Qt::Key_Return);
            QCOMPARE(shown.document.selection(), OpList{});
        }
        const auto shows = [&](int index) {
            QTRY_COMPARE(count->text(), QStringLiteral("%1 of %2").arg(index + 1).arg(found.size()));
            QCOMPARE(shown.document.selection(), OpList{shown.op(found[index].toUtf8().constData())});
            QVERIFY(shown.window.graphView()->rect().contains(
                shown.opInGraph(found[index].toUtf8().constData())));
        };
        for (int i = 0; i < found.size(); ++i) {
            shows(i);
            QTest::keyClick(edit, Qt::Key_Return);
        }
        if (found.size() > 1) {
            shows(0);  // wraps around at the end
            QTest::keyClick(edit, Qt::Key_Return, Qt::ShiftModifier);
            shows(static_cast<int>(found.size()) - 1);
        }
        QTest::keyClick(edit, Qt::Key_Escape);
        QVERIFY(!bar->isVisible());
        QVERIFY(shown.window.graphView()->hasFocus());
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowEdit)
#include "tst_window_edit.moc"
