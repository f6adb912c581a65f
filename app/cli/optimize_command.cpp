// SPDX-License-Identifier: MIT
#include "app/cli/optimize_command.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <unistd.h>

#include "app/cli/advice_report.hpp"
#include "app/cli/console.hpp"
#include "app/cli/interrupt.hpp"
#include "app/cli/language_report.hpp"
#include "app/cli/outcome_report.hpp"
#include "app/cli/progress_line.hpp"
#include "app/cli/search_arguments.hpp"
#include "app/cli/usage.hpp"
#include "core/algorithms.hpp"
#include "core/base/exit_status.hpp"
#include "core/base/infinity.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/bounds/bounds.hpp"
#include "core/distributed/launch.hpp"
#include "core/distributed/ranks.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/io/state/score_file.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/json.hpp"
#include "core/job/bound_tightening.hpp"
#include "core/job/saved_search.hpp"
#include "core/job/whole_modules.hpp"
#include "core/measure/measured_search.hpp"
#include "core/search/algorithms/refinement.hpp"
#include "core/search/headroom.hpp"
#include "core/search/relabelling.hpp"
#include "core/sim/objectives.hpp"

namespace placewright {
namespace {

/// Evaluation budget of a search that is limited only by time.
constexpr std::uint64_t kUnlimited = 1'000'000'000'000;
constexpr std::chrono::milliseconds kReportInterval(100);

void print_progress(const SearchProgress& progress, const Budget& budget) {
    std::string text = format_count(static_cast<double>(progress.evaluations));
    if (budget.evaluations < kUnlimited)
        text += " of " + format_count(static_cast<double>(budget.evaluations));
    text += " evaluations, ";
    if (progress.best_placement)
        text += "best " + format_seconds(progress.best.value_s) +
                (progress.best.fits ? ", " : " (does not fit), ");
    text += format_count(static_cast<double>(progress.simulations) / std::max(progress.elapsed_s, 1e-9)) +
            " simulations/s, " + format_clock(progress.eta_s) + " left";
    std::fprintf(stderr, "\r\x1b[K%s", text.c_str());
}

/// What was run after the search.
struct HardwareRuns {
    /// The fastest that fits first, which is the best placement of the result.
    std::vector<MeasuredPlacement> placements;
    bool cancelled = false;  ///< before all of them were run
};

struct Found {
    const AlgorithmInfo& algorithm;
    OptionValues options;
    std::uint64_t seed;
    SearchResult result;
    Outcome outcome;
    std::optional<Evaluation> evaluation;    ///< nothing for the step time or an undefined objective
    Bound bound;                             ///< lower bound of the objective
    std::optional<Headroom> headroom;        ///< nothing if no memory was freed for a little time
    std::optional<Remedies> remedies;        ///< if the best placement does not fit
    std::optional<Remedies> on_accelerator;  ///< if CPUs take most of its step
    HardwareRuns measured;
    std::optional<WholeModules> whole = {};  ///< if it was looked for
    std::optional<LanguageReport> language = {};

