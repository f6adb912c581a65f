// SPDX-License-Identifier: MIT
#include "core/search/evaluator.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "core/cost/placement_key.hpp"
#include "core/sim/delta.hpp"

namespace placewright {
namespace {

class SimulationEvaluator final : public Evaluator {
public:
    /// `goal`: of the goal to score by; null for the step time.
    SimulationEvaluator(std::shared_ptr<const Problem> problem, decltype(Goal::evaluate) goal, SimulationOptions options,
                        Objective objective, unsigned threads)
        : problem_(std::move(problem)),
          goal_(goal),
          options_(options),
          objective_(objective),
          simulators_(threads),
          delta_simulators_(threads) {
        if (threads > 1) arena_.emplace(static_cast<int>(threads));
    }

    bool evaluate(std::span<const Placement> placements, std::span<Score> scores, std::stop_token stop, const Placement* base) override {
        if (placements.size() != scores.size()) throw std::invalid_argument("evaluate: as many scores as placements are needed");
        look_up(placements, scores);
        consider_base(base);
        if (!simulate(placements, scores, stop)) return false;
        keep(scores);
        return true;
    }

    std::uint64_t runs() const override { return runs_; }

private:
    static constexpr std::size_t kUsesOfBase = 8;
    static constexpr std::size_t kCacheEntries = std::size_t{1} << 18;

    struct Repeat {
        std::size_t index, first;
    };

    /// Answers what the cache knows and sorts the rest into placements to simulate and repetitions of those.
    void look_up(std::span<const Placement> placements, std::span<Score> scores) {
        fresh_.clear();
        fresh_keys_.clear();
        repeats_.clear();
        first_of_.clear();
        for (std::size_t i = 0; i < placements.size(); ++i) {
            const PlacementKey key = key_of(placements[i]);
            if (const auto known = cache_.find(key); known != cache_.end()) {
                scores[i] = known->second;
            } else if (const auto [first, added] = first_of_.try_emplace(key, i); !added) {
                repeats_.push_back({i, first->second});
            } else {
                fresh_.push_back(i);
                fresh_keys_.push_back(key);
            }
        }
    }

    /// To know a base costs about four simulations a thread, which the placements that it serves must be worth.
    void consider_base(const Placement* base) {
        if (base == nullptr || *base != base_) {
            base_uses_ = 0;
            base_ = base == nullptr ? Placement() : *base;
        }
        base_uses_ += fresh_.size();
        by_delta_ = base != nullptr && DeltaSimulator::saves(options_) && base_uses_ >= kUsesOfBase * simulators_.size();
    }

    const Outcome& outcome(std::size_t slot, const Placement& placement) {
        if (!by_delta_) {
            std::optional<Simulator>& simulator = simulators_[slot];
            if (!simulator) simulator.emplace(problem_, options_);
            return simulator->run(placement);
        }
        std::optional<DeltaSimulator>& simulator = delta_simulators_[slot];
        if (!simulator) simulator.emplace(problem_, options_);
        if (!std::ranges::equal(simulator->base(), base_)) simulator->rebase(base_);
        return simulator->run(placement);
    }

    Score score(std::size_t slot, const Placement& placement) {
        if (goal_ == nullptr) return objective_.score(*problem_, outcome(slot, placement));
        try {
            return objective_.score(*problem_, goal_(*problem_, placement));
        } catch (const PlacementError&) {
            return kUndefinedScore;
        }
    }

    bool simulate(std::span<const Placement> placements, std::span<Score> scores, const std::stop_token& stop) {
        std::atomic<std::size_t> next = 0, done = 0;
        // Placements take unlike times, so a thread that is through with one takes the next, whoever it was meant for.
        const auto simulate_some = [&](std::size_t slot) {
            std::size_t mine = 0;
            for (std::size_t i = next++; i < fresh_.size() && !stop.stop_requested(); i = next++) {
                scores[fresh_[i]] = score(slot, placements[fresh_[i]]);
                ++mine;
            }
            done += mine;
        };
        if (!arena_ || fresh_.size() < 2) {
            simulate_some(0);
        } else {
            arena_->execute([&] {
                tbb::parallel_for(
                    std::size_t{0}, std::min(simulators_.size(), fresh_.size()),
                    [&](std::size_t) { simulate_some(static_cast<std::size_t>(tbb::this_task_arena::current_thread_index())); },
                    tbb::simple_partitioner());
            });
        }
        runs_ += done;
        return done == fresh_.size();
    }

    void keep(std::span<Score> scores) {
        if (cache_.size() + fresh_.size() > kCacheEntries) cache_.clear();
        for (std::size_t i = 0; i < fresh_.size(); ++i) cache_.emplace(fresh_keys_[i], scores[fresh_[i]]);
        for (const Repeat& repeat : repeats_) scores[repeat.index] = scores[repeat.first];
    }

    std::shared_ptr<const Problem> problem_;
    decltype(Goal::evaluate) goal_;
    SimulationOptions options_;
    Objective objective_;
    std::optional<tbb::task_arena> arena_;
    std::vector<std::optional<Simulator>> simulators_;             ///< by slot of the arena
    std::vector<std::optional<DeltaSimulator>> delta_simulators_;  ///< the same
    Placement base_;
    std::size_t base_uses_ = 0;  ///< placements to simulate since it is the base
    bool by_delta_ = false;
    std::unordered_map<PlacementKey, Score, PlacementKey::Hash> cache_;
    std::uint64_t runs_ = 0;

    // Of the batch at hand; kept between batches for their memory.
    std::vector<std::size_t> fresh_;
    std::vector<PlacementKey> fresh_keys_;
    std::vector<Repeat> repeats_;
    std::unordered_map<PlacementKey, std::size_t, PlacementKey::Hash> first_of_;
};

unsigned usable_threads(unsigned threads) {
    const auto cores = static_cast<unsigned>(tbb::info::default_concurrency());
    return threads == 0 ? cores : std::min(threads, cores);
}

}  // namespace

std::unique_ptr<Evaluator> simulation_evaluator(std::shared_ptr<const Problem> problem, SimulationOptions options, Objective objective,
                                                unsigned threads) {
    return std::make_unique<SimulationEvaluator>(std::move(problem), nullptr, options, objective, usable_threads(threads));
}

std::unique_ptr<Evaluator> goal_evaluator(std::shared_ptr<const Problem> problem, const Goal& goal, SimulationOptions options,
                                          Objective objective, unsigned threads) {
    if (goal.evaluate != nullptr) {
        try {
            goal.evaluate(*problem, single_device_placement(*problem));
        } catch (const PlacementError&) {
            // Others may be defined.
        }
    }
    return std::make_unique<SimulationEvaluator>(std::move(problem), goal.evaluate, options, objective, usable_threads(threads));
}

}  // namespace placewright
