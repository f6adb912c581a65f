// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>

#include <QWidget>

#include "core/cost/problem.hpp"
#include "core/search/optimizer.hpp"
#include "widgets/op_view.hpp"

class QCPAxisRect;
class QCPColorMap;
class QCPColorScale;
class QCPGraph;
class QCPPainter;
class QCustomPlot;
class QLabel;
class QPainter;
class QStackedWidget;

namespace placewright {

/// The distribution that a search draws placements from: a heat map of how likely each group (from left to right) is on each device
/// (downwards), and its entropy all through the search below. The wheel and dragging zoom and move along the groups, a double click shows
/// all of them; a click, or the arrow keys and Enter, selects the ops of a group.
class DistributionMap : public QWidget {
    Q_OBJECT
public:
    explicit DistributionMap(QWidget* parent = nullptr);
    /// `problem`: what the groups of the distribution are. The part in view stays while that does. O(groups * devices): called while a
    /// search runs. Both null: nothing to show.
    void setDistribution(std::shared_ptr<const DistributionView> distribution, std::shared_ptr<const Problem> problem);
    void renderWhole(QPainter& painter, const QRect& target) const;
    QCustomPlot* plot() const { return m_plot; }

Q_SIGNALS:
    /// The forward ops of a group that was clicked.
    void groupActivated(const placewright::OpList& ops);

protected:
    void keyPressEvent(QKeyEvent*) override;
    bool eventFilter(QObject*, QEvent*) override;

private:
    int groups() const {
        return m_distribution ? static_cast<int>(m_distribution->probability.size() / m_distribution->devices.size()) : 0;
    }
    double probability(int group, int row) const;
    std::optional<int> groupAt(QPointF position) const;
    QRectF column(int group) const;
    QString describe(int group) const;

    void updateCells();
    void updateEntropy();
    void updateHeader();
    void updateTicks();
    void updateStyle();
    void showAll();
    void keepInside();
    void paintOverlay(QCPPainter& painter) const;
    void setCurrent(std::optional<int> group);
    void activate(int group);

    std::shared_ptr<const DistributionView> m_distribution;
    std::shared_ptr<const Problem> m_problem;
    std::optional<int> m_current;
    QPoint m_pressed;

    QLabel* m_header = nullptr;
    QStackedWidget* m_pages = nullptr;
    QWidget* m_empty = nullptr;
    QCustomPlot* m_plot = nullptr;
    QCPColorMap* m_map = nullptr;
    QCPColorScale* m_scale = nullptr;
    QCPAxisRect* m_below = nullptr;
    QCPGraph* m_entropy = nullptr;
};

}  // namespace placewright
