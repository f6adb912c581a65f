// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <QBuffer>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QSignalSpy>
#include <QSvgGenerator>
#include <QSvgRenderer>
#include <QTest>
#include <QToolButton>
#include <QToolTip>
#include <QWheelEvent>

#include "core/base/infinity.hpp"
#include "core/graph/training.hpp"
#include "tests/support/cpu_time.hpp"
#include "tests/support/graphs.hpp"
#include "widgets/find_bar.hpp"
#include "widgets/graph_minimap.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/palette.hpp"

using namespace placewright;

namespace {

constexpr QPoint kBackground(30, 60);  // free of nodes: the test graph is in the middle

/// "source" -> four branches -> "sink" on three GPUs, shown at a size at which all of it is seen.
struct Shown {
    std::shared_ptr<const Problem> problem;
    std::shared_ptr<const GraphScene> scene;
    GraphView view;
    OpId source, sink, branch[4];

    explicit Shown(Graph graph = test::fork_join(4))
        : problem(test::problem(std::move(graph), test::uniform_machine(3))),
          scene(buildGraphScene(*problem)) {
        view.resize(800, 600);
        view.setScene(scene, problem->machine);
        view.setDevices(std::vector<DeviceId>(problem->ops, 0));
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        view.setFocus();
        source = op("source");
        sink = op("sink");
        for (int i = 0; i < 4; ++i) branch[i] = op(("branch" + std::to_string(i)).c_str());
    }

    OpId op(const char* name) const { return problem->graph->find(name).value_or(kInvalidOp); }
    QPoint at(OpId op) const { return view.positionOf(op).toPoint(); }
    QImage image() { return view.grab().toImage(); }
    /// Inside the node, beside its label.
    QColor colorOf(OpId op) {
        const auto& node = scene->nodes[static_cast<std::size_t>(scene->node_of[op])];
        return image().pixelColor(
            view.toView(QPointF(node.rect.left() + 4, node.rect.center().y())).toPoint());
    }
    /// To a part of the graph, with its first op in its place.
    void zoomIn() { view.zoomBy(0.6 / view.scale(), at(0)); }
    void moveTo(QPoint position, Qt::MouseButtons buttons = Qt::LeftButton,
                Qt::KeyboardModifiers modifiers = {}) {
        QMouseEvent event(QEvent::MouseMove, position, view.mapToGlobal(position), Qt::NoButton, buttons,
                          modifiers);
        QApplication::sendEvent(&view, &event);
    }
    void wheel(QPoint position, int delta) {
        QWheelEvent event(position, view.mapToGlobal(position), {}, QPoint(0, delta), Qt::NoButton,
                          Qt::NoModifier, Qt::NoScrollPhase, false);
        QApplication::sendEvent(&view, &event);
    }
};

OpList ops(const QSignalSpy& spy, int index = -1) {
    return qvariant_cast<OpList>(spy.at(index < 0 ? spy.size() - 1 : index).at(0));
}

}  // namespace

