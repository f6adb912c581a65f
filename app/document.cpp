// SPDX-License-Identifier: MIT
#include "app/document.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

#include <QFileInfo>
#include <QUndoCommand>

#include "core/algorithms.hpp"
#include "core/io/input_error.hpp"
#include "widgets/quantities.hpp"

namespace placewright {
namespace {

constexpr auto kDefaultMachine = "4x-v100-nvlink";

std::shared_ptr<const TimelineData> simulateTraced(const Job& job, const Placement& placement) {
    Simulator simulator(job.problem, job.simulation);
    Trace trace;
    const Outcome outcome = simulator.run(placement, trace);
    return TimelineData::build(job.problem, std::move(trace), outcome);
}

std::vector<GroupId> groupsOf(const Problem& problem, const OpList& ops) {
    std::vector<GroupId> groups;
    for (const OpId op : ops) groups.push_back(problem.grouping.group_of[op]);
    std::ranges::sort(groups);
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    return groups;
}

/// Tells problems apart for which placements and step times do not mean the same.
std::size_t fingerprint(const Problem& problem) {
    std::size_t hash = 0;
    const auto add = [&hash](const auto& values) {
        const std::string_view bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
        hash = hash * 31 + std::hash<std::string_view>()(bytes);
    };
    for (const Op& op : problem.graph->ops()) add(op.name);
    add(problem.grouping.group_of);
    add(problem.op_time_s);
    add(problem.transfer_s);
    add(problem.allowed);
    return hash;
}

/// The placement on another machine, device by device of the same name; empty if some are not there or may not hold their groups.
Placement carried(const Placement& placement, const Problem& from, const Problem& to) {
    if (from.grouping.group_of != to.grouping.group_of) return {};
    Placement result;
    for (GroupId group = 0; group < placement.size(); ++group) {
        const auto device = to.machine->find(from.machine->device(placement[group]).name);
        if (!device || !std::ranges::binary_search(to.allowed_devices(group), *device)) return {};
        result.push_back(*device);
    }
    return result;
}

bool mayHold(const Problem& problem, GroupId group, DeviceId device) {
    return std::ranges::binary_search(problem.allowed_devices(group), device);
}

}  // namespace

/// Swaps the placement on screen. The timeline of the state that is left is kept, so that undo shows it at once.
class Document::PlacementCommand : public QUndoCommand {
public:
    struct State {
        Placement placement;
        std::shared_ptr<const TimelineData> timeline;
        int shownRun = 0;
    };

    PlacementCommand(Document& document, const QString& text, State before, State after)
        : QUndoCommand(text), m_document(document), m_before(std::move(before)), m_after(std::move(after)) {}

    void undo() override { change(m_after, m_before); }
    void redo() override { change(m_before, m_after); }

    const std::shared_ptr<const TimelineData>& timelineBefore() const { return m_before.timeline; }

    /// Goes on to a better state without a step of its own.
    void improve(State after) {
        m_after = std::move(after);
        m_document.setPlacement(m_after.placement, m_after.timeline, m_after.shownRun);
    }

private:
    void change(State& from, const State& to) {
        if (m_document.m_placement == from.placement && !m_document.m_simulateLane.busy()) from.timeline = m_document.m_timeline;
        m_document.stopFollowing();
        m_document.setPlacement(to.placement, to.timeline, to.shownRun);
    }

