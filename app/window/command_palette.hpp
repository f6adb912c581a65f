// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <vector>

#include <QDialog>
#include <QIcon>
#include <QString>
#include <QStringList>

class QComboBox;
class QLineEdit;
class QListWidget;
class QMenuBar;

namespace placewright {

/// What the palette offers.
struct Command {
    QString title;  ///< "Dark"
    QString path;   ///< where else it is found: "View ▸ Theme"
    QString keys{};
    QIcon icon{};
    bool enabled = true;
    std::function<void()> run{};

    /// Tells it apart from all others, from one session to the next.
    QString id() const { return path + QChar(0x25b8) + title; }
};

/// All entries of the menus.
std::vector<Command> commandsOf(const QMenuBar& bar);
/// The entries of a list of choices, which run() chooses as the user would.
std::vector<Command> commandsOf(QComboBox& choices, const QString& path, const QIcon& icon);

/// A field that finds commands by some of their letters, those that were run last first. Return or a click
/// runs the selected one.
class CommandPalette : public QDialog {
    Q_OBJECT
public:
    /// `recent`: ids of commands, the latest first. `found`: further commands for a text, such as ops.
    CommandPalette(std::vector<Command> commands, QStringList recent,
                   std::function<std::vector<Command>(const QString&)> found, QWidget* parent);

Q_SIGNALS:
    /// A command is run, after the palette has closed.
    void ran(const QString& id);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void paintEvent(QPaintEvent*) override;

private:
    void fill(const QString& typed);
    void runSelected();

    std::vector<Command> m_commands, m_listed;
    QStringList m_recent;
    std::function<std::vector<Command>(const QString&)> m_found;
    QLineEdit* m_edit = nullptr;
    QListWidget* m_list = nullptr;
};

}  // namespace placewright
