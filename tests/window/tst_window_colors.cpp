// SPDX-License-Identifier: MIT
// What the graph is coloured by: the menu, values from files, their legend, tooltips and search.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>

#include <QAction>
#include <QHelpEvent>
#include <QLabel>
#include <QLineEdit>
#include <QTest>
#include <QToolTip>
#include <QUndoStack>

#include "app/window/graph_coloring.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/find_bar.hpp"
#include "widgets/graph_view.hpp"

using namespace placewright;
using test::Shown;

namespace {

/// The ends of the scale of values.
constexpr QRgb kLow = 0xff123570, kHigh = 0xfffee838;

}  // namespace

class TestWindowColors : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;

    bool open(Shown& shown, const Graph& graph = test::wide_graph(4)) {
        return shown.open(m_place->write("net.json", graph),
                          m_place->write("machine.json", test::uniform_machine(2)));
    }
    /// The colour of an op's node, near its upper edge, where there is no text.
    static QRgb colorOf(Shown& shown, const char* name) {
        GraphView* graph = shown.window.graphView();
        const auto& scene = *shown.document.scene();
        const QRectF rect = scene.nodes[static_cast<std::size_t>(scene.node_of[shown.op(name)])].rect;
        const QPointF at = graph->toView(QPointF(rect.center().x(), rect.top() + 0.12 * rect.height()));
        return graph->grab().toImage().pixel(at.toPoint());
    }
    static bool isNear(QRgb a, QRgb b) {
        return std::abs(qRed(a) - qRed(b)) < 8 && std::abs(qGreen(a) - qGreen(b)) < 8 &&
               std::abs(qBlue(a) - qBlue(b)) < 8;
    }
    static QString tipOf(Shown& shown, const char* name) {
        GraphView* graph = shown.window.graphView();
        const QPoint at = shown.opInGraph(name);
        QHelpEvent help(QEvent::ToolTip, at, graph->mapToGlobal(at));
        QCoreApplication::sendEvent(graph, &help);
        return QToolTip::text();
    }

