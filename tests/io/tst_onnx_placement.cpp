// SPDX-License-Identifier: MIT
// Placements in ONNX models.
#include <algorithm>
#include <array>

#include <QTest>

#include "core/base/path.hpp"
#include "core/graph/networks.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/onnx/onnx_model.hpp"
#include "core/io/onnx/onnx_placement.hpp"
#include "core/io/placements/placed_network.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/io/placements/placement_formats.hpp"
#include "core/io/text/whole_file.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/onnx_fixture.hpp"
#include "tests/support/onnx_models.hpp"

using namespace placewright;
using test::OnnxModel, test::single;

class TestOnnxPlacement : public test::OnnxFixture {
    Q_OBJECT

private Q_SLOTS:
    void placementIsWrittenIntoTheModel() {
        OnnxModel model;
        model.input("x", {1, 8}).weight("a.weight", {8, 8}).weight("b.weight", {8, 8});
        model.graph().mutable_initializer(0)->set_raw_data(std::string(256, '\1'));
        model.node("Gemm", {"x", "a.weight"}, {"h"}, {}, "same")
            .node("Gemm", {"h", "b.weight"}, {"y"}, {}, "same")
            .output("y");
        const Path file = write("model.onnx", model.bytes()), out = write("placed.onnx", "");
        const auto problem = test::problem(read_network(file).graph, test::uniform_machine(2));
        Placement placement(problem->groups, 0);
        placement[problem->grouping.group_of[*problem->graph->find("same#2")]] = 1;
        QVERIFY(error([&] { read_placement(file, *problem); }).contains("metadata_props: hold no placement"));

        write_file(out, onnx_placement(file, placement, *problem).content);
        QCOMPARE(read_placement(out, *problem), placement);
        onnx::ModelProto written = read_whole_onnx_model(out);
        QCOMPARE(written.ir_version(), 7);
        QCOMPARE(written.graph().initializer(0).raw_data(), std::string(256, '\1'));
        const auto property = [](const std::string& device) {
            return "\x4a\x1b\n\x12placewright.device\x12\x05" + device + "\x4a\x12\n\x09layer_ann\x12\x05" +
                   device;
        };
        const auto unknown = [&](int node) {
            std::string text;
            const auto& node_proto = written.graph().node(node);
            onnx::NodeProto::GetReflection()->GetUnknownFields(node_proto).SerializeToString(&text);
            return text;
        };
        QCOMPARE(unknown(0), property("gpu:0"));
        QCOMPARE(unknown(1), property("gpu:1"));

        // Another placement replaces the first; the device hints of IR version 11 raise the version.
        std::ranges::fill(placement, DeviceId{1});
        write_file(out, onnx_placement(out, placement, *problem, true).content);
        QCOMPARE(read_placement(out, *problem), placement);
        written = read_whole_onnx_model(out);
        QCOMPARE(written.ir_version(), 11);
        QCOMPARE(written.metadata_props_size(), 2);
        QCOMPARE(written.metadata_props(1).key(), "placewright.layer_assignment_settings");
        QCOMPARE(written.metadata_props(1).value(), "gpu(=gpu:1)");
        const auto& node_fields = onnx::NodeProto::GetReflection()->GetUnknownFields(written.graph().node(0));
        QCOMPARE(node_fields.field_count(), 3);
        QCOMPARE(node_fields.field(2).number(), 10);
        const std::string device_of_h("\n\x0bplacewright\x12\x05\n\x01h\x10\x01");
        QCOMPARE(node_fields.field(2).length_delimited(), device_of_h + std::string("\x18\x00", 2));
        write_file(out, onnx_placement(out, placement, *problem).content);
        written = read_whole_onnx_model(out);
        QCOMPARE(onnx::NodeProto::GetReflection()->GetUnknownFields(written.graph().node(0)).field_count(),
                 2);
        QCOMPARE(onnx::ModelProto::GetReflection()->GetUnknownFields(written).field_count(), 0);
    }

