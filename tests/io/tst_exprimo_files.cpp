// SPDX-License-Identifier: MIT
// Networks, machines and placements of Exprimo.
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTest>

#include "core/base/path.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/placements/placement_file.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/input_files.hpp"
#include "tests/support/reference.hpp"

using namespace placewright;
using test::changed, test::check_refusal, test::compare_graphs, test::content_of, test::kPlacement,
    test::refusal;

namespace {

const Path kData = PLACEWRIGHT_TEST_DATA;
/// Files of the reference system, if they lie beside the checkout.
const Path kReference = test::reference("exprimo");

}  // namespace

class TestExprimoFiles : public test::FileFixture {
    Q_OBJECT

private Q_SLOTS:
    void exprimoNetwork();
    void exprimoSplitInBlock();
    void exprimoPlacement();
    void exprimoBatch();
    void badExprimoNetworks_data();
    void badExprimoNetworks();
    void exprimoMachine();
    void badExprimoMachines_data();
    void badExprimoMachines();
    void exprimoReferenceNetworks_data();
    void exprimoReferenceNetworks();
    void exprimoReferenceMachines();
};

void TestExprimoFiles::exprimoNetwork() {
    const NetworkFile network = read_network(kData / "exprimo_network.json");
    const Graph& graph = network.graph;
    QCOMPARE(graph.name(), std::string("every layer type"));
    QCOMPARE(graph.batch(), std::int64_t{4});
    QVERIFY(graph.training() == Training::implicit);

    struct Expected {
        const char* name;
        const char* kind;
        std::vector<std::int64_t> shape;  // batch, channels, height, width
        double flops;
        std::int64_t parameters;
        std::vector<const char*> inputs;
    };
    const std::vector<Expected> expected{
        {"data", "input", {4, 3, 9, 7}, 0, 0, {}},
        // SAME: ceil(9 / 2) x ceil(7 / 2)
        // and 5 channels over two devices
        {"second_shard0",
         "conv2d",
         {4, 3, 5, 4},
         2.0 * 3 * 3 * 3 * 3 * (4 * 5 * 4),
         3 * 3 * 3 * 3 + 3,
         {"data"}},
        {"second_shard1",
         "conv2d",
         {4, 2, 5, 4},
         2.0 * 3 * 3 * 3 * 2 * (4 * 5 * 4),
         3 * 3 * 3 * 2 + 2,
         {"data"}},
        // padding 1: (9 + 2 - 3) / 2 + 1, (7 + 2 - 2) / 2 + 1
        {"block/conv",
         "conv2d",
         {4, 6, 5, 4},
         2.0 * 3 * 2 * 3 * 6 * (4 * 5 * 4),
         3 * 2 * 3 * 6 + 6,
         {"data"}},
        {"block/inner/act", "sigmoid", {4, 6, 5, 4}, 480, 0, {"block/conv"}},
        {"block/inner/norm", "batch_norm", {4, 6, 5, 4}, 480, 0, {"block/inner/act"}},
        {"join_conc_second", "cat", {4, 5, 5, 4}, 0, 0, {"second_shard0", "second_shard1"}},
        {"join", "cat", {4, 11, 5, 4}, 0, 0, {"block/inner/norm", "join_conc_second"}},
        {"max", "max_pool2d", {4, 11, 5, 4}, 2.0 * 9 * 880, 0, {"join"}},
        {"mean", "avg_pool2d", {4, 11, 5, 4}, 2.0 * 9 * 880, 0, {"join"}},
        {"sum", "add", {4, 11, 5, 4}, 880, 0, {"max", "mean"}},
        {"up", "upsample", {4, 11, 10, 8}, 0, 0, {"sum"}},
        {"deconv", "conv_transpose2d", {4, 8, 10, 8}, 2.0 * 5 * 5 * 8 * 880, 5 * 5 * 8 * 11 + 11, {"sum"}},
        {"drop", "dropout", {4, 8, 10, 8}, 2560, 0, {"deconv"}},
        {"flat", "reshape", {4, 640}, 0, 0, {"drop"}},
        {"again", "reshape", {4, 640}, 0, 0, {"flat"}},
        {"dense", "linear", {4, 10}, 2.0 * 4 * 640 * 10, 640 * 10 + 10, {"again"}},
        {"odds", "softmax", {4, 10}, 40, 0, {"dense"}},
    };
    QCOMPARE(graph.size(), expected.size());
    for (const Expected& want : expected) {
        const auto id = graph.find(want.name);
        QVERIFY2(id, want.name);
        const Op& op = graph.op(*id);
        QCOMPARE(op.kind, std::string(want.kind));
        QVERIFY2(op.outputs == std::vector<Tensor>{make_tensor(want.shape)}, want.name);
        QCOMPARE(op.flops, want.flops);
        QCOMPARE(op.parameter_bytes, 4 * want.parameters);
        QCOMPARE(op.inputs.size(), want.inputs.size());
        for (std::size_t i = 0; i < want.inputs.size(); ++i)
            QCOMPARE(graph.op(op.inputs[i].op).name, std::string(want.inputs[i]));
    }
    QCOMPARE(graph.op(*graph.find("block/inner/act")).scope, std::string("block/inner"));
    QCOMPARE(graph.op(*graph.find("data")).scope, std::string());

    const auto& attributes = graph.op(*graph.find("second_shard0")).attributes;
    const std::map<std::string, std::string> wanted{{"kernel", "[3,3]"},
                                                    {"stride", "[2,2]"},
                                                    {"padding", "[1,1]"},
                                                    {"exprimo.type", "\"Convolution\""},
                                                    {"exprimo.filter", "[3,3,-1,5]"},
                                                    {"exprimo.strides", "[1,2,2,1]"},
                                                    {"exprimo.padding", "\"SAME\""},
                                                    {"activation_fn", "\"relu\""},
                                                    {"normalizer_fn", "null"}};
    QVERIFY(attributes == wanted);
    QCOMPARE(graph.op(*graph.find("join")).attributes.at("dim"), std::string("1"));
    QCOMPARE(graph.op(*graph.find("join")).attributes.at("exprimo.dim"), std::string("3"));

    const std::map<std::string, std::int64_t> devices{{"data", 0},
                                                      {"second_shard0", 2},
                                                      {"second_shard1", 1},
                                                      {"join_conc_second", 1},
                                                      {"block/conv", 3},
                                                      {"block/inner/act", 3},
                                                      {"block/inner/norm", 0},
                                                      {"join", 1},
                                                      {"max", 0},
                                                      {"mean", 0},
                                                      {"sum", 0},
                                                      {"up", 0},
                                                      {"deconv", 0},
                                                      {"drop", 0},
                                                      {"flat", 0},
                                                      {"again", 0},
                                                      {"dense", 0},
                                                      {"odds", 0}};
    QVERIFY(network.device_index == devices);

    // Written in our format, the network stays the same, with a fixed batch size.
    write_network(graph, file("n.json"));
    compare_graphs(graph, read_network(file("n.json"), 4).graph);
}

