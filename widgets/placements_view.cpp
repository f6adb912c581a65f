// SPDX-License-Identifier: MIT
#include "widgets/placements_view.hpp"

#include <array>
#include <cmath>

#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>

#include "core/base/infinity.hpp"
#include "widgets/palette.hpp"
#include "widgets/plain_text.hpp"
#include "widgets/progress_bar.hpp"
#include "widgets/quantities.hpp"
#include "widgets/steps_plot.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

constexpr int kIndexRole = Qt::UserRole;      // of the placement
constexpr int kOrderRole = Qt::UserRole + 1;  // a number by which a column is sorted

/// A row that is sorted by numbers in place of texts.
class PlacementItem : public QTreeWidgetItem {
public:
    bool operator<(const QTreeWidgetItem& other) const override {
        const int column = treeWidget()->sortColumn();
        return data(column, kOrderRole).toDouble() < other.data(column, kOrderRole).toDouble();
    }
};

QIcon symbolIcon(bool fastest, const QColor& base, const QColor& text, qreal ratio) {
    constexpr int kSize = 16;
    QPixmap pixmap(QSize(kSize, kSize) * ratio);
    pixmap.setDevicePixelRatio(ratio);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.translate(kSize / 2.0, kSize / 2.0);
    painter.setBrush(placementColor(fastest, base));
    if (fastest) {
        painter.setPen(QPen(text, 0.8));
        painter.drawPolygon(QPolygonF({{0, -6}, {6, 0}, {0, 6}, {-6, 0}}));
    } else {
        painter.setPen(Qt::NoPen);
        painter.drawEllipse(QPointF(), 3.5, 3.5);
    }
    QIcon icon(pixmap);
    icon.addPixmap(pixmap, QIcon::Selected);  // the colour has a meaning
    return icon;
}

/// "+3.1 %"; empty if infinite.
QString errorText(double error) {
    if (!std::isfinite(error)) return {};
    return QStringLiteral("%1%2 %")
        .arg(error < 0 ? QStringLiteral("−") : QStringLiteral("+"))
        .arg(std::abs(error) * 100, 0, 'f', 1);
}

}  // namespace

PlacementsTable::PlacementsTable(QWidget* parent) : QTreeWidget(parent) {
    setObjectName(QStringLiteral("measuredPlacements"));
    setAccessibleName(tr("Measured placements"));
    setColumnCount(ColumnCount);
    setHeaderLabels({tr("Rank"), tr("Simulated"), tr("Measured"), tr("Error"), tr("Noise"), tr("Fits")});
    const std::array tips{
        tr("Place in the simulation among these placements; the diamond is the fastest that was measured"),
        tr("Simulated step time"),
        tr("Median of the steps that were measured"),
        tr("Measured against simulated step time: (measured − simulated) / simulated"),
        tr("Distance of the quartiles of the steps, as a share of the median"),
        tr("Whether no device used more memory than it has")};
    for (int column = 0; column < ColumnCount; ++column) {
        headerItem()->setToolTip(column, tips[static_cast<std::size_t>(column)]);
        if (column != Rank) headerItem()->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    }
    setRootIsDecorated(false);
    setUniformRowHeights(true);
    setAlternatingRowColors(true);
    setAllColumnsShowFocus(true);
    setFrameShape(QFrame::NoFrame);
    setMouseTracking(true);
    header()->setStretchLastSection(false);
    header()->setSectionResizeMode(QHeaderView::ResizeToContents);
    header()->setMinimumSectionSize(36);
    sortByColumn(Rank, Qt::AscendingOrder);
    setSortingEnabled(true);
    connect(this, &QTreeWidget::currentItemChanged, this, [this](const QTreeWidgetItem* item) {
        if (item != nullptr) Q_EMIT placementChosen(item->data(0, kIndexRole).toULongLong());
    });
    connect(this, &QTreeWidget::itemEntered, this, [this](const QTreeWidgetItem* item) {
        Q_EMIT placementHovered(item->data(0, kIndexRole).toULongLong());
    });
    connect(this, &QTreeWidget::itemDoubleClicked, this, [this](const QTreeWidgetItem* item) {
        Q_EMIT placementActivated(item->data(0, kIndexRole).toULongLong());
    });
}

