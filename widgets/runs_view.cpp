// SPDX-License-Identifier: MIT
#include "widgets/runs_view.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QHeaderView>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QSortFilterProxyModel>
#include <QTimer>

#include "core/base/infinity.hpp"
#include "core/bounds/bounds.hpp"
#include "widgets/palette.hpp"
#include "widgets/plain_text.hpp"
#include "widgets/plot_style.hpp"
#include "widgets/quantities.hpp"

namespace placewright {
namespace {

constexpr double kLast = kInfinity;
constexpr int kRowPadding = 4, kHeaderPadding = 12;  // pixels, of both sides

QString stepTimeText(const RunRow& row) {
    if (row.step_time_s <= 0) return {};
    if (!row.defined) return RunsModel::tr("not defined");
    if (!row.fits)
        return row.over_bytes > 0 ? RunsModel::tr("%1 over").arg(bytesText(row.over_bytes))
                                  : RunsModel::tr("does not fit");
    return row.objective.isEmpty() ? secondsText(row.step_time_s)
                                   : RunsModel::tr("%1 %2").arg(row.objective, secondsText(row.step_time_s));
}

/// The title; of a run with another machine or other options these too, shortened to leave room for the
/// figures.
QString titleText(const RunRow& row) {
    constexpr int kMost = 22;
    const QString title = row.pinned  ? RunsModel::tr("▸ %1, followed alone").arg(row.title)
                          : row.shown ? RunsModel::tr("▸ %1").arg(row.title)
                                      : row.title;
    if (row.elsewhere.isEmpty()) return title;
    const QString what = row.elsewhere.size() > kMost
                             ? row.elsewhere.left(kMost - 1).trimmed() + QChar(0x2026)
                             : row.elsewhere;
    return RunsModel::tr("%1 (%2)").arg(title, what);
}

/// Whether the step is as long as that of one device within the error of their ratio.
bool isAsFast(const RunRow& row) {
    const double most = 1 + row.speedup_error;
    return row.speedup_error >= 0 && row.speedup != 1 && row.speedup <= most && row.speedup * most >= 1;
}

QString speedupText(const RunRow& row) {
    if (row.speedup <= 0 || !row.fits) return {};
    if (isAsFast(row)) return RunsModel::tr("≈ 1×");
    return RunsModel::tr("%1×").arg(row.speedup, 0, 'f', row.speedup < 10 ? 1 : 0);
}

/// The gap, rounded up so that the bound stays true. A placement that does not fit has no gap.
QString gapText(const RunRow& row) {
    if (row.gap < 0 || !row.fits) return {};
    const double percent = whole_percent(row.gap);
    return percent <= 0 ? RunsModel::tr("optimal") : RunsModel::tr("≤ %1 %").arg(percent, 0, 'f', 0);
}

QString evaluationsText(const RunRow& row) {
    return row.evaluations > 0 ? QStringLiteral("%L1").arg(row.evaluations) : QString();
}

QString clockText(const RunRow& row) {
    return row.evaluations > 0 || row.seconds > 0 ? QString::fromStdString(format_clock(row.seconds))
                                                  : QString();
}

struct ColumnInfo {
    const char* title;
    const char* help;
    QString (*text)(const RunRow&);
    double (*order)(const RunRow&);
};

constexpr double kMisfit = 1e10, kOther = 1e12;

// Sort order: placements that fit, then those that do not fit (by excess memory), then those of another
// objective, then runs without a value.
const std::array<ColumnInfo, RunsModel::ColumnCount> kColumns{{
    {QT_TRANSLATE_NOOP("placewright::RunsModel", "Run"),
     QT_TRANSLATE_NOOP("placewright::RunsModel",
                       "Algorithm and number of the run, in order of start. ▸ marks the run on screen."),
     titleText, [](const RunRow& row) { return static_cast<double>(row.id); }},
    {"", QT_TRANSLATE_NOOP("placewright::RunsModel", "Objective value of the run's best placement. %1"),
     stepTimeText,
     [](const RunRow& row) {
         const double figure = row.fits       ? row.step_time_s
                               : !row.defined ? 2 * kMisfit
                                              : kMisfit + 1e-6 * row.over_bytes;
         return row.step_time_s <= 0 ? kLast : figure + (row.objective.isEmpty() ? 0 : kOther);
     }},
    {QT_TRANSLATE_NOOP("placewright::RunsModel", "Speed-up"),
     QT_TRANSLATE_NOOP("placewright::RunsModel",
                       "Speed-up over all ops on the fastest device that holds them"),
     speedupText, [](const RunRow& row) { return row.fits ? row.speedup : 0; }},
    {QT_TRANSLATE_NOOP("placewright::RunsModel", "Gap"),
     QT_TRANSLATE_NOOP("placewright::RunsModel",
                       "Distance to the lower bound: the placement is at most this much above the optimum"),
     gapText, [](const RunRow& row) { return row.gap < 0 || !row.fits ? kLast : row.gap; }},
    {QT_TRANSLATE_NOOP("placewright::RunsModel", "Evals"),
     QT_TRANSLATE_NOOP("placewright::RunsModel",
                       "Placements scored so far; the tooltip of a run has its budget"),
     evaluationsText, [](const RunRow& row) { return static_cast<double>(row.evaluations); }},
    {QT_TRANSLATE_NOOP("placewright::RunsModel", "Time"),
     QT_TRANSLATE_NOOP("placewright::RunsModel", "Wall time of the search"), clockText,
     [](const RunRow& row) { return row.seconds; }},
}};

QString stateText(RunRow::State state) {
    switch (state) {
        case RunRow::State::running:
            return RunsModel::tr("running");
        case RunRow::State::finished:
            return RunsModel::tr("finished");
        case RunRow::State::cancelled:
            return RunsModel::tr("stopped");
        case RunRow::State::failed:
            return RunsModel::tr("failed");
        case RunRow::State::paused:
            return RunsModel::tr("paused");
    }
    return {};
}

/// Icon in the colour of the run's curve: a disc within a ring while running, two bars while paused, a disc
/// when finished, an open ring when stopped, a cross when failed.
QIcon stateIcon(const RunRow& row, const QPalette& palette) {
    constexpr int kSize = 16;
    const qreal ratio = qGuiApp->devicePixelRatio();
    QPixmap pixmap(QSize(kSize, kSize) * ratio);
    pixmap.setDevicePixelRatio(ratio);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    painter.setRenderHint(QPainter::Antialiasing);
    const QPointF centre(kSize / 2.0, kSize / 2.0);
    const QColor color = row.hidden ? mixedColor(palette.color(QPalette::Base), mutedColor(palette), 0.5F)
                                    : runColor(row.style, palette.color(QPalette::Base));
    switch (row.state) {
        case RunRow::State::running:
            painter.setPen(QPen(color, 1.5));
            painter.drawEllipse(centre, 6.5, 6.5);
            [[fallthrough]];
        case RunRow::State::finished:
            painter.setPen(Qt::NoPen);
            painter.setBrush(color);
            painter.drawEllipse(centre, 4, 4);
            break;
        case RunRow::State::cancelled:
            painter.setPen(QPen(color, 2));
            painter.drawEllipse(centre, 3.5, 3.5);
            break;
        case RunRow::State::failed:
            painter.setPen(QPen(warningColor(palette), 2));
            painter.drawLine(QPointF(4, 4), QPointF(12, 12));
            painter.drawLine(QPointF(4, 12), QPointF(12, 4));
            break;
        case RunRow::State::paused:
            painter.fillRect(QRectF(4, 3.5, 3, 9), color);
            painter.fillRect(QRectF(9, 3.5, 3, 9), color);
            break;
    }
    QIcon icon(pixmap);
    icon.addPixmap(pixmap, QIcon::Selected);  // keeps Qt from tinting the colour, which has a meaning
    return icon;
}

QString toolTipText(const RunRow& row) {
    QStringList lines{row.title % QStringLiteral(", ") % stateText(row.state)};
    if (row.pinned) lines << RunsModel::tr("The screen follows this run alone (P ends this).");
    if (row.hidden) lines << RunsModel::tr("Hidden in the plots (H shows it again)");
    if (!row.failure.isEmpty()) lines << row.failure;
    if (!row.splitting.isEmpty()) lines << row.splitting;
    if (row.budget > 0)
        lines << RunsModel::tr("Budget: %L1 evaluations").arg(row.budget);
    else if (row.budget_s > 0)
        lines << RunsModel::tr("Budget: %1").arg(QString::fromStdString(format_clock(row.budget_s)));
    else if (row.isUnderWay())
        lines << RunsModel::tr("No budget: it runs until it is stopped");
    if (!row.options.isEmpty()) lines << row.options;
    if (!row.elsewhere.isEmpty()) {
        lines << RunsModel::tr("Belongs to: %1").arg(row.elsewhere)
              << RunsModel::tr(
                     "Showing its placement switches to that machine and these options; Ctrl+Z undoes this.");
    }
    if (!row.fits && row.defined) lines << row.misfit;
    if (row.fits && row.speedup > 0 && row.speedup_error > 0) {
        lines << (isAsFast(row) ? RunsModel::tr("As fast as one device within the error: %1 times (± %2 %)")
                                : RunsModel::tr("%1 times (± %2 %) as fast as one device"))
                     .arg(row.speedup, 0, 'f', 2)
                     .arg(std::ceil(row.speedup_error * 100), 0, 'f', 0);
    }
    return plainToolTip(lines.join(u'\n'));
}

}  // namespace

void RunsModel::setRows(std::vector<RunRow> rows) {
    std::unordered_set<int> kept;
    for (const RunRow& row : rows) kept.insert(row.id);
    for (int last = static_cast<int>(m_rows.size()) - 1; last >= 0; --last) {
        if (kept.contains(m_rows[last].id)) continue;
        int first = last;
        while (first > 0 && !kept.contains(m_rows[first - 1].id)) --first;
        beginRemoveRows({}, first, last);
        m_rows.erase(m_rows.begin() + first, m_rows.begin() + last + 1);
        endRemoveRows();
        last = first;
    }
    for (int at = 0; at < static_cast<int>(rows.size()); ++at) {
        const auto found = std::find_if(m_rows.begin() + at, m_rows.end(),
                                        [&](const RunRow& row) { return row.id == rows[at].id; });
        if (found == m_rows.end()) {
            beginInsertRows({}, at, at);
            m_rows.insert(m_rows.begin() + at, std::move(rows[at]));
            endInsertRows();
            continue;
        }
        const int from = static_cast<int>(found - m_rows.begin());
        if (from != at) {
            beginMoveRows({}, from, from, {}, at);
            std::rotate(m_rows.begin() + at, found, found + 1);
            endMoveRows();
        }
        if (m_rows[at] != rows[at]) {
            m_rows[at] = std::move(rows[at]);
            Q_EMIT dataChanged(index(at, 0), index(at, ColumnCount - 1));
        }
    }
}

void RunsModel::setObjective(const QString& title, const QString& help) {
    m_objectiveTitle = title;
    m_objectiveHelp = help;
    Q_EMIT headerDataChanged(Qt::Horizontal, StepTime, StepTime);
}

int RunsModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int RunsModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant RunsModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
    const RunRow& row = m_rows[index.row()];
    const ColumnInfo& column = kColumns[index.column()];
    const bool isTitle = index.column() == Title;
    const bool warns = row.state == RunRow::State::failed || (index.column() == StepTime && !row.fits);
    switch (role) {
        case Qt::DisplayRole:
            return column.text(row);
        case Qt::EditRole:
            return isTitle ? QVariant(row.title) : QVariant();
        case SortRole:
            return column.order(row);
        case IdRole:
            return row.id;
        case Qt::ToolTipRole:
            return toolTipText(row);
        case Qt::TextAlignmentRole:
            return QVariant::fromValue(Qt::AlignVCenter | (isTitle ? Qt::AlignLeft : Qt::AlignRight));
        case Qt::DecorationRole:
            return isTitle ? QVariant(stateIcon(row, QGuiApplication::palette())) : QVariant();
        case Qt::ForegroundRole:
            if (!row.elsewhere.isEmpty() || row.hidden) return mutedColor(QGuiApplication::palette());
            return warns ? QVariant(warningColor(QGuiApplication::palette())) : QVariant();
        case Qt::FontRole: {
            if (!row.shown && !row.hidden) return {};
            QFont font;
            font.setBold(row.shown);
            font.setItalic(row.hidden);
            return font;
        }
        case Qt::AccessibleTextRole: {
            if (!isTitle) return column.text(row);
            const QString text = row.title % QStringLiteral(", ") % stateText(row.state);
            return row.shown ? tr("%1, on screen").arg(text) : text;
        }
        default:
            return {};
    }
}

