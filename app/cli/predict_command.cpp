// SPDX-License-Identifier: MIT
#include "app/cli/predict_command.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <iostream>
#include <set>
#include <string>
#include <utility>

#include "app/cli/advice_report.hpp"
#include "app/cli/console.hpp"
#include "app/cli/interrupt.hpp"
#include "app/cli/outcome_report.hpp"
#include "app/cli/progress_line.hpp"
#include "app/cli/search_arguments.hpp"
#include "core/algorithms.hpp"
#include "core/base/exit_status.hpp"
#include "core/base/random.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/io/state/policy_file.hpp"
#include "core/io/state/shipped_policy.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/json.hpp"
#include "core/search/relabelling.hpp"
#include "core/search/search.hpp"

namespace placewright {
namespace {

/// Placements of a policy that are scored together; the first of them are scored also after a stop.
constexpr std::size_t kScoredAtOnce = 64;

struct Predicted {
    Placement placement;
    Score score;
    std::uint64_t episodes = 1;   ///< placements of the policy, as many as it was asked for unless cancelled
    std::size_t evaluations = 0;  ///< scored placements, 0 if it was cancelled before the first
    double predict_s = 0;         ///< time of the policy, without reading files and simulating
    bool begins_alone = false;    ///< the policy starts from the job's single device, which --best scores too
    bool cancelled = false;       ///< before all were scored
};

/// Also restricts the job's single device to the devices that the policy may use. Keeps the first placement
/// also if `stop` is requested before. Throws InputError if the policy does not suit the job.
Predicted prediction_of(const PolicyFile& policy, Job& job, const PredictArguments& arguments,
                        const std::stop_token& stop) {
    const PolicyDesign& design = policy.design;
    const PolicyGraph graph(job.problem, design.allow_cpu);
    if (const std::string problem =
            misfit(*find_policy(policy.record.policy), policy.record.options, policy.record.size, graph);
        !problem.empty())
        throw InputError(
            arguments.policy, "",
            "does not suit " + job.problem->graph->name() + " on " + job.machine->name() + ": " + problem);

    const auto draw = [&](Random* random) {
        const Rollout rollout =
            predict_placement(*design.policy, policy.state.weights, graph, design.training.passes, random);
        return arguments.best && design.policy->improves()
                   ? placements_along(graph, rollout)
                   : std::vector<Placement>{last_placement(graph, rollout)};
    };
    const auto evaluator = evaluator_of(job, arguments.threads);
    const ProgressLine line("");
    Predicted predicted;
    const auto score = [&](const std::vector<Placement>& placements) {
        std::vector<Score> scores(kScoredAtOnce);
        for (std::size_t begin = 0; begin < placements.size(); begin += kScoredAtOnce) {
            if (begin > 0 && stop.stop_requested()) {
                predicted.cancelled = true;
                return;
            }
            const auto part =
                std::span(placements).subspan(begin, std::min(kScoredAtOnce, placements.size() - begin));
            evaluator->evaluate(part, std::span(scores).first(part.size()), {});
            for (std::size_t i = 0; i < part.size(); ++i) {
                if (predicted.evaluations++ > 0 && scores[i].penalised_s >= predicted.score.penalised_s)
                    continue;
                predicted.placement = part[i];
                predicted.score = scores[i];
            }
        }
    };
    Random random(arguments.seed);
    std::vector<Placement> waiting;
    for (std::uint64_t i = 0; i <= arguments.episodes && !predicted.cancelled; ++i) {
        if (i > 0 && stop.stop_requested()) {
            predicted.cancelled = true;
            break;
        }
        const auto begin = std::chrono::steady_clock::now();
        std::ranges::move(draw(i > 0 ? &random : nullptr), std::back_inserter(waiting));
        predicted.predict_s +=
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        predicted.episodes = i + 1;
        if (waiting.size() < kScoredAtOnce) continue;
        score(waiting);
        waiting.clear();
        line.show(std::to_string(i + 1) + " of " + std::to_string(1 + arguments.episodes) +
                  " placements, best " + format_seconds(predicted.score.value_s));
    }
    score(waiting);
    restrict_single_device(job, graph.choices);
    predicted.begins_alone =
        design.policy->improves() &&
        graph.choices.on_one_device(graph.choices.fastest_first().front()) == job.single_device;
    return predicted;
}

/// What the shipped policy makes of the job: the algorithm "instant".
Predicted instant_placement(Job& job, const PredictArguments& arguments, const std::stop_token& stop) {
    const auto begin = std::chrono::steady_clock::now();
    OptionValues options;
    if (arguments.episodes > 0) options["draws"] = static_cast<std::int64_t>(1 + arguments.episodes);
    const auto optimizer = find_algorithm("instant")->make(
        {job.problem, arguments.seed, starting_placements(job), {}, job.objective, job.simulation}, options);
    const auto evaluator = evaluator_of(job, arguments.threads);
    const ProgressLine line("");
    const auto [progress, end] =
        run_search(*optimizer, *evaluator, {.evaluations = Budget::kUnlimited}, stop,
                   [&line](const SearchProgress& now) {
                       line.show(std::to_string(now.evaluations) + " placements, best " +
                                 format_seconds(now.best.value_s));
                   });
    Predicted predicted;
    predicted.episodes = 1 + arguments.episodes;
    predicted.evaluations = progress.evaluations;
    predicted.cancelled = end == SearchEnd::cancelled;
    if (!progress.best_placement) return predicted;
    predicted.predict_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    // As the window numbers the first placement that is seen of a network.
    Simulator simulator(job.problem, job.simulation);
    predicted.placement = numbered_by_first_use(*job.problem, simulator, *progress.best_placement);
    predicted.score = progress.best;
    return predicted;
}

Json prediction_json(const PolicyFile& policy, const Job& job, const Predicted& predicted,
                     const Outcome& outcome, const Bound& bound, const PredictArguments& arguments) {
    Json by_name = Json::object();
    for (const auto& [op, device] : placement_by_name(predicted.placement, *job.problem))
        append_member(by_name, op, device);
    Json json{{"policy", policy.record.policy},
              {"updates", policy.state.updates},
              {"objective", arguments.job.objective},
              {"groups", job.problem->groups},
              {"seed", arguments.seed},
              {"episodes", predicted.episodes},
              {"evaluations", predicted.evaluations},
              {"predict_s", predicted.predict_s},
              {"best",
               {{"step_time_s", outcome.step_time_s},
                {"objective_s", objective_json(predicted.score)},
                {"score_s", score_json(predicted.score)},
                {"fits", predicted.score.fits}}},
              {"lower_bound_s", finite_or_null(bound.value_s)},
              {"one_device_s", job.single_device_fits ? Json(job.single_device_s) : Json(nullptr)},
              {"placement", std::move(by_name)}};
    add_interval(json["best"], job, predicted.placement, outcome);
    return json;
}

void print_prediction(const PolicyFile& policy, const Job& job, const Predicted& predicted,
                      const Outcome& outcome, const Bound& bound, const PredictArguments& arguments) {
    if (arguments.policy.empty()) {
        std::cout << "The policy that ships: ";
    } else {
        std::cout << find_policy(policy.record.policy)->title << " after " << policy.state.updates
                  << (policy.state.updates == 1 ? " update: " : " updates: ");
    }
    std::cout << "placed in " << format_seconds(predicted.predict_s);
    if (predicted.evaluations > 1) std::cout << ", the best of " << predicted.evaluations << " placements";
    if (predicted.cancelled) std::cout << " (cancelled)";
    std::set<std::string> networks, machines;
    for (const auto& graph : policy.record.graphs) {
        networks.insert(graph.network);
        machines.insert(graph.machine);
    }
    const Objective& objective = *job.objective;
    if (!objective.is_step_time())
        std::cout << "; " << objective.title << ' ' << format_seconds(predicted.score.value_s);
    std::cout << bound_text(job, predicted.score, bound);
    if (objective.is_step_time() && predicted.score.fits && job.single_device_fits &&
        outcome.step_time_s > 0) {
        std::cout << ", "
                  << speed_up_text(
                         speed_up(job.problem, job.simulation, predicted.placement, job.single_device),
                         printable(single_device_text(job)));
        if (predicted.begins_alone && predicted.evaluations <= 1 && outcome.step_time_s > job.single_device_s)
            std::cout
                << ".\nOne device is faster: --best also scores the intermediate placements, one device "
                   "among them, and returns the best";
    }
    std::cout << "\n"
              << job.problem->groups << " groups of ops; policy trained on " << networks.size()
              << (networks.size() == 1 ? " network" : " networks") << " and " << machines.size()
              << (machines.size() == 1 ? " machine" : " machines") << ".\n\n";
    print_outcome(job, predicted.placement, outcome);
}

}  // namespace

void PredictArguments::add_to(CLI::App& command) {
    command.add_option("POLICY", policy, "Policy file written by train; without it the policy that ships")
        ->check(usage::path());
    job.add_to(command, objectives());
    command.get_option("GRAPH")->required(false);
    group_ = command.get_option("--group");
    groups_ = command.get_option("--groups");
    merge_below_ = command.get_option("--merge-below");
    objective_ = command.get_option("--objective");
    memory_rule_ = command.get_option("--memory-rule");
    command.get_option("--group")->description("Grouping of ops")->default_str("as in training");
    command.get_option("--objective")->description("Objective to minimise")->default_str("as in training");
    command.get_option("--memory-rule")
        ->description("Penalty if memory overflows")
        ->default_str("as in training");
    command.add_flag("--best", best, "Score all intermediate placements and return the best");
    command.add_option("--episodes", episodes, "Also sample N placements and return the best")
        ->check(usage::whole_number(0, 99'999))
        ->type_name("N")
        ->capture_default_str();
    command.add_option("--seed", seed, "Seed of the sampled placements")
        ->check(usage::whole_number(0))
        ->type_name("K")
        ->capture_default_str();
    usage::add_threads(command, threads, "Threads, 0 for all cores; same result");
    command.add_option("--out", out, "Write the placement file")->check(usage::path())->type_name("P");
}

JobArguments PredictArguments::job_for(const TrainingRecord& record) const {
    JobArguments own = job;
    const auto adopt = [&](const CLI::Option* option, const char* name, std::string& value) {
        const std::string trained = condition(record, name);
        if (option->count() == 0 && !trained.empty()) value = trained;
    };
    const auto number = [&](const char* name, auto& value) {
        const std::string trained = condition(record, name);
        std::from_chars(trained.data(), trained.data() + trained.size(), value);
    };
    adopt(objective_, "objective", own.objective);
    adopt(memory_rule_, "memory_rule", own.memory_rule);
    if (group_->count() > 0) return own;
    adopt(group_, "group", own.grouping.group);
    // Another number of groups, by the rule of the training.
    if (groups_->count() + merge_below_->count() > 0) return own;
    number("groups", own.grouping.groups);
    number("merge_below", own.grouping.merge_below_bytes);
    return own;
}

int predict(const PredictArguments& given) {
    const InterruptGuard interrupt;
    PredictArguments arguments = given;
    // A single file is the network.
    if (arguments.job.network.empty()) arguments.job.network = std::exchange(arguments.policy, {});
    if (arguments.job.network.empty()) throw CLI::RequiredError("GRAPH");
    if (arguments.job.machine.empty()) throw CLI::RequiredError("--machine");
    if (arguments.policy.empty() && Path(arguments.job.network).extension() == ".safetensors" &&
        !holds_weights(arguments.job.network))
        throw UsageError("predict: " + arguments.job.network +
                         " is a policy: name the network that it is to place as well");
    if (Path(arguments.job.network).extension() == ".safetensors" && !holds_weights(arguments.job.network) &&
        !arguments.policy.empty() && Path(arguments.policy).extension() != ".safetensors")
        throw UsageError("predict: give the policy first: placewright-cli predict " + arguments.job.network +
                         ' ' + arguments.policy);
    const bool shipped = arguments.policy.empty();
    if (shipped && arguments.best)
        throw UsageError(
            "--best: needs a policy file; the policy that ships keeps its best placement anyway");
    if (!arguments.out.empty()) expect_writable(arguments.out);
    std::vector<std::string> inputs = arguments.job.inputs();
    if (!shipped) inputs.push_back(arguments.policy);
    keep_apart(std::array{OutputFile{"--out", arguments.out}}, inputs);
    if (shipped && shipped_policy() == nullptr)
        throw InputError(shipped_policy_file().string(), "",
                         "is not there: install the program again, or give a policy file");
    const std::shared_ptr<const PolicyFile> read =
        shipped ? shipped_policy() : std::make_shared<const PolicyFile>(read_policy(arguments.policy));
    const PolicyFile& policy = *read;
    if (!shipped) arguments.job = arguments.job_for(policy.record);
    Job job = arguments.job.load();
    if (shipped && !job.objective->is_step_time())
        throw UsageError(
            "--objective: the policy that ships places for the step time; use optimize, or train a "
            "policy for this objective");
    if (shipped && job.problem->groups > kMostGuidedGroups)
        throw UsageError("predict: the network has " + std::to_string(job.problem->groups) +
                         " groups of ops, more than the " + std::to_string(kMostGuidedGroups) +
                         " that the policy places at once; merge them with --group merge --groups 2000");
    const Predicted predicted = shipped ? instant_placement(job, arguments, interrupt.token())
                                        : prediction_of(policy, job, arguments, interrupt.token());
    if (predicted.evaluations == 0) {
        std::cerr << "placewright-cli: cancelled before the first placement was scored\n";
        return kCancelled;
    }
    const Outcome outcome = Simulator(job.problem, job.simulation).run(predicted.placement);
    const Bound bound = tightest_bound(job);
    warn_of_cpu(job, predicted.placement, outcome);
    std::optional<Remedies> remedies, on_accelerator;
    if (!predicted.cancelled) {
        remedies = remedies_for(arguments.job, job, predicted.placement, predicted.score.fits);
        on_accelerator =
            accelerator_remedies_for(arguments.job, job, predicted.placement, outcome, predicted.score.fits);
    }
    if (arguments.job.json) {
        Json json = prediction_json(policy, job, predicted, outcome, bound, arguments);
        if (remedies) add_remedies(json, *remedies, job);
        if (on_accelerator) add_accelerator_remedies(json, *on_accelerator, job);
        print(json);
    } else {
        print_prediction(policy, job, predicted, outcome, bound, arguments);
        if (remedies) print_remedies(*remedies, job);
        if (on_accelerator) print_accelerator_remedies(*on_accelerator, job);
    }
    if (!arguments.out.empty()) {
        PlacementFile about;
        about.predicted = prediction(job, predicted.placement, outcome, 0);
        about.produced_by = {policy.record.policy, policy.record.seed, predicted.evaluations,
                             policy.record.options};
        write_placement(predicted.placement, *job.problem, about, arguments.out);
        if (!arguments.job.json) std::cout << "\nwritten to " << printable(arguments.out, 4096) << std::endl;
    }
    if (predicted.cancelled) return kCancelled;
    if (predicted.score.fits) return kDone;
    std::cerr << "placewright-cli: the placement does not fit the memory\n";
    return kNothingFits;
}

}  // namespace placewright
