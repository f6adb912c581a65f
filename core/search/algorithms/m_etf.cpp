// SPDX-License-Identifier: MIT
#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/parts/list_scheduling.hpp"
#include "core/search/parts/proposals.hpp"

namespace placewright {
namespace {

const OptionSchema<EarliestTaskOptions>& earliest_task_schema() {
    static const auto schema = add_earliest_task_options(OptionSchema<EarliestTaskOptions>{});
    return schema;
}

}  // namespace

AlgorithmInfo m_etf_algorithm() {
    return describe(
        "m-etf", "m-ETF",
        "Earliest task first: repeatedly takes the op and device that can start soonest, within the "
        "memory (m-ETF of Baechi; Jeon et al., 2020).",
        earliest_task_schema(), [](const SearchContext& context, const EarliestTaskOptions& options) {
            return propose_until_fits(
                [options, choices = DeviceChoices(context.problem, options.allow_cpu)](
                    double memory_share, const std::stop_token& stop) {
                    return earliest_task_first(choices, options, {}, memory_share, stop).placement;
                },
                options.memory_filter ? options.attempts : 1);
        });
}

}  // namespace placewright
