// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <QObject>
#include <QTimer>
#include <QUndoStack>

#include "app/window/background.hpp"
#include "app/window/insights.hpp"
#include "app/window/kept_placements.hpp"
#include "app/window/loader.hpp"
#include "app/window/machine/edited_scenario.hpp"
#include "app/window/measurements.hpp"
#include "app/window/measuring.hpp"
#include "app/window/run_list.hpp"
#include "app/window/workspace.hpp"
#include "core/io/placements/placed_network.hpp"
#include "widgets/graph_scene.hpp"
#include "widgets/op_view.hpp"

namespace placewright {

/// The single owner of the window's state: network, machine, placement, runs, selection and undo. Lives on
/// the window's thread; work that takes longer than a frame (reading, layout, simulation, bounds, searches)
/// runs on other threads and reports by signals. The placement changes by undoable commands only; a followed
/// search is one command, however often it improves the placement.
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
    /// Lays out the graph again with these modules drawn as one node each. The old drawing stays until that
    /// is done, or for good if it is cancelled.
    void setClosedModules(const ClosedScopes& closed);
    /// Opens modules, from the outermost inwards, or closes each of them, relative to the latest requested
    /// layout.
    void showModules(const QStringList& paths, bool open);
    /// Lays out the graph again if it would be smaller in this room than it could be.
    void setRoom(const LayoutRoom& room);
    const Placement& placement() const { return m_placement; }
    /// Device of each op of the problem's graph.
    std::vector<DeviceId> deviceOfOps() const;
    /// Timeline of the placement; may lag behind it briefly.
    const std::shared_ptr<const TimelineData>& timeline() const { return m_insights.timeline(); }
    /// The placement of that timeline with all that is known of it; null before the first.
    const std::shared_ptr<const Simulated>& simulated() const { return m_insights.simulated(); }
    /// Its assessment by the objective; null before the first.
    const Assessment* assessment() const {
        return m_insights.simulated() ? &m_insights.simulated()->assessment : nullptr;
    }
    /// How far the step time of that placement may be off; null if the cost model does not say.
    const StepError* stepError() const {
        return m_insights.simulated() && m_insights.simulated()->error ? &*m_insights.simulated()->error
                                                                       : nullptr;
    }
    /// The CPU that takes most of the step of that placement; null if none does.
    const CpuLoad* cpuLoad() const {
        return m_insights.simulated() && m_insights.simulated()->cpu ? &*m_insights.simulated()->cpu
                                                                     : nullptr;
    }
    /// Options that make a placement fit that does not; null until they have been tried.
    const std::shared_ptr<const Remedies>& remedies() const { return m_insights.remedies(); }
    /// The longest context with which the placement fits; nothing if it holds no language model, or until it
    /// has been found.
    const std::optional<LongestContext>& longestContext() const { return m_insights.longestContext(); }
    /// Explanation of the timeline (critical path, waits, peaks); null or that of an earlier timeline until
    /// it has been computed.
    const std::shared_ptr<const TimelineWhy>& why() const { return m_insights.why(); }
    /// Objective value before the last step that is done and not undone, if it is known and had the same
    /// machine and objective.
    std::optional<double> valueBefore() const;
    /// The tightest lower bound on the objective that has been proven so far.
    const std::optional<Bound>& bound() const { return m_insights.bound(); }
    /// Whether a tighter bound is being searched for, which ends by itself.
    bool isProving() const { return m_insights.isProving(); }
    /// Sets whether to search for tighter bounds (default: true). Bounds proven so far are kept.
    void setProofWanted(bool wanted);
    /// The measured runs of the open network beside its timeline; null if there are none.
    const std::shared_ptr<const MeasuredRuns>& measured() const { return m_measurements.measured(); }
    /// The file that a measured run was read from; empty if it was not.
    QString measuredFile(int id) const { return m_measurements.fileOf(id); }
    const OpList& selection() const { return m_selection; }
    QUndoStack* undoStack() { return &m_undo; }
    /// The network on its machine, with the options; never null.
    const std::shared_ptr<const Scenario>& scenario() const { return m_scenario; }
    const std::shared_ptr<const Scenario>& scenarioOf(const Run& run) const { return m_runs.scenarioOf(run); }
    /// Whether a file is being read (also a trace) or a graph laid out.
    bool isLoading() const { return m_openLane.busy() || m_layoutLane.busy() || m_measurements.isReading(); }
    /// Whether another machine, other options or a file that is no workspace are being taken in.
    bool isChanging() const;
    /// Whether any work is under way, except the proof of a tighter bound.
    bool isBusy() const;

