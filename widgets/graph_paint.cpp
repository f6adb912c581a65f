// SPDX-License-Identifier: MIT
// Painting of a GraphView.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>

#include <QPaintEngine>
#include <QPainter>
#include <QPainterPath>

#include "widgets/graph_view.hpp"
#include "widgets/palette.hpp"

namespace placewright {
namespace {

constexpr double kLargestLabel = 1.25;  ///< largest label, as a multiple of the window's font size
constexpr double kTurnRadius = 14;      ///< of edges, in units of the scene
constexpr int kSmallestLabel = 8;       ///< pixels
constexpr int kSmallestShortLabel = 6;  ///< of a label that would not fit else, pixels
constexpr double kStripe = 0.2;         ///< height of a module's distribution of values, share of its node
constexpr int kMostScopes = 3;          ///< most modules shown before a label
/// Height of a node, in pixels, from which a selected one is outlined; smaller ones stand out as all else
/// fades, and have a thin line round them from kHairlineFrom on.
constexpr double kOutlinedFrom = 12, kHairlineFrom = 5;
constexpr int kMeasuredAt = 64;  ///< font size for measuring labels, pixels
/// Most edges that are drawn when single edges cannot be distinguished.
constexpr std::size_t kEdgesFromAfar = 30'000;

constexpr std::array kEdgeWidths{1.0, 1.6, 2.4, 3.4};

/// Index into kEdgeWidths by the logarithm of the bytes, from 10 kB to 100 MB.
std::size_t widthStep(double bytes) {
    const double share = (std::log10(std::max(bytes, 1.0)) - 4) / 4;
    return static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * (kEdgeWidths.size() - 1)));
}

QPointF arrowBase(QPointF before, QPointF tip, double length) {
    const QPointF back = before - tip;
    const double distance = std::hypot(back.x(), back.y());
    return distance > length ? tip + back * (length / distance) : before;
}

void addArrow(QPainterPath& path, QPointF base, QPointF tip) {
    const QPointF side = QPointF(tip.y() - base.y(), base.x() - tip.x()) * 0.45;
    path.moveTo(tip);
    path.lineTo(base + side);
    path.lineTo(base - side);
    path.closeSubpath();
}

/// Adds a line through the points whose turns have this radius, or as much of it as there is room for.
void addRounded(QPainterPath& path, const QPolygonF& points, double radius) {
    path.moveTo(points.front());
    for (int i = 1; i + 1 < points.size(); ++i) {
        const QLineF in(points[i], points[i - 1]), out(points[i], points[i + 1]);
        const double round = std::min({radius, in.length() / 2, out.length() / 2});
        if (round < 1) {
            path.lineTo(points[i]);
        } else {
            path.lineTo(in.pointAt(round / in.length()));
            path.quadTo(points[i], out.pointAt(round / out.length()));
        }
    }
    path.lineTo(points.back());
}

/// Edges that are drawn with the same pen.
struct EdgeBatch {
    QPainterPath lines, arrows;

    EdgeBatch() { arrows.setFillRule(Qt::WindingFill); }  // arrow heads may overlap
};

QFont withPixels(QFont font, double pixels) {
    font.setHintingPreference(QFont::PreferNoHinting);  // makes widths proportional to the font size
    font.setPixelSize(std::max(1, static_cast<int>(pixels)));
    return font;
}

}  // namespace

bool GraphView::crosses(const GraphScene::Edge& edge) const {
    if (edge.links.empty()) return deviceOf(edge.from) != deviceOf(edge.to);
    return std::ranges::any_of(
        edge.links, [&](const auto& link) { return deviceOfOp(link.first) != deviceOfOp(link.second); });
}

/// `color`: invalid for what is not known.
GraphView::DeviceStyle GraphView::styleOf(const QColor& color) const {
    const QColor base = palette().color(QPalette::Base), text = palette().color(QPalette::Text);
    const QColor shown = color.isValid() ? color : mixedColor(base, text, 0.12F);
    return {QBrush(shown), shown, mixedColor(shown, text, 0.4F), readableOn(shown)};
}

GraphView::DeviceStyle GraphView::deviceStyle(DeviceId device) const {
    const bool known = m_machine && device < m_machine->devices().size();
    DeviceStyle style = styleOf(known ? deviceColor(*m_machine, device) : QColor());
    if (known) style.fill = deviceBrush(*m_machine, device);
    return style;
}

