// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <QImage>
#include <QWidget>

#include "widgets/graph_scene.hpp"

namespace placewright {

/// The whole graph in a small box, with the part that the view shows framed. Click, drag and wheel move the view. A long thin graph is
/// stretched, so that every row of ops can be told apart as long as there are pixels.
class GraphMinimap : public QWidget {
    Q_OBJECT
public:
    explicit GraphMinimap(QWidget* parent);

    /// Resets the colours.
    void setScene(std::shared_ptr<const GraphScene> scene);
    /// By node of the scene. Below a millisecond for 10 000 nodes.
    void setColors(std::vector<QRgb> colors);
    /// What the view shows, in coordinates of the scene.
    void setShownArea(const QRectF& area);

    /// The size for a graph of size `graph` in a view of size `view`: a column of the view's height, or a lower box for a graph that is not
    /// that long. Nothing where that would be more than half of the view.
    static QSize sizeFor(QSizeF graph, QSize view);

    /// Where a point of the scene is drawn, and back.
    QPointF toMap(QPointF scenePoint) const;
    QPointF toScene(QPointF position) const;

Q_SIGNALS:
    /// The view is to show this point of the scene in its middle.
    void centreRequested(QPointF scenePoint);
    /// The pointer came in.
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

    QImage m_backdrop;           ///< all but the nodes; null: to be drawn
    std::vector<QRect> m_cells;  ///< of the nodes, in pixels of the backdrop
    QImage m_picture;            ///< null: to be drawn
};

}  // namespace placewright