    /// Reads a network (file or name of a bundled one) for the current machine. The open network stays until
    /// the new one has been read, and if reading fails.
    void openNetwork(const QString& network);
    /// Changes the machine (file or name of a bundled one) of the same network; undoable, like setOptions().
    void setMachine(const QString& machine);
    /// Why the machine cannot be edited now, as a sentence; empty if it can.
    QString editHindrance() const;
    /// The factors on the machine, and the machine without them; those under way where there are some.
    WhatIf whatIf() const;
    std::shared_ptr<const Machine> whatIfBase() const;
    /// Puts an edit of whatIfBase() on screen, with the factors, in the background; an undo step called
    /// `title`. Ops of devices that are gone move to one of the same kind, with a message. Does nothing but
    /// say why if there is an editHindrance().
    void editMachine(const QString& title, MachineEdit edit);
    /// Applies other factors to whatIfBase(), in the background; the latest win. All until endWhatIf() are
    /// one undo step.
    void setWhatIf(const WhatIf& factors);
    void endWhatIf();
    /// Value of the objective for the placement on screen without the factors; nothing until it is known,
    /// without factors, or where the objective is not defined.
    std::optional<double> valueWithoutFactors() const { return m_valueWithoutFactors; }
    /// machineFile() of the machine without the factors.
    const QString& machineFileWithoutFactors() const {
        return m_scenario->whatIf ? m_scenario->whatIf->base->machineFile : machineFile();
    }
    /// Whether the machine in use is an edited one that is in no file of the user.
    bool isMachineEdited() const { return !m_scenario->editedFrom.isEmpty(); }
    /// Changes the simulation options of the same network. The placement is kept as far as its ops and
    /// devices still exist. Fields that the supplements leave open are filled in; supplements belong to this
    /// network alone, the next network has none. `whole`: all ops go to this device, except those that it
    /// may not run.
    void setOptions(const JobOptions& options, std::optional<DeviceId> whole = {});
    /// Changes the rules that every placement obeys, as setOptions().
    void setConstraints(const Constraints& constraints);
    /// Changes how the open network file is read: the batch size, and of a language model phase, context and
    /// types. As setOptions(); the placement is kept by the names of the ops.
    void setReading(const ReadOptions& reading);
    /// Those in use, or those of a change that is under way, which a further change must not undo.
    JobOptions latestOptions() const { return unfinished().options.value_or(options()); }
    /// Repeats the request that rulesBroken() told of, without these rules; one undo step.
    void dropBrokenRules();
    bool hasBrokenRules() const { return m_withoutBroken.has_value(); }
    Constraints latestConstraints() const { return latestOptions().problem.constraints; }
    /// Requests a preview of these options; only the latest request is answered, by optionsPreviewed().
    void previewOptions(const JobOptions& options);
    void cancelOptionsPreview() { m_optionsLane.cancel(); }
    /// Opens a file by its content: a network, a machine, or a placement of the open network.
    void openFile(const QString& file);
    /// Reads traces of the open network and shows them as measured runs; tracesUnmatched() names those that
    /// have none of its ops.
    void openTraces(const QStringList& files);
    /// Adds a measured run of the open problem.
    void addMeasured(MeasuredRun run);
    /// What is measured on this computer now.
    const Measuring& measuring() const { return m_measuring; }
    /// Asks where the devices of the open problem would run on this computer; answered by planFound() or
    /// planFailed(), the latest request alone.
    void findPlan();
    /// Why nothing can be measured now: what else runs here, and what to do about it. Empty if it can.
    QString measuringHindrance() const;
    /// Sets what says which work outside of the document takes the cores of this computer; empty: none does.
    void setOtherWork(std::function<QString()> otherWork) { m_otherWork = std::move(otherWork); }
    /// Why work that takes the cores cannot start now: what is measured would be disturbed. Empty if it can.
    QString measuredNow() const;
    /// Measures the placement on screen; it becomes a measured run of the network. Later changes of the
    /// screen do not matter. Searches, also those that are started meanwhile, wait until it ends; another
    /// network ends it. Does nothing but say why if there is a measuringHindrance().
    void startBenchmark(std::vector<PhysicalDevice> devices, const MeasureOptions& options);
    /// Measures the ops of the open network for the archive; profileChanged() follows.
    void startProfile(std::vector<PhysicalDevice> devices, std::uint32_t steps, bool transfers,
                      bool throttles, const QString& file);
    /// Measures placements of a run of the open network; they become measuredPlacements(). At the end the
    /// fastest that fits is put on screen, unless the placement there was edited meanwhile. Searches pause
    /// until it ends; another network, machine or other options end it.
    void measureBest(BestRequest request);
    /// The placements of a run that were measured last, or are being measured; null if there are none of the
    /// open scenario.
    std::shared_ptr<const MeasuredPlacements> measuredPlacements() const;
    /// Shows one of them (undoable).
    void showMeasuredBest(std::size_t index);
    /// Sets what runs placements in place of measure(), for tests.
    void setPlacementRunner(PlacementRunner runner) { m_runner = std::move(runner); }
    /// What the last profile of the open network that ended measured; nothing before the first one has.
    const std::optional<ProfileReport>& profiled() const { return m_profiled; }
    /// How the last profile of the open network ended, if it failed or was stopped; else empty.
    const QString& profileFailure() const { return m_profileFailure; }
    /// Stops what is measured, and says so.
    void cancelMeasuring();
    /// Changes whenever measured runs or placements are added or removed.
    quint64 measuredRevision() const { return m_measurements.revision() + m_bestRevision; }
    /// Number of benchmarks of the open network that are in no file.
    std::size_t benchmarks() const { return m_measurements.unsaved(*m_scenario); }
    /// Number of benchmarks of earlier versions of the network that are in no file. No workspace can hold
    /// them with the network as it is now.
    std::size_t earlierBenchmarks() const { return m_measurements.unsaved() - benchmarks(); }
    /// Number of measured placements of a run of the open network that are in no file.
    std::size_t unsavedPlacements() const;
    bool hasUnsavedMeasured() const { return benchmarks() > 0 || unsavedPlacements() > 0; }
    /// Writes the spans of a measured run as a Chrome trace, on another thread; a message reports the end.
    void exportMeasured(int id, const QString& file);
    /// Simulates with the times in an archive, read anew; undoable.
    void useProfile(const QString& file);
    /// Removes a measured run; 0: all.
    void removeMeasured(int id) { m_measurements.remove(id); }
    /// Shows the placement that a measured run had.
    void showMeasuredPlacement(int id);
    void cancelLoading();
    /// Reads the files of the open network and machine anew; the placement is carried over by the names of
    /// ops and devices. Undoable.
    void reload();
    /// What a workspace file holds of the open network, without the view. Cheap: shares what is large.
    WorkspaceSnapshot snapshot() const;
    /// Opens a workspace file in place of all that is open; workspaceOpened() follows.
    void openWorkspace(const QString& file);
    /// Sets how the user is asked for a network or machine file that is no longer where the workspace says;
    /// an empty answer cancels.
    void setMissingQuestion(std::function<QString(const QString& missing)> ask) {
        m_askForMissing = std::move(ask);
    }
    /// Notes that the placement and the best ones of all runs in a snapshot have been saved. `score_s`:
    /// penalised objective value of the placement.
    void keep(const WorkspaceSnapshot& saved, double score_s);
    /// Goes on with a search that ended earlier, as a new run that takes its scores.
    void resumeRun(int id);
    /// Sets the question asked, on the window's thread, before another network replaces the open one; false
    /// keeps the open one.
    void setLeaveQuestion(std::function<bool()> mayLeave) { m_mayLeave = std::move(mayLeave); }