GraphView::DeviceStyle GraphView::inkStyle(std::uint32_t ink) const {
    return m_inks ? styleOf(m_inks->color(ink)) : deviceStyle(static_cast<DeviceId>(ink));
}

/// What a module's node is divided into; empty or one part: nothing.
std::vector<NodeInks::Part> GraphView::partsOf(std::uint32_t node) const {
    if (m_inks) return m_inks->partsOf(node);
    std::vector<NodeInks::Part> parts;
    for (const Share& share : m_shares[node])
        parts.push_back(
            {static_cast<std::uint32_t>(std::min<std::size_t>(share.device, inks() - 1)), share.part});
    return parts;
}

void GraphView::paintEdges(QPainter& painter, const QTransform& view, const QRectF& area,
                           const Detail& detail) const {
    const QColor base = palette().color(QPalette::Base), text = palette().color(QPalette::Text);
    // Edges within a device stay in the background; those between devices, which cost time, stand out.
    const float faint = isDark(palette()) ? 0.58F : 0.68F;
    std::array colors{mixedColor(text, base, faint), mixedColor(text, base, detail.edgeStyles ? 0.1F : 0.4F)};
    const auto colorOf = [&](bool crosses, bool dimmed) {
        return dimmed ? mixedColor(colors[crosses], base, 0.7F) : colors[crosses];
    };
    const auto dimmed = [&](const GraphScene::Edge& edge) {
        return isDimmed(edge.from) || isDimmed(edge.to);
    };
    const QRectF reach = area.adjusted(-8, -8, 8, 8);
    const QRectF visible = view.inverted().mapRect(reach);

    if (!detail.edgeStyles) {
        // By 2 * crosses + !dimmed and drawn in this order: the most important last.
        std::array<QVector<QLineF>, 4> lines;
        std::size_t count = 0;
        for (const auto& edge : m_scene->edges) count += edge.box.intersects(visible);
        const std::size_t step = 1 + count / kEdgesFromAfar;
        std::size_t seen = 0;
        for (const auto& edge : m_scene->edges) {
            if (!edge.box.intersects(visible)) continue;
            const bool cross = crosses(edge);
            if (!cross && seen++ % step != 0) continue;
            auto& into = lines[2 * std::size_t{cross} + !dimmed(edge)];
            QPointF last = view.map(edge.line.front());
            for (int i = 1; i < edge.line.size(); ++i) {
                const QPointF next = view.map(edge.line[i]);
                if (i + 1 < edge.line.size() && (next - last).manhattanLength() < 3) continue;
                into.append(QLineF(last, next));
                last = next;
            }
        }
        // Edges fade where they would fill the view, so that the nodes stay visible.
        double length = 0;
        for (const auto& some : lines) {
            for (const QLineF& line : some) length += line.length();
        }
        const float full = lineDensity(length, area.size());
        colors = {mixedColor(colors[0], base, 0.65F * full), mixedColor(colors[1], base, 0.5F * full)};
        painter.setRenderHint(QPainter::Antialiasing, false);
        for (std::size_t style = 0; style < lines.size(); ++style) {
            painter.setPen(QPen(colorOf(style >= 2, style % 2 == 0), 0));
            painter.drawLines(lines[style]);
        }
        return;
    }

    std::array<EdgeBatch, 4 * kEdgeWidths.size()> styles;
    const double thickness = std::clamp(detail.scale, 0.6, 1.6);
    for (const auto& edge : m_scene->edges) {
        if (!edge.box.intersects(visible)) continue;
        const std::size_t step = widthStep(edge.bytes);
        auto& style = styles[(2 * std::size_t{crosses(edge)} + !dimmed(edge)) * kEdgeWidths.size() + step];
        const QPointF tip = view.map(edge.line.back());
        const QPointF before = view.map(edge.line[edge.line.size() - 2]);
        const QPointF end =
            detail.arrows ? arrowBase(before, tip, (4 + 1.6 * kEdgeWidths[step]) * thickness) : tip;
        QPolygonF points = view.map(edge.line);
        points.back() = end;
        addRounded(style.lines, points, kTurnRadius * detail.scale);
        if (detail.arrows) addArrow(style.arrows, end, tip);
    }
    painter.setRenderHint(QPainter::Antialiasing);
    for (std::size_t i = 0; i < styles.size(); ++i) {
        if (styles[i].lines.isEmpty()) continue;
        const std::size_t kind = i / kEdgeWidths.size();
        const QColor color = colorOf(kind >= 2, kind % 2 == 0);
        QPen pen(color, kEdgeWidths[i % kEdgeWidths.size()] * thickness, Qt::SolidLine, Qt::FlatCap,
                 Qt::RoundJoin);
        if (kind >= 2) pen.setDashPattern({6 / pen.widthF() * thickness, 4 / pen.widthF() * thickness});
        painter.strokePath(styles[i].lines, pen);
        painter.fillPath(styles[i].arrows, color);
    }
}

