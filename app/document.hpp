// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <QObject>
#include <QUndoStack>

#include "app/background.hpp"
#include "app/drop_trials.hpp"
#include "app/job.hpp"
#include "app/run.hpp"
#include "core/io/placement_formats.hpp"
#include "core/search/single_moves.hpp"
#include "widgets/drop_preview.hpp"
#include "widgets/graph_scene.hpp"
#include "widgets/op_view.hpp"
#include "widgets/runs_view.hpp"
#include "widgets/timeline_view.hpp"

namespace placewright {

/// What placements and runs belong to: a network on a machine, simulated with some options.
struct Scenario {
    Job job;
    QString networkFile, machineFile;  ///< as they were asked for: names of shipped files, or paths
    Path networkPath;                  ///< that networkFile was read from, which may be gone since
    JobOptions options;
    std::vector<std::string> notes{};  ///< on what the supplements in `options` gave, a line each
    bool groupingAsked = false;        ///< the grouping in `options` was chosen; else it is default_grouping() of the network
    std::string fingerprint;           ///< of the problem; that of the graph alone tells files apart that have changed
    std::size_t graphFingerprint = 0;
};

/// What options that are not in use yet would make of the placement on screen, or why they cannot be used.
struct OptionsPreview {
    QString error;
    std::vector<std::string> notes{};  ///< on what the supplements gave
    std::optional<Outcome> outcome;
    std::size_t moved = 0;  ///< ops that go where most of their group is
    const Goal* goal = nullptr;
    Assessment assessment;        ///< by these options
    std::optional<double> now_s;  ///< what the goal in use makes of it, where that is the same goal and defined
    QString fullestDevice;
    double fullest_bytes = 0, fullest_limit_bytes = 0;
};

/// What needs to be told before a model can be opened.
struct OpenQuestion {
    enum class Kind {
        mayRun,  ///< whether the code of a TorchScript model may run
        inputs,  ///< which tensors a TorchScript model is called with
        extent   ///< how large an extent is that an ONNX model leaves open
    };
    QString file;
    Kind kind = Kind::inputs;
    QString reason;                        ///< a sentence
    QString extent{};                      ///< its name
    std::vector<ExampleInput> proposal{};  ///< inputs of usual sizes, where the model tells
};

/// The single owner of what the window shows: network, machine, placement, runs, selection and undo. Lives on the window's thread; what
/// takes longer than a frame (reading, layout, simulation, bounds, searches) runs elsewhere and arrives by signals. A placement changes
/// through undoable commands only, and a followed search is one command, however often it improves the placement.
class Document : public QObject {
    Q_OBJECT
public:
    explicit Document(QObject* parent = nullptr);
    ~Document() override;

    bool isOpen() const { return job().problem != nullptr; }
    const Job& job() const { return m_scenario->job; }
    const std::shared_ptr<const Problem>& problem() const { return job().problem; }
    const QString& networkFile() const { return m_scenario->networkFile; }
    const Path& networkPath() const { return m_scenario->networkPath; }
    const QString& machineFile() const { return m_scenario->machineFile; }
    const JobOptions& options() const { return m_scenario->options; }
    /// problem_fingerprint() of the problem.
    const std::string& fingerprint() const { return m_scenario->fingerprint; }
    const std::shared_ptr<const GraphScene>& scene() const { return m_scene; }
    /// Lays the graph out again with these modules as one node each; what is drawn stays until that is done. Nothing changes if it is
    /// cancelled.
    void setClosedModules(const ClosedScopes& closed);
    /// Opens modules, from the outermost inwards, or closes each of them; of what is on its way to be drawn.
    void showModules(const QStringList& paths, bool open);
    const Placement& placement() const { return m_placement; }
    /// Device of each op of the problem's graph.
    std::vector<DeviceId> deviceOfOps() const;
    /// Timeline of the placement; may lag behind it for a moment.
    const std::shared_ptr<const TimelineData>& timeline() const;
    /// What the objective makes of the placement that the timeline shows; null without a timeline.
    const Assessment* assessment() const { return m_simulated ? &m_simulated->assessment : nullptr; }
    /// Why the timeline is as it is; null or that of an earlier timeline until that has been worked out.
    const std::shared_ptr<const TimelineWhy>& why() const { return m_why; }
    /// What the goal made of what was there before the last step that was done (and not undone), if that is known and was on the same
    /// machine and for the same goal.
    std::optional<double> valueBefore() const;
    /// The tightest lower bound on what the goal makes of a placement that has been proven so far.
    const std::optional<Bound>& bound() const { return m_bound; }
    /// Whether a tighter one is being looked for, which ends by itself.
    bool isProving() const { return m_proofLane.busy(); }
    /// Whether tighter bounds shall be looked for; they are unless this says otherwise. What has been proven stays.
    void setProofWanted(bool wanted);
    const OpList& selection() const { return m_selection; }
    QUndoStack* undoStack() { return &m_undo; }
    /// Whether a file is being read or a graph laid out.
    bool isLoading() const { return m_openLane.busy() || m_layoutLane.busy(); }
    /// Whether anything is under way at all but the proof of a tighter bound.
    bool isBusy() const;

