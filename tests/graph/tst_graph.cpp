// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <QtTest>

#include "core/base/infinity.hpp"
#include "core/graph/constants.hpp"
#include "core/graph/fingerprint.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/grouping.hpp"
#include "core/graph/kinds.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

namespace {

Op op_named(const std::string& name, std::size_t outputs = 1) {
    Op op;
    op.name = name;
    op.kind = "matmul";
    op.outputs.assign(outputs, make_tensor({2}));
    return op;
}

std::vector<std::string> names(const Graph& graph) {
    std::vector<std::string> result;
    for (const Op& op : graph.ops()) result.push_back(op.name);
    return result;
}

std::vector<OpId> list(std::span<const OpId> ids) {
    return {ids.begin(), ids.end()};
}

using Names = std::vector<std::string>;
using Ids = std::vector<OpId>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Fault {
    const char* label;
    std::function<void(GraphBuilder&)> make;  ///< adds ops; build() follows
    const char* op;
    const char* problem;
};

std::string numbered(int i) {
    return std::string("n").append(std::to_string(i));
}

/// Adds an op "x" that was changed.
std::function<void(GraphBuilder&)> changed(const std::function<void(Op&)>& change) {
    return [change](GraphBuilder& builder) {
        Op op = op_named("x");
        change(op);
        builder.add(op, {});
    };
}

/// Adds an op "x" and an op "y" that reads `input`.
std::function<void(GraphBuilder&)> reads_position(TensorRef input) {
    return [input](GraphBuilder& builder) {
        builder.add(op_named("x"), {});
        Op op = op_named("y");
        op.inputs = {input};
        builder.add(op);
    };
}

const std::vector<Fault>& faults() {
    static const std::vector<Fault> list{
        {"no ops", [](GraphBuilder&) {}, "", "the graph has no ops"},
        {"empty name", [](GraphBuilder& b) { b.add(op_named(""), {}); }, "", "op 0 has no name"},
        {"repeated name",
         [](GraphBuilder& b) {
             b.add(op_named("x"), {});
             b.add(op_named("x"), {});
         },
         "x", "the name is taken"},
        {"negative flops", changed([](Op& op) { op.flops = -1; }), "x",
         "flops is -1, expected a finite number of at least 0"},
        {"flops not a number", changed([](Op& op) { op.flops = kNan; }), "x", "flops is nan"},
        {"infinite flops", changed([](Op& op) { op.flops = kInfinity; }), "x", "flops is inf"},
        {"negative backward flops", changed([](Op& op) { op.backward_flops = -2; }), "x",
         "backward_flops is -2"},
        {"infinite backward flops", changed([](Op& op) { op.backward_flops = kInfinity; }), "x",
         "backward_flops is inf"},
        {"negative parameters", changed([](Op& op) { op.parameter_bytes = -4; }), "x",
         "parameter_bytes is -4"},
        {"negative tensor", changed([](Op& op) { op.outputs[0].bytes = -8; }), "x", "output 0: bytes is -8"},
        {"negative extent", changed([](Op& op) {
             op.outputs[0].shape = {{2, -3}};
         }),
         "x", "output 0: extent is -3"},
        {"negative forward time", changed([](Op& op) { op.time_s["V100"].forward_s = -1; }), "x",
         "forward time on \"V100\" is -1"},
        {"backward time not a number", changed([](Op& op) { op.time_s["V100"].backward_s = kNan; }), "x",
         "backward time on \"V100\" is nan"},
        {"unknown forward op", changed([](Op& op) { op.forward_op = 3; }), "x", "forward op 3 is unknown"},
        {"its own forward op", changed([](Op& op) { op.forward_op = 0; }), "x", "forward op 0 is unknown"},
        {"backward op of implicit training", changed([](Op& op) { op.phase = Phase::backward; }), "x",
         "phase is \"backward\", expected \"forward\""},
        {"unknown input", [](GraphBuilder& b) { b.add(op_named("x"), {"y"}); }, "x",
         "input \"y\" is unknown"},
        {"unknown input with output", [](GraphBuilder& b) { b.add(op_named("x"), {"y:0"}); }, "x",
         "input \"y:0\" is unknown"},
        {"empty input", [](GraphBuilder& b) { b.add(op_named("x"), {""}); }, "x", "input \"\" is unknown"},
        {"negative output",
         [](GraphBuilder& b) {
             b.add(op_named("x"), {});
             b.add(op_named("y"), {"x:-1"});
         },
         "y", "input \"x:-1\" is unknown"},
        {"output beyond 32 bits",
         [](GraphBuilder& b) {
             b.add(op_named("x"), {});
             b.add(op_named("y"), {"x:4294967296"});
         },
         "y", "input \"x:4294967296\" is unknown"},
        {"one output",
         [](GraphBuilder& b) {
             b.add(op_named("x"), {});
             b.add(op_named("y"), {"x:7"});
         },
         "y", "input \"x:7\": op \"x\" has only 1 output"},
        {"two outputs",
         [](GraphBuilder& b) {
             b.add(op_named("x", 2), {});
             b.add(op_named("y"), {"x:2"});
         },
         "y", "input \"x:2\": op \"x\" has only 2 outputs"},
        {"no outputs",
         [](GraphBuilder& b) {
             b.add(op_named("x", 0), {});
             b.add(op_named("y"), {"x"});
         },
         "y", "input \"x\": op \"x\" has no outputs"},
        {"input by position unknown", reads_position({1, 0}), "y", "input op 1 is unknown"},
        {"input by position without output", reads_position({0, 3}), "y",
         "input \"x:3\": op \"x\" has only 1 output"},
        {"reads itself", [](GraphBuilder& b) { b.add(op_named("x"), {"x"}); }, "x",
         "is on a cycle of 1 op: x -> x"},
        {"cycle of two",
         [](GraphBuilder& b) {
             b.add(op_named("b"), {"a", "start"});
             b.add(op_named("start"), {});
             b.add(op_named("a"), {"b"});
             b.add(op_named("behind"), {"a"});
         },
         "b", "is on a cycle of 2 ops: b -> a -> b"},
        {"cycle that others wait for",
         [](GraphBuilder& b) {
             b.add(op_named("behind"), {"c"});
             b.add(op_named("a"), {"c"});
             b.add(op_named("b"), {"a"});
             b.add(op_named("c"), {"b"});
         },
         "a", "a -> b -> c -> a"},
        {"long cycle",
         [](GraphBuilder& b) {
             for (int i = 0; i < 100; ++i) b.add(op_named(numbered(i)), {numbered((i + 99) % 100)});
         },
         "n0", "is on a cycle of 100 ops: n0 -> n1 -> n2 -> ... -> n97 -> n98 -> n99 -> n0"},
    };
    return list;
}

}  // namespace