void TestExprimoFiles::exprimoSplitInBlock() {
    // The device list of a block applies to all its layers; layers other than convolutions are on the first
    // device.
    const std::string network =
        changed(content_of(kData / "exprimo_network.json"), "\"device\": 3", "\"device\": [1, 0, 1]");
    const NetworkFile read = read_network(fileWith("n.json", network));
    QCOMPARE(read.device_index.at("block/conv_shard0"), 1);
    QCOMPARE(read.device_index.at("block/conv_shard1"), 0);
    QCOMPARE(read.device_index.at("block/conv_shard2"), 1);
    QCOMPARE(read.device_index.at("block/inner/act"), 1);
    QCOMPARE(read.device_index.at("block/inner/act_conc_block/conv"), 1);
    QVERIFY(!read.device_index.contains("block/conv"));
    QCOMPARE(read.device_index.size(), read.graph.size());
    const Path many = fileWith("many.json", changed(network, "[1, 0, 1]", "[0, 0, 0, 0, 0, 0, 0]"));
    check_refusal(refusal([&] { read_network(many); }), many,
                  "layer \"block/conv\": cannot be split into 7 parts");
}

void TestExprimoFiles::exprimoPlacement() {
    // The placement in the network file, a flat placement with a list, and one that names the parts are
    // equivalent.
    std::string network =
        changed(content_of(kData / "exprimo_network.json"), "\"device\": 3", "\"device\": 2");
    const Path file_of_network = fileWith("n.json", network);
    const NetworkFile read = read_network(file_of_network);
    const auto problem = test::problem(read.graph, test::uniform_machine(3));
    const Placement own = read_placement(file_of_network, *problem);
    QJsonObject flat, whole;
    const auto written = [&](const std::string& name, const QJsonObject& placement) {
        return fileWith(name, QJsonDocument(placement).toJson().toStdString());
    };
    for (const auto& [name, index] : read.device_index) {
        const QString op = QString::fromStdString(name);
        flat[op] = static_cast<int>(index);
        if (!name.starts_with("second") && name != "join_conc_second") whole[op] = static_cast<int>(index);
    }
    QVERIFY(read_placement(written("flat.json", flat), *problem) == own);
    whole["second"] = QJsonArray{2, 1};
    QVERIFY(read_placement(written("whole.json", whole), *problem) == own);
    whole["second"] = 2;
    const Placement together = read_placement(written("whole.json", whole), *problem);
    QVERIFY(together != own);
    QCOMPARE(together[problem->grouping.group_of[*problem->graph->find("second_shard1")]], DeviceId{2});
    whole["second"] = QJsonArray{2, 1, 0};
    const Path three = written("three.json", whole);
    check_refusal(refusal([&] { read_placement(three, *problem); }), three,
                  "second has 3 devices, but the op is split into 2 parts");

    // A list splits a convolution that the network file leaves whole, and no other op.
    const Graph unsplit =
        read_network(fileWith("whole_net.json", changed(network, "\"device\": [2, 1]", "\"device\": 2")))
            .graph;
    whole["second"] = QJsonArray{2, 1};
    whole["dense"] = QJsonArray{0, 1};
    whole["nobody"] = QJsonArray{0, 1};
    const auto requests = placed_in_parts(written("whole.json", whole), unsplit);
    QCOMPARE(requests.size(), std::size_t{1});
    QCOMPARE(requests[0].op, std::string("second"));
    QCOMPARE(requests[0].parts, std::int64_t{2});
    QVERIFY(placed_in_parts(file_of_network, unsplit).empty());
    QVERIFY(placed_in_parts(fileWith("own.json", kPlacement), unsplit).empty());

    const Path outside = fileWith("outside.json", changed(network, "\"device\": 2", "\"device\": 7"));
    check_refusal(refusal([&] { read_placement(outside, *problem); }), outside,
                  "devices that are not in the machine: \"7\"");
}

