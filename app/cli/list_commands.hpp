// SPDX-License-Identifier: MIT
#pragma once

namespace placewright {

/// placewright-cli algorithms, networks and machines: what is there, as a table or one JSON array. They
/// return the exit status.
int list_algorithms(bool json);
int list_networks(bool json);
int list_machines(bool json);

}  // namespace placewright