void GraphView::paintNodes(QPainter& painter, const QTransform& view, const std::vector<std::uint32_t>& nodes,
                           const Detail& detail) const {
    std::vector<QVector<QRectF>> groups(2 *
                                        inks());  // by ink (last: of no device or value) and whether dimmed
    const double least = 1 / painter.device()->devicePixelRatioF();
    if (detail.rounded) paintStacks(painter, view, nodes, detail);
    for (const std::uint32_t node : nodes) {
        QRectF shown = rectInView(node, view);
        if (shown.height() < least) shown.setHeight(least);
        if (shown.width() < least) shown.setWidth(least);
        groups[2 * std::size_t{inkOf(node)} + isDimmed(node)].append(shown);
    }
    const QColor base = palette().color(QPalette::Base);
    const double radius = 0.22 * detail.scale * m_scene->nodes.front().rect.height();
    const bool withoutTextures = painter.paintEngine()->type() == QPaintEngine::SVG;
    painter.setRenderHint(QPainter::Antialiasing, detail.rounded);
    for (std::size_t group = 0; group < groups.size(); ++group) {
        if (groups[group].isEmpty()) continue;
        const bool dimmed = group % 2 != 0;
        const DeviceStyle style = inkStyle(static_cast<std::uint32_t>(group / 2));
        painter.setBrush(dimmed            ? QBrush(mixedColor(style.color, base, 0.8F))
                         : withoutTextures ? QBrush(style.color)
                                           : style.fill);
        if (!detail.rounded) {
            painter.setPen(Qt::NoPen);
            painter.drawRects(groups[group]);
            continue;
        }
        painter.setPen(QPen(dimmed ? mixedColor(style.border, base, 0.7F) : style.border,
                            std::clamp(detail.scale, 0.5, 1.5)));
        for (const QRectF& shown : groups[group]) painter.drawRoundedRect(shown, radius, radius);
        if (!withoutTextures || dimmed || m_inks || group / 2 + 1 >= inks()) continue;
        painter.setPen(QPen(hatchColor(style.color), 1));
        for (const QRectF& shown : groups[group]) {
            const double inset = 0.3 * radius;  // keeps clear of the round corners
            painter.drawLines(deviceHatch(*m_machine, static_cast<DeviceId>(group / 2),
                                          shown.adjusted(inset, inset, -inset, -inset)));
        }
    }
    for (const std::uint32_t node : nodes) {
        if (m_scene->nodes[node].isModule()) paintParts(painter, rectInView(node, view), node, detail);
    }
}

/// Draws a module as a stack: two more edges show below its node.
void GraphView::paintStacks(QPainter& painter, const QTransform& view,
                            const std::vector<std::uint32_t>& nodes, const Detail& detail) const {
    painter.setRenderHint(QPainter::Antialiasing);
    const double step = 2.5 * detail.scale,
                 radius = 0.22 * detail.scale * m_scene->nodes.front().rect.height();
    for (const std::uint32_t node : nodes) {
        if (!m_scene->nodes[node].isModule()) continue;
        const DeviceStyle style = inkStyle(inkOf(node));
        const QColor base = palette().color(QPalette::Base);
        painter.setPen(QPen(isDimmed(node) ? mixedColor(style.border, base, 0.7F) : style.border,
                            std::clamp(detail.scale, 0.5, 1.5)));
        painter.setBrush(mixedColor(style.color, base, isDimmed(node) ? 0.9F : 0.6F));
        const QRectF shown = rectInView(node, view);
        for (const int depth : {2, 1}) {
            const double inset = 2 * step * depth;
            painter.drawRoundedRect(shown.adjusted(inset, step * depth, -inset, step * depth), radius,
                                    radius);
        }
    }
}

