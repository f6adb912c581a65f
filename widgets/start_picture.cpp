// SPDX-License-Identifier: MIT
#include "widgets/start_picture.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <QPainter>
#include <QPainterPath>

#include "core/layout/layout.hpp"
#include "widgets/palette.hpp"

namespace placewright {
namespace {

/// Distances between neighbours in a layered layout of nodes of size 1.
constexpr double kAlong = 2.2, kAcross = 1.6;
constexpr double kLongestStep = 40, kWidestStep = 16;  ///< most pixels between neighbours

/// Substrings of op kinds and their groups; the first match counts.
struct KindPart {
    std::string_view part;
    int group;
};
constexpr std::array kKindParts{KindPart{"norm", 1},  KindPart{"conv", 0}, KindPart{"linear", 0},
                                KindPart{"mm", 0},    KindPart{"mat", 0},  KindPart{"attention", 0},
                                KindPart{"embed", 0}, KindPart{"cell", 4}, KindPart{"lstm", 4},
                                KindPart{"gru", 4},   KindPart{"pool", 2}, KindPart{"cat", 2},
                                KindPart{"add", 2},   KindPart{"stack", 2}};
constexpr int kOtherKinds = 3;
/// If ops are closer than this (pixels), normalising and other small ops are left out; otherwise the picture
/// would be a blur.
constexpr double kDense = 5;
constexpr std::array kShownWhenDense{true, false, true, false, true};
constexpr std::size_t kMostReaders = 12;  ///< of an op whose lines are drawn

int groupOf(std::string_view kind) {
    const auto found = std::ranges::find_if(
        kKindParts, [&](const KindPart& known) { return kind.find(known.part) != kind.npos; });
    return found == kKindParts.end() ? kOtherKinds : found->group;
}

}  // namespace

StartPicture makeStartPicture(const Graph& graph) {
    LayoutInput input;
    StartPicture picture;
    std::vector<std::uint32_t> nodeOf(graph.size(), kInvalidOp);
    std::vector<std::size_t> readers(graph.size());
    for (OpId op = 0; op < graph.size(); ++op) {
        if (graph.op(op).phase != Phase::forward) continue;
        for (const OpId producer : graph.producers(op)) ++readers[producer];
    }
    for (OpId op = 0; op < graph.size(); ++op) {
        if (graph.op(op).phase != Phase::forward) continue;
        if (readers[op] > kMostReaders && graph.producers(op).empty()) continue;
        nodeOf[op] = static_cast<std::uint32_t>(input.nodes.size());
        input.nodes.push_back({1, 1});
        picture.nodes.push_back({{}, groupOf(graph.op(op).kind)});
        for (const OpId producer : graph.producers(op)) {
            if (nodeOf[producer] != kInvalidOp && readers[producer] <= kMostReaders)
                input.edges.emplace_back(nodeOf[producer], nodeOf[op]);
        }
    }
    std::vector<bool> reads(input.nodes.size()), isRead(input.nodes.size());
    for (const auto& [from, to] : input.edges) isRead[from] = reads[to] = true;
    for (std::size_t i = 0; i < picture.nodes.size(); ++i) picture.nodes[i].isEnd = reads[i] != isRead[i];
    const LayoutResult places = layered_layout(input);
    const auto turned = [](LayoutPoint point) { return QPointF(point.y / kAlong, point.x / kAcross); };
    for (std::size_t i = 0; i < picture.nodes.size(); ++i) picture.nodes[i].centre = turned(places.centre[i]);
    for (std::size_t i = 0; i < input.edges.size(); ++i) {
        QPolygonF line{picture.nodes[input.edges[i].first].centre};
        for (const LayoutPoint& bend : places.bends[i]) line << turned(bend);
        picture.edges.push_back(line << picture.nodes[input.edges[i].second].centre);
    }
    picture.size = QSizeF(places.height / kAlong, places.width / kAcross);
    return picture;
}

void paintStartPicture(QPainter& painter, const QRectF& area, const StartPicture& picture,
                       const QColor& line) {
    if (picture.nodes.empty()) return;
    const double along = std::min(area.width() / picture.size.width(), kLongestStep),
                 across = std::min(area.height() / picture.size.height(), kWidestStep);
    const auto place = [&](QPointF point) {
        return area.center() + QPointF((point.x() - picture.size.width() / 2) * along,
                                       (point.y() - picture.size.height() / 2) * across);
    };
    QPainterPath lines;
    for (const QPolygonF& edge : picture.edges) {
        lines.moveTo(place(edge.front()));
        for (int i = 1; i < edge.size(); ++i) lines.lineTo(place(edge[i]));
    }
    // Many lines fade, so that the ops stay visible.
    QColor faded = line;
    faded.setAlphaF(line.alphaF() * (1 - 0.75F * lineDensity(lines.length(), area.size())));
    painter.strokePath(lines, QPen(faded, 1));
    const QSizeF size(std::clamp(0.75 * along, 3.0, 9.0), std::clamp(0.75 * across, 4.0, 9.0));
    const double radius = std::min(size.width(), size.height()) / 3;
    painter.setPen(Qt::NoPen);
    for (const auto& node : picture.nodes) {
        if (along < kDense && !node.isEnd && !kShownWhenDense[static_cast<std::size_t>(node.group)]) continue;
        painter.setBrush(seriesColor(node.group));
        painter.drawRoundedRect(QRectF(place(node.centre) - QPointF(size.width(), size.height()) / 2, size),
                                radius, radius);
    }
}

}  // namespace placewright
