// SPDX-License-Identifier: MIT
// An optimizer proposes placements and receives their scores. It never calls the simulator, so the same
// algorithm runs against the simulator, real hardware or a cluster, and can be stopped between any two asks.
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
#include "core/search/progress.hpp"
#include "core/sim/memory_penalty.hpp"
#include "core/sim/objectives.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

class SearchGuide;

class Optimizer {
public:
    virtual ~Optimizer() = default;

    /// Returns the placements to score next, at most `limit` (positive); none if there is nothing more to
    /// propose. The result does not depend on the number of threads. Valid until tell().
    virtual std::span<const Placement> ask(std::size_t limit) = 0;

    /// From now on, a long ask() returns soon after `stop` is requested; it may then return nothing although
    /// there is more to propose.
    void stop_on(std::stop_token stop) { stop_ = std::move(stop); }

    /// Passes the share of the budget that is used up, from 0 to 1, before each ask() of a search that the
    /// time ends: schedules follow it, since the number of evaluations is not known (SearchContext). The
    /// result then depends on the computer.
    virtual void used(double /*share*/) {}

    /// Returns the placement from which those of the last ask() differ in few groups, or nullptr; an
    /// evaluator may use it to score faster.
    virtual const Placement* base() const { return nullptr; }

    /// Passes the scores of the placements of the last ask(), in its order.
    virtual void tell(std::span<const Score> scores) = 0;

    /// Passes placements proposed by other optimizers with their scores, between a tell() and the next ask();
    /// the search may continue from them.
    virtual void learn(std::span<const Placement> /*placements*/, std::span<const Score> /*scores*/) {}

    /// Returns the archive of algorithms that keep one; nullptr for the others.
    virtual std::shared_ptr<const ArchiveView> archive() const { return nullptr; }

    /// Returns the distribution of algorithms that draw placements from a single one; nullptr for the others.
    virtual std::shared_ptr<const DistributionView> distribution() const { return nullptr; }

    /// Returns one point per update of algorithms that train a policy; nullptr for the others.
    virtual std::shared_ptr<const std::vector<TrainingPoint>> training() const { return nullptr; }

    /// Returns a lower bound, proven so far, for all placements that fit; 0 if none is proven.
    virtual double lower_bound_s() const { return 0; }

protected:
    const std::stop_token& stop() const { return stop_; }

private:
    std::stop_token stop_;
};

/// Inputs from which an optimizer is made.
struct SearchContext {
    std::shared_ptr<const Problem> problem;
    std::uint64_t seed = 1;
    /// Start placements, for algorithms that use them.
    std::vector<Placement> seeds;
    /// Number of placements to be scored, if known; for algorithms that plan ahead.
    std::optional<std::uint64_t> evaluations = {};
    /// Objective behind the scores, for algorithms that have a model of it; null: step time.
    const Objective* objective = nullptr;
    SimulationOptions simulation = {};
    /// Steers the algorithms that can be steered; may be null.
    std::shared_ptr<SearchGuide> guide = {};
};

/// Description and factory of an algorithm.
struct AlgorithmInfo {
    std::string id;     ///< "map-elites"
    std::string title;  ///< "MAP-Elites"
    std::string help;   ///< how it works, and its source
    std::vector<OptionInfo> options;
    /// Throws OptionError for invalid option values, PlacementError for seeds that do not fit the problem.
    std::function<std::unique_ptr<Optimizer>(const SearchContext&, const OptionValues&)> make;
    std::vector<OptionPreset> presets = {};
    // Filled in by algorithms().
    std::string group = {};    ///< title of the group it is listed in: "Local search"
    std::string summary = {};  ///< what it does, for choosing: one plain sentence
};

}  // namespace placewright
