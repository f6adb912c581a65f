// SPDX-License-Identifier: MIT
// The one list of all algorithms.
#pragma once

#include <span>
#include <string_view>

#include "core/search/optimizer.hpp"

namespace placewright {

std::span<const AlgorithmInfo> algorithms();

/// nullptr if there is none of that id.
const AlgorithmInfo* find_algorithm(std::string_view id);

}  // namespace placewright