    const SearchProgress& progress() const { return result.progress; }
    const Placement& placement() const { return *result.progress.best_placement; }
    bool cancelled() const { return result.end == SearchEnd::cancelled || measured.cancelled; }
    double simulations_per_s() const {
        return static_cast<double>(progress().simulations) / std::max(progress().elapsed_s, 1e-9);
    }
};

/// Whether the best placement is compared with one device: only if both fit, and by the step time.
bool is_compared(const Job& job, const Score& best) {
    return job.objective->is_step_time() && best.fits && job.single_device_fits && best.value_s > 0;
}

std::string rule_of(const WholeModules& whole) {
    return "scope:" + std::to_string(whole.grouping.scope_depth);
}

Json whole_json(const Job& job, const Found& found) {
    const WholeModules& whole = *found.whole;
    const Splitting split = splitting(job, whole, found.placement(), found.outcome);
    return {{"group", rule_of(whole)},
            {"modules", whole.modules},
            {"step_time_s", whole.outcome.step_time_s},
            {"fits", whole.outcome.fits},
            {"split_modules", split.modules},
            {"gain_of_splitting", split.gain},
            {"more_transfers", split.transfers},
            {"more_transfer_bytes", split.bytes}};
}

/// What delta simulation saved: shares of the simulations and of their events.
Json delta_json(const SearchProgress& progress) {
    const auto share = [](std::uint64_t part, std::uint64_t of) {
        return of == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(of);
    };
    const DeltaUse& delta = progress.delta;
    return {{"simulations", delta.simulations},
            {"share", share(delta.simulations, progress.simulations)},
            {"events_saved", share(delta.full_events - delta.events, delta.full_events)},
            {"recorded", delta.recorded}};
}

Json found_json(const Job& job, const Found& found) {
    const SearchProgress& progress = found.progress();
    Json curve = Json::array();
    for (const CurvePoint& point : *progress.curve)
        curve.push_back({point.evaluations, point.is_defined() ? Json(point.best_s) : Json(nullptr)});
    Json by_name = Json::object();
    for (const auto& [op, device] : placement_by_name(found.placement(), *job.problem))
        append_member(by_name, op, device);
    Json json{{"algorithm", found.algorithm.id},
              {"objective", job.objective->id},
              {"seed", found.seed},
              {"evaluations", progress.evaluations},
              {"wall_s", progress.elapsed_s},
              {"simulations_per_s", found.simulations_per_s()},
              {"delta", delta_json(progress)},
              {"best",
               {{"step_time_s", found.outcome.step_time_s},
                {"objective_s", objective_json(progress.best)},
                {"score_s", score_json(progress.best)},
                {"fits", progress.best.fits}}},
              {"lower_bound_s", finite_or_null(found.bound.value_s)},
              {"curve", std::move(curve)},
              {"estimated_ops", estimated_json(job)},
              {"placement", std::move(by_name)},
              {"bound", {{"name", found.bound.name}, {"proof", found.bound.proof}}}};
    add_interval(json["best"], job, found.placement(), found.outcome);
    if (is_compared(job, progress.best)) {
        const SpeedUp speed = speed_up(job.problem, job.simulation, found.placement(), job.single_device);
        json["best"]["speedup"] = speed.ratio;
        if (speed.error) {
            json["best"]["speedup_low"] = speed.ratio / (1 + *speed.error);
            json["best"]["speedup_high"] = speed.ratio * (1 + *speed.error);
        }
    }
    if (found.headroom)
        json["headroom"] = {{"found_s", found.headroom->value_s},
                            {"found_share", found.headroom->found_share},
                            {"share", found.headroom->share},
                            {"in_runs", found.headroom->in_runs}};
    if (found.language) add_language(json, *found.language);
    if (found.remedies) add_remedies(json, *found.remedies, job);
    if (found.on_accelerator) add_accelerator_remedies(json, *found.on_accelerator, job);
    if (found.whole) json["whole_modules"] = whole_json(job, found);
    if (!found.measured.placements.empty()) {
        Json list = Json::array();
        const auto figure = [](const std::optional<Spread>& step, double Spread::*part) {
            return step ? Json((*step).*part) : Json(nullptr);
        };
        for (const MeasuredPlacement& each : found.measured.placements)
            list.push_back({{"simulated_s", each.simulated_s},
                            {"measured_s", figure(each.step, &Spread::median_s)},
                            {"low_s", figure(each.step, &Spread::low_s)},
                            {"high_s", figure(each.step, &Spread::high_s)},
                            {"fits", each.score.fits},
                            {"warning", each.warning}});
        json["best"]["measured_s"] = list.front()["measured_s"];
        json["measured"] = std::move(list);
    }
    return json;
}

/// What was run after the search, and which of it is faster than what the simulation holds to be the best.
void print_measured(const std::vector<MeasuredPlacement>& measured) {
    const auto simulated_best = std::ranges::min_element(measured, {}, &MeasuredPlacement::simulated_s);
    const MeasuredPlacement& best = measured.front();
    const auto took = [](const MeasuredPlacement& each) {
        return (each.step ? "takes " + format_seconds(each.step->median_s) : "ran out of memory") +
               " (simulated " + format_seconds(each.simulated_s) + ')';
    };
    if (!best.score.fits) {
        std::cout << wrapped("None of the " + std::to_string(measured.size()) +
                                 " placements that were run fits the memory; the one that lacks least " +
                                 took(best) + '.',
                             0)
                  << "\n";
        return;
    }
    std::cout << wrapped("Of " + std::to_string(measured.size()) + " placements that were run, the fastest " +
                             took(best) +
                             (&best == &*simulated_best
                                  ? "; it is the best in the simulation, too."
                                  : "; the best in the simulation " + took(*simulated_best) + '.'),
                         0)
              << "\n";
}

/// What was done to the placement after the search, and what it costs.
std::string headroom_text(const Headroom& headroom, double value_s) {
    std::string text;
    if (headroom.in_runs) text = "The layers of each device were put into one run. ";
    const std::string before = decimals("%.1f", headroom.found_share * 100);
    const std::string now = decimals("%.1f", headroom.share * 100);
    if (now != before)
        text += "The fullest device holds " + now + " % of its memory, not " + before +
                " %: ops were moved to leave room. ";
    const double higher = (value_s / headroom.value_s - 1) * 100;
    const std::string percent = decimals("%.2f", std::abs(higher));
    text +=
        "The placement is " +
        (percent == "0.00" ? "as fast as" : percent + (higher < 0 ? " % faster than" : " % slower than")) +
        " what the search found, which --headroom 0 keeps.";
    return text;
}

void print_found(const Job& job, const Found& found) {
    const SearchProgress& progress = found.progress();
    const Score& best = progress.best;
    std::cout << found.algorithm.title << ", seed " << found.seed << ": " << progress.evaluations
              << (progress.evaluations == 1 ? " evaluation in " : " evaluations in ")
              << format_seconds(progress.elapsed_s)
              << (found.cancelled()                          ? " (cancelled)"
                  : found.result.end == SearchEnd::exhausted ? " (no more placements to try)"
                                                             : "")
              << ", " << format_count(found.simulations_per_s()) << " simulations/s\n"
              << "best " << (job.objective->is_step_time() ? "" : std::string(job.objective->title) + ' ')
              << (best == kUndefinedScore ? "not defined" : format_seconds(best.value_s));
    if (!best.fits && best != kUndefinedScore) std::cout << ", does not fit the memory";
    std::cout << bound_text(job, best, found.bound);
    if (is_compared(job, best)) {
        std::cout << ", "
                  << speed_up_text(
                         speed_up(job.problem, job.simulation, found.placement(), job.single_device),
                         printable(single_device_text(job)));
    }
    std::cout << '\n';
    if (found.headroom) std::cout << wrapped(headroom_text(*found.headroom, best.value_s), 0);
    if (found.whole)
        std::cout << wrapped(
            splitting_text(*found.whole, splitting(job, *found.whole, found.placement(), found.outcome),
                           "--group " + rule_of(*found.whole)),
            0);
    std::cout << '\n';
    if (!found.measured.placements.empty()) print_measured(found.measured.placements);
    if (found.evaluation) print_evaluation(job, *found.evaluation);
    print_outcome(job, found.placement(), found.outcome);
    if (found.language) print_language(*found.language);
    if (found.remedies) print_remedies(*found.remedies, job);
    if (found.on_accelerator) print_accelerator_remedies(*found.on_accelerator, job);
}

void write_found(const Job& job, const Found& found, const Path& file) {
    PlacementFile about;
    about.predicted = prediction(job, found.placement(), found.outcome,
                                 job.objective->is_step_time() ? found.bound.value_s : 0);
    about.produced_by = {found.algorithm.id, found.seed, found.progress().evaluations, found.options};
    write_placement(found.placement(), *job.problem, about, file);
}

std::string to_text(const ScoreConditions& conditions) {
    std::string text;
    for (const auto& [name, value] : conditions) text += name + ' ' + value + '\n';
    return text;
}

/// Work of the MPI ranks other than rank 0, which reports all errors and ends the search.
int serve(const JobArguments& arguments, unsigned threads) {
    const ServingGuard guard;
    serve_rank([&] {
        const Job job = arguments.load();
        return RankWork{evaluator_of(job, threads), to_text(score_conditions(job))};
    });
    return kDone;
}

/// Resumes the search of the score file, if there is one: settings that the arguments leave open are taken
/// from it. If the search is the same, returns the starting placements that it had beside
/// starting_placements(). Throws InputError.
std::vector<Placement> resume_search(OptimizeArguments& search, OptionValues& options, const Job& job) {
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
        for (const OptionInfo& option : find_algorithm(search.algorithm)->options)
            values.emplace(option.name, option.default_value);
        return values;
    };
    const bool is_same = search.algorithm == begun->algorithm && search.seed == begun->seed &&
                         effective(options) == effective(begun->options);
    return is_same ? std::move(begun->starts) : std::vector<Placement>();
}

/// Reports that no placement can fit the memory, so that no search is started. Returns the exit status.
int report_infeasible(const Job& job, const Bound& bound, const OptimizeArguments& arguments) {
    if (arguments.job.json) {
        print({{"algorithm", arguments.algorithm},
               {"objective", job.objective->id},
               {"seed", arguments.seed},
               {"evaluations", 0},
               {"wall_s", 0},
               {"simulations_per_s", 0},
               {"delta", delta_json({})},
               {"best", nullptr},
               {"lower_bound_s", nullptr},
               {"curve", Json::array()},
               {"estimated_ops", estimated_json(job)},
               {"placement", nullptr},
               {"bound", {{"name", bound.name}, {"proof", bound.proof}}}});
    }
    std::cerr << "placewright-cli: "
              << printable(infeasible_text(job, bound, memory_remedy(job, arguments.job.options(), false)),
                           8192)
              << '\n';
    return kNothingFits;
}

/// The search that the arguments describe, from its optimizer to its result.
class Optimization {
public:
    explicit Optimization(OptimizeArguments& arguments) : search_(arguments) {
        if (launch()) ranks_.emplace(interrupt_.source());
        options_ = parse_settings(chosen_algorithm(search_.algorithm), search_.settings);
        check_measuring();
        if (!search_.out.empty()) expect_writable(search_.out);
        keep_apart(std::array{OutputFile{"--scores", search_.scores}, OutputFile{"--out", search_.out}},
                   search_.job.inputs());
        job_ = search_.job.load();
        starts_ = resume_search(search_, options_, job_);
        algorithm_ = find_algorithm(search_.algorithm);
        finest_ = search_.refinement > 0 ? ungrouped(*job_.problem) : job_.problem;
        // Ungrouped ops can be faster than any placement of groups, and may fit where groups do not.
        bound_ = quick_bounds(*finest_, *job_.objective, job_.simulation).front();
        if (measures()) prepare_measuring();
    }

