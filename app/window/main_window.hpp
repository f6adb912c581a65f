// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <QMainWindow>
#include <QPointer>
#include <QTimer>

#include "app/window/actions.hpp"
#include "app/window/background.hpp"
#include "app/window/document.hpp"
#include "core/io/networks/network_file.hpp"
#include "widgets/timeline_view.hpp"

class QDockWidget;
class QStackedWidget;
class QToolButton;

namespace placewright {

class ArchiveMap;
class ArchivePanel;
class CalibrationDialog;
struct Command;
class CompareWindow;
class PairWindow;
class PinnedPlacement;
class ComputerFinder;
class CurvePlot;
class DevicePanel;
class DistributionMap;
class FindBar;
class Finder;
class Gallery;
class GraphColoring;
class GraphView;
class HelpKeys;
class LanguageBar;
class Learning;
class MachineEditor;
class LearningPlot;
class LiveCdf;
class MeasuredPanel;
class MessageBar;
class OpDrag;
class OpsView;
class Panels;
class ProfileDialog;
class RunsView;
class SelectionPanel;
class StartPage;
class StatusLine;
class SuggestionsPanel;
class ToolBars;
class ViewHistory;
class WhatIfPanel;
class WhyPanel;
class WorkspaceKeeper;
class OfferBar;

/// The main window. Connects the widgets to the document: the document's signals update the widgets, the
/// user's actions call the document.
class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    explicit MainWindow(QWidget* parent = nullptr);
    ~MainWindow() override;

    /// Saves the session and quits without a question; the next start offers it.
    void endBySignal();
    /// Opens the program's FILE argument: a network, the name of a bundled one, or a trace. `placed`: whether
    /// the network is placed at once, where the setting says so.
    void openArgument(const QString& text, bool placed = true);
    /// Asks before it stops a measurement that has been running for so long.
    void askToStopAfter(double seconds) { m_askToStop_s = seconds; }
    /// The entry of the menus with this id.
    QAction* action(ActionId id) const;
    Document* document() const { return m_document.get(); }
    GraphView* graphView() const { return m_graph; }
    GraphColoring* coloring() const { return m_coloring; }
    TimelineView* timelineView() const { return m_timeline; }
    DevicePanel* devicePanel() const { return m_devices; }
    RunsView* runsView() const { return m_runs; }
    OpsView* opsView() const { return m_ops; }
    MeasuredPanel* measuredPanel() const { return m_measured; }
    /// Opens traces as measured runs of the open network, or each in a window of its own if there is none.
    void openTraces(const QStringList& paths);
    ArchiveMap* archiveMap() const;
    ArchivePanel* archivePanel() const { return m_archive; }
    LiveCdf* cdfPlot() const { return m_cdf; }
    DistributionMap* distributionMap() const { return m_distribution; }
    LearningPlot* learningPlot() const { return m_learningPlot; }
    const Gallery* gallery() const { return m_gallery; }
    const ComputerFinder* computer() const { return m_computer; }
    Learning* learning() const { return m_learning; }
    PairWindow* pairWindow() const { return m_pair; }
    PinnedPlacement* pinned() const { return m_pinned; }
    WhatIfPanel* whatIfPanel() const { return m_whatIf; }
    WhyPanel* whyPanel() const { return m_why; }
    SuggestionsPanel* suggestionsPanel() const { return m_suggestions; }
    MessageBar* messageBar() const { return m_message; }
    OfferBar* offerBar() const { return m_offers; }
    WorkspaceKeeper* keeper() const { return m_keeper; }

