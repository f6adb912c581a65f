// SPDX-License-Identifier: MIT
#include "core/layout/layout.hpp"

#include "core/layout/folded.hpp"
#include "core/layout/layers.hpp"

namespace placewright {
namespace {

constexpr std::size_t kDotNodes = 1000;
/// The time of dot grows with the number of nodes plus crossings of an edge and a layer (places), and with
/// the squares of the edges' spans. Measured: half a second at these limits, 3 s at 120 ops of a training
/// step (3 700 places, squares 270 000).
constexpr std::size_t kDotPlaces = 3200;
constexpr std::size_t kDotSquares = 100'000;

bool quick_for_dot(const LayoutInput& input) {
    if (input.nodes.size() > kDotNodes || input.edges.size() > kDotPlaces) return false;
    const auto layer = layers(input);
    std::size_t places = input.nodes.size(), squares = 0;
    for (const auto& [from, to] : input.edges) {
        const std::size_t span = layer[to] - layer[from];
        places += span - 1;
        squares += span * span;
    }
    return places <= kDotPlaces && squares <= kDotSquares;
}

}  // namespace

LayoutResult layout(const LayoutInput& input, std::stop_token stop) {
    check(input);
    if (!quick_for_dot(input)) return layered_layout(input, stop);
    if (stop.stop_requested()) return {};
    LayoutResult result = dot_layout(input);
    return stop.stop_requested() ? LayoutResult{} : result;
}

LayoutPicture picture_for(const LayoutInput& input, const LayoutRoom& room, std::stop_token stop) {
    const bool right = room.direction == LayoutRoom::Direction::right;
    LayoutInput turned = input;
    if (right) {
        for (auto& node : turned.nodes) std::swap(node.width, node.height);
    }
    const LayoutResult result = layout(turned, stop);
    if (stop.stop_requested() || result.centre.size() != input.nodes.size()) return {};
    const double aspect = room.aspect > 0 ? right ? 1 / room.aspect : room.aspect : 0;
    LayoutPicture picture = folded(turned, result, aspect);
    if (!right) return picture;
    for (LayoutPoint& centre : picture.centre) std::swap(centre.x, centre.y);
    for (auto& line : picture.lines) {
        for (LayoutPoint& point : line) std::swap(point.x, point.y);
    }
    std::swap(picture.width, picture.height);
    return picture;
}

}  // namespace placewright
