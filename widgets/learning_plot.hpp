// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <memory>
#include <vector>

#include <QTimer>
#include <QWidget>

#include "core/search/optimizer.hpp"

class QCheckBox;
class QCPAxis;
class QCPAxisRect;
class QCPGraph;
class QCPItemStraightLine;
class QCPItemText;
class QCustomPlot;
class QLabel;
class QPainter;
class QStackedWidget;

namespace placewright {

/// How a policy learns, update by update: what its placements cost (the mean of the workers' episodes, on the networks that the update was
/// about, in a band of their deviation; and the best so far, the mean of all networks, which may be more), and below, where they are
/// ticked, the entropy of its decisions and the learning rate. The horizontal axis follows the training until the person zooms or drags; a
/// double click or "Fit" makes it follow again.
class LearningPlot : public QWidget {
    Q_OBJECT
public:
    explicit LearningPlot(QWidget* parent = nullptr);
    /// Null or empty: nobody learns. Drawn at most ten times a second, and only while it can be seen.
    void setCurve(std::shared_ptr<const std::vector<TrainingPoint>> curve);
    /// Shown while nobody learns.
    void setEmptyText(const QString& text);
    void renderWhole(QPainter& painter, const QRect& target) const;
    QCustomPlot* plot() const { return m_plot; }

protected:
    void showEvent(QShowEvent*) override;
    bool eventFilter(QObject*, QEvent*) override;

private:
    enum Part { Cost, Entropy, Rate, PartCount };

    QCPAxis* updatesAxis(Part part) const;
    QCPAxis* valueAxis(Part part) const;
    void draw();
    void showParts();
    void fit();
    void updateStyle();
    void showValueAt(QPoint position);

    std::shared_ptr<const std::vector<TrainingPoint>> m_curve, m_drawn;
    QTimer m_pace;            ///< while it runs, nothing is drawn
    bool m_following = true;  ///< the axis follows the data

    QLabel* m_header = nullptr;
    QStackedWidget* m_pages = nullptr;
    QLabel* m_empty = nullptr;
    QCustomPlot* m_plot = nullptr;
    std::array<QCheckBox*, PartCount> m_checks{};  ///< null for the cost, which is always shown
    std::array<QCPAxisRect*, PartCount> m_parts{};
    QCPGraph *m_above = nullptr, *m_below = nullptr;  ///< borders of the band
    QCPGraph *m_mean = nullptr, *m_best = nullptr, *m_entropy = nullptr, *m_rate = nullptr;
    QCPItemStraightLine* m_oneDevice = nullptr;
    QCPItemText* m_oneDeviceLabel = nullptr;
};

}  // namespace placewright
