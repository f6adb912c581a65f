// SPDX-License-Identifier: MIT
// Ops split along their channels: sizes, costs and connections, worked out by hand.
#include <array>
#include <string>
#include <vector>

#include <QtTest>

#include "core/cost/cost_model.hpp"
#include "core/graph/network_builder.hpp"
#include "core/graph/sharding.hpp"
#include "core/graph/training.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/sharding.hpp"

using namespace placewright;
using test::close, test::find, test::inputs_of, test::make_graph, test::make_op, test::Requests, test::Shape,
    test::shape_of, test::small_network;

namespace {

QString names_of(const Graph& graph) {
    QStringList names;
    for (const Op& op : graph.ops()) names << QString::fromStdString(op.name);
    return names.join(' ');
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
    void refusals_data();
    void refusals();
    void gradientsOfSlices();
    void sameNames();
    void sameSlices();
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

QTEST_GUILESS_MAIN(TestSharding)
#include "tst_sharding.moc"
