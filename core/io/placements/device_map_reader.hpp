// SPDX-License-Identifier: MIT
// Placements from device maps (device_map.hpp).
#pragma once

#include <string>
#include <vector>

#include "core/cost/placement.hpp"
#include "core/cost/problem.hpp"
#include "core/io/text/json.hpp"

namespace placewright {

/// Returns whether a flat object is a device map and not a placement of Exprimo: it contains names of devices
/// ("cpu", "cuda:1"), or a key that is a module but no op, or only keys that are modules and not a key for
/// every op.
bool is_device_map(const JsonValue& root, const Problem& problem);

/// Returns the placement that a device map describes. An op without parameters is on the device of its module
/// if that is in the map, else on that of its largest input; an op without inputs is on the device of its
/// reader. `notes` get the number of ops placed in each way, and the keys that match nothing. Throws
/// InputError for a parameter without a device, a device that is not in the machine, a device that an op does
/// not allow, and a group whose ops are on several devices.
Placement read_device_map(const JsonFile& file, const JsonValue& root, const Problem& problem,
                          std::vector<std::string>* notes);

}  // namespace placewright