private Q_SLOTS:
    void init() { m_place = std::make_unique<test::Workplace>(); }

    void menuColoursByKindTimeAndMemory() {
        {
            Shown shown;
            QVERIFY(open(shown));
            QVERIFY(shown.window.action(ActionId::colorsDevice)->isChecked());
            const QRgb device = colorOf(shown, "branch0");
            QCOMPARE(colorOf(shown, "source"), device);  // all are on one device
            test::pressInMenu(shown, shown.window.action(ActionId::colorsTime));
            const QRgb time = colorOf(shown, "branch0");
            QVERIFY(time != device);
            QCOMPARE(colorOf(shown, "branch1"), time);
            QVERIFY(tipOf(shown, "branch0").contains(QStringLiteral("Time on its device: ")));
            // An edit keeps what the colours mean.
            shown.document.moveOps({shown.op("branch0")}, 1);
            QVERIFY(shown.waitUntilIdle());
            QCOMPARE(colorOf(shown, "branch0"), time);
            test::pressInMenu(shown, shown.window.action(ActionId::colorsMemory));
            QVERIFY(tipOf(shown, "branch0").contains(QStringLiteral("Memory of parameters and outputs: ")));
            test::pressInMenu(shown, shown.window.action(ActionId::colorsKind));
            QCOMPARE(colorOf(shown, "branch0"), colorOf(shown, "branch1"));
            shown.document.undoStack()->undo();
            QVERIFY(shown.waitUntilIdle());
            QVERIFY(shown.window.action(ActionId::colorsKind)->isChecked());
            QVERIFY(shown.window.close());
        }
        Shown next;  // remembers the choice
        QVERIFY(next.window.action(ActionId::colorsKind)->isChecked());
        QVERIFY(open(next));
        QVERIFY(next.window.graphView()->isVisible());
        QCOMPARE(next.window.coloring()->by(), ColorBy::kind);
    }

    void valuesOfAFileAreChosenInTheMenu() {
        Shown shown;
        QVERIFY(open(shown));
        QVERIFY(!shown.window.action(ActionId::colorsValues)->isEnabled());
        const QString file =
            m_place->write("latency.csv", "op,latency in ms\nbranch0,1\nbranch1,5\nnobody,9\n");
        test::giveFile(file);
        shown.window.action(ActionId::openValues)->trigger();
        QTRY_VERIFY(shown.message().contains(QStringLiteral("latency.csv has values of 2 ops.")));
        QVERIFY2(shown.message().contains(
                     QStringLiteral("1 of its names is not an op of the network: \"nobody\"")),
                 qPrintable(shown.message()));
        QVERIFY(isNear(colorOf(shown, "branch0"), kLow));
        QVERIFY(isNear(colorOf(shown, "branch1"), kHigh));
        const QRgb none = colorOf(shown, "branch2");
        QVERIFY(!isNear(none, kLow) && !isNear(none, kHigh));
        QVERIFY2(tipOf(shown, "branch1").contains(QStringLiteral("latency in ms: 5")),
                 qPrintable(tipOf(shown, "branch1")));
        QVERIFY(tipOf(shown, "branch2").contains(QStringLiteral("latency in ms: no value")));
        QVERIFY(shown.window.action(ActionId::colorsValues)->isChecked());
        QCOMPARE(shown.window.action(ActionId::colorsValues)->text(),
                 QStringLiteral("&Values of latency.csv"));

        // The colours of the devices come back, and so do the values.
        test::pressInMenu(shown, shown.window.action(ActionId::colorsDevice));
        QVERIFY(!isNear(colorOf(shown, "branch1"), kHigh));
        test::pressInMenu(shown, shown.window.action(ActionId::colorsValues));
        QVERIFY(isNear(colorOf(shown, "branch1"), kHigh));
    }

    void legendShowsTheEndsOfTheScale() {
        Shown shown;
        QVERIFY(open(shown));
        const auto corner = [&] {
            const QImage image = shown.window.graphView()->grab().toImage();
            std::set<QRgb> colors;
            for (int x = 0; x < 160; ++x)
                for (int y = image.height() - 60; y < image.height(); ++y) colors.insert(image.pixel(x, y));
            const auto has = [&](QRgb wanted) {
                return std::ranges::any_of(colors, [&](QRgb color) { return isNear(color, wanted); });
            };
            return has(kLow) && has(kHigh);
        };
        QVERIFY(!corner());
        QVERIFY(shown.dropFile(m_place->write("v.csv", "branch0,1\nbranch1,5\n")));
        QTRY_COMPARE(shown.window.coloring()->by(), ColorBy::file);
        QVERIFY(corner());
    }

    void droppedNodeDataHasItsOwnColours() {
        Shown shown;
        QVERIFY(open(shown));
        QVERIFY(shown.dropFile(m_place->write(
            "data.json",
            "{\"main\": {\"results\": {\"branch0\": {\"value\": 1, \"bgColor\": \"#ff0000\"}, \"branch1\": "
            "{\"value\": 2}, \"branch2\": {\"value\": 30}}, \"thresholds\": [{\"value\": 10, \"bgColor\": "
            "\"#00ff00\"}, {\"value\": 50, \"bgColor\": \"blue\"}]}}")));
        QTRY_COMPARE(shown.window.coloring()->by(), ColorBy::file);
        QVERIFY(isNear(colorOf(shown, "branch0"), 0xffff0000));
        QVERIFY(isNear(colorOf(shown, "branch1"), 0xff00ff00));
        QVERIFY(isNear(colorOf(shown, "branch2"), 0xff0000ff));
    }

    void mistakesChangeNothing() {
        Shown shown;
        QVERIFY(open(shown));
        QVERIFY(shown.dropFile(m_place->write("bad.csv", "branch0,1\nbranch1,fast\n")));
        QTRY_VERIFY2(shown.message().contains(QStringLiteral("bad.csv: line 2: \"fast\" is not a number")),
                     qPrintable(shown.message()));
        QVERIFY(shown.dropFile(m_place->write("other.csv", "nobody,1\n")));
        QTRY_VERIFY2(shown.message().contains(QStringLiteral("none of its names is an op of")),
                     qPrintable(shown.message()));
        QCOMPARE(shown.window.coloring()->by(), ColorBy::device);
        QVERIFY(shown.window.action(ActionId::colorsDevice)->isChecked());
    }

    void valuesNeedTheirNetwork() {
        Shown shown;
        QVERIFY(shown.dropFile(m_place->write("v.csv", "branch0,1\n")));
        QVERIFY(shown.message().contains(QStringLiteral("open their network first")));
        // Those of another network are dropped with it.
        QVERIFY(open(shown));
        QVERIFY(shown.dropFile(m_place->write("v.csv", "branch0,1\n")));
        QTRY_COMPARE(shown.window.coloring()->by(), ColorBy::file);
        QVERIFY(shown.open(m_place->write("chain.json", test::chain(3))));
        QCOMPARE(shown.window.coloring()->by(), ColorBy::device);
        QVERIFY(!shown.window.action(ActionId::colorsValues)->isEnabled());
    }

    void findComparesValues() {
        Shown shown;
        QVERIFY(open(shown));
        const auto typed = [&](const QString& text) {
            QTest::keyClick(&shown.window, Qt::Key_F, Qt::ControlModifier);
            auto* edit = shown.window.findChild<FindBar*>()->findChild<QLineEdit*>();
            edit->clear();
            QTest::keyClicks(edit, text);
            QTest::keyClick(edit, Qt::Key_Return);
        };
        const auto detail = [&] {
            for (const auto* label : shown.window.findChild<FindBar*>()->findChildren<QLabel*>())
                if (label->accessibleName() == QStringLiteral("What is found")) return label->text();
            return QString();
        };
        typed(QStringLiteral("value>3"));
        QTRY_VERIFY2(detail().contains(QStringLiteral("no values: View")), qPrintable(detail()));
        QVERIFY(shown.dropFile(m_place->write("v.csv", "branch0,1\nbranch1,5\nbranch2,-7\n")));
        QTRY_VERIFY2(detail().contains(QStringLiteral("1 of 6 ops")), qPrintable(detail()));
        typed(QStringLiteral("value<=1"));
        QTRY_VERIFY2(detail().contains(QStringLiteral("2 of 6 ops")), qPrintable(detail()));
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowColors)
#include "tst_window_colors.moc"
