// SPDX-License-Identifier: MIT
// The view as a workspace keeps it, and other windows.
#include <QCoreApplication>
#include <QProcess>

#include "app/window/budget_box.hpp"
#include "app/window/main_window.hpp"
#include "app/window/panels.hpp"
#include "app/window/tool_bars.hpp"
#include "app/window/workspace_keeper.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

constexpr auto kLayout = "layout", kAlgorithm = "algorithm", kBudget = "budget", kSeed = "seed";

template <class Value>
const Value* valueOf(const OptionValues& values, const char* name) {
    const auto found = values.find(name);
    return found != values.end() ? std::get_if<Value>(&found->second) : nullptr;
}

}  // namespace

OptionValues MainWindow::workspaceView() const {
    return {{kLayout, m_panels->layout().toBase64().toStdString()},
            {kAlgorithm, m_bars->algorithm().toStdString()},
            {kBudget, budgetText(m_bars->budget()).toStdString()},
            {kSeed, static_cast<std::int64_t>(m_bars->seed())}};
}

void MainWindow::showWorkspaceView(const OptionValues& view) {
    constexpr std::int64_t kMost = 1'000'000'000;
    if (const auto* layout = valueOf<std::string>(view, kLayout))
        restoreState(QByteArray::fromBase64(QByteArray::fromStdString(*layout)));
    if (const auto* algorithm = valueOf<std::string>(view, kAlgorithm))
        m_bars->chooseAlgorithm(toQString(*algorithm));
    if (const auto* text = valueOf<std::string>(view, kBudget)) {
        if (const auto budget = budgetFrom(toQString(*text))) m_bars->chooseBudget(*budget);
    }
    const auto* seed = valueOf<std::int64_t>(view, kSeed);
    if (seed != nullptr && *seed >= 0 && *seed <= kMost) m_bars->chooseSeed(static_cast<int>(*seed));
    showStart(false);
    fillRecent();
}

void MainWindow::endBySignal() {
    m_keeper->saveSession();
    saveSettings();
    QCoreApplication::exit();  // quit() would close the window, which asks
}

void MainWindow::openNewWindow() {
    if (!QProcess::startDetached(QCoreApplication::applicationFilePath(), {QStringLiteral("--new-window")}))
        showError(tr("No other window could be opened: %1 cannot be started.")
                      .arg(QCoreApplication::applicationFilePath()));
}

void MainWindow::resumeSelectedRun() {
    const Run* run =
        runWith([](const Run& of) { return of.state() != Run::State::running && of.saved().has_value(); });
    if (run == nullptr) return showInformation(tr("No search was stopped; select one in the Runs panel."));
    m_document->resumeRun(run->id());
}

}  // namespace placewright
