// SPDX-License-Identifier: MIT
#include "widgets/ops_view.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include <QEvent>
#include <QGuiApplication>
#include <QHeaderView>
#include <QKeyEvent>
#include <QPainter>
#include <QSortFilterProxyModel>

#include "core/base/infinity.hpp"
#include "widgets/palette.hpp"
#include "widgets/plain_text.hpp"
#include "widgets/plot_style.hpp"
#include "widgets/quantities.hpp"

namespace placewright {
namespace {

constexpr std::size_t kMostSelected = 2000;  // rows that a selection from outside may have

struct OpsColumn {
    const char* title;
    const char* help;
};
const std::array<OpsColumn, OpsModel::ColumnCount> kOpsColumns{{
    {QT_TRANSLATE_NOOP("placewright::OpsModel", "Op"),
     QT_TRANSLATE_NOOP("placewright::OpsModel", "Name of the op, in the order of the graph")},
    {QT_TRANSLATE_NOOP("placewright::OpsModel", "Kind"),
     QT_TRANSLATE_NOOP("placewright::OpsModel", "Kind of the op")},
    {QT_TRANSLATE_NOOP("placewright::OpsModel", "Device"),
     QT_TRANSLATE_NOOP("placewright::OpsModel", "Device that the op is placed on")},
    {QT_TRANSLATE_NOOP("placewright::OpsModel", "Simulated"),
     QT_TRANSLATE_NOOP(
         "placewright::OpsModel",
         "Simulated time of the op with its backward and update, per batch. Of a measured op, "
         "only the phases that were measured, on the device where they were. ~: the cost model has no "
         "measured time of this op there; the roofline predicts it")},
    {QT_TRANSLATE_NOOP("placewright::OpsModel", "Measured"),
     QT_TRANSLATE_NOOP("placewright::OpsModel",
                       "Measured time of the op with its backward and update, per batch")},
    {QT_TRANSLATE_NOOP("placewright::OpsModel", "Error"),
     QT_TRANSLATE_NOOP("placewright::OpsModel",
                       "How much longer (+) or shorter (−) the simulated time is than the measured one, "
                       "relative to the measured time. Sorted by size, whatever the sign")},
}};

}  // namespace

void OpsModel::show(std::shared_ptr<const Problem> problem, std::vector<DeviceId> devices,
                    std::shared_ptr<const MeasuredRuns> measured, int run) {
    const bool sameRows = m_problem == problem;
    if (!sameRows) beginResetModel();
    if (!m_problem || !problem || m_problem->machine != problem->machine) m_icons.clear();
    m_problem = std::move(problem);
    const std::vector<DeviceId> devicesBefore = std::exchange(m_devices, std::move(devices));
    m_measured = std::move(measured);
    m_run = run;
    std::vector<double> simulated_s(m_problem ? m_problem->ops : 0);
    for (OpId op = 0; op < simulated_s.size(); ++op)
        simulated_s[forwardOf(*m_problem->graph, op)] += m_problem->time_s(op, m_devices[op]);
    if (!sameRows) {
        m_rows.clear();
        for (OpId op = 0; op < simulated_s.size(); ++op) {
            if (m_problem->graph->op(op).forward_op == kInvalidOp) m_rows.push_back({op});
        }
    }
    const RunComparison* const compared = comparison();
    const std::vector<Row> rowsBefore = sameRows ? m_rows : std::vector<Row>();
    for (Row& row : m_rows) {
        row = {row.op, m_devices[row.op], simulated_s[row.op]};
        row.predicted = is_predicted(*m_problem, row.op, row.timedOn);
        if (compared == nullptr || compared->ops[row.op].runs == 0) continue;
        const ComparedSeconds& time = compared->ops[row.op].time;
        row.simulated_s = time.simulated_s;
        row.measured_s = time.measured_s;
        row.timedOn = compared->ops[row.op].device;
        row.predicted = is_predicted(*m_problem, row.op, row.timedOn);
        row.error = time.measured_s > 0 ? time.simulated_s / time.measured_s - 1 : 0;
        row.difference = compared->difference(row.op);
    }
    if (!sameRows) {
        endResetModel();
    } else {
        tellChanges(rowsBefore, devicesBefore);
    }
}

/// Says which rows have changed, column by column: a table is sorted anew only if what it is sorted by
/// changes.
void OpsModel::tellChanges(const std::vector<Row>& before, const std::vector<DeviceId>& devicesBefore) {
    const auto tell = [&](Column column, const auto& isSame) {
        int first = -1, last = -1;
        for (std::size_t row = 0; row < m_rows.size(); ++row) {
            if (isSame(before[row], m_rows[row])) continue;
            last = static_cast<int>(row);
            if (first < 0) first = last;
        }
        if (first >= 0) Q_EMIT dataChanged(index(first, column), index(last, column));
    };
    tell(Device, [&](const Row& was, const Row& is) { return devicesBefore[was.op] == m_devices[is.op]; });
    tell(Simulated, [](const Row& was, const Row& is) {
        return was.simulated_s == is.simulated_s && was.predicted == is.predicted;
    });
    tell(Measured, [](const Row& was, const Row& is) {
        return was.measured_s == is.measured_s && was.difference == is.difference;
    });
    tell(Error, [](const Row& was, const Row& is) {
        return was.error == is.error && was.measured_s == is.measured_s && was.difference == is.difference;
    });
}

void OpsModel::setMatches(const std::optional<OpList>& ops) {
    if (ops == m_matches) return;
    m_matches = ops;
    if (m_rows.empty()) return;
    Q_EMIT dataChanged(index(0, 0), index(static_cast<int>(m_rows.size()) - 1, ColumnCount - 1),
                       {Qt::FontRole, Qt::ForegroundRole});
}

const RunComparison* OpsModel::comparison() const {
    if (!m_measured || m_measured->runs.empty() || m_measured->simulated->problem != m_problem)
        return nullptr;
    return &m_measured->comparison(m_run);
}

int OpsModel::rowOf(OpId op) const {
    const auto found = std::ranges::lower_bound(m_rows, op, {}, &Row::op);
    return found == m_rows.end() || found->op != op ? -1 : static_cast<int>(found - m_rows.begin());
}

int OpsModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int OpsModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QString OpsModel::text(const Row& row, int column) const {
    const Op& op = m_problem->graph->op(row.op);
    switch (column) {
        case Name:
            return QString::fromStdString(op.name);
        case Kind:
            return QString::fromStdString(op.kind);
        case Device:
            return QString::fromStdString(m_problem->machine->device(m_devices[row.op]).name);
        case Simulated:
            return row.predicted ? tr("~ %1").arg(secondsText(row.simulated_s))
                                 : secondsText(row.simulated_s);
        case Measured:
            return row.measured_s < 0 ? QString() : secondsText(row.measured_s);
        case Error: {
            if (row.measured_s <= 0 || row.simulated_s <= 0) return {};
            const double percent = row.error * 100;
            const QString sign = percent < 0 ? QStringLiteral("−") : QStringLiteral("+");
            return tr("%1%2 %").arg(sign).arg(std::abs(percent), 0, 'f', std::abs(percent) < 9.95 ? 1 : 0);
        }
        default:
            return {};
    }
}

QVariant OpsModel::order(const Row& row, int column) const {
    switch (column) {
        case Name:
            return row.op;
        case Device:
            return m_devices[row.op];
        case Simulated:
            return row.simulated_s;
        case Measured:
            return row.measured_s;
        case Error:
            return row.measured_s <= 0 || row.simulated_s <= 0 ? -1.0 : std::abs(row.error);
        default:
            return text(row, column);
    }
}

const QIcon& OpsModel::iconOf(DeviceId device) const {
    if (m_icons.empty()) {
        for (DeviceId id = 0; id < m_problem->devices; ++id)
            m_icons.push_back(deviceIcon(*m_problem->machine, id, qGuiApp->devicePixelRatio()));
    }
    return m_icons[device];
}

QVariant OpsModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
    const Row& row = m_rows[static_cast<std::size_t>(index.row())];
    const int column = index.column();
    switch (role) {
        case Qt::DisplayRole:
            return text(row, column);
        case SortRole:
            return order(row, column);
        case OpRole:
            return row.op;
        case Qt::ToolTipRole: {
            const QString name = text(row, Name);
            const RunComparison* const compared = comparison();
            const QString measured =
                compared != nullptr ? measuredText(*compared, *m_problem, row.op) : QString();
            if (measured.isEmpty() && !row.predicted) return plainToolTip(name);
            QStringList lines{QStringLiteral("<b>%1</b>").arg(name.toHtmlEscaped())};
            if (row.predicted)
                lines << tr("Predicted by the roofline: no time of this op was measured on a %1")
                             .arg(QString::fromStdString(m_problem->machine->device(row.timedOn).model)
                                      .toHtmlEscaped());
            if (!measured.isEmpty()) lines << measured;
            return lines.join(QStringLiteral("<br>"));
        }
        case Qt::TextAlignmentRole:
            return QVariant::fromValue(Qt::AlignVCenter |
                                       (column >= Simulated ? Qt::AlignRight : Qt::AlignLeft));
        case Qt::DecorationRole:
            return column == Device ? QVariant(iconOf(m_devices[row.op])) : QVariant();
        case Qt::FontRole: {
            if (column != Name || !m_matches || !std::ranges::binary_search(*m_matches, row.op)) return {};
            QFont font;
            font.setBold(true);
            return font;
        }
        case Qt::ForegroundRole:
            if (m_matches && !std::ranges::binary_search(*m_matches, row.op))
                return mutedColor(QGuiApplication::palette());
            if (column < Measured || row.difference == RunComparison::Difference::none) return {};
            return row.difference == RunComparison::Difference::longer
                       ? warningColor(QGuiApplication::palette())
                       : shorterColor(QGuiApplication::palette());
        default:
            return {};
    }
}

