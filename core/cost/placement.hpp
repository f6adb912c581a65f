// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "core/machine/machine.hpp"

namespace placewright {

/// One device a group: the only thing that optimizers exchange.
using Placement = std::vector<DeviceId>;

}  // namespace placewright
