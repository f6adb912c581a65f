// SPDX-License-Identifier: MIT
#include "tests/support/window.hpp"

#include <QApplication>
#include <QComboBox>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMouseEvent>
#include <QPushButton>
#include <QScrollArea>
#include <QSettings>
#include <QStatusBar>
#include <QTest>
#include <QTimer>
#include <QToolButton>

#include "app/window/dialogs/simulation_dialog.hpp"
#include "app/window/gallery.hpp"
#include "app/window/settings.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/networks/network_file.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/menus.hpp"
#include "widgets/device_panel.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/message_bar.hpp"
#include "widgets/runs_view.hpp"

namespace placewright::test {
namespace {

constexpr int kPatienceMs = 120'000;

void sendMouse(QWidget* widget, QEvent::Type type, QPoint global, Qt::MouseButton button,
               Qt::MouseButtons buttons) {
    QMouseEvent event(type, widget->mapFromGlobal(global), global, button, buttons, Qt::NoModifier);
    QApplication::sendEvent(widget, &event);
}

QtMessageHandler usualHandler = nullptr;

/// Drops what the offscreen platform says about each window, which would fill the log.
void withoutOffscreenNotes(QtMsgType type, const QMessageLogContext& context, const QString& text) {
    if (!text.startsWith(QLatin1String("This plugin does not support"))) usualHandler(type, context, text);
}

}  // namespace

Workplace::Workplace() {
    if (usualHandler == nullptr) usualHandler = qInstallMessageHandler(withoutOffscreenNotes);
    QCoreApplication::setOrganizationName(QStringLiteral("PlacewrightTests"));
    QCoreApplication::setApplicationName(QStringLiteral("tests"));
    QSettings::setDefaultFormat(QSettings::IniFormat);
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, m_folder.path());
    // A budget in time would make tests slow, and their results those of the computer.
    settings::budget.set(QStringLiteral("20000"));
    // Runs and undo steps are those of the test alone.
    settings::placesAtOnce.set(false);
}

QString Workplace::write(const QString& name, const QByteArray& content) const {
    QFile out(file(name));
    if (!out.open(QIODevice::WriteOnly) || out.write(content) != content.size())
        qFatal("cannot write %s", qPrintable(out.fileName()));
    return out.fileName();
}

QString Workplace::write(const QString& name, const Graph& graph) const {
    write_network(graph, file(name).toStdString());
    return file(name);
}

QString Workplace::write(const QString& name, const Machine& machine) const {
    write_machine(machine, file(name).toStdString());
    return file(name);
}