    /// Sets how questions are asked, on the window's thread; true if `options` now contain the answer, with
    /// which the file is read again.
    void setOpenQuestion(std::function<bool(const OpenQuestion& question, ReadOptions& options)> ask) {
        m_askToOpen = std::move(ask);
    }

    /// Starts a search; returns the run's id, or 0 with a message if it is proven that no placement fits the
    /// memory. From now on the screen follows the best of all running searches, unless it follows one alone.
    int startSearch(RunRequest request);
    /// As startSearch(), but after a change that is under way; not at all if that fails, is cancelled, or if
    /// another change, such as undo, comes first.
    void search(RunRequest request);
    bool isSearchWaiting() const { return m_waitingSearch.has_value(); }
    void dropWaitingSearch() { takeWaitingSearch(); }
    /// Lets the policy that ships with the program place a network that was just opened, as soon as it is
    /// known that a placement can fit. Does nothing where it cannot help: without its file, for other
    /// objectives, for too many groups, where all fits on the only GPU, and once the placement was edited.
    void placeAtOnce();
    void cancelRun(int id);
    void pauseRun(int id, bool paused);
    /// Stops and removes a run (undoable).
    void removeRun(int id);
    /// Names a run; an empty name restores that of its algorithm.
    void renameRun(int id, const QString& name);
    /// Takes a run out of all plots, or puts it back.
    void hideRun(int id, bool hidden);
    bool isHidden(const Run& run) const { return m_runs.isHidden(run); }
    RunStyle styleOf(const Run& run) const { return m_runs.styleOf(run); }
    /// Hides all runs but this one, or shows all if the others are hidden already.
    void showAlone(int id);
    /// Writes the state of a run, to resume it later, on another thread; a message reports the end.
    void saveSearch(int id, const QString& file);
    bool isSaving() const { return m_saveLane.busy(); }
    /// Resumes a search of the open scenario, saved here or by placewright-cli optimize --scores.
    /// `budget`: total budget, if the file has none.
    void resumeSearch(const QString& file, const Budget& budget);
    /// Whether the screen shows each improvement by this run: it does for all searches that are running,
    /// or for a pinned one alone, until an edit takes the screen back.
    bool follows(const Run& run) const {
        return m_followed.contains(run.id()) && (m_pinned == 0 || m_pinned == run.id());
    }
    /// Whether it follows any search that runs.
    bool isFollowing() const;
    /// Lets the screen follow the best of all running searches, again or in place of a pinned one.
    void followBest();
    /// Shows the best placement of a running search (undoable) and follows it alone until it ends; then the
    /// screen follows the best of all again.
    void followRun(int id);
    /// The run that the screen follows alone; nullptr for none.
    const Run* pinnedRun() const { return m_runs.find(m_pinned); }
    bool isSearching() const { return m_runs.isSearching(); }
    /// Whether a search runs that the user asked for.
    bool isOptimizing() const { return m_runs.isOptimizing(); }
    /// Whether nothing but placeAtOnce() has changed anything since the network was opened.
    bool isAsOpened() const;
    /// Shows a run's best placement (undoable), with the machine and the options of that run. A running one
    /// of the open scenario is followed, like followRun().
    void showRun(int id);
    void showPlacement(const Placement& placement, const QString& title);
    /// Rows for the runs of the open network; those with another machine or other options say so.
    std::vector<RunRow> runRows() const;
    /// The searches of the open network for its objective, for tables with the labels RunList::caseLabels().
    std::vector<ComparedCase> searchCases() const { return m_runs.cases(*m_scenario, bound()); }
    const std::vector<std::unique_ptr<Run>>& runs() const { return m_runs.all(); }
    /// Whether a run belongs to another machine or other options than those on screen.
    bool isElsewhere(const Run& run) const { return !sameScenario(*m_runs.scenarioOf(run), *m_scenario); }
    /// What panels say in place of results while all runs are elsewhere; empty if not.
    QString elsewhereText() const;
    /// The run whose placement is on screen, its best one or an earlier one; nullptr for any other placement.
    const Run* shownRun() const { return m_runs.find(m_shown); }