void PlacementsTable::setPlacements(std::shared_ptr<const MeasuredPlacements> placements) {
    m_placements = std::move(placements);
    const std::size_t count = m_placements ? m_placements->all.size() : 0;
    if (static_cast<std::size_t>(topLevelItemCount()) > count) clear();
    fillAll();
}

void PlacementsTable::setOnScreen(const Placement& placement) {
    m_onScreen = placement;
    for (int row = 0; m_placements && row < topLevelItemCount(); ++row) {
        QTreeWidgetItem* item = topLevelItem(row);
        const bool shown =
            *m_placements->all[item->data(0, kIndexRole).toULongLong()].placement == m_onScreen;
        if (item->font(0).bold() == shown) continue;
        QFont font = this->font();
        font.setBold(shown);
        for (int column = 0; column < ColumnCount; ++column) item->setFont(column, font);
    }
}

std::optional<std::size_t> PlacementsTable::chosen() const {
    if (currentItem() == nullptr) return {};
    return currentItem()->data(0, kIndexRole).toULongLong();
}

void PlacementsTable::setChosen(std::size_t index) {
    if (QTreeWidgetItem* item = itemOf(index)) setCurrentItem(item);
}

QTreeWidgetItem* PlacementsTable::itemOf(std::size_t index) const {
    for (int row = 0; row < topLevelItemCount(); ++row) {
        if (topLevelItem(row)->data(0, kIndexRole).toULongLong() == index) return topLevelItem(row);
    }
    return nullptr;
}

void PlacementsTable::fillAll() {
    if (!m_placements) return;
    // Sorted once, when all are there.
    setSortingEnabled(false);
    const QColor base = palette().color(QPalette::Base), text = palette().color(QPalette::Text);
    const QIcon plain = symbolIcon(false, base, text, devicePixelRatioF()),
                diamond = symbolIcon(true, base, text, devicePixelRatioF());
    const auto fastest = m_placements->fastest();
    for (int row = 0; row < topLevelItemCount(); ++row) {
        const std::size_t index = topLevelItem(row)->data(0, kIndexRole).toULongLong();
        fill(*topLevelItem(row), index, index == fastest ? diamond : plain);
    }
    for (auto index = static_cast<std::size_t>(topLevelItemCount()); index < m_placements->all.size();
         ++index) {
        auto* item = new PlacementItem;
        item->setData(0, kIndexRole, QVariant::fromValue<qulonglong>(index));
        for (int column = 1; column < ColumnCount; ++column)
            item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
        fill(*item, index, index == fastest ? diamond : plain);
        addTopLevelItem(item);
    }
    setSortingEnabled(true);
    setOnScreen(m_onScreen);
}

void PlacementsTable::fill(QTreeWidgetItem& item, std::size_t index, const QIcon& icon) {
    const MeasuredPlacements::Each& each = m_placements->all[index];
    const std::size_t rank = m_placements->rank(index);
    const bool fastest = m_placements->fastest() == index, ran = each.measured.value_s > 0 && each.high_s > 0;
    const double error = ran ? stepError(each) : kInfinity;
    const double noise = ran ? (each.high_s - each.low_s) / each.measured.value_s : kInfinity;
    const auto set = [&item](int column, const QString& text, double order) {
        item.setText(column, text);
        item.setData(column, kOrderRole, order);
    };
    set(Rank, QString::number(rank), static_cast<double>(rank));
    set(Simulated, secondsText(each.simulated.value_s), each.simulated.value_s);
    set(Measured, ran ? secondsText(each.measured.value_s) : tr("out of memory"),
        ran ? each.measured.value_s : kInfinity);
    set(Noise, ran ? QStringLiteral("%1 %").arg(noise * 100, 0, 'f', 1) : QString(), noise);
    set(Error, errorText(error), error);
    set(Fits, each.measured.fits ? tr("yes") : tr("no"), each.measured.fits ? 0 : 1);
    for (const int column : {Measured, Fits})
        item.setForeground(column, each.measured.fits ? palette().text() : QBrush(warningColor(palette())));
    item.setIcon(Rank, icon);
    QStringList tip{fastest ? tr("Fastest measured, %1 in the simulation").arg(ordinalText(rank))
                            : tr("%1 in the simulation").arg(ordinalText(rank))};
    if (ran)
        tip << tr("Half of the steps from %1 to %2").arg(secondsText(each.low_s), secondsText(each.high_s));
    if (each.proposed) tip << tr("Proposed by the search on hardware");
    if (!each.simulated.fits) tip << tr("Does not fit in the simulation");
    tip << tr("A double-click shows it");
    for (int column = 0; column < ColumnCount; ++column)
        item.setToolTip(column, plainToolTip(tip.join(QLatin1Char('\n'))));
}

