// SPDX-License-Identifier: MIT
#include "core/job/whole_modules.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

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
                                                std::stop_token stop) {
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
    const SearchResult found = run_search(*optimizer, *evaluator_of(whole, threads), part, std::move(stop));
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

}  // namespace placewright
