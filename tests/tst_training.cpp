// SPDX-License-Identifier: MIT
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <QtTest>

#include "core/graph/graph.hpp"
#include "core/graph/grouping.hpp"
#include "core/graph/training.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

namespace {

struct Layer {
    std::string name;
    std::string kind;
    double flops = 0;
    std::int64_t parameter_bytes = 0;
    std::vector<std::string> inputs = {};
    std::vector<std::int64_t> output_bytes = {8};
};

Op make_op(const Layer& layer) {
    Op op;
    op.name = layer.name;
    op.kind = layer.kind;
    op.flops = layer.flops;
    op.parameter_bytes = layer.parameter_bytes;
    for (const std::int64_t bytes : layer.output_bytes) {
        Tensor tensor;
        tensor.bytes = bytes;
        op.outputs.push_back(tensor);
    }
    return op;
}

Graph make_graph(const std::vector<Layer>& layers, Training training = Training::implicit) {
    GraphBuilder builder("hand", 4, training);
    for (const Layer& layer : layers) builder.add(make_op(layer), layer.inputs);
    return builder.build();
}

/// One line an op: "name (phase, FLOPs): inputs -> bytes of the outputs".
QStringList text(const Graph& graph, std::size_t from = 0) {
    QStringList lines;
    for (std::size_t id = from; id < graph.size(); ++id) {
        const Op& op = graph.op(static_cast<OpId>(id));
        std::ostringstream line;
        line << op.name << " (" << to_string(op.phase) << ", " << op.flops << "):";
        for (const TensorRef& input : op.inputs) {
            line << ' ' << graph.op(input.op).name;
            if (input.output > 0) line << ':' << input.output;
        }
        line << " ->";
        for (const Tensor& output : op.outputs) line << ' ' << output.bytes;
        lines << QString::fromStdString(line.str());
    }
    return lines;
}

bool same(const Graph& a, const Graph& b) {
    return a.training() == b.training() && text(a) == text(b);
}

/// The chain that most tests vary: input -> linear a -> relu b -> loss.
std::vector<Layer> chain() {
    return {{"input", "input", 0, 0, {}, {64}},
            {"a", "linear", 100, 40, {"input"}, {16}},
            {"b", "relu", 5, 0, {"a"}, {16}},
            {"loss", "cross_entropy", 3, 0, {"b"}, {4}}};
}

const Op& find(const Graph& graph, const std::string& name) {
    return graph.op(graph.find(name).value());
}

}  // namespace

class TestTraining : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void chainByHand();
    void diamondByHand();
    void convolutionInTheMiddle();
    void keptByKind_data();
    void keptByKind();
    void gradientsOfSeveralOutputs();
    void inputReadTwice();
    void consumerWithoutGradient();
    void onlyConsumersWithoutGradient();
    void sinkThatHasNoGradient();
    void sinkWithoutOutputs();
    void sinkWithParameters();
    void nothingToTrain();
    void backwardFlopsAreSplit();
    void measuredTimesAreSplit();
    void derivedOpsDescribeTheirForward();
    void updateCountsParameters();
    void forwardOpsStay();
    void namesThatLookLikeOutputs();
    void explicitAndNoneStay();
    void nameTaken();
    void derivedOpsJoinTheirForward();
    void inferenceKeepsForwardOps();
    void inferenceOfImplicitTraining();
};

// Nothing flows to the input, so a has no data gradient. a: 40 bytes are 10 parameters, 20 FLOP an update.
void TestTraining::chainByHand() {
    const Graph graph = training_graph(make_graph(chain()));
    QVERIFY(graph.training() == Training::explicit_);
    QVERIFY(graph.name() == "hand");
    QCOMPARE(graph.batch(), 4);
    QCOMPARE(
        text(graph),
        (QStringList{"input (forward, 0): -> 64", "a (forward, 100): input -> 16", "b (forward, 5): a -> 16", "loss (forward, 3): b -> 4",
                     "loss/backward (backward, 3): loss b -> 16", "b/backward (backward, 5): loss/backward b -> 16",
                     "a/weight_gradient (backward, 100): b/backward input -> 40", "a/update (update, 20): a/weight_gradient ->"}));
}

