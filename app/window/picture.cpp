// SPDX-License-Identifier: MIT
#include "app/window/picture.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <QApplication>
#include <QBuffer>
#include <QFileInfo>
#include <QImage>
#include <QImageWriter>
#include <QPageSize>
#include <QPainter>
#include <QPalette>
#include <QPdfWriter>
#include <QSvgGenerator>
#include <QWidget>

#include "app/window/clipped_svg.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

/// Larger pictures are scaled down to this number of pixels, to limit memory.
constexpr double kMostPixels = 100e6;
/// Pixels that are painted between two looks at the stop token.
constexpr double kBandPixels = 4e6;
/// Of PNG, in Qt's terms: zlib's level 3, which takes a third of the time of level 6.
constexpr int kQuality = 65;

/// Fails to write once it shall stop, which ends the compression of a PNG.
class StoppableBuffer : public QBuffer {
public:
    explicit StoppableBuffer(std::stop_token stop) : m_stop(std::move(stop)) { open(QIODevice::WriteOnly); }

protected:
    qint64 writeData(const char* data, qint64 length) override {
        return m_stop.stop_requested() ? -1 : QBuffer::writeData(data, length);
    }

private:
    const std::stop_token m_stop;
};

[[noreturn]] void failForMemory(const QString& file) {
    throw InputError(file.toStdString(), "",
                     "there is not enough memory for the picture; choose a smaller size, .svg or .pdf");
}

using Paint = std::function<void(QPainter&)>;

QColor backgroundColor() {
    return qApp->palette().base().color();
}

enum class Format { png, svg, pdf };

Format formatOf(const QString& file) {
    const QString suffix = QFileInfo(file).suffix().toLower();
    if (suffix == QLatin1String("png")) return Format::png;
    if (suffix == QLatin1String("svg")) return Format::svg;
    if (suffix == QLatin1String("pdf")) return Format::pdf;
    throw InputError(file.toStdString(), "",
                     "pictures are written as .png, .svg or .pdf; choose one of these suffixes");
}

QSize pixelsOf(QSizeF size, double scale) {
    const double most = std::sqrt(kMostPixels / (size.width() * size.height()));
    return (size * std::min(scale, most)).toSize().expandedTo(QSize(1, 1));
}

QByteArray svg(QSizeF size, int dpi, const QColor& background, const Paint& paint) {
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    const QRectF target(QPointF(0, 0), size);
    QSvgGenerator generator;
    generator.setOutputDevice(&buffer);
    generator.setResolution(dpi);
    generator.setSize(size.toSize());
    generator.setViewBox(target);
    generator.setTitle(QStringLiteral("Placewright"));
    QPainter painter(&generator);
    painter.fillRect(target, background);
    paint(painter);
    painter.end();
    return buffer.data();
}

/// One page, as large as the picture; smaller where readers of PDF would refuse so large a page.
QByteArray pdf(QSizeF size, int dpi, const QColor& background, const Paint& paint) {
    constexpr double kPointsAnInch = 72, kMostPoints = 14'400;
    const double points = std::max(size.width(), size.height()) * kPointsAnInch / dpi;
    const double scale = std::min(1.0, kMostPoints / points);
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    QPdfWriter writer(&buffer);
    writer.setResolution(dpi);
    writer.setTitle(QStringLiteral("Placewright"));
    writer.setPageSize(
        QPageSize(size * scale * kPointsAnInch / dpi, QPageSize::Point, {}, QPageSize::ExactMatch));
    writer.setPageMargins({});
    QPainter painter(&writer);
    painter.scale(scale, scale);
    painter.fillRect(QRectF(QPointF(0, 0), size), background);
    paint(painter);
    painter.end();
    return buffer.data();
}

