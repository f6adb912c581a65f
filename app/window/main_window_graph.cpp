// SPDX-License-Identifier: MIT
// The graph: selection, modules, colours and direction.
#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <QApplication>
#include <QClipboard>
#include <QDockWidget>
#include <QFileInfo>
#include <QGuiApplication>
#include <QTableView>

#include "app/window/finder.hpp"
#include "app/window/graph_coloring.hpp"
#include "app/window/main_window.hpp"
#include "app/window/pair/pair_window.hpp"
#include "app/window/view_history.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/ops_view.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

/// The titles and the selected rows of a table, separated by tabs.
QString rowsText(const QTableView& table) {
    const QAbstractItemModel& model = *table.model();
    QStringList lines;
    const auto line = [&](const auto& cell) {
        QStringList cells;
        for (int column = 0; column < model.columnCount(); ++column) {
            if (!table.isColumnHidden(column)) cells << cell(column);
        }
        lines << cells.join(QLatin1Char('\t'));
    };
    line([&](int column) { return model.headerData(column, Qt::Horizontal).toString(); });
    QModelIndexList rows = table.selectionModel()->selectedRows();
    std::sort(rows.begin(), rows.end());
    for (const QModelIndex& row : rows)
        line([&](int column) { return row.siblingAtColumn(column).data().toString(); });
    return lines.join(QLatin1Char('\n'));
}

}  // namespace

void MainWindow::selectLike(std::string Op::*property, const QString& none) {
    if (!m_document->isOpen()) return;
    if (m_document->selection().empty()) return showInformation(none);
    const Graph& graph = *m_document->problem()->graph;
    std::set<std::string_view> wanted;
    for (const OpId op : m_document->selection()) wanted.insert(graph.op(op).*property);
    OpList ops;
    for (OpId id = 0; id < graph.size(); ++id) {
        const Op& op = graph.op(id);
        if (op.phase == Phase::forward && wanted.contains(op.*property)) ops.push_back(id);
    }
    m_document->setSelection(ops);
}

void MainWindow::selectKind() {
    selectLike(&Op::kind, tr("Select an op first: then all ops of its kind can be selected."));
}

void MainWindow::selectModule() {
    selectLike(&Op::scope, tr("Select an op first: then all ops of its module can be selected."));
}

void MainWindow::copyNames() {
    if (!m_document->isOpen()) return;
    const auto* table = qobject_cast<const QTableView*>(QApplication::focusWidget());
    if (table != nullptr && table != m_ops && table->selectionModel()->hasSelection())
        return QGuiApplication::clipboard()->setText(rowsText(*table));
    if (m_document->selection().empty())
        return showInformation(tr("Select the ops whose names to copy, or rows of a table."));
    QStringList names;
    for (const OpId op : m_document->selection())
        names << toQString(m_document->problem()->graph->op(op).name);
    QGuiApplication::clipboard()->setText(names.join(QLatin1Char('\n')));
}

void MainWindow::copyPicture() {
    QWidget* of = m_graph;
    for (QWidget* widget = QApplication::focusWidget(); widget != nullptr; widget = widget->parentWidget()) {
        if (const auto* dock = qobject_cast<QDockWidget*>(widget)) of = dock->widget();
    }
    QGuiApplication::clipboard()->setPixmap(of->grab());
    showInformation(tr("The picture is in the clipboard."));
}

void MainWindow::openModule() {
    if (!m_graph->canOpenModules()) return showNoClosedModule();
    m_graph->openSelectedModules();
}

void MainWindow::openEqualModules() {
    if (!m_graph->canOpenModules()) return showNoClosedModule();
    m_graph->openEqualModules();
}

void MainWindow::showNoClosedModule() {
    showInformation(tr("No closed module is selected. Closed modules are drawn as stacks of boxes."));
}

void MainWindow::closeModule() {
    if (m_graph->canCloseModules()) return m_graph->closeSelectedModules();
    showInformation(tr("Select an op inside the module to close. Ops outside all modules cannot be closed."));
}

void MainWindow::moveSelectionTo(int number) {
    if (!m_document->isOpen() || number < 1) return;
    if (number > static_cast<int>(m_document->problem()->devices)) {
        showInformation(tr("This machine has %1 devices; there is no device %2.")
                            .arg(m_document->problem()->devices)
                            .arg(number));
        return;
    }
    m_document->moveOps(m_document->selection(), static_cast<DeviceId>(number - 1));
}

void MainWindow::chooseColors() {
    if (m_coloring == nullptr) return;  // during construction
    const std::pair<ActionId, ColorBy> choices[]{{ActionId::colorsDevice, ColorBy::device},
                                                 {ActionId::colorsKind, ColorBy::kind},
                                                 {ActionId::colorsTime, ColorBy::time},
                                                 {ActionId::colorsMemory, ColorBy::memory},
                                                 {ActionId::colorsValues, ColorBy::file}};
    for (const auto& [id, by] : choices)
        if (action(id)->isChecked()) m_coloring->choose(by);
}

void MainWindow::showColors() {
    constexpr std::array kActions{ActionId::colorsDevice, ActionId::colorsKind, ActionId::colorsTime,
                                  ActionId::colorsMemory, ActionId::colorsValues};
    QAction* values = action(ActionId::colorsValues);
    const QString& file = m_coloring->file();
    values->setEnabled(!file.isEmpty());
    values->setText(file.isEmpty() ? tr("&Values") : tr("&Values of %1").arg(QFileInfo(file).fileName()));
    action(kActions[static_cast<std::size_t>(m_coloring->by())])->setChecked(true);
    m_finder->setValues(m_coloring->values());
}

void MainWindow::chooseDirection() {
    m_graph->fit();
    fitRoom();
    if (m_pair != nullptr) m_pair->setDirection(chosenDirection());
}

std::optional<LayoutRoom::Direction> MainWindow::chosenDirection() const {
    if (action(ActionId::directionRight)->isChecked()) return LayoutRoom::Direction::right;
    if (action(ActionId::directionDown)->isChecked()) return LayoutRoom::Direction::down;
    return std::nullopt;
}

/// Lays out the graph for the room that it has now.
void MainWindow::fitRoom() {
    if (!m_graph->isVisible() || !m_graph->isFitted() || m_history->isAwaiting()) return;
    const QSizeF room = m_graph->roomForWhole();
    const double aspect = room.width() / room.height();
    using Direction = LayoutRoom::Direction;
    m_document->setRoom(
        {chosenDirection().value_or(aspect > 1 ? Direction::right : Direction::down), aspect});
}

}  // namespace placewright
