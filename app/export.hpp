// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include <QRectF>
#include <QSizeF>
#include <QString>

class QPainter;
class QWidget;

namespace placewright {

/// Writes a picture as PNG (at twice the size, for sharp print) or SVG, by the file's suffix; `paint` draws into the given rectangle.
/// Throws InputError with the file and the reason.
void exportPicture(const QString& file, QSizeF size, const std::function<void(QPainter&, const QRectF&)>& paint);

/// What a widget shows now, by the file's suffix.
void exportWidget(const QString& file, QWidget* widget);

}  // namespace placewright
