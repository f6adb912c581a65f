// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include <QPixmap>
#include <QStringList>
#include <QTransform>

#include "widgets/graph_scene.hpp"
#include "widgets/node_colors.hpp"
#include "widgets/op_view.hpp"

namespace placewright {

class GraphMinimap;

/// What a view shows of its graph.
struct GraphZoom {
    double scale = 1;
    QPointF centre;      ///< of the view, in the scene
    bool fitted = true;  ///< the whole graph is shown, whatever the size of the view

    bool operator==(const GraphZoom&) const = default;
};

/// Draws a graph coloured by device on one batch-painting canvas, with pan, zoom, hover and selection, and
/// with a minimap while the graph does not fit into the view. By itself it changes nothing but the view and
/// the selection.
class GraphView : public OpView {
    Q_OBJECT
public:
    explicit GraphView(QWidget* parent = nullptr);

    /// A null scene shows the empty text. The view is fitted to a new scene, except for one that answers
    /// modulesRequested: then the op that the request was about stays in its place.
    void setScene(std::shared_ptr<const GraphScene> scene, std::shared_ptr<const Machine> machine);
    /// Replaces the machine, which has other colours or names, and keeps the view.
    void setMachine(std::shared_ptr<const Machine> machine);
    void setEmptyText(const QString& text);
    /// `devices[op]`: device of each op (at least all forward ops). Edges between devices are drawn dashed.
    /// Cheap: called while a search runs.
    void setDevices(std::vector<DeviceId> devices);
    /// What colours the nodes in place of their devices; null: devices do. Edges between devices stay dashed.
    /// Cheap: called while a search runs.
    void setColors(std::shared_ptr<const NodeColors> colors);
    void setSelection(const OpList& ops);
    const OpList& selection() const { return m_selection; }
    void setHovered(OpId op);
    /// Ops that match the search text; other ops are dimmed while there are matches.
    void setMatches(const OpList& ops);

    /// Ops that keep their full colour while others are dimmed, as long as there are no matches; none: no op
    /// is dimmed.
    void setHighlighted(const std::optional<OpList>& ops);

    /// Ops that are drawn with a padlock: no search moves them.
    void setPinned(const OpList& ops);

    /// Ops that are outlined, as they differ from another placement; none: no op is.
    void setMarked(const OpList& ops);
    /// Sets whether the wheel moves the view, and zooms with Ctrl; otherwise it zooms.
    void setWheelScrolls(bool scrolls) { m_wheelScrolls = scrolls; }

    void fit();
    GraphZoom zoom() const;
    void setZoom(const GraphZoom& zoom);
    /// Whether the whole graph is shown, and stays so when the view is resized.
    bool isFitted() const { return m_fit == Fit::whole; }
    /// The part of the view that a fitted graph may fill.
    QSizeF roomForWhole() const;
    void zoomTo(const OpList& ops);
    /// Pans to the first of the ops if none of them is in view.
    void reveal(const OpList& ops);
    void zoomBy(double factor, QPointF at);
    double scale() const { return m_view.m11(); }
    QPointF toView(QPointF scenePoint) const { return m_view.map(scenePoint); }
    /// Centre of an op's node in view coordinates.
    QPointF positionOf(OpId op) const;

    // These emit modulesRequested; the view changes when setScene() delivers the new scene.

    /// Requests a scene in which the selected modules are open.
    void openSelectedModules();
    /// The same with all closed modules that have the same content as a selected one.
    void openEqualModules();
    /// Requests a scene in which all modules around `op` are open, and scrolls the op into view then. Returns
    /// false, without a request, if the op already has a node of its own.
    bool openRound(OpId op);
    /// Requests a scene in which the innermost modules around the selected nodes are closed.
    void closeSelectedModules();
    bool canOpenModules() const;
    bool canCloseModules() const;