/// Widths of the parts of a node: their shares, but no part is too narrow to be seen. The wider parts give
/// what those need.
std::vector<double> GraphView::partWidths(const std::vector<NodeInks::Part>& parts, double width) {
    constexpr double kLeast = 4;  // pixels
    const double least = std::min(kLeast, 0.5 * width / static_cast<double>(parts.size()));
    double wide = 0, needed = 0;
    for (const NodeInks::Part& part : parts) {
        const double own = part.part * width;
        own < least ? needed += least - own : wide += own - least;
    }
    const double given = wide > 0 ? needed / wide : 0;
    std::vector<double> widths;
    for (const NodeInks::Part& part : parts) {
        const double own = part.part * width;
        widths.push_back(own < least ? least : own - given * (own - least));
    }
    return widths;
}

/// The part that takes most of a node, if one does.
std::optional<GraphView::Section> GraphView::mainPart(std::uint32_t node, const QRectF& shown) const {
    constexpr double kMost = 0.6;
    const std::vector<NodeInks::Part> parts = partsOf(node);
    const std::vector<double> widths = partWidths(parts, shown.width());
    const auto main = static_cast<std::size_t>(std::ranges::max_element(widths) - widths.begin());
    if (widths[main] < kMost * shown.width()) return {};
    const double left =
        std::accumulate(widths.begin(), widths.begin() + static_cast<std::ptrdiff_t>(main), shown.left());
    return Section{QRectF(left, shown.top(), widths[main], shown.height()), parts[main].ink};
}

/// Fills the node of a module in proportion to its parts: the devices by their shares of its time, or the
/// kinds of its ops. Values have only a stripe at the lower edge.
void GraphView::paintParts(QPainter& painter, const QRectF& shown, std::uint32_t node,
                           const Detail& detail) const {
    const std::vector<NodeInks::Part> parts = partsOf(node);
    if (parts.size() < 2) return;
    const bool areValues = m_inks && !m_inks->hasCategories();
    const double top = areValues ? shown.bottom() - kStripe * shown.height() : shown.top();
    const QColor base = palette().color(QPalette::Base);
    const bool dimmed = isDimmed(node), withoutTextures = painter.paintEngine()->type() == QPaintEngine::SVG;
    const double radius = detail.rounded ? 0.22 * shown.height() : 0;
    QPainterPath outline;
    outline.addRoundedRect(shown, radius, radius);
    double left = shown.left();
    std::vector<double> widths;
    if (!areValues) widths = partWidths(parts, shown.width());
    painter.setRenderHint(QPainter::Antialiasing, detail.rounded);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const DeviceStyle style = inkStyle(parts[i].ink);
        QPainterPath part;
        // The stripe of values is their distribution.
        const double width = areValues ? parts[i].part * shown.width() : widths[i];
        part.addRect(QRectF(left, top, width, shown.bottom() - top));
        painter.fillPath(detail.rounded ? outline.intersected(part) : part,
                         dimmed            ? QBrush(mixedColor(style.color, base, 0.8F))
                         : withoutTextures ? QBrush(style.color)
                                           : style.fill);
        left += width;
    }
    if (!detail.rounded) return;
    const DeviceStyle style = inkStyle(inkOf(node));
    painter.strokePath(outline, QPen(dimmed ? mixedColor(style.border, base, 0.7F) : style.border,
                                     std::clamp(detail.scale, 0.5, 1.5)));
}

double GraphView::labelWidth(std::uint32_t node) const {
    float& width = m_labelWidths[node];
    if (width < 0)
        width = static_cast<float>(
            QFontMetricsF(withPixels(font(), kMeasuredAt)).horizontalAdvance(m_scene->nodes[node].label));
    return width;
}

/// The label after as many of its innermost modules as fit: "Mixed_5b/branch1x1 conv"; empty if none fits.
QString GraphView::scopedLabel(std::uint32_t node, const QFontMetricsF& metrics, double width) const {
    const QString& scope = m_scene->nodes[node].scope;
    if (scope.isEmpty()) return {};
    for (int parts = kMostScopes; parts > 0; --parts) {
        const QString tail = scope.section(QLatin1Char('/'), -parts);
        if (parts > 1 && tail == scope.section(QLatin1Char('/'), 1 - parts)) continue;
        const QString text = tail + QLatin1Char(' ') + m_scene->nodes[node].label;
        if (metrics.horizontalAdvance(text) <= width) return text;
    }
    return {};
}

