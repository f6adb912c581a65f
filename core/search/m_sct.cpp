// SPDX-License-Identifier: MIT
#include "core/search/algorithm_infos.hpp"
#include "core/search/list_scheduling.hpp"
#include "core/search/proposals.hpp"

namespace placewright {
namespace {

struct SctOptions : EarliestTaskOptions, FavouriteOptions {};

const OptionSchema<SctOptions>& schema() {
    using Options = SctOptions;
    static const auto schema = add_earliest_task_options(
        OptionSchema<Options>{}
            .add("favourite", &Options::favourite, {"lp", "heaviest", "longest"},
                 "How the favourite child of an op is found: by a linear programme, along the longest transfer, or along the longest way "
                 "to the end.")
            .add("threshold", &Options::threshold, 0, 1,
                 "An edge whose variable in the linear programme is smaller leads to a favourite child.")
            .add("lp_iterations", &Options::lp_iterations, 1, 1e9,
                 "Steps of the solver after which the linear programme is given up for the longest transfers."));
    return schema;
}

}  // namespace

AlgorithmInfo m_sct_algorithm() {
    return {
        "m-sct", "m-SCT", "Small communication times: m-ETF in which a device waits for the favourite child of what it has run (Baechi).",
        schema().infos(), [](const SearchContext& context, const OptionValues& values) {
            const SctOptions options = schema().parse(values);
            DeviceChoices choices(context.problem, options.allow_cpu);
            std::optional<std::vector<OpId>> favourites;
            return propose_until_fits(
                [options, choices = std::move(choices), favourites](double memory_share, const std::stop_token& stop) mutable -> Placement {
                    if (!favourites) {
                        auto found = favourite_children(choices, options, stop);
                        if (stop.stop_requested()) return {};
                        favourites = std::move(found);
                    }
                    return earliest_task_first(choices, options, *favourites, memory_share, stop).placement;
                },
                options.memory_filter ? options.attempts : 1);
        }};
}

}  // namespace placewright
