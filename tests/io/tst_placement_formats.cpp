// SPDX-License-Identifier: MIT
// Placements exported for training runs: device maps (also read back), split points, device strings, tables.
#include <fstream>

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>
#include <sys/stat.h>

#include "core/algorithms.hpp"
#include "core/base/path.hpp"
#include "core/base/random.hpp"
#include "core/graph/networks.hpp"
#include "core/io/file_content.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/networks/traced_program.hpp"
#include "core/io/placements/device_map.hpp"
#include "core/io/placements/placed_network.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/io/placements/placement_formats.hpp"
#include "core/io/placements/split_points.hpp"
#include "core/io/placements/stages.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

namespace {

using Node = Program::Node;

Program::Value value(const std::string& name, std::vector<std::int64_t> shape = {4, 8}) {
    return {name, make_tensor(std::move(shape))};
}
Program::Parameter weight(const std::string& path, std::vector<std::int64_t> shape = {8, 8}) {
    return {path, path, make_tensor(std::move(shape)), true};
}

/// A linear map, two residual blocks of one functional add each, a tenth and a first layer whose names begin
/// alike, and a head.
Program blocks() {
    Program program;
    program.name = "blocks";
    program.batch = 4;
    program.inputs = {value("x")};
    std::string last = "x";
    const auto linear = [&](const std::string& scope, const std::string& input) {
        std::string path = scope;
        std::ranges::replace(path, '/', '.');
        program.parameters.push_back(weight(path + ".weight"));
        program.parameters.push_back(weight(path + ".bias", {8}));
        program.nodes.push_back(Node{.name = scope,
                                     .kind = "linear",
                                     .scope = scope,
                                     .inputs = {input, path + ".weight", path + ".bias"},
                                     .outputs = {value(scope + ":out")}});
        return scope + ":out";
    };
    last = linear("stem", last);
    for (const std::string block : {"layers/1", "layers/10"}) {
        const std::string inner = linear(block + "/fc1", last);
        program.nodes.push_back(Node{.name = block + "/act",
                                     .kind = "relu",
                                     .scope = block + "/act",
                                     .inputs = {inner},
                                     .outputs = {value(block + "/act:out")}});
        const std::string outer = linear(block + "/fc2", block + "/act:out");
        program.nodes.push_back(Node{.name = block + "/add",
                                     .kind = "add",
                                     .scope = block,
                                     .inputs = {last, outer},
                                     .outputs = {value(block + "/add:out")}});
        last = block + "/add:out";
    }
    program.outputs = {linear("head", last)};
    return program;
}

/// Tokens through a table, a linear map, and back through the same table in another module.
Program tied() {
    Program program;
    program.name = "tied";
    program.batch = 2;
    program.inputs = {{"tokens", make_tensor({2, 5}, DType::int64)}};
    program.parameters = {weight("wte.weight", {100, 8}), weight("h.0.weight"), weight("h.0.bias", {8})};
    program.nodes = {
        Node{.name = "embed",
             .kind = "embedding",
             .scope = "wte",
             .inputs = {"wte.weight", "tokens"},
             .outputs = {value("e", {2, 5, 8})}},
        Node{.name = "map",
             .kind = "linear",
             .scope = "h/0",
             .inputs = {"e", "h.0.weight", "h.0.bias"},
             .outputs = {value("m", {2, 5, 8})}},
        Node{.name = "logits",
             .kind = "linear",
             .scope = "lm_head",
             .inputs = {"m", "wte.weight"},
             .outputs = {value("y", {2, 5, 100})}},
    };
    program.outputs = {"y"};
    return program;
}

/// cpu:0, gpu:0 with a memory, gpu:1, gpu:2.
Machine four(double memory_bytes = 1e11) {
    std::vector<Device> devices;
    for (const char* name : {"cpu:0", "gpu:0", "gpu:1", "gpu:2"}) {
        Device& device = devices.emplace_back();
        device.name = device.model = name;
        device.kind = device.name == "cpu:0" ? DeviceKind::cpu : DeviceKind::gpu;
        device.peak_flops = 1e12;
        device.memory_bandwidth = device.memory_bytes = 1e11;
    }
    devices[1].memory_bytes = memory_bytes;
    Channel bus;
    bus.name = "bus";
    bus.bandwidth = 1e9;
    std::vector<Route> routes;
    for (DeviceId from = 0; from < 4; ++from) {
        for (DeviceId to = 0; to < 4; ++to) {
            if (from != to) routes.push_back({from, to, {0}});
        }
    }
    return Machine("four", std::move(devices), {bus}, std::move(routes));
}

/// A placement by op name; ops that are not named are with their predecessor in the graph.
PlacedNetwork placed_as(Graph graph, const std::vector<std::pair<std::string, DeviceId>>& devices,
                        Machine machine = four(), const ProblemOptions& options = {}) {
    const auto problem = test::problem(std::move(graph), std::move(machine), options);
    Placement placement(problem->groups, devices.front().second);
    DeviceId device = devices.front().second;
    for (OpId op = 0; op < problem->forward->size(); ++op) {
        for (const auto& [name, other] : devices) {
            if (problem->forward->op(op).name == name) device = other;
        }
        placement[problem->grouping.group_of[op]] = device;
    }
    return {problem, placement, {}, {}, "net"};
}

PlacedNetwork placed_as(const Program& program,
                        const std::vector<std::pair<std::string, DeviceId>>& devices) {
    return placed_as(network_of("net", program).graph, devices);
}

/// Two layers that each slice a table of positions of the whole model, which is computed from a buffer.
Graph with_table() {
    GraphBuilder builder("table", 4);
    const auto add = [&](const std::string& name, const std::string& kind, const std::string& scope,
                         std::vector<std::string> inputs) {
        Op op;
        op.name = name;
        op.kind = kind;
        op.scope = scope;
        op.flops = 1e6;
        op.parameter_bytes = kind == "linear" ? 64 : 0;
        op.outputs = {make_tensor({4, 4})};
        builder.add(op, std::move(inputs));
    };
    add("x", "input", "", {});
    add("cos", "cos", "rotary", {});
    for (const std::string layer : {"0", "1"}) {
        add(layer + "/linear", "linear", "layers/" + layer, {layer == "0" ? "x" : "0/mul"});
        add(layer + "/slice", "slice", "layers/" + layer, {"cos"});
        add(layer + "/mul", "mul", "layers/" + layer, {layer + "/linear", layer + "/slice"});
    }
    return builder.build();
}

QJsonObject object_of(const WrittenPlacement& written) {
    return QJsonDocument::fromJson(QByteArray::fromStdString(written.content)).object();
}

DeviceId device_of(const PlacedNetwork& placed, const Placement& placement, const std::string& op) {
    return placement[placed.problem->grouping.group_of[*placed.problem->graph->find(op)]];
}

QString warnings_of(const WrittenPlacement& written) {
    QStringList lines;
    for (const std::string& warning : written.warnings) lines << QString::fromStdString(warning);
    return lines.join('\n');
}

/// Message of the error of `call`.
template <class Error, class Call>
QString error_of(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return QString::fromStdString(error.what());
    }
    return {};
}

}  // namespace

