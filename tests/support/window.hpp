// SPDX-License-Identifier: MIT
// Shared by the tests of the window: a window with its own settings, small files, and a mouse.
#pragma once

#include <functional>

#include <QDir>
#include <QMimeData>
#include <QString>
#include <QTemporaryDir>
#include <QUrl>
#include <QWidget>

#include "app/window/main_window.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "tests/support/watched_application.hpp"

class QLabel;

namespace placewright {
class SimulationDialog;
}

namespace placewright::test {

/// Settings and files in a temporary folder that is removed with the object.
class Workplace {
public:
    Workplace();

    QString file(const QString& name) const { return m_folder.filePath(name); }
    /// Writes the file and returns its path.
    QString write(const QString& name, const QByteArray& content) const;
    QString write(const QString& name, const Graph& graph) const;
    QString write(const QString& name, const Machine& machine) const;

private:
    QTemporaryDir m_folder;
};

/// "source" -> `width` branches -> "sink"; a placement on several devices is faster than one device.
Graph wide_graph(std::size_t width = 8);
/// The same, with "branch0" allowed only on gpu:0.
Graph constrained_graph();

/// A window shown on the screen. The test must have PLACEWRIGHT_WINDOW_TEST_MAIN: what blocks the window
/// fails it.
struct Shown {
    MainWindow window;
    Document& document;

    Shown();
    /// Opens the file and waits until no task is running. Returns false after two minutes, or if the file
    /// is not the open one then.
    bool open(const QString& network, const QString& machine = {});
    bool waitUntilIdle();
    /// Press, moves in steps and, if `release` is set, release; positions in the coordinates of each widget.
    void drag(QWidget* from, QPoint start, QWidget* to, QPoint end, bool release = true);
    /// The centre of a device's row in the panel, scrolled into view.
    QPoint rowOf(DeviceId device);
    QPoint opInGraph(const char* name);
    OpId op(const char* name) const;
    DeviceId deviceOf(const char* name) const;
    double stepTime() const;
    QString message() const;
    /// Drops files from outside onto the window; returns false if the window refuses them.
    bool drop(const QList<QUrl>& urls);
    bool drop(const QUrl& url) { return drop(QList<QUrl>{url}); }
    bool dropFile(const QString& path) { return drop(QUrl::fromLocalFile(path)); }
    /// The menu action with this text (without "&" and "…").
    QAction* action(const QString& text) const;
};

/// A label of the status bar, by its accessible name.
const QLabel* statusLabel(const Shown& shown, const char* name);
QString statusText(const Shown& shown, const char* name);
/// The figures of the step times in the Measured panel, with plain spaces.
QString stepsFigures(const Shown& shown);
/// Brings a panel to the front of its tabs.
void raise(const QWidget* panel);

/// Whether the dock of this object name is seen.
bool panelVisible(const Shown& shown, const char* name);

/// A search with this algorithm, and otherwise as it is by default.
RunRequest request(const char* algorithm, std::uint64_t evaluations);
/// Evaluations of a search that does not end by itself.
constexpr int kEndless = 1'000'000'000;
/// Clicks the button that starts and stops a search.
void clickOptimize(const Shown& shown);
/// The rows of the table of runs.
const std::vector<RunRow>& rows(const Shown& shown);
/// Whether a search is under way.
bool running(const Shown& shown);

/// Opens the menu that contains the action and clicks the action.
void pressInMenu(Shown& shown, QAction* action);

/// Answers the next file dialog, whenever it opens; `before` is called first.
void giveFile(const QString& file, const std::function<void()>& before = {});

/// Opens the simulation options by keyboard.
SimulationDialog* openSimulation(Shown& shown);
/// Selects an entry of a combo box of the dialog by keyboard.
void pick(SimulationDialog* dialog, const char* name, int entry);
/// The dialog's text on the chosen options.
QString preview(SimulationDialog* dialog);
/// Closes the window and waits until no task is running.
void leave(Shown& shown, SimulationDialog* dialog, bool accept);

/// Step time of a placement, simulated again.
double simulated(const Document& document, const Placement& placement);

}  // namespace placewright::test