    /// Groups are the devices' names, in the grammar that ONNX Runtime parses (layering_annotations.cc).
    void onnxRuntimeIsToldTheGroups() {
        OnnxModel model;
        model.input("x", {1, 8}).node("Relu", {"x"}, {"a"}).node("Tanh", {"a"}, {"b"});
        model.node("Sigmoid", {"b"}, {"c"}).node("Neg", {"c"}, {"y"}).output("y");
        const Path file = write("model.onnx", model.bytes());
        const Machine uniform = test::uniform_machine(4);
        std::vector<Device> devices(uniform.devices().begin(), uniform.devices().end());
        devices[2].name = "gpu(2), of four";
        devices[3].name = "cpu:0";
        devices[3].kind = DeviceKind::cpu;
        const auto problem =
            test::problem(read_network(file).graph,
                          Machine("machine", devices, {uniform.channels().begin(), uniform.channels().end()},
                                  {uniform.routes().begin(), uniform.routes().end()}));
        Placement placement(problem->groups, 0);
        const auto put = [&](const char* op, DeviceId device) {
            placement[problem->grouping.group_of[*problem->graph->find(op)]] = device;
        };
        const PlacementFormat& format = *find_placement_format("onnx");
        const auto snippet = [&] {
            return QString::fromStdString(format.snippet("placed.onnx", {problem, placement, {}, {}, file}));
        };
        put("y", 3);
        QCOMPARE(layer_assignment_settings(*problem, placement), "gpu(=gpu:0); cpu(=cpu:0)");
        QVERIFY(snippet().contains("\"gpu(=gpu:0); cpu(=cpu:0)\""));
        QVERIFY(snippet().contains("providers=[\"CUDAExecutionProvider\", \"CPUExecutionProvider\"]"));
        QVERIFY(!snippet().contains("extract_model"));
        put("b", 1);
        put("c", 2);
        QCOMPARE(layer_assignment_settings(*problem, placement),
                 "gpu(=gpu:0, =gpu:1, =device-2); cpu(=cpu:0)");
        QVERIFY2(snippet().contains("runs the nodes of gpu:0, gpu:1, gpu(2), of four\n# on one device"),
                 qPrintable(snippet()));
        QVERIFY(snippet().contains("onnx.utils.extract_model"));

        const Path out = write("placed.onnx", onnx_placement(file, placement, *problem).content);
        QCOMPARE(read_placement(out, *problem), placement);
        const onnx::ModelProto written = read_whole_onnx_model(out);
        QStringList groups;
        for (const auto& node : written.graph().node()) {
            google::protobuf::UnknownFieldSet entry;
            entry.ParseFromString(
                onnx::NodeProto::GetReflection()->GetUnknownFields(node).field(1).length_delimited());
            QCOMPARE(entry.field(0).length_delimited(), "layer_ann");
            groups << QString::fromStdString(entry.field(1).length_delimited());
        }
        QCOMPARE(groups, (QStringList{"gpu:0", "gpu:1", "device-2", "cpu:0"}));
    }

    void nodesOfOneOpAreOnItsDevice() {
        OnnxModel model;
        model.input("x", {2, 8}).weight("w", {8, 8}).weight("b", {8});
        model.node("MatMul", {"x", "w"}, {"h"}, {}, "product").node("Add", {"h", "b"}, {"y"}, {}, "sum");
        const Path file = write("model.onnx", model.output("y").bytes());
        const auto problem = test::problem(read_network(file).graph, test::uniform_machine(2));
        QCOMPARE(problem->graph->find("product").has_value(), false);
        const Path out =
            write("placed.onnx", onnx_placement(file, Placement(problem->groups, 1), *problem).content);
        const onnx::ModelProto written = read_whole_onnx_model(out);
        for (const auto& node : written.graph().node())
            QCOMPARE(onnx::NodeProto::GetReflection()->GetUnknownFields(node).field_count(), 2);
    }

