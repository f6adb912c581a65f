// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include <QRectF>
#include <QSizeF>
#include <QString>

class QPainter;
class QWidget;

namespace placewright {

/// Writes a picture as PNG (at twice the size, for sharp print) or SVG, by the file's suffix; `paint` draws
/// into the given rectangle. Throws InputError with the file and the reason.
void exportPicture(const QString& file, QSizeF size,
                   const std::function<void(QPainter&, const QRectF&)>& paint);

/// Writes the widget's current appearance, in the format of the file's suffix. Throws InputError likewise.
void exportWidget(const QString& file, QWidget* widget);

}  // namespace placewright