class TestGraph : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void enumsAndTheirTexts();
    void bytesOfTypes();
    void tensors();
    void tensorsThatDoNotFit();
    void elements();
    void integerAttributes_data();
    void integerAttributes();

    void refuses_data();
    void refuses();
    void refusedOpIsNotAdded();
    void builderIsEmptyAfterwards();

    void keepsAnOrderThatIsTopological();
    void sortsAndStaysCloseToTheOrderOfAddition();
    void sortedGraphsAreTopological_data();
    void sortedGraphsAreTopological();
    void outputsOfInputs();
    void exactNameWins();
    void inputsByPosition();
    void forwardOpFollowsTheSort();
    void neighboursAreDistinct();
    void findsByName();
    void totalsCountForwardOps();

    void groupsOfInference();
    void groupsByLabel();
    void groupsOfDerivedOps();
    void labelsJoinDerivedOps();

    void kinds();
    void fingerprintsTellGraphsApart();
    void whatReadsOnlyConstants();
};

void TestGraph::enumsAndTheirTexts() {
    for (const Phase phase : {Phase::forward, Phase::backward, Phase::update})
        QVERIFY(phase_from(to_string(phase)) == phase);
    for (const Training training : {Training::implicit, Training::explicit_, Training::none}) {
        QVERIFY(training_from(to_string(training)) == training);
    }
    QVERIFY(to_string(Training::explicit_) == "explicit");
    for (int i = 0; i <= static_cast<int>(DType::boolean); ++i) {
        const auto dtype = static_cast<DType>(i);
        QVERIFY(dtype_from(to_string(dtype)) == dtype);
    }
    QVERIFY(to_string(DType::bfloat16) == "bfloat16");
    QVERIFY(!phase_from("Forward"));
    QVERIFY(!training_from("explicit_"));
    QVERIFY(!dtype_from("float"));
}

