// SPDX-License-Identifier: MIT
// Descriptions of ops as rich text.
#pragma once

#include <vector>

#include <QString>

#include "widgets/op_view.hpp"
#include "widgets/timeline_data.hpp"

namespace placewright {

/// Describes one forward op: name, kind, shape, device, time on each device, output bytes, when it ran and
/// what it waited for. Times include the derived backward and update ops. `device` may be kInvalidDevice,
/// `timeline` null. Neighbours are links whose address is the op's id.
QString describeOp(const Problem& problem, OpId op, DeviceId device, const TimelineData* timeline);

/// Describes one forward op in a few lines, for tooltips.
QString summarizeOp(const Problem& problem, OpId op, DeviceId device, const TimelineData* timeline);

/// Describes several ops: their number, their sums, their distribution over the devices, and links to the
/// first of them. `devices`: by op id.
QString describeOps(const Problem& problem, const OpList& ops, const std::vector<DeviceId>& devices);

}  // namespace placewright
