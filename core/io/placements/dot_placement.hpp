// SPDX-License-Identifier: MIT
// Placements as Graphviz DOT, to be looked at.
#pragma once

#include <string>

#include "core/io/placements/placed_network.hpp"

namespace placewright {

/// Returns the forward network with each op in the colour of its device, which is also in its label and its
/// attribute "device". read_dot (dot_file.hpp) reads it as the same network.
std::string dot_text(const PlacedNetwork& placed);

}  // namespace placewright
