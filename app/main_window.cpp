// SPDX-License-Identifier: MIT
#include "app/main_window.hpp"

#include <algorithm>
#include <cmath>

#include <QAction>
#include <QApplication>
#include <QCloseEvent>
#include <QComboBox>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QInputDialog>
#include <QLabel>
#include <QMenuBar>
#include <QMessageBox>
#include <QMimeData>
#include <QPainter>
#include <QProgressBar>
#include <QScreen>
#include <QScrollArea>
#include <QSettings>
#include <QSpinBox>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTimer>
#include <QToolBar>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/compare_window.hpp"
#include "app/experiment_window.hpp"
#include "app/export.hpp"
#include "app/export_dialog.hpp"
#include "app/learning.hpp"
#include "app/op_drag.hpp"
#include "app/option_text.hpp"
#include "app/search_options_dialog.hpp"
#include "app/simulation_dialog.hpp"
#include "app/trace_window.hpp"
#include "core/algorithms.hpp"
#include "core/base/units.hpp"
#include "core/graph/networks.hpp"
#include "core/io/input_error.hpp"
#include "core/io/policy_file.hpp"
#include "core/io/score_file.hpp"
#include "core/io/torchscript.hpp"
#include "widgets/archive_view.hpp"
#include "widgets/cdf_plot.hpp"
#include "widgets/curve_plot.hpp"
#include "widgets/device_panel.hpp"
#include "widgets/distribution_view.hpp"
#include "widgets/find_bar.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/learning_plot.hpp"
#include "widgets/message_bar.hpp"
#include "widgets/quantities.hpp"
#include "widgets/runs_view.hpp"
#include "widgets/selection_panel.hpp"
#include "widgets/start_page.hpp"
#include "widgets/suggestions_panel.hpp"
#include "widgets/why_panel.hpp"