    /// Moves the groups of these ops (one undoable step). Groups that the device may not hold stay, with a
    /// message.
    void moveOps(const OpList& ops, DeviceId device);
    /// Requests the effect of moving the ops to each device; answered by previewReady().
    void requestPreview(const OpList& ops);
    void cancelPreview() { m_insights.cancelPreview(); }
    void setSelection(const OpList& ops);
    /// Sets whether to simulate all single moves of the placement: while no search runs, and again after each
    /// change.
    void setMovesWanted(bool wanted) { m_insights.setMovesWanted(wanted); }
    /// The simulated single moves; null until they are complete.
    const std::shared_ptr<const SingleMoves>& moves() const { return m_insights.moves(); }

    /// The current placement with its prediction, its origin and the network's file.
    PlacedNetwork placed() const;
    /// Writes the current placement. Throws InputError.
    void exportPlacement(const QString& file);
    /// Notes that the current placement has been saved.
    void keepPlacement();
    /// Whether the current placement was made here and is in no file.
    bool hasUnsavedPlacement() const;
    /// The penalised objective value of the placement on screen, in seconds. Simulates it right after a
    /// change.
    double screenScore_s() const;
    /// What would be lost if another network were opened now: the run whose best placement is unsaved, or 0
    /// for the current placement; nothing if nothing would be lost.
    std::optional<int> unsaved() const;
    /// Whether this score is better than those of all placements of the open scenario in files, on screen and
    /// of runs.
    bool isBestKnown(double score_s) const;

Q_SIGNALS:
    void loadingChanged();
    /// Another network or workspace replaces the open one, whose runs and undo history are gone;
    /// problemChanged follows.
    void replaced();
    void problemChanged();
    void networkOpened();   ///< another network was opened by itself, not in a workspace
    void machineChanged();  ///< the machine or the options changed, or a change of them was refused
    /// A machine or options were refused because rules cannot be obeyed with them: `count` rules must go, see
    /// dropBrokenRules().
    void rulesBroken(const QString& reason, std::size_t count);
    void sceneChanged();
    void placementChanged();  ///< the placement; timelineChanged follows
    void timelineChanged();
    void whyChanged();
    void remediesChanged();
    void longestContextChanged();
    void searchWaits(bool waits);  ///< a search waits for a change, or does so no longer
    void movesChanged();
    void movesProgressed(std::size_t done, std::size_t total);
    void measuredChanged();
    void tracesUnmatched(const QStringList& files, const QString& report);
    void measuringChanged();  ///< a benchmark or profile began, went on or ended
    void measuredPlacementsChanged();
    void planFound(const placewright::MeasurePlan& plan);
    void planFailed(const QString& error);
    void profileChanged();
    void boundChanged();  ///< the bound changed, or whether a tighter one is being searched for
    void selectionChanged();
    void runsChanged();
    void previewReady(const placewright::DropPreviews& previews);
    void valueWithoutFactorsChanged();
    void optionsPreviewed(const placewright::OptionsPreview& preview);
    void message(bool error, const QString& text);
    void workspaceOpened(const QString& file, const placewright::OpenedWorkspace& opened);
    void settled();  ///< some work ended; isBusy() may have changed

private:
    class ScreenCommand;
    class RemoveCommand;

