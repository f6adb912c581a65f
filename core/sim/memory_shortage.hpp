// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "core/cost/problem.hpp"

namespace placewright {

/// Why no placement gives every device as many resident bytes (parameters, and what is kept beside them) as it has memory, or fewer;
/// nothing if there may be one. Which is proven by the group that no device can hold, the bytes of all groups that share a set of devices,
/// or all ways to share them out, as far as 100 000 steps of a depth-first search go.
std::optional<std::string> memory_shortage(const Problem& problem);

}  // namespace placewright
