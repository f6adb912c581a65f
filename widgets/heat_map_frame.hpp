// SPDX-License-Identifier: MIT
// What the heat maps share: a line of text above a colour map with its scale, cells that mouse and keyboard
// point at, and a text while there is nothing to show.
#pragma once

#include <optional>

#include <QPoint>
#include <QWidget>

class QCPColorGradient;
class QCPColorMap;
class QCPColorScale;
class QCPPainter;
class QCustomPlot;
class QLabel;
class QPainter;
class QStackedWidget;
class QVBoxLayout;

namespace placewright {

/// Base of the heat maps. A click, or Enter on the cell that the arrow keys have reached, activates a cell;
/// its description is its tooltip.
class HeatMapFrame : public QWidget {
    Q_OBJECT
public:
    /// Draws the header and the map.
    void renderWhole(QPainter& painter, const QRect& target) const;
    QCustomPlot* plot() const { return m_plot; }
    /// Names the run whose result is shown, before the header. Empty: none.
    void setRun(const QString& title);
    /// Text of the page that is shown while there is nothing to draw; empty: the usual one.
    void setEmptyText(const QString& text);
    bool isEmpty() const;

protected:
    /// A cell of the map, or a whole column (y = 0).
    struct Cell {
        int x = 0, y = 0;
        bool operator==(const Cell&) const = default;
    };

    /// The empty page is shown at first.
    HeatMapFrame(const QString& accessibleName, const QString& emptyText, const QCPColorGradient& gradient,
                 QWidget* parent);

    QCPColorMap* map() const { return m_map; }
    QCPColorScale* scale() const { return m_scale; }
    /// Makes the cells of the map, all NaN.
    void setMapSize(int columns, int rows);
    /// Adds a widget between the header and the plot.
    void addAbove(QWidget* widget);
    void setHeader(const QString& text);
    /// Shows the plot and its header, or the empty page.
    void setEmpty(bool empty);
    void redraw();

    /// The cell that is framed; Enter activates it.
    std::optional<Cell> current() const { return m_current; }
    void setCurrent(std::optional<Cell> cell);

    /// The cell at a position, in pixels of the plot.
    virtual std::optional<Cell> cellAt(QPointF position) const = 0;
    /// In pixels of the plot.
    virtual QRectF cellRect(Cell cell) const = 0;
    /// The cell that a key moves to; none if the key does not move.
    virtual std::optional<Cell> cellAfter(int key) const = 0;
    /// Brings a cell that the keyboard has reached into view.
    virtual void reveal(Cell) {}
    /// Tooltip of a cell, as plain text.
    virtual QString describe(Cell cell) const = 0;
    virtual void activate(Cell cell) = 0;
    /// Gives all parts of the plot the colours of the palette and the font.
    virtual void updateStyle();
    /// Paints what the colour map cannot show, below the frame of the current cell.
    virtual void paintMarks(QCPPainter&) const {}

    void keyPressEvent(QKeyEvent*) override;
    bool eventFilter(QObject*, QEvent*) override;

private:
    void makePlot(const QString& accessibleName, const QCPColorGradient& gradient);
    void paintFrame(QCPPainter& painter) const;
    void showDescription(Cell cell, QPoint position);
    void showHeader();

    QString m_run, m_details;  ///< parts of the header
    std::optional<Cell> m_current;
    QPoint m_pressed;

    QVBoxLayout* m_layout = nullptr;
    QLabel *m_header = nullptr, *m_empty = nullptr;
    QString m_emptyText;  ///< the usual one
    QStackedWidget* m_pages = nullptr;
    QCustomPlot* m_plot = nullptr;
    QCPColorMap* m_map = nullptr;
    QCPColorScale* m_scale = nullptr;
};

}  // namespace placewright
