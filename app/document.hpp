// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <QObject>
#include <QUndoStack>

#include "app/background.hpp"
#include "app/job.hpp"
#include "app/run.hpp"
#include "widgets/drop_preview.hpp"
#include "widgets/graph_scene.hpp"
#include "widgets/op_view.hpp"
#include "widgets/runs_view.hpp"
#include "widgets/timeline_view.hpp"

namespace placewright {

/// The single owner of what the window shows: network, machine, placement, runs, selection and undo. Lives on the window's thread; what
/// takes longer than a frame (reading, layout, simulation, bounds, searches) runs elsewhere and arrives by signals. A placement changes
/// through undoable commands only, and a followed search is one command, however often it improves the placement.
class Document : public QObject {
    Q_OBJECT
public:
    explicit Document(QObject* parent = nullptr);
    ~Document() override;

    bool isOpen() const { return m_job.problem != nullptr; }
    const Job& job() const { return m_job; }
    const std::shared_ptr<const Problem>& problem() const { return m_job.problem; }
    const QString& networkFile() const { return m_networkFile; }
    const QString& machineFile() const { return m_machineFile; }
    const std::shared_ptr<const GraphScene>& scene() const { return m_scene; }
    const Placement& placement() const { return m_placement; }
    /// Device of each op of the problem's graph.
    std::vector<DeviceId> deviceOfOps() const;
    /// Timeline of the placement; may lag behind it for a moment.
    const std::shared_ptr<const TimelineData>& timeline() const { return m_timeline; }
    /// Step time before the last step that was done (and not undone), if it is known.
    std::optional<double> stepTimeBefore() const;
    const std::optional<Bound>& bound() const { return m_bound; }
    const OpList& selection() const { return m_selection; }
    QUndoStack* undoStack() { return &m_undo; }
    /// Whether a file is being read or a graph laid out.
    bool isLoading() const { return m_openLane.busy() || m_layoutLane.busy(); }
    /// Whether anything is under way at all.
    bool isBusy() const;

    /// Reads a network (file or name of a shipped one) for the present machine. What is open stays until the new one is there, and if
    /// reading fails.
    void openNetwork(const QString& network);
    /// The same network on another machine (file or name).
    void setMachine(const QString& machine);
    /// Opens whatever the file is: a network, a machine, or a placement of what is open.
    void openFile(const QString& file);
    void cancelLoading();

    /// Starts a search; returns the run's id. Its best placement is followed on screen as long as it improves on what is shown.
    int startSearch(RunRequest request);
    void cancelRun(int id);
    void removeRun(int id);
    Run* followedRun() const;
    bool isSearching() const;
    /// Puts a run's best placement on screen (undoable).
    void showRun(int id);
    void showPlacement(const Placement& placement, const QString& title);
    std::vector<RunRow> runRows() const;
    const std::vector<std::unique_ptr<Run>>& runs() const { return m_runs; }
    QString runTitle(const Run& run) const;
    /// The run whose placement is on screen; nullptr for any other placement.
    const Run* shownRun() const;

    /// Moves the groups of these ops (undoable, one step). Groups that may not be there stay, which is said.
    void moveOps(const OpList& ops, DeviceId device);
    /// Asks for the step time of moving the ops to each device; answered by previewReady.
    void requestPreview(const OpList& ops);
    void cancelPreview() { m_previewLane.cancel(); }
    void setSelection(const OpList& ops);

    /// Writes the placement on screen. Throws InputError.
    void exportPlacement(const QString& file) const;

Q_SIGNALS:
    void loadingChanged();
    void problemChanged();
    void machineChanged();  ///< the machine to open networks for, or a machine was refused
    void sceneChanged();
    void placementChanged();  ///< the placement; timelineChanged follows
    void timelineChanged();
    void boundChanged();
    void selectionChanged();
    void runsChanged();
    void previewReady(const placewright::DropPreviews& previews);
    void message(bool error, const QString& text);
    void settled();  ///< something under way ended; isBusy() may have changed

private:
    class PlacementCommand;

    /// What shall be read next to what is open.
    struct Request {
        QString file;  ///< empty: the network that is open
        QString machine;
        bool isNetwork = false;  ///< whatever it looks like
    };
    /// What was read: a network on a machine, a placement, or (without a network to put on it) just a machine.
    struct Reading {
        std::optional<Job> job;
        std::optional<Placement> placement;
        QString networkFile, machineFile;
    };

    static Reading read(const Request& request, const QString& networkFile, const Job& job);
    void load(Request request);
    void adopt(Job job, const QString& networkFile, const QString& machineFile);
    void setPlacement(Placement placement, std::shared_ptr<const TimelineData> timeline, int shownRun);
    void change(const QString& title, Placement placement, std::shared_ptr<const TimelineData> timeline, int shownRun);
    void follow(Run& run);
    void stopFollowing();
    void endOf(Run& run);
    Run* findRun(int id) const;

    Job m_job;
    QString m_networkFile, m_machineFile;
    QString m_runsKey;  ///< runs of what is open have it; those of another machine, or of what the file held before, do not
    Request m_loading;  ///< while m_openLane is busy
    std::shared_ptr<const GraphScene> m_scene;
    Placement m_placement;
    std::shared_ptr<const TimelineData> m_timeline;
    std::optional<Bound> m_bound;
    OpList m_selection;
    QUndoStack m_undo;

    std::vector<std::unique_ptr<Run>> m_runs;
    int m_nextRun = 1;
    int m_followed = 0;                    ///< id of the run that improves the screen, 0: none
    PlacementCommand* m_search = nullptr;  ///< its command, once it has found something
    int m_shown = 0;                       ///< id of the run whose placement is on screen

    Background::Lane m_openLane, m_layoutLane, m_simulateLane, m_previewLane, m_boundLane;
    Background m_background;  ///< last: its destructor waits for the work in the lanes
};

}  // namespace placewright