void TestGraph::bytesOfTypes() {
    QCOMPARE(bytes_per_element(DType::float64), 8);
    QCOMPARE(bytes_per_element(DType::float32), 4);
    QCOMPARE(bytes_per_element(DType::float16), 2);
    QCOMPARE(bytes_per_element(DType::bfloat16), 2);
    QCOMPARE(bytes_per_element(DType::int64), 8);
    QCOMPARE(bytes_per_element(DType::int32), 4);
    QCOMPARE(bytes_per_element(DType::int16), 2);
    QCOMPARE(bytes_per_element(DType::int8), 1);
    QCOMPARE(bytes_per_element(DType::uint8), 1);
    QCOMPARE(bytes_per_element(DType::boolean), 1);
}

void TestGraph::tensors() {
    const Tensor image = make_tensor({32, 3, 224, 224});
    QCOMPARE(image.bytes, 32 * 3 * 224 * 224 * 4);
    QVERIFY(image.shape == (std::vector<std::int64_t>{32, 3, 224, 224}));
    QCOMPARE(make_tensor({}).bytes, 4);
    QCOMPARE(make_tensor({5}, DType::int64).bytes, 40);
    QCOMPARE(make_tensor({1LL << 40, 1LL << 40, 0}).bytes, 0);
    QCOMPARE(make_tensor({(1LL << 60)}, DType::float32).bytes, 1LL << 62);
}

void TestGraph::tensorsThatDoNotFit() {
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, make_tensor({2, -1}));
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, make_tensor({0, -1}));
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, make_tensor({1LL << 32, 1LL << 32}));
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, make_tensor({1LL << 61}));
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, make_tensor({1LL << 60}, DType::float64));
}

void TestGraph::elements() {
    QCOMPARE(element_count(make_tensor({4, 5}, DType::float16)), 20);
    QCOMPARE(element_count(make_tensor({})), 1);
    Tensor unshaped;
    unshaped.bytes = 40;
    QCOMPARE(element_count(unshaped), 10);
    unshaped.dtype = DType::int8;
    QCOMPARE(element_count(unshaped), 40);
}

void TestGraph::integerAttributes_data() {
    QTest::addColumn<QString>("json");
    QTest::addColumn<bool>("good");
    QTest::addColumn<QList<qint64>>("values");
    QTest::newRow("list") << "[3,5]" << true << QList<qint64>{3, 5};
    QTest::newRow("number") << "7" << true << QList<qint64>{7};
    QTest::newRow("negative, spaces") << " [ -1 , 2 ,3 ] " << true << QList<qint64>{-1, 2, 3};
    QTest::newRow("empty list") << "[]" << false << QList<qint64>{};
    QTest::newRow("text") << "\"same\"" << false << QList<qint64>{};
    QTest::newRow("fraction") << "1.5" << false << QList<qint64>{};
    QTest::newRow("fractions") << "[1, 1.5]" << false << QList<qint64>{};
    QTest::newRow("nested") << "[[1,2]]" << false << QList<qint64>{};
    QTest::newRow("open") << "[1,2" << false << QList<qint64>{};
    QTest::newRow("trailing comma") << "[1,]" << false << QList<qint64>{};
    QTest::newRow("two numbers") << "1,2" << false << QList<qint64>{};
    QTest::newRow("nothing") << "" << false << QList<qint64>{};
    QTest::newRow("too large") << "9223372036854775808" << false << QList<qint64>{};
}

void TestGraph::integerAttributes() {
    QFETCH(QString, json);
    QFETCH(bool, good);
    QFETCH(QList<qint64>, values);
    Op op = op_named("x");
    op.attributes["kernel"] = json.toStdString();
    const auto result = integer_attribute(op, "kernel");
    QCOMPARE(result.has_value(), good);
    if (good) QCOMPARE(QList<qint64>(result->begin(), result->end()), values);
    QVERIFY(!integer_attribute(op, "stride"));
}

void TestGraph::refuses_data() {
    QTest::addColumn<std::size_t>("fault");
    for (std::size_t i = 0; i < faults().size(); ++i) QTest::newRow(faults()[i].label) << i;
}

