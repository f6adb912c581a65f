// SPDX-License-Identifier: MIT
// The drawn graph as a value: nodes and edges with their places. Built off the window's thread, then shared read-only.
#pragma once

#include <algorithm>
#include <memory>
#include <stop_token>
#include <vector>

#include <QPolygonF>
#include <QRectF>
#include <QString>

#include "core/cost/problem.hpp"

namespace placewright {

/// Nodes are the forward ops; a backward or update op shares the node of its forward op, or of the first forward op that it is colocated
/// with. One without any (in a training graph that lists its own) is a node itself, since it is placed by itself.
struct GraphScene {
    struct Node {
        OpId op = kInvalidOp;
        QRectF rect;
        QString label;   ///< last part of the name
        QString detail;  ///< kind
        QString scope;   ///< the modules that the label leaves out, '/' separated
    };
    struct Edge {
        std::uint32_t from = 0, to = 0;  ///< nodes
        double bytes = 0;
        QPolygonF line;  ///< from the source's lower border over the bends to the target's upper border
        QRectF box;      ///< of the line
    };
    std::vector<Node> nodes;
    std::vector<Edge> edges;
    std::vector<std::int32_t> node_of;  ///< by op of the simulated graph
    QRectF bounds;

    /// Index of the node at `point`, -1 if none; O(log n) for usual graphs.
    int nodeAt(QPointF point) const;
    /// Nodes whose rectangle meets `area`.
    std::vector<std::uint32_t> nodesIn(const QRectF& area) const;

    /// Calls visit(node) for each node whose rectangle meets `area`, row by row from left to right.
    template <class Visit>
    void forNodesIn(const QRectF& area, Visit visit) const;

    /// Nodes at one height, for finding by place. All nodes are equally high, so rows do not overlap.
    struct Row {
        double top = 0, bottom = 0;
        std::vector<std::uint32_t> nodes;  ///< by x
    };
    std::vector<Row> rows;  ///< by y
};

template <class Visit>
void GraphScene::forNodesIn(const QRectF& area, Visit visit) const {
    auto row = std::partition_point(rows.begin(), rows.end(), [&](const Row& r) { return r.bottom < area.top(); });
    for (; row != rows.end() && row->top <= area.bottom(); ++row) {
        const auto leftOf = [&](std::uint32_t node) { return nodes[node].rect.right() < area.left(); };
        auto node = std::partition_point(row->nodes.begin(), row->nodes.end(), leftOf);
        for (; node != row->nodes.end() && nodes[*node].rect.left() <= area.right(); ++node) visit(*node);
    }
}

/// Lays the forward ops of the problem out. Node width grows with the op's time (on its fastest device). Returns null if `stop` was
/// requested.
std::shared_ptr<const GraphScene> buildGraphScene(const Problem& problem, std::stop_token stop = {});

}  // namespace placewright
