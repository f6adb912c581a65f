// SPDX-License-Identifier: MIT
// Devices and channels in the JSON of machines and catalogues.
#pragma once

#include <string>
#include <vector>

#include "core/io/text/json.hpp"
#include "core/machine/machine.hpp"

namespace placewright {

/// Reads a device of a machine or of a catalogue; in a catalogue it has no name.
Device read_device(const JsonValue& value);
Channel read_channel(const JsonValue& value);

/// Builds a machine; a MachineError becomes an InputError.
Machine build_machine(const JsonFile& file, std::string name, std::vector<Device> devices,
                      std::vector<Channel> channels, std::vector<Route> routes,
                      Crossing crossing = Crossing::store_and_forward);

}  // namespace placewright
