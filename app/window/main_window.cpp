// SPDX-License-Identifier: MIT
#include "app/window/main_window.hpp"

#include <QAction>
#include <QActionGroup>
#include <QCheckBox>
#include <QDockWidget>
#include <QGridLayout>
#include <QKeyEvent>
#include <QScreen>
#include <QScrollArea>
#include <QStackedWidget>
#include <QStatusBar>
#include <QStyle>
#include <QToolButton>
#include <QUndoView>
#include <QVBoxLayout>

#include "app/window/compare/compare_window.hpp"
#include "app/window/computer_finder.hpp"
#include "app/window/dialogs/calibration_dialog.hpp"
#include "app/window/dialogs/profile_dialog.hpp"
#include "app/window/gallery.hpp"
#include "app/window/help/help_window.hpp"
#include "app/window/language_bar.hpp"
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
#include "app/window/settings.hpp"
#include "app/window/status_line.hpp"
#include "app/window/tool_bars.hpp"
#include "app/window/workspace_keeper.hpp"
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
#include "widgets/runs_view.hpp"
#include "widgets/selection_panel.hpp"
#include "widgets/start_page.hpp"
#include "widgets/suggestions_panel.hpp"
#include "widgets/text.hpp"
#include "widgets/theme.hpp"
#include "widgets/why_panel.hpp"

namespace placewright {
namespace {

/// Distributions and archives with their controls cannot be read in less.
constexpr int kReadableHeight = 400;

/// The frame, whose size is known only later, shall be on the screen too.
QSize sizeOn(const QScreen& screen) {
    return QSize(1400, 900).boundedTo(screen.availableSize() - QSize(16, 48));
}

}  // namespace

MainWindow::MainWindow(QWidget* parent) : QMainWindow(parent), m_document(std::make_unique<Document>()) {
    makeLabelsPlain();
    applyTheme(static_cast<Theme>(settings::theme.get()));
    setWindowTitle(tr("Placewright"));
    setAcceptDrops(true);
    resize(sizeOn(*screen()));
    m_gallery = new Gallery(this);
    m_computer = new ComputerFinder(this);
    m_help = new HelpKeys(this);
    makeViews();
    makePanels();
    makeActions();
    m_bars = new ToolBars(this, m_document.get(), *m_actions, m_computer);
    m_bars->fillMachines();
    m_languageBar = new LanguageBar(this, m_document.get());
    m_status =
        new StatusLine(m_document.get(), statusBar(), action(ActionId::proof), action(ActionId::followBest));
    connect(m_status, &StatusLine::cancelRequested, m_document.get(), &Document::cancelLoading);
    connect(m_status, &StatusLine::stopMeasuringRequested, m_document.get(), &Document::cancelMeasuring);
    connect(m_status, &StatusLine::optionsChosen, m_document.get(), &Document::setOptions);
    m_keeper = new WorkspaceKeeper(m_document.get(), m_learning, m_offers, this,
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
    if (settings::geometry.isStored()) return;
    // Panels took more room before they shared it.
    layout()->activate();
    resize(sizeOn(*screen()));
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
    // The scroll bar does not cover the ends of the lines.
    devicesArea->setMinimumWidth(m_devices->minimumSizeHint().width() +
                                 style()->pixelMetric(QStyle::PM_ScrollBarExtent));
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
    steps->setToolTip(tr("Every step with the step time after it; click one to go back or on to it"));
    steps->setEmptyLabel(tr("Start"));
    steps->setTextElideMode(Qt::ElideRight);
    steps->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
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
    // The docks of a window that is being destroyed hide, too: the document is gone by then.
    connect(cdf, &QDockWidget::visibilityChanged, m_document.get(), [this](bool visible) {
        m_cdf->setSeen(visible);
        if (visible) m_panels->heighten(m_cdf, kReadableHeight);
    });
    connect(archive, &QDockWidget::visibilityChanged, m_document.get(), [this](bool visible) {
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

/// Escape clears the selection wherever the focus is, unless the focused widget uses the key itself.
void MainWindow::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape && event->modifiers() == Qt::NoModifier && m_document->isOpen() &&
        !m_document->selection().empty())
        return m_document->setSelection({});
    QMainWindow::keyPressEvent(event);
}

void MainWindow::restoreLayout() {
    m_panels->restoreDefault();
    m_bars->showOptions();
}

void MainWindow::showError(const QString& text) {
    m_message->showMessage(MessageBar::Kind::error, text);
}

void MainWindow::showInformation(const QString& text) {
    m_message->showMessage(MessageBar::Kind::information, text);
}

void MainWindow::resizeEvent(QResizeEvent* event) {
    QMainWindow::resizeEvent(event);
    if (m_bars == nullptr) return;  // during construction
    m_bars->showOptions();
    if (event->oldSize().height() != event->size().height()) m_panels->fitTimeline();
}

}  // namespace placewright
