// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <memory>
#include <vector>

#include <QTimer>

#include "core/search/progress.hpp"
#include "widgets/plot_frame.hpp"

class QCheckBox;
class QCPAxis;
class QCPAxisRect;
class QCPGraph;
class QCPItemStraightLine;
class QCPItemText;
class QLabel;

namespace placewright {

/// Training curves of a policy, one point per update: the cost of its placements (the mean of the workers'
/// episodes on the networks of the update, in a band of their standard deviation, and the best so far as the
/// mean over all networks, which may be more networks), and below, if ticked, the entropy of its decisions
/// and the learning rate. The horizontal axis follows the training until the user zooms or drags; a double
/// click or "Fit" makes it follow again.
class LearningPlot : public PlotFrame {
    Q_OBJECT
public:
    explicit LearningPlot(QWidget* parent = nullptr);
    /// Null or empty shows the empty page. Redraws at most ten times a second, and only while visible.
    void setCurve(std::shared_ptr<const std::vector<TrainingPoint>> curve);

protected:
    void showEvent(QShowEvent*) override;

private:
    enum Part { Cost, Entropy, Rate, PartCount };

    QCPAxis* updatesAxis(Part part) const;
    QCPAxis* valueAxis(Part part) const;
    void makeAxes();
    void makeGraphs();
    void draw();
    void showParts();
    /// Puts the titles of the vertical axes one above the other.
    void alignTitles();
    void updateAxes() override;
    void updateStyle() override;
    void showValueAt(QPoint position) override;
    void hideValue() override;

    std::shared_ptr<const std::vector<TrainingPoint>> m_curve, m_drawn;
    QTimer m_pace;  ///< while it runs, nothing is redrawn

    QLabel* m_header = nullptr;
    std::array<QCheckBox*, PartCount> m_checks{};  ///< null for the cost, which is always shown
    std::array<QCPAxisRect*, PartCount> m_parts{};
    QCPGraph *m_above = nullptr, *m_below = nullptr;  ///< borders of the band
    QCPGraph *m_mean = nullptr, *m_best = nullptr, *m_entropy = nullptr, *m_rate = nullptr;
    QCPItemStraightLine* m_oneDevice = nullptr;
    QCPItemText* m_oneDeviceLabel = nullptr;
};

}  // namespace placewright
