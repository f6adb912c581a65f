// SPDX-License-Identifier: MIT
// Scores every move of a single group to another device.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/search/evaluator.hpp"
#include "core/search/progress.hpp"

namespace placewright {

/// Reports the number of moves scored and their total number.
using MovesCallback = std::function<void(std::size_t done, std::size_t total)>;

/// Scores every single move of a placement that check_placement accepts with `evaluator`, which belongs to
/// the problem. Returns nothing if `stop` was requested before the last move was scored. `report` is called
/// on this thread, at most 30 times a second and once at the end. O(groups * devices) evaluations.
std::optional<SingleMoves> single_moves(Evaluator& evaluator, const Problem& problem,
                                        const Placement& placement, std::stop_token stop = {},
                                        const MovesCallback& report = {});

}  // namespace placewright
