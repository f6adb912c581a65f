// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>

#include "core/cost/problem.hpp"
#include "core/search/progress.hpp"
#include "widgets/heat_map_frame.hpp"
#include "widgets/op_view.hpp"

class QCPAxisRect;
class QCPGraph;

namespace placewright {

/// Shows the distribution that a search draws placements from: a heat map of the probability of each device
/// (rows) for each group (columns), and below it the entropy of the distribution over the whole search. The
/// wheel and dragging zoom and move along the groups, a double click shows all groups; a click, or the arrow
/// keys and Enter, selects the ops of a group.
class DistributionMap : public HeatMapFrame {
    Q_OBJECT
public:
    explicit DistributionMap(QWidget* parent = nullptr);
    /// `problem`: defines the groups of the distribution; the visible range is kept while it stays the same.
    /// O(groups * devices): called while a search runs. Both null: shows the empty page.
    void setDistribution(std::shared_ptr<const DistributionView> distribution,
                         std::shared_ptr<const Problem> problem);

Q_SIGNALS:
    /// A group was clicked, or Enter was pressed on it: its forward ops.
    void groupActivated(const placewright::OpList& ops);

private:
    int groups() const {
        return m_distribution
                   ? static_cast<int>(m_distribution->probability.size() / m_distribution->devices.size())
                   : 0;
    }
    double probability(int group, int row) const;

    // A cell is the column of a group.
    std::optional<Cell> cellAt(QPointF position) const override;
    QRectF cellRect(Cell cell) const override;
    std::optional<Cell> cellAfter(int key) const override;
    void reveal(Cell cell) override;
    QString describe(Cell cell) const override;
    void activate(Cell cell) override;
    void updateStyle() override;

    void makeEntropyPlot();
    void updateCells();
    void updateEntropy();
    void updateHeader();
    void updateTicks();
    void showAll();
    void keepInside();

    std::shared_ptr<const DistributionView> m_distribution;
    std::shared_ptr<const Problem> m_problem;

    QCPAxisRect* m_below = nullptr;
    QCPGraph* m_entropy = nullptr;
};

}  // namespace placewright