    int run() {
        if (!std::isfinite(bound_.value_s)) return report_infeasible(job_, bound_, search_);
        const std::unique_ptr<Optimizer> optimizer = make_optimizer();
        std::unique_ptr<Evaluator> evaluator = make_evaluator();
        const BestPlacements* scored = nullptr;
        if (measures()) {
            auto keeping = std::make_unique<BestPlacements>(std::move(evaluator),
                                                            std::max(search_.measured_best, kMeasuredStarts));
            scored = keeping.get();
            evaluator = std::move(keeping);
        }
        Proof proof(finest_, *job_.objective, job_.simulation, std::move(bound_),
                    job_.single_device_fits ? job_.single_device_s : kInfinity);
        SearchResult result = search(*optimizer, *evaluator);
        if (!result.progress.best_placement) return report_nothing_scored(result);
        std::optional<WholeModules> whole = place_whole(result);
        std::optional<Headroom> headroom = gain_headroom(result);
        number_devices(result.progress);
        prove(proof, result);
        HardwareRuns measured;
        if (scored != nullptr && result.end != SearchEnd::cancelled)
            measured = run_candidates(*optimizer, *scored, result.progress);
        // Memory was freed in another placement than the one that won.
        if (!measured.placements.empty()) headroom.reset();
        const Outcome outcome = Simulator(job_.problem, job_.simulation).run(*result.progress.best_placement);
        std::optional<Evaluation> evaluation;
        if (result.progress.best != kUndefinedScore)
            evaluation = evaluate(job_, *result.progress.best_placement, search_.job, {});
        Found found{*algorithm_,
                    options_,
                    search_.seed,
                    std::move(result),
                    outcome,
                    std::move(evaluation),
                    bound_,
                    std::move(headroom),
                    {},
                    {},
                    std::move(measured),
                    std::move(whole)};
        warn_of_cpu(job_, found.placement(), outcome, cpu_advice());
        if (!found.cancelled() && found.progress().best != kUndefinedScore) {
            const bool fits = found.progress().best.fits;
            found.remedies = remedies_for(search_.job, job_, found.placement(), fits);
            found.on_accelerator =
                accelerator_remedies_for(search_.job, job_, found.placement(), found.outcome, fits);
        }
        found.language = language_report(search_.job, job_, found.placement(), found.outcome,
                                         found.progress().best.value_s);
        return report(found);
    }

private:
    /// Returns how to let the algorithm move ops between a CPU and accelerators; empty if it already may.
    std::string cpu_advice() const {
        const auto option = std::ranges::find(algorithm_->options, "allow_cpu", &OptionInfo::name);
        if (option == algorithm_->options.end()) return {};
        const auto given = options_.find(option->name);
        if (std::get<bool>(given != options_.end() ? given->second : option->default_value)) return {};
        return "; with --set allow_cpu=true, " + algorithm_->title +
               " may divide the ops between CPUs and accelerators";
    }

