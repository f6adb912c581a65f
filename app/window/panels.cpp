// SPDX-License-Identifier: MIT
#include "app/window/panels.hpp"

#include <algorithm>
#include <cmath>

#include <QAction>
#include <QApplication>
#include <QDockWidget>
#include <QEvent>
#include <QMainWindow>
#include <QTimer>

#include "app/window/settings.hpp"

namespace placewright {

Panels::Panels(QMainWindow* window) : QObject(window), m_window(window) {
    window->setDockOptions(QMainWindow::AnimatedDocks | QMainWindow::AllowNestedDocks |
                           QMainWindow::AllowTabbedDocks);
    // The timeline takes the bottom row over the whole width, because time needs the most room.
    window->setCorner(Qt::BottomLeftCorner, Qt::BottomDockWidgetArea);
    window->setCorner(Qt::BottomRightCorner, Qt::BottomDockWidgetArea);
}

QDockWidget* Panels::add(const QString& title, const QString& name, QWidget* widget,
                         Qt::DockWidgetArea area) {
    auto* dock = new QDockWidget(title);
    dock->setObjectName(name);
    dock->setWidget(widget);
    // Panels behind other tabs must not keep the window from shrinking.
    if (area == Qt::RightDockWidgetArea) widget->setMinimumHeight(4 * m_window->fontMetrics().lineSpacing());
    m_window->addDockWidget(area, dock);
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

void Panels::restoreDefault() {
    m_window->restoreState(m_default);
    setSizes();
}

/// A small window keeps room for the graph; panels narrower than this would be cut off.
void Panels::setSizes() {
    const int width = m_window->width(), height = m_window->height();
    m_window->resizeDocks({m_devices, m_runs},
                          {std::clamp(width * 21 / 100, 230, 300), std::clamp(width * 36 / 100, 230, 520)},
                          Qt::Horizontal);
    m_window->resizeDocks({m_devices, m_selection}, {380, 200}, Qt::Vertical);
    m_window->resizeDocks({m_runs, m_curve}, {280, 300}, Qt::Vertical);
    m_timelineShare = std::min(300.0, height / 3.0) / height;
    fitTimeline();
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
        if (!settings::layout.isStored()) setSizes();
        QTimer::singleShot(0, this, &Panels::noteTimelineShare);
    } else {
        m_layout = m_window->saveState();
        for (QDockWidget* dock : std::as_const(m_docks)) dock->hide();
    }
    for (QAction* toggle : toggles()) toggle->setEnabled(show);
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
        if (dock->widget() == widget && !dock->isFloating() && dock->height() < least)
            m_window->resizeDocks({dock}, {least}, Qt::Vertical);
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
