// SPDX-License-Identifier: MIT
// An optimizer proposes placements and is told their scores. It never calls the simulator, so the same algorithm runs against
// the simulator, real hardware or a cluster, and can be stopped between any two asks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/cost/problem.hpp"
#include "core/search/options.hpp"
#include "core/search/series.hpp"
#include "core/sim/goals.hpp"
#include "core/sim/objective.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

/// A MAP-Elites archive as others see it: a grid of niches, each empty or with its elite.
struct ArchiveView {
    struct Dimension {
        std::string title;
        std::uint32_t size = 0;
        std::vector<std::string> labels;  ///< one a cell, or empty
    };
    struct Elite {
        std::uint32_t cell = 0;  ///< row-major over the dimensions, the last one fastest
        Score score;
        std::shared_ptr<const Placement> placement;
    };
    std::vector<Dimension> dimensions;
    std::vector<Elite> elites;  ///< ascending in cell
};

/// The distribution that an algorithm draws placements from as others see it: groups do not depend on each other.
struct DistributionView {
    std::vector<DeviceId> devices;       ///< that some group may be on, ascending
    std::vector<double> probability;     ///< [group * devices.size() + index in devices]
    double entropy = 0;                  ///< nats, the mean over the groups that have a choice
    double largest_entropy = 0;          ///< what it was while nothing was known
    std::vector<SeriesPoint> entropies;  ///< all through the search
};

/// What a policy that is being trained had learned after an update.
struct TrainingPoint {
    std::uint64_t updates = 0;
    std::uint64_t evaluations = 0;
    double cost = 0;         ///< shares of the step time on one device: of the episodes' last placements, the mean over the workers
    double cost_spread = 0;  ///< their standard deviation
    double best_cost = 0;    ///< of the best placements so far, the mean over all graphs; 1 for one that has none yet
    double entropy = 0;      ///< nats, the mean over the decisions
    double divergence = 0;   ///< that the update covered; 0 without proximal steps
    double learning_rate = 0;
    double entropy_weight = 0;

    bool operator==(const TrainingPoint&) const = default;
};

class Optimizer {
public:
    virtual ~Optimizer() = default;

    /// The placements to score next, at most `limit` (positive) of them; empty when there is nothing more to propose. The same
    /// whatever the number of threads. Valid until tell().
    virtual std::span<const Placement> ask(std::size_t limit) = 0;

    /// From now on an ask() that takes long is over soon after `stop` is requested; it may then propose nothing although there is more.
    void stop_on(std::stop_token stop) { stop_ = std::move(stop); }

    /// The placement that those of the last ask() differ from in few groups, if there is one: what an evaluator may use to be faster.
    virtual const Placement* base() const { return nullptr; }

    /// Scores of the placements of the last ask(), in its order.
    virtual void tell(std::span<const Score> scores) = 0;

    /// Scores of placements that others have proposed, between a tell() and the next ask(): what a search may go on from.
    virtual void learn(std::span<const Placement> /*placements*/, std::span<const Score> /*scores*/) {}

    /// The archive, for algorithms that keep one; nullptr for the others.
    virtual std::shared_ptr<const ArchiveView> archive() const { return nullptr; }

    /// What placements are drawn from, for algorithms that have one distribution for that; nullptr for the others.
    virtual std::shared_ptr<const DistributionView> distribution() const { return nullptr; }

    /// A point an update, for algorithms that train a policy; nullptr for the others.
    virtual std::shared_ptr<const std::vector<TrainingPoint>> training() const { return nullptr; }

    /// What no placement that fits is below, as far as the algorithm has proven it; 0 if it proves nothing.
    virtual double lower_bound_s() const { return 0; }

protected:
    const std::stop_token& stop() const { return stop_; }

private:
    std::stop_token stop_;
};

/// What an optimizer is made for.
struct SearchContext {
    std::shared_ptr<const Problem> problem;
    std::uint64_t seed = 1;
    /// Placements to start from, for the algorithms that can.
    std::vector<Placement> seeds;
    /// How many placements are going to be scored, where that is known: for algorithms that plan ahead.
    std::optional<std::uint64_t> evaluations = {};
    /// What scores are told of, for algorithms that have a model of it; null: the step time.
    const Goal* goal = nullptr;
    SimulationOptions simulation = {};
};

/// Description and factory of an algorithm.
struct AlgorithmInfo {
    std::string id;     ///< "map-elites"
    std::string title;  ///< "MAP-Elites"
    std::string help;   ///< one line
    std::vector<OptionInfo> options;
    /// Throws OptionError for values that the options do not take, PlacementError for seeds that do not fit the problem.
    std::function<std::unique_ptr<Optimizer>(const SearchContext&, const OptionValues&)> make;
    std::vector<OptionPreset> presets = {};
};

}  // namespace placewright
