// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <QIcon>
#include <QMainWindow>
#include <QString>

#include "app/window/measuring.hpp"

class QComboBox;
class QSpinBox;
class QToolBar;
class QToolButton;

namespace placewright {

class Actions;
class BudgetBox;
class ComputerFinder;
class Document;
class Gallery;
struct Budget;

/// The two toolbars of the main window: what is placed on what, and the settings of a search.
class ToolBars : public QObject {
    Q_OBJECT
public:
    ToolBars(QMainWindow* window, Document* document, const Actions& actions, ComputerFinder* computer);

    // The settings of a search. An unknown algorithm is not chosen.
    QString algorithm() const;
    void chooseAlgorithm(const QString& id);
    const Budget& budget() const;
    void chooseBudget(const Budget& budget);
    /// Takes the budget that is being typed; false, with a tooltip, if it is none.
    bool takeTypedBudget();
    std::uint64_t seed() const;
    void chooseSeed(int seed);

    /// Offers this computer and the machines that ship, by name; to be called once.
    void fillMachines();
    /// Replaces names of machines that ship by their titles.
    void showMachineTitles(const Gallery& gallery);
    /// Selects the document's machine.
    void showMachine();
    /// Lists the simulation options that differ from the defaults.
    void showOptions();
    /// Shows whether a search runs, which the Optimize action then stops, and whether all that run are
    /// paused.
    void showSearching(bool searching, bool paused);
    /// Puts the toolbars into one row, or into two where the window is too narrow for one.
    void fitRows();

    /// A list of choices, what is chosen in it and the icon of that.
    struct Choice {
        QComboBox* box;
        QString title, icon;
    };
    std::vector<Choice> choices() const;
    /// Shows what is measured, which the Benchmark action then stops.
    void showMeasuring(Measuring::Kind kind);

private:
    void makeMain();
    void makeSearch();
    /// Lets the button lose its text where the window is narrow.
    void addShrinking(QToolButton* button);
    /// Says in tooltips what was found of this computer.
    void showComputer();
    void showMachineTip();

    QMainWindow* m_window;
    Document* m_document;
    const Actions& m_actions;
    ComputerFinder* m_computer;
    QToolBar *m_bar = nullptr, *m_searchBar = nullptr;
    QComboBox* m_machine = nullptr;
    QToolButton* m_simulation = nullptr;
    QComboBox* m_algorithm = nullptr;
    BudgetBox* m_budget = nullptr;
    QSpinBox* m_seed = nullptr;
    struct Shrinking {
        QToolButton* button;
        int wide;  ///< width with the text, pixels
    };
    std::vector<Shrinking> m_shrinking;
};

}  // namespace placewright
