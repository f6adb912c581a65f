// SPDX-License-Identifier: MIT
#include "core/layout/components.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace placewright {

std::vector<Component> components(const LayoutInput& input) {
    std::vector<std::uint32_t> parent(input.nodes.size());
    std::iota(parent.begin(), parent.end(), 0U);
    const auto root = [&](std::uint32_t v) {
        while (parent[v] != v) v = parent[v] = parent[parent[v]];
        return v;
    };
    // The first node of a part stays its root, so that parts are in the order of their first nodes.
    for (const auto& [from, to] : input.edges) {
        const auto [first, second] = std::minmax({root(from), root(to)});
        parent[second] = first;
    }
    std::vector<Component> parts;
    std::vector<std::size_t> part_of(input.nodes.size());
    std::vector<std::uint32_t> index(input.nodes.size());
    for (std::uint32_t v = 0; v < input.nodes.size(); ++v) {
        if (root(v) == v) {
            part_of[v] = parts.size();
            parts.emplace_back();
        }
        part_of[v] = part_of[root(v)];
        Component& part = parts[part_of[v]];
        index[v] = static_cast<std::uint32_t>(part.nodes.size());
        part.nodes.push_back(v);
        part.part.nodes.push_back(input.nodes[v]);
    }
    for (std::uint32_t edge = 0; edge < input.edges.size(); ++edge) {
        const auto [from, to] = input.edges[edge];
        Component& part = parts[part_of[from]];
        part.edges.push_back(edge);
        part.part.edges.emplace_back(index[from], index[to]);
    }
    return parts;
}

LayoutResult packed(const LayoutInput& input, std::span<const Component> parts,
                    std::span<const LayoutResult> pictures, double gap) {
    std::vector<std::size_t> order(parts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return pictures[a].height > pictures[b].height; });
    double area = 0, widest = 0;
    for (const auto& picture : pictures) {
        area += (picture.width + gap) * (picture.height + gap);
        widest = std::max(widest, picture.width);
    }
    const double row_width = std::max(widest, 1.2 * std::sqrt(area));

    LayoutResult result;
    result.centre.resize(input.nodes.size());
    result.bends.resize(input.edges.size());
    double x = 0, top = 0, row_height = 0;
    for (const std::size_t i : order) {
        const LayoutResult& picture = pictures[i];
        if (x > 0 && x + picture.width > row_width) {
            top += row_height + gap;
            x = row_height = 0;
        }
        const auto moved = [&](LayoutPoint point) { return LayoutPoint{point.x + x, point.y + top}; };
        for (std::size_t v = 0; v < parts[i].nodes.size(); ++v)
            result.centre[parts[i].nodes[v]] = moved(picture.centre[v]);
        for (std::size_t edge = 0; edge < parts[i].edges.size(); ++edge) {
            for (const auto& bend : picture.bends[edge])
                result.bends[parts[i].edges[edge]].push_back(moved(bend));
        }
        result.width = std::max(result.width, x + picture.width);
        result.height = std::max(result.height, top + picture.height);
        row_height = std::max(row_height, picture.height);
        x += picture.width + gap;
    }
    return result;
}

}  // namespace placewright
