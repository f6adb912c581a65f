// SPDX-License-Identifier: MIT
#include "app/document.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>

#include <QFileInfo>
#include <QUndoCommand>

#include "app/option_text.hpp"
#include "app/proof.hpp"
#include "app/saved_search.hpp"
#include "app/training_run.hpp"
#include "app/unmeasured.hpp"
#include "core/algorithms.hpp"
#include "core/io/input_error.hpp"
#include "core/io/readers.hpp"
#include "core/io/score_file.hpp"
#include "core/io/split_points.hpp"
#include "core/io/torchscript.hpp"
#include "widgets/quantities.hpp"

namespace placewright {
namespace {

constexpr auto kDefaultMachine = "4x-v100-nvlink";

/// With so few, searches have hardly begun with what they build, and portfolios not at all.
constexpr std::uint64_t kFewEvaluations = 100;

std::vector<GroupId> groupsOf(const Problem& problem, const OpList& ops) {
    std::vector<GroupId> groups;
    for (const OpId op : ops) groups.push_back(problem.grouping.group_of[op]);
    std::ranges::sort(groups);
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    return groups;
}

bool mayHold(const Problem& problem, GroupId group, DeviceId device) {
    return std::ranges::binary_search(problem.allowed_devices(group), device);
}

/// Tells bytes apart.
class Fingerprint {
public:
    template <class Values>
    void add(const Values& values) {
        const std::string_view bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
        m_hash = m_hash * 31 + std::hash<std::string_view>()(bytes);
    }
    std::size_t value() const { return m_hash; }

private:
    std::size_t m_hash = 0;
};

std::size_t graphFingerprint(const Graph& graph) {
    Fingerprint print;
    for (const Op& op : graph.ops()) {
        print.add(op.name);
        print.add(std::array{op.flops, static_cast<double>(op.parameter_bytes)});
    }
    return print.value();
}

bool sameScenario(const Scenario& a, const Scenario& b) {
    return a.networkFile == b.networkFile && a.machineFile == b.machineFile && a.options == b.options && a.fingerprint == b.fingerprint;
}

/// Of another batch size, or with other files beside it, the graph differs although the file is the same.
bool sameNetwork(const Scenario& a, const Scenario& b) {
    return a.networkFile == b.networkFile && (a.graphFingerprint == b.graphFingerprint || a.options.reading != b.options.reading ||
                                              a.options.supplements != b.options.supplements);
}

struct Carried {
    Placement placement;
    std::size_t moved = 0;  ///< ops of the network that are elsewhere now: with most of their group
};

/// The placement in another problem, by the names of ops and devices: a group goes where most of its ops were, of equally many the first;
/// what is new is placed as in `fallback`. Nothing if a device is not there, or none may hold its ops.
std::optional<Carried> carried(const Placement& placement, const Problem& from, const Problem& to, const Placement& fallback) {
    Carried result{fallback, 0};
    std::vector<std::size_t> ops_on(to.devices);
    for (GroupId group = 0; group < to.groups; ++group) {
        std::ranges::fill(ops_on, 0);
        std::vector<DeviceId> devices;  // in the order of the ops
        std::vector<DeviceId> own;      // the same, of ops that are not derived from others
        for (const OpId member : to.grouping.members[group]) {
            const Op& op = to.graph->op(member);
            const auto before = from.graph->find(op.name);
            if (!before) continue;
            const auto device = to.machine->find(from.machine->device(placement[from.grouping.group_of[*before]]).name);
            if (!device) return {};
            ++ops_on[*device];
            if (op.forward_op == kInvalidOp) own.push_back(*device);
            if (mayHold(to, group, *device)) devices.push_back(*device);
        }
        if (std::ranges::all_of(ops_on, [](std::size_t ops) { return ops == 0; })) continue;
        if (devices.empty()) return {};
        const DeviceId most = *std::ranges::max_element(devices, {}, [&](DeviceId device) { return ops_on[device]; });
        result.placement[group] = most;
        result.moved += own.size() - static_cast<std::size_t>(std::ranges::count(own, most));
    }
    return result;
}

double scoreOf(const Job& job, const Placement& placement) {
    return assess(job, placement, Simulator(job.problem, job.simulation).run(placement)).score.seconds;
}

/// What tells the first scenario from the second.
QString differenceText(const Scenario& of, const Scenario& from) {
    QStringList parts;
    if (of.machineFile != from.machineFile) parts << QString::fromStdString(of.job.machine->name());
    if (of.options != from.options) {
        const QStringList options = changedOptions(of.options);
        parts << (options.isEmpty() ? Document::tr("default options") : options.join(QStringLiteral(" · ")));
    }
    return parts.isEmpty() ? Document::tr("an earlier version") : parts.join(QStringLiteral(" · "));
}

}  // namespace

/// Swaps what is on screen. The simulation of the state that is left is kept, so that undo shows it at once.
class Document::ScreenCommand : public QUndoCommand {
public:
    ScreenCommand(Document& document, const QString& text, Screen before, Screen after)
        : QUndoCommand(text), m_document(document), m_before(std::move(before)), m_after(std::move(after)) {}

    void undo() override { change(m_after, m_before); }
    void redo() override { change(m_before, m_after); }

    const std::shared_ptr<const Simulated>& simulatedBefore() const { return m_before.simulated; }
    /// Whether what was before says nothing of what is better.
    bool changesMeasure() const {
        const Job &before = m_before.scenario->job, &after = m_after.scenario->job;
        return before.machine != after.machine || before.goal != after.goal;
    }

    /// Goes on to a better state without a step of its own.
    void improve(Screen after) {
        m_after = std::move(after);
        m_document.setScreen(m_after);
    }

private:
    void change(Screen& from, const Screen& to) {
        if (m_document.m_placement == from.placement && !m_document.m_simulateLane.busy()) from.simulated = m_document.m_simulated;
        m_document.stopFollowing();
        m_document.setScreen(to);
    }

