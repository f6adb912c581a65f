// SPDX-License-Identifier: MIT
// Networks in other precisions: types, casts and sizes.
#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include <QTest>

#include "core/graph/grouping.hpp"
#include "core/graph/kinds.hpp"
#include "core/graph/networks.hpp"
#include "core/graph/precision.hpp"
#include "core/graph/training.hpp"

using namespace placewright;

namespace {

Op op_of(const std::string& name, const std::string& kind, std::vector<std::int64_t> shape,
         std::int64_t parameter_bytes = 0, DType dtype = DType::float32) {
    Op op;
    op.name = name;
    op.kind = kind;
    op.flops = kind_info(kind).product ? 1e9 : 0;
    op.parameter_bytes = parameter_bytes;
    op.outputs = {make_tensor(std::move(shape), dtype)};
    return op;
}

using Listed = std::pair<Op, std::vector<std::string>>;

Graph graph_of(std::vector<Listed> ops, Training training = Training::implicit) {
    GraphBuilder builder("net", 4, training);
    for (auto& [op, inputs] : ops) builder.add(std::move(op), std::move(inputs));
    return builder.build();
}

const Op& find(const Graph& graph, std::string_view name) {
    const auto id = graph.find(name);
    if (!id) qFatal("no op %s", std::string(name).c_str());
    return graph.op(*id);
}

DType type_of(const Graph& graph, const std::string& name) {
    return find(graph, name).outputs.front().dtype;
}

std::set<DType> types_read(const Graph& graph, const Op& op) {
    std::set<DType> types;
    for (const TensorRef& input : op.inputs) {
        const DType type = graph.op(input.op).outputs[input.output].dtype;
        if (is_floating(type)) types.insert(type);
    }
    return types;
}

std::vector<std::string> casts_of(const Graph& graph) {
    std::vector<std::string> names;
    for (const Op& op : graph.ops()) {
        if (op.autocast) names.push_back(op.name);
    }
    return names;
}

std::string join(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
    return text;
}

void each_network(std::span<const Precision> wanted) {
    QTest::addColumn<QString>("network");
    QTest::addColumn<int>("precision");
    for (const NetworkInfo& info : known_networks()) {
        for (const Precision precision : wanted) {
            const std::string row = std::string(info.name) + ' ' + std::string(to_string(precision));
            QTest::newRow(row.c_str())
                << QString::fromUtf8(info.name.data(), static_cast<qsizetype>(info.name.size()))
                << static_cast<int>(precision);
        }
    }
}

}  // namespace

class TestPrecision : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void names();
    void asGivenChangesNothing();
    void oneType_data() { each_network(std::array{Precision::fp32, Precision::bf16, Precision::fp16}); }
    void oneType();
    void oneTypeOfEverything();
    void autocast_data() { each_network(std::array{Precision::amp_fp16, Precision::amp_bf16}); }
    void autocast();
    void rules_data();
    void rules();
    void castsOfAChain();
    void softmaxOfHalfNeedsNoCast();
    void parametersAreCastOnce();
    void gradientsAreCastBack();
    void explicitSteps();
    void namesDoNotClash();
    void anotherPrecisionReplacesTheCasts();
    void sizesThatCannotBeCounted();
};

void TestPrecision::names() {
    for (const Precision precision : precisions())
        QCOMPARE(precision_from(to_string(precision)), std::optional(precision));
    QCOMPARE(precisions().size(), std::size_t{7});
    QVERIFY(!precision_from("fp8"));
}

void TestPrecision::asGivenChangesNothing() {
    const Graph given = bert_base(1), same = with_precision(given, Precision::as_given);
    QCOMPARE(same.size(), given.size());
    for (OpId id = 0; id < given.size(); ++id) {
        QCOMPARE(same.op(id).name, given.op(id).name);
        QCOMPARE(same.op(id).outputs, given.op(id).outputs);
    }
}

