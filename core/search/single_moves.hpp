// SPDX-License-Identifier: MIT
// What moving one group to another device would change: all such moves, each simulated.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/sim/objective.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

struct SingleMove {
    GroupId group = 0;
    DeviceId device = 0;  ///< where it would go
    Score score;
    double delta_s = 0;  ///< step time against that without the move; negative: faster

    bool operator==(const SingleMove&) const = default;
};

struct SingleMoves {
    Score now;                      ///< of the placement as it is
    std::vector<SingleMove> moves;  ///< to every other device that a group allows; best score first, then by group and device
};

/// How many moves have been simulated, of how many.
using MovesCallback = std::function<void(std::size_t done, std::size_t total)>;

/// Simulates every single move of a placement that check_placement accepts, on `threads` threads, at most one a core (0: all cores); the
/// result does not depend on them. Nothing if `stop` was requested before the last was simulated. `report` is called on this thread, at
/// most 30 times a second and once at the end. O(groups * devices) simulations.
std::optional<SingleMoves> single_moves(std::shared_ptr<const Problem> problem, const SimulationOptions& options,
                                        const Objective& objective, std::span<const DeviceId> placement, unsigned threads = 0,
                                        std::stop_token stop = {}, const MovesCallback& report = {});

}  // namespace placewright
