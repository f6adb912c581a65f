// SPDX-License-Identifier: MIT
// Ops split along their channels: sizes, costs and connections, worked out by hand.
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <QtTest>

#include "core/cost/cost_model.hpp"
#include "core/graph/channels.hpp"
#include "core/graph/kinds.hpp"
#include "core/graph/network_builder.hpp"
#include "core/graph/networks.hpp"
#include "core/graph/sharding.hpp"
#include "core/graph/training.hpp"
#include "core/sim/simulator.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

namespace {

using Shape = std::vector<std::int64_t>;
using Requests = std::vector<ShardRequest>;

Op make_op(const std::string& name, const std::string& kind, Shape shape) {
    Op op;
    op.name = name;
    op.kind = kind;
    op.outputs = {make_tensor(std::move(shape))};
    return op;
}

/// An op with its inputs; the other fields have defaults.
struct Layer {
    Op op;
    std::vector<std::string> inputs = {};
};

Graph make_graph(const std::vector<Layer>& layers, Training training = Training::implicit) {
    GraphBuilder builder("hand", 2, training);
    for (const Layer& layer : layers) builder.add(layer.op, layer.inputs);
    return builder.build();
}

const Op& find(const Graph& graph, const std::string& name) {
    const auto id = graph.find(name);
    if (!id) qFatal("there is no op %s", name.c_str());
    return graph.op(*id);
}

QString inputs_of(const Graph& graph, const std::string& name) {
    QStringList names;
    for (const TensorRef& input : find(graph, name).inputs) {
        names << QString::fromStdString(graph.op(input.op).name) +
                     (input.output > 0 ? ':' + QString::number(input.output) : QString());
    }
    return names.join(' ');
}

QString names_of(const Graph& graph) {
    QStringList names;
    for (const Op& op : graph.ops()) names << QString::fromStdString(op.name);
    return names.join(' ');
}

Shape shape_of(const Graph& graph, const std::string& name) {
    return *find(graph, name).outputs.front().shape;
}

bool close(double a, double b) {
    return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b));
}

/// Image of 4 channels -> 3x3 convolution of 7 channels -> relu, and a parallel max_pool2d.
Graph small_network() {
    NetworkBuilder net("small", 2);
    const Value image = net.input("image", std::array<std::int64_t, 3>{4, 8, 8});
    const Value conv = net.conv2d("block/conv", image, {.channels = 7, .window = {3, 1, 1}, .bias = true});
    net.relu("relu", conv);
    net.max_pool2d("pool", conv, {2, 2});
    return net.build();
}

/// A possible input of a split op "x": a value that needs a gradient, or parameters.
struct Source {
    Shape shape;
    bool parameters = false;
};

Source weights(Shape shape) {
    return {std::move(shape), true};
}

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
        {{"transpose"}, {{2, 4, 4}}, {{{2, 4, 4}}}, {}, 2, {}, "or its attributes do not say where"},
        {{"input", "constant", "arange", "full"}, {image}, {}, {}, 2, {}, "it is a source without inputs"},
        {{"nobody_knows"},
         {image},
         {{image}},
         {},
         2,
         {},
         "it is not known from which inputs its channels are computed"},
    };
    return cases;
}

/// Devices on which only arithmetic takes time.
Machine ideal_machine(std::size_t gpus) {
    const Machine machine = test::uniform_machine(gpus);
    std::vector<Device> devices(machine.devices().begin(), machine.devices().end());
    for (Device& device : devices) device.memory_bandwidth = 1e30;
    std::vector<Channel> channels(machine.channels().begin(), machine.channels().end());
    for (Channel& channel : channels) channel.bandwidth = 1e30;
    return Machine("ideal", devices, channels, {machine.routes().begin(), machine.routes().end()});
}

}  // namespace

class TestSharding : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void convolution();
    void nothingToSplit();
    void onePart();
    void partsReadParts();
    void otherPartsAreJoinedAndCut();
    void slicesOfWholeOps();
    void splitReadersJoinForThemselves();
    void elementwiseBroadcasts();
    void readTwice();
    void groups();
    void sequences();
    void volumesAndTransposed();
    void everythingAddsUp();
    void oddBytes();
    void constraints();
    void training();
    void exprimoTraining();
    void costs();
    void stepTime();
    void refusals_data();
    void refusals();
    void kinds_data();
    void kinds();
    void everyKind();
    void tiedWeights();
    void attentionHeads();
    void recurrentCells();
    void gradientsOfSlices();
    void sameNames();
    void sameSlices();
    void idealMachine_data();
    void idealMachine();
    void knownNetworks_data();
    void knownNetworks();
};

