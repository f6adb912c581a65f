// SPDX-License-Identifier: MIT
#include "app/window/clipped_svg.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <QImage>
#include <QPaintDevice>
#include <QPaintEngine>
#include <QPainter>
#include <QPainterPath>
#include <QPixmap>

namespace placewright {
namespace {

/// The part of a line within the rectangle, as shares of the line (Liang and Barsky 1984); nothing if it is
/// outside.
std::optional<std::pair<double, double>> insideOf(const QRectF& rect, QPointF from, QPointF to) {
    double first = 0, last = 1;
    const auto cut = [&](double step, double room) {
        if (step == 0) return room >= 0;
        const double at = room / step;
        step < 0 ? first = std::max(first, at) : last = std::min(last, at);
        return first <= last;
    };
    const double dx = to.x() - from.x(), dy = to.y() - from.y();
    if (!cut(-dx, from.x() - rect.left()) || !cut(dx, rect.right() - from.x()) ||
        !cut(-dy, from.y() - rect.top()) || !cut(dy, rect.bottom() - from.y()))
        return {};
    return std::pair(first, last);
}

/// The outline of a path within the rectangle, without its area.
QPainterPath outlineWithin(const QPainterPath& path, const QRectF& rect) {
    QPainterPath cut;
    for (const QPolygonF& line : path.toSubpathPolygons()) {
        QPointF end(NAN, NAN);  // of what was cut so far
        for (qsizetype i = 1; i < line.size(); ++i) {
            const auto part = insideOf(rect, line[i - 1], line[i]);
            if (!part) continue;
            const QPointF step = line[i] - line[i - 1];
            const QPointF first = line[i - 1] + part->first * step, last = line[i - 1] + part->second * step;
            if (first != end) cut.moveTo(first);
            cut.lineTo(last);
            end = last;
        }
    }
    return cut;
}

/// Passes on what is painted to another painter, cut at the clip.
class ClippingEngine : public QPaintEngine {
public:
    explicit ClippingEngine(QPainter& target) : QPaintEngine(AllFeatures), m_target(target) {}

    bool begin(QPaintDevice*) override { return true; }
    bool end() override { return true; }
    Type type() const override { return User; }

    void updateState(const QPaintEngineState& next) override {
        const DirtyFlags dirty = next.state();
        if (dirty & DirtyTransform) m_target.setTransform(next.transform());
        if (dirty & DirtyPen) m_target.setPen(next.pen());
        if (dirty & DirtyBrush) m_target.setBrush(next.brush());
        if (dirty & DirtyBrushOrigin) m_target.setBrushOrigin(next.brushOrigin());
        if (dirty & DirtyFont) m_target.setFont(next.font());
        if (dirty & DirtyOpacity) m_target.setOpacity(next.opacity());
        if (dirty & DirtyBackground) m_target.setBackground(next.backgroundBrush());
        if (dirty & DirtyHints) m_target.setRenderHints(next.renderHints());
        if (dirty & DirtyClipPath) clip(next.transform().map(next.clipPath()), next.clipOperation());
        if (dirty & DirtyClipRegion) {
            QPainterPath region;
            region.addRegion(next.clipRegion());
            clip(next.transform().map(region), next.clipOperation());
        }
        if (dirty & DirtyClipEnabled) m_isClipping = m_hasClip && next.isClipEnabled();
    }

    void drawPath(const QPainterPath& path) override {
        const QTransform transform = m_target.transform();
        const QPainterPath seen = transform.map(path);
        const QPen pen = m_target.pen();
        const QBrush brush = m_target.brush();
        if (isInside(seen.boundingRect())) return m_target.drawPath(path);
        if (!m_clip.intersects(seen.boundingRect().adjusted(-1, -1, 1, 1))) return;
        m_target.setTransform({});
        if (brush.style() != Qt::NoBrush) m_target.fillPath(seen.intersected(m_clip), brush);
        if (pen.style() != Qt::NoPen) {
            QPen scaled = pen;
            if (!pen.isCosmetic())
                scaled.setWidthF(pen.widthF() * std::sqrt(std::abs(transform.determinant())));
            m_target.strokePath(outlineWithin(seen, m_clip.boundingRect()), scaled);
        }
        m_target.setTransform(transform);
    }