    /// Throws UsageError for options that do not go with measuring.
    void check_measuring() const {
        if (!measures()) return;
        const auto refuse = [](bool given, const std::string& option, const char* because) {
            if (given) throw UsageError(option + ": " + because);
        };
        refuse(ranks_.has_value(), "--measure-best", "placements are not run under mpirun");
        refuse(search_.refinement > 0, "--refine", "placements that are run are those of the search itself");
        refuse(search_.job.batches > 1, "--batches", "pipelines of several batches cannot be run");
        refuse(search_.job.objective != "step-time", "--objective", "what is measured is the step time");
    }

    /// Finds out where the placements will run. Throws InputError if they cannot, before the search begins.
    void prepare_measuring() {
        if (job_.simulation != SimulationOptions{})
            throw UsageError(
                "--order, --runtime, --in-flight: placements that are measured run in the default order; "
                "leave "
                "these options or those that measure out");
        expect_no_language_model(job_, search_.job.network);
        try {
            check_runnable(*job_.problem);
        } catch (const MeasureError& error) {
            throw InputError(search_.job.network, "", error.what());
        }
        measured_on_ = physical_devices(*job_.problem->machine);
        for (const std::string& note : device_notes(*job_.problem->machine, measured_on_))
            std::cerr << printable(note) << '\n';
    }

