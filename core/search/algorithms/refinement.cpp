// SPDX-License-Identifier: MIT
#include "core/search/algorithms/refinement.hpp"

#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/obeying_optimizer.hpp"

namespace placewright {
namespace {

/// Moves scored at a time: enough for several cores, and few are scored in vain.
constexpr std::int64_t kBatch = 8;

/// Appends the progress of the climb to the progress before it.
SearchProgress joined(const SearchProgress& before, SearchProgress climb, const Placement& start) {
    auto curve = std::make_shared<std::vector<CurvePoint>>(*before.curve);
    for (std::size_t i = 0; i < climb.curve->size(); ++i) {
        CurvePoint point = (*climb.curve)[i];
        point.evaluations += before.evaluations;
        point.seconds += before.elapsed_s;
        // The curve already contains the start.
        if (point.best_s < curve->back().best_s || i + 1 == climb.curve->size()) curve->push_back(point);
    }
    climb.curve = std::move(curve);
    std::vector<SeriesPoint> means = before.means;
    for (const SeriesPoint& point : climb.means)
        means.push_back({point.evaluations + before.evaluations, point.value});
    climb.means = std::move(means);
    climb.evaluations += before.evaluations;
    climb.simulations += before.simulations;
    climb.delta += before.delta;
    climb.elapsed_s += before.elapsed_s;
    climb.archive = before.archive;
    climb.distribution = before.distribution;
    if (!climb.best_placement) {
        climb.best = before.best;
        climb.best_placement = std::make_shared<const Placement>(start);
    }
    return climb;
}

}  // namespace

SearchResult refine(SearchResult found, std::shared_ptr<const Problem> finest, const Placement& start,
                    Evaluator& evaluator, const Budget& budget, std::uint64_t seed, bool allow_cpu,
                    std::stop_token stop, const ProgressCallback& report,
                    std::chrono::milliseconds interval) {
    if (!found.progress.best_placement) return found;
    const auto climb = obeying_rules(hill_climbing_algorithm().make)({std::move(finest), seed, {start}},
                                                                     {{"neighbourhood", std::string("first")},
                                                                      {"merge_moves", 0.0},
                                                                      {"restarts", std::int64_t{0}},
                                                                      {"batch_size", kBatch},
                                                                      {"allow_cpu", allow_cpu}});
    ProgressCallback joined_report;
    if (report) {
        joined_report = [&](const SearchProgress& progress) {
            report(joined(found.progress, progress, start));
        };
    }
    SearchResult result = run_search(*climb, evaluator, budget, std::move(stop), joined_report, interval);
    result.progress = joined(found.progress, std::move(result.progress), start);
    return result;
}

}  // namespace placewright
