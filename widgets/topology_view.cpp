// SPDX-License-Identifier: MIT
#include "widgets/topology_view.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include <QHelpEvent>
#include <QKeyEvent>
#include <QLineF>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include "widgets/palette.hpp"
#include "widgets/plain_text.hpp"
#include "widgets/quantities.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

constexpr qreal kGap = 10;                      ///< between boxes
constexpr qreal kRowGap = 4, kLeastWidth = 40;  ///< of rows, of boxes
constexpr qreal kReach = 6;                     ///< distance at which a click hits a line
constexpr int kLeastWithLegend = 170;           ///< height
constexpr std::size_t kMostLabelledOfSmall = 4;
constexpr std::size_t kMostLabelled = 10;  ///< links with their bandwidth beside them

qreal distanceTo(const QPolygonF& line, QPointF point) {
    qreal least = std::numeric_limits<qreal>::max();
    for (qsizetype i = 1; i < line.size(); ++i) {
        const QPointF along = line[i] - line[i - 1], to = point - line[i - 1];
        const qreal length2 = QPointF::dotProduct(along, along);
        const qreal share =
            length2 > 0 ? std::clamp(QPointF::dotProduct(along, to) / length2, 0.0, 1.0) : 0.0;
        least = std::min(least, QLineF(point, line[i - 1] + share * along).length());
    }
    return least;
}

}  // namespace

TopologyView::TopologyView(QWidget* parent) : QWidget(parent) {
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Devices and links of the machine"));
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
}

void TopologyView::setMachine(std::shared_ptr<const Machine> machine) {
    if (machine == m_machine) return;
    const std::vector<ChannelId> channels = selectedChannels();
    m_machine = std::move(machine);
    m_topology = m_machine ? topology_of(*m_machine) : Topology();
    m_kinds.clear();
    m_kindOf.clear();
    for (const Topology::Link& link : m_topology.links) {
        const Channel& channel = m_machine->channels()[link.channels.front()];
        const QString text = channel.model.empty() ? tr("Link") : toQString(channel.model);
        const double back = m_machine->channels()[link.channels.back()].bandwidth;
        auto kind = std::ranges::find_if(m_kinds, [&](const LinkKind& each) {
            return each.text == text && each.bandwidth == channel.bandwidth && each.back == back;
        });
        if (kind == m_kinds.end()) kind = m_kinds.insert(kind, {text, channel.bandwidth, back, 0});
        ++kind->links;
        m_kindOf.push_back(static_cast<std::size_t>(kind - m_kinds.begin()));
    }
    if (m_device && (!m_machine || *m_device >= m_machine->devices().size())) m_device.reset();
    m_link.reset();
    setSelectedChannels(channels);
    layOut();
    update();
}

void TopologyView::setSelectedDevice(std::optional<DeviceId> device) {
    if (m_device == device) return;
    m_device = device;
    update();
}

void TopologyView::setSelectedChannels(const std::vector<ChannelId>& channels) {
    m_link.reset();
    for (std::size_t i = 0; i < m_topology.links.size() && !m_link; ++i) {
        for (const ChannelId channel : channels) {
            if (std::ranges::find(m_topology.links[i].channels, channel) !=
                m_topology.links[i].channels.end())
                m_link = i;
        }
    }
    update();
}

std::vector<ChannelId> TopologyView::selectedChannels() const {
    return m_link ? m_topology.links[*m_link].channels : std::vector<ChannelId>();
}

