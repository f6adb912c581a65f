// SPDX-License-Identifier: MIT
// What a training run makes of a device map when it loads it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/io/placements/device_map_modules.hpp"
#include "core/io/text/name_list.hpp"

namespace placewright {

/// The keys of a device map, in their order, and their devices.
using MapEntries = std::vector<std::pair<std::string, DeviceId>>;

/// Result of a run that loads a map: the placement of the ops, and the conflicts.
struct LoadedMap {
    Placement placement;
    std::size_t by_module = 0, following = 0;  ///< number of ops
    NameList missing, apart, not_allowed, moved;
};

/// Returns the placement of all groups. An op without parameters is on the device of its module if that is in
/// the map, else on that of its largest input; an op without inputs is on the device of its reader.
LoadedMap load_device_map(const Problem& problem, const MapModules& modules, const MapEntries& entries);

}  // namespace placewright