    bool measures() const { return search_.measured_best > 0 || search_.measured_evaluations > 0; }

    /// Runs the best placements, then goes on with the search on hardware; the fastest becomes the result.
    /// If a step fails, says so and leaves the result as the simulation found it.
    HardwareRuns run_candidates(const Optimizer& optimizer, const BestPlacements& scored,
                                SearchProgress& progress) {
        MeasureOptions options;
        options.steps = search_.measured_steps;
        options.throttles = search_.throttles;
        options.seed = search_.seed;
        std::vector<MeasuredPlacement> placements;
        try {
            const ProgressLine line("run");
            std::size_t done = 0;
            double best_s = kInfinity;
            const MeasuredCallback told = [&](const MeasuredPlacement& each) {
                if (each.score.fits) best_s = std::min(best_s, each.score.value_s);
                line.show("placement " + std::to_string(++done) +
                          (std::isfinite(best_s) ? ", fastest " + format_seconds(best_s) : ""));
            };
            if (search_.measured_best > 0) {
                // What the search returns is among them, also where memory was freed since.
                const ScoredPlacement result{progress.best, *progress.best_placement};
                const auto archive = optimizer.archive();
                std::vector<Placement> best;
                for (ScoredPlacement& each :
                     candidates(archive.get(), scored.best(), &result, search_.measured_best))
                    best.push_back(std::move(each.placement));
                placements = measure_placements(job_.problem, best, measured_on_, options, job_.penalty,
                                                interrupt_.token(), told);
            }
            if (search_.measured_evaluations > 0) {
                std::vector<Placement> starts;
                for (const MeasuredPlacement& each : placements) {
                    if (starts.size() < kMeasuredStarts) starts.push_back(each.placement);
                }
                if (starts.empty()) starts = candidates(optimizer, scored, kMeasuredStarts);
                placements = continue_measured(job_.problem, *algorithm_, options_, search_.seed, starts,
                                               search_.measured_evaluations, measured_on_, options,
                                               job_.penalty, interrupt_.token(), told, placements);
            }
        } catch (const MeasureError& error) {
            std::cerr << printable(std::string("placewright-cli: ") + error.what(), 8192)
                      << "; the result is that of the simulation\n";
        }
        HardwareRuns measured{std::move(placements), interrupt_.token().stop_requested()};
        if (measured.placements.empty()) return measured;
        warn_of_runs(measured.placements);
        const Placement& fastest = measured.placements.front().placement;
        progress.best_placement = std::make_shared<const Placement>(fastest);
        progress.best = job_.penalty.score(*job_.problem, Simulator(job_.problem).run(fastest));
        return measured;
    }

