// SPDX-License-Identifier: MIT
#include "widgets/graph_scene.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <QCoreApplication>
#include <boost/geometry/geometries/box.hpp>
#include <boost/geometry/geometries/point.hpp>
#include <boost/geometry/index/rtree.hpp>
#include <boost/geometry/strategies/strategies.hpp>

#include "core/base/infinity.hpp"
#include "core/layout/grid.hpp"
#include "widgets/quantities.hpp"

namespace placewright {
namespace {

constexpr double kNodeHeight = 26, kNarrowestNode = 60, kWidestNode = 220;
// Of many equal blocks the width would tell nothing: all nodes are as wide as the names of the blocks need,
// so that these can be read where the whole graph is in view.
constexpr double kWidestBlock = 104;
constexpr std::size_t kManyBlocks = 24;
// A table of steps has many narrow columns and few rows, which therefore are high.
constexpr double kNarrowestStep = 28, kWidestStep = 40, kWidestBesideSteps = 110, kStepHeight = 44;
constexpr std::size_t kFewestSteps = 4;  ///< in a table of steps
// Widths are estimated, since fonts belong to the GUI thread. Labels that do not fit are elided.
constexpr double kCharacterWidth = 7.2, kLabelMargin = 14;

QString label(const Op& op) {
    // The names of casts are made of those of two ops.
    if (op.autocast && !op.outputs.empty()) {
        const std::string_view type = to_string(op.outputs.front().dtype);
        return QCoreApplication::translate("GraphScene", "cast to %1")
            .arg(QString::fromUtf8(type.data(), static_cast<qsizetype>(type.size())));
    }
    const std::size_t slash = op.name.find_last_of('/');
    const bool usable = slash != std::string::npos && slash + 1 < op.name.size();
    return QString::fromStdString(usable ? op.name.substr(slash + 1) : op.name);
}

/// The op's name without its last part, or the op's scope if the name has only one part.
QString scope(const Op& op) {
    if (op.autocast) return QString::fromStdString(op.scope);
    const std::size_t slash = op.name.find_last_of('/');
    return QString::fromStdString(slash == std::string::npos ? op.scope : op.name.substr(0, slash));
}

/// Label of a module: the last parts of its path, from the last one that is not just a number.
QString moduleLabel(const QString& path) {
    for (int parts = 1;; ++parts) {
        const QString tail = path.section(QLatin1Char('/'), -parts);
        if (tail.size() == path.size() || (!tail.isEmpty() && !tail.at(0).isDigit())) return tail;
    }
}

/// The steps of an unrolled recurrent network.
struct Steps {
    std::vector<QString> layers;
    std::vector<std::optional<GridCell>> cells;  ///< [node]; empty if the network has no such steps
    std::vector<std::uint32_t> numbers;          ///< [column]: of the step
    std::vector<bool> whole;                     ///< [node]: it is all of its step

