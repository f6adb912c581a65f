// SPDX-License-Identifier: MIT
// What the command line says of a simulated placement.
#pragma once

#include <string>

#include "app/job.hpp"

namespace placewright {

/// Step time, and what devices and channels do, on standard output.
void print_outcome(const Job& job, const Outcome& outcome);

/// "gpu:0 alone", or "one device" where some ops may not be on it: what placements are compared with.
std::string single_device_name(const Job& job);

}  // namespace placewright
