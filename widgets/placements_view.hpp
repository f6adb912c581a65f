// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include <QTreeWidget>

#include "widgets/measured_placements.hpp"

class QLabel;
class QProgressBar;
class QPushButton;

namespace placewright {

/// Table of measured placements: sortable, double-click or Return wants one shown, the one on screen is bold.
/// The symbols are those of StepsPlot.
class PlacementsTable : public QTreeWidget {
    Q_OBJECT
public:
    enum Column { Rank, Simulated, Measured, Error, Noise, Fits, ColumnCount };

    explicit PlacementsTable(QWidget* parent = nullptr);

    /// Null: none. Rows keep their selection while placements are only added.
    void setPlacements(std::shared_ptr<const MeasuredPlacements> placements);
    /// The placement on screen; may be of another problem.
    void setOnScreen(const Placement& placement);
    /// The index of the chosen placement; nothing: none is chosen.
    std::optional<std::size_t> chosen() const;
    void setChosen(std::size_t index);
    /// The row of a placement.
    QTreeWidgetItem* itemOf(std::size_t index) const;

Q_SIGNALS:
    void placementChosen(std::size_t index);
    /// The pointer is on this row; nothing: on none.
    void placementHovered(std::optional<std::size_t> index);
    void placementActivated(std::size_t index);

protected:
    void keyPressEvent(QKeyEvent*) override;
    void changeEvent(QEvent*) override;
    bool viewportEvent(QEvent*) override;

private:
    void fill(QTreeWidgetItem& item, std::size_t index, const QIcon& icon);
    void fillAll();

    std::shared_ptr<const MeasuredPlacements> m_placements;
    Placement m_onScreen;
};

/// What is measured of a run, or was: how far it is, the table, and the fastest, which can be put on screen.
class PlacementsView : public QWidget {
    Q_OBJECT
public:
    explicit PlacementsView(QWidget* parent = nullptr);

    void setPlacements(std::shared_ptr<const MeasuredPlacements> placements);
    /// Seconds until all are measured; nothing: not known yet. Cheap.
    void setTimeLeft(std::optional<double> left_s);
    void setOnScreen(const Placement& placement);
    PlacementsTable* table() const { return m_table; }

Q_SIGNALS:
    void cancelRequested();
    void placementActivated(std::size_t index);

private:
    void showState();

    std::shared_ptr<const MeasuredPlacements> m_placements;
    std::optional<double> m_left_s;
    Placement m_onScreen;
    QLabel* m_state = nullptr;
    QProgressBar* m_progress = nullptr;
    QPushButton *m_cancel = nullptr, *m_show = nullptr;
    PlacementsTable* m_table = nullptr;
};

}  // namespace placewright
