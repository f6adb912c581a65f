// SPDX-License-Identifier: MIT
// Devices and channels in the JSON of machines and catalogues.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/io/text/json.hpp"
#include "core/machine/efficiencies.hpp"
#include "core/machine/machine.hpp"

namespace placewright {

/// Reads a device of a machine or of a catalogue of parts; there it has no name. What it leaves out of its
/// kind, peak FLOP/s, bandwidth and memory comes from the catalogue of devices, by its model; a device that
/// gives all three is described by the file alone, unless it says "from_catalogue": true. "efficiencies"
/// gives the parameters of its op times (Efficiencies); those left out are the catalogue's, or the defaults.
Device read_device(const JsonValue& value);
/// Reads a channel. What it leaves out comes from the catalogue of links, by its model.
Channel read_channel(const JsonValue& value);
DeviceKind read_device_kind(const JsonValue& value);
/// Reads [[bytes, efficiency], ...].
std::vector<std::pair<double, double>> read_efficiency_by_bytes(const JsonValue& value);

/// Reads a parameter of the op times into `efficiencies`. Throws InputError if there is none called `key` or
/// its value is out of range.
void read_efficiency(Efficiencies& efficiencies, const std::string& key, const JsonValue& value);

/// Builds a machine; a MachineError becomes an InputError.
Machine build_machine(const JsonFile& file, std::string name, std::vector<Device> devices,
                      std::vector<Channel> channels, std::vector<Route> routes,
                      Crossing crossing = Crossing::store_and_forward);

}  // namespace placewright
