// SPDX-License-Identifier: MIT
#include "app/window/main_window.hpp"

#include <algorithm>
#include <cmath>

#include <QAction>
#include <QActionGroup>
#include <QCloseEvent>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <QScrollArea>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "app/window/compare/compare_window.hpp"
#include "app/window/computer_finder.hpp"
#include "app/window/dialogs/benchmark_dialog.hpp"
#include "app/window/dialogs/best_dialog.hpp"
#include "app/window/dialogs/calibration_dialog.hpp"
#include "app/window/dialogs/profile_dialog.hpp"
#include "app/window/dialogs/search_options_dialog.hpp"
#include "app/window/dialogs/simulation_dialog.hpp"
#include "app/window/gallery.hpp"
#include "app/window/learn/learning.hpp"
#include "app/window/offer_bar.hpp"
#include "app/window/op_drag.hpp"
#include "app/window/panels.hpp"
#include "app/window/questions.hpp"
#include "app/window/settings.hpp"
#include "app/window/status_line.hpp"
#include "app/window/tool_bars.hpp"
#include "app/window/workspace_keeper.hpp"
#include "core/algorithms.hpp"
#include "core/io/shipped.hpp"
#include "widgets/archive_view.hpp"
#include "widgets/cdf_plot.hpp"
#include "widgets/curve_plot.hpp"
#include "widgets/device_panel.hpp"
#include "widgets/distribution_view.hpp"
#include "widgets/find_bar.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/learning_plot.hpp"
#include "widgets/measured_panel.hpp"
#include "widgets/message_bar.hpp"
#include "widgets/ops_view.hpp"
#include "widgets/plain_text.hpp"
#include "widgets/quantities.hpp"
#include "widgets/runs_view.hpp"
#include "widgets/selection_panel.hpp"
#include "widgets/start_page.hpp"
#include "widgets/suggestions_panel.hpp"
#include "widgets/text.hpp"
#include "widgets/why_panel.hpp"