namespace placewright {
namespace {

constexpr int kMostRecent = 9;
constexpr auto kDefaultAlgorithm = "auto";

QString text(const std::string& utf8) {
    return QString::fromStdString(utf8);
}

QStringList recentFiles() {
    return QSettings().value(QStringLiteral("recentFiles")).toStringList();
}

/// A QLabel for the status bar that grows with its text only.
QLabel* statusLabel(const QString& name) {
    auto* label = new QLabel;
    label->setAccessibleName(name);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    label->setContentsMargins(6, 0, 10, 0);
    return label;
}

/// The style's are black on any background.
QIcon mediaIcon(QStyle::StandardPixmap which, const QWidget* widget) {
    const QIcon black = widget->style()->standardIcon(which);
    QIcon icon;
    for (const auto& [mode, group] : {std::pair(QIcon::Normal, QPalette::Active), std::pair(QIcon::Disabled, QPalette::Disabled)}) {
        QPixmap pixmap = black.pixmap(QSize(24, 24), widget->devicePixelRatioF());
        QPainter painter(&pixmap);
        painter.setCompositionMode(QPainter::CompositionMode_SourceIn);
        painter.fillRect(pixmap.rect(), widget->palette().color(group, QPalette::ButtonText));
        painter.end();
        icon.addPixmap(pixmap, mode);
    }
    return icon;
}

}  // namespace

MainWindow::MainWindow(QWidget* parent) : QMainWindow(parent), m_document(std::make_unique<Document>()) {
    setWindowTitle(tr("Placewright"));
    setAcceptDrops(true);
    setDockOptions(AnimatedDocks | AllowNestedDocks | AllowTabbedDocks);
    resize(QSize(1400, 900).boundedTo(screen()->availableSize()));
    makeWidgets();
    makeActions();
    makeToolBar();
    makeStatusBar();
    connectDocument();
    connectViews();
    fillGallery();
    fillRecent();
    m_defaultLayout = saveState();
    restoreSettings();
    showProblem();
}

MainWindow::~MainWindow() {
    // The document's last signals must not reach widgets that are going.
    m_document->disconnect(this);
    m_document->undoStack()->disconnect(this);
    delete m_drag;
    delete m_compare;
    delete m_learning;
    m_document.reset();
}

QDockWidget* MainWindow::addDock(const QString& title, const QString& name, QWidget* widget, Qt::DockWidgetArea area) {
    auto* dock = new QDockWidget(title);
    dock->setObjectName(name);
    dock->setWidget(widget);
    // Panels behind other tabs must not keep the window from getting small.
    if (area == Qt::RightDockWidgetArea) widget->setMinimumHeight(4 * fontMetrics().lineSpacing());
    addDockWidget(area, dock);
    m_docks.push_back(dock);
    return dock;
}

void MainWindow::makeWidgets() {
    m_start = new StartPage;
    m_graph = new GraphView;
    m_graph->setEmptyText(tr("The graph appears here as soon as it is laid out."));
    m_find = new FindBar;
    m_find->hide();
    m_message = new MessageBar;
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
    centreLayout->addWidget(m_stack, 1);
    setCentralWidget(centre);

    // The bottom row belongs to the timeline over the whole width, where time has most room.
    setCorner(Qt::BottomLeftCorner, Qt::BottomDockWidgetArea);
    setCorner(Qt::BottomRightCorner, Qt::BottomDockWidgetArea);
    auto* devicesArea = new QScrollArea;
    devicesArea->setWidget(m_devices);
    devicesArea->setWidgetResizable(true);
    devicesArea->setFrameShape(QFrame::NoFrame);
    devicesArea->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    addDock(tr("Devices"), QStringLiteral("devicesDock"), devicesArea, Qt::LeftDockWidgetArea);
    addDock(tr("Selection"), QStringLiteral("selectionDock"), m_selection, Qt::LeftDockWidgetArea);
    auto* runs = addDock(tr("Runs"), QStringLiteral("runsDock"), m_runs, Qt::RightDockWidgetArea);
    auto* curve = addDock(tr("Curve"), QStringLiteral("curveDock"), m_curve, Qt::RightDockWidgetArea);
    auto* archive = addDock(tr("Archive"), QStringLiteral("archiveDock"), m_archive, Qt::RightDockWidgetArea);
    m_timelineDock = addDock(tr("Timeline"), QStringLiteral("timelineDock"), m_timeline, Qt::BottomDockWidgetArea);
    auto* why = addDock(tr("Why"), QStringLiteral("whyDock"), m_why, Qt::RightDockWidgetArea);
    auto* suggestions = addDock(tr("Suggestions"), QStringLiteral("suggestionsDock"), m_suggestions, Qt::RightDockWidgetArea);
    auto* distribution = addDock(tr("Distribution"), QStringLiteral("distributionDock"), m_distribution, Qt::RightDockWidgetArea);
    auto* learning = addDock(tr("Learning"), QStringLiteral("learningDock"), m_learningPlot, Qt::RightDockWidgetArea);
    auto* cdf = addDock(tr("CDF"), QStringLiteral("cdfDock"), m_cdf, Qt::RightDockWidgetArea);
    // Behind another tab a panel counts as visible, its dock does not.
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
    // In a stack of their own: more tabs than these would have no room for their names.
    tabifyDockWidget(runs, suggestions);
    tabifyDockWidget(suggestions, why);
    runs->raise();
    curve->raise();
    m_timelineDock->installEventFilter(this);
    sizePanels();

    m_drag = new OpDrag(m_document.get(), m_devices, m_timeline, this);
    for (OpView* view : std::initializer_list<OpView*>{m_graph, m_timeline, m_devices}) m_drag->watch(view);
}

void MainWindow::makeActions() {
    const auto add = [this](QMenu* menu, const QString& title, const QKeySequence& shortcut, const QString& tip, auto slot) {
        QAction* action = menu->addAction(title, this, slot);
        action->setShortcut(shortcut);
        action->setToolTip(shortcut.isEmpty() ? tip : tr("%1 (%2)").arg(tip, shortcut.toString(QKeySequence::NativeText)));
        return action;
    };

    QMenu* file = menuBar()->addMenu(tr("&File"));
    add(file, tr("&Open…"), QKeySequence::Open, tr("Open a network, machine, placement or trace file"), [this] { openDialog(); });
    m_startPage = add(file, tr("&Start page"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_H),
                      tr("Recent files and bundled networks; what is open stays"), [this] { showStart(m_stack->currentIndex() == 1); });
    m_needProblem << m_startPage;
    m_recentMenu = file->addMenu(tr("Open &recent"));
    QMenu* bundled = file->addMenu(tr("Open &bundled network"));
    for (const ShippedFile& shipped : shipped_networks()) {
        const NetworkInfo* info = find_network(shipped.name);
        bundled->addAction(
            info != nullptr ? QString::fromUtf8(info->title.data(), static_cast<int>(info->title.size())) : text(shipped.name), this,
            [this, path = text(shipped.file.string())] { openPath(path); });
    }
    file->addSeparator();
    m_exportMenu = file->addMenu(tr("&Export"));
    m_needProblem << add(m_exportMenu, tr("&Placement…"), QKeySequence::Save, tr("Write the placement on screen as JSON"),
                         [this] { exportPlacement(); });
    m_needProblem << add(m_exportMenu, tr("Placement for &training…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_E),
                         tr("Write the placement on screen as what a training run loads: device map, split points, …"), [this] {
                             auto* dialog = new ExportDialog(m_document.get(), this);
                             dialog->show();
                         });
    m_exportMenu->addSeparator();
    m_needProblem << add(m_exportMenu, tr("Picture of the &graph…"), {}, tr("Write the whole graph as PNG or SVG"), [this] {
        exportView(QStringLiteral("graph"), m_graph->wholeSize(),
                   [this](QPainter& painter, const QRectF& target) { m_graph->renderWhole(painter, target); });
    });
    m_needProblem << add(m_exportMenu, tr("Picture of the &timeline…"), {}, tr("Write the timeline as PNG or SVG"), [this] {
        exportView(QStringLiteral("timeline"), m_timeline->size(),
                   [this](QPainter& painter, const QRectF&) { m_timeline->render(&painter); });
    });
    const auto addPlot = [&](const QString& title, const QString& tip, const QString& name, auto* plot) {
        m_needProblem << add(m_exportMenu, title, {}, tip, [this, name, plot] {
            exportView(name, plot->size(),
                       [plot](QPainter& painter, const QRectF& target) { plot->renderWhole(painter, target.toRect()); });
        });
    };
    addPlot(tr("Picture of the &curve…"), tr("Write the learning curves as PNG or SVG"), QStringLiteral("curve"), m_curve);
    addPlot(tr("Picture of the &learning…"), tr("Write how a policy learned as PNG or SVG"), QStringLiteral("learning"), m_learningPlot);
    addPlot(tr("Picture of the C&DF…"), tr("Write the distribution of step times as PNG or SVG"), QStringLiteral("cdf"), m_cdf);
    addPlot(tr("Picture of the &archive…"), tr("Write the archive as PNG or SVG"), QStringLiteral("archive"), m_archive);
    addPlot(tr("Picture of the d&istribution…"), tr("Write the distribution as PNG or SVG"), QStringLiteral("distribution"),
            m_distribution);
    file->addSeparator();
    add(file, tr("&Quit"), QKeySequence::Quit, tr("Close the window"), [this] { close(); });

    QMenu* edit = menuBar()->addMenu(tr("&Edit"));
    QAction* undo = m_document->undoStack()->createUndoAction(this, tr("&Undo"));
    undo->setShortcut(QKeySequence::Undo);
    edit->addAction(undo);
    QAction* redo = m_document->undoStack()->createRedoAction(this, tr("&Redo"));
    // Both that are usual; QKeySequence::Redo is one of them, which one depends on the system.
    redo->setShortcuts({QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z), QKeySequence(Qt::CTRL | Qt::Key_Y)});
    edit->addAction(redo);
    edit->addSeparator();
    m_needProblem << add(edit, tr("&Find…"), QKeySequence::Find, tr("Find ops by name, kind or scope"), [this] { m_find->open(); });
    QMenu* moveTo = edit->addMenu(tr("&Move selection to"));
    connect(moveTo, &QMenu::aboutToShow, this, [this, moveTo] {
        moveTo->clear();
        if (!m_document->isOpen()) return;
        const auto devices = m_document->problem()->machine->devices();
        for (std::size_t i = 0; i < devices.size(); ++i) {
            QAction* action = moveTo->addAction(text(devices[i].name), this, [this, i] { moveSelectionTo(static_cast<int>(i) + 1); });
            action->setEnabled(!m_document->selection().empty());
        }
    });

    QMenu* view = menuBar()->addMenu(tr("&View"));
    m_needProblem << add(view, tr("&Fit graph"), QKeySequence(Qt::CTRL | Qt::Key_0), tr("Show the whole graph"),
                         [this] { m_graph->fit(); });
    m_needProblem << add(view, tr("Zoom to &selection"), QKeySequence(Qt::CTRL | Qt::Key_E), tr("Show the selected ops"),
                         [this] { m_graph->zoomTo(m_document->selection()); });
    view->addSeparator();
    QAction* openModule = add(view, tr("&Open module"), QKeySequence(Qt::CTRL | Qt::Key_D),
                              tr("Draw what is in the selected modules, which are stacks of boxes; a double click does, too"), [this] {
                                  if (m_graph->canOpenModules()) return m_graph->openSelectedModules();
                                  m_message->showMessage(MessageBar::Kind::information,
                                                         tr("No closed module is selected: those are drawn as a stack of boxes."));
                              });
    QAction* closeModule =
        add(view, tr("C&lose module"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_D),
            tr("Draw the modules round what is selected as one box each"), [this] {
                if (m_graph->canCloseModules()) return m_graph->closeSelectedModules();
                m_message->showMessage(MessageBar::Kind::information,
                                       tr("Select an op of the module to close. Ops that belong to no module cannot be closed."));
            });
    QAction* closeModules = add(view, tr("Close all &modules"), {}, tr("Draw each outermost module as one box"), [this] {
        if (const auto& scene = m_document->scene()) m_document->setClosedModules(overview(scene->modules, 0));
    });
    QAction* openModules = add(view, tr("Open all mod&ules"), {}, tr("Draw all ops"), [this] { m_document->setClosedModules({}); });
    m_needProblem << openModule << closeModule << closeModules << openModules;
    view->addSeparator();
    const auto addToggle = [&](const QString& title, const QKeySequence& shortcut, const QString& tip) {
        QAction* action = add(view, title, shortcut, tip, [] {});
        action->setCheckable(true);
        m_needProblem << action;
        connect(action, &QAction::toggled, this, &MainWindow::showWhy);
        return action;
    };
    m_path = addToggle(tr("&Critical path in the timeline"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_P),
                       tr("Draw what the step time is made of over the timeline: each waits for the one before"));
    m_pathColour = addToggle(tr("Colour the graph by c&ritical path"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_K),
                             tr("Leave only the ops of the critical path in full colour"));
    m_timeline->addAction(m_path);
    m_timeline->setContextMenuPolicy(Qt::ActionsContextMenu);
    m_graph->addActions({moveTo->menuAction(), openModule, closeModule, m_pathColour});
    m_graph->setContextMenuPolicy(Qt::ActionsContextMenu);
    view->addSeparator();
    for (QDockWidget* dock : std::as_const(m_docks)) view->addAction(dock->toggleViewAction());
    m_needProblem << add(view, tr("Restore &default layout"), {}, tr("Put all panels back where they were at first"), [this] {
        restoreState(m_defaultLayout);
        sizePanels();
        showOptions();
    });

    QMenu* run = menuBar()->addMenu(tr("&Run"));
    m_optimize = add(run, tr("&Optimize"), QKeySequence(Qt::Key_F5), tr("Search for a better placement"), [this] { optimizeOrStop(); });
    m_beside = add(run, tr("Optimize &beside"), QKeySequence(Qt::SHIFT | Qt::Key_F5),
                   tr("Search with what the toolbar shows now, beside the searches that run"), [this] { optimize(); });
    m_beside->setEnabled(false);
    m_pause = add(run, tr("&Pause"), QKeySequence(Qt::Key_F6), tr("Hold the search; it goes on as if it had not been held"),
                  [this] { pauseOrGoOn(); });
    m_pause->setEnabled(false);
    m_options = add(run, tr("&Algorithm options…"), QKeySequence(Qt::CTRL | Qt::Key_Comma), tr("Options of the chosen algorithm"),
                    [this] { editOptions(); });
    m_needProblem << m_optimize;
    run->addSeparator();
    m_saveSearch = add(run, tr("Sa&ve search…"), {},
                       tr("Keep the chosen run, or the latest, in a file as it stands: it can be gone on with as if nothing had been"),
                       [this] { saveSearch(); });
    m_saveSearch->setEnabled(false);
    m_needProblem << add(run, tr("Res&ume a search…"), {},
                         tr("Go on with a search that was saved, here or by placewright-cli optimize --scores"),
                         [this] { resumeSearch(); });
    run->addSeparator();
    m_simulation = add(run, tr("&Simulation…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S),
                       tr("How a step is simulated: batches, training or inference, times, memory"), [this] { editSimulation(); });

    m_proof = add(
        run, tr("&Tighten the lower bound"), {},
        tr("Prove with linear and integer programmes, for a minute in the background, how far from optimal a placement is at most"), [] {});
    m_proof->setCheckable(true);
    m_proof->setChecked(true);
    connect(m_proof, &QAction::toggled, m_document.get(), &Document::setProofWanted);

    run->addSeparator();
    add(run, tr("&Compare algorithms…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C),
        tr("Run algorithms against each other, on several networks, machines and seeds"), [this] { openCompare(); });
    add(run, tr("&Results of an experiment…"), {}, tr("Tables and plots of what placewright-cli experiment has written into a folder"),
        [this] { openExperiment(); });

    m_learning = new Learning(m_document.get(), m_optionsOf, this);
    m_learning->fillMenu(menuBar()->addMenu(tr("&Learn")));

    QMenu* help = menuBar()->addMenu(tr("&Help"));
    add(help, tr("&Keyboard and mouse"), QKeySequence::HelpContents, tr("How to move around and edit"), [this] {
        QMessageBox::information(
            this, tr("Keyboard and mouse"),
            tr("<b>Graph</b><br>Drag the background to pan, turn the wheel to zoom, F to fit. Click to select, Ctrl+click for more, "
               "Shift+drag for a rectangle. Drag ops onto a device or a lane of the timeline, or press 1 to 9.<br><br>"
               "<b>Timeline</b><br>Ctrl+wheel or W and S to zoom, A and D to pan, F to fit, Shift+drag to measure. Ctrl+Shift+P draws the "
               "critical path, Ctrl+Shift+K shows it in the graph; the Why panel tells what it is made of.<br><br>"
               "<b>Anywhere</b><br>Ctrl+F finds, F5 optimizes and stops, Shift+F5 starts another search beside, F6 pauses, "
               "Ctrl+Z undoes, Ctrl+S exports the placement, "
               "Ctrl+Shift+E for "
               "a training run, Ctrl+Shift+S sets how a step is simulated, Ctrl+Shift+C compares algorithms, Ctrl+Shift+L trains a policy, "
               "Ctrl+Shift+H "
               "goes to the start page and back. "
               "Double-click a run to see its placement."));
    });
    add(help, tr("&About Placewright"), {}, tr("Version and licence"), [this] {
        QMessageBox::about(this, tr("About Placewright"),
                           tr("<b>Placewright %1</b><br>Decides on which device each operation of a neural network runs.<br>MIT licence.")
                               .arg(QStringLiteral(PLACEWRIGHT_VERSION)));
    });
}

void MainWindow::makeToolBar() {
    const auto addBar = [this](const QString& title, const QString& name) {
        QToolBar* bar = addToolBar(title);
        bar->setObjectName(name);
        bar->setMovable(false);
        bar->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
        return bar;
    };
    m_bar = addBar(tr("Main"), QStringLiteral("mainToolBar"));
    m_searchBar = addBar(tr("Search"), QStringLiteral("searchToolBar"));

    auto* open = m_bar->addAction(style()->standardIcon(QStyle::SP_DialogOpenButton), tr("Open"), this, [this] { openDialog(); });
    open->setToolTip(
        tr("Open a network, machine or placement file (%1)").arg(QKeySequence(QKeySequence::Open).toString(QKeySequence::NativeText)));

    const auto labelled = [](QToolBar* to, const QString& label, QWidget* widget, const QString& tip) {
        auto* title = new QLabel(label);
        title->setContentsMargins(10, 0, 4, 0);
        title->setBuddy(widget);
        widget->setAccessibleName(QString(label).remove(QLatin1Char('&')));
        widget->setToolTip(tip);
        to->addWidget(title);
        to->addWidget(widget);
    };
    m_machine = new QComboBox;
    m_machine->setObjectName(QStringLiteral("machine"));
    for (const ShippedFile& shipped : shipped_machines()) {
        QString title = text(shipped.name);
        try {
            title = text(read_machine(shipped.file).name());
        } catch (const InputError& error) {
            m_message->showMessage(MessageBar::Kind::error, QString::fromUtf8(error.what()));
        }
        m_machine->addItem(title, text(shipped.name));
    }
    labelled(m_bar, tr("&Machine"), m_machine, tr("The devices to place on. Open a machine file to use your own."));
    m_simulationButton = new QToolButton;
    m_simulationButton->setObjectName(QStringLiteral("simulationButton"));
    connect(m_simulationButton, &QToolButton::clicked, m_simulation, &QAction::trigger);
    m_bar->addWidget(m_simulationButton);
    m_simulationButton->setAutoRaise(false);  // looks like what it is beside the choices
    auto* exportButton = new QToolButton;
    exportButton->setObjectName(QStringLiteral("exportButton"));
    exportButton->setText(tr("Export"));
    exportButton->setIcon(style()->standardIcon(QStyle::SP_DialogSaveButton));
    exportButton->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    exportButton->setPopupMode(QToolButton::InstantPopup);
    exportButton->setMenu(m_exportMenu);
    exportButton->setToolTip(tr("Write the placement or a picture"));
    m_bar->addWidget(exportButton);

    m_optimize->setIcon(mediaIcon(QStyle::SP_MediaPlay, this));
    m_searchBar->addAction(m_optimize);
    if (QWidget* button = m_searchBar->widgetForAction(m_optimize)) button->setObjectName(QStringLiteral("optimizeButton"));
    m_algorithm = new QComboBox;
    m_algorithm->setObjectName(QStringLiteral("algorithm"));
    for (const AlgorithmInfo& info : algorithms()) {
        m_algorithm->addItem(text(info.title), text(info.id));
        m_algorithm->setItemData(m_algorithm->count() - 1, text(info.help), Qt::ToolTipRole);
    }
    labelled(m_searchBar, tr("&Algorithm"), m_algorithm, tr("How better placements are searched for"));
    auto* options = new QToolButton;
    options->setText(tr("…"));
    options->setAccessibleName(tr("Algorithm options"));
    options->setToolTip(m_options->toolTip());
    connect(options, &QToolButton::clicked, m_options, &QAction::trigger);
    m_searchBar->addWidget(options);

    m_evaluations = new QSpinBox;
    m_evaluations->setObjectName(QStringLiteral("evaluations"));
    m_evaluations->setRange(1, 1'000'000'000);
    m_evaluations->setGroupSeparatorShown(true);
    m_evaluations->setStepType(QAbstractSpinBox::AdaptiveDecimalStepType);
    m_evaluations->setValue(20'000);
    labelled(m_searchBar, tr("&Evaluations"), m_evaluations, tr("How many placements a search may simulate"));
    m_seed = new QSpinBox;
    m_seed->setObjectName(QStringLiteral("seed"));
    m_seed->setRange(0, 1'000'000'000);
    m_seed->setValue(1);
    labelled(m_searchBar, tr("See&d"), m_seed, tr("The same seed from the same placement gives the same result"));

    connect(m_machine, &QComboBox::activated, this, [this](int index) {
        const QString machine = m_machine->itemData(index).toString();
        if (machine != m_document->machineFile() || m_document->isLoading()) m_document->setMachine(machine);
    });
    chooseAlgorithm(QString::fromLatin1(kDefaultAlgorithm));
}

void MainWindow::makeStatusBar() {
    m_stepStatus = statusLabel(tr("Step time"));
    m_boundStatus = statusLabel(tr("Lower bound"));
    m_searchStatus = statusLabel(tr("Search"));
    m_progress = new QProgressBar;
    m_progress->setMaximumWidth(160);
    m_progress->setTextVisible(false);
    m_progress->setAccessibleName(tr("Progress"));
    m_progress->hide();
    m_cancelLoading = new QToolButton;
    m_cancelLoading->setText(tr("Cancel"));
    m_cancelLoading->setToolTip(tr("Stop loading; what was open stays"));
    m_cancelLoading->hide();
    statusBar()->addWidget(m_stepStatus);
    statusBar()->addWidget(m_boundStatus);
    statusBar()->addWidget(m_searchStatus, 1);
    statusBar()->addPermanentWidget(m_progress);
    statusBar()->addPermanentWidget(m_cancelLoading);
    connect(m_cancelLoading, &QToolButton::clicked, this, [this] { m_document->cancelLoading(); });
}

void MainWindow::connectDocument() {
    Document* document = m_document.get();
    document->setLeaveQuestion([this] {
        return mayLeave(tr("Open another network"), tr("Opening another network ends the searches and undo steps of this one."));
    });
    document->setOpenQuestion([this](const OpenQuestion& question, ReadOptions& options) { return answerToOpen(question, options); });
    connect(document, &Document::problemChanged, this, &MainWindow::showProblem);
    connect(document, &Document::machineChanged, this, &MainWindow::showMachine);
    connect(document, &Document::sceneChanged, this, [this] {
        m_graph->setScene(m_document->scene(), m_document->problem()->machine);
        m_graph->setDevices(m_document->deviceOfOps());
        m_graph->setSelection(m_document->selection());
        m_graph->setMatches(m_matches);
        showWhy();
    });
    connect(document, &Document::placementChanged, this, &MainWindow::showPlacement);
    connect(document, &Document::timelineChanged, this, &MainWindow::showTimeline);
    connect(document, &Document::whyChanged, this, &MainWindow::showWhy);
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
        if (m_document->isOpen()) {
            m_selection->show(m_document->problem(), m_document->deviceOfOps(), m_document->selection(), m_document->timeline());
        }
    });
    connect(document, &Document::runsChanged, this, &MainWindow::showRuns);
    connect(document, &Document::loadingChanged, this, &MainWindow::showLoading);
    // What the step time is compared with is known once undo or redo is over.
    connect(document->undoStack(), &QUndoStack::indexChanged, this, &MainWindow::showStatus);
    // What was said of a step no longer holds without it.
    connect(document->undoStack(), &QUndoStack::indexChanged, m_message, [this, before = 0](int index) mutable {
        if (index < before) m_message->dropInformation();
        before = index;
    });
    connect(document, &Document::message, this, [this](bool error, const QString& what) {
        m_message->showMessage(error ? MessageBar::Kind::error : MessageBar::Kind::information, what);
    });
}

void MainWindow::connectViews() {
    for (OpView* view : std::initializer_list<OpView*>{m_graph, m_timeline, m_devices}) {
        connect(view, &OpView::selectionEdited, m_document.get(), &Document::setSelection);
        connect(view, &OpView::deviceKeyPressed, this, &MainWindow::moveSelectionTo);
        view->setToolTipSource([this](OpId op) {
            if (!m_document->isOpen() || op >= m_document->problem()->ops || m_document->placement().empty()) return QString();
            const Problem& problem = *m_document->problem();
            return summarizeOp(problem, op, m_document->placement()[problem.grouping.group_of[op]], m_document->timeline().get());
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
        m_path->setChecked(true);
        m_timeline->zoomToSegment(segment);
    });
    connect(m_timeline, &TimelineView::peakActivated, this, [this](DeviceId device) {
        raisePanel(m_why);
        m_why->setWhy(m_document->why());
        m_why->showPeak(device);
    });
    connect(m_suggestions, &SuggestionsPanel::moveRequested, m_document.get(), &Document::moveOps);
    connect(m_suggestions, &SuggestionsPanel::selectionEdited, m_document.get(), &Document::setSelection);
    connect(m_suggestions, &SuggestionsPanel::opHovered, m_timeline, &TimelineView::setHovered);
    connect(m_suggestions, &SuggestionsPanel::opHovered, m_graph, &GraphView::setHovered);
    connect(m_runs, &RunsView::runActivated, m_document.get(), &Document::showRun);
    connect(m_runs, &RunsView::cancelRequested, m_document.get(), &Document::cancelRun);
    connect(m_runs, &RunsView::pauseRequested, m_document.get(), &Document::pauseRun);
    connect(m_runs, &RunsView::removeRequested, m_document.get(), &Document::removeRun);
    connect(m_runs->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &MainWindow::showLearnt);
    connect(m_distribution, &DistributionMap::groupActivated, m_document.get(), &Document::setSelection);
    connect(m_archive, &ArchiveMap::eliteActivated, this, [this](const std::shared_ptr<const Placement>& placement, double stepTime) {
        if (m_document->isOpen() && placement->size() == m_document->problem()->groups) {
            m_document->showPlacement(*placement, tr("Show elite with %1").arg(secondsText(stepTime)));
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
    const int index = m_algorithm->findData(id);
    if (index >= 0) m_algorithm->setCurrentIndex(index);
}

void MainWindow::chooseEvaluations(int evaluations) {
    m_evaluations->setValue(evaluations);
}

void MainWindow::chooseSeed(int seed) {
    m_seed->setValue(seed);
}

void MainWindow::optimizeOrStop() {
    if (!m_document->isSearching()) return optimize();
    for (const auto& run : m_document->runs()) run->cancel();
}

void MainWindow::optimize() {
    if (!m_document->isOpen()) return;
    RunRequest request;
    request.algorithm = m_algorithm->currentData().toString().toStdString();
    request.options = m_optionsOf[request.algorithm];
    request.budget.evaluations = static_cast<std::uint64_t>(m_evaluations->value());
    request.seed = static_cast<std::uint64_t>(m_seed->value());
    m_message->dropInformation();  // what the search before has said
    m_document->startSearch(std::move(request));
    // From the toolbar on, keys are for what the search changes.
    if (m_stack->currentIndex() == 1) m_graph->setFocus();
}

void MainWindow::pauseOrGoOn() {
    const bool pause = !allPaused();
    for (const auto& run : m_document->runs()) {
        if (run->state() == Run::State::running) m_document->pauseRun(run->id(), pause);
    }
}

bool MainWindow::allPaused() const {
    return std::ranges::all_of(m_document->runs(), [](const auto& run) { return run->state() != Run::State::running || run->isPaused(); });
}

void MainWindow::editOptions() {
    const AlgorithmInfo* algorithm = find_algorithm(m_algorithm->currentData().toString().toStdString());
    if (algorithm == nullptr) return;
    SearchOptionsDialog dialog(*algorithm, m_optionsOf[algorithm->id], this);
    if (dialog.exec() == QDialog::Accepted) m_optionsOf[algorithm->id] = dialog.values();
}

/// With a trace to take times from or weights to take sizes from, if one is given.
void MainWindow::editSimulation(const QString& trace, const QString& weights) {
    auto* dialog = new SimulationDialog(m_document.get(), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    if (!trace.isEmpty()) dialog->addTrace(trace);
    if (!weights.isEmpty()) dialog->setParameters(weights);
    dialog->open();
}

void MainWindow::saveSearch() {
    const Run* run = runWith([](const Run& of) { return of.saved().has_value(); });
    if (run == nullptr) return;
    const int id = run->id();  // the run may be removed, the dialog does not hold it
    QString file = chooseExportFile(tr("Save search"), text(m_document->problem()->graph->name()) + QStringLiteral(".scores.jsonl"),
                                    tr("Saved searches (*.jsonl)"));
    if (file.isEmpty()) return;
    if (QFileInfo(file).suffix().isEmpty()) file += QStringLiteral(".jsonl");
    m_document->saveSearch(id, file);
}

void MainWindow::resumeSearch() {
    const QString folder = QSettings().value(QStringLiteral("exportFolder"), QSettings().value(QStringLiteral("folder"))).toString();
    const QString file = QFileDialog::getOpenFileName(this, tr("Resume a search"), folder, tr("Saved searches (*.jsonl);;All files (*)"));
    if (!file.isEmpty()) m_document->resumeSearch(file, static_cast<std::uint64_t>(m_evaluations->value()));
}

void MainWindow::openCompare() {
    if (m_compare == nullptr) {
        m_compare = new CompareWindow(m_document.get(), m_optionsOf, this);
        connect(m_compare, &CompareWindow::placementChosen, m_document.get(), &Document::showPlacement);
        connect(m_compare, &CompareWindow::resultsChanged, this, [this] { m_cdf->setData(m_compare->cdf()); });
    }
    m_compare->show();
    m_compare->prepare(m_evaluations->value());
    m_compare->raise();
    m_compare->activateWindow();
}

void MainWindow::openExperiment() {
    const QString last = QSettings().value(QStringLiteral("experimentFolder")).toString();
    const QString folder = QFileDialog::getExistingDirectory(this, tr("Folder of an experiment"), last);
    if (folder.isEmpty()) return;
    QSettings().setValue(QStringLiteral("experimentFolder"), folder);
    m_background.run(
        m_experimentLane, [folder](std::stop_token) { return read_experiment(folder.toStdString()); },
        [this](ExperimentResults results) { (new ExperimentWindow(std::move(results), this))->show(); },
        [this](const QString& error) { m_message->showMessage(MessageBar::Kind::error, error); });
}

/// What is not as usual is said in the toolbar, so that nobody wonders about the figures, as far as there is room for it. What does not fit
/// into one row gets two, so that nothing hides behind an arrow.
void MainWindow::showOptions() {
    constexpr int kLeast = 150, kMost = 450;
    const QStringList changes = changedOptions(m_document->options());
    const QString all = changes.join(QStringLiteral(" · "));
    const int first = m_bar->sizeHint().width() - m_simulationButton->sizeHint().width() + 24;
    const bool apart = first + kLeast + m_searchBar->sizeHint().width() > width();
    if (apart && !toolBarBreak(m_searchBar)) insertToolBarBreak(m_searchBar);
    if (!apart && toolBarBreak(m_searchBar)) removeToolBarBreak(m_searchBar);
    const int room = width() - first - (apart ? 0 : m_searchBar->sizeHint().width());
    m_simulationButton->setText(changes.isEmpty() ? tr("Simulation…")
                                                  : fontMetrics().elidedText(all, Qt::ElideRight, std::clamp(room, kLeast, kMost)));
    m_simulationButton->setAccessibleName(changes.isEmpty() ? tr("Simulation") : tr("Simulation: %1").arg(all));
    m_simulationButton->setToolTip(
        changes.isEmpty() ? m_simulation->toolTip()
                          : QStringLiteral("<qt>%1<br><b>%2</b></qt>").arg(m_simulation->toolTip().toHtmlEscaped(), all.toHtmlEscaped()));
}

void MainWindow::showStart(bool start) {
    m_stack->setCurrentIndex(start ? 0 : 1);
    showPanels(!start);
    m_startPage->setText(start && m_document->isOpen() ? tr("&Back to %1").arg(text(m_document->problem()->graph->name()))
                                                       : tr("&Start page"));
}

void MainWindow::openDialog() {
    const QString start = QSettings().value(QStringLiteral("folder")).toString();
    const QString path = QFileDialog::getOpenFileName(this, tr("Open a network, machine, placement, trace or policy"), start,
                                                      tr("Networks, machines, placements, traces, policies (*.json *.json.gz *.onnx *.pt "
                                                         "*.pt2 *.dot *.gv *.safetensors);;All files (*)"));
    if (path.isEmpty()) return;
    QSettings().setValue(QStringLiteral("folder"), QFileInfo(path).absolutePath());
    openPath(path);
}

void MainWindow::openArgument(const QString& text) {
    if (is_trace(text.toStdString())) {
        openTrace(text);
    } else {
        m_document->openNetwork(text);
    }
}

void MainWindow::openPath(const QString& path) {
    m_message->hide();
    if (is_trace(path.toStdString())) {
        openTrace(path);
        return;
    }
    if (QFileInfo(path).suffix() == QLatin1String("safetensors")) {
        if (m_document->isOpen() && holds_weights(path.toStdString())) return editSimulation({}, path);
        return m_learning->trainOn(path);
    }
    if (is_score_file(path.toStdString())) return m_document->resumeSearch(path, static_cast<std::uint64_t>(m_evaluations->value()));
    if (m_document->isOpen()) showStart(false);
    m_document->openFile(path);
}

void MainWindow::openTrace(const QString& path) {
    auto* window = new TraceWindow(path, this);
    window->setNetworkOpen(m_document->isOpen());
    connect(m_document.get(), &Document::problemChanged, window, [this, window] { window->setNetworkOpen(m_document->isOpen()); });
    connect(window, &TraceWindow::timesWanted, this, [this](const QString& file) {
        raise();
        activateWindow();
        editSimulation(file);
    });
    window->show();
}

void MainWindow::rememberFile(const QString& path) {
    if (!QFileInfo::exists(path)) return;
    const QString absolute = QFileInfo(path).absoluteFilePath();
    QStringList files = recentFiles();
    files.removeAll(absolute);
    files.prepend(absolute);
    QSettings().setValue(QStringLiteral("recentFiles"), QStringList(files.mid(0, kMostRecent)));
    fillRecent();
}

void MainWindow::fillRecent() {
    m_recentMenu->clear();
    std::vector<StartEntry> entries;
    int number = 0;
    for (const QString& file : recentFiles()) {
        QAction* action = m_recentMenu->addAction(QStringLiteral("&%1  %2").arg(++number).arg(QFileInfo(file).fileName()), this,
                                                  [this, file] { openPath(file); });
        action->setShortcut(QKeySequence(Qt::CTRL | static_cast<Qt::Key>(Qt::Key_0 + number)));
        action->setStatusTip(file);
        const QFileInfo info(file);
        action->setEnabled(info.exists());
        entries.push_back({info.completeBaseName(), info.absolutePath(), file, info.exists()});
    }
    if (number == 0) m_recentMenu->addAction(tr("Nothing opened yet"))->setEnabled(false);
    m_start->setRecent(entries);
}

void MainWindow::fillGallery() {
    std::vector<StartEntry> gallery;
    for (const ShippedFile& shipped : shipped_networks()) {
        StartEntry entry{text(shipped.name), {}, text(shipped.file.string()), true};
        try {
            const Graph graph = read_network(shipped.file).graph;
            const GraphTotals sums = totals(graph);
            if (const NetworkInfo* info = find_network(shipped.name))
                entry.title = QString::fromUtf8(info->title.data(), static_cast<int>(info->title.size()));
            entry.detail =
                tr("%1 · %2 · %3 parameters · batch %4")
                    .arg(opsText(sums.ops), flopsText(sums.forward_flops), countText(static_cast<double>(sums.parameter_bytes) / 4))
                    .arg(graph.batch());
            entry.picture = makeStartPicture(graph);
        } catch (const InputError& error) {
            entry.detail = QString::fromUtf8(error.what());
            entry.available = false;
        }
        gallery.push_back(std::move(entry));
    }
    m_start->setGallery(gallery);
}

void MainWindow::showProblem() {
    const bool open = m_document->isOpen();
    for (QAction* action : std::as_const(m_needProblem)) action->setEnabled(open);
    showStart(!open);
    showMachine();
    if (!open) {
        m_selection->clear();
        showStatus();
        return;
    }
    const Problem& problem = *m_document->problem();
    setWindowTitle(tr("%1 on %2 — Placewright").arg(text(problem.graph->name()), text(problem.machine->name())));
    m_matches.clear();
    m_find->hide();
    if (!m_document->scene()) m_graph->setScene(nullptr, nullptr);
    m_graph->setMatches({});
    m_timeline->setData(nullptr);
    m_devices->setMachine(problem.machine, problem.memory_limit_bytes);
    m_archive->setArchive(nullptr);
    m_distribution->setDistribution(nullptr, nullptr);
    m_curve->setLowerBound(0);
    showGoal();
    rememberFile(m_document->networkFile());
    showStatus();
}

/// What is made small is called by its name wherever its figures are; what is about the simulated step in any case says so.
void MainWindow::showGoal() {
    const Goal& goal = *m_document->job().goal;
    const QString title = goalTitle(goal);
    m_runs->runs()->setGoal(title, QString::fromUtf8(goal.help.data(), std::ssize(goal.help)));
    m_curve->setGoal(title);
    m_archive->setGoal(title);
    const bool simulated = goal.is_step_time();
    m_timelineDock->setWindowTitle(simulated ? tr("Timeline")
                                             : tr("Timeline of the simulated step (searches make the %1 small)").arg(goalName(goal)));
}

void MainWindow::showMachine() {
    showOptions();
    const bool own = m_document->isOpen() && m_document->job().own_machine;
    m_machine->setEnabled(!own);
    if (own) {
        m_machine->setPlaceholderText(text(m_document->problem()->machine->name()));
        m_machine->setCurrentIndex(-1);
        return;
    }
    const QString& file = m_document->machineFile();
    int index = m_machine->findData(file);
    if (index < 0) {
        m_machine->addItem(m_document->isOpen() ? text(m_document->problem()->machine->name()) : QFileInfo(file).completeBaseName(), file);
        index = m_machine->count() - 1;
    }
    m_machine->setCurrentIndex(index);
}

/// The sizes of panels that nobody has moved yet. A small window keeps room for the graph; narrower than this the panels would be cut off.
void MainWindow::sizePanels() {
    QDockWidget *devices = m_docks[0], *selection = m_docks[1], *runs = m_docks[2], *curve = m_docks[3];
    resizeDocks({devices, runs}, {std::clamp(width() * 21 / 100, 230, 300), std::clamp(width() * 36 / 100, 230, 520)}, Qt::Horizontal);
    resizeDocks({devices, selection}, {380, 200}, Qt::Vertical);
    resizeDocks({runs, curve}, {230, 350}, Qt::Vertical);
    m_timelineShare = std::min(300.0, height() / 3.0) / height();
    sizeTimeline();
}

/// Qt takes height from the timeline when the window shrinks, and gives none back.
void MainWindow::sizeTimeline() {
    if (m_timelineShare <= 0 || !m_panelsShown || m_timelineDock->isFloating() || !m_timelineDock->isVisible()) return;
    resizeDocks({m_timelineDock}, {static_cast<int>(std::lround(m_timelineShare * height()))}, Qt::Vertical);
}

void MainWindow::noteTimelineShare() {
    if (m_timelineDock->isVisible() && !m_timelineDock->isFloating())
        m_timelineShare = static_cast<double>(m_timelineDock->height()) / height();
}

bool MainWindow::eventFilter(QObject* watched, QEvent* event) {
    // By the person, who holds the border between the panels.
    if (watched == m_timelineDock && event->type() == QEvent::Resize && (QApplication::mouseButtons() & Qt::LeftButton) != 0)
        noteTimelineShare();
    return QMainWindow::eventFilter(watched, event);
}

/// Panels have nothing to show on the start page; their arrangement comes back with the first network.
void MainWindow::showPanels(bool show) {
    if (show == m_panelsShown) return;
    m_panelsShown = show;
    if (show) {
        restoreState(m_layout);
        if (!QSettings().contains(QStringLiteral("layout"))) sizePanels();
        QTimer::singleShot(0, this, &MainWindow::noteTimelineShare);
        showOptions();
    } else {
        m_layout = saveState();
        for (QDockWidget* dock : std::as_const(m_docks)) dock->hide();
    }
    for (QDockWidget* dock : std::as_const(m_docks)) dock->toggleViewAction()->setEnabled(show);
}

void MainWindow::showPlacement() {
    m_graph->setDevices(m_document->deviceOfOps());
}

void MainWindow::showTimeline() {
    const auto& timeline = m_document->timeline();
    if (!timeline) return;
    const Problem& problem = *m_document->problem();
    std::vector<OpList> opsOf(problem.devices);
    for (OpId op = 0; op < problem.ops; ++op) {
        if (problem.graph->op(op).phase == Phase::forward) opsOf[m_document->placement()[problem.grouping.group_of[op]]].push_back(op);
    }
    m_timeline->setData(timeline);
    m_timeline->setSelection(m_document->selection());
    m_devices->setOutcome(timeline->outcome, timeline->active_s, m_document->assessment()->device_bytes, std::move(opsOf));
    if (!m_document->selection().empty()) {
        m_selection->show(m_document->problem(), m_document->deviceOfOps(), m_document->selection(), timeline);
    }
    showStatus();
}

void MainWindow::showRuns() {
    m_runs->runs()->setRows(m_document->runRows());
    std::vector<CurveSeries> series;
    for (const RunRow& row : m_runs->runs()->rows()) {
        for (const auto& run : m_document->runs()) {
            if (run->id() != row.id || !run->progress().curve || !row.elsewhere.isEmpty()) continue;
            const SearchProgress& progress = run->progress();
            const bool ended = run->state() == Run::State::finished &&
                               (run->request().predicted || progress.evaluations < run->request().budget.evaluations);
            series.push_back({run->id(), row.title, progress.curve, static_cast<double>(progress.evaluations), progress.elapsed_s,
                              progress.means, ended});
        }
    }
    m_curve->setSeries(std::move(series));
    showLearnt();

    const bool searching = m_document->isSearching();
    m_optimize->setText(searching ? tr("&Stop") : tr("&Optimize"));
    m_optimize->setIcon(mediaIcon(searching ? QStyle::SP_MediaStop : QStyle::SP_MediaPlay, this));
    m_beside->setEnabled(searching);
    m_pause->setEnabled(searching);
    m_saveSearch->setEnabled(!m_document->isSaving() && runWith([](const Run& run) { return run.saved().has_value(); }) != nullptr);
    m_pause->setText(searching && allPaused() ? tr("&Go on") : tr("&Pause"));
    m_optimize->setToolTip(searching ? tr("Stop all searches; the best so far stays (F5)") : tr("Search for a better placement (F5)"));
    showStatus();
}

/// Of the runs of what is open the chosen one, if it has it; else the latest that has.
const Run* MainWindow::runWith(const std::function<bool(const Run&)>& has) const {
    const Run* latest = nullptr;
    for (const RunRow& row : m_document->runRows()) {
        for (const auto& run : m_document->runs()) {
            if (run->id() != row.id || !has(*run) || !row.elsewhere.isEmpty()) continue;
            latest = run.get();
            if (m_runs->currentRun() == row.id) return latest;
        }
    }
    return latest;
}

/// What searches know beside their best placement.
void MainWindow::showLearnt() {
    const Run* const archived = runWith([](const Run& run) { return run.progress().archive != nullptr; });
    m_archive->setArchive(archived != nullptr ? archived->progress().archive : nullptr);
    const Run* const drawn = runWith([](const Run& run) { return run.progress().distribution != nullptr; });
    m_distribution->setDistribution(drawn != nullptr ? drawn->progress().distribution : nullptr,
                                    drawn != nullptr ? drawn->job().problem : nullptr);
    const Run* const trained = runWith([](const Run& run) { return run.progress().training != nullptr; });
    m_learningPlot->setCurve(trained != nullptr ? trained->progress().training : nullptr);
}

void MainWindow::showWhy() {
    if (m_path == nullptr) return;  // while the window is being made
    const auto& why = m_document->why();
    m_timeline->setPathShown(m_path->isChecked());
    m_timeline->setWhy(why);
    m_devices->setWhy(why && why->timeline == m_document->timeline() ? why : nullptr);
    if (m_whySeen) m_why->setWhy(why);
    m_graph->setHighlighted(why && m_pathColour->isChecked() ? std::optional(why->ops()) : std::nullopt);
}

void MainWindow::showMoves() {
    if (!m_document->isOpen()) return;
    if (m_document->moves()) {
        m_suggestions->showMoves(*m_document->problem(), m_document->placement(), *m_document->moves(), goalTitle(*m_document->job().goal));
    } else if (m_document->isSearching()) {
        m_suggestions->showText(tr("Suggestions follow when the search has ended."));
    } else {
        m_suggestions->showProgress(0, 0);
    }
}

void MainWindow::raisePanel(QWidget* panel) {
    for (QDockWidget* dock : std::as_const(m_docks)) {
        if (dock->widget() != panel) continue;
        dock->show();
        dock->raise();
    }
}

void MainWindow::showStatus() {
    const auto& timeline = m_document->timeline();
    if (!m_document->isOpen() || !timeline) {
        m_stepStatus->setText(m_document->isOpen() ? QString() : tr("Open a network to begin."));
        m_boundStatus->clear();
        m_searchStatus->clear();
        return;
    }
    showFigure();
    showBound();
    const Run* running = nullptr;
    for (const auto& run : m_document->runs()) {
        if (run->state() == Run::State::running) running = run.get();
    }
    if (running != nullptr) {
        const SearchProgress& progress = running->progress();
        const QString done = tr("%L1 / %L2").arg(progress.evaluations).arg(running->request().budget.evaluations);
        m_searchStatus->setText(
            running->isPaused() ? tr("%1 · paused").arg(done)
                                : tr("%1 · %2 simulations/s · %3 left")
                                      .arg(done, countText(static_cast<double>(progress.simulations) / std::max(progress.elapsed_s, 1e-3)),
                                           text(format_clock(progress.eta_s))));
    } else {
        m_searchStatus->clear();
    }
    if (!m_document->isLoading()) {
        m_progress->setVisible(running != nullptr);
        if (running != nullptr) {
            m_progress->setRange(0, 1000);
            m_progress->setValue(static_cast<int>(1000.0 * static_cast<double>(running->progress().evaluations) /
                                                  static_cast<double>(running->request().budget.evaluations)));
        }
    }
}

/// What is made small, for the placement on screen.
void MainWindow::showFigure() {
    const Job& job = m_document->job();
    const Goal& goal = *job.goal;
    const Outcome& outcome = m_document->timeline()->outcome;
    const Assessment& assessment = *m_document->assessment();
    m_stepStatus->setAccessibleName(goalTitle(goal));
    QString tip;
    if (goal.is_step_time()) {
        tip = outcome.steady_step_time_s
                  ? tr("Time of a batch over the whole run, and of a batch once the pipeline is full and before it drains")
                  : tr("Simulated time of a step");
    } else {
        tip = tr("%1: %2 The simulated step takes %3; it is what the timeline shows.")
                  .arg(goalTitle(goal), QString::fromUtf8(goal.help.data(), std::ssize(goal.help)), secondsText(outcome.step_time_s));
    }
    m_why->setGoal(
        goal.is_step_time() ? QString()
        : assessment.is_defined()
            ? tr("Searches make the %1 small, which is %2: for each device this. What follows is about the simulated step of %3.")
                  .arg(goalName(goal), secondsText(assessment.score.step_time_s), secondsText(outcome.step_time_s))
            : tr("Searches make the %1 small, which is not defined here: %2. What follows is about the simulated step of %3.")
                  .arg(goalName(goal), text(assessment.undefined), secondsText(outcome.step_time_s)),
        assessment.device_s);
    const QString name = goal.is_step_time() ? tr("step") : goalName(goal);
    if (!assessment.is_defined()) {
        m_stepStatus->setText(tr("%1 not defined").arg(name));
        m_stepStatus->setToolTip(QStringLiteral("<qt>%1<br>%2</qt>").arg(tip.toHtmlEscaped(), text(assessment.undefined).toHtmlEscaped()));
        return;
    }
    const double now_s = assessment.score.step_time_s;
    QString status = tr("%1 %2").arg(name, secondsText(now_s));
    if (const auto before = m_document->valueBefore(); before && *before > 0 && *before != now_s) {
        const double change = now_s / *before - 1;
        status = tr("%1 %2 → %3 (%4%5 %)")
                     .arg(name, secondsText(*before), secondsText(now_s), change > 0 ? QStringLiteral("+") : QStringLiteral("−"))
                     .arg(std::abs(change) * 100, 0, 'f', 1);
    }
    if (goal.is_step_time() && outcome.steady_step_time_s) status += tr(", steady %1").arg(secondsText(*outcome.steady_step_time_s));
    status += assessment.score.fits ? tr(" · fits") : tr(" · %1").arg(misfit(*job.problem, assessment).text);
    m_stepStatus->setText(status);
    m_stepStatus->setToolTip(QStringLiteral("<qt>%1</qt>").arg(tip.toHtmlEscaped()));
}

void MainWindow::showBound() {
    const Score& score = m_document->assessment()->score;
    const auto& bound = m_document->bound();
    if (!bound || bound->value_s <= 0) return m_boundStatus->clear();
    QString tip = tr("Proven by %1: %2.").arg(text(bound->name), text(bound->proof)).toHtmlEscaped();
    if (!std::isfinite(bound->value_s)) {
        m_boundStatus->setText(tr("no placement fits"));
    } else {
        QString status = tr("bound %1").arg(secondsText(bound->value_s));
        if (m_document->isProving()) {
            status += QStringLiteral(" ↑");  // little room is left beside a search
            tip +=
                tr("<br>↑ It is being tightened, for a minute at most; Run ▸ %1 ends that.").arg(m_proof->text().remove(QLatin1Char('&')));
        }
        // It says nothing of placements that do not fit.
        if (score.fits) {
            const double percent = whole_percent(score.step_time_s / bound->value_s - 1);
            const bool grouped = m_document->job().grouping.rule != GroupingRule::none;
            if (percent > 0) {
                status += (grouped ? tr(" (at most %1 % above the best of these groups)") : tr(" (at most %1 % above optimal)"))
                              .arg(percent, 0, 'f', 0);
            } else {
                status += grouped ? tr(" (optimal for these groups)") : tr(" (optimal)");
            }
        }
        m_boundStatus->setText(status);
    }
    m_boundStatus->setToolTip(QStringLiteral("<qt>%1</qt>").arg(tip));
}

void MainWindow::showLoading() {
    const bool loading = m_document->isLoading();
    m_cancelLoading->setVisible(loading);
    m_progress->setVisible(loading || m_document->isSearching());
    if (loading) {
        m_progress->setRange(0, 0);
        m_graph->setEmptyText(tr("Laying the graph out…"));
    } else {
        m_graph->setEmptyText(
            tr("The layout was cancelled. Placement, timeline and search work without it; open the file again to draw the graph."));
        showStatus();
    }
}

void MainWindow::findOps(const QString& what) {
    m_matches.clear();
    m_currentMatch = -1;
    if (!what.isEmpty() && m_document->isOpen()) {
        const Graph& graph = *m_document->problem()->graph;
        for (OpId id = 0; id < graph.size(); ++id) {
            const Op& op = graph.op(id);
            if (op.phase != Phase::forward) continue;
            const bool found = text(op.name).contains(what, Qt::CaseInsensitive) || text(op.kind).contains(what, Qt::CaseInsensitive) ||
                               text(op.scope).contains(what, Qt::CaseInsensitive);
            if (found) m_matches.push_back(id);
        }
    }
    m_graph->setMatches(m_matches);
    m_find->setMatchCount(0, static_cast<int>(m_matches.size()));
    if (!m_matches.empty()) stepMatch(1, false);
}

/// `opens` the modules round the match: not while somebody is still typing.
void MainWindow::stepMatch(int direction, bool opens) {
    if (m_matches.empty()) return;
    const auto count = static_cast<std::ptrdiff_t>(m_matches.size());
    m_currentMatch = m_currentMatch < 0 ? (direction > 0 ? 0 : count - 1) : (m_currentMatch + direction + count) % count;
    const OpId op = m_matches[static_cast<std::size_t>(m_currentMatch)];
    m_document->setSelection({op});
    m_graph->zoomTo({op});
    if (opens) m_graph->openRound(op);
    m_find->setMatchCount(static_cast<int>(m_currentMatch) + 1, static_cast<int>(count));
}

void MainWindow::moveSelectionTo(int number) {
    if (!m_document->isOpen() || number < 1) return;
    if (number > static_cast<int>(m_document->problem()->devices)) {
        m_message->showMessage(MessageBar::Kind::information,
                               tr("This machine has %1 devices; there is no number %2.").arg(m_document->problem()->devices).arg(number));
        return;
    }
    m_document->moveOps(m_document->selection(), static_cast<DeviceId>(number - 1));
}

QString MainWindow::chooseExportFile(const QString& title, const QString& suggestion, const QString& filter) {
    const QString folder = QSettings().value(QStringLiteral("exportFolder"), QSettings().value(QStringLiteral("folder"))).toString();
    const QString file =
        QFileDialog::getSaveFileName(this, title, folder.isEmpty() ? suggestion : folder + QLatin1Char('/') + suggestion, filter);
    if (!file.isEmpty()) QSettings().setValue(QStringLiteral("exportFolder"), QFileInfo(file).absolutePath());
    return file;
}

bool MainWindow::exportPlacement(const std::function<void()>& show) {
    if (!m_document->isOpen()) return false;
    QString file = chooseExportFile(tr("Export"), text(m_document->problem()->graph->name()) + QStringLiteral(".placement.json"),
                                    tr("Placement (*.json)"));
    if (file.isEmpty()) return false;
    if (QFileInfo(file).suffix().isEmpty()) file += QStringLiteral(".json");
    if (show) show();
    try {
        m_document->exportPlacement(file);
        m_message->showMessage(MessageBar::Kind::information, tr("Placement written to %1").arg(file));
        return true;
    } catch (const InputError& error) {
        m_message->showMessage(MessageBar::Kind::error, QString::fromUtf8(error.what()));
        return false;
    }
}

void MainWindow::exportView(const QString& name, QSizeF size, const std::function<void(QPainter&, const QRectF&)>& paint) {
    QString file =
        chooseExportFile(tr("Export"), text(m_document->problem()->graph->name()) + QLatin1Char('-') + name + QStringLiteral(".png"),
                         tr("Picture (*.png *.svg)"));
    if (file.isEmpty()) return;
    if (QFileInfo(file).suffix().isEmpty()) file += QStringLiteral(".png");
    try {
        exportPicture(file, size, paint);
        m_message->showMessage(MessageBar::Kind::information, tr("Picture written to %1").arg(file));
    } catch (const InputError& error) {
        m_message->showMessage(MessageBar::Kind::error, QString::fromUtf8(error.what()));
    }
}

void MainWindow::changeEvent(QEvent* event) {
    QMainWindow::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && m_cancelLoading != nullptr) showRuns();  // the icon of its button
}

void MainWindow::resizeEvent(QResizeEvent* event) {
    QMainWindow::resizeEvent(event);
    if (m_simulationButton == nullptr) return;  // while the window is being made
    showOptions();
    if (event->oldSize().height() != event->size().height()) sizeTimeline();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    const auto urls = event->mimeData()->urls();
    event->acceptProposedAction();
    for (const QUrl& url : urls) {
        if (url.isLocalFile()) {
            openPath(url.toLocalFile());
            return;
        }
    }
    m_message->showMessage(MessageBar::Kind::error, tr("Only files on this computer can be dropped here."));
}

void MainWindow::restoreSettings() {
    QSettings settings;
    restoreGeometry(settings.value(QStringLiteral("geometry")).toByteArray());
    restoreState(settings.value(QStringLiteral("layout")).toByteArray());
    chooseAlgorithm(settings.value(QStringLiteral("algorithm"), QString::fromLatin1(kDefaultAlgorithm)).toString());
    m_evaluations->setValue(settings.value(QStringLiteral("evaluations"), 20'000).toInt());
    m_proof->setChecked(settings.value(QStringLiteral("tightenBound"), true).toBool());
}

void MainWindow::saveSettings() {
    QSettings settings;
    settings.setValue(QStringLiteral("geometry"), saveGeometry());
    settings.setValue(QStringLiteral("layout"), m_panelsShown ? saveState() : m_layout);
    settings.setValue(QStringLiteral("algorithm"), m_algorithm->currentData());
    settings.setValue(QStringLiteral("evaluations"), m_evaluations->value());
    settings.setValue(QStringLiteral("tightenBound"), m_proof->isChecked());
}

bool MainWindow::answerToOpen(const OpenQuestion& question, ReadOptions& options) {
    const QString title = tr("Open %1").arg(QFileInfo(question.file).fileName());
    if (question.kind == OpenQuestion::Kind::extent) {
        constexpr int kUsual = 128, kLargest = 1'000'000'000;
        bool ok = false;
        const int extent = QInputDialog::getInt(this, title, tr("%1 How large is it?").arg(question.reason), kUsual, 1, kLargest, 1, &ok);
        if (ok) options.dims[question.extent.toStdString()] = extent;
        return ok;
    }
    if (question.kind == OpenQuestion::Kind::mayRun) {
        QMessageBox box(QMessageBox::Question, title, tr("May the model run, once, on this computer's CPU?"),
                        QMessageBox::Yes | QMessageBox::No, this);
        box.setInformativeText(
            tr("Some of its sizes are known only then. Say no if you do not know where the file comes from.\n\n%1").arg(question.reason));
        box.setDefaultButton(QMessageBox::No);
        options.run = box.exec() == QMessageBox::Yes;
        return options.run;
    }
    const QString help =
        tr("Enter the shape of each tensor that it is called with, such as 1x3x224x224, or 1x128:int64 for whole numbers; blanks between "
           "several. The first number is the batch size.");
    const QString lastInputs = QStringLiteral("exampleInputs");
    const bool proposed = options.inputs.empty() && !question.proposal.empty();
    QStringList shapes;
    for (const ExampleInput& input : proposed ? question.proposal : options.inputs) shapes << QString::fromStdString(to_text(input));
    QString answer = shapes.isEmpty() ? QSettings().value(lastInputs).toString() : shapes.join(QLatin1Char(' '));
    QString prompt = question.reason + QStringLiteral("\n\n") + help;
    if (proposed) prompt += QStringLiteral("\n\n") + tr("Proposed is what its first layers take; other sizes may be meant.");
    while (true) {
        QInputDialog dialog(this);
        dialog.setWindowTitle(title);
        dialog.setLabelText(prompt);
        dialog.setTextValue(answer);
        // Long lines of the prompt are wrapped.
        if (auto* const label = dialog.findChild<QLabel*>()) label->setWordWrap(true);
        dialog.resize(480, dialog.sizeHint().height());
        if (dialog.exec() != QDialog::Accepted) return false;
        answer = dialog.textValue();
        try {
            options.inputs.clear();
            for (const QString& text : answer.simplified().split(QLatin1Char(' ')))
                options.inputs.push_back(example_input_from(text.toStdString()));
            QSettings().setValue(lastInputs, answer.simplified());
            return true;
        } catch (const std::invalid_argument& error) {
            prompt = QString::fromUtf8(error.what()) + QStringLiteral(".\n\n") + help;
        }
    }
}

bool MainWindow::mayLeave(const QString& title, const QString& consequence) {
    std::vector<int> held;  // they would find more while the question is open
    for (const auto& run : m_document->runs()) {
        if (run->state() != Run::State::running || run->isPaused()) continue;
        held.push_back(run->id());
        m_document->pauseRun(run->id(), true);
    }
    bool may = true;
    while (may) {
        const auto unsaved = m_document->unsaved();
        const auto compared = m_compare != nullptr ? m_compare->bestOfOpen() : std::nullopt;
        const bool byComparison = compared && m_document->isBestKnown(compared->score.seconds);
        if (!unsaved && !byComparison) break;
        const QString network = text(m_document->problem()->graph->name());
        const auto run = std::ranges::find(m_document->runs(), unsaved.value_or(0), [](const auto& of) { return of->id(); });
        QMessageBox question(QMessageBox::Question, title, {}, QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, this);
        const auto figureOf = [](const Score& score, const Goal& goal) {
            return score.fits ? tr("%1 %2").arg(goalName(goal), secondsText(score.step_time_s)) : tr("which does not fit the memory");
        };
        if (byComparison) {
            question.setText(tr("The best placement found for %1 (%2, by %3 of the comparison) is in no file.")
                                 .arg(network, figureOf(compared->score, *m_document->job().goal), compared->by));
        } else if (run != m_document->runs().end()) {
            const QString figure = figureOf((*run)->progress().best, *(*run)->job().goal);
            question.setText(tr("The best placement found for %1 (%2, by %3 on %4) is in no file.")
                                 .arg(network, figure, m_document->runTitle(**run), text((*run)->job().machine->name())));
        } else {
            const Assessment* assessment = m_document->assessment();
            const QString goal = goalName(*m_document->job().goal);
            question.setText(tr("The placement of %1 (%2) is in no file.")
                                 .arg(network, assessment == nullptr ? tr("not simulated yet")
                                               : assessment->is_defined()
                                                   ? tr("%1 %2").arg(goal, secondsText(assessment->score.step_time_s))
                                                   : tr("%1 not defined").arg(goal)));
        }
        question.setInformativeText(consequence);
        question.button(QMessageBox::Save)->setText(tr("&Export…"));
        question.button(QMessageBox::Discard)->setText(tr("&Discard"));
        question.setDefaultButton(QMessageBox::Save);
        const int answer = question.exec();
        if (answer == QMessageBox::Discard) break;
        may = answer == QMessageBox::Save && exportPlacement([&] {
                  if (byComparison)
                      m_document->showPlacement(compared->placement, tr("Show %1").arg(compared->by));
                  else
                      m_document->showRun(*unsaved);
              });
    }
    for (const int id : held) m_document->pauseRun(id, false);
    return may;
}

void MainWindow::closeEvent(QCloseEvent* event) {
    if (!mayLeave(tr("Close Placewright"), tr("Runs and undo steps end with the window.")) ||
        (m_compare != nullptr && !m_compare->mayClose()) || !m_learning->mayClose())
        return event->ignore();
    saveSettings();
    event->accept();
}

}  // namespace placewright