class TestGraphView : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void sceneHasForwardOpsOnly() {
        const auto problem =
            test::problem(test::random_graph(2, 30, 3, Training::implicit), test::uniform_machine(2));
        QVERIFY(problem->ops > 30);
        const auto scene = buildGraphScene(*problem);
        QCOMPARE(scene->nodes.size(), std::size_t{30});
        std::size_t edges = 0;
        for (OpId op = 0; op < 30; ++op) edges += problem->forward->consumers(op).size();
        QCOMPARE(scene->edges.size(), edges);
        QCOMPARE(scene->node_of.size(), std::size_t{problem->ops});
        for (OpId op = 0; op < problem->ops; ++op) {
            const OpId forward = problem->graph->op(op).forward_op;
            QVERIFY(scene->node_of[op] >= 0);
            if (forward != kInvalidOp) QCOMPARE(scene->node_of[op], scene->node_of[forward]);
        }
    }

    void edgesCarryWhatIsRead() {
        const auto scene =
            buildGraphScene(*test::problem(test::chain(3, 1e9, 1'000'000), test::uniform_machine(1)));
        for (const auto& edge : scene->edges) QCOMPARE(edge.bytes, 1e6);
    }

    void opsWithoutForwardOpAreDrawn() {
        GraphBuilder builder("explicit", 1, Training::explicit_);
        Op op;
        op.kind = "matmul";
        op.outputs = {make_tensor({10})};
        op.name = "forward";
        builder.add(op, {});
        op.name = "loose";
        op.phase = Phase::backward;
        builder.add(op, {"forward"});
        const auto scene = buildGraphScene(*test::problem(builder.build(), test::uniform_machine(1)));
        QCOMPARE(scene->nodes.size(), std::size_t{2});
        QCOMPARE(scene->edges.size(), std::size_t{1});
    }

    void sceneFindsNodesByPlace() {
        const auto scene =
            buildGraphScene(*test::problem(test::random_graph(3, 400), test::uniform_machine(2)));
        for (std::uint32_t node = 0; node < scene->nodes.size(); ++node) {
            const QRectF& rect = scene->nodes[node].rect;
            QVERIFY(scene->bounds.adjusted(-1, -1, 1, 1).contains(rect));
            QCOMPARE(scene->nodeAt(rect.center()), int(node));
            QCOMPARE(scene->nodeAt(rect.topLeft() + QPointF(1, 1)), int(node));
        }
        QCOMPARE(scene->nodeAt(QPointF(-50, -50)), -1);
        const QRectF area(scene->nodes[200].rect.center() - QPointF(300, 200), QSizeF(600, 400));
        std::set<std::uint32_t> expected;
        for (std::uint32_t node = 0; node < scene->nodes.size(); ++node) {
            if (scene->nodes[node].rect.intersects(area)) expected.insert(node);
        }
        const auto found = scene->nodesIn(area);
        QVERIFY(expected.size() > 1);
        QCOMPARE(std::set(found.begin(), found.end()), expected);
    }

    void wideNodesTakeLong() {
        GraphBuilder builder("two", 1, Training::none);
        Op op;
        op.kind = "matmul";
        op.outputs = {make_tensor({10})};
        op.name = "long";
        op.flops = 1e11;
        builder.add(op, {});
        op.name = "short";
        op.flops = 1e9;
        builder.add(op, {"long"});
        const auto scene = buildGraphScene(*test::problem(builder.build(), test::uniform_machine(1)));
        QVERIFY(scene->nodes[0].rect.width() > 1.5 * scene->nodes[1].rect.width());
    }

    void sceneCanBeStopped() {
        std::stop_source stop;
        stop.request_stop();
        QVERIFY(!buildGraphScene(*test::problem(test::chain(20), test::uniform_machine(1)), nullptr, {},
                                 stop.get_token()));
    }

    void showsTextWithoutGraph() {
        GraphView view;
        view.resize(400, 300);
        const QImage blank = view.grab().toImage();
        view.setEmptyText("Open a model to see its graph");
        QVERIFY(view.grab().toImage() != blank);
        view.fit();
        view.zoomBy(2, QPointF(10, 10));
        view.zoomTo({1});
        QTest::mouseClick(&view, Qt::LeftButton);
        QTest::keyClick(&view, Qt::Key_F);
    }

    void nodesHaveTheColourOfTheirDevice() {
        Shown shown;
        const Machine& machine = *shown.problem->machine;
        QCOMPARE(shown.colorOf(shown.branch[2]), deviceColor(machine, 0));
        std::vector<DeviceId> devices(shown.problem->ops, 0);
        devices[shown.branch[2]] = 1;
        shown.view.setDevices(devices);
        QCOMPARE(shown.colorOf(shown.branch[2]), deviceColor(machine, 1));
        QCOMPARE(shown.colorOf(shown.branch[1]), deviceColor(machine, 0));
    }

    void edgesBetweenDevicesLookDifferent() {
        Shown shown;
        const auto darkPixels = [&] {
            const QImage image =
                shown.image().copy(QRect(shown.at(shown.source), shown.at(shown.branch[0])).normalized());
            int count = 0;
            for (int y = 0; y < image.height(); ++y) {
                for (int x = 0; x < image.width(); ++x) count += image.pixelColor(x, y).lightness() < 60;
            }
            return count;
        };
        const int within = darkPixels();
        std::vector<DeviceId> devices(shown.problem->ops, 0);
        devices[shown.source] = 1;
        shown.view.setDevices(devices);
        QVERIFY(darkPixels() > within + 20);
    }

    void clickSelects() {
        Shown shown;
        QSignalSpy spy(&shown.view, &OpView::selectionEdited);
        QTest::mouseClick(&shown.view, Qt::LeftButton, {}, shown.at(shown.branch[1]));
        QCOMPARE(ops(spy), OpList{shown.branch[1]});
        QCOMPARE(shown.view.selection(), OpList{shown.branch[1]});
        QTest::mouseClick(&shown.view, Qt::LeftButton, Qt::ControlModifier, shown.at(shown.source));
        QCOMPARE(ops(spy), (OpList{shown.source, shown.branch[1]}));
        QTest::mouseClick(&shown.view, Qt::LeftButton, Qt::ControlModifier, shown.at(shown.branch[1]));
        QCOMPARE(ops(spy), OpList{shown.source});
        QTest::mouseClick(&shown.view, Qt::LeftButton, {}, kBackground);
        QCOMPARE(ops(spy), OpList{});
        QCOMPARE(spy.size(), 4);
        QTest::mouseClick(&shown.view, Qt::LeftButton, {}, kBackground);
        QCOMPARE(spy.size(), 4);
    }

    void selectionIsOutlined() {
        Shown shown;
        const QImage before = shown.image();
        shown.view.setSelection({shown.sink});
        const QImage after = shown.image();
        const auto& rect =
            shown.scene->nodes[static_cast<std::size_t>(shown.scene->node_of[shown.sink])].rect;
        const QPoint left =
            (shown.view.toView(QPointF(rect.left(), rect.center().y())) - QPointF(3, 0)).toPoint();
        QVERIFY(before.pixelColor(left) != after.pixelColor(left));
        QCOMPARE(after.pixelColor(left), shown.view.palette().color(QPalette::Highlight));
    }

    void aSelectionOfSmallNodesKeepsTheirColours() {
        Shown shown;
        shown.view.setDevices(std::vector<DeviceId>(shown.problem->ops, 1));
        shown.view.zoomBy(8 / shown.scene->nodes.front().rect.height() / shown.view.scale(),
                          shown.view.rect().center());
        const auto colorAt = [&](OpId op) { return shown.image().pixelColor(shown.at(op)); };
        const QColor before = colorAt(shown.branch[1]);
        QCOMPARE(before, deviceColor(*shown.problem->machine, 1));
        shown.view.setSelection({shown.branch[1]});
        QCOMPARE(colorAt(shown.branch[1]), before);
        const QColor other = colorAt(shown.branch[2]), base = shown.view.palette().color(QPalette::Base);
        const auto distance = [](const QColor& a, const QColor& b) {
            return std::abs(a.red() - b.red()) + std::abs(a.green() - b.green()) +
                   std::abs(a.blue() - b.blue());
        };
        QVERIFY(other != before);
        QVERIFY(distance(other, base) < distance(before, base) / 2);
        QVERIFY(other != base);  // its device can still be told
        shown.view.setSelection({});
        QCOMPARE(colorAt(shown.branch[2]), before);
    }

    void rubberBandSelects() {
        Shown shown;
        QSignalSpy spy(&shown.view, &OpView::selectionEdited);
        const QPoint from = shown.at(shown.branch[0]), to = shown.at(shown.branch[1]);
        const QPoint start(std::min(from.x(), to.x()) - 70, from.y() - 20),
            end(std::max(from.x(), to.x()) + 10, from.y() + 20);
        QTest::mousePress(&shown.view, Qt::LeftButton, Qt::ShiftModifier, start);
        shown.moveTo(start + QPoint(20, 5), Qt::LeftButton, Qt::ShiftModifier);
        const QImage banded = shown.image();
        shown.moveTo(end, Qt::LeftButton, Qt::ShiftModifier);
        QVERIFY(banded != shown.image());
        QTest::mouseRelease(&shown.view, Qt::LeftButton, Qt::ShiftModifier, end);
        QCOMPARE(spy.size(), 1);
        for (const OpId op : {shown.branch[0], shown.branch[1]})
            QVERIFY(std::ranges::binary_search(shown.view.selection(), op));
        QVERIFY(!std::ranges::binary_search(shown.view.selection(), shown.source));
        QVERIFY(shown.view.selection().size() < 5);
    }

    void backgroundDragPans() {
        Shown shown;
        shown.image();
        const QPoint before = shown.at(shown.source);
        const QColor color = shown.colorOf(shown.source);
        QTest::mousePress(&shown.view, Qt::LeftButton, {}, kBackground);
        shown.moveTo(kBackground + QPoint(20, 0));
        shown.moveTo(kBackground + QPoint(60, 45));
        QTest::mouseRelease(&shown.view, Qt::LeftButton, {}, kBackground + QPoint(60, 45));
        QCOMPARE(shown.at(shown.source), before + QPoint(60, 45));
        QCOMPARE(shown.colorOf(shown.source), color);
        QVERIFY(shown.view.selection().empty());
    }

    void pannedPictureIsThatOfAFreshView() {
        Shown shown(test::random_graph(5, 300));
        shown.view.zoomBy(3, QPointF(400, 300));
        shown.image();
        QTest::keyClick(&shown.view, Qt::Key_Down);
        QTest::keyClick(&shown.view, Qt::Key_Left);
        const QImage panned = shown.image();
        shown.view.setMatches({0});
        shown.image();
        shown.view.setMatches({});  // paints everything anew
        const QImage fresh = shown.image();
        int different = 0;
        for (int y = 0; y < fresh.height(); ++y) {
            for (int x = 0; x < fresh.width(); ++x)
                different += std::abs(qGray(fresh.pixel(x, y)) - qGray(panned.pixel(x, y))) > 40;
        }
        QVERIFY2(different < 50, qPrintable(QString::number(different)));
    }

    void wheelZoomsAtThePointer() {
        Shown shown;
        const QPoint pointer = shown.at(shown.branch[3]);
        const double scale = shown.view.scale();
        const QPointF exact = shown.view.positionOf(shown.branch[3]);
        shown.wheel(pointer, 120);
        QVERIFY(shown.view.scale() > scale * 1.1);
        QVERIFY((shown.view.positionOf(shown.branch[3]) - exact).manhattanLength() < 1);
        shown.wheel(pointer, -240);
        QVERIFY(shown.view.scale() < scale);
        QVERIFY((shown.view.positionOf(shown.branch[3]) - exact).manhattanLength() < 1);
        for (int i = 0; i < 100; ++i) shown.wheel(pointer, 120);
        QVERIFY(shown.view.scale() < 20);
        for (int i = 0; i < 100; ++i) shown.wheel(pointer, -120);
        QVERIFY(shown.view.scale() > 0.01);
    }

    void graphCannotBeLost() {
        Shown shown;
        for (int i = 0; i < 100; ++i) QTest::keyClick(&shown.view, Qt::Key_Right);
        const QRectF graph(shown.view.toView(shown.scene->bounds.topLeft()),
                           shown.view.toView(shown.scene->bounds.bottomRight()));
        QVERIFY(graph.intersects(QRectF(shown.view.rect())));
    }

    void fitShowsAll_data() {
        QTest::addColumn<int>("key");
        QTest::newRow("F") << int(Qt::Key_F);
        QTest::newRow("Home") << int(Qt::Key_Home);
    }
    void fitShowsAll() {
        QFETCH(int, key);
        Shown shown(test::chain(300));
        QTest::keyClick(&shown.view, static_cast<Qt::Key>(key));
        for (const OpId op : {OpId{0}, OpId{299}}) QVERIFY(shown.view.rect().contains(shown.at(op)));
    }

    void opensWhole() {
        Shown shown(test::chain(300));
        for (const OpId op : {OpId{0}, OpId{299}}) QVERIFY(shown.view.rect().contains(shown.at(op)));
        QVERIFY(shown.view.isFitted());
        QSignalSpy rooms(&shown.view, &GraphView::roomChanged);
        shown.view.resize(900, 500);
        QCOMPARE(rooms.size(), 1);
        shown.zoomIn();
        QVERIFY(!shown.view.isFitted());
        shown.view.resize(700, 500);
        QCOMPARE(rooms.size(), 1);  // what the user looks at stays
        shown.view.fit();
        QCOMPARE(rooms.size(), 2);
    }

    void aWideRoomIsFilled() {
        const auto problem = test::problem(test::chain(100), test::uniform_machine(2));
        const auto scene = buildGraphScene(*problem, nullptr, {LayoutRoom::Direction::right, 2});
        QVERIFY(scene->bounds.width() > scene->bounds.height());
        GraphView view;
        view.resize(1000, 500);
        view.setScene(scene, problem->machine);
        view.show();
        QVERIFY2(view.scale() > 0.3, qPrintable(QString::number(view.scale())));
        // Keys follow the rows: onwards in the first, and in the second, which runs back.
        std::uint32_t turned = 0;
        while (!scene->nodes[turned].backwards) ++turned;
        view.setSelection({0});
        QTest::keyClick(&view, Qt::Key_Right);
        QCOMPARE(view.selection(), OpList{1});
        QTest::keyClick(&view, Qt::Key_Left);
        QCOMPARE(view.selection(), OpList{0});
        view.setSelection({turned});
        QTest::keyClick(&view, Qt::Key_Left);
        QCOMPARE(view.selection(), OpList{turned + 1});
        QTest::keyClick(&view, Qt::Key_Up);  // the row above
        QVERIFY(view.selection().front() < turned);
    }

    void manyReadersHaveStubs() {
        GraphBuilder builder("hub", 1, Training::none);
        Op op;
        op.kind = "linear";
        op.outputs = {{{}, DType::float32, 4}};
        op.name = "weights";
        builder.add(op, {});
        for (int reader = 0; reader < 30; ++reader) {
            op.name = "reader" + std::to_string(reader);
            builder.add(op, {"weights"});
        }
        const auto problem = test::problem(builder.build(), test::uniform_machine(2));
        const auto scene = buildGraphScene(*problem);
        QCOMPARE(scene->edges.size(), std::size_t{30});
        for (const auto& edge : scene->edges) {
            QVERIFY(edge.stub);
            QCOMPARE(edge.line.size(), qsizetype{2});
            QCOMPARE(edge.line.back(), scene->inPort(edge.to));
            QVERIFY(QLineF(edge.line.front(), edge.line.back()).length() < 11);
        }
        // Pointing at the node shows where they go.
        GraphView view;
        view.resize(800, 600);
        view.setScene(scene, problem->machine);
        view.show();
        const QImage plain = view.grab().toImage();
        view.setHovered(0);
        const QImage marked = view.grab().toImage();
        const QPoint between =
            ((view.toView(scene->outPort(0)) + view.toView(scene->inPort(29))) / 2).toPoint();
        QVERIFY(marked.pixelColor(between) != plain.pixelColor(between));
    }

    void fitFollowsTheSizeUntilTheViewIsMoved() {
        Shown shown;
        shown.view.resize(400, 300);
        const QRect inside(0, 0, 400, 300);
        QVERIFY(inside.contains(shown.at(shown.source)) && inside.contains(shown.at(shown.sink)));
        QTest::keyClick(&shown.view, Qt::Key_Plus);
        const double scale = shown.view.scale();
        shown.view.resize(800, 600);
        QCOMPARE(shown.view.scale(), scale);
    }

    /// As beside the start page: the panels leave next to no room.
    void aViewThatWasSmallShowsTheSameAgain() {
        Shown shown(test::chain(300));
        shown.zoomIn();
        QTest::keyClick(&shown.view, Qt::Key_PageUp);
        const QSize size = shown.view.size();
        const QPointF before = shown.view.positionOf(3);
        for (const QSize small : {QSize(40, 30), QSize(4, 600), QSize(2000, 10)}) shown.view.resize(small);
        shown.view.resize(size);
        QVERIFY((shown.view.positionOf(3) - before).manhattanLength() < 0.01);
    }

    void doubleClickZoomsToTheNode() {
        Shown shown(test::chain(100));
        const double scale = shown.view.scale();
        QTest::mouseDClick(&shown.view, Qt::LeftButton, {}, shown.at(3));
        QVERIFY(shown.view.scale() > scale);
        const auto* minimap = shown.view.findChild<GraphMinimap*>();
        QVERIFY((shown.view.positionOf(3) - QPointF(minimap->x() / 2.0, 300)).manhattanLength() < 2);
    }

    void zoomToSelection() {
        Shown shown(test::chain(100));
        shown.view.zoomTo({50, 55});
        for (const OpId op : {OpId{50}, OpId{55}}) QVERIFY(shown.view.rect().contains(shown.at(op)));
        QVERIFY(!shown.view.rect().contains(shown.at(90)));
    }

    void hoverIsTold() {
        Shown shown;
        QSignalSpy spy(&shown.view, &OpView::opHovered);
        shown.moveTo(shown.at(shown.branch[2]), Qt::NoButton);
        QCOMPARE(spy.size(), 1);
        QCOMPARE(spy.at(0).at(0).value<OpId>(), shown.branch[2]);
        shown.moveTo(shown.at(shown.branch[2]) + QPoint(1, 1), Qt::NoButton);
        QCOMPARE(spy.size(), 1);
        shown.moveTo(kBackground, Qt::NoButton);
        QCOMPARE(spy.at(1).at(0).value<OpId>(), kInvalidOp);
        shown.moveTo(shown.at(shown.sink), Qt::NoButton);
        QEvent leave(QEvent::Leave);
        QApplication::sendEvent(&shown.view, &leave);
        QCOMPARE(spy.size(), 4);
        QCOMPARE(spy.at(3).at(0).value<OpId>(), kInvalidOp);
        const QImage plain = shown.image();
        shown.view.setHovered(shown.source);
        QVERIFY(shown.image() != plain);
        QCOMPARE(spy.size(), 4);
    }

    void dragTellsWhereItIs() {
        Shown shown;
        QSignalSpy selected(&shown.view, &OpView::selectionEdited),
            started(&shown.view, &OpView::opDragStarted), moved(&shown.view, &OpView::opDragMoved),
            dropped(&shown.view, &OpView::opDropped), cancelled(&shown.view, &OpView::opDragCancelled);
        const QPoint from = shown.at(shown.branch[1]);
        QTest::mousePress(&shown.view, Qt::LeftButton, {}, from);
        shown.moveTo(from + QPoint(1, 0));
        QCOMPARE(started.size(), 0);
        shown.moveTo(from + QPoint(30, 10));
        QCOMPARE(started.size(), 1);
        QCOMPARE(ops(selected), OpList{shown.branch[1]});
        QCOMPARE(ops(started), OpList{shown.branch[1]});
        const QPoint outside(-200, 50);
        shown.moveTo(outside);
        QCOMPARE(moved.constLast().at(0).toPoint(), shown.view.mapToGlobal(outside));
        QTest::mouseRelease(&shown.view, Qt::LeftButton, {}, outside);
        QCOMPARE(dropped.size(), 1);
        QCOMPARE(dropped.at(0).at(0).toPoint(), shown.view.mapToGlobal(outside));
        QCOMPARE(cancelled.size(), 0);
        QCOMPARE(shown.view.selection(), OpList{shown.branch[1]});
    }

    void dragTakesTheWholeSelection() {
        Shown shown;
        const OpList both{shown.branch[0], shown.branch[2]};
        shown.view.setSelection(both);
        QSignalSpy started(&shown.view, &OpView::opDragStarted),
            selected(&shown.view, &OpView::selectionEdited);
        const QPoint from = shown.at(shown.branch[2]);
        QTest::mousePress(&shown.view, Qt::LeftButton, {}, from);
        shown.moveTo(from + QPoint(0, 40));
        QCOMPARE(ops(started), both);
        QCOMPARE(selected.size(), 0);
        QTest::mouseRelease(&shown.view, Qt::LeftButton, {}, from);
    }

    void dragIsCancelledOnce_data() {
        QTest::addColumn<QString>("how");
        QTest::newRow("Escape") << "escape";
        QTest::newRow("the view is hidden") << "hide";
        QTest::newRow("another graph is shown") << "scene";
    }
    void dragIsCancelledOnce() {
        QFETCH(QString, how);
        Shown shown;
        QSignalSpy moved(&shown.view, &OpView::opDragMoved), dropped(&shown.view, &OpView::opDropped),
            cancelled(&shown.view, &OpView::opDragCancelled);
        const QPoint from = shown.at(shown.branch[1]);
        QTest::mousePress(&shown.view, Qt::LeftButton, {}, from);
        shown.moveTo(from + QPoint(0, 60));
        if (how == "escape") QTest::keyClick(&shown.view, Qt::Key_Escape);
        if (how == "hide") shown.view.hide();
        if (how == "scene") shown.view.setScene(nullptr, nullptr);
        QCOMPARE(cancelled.size(), 1);
        const auto moves = moved.size();
        shown.moveTo(from + QPoint(0, 90));
        QTest::mouseRelease(&shown.view, Qt::LeftButton, {}, from + QPoint(0, 90));
        QCOMPARE(moved.size(), moves);
        QCOMPARE(dropped.size(), 0);
        QCOMPARE(cancelled.size(), 1);
        if (how == "escape") QCOMPARE(shown.view.selection(), OpList{shown.branch[1]});
    }

    void numbersChooseDevices() {
        Shown shown;
        QSignalSpy spy(&shown.view, &OpView::deviceKeyPressed);
        QTest::keyClick(&shown.view, Qt::Key_2);
        QCOMPARE(spy.size(), 0);
        shown.view.setSelection({shown.source});
        for (int key = 1; key <= 9; ++key) {
            QTest::keyClick(&shown.view, static_cast<Qt::Key>(Qt::Key_0 + key));
            QCOMPARE(spy.constLast().at(0).toInt(), key);
        }
        QTest::keyClick(&shown.view, Qt::Key_0);
        QTest::keyClick(&shown.view, Qt::Key_3, Qt::ControlModifier);
        QCOMPARE(spy.size(), 9);
    }

    void keysSelect() {
        Shown shown;
        QSignalSpy spy(&shown.view, &OpView::selectionEdited);
        QTest::keyClick(&shown.view, Qt::Key_A, Qt::ControlModifier);
        QCOMPARE(ops(spy).size(), std::size_t{6});
        QTest::keyClick(&shown.view, Qt::Key_Escape);
        QCOMPARE(ops(spy), OpList{});
        shown.view.setSelection({shown.source});
        QTest::keyClick(&shown.view, Qt::Key_Down);
        const OpId below = ops(spy).at(0);
        QVERIFY(std::ranges::find(shown.branch, below) != std::end(shown.branch));
        QTest::keyClick(&shown.view, Qt::Key_Right);
        const OpId beside = ops(spy).at(0);
        QVERIFY(beside != below);
        QCOMPARE(shown.at(beside).y(), shown.at(below).y());
        QVERIFY(shown.at(beside).x() > shown.at(below).x());
        QTest::keyClick(&shown.view, Qt::Key_Left);
        QCOMPARE(ops(spy), OpList{below});
        QTest::keyClick(&shown.view, Qt::Key_Down);
        QCOMPARE(ops(spy), OpList{shown.sink});
        QTest::keyClick(&shown.view, Qt::Key_Up);
        QTest::keyClick(&shown.view, Qt::Key_Up);
        QCOMPARE(ops(spy), OpList{shown.source});
    }

    void keysZoom() {
        Shown shown;
        const double scale = shown.view.scale();
        QTest::keyClick(&shown.view, Qt::Key_Plus);
        QVERIFY(shown.view.scale() > scale);
        QTest::keyClick(&shown.view, Qt::Key_Minus);
        QTest::keyClick(&shown.view, Qt::Key_Minus);
        QVERIFY(shown.view.scale() < scale);
    }

    void matchesStandOut() {
        Shown shown;
        const QColor color = deviceColor(*shown.problem->machine, 0);
        shown.view.setMatches({shown.branch[0]});
        QCOMPARE(shown.colorOf(shown.branch[0]), color);
        QVERIFY(shown.colorOf(shown.branch[1]).lightness() > color.lightness() + 40);
        shown.view.setMatches({});
        QCOMPARE(shown.colorOf(shown.branch[1]), color);
    }

    void focusIsSeen() {
        Shown shown;
        QTRY_VERIFY(shown.view.hasFocus());
        const QImage focused = shown.image();
        shown.view.clearFocus();
        QVERIFY(shown.image() != focused);
    }

    void toolTipComesFromItsSource() {
        Shown shown;
        shown.view.setToolTipSource([&](OpId op) { return QString("op %1").arg(op); });
        QHelpEvent event(QEvent::ToolTip, shown.at(shown.sink), shown.view.mapToGlobal(shown.at(shown.sink)));
        QApplication::sendEvent(&shown.view, &event);
        QCOMPARE(QToolTip::text(), QString("op %1").arg(shown.sink));
    }

    void wholeGraphIsRendered() {
        Shown shown(test::chain(100));
        QImage image(shown.view.wholeSize().toSize(), QImage::Format_RGB32);
        image.fill(Qt::magenta);
        QPainter painter(&image);
        shown.view.renderWhole(painter, image.rect());
        painter.end();
        QVERIFY(image.height() > 4000);
        const QColor color = deviceColor(*shown.problem->machine, 0);
        const QPointF margin((image.width() - shown.scene->bounds.width()) / 2,
                             (image.height() - shown.scene->bounds.height()) / 2);
        for (const std::size_t node : {0, 50, 99}) {
            const QRectF& rect = shown.scene->nodes[node].rect;
            QCOMPARE(image.pixelColor((QPointF(rect.left() + 4, rect.center().y()) + margin).toPoint()),
                     color);
        }
        QCOMPARE(image.pixelColor(2, 2), shown.view.palette().color(QPalette::Base));
    }

    void hatchesComeOutInSvg() {
        const auto problem = test::problem(test::chain(2), test::uniform_machine(20));
        GraphView view;
        view.setScene(buildGraphScene(*problem), problem->machine);
        view.setDevices({1, 9});  // the same colour, plain and hatched
        QBuffer file;
        file.open(QIODevice::ReadWrite);
        QSvgGenerator generator;
        generator.setOutputDevice(&file);
        generator.setSize(view.wholeSize().toSize());
        generator.setViewBox(QRectF(QPointF(0, 0), view.wholeSize()));
        QPainter painter(&generator);
        view.renderWhole(painter, QRectF(QPointF(0, 0), view.wholeSize()));
        painter.end();

        QImage image(view.wholeSize().toSize(), QImage::Format_RGB32);
        image.fill(Qt::magenta);
        QPainter reader(&image);
        QSvgRenderer(file.data()).render(&reader);
        reader.end();
        const QColor color = deviceColor(*problem->machine, 1);
        const auto countIn = [&](double top, double bottom, auto counts) {
            int count = 0;
            for (int y = int(top * image.height()); y < int(bottom * image.height()); ++y) {
                for (int x = 0; x < image.width(); ++x) count += counts(image.pixelColor(x, y));
            }
            return count;
        };
        const auto isPlain = [&](const QColor& pixel) { return pixel == color; };
        const int plain = countIn(0, 0.5, isPlain), hatched = countIn(0.5, 1, isPlain);
        QVERIFY2(plain > 800, qPrintable(QString::number(plain)));
        QVERIFY2(hatched > 200 && hatched < plain - 150,
                 qPrintable(QString("%1 of %2").arg(hatched).arg(plain)));
        const auto isOdd = [&](const QColor& pixel) { return pixel == QColor(Qt::magenta); };
        QCOMPARE(countIn(0, 1, isOdd), 0);
    }

    /// A module that is on one device but for a little keeps its name, and the little is seen.
    void aDividedModuleKeepsItsName() {
        GraphBuilder builder("divided", 1, Training::none);
        std::string before;
        for (int i = 0; i < 12; ++i) {
            Op op;
            op.name = "block/conv" + std::to_string(i);
            op.scope = "block";
            op.kind = "linear";
            op.flops = 1e12;
            op.outputs = {make_tensor({8})};
            const std::string name = op.name;
            builder.add(std::move(op), before.empty() ? std::vector<std::string>{} : std::vector{before});
            before = name;
        }
        const auto problem = test::problem(builder.build(), test::uniform_machine(8));
        const ClosedScopes closed{"block"};
        GraphView view;
        view.setScene(buildGraphScene(*problem, &closed), problem->machine);
        for (const bool scattered : {false, true}) {
            std::vector<DeviceId> devices(12, 1);
            if (scattered) std::iota(devices.begin(), devices.begin() + 8, DeviceId{0});
            devices[11] = 2;
            view.setDevices(devices);
            QBuffer file;
            file.open(QIODevice::ReadWrite);
            QSvgGenerator generator;
            generator.setOutputDevice(&file);
            QPainter painter(&generator);
            view.renderWhole(painter, QRectF(QPointF(0, 0), view.wholeSize()));
            painter.end();
            if (!scattered) QVERIFY(file.data().contains(">block<"));

            QImage image(view.wholeSize().toSize(), QImage::Format_RGB32);
            QPainter pixels(&image);
            view.renderWhole(pixels, image.rect());
            pixels.end();
            std::map<QRgb, std::set<int>> columns;
            for (int x = 0; x < image.width(); ++x) {
                for (int y = 0; y < image.height(); ++y) columns[image.pixel(x, y)].insert(x);
            }
            for (DeviceId device = 0; device < 8; ++device) {
                if (std::ranges::count(devices, device) == 0) continue;
                QVERIFY2(columns[deviceColor(*problem->machine, device).rgb()].size() >= 3,
                         qPrintable(QString("device %1").arg(device)));
            }
        }
    }

    void aCloseLookNamesTheModules_data() {
        QTest::addColumn<double>("scale");
        QTest::addColumn<QStringList>("drawn");
        QTest::addColumn<QStringList>("missing");
        QTest::newRow("as it is") << 1.0 << QStringList{"conv", "fc"} << QStringList{"branch1x1", "head"};
        QTest::newRow("near") << 3.0 << QStringList{"branch1x1 conv", "head fc"} << QStringList{"Mixed_5b"};
        QTest::newRow("nearer") << 6.0 << QStringList{"modules/Mixed_5b/branch1x1 conv", "head fc"}
                                << QStringList{"many"};
    }
    void aCloseLookNamesTheModules() {
        QFETCH(double, scale);
        QFETCH(QStringList, drawn);
        QFETCH(QStringList, missing);
        GraphBuilder builder("scopes", 1, Training::none);
        for (const auto& [name, scope] :
             {std::pair("a/very/deep/model/of/many/modules/Mixed_5b/branch1x1/conv", ""), {"fc", "head"}}) {
            Op op;
            op.name = name;
            op.scope = scope;
            op.kind = "linear";
            op.flops = op.name == "fc" ? 1e12 : 1;
            op.outputs = {make_tensor({8})};
            builder.add(std::move(op), {});
        }
        const auto problem = test::problem(builder.build(), test::uniform_machine(1));
        GraphView view;
        view.setScene(buildGraphScene(*problem), problem->machine);
        view.setDevices({0, 0});
        QBuffer file;
        file.open(QIODevice::ReadWrite);
        QSvgGenerator generator;
        generator.setOutputDevice(&file);
        QPainter painter(&generator);
        view.renderWhole(painter, QRectF(QPointF(0, 0), view.wholeSize() * scale));
        painter.end();
        const QString svg = QString::fromUtf8(file.data());
        for (const QString& text : drawn)
            QVERIFY2(svg.contains(QLatin1Char('>') + text + QLatin1Char('<')), qPrintable(text));
        for (const QString& text : missing) QVERIFY2(!svg.contains(text), qPrintable(text));
    }

    void minimapIsThereIfTheGraphIsNot() {
        Shown shown;
        const auto* minimap = shown.view.findChild<GraphMinimap*>();
        QVERIFY(!minimap->isVisible());
        QVERIFY(!minimap->accessibleName().isEmpty() && !minimap->toolTip().isEmpty());
        for (int i = 0; i < 12; ++i) QTest::keyClick(&shown.view, Qt::Key_Plus);
        QVERIFY(minimap->isVisible());
        QCOMPARE(minimap->geometry().right(), shown.view.rect().right());
        QTest::keyClick(&shown.view, Qt::Key_F);
        QVERIFY(!minimap->isVisible());
    }

    void minimapOfALongGraphIsAColumn() {
        QCOMPARE(GraphMinimap::sizeFor({220, 20'000}, {800, 600}).height(), 600);
        QVERIFY(GraphMinimap::sizeFor({220, 20'000}, {800, 600}).width() >= 60);
        const QSize wide = GraphMinimap::sizeFor({20'000, 220}, {800, 600});
        QVERIFY(wide.height() < 100 && wide.width() < 120);
        // The graph itself is to be seen.
        QVERIFY(GraphMinimap::sizeFor({9000, 9000}, {200, 600}).isEmpty());
        const QSize square = GraphMinimap::sizeFor({9000, 9000}, {800, 600});
        QVERIFY(std::abs(square.height() - square.width()) <= 1);
    }

    void minimapShowsEveryOpInItsColour() {
        Shown shown(test::chain(200));
        shown.zoomIn();
        const auto* minimap = shown.view.findChild<GraphMinimap*>();
        std::vector<DeviceId> devices(shown.problem->ops, 0);
        for (const OpId op : {50, 51, 199}) devices[op] = 2;
        shown.view.setDevices(devices);
        const QImage image = shown.image();
        const Machine& machine = *shown.problem->machine;
        for (const OpId op : {40, 49, 50, 51, 52, 120, 199}) {
            const QPointF place = minimap->pos() + minimap->toMap(shown.scene->nodes[op].rect.center());
            QCOMPARE(image.pixelColor(place.toPoint()), deviceColor(machine, devices[op]));
        }
    }

    void minimapShowsMatches() {
        Shown shown(test::chain(200));
        shown.zoomIn();
        const auto* minimap = shown.view.findChild<GraphMinimap*>();
        const auto lightness = [&](OpId op) {
            return shown.image()
                .pixelColor((minimap->pos() + minimap->toMap(shown.scene->nodes[op].rect.center())).toPoint())
                .lightness();
        };
        const int before = lightness(120);
        shown.view.setMatches({80});
        QCOMPARE(lightness(80), before);
        QVERIFY(lightness(120) > before + 40);
    }

    void minimapMovesTheView() {
        Shown shown(test::chain(300));
        shown.zoomIn();
        auto* minimap = shown.view.findChild<GraphMinimap*>();
        const auto onMap = [&](OpId op) {
            return minimap->toMap(shown.scene->nodes[op].rect.center()).toPoint();
        };
        const auto middleOp = [&] {
            OpId nearest = 0;
            for (OpId op = 0; op < 300; ++op) {
                if (std::abs(shown.at(op).y() - 300) < std::abs(shown.at(nearest).y() - 300)) nearest = op;
            }
            return int(nearest);
        };
        const int x = shown.at(0).x();
        const double scale = shown.view.scale();
        QTest::mousePress(minimap, Qt::LeftButton, {}, onMap(150));
        QVERIFY2(std::abs(middleOp() - 150) <= 1, qPrintable(QString::number(middleOp())));
        // A press within the frame takes it where it is grabbed.
        QTest::mouseRelease(minimap, Qt::LeftButton, {}, onMap(150));
        QTest::mousePress(minimap, Qt::LeftButton, {}, onMap(154));
        QVERIFY(std::abs(middleOp() - 150) <= 1);
        QMouseEvent drag(QEvent::MouseMove, onMap(204), minimap->mapToGlobal(onMap(204)), Qt::NoButton,
                         Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(minimap, &drag);
        QVERIFY2(std::abs(middleOp() - 200) <= 1, qPrintable(QString::number(middleOp())));
        QTest::mouseRelease(minimap, Qt::LeftButton, {}, onMap(204));
        QCOMPARE(shown.view.scale(), scale);
        QCOMPARE(shown.at(0).x(), x);  // all of it is seen sideways
        // The end of the graph stays at the border of the view.
        QTest::mouseClick(minimap, Qt::LeftButton, {}, QPoint(minimap->width() / 2, minimap->height() - 1));
        QVERIFY2(shown.at(299).y() > 500 && shown.at(299).y() < 600,
                 qPrintable(QString::number(shown.at(299).y())));
        QVERIFY(shown.view.selection().empty());
    }

    void minimapTurnsPages() {
        Shown shown(test::chain(300));
        shown.zoomIn();
        auto* minimap = shown.view.findChild<GraphMinimap*>();
        QTest::keyClick(&shown.view, Qt::Key_PageDown);
        const int paged = shown.at(0).y();
        QVERIFY(paged < -400);
        const QPointF middle = minimap->rect().center();
        QWheelEvent wheel(middle, minimap->mapToGlobal(middle), {}, QPoint(0, -120), Qt::NoButton,
                          Qt::NoModifier, Qt::NoScrollPhase, false);
        const double scale = shown.view.scale();
        QApplication::sendEvent(minimap, &wheel);
        QVERIFY(shown.at(0).y() < paged - 100);
        QCOMPARE(shown.view.scale(), scale);
        QTest::keyClick(&shown.view, Qt::Key_PageUp);
        QVERIFY(shown.at(0).y() > paged);
    }

    void minimapEndsTheHover() {
        Shown shown(test::chain(300));
        shown.zoomIn();
        QSignalSpy spy(&shown.view, &OpView::opHovered);
        shown.moveTo(shown.at(2), Qt::NoButton);
        QCOMPARE(spy.constLast().at(0).value<OpId>(), OpId{2});
        QEnterEvent enter(QPointF(5, 5), QPointF(5, 5), QPointF(5, 5));
        QApplication::sendEvent(shown.view.findChild<GraphMinimap*>(), &enter);
        QCOMPARE(spy.constLast().at(0).value<OpId>(), kInvalidOp);
    }

    void minimapFollowsASearch() {
        Shown shown(test::random_graph(1, 10'000));
        auto* minimap = shown.view.findChild<GraphMinimap*>();
        shown.view.zoomBy(4, QPointF(400, 300));
        QVERIFY(minimap->isVisible());
        double best_s = kInfinity;
        for (int i = 0; i < 5; ++i) {
            shown.view.setDevices(std::vector<DeviceId>(shown.problem->ops, static_cast<DeviceId>(i % 3)));
            const test::CpuTimer timer;
            minimap->repaint();
            best_s = std::min(best_s, timer.elapsed_s());
        }
        QVERIFY2(best_s < 0.05, qPrintable(QString("%1 s").arg(best_s)));  // below 1 ms in a release build
    }

    void largeGraphIsDrawnQuickly() {
        Shown shown(test::random_graph(1, 10'000));
        shown.view.fit();
        double best_s = kInfinity;
        for (int i = 0; i < 5; ++i) {
            shown.view.setDevices(std::vector<DeviceId>(shown.problem->ops, static_cast<DeviceId>(i % 3)));
            const test::CpuTimer timer;
            shown.view.repaint();
            best_s = std::min(best_s, timer.elapsed_s());
        }
        // 5 ms in a release build; the margin is for sanitizers.
        QVERIFY2(best_s < 0.2, qPrintable(QString("%1 s").arg(best_s)));
        QTest::mouseClick(&shown.view, Qt::LeftButton, {}, shown.at(5000));
        QCOMPARE(shown.view.selection().size(), std::size_t{1});
    }

    void coloursAreDistinctAndStable() {
        const Machine machine = test::uniform_machine(20);
        std::set<QRgb> colors;
        for (DeviceId device = 0; device < 8; ++device) colors.insert(deviceColor(machine, device).rgb());
        QCOMPARE(colors.size(), std::size_t{8});
        QCOMPARE(deviceColor(machine, 9), deviceColor(machine, 1));
        QCOMPARE(deviceBrush(machine, 1).style(), Qt::SolidPattern);
        QCOMPARE(deviceBrush(machine, 9).style(), Qt::TexturePattern);
        QVERIFY(deviceBrush(machine, 9).textureImage() != deviceBrush(machine, 17).textureImage());
        QCOMPARE(deviceBrush(machine, 9).color(), deviceColor(machine, 9));
        QCOMPARE(readableOn(Qt::yellow), QColor(Qt::black));
        QCOMPARE(readableOn(QColor(0, 0, 120)), QColor(Qt::white));
        QVERIFY(!isDark(QPalette(Qt::white)));
        QVERIFY(isDark(QPalette(QColor(40, 40, 40))));
    }

    void findBarWaitsForAPauseInTyping() {
        FindBar bar;
        bar.open();
        auto* edit = bar.findChild<QLineEdit*>();
        QSignalSpy typed(&bar, &FindBar::textChanged);
        QTest::keyClicks(edit, "conv");
        QCOMPARE(typed.size(), 0);
        QTRY_COMPARE(typed.size(), 1);
        QCOMPARE(typed.at(0).at(0).toString(), QString("conv"));
    }

    void findBarSteps() {
        FindBar bar;
        bar.open();
        auto* edit = bar.findChild<QLineEdit*>();
        QSignalSpy typed(&bar, &FindBar::textChanged), steps(&bar, &FindBar::stepRequested),
            closed(&bar, &FindBar::closed);
        QTest::keyClicks(edit, "bn");
        QTest::keyClick(edit, Qt::Key_Return);
        QCOMPARE(typed.size(), 1);  // at once
        QCOMPARE(steps.size(), 1);
        QCOMPARE(steps.at(0).at(0).toInt(), 1);
        QTest::keyClick(edit, Qt::Key_Return, Qt::ShiftModifier);
        QCOMPARE(steps.at(1).at(0).toInt(), -1);
        bar.setMatchCount(3, 17);
        QCOMPARE(bar.findChild<QLabel*>()->text(), QString("3 of 17"));
        for (auto* button : bar.findChildren<QToolButton*>()) {
            if (button->accessibleName() == "Next match") QTest::mouseClick(button, Qt::LeftButton);
        }
        QCOMPARE(steps.size(), 3);
        bar.setMatchCount(0, 17);
        QCOMPARE(bar.findChild<QLabel*>()->text(), QString("17 matches"));
        bar.setMatchCount(0, 1);
        QCOMPARE(bar.findChild<QLabel*>()->text(), QString("1 match"));
        bar.setMatchCount(0, 0);
        QCOMPARE(bar.findChild<QLabel*>()->text(), QString("No matches"));
        QTest::keyClick(edit, Qt::Key_Escape);
        QCOMPARE(closed.size(), 1);
        QVERIFY(bar.isHidden());
    }
};

QTEST_MAIN(TestGraphView)
#include "tst_graph_view.moc"
