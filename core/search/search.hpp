// SPDX-License-Identifier: MIT
// Drives one optimizer against one evaluator within a budget.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/search/evaluator.hpp"
#include "core/search/optimizer.hpp"

namespace placewright {

struct Budget {
    std::uint64_t evaluations = 20'000;
    double seconds = std::numeric_limits<double>::infinity();
};

/// What an optimizer may be told of the budget (SearchContext::evaluations): nothing where the time may end the search first.
std::optional<std::uint64_t> planned_evaluations(const Budget& budget);

/// A point of the learning curve: the best score after so many evaluations.
struct CurvePoint {
    std::uint64_t evaluations = 0;
    double seconds = 0;
    double best_s = 0;
    double mean_s = 0;  ///< mean step time of the batch in which this was found
    bool fits = true;   ///< otherwise the best score is a penalty for memory, or for what is not defined

    bool operator==(const CurvePoint&) const = default;
};

enum class SearchEnd : std::uint8_t { budget, exhausted, cancelled };

/// A snapshot, cheap to copy and safe to hand to another thread.
struct SearchProgress {
    std::uint64_t evaluations = 0;
    std::uint64_t simulations = 0;
    double elapsed_s = 0;
    double eta_s = 0;          ///< until the budget is used up
    double latest_mean_s = 0;  ///< mean step time of the last batch
    double lower_bound_s = 0;  ///< proven by the optimizer; 0: nothing
    Score best;
    std::shared_ptr<const Placement> best_placement;  ///< null before the first score
    std::shared_ptr<const std::vector<CurvePoint>> curve;
    std::vector<SeriesPoint>
        means;  ///< mean step time, or of what else is minimised, of the placements scored; whether they fit or not, where it is defined
    std::shared_ptr<const ArchiveView> archive;
    std::shared_ptr<const DistributionView> distribution;
    std::shared_ptr<const std::vector<TrainingPoint>> training;
};

struct SearchResult {
    SearchProgress progress;
    SearchEnd end = SearchEnd::budget;
};

/// Holds a search between two slices of a batch, for as long as another thread wants.
class Pause {
public:
    void set(bool paused);
    bool paused() const;
    /// Waits as long as it is set, or until `stop` is requested. Returns the seconds that this took.
    double wait(std::stop_token stop);

private:
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    bool paused_ = false;  ///< guarded by mutex_
};

using ProgressCallback = std::function<void(const SearchProgress&)>;

/// Runs until the budget is used up, the optimizer has nothing more to propose, or `stop` is requested. `report` is called on this
/// thread at most every `interval`. The curve has a point at every improvement and one at the end. With an infinite number of seconds
/// the result depends on the optimizer's seed alone. The time in `pause` is no time of the search.
SearchResult run_search(Optimizer& optimizer, Evaluator& evaluator, const Budget& budget, std::stop_token stop = {},
                        const ProgressCallback& report = {}, std::chrono::milliseconds interval = std::chrono::milliseconds(33),
                        Pause* pause = nullptr);

}  // namespace placewright
