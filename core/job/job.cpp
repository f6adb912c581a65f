// SPDX-License-Identifier: MIT
#include "core/job/job.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/algorithms.hpp"
#include "core/base/path.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/graph/blocks.hpp"
#include "core/io/machines/machine_parts.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/io/shipped.hpp"
#include "core/io/state/profile_file.hpp"
#include "core/io/text/input_error.hpp"

namespace placewright {

std::string estimated_text(const std::vector<NetworkFile::Estimated>& estimated, std::size_t ops) {
    if (estimated.empty()) return {};
    constexpr std::size_t kShown = 5;
    std::vector<std::string> kinds;
    for (const auto& [op, kind] : estimated) {
        if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
    }
    std::string text = std::to_string(estimated.size()) + " of " + std::to_string(ops) +
                       " ops are estimated by their bytes: no FLOPs are known of ";
    for (std::size_t i = 0; i < std::min(kShown, kinds.size()); ++i)
        text += (i > 0 ? ", " : "") + printable(kinds[i], 80);
    if (kinds.size() > kShown) text += " and " + std::to_string(kinds.size() - kShown) + " more kinds";
    return text;
}

std::string estimated_details(const std::vector<NetworkFile::Estimated>& estimated) {
    constexpr std::size_t kMostLines = 100;
    std::vector<std::string> kinds;
    std::map<std::string, std::pair<std::size_t, std::string>> found;
    for (const auto& [op, kind] : estimated) {
        const auto [of, is_new] = found.try_emplace(kind, 0, op);
        if (is_new) kinds.push_back(kind);
        ++of->second.first;
    }
    std::string text;
    for (std::size_t i = 0; i < std::min(kMostLines, kinds.size()); ++i) {
        const auto& [count, example] = found.at(kinds[i]);
        if (!text.empty()) text += '\n';
        text += printable(kinds[i], 80);
        text += ": " + std::to_string(count);
        text += count == 1 ? " op, " : " ops, such as ";
        text += printable(example, 200);
    }
    return text;
}

void load_profile(JobOptions& options) {
    if (options.profile.empty()) return;
    options.problem.cost.model = find_cost_model("measured");
    if (!options.problem.cost.profile)
        options.problem.cost.profile = std::make_shared<const ProfileArchive>(read_profile(options.profile));
}

Job load_job(const std::string& network, const std::string& machine, const JobOptions& options) {
    const Path file = find_network_file(network);
    NetworkFile read = read_network(file, options.reading);
    Supplements supplements = options.supplements;
    if (supplements != Supplements())
        supplement(read, supplements, read.machine ? *read.machine : find_machine(machine));
    return load_job(file, std::move(read), machine, options);
}

Job load_job(const Path& file, NetworkFile network, const std::string& machine, JobOptions options) {
    const bool own_machine = network.machine.has_value();
    if (own_machine) {
        // A workload's times and sizes are those that were measured.
        options.problem.cost.model = find_cost_model("measured");
        options.problem.cost.profile.reset();
        options.problem.precision = Precision::as_given;
    }
    auto graph = std::make_shared<const Graph>(std::move(network.graph));
    auto used =
        std::make_shared<const Machine>(own_machine ? *std::move(network.machine) : find_machine(machine));
    try {
        Job job = make_job(std::move(graph), std::move(used), options, network.language);
        job.own_machine = own_machine;
        job.batch_is_open = network.batch_is_open;
        job.fixed_batch = std::move(network.fixed_batch);
        job.estimated = std::move(network.estimated);
        job.notes = std::move(network.notes);
        return job;
    } catch (const GraphError& error) {
        throw InputError(file.string(), "", error.what());
    } catch (const ConstraintError& error) {
        const std::string& rules = options.problem.constraints.file;
        throw InputError(rules.empty() ? "constraints" : rules, "", error.what());
    } catch (const PlacementError& error) {
        throw InputError(file.string(), "", error.what());
    } catch (const MachineError& error) {
        throw InputError(own_machine ? file.string() : machine, "", error.what());
    }
}

bool takes_precision(const LanguageOptions& language) {
    return language.phase == LanguagePhase::training &&
           (!language.weights || bits_of(*language.weights) >= 16);
}

ProblemOptions problem_options(const JobOptions& options, const std::optional<LanguageOptions>& language) {
    ProblemOptions all = options.problem;
    if (language && language->phase != LanguagePhase::training)
        all.caches = options.simulation.batches_in_flight();
    if (language && !takes_precision(*language)) all.precision = Precision::as_given;
    return all;
}

Job make_job(std::shared_ptr<const Graph> graph, std::shared_ptr<const Machine> machine,
             const JobOptions& options, const std::optional<LanguageOptions>& language) {
    Job job;
    job.language = language;
    job.machine = machine;
    job.problem = make_problem(std::move(graph), std::move(machine), problem_options(options, language));
    job.simulation = options.simulation;
    if (options.pipeline_order && job.simulation.in_flight > 1 && job.simulation.order == Order::fifo &&
        job.problem->graph->training() == Training::none && has_blocks(*job.problem->graph))
        job.simulation.order = Order::one_forward_one_backward;
    job.objective = options.objective;
    job.penalty = options.penalty;
    job.grouping = options.problem.grouping;

    Simulator simulator(job.problem, job.simulation);
    Score best;
    for (DeviceId device = 0; device < job.problem->devices; ++device) {
        Placement placement = single_device_placement(*job.problem, device);
        const Score score = assess(job, placement, simulator.run(placement)).score;
        if (job.single_device.empty() || score.penalised_s < best.penalised_s) {
            best = score;
            job.single_device = std::move(placement);
        }
    }
    job.single_device_s = best.value_s;
    job.single_device_fits = best.fits;
    job.single_device_error =
        StepError::of(job.problem, job.single_device, simulator.run(job.single_device), job.simulation);
    return job;
}

std::string single_device_text(const Job& job) {
    const DeviceId device = job.single_device.front();
    const bool one = std::ranges::all_of(job.single_device, [&](DeviceId other) { return other == device; });
    return one ? job.machine->device(device).name + " alone" : "one device as far as possible";
}

std::optional<Placement> by_op_names(std::span<const DeviceId> placement, const Problem& from,
                                     const Problem& to) {
    Placement result(to.groups);
    for (GroupId group = 0; group < to.groups; ++group) {
        const OpId first = to.grouping.members[group].front();
        const auto same = from.graph->find(to.graph->op(first).name);
        if (!same) return std::nullopt;
        result[group] = placement[from.grouping.group_of[*same]];
    }
    return result;
}

Assessment assess(const Job& job, const Placement& placement, const Outcome& outcome) {
    if (job.objective->is_step_time())
        return {job.penalty.score(*job.problem, outcome), outcome.peak_bytes, {}, {}};
    try {
        const Evaluation evaluation = job.objective->evaluate(*job.problem, placement);
        return {
            job.penalty.score(*job.problem, evaluation), evaluation.device_bytes, evaluation.device_s, {}};
    } catch (const PlacementError& error) {
        return {kUndefinedScore, outcome.peak_bytes, {}, error.what()};
    }
}

SpeedUp speed_up(const std::shared_ptr<const Problem>& problem, const SimulationOptions& options,
                 const Placement& faster, const Placement& slower) {
    Simulator simulator(problem, options);
    const Outcome fast = simulator.run(faster);
    const Outcome& slow = simulator.run(slower);
    SpeedUp result;
    if (fast.step_time_s > 0) result.ratio = slow.step_time_s / fast.step_time_s;
    const auto error = StepError::of(problem, faster, fast, options);
    const auto other = StepError::of(problem, slower, slow, options);
    if (error && other) result.error = error->half_width_of_ratio(*other);
    return result;
}

std::string speed_up_text(const SpeedUp& speed_up, const std::string& other) {
    if (speed_up.ratio == 1) return "as fast as " + other;
    const std::string ratio = decimals("%.2f", speed_up.ratio);
    const std::string error =
        speed_up.error ? "± " + decimals("%.0f", std::ceil(*speed_up.error * 100)) + " %" : std::string();
    if (speed_up.is_within_error())
        return "as fast as " + other + " within the error (" + ratio + " times, " + error + ")";
    return ratio + (error.empty() ? "" : " (" + error + ")") + " times as fast as " + other;
}

std::unique_ptr<Evaluator> evaluator_of(const Job& job, unsigned threads) {
    return objective_evaluator(job.problem, *job.objective, job.simulation, job.penalty, threads);
}

std::vector<Placement> starting_placements(const Job& job) {
    std::vector<Placement> seeds{job.single_device};
    const auto expert = find_algorithm("expert")->make({job.problem, 1, {}}, {});
    const auto proposed = expert->ask(1);
    seeds.insert(seeds.end(), proposed.begin(), proposed.end());
    return seeds;
}

std::vector<std::pair<std::string, std::string>> scoring_conditions(const Job& job) {
    const SimulationOptions& simulation = job.simulation;
    const MemoryPenalty& penalty = job.penalty;
    const auto number = [](double value) { return to_string(OptionValue(value)); };
    std::vector<std::pair<std::string, std::string>> conditions{
        {"objective", std::string(job.objective->id)},
        {"order", std::string(to_string(simulation.order))},
        {"batches", std::to_string(simulation.batches)},
        {"in_flight", std::to_string(simulation.in_flight)},
        {"memory_rule", std::string(to_string(penalty.rule))},
        {"memory_penalty", number(penalty.seconds_per_mb) + " s/MB, " + number(penalty.seconds_per_gb) +
                               " s/GB, " + number(penalty.out_of_memory_s) + " s"}};
    // Only then, so that searches that were saved before there were runtimes can be resumed.
    if (simulation.runtime != Runtime::ideal)
        conditions.emplace_back("runtime", std::string(to_string(simulation.runtime)));
    if (simulation.runtime == Runtime::eager)
        conditions.emplace_back("host_time", number(simulation.host_time_s) + " s");
    return conditions;
}

PlacementFile::Prediction prediction(const Job& job, std::span<const DeviceId> placement,
                                     const Outcome& outcome, double lower_bound_s) {
    PlacementFile::Prediction prediction{outcome.step_time_s, {}, {}, outcome.fits};
    if (const auto error = StepError::of(job.problem, placement, outcome, job.simulation))
        prediction.interval = error->interval(outcome.step_time_s);
    if (std::isfinite(lower_bound_s) && lower_bound_s > 0 && job.grouping.rule == GroupingRule::none)
        prediction.lower_bound_s = lower_bound_s;
    for (std::size_t i = 0; i < outcome.peak_bytes.size(); ++i) {
        prediction.peak_bytes[job.problem->machine->devices()[i].name] = outcome.peak_bytes[i];
    }
    return prediction;
}

std::string groups_text(const Job& job) {
    if (job.grouping.rule == GroupingRule::none) return {};
    const auto groups = job.problem->groups;
    return groups == 1 ? " of all ops in one group" : " of these " + std::to_string(groups) + " groups";
}

Bound bound_of(const Job& job, Bound bound) {
    if (const std::string groups = groups_text(job); !groups.empty())
        bound.proof += "; for placements" + groups;
    return bound;
}

std::string above_bound_text(const Job& job, const Score& score, const Bound& bound) {
    if (!score.fits || bound.value_s <= 0) return {};
    const std::string groups = groups_text(job);
    if (groups.empty() && contradicts(bound.value_s, score.value_s))
        return "below a bound that must be wrong: please report it";
    const double percent = whole_percent(score.value_s / bound.value_s - 1);
    return (percent > 0 ? "at most " + format_count(percent) + " % above " : std::string()) +
           (groups.empty() ? "optimal" : "the best" + groups);
}

Bound tightest_bound(const Job& job) {
    return bound_of(job, quick_bounds(*job.problem, *job.objective, job.simulation).front());
}

}  // namespace placewright