void PlacementsTable::keyPressEvent(QKeyEvent* event) {
    const auto index = chosen();
    if (index && (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter)) {
        Q_EMIT placementActivated(*index);
    } else {
        QTreeWidget::keyPressEvent(event);
    }
}

void PlacementsTable::changeEvent(QEvent* event) {
    QTreeWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) fillAll();
}

bool PlacementsTable::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::Leave) Q_EMIT placementHovered(std::nullopt);
    return QTreeWidget::viewportEvent(event);
}

PlacementsView::PlacementsView(QWidget* parent)
    : QWidget(parent),
      m_state(new QLabel),
      m_progress(makeProgressBar(tr("Progress of the measurement"))),
      m_cancel(new QPushButton(tr("Cancel"))),
      m_show(new QPushButton(tr("Show fastest"))),
      m_table(new PlacementsTable) {
    QSizePolicy policy = m_progress->sizePolicy();
    policy.setRetainSizeWhenHidden(false);
    m_progress->setSizePolicy(policy);
    m_state->setObjectName(QStringLiteral("placementsState"));
    m_state->setTextFormat(Qt::PlainText);
    m_state->setWordWrap(true);
    m_cancel->setObjectName(QStringLiteral("cancelPlacements"));
    m_cancel->setToolTip(tr("Stop measuring; what was measured is kept"));
    m_show->setObjectName(QStringLiteral("showFastest"));
    m_show->setToolTip(tr("Put the fastest measured placement that fits on screen; Ctrl+Z undoes this"));
    auto* top = new QHBoxLayout;
    top->setContentsMargins(6, 4, 4, 0);
    top->addWidget(m_state, 1);
    top->addWidget(m_show, 0, Qt::AlignTop);
    top->addWidget(m_cancel, 0, Qt::AlignTop);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(2);
    layout->addLayout(top);
    layout->addWidget(m_progress);
    layout->addWidget(m_table, 1);
    connect(m_cancel, &QPushButton::clicked, this, &PlacementsView::cancelRequested);
    connect(m_show, &QPushButton::clicked, this, [this] {
        if (const auto fastest = m_placements ? m_placements->fastest() : std::nullopt)
            Q_EMIT placementActivated(*fastest);
    });
    connect(m_table, &PlacementsTable::placementActivated, this, &PlacementsView::placementActivated);
}

void PlacementsView::setPlacements(std::shared_ptr<const MeasuredPlacements> placements) {
    m_placements = std::move(placements);
    m_table->setPlacements(m_placements);
    showState();
}

void PlacementsView::setTimeLeft(std::optional<double> left_s) {
    m_left_s = left_s;
    showState();
}

void PlacementsView::setOnScreen(const Placement& placement) {
    m_onScreen = placement;
    m_table->setOnScreen(placement);
    showState();
}

void PlacementsView::showState() {
    if (!m_placements) return;
    const MeasuredPlacements& of = *m_placements;
    const bool measuring = of.state == MeasuredPlacements::State::measuring;
    QStringList lines;
    if (measuring) {
        lines << (m_left_s ? tr("%1: placement %2 of %3 · %4 left")
                                 .arg(of.run)
                                 .arg(of.all.size() + 1)
                                 .arg(of.wanted)
                                 .arg(toQString(format_clock(*m_left_s)))
                           : tr("%1: placement %2 of %3").arg(of.run).arg(of.all.size() + 1).arg(of.wanted));
    } else if (of.state == MeasuredPlacements::State::stopped) {
        lines << tr("%1: stopped after %2 of %3.").arg(of.run).arg(of.all.size()).arg(of.wanted);
    }
    if (!measuring) lines << fastestText(of);
    m_state->setText(lines.join(QLatin1Char(' ')).trimmed());
    m_progress->setVisible(measuring);
    m_progress->setRange(0, static_cast<int>(of.wanted));
    m_progress->setValue(static_cast<int>(of.all.size()));
    m_cancel->setVisible(measuring);
    const auto fastest = of.fastest();
    m_show->setVisible(!measuring && fastest && *of.all[*fastest].placement != m_onScreen);
}

}  // namespace placewright