/// CPUs stand in the middle of the picture if devices are linked with each other two by two, on a ring round
/// them; else in a row of their own above the others, with hubs below.
void TopologyView::placeNodes() {
    m_boxes.assign(m_topology.nodes.size(), {});
    if (!m_machine || m_topology.nodes.empty()) return;
    const QFontMetricsF metrics(font());
    const qreal line = metrics.height();
    // A small picture has no room for a legend; the tooltips say the same.
    const qreal lines = height() < kLeastWithLegend ? 0 : static_cast<qreal>(m_kinds.size());
    m_legend = QRectF(0, height() - line * lines - 4, width(), line * lines);
    const QRectF room = QRectF(rect()).adjusted(kGap, kGap, -kGap, -kGap - m_legend.height());
    std::vector<std::size_t> hosts, others, hubs;
    for (std::size_t i = 0; i < m_topology.nodes.size(); ++i) {
        const auto& device = m_topology.nodes[i].device;
        (!device ? hubs : m_machine->device(*device).kind == DeviceKind::cpu ? hosts : others).push_back(i);
    }
    const auto isOther = [&](std::size_t node) { return std::ranges::binary_search(others, node); };
    bool ring = others.size() > 2 && std::ranges::any_of(m_topology.links, [&](const auto& link) {
                    return isOther(link.a) && isOther(link.b);
                });
    qreal margin = 14, widest = 0, boxHeight = std::min(line + 10, room.height() / 4);
    const auto text = [&](std::size_t node) {
        return metrics.horizontalAdvance(toQString(m_topology.nodes[node].label)) + margin;
    };
    std::size_t rows = 0;  // of the others
    const auto countRows = [&] {
        widest = kLeastWidth;
        for (const std::size_t node : others) widest = std::max(widest, text(node));
        const auto each = std::max<std::size_t>(1, static_cast<std::size_t>(room.width() / (widest + 6)));
        rows = (others.size() + each - 1) / each;
    };
    countRows();
    const auto allRows = [&] {
        return static_cast<qreal>(rows + (hosts.empty() ? 0U : 1U) + (hubs.empty() ? 0U : 1U));
    };
    // A ring on which boxes would touch becomes rows; where these would touch, boxes are as small as names
    // allow.
    if (static_cast<qreal>(others.size()) * (widest + 4) > 2 * room.width() + 2 * room.height()) ring = false;
    if (!ring && allRows() * (boxHeight + kRowGap) > room.height()) {
        margin = 6;
        boxHeight = line + 2;
        countRows();
    }
    m_leastHeight = static_cast<int>(std::ceil(ring ? 0 : allRows() * (boxHeight + kRowGap) + 2 * kGap)) +
                    static_cast<int>(std::ceil(m_legend.height()));
    const auto putRow = [&](const std::vector<std::size_t>& row, std::size_t begin, std::size_t end,
                            qreal y) {
        const auto count = static_cast<qreal>(end - begin);
        const qreal cell = room.width() / count;
        for (std::size_t i = begin; i < end; ++i) {
            const qreal wide = std::min(std::max(widest, text(row[i])), cell - 4);
            m_boxes[row[i]] = QRectF(room.left() + cell * (static_cast<qreal>(i - begin) + 0.5) - wide / 2,
                                     y - boxHeight / 2, wide, boxHeight);
        }
    };
    if (ring) {
        std::vector<std::size_t> middle = hosts;
        middle.insert(middle.end(), hubs.begin(), hubs.end());
        for (std::size_t i = 0; i < middle.size(); ++i) {
            const qreal wide = text(middle[i]);
            const qreal y = room.center().y() + (boxHeight + 4) * (static_cast<qreal>(i) -
                                                                   static_cast<qreal>(middle.size() - 1) / 2);
            m_boxes[middle[i]] = QRectF(room.center().x() - wide / 2, y - boxHeight / 2, wide, boxHeight);
        }
        const auto count = static_cast<qreal>(others.size());
        for (std::size_t i = 0; i < others.size(); ++i) {
            // No two opposite devices of a usual ring have the middle exactly between them.
            const qreal angle =
                2 * std::numbers::pi * (static_cast<qreal>(i) + 0.5) / count - std::numbers::pi / 2;
            const QPointF centre(room.center().x() + std::cos(angle) * (room.width() - widest) / 2,
                                 room.center().y() + std::sin(angle) * (room.height() - boxHeight) / 2);
            m_boxes[others[i]] =
                QRectF(centre.x() - widest / 2, centre.y() - boxHeight / 2, widest, boxHeight);
        }
        return;
    }
    // Hosts stand between two halves of the others, where these need several rows.
    std::vector<std::function<void(qreal)>> put;
    const auto putOthers = [&](std::size_t row) {
        const std::size_t each = (others.size() + rows - 1) / rows;
        put.emplace_back([&, row, each](qreal y) {
            putRow(others, row * each, std::min(others.size(), (row + 1) * each), y);
        });
    };
    const std::size_t above = rows / 2;
    for (std::size_t row = 0; row < above; ++row) putOthers(row);
    if (!hosts.empty()) put.emplace_back([&](qreal y) { putRow(hosts, 0, hosts.size(), y); });
    for (std::size_t row = above; row < rows; ++row) putOthers(row);
    if (!hubs.empty()) put.emplace_back([&](qreal y) { putRow(hubs, 0, hubs.size(), y); });
    for (std::size_t i = 0; i < put.size(); ++i) {
        const qreal share =
            put.size() == 1 ? 0.5 : static_cast<qreal>(i) / static_cast<qreal>(put.size() - 1);
        put[i](room.top() + boxHeight / 2 + share * (room.height() - boxHeight));
    }
}

