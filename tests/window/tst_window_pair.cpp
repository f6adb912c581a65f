// SPDX-License-Identifier: MIT
// Two placements side by side: what differs, and the window that shows both.
#include <cmath>
#include <memory>

#include <QCheckBox>
#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QTableView>
#include <QTest>
#include <QWheelEvent>

#include "app/window/pair/pair_window.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/palette.hpp"
#include "widgets/quantities.hpp"
#include "widgets/runs_view.hpp"
#include "widgets/timeline_view.hpp"

using namespace placewright;
using test::Shown;

namespace {

double figure(const PairDifferences& differences, const QString& name, bool b) {
    for (const PairFigure& row : differences.figures) {
        if (row.name == name) return b ? row.b : row.a;
    }
    qFatal("no figure %s", qPrintable(name));
}

QTableView* tableOf(const PairWindow* window, const char* name) {
    return window->findChild<QTableView*>(QLatin1String(name));
}

QString cell(const QTableView* table, int row, int column) {
    return table->model()->index(row, column).data().toString();
}

}  // namespace

class TestWindowPair : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;
    QString m_two, m_three, m_wide;

    /// Opens the network and pins its placement as A by the keyboard, then moves branch1 to another device.
    static void pinAndMove(Shown& shown, DeviceId target) {
        QTest::keyClick(&shown.window, Qt::Key_A, Qt::ControlModifier | Qt::ShiftModifier);
        shown.document.moveOps({shown.op("branch1")}, target);
        QVERIFY(shown.waitUntilIdle());
    }
    static PairWindow* openPair(Shown& shown) {
        QTest::keyClick(&shown.window, Qt::Key_B, Qt::ControlModifier | Qt::ShiftModifier);
        PairWindow* window = shown.window.pairWindow();
        if (window == nullptr || !QTest::qWaitForWindowExposed(window)) qFatal("the window does not open");
        return window;
    }

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        m_two = m_place->write("two.json", test::uniform_machine(2));
        m_three = m_place->write("three.json", test::uniform_machine(3));
        m_wide = m_place->write("wide.json", test::wide_graph());
    }
    void cleanup() { m_place.reset(); }

    void differencesAreThoseOfTheSimulations() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_three));
        const double before_s = shown.stepTime();
        const DeviceId home = shown.deviceOf("branch1"), target = home == 2 ? 1 : 2;
        pinAndMove(shown, target);
        const auto pair = shown.window.pinned()->pair();
        QVERIFY(pair);
        const PairDifferences& differences = pair->differences;
        QVERIFY(differences.same_network);
        QCOMPARE(figure(differences, "Step time", false), before_s);
        QCOMPARE(figure(differences, "Step time", true), shown.stepTime());
        QCOMPARE(differences.moved, std::size_t{1});
        const QString homeName = QString("gpu:%1").arg(home), targetName = QString("gpu:%1").arg(target);
        QCOMPARE(figure(differences, homeName + " ops", true),
                 figure(differences, homeName + " ops", false) - 1);
        QCOMPARE(figure(differences, targetName + " ops", true),
                 figure(differences, targetName + " ops", false) + 1);
        QCOMPARE(figure(differences, targetName + " memory", true),
                 shown.document.assessment()->device_bytes[target]);
        QVERIFY(figure(differences, "Transfers", true) > figure(differences, "Transfers", false));
        for (const PairOp& op : differences.ops) QCOMPARE(op.moved, op.b == shown.op("branch1"));
    }

    void withoutADeviceThereIsNoNumber() {
        QCOMPARE(figureText(std::nan(""), PairFigure::Unit::bytes), QStringLiteral("–"));
        QCOMPARE(changeText(1, std::nan(""), PairFigure::Unit::seconds), QStringLiteral("–"));
        QCOMPARE(changeText(0.0426, 0.0412, PairFigure::Unit::seconds), QStringLiteral("−1.40 ms"));
        QCOMPARE(changeText(3, 5, PairFigure::Unit::count), QStringLiteral("+2"));
        QCOMPARE(changeText(3, 3, PairFigure::Unit::count), QStringLiteral("0"));
        QCOMPARE(changePercentText(0.050, 0.049), QStringLiteral("−2.0 %"));
        QCOMPARE(changePercentText(0, 1), QString());
    }

    void theMainWindowSaysHowItDiffers() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_three));
        QAction* beside = shown.action("A beside the screen");
        QVERIFY(!beside->isEnabled());
        const double before_s = shown.stepTime();
        shown.window.resize(1400, 900);  // with room for all panels, so that none pushes the graph
        for (int i = 0; i < 5; ++i) QTest::qWait(20);
        QVERIFY(shown.waitUntilIdle());
        const QImage graphBefore = shown.window.graphView()->grab().toImage();
        pinAndMove(shown, shown.deviceOf("branch1") == 2 ? 1 : 2);
        QVERIFY(beside->isEnabled());
        const QString text = test::statusText(shown, "Difference from A");
        QVERIFY2(text.contains(secondsText(before_s)), qPrintable(text));
        QVERIFY(text.contains(changeText(before_s, shown.stepTime(), PairFigure::Unit::seconds)));
        // Back at A the graph looks as before; meanwhile the op was outlined.
        const QImage moved = shown.window.graphView()->grab().toImage();
        QVERIFY(moved != graphBefore);
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(test::statusText(shown, "Difference from A").contains("no change"));
        QCOMPARE(shown.window.graphView()->grab().toImage(), graphBefore);
        test::pressInMenu(shown, shown.action("Unpin A"));
        QVERIFY(!beside->isEnabled());
        QVERIFY(!test::statusLabel(shown, "Difference from A")->isVisible());
    }

    void bothSidesAreShown() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_three));
        const double before_s = shown.stepTime();
        const DeviceId home = shown.deviceOf("branch1"), target = home == 2 ? 1 : 2;
        pinAndMove(shown, target);
        const PairWindow* window = openPair(shown);
        QVERIFY(window->findChild<QLabel*>("captionA")->text().contains(secondsText(before_s)));
        QVERIFY(window->findChild<QLabel*>("captionB")->text().contains(secondsText(shown.stepTime())));
        QVERIFY(window->findChild<QLabel*>("summary")->text().contains("1 of "));
        // Both timelines have one axis, as long as the longer one.
        QCOMPARE(window->timeline(0)->axis().end_s, window->timeline(1)->axis().end_s);
        QCOMPARE(window->timeline(0)->axis().end_s, std::max(before_s, shown.stepTime()));
        // At first only the op that moved is listed.
        const QTableView* ops = tableOf(window, "ops");
        QCOMPARE(ops->model()->rowCount(), 1);
        QCOMPARE(cell(ops, 0, PairOps::Name), QStringLiteral("branch1"));
        QCOMPARE(cell(ops, 0, PairOps::DeviceA), QString("gpu:%1").arg(home));
        QCOMPARE(cell(ops, 0, PairOps::DeviceB), QString("gpu:%1").arg(target));
        const int different = tableOf(window, "figures")->model()->rowCount();
        QTest::mouseClick(window->findChild<QCheckBox*>("onlyDifferences"), Qt::LeftButton, {}, QPoint(8, 8));
        QCOMPARE(ops->model()->rowCount(), static_cast<int>(shown.document.problem()->forward->size()));
        QVERIFY(tableOf(window, "figures")->model()->rowCount() > different);
        // It follows the screen.
        shown.document.moveOps({shown.op("branch2")}, target);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(window->findChild<QLabel*>("captionB")->text().contains(secondsText(shown.stepTime())));
        QVERIFY(window->findChild<QLabel*>("summary")->text().contains("2 of "));
    }

    void graphsHaveTheShapeOfTheirPanes() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("chain.json", test::chain(60)), m_two));
        QTest::keyClick(&shown.window, Qt::Key_A, Qt::ControlModifier | Qt::ShiftModifier);
        PairWindow* window = openPair(shown);
        const auto fits = [&](LayoutRoom::Direction direction) {
            const auto scene = window->scene().scene();
            const QSizeF room = window->graph(1)->roomForWhole();
            return scene && alike(scene->room, {direction, room.width() / room.height()}) &&
                   window->graph(0)->positionOf(shown.op("op0")) ==
                       window->graph(1)->positionOf(shown.op("op0"));
        };
        window->resize(1300, 900);
        QTRY_VERIFY(fits(LayoutRoom::Direction::right));
        window->resize(700, 1000);
        window->findChild<QSplitter*>("parts")->setSizes({800, 100, 100});
        QTRY_VERIFY(fits(LayoutRoom::Direction::down));
        test::pressInMenu(shown, shown.action("Left to right"));
        QTRY_VERIFY(fits(LayoutRoom::Direction::right));
    }

    void bothSidesMoveAndSelectTogether() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_three));
        pinAndMove(shown, shown.deviceOf("branch1") == 2 ? 1 : 2);
        const PairWindow* window = openPair(shown);
        GraphView *a = window->graph(0), *b = window->graph(1);
        const QPoint middle = b->rect().center();
        QWheelEvent wheel(middle, b->mapToGlobal(middle), {}, {0, 240}, Qt::NoButton, {}, Qt::NoScrollPhase,
                          false);
        const double before = a->scale();
        QApplication::sendEvent(b, &wheel);
        QVERIFY(b->scale() > before);
        QCOMPARE(a->scale(), b->scale());
        QCOMPARE(a->positionOf(shown.op("branch3")) - a->rect().center(),
                 b->positionOf(shown.op("branch3")) - b->rect().center());
        QTest::keyClick(a, Qt::Key_F);
        QCOMPARE(a->scale(), before);
        QCOMPARE(b->scale(), before);

        QTest::keyClick(window->timeline(0), Qt::Key_W);
        QVERIFY(window->timeline(0)->axis().end_s - window->timeline(0)->axis().start_s <
                std::max(shown.stepTime(), 1e-9) * 2);
        QCOMPARE(window->timeline(1)->axis().start_s, window->timeline(0)->axis().start_s);
        QCOMPARE(window->timeline(1)->axis().end_s, window->timeline(0)->axis().end_s);

        QTest::mouseClick(a, Qt::LeftButton, {}, a->positionOf(shown.op("branch4")).toPoint());
        QCOMPARE(shown.document.selection(), OpList{shown.op("branch4")});
        QCOMPARE(b->selection(), OpList{shown.op("branch4")});
        const QTableView* ops = tableOf(window, "ops");
        QTest::mouseClick(ops->viewport(), Qt::LeftButton, {},
                          ops->visualRect(ops->model()->index(0, 0)).center());
        QCOMPARE(shown.document.selection(), OpList{shown.op("branch1")});
        QTest::keyClick(b, Qt::Key_Escape);
        QVERIFY(shown.document.selection().empty());
    }

    void theDevicesOfAHaveTheirColours() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_three));
        const DeviceId home = shown.deviceOf("branch1"), target = home == 2 ? 1 : 2;
        pinAndMove(shown, target);
        const PairWindow* window = openPair(shown);
        const Machine& machine = *shown.document.problem()->machine;
        const auto pixels = [&](int side, DeviceId device) {
            const QImage image = window->graph(side)->grab().toImage();
            const QRgb color = deviceColor(machine, device).rgb();
            int count = 0;
            for (int y = 0; y < image.height(); ++y) {
                for (int x = 0; x < image.width(); ++x) count += image.pixel(x, y) == color;
            }
            return count;
        };
        QCOMPARE(pixels(0, target), 0);
        QVERIFY(pixels(1, target) > 0);
        QVERIFY(pixels(0, home) > pixels(1, home));
    }

    void twoMachinesAreCompared() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_three));
        QTest::keyClick(&shown.window, Qt::Key_A, Qt::ControlModifier | Qt::ShiftModifier);
        const double three_s = shown.stepTime();
        shown.document.setMachine(m_two);
        QVERIFY(shown.waitUntilIdle());
        const auto pair = shown.window.pinned()->pair();
        QVERIFY(pair);
        QCOMPARE(figure(pair->differences, "Step time", false), three_s);
        QVERIFY(std::isnan(figure(pair->differences, "gpu:2 ops", true)));
        QVERIFY(pair->differences.same_network);
        const PairWindow* window = openPair(shown);
        QVERIFY(!window->findChild<QPushButton*>("showA")->isEnabled());
        QTest::mouseClick(window->findChild<QPushButton*>("pinB"), Qt::LeftButton);
        QCOMPARE(shown.window.pinned()->pair()->differences.moved, std::size_t{0});
    }

    // A longer name of a device does not shift a timeline against the other.
    void bothTimelinesHaveTheSameAxis() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_three));
        QTest::keyClick(&shown.window, Qt::Key_A, Qt::ControlModifier | Qt::ShiftModifier);
        const Machine three = test::uniform_machine(3);
        std::vector<Device> devices(three.devices().begin(), three.devices().end());
        devices[2].name = "accelerator of another kind";
        shown.document.setMachine(m_place->write(
            "named.json", Machine("named", devices, {three.channels().begin(), three.channels().end()},
                                  {three.routes().begin(), three.routes().end()})));
        QVERIFY(shown.waitUntilIdle());
        const PairWindow* window = openPair(shown);
        const TimeAxis &a = window->timeline(0)->axis(), &b = window->timeline(1)->axis();
        QVERIFY(window->timeline(0)->wantedHeaderWidth() < window->timeline(1)->wantedHeaderWidth());
        QCOMPARE(a.left, b.left);
        QCOMPARE(a.width, b.width);
        QCOMPARE(a.end_s, b.end_s);
    }

    void anotherNetworkIsComparedByItsNumbers() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_three));
        QTest::keyClick(&shown.window, Qt::Key_A, Qt::ControlModifier | Qt::ShiftModifier);
        shown.document.keepPlacement();
        QVERIFY(shown.open(m_place->write("chain.json", test::chain(5)), m_three));
        const PairWindow* window = openPair(shown);
        QVERIFY(!shown.window.pinned()->pair()->differences.same_network);
        QVERIFY(shown.window.pinned()->moved().empty());
        QVERIFY(window->timeline(0)->axis().end_s > 0);
        // Nothing is subtracted from the step of another network without a word.
        const QString name = QString::fromStdString(shown.window.pinned()->pair()->a.problem().graph->name());
        const QString status = test::statusText(shown, "Difference from A");
        QVERIFY2(status.endsWith(QStringLiteral(", ") + name), qPrintable(status));
        QVERIFY(window->findChild<QLabel*>("summary")->text().startsWith(
            QStringLiteral("A is of another network, ") + name));
    }

    void aRunIsComparedWithTheScreen() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_three));
        const Placement onScreen = shown.document.placement();
        shown.document.startSearch(test::request("random", 200));
        QVERIFY(shown.waitUntilIdle());
        const double found_s = shown.stepTime();
        shown.document.showPlacement(onScreen, "back");
        QVERIFY(shown.waitUntilIdle());
        Q_EMIT shown.window.runsView()->pinAsARequested(shown.document.runs().front()->id());
        PairWindow* window = shown.window.pairWindow();
        QVERIFY(window && window->isVisible());
        QCOMPARE(figure(shown.window.pinned()->pair()->differences, "Step time", false), found_s);
        QTest::mouseClick(window->findChild<QPushButton*>("showA"), Qt::LeftButton);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.stepTime(), found_s);
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowPair)

#include "tst_window_pair.moc"