void TestPrecision::oneType() {
    QFETCH(const QString, network);
    QFETCH(const int, precision);
    const Graph given = find_network(network.toStdString())->build(1);
    const auto wanted = static_cast<Precision>(precision);
    const Graph graph = with_precision(given, wanted);
    const DType type = wanted == Precision::fp32   ? DType::float32
                       : wanted == Precision::bf16 ? DType::bfloat16
                                                   : DType::float16;
    const std::int64_t part = 4 / bytes_per_element(type);
    QCOMPARE(graph.size(), given.size());
    for (OpId id = 0; id < given.size(); ++id) {
        QCOMPARE(graph.op(id).name, given.op(id).name);
        QCOMPARE(graph.op(id).inputs, given.op(id).inputs);
        QCOMPARE(graph.op(id).parameter_bytes, given.op(id).parameter_bytes / part);
        for (std::size_t k = 0; k < given.op(id).outputs.size(); ++k) {
            const Tensor &now = graph.op(id).outputs[k], &before = given.op(id).outputs[k];
            QCOMPARE(now.dtype, is_floating(before.dtype) ? type : before.dtype);
            QCOMPARE(now.shape, before.shape);
            QCOMPARE(now.bytes, make_tensor(*now.shape, now.dtype).bytes);
        }
    }
    // The step that is derived from it is in that type too.
    const Graph step = training_graph(graph);
    for (const Op& op : step.ops()) {
        for (const Tensor& output : op.outputs) QVERIFY(!is_floating(output.dtype) || output.dtype == type);
    }
}

void TestPrecision::oneTypeOfEverything() {
    Op wide = op_of("wide", "linear", {4, 8}, 800, DType::float64);
    Op sized = op_of("sized", "relu", {4, 8});
    sized.outputs[0].shape.reset();
    sized.outputs[0].transfer_s = 0.5;
    Op cast = op_of("cast", "to", {4, 8}, 0, DType::float16);
    Op moved = op_of("moved", "to", {4, 8}, 0, DType::float16);
    Op tokens = op_of("tokens", "input", {4}, 0, DType::int64);
    Op counts = op_of("counts", "to", {4});
    const Graph graph = with_precision(graph_of({{wide, {}},
                                                 {sized, {"wide"}},
                                                 {cast, {"sized"}},
                                                 {moved, {"cast"}},
                                                 {tokens, {}},
                                                 {counts, {"tokens"}}}),
                                       Precision::bf16);
    QCOMPARE(find(graph, "wide").outputs[0], make_tensor({4, 8}, DType::bfloat16));
    QCOMPARE(find(graph, "wide").parameter_bytes, 200);
    QCOMPARE(find(graph, "sized").outputs[0].bytes, 64);
    QCOMPARE(*find(graph, "sized").outputs[0].transfer_s, 0.25);
    QCOMPARE(find(graph, "cast").kind, std::string("identity"));  // both ends have become one type
    QCOMPARE(find(graph, "moved").kind, std::string("to"));       // they were one type before
    QCOMPARE(type_of(graph, "tokens"), DType::int64);
    QCOMPARE(find(graph, "counts").kind, std::string("to"));
    QCOMPARE(type_of(graph, "counts"), DType::bfloat16);
}

void TestPrecision::autocast() {
    QFETCH(const QString, network);
    QFETCH(const int, precision);
    const Graph given = find_network(network.toStdString())->build(1);
    const auto wanted = static_cast<Precision>(precision);
    const DType low = wanted == Precision::amp_fp16 ? DType::float16 : DType::bfloat16;
    const Graph graph = with_precision(given, wanted);

    std::vector<std::string> own;
    for (const Op& op : graph.ops()) {
        const KindInfo& kind = kind_info(op.kind);
        if (op.autocast) {
            // Casts are there only where types differ, and one op reads each (readers of a parameter share).
            const Tensor& from = graph.op(op.inputs[0].op).outputs[op.inputs[0].output];
            QVERIFY(from.dtype != op.outputs[0].dtype);
            QCOMPARE(op.outputs[0], make_tensor(*from.shape, op.outputs[0].dtype));
            if (!kind_info(graph.op(op.inputs[0].op).kind).parameter)
                QCOMPARE(graph.consumers(*graph.find(op.name)).size(), std::size_t{1});
            continue;
        }
        own.push_back(op.name);
        QCOMPARE(op.parameter_bytes, find(given, op.name).parameter_bytes);
        if (kind.product || kind.recurrent) {
            QVERIFY2(types_read(graph, op).empty() || types_read(graph, op) == std::set{low},
                     op.name.c_str());
            QCOMPARE(op.outputs[0].dtype, low);
            QVERIFY(op.parameter_bytes == 0 || parameter_type(op) == DType::float32);
        } else if (op.kind == "layer_norm" || op.kind == "softmax" || op.kind == "cross_entropy") {
            QCOMPARE(op.outputs[0].dtype, DType::float32);
            if (op.kind != "softmax" || low == DType::bfloat16)
                QCOMPARE(types_read(graph, op), std::set{DType::float32});
        } else if (op.kind == "batch_norm") {
            QCOMPARE(types_read(graph, op), std::set{op.outputs[0].dtype});
        }
    }
    std::vector<std::string> before;
    for (const Op& op : given.ops()) before.push_back(op.name);
    QCOMPARE(own, before);
    QVERIFY(!casts_of(graph).empty());

    // The step that is derived from it has a gradient of the type of each value, and float32 for parameters.
    const Graph step = training_graph(graph);
    for (const Op& op : step.ops()) {
        if (op.phase == Phase::update) QCOMPARE(types_read(step, op), std::set{DType::float32});
    }
    QCOMPARE(group_by_constraints(step).size(), group_by_constraints(training_graph(given)).size());
    for (const auto recomputation : {Recomputation::segments, Recomputation::cheap}) {
        const Graph again = training_graph(graph, recomputation);
        QVERIFY(again.size() > step.size());
        QCOMPARE(group_by_constraints(again).size(), group_by_constraints(step).size());
    }
    for (const auto rule : {GroupingRule::colocation, GroupingRule::scope}) {
        const GroupingOptions options{.rule = rule};
        QCOMPARE(group_ops(step, options).size(), group_ops(training_graph(given), options).size());
    }
}

