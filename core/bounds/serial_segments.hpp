// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "core/cost/problem.hpp"

namespace placewright {

/// A problem with the same step times in which bounds by paths see that a device runs one op at a time: where
/// all ops between two ops of the backbone (core/bounds/backbone.hpp) are in one group, each reads the one
/// before it, too. Whatever their order, the op behind them waits for all of them, one after the other. So
/// every lower bound that follows from precedence, transfers and loads holds for the given problem.
///
/// Segments are left alone if data enters them from another group in several tensors, or leaves them in
/// several, since the transfers then depend on the order; and if a tensor that passes by one of the two ops
/// could be later than what passes through it. Returns nothing if there is nothing to add, or if
/// devices have several streams. O(ops + edges).
std::optional<Problem> with_serial_segments(const Problem& problem);

}  // namespace placewright
