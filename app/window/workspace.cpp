// SPDX-License-Identifier: MIT
#include "app/window/workspace.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <QCoreApplication>
#include <QCryptographicHash>
#include <QFile>
#include <QFileInfo>

#include "app/window/loader.hpp"
#include "app/window/machine/edited_scenario.hpp"
#include "core/base/fingerprint.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/io/text/input_error.hpp"
#include "core/job/option_values.hpp"
#include "core/job/saved_search.hpp"
#include "widgets/quantities.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

constexpr std::size_t kMostScores = 1'000'000;
constexpr auto kChecksum = QCryptographicHash::Sha256;
constexpr auto kGroupingAsked = "grouping_asked";
constexpr auto kRoomToTheRight = "graph_to_the_right", kRoomAspect = "graph_aspect";

struct WorkspaceText {
    Q_DECLARE_TR_FUNCTIONS(Workspace)
};

/// Of what the ops of a network do, without measured times.
std::string fingerprintOf(const Graph& network) {
    Fingerprint print;
    for (const Op& op : network.ops()) {
        print.add(op.name);
        print.add(op.kind);
        print.add(std::vector<double>{op.flops, static_cast<double>(op.parameter_bytes)});
        for (const Tensor& output : op.outputs) print.add_bits(static_cast<std::uint64_t>(output.bytes));
        for (const TensorRef& input : op.inputs) print.add_bits(input.op);
    }
    return print.digits();
}

std::string fingerprintOf(const Machine& machine) {
    Fingerprint print;
    print.add(machine_json(machine));
    return print.digits();
}

const Scenario& withoutFactors(const Scenario& scenario) {
    return scenario.whatIf ? *scenario.whatIf->base : scenario;
}

QString fileName(const std::string& file) {
    return QFileInfo(QString::fromStdString(file)).fileName();
}

/// The option as a file; null if it is none.
const std::string* fileIn(const std::pair<const std::string, OptionValue>& option) {
    const auto* file = std::get_if<std::string>(&option.second);
    return option.first.starts_with("file.") && file != nullptr && !file->empty() ? file : nullptr;
}

/// Removes measured times and sizes whose files are missing; returns the names of these files.
QStringList withoutMissing(OptionValues& options) {
    QStringList missing;
    for (auto option = options.begin(); option != options.end();) {
        const std::string* file = fileIn(*option);
        const bool isMissing = file != nullptr && !QFileInfo::exists(QString::fromStdString(*file));
        if (isMissing && !missing.contains(fileName(*file))) missing << fileName(*file);
        option = isMissing ? options.erase(option) : std::next(option);
    }
    return missing;
}

/// Why what a workspace has of a scenario cannot be used. `scenario`: as it is now; null if it cannot be
/// opened. `missing`: names of files that it was opened without.
QString changeOf(const Workspace::Scenario& from, const Scenario* scenario, const QStringList& missing) {
    if (!missing.isEmpty()) return WorkspaceText::tr("%1 is missing").arg(missing.join(QStringLiteral(", ")));
    const QString machine = QString::fromStdString(from.machine);
    if (scenario == nullptr)
        return isMachinePath(machine) && !QFileInfo::exists(machine)
                   ? WorkspaceText::tr("the machine file %1 is missing").arg(fileName(from.machine))
                   : WorkspaceText::tr("the network does not open on the machine %1").arg(machine);
    QStringList files;
    for (const auto& option : from.options) {
        if (const std::string* file = fileIn(option); file != nullptr && !files.contains(fileName(*file)))
            files << fileName(*file);
    }
    if (from.network_fingerprint.empty()) {
        files.prepend(WorkspaceText::tr("the network or machine file"));
        return WorkspaceText::tr("%1 has changed").arg(files.join(WorkspaceText::tr(" or ")));
    }
    const Scenario& base = withoutFactors(*scenario);
    QStringList changed;
    if (fingerprintOf(*base.job.problem->network) != from.network_fingerprint)
        changed
            << WorkspaceText::tr("the network file %1 has changed").arg(fileName(base.networkPath.string()));
    if (fingerprintOf(*base.job.machine) != from.machine_fingerprint)
        changed << (isMachinePath(machine)
                        ? WorkspaceText::tr("the machine file %1 has changed").arg(fileName(from.machine))
                        : WorkspaceText::tr("the machine %1 has changed").arg(machine));
    if (!changed.isEmpty()) return changed.join(WorkspaceText::tr(" and "));
    // Times, rules and other things that the fingerprints leave out.
    files << fileName(base.networkPath.string());
    return WorkspaceText::tr("%1 has changed, or this version of Placewright simulates differently")
        .arg(files.join(WorkspaceText::tr(" or ")));
}