void TestPrecision::rules_data() {
    QTest::addColumn<QString>("kind");
    QTest::addColumn<QString>("read");    // h: float16, f: float32, p: its own parameters in float32
    QTest::addColumn<QString>("needed");  // types after casts
    QTest::addColumn<QString>("written");
    const auto row = [](const char* kind, const char* read, const char* needed, const char* written) {
        QTest::addRow("%s of %s", kind, read) << kind << read << needed << written;
    };
    // The lists of PyTorch's "Autocast Op Reference", and what type promotion does beside them.
    for (const char* kind : {"linear", "conv2d", "matmul", "bmm", "einsum", "lstm_cell", "gru", "prelu",
                             "scaled_dot_product_attention"})
        row(kind, "fh", "hh", "h");
    for (const char* kind : {"layer_norm", "group_norm", "exp", "log", "pow", "rsqrt", "softplus", "cumsum",
                             "mse_loss", "cross_entropy", "binary_cross_entropy_with_logits", "cdist"})
        row(kind, "h", "f", "f");
    for (const char* kind : {"softmax", "log_softmax", "sum", "prod", "norm", "normalize"})
        row(kind, "h", "h", "f");
    for (const char* kind : {"relu", "gelu", "dropout", "max_pool2d", "mean", "tanh", "permute", "sqrt"}) {
        row(kind, "h", "h", "h");
        row(kind, "f", "f", "f");
    }
    for (const char* kind : {"add", "mul", "cat", "stack"}) {
        row(kind, "hf", "hf", "f");
        row(kind, "hh", "hh", "h");
    }
    for (const char* kind : {"where", "grid_sample", "bilinear", "addcmul", "scatter_add"}) {
        row(kind, "hf", "ff", "f");
        row(kind, "hh", "hh", "h");
    }
    row("batch_norm", "hp", "h", "h");
    row("mul", "hp", "h", "f");
    row("embedding", "p", "", "f");
}

void TestPrecision::rules() {
    QFETCH(const QString, kind);
    QFETCH(const QString, read);
    QFETCH(const QString, needed);
    QFETCH(const QString, written);
    std::vector<Listed> ops{{op_of("x", "input", {4, 8}), {}}, {op_of("low", "linear", {4, 8}, 256), {"x"}}};
    std::vector<std::string> inputs;
    for (const QChar type : read) {
        if (type != 'p') inputs.emplace_back(type == 'h' ? "low" : "x");
    }
    // "low" and "x" once more, as an op casts a tensor that it reads twice only once.
    ops.emplace_back(op_of("op", kind.toStdString(), {4, 8}, read.contains('p') ? 1024 : 0), inputs);
    const Graph graph = with_precision(graph_of(std::move(ops)), Precision::amp_fp16);
    const Op& op = find(graph, "op");
    QString types;
    for (const TensorRef& input : op.inputs)
        types += graph.op(input.op).outputs[input.output].dtype == DType::float16 ? 'h' : 'f';
    QCOMPARE(types, needed);
    QCOMPARE(QString(op.outputs[0].dtype == DType::float16 ? 'h' : 'f'), written);
    if (read.contains('p')) QCOMPARE(parameter_type(op), DType::float32);
}