QVariant RunsModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || section < 0 || section >= ColumnCount) return {};
    switch (role) {
        case Qt::DisplayRole:
            return section == StepTime ? m_objectiveTitle : tr(kColumns[section].title);
        case Qt::ToolTipRole:
            return section == StepTime ? tr(kColumns[section].help).arg(m_objectiveHelp)
                                       : tr(kColumns[section].help);
        case Qt::TextAlignmentRole:
            return QVariant::fromValue(Qt::AlignVCenter |
                                       (section == Title ? Qt::AlignLeft : Qt::AlignRight));
        default:
            return {};
    }
}

Qt::ItemFlags RunsModel::flags(const QModelIndex& index) const {
    const Qt::ItemFlags usual = QAbstractTableModel::flags(index);
    return index.isValid() && index.column() == Title ? usual | Qt::ItemIsEditable : usual;
}

bool RunsModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (role != Qt::EditRole || !checkIndex(index, CheckIndexOption::IndexIsValid) || index.column() != Title)
        return false;
    const RunRow& row = m_rows[index.row()];
    if (value.toString() != row.title) Q_EMIT renamed(row.id, value.toString());
    return true;
}

RunsView::RunsView(QWidget* parent)
    : QTableView(parent),
      m_model(new RunsModel(this)),
      m_sorted(new QSortFilterProxyModel(this)),
      m_fit(new QTimer(this)) {
    setAccessibleName(tr("Runs"));
    m_sorted->setSourceModel(m_model);
    m_sorted->setSortRole(RunsModel::SortRole);
    setModel(m_sorted);
    setSortingEnabled(true);
    sortByColumn(RunsModel::Title, Qt::DescendingOrder);

    setSelectionBehavior(SelectRows);
    setSelectionMode(SingleSelection);
    setEditTriggers(NoEditTriggers);
    setTabKeyNavigation(false);
    setAlternatingRowColors(true);
    setShowGrid(false);
    setWordWrap(false);
    setTextElideMode(Qt::ElideMiddle);  // titles end with the run number
    setHorizontalScrollMode(ScrollPerPixel);
    horizontalHeader()->setHighlightSections(false);
    verticalHeader()->hide();
    verticalHeader()->setDefaultSectionSize(fontMetrics().height() + kRowPadding);

    verticalHeader()->setMinimumSectionSize(0);
    connect(m_model, &RunsModel::renamed, this, &RunsView::renameRequested);
    connect(this, &QAbstractItemView::doubleClicked, this,
            [this](const QModelIndex& index) { Q_EMIT runActivated(index.data(RunsModel::IdRole).toInt()); });
    connect(horizontalHeader(), &QHeaderView::sortIndicatorChanged, m_fit, qOverload<>(&QTimer::start));
    // Fits the columns once for all rows that change together.
    m_fit->setSingleShot(true);
    connect(m_fit, &QTimer::timeout, this, &RunsView::fitColumns);
    connect(m_model, &QAbstractItemModel::dataChanged, m_fit, qOverload<>(&QTimer::start));
    connect(m_model, &QAbstractItemModel::rowsInserted, m_fit, qOverload<>(&QTimer::start));
    connect(m_model, &QAbstractItemModel::rowsInserted, viewport(), qOverload<>(&QWidget::update));
    connect(m_model, &QAbstractItemModel::rowsRemoved, viewport(), qOverload<>(&QWidget::update));
    fitColumns();
}