void TestExprimoFiles::exprimoBatch() {
    const Graph graph = read_network(kData / "exprimo_network.json", 32).graph;
    QCOMPARE(graph.batch(), std::int64_t{32});
    const Graph small = read_network(kData / "exprimo_network.json").graph;
    for (OpId id = 0; id < graph.size(); ++id) {
        QCOMPARE(graph.op(id).outputs[0].bytes, 8 * small.op(id).outputs[0].bytes);
        QCOMPARE(graph.op(id).flops, 8 * small.op(id).flops);
        QCOMPARE(graph.op(id).parameter_bytes, small.op(id).parameter_bytes);
    }
    const Path path = kData / "exprimo_network.json";
    check_refusal(refusal([&] { read_network(path, 0); }), path, "cannot have a batch size of 0");
}

void TestExprimoFiles::badExprimoNetworks_data() {
    QTest::addColumn<std::string>("before");
    QTest::addColumn<std::string>("after");
    QTest::addColumn<QString>("fragment");
    const auto add = [](const char* name, const char* before, const char* after, const char* fragment) {
        QTest::newRow(name) << std::string(before) << std::string(after) << QString::fromUtf8(fragment);
    };
    add("unknown type", "\"Sigmoid\"", "\"Swish\"",
        "layer \"block/inner/act\": type is \"Swish\", expected one of Block, Input, Convolution");
    add("no type", "\"type\": \"Sigmoid\", ", "", "layer \"block/inner/act\": \"type\" is missing");
    add("no parents", ", \"parents\": [\"max\", \"mean\"]", "", "layer \"sum\": \"parents\" is missing");
    add("unknown parent", "[\"max\", \"mean\"]", "[\"max\", \"median\"]",
        "layer \"sum\": has the parent \"median\"");
    add("too few parents", "[\"max\", \"mean\"]", "[\"max\"]",
        "layer \"sum\": has 1 parent, expected at least 2");
    add("too many parents", "[\"drop\"]", "[\"drop\", \"sum\"]", "layer \"flat\": has 2 parents, expected 1");
    add("cycle", "\"parents\": [\"data\"], \"endpoint\": \"inner\"",
        "\"parents\": [\"odds\"], \"endpoint\": \"inner\"", "is on a cycle");
    add("no endpoint", ", \"endpoint\": \"inner\"", "",
        "layer \"join\": has the block \"block\" as parent, which names no \"endpoint\"");
    add("unknown endpoint", "\"endpoint\": \"inner\"", "\"endpoint\": \"outer\"",
        "layer \"join\": has the parent \"block\"");
    add("channels", "[3, 3, -1, 5]", "[3, 3, 4, 5]",
        "layer \"second\": filter[2] is 4, but the input has 3 channels");
    add("filter of three", "[3, 3, -1, 5]", "[3, 3, 5]", "layer \"second\": filter has 3 items, expected 4");
    add("filter of zeros", "[3, 3, -1, 5]", "[0, 3, -1, 5]",
        "layer \"second\": filter[0] is 0, expected at least 1");
    add("huge filter", "[3, 3, -1, 5]", "[1073741824, 1073741824, -1, 1073741824]",
        "layer \"second\": shape [1073741824");
    add("padding", "\"SAME\"", "\"FULL\"", "padding is \"FULL\", expected \"SAME\", \"VALID\" or a list");
    add("large kernel", "[3, 3, -1, 5], \"strides\": [1, 2, 2, 1], \"padding\": \"SAME\"",
        "[3, 8, -1, 5], \"strides\": [1, 2, 2, 1], \"padding\": \"VALID\"",
        "layer \"second\": the kernel extent 8 exceeds the input extent 7");
    add("zero stride", "[1, 2, 2, 1]", "[1, 0, 2, 1]", "strides[1] is 0, expected at least 1");
    add("strides of text", "[1, 2, 2, 1]", "\"two\"", "strides is the string \"two\", expected a list");
    add("negative device", "\"device\": 1", "\"device\": -1",
        "layer \"join\": device is -1, expected at least 0");
    add("no device in a list", "\"device\": [2, 1]", "\"device\": []",
        "layer \"second\": device is an empty list");
    add("sum of unlike shapes", "[\"max\", \"mean\"]", "[\"max\", \"data\"]",
        "layer \"sum\": adds the shapes [4, 5, 4, 11] and [4, 9, 7, 3]");
    add("unlike shapes joined", "[\"block\", \"second\"]", "[\"block\", \"data\"]",
        "layer \"join\": joins the shapes [4, 5, 4, 6] and [4, 9, 7, 3]");
    add("dimension", "\"dim\": 3", "\"dim\": 4", "layer \"join\": dim is 4, expected at most 3");
    add("empty tensor", "[4, 9, 7, 3]", "[]", "layer \"data\": tensor is empty");
    add("negative tensor", "[4, 9, 7, 3]", "[4, 9, -7, 3]",
        "layer \"data\": tensor[2] is -7, expected at least 1");
    add("huge tensor", "[4, 9, 7, 3]", "[4, 1073741824, 1073741824, 1073741824]", "layer \"data\": shape [");
    add("two open extents", "[4, -1]", "[-1, -1]", "layer \"flat\": output_shape[1] is -1");
    add("unfit reshape", "[4, -1]", "[4, 7]", "layer \"flat\": output_shape does not fit");
    add("small reshape", "[4, -1]", "[4, 64]", "layer \"flat\": output_shape has fewer elements");
    add("deconvolution", "[4, 10, 8, 8]", "[4, 20, 8, 8]", "layer \"deconv\": output_shape does not fit");
    add("channels of a deconvolution", "[4, 10, 8, 8]", "[4, 10, 8, 9]",
        "layer \"deconv\": output_shape has 9 channels, but the filter gives 8");
    add("image expected", "\"type\": \"Softmax\", \"parents\": [\"dense\"]",
        "\"type\": \"AvgPool\", \"ksize\": [1, 1, 1, 1], \"strides\": [1, 1, 1, 1], \"padding\": \"SAME\", "
        "\"parents\": [\"dense\"]",
        "layer \"odds\": has an input of shape [4, 10], expected [batch, height, width, channels]");
    add("layers a list", "\"layers\": {\n    \"join\"", "\"layers\": [], \"old\": {\n    \"join\"",
        "layers is a list, expected an object");
    add("no layers", "\"layers\": {\n    \"join\"", "\"layers\": {}, \"old\": {\n    \"join\"", "no ops");
    add("name twice", "\"mean\": {", "\"max\": {", "the key \"max\" is twice");
    add("same name through a block", "\"mean\": {", "\"block/conv\": {",
        "layer \"block/conv\": the name is taken");
}