    Document& m_document;
    State m_before, m_after;
};

Document::Document(QObject* parent) : QObject(parent), m_machineFile(QString::fromLatin1(kDefaultMachine)) {
    // Each step keeps the timeline that it left.
    m_undo.setUndoLimit(200);
    connect(&m_background, &Background::settled, this, &Document::settled);
}

Document::~Document() {
    // No signal of a dying part may reach a half-destroyed document.
    m_background.disconnect(this);
    for (const auto& run : m_runs) run->disconnect(this);
    for (Background::Lane* lane : {&m_openLane, &m_layoutLane, &m_simulateLane, &m_previewLane, &m_boundLane}) lane->cancel();
}

std::optional<double> Document::stepTimeBefore() const {
    const auto* last = dynamic_cast<const PlacementCommand*>(m_undo.command(m_undo.index() - 1));
    if (last == nullptr || !last->timelineBefore()) return {};
    return last->timelineBefore()->outcome.step_time_s;
}

std::vector<DeviceId> Document::deviceOfOps() const {
    std::vector<DeviceId> devices;
    if (!isOpen()) return devices;
    devices.reserve(problem()->ops);
    for (const GroupId group : problem()->grouping.group_of) devices.push_back(m_placement[group]);
    return devices;
}

bool Document::isBusy() const {
    return isLoading() || m_simulateLane.busy() || m_previewLane.busy() || m_boundLane.busy() || isSearching();
}

void Document::openNetwork(const QString& network) {
    load({network, m_openLane.busy() ? m_loading.machine : m_machineFile, true});
}

void Document::openFile(const QString& file) {
    load({file, m_openLane.busy() ? m_loading.machine : m_machineFile, false});
}

void Document::setMachine(const QString& machine) {
    Request request = m_openLane.busy() ? m_loading : Request();
    request.machine = machine;
    load(std::move(request));
}

Document::Reading Document::read(const Request& request, const QString& networkFile, const Job& job) {
    const std::shared_ptr<const Problem>& open = job.problem;
    Reading reading{{}, {}, networkFile, request.machine};
    FileContent content = FileContent::network;
    if (request.file.isEmpty()) {
        content = FileContent::machine;
    } else if (!request.isNetwork) {
        content = file_content(find_network_file(request.file.toStdString()));
        if (content == FileContent::machine) reading.machineFile = request.file;
    }
    if (content == FileContent::placement && open) {
        reading.placement = read_placement(request.file.toStdString(), *open);
    } else if (content == FileContent::machine) {
        auto machine = std::make_shared<const Machine>(read_machine(find_machine_file(reading.machineFile.toStdString())));
        if (job.own_machine) {
            throw InputError(reading.machineFile.toStdString(), "",
                             "not used: " + networkFile.toStdString() + " is a workload with a machine and times of its own");
        }
        if (open) reading.job = make_job(open->forward, std::move(machine), {});
    } else {
        reading.networkFile = request.file;
        reading.job = load_job(request.file.toStdString(), request.machine.toStdString(), {});
    }
    return reading;
}

void Document::load(Request request) {
    m_background.run(
        m_openLane, [request, networkFile = m_networkFile, job = m_job](std::stop_token) { return read(request, networkFile, job); },
        [this, file = request.file](Reading reading) {
            if (reading.job) {
                adopt(std::move(*reading.job), reading.networkFile, reading.machineFile);
                return;
            }
            Q_EMIT loadingChanged();
            if (reading.placement) {
                showPlacement(*reading.placement, tr("Open %1").arg(QFileInfo(file).fileName()));
            } else {
                m_machineFile = reading.machineFile;
            }
            Q_EMIT machineChanged();
        },
        [this](const QString& error) {
            Q_EMIT loadingChanged();
            Q_EMIT machineChanged();  // whoever shows the machine goes back to the one in use
            Q_EMIT message(true, error);
        });
    m_loading = std::move(request);
    Q_EMIT loadingChanged();
}

void Document::cancelLoading() {
    m_openLane.cancel();
    m_layoutLane.cancel();
    Q_EMIT loadingChanged();
    Q_EMIT machineChanged();
    Q_EMIT settled();
}

void Document::adopt(Job job, const QString& networkFile, const QString& machineFile) {
    for (const auto& run : m_runs) run->cancel();
    stopFollowing();
    m_previewLane.cancel();
    const bool sameGraph = isOpen() && problem()->forward == job.problem->forward;
    Placement placement = sameGraph ? carried(m_placement, *problem(), *job.problem) : Placement();
    m_job = std::move(job);
    m_networkFile = networkFile;
    m_machineFile = machineFile;
    m_runsKey = networkFile + QLatin1Char('\n') + machineFile + QLatin1Char('\n') + QString::number(fingerprint(*problem()));
    m_undo.clear();
    m_bound.reset();
    if (!sameGraph) m_selection.clear();
    m_scene.reset();
    m_placement = placement.empty() ? m_job.single_device : std::move(placement);
    m_timeline.reset();
    Q_EMIT problemChanged();
    Q_EMIT selectionChanged();
    setPlacement(m_placement, nullptr, 0);

    m_background.run(
        m_boundLane, [job = m_job](std::stop_token) { return tightest_bound(job); },
        [this](Bound bound) {
            m_bound = std::move(bound);
            Q_EMIT boundChanged();
            Q_EMIT runsChanged();
        },
        [this](const QString& error) { Q_EMIT message(true, error); });
    m_background.run(
        m_layoutLane, [problem = problem()](std::stop_token stop) { return buildGraphScene(*problem, stop); },
        [this](std::shared_ptr<const GraphScene> scene) {
            m_scene = std::move(scene);
            Q_EMIT loadingChanged();
            Q_EMIT sceneChanged();
        },
        [this](const QString& error) {
            Q_EMIT loadingChanged();
            Q_EMIT message(true, error);
        });
    Q_EMIT loadingChanged();
    Q_EMIT runsChanged();
}

void Document::setPlacement(Placement placement, std::shared_ptr<const TimelineData> timeline, int shownRun) {
    m_placement = std::move(placement);
    m_shown = shownRun;
    Q_EMIT placementChanged();
    Q_EMIT runsChanged();
    if (timeline) {
        m_simulateLane.cancel();
        m_timeline = std::move(timeline);
        Q_EMIT timelineChanged();
        return;
    }
    m_background.run(
        m_simulateLane, [job = m_job, now = m_placement](std::stop_token) { return simulateTraced(job, now); },
        [this](std::shared_ptr<const TimelineData> data) {
            m_timeline = std::move(data);
            Q_EMIT timelineChanged();
        },
        [this](const QString& error) { Q_EMIT message(true, error); });
}

int Document::startSearch(RunRequest request) {
    if (!isOpen()) return 0;
    stopFollowing();
    if (!m_timeline || m_simulateLane.busy()) {
        // Right after a change: the search is compared with what the placement takes now, not with what was there before.
        setPlacement(m_placement, simulateTraced(m_job, m_placement), m_shown);
    }
    request.starts.push_back(m_placement);
    auto run = std::make_unique<Run>(m_nextRun++, m_job, std::move(request));
    Run* started = run.get();
    started->setObjectName(m_runsKey);
    connect(started, &Run::progressed, this, [this, started] {
        follow(*started);
        Q_EMIT runsChanged();
    });
    connect(started, &Run::ended, this, [this, started] { endOf(*started); });
    m_runs.push_back(std::move(run));
    m_followed = started->id();
    started->start();
    Q_EMIT runsChanged();
    return started->id();
}

void Document::follow(Run& run) {
    if (run.id() != m_followed || !run.timeline()) return;
    const Machine& machine = *problem()->machine;
    const Score found = m_job.objective.score(machine, run.timeline()->outcome);
    const Score shown = m_job.objective.score(machine, m_timeline->outcome);
    if (found.seconds >= shown.seconds) return;
    PlacementCommand::State better{*run.timelinePlacement(), run.timeline(), run.id()};
    if (m_search != nullptr) {
        m_search->improve(std::move(better));
        return;
    }
    auto* command =
        new PlacementCommand(*this, tr("Optimize with %1").arg(runTitle(run)), {m_placement, m_timeline, m_shown}, std::move(better));
    m_undo.push(command);
    // Like any command this one took the screen back from the search.
    m_followed = run.id();
    m_search = command;
}

void Document::endOf(Run& run) {
    if (run.state() == Run::State::failed) Q_EMIT message(true, tr("%1 failed: %2").arg(runTitle(run), run.failure()));
    if (run.id() == m_followed) stopFollowing();
    Q_EMIT runsChanged();
    Q_EMIT settled();
}

void Document::stopFollowing() {
    m_followed = 0;
    m_search = nullptr;
}

void Document::change(const QString& title, Placement placement, std::shared_ptr<const TimelineData> timeline, int shownRun) {
    // Whoever edits takes the screen back from a running search; what the search had reached stays a step of its own.
    stopFollowing();
    if (placement == m_placement) return;
    m_undo.push(new PlacementCommand(*this, title, {m_placement, nullptr, m_shown}, {std::move(placement), std::move(timeline), shownRun}));
}

Run* Document::findRun(int id) const {
    const auto found = std::ranges::find_if(m_runs, [&](const auto& run) { return run->id() == id; });
    return found == m_runs.end() ? nullptr : found->get();
}

Run* Document::followedRun() const {
    return findRun(m_followed);
}
const Run* Document::shownRun() const {
    return findRun(m_shown);
}

bool Document::isSearching() const {
    return std::ranges::any_of(m_runs, [](const auto& run) { return run->state() == Run::State::running; });
}

void Document::cancelRun(int id) {
    if (Run* run = findRun(id)) run->cancel();
}

void Document::removeRun(int id) {
    const auto found = std::ranges::find_if(m_runs, [&](const auto& run) { return run->id() == id; });
    if (found == m_runs.end()) return;
    if (m_followed == id) stopFollowing();
    if (m_shown == id) m_shown = 0;
    (*found)->disconnect(this);
    m_runs.erase(found);
    Q_EMIT runsChanged();
    Q_EMIT settled();
}

void Document::showRun(int id) {
    const Run* run = findRun(id);
    if (run == nullptr || !run->progress().best_placement || run->objectName() != m_runsKey) return;
    const Placement& best = *run->progress().best_placement;
    const auto timeline = run->timelinePlacement() == run->progress().best_placement ? run->timeline() : nullptr;
    change(tr("Show %1").arg(runTitle(*run)), best, timeline, id);
}

void Document::showPlacement(const Placement& placement, const QString& title) {
    if (isOpen()) change(title, placement, nullptr, 0);
}

QString Document::runTitle(const Run& run) const {
    const AlgorithmInfo* algorithm = find_algorithm(run.request().algorithm);
    return tr("%1 #%2").arg(QString::fromStdString(algorithm != nullptr ? algorithm->title : run.request().algorithm)).arg(run.id());
}

std::vector<RunRow> Document::runRows() const {
    std::vector<RunRow> rows;
    for (const auto& run : m_runs) {
        if (run->objectName() != m_runsKey) continue;
        const SearchProgress& progress = run->progress();
        RunRow row;
        row.id = run->id();
        row.title = runTitle(*run);
        row.options = tr("%1, seed %2").arg(QString::fromStdString(run->request().algorithm)).arg(run->request().seed);
        for (const auto& [name, value] : run->request().options) {
            row.options += QLatin1Char('\n') + QString::fromStdString(name + " = " + to_string(value));
        }
        row.state = static_cast<RunRow::State>(run->state());
        row.failure = run->failure();
        if (progress.best_placement) {
            row.step_time_s = progress.best.step_time_s;
            row.fits = progress.best.fits;
            row.speedup = m_job.single_device_s / progress.best.step_time_s;
            if (m_bound && m_bound->value_s > 0 && std::isfinite(m_bound->value_s))
                row.gap = progress.best.step_time_s / m_bound->value_s - 1;
        }
        row.evaluations = progress.evaluations;
        row.budget = run->request().budget.evaluations;
        row.seconds = progress.elapsed_s;
        row.shown = run->id() == m_shown;
        rows.push_back(std::move(row));
    }
    return rows;
}

void Document::moveOps(const OpList& ops, DeviceId device) {
    if (!isOpen() || ops.empty() || device >= problem()->devices) return;
    Placement moved = m_placement;
    std::size_t refused = 0;
    for (const GroupId group : groupsOf(*problem(), ops)) {
        if (mayHold(*problem(), group, device)) {
            moved[group] = device;
        } else {
            ++refused;
        }
    }
    const QString name = QString::fromStdString(problem()->machine->device(device).name);
    if (refused > 0) {
        Q_EMIT message(true, tr("%1 may not run on %2 and stay where they are; the network file says which devices an op allows.")
                                 .arg(opsText(refused), name));
    }
    const QString what = ops.size() == 1 ? QString::fromStdString(problem()->graph->op(ops.front()).name) : opsText(ops.size());
    change(tr("Move %1 to %2").arg(what, name), std::move(moved), nullptr, 0);
}

void Document::requestPreview(const OpList& ops) {
    if (!isOpen()) return;
    m_background.run(
        m_previewLane,
        [job = m_job, placement = m_placement, groups = groupsOf(*problem(), ops)](std::stop_token stop) {
            const Problem& problem = *job.problem;
            Simulator simulator(job.problem, job.simulation);
            const double now = simulator.run(placement).step_time_s;
            DropPreviews previews(problem.devices);
            for (DeviceId device = 0; device < problem.devices && !stop.stop_requested(); ++device) {
                if (!std::ranges::all_of(groups, [&](GroupId group) { return mayHold(problem, group, device); })) continue;
                Placement moved = placement;
                for (const GroupId group : groups) moved[group] = device;
                const Outcome& outcome = simulator.run(moved);
                previews[device] = {true, outcome.fits, outcome.step_time_s, outcome.step_time_s - now};
            }
            return previews;
        },
        [this](const DropPreviews& previews) { Q_EMIT previewReady(previews); },
        [this](const QString& error) { Q_EMIT message(true, error); });
}

void Document::setSelection(const OpList& ops) {
    if (ops == m_selection) return;
    m_selection = ops;
    Q_EMIT selectionChanged();
}

void Document::exportPlacement(const QString& file) const {
    Simulator simulator(m_job.problem, m_job.simulation);
    const bool current = m_timeline && !m_simulateLane.busy();
    const Outcome& outcome = current ? m_timeline->outcome : simulator.run(m_placement);
    PlacementFile about;
    about.predicted = prediction(m_job, outcome, m_bound ? m_bound->value_s : 0);
    if (const Run* run = shownRun()) {
        about.produced_by = {run->request().algorithm, run->request().seed, run->progress().evaluations, run->request().options};
    }
    write_placement(m_placement, *problem(), about, file.toStdString());
}

}  // namespace placewright
