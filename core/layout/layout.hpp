// SPDX-License-Identifier: MIT
// Positions of the nodes of a drawn graph, behind one small interface: Graphviz and our own layout are
// interchangeable, and the window does not know which one ran.
#pragma once

#include <cstdint>
#include <stop_token>
#include <utility>
#include <vector>

namespace placewright {

/// Nodes with their sizes, and edges (from, to) without cycles, in any unit of length. The functions below
/// throw std::invalid_argument for a cycle, an edge without two different nodes, or a size that is negative
/// or not finite.
struct LayoutInput {
    struct Node {
        double width = 1, height = 1;
    };
    std::vector<Node> nodes;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
};

struct LayoutPoint {
    double x = 0, y = 0;

    bool operator==(const LayoutPoint&) const = default;
};

struct LayoutResult {
    std::vector<LayoutPoint> centre;              ///< [node]; y grows downwards, from producers to consumers
    std::vector<std::vector<LayoutPoint>> bends;  ///< [edge]: points between its ends, from source to target
    double width = 0, height = 0;                 ///< of the box from (0, 0) that contains everything
};

/// The room that a picture is drawn in.
struct LayoutRoom {
    enum class Direction : std::uint8_t { down, right };
    Direction direction = Direction::down;  ///< from producers to consumers
    /// Width over height; 0: any, so that nothing is folded.
    double aspect = 0;
};

struct LayoutPicture {
    std::vector<LayoutPoint> centre;  ///< [node]
    std::vector<bool> backwards;      ///< [node]: in a strip that runs against the direction of the room
    /// [edge]: from the border of its source to that of its target
    std::vector<std::vector<LayoutPoint>> lines;
    double width = 0, height = 0;
    std::size_t strips = 1;  ///< into which it was folded, see folded.hpp
};

/// Layout by Graphviz `dot`. Cannot be cancelled and is slow with long edges: for forward graphs of up to
/// about 1 000 nodes. Calls are serialised, since Graphviz is not thread-safe.
LayoutResult dot_layout(const LayoutInput& input);

/// Layered layout: layers by longest path, ordered by median sweeps, very long edges routed beside the graph.
/// O((nodes + edges) log) for any size. Deterministic. The result is empty if `stop` was requested.
LayoutResult layered_layout(const LayoutInput& input, std::stop_token stop = {});

/// dot for graphs that it lays out quickly, else layered. The result is empty if `stop` was requested.
LayoutResult layout(const LayoutInput& input, std::stop_token stop = {});

/// The layout turned into the direction of the room and folded until it fills the room as well as it can. The
/// result is empty if `stop` was requested.
LayoutPicture picture_for(const LayoutInput& input, const LayoutRoom& room, std::stop_token stop = {});

}  // namespace placewright
