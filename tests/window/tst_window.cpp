// SPDX-License-Identifier: MIT
// Opening files, machines, pictures and settings in the window.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <set>

#include <QAbstractButton>
#include <QApplication>
#include <QComboBox>
#include <QDockWidget>
#include <QDropEvent>
#include <QElapsedTimer>
#include <QFileDialog>
#include <QFileInfo>
#include <QImage>
#include <QImageReader>
#include <QInputDialog>
#include <QLineEdit>
#include <QMenu>
#include <QMessageBox>
#include <QPainter>
#include <QProgressDialog>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QStatusBar>
#include <QSvgRenderer>
#include <QTabBar>
#include <QTest>
#include <QTimer>
#include <QToolButton>

#include "app/window/dialogs/simulation_dialog.hpp"
#include "app/window/picture.hpp"
#include "app/window/picture_export.hpp"
#include "core/graph/networks.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/onnx_models.hpp"
#include "tests/support/window.hpp"
#include "widgets/archive_view.hpp"
#include "widgets/curve_plot.hpp"
#include "widgets/device_panel.hpp"
#include "widgets/distribution_view.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/runs_view.hpp"
#include "widgets/start_page.hpp"

using namespace placewright;
using test::Shown;

namespace {

#ifdef __SANITIZE_THREAD__
constexpr int kQuickMs = 60'000;  // ThreadSanitizer is slow
#else
constexpr int kQuickMs = 20'000;  // work that is not cancelled takes much longer
#endif

RunRequest request(const char* algorithm, std::uint64_t evaluations) {
    RunRequest wanted;
    wanted.algorithm = algorithm;
    wanted.budget.evaluations = evaluations;
    return wanted;
}

QComboBox* machineBox(const Shown& shown) {
    return shown.window.findChild<QComboBox*>(QStringLiteral("machine"));
}

bool panelVisible(const Shown& shown, const char* name) {
    return shown.window.findChild<QDockWidget*>(QLatin1String(name))->isVisible();
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

/// Answers each message box, and each file dialog with the next of `files`.
class Answers {
public:
    explicit Answers(QMessageBox::StandardButton answer, QStringList files = {}) : m_files(std::move(files)) {
        QObject::connect(&m_timer, &QTimer::timeout, [this, answer] {
            QWidget* modal = QApplication::activeModalWidget();
            if (auto* question = qobject_cast<QMessageBox*>(modal)) {
                m_asked << question->text();
                // Asked only once if no file is known.
                question
                    ->button(answer == QMessageBox::Save && m_files.isEmpty() ? QMessageBox::Cancel : answer)
                    ->click();
            } else if (auto* dialog = qobject_cast<QFileDialog*>(modal);
                       dialog != nullptr && !m_files.isEmpty()) {
                dialog->findChild<QLineEdit*>("fileNameEdit")->setText(m_files.takeFirst());
                QMetaObject::invokeMethod(dialog, "accept");
            }
        });
        m_timer.start(60);
    }
    const QStringList& asked() const { return m_asked; }

private:
    QTimer m_timer;
    QStringList m_files, m_asked;
};

using Paint = std::function<void(QPainter&, const QRectF&)>;

std::size_t colorsOf(const QImage& image) {
    std::set<QRgb> colors;
    for (int y = 0; y < image.height(); y += 2) {
        for (int x = 0; x < image.width(); x += 2) colors.insert(image.pixel(x, y));
    }
    return colors.size();
}

}  // namespace

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
        auto* cancel = shown.window.statusBar()->findChild<QToolButton*>();
        QCOMPARE(cancel->text(), QStringLiteral("Cancel"));
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

