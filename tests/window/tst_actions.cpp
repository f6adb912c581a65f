// SPDX-License-Identifier: MIT
// The table of actions: that menus have it, and that the manual and the sheet of keys say the same.
#include <set>

#include <QAction>
#include <QFile>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QRegularExpression>
#include <QSet>
#include <QTest>
#include <QTreeWidget>

#include "app/window/actions.hpp"
#include "app/window/dialogs/shortcuts_dialog.hpp"
#include "tests/support/window.hpp"

using namespace placewright;
using namespace placewright::test;

namespace {

/// A row of the manual's table of keys.
struct ManualRow {
    QString where, input, does;
};

/// Returns the rows below "## Keyboard and mouse"; an empty first cell repeats the one above.
std::vector<ManualRow> manualRows() {
    QFile file(QStringLiteral(PLACEWRIGHT_WINDOW_README));
    if (!file.open(QIODevice::ReadOnly)) qFatal("no manual at %s", PLACEWRIGHT_WINDOW_README);
    const QString text = QString::fromUtf8(file.readAll());
    const QString section =
        text.section(QStringLiteral("## Keyboard and mouse\n"), 1).section(QStringLiteral("\n## "), 0, 0);
    std::vector<ManualRow> rows;
    QString where;
    for (const QString& line : section.split(QLatin1Char('\n'), Qt::SkipEmptyParts)) {
        const QStringList cells = line.split(QLatin1Char('|'));
        if (cells.size() != 5 || cells[1].contains(QStringLiteral("---")) ||
            cells[1].trimmed() == QStringLiteral("where"))
            continue;
        if (!cells[1].trimmed().isEmpty()) where = cells[1].trimmed();
        rows.push_back({where, cells[2].trimmed(), cells[3].trimmed()});
    }
    return rows;
}

bool isGesture(const ManualRow& row) {
    for (const GestureInfo& gesture : Actions::gestures()) {
        if (row.where == QLatin1String(gesture.where) && row.input == QLatin1String(gesture.input) &&
            row.does == QLatin1String(gesture.does))
            return true;
    }
    return false;
}

/// Returns the shortcuts of the manual's rows that list actions.
QStringList keysOf(const ManualRow& row) {
    return row.input.split(QRegularExpression(QStringLiteral(", | or ")));
}

/// "Graph: arrows: select …", of the rows that the search has left.
QStringList shownRows(const ShortcutsDialog& dialog) {
    QStringList rows;
    const auto* tree = dialog.findChild<QTreeWidget*>(QStringLiteral("shortcutRows"));
    for (int i = 0; i < tree->topLevelItemCount(); ++i) {
        const QTreeWidgetItem* group = tree->topLevelItem(i);
        for (int j = 0; !group->isHidden() && j < group->childCount(); ++j) {
            const QTreeWidgetItem* row = group->child(j);
            if (!row->isHidden())
                rows << group->text(0) + QStringLiteral(": ") + row->text(0) + QStringLiteral(": ") +
                            row->text(1);
        }
    }
    return rows;
}

QString nameOf(const ActionInfo& info) {
    return QString::fromUtf8(info.text).remove(QLatin1Char('&'));
}

}  // namespace