std::optional<int> RunsView::currentRun() const {
    const QModelIndex index = currentIndex();
    if (!index.isValid()) return std::nullopt;
    return index.data(RunsModel::IdRole).toInt();
}

void RunsView::paintEvent(QPaintEvent* event) {
    QTableView::paintEvent(event);
    if (m_sorted->rowCount() > 0) return;
    QPainter painter(viewport());
    painter.setPen(mutedColor(palette()));
    drawEmptyText(painter, viewport()->rect(),
                  tr("No runs yet. Open a model and press Optimize: each search is listed here with its "
                     "best placement."));
}

const RunRow& RunsView::rowAt(const QModelIndex& index) const {
    return m_model->rows()[static_cast<std::size_t>(m_sorted->mapToSource(index).row())];
}

void RunsView::keyPressEvent(QKeyEvent* event) {
    const QModelIndex index = currentIndex();
    if (!index.isValid() || state() == EditingState || !handleKey(*event, rowAt(index)))
        QTableView::keyPressEvent(event);
}

bool RunsView::handleKey(const QKeyEvent& event, const RunRow& row) {
    if (event.matches(QKeySequence::Delete)) {
        Q_EMIT removeRequested(row.id);
        return true;
    }
    if (event.modifiers() & ~Qt::KeypadModifier) return false;
    switch (event.key()) {
        case Qt::Key_Return:
        case Qt::Key_Enter:
            Q_EMIT runActivated(row.id);
            return true;
        case Qt::Key_Space:
            if (row.isUnderWay()) Q_EMIT pauseRequested(row.id, row.state == RunRow::State::running);
            return row.isUnderWay();
        case Qt::Key_P:
            if (row.isUnderWay()) Q_EMIT followRequested(row.id, !row.pinned);
            return true;
        case Qt::Key_H:
            Q_EMIT hideRequested(row.id, !row.hidden);
            return true;
        case Qt::Key_S:
            Q_EMIT aloneRequested(row.id);
            return true;
        case Qt::Key_F2:
            edit(currentIndex().siblingAtColumn(RunsModel::Title));
            return true;
        default:
            return false;
    }
}

