// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <optional>
#include <vector>

#include <QAbstractTableModel>
#include <QTableView>

#include "widgets/plot_style.hpp"

class QSortFilterProxyModel;
class QTimer;

namespace placewright {

/// One row of the runs table: a search, or a placement made by hand.
struct RunRow {
    enum class State { running, finished, cancelled, failed, paused };
    int id = 0;
    QString title;      ///< "MAP-Elites #3"
    QString options;    ///< tooltip: algorithm, seed, options
    QString splitting;  ///< what splitting modules gains and costs; empty: not compared
    QString elsewhere;  ///< the run's machine and options where they differ from the current ones; else empty
    State state = State::running;
    QString failure;
    double step_time_s = 0;  ///< or the value of another objective; 0: none yet
    QString objective;       ///< its name, if it is not the objective of the column
    bool defined = true;     ///< the objective is defined for the best placement
    bool fits = true;
    double over_bytes = 0;  ///< memory missing on the device that lacks most; 0: no single device lacks any
    QString misfit{};       ///< which devices lack how much memory, if it does not fit
    double speedup = 0;     ///< over the fastest single device; 0: unknown
    /// Relative half width of the 80 % interval of the real speed-up; negative: unknown.
    double speedup_error = -1;
    double gap = -1;  ///< (figure - lower bound) / lower bound; negative: unknown
    quint64 evaluations = 0;
    quint64 budget = 0;  ///< in evaluations; 0: unlimited
    double seconds = 0;
    double budget_s = 0;  ///< 0: unlimited
    RunStyle style{};     ///< in which it is drawn
    bool shown = false;   ///< its placement is on screen
    bool pinned = false;  ///< the screen follows this run alone
    bool hidden = false;  ///< it is in no plot

    bool isUnderWay() const { return state == State::running || state == State::paused; }
    bool operator==(const RunRow&) const = default;
};

class RunsModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Title, StepTime, Speedup, Gap, Evaluations, Time, ColumnCount };
    /// Titles can be edited; the rows change when renamed() has been answered with setRows().
    static constexpr int SortRole = Qt::UserRole;
    static constexpr int IdRole = Qt::UserRole + 1;

    using QAbstractTableModel::QAbstractTableModel;
    /// Replaces all rows and signals only the changes, so that rows keep their selection.
    void setRows(std::vector<RunRow> rows);
    const std::vector<RunRow>& rows() const { return m_rows; }
    /// Sets the title and the help of the objective's column.
    void setObjective(const QString& title, const QString& help);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;

Q_SIGNALS:
    void renamed(int id, const QString& name);

private:
    std::vector<RunRow> m_rows;
    QString m_objectiveTitle = tr("Step time"), m_objectiveHelp;
};

/// Sortable table of the runs, newest first. Double-click or Enter shows a run's placement, Space pauses or
/// resumes a search, P follows it alone, H hides a run in the plots, S hides all others, F2 renames it. An
/// empty table says how to fill it.
class RunsView : public QTableView {
    Q_OBJECT
public:
    explicit RunsView(QWidget* parent = nullptr);
    RunsModel* runs() const { return m_model; }
    std::optional<int> currentRun() const;

Q_SIGNALS:
    /// The user wants the run's placement shown.
    void runActivated(int id);
    void cancelRequested(int id);
    /// The user wants the search paused (`paused`) or resumed.
    void pauseRequested(int id, bool paused);
    /// The user wants the screen to follow this search alone (`alone`), or the best of all.
    void followRequested(int id, bool alone);
    void hideRequested(int id, bool hidden);
    /// The user wants to see this run alone in the plots, or all again.
    void aloneRequested(int id);
    void renameRequested(int id, const QString& name);
    void removeRequested(int id);
    /// The run's placement is to be compared with the one on screen.
    void pinAsARequested(int id);
    /// The user wants the run's best placements measured.
    void measureRequested(int id);

protected:
    void paintEvent(QPaintEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void contextMenuEvent(QContextMenuEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void changeEvent(QEvent*) override;

private:
    const RunRow& rowAt(const QModelIndex& index) const;
    /// Does what a key asks for the row; false if it asks nothing.
    bool handleKey(const QKeyEvent& event, const RunRow& row);
    /// Columns grow with their content and never shrink, so that they do not move while a search runs; the
    /// title takes the remaining width.
    void fitColumns();

    RunsModel* m_model = nullptr;
    QSortFilterProxyModel* m_sorted = nullptr;
    QTimer* m_fit = nullptr;
    std::array<int, RunsModel::ColumnCount> m_widths{};  ///< widest so far, by column
};

}  // namespace placewright