void GraphView::paintLabels(QPainter& painter, const QTransform& view,
                            const std::vector<std::uint32_t>& nodes, const Detail& detail) const {
    const QColor base = palette().color(QPalette::Base), text = palette().color(QPalette::Text);
    const double nodeHeight = detail.scale * m_scene->nodes.front().rect.height();
    // Labels stop growing at a readable size; zooming in further gives room for longer names.
    const double largest = kLargestLabel * QFontInfo(font()).pixelSize();
    const QFont kindFont = withPixels(font(), std::min(nodeHeight * 0.27, 0.75 * largest));
    const QFontMetricsF kindMetrics(kindFont);
    std::vector<QColor> colors;
    for (std::uint32_t ink = 0; ink < inks(); ++ink) colors.push_back(inkStyle(ink).text);
    QColor plate = base;
    plate.setAlphaF(0.75F);
    const auto draw = [&](const QString& line, const QFontMetricsF& metrics, double natural,
                          const QRectF& room, bool onPlate) {
        const bool fits = natural <= room.width();
        const QString shown = fits ? line : metrics.elidedText(line, Qt::ElideMiddle, room.width());
        if (!fits && shown.size() <= 1) return;  // a mere ellipsis
        const double width = fits ? natural : metrics.horizontalAdvance(shown);
        if (onPlate) {
            QRectF behind(0, 0, width + 0.5 * metrics.ascent(),
                          std::min(metrics.ascent() + metrics.descent(), room.height()));
            // The devices of a small node matter more than its name.
            if (2 * behind.width() * behind.height() > room.width() * room.height() && !detail.kinds) return;
            behind.moveCenter(room.center());
            painter.fillRect(behind, plate);
        }
        painter.drawText(QPointF(room.center().x() - width / 2,
                                 room.center().y() + (metrics.ascent() - metrics.descent()) / 2),
                         shown);
    };
    struct Place {
        std::uint32_t node;
        QRectF room;
        QColor pen;
        bool onPlate;
    };
    std::vector<Place> places;
    for (const std::uint32_t node : nodes) {
        QRectF rect = rectInView(node, view);
        std::uint32_t ink = inkOf(node);
        const bool isDivided =
            m_inks ? m_inks->hasCategories() && m_inks->partsOf(node).size() > 1 : m_shares[node].size() > 1;
        // The label of a divided node stands on its main part. Without one it needs a plate: no text colour
        // is readable on all device colours.
        const auto main = isDivided ? mainPart(node, rect) : std::nullopt;
        if (main) std::tie(rect, ink) = std::tie(main->rect, main->ink);
        const bool onPlate = isDivided && !main;
        const double margin = std::min(3 * detail.scale, 0.06 * rect.width());
        places.push_back({node, rect.adjusted(margin, 0, -margin, 0),
                          isDimmed(node) ? mixedColor(text, base, 0.6F)
                          : onPlate      ? text
                                         : colors[ink],
                          onPlate});
    }

    // Nodes by the size of their labels: short labels are larger.
    constexpr std::array kShares{0.48, 0.58, 0.68}, kSharesOverKinds{0.36, 0.36, 0.36};
    const auto& shares = detail.kinds ? kSharesOverKinds : kShares;
    std::map<int, std::vector<const Place*>, std::greater<>> bySize;
    for (const Place& place : places) {
        int size = 1;
        for (const double share : shares) {
            const int larger = std::max(1, static_cast<int>(std::min(nodeHeight * share, largest)));
            if (size == 1 || labelWidth(place.node) * larger / kMeasuredAt <= place.room.width())
                size = larger;
        }
        // Short labels that are shortened say nothing, such as the numbers of steps.
        const int fitting = static_cast<int>(place.room.width() * kMeasuredAt / labelWidth(place.node));
        if (fitting < size && fitting >= kSmallestShortLabel && fitting >= 0.6 * size) size = fitting;
        bySize[size].push_back(&place);
    }
    for (const auto& [size, sized] : bySize) {
        const QFont labelFont = withPixels(font(), size);
        const QFontMetricsF metrics(labelFont);
        painter.setFont(labelFont);
        for (const Place* place : sized) {
            QRectF room = place->room;
            if (detail.kinds) room.adjust(0, 0.1 * room.height(), 0, -0.42 * room.height());
            painter.setPen(place->pen);
            if (const QString scoped =
                    detail.kinds ? scopedLabel(place->node, metrics, room.width()) : QString();
                !scoped.isEmpty()) {
                draw(scoped, metrics, metrics.horizontalAdvance(scoped), room, place->onPlate);
            } else {
                draw(m_scene->nodes[place->node].label, metrics, labelWidth(place->node) * size / kMeasuredAt,
                     room, place->onPlate);
            }
        }
    }
    if (!detail.kinds) return;
    painter.setFont(kindFont);
    for (const Place& place : places) {
        const QString& kind = m_scene->nodes[place.node].detail;
        QRectF room = place.room;
        room.adjust(0, 0.56 * room.height(), 0, -0.08 * room.height());
        painter.setPen(place.pen);
        draw(kind, kindMetrics, kindMetrics.horizontalAdvance(kind), room, place.onPlate);
    }
}

