// SPDX-License-Identifier: MIT
// List of all algorithms, group by group.
#pragma once

#include <span>
#include <string_view>

#include "core/search/optimizer.hpp"

namespace placewright {

std::span<const AlgorithmInfo> algorithms();

/// Returns nullptr if there is no algorithm of that id.
const AlgorithmInfo* find_algorithm(std::string_view id);

}  // namespace placewright