QVariant OpsModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || section < 0 || section >= ColumnCount) return {};
    const OpsColumn& column = kOpsColumns[static_cast<std::size_t>(section)];
    switch (role) {
        case Qt::DisplayRole:
            return tr(column.title);
        case Qt::ToolTipRole:
            return QStringLiteral("<qt>%1</qt>").arg(tr(column.help));
        case Qt::TextAlignmentRole:
            return QVariant::fromValue(Qt::AlignVCenter |
                                       (section >= Simulated ? Qt::AlignRight : Qt::AlignLeft));
        default:
            return {};
    }
}

OpsView::OpsView(QWidget* parent)
    : QTableView(parent), m_model(new OpsModel(this)), m_sorted(new QSortFilterProxyModel(this)) {
    setAccessibleName(tr("Ops"));
    m_sorted->setSourceModel(m_model);
    m_sorted->setSortRole(OpsModel::SortRole);
    m_sorted->setSortCaseSensitivity(Qt::CaseInsensitive);
    setModel(m_sorted);
    setSortingEnabled(true);
    sortByColumn(OpsModel::Name, Qt::AscendingOrder);

    setSelectionBehavior(SelectRows);
    setSelectionMode(ExtendedSelection);
    setEditTriggers(NoEditTriggers);
    setTabKeyNavigation(false);
    setAlternatingRowColors(true);
    setShowGrid(false);
    setWordWrap(false);
    setMouseTracking(true);
    setTextElideMode(Qt::ElideMiddle);
    setHorizontalScrollMode(ScrollPerPixel);
    setFrameShape(NoFrame);
    horizontalHeader()->setHighlightSections(false);
    horizontalHeader()->setMinimumSectionSize(40);
    // Contents of a few rows stand for all: there may be many thousands.
    horizontalHeader()->setResizeContentsPrecision(100);
    verticalHeader()->hide();
    verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);

    connect(selectionModel(), &QItemSelectionModel::selectionChanged, this, [this] {
        if (!m_selecting) Q_EMIT selectionEdited(selectedOps());
    });
    connect(this, &QAbstractItemView::entered, this,
            [this](const QModelIndex& index) { Q_EMIT opHovered(index.data(OpsModel::OpRole).toUInt()); });
    connect(this, &QAbstractItemView::doubleClicked, this,
            [this](const QModelIndex& index) { Q_EMIT opActivated(index.data(OpsModel::OpRole).toUInt()); });
    fitColumns();
}