void TopologyView::layOut() {
    const int before = m_leastHeight;
    placeNodes();
    routeLinks();
    if (m_leastHeight != before) updateGeometry();
}

/// Of several bends the least that leads round all other boxes.
void TopologyView::routeLinks() {
    constexpr int kPieces = 16;
    m_lines.clear();
    for (const Topology::Link& link : m_topology.links) {
        const QPointF from = m_boxes[link.a].center(), to = m_boxes[link.b].center();
        const QPointF across(from.y() - to.y(), to.x() - from.x());
        QPolygonF straight;
        QPolygonF found;
        for (qreal bend : {0.0, 0.06, -0.06, 0.1, -0.1, 0.16, -0.16, 0.25, -0.25, 0.4, -0.4, 0.7, -0.7}) {
            // Lines that cross in the middle pass a box there on both sides.
            if (m_lines.size() % 2 == 1) bend = -bend;
            const QPointF control = (from + to) / 2 + across * bend;
            QPolygonF line;
            for (int i = 0; i <= kPieces; ++i) {
                const qreal t = static_cast<qreal>(i) / kPieces, s = 1 - t;
                line << s * s * from + 2 * s * t * control + t * t * to;
            }
            if (straight.isEmpty()) straight = line;
            const bool isFree = std::ranges::all_of(line, [&](QPointF point) {
                for (std::size_t node = 0; node < m_boxes.size(); ++node) {
                    if (node != link.a && node != link.b &&
                        m_boxes[node].adjusted(-4, -4, 4, 4).contains(point))
                        return false;
                }
                return QRectF(rect()).contains(point);
            });
            if (!isFree) continue;
            found = line;
            break;
        }
        m_lines.push_back(found.isEmpty() ? straight : found);
    }
}

QPointF TopologyView::pointOf(ChannelId channel) const {
    for (std::size_t i = 0; i < m_topology.links.size(); ++i) {
        const auto& channels = m_topology.links[i].channels;
        if (std::ranges::find(channels, channel) == channels.end()) continue;
        // Where other links and boxes are not in the way.
        for (const qreal share : {0.5, 0.375, 0.625, 0.25, 0.75}) {
            const QPointF point = m_lines[i][std::lround(share * static_cast<qreal>(m_lines[i].size() - 1))];
            if (!deviceAt(point) && linkAt(point) == i) return point;
        }
        return m_lines[i][m_lines[i].size() / 2];
    }
    return {};
}

QColor TopologyView::kindColor(std::size_t kind) const {
    // Series colours are those of GPUs; links are told apart by their shade and width.
    const float share =
        m_kinds.size() < 2 ? 0.5F : 0.7F * static_cast<float>(kind) / static_cast<float>(m_kinds.size() - 1);
    return mixedColor(palette().color(QPalette::Text), palette().color(QPalette::Base), share);
}

