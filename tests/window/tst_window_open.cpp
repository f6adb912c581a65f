// SPDX-License-Identifier: MIT
// Opening networks and machines in the window, also bad ones and several at once.
#include <memory>

#include <QAbstractButton>
#include <QApplication>
#include <QComboBox>
#include <QFileInfo>
#include <QInputDialog>
#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>
#include <QSpinBox>
#include <QStatusBar>
#include <QTest>
#include <QTimer>
#include <QToolButton>

#include "app/window/dialogs/machine_parts_dialog.hpp"
#include "app/window/dialogs/simulation_dialog.hpp"
#include "core/graph/networks.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/onnx_models.hpp"
#include "tests/support/window.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/runs_view.hpp"
#include "widgets/start_page.hpp"

using namespace placewright;
using test::panelVisible, test::request, test::Shown;

namespace {

QComboBox* machineBox(const Shown& shown) {
    return shown.window.findChild<QComboBox*>(QStringLiteral("machine"));
}

/// State that must not change when a file is refused.
struct State {
    std::shared_ptr<const Problem> problem;
    Placement placement;
    std::shared_ptr<const GraphScene> scene;
    std::shared_ptr<const TimelineData> timeline;
    OpList selection;
    int undoSteps;
    QString machine, title;
    bool drawn;

    explicit State(Shown& shown)
        : problem(shown.document.problem()),
          placement(shown.document.placement()),
          scene(shown.document.scene()),
          timeline(shown.document.timeline()),
          selection(shown.document.selection()),
          undoSteps(shown.document.undoStack()->count()),
          machine(machineBox(shown)->currentText()),
          title(shown.window.windowTitle()),
          drawn(!shown.window.graphView()->positionOf(0).isNull()) {}
    bool operator==(const State&) const = default;
};

/// JSON with ' instead of ", which is easier to read.
QByteArray json(QByteArray text) {
    return text.replace('\'', '"');
}

}  // namespace

