// SPDX-License-Identifier: MIT
#include "app/window/pair/pair_window.hpp"

#include <algorithm>
#include <unordered_map>

#include <QCheckBox>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QPushButton>
#include <QScreen>
#include <QShortcut>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QTableView>
#include <QTimer>
#include <QVBoxLayout>

#include "widgets/graph_view.hpp"
#include "widgets/quantities.hpp"
#include "widgets/text.hpp"
#include "widgets/timeline_view.hpp"

namespace placewright {
namespace {

constexpr int kMargin = 8;
constexpr int kPaneSettlesMs = 150;

/// A table with whole rows selected and columns as wide as they need.
QTableView* table(PairModel* model, const QString& name, const char* objectName) {
    auto* sorted = new QSortFilterProxyModel(model);
    sorted->setSourceModel(model);
    sorted->setSortRole(PairModel::SortRole);
    auto* view = new QTableView;
    view->setObjectName(QLatin1String(objectName));
    view->setAccessibleName(name);
    view->setModel(sorted);
    view->setSelectionBehavior(QAbstractItemView::SelectRows);
    view->setEditTriggers(QAbstractItemView::NoEditTriggers);
    view->setAlternatingRowColors(true);
    view->setShowGrid(false);
    view->setWordWrap(false);
    view->verticalHeader()->hide();
    view->verticalHeader()->setDefaultSectionSize(view->fontMetrics().height() + 6);
    view->horizontalHeader()->setHighlightSections(false);
    view->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    view->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    return view;
}

}  // namespace

PairWindow::PairWindow(Document* document, PinnedPlacement* pinned, QWidget* parent)
    : QWidget(parent, Qt::Window), m_document(document), m_pinned(pinned), m_scene(document) {
    setWindowTitle(tr("Two placements — Placewright"));
    setObjectName(QStringLiteral("pairWindow"));
    resize(QSize(1400, 980).boundedTo(screen()->availableSize() - QSize(40, 60)));
    m_summary = new QLabel;
    m_summary->setObjectName(QStringLiteral("summary"));
    m_summary->setTextFormat(Qt::PlainText);
    m_summary->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_showA = new QPushButton(tr("Put A on &screen"));
    m_showA->setObjectName(QStringLiteral("showA"));
    m_showA->setToolTip(tr("Show placement A in the main window (Ctrl+Z there goes back)"));
    m_pinB = new QPushButton(tr("Make B the new &A"));
    m_pinB->setObjectName(QStringLiteral("pinB"));
    m_pinB->setToolTip(tr("Compare with what is on screen now"));
    connect(m_showA, &QPushButton::clicked, m_pinned, &PinnedPlacement::show);
    connect(m_pinB, &QPushButton::clicked, m_pinned, &PinnedPlacement::pinScreen);

    auto* top = new QHBoxLayout;
    top->addWidget(m_summary, 1);
    top->addWidget(m_showA);
    top->addWidget(m_pinB);
    auto* parts = new QSplitter(Qt::Vertical);
    parts->setObjectName(QStringLiteral("parts"));
    parts->setChildrenCollapsible(false);
    parts->addWidget(makeGraphs());
    parts->addWidget(makeTimelines());
    parts->addWidget(makeTables());
    parts->setSizes({270, 430, 180});
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
    layout->addLayout(top);
    layout->addWidget(parts, 1);

    linkViews();
    connect(m_pinned, &PinnedPlacement::changed, this, &PairWindow::update);
    connect(&m_scene, &PairScene::changed, this, [this] {
        if (m_pair) showGraphs(*m_pair);
    });
    auto* const roomTimer = new QTimer(this);
    roomTimer->setSingleShot(true);
    roomTimer->setInterval(kPaneSettlesMs);
    connect(graph(1), &GraphView::roomChanged, roomTimer, qOverload<>(&QTimer::start));
    connect(roomTimer, &QTimer::timeout, this, &PairWindow::fitRoom);
    connect(m_document, &Document::selectionChanged, this, &PairWindow::showSelection);
    connect(new QShortcut(QKeySequence::Close, this), &QShortcut::activated, this, &QWidget::close);
}

QWidget* PairWindow::makeGraphs() {
    auto* graphs = new QSplitter;
    graphs->setChildrenCollapsible(false);
    for (std::size_t side = 0; side < 2; ++side) {
        auto* part = new QWidget;
        auto* layout = new QVBoxLayout(part);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->setSpacing(kMargin / 2);
        m_captions[side] = new QLabel;
        m_captions[side]->setObjectName(side == 0 ? QStringLiteral("captionA") : QStringLiteral("captionB"));
        m_captions[side]->setTextFormat(Qt::RichText);
        m_graphs[side] = new GraphView;
        m_graphs[side]->setObjectName(side == 0 ? QStringLiteral("graphA") : QStringLiteral("graphB"));
        m_graphs[side]->setAccessibleName(side == 0 ? tr("Graph of placement A")
                                                    : tr("Graph of placement B"));
        m_graphs[side]->setToolTipSource([this, side](OpId op) {
            if (!m_pair) return QString();
            const PairSide& of = side == 0 ? m_pair->a : m_pair->b;
            const OpList own = side == 0 ? across({op}, true) : OpList{op};
            if (own.empty()) return QString();
            return tr("<b>%1</b><br>on %2")
                .arg(toQString(of.problem().graph->op(own.front()).name).toHtmlEscaped(),
                     toQString(of.problem().machine->device(of.deviceOf(own.front())).name).toHtmlEscaped());
        });
        layout->addWidget(m_captions[side]);
        layout->addWidget(m_graphs[side], 1);
        graphs->addWidget(part);
    }
    graphs->setSizes({1, 1});
    return graphs;
}

QWidget* PairWindow::makeTimelines() {
    auto* timelines = new QSplitter(Qt::Vertical);
    timelines->setChildrenCollapsible(false);
    for (std::size_t side = 0; side < 2; ++side) {
        m_timelines[side] = new TimelineView;
        m_timelines[side]->setObjectName(side == 0 ? QStringLiteral("timelineA")
                                                   : QStringLiteral("timelineB"));
        m_timelines[side]->setAccessibleName(side == 0 ? tr("Timeline of placement A")
                                                       : tr("Timeline of placement B"));
        auto* letter = new QLabel(side == 0 ? tr("A") : tr("B"));
        letter->setAlignment(Qt::AlignHCenter | Qt::AlignTop);
        QFont bold = letter->font();
        bold.setBold(true);
        letter->setFont(bold);
        const QFontMetrics metrics(bold);
        letter->setFixedWidth(
            std::max(metrics.horizontalAdvance(tr("A")), metrics.horizontalAdvance(tr("B"))) + 1);
        auto* part = new QWidget;
        auto* layout = new QHBoxLayout(part);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->setSpacing(kMargin / 2);
        layout->addWidget(letter);
        layout->addWidget(m_timelines[side], 1);
        timelines->addWidget(part);
    }
    return timelines;
}

QWidget* PairWindow::makeTables() {
    m_figures = new PairFigures(this);
    m_ops = new PairOps(this);
    m_figuresTable = table(m_figures, tr("Numbers of both placements"), "figures");
    m_opsTable = table(m_ops, tr("Ops of both placements"), "ops");
    m_opsTable->setSortingEnabled(true);
    m_opsTable->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    m_onlyDifferences = new QCheckBox(tr("Only &differences"));
    m_onlyDifferences->setObjectName(QStringLiteral("onlyDifferences"));
    m_onlyDifferences->setToolTip(tr("Leave out numbers and ops that are the same in A and B"));
    connect(m_onlyDifferences, &QCheckBox::toggled, m_figures, &PairModel::setOnlyDifferences);
    connect(m_onlyDifferences, &QCheckBox::toggled, m_ops, &PairModel::setOnlyDifferences);
    m_onlyDifferences->setChecked(true);
    connect(m_opsTable->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this] {
        if (m_linking) return;
        OpList ops;
        for (const QModelIndex& row : m_opsTable->selectionModel()->selectedRows())
            ops.push_back(row.data(PairOps::OpRole).toUInt());
        std::ranges::sort(ops);
        if (!ops.empty()) m_document->setSelection(ops);
    });
    auto* tables = new QSplitter;
    tables->setChildrenCollapsible(false);
    tables->addWidget(m_figuresTable);
    tables->addWidget(m_opsTable);
    tables->setSizes({560, 720});
    auto* part = new QWidget;
    auto* layout = new QVBoxLayout(part);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kMargin / 2);
    layout->addWidget(m_onlyDifferences);
    layout->addWidget(tables, 1);
    return part;
}

