// SPDX-License-Identifier: MIT
#pragma once

namespace placewright {

/// placewright-cli algorithms, networks and machines: what is there, as a table or one JSON array. They
/// return the exit status.
int list_algorithms(bool json);
int list_networks(bool json);
int list_machines(bool json);
/// placewright-cli machines --devices: the catalogue of devices and links. The array holds the devices.
int list_devices(bool json);

}  // namespace placewright
