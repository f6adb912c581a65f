// SPDX-License-Identifier: MIT
#include "widgets/graph_view.hpp"

#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include <QApplication>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPaintEngine>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>
#include <QWheelEvent>

#include "widgets/graph_minimap.hpp"
#include "widgets/palette.hpp"

namespace placewright {
namespace {

constexpr double kMargin = 24;     ///< round the graph when it is fitted, pixels
constexpr double kReadable = 0.6;  ///< scale at which labels can be read
constexpr double kLargestScale = 6;
constexpr double kKeyPan = 60;          ///< pixels
constexpr double kPage = 0.85;          ///< of the view's height
constexpr double kAlwaysInView = 40;    ///< of the graph, pixels
constexpr double kLargestLabel = 1.25;  ///< in the nodes, of the window's font
constexpr int kMostScopes = 3;          ///< modules before a label
constexpr int kMeasuredAt = 64;         ///< font size for measuring labels, pixels
/// Edges drawn at most when single ones cannot be told apart.
constexpr std::size_t kEdgesFromAfar = 30'000;

constexpr std::array kEdgeWidths{1.0, 1.6, 2.4, 3.4};

/// Step of kEdgeWidths: by the magnitude of the bytes, from 10 kB to 100 MB.
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

/// Edges that are drawn in one way.
struct EdgeBatch {
    QPainterPath lines, arrows;

