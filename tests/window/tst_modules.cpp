// SPDX-License-Identifier: MIT
// Modules of a network as single nodes: the tree of scopes, the drawn scene, the view with mouse and
// keyboard, and the opening of large networks.
#include <algorithm>
#include <set>

#include <QApplication>
#include <QHelpEvent>
#include <QSignalSpy>
#include <QTest>
#include <QToolTip>

#include "core/graph/networks.hpp"
#include "core/graph/scope_tree.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/text.hpp"

using namespace placewright;

namespace {

using Closed = ClosedScopes;

class Builder {
public:
    explicit Builder(const char* name, Training training = Training::none) : m_builder(name, 1, training) {}
    Builder& add(const std::string& name, const std::string& scope, std::vector<std::string> inputs,
                 double flops = 1e9) {
        Op op;
        op.name = name;
        op.kind = "matmul";
        op.scope = scope;
        op.flops = flops;
        op.outputs = {make_tensor({100})};
        op.parameter_bytes = 400;  // otherwise no op needs a gradient
        m_builder.add(std::move(op), std::move(inputs));
        return *this;
    }
    Graph build() { return m_builder.build(); }

private:
    GraphBuilder m_builder;
};

/// in -> body/left -> body/left/more -> body/right -> out, and one op alone in "single".
Graph small() {
    return Builder("small")
        .add("in", "", {})
        .add("a", "body/left", {"in"})
        .add("b", "body/left", {"a"})
        .add("c", "body/right", {"b"})
        .add("d", "body/right", {"c"}, 3e9)
        .add("e", "single", {"d"})
        .add("out", "", {"e"})
        .build();
}

/// `layers` layers of two parts with `ops` ops each, in sequence.
Graph layered(int layers, int ops, Training training = Training::none) {
    Builder builder("layered", training);
    builder.add("in", "", {});
    std::string last = "in";
    for (int layer = 0; layer < layers; ++layer) {
        for (const char* part : {"attention", "mlp"}) {
            const std::string scope = "model/layers/" + std::to_string(layer) + "/" + part;
            for (int i = 0; i < ops; ++i) {
                std::string name = scope + "/op" + std::to_string(i);
                builder.add(name, scope, {last});
                last = std::move(name);
            }
        }
    }
    return builder.build();
}

std::shared_ptr<const GraphScene> sceneOf(const Problem& problem, const Closed& closed) {
    return buildGraphScene(problem, &closed);
}

std::set<std::string> labels(const GraphScene& scene) {
    std::set<std::string> all;
    for (const auto& node : scene.nodes) all.insert(node.label.toStdString());
    return all;
}

struct View {
    std::shared_ptr<const Problem> problem;
    GraphView view;

    explicit View(const Closed& closed, Graph graph = small())
        : problem(test::problem(std::move(graph), test::uniform_machine(2))) {
        view.resize(800, 600);
        view.setScene(sceneOf(*problem, closed), problem->machine);
        view.setDevices(std::vector<DeviceId>(problem->ops, 0));
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        view.setFocus();
    }
    OpId op(const char* name) const { return problem->graph->find(name).value(); }
    OpList ops(std::initializer_list<const char*> names) const {
        OpList list;
        for (const char* name : names) list.push_back(op(name));
        return list;
    }
    QPoint at(const char* name) const { return view.positionOf(op(name)).toPoint(); }
};

/// The modules to open ("+") or close ("-").
QString requested(const QSignalSpy& spy) {
    return (spy.back().at(1).toBool() ? QString('+') : QString('-')) +
           spy.back().at(0).toStringList().join(' ');
}

}  // namespace