    // Set the toolbar's controls, as the user would.
    void chooseAlgorithm(const QString& id);
    void chooseBudget(const Budget& budget);
    void chooseEvaluations(int evaluations);
    /// Chooses the default number of evaluations if the budget is unlimited, for searches that no person
    /// stops.
    void limitBudget();
    void chooseSeed(int seed);
    /// Starts a search with the toolbar's settings, or stops all running ones.
    void optimizeOrStop();
    /// Starts a search with the toolbar's settings, also while others run. Text that is being typed there is
    /// taken first; a change that is under way comes first, too.
    void optimize();
    /// Pauses all running searches, or resumes them if all are paused.
    void pauseOrResume();
    /// Whether every running search is paused; true without searches.
    bool allPaused() const;

protected:
    void keyPressEvent(QKeyEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void dragEnterEvent(QDragEnterEvent*) override;
    void dropEvent(QDropEvent*) override;
    void closeEvent(QCloseEvent*) override;

private:
    friend class Actions;  ///< its table names what each action does

    void makeViews();
    void makePanels();
    void makeActions();
    void connectDocument();
    void connectViews();

    void openDialog();
    /// Asks for the folder of a language model.
    void openModelDialog();
    /// Opens a file by its kind: trace, policy, weights, saved search or anything that the document opens.
    void openPath(const QString& path);
    /// Opens several files: traces together; otherwise one of them, a network if there is one, and says what
    /// is not opened, with `others` among them.
    void openPaths(const QStringList& paths, QStringList others = {});
    /// Opens a trace in a window of its own.
    void openTraceWindow(const QString& path);
    /// Shows the titles of what ships with the program, as far as they are known.
    void showGallery();
    void showMachineOnStart();
    /// Offers this computer on the start page, at the first start of the program.
    void offerComputer();
    void showOffer();
    /// Shows the recent files in the menu and on the start page.
    void fillRecent();
    /// Resets all views for a new problem, or shows the start page without one.
    void showProblem();
    void showObjective();
    /// Selects the document's machine in the toolbar.
    void showMachine();
    /// Shows the panels, or hides them: they have nothing to show on the start page.
    void showPanels(bool show);
    void showPlacement();
    void showTimeline();
    /// Shows runs and their curves, and enables the actions on searches.
    void showRuns();
    const Run* runWith(const std::function<bool(const Run&)>& has) const;
    void showLearnt();
    /// Shows the critical path in all views that draw it.
    void showWhy();
    /// Shows the single moves of the placement as suggestions.
    void showMoves();
    /// Updates the status bar and what depends on the value that it shows.
    void showStatus();
    void showWhyObjective();
    /// Shows the measured runs in all views that compare them with the simulation.
    void showMeasured();
    void showMeasuredLayout();
    /// Adds what a workspace keeps of the window.
    void addView(WorkspaceSnapshot& snapshot) const;
    void showView(const OpenedWorkspace& opened);
    /// Lets the session be written when the view changes.
    void watchView();
    void openNewWindow();
    void resumeSelectedRun();
    void chooseDirection();
    /// The direction of graphs that the user chose; nothing: by the shape of their room.
    std::optional<LayoutRoom::Direction> chosenDirection() const;
    void chooseColors();
    /// Checks what the graph is coloured by in the menu.
    void showColors();
    /// Asks for a file with values of ops and colours the graph by them.
    void openValues();
    void fitRoom();
    void showMeasuring();
    void showMeasuredPlacements();
    /// Fills the table of ops, if it is seen.
    void showOps();
    void showSelectionDetails();
    void showLoading();
    /// Moves the selected ops to the device with this number, from 1.
    void moveSelectionTo(int number);
    /// Opens the dialog with the options of the chosen algorithm.
    void editOptions();
    void editSimulation(const QString& trace = {}, const QString& weights = {});
    /// Asks for a file and saves the selected (or latest) run to it.
    void saveSearch();
    /// Asks for the file of a saved search and resumes it.
    void resumeSearch();
    /// Opens the dialog that starts a benchmark, or stops what is measured.
    void benchmarkOrStop();
    /// Opens the dialog that measures the best placements of a run; 0: of the selected (or latest) one.
    void measureBest(int run = 0);
    void openProfile();
    void openCalibration();
    // In main_window_constraints.cpp.
    /// What is selected, as members of a rule; none, with this message, if these are fewer than `least`.
    std::vector<Constraint::Member> selectedMembers(std::size_t least, const QString& otherwise);
    void pinHere();
    void fillPinMenu();
    void addRule(Constraint::Rule rule, const QString& otherwise);
    void keepTogether();
    void keepApart();
    void removeConstraints();
    void openConstraints();
    /// Row of the offers; see offerToDropRules().
    static constexpr QLatin1String kBrokenRules{"brokenRules"};
    void offerToDropRules(const QString& reason, std::size_t count);
    /// Marks the pinned ops in the graph.
    void showPadlocks();
    // In machine/main_window_machine.cpp.
    void openMachineEditor();
    void showWhatIf();
    void resetWhatIf();
    void openMachine();
    void saveMachine();
    void openCompare();
    void pinA();
    /// Shows placement A beside the one on screen.
    void openPair();
    /// Marks in the graph what A has elsewhere, and says how A differs.
    void showPinned();
    /// Shows the way back to a comparison that runs in a closed window.
    void showComparison();
    /// Asks for a folder and shows the results of an experiment.
    void openExperiment();
    /// Shows the start page, or the graph.
    void showStart(bool start);
    void toggleStart();
    /// Selects the forward ops that share the property with a selected op; `none`: what to say without a
    /// selection.
    void selectLike(std::string Op::*property, const QString& none);
    void selectKind();
    void selectModule();
    /// Copies the names of the selected ops to the clipboard, one a line.
    void copyNames();
    void copyPicture();
    void openModule();
    void openEqualModules();
    void showNoClosedModule();
    void closeModule();
    void restoreLayout();
    /// Asks, then sets all choices back to their defaults.
    void resetSettings();
    /// Opens the field that finds commands by their names.
    void openCommands();
    std::vector<Command> opsCalled(const QString& text);
    void chooseTheme();
    void showKeys();
    void showAbout();
    void showError(const QString& text);
    void showInformation(const QString& text);
    /// Asks for a file and writes the current placement.
    void exportPlacement();
    void exportForTraining();
    /// Asks for a file and writes a report of the placement on screen, with pictures.
    void exportReport();
    /// Asks for a file and writes a table of the searches there, as runs_csv() and curves_csv() do.
    void exportTable(const QString& ending,
                     std::string (*table)(const std::vector<std::string>&, const std::vector<ComparedCase>&));
    /// Asks for a file and writes the picture that `paint` draws in `size`.
    void exportView(const QString& name, QSizeF size,
                    const std::function<void(QPainter&, const QRectF&)>& paint);
    template <class Plot>
    void exportPlot(const QString& name, Plot* plot) {
        if (plot->isEmpty()) return showError(tr("There is no picture to write: that panel is empty."));
        exportView(name, plot->size(), [plot](QPainter& painter, const QRectF& target) {
            plot->renderWhole(painter, target.toRect());
        });
    }
    /// Asks for a file in the last export folder; proposes the network's name with this ending. A name
    /// without a suffix gets `suffix`. Empty if the user cancels.
    QString chooseExportFile(const QString& title, const QString& ending, const QString& filter,
                             const QString& suffix);
    /// Asks whether to save or discard unsaved placements; false if the user cancels.
    bool mayClose(const QString& title, const QString& consequence);
    /// Asks whether to save what else is lost where another network is opened: running searches, constraints
    /// that are in no file, changes of an open workspace; false if the user cancels.
    bool mayDropOtherWork();
    /// Which window takes the cores from what is to be measured, and what to do; empty: none does.
    QString otherWork() const;
    void restoreSettings();
    void restoreMachine();
    void saveSettings();

    std::unique_ptr<Document> m_document;
    Gallery* m_gallery = nullptr;
    ComputerFinder* m_computer = nullptr;
    bool m_isOffered = false;  ///< whether the start page offers this computer
    OpDrag* m_drag = nullptr;
    PinnedPlacement* m_pinned = nullptr;
    PairWindow* m_pair = nullptr;           ///< null until it is opened first
    CompareWindow* m_compare = nullptr;     ///< null until it is opened first
    QToolButton* m_toComparison = nullptr;  ///< seen while a comparison runs in a closed window
    Learning* m_learning = nullptr;
    bool m_opensUnplaced = false;       ///< the next network is not placed at once
    double m_askToStop_s = 10;          ///< what is measured may be stopped without a question until then
    QPointer<ProfileDialog> m_profile;  ///< null while it is closed
    CalibrationDialog* m_calibration = nullptr;  ///< null until it is opened first
    MachineEditor* m_machineEditor = nullptr;    ///< null until it is opened first

    QStackedWidget* m_stack = nullptr;
    StartPage* m_start = nullptr;
    GraphView* m_graph = nullptr;
    GraphColoring* m_coloring = nullptr;
    FindBar* m_find = nullptr;
    MessageBar* m_message = nullptr;
    QStringList m_curveChecks;  ///< what is on in the plot of curves by default
    OfferBar* m_offers = nullptr;
    WorkspaceKeeper* m_keeper = nullptr;
    DevicePanel* m_devices = nullptr;
    WhatIfPanel* m_whatIf = nullptr;
    SelectionPanel* m_selection = nullptr;
    TimelineView* m_timeline = nullptr;
    RunsView* m_runs = nullptr;
    CurvePlot* m_curve = nullptr;
    LearningPlot* m_learningPlot = nullptr;
    LiveCdf* m_cdf = nullptr;
    ArchivePanel* m_archive = nullptr;
    DistributionMap* m_distribution = nullptr;
    WhyPanel* m_why = nullptr;
    bool m_whySeen = false;  ///< whether the Why panel is visible and must be filled
    SuggestionsPanel* m_suggestions = nullptr;
    OpsView* m_ops = nullptr;
    bool m_opsSeen = false;  ///< whether the table of ops is visible and must be filled
    QTimer m_opsPause;       ///< between two fillings of that table while a search runs
    bool m_opsLate = false;  ///< the table is to be filled when that time is over
    MeasuredPanel* m_measured = nullptr;
    int m_newestRun = 0;  ///< the largest id of a measured run that was shown
    QDockWidget* m_timelineDock = nullptr;

    Panels* m_panels = nullptr;
    std::unique_ptr<Actions> m_actions;  ///< null during construction
    ToolBars* m_bars = nullptr;
    LanguageBar* m_languageBar = nullptr;
    StatusLine* m_status = nullptr;

    std::map<std::string, OptionValues> m_optionsOf;  ///< the user's option values by algorithm
    Finder* m_finder = nullptr;
    ViewHistory* m_history = nullptr;

    HelpKeys* m_help = nullptr;

    Background::Lane m_experimentLane;
    Background m_background{1};  ///< last: its destructor waits for the work in the lane
};

}  // namespace placewright
