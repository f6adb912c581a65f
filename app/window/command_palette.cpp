// SPDX-License-Identifier: MIT
#include "app/window/command_palette.hpp"

#include <algorithm>
#include <utility>

#include <QAction>
#include <QComboBox>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QMenuBar>
#include <QPainter>
#include <QPointer>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include "app/window/fuzzy.hpp"
#include "widgets/palette.hpp"

namespace placewright {
namespace {

constexpr int kWidth = 560, kRows = 12, kMostListed = 100;
constexpr int kPathRole = Qt::UserRole, kKeysRole = Qt::UserRole + 1;

QString plainText(QString text) {
    return text.remove(QLatin1Char('&'));
}

void addCommands(const QMenu& menu, const QString& path, std::vector<Command>& commands) {
    for (QAction* action : menu.actions()) {
        if (action->isSeparator()) continue;
        const QString title = plainText(action->text());
        if (QMenu* inner = action->menu()) {
            Q_EMIT inner->aboutToShow();  // some are filled when they are opened
            addCommands(*inner, path + QStringLiteral(" ▸ ") + title, commands);
            continue;
        }
        commands.push_back({.title = title,
                            .path = path,
                            .keys = action->shortcut().toString(QKeySequence::NativeText),
                            .icon = action->icon(),
                            .enabled = action->isEnabled(),
                            // A menu may be filled anew while the palette is open.
                            .run = [action = QPointer<QAction>(action)] {
                                if (action) action->trigger();
                            }});
    }
}

/// Icon, title, path in a muted colour, and the keys at the right.
class CommandDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const override {
        return {100, option.fontMetrics.height() + 12};
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& item, const QModelIndex& index) const override {
        QStyleOptionViewItem option = item;
        initStyleOption(&option, index);
        const QPalette& palette = option.palette;
        const bool selected = (option.state & QStyle::State_Selected) != 0,
                   enabled = (option.state & QStyle::State_Enabled) != 0;
        const auto group = enabled ? QPalette::Active : QPalette::Disabled;
        const QColor text = palette.color(group, selected ? QPalette::HighlightedText : QPalette::Text);
        const QColor faint = selected || !enabled ? text : mutedColor(palette);
        if (selected) painter->fillRect(option.rect, palette.color(group, QPalette::Highlight));
        QRect area = option.rect.adjusted(8, 0, -8, 0);
        const QRect icon(area.left(), area.center().y() - 8, 16, 16);
        option.icon.paint(painter, icon, Qt::AlignCenter,
                          !enabled   ? QIcon::Disabled
                          : selected ? QIcon::Selected
                                     : QIcon::Normal);
        area.setLeft(icon.right() + 9);
        painter->setFont(option.font);
        const QFontMetrics& metrics = option.fontMetrics;
        const QString keys = index.data(kKeysRole).toString();
        painter->setPen(faint);
        painter->drawText(area, Qt::AlignVCenter | Qt::AlignRight, keys);
        if (!keys.isEmpty()) area.setRight(area.right() - metrics.horizontalAdvance(keys) - 12);
        const QString title = metrics.elidedText(option.text, Qt::ElideMiddle, area.width());
        painter->setPen(text);
        painter->drawText(area, Qt::AlignVCenter | Qt::AlignLeft, title);
        area.setLeft(area.left() + metrics.horizontalAdvance(title) + 12);
        painter->setPen(faint);
        painter->drawText(
            area, Qt::AlignVCenter | Qt::AlignLeft,
            metrics.elidedText(index.data(kPathRole).toString(), Qt::ElideRight, std::max(0, area.width())));
    }
};

}  // namespace

std::vector<Command> commandsOf(const QMenuBar& bar) {
    std::vector<Command> commands;
    for (const QAction* action : bar.actions()) {
        if (const QMenu* menu = action->menu()) addCommands(*menu, plainText(action->text()), commands);
    }
    return commands;
}

std::vector<Command> commandsOf(QComboBox& choices, const QString& path, const QIcon& icon) {
    std::vector<Command> commands;
    for (int i = 0; i < choices.count(); ++i) {
        commands.push_back({.title = choices.itemText(i),
                            .path = path,
                            .icon = icon,
                            .enabled = choices.isEnabled(),
                            .run = [&choices, i] {
                                choices.setCurrentIndex(i);
                                Q_EMIT choices.activated(i);
                            }});
    }
    return commands;
}

