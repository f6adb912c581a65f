// SPDX-License-Identifier: MIT
// placewright-cli: the same work as the window, without one. Standard output carries the result (with --json one JSON object and nothing
// else), standard error messages and, on a terminal, progress.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <new>
#include <unistd.h>

#include "app/bound_command.hpp"
#include "app/codesign_command.hpp"
#include "app/compare_command.hpp"
#include "app/console.hpp"
#include "app/experiment_command.hpp"
#include "app/explain.hpp"
#include "app/export_command.hpp"
#include "app/family_command.hpp"
#include "app/interrupt.hpp"
#include "app/job_arguments.hpp"
#include "app/outcome.hpp"
#include "app/predict_command.hpp"
#include "app/proof.hpp"
#include "app/saved_search.hpp"
#include "app/search_arguments.hpp"
#include "app/train_command.hpp"
#include "app/usage.hpp"
#include "core/algorithms.hpp"
#include "core/base/units.hpp"
#include "core/bounds/bounds.hpp"
#include "core/distributed/launch.hpp"
#include "core/distributed/ranks.hpp"
#include "core/graph/networks.hpp"
#include "core/io/chrome_trace.hpp"
#include "core/io/files.hpp"
#include "core/io/input_error.hpp"
#include "core/io/json.hpp"
#include "core/io/option_json.hpp"
#include "core/io/score_file.hpp"
#include "core/learn/torch_module.hpp"
#include "core/learn/trainer.hpp"
#include "core/search/refinement.hpp"
#include "core/search/search.hpp"
#include "core/sim/goals.hpp"

