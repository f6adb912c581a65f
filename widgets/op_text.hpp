// SPDX-License-Identifier: MIT
// What there is to say about an op, as rich text.
#pragma once

#include <vector>

#include <QString>

#include "widgets/op_view.hpp"
#include "widgets/timeline_data.hpp"

namespace placewright {

/// Rich text about one forward op: name, kind, shape, device, time on each device, bytes out, when it ran and what it waited for.
/// Times are of the op with its derived backward and update ops. `device` may be kInvalidDevice, `timeline` null. The neighbours are links
/// whose address is the op's id.
QString describeOp(const Problem& problem, OpId op, DeviceId device, const TimelineData* timeline);

/// The same in a few lines, for tooltips.
QString summarizeOp(const Problem& problem, OpId op, DeviceId device, const TimelineData* timeline);

/// Several ops: how many, their sums, how they spread over the devices, and links to the first of them. `devices`: by op id.
QString describeOps(const Problem& problem, const OpList& ops, const std::vector<DeviceId>& devices);

}  // namespace placewright
