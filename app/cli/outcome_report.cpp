// SPDX-License-Identifier: MIT
#include "app/cli/outcome_report.hpp"

#include <algorithm>
#include <iostream>

#include "app/cli/console.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/io/text/input_error.hpp"
#include "core/sim/objectives.hpp"
#include "core/sim/step_error.hpp"

namespace placewright {

void add_interval(Json& json, const Job& job, const Placement& placement, const Outcome& outcome) {
    const auto error = StepError::of(job.problem, placement, outcome, job.simulation);
    if (!error) return;
    const StepInterval interval = error->interval(outcome.step_time_s);
    json["step_time_low_s"] = interval.low_s;
    json["step_time_high_s"] = interval.high_s;
}

void print_outcome(const Job& job, const Placement& placement, const Outcome& outcome) {
    const Machine& machine = *job.problem->machine;
    std::cout << printable(job.problem->graph->name()) << " on " << printable(machine.name()) << '\n'
              << "step time " << format_seconds(outcome.step_time_s);
    if (const auto error = StepError::of(job.problem, placement, outcome, job.simulation))
        std::cout << " ± " << percent(error->half_width());
    if (job.simulation.batches > 1)
        std::cout << " a batch, " << format_seconds(outcome.total_time_s) << " for "
                  << job.simulation.batches;
    if (outcome.steady_step_time_s)
        std::cout << ", " << format_seconds(*outcome.steady_step_time_s) << " with a full pipeline";
    // Other objectives decide by their own memory figures.
    if (job.objective->is_step_time())
        std::cout << (outcome.fits ? ", fits the memory" : ", does not fit the memory");
    std::cout << "; " << outcome.ops_run << " ops run, " << outcome.transfers
              << (outcome.transfers == 1 ? " transfer\n\n" : " transfers\n\n");
    std::vector<Row> rows{{"device", "busy", "share", "peak", "memory"}};
    for (std::size_t i = 0; i < machine.devices().size(); ++i) {
        rows.push_back(
            {machine.devices()[i].name, format_seconds(outcome.device_busy_s[i]),
             percent(outcome.total_time_s > 0
                         ? outcome.device_busy_s[i] / (outcome.total_time_s * machine.devices()[i].streams)
                         : 0) +
                 (machine.devices()[i].streams > 1
                      ? " of " + std::to_string(machine.devices()[i].streams) + " streams"
                      : ""),
             format_bytes(outcome.peak_bytes[i]), format_bytes(job.problem->memory_limit_bytes[i])});
    }
    std::cout << table("lrrrr", rows);
    rows = {{"channel", "busy", "share", "bytes", "transfers"}};
    for (std::size_t i = 0; i < machine.channels().size(); ++i) {
        if (outcome.channel_transfers[i] == 0) continue;
        rows.push_back(
            {machine.channels()[i].name, format_seconds(outcome.channel_busy_s[i]),
             percent(outcome.total_time_s > 0 ? outcome.channel_busy_s[i] / outcome.total_time_s : 0),
             format_bytes(outcome.channel_bytes[i]), std::to_string(outcome.channel_transfers[i])});
    }
    if (rows.size() == 1) return;
    std::cout << '\n' << table("lrrrr", rows);
}

std::string bound_text(const Job& job, const Score& score, const Bound& bound) {
    const std::string above = above_bound_text(job, score, bound);
    if (above.empty()) return {};
    return ", " + above + " (bound " + format_seconds(bound.value_s) + " by " + bound.name + ')';
}

std::optional<Evaluation> evaluate(const Job& job, const Placement& placement, const JobArguments& arguments,
                                   const std::string& placement_file) {
    if (job.objective->is_step_time()) return {};
    try {
        return job.objective->evaluate(*job.problem, placement);
    } catch (const PlacementError& error) {
        throw InputError(placement_file.empty() ? arguments.network : placement_file, "", error.what());
    }
}

void print_evaluation(const Job& job, const Evaluation& evaluation) {
    const Machine& machine = *job.problem->machine;
    std::cout << job.objective->title << ' ' << format_seconds(evaluation.seconds)
              << (evaluation.fits ? ", fits the memory" : ", does not fit the memory") << "\n\n";
    std::vector<Row> rows{{"device", "load", "holds", "memory"}};
    for (std::size_t i = 0; i < machine.devices().size(); ++i) {
        rows.push_back({machine.devices()[i].name, format_seconds(evaluation.device_s[i]),
                        format_bytes(evaluation.device_bytes[i]),
                        format_bytes(job.problem->memory_limit_bytes[i])});
    }
    std::cout << table("lrrr", rows) << "\nEvent simulation (computation and transfers overlap):\n";
}

void print_nothing_fits(const std::string& memory_rule) {
    std::cerr << "placewright-cli: no placement that fits the memory was found";
    // Exprimo's penalty exceeds any step time.
    if (memory_rule != "exprimo")
        std::cerr
            << "; with --memory-rule " << memory_rule
            << " a placement that does not fit can score better than all that fit: try --memory-rule exprimo";
    std::cerr << '\n';
}

Json estimated_json(const Job& job) {
    Json ops = Json::array();
    for (const auto& [op, kind] : job.estimated) ops.push_back({{"op", op}, {"kind", kind}});
    return ops;
}

}  // namespace placewright
