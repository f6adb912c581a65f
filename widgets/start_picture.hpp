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

/// Thumbnail of a network, drawn from left to right. One unit is about the distance of neighbouring ops.
struct StartPicture {
    struct Node {
        QPointF centre;
        int group =
            0;  ///< by kind: 0 weighted sums, 1 normalises, 2 joins or pools, 3 others, 4 recurrent cells
        bool isEnd = false;  ///< lines begin or end here, so that it is always drawn
    };
    std::vector<Node> nodes;
    std::vector<QPolygonF> edges;  ///< from centre to centre
    QSizeF size;                   ///< bounds: everything lies between (0, 0) and here
};

/// Lays out the forward ops in layers; takes milliseconds for a few hundred ops. What very many ops read,
/// such as the weights of an unrolled network, is left out: its lines would hide all else.
StartPicture makeStartPicture(const Graph& graph);

/// Draws the picture as large as `area` allows, without stretching short networks; edges have colour `line`.
void paintStartPicture(QPainter& painter, const QRectF& area, const StartPicture& picture,
                       const QColor& line);

}  // namespace placewright
