// SPDX-License-Identifier: MIT
// Worked example of an export format; README.md explains it.
#pragma once

#include "core/io/placements/placement_formats.hpp"

namespace placewright::examples {

/// The ops of each device: {"gpu:0": ["conv1", "relu1"], "gpu:1": ["fc"]}.
const PlacementFormat& device_lists_format();

}  // namespace placewright::examples
