// SPDX-License-Identifier: MIT
// The main window's command palette, sheet of shortcuts and theme.
#include <QComboBox>
#include <QFile>
#include <QMenuBar>
#include <QMessageBox>

#include "app/window/command_palette.hpp"
#include "app/window/dialogs/shortcuts_dialog.hpp"
#include "app/window/main_window.hpp"
#include "app/window/settings.hpp"
#include "app/window/tool_bars.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/icons.hpp"
#include "widgets/text.hpp"
#include "widgets/theme.hpp"

namespace placewright {

void MainWindow::openCommands() {
    constexpr int kMostRecent = 8;
    std::vector<Command> commands = commandsOf(*menuBar());
    std::erase_if(commands, [this](const Command& command) {
        return command.title == action(ActionId::commands)->text().remove(QLatin1Char('&'));
    });
    for (const auto& [box, path, icon] : m_bars->choices()) {
        for (Command& command : commandsOf(*box, path, lineIcon(icon)))
            commands.push_back(std::move(command));
    }
    auto* palette = new CommandPalette(
        std::move(commands), settings::recentCommands.get(),
        [this](const QString& text) { return opsCalled(text); }, this);
    palette->setAttribute(Qt::WA_DeleteOnClose);
    connect(palette, &CommandPalette::ran, this, [](const QString& id) {
        QStringList recent = settings::recentCommands.get();
        recent.removeAll(id);
        recent.prepend(id);
        settings::recentCommands.set(recent.mid(0, kMostRecent));
    });
    palette->show();
}

/// The first ops with this text in their names, as commands that show them in the graph.
std::vector<Command> MainWindow::opsCalled(const QString& text) {
    constexpr std::size_t kMost = 20;
    std::vector<Command> commands;
    if (!m_document->isOpen()) return commands;
    const Graph& graph = *m_document->problem()->graph;
    for (OpId id = 0; id < graph.size() && commands.size() < kMost; ++id) {
        const Op& op = graph.op(id);
        if (op.phase != Phase::forward) continue;
        const QString name = toQString(op.name);
        if (!name.contains(text, Qt::CaseInsensitive)) continue;
        commands.push_back({.title = name,
                            .path = tr("Op"),
                            .icon = lineIcon(QStringLiteral("scan-search")),
                            .run = [this, id] {
                                showStart(false);
                                m_document->setSelection({id});
                                m_graph->zoomTo({id});
                                m_graph->openRound(id);
                            }});
    }
    return commands;
}

void MainWindow::chooseTheme() {
    const Theme theme = action(ActionId::themeDark)->isChecked()    ? Theme::dark
                        : action(ActionId::themeLight)->isChecked() ? Theme::light
                                                                    : Theme::system;
    settings::theme.set(static_cast<int>(theme));
    applyTheme(theme);
}

void MainWindow::showKeys() {
    auto* dialog = new ShortcutsDialog(this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->show();
}

void MainWindow::showAbout() {
    QMessageBox box(QMessageBox::Information, tr("About Placewright"),
                    tr("<b>Placewright %1</b><br>Decides on which device each operation of a neural "
                       "network runs.<br>MIT licence. Icons: Lucide, ISC licence.")
                        .arg(QStringLiteral(PLACEWRIGHT_VERSION)),
                    QMessageBox::Ok, this);
    box.setTextFormat(Qt::RichText);
    if (QFile licence(QStringLiteral(":/icons/LICENSE")); licence.open(QIODevice::ReadOnly))
        box.setDetailedText(QString::fromUtf8(licence.readAll()));
    box.exec();
}

}  // namespace placewright
