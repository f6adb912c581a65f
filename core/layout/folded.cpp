// SPDX-License-Identifier: MIT
#include "core/layout/folded.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>

#include "core/layout/layers.hpp"

namespace placewright {
namespace {

constexpr std::size_t kMostStrips = 200;
constexpr std::size_t kMostPassing = 12;  ///< edges at a cut
constexpr double kWorthFolding = 1.15;    ///< least gain in scale
constexpr double kUneven = 0.3;           ///< by how much strips may differ in length
/// Distances, as shares of the mean size of a node along its shorter side.
constexpr double kBetweenStrips = 1.6, kBetweenTurns = 0.3;
constexpr std::size_t kTurns = 8;  ///< edges that turn at different distances from the end

/// A place between two layers.
struct Gap {
    double y = 0;             ///< its middle
    std::size_t passing = 0;  ///< number of edges
};

/// What lies between two neighbouring gaps: the least and largest x, of nodes and lines.
struct Slice {
    double left = 0, right = 0;
};

using Line = std::vector<LayoutPoint>;

/// The lines of the edges from border to border, from top to bottom.
std::vector<Line> whole_lines(const LayoutInput& input, const LayoutResult& result) {
    std::vector<Line> lines(input.edges.size());
    for (std::size_t edge = 0; edge < lines.size(); ++edge) {
        const auto [from, to] = input.edges[edge];
        Line& line = lines[edge];
        line.push_back({result.centre[from].x, result.centre[from].y + input.nodes[from].height / 2});
        line.insert(line.end(), result.bends[edge].begin(), result.bends[edge].end());
        line.push_back({result.centre[to].x, result.centre[to].y - input.nodes[to].height / 2});
    }
    return lines;
}

std::vector<Gap> gaps_between(const LayoutInput& input, const LayoutResult& result) {
    std::vector<std::uint32_t> by_top(input.nodes.size());
    std::iota(by_top.begin(), by_top.end(), 0U);
    const auto top = [&](std::uint32_t v) { return result.centre[v].y - input.nodes[v].height / 2; };
    const auto bottom = [&](std::uint32_t v) { return result.centre[v].y + input.nodes[v].height / 2; };
    std::ranges::stable_sort(by_top, {}, top);
    std::vector<Gap> gaps;
    double reached = bottom(by_top.front());
    for (const std::uint32_t v : by_top) {
        if (top(v) > reached) gaps.push_back({(reached + top(v)) / 2});
        reached = std::max(reached, bottom(v));
    }
    const auto gap_below = [&](double y) {
        return static_cast<std::size_t>(std::ranges::lower_bound(gaps, y, {}, &Gap::y) - gaps.begin());
    };
    std::vector<std::int64_t> change(gaps.size() + 1);
    for (const auto& [from, to] : input.edges) {
        ++change[gap_below(result.centre[from].y)];
        --change[gap_below(result.centre[to].y)];
    }
    std::int64_t passing = 0;
    for (std::size_t gap = 0; gap < gaps.size(); ++gap)
        gaps[gap].passing = static_cast<std::size_t>(passing += change[gap]);
    return gaps;
}

/// [gap + 1]: what lies above the gap, and at the end what lies below the last one.
std::vector<Slice> slices_between(const LayoutInput& input, const LayoutResult& result,
                                  const std::vector<Line>& lines, const std::vector<Gap>& gaps) {
    std::vector<std::optional<Slice>> found(gaps.size() + 1);
    const auto include = [&](double left, double right, double y) {
        auto& slice =
            found[static_cast<std::size_t>(std::ranges::lower_bound(gaps, y, {}, &Gap::y) - gaps.begin())];
        slice =
            slice ? Slice{std::min(slice->left, left), std::max(slice->right, right)} : Slice{left, right};
    };
    for (std::size_t v = 0; v < input.nodes.size(); ++v) {
        const double half = input.nodes[v].width / 2;
        include(result.centre[v].x - half, result.centre[v].x + half, result.centre[v].y);
    }
    for (const Line& line : lines) {
        for (const LayoutPoint& point : line) include(point.x, point.x, point.y);
    }
    std::vector<Slice> slices;
    for (const auto& slice : found)
        slices.push_back(slice.value_or(Slice{result.width / 2, result.width / 2}));
    return slices;
}

/// A strip of the folded picture.
struct Strip {
    double from = 0, to = 0;     ///< of y, in the whole picture
    double left = 0, right = 0;  ///< of x
    std::size_t passing = 0;     ///< edges that go on in the next strip
};

/// About equally long strips that end where few edges pass; nothing if there is no such place.
std::vector<Strip> cut(const std::vector<Gap>& gaps, const std::vector<Slice>& slices, double height,
                       std::size_t count) {
    std::vector<Strip> strips;
    double from = 0;
    std::size_t first = 0;  // slice
    for (std::size_t strip = 0; strip < count; ++strip) {
        std::size_t end = gaps.size();
        if (strip + 1 < count) {
            const double length = (height - from) / static_cast<double>(count - strip);
            double least = 0;
            const auto near = std::ranges::lower_bound(gaps, from + (1 - kUneven) * length, {}, &Gap::y);
            for (auto gap = static_cast<std::size_t>(near - gaps.begin()); gap < gaps.size(); ++gap) {
                const double off = std::abs(gaps[gap].y - from - length) / length;
                if (off > kUneven) break;
                if (gaps[gap].passing > kMostPassing) continue;
                const double cost = static_cast<double>(gaps[gap].passing) + 12 * off;
                if (end == gaps.size() || cost < least) {
                    end = gap;
                    least = cost;
                }
            }
            if (end == gaps.size()) return {};
        }
        Strip added{from, end < gaps.size() ? gaps[end].y : height, slices[first].left, slices[first].right,
                    end < gaps.size() ? gaps[end].passing : 0};
        for (std::size_t slice = first; slice <= end; ++slice) {
            added.left = std::min(added.left, slices[slice].left);
            added.right = std::max(added.right, slices[slice].right);
        }
        strips.push_back(added);
        from = added.to;
        first = end + 1;
    }
    return strips;
}

/// Strips with their places in the folded picture.
class Fold {
public:
    Fold(std::vector<Strip> strips, double between, double turn) : strips_(std::move(strips)), turn_(turn) {
        double across = 0, along = 0;
        std::size_t turns = 0;
        for (std::size_t k = 0; k < strips_.size(); ++k) {
            const Strip& strip = strips_[k];
            place_.push_back({across, along});
            const double end = along + (downwards(k) ? 1 : -1) * (strip.to - strip.from);
            low_ = std::min({low_, along, end});
            high_ = std::max({high_, along, end});
            along = end;
            across += strip.right - strip.left + between;
            turns = std::max(turns, std::min(strip.passing, kTurns));
        }
        width_ = across - between;
        margin_ = strips_.size() > 1 ? turn_ * static_cast<double>(turns + 1) : 0;
    }

