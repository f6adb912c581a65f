// SPDX-License-Identifier: MIT
#pragma once

#include "core/search/optimizer.hpp"

namespace placewright {

using OptimizerFactory = decltype(AlgorithmInfo::make);

/// Returns a factory whose optimizers propose only placements that keep apart what the problem keeps apart:
/// each proposal of the algorithm is repaired by obeying() before it is scored, and the algorithm learns the
/// score of what became of it. Bounds of the algorithm stay valid, since rules only forbid placements.
OptimizerFactory obeying_rules(OptimizerFactory make);

}  // namespace placewright
