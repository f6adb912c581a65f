// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "core/sim/run_comparison.hpp"
#include "widgets/identity_plot.hpp"
#include "widgets/op_view.hpp"

namespace placewright {

/// The measured time of each op against its simulated time, a dot each in the colour of the device where it
/// was measured. A dashed line shows the typical factor. A click selects the op under the pointer. The keys
/// of dots are ids of ops.
class MeasuredPlot : public IdentityPlot {
    Q_OBJECT
public:
    explicit MeasuredPlot(QWidget* parent = nullptr);

    /// Ops without a simulated or a measured time have no dot. `problem` null: nothing was measured.
    void setData(std::shared_ptr<const Problem> problem, const RunComparison& comparison);
    void setSelection(const OpList& ops);

Q_SIGNALS:
    void selectionEdited(const placewright::OpList& ops);

protected:
    QString seriesName(std::uint32_t series) const override;
    QColor seriesColor(std::uint32_t series) const override;
    QString textOf(const Dot& dot) const override;
    void clicked(const Dot* dot) override;

private:
    std::shared_ptr<const Problem> m_problem;
};

}  // namespace placewright