class TestPlacementFormats : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    Path written(const QByteArray& text) {
        const Path file = folder_.filePath(QStringLiteral("map.json")).toStdString();
        std::ofstream(file) << text.toStdString();
        return file;
    }

private Q_SLOTS:
    void fullMapNamesEveryModuleOnce() {
        const auto placed = placed_as(blocks(), {{"x", 1}, {"layers/10/fc1", 2}, {"head", 0}});
        const WrittenPlacement map = device_map(placed, DeviceMapForm::full);
        QCOMPARE(object_of(map), (QJsonObject{{"stem", 0},
                                              {"layers.1.fc1", 0},
                                              {"layers.1.act", 0},
                                              {"layers.1.fc2", 0},
                                              {"layers.10.fc1", 1},
                                              {"layers.10.act", 1},
                                              {"layers.10.fc2", 1},
                                              {"head", "cpu"}}));
        QVERIFY(map.content.starts_with("{\n  \"stem\": 0,\n"));  // in network order, with GPUs as numbers
    }

    /// Like PyTorch's attention: a module with its own weights and a submodule.
    void modulesWithParametersOfTheirOwnAreKeysWhereAllOfThemIsTogether() {
        Program program;
        program.name = "attention";
        program.batch = 4;
        program.inputs = {value("x"), value("mask", {64, 64})};
        program.parameters = {weight("attn.in_proj_weight"), weight("attn.out_proj.weight"),
                              weight("head.weight")};
        const auto node = [&](const char* name, const char* kind, const char* scope,
                              std::vector<std::string> inputs) {
            program.nodes.push_back(Node{.name = name,
                                         .kind = kind,
                                         .scope = scope,
                                         .inputs = std::move(inputs),
                                         .outputs = {value(std::string(name) + ":out")}});
        };
        node("in", "linear", "attn", {"x", "attn.in_proj_weight"});
        node("softmax", "softmax", "attn", {"in:out", "mask"});
        node("out", "linear", "attn/out_proj", {"softmax:out", "attn.out_proj.weight"});
        node("head", "linear", "head", {"out:out", "head.weight"});
        program.outputs = {"head:out"};

        // The softmax runs on the device of its module, not on that of the larger mask.
        const auto together = placed_as(program, {{"x", 2}, {"in", 1}, {"head", 2}});
        const WrittenPlacement full = device_map(together, DeviceMapForm::full);
        QCOMPARE(object_of(full), (QJsonObject{{"attn", 0}, {"attn.out_proj", 0}, {"head", 1}}));
        QCOMPARE(full.outcome, device_map(together, DeviceMapForm::compact).outcome);
        QVERIFY2(!warnings_of(full).contains("softmax"), qPrintable(warnings_of(full)));

        const auto apart = placed_as(program, {{"x", 1}, {"out", 2}});
        QCOMPARE(object_of(device_map(apart, DeviceMapForm::full)),
                 (QJsonObject{{"attn.in_proj_weight", 0}, {"attn.out_proj", 1}, {"head", 1}}));
    }

    void opsOutsideOfModulesAreKeysByTheirName() {
        Program program = blocks();
        for (auto& node : program.nodes) {
            if (node.name == "stem") node.name = "/Gemm", node.scope.clear();
        }
        for (auto& parameter : program.parameters) {
            if (parameter.path.starts_with("stem.")) parameter.path = "onnx::" + parameter.path;
        }
        const WrittenPlacement map =
            device_map(placed_as(program, {{"x", 1}, {"layers/1/fc1", 2}}), DeviceMapForm::full);
        QCOMPARE(object_of(map)["Gemm"], QJsonValue(0));
    }

    void compactMapMergesWhatIsTogether() {
        const auto placed = placed_as(blocks(), {{"x", 1}, {"layers/10/fc1", 2}, {"head", 3}});
        QCOMPARE(object_of(device_map(placed, DeviceMapForm::compact)),
                 (QJsonObject{{"stem", 0}, {"layers.1", 0}, {"layers.10", 1}, {"head", 2}}));
        // Different siblings are not merged; the whole model is "".
        const auto cut = placed_as(blocks(), {{"x", 1}, {"layers/1/fc2", 2}});
        QCOMPARE(object_of(device_map(cut, DeviceMapForm::compact)), (QJsonObject{{"stem", 0},
                                                                                  {"layers.1.fc1", 0},
                                                                                  {"layers.1.act", 0},
                                                                                  {"layers.1.fc2", 1},
                                                                                  {"layers.10", 1},
                                                                                  {"head", 1}}));
        const auto whole = placed_as(blocks(), {{"x", 3}});
        QCOMPARE(object_of(device_map(whole, DeviceMapForm::compact)), (QJsonObject{{"", 2}}));
        QVERIFY(device_map(whole, DeviceMapForm::compact).warnings.empty());
    }

    void namesThatAnOnnxExporterMadeUpAreNoKeys() {
        Program program = blocks();
        for (auto& parameter : program.parameters) {
            if (parameter.path == "stem.weight") parameter.path = "onnx::MatMul_7";
        }
        auto placed = placed_as(program, {{"x", 1}, {"layers/1/fc1", 2}});
        QVERIFY(!warnings_of(device_map(placed, DeviceMapForm::full)).contains("ONNX"));
        placed.network_file = "net.onnx";
        const WrittenPlacement map = device_map(placed, DeviceMapForm::full);
        QCOMPARE(object_of(map)["stem"], QJsonValue(0));
        QVERIFY(!QString::fromStdString(map.content).contains("::"));
        QCOMPARE(
            warnings_of(map).count("an ONNX file does not contain parameters and buffers that no op reads"),
            1);
    }

    /// As check_device_map of Accelerate: every entry of the state_dict is covered by a key.
    void everyParameterIsCovered_data() {
        QTest::addColumn<int>("seed");
        for (int seed = 0; seed < 20; ++seed) QTest::addRow("%d", seed) << seed;
    }
    void everyParameterIsCovered() {
        QFETCH(int, seed);
        auto placed = placed_as(blocks(), {{"x", 1}});
        for (GroupId group = 0; group < placed.problem->groups; ++group)
            placed.placement[group] = (group * 7 + seed * (group + 3)) % 4;
        for (const auto form : {DeviceMapForm::full, DeviceMapForm::compact}) {
            placed.placement = placed_by_modules(placed, form);
            const WrittenPlacement map = device_map(placed, form);
            const QJsonObject object = object_of(map);
            for (const auto& parameter : blocks().parameters) {
                const QString name = QString::fromStdString(parameter.path);
                const bool covered = std::ranges::any_of(object.keys(), [&](const QString& key) {
                    return key.isEmpty() || name == key || name.startsWith(key + '.');
                });
                QVERIFY2(covered, qPrintable(name));
            }
            QVERIFY(read_placement(written(QByteArray::fromStdString(map.content)), *placed.problem) ==
                    placed.placement);
        }
    }

    void modulesThatShareAParameterAreTogether() {
        const auto placed = placed_as(tied(), {{"tokens", 1}, {"map", 2}});
        const auto problem = placed.problem;
        QCOMPARE(device_of(placed, placed.placement, "wte/weight"), DeviceId{1});
        const QString error = error_of<PlacementError>([&] { device_map(placed, DeviceMapForm::compact); });
        QVERIFY2(error.contains("wte with 1 more that share its parameters or groups on gpu:0, gpu:1"),
                 qPrintable(error));
        QVERIFY2(!error.contains("h.0") && !error.contains("--group"), qPrintable(error));

        // The table is the largest: lm_head is moved to it.
        PlacedNetwork repaired = placed;
        repaired.placement = placed_by_modules(placed, DeviceMapForm::compact);
        QCOMPARE(device_of(placed, repaired.placement, "logits"), DeviceId{1});
        QCOMPARE(device_of(placed, repaired.placement, "map"), DeviceId{2});
        QCOMPARE(object_of(device_map(repaired, DeviceMapForm::compact)),
                 (QJsonObject{{"wte", 0}, {"h.0", 1}, {"lm_head", 0}}));
    }

    void splitModuleGoesWhereMostParametersAre() {
        Program program = blocks();
        for (Node& node : program.nodes) {
            if (node.name == "layers/1/act")
                node.scope = "layers/1/fc1";  // a module with a linear map and an activation
        }
        auto placed = placed_as(program, {{"x", 1}, {"layers/1/act", 2}, {"layers/1/fc2", 1}});
        const QString error = error_of<PlacementError>([&] { device_map(placed, DeviceMapForm::full); });
        QVERIFY2(error.contains("layers.1.fc1 on gpu:0, gpu:1"), qPrintable(error));
        QVERIFY2(error.contains("--group scope:2"), qPrintable(error));  // the depth of its residual blocks
        QCOMPARE(device_of(placed, placed_by_modules(placed, DeviceMapForm::full), "layers/1/act"),
                 DeviceId{1});
    }

    /// Like the activation of torchvision's residual blocks.
    void aModuleWithoutParametersMayBeCalledOnSeveralDevices() {
        Program program = blocks();
        for (Node& node : program.nodes) {
            if (node.name.ends_with("/act")) node.scope = "relu";
        }
        const auto apart = placed_as(program, {{"x", 1}, {"layers/10/fc1", 2}});
        const WrittenPlacement map = device_map(apart, DeviceMapForm::compact);
        QVERIFY(!QString::fromStdString(map.content).contains("relu"));
        QVERIFY2(map.warnings.empty(), qPrintable(warnings_of(map)));
        QVERIFY(read_placement(written(QByteArray::fromStdString(map.content)), *apart.problem) ==
                apart.placement);
        const auto together = placed_as(program, {{"x", 1}, {"layers/10/fc2", 2}});
        QCOMPARE(object_of(device_map(together, DeviceMapForm::full))["relu"], QJsonValue(0));
    }

    void repairKeepsToAllowedDevices() {
        Graph graph = network_of("net", blocks()).graph;
        GraphBuilder builder(graph.name(), graph.batch(), graph.training());
        for (Op op : graph.ops()) {
            if (op.name == "layers/1/act") op.scope = "stem", op.devices = {"gpu:2"};
            builder.add(std::move(op));
        }
        const auto problem = test::problem(builder.build(), four());
        PlacedNetwork placed{problem, Placement(problem->groups, 1), {}, {}, "net"};
        placed.placement[problem->grouping.group_of[*problem->graph->find("layers/1/act")]] = 3;
        QCOMPARE(device_of(placed, placed_by_modules(placed, DeviceMapForm::compact), "stem"), DeviceId{3});
    }

    void cutBlockIsAWarning() {
        const auto placed = placed_as(blocks(), {{"x", 1}, {"layers/10/fc2", 2}});
        const QString warnings = warnings_of(device_map(placed, DeviceMapForm::compact));
        QVERIFY2(warnings.contains("\"layers.10 (gpu:0, gpu:1)\""), qPrintable(warnings));
        QVERIFY2(!warnings.contains("layers.1 ("), qPrintable(warnings));
        // A split between blocks causes no warning.
        const auto between = placed_as(blocks(), {{"x", 1}, {"layers/10/fc1", 2}});
        QCOMPARE(warnings_of(device_map(between, DeviceMapForm::compact)), QString());
    }

    /// Nothing moves what an op outside of all modules of the map reads.
    void joinsOfSeveralDevicesAreTold() {
        Program program;
        program.name = "joined";
        program.batch = 4;
        program.inputs = {value("x")};
        for (const std::string name : {"a", "b"}) {
            program.parameters.push_back(weight(name + ".weight"));
            program.nodes.push_back(Node{.name = name,
                                         .kind = "linear",
                                         .scope = name,
                                         .inputs = {"x", name + ".weight"},
                                         .outputs = {value(name + ":out")}});
        }
        program.nodes.push_back(Node{
            .name = "cat", .kind = "cat", .inputs = {"a:out", "b:out"}, .outputs = {value("y", {4, 16})}});
        program.outputs = {"y"};
        const auto warnings = [&](DeviceId of_b) {
            return warnings_of(
                device_map(placed_as(program, {{"x", 1}, {"b", of_b}}), DeviceMapForm::compact));
        };
        QCOMPARE(warnings(1), QString());
        QVERIFY2(warnings(2).contains("\"cat\" of \"gpu:0, gpu:1\""), qPrintable(warnings(2)));
    }

    /// Accelerate moves modules, and what belongs to the model itself to its first device.
    void parametersWithoutAModuleAreTold() {
        Program program;
        program.name = "own";
        program.batch = 4;
        program.inputs = {value("x")};
        program.parameters = {weight("w", {8}), weight("inner.p", {8}), weight("inner.fc.weight")};
        program.nodes = {Node{.name = "scaled",
                              .kind = "mul",
                              .scope = "inner",
                              .inputs = {"x", "inner.p"},
                              .outputs = {value("s")}},
                         Node{.name = "fc",
                              .kind = "linear",
                              .scope = "inner/fc",
                              .inputs = {"s", "inner.fc.weight"},
                              .outputs = {value("m")}},
                         Node{.name = "last", .kind = "mul", .inputs = {"m", "w"}, .outputs = {value("y")}}};
        program.outputs = {"y"};
        const PlacedNetwork together = placed_as(program, {{"x", 1}});
        QCOMPARE(parameter_keys(together), std::vector<std::string>{});
        const PlacedNetwork apart = placed_as(program, {{"x", 1}, {"fc", 2}});
        const PlacementFormat* const format = find_placement_format("device-map");
        QVERIFY(!QString::fromStdString(format->snippet("map.json", together)).contains("state_dict"));
        QCOMPARE(object_of(device_map(apart, DeviceMapForm::compact))["inner.p"].toInt(-1), 0);
        const QString snippet = QString::fromStdString(format->snippet("map.json", apart));
        QVERIFY2(snippet.contains("\"inner.p\"") && snippet.contains("state_dict"), qPrintable(snippet));
        const QString warnings = warnings_of(device_map(apart, DeviceMapForm::compact));
        QVERIFY2(warnings.contains("are moved to gpu:0 by Accelerate: \"w\" on \"gpu:1\""),
                 qPrintable(warnings));
    }

    void opsThatRunElsewhereAreTold() {
        const auto placed = placed_as(blocks(), {{"x", 1}, {"layers/10/add", 2}, {"head", 1}});
        const WrittenPlacement map = device_map(placed, DeviceMapForm::compact);
        QCOMPARE(object_of(map), (QJsonObject{{"", 0}}));
        const QString warnings = warnings_of(map);
        QVERIFY2(warnings.contains("1 op without a key of its own runs") &&
                     warnings.contains("\"layers/10/add\" on \"gpu:0\"") && warnings.contains("instead of"),
                 qPrintable(warnings));
    }

    void modulesOnTheCpuAreTold() {
        const auto placed = placed_as(blocks(), {{"x", 1}, {"head", 0}});
        QVERIFY(
            warnings_of(device_map(placed, DeviceMapForm::compact)).contains("runs them on the first GPU"));
    }

    void longestKeyWins() {
        const auto placed = placed_as(blocks(), {{"x", 1}});
        std::vector<std::string> notes;
        const Placement placement =
            read_placement(written(R"({"": 0, "layers": "cuda:2", "layers.1": 1, "layers.10.fc2": "cpu"})"),
                           *placed.problem, &notes);
        QCOMPARE(device_of(placed, placement, "stem"), DeviceId{1});
        QCOMPARE(device_of(placed, placement, "layers/1/fc1"), DeviceId{2});
        QCOMPARE(device_of(placed, placement, "layers/1/add"), DeviceId{2});
        QCOMPARE(device_of(placed, placement, "layers/10/fc1"), DeviceId{3});
        QCOMPARE(device_of(placed, placement, "layers/10/fc2"), DeviceId{0});
        QCOMPARE(device_of(placed, placement, "head"), DeviceId{1});
        QCOMPARE(notes.size(), std::size_t{2});
        QVERIFY(
            notes.front().starts_with("read as a device map: 11 ops are on the device of their module, 0 "));
        QVERIFY(notes.back().ends_with("Accelerate runs them on the first GPU of the map"));
    }

    void freeOpsFollowTheirInputs() {
        const auto placed = placed_as(blocks(), {{"x", 1}});
        std::vector<std::string> notes;
        const QByteArray map =
            R"({"stem": 0, "layers.1.fc1": 1, "layers.1.fc2": 1, "layers.10": 2, "head": 2, "nothing": 0})";
        const Placement placement = read_placement(written(map), *placed.problem, &notes);
        QCOMPARE(device_of(placed, placement, "x"), DeviceId{1});             // the device of its reader
        QCOMPARE(device_of(placed, placement, "layers/1/act"), DeviceId{2});  // the device of its input
        QCOMPARE(device_of(placed, placement, "layers/1/add"), DeviceId{1});  // the first of equals
        QVERIFY(notes.at(0).find("8 ops are on the device of their module, 3 on that") != std::string::npos);
        QVERIFY(notes.at(1).find("\"nothing\"") != std::string::npos);
    }

    void mapsThatDoNotFitAreRefused_data() {
        QTest::addColumn<QByteArray>("map");
        QTest::addColumn<QString>("complaint");
        QTest::newRow("parameter without device") << QByteArray(R"({"stem": 0, "layers": 1})")
                                                  << "no device for the parameters: \"head.weight\", "
                                                     "\"head.bias\"; add them or modules that hold them";
        QTest::newRow("ops that are modules")
            << QByteArray(R"({"stem": 0})")
            << "; as a placement by op, it has ops without a device: \"x\", \"layers/1/fc1\"";
        QTest::newRow("layers.1 is none of layers.10")
            << QByteArray(R"({"stem": 0, "head": 0, "layers.1": "cpu"})") << "\"layers.10.fc1.weight\"";
        QTest::newRow("too few GPUs") << QByteArray(R"({"": 3, "head": "cpu"})")
                                      << "is 3, expected the number of a GPU of the machine, which has 3";
        QTest::newRow("disk") << QByteArray(R"({"": "disk"})") << "is \"disk\", expected";
        QTest::newRow("text") << QByteArray(R"({"": "cuda:x"})") << "is \"cuda:x\", expected";
        QTest::newRow("misspelt") << QByteArray(R"({"stam": 0, "layers": 0, "head": 0})")
                                  << "keys that match no module: \"stam\"";
    }
    void mapsThatDoNotFitAreRefused() {
        QFETCH(QByteArray, map);
        QFETCH(QString, complaint);
        const auto placed = placed_as(blocks(), {{"x", 1}});
        const QString error = error_of<InputError>([&] { read_placement(written(map), *placed.problem); });
        QVERIFY2(error.contains(complaint) && error.contains("map.json"), qPrintable(error));
    }

    void placementOfAllOpsIsNoDeviceMap() {
        const auto placed = placed_as(blocks(), {{"x", 1}});
        QJsonObject flat;
        for (const Op& op : placed.problem->forward->ops()) flat[QString::fromStdString(op.name)] = 0;
        // Index 0 is the CPU in a flat placement, and the first GPU in a device map.
        QVERIFY(read_placement(written(QJsonDocument(flat).toJson()), *placed.problem) ==
                Placement(placed.problem->groups, 0));
        QCOMPARE(file_content(written(R"({"stem": 0, "head": "cpu"})")), FileContent::placement);
    }

    void deepNamesTakeLinearTime() {
        Program program = blocks();
        const std::string deep(100'000, '.');
        program.parameters.push_back(weight(deep + "weight"));
        program.nodes.front().inputs.push_back(deep + "weight");
        const auto placed = placed_as(program, {{"x", 1}, {"head", 2}});
        QVERIFY(!device_map(placed, DeviceMapForm::compact).content.empty());
    }

    void splitPointsOfAChain() {
        const auto placed = placed_as(blocks(), {{"x", 2}, {"layers/1/fc1", 1}, {"layers/10/fc1", 0}});
        QCOMPARE(
            object_of(split_points(placed)),
            (QJsonObject{{"split_spec", QJsonObject{{"layers", "BEGINNING"}, {"layers.10", "BEGINNING"}}},
                         {"stage_to_rank", QJsonArray{0, 1, 2}},
                         {"devices", QJsonArray{"cuda:1", "cuda:0", "cpu"}}}));
        // If no module begins at the cut, one may end there.
        const auto end = placed_as(blocks(), {{"x", 1}, {"layers/1/add", 2}});
        QCOMPARE(object_of(split_points(end))["split_spec"].toObject(),
                 (QJsonObject{{"layers.1.fc2", "END"}}));
        const auto one = placed_as(blocks(), {{"x", 1}});
        QCOMPARE(object_of(split_points(one))["stage_to_rank"].toArray(), QJsonArray{0});
    }

    void modulesThatAreCalledSeveralTimesAreNotCutAt() {
        Program program = blocks();
        for (Node& node : program.nodes) {
            if (node.name.ends_with("/act")) node.scope = "relu";
        }
        // The map before the first call of the activation ends there.
        const auto placed = placed_as(program, {{"x", 1}, {"layers/1/act", 2}});
        QCOMPARE(object_of(split_points(placed))["split_spec"].toObject(),
                 (QJsonObject{{"layers.1.fc1", "END"}}));
    }

    void stagesThatShareAParameterAreTold() {
        Program program;
        program.batch = 4;
        program.inputs = {value("x")};
        program.parameters = {weight("embed.weight")};
        program.nodes = {Node{.name = "embed/linear",
                              .kind = "linear",
                              .scope = "embed",
                              .inputs = {"x", "embed.weight"},
                              .outputs = {value("e")}},
                         Node{.name = "head/linear",
                              .kind = "linear",
                              .scope = "head",
                              .inputs = {"e", "embed.weight"},
                              .outputs = {value("y")}}};
        QVERIFY(split_points(placed_as(program, {{"x", 1}})).warnings.empty());
        const auto warnings = split_points(placed_as(program, {{"x", 1}, {"head/linear", 2}})).warnings;
        QCOMPARE(warnings.size(), 1U);
        QVERIFY2(warnings[0].starts_with("several stages read \"embed/weight\""), warnings[0].c_str());
    }

    void modulesAreCutOnOneSide() {
        Program program;
        program.batch = 4;
        program.inputs = {value("x")};
        std::string last = "x";
        const auto add = [&](const std::string& name, const std::string& scope) {
            program.nodes.push_back(Node{.name = name,
                                         .kind = "relu",
                                         .scope = scope,
                                         .inputs = {last},
                                         .outputs = {value(name + ":out")}});
            last = name + ":out";
        };
        add("a", "a");
        add("b", "b");
        add("between", "");
        add("c", "c/0");
        add("after", "");
        // The modules around b neither begin nor end there: the cut before b moves to the end of a.
        const auto both = placed_as(program, {{"x", 1}, {"b", 2}, {"between", 3}});
        QCOMPARE(object_of(split_points(both))["split_spec"].toObject(),
                 (QJsonObject{{"a", "END"}, {"b", "END"}}));
        // Two modules with the same begin and end get one cut each.
        const auto nested = placed_as(program, {{"x", 1}, {"c", 2}, {"after", 3}});
        QCOMPARE(object_of(split_points(nested))["split_spec"].toObject(),
                 (QJsonObject{{"c.0", "BEGINNING"}, {"c", "END"}}));

        program.nodes[0].scope.clear();
        const auto alone = placed_as(program, {{"x", 1}, {"b", 2}, {"between", 3}});
        const QString error = error_of<PlacementError>([&] { split_points(alone); });
        QVERIFY2(error.contains("only modules that another cut needs: \"b (gpu:1) to between (gpu:2)\""),
                 qPrintable(error));
    }

    void jumpsAreListed() {
        const auto back =
            placed_as(blocks(), {{"x", 1}, {"layers/1/fc1", 2}, {"layers/10/fc1", 1}, {"head", 2}});
        const QString error = error_of<PlacementError>([&] { split_points(back); });
        QVERIFY2(error.contains("goes back 2 times") &&
                     error.contains("layers/1/add (gpu:1) to layers/10/fc1 (gpu:0)"),
                 qPrintable(error));

        Program program = blocks();
        for (Node& node : program.nodes)
            node.scope = node.scope.starts_with("layers/1/") ? "layers/1" : node.scope;
        const auto inside = placed_as(program, {{"x", 1}, {"layers/1/act", 2}});
        const QString cut = error_of<PlacementError>([&] { split_points(inside); });
        QVERIFY2(cut.contains("inside of a module: \"layers/1/fc1 (gpu:0) to layers/1/act (gpu:1)\""),
                 qPrintable(cut));
    }

    void opsThatReadOnlyConstantsAreNoStage() {
        // The table and the second slice are on the device of the first layer.
        const auto placed =
            placed_as(with_table(), {{"x", 2}, {"1/linear", 1}, {"1/slice", 2}, {"1/mul", 1}});
        const WrittenPlacement written = split_points(placed);
        QCOMPARE(object_of(written)["split_spec"].toObject(), (QJsonObject{{"layers.1", "BEGINNING"}}));
        QCOMPARE(object_of(written)["devices"].toArray(), (QJsonArray{"cuda:1", "cuda:0"}));
        QVERIFY2(
            warnings_of(written).startsWith(
                "1 op that reads only constants runs in the stage of its reader: \"1/slice\"; a step takes"),
            qPrintable(warnings_of(written)));
        // A repair does what the run does.
        PlacedNetwork repaired = placed;
        repaired.placement = in_stages(placed);
        QCOMPARE(device_of(repaired, repaired.placement, "1/slice"), DeviceId{1});
        QCOMPARE(device_of(repaired, repaired.placement, "cos"), DeviceId{2});
        QVERIFY(split_points(repaired).warnings.empty());
        QCOMPARE(Simulator(placed.problem).run(repaired.placement).step_time_s, written.outcome->step_time_s);
    }

    void theNearestChainMovesLeast() {
        // The last half of the second block is back on the device of the stem.
        auto placed = placed_as(blocks(), {{"x", 1}, {"layers/1/fc1", 2}, {"layers/10/act", 1}, {"head", 2}});
        placed.placement = in_stages(placed);
        QCOMPARE(*chain_of_stages(*placed.problem, placed.placement), (std::vector<DeviceId>{1, 2}));
        QCOMPARE(device_of(placed, placed.placement, "stem"), DeviceId{1});
        QCOMPARE(object_of(split_points(placed))["split_spec"].toObject(),
                 (QJsonObject{{"layers", "BEGINNING"}}));

        // A chain stays as it is.
        const auto chain = placed_as(blocks(), {{"x", 2}, {"layers/1/fc1", 1}, {"layers/10/fc1", 0}});
        QCOMPARE(in_stages(chain), chain.placement);
        // A cut inside of a module moves to where one begins or ends.
        Program program = blocks();
        for (Node& node : program.nodes)
            node.scope = node.scope.starts_with("layers/1/") ? "layers/1" : node.scope;
        auto inside = placed_as(program, {{"x", 1}, {"layers/1/act", 2}});
        inside.placement = in_stages(inside);
        QCOMPARE(device_of(inside, inside.placement, "layers/1/fc1"), DeviceId{2});
        QCOMPARE(object_of(split_points(inside))["split_spec"].toObject(),
                 (QJsonObject{{"layers", "BEGINNING"}}));
    }

    void theNearestChainFitsTheMemory() {
        // Of five maps of 4 kB, four are on gpu:0, which has room for them but not for all.
        Program program;
        program.batch = 4;
        program.inputs = {value("x", {4, 32})};
        for (const std::string number : {"0", "1", "2", "3", "4"}) {
            const std::string last = program.nodes.empty() ? "x" : program.nodes.back().outputs.front().name;
            program.parameters.push_back(weight(number + ".weight", {32, 32}));
            program.nodes.push_back(Node{.name = number,
                                         .kind = "linear",
                                         .scope = number,
                                         .inputs = {last, number + ".weight"},
                                         .outputs = {value(number + ":out", {4, 32})}});
        }
        ProblemOptions inference;
        inference.inference = true;
        const auto nearest = [&](double memory_bytes) {
            auto placed = placed_as(network_of("net", program).graph, {{"x", 1}, {"2", 2}, {"3", 1}},
                                    four(memory_bytes), inference);
            placed.placement = in_stages(placed);
            return *chain_of_stages(*placed.problem, placed.placement);
        };
        QCOMPARE(nearest(1e9), (std::vector<DeviceId>{1}));
        QCOMPARE(nearest(4.5 * 4096).size(), 2U);
    }

    void manyStagesAreOrderedByTheirMedians() {
        // Eight devices, each with one map, but the sixth also has the first.
        std::vector<Device> devices(8);
        std::vector<Route> routes;
        for (DeviceId device = 0; device < 8; ++device) {
            devices[device].name = devices[device].model = "gpu:" + std::to_string(device);
            devices[device].peak_flops = devices[device].memory_bandwidth = 1e12;
            devices[device].memory_bytes = 1e9;
            for (DeviceId to = 0; to < 8; ++to) {
                if (device != to) routes.push_back({device, to, {0}});
            }
        }
        Channel bus;
        bus.name = "bus";
        bus.bandwidth = 1e9;
        Program program;
        program.batch = 4;
        program.inputs = {value("x")};
        std::vector<std::pair<std::string, DeviceId>> where{{"x", 0}};
        for (int i = 0; i < 9; ++i) {
            const std::string name = "m" + std::to_string(i);
            program.parameters.push_back(weight(name + ".weight"));
            program.nodes.push_back(
                Node{.name = name,
                     .kind = "linear",
                     .scope = name,
                     .inputs = {i == 0 ? "x" : "m" + std::to_string(i - 1) + ":out", name + ".weight"},
                     .outputs = {value(name + ":out")}});
            where.emplace_back(name, i == 0 ? 5 : i - 1);
        }
        auto placed =
            placed_as(network_of("net", program).graph, where, Machine("eight", devices, {bus}, routes));
        placed.placement = in_stages(placed);
        QCOMPARE(*chain_of_stages(*placed.problem, placed.placement),
                 (std::vector<DeviceId>{0, 1, 2, 3, 4, 5, 6, 7}));
        QCOMPARE(device_of(placed, placed.placement, "m0"), DeviceId{0});
        QCOMPARE(device_of(placed, placed.placement, "m6"), DeviceId{5});
    }

    void tensorflowDevices() {
        const auto placed = placed_as(tied(), {{"tokens", 0}, {"map", 2}});
        QCOMPARE(object_of(find_placement_format("tensorflow")->write(placed)),
                 (QJsonObject{{"tokens", "/device:CPU:0"},
                              {"wte/weight", "/device:CPU:0"},
                              {"embed", "/device:CPU:0"},
                              {"map", "/device:GPU:1"},
                              {"logits", "/device:GPU:1"}}));
    }

    void tensorflowDevicesAreReadBack() {
        const auto placed = placed_as(tied(), {{"tokens", 0}, {"map", 2}});
        const auto device_file = [&](const std::string& content) {
            return written(QByteArray::fromStdString(content));
        };
        std::vector<std::string> notes;
        const std::string own = find_placement_format("tensorflow")->write(placed).content;
        QCOMPARE(file_content(device_file(own)), FileContent::placement);
        QCOMPARE(read_placement(device_file(own), *placed.problem, &notes), placed.placement);
        QCOMPARE(QString::fromStdString(notes.at(0)), "read as TensorFlow devices of 5 ops");
        const Placement other = read_placement(
            device_file(
                R"({"tokens": "/cpu:0", "wte/weight": "/job:worker/replica:0/task:1/device:CPU:0", "embed": "/device:cpu:0",
                            "map": "/GPU:1", "logits": "/gpu:1"})"),
            *placed.problem);
        QCOMPARE(other, placed.placement);
        const QString unknown = error_of<InputError>([&] {
            read_placement(
                device_file(
                    R"({"tokens": "/gpu:7", "wte/weight": "/cpu:0", "embed": "/cpu:0", "map": "/gpu:1", "logits": "/gpu:1"})"),
                *placed.problem);
        });
        QVERIFY2(unknown.contains("devices that are not in the machine: \"/gpu:7\""), qPrintable(unknown));
        const QString odd = error_of<InputError>([&] {
            read_placement(device_file(R"({"tokens": "/gpu:0", "map": "/tpu:0"})"), *placed.problem);
        });
        QVERIFY2(odd.contains("map is \"/tpu:0\", expected a device of TensorFlow"), qPrintable(odd));
        const QString elsewhere = error_of<InputError>([&] {
            read_placement(
                device_file(
                    R"({"tokens": "/job:a/task:0/device:GPU:0", "map": "/job:a/task:1/device:GPU:0"})"),
                *placed.problem);
        });
        QVERIFY2(
            elsewhere.contains(
                "map is in \"/job:a/task:1\", other ops in \"/job:a/task:0\": a placement is for one host"),
            qPrintable(elsewhere));
        const QString prefix = error_of<InputError>([&] {
            read_placement(device_file(R"({"tokens": "/gpu:0", "map": "/host:0/gpu:0"})"), *placed.problem);
        });
        QVERIFY2(prefix.contains("map is \"/host:0/gpu:0\", expected a device of TensorFlow"),
                 qPrintable(prefix));
    }

    void pipesAreNoPlacements() {
        const auto placed = placed_as(blocks(), {{"x", 1}});
        const QTemporaryDir folder;
        const std::string pipe = folder.filePath("pipe.json").toStdString();
        QCOMPARE(mkfifo(pipe.c_str(), 0600), 0);
        const QString error = error_of<InputError>([&] { read_placement(pipe, *placed.problem); });
        QVERIFY2(error.contains("is not a regular file"), qPrintable(error));
    }

    void opsMayBeCalledAsTheMembersOfFormats() {
        const auto placed = placed_as(blocks(), {{"x", 1}});
        for (const char* const content :
             {R"({"split_spec": 0, "traceEvents": [0, 1]})", R"({"format": "/gpu:0"})"}) {
            const QString error =
                error_of<InputError>([&] { read_placement(written(content), *placed.problem); });
            QVERIFY2(error.contains("ops that are not in the network"), qPrintable(error));
        }
    }

    void whatHoldsNoPlacementSaysWhatItIs_data() {
        QTest::addColumn<QString>("format");
        QTest::addColumn<QString>("what");
        QTest::newRow("trace") << "chrome-trace"
                               << "is a trace of a run";
        QTest::newRow("DOT") << "dot"
                             << "is a Graphviz graph";
        QTest::newRow("table") << "csv"
                               << "is a table of ops";
        QTest::newRow("pipeline") << "pipeline"
                                  << "holds split points";
    }
    void whatHoldsNoPlacementSaysWhatItIs() {
        QFETCH(QString, format);
        QFETCH(QString, what);
        const auto placed = placed_as(blocks(), {{"x", 1}});
        const Path file = written(
            QByteArray::fromStdString(find_placement_format(format.toStdString())->write(placed).content));
        const QString error = error_of<InputError>([&] { read_placement(file, *placed.problem); });
        QVERIFY2(
            error.contains(what) && error.contains("export the placement itself as placewright.placement"),
            qPrintable(error));
    }

    // Casts of autocast are no ops of the model: files for it are the same in every precision.
    void precisionsShareTheirPlacements_data() {
        QTest::addColumn<QString>("network");
        for (const char* name : {"resnet50", "bert_base", "transformer", "rnnlm", "blocks", "tied"})
            QTest::newRow(name) << name;
    }

    void precisionsShareTheirPlacements() {
        QFETCH(QString, network);
        const std::string name = network.toStdString();
        const auto graph = std::make_shared<const Graph>(
            name == "blocks" || name == "tied" ? network_of("net", name == "blocks" ? blocks() : tied()).graph
                                               : find_network(name)->build(2));
        const auto in = [&](Precision precision) {
            ProblemOptions options;
            options.precision = precision;
            return make_problem(graph, std::make_shared<const Machine>(four()), options);
        };
        const auto plain = in(Precision::as_given);
        Random random(7);
        Placement placement;
        for (GroupId group = 0; group < plain->groups; ++group)
            placement.push_back(static_cast<DeviceId>(random.index(4)));
        const PlacedNetwork first{plain, placement, {}, {}, "net"};
        for (const Precision precision : precisions()) {
            const auto problem = in(precision);
            QCOMPARE(problem->groups, plain->groups);
            const PlacedNetwork placed{problem, placement, {}, {}, "net"};
            for (const char* id : {"placement", "device-map", "device-map-full", "pipeline", "tensorflow"}) {
                const PlacementFormat& format = *find_placement_format(id);
                const auto content = [&](PlacedNetwork of) {
                    // The nearest chain of stages depends on the times.
                    if (format.repair != nullptr && std::string_view(id) != "pipeline")
                        of.placement = format.repair(of);
                    std::string text;
                    const QString error = error_of<PlacementError>([&] { text = format.write(of).content; });
                    return error.toStdString() + text;
                };
                QVERIFY2(content(placed) == content(first), id);
                QVERIFY(content(placed).find("_cast") == std::string::npos);
            }
            // What is written in one precision is read in another.
            for (const auto& [from, to] : {std::pair(plain, problem), std::pair(problem, plain)}) {
                const Path file = written(QByteArray::fromStdString(placement_json(placement, *from, {})));
                QVERIFY(read_placement(file, *to) == placement);
            }
            QJsonObject flat;
            for (const Op& op : graph->ops()) flat[QString::fromStdString(op.name)] = 0;
            QVERIFY(read_placement(written(QJsonDocument(flat).toJson()), *problem) ==
                    Placement(problem->groups, 0));
        }
    }

    void tableHasALineForEachOp() {
        const auto placed = placed_as(blocks(), {{"x", 1}});
        const QStringList lines = QString::fromStdString(find_placement_format("csv")->write(placed).content)
                                      .split('\n', Qt::SkipEmptyParts);
        QCOMPARE(lines.size(), 1 + qsizetype(placed.problem->graph->size()));
        QCOMPARE(lines[0], "op,kind,scope,phase,device,flops,parameter_bytes,output_bytes,start_s,end_s");
        const QStringList stem = lines[2].split(',');
        QCOMPARE(stem.mid(0, 8),
                 (QStringList{"stem", "linear", "stem", "forward", "gpu:0", "512", "288", "128"}));
        QCOMPARE(stem[8].toDouble(), 0.0);
        QVERIFY(stem[9].toDouble() > 0);

        // Sizes in a file may be absurd.
        GraphBuilder builder("huge", 1);
        Op op;
        op.name = op.kind = "x";
        op.outputs = std::vector(2, Tensor{{}, DType::float32, std::int64_t{1} << 62});
        builder.add(op, {});
        const std::string huge =
            find_placement_format("csv")->write(placed_as(builder.build(), {{"x", 1}})).content;
        QVERIFY2(huge.find(",9223372036854775807,") != std::string::npos, huge.c_str());
    }

    void formatsAreComplete() {
        const auto placed = placed_as(blocks(), {{"x", 1}});
        QStringList ids, suffixes;
        for (const PlacementFormat& format : placement_formats()) {
            ids << QString::fromUtf8(format.id.data(), qsizetype(format.id.size()));
            suffixes << QString::fromUtf8(format.suffix.data(), qsizetype(format.suffix.size()));
            QVERIFY(!format.title.empty() && !format.help.empty() && format.suffix.starts_with('.'));
            // Next to "net.json", "net.onnx" and "net.dot" with the same stem, no format overwrites them.
            QVERIFY(format.suffix.find('.', 1) != std::string_view::npos || format.suffix == ".csv");
            QVERIFY(format.snippet("a \"b\".json", placed).find("b") != std::string::npos);
            // The others need the model that was opened, or the layers of a language model (tst_layer_split).
            const bool by_layer = format.id == "llama.cpp" || format.id == "vllm" ||
                                  format.id == "deepspeed" || format.id == "megatron";
            if (format.is_text && !by_layer) QVERIFY(!format.write(placed).content.empty());
            if (by_layer) QVERIFY_THROWS_EXCEPTION(PlacementError, format.write(placed));
            QCOMPARE(find_placement_format(format.id), &format);
        }
        QCOMPARE(ids.removeDuplicates(), 0);
        QCOMPARE(suffixes.removeDuplicates(), 0);  // all suffixes differ
        QCOMPARE(find_placement_format("nothing"), nullptr);
        // The Python package reads its own networks; others must be written for it.
        const auto apply = [&](const char* network, const ReadOptions& reading = {}) {
            return QString::fromStdString(
                find_placement_format("placement")
                    ->snippet("p.json", {placed.problem, placed.placement, {}, {}, network, reading}));
        };
        QVERIFY(apply("net.json").endsWith("placewright.apply(model, \"p.json\", graph=\"net.json\")\n"));
        QVERIFY(apply("net.onnx").contains("# placewright-cli convert 'net.onnx' network.json\n"));
        QVERIFY(apply("net.onnx").endsWith("placewright.apply(model, \"p.json\", graph=\"network.json\")\n"));
        // The network is read with the options of the opened one.
        ReadOptions reading(8);
        reading.dims = {{"it's long", 128}};
        reading.inputs = {{{1, 128}, DType::int64}};
        QVERIFY2(apply("net.pt", reading)
                     .contains("convert --batch 8 --dim 'it'\\''s long=128' --input 1x128:int64 'net.pt' "
                               "network.json\n"),
                 qPrintable(apply("net.pt", reading)));
        // A path with quotes stays one Python string.
        QVERIFY(find_placement_format("device-map")
                    ->snippet("a \"b\".json", placed)
                    .find("open(\"a \\\"b\\\".json\")") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(TestPlacementFormats)
#include "tst_placement_formats.moc"
