// SPDX-License-Identifier: MIT
// What moving one group to another device would change: all such moves, each scored.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/search/evaluator.hpp"

namespace placewright {

struct SingleMove {
    GroupId group = 0;
    DeviceId device = 0;  ///< where it would go
    Score score;
    double delta_s = 0;  ///< step time, or what stands for it, against that without the move; negative: faster

    bool operator==(const SingleMove&) const = default;
};

struct SingleMoves {
    Score now;                      ///< of the placement as it is
    std::vector<SingleMove> moves;  ///< to every other device that a group allows; best score first, then by group and device
};

/// How many moves have been scored, of how many.
using MovesCallback = std::function<void(std::size_t done, std::size_t total)>;

/// Scores every single move of a placement that check_placement accepts, as `evaluator` of the problem does it. Nothing if `stop` was
/// requested before the last was scored. `report` is called on this thread, at most 30 times a second and once at the end.
/// O(groups * devices) evaluations.
std::optional<SingleMoves> single_moves(Evaluator& evaluator, const Problem& problem, const Placement& placement, std::stop_token stop = {},
                                        const MovesCallback& report = {});

}  // namespace placewright
