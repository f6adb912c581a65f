// SPDX-License-Identifier: MIT
// What ops and groups ask of devices at least, whatever the order in which the simulator runs them: what lower bounds add up.
#pragma once

#include <cstdint>
#include <vector>

#include "core/cost/problem.hpp"

namespace placewright {

/// Seconds of an op on a device. Updates that accumulate add a gradient in all batches but the first, and update in one.
struct OpSeconds {
    double least_s = 0;  ///< in every batch
    double mean_s = 0;   ///< over all batches
};
OpSeconds op_seconds(const Problem& problem, OpId op, DeviceId device, std::uint32_t batches);

/// What is never more than a whole device, added up over the ops that run on it at a time.
enum class DevicePart : std::uint8_t {
    share,   ///< of the device that the op keeps busy
    stream,  ///< one of its streams
};

struct GroupLoads {
    std::vector<double> time_s;          ///< [group * devices + device]: of the whole device, a batch; infinity where the group may not be
    std::vector<double> resident_bytes;  ///< [group]
};
GroupLoads group_loads(const Problem& problem, std::uint32_t batches, DevicePart part);

}  // namespace placewright
