// SPDX-License-Identifier: MIT
#include "app/cli/simulate_command.hpp"

#include <array>
#include <iostream>
#include <optional>
#include <vector>

#include "app/cli/advice_report.hpp"
#include "app/cli/console.hpp"
#include "app/cli/explain_report.hpp"
#include "app/cli/interrupt.hpp"
#include "app/cli/language_report.hpp"
#include "app/cli/outcome_report.hpp"
#include "app/cli/search_arguments.hpp"
#include "app/cli/usage.hpp"
#include "core/base/exit_status.hpp"
#include "core/base/text.hpp"
#include "core/cost/op_work.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/io/text/json.hpp"
#include "core/io/text/whole_file.hpp"
#include "core/io/traces/chrome_trace.hpp"
#include "core/sim/objectives.hpp"

namespace placewright {
namespace {

/// Busy times, peaks and transfers come from the event simulation for every objective.
Json outcome_json(const Job& job, const Outcome& outcome, const std::optional<Evaluation>& evaluation,
                  const JobArguments& arguments) {
    const Machine& machine = *job.problem->machine;
    Json devices = Json::array();
    for (std::size_t i = 0; i < machine.devices().size(); ++i) {
        devices.push_back({{"name", machine.devices()[i].name},
                           {"model", machine.devices()[i].model},
                           {"memory_bytes", job.problem->memory_limit_bytes[i]},
                           {"busy_s", outcome.device_busy_s[i]},
                           {"peak_bytes", outcome.peak_bytes[i]},
                           {"resident_bytes", outcome.resident_bytes[i]}});
        if (!evaluation) continue;
        devices.back()["load_s"] = evaluation->device_s[i];
        devices.back()["held_bytes"] = evaluation->device_bytes[i];  // "fits" is about these
    }
    Json channels = Json::array();
    for (std::size_t i = 0; i < machine.channels().size(); ++i) {
        channels.push_back({{"name", machine.channels()[i].name},
                            {"busy_s", outcome.channel_busy_s[i]},
                            {"bytes", outcome.channel_bytes[i]},
                            {"transfers", outcome.channel_transfers[i]}});
    }
    const Score score =
        evaluation ? job.penalty.score(*job.problem, *evaluation) : job.penalty.score(*job.problem, outcome);
    return {{"objective", arguments.objective},
            {"objective_s", score.value_s},
            {"step_time_s", outcome.step_time_s},
            {"steady_step_time_s",
             outcome.steady_step_time_s ? Json(*outcome.steady_step_time_s) : Json(nullptr)},
            {"total_time_s", outcome.total_time_s},
            {"fits", score.fits},
            {"score_s", score.penalised_s},
            {"devices", std::move(devices)},
            {"channels", std::move(channels)},
            {"ops_run", outcome.ops_run},
            {"transfers", outcome.transfers},
            {"estimated_ops", estimated_json(job)}};
}

/// A line for each op: what its kernels do (core/cost/op_work.hpp) and how long it takes on each device. A
/// product is "batch x rows x columns x depth", with a "w" where Winograd's algorithm applies and
/// "*N" for one that runs N times, each waiting for the one before.
std::string ops_csv(const Problem& problem) {
    std::string text = "op,kind,phase,class,type,gradient,flops,bytes,stream_bytes,kernels,products";
    for (const Device& device : problem.machine->devices()) text += ',' + csv_field("time_s " + device.name);
    text += '\n';
    for (OpId id = 0; id < problem.ops; ++id) {
        const Op& op = problem.graph->op(id);
        const OpWork work = op_work(*problem.graph, id, problem.optimizer_states);
        text += csv_field(op.name) + ',' + csv_field(op.kind) + ',' + std::string(to_string(op.phase)) + ',' +
                std::string(to_string(work.work_class)) + ',' + std::string(to_string(work.type)) + ',' +
                (work.gradient ? "1," : "0,") + to_string(OptionValue(work.flops)) + ',' +
                to_string(OptionValue(work.bytes)) + ',' + to_string(OptionValue(work.stream_bytes)) + ',' +
                to_string(OptionValue(work.kernels)) + ',';
        for (std::size_t i = 0; i < work.product_count; ++i) {
            const ProductShape& shape = work.products[i];
            text += i > 0 ? ";" : "";
            for (const double extent : {shape.batch, shape.rows, shape.columns, shape.depth})
                text += to_string(OptionValue(extent)) + 'x';
            text.pop_back();
            if (shape.winograd) text += 'w';
            if (shape.steps > 1) text += '*' + to_string(OptionValue(shape.steps));
        }
        for (DeviceId device = 0; device < problem.devices; ++device)
            text += ',' + to_string(OptionValue(problem.time_s(id, device)));
        text += '\n';
    }
    return text;
}

}  // namespace

void SimulateArguments::add_to(CLI::App& command) {
    job.add_to(command, objectives());
    usage::add_placement(command, placement);
    command.add_option("--trace", trace, "Write the trace as Chrome trace JSON (opens in Perfetto)")
        ->check(usage::path())
        ->type_name("OUT");
    command.add_option("--ops", ops, "Write each op's work and its time on each device as CSV")
        ->check(usage::path())
        ->type_name("OUT");
    command.add_flag("--explain", explain, "Explain where time and memory go, and what moves would gain");
}

int simulate_placement(const SimulateArguments& arguments) {
    const std::string &placement_file = arguments.placement, &trace_file = arguments.trace,
                      &ops_file = arguments.ops;
    std::vector<std::string> inputs = arguments.job.inputs();
    inputs.push_back(placement_file);
    keep_apart(std::array{OutputFile{"--trace", trace_file}, OutputFile{"--ops", ops_file}}, inputs);
    const Job job = arguments.job.load(placement_file);
    std::vector<std::string> notes;
    const Placement placement =
        placement_file.empty() ? job.single_device : read_placement(placement_file, *job.problem, &notes);
    for (const std::string& note : notes) std::cerr << printable(placement_file + ": " + note, 8192) << '\n';
    const std::optional<Evaluation> evaluation = evaluate(job, placement, arguments.job, placement_file);
    Simulator simulator(job.problem, job.simulation);
    Trace trace;
    const Outcome& outcome =
        trace_file.empty() && !arguments.explain ? simulator.run(placement) : simulator.run(placement, trace);
    if (!ops_file.empty()) write_file(ops_file, ops_csv(*job.problem));
    if (!trace_file.empty()) write_chrome_trace(trace, *job.problem, trace_file);
    std::optional<Explanation> explanation;
    if (arguments.explain) {
        const InterruptGuard interrupt;
        explanation = explain(job, placement, trace, interrupt.token());
    }
    warn_of_cpu(job, placement, outcome);
    const bool fits = evaluation ? evaluation->fits : outcome.fits;
    const std::optional<Remedies> remedies = remedies_for(arguments.job, job, placement, fits);
    const std::optional<Remedies> on_accelerator =
        accelerator_remedies_for(arguments.job, job, placement, outcome, fits);
    const std::optional<LanguageReport> language = language_report(
        arguments.job, job, placement, outcome, evaluation ? evaluation->seconds : outcome.step_time_s);
    if (arguments.job.json) {
        Json json = outcome_json(job, outcome, evaluation, arguments.job);
        add_interval(json, job, placement, outcome);
        if (remedies) add_remedies(json, *remedies, job);
        if (on_accelerator) add_accelerator_remedies(json, *on_accelerator, job);
        if (language) add_language(json, *language);
        if (explanation) json["explain"] = explanation_json(job, placement, trace, *explanation);
        print(json);
    } else {
        if (evaluation) print_evaluation(job, *evaluation);
        print_outcome(job, placement, outcome);
        if (language) print_language(*language);
        if (remedies) print_remedies(*remedies, job);
        if (on_accelerator) print_accelerator_remedies(*on_accelerator, job);
        if (explanation) print_explanation(job, placement, trace, *explanation);
    }
    if (!explanation || explanation->moves) return kDone;
    std::cerr << "placewright-cli: cancelled before all moves were evaluated\n";
    return kCancelled;
}

}  // namespace placewright
