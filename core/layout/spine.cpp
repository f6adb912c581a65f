// SPDX-License-Identifier: MIT
#include "core/layout/spine.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace placewright {
namespace {

/// The nodes at one height.
struct Row {
    double y = 0, top = 0, bottom = 0;
    std::uint32_t first = 0;  ///< its first node
    std::size_t nodes = 0;
    std::int64_t passing = 0;  ///< number of edges from above the row to below it

    bool on_spine() const { return nodes == 1 && passing == 0; }
};

struct Rows {
    std::vector<Row> rows;            ///< from top to bottom
    std::vector<std::size_t> row_of;  ///< [node]
};

/// The nodes between two neighbouring nodes of the spine, above the first one or below the last one.
struct Block {
    HorizontalExtent extent;
    bool empty = true;
    std::size_t strands = 0;                         ///< number of edges that leave the node above
    std::vector<std::pair<double, double>> anchors;  ///< x of a neighbour of the spine, and its weight

    void include(double left, double right) {
        extent = empty ? HorizontalExtent{left, right}
                       : HorizontalExtent{std::min(extent.left, left), std::max(extent.right, right)};
        empty = false;
    }
};

/// Horizontal shift by height: linear between knots, which are added from top to bottom.
class Shear {
public:
    void add(double y, double shift) {
        knots_.push_back({knots_.empty() ? y : std::max(y, knots_.back().y), shift});
    }

    double at(double y) const {
        const auto next = std::ranges::lower_bound(knots_, y, {}, &Knot::y);
        if (next == knots_.begin()) return next->shift;
        const Knot& before = *(next - 1);
        return next == knots_.end()
                   ? before.shift
                   : std::lerp(before.shift, next->shift, (y - before.y) / (next->y - before.y));
    }

private:
    struct Knot {
        double y, shift;
    };
    std::vector<Knot> knots_;
};

Rows find_rows(const LayoutInput& input, const std::vector<bool>& beside, const LayoutResult& result) {
    std::vector<std::uint32_t> by_height(input.nodes.size());
    std::iota(by_height.begin(), by_height.end(), 0U);
    std::ranges::stable_sort(by_height, {}, [&](std::uint32_t v) { return result.centre[v].y; });
    Rows found;
    found.row_of.resize(input.nodes.size());
    for (const std::uint32_t v : by_height) {
        const double y = result.centre[v].y, top = y - input.nodes[v].height / 2,
                     bottom = y + input.nodes[v].height / 2;
        if (found.rows.empty() || y > found.rows.back().y) found.rows.push_back({y, top, bottom, v, 0, 0});
        found.row_of[v] = found.rows.size() - 1;
        Row& row = found.rows.back();
        row.top = std::min(row.top, top);
        row.bottom = std::max(row.bottom, bottom);
        ++row.nodes;
    }
    std::vector<std::int64_t> change(found.rows.size() + 1);
    for (std::size_t edge = 0; edge < input.edges.size(); ++edge) {
        if (beside[edge]) continue;
        const auto [from, to] = input.edges[edge];
        ++change[found.row_of[from] + 1];
        --change[found.row_of[to]];
    }
    std::int64_t passing = 0;
    for (std::size_t row = 0; row < found.rows.size(); ++row)
        found.rows[row].passing = passing += change[row];
    return found;
}

/// The x at which the spine runs through a block.
double line_through(Block& block) {
    const double middle = (block.extent.left + block.extent.right) / 2,
                 same = (block.extent.right - block.extent.left) / 50;
    if (block.strands > 2 || block.anchors.empty()) return middle;
    std::ranges::sort(block.anchors);
    double best = 0, at = middle, pull = 0, last = block.anchors.front().first;
    for (const auto& [x, weight] : block.anchors) {
        if (x > last + same) pull = 0;
        last = x;
        pull += weight;
        if (pull < best) continue;
        at = pull > best ? x : middle;
        best = pull;
    }
    return at;
}

}  // namespace

void straighten_spine(const LayoutInput& input, std::span<const std::uint32_t> edges_beside,
                      LayoutResult& result) {
    std::vector<bool> beside(input.edges.size());
    for (const std::uint32_t edge : edges_beside) beside[edge] = true;
    const Rows found = find_rows(input, beside, result);
    const auto& rows = found.rows;
    const auto& row_of = found.row_of;

    std::vector<std::size_t> block_of(
        rows.size());  // [row]: its block; for a row on the spine, the block below it
    std::size_t count = 0;
    for (std::size_t row = 0; row < rows.size(); ++row) block_of[row] = count += rows[row].on_spine();
    if (count == 0) return;
    std::vector<Block> blocks(count + 1);
    for (std::uint32_t v = 0; v < input.nodes.size(); ++v) {
        const double x = result.centre[v].x, half = input.nodes[v].width / 2;
        if (!rows[row_of[v]].on_spine()) blocks[block_of[row_of[v]]].include(x - half, x + half);
    }
    for (std::size_t edge = 0; edge < input.edges.size(); ++edge) {
        if (beside[edge]) continue;
        const auto [from, to] = input.edges[edge];
        Block& block = blocks[block_of[row_of[from]]];
        for (const auto& bend : result.bends[edge]) block.include(bend.x, bend.x);
        const bool leaves = rows[row_of[from]].on_spine(), arrives = rows[row_of[to]].on_spine();
        block.strands += leaves;
        // Of two branches the longer one, which fills all rows, is the main line.
        if (leaves != arrives)
            block.anchors.emplace_back(result.centre[leaves ? to : from].x,
                                       row_of[to] - row_of[from] == 1 ? 2 : 1);
    }

    Shear shear;
    std::vector<double> block_shift;
    for (Block& block : blocks) block_shift.push_back(-line_through(block));
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const double shift = rows[i].on_spine() ? -result.centre[rows[i].first].x : block_shift[block_of[i]];
        shear.add(rows[i].top, shift);
        shear.add(rows[i].bottom, shift);
    }
    for (auto& centre : result.centre) centre.x += shear.at(centre.y);
    for (auto& line : result.bends) {
        for (auto& bend : line) bend.x += shear.at(bend.y);
    }
    fit_across(input, result);
}

HorizontalExtent extent_across(const LayoutInput& input, const LayoutResult& result) {
    if (result.centre.empty()) return {};
    HorizontalExtent extent{result.centre.front().x, result.centre.front().x};
    const auto include = [&](double left, double right) {
        extent = {std::min(extent.left, left), std::max(extent.right, right)};
    };
    for (std::size_t v = 0; v < input.nodes.size(); ++v) {
        include(result.centre[v].x - input.nodes[v].width / 2, result.centre[v].x + input.nodes[v].width / 2);
    }
    for (const auto& line : result.bends) {
        for (const auto& bend : line) include(bend.x, bend.x);
    }
    return extent;
}

void fit_across(const LayoutInput& input, LayoutResult& result) {
    const auto [left, right] = extent_across(input, result);
    for (auto& centre : result.centre) centre.x -= left;
    for (auto& line : result.bends) {
        for (auto& bend : line) bend.x -= left;
    }
    result.width = right - left;
}

}  // namespace placewright
