// SPDX-License-Identifier: MIT
#include "widgets/graph_minimap.hpp"

#include <cmath>

#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>

#include "widgets/palette.hpp"

namespace placewright {
namespace {

constexpr double kInset = 5;  ///< between border and graph, pixels
constexpr double kNarrowestMap = 64, kWidestMap = 112;
constexpr double kLeastFrame = 8;
constexpr double kStretched = 1.5;          ///< height of a node over its own, so that colours fill the map
constexpr std::size_t kMostEdges = 20'000;  ///< more edges would merge into a grey area

}  // namespace

GraphMinimap::GraphMinimap(QWidget* parent) : QWidget(parent) {
    setAttribute(Qt::WA_OpaquePaintEvent);
    setCursor(Qt::PointingHandCursor);
    setAccessibleName(tr("Overview of the graph"));
    setAccessibleDescription(tr("The whole graph coloured by device; the frame marks the visible part."));
    setToolTip(tr("The whole graph. Click or drag to move the view (Page Up and Page Down)"));
}

QSize GraphMinimap::sizeFor(QSizeF graph, QSize view) {
    const double aspect = std::max(graph.width(), 1.0) / std::max(graph.height(), 1.0);
    const double height = std::clamp((kWidestMap - 2 * kInset) / aspect + 2 * kInset, kNarrowestMap,
                                     std::max<double>(view.height(), kNarrowestMap));
    const double width = std::clamp((height - 2 * kInset) * aspect + 2 * kInset, kNarrowestMap, kWidestMap);
    return 2 * width > view.width() ? QSize(0, 0) : QSizeF(width, height).toSize();
}

void GraphMinimap::setScene(std::shared_ptr<const GraphScene> scene) {
    m_scene = std::move(scene);
    m_colors.clear();
    m_backdrop = QImage();
    redraw();
}

void GraphMinimap::setColors(std::vector<QRgb> colors) {
    if (colors == m_colors) return;
    m_colors = std::move(colors);
    redraw();
}

void GraphMinimap::setShownArea(const QRectF& area) {
    if (area == m_shown) return;
    m_shown = area;
    update();
}

void GraphMinimap::redraw() {
    m_picture = QImage();
    update();
}

QRectF GraphMinimap::graphArea() const {
    return QRectF(rect()).adjusted(kInset, kInset, -kInset, -kInset);
}

QPointF GraphMinimap::toMap(QPointF scenePoint) const {
    const QRectF& all = m_scene->bounds;
    const QRectF area = graphArea();
    return {area.left() + (scenePoint.x() - all.left()) / std::max(all.width(), 1.0) * area.width(),
            area.top() + (scenePoint.y() - all.top()) / std::max(all.height(), 1.0) * area.height()};
}

QPointF GraphMinimap::toScene(QPointF position) const {
    const QRectF& all = m_scene->bounds;
    const QRectF area = graphArea();
    return {all.left() + (position.x() - area.left()) / area.width() * all.width(),
            all.top() + (position.y() - area.top()) / area.height() * all.height()};
}

QRectF GraphMinimap::frame() const {
    const QRectF limits = QRectF(rect()).adjusted(2, 2, -2, -2);
    QRectF shown = QRectF(toMap(m_shown.topLeft()), toMap(m_shown.bottomRight())) & limits;
    const QPointF centre = shown.center();
    shown.setSize(shown.size().expandedTo(QSizeF(kLeastFrame, kLeastFrame)));
    shown.moveCenter(centre);
    return shown;
}

// --- painting ---

void GraphMinimap::drawBackdrop() {
    const double ratio = devicePixelRatioF();
    const QColor base = palette().color(QPalette::Base), text = palette().color(QPalette::Text);
    m_backdrop = QImage((QSizeF(size()) * ratio).toSize(), QImage::Format_RGB32);
    m_backdrop.setDevicePixelRatio(ratio);
    m_backdrop.fill(mixedColor(base, text, 0.04F));
    QPainter painter(&m_backdrop);
    if (m_scene->edges.size() <= kMostEdges) {
        QVector<QLineF> lines;
        double length = 0;
        for (const auto& edge : m_scene->edges) {
            for (int i = 1; i < edge.line.size(); ++i) {
                lines.append(QLineF(toMap(edge.line[i - 1]), toMap(edge.line[i])));
                length += lines.back().length();
            }
        }
        // As in the view, edges fade where they would fill the map, so that the nodes stay visible.
        const float full = lineDensity(length, size());
        painter.setPen(QPen(mixedColor(base, text, 0.35F - 0.2F * full), 0));
        painter.drawLines(lines);
    }
    painter.setPen(QPen(mixedColor(base, text, 0.25F), 1));
    painter.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));

    m_cells.assign(m_scene->nodes.size(), {});
    for (std::size_t node = 0; node < m_cells.size(); ++node) {
        const QRectF& rect = m_scene->nodes[node].rect;
        const QPoint from = (toMap(rect.topLeft()) * ratio).toPoint(),
                     to = (toMap(QPointF(rect.right(), rect.top() + kStretched * rect.height())) * ratio)
                              .toPoint();
        m_cells[node] = QRect(from, QSize(std::max(to.x() - from.x(), 1), std::max(to.y() - from.y(), 1))) &
                        m_backdrop.rect();
    }
}