    /// Reads a network (file or name of a shipped one) for the present machine. What is open stays until the new one is there, and if
    /// reading fails.
    void openNetwork(const QString& network);
    /// The same network on another machine (file or name); undoable, like setOptions.
    void setMachine(const QString& machine);
    /// The same network simulated with other options. The placement stays as far as its ops and devices still are there. What supplements
    /// leave open is filled in; they are of this network alone, and none of the next.
    void setOptions(const JobOptions& options);
    /// Asks what these options would give; answered by optionsPreviewed, with the latest request alone.
    void previewOptions(const JobOptions& options);
    void cancelOptionsPreview() { m_optionsLane.cancel(); }
    /// Opens whatever the file is: a network, a machine, or a placement of what is open.
    void openFile(const QString& file);
    void cancelLoading();
    /// Asked on the window's thread before another network takes the place of what is open; false keeps that.
    void setLeaveQuestion(std::function<bool()> mayLeave) { m_mayLeave = std::move(mayLeave); }

    /// Asked on the window's thread; true if `options` now have an answer, with which the file is read again.
    void setOpenQuestion(std::function<bool(const OpenQuestion& question, ReadOptions& options)> ask) { m_askToOpen = std::move(ask); }

    /// Starts a search; returns the run's id, or 0 where it is proven that no placement fits the memory, which is said. Its best placement
    /// is followed on screen as long as it improves on what is shown.
    int startSearch(RunRequest request);
    void cancelRun(int id);
    void pauseRun(int id, bool paused);
    void removeRun(int id);
    /// Writes what a run can be gone on with, as far as it is now, off this thread; says so when that is done.
    void saveSearch(int id, const QString& file);
    bool isSaving() const { return m_saveLane.busy(); }
    /// Goes on with a search of what is open that was saved here or by placewright-cli optimize --scores. `evaluations`: how far, where the
    /// file does not say.
    void resumeSearch(const QString& file, std::uint64_t evaluations);
    Run* followedRun() const;
    bool isSearching() const;
    /// Puts a run's best placement on screen (undoable), with the machine and the options that it belongs to.
    void showRun(int id);
    void showPlacement(const Placement& placement, const QString& title);
    /// The runs of the open network; those of another machine or other options say so.
    std::vector<RunRow> runRows() const;
    const std::vector<std::unique_ptr<Run>>& runs() const { return m_runs; }
    QString runTitle(const Run& run) const;
    /// The run whose placement is on screen; nullptr for any other placement.
    const Run* shownRun() const;

    /// Moves the groups of these ops (undoable, one step). Groups that may not be there stay, which is said.
    void moveOps(const OpList& ops, DeviceId device);
    /// Asks what moving the ops to each device would give; answered by previewReady.
    void requestPreview(const OpList& ops);
    void cancelPreview() { m_previewLane.cancel(); }
    void setSelection(const OpList& ops);
    /// Whether all single moves of the placement shall be simulated. They are when no search runs, and again whenever it has changed.
    void setMovesWanted(bool wanted);
    /// Null until they have been.
    const std::shared_ptr<const SingleMoves>& moves() const { return m_moves; }

    /// The placement on screen with all that is known of it.
    PlacedNetwork placed() const;
    /// Writes the placement on screen. Throws InputError.
    void exportPlacement(const QString& file);
    /// The placement on screen is in a file now.
    void keepPlacement();
    /// Whether the placement on screen has come about here and is in no file.
    bool hasUnsavedPlacement() const;
    /// What would be lost if the network were left now: the run whose best placement is in no file, or 0 for the placement on screen.
    std::optional<int> unsaved() const;
    /// Whether a placement of what is open with this score is better than all that is in files, on screen or found by runs.
    bool isBestKnown(double score_s) const;

Q_SIGNALS:
    void loadingChanged();
    void problemChanged();
    void machineChanged();  ///< the machine or the options to open networks with, or such a change was refused
    void sceneChanged();
    void placementChanged();  ///< the placement; timelineChanged follows
    void timelineChanged();
    void whyChanged();
    void movesChanged();
    void movesProgressed(std::size_t done, std::size_t total);
    void boundChanged();  ///< the bound, or whether a tighter one is being looked for
    void selectionChanged();
    void runsChanged();
    void previewReady(const placewright::DropPreviews& previews);
    void optionsPreviewed(const placewright::OptionsPreview& preview);
    void message(bool error, const QString& text);
    void settled();  ///< something under way ended; isBusy() may have changed

private:
    class ScreenCommand;