    double width() const { return width_; }
    /// With room for the turns.
    double height() const { return high_ - low_ + 2 * margin_; }
    std::size_t count() const { return strips_.size(); }

    std::size_t strip_of(double y) const {
        const auto found = std::ranges::upper_bound(strips_, y, {}, &Strip::from);
        return found == strips_.begin() ? 0 : static_cast<std::size_t>(found - strips_.begin()) - 1;
    }
    LayoutPoint at(std::size_t k, LayoutPoint point) const {
        const Strip& strip = strips_[k];
        const double x = downwards(k) ? point.x - strip.left : strip.right - point.x;
        return {place_[k].x + x, along(k, point.y)};
    }
    /// The way of an edge from the end of a strip to the beginning of the next.
    void add_turn(std::size_t k, double x, std::size_t distance, Line& line) const {
        // Between two points of the line x may lie beside what else is in a strip.
        const auto in = [&](std::size_t strip) {
            return LayoutPoint{std::clamp(x, strips_[strip].left, strips_[strip].right), strips_[k].to};
        };
        const LayoutPoint last = at(k, in(k)), next = at(k + 1, in(k + 1));
        const double beyond = last.y + (downwards(k) ? 1 : -1) * turn_ * static_cast<double>(1 + distance);
        line.push_back({last.x, beyond});
        line.push_back({next.x, beyond});
    }
    double end_of(std::size_t k) const { return strips_[k].to; }

private:
    static bool downwards(std::size_t k) { return k % 2 == 0; }
    double along(std::size_t k, double y) const {
        const double done = y - strips_[k].from;
        return place_[k].y + (downwards(k) ? done : -done) - low_ + margin_;
    }