/// Writes the names of recurrent layers over the left ends of their rows, or over their columns.
void GraphView::paintLayerNames(QPainter& painter, const QTransform& view) const {
    const bool right = m_scene->room.direction == LayoutRoom::Direction::right;
    const double usual = QFontInfo(font()).pixelSize();
    // The names of rows stand between the rows.
    double room = usual;
    for (std::size_t layer = 1; right && layer < m_scene->layers.size(); ++layer) {
        const QRectF &above = m_scene->layers[layer - 1].rect, &rect = m_scene->layers[layer].rect;
        room = std::min(room, (rect.top() - above.bottom()) * view.m22());
    }
    if (room < 0.6 * kSmallestLabel) return;
    const QFont nameFont = withPixels(font(), std::max<double>(room, kSmallestLabel));
    const QFontMetricsF metrics(nameFont);
    QColor plate = palette().color(QPalette::Base);
    plate.setAlphaF(0.8F);
    painter.setFont(nameFont);
    painter.setPen(mutedColor(palette()));
    for (const GraphScene::Layer& layer : m_scene->layers) {
        const QRectF shown = view.mapRect(layer.rect);
        const QString name = metrics.elidedText(layer.name, Qt::ElideMiddle, shown.width() + 0.5 * usual);
        const QRectF place(shown.left(), shown.top() - metrics.ascent() - 1,
                           metrics.horizontalAdvance(name) + 1, metrics.ascent());
        painter.fillRect(place, plate);
        painter.drawText(place.bottomLeft(), name);
    }
}

GraphView::Detail GraphView::detailAt(const QTransform& view, const QRectF& area) const {
    if (!m_scene || m_scene->nodes.empty()) return {};
    const std::size_t nodes = m_scene->nodesIn(view.inverted().mapRect(area)).size();
    const double height = m_scene->nodes.front().rect.height() * view.m11();
    Detail detail;
    detail.scale = view.m11();
    detail.rounded = height >= 6 && nodes <= 2500;
    detail.labels = height >= 10 && nodes <= 2500;
    detail.kinds = height >= 36;
    detail.edgeStyles = height >= 6 && nodes <= 1500;
    detail.arrows = height >= 10 && nodes <= 1500;
    return detail;
}

void GraphView::paintLayer(QPainter& painter, const QTransform& view, const QRectF& area,
                           const Detail& detail) const {
    painter.fillRect(area, palette().color(QPalette::Base));
    if (!m_scene || m_scene->nodes.empty()) return;
    const auto nodes = m_scene->nodesIn(view.inverted().mapRect(area.adjusted(-8, -8, 8, 8)));
    paintEdges(painter, view, area, detail);
    paintNodes(painter, view, nodes, detail);
    if (detail.labels) paintLabels(painter, view, nodes, detail);
    if (detail.rounded && !m_pinned.empty()) paintPadlocks(painter, view, nodes, detail);
    paintLayerNames(painter, view);
}

/// Hangs a padlock on the upper right corner of each node with a pinned op, where it hides no label.
void GraphView::paintPadlocks(QPainter& painter, const QTransform& view,
                              const std::vector<std::uint32_t>& nodes, const Detail& detail) const {
    const std::vector<bool> pinned = nodesOf(m_pinned);
    const double size = std::clamp(0.34 * detail.scale * m_scene->nodes.front().rect.height(), 6.0, 16.0);
    const QColor ink = palette().color(QPalette::Text), base = palette().color(QPalette::Base);
    painter.setRenderHint(QPainter::Antialiasing);
    for (const std::uint32_t node : nodes) {
        if (!pinned[node]) continue;
        const QPointF corner = rectInView(node, view).topRight();
        const QRectF body(corner.x() - 0.7 * size, corner.y() - 0.15 * size, size, 0.7 * size);
        const QRectF shackle(body.center().x() - 0.28 * size, body.top() - 0.42 * size, 0.56 * size,
                             0.84 * size);
        QPainterPath path;
        path.arcMoveTo(shackle, 0);
        path.arcTo(shackle, 0, 180);
        painter.setBrush(Qt::NoBrush);
        // A rim in the background colour keeps it visible on any node colour.
        for (const auto& [color, width] : {std::pair(base, 0.38), std::pair(ink, 0.14)}) {
            painter.setPen(QPen(color, width * size));
            painter.drawPath(path);
        }
        painter.setPen(QPen(base, 0.12 * size));
        painter.setBrush(ink);
        painter.drawRoundedRect(body, 0.14 * size, 0.14 * size);
    }
}