    bool empty() const { return cells.empty(); }
};

/// Finds steps where most nodes belong to one and layers read, step by step, their own step before.
Steps stepsOf(const GraphScene& scene) {
    struct Found {
        std::string_view layer;
        std::uint32_t step;
    };
    std::vector<std::optional<Found>> found;
    std::map<std::uint32_t, std::uint32_t> columns;
    std::map<std::string_view, std::uint32_t> rows;
    std::size_t inSteps = 0;
    Steps steps;
    for (const auto& node : scene.nodes) {
        const auto step = unrolled_step(scene.modules.scopes[scene.modules.scope_of[node.op]].path);
        // A closed module round the step is no step.
        const bool isStep =
            step && (!node.isModule() || node.module.size() >= static_cast<qsizetype>(step->scope.size()));
        found.push_back(isStep ? std::optional(Found{step->layer, step->step}) : std::nullopt);
        if (!isStep) continue;
        ++inSteps;
        columns.try_emplace(step->step, 0);
        if (rows.try_emplace(step->layer, static_cast<std::uint32_t>(rows.size())).second)
            steps.layers.push_back(
                QString::fromUtf8(step->layer.data(), static_cast<qsizetype>(step->layer.size())));
    }
    if (2 * inSteps <= scene.nodes.size() || columns.size() < kFewestSteps) return {};
    std::uint32_t next = 0;
    for (auto& [step, column] : columns) {
        column = next++;
        steps.numbers.push_back(step);
    }
    steps.cells.resize(found.size());
    for (std::size_t node = 0; node < found.size(); ++node) {
        if (found[node]) steps.cells[node] = GridCell{rows[found[node]->layer], columns[found[node]->step]};
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, int> inCell;
    for (const auto& cell : steps.cells) {
        if (cell) ++inCell[{cell->row, cell->column}];
    }
    for (const auto& cell : steps.cells)
        steps.whole.push_back(cell && inCell[{cell->row, cell->column}] == 1);
    std::size_t recurrent = 0;
    for (const auto& edge : scene.edges) {
        const auto &from = steps.cells[edge.from], &to = steps.cells[edge.to];
        recurrent += from && to && from->row == to->row && from->column != to->column;
    }
    return recurrent + 1 >= columns.size() ? steps : Steps();
}

void addNodes(const Problem& problem, GraphScene& scene) {
    const std::vector<std::uint32_t> shownAs = scene.modules.shown_as(scene.closed);
    std::vector<std::int32_t> nodeOfModule(scene.modules.scopes.size(), -1);
    scene.node_of.assign(problem.ops, -1);
    for (OpId op = 0; op < problem.ops; ++op) {
        if (representative(problem, op) != op) continue;
        const std::uint32_t module = shownAs[scene.modules.scope_of[op]];
        std::int32_t& node = module == ScopeTree::kRoot ? scene.node_of[op] : nodeOfModule[module];
        if (node < 0) {
            node = static_cast<std::int32_t>(scene.nodes.size());
            const Op& described = problem.graph->op(op);
            scene.nodes.push_back(
                {op, {}, label(described), QString::fromStdString(described.kind), scope(described), {}, {}});
        }
        scene.node_of[op] = node;
        if (module != ScopeTree::kRoot) scene.nodes[static_cast<std::size_t>(node)].members.push_back(op);
    }
    std::map<std::string, std::uint32_t> contents;
    for (std::uint32_t module = 1; module < nodeOfModule.size(); ++module) {
        if (nodeOfModule[module] < 0) continue;
        GraphScene::Node& node = scene.nodes[static_cast<std::size_t>(nodeOfModule[module])];
        node.module = QString::fromStdString(scene.modules.scopes[module].path);
        node.label = moduleLabel(node.module);
        node.scope = node.module.left(std::max<qsizetype>(0, node.module.size() - node.label.size() - 1));
        node.detail = opsText(node.members.size());
        const std::size_t path = scene.modules.scopes[module].path.size();
        std::string content;
        for (const OpId member : node.members) {
            const std::string& inner = scene.modules.scopes[scene.modules.scope_of[member]].path;
            content += problem.graph->op(member).kind + '\t' + inner.substr(path) + '\n';
        }
        node.content = contents.emplace(std::move(content), contents.size()).first->second;
    }

    scene.seconds.assign(problem.ops, 0);
    for (OpId op = 0; op < problem.ops; ++op) {
        const OpId shown = representative(problem, op);
        scene.node_of[op] = scene.node_of[shown];
        double fastest = kInfinity;
        for (DeviceId device = 0; device < problem.devices; ++device)
            fastest = std::min(fastest, problem.time_s(op, device));
        scene.seconds[shown] += static_cast<float>(fastest);
    }
}

double widthOfText(const QString& text) {
    return kLabelMargin + kCharacterWidth * static_cast<double>(text.size());
}

/// The width of all nodes if nearly all are closed modules with the same content, and there are many of
/// them.
std::optional<double> widthOfBlocks(const GraphScene& scene) {
    std::map<std::uint32_t, std::pair<std::size_t, double>> found;  // [content]: number, width
    for (const GraphScene::Node& node : scene.nodes) {
        if (!node.isModule()) continue;
        auto& [count, width] = found[node.content];
        ++count;
        width = std::max(width, widthOfText(node.label));
    }
    for (const auto& [content, blocks] : found) {
        if (blocks.first >= kManyBlocks && 4 * blocks.first > 3 * scene.nodes.size())
            return std::clamp(blocks.second, kNarrowestNode, kWidestBlock);
    }
    return {};
}

void sizeNodes(GraphScene& scene, const Steps& steps) {
    std::vector<double> seconds(scene.nodes.size());
    for (std::size_t i = 0; i < seconds.size(); ++i) {
        for (const OpId op : scene.nodes[i].ops()) seconds[i] += static_cast<double>(scene.seconds[op]);
    }
    const double longest =
        std::max(*std::max_element(seconds.begin(), seconds.end()), std::numeric_limits<double>::min());
    if (const auto width = widthOfBlocks(scene); width && steps.empty()) {
        for (GraphScene::Node& node : scene.nodes) node.rect = QRectF(0, 0, *width, kNodeHeight);
        return;
    }
    for (std::size_t i = 0; i < scene.nodes.size(); ++i) {
        // The many columns of a table stay narrow.
        const bool isStep = !steps.empty() && steps.whole[i];
        const double narrowest = isStep ? kNarrowestStep : kNarrowestNode, widest = isStep ? kWidestStep
                                                                                    : steps.empty()
                                                                                        ? kWidestNode
                                                                                        : kWidestBesideSteps;
        // The square root keeps small differences visible beside an op that takes most of the step.
        const double byTime = narrowest + (widest - narrowest) * std::sqrt(seconds[i] / longest);
        const double byText = widthOfText(scene.nodes[i].label);
        scene.nodes[i].rect =
            QRectF(0, 0, std::clamp(isStep ? byTime : std::max(byTime, byText), narrowest, widest),
                   steps.empty() ? kNodeHeight : kStepHeight);
    }
}

/// Adds the edges between nodes; one edge stands for all tensors between the same two nodes.
void addEdges(const Problem& problem, GraphScene& scene) {
    // [node]: edge from the current node to it, if at least `first`; smaller values are of earlier nodes.
    std::vector<std::int64_t> edgeTo(scene.nodes.size(), -1);
    for (std::uint32_t from = 0; from < scene.nodes.size(); ++from) {
        const auto first = static_cast<std::int64_t>(scene.edges.size());
        for (const OpId op : scene.nodes[from].ops()) {
            for (TensorId tensor = problem.output_begin[op]; tensor < problem.output_begin[op + 1];
                 ++tensor) {
                for (std::uint32_t k = problem.consumer_begin[tensor]; k < problem.consumer_begin[tensor + 1];
                     ++k) {
                    const OpId reader = problem.consumer[k];
                    const auto to = static_cast<std::uint32_t>(scene.node_of[reader]);
                    if (to == from || representative(problem, reader) != reader) continue;
                    if (edgeTo[to] < first) {
                        edgeTo[to] = static_cast<std::int64_t>(scene.edges.size());
                        scene.edges.push_back({from, to, 0, {}, {}});
                    }
                    GraphScene::Edge& edge = scene.edges[static_cast<std::size_t>(edgeTo[to])];
                    edge.bytes += problem.tensor_bytes[tensor];
                    const std::pair link(op, reader);
                    const bool joins = scene.nodes[from].isModule() || scene.nodes[to].isModule();
                    if (joins && (edge.links.empty() || edge.links.back() != link))
                        edge.links.push_back(link);
                }
            }
        }
    }
}

/// Of a node: the edge that is laid out although it is a stub.
struct Kept {
    std::size_t reader = SIZE_MAX, source = SIZE_MAX;
    bool isHub = false;  ///< has many readers
};

std::vector<Kept> markStubs(GraphScene& scene) {
    std::vector<std::size_t> readers(scene.nodes.size()), sources(scene.nodes.size());
    for (const auto& edge : scene.edges) {
        ++readers[edge.from];
        ++sources[edge.to];
    }
    std::vector<Kept> kept(scene.nodes.size());
    for (std::size_t i = 0; i < scene.edges.size(); ++i) {
        GraphScene::Edge& edge = scene.edges[i];
        const bool out = readers[edge.from] > kMostEdgesOfNode, in = sources[edge.to] > kMostEdgesOfNode;
        edge.stub = out || in;
        kept[edge.from].isHub = out;
        // The first reader and the last op that is read: these edges are the shortest.
        if (out && (kept[edge.from].reader == SIZE_MAX || edge.to < scene.edges[kept[edge.from].reader].to))
            kept[edge.from].reader = i;
        if (in && (kept[edge.to].source == SIZE_MAX || edge.from > scene.edges[kept[edge.to].source].from))
            kept[edge.to].source = i;
    }
    return kept;
}

/// The piece at the reader, or with few readers and many ops that are read, the piece at the source.
QPolygonF stubOf(const GraphScene& scene, const GraphScene::Edge& edge, bool atReader) {
    constexpr double kLength = 10;
    const auto direction = [](QPointF from, QPointF to) {
        const double length = std::hypot(to.x() - from.x(), to.y() - from.y());
        return length > 0 ? (to - from) / length : QPointF();
    };
    if (atReader) {
        const QPointF port = scene.inPort(edge.to);
        return {{port - kLength * direction(port, scene.nodes[edge.to].rect.center()), port}};
    }
    const QPointF port = scene.outPort(edge.from);
    return {{port, port + kLength * direction(scene.nodes[edge.from].rect.center(), port)}};
}

}  // namespace

bool alike(const LayoutRoom& a, const LayoutRoom& b) {
    constexpr double kAlike = 1.25;  // ratio of the shapes
    return a.direction == b.direction && a.aspect < kAlike * b.aspect && b.aspect < kAlike * a.aspect;
}

OpId representative(const Problem& problem, OpId op) {
    const auto isForward = [&](OpId other) { return problem.graph->op(other).phase == Phase::forward; };
    const OpId forward = problem.graph->op(op).forward_op;
    if (isForward(op)) return op;
    if (forward != kInvalidOp) return forward;
    const auto& members = problem.grouping.members[problem.grouping.group_of[op]];
    const auto first = std::find_if(members.begin(), members.end(), isForward);
    return first == members.end() ? op : *first;
}

class GraphScene::Index {
    using Point = boost::geometry::model::point<double, 2, boost::geometry::cs::cartesian>;
    using Box = boost::geometry::model::box<Point>;
    using Entry = std::pair<Box, std::uint32_t>;
    using Tree = boost::geometry::index::rtree<Entry, boost::geometry::index::quadratic<16>>;