    /// What is on screen.
    struct Screen {
        std::shared_ptr<const Scenario> scenario;
        Placement placement;
        std::shared_ptr<const Simulated> simulated;  ///< null: not yet
        int run = 0;                                 ///< whose best it is, 0: nobody's
    };
    /// What shall be read next to what is open, or changed in it.
    struct Request {
        QString file;                       ///< empty: the network that is open
        QString machine;                    ///< empty: the machine in use
        std::optional<JobOptions> options;  ///< nothing: those in use
        bool isNetwork = false;             ///< whatever it looks like
        ReadOptions reading{};              ///< of a file
    };
    /// What was read: a scenario (without a problem if there is no network for it), a placement for the one in use, or what the file leaves
    /// open.
    struct Reading {
        std::shared_ptr<const Scenario> scenario;
        bool sameNetwork = false;  ///< on another machine or with other options
        std::optional<Placement> placement;
        std::vector<std::string> notes{};  ///< on how the placement was read
        std::optional<OpenQuestion> question{};
    };

    static Reading read(const Request& request, const Scenario& open, const std::stop_token& stop);
    static NetworkFile readNetwork(const Path& file, ReadOptions& options);
    static Scenario changed(const Request& request, const Scenario& open, const std::stop_token& stop);
    Request unfinished() const { return m_openLane.busy() ? m_loading : Request(); }
    void load(Request request);
    void ask(Request request, const OpenQuestion& question);
    void adopt(Reading reading);
    void tell(QStringList notes);
    QString unmeasured() const;
    void keep(Placement placement, std::shared_ptr<const Scenario> scenario);
    void enter(std::shared_ptr<const Scenario> scenario, Placement placement);
    void setScreen(const Screen& screen);
    Screen screen() const;
    void change(const QString& title, Screen screen);
    void simulatePlacement();
    void showSimulated(std::shared_ptr<const Simulated> simulated);
    void explainTimeline();
    void prepareDrops();
    void tryMoves();
    void dropMoves();
    void startBound();
    void startLayout(std::optional<ClosedScopes> closed);
    double leastKnown_s() const;
    double leastKept_s(const Scenario& scenario) const;
    void prove();
    void tighten(Bound bound);
    QString infeasible() const;
    void endPointlessSearches();
    void follow(Run& run);
    void stopFollowing();
    void endOf(Run& run);
    void tellFruitless(const Run& run);
    void tellPrediction(const Run& run);
    Run* findRun(int id) const;

    std::shared_ptr<const Scenario> m_scenario;  ///< never null; without a network before one is open
    Request m_loading;                           ///< while m_openLane is busy
    std::shared_ptr<const GraphScene> m_scene;
    std::optional<ClosedScopes> m_closed;  ///< of the scene that is drawn or on its way; nothing before the first of a network
    Placement m_placement;
    /// In a file, or what a network opens with; in the order in which they became that, also those of other networks.
    std::vector<std::pair<std::shared_ptr<const Scenario>, Placement>> m_kept;
    std::function<bool()> m_mayLeave;
    std::function<bool(const OpenQuestion&, ReadOptions&)> m_askToOpen;
    std::shared_ptr<const Simulated> m_simulated;  ///< may lag behind the placement for a moment
    std::shared_ptr<const TimelineWhy> m_why;
    std::shared_ptr<const SingleMoves> m_moves;
    bool m_movesWanted = false;
    std::optional<Bound> m_bound;
    bool m_proofWanted = true;
    OpList m_selection;
    QUndoStack m_undo;

    std::vector<std::unique_ptr<Run>> m_runs;
    std::map<int, std::shared_ptr<const Scenario>> m_scenarioOf;  ///< by run
    int m_nextRun = 1;
    int m_followed = 0;                 ///< id of the run that improves the screen, 0: none
    ScreenCommand* m_search = nullptr;  ///< its command, once it has found something
    int m_shown = 0;                    ///< id of the run whose placement is on screen

    DropTrials m_trials;

    Background::Lane m_openLane, m_layoutLane, m_simulateLane, m_whyLane, m_movesLane, m_prepareLane, m_previewLane, m_optionsLane,
        m_boundLane, m_proofLane, m_saveLane, m_resumeLane;
    Background m_background{4};  ///< last: its destructor waits for the work in the lanes
    Background m_prover{1};      ///< the same; what it does takes long and leaves the cores to everything else
};

}  // namespace placewright