void TestSharding::convolution() {
    const Graph graph = shard(small_network(), Requests{{"block/conv", 3}});
    // Each reader has its own concatenation; 7 channels are split into 3 + 2 + 2.
    QCOMPARE(names_of(graph), QStringLiteral("image block/conv_shard0 block/conv_shard1 block/conv_shard2 "
                                             "relu_conc_block/conv relu pool_conc_block/conv pool"));
    const std::array<std::int64_t, 3> channels{3, 2, 2};
    for (std::size_t i = 0; i < 3; ++i) {
        const std::string name = "block/conv_shard" + std::to_string(i);
        const Op& part = find(graph, name);
        QVERIFY(shape_of(graph, name) == (Shape{2, channels[i], 8, 8}));
        QCOMPARE(inputs_of(graph, name), QStringLiteral("image"));
        QCOMPARE(part.flops, 2.0 * 2 * static_cast<double>(channels[i]) * 64 * 36);
        QCOMPARE(part.parameter_bytes, 4 * channels[i] * (36 + 1));
        QCOMPARE(part.kind, std::string("conv2d"));
        QCOMPARE(part.scope, std::string("block"));
        QCOMPARE(part.attributes.at("kernel"), std::string("[3,3]"));
        QVERIFY(part.colocate.empty());
    }
    for (const std::string reader : {"relu", "pool"}) {
        const Op& cat = find(graph, reader + "_conc_block/conv");
        QCOMPARE(cat.kind, std::string("cat"));
        QCOMPARE(cat.flops, 0.0);
        QCOMPARE(cat.parameter_bytes, std::int64_t{0});
        QCOMPARE(cat.attributes.at("dim"), std::string("1"));
        QVERIFY(*cat.outputs.front().shape == (Shape{2, 7, 8, 8}));
        QCOMPARE(inputs_of(graph, cat.name),
                 QStringLiteral("block/conv_shard0 block/conv_shard1 block/conv_shard2"));
        QCOMPARE(inputs_of(graph, reader), QString::fromStdString(cat.name));
        QVERIFY(!cat.colocate.empty());
        QCOMPARE(find(graph, reader).colocate, cat.colocate);
    }
    QVERIFY(find(graph, "relu").colocate != find(graph, "pool").colocate);
}

void TestSharding::nothingToSplit() {
    const Graph whole = small_network();
    QCOMPARE(names_of(shard(whole, {})), names_of(whole));
}

void TestSharding::onePart() {
    const Graph graph = shard(small_network(), Requests{{"block/conv", 1}});
    QVERIFY(shape_of(graph, "block/conv_shard0") == (Shape{2, 7, 8, 8}));
    QCOMPARE(inputs_of(graph, "relu_conc_block/conv"), QStringLiteral("block/conv_shard0"));
}

void TestSharding::partsReadParts() {
    NetworkBuilder net("chain", 2);
    const Value image = net.input("image", std::array<std::int64_t, 3>{3, 8, 8});
    const Value conv = net.conv2d("conv", image, {.channels = 5, .window = {1}});
    const Value norm = net.batch_norm("norm", conv);
    const Value relu = net.relu("relu", norm);
    const Value sum = net.add("sum", relu, conv);
    const Value pool = net.max_pool2d("pool", sum, {2, 2});
    net.flatten("flat", pool);
    const Graph graph =
        shard(net.build(), Requests{{"conv", 2}, {"norm", 2}, {"relu", 2}, {"sum", 2}, {"pool", 2}});
    // The parts are joined once, at the end.
    QCOMPARE(graph.size(), std::size_t{1 + 5 * 2 + 2});
    for (const QString i : {"0", "1"}) {
        QCOMPARE(inputs_of(graph, "norm_shard" + i.toStdString()), "conv_shard" + i);
        QCOMPARE(inputs_of(graph, "sum_shard" + i.toStdString()), "relu_shard" + i + " conv_shard" + i);
        QCOMPARE(inputs_of(graph, "pool_shard" + i.toStdString()), "sum_shard" + i);
    }
    QVERIFY(shape_of(graph, "pool_shard0") == (Shape{2, 3, 4, 4}));
    QCOMPARE(inputs_of(graph, "flat_conc_pool"), QStringLiteral("pool_shard0 pool_shard1"));
    QCOMPARE(find(graph, "norm_shard1").parameter_bytes, std::int64_t{4 * 2 * 2});
}

void TestSharding::otherPartsAreJoinedAndCut() {
    NetworkBuilder net("unequal", 2);
    const Value image = net.input("image", std::array<std::int64_t, 3>{3, 8, 8});
    net.relu("relu", net.conv2d("conv", image, {.channels = 6, .window = {1}}));
    const Graph graph = shard(net.build(), Requests{{"conv", 2}, {"relu", 3}});
    for (const QString i : {"0", "1", "2"}) {
        const std::string part = "relu_shard" + i.toStdString();
        QVERIFY(shape_of(graph, part) == (Shape{2, 2, 8, 8}));
        const int begin = 2 * i.toInt();
        const std::string narrow =
            part + "_narrow_conv_" + std::to_string(begin) + '_' + std::to_string(begin + 2);
        QCOMPARE(inputs_of(graph, part), QString::fromStdString(narrow));
        QCOMPARE(inputs_of(graph, narrow), "relu_shard" + i + "_conc_conv");
        // All three are on one device.
        QCOMPARE(find(graph, narrow).colocate, find(graph, part).colocate);
        QCOMPARE(find(graph, part + "_conc_conv").colocate, find(graph, part).colocate);
    }
    QCOMPARE(find(graph, "relu_shard1_narrow_conv_2_4").attributes.at("start"), std::string("2"));
    QCOMPARE(find(graph, "relu_shard1_narrow_conv_2_4").attributes.at("length"), std::string("2"));
}

void TestSharding::slicesOfWholeOps() {
    NetworkBuilder net("slices", 2);
    const Value image = net.input("image", std::array<std::int64_t, 3>{6, 8, 8});
    net.relu("relu", image);
    net.max_pool2d("pool", image, {2, 2});
    const Graph graph = shard(net.build(), Requests{{"relu", 2}, {"pool", 2}});
    // Both readers use the same slices, which are cut on the image's device.
    QCOMPARE(names_of(graph),
             QStringLiteral(
                 "image image_narrow_0_3 relu_shard0 image_narrow_3_6 relu_shard1 pool_shard0 pool_shard1"));
    QCOMPARE(inputs_of(graph, "pool_shard1"), QStringLiteral("image_narrow_3_6"));
    const Op& narrow = find(graph, "image_narrow_3_6");
    QCOMPARE(narrow.kind, std::string("narrow"));
    QCOMPARE(narrow.colocate, find(graph, "image").colocate);
    QVERIFY(!narrow.colocate.empty());
    QVERIFY(*narrow.outputs.front().shape == (Shape{2, 3, 8, 8}));
}