// stem -> {left, right} -> join: join passes a gradient to each side, stem sums those of both.
void TestTraining::diamondByHand() {
    const Graph graph = training_graph(make_graph({{"input", "input", 0, 0, {}, {64}},
                                                   {"stem", "linear", 100, 40, {"input"}, {16}},
                                                   {"left", "relu", 5, 0, {"stem"}, {16}},
                                                   {"right", "conv2d", 200, 80, {"stem"}, {24}},
                                                   {"join", "cat", 0, 0, {"left", "right"}, {40}}}));
    QCOMPARE(text(graph, 5),
             (QStringList{"join/backward (backward, 0): join -> 16 24", "right/backward (backward, 200): join/backward:1 stem -> 16",
                          "right/weight_gradient (backward, 200): join/backward:1 stem -> 80",
                          "right/update (update, 40): right/weight_gradient ->", "left/backward (backward, 5): join/backward left -> 16",
                          "stem/weight_gradient (backward, 100): left/backward right/backward input -> 40",
                          "stem/update (update, 20): stem/weight_gradient ->"}));
}

void TestTraining::convolutionInTheMiddle() {
    const Graph graph = training_graph(make_graph({{"input", "input", 0, 0, {}, {64}},
                                                   {"first", "conv2d", 100, 40, {"input"}, {16}},
                                                   {"second", "conv2d", 300, 80, {"first"}, {24}}}));
    QCOMPARE(text(graph, 3), (QStringList{"second/backward (backward, 300): second first -> 16",
                                          "second/weight_gradient (backward, 300): second first -> 80",
                                          "second/update (update, 40): second/weight_gradient ->",
                                          "first/weight_gradient (backward, 100): second/backward input -> 40",
                                          "first/update (update, 20): first/weight_gradient ->"}));
}

void TestTraining::keptByKind_data() {
    QTest::addColumn<QString>("kind");
    QTest::addColumn<QString>("kept");
    const auto row = [](const char* kind, const char* kept) { QTest::newRow(kind) << kind << kept; };
    row("relu", " x");
    row("softmax", " x");
    row("gelu", " a other");
    row("max_pool2d", " a other");
    row("matmul", " a other");
    row("add", "");
    row("cat", "");
    row("avg_pool2d", "");
    row("flatten", "");
    row("lstm_cell", " a other x");
    row("no_such_kind", " a other x");
}

void TestTraining::keptByKind() {
    QFETCH(QString, kind);
    QFETCH(QString, kept);
    const Graph graph = training_graph(make_graph({{"other", "input"},
                                                   {"a", "linear", 0, 40, {"other"}},
                                                   {"x", kind.toStdString(), 5, 0, {"a", "other"}},
                                                   {"loss", "cross_entropy", 0, 0, {"x"}}}));
    QCOMPARE(text(graph, 5).front(), "x/backward (backward, 5): loss/backward" + kept + " -> 8");
}

// v reads output 1 of split twice; w reads it too, and output 0 alone. split sums what all four reads give back.
void TestTraining::gradientsOfSeveralOutputs() {
    const Graph graph = training_graph(make_graph({{"p", "linear", 10, 8, {}, {8}},
                                                   {"split", "split", 0, 0, {"p"}, {3, 5}},
                                                   {"v", "add", 1, 0, {"split:1", "split:1"}, {5}},
                                                   {"w", "cat", 2, 0, {"split:1", "v", "split:0"}, {13}}}));
    QCOMPARE(text(graph, 4),
             (QStringList{"w/backward (backward, 2): w -> 5 5 3", "v/backward (backward, 1): w/backward:1 -> 5 5",
                          "split/backward (backward, 0): v/backward v/backward:1 w/backward w/backward:2 -> 8",
                          "p/weight_gradient (backward, 10): split/backward -> 8", "p/update (update, 4): p/weight_gradient ->"}));
}

void TestTraining::inputReadTwice() {
    const Graph graph = training_graph(make_graph({{"p", "linear", 10, 8}, {"square", "mul", 1, 0, {"p", "p"}}}));
    QCOMPARE(text(graph, 2), (QStringList{"square/backward (backward, 1): square p -> 8 8",
                                          "p/weight_gradient (backward, 10): square/backward square/backward:1 -> 8",
                                          "p/update (update, 4): p/weight_gradient ->"}));
}

void TestTraining::consumerWithoutGradient() {
    std::vector<Layer> layers = chain();
    layers.push_back({"top", "argmax", 1, 0, {"b"}});
    layers.push_back({"correct", "eq", 1, 0, {"top"}});
    const Graph graph = training_graph(make_graph(layers));
    QCOMPARE(text(graph, 6), text(training_graph(make_graph(chain())), 4));
}