    /// Draws the whole graph, not only the visible part, into `target`.
    void renderWhole(QPainter& painter, const QRectF& target) const;
    /// Size of the whole graph, for `target`.
    QSizeF wholeSize() const;

Q_SIGNALS:
    /// The user wants these modules opened (`open`; `paths` from the outermost inwards), or each drawn as one
    /// closed node.
    void modulesRequested(const QStringList& paths, bool open);
    /// The whole graph is to be shown in another room than before: the view was resized, or fitted again.
    void roomChanged();
    /// Scale or translation has changed.
    void zoomChanged();

protected:
    void paintEvent(QPaintEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;
    void mouseDoubleClickEvent(QMouseEvent*) override;
    void wheelEvent(QWheelEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void leaveEvent(QEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void hideEvent(QHideEvent*) override;
    void focusInEvent(QFocusEvent*) override;
    void focusOutEvent(QFocusEvent*) override;
    bool event(QEvent*) override;

private:
    enum class Gesture {
        none,
        press,  ///< of the left button on a node or the background, not moved yet
        pan,
        drag,
        band,
        spent  ///< cancelled; the button is still down
    };
    /// Effect of a resize on the view.
    enum class Fit { kept, whole };

    struct DeviceStyle {
        QBrush fill;
        QColor color, border, text;
    };
    /// Level of detail of the drawing.
    struct Detail {
        double scale = 1;
        bool rounded = false;  ///< nodes with border and round corners, smooth
        bool labels = false;
        bool kinds = false;       ///< a second line in each node
        bool edgeStyles = false;  ///< widths and dashes, smooth
        bool arrows = false;

        bool operator==(const Detail&) const = default;
    };

    int nodeUnder(QPointF position) const;
    int nodeOf(OpId op) const;
    QRectF rectInView(std::uint32_t node, const QTransform& view) const;
    DeviceStyle deviceStyle(DeviceId device) const;
    DeviceStyle styleOf(const QColor& color) const;
    // An ink is what nodes of one colour share: a device, or a step of the values.
    std::size_t inks() const;
    std::uint32_t inkOf(std::uint32_t node) const;
    DeviceStyle inkStyle(std::uint32_t ink) const;
    void inkNodes();
    /// The device that holds most of a module, by time.
    DeviceId deviceOf(std::uint32_t node) const;
    DeviceId deviceOfOp(OpId op) const { return op < m_devices.size() ? m_devices[op] : kInvalidDevice; }
    bool crosses(const GraphScene::Edge& edge) const;
    QString textOf(std::uint32_t node) const;
    void shareModules();
    bool isDimmed(std::uint32_t node) const {
        const auto& strong = m_matched.empty() ? m_highlighted : m_matched;
        return !strong.empty() && !strong[node];
    }
    std::vector<bool> nodesOf(const OpList& ops) const;

    /// Area for the graph beside the minimap, which is shown if the graph does not fit at this scale.
    QRectF room(double scale) const;
    QRectF roomBesideMinimap() const;
    bool overflows(double scale) const;
    void updateMinimap();
    void colorMinimap();
    void centreOn(QPointF scenePoint);

    void applyFit();
    /// Sets what the user sees, and keeps in the centre when the view is resized.
    void setView(double scale, QPointF translation);
    void place(double scale, QPointF translation);
    void panBy(QPointF pixels);
    void panToShow(std::uint32_t node);
    static double fittingScale(const QSizeF& content, const QSizeF& into);

    void editSelection(OpList ops);
    bool isSelected(std::uint32_t node) const;
    bool holdsSelected(std::uint32_t node) const;
    /// Indices in scene.modules of the innermost closable modules around the selected nodes.
    std::vector<std::uint32_t> openRoundSelection() const;
    std::vector<std::uint32_t> selectedNodes() const;
    /// These modules and the drawn ones of the same content, ascending.
    std::vector<std::uint32_t> withEqualModules(const std::vector<std::uint32_t>& nodes) const;
    /// `stays`: op that keeps its place.
    void openModules(const std::vector<std::uint32_t>& nodes, OpId stays);
    void requestModules(const QStringList& paths, bool open, OpId stays);
    void hover(int node);
    void selectNeighbour(int key);
    bool startDrag(QPoint global);
    void cancelGesture();
    QRectF band() const;
    void click(int node, Qt::KeyboardModifiers modifiers);

    void redraw();
    void updateLayer();
    Detail detailAt(const QTransform& view, const QRectF& area) const;
    void paintLayer(QPainter& painter, const QTransform& view, const QRectF& area,
                    const Detail& detail) const;
    void paintEdges(QPainter& painter, const QTransform& view, const QRectF& area,
                    const Detail& detail) const;
    void paintNodes(QPainter& painter, const QTransform& view, const std::vector<std::uint32_t>& nodes,
                    const Detail& detail) const;
    void paintStacks(QPainter& painter, const QTransform& view, const std::vector<std::uint32_t>& nodes,
                     const Detail& detail) const;
    std::vector<NodeInks::Part> partsOf(std::uint32_t node) const;
    /// A part of a node that is divided by devices or categories.
    struct Section {
        QRectF rect;
        std::uint32_t ink = 0;
    };
    static std::vector<double> partWidths(const std::vector<NodeInks::Part>& parts, double width);
    std::optional<Section> mainPart(std::uint32_t node, const QRectF& shown) const;
    void paintParts(QPainter& painter, const QRectF& shown, std::uint32_t node, const Detail& detail) const;
    void paintLabels(QPainter& painter, const QTransform& view, const std::vector<std::uint32_t>& nodes,
                     const Detail& detail) const;
    void paintLayerNames(QPainter& painter, const QTransform& view) const;
    void paintPadlocks(QPainter& painter, const QTransform& view, const std::vector<std::uint32_t>& nodes,
                       const Detail& detail) const;
    void paintMarked(QPainter& painter, double nodeHeight) const;
    void paintLegend(QPainter& painter, const QTransform& view, const QRectF& area, bool whole) const;
    void paintMarks(QPainter& painter) const;
    double labelWidth(std::uint32_t node) const;
    QString scopedLabel(std::uint32_t node, const QFontMetricsF& metrics, double width) const;

    std::shared_ptr<const GraphScene> m_scene;
    std::shared_ptr<const Machine> m_machine;
    std::vector<DeviceId> m_devices;
    struct Share {
        DeviceId device;
        double part;  ///< of the module's time
    };
    std::shared_ptr<const NodeColors> m_colors;  ///< null: nodes have the colours of their devices
    std::optional<NodeInks> m_inks;              ///< of m_colors, if there is a scene
    std::vector<std::vector<Share>> m_shares;    ///< by node, largest first; empty for ops
    struct Anchor {
        OpId op;
        QPointF position;  ///< in the view
    };
    std::optional<Anchor> m_anchor;  ///< until the requested scene arrives
    bool m_wheelScrolls = false;
    OpList m_selection;
    std::vector<bool> m_matched;      ///< by node; empty without a search text
    std::vector<bool> m_highlighted;  ///< by node; empty: nothing is dimmed
    OpList m_marked;
    OpList m_pinned;
    QTransform m_view;
    /// Of the scene, in the centre since the user moved it. A view that is small for a while, as beside the
    /// start page, holds it off the centre to keep a part of the graph in view.
    QPointF m_centre;
    Fit m_fit = Fit::whole;
    QString m_emptyText;
    GraphMinimap* m_minimap;
    int m_hovered = -1;

    Gesture m_gesture = Gesture::none;
    QPointF m_pressed, m_last;
    int m_pressedNode = -1;

    /// Everything but the marks (selection, hover, focus), painted for m_layerView: marks change often, the
    /// rest is costly to paint.
    QPixmap m_layer;
    QTransform m_layerView;
    Detail m_layerDetail;
    bool m_layerValid = false;
    mutable std::vector<float> m_labelWidths;  ///< by node, at kMeasuredAt pixels; negative: not measured yet
};

}  // namespace placewright
