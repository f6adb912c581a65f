// SPDX-License-Identifier: MIT
// Values of the document on the widgets of the main window.
#include <algorithm>

#include <QAction>
#include <QDockWidget>
#include <QFileInfo>
#include <QStackedWidget>

#include "app/window/computer_finder.hpp"
#include "app/window/finder.hpp"
#include "app/window/gallery.hpp"
#include "app/window/live_cdf.hpp"
#include "app/window/main_window.hpp"
#include "app/window/option_text.hpp"
#include "app/window/panels.hpp"
#include "app/window/status_line.hpp"
#include "app/window/tool_bars.hpp"
#include "app/window/view_history.hpp"
#include "widgets/archive_panel.hpp"
#include "widgets/curve_plot.hpp"
#include "widgets/device_panel.hpp"
#include "widgets/distribution_view.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/learning_plot.hpp"
#include "widgets/measured_panel.hpp"
#include "widgets/ops_view.hpp"
#include "widgets/quantities.hpp"
#include "widgets/runs_view.hpp"
#include "widgets/selection_panel.hpp"
#include "widgets/start_page.hpp"
#include "widgets/suggestions_panel.hpp"
#include "widgets/text.hpp"
#include "widgets/why_panel.hpp"

namespace placewright {

void MainWindow::showGallery() {
    m_start->setGallery(m_gallery->networks());
    m_start->setMachines(m_gallery->machines());
    m_bars->showMachineTitles(*m_gallery);
    showMachineOnStart();
}

void MainWindow::showMachineOnStart() {
    const QString& file = m_document->machineFile();
    const QString title = m_document->isOpen()             ? toQString(m_document->problem()->machine->name())
                          : file == ComputerFinder::file() ? tr("this computer")
                                                           : m_gallery->chosenMachineTitle(file);
    m_start->showMachine(title, file);
}

void MainWindow::offerComputer() {
    connect(m_computer, &ComputerFinder::found, this, &MainWindow::showOffer);
    connect(m_start, &StartPage::computerChosen, m_computer, &ComputerFinder::choose);
    m_isOffered = true;
    m_computer->look();
}

void MainWindow::showOffer() {
    if (m_isOffered && !m_computer->summary().isEmpty())
        m_start->offerComputer(m_computer->summary(), m_document->machineFile() == ComputerFinder::file());
}

void MainWindow::showStart(bool start) {
    m_start->offerBack(m_document->isOpen() ? toQString(m_document->problem()->graph->name()) : QString());
    m_stack->setCurrentIndex(start ? 0 : 1);
    showPanels(!start);
    action(ActionId::startPage)
        ->setText(start && m_document->isOpen()
                      ? tr("Bac&k to %1").arg(toQString(m_document->problem()->graph->name()))
                      : tr("Start &page"));
}

void MainWindow::toggleStart() {
    showStart(m_stack->currentIndex() == 1);
}

void MainWindow::fillRecent() {
    const std::vector<StartEntry> entries = recentEntries();
    QMenu* menu = m_actions->menu(MenuId::recent);
    menu->clear();
    int number = 0;
    for (const StartEntry& entry : entries) {
        const QString name = QFileInfo(entry.path).fileName();
        // Every language model has a file of this name.
        const QString shown = name == QLatin1String("config.json") ? entry.title : name;
        QAction* action = menu->addAction(QStringLiteral("&%1  %2").arg(++number).arg(shown), this,
                                          [this, file = entry.path] { openPath(file); });
        action->setShortcut(QKeySequence(Qt::CTRL | static_cast<Qt::Key>(Qt::Key_0 + number)));
        action->setStatusTip(entry.path);
        action->setEnabled(entry.available);
    }
    if (entries.empty()) menu->addAction(tr("No recent files"))->setEnabled(false);
    m_start->setRecent(entries);
}

void MainWindow::showProblem() {
    const bool open = m_document->isOpen();
    m_actions->setNetworkOpen(open);
    showStart(!open);
    showMachine();
    if (!open) {
        m_selection->clear();
        showStatus();
        return;
    }
    const Problem& problem = *m_document->problem();
    setWindowTitle(tr("%1 on %2[*] — Placewright")
                       .arg(toQString(problem.graph->name()), toQString(problem.machine->name())));
    if (m_document->scene()) {
        m_graph->setMachine(problem.machine);
    } else {
        m_graph->setScene(nullptr, nullptr);
    }
    showPadlocks();
    m_finder->reset();
    m_history->clear();
    m_timeline->setData(nullptr);
    showMeasured();
    m_devices->setMachine(problem.machine, problem.memory_limit_bytes);
    m_archive->setArchive(nullptr);
    m_distribution->setDistribution(nullptr, nullptr);
    m_curve->setLowerBound(0);
    showObjective();
    if (rememberFile(m_document->networkFile())) fillRecent();
    showStatus();
}

/// Puts the objective's name on every view of its values. Where it is not the step time, the timeline's title
/// says that it shows the simulated step.
void MainWindow::showObjective() {
    const Objective& objective = *m_document->job().objective;
    const QString title = objectiveTitle(objective);
    m_runs->runs()->setObjective(title, toQString(objective.help));
    m_curve->setObjective(title);
    m_archive->setObjective(title);
    const bool simulated = objective.is_step_time();
    m_timelineDock->setWindowTitle(
        simulated
            ? tr("Timeline")
            : tr("Timeline of the simulated step (searches minimise the %1)").arg(objectiveName(objective)));
}

void MainWindow::showMachine() {
    m_bars->showOptions();
    m_bars->showMachine();
    showMachineOnStart();
    showOffer();
}

void MainWindow::showPanels(bool show) {
    if (show == m_panels->areShown()) return;
    m_panels->show(show);
    if (show) m_bars->showOptions();
}

void MainWindow::showPlacement() {
    m_graph->setDevices(m_document->deviceOfOps());
    m_measured->setPlacementOnScreen(m_document->placement());
    m_archive->map()->setPlacementOnScreen(m_document->placement());
}

void MainWindow::showTimeline() {
    const auto& timeline = m_document->timeline();
    if (!timeline) return;
    const Problem& problem = *m_document->problem();
    std::vector<OpList> opsOf(problem.devices);
    for (OpId op = 0; op < problem.ops; ++op) {
        if (problem.graph->op(op).phase == Phase::forward)
            opsOf[m_document->placement()[problem.grouping.group_of[op]]].push_back(op);
    }
    m_timeline->setData(timeline);
    m_timeline->setSelection(m_document->selection());
    m_devices->setOutcome(timeline->outcome, timeline->active_s, m_document->assessment()->device_bytes,
                          std::move(opsOf));
    m_devices->setContents(m_document->job().language ? contents_of(problem, m_document->placement())
                                                      : std::vector<DeviceContents>());
    if (!m_document->selection().empty()) showSelectionDetails();
    m_cdf->refresh();
    showOps();
    showStatus();
}

void MainWindow::showSelectionDetails() {
    if (!m_document->isOpen()) return;
    const auto& runs = m_document->measured();
    const bool known = runs && runs->simulated->problem == m_document->problem();
    m_selection->show(m_document->problem(), m_document->deviceOfOps(), m_document->selection(),
                      m_document->timeline(), known ? &runs->comparison(m_measured->chosenRun()) : nullptr);
}

void MainWindow::showMeasured() {
    const auto& runs = m_document->measured();
    const bool known = runs && runs->simulated->problem == m_document->problem();
    m_timeline->setMeasured(known ? runs : nullptr);
    m_measured->setMeasured(known ? runs : nullptr);
    m_measured->setFileKnown(!m_document->measuredFile(m_measured->chosenRun()).isEmpty());
    // A run that is new is brought to the front and chosen; one that is only carried to other options is not.
    if (known) {
        const int newest = std::ranges::max(runs->runs, {}, [](const auto& run) { return run.of.id; }).of.id;
        const auto fresh =
            std::ranges::count_if(runs->runs, [&](const auto& run) { return run.of.id > m_newestRun; });
        m_newestRun = std::max(m_newestRun, newest);
        if (fresh > 0) {
            m_panels->raise(m_measured);
            m_measured->choose(fresh == 1 ? newest : 0);
        }
    }
    showOps();
    if (!m_document->selection().empty()) showSelectionDetails();
}

void MainWindow::showMeasuredLayout() {
    m_timeline->setMeasuredLayout(action(ActionId::measuredOverlay)->isChecked() ? MeasuredLayout::overlay
                                  : action(ActionId::measuredOff)->isChecked()   ? MeasuredLayout::off
                                                                                 : MeasuredLayout::below);
}

void MainWindow::showMeasuring() {
    m_bars->showMeasuring(m_document->measuring().running());
    m_measured->setTimeLeft(m_document->measuring().progress().left_s);
    showStatus();
}

void MainWindow::showMeasuredPlacements() {
    const auto placements = m_document->measuredPlacements();
    m_measured->setPlacements(placements);
    m_measured->setPlacementOnScreen(m_document->placement());
    // Brought to the front when they begin to be measured.
    const bool measuring = placements && placements->state == MeasuredPlacements::State::measuring;
    if (measuring && placements->all.empty()) {
        constexpr int kLeast = 360;  // for plot and table
        m_panels->raise(m_measured);
        m_panels->heighten(m_measured, kLeast);
        m_measured->showSteps();
    }
}

void MainWindow::showOps() {
    if (!m_opsSeen || !m_document->isOpen()) return;
    // A search changes the screen many times a second, and each time all rows.
    if (m_opsPause.isActive() && m_document->isSearching() &&
        m_ops->ops()->problem() == m_document->problem()) {
        m_opsLate = true;
        return;
    }
    m_opsLate = false;
    if (m_document->isSearching()) m_opsPause.start();
    m_ops->show(m_document->problem(), m_document->deviceOfOps(), m_document->measured(),
                m_measured->chosenRun());
    m_ops->setSelection(m_document->selection());
}

void MainWindow::showRuns() {
    m_runs->runs()->setRows(m_document->runRows());
    std::vector<CurveSeries> series;
    for (const RunRow& row : m_runs->runs()->rows()) {
        for (const auto& run : m_document->runs()) {
            if (run->id() != row.id || !run->progress().curve || !row.elsewhere.isEmpty() || row.hidden)
                continue;
            const SearchProgress& progress = run->progress();
            const bool ended = run->state() == Run::State::finished &&
                               (run->request().predicted != nullptr || run->isExhausted());
            series.push_back({row.style, row.title, progress.curve, static_cast<double>(progress.evaluations),
                              progress.elapsed_s, progress.means, ended, progress.samples});
        }
    }
    const QString elsewhere = m_document->elsewhereText();
    m_curve->setSeries(std::move(series), elsewhere);
    m_archive->map()->setEmptyText(elsewhere);
    m_distribution->setEmptyText(elsewhere);
    m_cdf->refresh();
    showLearnt();

    const bool searching = m_document->isOptimizing();
    m_bars->showSearching(searching, searching && allPaused());
    action(ActionId::pause)->setEnabled(searching);
    action(ActionId::followBest)
        ->setEnabled(searching && (!m_document->isFollowing() || m_document->pinnedRun() != nullptr));
    action(ActionId::saveSearch)->setEnabled(!m_document->isSaving() && runWith([](const Run& run) {
                                                                            return run.saved().has_value();
                                                                        }) != nullptr);
    showStatus();
}

/// Returns, of the runs of the open scenario for which `has` holds, the selected one, else the latest; null
/// for none.
const Run* MainWindow::runWith(const std::function<bool(const Run&)>& has) const {
    const Run* latest = nullptr;
    for (const auto& run : m_document->runs()) {
        if (m_document->isElsewhere(*run) || !has(*run)) continue;
        latest = run.get();
        if (m_runs->currentRun() == run->id()) return latest;
    }
    return latest;
}

/// Shows the archive, the distribution and the learning curve of the runs that have one.
void MainWindow::showLearnt() {
    const auto shownWith = [this](auto member) {
        return runWith([this, member](const Run& run) {
            return run.progress().*member != nullptr && !m_document->isHidden(run);
        });
    };
    const Run* const archived = shownWith(&SearchProgress::archive);
    if (archived == nullptr) {
        m_archive->setArchive(nullptr);
        m_archive->setRun({});
    } else {
        const Job& job = archived->job();
        m_archive->setArchive(archived->progress().archive,
                              {archived->id(), archived->state() == Run::State::running,
                               job.single_device_s < kUndefinedScore.value_s ? job.single_device_s : 0});
        m_archive->setRun(runTitle(*archived));
    }
    const Run* const drawn = shownWith(&SearchProgress::distribution);
    m_distribution->setDistribution(drawn != nullptr ? drawn->progress().distribution : nullptr,
                                    drawn != nullptr ? drawn->job().problem : nullptr);
    m_distribution->setRun(drawn != nullptr ? runTitle(*drawn) : QString());
    const Run* const trained = shownWith(&SearchProgress::training);
    m_learningPlot->setCurve(trained != nullptr ? trained->progress().training : nullptr);
}

void MainWindow::showWhy() {
    if (!m_actions) return;  // during construction
    const auto& why = m_document->why();
    m_timeline->setPathShown(action(ActionId::path)->isChecked());
    m_timeline->setWhy(why);
    m_devices->setWhy(why && why->timeline == m_document->timeline() ? why : nullptr);
    if (m_whySeen) m_why->setWhy(why);
    m_graph->setHighlighted(why && action(ActionId::pathColour)->isChecked() ? std::optional(why->ops())
                                                                             : std::nullopt);
}

void MainWindow::showMoves() {
    if (!m_document->isOpen()) return;
    if (m_document->moves()) {
        m_suggestions->showMoves(*m_document->problem(), m_document->placement(), *m_document->moves(),
                                 objectiveTitle(*m_document->job().objective));
    } else if (m_document->isSearching()) {
        m_suggestions->showText(tr("Suggestions appear when the search stops."));
    } else {
        m_suggestions->showProgress(0, 0);
    }
}

void MainWindow::showStatus() {
    m_status->show();
    showWhyObjective();
}

/// Says in the Why panel what searches minimise, where that is not the step time.
void MainWindow::showWhyObjective() {
    if (!m_document->isOpen() || !m_document->timeline()) return;
    const Objective& objective = *m_document->job().objective;
    const Outcome& outcome = m_document->timeline()->outcome;
    const Assessment& assessment = *m_document->assessment();
    m_why->setObjective(objective.is_step_time() ? QString()
                        : assessment.is_defined()
                            ? tr("Searches minimise the %1, which is %2; the table lists it per device. The "
                                 "rest describes the simulated step of %3.")
                                  .arg(objectiveName(objective), secondsText(assessment.score.value_s),
                                       secondsText(outcome.step_time_s))
                            : tr("Searches minimise the %1, which is not defined for this placement: %2. The "
                                 "rest describes the simulated step of %3.")
                                  .arg(objectiveName(objective), toQString(assessment.undefined),
                                       secondsText(outcome.step_time_s)),
                        assessment.device_s);
}

void MainWindow::showLoading() {
    m_status->showLoading();
    if (m_document->isLoading()) {
        m_graph->setEmptyText(tr("Laying out the graph…"));
    } else {
        m_graph->setEmptyText(
            tr("The layout was cancelled. Placement, timeline and search work without it; open the file "
               "again to draw the graph."));
        showStatus();
    }
}

}  // namespace placewright
