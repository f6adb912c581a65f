// SPDX-License-Identifier: MIT
#include "core/search/evaluator.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <stdexcept>
#include <vector>

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "core/search/score_cache.hpp"
#include "core/search/threads.hpp"
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
        fresh_ = cache_.look_up(placements, scores);
        consider_base(base);
        if (!simulate(placements, scores, stop)) return false;
        cache_.keep(scores);
        return true;
    }

    std::uint64_t runs() const override { return runs_; }

private:
    static constexpr std::size_t kUsesOfBase = 8;

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
                scores[fresh_[i].index] = score(slot, placements[fresh_[i].index]);
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
    ScoreCache cache_;
    std::span<const ScoreCache::Fresh> fresh_;  ///< of the batch at hand: what to simulate
    std::uint64_t runs_ = 0;
};

}  // namespace

std::unique_ptr<Evaluator> simulation_evaluator(std::shared_ptr<const Problem> problem, SimulationOptions options, Objective objective,
                                                unsigned threads) {
    return std::make_unique<SimulationEvaluator>(std::move(problem), nullptr, options, objective, usable_threads(threads));
}

std::unique_ptr<Evaluator> goal_evaluator(std::shared_ptr<const Problem> problem, const Goal& goal, SimulationOptions options,
                                          Objective objective, unsigned threads) {
    if (!goal.is_step_time()) {
        try {
            goal.evaluate(*problem, single_device_placement(*problem));
        } catch (const PlacementError&) {
            // Others may be defined.
        }
    }
    return std::make_unique<SimulationEvaluator>(std::move(problem), goal.evaluate, options, objective, usable_threads(threads));
}

}  // namespace placewright
