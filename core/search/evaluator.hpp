// SPDX-License-Identifier: MIT
// The only thing between an optimizer and the world: it scores batches of placements.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>

#include "core/sim/goals.hpp"
#include "core/sim/objective.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

class Evaluator {
public:
    virtual ~Evaluator() = default;

    /// Scores placements in order. Returns false if `stop` was requested before all were scored; `scores` is then incomplete.
    /// `base`: a placement that these differ from in few groups, if there is one; scores do not depend on it, the time they take may.
    virtual bool evaluate(std::span<const Placement> placements, std::span<Score> scores, std::stop_token stop,
                          const Placement* base = nullptr) = 0;

    /// Simulations (or measurements) that were really run; a repeated placement is answered from a cache.
    virtual std::uint64_t runs() const = 0;
};

/// Scores by simulation on `threads` threads, at most one a core (0: all cores). Results do not depend on the number of threads.
std::unique_ptr<Evaluator> simulation_evaluator(std::shared_ptr<const Problem> problem, SimulationOptions options, Objective objective,
                                                unsigned threads = 0);

/// Scores by a goal, of goals(): the step time as simulation_evaluator does it, others by what they make of a placement, whose value stands
/// for the step time. A placement that the goal is not defined for (PlacementError) does not fit and scores kUndefinedScore.
/// Throws what the goal throws of every placement of such a problem: GraphError, MachineError.
std::unique_ptr<Evaluator> goal_evaluator(std::shared_ptr<const Problem> problem, const Goal& goal, SimulationOptions options,
                                          Objective objective, unsigned threads = 0);
inline constexpr Score kUndefinedScore{1e9, 1e9, false};

}  // namespace placewright