void TestGraph::refuses() {
    QFETCH(std::size_t, fault);
    const Fault& expected = faults()[fault];
    try {
        GraphBuilder builder("faulty");
        expected.make(builder);
        builder.build();
    } catch (const GraphError& error) {
        QCOMPARE(QString::fromStdString(error.op()), QString::fromUtf8(expected.op));
        const QString what = QString::fromUtf8(error.what());
        QVERIFY2(what.contains(QString::fromUtf8(expected.problem)), qPrintable(what));
        if (!error.op().empty())
            QVERIFY2(what.startsWith("op \"" + QString::fromUtf8(expected.op) + "\": "), qPrintable(what));
        return;
    }
    QFAIL("accepted");
}

void TestGraph::refusedOpIsNotAdded() {
    GraphBuilder builder("graph");
    builder.add(op_named("a"), {});
    Op bad = op_named("b");
    bad.flops = -1;
    QVERIFY_THROWS_EXCEPTION(GraphError, builder.add(bad, {"a"}));
    QCOMPARE(builder.size(), std::size_t{1});
    builder.add(op_named("b"), {"a"});
    QCOMPARE(names(builder.build()), (Names{"a", "b"}));
}

void TestGraph::builderIsEmptyAfterwards() {
    GraphBuilder builder("graph", 8, Training::none);
    builder.add(op_named("a"), {});
    const Graph graph = builder.build();
    QVERIFY(graph.name() == "graph");
    QCOMPARE(graph.batch(), 8);
    QVERIFY(graph.training() == Training::none);
    QCOMPARE(builder.size(), std::size_t{0});
    QVERIFY_THROWS_EXCEPTION(GraphError, builder.build());
    builder.add(op_named("a"), {});
    QCOMPARE(builder.size(), std::size_t{1});
}

void TestGraph::keepsAnOrderThatIsTopological() {
    GraphBuilder builder("graph");
    builder.add(op_named("z"), {});
    builder.add(op_named("m"), {});
    builder.add(op_named("b"), {"m"});
    builder.add(op_named("a"), {"z"});
    QCOMPARE(names(builder.build()), (Names{"z", "m", "b", "a"}));
}

void TestGraph::sortsAndStaysCloseToTheOrderOfAddition() {
    GraphBuilder builder("graph");
    builder.add(op_named("late"), {"early"});
    builder.add(op_named("free"), {});
    builder.add(op_named("early"), {});
    builder.add(op_named("last"), {"late", "free"});
    QCOMPARE(names(builder.build()), (Names{"free", "early", "late", "last"}));
}

void TestGraph::sortedGraphsAreTopological_data() {
    QTest::addColumn<quint64>("seed");
    for (quint64 seed = 1; seed <= 20; ++seed) QTest::addRow("seed %llu", seed) << seed;
}

void TestGraph::sortedGraphsAreTopological() {
    QFETCH(quint64, seed);
    const Graph original = test::random_graph(seed, 200);
    GraphBuilder builder("reversed", 1, Training::none);
    for (OpId id = static_cast<OpId>(original.size()); id-- > 0;) {
        Names inputs;
        for (const TensorRef& input : original.op(id).inputs) {
            inputs.push_back(original.op(input.op).name + ':' + std::to_string(input.output));
        }
        builder.add(original.op(id), inputs);
    }
    const Graph graph = builder.build();
    QCOMPARE(graph.size(), original.size());
    for (OpId id = 0; id < graph.size(); ++id) {
        const Op& op = graph.op(id);
        const Op& before = original.op(*original.find(op.name));
        QCOMPARE(op.inputs.size(), before.inputs.size());
        for (std::size_t k = 0; k < op.inputs.size(); ++k) {
            QVERIFY(op.inputs[k].op < id);
            QCOMPARE(graph.op(op.inputs[k].op).name, original.op(before.inputs[k].op).name);
            QCOMPARE(op.inputs[k].output, before.inputs[k].output);
        }
        for (const OpId consumer : graph.consumers(id)) {
            const auto producers = graph.producers(consumer);
            QCOMPARE(std::count(producers.begin(), producers.end(), id), 1);
        }
        for (const OpId producer : graph.producers(id)) {
            const auto consumers = graph.consumers(producer);
            QCOMPARE(std::count(consumers.begin(), consumers.end(), id), 1);
        }
    }
}

void TestGraph::outputsOfInputs() {
    GraphBuilder builder("graph");
    builder.add(op_named("split", 3), {});
    builder.add(op_named("x"), {"split", "split:2", "split:0"});
    const Graph graph = builder.build();
    QVERIFY(graph.op(1).inputs == (std::vector<TensorRef>{{0, 0}, {0, 2}, {0, 0}}));
}