/// The scenarios of a workspace that is being written, each once.
class ScenarioTable {
public:
    explicit ScenarioTable(Workspace& workspace) : m_workspace(workspace) {}

    std::size_t index(const std::shared_ptr<const Scenario>& scenario) {
        for (std::size_t i = 0; i < m_known.size(); ++i) {
            if (m_known[i] == scenario.get() || sameScenario(*m_known[i], *scenario)) return i;
        }
        OptionValues options = option_values(scenario->options);
        options[kGroupingAsked] = scenario->groupingAsked;
        m_known.push_back(scenario.get());
        const Scenario& base = withoutFactors(*scenario);
        // Beside the settings, the file of an edited machine is on this computer alone.
        const bool isEdited = !base.editedFrom.isEmpty();
        m_workspace.scenarios.push_back(
            {(isEdited ? base.editedFrom : base.machineFile).toStdString(),
             isEdited ? machine_json(*base.job.machine) : std::string(), std::move(options),
             scenario->fingerprint, scenario->whatIf ? scenario->whatIf->factors : WhatIf(),
             fingerprintOf(*base.job.problem->network), fingerprintOf(*base.job.machine)});
        return m_known.size() - 1;
    }

private:
    Workspace& m_workspace;
    std::vector<const Scenario*> m_known;
};

std::shared_ptr<const Scenario> scenarioFrom(const QString& file, const Workspace& workspace,
                                             const Workspace::Scenario& from,
                                             const std::shared_ptr<const Scenario>& first,
                                             const std::stop_token& stop) {
    OptionValues values = from.options;
    bool asked = true;
    if (const auto found = values.find(kGroupingAsked); found != values.end()) {
        const bool* truth = std::get_if<bool>(&found->second);
        asked = truth == nullptr || *truth;
        values.erase(found);
    }
    LoadRequest request;
    request.options = job_options_from(values);
    request.machine = from.edited.empty() ? QString::fromStdString(from.machine)
                                          : storeEdited(machine_from_json(file.toStdString(), from.edited));
    Scenario open;
    if (first) {
        open = withoutFactors(*first);
        if (request.machine == open.machineFile) request.machine.clear();
    } else {
        open.groupingAsked = true;  // the grouping is that of the options
        LoadRequest network = request;
        network.file = QString::fromStdString(workspace.network);
        network.isNetwork = true;
        network.reading = request.options->reading;
        const Reading reading = read(network, open, stop);
        if (reading.question) throw std::runtime_error(reading.question->reason.toStdString());
        open = *reading.scenario;
        request.machine.clear();
    }
    Scenario next = open;
    if (*request.options != open.options || !request.machine.isEmpty())
        next = *read(request, open, stop).scenario;
    next.groupingAsked = asked;
    next.editedFrom = from.edited.empty() ? QString() : QString::fromStdString(from.machine);
    auto base = std::make_shared<const Scenario>(std::move(next));
    if (from.factors.is_none()) return base;
    const Machine& machine = *base->job.machine;
    const auto areOf = [](const std::vector<double>& factors, std::size_t count) {
        return factors.empty() || factors.size() == count;
    };
    if (!areOf(from.factors.bandwidth, machine.channels().size()) ||
        !areOf(from.factors.memory, machine.devices().size()) ||
        !areOf(from.factors.speed, machine.devices().size()))
        throw InputError(file.toStdString(), "scenarios",
                         "must have one factor for each device and link of " + machine.name());
    auto scenario = withFactors(base, from.factors, base->job.single_device).scenario;
    storeEdited(*scenario);
    return scenario;
}

