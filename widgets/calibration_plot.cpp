// SPDX-License-Identifier: MIT
#include "widgets/calibration_plot.hpp"

#include <utility>

#include <QComboBox>

#include "widgets/measured_runs.hpp"
#include "widgets/plot_style.hpp"
#include "widgets/qcustomplot_header.hpp"
#include "widgets/quantities.hpp"

namespace placewright {
namespace {

constexpr std::uint32_t kFitted = 0, kHeldOut = 1;  // series

}  // namespace

CalibrationPlot::CalibrationPlot(QWidget* parent)
    : IdentityPlot(Legend::on_screen, tr("Measured against predicted times of ops"),
                   tr("Fits the axes to all ops (or double-click the plot)"), tr("Predicted"), parent) {
    setEmptyText(tr("No op of the cost model was measured."));
    m_when = addChoice(
        QStringLiteral("predictedWhen"), {tr("After the fit"), tr("Before the fit")}, tr("Predicted"),
        tr("Times as they are predicted with the fitted costs, or with those that the machine has"));
    connect(m_when, &QComboBox::currentIndexChanged, this, &CalibrationPlot::showOps);
    updateStyle();
}

void CalibrationPlot::setOps(std::vector<CalibratedOp> ops) {
    m_ops = std::move(ops);
    follow();
    showOps();
}

double CalibrationPlot::predicted_s(const CalibratedOp& op) const {
    return m_when->currentIndex() == 0 ? op.after_s : op.before_s;
}

void CalibrationPlot::showOps() {
    std::vector<Dot> dots;
    for (std::size_t i = 0; i < m_ops.size(); ++i) {
        const CalibratedOp& op = m_ops[i];
        if (op.measured_s > 0 && predicted_s(op) > 0)
            dots.push_back({static_cast<std::uint32_t>(i), op.heldOut ? kHeldOut : kFitted, predicted_s(op),
                            op.measured_s});
    }
    setDots(std::move(dots));
}

QString CalibrationPlot::seriesName(std::uint32_t series) const {
    return series == kHeldOut ? tr("Held out") : tr("Fitted");
}

QColor CalibrationPlot::seriesColor(std::uint32_t series) const {
    return runColor(static_cast<int>(series), plot()->palette().color(QPalette::Base));
}

IdentityPlot::Shape CalibrationPlot::seriesShape(std::uint32_t series) const {
    return series == kHeldOut ? Shape::triangle : Shape::circle;
}

QString CalibrationPlot::textOf(const Dot& dot) const {
    const CalibratedOp& op = m_ops[dot.key];
    return tr("%1 (%2, %3)\nmeasured %4, predicted %5: %6")
        .arg(op.name, op.of, op.heldOut ? tr("held out") : tr("fitted"), secondsText(op.measured_s),
             secondsText(predicted_s(op)), factorText(op.measured_s / predicted_s(op)));
}

}  // namespace placewright