namespace placewright {
namespace {

/// Evaluations of a search that only time ends.
constexpr std::uint64_t kUnlimited = 1'000'000'000'000;

/// What the objective says of the placement; nothing for the step time. A placement that the objective is not defined for is the fault of
/// `placement_file`, where there is one.
std::optional<Evaluation> evaluate(const Job& job, const Placement& placement, const JobArguments& arguments,
                                   const std::string& placement_file) {
    if (job.goal->is_step_time()) return {};
    try {
        return job.goal->evaluate(*job.problem, placement);
    } catch (const PlacementError& error) {
        throw InputError(placement_file.empty() ? arguments.network : placement_file, "", error.what());
    }
}

/// Ops without a formula for their FLOPs.
Json estimated_json(const Job& job) {
    Json ops = Json::array();
    for (const auto& [op, kind] : job.estimated) ops.push_back({{"op", op}, {"kind", kind}});
    return ops;
}

/// Busy times, peaks and transfers are those of the event simulation, whatever the objective.
Json outcome_json(const Job& job, const Outcome& outcome, const std::optional<Evaluation>& evaluation, const JobArguments& arguments) {
    const Machine& machine = *job.problem->machine;
    Json devices = Json::array();
    for (std::size_t i = 0; i < machine.devices().size(); ++i) {
        devices.push_back({{"name", machine.devices()[i].name},
                           {"busy_s", outcome.device_busy_s[i]},
                           {"peak_bytes", outcome.peak_bytes[i]},
                           {"resident_bytes", outcome.resident_bytes[i]}});
        if (evaluation) devices.back()["load_s"] = evaluation->device_s[i];
    }
    Json channels = Json::array();
    for (std::size_t i = 0; i < machine.channels().size(); ++i) {
        channels.push_back({{"name", machine.channels()[i].name},
                            {"busy_s", outcome.channel_busy_s[i]},
                            {"bytes", outcome.channel_bytes[i]},
                            {"transfers", outcome.channel_transfers[i]}});
    }
    const Score score = evaluation ? job.objective.score(*job.problem, *evaluation) : job.objective.score(*job.problem, outcome);
    return {{"objective", arguments.objective},
            {"objective_s", score.step_time_s},
            {"step_time_s", outcome.step_time_s},
            {"steady_step_time_s", outcome.steady_step_time_s ? Json(*outcome.steady_step_time_s) : Json(nullptr)},
            {"total_time_s", outcome.total_time_s},
            {"fits", score.fits},
            {"score_s", score.seconds},
            {"devices", std::move(devices)},
            {"channels", std::move(channels)},
            {"ops_run", outcome.ops_run},
            {"transfers", outcome.transfers},
            {"estimated_ops", estimated_json(job)}};
}

void print_evaluation(const Job& job, const Evaluation& evaluation) {
    const Machine& machine = *job.problem->machine;
    std::cout << job.goal->title << ' ' << format_seconds(evaluation.seconds)
              << (evaluation.fits ? ", fits the memory" : ", does not fit the memory") << "\n\n";
    std::vector<Row> rows{{"device", "load", "holds", "memory"}};
    for (std::size_t i = 0; i < machine.devices().size(); ++i) {
        rows.push_back({machine.devices()[i].name, format_seconds(evaluation.device_s[i]), format_bytes(evaluation.device_bytes[i]),
                        format_bytes(job.problem->memory_limit_bytes[i])});
    }
    std::cout << table("lrrr", rows) << "\nIn the event simulation, where computing and transferring overlap:\n";
}

int simulate(const JobArguments& arguments, const std::string& placement_file, const std::string& trace_file, bool explained) {
    std::vector<std::string> inputs = arguments.inputs();
    inputs.push_back(placement_file);
    keep_apart(std::array{OutputFile{"--trace", trace_file}}, inputs);
    const Job job = arguments.load(placement_file);
    std::vector<std::string> notes;
    const Placement placement = placement_file.empty() ? job.single_device : read_placement(placement_file, *job.problem, &notes);
    for (const std::string& note : notes) std::cerr << printable(placement_file + ": " + note, 8192) << '\n';
    const std::optional<Evaluation> evaluation = evaluate(job, placement, arguments, placement_file);
    Simulator simulator(job.problem, job.simulation);
    Trace trace;
    const Outcome& outcome = trace_file.empty() && !explained ? simulator.run(placement) : simulator.run(placement, trace);
    if (!trace_file.empty()) write_chrome_trace(trace, *job.problem, trace_file);
    std::optional<Explanation> explanation;
    if (explained) {
        const InterruptGuard interrupt;
        explanation = explain(job, placement, trace, interrupt.token());
    }
    if (arguments.json) {
        Json json = outcome_json(job, outcome, evaluation, arguments);
        if (explanation) json["explain"] = explanation_json(job, placement, trace, *explanation);
        print(json);
    } else {
        if (evaluation) print_evaluation(job, *evaluation);
        print_outcome(job, outcome);
        if (explanation) print_explanation(job, placement, trace, *explanation);
    }
    if (!explanation || explanation->moves) return kDone;
    std::cerr << "placewright-cli: cancelled before all moves were evaluated\n";
    return kCancelled;
}

void print_progress(const SearchProgress& progress, const Budget& budget) {
    std::string text = format_count(static_cast<double>(progress.evaluations));
    if (budget.evaluations < kUnlimited) text += " of " + format_count(static_cast<double>(budget.evaluations));
    text += " evaluations, ";
    if (progress.best_placement)
        text += "best " + format_seconds(progress.best.step_time_s) + (progress.best.fits ? ", " : " (does not fit), ");
    text += format_count(static_cast<double>(progress.simulations) / std::max(progress.elapsed_s, 1e-9)) + " simulations/s, " +
            format_clock(progress.eta_s) + " left";
    std::fprintf(stderr, "\r\x1b[K%s", text.c_str());
}

struct OptimizeArguments {
    std::string algorithm = "auto";
    std::vector<std::string> settings;
    Budget budget;
    std::uint64_t seed = 1;
    bool algorithm_given = false, budget_given = false, seed_given = false;
    unsigned threads = 0;
    std::uint64_t refinement = 0;  ///< evaluations
    std::string out;
    std::string scores;
};

struct Found {
    const AlgorithmInfo& algorithm;
    OptionValues options;
    std::uint64_t seed;
    SearchResult result;
    Outcome outcome;
    std::optional<Evaluation> evaluation;  ///< nothing for the step time, or where the goal is not defined
    Bound bound;                           ///< on what is minimised

