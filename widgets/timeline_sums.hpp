// SPDX-License-Identifier: MIT
// What runs in a part of a timeline, summed by device, channel and kind of op.
#pragma once

#include <string>
#include <vector>

#include <QString>

#include "widgets/op_view.hpp"
#include "widgets/timeline_data.hpp"

namespace placewright {

/// Sums over the spans of some devices and channels within a span of time; spans that reach beyond it count
/// with the part inside.
struct TimelineSums {
    struct Resource {
        bool isDevice = true;
        std::uint16_t id = 0;  ///< DeviceId or ChannelId
        double busy_s = 0;     ///< seconds in which at least one stream is busy
        std::size_t count = 0;
    };
    struct Kind {
        std::string name;    ///< of the forward op
        double seconds = 0;  ///< of its forward, backward and update ops
        std::size_t count = 0;
    };
    double start_s = 0, end_s = 0;
    std::vector<Resource> resources;  ///< in the order in which they were asked for
    std::vector<Kind> kinds;          ///< of ops, longest first
    double compute_s = 0;             ///< sum of busy_s of the devices
    double transfer_s = 0;            ///< sum of busy_s of the channels
    std::size_t count = 0;            ///< spans
    OpList ops;                       ///< those that compute in the area

    double duration_s() const { return end_s - start_s; }
    std::size_t devices() const;
    /// Seconds in which the devices are idle, summed over them.
    double idle_s() const { return static_cast<double>(devices()) * duration_s() - compute_s; }

    /// O(streams log spans + spans inside log spans inside).
    static TimelineSums of(const TimelineData& data, double start_s, double end_s,
                           const std::vector<DeviceId>& devices, const std::vector<ChannelId>& channels);
};

/// The sums as rich text: totals, a table by device and channel, and one by kind of op; ends with a link
/// "select" to the ops.
QString sumsText(const TimelineSums& sums, const TimelineData& data);

}  // namespace placewright
