// SPDX-License-Identifier: MIT
// What the user may set or take along: steps, the wheel, rows and pictures in the clipboard, defaults.
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QMessageBox>
#include <QPushButton>
#include <QTest>
#include <QTimer>
#include <QUndoView>
#include <QWheelEvent>

#include "app/window/settings.hpp"
#include "core/graph/constraints.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/message_bar.hpp"
#include "widgets/runs_view.hpp"

using namespace placewright;
using test::Shown;

class TestWindowHabits : public QObject {
    Q_OBJECT

private:
    std::unique_ptr<test::Workplace> m_place;
    QString m_network, m_machine;

    static void turnWheel(GraphView* graph, Qt::KeyboardModifiers keys) {
        const QPointF middle = QRectF(graph->rect()).center();
        QWheelEvent wheel(middle, graph->mapToGlobal(middle), {}, {0, 120}, Qt::NoButton, keys,
                          Qt::NoScrollPhase, false);
        QApplication::sendEvent(graph, &wheel);
    }

    /// Presses a button of the next message box; `asked` becomes its text.
    static void answer(QMessageBox::StandardButton button, QString& asked) {
        QTimer::singleShot(50, qApp, [button, &asked] {
            auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            if (box == nullptr) return;
            asked = box->text();
            box->button(button)->click();
        });
    }

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        m_machine = m_place->write("three.json", test::uniform_machine(3));
        m_network = m_place->write("wide.json", test::wide_graph());
    }
    void cleanup() { m_place.reset(); }

    /// Each step has its step times; a click goes back to it.
    void history() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        auto* steps = shown.window.findChild<QUndoView*>(QStringLiteral("history"));
        QVERIFY(steps != nullptr);
        test::raise(steps);
        shown.document.moveOps({shown.op("branch0"), shown.op("branch1")}, 1);
        QVERIFY(shown.waitUntilIdle());
        shown.document.moveOps({shown.op("branch2")}, 2);
        QVERIFY(shown.waitUntilIdle());
        const QAbstractItemModel& model = *steps->model();
        QCOMPARE(model.rowCount(), 3);
        const QString text = model.index(1, 0).data().toString();
        QVERIFY2(text.contains(QStringLiteral(" %) · Move 2 ops")), qPrintable(text));
        // The menu says what the step was, without figures.
        QVERIFY(!shown.document.undoStack()->undoText().contains(u'%'));
        QTest::mouseClick(steps->viewport(), Qt::LeftButton, {},
                          steps->visualRect(model.index(0, 0)).center());
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.deviceOf("branch0"), shown.deviceOf("branch3"));
        QCOMPARE(shown.document.undoStack()->index(), 0);
    }

    void wheel() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        auto* graph = shown.window.findChild<GraphView*>();
        const QPoint before = shown.opInGraph("branch3");
        QAction* scrolls = shown.action(QStringLiteral("Wheel scrolls the graph"));
        QVERIFY(scrolls != nullptr && !scrolls->isChecked());
        test::pressInMenu(shown, scrolls);
        QVERIFY(settings::wheelScrolls.get());
        turnWheel(graph, {});
        const QPoint down = shown.opInGraph("branch3");
        QCOMPARE(down.x(), before.x());
        QVERIFY(down.y() > before.y());
        turnWheel(graph, Qt::ShiftModifier);
        const QPoint aside = shown.opInGraph("branch3");
        QVERIFY(aside.x() > down.x());
        QCOMPARE(aside.y(), down.y());
        const auto distance = [&] {
            return (shown.opInGraph("sink") - shown.opInGraph("branch3")).manhattanLength();
        };
        const int apart = distance();
        turnWheel(graph, Qt::ControlModifier);
        QVERIFY(distance() > apart);
    }

    void rowsAndPicturesAreCopied() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        shown.document.startSearch(test::request("random", 50));
        QVERIFY(shown.waitUntilIdle());
        RunsView* runs = shown.window.runsView();
        test::raise(runs);
        runs->setFocus();
        runs->selectRow(0);
        QTest::keyClick(runs, Qt::Key_C, Qt::ControlModifier);
        const QStringList lines = QGuiApplication::clipboard()->text().split(u'\n');
        QCOMPARE(lines.size(), 2);
        QCOMPARE(lines[0].count(u'\t'), lines[1].count(u'\t'));
        QVERIFY2(lines[1].contains(QStringLiteral("Random")), qPrintable(lines[1]));
        auto* graph = shown.window.findChild<GraphView*>();
        graph->setFocus();
        const QSize size = graph->size();
        test::pressInMenu(shown, shown.action(QStringLiteral("Copy picture")));
        const QPixmap copied = QGuiApplication::clipboard()->pixmap();
        QCOMPARE(copied.deviceIndependentSize().toSize(), size);
    }

    void settingsAreReset() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        test::pressInMenu(shown, shown.action(QStringLiteral("Wheel scrolls the graph")));
        shown.window.chooseAlgorithm("genetic");
        settings::exportFolder.set(QStringLiteral("/somewhere"));
        QString asked;
        answer(QMessageBox::Cancel, asked);
        shown.action(QStringLiteral("Reset settings"))->trigger();
        QVERIFY(!asked.isEmpty());
        QVERIFY(settings::wheelScrolls.get());
        answer(QMessageBox::Reset, asked);
        shown.action(QStringLiteral("Reset settings"))->trigger();
        QVERIFY(!settings::wheelScrolls.get());
        QVERIFY(!shown.action(QStringLiteral("Wheel scrolls the graph"))->isChecked());
        QCOMPARE(settings::algorithm.get(), QStringLiteral("auto"));
        QCOMPARE(settings::exportFolder.get(), QStringLiteral("/somewhere"));
        QVERIFY(shown.document.isOpen());
    }

    /// Constraints that are in no file are not lost without a question.
    void constraintsAreAskedFor() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        shown.document.setConstraints({{{Constraint::Rule::pin, {{"branch0", false}}, {"gpu:1"}}}, {}});
        QVERIFY(shown.waitUntilIdle());
        shown.document.keepPlacement();
        const QString other = m_place->write("other.json", test::chain(5));
        QString asked;
        answer(QMessageBox::Cancel, asked);
        shown.document.openNetwork(other);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY2(asked.startsWith(QStringLiteral("Save your work on")), qPrintable(asked));
        QCOMPARE(shown.document.networkFile(), m_network);
        answer(QMessageBox::Discard, asked);
        QVERIFY(shown.open(other));
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowHabits)
#include "tst_window_habits.moc"
