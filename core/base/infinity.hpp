// SPDX-License-Identifier: MIT
#pragma once

#include <limits>

namespace placewright {

/// Value of what is not reached, not allowed or not limited.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace placewright
