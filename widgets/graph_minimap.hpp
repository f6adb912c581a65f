// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <QImage>
#include <QWidget>

#include "widgets/graph_scene.hpp"

namespace placewright {

/// Shows the whole graph in a small box, with a frame around the part that the view shows. Click, drag and
/// wheel move the view. A long thin graph is stretched, so that rows of ops stay distinct as long as there
/// are enough pixels.
class GraphMinimap : public QWidget {
    Q_OBJECT
public:
    explicit GraphMinimap(QWidget* parent);

    /// Resets the colours.
    void setScene(std::shared_ptr<const GraphScene> scene);
    /// `colors[node]`: colour of a node of the scene. Takes less than a millisecond for 10 000 nodes.
    void setColors(std::vector<QRgb> colors);
    /// The area that the view shows, in coordinates of the scene.
    void setShownArea(const QRectF& area);

    /// Size of the map for a graph of size `graph` in a view of size `view`: a column of the view's height,
    /// or a lower box for a shorter graph. Empty if that would be more than half of the view.
    static QSize sizeFor(QSizeF graph, QSize view);

    /// Converts between a point of the scene and its position on the map.
    QPointF toMap(QPointF scenePoint) const;
    QPointF toScene(QPointF position) const;

Q_SIGNALS:
    /// The user asks for the view to be centred on this point of the scene.
    void centreRequested(QPointF scenePoint);
    /// The pointer entered the map.
    void entered();

protected:
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void changeEvent(QEvent*) override;
    void enterEvent(QEnterEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;
    void mouseDoubleClickEvent(QMouseEvent*) override;
    void wheelEvent(QWheelEvent*) override;

private:
    QRectF graphArea() const;
    QRectF frame() const;
    void redraw();
    void drawBackdrop();
    void drawPicture();

    std::shared_ptr<const GraphScene> m_scene;
    std::vector<QRgb> m_colors;
    QRectF m_shown;
    QPointF m_grabbed;  ///< from the pointer to the middle of the frame
    bool m_dragging = false;

    QImage m_backdrop;           ///< everything but the nodes; null: must be redrawn
    std::vector<QRect> m_cells;  ///< by node, in pixels of the backdrop
    QImage m_picture;            ///< null: must be redrawn
};

}  // namespace placewright
