// SPDX-License-Identifier: MIT
// Ops split along their channels: sizes, costs and connections by hand.
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <QtTest>

#include "core/cost/cost_model.hpp"
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

/// Ops with their inputs; all else is the default.
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
        names << QString::fromStdString(graph.op(input.op).name) + (input.output > 0 ? ':' + QString::number(input.output) : QString());
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

/// Image of 4 channels -> 3x3 convolution of 7 channels -> relu, and max_pool2d beside it.
Graph small_network() {
    NetworkBuilder net("small", 2);
    const Value image = net.input("image", std::array<std::int64_t, 3>{4, 8, 8});
    const Value conv = net.conv2d("block/conv", image, {.channels = 7, .window = {3, 1, 1}, .bias = true});
    net.relu("relu", conv);
    net.max_pool2d("pool", conv, {2, 2});
    return net.build();
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
    void knownNetworks_data();
    void knownNetworks();
};

void TestSharding::convolution() {
    const Graph graph = shard(small_network(), Requests{{"block/conv", 3}});
    // Each reader has a concatenation of its own; 7 channels are 3 + 2 + 2.
    QCOMPARE(
        names_of(graph),
        QStringLiteral("image block/conv_shard0 block/conv_shard1 block/conv_shard2 relu_conc_block/conv relu pool_conc_block/conv pool"));
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
        QCOMPARE(inputs_of(graph, cat.name), QStringLiteral("block/conv_shard0 block/conv_shard1 block/conv_shard2"));
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
    const Graph graph = shard(net.build(), Requests{{"conv", 2}, {"norm", 2}, {"relu", 2}, {"sum", 2}, {"pool", 2}});
    // Joined once, at the very end.
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
        const std::string narrow = part + "_narrow_conv_" + std::to_string(begin) + '_' + std::to_string(begin + 2);
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
    // Both readers take the same slices, cut where the image is.
    QCOMPARE(names_of(graph), QStringLiteral("image image_narrow_0_3 relu_shard0 image_narrow_3_6 relu_shard1 pool_shard0 pool_shard1"));
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
    // A convolution reads all channels, whatever its part.
    QCOMPARE(names_of(graph), QStringLiteral("image a_shard0 a_shard1 b_shard0_conc_a b_shard0 b_shard1_conc_a b_shard1"));
    QVERIFY(find(graph, "b_shard0").colocate != find(graph, "b_shard1").colocate);
    QCOMPARE(find(graph, "b_shard1_conc_a").colocate, find(graph, "b_shard1").colocate);
}

void TestSharding::elementwiseBroadcasts() {
    const Graph whole = make_graph({{make_op("x", "input", {2, 6, 4, 4})},
                                    {make_op("gate", "input", {2, 6, 1, 1})},
                                    {make_op("scale", "input", {6, 1, 1})},
                                    {make_op("mask", "input", {2, 1, 4, 4})},
                                    {make_op("row", "input", {4})},
                                    {make_op("mul", "mul", {2, 6, 4, 4}), {"x", "gate", "scale", "mask", "row"}}});
    const Graph graph = shard(whole, Requests{{"mul", 2}});
    QCOMPARE(inputs_of(graph, "mul_shard1"), QStringLiteral("x_narrow_3_6 gate_narrow_3_6 scale_narrow_3_6 mask row"));
    QVERIFY(shape_of(graph, "gate_narrow_3_6") == (Shape{2, 3, 1, 1}));
    QVERIFY(shape_of(graph, "scale_narrow_3_6") == (Shape{3, 1, 1}));
    QCOMPARE(find(graph, "scale_narrow_3_6").attributes.at("dim"), std::string("0"));
}

