// SPDX-License-Identifier: MIT
#include "widgets/graph_view.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "core/base/sorted.hpp"
#include "widgets/graph_minimap.hpp"
#include "widgets/palette.hpp"

namespace placewright {
namespace {

constexpr double kFitMargin = 24;  ///< around the fitted graph, pixels
constexpr double kLargestFit = 1.25;
constexpr double kLargestScale = 6;
constexpr double kAlwaysInView = 40;  ///< part of the graph that stays in view, pixels

OpList sorted(OpList ops) {
    std::sort(ops.begin(), ops.end());
    ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
    return ops;
}

}  // namespace

GraphView::GraphView(QWidget* parent) : OpView(parent), m_minimap(new GraphMinimap(this)) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAttribute(Qt::WA_OpaquePaintEvent);
    setMinimumSize(120, 90);
    setAccessibleName(tr("Graph"));
    setAccessibleDescription(
        tr("Ops coloured by device. Arrow keys select neighbours, Page Up and Page Down move the view, plus "
           "and minus zoom, F shows the whole graph, 1 to 9 move the selected ops to a device, Return opens "
           "a closed module, Backspace closes the module around an op."));
    m_minimap->hide();
    connect(m_minimap, &GraphMinimap::centreRequested, this, &GraphView::centreOn);
    connect(m_minimap, &GraphMinimap::entered, this, [this] {
        if (m_gesture == Gesture::none) hover(-1);
    });
}

void GraphView::setScene(std::shared_ptr<const GraphScene> scene, std::shared_ptr<const Machine> machine) {
    cancelGesture();
    m_scene = std::move(scene);
    m_machine = std::move(machine);
    m_selection.clear();
    m_matched.clear();
    m_highlighted.clear();
    m_hovered = -1;
    m_labelWidths.assign(m_scene ? m_scene->nodes.size() : 0, -1.0F);
    m_minimap->setScene(m_scene);
    shareModules();
    inkNodes();
    const auto anchor = std::exchange(m_anchor, std::nullopt);
    if (anchor && nodeOf(anchor->op) >= 0) {
        m_fit = Fit::kept;
        setView(m_view.m11(), anchor->position -
                                  m_scene->nodes[static_cast<std::size_t>(nodeOf(anchor->op))].rect.center() *
                                      m_view.m11());
    } else {
        m_fit = Fit::whole;
    }
    updateMinimap();
    applyFit();
    if (m_fit == Fit::kept) panToShow(static_cast<std::uint32_t>(nodeOf(anchor->op)));
    redraw();
}

void GraphView::setMachine(std::shared_ptr<const Machine> machine) {
    m_machine = std::move(machine);
    redraw();
}

/// Computes the share of each device in each module.
void GraphView::shareModules() {
    m_shares.assign(m_scene ? m_scene->nodes.size() : 0, {});
    for (std::size_t node = 0; node < m_shares.size(); ++node) {
        if (!m_scene->nodes[node].isModule()) continue;
        double all = 0;
        std::map<DeviceId, double> seconds;
        for (const OpId op : m_scene->nodes[node].members) {
            // Ops that take no time count only if all ops of the module take none.
            const double part = std::max(static_cast<double>(m_scene->seconds[op]), 1e-30);
            seconds[deviceOfOp(op)] += part;
            all += part;
        }
        for (const auto& [device, part] : seconds) m_shares[node].push_back({device, part / all});
        std::ranges::stable_sort(m_shares[node], std::greater<>(), &Share::part);
    }
}

void GraphView::setEmptyText(const QString& text) {
    m_emptyText = text;
    if (!m_scene) redraw();
}

void GraphView::setDevices(std::vector<DeviceId> devices) {
    if (devices == m_devices) return;
    m_devices = std::move(devices);
    shareModules();
    redraw();
}

void GraphView::setColors(std::shared_ptr<const NodeColors> colors) {
    if (colors == m_colors) return;
    m_colors = std::move(colors);
    inkNodes();
    redraw();
}

void GraphView::inkNodes() {
    m_inks.reset();
    if (m_colors && m_scene) m_inks.emplace(m_colors, *m_scene);
}

