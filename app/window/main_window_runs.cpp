// SPDX-License-Identifier: MIT
// Searches, measurements and comparisons, with the dialogs for them.
#include <algorithm>

#include <QStackedWidget>
#include <QStatusBar>
#include <QToolButton>

#include "app/window/compare/compare_window.hpp"
#include "app/window/dialogs/benchmark_dialog.hpp"
#include "app/window/dialogs/best_dialog.hpp"
#include "app/window/dialogs/calibration_dialog.hpp"
#include "app/window/dialogs/profile_dialog.hpp"
#include "app/window/dialogs/search_options_dialog.hpp"
#include "app/window/dialogs/simulation_dialog.hpp"
#include "app/window/language_bar.hpp"
#include "app/window/live_cdf.hpp"
#include "app/window/main_window.hpp"
#include "app/window/pair/pair_window.hpp"
#include "app/window/questions.hpp"
#include "app/window/status_line.hpp"
#include "app/window/tool_bars.hpp"
#include "core/algorithms.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/message_bar.hpp"
#include "widgets/runs_view.hpp"

namespace placewright {

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
    if (m_document->isSearchWaiting()) return m_document->dropWaitingSearch();
    if (!m_document->isOptimizing()) return optimize();
    for (const auto& run : m_document->runs()) run->cancel();
}

void MainWindow::optimize() {
    if (!m_document->isOpen() || !m_bars->takeTypedBudget()) return;
    m_message->dropInformation();  // messages of the previous search
    m_languageBar->takeTyped();
    RunRequest request;
    request.algorithm = m_bars->algorithm().toStdString();
    request.options = m_optionsOf[request.algorithm];
    request.budget = m_bars->budget();
    request.seed = m_bars->seed();
    m_document->search(std::move(request));
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

}  // namespace placewright
