// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"

namespace placewright {

/// What measured costs leave to the roofline: "none of 12 ops has a measured time for C, 3 of 12 ops have no measured time for M: theirs
/// are those of the roofline", by the models of the machine's devices, of forward times, and the models of other devices that the network
/// has times for; empty if none is missing.
std::string unmeasured_text(const Graph& graph, const Machine& machine);

}  // namespace placewright
