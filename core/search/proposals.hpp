// SPDX-License-Identifier: MIT
// For algorithms that know all their placements beforehand.
#pragma once

#include <memory>
#include <vector>

#include "core/search/optimizer.hpp"

namespace placewright {

/// Proposes the placements in their order, then nothing more.
std::unique_ptr<Optimizer> propose_in_turn(std::vector<Placement> placements);

}  // namespace placewright
