// SPDX-License-Identifier: MIT
// The drawn graph as a value: nodes and edges with their positions. Built outside the GUI thread, then shared
// read-only.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include <QPolygonF>
#include <QRectF>
#include <QString>

#include "core/cost/problem.hpp"
#include "core/graph/scope_tree.hpp"

namespace placewright {

/// Nodes are the forward ops. A backward or update op shares the node of its forward op, or of the first
/// forward op that it is colocated with. One without either (in a training graph that lists its own backward
/// ops) has its own node, since it is placed by itself. The ops of a closed module are one node.
struct GraphScene {
    struct Node {
        OpId op = kInvalidOp;  ///< the op, or the first op of a module
        QRectF rect;
        QString label;              ///< last part of the name
        QString detail;             ///< kind of the op, or number of ops of a module
        QString scope;              ///< the modules that the label leaves out, separated by '/'
        std::vector<OpId> members;  ///< the ops of a module, ascending; empty for an op
        QString module;             ///< path of the module; empty for an op

        std::span<const OpId> ops() const { return members.empty() ? std::span(&op, 1) : std::span(members); }
        bool isModule() const { return !members.empty(); }
    };
    struct Edge {
        std::uint32_t from = 0, to = 0;  ///< nodes
        double bytes = 0;
        QPolygonF line;  ///< from the source's lower border over the bends to the target's upper border;
                         ///< an upward edge goes from upper to lower border
        QRectF box;      ///< bounds of the line
        std::vector<std::pair<OpId, OpId>> links{};  ///< (producer, reader) if an end is a module
    };
    std::vector<Node> nodes;
    std::vector<Edge> edges;
    std::vector<std::int32_t> node_of;  ///< by op of the simulated graph
    std::vector<float> seconds;         ///< by op, with its derived ops: time on the fastest device
    ScopeTree modules;                  ///< of the simulated graph
    ClosedScopes closed;
    QRectF bounds;

    /// Index of the node at `point`, -1 if none; O(log n) for usual graphs.
    int nodeAt(QPointF point) const;
    /// Nodes whose rectangle meets `area`.
    std::vector<std::uint32_t> nodesIn(const QRectF& area) const;

    /// Calls visit(node) for each node whose rectangle meets `area`, row by row from left to right.
    template <class Visit>
    void forNodesIn(const QRectF& area, Visit visit) const;

    /// Nodes at one height, to find nodes by position. All nodes are equally high, so rows do not overlap.
    struct Row {
        double top = 0, bottom = 0;
        std::vector<std::uint32_t> nodes;  ///< by x
    };
    std::vector<Row> rows;  ///< by y
};

template <class Visit>
void GraphScene::forNodesIn(const QRectF& area, Visit visit) const {
    auto row =
        std::partition_point(rows.begin(), rows.end(), [&](const Row& r) { return r.bottom < area.top(); });
    for (; row != rows.end() && row->top <= area.bottom(); ++row) {
        const auto leftOf = [&](std::uint32_t node) { return nodes[node].rect.right() < area.left(); };
        auto node = std::partition_point(row->nodes.begin(), row->nodes.end(), leftOf);
        for (; node != row->nodes.end() && nodes[*node].rect.left() <= area.right(); ++node) visit(*node);
    }
}

/// Lays out the forward ops of the problem. Node width grows with the op's time (on its fastest device).
/// `closed`: modules to draw as one node; null: an overview of the modules for a large network
/// (kLargeNetwork), all ops for others. Returns null if `stop` was requested.
std::shared_ptr<const GraphScene> buildGraphScene(const Problem& problem,
                                                  const ClosedScopes* closed = nullptr,
                                                  std::stop_token stop = {});

}  // namespace placewright