class TestActions : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void menusHaveTheTable() {
        const Workplace place;
        const Shown shown;
        for (const ActionInfo& info : Actions::table()) {
            if (info.opens != MenuId::count) continue;
            const QAction* action = shown.window.action(info.id);
            QVERIFY2(action != nullptr, qPrintable(nameOf(info)));
            QList<QKeySequence> keys;
            for (const QKeySequence& key : info.keys) {
                if (!key.isEmpty()) keys << key;
            }
            QCOMPARE(action->shortcuts(), keys);
            QCOMPARE(action->isCheckable(), info.toggle);
            QVERIFY2(!action->associatedObjects().isEmpty(), qPrintable(nameOf(info)));
            if (info.needs != ActionInfo::Needs::nothing)
                QVERIFY2(!action->isEnabled(), qPrintable(nameOf(info)));
        }
    }

    void menusAreShortAndUnambiguous() {
        const Workplace place;
        const Shown shown;
        constexpr qsizetype kMost = 20;
        for (const QAction* top : shown.window.menuBar()->actions()) {
            QSet<QChar> mnemonics;
            qsizetype rows = 0;
            for (const QAction* action : top->menu()->actions()) {
                if (action->isSeparator()) continue;
                ++rows;
                // Undo and redo get their text from the history.
                const qsizetype at = action->text().indexOf(QLatin1Char('&'));
                if (at < 0) continue;
                const QChar key = action->text().at(at + 1).toLower();
                QVERIFY2(!mnemonics.contains(key), qPrintable(action->text()));
                mnemonics.insert(key);
            }
            QVERIFY2(rows <= kMost, qPrintable(top->text()));
        }
    }

    void noKeyTwice() {
        std::set<QString> seen;
        for (const ActionInfo& info : Actions::table()) {
            for (const QKeySequence& key : info.keys) {
                if (!key.isEmpty()) QVERIFY2(seen.insert(key.toString()).second, qPrintable(key.toString()));
            }
        }
        QVERIFY(seen.size() > 20);
    }

    void manualHasEachShortcut_data() {
        QTest::addColumn<QString>("key");
        for (const ActionInfo& info : Actions::table()) {
            for (const QKeySequence& key : info.keys) {
                const QString text = key.toString(QKeySequence::PortableText);
                if (!text.isEmpty()) QTest::addRow("%s", qPrintable(text)) << text;
            }
        }
    }
    void manualHasEachShortcut() {
        QFETCH(const QString, key);
        bool found = false;
        for (const ManualRow& row : manualRows()) found |= !isGesture(row) && keysOf(row).contains(key);
        QVERIFY2(found, qPrintable(key));
    }

    void manualHasEachGesture_data() {
        QTest::addColumn<QString>("where");
        QTest::addColumn<QString>("input");
        QTest::addColumn<QString>("does");
        for (const GestureInfo& gesture : Actions::gestures()) {
            QTest::addRow("%s: %s", gesture.where, gesture.input)
                << QString::fromUtf8(gesture.where) << QString::fromUtf8(gesture.input)
                << QString::fromUtf8(gesture.does);
        }
    }
    void manualHasEachGesture() {
        QFETCH(const QString, where);
        QFETCH(const QString, input);
        QFETCH(const QString, does);
        bool found = false;
        for (const ManualRow& row : manualRows())
            found |= row.where == where && row.input == input && row.does == does;
        QVERIFY(found);
    }

    void tableHasEachRowOfTheManual_data() {
        QTest::addColumn<int>("index");
        int index = 0;
        for (const ManualRow& row : manualRows()) {
            QTest::addRow("%s: %s", qPrintable(row.where), qPrintable(row.input)) << index;
            ++index;
        }
    }
    void tableHasEachRowOfTheManual() {
        QFETCH(const int, index);
        const ManualRow row = manualRows()[static_cast<std::size_t>(index)];
        if (isGesture(row)) return;
        QStringList keys;
        for (const ActionInfo& info : Actions::table()) {
            for (const QKeySequence& key : info.keys) keys << key.toString(QKeySequence::PortableText);
        }
        for (const QString& key : keysOf(row)) QVERIFY2(keys.contains(key), qPrintable(key));
    }

    void sheetHasEachKey() {
        const Workplace place;
        Shown shown;
        QTest::keyClick(&shown.window, Qt::Key_Question);
        const auto* dialog = shown.window.findChild<ShortcutsDialog*>();
        QVERIFY(dialog != nullptr && dialog->isVisible());
        const QStringList sheet = shownRows(*dialog);
        for (const ActionInfo& info : Actions::table()) {
            for (const QKeySequence& key : info.keys) {
                const QString text = key.toString(QKeySequence::NativeText);
                if (!text.isEmpty())
                    QVERIFY2(!sheet.filter(text).filter(QString::fromUtf8(info.does).mid(1)).isEmpty(),
                             qPrintable(text));
            }
            QVERIFY2((*info.does != '\0') == !info.keys.isEmpty(), qPrintable(nameOf(info)));
        }
        for (const GestureInfo& gesture : Actions::gestures())
            QVERIFY2(!sheet.filter(QString::fromUtf8(gesture.does).mid(1)).isEmpty(), gesture.does);
    }

    void sheetIsSearched() {
        const Workplace place;
        Shown shown;
        QTest::keyClick(&shown.window, Qt::Key_Question);
        auto* dialog = shown.window.findChild<ShortcutsDialog*>();
        QVERIFY(dialog != nullptr && dialog->isVisible());
        const qsizetype all = shownRows(*dialog).size();
        auto* edit = dialog->findChild<QLineEdit*>(QStringLiteral("shortcutText"));
        QTest::keyClicks(edit, "GRAPH zoom");
        const QStringList found = shownRows(*dialog);
        QVERIFY(!found.isEmpty() && found.size() < all);
        for (const QString& row : found)
            QVERIFY2(
                row.contains(u"graph", Qt::CaseInsensitive) && row.contains(u"zoom", Qt::CaseInsensitive),
                qPrintable(row));
        edit->clear();
        QCOMPARE(shownRows(*dialog).size(), all);
        QTest::keyClick(dialog, Qt::Key_Escape);
        QVERIFY(!dialog->isVisible());
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestActions)
#include "tst_actions.moc"
