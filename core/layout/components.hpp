// SPDX-License-Identifier: MIT
// A graph in parts that no edge joins: laid out one by one, then packed into one picture.
#pragma once

#include <span>
#include <vector>

#include "core/layout/layout.hpp"

namespace placewright {

/// A connected part with its own numbering.
struct Component {
    LayoutInput part;
    std::vector<std::uint32_t> nodes, edges;  ///< of the whole, by node and edge of the part
};

/// Parts in the order of their first nodes. O(nodes + edges).
std::vector<Component> components(const LayoutInput& input);

/// Puts the pictures of the parts into rows, the highest first, `gap` apart, in a box that is about square. O(parts log parts).
LayoutResult packed(const LayoutInput& input, std::span<const Component> parts, std::span<const LayoutResult> pictures, double gap);

}  // namespace placewright
