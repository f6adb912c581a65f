// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <QAbstractTableModel>
#include <QTableView>

#include "widgets/measured_runs.hpp"
#include "widgets/op_view.hpp"

class QSortFilterProxyModel;

namespace placewright {

/// The forward ops of a problem with the device that they are placed on and their times, together with the
/// ops derived from them: simulated, and, where a run measured them, measured.
class OpsModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Name, Kind, Device, Simulated, Measured, Error, ColumnCount };
    static constexpr int SortRole = Qt::UserRole;
    static constexpr int OpRole = Qt::UserRole + 1;

    using QAbstractTableModel::QAbstractTableModel;
    /// `devices`: by op id. `measured` may be null or that of another problem, which is ignored; `run` is the
    /// id of the run to show, of all if there is none. Rows keep their selection while the problem is the
    /// same.
    void show(std::shared_ptr<const Problem> problem, std::vector<DeviceId> devices,
              std::shared_ptr<const MeasuredRuns> measured, int run);
    /// Ops that match the search text: their names are bold, the other rows muted. Nothing: no search.
    void setMatches(const std::optional<OpList>& ops);
    /// The comparison that is shown; null if nothing was measured.
    const RunComparison* comparison() const;
    const std::shared_ptr<const Problem>& problem() const { return m_problem; }
    int rowOf(OpId op) const;
    OpId opAt(int row) const { return m_rows[static_cast<std::size_t>(row)].op; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    struct Row {
        OpId op = kInvalidOp;
        DeviceId timedOn = kInvalidDevice;  ///< where `simulated_s` is: measured there, else placed there
        double simulated_s = 0;
        double measured_s = -1;  ///< negative: not measured
        double error = 0;        ///< (simulated - measured) / measured
        RunComparison::Difference difference = RunComparison::Difference::none;
        bool predicted = false;  ///< is_predicted()
    };
    void tellChanges(const std::vector<Row>& before, const std::vector<DeviceId>& devicesBefore);
    QString text(const Row& row, int column) const;
    QVariant order(const Row& row, int column) const;
    const QIcon& iconOf(DeviceId device) const;

    std::shared_ptr<const Problem> m_problem;
    std::vector<DeviceId> m_devices;
    std::shared_ptr<const MeasuredRuns> m_measured;
    int m_run = 0;
    std::vector<Row> m_rows;  ///< in the order of the graph
    std::optional<OpList> m_matches;
    mutable std::vector<QIcon> m_icons;
};

/// Sortable table of the ops. Its selection is the selection of ops; a double-click or Return goes to an op.
/// The columns of measured times are there if a run was measured.
class OpsView : public QTableView {
    Q_OBJECT
public:
    explicit OpsView(QWidget* parent = nullptr);
    OpsModel* ops() const { return m_model; }
    using QTableView::show;
    /// As OpsModel::show().
    void show(std::shared_ptr<const Problem> problem, std::vector<DeviceId> devices,
              std::shared_ptr<const MeasuredRuns> measured, int run);
    /// Selects the rows of these ops and scrolls to them; none if there are too many to be looked at. Ops
    /// that are selected already stay as they are, however many.
    void setSelection(const OpList& ops);

Q_SIGNALS:
    /// The user selected these ops; empty: cleared.
    void selectionEdited(const placewright::OpList& ops);
    /// The pointer is on this op; kInvalidOp: on none.
    void opHovered(placewright::OpId op);
    /// The user wants to see this op.
    void opActivated(placewright::OpId op);

protected:
    using QTableView::setSelection;
    void paintEvent(QPaintEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void changeEvent(QEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    bool viewportEvent(QEvent*) override;

private:
    OpList selectedOps() const;
    void fitColumns();

    OpsModel* m_model = nullptr;
    QSortFilterProxyModel* m_sorted = nullptr;
    bool m_selecting = false;  ///< the selection is being set from outside
};

}  // namespace placewright