    void openingStopsTheSearch() {
        const QString wide = m_place->write("wide.json", test::wide_graph()),
                      other = m_place->write("other.json", test::wide_graph(5));
        Shown shown;
        QVERIFY(shown.open(wide, m_machine));
        shown.document.startSearch(request("genetic", 1'000'000'000));
        QTRY_VERIFY_WITH_TIMEOUT(shown.document.shownRun() != nullptr, 60'000);
        {
            const Answers cancel(QMessageBox::Cancel);
            QVERIFY(shown.dropFile(other));
            QTRY_COMPARE(cancel.asked().size(), 1);
            QTRY_VERIFY(!shown.document.isLoading());
            QCOMPARE(shown.document.networkFile(), wide);
            QVERIFY(!shown.document.runs().front()->isPaused());  // as before the question
            QVERIFY(shown.document.isSearching());
        }
        const Answers discard(QMessageBox::Discard);
        shown.document.openNetwork(other);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(discard.asked().size(), 1);
        QCOMPARE(shown.document.networkFile(), other);
        // Runs belong to their network, as the question said.
        QVERIFY(shown.document.runs().empty());
        QVERIFY(!shown.document.isSearching());
        QCOMPARE(shown.window.runsView()->runs()->rowCount(), 0);
        QCOMPARE(shown.document.undoStack()->count(), 0);
        QCOMPARE(shown.document.placement().size(), std::size_t{7});
        QVERIFY(shown.open(wide));
        QCOMPARE(shown.window.runsView()->runs()->rowCount(), 0);
    }

    void runsOfAnOlderFileAreNotShown() {
        const QString file = m_place->write("same.json", test::wide_graph(8));
        Shown shown;
        QVERIFY(shown.open(file, m_machine));
        const int id = shown.document.startSearch(request("expert", 10));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.window.runsView()->runs()->rowCount(), 1);
        m_place->write("same.json", test::wide_graph(3));
        const Answers discard(QMessageBox::Discard);
        QVERIFY(shown.open(file));
        QCOMPARE(shown.document.placement().size(), std::size_t{5});
        QCOMPARE(shown.window.runsView()->runs()->rowCount(), 0);
        shown.document.showRun(id);
        QCOMPARE(shown.document.placement().size(), std::size_t{5});
    }

    void closingIsQuickWhateverGoesOn_data() {
        QTest::addColumn<QString>("what");
        for (const char* what :
             {"loading", "laying out", "searching", "dragging", "dragging while searching"}) {
            QTest::newRow(what) << QString::fromLatin1(what);
        }
    }
    void closingIsQuickWhateverGoesOn() {
        QFETCH(QString, what);
        auto shown = std::make_unique<Shown>();
        QVERIFY(shown->open(m_place->write("wide.json", test::wide_graph()), m_machine));
        if (what == QLatin1String("loading"))
            shown->document.openNetwork(m_place->write("slow.json", test::chain(2000)));
        if (what == QLatin1String("laying out")) {
            const QString slow = m_place->write("slow.json", test::chain(2000));
            shown->document.openNetwork(slow);
            QTRY_COMPARE_WITH_TIMEOUT(shown->document.networkFile(), slow, 60'000);
        }
        if (what.contains(QLatin1String("searching"))) {
            shown->document.startSearch(request("map-elites", 1'000'000'000));
            QTRY_VERIFY_WITH_TIMEOUT(shown->document.runs().front()->progress().evaluations > 0, 60'000);
        }
        if (what.contains(QLatin1String("dragging"))) {
            const QPoint row = shown->rowOf(2);
            shown->drag(shown->window.graphView(), shown->opInGraph("branch1"), shown->window.devicePanel(),
                        row, false);
        }
        const Answers discard(QMessageBox::Discard);
        QElapsedTimer time;
        time.start();
        QVERIFY(shown->window.close());
        QCoreApplication::processEvents();
        shown.reset();
        QVERIFY2(time.elapsed() < kQuickMs, qPrintable(QString::number(time.elapsed())));
        QCoreApplication::processEvents();
    }

    void closingAsksForAPlacementThatIsInNoFile() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), m_machine));
        QStringList asked;
        const auto closeAndAnswer = [&](QMessageBox::StandardButton answer) {
            QTimer::singleShot(50, this, [&asked, answer] {
                auto* question = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
                if (question == nullptr) return;
                asked << question->text();
                question->button(answer)->click();
            });
            const bool closed = shown.window.close();
            QTest::qWait(60);  // an unrequested answer
            return closed;
        };
        QVERIFY(closeAndAnswer(QMessageBox::Cancel));  // as after opening
        QVERIFY(asked.isEmpty());
        shown.window.show();

        shown.document.moveOps({shown.op("branch1")}, 1);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(!closeAndAnswer(QMessageBox::Cancel));
        QVERIFY(shown.window.isVisible());
        QCOMPARE(asked.size(), 1);
        QVERIFY2(asked.front().startsWith("Save the placement of "), qPrintable(asked.front()));

        shown.document.exportPlacement(m_place->file("kept.json"));
        QVERIFY(closeAndAnswer(QMessageBox::Cancel));
        QCOMPARE(asked.size(), 1);
        shown.window.show();

        shown.document.moveOps({shown.op("branch2")}, 1);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(closeAndAnswer(QMessageBox::Discard));
        QCOMPARE(asked.size(), 2);
    }

    void anotherNetworkAsksForAPlacementThatIsInNoFile() {
        Shown shown;
        const QString file = m_place->write("wide.json", test::wide_graph()),
                      other = m_place->write("other.json", test::wide_graph(3));
        QVERIFY(shown.open(file, m_machine));
        shown.document.moveOps({shown.op("branch1")}, 1);
        QVERIFY(shown.waitUntilIdle());
        const Placement moved = shown.document.placement();
        QMessageBox::StandardButton answer = QMessageBox::Cancel;
        int asked = 0;
        QTimer answerer;
        connect(&answerer, &QTimer::timeout, this, [&] {
            auto* question = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            if (question == nullptr) return;
            ++asked;
            question->button(answer)->click();
        });
        answerer.start(20);
        shown.document.openFile(other);
        QTRY_COMPARE(asked, 1);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.networkFile(), file);
        QCOMPARE(shown.document.placement(), moved);
        QVERIFY(shown.document.undoStack()->canUndo());

        answer = QMessageBox::Discard;
        shown.document.openFile(other);
        QTRY_COMPARE(shown.document.networkFile(), other);
        QCOMPARE(asked, 2);
        QVERIFY(shown.waitUntilIdle());
        shown.document.openFile(file);  // this file was not changed
        QTRY_COMPARE(shown.document.networkFile(), file);
        QCOMPARE(asked, 2);
    }

    /// A result that was undone and paused, or belongs to another machine, can still be saved.
    void savingWhileClosingAsksOnce() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph(12)), m_machine));
        shown.document.startSearch(request("genetic", 2000));
        QVERIFY(shown.waitUntilIdle());
        const Placement best = shown.document.placement();
        shown.document.undoStack()->undo();
        QVERIFY(shown.waitUntilIdle());
        // The placement is put on screen and saved at once, before it is simulated.
        shown.document.showPlacement(best, "Show");
        const QString file = m_place->file("best.json");
        const Answers save(QMessageBox::Save, {file});
        QVERIFY(shown.window.close());
        QCOMPARE(save.asked().size(), 1);
        QCOMPARE(read_placement(file.toStdString(), *shown.document.problem()), best);
    }

    void closingAsksForTheBestThatASearchHasFound() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph(12)), m_machine));
        QTest::keyClick(&shown.window, Qt::Key_F5);
        QTRY_VERIFY_WITH_TIMEOUT(shown.document.shownRun() != nullptr, 60'000);
        QTest::keyClick(&shown.window, Qt::Key_F6);
        const auto evaluations = [&] { return shown.document.runs().front()->progress().evaluations; };
        std::uint64_t before = 0;
        QTRY_VERIFY_WITH_TIMEOUT((QTest::qWait(100), std::exchange(before, evaluations()) == evaluations()),
                                 60'000);
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(!shown.document.hasUnsavedPlacement());
        const Placement best = *shown.document.runs().front()->progress().best_placement;
        QVERIFY(best != shown.document.placement());
        {
            const Answers cancel(QMessageBox::Cancel);
            QVERIFY(!shown.window.close());
            QCOMPARE(cancel.asked().size(), 1);
            QVERIFY2(
                cancel.asked().front().startsWith("Save the best placement found for fork-join (step time "),
                qPrintable(cancel.asked().front()));
        }
        const QString two = m_place->write("two.json", test::uniform_machine(2));
        shown.document.setMachine(two);
        QTRY_COMPARE(shown.document.machineFile(), two);
        QVERIFY(shown.waitUntilIdle());
        {
            const QString file = m_place->file("best.json");
            const Answers save(QMessageBox::Save, {file});
            QVERIFY(shown.window.close());
            QCOMPARE(save.asked().size(), 1);
            QCOMPARE(read_placement(file.toStdString(), *shown.document.problem()), best);
        }
        // The best is saved; worse runs need not be.
        shown.window.show();
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        const Answers none(QMessageBox::Cancel);
        QVERIFY(shown.window.close());
        QVERIFY(none.asked().isEmpty());
    }

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

    /// These changes carry a placement over, which is not an edit.
    void otherOptionsAndMachinesMakeNoPlacementWorthKeeping() {
        Shown shown;
        QVERIFY(shown.open("alexnet", "2x-v100-pcie"));
        JobOptions options = shown.document.options();
        options.problem.grouping = {.rule = GroupingRule::scope, .scope_depth = 1};
        shown.document.setOptions(options);
        QVERIFY(shown.waitUntilIdle());
        shown.document.setMachine("4x-v100-pcie");
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.undoStack()->count(), 2);
        QVERIFY(!shown.document.hasUnsavedPlacement());
        shown.document.moveOps({0}, 2);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.hasUnsavedPlacement());
        shown.document.exportPlacement(m_place->file("kept.json"));
        QVERIFY(!shown.document.hasUnsavedPlacement());
        options.problem.grouping = {};
        shown.document.setOptions(options);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(!shown.document.hasUnsavedPlacement());
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
        QTest::keyClick(box, Qt::Key_Home);
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

        QTest::keyClick(box, Qt::Key_4);  // the first name that starts with it
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

    // --- memory ---

    void anotherNetworkFreesTheOneBefore() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), m_machine));
        shown.document.startSearch(request("map-elites", 300));
        QVERIFY(shown.waitUntilIdle());
        // One that is still running when the network changes.
        shown.document.startSearch(request("genetic", 1'000'000'000));
        const std::weak_ptr<const Problem> before = shown.document.problem();
        Answers answers(QMessageBox::Discard);
        shown.document.openNetwork(m_place->write("chain.json", test::chain(10)));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.runs().empty());
        QTRY_VERIFY_WITH_TIMEOUT(before.expired(), 30'000);
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

    void aPlacementThatCannotBeWrittenIsAnError() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), m_machine));
        QVERIFY_EXCEPTION_THROWN(shown.document.exportPlacement(m_place->file("no folder/out.json")),
                                 InputError);
    }

    void everyViewIsExported_data() {
        QTest::addColumn<QString>("view");
        QTest::addColumn<QString>("suffix");
        for (const char* view : {"graph", "timeline", "curve", "archive", "distribution"}) {
            for (const char* suffix : {"png", "svg"})
                QTest::addRow("%s as %s", view, suffix) << view << suffix;
        }
    }
    void everyViewIsExported() {
        QFETCH(QString, view);
        QFETCH(QString, suffix);
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), m_machine));
        for (const char* algorithm : {"map-elites", "post"}) {
            shown.document.startSearch(request(algorithm, 300));
            QVERIFY(shown.waitUntilIdle());
        }
        const MainWindow& window = shown.window;
        auto* curve = window.findChild<CurvePlot*>();
        const std::map<QString, std::pair<QSizeF, Paint>> views{
            {"graph",
             {window.graphView()->wholeSize(),
              [&](QPainter& p, const QRectF& r) { window.graphView()->renderWhole(p, r); }}},
            {"timeline",
             {window.timelineView()->size(),
              [&](QPainter& p, const QRectF&) { window.timelineView()->render(&p); }}},
            {"curve",
             {curve->size(), [&](QPainter& p, const QRectF& r) { curve->renderWhole(p, r.toRect()); }}},
            {"archive",
             {QSizeF(500, 400),
              [&](QPainter& p, const QRectF& r) { window.archiveMap()->renderWhole(p, r.toRect()); }}},
            {"distribution", {QSizeF(500, 400), [&](QPainter& p, const QRectF& r) {
                                  window.distributionMap()->renderWhole(p, r.toRect());
                              }}}};
        const auto& [size, paint] = views.at(view);
        const QString file = m_place->file("picture." + suffix);
        QVERIFY(writePicture(file, recordPicture(size, paint)));

        QImage image;
        if (suffix == QLatin1String("png")) {
            QVERIFY(image.load(file));
            QCOMPARE(image.size(), (size * 2).toSize());
        } else {
            QSvgRenderer renderer(file);
            QVERIFY(renderer.isValid());
            QCOMPARE(renderer.viewBoxF().size(), size);
            image = QImage(size.toSize(), QImage::Format_ARGB32);
            image.fill(Qt::white);
            QPainter painter(&image);
            renderer.render(&painter);
        }
        QVERIFY2(colorsOf(image) > 8, qPrintable(QString::number(colorsOf(image))));
    }

    void aLargePictureIsWrittenBehindTheWindow() {
        Shown shown;
        QVERIFY(shown.open(QStringLiteral("nmt2"), m_machine));
        QVERIFY(QTest::qWaitFor([&] { return shown.document.scene() != nullptr; }, 30'000));
        const QString file = m_place->file("large.png");
        QSize proposed;
        // Takes one of the sizes that the dialog offers, the largest first.
        const auto choose = [&](qsizetype size) {
            auto* timer = new QTimer(&shown.window);
            connect(timer, &QTimer::timeout, timer, [timer, size, &proposed] {
                auto* dialog = qobject_cast<QInputDialog*>(QApplication::activeModalWidget());
                if (dialog == nullptr) return;
                timer->stop();
                timer->deleteLater();
                const QString chosen = dialog->comboBoxItems().value(size);
                const QStringList words = chosen.split(u' ');
                proposed = QSize(words.value(0).toInt(), words.value(2).toInt());
                dialog->setTextValue(chosen);
                dialog->accept();
            });
            timer->start(60);
        };
        test::giveFile(file);
        choose(2);
        shown.action("Picture of the graph")->trigger();
        // The file is written later, while the window answers.
        QVERIFY(!QFile::exists(file));
        QTRY_VERIFY_WITH_TIMEOUT(shown.message().contains(file), 60'000);
        QImageReader::setAllocationLimit(0);
        const QImage image(file);
        QCOMPARE(image.size(), proposed);
        QVERIFY(colorsOf(image) > 8);

        // A cancelled one leaves no file.
        QTRY_VERIFY(shown.window.findChild<PictureExport*>() == nullptr);
        const QString second = m_place->file("second.png");
        test::giveFile(second);
        choose(0);
        shown.action("Picture of the graph")->trigger();
        auto* progress = shown.window.findChild<QProgressDialog*>();
        QVERIFY(progress != nullptr);
        progress->findChild<QPushButton*>()->click();
        QTRY_VERIFY_WITH_TIMEOUT(shown.window.findChild<PictureExport*>() == nullptr, 60'000);
        QVERIFY(!QFile::exists(second));
    }

    void aWrongSuffixIsAnError() {
        const QString file = m_place->file("picture.bmp");
        try {
            writePicture(file, recordPicture(QSizeF(10, 10), [](QPainter&, const QRectF&) {}));
            QFAIL("accepted");
        } catch (const InputError& error) {
            QVERIFY(QString::fromUtf8(error.what()).contains(QLatin1String("picture.bmp")));
            QVERIFY(QString::fromUtf8(error.what()).contains(QLatin1String(".png")));
        }
        QVERIFY(!QFile::exists(file));
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
                                 "evaluations", "seed"}) {
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
                 QStringLiteral("Archive CDF Curve Distribution Learning Runs Suggestions Why"));
    }

    // --- settings ---

    void settingsComeBack() {
        const QString wide = m_place->write("wide.json", test::wide_graph());
        {
            Shown first;
            QVERIFY(first.open(wide));
            first.window.chooseAlgorithm("genetic");
            first.window.chooseEvaluations(777);
            first.window.findChild<QDockWidget*>("selectionDock")->close();
            first.window.resize(1000, 700);
            QCoreApplication::processEvents();
            QVERIFY(first.window.close());
        }
        {
            Shown second;
            QCOMPARE(second.window.findChild<QComboBox*>("algorithm")->currentData().toString(),
                     QStringLiteral("genetic"));
            QCOMPARE(second.window.findChild<QSpinBox*>("evaluations")->value(), 777);
            QCOMPARE(second.window.size(), QSize(1000, 700));
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
    }
};

QTEST_MAIN(TestWindow)
#include "tst_window.moc"