/// Returns the file's content; nothing useful once `stop` is requested.
QByteArray png(const QString& file, const QImage& image, const std::stop_token& stop) {
    StoppableBuffer buffer(stop);
    QImageWriter writer(&buffer, "PNG");
    writer.setQuality(kQuality);
    if (!writer.write(image) && !stop.stop_requested()) failForMemory(file);
    return buffer.data();
}

QImage blankImage(const QString& file, QSize pixels, const QColor& background) {
    QImage image(pixels, QImage::Format_RGB32);
    if (image.isNull()) failForMemory(file);
    image.fill(background);
    return image;
}

/// Paints band by band, so that it can stop between two. Each band is an image of its own within the whole: a
/// clip that the commands set cannot leave it.
void paintBands(QImage& image, const Picture& picture, const std::stop_token& stop,
                const std::function<void(double)>& progress) {
    const int rows = std::clamp(static_cast<int>(kBandPixels / image.width()), 1, image.height());
    for (int y = 0; y < image.height() && !stop.stop_requested(); y += rows) {
        if (progress) progress(static_cast<double>(y) / image.height());
        QImage band(image.scanLine(y), image.width(), std::min(rows, image.height() - y),
                    image.bytesPerLine(), image.format());
        QPainter painter(&band);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.translate(0, -y);
        painter.scale(image.width() / picture.size.width(), image.height() / picture.size.height());
        painter.drawPicture(0, 0, picture.commands);
    }
    if (progress) progress(1);
}

}  // namespace

Picture recordPicture(QSizeF size, const std::function<void(QPainter&, const QRectF&)>& paint) {
    Picture picture;
    picture.size = size.expandedTo(QSizeF(1, 1));
    picture.background = backgroundColor();
    QPainter painter(&picture.commands);
    painter.setRenderHint(QPainter::Antialiasing);
    paint(painter, QRectF(QPointF(0, 0), picture.size));
    return picture;
}

QSize pixelsOf(const Picture& picture, double scale) {
    return pixelsOf(picture.size, scale);
}

QByteArray svgOf(const Picture& picture) {
    return svg(picture.size, picture.commands.logicalDpiX(), picture.background,
               [&](QPainter& painter) { paintClipped(painter, picture.commands, picture.size); });
}

QByteArray pngOf(const Picture& picture, double scale) {
    QImage image = blankImage({}, pixelsOf(picture, scale), picture.background);
    paintBands(image, picture, {}, {});
    return png({}, image, {});
}

bool writePicture(const QString& file, const Picture& picture, double scale, const std::stop_token& stop,
                  const std::function<void(double)>& progress) {
    QByteArray content;
    if (const Format format = formatOf(file); format == Format::svg) {
        content = svgOf(picture);
    } else if (format == Format::pdf) {
        content = pdf(picture.size, picture.commands.logicalDpiX(), picture.background,
                      [&](QPainter& painter) { painter.drawPicture(0, 0, picture.commands); });
    } else {
        QImage image = blankImage(file, pixelsOf(picture, scale), picture.background);
        paintBands(image, picture, stop, progress);
        content = png(file, image, stop);
    }
    if (stop.stop_requested()) return false;
    write_file(file.toStdString(), content.toStdString());
    return true;
}

void exportWidget(const QString& file, QWidget* widget, double scale) {
    // Not recorded: a recording lacks the clips of child widgets.
    const auto paint = [widget](QPainter& painter) { widget->render(&painter); };
    QByteArray content;
    if (const Format format = formatOf(file); format == Format::svg) {
        content = svg(widget->size(), widget->logicalDpiX(), backgroundColor(), paint);
    } else if (format == Format::pdf) {
        content = pdf(widget->size(), widget->logicalDpiX(), backgroundColor(), paint);
    } else {
        QImage image = blankImage(file, pixelsOf(QSizeF(widget->size()), scale), backgroundColor());
        QPainter painter(&image);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.scale(scale, scale);
        paint(painter);
        painter.end();
        content = png(file, image, {});
    }
    write_file(file.toStdString(), content.toStdString());
}

}  // namespace placewright
