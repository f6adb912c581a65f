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
    /// `objective`: the function to score by; null for the step time.
    SimulationEvaluator(std::shared_ptr<const Problem> problem, decltype(Objective::evaluate) objective,
                        SimulationOptions options, MemoryPenalty penalty, unsigned threads)
        : problem_(std::move(problem)),
          objective_(objective),
          options_(options),
          penalty_(penalty),
          simulators_(threads),
          delta_simulators_(threads) {
        if (threads > 1) arena_.emplace(static_cast<int>(threads));
    }

    bool evaluate(std::span<const Placement> placements, std::span<Score> scores, std::stop_token stop,
                  const Placement* base) override {
        if (placements.size() != scores.size())
            throw std::invalid_argument("evaluate: as many scores as placements are needed");
        fresh_ = cache_.look_up(placements, scores);
        consider_base(base);
        if (!simulate(placements, scores, stop)) return false;
        cache_.keep(scores);
        return true;
    }

    std::uint64_t runs() const override { return runs_; }

private:
    static constexpr std::size_t kUsesOfBase = 8;

    /// Preparing a base costs about four simulations per thread, so it must serve enough placements to be
    /// worth it.
    void consider_base(const Placement* base) {
        if (base == nullptr || *base != base_) {
            base_uses_ = 0;
            base_ = base == nullptr ? Placement() : *base;
        }
        base_uses_ += fresh_.size();
        by_delta_ = base != nullptr && DeltaSimulator::saves(options_) &&
                    base_uses_ >= kUsesOfBase * simulators_.size();
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
        if (objective_ == nullptr) return penalty_.score(*problem_, outcome(slot, placement));
        try {
            return penalty_.score(*problem_, objective_(*problem_, placement));
        } catch (const PlacementError&) {
            return kUndefinedScore;
        }
    }

    bool simulate(std::span<const Placement> placements, std::span<Score> scores,
                  const std::stop_token& stop) {
        std::atomic<std::size_t> next = 0, done = 0;
        // Placements take different times, so a thread that has finished takes the next one, whichever thread
        // it was meant for.
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
                    [&](std::size_t) {
                        simulate_some(static_cast<std::size_t>(tbb::this_task_arena::current_thread_index()));
                    },
                    tbb::simple_partitioner());
            });
        }
        runs_ += done;
        return done == fresh_.size();
    }

    std::shared_ptr<const Problem> problem_;
    decltype(Objective::evaluate) objective_;
    SimulationOptions options_;
    MemoryPenalty penalty_;
    std::optional<tbb::task_arena> arena_;
    std::vector<std::optional<Simulator>> simulators_;             ///< [slot of the arena]
    std::vector<std::optional<DeltaSimulator>> delta_simulators_;  ///< [slot of the arena]
    Placement base_;
    std::size_t base_uses_ = 0;  ///< placements to simulate since this is the base
    bool by_delta_ = false;
    ScoreCache cache_;
    std::span<const ScoreCache::Fresh> fresh_;  ///< of the current batch: what to simulate
    std::uint64_t runs_ = 0;
};

}  // namespace

std::unique_ptr<Evaluator> simulation_evaluator(std::shared_ptr<const Problem> problem,
                                                SimulationOptions options, MemoryPenalty penalty,
                                                unsigned threads) {
    return std::make_unique<SimulationEvaluator>(std::move(problem), nullptr, options, penalty,
                                                 usable_threads(threads));
}

std::unique_ptr<Evaluator> objective_evaluator(std::shared_ptr<const Problem> problem,
                                               const Objective& objective, SimulationOptions options,
                                               MemoryPenalty penalty, unsigned threads) {
    if (!objective.is_step_time()) {
        try {
            objective.evaluate(*problem, single_device_placement(*problem));
        } catch (const PlacementError&) {
            // The objective may be defined for other placements.
        }
    }
    return std::make_unique<SimulationEvaluator>(std::move(problem), objective.evaluate, options, penalty,
                                                 usable_threads(threads));
}

}  // namespace placewright
