// SPDX-License-Identifier: MIT
// Worked example of an algorithm; README.md explains it.
#pragma once

#include "core/search/optimizer.hpp"

namespace placewright::examples {

/// Cuts the network into one piece for each device, and moves one border at a time.
AlgorithmInfo border_search_algorithm();

}  // namespace placewright::examples