std::size_t GraphView::inks() const {
    return m_inks ? m_inks->size() : (m_machine ? m_machine->devices().size() : 0) + 1;
}

std::uint32_t GraphView::inkOf(std::uint32_t node) const {
    return m_inks ? m_inks->inkOf(node)
                  : static_cast<std::uint32_t>(std::min<std::size_t>(deviceOf(node), inks() - 1));
}

void GraphView::setSelection(const OpList& ops) {
    if (ops == m_selection) return;
    m_selection = ops;
    update();
}

void GraphView::setHovered(OpId op) {
    const int node = nodeOf(op);
    if (node == m_hovered) return;
    m_hovered = node;
    update();
}

std::vector<bool> GraphView::nodesOf(const OpList& ops) const {
    std::vector<bool> nodes(m_scene ? m_scene->nodes.size() : 0);
    for (const OpId op : ops) {
        if (const int node = nodeOf(op); node >= 0) nodes[static_cast<std::size_t>(node)] = true;
    }
    return nodes;
}

void GraphView::setMatches(const OpList& ops) {
    std::vector<bool> matched;
    if (!ops.empty()) matched = nodesOf(ops);
    if (matched == m_matched) return;
    m_matched = std::move(matched);
    redraw();
}

void GraphView::setHighlighted(const std::optional<OpList>& ops) {
    std::vector<bool> highlighted;
    if (ops) highlighted = nodesOf(*ops);
    if (highlighted == m_highlighted) return;
    m_highlighted = std::move(highlighted);
    redraw();
}

void GraphView::setPinned(const OpList& ops) {
    if (ops == m_pinned) return;
    m_pinned = ops;
    redraw();
}

void GraphView::setMarked(const OpList& ops) {
    if (ops == m_marked) return;
    m_marked = ops;
    update();
}

void GraphView::redraw() {
    m_layerValid = false;
    colorMinimap();
    update();
}

DeviceId GraphView::deviceOf(std::uint32_t node) const {
    return m_shares[node].empty() ? deviceOfOp(m_scene->nodes[node].op) : m_shares[node].front().device;
}

// --- the view: scale and translation ---

double GraphView::fittingScale(const QSizeF& content, const QSizeF& into) {
    return std::min(into.width() / std::max(content.width(), 1.0),
                    into.height() / std::max(content.height(), 1.0));
}

bool GraphView::overflows(double scale) const {
    if (!m_scene || m_scene->nodes.empty()) return false;
    const QSizeF graph = m_scene->bounds.size() * scale;
    return graph.width() > width() || graph.height() > height();
}

QRectF GraphView::roomBesideMinimap() const {
    return QRectF(rect()).adjusted(
        0, 0, m_scene ? -GraphMinimap::sizeFor(m_scene->bounds.size(), size()).width() : 0, 0);
}

QRectF GraphView::room(double scale) const {
    return overflows(scale) ? roomBesideMinimap() : QRectF(rect());
}

void GraphView::updateMinimap() {
    const QSize box =
        overflows(m_view.m11()) ? GraphMinimap::sizeFor(m_scene->bounds.size(), size()) : QSize();
    m_minimap->setVisible(!box.isEmpty());
    if (box.isEmpty()) return;
    m_minimap->setGeometry(QRect(QPoint(width() - box.width(), 0), box));
    m_minimap->setShownArea(m_view.inverted().mapRect(room(m_view.m11())));
}

void GraphView::colorMinimap() {
    if (!m_scene) return;
    std::vector<QRgb> plain, dimmed;
    for (std::uint32_t ink = 0; ink < inks(); ++ink) {
        const QColor color = inkStyle(ink).color;
        plain.push_back(color.rgb());
        dimmed.push_back(mixedColor(color, palette().color(QPalette::Base), 0.8F).rgb());
    }
    std::vector<QRgb> colors(m_scene->nodes.size());
    for (std::uint32_t node = 0; node < colors.size(); ++node) {
        colors[node] = (isDimmed(node) ? dimmed : plain)[inkOf(node)];
    }
    m_minimap->setColors(std::move(colors));
}

