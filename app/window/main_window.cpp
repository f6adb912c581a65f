// SPDX-License-Identifier: MIT
#include "app/window/main_window.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QCloseEvent>
#include <QComboBox>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QGridLayout>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QMessageBox>
#include <QScrollArea>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTableView>
#include <QToolButton>
#include <QUndoView>
#include <QVBoxLayout>

#include "app/window/budget_box.hpp"
#include "app/window/compare/compare_window.hpp"
#include "app/window/computer_finder.hpp"
#include "app/window/dialogs/benchmark_dialog.hpp"
#include "app/window/dialogs/best_dialog.hpp"
#include "app/window/dialogs/calibration_dialog.hpp"
#include "app/window/dialogs/profile_dialog.hpp"
#include "app/window/dialogs/search_options_dialog.hpp"
#include "app/window/dialogs/simulation_dialog.hpp"
#include "app/window/finder.hpp"
#include "app/window/gallery.hpp"
#include "app/window/graph_coloring.hpp"
#include "app/window/help/help_window.hpp"
#include "app/window/learn/learning.hpp"
#include "app/window/live_cdf.hpp"
#include "app/window/machine/machine_editor.hpp"
#include "app/window/machine/what_if_badge.hpp"
#include "app/window/machine/what_if_panel.hpp"
#include "app/window/move_menu.hpp"
#include "app/window/offer_bar.hpp"
#include "app/window/op_drag.hpp"
#include "app/window/pair/pair_window.hpp"
#include "app/window/panels.hpp"
#include "app/window/questions.hpp"
#include "app/window/settings.hpp"
#include "app/window/status_line.hpp"
#include "app/window/tool_bars.hpp"
#include "app/window/view_history.hpp"
#include "app/window/workspace_keeper.hpp"
#include "core/algorithms.hpp"
#include "core/io/shipped.hpp"
#include "widgets/archive_panel.hpp"
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
#include "widgets/theme.hpp"
#include "widgets/why_panel.hpp"

