// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "core/search/progress.hpp"
#include "widgets/heat_map_frame.hpp"

class QComboBox;
class QLabel;
class QVBoxLayout;

namespace placewright {

class ArchiveScrubber;

/// Where an archive comes from.
struct ArchiveSource {
    int run = 0;           ///< id of the run
    bool running = false;  ///< more snapshots of it follow
    /// Objective value on one device, whether or not it fits there, for the QD score; 0: not defined.
    double one_device_s = 0;
};

/// Returns whether two archives have the same grid of niches.
bool sameDimensions(const ArchiveView* a, const ArchiveView* b);
/// What a cell of the archive is, a line per dimension, and the value of its elite.
QString describeElite(const ArchiveView& archive, const ArchiveView::Elite& elite, const QString& objective);
/// Position of a cell along a dimension.
std::uint32_t positionAlong(const ArchiveView& archive, std::uint32_t cell, std::size_t dimension);
/// Name of a position along a dimension.
QString positionLabel(const ArchiveView::Dimension& dimension, std::uint32_t position);

/// Shows a MAP-Elites archive as a heat map over two chosen dimensions. Each further dimension has a slider
/// that selects one of its values, or the best over all of them. Arrow keys move over the cells, Enter
/// activates the elite of the current cell. A scrubber goes back through the search;
/// colours keep their meaning meanwhile, and while a search runs.
class ArchiveMap : public HeatMapFrame {
    Q_OBJECT
public:
    explicit ArchiveMap(QWidget* parent = nullptr);
    /// Keeps the chosen dimensions and slider positions if `archive` has the same dimensions as the last one,
    /// and the framed cell if it is of the same run. O(elites + niches on screen + history): called while a
    /// search runs. Null shows the empty page.
    void setArchive(std::shared_ptr<const ArchiveView> archive, ArchiveSource source = {});
    /// A cell that was activated is framed no longer than its elite is on screen.
    void setPlacementOnScreen(const Placement& placement);
    /// Title of the objective that elites are scored by: "Step time".
    void setObjective(const QString& title);
    /// The dimensions along x and y; -1: none.
    std::array<int, 2> axes() const { return m_axes; }
    /// Shows these dimensions, if the archive has both.
    void setAxes(int x, int y);

Q_SIGNALS:
    void axesChanged();  ///< by the user
    /// A cell was clicked, or Enter was pressed on it: its elite's placement and objective value in seconds.
    void eliteActivated(std::shared_ptr<const placewright::Placement> placement, double stepTime);

private:
    bool hasDimensions() const { return m_archive && !m_archive->dimensions.empty(); }
    /// Number of cells along x (`axis` 0) or y (1); 1 along y for a one-dimensional archive.
    int cellsAlong(int axis) const;
    /// Position along `dimension` of the archive's cell `cell`.
    int coordinate(std::uint32_t cell, int dimension) const;
    /// The elites at the chosen moment.
    const std::vector<ArchiveView::Elite>& elites() const { return m_past ? *m_past : m_archive->elites; }
    void updatePast();
    void updateScale();
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
    void updateFigures();
    void updateTicks();

    std::shared_ptr<const ArchiveView> m_archive;
    ArchiveSource m_source;
    std::optional<std::vector<ArchiveView::Elite>> m_past;  ///< without it, the present is shown
    double m_low_s = 0, m_high_s = 0;                       ///< of the colour scale; 0: not known yet
    std::optional<Cell> m_activated;
    std::shared_ptr<const Placement> m_activatedPlacement;
    QString m_objective = tr("Step time");
    std::array<int, 2> m_axes{0, -1};                ///< dimensions along x and y; -1: none
    std::vector<int> m_position;                     ///< by dimension: the slider's cell; -1: best over all
    std::vector<const ArchiveView::Elite*> m_shown;  ///< by y * cellsAlong(x) + x; null where empty

    std::array<QComboBox*, 2> m_choosers{};
    QWidget* m_controls = nullptr;
    QLabel *m_coverage = nullptr, *m_quality = nullptr, *m_best = nullptr, *m_misfits = nullptr;
    ArchiveScrubber* m_scrubber = nullptr;
    QVBoxLayout* m_sliders = nullptr;
};

}  // namespace placewright
