// SPDX-License-Identifier: MIT
// Colours, one way everywhere: by device index, stable across views and runs, safe for colour-blind readers (Okabe and Ito's set for the
// first eight devices, then the same colours hatched).
#pragma once

#include <QBrush>
#include <QColor>
#include <QLineF>
#include <QPalette>
#include <QVector>

#include "core/machine/machine.hpp"

namespace placewright {

/// CPUs are grey; GPUs and accelerators count through the palette in machine order.
QColor deviceColor(const Machine& machine, DeviceId device);
/// The colour, hatched from the ninth device on.
QBrush deviceBrush(const Machine& machine, DeviceId device);
/// The hatch of that brush over `area` as lines, for paint engines that have no textures, such as that of SVG; none for a plain colour.
QVector<QLineF> deviceHatch(const Machine& machine, DeviceId device, const QRectF& area);
QColor hatchColor(const QColor& color);
/// `share` (0 to 1) of the way from `a` to `b`.
QColor mixedColor(const QColor& a, const QColor& b, float share);
/// From 0 to 1: how near lines of `length` pixels together come to filling `area`, where they have to make way for what they connect.
float lineDensity(double length, const QSizeF& area);
/// Black or white, whichever reads better on `background`.
QColor readableOn(const QColor& background);
/// WCAG 2.1, contrast ratio: 1 to 21.
double contrast(const QColor& a, const QColor& b);
/// Whether the palette is a dark one.
bool isDark(const QPalette& palette);
/// Colours of series in plots, by index.
QColor seriesColor(int index);
/// A muted text or line colour between text and window.
QColor mutedColor(const QPalette& palette);
/// The critical path.
QColor pathColor(const QPalette& palette);
/// What does not fit, errors.
QColor warningColor(const QPalette& palette);

}  // namespace placewright
