// SPDX-License-Identifier: MIT
#include "app/window/dialogs/shortcuts_dialog.hpp"

#include <algorithm>

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLineEdit>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "app/window/actions.hpp"

namespace placewright {

ShortcutsDialog::ShortcutsDialog(QWidget* parent) : QDialog(parent) {
    setWindowTitle(tr("Keyboard and mouse"));
    m_edit = new QLineEdit;
    m_edit->setObjectName(QStringLiteral("shortcutText"));
    m_edit->setAccessibleName(tr("Search"));
    m_edit->setPlaceholderText(tr("Search keys and commands"));
    m_edit->setToolTip(tr("Shows the rows that have all these words"));
    m_edit->setClearButtonEnabled(true);
    m_rows = new QTreeWidget;
    m_rows->setObjectName(QStringLiteral("shortcutRows"));
    m_rows->setAccessibleName(tr("Shortcuts"));
    m_rows->setToolTip(tr("Keys and mouse gestures, by menu and panel"));
    m_rows->setColumnCount(2);
    m_rows->setHeaderHidden(true);
    m_rows->setRootIsDecorated(false);
    m_rows->setIndentation(12);
    m_rows->setItemsExpandable(false);
    m_rows->setSelectionMode(QAbstractItemView::SingleSelection);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* layout = new QVBoxLayout(this);
    layout->addWidget(m_edit);
    layout->addWidget(m_rows, 1);
    layout->addWidget(buttons);
    fill();
    m_rows->header()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
    connect(m_edit, &QLineEdit::textChanged, this, &ShortcutsDialog::search);
    m_edit->setFocus();
    resize(fontMetrics().averageCharWidth() * 125, fontMetrics().height() * 38);
}

void ShortcutsDialog::fill() {
    QTreeWidgetItem* group = nullptr;
    const auto add = [&](const QString& where, const QString& keys, const QString& does) {
        if (group == nullptr || group->text(0) != where) {
            group = new QTreeWidgetItem(m_rows, {where});
            QFont bold = m_rows->font();
            bold.setBold(true);
            group->setFont(0, bold);
            group->setFirstColumnSpanned(true);
            group->setFlags(Qt::ItemIsEnabled);
            group->setExpanded(true);
        }
        auto* row = new QTreeWidgetItem(group, {keys, does});
        row->setData(0, Qt::AccessibleTextRole, tr("%1: %2").arg(keys, does));
    };
    const auto capital = [](QString text) {
        if (!text.isEmpty()) text[0] = text[0].toUpper();
        return text;
    };
    for (const ActionInfo& info : Actions::table()) {
        QStringList keys;
        for (const QKeySequence& key : info.keys) {
            if (!key.isEmpty()) keys << key.toString(QKeySequence::NativeText);
        }
        if (!keys.isEmpty()) add(tr("Anywhere"), keys.join(tr(" or ")), capital(Actions::tr(info.does)));
    }
    for (const GestureInfo& gesture : Actions::gestures())
        add(capital(Actions::tr(gesture.where)), Actions::tr(gesture.input),
            capital(Actions::tr(gesture.does)));
}

void ShortcutsDialog::search(const QString& text) {
    const QStringList words = text.split(QLatin1Char(' '), Qt::SkipEmptyParts);
    for (int i = 0; i < m_rows->topLevelItemCount(); ++i) {
        QTreeWidgetItem* group = m_rows->topLevelItem(i);
        bool any = false;
        for (int j = 0; j < group->childCount(); ++j) {
            QTreeWidgetItem* row = group->child(j);
            const QString all =
                group->text(0) + QLatin1Char(' ') + row->text(0) + QLatin1Char(' ') + row->text(1);
            const bool found = std::ranges::all_of(
                words, [&](const QString& word) { return all.contains(word, Qt::CaseInsensitive); });
            row->setHidden(!found);
            any |= found;
        }
        group->setHidden(!any);
    }
}

}  // namespace placewright
