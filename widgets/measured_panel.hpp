// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <QWidget>

#include "widgets/measured_placements.hpp"
#include "widgets/measured_runs.hpp"
#include "widgets/op_view.hpp"

class QComboBox;
class QLabel;
class QSplitter;
class QTabWidget;
class QStackedWidget;
class QToolButton;
class QTreeWidget;

namespace placewright {

class IdentityPlot;
class MeasuredPlot;
class PlacementsView;
class StepsPlot;

/// What was measured against what was simulated: the step, each device, a dot for each op, and a dot for the
/// step of each run. Of several runs the user chooses one, or the mean of all. Placements that were measured
/// of a search are dots beside those of the runs, with a table.
class MeasuredPanel : public QWidget {
    Q_OBJECT
public:
    explicit MeasuredPanel(QWidget* parent = nullptr);

    /// Null or without runs: shows how to get some.
    void setMeasured(std::shared_ptr<const MeasuredRuns> measured);
    /// Null: none were measured.
    void setPlacements(std::shared_ptr<const MeasuredPlacements> placements);
    /// Seconds until all placements are measured; nothing: not known yet.
    void setTimeLeft(std::optional<double> left_s);
    /// The placement on screen, which the table of placements marks.
    void setPlacementOnScreen(const Placement& placement);
    /// Brings the page of steps to the front.
    void showSteps();
    void setSelection(const OpList& ops);
    /// Sets whether the file of the chosen run can be opened again.
    void setFileKnown(bool known);
    /// The id of the chosen run; 0 for all. Stays while its run is not shown for a while.
    int chosenRun() const { return m_chosen; }
    /// Chooses a run that is shown; 0: all of several.
    void choose(int id);
    MeasuredPlot* plot() const { return m_plot; }
    StepsPlot* steps() const { return m_steps; }
    PlacementsView* placements() const { return m_placements; }
    /// The one of the two that its tab shows.
    IdentityPlot* shownPlot() const;

Q_SIGNALS:
    /// The user chose a run; 0: all of them.
    void runChosen(int id);
    void selectionEdited(const placewright::OpList& ops);
    /// The user wants to do this with the chosen run.
    void timesWanted(int id);
    void windowWanted(int id);
    void placementWanted(int id);
    void traceExportRequested(int id);
    /// 0: all runs.
    void removeRequested(int id);
    /// The user wants this of the measured placements shown.
    void placementActivated(std::size_t index);
    /// The user wants no more placements to be measured.
    void cancelRequested();

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    void showChosen();
    void showDevices(const RunComparison& compared);
    void fitFigures();
    /// Shows the pages that have something to show.
    void showPages();
    bool hasRuns() const { return m_measured && !m_measured->runs.empty(); }

    std::shared_ptr<const MeasuredRuns> m_measured;
    QStackedWidget* m_pages = nullptr;
    QComboBox* m_runs = nullptr;
    QToolButton* m_menu = nullptr;
    QAction *m_times = nullptr, *m_window = nullptr, *m_placement = nullptr;
    QAction *m_trace = nullptr, *m_remove = nullptr;
    QTabWidget* m_plots = nullptr;
    QSplitter* m_parts = nullptr;  ///< figures and plot: side by side where there is room
    QLabel* m_step = nullptr;
    QTreeWidget* m_devices = nullptr;
    MeasuredPlot* m_plot = nullptr;
    StepsPlot* m_steps = nullptr;
    PlacementsView* m_placements = nullptr;
    QSplitter* m_stepsPage = nullptr;
    bool m_hasPlacements = false;
    int m_chosen = 0;
    std::vector<std::pair<int, QString>> m_listed;  ///< ids and names in m_runs
    std::shared_ptr<const Machine> m_listedOf;      ///< machine of the rows of m_devices
};

}  // namespace placewright