    /// Says what speaks against the times of placements that were run.
    static void warn_of_runs(const std::vector<MeasuredPlacement>& placements) {
        const auto noisy =
            std::ranges::count_if(placements, [](const auto& each) { return !each.warning.empty(); });
        const auto first =
            std::ranges::find_if(placements, [](const auto& each) { return !each.warning.empty(); });
        if (noisy > 0)
            std::cerr << "placewright-cli: warning: the times of " << noisy << " of " << placements.size()
                      << " placements may be wrong: " << first->warning << '\n';
        if (std::ranges::any_of(placements, &MeasuredPlacement::cores_for_accelerators))
            std::cerr << "placewright-cli: warning: " << kCoresForAccelerators << '\n';
    }

    std::unique_ptr<Optimizer> make_optimizer() const {
        try {
            return algorithm_->make({job_.problem, search_.seed, all_starts(job_, starts_),
                                     planned_evaluations(search_.budget), job_.objective, job_.simulation},
                                    options_);
        } catch (const OptionError& error) {
            throw UsageError(std::string("--set: ") + error.what());
        }
    }

    /// The evaluator of this process, spread over the ranks and recorded as the arguments say.
    std::unique_ptr<Evaluator> make_evaluator() {
        if (!search_.scores.empty()) {
            SavedSearch begun{algorithm_->id, options_, search_.seed};
            if (search_.budget.evaluations < kUnlimited) begun.evaluations = search_.budget.evaluations;
            scores_.emplace(search_.scores, score_conditions(job_), begun);
        }
        std::unique_ptr<Evaluator> evaluator = evaluator_of(job_, search_.threads);
        if (ranks_) {
            try {
                evaluator = ranks_->evaluator({std::move(evaluator), to_text(score_conditions(job_))});
            } catch (const RankError& error) {
                throw InputError(error.rank(), "", error.what());
            }
        }
        if (!scores_) return evaluator;
        return recorded_evaluator(std::move(evaluator), scores_->scores(),
                                  [this](std::span<const RecordedScore> added) {
                                      if (unwritten_) return;
                                      try {
                                          scores_->append(added);
                                      } catch (const InputError&) {
                                          // The result so far is still reported.
                                          unwritten_ = std::current_exception();
                                          interrupt_.source().request_stop();
                                      }
                                  });
    }

    SearchResult search(Optimizer& optimizer, Evaluator& evaluator) {
        ProgressCallback report;
        const bool terminal = isatty(STDERR_FILENO) != 0;
        Budget shown = search_.budget;
        shown.evaluations += search_.refinement;
        if (terminal) report = [&](const SearchProgress& progress) { print_progress(progress, shown); };
        SearchResult result =
            run_search(optimizer, evaluator, search_.budget, interrupt_.token(), report, kReportInterval);
        if (search_.refinement > 0 && result.end != SearchEnd::cancelled && result.progress.best_placement) {
            const std::shared_ptr<const Problem> grouped = std::exchange(job_.problem, finest_);
            job_.grouping = {};
            job_.single_device = regrouped(job_.single_device, *grouped, *job_.problem);
            const Placement start = regrouped(*result.progress.best_placement, *grouped, *job_.problem);
            const auto allow_cpu = options_.find("allow_cpu");
            result = refine(std::move(result), job_.problem, start, *evaluator_of(job_, search_.threads),
                            {search_.refinement}, search_.seed,
                            allow_cpu != options_.end() && std::get<bool>(allow_cpu->second),
                            interrupt_.token(), report, kReportInterval);
        }
        if (terminal) std::fputs("\r\x1b[K", stderr);
        return result;
    }

    /// Searches for a placement of whole modules, too, where the framework moves those; it becomes the result
    /// if it is better.
    std::optional<WholeModules> place_whole(SearchResult& result) {
        if (ranks_ || measures() || search_.refinement > 0 || result.end == SearchEnd::cancelled) return {};
        const auto grouping = modules_to_keep_whole(job_);
        if (!grouping) return {};
        auto whole = place_whole_modules(job_, *grouping, *algorithm_, options_, search_.seed, search_.budget,
                                         search_.threads, interrupt_.token());
        if (whole && whole->score.penalised_s < result.progress.best.penalised_s) {
            result.progress.best = whole->score;
            result.progress.best_placement = std::make_shared<const Placement>(whole->placement);
        }
        return whole;
    }

