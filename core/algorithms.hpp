// SPDX-License-Identifier: MIT
// List of all algorithms, group by group.
#pragma once

#include <span>
#include <string_view>

#include "core/search/optimizer.hpp"

namespace placewright {

/// Those that this build can run.
std::span<const AlgorithmInfo> algorithms();

/// Returns nullptr if there is no algorithm of that id. Finds an algorithm that this build is without, too
/// (AlgorithmInfo::missing).
const AlgorithmInfo* find_algorithm(std::string_view id);

/// The same for an algorithm that there is. Throws MissingPart if this build is without it.
const AlgorithmInfo& available_algorithm(std::string_view id);

}  // namespace placewright
