// SPDX-License-Identifier: MIT
// The algorithms of this folder; core/algorithms.hpp lists them with all others.
#pragma once

#include "core/search/optimizer.hpp"

namespace placewright {

/// Each device alone, fastest first.
AlgorithmInfo single_device_algorithm();
/// Every group on a random device.
AlgorithmInfo random_algorithm();
/// Rules of an expert: parallel branches apart, for recurrent networks layers apart.
AlgorithmInfo expert_algorithm();
/// Random or steepest single moves.
AlgorithmInfo hill_climbing_algorithm();
/// The genetic algorithm of Exprimo, section 3.2.2.
AlgorithmInfo genetic_algorithm();
/// The MAP-Elites of Exprimo, section 3.2.3.
AlgorithmInfo map_elites_algorithm();

}  // namespace placewright
