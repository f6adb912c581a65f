// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/sim/run_comparison.hpp"
#include "widgets/op_view.hpp"
#include "widgets/plot_frame.hpp"

class QCPItemStraightLine;

namespace placewright {

/// The measured time of each op against its simulated time, a dot each in the colour of the device where it
/// was measured, on log axes of the same range. A line shows where both are equal, a dashed one the typical
/// factor. A click selects the op under the pointer.
class MeasuredPlot : public PlotFrame {
    Q_OBJECT
public:
    explicit MeasuredPlot(QWidget* parent = nullptr);

    /// Ops without a simulated or a measured time have no dot. `problem` null: nothing was measured.
    void setData(std::shared_ptr<const Problem> problem, const RunComparison& comparison);
    void setSelection(const OpList& ops);
    /// Where the dot of an op is, in pixels of the plot; nothing if it has none.
    std::optional<QPointF> positionOf(OpId op) const;

Q_SIGNALS:
    void selectionEdited(const placewright::OpList& ops);

protected:
    void updateAxes() override;
    void updateStyle() override;
    void showValueAt(QPoint position) override;

private:
    struct Dot {
        OpId op = kInvalidOp;
        double simulated_s = 0, measured_s = 0;
        DeviceId device = 0;
    };
    QPointF pointOf(const Dot& dot) const;
    /// The dot nearest to a position, if it is near.
    const Dot* dotAt(QPoint position) const;
    void updateGraphs();
    void markSelection();

    std::shared_ptr<const Problem> m_problem;
    RunComparison m_comparison;
    std::vector<Dot> m_dots;  ///< by op
    OpList m_selection;
    double m_perSecond = 1e3;
    QString m_unit;
    QPoint m_pressed;
    QCPItemStraightLine *m_identity = nullptr, *m_typical = nullptr;
};

}  // namespace placewright
