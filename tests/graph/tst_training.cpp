// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <QtTest>

#include "core/graph/graph.hpp"
#include "core/graph/grouping.hpp"
#include "core/graph/networks.hpp"
#include "core/graph/training.hpp"
#include "core/sim/simulator.hpp"
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

/// One line per op: "name (phase, FLOPs): inputs -> bytes of the outputs".
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

/// A random network of cheap and costly ops, views, sources and parameters.
Graph mixed_graph(std::uint64_t seed) {
    const Graph random = test::random_graph(seed, 100, 3, Training::implicit);
    GraphBuilder builder("mixed");
    for (OpId id = 0; id < random.size(); ++id) {
        Op op = random.op(id);
        constexpr std::array kKinds{"relu",       "conv2d",    "add",  "view",
                                    "layer_norm", "lstm_cell", "gelu", "of_its_own"};
        op.kind = op.inputs.empty() ? "parameter" : kKinds[(id * 7 + seed) % kKinds.size()];
        if (op.inputs.empty()) op.parameter_bytes = op.outputs[0].bytes;
        builder.add(std::move(op));
    }
    return builder.build();
}

const Op& find(const Graph& graph, std::string_view name) {
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
    void attentionKeepsItsSteps_data();
    void attentionKeepsItsSteps();
    void gradientsOfSeveralOutputs();
    void inputReadTwice();
    void lossesAreSummed();
    void parametersReadByOneOp();
    void parametersReadBySeveralOps();
    void gradientsOfTables();
    void parametersThatNobodyTrains();
    void gradientsOfProducts_data();
    void gradientsOfProducts();
    void wholeNumbersCarryNoGradient();
    void viewsOfParts_data();
    void viewsOfParts();
    void consumerWithoutGradient();
    void onlyConsumersWithoutGradient();
    void sinkThatHasNoGradient();
    void sinkWithoutOutputs();
    void sinkWithParameters();
    void nothingToTrain();
    void backwardFlopsAreSplit();
    void measuredTimesAreSplit();
    void measuredSumOfGradients();
    void derivedOpsDescribeTheirForward();
    void updateCountsParameters();
    void forwardOpsStay();
    void namesThatLookLikeOutputs();
    void explicitAndNoneStay();
    void nameTaken();
    void derivedOpsJoinTheirForward();
    void segmentsByHand();
    void segmentsAreCutWhereLittleCrosses();
    void cheapByHand();
    void cheapKeepsResidualConnections();
    void recomputedOpsDescribeTheirForward();
    void recomputationIsSound_data();
    void recomputationIsSound();
    void segmentsSaveMemory();
    void recomputationRefused();
    void inferenceKeepsForwardOps();
    void inferenceOfImplicitTraining();
};

// The input needs no gradient, so a has no data gradient. a: 40 bytes are 10 parameters, 20 FLOP per update.
void TestTraining::chainByHand() {
    const Graph graph = training_graph(make_graph(chain()));
    QVERIFY(graph.training() == Training::explicit_);
    QVERIFY(graph.name() == "hand");
    QCOMPARE(graph.batch(), 4);
    QCOMPARE(text(graph), (QStringList{"input (forward, 0): -> 64", "a (forward, 100): input -> 16",
                                       "b (forward, 5): a -> 16", "loss (forward, 3): b -> 4",
                                       "loss/backward (backward, 3): loss b -> 16",
                                       "b/backward (backward, 5): loss/backward b -> 16",
                                       "a/weight_gradient (backward, 100): b/backward input -> 40",
                                       "a/update (update, 20): a/weight_gradient ->"}));
}