void TestSharding::splitReadersJoinForThemselves() {
    NetworkBuilder net("pair", 2);
    const Value image = net.input("image", std::array<std::int64_t, 3>{3, 8, 8});
    const Value first = net.conv2d("a", image, {.channels = 4, .window = {1}});
    net.conv2d("b", first, {.channels = 4, .window = {1}});
    const Graph graph = shard(net.build(), Requests{{"a", 2}, {"b", 2}});
    // Each part of a convolution reads all channels.
    QCOMPARE(names_of(graph),
             QStringLiteral("image a_shard0 a_shard1 b_shard0_conc_a b_shard0 b_shard1_conc_a b_shard1"));
    QVERIFY(find(graph, "b_shard0").colocate != find(graph, "b_shard1").colocate);
    QCOMPARE(find(graph, "b_shard1_conc_a").colocate, find(graph, "b_shard1").colocate);
}

void TestSharding::elementwiseBroadcasts() {
    const Graph whole =
        make_graph({{make_op("x", "input", {2, 6, 4, 4})},
                    {make_op("gate", "input", {2, 6, 1, 1})},
                    {make_op("scale", "input", {6, 1, 1})},
                    {make_op("mask", "input", {2, 1, 4, 4})},
                    {make_op("row", "input", {4})},
                    {make_op("mul", "mul", {2, 6, 4, 4}), {"x", "gate", "scale", "mask", "row"}}});
    const Graph graph = shard(whole, Requests{{"mul", 2}});
    QCOMPARE(inputs_of(graph, "mul_shard1"),
             QStringLiteral("x_narrow_3_6 gate_narrow_3_6 scale_narrow_3_6 mask row"));
    QVERIFY(shape_of(graph, "gate_narrow_3_6") == (Shape{2, 3, 1, 1}));
    QVERIFY(shape_of(graph, "scale_narrow_3_6") == (Shape{3, 1, 1}));
    QCOMPARE(find(graph, "scale_narrow_3_6").attributes.at("dim"), std::string("0"));
}

void TestSharding::readTwice() {
    const Graph whole = make_graph({{make_op("x", "input", {2, 4})},
                                    {make_op("fc", "linear", {2, 4}), {"x"}},
                                    {make_op("square", "matmul", {2, 2}), {"fc", "fc"}}});
    const Graph graph = shard(whole, Requests{{"fc", 2}});
    QCOMPARE(inputs_of(graph, "square"), QStringLiteral("square_conc_fc square_conc_fc"));
    QCOMPARE(graph.size(), std::size_t{5});
    // The name of a slice includes the index of the output.
    Op split = make_op("halves", "chunk", {2, 4, 8, 8});
    split.outputs.push_back(split.outputs.front());
    const Graph halves = shard(make_graph({{make_op("x", "input", {2, 8, 8, 8})},
                                           {split, {"x"}},
                                           {make_op("sum", "add", {2, 4, 8, 8}), {"halves", "halves:1"}}}),
                               Requests{{"sum", 2}});
    QCOMPARE(inputs_of(halves, "sum_shard0"), QStringLiteral("halves_narrow_0_2 halves_1_narrow_0_2"));
    QCOMPARE(inputs_of(halves, "halves_1_narrow_0_2"), QStringLiteral("halves:1"));
}

void TestSharding::groups() {
    NetworkBuilder net("groups", 1);
    const Value image = net.input("image", std::array<std::int64_t, 3>{6, 4, 4});
    const Value conv = net.conv2d("conv", image, {.channels = 6, .window = {1}});
    // Six groups of one channel each; three groups of four channels from two channels each.
    const Value depthwise = net.conv2d("depthwise", conv, {.channels = 6, .window = {3, 1, 1}, .groups = 6});
    net.conv2d("grouped", depthwise, {.channels = 12, .window = {1}, .groups = 3});
    const Graph graph = shard(net.build(), Requests{{"conv", 4}, {"depthwise", 4}, {"grouped", 2}});
    // 2 + 2 + 1 + 1 channels, each part from its own channels.
    QCOMPARE(inputs_of(graph, "depthwise_shard3"), QStringLiteral("conv_shard3"));
    QCOMPARE(find(graph, "depthwise_shard0").attributes.at("groups"), std::string("2"));
    QCOMPARE(find(graph, "depthwise_shard3").attributes.at("groups"), std::string("1"));
    QCOMPARE(find(graph, "depthwise_shard0").flops, 2.0 * 2 * 16 * 9);
    // Two groups and one group: 8 channels from 4, 4 channels from 2.
    QVERIFY(shape_of(graph, "grouped_shard0") == (Shape{1, 8, 4, 4}));
    QVERIFY(shape_of(graph, "grouped_shard0_narrow_depthwise_0_4") == (Shape{1, 4, 4, 4}));
    QVERIFY(shape_of(graph, "grouped_shard1") == (Shape{1, 4, 4, 4}));
    QVERIFY(shape_of(graph, "grouped_shard1_narrow_depthwise_4_6") == (Shape{1, 2, 4, 4}));
    QCOMPARE(find(graph, "grouped_shard1_narrow_depthwise_4_6").attributes.at("start"), std::string("4"));
    QCOMPARE(find(graph, "grouped_shard0").attributes.at("groups"), std::string("2"));
    QCOMPARE(find(graph, "grouped_shard1").parameter_bytes, std::int64_t{4 * 4 * 2});
}

