// SPDX-License-Identifier: MIT
// The least load of ops and groups on each device, in whatever order the simulator runs them; lower bounds
// sum these loads.
#pragma once

#include <cstdint>
#include <vector>

#include "core/cost/problem.hpp"

namespace placewright {

/// Seconds of an op on a device. Updates that accumulate add a gradient in every batch but the first, and run
/// their update in one batch.
struct OpSeconds {
    double least_s = 0;  ///< least time in any batch
    double mean_s = 0;   ///< mean over all batches
};
OpSeconds op_seconds(const Problem& problem, OpId op, DeviceId device, std::uint32_t batches);

/// The quantity whose sum over the ops that run on a device at the same time never exceeds the whole device.
enum class DevicePart : std::uint8_t {
    share,   ///< the share of the device that the op keeps busy
    stream,  ///< one of the device's streams
};

/// Of the device while it runs the op: 1 on a device with one stream.
double part_of_device(const Problem& problem, OpId op, DeviceId device, DevicePart part);

struct GroupLoads {
    /// [group * devices + device]: seconds of the whole device per batch; infinity where the group is not
    /// allowed.
    std::vector<double> time_s;
    std::vector<double> resident_bytes;  ///< [group]: at the end of a step (Problem::end_bytes)
};
GroupLoads group_loads(const Problem& problem, std::uint32_t batches, DevicePart part);

}  // namespace placewright
