// SPDX-License-Identifier: MIT
#pragma once

#include "widgets/identity_plot.hpp"
#include "widgets/measured_runs.hpp"

class QLabel;

namespace placewright {

/// The measured step time of each run against the simulated step time of the placement that it had, with
/// their correlation below. A click chooses the run under the pointer. The keys of dots are ids of runs.
class StepsPlot : public IdentityPlot {
    Q_OBJECT
public:
    explicit StepsPlot(QWidget* parent = nullptr);

    /// Runs of unknown placement or without a step time have no dot. Null: there are no runs.
    void setMeasured(std::shared_ptr<const MeasuredRuns> measured);
    /// The id of the chosen run; 0: none.
    void setChosen(int id);

Q_SIGNALS:
    void runChosen(int id);

protected:
    QString seriesName(std::uint32_t series) const override;
    QColor seriesColor(std::uint32_t series) const override;
    QString textOf(const Dot& dot) const override;
    void clicked(const Dot* dot) override;

private:
    std::shared_ptr<const MeasuredRuns> m_measured;
    QLabel* m_figures = nullptr;
};

}  // namespace placewright
