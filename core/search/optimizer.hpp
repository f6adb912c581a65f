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
#include "core/search/stream.hpp"
#include "core/search/workers.hpp"
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

    /// An ask() in two parts, so that several searches can share the threads: begin_ask() returns the number
    /// of placements, then make() is called once for each, by any thread at the same time, and asked()
    /// returns them. By default, begin_ask() does all the work.
    virtual std::size_t begin_ask(std::size_t limit) {
        asked_ = ask(limit);
        return asked_.size();
    }
    virtual void make(std::size_t /*i*/) {}
    virtual std::span<const Placement> asked() const { return asked_; }

    /// The placements to score next as a stream, which keeps more threads busy than batches do where each
    /// placement depends on the scores of those before: begins a section of it, once all items of the one
    /// before are scored. counted() tells afterwards which count. Null: there are only batches, at least now.
    virtual PlacementStream* stream(const StreamLimits& /*limits*/) { return nullptr; }

    /// From now on, a long ask() returns soon after `stop` is requested; it may then return nothing although
    /// there is more to propose.
    void stop_on(std::stop_token stop) { stop_ = std::move(stop); }

    /// Passes the share of the budget that is used up, from 0 to 1, before each ask() of a search that the
    /// time ends: schedules follow it, since the number of evaluations is not known (SearchContext). The
    /// result then depends on the computer.
    virtual void used(double /*share*/) {}

    /// Lends threads to the following calls of ask() and tell(); null: the calling thread is alone. What is
    /// proposed does not depend on them, but an optimizer may propose more at a time (counted()).
    void work_with(Workers* workers) { workers_ = workers; }

    /// Returns a placement from which placement i of the last ask() differs in few groups, or nullptr; an
    /// evaluator may use it to score faster.
    virtual const Placement* base(std::size_t /*i*/) const { return nullptr; }

    /// Passes the scores of the placements of the last ask(), in its order.
    virtual void tell(std::span<const Score> scores) = 0;

    /// Whether some placements of the last ask() may not count. To use several threads, a search that takes
    /// one step after the other proposes placements for the case that it stays where it is, and drops them,
    /// as if they had never been proposed, if it moves.
    virtual bool proposes_ahead() const { return false; }
    /// After the tell() of what was proposed ahead: the scored placements that are now part of the search, in
    /// its order. Valid until the next ask().
    virtual std::span<const Scored> counted() const { return {}; }

    /// Scored placements that are not yet counted, though they will be; for a search that ends here.
    virtual std::vector<Scored> uncounted() const { return {}; }

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
    Workers* workers() const { return workers_; }
    std::size_t threads() const { return workers_ == nullptr ? 1 : workers_->threads(); }

    /// Calls work(i) once for each i below `count`, on all threads.
    template <class Work>
    void for_each(std::size_t count, const Work& work) const {
        if (workers_ != nullptr) {
            workers_->for_each(count, [&](unsigned /*thread*/, std::size_t i) { work(i); });
        } else {
            for (std::size_t i = 0; i < count; ++i) work(i);
        }
    }

private:
    std::stop_token stop_;
    Workers* workers_ = nullptr;
    std::span<const Placement> asked_;  ///< by begin_ask()
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
    /// Why this build cannot run it (missing_part_text()); empty if it can. `make` then throws MissingPart.
    std::string missing = {};
};

}  // namespace placewright