CommandPalette::CommandPalette(std::vector<Command> commands, QStringList recent,
                               std::function<std::vector<Command>(const QString&)> found, QWidget* parent)
    : QDialog(parent, Qt::Popup),
      m_commands(std::move(commands)),
      m_recent(std::move(recent)),
      m_found(std::move(found)) {
    setAccessibleName(tr("Command palette"));
    m_edit = new QLineEdit;
    m_edit->setObjectName(QStringLiteral("commandText"));
    m_edit->setAccessibleName(tr("Command"));
    m_edit->setPlaceholderText(tr("Type some letters of a command, network, machine, algorithm or op"));
    m_edit->setToolTip(tr("Up and Down: choose, Enter: run, Escape: close"));
    m_list = new QListWidget;
    m_list->setObjectName(QStringLiteral("commandList"));
    m_list->setAccessibleName(tr("Commands"));
    m_list->setToolTip(tr("Click a command to run it"));
    m_list->setItemDelegate(new CommandDelegate(m_list));
    m_list->setUniformItemSizes(true);
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setFocusPolicy(Qt::NoFocus);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(8, 8, 8, 8);
    layout->addWidget(m_edit);
    layout->addWidget(m_list);
    setFocusProxy(m_edit);
    m_edit->installEventFilter(this);
    connect(m_edit, &QLineEdit::textChanged, this, &CommandPalette::fill);
    connect(m_list, &QListWidget::itemClicked, this, &CommandPalette::runSelected);
    fill({});
    const int height = m_edit->sizeHint().height() + kRows * (fontMetrics().height() + 12) + 24;
    resize(std::min(kWidth, parent->width() - 32), std::min(height, parent->height() - 32));
    move(parent->mapToGlobal(QPoint((parent->width() - width()) / 2, parent->height() / 10)));
    m_edit->setFocus();
}

void CommandPalette::fill(const QString& typed) {
    struct Match {
        int score = 0;
        const Command* command = nullptr;
    };
    std::vector<Match> matches;
    for (const Command& command : m_commands) {
        const auto title = fuzzyScore(typed, command.title),
                   whole = fuzzyScore(typed, command.path + QLatin1Char(' ') + command.title);
        if (!title && !whole) continue;
        // What the command is called counts more than where it is.
        int score = std::max(title ? *title + 300 : 0, whole.value_or(0));
        const auto recent = m_recent.indexOf(command.id());
        if (recent >= 0) score += (typed.isEmpty() ? 100'000 : 400) - static_cast<int>(recent) * 10;
        if (!command.enabled) score -= 1'000'000;
        if (typed.isEmpty() && recent < 0) score = command.enabled ? 0 : -1'000'000;  // as in the menus
        matches.push_back({score, &command});
    }
    std::ranges::stable_sort(matches, std::greater(), &Match::score);
    m_listed.clear();
    for (const Match& match : matches) m_listed.push_back(*match.command);
    if (!typed.trimmed().isEmpty() && m_found) {
        for (Command& command : m_found(typed.trimmed())) m_listed.push_back(std::move(command));
    }
    if (!typed.isEmpty() && m_listed.size() > kMostListed) m_listed.resize(kMostListed);
    m_list->clear();
    for (const Command& command : m_listed) {
        auto* item = new QListWidgetItem(command.icon, command.title, m_list);
        item->setData(kPathRole, command.path);
        item->setData(kKeysRole, command.keys);
        item->setData(Qt::AccessibleTextRole, QString(command.path + QStringLiteral(": ") + command.title));
        if (!command.enabled) item->setFlags(item->flags() & ~(Qt::ItemIsEnabled | Qt::ItemIsSelectable));
    }
    if (m_listed.empty()) {
        auto* none = new QListWidgetItem(tr("Nothing has that name"), m_list);
        none->setFlags(Qt::NoItemFlags);
    } else {
        m_list->setCurrentRow(0);
    }
}

void CommandPalette::runSelected() {
    const int row = m_list->currentRow();
    if (row < 0 || row >= static_cast<int>(m_listed.size())) return;
    const Command command = m_listed[static_cast<std::size_t>(row)];
    if (!command.enabled) return;
    accept();
    Q_EMIT ran(command.id());
    command.run();
}

/// A window without a title needs an edge.
void CommandPalette::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setPen(
        mixedColor(palette().color(QPalette::Window), palette().color(QPalette::WindowText), 0.3F));
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
    if (watched == m_edit && event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        switch (key->key()) {
            case Qt::Key_Up:
            case Qt::Key_Down:
            case Qt::Key_PageUp:
            case Qt::Key_PageDown:
                QCoreApplication::sendEvent(m_list, event);
                return true;
            case Qt::Key_Return:
            case Qt::Key_Enter:
                runSelected();
                return true;
            default:
                break;
        }
    }
    return QDialog::eventFilter(watched, event);
}

}  // namespace placewright
