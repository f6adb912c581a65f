// SPDX-License-Identifier: MIT
// How an op of each kind is split along its channels, worked out by hand.
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <QtTest>

#include "core/cost/cost_model.hpp"
#include "core/graph/kinds.hpp"
#include "core/graph/networks.hpp"
#include "core/graph/sharding.hpp"
#include "core/graph/training.hpp"
#include "tests/support/sharding.hpp"

using namespace placewright;
using test::close, test::find, test::inputs_of, test::make_op, test::Requests, test::Shape, test::shape_of,
    test::Source, test::weights;

namespace {

/// An op "x" of each of the kinds, which reads "a", "b", ...
struct KindCase {
    std::vector<std::string> kinds;
    std::vector<Shape> outputs;
    std::vector<Source> inputs;
    std::map<std::string, std::string> attributes;
    int parts = 2;
    QString last_reads = {};  ///< inputs of the last part; empty: the op is refused
    QString refusal = {};
    std::int64_t parameter_bytes = 1234;
};

Graph graph_of(const KindCase& test, const std::string& kind) {
    GraphBuilder builder("kind", 2, Training::implicit);
    std::vector<std::string> names;
    for (const Source& source : test.inputs) {
        names.emplace_back(1, static_cast<char>('a' + names.size()));
        Op op = make_op(names.back(), source.parameters ? "parameter" : "layer", source.shape);
        op.parameter_bytes = source.parameters ? op.outputs.front().bytes : 4;
        builder.add(op, {});
    }
    Op op = make_op("x", kind, {});
    op.outputs.clear();
    for (const Shape& shape : test.outputs) op.outputs.push_back(make_tensor(shape));
    op.flops = 5040;
    op.parameter_bytes = test.parameter_bytes;
    op.resident_bytes = 77;
    op.attributes = test.attributes;
    builder.add(op, names);
    return builder.build();
}

// The channels of images are in dimension 1, those of rows and sequences in the last.
const std::vector<KindCase>& kind_cases() {
    const Shape image{2, 6, 4, 4}, sequence{2, 5, 6}, row{2, 6};
    static const std::vector<KindCase> cases{
        {{"conv1d"},
         {{2, 6, 9}},
         {{{2, 4, 9}}, weights({6, 4, 3}), weights({6})},
         {},
         3,
         "a b_narrow_4_6 c_narrow_4_6"},
        {{"conv2d"},
         {image},
         {{{2, 4, 4, 4}}, weights({6, 4, 3, 3}), weights({6})},
         {},
         3,
         "a b_narrow_4_6 c_narrow_4_6"},
        {{"conv3d"}, {{2, 6, 4, 4, 4}}, {{{2, 4, 4, 4, 4}}}, {}, 3, "a"},
        {{"conv_transpose1d"},
         {{2, 6, 9}},
         {{{2, 4, 9}}, weights({4, 6, 3}), weights({6})},
         {},
         2,
         "a b_narrow_3_6 c_narrow_3_6"},
        {{"conv_transpose2d"}, {image}, {{{2, 4, 4, 4}}, weights({4, 6, 3, 3})}, {}, 2, "a b_narrow_3_6"},
        {{"conv_transpose3d"}, {{2, 6, 4, 4, 4}}, {{{2, 4, 4, 4, 4}}}, {}, 2, "a"},
        {{"conv_transpose2d"},
         {image},
         {{{2, 4, 4, 4}}, weights({4, 3, 3, 3})},
         {{"groups", "2"}},
         2,
         "a_narrow_2_4 b_narrow_2_4"},
        {{"linear"},
         {sequence},
         {{{2, 5, 8}}, weights({6, 8}), weights({6})},
         {},
         4,
         "a b_narrow_5_6 c_narrow_5_6"},
        {{"linear"}, {sequence}, {{{2, 5, 8}}, {{6, 8}}}, {}, 2, "a b"},  // not parameters
        {{"bilinear"}, {row}, {{{2, 3}}, {{2, 4}}, weights({6, 3, 4})}, {}, 2, "a b c_narrow_3_6"},
        {{"embedding", "embedding_bag"}, {sequence}, {{{2, 5}}, weights({100, 6})}, {}, 2, "a b_narrow_3_6"},
        {{"one_hot"}, {sequence}, {{{2, 5}}}, {}, 2, "a"},
        {{"matmul", "mm"}, {row}, {{{2, 8}}, {{8, 6}}}, {}, 2, "a b_narrow_3_6"},
        {{"matmul"}, {row}, {{{2, 6, 8}}, {{8}}}, {}, 2, "a_narrow_3_6 b"},
        {{"bmm"}, {sequence}, {{{2, 5, 8}}, {{2, 8, 6}}}, {}, 2, "a b_narrow_3_6"},
        {{"addmm"}, {row}, {{{6}}, {{2, 8}}, {{8, 6}}}, {}, 2, "a_narrow_3_6 b c_narrow_3_6"},
        {{"baddbmm"}, {sequence}, {{{2, 5, 1}}, {{2, 5, 8}}, {{2, 8, 6}}}, {}, 2, "a b c_narrow_3_6"},
        {{"einsum"},
         {sequence},
         {{{2, 5, 8}}, {{6, 8}}},
         {{"equation", "\"bti,oi->bto\""}},
         2,
         "a b_narrow_3_6"},
        {{"einsum"}, {sequence}, {{{2, 5, 8}}, {{6, 8}}}, {}, 2, {}, "expected an attribute \"equation\""},
        {{"scaled_dot_product_attention"},
         {sequence},
         {{{2, 5, 6}}, {{2, 7, 6}}, {{2, 7, 6}}},
         {{"heads", "3"}},
         2,
         "a_narrow_4_6 b_narrow_4_6 c_narrow_4_6"},
        // With six query heads and three key heads, two queries share a key; the mask applies to all heads.
        {{"scaled_dot_product_attention"},
         {{2, 6, 5, 4}},
         {{{2, 6, 5, 4}}, {{2, 3, 7, 4}}, {{2, 3, 7, 4}}, {{5, 7}}, {{2, 6, 5, 7}}},
         {},
         3,
         "a_narrow_4_6 b_narrow_2_3 c_narrow_2_3 d e_narrow_4_6"},
        {{"scaled_dot_product_attention"},
         {sequence},
         {{{2, 5, 6}}, {{2, 7, 6}}, {{2, 7, 6}}},
         {},
         2,
         {},
         "its heads are not known"},
        {{"lstm_cell"},
         {row, row, {2, 24}},
         {{{2, 8}}, {{2, 6}}, weights({24, 15})},
         {},
         2,
         "a b c_narrow_12_24"},
        {{"gru_cell"}, {row}, {{{2, 8}}, {{2, 6}}, weights({18, 15})}, {}, 2, "a b c_narrow_9_18"},
        {{"rnn_cell"}, {row}, {{{2, 8}}, {{2, 6}}, weights({6, 15})}, {}, 2, "a b c_narrow_3_6"},
        {{"lstm", "gru", "rnn"},
         {sequence},
         {{{2, 5, 8}}},
         {},
         2,
         {},
         "each step reads all hidden units of the step before"},
        {{"parameter"}, {row}, {}, {}, 2, ""},

        {{"batch_norm", "instance_norm"},
         {image},
         {{image}, weights({6})},
         {},
         2,
         "a_narrow_3_6 b_narrow_3_6"},
        {{"prelu"}, {image}, {{image}, weights({1})}, {}, 2, "a_narrow_3_6 b"},
        {{"interpolate", "upsample"}, {{2, 6, 8, 8}}, {{image}}, {}, 2, "a_narrow_3_6"},
        {{"grid_sample"}, {{2, 6, 8, 8}}, {{image}, {{2, 8, 8, 2}}}, {}, 2, "a_narrow_3_6 b"},
        {{"group_norm"},
         {image},
         {{image}, weights({6}), weights({6})},
         {{"num_groups", "3"}},
         2,
         "a_narrow_4_6 b_narrow_4_6 c_narrow_4_6"},
        {{"group_norm"},
         {image},
         {{image}},
         {{"num_groups", "3"}},
         4,
         {},
         "expected 1 to 3, one for each group of channels"},
        {{"group_norm"}, {image}, {{image}}, {}, 2, {}, "expected an attribute \"num_groups\""},
        {{"max_pool1d", "avg_pool1d", "adaptive_max_pool1d", "adaptive_avg_pool1d"},
         {{2, 6, 4}},
         {{{2, 6, 8}}},
         {},
         2,
         "a_narrow_3_6"},
        {{"max_pool2d", "avg_pool2d", "adaptive_max_pool2d", "adaptive_avg_pool2d"},
         {{2, 6, 2, 2}},
         {{image}},
         {},
         2,
         "a_narrow_3_6"},
        {{"max_pool3d", "avg_pool3d", "adaptive_max_pool3d", "adaptive_avg_pool3d"},
         {{2, 6, 2, 2, 2}},
         {{{2, 6, 4, 4, 4}}},
         {},
         2,
         "a_narrow_3_6"},
        {{"pixel_shuffle"}, {{2, 3, 8, 8}}, {{{2, 12, 4, 4}}}, {}, 2, "a_narrow_8_12"},
        {{"pixel_unshuffle"}, {{2, 12, 4, 4}}, {{{2, 3, 8, 8}}}, {}, 3, "a_narrow_2_3"},
        {{"pixel_unshuffle"},
         {{2, 12, 4, 4}},
         {{{2, 3, 8, 8}}},
         {},
         4,
         {},
         "expected 1 to 3, one for each group of channels"},
        {{"layer_norm", "rms_norm"},
         {sequence},
         {{sequence}},
         {},
         2,
         {},
         "it normalizes across its channels"},
        {{"layer_norm", "rms_norm"},
         {image},
         {{image}, weights({4, 4})},
         {{"normalized_shape", "[4,4]"}},
         2,
         "a_narrow_3_6 b",
         {},
         0},
        {{"layer_norm"},
         {image},
         {{image}},
         {{"normalized_shape", "[4,4]"}},
         2,
         {},
         "its parameters belong to all channels"},
        {{"layer_norm"},
         {image},
         {{image}},
         {{"normalized_shape", "[6,4,4]"}},
         2,
         {},
         "it normalizes across its channels"},
        {{"local_response_norm"}, {image}, {{image}}, {}, 2, {}, "it normalizes over neighbouring channels"},
        {{"softmax", "log_softmax", "normalize", "cumsum"},
         {image},
         {{image}},
         {{"dim", "-1"}},
         2,
         "a_narrow_3_6"},
        {{"softmax", "log_softmax", "normalize", "cumsum"},
         {image},
         {{image}},
         {{"dim", "1"}},
         2,
         {},
         "each of which needs all others"},
        {{"softmax", "log_softmax"},
         {sequence},
         {{sequence}},
         {},
         2,
         {},
         "unless an attribute \"dim\" names another dimension"},
        {{"gather"}, {sequence}, {{{2, 9, 6}}, {sequence}}, {{"dim", "1"}}, 2, "a_narrow_3_6 b_narrow_3_6"},
        {{"index_select"}, {sequence}, {{{2, 9, 6}}, {{5}}}, {{"dim", "1"}}, 2, "a_narrow_3_6 b"},
        {{"topk"}, {{2, 3, 6}, {2, 3, 6}}, {{sequence}}, {{"dim", "1"}}, 2, "a_narrow_3_6"},
        {{"topk"},
         {{2, 5, 3}, {2, 5, 3}},
         {{sequence}},
         {{"dim", "2"}},
         2,
         {},
         "it works across its channels"},
        {{"repeat", "roll", "flip", "tril", "triu", "diagonal", "scatter", "unfold", "im2col", "col2im",
          "index_add", "scatter_add", "pack_padded_sequence", "pad_packed_sequence"},
         {image},
         {{image}},
         {},
         2,
         {},
         "depends on its position"},
        {{"cdist", "bucketize", "pairwise_distance", "cosine_similarity", "weight_norm"},
         {sequence},
         {{{2, 5, 9}}},
         {},
         2,
         {},
         "all of an input"},
        {{"index_select"},
         {sequence},
         {{{2, 5, 9}}, {{6}}},
         {{"dim", "2"}},
         2,
         {},
         "it works across its channels"},

        {{"relu",          "relu6",       "leaky_relu",  "elu",        "selu",
          "celu",          "gelu",        "silu",        "mish",       "softplus",
          "hardtanh",      "hardswish",   "hardsigmoid", "logsigmoid", "sigmoid",
          "tanh",          "clamp",       "abs",         "exp",        "log",
          "pow",           "sqrt",        "rsqrt",       "neg",        "round",
          "sign",          "dropout",     "dropout1d",   "dropout2d",  "dropout3d",
          "alpha_dropout", "clone",       "contiguous",  "identity",   "detach",
          "erf",           "sin",         "cos",         "reciprocal", "softsign",
          "threshold",     "ceil",        "floor",       "to",         "quantize_per_tensor",
          "dequantize",    "log1p",       "expm1",       "isinf",      "isnan",
          "isfinite",      "logical_not", "bitwise_not"},
         {image},
         {{image}},
         {},
         4,
         "a_narrow_5_6"},
        {{"add",
          "sub",
          "mul",
          "div",
          "masked_fill",
          "remainder",
          "addcmul",
          "addcdiv",
          "lerp",
          "maximum",
          "minimum",
          "logical_and",
          "logical_or",
          "logical_xor",
          "bitwise_and",
          "bitwise_or",
          "where",
          "eq",
          "ge",
          "gt",
          "le",
          "lt",
          "ne",
          "mse_loss",
          "l1_loss",
          "smooth_l1_loss",
          "kl_div",
          "binary_cross_entropy",
          "binary_cross_entropy_with_logits",
          "max",
          "min"},
         {image},
         {{image}, {{1, 6, 1, 1}}, {{4, 4}}},
         {},
         2,
         "a_narrow_3_6 b_narrow_3_6 c"},
        {{"mse_loss", "l1_loss", "smooth_l1_loss", "kl_div", "binary_cross_entropy",
          "binary_cross_entropy_with_logits"},
         {{}},
         {{image}, {image}},
         {},
         2,
         {},
         "has no channel dimension"},
        {{"cross_entropy", "nll_loss"}, {{2}}, {{row}}, {}, 2, {}, "a loss over classes needs all of them"},
        {{"expand"}, {{3, 2, 6}}, {{{2, 6}}}, {}, 2, "a_narrow_3_6"},
        {{"expand"}, {row}, {{{2, 1}}}, {}, 2, "a"},
        {{"glu"}, {row}, {{{2, 12}}}, {}, 2, "a_narrow_3_6 a_narrow_9_12"},
        {{"glu"}, {image}, {{{2, 6, 4, 8}}}, {{"dim", "3"}}, 2, "a_narrow_3_6"},
        {{"cat"}, {{2, 9}}, {{{2, 2}}, {{2, 4}}, {{2, 3}}}, {}, 2, "b_narrow_3_4 c"},
        {{"cat"}, {{2, 9, 6}}, {{{2, 4, 6}}, {{2, 5, 6}}}, {{"dim", "1"}}, 2, "a_narrow_3_6 b_narrow_3_6"},
        {{"cat"}, {{2, 9}}, {{{2, 2}}, {{2, 4}}}, {}, 2, {}, "its inputs have 6 channels, expected 9"},
        {{"stack"}, {{2, 3, 6}}, {{row}, {row}, {row}}, {}, 2, "a_narrow_3_6 b_narrow_3_6 c_narrow_3_6"},
        {{"pad"}, {{2, 6, 6, 6}}, {{image}}, {}, 2, "a_narrow_3_6"},
        {{"pad"}, {{2, 8, 4, 4}}, {{image}}, {}, 2, {}, "its channels are not those of its input"},
        {{"narrow", "slice"}, {{2, 6, 2, 4}}, {{image}}, {}, 2, "a_narrow_3_6"},
        {{"narrow", "slice"},
         {{2, 4, 4, 4}},
         {{image}},
         {},
         2,
         {},
         "its channels are not those of its input"},
        {{"split", "chunk"}, {{2, 3, 6}, {2, 2, 6}}, {{sequence}}, {}, 2, "a_narrow_3_6"},
        {{"split", "chunk"},
         {{2, 5, 3}, {2, 5, 3}},
         {{sequence}},
         {},
         2,
         {},
         "its channels are not those of its input"},
        {{"select"}, {row}, {{sequence}}, {}, 2, "a_narrow_3_6"},
        {{"select"}, {{2, 5}}, {{sequence}}, {}, 2, {}, "it does not keep the channels of its input"},
        {{"unbind"}, {row, row, row, row, row}, {{sequence}}, {{"dim", "1"}}, 2, "a_narrow_3_6"},
        {{"mean", "sum", "max", "min", "prod", "var", "norm", "logsumexp", "all", "any", "argmax", "argmin"},
         {row},
         {{image}},
         {{"dim", "[2,3]"}},
         2,
         "a_narrow_3_6"},
        {{"mean", "sum", "argmax", "argmin"}, {{2, 6, 1, 1}}, {{image}}, {}, 2, "a_narrow_3_6"},
        {{"mean", "sum", "max"},
         {{2, 4, 4}},
         {{image}},
         {{"dim", "1"}},
         2,
         {},
         "it does not keep the channels of its input"},
        {{"flatten", "reshape", "view"}, {{2, 96}}, {{image}}, {}, 4, "a_narrow_5_6"},
        {{"flatten"}, {{2, 96}}, {{image}}, {}, 7, {}, "expected 1 to 6, one for each group of channels"},
        {{"unflatten", "reshape", "view"}, {{2, 5, 3, 2}}, {{sequence}}, {}, 3, "a_narrow_4_6"},
        {{"flatten", "reshape"},
         {{2, 30}},
         {{sequence}},
         {},
         2,
         {},
         "it does not keep the channels of its input in one dimension"},
        {{"squeeze"}, {row}, {{{2, 1, 6}}}, {}, 2, "a_narrow_3_6"},
        {{"unsqueeze"}, {{2, 1, 6}}, {{row}}, {}, 2, "a_narrow_3_6"},
        {{"permute"}, {{2, 4, 4, 6}}, {{image}}, {{"dims", "[0,2,3,1]"}}, 2, "a_narrow_3_6"},
        {{"permute", "transpose"}, {{2, 6, 5}}, {{sequence}}, {}, 2, "a_narrow_3_6"},
        {{"transpose"}, {{2, 4, 4}}, {{{2, 4, 4}}}, {{"dim0", "1"}, {"dim1", "2"}}, 2, "a_narrow_2_4"},
        {{"transpose"}, {{2, 4, 4}}, {{{2, 4, 4}}}, {{"dims", "[-1,1]"}}, 2, "a_narrow_2_4"},
        {{"transpose"}, {{6, 2}}, {{row}}, {{"dims", "[-2,-1]"}}, 2, "a_narrow_3_6"},
        {{"transpose"}, {{2, 4, 4}}, {{{2, 4, 4}}}, {}, 2, {}, "or its attributes do not say where"},
        {{"input", "constant", "arange", "full"}, {image}, {}, {}, 2, {}, "it is a source without inputs"},
        {{"nobody_knows", "grouped_linear", "multi_head_attention_forward"},
         {image},
         {{image}},
         {},
         2,
         {},
         "it is not known from which inputs its channels are computed"},
    };
    return cases;
}

}  // namespace

