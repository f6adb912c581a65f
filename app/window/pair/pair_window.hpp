// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include <QWidget>

#include "app/window/pair/pair_scene.hpp"
#include "app/window/pair/pinned_placement.hpp"

class QCheckBox;
class QLabel;
class QPushButton;
class QSplitter;
class QTableView;

namespace placewright {

class GraphView;
class TimelineView;

/// Placement A beside B, the one on screen: graphs that move together, timelines on one axis, and the numbers
/// and ops that differ. Follows the screen, also while a search runs.
class PairWindow : public QWidget {
    Q_OBJECT
public:
    PairWindow(Document* document, PinnedPlacement* pinned, QWidget* parent);

    /// Of side A (0) or B (1).
    GraphView* graph(int side) const { return m_graphs[static_cast<std::size_t>(side)]; }
    TimelineView* timeline(int side) const { return m_timelines[static_cast<std::size_t>(side)]; }
    /// The layout of both graphs.
    const PairScene& scene() const { return m_scene; }
    /// Draws the graphs in this direction; nothing: the one that suits the shape of their panes.
    void setDirection(std::optional<LayoutRoom::Direction> direction);

protected:
    void showEvent(QShowEvent*) override;
    void keyPressEvent(QKeyEvent*) override;

private:
    QWidget* makeGraphs();
    QWidget* makeTimelines();
    QWidget* makeTables();
    void linkViews();
    void fitRoom();
    void update();
    void showGraphs(const Pair& pair);
    void showSelection();
    QString captionOf(int side, const Pair& pair) const;
    /// Ops of A's network that stand for these of B's, and the reverse.
    OpList across(const OpList& ops, bool toA) const;

    Document* m_document;
    PinnedPlacement* m_pinned;
    std::shared_ptr<const Pair> m_pair;  ///< what is shown; null: nothing
    PairScene m_scene;
    std::optional<LayoutRoom::Direction> m_direction;
    std::array<GraphView*, 2> m_graphs{};
    std::array<TimelineView*, 2> m_timelines{};
    std::array<QLabel*, 2> m_captions{};
    QLabel* m_summary = nullptr;
    QCheckBox* m_onlyDifferences = nullptr;
    QPushButton *m_showA = nullptr, *m_pinB = nullptr;
    PairFigures* m_figures = nullptr;
    PairOps* m_ops = nullptr;
    QTableView *m_figuresTable = nullptr, *m_opsTable = nullptr;
    bool m_linking = false;  ///< a view is being moved after the other one
};

}  // namespace placewright
