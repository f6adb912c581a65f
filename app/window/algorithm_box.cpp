// SPDX-License-Identifier: MIT
#include "app/window/algorithm_box.hpp"

#include <algorithm>

#include <QAbstractItemView>
#include <QApplication>
#include <QEvent>
#include <QPainter>
#include <QStandardItemModel>
#include <QStyledItemDelegate>

#include "core/algorithms.hpp"
#include "widgets/palette.hpp"
#include "widgets/plot_style.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

constexpr int kGap = 16;  // pixels between title and summary

int titleWidth(const QAbstractItemModel& model, const QFontMetrics& metrics) {
    int width = 0;
    for (int row = 0; row < model.rowCount(); ++row)
        width = std::max(width, metrics.horizontalAdvance(model.index(row, 0).data().toString()));
    return width;
}

/// Draws the summary beside the title, in a column of its own.
class SummaryDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        QStyledItemDelegate::paint(painter, option, index);
        const QString summary = index.data(AlgorithmBox::kSummaryRole).toString();
        if (summary.isEmpty()) return;
        const bool selected = option.state.testFlag(QStyle::State_Selected);
        painter->setPen(selected ? option.palette.color(QPalette::HighlightedText)
                                 : mutedColor(option.palette));
        painter->drawText(option.rect.adjusted(left(option, index), 0, -4, 0),
                          Qt::AlignVCenter | Qt::AlignLeft, summary);
    }

    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        QSize size = QStyledItemDelegate::sizeHint(option, index);
        const QString summary = index.data(AlgorithmBox::kSummaryRole).toString();
        if (!summary.isEmpty())
            size.setWidth(left(option, index) + option.fontMetrics.horizontalAdvance(summary) + 8);
        return size;
    }

private:
    static int left(const QStyleOptionViewItem& option, const QModelIndex& index) {
        constexpr int kIcon = 28;
        return kIcon + titleWidth(*index.model(), option.fontMetrics) + kGap;
    }
};

QIcon discOf(const QColor& color, qreal ratio) {
    constexpr int kSide = 12;
    QPixmap pixmap(QSize(kSide, kSide) * ratio);
    pixmap.setDevicePixelRatio(ratio);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    painter.drawEllipse(QRectF(2, 2, kSide - 4, kSide - 4));
    painter.end();
    QIcon icon(pixmap);
    icon.addPixmap(pixmap, QIcon::Selected);  // keeps Qt from tinting the colour, which has a meaning
    return icon;
}

}  // namespace

AlgorithmBox::AlgorithmBox(QWidget* parent) : QComboBox(parent) {
    auto* items = new QStandardItemModel(this);
    QString group;
    for (const AlgorithmInfo& info : algorithms()) {
        if (toQString(info.group) != group) {
            group = toQString(info.group);
            auto* header = new QStandardItem(group);
            header->setFlags(Qt::NoItemFlags);
            QFont bold = font();
            bold.setBold(true);
            header->setFont(bold);
            header->setForeground(palette().color(QPalette::Active, QPalette::Text));
            items->appendRow(header);
        }
        auto* item = new QStandardItem(toQString(info.title));
        item->setData(toQString(info.id), Qt::UserRole);
        item->setData(toQString(info.summary), kSummaryRole);
        item->setData(toQString(info.help), Qt::ToolTipRole);
        item->setData(QStringLiteral("%1: %2").arg(toQString(info.title), toQString(info.summary)),
                      Qt::AccessibleTextRole);
        items->appendRow(item);
    }
    setModel(items);
    setItemDelegate(new SummaryDelegate(this));
    setMaxVisibleItems(45);
    setSizeAdjustPolicy(AdjustToMinimumContentsLengthWithIcon);
    setMinimumContentsLength(17);  // "Simulated annealing"
    updateIcons();
}

void AlgorithmBox::showPopup() {
    view()->setMinimumWidth(view()->sizeHintForColumn(0) + 24);
    QComboBox::showPopup();
}

void AlgorithmBox::changeEvent(QEvent* event) {
    QComboBox::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) updateIcons();
}

void AlgorithmBox::updateIcons() {
    for (int i = 0; i < count(); ++i) {
        const std::string id = itemData(i).toString().toStdString();
        if (id.empty())
            setItemData(i, palette().color(QPalette::Active, QPalette::Text), Qt::ForegroundRole);
        else
            setItemIcon(i,
                        discOf(runColor(RunStyle{id}, palette().color(QPalette::Base)), devicePixelRatioF()));
    }
}

}  // namespace placewright