    /// The state on screen.
    struct Screen {
        std::shared_ptr<const Scenario> scenario;
        Placement placement;
        std::shared_ptr<const Simulated> simulated;  ///< null: not simulated yet
        int run = 0;                                 ///< id of the run whose best placement it is; 0: none
    };

    /// The request under way, which the next one extends; empty if none.
    LoadRequest unfinished() const { return m_openLane.busy() ? m_loading : LoadRequest(); }
    /// The workspace that is being opened; empty if none.
    QString openingWorkspace() const { return m_openLane.busy() ? m_openingWorkspace : QString(); }
    void load(LoadRequest request);
    /// Handles the result of a request: adopts it, or asks.
    void receive(const LoadRequest& request, Reading reading);
    /// Asks the question and, after an answer, loads the request again.
    void ask(LoadRequest request, const OpenQuestion& question);
    void openPlacement(const LoadRequest& request, const Reading& reading);
    /// Makes a read scenario the open one: the machine without a network, another network, or the same one
    /// changed. False if the user keeps the open network.
    bool adopt(Reading reading, std::optional<DeviceId> whole);
    bool adoptNetwork(const Reading& reading);
    /// The search that waits, which then does so no longer.
    std::optional<RunRequest> takeWaitingSearch();
    void adoptWorkspace(const QString& file, RestoredWorkspace restored);
    /// Forgets all that belongs to the open network. Returns what to say of it.
    QString forget();
    /// Builds what the workspace describes; asks for a network or machine that is missing.
    void restore(const QString& file, Workspace workspace, const QByteArray& checksum);
    void adoptChange(const Reading& reading, std::optional<DeviceId> whole);
    /// Emits the non-empty notes as one message.
    void report(QStringList notes);
    /// Emits the note once what happens now is over, unless another report came: an undone step hides the
    /// messages before it.
    void reportLater(const QString& note);
    QString unmeasured() const;
    /// Says which measured runs are not of the step of another scenario; empty if all on screen are.
    QString otherStepText(const Scenario& next) const;
    QStringList readerNotes() const;
    /// Makes a scenario the open one, with this placement: cancels the runs and the work of the one before.
    void enter(std::shared_ptr<const Scenario> scenario, Placement placement);
    void setScreen(const Screen& screen);
    Screen screen() const;
    /// Changes the screen by an undoable command.
    void change(const QString& title, Screen screen);
    /// A change of the machine or of its factors that waits or is under way; relative to the one before it.
    struct MachineStep {
        QString title;
        std::shared_ptr<const Machine> base;  ///< without the factors
        WhatIf factors;
        std::vector<DeviceId> from;  ///< of a MachineEdit; empty: only the factors change
    };
    void addMachineStep(MachineStep step);
    /// What is asked for later wins over edits that are under way: they are dropped, and views go back.
    void dropMachineSteps();
    /// Carries out the first of the steps.
    void startMachineStep();
    void adoptMachine(const MachineStep& step, EditedScenario edited);
    /// Changes the screen by the command of the factors, which further factors improve.
    void changeWhatIf(Screen screen);
    void finishWhatIf();
    /// Writes the machine of an edited scenario to its file, in the background.
    void storeMachine(const std::shared_ptr<const Scenario>& scenario);
    /// Computes valueWithoutFactors() for what is on screen.
    void compareWithoutFactors();
    void startLayout(std::optional<ClosedScopes> closed);
    /// Stops searches that are proven to find no placement that fits.
    void endPointlessSearches();
    /// Shows the run's best placement if the run is followed and better than the screen.
    void follow(Run& run);
    /// A run has come further: shows it, together with what the others came to meanwhile, as often as a view
    /// is drawn.
    void progress(Run& run);
    void showProgress();
    /// Starts the searches that waited until the current placement was simulated: they are compared with it.
    void startWaiting();
    /// Stops following searches because of an edit, and says so if any runs.
    void stopFollowing();
    /// Writes the value of the objective after the last step, and the one before, into its text.
    void tellStep();
    void forgetFollowed();
    /// Follows all searches that run on the open scenario.
    void followAll();
    /// Shows the best placement of the followed runs, if it is better than the screen.
    void showBest();
    /// Whether the placement on screen is that of a run that nobody asked for.
    bool showsUnasked() const { return shownRun() != nullptr && shownRun()->request().unasked; }
    /// Handles the end of a run.
    void endOf(Run& run);
    /// Pauses what takes the cores from a measurement, and lets it go on.
    void holdOtherWork();
    void resumeOtherWork();
    /// Stops what is measured. Returns what to say of it; empty if nothing was.
    QString stopMeasuring();
    void addBenchmark(Measurement measurement);
    void addMeasuredPlacements(const std::vector<MeasuredPlacements::Each>& measured);
    void endBest(MeasuredPlacements::State state);
    void showFastest();