    void outputsThatAreLeftOutGetNoDevice() {
        OnnxModel model;
        model.input("x", {2, 5, 8}).weight("scale", {8});
        model.node("SkipLayerNormalization", {"x", "x", "scale"}, {"normal", "", "", "sum"});
        model.graph().mutable_node(0)->set_domain("com.microsoft");
        model.node("Add", {"normal", "sum"}, {"y"}).output("y");
        const Path file = write("model.onnx", model.bytes());
        const auto problem = test::problem(read_network(file).graph, test::uniform_machine(2));
        const Path out =
            write("placed.onnx", onnx_placement(file, Placement(problem->groups, 1), *problem, true).content);
        const onnx::ModelProto written = read_whole_onnx_model(out);
        google::protobuf::UnknownFieldSet fields;
        fields.ParseFromString(onnx::NodeProto::GetReflection()
                                   ->GetUnknownFields(written.graph().node(0))
                                   .field(2)
                                   .length_delimited());
        QStringList sharded;
        for (int i = 0; i < fields.field_count(); ++i) {
            if (fields.field(i).number() != 2) continue;
            google::protobuf::UnknownFieldSet sharding;
            sharding.ParseFromString(fields.field(i).length_delimited());
            sharded << QString::fromStdString(sharding.field(0).length_delimited());
        }
        QCOMPARE(sharded, (QStringList{"normal", "sum"}));
    }

    void stagesAreNumberedWhereThePlacementIsAChain() {
        OnnxModel model;
        model.input("x", {1, 8})
            .node("Relu", {"x"}, {"a"})
            .node("Tanh", {"a"}, {"b"})
            .node("Sigmoid", {"b"}, {"y"})
            .output("y");
        const Path file = write("model.onnx", model.bytes());
        const auto problem = test::problem(read_network(file).graph, test::uniform_machine(2));
        // The stage of each node, -1 for none.
        const auto stages = [&](const std::array<DeviceId, 3>& devices) {
            Placement placement(problem->groups, devices[0]);
            for (std::size_t i = 0; i < 3; ++i)
                placement[problem->grouping
                              .group_of[*problem->graph->find(std::array{"a", "b", "y"}.at(i))]] =
                    devices.at(i);
            const Path out = write("placed.onnx", onnx_placement(file, placement, *problem, true).content);
            const onnx::ModelProto written = read_whole_onnx_model(out);
            std::vector<int> numbers;
            for (const auto& node : written.graph().node()) {
                google::protobuf::UnknownFieldSet fields;
                fields.ParseFromString(
                    onnx::NodeProto::GetReflection()->GetUnknownFields(node).field(2).length_delimited());
                const auto& last = fields.field(fields.field_count() - 1);
                numbers.push_back(last.number() == 3 ? static_cast<int>(last.varint()) : -1);
            }
            return numbers;
        };
        QCOMPARE(stages({1, 1, 0}), (std::vector{0, 0, 1}));
        QCOMPARE(stages({0, 1, 1}), (std::vector{0, 1, 1}));
        QCOMPARE(stages({0, 1, 0}), (std::vector{-1, -1, -1}));
    }

    void externalWeightsStayBesideTheModel() {
        OnnxModel model = single("Gemm", {{8, 8}}, {}, {1, 8});
        model.graph().mutable_initializer(0)->set_data_location(onnx::TensorProto::EXTERNAL);
        const Path file = write("external.onnx", model.bytes());
        const auto problem = test::problem(read_network(file).graph, test::uniform_machine(2));
        const PlacedNetwork placed{problem, Placement(problem->groups, 1), {}, {}, file};
        const WrittenPlacement written = find_placement_format("onnx")->write(placed);
        QCOMPARE(written.warnings.size(), 1u);
        QVERIFY(QString::fromStdString(written.warnings[0])
                    .contains("beside \"external.onnx\": the model must be in the same folder, \"" +
                              m_folder.path() + '"'));
        write_file(file.parent_path() / "out.onnx", written.content);
        QCOMPARE(read_placement(file.parent_path() / "out.onnx", *problem), placed.placement);
    }

    void otherNetworksAreNoModelsToWriteInto() {
        const Graph graph = find_network("alexnet")->build(1);
        const Path file = Path(m_folder.path().toStdString()) / "alexnet.json";
        write_network(graph, file);
        const auto problem = test::problem(graph, test::uniform_machine(2));
        try {
            find_placement_format("onnx")->write({problem, Placement(problem->groups, 1), {}, {}, file});
            QFAIL("written");
        } catch (const PlacementError& error) {
            QVERIFY(QString(error.what()).contains("choose another format"));
        }
    }
};

QTEST_GUILESS_MAIN(TestOnnxPlacement)
#include "tst_onnx_placement.moc"