void TestSharding::readTwice() {
    const Graph whole = make_graph(
        {{make_op("x", "input", {2, 4})}, {make_op("fc", "linear", {2, 4}), {"x"}}, {make_op("square", "matmul", {2, 2}), {"fc", "fc"}}});
    const Graph graph = shard(whole, Requests{{"fc", 2}});
    QCOMPARE(inputs_of(graph, "square"), QStringLiteral("square_conc_fc square_conc_fc"));
    QCOMPARE(graph.size(), std::size_t{5});
    // Which of several outputs is cut is part of the name.
    Op split = make_op("halves", "chunk", {2, 4, 8, 8});
    split.outputs.push_back(split.outputs.front());
    const Graph halves = shard(
        make_graph({{make_op("x", "input", {2, 8, 8, 8})}, {split, {"x"}}, {make_op("sum", "add", {2, 4, 8, 8}), {"halves", "halves:1"}}}),
        Requests{{"sum", 2}});
    QCOMPARE(inputs_of(halves, "sum_shard0"), QStringLiteral("halves_narrow_0_2 halves_1_narrow_0_2"));
    QCOMPARE(inputs_of(halves, "halves_1_narrow_0_2"), QStringLiteral("halves:1"));
}

void TestSharding::groups() {
    NetworkBuilder net("groups", 1);
    const Value image = net.input("image", std::array<std::int64_t, 3>{6, 4, 4});
    const Value conv = net.conv2d("conv", image, {.channels = 6, .window = {1}});
    // Six groups of one channel each; three groups of four channels from two each.
    const Value depthwise = net.conv2d("depthwise", conv, {.channels = 6, .window = {3, 1, 1}, .groups = 6});
    net.conv2d("grouped", depthwise, {.channels = 12, .window = {1}, .groups = 3});
    const Graph graph = shard(net.build(), Requests{{"conv", 4}, {"depthwise", 4}, {"grouped", 2}});
    // 2 + 2 + 1 + 1 channels, each part from its own.
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
    // Features are in the last dimension; a normalisation over them stays whole.
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
    const Graph graph = shard(whole, Requests{{"line", 2}, {"single", 2}, {"volume", 2}, {"pool", 2}, {"up", 2}});
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
    const Graph graph =
        shard(make_graph({{make_op("x", "input", {2, 10})}, {fc, {"x"}}, {relu, {"fc"}}, {make_op("out", "softmax", {2, 10}), {"relu"}}}),
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
    // All of the input is unfolded for each part of a product; not for its function.
    QCOMPARE(first.workspace_bytes, std::int64_t{64});
    QCOMPARE(find(graph, "relu_shard0").workspace_bytes, std::int64_t{30});
    QCOMPARE(find(graph, "relu_shard3").workspace_bytes, std::int64_t{20});
}

void TestSharding::oddBytes() {
    // Bytes that do not divide into the channels are not lost.
    Op fc = make_op("fc", "linear", {1, 3});
    fc.parameter_bytes = 10;
    fc.resident_bytes = (std::int64_t{1} << 62) + 1;
    const Graph graph = shard(make_graph({{make_op("x", "input", {1, 3})}, {fc, {"x"}}}), Requests{{"fc", 3}});
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
    const Graph whole = make_graph({{labelled(make_op("x", "input", {2, 4, 8, 8}), "relu")},
                                    {labelled(make_op("conv", "conv2d", {2, 4, 8, 8}), "pair", {"gpu"}), {"x"}},
                                    {labelled(make_op("norm", "batch_norm", {2, 4, 8, 8}), "pair"), {"conv"}},
                                    {labelled(make_op("relu", "relu", {2, 4, 8, 8}), "", {"cpu:0"}), {"norm"}},
                                    {labelled(make_op("a", "conv2d", {2, 4, 8, 8}), "mixed"), {"relu"}},
                                    {labelled(make_op("b", "relu", {2, 4, 8, 8}), "mixed"), {"a"}}});
    const Graph graph = shard(whole, Requests{{"conv", 2}, {"norm", 2}, {"a", 2}});
    // All of "pair" is split alike: part with part. "mixed" is not, so all of it stays together.
    QCOMPARE(find(graph, "conv_shard0").colocate, find(graph, "norm_shard0").colocate);
    QCOMPARE(find(graph, "conv_shard1").colocate, find(graph, "norm_shard1").colocate);
    QVERIFY(find(graph, "conv_shard0").colocate != find(graph, "conv_shard1").colocate);
    for (const std::string name : {"a_shard0", "a_shard1", "b", "b_conc_a"}) QCOMPARE(find(graph, name).colocate, std::string("mixed"));
    QVERIFY(find(graph, "conv_shard1").devices == std::vector<std::string>{"gpu"});
    // The label that is made for relu and its concatenation is nobody else's.
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
    // Each part returns a gradient as large as what it reads, and the producer sums both.
    const Tensor whole = make_tensor({2, 4, 8, 8});
    for (const std::string part : {"b_shard0/backward", "b_shard1/backward"})
        QVERIFY(find(step, part).outputs == std::vector<Tensor>{whole});
    QCOMPARE(inputs_of(step, "a/weight_gradient"), QStringLiteral("b_shard0/backward b_shard1/backward image"));
    // Each part gets the gradient of its own channels from the concatenation.
    const Tensor slice = make_tensor({2, 3, 8, 8});
    QVERIFY((find(step, "relu_conc_b/backward").outputs == std::vector<Tensor>{slice, slice}));
    QCOMPARE(inputs_of(step, "b_shard1/backward"), QStringLiteral("relu_conc_b/backward:1 a"));
    QCOMPARE(find(step, "b_shard1/weight_gradient").outputs.front().bytes, std::int64_t{4 * 3 * 4});
    QCOMPARE(find(step, "b_shard1/update").inputs.size(), std::size_t{1});
}

void TestSharding::exprimoTraining() {
    const Graph step = exprimo_training_graph(shard(small_network(), Requests{{"block/conv", 3}}));
    QCOMPARE(inputs_of(step, "image/backward"),
             QStringLiteral("block/conv_shard0/backward block/conv_shard1/backward block/conv_shard2/backward"));
    QVERIFY(find(step, "block/conv_shard2/backward").outputs == std::vector<Tensor>{make_tensor({2, 4, 8, 8})});
    // One gradient from each reader's concatenation.
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
    // A part reads the whole input but its own parameters alone.
    QVERIFY(close(roofline_time_s(graph, part, device), std::max(flops / 1e6, (image_bytes + part_bytes) / 1e4)));
    QVERIFY(close(paleo_time_s(graph, part, device), flops / 1e6 + (padded_bytes + part_bytes) / 1e4));
    // Joining reads and writes all channels.
    const OpId cat = *graph.find("pool_conc_block/conv");
    QVERIFY(close(roofline_time_s(graph, cat, device), 2 * 4.0 * 2 * 7 * 64 / 1e4));
    QVERIFY(close(paleo_time_s(graph, cat, device), 2 * 4.0 * 2 * 7 * 64 / 1e4));
    // Parts of an elementwise op take together what the op took; a slice of a whole op is a view.
    double relu_s = 0;
    for (std::size_t i = 0; i < 3; ++i) relu_s += roofline_time_s(graph, *graph.find(shard_name("relu", i)), device);
    QVERIFY(close(relu_s, roofline_time_s(whole, *whole.find("relu"), device)));
    const Graph sliced = shard(whole, Requests{{"relu", 2}});
    QCOMPARE(roofline_time_s(sliced, *sliced.find("block/conv_narrow_0_4"), device), 0.0);
    QCOMPARE(paleo_time_s(sliced, *sliced.find("block/conv_narrow_0_4"), device), 0.0);
}

void TestSharding::stepTime() {
    // x is free; two parts of 1 ms each, on two devices at once; the other half of x and of the output travels at 1 GB/s.
    Op fc = make_op("fc", "linear", {1, 250'000});
    fc.flops = 2e9;
    Op x = make_op("x", "input", {1, 500'000});
    Op end = make_op("end", "output", {});
    end.outputs.clear();
    const Graph graph = shard(make_graph({{x}, {fc, {"x"}}, {end, {"fc"}}}, Training::none), Requests{{"fc", 2}});
    Machine machine = test::uniform_machine(2);
    const auto problem = test::problem(graph, machine);
    Placement placement(problem->groups, 0);
    placement[problem->grouping.group_of[*problem->graph->find("fc_shard1")]] = 1;
    const Outcome outcome = Simulator(problem).run(placement);
    QCOMPARE(outcome.transfers, std::uint64_t{2});
    // 2 MB there, 1 ms of work, 0.5 MB back; then 1 MB is read and 1 MB written at 1 TB/s, and 1 MB read.
    QVERIFY2(std::abs(outcome.step_time_s - (2e-3 + 1e-3 + 0.5e-3 + 2e-6 + 1e-6)) < 1e-12,
             qPrintable(QString::number(outcome.step_time_s, 'g', 12)));
}

void TestSharding::refusals_data() {
    QTest::addColumn<QString>("op");
    QTest::addColumn<int>("parts");
    QTest::addColumn<QString>("complaint");
    QTest::newRow("unknown") << "nobody" << 2 << "there is no op \"nobody\"";
    QTest::newRow("source") << "x" << 2 << "an op of kind \"input\" cannot be split by channels";
    QTest::newRow("over channels") << "softmax" << 2 << "an op of kind \"softmax\" cannot be split by channels: it works over its channels";
    QTest::newRow("too many") << "conv" << 5 << "cannot be split into 5 parts, expected 1 to 4, one for each channel";
    QTest::newRow("none") << "conv" << 0 << "cannot be split into 0 parts";
    QTest::newRow("negative") << "conv" << -1 << "cannot be split into -1 parts";
    QTest::newRow("groups") << "grouped" << 3 << "cannot be split into 3 parts, expected 1 to 2, one for each group of channels";
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
    // A name that another op has.
    const Graph taken = make_graph({{make_op("a", "conv2d", {1, 2, 4, 4})}, {make_op("a_shard1", "relu", {1})}});
    QVERIFY_THROWS_EXCEPTION(GraphError, shard(taken, Requests{{"a", 2}}));
}

void TestSharding::knownNetworks_data() {
    QTest::addColumn<QString>("network");
    QTest::addColumn<int>("parts");
    for (const NetworkInfo& info : known_networks()) {
        for (const int parts : {2, 3, 7}) {
            const QString name = QString::fromUtf8(info.name.data(), static_cast<qsizetype>(info.name.size()));
            QTest::addRow("%s into %d", qPrintable(name), parts) << name << parts;
        }
    }
}

void TestSharding::knownNetworks() {
    QFETCH(const QString, network);
    QFETCH(const int, parts);
    const Graph whole = find_network(network.toStdString())->build(4);
    Requests requests;
    for (const Op& op : whole.ops()) {
        if (op.kind == "conv2d" || op.kind == "linear" || op.kind == "relu" || op.kind == "batch_norm" || op.kind == "max_pool2d" ||
            op.kind == "add") {
            // Images hold their channels in dimension 1, rows and sequences in the last.
            const Shape& shape = *op.outputs.front().shape;
            if ((shape.size() == 4 ? shape[1] : shape.back()) >= parts) requests.push_back({op.name, parts});
        }
    }
    const Graph graph = shard(whole, requests);
    const GraphTotals before = totals(whole), after = totals(graph);
    QCOMPARE(after.parameter_bytes, before.parameter_bytes);
    QVERIFY(close(after.forward_flops, before.forward_flops));
    for (const ShardRequest& request : requests) {
        std::int64_t bytes = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(parts); ++i)
            bytes += find(graph, shard_name(request.op, i)).outputs.front().bytes;
        QCOMPARE(bytes, find(whole, request.op).outputs.front().bytes);
        QVERIFY(!graph.find(request.op));
    }
    // It trains and can be placed.
    const auto problem = test::problem(graph, test::uniform_machine(3));
    Placement placement(problem->groups);
    for (std::size_t i = 0; i < placement.size(); ++i) placement[i] = static_cast<DeviceId>(i % 3);
    QCOMPARE(Simulator(problem).run(placement).ops_run, std::uint64_t{problem->ops});
}

QTEST_GUILESS_MAIN(TestSharding)
#include "tst_sharding.moc"