class TestShardingKinds : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void kinds_data();
    void kinds();
    void everyKind();
    void tiedWeights();
    void attentionHeads();
    void recurrentCells();
};

void TestShardingKinds::kinds_data() {
    QTest::addColumn<int>("index");
    QTest::addColumn<QString>("kind");
    for (int i = 0; i < static_cast<int>(kind_cases().size()); ++i) {
        for (const std::string& kind : kind_cases()[static_cast<std::size_t>(i)].kinds) {
            QTest::addRow("%s %d", kind.c_str(), i) << i << QString::fromStdString(kind);
        }
    }
}

void TestShardingKinds::kinds() {
    QFETCH(const int, index);
    QFETCH(const QString, kind);
    const KindCase& test = kind_cases()[static_cast<std::size_t>(index)];
    const Graph whole = graph_of(test, kind.toStdString());
    if (!test.refusal.isEmpty()) {
        try {
            shard(whole, Requests{{"x", test.parts}});
            QFAIL("it was split");
        } catch (const GraphError& error) {
            const QString complaint = QString::fromUtf8(error.what());
            QVERIFY2(complaint.startsWith("op \"x\": "), error.what());
            QVERIFY2(complaint.contains(test.refusal), error.what());
        }
        return;
    }
    const Graph graph = shard(whole, Requests{{"x", test.parts}});
    QCOMPARE(inputs_of(graph, shard_name("x", static_cast<std::size_t>(test.parts - 1))), test.last_reads);
    const Op& op = find(whole, "x");
    double flops = 0;
    std::int64_t parameter_bytes = 0, resident_bytes = 0;
    std::vector<std::int64_t> output_bytes(op.outputs.size());
    for (std::size_t i = 0; i < static_cast<std::size_t>(test.parts); ++i) {
        const Op& part = find(graph, shard_name("x", i));
        QCOMPARE(part.kind, op.kind);
        flops += part.flops;
        parameter_bytes += part.parameter_bytes;
        resident_bytes += part.resident_bytes;
        QCOMPARE(part.outputs.size(), op.outputs.size());
        for (std::size_t k = 0; k < op.outputs.size(); ++k) {
            output_bytes[k] += part.outputs[k].bytes;
            QVERIFY(part.outputs[k].bytes > 0);
        }
    }
    QVERIFY(close(flops, op.flops));
    QCOMPARE(parameter_bytes, op.parameter_bytes);
    QCOMPARE(resident_bytes, op.resident_bytes);
    for (std::size_t k = 0; k < op.outputs.size(); ++k) QCOMPARE(output_bytes[k], op.outputs[k].bytes);
    // The step has the same work, plus the sum of gradients of parameters that each part reads whole.
    double work = 0;
    const Graph step = training_graph(graph), whole_step = training_graph(whole);
    for (const Op& each : step.ops()) work += each.flops;
    for (const Op& each : whole_step.ops()) work -= each.flops;
    for (const Op& source : whole.ops()) {
        const bool read_whole = test.last_reads.split(' ').contains(QString::fromStdString(source.name));
        if (source.kind == "parameter" && read_whole)
            work -= (test.parts - 1) * static_cast<double>(element_count(source.outputs.front()));
    }
    QVERIFY2(std::abs(work) < 1e-6, qPrintable(QString::number(work)));
}

