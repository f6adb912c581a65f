// SPDX-License-Identifier: MIT
#include "app/window/panels.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <QAction>
#include <QApplication>
#include <QDockWidget>
#include <QEvent>
#include <QMainWindow>
#include <QScrollArea>
#include <QTabBar>

#include "app/window/settings.hpp"
#include "widgets/icons.hpp"

namespace placewright {
namespace {

struct PanelIcon {
    const char* panel;  ///< object name
    const char* icon;
};
constexpr PanelIcon kIcons[]{{"devicesDock", "cpu"},
                             {"machineDock", "network"},
                             {"selectionDock", "mouse-pointer-click"},
                             {"runsDock", "list"},
                             {"curveDock", "chart-line"},
                             {"archiveDock", "grid-3x3"},
                             {"timelineDock", "chart-gantt"},
                             {"whyDock", "circle-question-mark"},
                             {"suggestionsDock", "lightbulb"},
                             {"distributionDock", "chart-column"},
                             {"learningDock", "brain"},
                             {"cdfDock", "chart-spline"},
                             {"opsDock", "table"},
                             {"measuredDock", "timer"},
                             {"historyDock", "history"}};

/// Alt+1 to Alt+9, Alt+0, then Ctrl+Alt+1 to Ctrl+Alt+9; none after that.
QKeySequence keyOfPanel(qsizetype index) {
    constexpr qsizetype kDigits = 10;
    if (index >= 2 * kDigits - 1) return {};
    const auto digit = static_cast<Qt::Key>(Qt::Key_0 + (index + 1) % kDigits);
    return index < kDigits ? QKeySequence(Qt::ALT | digit) : QKeySequence(Qt::CTRL | Qt::ALT | digit);
}

}  // namespace

Panels::Panels(QMainWindow* window) : QObject(window), m_window(window) {
    window->setDockOptions(QMainWindow::AnimatedDocks | QMainWindow::AllowNestedDocks |
                           QMainWindow::AllowTabbedDocks);
    // The timeline extends below the devices, whose rows it continues; the panels at the right take the whole
    // height, because their tables and texts are long.
    window->setCorner(Qt::BottomLeftCorner, Qt::BottomDockWidgetArea);
    window->setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
    m_settling.setSingleShot(true);
    connect(&m_settling, &QTimer::timeout, this, &Panels::settleHeights);
}

QDockWidget* Panels::add(const QString& title, const QString& name, QWidget* widget,
                         Qt::DockWidgetArea area) {
    auto* dock = new QDockWidget(title);
    dock->setObjectName(name);
    dock->setWidget(widget);
    // Panels behind other tabs must not keep the window from shrinking.
    if (area == Qt::RightDockWidgetArea) widget->setMinimumHeight(4 * m_window->fontMetrics().lineSpacing());
    m_window->addDockWidget(area, dock);
    connect(dock, &QDockWidget::visibilityChanged, this, [this, dock](bool visible) {
        if (visible) {
            m_front.insert(dock);
        } else {
            m_front.remove(dock);
            m_wantedHeights.remove(dock);
        }
        m_settling.start();
    });
    auto* go = new QAction(title, this);
    go->setShortcut(keyOfPanel(m_docks.size()));
    go->setToolTip(
        tr("Bring the panel to the front with the keyboard in it; press again to return to the graph"));
    for (const PanelIcon& icon : kIcons) {
        if (name == QLatin1String(icon.panel)) go->setIcon(lineIcon(QLatin1String(icon.icon)));
    }
    connect(go, &QAction::triggered, this, [this, dock] { goTo(dock); });
    m_goActions.push_back(go);
    m_docks.push_back(dock);
    return dock;
}

void Panels::arrange(QDockWidget* devices, QDockWidget* selection, QDockWidget* runs, QDockWidget* curve,
                     QDockWidget* timeline) {
    m_devices = devices;
    m_selection = selection;
    m_runs = runs;
    m_curve = curve;
    m_timeline = timeline;
    m_timeline->installEventFilter(this);
    setSizes();
}

void Panels::setDefault() {
    m_default = m_window->saveState();
}

void Panels::restore(const QByteArray& layout) {
    m_sizesWait = false;
    m_window->restoreState(layout);
}

void Panels::restoreDefault() {
    m_loans.clear();
    m_window->restoreState(m_default);
    setSizes();
}

/// A small window keeps room for the graph; panels narrower than this would be cut off.
void Panels::setSizes() {
    const int width = m_window->width(), height = m_window->height();
    // As wide as the table of runs without a scroll bar.
    const int right = m_window->fontMetrics().averageCharWidth() * 88;
    m_window->resizeDocks({m_devices, m_runs},
                          {std::clamp(width * 21 / 100, 230, 300), std::clamp(width * 41 / 100, 230, right)},
                          Qt::Horizontal);
    constexpr int kTimelineMost = 420;
    m_timelineShare = std::min({height * 0.31, std::max(300.0, height * 0.28), 1.0 * kTimelineMost}) / height;
    fitTimeline();
    // All devices and their channels, if that leaves room for what is said about the selected op: what it is,
    // when it runs and what it waits for.
    const int title = m_devices->height() - m_devices->widget()->height();
    const int column = m_devices->height() + m_selection->height();
    const int selectionLeast = std::clamp(column / 3, 100, 11 * m_window->fontMetrics().lineSpacing());
    const auto* area = qobject_cast<const QScrollArea*>(m_devices->widget());
    const int wanted = title + (area != nullptr ? area->widget() : m_devices->widget())->sizeHint().height();
    const int devices = std::clamp(wanted, 1, std::max(column / 2, column - selectionLeast) + 1);
    m_window->resizeDocks({m_devices, m_selection}, {devices, std::max(1, column - devices)}, Qt::Vertical);
    m_window->resizeDocks({m_runs, m_curve}, {height * 9 / 20, height * 11 / 20}, Qt::Vertical);
}

/// Qt takes height from the timeline when the window shrinks, and gives none back.
void Panels::fitTimeline() {
    if (m_timelineShare <= 0 || !m_shown || m_timeline->isFloating() || !m_timeline->isVisible()) return;
    m_window->resizeDocks({m_timeline}, {static_cast<int>(std::lround(m_timelineShare * m_window->height()))},
                          Qt::Vertical);
}

void Panels::noteTimelineShare() {
    if (m_timeline->isVisible() && !m_timeline->isFloating())
        m_timelineShare = static_cast<double>(m_timeline->height()) / m_window->height();
}

bool Panels::eventFilter(QObject* watched, QEvent* event) {
    // The user is dragging the border between the panels.
    if (watched == m_timeline && event->type() == QEvent::Resize &&
        (QApplication::mouseButtons() & Qt::LeftButton) != 0)
        noteTimelineShare();
    return QObject::eventFilter(watched, event);
}

void Panels::show(bool show) {
    if (show == m_shown) return;
    m_shown = show;
    if (show) {
        m_window->restoreState(m_layout);
        // Now, and when the docks have been laid out and filled.
        if (!settings::layout.isStored()) {
            setSizes();
            m_sizesWait = true;
            QTimer::singleShot(0, this, [this] {
                if (std::exchange(m_sizesWait, false)) setSizes();
            });
        }
        QTimer::singleShot(0, this, &Panels::noteTimelineShare);
    } else {
        m_layout = m_window->saveState();
        for (QDockWidget* dock : std::as_const(m_docks)) dock->hide();
    }
    for (QAction* action : toggles() + goActions()) action->setEnabled(show);
}

void Panels::goTo(QDockWidget* dock) {
    if (dock->isVisible() && (dock->hasFocus() || dock->isAncestorOf(QApplication::focusWidget()))) {
        Q_EMIT left();
        return;
    }
    dock->show();
    dock->raise();
    dock->activateWindow();
    QWidget* const content = dock->widget();
    // The first widget of the panel that takes the keys.
    QWidget* taker = content;
    while ((taker->focusPolicy() & Qt::TabFocus) == 0 || !taker->isVisible() || !taker->isEnabled()) {
        taker = taker->nextInFocusChain();
        if (taker == content || !content->isAncestorOf(taker)) return dock->setFocus(Qt::ShortcutFocusReason);
    }
    taker->setFocus(Qt::ShortcutFocusReason);
}

void Panels::raise(QWidget* widget) {
    for (QDockWidget* dock : std::as_const(m_docks)) {
        if (dock->widget() != widget) continue;
        dock->show();
        dock->raise();
    }
}

void Panels::heighten(QWidget* widget, int least) {
    for (QDockWidget* dock : std::as_const(m_docks)) {
        if (dock->widget() == widget) m_wantedHeights[dock] = least;
    }
    m_settling.start();
}

QDockWidget* Panels::frontOf(const QList<QDockWidget*>& tabs) const {
    const auto front = std::ranges::find_if(
        tabs, [this](QDockWidget* dock) { return m_front.contains(dock) && !dock->isFloating(); });
    return front == tabs.end() ? nullptr : *front;
}

/// The highest of the panels in front above and below another one.
QDockWidget* Panels::neighbourOf(QDockWidget* dock) const {
    QDockWidget* highest = nullptr;
    for (QDockWidget* other : m_front) {
        const bool beside = other == dock || other->isFloating() ||
                            m_window->dockWidgetArea(other) != m_window->dockWidgetArea(dock) ||
                            other->geometry().right() < dock->geometry().left() ||
                            other->geometry().left() > dock->geometry().right();
        if (!beside && (highest == nullptr || other->height() > highest->height())) highest = other;
    }
    return highest;
}

/// Called when all panels have changed that change with a click on a tab.
void Panels::settleHeights() {
    if (!m_shown || !m_window->isVisible()) return;
    // Qt sets the heights of panels with their tabs, and shares out what does not add up.
    const auto whole = [this](const QDockWidget* dock) {
        for (const QTabBar* tabs : m_window->findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly)) {
            if (tabs->isVisible() && tabs->geometry().left() == dock->geometry().left() &&
                std::abs(tabs->geometry().top() - dock->geometry().bottom()) <= 2)
                return dock->height() + tabs->height();
        }
        return dock->height();
    };
    const auto give = [&](QDockWidget* to, QDockWidget* from, int pixels) {
        m_window->resizeDocks({to, from}, {whole(to) + pixels, whole(from) - pixels}, Qt::Vertical);
    };
    for (auto loan = m_loans.begin(); loan != m_loans.end();) {
        QDockWidget *const borrower = frontOf(loan->borrower), *const lender = frontOf(loan->lender);
        if (borrower != nullptr && m_wantedHeights.contains(borrower)) {
            ++loan;
            continue;
        }
        constexpr int kRounding = 3;
        const bool untouched =
            borrower != nullptr && (std::abs(borrower->height() - loan->height) <= kRounding ||
                                    m_window->height() != loan->windowHeight);
        if (untouched && lender != nullptr) give(lender, borrower, loan->lent);
        loan = m_loans.erase(loan);
    }
    for (auto wanted = m_wantedHeights.cbegin(); wanted != m_wantedHeights.cend(); ++wanted) {
        QDockWidget* const dock = wanted.key();
        if (!m_front.contains(dock) || dock->isFloating() ||
            std::ranges::any_of(m_loans, [&](const Loan& loan) { return loan.borrower.contains(dock); }))
            continue;
        QDockWidget* const neighbour = neighbourOf(dock);
        if (neighbour == nullptr) continue;
        constexpr int kLeast = 160;  // that a neighbour keeps
        const int lent = std::min(wanted.value() - dock->height(), neighbour->height() - kLeast);
        if (lent <= 0) continue;
        m_loans.push_back({m_window->tabifiedDockWidgets(dock) << dock,
                           m_window->tabifiedDockWidgets(neighbour) << neighbour, lent, dock->height() + lent,
                           m_window->height()});
        give(dock, neighbour, lent);
    }
}

QList<QAction*> Panels::toggles() const {
    QList<QAction*> toggles;
    for (const QDockWidget* dock : m_docks) toggles << dock->toggleViewAction();
    return toggles;
}

QByteArray Panels::layout() const {
    return m_shown ? m_window->saveState() : m_layout;
}

}  // namespace placewright
