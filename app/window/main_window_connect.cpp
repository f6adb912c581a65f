// SPDX-License-Identifier: MIT
// What follows from changes of the document, and what people do in the views.
#include <cmath>
#include <utility>

#include <QFileDialog>
#include <QFileInfo>

#include "app/window/computer_finder.hpp"
#include "app/window/finder.hpp"
#include "app/window/graph_coloring.hpp"
#include "app/window/live_cdf.hpp"
#include "app/window/main_window.hpp"
#include "app/window/offer_bar.hpp"
#include "app/window/pair/pinned_placement.hpp"
#include "app/window/panels.hpp"
#include "app/window/questions.hpp"
#include "app/window/settings.hpp"
#include "app/window/view_history.hpp"
#include "widgets/archive_panel.hpp"
#include "widgets/curve_plot.hpp"
#include "widgets/device_panel.hpp"
#include "widgets/distribution_view.hpp"
#include "widgets/find_bar.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/measured_panel.hpp"
#include "widgets/message_bar.hpp"
#include "widgets/ops_view.hpp"
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

}  // namespace

void MainWindow::connectDocument() {
    Document* document = m_document.get();
    document->setLeaveQuestion([this] {
        const bool asks = m_document->unsaved().has_value() || m_document->hasUnsavedMeasured();
        return mayClose(tr("Open another network"),
                        tr("Runs and undo history of this network will be lost.")) &&
               (asks || mayDropOtherWork());
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
    connect(document, &Document::searchWaits, this, [this](bool waits) {
        const QString text = tr("The search starts when the change has been applied. F5 cancels it.");
        if (waits) {
            showInformation(text);
        } else if (m_message->text() == text) {
            m_message->dropInformation();
        }
    });
    connect(document, &Document::networkOpened, this, [this] {
        if (!std::exchange(m_opensUnplaced, false) && settings::placesAtOnce.get()) m_document->placeAtOnce();
    });
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
    connect(m_start, &StartPage::backRequested, this, [this] { showStart(false); });
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

}  // namespace placewright