void TestExprimoFiles::badExprimoNetworks() {
    QFETCH(const std::string, before);
    QFETCH(const std::string, after);
    QFETCH(const QString, fragment);
    const Path path =
        fileWith("bad.json", changed(content_of(kData / "exprimo_network.json"), before, after));
    check_refusal(refusal([&] { read_network(path); }), path, fragment);
}

void TestExprimoFiles::exprimoMachine() {
    const Machine machine = read_machine(kData / "exprimo_machine.json");
    QCOMPARE(machine.name(), std::string("exprimo_machine"));
    QCOMPARE(machine.devices().size(), std::size_t{3});
    QCOMPARE(machine.device(0).name, std::string("cpu:0"));
    const Device gpu{"gpu:1", DeviceKind::gpu, "V100", 14e12, 900 * 0x1.0p30, 32e9, 1.0, 0.0, 1312e6};
    QVERIFY(machine.device(2) == gpu);
    QCOMPARE(machine.channels()[0].name, std::string("pcie3:0"));
    QCOMPARE(machine.channels()[0].bandwidth, 16 * 0x1.0p30);
    QCOMPARE(machine.channels()[1].efficiency, 1.0);
    const auto route = [](const Machine& on, DeviceId from, DeviceId to) {
        return std::vector<ChannelId>(on.route(from, to).begin(), on.route(from, to).end());
    };
    QCOMPARE(route(machine, 0, 2), std::vector<ChannelId>{1});
    // Between GPUs: the sender's link and the receiver's.
    QCOMPARE(route(machine, 1, 2), (std::vector<ChannelId>{0, 1}));
    QCOMPARE(route(machine, 2, 1), (std::vector<ChannelId>{1, 0}));

    // Two channels for only two devices: one per direction.
    std::string pair = changed(
        content_of(kData / "exprimo_machine.json"), "\"bandwidth\": 64}",
        "\"bandwidth\": 64}, {\"type\": \"nv\", \"bandwidth\": 1}, {\"type\": \"nv\", \"bandwidth\": 1}");
    pair = changed(changed(pair, "\"device\": 2, \"comm_channel\": 0", "\"device\": 2, \"comm_channel\": 2"),
                   "\"device\": 1, \"comm_channel\": 1", "\"device\": 1, \"comm_channel\": 3");
    const Machine duplex = read_machine(fileWith("duplex.json", pair));
    QCOMPARE(route(duplex, 1, 2), std::vector<ChannelId>{2});
    QCOMPARE(route(duplex, 2, 1), std::vector<ChannelId>{3});
}