void TestGraph::exactNameWins() {
    GraphBuilder builder("graph");
    builder.add(op_named("a", 2), {});
    builder.add(op_named("a:1"), {});
    builder.add(op_named("x"), {"a:1", "a:0", "a:1:0"});
    const Graph graph = builder.build();
    QVERIFY(graph.op(2).inputs == (std::vector<TensorRef>{{1, 0}, {0, 0}, {1, 0}}));
}

void TestGraph::inputsByPosition() {
    GraphBuilder builder("graph");
    builder.add(op_named("late"), {"early"});
    builder.add(op_named("early", 2), {});
    Op op = op_named("x");
    op.inputs = {{0, 0}, {1, 1}};
    builder.add(op);
    const Graph graph = builder.build();
    QCOMPARE(names(graph), (Names{"early", "late", "x"}));
    QVERIFY(graph.op(2).inputs == (std::vector<TensorRef>{{1, 0}, {0, 1}}));
}

void TestGraph::forwardOpFollowsTheSort() {
    GraphBuilder builder("graph", 1, Training::explicit_);
    builder.add(op_named("f"), {"input"});
    Op backward = op_named("f/backward");
    backward.phase = Phase::backward;
    backward.forward_op = 0;
    builder.add(backward, {"f"});
    builder.add(op_named("input"), {});
    const Graph graph = builder.build();
    QCOMPARE(names(graph), (Names{"input", "f", "f/backward"}));
    QCOMPARE(graph.op(2).forward_op, OpId{1});
    QCOMPARE(graph.op(1).forward_op, kInvalidOp);
}

void TestGraph::neighboursAreDistinct() {
    GraphBuilder builder("graph");
    builder.add(op_named("a", 2), {});
    builder.add(op_named("b"), {});
    builder.add(op_named("x"), {"b", "a:1", "b", "a"});
    builder.add(op_named("y"), {"x", "a", "a"});
    const Graph graph = builder.build();
    QCOMPARE(list(graph.producers(0)), Ids{});
    QCOMPARE(list(graph.producers(2)), (Ids{1, 0}));
    QCOMPARE(list(graph.producers(3)), (Ids{2, 0}));
    QCOMPARE(list(graph.consumers(0)), (Ids{2, 3}));
    QCOMPARE(list(graph.consumers(1)), (Ids{2}));
    QCOMPARE(list(graph.consumers(2)), (Ids{3}));
    QCOMPARE(list(graph.consumers(3)), Ids{});
}

void TestGraph::findsByName() {
    const Graph graph = test::chain(5);
    for (OpId id = 0; id < 5; ++id) QVERIFY(graph.find("op" + std::to_string(id)) == id);
    QVERIFY(!graph.find("op"));
    QVERIFY(!graph.find("op5"));
}

void TestGraph::totalsCountForwardOps() {
    GraphBuilder builder("graph", 1, Training::explicit_);
    Op forward = op_named("f", 2);
    forward.flops = 10;
    forward.parameter_bytes = 100;
    builder.add(forward, {});
    forward.name = "g";
    builder.add(forward, {});
    Op update = op_named("u");
    update.phase = Phase::update;
    update.flops = 7;
    update.parameter_bytes = 3;
    builder.add(update, {"f"});
    const GraphTotals sum = totals(builder.build());
    QCOMPARE(sum.ops, std::size_t{2});
    QCOMPARE(sum.forward_flops, 20.0);
    QCOMPARE(sum.parameter_bytes, 200);
    QCOMPARE(sum.output_bytes, 2 * 2 * 8);

    // Sizes in a file may be absurd.
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    GraphBuilder absurd("absurd", 1);
    Op huge = op_named("a");
    huge.parameter_bytes = kMost / 2 + 1;
    huge.outputs = std::vector(2, Tensor{{}, DType::float32, kMost / 2 + 1});
    absurd.add(huge, {});
    huge.name = "b";
    absurd.add(huge, {});
    const GraphTotals most = totals(absurd.build());
    QCOMPARE(most.parameter_bytes, kMost);
    QCOMPARE(most.output_bytes, kMost);
}

void TestGraph::groupsOfInference() {
    const Grouping grouping = group_by_constraints(test::chain(4));
    QCOMPARE(grouping.size(), std::size_t{4});
    for (GroupId group = 0; group < 4; ++group) {
        QCOMPARE(grouping.group_of[group], group);
        QCOMPARE(grouping.members[group], (Ids{group}));
    }
}

