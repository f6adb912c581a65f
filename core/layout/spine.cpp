// SPDX-License-Identifier: MIT
#include "core/layout/spine.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace placewright {
namespace {

constexpr std::size_t kNone = -1;

/// Nodes at one height.
struct Row {
    double centre = 0, top = 0, bottom = 0;
    std::uint32_t node = 0;  ///< the first one
    std::size_t nodes = 0;
    std::int64_t passing = 0;  ///< edges that go from above the row to below it

    bool on_spine() const { return nodes == 1 && passing == 0; }
};

/// What lies between two neighbouring nodes of the spine, or beyond the last ones.
struct Stretch {
    std::size_t first = 0, last = 0;  ///< rows from `first` to before `last`
    std::size_t above = kNone, below = kNone;  ///< rows on the spine
    double left = 0, right = 0;
    std::size_t strands = 0;           ///< edges that leave the node above
    std::map<double, double> anchors;  ///< by x: how much hangs on the ends there
    bool empty = true;

    void include(double from, double to) {
        left = empty ? from : std::min(left, from);
        right = empty ? to : std::max(right, to);
        empty = false;
    }

    /// Where the line of the spine runs through the stretch.
    double middle() const {
        const double centre = (left + right) / 2;
        if (strands > 2 || anchors.empty()) return centre;
        const auto heavier = [](const auto& a, const auto& b) { return a.second < b.second; };
        const auto best = std::ranges::max_element(anchors, heavier);
        const bool only = std::ranges::count(anchors, best->second, [](const auto& anchor) { return anchor.second; }) == 1;
        return only ? best->first : centre;
    }
};

std::vector<Row> rows_of(const LayoutInput& input, const LayoutResult& result, std::vector<std::size_t>& row_of) {
    std::vector<std::uint32_t> by_height(input.nodes.size());
    std::iota(by_height.begin(), by_height.end(), 0U);
    std::ranges::stable_sort(by_height, {}, [&](std::uint32_t v) { return result.centre[v].y; });
    std::vector<Row> rows;
    row_of.resize(input.nodes.size());
    for (const std::uint32_t v : by_height) {
        const double y = result.centre[v].y, half = input.nodes[v].height / 2;
        if (rows.empty() || y > rows.back().centre) rows.push_back({y, y - half, y + half, v, 0, 0});
        row_of[v] = rows.size() - 1;
        Row& row = rows.back();
        row.top = std::min(row.top, y - half);
        row.bottom = std::max(row.bottom, y + half);
        ++row.nodes;
    }
    return rows;
}

/// How far to move what is at a height: knots (y, shift), between them linear. Knots ascend.
class Shear {
public:
    void add(double y, double shift) { knots_.push_back({y, shift}); }

    double at(double y) const {
        const auto next = std::ranges::lower_bound(knots_, y, {}, &Knot::y);
        if (next == knots_.begin()) return next->shift;
        if (next == knots_.end()) return knots_.back().shift;
        const auto before = next - 1;
        return before->shift + (next->shift - before->shift) * (y - before->y) / (next->y - before->y);
    }

private:
    struct Knot {
        double y, shift;
    };
    std::vector<Knot> knots_;
};

}  // namespace

void straighten_spine(const LayoutInput& input, std::span<const std::uint32_t> beside, LayoutResult& result) {
    std::vector<std::size_t> row_of;
    std::vector<Row> rows = rows_of(input, result, row_of);
    std::vector<bool> looked_at(input.edges.size(), true);
    for (const std::uint32_t edge : beside) looked_at[edge] = false;
    std::vector<std::int64_t> change(rows.size() + 1);
    for (std::size_t e = 0; e < input.edges.size(); ++e) {
        if (!looked_at[e]) continue;
        const auto [from, to] = input.edges[e];
        ++change[row_of[from] + 1];
        --change[row_of[to]];
    }
    std::int64_t passing = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) rows[r].passing = passing += change[r];

    // Stretches, and the one below each row of the spine or around each other row.
    std::vector<Stretch> stretches(1);
    std::vector<std::size_t> stretch_at(rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r) {
        if (rows[r].on_spine()) {
            stretches.back().below = r;
            stretches.push_back({r + 1, r + 1, r, kNone, 0, 0, 0, {}, true});
        }
        stretches.back().last = rows[r].on_spine() ? r + 1 : r + 1;
        stretch_at[r] = stretches.size() - 1;
    }
    if (stretches.size() == 1) return;

    for (std::uint32_t v = 0; v < input.nodes.size(); ++v) {
        if (rows[row_of[v]].on_spine()) continue;
        const double x = result.centre[v].x, half = input.nodes[v].width / 2;
        stretches[stretch_at[row_of[v]]].include(x - half, x + half);
    }
    for (std::size_t e = 0; e < input.edges.size(); ++e) {
        if (!looked_at[e]) continue;
        const auto [from, to] = input.edges[e];
        Stretch& stretch = stretches[stretch_at[row_of[from]]];
        for (const auto& bend : result.bends[e]) stretch.include(bend.x, bend.x);
        const bool leaves = rows[row_of[from]].on_spine(), arrives = rows[row_of[to]].on_spine();
        stretch.strands += leaves;
        if (leaves == arrives) continue;
        // The end of a branch hangs less on the join if it had to wait for a longer branch.
        const bool near = row_of[to] - row_of[from] == 1;
        stretch.anchors[std::round(result.centre[leaves ? to : from].x)] += near ? 2 : 1;
    }

    Shear shear;
    for (const Stretch& stretch : stretches) {
        if (stretch.above != kNone) {
            const Row& row = rows[stretch.above];
            const double shift = -result.centre[row.node].x;
            shear.add(row.top, shift);
            shear.add(row.bottom, shift);
        }
        if (stretch.first == stretch.last - (stretch.below != kNone)) continue;
    }
}

}  // namespace placewright
