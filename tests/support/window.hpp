// SPDX-License-Identifier: MIT
// What the tests of the window share: a window with settings of its own, small files, and a mouse.
#pragma once

#include <QDir>
#include <QMimeData>
#include <QString>
#include <QTemporaryDir>
#include <QUrl>
#include <QWidget>

#include "app/main_window.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"

class QLabel;

namespace placewright {
class SimulationDialog;
}

namespace placewright::test {

/// Settings in a folder that goes with the object, with files beside them.
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

/// "source" -> `width` branches -> "sink" that gain from several devices.
Graph wide_graph(std::size_t width = 8);
/// The same with "branch0" allowed on gpu:0 only.
Graph constrained_graph();

/// A window on the screen.
struct Shown {
    MainWindow window;
    Document& document;

    Shown();
    /// Opens the file and waits until nothing is under way; false after half a minute or if it is not what is open then.
    bool open(const QString& network, const QString& machine = {});
    bool waitUntilIdle();
    /// A press, moves in steps, and the release where `release` is set; positions in each widget's coordinates.
    void drag(QWidget* from, QPoint start, QWidget* to, QPoint end, bool release = true);
    /// The middle of a device's row in the panel, scrolled into view.
    QPoint rowOf(DeviceId device);
    QPoint opInGraph(const char* name);
    OpId op(const char* name) const;
    DeviceId deviceOf(const char* name) const;
    double stepTime() const;
    QString message() const;
    /// Drops a file from outside onto the window; false if the window refused it.
    bool drop(const QUrl& url);
    bool dropFile(const QString& path) { return drop(QUrl::fromLocalFile(path)); }
    /// The action of the menus with this text (without "&" and "…").
    QAction* action(const QString& text) const;
};

/// Of the status bar, by its accessible name.
const QLabel* statusLabel(const Shown& shown, const char* name);
/// Brings a panel to the front of its tabs.
void raise(const QWidget* panel);

/// Opens the options of the simulation by the keys.
SimulationDialog* openSimulation(Shown& shown);
/// Goes to an entry of a combo box in it by the keys.
void pick(SimulationDialog* dialog, const char* name, int entry);
/// What it says of the options that are chosen.
QString preview(SimulationDialog* dialog);
/// Ends it and waits until nothing is under way.
void leave(Shown& shown, SimulationDialog* dialog, bool accept);

/// Step time of a placement, simulated anew.
double simulated(const Document& document, const Placement& placement);

}  // namespace placewright::test
