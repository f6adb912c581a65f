// SPDX-License-Identifier: MIT
// The colours of all views: by device index, stable across views and runs, safe for colour-blind readers
// (Okabe and Ito's set for the first eight devices, then the same colours hatched).
#pragma once

#include <string_view>

#include <QBrush>
#include <QColor>
#include <QIcon>
#include <QLineF>
#include <QPalette>
#include <QPen>
#include <QVector>

#include "core/machine/machine.hpp"

namespace placewright {

/// CPUs are grey; GPUs and accelerators count through the palette in machine order.
QColor deviceColor(const Machine& machine, DeviceId device);
/// Brush in the device's colour, hatched from the ninth device on.
QBrush deviceBrush(const Machine& machine, DeviceId device);
/// The edge of an area in the device's colour: none where the colour stands out from `background`, else a
/// grey that does.
QPen deviceEdge(const Machine& machine, DeviceId device, const QColor& background);
/// A small square of deviceBrush() for lists.
QIcon deviceIcon(const Machine& machine, DeviceId device, qreal pixelRatio);
/// Lines of deviceBrush()'s hatch over `area`, for paint engines without textures, such as SVG; none for a
/// plain colour.
QVector<QLineF> deviceHatch(const Machine& machine, DeviceId device, const QRectF& area);
QColor hatchColor(const QColor& color);
/// Mixes two colours: `a` at `share` 0, `b` at 1.
QColor mixedColor(const QColor& a, const QColor& b, float share);
/// Returns from 0 to 1 how close lines of `length` pixels in total come to filling `area`; views fade such
/// lines so that the nodes stay visible.
float lineDensity(double length, const QSizeF& area);
/// Black or white, whichever reads better on `background`.
QColor readableOn(const QColor& background);
/// WCAG 2.1, contrast ratio: 1 to 21.
double contrast(const QColor& a, const QColor& b);
/// Returns whether the palette is dark.
bool isDark(const QPalette& palette);
/// Colour of an algorithm in tables and plots, by its id: the same everywhere, and that of no device.
/// Algorithms that are often run together differ for colour-blind readers too. What follows a blank, as in
/// "auto (policy=false)", does not count. An unknown id is grey.
QColor algorithmColor(std::string_view id);
/// Colour of a series in plots, by index.
QColor seriesColor(int index);
/// A muted text or line colour between text and window.
QColor mutedColor(const QPalette& palette);
/// Colour of the critical path.
QColor pathColor(const QPalette& palette);
/// Colour of errors and of placements that do not fit.
QColor warningColor(const QPalette& palette);
/// Colour of what takes shorter than expected.
QColor shorterColor(const QPalette& palette);

}  // namespace placewright
