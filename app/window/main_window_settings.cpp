// SPDX-License-Identifier: MIT
// What the window remembers, and what it asks before it closes.
#include <algorithm>

#include <QCheckBox>
#include <QCloseEvent>
#include <QComboBox>
#include <QFileInfo>
#include <QMessageBox>
#include <QPushButton>

#include "app/window/budget_box.hpp"
#include "app/window/compare/compare_window.hpp"
#include "app/window/dialogs/calibration_dialog.hpp"
#include "app/window/graph_coloring.hpp"
#include "app/window/learn/learning.hpp"
#include "app/window/machine/edited_scenario.hpp"
#include "app/window/main_window.hpp"
#include "app/window/panels.hpp"
#include "app/window/questions.hpp"
#include "app/window/settings.hpp"
#include "app/window/tool_bars.hpp"
#include "app/window/workspace_keeper.hpp"
#include "widgets/curve_plot.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/text.hpp"
#include "widgets/theme.hpp"

namespace placewright {
namespace {

/// Values of settings::graphDirection.
enum class GraphDirection { byShape, right, down };

/// How many searches run or are paused that the user asked for.
std::ptrdiff_t searchesUnderWay(const Document& document) {
    return std::ranges::count_if(document.runs(), [](const auto& run) {
        return run->state() == Run::State::running && !run->request().unasked;
    });
}

}  // namespace

void MainWindow::restoreSettings() {
    action(ActionId::wheelScrolls)->setChecked(settings::wheelScrolls.get());
    m_graph->setWheelScrolls(settings::wheelScrolls.get());
    const bool wasKept = restoreGeometry(settings::geometry.get());
    restoreState(settings::layout.get());
    // Qt keeps the height of a larger screen or a smaller scale.
    if (wasKept && !isMaximized() && !isFullScreen()) resize(size().boundedTo(screen()->availableSize()));
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
    action(ActionId::placesAtOnce)->setChecked(settings::placesAtOnce.get());
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
    if (machine.isEmpty() || machine == m_document->machineFile() ||
        (isMachinePath(machine) && !QFileInfo::exists(machine)))
        return;
    m_document->setMachine(machine);
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
            "A comparison is running and would disturb the measurement: stop it in its window "
            "(Ctrl+Shift+C), or wait until it ends.");
    if (m_calibration != nullptr && m_calibration->isFitting())
        return tr("Devices are being calibrated, which would disturb the measurement: wait until that ends.");
    if (m_learning->isWorking())
        return tr(
            "A policy is being trained or tested, which would disturb the measurement: pause or stop it in "
            "its window (Ctrl+Shift+L), or wait until it ends.");
    return {};
}

bool MainWindow::mayClose(const QString& title, const QString& consequence) {
    QString lost = consequence;
    if (const auto searches = searchesUnderWay(*m_document); searches > 0)
        lost +=
            QLatin1Char(' ') + (searches == 1 ? tr("The running search will be stopped.")
                                              : tr("%L1 running searches will be stopped.").arg(searches));
    if (const std::size_t benchmarks = m_document->benchmarks(); benchmarks > 0)
        lost += QLatin1Char(' ') + (benchmarks == 1
                                        ? tr("1 unsaved benchmark will be lost too.")
                                        : tr("%L1 unsaved benchmarks will be lost too.").arg(benchmarks));
    if (const std::size_t placements = m_document->unsavedPlacements(); placements > 0)
        lost += QLatin1Char(' ') + (placements == 1
                                        ? tr("1 measured placement is in no file.")
                                        : tr("%L1 measured placements are in no file.").arg(placements));
    return mayStopMeasuring(this, *m_document, m_askToStop_s) &&
           mayLeave(this, *m_document, m_compare, title, lost, [this](const std::function<void()>& show) {
               show();
               return m_keeper->save(true);
           });
}

bool MainWindow::mayDropOtherWork() {
    if (!m_document->isOpen() || !isWindowModified()) return true;
    QStringList lost;
    if (const auto searches = searchesUnderWay(*m_document); searches > 0)
        lost << (searches == 1 ? tr("The running search will be stopped and lost.")
                               : tr("%L1 running searches will be stopped and lost.").arg(searches));
    const Constraints& constraints = m_document->options().problem.constraints;
    if (!constraints.rules.empty() && constraints.file.empty()) lost << tr("Its constraints will be lost.");
    if (!m_keeper->file().isEmpty())
        lost << tr("Changes since %1 was saved will be lost.").arg(QFileInfo(m_keeper->file()).fileName());
    if (lost.isEmpty()) return true;
    QMessageBox question(QMessageBox::Question, tr("Open another network"),
                         tr("Save your work on %1?").arg(toQString(m_document->problem()->graph->name())),
                         QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, this);
    question.setInformativeText(lost.join(QLatin1Char(' ')));
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
