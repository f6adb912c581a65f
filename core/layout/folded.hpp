// SPDX-License-Identifier: MIT
// Long pictures cut into strips, so that a deep network fills a room of any shape.
#pragma once

#include "core/layout/layout.hpp"

namespace placewright {

/// Cuts a layout into strips between its layers, and lays these side by side: the first runs downwards, the
/// second upwards beside it, and so on, so that the end of one is next to the beginning of the other
/// (boustrophedon). Cuts are made where few edges pass. The number of strips is that with which the picture
/// is largest in a room of `aspect` (width over height); one strip, if others are hardly better. Edges that
/// pass a cut turn around the ends of their strips. O(nodes log nodes + edges log edges + strips * layers).
LayoutPicture folded(const LayoutInput& input, const LayoutResult& result, double aspect);

}  // namespace placewright