void TestGraph::groupsByLabel() {
    GraphBuilder builder("graph");
    const Names labels{"", "red", "blue", "", "red", "blue", "red"};
    for (std::size_t i = 0; i < labels.size(); ++i) {
        Op op = op_named("op" + std::to_string(i));
        op.colocate = labels[i];
        builder.add(op, {});
    }
    const Grouping grouping = group_by_constraints(builder.build());
    QCOMPARE(grouping.members, (std::vector<Ids>{{0}, {1, 4, 6}, {2, 5}, {3}}));
    QCOMPARE(grouping.group_of, (std::vector<GroupId>{0, 1, 2, 3, 1, 2, 1}));
}

void TestGraph::groupsOfDerivedOps() {
    GraphBuilder builder("graph", 1, Training::explicit_);
    builder.add(op_named("a"), {});
    builder.add(op_named("b"), {"a"});
    for (const OpId forward : {1U, 0U}) {
        Op op = op_named("backward of " + std::to_string(forward));
        op.phase = Phase::backward;
        op.forward_op = forward;
        builder.add(op, {"b"});
    }
    Op alone = op_named("backward of none");
    alone.phase = Phase::backward;
    builder.add(alone, {"b"});
    const Grouping grouping = group_by_constraints(builder.build());
    QCOMPARE(grouping.members, (std::vector<Ids>{{0, 3}, {1, 2}, {4}}));
}

// A label on two forward ops pulls the backward ops of both into one group; a derived op's own label joins
// too.
void TestGraph::labelsJoinDerivedOps() {
    GraphBuilder builder("graph", 1, Training::explicit_);
    const auto add = [&](const std::string& name, const std::string& label, OpId forward) {
        Op op = op_named(name);
        op.colocate = label;
        op.forward_op = forward;
        if (forward != kInvalidOp) op.phase = Phase::backward;
        builder.add(op, {});
    };
    add("a", "", kInvalidOp);
    add("b", "shared", kInvalidOp);
    add("c", "shared", kInvalidOp);
    add("c/backward", "", 2);
    add("a/backward", "other", 0);
    add("d", "other", kInvalidOp);
    add("b/backward", "", 1);
    const Grouping grouping = group_by_constraints(builder.build());
    QCOMPARE(grouping.members, (std::vector<Ids>{{0, 4, 5}, {1, 2, 3, 6}}));
}