    /// Frees memory of the result for a little of the objective, see core/search/headroom.hpp: by default
    /// after the default algorithm, so that the results of the others are their own.
    std::optional<Headroom> gain_headroom(SearchResult& result) {
        const double cost = search_.headroom.value_or(algorithm_->id == "auto" ? kHeadroomCost : 0);
        if (cost == 0 || result.end == SearchEnd::cancelled) return {};
        constexpr double kForHeadroom = 0.05;  // of the search's time, if that is limited
        const HeadroomOptions options{cost, headroom_simulations(result.progress.evaluations),
                                      kForHeadroom * search_.budget.seconds};
        return placewright::gain_headroom(result, job_.problem, *job_.objective, job_.simulation,
                                          job_.penalty, options, interrupt_.token());
    }

    /// Calls the first of alike devices that is used gpu:0, after the default algorithm alone, as above.
    void number_devices(SearchProgress& progress) {
        if (algorithm_->id != "auto" || !job_.objective->is_step_time()) return;
        Simulator simulator(job_.problem, job_.simulation);
        progress.best_placement = std::make_shared<const Placement>(
            numbered_by_first_use(*job_.problem, simulator, *progress.best_placement));
    }

    /// Reports a rank that was lost. Returns whether the search ended with it.
    bool ended_with_a_rank() {
        if (!ranks_ || !ranks_->end()) return false;
        std::cerr << printable("placewright-cli: " + ranks_->end()->rank() + ' ' + ranks_->end()->what(),
                               8192)
                  << (ranks_->ends_search() ? "; search stopped\n" : "; the search went on without it\n");
        return ranks_->ends_search();
    }

    int report_nothing_scored(const SearchResult& result) {
        if (ended_with_a_rank()) return kInternalError;
        if (result.end == SearchEnd::cancelled) {
            std::cerr << "placewright-cli: cancelled before the first placement was scored\n";
            return kCancelled;
        }
        std::cerr << "placewright-cli: "
                  << (result.end == SearchEnd::exhausted ? "the algorithm proposed no placement"
                                                         : "--seconds were over before the first placement "
                                                           "was scored; give more")
                  << '\n';
        return kNothingFits;
    }

    /// Ends the proof and sets the bound to the best one.
    void prove(Proof& proof, const SearchResult& result) {
        // The proof gets a fraction of the search time, or what is left of the time limit. A search that soon
        // has no more to try leaves most of its budget.
        constexpr double kForProof = 0.2, kLeft_s = 0.5;
        const SearchProgress& progress = result.progress;
        const double elapsed_s = progress.elapsed_s,
                     least_s = result.end == SearchEnd::exhausted ? kLeft_s : 0;
        Bound bound = proof.end(std::isfinite(search_.budget.seconds)
                                    ? std::max(0.0, search_.budget.seconds - elapsed_s)
                                    : std::max(kForProof * elapsed_s, least_s),
                                interrupt_.token());
        // A bound that the algorithm proved applies only to its groups.
        if (search_.refinement == 0 && progress.lower_bound_s > bound.value_s)
            bound = {algorithm_->id, progress.lower_bound_s, "proven by the search itself"};
        bound_ = bound_of(job_, std::move(bound));
    }

    /// Prints the result and writes the placement file. Returns the exit status.
    int report(const Found& found) {
        const auto show = [&] {
            if (search_.job.json) {
                print(found_json(job_, found));
            } else {
                print_found(job_, found);
            }
        };
        // The result is printed before the file is written, so that a write error does not lose it. With
        // ranks the order is reversed, because mpirun drops most of their output while it ends them.
        if (!ranks_) show();
        try {
            if (!search_.out.empty()) write_found(job_, found, search_.out);
        } catch (const InputError&) {
            unwritten_ = std::current_exception();
        }
        const bool stopped_by_a_rank = ended_with_a_rank();
        if (ranks_) show();
        if (unwritten_) std::rethrow_exception(unwritten_);
        if (!search_.out.empty() && !search_.job.json)
            std::cout << "\nwritten to " << printable(search_.out, 4096) << std::endl;
        if (stopped_by_a_rank) return kInternalError;
        if (found.cancelled()) return kCancelled;
        if (found.progress().best.fits) return kDone;
        if (found.progress().best == kUndefinedScore) {
            std::cerr << "placewright-cli: " << job_.objective->title
                      << " is not defined for any placement that was tried: "
                      << assess(job_, found.placement(), found.outcome).undefined
                      << "; try another algorithm, such as --algorithm auto\n";
        } else {
            print_nothing_fits(search_.job.memory_rule);
        }
        return kNothingFits;
    }

