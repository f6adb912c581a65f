// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "core/cost/problem.hpp"

namespace placewright {

/// Explains why no placement fits the resident bytes (parameters and what is kept beside them) into the
/// memory of every device; nothing if one may exist. Proofs: a group that no device can hold, the bytes of
/// all groups that share a set of devices, or a depth-first search of all ways to distribute the groups, up
/// to 100 000 steps.
std::optional<std::string> memory_shortage(const Problem& problem);

}  // namespace placewright
