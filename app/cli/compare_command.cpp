// SPDX-License-Identifier: MIT
#include "app/cli/compare_command.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <numeric>

#include "app/cli/console.hpp"
#include "app/cli/interrupt.hpp"
#include "app/cli/outcome_report.hpp"
#include "app/cli/progress_line.hpp"
#include "app/cli/search_arguments.hpp"
#include "core/base/exit_status.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/io/machines/machine_parts.hpp"
#include "core/io/text/option_json.hpp"
#include "core/io/text/whole_file.hpp"
#include "core/job/compared_case.hpp"

namespace placewright {
namespace {

std::vector<Contestant> contestants(const CompareArguments& arguments) {
    std::vector<Contestant> all;
    for (const std::string& id : usage::split(arguments.algorithms)) {
        const AlgorithmInfo& algorithm = chosen_algorithm(id, "--algorithms");
        const auto same = std::ranges::find(all, &algorithm, &Contestant::algorithm);
        if (same != all.end()) throw UsageError("--algorithms: " + id + " is named twice");
        all.push_back({&algorithm, {}});
    }
    apply_settings(all, arguments.settings);
    return all;
}

/// Splits a comma-separated list; a file whose name contains a comma stays one item.
std::vector<std::string> names_in(const std::string& text) {
    std::error_code error;
    return std::filesystem::exists(text, error) ? std::vector<std::string>{text} : usage::split(text);
}

/// A network on a machine, before its searches run.
struct Case {
    Job job;
    ComparedCase compared;
};

/// Loads all cases before the first search, so that an error in the last name is reported at once.
std::vector<Case> load_cases(const CompareArguments& arguments, const std::vector<Contestant>& contestants) {
    std::vector<Case> cases;
    for (const std::string& network : names_in(arguments.job.network)) {
        for (const std::string& machine : machines_in(arguments.job.machine)) {
            JobArguments one = arguments.job;
            one.network = network;
            one.machine = machine;
            Case item{one.load(), {}};
            const std::string& machine_name = item.job.machine->name();
            item.compared.title = item.job.problem->graph->name() + " on " + machine_name;
            item.compared.labels = {network, machine.empty() ? machine_name : machine};
            item.compared.contestants = contestants;
            item.compared.objective = item.job.objective;
            if (item.job.single_device_fits) item.compared.one_device_s = item.job.single_device_s;
            item.compared.bound = tightest_bound(item.job);
            cases.push_back(std::move(item));
        }
    }
    return cases;
}

/// `place`: start of the progress line.
void run_case(const CompareArguments& arguments, const Job& job, ComparedCase& compared,
              const std::string& place, const std::stop_token& stop) {
    ComparisonTask task{
        job.problem, job.simulation,        job.penalty,      starting_placements(job), compared.contestants,
        {},          arguments.evaluations, arguments.threads};
    task.objective = job.objective;
    task.seeds.resize(arguments.seeds);
    std::iota(task.seeds.begin(), task.seeds.end(), 1);
    const ProgressLine line(place);
    try {
        compared.runs = compare(task, stop, line.callback());
    } catch (const OptionError& error) {
        throw UsageError(std::string("--set: ") + error.what());
    }
    compared.best_known_s = best_score_s(compared.runs);
    mark_equal(compared, job.problem, job.simulation);
    if (compared.best_known_s && arguments.best_known_s > 0) compared.best_known_s = arguments.best_known_s;
}

Json optional_json(const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json reached_json(const std::optional<Reached>& point) {
    return point ? Json({{"evaluations", point->evaluations}, {"seconds", point->seconds}}) : Json(nullptr);
}

Json standing_json(const ComparedCase& compared, const Standing& standing) {
    const Contestant& contestant = compared.contestants[standing.contestant];
    Json runs = Json::array();
    for (const ComparedRun* run : standing.runs) {
        const SearchProgress& end = run->progress;
        runs.push_back({{"seed", run->seed},
                        {"score_s", score_json(end.best)},
                        {value_name(*compared.objective), objective_json(end.best)},
                        {"fits", end.best.fits},
                        {"evaluations", end.evaluations},
                        {"simulations", end.simulations},
                        {"wall_s", end.elapsed_s},
                        {"near", reached_json(reached(*run, *compared.best_known_s))}});
    }
    const bool all_defined = standing.undefined == 0;
    const bool any_defined = standing.undefined < standing.runs.size();
    return {{"algorithm", contestant.algorithm->id},
            {"options", options_json(contestant.options)},
            {"mean_s", all_defined ? Json(standing.score_s.mean) : Json(nullptr)},
            {"deviation_s", all_defined ? Json(standing.score_s.deviation) : Json(nullptr)},
            {"half_width_95_s", all_defined ? optional_json(standing.score_s.half_width_95) : Json(nullptr)},
            {"best_s", any_defined ? Json(standing.best_s) : Json(nullptr)},
            {"fitting", standing.fitting},
            {"near", standing.near},
            {"half_near", reached_json(standing.half_near)},
            {"speedup", optional_json(speedup(compared, standing))},
            {"runs", std::move(runs)},
            {"gap", optional_json(gap(compared, standing))},
            {"equal_to_fastest", bool{compared.equal_to_fastest[standing.contestant]}}};
}

Json case_json(const ComparedCase& compared) {
    const std::vector<Standing> all = compared.all_standings();
    Json list = Json::array(), tests = Json::array();
    for (std::size_t i = 0; i < all.size(); ++i) {
        list.push_back(standing_json(compared, all[i]));
        for (std::size_t k = i + 1; k < all.size(); ++k) {
            const auto test = welch_test(all[i].score_s, all[k].score_s);
            tests.push_back({{"first", contestant_name(compared.contestants, all[i].contestant)},
                             {"second", contestant_name(compared.contestants, all[k].contestant)},
                             {"t", test ? Json(test->t) : Json(nullptr)},
                             {"degrees_of_freedom", test ? Json(test->degrees_of_freedom) : Json(nullptr)},
                             {"p", test ? Json(test->p) : Json(nullptr)}});
        }
    }
    return {{"network", compared.labels[0]},
            {"machine", compared.labels[1]},
            {"one_device_s", optional_json(compared.one_device_s)},
            {"best_known_s", optional_json(compared.best_known_s)},
            {"algorithms", std::move(list)},
            {"tests", std::move(tests)},
            {"lower_bound_s", finite_or_null(compared.bound->value_s)},
            {"bound", {{"name", compared.bound->name}, {"proof", compared.bound->proof}}}};
}

bool nothing_fits(const ComparedCase& compared) {
    const auto& runs = compared.runs;
    return !runs.empty() &&
           std::ranges::none_of(runs, [](const ComparedRun& run) { return run.progress.best.fits; });
}

void print_case(const ComparedCase& compared) {
    std::cout << printable(compared.title) << '\n';
    if (!compared.best_known_s) {
        std::cout << "no search finished\n";
        return;
    }
    const std::vector<std::vector<std::string>> rows = standing_rows(compared);
    std::cout << (nothing_fits(compared) ? "no placement found that fits"
                                         : "best known " + format_seconds(*compared.best_known_s))
              << ", one device "
              << (compared.one_device_s ? format_seconds(*compared.one_device_s) : "does not fit the memory")
              << ", "
              << (std::isfinite(compared.bound->value_s)
                      ? "bound " + format_seconds(compared.bound->value_s) + " (" + compared.bound->name + ')'
                      : "no placement fits: " + printable(compared.bound->proof, 8192))
              << "\n\n"
              << table(standing_alignment(compared), rows);
    const bool marked = std::ranges::any_of(rows, [](const auto& row) { return row[3].starts_with("≈"); });
    if (marked) std::cout << "≈ equally fast, within the error of the simulation\n";
}

}  // namespace

void CompareArguments::add_to(CLI::App& command) {
    job.add_to(command, objectives());
    command.get_option("GRAPH")->description("Network files or shipped names, separated by commas");
    command.get_option("--machine")
        ->description("Machines separated by commas, or by semicolons if made of parts");
    command.add_option("--algorithms", algorithms, "Algorithms (see algorithms), separated by commas")
        ->required()
        ->type_name("A,B,...");
    usage::add_repeated(command, "--set", settings, "Option of an algorithm", "ALGORITHM.OPTION=VALUE");
    command.add_option("--seeds", seeds, "Searches per algorithm, with seeds 1 to N")
        ->check(usage::whole_number(1, 10'000))
        ->type_name("N")
        ->capture_default_str();
    command.add_option("--evaluations", evaluations, "Placements scored by each search")
        ->check(usage::whole_number(1, 1'000'000'000'000))
        ->type_name("N")
        ->capture_default_str();
    command
        .add_option("--best-known", best_known_s,
                    "Best known value (s), for \"within 5 %\"; default: best of all runs")
        ->check(usage::positive_number(1e9, "a number above 0"))
        ->type_name("S");
    usage::add_threads(command, threads, "Parallel searches, 0 for all cores; same results");
    command.add_option("--csv", csv, "Write one CSV line per search")->check(usage::path())->type_name("OUT");
    command.add_option("--curves", curves, "Write the convergence curves as CSV")
        ->check(usage::path())
        ->type_name("OUT");
}

int compare_algorithms(const CompareArguments& arguments) {
    const InterruptGuard interrupt;
    const std::vector<Contestant> all = contestants(arguments);
    for (const std::string& file : {arguments.csv, arguments.curves}) {
        if (!file.empty()) expect_writable(file);
    }
    keep_apart(std::array{OutputFile{"--csv", arguments.csv}, OutputFile{"--curves", arguments.curves}},
               arguments.job.inputs());
    std::vector<Case> loaded = load_cases(arguments, all);
    std::vector<ComparedCase> cases;
    for (Case& item : loaded) {
        if (interrupt.token().stop_requested()) break;
        const std::string place = loaded.size() == 1 ? ""
                                                     : "case " + std::to_string(cases.size() + 1) + " of " +
                                                           std::to_string(loaded.size()) + ": ";
        run_case(arguments, item.job, item.compared, place, interrupt.token());
        cases.push_back(std::move(item.compared));
        if (arguments.job.json) continue;
        if (cases.size() > 1) std::cout << '\n';
        print_case(cases.back());
        std::cout.flush();
    }
    const bool cancelled = interrupt.token().stop_requested();
    if (arguments.job.json) {
        Json list = Json::array();
        for (const ComparedCase& item : cases) list.push_back(case_json(item));
        print({{"evaluations", arguments.evaluations},
               {"seeds", arguments.seeds},
               {"cancelled", cancelled},
               {"cases", std::move(list)}});
    }
    if (!arguments.csv.empty()) write_file(arguments.csv, runs_csv({"network", "machine"}, cases));
    if (!arguments.curves.empty()) write_file(arguments.curves, curves_csv({"network", "machine"}, cases));
    if (cancelled) {
        std::cerr << "placewright-cli: cancelled before all searches finished\n";
        return kCancelled;
    }
    if (std::ranges::none_of(cases, nothing_fits)) return kDone;
    print_nothing_fits(arguments.job.memory_rule);
    return kNothingFits;
}

}  // namespace placewright