void OpsView::show(std::shared_ptr<const Problem> problem, std::vector<DeviceId> devices,
                   std::shared_ptr<const MeasuredRuns> measured, int run) {
    const bool had = m_model->comparison() != nullptr;
    const int rows = m_model->rowCount();
    // A change of rows drops the selection, which is not what the user did.
    m_selecting = true;
    m_model->show(std::move(problem), std::move(devices), std::move(measured), run);
    m_selecting = false;
    const bool has = m_model->comparison() != nullptr;
    if (had != has || rows != m_model->rowCount()) fitColumns();
    viewport()->update();
}

OpList OpsView::selectedOps() const {
    OpList ops;
    for (const QModelIndex& index : selectionModel()->selectedRows())
        ops.push_back(index.data(OpsModel::OpRole).toUInt());
    std::ranges::sort(ops);
    return ops;
}

void OpsView::setSelection(const OpList& ops) {
    OpList wanted;
    std::ranges::copy_if(ops, std::back_inserter(wanted), [&](OpId op) { return m_model->rowOf(op) >= 0; });
    std::ranges::sort(wanted);
    // What the user selects here comes back, and must leave the row from which Shift goes on.
    if (wanted == selectedOps()) return;
    m_selecting = true;
    QItemSelection rows;
    if (wanted.size() <= kMostSelected) {
        for (const OpId op : wanted) {
            const QModelIndex row = m_sorted->mapFromSource(m_model->index(m_model->rowOf(op), 0));
            rows.select(row, row.siblingAtColumn(OpsModel::ColumnCount - 1));
        }
    }
    selectionModel()->select(rows, QItemSelectionModel::ClearAndSelect);
    if (!rows.isEmpty()) {
        if (!rows.contains(currentIndex()))
            selectionModel()->setCurrentIndex(
                m_sorted->mapFromSource(m_model->index(m_model->rowOf(wanted.front()), 0)),
                QItemSelectionModel::NoUpdate);
        scrollTo(currentIndex());
    }
    m_selecting = false;
}