void TestExprimoFiles::badExprimoMachines_data() {
    QTest::addColumn<std::string>("before");
    QTest::addColumn<std::string>("after");
    QTest::addColumn<QString>("fragment");
    const auto add = [](const char* name, const char* before, const char* after, const char* fragment) {
        QTest::newRow(name) << std::string(before) << std::string(after) << QString::fromUtf8(fragment);
    };
    add("missing pair", "{\"device\": 0, \"comm_channel\": 1}, ", "",
        "devices[2] \"gpu:1\": neighbours has no channel from \"gpu:1\" to \"cpu:0\" (device 0)");
    add("pair twice", "{\"device\": 2, \"comm_channel\": 1}, {\"device\": 0",
        "{\"device\": 0, \"comm_channel\": 1}, {\"device\": 0", "is listed twice");
    add("unknown device", "\"device\": 2", "\"device\": 3",
        "devices[0] \"cpu:0\": neighbours[1].device is 3, expected at most 2");
    add("unknown channel", "\"comm_channel\": 1", "\"comm_channel\": 2",
        "neighbours[1].comm_channel is 2, expected at most 1");
    add("type", "\"type\": \"cpu\"", "\"type\": \"fpga\"", "devices[0].type is \"fpga\", expected \"cpu\"");
    add("speed", "\"peak_gflops\": 1800", "\"peak_gflops\": -1", "device \"cpu:0\": peak_flops is -1e+09");
    add("memory as text", "\"memory\": 395", "\"memory\": \"395 GB\"",
        "devices[0].memory is the string \"395 GB\", expected a number");
    add("no neighbours", "\"neighbours\": [{\"device\": 1", "\"friends\": [{\"device\": 1",
        "devices[0] \"cpu:0\": \"neighbours\" is missing");
    add("bandwidth", "\"bandwidth\": 64", "\"bandwidth\": 0", "channel \"pcie3:1\": bandwidth is 0");
    add("no devices", "\"devices\": [", "\"devises\": [", "\"devices\" is missing");
}

