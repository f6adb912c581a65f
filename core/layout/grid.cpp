// SPDX-License-Identifier: MIT
#include "core/layout/grid.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/layout/layers.hpp"

namespace placewright {
namespace {

using Line = std::vector<LayoutPoint>;

// Distances, as multiples of the mean short side of the nodes.
constexpr double kLeastColumnGap = 0.3, kMostColumnGap = 1.5, kMarginGap = 0.8, kStackGap = 0.35;
constexpr double kLeastRowGap = 1, kMostRowGap = 4;

/// Place of a node in the table or beside it: column -1 stands before the table, one more column behind it.
struct Place {
    std::uint32_t row = 0;
    std::int64_t column = 0;

    auto operator<=>(const Place&) const = default;
};

/// [node]: its place. `columns`: number of columns of the table.
std::vector<Place> places_of(const LayoutInput& input, const std::vector<std::optional<GridCell>>& cells,
                             std::int64_t columns) {
    const std::vector<std::uint32_t> layer = layers(input);
    std::vector<std::uint32_t> order(input.edges.size());
    std::iota(order.begin(), order.end(), 0);
    using Row = std::optional<std::uint32_t>;
    std::vector<Row> before(cells.size()), behind(cells.size());
    // From the last readers backwards: the row of a node's first reader.
    std::ranges::stable_sort(order, std::greater<>(),
                             [&](std::uint32_t e) { return layer[input.edges[e].first]; });
    for (const std::uint32_t e : order) {
        const auto& [from, to] = input.edges[e];
        const Row row = cells[to] ? Row(cells[to]->row) : before[to];
        if (!cells[from] && row) before[from] = std::min(before[from].value_or(*row), *row);
    }
    // From the first producers onwards: the last row that a node reads.
    std::ranges::stable_sort(order, {}, [&](std::uint32_t e) { return layer[input.edges[e].second]; });
    for (const std::uint32_t e : order) {
        const auto& [from, to] = input.edges[e];
        const Row row = cells[from] ? Row(cells[from]->row) : behind[from];
        if (!cells[to] && row) behind[to] = std::max(behind[to].value_or(*row), *row);
    }
    std::vector<Place> places(cells.size());
    for (std::size_t node = 0; node < cells.size(); ++node) {
        if (cells[node]) {
            places[node] = {cells[node]->row, cells[node]->column};
        } else if (before[node] || !behind[node]) {
            places[node] = {before[node].value_or(0), -1};
        } else {
            places[node] = {*behind[node], columns};
        }
    }
    return places;
}

/// A row or a column.
struct Band {
    double from = 0, size = 0;

    double end() const { return from + size; }
    double middle() const { return from + size / 2; }
};

class Table {
public:
    Table(const LayoutInput& input, const std::vector<std::optional<GridCell>>& cells, double aspect)
        : input_(input), unit_(mean_short_side(input)) {
        std::uint32_t rows = 1;
        std::int64_t columns = 1;
        for (const auto& cell : cells) {
            if (!cell) continue;
            rows = std::max(rows, cell->row + 1);
            columns = std::max<std::int64_t>(columns, cell->column + 1);
        }
        columns_ = columns;
        places_ = places_of(input, cells, columns);
        for (std::uint32_t node = 0; node < places_.size(); ++node) slots_[places_[node]].push_back(node);
        set_sizes(rows);
        fill(aspect);
    }

    GridPicture picture() const {
        GridPicture picture;
        picture.centre.resize(places_.size());
        for (const auto& [place, nodes] : slots_) {
            double y = rows_[place.row].middle() - stack_height(nodes) / 2;
            for (const std::uint32_t node : nodes) {
                const double height = input_.nodes[node].height;
                picture.centre[node] = {bands_.at(place.column).middle(), y + height / 2};
                y += height + kStackGap * unit_;
            }
        }
        picture.backwards.assign(places_.size(), false);
        for (const auto& [from, to] : input_.edges) picture.lines.push_back(line(picture.centre, from, to));
        picture.width = width();
        picture.height = height();
        const double left = bands_.at(0).from, width = bands_.at(columns_ - 1).end() - left;
        std::vector<double> heights(rows_.size());
        for (const auto& [place, nodes] : slots_) {
            if (place.column >= 0 && place.column < columns_)
                heights[place.row] = std::max(heights[place.row], stack_height(nodes));
        }
        for (std::size_t row = 0; row < rows_.size(); ++row)
            picture.rows.push_back({left, rows_[row].middle() - heights[row] / 2, width, heights[row]});
        return picture;
    }

private:
    double stack_height(const std::vector<std::uint32_t>& nodes) const {
        double height = kStackGap * unit_ * static_cast<double>(nodes.size() - 1);
        for (const std::uint32_t node : nodes) height += input_.nodes[node].height;
        return height;
    }

    void set_sizes(std::uint32_t rows) {
        for (std::int64_t column = 0; column < columns_; ++column) bands_[column];
        rows_.resize(rows);
        for (const auto& [place, nodes] : slots_) {
            double& width = bands_[place.column].size;
            for (const std::uint32_t node : nodes) width = std::max(width, input_.nodes[node].width);
            rows_[place.row].size = std::max(rows_[place.row].size, stack_height(nodes));
        }
    }