    const SearchProgress& progress() const { return result.progress; }
    const Placement& placement() const { return *result.progress.best_placement; }
    bool cancelled() const { return result.end == SearchEnd::cancelled; }
    double simulations_per_s() const { return static_cast<double>(progress().simulations) / std::max(progress().elapsed_s, 1e-9); }
};

Json found_json(const Job& job, const Found& found) {
    const SearchProgress& progress = found.progress();
    Json curve = Json::array();
    for (const CurvePoint& point : *progress.curve) curve.push_back({point.evaluations, point.best_s});
    Json by_name = Json::object();
    for (const auto& [op, device] : placement_by_name(found.placement(), *job.problem)) append_member(by_name, op, device);
    return {{"algorithm", found.algorithm.id},
            {"objective", job.goal->id},
            {"seed", found.seed},
            {"evaluations", progress.evaluations},
            {"wall_s", progress.elapsed_s},
            {"simulations_per_s", found.simulations_per_s()},
            {"best",
             {{"step_time_s", found.outcome.step_time_s},
              {"objective_s", progress.best.step_time_s},
              {"score_s", progress.best.seconds},
              {"fits", progress.best.fits}}},
            {"lower_bound_s", finite_or_null(found.bound.value_s)},
            {"curve", std::move(curve)},
            {"estimated_ops", estimated_json(job)},
            {"placement", std::move(by_name)},
            {"bound", {{"name", found.bound.name}, {"proof", found.bound.proof}}}};
}

void print_found(const Job& job, const Found& found) {
    const SearchProgress& progress = found.progress();
    const Score& best = progress.best;
    std::cout << found.algorithm.title << ", seed " << found.seed << ": " << progress.evaluations
              << (progress.evaluations == 1 ? " evaluation in " : " evaluations in ") << format_seconds(progress.elapsed_s)
              << (found.cancelled() ? " (cancelled)" : "") << ", " << format_count(found.simulations_per_s()) << " simulations/s\n"
              << "best " << (job.goal->is_step_time() ? "" : std::string(job.goal->title) + ' ') << format_seconds(best.step_time_s);
    // Bounds hold for what fits, and a device that cannot hold everything is nothing to compare with.
    if (best.fits && found.bound.value_s > 0) {
        const std::string groups = groups_text(job);
        std::cout << ", at most " << format_count(whole_percent(best.step_time_s / found.bound.value_s - 1)) << " % above "
                  << (groups.empty() ? "optimal" : "the best" + groups) << " (bound " << format_seconds(found.bound.value_s) << " by "
                  << found.bound.name << ')';
    }
    if (job.goal->is_step_time() && best.fits && job.single_device_fits && best.step_time_s > 0) {
        std::array<char, 32> speedup{};
        std::snprintf(speedup.data(), speedup.size(), "%.2f", job.single_device_s / best.step_time_s);
        std::cout << ", " << speedup.data() << " times as fast as " << single_device_name(job);
    }
    std::cout << "\n\n";
    if (found.evaluation) print_evaluation(job, *found.evaluation);
    print_outcome(job, found.outcome);
}

void write_found(const Job& job, const Found& found, const Path& file) {
    PlacementFile about;
    about.predicted = prediction(job, found.outcome, job.goal->is_step_time() ? found.bound.value_s : 0);
    about.produced_by = {found.algorithm.id, found.seed, found.progress().evaluations, found.options};
    write_placement(found.placement(), *job.problem, about, file);
}

std::string to_text(const ScoreConditions& conditions) {
    std::string text;
    for (const auto& [name, value] : conditions) text += name + ' ' + value + '\n';
    return text;
}

/// What the ranks that mpirun started beside the first do. That one tells of all that goes wrong, and says when it is over.
int serve(const JobArguments& arguments, unsigned threads) {
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGTERM, SIG_IGN);
    serve_rank([&] {
        const Job job = arguments.load();
        return RankWork{evaluator_of(job, threads), to_text(score_conditions(job))};
    });
    return kDone;
}

/// Takes from the file of scores, if there is one, what the arguments leave open of the search that began it. Returns what that one started
/// from beside starting_placements(), if it is the same search. Throws InputError.
std::vector<Placement> go_on(OptimizeArguments& search, OptionValues& options, const Job& job) {
    if (search.scores.empty()) return {};
    std::optional<SavedSearch> begun = read_saved_search(search.scores, score_conditions(job));
    if (!begun) return {};
    check_search(*begun, job, search.scores);
    if (!search.algorithm_given) {
        search.algorithm = begun->algorithm;
        options = begun->options;
        if (!search.seed_given) search.seed = begun->seed;
        if (!search.budget_given && begun->evaluations) search.budget.evaluations = *begun->evaluations;
    }
    const auto effective = [&](OptionValues values) {
        for (const OptionInfo& option : find_algorithm(search.algorithm)->options) values.emplace(option.name, option.default_value);
        return values;
    };
    const bool is_same =
        search.algorithm == begun->algorithm && search.seed == begun->seed && effective(options) == effective(begun->options);
    return is_same ? std::move(begun->starts) : std::vector<Placement>();
}

/// What there is to say where no search is worth its time.
int tell_infeasible(const Job& job, const Bound& bound, const JobArguments& arguments, const OptimizeArguments& search) {
    if (arguments.json) {
        print({{"algorithm", search.algorithm},
               {"objective", job.goal->id},
               {"seed", search.seed},
               {"evaluations", 0},
               {"wall_s", 0},
               {"simulations_per_s", 0},
               {"best", nullptr},
               {"lower_bound_s", nullptr},
               {"curve", Json::array()},
               {"estimated_ops", estimated_json(job)},
               {"placement", nullptr},
               {"bound", {{"name", bound.name}, {"proof", bound.proof}}}});
    }
    std::cerr << "placewright-cli: " << printable(infeasible_text(job, bound, memory_remedy(arguments.options(), false)), 8192) << '\n';
    return kNothingFits;
}

int optimize(const JobArguments& arguments, OptimizeArguments search) {
    const std::optional<Launch> launched = launch();
    if (launched && launched->rank > 0) return serve(arguments, search.threads);
    const InterruptGuard interrupt;
    std::optional<LeadingRank> ranks;
    if (launched) ranks.emplace(interrupt.source());
    OptionValues options = parse_settings(chosen_algorithm(search.algorithm), search.settings);
    if (!search.out.empty()) expect_writable(search.out);
    keep_apart(std::array{OutputFile{"--scores", search.scores}, OutputFile{"--out", search.out}}, arguments.inputs());
    Job job = arguments.load();
    const std::vector<Placement> starts = go_on(search, options, job);
    const AlgorithmInfo& algorithm = *find_algorithm(search.algorithm);
    const std::shared_ptr<const Problem> finest = search.refinement > 0 ? ungrouped(*job.problem) : job.problem;
    // Ops apart can be faster than any placement of groups, and fit where groups do not.
    Bound bound = quick_bounds(*finest, *job.goal, job.simulation).front();
    if (!std::isfinite(bound.value_s)) return tell_infeasible(job, bound, arguments, search);

    std::unique_ptr<Optimizer> optimizer;
    try {
        optimizer = algorithm.make(
            {job.problem, search.seed, all_starts(job, starts), planned_evaluations(search.budget), job.goal, job.simulation}, options);
    } catch (const OptionError& error) {
        throw UsageError(std::string("--set: ") + error.what());
    }
    std::optional<ScoreFile> scores;
    std::exception_ptr unwritten;  // that a file could not be
    if (!search.scores.empty()) {
        SavedSearch begun{algorithm.id, options, search.seed};
        if (search.budget.evaluations < kUnlimited) begun.evaluations = search.budget.evaluations;
        scores.emplace(search.scores, score_conditions(job), begun);
    }
    std::unique_ptr<Evaluator> evaluator = evaluator_of(job, search.threads);
    if (ranks) {
        try {
            evaluator = ranks->evaluator({std::move(evaluator), to_text(score_conditions(job))});
        } catch (const RankError& error) {
            throw InputError(error.rank(), "", error.what());
        }
    }
    if (scores) {
        evaluator = recorded_evaluator(std::move(evaluator), scores->scores(), [&](std::span<const RecordedScore> added) {
            if (unwritten) return;
            try {
                scores->append(added);
            } catch (const InputError&) {
                // What has been found is still told.
                unwritten = std::current_exception();
                interrupt.source().request_stop();
            }
        });
    }
    ProgressCallback report;
    const bool terminal = isatty(STDERR_FILENO) != 0;
    Budget shown = search.budget;
    shown.evaluations += search.refinement;
    if (terminal) report = [&](const SearchProgress& progress) { print_progress(progress, shown); };
    Proof proof(finest, *job.goal, job.simulation, std::move(bound),
                job.single_device_fits ? job.single_device_s : std::numeric_limits<double>::infinity());
    SearchResult result = run_search(*optimizer, *evaluator, search.budget, interrupt.token(), report, std::chrono::milliseconds(100));
    if (search.refinement > 0 && result.end != SearchEnd::cancelled && result.progress.best_placement) {
        const std::shared_ptr<const Problem> grouped = std::exchange(job.problem, finest);
        job.grouping = {};
        const Placement start = regrouped(*result.progress.best_placement, *grouped, *job.problem);
        const auto allow_cpu = options.find("allow_cpu");
        result = refine(std::move(result), job.problem, start, *evaluator_of(job, search.threads), {search.refinement}, search.seed,
                        allow_cpu != options.end() && std::get<bool>(allow_cpu->second), interrupt.token(), report,
                        std::chrono::milliseconds(100));
    }
    if (terminal) std::fputs("\r\x1b[K", stderr);
    const auto end_ranks = [&] {
        if (!ranks || !ranks->end()) return false;
        std::cerr << printable("placewright-cli: " + ranks->end()->rank() + ' ' + ranks->end()->what(), 8192) << "; the search ends here\n";
        return true;
    };
    if (!result.progress.best_placement) {
        if (end_ranks()) return kInternalError;
        std::cerr << "placewright-cli: cancelled before the first placement was scored\n";
        return kCancelled;
    }
    // The proof may have a part of the time that the search took, but no more than was asked for.
    constexpr double kForProof = 0.2;
    const double elapsed_s = result.progress.elapsed_s;
    bound = proof.end(std::isfinite(search.budget.seconds) ? std::max(0.0, search.budget.seconds - elapsed_s) : kForProof * elapsed_s,
                      interrupt.token());
    // What an algorithm has proven holds for its groups alone.
    if (search.refinement == 0 && result.progress.lower_bound_s > bound.value_s)
        bound = {algorithm.id, result.progress.lower_bound_s, "proven by the search itself"};
    bound = bound_of(job, std::move(bound));
    const Outcome outcome = Simulator(job.problem, job.simulation).run(*result.progress.best_placement);
    std::optional<Evaluation> evaluation;
    if (result.progress.best != kUndefinedScore) evaluation = evaluate(job, *result.progress.best_placement, arguments, {});
    const Found found{algorithm, options, search.seed, std::move(result), outcome, std::move(evaluation), bound};

    const auto show = [&] {
        if (arguments.json) {
            print(found_json(job, found));
        } else {
            print_found(job, found);
        }
    };
    // The result comes before the file: it is not lost if that cannot be written. With ranks it is the other way round: while mpirun ends
    // them it passes on little of what they print.
    if (!ranks) show();
    try {
        if (!search.out.empty()) write_found(job, found, search.out);
    } catch (const InputError&) {
        unwritten = std::current_exception();
    }
    const bool rank_lost = end_ranks();
    if (ranks) show();
    if (unwritten) std::rethrow_exception(unwritten);
    if (!search.out.empty() && !arguments.json) std::cout << "\nwritten to " << search.out << std::endl;
    if (rank_lost) return kInternalError;
    if (found.cancelled()) return kCancelled;
    if (found.progress().best.fits) return kDone;
    std::cerr << "placewright-cli: no placement that fits the memory was found\n";
    return kNothingFits;
}

struct ConvertArguments {
    std::vector<std::string> files;
    std::string network;
    std::int64_t batch = 0;
    std::string graph_out, machine_out;  ///< of a workload
    ReadingArguments reading;
    ShardArguments shards;
};

int convert_workload(const ConvertArguments& arguments) {
    if (arguments.files.size() != 1) throw UsageError("convert --graph OUT --machine OUT takes one file, the workload");
    const std::string& input = arguments.files[0];
    if (file_content(input) != FileContent::workload)
        throw UsageError("--graph, --machine: " + input + " is not a workload, which is two in one");
    keep_apart(std::array{OutputFile{"--graph", arguments.graph_out}, OutputFile{"--machine", arguments.machine_out}}, std::array{input});
    const NetworkFile workload = read_network(input, arguments.batch > 0 ? std::optional(arguments.batch) : std::nullopt);
    if (!arguments.graph_out.empty()) write_network(workload.graph, arguments.graph_out);
    if (!arguments.machine_out.empty()) write_machine(*workload.machine, arguments.machine_out);
    return kDone;
}

int convert(const ConvertArguments& arguments) {
    const auto& [files, network, batch, graph_out, machine_out, reading, shards] = arguments;
    if (!graph_out.empty() || !machine_out.empty()) {
        if (!network.empty()) throw UsageError("--network: a generated network has no machine; give --graph and --machine with a workload");
        if (!shards.texts.empty()) throw UsageError("--shard: the ops of a workload have no channels");
        return convert_workload(arguments);
    }
    if (!network.empty()) {
        const NetworkInfo* info = find_network(network);
        if (info == nullptr) {
            std::vector<std::string> known;
            for (const NetworkInfo& item : known_networks()) known.emplace_back(item.name);
            throw UsageError("--network " + network + ": there is no such network; there are " + usage::joined(known, ", "));
        }
        if (files.size() != 1) throw UsageError("convert --network NAME takes one file, the output");
        write_network(shards.split(info->build(batch > 0 ? batch : 32)), files[0]);
        return kDone;
    }
    if (files.size() != 2) throw UsageError("convert takes an input and an output file");
    const FileContent content = file_content(files[0]);
    if (content == FileContent::workload) {
        throw UsageError(files[0] + " is a workload, a network and a machine in one: convert it with --graph OUT --machine OUT");
    }
    if (content == FileContent::machine) {
        if (batch > 0) throw UsageError("--batch: a machine has no batch size");
        if (!shards.texts.empty()) throw UsageError("--shard: a machine has no ops");
        write_machine(read_machine(files[0]), files[1]);
    } else {
        NetworkFile read = read_network(files[0], reading.options(batch));
        report_estimated(files[0], read);
        write_network(shards.split(std::move(read.graph)), files[1]);
    }
    return kDone;
}

Json option_info_json(const OptionInfo& option) {
    Json json{{"name", option.name}, {"type", type_name(option)}, {"default", option_json(option.default_value)}};
    if (option.min) json["min"] = *option.min;
    if (option.max) json["max"] = *option.max;
    if (!option.choices.empty()) json["choices"] = option.choices;
    json["help"] = option.help;
    return json;
}

int list_algorithms(bool json) {
    if (json) {
        Json list = Json::array();
        for (const AlgorithmInfo& info : algorithms()) {
            Json options = Json::array();
            for (const OptionInfo& option : info.options) options.push_back(option_info_json(option));
            Json presets = Json::array();
            for (const OptionPreset& preset : info.presets) {
                presets.push_back({{"name", preset.name}, {"help", preset.help}, {"options", options_json(preset.values)}});
            }
            list.push_back({{"id", info.id},
                            {"title", info.title},
                            {"help", info.help},
                            {"options", std::move(options)},
                            {"presets", std::move(presets)}});
        }
        print(list);
        return kDone;
    }
    std::cout << "Options are given to optimize as --set option=value; here with their defaults. A preset sets\nseveral.\n";
    for (const AlgorithmInfo& info : algorithms()) {
        std::cout << '\n' << info.id << " - " << info.title << "\n  " << wrapped(info.help, 2);
        for (const OptionInfo& option : info.options) {
            std::cout << "    " << option.name << '=' << to_string(option.default_value);
            if (!option.choices.empty()) {
                std::cout << "  (" << usage::joined(option.choices, ", ") << ')';
            } else if (option.min && option.max) {
                std::cout << "  (" << to_string(*option.min) << " to " << to_string(*option.max) << ')';
            }
            std::cout << "\n        " << wrapped(option.help, 8);
        }
        for (const OptionPreset& preset : info.presets)
            std::cout << "    preset=" << preset.name << "\n        " << wrapped(preset.help, 8);
    }
    return kDone;
}

int list_networks(bool json) {
    Json list = Json::array();
    std::vector<Row> rows{{"name", "ops", "parameters", "forward", "batch", "title"}};
    for (const ShippedFile& shipped : shipped_networks()) {
        const Graph graph = read_network(shipped.file).graph;
        const GraphTotals sums = totals(graph);
        const NetworkInfo* info = find_network(shipped.name);
        const std::string title(info != nullptr ? info->title : std::string_view(graph.name()));
        const std::int64_t parameters = sums.parameter_bytes / 4;
        list.push_back({{"name", shipped.name},
                        {"title", title},
                        {"ops", sums.ops},
                        {"parameters", parameters},
                        {"forward_flops", sums.forward_flops},
                        {"file", shipped.file.string()}});
        rows.push_back({shipped.name, std::to_string(sums.ops), format_count(static_cast<double>(parameters)),
                        format_flops(sums.forward_flops), std::to_string(graph.batch()), title});
    }
    if (json) {
        print(list);
    } else {
        std::cout << table("lrrrrl", rows);
    }
    return kDone;
}

/// "Xeon Gold 6132, 2x NVIDIA V100": neighbours of one model together.
std::string device_summary(const Machine& machine) {
    const auto devices = machine.devices();
    std::string text;
    for (std::size_t i = 0, next = 0; i < devices.size(); i = next) {
        while (next < devices.size() && devices[next].model == devices[i].model) ++next;
        text += (text.empty() ? "" : ", ") + (next - i > 1 ? std::to_string(next - i) + "x " : std::string()) + devices[i].model;
    }
    return text;
}

int list_machines(bool json) {
    Json list = Json::array();
    std::vector<Row> rows{{"name", "title", "devices"}};
    for (const ShippedFile& shipped : shipped_machines()) {
        const Machine machine = read_machine(shipped.file);
        list.push_back(Json::parse(machine_json(machine)));
        rows.push_back({shipped.name, machine.name(), device_summary(machine)});
    }
    if (json) {
        print(list);
    } else {
        std::cout << table("lll", rows);
    }
    return kDone;
}

int run(int argc, char** argv) {
    CLI::App app("Decides on which device each operation of a neural network runs.", "placewright-cli");
    app.formatter(std::make_shared<usage::HelpText>());
    app.set_version_flag("--version", PLACEWRIGHT_VERSION, "Print the version and exit");
    app.set_help_flag("-h,--help", "Print this help and exit");
    app.require_subcommand(1);
    app.footer(
        "Exit status: 0 done, 1 internal error, 2 wrong usage, 3 bad input file or unwritable output,\n"
        "4 no placement found that fits the memory, 130 cancelled (what was found is still written).");
    int status = kDone;

    JobArguments job;
    std::string placement_file;
    std::string trace_file;
    CLI::App& simulate_command = *app.add_subcommand("simulate", "One simulation");
    job.add_to(simulate_command, goals());
    simulate_command.add_option("--placement", placement_file, "Placement file; else everything is on the fastest device")->type_name("P");
    simulate_command.add_option("--trace", trace_file, "Write the trace as Chrome trace JSON (opens in Perfetto)")->type_name("OUT");
    bool explained = false;
    simulate_command.add_flag("--explain", explained, "Tell where time and memory go, and what moves would gain");
    simulate_command.callback([&] { status = simulate(job, placement_file, trace_file, explained); });

    OptimizeArguments search;
    if (launch()) search.threads = 1;  // a rank a core is what mpirun expects
    CLI::App& optimize_command = *app.add_subcommand("optimize", "One search for a good placement");
    job.add_to(optimize_command, goals());
    const CLI::Option* algorithm = optimize_command.add_option("--algorithm", search.algorithm, "What searches (see algorithms)")
                                       ->type_name("A")
                                       ->capture_default_str();
    usage::add_repeated(optimize_command, "--set", search.settings, "Option of the algorithm", "OPTION=VALUE");
    const CLI::Option* evaluations =
        optimize_command.add_option("--evaluations", search.budget.evaluations, "Placements to score; no limit if only --seconds is given")
            ->check(usage::whole_number(1, kUnlimited))
            ->type_name("N")
            ->capture_default_str();
    const CLI::Option* seconds =
        optimize_command.add_option("--seconds", search.budget.seconds, "Time to search; results then depend on the computer")
            ->check(usage::positive_number(1e9, "a number above 0"))
            ->type_name("S");
    const CLI::Option* seed = optimize_command.add_option("--seed", search.seed, "Seed of the algorithm's random numbers")
                                  ->check(usage::whole_number(0))
                                  ->type_name("K")
                                  ->capture_default_str();
    usage::add_threads(optimize_command, search.threads, "Threads, 0 for all cores; the result is the same");
    optimize_command.add_option("--refine", search.refinement, "Then up to N single moves of ops, whatever the groups")
        ->check(usage::whole_number(0, kUnlimited))
        ->type_name("N");
    optimize_command.add_option("--out", search.out, "Write the placement file")->type_name("P");
    optimize_command.add_option("--scores", search.scores, "Keep all scores; given again, a search that was cut off goes on")
        ->type_name("FILE");
    optimize_command.callback([&] {
        // Options belong to an algorithm, be it the default one.
        search.algorithm_given = algorithm->count() > 0 || !search.settings.empty();
        search.seed_given = seed->count() > 0;
        search.budget_given = evaluations->count() > 0 || seconds->count() > 0;
        if (seconds->count() > 0 && evaluations->count() == 0) search.budget.evaluations = kUnlimited;
        status = optimize(job, search);
    });

    CompareArguments comparison;
    CLI::App& compare_command = *app.add_subcommand("compare", "Several algorithms on equal evaluations");
    comparison.add_to(compare_command);
    compare_command.callback([&] { status = compare_algorithms(comparison); });

    CodesignArguments codesign;
    CLI::App& codesign_command = *app.add_subcommand("codesign", "Which machine to buy: a Pareto front of price against step time");
    codesign.add_to(codesign_command);
    codesign_command.callback([&] { status = codesign_machine(codesign); });

    ExperimentArguments experiment;
    CLI::App& experiment_command = *app.add_subcommand("experiment", "An experiment of a paper, as tables and data");
    experiment.add_to(experiment_command);
    experiment_command.callback([&] { status = run_experiment(experiment); });

    BoundArguments bounds;
    CLI::App& bound_command = *app.add_subcommand("bound", "Lower bounds on what is minimised, and how each is proven");
    bounds.add_to(bound_command);
    bound_command.callback([&] { status = print_bounds(bounds); });

    ExportArguments exported;
    CLI::App& export_command = *app.add_subcommand("export", "A placement for the training run that it was made for");
    exported.add_to(export_command);
    export_command.callback([&] { status = export_placement(exported); });

    ConvertArguments conversion;
    CLI::App& convert_command = *app.add_subcommand("convert", "convert IN OUT between formats, or --network NAME OUT");
    convert_command.footer(
        "A workload of dnn-partitioning becomes two files: convert IN --graph OUT --machine OUT. Latencies\n"
        "become \"time_s\" of the device models \"cpu\" and \"accelerator\", transfer costs \"transfer_s\" of an\n"
        "output, node sizes \"resident_bytes\", colour classes \"colocate\": with --cost measured, max-load and\n"
        "block-latency stay the same. The CPUs are one device, however many; the sizes of edges are lost;\n"
        "the speeds of the machine are nominal.\n\n" +
        app.get_footer());
    convert_command.add_option("FILES", conversion.files, "Input and output, or only the output with --network")->expected(1, -1);
    convert_command.add_option("--network", conversion.network, "Generate this network (see networks)")->type_name("NAME");
    convert_command.add_option("--batch", conversion.batch, "Batch size; 32 for generated networks")
        ->check(usage::whole_number(1, 1'000'000))
        ->type_name("B");
    convert_command.add_option("--graph", conversion.graph_out, "Write the network of a workload")->type_name("OUT");
    convert_command.add_option("--machine", conversion.machine_out, "Write the machine of a workload")->type_name("OUT");
    conversion.reading.add_to(convert_command);
    conversion.shards.add_to(convert_command);
    convert_command.callback([&] { status = convert(conversion); });

    FamilyArguments family;
    CLI::App& family_command = *app.add_subcommand("family", "Networks of one kind that differ, to train and test a policy on");
    family.add_to(family_command);
    family_command.callback([&] { status = make_family(family); });

    TrainArguments training;
    training.threads = search.threads;
    CLI::App& train_command = *app.add_subcommand("train", "A policy that places networks, trained on a family of them");
    training.add_to(train_command);
    train_command.callback([&] { status = train_policy(training); });

    PredictArguments prediction;
    CLI::App& predict_command = *app.add_subcommand("predict", "What a trained policy makes of a network, at once");
    prediction.add_to(predict_command);
    predict_command.callback([&] { status = predict(prediction); });

    bool json = false;
    const auto add_list = [&](const char* name, const char* help, int (*list)(bool)) {
        CLI::App& command = *app.add_subcommand(name, help);
        command.add_flag("--json", json, "Print one JSON array");
        command.callback([&, list] { status = list(json); });
    };
    add_list("algorithms", "All algorithms with their options", list_algorithms);
    add_list("networks", "The networks that ship", list_networks);
    add_list("machines", "The machines that ship", list_machines);

    if (launch()) {
        const auto alone = [&](const CLI::App* item) { return item != &optimize_command && item != &train_command; };
        for (CLI::App* command : app.get_subcommands(alone)) {
            command->preparse_callback([command](std::size_t) {
                throw UsageError(command->get_name() + ": mpirun can spread optimize and train over ranks, but nothing else");
            });
        }
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() != 0) throw UsageError(usage::complaint(app, error));
        app.exit(error);
    }
    if (!std::cout.flush()) throw std::runtime_error("standard output cannot be written");
    return status;
}

}  // namespace
}  // namespace placewright

int main(int argc, char** argv) {
    using namespace placewright;
    // What goes wrong on all ranks is told by one, whose exit status counts.
    const bool silent = launch() && launch()->rank > 0;
    const auto complain = [silent](const std::string& text, ExitStatus status) {
        if (silent) return kDone;
        // Names from files and arguments may hold anything; the message stays one line.
        std::cerr << printable(text, 8192) << '\n';
        return status;
    };
    try {
        return run(argc, argv);
    } catch (const UsageError& error) {
        return complain(std::string("placewright-cli: ") + error.what(), kWrongUsage);
    } catch (const InputError& error) {
        return complain(error.what(), kBadInput);
    } catch (const TorchMissing& error) {
        return complain(std::string("placewright-cli: ") + error.what(), kInternalError);
    } catch (const TrainingDiverged& error) {
        return complain(std::string("placewright-cli: ") + error.what(), kInternalError);
    } catch (const std::bad_alloc&) {
        return complain("placewright-cli: there is not enough memory", kInternalError);
    } catch (const std::exception& error) {
        return complain(std::string("placewright-cli: internal error: ") + error.what(), kInternalError);
    }
}
