// SPDX-License-Identifier: MIT
#pragma once

#include "core/graph/graph.hpp"

namespace placewright {

/// As many parameters as the bytes of the ops hold in their types. Weights of fewer bits count as fewer.
double parameter_count(const Graph& graph);

}  // namespace placewright