/// Throws InputError if the trace of a measured run is not one of the problem.
void checkMeasured(const MeasuredRun& run, const Problem& problem, const QString& file) {
    const std::size_t channels = problem.machine->channels().size();
    const auto isRight = [&](const Span& span) {
        if (span.op >= problem.graph->size()) return false;
        if (span.kind == Span::Kind::op) return span.resource < problem.devices;
        return span.resource < channels && span.from < problem.devices && span.to < problem.devices;
    };
    if (!std::ranges::all_of(run.trace.spans, isRight) ||
        !std::ranges::all_of(run.trace.memory,
                             [&](const MemorySample& sample) { return sample.device < problem.devices; }) ||
        !(run.peak_bytes.empty() || run.peak_bytes.size() == problem.devices))
        throw InputError(file.toStdString(), "measured",
                         "names an op, device or link that the network or machine does not have");
    if (!run.placement.empty()) check_placement(problem, run.placement);
}

Workspace::MeasuredBest measuredBestOf(const KeptBest& kept, std::size_t scenario) {
    const MeasuredPlacements& from = *kept.placements;
    Workspace::MeasuredBest best{scenario,
                                 from.run.toStdString(),
                                 from.state != MeasuredPlacements::State::finished,
                                 kept.saved,
                                 from.wanted,
                                 from.awaited,
                                 {}};
    for (const MeasuredPlacements::Each& each : from.all)
        best.all.push_back({*each.placement, each.simulated, each.measured, each.low_s, each.high_s,
                            each.proposed, each.warning.toStdString(), each.coresForAccelerators});
    return best;
}

KeptBest bestFrom(const Workspace::MeasuredBest& best, std::shared_ptr<const Scenario> scenario) {
    MeasuredPlacements placements;
    placements.run = QString::fromStdString(best.run);
    placements.awaited = best.awaited;
    placements.wanted = static_cast<std::size_t>(best.wanted);
    // What was being measured was stopped by the end of the program.
    placements.state =
        best.stopped ? MeasuredPlacements::State::stopped : MeasuredPlacements::State::finished;
    for (const Workspace::MeasuredBest::Each& each : best.all) {
        check_placement(*scenario->job.problem, each.placement);
        placements.all.push_back({std::make_shared<const Placement>(each.placement), each.simulated,
                                  each.measured, each.low_s, each.high_s, each.proposed,
                                  QString::fromStdString(each.warning), each.cores_for_accelerators});
    }
    return {std::move(scenario), std::make_shared<const MeasuredPlacements>(std::move(placements)),
            best.saved};
}

/// The placement by names; groups that the file does not know are on the one device that is best.
Placement placementFrom(const Workspace& workspace, const Scenario& scenario, std::size_t& missing) {
    const Problem& problem = *scenario.job.problem;
    Placement placement = scenario.job.single_device;
    std::vector<bool> placed(problem.groups, false);
    for (const auto& [name, deviceName] : workspace.placement) {
        const auto op = problem.graph->find(name);
        const auto device = problem.machine->find(deviceName);
        if (!op || !device) continue;
        const GroupId group = problem.grouping.group_of[*op];
        if (placed[group] || !mayHold(problem, group, *device)) continue;
        placement[group] = *device;
        placed[group] = true;
    }
    missing = static_cast<std::size_t>(std::ranges::count(placed, false));
    return placement;
}

/// The shape of the graph's view, on which the places in the graph depend. Takes it out of the values.
std::optional<LayoutRoom> roomFrom(OptionValues& view) {
    constexpr double kLeast = 0.01, kMost = 100;
    const auto right = view.extract(kRoomToTheRight), aspect = view.extract(kRoomAspect);
    if (right.empty() || aspect.empty()) return {};
    const bool* isRight = std::get_if<bool>(&right.mapped());
    const double* ratio = std::get_if<double>(&aspect.mapped());
    if (isRight == nullptr || ratio == nullptr || !(*ratio >= kLeast && *ratio <= kMost)) return {};
    using Direction = LayoutRoom::Direction;
    return LayoutRoom{*isRight ? Direction::right : Direction::down, *ratio};
}

