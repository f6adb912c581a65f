// SPDX-License-Identifier: MIT
// The drawn graph as a value: nodes and edges with their positions. Built outside the GUI thread, then shared
// read-only.
#pragma once

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
#include "core/layout/layout.hpp"

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
        /// Of a module: the same for those with the same kinds of ops in the same order and submodules.
        std::uint32_t content = 0;
        bool backwards = false;  ///< its readers are on the side where other nodes have what they read

        std::span<const OpId> ops() const { return members.empty() ? std::span(&op, 1) : std::span(members); }
        bool isModule() const { return !members.empty(); }
    };
    struct Edge {
        std::uint32_t from = 0, to = 0;  ///< nodes
        double bytes = 0;
        QPolygonF line;  ///< from the source's border over the bends to the target's border
        QRectF box;      ///< bounds of the line, never empty
        /// One of so many edges of a node that they would hide the graph: the line is only the last piece
        /// before the target, or the first behind the source.
        bool stub = false;
        std::vector<std::pair<OpId, OpId>> links{};  ///< (producer, reader) if an end is a module
    };
    std::vector<Node> nodes;
    std::vector<Edge> edges;
    std::vector<std::int32_t> node_of;  ///< by op of the simulated graph
    std::vector<float> seconds;         ///< by op, with its derived ops: time on the fastest device
    ScopeTree modules;                  ///< of the simulated graph
    ClosedScopes closed;
    LayoutRoom room;
    QRectF bounds;
    /// A layer of an unrolled recurrent network: its steps stand side by side in `rect`.
    struct Layer {
        QString name;
        QRectF rect;
    };
    std::vector<Layer> layers;  ///< empty unless the graph is drawn as a table of layers and steps

    /// Where edges begin and end at a node.
    QPointF outPort(std::uint32_t node) const;
    QPointF inPort(std::uint32_t node) const;
    /// Index of the node at `point`, -1 if none; O(log n) for usual graphs.
    int nodeAt(QPointF point) const;
    /// Nodes whose rectangle meets `area`, ascending.
    std::vector<std::uint32_t> nodesIn(const QRectF& area) const;

    /// Finds nodes by position. Made by buildGraphScene() when all nodes are in their places.
    class Index;
    std::shared_ptr<const Index> index;
};

/// The op whose node stands for `op`: `op` itself if it has its own node.
OpId representative(const Problem& problem, OpId op);

/// Nodes with more readers, or that read more nodes, have stubs in place of edges.
inline constexpr std::size_t kMostEdgesOfNode = 20;

/// Most nodes in the first picture of a network, so that each is large enough to be seen.
inline constexpr std::size_t kMostNodes = 150;

/// The same for an unrolled recurrent network, which is a table of layers and steps of time.
inline constexpr std::size_t kMostSteps = 800;

/// Whether a picture for one of these rooms serves in the other.
bool alike(const LayoutRoom& a, const LayoutRoom& b);

/// Lays out the forward ops of the problem for a room. An unrolled recurrent network is a table with a row
/// for each layer and a column for each step of time (core/layout/grid.hpp). Node width grows with the op's
/// time (on its fastest device). `closed`: modules to draw as one node; null: all ops, or where these are
/// more than kMostNodes, an overview of the modules or of the steps. Returns null if `stop` was requested.
std::shared_ptr<const GraphScene> buildGraphScene(const Problem& problem,
                                                  const ClosedScopes* closed = nullptr,
                                                  const LayoutRoom& room = {}, std::stop_token stop = {});

}  // namespace placewright