void RunsView::contextMenuEvent(QContextMenuEvent* event) {
    const bool byKeyboard = event->reason() == QContextMenuEvent::Keyboard;
    const QModelIndex index = byKeyboard ? currentIndex() : indexAt(event->pos());
    if (!index.isValid()) return;
    const int id = index.data(RunsModel::IdRole).toInt();
    const RunRow& row = rowAt(index);

    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    QAction* show = menu->addAction(tr("Show placement"), this, [this, id] { Q_EMIT runActivated(id); });
    show->setShortcut(Qt::Key_Return);
    show->setEnabled(row.step_time_s > 0);
    QAction* follow = menu->addAction(tr("Follow this run"), this,
                                      [this, id, alone = !row.pinned] { Q_EMIT followRequested(id, alone); });
    follow->setShortcut(Qt::Key_P);
    follow->setCheckable(true);
    follow->setChecked(row.pinned);
    follow->setEnabled(row.isUnderWay() && row.elsewhere.isEmpty());
    const bool paused = row.state == RunRow::State::paused;
    QAction* pause = menu->addAction(paused ? tr("Resume") : tr("Pause"), this,
                                     [this, id, paused] { Q_EMIT pauseRequested(id, !paused); });
    pause->setShortcut(Qt::Key_Space);
    pause->setEnabled(row.isUnderWay());
    QAction* stop = menu->addAction(tr("Stop"), this, [this, id] { Q_EMIT cancelRequested(id); });
    stop->setEnabled(row.isUnderWay());
    menu->addSeparator();
    menu->addAction(tr("Compare with what is on screen"), this, [this, id] { Q_EMIT pinAsARequested(id); })
        ->setEnabled(row.step_time_s > 0);
    menu->addAction(row.hidden ? tr("Show in plots") : tr("Hide in plots"), this,
                    [this, id, hidden = !row.hidden] { Q_EMIT hideRequested(id, hidden); })
        ->setShortcut(Qt::Key_H);
    menu->addAction(tr("Only this run in plots"), this, [this, id] { Q_EMIT aloneRequested(id); })
        ->setShortcut(Qt::Key_S);
    menu->addAction(tr("Rename…"), this,
                    [this, at = QPersistentModelIndex(index.siblingAtColumn(RunsModel::Title))] {
                        if (at.isValid()) edit(at);
                    })
        ->setShortcut(Qt::Key_F2);
    menu->addSeparator();
    menu->addAction(tr("Measure the best placements…"), this, [this, id] { Q_EMIT measureRequested(id); })
        ->setEnabled(row.step_time_s > 0 && row.elsewhere.isEmpty());
    menu->addSeparator();
    menu->addAction(tr("Remove"), this, [this, id] { Q_EMIT removeRequested(id); })
        ->setShortcut(QKeySequence::Delete);
    menu->popup(byKeyboard ? viewport()->mapToGlobal(visualRect(index).bottomLeft()) : event->globalPos());
}