/// Pans within the graph; does not move along an axis on which the whole graph is visible.
void GraphView::centreOn(QPointF scenePoint) {
    const double scale = m_view.m11();
    const QRectF shown = m_view.inverted().mapRect(room(scale)),
                 all = m_scene->bounds.marginsAdded(QMarginsF(1, 1, 1, 1) * (kFitMargin / scale));
    const auto held = [](double wish, double low, double high, double extent, double now) {
        return high - low <= extent ? now : std::clamp(wish, low + extent / 2, high - extent / 2);
    };
    const QPointF centre(held(scenePoint.x(), all.left(), all.right(), shown.width(), shown.center().x()),
                         held(scenePoint.y(), all.top(), all.bottom(), shown.height(), shown.center().y()));
    panBy((shown.center() - centre) * scale);
}

void GraphView::setView(double scale, QPointF translation) {
    place(scale, translation);
    m_centre = m_view.inverted().map(QRectF(rect()).center());
}

void GraphView::place(double scale, QPointF translation) {
    if (m_scene) {
        // A part of the graph always stays in view, so that it cannot be lost.
        const QRectF graph =
            QTransform(scale, 0, 0, scale, translation.x(), translation.y()).mapRect(m_scene->bounds);
        const auto pushed = [](double low, double high, double extent) {
            const double kept = std::min({kAlwaysInView, high - low, extent});
            return low > extent - kept ? extent - kept - low : high < kept ? kept - high : 0.0;
        };
        translation += QPointF(pushed(graph.left(), graph.right(), room(scale).width()),
                               pushed(graph.top(), graph.bottom(), height()));
    }
    const QTransform view(scale, 0, 0, scale, translation.x(), translation.y());
    if (view == m_view) return;
    m_view = view;
    updateMinimap();
    update();
    Q_EMIT zoomChanged();
}

GraphZoom GraphView::zoom() const {
    return {m_view.m11(), m_view.inverted().map(QRectF(rect()).center()), isFitted()};
}

void GraphView::setZoom(const GraphZoom& zoom) {
    if (zoom.fitted) return fit();
    m_fit = Fit::kept;
    setView(zoom.scale, QRectF(rect()).center() - zoom.centre * zoom.scale);
}

QSizeF GraphView::roomForWhole() const {
    return {std::max(width() - 2 * kFitMargin, 20.0), std::max(height() - 2 * kFitMargin, 20.0)};
}

void GraphView::applyFit() {
    if (!m_scene || m_fit == Fit::kept) return;
    const QRectF& bounds = m_scene->bounds;
    const double scale = std::min(fittingScale(bounds.size(), roomForWhole()), kLargestFit);
    setView(scale, room(scale).center() - bounds.center() * scale);
}

void GraphView::fit() {
    m_fit = Fit::whole;
    applyFit();
    Q_EMIT roomChanged();
}

void GraphView::zoomTo(const OpList& ops) {
    QRectF area;
    for (const OpId op : ops) {
        if (const int node = nodeOf(op); node >= 0)
            area |= m_scene->nodes[static_cast<std::size_t>(node)].rect;
    }
    if (area.isNull()) return;
    m_fit = Fit::kept;
    const QRectF beside = roomBesideMinimap();
    const QSizeF inner(std::max(beside.width() - 4 * kFitMargin, 20.0),
                       std::max(beside.height() - 4 * kFitMargin, 20.0));
    const double scale = std::min(fittingScale(area.size(), inner), 1.75);
    setView(scale, room(scale).center() - area.center() * scale);
}

void GraphView::reveal(const OpList& ops) {
    if (!m_scene) return;
    int first = -1;
    for (const OpId op : ops) {
        const int node = nodeOf(op);
        if (node < 0) continue;
        if (QRectF(rect()).intersects(rectInView(static_cast<std::uint32_t>(node), m_view))) return;
        if (first < 0) first = node;
    }
    if (first >= 0) panToShow(static_cast<std::uint32_t>(first));
}