    std::shared_ptr<const Scenario> m_scenario;  ///< never null; without a network before one is open
    LoadRequest m_loading;                       ///< while m_openLane is busy
    QString m_openingWorkspace;                  ///< while m_openLane is busy; empty: none
    std::optional<LoadRequest> m_withoutBroken;  ///< of dropBrokenRules()
    std::shared_ptr<const GraphScene> m_scene;
    LayoutRoom m_room{LayoutRoom::Direction::right, 1.6};
    std::optional<ClosedScopes> m_closed;  ///< closed modules of the latest requested layout; nothing before
                                           ///< the first one of a network
    Placement m_placement;
    KeptPlacements m_kept;
    std::function<bool()> m_mayLeave;
    std::function<QString(const QString&)> m_askForMissing;
    std::function<bool(const OpenQuestion&, ReadOptions&)> m_askToOpen;
    OpList m_selection;
    QUndoStack m_undo;

    RunList m_runs;
    bool m_placesAtOnce = false;                ///< placeAtOnce() waits for the bound
    std::optional<RunRequest> m_waitingSearch;  ///< starts after the change that is under way
    std::vector<int> m_waiting;                 ///< ids of the runs that startWaiting() will start
    /// Ids of the runs that improve the screen, also of those that have ended while others run.
    std::set<int> m_followed;
    int m_pinned = 0;                   ///< id of the only one of them that does; 0: all do
    int m_pinnedBefore = 0;             ///< the same when the workspace was saved
    bool m_isImproving = false;         ///< a followed run changes the screen, which is no edit
    ScreenCommand* m_search = nullptr;  ///< command of the followed runs, once one has improved the screen
    QString m_later;                    ///< note of reportLater(); empty: none
    int m_shown = 0;                    ///< id of the run whose placement is on screen
    QTimer m_pace;                      ///< while it runs, nothing that searches come to is shown
    std::set<int> m_progressed;         ///< ids of the runs whose progress waits to be shown
    bool m_whyWaits = false;            ///< so does why()

