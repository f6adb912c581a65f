// SPDX-License-Identifier: MIT
#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/parts/list_scheduling.hpp"
#include "core/search/parts/proposals.hpp"

namespace placewright {
namespace {

struct SctOptions : EarliestTaskOptions, FavouriteOptions {};

const OptionSchema<SctOptions>& sct_schema() {
    using Options = SctOptions;
    static const auto schema = add_earliest_task_options(
        OptionSchema<Options>{}
            .add("favourite", &Options::favourite, {"lp", "heaviest", "longest"},
                 "How the favourite child of an op is chosen. lp: by a linear program; heaviest: along the "
                 "longest transfer; longest: along the longest path to the end.")
            .add("threshold", &Options::threshold, 0, 1,
                 "Value of an edge's variable in the linear program below which its reader is a favourite "
                 "child.")
            .add("lp_iterations", &Options::lp_iterations, 1, 1e9,
                 "Solver iterations after which the linear program is given up for the longest transfers."));
    return schema;
}

}  // namespace

AlgorithmInfo m_sct_algorithm() {
    return describe(
        "m-sct", "m-SCT",
        "Small communication times: m-ETF in which a device waits for the favourite child of the op that it "
        "has run (m-SCT of Baechi; Jeon et al., 2020).",
        sct_schema(), [](const SearchContext& context, const SctOptions& options) {
            DeviceChoices choices(context.problem, options.allow_cpu);
            std::optional<std::vector<OpId>> favourites;
            return propose_until_fits(
                [options, choices = std::move(choices), favourites](
                    double memory_share, const std::stop_token& stop) mutable -> Placement {
                    if (!favourites) {
                        auto found = favourite_children(choices, options, stop);
                        if (stop.stop_requested()) return {};
                        favourites = std::move(found);
                    }
                    return earliest_task_first(choices, options, *favourites, memory_share, stop).placement;
                },
                options.memory_filter ? options.attempts : 1);
        });
}

}  // namespace placewright