void GraphView::zoomBy(double factor, QPointF at) {
    if (!m_scene) return;
    const double smallest = std::min(fittingScale(m_scene->bounds.size(), size()) / 2, 0.25);
    const double scale = std::clamp(m_view.m11() * factor, smallest, kLargestScale);
    const QPointF scenePoint = m_view.inverted().map(at);
    m_fit = Fit::kept;
    setView(scale, at - scenePoint * scale);
}

void GraphView::panBy(QPointF pixels) {
    // Pan by whole device pixels, so that the painted layer can be reused.
    const double ratio = devicePixelRatioF();
    const auto whole = [&](double value) { return std::round(value * ratio) / ratio; };
    m_fit = Fit::kept;
    setView(m_view.m11(), QPointF(m_view.dx() + whole(pixels.x()), m_view.dy() + whole(pixels.y())));
}

void GraphView::panToShow(std::uint32_t node) {
    const QRectF shown = rectInView(node, m_view),
                 inner = room(m_view.m11()).adjusted(kFitMargin, kFitMargin, -kFitMargin, -kFitMargin);
    if (!inner.contains(shown)) panBy(inner.center() - shown.center());
}

QPointF GraphView::positionOf(OpId op) const {
    const int node = nodeOf(op);
    return node < 0 ? QPointF() : m_view.map(m_scene->nodes[static_cast<std::size_t>(node)].rect.center());
}

QRectF GraphView::rectInView(std::uint32_t node, const QTransform& view) const {
    return view.mapRect(m_scene->nodes[node].rect);
}

int GraphView::nodeOf(OpId op) const {
    return m_scene && op < m_scene->node_of.size() ? m_scene->node_of[op] : -1;
}

int GraphView::nodeUnder(QPointF position) const {
    if (!m_scene) return -1;
    const QPointF point = m_view.inverted().map(position);
    const int exact = m_scene->nodeAt(point);
    const double reach = 3 / m_view.m11();
    if (exact >= 0 || m_scene->nodes.empty() || m_scene->nodes.front().rect.height() > 3 * reach)
        return exact;
    // Nodes are too small to hit with the pointer: take the nearest one.
    int nearest = -1;
    double distance = 0;
    for (const std::uint32_t node :
         m_scene->nodesIn(QRectF(point.x() - reach, point.y() - reach, 2 * reach, 2 * reach))) {
        const double d = (m_scene->nodes[node].rect.center() - point).manhattanLength();
        if (nearest >= 0 && d >= distance) continue;
        nearest = static_cast<int>(node);
        distance = d;
    }
    return nearest;
}

QSizeF GraphView::wholeSize() const {
    return m_scene ? m_scene->bounds.size() + QSizeF(2 * kFitMargin, 2 * kFitMargin) : QSizeF(size());
}

// --- selection and modules ---

void GraphView::editSelection(OpList ops) {
    m_selection = sorted(std::move(ops));
    update();
    Q_EMIT selectionEdited(m_selection);
}

/// Whether all ops of the node are selected.
bool GraphView::isSelected(std::uint32_t node) const {
    return std::ranges::all_of(m_scene->nodes[node].ops(),
                               [&](OpId op) { return std::ranges::binary_search(m_selection, op); });
}

/// Whether at least one op of the node is selected.
bool GraphView::holdsSelected(std::uint32_t node) const {
    return std::ranges::any_of(m_scene->nodes[node].ops(),
                               [&](OpId op) { return std::ranges::binary_search(m_selection, op); });
}

std::vector<std::uint32_t> GraphView::selectedNodes() const {
    std::vector<std::uint32_t> nodes;
    for (const OpId op : m_selection) {
        if (const int node = nodeOf(op); node >= 0) nodes.push_back(static_cast<std::uint32_t>(node));
    }
    std::ranges::sort(nodes);
    erase_repeats(nodes);
    return nodes;
}

