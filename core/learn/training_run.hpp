// SPDX-License-Identifier: MIT
// Drives a trainer against evaluators within a budget.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <stop_token>

#include "core/learn/trainer.hpp"
#include "core/search/evaluator.hpp"

namespace placewright {

struct TrainingBudget {
    std::uint64_t updates = std::numeric_limits<std::uint64_t>::max();  ///< in all, those that the trainer has behind it included
    double seconds = std::numeric_limits<double>::infinity();           ///< from now on
};

/// Called after each update with the time left.
using TrainingCallback = std::function<void(const TrainingState& state, double eta_s)>;

/// Trains until the budget is used up, or `stop` is requested (returns false then). `evaluators`: one for each of the trainer's graphs. An
/// update that was not finished is drawn again the same when the trainer goes on. Of peers the first one says when it is over.
bool run_training(Trainer& trainer, std::span<const std::unique_ptr<Evaluator>> evaluators, const TrainingBudget& budget,
                  std::stop_token stop = {}, const TrainingCallback& report = {});

}  // namespace placewright
