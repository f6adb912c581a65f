// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <memory>

#include <QMainWindow>

#include "app/background.hpp"
#include "app/document.hpp"

class QAction;
class QComboBox;
class QDockWidget;
class QLabel;
class QMenu;
class QProgressBar;
class QSpinBox;
class QStackedWidget;
class QToolBar;
class QToolButton;

namespace placewright {

class ArchiveMap;
class CdfPlot;
class CompareWindow;
class CurvePlot;
class DevicePanel;
class DistributionMap;
class FindBar;
class GraphView;
class Learning;
class LearningPlot;
class MessageBar;
class OpDrag;
class RunsView;
class SelectionPanel;
class StartPage;
class SuggestionsPanel;
class WhyPanel;

/// Ties the widgets to the document: values go in when the document says that they changed, intentions go to the document.
class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    explicit MainWindow(QWidget* parent = nullptr);
    ~MainWindow() override;

    /// Opens what the program was called with: a network, the name of one that ships, or a trace.
    void openArgument(const QString& text);
    Document* document() const { return m_document.get(); }
    GraphView* graphView() const { return m_graph; }
    TimelineView* timelineView() const { return m_timeline; }
    DevicePanel* devicePanel() const { return m_devices; }
    RunsView* runsView() const { return m_runs; }
    ArchiveMap* archiveMap() const { return m_archive; }
    CdfPlot* cdfPlot() const { return m_cdf; }
    DistributionMap* distributionMap() const { return m_distribution; }
    LearningPlot* learningPlot() const { return m_learningPlot; }
    Learning* learning() const { return m_learning; }
    WhyPanel* whyPanel() const { return m_why; }
    SuggestionsPanel* suggestionsPanel() const { return m_suggestions; }
    MessageBar* messageBar() const { return m_message; }

    /// Chooses what the toolbar shows; as if by hand.
    void chooseAlgorithm(const QString& id);
    void chooseEvaluations(int evaluations);
    void chooseSeed(int seed);
    /// Starts a search with what the toolbar shows, or stops the one that runs.
    void optimizeOrStop();
    /// Starts a search with what the toolbar shows, also beside others.
    void optimize();
    void pauseOrGoOn();
    /// Whether no search is at work.
    bool allPaused() const;

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void changeEvent(QEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void dragEnterEvent(QDragEnterEvent*) override;
    void dropEvent(QDropEvent*) override;
    void closeEvent(QCloseEvent*) override;
    bool answerToOpen(const OpenQuestion& question, ReadOptions& options);
    /// Asks what shall become of a placement that is in no file; searches wait for the answer.
    bool mayLeave(const QString& title, const QString& consequence);

private:
    QDockWidget* addDock(const QString& title, const QString& name, QWidget* widget, Qt::DockWidgetArea area);
    void makeWidgets();
    void makeActions();
    void makeToolBar();
    void makeStatusBar();
    void connectDocument();
    void connectViews();

    void openDialog();
    void openPath(const QString& path);
    void openTrace(const QString& path);
    void rememberFile(const QString& path);
    void fillGallery();
    void fillRecent();
    void showProblem();
    void showGoal();
    void showMachine();
    void sizePanels();
    void sizeTimeline();
    void noteTimelineShare();
    void showPanels(bool show);
    void showPlacement();
    void showTimeline();
    void showRuns();
    const Run* runWith(const std::function<bool(const Run&)>& has) const;
    void showLearnt();
    void showWhy();
    void showMoves();
    void raisePanel(QWidget* panel);
    void showStatus();
    void showFigure();
    void showBound();
    void showLoading();
    void findOps(const QString& text);
    void stepMatch(int direction, bool opens);
    void moveSelectionTo(int number);
    void editOptions();
    void editSimulation(const QString& trace = {}, const QString& weights = {});
    void saveSearch();
    void resumeSearch();
    void openCompare();
    void openExperiment();
    void showOptions();
    void showStart(bool start);
    /// Writes the placement on screen, where `show` brings it once there is a file to write to; false if it was not written.
    bool exportPlacement(const std::function<void()>& show = {});
    void exportView(const QString& name, QSizeF size, const std::function<void(QPainter&, const QRectF&)>& paint);
    QString chooseExportFile(const QString& title, const QString& suggestion, const QString& filter);
    void restoreSettings();
    void saveSettings();

    std::unique_ptr<Document> m_document;
    OpDrag* m_drag = nullptr;
    CompareWindow* m_compare = nullptr;  ///< null until it is asked for
    Learning* m_learning = nullptr;

    QStackedWidget* m_stack = nullptr;
    StartPage* m_start = nullptr;
    GraphView* m_graph = nullptr;
    FindBar* m_find = nullptr;
    MessageBar* m_message = nullptr;
    DevicePanel* m_devices = nullptr;
    SelectionPanel* m_selection = nullptr;
    TimelineView* m_timeline = nullptr;
    RunsView* m_runs = nullptr;
    CurvePlot* m_curve = nullptr;
    LearningPlot* m_learningPlot = nullptr;
    CdfPlot* m_cdf = nullptr;
    ArchiveMap* m_archive = nullptr;
    DistributionMap* m_distribution = nullptr;
    WhyPanel* m_why = nullptr;
    bool m_whySeen = false;  ///< otherwise it need not be filled
    SuggestionsPanel* m_suggestions = nullptr;
    QList<QDockWidget*> m_docks;
    QByteArray m_defaultLayout;
    QByteArray m_layout;  ///< of the panels while they are hidden
    bool m_panelsShown = true;
    QDockWidget* m_timelineDock = nullptr;
    double m_timelineShare = 0;  ///< of the window's height; 0: not known yet

    QToolBar *m_bar = nullptr, *m_searchBar = nullptr;

    QComboBox* m_machine = nullptr;
    QComboBox* m_algorithm = nullptr;
    QSpinBox* m_evaluations = nullptr;
    QSpinBox* m_seed = nullptr;
    QAction* m_optimize = nullptr;
    QAction* m_beside = nullptr;
    QAction* m_pause = nullptr;
    QAction* m_saveSearch = nullptr;
    QAction* m_options = nullptr;
    QAction* m_simulation = nullptr;
    QAction* m_startPage = nullptr;
    QAction* m_path = nullptr;        ///< the critical path over the timeline
    QAction* m_pathColour = nullptr;  ///< and in the graph
    QAction* m_proof = nullptr;       ///< whether tighter bounds are looked for
    QToolButton* m_simulationButton = nullptr;
    QMenu* m_recentMenu = nullptr;
    QMenu* m_exportMenu = nullptr;
    QList<QAction*> m_needProblem;  ///< enabled while a network is open

    QLabel* m_stepStatus = nullptr;
    QLabel* m_boundStatus = nullptr;
    QLabel* m_searchStatus = nullptr;
    QProgressBar* m_progress = nullptr;
    QToolButton* m_cancelLoading = nullptr;

    std::map<std::string, OptionValues> m_optionsOf;  ///< by algorithm: what the person chose
    OpList m_matches;
    std::ptrdiff_t m_currentMatch = -1;

    Background::Lane m_experimentLane;
    Background m_background{1};  ///< last: its destructor waits for the work in the lane
};

}  // namespace placewright