std::vector<std::uint32_t> GraphView::openRoundSelection() const {
    std::set<std::uint32_t> modules;
    if (!m_scene) return {};
    const ScopeTree& tree = m_scene->modules;
    const auto shownAs = tree.shown_as(m_scene->closed);
    for (const std::uint32_t node : selectedNodes()) {
        std::uint32_t module = tree.scope_of[m_scene->nodes[node].op];
        if (shownAs[module] != ScopeTree::kRoot) module = tree.scopes[shownAs[module]].parent;
        while (module != ScopeTree::kRoot && !tree.scopes[module].can_close())
            module = tree.scopes[module].parent;
        if (module != ScopeTree::kRoot) modules.insert(module);
    }
    return {modules.begin(), modules.end()};
}

bool GraphView::canOpenModules() const {
    return std::ranges::any_of(m_selection, [&](OpId op) {
        const int node = nodeOf(op);
        return node >= 0 && m_scene->nodes[static_cast<std::size_t>(node)].isModule();
    });
}

bool GraphView::canCloseModules() const {
    return !openRoundSelection().empty();
}

void GraphView::openSelectedModules() {
    if (canOpenModules()) openModules(selectedNodes(), m_selection.front());
}

void GraphView::openEqualModules() {
    if (canOpenModules()) openModules(withEqualModules(selectedNodes()), m_selection.front());
}

std::vector<std::uint32_t> GraphView::withEqualModules(const std::vector<std::uint32_t>& nodes) const {
    std::set<std::uint32_t> contents;
    for (const std::uint32_t node : nodes) {
        if (m_scene->nodes[node].isModule()) contents.insert(m_scene->nodes[node].content);
    }
    std::vector<std::uint32_t> equal;
    for (std::uint32_t node = 0; node < m_scene->nodes.size(); ++node) {
        if (m_scene->nodes[node].isModule() && contents.contains(m_scene->nodes[node].content))
            equal.push_back(node);
    }
    return equal;
}

void GraphView::closeSelectedModules() {
    QStringList paths;
    for (const std::uint32_t module : openRoundSelection())
        paths << QString::fromStdString(m_scene->modules.scopes[module].path);
    if (!paths.isEmpty()) requestModules(paths, false, m_selection.front());
}

void GraphView::openModules(const std::vector<std::uint32_t>& nodes, OpId stays) {
    QStringList paths;
    for (const std::uint32_t node : nodes) {
        if (m_scene->nodes[node].isModule()) paths << m_scene->nodes[node].module;
    }
    if (!paths.isEmpty()) requestModules(paths, true, stays);
}

bool GraphView::openRound(OpId op) {
    const int node = nodeOf(op);
    if (node < 0 || !m_scene->nodes[static_cast<std::size_t>(node)].isModule()) return false;
    QStringList paths;
    const ScopeTree& tree = m_scene->modules;
    for (std::uint32_t module = tree.scope_of[op]; module != ScopeTree::kRoot;
         module = tree.scopes[module].parent)
        paths.prepend(QString::fromStdString(tree.scopes[module].path));
    requestModules(paths, true, op);
    return true;
}

void GraphView::requestModules(const QStringList& paths, bool open, OpId stays) {
    m_anchor = Anchor{stays, positionOf(stays)};
    Q_EMIT modulesRequested(paths, open);
}

/// Tooltip of a node.
QString GraphView::textOf(std::uint32_t node) const {
    const GraphScene::Node& shown = m_scene->nodes[node];
    const QString value = m_inks ? m_inks->describe(node) : QString();
    if (!shown.isModule()) {
        const QString text = toolTipFor(shown.op);
        return text.isEmpty() || value.isEmpty() ? text : text + QStringLiteral("<br>") + value;
    }
    QStringList lines{QStringLiteral("<b>%1</b>").arg(shown.module.toHtmlEscaped()), shown.detail};
    for (const Share& share : m_shares[node]) {
        if (!m_machine || share.device >= m_machine->devices().size()) continue;
        lines << tr("%1 % of its time on %2")
                     .arg(100 * share.part, 0, 'f', 0)
                     .arg(QString::fromStdString(m_machine->device(share.device).name).toHtmlEscaped());
    }
    if (!value.isEmpty()) lines << value;
    lines << tr("<i>Double-click or Return opens the module, with Shift all equal ones.</i>");
    return lines.join(QStringLiteral("<br>"));
}

}  // namespace placewright