    Document& m_document;
    Screen m_before, m_after;
};

Document::Document(QObject* parent) : QObject(parent) {
    Scenario first;
    first.machineFile = QString::fromLatin1(kDefaultMachine);
    m_scenario = std::make_shared<const Scenario>(std::move(first));
    // Each step keeps the simulation that it left.
    m_undo.setUndoLimit(200);
    for (const Background* background : {&m_background, &m_prover}) connect(background, &Background::settled, this, &Document::settled);
}

Document::~Document() {
    // No signal of a dying part may reach a half-destroyed document.
    m_background.disconnect(this);
    m_prover.disconnect(this);
    for (const auto& run : m_runs) run->disconnect(this);
    for (Background::Lane* lane : {&m_openLane, &m_layoutLane, &m_simulateLane, &m_whyLane, &m_movesLane, &m_prepareLane, &m_previewLane,
                                   &m_optionsLane, &m_boundLane, &m_proofLane, &m_resumeLane})
        lane->cancel();
}

const std::shared_ptr<const TimelineData>& Document::timeline() const {
    static const std::shared_ptr<const TimelineData> none;
    return m_simulated ? m_simulated->timeline : none;
}

std::optional<double> Document::valueBefore() const {
    const auto* last = dynamic_cast<const ScreenCommand*>(m_undo.command(m_undo.index() - 1));
    if (last == nullptr || !last->simulatedBefore() || last->changesMeasure()) return {};
    const Assessment& before = last->simulatedBefore()->assessment;
    return before.is_defined() ? std::optional(before.score.step_time_s) : std::nullopt;
}

std::vector<DeviceId> Document::deviceOfOps() const {
    std::vector<DeviceId> devices;
    if (!isOpen()) return devices;
    devices.reserve(problem()->ops);
    for (const GroupId group : problem()->grouping.group_of) devices.push_back(m_placement[group]);
    return devices;
}

bool Document::isBusy() const {
    return isLoading() || m_simulateLane.busy() || m_whyLane.busy() || m_movesLane.busy() || m_prepareLane.busy() || m_previewLane.busy() ||
           m_optionsLane.busy() || m_boundLane.busy() || m_saveLane.busy() || m_resumeLane.busy() || isSearching();
}

void Document::openNetwork(const QString& network) {
    Request request = unfinished();
    request.file = network;
    request.isNetwork = true;
    request.reading = {};
    load(std::move(request));
}

void Document::openFile(const QString& file) {
    Request request = unfinished();
    request.file = file;
    request.isNetwork = false;
    request.reading = {};
    load(std::move(request));
}

void Document::setMachine(const QString& machine) {
    Request request = unfinished();
    request.machine = machine;
    load(std::move(request));
}

void Document::setOptions(const JobOptions& options) {
    if (!m_openLane.busy() && options == this->options()) return;
    Request request = unfinished();
    request.options = options;
    load(std::move(request));
}

/// A model that leaves the batch size open is opened with this one until another is chosen.
NetworkFile Document::readNetwork(const Path& file, ReadOptions& options) {
    constexpr std::int64_t kBatch = 32;
    try {
        return read_network(file, options);
    } catch (const BatchNeeded&) {
        options.batch = kBatch;
        return read_network(file, options);
    }
}

Scenario Document::changed(const Request& request, const Scenario& open, const std::stop_token& stop) {
    Scenario next = open;
    next.options = request.options.value_or(open.options);
    next.groupingAsked = open.groupingAsked || next.options.problem.grouping != open.options.problem.grouping;
    std::shared_ptr<const Machine> machine = open.job.machine;
    if (!request.machine.isEmpty()) {
        machine = std::make_shared<const Machine>(read_machine(find_machine_file(request.machine.toStdString())));
        next.machineFile = request.machine;
        if (open.job.own_machine) {
            throw InputError(request.machine.toStdString(), "",
                             "not used: " + open.networkFile.toStdString() + " is a workload with a machine and times of its own");
        }
    }
    std::shared_ptr<const Graph> graph = open.job.problem->forward;
    std::vector<NetworkFile::Estimated> estimated = open.job.estimated;
    // Times stay those of the models that they were taken on when the machine changes.
    if (next.options.reading != open.options.reading || next.options.supplements != open.options.supplements) {
        NetworkFile network = readNetwork(open.networkPath, next.options.reading);
        try {
            next.notes = supplement(network, next.options.supplements, *machine, stop);
        } catch (const ModelNeeded& error) {
            throw std::runtime_error(tr("%1; choose beside it what it was measured on").arg(QString::fromUtf8(error.what())).toStdString());
        }
        graph = std::make_shared<const Graph>(std::move(network.graph));
        estimated = std::move(network.estimated);
    }
    JobOptions used = next.options;
    if (open.job.own_machine) used.problem.cost.model = find_cost_model("measured");
    next.job = make_job(std::move(graph), std::move(machine), used);
    next.job.own_machine = open.job.own_machine;
    next.job.batch_is_open = open.job.batch_is_open;
    next.job.estimated = std::move(estimated);
    next.fingerprint = problem_fingerprint(*next.job.problem);
    next.graphFingerprint = graphFingerprint(*next.job.problem->forward);
    return next;
}

Document::Reading Document::read(const Request& request, const Scenario& open, const std::stop_token& stop) {
    const bool isOpen = open.job.problem != nullptr;
    Request wanted = request;
    if (!wanted.file.isEmpty() && !wanted.isNetwork) {
        const FileContent content = file_content(find_network_file(wanted.file.toStdString()));
        if (content == FileContent::placement) {
            if (!isOpen) throw InputError(wanted.file.toStdString(), "", "is a placement: open the network that it is for, then this file");
            Reading reading{nullptr, true, {}, {}};
            const Path file = wanted.file.toStdString();
            if (open.groupingAsked || open.options.problem.grouping == GroupingOptions()) {
                reading.placement = read_placement(file, *open.job.problem, &reading.notes);
                return reading;
            }
            // Nobody has asked for the groups: a placement that takes them apart counts for more.
            try {
                reading.placement = read_placement(file, *open.job.problem, &reading.notes);
            } catch (const InputError&) {
                Request ungrouped;
                ungrouped.options = open.options;
                ungrouped.options->problem.grouping = {};
                auto scenario = std::make_shared<const Scenario>(changed(ungrouped, open, stop));
                reading.notes.clear();
                reading.placement = read_placement(file, *scenario->job.problem, &reading.notes);
                reading.notes.insert(reading.notes.begin(), "takes groups apart, so that all ops move one by one now");
                reading.scenario = std::move(scenario);
            }
            return reading;
        }
        if (content == FileContent::trace)
            throw InputError(wanted.file.toStdString(), "",
                             "is a trace of a run, which has a window of its own: open it from the File menu");
        if (content == FileContent::unknown) {
            const JsonFile json(wanted.file.toStdString());
            const Json root = json.parse();
            refuse_split_points(json, JsonValue(json, root));
        }
        if (content == FileContent::machine) wanted.machine = std::exchange(wanted.file, QString());
    }
    if (wanted.file.isEmpty() && isOpen) return {std::make_shared<const Scenario>(changed(wanted, open, stop)), true, {}};

    Scenario next;
    next.networkFile = wanted.file;
    next.machineFile = wanted.machine.isEmpty() ? open.machineFile : wanted.machine;
    next.options = wanted.options.value_or(open.options);
    next.options.reading = wanted.reading;
    if (!next.options.supplements.times.empty()) next.options.problem.cost.model = ProblemOptions().cost.model;
    next.options.supplements = {};
    if (wanted.file.isEmpty()) {
        read_machine(find_machine_file(next.machineFile.toStdString()));
        return {std::make_shared<const Scenario>(std::move(next)), false, {}};
    }
    next.networkPath = find_network_file(wanted.file.toStdString());
    NetworkFile network;
    try {
        network = readNetwork(next.networkPath, next.options.reading);
    } catch (const ScriptInputError& error) {
        if (error.remedy() == ScriptError::Remedy::none) throw;
        using enum OpenQuestion::Kind;
        const auto kind = error.remedy() == ScriptError::Remedy::run ? mayRun : inputs;
        const QString reason = QString::fromStdString(error.reason());
        const QString told = error.place().empty() ? tr("The model %1.").arg(reason)
                                                   : tr("Reading stops at %1: %2.").arg(QString::fromStdString(error.place()), reason);
        return {nullptr, false, {}, {}, OpenQuestion{wanted.file, kind, told, {}, error.proposal()}};
    } catch (const ExtentNeeded& error) {
        const QString extent = QString::fromStdString(error.extent());
        return {nullptr,
                false,
                {},
                {},
                OpenQuestion{wanted.file, OpenQuestion::Kind::extent, tr("The model leaves \"%1\" open.").arg(extent), extent}};
    }
    GroupingOptions& grouping = next.options.problem.grouping;
    next.groupingAsked = open.groupingAsked || (wanted.options && grouping != open.options.problem.grouping);
    if (!next.groupingAsked) grouping = default_grouping(network.graph);
    try {
        next.job = load_job(next.networkPath, std::move(network), next.machineFile.toStdString(), next.options);
    } catch (const std::exception& error) {
        const QStringList options = changedOptions(next.options);
        if (options.isEmpty()) throw;
        throw std::runtime_error(std::string(error.what()) + "; the options in use are " +
                                 options.join(QStringLiteral(", ")).toStdString());
    }
    next.fingerprint = problem_fingerprint(*next.job.problem);
    next.graphFingerprint = graphFingerprint(*next.job.problem->forward);
    return {std::make_shared<const Scenario>(std::move(next)), false, {}};
}

void Document::load(Request request) {
    m_background.run(
        m_openLane, [request, open = m_scenario](const std::stop_token& stop) { return read(request, *open, stop); },
        [this, request](Reading reading) {
            if (reading.question) return ask(request, *reading.question);
            if (!reading.placement) return adopt(std::move(reading));
            Q_EMIT loadingChanged();
            const QString title = tr("Open %1").arg(QFileInfo(request.file).fileName());
            if (reading.scenario) {
                keep(*reading.placement, reading.scenario);
                change(title, {reading.scenario, *reading.placement, nullptr, 0});
            } else {
                keep(*reading.placement, m_scenario);
                showPlacement(*reading.placement, title);
            }
            Q_EMIT machineChanged();
            QStringList notes;
            for (const std::string& note : reading.notes) notes << QString::fromStdString(note);
            if (!notes.isEmpty())
                Q_EMIT message(false, QFileInfo(request.file).fileName() + QStringLiteral(": ") + notes.join(QStringLiteral("; ")));
        },
        [this](const QString& error) {
            Q_EMIT loadingChanged();
            Q_EMIT machineChanged();  // whoever shows the machine or the options goes back to those in use
            Q_EMIT message(true, error);
        });
    m_loading = std::move(request);
    Q_EMIT loadingChanged();
}

void Document::ask(Request request, const OpenQuestion& question) {
    Q_EMIT loadingChanged();
    if (!m_askToOpen) {
        Q_EMIT message(true, question.file + QStringLiteral(": ") + question.reason);
    } else if (m_askToOpen(question, request.reading)) {
        return load(std::move(request));
    }
    Q_EMIT machineChanged();
}

void Document::previewOptions(const JobOptions& options) {
    if (!isOpen()) return;
    Request request;
    request.options = options;
    m_background.run(
        m_optionsLane,
        [request, open = m_scenario, now = m_placement](const std::stop_token& stop) {
            const Scenario next = changed(request, *open, stop);
            const Problem& problem = *next.job.problem;
            OptionsPreview preview;
            preview.notes = next.notes;
            const auto [placement, moved] =
                carried(now, *open->job.problem, problem, next.job.single_device).value_or(Carried{next.job.single_device, 0});
            preview.moved = moved;
            preview.outcome = Simulator(next.job.problem, next.job.simulation).run(placement);
            preview.goal = next.job.goal;
            preview.assessment = assess(next.job, placement, *preview.outcome);
            if (open->job.goal == next.job.goal) {
                const Assessment before = assess(open->job, now, Simulator(open->job.problem, open->job.simulation).run(now));
                if (before.is_defined()) preview.now_s = before.score.step_time_s;
            }
            for (DeviceId device = 0; device < problem.devices; ++device) {
                const double bytes = preview.assessment.device_bytes[device], limit_bytes = problem.memory_limit_bytes[device];
                if (device > 0 && bytes / limit_bytes <= preview.fullest_bytes / preview.fullest_limit_bytes) continue;
                preview.fullestDevice = QString::fromStdString(problem.machine->device(device).name);
                preview.fullest_bytes = bytes;
                preview.fullest_limit_bytes = limit_bytes;
            }
            return preview;
        },
        [this](const OptionsPreview& preview) { Q_EMIT optionsPreviewed(preview); },
        [this](const QString& error) {
            OptionsPreview preview;
            preview.error = error;
            Q_EMIT optionsPreviewed(preview);
        });
}

void Document::cancelLoading() {
    m_openLane.cancel();
    m_layoutLane.cancel();
    if (m_scene) m_closed = m_scene->closed;
    Q_EMIT loadingChanged();
    Q_EMIT machineChanged();
    Q_EMIT settled();
}

void Document::keep(Placement placement, std::shared_ptr<const Scenario> scenario) {
    m_kept.emplace_back(std::move(scenario), std::move(placement));
}

/// Other options and machines carry a placement along; that alone makes none that is worth keeping.
bool Document::hasUnsavedPlacement() const {
    if (!isOpen() || m_undo.index() == 0) return false;
    for (const auto& [scenario, placement] : m_kept) {
        if (sameScenario(*scenario, *m_scenario) && placement == m_placement) return false;
    }
    const auto& [scenario, placement] = m_kept.back();
    if (scenario == m_scenario) return true;
    const auto kept = carried(placement, *scenario->job.problem, *problem(), job().single_device);
    return m_placement != (kept ? kept->placement : job().single_device);
}

/// The best that any run has found is worth keeping, on screen or not, if it is better than all that is in files and than everything on one
/// device. What is on screen is worth keeping too, but where a run knows better, that comes first. Other machines and options have a best
/// of their own, which comes last.
std::optional<int> Document::unsaved() const {
    if (!isOpen()) return {};
    std::optional<int> best;
    std::pair rank(true, std::numeric_limits<double>::infinity());
    if (hasUnsavedPlacement()) {
        best = 0;
        rank = {false, scoreOf(job(), m_placement)};
    }
    for (const auto& run : m_runs) {
        const Scenario& scenario = *m_scenarioOf.at(run->id());
        const SearchProgress& progress = run->progress();
        const std::pair own(!sameScenario(scenario, *m_scenario), progress.best.seconds);
        if (!progress.best_placement || !sameNetwork(scenario, *m_scenario) || own >= rank || own.second >= leastKept_s(scenario)) continue;
        best = run->id();
        rank = own;
    }
    return best;
}

bool Document::isBestKnown(double score_s) const {
    if (!isOpen() || score_s >= leastKept_s(*m_scenario) || score_s >= scoreOf(job(), m_placement)) return false;
    return std::ranges::none_of(m_runs, [&](const auto& run) {
        const SearchProgress& progress = run->progress();
        return progress.best_placement && sameScenario(*m_scenarioOf.at(run->id()), *m_scenario) && progress.best.seconds <= score_s;
    });
}

/// Of what is in files, and of everything on one device.
double Document::leastKept_s(const Scenario& scenario) const {
    double least = scoreOf(scenario.job, scenario.job.single_device);
    for (const auto& [in, placement] : m_kept) {
        if (sameScenario(*in, scenario)) least = std::min(least, scoreOf(scenario.job, placement));
    }
    return least;
}

void Document::adopt(Reading reading) {
    if (!reading.scenario->job.problem) {
        m_scenario = std::move(reading.scenario);
        Q_EMIT loadingChanged();
        Q_EMIT machineChanged();
        return;
    }
    const Job& next = reading.scenario->job;
    QStringList notes;
    if (!reading.sameNetwork) {
        if (m_mayLeave && !m_mayLeave()) {
            Q_EMIT loadingChanged();
            Q_EMIT machineChanged();
            return;
        }
        m_undo.clear();
        m_selection.clear();
        keep(next.single_device, reading.scenario);
        enter(reading.scenario, next.single_device);
        simulatePlacement();
        notes << QString::fromStdString(estimated_text(next.estimated, next.problem->forward->size()));
        if (!m_scenario->groupingAsked && options().problem.grouping != GroupingOptions()) {
            notes << tr("So large a network is shown and moved by parts: its %1 move in %2 groups (Run > Simulation changes that)")
                         .arg(opsText(next.problem->forward->size()))
                         .arg(countText(static_cast<double>(next.problem->groups)));
        }
        notes << unmeasured();
        tell(notes);
        return;
    }
    const QString title = reading.scenario->machineFile != machineFile()
                              ? tr("Change to %1").arg(QString::fromStdString(next.machine->name()))
                              : tr("Change the simulation");
    if (reading.scenario->options.supplements != options().supplements) {
        for (const std::string& note : reading.scenario->notes) notes << QString::fromStdString(note);
    }
    const auto found = carried(m_placement, *problem(), *next.problem, next.single_device);
    change(title, {reading.scenario, found ? found->placement : next.single_device, nullptr, 0});
    notes << unmeasured();
    if (found && found->moved > 0) {
        notes << tr("%1 moved to where most of their group is; Ctrl+Z goes back.").arg(opsText(found->moved));
    } else if (!found) {
        notes << tr("%1 cannot carry the placement over: it lacks a device that holds ops, or an op may not be on it. Everything is on one "
                    "device now; Ctrl+Z goes back.")
                     .arg(QString::fromStdString(next.machine->name()));
    }
    tell(notes);
}

void Document::tell(QStringList notes) {
    notes.removeAll(QString());
    if (!notes.isEmpty()) Q_EMIT message(false, notes.join(QStringLiteral("; ")));
}

/// Which ops have no measured times although those count; empty where that is none, and for a workload, which has what there is.
QString Document::unmeasured() const {
    if (options().problem.cost.model->id != "measured" || job().own_machine) return {};
    return QString::fromStdString(unmeasured_text(*problem()->forward, *job().machine));
}

/// Leaves the timeline to whoever calls it.
void Document::enter(std::shared_ptr<const Scenario> scenario, Placement placement) {
    for (const auto& run : m_runs) run->cancel();
    stopFollowing();
    for (Background::Lane* lane : {&m_openLane, &m_simulateLane, &m_whyLane, &m_prepareLane, &m_previewLane, &m_optionsLane, &m_proofLane})
        lane->cancel();
    const std::shared_ptr<const Scenario> before = std::exchange(m_scenario, std::move(scenario));
    OpList selection;
    for (const OpId op : m_selection) {
        if (const auto kept = problem()->graph->find(before->job.problem->graph->op(op).name)) selection.push_back(*kept);
    }
    std::ranges::sort(selection);
    m_selection = std::move(selection);
    m_bound.reset();
    // Options that leave the ops and their times alone leave the drawing as it is.
    const Problem* drawn = before->job.problem.get();
    const bool sameDrawing = m_scene && drawn->forward == problem()->forward && before->job.machine == job().machine &&
                             drawn->inference == problem()->inference && drawn->ops == problem()->ops &&
                             drawn->op_time_s == problem()->op_time_s;
    if (drawn == nullptr || drawn->forward != problem()->forward) m_closed.reset();
    if (!sameDrawing) m_scene.reset();
    m_placement = std::move(placement);
    m_shown = 0;
    m_simulated.reset();
    m_why.reset();
    dropMoves();
    Q_EMIT problemChanged();
    Q_EMIT whyChanged();
    Q_EMIT selectionChanged();
    Q_EMIT placementChanged();
    startBound();
    if (!m_scene) startLayout(m_closed);
    Q_EMIT loadingChanged();
    Q_EMIT runsChanged();
}

void Document::setClosedModules(const ClosedScopes& closed) {
    if (!isOpen() || m_closed == closed) return;
    m_closed = closed;
    if (m_scene && m_scene->closed == closed) {
        m_layoutLane.cancel();  // back to what is drawn still
    } else {
        startLayout(closed);
    }
    Q_EMIT loadingChanged();
}

void Document::showModules(const QStringList& paths, bool open) {
    if (!m_scene || !m_closed) return;
    ClosedScopes closed = *m_closed;
    for (const QString& path : paths) {
        if (open) {
            closed = opened(m_scene->modules, std::move(closed), path.toStdString());
        } else {
            closed.insert(path.toStdString());
        }
    }
    setClosedModules(closed);
}

void Document::startBound() {
    m_background.run(
        m_boundLane, [job = job()](std::stop_token) { return tightest_bound(job); },
        [this](Bound bound) {
            tighten(std::move(bound));
            prove();
        },
        [this](const QString& error) { Q_EMIT message(true, error); });
}

void Document::startLayout(std::optional<ClosedScopes> closed) {
    m_background.run(
        m_layoutLane,
        [problem = problem(), closed = std::move(closed)](std::stop_token stop) {
            return buildGraphScene(*problem, closed ? &*closed : nullptr, stop);
        },
        [this](std::shared_ptr<const GraphScene> scene) {
            m_scene = std::move(scene);
            m_closed = m_scene->closed;
            Q_EMIT loadingChanged();
            Q_EMIT sceneChanged();
        },
        [this](const QString& error) {
            Q_EMIT loadingChanged();
            Q_EMIT message(true, error);
        });
}

void Document::setProofWanted(bool wanted) {
    m_proofWanted = wanted;
    if (wanted) return prove();
    m_proofLane.cancel();
    Q_EMIT boundChanged();
    Q_EMIT settled();
}

/// Of the placements that are known to fit; infinity if there is none.
double Document::leastKnown_s() const {
    double least_s = job().single_device_fits ? job().single_device_s : std::numeric_limits<double>::infinity();
    if (m_simulated && m_simulated->assessment.score.fits) least_s = std::min(least_s, m_simulated->assessment.score.step_time_s);
    for (const auto& run : m_runs) {
        const SearchProgress& progress = run->progress();
        if (!progress.best_placement || !progress.best.fits || !sameScenario(*m_scenarioOf.at(run->id()), *m_scenario)) continue;
        least_s = std::min(least_s, progress.best.step_time_s);
    }
    return least_s;
}

void Document::prove() {
    if (!m_proofWanted || !m_bound || m_proofLane.busy()) return;
    const double known_s = leastKnown_s();
    if (m_bound->value_s >= known_s) return;
    m_prover.run(
        m_proofLane,
        [this, job = job(), known_s](std::stop_token stop) {
            give_way();
            prove_bounds(*job.problem, *job.goal, job.simulation, {kProofSeconds, stop, known_s}, [this, stop, &job](Bound found) {
                const auto tell = [this, stop, bound = bound_of(job, std::move(found))] {
                    if (!stop.stop_requested()) tighten(bound);
                };
                QMetaObject::invokeMethod(this, tell, Qt::QueuedConnection);
            });
            return true;
        },
        [this](bool) { Q_EMIT boundChanged(); },
        [this](const QString& error) {
            Q_EMIT boundChanged();
            Q_EMIT message(true, error);
        });
    Q_EMIT boundChanged();
}

void Document::tighten(Bound bound) {
    // One that says the same later says more of how it was proven.
    if (m_bound && bound.value_s < m_bound->value_s) return;
    m_bound = std::move(bound);
    endPointlessSearches();
    Q_EMIT boundChanged();
    Q_EMIT runsChanged();
}

/// Why there is nothing to search for; empty unless that is proven.
QString Document::infeasible() const {
    return m_bound ? QString::fromStdString(infeasible_text(job(), *m_bound, memory_remedy(options(), true))) : QString();
}

void Document::endPointlessSearches() {
    const QString reason = infeasible();
    if (reason.isEmpty()) return;
    bool any = false;
    for (const auto& run : m_runs) {
        if (run->state() != Run::State::running || !sameScenario(*m_scenarioOf.at(run->id()), *m_scenario)) continue;
        run->cancel();
        any = true;
    }
    if (any) Q_EMIT message(true, tr("The search was ended: %1.").arg(reason));
}

Document::Screen Document::screen() const {
    return {m_scenario, m_placement, m_simulateLane.busy() ? nullptr : m_simulated, m_shown};
}

void Document::setScreen(const Screen& screen) {
    if (screen.scenario != m_scenario) enter(screen.scenario, screen.placement);
    m_placement = screen.placement;
    m_shown = screen.run;
    dropMoves();
    Q_EMIT placementChanged();
    Q_EMIT runsChanged();
    if (!screen.simulated) return simulatePlacement();
    m_simulateLane.cancel();
    showSimulated(screen.simulated);
}

void Document::simulatePlacement() {
    m_background.run(
        m_simulateLane, [job = job(), now = m_placement](std::stop_token) { return Simulated::make(job, now); },
        [this](std::shared_ptr<const Simulated> simulated) { showSimulated(std::move(simulated)); },
        [this](const QString& error) { Q_EMIT message(true, error); });
}

void Document::showSimulated(std::shared_ptr<const Simulated> simulated) {
    m_simulated = std::move(simulated);
    Q_EMIT timelineChanged();
    explainTimeline();
    prepareDrops();
    tryMoves();
}

/// One at a time: a search may bring timelines faster than they are explained.
void Document::explainTimeline() {
    if (m_whyLane.busy() || !m_simulated || (m_why && m_why->timeline == timeline())) return;
    m_background.run(
        m_whyLane, [timeline = timeline()](std::stop_token) { return TimelineWhy::build(timeline); },
        [this](std::shared_ptr<const TimelineWhy> why) {
            if (why->timeline != timeline()) return explainTimeline();
            m_why = std::move(why);
            Q_EMIT whyChanged();
        },
        [this](const QString& error) { Q_EMIT message(true, error); });
}

void Document::setMovesWanted(bool wanted) {
    m_movesWanted = wanted;
    if (wanted) return tryMoves();
    m_movesLane.cancel();
    Q_EMIT settled();
}

void Document::dropMoves() {
    m_movesLane.cancel();
    m_moves.reset();
    Q_EMIT movesChanged();
}

void Document::tryMoves() {
    if (!m_movesWanted || !isOpen() || m_moves || m_movesLane.busy() || m_simulateLane.busy() || isSearching()) return;
    m_background.run(
        m_movesLane,
        [this, job = job(), placement = m_placement](std::stop_token stop) {
            const auto evaluator = evaluator_of(job, background_threads());
            return single_moves(*evaluator, *job.problem, placement, stop, [this, stop](std::size_t done, std::size_t total) {
                const auto tell = [this, stop, done, total] {
                    if (!stop.stop_requested()) Q_EMIT movesProgressed(done, total);
                };
                QMetaObject::invokeMethod(this, tell, Qt::QueuedConnection);
            });
        },
        [this](std::optional<SingleMoves> moves) {
            m_moves = std::make_shared<const SingleMoves>(*std::move(moves));
            Q_EMIT movesChanged();
        },
        [this](const QString& error) { Q_EMIT message(true, error); });
}

/// While a search runs the placement changes too often for that.
void Document::prepareDrops() {
    if (isSearching()) return;
    m_background.run(
        m_prepareLane,
        [this, job = job(), placement = m_placement](std::stop_token) {
            m_trials.prepare(job, placement);
            return true;
        },
        [](bool) {}, [this](const QString& error) { Q_EMIT message(true, error); });
}

int Document::startSearch(RunRequest request) {
    if (!isOpen()) return 0;
    if (const QString reason = infeasible(); !reason.isEmpty() && !request.predicted) {
        Q_EMIT message(true, tr("There is nothing to search for: %1.").arg(reason));
        return 0;
    }
    stopFollowing();
    if (!m_simulated || m_simulateLane.busy()) {
        // Right after a change: the search is compared with what the placement takes now, not with what was there before.
        setScreen({m_scenario, m_placement, Simulated::make(job(), m_placement), m_shown});
    }
    if (!request.predicted && !request.known) {
        request.starts.push_back(m_placement);
        if (m_simulated->assessment.is_defined()) request.start_s = m_simulated->assessment.score.step_time_s;
    }
    auto run = std::make_unique<Run>(m_nextRun++, job(), std::move(request));
    Run* started = run.get();
    m_scenarioOf[started->id()] = m_scenario;
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
    if (run.id() != m_followed || !run.simulated()) return;
    if (run.simulated()->assessment.score.seconds >= m_simulated->assessment.score.seconds) return;
    Screen better{m_scenario, *run.simulated()->placement, run.simulated(), run.id()};
    if (m_search != nullptr) {
        m_search->improve(std::move(better));
        return;
    }
    auto* command = new ScreenCommand(*this, tr("Optimize with %1").arg(runTitle(run)), screen(), std::move(better));
    m_undo.push(command);
    // Like any command this one took the screen back from the search.
    m_followed = run.id();
    m_search = command;
}

void Document::endOf(Run& run) {
    if (run.state() == Run::State::failed) Q_EMIT message(true, tr("%1 failed: %2").arg(runTitle(run), run.failure()));
    if (run.id() == m_followed) {
        if (m_search == nullptr && run.state() == Run::State::finished && !run.request().predicted) tellFruitless(run);
        stopFollowing();
    }
    if (run.state() == Run::State::finished && run.request().predicted) tellPrediction(run);
    Q_EMIT runsChanged();
    prepareDrops();
    tryMoves();
    Q_EMIT settled();
}

/// A search that has found nothing better changes nothing on screen, and would seem to have done nothing.
void Document::tellFruitless(const Run& run) {
    const std::uint64_t scored = run.progress().evaluations;
    const bool all = scored < run.request().budget.evaluations;
    const QString placements = scored == 1 ? tr("1 placement") : tr("%L1 placements").arg(scored);
    const QString what = tr("%1 has scored %2 and found none better than the one on screen").arg(runTitle(run), placements);
    Q_EMIT message(false, all                         ? tr("%1; it has no more to try.").arg(what)
                          : scored <= kFewEvaluations ? tr("%1; it needs more evaluations than that to search.").arg(what)
                                                      : what + QLatin1Char('.'));
}

/// It comes on screen by itself only if it is better than what is there.
void Document::tellPrediction(const Run& run) {
    const SearchProgress& progress = run.progress();
    const QString title = QString::fromStdString(find_algorithm(run.request().algorithm)->title);
    const QString graph = QString::fromStdString(run.job().problem->graph->name());
    const QString time = progress.best.fits ? secondsText(progress.best.step_time_s) : tr("does not fit the memory");
    const bool shown = progress.best_placement && *progress.best_placement == m_placement;
    Q_EMIT message(false, (shown ? tr("%1 has placed %2, as it is on screen now: %3")
                                 : tr("%1 has placed %2: %3. On screen stays what there was; a double-click in the Runs table shows it."))
                              .arg(title, graph, time));
}

void Document::stopFollowing() {
    m_followed = 0;
    m_search = nullptr;
}

void Document::change(const QString& title, Screen next) {
    // Whoever edits takes the screen back from a running search; what the search had reached stays a step of its own.
    stopFollowing();
    if (next.scenario == m_scenario && next.placement == m_placement) return;
    m_undo.push(new ScreenCommand(*this, title, screen(), std::move(next)));
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

void Document::pauseRun(int id, bool paused) {
    Run* run = findRun(id);
    if (run == nullptr) return;
    run->setPaused(paused);
    Q_EMIT runsChanged();
}

void Document::saveSearch(int id, const QString& file) {
    const Run* run = findRun(id);
    const auto search = run != nullptr ? run->saved() : std::nullopt;
    if (!search || isSaving()) return;
    m_background.run(
        m_saveLane,
        [search, file, job = run->job(), record = run->scores()](std::stop_token) {
            const std::vector<RecordedScore> scores = record->scores();
            write_scores(file.toStdString(), score_conditions(job), *search, scores);
            return scores.size();
        },
        [this, file, title = runTitle(*run)](std::size_t scores) {
            Q_EMIT runsChanged();
            Q_EMIT message(false, tr("%1 saved to %2, with the scores of %L3 placements.").arg(title, file).arg(scores));
        },
        [this](const QString& error) {
            Q_EMIT runsChanged();
            Q_EMIT message(true, error);
        });
    Q_EMIT runsChanged();
}

void Document::resumeSearch(const QString& file, std::uint64_t evaluations) {
    if (!isOpen()) {
        Q_EMIT message(true, tr("%1 is a saved search: open the network that it is for, then this file.").arg(file));
        return;
    }
    m_background.run(
        m_resumeLane,
        [file, job = job(), evaluations](std::stop_token) {
            const Path path = file.toStdString();
            ScoreContent content;
            try {
                content = read_scores(path, score_conditions(job));
            } catch (const OtherConditions& error) {
                const QString name = QString::fromStdString(error.name).replace(QLatin1Char('_'), QLatin1Char(' '));
                const QString difference =
                    error.name == "problem"
                        ? tr("what is simulated differs")
                        : tr("its %1 is %2, not %3").arg(name, QString::fromStdString(error.theirs), QString::fromStdString(error.ours));
                throw std::runtime_error(
                    tr("%1 belongs to another search: %2. %3").arg(file, difference, QString::fromStdString(remedy(error))).toStdString());
            }
            if (!content.search)
                throw InputError(path.string(), "",
                                 "does not say which search it is from; go on with it by placewright-cli optimize --scores, with the "
                                 "arguments that it was begun with");
            check_search(*content.search, job, path);
            RunRequest request;
            request.algorithm = std::move(content.search->algorithm);
            request.options = std::move(content.search->options);
            request.seed = content.search->seed;
            request.budget.evaluations = content.search->evaluations.value_or(evaluations);
            request.starts = std::move(content.search->starts);
            request.known = std::make_shared<const std::vector<RecordedScore>>(std::move(content.scores));
            return request;
        },
        [this, file, scenario = m_scenario](RunRequest request) {
            if (scenario != m_scenario) return;  // something else was opened meanwhile
            const std::size_t scores = request.known->size();
            const Run* run = findRun(startSearch(std::move(request)));
            if (run == nullptr) return;
            Q_EMIT message(false, tr("%1 goes on with %2, where %L3 placements have been scored.").arg(runTitle(*run), file).arg(scores));
        },
        [this](const QString& error) { Q_EMIT message(true, error); });
}

void Document::removeRun(int id) {
    const auto found = std::ranges::find_if(m_runs, [&](const auto& run) { return run->id() == id; });
    if (found == m_runs.end()) return;
    if (m_followed == id) stopFollowing();
    if (m_shown == id) m_shown = 0;
    (*found)->disconnect(this);
    m_scenarioOf.erase(id);
    m_runs.erase(found);
    Q_EMIT runsChanged();
    Q_EMIT settled();
}

void Document::showRun(int id) {
    const Run* run = findRun(id);
    if (run == nullptr || !run->progress().best_placement) return;
    const auto& scenario = m_scenarioOf.at(id);
    if (!sameNetwork(*scenario, *m_scenario)) return;
    const bool isBest = run->simulated() && run->simulated()->placement == run->progress().best_placement;
    change(tr("Show %1").arg(runTitle(*run)), {sameScenario(*scenario, *m_scenario) ? m_scenario : scenario,
                                               *run->progress().best_placement, isBest ? run->simulated() : nullptr, id});
}

void Document::showPlacement(const Placement& placement, const QString& title) {
    if (isOpen()) change(title, {m_scenario, placement, nullptr, 0});
}

QString Document::runTitle(const Run& run) const {
    const AlgorithmInfo* algorithm = find_algorithm(run.request().algorithm);
    const QString title = QString::fromStdString(algorithm != nullptr ? algorithm->title : run.request().algorithm);
    return (run.request().predicted ? tr("%1, zero-shot #%2") : tr("%1 #%2")).arg(title).arg(run.id());
}

std::vector<RunRow> Document::runRows() const {
    std::vector<RunRow> rows;
    for (const auto& run : m_runs) {
        const Scenario& scenario = *m_scenarioOf.at(run->id());
        if (!sameNetwork(scenario, *m_scenario)) continue;
        const SearchProgress& progress = run->progress();
        RunRow row;
        row.id = run->id();
        row.title = runTitle(*run);
        if (!sameScenario(scenario, *m_scenario)) row.elsewhere = differenceText(scenario, *m_scenario);
        row.options = tr("%1, seed %2").arg(QString::fromStdString(run->request().algorithm)).arg(run->request().seed);
        if (run->request().start_s > 0)
            row.options +=
                tr("\nfrom the placement then on screen, %1 %2").arg(goalName(*scenario.job.goal), secondsText(run->request().start_s));
        for (const auto& [name, value] : run->request().options) {
            row.options += QLatin1Char('\n') + QString::fromStdString(name + " = " + to_string(value));
        }
        row.state = run->isPaused() ? RunRow::State::paused : static_cast<RunRow::State>(run->state());
        row.failure = run->failure();
        if (scenario.job.goal != job().goal) row.goal = goalName(*scenario.job.goal);
        row.defined = progress.best != kUndefinedScore;
        if (progress.best_placement) {
            row.step_time_s = progress.best.step_time_s;
            row.fits = progress.best.fits;
            if (!row.fits && row.defined && run->simulated()) {
                Misfit lacks = misfit(*run->job().problem, run->simulated()->assessment);
                row.over_bytes = lacks.over_bytes;
                row.misfit = std::move(lacks.text);
            }
            if (run->job().single_device_s < kUndefinedScore.step_time_s && row.defined)
                row.speedup = run->job().single_device_s / progress.best.step_time_s;
            if (row.elsewhere.isEmpty() && m_bound && m_bound->value_s > 0 && std::isfinite(m_bound->value_s))
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
    change(tr("Move %1 to %2").arg(what, name), {m_scenario, std::move(moved), nullptr, 0});
}

void Document::requestPreview(const OpList& ops) {
    if (!isOpen()) return;
    m_background.run(
        m_previewLane,
        [this, job = job(), placement = m_placement, groups = groupsOf(*problem(), ops)](std::stop_token stop) {
            return m_trials.previews(job, placement, groups, stop);
        },
        [this](const DropPreviews& previews) { Q_EMIT previewReady(previews); },
        [this](const QString& error) { Q_EMIT message(true, error); });
}

void Document::setSelection(const OpList& ops) {
    if (ops == m_selection) return;
    m_selection = ops;
    Q_EMIT selectionChanged();
}

PlacedNetwork Document::placed() const {
    const bool current = m_simulated && !m_simulateLane.busy();
    const Outcome outcome = current ? timeline()->outcome : Simulator(job().problem, job().simulation).run(m_placement);
    PlacementFile about;
    about.predicted = prediction(job(), outcome, m_bound && job().goal->is_step_time() ? m_bound->value_s : 0);
    if (const Run* run = shownRun()) {
        about.produced_by = {run->request().algorithm, run->request().seed, run->progress().evaluations, run->request().options};
    }
    return {problem(), m_placement, job().simulation, std::move(about), networkPath(), options().reading};
}

void Document::exportPlacement(const QString& file) {
    write_placement(m_placement, *problem(), placed().about, file.toStdString());
    keepPlacement();
}

void Document::keepPlacement() {
    keep(m_placement, m_scenario);
}

}  // namespace placewright