    OptimizeArguments& search_;
    InterruptGuard interrupt_;
    OptionValues options_;
    std::optional<LeadingRank> ranks_;
    Job job_;
    std::vector<Placement> starts_;
    const AlgorithmInfo* algorithm_ = nullptr;
    std::vector<PhysicalDevice> measured_on_;  ///< where placements are run after the search
    std::shared_ptr<const Problem> finest_;    ///< of single ops if the result is refined
    Bound bound_;                              ///< lower bound of the objective
    std::optional<ScoreFile> scores_;
    std::exception_ptr unwritten_;  ///< InputError of a file that could not be written
};

}  // namespace

void OptimizeArguments::add_to(CLI::App& command) {
    if (launch()) threads = 1;  // mpirun starts one rank per core
    job.add_to(command, objectives());
    command.add_option("--algorithm", algorithm, "Search algorithm (see algorithms)")
        ->type_name("A")
        ->capture_default_str();
    usage::add_repeated(command, "--set", settings, "Option of the algorithm", "OPTION=VALUE");
    command
        .add_option("--evaluations", budget.evaluations,
                    "Placements to score; no limit if only --seconds is given")
        ->check(usage::whole_number(1, kUnlimited))
        ->type_name("N")
        ->capture_default_str();
    command.add_option("--seconds", budget.seconds, "Time limit (s); results then depend on the computer")
        ->check(usage::positive_number(1e9, "a number above 0"))
        ->type_name("S");
    command.add_option("--seed", seed, "Seed of the random numbers")
        ->check(usage::whole_number(0))
        ->type_name("K")
        ->capture_default_str();
    usage::add_threads(command, threads, "Threads, 0 for all cores; same result");
    command
        .add_option("--refine", refinement,
                    "After the search, try up to N moves of single ops, without groups")
        ->check(usage::whole_number(0, kUnlimited))
        ->type_name("N");
    command.add_option("--headroom", headroom, "Share of time to give up for free memory [auto: 0.005]")
        ->check(usage::share())
        ->type_name("SHARE");
    command
        .add_option("--measure-best", measured_best,
                    "After the search, run the N best; the fastest is the result")
        ->check(usage::whole_number(0, 100'000))
        ->type_name("N");
    command
        .add_option("--measure-evaluations", measured_evaluations,
                    "Search on from those that ran, or the 10 best, and run N more")
        ->check(usage::whole_number(0, 1'000'000))
        ->type_name("N");
    command.add_option("--measure-steps", measured_steps, "Steps of each placement that is run")
        ->check(usage::whole_number(1, 1'000'000))
        ->type_name("N")
        ->capture_default_str();
    command.add_flag("--throttle", throttles, "Transfers between cores take at least as long as simulated");
    command.add_option("--out", out, "Write the placement file")->check(usage::path())->type_name("P");
    command.add_option("--scores", scores, "Record all scores in this file; resume from it if it exists")
        ->check(usage::path())
        ->type_name("FILE");
}

void OptimizeArguments::note_given(const CLI::App& command) {
    const auto given = [&](const char* option) { return command.get_option(option)->count() > 0; };
    // Settings also select an algorithm: the default one.
    algorithm_given = given("--algorithm") || !settings.empty();
    seed_given = given("--seed");
    budget_given = given("--evaluations") || given("--seconds");
    if (given("--seconds") && !given("--evaluations")) budget.evaluations = kUnlimited;
}

int optimize_placement(OptimizeArguments arguments) {
    const std::optional<Launch> launched = launch();
    if (launched && launched->rank > 0) return serve(arguments.job, arguments.threads);
    return Optimization(arguments).run();
}

}  // namespace placewright
