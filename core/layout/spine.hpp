// SPDX-License-Identifier: MIT
// The main line of a network: the nodes that every path passes through (stem, joins and sums), drawn in one
// vertical line.
#pragma once

#include <span>

#include "core/layout/layout.hpp"

namespace placewright {

/// Moves the nodes of a finished layout sideways until nodes that are alone in their row and not passed by
/// any edge stand in one vertical line. All nodes between two of them move together: three or more branches
/// are centred on the line; of two branches, the straighter one is put on it. Vertical positions and the
/// order in each row do not change. Edges in `beside` are ignored and must be routed afterwards. O(nodes log
/// nodes + edges + bends).
void straighten_spine(const LayoutInput& input, std::span<const std::uint32_t> beside, LayoutResult& result);

/// The least and largest x of nodes and bends; (0, 0) without nodes.
struct HorizontalExtent {
    double left = 0, right = 0;
};
HorizontalExtent extent_across(const LayoutInput& input, const LayoutResult& result);

/// Moves everything sideways so that it starts at 0, and sets the width.
void fit_across(const LayoutInput& input, LayoutResult& result);

}  // namespace placewright