    void drawPolygon(const QPointF* points, int count, PolygonDrawMode mode) override {
        if (count < 1) return;
        QPainterPath path(points[0]);
        for (int i = 1; i < count; ++i) path.lineTo(points[i]);
        if (mode == PolylineMode) {
            const QBrush brush = m_target.brush();
            m_target.setBrush(Qt::NoBrush);
            drawPath(path);
            m_target.setBrush(brush);
            return;
        }
        path.closeSubpath();
        path.setFillRule(mode == WindingMode ? Qt::WindingFill : Qt::OddEvenFill);
        drawPath(path);
    }

    void drawPixmap(const QRectF& rect, const QPixmap& pixmap, const QRectF& source) override {
        drawImage(rect, pixmap.toImage(), source, Qt::AutoColor);
    }

    void drawImage(const QRectF& rect, const QImage& image, const QRectF& source,
                   Qt::ImageConversionFlags flags) override {
        const QRectF seen = m_target.transform().mapRect(rect);
        if (isInside(seen)) return m_target.drawImage(rect, image, source, flags);
        const QRectF part = seen & m_clip.boundingRect();
        if (part.isEmpty()) return;
        const double x = source.width() / seen.width(), y = source.height() / seen.height();
        const QTransform transform = m_target.transform();
        m_target.setTransform({});
        m_target.drawImage(
            part, image,
            QRectF(source.left() + (part.left() - seen.left()) * x,
                   source.top() + (part.top() - seen.top()) * y, part.width() * x, part.height() * y),
            flags);
        m_target.setTransform(transform);
    }

    void drawTextItem(const QPointF& at, const QTextItem& item) override {
        const QTransform& transform = m_target.transform();
        // The middle of the line, since a clip may be as high as the text.
        const QPointF middle = transform.map(at - QPointF(0, item.ascent() / 3));
        if (m_isClipping && !m_clip.boundingRect().adjusted(-1, -1, 1, 1).contains(middle)) return;
        const QFont font = m_target.font();
        m_target.setFont(item.font());
        m_target.drawText(at, item.text());
        m_target.setFont(font);
    }

private:
    void clip(const QPainterPath& path, Qt::ClipOperation operation) {
        m_clip = operation == Qt::IntersectClip && m_isClipping ? m_clip.intersected(path) : path;
        m_isClipping = m_hasClip = operation != Qt::NoClip;
    }

    bool isInside(const QRectF& seen) const {
        return !m_isClipping || m_clip.boundingRect().adjusted(-0.5, -0.5, 0.5, 0.5).contains(seen);
    }

    QPainter& m_target;
    QPainterPath m_clip;  ///< in pixels of the device
    bool m_hasClip = false, m_isClipping = false;
};

/// Of the resolution of the commands, which are scaled otherwise.
class ClippingDevice : public QPaintDevice {
public:
    ClippingDevice(QPainter& target, QSize size, int dpi) : m_engine(target), m_size(size), m_dpi(dpi) {}

    QPaintEngine* paintEngine() const override { return &m_engine; }

protected:
    int metric(PaintDeviceMetric metric) const override {
        switch (metric) {
            case PdmWidth:
                return m_size.width();
            case PdmHeight:
                return m_size.height();
            case PdmDpiX:
            case PdmDpiY:
            case PdmPhysicalDpiX:
            case PdmPhysicalDpiY:
                return m_dpi;
            case PdmWidthMM:
                return static_cast<int>(m_size.width() * kMillimetresAnInch / m_dpi);
            case PdmHeightMM:
                return static_cast<int>(m_size.height() * kMillimetresAnInch / m_dpi);
            case PdmNumColors:
                return 1 << 24;
            case PdmDepth:
                return 24;
            case PdmDevicePixelRatio:
                return 1;
            default:
                return static_cast<int>(devicePixelRatioFScale());
        }
    }

private:
    static constexpr double kMillimetresAnInch = 25.4;

    mutable ClippingEngine m_engine;
    QSize m_size;
    int m_dpi;
};

}  // namespace

void paintClipped(QPainter& painter, const QPicture& commands, QSizeF size) {
    ClippingDevice device(painter, size.toSize(), commands.logicalDpiX());
    QPainter(&device).drawPicture(0, 0, commands);
}

}  // namespace placewright