void TestSharding::sequences() {
    // Features are in the last dimension; a normalisation over them is not split.
    Op table = make_op("embed", "embedding", {2, 5, 8});
    table.parameter_bytes = std::int64_t{4} * 100 * 8;
    const Graph whole = make_graph({{make_op("tokens", "input", {2, 5})},
                                    {table, {"tokens"}},
                                    {make_op("norm", "layer_norm", {2, 5, 8}), {"embed"}},
                                    {make_op("fc", "linear", {2, 5, 12}), {"norm"}},
                                    {make_op("gelu", "gelu", {2, 5, 12}), {"fc"}},
                                    {make_op("sum", "add", {2, 5, 8}), {"norm", "embed"}}});
    const Graph graph = shard(whole, Requests{{"embed", 2}, {"fc", 3}, {"gelu", 3}, {"sum", 2}});
    QVERIFY(shape_of(graph, "embed_shard1") == (Shape{2, 5, 4}));
    QCOMPARE(find(graph, "embed_shard1").parameter_bytes, std::int64_t{4} * 100 * 4);
    QCOMPARE(find(graph, "norm_conc_embed").attributes.at("dim"), std::string("2"));
    QVERIFY(shape_of(graph, "fc_shard2") == (Shape{2, 5, 4}));
    QCOMPARE(inputs_of(graph, "fc_shard2"), QStringLiteral("norm"));
    QCOMPARE(inputs_of(graph, "gelu_shard2"), QStringLiteral("fc_shard2"));
    QCOMPARE(inputs_of(graph, "sum_shard1"), QStringLiteral("norm_narrow_4_8 embed_shard1"));
}

void TestSharding::volumesAndTransposed() {
    const Graph whole = make_graph({{make_op("x", "input", {2, 3, 9})},
                                    {make_op("line", "conv1d", {2, 4, 9}), {"x"}},
                                    {make_op("single", "conv1d", {4, 9}), {"x"}},
                                    {make_op("y", "input", {2, 3, 4, 4, 4})},
                                    {make_op("volume", "conv3d", {2, 4, 4, 4, 4}), {"y"}},
                                    {make_op("pool", "max_pool3d", {2, 4, 2, 2, 2}), {"volume"}},
                                    {make_op("z", "input", {2, 3, 4, 4})},
                                    {make_op("up", "conv_transpose2d", {2, 4, 8, 8}), {"z"}}});
    const Graph graph =
        shard(whole, Requests{{"line", 2}, {"single", 2}, {"volume", 2}, {"pool", 2}, {"up", 2}});
    QVERIFY(shape_of(graph, "line_shard0") == (Shape{2, 2, 9}));
    QVERIFY(shape_of(graph, "single_shard0") == (Shape{2, 9}));
    QVERIFY(shape_of(graph, "volume_shard0") == (Shape{2, 2, 4, 4, 4}));
    QCOMPARE(inputs_of(graph, "pool_shard1"), QStringLiteral("volume_shard1"));
    QVERIFY(shape_of(graph, "up_shard1") == (Shape{2, 2, 8, 8}));
}

void TestSharding::everythingAddsUp() {
    Op fc = make_op("fc", "linear", {2, 10});
    fc.outputs.front().transfer_s = 5.0;
    fc.flops = 1000;
    fc.backward_flops = 2000;
    fc.parameter_bytes = 440;
    fc.resident_bytes = 50;
    fc.workspace_bytes = 64;
    fc.time_s = {{"A", {1.0, 2.0}}, {"B", {{}, 4.0}}};
    fc.in_place = true;
    fc.sends_together = true;
    Op relu = make_op("relu", "relu", {2, 10});
    relu.workspace_bytes = 100;
    const Graph graph = shard(make_graph({{make_op("x", "input", {2, 10})},
                                          {fc, {"x"}},
                                          {relu, {"fc"}},
                                          {make_op("out", "softmax", {2, 10}), {"relu"}}}),
                              Requests{{"fc", 4}, {"relu", 4}});
    // 3 + 3 + 2 + 2 features.
    const Op& first = find(graph, "fc_shard0");
    const Op& last = find(graph, "fc_shard3");
    QCOMPARE(first.flops, 300.0);
    QCOMPARE(*last.backward_flops, 400.0);
    QCOMPARE(first.parameter_bytes, std::int64_t{132});
    QCOMPARE(last.resident_bytes, std::int64_t{10});
    QVERIFY(close(*first.time_s.at("A").forward_s, 0.3));
    QVERIFY(close(*first.time_s.at("A").backward_s, 0.6));
    QVERIFY(!last.time_s.at("B").forward_s);
    QVERIFY(close(*last.time_s.at("B").backward_s, 0.8));
    QVERIFY(close(*first.outputs.front().transfer_s, 1.5));
    QVERIFY(first.in_place && first.sends_together);
    // Each part of a matrix product unfolds the whole input; a part of its activation does not.
    QCOMPARE(first.workspace_bytes, std::int64_t{64});
    QCOMPARE(find(graph, "relu_shard0").workspace_bytes, std::int64_t{30});
    QCOMPARE(find(graph, "relu_shard3").workspace_bytes, std::int64_t{20});
}

void TestSharding::oddBytes() {
    // Bytes that are not divisible by the number of channels are not lost.
    Op fc = make_op("fc", "linear", {1, 3});
    fc.parameter_bytes = 10;
    fc.resident_bytes = (std::int64_t{1} << 62) + 1;
    const Graph graph =
        shard(make_graph({{make_op("x", "input", {1, 3})}, {fc, {"x"}}}), Requests{{"fc", 3}});
    std::int64_t parameters = 0, resident = 0;
    for (const Op& op : graph.ops()) {
        parameters += op.parameter_bytes;
        resident += op.resident_bytes;
    }
    QCOMPARE(parameters, std::int64_t{10});
    QCOMPARE(resident, (std::int64_t{1} << 62) + 1);
}

