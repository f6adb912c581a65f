// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "core/machine/machine.hpp"

namespace placewright {

/// [group]: its device. The only data that optimizers exchange.
using Placement = std::vector<DeviceId>;

}  // namespace placewright
