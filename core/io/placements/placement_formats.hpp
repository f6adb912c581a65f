// SPDX-License-Identifier: MIT
// Export formats of placements, as the command line and the window offer them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/path.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/placements/placed_network.hpp"

namespace placewright {

struct PlacementFormat {
    std::string_view id;      ///< name on the command line
    std::string_view title;   ///< name in the window
    std::string_view help;    ///< one line
    std::string_view suffix;  ///< suffix of its files, such as ".device_map.json"; never that of a network,
                              ///< which may be in the same folder
    /// Returns code that loads the exported file at `path` for what was written into it.
    std::string (*snippet)(const std::string& path, const PlacedNetwork& placed);
    /// Returns the content of the file. Throws PlacementError for a placement that the format cannot express,
    /// with the modules or ops at fault and the remedy, and InputError for a network file that cannot be read
    /// again.
    WrittenPlacement (*write)(const PlacedNetwork& placed);
    /// Returns the nearest placement that the format can express, which is that of the run that loads the
    /// file. Throws PlacementError if there is none. nullptr: the format expresses every placement, or has no
    /// remedy.
    Placement (*repair)(const PlacedNetwork& placed) = nullptr;
    bool is_text = true;
    /// Returns one line that says why no placement of a network that was read from this file can be written;
    /// empty if that depends on the placement. nullptr: the format refuses no network. O(ops).
    std::string (*refusal)(const Path& network_file, const Graph& network) = nullptr;
};

/// Returns what the format writes, with a warning if the run that loads the file does not fit the memory.
/// Throws as PlacementFormat::write.
WrittenPlacement written_as(const PlacementFormat& format, const PlacedNetwork& placed);
/// Returns what the format's repair does. Throws as PlacementFormat::repair, and PlacementError if the result
/// breaks a constraint.
Placement repaired_for(const PlacementFormat& format, const PlacedNetwork& placed);

/// Returns all formats, the most used first.
std::span<const PlacementFormat> placement_formats();
/// Returns the format with this id; nullptr if there is none.
const PlacementFormat* find_placement_format(std::string_view id);

}  // namespace placewright