RestoredWorkspace::RestoredRun runFrom(const Workspace::Run& run, std::shared_ptr<const Scenario> scenario,
                                       const QString& file) {
    const Problem& problem = *scenario->job.problem;
    check_search(run.search, scenario->job, file.toStdString());
    if (run.progress.best_placement) check_placement(problem, *run.progress.best_placement);
    if (run.progress.archive) {
        for (const auto& elite : run.progress.archive->elites) check_placement(problem, *elite.placement);
    }
    if (const auto& distribution = run.progress.distribution) {
        if (distribution->devices.back() >= problem.devices ||
            distribution->probability.size() != problem.groups * distribution->devices.size())
            throw InputError(file.toStdString(), "runs",
                             "has a distribution of other groups or devices than " + problem.graph->name());
    }
    RestoredWorkspace::RestoredRun restored;
    restored.id = run.id;
    restored.scenario = std::move(scenario);
    RunRequest& request = restored.request;
    request.algorithm = run.search.algorithm;
    request.options = run.search.options;
    request.seed = run.search.seed;
    request.starts = run.search.starts;
    request.budget.evaluations = run.search.evaluations.value_or(Budget::kUnlimited);
    request.budget.seconds = run.seconds;
    if (run.predicted) request.predicted = run.progress.best_placement;
    request.known = std::make_shared<const std::vector<RecordedScore>>(run.scores);
    // What was running was stopped by the end of the program.
    restored.past = {run.state == Workspace::Run::State::running ? Run::State::cancelled
                                                                 : static_cast<Run::State>(run.state),
                     QString::fromStdString(run.failure),
                     run.start_s,
                     run.progress,
                     QString::fromStdString(run.name),
                     run.exhausted,
                     run.sketch,
                     run.progress.best_placement
                         ? Simulated::make(restored.scenario->job, *run.progress.best_placement)
                         : nullptr,
                     QString::fromStdString(run.splitting)};
    restored.hidden = run.hidden;
    return restored;
}

}  // namespace

std::vector<std::size_t> sharesOf(const std::vector<std::size_t>& scores, std::size_t most) {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t run) { return scores[run]; });
    std::vector<std::size_t> shares(scores.size());
    std::size_t runs = scores.size();
    for (const std::size_t run : order) {
        shares[run] = std::min(scores[run], most / runs--);
        most -= shares[run];
    }
    return shares;
}

QByteArray checksumOf(const QString& file) {
    QFile opened(file);
    QCryptographicHash hash(kChecksum);
    if (!opened.open(QIODevice::ReadOnly) || !hash.addData(&opened)) return {};
    return hash.result();
}

QByteArray checksumOfText(const std::string& content) {
    return QCryptographicHash::hash(
        QByteArray::fromRawData(content.data(), static_cast<qsizetype>(content.size())), kChecksum);
}

