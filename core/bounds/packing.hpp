// SPDX-License-Identifier: MIT
// Groups packed onto devices: the scheduling of independent jobs on unrelated machines (R || Cmax) that max load is without transfers.
#pragma once

#include <cstddef>
#include <stop_token>
#include <vector>

#include "core/bounds/max_load_bounds.hpp"

namespace placewright {

/// Seconds that some device works for at least, however whole groups are put on devices: the least such max work, or `cutoff_s` (infinity:
/// no placement is known) if that is less. Transfers are free, but no device has a group that it would need more time for (`least`);
/// memory is without limit. At least `floor_s`, which is known to hold. Depth-first with the longest group first: what is left must fit by
/// its sum and by its number, and so must the longest groups of it alone. To a millionth; less is proven where about `steps` looks at a
/// group and a device, or `stop`, end it.
double packed_load_s(const LoadModel& model, const LeastLoads& least, double floor_s, double cutoff_s, std::size_t steps,
                     std::stop_token stop = {});

}  // namespace placewright