    std::vector<Strip> strips_;
    std::vector<LayoutPoint> place_;  ///< of each strip: its left side, and where it begins
    double turn_ = 0, width_ = 0, low_ = 0, high_ = 0;
    double margin_ = 0;  ///< for the turns
};

/// The fold with which the picture is largest in the room.
Fold best_fold(const LayoutInput& input, const LayoutResult& result, const std::vector<Line>& lines,
               double aspect) {
    const double size = mean_short_side(input);
    const auto fold_of = [&](std::vector<Strip> strips) {
        return Fold(std::move(strips), kBetweenStrips * size, kBetweenTurns * size);
    };
    const auto scale = [&](const Fold& fold) {
        return std::min(aspect / std::max(fold.width(), 1e-9), 1 / std::max(fold.height(), 1e-9));
    };
    Fold best = fold_of({{0, result.height, 0, result.width}});
    if (aspect <= 0) return best;
    const std::vector<Gap> gaps = gaps_between(input, result);
    const std::vector<Slice> slices = slices_between(input, result, lines, gaps);
    double largest = scale(best) * kWorthFolding;
    for (std::size_t count = 2; count <= std::min(kMostStrips, gaps.size() + 1); ++count) {
        std::vector<Strip> strips = cut(gaps, slices, result.height, count);
        if (strips.empty()) continue;
        Fold fold = fold_of(std::move(strips));
        if (scale(fold) <= largest) continue;
        largest = scale(fold);
        best = std::move(fold);
    }
    return best;
}

/// Where a line passes the height `y`.
double x_at(const LayoutPoint& before, const LayoutPoint& after, double y) {
    return after.y > before.y ? std::lerp(before.x, after.x, (y - before.y) / (after.y - before.y)) : after.x;
}

}  // namespace

LayoutPicture folded(const LayoutInput& input, const LayoutResult& result, double aspect) {
    LayoutPicture picture;
    if (input.nodes.empty()) return picture;
    const std::vector<Line> lines = whole_lines(input, result);
    const Fold fold = best_fold(input, result, lines, aspect);
    picture.width = fold.width();
    picture.height = fold.height();
    picture.strips = fold.count();
    for (const LayoutPoint& centre : result.centre) {
        const std::size_t strip = fold.strip_of(centre.y);
        picture.centre.push_back(fold.at(strip, centre));
        picture.backwards.push_back(strip % 2 != 0);
    }

    // Where edges pass the cuts: the outermost of them turn furthest out.
    struct Passing {
        std::uint32_t edge;
        double x;
    };
    std::vector<std::vector<Passing>> passing(fold.count());
    for (std::uint32_t edge = 0; edge < lines.size(); ++edge) {
        const Line& line = lines[edge];
        std::size_t strip = fold.strip_of(line.front().y);
        for (std::size_t k = 1; k < line.size(); ++k) {
            for (; strip < fold.strip_of(line[k].y); ++strip)
                passing[strip].push_back({edge, x_at(line[k - 1], line[k], fold.end_of(strip))});
        }
    }
    picture.lines.resize(lines.size());
    std::vector<std::vector<std::pair<double, std::size_t>>> turns(lines.size());  // [edge]: x, distance
    for (std::size_t strip = 0; strip < passing.size(); ++strip) {
        // Both sides of the fold are mirrored: what is furthest from it on one is so on the other.
        std::ranges::stable_sort(passing[strip], [&](const Passing& a, const Passing& b) {
            return strip % 2 == 0 ? a.x > b.x : a.x < b.x;
        });
        for (std::size_t k = 0; k < passing[strip].size(); ++k)
            turns[passing[strip][k].edge].emplace_back(passing[strip][k].x, std::min(k, kTurns - 1));
    }
    for (std::size_t edge = 0; edge < lines.size(); ++edge) {
        Line& drawn = picture.lines[edge];
        std::size_t strip = fold.strip_of(lines[edge].front().y), turn = 0;
        for (const LayoutPoint& point : lines[edge]) {
            for (; strip < fold.strip_of(point.y); ++strip, ++turn)
                fold.add_turn(strip, turns[edge][turn].first, turns[edge][turn].second, drawn);
            drawn.push_back(fold.at(strip, point));
        }
    }
    return picture;
}

}  // namespace placewright
