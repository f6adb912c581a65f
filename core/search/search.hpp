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

#include "core/base/infinity.hpp"
#include "core/search/evaluator.hpp"
#include "core/search/optimizer.hpp"

namespace placewright {

/// What ends a search, whichever comes first. Unlimited in both, it goes on until it is stopped.
struct Budget {
    static constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

    std::uint64_t evaluations = 20'000;
    double seconds = kInfinity;

    bool is_timed() const { return seconds < kInfinity; }
    bool is_counted() const { return evaluations != kUnlimited; }
    bool operator==(const Budget&) const = default;
};

/// Returns the number of evaluations that an optimizer may plan with (SearchContext::evaluations); nothing if
/// the time may end the search first, or nothing does.
std::optional<std::uint64_t> planned_evaluations(const Budget& budget);

enum class SearchEnd : std::uint8_t { budget, exhausted, cancelled };

/// A snapshot, cheap to copy and safe to hand to another thread.
struct SearchProgress {
    std::uint64_t evaluations = 0;
    std::uint64_t simulations = 0;
    DeltaUse delta;  ///< of the simulations
    double elapsed_s = 0;
    double eta_s = 0;          ///< until the budget is used up; infinity if nothing ends it
    double latest_mean_s = 0;  ///< as CurvePoint::mean_s
    double lower_bound_s = 0;  ///< proven by the optimizer; 0: none
    Score best;
    std::shared_ptr<const Placement> best_placement;  ///< null before the first score
    std::shared_ptr<const std::vector<CurvePoint>> curve;
    std::vector<SeriesPoint> means;  ///< mean step time, or value of the objective, of the placements scored
                                     ///< for which it is defined, whether they fit or not
    std::shared_ptr<const std::vector<SamplePoint>> samples;  ///< some of the placements scored
    std::shared_ptr<const ArchiveView> archive;
    std::shared_ptr<const DistributionView> distribution;
    std::shared_ptr<const std::vector<TrainingPoint>> training;
};

struct SearchResult {
    SearchProgress progress;
    SearchEnd end = SearchEnd::budget;
};

/// Suspends a search between two slices of a batch, as long as another thread wants.
class Pause {
public:
    void set(bool paused);
    bool paused() const;
    /// Waits while the pause is set and `stop` is not requested. Returns the seconds waited.
    double wait(std::stop_token stop);

private:
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    bool paused_ = false;  ///< guarded by mutex_
};

using ProgressCallback = std::function<void(const SearchProgress&)>;

/// Returns an equally good placement to show for a new best one, for example with other names of alike
/// devices (relabelled()); `before`: the best before it as shown, null for the first.
using NamingCallback = std::function<Placement(const Placement& placement, const Placement* before)>;

/// Runs until the budget is used up, the optimizer has nothing more to propose, or `stop` is requested.
/// `report` is called on this thread at most every `interval`. The curve has a point at every improvement and
/// one at the end. If the seconds are unlimited, the result depends on the optimizer's seed alone. Time spent
/// in `pause` does not count. `naming` is called for each placement that improves.
SearchResult run_search(Optimizer& optimizer, Evaluator& evaluator, const Budget& budget,
                        std::stop_token stop = {}, const ProgressCallback& report = {},
                        std::chrono::milliseconds interval = std::chrono::milliseconds(33),
                        Pause* pause = nullptr, const NamingCallback& naming = {});

}  // namespace placewright
