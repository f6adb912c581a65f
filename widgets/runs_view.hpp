// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <optional>
#include <vector>

#include <QAbstractTableModel>
#include <QTableView>

class QSortFilterProxyModel;
class QTimer;

namespace placewright {

/// A search, or a placement made by hand, as the table shows it.
struct RunRow {
    enum class State { running, finished, cancelled, failed, paused };
    int id = 0;
    QString title;      ///< "MAP-Elites #3"
    QString options;    ///< tooltip: algorithm, seed, options
    QString elsewhere;  ///< what tells the machine and options that it belongs to from those in use; empty if nothing does
    State state = State::running;
    QString failure;
    double step_time_s = 0;  ///< or what else the run makes small; 0: none yet
    QString goal;            ///< what that is, where it is not what the column is about
    bool defined = true;     ///< otherwise no such figure is known of its best placement
    bool fits = true;
    double over_bytes = 0;  ///< what the device lacks that lacks most memory; 0: none lacks any by itself
    QString misfit{};       ///< which devices lack how much, where it does not fit
    double speedup = 0;  ///< over the fastest single device; 0: unknown
    double gap = -1;     ///< (figure - lower bound) / lower bound; negative: unknown
    quint64 evaluations = 0;
    quint64 budget = 0;
    double seconds = 0;
    bool shown = false;  ///< its placement is the one on screen

    bool isUnderWay() const { return state == State::running || state == State::paused; }
    bool operator==(const RunRow&) const = default;
};

class RunsModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Title, StepTime, Speedup, Gap, Evaluations, Time, ColumnCount };
    static constexpr int SortRole = Qt::UserRole;
    static constexpr int IdRole = Qt::UserRole + 1;

    using QAbstractTableModel::QAbstractTableModel;
    /// Replaces all rows; emits only the changes (rows keep their selection).
    void setRows(std::vector<RunRow> rows);
    const std::vector<RunRow>& rows() const { return m_rows; }
    /// What the runs make small: the title of its column, and what it is.
    void setGoal(const QString& title, const QString& help);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    std::vector<RunRow> m_rows;
    QString m_goalTitle = tr("Step time"), m_goalHelp;
};

/// The runs, sortable, newest first; double-click or Enter shows a run's placement, Space pauses a search and lets it go on. An empty table
/// says what would fill it.
class RunsView : public QTableView {
    Q_OBJECT
public:
    explicit RunsView(QWidget* parent = nullptr);
    RunsModel* runs() const { return m_model; }
    std::optional<int> currentRun() const;

Q_SIGNALS:
    void runActivated(int id);
    void cancelRequested(int id);
    void pauseRequested(int id, bool paused);
    void removeRequested(int id);

protected:
    void paintEvent(QPaintEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void contextMenuEvent(QContextMenuEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void changeEvent(QEvent*) override;

private:
    const RunRow& rowAt(const QModelIndex& index) const;
    /// Columns grow with what they hold and never shrink, so that they keep still while a search runs; the title takes what remains.
    void fitColumns();

    RunsModel* m_model = nullptr;
    QSortFilterProxyModel* m_sorted = nullptr;
    QTimer* m_fit = nullptr;
    std::array<int, RunsModel::ColumnCount> m_widths{};  ///< widest so far, by column
};

}  // namespace placewright