void TestSharding::constraints() {
    const auto labelled = [](Op op, const std::string& label, std::vector<std::string> devices = {}) {
        op.colocate = label;
        op.devices = std::move(devices);
        return op;
    };
    const Graph whole =
        make_graph({{labelled(make_op("x", "input", {2, 4, 8, 8}), "relu")},
                    {labelled(make_op("conv", "conv2d", {2, 4, 8, 8}), "pair", {"gpu"}), {"x"}},
                    {labelled(make_op("norm", "batch_norm", {2, 4, 8, 8}), "pair"), {"conv"}},
                    {labelled(make_op("relu", "relu", {2, 4, 8, 8}), "", {"cpu:0"}), {"norm"}},
                    {labelled(make_op("a", "conv2d", {2, 4, 8, 8}), "mixed"), {"relu"}},
                    {labelled(make_op("b", "relu", {2, 4, 8, 8}), "mixed"), {"a"}}});
    const Graph graph = shard(whole, Requests{{"conv", 2}, {"norm", 2}, {"a", 2}});
    // All of "pair" is split alike and colocated part by part. "mixed" is not, so all of it stays together.
    QCOMPARE(find(graph, "conv_shard0").colocate, find(graph, "norm_shard0").colocate);
    QCOMPARE(find(graph, "conv_shard1").colocate, find(graph, "norm_shard1").colocate);
    QVERIFY(find(graph, "conv_shard0").colocate != find(graph, "conv_shard1").colocate);
    for (const std::string name : {"a_shard0", "a_shard1", "b", "b_conc_a"})
        QCOMPARE(find(graph, name).colocate, std::string("mixed"));
    QVERIFY(find(graph, "conv_shard1").devices == std::vector<std::string>{"gpu"});
    // The label created for relu and its concatenation is not used by another op.
    QVERIFY(find(graph, "relu_conc_norm").devices == std::vector<std::string>{"cpu:0"});
    QCOMPARE(find(graph, "relu_conc_norm").colocate, find(graph, "relu").colocate);
    QVERIFY(find(graph, "relu").colocate != find(graph, "x").colocate);
    QCOMPARE(find(graph, "x").colocate, std::string("relu"));
    const Grouping groups = group_by_constraints(graph);
    QCOMPARE(groups.group_of[*graph.find("relu_conc_norm")], groups.group_of[*graph.find("relu")]);
}

void TestSharding::training() {
    NetworkBuilder net("pair", 2);
    const Value image = net.input("image", std::array<std::int64_t, 3>{3, 8, 8});
    const Value first = net.conv2d("a", image, {.channels = 4, .window = {1}});
    const Value second = net.conv2d("b", first, {.channels = 6, .window = {1}});
    net.relu("relu", second);
    const Graph step = training_graph(shard(net.build(), Requests{{"b", 2}}));
    // Each part returns a gradient of the size of its input, and the producer adds both.
    const Tensor whole = make_tensor({2, 4, 8, 8});
    for (const std::string part : {"b_shard0/backward", "b_shard1/backward"})
        QVERIFY(find(step, part).outputs == std::vector<Tensor>{whole});
    QCOMPARE(inputs_of(step, "a/weight_gradient"),
             QStringLiteral("b_shard0/backward b_shard1/backward image"));
    // Each part gets the gradient of its own channels from the concatenation.
    const Tensor slice = make_tensor({2, 3, 8, 8});
    QVERIFY((find(step, "relu_conc_b/backward").outputs == std::vector<Tensor>{slice, slice}));
    QCOMPARE(inputs_of(step, "b_shard1/backward"), QStringLiteral("relu_conc_b/backward:1 a"));
    QCOMPARE(find(step, "b_shard1/weight_gradient").outputs.front().bytes, std::int64_t{4 * 3 * 4});
    QCOMPARE(find(step, "b_shard1/update").inputs.size(), std::size_t{1});
}

void TestSharding::exprimoTraining() {
    const Graph step = exprimo_training_graph(shard(small_network(), Requests{{"block/conv", 3}}));
    QCOMPARE(
        inputs_of(step, "image/backward"),
        QStringLiteral("block/conv_shard0/backward block/conv_shard1/backward block/conv_shard2/backward"));
    QVERIFY(find(step, "block/conv_shard2/backward").outputs ==
            std::vector<Tensor>{make_tensor({2, 4, 8, 8})});
    // One gradient from the concatenation of each reader.
    QCOMPARE(inputs_of(step, "block/conv_shard1/backward"),
             QStringLiteral("relu_conc_block/conv/backward:1 pool_conc_block/conv/backward:1 image"));
}