void GraphView::updateLayer() {
    const double ratio = devicePixelRatioF();
    const QSize pixels = (QSizeF(size()) * ratio).toSize();
    const QPointF shift = QPointF(m_view.dx() - m_layerView.dx(), m_view.dy() - m_layerView.dy()) * ratio;
    const QPoint whole = shift.toPoint();
    const bool usable = m_layerValid && m_layer.size() == pixels && m_layer.devicePixelRatio() == ratio;
    if (usable && m_view == m_layerView) return;
    const Detail detail = detailAt(m_view, rect());
    const bool wholePixels = (shift - whole).manhattanLength() < 1e-6;
    const bool overlaps = std::abs(whole.x()) < pixels.width() && std::abs(whole.y()) < pixels.height();
    const bool moves = usable && detail == m_layerDetail && wholePixels && overlaps;
    QRegion exposed(QRect(QPoint(), pixels));
    if (moves) {
        exposed = QRegion();
        m_layer.scroll(whole.x(), whole.y(), m_layer.rect(), &exposed);
    } else if (m_layer.size() != pixels) {
        m_layer = QPixmap(pixels);
    }
    m_layer.setDevicePixelRatio(ratio);
    QPainter painter(&m_layer);
    for (const QRect& strip : exposed) {
        const QRectF area(QPointF(strip.topLeft()) / ratio, QSizeF(strip.size()) / ratio);
        painter.setClipRect(area);
        paintLayer(painter, m_view, area, detail);
    }
    m_layerView = m_view;
    m_layerDetail = detail;
    m_layerValid = true;
}