    /// Spaces columns and rows as closely as it can, then spreads those that leave a part of the room empty.
    void fill(double aspect) {
        column_gap_ = unit_ * kLeastColumnGap;
        row_gap_ = unit_ * kLeastRowGap;
        place_bands();
        if (aspect <= 0) return;
        const double wider = aspect * height() - width(), higher = width() / aspect - height();
        if (wider > 0) {
            const double more = wider / static_cast<double>(columns_ + 1);
            column_gap_ = std::min(column_gap_ + more, unit_ * kMostColumnGap);
        } else {
            const double more = higher / static_cast<double>(rows_.size());
            row_gap_ = std::min(row_gap_ + more, unit_ * kMostRowGap);
        }
        place_bands();
    }

    void place_bands() {
        double x = 0, y = row_gap_ / 2;
        for (auto& [column, band] : bands_) {
            band.from = x;
            const bool in_table = column >= 0 && column + 1 < columns_;
            x = band.end() + (in_table ? column_gap_ : std::max(column_gap_, unit_ * kMarginGap));
        }
        for (Band& row : rows_) {
            row.from = y;
            y = row.end() + row_gap_;
        }
    }

    double width() const { return bands_.rbegin()->second.end(); }
    double height() const { return rows_.back().end() + row_gap_ / 2; }

    /// From border to border: straight between neighbours, else through the gaps between rows and columns.
    Line line(const std::vector<LayoutPoint>& centre, std::uint32_t from, std::uint32_t to) const {
        const Place a = places_[from], b = places_[to];
        const LayoutPoint start = centre[from], end = centre[to];
        const auto half_width = [&](std::uint32_t node) { return input_.nodes[node].width / 2; };
        const auto half_height = [&](std::uint32_t node) { return input_.nodes[node].height / 2; };
        const double beside = column_gap_ / 2;
        if (a == b) {
            const bool down = end.y > start.y;
            const auto& stack = slots_.at(a);
            const auto at = std::ranges::find(stack, std::min(from, to));
            const LayoutPoint leaves{start.x, start.y + (down ? 1 : -1) * half_height(from)},
                enters{end.x, end.y - (down ? 1 : -1) * half_height(to)};
            if (at + 1 != stack.end() && *(at + 1) == std::max(from, to)) return {leaves, enters};
            const double x = bands_.at(a.column).end() + beside;
            return {{start.x + half_width(from), start.y},
                    {x, start.y},
                    {x, end.y},
                    {end.x + half_width(to), end.y}};
        }
        if (a.row == b.row) {
            const bool right = b.column > a.column;
            const LayoutPoint leaves{start.x + (right ? 1 : -1) * half_width(from), start.y},
                enters{end.x - (right ? 1 : -1) * half_width(to), end.y};
            if (std::abs(b.column - a.column) == 1) return {leaves, enters};
            // Over the cells between them.
            const double y = rows_[a.row].from - row_gap_ / 4, out = (right ? 1 : -1) * beside;
            return {leaves, {leaves.x + out, y}, {enters.x - out, y}, enters};
        }
        const bool down = b.row > a.row;
        const LayoutPoint leaves{start.x, start.y + (down ? 1 : -1) * half_height(from)},
            enters{end.x, end.y - (down ? 1 : -1) * half_height(to)};
        const bool next = b.row - a.row == 1 || a.row - b.row == 1;
        if (next && a.column == b.column) return {leaves, enters};
        const double below = down ? rows_[a.row].end() + row_gap_ / 3 : rows_[a.row].from - row_gap_ / 3,
                     above = down ? rows_[b.row].from - row_gap_ / 3 : rows_[b.row].end() + row_gap_ / 3;
        if (next) return {leaves, {start.x, below}, {end.x, above}, enters};
        // Beside the column of its end, past the rows between.
        const Band& column = bands_.at(b.column);
        const double x = a.column > b.column ? column.end() + beside : column.from - beside;
        return {leaves, {start.x, below}, {x, below}, {x, above}, {end.x, above}, enters};
    }

    const LayoutInput& input_;
    const double unit_;
    std::int64_t columns_ = 1;
    std::vector<Place> places_;                          ///< [node]
    std::map<Place, std::vector<std::uint32_t>> slots_;  ///< nodes of a place, ascending
    std::map<std::int64_t, Band> bands_;
    std::vector<Band> rows_;
    double column_gap_ = 0, row_gap_ = 0;
};

}  // namespace

GridPicture grid_picture(const LayoutInput& input, const std::vector<std::optional<GridCell>>& cells,
                         const LayoutRoom& room) {
    check(input);
    if (input.nodes.empty()) return {};
    const bool right = room.direction == LayoutRoom::Direction::right;
    LayoutInput turned = input;
    if (!right) {
        for (auto& node : turned.nodes) std::swap(node.width, node.height);
    }
    const double aspect = room.aspect > 0 && !right ? 1 / room.aspect : room.aspect;
    GridPicture picture = Table(turned, cells, aspect).picture();
    if (right) return picture;
    for (LayoutPoint& centre : picture.centre) std::swap(centre.x, centre.y);
    for (Line& line : picture.lines) {
        for (LayoutPoint& point : line) std::swap(point.x, point.y);
    }
    for (GridRow& row : picture.rows) {
        std::swap(row.left, row.top);
        std::swap(row.width, row.height);
    }
    std::swap(picture.width, picture.height);
    return picture;
}

}  // namespace placewright
