// SPDX-License-Identifier: MIT
// What a search reports while it runs: points of its curves, and snapshots of what its algorithm keeps. Plain
// values, for those that draw or write them without knowing optimizers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/cost/placement.hpp"
#include "core/graph/grouping.hpp"
#include "core/sim/score.hpp"

namespace placewright {

/// A point of the learning curve: the best score after `evaluations`.
struct CurvePoint {
    std::uint64_t evaluations = 0;
    double seconds = 0;
    double best_s = 0;
    double mean_s = 0;  ///< mean step time of the latest placements, at most LatestMean::kMost
    bool fits = true;   ///< false: the best score contains a penalty for memory or for an undefined objective

    bool operator==(const CurvePoint&) const = default;

    /// Whether the objective is defined for the best placement so far.
    bool is_defined() const { return fits || best_s != kUndefinedScore.penalised_s; }
};

/// A point of a quantity that is measured over a whole search.
struct SeriesPoint {
    /// End of the stretch that this is the mean of; it begins at the previous point.
    std::uint64_t evaluations = 0;
    double value = 0;

    bool operator==(const SeriesPoint&) const = default;
};

/// One of the placements that a search has scored.
struct SamplePoint {
    std::uint64_t evaluations = 0;  ///< its number, from 1
    double seconds = 0;
    double value_s = 0;
    bool fits = true;

    bool operator==(const SamplePoint&) const = default;
};

/// Snapshot of a MAP-Elites archive: a grid of niches, each empty or with its elite.
struct ArchiveView {
    static constexpr std::size_t kMostCells = 10'000'000;

    struct Dimension {
        std::string title;
        std::uint32_t size = 0;
        std::vector<std::string> labels;  ///< one per cell, or empty
        /// Its cells differ in name alone: devices that are all alike.
        bool symmetric = false;
    };
    struct Elite {
        std::uint32_t cell = 0;  ///< row-major over the dimensions, the last one fastest
        Score score;
        std::shared_ptr<const Placement> placement;
    };
    /// A cell got a new elite.
    struct Event {
        std::uint64_t evaluations = 0;  ///< that the algorithm had seen by then, rounded up
        std::uint32_t cell = 0;
        Score score;
    };
    std::vector<Dimension> dimensions;
    std::vector<Elite> elites;   ///< ascending in cell
    std::vector<Event> history;  ///< ascending in evaluations; ends with the present elites
    std::uint64_t evaluations = 0;
};

/// Snapshot of the distribution that an algorithm draws placements from; groups are independent of each
/// other.
struct DistributionView {
    std::vector<DeviceId> devices;       ///< devices that some group may use, ascending
    std::vector<double> probability;     ///< [group * devices.size() + index in devices]
    double entropy = 0;                  ///< nats, the mean over the groups that have a choice
    double largest_entropy = 0;          ///< entropy of the initial distribution
    std::vector<SeriesPoint> entropies;  ///< over the whole search
};

/// State of a training after an update.
struct TrainingPoint {
    std::uint64_t updates = 0;
    std::uint64_t evaluations = 0;
    /// Mean cost of the episodes' last placements over the workers, as a share of the step time on one
    /// device.
    double cost = 0;
    double cost_spread = 0;  ///< standard deviation of that cost
    /// Cost of the best placements so far, mean over all graphs; 1 for a graph that has none yet.
    double best_cost = 0;
    double entropy = 0;     ///< nats, mean over the decisions
    double divergence = 0;  ///< KL divergence of the update in nats; 0 without proximal steps
    double learning_rate = 0;
    double entropy_weight = 0;

    bool operator==(const TrainingPoint&) const = default;
};

/// The move of a single group to another device.
struct SingleMove {
    GroupId group = 0;
    DeviceId device = 0;  ///< target of the move
    Score score;
    double delta_s = 0;  ///< change of the step time, or of the objective's value; negative: faster

    bool operator==(const SingleMove&) const = default;
};

/// All moves of a single group from one placement.
struct SingleMoves {
    Score now;  ///< of the unchanged placement
    /// Moves to every other device that a group allows and that break no rule; best score first, then by
    /// group and device.
    std::vector<SingleMove> moves;
};

}  // namespace placewright
