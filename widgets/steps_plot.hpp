// SPDX-License-Identifier: MIT
#pragma once

#include "widgets/identity_plot.hpp"
#include "widgets/measured_placements.hpp"
#include "widgets/measured_runs.hpp"

class QLabel;

namespace placewright {

/// Colour of the dots of measured placements, on this background.
QColor placementColor(bool fastest, const QColor& background);

/// The measured step time of each run, and of each placement that was measured of a run, against the
/// simulated step time of the placement, with their correlation above. A click chooses the run or the
/// placement under the pointer, a double-click wants the placement shown. The fastest of the placements
/// stands out.
class StepsPlot : public IdentityPlot {
    Q_OBJECT
public:
    explicit StepsPlot(QWidget* parent = nullptr);

    /// Runs of unknown placement or without a step time have no dot. Null: there are no runs.
    void setMeasured(std::shared_ptr<const MeasuredRuns> measured);
    /// Null: there are none. O(dots), so that it may be called for each that is measured.
    void setPlacements(std::shared_ptr<const MeasuredPlacements> placements);
    /// The id of the chosen run; 0: none.
    void setChosen(int id);
    /// The index of the chosen placement.
    void setChosenPlacement(std::optional<std::size_t> index);
    using IdentityPlot::positionOf;
    std::optional<QPointF> positionOfPlacement(std::size_t index) const;

Q_SIGNALS:
    void runChosen(int id);
    void placementChosen(std::size_t index);
    /// The user wants this placement shown.
    void placementActivated(std::size_t index);

protected:
    QString seriesName(std::uint32_t series) const override;
    QColor seriesColor(std::uint32_t series) const override;
    Shape seriesShape(std::uint32_t series) const override;
    QString textOf(const Dot& dot) const override;
    void clicked(const Dot* dot) override;
    bool activated(const Dot& dot) override;

private:
    void showDots();
    void showMarks();

    std::shared_ptr<const MeasuredRuns> m_measured;
    std::shared_ptr<const MeasuredPlacements> m_placements;
    int m_chosen = 0;
    std::optional<std::size_t> m_chosenPlacement;
    QLabel* m_figures = nullptr;
};

}  // namespace placewright