qreal TopologyView::kindWidth(std::size_t kind) const {
    double least = m_kinds.front().bandwidth;
    for (const LinkKind& each : m_kinds) least = std::min(least, each.bandwidth);
    return std::min(6.0, 1.2 + std::log2(std::max(1.0, m_kinds[kind].bandwidth / least)));
}

QString TopologyView::bandwidthText(std::size_t kind) const {
    const LinkKind& of = m_kinds[kind];
    const QString there = tr("%1/s").arg(bytesText(of.bandwidth));
    return unbroken(of.back == of.bandwidth ? there : tr("%1, back %2/s").arg(there, bytesText(of.back)));
}

void TopologyView::paintLink(QPainter& painter, std::size_t link) const {
    const bool selected = m_link == link;
    const QColor color = selected ? palette().color(QPalette::Highlight) : kindColor(kindOf(link));
    const qreal lineWidth = kindWidth(kindOf(link));
    painter.setPen(QPen(color, selected ? lineWidth + 2 : lineWidth));
    painter.drawPolyline(m_lines[link]);
}

void TopologyView::paintNode(QPainter& painter, std::size_t node) const {
    const Topology::Node& of = m_topology.nodes[node];
    const QRectF& box = m_boxes[node];
    const bool selected = of.device && m_device == of.device;
    QColor fill = palette().color(QPalette::Window);
    if (of.device) fill = deviceColor(*m_machine, *of.device);
    painter.setPen(QPen(mixedColor(fill, palette().color(QPalette::Text), 0.4F), 1));
    painter.setBrush(of.device ? deviceBrush(*m_machine, *of.device) : QBrush(fill));
    painter.drawRoundedRect(box, of.device ? 3 : box.height() / 2, of.device ? 3 : box.height() / 2);
    if (selected) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(palette().color(QPalette::Text), 2));
        painter.drawRoundedRect(box.adjusted(-3, -3, 3, 3), 5, 5);
    }
    painter.setPen(of.device ? readableOn(fill) : palette().color(QPalette::WindowText));
    painter.drawText(
        box, Qt::AlignCenter,
        fontMetrics().elidedText(toQString(of.label), Qt::ElideMiddle, static_cast<int>(box.width()) - 4));
}

void TopologyView::paintLegend(QPainter& painter) const {
    if (m_legend.isEmpty()) return;
    const QFontMetricsF metrics(font());
    qreal y = m_legend.top();
    for (std::size_t kind = 0; kind < m_kinds.size(); ++kind, y += metrics.height()) {
        painter.setPen(QPen(kindColor(kind), kindWidth(kind)));
        painter.drawLine(QPointF(kGap, y + metrics.height() / 2),
                         QPointF(kGap + 24, y + metrics.height() / 2));
        painter.setPen(palette().color(QPalette::Text));
        const LinkKind& of = m_kinds[kind];
        const QString text = tr("%1: %2, %3")
                                 .arg(of.text, bandwidthText(kind),
                                      of.links == 1 ? tr("1 link") : tr("%1 links").arg(of.links));
        painter.drawText(
            QRectF(kGap + 32, y, width() - kGap - 32, metrics.height()), Qt::AlignVCenter,
            fontMetrics().elidedText(text, Qt::ElideRight, static_cast<int>(width() - kGap - 34)));
    }
}

