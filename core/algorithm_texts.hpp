// SPDX-License-Identifier: MIT
// What users read of algorithms and their options before they read the help.
#pragma once

#include <vector>

#include "core/search/optimizer.hpp"

namespace placewright {

/// Puts the algorithms into the order of their groups, and fills in groups, summaries and titles of options.
std::vector<AlgorithmInfo> with_texts(std::vector<AlgorithmInfo> algorithms);

}  // namespace placewright