namespace placewright {
namespace {

constexpr int kRoomSettlesMs = 150;
/// Values of settings::graphDirection.
enum class GraphDirection { byShape, right, down };

/// Shows a text of our own that contains markup.
void showRichText(QWidget* parent, const QString& title, const QString& text) {
    QMessageBox box(QMessageBox::Information, title, text, QMessageBox::Ok, parent);
    box.setTextFormat(Qt::RichText);
    box.exec();
}

}  // namespace

MainWindow::MainWindow(QWidget* parent) : QMainWindow(parent), m_document(std::make_unique<Document>()) {
    makeLabelsPlain();
    setWindowTitle(tr("Placewright"));
    setAcceptDrops(true);
    resize(QSize(1400, 900).boundedTo(screen()->availableSize()));
    m_gallery = new Gallery(this);
    m_computer = new ComputerFinder(this);
    makeViews();
    makePanels();
    makeActions();
    m_bars = new ToolBars(this, m_document.get(), *m_actions, m_computer);
    m_bars->fillMachines();
    m_status = new StatusLine(m_document.get(), statusBar(), action(ActionId::proof));
    connect(m_status, &StatusLine::cancelRequested, m_document.get(), &Document::cancelLoading);
    connect(m_status, &StatusLine::stopMeasuringRequested, m_document.get(), &Document::cancelMeasuring);
    connect(m_status, &StatusLine::optionsChosen, m_document.get(), &Document::setOptions);
    m_keeper = new WorkspaceKeeper(
        m_document.get(), m_offers, this,
        {[this] { return workspaceView(); }, [this](const OptionValues& view) { showWorkspaceView(view); }});
    connect(m_keeper, &WorkspaceKeeper::failed, this, &MainWindow::showError);
    connect(m_keeper, &WorkspaceKeeper::saved, this, [this](const QString& file) {
        showInformation(tr("Saved in %1").arg(file));
        fillRecent();
    });
    connectDocument();
    connectViews();
    showGallery();
    connect(m_gallery, &Gallery::read, this, &MainWindow::showGallery);
    connect(m_gallery, &Gallery::failed, this, &MainWindow::showError);
    connect(m_computer, &ComputerFinder::failed, this, &MainWindow::showError);
    // A window that was closed before has left its place.
    if (!settings::geometry.isStored()) offerComputer();
    fillRecent();
    m_panels->setDefault();
    restoreSettings();
    showProblem();
}

MainWindow::~MainWindow() {
    // The document's last signals must not reach widgets that are being destroyed.
    m_document->disconnect(this);
    m_document->undoStack()->disconnect(this);
    delete m_keeper;
    delete m_profile;
    delete m_calibration;
    delete m_drag;
    delete m_compare;
    delete m_learning;
    m_document.reset();
}

void MainWindow::makeViews() {
    m_start = new StartPage;
    m_graph = new GraphView;
    m_graph->setEmptyText(tr("The graph appears here once its layout is ready."));
    m_find = new FindBar;
    m_find->hide();
    m_message = new MessageBar;
    m_offers = new OfferBar;
    m_devices = new DevicePanel;
    m_selection = new SelectionPanel;
    m_timeline = new TimelineView;
    m_runs = new RunsView;
    m_curve = new CurvePlot;
    m_learningPlot = new LearningPlot;
    m_cdf = new CdfPlot;
    m_archive = new ArchiveMap;
    m_distribution = new DistributionMap;
    m_why = new WhyPanel;
    m_suggestions = new SuggestionsPanel;
    m_ops = new OpsView;
    m_measured = new MeasuredPanel;

    auto* graphPage = new QWidget;
    auto* graphLayout = new QVBoxLayout(graphPage);
    graphLayout->setContentsMargins(0, 0, 0, 0);
    graphLayout->setSpacing(0);
    graphLayout->addWidget(m_graph, 1);
    graphLayout->addWidget(m_find);
    m_stack = new QStackedWidget;
    m_stack->addWidget(m_start);
    m_stack->addWidget(graphPage);
    auto* centre = new QWidget;
    auto* centreLayout = new QVBoxLayout(centre);
    centreLayout->setContentsMargins(0, 0, 0, 0);
    centreLayout->setSpacing(0);
    centreLayout->addWidget(m_message);
    centreLayout->addWidget(m_offers);
    centreLayout->addWidget(m_stack, 1);
    setCentralWidget(centre);

    m_drag = new OpDrag(m_document.get(), m_devices, m_timeline, this);
    for (OpView* view : std::initializer_list<OpView*>{m_graph, m_timeline, m_devices}) m_drag->watch(view);
}

void MainWindow::makePanels() {
    m_panels = new Panels(this);
    auto* devicesArea = new QScrollArea;
    devicesArea->setWidget(m_devices);
    devicesArea->setWidgetResizable(true);
    devicesArea->setFrameShape(QFrame::NoFrame);
    devicesArea->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* devices =
        m_panels->add(tr("Devices"), QStringLiteral("devicesDock"), devicesArea, Qt::LeftDockWidgetArea);
    auto* selection =
        m_panels->add(tr("Selection"), QStringLiteral("selectionDock"), m_selection, Qt::LeftDockWidgetArea);
    auto* runs = m_panels->add(tr("Runs"), QStringLiteral("runsDock"), m_runs, Qt::RightDockWidgetArea);
    auto* curve = m_panels->add(tr("Curve"), QStringLiteral("curveDock"), m_curve, Qt::RightDockWidgetArea);
    auto* archive =
        m_panels->add(tr("Archive"), QStringLiteral("archiveDock"), m_archive, Qt::RightDockWidgetArea);
    m_timelineDock =
        m_panels->add(tr("Timeline"), QStringLiteral("timelineDock"), m_timeline, Qt::BottomDockWidgetArea);
    auto* why = m_panels->add(tr("Why"), QStringLiteral("whyDock"), m_why, Qt::RightDockWidgetArea);
    auto* suggestions = m_panels->add(tr("Suggestions"), QStringLiteral("suggestionsDock"), m_suggestions,
                                      Qt::RightDockWidgetArea);
    auto* distribution = m_panels->add(tr("Distribution"), QStringLiteral("distributionDock"), m_distribution,
                                       Qt::RightDockWidgetArea);
    auto* learning = m_panels->add(tr("Learning"), QStringLiteral("learningDock"), m_learningPlot,
                                   Qt::RightDockWidgetArea);
    auto* cdf = m_panels->add(tr("CDF"), QStringLiteral("cdfDock"), m_cdf, Qt::RightDockWidgetArea);
    auto* ops = m_panels->add(tr("Ops"), QStringLiteral("opsDock"), m_ops, Qt::RightDockWidgetArea);
    auto* measured =
        m_panels->add(tr("Measured"), QStringLiteral("measuredDock"), m_measured, Qt::RightDockWidgetArea);
    m_opsPause.setSingleShot(true);
    m_opsPause.setInterval(400);
    connect(&m_opsPause, &QTimer::timeout, this, [this] {
        if (m_opsLate) showOps();
    });
    // A panel behind another tab counts as visible, its dock does not.
    connect(ops, &QDockWidget::visibilityChanged, m_document.get(), [this](bool visible) {
        m_opsSeen = visible;
        showOps();
    });
    connect(why, &QDockWidget::visibilityChanged, m_document.get(), [this](bool visible) {
        m_whySeen = visible;
        showWhy();
    });
    connect(suggestions, &QDockWidget::visibilityChanged, m_document.get(), [this](bool visible) {
        m_document->setMovesWanted(visible);
        if (visible) showMoves();
    });
    tabifyDockWidget(curve, learning);
    tabifyDockWidget(learning, cdf);
    tabifyDockWidget(cdf, archive);
    tabifyDockWidget(archive, distribution);
    // These panels have a tab stack of their own: more tabs in the other one would have no room for names.
    tabifyDockWidget(runs, suggestions);
    tabifyDockWidget(suggestions, why);
    tabifyDockWidget(why, ops);
    tabifyDockWidget(ops, measured);
    runs->raise();
    curve->raise();
    m_panels->arrange(devices, selection, runs, curve, m_timelineDock);
}

void MainWindow::makeActions() {
    m_actions = std::make_unique<Actions>(*this);
    for (const ShippedFile& shipped : shipped_networks()) {
        m_actions->menu(MenuId::bundled)
            ->addAction(titleOf(shipped), this,
                        [this, path = toQString(shipped.file.string())] { openPath(path); });
    }
    QMenu* moveTo = m_actions->menu(MenuId::moveTo);
    connect(moveTo, &QMenu::aboutToShow, this, &MainWindow::fillMoveTo);
    auto* layouts = new QActionGroup(this);
    for (const ActionId id : {ActionId::measuredBelow, ActionId::measuredOverlay, ActionId::measuredOff})
        layouts->addAction(action(id));
    auto* directions = new QActionGroup(this);
    for (const ActionId id : {ActionId::directionAuto, ActionId::directionRight, ActionId::directionDown})
        directions->addAction(action(id));
    m_timeline->addAction(action(ActionId::path));
    m_timeline->addAction(m_actions->menu(MenuId::measured)->menuAction());
    m_timeline->setContextMenuPolicy(Qt::ActionsContextMenu);
    m_graph->addActions({moveTo->menuAction(), action(ActionId::openModule), action(ActionId::closeModule),
                         action(ActionId::pathColour)});
    m_graph->setContextMenuPolicy(Qt::ActionsContextMenu);
    m_actions->menu(MenuId::view)->insertActions(action(ActionId::restoreLayout), m_panels->toggles());
    m_learning = new Learning(m_document.get(), m_optionsOf, *m_gallery, this);
    m_learning->setTrainedAction(action(ActionId::predictTrained));
    action(ActionId::proof)->setChecked(true);
}

QAction* MainWindow::action(ActionId id) const {
    return (*m_actions)[id];
}

void MainWindow::fillMoveTo() {
    QMenu* menu = m_actions->menu(MenuId::moveTo);
    menu->clear();
    if (!m_document->isOpen()) return;
    const auto devices = m_document->problem()->machine->devices();
    for (std::size_t i = 0; i < devices.size(); ++i) {
        QAction* action = menu->addAction(toQString(devices[i].name), this,
                                          [this, i] { moveSelectionTo(static_cast<int>(i) + 1); });
        action->setEnabled(!m_document->selection().empty());
    }
}

void MainWindow::openModule() {
    if (m_graph->canOpenModules()) return m_graph->openSelectedModules();
    showInformation(tr("No closed module is selected. Closed modules are drawn as stacks of boxes."));
}

void MainWindow::closeModule() {
    if (m_graph->canCloseModules()) return m_graph->closeSelectedModules();
    showInformation(tr("Select an op inside the module to close. Ops outside all modules cannot be closed."));
}

void MainWindow::restoreLayout() {
    m_panels->restoreDefault();
    m_bars->showOptions();
}

void MainWindow::showKeys() {
    showRichText(this, tr("Keyboard and mouse"), Actions::keySheet());
}

void MainWindow::showAbout() {
    showRichText(this, tr("About Placewright"),
                 tr("<b>Placewright %1</b><br>Decides on which device each operation of a neural "
                    "network runs.<br>MIT licence.")
                     .arg(QStringLiteral(PLACEWRIGHT_VERSION)));
}

void MainWindow::showError(const QString& text) {
    m_message->showMessage(MessageBar::Kind::error, text);
}

void MainWindow::showInformation(const QString& text) {
    m_message->showMessage(MessageBar::Kind::information, text);
}

void MainWindow::connectDocument() {
    Document* document = m_document.get();
    document->setLeaveQuestion([this] {
        return mayClose(tr("Open another network"),
                        tr("Runs and undo history of this network will be lost."));
    });
    document->setMissingQuestion([this](const QString& missing) {
        return QFileDialog::getOpenFileName(this, tr("Where is %1?").arg(QFileInfo(missing).fileName()),
                                            QFileInfo(missing).absolutePath());
    });
    document->setOtherWork([this] { return otherWork(); });
    document->setOpenQuestion([this](const OpenQuestion& question, ReadOptions& options) {
        return answerToOpen(this, question, options);
    });
    connect(document, &Document::problemChanged, this, &MainWindow::showProblem);
    connect(document, &Document::machineChanged, this, &MainWindow::showMachine);
    connect(document, &Document::sceneChanged, this, [this] {
        m_graph->setScene(m_document->scene(), m_document->problem()->machine);
        m_graph->setDevices(m_document->deviceOfOps());
        m_graph->setSelection(m_document->selection());
        m_graph->setMatches(m_matches);
        showWhy();
    });
    // While a panel is resized by hand the graph is scaled; it is laid out again afterwards.
    auto* const roomTimer = new QTimer(this);
    roomTimer->setObjectName(QStringLiteral("roomTimer"));
    roomTimer->setSingleShot(true);
    roomTimer->setInterval(kRoomSettlesMs);
    connect(m_graph, &GraphView::roomChanged, roomTimer, qOverload<>(&QTimer::start));
    connect(roomTimer, &QTimer::timeout, this, &MainWindow::fitRoom);
    connect(document, &Document::measuredChanged, this, &MainWindow::showMeasured);
    connect(document, &Document::measuringChanged, this, &MainWindow::showMeasuring);
    connect(document, &Document::measuredPlacementsChanged, this, &MainWindow::showMeasuredPlacements);
    connect(
        document, &Document::tracesUnmatched, this, [this](const QStringList& files, const QString& report) {
            for (const QString& file : files) openTraceWindow(file);
            QStringList names;
            for (const QString& file : files) names << QFileInfo(file).fileName();
            const QString text =
                (files.size() == 1
                     ? tr("%1 has no event of an op of %2, so that it is shown in a window of its own")
                     : tr("%1 have no event of an op of %2, so that each is shown in a window of its own"))
                    .arg(names.join(QStringLiteral(", ")), toQString(m_document->problem()->graph->name()));
            showInformation(report.isEmpty() ? text : report + QLatin1Char('\n') + text);
        });
    connect(document, &Document::placementChanged, this, &MainWindow::showPlacement);
    connect(document, &Document::timelineChanged, this, &MainWindow::showTimeline);
    connect(document, &Document::whyChanged, this, &MainWindow::showWhy);
    connect(document, &Document::remediesChanged, this, &MainWindow::showStatus);
    connect(document, &Document::movesChanged, this, &MainWindow::showMoves);
    connect(document, &Document::movesProgressed, m_suggestions, &SuggestionsPanel::showProgress);
    connect(document, &Document::boundChanged, this, [this] {
        const auto& bound = m_document->bound();
        m_curve->setLowerBound(bound && std::isfinite(bound->value_s) ? bound->value_s : 0);
        showStatus();
    });
    connect(document, &Document::selectionChanged, this, [this] {
        m_graph->setSelection(m_document->selection());
        m_graph->reveal(m_document->selection());
        m_timeline->setSelection(m_document->selection());
        m_measured->setSelection(m_document->selection());
        if (m_opsSeen) m_ops->setSelection(m_document->selection());
        if (m_document->isOpen()) showSelectionDetails();
    });
    connect(document, &Document::runsChanged, this, &MainWindow::showRuns);
    connect(document, &Document::loadingChanged, this, &MainWindow::showLoading);
    // The value before the last step is known only after undo or redo has finished.
    connect(document->undoStack(), &QUndoStack::indexChanged, this, &MainWindow::showStatus);
    // A message about an undone step no longer holds.
    connect(document->undoStack(), &QUndoStack::indexChanged, m_message,
            [this, before = 0](int index) mutable {
                if (index < before) m_message->dropInformation();
                before = index;
            });
    connect(document, &Document::message, this,
            [this](bool error, const QString& what) { error ? showError(what) : showInformation(what); });
}

void MainWindow::connectViews() {
    for (OpView* view : std::initializer_list<OpView*>{m_graph, m_timeline, m_devices}) {
        connect(view, &OpView::selectionEdited, m_document.get(), &Document::setSelection);
        connect(view, &OpView::deviceKeyPressed, this, &MainWindow::moveSelectionTo);
        view->setToolTipSource([this](OpId op) {
            if (!m_document->isOpen() || op >= m_document->problem()->ops || m_document->placement().empty())
                return QString();
            const Problem& problem = *m_document->problem();
            const QString text =
                summarizeOp(problem, op, m_document->placement()[problem.grouping.group_of[op]],
                            m_document->timeline().get());
            const auto& runs = m_document->measured();
            if (!runs || runs->simulated->problem != m_document->problem()) return text;
            const QString compared = measuredText(runs->comparison(m_measured->chosenRun()), problem, op);
            return compared.isEmpty() ? text : text + QStringLiteral("<br>") + compared;
        });
    }
    connect(m_graph, &GraphView::modulesRequested, m_document.get(), &Document::showModules);
    connect(m_graph, &OpView::opHovered, m_timeline, &TimelineView::setHovered);
    connect(m_timeline, &OpView::opHovered, m_graph, &GraphView::setHovered);
    const auto goTo = [this](OpId op) {
        m_document->setSelection({op});
        m_graph->zoomTo({op});
    };
    connect(m_selection, &SelectionPanel::opActivated, this, goTo);
    connect(m_why, &WhyPanel::opActivated, this, goTo);
    connect(m_why, &WhyPanel::segmentActivated, this, [this](std::size_t segment) {
        action(ActionId::path)->setChecked(true);
        m_timeline->zoomToSegment(segment);
    });
    connect(m_timeline, &TimelineView::peakActivated, this, [this](DeviceId device) {
        m_panels->raise(m_why);
        m_why->setWhy(m_document->why());
        m_why->showPeak(device);
    });
    connect(m_suggestions, &SuggestionsPanel::moveRequested, m_document.get(), &Document::moveOps);
    connect(m_suggestions, &SuggestionsPanel::selectionEdited, m_document.get(), &Document::setSelection);
    connect(m_suggestions, &SuggestionsPanel::opHovered, m_timeline, &TimelineView::setHovered);
    connect(m_suggestions, &SuggestionsPanel::opHovered, m_graph, &GraphView::setHovered);
    connect(m_ops, &OpsView::selectionEdited, m_document.get(), &Document::setSelection);
    connect(m_ops, &OpsView::opActivated, this, goTo);
    connect(m_ops, &OpsView::opHovered, m_timeline, &TimelineView::setHovered);
    connect(m_ops, &OpsView::opHovered, m_graph, &GraphView::setHovered);
    connect(m_measured, &MeasuredPanel::selectionEdited, m_document.get(), &Document::setSelection);
    connect(m_measured, &MeasuredPanel::runChosen, this, [this](int id) {
        m_measured->setFileKnown(!m_document->measuredFile(id).isEmpty());
        showOps();
        showSelectionDetails();
    });
    connect(m_measured, &MeasuredPanel::timesWanted, this,
            [this](int id) { editSimulation(m_document->measuredFile(id)); });
    connect(m_measured, &MeasuredPanel::windowWanted, this,
            [this](int id) { openTraceWindow(m_document->measuredFile(id)); });
    connect(m_measured, &MeasuredPanel::placementWanted, m_document.get(), &Document::showMeasuredPlacement);
    connect(m_measured, &MeasuredPanel::traceExportRequested, this, [this](int id) {
        const QString file = chooseExportFile(tr("Export trace"), QStringLiteral(".trace.json"),
                                              tr("Chrome trace (*.json)"), QStringLiteral(".json"));
        if (!file.isEmpty()) m_document->exportMeasured(id, file);
    });
    connect(m_measured, &MeasuredPanel::removeRequested, m_document.get(), &Document::removeMeasured);
    connect(m_measured, &MeasuredPanel::placementActivated, m_document.get(), &Document::showMeasuredBest);
    connect(m_measured, &MeasuredPanel::cancelRequested, m_document.get(), &Document::cancelMeasuring);
    connect(m_runs, &RunsView::measureRequested, this, &MainWindow::measureBest);
    connect(m_runs, &RunsView::runActivated, m_document.get(), &Document::showRun);
    connect(m_runs, &RunsView::cancelRequested, m_document.get(), &Document::cancelRun);
    connect(m_runs, &RunsView::pauseRequested, m_document.get(), &Document::pauseRun);
    connect(m_runs, &RunsView::removeRequested, m_document.get(), &Document::removeRun);
    connect(m_runs->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &MainWindow::showLearnt);
    connect(m_distribution, &DistributionMap::groupActivated, m_document.get(), &Document::setSelection);
    connect(m_archive, &ArchiveMap::eliteActivated, this,
            [this](const std::shared_ptr<const Placement>& placement, double stepTime) {
                if (m_document->isOpen() && placement->size() == m_document->problem()->groups) {
                    m_document->showPlacement(*placement,
                                              tr("Show elite with %1").arg(secondsText(stepTime)));
                }
            });
    connect(m_start, &StartPage::openRequested, this, &MainWindow::openDialog);
    connect(m_start, &StartPage::fileChosen, this, &MainWindow::openPath);
    connect(m_find, &FindBar::textChanged, this, &MainWindow::findOps);
    connect(m_find, &FindBar::stepRequested, this, [this](int direction) { stepMatch(direction, true); });
    connect(m_find, &FindBar::closed, this, [this] {
        findOps({});
        m_graph->setFocus();
    });
}

void MainWindow::chooseAlgorithm(const QString& id) {
    m_bars->chooseAlgorithm(id);
}

void MainWindow::chooseEvaluations(int evaluations) {
    m_bars->chooseEvaluations(evaluations);
}

void MainWindow::chooseSeed(int seed) {
    m_bars->chooseSeed(seed);
}

void MainWindow::optimizeOrStop() {
    if (!m_document->isSearching()) return optimize();
    for (const auto& run : m_document->runs()) run->cancel();
}

void MainWindow::optimize() {
    if (!m_document->isOpen()) return;
    RunRequest request;
    request.algorithm = m_bars->algorithm().toStdString();
    request.options = m_optionsOf[request.algorithm];
    request.budget.evaluations = static_cast<std::uint64_t>(m_bars->evaluations());
    request.seed = m_bars->seed();
    m_message->dropInformation();  // messages of the previous search
    m_document->startSearch(std::move(request));
    // After a click in the toolbar, keys go to the graph, which the search changes.
    if (m_stack->currentIndex() == 1) m_graph->setFocus();
}

void MainWindow::pauseOrResume() {
    const bool pause = !allPaused();
    for (const auto& run : m_document->runs()) {
        if (run->state() == Run::State::running) m_document->pauseRun(run->id(), pause);
    }
}

bool MainWindow::allPaused() const {
    return std::ranges::all_of(m_document->runs(), [](const auto& run) {
        return run->state() != Run::State::running || run->isPaused();
    });
}

void MainWindow::editOptions() {
    const AlgorithmInfo* algorithm = find_algorithm(m_bars->algorithm().toStdString());
    if (algorithm == nullptr) return;
    SearchOptionsDialog dialog(*algorithm, m_optionsOf[algorithm->id], this);
    if (dialog.exec() == QDialog::Accepted) m_optionsOf[algorithm->id] = dialog.values();
}

/// `trace`: a file to take op times from; `weights`: a file to take parameter sizes from; both may be empty.
void MainWindow::editSimulation(const QString& trace, const QString& weights) {
    auto* dialog = new SimulationDialog(m_document.get(), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    if (!trace.isEmpty()) dialog->addTrace(trace);
    if (!weights.isEmpty()) dialog->setParameters(weights);
    dialog->open();
}

void MainWindow::benchmarkOrStop() {
    if (m_document->measuring().running() != Measuring::Kind::none) {
        if (mayStopMeasuring(this, *m_document, m_askToStop_s)) m_document->cancelMeasuring();
        return;
    }
    if (!m_document->isOpen()) return;
    auto* dialog = new BenchmarkDialog(m_document.get(), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->open();
}

void MainWindow::measureBest(int run) {
    if (!m_document->isOpen() || m_document->measuring().running() != Measuring::Kind::none) return;
    auto* dialog = new BestDialog(m_document.get(), run > 0 ? run : m_runs->currentRun().value_or(0), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->open();
}

void MainWindow::openProfile() {
    if (!m_document->isOpen()) return;
    if (!m_profile) {
        m_profile = new ProfileDialog(m_document.get(), this);
        m_profile->setAttribute(Qt::WA_DeleteOnClose);
    }
    m_profile->show();
    m_profile->raise();
    m_profile->activateWindow();
}

void MainWindow::openCalibration() {
    if (!m_document->isOpen()) return;
    if (m_calibration == nullptr) {
        m_calibration = new CalibrationDialog(m_document.get(), this);
        connect(m_calibration, &CalibrationDialog::profileWanted, this, &MainWindow::openProfile);
    }
    m_calibration->show();
    m_calibration->raise();
    m_calibration->activateWindow();
}

void MainWindow::openCompare() {
    if (m_compare == nullptr) {
        m_compare = new CompareWindow(m_document.get(), m_optionsOf, *m_gallery, this);
        connect(m_compare, &CompareWindow::placementChosen, m_document.get(), &Document::showPlacement);
        connect(m_compare, &CompareWindow::resultsChanged, this,
                [this] { m_cdf->setData(m_compare->cdf()); });
    }
    m_compare->show();
    m_compare->prepare(m_bars->evaluations());
    m_compare->raise();
    m_compare->activateWindow();
}

void MainWindow::findOps(const QString& what) {
    m_matches.clear();
    m_currentMatch = -1;
    if (!what.isEmpty() && m_document->isOpen()) {
        const Graph& graph = *m_document->problem()->graph;
        for (OpId id = 0; id < graph.size(); ++id) {
            const Op& op = graph.op(id);
            if (op.phase != Phase::forward) continue;
            const bool found = toQString(op.name).contains(what, Qt::CaseInsensitive) ||
                               toQString(op.kind).contains(what, Qt::CaseInsensitive) ||
                               toQString(op.scope).contains(what, Qt::CaseInsensitive);
            if (found) m_matches.push_back(id);
        }
    }
    m_graph->setMatches(m_matches);
    m_find->setMatchCount(0, static_cast<int>(m_matches.size()));
    if (!m_matches.empty()) stepMatch(1, false);
}

/// `opens`: also opens the modules around the match; false while the user is still typing.
void MainWindow::stepMatch(int direction, bool opens) {
    if (m_matches.empty()) return;
    const auto count = static_cast<std::ptrdiff_t>(m_matches.size());
    m_currentMatch =
        m_currentMatch < 0 ? (direction > 0 ? 0 : count - 1) : (m_currentMatch + direction + count) % count;
    const OpId op = m_matches[static_cast<std::size_t>(m_currentMatch)];
    m_document->setSelection({op});
    m_graph->zoomTo({op});
    if (opens) m_graph->openRound(op);
    m_find->setMatchCount(static_cast<int>(m_currentMatch) + 1, static_cast<int>(count));
}

void MainWindow::moveSelectionTo(int number) {
    if (!m_document->isOpen() || number < 1) return;
    if (number > static_cast<int>(m_document->problem()->devices)) {
        showInformation(tr("This machine has %1 devices; there is no device %2.")
                            .arg(m_document->problem()->devices)
                            .arg(number));
        return;
    }
    m_document->moveOps(m_document->selection(), static_cast<DeviceId>(number - 1));
}

void MainWindow::changeEvent(QEvent* event) {
    QMainWindow::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && m_status != nullptr) showRuns();  // the icon of its button
}

void MainWindow::resizeEvent(QResizeEvent* event) {
    QMainWindow::resizeEvent(event);
    if (m_bars == nullptr) return;  // during construction
    m_bars->showOptions();
    if (event->oldSize().height() != event->size().height()) m_panels->fitTimeline();
}

void MainWindow::chooseDirection() {
    m_graph->fit();
    fitRoom();
}

/// Lays out the graph for the room that it has now.
void MainWindow::fitRoom() {
    if (!m_graph->isVisible() || !m_graph->isFitted()) return;
    using Direction = LayoutRoom::Direction;
    const QSizeF room = m_graph->roomForWhole();
    const double aspect = room.width() / room.height();
    const bool right = action(ActionId::directionRight)->isChecked() ||
                       (action(ActionId::directionAuto)->isChecked() && aspect > 1);
    m_document->setRoom({right ? Direction::right : Direction::down, aspect});
}

void MainWindow::restoreSettings() {
    restoreGeometry(settings::geometry.get());
    restoreState(settings::layout.get());
    m_bars->chooseAlgorithm(settings::algorithm.get());
    m_bars->chooseEvaluations(settings::evaluations.get());
    action(ActionId::reopenLast)->setChecked(settings::reopenLast.get());
    action(ActionId::proof)->setChecked(settings::tightenBound.get());
    const auto layout = static_cast<MeasuredLayout>(settings::measuredLayout.get());
    action(layout == MeasuredLayout::overlay ? ActionId::measuredOverlay
           : layout == MeasuredLayout::off   ? ActionId::measuredOff
                                             : ActionId::measuredBelow)
        ->setChecked(true);
    const auto direction = static_cast<GraphDirection>(settings::graphDirection.get());
    action(direction == GraphDirection::right  ? ActionId::directionRight
           : direction == GraphDirection::down ? ActionId::directionDown
                                               : ActionId::directionAuto)
        ->setChecked(true);
}

void MainWindow::saveSettings() {
    settings::geometry.set(saveGeometry());
    settings::layout.set(m_panels->layout());
    settings::algorithm.set(m_bars->algorithm());
    settings::evaluations.set(m_bars->evaluations());
    settings::tightenBound.set(action(ActionId::proof)->isChecked());
    settings::measuredLayout.set(
        static_cast<int>(action(ActionId::measuredOverlay)->isChecked() ? MeasuredLayout::overlay
                         : action(ActionId::measuredOff)->isChecked()   ? MeasuredLayout::off
                                                                        : MeasuredLayout::below));
    settings::graphDirection.set(
        static_cast<int>(action(ActionId::directionRight)->isChecked()  ? GraphDirection::right
                         : action(ActionId::directionDown)->isChecked() ? GraphDirection::down
                                                                        : GraphDirection::byShape));
}

QString MainWindow::otherWork() const {
    if (m_compare != nullptr && m_compare->isRunning())
        return tr(
            "A comparison runs, which would disturb what is measured: stop it in its window first "
            "(Ctrl+Shift+C), or wait for its end.");
    if (m_calibration != nullptr && m_calibration->isFitting())
        return tr(
            "Devices are calibrated, which would disturb what is measured: measure when that has ended.");
    if (m_learning->isWorking())
        return tr(
            "A policy is trained or tested, which would disturb what is measured: pause or stop that in "
            "its window first (Ctrl+Shift+L), or wait for its end.");
    return {};
}

bool MainWindow::mayClose(const QString& title, const QString& consequence) {
    QString lost = consequence;
    if (const std::size_t benchmarks = m_document->benchmarks(); benchmarks > 0)
        lost += QLatin1Char(' ') + (benchmarks == 1
                                        ? tr("So will 1 benchmark that is in no file.")
                                        : tr("So will %1 benchmarks that are in no file.").arg(benchmarks));
    return mayStopMeasuring(this, *m_document, m_askToStop_s) &&
           mayLeave(this, *m_document, m_compare, title, lost, [this](const std::function<void()>& show) {
               show();
               return m_keeper->save(true);
           });
}

void MainWindow::closeEvent(QCloseEvent* event) {
    if (!mayClose(tr("Close Placewright"), tr("Runs and undo history will be lost.")) ||
        (m_compare != nullptr && !m_compare->mayClose()) || !m_learning->mayClose())
        return event->ignore();
    m_document->cancelMeasuring();
    saveSettings();
    m_keeper->endSession();
    event->accept();
}

}  // namespace placewright