namespace placewright {
namespace {

constexpr int kRoomSettlesMs = 150;
/// Distributions and archives with their controls cannot be read in less.
constexpr int kReadableHeight = 400;
/// The titles and the selected rows of a table, separated by tabs.
QString rowsText(const QTableView& table) {
    const QAbstractItemModel& model = *table.model();
    QStringList lines;
    const auto line = [&](const auto& cell) {
        QStringList cells;
        for (int column = 0; column < model.columnCount(); ++column) {
            if (!table.isColumnHidden(column)) cells << cell(column);
        }
        lines << cells.join(QLatin1Char('\t'));
    };
    line([&](int column) { return model.headerData(column, Qt::Horizontal).toString(); });
    QModelIndexList rows = table.selectionModel()->selectedRows();
    std::ranges::sort(rows);
    for (const QModelIndex& row : rows)
        line([&](int column) { return row.siblingAtColumn(column).data().toString(); });
    return lines.join(QLatin1Char('\n'));
}

/// Values of settings::graphDirection.
enum class GraphDirection { byShape, right, down };

}  // namespace

MainWindow::MainWindow(QWidget* parent) : QMainWindow(parent), m_document(std::make_unique<Document>()) {
    makeLabelsPlain();
    applyTheme(static_cast<Theme>(settings::theme.get()));
    setWindowTitle(tr("Placewright"));
    setAcceptDrops(true);
    // The frame, whose size is known only later, shall be on the screen too.
    resize(QSize(1400, 900).boundedTo(screen()->availableSize() - QSize(16, 48)));
    m_gallery = new Gallery(this);
    m_computer = new ComputerFinder(this);
    m_help = new HelpKeys(this);
    makeViews();
    makePanels();
    makeActions();
    m_bars = new ToolBars(this, m_document.get(), *m_actions, m_computer);
    m_bars->fillMachines();
    m_status =
        new StatusLine(m_document.get(), statusBar(), action(ActionId::proof), action(ActionId::followBest));
    connect(m_status, &StatusLine::cancelRequested, m_document.get(), &Document::cancelLoading);
    connect(m_status, &StatusLine::stopMeasuringRequested, m_document.get(), &Document::cancelMeasuring);
    connect(m_status, &StatusLine::optionsChosen, m_document.get(), &Document::setOptions);
    m_keeper = new WorkspaceKeeper(m_document.get(), m_offers, this,
                                   {[this](WorkspaceSnapshot& snapshot) { addView(snapshot); },
                                    [this](const OpenedWorkspace& opened) { showView(opened); }});
    connect(m_keeper, &WorkspaceKeeper::failed, this, &MainWindow::showError);
    connect(m_keeper, &WorkspaceKeeper::ended, this, [this] {
        setEnabled(true);
        close();
    });
    connect(m_keeper, &WorkspaceKeeper::endFailed, this, [this] { setEnabled(true); });
    connect(m_keeper, &WorkspaceKeeper::saved, this, [this](const QString& file) {
        showInformation(tr("Saved in %1").arg(file));
        fillRecent();
    });
    connectDocument();
    connectViews();
    watchView();
    showGallery();
    connect(m_gallery, &Gallery::read, this, &MainWindow::showGallery);
    connect(m_gallery, &Gallery::failed, this, &MainWindow::showError);
    connect(m_computer, &ComputerFinder::failed, this, &MainWindow::showError);
    // A window that was closed before has left its place.
    if (!settings::geometry.isStored()) offerComputer();
    fillRecent();
    m_panels->setDefault();
    for (const QCheckBox* box : m_curve->findChildren<QCheckBox*>()) {
        if (box->isChecked()) m_curveChecks << box->objectName();
    }
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
    delete m_machineEditor;
    delete m_drag;
    if (m_compare != nullptr) m_compare->disconnect(this);
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
    m_cdf = new LiveCdf(m_document.get());
    m_archive = new ArchivePanel;
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
    centreLayout->addWidget(m_offers);
    // A message lies over the graph: nothing moves away under the mouse when it comes or goes.
    auto* under = new QGridLayout;
    under->addWidget(m_stack, 0, 0);
    under->addWidget(m_message, 0, 0, Qt::AlignTop);
    m_message->raise();
    centreLayout->addLayout(under, 1);
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
    m_whatIf = new WhatIfPanel(m_document.get());
    auto* machineArea = new QScrollArea;
    machineArea->setWidget(m_whatIf);
    machineArea->setWidgetResizable(true);
    machineArea->setFrameShape(QFrame::NoFrame);
    auto* machine =
        m_panels->add(tr("Machine"), QStringLiteral("machineDock"), machineArea, Qt::LeftDockWidgetArea);
    connect(m_whatIf, &WhatIfPanel::editRequested, this, &MainWindow::openMachineEditor);
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
    auto* steps = new QUndoView(m_document->undoStack());
    steps->setObjectName(QStringLiteral("history"));
    steps->setAccessibleName(tr("History of steps"));
    steps->setToolTip(tr("Every step with its step time; click one to go back or on to it"));
    steps->setEmptyLabel(tr("Start"));
    steps->setWordWrap(false);
    auto* history =
        m_panels->add(tr("History"), QStringLiteral("historyDock"), steps, Qt::LeftDockWidgetArea);
    // The text of a step gets its figures when it has been simulated.
    connect(m_document.get(), &Document::timelineChanged, steps->viewport(), qOverload<>(&QWidget::update));
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
    tabifyDockWidget(devices, machine);
    devices->raise();
    tabifyDockWidget(selection, history);
    selection->raise();
    connect(cdf, &QDockWidget::visibilityChanged, this, [this](bool visible) {
        m_cdf->setSeen(visible);
        if (visible) m_panels->heighten(m_cdf, kReadableHeight);
    });
    connect(archive, &QDockWidget::visibilityChanged, this, [this](bool visible) {
        if (visible) m_panels->heighten(m_archive, kReadableHeight);
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
    auto* moves = new MoveMenu(m_document.get(), moveTo);
    connect(moves, &MoveMenu::moveRequested, this,
            [this](DeviceId device) { m_document->moveOps(m_document->selection(), device); });
    connect(m_actions->menu(MenuId::pinTo), &QMenu::aboutToShow, this, &MainWindow::fillPinMenu);
    auto* layouts = new QActionGroup(this);
    for (const ActionId id : {ActionId::measuredBelow, ActionId::measuredOverlay, ActionId::measuredOff})
        layouts->addAction(action(id));
    auto* directions = new QActionGroup(this);
    for (const ActionId id : {ActionId::directionAuto, ActionId::directionRight, ActionId::directionDown})
        directions->addAction(action(id));
    auto* colors = new QActionGroup(this);
    for (const ActionId id : {ActionId::colorsDevice, ActionId::colorsKind, ActionId::colorsTime,
                              ActionId::colorsMemory, ActionId::colorsValues})
        colors->addAction(action(id));
    action(ActionId::colorsDevice)->setChecked(true);
    auto* themes = new QActionGroup(this);
    for (const ActionId id : {ActionId::themeSystem, ActionId::themeLight, ActionId::themeDark})
        themes->addAction(action(id));
    const ActionId theme = appliedTheme() == Theme::dark    ? ActionId::themeDark
                           : appliedTheme() == Theme::light ? ActionId::themeLight
                                                            : ActionId::themeSystem;
    action(theme)->setChecked(true);
    m_actions->menu(MenuId::goTo)->addActions(m_panels->goActions());
    connect(m_panels, &Panels::left, m_graph, qOverload<>(&QWidget::setFocus));
    m_timeline->addAction(action(ActionId::path));
    m_timeline->addAction(m_actions->menu(MenuId::measured)->menuAction());
    m_timeline->setContextMenuPolicy(Qt::ActionsContextMenu);
    const auto separator = [this] {
        auto* line = new QAction(this);
        line->setSeparator(true);
        return line;
    };
    QAction* const constraints = m_actions->menu(MenuId::constraints)->menuAction();
    m_graph->addActions({moveTo->menuAction(), constraints, separator(), action(ActionId::zoomToSelection),
                         action(ActionId::selectKind), action(ActionId::selectModule), separator(),
                         action(ActionId::openModule), action(ActionId::openEqualModules),
                         action(ActionId::closeModule), separator(), action(ActionId::copyNames),
                         action(ActionId::pathColour)});
    m_graph->setContextMenuPolicy(Qt::ActionsContextMenu);
    m_devices->addActions({moveTo->menuAction(), constraints, separator(), action(ActionId::zoomToSelection),
                           action(ActionId::copyNames)});
    m_devices->setContextMenuPolicy(Qt::ActionsContextMenu);
    m_actions->menu(MenuId::panels)->addActions(m_panels->toggles());
    m_learning = new Learning(m_document.get(), m_optionsOf, *m_gallery, this);
    m_learning->setTrainedAction(action(ActionId::predictTrained));
    statusBar()->addPermanentWidget(m_learning->back());
    auto* const badge = new WhatIfBadge(m_document.get(), this);
    connect(badge, &WhatIfBadge::clicked, this, &MainWindow::showWhatIf);
    statusBar()->addPermanentWidget(badge);
    action(ActionId::proof)->setChecked(true);
}

ArchiveMap* MainWindow::archiveMap() const {
    return m_archive->map();
}

QAction* MainWindow::action(ActionId id) const {
    return (*m_actions)[id];
}

void MainWindow::selectLike(std::string Op::*property, const QString& none) {
    if (!m_document->isOpen()) return;
    if (m_document->selection().empty()) return showInformation(none);
    const Graph& graph = *m_document->problem()->graph;
    std::set<std::string_view> wanted;
    for (const OpId op : m_document->selection()) wanted.insert(graph.op(op).*property);
    OpList ops;
    for (OpId id = 0; id < graph.size(); ++id) {
        const Op& op = graph.op(id);
        if (op.phase == Phase::forward && wanted.contains(op.*property)) ops.push_back(id);
    }
    m_document->setSelection(ops);
}

void MainWindow::selectKind() {
    selectLike(&Op::kind, tr("Select an op first: then all ops of its kind can be selected."));
}

void MainWindow::selectModule() {
    selectLike(&Op::scope, tr("Select an op first: then all ops of its module can be selected."));
}

void MainWindow::copyNames() {
    if (!m_document->isOpen()) return;
    const auto* table = qobject_cast<const QTableView*>(QApplication::focusWidget());
    if (table != nullptr && table != m_ops && table->selectionModel()->hasSelection())
        return QGuiApplication::clipboard()->setText(rowsText(*table));
    if (m_document->selection().empty())
        return showInformation(tr("Select the ops whose names to copy, or rows of a table."));
    QStringList names;
    for (const OpId op : m_document->selection())
        names << toQString(m_document->problem()->graph->op(op).name);
    QGuiApplication::clipboard()->setText(names.join(QLatin1Char('\n')));
}

void MainWindow::copyPicture() {
    QWidget* of = m_graph;
    for (QWidget* widget = QApplication::focusWidget(); widget != nullptr; widget = widget->parentWidget()) {
        if (const auto* dock = qobject_cast<QDockWidget*>(widget)) of = dock->widget();
    }
    QGuiApplication::clipboard()->setPixmap(of->grab());
    showInformation(tr("The picture is in the clipboard."));
}

/// Escape clears the selection wherever the focus is, unless the focused widget uses the key itself.
void MainWindow::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape && event->modifiers() == Qt::NoModifier && m_document->isOpen() &&
        !m_document->selection().empty())
        return m_document->setSelection({});
    QMainWindow::keyPressEvent(event);
}

void MainWindow::openModule() {
    if (!m_graph->canOpenModules()) return showNoClosedModule();
    m_graph->openSelectedModules();
}

void MainWindow::openEqualModules() {
    if (!m_graph->canOpenModules()) return showNoClosedModule();
    m_graph->openEqualModules();
}

void MainWindow::showNoClosedModule() {
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

void MainWindow::resetSettings() {
    QMessageBox question(QMessageBox::Question, tr("Reset settings"),
                         tr("Set theme, panels, axes, budget and all other choices back to their defaults?"),
                         QMessageBox::Reset | QMessageBox::Cancel, this);
    question.setInformativeText(tr("Open work, recent files and folders stay."));
    if (question.exec() != QMessageBox::Reset) return;
    settings::reset();
    applyTheme(static_cast<Theme>(settings::theme.get()));
    action(ActionId::themeSystem)->setChecked(true);
    for (QCheckBox* box : m_curve->findChildren<QCheckBox*>())
        box->setChecked(m_curveChecks.contains(box->objectName()));
    restoreSettings();
    restoreLayout();
    chooseDirection();
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
        const bool asks = m_document->unsaved().has_value();
        return mayClose(tr("Open another network"),
                        tr("Runs and undo history of this network will be lost.")) &&
               (asks || mayDropConstraints());
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
    connect(document, &Document::rulesBroken, this, &MainWindow::offerToDropRules);
    for (const auto signal :
         {&Document::machineChanged, &Document::loadingChanged, &Document::problemChanged})
        connect(document, signal, this, [this] {
            if (!m_document->hasBrokenRules()) m_offers->withdraw(kBrokenRules);
        });
    connect(document, &Document::sceneChanged, this, [this] {
        m_graph->setScene(m_document->scene(), m_document->problem()->machine);
        m_graph->setDevices(m_document->deviceOfOps());
        m_graph->setSelection(m_document->selection());
        showPadlocks();
        m_finder->mark();
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
    m_pinned = new PinnedPlacement(document);
    connect(m_pinned, &PinnedPlacement::changed, this, &MainWindow::showPinned);
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
    connect(m_runs, &RunsView::pinAsARequested, this, [this](int id) {
        m_pinned->pinRun(id);
        openPair();
    });
    connect(m_runs, &RunsView::removeRequested, m_document.get(), &Document::removeRun);
    connect(m_runs, &RunsView::followRequested, m_document.get(),
            [this](int id, bool alone) { alone ? m_document->followRun(id) : m_document->followBest(); });
    connect(m_runs, &RunsView::hideRequested, m_document.get(), &Document::hideRun);
    connect(m_runs, &RunsView::aloneRequested, m_document.get(), &Document::showAlone);
    connect(m_runs, &RunsView::renameRequested, m_document.get(), &Document::renameRun);
    connect(m_runs->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &MainWindow::showLearnt);
    connect(m_distribution, &DistributionMap::groupActivated, m_document.get(), &Document::setSelection);
    connect(m_archive, &ArchivePanel::eliteActivated, this,
            [this](const std::shared_ptr<const Placement>& placement, double stepTime) {
                if (m_document->isOpen() && placement->size() == m_document->problem()->groups) {
                    m_document->showPlacement(*placement,
                                              tr("Show elite with %1").arg(secondsText(stepTime)));
                }
            });
    connect(m_start, &StartPage::openRequested, this, &MainWindow::openDialog);
    connect(m_start, &StartPage::fileChosen, this, &MainWindow::openPath);
    connect(m_start, &StartPage::machineChosen, this, [this](const QString& name) {
        m_computer->forget();
        if (name != m_document->machineFile() || m_document->isLoading()) m_document->setMachine(name);
        showMachineOnStart();
    });
    connect(m_timeline, &TimelineView::gapActivated, m_selection, &SelectionPanel::showText);
    m_coloring = new GraphColoring(m_document.get(), m_graph, this);
    connect(m_coloring, &GraphColoring::changed, this, &MainWindow::showColors);
    connect(m_coloring, &GraphColoring::opened, this, &MainWindow::showInformation);
    connect(m_coloring, &GraphColoring::failed, this, &MainWindow::showError);
    m_finder = new Finder(m_document.get(), m_find, m_graph, m_timeline, m_ops, this);
    // After what shows the document: a place is shown in a drawing that is there.
    m_history = new ViewHistory(m_document.get(), m_graph, m_timeline, this);
    const auto showHistory = [this] {
        action(ActionId::viewBack)->setEnabled(m_history->canGoBack());
        action(ActionId::viewForward)->setEnabled(m_history->canGoForward());
    };
    connect(m_history, &ViewHistory::changed, this, showHistory);
}

void MainWindow::chooseAlgorithm(const QString& id) {
    m_bars->chooseAlgorithm(id);
}

void MainWindow::chooseEvaluations(int evaluations) {
    chooseBudget({static_cast<std::uint64_t>(evaluations)});
}

void MainWindow::limitBudget() {
    const Budget& budget = m_bars->budget();
    if (!budget.is_timed() && !budget.is_counted()) chooseBudget({});
}

void MainWindow::chooseBudget(const Budget& budget) {
    m_bars->chooseBudget(budget);
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
    request.budget = m_bars->budget();
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

void MainWindow::pinA() {
    m_pinned->pinScreen();
    if (m_pinned->isPinned())
        showInformation(
            tr("A is now %1. Ctrl+Shift+B shows A beside what is on screen.").arg(m_pinned->a()->title));
}

void MainWindow::openPair() {
    if (!m_pinned->isPinned()) return;
    if (m_pair == nullptr) m_pair = new PairWindow(m_document.get(), m_pinned, this);
    m_pair->setDirection(chosenDirection());
    m_pair->show();
    m_pair->raise();
    m_pair->activateWindow();
}

void MainWindow::showPinned() {
    action(ActionId::pair)->setEnabled(m_pinned->isPinned());
    action(ActionId::unpinA)->setEnabled(m_pinned->isPinned());
    m_graph->setMarked(m_pinned->moved());
    const auto pair = m_pinned->pair();
    m_status->showPinned(pair.get());
}

void MainWindow::openCompare() {
    if (m_compare == nullptr) {
        m_compare = new CompareWindow(m_document.get(), m_optionsOf, *m_gallery, this);
        connect(m_compare, &CompareWindow::placementChosen, m_document.get(), &Document::showPlacement);
        connect(m_compare, &CompareWindow::resultsChanged, this,
                [this] { m_cdf->setComparison(m_compare->cdf()); });
        m_toComparison = new QToolButton;
        m_toComparison->setObjectName(QStringLiteral("toComparison"));
        m_toComparison->setToolTip(tr("Open the window of the comparison"));
        m_toComparison->hide();
        statusBar()->addPermanentWidget(m_toComparison);
        connect(m_toComparison, &QToolButton::clicked, this, &MainWindow::openCompare);
        connect(m_compare, &CompareWindow::stateChanged, this, &MainWindow::showComparison);
    }
    m_compare->show();
    m_compare->prepare();
    m_compare->raise();
    m_compare->activateWindow();
}

void MainWindow::showComparison() {
    const ComparisonRun* run = m_compare->run();
    const bool runs = m_compare->isRunning();
    m_toComparison->setVisible(!m_compare->isVisible() && (runs || m_compare->unsavedSearches() > 0));
    if (run == nullptr) return;
    m_toComparison->setText(runs ? tr("Comparison: %L1 of %L2 searches")
                                       .arg(run->finishedSearches())
                                       .arg(run->request().searches())
                                 : tr("Comparison finished: %L1 searches").arg(run->finishedSearches()));
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

void MainWindow::resizeEvent(QResizeEvent* event) {
    QMainWindow::resizeEvent(event);
    if (m_bars == nullptr) return;  // during construction
    m_bars->showOptions();
    if (event->oldSize().height() != event->size().height()) m_panels->fitTimeline();
}

void MainWindow::chooseColors() {
    if (m_coloring == nullptr) return;  // during construction
    const std::pair<ActionId, ColorBy> choices[]{{ActionId::colorsDevice, ColorBy::device},
                                                 {ActionId::colorsKind, ColorBy::kind},
                                                 {ActionId::colorsTime, ColorBy::time},
                                                 {ActionId::colorsMemory, ColorBy::memory},
                                                 {ActionId::colorsValues, ColorBy::file}};
    for (const auto& [id, by] : choices)
        if (action(id)->isChecked()) m_coloring->choose(by);
}

void MainWindow::showColors() {
    constexpr std::array kActions{ActionId::colorsDevice, ActionId::colorsKind, ActionId::colorsTime,
                                  ActionId::colorsMemory, ActionId::colorsValues};
    QAction* values = action(ActionId::colorsValues);
    const QString& file = m_coloring->file();
    values->setEnabled(!file.isEmpty());
    values->setText(file.isEmpty() ? tr("&Values") : tr("&Values of %1").arg(QFileInfo(file).fileName()));
    action(kActions[static_cast<std::size_t>(m_coloring->by())])->setChecked(true);
    m_finder->setValues(m_coloring->values());
}

void MainWindow::chooseDirection() {
    m_graph->fit();
    fitRoom();
    if (m_pair != nullptr) m_pair->setDirection(chosenDirection());
}

std::optional<LayoutRoom::Direction> MainWindow::chosenDirection() const {
    if (action(ActionId::directionRight)->isChecked()) return LayoutRoom::Direction::right;
    if (action(ActionId::directionDown)->isChecked()) return LayoutRoom::Direction::down;
    return std::nullopt;
}

/// Lays out the graph for the room that it has now.
void MainWindow::fitRoom() {
    if (!m_graph->isVisible() || !m_graph->isFitted() || m_history->isAwaiting()) return;
    const QSizeF room = m_graph->roomForWhole();
    const double aspect = room.width() / room.height();
    using Direction = LayoutRoom::Direction;
    m_document->setRoom(
        {chosenDirection().value_or(aspect > 1 ? Direction::right : Direction::down), aspect});
}

void MainWindow::restoreSettings() {
    action(ActionId::wheelScrolls)->setChecked(settings::wheelScrolls.get());
    m_graph->setWheelScrolls(settings::wheelScrolls.get());
    restoreGeometry(settings::geometry.get());
    restoreState(settings::layout.get());
    m_bars->chooseAlgorithm(settings::algorithm.get());
    if (const auto budget = budgetFrom(settings::budget.get())) m_bars->chooseBudget(*budget);
    for (QCheckBox* box : m_curve->findChildren<QCheckBox*>()) {
        if (settings::curveChecks.isStored())
            box->setChecked(settings::curveChecks.get().contains(box->objectName()));
    }
    m_curve->findChild<QComboBox*>(QStringLiteral("against"))->setCurrentIndex(settings::curveAgainst.get());
    restoreMachine();
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
    m_coloring->choose(static_cast<ColorBy>(settings::graphColors.get()));
}

/// The machine of the last session, if it still exists.
void MainWindow::restoreMachine() {
    const QString machine = settings::machine.get();
    const bool isPath = machine.contains(QLatin1Char('/')) || machine.endsWith(QLatin1String(".json"));
    if (machine.isEmpty() || machine == m_document->machineFile() || (isPath && !QFileInfo::exists(machine)))
        return;
    m_document->setMachine(machine);
}

void MainWindow::saveSettings() {
    settings::geometry.set(saveGeometry());
    settings::layout.set(m_panels->layout());
    settings::algorithm.set(m_bars->algorithm());
    settings::budget.set(budgetText(m_bars->budget()));
    if (!m_document->isOpen() || !m_document->job().own_machine)
        settings::machine.set(m_document->machineFileWithoutFactors());
    QStringList checks;
    for (const QCheckBox* box : m_curve->findChildren<QCheckBox*>()) {
        if (box->isChecked()) checks << box->objectName();
    }
    settings::curveChecks.set(checks);
    settings::curveAgainst.set(m_curve->findChild<QComboBox*>(QStringLiteral("against"))->currentIndex());
    settings::tightenBound.set(action(ActionId::proof)->isChecked());
    settings::measuredLayout.set(
        static_cast<int>(action(ActionId::measuredOverlay)->isChecked() ? MeasuredLayout::overlay
                         : action(ActionId::measuredOff)->isChecked()   ? MeasuredLayout::off
                                                                        : MeasuredLayout::below));
    // Values belong to one network: they are opened again with it.
    const ColorBy colors = m_coloring->by();
    settings::graphColors.set(static_cast<int>(colors == ColorBy::file ? ColorBy::device : colors));
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
                                        ? tr("1 unsaved benchmark will be lost too.")
                                        : tr("%L1 unsaved benchmarks will be lost too.").arg(benchmarks));
    return mayStopMeasuring(this, *m_document, m_askToStop_s) &&
           mayLeave(this, *m_document, m_compare, title, lost, [this](const std::function<void()>& show) {
               show();
               return m_keeper->save(true);
           });
}

bool MainWindow::mayDropConstraints() {
    if (!m_document->isOpen() || !isWindowModified()) return true;
    const Constraints& constraints = m_document->options().problem.constraints;
    if (constraints.rules.empty() || !constraints.file.empty()) return true;
    QMessageBox question(QMessageBox::Question, tr("Open another network"),
                         tr("Save your work on %1?").arg(toQString(m_document->problem()->graph->name())),
                         QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, this);
    question.setInformativeText(tr("Its constraints will be lost."));
    question.button(QMessageBox::Save)->setText(tr("&Save…"));
    question.button(QMessageBox::Discard)->setText(tr("&Discard"));
    question.setDefaultButton(QMessageBox::Save);
    const int answer = question.exec();
    return answer == QMessageBox::Discard || (answer == QMessageBox::Save && m_keeper->save(true));
}

void MainWindow::closeEvent(QCloseEvent* event) {
    if (m_keeper->hasEnded()) return event->accept();
    if (m_keeper->isEnding()) return event->ignore();
    if (!mayClose(tr("Close Placewright"),
                  tr("The undo history will be lost. “Last session” on the start page brings the runs "
                     "back.")) ||
        (m_compare != nullptr && !m_compare->mayClose()) || !m_learning->mayClose())
        return event->ignore();
    m_document->cancelMeasuring();
    saveSettings();
    if (m_keeper->endSession()) return event->accept();
    event->ignore();
    if (!m_keeper->isEnding()) return;  // it failed, which the window says
    showInformation(tr("Saving the session…"));
    setEnabled(false);
}

}  // namespace placewright
