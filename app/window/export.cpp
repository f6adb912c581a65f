// SPDX-License-Identifier: MIT
#include "app/window/export.hpp"

#include <algorithm>
#include <cmath>

#include <QApplication>
#include <QBuffer>
#include <QFileInfo>
#include <QImage>
#include <QPainter>
#include <QPalette>
#include <QSvgGenerator>
#include <QWidget>

#include "core/io/text/input_error.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

/// Larger pictures are scaled down to this number of pixels, to limit memory.
constexpr double kMostPixels = 100e6;

}  // namespace

void exportPicture(const QString& file, QSizeF size,
                   const std::function<void(QPainter&, const QRectF&)>& paint) {
    const QString suffix = QFileInfo(file).suffix().toLower();
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    const QRectF target(QPointF(0, 0), size);
    if (suffix == QLatin1String("svg")) {
        QSvgGenerator generator;
        generator.setOutputDevice(&buffer);
        generator.setSize(size.toSize());
        generator.setViewBox(target);
        generator.setTitle(QStringLiteral("Placewright"));
        QPainter painter(&generator);
        painter.fillRect(target, qApp->palette().base());
        paint(painter, target);
        painter.end();
    } else if (suffix == QLatin1String("png")) {
        const double scale =
            std::min(2.0, std::sqrt(kMostPixels / std::max(1.0, size.width() * size.height())));
        QImage image((size * scale).toSize().expandedTo(QSize(1, 1)), QImage::Format_ARGB32_Premultiplied);
        image.fill(qApp->palette().base().color());
        QPainter painter(&image);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.scale(scale, scale);
        paint(painter, target);
        painter.end();
        if (!image.save(&buffer, "PNG"))
            throw InputError(file.toStdString(), "", "there is not enough memory for the picture; try .svg");
    } else {
        throw InputError(file.toStdString(), "",
                         "pictures are written as .png or .svg; choose one of these suffixes");
    }
    write_file(file.toStdString(), bytes.toStdString());
}

void exportWidget(const QString& file, QWidget* widget) {
    exportPicture(file, widget->size(),
                  [widget](QPainter& painter, const QRectF&) { widget->render(&painter); });
}

}  // namespace placewright