    static Box box(const QRectF& rect) { return {{rect.left(), rect.top()}, {rect.right(), rect.bottom()}}; }
    static std::vector<Entry> entries(const std::vector<Node>& nodes) {
        std::vector<Entry> entries;
        for (std::uint32_t node = 0; node < nodes.size(); ++node)
            entries.emplace_back(box(nodes[node].rect), node);
        return entries;
    }

    Tree tree_;

public:
    explicit Index(const std::vector<Node>& nodes) : tree_(entries(nodes)) {}

    std::vector<std::uint32_t> in(const QRectF& area) const {
        std::vector<std::uint32_t> found;
        for (auto at = tree_.qbegin(boost::geometry::index::intersects(box(area))); at != tree_.qend(); ++at)
            found.push_back(at->second);
        std::ranges::sort(found);
        return found;
    }
};

QPointF GraphScene::outPort(std::uint32_t node) const {
    const QRectF& rect = nodes[node].rect;
    const bool back = nodes[node].backwards;
    return room.direction == LayoutRoom::Direction::right
               ? QPointF(back ? rect.left() : rect.right(), rect.center().y())
               : QPointF(rect.center().x(), back ? rect.top() : rect.bottom());
}

QPointF GraphScene::inPort(std::uint32_t node) const {
    const QPointF centre = nodes[node].rect.center();
    return 2 * centre - outPort(node);
}

int GraphScene::nodeAt(QPointF point) const {
    const auto found = nodesIn(QRectF(point, QSizeF(0, 0)));
    return found.empty() ? -1 : static_cast<int>(found.back());
}

std::vector<std::uint32_t> GraphScene::nodesIn(const QRectF& area) const {
    return index ? index->in(area.normalized()) : std::vector<std::uint32_t>();
}

std::shared_ptr<const GraphScene> buildGraphScene(const Problem& problem, const ClosedScopes* closed,
                                                  const LayoutRoom& room, std::stop_token stop) {
    auto scene = std::make_shared<GraphScene>();
    if (problem.ops == 0) return scene;
    scene->modules = scope_tree(*problem.graph);
    if (closed != nullptr) {
        scene->closed = *closed;
    } else if (problem.forward->size() > kMostNodes) {
        scene->closed = steps_closed(scene->modules, kMostSteps);
        if (scene->closed.empty()) scene->closed = overview(scene->modules, kMostNodes);
    }
    addNodes(problem, *scene);
    addEdges(problem, *scene);
    const Steps steps = stepsOf(*scene);
    for (std::size_t i = 0; i < steps.cells.size(); ++i) {
        // The row says which layer it is.
        if (steps.whole[i]) scene->nodes[i].label = QString::number(steps.numbers[steps.cells[i]->column]);
    }
    sizeNodes(*scene, steps);

    // Two modules may read from each other; in the layout every edge starts at the node whose first op comes
    // first.
    LayoutInput input;
    input.nodes.reserve(scene->nodes.size());
    input.edges.reserve(scene->edges.size());
    for (const auto& node : scene->nodes) input.nodes.push_back({node.rect.width(), node.rect.height()});
    // A node with stubs is laid out beside one of its neighbours.
    const std::vector<Kept> kept = markStubs(*scene);
    std::vector<std::int64_t> laidOut(scene->edges.size(), -1);
    for (std::size_t i = 0; i < scene->edges.size(); ++i) {
        const GraphScene::Edge& edge = scene->edges[i];
        const bool isKept = kept[edge.from].reader == i || kept[edge.to].source == i;
        if (edge.stub && !isKept) continue;
        laidOut[i] = static_cast<std::int64_t>(input.edges.size());
        input.edges.emplace_back(std::minmax(edge.from, edge.to));
    }
    const GridPicture picture = steps.empty() ? GridPicture{picture_for(input, room, stop), {}}
                                              : grid_picture(input, steps.cells, room);
    if (stop.stop_requested() || picture.centre.size() != scene->nodes.size()) return nullptr;

    for (std::size_t i = 0; i < scene->nodes.size(); ++i) {
        scene->nodes[i].rect.moveCenter({picture.centre[i].x, picture.centre[i].y});
        scene->nodes[i].backwards = picture.backwards[i];
    }
    scene->room = room;
    for (std::size_t i = 0; i < scene->edges.size(); ++i) {
        auto& edge = scene->edges[i];
        if (edge.stub) {
            edge.line = stubOf(*scene, edge, kept[edge.from].isHub);
        } else {
            const auto& line = picture.lines[static_cast<std::size_t>(laidOut[i])];
            edge.line.reserve(static_cast<int>(line.size()));
            for (const auto& point : line) edge.line << QPointF(point.x, point.y);
            if (edge.from > edge.to) std::reverse(edge.line.begin(), edge.line.end());
        }
        edge.box = edge.line.boundingRect().adjusted(-1, -1, 1, 1);
    }
    for (std::size_t row = 0; row < picture.rows.size(); ++row) {
        const GridRow& rect = picture.rows[row];
        scene->layers.push_back({steps.layers[row], QRectF(rect.left, rect.top, rect.width, rect.height)});
    }
    scene->bounds = QRectF(0, 0, picture.width, picture.height);
    scene->index = std::make_shared<GraphScene::Index>(scene->nodes);
    return scene;
}

}  // namespace placewright
