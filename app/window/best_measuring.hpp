// SPDX-License-Identifier: MIT
// The best placements of a run are run for real, and a search goes on from them. Free functions, for any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <QString>

#include "core/job/job.hpp"
#include "core/measure/measured_search.hpp"
#include "widgets/measured_placements.hpp"

namespace placewright {

/// What of a run is measured.
struct BestRequest {
    Job job;
    QString run;                              ///< its title
    std::vector<ScoredPlacement> placements;  ///< best first, with their simulated scores
    std::vector<PhysicalDevice> devices;
    MeasureOptions options;
    /// Then so many placements that the algorithm proposes, which starts from the fastest of those before;
    /// fewer if it proposes the same ones again.
    std::uint64_t evaluations = 0;
    std::string algorithm;
    OptionValues values;
    std::uint64_t seed = 1;
    PlacementRunner runner;  ///< empty: measure()

    std::size_t wanted() const { return placements.size() + static_cast<std::size_t>(evaluations); }
    /// Seconds that all steps take together as simulated, those that warm up included; further placements as
    /// the mean of the others.
    double estimate_s() const;
};

/// Called after each step and each placement: `left_s` seconds remain, at the speed so far.
using BestProgress = std::function<void(double left_s)>;
using BestReport = std::function<void(MeasuredPlacements::Each)>;

/// Measures the placements of a request one after the other; returns early if `stop` is requested. Throws
/// MeasureError.
void measureBest(const BestRequest& request, const std::stop_token& stop, const BestReport& report,
                 const BestProgress& progress);

}  // namespace placewright
