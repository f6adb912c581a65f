// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "core/cost/problem.hpp"

namespace placewright {

/// Returns which times the measured cost model takes from the roofline (is_predicted()): "none of 12 ops has
/// a measured time for C, 3 of 12 ops have no measured time for M: the roofline model estimates them", by the
/// models of the machine's devices, of the ops of the simulated step that compute, backward and update ops
/// among them, followed by the models of other devices that the network has times for; empty if none is
/// missing.
std::string unmeasured_text(const Problem& problem);

/// Returns which links of the machine a profile's transfers replace by a latency or a bandwidth that is more
/// than twice or less than half of what the machine says: "the transfers of the profile replace the figures
/// of link 0 to 1: 4 us, 8 GB/s (1 ms, 100 MB/s by the machine file)"; empty if none. `given` is the machine
/// without the profile, `used` the one with it.
std::string replaced_links_text(const Machine& given, const Machine& used);

}  // namespace placewright
