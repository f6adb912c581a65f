// SPDX-License-Identifier: MIT
// Input and output of the writers of placements.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/path.hpp"
#include "core/cost/problem.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

/// A placement with its network, machine and simulation.
struct PlacedNetwork {
    std::shared_ptr<const Problem> problem;
    Placement placement;
    SimulationOptions simulation;
    PlacementFile about;
    Path network_file;      ///< file that the network was read from
    ReadOptions reading{};  ///< options that it was read with
};

/// Content of a file, and warnings for its user: what the format cannot express, and what will go wrong.
struct WrittenPlacement {
    std::string content;
    std::vector<std::string> warnings;
    std::optional<double>
        step_time_s{};  ///< step time of the run that loads the file, if the file differs from the placement
};

}  // namespace placewright
