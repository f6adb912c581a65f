// SPDX-License-Identifier: MIT
// Runs a trainer with evaluators within a budget.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <stop_token>

#include "core/base/infinity.hpp"
#include "core/learn/trainer.hpp"
#include "core/search/evaluator.hpp"

namespace placewright {

struct TrainingBudget {
    std::uint64_t updates = std::numeric_limits<std::uint64_t>::max();  ///< in total, including those that
                                                                        ///< the trainer has done before
    double seconds = kInfinity;                                         ///< from now on
};

/// Called after each update with the time left.
using TrainingCallback = std::function<void(const TrainingState& state, double eta_s)>;

/// Trains until the budget is used up, or `stop` is requested (then returns false). `evaluators`: one for
/// each of the trainer's graphs. When the trainer resumes, an unfinished update is drawn again in the same
/// way. Among peers the first one decides when to end.
bool run_training(Trainer& trainer, std::span<const std::unique_ptr<Evaluator>> evaluators,
                  const TrainingBudget& budget, std::stop_token stop = {},
                  const TrainingCallback& report = {});

}  // namespace placewright