void TestSharding::costs() {
    const Graph whole = small_network();
    const Graph graph = shard(whole, Requests{{"block/conv", 3}, {"relu", 3}});
    Device device;
    device.peak_flops = 1e6;
    device.memory_bandwidth = 1e4;
    device.efficiency = 1;
    const double image_bytes = 4.0 * 2 * 4 * 64;
    const double padded_bytes = 4.0 * 2 * 4 * 100;
    const double part_bytes = 4.0 * 3 * 37 + 4.0 * 2 * 3 * 64;  // parameters and output of three channels
    const double flops = 2.0 * 2 * 3 * 64 * 36;
    const OpId part = *graph.find("block/conv_shard0");
    // A part reads the whole input but only its own parameters.
    QVERIFY(
        close(roofline_time_s(graph, part, device), std::max(flops / 1e6, (image_bytes + part_bytes) / 1e4)));
    QVERIFY(close(paleo_time_s(graph, part, device), flops / 1e6 + (padded_bytes + part_bytes) / 1e4));
    // The concatenation reads and writes all channels.
    const OpId cat = *graph.find("pool_conc_block/conv");
    QVERIFY(close(roofline_time_s(graph, cat, device), 2 * 4.0 * 2 * 7 * 64 / 1e4));
    QVERIFY(close(paleo_time_s(graph, cat, device), 2 * 4.0 * 2 * 7 * 64 / 1e4));
    // The parts of an elementwise op take the time of the whole op; a slice of a whole op is a view.
    double relu_s = 0;
    for (std::size_t i = 0; i < 3; ++i)
        relu_s += roofline_time_s(graph, *graph.find(shard_name("relu", i)), device);
    QVERIFY(close(relu_s, roofline_time_s(whole, *whole.find("relu"), device)));
    const Graph sliced = shard(whole, Requests{{"relu", 2}});
    QCOMPARE(roofline_time_s(sliced, *sliced.find("block/conv_narrow_0_4"), device), 0.0);
    QCOMPARE(paleo_time_s(sliced, *sliced.find("block/conv_narrow_0_4"), device), 0.0);
}

