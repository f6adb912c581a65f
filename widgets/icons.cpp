// SPDX-License-Identifier: MIT
#include "widgets/icons.hpp"

#include <QFile>
#include <QGuiApplication>
#include <QIconEngine>
#include <QPainter>
#include <QPalette>
#include <QPixmapCache>
#include <QSvgRenderer>

#include "widgets/palette.hpp"

/// The icons lie in a static library, whose resources nothing else refers to. A macro of Qt that must not be
/// used in a namespace.
static void loadIcons() {
    Q_INIT_RESOURCE(icons);
}

namespace placewright {
namespace {

QString fileOf(const QString& name) {
    return QStringLiteral(":/icons/%1.svg").arg(name);
}

class LineIconEngine : public QIconEngine {
public:
    LineIconEngine(const QString& name, IconTone tone) : m_name(name), m_tone(tone) {
        QFile file(fileOf(name));
        if (file.open(QIODevice::ReadOnly)) m_svg = file.readAll();
    }

    QIconEngine* clone() const override { return new LineIconEngine(*this); }
    bool isNull() override { return m_svg.isEmpty(); }
    QString key() const override { return QStringLiteral("placewright.line"); }
    QString iconName() override { return m_name; }

    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State state) override {
        const qreal ratio = painter->device()->devicePixelRatioF();
        painter->drawPixmap(rect, pixmap(rect.size() * ratio, mode, state));
    }

    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
        if (m_svg.isEmpty() || size.isEmpty()) return {};
        const QColor color = colorFor(mode, state);
        const QString key = QStringLiteral("placewright/%1/%2/%3x%4")
                                .arg(m_name, color.name(QColor::HexArgb))
                                .arg(size.width())
                                .arg(size.height());
        QPixmap drawn;
        if (QPixmapCache::find(key, &drawn)) return drawn;
        drawn = QPixmap(size);
        drawn.fill(Qt::transparent);
        QSvgRenderer svg(QByteArray(m_svg).replace("currentColor", color.name().toLatin1()));
        svg.setAspectRatioMode(Qt::KeepAspectRatio);
        QPainter painter(&drawn);
        painter.setOpacity(color.alphaF());
        svg.render(&painter, QRectF(QPointF(), size));
        painter.end();
        QPixmapCache::insert(key, drawn);
        return drawn;
    }

    QPixmap scaledPixmap(const QSize& size, QIcon::Mode mode, QIcon::State state,
                         [[maybe_unused]] qreal scale) override {
#if QT_VERSION >= QT_VERSION_CHECK(6, 8, 0)
        return pixmap((size.toSizeF() * scale).toSize(), mode, state);
#else
        return pixmap(size, mode, state);  // already in pixels of the device
#endif
    }

private:
    QColor colorFor(QIcon::Mode mode, QIcon::State state) const {
        const QPalette palette = QGuiApplication::palette();
        if (mode == QIcon::Disabled) return palette.color(QPalette::Disabled, QPalette::WindowText);
        if (mode == QIcon::Selected) return palette.color(QPalette::HighlightedText);
        if (m_tone == IconTone::warning) return warningColor(palette);
        if (m_tone == IconTone::accent || state == QIcon::On) return palette.color(QPalette::Link);
        return palette.color(QPalette::WindowText);
    }

    QString m_name;
    IconTone m_tone;
    QByteArray m_svg;
};

}  // namespace

QIcon lineIcon(const QString& name, IconTone tone) {
    static const bool loaded = (loadIcons(), true);
    if (!loaded || !QFile::exists(fileOf(name))) return {};
    return QIcon(new LineIconEngine(name, tone));
}

}  // namespace placewright
