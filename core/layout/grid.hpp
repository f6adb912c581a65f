// SPDX-License-Identifier: MIT
// An unrolled recurrent network as a table: a row for each layer, a column for each step of time.
#pragma once

#include <optional>

#include "core/layout/layout.hpp"

namespace placewright {

struct GridCell {
    std::uint32_t row = 0, column = 0;
};

/// The rectangle of a row with its cells, without what stands beside the table.
struct GridRow {
    double left = 0, top = 0, width = 0, height = 0;
};

struct GridPicture : LayoutPicture {
    std::vector<GridRow> rows;
};

/// Draws `cells[node]` in their rows and columns, from left to right in a room of that direction, else with
/// time downwards and the layers side by side. Several nodes of a cell are stacked. Nodes without a cell
/// are stacked beside the table: before it, in the row of their first reader, if a cell reads them, directly
/// or through others; else behind it, in the row of what they read. The rows are as far apart as fills the
/// room. Edges pass between the cells. O(nodes log nodes + edges). Throws std::invalid_argument as the other
/// layouts do.
GridPicture grid_picture(const LayoutInput& input, const std::vector<std::optional<GridCell>>& cells,
                         const LayoutRoom& room);

}  // namespace placewright
