// SPDX-License-Identifier: MIT
// A walk over all menus and controls of the window and its dialogs: each says what it does, no two want the
// same key, and no text is cut.
#include <map>

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractSpinBox>
#include <QApplication>
#include <QComboBox>
#include <QDialog>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QTest>
#include <QToolButton>

#include "tests/support/window.hpp"

using namespace placewright;
using namespace placewright::test;

namespace {

constexpr QSize kSmallScreen(1280, 800);

/// "Menu ▸ Entry" of all entries.
void walk(const QMenu& menu, const QString& path, std::map<QString, QAction*>& found) {
    for (QAction* action : menu.actions()) {
        if (action->isSeparator()) continue;
        const QString name = path + QStringLiteral(" ▸ ") + action->text();
        if (action->menu() != nullptr) {
            walk(*action->menu(), name, found);
        } else {
            found[name] = action;
        }
    }
}

std::map<QString, QAction*> entries(const Shown& shown) {
    std::map<QString, QAction*> found;
    for (const QAction* action : shown.window.menuBar()->actions())
        walk(*action->menu(), action->text(), found);
    return found;
}

bool isControl(const QWidget* widget) {
    return qobject_cast<const QAbstractButton*>(widget) != nullptr ||
           qobject_cast<const QComboBox*>(widget) != nullptr ||
           qobject_cast<const QAbstractSpinBox*>(widget) != nullptr ||
           qobject_cast<const QLineEdit*>(widget) != nullptr;
}

/// Parts of Qt's own controls, which say nothing themselves.
bool isInner(const QWidget* widget) {
    if (widget->objectName().startsWith(QLatin1String("qt_"))) return true;
    const QWidget* parent = widget->parentWidget();
    return parent != nullptr &&
           (isControl(parent) || parent->inherits("QTabBar") || parent->inherits("QDockWidget") ||
            parent->inherits("QDialogButtonBox") || parent->inherits("QTableView") ||
            parent->inherits("QComboBoxPrivateContainer"));
}

/// What is wrong with the visible controls and labels of a window, one a line.
QStringList faults(const QWidget& of) {
    QStringList faults;
    for (const QWidget* widget : of.findChildren<QWidget*>()) {
        if (!widget->isVisible() || widget->window() != of.window()) continue;
        const QString name =
            QStringLiteral("%1 %2 %3")
                .arg(of.metaObject()->className(), widget->metaObject()->className(), widget->objectName());
        if (const auto* label = qobject_cast<const QLabel*>(widget)) {
            if (!label->wordWrap() && label->textFormat() == Qt::PlainText && label->pixmap().isNull() &&
                label->sizePolicy().horizontalPolicy() != QSizePolicy::Ignored &&
                label->width() < label->minimumSizeHint().width())
                faults << name + QStringLiteral(": cut: ") + label->text();
            continue;
        }
        if (!isControl(widget) || isInner(widget)) continue;
        QString text;
        if (const auto* button = qobject_cast<const QAbstractButton*>(widget)) text = button->text();
        if (widget->toolTip().isEmpty()) faults << name + QStringLiteral(": no tooltip: ") + text;
        if (widget->accessibleName().isEmpty() && text.isEmpty())
            faults << name + QStringLiteral(": no name");
        if (!text.isEmpty() && !text.contains(QLatin1Char('\n')) &&
            widget->width() < widget->sizeHint().width() &&
            widget->width() < widget->minimumSizeHint().width())
            faults << name + QStringLiteral(": cut: ") + text;
    }
    return faults;
}

}  // namespace

class TestWindowWalk : public QObject {
    Q_OBJECT

    std::unique_ptr<Workplace> m_place;

private Q_SLOTS:
    void init() { m_place = std::make_unique<Workplace>(); }

