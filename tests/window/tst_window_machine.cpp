// SPDX-License-Identifier: MIT
// The machine editor and the what-if panel, with a real mouse and keyboard.
#include <algorithm>
#include <cmath>
#include <memory>

#include <QAbstractButton>
#include <QApplication>
#include <QComboBox>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QScopeGuard>
#include <QSlider>
#include <QSpinBox>
#include <QStyleOptionSlider>
#include <QTableWidget>
#include <QTest>
#include <QTimer>
#include <QToolButton>
#include <QWheelEvent>

#include "app/window/dialogs/simulation_dialog.hpp"
#include "app/window/machine/machine_editor.hpp"
#include "app/window/machine/machine_table.hpp"
#include "app/window/machine/what_if_panel.hpp"
#include "app/window/settings.hpp"
#include "core/io/machines/device_catalogue_file.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/machines/machine_parts.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/message_bar.hpp"
#include "widgets/runs_view.hpp"
#include "widgets/start_page.hpp"
#include "widgets/text.hpp"
#include "widgets/timeline_view.hpp"
#include "widgets/topology_view.hpp"

using namespace placewright;
using test::Shown;

namespace {

constexpr auto kMachine = "4x-v100-nvlink";
constexpr int kMemory = kDeviceFigures;

MachineEditor* openEditor(Shown& shown) {
    QTest::keyClick(&shown.window, Qt::Key_M, Qt::ControlModifier | Qt::ShiftModifier);
    auto* editor = shown.window.findChild<MachineEditor*>();
    if (editor == nullptr || !QTest::qWaitForWindowExposed(editor)) qFatal("no machine editor");
    return editor;
}

QPoint cellOf(QTableWidget* table, int row, int column) {
    table->scrollToItem(table->item(row, column));
    return table->visualItemRect(table->item(row, column)).center();
}

/// Opens the field of a cell by a double-click and types a text.
QLineEdit* type(QTableWidget* table, int row, int column, const QString& text) {
    const QPoint at = cellOf(table, row, column);
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, at);
    QTest::mouseDClick(table->viewport(), Qt::LeftButton, {}, at);
    auto* field = table->viewport()->findChild<QLineEdit*>();
    if (field == nullptr) qFatal("no field");
    field->selectAll();
    QTest::keyClicks(field, text);
    return field;
}

/// The same, and Return, which Qt handles when the event has been sent.
void enter(QTableWidget* table, int row, int column, const QString& text) {
    QTest::keyClick(type(table, row, column, text), Qt::Key_Return);
    QCoreApplication::processEvents();
}

QString cellText(const QTableWidget* table, int row, int column) {
    return table->item(row, column)->text();
}

QLabel* problemOf(QTableWidget* table) {
    return table->viewport()->findChild<QLabel*>(QStringLiteral("fieldProblem"));
}

template <class Control>
Control* find(QWidget* parent, const char* name) {
    auto* found = parent->findChild<Control*>(QString::fromLatin1(name));
    if (found == nullptr) qFatal("no %s", name);
    return found;
}

void click(QWidget* parent, const char* name) {
    QTest::mouseClick(find<QPushButton>(parent, name), Qt::LeftButton);
}

const Machine& machineOf(const Shown& shown) {
    return *shown.document.job().machine;
}

QSlider* slider(const Shown& shown, const char* name) {
    return find<QSlider>(shown.window.whatIfPanel(), name);
}

QPoint handleOf(const QSlider* slider, int position) {
    QStyleOptionSlider option;
    option.initFrom(slider);
    option.orientation = Qt::Horizontal;
    option.minimum = slider->minimum();
    option.maximum = slider->maximum();
    option.sliderPosition = option.sliderValue = position;
    option.tickPosition = slider->tickPosition();
    option.subControls = QStyle::SC_All;
    return slider->style()
        ->subControlRect(QStyle::CC_Slider, &option, QStyle::SC_SliderHandle, slider)
        .center();
}

/// Presses the handle of a slider and moves it, in steps.
void drag(QSlider* slider, int position) {
    const QPoint from = handleOf(slider, slider->value()), to = handleOf(slider, position);
    QTest::mousePress(slider, Qt::LeftButton, {}, from);
    for (int step = 1; step <= 4; ++step) {
        const QPoint at = from + (to - from) * step / 4;
        QMouseEvent move(QEvent::MouseMove, at, slider->mapToGlobal(at), Qt::NoButton, Qt::LeftButton, {});
        QCoreApplication::sendEvent(slider, &move);
        QTest::qWait(5);
    }
}

