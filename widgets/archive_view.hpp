// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include <QWidget>

#include "core/search/optimizer.hpp"
#include "widgets/plot_style.hpp"

class QComboBox;
class QCPColorMap;
class QCPColorScale;
class QCPPainter;
class QCustomPlot;
class QLabel;
class QPainter;
class QStackedWidget;
class QVBoxLayout;

namespace placewright {

/// A MAP-Elites archive as a heat map over two chosen dimensions; a slider walks through the third (or shows the best over it). Any further
/// dimension gets a slider too. Arrow keys move over the cells, Enter shows the elite there.
class ArchiveMap : public QWidget {
    Q_OBJECT
public:
    explicit ArchiveMap(QWidget* parent = nullptr);
    /// Keeps the chosen dimensions and slider positions while the dimensions stay the same. O(elites + niches on screen): called while a
    /// search runs.
    void setArchive(std::shared_ptr<const ArchiveView> archive);
    /// What elites are told apart by: "Step time".
    void setGoal(const QString& title);
    void renderWhole(QPainter& painter, const QRect& target) const;
    QCustomPlot* plot() const { return m_plot; }

Q_SIGNALS:
    /// The elite in a clicked cell.
    void eliteActivated(std::shared_ptr<const placewright::Placement> placement, double stepTime);

protected:
    void keyPressEvent(QKeyEvent*) override;
    bool eventFilter(QObject*, QEvent*) override;

private:
    struct Cell {
        int x = 0, y = 0;
        bool operator==(const Cell&) const = default;
    };

    bool hasDimensions() const { return m_archive && !m_archive->dimensions.empty(); }
    /// Cells along x (0) or y (1); 1 for a y that a one-dimensional archive does not have.
    int cellsAlong(int axis) const;
    /// Position of `cell` of the archive in dimension `dimension`.
    int coordinate(std::uint32_t cell, int dimension) const;
    QString cellLabel(int dimension, int position) const;
    const ArchiveView::Elite* eliteAt(Cell cell) const;
    QRectF cellRect(Cell cell) const;
    /// The cell at a position in the plot; where cells are tiny, a filled one close by.
    std::optional<Cell> cellAt(QPointF position) const;
    QString describe(Cell cell) const;

    void chooseDimension(int axis, int dimension);
    void rebuildControls();
    void rebuildSliders();
    void updateCells();
    void updateHeader();
    void updateTicks();
    void updateStyle();
    void paintOverlay(QCPPainter& painter) const;
    void setCurrent(std::optional<Cell> cell);
    void activate(Cell cell);

    std::shared_ptr<const ArchiveView> m_archive;
    QString m_goal = tr("Step time");
    std::array<int, 2> m_axes{0, -1};                ///< dimensions along x and y; -1: none
    std::vector<int> m_position;                     ///< by dimension: the slider's cell, -1 for the best over all
    std::vector<std::size_t> m_stride;               ///< by dimension
    std::vector<const ArchiveView::Elite*> m_shown;  ///< by y * cellsAlong(x) + x; null where empty
    std::optional<Cell> m_current;
    QPoint m_pressed;

    QLabel* m_header = nullptr;
    std::array<QComboBox*, 2> m_choosers{};
    QWidget* m_controls = nullptr;
    QVBoxLayout* m_sliders = nullptr;
    QStackedWidget* m_pages = nullptr;
    QWidget* m_empty = nullptr;
    QCustomPlot* m_plot = nullptr;
    QCPColorMap* m_map = nullptr;
    QCPColorScale* m_scale = nullptr;
};

}  // namespace placewright
