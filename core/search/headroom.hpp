// SPDX-License-Identifier: MIT
// The last step of a search: layers in runs, and room in memory, for very little time.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>

#include "core/base/infinity.hpp"
#include "core/search/search.hpp"
#include "core/sim/objectives.hpp"

namespace placewright {

/// Searches know the step time alone, and fill a device to its last byte where that is no slower. What really
/// fits depends on fragmentation, libraries and sizes that no file says, so a placement that leaves room is
/// worth a little time. Equal times are rare (every cut of a chain costs a transfer), so the last byte of
/// equality would change nothing: 0.5 % is far below the error of a step time (StepError) and pays for the
/// transfers of a few more cuts. For the same reason blocks are put into one run a device: frameworks ask for
/// that, and searches end with scattered ones where memory is tight.
inline constexpr double kHeadroomCost = 0.005;
/// A device that is less full has room enough; placements in which all devices have are left as they are.
inline constexpr double kRoomyShare = 0.8;

struct HeadroomOptions {
    double cost = kHeadroomCost;  ///< the value may become larger by this share; 0: not at all
    std::uint64_t simulations = 1000;
    double seconds = kInfinity;  ///< with a limit the result depends on the computer
    Pause* pause = nullptr;      ///< waits while it is set, which takes none of the seconds
};

/// What a placement was, before it was changed.
struct Headroom {
    double value_s = 0;      ///< objective's value of the placement that the search found
    double found_share = 0;  ///< of its memory that the fullest device held there
    double share = 0;        ///< that it holds now
    bool in_runs = false;    ///< the blocks of each device were put into one run
    std::uint64_t simulations = 0;
};

/// Number of simulations that suit a search of so many evaluations: a twentieth, from 64 to 1000.
std::uint64_t headroom_simulations(std::uint64_t evaluations);

/// First puts the blocks of each device into one run (layer_runs.hpp) if the value stays within `cost` of
/// that which was found. Then moves runs of neighbouring groups from devices that are fuller than kRoomyShare
/// to others that hold ops or are of the same kind, as long as the fullest devices become less full and the
/// objective's value stays within `cost` of that which was found; runs of blocks are not cut. Of pipelines of
/// blocks (max load), all stages are evened out, however full they are. Replaces the best placement and its
/// score in `result`; the curve stays that of the search. Returns nothing if the best placement does not fit,
/// or is left as it is. Deterministic unless stopped or out of time.
std::optional<Headroom> gain_headroom(SearchResult& result, const std::shared_ptr<const Problem>& problem,
                                      const Objective& objective, const SimulationOptions& simulation,
                                      const MemoryPenalty& penalty, const HeadroomOptions& options,
                                      std::stop_token stop = {});

}  // namespace placewright
