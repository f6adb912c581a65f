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
    std::optional<Outcome> outcome{};  ///< of the run that loads the file, if that differs from the placement
};

/// Notes the outcome of the run that loads the file, and returns "a step takes 2 ms instead of 1 ms" for a
/// warning of what is elsewhere than placed.
std::string note_run(WrittenPlacement& written, const PlacedNetwork& placed, const Placement& run);

}  // namespace placewright
