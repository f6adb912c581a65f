// SPDX-License-Identifier: MIT
// Connected components of a graph, which are laid out one by one and then packed into one picture.
#pragma once

#include <span>
#include <vector>

#include "core/layout/layout.hpp"

namespace placewright {

/// A connected component with its own numbering.
struct Component {
    LayoutInput part;
    std::vector<std::uint32_t> nodes, edges;  ///< numbers in the whole graph, by node and edge of the part
};

/// Components in the order of their first nodes. O(nodes + edges).
std::vector<Component> components(const LayoutInput& input);

/// Arranges the pictures of the parts in rows, tallest first, `gap` apart, in a roughly square box. O(parts
/// log parts).
LayoutResult packed(const LayoutInput& input, std::span<const Component> parts,
                    std::span<const LayoutResult> pictures, double gap);

}  // namespace placewright