void TestGraph::kinds() {
    const auto kept = [](const char* kind) {
        const KindInfo& info = kind_info(kind);
        return std::string(info.keeps_inputs ? "inputs " : "") + (info.keeps_output ? "output" : "");
    };
    for (const char* kind : {"conv2d", "conv_transpose2d", "linear", "matmul", "batch_norm", "layer_norm",
                             "relu6", "gelu", "max_pool2d", "mul", "embedding", "cross_entropy"}) {
        QVERIFY2(kept(kind) == "inputs ", kind);
    }
    for (const char* kind : {"relu", "sigmoid", "tanh", "softmax", "log_softmax"})
        QVERIFY2(kept(kind) == "output", kind);
    for (const char* kind : {"dropout", "add", "cat", "avg_pool2d", "adaptive_avg_pool2d", "flatten",
                             "reshape", "identity", "upsample", "input"}) {
        QVERIFY2(kept(kind).empty(), kind);
    }
    for (const char* kind : {"matmul", "mul", "div", "linear", "conv2d"})
        QVERIFY2(kind_info(kind).factors, kind);
    QVERIFY(!kind_info("gelu").factors && !kind_info("batch_norm").factors);
    QCOMPARE(int(kind_info("dropout").mask_bytes), 1);
    QCOMPARE(int(kind_info("max_pool2d").mask_bytes), 8);
    QCOMPARE(int(kind_info("relu").mask_bytes), 0);
    QCOMPARE(int(kind_info("where").only_input), 0);
    QCOMPARE(int(kind_info("masked_fill").only_input), 1);
    for (const char* kind : {"input", "flatten", "reshape", "identity"})
        QVERIFY2(!kind_info(kind).computes, kind);
    for (const char* kind : {"conv2d", "add", "cat", "dropout"}) QVERIFY2(kind_info(kind).computes, kind);
    for (const char* kind : {"input", "argmax"}) QVERIFY2(!kind_info(kind).differentiable, kind);
    for (const char* kind : {"flatten", "relu", "cross_entropy"})
        QVERIFY2(kind_info(kind).differentiable, kind);
    for (const char* kind : {"lstm_cell", "gru_cell", "rnn_cell"}) QVERIFY2(kind_info(kind).recurrent, kind);
    QVERIFY(!kind_info("linear").recurrent);
    for (const char* kind : {"relu", "silu", "dropout", "add", "mul", "masked_fill"})
        QVERIFY2(kind_info(kind).elementwise, kind);
    // Their output has other elements than their first input, or PyTorch has no variant in place.
    for (const char* kind : {"conv2d", "softmax", "cat", "mean", "batch_norm", "glu", "gelu", "max_pool2d",
                             "eq", "flatten", "no_such_kind"}) {
        QVERIFY2(!kind_info(kind).elementwise, kind);
    }
    for (const char* kind : {"flatten", "unbind", "detach"})
        QVERIFY2(kind_info(kind).view && !kind_info(kind).computes, kind);
    for (const char* kind : {"conv2d", "linear", "einsum", "scaled_dot_product_attention"})
        QVERIFY2(kind_info(kind).product, kind);
    for (const char* kind : {"mul", "embedding", "lstm_cell", "parameter"})
        QVERIFY2(!kind_info(kind).product, kind);
    QVERIFY(kind_info("parameter").parameter && kind_info("parameter").differentiable &&
            !kind_info("parameter").computes);
    QVERIFY(!kind_info("constant").parameter);

    for (const char* kind : {"no_such_kind", "", "Conv2d"}) {
        const KindInfo& unknown = kind_info(kind);
        QVERIFY(unknown.name.empty());
        QVERIFY(unknown.computes && unknown.differentiable && unknown.keeps_inputs && unknown.keeps_output &&
                !unknown.recurrent);
    }
    QVERIFY(kind_info("conv2d").name == "conv2d");

    std::set<std::string_view> names;
    for (const KindInfo& kind : known_kinds()) QVERIFY2(names.insert(kind.name).second, kind.name.data());
}

void TestGraph::fingerprintsTellGraphsApart() {
    const auto print = [](const char* name, double flops, std::int64_t parameter_bytes) {
        GraphBuilder builder("graph", 1, Training::none);
        Op op;
        op.name = name;
        op.kind = "matmul";
        op.flops = flops;
        op.parameter_bytes = parameter_bytes;
        builder.add(op);
        return graph_fingerprint(builder.build());
    };
    const std::string base = print("op", 1e9, 4000);
    QCOMPARE(base.size(), std::size_t{16});
    QCOMPARE(print("op", 1e9, 4000), base);
    QVERIFY(print("other", 1e9, 4000) != base);
    QVERIFY(print("op", 2e9, 4000) != base);
    QVERIFY(print("op", 1e9, 4004) != base);
}

void TestGraph::whatReadsOnlyConstants() {
    const auto constants = [](const std::string& first) {
        GraphBuilder builder("graph");
        const auto add = [&](const std::string& name, const std::string& kind,
                             std::vector<std::string> inputs, std::int64_t parameter_bytes = 0) {
            Op op = op_named(name);
            op.kind = kind;
            op.parameter_bytes = parameter_bytes;
            builder.add(std::move(op), std::move(inputs));
        };
        add("tokens", first, {});
        add("places", "arange", {});
        add("table", "constant", {});
        add("trained", "parameter", {}, 8);
        add("cos", "cos", {"places"});
        add("sum", "add", {"cos", "table"});
        add("embedding", "embedding", {"places"}, 8);
        add("view", "view", {"trained"});
        add("mul", "mul", {"sum", "tokens"});
        const Graph graph = builder.build();
        const std::vector<bool> constant = reads_only_constants(graph);
        Names result;
        for (OpId id = 0; id < graph.size(); ++id) {
            if (constant[id]) result.push_back(graph.op(id).name);
        }
        return result;
    };
    QCOMPARE(constants("input"), (Names{"places", "table", "cos", "sum"}));
    // Any op without inputs may be where the data comes from.
    QCOMPARE(constants("relu"), (Names{"table"}));
}

QTEST_GUILESS_MAIN(TestGraph)
#include "tst_graph.moc"
