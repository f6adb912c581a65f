// SPDX-License-Identifier: MIT
// What a placement can be written as, for the training run that it was made for. The command line and the window offer what is here.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cost/problem.hpp"
#include "core/io/files.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

/// A placement with what it is a placement of.
struct PlacedNetwork {
    std::shared_ptr<const Problem> problem;
    Placement placement;
    SimulationOptions simulation;
    PlacementFile about;
    Path network_file;      ///< that the network was read from
    ReadOptions reading{};  ///< and how
};

/// A file to be, and what its user should know: what it cannot say, and what will go wrong.
struct WrittenPlacement {
    std::string content;
    std::vector<std::string> warnings;
    std::optional<double> step_time_s{};  ///< of the run that loads it, where the format says something else than the placement
};

struct PlacementFormat {
    std::string_view id;      ///< as on the command line
    std::string_view title;   ///< in the window
    std::string_view help;    ///< one line
    std::string_view suffix;  ///< of its files: ".device_map.json"; never that of a network, which may lie beside them
    /// What a user writes to train with the file, which is at `path`, where the network that was placed is `network_file`, read so.
    std::string (*snippet)(const std::string& path, const Path& network_file, const ReadOptions& reading);
    /// Throws PlacementError for a placement that the format cannot express, with the modules or ops at fault and the remedy, and
    /// InputError for a network file that cannot be read again.
    WrittenPlacement (*write)(const PlacedNetwork& placed);
    /// The nearest placement that the format can express: that of the run which loads the file. Throws PlacementError where there is none.
    /// nullptr: the format expresses every placement, or has no remedy.
    Placement (*repair)(const PlacedNetwork& placed) = nullptr;
    bool is_text = true;
    /// Why no placement of a network that was read from this file can be written, a line; empty: that depends on the placement. nullptr:
    /// never.
    std::string (*refusal)(const Path& network_file) = nullptr;
};

/// All of them, the usual ones first.
std::span<const PlacementFormat> placement_formats();
/// nullptr if there is none of that id.
const PlacementFormat* find_placement_format(std::string_view id);

}  // namespace placewright