    std::deque<MachineStep> m_machineSteps;
    ScreenCommand* m_whatIf = nullptr;  ///< command that further factors improve
    bool m_adoptsMachine = false;       ///< the steps follow the scenario that is being entered
    bool m_machineStops = false;        ///< whether the steps have stopped searches
    bool m_whatIfEnds = false;          ///< none do once the steps are done
    std::optional<double> m_valueWithoutFactors;

    Insights m_insights;
    Measurements m_measurements;
    Measuring m_measuring;
    std::optional<ProfileReport> m_profiled;
    std::shared_ptr<const MeasuredPlacements> m_best;       ///< null before the first
    std::shared_ptr<const Scenario> m_bestScenario;         ///< of m_best
    std::shared_ptr<const MeasuredPlacements> m_bestSaved;  ///< as they are in a file; null: in none
    quint64 m_bestRevision = 0;                             ///< counts changes of m_best
    Placement m_bestScreen;  ///< what was on screen when they began to be measured
    PlacementRunner m_runner;
    QString m_profileFailure;
    std::shared_ptr<const Scenario> m_benchmarked;  ///< of the benchmark that runs, or ran last
    QString m_measured;                             ///< name of the network of what is measured, or was last
    std::function<QString()> m_otherWork;
    int m_benchmarks = 0;     ///< of the open network
    std::vector<int> m_held;  ///< ids of the searches that go on when a measurement ends
    bool m_proofWanted = true, m_proofHeld = false;

    Background::Lane m_openLane, m_layoutLane, m_optionsLane, m_saveLane, m_resumeLane, m_traceLane,
        m_machineLane, m_factorsLane, m_storeLane;
    Background m_background{4};  ///< last: its destructor waits for the work in the lanes and in m_insights
};

}  // namespace placewright
