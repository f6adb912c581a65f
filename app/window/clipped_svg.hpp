// SPDX-License-Identifier: MIT
#pragma once

#include <QByteArray>
#include <QColor>
#include <QPicture>
#include <QSizeF>

namespace placewright {

/// The recorded commands as an SVG file of this size, in points. QSvgGenerator (Qt 6.4) drops clips: here
/// lines, areas and pictures are cut at the clip before they are written. Texts are not cut, only left out
/// where they begin outside.
QByteArray clippedSvg(const QPicture& commands, QSizeF size, const QColor& background);

}  // namespace placewright
