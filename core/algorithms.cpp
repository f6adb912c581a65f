// SPDX-License-Identifier: MIT
#include "core/algorithms.hpp"

#include <algorithm>
#include <vector>

#include "core/algorithm_texts.hpp"
#include "core/base/missing_part.hpp"
#include "core/io/state/shipped_policy.hpp"
#include "core/learn/policies.hpp"
#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/obeying_optimizer.hpp"

namespace placewright {
namespace {

/// Returns a factory whose optimizers are guided by the shipped policy, unless the option `policy` says no or
/// the context has a guide.
OptimizerFactory guided(OptimizerFactory make) {
    return [make = std::move(make)](const SearchContext& context, const OptionValues& values) {
        SearchContext own = context;
        const auto policy = values.find("policy");
        const bool wanted = policy == values.end() || policy->second == OptionValue(true);
        if (wanted && own.guide == nullptr && (own.objective == nullptr || own.objective->is_step_time()))
            own.guide = shipped_guide(own.problem);
        return make(own, values);
    };
}

/// Returns a factory that throws MissingPart.
OptimizerFactory refusal(const std::string& why) {
    return [why](const SearchContext&, const OptionValues&) -> std::unique_ptr<Optimizer> {
        throw MissingPart(why);
    };
}

/// All algorithms; those that this build is without come last.
const std::vector<AlgorithmInfo>& all_algorithms() {
    static const std::vector<AlgorithmInfo> list = [] {
        std::vector<AlgorithmInfo> all{
            auto_algorithm(),
            instant_algorithm(),
            single_device_algorithm(),
            random_algorithm(),
            expert_algorithm(),
            linear_search_algorithm(),
            hill_climbing_algorithm(),
            simulated_annealing_algorithm(),
            particle_swarm_algorithm(),
            genetic_algorithm(),
            map_elites_algorithm(),
            mcmc_algorithm(),
            tabu_algorithm(),
            heft_algorithm(),
            sequential_fill_algorithm(),
            memory_proportional_algorithm(),
            m_topo_algorithm(),
            m_etf_algorithm(),
            m_sct_algorithm(),
            pipedream_algorithm(),
            ideals_dp_algorithm(),
            scotch_algorithm(),
            metis_algorithm(),
            milp_algorithm(),
            load_annealing_algorithm(),
            cross_entropy_algorithm(),
            policy_gradient_algorithm(),
            ppo_algorithm(),
            post_algorithm(),
        };
        for (AlgorithmInfo& learned : learned_algorithms()) all.push_back(std::move(learned));
        for (AlgorithmInfo& info : std::span(all).first(2)) info.make = guided(std::move(info.make));
        for (AlgorithmInfo& info : all)
            info.make = info.missing.empty() ? obeying_rules(std::move(info.make)) : refusal(info.missing);
        all = with_texts(std::move(all));
        std::stable_partition(all.begin(), all.end(),
                              [](const AlgorithmInfo& info) { return info.missing.empty(); });
        return all;
    }();
    return list;
}

}  // namespace

std::span<const AlgorithmInfo> algorithms() {
    const std::vector<AlgorithmInfo>& all = all_algorithms();
    const auto missing =
        std::ranges::find_if(all, [](const AlgorithmInfo& info) { return !info.missing.empty(); });
    return {all.begin(), missing};
}

const AlgorithmInfo* find_algorithm(std::string_view id) {
    const std::vector<AlgorithmInfo>& all = all_algorithms();
    const auto found = std::ranges::find(all, id, &AlgorithmInfo::id);
    return found == all.end() ? nullptr : &*found;
}

const AlgorithmInfo& available_algorithm(std::string_view id) {
    const AlgorithmInfo& info = *find_algorithm(id);
    if (!info.missing.empty()) throw MissingPart(info.missing);
    return info;
}

}  // namespace placewright