void OpsView::paintEvent(QPaintEvent* event) {
    QTableView::paintEvent(event);
    if (m_sorted->rowCount() > 0) return;
    QPainter painter(viewport());
    painter.setPen(mutedColor(palette()));
    drawEmptyText(painter, viewport()->rect(),
                  tr("Open a network to list its ops with their times. Open a trace of it to list measured "
                     "times beside them."));
}

void OpsView::keyPressEvent(QKeyEvent* event) {
    if (currentIndex().isValid() && (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter)) {
        Q_EMIT opActivated(currentIndex().data(OpsModel::OpRole).toUInt());
    } else if (event->key() == Qt::Key_Escape && selectionModel()->hasSelection()) {
        clearSelection();
    } else {
        QTableView::keyPressEvent(event);
    }
}

void OpsView::changeEvent(QEvent* event) {
    QTableView::changeEvent(event);
    if (event->type() != QEvent::FontChange && event->type() != QEvent::StyleChange) return;
    verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);
    fitColumns();
}

bool OpsView::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::Leave) Q_EMIT opHovered(kInvalidOp);
    return QTableView::viewportEvent(event);
}

void OpsView::resizeEvent(QResizeEvent* event) {
    QTableView::resizeEvent(event);
    fitColumns();
}

void OpsView::fitColumns() {
    const bool measured = m_model->comparison() != nullptr;
    setColumnHidden(OpsModel::Measured, !measured);
    setColumnHidden(OpsModel::Error, !measured);
    const int character = fontMetrics().averageCharWidth();
    int others = 0;
    for (int column = OpsModel::Name + 1; column < OpsModel::ColumnCount; ++column) {
        if (isColumnHidden(column)) continue;
        const int wanted = std::max(sizeHintForColumn(column), horizontalHeader()->sectionSizeHint(column));
        setColumnWidth(column, std::min(wanted, character * 20));
        others += columnWidth(column);
    }
    // The name takes what the figures leave; where that is little, the kind is shortened.
    const int lacking = character * 28 - (viewport()->width() - others);
    const int spared = std::clamp(columnWidth(OpsModel::Kind) - character * 11, 0, std::max(lacking, 0));
    setColumnWidth(OpsModel::Kind, columnWidth(OpsModel::Kind) - spared);
    others -= spared;
    setColumnWidth(OpsModel::Name, std::max(viewport()->width() - others, character * 14));
}

}  // namespace placewright