/// Moves, zooms and selects in both sides together.
void PairWindow::linkViews() {
    const auto together = [this](const auto& follow) {
        if (m_linking) return;
        m_linking = true;
        follow();
        m_linking = false;
    };
    for (int side = 0; side < 2; ++side) {
        GraphView* const other = graph(1 - side);
        connect(graph(side), &GraphView::zoomChanged, this,
                [this, side, together, other] { together([&] { other->setZoom(graph(side)->zoom()); }); });
        connect(graph(side), &GraphView::selectionEdited, m_document, &Document::setSelection);
        connect(graph(side), &GraphView::opHovered, other, &GraphView::setHovered);
        connect(graph(side), &GraphView::modulesRequested, m_document, &Document::showModules);
        connect(timeline(side), &TimelineView::zoomChanged, this, [this, side, together] {
            together([&] { timeline(1 - side)->setZoom(timeline(side)->zoom()); });
        });
        connect(timeline(side), &TimelineView::selectionEdited, this, [this, side](const OpList& ops) {
            m_document->setSelection(side == 0 ? across(ops, false) : ops);
        });
    }
}

OpList PairWindow::across(const OpList& ops, bool toA) const {
    OpList others;
    if (!m_pair) return others;
    for (const PairOp& op : m_pair->differences.ops) {
        if (std::ranges::binary_search(ops, toA ? op.b : op.a)) others.push_back(toA ? op.a : op.b);
    }
    std::ranges::sort(others);
    return others;
}