void TestShardingKinds::everyKind() {
    std::set<std::string_view> tested;
    for (const KindCase& test : kind_cases()) tested.insert(test.kinds.begin(), test.kinds.end());
    for (const KindInfo& kind : known_kinds()) QVERIFY2(tested.contains(kind.name), kind.name.data());
}

void TestShardingKinds::tiedWeights() {
    // Each part of the logits reads its rows of the table that the embedding also reads.
    const Graph graph = shard(find_network("gpt2")->build(1), Requests{{"logits", 2}});
    QCOMPARE(inputs_of(graph, "logits_shard0"), QStringLiteral("norm table_narrow_0_25129"));
    QCOMPARE(inputs_of(graph, "logits_shard1"), QStringLiteral("norm table_narrow_25129_50257"));
    QCOMPARE(inputs_of(graph, "embedding/words"), QStringLiteral("embedding/tokens table"));
    QVERIFY(shape_of(graph, "table_narrow_0_25129") == (Shape{25129, 768}));
    QCOMPARE(find(graph, "table_narrow_0_25129").colocate, find(graph, "table").colocate);
    // One update of the whole table, from the sum of the embedding's gradient and those of the rows.
    const Graph step = training_graph(graph);
    QCOMPARE(inputs_of(step, "table/weight_gradient#1"),
             QStringLiteral("table_narrow_25129_50257/backward table_narrow_0_25129/backward"));
    QCOMPARE(inputs_of(step, "table/weight_gradient"),
             QStringLiteral("table/weight_gradient#1 embedding/words/backward"));
    QCOMPARE(find(step, "table/weight_gradient").flops, 50257.0 * 768);
    QCOMPARE(find(step, "table_narrow_0_25129/backward").outputs.front().bytes,
             std::int64_t{4} * 25129 * 768);

    // A split embedding reads columns; a split table serves the logits by part and the embedding by
    // concatenation.
    const Graph columns = shard(find_network("gpt2")->build(1), Requests{{"embedding/words", 2}});
    QCOMPARE(inputs_of(columns, "embedding/words_shard1"),
             QStringLiteral("embedding/tokens table_narrow_384_768"));
    const OpTraffic traffic = op_traffic(columns, *columns.find("embedding/words_shard1"));
    QCOMPARE(traffic.read_bytes, 1024.0 * 8 + 1024 * 384 * 4);
    const Graph rows = shard(find_network("gpt2")->build(1), Requests{{"table", 2}, {"logits", 2}});
    QCOMPARE(inputs_of(rows, "logits_shard1"), QStringLiteral("norm table_shard1"));
    QCOMPARE(find(rows, "table_shard1").parameter_bytes, std::int64_t{4} * 25128 * 768);
    QCOMPARE(inputs_of(rows, "embedding/words"),
             QStringLiteral("embedding/tokens embedding/words_conc_table"));
}

