// SPDX-License-Identifier: MIT
// The main line of a network: the nodes that everything passes through, stem, joins and sums, one above the other.
#pragma once

#include <span>

#include "core/layout/layout.hpp"

namespace placewright {

/// Moves a finished layout sideways until nodes that are alone in their row, and that no edge passes, stand in one vertical line. What lies
/// between two of them moves as a whole: three and more branches about the line, of two the straighter one onto it. Places along the y axis
/// stay, and so does the order in each row. Edges in `beside` are not looked at; they are to be routed afterwards.
/// O(nodes log nodes + edges + bends).
void straighten_spine(const LayoutInput& input, std::span<const std::uint32_t> beside, LayoutResult& result);

/// The least and largest x of nodes and bends; (0, 0) without nodes.
struct Extent {
    double left = 0, right = 0;
};
Extent extent_across(const LayoutInput& input, const LayoutResult& result);

/// Moves everything sideways so that it starts at 0, and sets the width.
void fit_across(const LayoutInput& input, LayoutResult& result);

}  // namespace placewright
