// SPDX-License-Identifier: MIT
#include "widgets/suggestions_panel.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <unordered_map>

#include <QEvent>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QShortcut>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "core/graph/blocks.hpp"
#include "widgets/palette.hpp"
#include "widgets/plain_text.hpp"
#include "widgets/progress_bar.hpp"
#include "widgets/quantities.hpp"

namespace placewright {
namespace {

constexpr std::size_t kMostRows = 50;

enum MoveColumn { What, From, To, Gain, MoveColumnCount };

/// Moves of a group with equal results: to equivalent devices.
struct EqualMoves {
    const SingleMove* move = nullptr;  ///< the first of them
    std::vector<DeviceId> devices;
};

/// Merges equal moves; keeps the order, best first.
std::vector<EqualMoves> merged(std::span<const SingleMove> moves) {
    constexpr double kEqual = 1e-9;  // relative; the last digits of a double depend on the order of summation
    std::vector<EqualMoves> all;
    std::unordered_map<GroupId, std::vector<std::size_t>> of_group;
    for (const SingleMove& move : moves) {
        std::vector<std::size_t>& before = of_group[move.group];
        const auto same = std::ranges::find_if(before, [&](std::size_t index) {
            const Score& score = all[index].move->score;
            return score.fits == move.score.fits &&
                   std::abs(score.penalised_s - move.score.penalised_s) <= kEqual * score.penalised_s;
        });
        if (same != before.end()) {
            all[*same].devices.push_back(move.device);
        } else {
            before.push_back(all.size());
            all.push_back({&move, {move.device}});
        }
    }
    return all;
}

/// Text of the change by a move. If the placement does not fit the memory, it says whether the move makes it
/// fit.
QString gainText(const SingleMove& move, const Score& now) {
    if (now == kUndefinedScore)
        return SuggestionsPanel::tr("defined, %1").arg(secondsText(move.score.value_s));
    const QString change =
        (move.delta_s > 0 ? QStringLiteral("+") : QStringLiteral("−")) + secondsText(std::abs(move.delta_s));
    const double percent = now.value_s > 0 ? std::abs(move.delta_s) / now.value_s * 100 : 0;
    const QString text = SuggestionsPanel::tr("%1 (%2 %)").arg(change, QString::number(percent, 'f', 1));
    if (now.fits) return text;
    return move.score.fits ? SuggestionsPanel::tr("fits, %1").arg(text)
                           : SuggestionsPanel::tr("less overflow, %1").arg(text);
}

}  // namespace

SuggestionsPanel::SuggestionsPanel(QWidget* parent)
    : QWidget(parent),
      m_text(new QLabel),
      m_progress(makeProgressBar(tr("Progress of the suggestions"))),
      m_list(new QTreeWidget),
      m_apply(new QPushButton(tr("Apply"))) {
    m_text->setTextFormat(Qt::PlainText);
    m_text->setWordWrap(true);
    m_text->setContentsMargins(6, 4, 6, 4);
    m_list->setColumnCount(MoveColumnCount);
    m_list->setHeaderLabels({tr("Move"), tr("From"), tr("To"), tr("Change")});
    m_list->headerItem()->setTextAlignment(Gain, Qt::AlignRight | Qt::AlignVCenter);
    m_list->setRootIsDecorated(false);
    m_list->setUniformRowHeights(true);
    m_list->setAlternatingRowColors(true);
    m_list->setTextElideMode(Qt::ElideMiddle);
    m_list->setMouseTracking(true);
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setAccessibleName(tr("Single moves that improve the placement"));
    m_list->setToolTip(tr("Double-click or Enter applies the move; Ctrl+Z undoes it."));
    m_list->header()->setStretchLastSection(false);
    m_list->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
    m_list->header()->setSectionResizeMode(What, QHeaderView::Stretch);
    m_list->header()->setMinimumSectionSize(40);
    m_list->viewport()->installEventFilter(this);
    m_apply->setToolTip(tr("Apply the selected move (Enter); Ctrl+Z undoes it"));
    m_apply->setEnabled(false);
    setFocusProxy(m_list);

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(2);
    layout->addWidget(m_text);
    layout->addWidget(m_progress);
    layout->addWidget(m_list, 1);
    auto* bottom = new QHBoxLayout;
    bottom->setContentsMargins(6, 2, 6, 6);
    bottom->addStretch(1);
    bottom->addWidget(m_apply);
    layout->addLayout(bottom);

    connect(m_list, &QTreeWidget::itemEntered, this, &SuggestionsPanel::hover);
    connect(m_list, &QTreeWidget::currentItemChanged, this, [this](const QTreeWidgetItem* item) {
        m_apply->setEnabled(item != nullptr);
        hover(item);
    });
    connect(m_list, &QTreeWidget::itemClicked, this,
            [this](const QTreeWidgetItem* item) { Q_EMIT selectionEdited(rowOf(item).ops); });
    connect(m_list, &QTreeWidget::itemDoubleClicked, this, &SuggestionsPanel::requestCurrent);
    connect(m_apply, &QPushButton::clicked, this, &SuggestionsPanel::requestCurrent);
    for (const Qt::Key key : {Qt::Key_Return, Qt::Key_Enter}) {
        auto* shortcut = new QShortcut(key, m_list);
        shortcut->setContext(Qt::WidgetShortcut);
        connect(shortcut, &QShortcut::activated, this, &SuggestionsPanel::requestCurrent);
    }
    showText(tr("Open a network to list the single moves that improve its placement most."));
}

void SuggestionsPanel::showMoves(const Problem& problem, const Placement& placement, const SingleMoves& moves,
                                 const QString& objective) {
    m_list->clear();
    m_rows.clear();
    m_progress->hide();
    const auto better = std::ranges::count_if(
        moves.moves, [&](const SingleMove& move) { return move.score.penalised_s < moves.now.penalised_s; });
    if (moves.moves.empty()) return showText(tr("No op can be moved: each is allowed on one device only."));
    if (better == 0) {
        return showText(tr("No single move improves this placement; all %L1 were simulated. Optimize "
                           "combines several moves.")
                            .arg(moves.moves.size()));
    }
    const std::vector<EqualMoves> shown =
        merged(std::span(moves.moves).first(static_cast<std::size_t>(better)));
    m_text->setText(better == 1
                        ? tr("1 of %L1 single moves improves the placement.").arg(moves.moves.size())
                        : tr("%L1 of %L2 single moves improve the placement%3.")
                              .arg(better)
                              .arg(moves.moves.size())
                              .arg(shown.size() > kMostRows ? tr("; the best are listed") : QString()));
    const Machine& machine = *problem.machine;
    for (const EqualMoves& equal : std::span(shown).first(std::min(shown.size(), kMostRows))) {
        const SingleMove& move = *equal.move;
        Row row{{}, move.device};
        for (const OpId op : problem.grouping.members[move.group]) {
            if (problem.graph->op(op).phase == Phase::forward) row.ops.push_back(op);
        }
        const Op& first = problem.graph->op(problem.grouping.members[move.group].front());
        QString name = QString::fromStdString(first.name), whole = name;
        if (block_number(first)) {
            whole = QString::fromStdString(first.colocate);
            // "layers/12" of "model/layers/12": the end of a long name tells blocks apart.
            name = tr("%1 (%2 ops)").arg(whole.section(QLatin1Char('/'), -2)).arg(row.ops.size());
        } else if (row.ops.size() > 1) {
            name = whole = tr("%1 and %2 more").arg(name).arg(row.ops.size() - 1);
        }
        auto* item = new QTreeWidgetItem(m_list);
        item->setText(What, name);
        item->setToolTip(What, plainToolTip(whole));
        for (const auto& [column, device] :
             {std::pair(From, placement[move.group]), std::pair(To, move.device)}) {
            item->setIcon(column, deviceIcon(machine, device, devicePixelRatioF()));
            item->setText(column, QString::fromStdString(machine.device(device).name));
        }
        if (equal.devices.size() > 1) {
            QStringList names;
            for (const DeviceId device : equal.devices)
                names << QString::fromStdString(machine.device(device).name);
            item->setText(To, tr("%1 or %2 more").arg(names.front()).arg(names.size() - 1));
            item->setToolTip(
                To, plainToolTip(tr("%1 give the same result").arg(names.join(QStringLiteral(", ")))));
        }
        item->setText(Gain, gainText(move, moves.now));
        item->setTextAlignment(Gain, Qt::AlignRight | Qt::AlignVCenter);
        item->setToolTip(Gain, tr("%1 %2").arg(objective, secondsText(move.score.value_s)));
        m_rows.push_back(std::move(row));
    }
}

void SuggestionsPanel::showProgress(std::size_t done, std::size_t total) {
    showText(total > 0 ? tr("%L1 of %L2 single moves simulated").arg(done).arg(total)
                       : tr("Simulating every single move…"));
    m_progress->setRange(0, static_cast<int>(total));
    m_progress->setValue(static_cast<int>(done));
    m_progress->show();
}

void SuggestionsPanel::showText(const QString& text) {
    if (!m_rows.empty()) hover(nullptr);
    m_list->clear();
    m_rows.clear();
    m_progress->hide();
    m_text->setText(text);
}

const SuggestionsPanel::Row& SuggestionsPanel::rowOf(const QTreeWidgetItem* item) const {
    return m_rows[static_cast<std::size_t>(m_list->indexOfTopLevelItem(const_cast<QTreeWidgetItem*>(item)))];
}

void SuggestionsPanel::hover(const QTreeWidgetItem* item) {
    Q_EMIT opHovered(item != nullptr && !rowOf(item).ops.empty() ? rowOf(item).ops.front() : kInvalidOp);
}

void SuggestionsPanel::requestCurrent() {
    const QTreeWidgetItem* item = m_list->currentItem();
    if (item == nullptr) return;
    const Row row = rowOf(item);
    Q_EMIT moveRequested(row.ops, row.to);
}

void SuggestionsPanel::hideEvent(QHideEvent* event) {
    QWidget::hideEvent(event);
    hover(nullptr);
}

bool SuggestionsPanel::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Leave) hover(nullptr);
    return QWidget::eventFilter(watched, event);
}

}  // namespace placewright