void TopologyView::paintEvent(QPaintEvent*) {
    if (!m_machine) return;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    for (std::size_t link = 0; link < m_topology.links.size(); ++link) {
        if (m_link != link) paintLink(painter, link);
    }
    if (m_link) paintLink(painter, *m_link);
    for (std::size_t node = 0; node < m_topology.nodes.size(); ++node) paintNode(painter, node);
    const QFontMetricsF metrics(font());
    const std::size_t most = height() < kLeastWithLegend ? kMostLabelledOfSmall : kMostLabelled;
    std::vector<QRectF> taken = m_boxes;
    for (std::size_t link = 0; link < m_topology.links.size(); ++link) {
        if (m_topology.links.size() > most && m_link != link) continue;
        const QString text = bandwidthText(kindOf(link));
        QRectF box(QPointF(), QSizeF(metrics.horizontalAdvance(text) + 6, metrics.height()));
        bool isFree = false;
        for (const std::size_t piece : {8U, 6U, 10U, 4U, 12U, 3U, 13U}) {
            box.moveCenter(m_lines[link][static_cast<qsizetype>(piece)]);
            isFree = std::ranges::none_of(taken, [&](const QRectF& other) { return other.intersects(box); });
            if (isFree) break;
        }
        // A short line has no room for its label.
        if (!isFree) continue;
        taken.push_back(box);
        painter.setPen(Qt::NoPen);
        painter.setBrush(palette().color(QPalette::Base));
        painter.drawRect(box);
        painter.setPen(palette().color(m_link == link ? QPalette::Highlight : QPalette::Text));
        painter.drawText(box, Qt::AlignCenter, text);
    }
    paintLegend(painter);
    if (hasFocus() && !m_device && !m_link) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(palette().color(QPalette::Highlight));
        painter.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
    }
}

void TopologyView::resizeEvent(QResizeEvent*) {
    layOut();
}

std::optional<DeviceId> TopologyView::deviceAt(QPointF point) const {
    for (std::size_t i = 0; i < m_boxes.size(); ++i) {
        if (m_topology.nodes[i].device && m_boxes[i].contains(point)) return m_topology.nodes[i].device;
    }
    return {};
}

std::optional<std::size_t> TopologyView::linkAt(QPointF point) const {
    std::optional<std::size_t> nearest;
    qreal least = kReach;
    for (std::size_t i = 0; i < m_topology.links.size(); ++i) {
        if (const qreal distance = distanceTo(m_lines[i], point); distance < least) {
            least = distance;
            nearest = i;
        }
    }
    return nearest;
}

void TopologyView::select(std::optional<DeviceId> device, std::optional<std::size_t> link) {
    if (device == m_device && link == m_link) return;
    m_device = device;
    m_link = link;
    update();
    Q_EMIT selectionEdited();
}

void TopologyView::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || !m_machine) return QWidget::mousePressEvent(event);
    const auto device = deviceAt(event->position());
    select(device, device ? std::nullopt : linkAt(event->position()));
}

void TopologyView::keyPressEvent(QKeyEvent* event) {
    const std::size_t devices = m_machine ? m_machine->devices().size() : 0;
    const std::size_t all = devices + m_topology.links.size();
    const bool forth = event->key() == Qt::Key_Right || event->key() == Qt::Key_Down;
    const bool back = event->key() == Qt::Key_Left || event->key() == Qt::Key_Up;
    if (event->key() == Qt::Key_Escape && (m_device || m_link)) return select({}, {});
    if ((!forth && !back) || all == 0) return QWidget::keyPressEvent(event);
    std::size_t at = m_device ? *m_device : m_link ? devices + *m_link : (forth ? all - 1 : 0);
    at = (at + (forth ? 1 : all - 1)) % all;
    if (at < devices) return select(static_cast<DeviceId>(at), {});
    select({}, at - devices);
}

bool TopologyView::event(QEvent* event) {
    if (event->type() == QEvent::FontChange) layOut();
    if (event->type() != QEvent::ToolTip || !m_machine) return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    QStringList lines;
    if (const auto id = deviceAt(help->pos())) {
        const Device& device = m_machine->device(*id);
        lines << toQString(device.name) + QStringLiteral(": ") + toQString(device.model)
              << tr("%1 of memory, %2/s").arg(bytesText(device.memory_bytes), flopsText(device.peak_flops));
    } else if (const auto link = linkAt(help->pos())) {
        for (const ChannelId channel : m_topology.links[*link].channels) {
            const Channel& of = m_machine->channels()[channel];
            lines << tr("%1: %2/s, %3")
                         .arg(toQString(of.name), bytesText(of.bandwidth), secondsText(of.latency_s));
        }
    }
    QToolTip::showText(help->globalPos(), plainToolTip(lines.join(QLatin1Char('\n'))), this);
    return true;
}

}  // namespace placewright
