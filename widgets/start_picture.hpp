// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <QPointF>
#include <QPolygonF>
#include <QRectF>
#include <QSizeF>

#include "core/graph/graph.hpp"

class QPainter;
class QColor;

namespace placewright {

/// A thumbnail of a network, from left to right. One unit is about the distance of neighbouring ops.
struct StartPicture {
    struct Node {
        QPointF centre;
        int group = 0;  ///< of kinds: 0 weighs inputs, 1 normalises, 2 joins or pools, 3 all else
    };
    std::vector<Node> nodes;
    std::vector<QPolygonF> edges;  ///< from centre to centre
    QSizeF size;                   ///< everything lies between (0, 0) and here
};

/// The forward ops in a layered layout: milliseconds for some hundred ops.
StartPicture makeStartPicture(const Graph& graph);

/// As large as `area` allows, without stretching short networks; edges in `line`.
void paintStartPicture(QPainter& painter, const QRectF& area, const StartPicture& picture, const QColor& line);

}  // namespace placewright
