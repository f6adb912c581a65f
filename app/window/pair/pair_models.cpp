// SPDX-License-Identifier: MIT
#include "app/window/pair/pair_models.hpp"

#include <QGuiApplication>
#include <QIcon>
#include <QPixmap>

#include "widgets/palette.hpp"
#include "widgets/quantities.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

QVariant alignment(bool number) {
    return static_cast<int>((number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
}

}  // namespace

void PairModel::setPair(std::shared_ptr<const Pair> pair) {
    beginResetModel();
    m_pair = std::move(pair);
    list();
    endResetModel();
}

void PairModel::setOnlyDifferences(bool only) {
    if (only == m_onlyDifferences) return;
    beginResetModel();
    m_onlyDifferences = only;
    list();
    endResetModel();
}

void PairModel::list() {
    m_rows.clear();
    if (!m_pair) return;
    for (std::size_t row = 0; row < allRows(); ++row) {
        if (!m_onlyDifferences || differs(row)) m_rows.push_back(row);
    }
}

int PairModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int PairFigures::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant PairFigures::data(const QModelIndex& index, int role) const {
    const PairFigure& figure = m_pair->differences.figures[rowAt(index.row())];
    if (role == Qt::TextAlignmentRole) return alignment(index.column() != Name);
    if (role != Qt::DisplayRole) return {};
    switch (index.column()) {
        case Name:
            return figure.name;
        case A:
            return figureText(figure.a, figure.unit);
        case B:
            return figureText(figure.b, figure.unit);
        case Change:
            return changeText(figure.a, figure.b, figure.unit);
        case Percent:
            return changePercentText(figure.a, figure.b);
        default:
            return {};
    }
}

QVariant PairFigures::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::TextAlignmentRole) return alignment(section != Name);
    if (role != Qt::DisplayRole) return {};
    switch (section) {
        case Name:
            return tr("Figure");
        case A:
            return tr("A");
        case B:
            return tr("B");
        case Change:
            return tr("B − A");
        case Percent:
            return tr("%");
        default:
            return {};
    }
}

int PairOps::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant PairOps::data(const QModelIndex& index, int role) const {
    const PairOp& op = m_pair->differences.ops[rowAt(index.row())];
    const Machine &a = *m_pair->a.problem().machine, &b = *m_pair->b.problem().machine;
    const int column = index.column();
    if (role == OpRole) return op.b;
    if (role == Qt::TextAlignmentRole) return alignment(column >= TimeA);
    if (role == Qt::DecorationRole && column == DeviceA)
        return deviceIcon(a, op.device_a, qGuiApp->devicePixelRatio());
    if (role == Qt::DecorationRole && column == DeviceB)
        return deviceIcon(b, op.device_b, qGuiApp->devicePixelRatio());
    if (role == SortRole && column == TimeA) return op.a_s;
    if (role == SortRole && column == TimeB) return op.b_s;
    if (role == SortRole && column == Change) return op.b_s - op.a_s;
    if (role != Qt::DisplayRole && role != SortRole) return {};
    switch (column) {
        case Name:
            return toQString(m_pair->b.problem().graph->op(op.b).name);
        case DeviceA:
            return toQString(a.device(op.device_a).name);
        case DeviceB:
            return toQString(b.device(op.device_b).name);
        case TimeA:
            return secondsText(op.a_s);
        case TimeB:
            return secondsText(op.b_s);
        case Change:
            return changeText(op.a_s, op.b_s, PairFigure::Unit::seconds);
        default:
            return {};
    }
}

QVariant PairOps::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::TextAlignmentRole) return alignment(section >= TimeA);
    if (role != Qt::DisplayRole) return {};
    switch (section) {
        case Name:
            return tr("Op");
        case DeviceA:
            return tr("Device in A");
        case DeviceB:
            return tr("Device in B");
        case TimeA:
            return tr("Time in A");
        case TimeB:
            return tr("Time in B");
        case Change:
            return tr("B − A");
        default:
            return {};
    }
}

}  // namespace placewright