QString PairWindow::captionOf(int side, const Pair& pair) const {
    const PairSide& of = side == 0 ? pair.a : pair.b;
    return tr("<b>%1</b>  %2 · %3")
        .arg(side == 0 ? tr("A") : tr("B"), of.title.toHtmlEscaped(),
             secondsText(of.simulated->timeline->outcome.step_time_s));
}

void PairWindow::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    update();
}

void PairWindow::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape && !m_document->selection().empty())
        return m_document->setSelection({});
    QWidget::keyPressEvent(event);
}

void PairWindow::update() {
    if (!isVisible()) return;
    m_pair = m_pinned->pair();
    m_showA->setEnabled(m_pinned->canShow());
    m_pinB->setEnabled(m_pair != nullptr);
    m_figures->setPair(m_pair);
    m_ops->setPair(m_pair);
    if (!m_pair) {
        m_summary->setText(m_pinned->isPinned()
                               ? tr("Open a network to compare its placement with A.")
                               : tr("Pin a placement as A: View ▸ Pin as A (Ctrl+Shift+A)."));
        for (int side = 0; side < 2; ++side) {
            m_captions[static_cast<std::size_t>(side)]->clear();
            graph(side)->setScene(nullptr, nullptr);
            timeline(side)->setData(nullptr);
        }
        return;
    }
    const PairDifferences& differences = m_pair->differences;
    const PairFigure& step = differences.figures.front();
    const QString change =
        step.differs() ? tr("B − A: %1 (%2)")
                             .arg(changeText(step.a, step.b, step.unit), changePercentText(step.a, step.b))
                       : tr("The step times are the same");
    m_summary->setText(differences.other_network.isEmpty()
                           ? tr("%1 · %2 of %3 on another device")
                                 .arg(change, countText(static_cast<double>(differences.moved)),
                                      opsText(differences.ops.size()))
                           : tr("A is of another network, %1 · %2").arg(differences.other_network, change));
    for (int side = 0; side < 2; ++side)
        m_captions[static_cast<std::size_t>(side)]->setText(captionOf(side, *m_pair));

    const auto &timelineA = m_pair->a.simulated->timeline, &timelineB = m_pair->b.simulated->timeline;
    const double longest_s = std::max(timelineA->outcome.total_time_s, timelineB->outcome.total_time_s);
    m_linking = true;
    timeline(0)->setData(timelineA);
    timeline(1)->setData(timelineB);
    const int header = std::max(timeline(0)->wantedHeaderWidth(), timeline(1)->wantedHeaderWidth());
    for (int side = 0; side < 2; ++side) timeline(side)->setShared(longest_s, header);
    m_linking = false;
    showGraphs(*m_pair);
    showSelection();
}

void PairWindow::setDirection(std::optional<LayoutRoom::Direction> direction) {
    m_direction = direction;
    fitRoom();
}

/// Lays out the graphs for their panes, which have the same shape.
void PairWindow::fitRoom() {
    if (!graph(1)->isVisible() || !graph(1)->isFitted()) return;
    const QSizeF room = graph(1)->roomForWhole();
    const double aspect = room.width() / room.height();
    using Direction = LayoutRoom::Direction;
    m_scene.setRoom({m_direction.value_or(aspect > 1 ? Direction::right : Direction::down), aspect});
}

/// Both graphs have the same layout.
void PairWindow::showGraphs(const Pair& pair) {
    const auto scene = m_scene.scene();
    if (!scene || pair.b.simulated->timeline->problem != m_document->problem()) return;
    m_linking = true;
    OpList moved;
    std::vector<DeviceId> devicesOfA(pair.b.problem().ops, kInvalidDevice);
    if (pair.differences.same_network) {
        for (const PairOp& op : pair.differences.ops) {
            devicesOfA[op.b] = op.device_a;
            if (op.moved) moved.push_back(op.b);
        }
        // Derived ops have their place with the forward op; those without one are where B has them.
        for (OpId op = 0; op < devicesOfA.size(); ++op) {
            const OpId forward = forwardOf(*pair.b.problem().graph, op);
            if (devicesOfA[op] == kInvalidDevice) devicesOfA[op] = devicesOfA[forward];
        }
        graph(0)->setScene(scene, pair.a.problem().machine);
        graph(0)->setDevices(std::move(devicesOfA));
    } else {
        graph(0)->setEmptyText(tr("A is of another network, %1. Numbers and timelines are compared.")
                                   .arg(toQString(pair.a.problem().graph->name())));
        graph(0)->setScene(nullptr, nullptr);
    }
    graph(1)->setScene(scene, pair.b.problem().machine);
    graph(1)->setDevices(pair.b.deviceOfOps());
    std::ranges::sort(moved);
    for (int side = 0; side < 2; ++side) graph(side)->setMarked(moved);
    m_linking = false;
}

void PairWindow::showSelection() {
    if (!m_pair || !isVisible()) return;
    const OpList& ops = m_document->selection();
    for (int side = 0; side < 2; ++side) graph(side)->setSelection(ops);
    timeline(0)->setSelection(across(ops, true));
    timeline(1)->setSelection(ops);
}

}  // namespace placewright
