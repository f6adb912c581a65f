// SPDX-License-Identifier: MIT
// Pictures of views as PNG, SVG and PDF files.
#pragma once

#include <functional>
#include <stop_token>

#include <QColor>
#include <QPicture>
#include <QRectF>
#include <QSizeF>
#include <QString>

class QPainter;
class QWidget;

namespace placewright {

/// A picture as a list of painting commands, which any thread can write to a file.
struct Picture {
    QPicture commands;
    QSizeF size;  ///< points
    QColor background;
};

/// Records what `paint` draws into the given rectangle. To be called on the window's thread.
Picture recordPicture(QSizeF size, const std::function<void(QPainter&, const QRectF&)>& paint);

/// Pixels per point of a PNG: twice as many as on screen, for sharp print.
constexpr double kPrintScale = 2;

/// Returns the size in pixels of a PNG, which is smaller than `scale` asks for where it would need too much
/// memory.
QSize pixelsOf(const Picture& picture, double scale);

/// Writes PNG, SVG or PDF, by the suffix of the file. `progress` gets the painted share of a PNG, from 0 to
/// 1; the rest of the time is compression. Returns false, and writes nothing, once `stop` is requested.
/// Throws InputError with the file and the reason.
bool writePicture(const QString& file, const Picture& picture, double scale = kPrintScale,
                  const std::stop_token& stop = {}, const std::function<void(double)>& progress = {});

/// The picture as the content of an SVG file.
QByteArray svgOf(const Picture& picture);
/// The picture as the content of a PNG file.
QByteArray pngOf(const Picture& picture, double scale);

/// Writes the widget's current appearance, as writePicture does.
void exportWidget(const QString& file, QWidget* widget, double scale = kPrintScale);

}  // namespace placewright
