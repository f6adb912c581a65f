// SPDX-License-Identifier: MIT
// The view as a workspace keeps it, and other windows.
#include <algorithm>
#include <cmath>

#include <QComboBox>
#include <QCoreApplication>
#include <QDataStream>
#include <QDockWidget>
#include <QProcess>

#include "app/window/budget_box.hpp"
#include "app/window/learn/learning.hpp"
#include "app/window/main_window.hpp"
#include "app/window/pair/pinned_placement.hpp"
#include "app/window/panels.hpp"
#include "app/window/tool_bars.hpp"
#include "app/window/view_history.hpp"
#include "app/window/workspace_keeper.hpp"
#include "widgets/archive_panel.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/text.hpp"
#include "widgets/timeline_view.hpp"

namespace placewright {
namespace {

constexpr auto kLayout = "layout", kAlgorithm = "algorithm", kSeed = "seed";
constexpr auto kBudgetEvaluations = "budget_evaluations", kBudgetSeconds = "budget_s";
constexpr auto kGraphScale = "graph_scale", kGraphX = "graph_x", kGraphY = "graph_y";
constexpr auto kTimelineStart = "timeline_start_s", kTimelineEnd = "timeline_end_s",
               kTimelineScrolled = "timeline_scrolled";
constexpr auto kArchiveX = "archive_x", kArchiveY = "archive_y";
constexpr std::int64_t kMostWhole = 1'000'000'000;

std::optional<double> numberOf(const OptionValues& values, const char* name) {
    const auto* number = valueOf<double>(values, name);
    return number != nullptr && std::isfinite(*number) ? std::optional(*number) : std::nullopt;
}

std::optional<std::int64_t> wholeOf(const OptionValues& values, const char* name) {
    const auto* number = valueOf<std::int64_t>(values, name);
    return number != nullptr && *number >= 0 && *number <= kMostWhole ? std::optional(*number) : std::nullopt;
}

/// The layout of the panels; empty if the file has none that this version of Qt wrote. Qt trusts the rest.
QByteArray layoutFrom(const OptionValues& view) {
    constexpr std::size_t kMostText = 65'536;
    constexpr qint32 kMarker = 0xff, kVersion = 0;  // of QMainWindow::saveState()
    const auto* text = valueOf<std::string>(view, kLayout);
    if (text == nullptr || text->size() > kMostText) return {};
    const auto decoded = QByteArray::fromBase64Encoding(QByteArray::fromStdString(*text),
                                                        QByteArray::AbortOnBase64DecodingErrors);
    if (!decoded) return {};
    QDataStream stream(*decoded);
    qint32 marker = 0, version = -1;
    stream >> marker >> version;
    return stream.status() == QDataStream::Ok && marker == kMarker && version == kVersion ? *decoded
                                                                                          : QByteArray();
}

std::optional<Budget> budgetIn(const OptionValues& view) {
    constexpr double kLeastSeconds = 1, kMostSeconds = 3.6e6;  // as budgetFrom()
    const auto evaluations = wholeOf(view, kBudgetEvaluations);
    const auto seconds = numberOf(view, kBudgetSeconds);
    if (evaluations && *evaluations > 0) return Budget{static_cast<std::uint64_t>(*evaluations)};
    if (evaluations) return Budget{Budget::kUnlimited};
    if (!seconds || *seconds < kLeastSeconds || *seconds > kMostSeconds) return {};
    return Budget{Budget::kUnlimited, *seconds};
}

GraphZoom graphZoomFrom(const OptionValues& view) {
    constexpr double kMost = 1e4;
    const auto scale = numberOf(view, kGraphScale), x = numberOf(view, kGraphX), y = numberOf(view, kGraphY);
    if (!scale || !x || !y || *scale < 1 / kMost || *scale > kMost) return {};
    return {*scale, {*x, *y}, false};
}

TimelineZoom timelineZoomFrom(const OptionValues& view) {
    TimelineZoom zoom;
    zoom.scrolled = static_cast<int>(wholeOf(view, kTimelineScrolled).value_or(0));
    const auto start_s = numberOf(view, kTimelineStart), end_s = numberOf(view, kTimelineEnd);
    if (!start_s || !end_s || *start_s < 0 || *end_s <= *start_s) return zoom;
    return {*start_s, *end_s, false, zoom.scrolled};
}

}  // namespace

void MainWindow::addView(WorkspaceSnapshot& snapshot) const {
    OptionValues& view = snapshot.view;
    view[kLayout] = m_panels->layout().toBase64().toStdString();
    view[kAlgorithm] = m_bars->algorithm().toStdString();
    view[kSeed] = static_cast<std::int64_t>(m_bars->seed());
    const Budget& budget = m_bars->budget();
    if (budget.is_timed()) {
        view[kBudgetSeconds] = budget.seconds;
    } else {
        view[kBudgetEvaluations] =
            budget.is_counted() ? static_cast<std::int64_t>(budget.evaluations) : std::int64_t{0};
    }
    if (const GraphZoom graph = m_graph->zoom(); !graph.fitted) {
        view[kGraphScale] = graph.scale;
        view[kGraphX] = graph.centre.x();
        view[kGraphY] = graph.centre.y();
    }
    const TimelineZoom timeline = m_timeline->zoom();
    view[kTimelineScrolled] = std::int64_t{timeline.scrolled};
    if (!timeline.fitted) {
        view[kTimelineStart] = timeline.start_s;
        view[kTimelineEnd] = timeline.end_s;
    }
    if (const auto [x, y] = m_archive->map()->axes(); x >= 0 && y >= 0) {
        view[kArchiveX] = std::int64_t{x};
        view[kArchiveY] = std::int64_t{y};
    }
    snapshot.learned = m_learning->learned();
    if (const auto& side = m_pinned->side(); side && sameNetwork(*side->scenario, *snapshot.scenario))
        snapshot.pinned = side;
}

void MainWindow::showView(const OpenedWorkspace& opened) {
    const OptionValues& view = opened.view;
    showStart(false);
    if (const QByteArray layout = layoutFrom(view); !layout.isEmpty()) m_panels->restore(layout);
    if (const auto* algorithm = valueOf<std::string>(view, kAlgorithm))
        m_bars->chooseAlgorithm(toQString(*algorithm));
    if (const auto budget = budgetIn(view)) m_bars->chooseBudget(*budget);
    if (const auto seed = wholeOf(view, kSeed)) m_bars->chooseSeed(static_cast<int>(*seed));
    m_history->await(graphZoomFrom(view), timelineZoomFrom(view));
    const auto x = wholeOf(view, kArchiveX), y = wholeOf(view, kArchiveY);
    if (x && y) m_archive->map()->setAxes(static_cast<int>(*x), static_cast<int>(*y));
    if (opened.pinned) m_pinned->pin(*opened.pinned);
    m_learning->restore(opened.learned);
    fillRecent();
}

void MainWindow::watchView() {
    connect(m_graph, &GraphView::zoomChanged, m_keeper, &WorkspaceKeeper::noteView);
    connect(m_timeline, &TimelineView::zoomChanged, m_keeper, &WorkspaceKeeper::noteView);
    connect(m_archive->map(), &ArchiveMap::axesChanged, m_keeper, &WorkspaceKeeper::noteView);
    connect(m_pinned, &PinnedPlacement::changed, m_keeper, &WorkspaceKeeper::noteView);
    for (const QDockWidget* dock : findChildren<QDockWidget*>())
        connect(dock, &QDockWidget::visibilityChanged, m_keeper, &WorkspaceKeeper::noteView);
    for (const ToolBars::Choice& choice : m_bars->choices())
        connect(choice.box, &QComboBox::currentTextChanged, m_keeper, &WorkspaceKeeper::noteView);
}

void MainWindow::endBySignal() {
    m_keeper->saveSession(true);
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
