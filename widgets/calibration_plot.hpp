// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <QString>

#include "widgets/identity_plot.hpp"

class QComboBox;

namespace placewright {

/// An op whose time was measured, and predicted before and after a fit.
struct CalibratedOp {
    QString name;
    QString of;  ///< class of ops, for the tooltip
    bool heldOut = false;
    double measured_s = 0, before_s = 0, after_s = 0;
};

/// The measured time of each op against the time that a cost model predicts, after its fit or before: a
/// circle for an op that the fit saw, a triangle in another colour for one that it did not. The keys of dots
/// are the places of ops in the list that was set.
class CalibrationPlot : public IdentityPlot {
    Q_OBJECT
public:
    explicit CalibrationPlot(QWidget* parent = nullptr);

    /// Ops that are measured or predicted to take no time have no dot.
    void setOps(std::vector<CalibratedOp> ops);

protected:
    QString seriesName(std::uint32_t series) const override;
    QColor seriesColor(std::uint32_t series) const override;
    Shape seriesShape(std::uint32_t series) const override;
    QString textOf(const Dot& dot) const override;
    void clicked(const Dot*) override {}

private:
    void showOps();
    double predicted_s(const CalibratedOp& op) const;

    std::vector<CalibratedOp> m_ops;
    QComboBox* m_when = nullptr;
};

}  // namespace placewright
