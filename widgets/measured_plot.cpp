// SPDX-License-Identifier: MIT
#include "widgets/measured_plot.hpp"

#include "widgets/measured_runs.hpp"
#include "widgets/palette.hpp"
#include "widgets/quantities.hpp"

namespace placewright {

MeasuredPlot::MeasuredPlot(QWidget* parent)
    : IdentityPlot(Legend::in_pictures, tr("Measured against simulated times of ops"),
                   tr("Fits the axes to all ops (or double-click the plot)"), tr("Simulated"), parent) {
    setEmptyText(tr("No op of this network was measured."));
    updateStyle();
}

void MeasuredPlot::setData(std::shared_ptr<const Problem> problem, const RunComparison& comparison) {
    if (m_problem != problem) follow();
    m_problem = std::move(problem);
    std::vector<Dot> dots;
    for (OpId op = 0; m_problem && op < comparison.ops.size(); ++op) {
        const ComparedOp& of = comparison.ops[op];
        if (of.runs > 0 && of.time.factor() > 0)
            dots.push_back({op, of.device, of.time.simulated_s, of.time.measured_s});
    }
    setTypical(comparison.typical_factor);
    setDots(std::move(dots));
}

void MeasuredPlot::setSelection(const OpList& ops) {
    setMarked(ops);
}

QString MeasuredPlot::seriesName(std::uint32_t series) const {
    return QString::fromStdString(m_problem->machine->device(series).name);
}

QColor MeasuredPlot::seriesColor(std::uint32_t series) const {
    return deviceColor(*m_problem->machine, series);
}

QString MeasuredPlot::textOf(const Dot& dot) const {
    return tr("%1 on %2\nmeasured %3, simulated %4: %5")
        .arg(QString::fromStdString(m_problem->graph->op(dot.key).name), seriesName(dot.series),
             secondsText(dot.measured_s), secondsText(dot.simulated_s),
             factorText(dot.measured_s / dot.simulated_s));
}

void MeasuredPlot::clicked(const Dot* dot) {
    Q_EMIT selectionEdited(dot != nullptr ? OpList{dot->key} : OpList());
}

}  // namespace placewright
