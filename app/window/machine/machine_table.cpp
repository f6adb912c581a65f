// SPDX-License-Identifier: MIT
#include "app/window/machine/machine_table.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <QCoreApplication>
#include <QHeaderView>
#include <QLocale>
#include <QTableWidget>

#include "widgets/text.hpp"

namespace placewright {
namespace {

struct MachineTableText {
    Q_DECLARE_TR_FUNCTIONS(MachineTable)
};

QLocale plainLocale() {
    QLocale locale;
    locale.setNumberOptions(QLocale::OmitGroupSeparator);
    return locale;
}

}  // namespace

void setRows(QTableWidget* table, std::size_t count) {
    table->setRowCount(static_cast<int>(count));
}

QTableWidgetItem* setCell(QTableWidget* table, int row, int column, const QString& text, Cell cell) {
    QTableWidgetItem* item = table->item(row, column);
    if (item == nullptr) {
        item = new QTableWidgetItem;
        if (cell == Cell::number) item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
        if (cell == Cell::fixed) item->setFlags(item->flags() & ~Qt::ItemIsEditable);
        table->setItem(row, column, item);
    }
    item->setText(text);
    return item;
}

void fitColumns(QTableWidget* table, int wide) {
    QHeaderView* header = table->horizontalHeader();
    for (int column = 0; column < table->columnCount(); ++column)
        header->setSectionResizeMode(column,
                                     column == wide ? QHeaderView::Stretch : QHeaderView::ResizeToContents);
}

QString numberText(double value) {
    return plainLocale().toString(value, 'g', 6);
}

std::optional<double> numberOf(const QString& text) {
    for (const QLocale& locale : {plainLocale(), QLocale::c()}) {
        bool isNumber = false;
        const double value = locale.toDouble(text.trimmed(), &isNumber);
        if (isNumber && std::isfinite(value)) return value;
    }
    return {};
}

QString usersText(const Machine& machine, ChannelId channel) {
    std::vector<const Route*> routes;
    for (const Route& route : machine.routes()) {
        if (std::ranges::find(route.channels, channel) != route.channels.end()) routes.push_back(&route);
    }
    const auto name = [&](DeviceId device) { return toQString(machine.device(device).name); };
    if (routes.empty()) return MachineTableText::tr("no route");
    if (routes.size() == 1)
        return name(routes.front()->from) + QStringLiteral(" → ") + name(routes.front()->to);
    const auto count = static_cast<int>(routes.size());
    const auto all = [&](auto end) {
        return std::ranges::all_of(routes,
                                   [&](const Route* route) { return route->*end == routes.front()->*end; });
    };
    if (all(&Route::from))
        return MachineTableText::tr("%1 → %2 devices, shared").arg(name(routes.front()->from)).arg(count);
    if (all(&Route::to))
        return MachineTableText::tr("%1 devices → %2, shared").arg(count).arg(name(routes.front()->to));
    return MachineTableText::tr("%1 routes, shared").arg(count);
}

}  // namespace placewright