void TestPrecision::castsOfAChain() {
    Op sigma = op_of("sigma", "constant", {});
    Op second = op_of("second", "linear", {4, 8}, 256);
    second.scope = "block/second";
    const Graph graph = with_precision(graph_of({{op_of("x", "input", {4, 8}), {}},
                                                 {op_of("first", "linear", {4, 8}, 256), {"x"}},
                                                 {op_of("norm", "layer_norm", {4, 8}, 64), {"first"}},
                                                 {second, {"norm"}},
                                                 {op_of("third", "linear", {4, 8}, 256), {"norm"}},
                                                 {sigma, {}},
                                                 {op_of("scaled", "mul", {4, 8}), {"third", "sigma"}},
                                                 {op_of("sum", "add", {4, 8}), {"second", "scaled"}},
                                                 {op_of("loss", "mse_loss", {}), {"sum"}}}),
                                       Precision::amp_fp16);
    // Each reader casts an activation anew.
    QCOMPARE(join(casts_of(graph)),
             std::string("first_cast_x norm_cast_first second_cast_norm third_cast_norm loss_cast_sum"));
    const Op& cast = find(graph, "second_cast_norm");
    QCOMPARE(cast.kind, std::string("to"));
    QCOMPARE(cast.scope, std::string("block/second"));
    QCOMPARE(cast.colocate, find(graph, "second").colocate);
    QVERIFY(!cast.colocate.empty() && cast.colocate != find(graph, "third").colocate);
    QCOMPARE(type_of(graph, "scaled"), DType::float16);  // a single number does not widen a tensor
    QCOMPARE(cast_parameter_bytes(find(graph, "first")), 128);
    QCOMPARE(cast_parameter_bytes(find(graph, "norm")), 0);
    QCOMPARE(*graph.find("second_cast_norm") + 1, *graph.find("second"));
    QCOMPARE(graph.model_consumers(*graph.find("norm")),
             (std::vector{*graph.find("second"), *graph.find("third")}));
}

void TestPrecision::softmaxOfHalfNeedsNoCast() {
    const Graph given =
        graph_of({{op_of("x", "linear", {4, 8}, 256), {}}, {op_of("softmax", "softmax", {4, 8}), {"x"}}});
    // The kernel reads float16 and writes float32; there is none that reads bfloat16.
    QCOMPARE(join(casts_of(with_precision(given, Precision::amp_fp16))), std::string());
    QCOMPARE(join(casts_of(with_precision(given, Precision::amp_bf16))), std::string("softmax_cast_x"));
}

void TestPrecision::parametersAreCastOnce() {
    const Graph given = graph_of({{op_of("w", "parameter", {8, 8}, 256), {}},
                                  {op_of("x", "input", {4, 8}), {}},
                                  {op_of("a", "linear", {4, 8}), {"x", "w"}},
                                  {op_of("b", "linear", {4, 8}), {"a", "w"}},
                                  {op_of("c", "add", {4, 8}), {"b", "w"}}});
    const Graph graph = with_precision(given, Precision::amp_fp16);
    QCOMPARE(join(casts_of(graph)), std::string("a_cast_x w_cast"));
    QCOMPARE(find(graph, "w_cast").colocate, find(graph, "w").colocate);
    const Graph step = training_graph(graph), plain = training_graph(given);
    // FLOPs of gradients do not depend on the casts: the cast counts as the parameter.
    for (const char* name : {"a/backward", "b/backward"})
        QCOMPARE(find(step, name).flops, find(plain, name).flops);
    QCOMPARE(type_of(step, "w_cast/backward"), DType::float32);
    QCOMPARE(find(step, "w/update").flops, find(plain, "w/update").flops);
}

