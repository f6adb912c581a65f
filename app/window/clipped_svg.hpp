// SPDX-License-Identifier: MIT
#pragma once

#include <QPicture>
#include <QSizeF>

class QPainter;

namespace placewright {

/// Paints the recorded commands with `painter`, which need not clip: QSvgGenerator (Qt 6.4) drops clips.
/// Lines, areas and pictures are cut at the clip before they are painted. Texts are not cut, only left out
/// where they begin outside of it. `size`: of the picture, in points.
void paintClipped(QPainter& painter, const QPicture& commands, QSizeF size);

}  // namespace placewright
