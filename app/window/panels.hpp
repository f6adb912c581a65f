// SPDX-License-Identifier: MIT
#pragma once

#include <QByteArray>
#include <QHash>
#include <QList>
#include <QObject>
#include <QSet>
#include <QString>
#include <QTimer>

class QAction;
class QDockWidget;
class QMainWindow;
class QWidget;

namespace placewright {

/// The panels round the graph: their arrangement, sizes and visibility. The timeline keeps its share of the
/// window's height.
class Panels : public QObject {
    Q_OBJECT
public:
    explicit Panels(QMainWindow* window);

    /// Adds a panel with the object name `name`.
    QDockWidget* add(const QString& title, const QString& name, QWidget* widget, Qt::DockWidgetArea area);
    /// Sets the panels that sizes are set of. To be called once, after all panels have been added.
    void arrange(QDockWidget* devices, QDockWidget* selection, QDockWidget* runs, QDockWidget* curve,
                 QDockWidget* timeline);
    /// Takes the present arrangement as the one that restoreDefault() goes back to.
    void setDefault();
    void restoreDefault();
    /// Arranges the panels as layout() was.
    void restore(const QByteArray& layout);
    /// Shows the panels as they were, or hides them all.
    void show(bool show);
    bool areShown() const { return m_shown; }
    /// Brings the panel of this widget to the front of its tabs.
    void raise(QWidget* widget);
    /// Makes the panel of this widget at least so high as long as it is in front of its tabs, at the cost of
    /// its neighbours, as far as they allow. They get the height back unless the user has changed it since.
    void heighten(QWidget* widget, int least);
    /// Gives the timeline its share of the window's height.
    void fitTimeline();
    /// The actions that show and hide the panels, in the order of add().
    QList<QAction*> toggles() const;
    /// The actions that bring a panel to the front and give it the keys, with shortcuts, in the same order.
    QList<QAction*> goActions() const { return m_goActions; }
    /// The arrangement to store, also while the panels are hidden.
    QByteArray layout() const;

Q_SIGNALS:
    /// The user left the panel that had the keys by its shortcut.
    void left();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    /// Brings the panel to the front and gives it the keys; leaves it if it has them.
    void goTo(QDockWidget* dock);
    /// Sets the default sizes.
    void setSizes();
    /// Stores the timeline's share of the window's height.
    void noteTimelineShare();
    /// Lends height to the panels in front that want it, and takes it back from those that are left.
    void settleHeights();

    /// The panel that is in front of these tabs; null if there is none.
    QDockWidget* frontOf(const QList<QDockWidget*>& tabs) const;
    QDockWidget* neighbourOf(QDockWidget* dock) const;

    /// Height that a stack of tabs has got from another one.
    struct Loan {
        QList<QDockWidget*> borrower, lender;
        int lent = 0;
        int height = 0;        ///< of the borrower, with what was lent
        int windowHeight = 0;  ///< at that time
    };

    QMainWindow* m_window;
    QList<QDockWidget*> m_docks;
    QList<QAction*> m_goActions;
    QDockWidget *m_devices = nullptr, *m_selection = nullptr, *m_runs = nullptr, *m_curve = nullptr,
                *m_timeline = nullptr;
    QByteArray m_default;
    QByteArray m_layout;  ///< while the panels are hidden
    bool m_shown = true;
    bool m_sizesWait = false;    ///< the default sizes are set once the docks have been laid out
    double m_timelineShare = 0;  ///< share of the window's height; 0: not known yet
    QSet<QDockWidget*> m_front;  ///< panels that are not behind other tabs
    QHash<QDockWidget*, int> m_wantedHeights;
    QList<Loan> m_loans;
    QTimer m_settling;
};

}  // namespace placewright
