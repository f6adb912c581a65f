// SPDX-License-Identifier: MIT
// Rows of a lane on which the events of a trace are drawn.
#pragma once

#include <cstddef>
#include <span>

#include "core/io/traces/trace_file.hpp"

namespace placewright {

/// Assigns rows to the events of a lane, sorted by start and longest first, and sets the lane's rows and busy
/// time. An event gets the row below the events that enclose it (one without a duration that begins
/// with another gets its row); one that only overlaps others gets a row of
/// its own below all of these. Returns the number of these overlaps.
std::size_t set_rows(std::span<TraceEvent> events, TraceLane& lane);

}  // namespace placewright
