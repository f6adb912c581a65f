// SPDX-License-Identifier: MIT
// Packing groups onto devices: the scheduling of independent jobs on unrelated machines (R || Cmax), which is
// max load without transfers.
#pragma once

#include <cstddef>
#include <stop_token>
#include <vector>

#include "core/bounds/max_load_bounds.hpp"

namespace placewright {

/// Lower bound on the work of the busiest device in seconds if groups are whole: the least such max work, or
/// `cutoff_s` (infinity if no placement is known) if that is less. Transfers are free, but no device has a
/// group whose least load there (`least`) is larger; memory is unlimited. Returns at least `floor_s`, which
/// must be a valid bound. Depth-first, longest group first; a branch is cut unless the remaining groups fit
/// by their sum and by their number, and so do the longest of them alone. Exact to a millionth; less is
/// proven if `stop`, or about `steps` tests of a group on a device, end the search.
double packed_load_s(const LoadModel& model, const LeastLoads& least, double floor_s, double cutoff_s,
                     std::size_t steps, std::stop_token stop = {});

}  // namespace placewright