void TestSharding::stepTime() {
    // x is free; two parts of 1 ms each run on two devices at once; the other half of x and of the output is
    // sent at 1 GB/s.
    Op fc = make_op("fc", "linear", {1, 250'000});
    fc.flops = 2e9;
    Op x = make_op("x", "input", {1, 500'000});
    Op end = make_op("end", "output", {});
    end.outputs.clear();
    const Graph graph =
        shard(make_graph({{x}, {fc, {"x"}}, {end, {"fc"}}}, Training::none), Requests{{"fc", 2}});
    Machine machine = test::uniform_machine(2);
    const auto problem = test::problem(graph, machine);
    Placement placement(problem->groups, 0);
    placement[problem->grouping.group_of[*problem->graph->find("fc_shard1")]] = 1;
    const Outcome outcome = Simulator(problem).run(placement);
    QCOMPARE(outcome.transfers, std::uint64_t{2});
    // 2 MB sent, 1 ms of work, 0.5 MB returned; then 1 MB is read and 1 MB written at 1 TB/s, and 1 MB read.
    QVERIFY2(std::abs(outcome.step_time_s - (2e-3 + 1e-3 + 0.5e-3 + 2e-6 + 1e-6)) < 1e-12,
             qPrintable(QString::number(outcome.step_time_s, 'g', 12)));
}

void TestSharding::refusals_data() {
    QTest::addColumn<QString>("op");
    QTest::addColumn<int>("parts");
    QTest::addColumn<QString>("complaint");
    QTest::newRow("unknown") << "nobody" << 2 << "there is no op \"nobody\"";
    QTest::newRow("source") << "x" << 2 << "an op of kind \"input\" cannot be split by channels";
    QTest::newRow("over channels")
        << "softmax" << 2
        << "an op of kind \"softmax\" cannot be split by channels: it works across its channels";
    QTest::newRow("too many") << "conv" << 5
                              << "cannot be split into 5 parts, expected 1 to 4, one for each channel";
    QTest::newRow("none") << "conv" << 0 << "cannot be split into 0 parts";
    QTest::newRow("negative") << "conv" << -1 << "cannot be split into -1 parts";
    QTest::newRow("groups")
        << "grouped" << 3 << "cannot be split into 3 parts, expected 1 to 2, one for each group of channels";
    QTest::newRow("odd groups") << "odd" << 2 << "its 4 channels do not divide into 3 groups";
    QTest::newRow("no shape") << "bytes" << 2 << "has no channel dimension";
    QTest::newRow("scalar") << "scalar" << 2 << "has no channel dimension";
    QTest::newRow("two outputs") << "two" << 2 << "has no channel dimension";
    QTest::newRow("other channels") << "misfit" << 2 << "its input \"conv\" has 4 channels, expected 6";
    QTest::newRow("input without shape") << "blind" << 2 << "its input \"bytes\" has no shape";
}

void TestSharding::refusals() {
    QFETCH(const QString, op);
    QFETCH(const int, parts);
    QFETCH(const QString, complaint);
    Op grouped = make_op("grouped", "conv2d", {2, 4, 8, 8});
    grouped.attributes["groups"] = "2";
    Op odd = make_op("odd", "conv2d", {2, 4, 8, 8});
    odd.attributes["groups"] = "3";
    Op bytes = make_op("bytes", "relu", {});
    bytes.outputs = {Tensor{.shape = {}, .bytes = 64}};
    Op two = make_op("two", "relu", {2, 4});
    two.outputs.push_back(make_tensor({2, 3}));
    const Graph graph = make_graph({{make_op("x", "input", {2, 4, 8, 8})},
                                    {make_op("conv", "conv2d", {2, 4, 8, 8}), {"x"}},
                                    {make_op("softmax", "softmax", {2, 4, 8, 8}), {"x"}},
                                    {grouped, {"x"}},
                                    {odd, {"x"}},
                                    {bytes, {"x"}},
                                    {make_op("scalar", "relu", {}), {"x"}},
                                    {two, {"x"}},
                                    {make_op("misfit", "batch_norm", {2, 6, 8, 8}), {"conv"}},
                                    {make_op("blind", "batch_norm", {2, 6, 8, 8}), {"bytes"}}});
    try {
        shard(graph, Requests{{op.toStdString(), parts}});
        QFAIL("it was split");
    } catch (const GraphError& error) {
        QVERIFY2(QString::fromUtf8(error.what()).contains(complaint), error.what());
        QCOMPARE(QString::fromStdString(error.op()), op);
    }
    QVERIFY_THROWS_EXCEPTION(GraphError, shard(graph, Requests{{"conv", 2}, {"conv", 2}}));
    QVERIFY_THROWS_EXCEPTION(GraphError, shard(training_graph(small_network()), Requests{{"block/conv", 2}}));
    // The name of a part is already used by another op.
    const Graph taken =
        make_graph({{make_op("a", "conv2d", {1, 2, 4, 4})}, {make_op("a_shard1", "relu", {1})}});
    QVERIFY_THROWS_EXCEPTION(GraphError, shard(taken, Requests{{"a", 2}}));
}

void TestSharding::kinds_data() {
    QTest::addColumn<int>("index");
    QTest::addColumn<QString>("kind");
    for (int i = 0; i < static_cast<int>(kind_cases().size()); ++i) {
        for (const std::string& kind : kind_cases()[static_cast<std::size_t>(i)].kinds) {
            QTest::addRow("%s %d", kind.c_str(), i) << i << QString::fromStdString(kind);
        }
    }
}

void TestSharding::kinds() {
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
    for (const Op& step : training_graph(graph).ops()) work += step.flops;
    for (const Op& step : training_graph(whole).ops()) work -= step.flops;
    for (const Op& source : whole.ops()) {
        const bool read_whole = test.last_reads.split(' ').contains(QString::fromStdString(source.name));
        if (source.kind == "parameter" && read_whole)
            work -= (test.parts - 1) * static_cast<double>(element_count(source.outputs.front()));
    }
    QVERIFY2(std::abs(work) < 1e-6, qPrintable(QString::number(work)));
}

void TestSharding::everyKind() {
    std::set<std::string_view> tested;
    for (const KindCase& test : kind_cases()) tested.insert(test.kinds.begin(), test.kinds.end());
    for (const KindInfo& kind : known_kinds()) QVERIFY2(tested.contains(kind.name), kind.name.data());
}

void TestSharding::tiedWeights() {
    // Each part of the logits reads its rows of the table that the embedding also reads.
    const Graph graph = shard(find_network("gpt2")->build(1), Requests{{"logits", 2}});
    QCOMPARE(inputs_of(graph, "logits_shard0"), QStringLiteral("norm table_narrow_0_25129"));
    QCOMPARE(inputs_of(graph, "logits_shard1"), QStringLiteral("norm table_narrow_25129_50257"));
    QCOMPARE(inputs_of(graph, "embedding/words"), QStringLiteral("embedding/tokens table"));
    QVERIFY(shape_of(graph, "table_narrow_0_25129") == (Shape{25129, 768}));
    QCOMPARE(find(graph, "table_narrow_0_25129").colocate, find(graph, "table").colocate);
    // One update of the whole table, from the sum of the embedding's gradient and those of the rows.
    const Graph step = training_graph(graph);
    QCOMPARE(inputs_of(step, "table/weight_gradient"),
             QStringLiteral(
                 "embedding/words/backward table_narrow_0_25129/backward table_narrow_25129_50257/backward"));
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

void TestSharding::attentionHeads() {
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

void TestSharding::recurrentCells() {
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

void TestSharding::gradientsOfSlices() {
    // A slice returns its own gradient, which takes no new memory; the producer reads as much as without the
    // split.
    NetworkBuilder net("slices", 2);
    const Value image = net.input("image", std::array<std::int64_t, 3>{3, 8, 8});
    net.relu("relu", net.conv2d("conv", image, {.channels = 6, .window = {1}}));
    const Graph whole = training_graph(net.build());
    NetworkBuilder again("slices", 2);
    again.relu("relu", again.conv2d("conv", again.input("image", std::array<std::int64_t, 3>{3, 8, 8}),
                                    {.channels = 6, .window = {1}}));
    const auto problem = test::problem(shard(again.build(), Requests{{"relu", 2}}), test::uniform_machine(1));
    const Graph& step = *problem->graph;
    QCOMPARE(inputs_of(step, "conv/weight_gradient"),
             QStringLiteral("conv_narrow_0_3/backward conv_narrow_3_6/backward image"));
    const OpId narrow = *step.find("conv_narrow_0_3/backward");
    QVERIFY(step.op(narrow).outputs == std::vector<Tensor>{make_tensor({2, 3, 8, 8})});
    QCOMPARE(problem->output_bytes[problem->output_begin[narrow]], 0.0);
    QCOMPARE(op_traffic(step, *step.find("conv/weight_gradient")).read_bytes,
             op_traffic(whole, *whole.find("conv/weight_gradient")).read_bytes);
}

/// The second output of "cell" and the only output of "cell_1" would both be named "cell_1".
void TestSharding::sameNames() {
    Op cell = make_op("cell", "lstm_cell", {2, 8});
    cell.outputs.push_back(cell.outputs.front());
    const Graph graph = make_graph({{make_op("x", "input", {2, 8})},
                                    {cell, {"x"}},
                                    {make_op("cell_1", "linear", {2, 8}), {"x"}},
                                    {make_op("r", "add", {2, 8}), {"cell:1", "cell_1"}}});
    const Graph split = shard(graph, Requests{{"cell", 2}, {"cell_1", 2}});
    QCOMPARE(inputs_of(split, "r"), QStringLiteral("r_conc_cell_1 r_conc_cell_1'"));
    QCOMPARE(inputs_of(split, "r_conc_cell_1"), QStringLiteral("cell_shard0:1 cell_shard1:1"));
    QCOMPARE(inputs_of(split, "r_conc_cell_1'"), QStringLiteral("cell_1_shard0 cell_1_shard1"));
}

void TestSharding::sameSlices() {
    // A value multiplied by itself is cut once; slices with equal bounds in two dimensions are two slices.
    const Graph whole = make_graph({{make_op("x", "input", {2, 6, 4, 4})},
                                    {make_op("fc", "conv2d", {2, 6, 4, 4}), {"x"}},
                                    {make_op("square", "mul", {2, 6, 4, 4}), {"fc", "fc"}}});
    QCOMPARE(inputs_of(shard(whole, Requests{{"fc", 2}, {"square", 3}}), "square_shard2"),
             QStringLiteral("square_shard2_narrow_fc_4_6 square_shard2_narrow_fc_4_6"));
    QCOMPARE(inputs_of(shard(whole, Requests{{"square", 3}}), "square_shard2"),
             QStringLiteral("fc_narrow_4_6 fc_narrow_4_6"));
    Op table = make_op("table", "parameter", {6, 6});
    table.parameter_bytes = 144;
    const Graph tied = shard(make_graph({{make_op("x", "input", {2, 5})},
                                         {table},
                                         {make_op("words", "embedding", {2, 5, 6}), {"x", "table"}},
                                         {make_op("logits", "linear", {2, 5, 6}), {"words", "table"}}}),
                             Requests{{"words", 2}, {"logits", 2}});
    QCOMPARE(inputs_of(tied, "words_shard0"), QStringLiteral("x table_narrow_0_3"));
    QCOMPARE(inputs_of(tied, "logits_shard0"), QStringLiteral("logits_shard0_conc_words table_narrow_0_3'"));
    QCOMPARE(find(tied, "table_narrow_0_3").attributes.at("dim"), std::string("1"));
    QCOMPARE(find(tied, "table_narrow_0_3'").attributes.at("dim"), std::string("0"));
}

void TestSharding::idealMachine_data() {
    QTest::addColumn<QString>("network");
    QTest::addColumn<QStringList>("ops");
    QTest::newRow("convolution") << "resnet50" << QStringList{"layer3/0/conv2"};
    QTest::newRow("logits") << "gpt2" << QStringList{"logits"};
    QTest::newRow("attention") << "bert_base"
                               << QStringList{"layer1/self/query", "layer1/self/key",  "layer1/self/value",
                                              "layer1/self/heads", "layer1/mlp/inner", "layer1/mlp/gelu"};
    QStringList cells{"decoder2/weights"};
    for (int step = 0; step < 32; ++step) cells << QStringLiteral("decoder2/step%1/cell").arg(step);
    QTest::newRow("cells") << "nmt2" << cells;
}

void TestSharding::idealMachine() {
    QFETCH(const QString, network);
    QFETCH(const QStringList, ops);
    const Graph whole = find_network(network.toStdString())->build(1);
    Requests requests;
    for (const QString& op : ops) requests.push_back({op.toStdString(), 2});
    const Graph graph = shard(whole, requests);
    const auto step_time_s = [](const Graph& forward) {
        const auto problem = test::problem(forward, ideal_machine(2));
        Placement placement(problem->groups, 0);
        for (const Op& op : problem->forward->ops()) {
            if (op.name.ends_with("_shard1"))
                placement[problem->grouping.group_of[*problem->graph->find(op.name)]] = 1;
        }
        return Simulator(problem).run(placement).step_time_s;
    };
    const double before_s = step_time_s(whole), after_s = step_time_s(graph);
    QVERIFY2(after_s < before_s, qPrintable(QString("%1 s, was %2 s").arg(after_s).arg(before_s)));
}

void TestSharding::knownNetworks_data() {
    QTest::addColumn<QString>("network");
    QTest::addColumn<int>("parts");
    for (const NetworkInfo& info : known_networks()) {
        for (const int parts : {2, 3}) {
            const QString name =
                QString::fromUtf8(info.name.data(), static_cast<qsizetype>(info.name.size()));
            QTest::addRow("%s into %d", qPrintable(name), parts) << name << parts;
        }
    }
}

void TestSharding::knownNetworks() {
    QFETCH(const QString, network);
    QFETCH(const int, parts);
    const Graph whole = find_network(network.toStdString())->build(4);
    const ChannelMap channels(whole);
    Requests requests;
    for (OpId id = 0; id < whole.size(); ++id) {
        try {
            if (channels.of(id).units >= parts) requests.push_back({whole.op(id).name, parts});
        } catch (const GraphError&) {  // not every op can be split
        }
    }
    QVERIFY(2 * requests.size() > whole.size());
    const Graph graph = shard(whole, requests);
    const GraphTotals before = totals(whole), after = totals(graph);
    QCOMPARE(after.parameter_bytes, before.parameter_bytes);
    QVERIFY(close(after.forward_flops, before.forward_flops));
    for (const ShardRequest& request : requests) {
        const auto all_bytes = [](const Op& op) {
            return std::accumulate(op.outputs.begin(), op.outputs.end(), std::int64_t{0},
                                   [](std::int64_t sum, const Tensor& output) { return sum + output.bytes; });
        };
        std::int64_t bytes = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(parts); ++i)
            bytes += all_bytes(find(graph, shard_name(request.op, i)));
        QCOMPARE(bytes, all_bytes(find(whole, request.op)));
        QVERIFY(!graph.find(request.op));
    }
    // The graph can be trained and placed.
    const auto problem = test::problem(graph, test::uniform_machine(3));
    Placement placement(problem->groups);
    for (std::size_t i = 0; i < placement.size(); ++i) placement[i] = static_cast<DeviceId>(i % 3);
    QCOMPARE(Simulator(problem).run(placement).ops_run, std::uint64_t{problem->ops});
}

QTEST_GUILESS_MAIN(TestSharding)
#include "tst_sharding.moc"