void TestShardingKinds::attentionHeads() {
    // Three heads of 64 features for each of the four parts.
    const Graph graph = shard(find_network("bert_base")->build(2), Requests{{"layer1/self/query", 4},
                                                                            {"layer1/self/key", 4},
                                                                            {"layer1/self/value", 4},
                                                                            {"layer1/self/heads", 4}});
    QCOMPARE(inputs_of(graph, "layer1/self/heads_shard2"),
             QStringLiteral("layer1/self/query_shard2 layer1/self/key_shard2 layer1/self/value_shard2"));
    QVERIFY(shape_of(graph, "layer1/self/heads_shard2") == (Shape{2, 128, 192}));
    QCOMPARE(find(graph, "layer1/self/heads_shard2").attributes.at("heads"), std::string("3"));
    QCOMPARE(inputs_of(graph, "layer1/self/output"),
             QStringLiteral("layer1/self/output_conc_layer1/self/heads"));
    // Twelve heads in five parts: 3 + 3 + 2 + 2 + 2.
    const Graph uneven = shard(find_network("bert_base")->build(2), Requests{{"layer1/self/heads", 5}});
    QCOMPARE(inputs_of(uneven, "layer1/self/heads_shard4"),
             QStringLiteral("layer1/self/query_narrow_640_768 layer1/self/key_narrow_640_768 "
                            "layer1/self/value_narrow_640_768"));
}

