// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "core/search/progress.hpp"
#include "widgets/heat_map_frame.hpp"

class QComboBox;
class QVBoxLayout;

namespace placewright {

/// Shows a MAP-Elites archive as a heat map over two chosen dimensions. Each further dimension has a slider
/// that selects one of its values, or the best over all of them. Arrow keys move over the cells, Enter
/// activates the elite of the current cell.
class ArchiveMap : public HeatMapFrame {
    Q_OBJECT
public:
    explicit ArchiveMap(QWidget* parent = nullptr);
    /// Keeps the chosen dimensions and slider positions if `archive` has the same dimensions as the last one.
    /// O(elites + niches on screen): called while a search runs. Null shows the empty page.
    void setArchive(std::shared_ptr<const ArchiveView> archive);
    /// Title of the objective that elites are scored by: "Step time".
    void setObjective(const QString& title);

Q_SIGNALS:
    /// A cell was clicked, or Enter was pressed on it: its elite's placement and objective value in seconds.
    void eliteActivated(std::shared_ptr<const placewright::Placement> placement, double stepTime);

private:
    bool hasDimensions() const { return m_archive && !m_archive->dimensions.empty(); }
    /// Number of cells along x (`axis` 0) or y (1); 1 along y for a one-dimensional archive.
    int cellsAlong(int axis) const;
    /// Position along `dimension` of the archive's cell `cell`.
    int coordinate(std::uint32_t cell, int dimension) const;
    QString cellLabel(int dimension, int position) const;
    const ArchiveView::Elite* eliteAt(Cell cell) const;

    QRectF cellRect(Cell cell) const override;
    /// Where cells are tiny, a filled cell close by.
    std::optional<Cell> cellAt(QPointF position) const override;
    std::optional<Cell> cellAfter(int key) const override;
    QString describe(Cell cell) const override;
    void activate(Cell cell) override;
    void updateStyle() override;
    void paintMarks(QCPPainter& painter) const override;

    void makeControls();
    void chooseDimension(int axis, int dimension);
    void rebuildControls();
    void rebuildSliders();
    void updateCells();
    void updateHeader();
    void updateTicks();

    std::shared_ptr<const ArchiveView> m_archive;
    QString m_objective = tr("Step time");
    std::array<int, 2> m_axes{0, -1};                ///< dimensions along x and y; -1: none
    std::vector<int> m_position;                     ///< by dimension: the slider's cell; -1: best over all
    std::vector<std::size_t> m_stride;               ///< by dimension
    std::vector<const ArchiveView::Elite*> m_shown;  ///< by y * cellsAlong(x) + x; null where empty

    std::array<QComboBox*, 2> m_choosers{};
    QWidget* m_controls = nullptr;
    QVBoxLayout* m_sliders = nullptr;
};

}  // namespace placewright