/// Outlines the nodes with marked ops, closely, so that the outline of a selection fits around.
void GraphView::paintMarked(QPainter& painter, double nodeHeight) const {
    if (m_marked.empty()) return;
    const std::vector<bool> marked = nodesOf(m_marked);
    QVector<QRectF> rects;
    for (std::uint32_t node = 0; node < marked.size(); ++node) {
        const QRectF shown = rectInView(node, m_view);
        if (marked[node] && shown.intersects(rect())) rects.append(shown.adjusted(-1, -1, 1, 1));
    }
    painter.setRenderHint(QPainter::Antialiasing, rects.size() < 500);
    painter.setPen(QPen(palette().color(QPalette::Text), nodeHeight >= kOutlinedFrom ? 2 : 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRects(rects);
}

void GraphView::paintMarks(QPainter& painter) const {
    const QColor base = palette().color(QPalette::Base), text = palette().color(QPalette::Text),
                 highlight = palette().color(QPalette::Highlight);
    const QRectF area = QRectF(rect()).adjusted(-8, -8, 8, 8);
    const double nodeHeight = m_layerDetail.scale * m_scene->nodes.front().rect.height();
    const std::vector<std::uint32_t> nodes = selectedNodes();
    if (nodeHeight < kOutlinedFrom && !nodes.empty()) {
        // Outlines would hide the colours of such small nodes: instead, all else fades.
        QColor veil = base;
        veil.setAlphaF(0.7F);
        painter.fillRect(rect(), veil);
        paintNodes(painter, m_view, nodes, m_layerDetail);
        if (m_layerDetail.labels) paintLabels(painter, m_view, nodes, m_layerDetail);
    }
    painter.setBrush(Qt::NoBrush);
    if (m_hovered >= 0) {
        const auto node = static_cast<std::uint32_t>(m_hovered);
        QPainterPath path;
        for (const auto& edge : m_scene->edges) {
            if (edge.from != node && edge.to != node) continue;
            path.addPolygon(m_view.map(
                edge.stub ? QPolygonF({m_scene->outPort(edge.from), m_scene->inPort(edge.to)}) : edge.line));
        }
        painter.setRenderHint(QPainter::Antialiasing);
        painter.strokePath(path, QPen(highlight, 2, Qt::SolidLine, Qt::FlatCap, Qt::RoundJoin));
    }
    paintMarked(painter, nodeHeight);
    QVector<QRectF> selected, partly;
    for (const std::uint32_t node : nodes) {
        const QRectF shown = rectInView(node, m_view);
        if (shown.intersects(area)) (isSelected(node) ? selected : partly).append(shown);
    }
    const auto outline = [&](const QPen& pen, double distance) {
        painter.setPen(pen);
        QVector<QRectF> rects = selected;
        for (QRectF& shown : rects) shown.adjust(-distance, -distance, distance, distance);
        painter.drawRects(rects);
    };
    painter.setRenderHint(QPainter::Antialiasing, selected.size() < 500);
    if (nodeHeight >= kOutlinedFrom) {
        // A ring in the background colour between node and outline keeps it visible on any node colour.
        outline(QPen(base, 2, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin), 1.25);
        outline(QPen(highlight, 3, Qt::SolidLine, Qt::SquareCap, Qt::RoundJoin), 3.25);
    } else if (nodeHeight >= kHairlineFrom) {
        outline(QPen(text, 1), 1);
    }
    // These modules are partly selected.
    for (QRectF& shown : partly) shown.adjust(-2.5, -2.5, 2.5, 2.5);
    painter.setPen(QPen(highlight, 2, Qt::DashLine, Qt::FlatCap));
    painter.drawRects(partly);
    if (m_hovered >= 0) {
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(text, 1.5));
        const QRectF shown = rectInView(static_cast<std::uint32_t>(m_hovered), m_view).adjusted(-1, -1, 1, 1);
        painter.drawRoundedRect(shown, 0.22 * shown.height(), 0.22 * shown.height());
    }
    if (m_gesture == Gesture::band) {
        QColor fill = highlight;
        fill.setAlpha(50);
        painter.setRenderHint(QPainter::Antialiasing, false);
        painter.setPen(highlight);
        painter.setBrush(fill);
        painter.drawRect(band());
    }
}

/// Draws the legend of the colours into the corner where it hides the fewest nodes of a graph that is shown
/// as a whole; of others, always into the same one, so that it does not jump while they are moved.
void GraphView::paintLegend(QPainter& painter, const QTransform& view, const QRectF& area, bool whole) const {
    if (!m_inks || !m_scene || m_scene->nodes.empty()) return;
    painter.setFont(font());
    const auto rectIn = [&](Qt::Corner corner) { return m_inks->legendRect(painter.font(), area, corner); };
    Qt::Corner best = Qt::BottomLeftCorner;
    if (whole) {
        const auto hidden = [&](Qt::Corner corner) {
            return m_scene->nodesIn(view.inverted().mapRect(rectIn(corner))).size();
        };
        for (const Qt::Corner corner : {Qt::TopLeftCorner, Qt::BottomRightCorner, Qt::TopRightCorner})
            if (hidden(corner) < hidden(best)) best = corner;
    }
    m_inks->paintLegend(painter, rectIn(best), palette());
}

void GraphView::paintEvent(QPaintEvent*) {
    updateLayer();
    QPainter painter(this);
    painter.drawPixmap(QPointF(0, 0), m_layer);
    if (m_scene && !m_scene->nodes.empty()) {
        paintMarks(painter);
        paintLegend(painter, m_view, room(m_view.m11()), isFitted());
    } else {
        painter.setPen(mutedColor(palette()));
        painter.drawText(rect().adjusted(24, 24, -24, -24), Qt::AlignCenter | Qt::TextWordWrap, m_emptyText);
    }
    if (hasFocus()) {
        painter.setRenderHint(QPainter::Antialiasing, false);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(
            mixedColor(palette().color(QPalette::Base), palette().color(QPalette::Highlight), 0.6F));
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
}

void GraphView::renderWhole(QPainter& painter, const QRectF& target) const {
    painter.save();
    const double scale = m_scene ? fittingScale(wholeSize(), target.size()) : 1;
    const QPointF translation = m_scene ? target.center() - m_scene->bounds.center() * scale : QPointF();
    const QTransform view(scale, 0, 0, scale, translation.x(), translation.y());
    painter.setClipRect(target, Qt::IntersectClip);
    paintLayer(painter, view, target, detailAt(view, target));
    paintLegend(painter, view, target, true);
    painter.restore();
}

}  // namespace placewright