Workspace workspaceOf(const WorkspaceSnapshot& snapshot) {
    Workspace workspace;
    ScenarioTable scenarios(workspace);
    scenarios.index(snapshot.scenario);
    const Problem& problem = *snapshot.scenario->job.problem;
    workspace.title =
        WorkspaceText::tr("%1 on %2")
            .arg(toQString(problem.graph->name()), toQString(problem.machine->name()))
            .append(snapshot.value_s > 0 ? QStringLiteral(", ") + secondsText(snapshot.value_s) : QString())
            .toStdString();
    workspace.network = snapshot.scenario->networkFile.toStdString();
    workspace.placement = placement_by_name(snapshot.placement, problem);
    workspace.closed_by_system = snapshot.closedBySystem;
    workspace.shown_run = snapshot.shownRun;
    workspace.followed_run = snapshot.followedRun;
    if (snapshot.pinned)
        workspace.pinned = {scenarios.index(snapshot.pinned->scenario),
                            *snapshot.pinned->simulated->placement, snapshot.pinned->name.toStdString()};
    for (const auto& [scenario, placement, score_s] : snapshot.kept)
        workspace.kept.push_back({scenarios.index(scenario), placement, score_s});
    std::vector<std::size_t> scores;
    for (const WorkspaceSnapshot::SavedRun& of : snapshot.runs) scores.push_back(of.scores->size());
    const std::vector<std::size_t> shares = sharesOf(scores, kMostScores);
    for (const WorkspaceSnapshot::SavedRun& of : snapshot.runs) {
        Workspace::Run& run = workspace.runs.emplace_back();
        const RunRequest& request = of.request;
        run.id = of.id;
        run.scenario = scenarios.index(of.scenario);
        const Budget& budget = request.budget;
        run.search = {request.algorithm, request.options, request.seed,
                      budget.is_counted() ? std::optional(budget.evaluations) : std::nullopt, request.starts};
        run.seconds = request.budget.seconds;
        run.state = static_cast<Workspace::Run::State>(of.past.state);
        run.failure = of.past.failure.toStdString();
        run.predicted = request.predicted != nullptr;
        run.start_s = of.past.start_s;
        run.progress = of.past.progress;
        run.name = of.past.name.toStdString();
        run.hidden = of.hidden;
        run.exhausted = of.past.exhausted;
        run.splitting = of.past.splitting.toStdString();
        run.sketch = of.past.sketch;
        run.scores = of.scores->scores(shares[workspace.runs.size() - 1]);
    }
    for (const KeptMeasurement& of : snapshot.measured) {
        MeasuredRun run = *of.run;
        run.trace.started_by.clear();
        run.trace.issues.clear();
        workspace.measured.push_back({of.name.toStdString(), of.file.toStdString(), of.saved,
                                      scenarios.index(of.scenario), std::move(run)});
    }
    workspace.benchmarks = snapshot.benchmarks;
    if (const auto& best = snapshot.best)
        workspace.measured_best = measuredBestOf(*best, scenarios.index(best->scenario));
    workspace.learned = snapshot.learned;
    for (const OpId op : snapshot.selection) workspace.selection.push_back(problem.graph->op(op).name);
    workspace.has_modules = snapshot.closed.has_value();
    if (snapshot.closed) workspace.closed_modules.assign(snapshot.closed->begin(), snapshot.closed->end());
    workspace.view = snapshot.view;
    workspace.view[kRoomToTheRight] = snapshot.room.direction == LayoutRoom::Direction::right;
    workspace.view[kRoomAspect] = snapshot.room.aspect;
    return workspace;
}