void RunsView::resizeEvent(QResizeEvent* event) {
    QTableView::resizeEvent(event);
    fitColumns();
}

void RunsView::changeEvent(QEvent* event) {
    QTableView::changeEvent(event);
    if (event->type() != QEvent::FontChange && event->type() != QEvent::StyleChange) return;
    verticalHeader()->setDefaultSectionSize(fontMetrics().height() + kRowPadding);
    m_widths = {};
    fitColumns();
}

void RunsView::fitColumns() {
    int others = 0;
    for (int column = 1; column < RunsModel::ColumnCount; ++column) {
        const QHeaderView& header = *horizontalHeader();
        const QString title = m_sorted->headerData(column, Qt::Horizontal).toString();
        // Only the column that sorts needs room for the arrow.
        const int named = header.sortIndicatorSection() == column
                              ? header.sectionSizeHint(column)
                              : header.fontMetrics().horizontalAdvance(title) + kHeaderPadding;
        const int wanted = std::max(sizeHintForColumn(column), named);
        if (wanted > m_widths[column]) setColumnWidth(column, m_widths[column] = wanted);
        others += columnWidth(column);
    }
    // The title takes the width that the other columns leave, down to a few characters; if that is too
    // little, the width that the first of them leave, since these say how good the run is.
    const int character = fontMetrics().averageCharWidth();
    const int least = character * 12;
    int first = 0;
    for (const int column : {RunsModel::StepTime, RunsModel::Speedup, RunsModel::Gap})
        first += columnWidth(column);
    const int room = viewport()->width();
    setColumnWidth(RunsModel::Title, others + least <= room ? room - others : std::max(room - first, least));
}

}  // namespace placewright