void TestTraining::onlyConsumersWithoutGradient() {
    const Graph forward = make_graph({{"a", "linear", 10, 8}, {"b", "relu", 1, 0, {"a"}}, {"top", "argmax", 1, 0, {"b"}}});
    QCOMPARE(training_graph(forward).size(), forward.size());
}

void TestTraining::sinkThatHasNoGradient() {
    const Graph forward = make_graph({{"a", "linear", 10, 8}, {"top", "argmax", 1, 0, {"a"}}});
    QCOMPARE(text(training_graph(forward)), text(forward));
}

// Its backward has no output of the forward to wait for, so it waits for the inputs.
void TestTraining::sinkWithoutOutputs() {
    const Graph graph = training_graph(make_graph({{"a", "linear", 10, 8}, {"print", "add", 1, 0, {"a"}, {}}}));
    QCOMPARE(text(graph, 2).front(), QStringLiteral("print/backward (backward, 1): a -> 8"));
}

void TestTraining::sinkWithParameters() {
    const Graph graph = training_graph(make_graph({{"input", "input"}, {"a", "linear", 10, 8, {"input"}}}));
    QCOMPARE(text(graph, 2), (QStringList{"a/weight_gradient (backward, 10): a input -> 8", "a/update (update, 4): a/weight_gradient ->"}));
}

void TestTraining::nothingToTrain() {
    const Graph forward = make_graph({{"input", "input"}, {"a", "relu", 1, 0, {"input"}}, {"b", "add", 1, 0, {"a", "input"}}});
    QCOMPARE(text(training_graph(forward)), text(forward));
}

void TestTraining::backwardFlopsAreSplit() {
    GraphBuilder builder("flops");
    builder.add(make_op({"input", "input"}), {});
    for (const auto& [name, input] : {std::pair("first", "input"), std::pair("second", "first")}) {
        Op op = make_op({name, "conv2d", 100, 40});
        op.backward_flops = 500;
        builder.add(op, {input});
    }
    Op relu = make_op({"relu", "relu", 10});
    relu.backward_flops = 30;
    builder.add(relu, {"second"});
    const Graph graph = training_graph(builder.build());
    QCOMPARE(find(graph, "relu/backward").flops, 30.0);
    QCOMPARE(find(graph, "second/backward").flops, 250.0);
    QCOMPARE(find(graph, "second/weight_gradient").flops, 250.0);
    QCOMPARE(find(graph, "first/weight_gradient").flops, 500.0);
    QVERIFY(!find(graph, "second/backward").backward_flops);
}

void TestTraining::measuredTimesAreSplit() {
    GraphBuilder builder("times");
    builder.add(make_op({"input", "input"}), {});
    for (const auto& [name, input] : {std::pair("first", "input"), std::pair("second", "first")}) {
        Op op = make_op({name, "conv2d", 100, 40});
        op.time_s["V100"] = {0.001, 0.004};
        op.time_s["P100"] = {0.002, std::nullopt};
        builder.add(op, {input});
    }
    const Graph graph = training_graph(builder.build());
    const MeasuredTime half{std::nullopt, 0.002}, whole{std::nullopt, 0.004};
    QVERIFY(find(graph, "second/backward").time_s.at("V100") == half);
    QVERIFY(find(graph, "second/weight_gradient").time_s.at("V100") == half);
    QVERIFY(find(graph, "first/weight_gradient").time_s.at("V100") == whole);
    QVERIFY(!find(graph, "second/backward").time_s.contains("P100"));
    QVERIFY(find(graph, "second/update").time_s.empty());
}

void TestTraining::derivedOpsDescribeTheirForward() {
    GraphBuilder builder("labels");
    builder.add(make_op({"p", "linear", 1, 4}), {});
    Op op = make_op({"conv", "conv2d", 100, 40});
    op.scope = "block/branch";
    op.colocate = "together";
    op.devices = {"gpu", "cpu:0"};
    op.attributes = {{"kernel", "[3,3]"}};
    builder.add(op, {"p"});
    const Graph graph = training_graph(builder.build());
    for (const char* name : {"conv/backward", "conv/weight_gradient", "conv/update"}) {
        const Op& derived = find(graph, name);
        QVERIFY(derived.kind == "conv2d");
        QVERIFY(derived.scope == "block/branch");
        QVERIFY(derived.colocate.empty());
        QVERIFY(derived.devices == (std::vector<std::string>{"gpu", "cpu:0"}));
        QCOMPARE(derived.forward_op, OpId{1});
        QCOMPARE(derived.parameter_bytes, 0);
    }
    QVERIFY(find(graph, "conv/backward").attributes == op.attributes);
    QVERIFY(find(graph, "conv/weight_gradient").attributes == op.attributes);
    QVERIFY(find(graph, "conv/update").phase == Phase::update);
}