class TestModules : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        qRegisterMetaType<OpList>();
        qRegisterMetaType<Closed>();
    }

    // --- the tree

    void treeOfScopes() {
        const Graph graph = small();
        const ScopeTree tree = scope_tree(graph);
        QCOMPARE(tree.scopes.size(), std::size_t{5});
        const auto& body = tree.scopes[tree.find("body")];
        QCOMPARE(body.ops, std::size_t{0});
        QCOMPARE(body.all_ops, std::size_t{4});
        QCOMPARE(body.children, (std::vector{tree.find("body/left"), tree.find("body/right")}));
        QCOMPARE(tree.scopes.front().all_ops, graph.size());
        QCOMPARE(tree.scope_of[*graph.find("d")], tree.find("body/right"));
        QVERIFY(!tree.scopes[tree.find("single")].can_close());
        QCOMPARE(tree.find("elsewhere"), ScopeTree::kRoot);
    }

    void derivedOpsDoNotCount() {
        const auto problem = test::problem(layered(2, 3, Training::implicit), test::uniform_machine(1));
        QVERIFY(problem->ops > problem->forward->size());
        const ScopeTree tree = scope_tree(*problem->graph);
        QCOMPARE(tree.scopes.front().all_ops, problem->forward->size());
        const auto scene = sceneOf(*problem, {"model/layers/0"});
        const auto& node = scene->nodes[1];
        QCOMPARE(node.members.size(), std::size_t{6});
        double seconds = 0, of_members = 0;
        for (OpId op = 0; op < problem->ops; ++op) {
            if (problem->graph->op(op).scope.starts_with("model/layers/0/")) {
                QCOMPARE(scene->node_of[op], 1);
                seconds += problem->time_s(op, 0);
            }
        }
        for (const OpId op : node.members) of_members += scene->seconds[op];
        QVERIFY(std::abs(of_members - seconds) < 1e-6 * seconds);
    }

    /// A path is kept for every module, so a very deep scope must not create millions of them.
    void deepScopesAreCut() {
        std::string scope;
        for (int i = 0; i < 100'000; ++i) scope += "m/";
        const ScopeTree tree = scope_tree(Builder("deep").add("a", scope, {}).add("b", scope, {"a"}).build());
        QCOMPARE(tree.scopes.size(), std::size_t{65});
        QCOMPARE(tree.scopes.back().path, scope);
        QCOMPARE(tree.scopes.back().all_ops, std::size_t{2});
    }

    /// All ops, or nearly all, are within one module that has more parts than an overview should show.
    void oneModuleForEverythingIsOpen() {
        for (const bool outside : {false, true}) {
            Builder builder("one");
            std::string last;
            if (outside) builder.add(last = "in", "", {});
            for (int i = 0; i < 900; ++i) {
                const std::string scope = "model/" + std::to_string(i / 3) + '/';
                std::string name = "op" + std::to_string(i);
                builder.add(name, scope, last.empty() ? std::vector<std::string>() : std::vector{last});
                last = std::move(name);
            }
            const auto problem = test::problem(builder.build(), test::uniform_machine(1));
            for (const std::size_t most : {0U, 50U, 400U}) {
                const auto scene = sceneOf(*problem, overview(scope_tree(*problem->graph), most));
                QCOMPARE(scene->nodes.size(), std::size_t{outside ? 301U : 300U});
            }
            // A part without a name is named after its parent.
            QCOMPARE(sceneOf(*problem, {"model/0/"})->nodes[outside].label, QString("model/0/"));
        }
    }

    void overviewStaysWithinItsNodes() {
        const Graph graph = layered(10, 4);
        const ScopeTree tree = scope_tree(graph);
        const auto problem = test::problem(layered(10, 4), test::uniform_machine(1));
        Closed layers, parts;
        for (int i = 0; i < 10; ++i) {
            layers.insert("model/layers/" + std::to_string(i));
            for (const char* part : {"/attention", "/mlp"})
                parts.insert("model/layers/" + std::to_string(i) + part);
        }
        for (const std::size_t most : {0U, 2U, 20U})
            QCOMPARE(overview(tree, most), layers);  // "model" alone would be no overview
        QCOMPARE(overview(tree, 21), parts);
        QCOMPARE(overview(tree, 81), Closed());
        for (const std::size_t most : {11U, 20U, 21U, 80U}) {
            const auto scene = sceneOf(*problem, overview(tree, most));
            QVERIFY2(scene->nodes.size() <= most, qPrintable(QString::number(scene->nodes.size())));
        }
        QCOMPARE(overview(scope_tree(Builder("one").add("a", "all", {}).add("b", "all", {"a"}).build()), 1),
                 Closed());
    }

    void stepsAreFoundByTheirNames_data() {
        QTest::addColumn<QString>("scope");
        QTest::addColumn<QString>("layer");
        QTest::addColumn<QString>("step");
        QTest::addColumn<int>("number");
        QTest::newRow("step") << "encoder2/step12"
                              << "encoder2"
                              << "encoder2/step12" << 12;
        QTest::newRow("within a step") << "rnn/step_3/cell/gates"
                                       << "rnn"
                                       << "rnn/step_3" << 3;
        QTest::newRow("time") << "model/lstm/time7"
                              << "model/lstm"
                              << "model/lstm/time7" << 7;
        QTest::newRow("outermost") << "t4"
                                   << ""
                                   << "t4" << 4;
        QTest::newRow("layer") << "layer12/conv"
                               << ""
                               << "" << -1;
        QTest::newRow("no number") << "step/cell"
                                   << ""
                                   << "" << -1;
        QTest::newRow("more behind the number") << "step12b"
                                                << ""
                                                << "" << -1;
        QTest::newRow("too large a number") << "step99999999999"
                                            << ""
                                            << "" << -1;
        QTest::newRow("the network") << ""
                                     << ""
                                     << "" << -1;
    }
    void stepsAreFoundByTheirNames() {
        QFETCH(QString, scope);
        const std::string text = scope.toStdString();
        const auto found = unrolled_step(text);
        QTEST(found ? static_cast<int>(found->step) : -1, "number");
        if (!found) return;
        QTEST(toQString(found->layer), "layer");
        QTEST(toQString(found->scope), "step");
    }

    void recurrentNetworksOpenAsATable() {
        const auto problem = test::problem(nmt2(64), test::uniform_machine(2));
        const auto scene = buildGraphScene(*problem, nullptr, {LayoutRoom::Direction::right, 1.2});
        // Three layers of the encoder, counting both directions of the first, and two of the decoder.
        QCOMPARE(scene->layers.size(), std::size_t{5});
        QCOMPARE(scene->layers.front().name, QStringLiteral("encoder1/forwards"));
        QCOMPARE(scene->layers.back().name, QStringLiteral("decoder2"));
        std::size_t steps = 0;
        for (const auto& node : scene->nodes) {
            const QString scope = toQString(scene->modules.scopes[scene->modules.scope_of[node.op]].path);
            if (!scope.contains(QStringLiteral("/step"))) continue;
            ++steps;
            const auto layer = std::ranges::find_if(scene->layers, [&](const GraphScene::Layer& of) {
                return scope.startsWith(of.name + QStringLiteral("/step"));
            });
            QVERIFY(layer != scene->layers.end());
            QVERIFY(layer->rect.adjusted(-1, -1, 1, 1).contains(node.rect));
            QCOMPARE(node.label, scope.section(QStringLiteral("/step"), 1).section(QLatin1Char('/'), 0, 0));
        }
        QCOMPARE(steps, std::size_t{5 * 32});
        // With whole layers closed there are no steps to make a table of.
        const ClosedScopes layers = overview(scene->modules, 0);
        QVERIFY(buildGraphScene(*problem, &layers)->layers.empty());
    }

    void otherNetworksAreNoTables() {
        const auto problem = test::problem(test::fork_join(30, 1e9, 1000), test::uniform_machine(2));
        QVERIFY(buildGraphScene(*problem)->layers.empty());
        QVERIFY(steps_closed(scope_tree(*problem->graph), 1000).empty());
    }

    void openingClosesWhatIsWithin() {
        const ScopeTree tree = scope_tree(layered(2, 3));
        // "model" contains only "layers".
        QCOMPARE(opened(tree, {"model"}, "model"), (Closed{"model/layers/0", "model/layers/1"}));
        QCOMPARE(opened(tree, {"model/layers/0", "model/layers/1"}, "model/layers/0"),
                 (Closed{"model/layers/0/attention", "model/layers/0/mlp", "model/layers/1"}));
        for (const char* path : {"unknown", "model/layers/0"})
            QCOMPARE(opened(tree, {"model"}, path), Closed{"model"});
    }

    void largeNetworksAreGrouped() {
        QCOMPARE(default_grouping(layered(10, 4)), GroupingOptions());
        // 100 layers of 2 parts of 15 ops: 3 000 ops, in 200 parts at the deepest level.
        const GroupingOptions parts = default_grouping(layered(100, 15));
        QCOMPARE(parts.rule, GroupingRule::scope);
        QCOMPARE(group_ops(layered(100, 15), parts).size(), std::size_t{201});
        const GroupingOptions layers = default_grouping(layered(400, 3));
        QCOMPARE(group_ops(layered(400, 3), layers).size(), std::size_t{401});
        // Without modules, or with only two, neighbours are merged.
        for (const Graph& graph : {test::chain(2500), layered(1, 1500)}) {
            const GroupingOptions merged = default_grouping(graph);
            QCOMPARE(merged.rule, GroupingRule::merge);
            QCOMPARE(group_ops(graph, merged).size(), std::size_t{500});
        }
    }

    // --- the scene

    void closedModuleIsOneNode() {
        const auto problem = test::problem(small(), test::uniform_machine(2));
        const auto scene = sceneOf(*problem, {"body/left", "single"});
        QCOMPARE(labels(*scene), (std::set<std::string>{"in", "left", "c", "d", "e", "out"}));
        const auto& left = scene->nodes[static_cast<std::size_t>(scene->node_of[1])];
        QVERIFY(left.isModule());
        QCOMPARE(left.module, QString("body/left"));
        QCOMPARE(left.scope, QString("body"));
        QCOMPARE(left.detail, QString("2 ops"));
        QCOMPARE(left.members, (std::vector<OpId>{1, 2}));
        QCOMPARE(scene->node_of[1], scene->node_of[2]);
        QCOMPARE(scene->edges.size(), std::size_t{5});
        for (const auto& edge : scene->edges) QCOMPARE(edge.links.empty(), edge.from != 1 && edge.to != 1);
        QCOMPARE(labels(*sceneOf(*problem, {"body", "body/left"})),
                 (std::set<std::string>{"in", "body", "e", "out"}));
    }

    void modulesThatReadFromEachOther() {
        const auto problem = test::problem(Builder("both")
                                               .add("a1", "a", {})
                                               .add("b1", "b", {"a1"})
                                               .add("a2", "a", {"b1"})
                                               .add("b2", "b", {"a2"})
                                               .build(),
                                           test::uniform_machine(1));
        const auto scene = sceneOf(*problem, {"a", "b"});
        QCOMPARE(scene->nodes.size(), std::size_t{2});
        QCOMPARE(scene->edges.size(), std::size_t{2});
        for (const auto& edge : scene->edges) {
            const QRectF &from = scene->nodes[edge.from].rect, &to = scene->nodes[edge.to].rect;
            QVERIFY(from.adjusted(-1, -1, 1, 1).contains(edge.line.front()));
            QVERIFY(to.adjusted(-1, -1, 1, 1).contains(edge.line.back()));
        }
    }

    void largeNetworksOpenByModule() {
        const auto large = test::problem(layered(150, 7), test::uniform_machine(2));
        QVERIFY(large->forward->size() > kLargeNetwork);
        const auto scene = buildGraphScene(*large);
        QCOMPARE(scene->nodes.size(), std::size_t{151});  // a layer each
        std::size_t members = 0;
        for (const auto& node : scene->nodes) members += node.ops().size();
        QCOMPARE(members, large->forward->size());
        QVERIFY(buildGraphScene(*test::problem(layered(10, 7), test::uniform_machine(2)))->closed.empty());
    }

    // --- the view

    void moduleShowsItsDevices() {
        View shown({"body"});
        std::vector<DeviceId> devices(shown.problem->ops, 0);
        devices[shown.op("d")] = 1;  // as long as the other three
        shown.view.setDevices(devices);
        const auto scene = sceneOf(*shown.problem, {"body"});
        const QRectF node = scene->nodes[1].rect;
        const QImage image = shown.view.grab().toImage();
        const auto color = [&](double part, double height) {
            return image.pixelColor(
                shown.view.toView({node.left() + part * node.width(), node.top() + height * node.height()})
                    .toPoint());
        };
        QCOMPARE(color(0.1, 0.15), color(0.4, 0.15));
        QCOMPARE(color(0.6, 0.15), color(0.9, 0.15));
        QVERIFY(color(0.1, 0.15) != color(0.9, 0.15));
    }

    void clickSelectsAllOfAModule() {
        View shown({"body/left", "body/right"});
        QSignalSpy selected(&shown.view, &OpView::selectionEdited);
        QTest::mouseClick(&shown.view, Qt::LeftButton, {}, shown.at("a"));
        QCOMPARE(shown.view.selection(), shown.ops({"a", "b"}));
        QTest::mouseClick(&shown.view, Qt::LeftButton, Qt::ControlModifier, shown.at("d"));
        QCOMPARE(shown.view.selection(), shown.ops({"a", "b", "c", "d"}));
        QTest::mouseClick(&shown.view, Qt::LeftButton, Qt::ControlModifier, shown.at("b"));
        QCOMPARE(shown.view.selection(), shown.ops({"c", "d"}));
        QTest::keyClick(&shown.view, Qt::Key_Up);
        QCOMPARE(shown.view.selection(), shown.ops({"a", "b"}));
        QTest::keyClick(&shown.view, Qt::Key_A, Qt::ControlModifier);
        QCOMPARE(shown.view.selection().size(), shown.problem->forward->size());
        QCOMPARE(selected.size(), 5);
    }

    void hoverTellsOpsOnly() {
        View shown({"body"});
        QSignalSpy hovered(&shown.view, &OpView::opHovered);
        QTest::mouseMove(&shown.view, shown.at("in"));
        QTRY_COMPARE(hovered.size(), 1);
        QCOMPARE(qvariant_cast<OpId>(hovered.back().at(0)), shown.op("in"));
        QTest::mouseMove(&shown.view, shown.at("a"));
        QTRY_COMPARE(hovered.size(), 2);
        QCOMPARE(qvariant_cast<OpId>(hovered.back().at(0)), kInvalidOp);
        QHelpEvent help(QEvent::ToolTip, shown.at("a"), shown.view.mapToGlobal(shown.at("a")));
        QApplication::sendEvent(&shown.view, &help);
        QVERIFY2(QToolTip::text().contains("<b>body</b><br>4 ops<br>100 % of its time on gpu:0"),
                 qPrintable(QToolTip::text()));
        QToolTip::hideText();
    }

    void opensEqualModulesTogether() {
        const Closed closed{"model/layers/0/attention", "model/layers/0/mlp", "model/layers/1",
                            "model/layers/2"};
        View shown(closed, layered(3, 2));
        QSignalSpy asked(&shown.view, &GraphView::modulesRequested);
        QTest::mouseDClick(&shown.view, Qt::LeftButton, Qt::ShiftModifier,
                           shown.at("model/layers/1/mlp/op0"));
        QCOMPARE(requested(asked), QString("+model/layers/1 model/layers/2"));
        QTest::mouseDClick(&shown.view, Qt::LeftButton, {}, shown.at("model/layers/1/mlp/op0"));
        QCOMPARE(requested(asked), QString("+model/layers/1"));
        shown.view.setSelection(shown.ops({"model/layers/0/mlp/op1"}));
        QTest::keyClick(&shown.view, Qt::Key_Return, Qt::ShiftModifier);
        QCOMPARE(requested(asked), QString("+model/layers/0/attention model/layers/0/mlp"));
    }

    void modulesWithOtherOpsAreNotEqual() {
        Graph graph = Builder("other")
                          .add("in", "", {})
                          .add("a", "one", {"in"})
                          .add("b", "one", {"a"})
                          .add("c", "two", {"b"})
                          .add("d", "two/inner", {"c"})
                          .add("e", "three", {"d"})
                          .add("f", "three", {"e"})
                          .build();
        View shown({"one", "two", "three"}, std::move(graph));
        QSignalSpy asked(&shown.view, &GraphView::modulesRequested);
        QTest::mouseDClick(&shown.view, Qt::LeftButton, Qt::ShiftModifier, shown.at("a"));
        QCOMPARE(requested(asked), QString("+one three"));
        QTest::mouseDClick(&shown.view, Qt::LeftButton, Qt::ShiftModifier, shown.at("c"));
        QCOMPARE(requested(asked), QString("+two"));
    }

    void theMenuOpensEqualModules() {
        test::Workplace place;
        test::Shown shown;
        QVERIFY(shown.open(place.write("layered.json", layered(30, 3))));
        shown.document.setClosedModules({"model/layers/0", "model/layers/1", "model/layers/2"});
        QVERIFY(shown.waitUntilIdle());
        QAction* open = shown.action("Open equal modules");
        open->trigger();
        QVERIFY(shown.message().contains("No closed module is selected"));
        shown.document.setSelection({shown.op("model/layers/1/mlp/op0")});
        open->trigger();
        QVERIFY(shown.waitUntilIdle());
        const Closed& closed = shown.document.scene()->closed;
        QCOMPARE(closed.size(), std::size_t{6});
        QVERIFY(closed.contains("model/layers/0/attention") && closed.contains("model/layers/2/mlp"));
    }

    void opensAndClosesByMouseAndKeys() {
        View shown({"body"});
        QSignalSpy asked(&shown.view, &GraphView::modulesRequested);
        QTest::mouseDClick(&shown.view, Qt::LeftButton, {}, shown.at("c"));
        QCOMPARE(requested(asked), QString("+body"));

        // The op that it was about keeps its position.
        const QPointF before = shown.view.positionOf(shown.op("a"));
        const double scale = shown.view.scale();
        shown.view.setScene(sceneOf(*shown.problem, {"body/left", "body/right"}), shown.problem->machine);
        QVERIFY((shown.view.positionOf(shown.op("a")) - before).manhattanLength() < 1);
        QCOMPARE(shown.view.scale(), scale);

        shown.view.fit();
        QTest::mouseClick(&shown.view, Qt::LeftButton, {}, shown.at("d"));
        QVERIFY(shown.view.canOpenModules());
        QTest::keyClick(&shown.view, Qt::Key_Return);
        QCOMPARE(requested(asked), QString("+body/right"));
        QTest::keyClick(&shown.view, Qt::Key_Backspace);
        QCOMPARE(requested(asked), QString("-body"));
        QCOMPARE(asked.size(), 3);

        shown.view.setScene(sceneOf(*shown.problem, {}), shown.problem->machine);
        shown.view.fit();
        QTest::mouseClick(&shown.view, Qt::LeftButton, {}, shown.at("d"));
        QVERIFY(!shown.view.canOpenModules());
        QTest::keyClick(&shown.view, Qt::Key_Backspace);
        QCOMPARE(requested(asked), QString("-body/right"));
        // An op alone in its module, and an op in none: nothing to close.
        for (const char* name : {"e", "out"}) {
            QTest::mouseClick(&shown.view, Qt::LeftButton, {}, shown.at(name));
            QVERIFY(!shown.view.canCloseModules());
        }
    }

    // --- the window

    void largeNetworkInTheWindow() {
        const test::Workplace workplace;
        test::Shown shown;
        QVERIFY(shown.open(workplace.write("large.json", layered(150, 7)), "4x-v100-pcie"));
        QCOMPARE(shown.document.scene()->nodes.size(), std::size_t{151});
        QCOMPARE(shown.document.problem()->groups, 301U);
        QVERIFY2(shown.message().contains("placed in 301 groups"), qPrintable(shown.message()));

        shown.window.graphView()->setFocus();
        QTest::mouseClick(shown.window.graphView(), Qt::LeftButton, {},
                          shown.opInGraph("model/layers/0/mlp/op2"));
        QCOMPARE(shown.document.selection().size(), std::size_t{14});
        shown.action("Open module")->trigger();
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.scene()->nodes.size(), std::size_t{152});
        QCOMPARE(shown.document.selection().size(), std::size_t{14});
        shown.action("Close module")->trigger();
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.scene()->nodes.size(), std::size_t{151});
        shown.action("Close module")->trigger();
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.scene()->nodes.size(), std::size_t{2});  // all layers in one
        shown.action("Close all modules")->trigger();
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.scene()->nodes.size(), std::size_t{151});

        // Another machine keeps modules closed; a small network opened next is neither drawn nor moved by
        // modules.
        shown.document.setMachine("2x-v100-pcie");
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.scene()->nodes.size(), std::size_t{151});
        QCOMPARE(shown.document.problem()->groups, 301U);
        // The latest request counts, even if it equals the scene still shown.
        const ClosedScopes drawn = shown.document.scene()->closed;
        shown.document.setClosedModules({});
        shown.document.setClosedModules(drawn);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.scene()->closed == drawn);
        // Two consecutive requests are both fulfilled.
        shown.document.showModules({"model/layers/3"}, true);
        shown.document.showModules({"model/layers/5"}, true);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.scene()->nodes.size(), std::size_t{153});
        shown.document.showModules({"model/layers/3", "model/layers/5"}, false);
        QVERIFY(shown.waitUntilIdle());
        // A match is shown with its enclosing modules open.
        QTest::keyClick(&shown.window, Qt::Key_F, Qt::ControlModifier);
        QTest::keyClicks(QApplication::focusWidget(), "layers/7/mlp/op2");
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
        QVERIFY(shown.waitUntilIdle());
        const auto& scene = *shown.document.scene();
        const OpId match = shown.op("model/layers/7/mlp/op2");
        QCOMPARE(shown.document.selection(), OpList{match});
        QVERIFY(!scene.nodes[static_cast<std::size_t>(scene.node_of[match])].isModule());
        QVERIFY(
            QRectF(shown.window.graphView()->rect()).contains(shown.window.graphView()->positionOf(match)));
        QVERIFY(shown.open("alexnet"));
        QVERIFY(shown.document.scene()->closed.empty());
        QCOMPARE(shown.document.options().problem.grouping, GroupingOptions());
    }

    void chosenGroupingStays() {
        const test::Workplace workplace;
        test::Shown shown;
        JobOptions options;
        options.problem.grouping.rule = GroupingRule::colocation;
        QVERIFY(shown.open("alexnet"));
        shown.document.setOptions(options);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.open(workplace.write("large.json", layered(150, 7))));
        QCOMPARE(shown.document.options().problem.grouping.rule, GroupingRule::colocation);
        // With grouping none they move one by one.
        shown.document.setOptions({});
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.problem()->groups, 2101U);
        QVERIFY(shown.open("alexnet"));
        QVERIFY(shown.open(workplace.file("large.json")));
        QCOMPARE(shown.document.problem()->groups, 2101U);
    }

    void placementThatTakesGroupsApartIsShown() {
        const test::Workplace workplace;
        const QString network = workplace.write("large.json", layered(150, 7)),
                      file = workplace.file("placement.json");
        Placement placement;
        {
            test::Shown shown;
            JobOptions options;
            options.problem.grouping.rule = GroupingRule::colocation;
            QVERIFY(shown.open(network, "4x-v100-pcie"));
            shown.document.setOptions(options);  // requested, then withdrawn
            QVERIFY(shown.waitUntilIdle());
            shown.document.setOptions({});
            QVERIFY(shown.waitUntilIdle());
            QCOMPARE(shown.document.problem()->groups, 2101U);
            placement.assign(2101, 1);
            for (GroupId group = 0; group < placement.size(); group += 2) placement[group] = 2;
            shown.document.showPlacement(placement, "every other");
            shown.document.exportPlacement(file);
        }
        test::Shown shown;
        QVERIFY(shown.open(network, "4x-v100-pcie"));
        QCOMPARE(shown.document.problem()->groups, 301U);
        QVERIFY(shown.dropFile(file));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.problem()->groups, 2101U);
        QCOMPARE(shown.document.placement(), placement);
        QVERIFY2(shown.message().contains("splits groups"), qPrintable(shown.message()));
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestModules)
#include "tst_modules.moc"
