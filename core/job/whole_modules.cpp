// SPDX-License-Identifier: MIT
#include "core/job/whole_modules.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/cost/applied_constraints.hpp"
#include "core/io/placements/residual_blocks.hpp"

namespace placewright {
namespace {

std::shared_ptr<const Problem> grouped(const Problem& problem, const GroupingOptions& grouping) {
    auto result = std::make_shared<Problem>(problem);
    fill_groups(*result, grouping);
    return result;
}

/// [group of `whole`]: whether it joins several groups of `problem`.
std::vector<bool> joins_several(const Problem& problem, const Problem& whole) {
    std::vector<bool> joins(whole.groups);
    for (GroupId group = 0; group < whole.groups; ++group) {
        const auto& members = whole.grouping.members[group];
        joins[group] = std::ranges::any_of(members, [&](OpId op) {
            return problem.grouping.group_of[op] != problem.grouping.group_of[members.front()];
        });
    }
    return joins;
}

std::size_t modules_split(const Job& job, const GroupingOptions& grouping, const Placement& placement) {
    const auto whole = grouped(*job.problem, grouping);
    return static_cast<std::size_t>(std::ranges::count_if(whole->grouping.members, [&](const auto& members) {
        return std::ranges::any_of(members, [&](OpId op) {
            return placement[job.problem->grouping.group_of[op]] !=
                   placement[job.problem->grouping.group_of[members.front()]];
        });
    }));
}

double bytes_sent(const Outcome& outcome) {
    return std::accumulate(outcome.channel_bytes.begin(), outcome.channel_bytes.end(), 0.0);
}

}  // namespace

std::optional<GroupingOptions> modules_to_keep_whole(const Job& job) {
    constexpr std::size_t kManyOps = 100;
    if (job.simulation.runtime != Runtime::eager || !job.objective->is_step_time() ||
        job.grouping.rule != GroupingRule::none || job.problem->forward->size() < kManyOps)
        return {};
    const auto depth = depth_of_blocks(*job.problem->forward);
    if (!depth) return {};
    GroupingOptions grouping;
    grouping.rule = GroupingRule::scope;
    grouping.scope_depth = *depth;
    return grouping;
}

std::optional<WholeModules> place_whole_modules(const Job& job, const GroupingOptions& grouping,
                                                const AlgorithmInfo& algorithm, const OptionValues& options,
                                                std::uint64_t seed, const Budget& budget, unsigned threads,
                                                std::stop_token stop, Pause* pause) {
    constexpr std::uint64_t kFewest = 500;
    Budget part = budget;
    part.seconds /= 10;
    if (budget.is_counted())
        part.evaluations = std::min(budget.evaluations, std::max(kFewest, budget.evaluations / 10));
    Job whole = job;
    whole.problem = grouped(*job.problem, grouping);
    whole.grouping = grouping;
    whole.single_device = single_device_placement(*whole.problem);
    const auto optimizer = algorithm.make({whole.problem, seed, starting_placements(whole),
                                           planned_evaluations(part), whole.objective, whole.simulation},
                                          options);
    const SearchResult found = run_search(*optimizer, *evaluator_of(whole, threads), part, std::move(stop),
                                          {}, std::chrono::milliseconds(33), pause);
    if (!found.progress.best_placement) return {};
    const auto joins = joins_several(*job.problem, *whole.problem);
    WholeModules result{.grouping = grouping,
                        .modules = static_cast<std::size_t>(std::ranges::count(joins, true)),
                        .placement = regrouped(*found.progress.best_placement, *whole.problem, *job.problem),
                        .score = found.progress.best,
                        .outcome = {}};
    result.outcome = Simulator(job.problem, job.simulation).run(result.placement);
    return result;
}

Splitting splitting(const Job& job, const WholeModules& whole, const Placement& placement,
                    const Outcome& outcome) {
    return {.modules = modules_split(job, whole.grouping, placement),
            .gain = 1 - outcome.step_time_s / whole.outcome.step_time_s,
            .transfers = static_cast<std::int64_t>(outcome.transfers) -
                         static_cast<std::int64_t>(whole.outcome.transfers),
            .bytes = bytes_sent(outcome) - bytes_sent(whole.outcome)};
}

std::string splitting_text(const WholeModules& whole, const Splitting& split, const std::string& rule) {
    std::string text = "With whole modules (" + rule + ") a step takes " +
                       format_seconds(whole.outcome.step_time_s) +
                       (whole.outcome.fits ? "" : " and does not fit the memory");
    if (split.modules == 0) return text + "; this placement splits no module, either.";
    text += ". Splitting " + std::to_string(split.modules) + " of " + std::to_string(whole.modules) +
            " modules saves " + decimals("%.1f", 100 * split.gain) + " % and takes ";
    const bool more = split.bytes >= 0;
    return text + std::to_string(std::abs(split.transfers)) + (split.transfers >= 0 ? " more" : " fewer") +
           " transfers (" + format_bytes(std::abs(split.bytes)) + (more ? " more)." : " less).");
}

}  // namespace placewright