void TestShardingKinds::recurrentCells() {
    const std::string first = "decoder2/step0/cell", second = "decoder2/step1/cell";
    const Graph whole = find_network("nmt2")->build(2);
    const Graph graph = shard(whole, Requests{{first, 2}, {second, 2}});
    // A part reads the rows of the weights and the cell state of its own hidden units, and the whole hidden
    // state.
    QCOMPARE(inputs_of(graph, second + "_shard1"),
             QStringLiteral(
                 "decoder1/step1/cell decoder1/step1/attention/context_row %1_shard1_conc_%2 %2_shard1:1 "
                 "decoder2/weights_narrow_2048_4096")
                 .arg(QString::fromStdString(second), QString::fromStdString(first)));
    const Op& part = find(graph, second + "_shard1");
    QCOMPARE(part.outputs.size(), std::size_t{3});
    QVERIFY(*part.outputs[0].shape == (Shape{2, 512}) && *part.outputs[1].shape == (Shape{2, 512}) &&
            *part.outputs[2].shape == (Shape{2, 2048}));
    // The next step reads both states completely.
    const QString next = inputs_of(graph, "decoder2/step2/cell");
    QVERIFY2(next.contains("decoder2/step2/cell_conc_decoder2/step1/cell "
                           "decoder2/step2/cell_conc_decoder2/step1/cell_1 decoder2/weights"),
             qPrintable(next));
    QCOMPARE(inputs_of(graph, "decoder2/step2/cell_conc_decoder2/step1/cell_1"),
             QStringLiteral("decoder2/step1/cell_shard0:1 decoder2/step1/cell_shard1:1"));
    // Split weights are matched with the split cells.
    const Graph weights = shard(whole, Requests{{first, 2}, {"decoder2/weights", 2}});
    QVERIFY(inputs_of(weights, first + "_shard1").endsWith(QStringLiteral(" decoder2/weights_shard1")));
}

QTEST_GUILESS_MAIN(TestShardingKinds)
#include "tst_sharding_kinds.moc"
