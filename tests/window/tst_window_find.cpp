// SPDX-License-Identifier: MIT
// Find, the history of views, and the reason of an idle gap, with a real mouse and keyboard.
#include <memory>

#include <QAction>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QTest>
#include <QTextBrowser>
#include <QToolButton>

#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/find_bar.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/ops_view.hpp"
#include "widgets/selection_panel.hpp"

using namespace placewright;
using test::Shown;

namespace {

template <class Widget>
Widget* named(const QWidget* in, const char* accessibleName) {
    for (auto* child : in->findChildren<Widget*>()) {
        if (child->accessibleName() == QLatin1String(accessibleName)) return child;
    }
    return nullptr;
}

/// "stem/in", then branches in modules of their own, then "head/out".
Graph modules_graph() {
    GraphBuilder builder("modules", 1, Training::implicit);
    const auto add = [&](const std::string& name, const char* kind, const std::vector<std::string>& inputs) {
        Op op;
        op.name = name;
        op.scope = name.substr(0, name.find('/'));
        op.kind = kind;
        op.flops = 1e9;
        op.outputs = {make_tensor({250'000})};
        builder.add(op, inputs);
    };
    add("stem/in", "conv2d", {});
    std::vector<std::string> ends;
    for (int i = 0; i < 4; ++i) {
        const std::string scope = "conv_block" + std::to_string(i);
        add(scope + "/conv", "conv2d", {"stem/in"});
        add(scope + "/relu", "relu", {scope + "/conv"});
        ends.push_back(scope + "/relu");
    }
    add("head/out", "cat", ends);
    return builder.build();
}

}  // namespace

class TestWindowFind : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;
    QString m_machine;

    /// Opens the find bar by keyboard and types.
    QLineEdit* find(Shown& shown, const QString& text) {
        QTest::keyClick(&shown.window, Qt::Key_F, Qt::ControlModifier);
        auto* edit = shown.window.findChild<FindBar*>()->findChild<QLineEdit*>();
        if (!QTest::qWaitFor([&] { return edit->hasFocus(); })) qFatal("The find bar did not open");
        edit->clear();
        QTest::keyClicks(edit, text);
        return edit;
    }
    static QString detail(Shown& shown) {
        return named<QLabel>(shown.window.findChild<FindBar*>(), "What is found")->text();
    }

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        m_machine = m_place->write("machine.json", test::uniform_machine(2));
    }

    void stepsSayWhatIsFoundAndKeepTheZoom() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("modules.json", modules_graph()), m_machine));
        GraphView* graph = shown.window.graphView();
        QTest::keyClick(graph, Qt::Key_Plus);  // a fitted graph would follow the room that the bar leaves
        const double scale = graph->scale();
        QLineEdit* edit = find(shown, QStringLiteral("conv"));
        QTRY_VERIFY2(detail(shown).contains(QStringLiteral("5 of 10 ops by kind or name")),
                     qPrintable(detail(shown)));
        QVERIFY2(detail(shown).contains(QStringLiteral("% of the compute time")), qPrintable(detail(shown)));
        for (const Qt::KeyboardModifiers step : {Qt::NoModifier, Qt::NoModifier, Qt::ShiftModifier}) {
            QTest::keyClick(edit, Qt::Key_Return, step);
            QVERIFY(shown.waitUntilIdle());
            QCOMPARE(graph->scale(), scale);
            QCOMPARE(shown.document.selection().size(), 1U);
        }
        // The list marks them too.
        const OpsModel* ops = shown.window.opsView()->ops();
        test::raise(shown.window.opsView());
        QTRY_VERIFY(ops->rowCount() > 0);
        const auto isBold = [&](const char* name) {
            const QModelIndex index = ops->index(ops->rowOf(shown.op(name)), OpsModel::Name);
            return index.data(Qt::FontRole).value<QFont>().bold();
        };
        QVERIFY(isBold("stem/in") && !isBold("head/out"));
        QTest::keyClick(edit, Qt::Key_Escape);
        QVERIFY(!isBold("stem/in"));
    }

    void filtersAreInsertedByMenuAndFollowThePlacement() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("modules.json", modules_graph()), m_machine));
        find(shown, QString());
        auto* bar = shown.window.findChild<FindBar*>();
        QAction* device = nullptr;
        for (QMenu* menu : bar->findChildren<QMenu*>()) {
            for (QAction* action : menu->actions()) {
                if (action->text() == QStringLiteral("device:gpu:1")) device = action;
            }
        }
        QVERIFY(device != nullptr);
        device->trigger();
        QCOMPARE(bar->findChild<QLineEdit*>()->text(), QStringLiteral("device:gpu:1 "));
        QTRY_COMPARE(named<QLabel>(bar, "Matches")->text(), QStringLiteral("No matches"));
        shown.document.moveOps({shown.op("stem/in"), shown.op("head/out")}, 1);
        QVERIFY(shown.waitUntilIdle());
        QTRY_VERIFY2(detail(shown).contains(QStringLiteral("2 of 10 ops")), qPrintable(detail(shown)));
    }

    void regularExpressionsAreAToggle() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("modules.json", modules_graph()), m_machine));
        find(shown, QStringLiteral("conv_block[12]"));
        auto* bar = shown.window.findChild<FindBar*>();
        QTRY_COMPARE(named<QLabel>(bar, "Matches")->text(), QStringLiteral("No matches"));
        QTest::mouseClick(named<QToolButton>(bar, "Regular expression"), Qt::LeftButton);
        QVERIFY2(detail(shown).contains(QStringLiteral("4 of 10 ops by module")), qPrintable(detail(shown)));
        auto* edit = bar->findChild<QLineEdit*>();
        QTest::keyClicks(edit, "(");
        QTRY_VERIFY2(detail(shown).contains(QStringLiteral("conv_block[12](")), qPrintable(detail(shown)));
    }

    void viewsAreGoneThroughBackAndForth() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("modules.json", modules_graph()), m_machine));
        GraphView* graph = shown.window.graphView();
        TimelineView* timeline = shown.window.timelineView();
        QAction *back = shown.action("Back to the previous view"),
                *forward = shown.action("Forward to the next view");
        QVERIFY(!forward->isEnabled());
        const GraphZoom whole = graph->zoom();
        const TimelineZoom wholeTime = timeline->zoom();
        const std::size_t nodes = shown.document.scene()->nodes.size();
        const int undoSteps = shown.document.undoStack()->count();
        // Three places: the timeline is zoomed, then the graph, then modules are closed.
        timeline->setFocus();
        QTest::keyClick(timeline, Qt::Key_W);
        const TimelineZoom nearTime = timeline->zoom();
        QTRY_VERIFY(back->isEnabled());
        graph->setFocus();
        QTest::keyClick(graph, Qt::Key_Plus);
        const GraphZoom near = graph->zoom();
        QVERIFY(near != whole);
        QTest::keyClick(&shown.window, Qt::Key_Left, Qt::AltModifier);
        QCOMPARE(graph->zoom(), whole);
        QCOMPARE(timeline->zoom(), nearTime);
        QTest::keyClick(&shown.window, Qt::Key_Left, Qt::AltModifier);
        QCOMPARE(timeline->zoom(), wholeTime);
        QVERIFY(!back->isEnabled() && forward->isEnabled());
        QTest::keyClick(&shown.window, Qt::Key_Right, Qt::AltModifier);
        QTest::keyClick(&shown.window, Qt::Key_Right, Qt::AltModifier);
        QCOMPARE(graph->zoom(), near);
        QCOMPARE(timeline->zoom(), nearTime);
        QVERIFY(!forward->isEnabled());
        shown.action("Close all modules")->trigger();
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.scene()->nodes.size() < nodes);
        QTest::keyClick(&shown.window, Qt::Key_Left, Qt::AltModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.scene()->nodes.size(), nodes);
        QCOMPARE(graph->zoom(), near);
        QTest::keyClick(&shown.window, Qt::Key_Right, Qt::AltModifier);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.scene()->nodes.size() < nodes);
        QCOMPARE(shown.document.undoStack()->count(), undoSteps);
    }

    void anIdleGapIsExplainedInTheSelectionPanel() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("modules.json", modules_graph()), m_machine));
        shown.document.moveOps({shown.op("head/out")}, 1);
        QVERIFY(shown.waitUntilIdle());
        TimelineView* timeline = shown.window.timelineView();
        shown.document.setSelection({});
        const QRectF lane = timeline->laneRect(1);
        QTest::mouseClick(
            timeline, Qt::LeftButton, {},
            QPoint(static_cast<int>(timeline->axis().left) + 4, static_cast<int>(lane.top()) + 8));
        auto* text = shown.window.findChild<SelectionPanel*>()->findChild<QTextBrowser*>();
        QVERIFY2(text->toPlainText().contains(QStringLiteral("gpu:1 is idle for")),
                 qPrintable(text->toPlainText()));
        QVERIFY(text->toHtml().contains(QStringLiteral("href")));
        QTest::keyClick(timeline, Qt::Key_Escape);
        QVERIFY(text->toPlainText().isEmpty());
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowFind)
#include "tst_window_find.moc"