    void eachEntryOfTheMenusSaysWhatItDoes() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph())));
        const auto found = entries(shown);
        QVERIFY2(found.size() > 90, qPrintable(QString::number(found.size())));
        std::map<QKeySequence, QString> keys;
        QStringList wrong;
        for (const auto& [name, action] : found) {
            if (action->text().isEmpty()) wrong << name + QStringLiteral(": no text");
            if (action->toolTip().isEmpty()) wrong << name + QStringLiteral(": no tooltip");
            for (const QKeySequence& key : action->shortcuts()) {
                const auto [before, fresh] = keys.emplace(key, name);
                if (!fresh) wrong << name + QStringLiteral(": has the key of ") + before->second;
            }
        }
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join(QLatin1Char('\n'))));
    }

    void noTwoEntriesOfAMenuHaveOneMnemonic() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph())));
        QStringList wrong;
        QList<QMenu*> menus = shown.window.menuBar()->findChildren<QMenu*>();
        menus << nullptr;
        for (const QMenu* menu : menus) {
            std::map<QChar, QString> seen;
            for (const QAction* action :
                 menu != nullptr ? menu->actions() : shown.window.menuBar()->actions()) {
                const auto at = action->text().indexOf(QLatin1Char('&'));
                if (at < 0 || action->text().mid(at + 1, 1) == QStringLiteral("&")) continue;
                const QChar letter = action->text().at(at + 1).toLower();
                if (const auto [before, fresh] = seen.emplace(letter, action->text()); !fresh)
                    wrong << (menu != nullptr ? menu->title() : QString()) + QStringLiteral(": ") +
                                 before->second + QStringLiteral(", ") + action->text();
            }
        }
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join(QLatin1Char('\n'))));
    }

    void eachControlOfTheWindowSaysWhatItDoes() {
        Shown shown;
        shown.window.resize(kSmallScreen);
        QTest::qWait(50);
        QStringList wrong = faults(shown.window);  // the start page
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), "4x-v100-nvlink"));
        shown.document.startSearch(request("map-elites", 60));
        QVERIFY(shown.waitUntilIdle());
        QTest::keyClick(&shown.window, Qt::Key_F, Qt::ControlModifier);
        wrong += faults(shown.window);
        for (QDockWidget* panel : shown.window.findChildren<QDockWidget*>()) {
            panel->raise();
            QTest::qWait(20);
            wrong += faults(*panel);
        }
        wrong.removeDuplicates();
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join(QLatin1Char('\n'))));
    }

    void eachControlOfTheDialogsSaysWhatItDoes_data() {
        QTest::addColumn<ActionId>("id");
        using enum ActionId;
        for (const auto& [name, id] :
             std::initializer_list<std::pair<const char*, ActionId>>{{"export", exportForTraining},
                                                                     {"simulation", simulation},
                                                                     {"benchmark", benchmark},
                                                                     {"best", measureBest},
                                                                     {"profile", profile},
                                                                     {"calibrate", calibrate},
                                                                     {"compare", compare},
                                                                     {"train", train},
                                                                     {"keys", keys},
                                                                     {"commands", commands}})
            QTest::newRow(name) << id;
    }
    void eachControlOfTheDialogsSaysWhatItDoes() {
        QFETCH(const ActionId, id);
        Shown shown;
        shown.window.resize(kSmallScreen);
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), "4x-v100-nvlink"));
        if (id == ActionId::measureBest) {
            shown.document.startSearch(request("random", 60));
            QVERIFY(shown.waitUntilIdle());
        }
        shown.window.action(id)->trigger();
        QTest::qWait(100);
        QWidget* opened = nullptr;
        for (QWidget* window : QApplication::topLevelWidgets()) {
            if (window != &shown.window && window->isVisible() && !window->inherits("QTipLabel") &&
                !window->inherits("QMenu"))
                opened = window;
        }
        QVERIFY(opened != nullptr);
        QVERIFY2(opened->width() <= kSmallScreen.width() && opened->height() <= kSmallScreen.height(),
                 qPrintable(QStringLiteral("%1 x %2").arg(opened->width()).arg(opened->height())));
        QVERIFY(!opened->windowTitle().isEmpty() || !opened->accessibleName().isEmpty());
        const QStringList wrong = faults(*opened);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join(QLatin1Char('\n'))));
        opened->close();
        QVERIFY(shown.waitUntilIdle());
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowWalk)
#include "tst_window_walk.moc"