void TestPrecision::gradientsAreCastBack() {
    const Graph step =
        training_graph(with_precision(graph_of({{op_of("x", "linear", {4, 8}, 256), {}},
                                                {op_of("norm", "layer_norm", {4, 8}), {"x"}},
                                                {op_of("y", "linear", {4, 8}, 256), {"norm"}}}),
                                      Precision::amp_fp16));
    // y reads a copy of norm in float16, whose gradient is in float16 and is cast for norm; and so on.
    QCOMPARE(type_of(step, "y/backward"), DType::float16);
    QCOMPARE(type_of(step, "y_cast_norm/backward"), DType::float32);
    QCOMPARE(type_of(step, "norm/backward"), DType::float32);
    QCOMPARE(type_of(step, "norm_cast_x/backward"), DType::float16);
    QCOMPARE(find(step, "x/weight_gradient").outputs[0].dtype, DType::float32);
    QCOMPARE(find(step, "x/update").flops, 2.0 * 64);
    // The backward of y keeps the copy, not the wide tensor.
    const Op& gradient = find(step, "y/weight_gradient");
    QVERIFY(std::ranges::find(gradient.inputs, TensorRef{*step.find("y_cast_norm"), 0}) !=
            gradient.inputs.end());
}

void TestPrecision::explicitSteps() {
    const Graph given = bert_base(1), plain = training_graph(given);
    for (const Precision precision : precisions()) {
        const Graph step = with_precision(plain, precision);
        QCOMPARE(group_by_constraints(step).size(), group_by_constraints(plain).size());
        std::size_t own = 0;
        for (const Op& op : step.ops()) {
            own += !op.autocast;
            const KindInfo& kind = kind_info(op.kind);
            if (precision == Precision::amp_bf16 && op.phase != Phase::update && kind.product)
                QVERIFY2(types_read(step, op) == std::set{DType::bfloat16}, op.name.c_str());
            if (precision == Precision::amp_bf16 && op.phase == Phase::update)
                QVERIFY2(types_read(step, op) == std::set{DType::float32}, op.name.c_str());
            if (op.autocast) QVERIFY(op.phase != Phase::update);
            if (op.forward_op != kInvalidOp) QVERIFY(op.name.starts_with(step.op(op.forward_op).name + '/'));
        }
        QCOMPARE(own, plain.size());
    }
}

void TestPrecision::namesDoNotClash() {
    const Graph given = graph_of({{op_of("x", "input", {4, 8}), {}},
                                  {op_of("y_cast_x", "relu", {4, 8}), {"x"}},
                                  {op_of("z_cast_x/backward", "relu", {4, 8}), {"x"}},
                                  {op_of("y", "linear", {4, 8}, 256), {"x"}},
                                  {op_of("z", "linear", {4, 8}, 256), {"x"}}});
    const Graph graph = with_precision(given, Precision::amp_fp16);
    QCOMPARE(join(casts_of(graph)), std::string("y_cast_x' z_cast_x'"));
    QVERIFY(training_graph(graph).size() > graph.size());
}

void TestPrecision::anotherPrecisionReplacesTheCasts() {
    const Graph given = transformer(1);
    const Graph mixed = with_precision(given, Precision::amp_fp16);
    for (const Precision precision : {Precision::fp32, Precision::amp_fp16, Precision::amp_bf16}) {
        const Graph direct = with_precision(given, precision), again = with_precision(mixed, precision);
        QCOMPARE(again.size(), direct.size());
        for (OpId id = 0; id < direct.size(); ++id) {
            QCOMPARE(again.op(id).name, direct.op(id).name);
            QCOMPARE(again.op(id).outputs, direct.op(id).outputs);
            QCOMPARE(again.op(id).inputs, direct.op(id).inputs);
            QCOMPARE(again.op(id).parameter_bytes, direct.op(id).parameter_bytes);
            QCOMPARE(parameter_type(again.op(id)), parameter_type(direct.op(id)));
        }
    }
}

void TestPrecision::sizesThatCannotBeCounted() {
    Op op = op_of("huge", "relu", {1}, 0, DType::float16);
    op.outputs[0].shape.reset();
    op.outputs[0].bytes = std::numeric_limits<std::int64_t>::max() - 1;
    const Graph graph = graph_of({{op, {}}});
    try {
        with_precision(graph, Precision::fp32);
        QFAIL("the size was counted");
    } catch (const GraphError& error) {
        QCOMPARE(QString(error.what()),
                 QStringLiteral("op \"huge\": its bytes in float32 are too many to be counted"));
    }
}

QTEST_GUILESS_MAIN(TestPrecision)
#include "tst_precision.moc"