void showPanel(Shown& shown) {
    test::pressInMenu(shown, shown.action(QStringLiteral("What if")));
    QTRY_VERIFY(slider(shown, "bandwidthFactor")->isVisible());
}

}  // namespace

class TestWindowMachine : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { m_network = m_work.write(QStringLiteral("wide.json"), test::wide_graph()); }

    void anEditedMachineKeepsItsNameInOtherWindows() {
        const auto forget = qScopeGuard([] { settings::machine.set(QString()); });
        const auto name = QStringLiteral("4x V100, NVLink (edited)");
        {
            Shown shown;
            QVERIFY(shown.open(m_network, QString::fromLatin1(kMachine)));
            enter(openEditor(shown)->devices(), 1, kMemory, QStringLiteral("8.5"));
            QTRY_COMPARE(find<QComboBox>(&shown.window, "machine")->currentText(), name);
            QVERIFY(shown.waitUntilIdle());
            settings::machine.set(shown.document.machineFile());  // as when the window closes
        }
        Shown other;
        QCOMPARE(find<QComboBox>(&other.window, "machine")->currentText(), name);
        const auto labels = other.window.findChild<StartPage*>()->findChildren<QLabel*>();
        QVERIFY(std::ranges::any_of(labels, [&](const QLabel* label) {
            return label->text().startsWith(QStringLiteral("Networks are placed on ") + name);
        }));
    }

    void editFigure() {
        Shown shown;
        QVERIFY(shown.open(m_network, QString::fromLatin1(kMachine)));
        const auto scene = shown.document.scene();
        MachineEditor* editor = openEditor(shown);
        QTableWidget* devices = editor->devices();
        QCOMPARE(devices->rowCount(), 5);
        const QString memory = cellText(devices, 1, kMemory);
        QCOMPARE(cellText(devices, 1, kDeviceName), QStringLiteral("gpu:0"));
        enter(devices, 1, kMemory, QStringLiteral("8.5"));
        QCOMPARE(cellText(devices, 1, kMemory), QStringLiteral("8.5"));  // at once
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(machineOf(shown).device(1).memory_bytes, 8.5e9);
        QCOMPARE(machineOf(shown).name(), std::string("4x V100, NVLink (edited)"));
        QCOMPARE(shown.document.scene(), scene);  // the graph stays in its place
        QVERIFY(shown.window.windowTitle().contains(QStringLiteral("(edited)")));
        auto* machines = find<QComboBox>(&shown.window, "machine");
        QCOMPARE(machines->currentText(), QStringLiteral("4x V100, NVLink (edited)"));
        const int entries = machines->count();
        // A second edit has the same entry.
        enter(editor->links(), 0, kLinkFigures, QStringLiteral("99"));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(machineOf(shown).channels()[0].bandwidth, 99e9);
        QCOMPARE(machines->count(), entries);
        // Ctrl+Z in the main window, and in the editor.
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(machineOf(shown).channels()[0].bandwidth != 99e9);
        QCOMPARE(machineOf(shown).device(1).memory_bytes, 8.5e9);
        editor->activateWindow();
        QTest::keyClick(editor, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(machineOf(shown).name(), std::string("4x V100, NVLink"));
        QCOMPARE(cellText(devices, 1, kMemory), memory);
        QCOMPARE(machines->currentData().toString(), QString::fromLatin1(kMachine));
        QTest::keyClick(editor, Qt::Key_Y, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(machineOf(shown).device(1).memory_bytes, 8.5e9);
    }

    void refuseBadValues_data() {
        QTest::addColumn<int>("column");
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("problem");
        QTest::newRow("negative") << kMemory << "-3"
                                  << "expected 0.001 to 100000 GB";
        QTest::newRow("no number") << kMemory << "much"
                                   << "\"much\" is not a number";
        QTest::newRow("efficiency") << kMemory + 3 << "101"
                                    << "expected 0.01 to 100 %";
        QTest::newRow("name") << kDeviceName << "gpu:1"
                              << "another device";
    }
    void refuseBadValues() {
        QFETCH(int, column);
        QFETCH(QString, text);
        QFETCH(QString, problem);
        Shown shown;
        QVERIFY(shown.open(m_network, QString::fromLatin1(kMachine)));
        MachineEditor* editor = openEditor(shown);
        const auto before = shown.document.job().machine;
        const QString cell = cellText(editor->devices(), 1, column);
        QPointer<QLineEdit> field = type(editor->devices(), 1, column, text);
        QVERIFY(problemOf(editor->devices())->isVisible());
        QVERIFY2(problemOf(editor->devices())->text().contains(problem),
                 qPrintable(problemOf(editor->devices())->text()));
        QTest::keyClick(field, Qt::Key_Return);
        QVERIFY(field && field->isVisible());  // stays open
        QTest::keyClick(field, Qt::Key_Escape);
        QTRY_VERIFY(!field);
        QVERIFY(!problemOf(editor->devices())->isVisible());
        QCOMPARE(cellText(editor->devices(), 1, column), cell);
        QCOMPARE(shown.document.job().machine, before);
    }

    void removeDevice() {
        Shown shown;
        QVERIFY(shown.open(m_network, QString::fromLatin1(kMachine)));
        for (const char* op : {"branch0", "branch1", "branch2"}) shown.document.moveOps({shown.op(op)}, 3);
        shown.document.moveOps({shown.op("branch3")}, 4);
        QVERIFY(shown.waitUntilIdle());
        MachineEditor* editor = openEditor(shown);
        editor->devices()->setCurrentCell(3, 0);
        click(editor, "removeDevice");
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(machineOf(shown).devices().size(), std::size_t{4});
        QVERIFY(!machineOf(shown).find("gpu:2"));
        QVERIFY2(shown.message().contains(QStringLiteral("Moved 3 ops of gpu:2 to gpu:")),
                 qPrintable(shown.message()));
        // The device behind it keeps its op although its number has changed.
        QCOMPARE(machineOf(shown).device(shown.deviceOf("branch3")).name, std::string("gpu:3"));
        QCOMPARE(shown.deviceOf("branch0"), shown.deviceOf("branch1"));
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.deviceOf("branch0"), DeviceId{3});
        QCOMPARE(machineOf(shown).devices().size(), std::size_t{5});
    }

    void addAndDuplicate() {
        Shown shown;
        QVERIFY(shown.open(m_network, QString::fromLatin1(kMachine)));
        const double before = shown.stepTime();
        MachineEditor* editor = openEditor(shown);
        editor->devices()->setCurrentCell(1, 0);
        click(editor, "duplicateDevice");
        click(editor, "duplicateDevice");  // while the first is under way
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(machineOf(shown).devices().size(), std::size_t{7});
        QCOMPARE(machineOf(shown).device(6).name, std::string("gpu:5"));
        QCOMPARE(editor->devices()->currentRow(), 6);
        QCOMPARE(shown.stepTime(), before);
        shown.document.undoStack()->undo();  // each is a step of its own
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(machineOf(shown).devices().size(), std::size_t{6});
        auto* model = find<QComboBox>(editor, "newModel");
        model->setCurrentText(QString::fromStdString(shipped_devices().find_device("A100 SXM4 80GB")->model));
        click(editor, "addDevice");
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(machineOf(shown).devices().size(), std::size_t{7});
        QCOMPARE(machineOf(shown).device(6).model, shipped_devices().find_device("A100 SXM4 80GB")->model);
        // Its ops can go there.
        shown.document.moveOps({shown.op("branch0")}, 6);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.deviceOf("branch0"), DeviceId{6});
    }

    void rename() {
        Shown shown;
        QVERIFY(shown.open(m_network, QString::fromLatin1(kMachine)));
        shown.document.moveOps({shown.op("branch0")}, 2);
        MachineEditor* editor = openEditor(shown);
        enter(editor->devices(), 2, kDeviceName, QStringLiteral("fast"));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(machineOf(shown).device(2).name, std::string("fast"));
        QCOMPARE(shown.deviceOf("branch0"), DeviceId{2});
    }

    void linkedSelection() {
        Shown shown;
        QVERIFY(shown.open(m_network, QString::fromLatin1(kMachine)));
        MachineEditor* editor = openEditor(shown);
        TopologyView* topology = editor->topology();
        QTest::mouseClick(topology, Qt::LeftButton, {}, topology->deviceRect(2).center().toPoint());
        QCOMPARE(editor->devices()->currentRow(), 2);
        const auto channels = machineOf(shown).channels();
        const auto link = static_cast<ChannelId>(std::ranges::find(channels, "nvlink0-1", &Channel::name) -
                                                 channels.begin());
        QTest::mouseClick(topology, Qt::LeftButton, {}, topology->pointOf(link).toPoint());
        QVERIFY(editor->links()->isVisible());
        QCOMPARE(cellText(editor->links(), editor->links()->currentRow(), kLinkName),
                 QStringLiteral("nvlink0-1"));
        QTest::mouseClick(editor->links()->viewport(), Qt::LeftButton, {}, cellOf(editor->links(), 0, 0));
        const std::vector<ChannelId> selected = topology->selectedChannels();
        QVERIFY(std::ranges::find(selected, ChannelId{0}) != selected.end());
    }

    void routes() {
        Shown shown;
        QVERIFY(shown.open(m_network, QStringLiteral("4x-v100-pcie")));
        MachineEditor* editor = openEditor(shown);
        const Route route = machineOf(shown).routes()[0];
        QTableWidget* table = editor->routes();
        enter(table, 0, 2, QStringLiteral("bus"));
        QVERIFY(problemOf(table)->text().contains(QStringLiteral("no link is called \"bus\"")));
        auto* field = table->viewport()->findChild<QLineEdit*>();
        field->selectAll();
        QTest::keyClicks(field, QStringLiteral("pcie0/up, pcie3/up"));
        QTest::keyClick(field, Qt::Key_Return);
        QCoreApplication::processEvents();
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(machineOf(shown).route(route.from, route.to).size(), std::size_t{2});
        // Not shared any more.
        editor->links()->setCurrentCell(0, 0);
        QVERIFY(cellText(editor->links(), 0, kLinkUse).contains(QStringLiteral("shared")));
        click(editor, "separateLink");
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(!cellText(editor->links(), 0, kLinkUse).contains(QStringLiteral("shared")));
    }

    void saveAndGoOn() {
        Shown shown;
        QVERIFY(shown.open(m_network, QString::fromLatin1(kMachine)));
        MachineEditor* editor = openEditor(shown);
        enter(editor->devices(), 1, kMemory, QStringLiteral("40"));
        QVERIFY(shown.waitUntilIdle());
        // Other windows read the machine by its file.
        QVERIFY(shown.document.isMachineEdited());
        QCOMPARE(find_machine(shown.document.machineFile().toStdString()), machineOf(shown));
        // The next network is opened on it too.
        const QString other = m_work.write(QStringLiteral("other.json"), test::wide_graph(4));
        shown.document.openNetwork(other);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.networkFile(), other);
        QCOMPARE(machineOf(shown).device(1).memory_bytes, 40e9);
        QVERIFY(shown.document.isMachineEdited());
        const QString file = m_work.file(QStringLiteral("mine.json"));
        test::giveFile(file);
        click(editor, "saveMachine");
        QTRY_VERIFY(QFileInfo::exists(file));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(read_machine(file.toStdString()).name(), std::string("4x V100, NVLink"));
        QCOMPARE(shown.document.machineFile(), file);
        QVERIFY(!shown.document.isMachineEdited());
        QCOMPARE(machineOf(shown).device(1).memory_bytes, 40e9);
    }

    void runsOfEditedMachine() {
        Shown shown;
        QVERIFY(shown.open(m_network, QString::fromLatin1(kMachine)));
        MachineEditor* editor = openEditor(shown);
        shown.document.startSearch(test::request("random", 100));
        QVERIFY(shown.waitUntilIdle());
        enter(editor->devices(), 1, kMemory, QStringLiteral("40"));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(!test::rows(shown).front().elsewhere.isEmpty());
        const int run = shown.document.startSearch(test::request("random", 100));
        QVERIFY(shown.waitUntilIdle());
        shown.document.setMachine(QStringLiteral("2x-v100-pcie"));
        QVERIFY(shown.waitUntilIdle());
        shown.document.showRun(run);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(machineOf(shown).device(1).memory_bytes, 40e9);
    }

    void searchesStop() {
        Shown shown;
        QVERIFY(shown.open(m_network, QString::fromLatin1(kMachine)));
        MachineEditor* editor = openEditor(shown);
        shown.document.startSearch(test::request("random", test::kEndless));
        QTRY_VERIFY(test::running(shown));
        enter(editor->devices(), 1, kMemory, QStringLiteral("40"));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(machineOf(shown).device(1).memory_bytes, 40e9);
        QVERIFY2(shown.message().contains(QStringLiteral("Searches were stopped")),
                 qPrintable(shown.message()));
    }

    void slide() {
        Shown shown;
        QVERIFY(shown.open(m_network, QStringLiteral("2x-v100-pcie")));
        shown.document.moveOps({shown.op("branch0"), shown.op("branch1"), shown.op("branch2")}, 2);
        QVERIFY(shown.waitUntilIdle());
        showPanel(shown);
        const double before = shown.stepTime();
        const auto original = shown.document.job().machine;
        const int steps = shown.document.undoStack()->index();
        drag(slider(shown, "speedFactor"), -50);
        QTRY_VERIFY(shown.stepTime() > before * 1.5);  // while the slider is held
        QVERIFY(slider(shown, "speedFactor")->isSliderDown());
        QTest::mouseRelease(slider(shown, "speedFactor"), Qt::LeftButton, {},
                            handleOf(slider(shown, "speedFactor"), slider(shown, "speedFactor")->value()));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.undoStack()->index(), steps + 1);
        const double factor = shown.document.whatIf().speed.front();
        QVERIFY2(std::abs(factor - 0.5) < 0.05, qPrintable(QString::number(factor)));
        QCOMPARE(machineOf(shown).device(1).peak_flops, original->device(1).peak_flops * factor);
        const QString result = find<QLabel>(shown.window.whatIfPanel(), "whatIfResult")->text();
        QVERIFY2(result.contains(QStringLiteral(" → ")) && result.contains(QStringLiteral("(+")),
                 qPrintable(result));
        QVERIFY(QFileInfo::exists(shown.document.machineFile()));
        // Undo takes the whole drag back, and the slider with it.
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.job().machine, original);
        QCOMPARE(slider(shown, "speedFactor")->value(), 0);
        QCOMPARE(shown.stepTime(), before);
        QTest::keyClick(&shown.window, Qt::Key_Y, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(std::abs(slider(shown, "speedFactor")->value() + 50) <= 3);
        QTest::mouseDClick(slider(shown, "speedFactor"), Qt::LeftButton);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.job().machine, original);
        QVERIFY(!shown.document.isMachineEdited());
    }

    /// Who scrolls the panel must not change a factor, which stops the searches.
    void theWheelScrolls() {
        Shown shown;
        QVERIFY(shown.open(m_network, QStringLiteral("2x-v100-pcie")));
        showPanel(shown);
        QSlider* const speed = slider(shown, "speedFactor");
        const auto turn = [&] {
            const QPointF middle = speed->rect().center();
            QWheelEvent wheel(middle, speed->mapToGlobal(middle), {}, {0, 120}, Qt::NoButton, {},
                              Qt::NoScrollPhase, false);
            QApplication::sendEvent(speed, &wheel);
        };
        shown.window.setFocus();
        turn();
        QCOMPARE(speed->value(), 0);
        speed->setFocus();
        turn();
        QVERIFY(speed->value() > 0);
    }

    /// What is asked for while an edit is computed wins; the tables go back to the machine in use.
    void editIsDropped() {
        Shown shown;
        QVERIFY(shown.open(m_network, QString::fromLatin1(kMachine)));
        MachineEditor* editor = openEditor(shown);
        const int devices = editor->devices()->rowCount();
        const auto machine = shown.document.whatIfBase();
        shown.document.editMachine(QStringLiteral("Duplicate"), with_device(*machine, machine->device(1), 1));
        QCOMPARE(shown.document.whatIfBase()->devices().size(), std::size_t(devices) + 1);
        JobOptions options = shown.document.options();
        options.simulation.batches = 2;
        shown.document.setOptions(options);
        QCOMPARE(editor->devices()->rowCount(), devices);
        QVERIFY2(shown.message().contains(QStringLiteral("“Duplicate” was dropped")),
                 qPrintable(shown.message()));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.options().simulation.batches, 2U);
        QCOMPARE(machineOf(shown).devices().size(), std::size_t(devices));
    }

    void manyDevicesHaveRoomInTheNarrowPicture_data() {
        QTest::addColumn<int>("gpus");
        for (const int gpus : {3, 8, 16, 40}) QTest::addRow("%d", gpus) << gpus;
    }
    void manyDevicesHaveRoomInTheNarrowPicture() {
        QFETCH(const int, gpus);
        Shown shown;
        QVERIFY(shown.open(m_network,
                           m_work.write("many.json", test::uniform_machine(static_cast<std::size_t>(gpus)))));
        shown.window.resize(1280, 800);
        showPanel(shown);
        const TopologyView* topology = shown.window.whatIfPanel()->topology();
        for (int i = 0; i < 5; ++i) QTest::qWait(10);
        for (int a = 0; a < gpus; ++a) {
            const QRectF box = topology->deviceRect(static_cast<DeviceId>(a));
            QVERIFY(box.height() >= topology->fontMetrics().height());
            QVERIFY(QRectF(topology->rect()).contains(box));
            for (int b = 0; b < a; ++b)
                QVERIFY(!box.intersects(topology->deviceRect(static_cast<DeviceId>(b))));
        }
    }

    void slideSelected() {
        Shown shown;
        QVERIFY(shown.open(m_network, QString::fromLatin1(kMachine)));
        showPanel(shown);
        TopologyView* topology = shown.window.whatIfPanel()->topology();
        const auto original = shown.document.job().machine;
        topology->setFocus();
        QTest::mouseClick(topology, Qt::LeftButton, {}, topology->deviceRect(1).center().toPoint());
        slider(shown, "memoryFactor")->setFocus();
        QTest::keyClick(slider(shown, "memoryFactor"), Qt::Key_PageUp);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(qFuzzyCompare(machineOf(shown).device(1).memory_bytes, 2 * original->device(1).memory_bytes));
        QCOMPARE(machineOf(shown).device(2).memory_bytes, original->device(2).memory_bytes);
        // Factors stay when options change, and Reset goes back to the machine with these options.
        JobOptions options = shown.document.options();
        options.problem.inference = true;
        shown.document.setOptions(options);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.whatIf().memory[1], 2.0);
        click(shown.window.whatIfPanel(), "resetFactors");
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.job().machine, original);
        QVERIFY(shown.document.options().problem.inference);
        QCOMPARE(shown.document.machineFile(), QString::fromLatin1(kMachine));
    }

    /// Factors are seen, stay with the machine, and get into no file unasked.
    void factorsAreSeenAndNotSaved() {
        Shown shown;
        QVERIFY(shown.open(m_network, QString::fromLatin1(kMachine)));
        auto* badge = shown.window.findChild<QToolButton*>(QStringLiteral("whatIfBadge"));
        QVERIFY(badge->isHidden());
        const double plain_s = shown.stepTime(), memory = machineOf(shown).device(1).memory_bytes;
        WhatIf factors;
        set_all(factors.speed, machineOf(shown).devices().size(), 2);
        set_factor(factors.memory, machineOf(shown).devices().size(), 1, 0.5);
        shown.document.setWhatIf(factors);
        shown.document.endWhatIf();
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(badge->isVisible());
        QCOMPARE(badge->text(), QString::fromUtf8("What if: memory of some, speed ×2.00"));
        QTest::mouseClick(badge, Qt::LeftButton);
        QVERIFY(shown.window.whatIfPanel()->isVisible());

        const auto save = [&](const QString& answer, const QString& file) {
            QTimer::singleShot(0, [&, answer] {
                auto* question = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
                for (QAbstractButton* button : question->buttons()) {
                    if (button->text() == answer) return button->click();
                }
                qFatal("no such answer");
            });
            if (!file.isEmpty()) test::giveFile(file);
            shown.action("Save machine")->trigger();
            QVERIFY(shown.waitUntilIdle());
        };
        const QString without = m_work.file(QStringLiteral("without.json")),
                      with = m_work.file(QStringLiteral("with.json"));
        save(QStringLiteral("With&out factors"), without);
        QCOMPARE(read_machine(without.toStdString()).device(1).memory_bytes, memory);
        QVERIFY(shown.document.whatIf() == factors);

        // Another network, and the next start.
        QVERIFY(shown.open(QStringLiteral("alexnet")));
        QVERIFY(shown.document.whatIf() == factors);
        QVERIFY(badge->isVisible());
        QCOMPARE(shown.document.machineFileWithoutFactors(), QString::fromLatin1(kMachine));
        QVERIFY(shown.open(m_network));
        save(QStringLiteral("&With factors"), with);
        QCOMPARE(read_machine(with.toStdString()).device(1).memory_bytes, memory / 2);
        QVERIFY(shown.document.whatIf().is_none());  // they are those of the file
        QVERIFY(badge->isHidden());
        QVERIFY(shown.stepTime() < plain_s);
    }

    /// The editor changes the machine without the factors, which stay on.
    void editsKeepTheFactors() {
        Shown shown;
        QVERIFY(shown.open(m_network, QString::fromLatin1(kMachine)));
        const Machine plain = machineOf(shown);
        WhatIf factors;
        set_all(factors.bandwidth, plain.channels().size(), 0.25);
        shown.document.setWhatIf(factors);
        shown.document.endWhatIf();
        QVERIFY(shown.waitUntilIdle());
        MachineEditor* editor = openEditor(shown);
        shown.document.editMachine(
            QStringLiteral("Edit"),
            with_figure(*shown.document.whatIfBase(), ChannelId{0}, channel_figures().front(), 20));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.whatIf() == factors);
        const Machine& base = *shown.document.whatIfBase();
        QCOMPARE(base.channels()[1].bandwidth, plain.channels()[1].bandwidth);
        QVERIFY(base.channels()[0].bandwidth != plain.channels()[0].bandwidth);
        for (std::size_t i = 0; i < base.channels().size(); ++i)
            QCOMPARE(machineOf(shown).channels()[i].bandwidth, base.channels()[i].bandwidth / 4);
        QVERIFY(QFileInfo::exists(shown.document.machineFile()));
        shown.document.undoStack()->undo();
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.whatIf() == factors);
        QCOMPARE(*shown.document.whatIfBase(), plain);
        // A new device and its links have the factor of all others.
        const auto now = shown.document.whatIfBase();
        shown.document.editMachine(QStringLiteral("Duplicate"), with_device(*now, now->device(1), 1));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(editor->devices()->rowCount(), static_cast<int>(plain.devices().size()) + 1);
        for (std::size_t i = 0; i < machineOf(shown).channels().size(); ++i)
            QCOMPARE(factor_of(shown.document.whatIf().bandwidth, i), 0.25);
    }

    /// A move right after the factors does not keep their machine from its file.
    void factorsAreStored() {
        Shown shown;
        QVERIFY(shown.open(m_network, QString::fromLatin1(kMachine)));
        WhatIf factors;
        set_all(factors.speed, machineOf(shown).devices().size(), 2);
        shown.document.setWhatIf(factors);
        QVERIFY(shown.waitUntilIdle());
        const DeviceId other = shown.document.deviceOfOps()[0] == 1 ? 2 : 1;
        shown.document.moveOps({0}, other);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY2(QFileInfo::exists(shown.document.machineFile()), qPrintable(shown.document.machineFile()));
        shown.document.endWhatIf();
        QVERIFY(shown.waitUntilIdle());
        shown.document.reload();
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.whatIf() == factors);
    }

    void batchOfBundledNetwork() {
        Shown shown;
        QVERIFY(shown.open(QStringLiteral("alexnet"), QString::fromLatin1(kMachine)));
        const double before = shown.stepTime();
        SimulationDialog* dialog = test::openSimulation(shown);
        auto* batch = find<QSpinBox>(dialog, "batchSize");
        QVERIFY(batch->isEnabled());
        batch->setFocus();
        batch->selectAll();
        QTest::keyClicks(batch, QStringLiteral("64"));
        QTRY_VERIFY(test::preview(dialog).contains(QStringLiteral("samples/s")) &&
                    test::preview(dialog).contains(QStringLiteral("(now ")));
        test::leave(shown, dialog, true);
        QCOMPARE(shown.document.problem()->network->batch(), std::int64_t{64});
        QVERIFY(shown.stepTime() > 1.3 * before);
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.problem()->network->batch(), std::int64_t{32});
        QCOMPARE(shown.stepTime(), before);
    }

    void fixedBatchSaysWhy() {
        Shown shown;
        GraphBuilder builder("odd", 4);
        Op in;
        in.name = "in";
        in.kind = "input";
        in.outputs = {make_tensor({3, 7})};
        builder.add(in, {});
        QVERIFY(shown.open(m_work.write(QStringLiteral("odd.json"), builder.build())));
        SimulationDialog* dialog = test::openSimulation(shown);
        auto* batch = find<QSpinBox>(dialog, "batchSize");
        QVERIFY(!batch->isEnabled());
        QVERIFY2(batch->toolTip().contains(QStringLiteral("no input has an extent of the batch size of 4")),
                 qPrintable(batch->toolTip()));
        test::leave(shown, dialog, false);
    }

private:
    test::Workplace m_work;
    QString m_network;
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowMachine)
#include "tst_window_machine.moc"
