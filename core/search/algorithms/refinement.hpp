// SPDX-License-Identifier: MIT
// Refines the result of a search by moves of single groups.
#pragma once

#include "core/search/search.hpp"

namespace placewright {

/// Continues the search `found` with a climb in `finest` (see ungrouped) from its best placement, which is
/// `start` there: single moves in an order that depends on the `seed`, each taken if it helps, until none
/// does or `budget` is used up. Counts, times and curve continue those of `found`; the best placement is one
/// of `finest` and never worse than `start`. `evaluator` scores placements of `finest`. Ops are not moved to
/// CPUs unless `allow_cpu`. A search that found nothing is returned unchanged.
SearchResult refine(SearchResult found, std::shared_ptr<const Problem> finest, const Placement& start,
                    Evaluator& evaluator, const Budget& budget, std::uint64_t seed, bool allow_cpu = false,
                    std::stop_token stop = {}, const ProgressCallback& report = {},
                    std::chrono::milliseconds interval = std::chrono::milliseconds(33));

}  // namespace placewright