// 40 bytes of half precision are 20 parameters.
void TestTraining::updateCountsParameters() {
    GraphBuilder builder("half");
    Op op = make_op({"p", "linear", 1, 40});
    op.outputs[0].dtype = DType::float16;
    builder.add(op, {});
    const Graph graph = training_graph(builder.build());
    QCOMPARE(find(graph, "p/update").flops, 40.0);
    QVERIFY(find(graph, "p/weight_gradient").outputs[0].dtype == DType::float16);
}

void TestTraining::forwardOpsStay() {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const Graph forward = test::random_graph(seed, 100, 3, Training::implicit);
        const Graph graph = training_graph(forward);
        QVERIFY(graph.size() > forward.size());
        QCOMPARE(text(graph).first(static_cast<qsizetype>(forward.size())), text(forward));
        for (auto id = static_cast<OpId>(forward.size()); id < graph.size(); ++id) {
            QVERIFY(graph.op(id).forward_op < forward.size());
            QVERIFY(graph.op(id).phase != Phase::forward);
            QVERIFY(!graph.op(id).inputs.empty());
        }
    }
}

// The op called "a:1" must not be taken for output 1 of a.
void TestTraining::namesThatLookLikeOutputs() {
    const Graph graph = training_graph(make_graph(
        {{"p", "linear", 1, 4}, {"a", "split", 0, 0, {"p"}, {3, 5}}, {"a:1", "relu", 0, 0, {"p"}}, {"b", "cat", 0, 0, {"a:1", "a"}}}));
    QVERIFY(graph.op(3).inputs == (std::vector<TensorRef>{{2, 0}, {1, 0}}));
    const Graph inference = inference_graph(
        make_graph({{"a:1", "input"}, {"a", "split", 0, 0, {"a:1"}, {3, 5}}, {"a:0", "input"}, {"b", "relu", 0, 0, {"a:0"}}}));
    QVERIFY(inference.op(3).inputs == (std::vector<TensorRef>{{2, 0}}));
}

void TestTraining::explicitAndNoneStay() {
    for (const Training training : {Training::explicit_, Training::none}) {
        const Graph graph = make_graph(chain(), training);
        QVERIFY(same(training_graph(graph), graph));
    }
    const Graph once = training_graph(make_graph(chain()));
    QVERIFY(same(training_graph(once), once));
}

void TestTraining::nameTaken() {
    std::vector<Layer> layers = chain();
    layers.push_back({"b/backward", "input"});
    try {
        training_graph(make_graph(layers));
    } catch (const GraphError& error) {
        QVERIFY(error.op() == "b/backward");
        return;
    }
    QFAIL("accepted");
}

void TestTraining::derivedOpsJoinTheirForward() {
    const Graph graph = training_graph(make_graph(chain()));
    const Grouping grouping = group_by_constraints(graph);
    QCOMPARE(grouping.members, (std::vector<std::vector<OpId>>{{0}, {1, 6, 7}, {2, 5}, {3, 4}}));
}

void TestTraining::inferenceKeepsForwardOps() {
    GraphBuilder builder("mixed", 2, Training::explicit_);
    builder.add(make_op({"a", "linear", 1, 4}), {});
    Op update = make_op({"a/update", "linear"});
    update.phase = Phase::update;
    update.forward_op = 0;
    builder.add(update, {"a"});
    builder.add(make_op({"b", "relu", 1}), {"a/update", "a"});
    const Graph graph = inference_graph(builder.build());
    QVERIFY(graph.training() == Training::none);
    QCOMPARE(graph.batch(), 2);
    QCOMPARE(text(graph), (QStringList{"a (forward, 1): -> 8", "b (forward, 1): a -> 8"}));
}

void TestTraining::inferenceOfImplicitTraining() {
    const Graph forward = make_graph(chain());
    const Graph graph = inference_graph(forward);
    QVERIFY(graph.training() == Training::none);
    QCOMPARE(text(graph), text(forward));
    QCOMPARE(text(inference_graph(training_graph(forward))), text(forward));
}

QTEST_GUILESS_MAIN(TestTraining)
#include "tst_training.moc"