Graph wide_graph(std::size_t width) {
    return fork_join(width, 2e9, 100'000);
}

Graph constrained_graph() {
    const Graph wide = wide_graph(4);
    GraphBuilder builder("constrained", 1, Training::none);
    for (Op op : wide.ops()) {
        if (op.name == "branch0") op.devices = {"gpu:0"};
        builder.add(std::move(op));
    }
    return builder.build();
}

Shown::Shown() : document(*window.document()) {
    if (WatchedApplication::instance() == nullptr)
        qFatal("the test needs PLACEWRIGHT_WINDOW_TEST_MAIN in place of QTEST_MAIN");
    window.show();
    if (!QTest::qWaitForWindowExposed(&window)) qFatal("the window does not appear");
    if (!QTest::qWaitFor([this] { return window.gallery()->isRead(); }, kPatienceMs))
        qFatal("the networks and machines that ship are not read");
    window.activateWindow();
}

bool Shown::open(const QString& network, const QString& machine) {
    if (!machine.isEmpty()) document.setMachine(machine);
    document.openNetwork(network);
    return waitUntilIdle() && document.networkFile() == network;
}

bool Shown::waitUntilIdle() {
    // The graph is laid out again a moment after its panel got another shape.
    const auto* const room = window.findChild<QTimer*>(QStringLiteral("roomTimer"));
    return QTest::qWaitFor([&] { return !document.isBusy() && !room->isActive(); }, kPatienceMs);
}

void Shown::drag(QWidget* from, QPoint start, QWidget* to, QPoint end, bool release) {
    const QPoint first = from->mapToGlobal(start), last = to->mapToGlobal(end);
    sendMouse(from, QEvent::MouseButtonPress, first, Qt::LeftButton, Qt::LeftButton);
    constexpr int kSteps = 8;
    for (int step = 1; step <= kSteps; ++step) {
        sendMouse(from, QEvent::MouseMove, first + (last - first) * step / kSteps, Qt::NoButton,
                  Qt::LeftButton);
        QCoreApplication::processEvents();
    }
    if (release) sendMouse(from, QEvent::MouseButtonRelease, last, Qt::LeftButton, Qt::NoButton);
}

QPoint Shown::rowOf(DeviceId device) {
    DevicePanel* panel = window.devicePanel();
    const QPoint middle = panel->deviceRect(device).center().toPoint();
    for (QWidget* parent = panel->parentWidget(); parent != nullptr; parent = parent->parentWidget()) {
        if (auto* area = qobject_cast<QScrollArea*>(parent)) area->ensureVisible(middle.x(), middle.y());
    }
    QCoreApplication::processEvents();
    return middle;
}

QPoint Shown::opInGraph(const char* name) {
    return window.graphView()->positionOf(op(name)).toPoint();
}

OpId Shown::op(const char* name) const {
    const auto found = document.problem()->graph->find(name);
    if (!found) qFatal("no op %s", name);
    return *found;
}

DeviceId Shown::deviceOf(const char* name) const {
    return document.deviceOfOps()[op(name)];
}

double Shown::stepTime() const {
    return document.timeline() ? document.timeline()->outcome.step_time_s : 0;
}

QString Shown::message() const {
    return window.messageBar()->isVisible() ? window.messageBar()->text() : QString();
}

bool Shown::drop(const QList<QUrl>& urls) {
    QMimeData data;
    data.setUrls(urls);
    QDragEnterEvent enter(QPoint(50, 50), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window, &enter);
    if (!enter.isAccepted()) return false;
    QDropEvent drop(QPointF(50, 50), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window, &drop);
    return drop.isAccepted();
}

QAction* Shown::action(const QString& text) const {
    for (QMenu* menu : window.findChildren<QMenu*>()) {
        for (QAction* action : menu->actions()) {
            if (action->text().remove(QLatin1Char('&')).remove(QChar(0x2026)) == text) return action;
        }
    }
    return nullptr;
}

const QLabel* statusLabel(const Shown& shown, const char* name) {
    for (const QLabel* label : shown.window.statusBar()->findChildren<QLabel*>()) {
        if (label->accessibleName() == QLatin1String(name)) return label;
    }
    qFatal("no %s in the status bar", name);
}

QString statusText(const Shown& shown, const char* name) {
    return statusLabel(shown, name)->text();
}

QString stepsFigures(const Shown& shown) {
    return shown.window.findChild<QLabel*>(QStringLiteral("stepsFigures"))
        ->text()
        .replace(QChar(QChar::Nbsp), QLatin1Char(' '));
}

void raise(const QWidget* panel) {
    for (QWidget* parent = panel->parentWidget(); parent != nullptr; parent = parent->parentWidget()) {
        if (auto* dock = qobject_cast<QDockWidget*>(parent)) dock->raise();
    }
    QCoreApplication::processEvents();
}

bool panelVisible(const Shown& shown, const char* name) {
    return shown.window.findChild<QDockWidget*>(QLatin1String(name))->isVisible();
}

RunRequest request(const char* algorithm, std::uint64_t evaluations) {
    RunRequest wanted;
    wanted.algorithm = algorithm;
    wanted.budget.evaluations = evaluations;
    return wanted;
}

void clickOptimize(const Shown& shown) {
    QTest::mouseClick(shown.window.findChild<QToolButton*>("optimizeButton"), Qt::LeftButton);
}

const std::vector<RunRow>& rows(const Shown& shown) {
    return shown.window.runsView()->runs()->rows();
}

bool running(const Shown& shown) {
    return shown.document.isSearching();
}

void pressInMenu(Shown& shown, QAction* action) {
    for (QMenu* menu : shown.window.findChildren<QMenu*>()) {
        if (!menu->actions().contains(action)) continue;
        menu->popup(shown.window.mapToGlobal(QPoint(20, 20)));
        if (!QTest::qWaitForWindowExposed(menu)) qFatal("the menu does not open");
        clickInMenu(menu, action);
        return;
    }
    qFatal("no menu has the action");
}

void giveFile(const QString& file, const std::function<void()>& before) {
    auto* timer = new QTimer(qApp);
    QObject::connect(timer, &QTimer::timeout, timer, [timer, file, before] {
        auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
        if (dialog == nullptr) return;
        timer->stop();
        timer->deleteLater();
        dialog->findChild<QLineEdit*>(QStringLiteral("fileNameEdit"))->setText(file);
        if (before) before();
        QMetaObject::invokeMethod(dialog, "accept");
    });
    timer->start(60);
}

SimulationDialog* openSimulation(Shown& shown) {
    QTest::keyClick(&shown.window, Qt::Key_O, Qt::ControlModifier | Qt::ShiftModifier);
    auto* dialog = shown.window.findChild<SimulationDialog*>();
    if (dialog == nullptr || !QTest::qWaitForWindowExposed(dialog)) qFatal("the dialog does not appear");
    return dialog;
}

void pick(SimulationDialog* dialog, const char* name, int entry) {
    auto* box = dialog->findChild<QComboBox*>(QString::fromLatin1(name));
    if (box == nullptr) qFatal("no choice %s", name);
    box->setFocus();
    QTest::keyClick(box, Qt::Key_Home);
    for (int i = 0; i < entry; ++i) QTest::keyClick(box, Qt::Key_Down);
}

QString preview(SimulationDialog* dialog) {
    return dialog->findChild<QLabel*>("optionsPreview")->text();
}

void leave(Shown& shown, SimulationDialog* dialog, bool accept) {
    if (accept)
        QTest::mouseClick(dialog->findChild<QPushButton*>("okButton"), Qt::LeftButton);
    else
        QTest::keyClick(dialog, Qt::Key_Escape);
    if (!shown.waitUntilIdle()) qFatal("the window does not come to rest");
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    shown.window.activateWindow();
    if (!QTest::qWaitForWindowActive(&shown.window)) qFatal("the window does not get the keys back");
}

double simulated(const Document& document, const Placement& placement) {
    return Simulator(document.problem(), document.job().simulation).run(placement).step_time_s;
}

}  // namespace placewright::test