// stem -> {left, right} -> join: join passes a gradient to each side, and stem adds those of both.
void TestTraining::diamondByHand() {
    const Graph graph = training_graph(make_graph({{"input", "input", 0, 0, {}, {64}},
                                                   {"stem", "linear", 100, 40, {"input"}, {16}},
                                                   {"left", "relu", 5, 0, {"stem"}, {16}},
                                                   {"right", "conv2d", 200, 80, {"stem"}, {24}},
                                                   {"join", "cat", 0, 0, {"left", "right"}, {40}}}));
    QCOMPARE(text(graph, 5),
             (QStringList{"join/backward (backward, 0): join -> 16 24",
                          "right/backward (backward, 200): join/backward:1 -> 16",
                          "right/weight_gradient (backward, 200): join/backward:1 stem -> 80",
                          "right/update (update, 40): right/weight_gradient ->",
                          "left/backward (backward, 5): join/backward left -> 16",
                          "stem/weight_gradient (backward, 100): left/backward right/backward input -> 40",
                          "stem/update (update, 20): stem/weight_gradient ->"}));
}

void TestTraining::convolutionInTheMiddle() {
    const Graph graph = training_graph(make_graph({{"input", "input", 0, 0, {}, {64}},
                                                   {"first", "conv2d", 100, 40, {"input"}, {16}},
                                                   {"second", "conv2d", 300, 80, {"first"}, {24}}}));
    QCOMPARE(text(graph, 3),
             (QStringList{"second/backward (backward, 300): second -> 16",
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
    // A mask is an output of its own.
    row("max_pool2d", " a other x:1");
    row("dropout", " x:1");
    // Of two factors the one that has no gradient is enough.
    row("matmul", " other");
    row("mul", " other");
    row("div", " other");
    row("where", " a");
    row("masked_fill", " other");
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

void TestTraining::attentionKeepsItsSteps_data() {
    QTest::addColumn<QString>("attributes");
    QTest::addColumn<int>("bytes");
    // Queries and mixed values of 2 x 3 tokens, keys and values of 5 x 3, of 8 features; 4 heads.
    constexpr int kProjected = 4 * 8 * (2 * 6 + 2 * 15), kScores = 4 * 6 * 5;
    QTest::newRow("scores") << "" << kProjected + 4 * kScores;
    QTest::newRow("with dropout") << "dropout" << kProjected + (4 + 4 + 1) * kScores;
    QTest::newRow("in one kernel") << "fused" << kProjected + 4 * 4 * 6;
}

void TestTraining::attentionKeepsItsSteps() {
    QFETCH(QString, attributes);
    QFETCH(int, bytes);
    GraphBuilder builder("attention", 3, Training::implicit);
    Op query, key, attention, loss;
    query.name = "query";
    query.kind = key.kind = "input";
    query.outputs = {make_tensor({2, 3, 8})};
    key.name = "key";
    key.outputs = {make_tensor({5, 3, 8})};
    attention.name = "attention";
    attention.kind = "multi_head_attention_forward";
    attention.inputs = {{0, 0}, {1, 0}, {1, 0}};
    attention.outputs = {make_tensor({2, 3, 8})};
    attention.parameter_bytes = 4;
    attention.attributes["heads"] = "4";
    if (!attributes.isEmpty()) attention.attributes[attributes.toStdString()] = "1";
    loss.name = "loss";
    loss.kind = "sum";
    loss.inputs = {{2, 0}};
    loss.outputs = {make_tensor({})};
    for (const Op& op : {query, key, attention, loss}) builder.add(op);
    const Graph graph = training_graph(builder.build());
    QCOMPARE(text(graph).at(2), "attention (forward, 0): query key key -> 192 " + QString::number(bytes));
    const OpId gradient = *graph.find("attention/weight_gradient");
    QVERIFY(std::ranges::find(graph.op(gradient).inputs, TensorRef{2, 1}) != graph.op(gradient).inputs.end());
}

// v reads output 1 of split twice; w reads it too, and it alone reads output 0. split adds the gradients of
// all four reads.
// back.
void TestTraining::gradientsOfSeveralOutputs() {
    const Graph graph = training_graph(make_graph({{"p", "linear", 10, 8, {}, {8}},
                                                   {"split", "split", 0, 0, {"p"}, {3, 5}},
                                                   {"v", "add", 1, 0, {"split:1", "split:1"}, {5}},
                                                   {"w", "cat", 2, 0, {"split:1", "v", "split:0"}, {13}}}));
    QCOMPARE(
        text(graph, 4),
        (QStringList{"w/backward (backward, 2): w -> 5 5 3", "v/backward (backward, 1): w/backward:1 -> 5 5",
                     "split/backward (backward, 0): v/backward v/backward:1 w/backward w/backward:2 -> 8",
                     "p/weight_gradient (backward, 10): split/backward -> 8",
                     "p/update (update, 4): p/weight_gradient ->"}));
}

// Two losses of one number each: the backward of each starts when both are there. Larger results are no
// losses.
void TestTraining::lossesAreSummed() {
    const auto backward_of = [](int bytes) {
        return text(training_graph(make_graph({{"p", "linear", 10, 8},
                                               {"first", "cross_entropy", 1, 0, {"p"}, {bytes}},
                                               {"second", "cross_entropy", 1, 0, {"p"}, {bytes}}})),
                    3);
    };
    QCOMPARE(backward_of(4).mid(0, 2), (QStringList{"second/backward (backward, 1): second first p -> 8",
                                                    "first/backward (backward, 1): first second p -> 8"}));
    QCOMPARE(backward_of(40).mid(0, 2), (QStringList{"second/backward (backward, 1): second p -> 8",
                                                     "first/backward (backward, 1): first p -> 8"}));
}

void TestTraining::inputReadTwice() {
    const Graph graph =
        training_graph(make_graph({{"p", "linear", 10, 8}, {"square", "mul", 1, 0, {"p", "p"}}}));
    QCOMPARE(text(graph, 2),
             (QStringList{"square/backward (backward, 1): square p -> 8 8",
                          "p/weight_gradient (backward, 10): square/backward square/backward:1 -> 8",
                          "p/update (update, 4): p/weight_gradient ->"}));
}

void TestTraining::parametersReadByOneOp() {
    const Graph graph = training_graph(make_graph(
        {{"input", "input"}, {"w", "parameter", 0, 40, {}, {40}}, {"y", "linear", 100, 0, {"input", "w"}}}));
    QCOMPARE(text(graph, 3), (QStringList{"y/backward (backward, 100): y input -> 40",
                                          "w/update (update, 20): y/backward ->"}));
}

// Two steps share w, the second through a view of it; the last reads it twice. All four gradients are added:
// 3 x 10 FLOP.
void TestTraining::parametersReadBySeveralOps() {
    const Graph forward = make_graph({{"input", "input"},
                                      {"w", "parameter", 0, 40, {}, {40}},
                                      {"turned", "transpose", 0, 0, {"w"}, {40}},
                                      {"first", "linear", 100, 0, {"input", "w"}, {16}},
                                      {"second", "linear", 100, 0, {"first", "turned"}, {16}},
                                      {"both", "bmm", 200, 0, {"w", "w"}, {40}},
                                      {"loss", "cat", 0, 0, {"second", "both"}, {56}}});
    const Graph graph = training_graph(forward);
    QCOMPARE(text(graph, 7),
             (QStringList{"loss/backward (backward, 0): loss -> 16 40",
                          "both/backward (backward, 200): loss/backward:1 w -> 40 40",
                          "second/backward (backward, 200): loss/backward first turned -> 16 40",
                          "first/backward (backward, 100): second/backward input -> 40",
                          "turned/backward (backward, 0): second/backward:1 -> 40",
                          "w/weight_gradient#1 (backward, 10): both/backward:1 both/backward -> 40",
                          "w/weight_gradient#2 (backward, 10): w/weight_gradient#1 first/backward -> 40",
                          "w/weight_gradient (backward, 10): w/weight_gradient#2 turned/backward -> 40",
                          "w/update (update, 20): w/weight_gradient ->"}));
    QVERIFY(find(graph, "w/weight_gradient").kind == "add");
    QCOMPARE(find(graph, "w/weight_gradient").forward_op, OpId{1});
    // Or all at once, in the order of the readers.
    const Graph at_once = training_graph(forward, Recomputation::none, SharedGradients::at_once);
    const Op& sum = find(at_once, "w/weight_gradient");
    QCOMPARE(sum.inputs.size(), std::size_t{4});
    QCOMPARE(at_once.op(sum.inputs.front().op).name, std::string("turned/backward"));
    QCOMPARE(sum.flops, 30.0);
    QVERIFY(!at_once.find("w/weight_gradient#1"));
    QCOMPARE(group_by_constraints(graph).members[1].size(), std::size_t{5});
}

/// The gradient of a table that is read elsewhere, too, needs which rows were read, not what is in them.
void TestTraining::gradientsOfTables() {
    const Graph graph = training_graph(make_graph({{"rows", "input", 0, 0, {}, {8}},
                                                   {"table", "parameter", 0, 40, {}, {40}},
                                                   {"look up", "embedding", 0, 0, {"table", "rows"}, {16}},
                                                   {"head", "linear", 100, 0, {"look up", "table"}, {16}}}));
    const Op& backward = find(graph, "look up/backward");
    QCOMPARE(backward.inputs.size(), 2u);
    QCOMPARE(graph.op(backward.inputs[0].op).name, std::string("head/backward"));
    QCOMPARE(graph.op(backward.inputs[1].op).name, std::string("rows"));
}

void TestTraining::parametersThatNobodyTrains() {
    const Graph forward = make_graph({{"w", "parameter", 0, 40, {}, {40}},
                                      {"unread", "parameter", 0, 40},
                                      {"top", "argmax", 1, 0, {"w"}}});
    QCOMPARE(text(training_graph(forward)), text(forward));
}

void TestTraining::gradientsOfProducts_data() {
    QTest::addColumn<QString>("kind");
    QTest::addColumn<QStringList>("inputs");
    QTest::addColumn<double>("times");
    const auto row = [](const char* kind, const QStringList& inputs, double times) {
        QTest::addRow("%s(%s)", kind, qPrintable(inputs.join(','))) << QString(kind) << inputs << times;
    };
    row("matmul", {"a", "input"}, 1);
    row("matmul", {"a", "b"}, 2);
    row("matmul", {"a", "a"}, 2);
    row("einsum", {"a", "b", "b"}, 2);
    row("scaled_dot_product_attention", {"a", "b", "b"}, 2);
    row("multi_head_attention_forward", {"a", "a", "a"}, 1);
    row("conv2d", {"a", "w"}, 2);
    row("linear", {"input", "w", "bias"}, 1);
    row("linear", {"a", "w", "bias"}, 2);
    row("lstm_cell", {"a", "b", "b"}, 1);
    row("lstm_cell", {"a", "b", "b", "w", "bias"}, 2);
    row("add", {"a", "b"}, 1);
    row("layer_norm", {"a", "w", "bias"}, 2);
}

void TestTraining::gradientsOfProducts() {
    QFETCH(QString, kind);
    QFETCH(QStringList, inputs);
    QFETCH(double, times);
    std::vector<std::string> names;
    for (const QString& input : inputs) names.push_back(input.toStdString());
    const Graph graph = training_graph(make_graph({{"input", "input"},
                                                   {"w", "parameter", 0, 8},
                                                   {"bias", "parameter", 0, 8},
                                                   {"a", "linear", 0, 40, {"input"}},
                                                   {"b", "linear", 0, 40, {"input"}},
                                                   {"x", kind.toStdString(), 7, 0, names}}));
    QCOMPARE(find(graph, "x/backward").flops, 7 * times);
}

void TestTraining::wholeNumbersCarryNoGradient() {
    GraphBuilder builder("whole");
    builder.add(make_op({"p", "linear", 10, 8}), {});
    Op best = make_op({"best", "topk", 1, 0, {}, {24, 8}});
    best.outputs[0].dtype = DType::int64;
    builder.add(best, {"p"});
    builder.add(make_op({"rows", "index_select", 1}), {"p", "best"});
    builder.add(make_op({"y", "add", 1}), {"rows", "best:1"});
    const Graph graph = training_graph(builder.build());
    QCOMPARE(text(graph, 4),
             (QStringList{"y/backward (backward, 1): y -> 8 8",
                          "rows/backward (backward, 1): y/backward best -> 8",
                          "best/backward (backward, 1): y/backward:1 best best:1 -> 8",
                          "p/weight_gradient (backward, 10): best/backward rows/backward -> 8",
                          "p/update (update, 4): p/weight_gradient ->"}));
}

void TestTraining::viewsOfParts_data() {
    QTest::addColumn<qint64>("bytes");
    for (const char* part : {"diagonal", "narrow", "select", "slice"}) QTest::newRow(part) << qint64{8};
    for (const char* whole : {"flatten", "relu"}) QTest::newRow(whole) << qint64{24};
}

// The gradient of a part is sent without the zeros around it.
void TestTraining::viewsOfParts() {
    QFETCH(qint64, bytes);
    GraphBuilder builder("parts");
    builder.add(make_op({"p", "linear", 10, 8, {}, {24}}), {});
    builder.add(make_op({"part", QTest::currentDataTag(), 0, 0, {}, {8}}), {"p"});
    const Graph graph = training_graph(builder.build());
    QCOMPARE(find(graph, "part/backward").outputs.front().bytes, bytes);
}

void TestTraining::consumerWithoutGradient() {
    std::vector<Layer> layers = chain();
    layers.push_back({"top", "argmax", 1, 0, {"b"}});
    layers.push_back({"correct", "eq", 1, 0, {"top"}});
    const Graph graph = training_graph(make_graph(layers));
    QCOMPARE(text(graph, 6), text(training_graph(make_graph(chain())), 4));
}

void TestTraining::onlyConsumersWithoutGradient() {
    const Graph forward =
        make_graph({{"a", "linear", 10, 8}, {"b", "relu", 1, 0, {"a"}}, {"top", "argmax", 1, 0, {"b"}}});
    QCOMPARE(training_graph(forward).size(), forward.size());
}

void TestTraining::sinkThatHasNoGradient() {
    const Graph forward = make_graph({{"a", "linear", 10, 8}, {"top", "argmax", 1, 0, {"a"}}});
    QCOMPARE(text(training_graph(forward)), text(forward));
}

// Its backward op has no forward output to wait for, so it waits for the inputs.
void TestTraining::sinkWithoutOutputs() {
    const Graph graph =
        training_graph(make_graph({{"a", "linear", 10, 8}, {"print", "add", 1, 0, {"a"}, {}}}));
    QCOMPARE(text(graph, 2).front(), QStringLiteral("print/backward (backward, 1): a -> 8"));
}

void TestTraining::sinkWithParameters() {
    const Graph graph = training_graph(make_graph({{"input", "input"}, {"a", "linear", 10, 8, {"input"}}}));
    QCOMPARE(text(graph, 2), (QStringList{"a/weight_gradient (backward, 10): a input -> 8",
                                          "a/update (update, 4): a/weight_gradient ->"}));
}

void TestTraining::nothingToTrain() {
    const Graph forward =
        make_graph({{"input", "input"}, {"a", "relu", 1, 0, {"input"}}, {"b", "add", 1, 0, {"a", "input"}}});
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

// What was measured of a parameter is the time to sum the gradients of its readers.
void TestTraining::measuredSumOfGradients() {
    GraphBuilder builder("sum");
    Op weight = make_op({"w", "parameter", 0, 40, {}, {40}});
    weight.time_s["V100"] = {std::nullopt, 0.004};
    builder.add(weight, {});
    builder.add(make_op({"first", "tanh", 1, 0, {}, {40}}), {"w"});
    builder.add(make_op({"second", "mul", 1, 0, {}, {40}}), {"first", "w"});
    const Graph graph = training_graph(builder.build());
    QVERIFY(find(graph, "w/weight_gradient").time_s.at("V100") == (MeasuredTime{std::nullopt, 0.004}));
    QVERIFY(find(graph, "w/update").time_s.empty());
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

// The op called "a:1" must not be mistaken for output 1 of a.
void TestTraining::namesThatLookLikeOutputs() {
    const Graph graph = training_graph(make_graph({{"p", "linear", 1, 4},
                                                   {"a", "split", 0, 0, {"p"}, {3, 5}},
                                                   {"a:1", "relu", 0, 0, {"p"}},
                                                   {"b", "cat", 0, 0, {"a:1", "a"}}}));
    QVERIFY(graph.op(3).inputs == (std::vector<TensorRef>{{2, 0}, {1, 0}}));
    const Graph inference = inference_graph(make_graph({{"a:1", "input"},
                                                        {"a", "split", 0, 0, {"a:1"}, {3, 5}},
                                                        {"a:0", "input"},
                                                        {"b", "relu", 0, 0, {"a:0"}}}));
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

// Nine ops, three segments. The ends c and f and all of the last segment are kept; a, b, d and e run again.
void TestTraining::segmentsByHand() {
    std::vector<Layer> layers{{"input", "input"}, {"a", "linear", 100, 40, {"input"}}};
    for (const char* name : {"b", "c", "d", "e", "f", "g", "h"})
        layers.push_back({name, "tanh", 5, 0, {layers.back().name}});
    layers.push_back({"loss", "mse_loss", 3, 0, {"h"}, {4}});
    const Graph graph = training_graph(make_graph(layers), Recomputation::segments);
    QCOMPARE(
        text(graph, 10),
        (QStringList{
            "loss/backward (backward, 3): loss h -> 8", "h/backward (backward, 5): loss/backward h -> 8",
            "g/backward (backward, 5): h/backward g -> 8 0", "d/recompute (backward, 5): c g/backward:1 -> 8",
            "e/recompute (backward, 5): d/recompute -> 8", "f/backward (backward, 5): g/backward f -> 8",
            "e/backward (backward, 5): f/backward e/recompute -> 8",
            "d/backward (backward, 5): e/backward d/recompute -> 8 0",
            "a/recompute (backward, 100): input d/backward:1 -> 8",
            "b/recompute (backward, 5): a/recompute -> 8", "c/backward (backward, 5): d/backward c -> 8",
            "b/backward (backward, 5): c/backward b/recompute -> 8",
            "a/weight_gradient (backward, 100): b/backward input -> 40",
            "a/update (update, 20): a/weight_gradient ->"}));
}

// The cut before g moves to the place before f, where only the narrow e crosses.
void TestTraining::segmentsAreCutWhereLittleCrosses() {
    std::vector<Layer> layers{{"input", "input"}, {"a", "linear", 100, 40, {"input"}}};
    for (const char* name : {"b", "c", "d", "e", "f", "g", "h"}) {
        layers.push_back({name, "tanh", 5, 0, {layers.back().name}, {std::string(name) == "e" ? 2 : 8}});
    }
    layers.push_back({"loss", "mse_loss", 3, 0, {"h"}, {4}});
    const Graph graph = training_graph(make_graph(layers), Recomputation::segments);
    QVERIFY(graph.find("d/recompute"));
    QVERIFY(!graph.find("e/recompute"));
    QVERIFY(!graph.find("f/recompute"));
}

// Of convolution, norm and relu the first is kept; the others run again when the backward op of the next
// convolution needs them.
void TestTraining::cheapByHand() {
    const Graph graph = training_graph(make_graph({{"input", "input"},
                                                   {"conv1", "conv2d", 100, 40, {"input"}},
                                                   {"norm1", "batch_norm", 10, 16, {"conv1"}},
                                                   {"relu1", "relu", 5, 0, {"norm1"}},
                                                   {"conv2", "conv2d", 100, 40, {"relu1"}},
                                                   {"relu2", "relu", 5, 0, {"conv2"}},
                                                   {"loss", "cross_entropy", 3, 0, {"relu2"}, {4}}}),
                                       Recomputation::cheap);
    QCOMPARE(text(graph, 7),
             (QStringList{"loss/backward (backward, 3): loss relu2 -> 8",
                          "relu2/backward (backward, 5): loss/backward relu2 -> 8 0",
                          "conv2/backward (backward, 100): relu2/backward -> 8",
                          "norm1/recompute (backward, 10): conv1 relu2/backward:1 -> 8",
                          "relu1/recompute (backward, 5): norm1/recompute -> 8",
                          "conv2/weight_gradient (backward, 100): relu2/backward relu1/recompute -> 40",
                          "conv2/update (update, 20): conv2/weight_gradient ->",
                          "relu1/backward (backward, 5): conv2/backward relu1/recompute -> 8",
                          "norm1/backward (backward, 10): relu1/backward conv1 -> 8",
                          "norm1/weight_gradient (backward, 10): relu1/backward conv1 -> 16",
                          "norm1/update (update, 8): norm1/weight_gradient ->",
                          "conv1/weight_gradient (backward, 100): norm1/backward input -> 40",
                          "conv1/update (update, 20): conv1/weight_gradient ->"}));
}

void TestTraining::cheapKeepsResidualConnections() {
    const Graph graph = training_graph(resnet50(1), Recomputation::cheap);
    QVERIFY(graph.find("layer2/1/relu1/recompute"));
    QVERIFY(graph.find("layer2/1/bn2/recompute"));
    for (const char* kept : {"conv1", "bn3", "add", "relu3"}) {
        QVERIFY2(!graph.find("layer2/1/" + std::string(kept) + "/recompute"), kept);
    }
}

void TestTraining::recomputedOpsDescribeTheirForward() {
    GraphBuilder builder("labels");
    builder.add(make_op({"p", "linear", 1, 4}), {});
    Op op = make_op({"norm", "batch_norm", 100, 40, {}, {8, 3}});
    op.scope = "block/branch";
    op.colocate = "together";
    op.devices = {"gpu", "cpu:0"};
    op.attributes = {{"groups", "2"}};
    op.workspace_bytes = 12;
    op.resident_bytes = 13;
    op.in_place = true;
    op.time_s["V100"] = {0.25, 0.5};
    builder.add(op, {"p"});
    builder.add(make_op({"q", "linear", 1, 4}), {"norm"});
    builder.add(make_op({"loss", "cross_entropy"}), {"q"});
    const Graph graph = training_graph(builder.build(), Recomputation::cheap);
    const Op& again = find(graph, "norm/recompute");
    QVERIFY(again.phase == Phase::backward && again.recomputes && runs_forward(again) && again.in_place);
    QVERIFY(again.kind == "batch_norm" && again.scope == "block/branch" && again.colocate.empty());
    QVERIFY(again.devices == op.devices && again.attributes == op.attributes && again.outputs == op.outputs);
    QCOMPARE(again.forward_op, OpId{1});
    QCOMPARE(again.parameter_bytes, 0);
    QCOMPARE(again.resident_bytes, 0);
    QCOMPARE(again.workspace_bytes, 12);
    QVERIFY(again.time_s.at("V100") == (MeasuredTime{std::nullopt, 0.25}));
    QVERIFY(!runs_forward(find(graph, "norm/backward")));
    QVERIFY(inference_graph(graph).size() == 4);
}

void TestTraining::recomputationIsSound_data() {
    QTest::addColumn<Graph>("graph");
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        QTest::addRow("random %d", static_cast<int>(seed)) << mixed_graph(seed);
    }
    for (const NetworkInfo& network : known_networks())
        QTest::newRow(network.name.data()) << network.build(1);
}

// Without its recomputed ops, the graph equals the one that keeps everything.
void TestTraining::recomputationIsSound() {
    QFETCH(Graph, graph);
    const Graph kept = training_graph(graph);
    for (const Recomputation recomputation : {Recomputation::segments, Recomputation::cheap}) {
        const Graph again = training_graph(graph, recomputation);
        std::vector<const Op*> others;
        std::vector<bool> after_backward(again.size());
        std::size_t recomputed = 0;
        for (OpId id = 0; id < again.size(); ++id) {
            const Op& op = again.op(id);
            after_backward[id] = (op.phase != Phase::forward && !op.recomputes) ||
                                 std::ranges::any_of(again.producers(id),
                                                     [&](OpId producer) { return after_backward[producer]; });
            if (!op.recomputes) {
                others.push_back(&op);
                continue;
            }
            ++recomputed;
            const Op& forward = again.op(op.forward_op);
            QCOMPARE(op.name, forward.name + "/recompute");
            QCOMPARE(op.flops, forward.flops);
            QVERIFY2(after_backward[id], op.name.c_str());
            QVERIFY2(!again.consumers(id).empty(), op.name.c_str());
            // No output is both kept and recomputed for the backward pass.
            std::set<std::uint32_t> kept_outputs, used_outputs;
            for (const Op& reader : again.ops()) {
                for (const TensorRef& input : reader.inputs) {
                    if (input.op == op.forward_op && reader.phase == Phase::backward)
                        kept_outputs.insert(input.output);
                    if (input.op == id) used_outputs.insert(input.output);
                }
            }
            for (const std::uint32_t output : used_outputs)
                QVERIFY2(!kept_outputs.contains(output), op.name.c_str());
        }
        QVERIFY(recomputed > 0);

        QCOMPARE(others.size(), kept.size());
        for (OpId id = 0; id < kept.size(); ++id) {
            const Op &op = *others[id], &expected = kept.op(id);
            QCOMPARE(op.name, expected.name);
            QCOMPARE(op.flops, expected.flops);
            QCOMPARE(op.forward_op, expected.forward_op);
            QCOMPARE(op.inputs.size(), expected.inputs.size());
            for (std::size_t i = 0; i < op.inputs.size(); ++i) {
                const Op& producer = again.op(op.inputs[i].op);
                QCOMPARE(producer.recomputes ? again.op(producer.forward_op).name : producer.name,
                         kept.op(expected.inputs[i].op).name);
                QCOMPARE(op.inputs[i].output, expected.inputs[i].output);
            }
            QVERIFY(op.outputs.size() == expected.outputs.size() ||
                    (op.outputs.size() == expected.outputs.size() + 1 && op.outputs.back().bytes == 0));
        }
    }
}

// Four times the depth takes about twice the memory, and each step takes at most one additional forward
// pass.
void TestTraining::segmentsSaveMemory() {
    const auto step = [](std::size_t length, Recomputation recomputation) {
        std::vector<Layer> layers{{"op0", "linear", 1e9, 4, {}, {1'000'000}}};
        while (layers.size() < length) {
            layers.push_back(
                {"op" + std::to_string(layers.size()), "tanh", 1e9, 0, {layers.back().name}, {1'000'000}});
        }
        ProblemOptions options;
        options.recomputation = recomputation;
        Simulator simulator(test::problem(make_graph(layers), test::uniform_machine(1), options));
        return simulator.run(std::vector<DeviceId>(length, 0));
    };
    const double short_kept = step(100, Recomputation::none).peak_bytes[0],
                 long_kept = step(400, Recomputation::none).peak_bytes[0];
    const Outcome short_step = step(100, Recomputation::segments),
                  long_step = step(400, Recomputation::segments);
    QVERIFY(long_kept > 3.9 * short_kept);
    QVERIFY2(short_step.peak_bytes[0] < 0.25 * short_kept,
             qPrintable(QString::number(short_step.peak_bytes[0])));
    QVERIFY2(long_step.peak_bytes[0] < 2.1 * short_step.peak_bytes[0],
             qPrintable(QString::number(long_step.peak_bytes[0])));
    const double forward_s = 400e9 / 1e12;
    const double more_s = long_step.step_time_s - step(400, Recomputation::none).step_time_s;
    QVERIFY(more_s > 0.8 * forward_s && more_s <= forward_s);
}

void TestTraining::recomputationRefused() {
    const auto message = [](const auto& call) {
        try {
            call();
        } catch (const GraphError& error) {
            return QString::fromUtf8(error.what());
        }
        return QString();
    };
    const Graph explicit_graph = training_graph(make_graph(chain()));
    QVERIFY(message([&] {
                training_graph(explicit_graph, Recomputation::cheap);
            }).contains("\"hand\" already contains backward ops"));
    QVERIFY(message([&] {
                exprimo_training_graph(make_graph(chain()), Recomputation::segments);
            }).contains("do not support recomputation \"segments\""));
    const Graph inference = make_graph(chain(), Training::none);
    QVERIFY(same(training_graph(inference, Recomputation::segments), inference));
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