    EdgeBatch() { arrows.setFillRule(Qt::WindingFill); }  // heads may lie over each other
};

QFont withPixels(QFont font, double pixels) {
    font.setHintingPreference(QFont::PreferNoHinting);  // widths grow evenly with the size
    font.setPixelSize(std::max(1, static_cast<int>(pixels)));
    return font;
}

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
    setAccessibleDescription(tr(
        "Ops coloured by device. Arrow keys go to neighbours, Page Up and Page Down move the view, plus and minus zoom, F shows the whole "
        "graph, 1 to 9 put the selected ops on a device, Return opens a closed module, Backspace closes the one round an op."));
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
    const auto anchor = std::exchange(m_anchor, std::nullopt);
    if (anchor && nodeOf(anchor->op) >= 0) {
        m_fit = Fit::kept;
        setView(m_view.m11(), anchor->position - m_scene->nodes[static_cast<std::size_t>(nodeOf(anchor->op))].rect.center() * m_view.m11());
    } else {
        m_fit = Fit::initial;
    }
    updateMinimap();
    applyFit();
    if (m_fit == Fit::kept) {
        if (anchor->zooms) zoomTo({anchor->op});
        panToShow(static_cast<std::uint32_t>(nodeOf(anchor->op)));
    }
    redraw();
}

/// What each module has on which device.
void GraphView::shareModules() {
    m_shares.assign(m_scene ? m_scene->nodes.size() : 0, {});
    for (std::size_t node = 0; node < m_shares.size(); ++node) {
        if (!m_scene->nodes[node].isModule()) continue;
        double all = 0;
        std::map<DeviceId, double> seconds;
        for (const OpId op : m_scene->nodes[node].members) {
            // What takes no time counts where nothing else does.
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

// --- the view: scale and translation ---

double GraphView::fittingScale(const QSizeF& content, const QSizeF& into) {
    return std::min(into.width() / std::max(content.width(), 1.0), into.height() / std::max(content.height(), 1.0));
}

bool GraphView::overflows(double scale) const {
    if (!m_scene || m_scene->nodes.empty()) return false;
    const QSizeF graph = m_scene->bounds.size() * scale;
    return graph.width() > width() || graph.height() > height();
}

QRectF GraphView::roomBesideMinimap() const {
    return QRectF(rect()).adjusted(0, 0, m_scene ? -GraphMinimap::sizeFor(m_scene->bounds.size(), size()).width() : 0, 0);
}

QRectF GraphView::room(double scale) const {
    return overflows(scale) ? roomBesideMinimap() : QRectF(rect());
}

void GraphView::updateMinimap() {
    const QSize box = overflows(m_view.m11()) ? GraphMinimap::sizeFor(m_scene->bounds.size(), size()) : QSize();
    m_minimap->setVisible(!box.isEmpty());
    if (box.isEmpty()) return;
    m_minimap->setGeometry(QRect(QPoint(width() - box.width(), 0), box));
    m_minimap->setShownArea(m_view.inverted().mapRect(room(m_view.m11())));
}

void GraphView::colorMinimap() {
    if (!m_scene) return;
    const std::size_t devices = m_machine ? m_machine->devices().size() : 0;
    std::vector<QRgb> plain, dimmed;
    for (std::size_t device = 0; device <= devices; ++device) {
        const QColor color = deviceStyle(static_cast<DeviceId>(device)).color;
        plain.push_back(color.rgb());
        dimmed.push_back(mixedColor(color, palette().color(QPalette::Base), 0.8F).rgb());
    }
    std::vector<QRgb> colors(m_scene->nodes.size());
    for (std::uint32_t node = 0; node < colors.size(); ++node) {
        colors[node] = (isDimmed(node) ? dimmed : plain)[std::min<std::size_t>(deviceOf(node), devices)];
    }
    m_minimap->setColors(std::move(colors));
}

/// As far as the graph goes; where all of it is seen, nothing moves.
void GraphView::centreOn(QPointF scenePoint) {
    const double scale = m_view.m11();
    const QRectF shown = m_view.inverted().mapRect(room(scale)),
                 all = m_scene->bounds.marginsAdded(QMarginsF(1, 1, 1, 1) * (kMargin / scale));
    const auto held = [](double wish, double low, double high, double extent, double now) {
        return high - low <= extent ? now : std::clamp(wish, low + extent / 2, high - extent / 2);
    };
    const QPointF centre(held(scenePoint.x(), all.left(), all.right(), shown.width(), shown.center().x()),
                         held(scenePoint.y(), all.top(), all.bottom(), shown.height(), shown.center().y()));
    panBy((shown.center() - centre) * scale);
}

void GraphView::setView(double scale, QPointF translation) {
    if (m_scene) {
        // The graph cannot be lost: a part of it stays in view.
        const QRectF graph = QTransform(scale, 0, 0, scale, translation.x(), translation.y()).mapRect(m_scene->bounds);
        const auto pushed = [](double low, double high, double extent) {
            const double kept = std::min({kAlwaysInView, high - low, extent});
            return low > extent - kept ? extent - kept - low : high < kept ? kept - high : 0.0;
        };
        translation += QPointF(pushed(graph.left(), graph.right(), room(scale).width()), pushed(graph.top(), graph.bottom(), height()));
    }
    const QTransform view(scale, 0, 0, scale, translation.x(), translation.y());
    if (view == m_view) return;
    m_view = view;
    updateMinimap();
    update();
}

void GraphView::applyFit() {
    if (!m_scene || m_fit == Fit::kept) return;
    const QRectF& bounds = m_scene->bounds;
    const QSizeF inner(std::max(width() - 2 * kMargin, 20.0), std::max(height() - 2 * kMargin, 20.0));
    double scale = std::min(fittingScale(bounds.size(), inner), 1.25);
    bool fromTop = false;
    if (m_fit == Fit::initial) {
        // A long thin graph would be a sliver: fit the short side as far as labels need it, and start where the network does.
        const QSizeF beside = roomBesideMinimap().size() - QSizeF(2 * kMargin, 2 * kMargin);
        const double byWidth = beside.width() / std::max(bounds.width(), 1.0), byHeight = beside.height() / std::max(bounds.height(), 1.0);
        const double readable = std::min(std::max(byWidth, byHeight), kReadable);
        if (scale < 0.75 * readable) {
            scale = readable;
            fromTop = byHeight < byWidth;
        }
    }
    QPointF translation = room(scale).center() - bounds.center() * scale;
    if (fromTop) translation.setY(kMargin - bounds.top() * scale);
    setView(scale, translation);
}

void GraphView::fit() {
    m_fit = Fit::whole;
    applyFit();
}

void GraphView::zoomTo(const OpList& ops) {
    QRectF area;
    for (const OpId op : ops) {
        if (const int node = nodeOf(op); node >= 0) area |= m_scene->nodes[static_cast<std::size_t>(node)].rect;
    }
    if (area.isNull()) return;
    m_fit = Fit::kept;
    const QRectF beside = roomBesideMinimap();
    const QSizeF inner(std::max(beside.width() - 4 * kMargin, 20.0), std::max(beside.height() - 4 * kMargin, 20.0));
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
    // Whole device pixels, so that what is already painted can be moved.
    const double ratio = devicePixelRatioF();
    const auto whole = [&](double value) { return std::round(value * ratio) / ratio; };
    m_fit = Fit::kept;
    setView(m_view.m11(), QPointF(m_view.dx() + whole(pixels.x()), m_view.dy() + whole(pixels.y())));
}

void GraphView::panToShow(std::uint32_t node) {
    const QRectF shown = rectInView(node, m_view), inner = room(m_view.m11()).adjusted(kMargin, kMargin, -kMargin, -kMargin);
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
    if (exact >= 0 || m_scene->nodes.empty() || m_scene->nodes.front().rect.height() > 3 * reach) return exact;
    // Nodes are smaller than a pointer can hit: the nearest one.
    int nearest = -1;
    double distance = 0;
    m_scene->forNodesIn(QRectF(point.x() - reach, point.y() - reach, 2 * reach, 2 * reach), [&](std::uint32_t node) {
        const double d = (m_scene->nodes[node].rect.center() - point).manhattanLength();
        if (nearest >= 0 && d >= distance) return;
        nearest = static_cast<int>(node);
        distance = d;
    });
    return nearest;
}

// --- what the person does ---

void GraphView::editSelection(OpList ops) {
    m_selection = sorted(std::move(ops));
    update();
    Q_EMIT selectionEdited(m_selection);
}

void GraphView::hover(int node) {
    if (node == m_hovered) return;
    m_hovered = node;
    update();
    const bool isOp = node >= 0 && !m_scene->nodes[static_cast<std::size_t>(node)].isModule();
    Q_EMIT opHovered(isOp ? m_scene->nodes[static_cast<std::size_t>(node)].op : kInvalidOp);
}

/// All of a module.
bool GraphView::isSelected(std::uint32_t node) const {
    return std::ranges::all_of(m_scene->nodes[node].ops(), [&](OpId op) { return std::ranges::binary_search(m_selection, op); });
}

/// Something of it.
bool GraphView::holdsSelected(std::uint32_t node) const {
    return std::ranges::any_of(m_scene->nodes[node].ops(), [&](OpId op) { return std::ranges::binary_search(m_selection, op); });
}

std::vector<std::uint32_t> GraphView::selectedNodes() const {
    std::vector<std::uint32_t> nodes;
    for (const OpId op : m_selection) {
        if (const int node = nodeOf(op); node >= 0) nodes.push_back(static_cast<std::uint32_t>(node));
    }
    std::ranges::sort(nodes);
    nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
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
        while (module != ScopeTree::kRoot && !tree.scopes[module].can_close()) module = tree.scopes[module].parent;
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
    openModules(selectedNodes());
}

void GraphView::closeSelectedModules() {
    QStringList paths;
    for (const std::uint32_t module : openRoundSelection()) paths << QString::fromStdString(m_scene->modules.scopes[module].path);
    if (!paths.isEmpty()) requestModules(paths, false, m_selection.front());
}

void GraphView::openModules(const std::vector<std::uint32_t>& nodes) {
    QStringList paths;
    OpId stays = kInvalidOp;
    for (const std::uint32_t node : nodes) {
        if (!m_scene->nodes[node].isModule()) continue;
        paths << m_scene->nodes[node].module;
        if (stays != kInvalidOp) continue;
        const auto ops = m_scene->nodes[node].ops();
        const auto selected = std::ranges::find_if(ops, [&](OpId op) { return std::ranges::binary_search(m_selection, op); });
        stays = selected == ops.end() ? ops.front() : *selected;
    }
    if (!paths.isEmpty()) requestModules(paths, true, stays);
}

bool GraphView::openRound(OpId op) {
    const int node = nodeOf(op);
    if (node < 0 || !m_scene->nodes[static_cast<std::size_t>(node)].isModule()) return false;
    QStringList paths;
    const ScopeTree& tree = m_scene->modules;
    for (std::uint32_t module = tree.scope_of[op]; module != ScopeTree::kRoot; module = tree.scopes[module].parent)
        paths.prepend(QString::fromStdString(tree.scopes[module].path));
    requestModules(paths, true, op, true);
    return true;
}

void GraphView::requestModules(const QStringList& paths, bool open, OpId stays, bool zooms) {
    m_anchor = Anchor{stays, positionOf(stays), zooms};
    Q_EMIT modulesRequested(paths, open);
}

void GraphView::click(int node, Qt::KeyboardModifiers modifiers) {
    const bool toggles = modifiers & (Qt::ControlModifier | Qt::ShiftModifier);
    if (node < 0) {
        if (!toggles && !m_selection.empty()) editSelection({});
        return;
    }
    const auto clicked = m_scene->nodes[static_cast<std::size_t>(node)].ops();
    if (!toggles) return editSelection({clicked.begin(), clicked.end()});
    OpList ops = m_selection;
    if (isSelected(static_cast<std::uint32_t>(node))) {
        std::erase_if(ops, [&](OpId op) { return std::ranges::binary_search(clicked, op); });
    } else {
        ops.insert(ops.end(), clicked.begin(), clicked.end());
    }
    editSelection(std::move(ops));
}

bool GraphView::startDrag(QPoint global) {
    // A module of which a part is selected is dragged as far as that.
    if (!holdsSelected(static_cast<std::uint32_t>(m_pressedNode))) click(m_pressedNode, Qt::NoModifier);
    m_gesture = Gesture::drag;
    beginOpDrag(m_selection, global);
    return m_gesture == Gesture::drag;
}

void GraphView::cancelGesture() {
    const Gesture was = std::exchange(m_gesture, m_gesture == Gesture::none ? Gesture::none : Gesture::spent);
    if (was == Gesture::none) return;
    unsetCursor();
    update();
    if (was == Gesture::drag) cancelOpDrag();
}

QRectF GraphView::band() const {
    return QRectF(m_pressed, m_last).normalized();
}

void GraphView::mousePressEvent(QMouseEvent* event) {
    if (m_scene && m_gesture == Gesture::none && event->button() == Qt::RightButton) {
        // The menu that follows is about the op under the pointer.
        const int node = nodeUnder(event->position());
        if (node >= 0 && !holdsSelected(static_cast<std::uint32_t>(node))) click(node, Qt::NoModifier);
    }
    const bool pans = event->button() == Qt::MiddleButton;
    if (!m_scene || m_gesture != Gesture::none || (!pans && event->button() != Qt::LeftButton)) return event->ignore();
    m_pressed = m_last = event->position();
    m_pressedNode = nodeUnder(m_pressed);
    m_gesture = pans ? Gesture::pan : Gesture::press;
    if (pans) setCursor(Qt::ClosedHandCursor);
}

void GraphView::mouseMoveEvent(QMouseEvent* event) {
    const QPointF position = event->position();
    if (event->buttons() == Qt::NoButton) {
        cancelGesture();  // the release went elsewhere, to a dialog for instance
        m_gesture = Gesture::none;
        hover(nodeUnder(position));
        return;
    }
    if (m_gesture == Gesture::press) {
        if ((position - m_pressed).manhattanLength() < QApplication::startDragDistance()) return;
        if (event->modifiers() & Qt::ShiftModifier) {
            m_gesture = Gesture::band;
        } else if (m_pressedNode >= 0) {
            if (!startDrag(event->globalPosition().toPoint())) return;
        } else {
            m_gesture = Gesture::pan;
            setCursor(Qt::ClosedHandCursor);
        }
    }
    if (m_gesture == Gesture::pan) {
        const QPointF before(m_view.dx(), m_view.dy());
        panBy(position - m_last);
        // The remainder of rounding is kept for the next move, or the graph would creep away from the pointer.
        const QPointF moved = QPointF(m_view.dx(), m_view.dy()) - before, wanted = position - m_last;
        const bool held = (wanted - moved).manhattanLength() >= 2;
        m_last = held ? position : m_last + moved;
    } else if (m_gesture == Gesture::band) {
        m_last = position;
        update();
    } else if (m_gesture == Gesture::drag) {
        Q_EMIT opDragMoved(event->globalPosition().toPoint());
    }
}

void GraphView::mouseReleaseEvent(QMouseEvent* event) {
    const bool ends = event->button() == Qt::LeftButton || (event->button() == Qt::MiddleButton && m_gesture == Gesture::pan);
    if (!ends) return event->ignore();
    const Gesture was = std::exchange(m_gesture, Gesture::none);
    unsetCursor();
    if (was == Gesture::press) {
        click(m_pressedNode, event->modifiers());
    } else if (was == Gesture::band) {
        OpList ops = event->modifiers() & Qt::ControlModifier ? m_selection : OpList{};
        for (const std::uint32_t node : m_scene->nodesIn(m_view.inverted().mapRect(band()))) {
            ops.insert(ops.end(), m_scene->nodes[node].ops().begin(), m_scene->nodes[node].ops().end());
        }
        editSelection(std::move(ops));
    } else if (was == Gesture::drag) {
        dropOps(event->globalPosition().toPoint());
    }
}

void GraphView::mouseDoubleClickEvent(QMouseEvent* event) {
    const int node = event->button() == Qt::LeftButton ? nodeUnder(event->position()) : -1;
    if (node < 0) return;
    if (m_scene->nodes[static_cast<std::size_t>(node)].isModule()) {
        openModules({static_cast<std::uint32_t>(node)});
    } else {
        zoomTo({m_scene->nodes[static_cast<std::size_t>(node)].op});
    }
}

void GraphView::wheelEvent(QWheelEvent* event) {
    if (!m_scene) return event->ignore();
    const QPoint turned = event->angleDelta();
    if (std::abs(turned.x()) > std::abs(turned.y()) && !(event->modifiers() & Qt::AltModifier)) {
        panBy(QPointF(turned.x() / 2.0, 0));
    } else {
        // Alt turns a wheel sideways on some systems.
        zoomBy(std::pow(1.2, (turned.y() + turned.x()) / 120.0), event->position());
    }
    if (m_gesture == Gesture::none) hover(nodeUnder(event->position()));
    event->accept();
}

void GraphView::selectNeighbour(int key) {
    const std::vector<std::uint32_t> selected = selectedNodes();
    if (selected.size() != 1) {
        panBy({key == Qt::Key_Left    ? kKeyPan
               : key == Qt::Key_Right ? -kKeyPan
                                      : 0,
               key == Qt::Key_Up     ? kKeyPan
               : key == Qt::Key_Down ? -kKeyPan
                                     : 0});
        return;
    }
    const std::uint32_t at = selected.front();
    int next = -1;
    if (key == Qt::Key_Up || key == Qt::Key_Down) {
        double distance = 0;
        for (const auto& edge : m_scene->edges) {
            if ((key == Qt::Key_Up ? edge.to : edge.from) != at) continue;
            const std::uint32_t other = key == Qt::Key_Up ? edge.from : edge.to;
            const double d = std::abs(m_scene->nodes[other].rect.center().x() - m_scene->nodes[at].rect.center().x());
            if (next >= 0 && d >= distance) continue;
            next = static_cast<int>(other);
            distance = d;
        }
    } else {
        for (const auto& row : m_scene->rows) {
            const auto found = std::find(row.nodes.begin(), row.nodes.end(), at);
            if (found == row.nodes.end()) continue;
            if (key == Qt::Key_Left && found != row.nodes.begin()) next = static_cast<int>(*(found - 1));
            if (key == Qt::Key_Right && found + 1 != row.nodes.end()) next = static_cast<int>(*(found + 1));
        }
    }
    if (next < 0) return;
    click(next, Qt::NoModifier);
    panToShow(static_cast<std::uint32_t>(next));
}

void GraphView::keyPressEvent(QKeyEvent* event) {
    const auto modifiers = event->modifiers() & ~(Qt::KeypadModifier | Qt::ShiftModifier);
    const int key = event->key();
    const QPointF middle = room(m_view.m11()).center();
    if (key == Qt::Key_Escape && m_gesture != Gesture::none) {
        cancelGesture();
    } else if (!m_scene) {
        event->ignore();
    } else if (event->matches(QKeySequence::SelectAll)) {
        OpList ops;
        for (const auto& node : m_scene->nodes) ops.insert(ops.end(), node.ops().begin(), node.ops().end());
        editSelection(std::move(ops));
    } else if (modifiers != Qt::NoModifier) {
        event->ignore();
    } else if (key == Qt::Key_Escape && !m_selection.empty()) {
        editSelection({});
    } else if (key >= Qt::Key_1 && key <= Qt::Key_9 && !m_selection.empty()) {
        Q_EMIT deviceKeyPressed(key - Qt::Key_0);
    } else if ((key == Qt::Key_Return || key == Qt::Key_Enter) && canOpenModules()) {
        openSelectedModules();
    } else if (key == Qt::Key_Backspace && canCloseModules()) {
        closeSelectedModules();
    } else if (key == Qt::Key_Plus || key == Qt::Key_Equal) {
        zoomBy(1.25, middle);
    } else if (key == Qt::Key_Minus) {
        zoomBy(1 / 1.25, middle);
    } else if (key == Qt::Key_F || key == Qt::Key_Home) {
        fit();
    } else if (key == Qt::Key_PageUp || key == Qt::Key_PageDown) {
        panBy({0, kPage * height() * (key == Qt::Key_PageUp ? 1 : -1)});
    } else if (key == Qt::Key_Left || key == Qt::Key_Right || key == Qt::Key_Up || key == Qt::Key_Down) {
        selectNeighbour(key);
    } else {
        event->ignore();
    }
}

void GraphView::leaveEvent(QEvent*) {
    if (m_gesture == Gesture::none) hover(-1);
}

void GraphView::resizeEvent(QResizeEvent* event) {
    m_layerValid = false;
    updateMinimap();
    if (m_fit != Fit::kept) return applyFit();
    if (!event->oldSize().isValid()) return;
    const QSizeF grown = event->size() - event->oldSize();
    setView(m_view.m11(), QPointF(m_view.dx() + grown.width() / 2, m_view.dy() + grown.height() / 2));
}

void GraphView::hideEvent(QHideEvent*) {
    cancelGesture();
}

void GraphView::focusInEvent(QFocusEvent*) {
    update();
}

void GraphView::focusOutEvent(QFocusEvent*) {
    update();
}

bool GraphView::event(QEvent* event) {
    switch (event->type()) {
        case QEvent::ToolTip: {
            const auto* help = static_cast<QHelpEvent*>(event);
            const int node = m_gesture == Gesture::none ? nodeUnder(help->pos()) : -1;
            const QString text = node < 0 ? QString() : textOf(static_cast<std::uint32_t>(node));
            if (text.isEmpty()) {
                QToolTip::hideText();
                event->ignore();
            } else {
                QToolTip::showText(help->globalPos(), text, this, rectInView(static_cast<std::uint32_t>(node), m_view).toAlignedRect());
            }
            return true;
        }
        case QEvent::PaletteChange:
        case QEvent::StyleChange:
            redraw();
            break;
        case QEvent::FontChange:
            std::fill(m_labelWidths.begin(), m_labelWidths.end(), -1.0F);
            redraw();
            break;
        case QEvent::WindowDeactivate:
            if (m_gesture == Gesture::drag) cancelGesture();
            break;
        default:
            break;
    }
    return OpView::event(event);
}

// --- painting ---

void GraphView::redraw() {
    m_layerValid = false;
    colorMinimap();
    update();
}

DeviceId GraphView::deviceOf(std::uint32_t node) const {
    return m_shares[node].empty() ? deviceOfOp(m_scene->nodes[node].op) : m_shares[node].front().device;
}

bool GraphView::crosses(const GraphScene::Edge& edge) const {
    if (edge.links.empty()) return deviceOf(edge.from) != deviceOf(edge.to);
    return std::ranges::any_of(edge.links, [&](const auto& link) { return deviceOfOp(link.first) != deviceOfOp(link.second); });
}

/// The tooltip of a node.
QString GraphView::textOf(std::uint32_t node) const {
    const GraphScene::Node& shown = m_scene->nodes[node];
    if (!shown.isModule()) return toolTipFor(shown.op);
    QStringList lines{QStringLiteral("<b>%1</b>").arg(shown.module.toHtmlEscaped()), shown.detail};
    for (const Share& share : m_shares[node]) {
        if (!m_machine || share.device >= m_machine->devices().size()) continue;
        lines << tr("%1 % of its time on %2")
                     .arg(100 * share.part, 0, 'f', 0)
                     .arg(QString::fromStdString(m_machine->device(share.device).name).toHtmlEscaped());
    }
    lines << tr("<i>Double-click or Return opens the module.</i>");
    return lines.join(QStringLiteral("<br>"));
}

GraphView::DeviceStyle GraphView::deviceStyle(DeviceId device) const {
    const QColor base = palette().color(QPalette::Base), text = palette().color(QPalette::Text);
    const bool known = m_machine && device < m_machine->devices().size();
    const QColor color = known ? deviceColor(*m_machine, device) : mixedColor(base, text, 0.12F);
    return {known ? deviceBrush(*m_machine, device) : QBrush(color), color, mixedColor(color, text, 0.4F), readableOn(color)};
}

void GraphView::paintEdges(QPainter& painter, const QTransform& view, const QRectF& area, const Detail& detail) const {
    const QColor base = palette().color(QPalette::Base), text = palette().color(QPalette::Text);
    // Edges within a device stay in the background; those between devices, which cost time, stand out.
    const float faint = isDark(palette()) ? 0.58F : 0.68F;
    std::array colors{mixedColor(text, base, faint), mixedColor(text, base, detail.edgeStyles ? 0.1F : 0.4F)};
    const auto colorOf = [&](bool crosses, bool dimmed) { return dimmed ? mixedColor(colors[crosses], base, 0.7F) : colors[crosses]; };
    const auto dimmed = [&](const GraphScene::Edge& edge) { return isDimmed(edge.from) || isDimmed(edge.to); };
    const QRectF reach = area.adjusted(-8, -8, 8, 8);
    const QRectF visible = view.inverted().mapRect(reach);

    if (!detail.edgeStyles) {
        std::array<QVector<QLineF>, 4> lines;  // by 2 * crosses + !dimmed: the most important ones last
        std::size_t count = 0;
        for (const auto& edge : m_scene->edges) count += edge.box.intersects(visible) || visible.contains(edge.box.topLeft());
        const std::size_t step = 1 + count / kEdgesFromAfar;
        std::size_t seen = 0;
        for (const auto& edge : m_scene->edges) {
            if (!edge.box.intersects(visible) && !visible.contains(edge.box.topLeft())) continue;
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
        // Where they would fill the view they make way for the nodes.
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
        if (!edge.box.adjusted(-1, 0, 1, 0).intersects(visible)) continue;
        const std::size_t step = widthStep(edge.bytes);
        auto& style = styles[(2 * std::size_t{crosses(edge)} + !dimmed(edge)) * kEdgeWidths.size() + step];
        const QPointF tip = view.map(edge.line.back());
        const QPointF before = view.map(edge.line[edge.line.size() - 2]);
        const QPointF end = detail.arrows ? arrowBase(before, tip, (4 + 1.6 * kEdgeWidths[step]) * thickness) : tip;
        style.lines.moveTo(view.map(edge.line.front()));
        for (int i = 1; i + 1 < edge.line.size(); ++i) style.lines.lineTo(view.map(edge.line[i]));
        style.lines.lineTo(end);
        if (detail.arrows) addArrow(style.arrows, end, tip);
    }
    painter.setRenderHint(QPainter::Antialiasing);
    for (std::size_t i = 0; i < styles.size(); ++i) {
        if (styles[i].lines.isEmpty()) continue;
        const std::size_t kind = i / kEdgeWidths.size();
        const QColor color = colorOf(kind >= 2, kind % 2 == 0);
        QPen pen(color, kEdgeWidths[i % kEdgeWidths.size()] * thickness, Qt::SolidLine, Qt::FlatCap, Qt::RoundJoin);
        if (kind >= 2) pen.setDashPattern({6 / pen.widthF() * thickness, 4 / pen.widthF() * thickness});
        painter.strokePath(styles[i].lines, pen);
        painter.fillPath(styles[i].arrows, color);
    }
}

void GraphView::paintNodes(QPainter& painter, const QTransform& view, const std::vector<std::uint32_t>& nodes, const Detail& detail) const {
    const std::size_t devices = m_machine ? m_machine->devices().size() : 0;
    std::vector<QVector<QRectF>> groups(2 * (devices + 1));  // by device (the last: none) and whether it is dimmed
    const double least = 1 / painter.device()->devicePixelRatioF();
    if (detail.rounded) paintStacks(painter, view, nodes, detail);
    for (const std::uint32_t node : nodes) {
        QRectF shown = rectInView(node, view);
        if (shown.height() < least) shown.setHeight(least);
        if (shown.width() < least) shown.setWidth(least);
        groups[2 * std::min<std::size_t>(deviceOf(node), devices) + isDimmed(node)].append(shown);
    }
    const QColor base = palette().color(QPalette::Base);
    const double radius = 0.22 * detail.scale * m_scene->nodes.front().rect.height();
    const bool withoutTextures = painter.paintEngine()->type() == QPaintEngine::SVG;
    painter.setRenderHint(QPainter::Antialiasing, detail.rounded);
    for (std::size_t group = 0; group < groups.size(); ++group) {
        if (groups[group].isEmpty()) continue;
        const bool dimmed = group % 2 != 0;
        const DeviceStyle style = deviceStyle(static_cast<DeviceId>(group / 2));
        painter.setBrush(dimmed ? QBrush(mixedColor(style.color, base, 0.8F)) : withoutTextures ? QBrush(style.color) : style.fill);
        if (!detail.rounded) {
            painter.setPen(Qt::NoPen);
            painter.drawRects(groups[group]);
            continue;
        }
        painter.setPen(QPen(dimmed ? mixedColor(style.border, base, 0.7F) : style.border, std::clamp(detail.scale, 0.5, 1.5)));
        for (const QRectF& shown : groups[group]) painter.drawRoundedRect(shown, radius, radius);
        if (!withoutTextures || dimmed || group / 2 >= devices) continue;
        painter.setPen(QPen(hatchColor(style.color), 1));
        for (const QRectF& shown : groups[group]) {
            const double inset = 0.3 * radius;  // clear of the round corners
            painter.drawLines(deviceHatch(*m_machine, static_cast<DeviceId>(group / 2), shown.adjusted(inset, inset, -inset, -inset)));
        }
    }
    for (const std::uint32_t node : nodes) {
        if (m_shares[node].size() > 1) paintShares(painter, rectInView(node, view), node, detail);
    }
}

/// A module is a stack of ops: two edges show under its node.
void GraphView::paintStacks(QPainter& painter, const QTransform& view, const std::vector<std::uint32_t>& nodes,
                            const Detail& detail) const {
    painter.setRenderHint(QPainter::Antialiasing);
    const double step = 2.5 * detail.scale, radius = 0.22 * detail.scale * m_scene->nodes.front().rect.height();
    for (const std::uint32_t node : nodes) {
        if (!m_scene->nodes[node].isModule()) continue;
        const DeviceStyle style = deviceStyle(deviceOf(node));
        const QColor base = palette().color(QPalette::Base);
        painter.setPen(QPen(isDimmed(node) ? mixedColor(style.border, base, 0.7F) : style.border, std::clamp(detail.scale, 0.5, 1.5)));
        painter.setBrush(mixedColor(style.color, base, isDimmed(node) ? 0.9F : 0.6F));
        const QRectF shown = rectInView(node, view);
        for (const int depth : {2, 1}) {
            const double inset = 2 * step * depth;
            painter.drawRoundedRect(shown.adjusted(inset, step * depth, -inset, step * depth), radius, radius);
        }
    }
}

/// The devices of a module that is on several, by their parts of its time.
void GraphView::paintShares(QPainter& painter, const QRectF& shown, std::uint32_t node, const Detail& detail) const {
    const QColor base = palette().color(QPalette::Base);
    const bool dimmed = isDimmed(node), withoutTextures = painter.paintEngine()->type() == QPaintEngine::SVG;
    const double radius = detail.rounded ? 0.22 * shown.height() : 0;
    QPainterPath outline;
    outline.addRoundedRect(shown, radius, radius);
    double left = shown.left();
    painter.setRenderHint(QPainter::Antialiasing, detail.rounded);
    for (const Share& share : m_shares[node]) {
        const DeviceStyle style = deviceStyle(share.device);
        QPainterPath part;
        part.addRect(QRectF(left, shown.top(), share.part * shown.width(), shown.height()));
        painter.fillPath(detail.rounded ? outline.intersected(part) : part, dimmed            ? QBrush(mixedColor(style.color, base, 0.8F))
                                                                            : withoutTextures ? QBrush(style.color)
                                                                                              : style.fill);
        left += share.part * shown.width();
    }
    if (!detail.rounded) return;
    const DeviceStyle style = deviceStyle(deviceOf(node));
    painter.strokePath(outline, QPen(dimmed ? mixedColor(style.border, base, 0.7F) : style.border, std::clamp(detail.scale, 0.5, 1.5)));
}

double GraphView::labelWidth(std::uint32_t node) const {
    float& width = m_labelWidths[node];
    if (width < 0) width = static_cast<float>(QFontMetricsF(withPixels(font(), kMeasuredAt)).horizontalAdvance(m_scene->nodes[node].label));
    return width;
}

/// The label behind as many of its innermost modules as fit: "Mixed_5b/branch1x1 conv"; empty if none does.
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

void GraphView::paintLabels(QPainter& painter, const QTransform& view, const std::vector<std::uint32_t>& nodes,
                            const Detail& detail) const {
    const QColor base = palette().color(QPalette::Base), text = palette().color(QPalette::Text);
    const double nodeHeight = detail.scale * m_scene->nodes.front().rect.height();
    // Letters stop growing where they read well: what a closer look gives beyond that is room for longer names.
    const double largest = kLargestLabel * QFontInfo(font()).pixelSize();
    const QFont labelFont = withPixels(font(), std::min(nodeHeight * (detail.kinds ? 0.36 : 0.48), largest));
    const QFont kindFont = withPixels(font(), std::min(nodeHeight * 0.27, 0.75 * largest));
    const QFontMetricsF labelMetrics(labelFont), kindMetrics(kindFont);
    std::vector<QColor> colors;
    for (std::size_t device = 0; device <= (m_machine ? m_machine->devices().size() : 0); ++device) {
        colors.push_back(deviceStyle(static_cast<DeviceId>(device)).text);
    }
    QColor plate = base;
    plate.setAlphaF(0.75F);
    const auto draw = [&](const QString& line, const QFontMetricsF& metrics, double natural, const QRectF& room, bool onPlate) {
        const bool fits = natural <= room.width();
        const QString shown = fits ? line : metrics.elidedText(line, Qt::ElideMiddle, room.width());
        const double width = fits ? natural : metrics.horizontalAdvance(shown);
        if (onPlate) {
            QRectF behind(0, 0, width + 0.5 * metrics.ascent(), std::min(metrics.ascent() + metrics.descent(), room.height()));
            behind.moveCenter(room.center());
            painter.fillRect(behind, plate);
        }
        painter.drawText(QPointF(room.center().x() - width / 2, room.center().y() + (metrics.ascent() - metrics.descent()) / 2), shown);
    };
    for (const bool kinds : {false, true}) {
        if (kinds && !detail.kinds) break;
        painter.setFont(kinds ? kindFont : labelFont);
        for (const std::uint32_t node : nodes) {
            const auto& drawn = m_scene->nodes[node];
            QRectF room = rectInView(node, view).adjusted(3 * detail.scale, 0, -3 * detail.scale, 0);
            if (detail.kinds)
                room = kinds ? room.adjusted(0, 0.56 * room.height(), 0, -0.08 * room.height())
                             : room.adjusted(0, 0.1 * room.height(), 0, -0.42 * room.height());
            const QColor color = colors[std::min<std::size_t>(deviceOf(node), colors.size() - 1)];
            const bool onPlate = m_shares[node].size() > 1;  // no colour of letters is readable on all devices' colours
            painter.setPen(isDimmed(node) ? mixedColor(text, base, 0.6F) : onPlate ? text : color);
            if (kinds) {
                draw(drawn.detail, kindMetrics, kindMetrics.horizontalAdvance(drawn.detail), room, onPlate);
            } else if (const QString scoped = detail.kinds ? scopedLabel(node, labelMetrics, room.width()) : QString(); !scoped.isEmpty()) {
                draw(scoped, labelMetrics, labelMetrics.horizontalAdvance(scoped), room, onPlate);
            } else {
                draw(drawn.label, labelMetrics, labelWidth(node) * labelFont.pixelSize() / kMeasuredAt, room, onPlate);
            }
        }
    }
}

GraphView::Detail GraphView::detailAt(const QTransform& view, const QRectF& area) const {
    if (!m_scene || m_scene->nodes.empty()) return {};
    std::size_t nodes = 0;
    m_scene->forNodesIn(view.inverted().mapRect(area), [&](std::uint32_t) { ++nodes; });
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

void GraphView::paintLayer(QPainter& painter, const QTransform& view, const QRectF& area, const Detail& detail) const {
    painter.fillRect(area, palette().color(QPalette::Base));
    if (!m_scene || m_scene->nodes.empty()) return;
    const auto nodes = m_scene->nodesIn(view.inverted().mapRect(area.adjusted(-8, -8, 8, 8)));
    paintEdges(painter, view, area, detail);
    paintNodes(painter, view, nodes, detail);
    if (detail.labels) paintLabels(painter, view, nodes, detail);
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

void GraphView::paintMarks(QPainter& painter) const {
    const QColor base = palette().color(QPalette::Base), text = palette().color(QPalette::Text),
                 highlight = palette().color(QPalette::Highlight);
    const QRectF area = QRectF(rect()).adjusted(-8, -8, 8, 8);
    painter.setBrush(Qt::NoBrush);
    if (m_hovered >= 0) {
        const auto node = static_cast<std::uint32_t>(m_hovered);
        QPainterPath path;
        for (const auto& edge : m_scene->edges) {
            if (edge.from == node || edge.to == node) path.addPolygon(m_view.map(edge.line));
        }
        painter.setRenderHint(QPainter::Antialiasing);
        painter.strokePath(path, QPen(highlight, 2, Qt::SolidLine, Qt::FlatCap, Qt::RoundJoin));
    }
    QVector<QRectF> selected, partly;
    for (const std::uint32_t node : selectedNodes()) {
        const QRectF shown = rectInView(node, m_view);
        if (shown.intersects(area)) (isSelected(node) ? selected : partly).append(shown.adjusted(-2.5, -2.5, 2.5, 2.5));
    }
    // A ring of the background between node and outline: it is seen whatever the node's colour.
    painter.setRenderHint(QPainter::Antialiasing, selected.size() < 500);
    painter.setPen(QPen(base, 2, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
    for (QRectF& shown : selected) shown.adjust(1.25, 1.25, -1.25, -1.25);
    painter.drawRects(selected);
    painter.setPen(QPen(highlight, 3, Qt::SolidLine, Qt::SquareCap, Qt::RoundJoin));
    for (QRectF& shown : selected) shown.adjust(-2, -2, 2, 2);
    painter.drawRects(selected);
    // Of these modules a part is selected.
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

void GraphView::paintEvent(QPaintEvent*) {
    updateLayer();
    QPainter painter(this);
    painter.drawPixmap(QPointF(0, 0), m_layer);
    if (m_scene && !m_scene->nodes.empty()) {
        paintMarks(painter);
    } else {
        painter.setPen(mutedColor(palette()));
        painter.drawText(rect().adjusted(24, 24, -24, -24), Qt::AlignCenter | Qt::TextWordWrap, m_emptyText);
    }
    if (hasFocus()) {
        painter.setRenderHint(QPainter::Antialiasing, false);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(mixedColor(palette().color(QPalette::Base), palette().color(QPalette::Highlight), 0.6F));
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
}

QSizeF GraphView::wholeSize() const {
    return m_scene ? m_scene->bounds.size() + QSizeF(2 * kMargin, 2 * kMargin) : QSizeF(size());
}

void GraphView::renderWhole(QPainter& painter, const QRectF& target) const {
    painter.save();
    const double scale = m_scene ? fittingScale(wholeSize(), target.size()) : 1;
    const QPointF translation = m_scene ? target.center() - m_scene->bounds.center() * scale : QPointF();
    const QTransform view(scale, 0, 0, scale, translation.x(), translation.y());
    painter.setClipRect(target, Qt::IntersectClip);
    paintLayer(painter, view, target, detailAt(view, target));
    painter.restore();
}

}  // namespace placewright
