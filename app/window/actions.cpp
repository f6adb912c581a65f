// SPDX-License-Identifier: MIT
#include "app/window/actions.hpp"

#include <utility>
#include <vector>

#include <QMenuBar>
#include <QUndoStack>

#include "app/window/learn/learning.hpp"
#include "app/window/main_window.hpp"
#include "app/window/settings.hpp"
#include "app/window/workspace_keeper.hpp"
#include "widgets/archive_view.hpp"
#include "widgets/cdf_plot.hpp"
#include "widgets/curve_plot.hpp"
#include "widgets/distribution_view.hpp"
#include "widgets/find_bar.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/learning_plot.hpp"
#include "widgets/measured_panel.hpp"
#include "widgets/measured_plot.hpp"

namespace placewright {

std::span<const ActionInfo> Actions::table() {
    using enum ActionInfo::Needs;
    using Id = ActionId;
    using Menu = MenuId;
    constexpr auto kCtrlShift = Qt::CTRL | Qt::SHIFT;
    static const std::vector<ActionInfo> rows{
        {.id = Id::open,
         .menu = Menu::file,
         .text = QT_TR_NOOP("&Open…"),
         .keys = {QKeySequence::Open},
         .tip = QT_TR_NOOP("Open a network, machine, placement or trace file"),
         .does = QT_TR_NOOP("open"),
         .run = [](MainWindow& w) { w.openDialog(); }},
        {.id = Id::newWindow,
         .menu = Menu::file,
         .text = QT_TR_NOOP("&New window"),
         .keys = {QKeySequence::New},
         .tip = QT_TR_NOOP("Open another window, with a network and searches of its own"),
         .does = QT_TR_NOOP("new window"),
         .run = [](MainWindow& w) { w.openNewWindow(); }},
        {.id = Id::reload,
         .menu = Menu::file,
         .text = QT_TR_NOOP("Re&load"),
         .keys = {Qt::CTRL | Qt::Key_R},
         .tip = QT_TR_NOOP("Read the files of network and machine again; the placement stays"),
         .does = QT_TR_NOOP("reload the files of network and machine"),
         .needs = network,
         .run = [](MainWindow& w) { w.m_document->reload(); }},
        {.id = Id::save,
         .menu = Menu::file,
         .text = QT_TR_NOOP("&Save"),
         .keys = {QKeySequence::Save},
         .tip = QT_TR_NOOP("Save placement, runs and view in a workspace file"),
         .does = QT_TR_NOOP("save the workspace"),
         .needs = network,
         .separated = true,
         .run = [](MainWindow& w) { w.m_keeper->save(); }},
        {.id = Id::saveAs,
         .menu = Menu::file,
         .text = QT_TR_NOOP("Save &as…"),
         .keys = {kCtrlShift | Qt::Key_S},
         .tip = QT_TR_NOOP("Save placement, runs and view in another workspace file"),
         .does = QT_TR_NOOP("save it in another file"),
         .needs = network,
         .run = [](MainWindow& w) { w.m_keeper->saveAs(); }},
        {.id = Id::reopenLast,
         .menu = Menu::file,
         .text = QT_TR_NOOP("Reopen the last session at st&art"),
         .tip = QT_TR_NOOP("Begin with what the window that was closed last had open; else it is offered"),
         .toggle = true,
         .run = [](MainWindow& w) { settings::reopenLast.set(w.action(ActionId::reopenLast)->isChecked()); }},
        {.id = Id::startPage,
         .menu = Menu::file,
         .text = QT_TR_NOOP("&Start page"),
         .keys = {kCtrlShift | Qt::Key_H},
         .tip = QT_TR_NOOP("Show recent files and bundled networks; the open network stays open"),
         .does = QT_TR_NOOP("start page and back"),
         .needs = network,
         .run = [](MainWindow& w) { w.toggleStart(); }},
        {.menu = Menu::file, .text = QT_TR_NOOP("Open &recent"), .opens = Menu::recent},
        {.menu = Menu::file, .text = QT_TR_NOOP("Open &bundled network"), .opens = Menu::bundled},
        {.menu = Menu::file, .text = QT_TR_NOOP("&Export"), .separated = true, .opens = Menu::exports},
        {.id = Id::exportPlacement,
         .menu = Menu::exports,
         .text = QT_TR_NOOP("&Placement…"),
         .keys = {kCtrlShift | Qt::Key_X},
         .tip = QT_TR_NOOP("Write the current placement as JSON"),
         .does = QT_TR_NOOP("export the placement"),
         .needs = network,
         .run = [](MainWindow& w) { w.exportPlacement(); }},
        {.id = Id::exportForTraining,
         .menu = Menu::exports,
         .text = QT_TR_NOOP("Placement for &training…"),
         .keys = {kCtrlShift | Qt::Key_E},
         .tip = QT_TR_NOOP("Write the current placement in a format that a training run loads: device map, "
                           "split points, …"),
         .does = QT_TR_NOOP("export for a training run"),
         .needs = network,
         .run = [](MainWindow& w) { w.exportForTraining(); }},
        {.id = Id::graphPicture,
         .menu = Menu::exports,
         .text = QT_TR_NOOP("Picture of the &graph…"),
         .tip = QT_TR_NOOP("Write the whole graph as PNG or SVG"),
         .needs = network,
         .separated = true,
         .run =
             [](MainWindow& w) {
                 w.exportView(QStringLiteral("graph"), w.m_graph->wholeSize(),
                              [&w](QPainter& painter, const QRectF& target) {
                                  w.m_graph->renderWhole(painter, target);
                              });
             }},
        {.id = Id::timelinePicture,
         .menu = Menu::exports,
         .text = QT_TR_NOOP("Picture of the &timeline…"),
         .tip = QT_TR_NOOP("Write the timeline as PNG or SVG"),
         .needs = network,
         .run =
             [](MainWindow& w) {
                 w.exportView(QStringLiteral("timeline"), w.m_timeline->size(),
                              [&w](QPainter& painter, const QRectF&) { w.m_timeline->render(&painter); });
             }},
        {.id = Id::curvePicture,
         .menu = Menu::exports,
         .text = QT_TR_NOOP("Picture of the &curve…"),
         .tip = QT_TR_NOOP("Write the learning curves as PNG or SVG"),
         .needs = network,
         .run = [](MainWindow& w) { w.exportPlot(QStringLiteral("curve"), w.m_curve); }},
        {.id = Id::learningPicture,
         .menu = Menu::exports,
         .text = QT_TR_NOOP("Picture of the &learning…"),
         .tip = QT_TR_NOOP("Write the learning plot of a policy as PNG or SVG"),
         .needs = network,
         .run = [](MainWindow& w) { w.exportPlot(QStringLiteral("learning"), w.m_learningPlot); }},
        {.id = Id::cdfPicture,
         .menu = Menu::exports,
         .text = QT_TR_NOOP("Picture of the C&DF…"),
         .tip = QT_TR_NOOP("Write the CDF of step times as PNG or SVG"),
         .needs = network,
         .run = [](MainWindow& w) { w.exportPlot(QStringLiteral("cdf"), w.m_cdf); }},
        {.id = Id::archivePicture,
         .menu = Menu::exports,
         .text = QT_TR_NOOP("Picture of the &archive…"),
         .tip = QT_TR_NOOP("Write the archive as PNG or SVG"),
         .needs = network,
         .run = [](MainWindow& w) { w.exportPlot(QStringLiteral("archive"), w.m_archive); }},
        {.id = Id::distributionPicture,
         .menu = Menu::exports,
         .text = QT_TR_NOOP("Picture of the d&istribution…"),
         .tip = QT_TR_NOOP("Write the distribution as PNG or SVG"),
         .needs = network,
         .run = [](MainWindow& w) { w.exportPlot(QStringLiteral("distribution"), w.m_distribution); }},
        {.id = Id::measuredPicture,
         .menu = Menu::exports,
         .text = QT_TR_NOOP("Picture of the &measured times…"),
         .tip = QT_TR_NOOP("Write the plot that the Measured panel shows, of ops or of steps, as PNG or SVG"),
         .needs = network,
         .run = [](MainWindow& w) { w.exportPlot(QStringLiteral("measured"), w.m_measured->shownPlot()); }},
        {.id = Id::quit,
         .menu = Menu::file,
         .text = QT_TR_NOOP("&Quit"),
         .keys = {QKeySequence::Quit},
         .tip = QT_TR_NOOP("Close the window"),
         .does = QT_TR_NOOP("close the window"),
         .separated = true,
         .run = [](MainWindow& w) { w.close(); }},

        {.id = Id::undo,
         .menu = Menu::edit,
         .text = QT_TR_NOOP("&Undo"),
         .keys = {QKeySequence::Undo},
         .does = QT_TR_NOOP("undo")},
        // Both usual shortcuts; QKeySequence::Redo is one of them, depending on the system.
        {.id = Id::redo,
         .menu = Menu::edit,
         .text = QT_TR_NOOP("&Redo"),
         .keys = {kCtrlShift | Qt::Key_Z, Qt::CTRL | Qt::Key_Y},
         .does = QT_TR_NOOP("redo")},
        {.id = Id::find,
         .menu = Menu::edit,
         .text = QT_TR_NOOP("&Find…"),
         .keys = {QKeySequence::Find},
         .tip = QT_TR_NOOP("Find ops by name, kind or scope"),
         .does = QT_TR_NOOP("find ops"),
         .needs = network,
         .separated = true,
         .run = [](MainWindow& w) { w.m_find->open(); }},
        {.menu = Menu::edit, .text = QT_TR_NOOP("&Move selection to"), .opens = Menu::moveTo},

        {.id = Id::fit,
         .menu = Menu::view,
         .text = QT_TR_NOOP("&Fit graph"),
         .keys = {Qt::CTRL | Qt::Key_0},
         .tip = QT_TR_NOOP("Show the whole graph"),
         .does = QT_TR_NOOP("show the whole graph"),
         .needs = network,
         .run = [](MainWindow& w) { w.m_graph->fit(); }},
        {.menu = Menu::view, .text = QT_TR_NOOP("Direction of the &graph"), .opens = Menu::direction},
        {.id = Id::directionAuto,
         .menu = Menu::direction,
         .text = QT_TR_NOOP("&As the panel is shaped"),
         .tip = QT_TR_NOOP("Draw the graph from left to right in a wide panel, else from top to bottom"),
         .needs = network,
         .toggle = true,
         .run = [](MainWindow& w) { w.chooseDirection(); }},
        {.id = Id::directionRight,
         .menu = Menu::direction,
         .text = QT_TR_NOOP("&Left to right"),
         .tip = QT_TR_NOOP("Draw the graph from left to right"),
         .needs = network,
         .toggle = true,
         .run = [](MainWindow& w) { w.chooseDirection(); }},
        {.id = Id::directionDown,
         .menu = Menu::direction,
         .text = QT_TR_NOOP("&Top to bottom"),
         .tip = QT_TR_NOOP("Draw the graph from top to bottom"),
         .needs = network,
         .toggle = true,
         .run = [](MainWindow& w) { w.chooseDirection(); }},
        {.id = Id::zoomToSelection,
         .menu = Menu::view,
         .text = QT_TR_NOOP("Zoom to &selection"),
         .keys = {Qt::CTRL | Qt::Key_E},
         .tip = QT_TR_NOOP("Show the selected ops"),
         .does = QT_TR_NOOP("zoom to the selection"),
         .needs = network,
         .run = [](MainWindow& w) { w.m_graph->zoomTo(w.m_document->selection()); }},
        {.id = Id::openModule,
         .menu = Menu::view,
         .text = QT_TR_NOOP("&Open module"),
         .keys = {Qt::CTRL | Qt::Key_D},
         .tip = QT_TR_NOOP("Draw the contents of the selected modules (stacks of boxes); a double-click does "
                           "the same"),
         .does = QT_TR_NOOP("open a module"),
         .needs = network,
         .separated = true,
         .run = [](MainWindow& w) { w.openModule(); }},
        {.id = Id::closeModule,
         .menu = Menu::view,
         .text = QT_TR_NOOP("C&lose module"),
         .keys = {kCtrlShift | Qt::Key_D},
         .tip = QT_TR_NOOP("Draw each module around the selection as one box"),
         .does = QT_TR_NOOP("close a module"),
         .needs = network,
         .run = [](MainWindow& w) { w.closeModule(); }},
        {.id = Id::closeAllModules,
         .menu = Menu::view,
         .text = QT_TR_NOOP("Close all &modules"),
         .tip = QT_TR_NOOP("Draw each outermost module as one box"),
         .needs = network,
         .run =
             [](MainWindow& w) {
                 if (const auto& scene = w.m_document->scene())
                     w.m_document->setClosedModules(overview(scene->modules, 0));
             }},
        {.id = Id::openAllModules,
         .menu = Menu::view,
         .text = QT_TR_NOOP("Open all mod&ules"),
         .tip = QT_TR_NOOP("Draw all ops"),
         .needs = network,
         .run = [](MainWindow& w) { w.m_document->setClosedModules({}); }},
        {.id = Id::path,
         .menu = Menu::view,
         .text = QT_TR_NOOP("&Critical path in the timeline"),
         .keys = {kCtrlShift | Qt::Key_P},
         .tip = QT_TR_NOOP("Draw the critical path over the timeline: each part waits for the one before"),
         .does = QT_TR_NOOP("critical path in the timeline"),
         .needs = network,
         .separated = true,
         .toggle = true,
         .run = [](MainWindow& w) { w.showWhy(); }},
        {.id = Id::pathColour,
         .menu = Menu::view,
         .text = QT_TR_NOOP("Colour the graph by c&ritical path"),
         .keys = {kCtrlShift | Qt::Key_K},
         .tip = QT_TR_NOOP("Draw only the ops of the critical path in full colour"),
         .does = QT_TR_NOOP("critical path in the graph"),
         .needs = network,
         .toggle = true,
         .run = [](MainWindow& w) { w.showWhy(); }},
        {.menu = Menu::view, .text = QT_TR_NOOP("&Measured runs"), .opens = Menu::measured},
        {.id = Id::measuredBelow,
         .menu = Menu::measured,
         .text = QT_TR_NOOP("&Below the simulated ones"),
         .tip = QT_TR_NOOP("Draw what was measured in strips below what is simulated"),
         .needs = network,
         .toggle = true,
         .run = [](MainWindow& w) { w.showMeasuredLayout(); }},
        {.id = Id::measuredOverlay,
         .menu = Menu::measured,
         .text = QT_TR_NOOP("&Over the simulated ones"),
         .tip = QT_TR_NOOP("Draw what was measured as outlines over what is simulated"),
         .needs = network,
         .toggle = true,
         .run = [](MainWindow& w) { w.showMeasuredLayout(); }},
        {.id = Id::measuredOff,
         .menu = Menu::measured,
         .text = QT_TR_NOOP("&Not in the timeline"),
         .tip = QT_TR_NOOP("Draw only what is simulated in the timeline"),
         .needs = network,
         .toggle = true,
         .run = [](MainWindow& w) { w.showMeasuredLayout(); }},
        {.id = Id::restoreLayout,
         .menu = Menu::view,
         .text = QT_TR_NOOP("Restore &default layout"),
         .tip = QT_TR_NOOP("Move all panels back to their original positions"),
         .needs = network,
         .separated = true,
         .run = [](MainWindow& w) { w.restoreLayout(); }},

        {.id = Id::optimize,
         .menu = Menu::run,
         .text = QT_TR_NOOP("&Optimize"),
         .keys = {Qt::Key_F5},
         .tip = QT_TR_NOOP("Search for a better placement"),
         .does = QT_TR_NOOP("optimize or stop"),
         .needs = network,
         .run = [](MainWindow& w) { w.optimizeOrStop(); }},
        {.id = Id::beside,
         .menu = Menu::run,
         .text = QT_TR_NOOP("Start a&nother search"),
         .keys = {Qt::SHIFT | Qt::Key_F5},
         .tip = QT_TR_NOOP("Start a search with the toolbar's settings while other searches run"),
         .does = QT_TR_NOOP("optimize beside"),
         .needs = more,
         .run = [](MainWindow& w) { w.optimize(); }},
        {.id = Id::pause,
         .menu = Menu::run,
         .text = QT_TR_NOOP("&Pause"),
         .keys = {Qt::Key_F6},
         .tip = QT_TR_NOOP("Pause all searches (their results are unaffected)"),
         .does = QT_TR_NOOP("pause or resume"),
         .needs = more,
         .run = [](MainWindow& w) { w.pauseOrResume(); }},
        {.id = Id::algorithmOptions,
         .menu = Menu::run,
         .text = QT_TR_NOOP("&Algorithm options…"),
         .keys = {Qt::CTRL | Qt::Key_Comma},
         .tip = QT_TR_NOOP("Options of the chosen algorithm"),
         .does = QT_TR_NOOP("options of the algorithm"),
         .run = [](MainWindow& w) { w.editOptions(); }},
        {.id = Id::saveSearch,
         .menu = Menu::run,
         .text = QT_TR_NOOP("Sa&ve search…"),
         .tip = QT_TR_NOOP("Save the selected (or latest) run to resume it later"),
         .needs = more,
         .separated = true,
         .run = [](MainWindow& w) { w.saveSearch(); }},
        {.id = Id::resumeSearch,
         .menu = Menu::run,
         .text = QT_TR_NOOP("Res&ume a search…"),
         .tip = QT_TR_NOOP("Resume a search saved here or by placewright-cli optimize --scores"),
         .needs = network,
         .run = [](MainWindow& w) { w.resumeSearch(); }},
        {.id = Id::resumeRun,
         .menu = Menu::run,
         .text = QT_TR_NOOP("Con&tinue the selected search"),
         .tip = QT_TR_NOOP("Go on with a search that was stopped, or that the workspace brought"),
         .needs = network,
         .run = [](MainWindow& w) { w.resumeSelectedRun(); }},
        {.id = Id::benchmark,
         .menu = Menu::run,
         .text = QT_TR_NOOP("&Benchmark…"),
         .keys = {Qt::Key_F7},
         .tip = QT_TR_NOOP("Run steps of the placement on screen for real, on this computer"),
         .does = QT_TR_NOOP("benchmark or stop"),
         .needs = network,
         .separated = true,
         .run = [](MainWindow& w) { w.benchmarkOrStop(); }},
        {.id = Id::measureBest,
         .menu = Menu::run,
         .text = QT_TR_NOOP("&Measure the best placements…"),
         .keys = {Qt::SHIFT | Qt::Key_F7},
         .tip =
             QT_TR_NOOP("Run the best placements of a run for real, on this computer, and show the fastest"),
         .does = QT_TR_NOOP("measure the best placements"),
         .needs = network,
         .run = [](MainWindow& w) { w.measureBest(); }},
        {.id = Id::profile,
         .menu = Menu::run,
         .text = QT_TR_NOOP("Pro&file this network…"),
         .tip = QT_TR_NOOP("Measure the ops of the network on this computer, to simulate with these times"),
         .needs = network,
         .run = [](MainWindow& w) { w.openProfile(); }},
        {.id = Id::calibrate,
         .menu = Menu::run,
         .text = QT_TR_NOOP("Calibrate &devices…"),
         .tip =
             QT_TR_NOOP("Fit the costs of the machine's devices to measured times of ops, from a profile or "
                        "a trace"),
         .needs = network,
         .run = [](MainWindow& w) { w.openCalibration(); }},
        {.id = Id::simulation,
         .menu = Menu::run,
         .text = QT_TR_NOOP("&Simulation…"),
         .keys = {kCtrlShift | Qt::Key_O},
         .tip = QT_TR_NOOP("Set how a step is simulated: batches, training or inference, op times, memory"),
         .does = QT_TR_NOOP("simulation"),
         .separated = true,
         .run = [](MainWindow& w) { w.editSimulation(); }},
        {.id = Id::proof,
         .menu = Menu::run,
         .text = QT_TR_NOOP("&Tighten the lower bound"),
         .tip = QT_TR_NOOP("Prove how far from optimal a placement can be, with linear and integer programs, "
                           "in the background for up to a minute"),
         .toggle = true,
         .run = [](MainWindow& w) { w.m_document->setProofWanted(w.action(ActionId::proof)->isChecked()); }},
        {.id = Id::compare,
         .menu = Menu::run,
         .text = QT_TR_NOOP("&Compare algorithms…"),
         .keys = {kCtrlShift | Qt::Key_C},
         .tip = QT_TR_NOOP("Compare algorithms on several networks, machines and seeds"),
         .does = QT_TR_NOOP("compare"),
         .separated = true,
         .run = [](MainWindow& w) { w.openCompare(); }},
        {.id = Id::experiment,
         .menu = Menu::run,
         .text = QT_TR_NOOP("&Results of an experiment…"),
         .tip = QT_TR_NOOP("Show the tables and plots that placewright-cli experiment wrote into a folder"),
         .run = [](MainWindow& w) { w.openExperiment(); }},

        {.id = Id::train,
         .menu = Menu::learn,
         .text = QT_TR_NOOP("&Train a policy…"),
         .keys = {kCtrlShift | Qt::Key_L},
         .tip = QT_TR_NOOP("Train a policy to place a family of networks, a folder of networks or the open "
                           "network"),
         .does = QT_TR_NOOP("learn"),
         .run = [](MainWindow& w) { w.m_learning->train(); }},
        {.id = Id::predict,
         .menu = Menu::learn,
         .text = QT_TR_NOOP("&Predict with a policy file…"),
         .tip = QT_TR_NOOP("Place the open network with a saved policy, without a search"),
         .needs = network,
         .run = [](MainWindow& w) { w.m_learning->choosePolicy(); }},
        {.id = Id::predictTrained,
         .menu = Menu::learn,
         .text = QT_TR_NOOP("Predict with the policy of the training &window"),
         .tip = QT_TR_NOOP("Place the open network with the policy of the training window in its current "
                           "state"),
         .needs = more,
         .run = [](MainWindow& w) { w.m_learning->predictTrained(); }},

        {.id = Id::keys,
         .menu = Menu::help,
         .text = QT_TR_NOOP("&Keyboard and mouse"),
         .keys = {QKeySequence::HelpContents},
         .tip = QT_TR_NOOP("Show the keys and mouse gestures for moving around and editing"),
         .does = QT_TR_NOOP("keyboard and mouse"),
         .run = [](MainWindow& w) { w.showKeys(); }},
        {.id = Id::about,
         .menu = Menu::help,
         .text = QT_TR_NOOP("&About Placewright"),
         .tip = QT_TR_NOOP("Version and licence"),
         .run = [](MainWindow& w) { w.showAbout(); }},
    };
    return rows;
}

std::span<const GestureInfo> Actions::gestures() {
    static constexpr GestureInfo rows[]{
        {"anywhere", "Ctrl+1 to Ctrl+9", "open a recent file"},
        {"graph", "drag, wheel, F or Home", "pan, zoom, show all"},
        {"graph", "+ and -, Page Up and Down", "zoom, pan by a page"},
        {"graph", "click, Ctrl+click, Shift+drag, Ctrl+A, Esc", "select one, more, a rectangle, all, none"},
        {"graph", "arrows", "select a neighbour of the selected op, else pan"},
        {"graph", "drag ops, 1 to 9", "move ops to a device"},
        {"graph", "double-click or Return; Backspace", "open a module; close it"},
        {"timeline", "Ctrl+wheel, W, S; A, D or drag; F or Home", "zoom; pan; show all"},
        {"timeline", "Shift+drag", "measure a span of time"},
        {"timeline", ", and .", "previous and next op of the lane"},
        {"timeline", "drag ops, 1 to 9", "move ops to a device"},
        {"ops", "click, Ctrl+click, Shift+click; double-click or Return; Esc",
         "select one, more, a range; show in the graph; none"},
        {"measured", "click; wheel, drag; double-click", "select an op; zoom, pan; show all"},
        {"measured placements", "click, double-click or Return", "select, show the placement"},
        {"runs", "double-click or Return; Space; Delete", "show the placement; pause or resume; remove"},
        {"suggestions", "double-click or Return", "make the move"},
        {"archive, distribution", "arrows, Return",
         "move over the cells or groups; show the elite, select the ops"},
        {"find bar", "Return, Shift+Return, Esc", "next match, previous match, close"},
    };
    return rows;
}

QString Actions::keySheet() {
    QStringList actions;
    for (const ActionInfo& info : table()) {
        QStringList keys;
        for (const QKeySequence& key : info.keys) {
            if (!key.isEmpty()) keys << key.toString(QKeySequence::NativeText);
        }
        if (!keys.isEmpty()) actions << tr("%1: %2").arg(keys.join(tr(" or ")), tr(info.does));
    }
    QString sheet = tr("<b>Menus</b><br>%1").arg(actions.join(QStringLiteral("; ")).toHtmlEscaped());
    QByteArray where;
    for (const GestureInfo& gesture : gestures()) {
        if (where != gesture.where) {
            where = gesture.where;
            QString title = tr(gesture.where);
            title[0] = title[0].toUpper();
            sheet += QStringLiteral("<br><br><b>%1</b>").arg(title);
        }
        sheet +=
            QStringLiteral("<br>") + tr("%1: %2").arg(tr(gesture.input), tr(gesture.does)).toHtmlEscaped();
    }
    return sheet;
}

QString tipWithKeys(const QString& tip, const QList<QKeySequence>& keys) {
    const QKeySequence key = keys.value(0);
    return key.isEmpty() ? tip : Actions::tr("%1 (%2)").arg(tip, key.toString(QKeySequence::NativeText));
}

Actions::Actions(MainWindow& window) {
    const std::pair<MenuId, QString> bar[]{{MenuId::file, tr("&File")},   {MenuId::edit, tr("&Edit")},
                                           {MenuId::view, tr("&View")},   {MenuId::run, tr("&Run")},
                                           {MenuId::learn, tr("&Learn")}, {MenuId::help, tr("&Help")}};
    for (const auto& [id, title] : bar)
        m_menus[static_cast<std::size_t>(id)] = window.menuBar()->addMenu(title);
    for (const ActionInfo& info : table()) {
        QMenu* menu = this->menu(info.menu);
        if (info.separated) menu->addSeparator();
        if (info.opens != MenuId::count) {
            m_menus[static_cast<std::size_t>(info.opens)] = menu->addMenu(tr(info.text));
        } else {
            m_actions[static_cast<std::size_t>(info.id)] = make(info, window);
        }
    }
}

QAction* Actions::make(const ActionInfo& info, MainWindow& window) {
    QAction* action = nullptr;
    if (info.id == ActionId::undo) {
        action = window.m_document->undoStack()->createUndoAction(&window, tr(info.text));
    } else if (info.id == ActionId::redo) {
        action = window.m_document->undoStack()->createRedoAction(&window, tr(info.text));
    } else {
        action = new QAction(tr(info.text), &window);
        action->setToolTip(tipWithKeys(tr(info.tip), info.keys));
        action->setCheckable(info.toggle);
        QObject::connect(action, info.toggle ? &QAction::toggled : &QAction::triggered, &window,
                         [&window, run = info.run] { run(window); });
        if (info.needs == ActionInfo::Needs::more) action->setEnabled(false);
    }
    // Some standard keys are empty on some systems.
    QList<QKeySequence> keys = info.keys;
    keys.removeIf([](const QKeySequence& key) { return key.isEmpty(); });
    action->setShortcuts(keys);
    menu(info.menu)->addAction(action);
    return action;
}

void Actions::setNetworkOpen(bool open) const {
    for (const ActionInfo& info : table()) {
        if (info.needs == ActionInfo::Needs::network) (*this)[info.id]->setEnabled(open);
    }
}

}  // namespace placewright