class TestWindowOpen : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;
    QString m_machine;  ///< three equal GPUs

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        m_machine = m_place->write("three.json", test::uniform_machine(3));
    }
    void cleanup() { m_place.reset(); }

    // --- opening ---

    void theGalleryOpensANetwork() {
        Shown shown;
        auto* page = shown.window.findChild<StartPage*>();
        QVERIFY(page->isVisible());
        for (const char* dock :
             {"devicesDock", "selectionDock", "runsDock", "curveDock", "archiveDock", "timelineDock"}) {
            QVERIFY2(!panelVisible(shown, dock), dock);
        }
        QVERIFY(!shown.action("Optimize")->isEnabled());

        QAbstractButton* card = nullptr;
        for (auto* button : page->findChildren<QAbstractButton*>()) {
            if (button->toolTip().endsWith(QLatin1String("alexnet.json"))) card = button;
        }
        QVERIFY(card);
        QTest::mouseClick(card, Qt::LeftButton);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.problem()->graph->name(), std::string("alexnet"));
        QVERIFY(!page->isVisible());
        QVERIFY(shown.window.graphView()->isVisible());
        for (const char* dock : {"devicesDock", "selectionDock", "runsDock", "timelineDock"})
            QVERIFY2(panelVisible(shown, dock), dock);
        QVERIFY(panelVisible(shown, "curveDock") || panelVisible(shown, "archiveDock"));  // tabs
        QVERIFY(shown.window.windowTitle().contains(QLatin1String("alexnet")));
        QVERIFY(shown.action("Optimize")->isEnabled());
        QVERIFY(shown.document.scene());
        QVERIFY(shown.document.bound());
        QVERIFY(shown.stepTime() > 0);
        QVERIFY(!shown.window.graphView()->positionOf(shown.op("features/conv1")).isNull());
    }

    void theMenuOpensABundledNetwork() {
        Shown shown;
        const std::string_view title = find_network("alexnet")->title;
        QAction* action = shown.action(QString::fromUtf8(title.data(), static_cast<int>(title.size())));
        QVERIFY(action);
        action->trigger();
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.isOpen());
        QCOMPARE(shown.document.problem()->graph->name(), std::string("alexnet"));
    }

    void aDroppedFileOpensAndIsRemembered() {
        const QString file = m_place->write("dropped.json", test::wide_graph());
        {
            Shown shown;
            QVERIFY(shown.dropFile(file));
            QVERIFY(shown.waitUntilIdle());
            QCOMPARE(shown.document.networkFile(), file);
            QAction* recent = shown.action("1  dropped.json");
            QVERIFY(recent);
            QVERIFY(recent->isEnabled());
        }
        Shown next;
        QAction* recent = next.action("1  dropped.json");
        QVERIFY(recent);
        recent->trigger();
        QVERIFY(next.waitUntilIdle());
        QCOMPARE(next.document.networkFile(), file);
        QVERIFY(next.message().isEmpty());
    }

    void aModelThatLeavesTheBatchSizeOpenGetsOne() {
        test::OnnxModel model;
        model.input("x", {-2, 8})
            .weight("w", {8, 8})
            .node("MatMul", {"x", "w"}, {"h"})
            .node("Mystery", {"h"}, {"y"})
            .output("y");
        *model.graph().add_value_info() = test::onnx_value("y", {-2, 8});
        const QString file = m_place->write("net.onnx", QByteArray::fromStdString(model.bytes()));
        Shown shown;
        QVERIFY(shown.dropFile(file));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.problem()->forward->batch(), std::int64_t{32});
        QCOMPARE(shown.document.options().reading.batch, std::optional<std::int64_t>(32));
        QVERIFY(shown.message().contains(QLatin1String("1 of 3 ops are estimated")));
        QVERIFY2(shown.message().endsWith(QLatin1String("Mystery: 1 op, y")), qPrintable(shown.message()));
        JobOptions options = shown.document.options();
        options.reading.batch = 4;
        shown.document.setOptions(options);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.problem()->forward->batch(), std::int64_t{4});
        QCOMPARE(shown.document.job().estimated.size(), 1u);
    }

    void anOpenExtentIsAskedFor() {
        test::OnnxModel model;
        model.input("tokens", {-2, -3}).node("Relu", {"tokens"}, {"y"}).output("y");
        *model.graph().mutable_output(0) = test::onnx_value("y", {-2, -3});
        const QString file = m_place->write("net.onnx", QByteArray::fromStdString(model.bytes()));
        Shown shown;
        QStringList asked;
        int answer = 0;  // no answer
        QTimer timer;
        connect(&timer, &QTimer::timeout, [&] {
            auto* const dialog = qobject_cast<QInputDialog*>(QApplication::activeModalWidget());
            if (dialog == nullptr) return;
            asked << dialog->labelText();
            if (answer == 0) return dialog->reject();
            dialog->setIntValue(answer);
            dialog->accept();
        });
        timer.start(20);
        QVERIFY(shown.dropFile(file));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(!shown.document.isOpen());
        QVERIFY2(asked.value(0).contains("\"sequence\""), qPrintable(asked.value(0)));

        answer = 5;
        QVERIFY(shown.dropFile(file));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(asked.size(), 2);
        QVERIFY(shown.document.isOpen());
        const Op& op = shown.document.problem()->forward->op(shown.op("y"));
        QCOMPARE(op.outputs[0].bytes, std::int64_t{4 * 32 * 5});
        // Another batch size does not trigger the question again.
        JobOptions options = shown.document.options();
        options.reading.batch = 4;
        shown.document.setOptions(options);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.problem()->forward->op(shown.op("y")).outputs[0].bytes,
                 std::int64_t{4 * 4 * 5});
        QCOMPARE(asked.size(), 2);
    }

    void onlyFilesCanBeDropped() {
        Shown shown;
        QMimeData text;
        text.setText(QStringLiteral("no file"));
        QDragEnterEvent enter(QPoint(50, 50), Qt::CopyAction, &text, Qt::LeftButton, Qt::NoModifier);
        enter.ignore();
        QApplication::sendEvent(&shown.window, &enter);
        QVERIFY(!enter.isAccepted());

        QVERIFY(shown.drop(QUrl("https://example.org/network.json")));
        QVERIFY(shown.message().contains(QLatin1String("on this computer")));
        QVERIFY(!shown.document.isOpen());
    }

    void ofSeveralDroppedFilesTheNetworkIsOpened() {
        const QString network = m_place->write("wide.json", test::wide_graph());
        Shown shown;
        QVERIFY(shown.drop({QUrl::fromLocalFile(m_machine), QUrl("https://example.org/other.json"),
                            QUrl::fromLocalFile(network)}));
        const QString message = shown.message();
        QVERIFY2(message.contains(QLatin1String("Only wide.json is opened")), qPrintable(message));
        QVERIFY2(message.contains(QFileInfo(m_machine).fileName()) &&
                     message.contains(QLatin1String("https://example.org/other.json")),
                 qPrintable(message));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.networkFile(), network);
    }

    void filesOfWeightsAreKnownByTheirNames() {
        const QString index =
            m_place->write("model.safetensors.INDEX.json", QByteArray(R"({"weight_map": {}})"));
        Shown shown;
        QVERIFY(shown.dropFile(index));
        QVERIFY2(shown.message().contains(QLatin1String("open their network first")),
                 qPrintable(shown.message()));
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), m_machine));
        QVERIFY(shown.dropFile(index));
        auto* dialog = shown.window.findChild<SimulationDialog*>();
        QVERIFY(dialog != nullptr);
        QVERIFY(shown.waitUntilIdle());
        test::leave(shown, dialog, false);
    }

    void aDroppedPlacementIsShownAndUndone() {
        const QString network = m_place->write("wide.json", test::wide_graph());
        const QString file = m_place->file("spread.json");
        Shown shown;
        QVERIFY(shown.open(network, m_machine));
        shown.document.moveOps({shown.op("branch3")}, 2);
        QVERIFY(shown.waitUntilIdle());
        const Placement moved = shown.document.placement();
        shown.document.exportPlacement(file);
        QCOMPARE(read_placement(file.toStdString(), *shown.document.problem()), moved);

        shown.document.undoStack()->undo();
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.placement() != moved);
        QVERIFY(shown.dropFile(file));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.placement(), moved);
        QCOMPARE(shown.stepTime(), test::simulated(shown.document, moved));
        shown.document.undoStack()->undo();
        QVERIFY(shown.document.placement() != moved);
    }

    // --- files that cannot be opened ---

    void badFilesLeaveAllAsItWas_data() {
        QTest::addColumn<QByteArray>("content");
        QTest::addColumn<QString>("words");
        const auto file = [](const QByteArray& ops) -> QByteArray {
            return json(
                "{'format': 'placewright.graph', 'version': 1, 'name': 'bad', 'batch': 1, 'training': "
                "'none', 'ops': [" +
                ops + "]}");
        };
        const auto op = [](const QByteArray& name, const QByteArray& inputs,
                           const QByteArray& flops) -> QByteArray {
            return "{'name': '" + name + "', 'kind': 'relu', 'inputs': [" + inputs +
                   "], 'outputs': [{'bytes': 4}], 'parameter_bytes': 0, 'flops': " + flops + "}";
        };
        QTest::newRow("truncated") << file(op("a", "", "1")).chopped(9) << QString();
        QTest::newRow("wrong type") << file(op("a", "", "'many'")) << "flops";
        QTest::newRow("cycle") << file(op("a", "'b'", "1") + "," + op("b", "'a'", "1")) << "cycle";
        QTest::newRow("duplicate") << file(op("twin", "", "1") + "," + op("twin", "", "1")) << "twin";
        QTest::newRow("NaN") << file(op("a", "", "NaN")) << QString();
        QTest::newRow("infinite") << file(op("a", "", "1e999")) << QString();
        QTest::newRow("no ops") << file({}) << QString();
        QTest::newRow("empty") << QByteArray() << QString();
        QTest::newRow("binary") << QByteArray(
                                       "\x7f"
                                       "ELF\x02\x01\x01\0\xff\xfe\x80",
                                       11)
                                << QString();
        QTest::newRow("another format") << json("{'format': 'something.else', 'version': 1}") << QString();
        QTest::newRow("placement of other ops")
            << json("{'format': 'placewright.placement', 'version': 1, 'placement': {'x': 'gpu:0'}}")
            << QString();
        QTest::newRow("machine without devices")
            << json(
                   "{'format': 'placewright.machine', 'version': 1, 'name': 'm', 'devices': [], 'channels': "
                   "[], 'routes': []}")
            << "device";
        QTest::newRow("100 MB of zeros") << QByteArray() << QString();
        QTest::newRow("missing") << QByteArray() << QString();
        QTest::newRow("folder") << QByteArray() << QString();
    }
    void badFilesLeaveAllAsItWas() {
        QFETCH(QByteArray, content);
        QFETCH(QString, words);
        const QString which = QString::fromLatin1(QTest::currentDataTag());
        QString bad = m_place->file("bad file.json");
        if (which == QLatin1String("100 MB of zeros")) {
            QFile file(m_place->write("bad file.json", QByteArray()));
            QVERIFY(file.resize(100'000'000));
        } else if (which == QLatin1String("folder")) {
            QVERIFY(QDir().mkdir(bad));
        } else if (which != QLatin1String("missing")) {
            bad = m_place->write("bad file.json", content);
        }
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), m_machine));
        shown.document.setSelection({shown.op("branch1")});
        shown.document.moveOps({shown.op("branch1")}, 1);
        QVERIFY(shown.waitUntilIdle());
        const State before(shown);

        QVERIFY(shown.dropFile(bad));
        QTRY_VERIFY_WITH_TIMEOUT(!shown.document.isBusy(), 60'000);
        QVERIFY(shown.message().contains(QLatin1String("bad file.json")));
        QVERIFY2(shown.message().contains(words), qPrintable(shown.message()));
        QVERIFY(!shown.message().contains(QLatin1Char('\n')));
        QVERIFY(State(shown) == before);
        QVERIFY(shown.window.graphView()->isVisible());

        // The window still works.
        shown.document.undoStack()->undo();
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.placement() != before.placement);
    }

    void aBadFileLeavesTheStartPage() {
        Shown shown;
        QVERIFY(shown.dropFile(m_place->write("broken.json", QByteArray("{"))));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.message().contains(QLatin1String("broken.json")));
        QVERIFY(!shown.document.isOpen());
        QVERIFY(shown.window.findChild<StartPage*>()->isVisible());
        // The message disappears when the next file is opened.
        QVERIFY(shown.dropFile(m_place->write("wide.json", test::wide_graph())));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.isOpen());
        QVERIFY(shown.message().isEmpty());
    }

    // --- concurrent operations ---

    void theLatestFileWins() {
        const QString slow = m_place->write("slow.json", test::chain(2000)),
                      quick = m_place->write("quick.json", test::wide_graph());
        Shown shown;
        QSignalSpy changes(&shown.document, &Document::problemChanged);
        shown.document.openNetwork(slow);
        shown.document.openNetwork(quick);
        QVERIFY(shown.document.isLoading());
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.networkFile(), quick);
        QCOMPARE(changes.size(), 1);
        QCOMPARE(shown.document.scene()->nodes.size(), std::size_t{10});

        // The reverse order, while the first network is being laid out.
        shown.document.openNetwork(slow);
        QTRY_COMPARE_WITH_TIMEOUT(shown.document.networkFile(), slow, 60'000);
        shown.document.openNetwork(quick);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.networkFile(), quick);
        QCOMPARE(shown.document.scene()->nodes.size(), std::size_t{10});
        QCOMPARE(shown.document.timeline()->problem, shown.document.problem());
    }

    void cancelKeepsWhatIsOpen() {
        const QString wide = m_place->write("wide.json", test::wide_graph()),
                      slow = m_place->write("slow.json", test::chain(2000));
        Shown shown;
        QVERIFY(shown.open(wide, m_machine));
        const State before(shown);
        auto* cancel = shown.window.statusBar()->findChild<QToolButton*>("cancelLoading");
        QCOMPARE(cancel->text(), QStringLiteral("Cancel loading"));
        QVERIFY(!cancel->isVisible());
        shown.document.openNetwork(slow);
        QVERIFY(cancel->isVisible());
        QTest::mouseClick(cancel, Qt::LeftButton);
        QVERIFY(!cancel->isVisible());
        QVERIFY(!shown.document.isLoading());
        QTest::qWait(300);  // pending results would have arrived
        QVERIFY(State(shown) == before);
        QVERIFY(shown.message().isEmpty());
    }

    void aCancelledLayoutLeavesAllButTheDrawing() {
        const QString slow = m_place->write("slow.json", test::chain(2000));
        Shown shown;
        connect(&shown.document, &Document::problemChanged, &shown.window,
                [&] { QTimer::singleShot(0, &shown.window, [&] { shown.document.cancelLoading(); }); });
        QVERIFY(shown.open(slow, m_machine));
        QVERIFY(!shown.document.scene());
        QVERIFY(shown.window.graphView()->positionOf(0).isNull());
        const double single = shown.stepTime();
        QVERIFY(single > 0);
        QTest::mouseClick(shown.window.graphView(), Qt::LeftButton);
        shown.document.moveOps({0}, 1);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.stepTime() != single);
    }

    void aMachineChosenWhileANetworkLoadsIsUsedForIt() {
        const QString wide = m_place->write("wide.json", test::wide_graph()),
                      other = m_place->write("other.json", test::wide_graph(5));
        Shown shown;
        QVERIFY(shown.open(wide));
        shown.document.openNetwork(other);
        shown.document.setMachine(m_machine);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.networkFile(), other);
        QCOMPARE(shown.document.problem()->forward->size(), std::size_t{7});
        QCOMPARE(shown.document.machineFile(), m_machine);
        QCOMPARE(shown.document.problem()->machine->name(), std::string("uniform"));
        QCOMPARE(machineBox(shown)->currentText(), QStringLiteral("uniform"));
    }

    // --- machines ---

    void anotherMachineKeepsNetworkAndSelection() {
        Shown shown;
        QVERIFY(shown.open("alexnet"));
        const auto problem = shown.document.problem();
        QComboBox* box = machineBox(shown);
        QCOMPARE(box->currentData().toString(), QStringLiteral("4x-v100-nvlink"));
        const OpList selection{shown.op("features/conv1")};
        shown.document.setSelection(selection);
        shown.document.startSearch(request("expert", 10));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.window.runsView()->runs()->rowCount(), 1);

        box->setFocus();
        // The first entry is this computer.
        QTest::keyClick(box, Qt::Key_Home);
        QTest::keyClick(box, Qt::Key_Down);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.machineFile(), QStringLiteral("1x-v100"));
        QVERIFY(shown.document.problem() != problem);
        QCOMPARE(shown.document.problem()->devices, std::uint32_t{2});
        QCOMPARE(shown.document.problem()->forward, problem->forward);
        QCOMPARE(shown.document.networkFile(), QStringLiteral("alexnet"));
        QCOMPARE(shown.document.selection(), selection);
        QCOMPARE(shown.window.graphView()->selection(), selection);
        // The run stays in the list and names its machine.
        QCOMPARE(shown.window.runsView()->runs()->rowCount(), 1);
        QCOMPARE(shown.document.runRows().front().elsewhere, QStringLiteral("4x V100, NVLink"));
        QCOMPARE(shown.document.timeline()->problem, shown.document.problem());
        QVERIFY(!shown.window.graphView()->positionOf(selection.front()).isNull());

        while (box->currentData().toString() != QStringLiteral("4x-v100-nvlink") &&
               box->currentIndex() + 1 < box->count())
            QTest::keyClick(box, Qt::Key_Down);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.machineFile(), QStringLiteral("4x-v100-nvlink"));
        QCOMPARE(shown.window.runsView()->runs()->rowCount(), 1);
        QVERIFY(shown.document.runRows().front().elsewhere.isEmpty());

        // A change of the machine is an undo step.
        QCOMPARE(shown.document.undoStack()->count(), 2);
        shown.document.undoStack()->undo();
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.machineFile(), QStringLiteral("1x-v100"));
        QCOMPARE(box->currentData().toString(), QStringLiteral("1x-v100"));
        shown.document.undoStack()->undo();
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.problem(), problem);
    }

    void theSameMachineAgainChangesNothing() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph())));
        shown.document.moveOps({shown.op("branch1")}, 2);
        QVERIFY(shown.waitUntilIdle());
        const State before(shown);
        QComboBox* box = machineBox(shown);
        Q_EMIT box->activated(box->currentIndex());
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(State(shown) == before);
    }

    void aMachineIsMadeOfParts() {
        Shown shown;
        QVERIFY(shown.open("alexnet"));
        QComboBox* box = machineBox(shown);
        const QString before = box->currentText();
        QString told, machine, unknown;
        const auto askParts = [&](bool accept) {
            QTimer::singleShot(0, &shown.window, [&, accept] {
                auto* dialog = qobject_cast<MachinePartsDialog*>(QApplication::activeModalWidget());
                if (dialog == nullptr) return;
                auto* count = dialog->findChild<QSpinBox*>(QStringLiteral("firstGpusCount"));
                count->setFocus();
                QTest::keyClick(count, Qt::Key_Up);
                auto* model = dialog->findChild<QComboBox*>(QStringLiteral("firstGpusModel"));
                model->lineEdit()->selectAll();
                QTest::keyClicks(model->lineEdit(), QStringLiteral("NVIDIA L"));
                unknown = dialog->findChild<QLabel*>(QStringLiteral("result"))->text();
                QTest::keyClicks(model->lineEdit(), QStringLiteral("4"));
                auto* link = dialog->findChild<QComboBox*>(QStringLiteral("link"));
                link->setCurrentIndex(link->findText(QStringLiteral("PCIe 4.0 x8")));
                told = dialog->findChild<QLabel*>(QStringLiteral("result"))->text();
                machine = dialog->machine();
                if (accept) {
                    dialog->accept();
                } else {
                    dialog->reject();
                }
            });
            box->setCurrentIndex(box->count() - 1);
            Q_EMIT box->activated(box->count() - 1);
        };
        askParts(false);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(box->currentText(), before);
        askParts(true);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(machine, QStringLiteral("3x NVIDIA L4, PCIe 4.0 x8, Ryzen 9 5950X"));
        QCOMPARE(unknown, QStringLiteral("Choose a model of GPU from the list."));
        QVERIFY2(told.startsWith(QStringLiteral("72.5 GB of GPU memory; each GPU sends 15.8 GB per second")),
                 qPrintable(told));
        QCOMPARE(shown.document.machineFile(), machine);
        QCOMPARE(shown.document.problem()->devices, std::uint32_t{4});
        QCOMPARE(box->currentText(), machine);
        // The entry that asks stays the last one.
        QVERIFY(box->itemData(box->count() - 1).toString().isEmpty());
        QVERIFY(shown.message().isEmpty());
    }

    void aMachineFileFromOutsideIsUsed() {
        Shown shown;
        // On the start page the machine applies to the next network.
        QVERIFY(shown.dropFile(m_machine));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(!shown.document.isOpen());
        QCOMPARE(machineBox(shown)->currentText(), QStringLiteral("three"));
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph())));
        QCOMPARE(shown.document.problem()->machine->name(), std::string("uniform"));

        QVERIFY(shown.dropFile(m_place->write("two.json", test::uniform_machine(2))));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.problem()->devices, std::uint32_t{2});
        QVERIFY(shown.message().isEmpty());
    }

    void aBrokenMachineFileOnTheStartPageIsRefused() {
        Shown shown;
        const QString before = machineBox(shown)->currentText();
        QVERIFY(shown.dropFile(
            m_place->write("broken machine.json", json("{'format': 'placewright.machine', 'version': 1}"))));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.message().contains(QLatin1String("broken machine.json")));
        QCOMPARE(machineBox(shown)->currentText(), before);
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph())));
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowOpen)
#include "tst_window_open.moc"