void GraphMinimap::drawPicture() {
    if (m_backdrop.isNull() || m_backdrop.devicePixelRatio() != devicePixelRatioF()) drawBackdrop();
    m_picture = m_backdrop;
    // Pixels are set directly: QPainter takes several times as long for thousands of small rectangles.
    auto* const pixels = reinterpret_cast<QRgb*>(m_picture.bits());
    for (std::size_t node = 0; node < std::min(m_cells.size(), m_colors.size()); ++node) {
        const QRect& cell = m_cells[node];
        for (int y = cell.top(); y <= cell.bottom(); ++y)
            std::fill_n(pixels + y * m_picture.width() + cell.left(), cell.width(), m_colors[node]);
    }
}

void GraphMinimap::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (!m_scene) return painter.fillRect(rect(), palette().color(QPalette::Base));
    if (m_picture.isNull() || m_picture.devicePixelRatio() != devicePixelRatioF()) drawPicture();
    painter.drawImage(QPointF(0, 0), m_picture);
    QColor fill = palette().color(QPalette::Text);
    fill.setAlpha(16);
    const QRectF shown = frame();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(fill);
    painter.setPen(QPen(palette().color(QPalette::Base), 4));
    painter.drawRoundedRect(shown, 2, 2);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(palette().color(QPalette::Text), 1.5));
    painter.drawRoundedRect(shown, 2, 2);
}

void GraphMinimap::resizeEvent(QResizeEvent*) {
    m_backdrop = QImage();
    redraw();
}

void GraphMinimap::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange) {
        m_backdrop = QImage();
        redraw();
    }
    QWidget::changeEvent(event);
}

// --- user input ---

void GraphMinimap::enterEvent(QEnterEvent*) {
    Q_EMIT entered();
}

void GraphMinimap::mousePressEvent(QMouseEvent* event) {
    if (!m_scene || event->button() != Qt::LeftButton) return;
    m_dragging = true;
    const QRectF shown = frame();
    m_grabbed = shown.contains(event->position()) ? shown.center() - event->position() : QPointF();
    if (m_grabbed.isNull()) Q_EMIT centreRequested(toScene(event->position()));
}

void GraphMinimap::mouseMoveEvent(QMouseEvent* event) {
    if (m_dragging && event->buttons() & Qt::LeftButton)
        Q_EMIT centreRequested(toScene(event->position() + m_grabbed));
}

void GraphMinimap::mouseReleaseEvent(QMouseEvent*) {
    m_dragging = false;
}

void GraphMinimap::mouseDoubleClickEvent(QMouseEvent* event) {
    mousePressEvent(event);
}

void GraphMinimap::wheelEvent(QWheelEvent* event) {
    if (!m_scene) return event->ignore();
    const QPointF turned = QPointF(event->angleDelta()) / 120 / 4;
    Q_EMIT centreRequested(m_shown.center() -
                           QPointF(turned.x() * m_shown.width(), turned.y() * m_shown.height()));
    event->accept();
}

}  // namespace placewright
