// SPDX-License-Identifier: MIT
#include "widgets/node_colors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QLinearGradient>
#include <QPainter>
#include <QPalette>

#include "widgets/heat_map.hpp"
#include "widgets/palette.hpp"
#include "widgets/quantities.hpp"

namespace placewright {
namespace {

constexpr std::uint32_t kGradientInks = 64;
constexpr int kCategoryInks = 8;  ///< what is seriesColor()ed differently
// Sizes in the legend, in lines of its text.
constexpr double kLegendGap = 0.4, kLegendSwatch = 0.75, kLegendBar = 0.7;
constexpr QRgb kOtherCategories = 0xff7a7a7a;

struct NodeColorsText {
    Q_DECLARE_TR_FUNCTIONS(NodeColors)
};

QColor between(const std::vector<std::pair<double, QColor>>& stops, double share) {
    if (share <= stops.front().first) return stops.front().second;
    for (std::size_t i = 1; i < stops.size(); ++i) {
        const auto& [from, before] = stops[i - 1];
        const auto& [to, after] = stops[i];
        if (share <= to)
            return to > from ? mixedColor(before, after, static_cast<float>((share - from) / (to - from)))
                             : after;
    }
    return stops.back().second;
}

}  // namespace

NodeInks::NodeInks(std::shared_ptr<const NodeColors> colors, const GraphScene& scene)
    : m_colors(std::move(colors)) {
    const std::size_t nodes = scene.nodes.size();
    m_values.assign(nodes, std::numeric_limits<double>::quiet_NaN());
    m_least = std::numeric_limits<double>::infinity();
    m_largest = -m_least;
    for (std::size_t node = 0; node < nodes; ++node) {
        double sum = 0;
        std::size_t count = 0;
        for (const OpId op : scene.nodes[node].ops()) {
            if (op >= m_colors->values.size() || std::isnan(m_colors->values[op])) continue;
            sum += m_colors->values[op];
            ++count;
        }
        if (count == 0) {
            m_lacks = true;
            continue;
        }
        m_values[node] = m_colors->sums ? sum : sum / static_cast<double>(count);
        m_least = std::min(m_least, m_values[node]);
        m_largest = std::max(m_largest, m_values[node]);
    }
    // Amounts begin at nothing: only so is half the way up the scale half of the largest.
    if (m_colors->sums && m_least > 0) m_least = 0;
    makeInks();
    m_inkOf.resize(nodes);
    m_parts.resize(nodes);
    for (std::uint32_t node = 0; node < nodes; ++node) {
        if (scene.nodes[node].isModule()) {
            colorModule(node, scene);
        } else {
            m_inkOf[node] = inkOfOp(scene.nodes[node].op);
        }
    }
}

void NodeInks::makeInks() {
    if (hasCategories()) {
        const auto shown = std::min<int>(kCategoryInks, static_cast<int>(m_colors->categories.size()));
        for (int i = 0; i < shown; ++i) m_inks.push_back(seriesColor(i));
        m_inks.emplace_back(kOtherCategories);
    } else if (!m_colors->thresholds.empty()) {
        for (const auto& [value, color] : m_colors->thresholds) m_inks.push_back(color);
    } else {
        QCPColorGradient usual = cividis();
        for (std::uint32_t i = 0; i < kGradientInks; ++i) {
            const double share = i / (kGradientInks - 1.0);
            m_inks.push_back(m_colors->gradient.empty() ? QColor(usual.color(share, QCPRange(0, 1)))
                                                        : between(m_colors->gradient, share));
        }
    }
    std::map<QRgb, std::uint32_t> known;
    for (std::size_t op = 0; op < m_colors->own.size(); ++op) {
        const QColor& color = m_colors->own[op];
        if (!color.isValid()) continue;
        const auto [entry, is_new] = known.try_emplace(color.rgb(), none());
        if (is_new) m_inks.push_back(color);
        if (m_own.empty()) m_own.assign(m_colors->own.size(), std::numeric_limits<std::uint32_t>::max());
        m_own[op] = entry->second;
    }
}

std::uint32_t NodeInks::inkOfValue(double value) const {
    if (std::isnan(value)) return none();
    if (hasCategories()) return static_cast<std::uint32_t>(std::clamp<double>(value, 0, kCategoryInks));
    if (!m_colors->thresholds.empty()) {
        const auto at =
            std::ranges::lower_bound(m_colors->thresholds, value, {}, &std::pair<double, QColor>::first);
        return at == m_colors->thresholds.end()
                   ? none()
                   : static_cast<std::uint32_t>(at - m_colors->thresholds.begin());
    }
    const double range = m_largest - m_least;
    const double share = range > 0 ? (value - m_least) / range : 1;
    return static_cast<std::uint32_t>(std::lround(std::clamp(share, 0.0, 1.0) * (kGradientInks - 1)));
}

std::uint32_t NodeInks::inkOfOp(OpId op) const {
    if (op < m_own.size() && m_own[op] < m_inks.size()) return m_own[op];
    return op < m_colors->values.size() ? inkOfValue(m_colors->values[op]) : none();
}

/// The parts are sorted by ink, so that the stripe of a module is its distribution. Amounts have the width of
/// their share, so that a few ops that take most of it are seen.
void NodeInks::colorModule(std::uint32_t node, const GraphScene& scene) {
    std::map<std::uint32_t, double> parts;
    double all = 0;
    for (const OpId op : scene.nodes[node].members) {
        const double value = op < m_colors->values.size() ? m_colors->values[op] : 0;
        const double part = m_colors->sums && !std::isnan(value) ? std::max(value, 0.0) : 1;
        parts[inkOfOp(op)] += part;
        all += part;
    }
    for (const auto& [ink, part] : parts) {
        if (all > 0 && part > 0) m_parts[node].push_back({ink, part / all});
    }
    if (hasCategories()) {
        std::ranges::stable_sort(m_parts[node], std::greater<>(), &Part::part);
        m_inkOf[node] = m_parts[node].empty() ? none() : m_parts[node].front().ink;
    } else {
        m_inkOf[node] = inkOfValue(m_values[node]);
    }
}

QString NodeInks::describe(std::uint32_t node) const {
    const QString title = m_colors->title.toHtmlEscaped();
    if (std::isnan(m_values[node])) return NodeColorsText::tr("%1: no value").arg(title);
    if (hasCategories()) return {};  // kinds are in the description of the op
    const QString value = m_colors->text(m_values[node]).toHtmlEscaped();
    if (m_parts[node].empty()) return NodeColorsText::tr("%1: %2").arg(title, value);
    return m_colors->sums ? NodeColorsText::tr("%1: %2 in total").arg(title, value)
                          : NodeColorsText::tr("%1: %2 on average").arg(title, value);
}

std::vector<NodeInks::Row> NodeInks::legendRows() const {
    std::vector<Row> rows;
    if (hasCategories()) {
        const QStringList& names = m_colors->categories;
        for (int i = 0; i < std::min<int>(kCategoryInks, static_cast<int>(names.size())); ++i)
            rows.push_back({m_inks[static_cast<std::size_t>(i)], names[i]});
        if (names.size() > kCategoryInks)
            rows.push_back({QColor(kOtherCategories),
                            NodeColorsText::tr("%1 other kinds").arg(names.size() - kCategoryInks)});
    }
    for (const auto& [value, color] : m_colors->thresholds)
        rows.push_back({color, QStringLiteral("≤ ") + m_colors->text(value)});
    if (m_lacks) rows.push_back({QColor(), NodeColorsText::tr("no value")});
    return rows;
}

bool NodeInks::hasScale() const {
    return isGradient() && m_least <= m_largest;
}

QRectF NodeInks::legendRect(const QFont& font, const QRectF& area, Qt::Corner corner) const {
    if (m_inkOf.empty()) return {};
    const QFontMetricsF metrics(font);
    const double line = metrics.height(), gap = kLegendGap * line;
    const std::vector<Row> rows = legendRows();
    double width = metrics.horizontalAdvance(m_colors->title);
    if (hasScale())
        width =
            std::max({width, 9 * line,
                      metrics.horizontalAdvance(m_colors->text(m_least) + m_colors->text(m_largest)) + line});
    for (const Row& row : rows)
        width = std::max(width, kLegendSwatch * line + gap + metrics.horizontalAdvance(row.text));
    width = std::min(std::ceil(width), area.width() - 4 * gap);
    const double height =
        line * (1 + static_cast<double>(rows.size())) + (hasScale() ? (1 + kLegendBar) * line : 0);
    if (width < 3 * line || height > area.height() / 2) return {};
    QRectF plate(0, 0, width + 2 * gap, height + 2 * gap);
    const QRectF inner = area.adjusted(gap, gap, -gap, -gap);
    switch (corner) {
        case Qt::TopLeftCorner:
            plate.moveTopLeft(inner.topLeft());
            break;
        case Qt::TopRightCorner:
            plate.moveTopRight(inner.topRight());
            break;
        case Qt::BottomLeftCorner:
            plate.moveBottomLeft(inner.bottomLeft());
            break;
        case Qt::BottomRightCorner:
            plate.moveBottomRight(inner.bottomRight());
            break;
    }
    return plate;
}

void NodeInks::paintLegend(QPainter& painter, const QRectF& plate, const QPalette& palette) const {
    if (plate.isEmpty()) return;
    const QFontMetricsF metrics(painter.font());
    const double line = metrics.height(), swatch = kLegendSwatch * line, gap = kLegendGap * line,
                 bar = kLegendBar * line, width = plate.width() - 2 * gap;
    const QColor base = palette.color(QPalette::Base), text = palette.color(QPalette::Text);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    QColor behind = base;
    behind.setAlphaF(0.92F);
    painter.setPen(QPen(mixedColor(base, text, 0.25F), 1));
    painter.setBrush(behind);
    painter.drawRoundedRect(plate, 4, 4);
    const double left = plate.left() + gap;
    double top = plate.top() + gap;
    painter.setPen(text);
    painter.drawText(QPointF(left, top + metrics.ascent()),
                     metrics.elidedText(m_colors->title, Qt::ElideMiddle, width));
    top += line;
    if (hasScale()) {
        const QString least = m_colors->text(m_least), largest = m_colors->text(m_largest);
        QLinearGradient gradient(left, 0, left + width, 0);
        for (std::uint32_t i = 0; i < kGradientInks; ++i)
            gradient.setColorAt(i / (kGradientInks - 1.0), m_inks[i]);
        painter.fillRect(QRectF(left, top + 0.15 * bar, width, 0.7 * bar), gradient);
        top += bar;
        painter.drawText(QPointF(left, top + metrics.ascent()), least);
        painter.drawText(QPointF(left + width - metrics.horizontalAdvance(largest), top + metrics.ascent()),
                         largest);
        top += line;
    }
    for (const Row& row : legendRows()) {
        const QColor color = row.color.isValid() ? row.color : mixedColor(base, text, 0.12F);
        painter.setPen(QPen(mixedColor(color, text, 0.4F), 1));
        painter.setBrush(color);
        painter.drawRoundedRect(QRectF(left + 0.5, top + (line - swatch) / 2, swatch - 1, swatch - 1), 2, 2);
        painter.setPen(text);
        painter.drawText(QPointF(left + swatch + gap, top + metrics.ascent()),
                         metrics.elidedText(row.text, Qt::ElideMiddle, width - swatch - gap));
        top += line;
    }
    painter.restore();
}

}  // namespace placewright
