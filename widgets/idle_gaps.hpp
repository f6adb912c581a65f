// SPDX-License-Identifier: MIT
// Why a device is idle: the gaps between its spans and what each of them waits for, read from a trace.
#pragma once

#include <optional>
#include <vector>

#include <QString>

#include "widgets/timeline_data.hpp"

namespace placewright {

/// A time in which no stream of a device runs an op.
struct IdleGap {
    enum class Cause : std::uint8_t {
        input,  ///< the next op needs a tensor that another device sends
        order,  ///< the next op is held back until an op elsewhere ends, for example by the order of batches
        host,   ///< the host has not issued the next op
        nothing,  ///< the device has nothing left to run
        unknown   ///< the trace does not say; so it is with what was measured
    };
    DeviceId device = 0;
    double start_s = 0, end_s = 0;
    Cause cause = Cause::unknown;
    std::uint32_t next = kNoSpan;  ///< index in Trace::spans of the op that ends the gap; kNoSpan for nothing
    std::uint32_t by = kNoSpan;    ///< input: the last leg of the transfer; order: the op that had to end
    // Parts of an input's gap, which add up to its duration.
    double compute_s = 0;   ///< until the tensor is computed
    double queue_s = 0;     ///< the tensor waits for its channels
    double transfer_s = 0;  ///< it crosses them

    double duration_s() const { return end_s - start_s; }
    bool operator==(const IdleGap&) const = default;
};

/// All gaps of a device between 0 and the end of the step, in the order of time. O(spans log spans).
std::vector<IdleGap> idleGaps(const TimelineData& data, DeviceId device);
/// The gap of a device that contains a time. O(streams log spans).
std::optional<IdleGap> idleGapAt(const TimelineData& data, DeviceId device, double time_s);

// The following return rich text with escaped names.

/// "gpu:1 is idle for 3.2 ms: waits for the transfer of conv1 from gpu:0"; ops link to their id if `linked`.
QString gapText(const TimelineData& data, const IdleGap& gap, bool linked);
/// The idle time of a device by cause: "Idle for 12 ms (31 %): 6 ms for ops of other devices, …".
QString idleText(const TimelineData& data, DeviceId device);

}  // namespace placewright