RestoredWorkspace restored(const QString& file, const Workspace& workspace, const std::stop_token& stop) {
    RestoredWorkspace result;
    std::vector<std::shared_ptr<const Scenario>> scenarios;  // null: cannot be used
    QStringList changes;                                     // [scenario]: why; empty if it can
    QStringList allMissing;
    for (Workspace::Scenario from : workspace.scenarios) {
        const QStringList missing = withoutMissing(from.options);
        for (const QString& name : missing) {
            if (allMissing.contains(name)) continue;
            allMissing << name;
            result.notes << WorkspaceText::tr("%1 is missing: its times or sizes are not used.").arg(name);
        }
        std::shared_ptr<const Scenario> scenario;
        try {
            scenario = scenarioFrom(file, workspace, from, result.scenario, stop);
        } catch (const std::exception& error) {
            if (!result.scenario) throw;
            // Another machine, which may not be on this computer: what is on screen needs it not.
            result.notes << QString::fromUtf8(error.what());
        }
        if (!result.scenario) result.scenario = scenario;
        const bool isUsed = scenario && scenario->fingerprint == from.fingerprint;
        changes << (isUsed ? QString() : changeOf(from, scenario.get(), missing));
        scenarios.push_back(isUsed ? scenario : nullptr);
    }
    if (!allMissing.isEmpty()) result.about.isIncomplete = true;
    const auto change = [&](std::size_t scenario) { return changes[static_cast<qsizetype>(scenario)]; };
    QStringList whyDropped, whyUnmeasured;
    const auto note = [&](QStringList& why, std::size_t scenario) {
        if (!why.contains(change(scenario))) why << change(scenario);
    };
    std::size_t missing = 0, dropped = 0, unmeasured = 0;
    result.placement = placementFrom(workspace, *result.scenario, missing);
    if (missing > 0)
        result.notes << WorkspaceText::tr(
                            "%1 not in the workspace were placed on one device: the network or machine file "
                            "has changed.")
                            .arg(missing == 1 ? WorkspaceText::tr("1 group of ops")
                                              : WorkspaceText::tr("%L1 groups of ops").arg(missing));
    try {
        for (const Workspace::Kept& kept : workspace.kept) {
            const auto& scenario = scenarios[kept.scenario];
            if (!scenario) {
                result.about.isIncomplete = true;
                continue;
            }
            check_placement(*scenario->job.problem, kept.placement);
            result.kept.push_back({scenario, kept.placement, kept.score_s});
        }
        for (const Workspace::Run& run : workspace.runs) {
            if (stop.stop_requested()) break;  // the result will be dropped
            if (const auto& scenario = scenarios[run.scenario]) {
                result.runs.push_back(runFrom(run, scenario, file));
                if (run.id == workspace.shown_run && run.progress.best_placement &&
                    *run.progress.best_placement == result.placement)
                    result.shownRun = run.id;
            } else {
                ++dropped;
                note(whyDropped, run.scenario);
            }
        }
        for (const Workspace::Measured& each : workspace.measured) {
            const auto& scenario = scenarios[each.scenario];
            if (!scenario) {
                ++unmeasured;
                note(whyUnmeasured, each.scenario);
                continue;
            }
            checkMeasured(each.run, *scenario->job.problem, file);
            result.measured.push_back({QString::fromStdString(each.name), QString::fromStdString(each.file),
                                       scenario, std::make_shared<const MeasuredRun>(each.run), each.saved});
        }
        if (const auto& best = workspace.measured_best) {
            if (const auto& scenario = scenarios[best->scenario]) {
                result.best = bestFrom(*best, scenario);
            } else {
                result.about.isIncomplete = true;
                result.notes << WorkspaceText::tr("the measured placements were left out: %1.")
                                    .arg(change(best->scenario));
            }
        }
        if (const auto& pinned = workspace.pinned) {
            const auto& scenario = scenarios[pinned->scenario];
            if (scenario) {
                check_placement(*scenario->job.problem, pinned->placement);
                result.about.pinned = {QString::fromStdString(pinned->name), scenario,
                                       Simulated::make(scenario->job, pinned->placement)};
            } else {
                result.about.isIncomplete = true;
                result.notes << WorkspaceText::tr("the pinned placement A was left out: %1.")
                                    .arg(change(pinned->scenario));
            }
        }
    } catch (const PlacementError& error) {
        throw InputError(file.toStdString(), "runs", error.what());
    }
    if (dropped > 0)
        result.notes << WorkspaceText::tr("%1 left out: %2.")
                            .arg(dropped == 1 ? WorkspaceText::tr("1 run was")
                                              : WorkspaceText::tr("%L1 runs were").arg(dropped),
                                 whyDropped.join(QStringLiteral("; ")));
    if (unmeasured > 0)
        result.notes << WorkspaceText::tr("%1 left out: %2.")
                            .arg(unmeasured == 1
                                     ? WorkspaceText::tr("1 measured run was")
                                     : WorkspaceText::tr("%L1 measured runs were").arg(unmeasured),
                                 whyUnmeasured.join(QStringLiteral("; ")));
    if (missing > 0 || dropped > 0 || unmeasured > 0) result.about.isIncomplete = true;
    for (const std::string& name : workspace.selection) {
        if (const auto op = result.scenario->job.problem->graph->find(name)) result.selection.push_back(*op);
    }
    std::ranges::sort(result.selection);
    if (workspace.has_modules)
        result.closed.emplace(workspace.closed_modules.begin(), workspace.closed_modules.end());
    result.followedRun = workspace.followed_run;
    result.benchmarks = workspace.benchmarks;
    result.about.learned = workspace.learned;
    result.about.view = workspace.view;
    result.room = roomFrom(result.about.view);
    return result;
}

}  // namespace placewright