void TestExprimoFiles::badExprimoMachines() {
    QFETCH(const std::string, before);
    QFETCH(const std::string, after);
    QFETCH(const QString, fragment);
    const Path path =
        fileWith("bad.json", changed(content_of(kData / "exprimo_machine.json"), before, after));
    check_refusal(refusal([&] { read_machine(path); }), path, fragment);
}

void TestExprimoFiles::exprimoReferenceNetworks_data() {
    QTest::addColumn<std::string>("table");
    QTest::newRow("folder") << std::string();
    if (!std::filesystem::is_directory(kReference / "costs")) return;
    for (const auto& entry : std::filesystem::directory_iterator(kReference / "costs")) {
        const std::string name = entry.path().filename();
        // Tables of sharded networks contain ops of their own.
        if (name.find("+sharded") == std::string::npos) QTest::newRow(name.c_str()) << entry.path().string();
    }
}

void TestExprimoFiles::exprimoReferenceNetworks() {
    QFETCH(const std::string, table);
    if (!std::filesystem::is_directory(kReference))
        QSKIP("the reference results are not beside this checkout");
    if (table.empty()) {
        std::size_t read = 0;
        for (const auto& entry : std::filesystem::directory_iterator(kReference / "nets")) {
            if (entry.path().extension() == ".json")
                read += read_network(entry.path()).graph.size() > 0 ? 1 : 0;
        }
        QVERIFY(read >= 9);
        return;
    }
    const QJsonObject root = QJsonDocument::fromJson(QByteArray::fromStdString(content_of(table))).object();
    const Graph graph = read_network(kReference / "nets" / (root["net"].toString().toStdString() + ".json"),
                                     root["batch_size"].toInt())
                            .graph;
    const QJsonArray ops = root["ops"].toArray();
    QCOMPARE(graph.size(), static_cast<std::size_t>(ops.size()));
    for (const QJsonValue& value : ops) {
        const QJsonObject want = value.toObject();
        const auto id = graph.find(want["name"].toString().toStdString());
        QVERIFY2(id, qPrintable(want["name"].toString()));
        const Op& op = graph.op(*id);
        QCOMPARE(op.outputs[0].bytes, static_cast<std::int64_t>(want["output_bytes"].toDouble()));
        QCOMPARE(op.parameter_bytes, static_cast<std::int64_t>(want["weight_bytes"].toDouble()));
        QStringList parents;
        for (const TensorRef& input : op.inputs) parents << QString::fromStdString(graph.op(input.op).name);
        QStringList wanted;
        for (const QJsonValue& parent : want["parents"].toArray()) wanted << parent.toString();
        QCOMPARE(parents, wanted);
    }
}

void TestExprimoFiles::exprimoReferenceMachines() {
    if (!std::filesystem::is_directory(kReference))
        QSKIP("the reference results are not beside this checkout");
    std::size_t read = 0;
    for (const auto& entry : std::filesystem::directory_iterator(kReference / "machines")) {
        const Path path = entry.path();
        if (path.stem() == "colocrl-2") {
            check_refusal(refusal([&] { read_machine(path); }), path,
                          "no channel from \"gpu:1\" to \"cpu:0\"");
            continue;
        }
        const QJsonObject root =
            QJsonDocument::fromJson(QByteArray::fromStdString(content_of(path))).object();
        const Machine machine = read_machine(path);
        QCOMPARE(machine.name(), path.stem().string());
        const QJsonArray devices = root["devices"].toArray();
        QCOMPARE(machine.devices().size(), static_cast<std::size_t>(devices.size()));
        QCOMPARE(machine.channels().size(), static_cast<std::size_t>(root["comm_channels"].toArray().size()));
        for (qsizetype from = 0; from < devices.size(); ++from) {
            for (const QJsonValue& neighbour : devices[from].toObject()["neighbours"].toArray()) {
                const auto route = machine.route(static_cast<DeviceId>(from),
                                                 static_cast<DeviceId>(neighbour["device"].toInt()));
                const auto back = machine.route(static_cast<DeviceId>(neighbour["device"].toInt()),
                                                static_cast<DeviceId>(from));
                QCOMPARE(int{route[0]}, neighbour["comm_channel"].toInt());
                QCOMPARE(route.size(), route[0] == back[0] ? std::size_t{1} : std::size_t{2});
                QCOMPARE(route.back(), back.front());
            }
        }
        ++read;
    }
    QVERIFY(read >= 17);
}

QTEST_GUILESS_MAIN(TestExprimoFiles)
#include "tst_exprimo_files.moc"
