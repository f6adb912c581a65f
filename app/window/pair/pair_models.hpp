// SPDX-License-Identifier: MIT
// The tables of a comparison of two placements.
#pragma once

#include <memory>
#include <vector>

#include <QAbstractTableModel>

#include "app/window/pair/differences.hpp"

namespace placewright {

/// Two placements and what differs.
struct Pair {
    PairSide a, b;
    PairDifferences differences;
};

/// A table of a pair that can leave out what is the same on both sides.
class PairModel : public QAbstractTableModel {
    Q_OBJECT
public:
    static constexpr int SortRole = Qt::UserRole;

    using QAbstractTableModel::QAbstractTableModel;
    /// Null: an empty table.
    void setPair(std::shared_ptr<const Pair> pair);
    void setOnlyDifferences(bool only);
    int rowCount(const QModelIndex& parent = {}) const override;

protected:
    /// Number of rows with those that are the same, and whether one differs.
    virtual std::size_t allRows() const = 0;
    virtual bool differs(std::size_t row) const = 0;
    /// Position of a shown row among all rows.
    std::size_t rowAt(int row) const { return m_rows[static_cast<std::size_t>(row)]; }

    std::shared_ptr<const Pair> m_pair;

private:
    void list();

    bool m_onlyDifferences = false;
    std::vector<std::size_t> m_rows;
};

/// Numbers of both sides and their differences.
class PairFigures : public PairModel {
    Q_OBJECT
public:
    enum Column { Name, A, B, Change, Percent, ColumnCount };

    using PairModel::PairModel;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

protected:
    std::size_t allRows() const override { return m_pair->differences.figures.size(); }
    bool differs(std::size_t row) const override { return m_pair->differences.figures[row].differs(); }
};

/// The ops with their devices and times on both sides.
class PairOps : public PairModel {
    Q_OBJECT
public:
    enum Column { Name, DeviceA, DeviceB, TimeA, TimeB, Change, ColumnCount };
    static constexpr int OpRole = Qt::UserRole + 1;  ///< op of side B

    using PairModel::PairModel;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

protected:
    std::size_t allRows() const override { return m_pair->differences.ops.size(); }
    bool differs(std::size_t row) const override { return m_pair->differences.ops[row].moved; }
};

}  // namespace placewright
