// SPDX-License-Identifier: MIT
// What the window remembers, and what it asks before it closes.
#include <QCheckBox>
#include <QCloseEvent>
#include <QComboBox>
#include <QFileInfo>

#include "app/window/budget_box.hpp"
#include "app/window/compare/compare_window.hpp"
#include "app/window/dialogs/calibration_dialog.hpp"
#include "app/window/graph_coloring.hpp"
#include "app/window/learn/learning.hpp"
#include "app/window/main_window.hpp"
#include "app/window/panels.hpp"
#include "app/window/questions.hpp"
#include "app/window/settings.hpp"
#include "app/window/tool_bars.hpp"
#include "app/window/workspace_keeper.hpp"
#include "widgets/curve_plot.hpp"

namespace placewright {
namespace {

/// Values of settings::graphDirection.
enum class GraphDirection { byShape, right, down };

}  // namespace

void MainWindow::restoreSettings() {
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
        settings::machine.set(m_document->machineFile());
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
