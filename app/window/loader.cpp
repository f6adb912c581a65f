// SPDX-License-Identifier: MIT
#include "app/window/loader.hpp"

#include <stdexcept>
#include <utility>

#include <QCoreApplication>
#include <QStringList>

#include "app/window/machine/edited_scenario.hpp"
#include "app/window/option_text.hpp"
#include "core/io/file_content.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/machines/machine_parts.hpp"
#include "core/io/onnx/onnx.hpp"
#include "core/io/placements/constraints_file.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/io/placements/split_points.hpp"
#include "core/io/pytorch/torchscript.hpp"
#include "core/io/shipped.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/json.hpp"
#include "core/job/token_rate.hpp"
#include "core/job/untimed_ops.hpp"

namespace placewright {
namespace {

struct LoaderText {
    Q_DECLARE_TR_FUNCTIONS(Loader)
};

/// Reads a network; a model that leaves the batch size open gets a batch size of 32 until the user chooses
/// another.
NetworkFile readNetwork(const Path& file, ReadOptions& options) {
    constexpr std::int64_t kBatch = 32;
    try {
        return read_network(file, options);
    } catch (const BatchNeeded&) {
        options.batch = kBatch;
        return read_network(file, options);
    }
}

/// Returns the open scenario with another machine or other options.
Scenario changed(const LoadRequest& request, const Scenario& open, const std::stop_token& stop) {
    Scenario next = open;
    next.options = request.options.value_or(open.options);
    load_profile(next.options);
    next.groupingAsked = open.groupingAsked || next.options.problem.grouping != open.options.problem.grouping;
    std::shared_ptr<const Machine> machine = open.job.machine;
    if (!request.machine.isEmpty()) {
        machine = std::make_shared<const Machine>(find_machine(request.machine.toStdString()));
        next.machineFile = request.machine;
        next.editedFrom.clear();
        next.whatIf.reset();
        if (open.job.own_machine) {
            throw InputError(request.machine.toStdString(), "",
                             "not used: " + open.networkFile.toStdString() +
                                 " is a workload with a machine and times of its own");
        }
    }
    if (request.reload && request.machine.isEmpty() && !open.job.own_machine)
        machine = std::make_shared<const Machine>(find_machine(open.machineFile.toStdString()));
    std::shared_ptr<const Graph> graph = open.job.problem->network;
    std::vector<NetworkFile::Estimated> estimated = open.job.estimated;
    std::vector<std::string> notes = open.job.notes;
    std::optional<LanguageOptions> language = open.job.language;
    // When only the machine changes, measured times stay those of the device models that they were taken on.
    if (request.reload || next.options.reading != open.options.reading ||
        next.options.supplements != open.options.supplements) {
        NetworkFile network = readNetwork(open.networkPath, next.options.reading);
        try {
            next.notes = supplement(network, next.options.supplements, *machine, stop);
        } catch (const ModelNeeded& error) {
            throw std::runtime_error(LoaderText::tr("%1; choose the device model beside it")
                                         .arg(QString::fromUtf8(error.what()))
                                         .toStdString());
        }
        graph = std::make_shared<const Graph>(std::move(network.graph));
        estimated = std::move(network.estimated);
        notes = std::move(network.notes);
        language = network.language;
    }
    JobOptions used = next.options;
    if (open.job.own_machine) {
        used.problem.cost.model = find_cost_model("measured");
        used.problem.cost.profile.reset();
    }
    next.job = make_job(std::move(graph), std::move(machine), used, language);
    next.job.own_machine = open.job.own_machine;
    next.job.batch_is_open = open.job.batch_is_open;
    next.job.fixed_batch = open.job.fixed_batch;
    next.job.estimated = std::move(estimated);
    next.job.notes = std::move(notes);
    complete(next);
    if (next.whatIf) {
        const Scenario& base = *open.whatIf->base;
        next.whatIf = std::make_shared<const AppliedWhatIf>(AppliedWhatIf{
            open.whatIf->factors, std::make_shared<const Scenario>(changed(request, base, stop))});
    }
    return next;
}

/// Reads a placement file for the open scenario. Asks for single ops as groups where the file splits groups
/// that nobody asked for.
Reading readPlacement(const QString& path, const Scenario& open, const std::stop_token& stop) {
    if (!open.job.problem)
        throw InputError(path.toStdString(), "", "is a placement: open its network first, then this file");
    Reading reading{nullptr, true, {}, {}};
    const Path file = path.toStdString();
    if (open.groupingAsked || open.options.problem.grouping == GroupingOptions()) {
        reading.placement = read_placement(file, *open.job.problem, &reading.notes);
        return reading;
    }
    // The groups are only the default: a placement that splits them takes precedence.
    try {
        reading.placement = read_placement(file, *open.job.problem, &reading.notes);
    } catch (const InputError&) {
        LoadRequest ungrouped;
        ungrouped.options = open.options;
        ungrouped.options->problem.grouping = {};
        auto scenario = std::make_shared<const Scenario>(changed(ungrouped, open, stop));
        reading.notes.clear();
        reading.placement = read_placement(file, *scenario->job.problem, &reading.notes);
        reading.notes.insert(reading.notes.begin(), "splits groups of ops, so ops now move one by one");
        reading.scenario = std::move(scenario);
    }
    return reading;
}

/// Returns the question whose answer lets a TorchScript model be read.
OpenQuestion questionOf(const ScriptInputError& error, const QString& file) {
    using enum OpenQuestion::Kind;
    const auto kind = error.remedy() == ScriptError::Remedy::run ? mayRun : inputs;
    const QString reason = QString::fromStdString(error.reason());
    const QString told =
        error.place().empty()
            ? LoaderText::tr("The model %1.").arg(reason)
            : LoaderText::tr("Reading stops at %1: %2.").arg(QString::fromStdString(error.place()), reason);
    return {file, kind, told, {}, error.proposal()};
}

/// Returns the question for the extent that an ONNX model leaves open.
OpenQuestion questionOf(const ExtentNeeded& error, const QString& file) {
    const QString extent = QString::fromStdString(error.extent());
    return {file, OpenQuestion::Kind::extent,
            LoaderText::tr("The model does not state the size of \"%1\".").arg(extent), extent};
}

}  // namespace

Reading read(const LoadRequest& request, const Scenario& open, const std::stop_token& stop) {
    const bool isOpen = open.job.problem != nullptr;
    LoadRequest wanted = request;
    if (!wanted.file.isEmpty() && !wanted.isNetwork) {
        const FileContent content = file_content(find_network_file(wanted.file.toStdString()));
        if (content == FileContent::placement) {
            Reading reading = readPlacement(wanted.file, open, stop);
            const Scenario& in = reading.scenario ? *reading.scenario : open;
            reading.score_s = scoreOf(in.job, *reading.placement);
            return reading;
        }
        if (content == FileContent::constraints) {
            if (!isOpen)
                throw InputError(wanted.file.toStdString(), "",
                                 "holds constraints: open their network first, then this file");
            if (!wanted.options) wanted.options = open.options;
            wanted.options->problem.constraints =
                read_constraints(std::exchange(wanted.file, QString()).toStdString());
        }
        if (content == FileContent::trace)
            throw InputError(wanted.file.toStdString(), "", "is a trace of a run: open it with File > Open");
        if (content == FileContent::unknown) {
            const JsonFile json(wanted.file.toStdString());
            const Json root = json.parse();
            refuse_split_points(json, JsonValue(json, root));
        }
        if (content == FileContent::machine) wanted.machine = std::exchange(wanted.file, QString());
    }
    if (wanted.file.isEmpty() && isOpen) {
        try {
            return {std::make_shared<const Scenario>(changed(wanted, open, stop)), true, {}};
        } catch (const ConstraintError& error) {
            auto rules = wanted.options.value_or(open.options).problem.constraints;
            // Of rules that were just given it is told what is wrong with them.
            if (!rules.file.empty() && rules.file != open.options.problem.constraints.file)
                throw InputError(rules.file, "", error.what());
            if (error.broken().empty() || rules != open.options.problem.constraints) throw;
            for (std::size_t i = error.broken().size(); i-- > 0;)
                rules.rules.erase(rules.rules.begin() + static_cast<std::ptrdiff_t>(error.broken()[i]));
            Reading refused{nullptr, true, {}};
            refused.brokenRules = {QString::fromUtf8(error.what()), error.broken().size(), std::move(rules)};
            return refused;
        }
    }

    Scenario next;
    next.networkFile = wanted.file;
    const Scenario& plain = open.whatIf ? *open.whatIf->base : open;
    next.machineFile = wanted.machine.isEmpty() ? plain.machineFile : wanted.machine;
    if (wanted.machine.isEmpty()) {
        next.editedFrom = plain.editedFrom;
        storeEdited(plain);
    }
    next.options = wanted.options.value_or(open.options);
    next.options.reading = wanted.reading;
    load_profile(next.options);
    if (!next.options.supplements.times.empty() && next.options.profile.empty())
        next.options.problem.cost.model = ProblemOptions().cost.model;
    next.options.supplements = {};
    next.options.problem.constraints = {};
    if (wanted.file.isEmpty()) {
        next.job.machine = std::make_shared<const Machine>(find_machine(next.machineFile.toStdString()));
        return {std::make_shared<const Scenario>(std::move(next)), false, {}};
    }
    next.networkPath = find_network_file(wanted.file.toStdString());
    NetworkFile network;
    try {
        network = readNetwork(next.networkPath, next.options.reading);
    } catch (const ScriptInputError& error) {
        if (error.remedy() == ScriptError::Remedy::none) throw;
        return {nullptr, false, {}, {}, questionOf(error, wanted.file)};
    } catch (const ExtentNeeded& error) {
        return {nullptr, false, {}, {}, questionOf(error, wanted.file)};
    }
    GroupingOptions& grouping = next.options.problem.grouping;
    next.groupingAsked = open.groupingAsked || (wanted.options && grouping != open.options.problem.grouping);
    if (!next.groupingAsked) grouping = default_grouping(network.graph);
    try {
        next.job =
            load_job(next.networkPath, std::move(network), next.machineFile.toStdString(), next.options);
    } catch (const std::exception& error) {
        const QStringList options = changedOptions(next.options);
        if (options.isEmpty()) throw;
        throw std::runtime_error(std::string(error.what()) + "; the current options are " +
                                 options.join(QStringLiteral(", ")).toStdString());
    }
    complete(next);
    auto scenario = std::make_shared<const Scenario>(std::move(next));
    // Factors stay with the machine.
    if (open.whatIf && wanted.machine.isEmpty() && !scenario->job.own_machine) {
        scenario = withFactors(scenario, open.whatIf->factors, scenario->job.single_device).scenario;
        storeEdited(*scenario);
    }
    return {scenario, false, {}};
}

OptionsPreview previewOf(const JobOptions& options, const Scenario& open, const Placement& now,
                         const std::stop_token& stop) {
    LoadRequest request;
    request.options = options;
    const Scenario next = changed(request, open, stop);
    const Problem& problem = *next.job.problem;
    OptionsPreview preview;
    preview.notes = next.notes;
    if (!options.profile.empty() && !next.job.own_machine) {
        const std::string predicted = unmeasured_text(problem);
        preview.notes.push_back(options.profile.filename().string() + ": " +
                                (predicted.empty() ? "all ops have measured times" : predicted));
        const std::string replaced = replaced_links_text(*next.job.machine, *next.job.problem->machine);
        if (!replaced.empty()) preview.notes.push_back(options.profile.filename().string() + ": " + replaced);
    }
    const auto [placement, moved] = carried(now, *open.job.problem, problem, next.job.single_device)
                                        .value_or(Carried{next.job.single_device, 0});
    preview.moved = moved;
    preview.outcome = Simulator(next.job.problem, next.job.simulation).run(placement);
    const double batch_s = preview.outcome->steady_step_time_s.value_or(preview.outcome->step_time_s);
    const std::int64_t batch = problem.network->batch();
    if (const auto& language = next.job.language) {
        preview.tokens_per_s = tokens_per_s(*language, batch, *preview.outcome);
    } else if (batch_s > 0) {
        preview.samples_per_s = static_cast<double>(batch) / batch_s;
    }
    preview.objective = next.job.objective;
    preview.assessment = assess(next.job, placement, *preview.outcome);
    if (open.job.objective == next.job.objective) {
        const Assessment before =
            assess(open.job, now, Simulator(open.job.problem, open.job.simulation).run(now));
        if (before.is_defined()) preview.now_s = before.score.value_s;
    }
    for (DeviceId device = 0; device < problem.devices; ++device) {
        const double bytes = preview.assessment.device_bytes[device],
                     limit_bytes = problem.memory_limit_bytes[device];
        if (device > 0 && bytes / limit_bytes <= preview.fullest_bytes / preview.fullest_limit_bytes)
            continue;
        preview.fullestDevice = QString::fromStdString(problem.machine->device(device).name);
        preview.fullest_bytes = bytes;
        preview.fullest_limit_bytes = limit_bytes;
    }
    return preview;
}

}  // namespace placewright
