// SPDX-License-Identifier: MIT
// Workloads of dnn-partitioning: files, published results and the command line.
#include <algorithm>

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTest>

#include "core/base/path.hpp"
#include "core/io/file_content.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/io/text/input_error.hpp"
#include "core/sim/block_latency.hpp"
#include "core/sim/max_load.hpp"
#include "core/sim/objectives.hpp"
#include "core/sim/simulator.hpp"
#include "tests/support/cli.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/reference.hpp"
#include "tests/support/workloads.hpp"

using namespace placewright;
using test::error_of, test::kBackward, test::kTriangle, test::measured, test::ms, test::near, test::placed,
    test::problem_of, test::ProblemPtr, test::text_of, test::Workload;

namespace {

const QString kReference = QString::fromStdString(test::reference("dnn-partitioning").string());
const QByteArray kRed = R"("isBackwardNode": 0, "colorClass": 7)";

using Result = test::ProgramResult;

Result run(const QStringList& arguments) {
    return test::run_program(PLACEWRIGHT_CLI, arguments);
}

}  // namespace

class TestDnnPartitioning : public test::WorkloadFixture {
    Q_OBJECT

private Q_SLOTS:
    void recognised();
    void graph();
    void training();
    void machine();
    void machineWithoutAccelerators();
    void withoutCpus();
    void optionalMembers();
    void refusedFiles_data();
    void refusedFiles();
    void costsThatNearlyAgree();
    void refusedPlacements_data();
    void refusedPlacements();

    void ownFormats();
    void splits_data();
    void splits();

    void commandLine();
    void commandLineRefusals();
    void commandLineConverts();
    void commandLineSearches();
};

// ---- Reading ----

void TestDnnPartitioning::recognised() {
    const auto content = [&](const QByteArray& text) {
        return file_content(write("some.json", text).toStdString());
    };
    QCOMPARE(content(text_of(kTriangle)), FileContent::workload);
    QCOMPARE(content(R"({"format": "placewright.graph", "maxFPGAs": 1})"), FileContent::network);
    QCOMPARE(content(R"({"nodes": [{"maxFPGAs": 1}]})"), FileContent::unknown);
    // Exprimo's placements contain only op names with device indices.
    QCOMPARE(content(R"({"conv1": 0, "block/conv2": 3})"), FileContent::placement);
    for (const char* other :
         {"{}", R"({"a": 0, "b": 1.5})", R"({"a": "0"})", R"({"a": [0]})", R"({"a": {"b": 0}, "c": 0})"}) {
        QCOMPARE(content(other), FileContent::unknown);
    }
}

void TestDnnPartitioning::graph() {
    Workload workload = kTriangle;
    std::ranges::reverse(workload.nodes);
    workload.nodes[0].more = R"("colorClass": 7, "name": "soft\u006dax", "layerId": 3)";
    workload.nodes[1].more = kRed;
    workload.nodes[2].more = R"("supportedOnFpga": false, "colorClass": null)";
    const NetworkFile read = read_network(write("triangle.json", text_of(workload)).toStdString());
    const Graph& graph = read.graph;
    QCOMPARE(graph.name(), "triangle");
    QCOMPARE(graph.batch(), 1);
    QCOMPARE(graph.training(), Training::none);
    QCOMPARE(graph.size(), 3U);
    QVERIFY(read.machine);
    QVERIFY(read.device_index.empty());

    const Op &first = graph.op(0), &second = graph.op(1), &third = graph.op(2);
    QCOMPARE(first.name, "1");
    QCOMPARE(second.name, "2");
    QCOMPARE(third.name, "3");
    QCOMPARE(first.devices, std::vector<std::string>{"cpu"});
    QVERIFY(second.devices.empty());
    QCOMPARE(first.colocate, "");
    QCOMPARE(second.colocate, "7");
    QCOMPARE(third.colocate, "7");
    QCOMPARE(third.attributes.at("name"), "\"softmax\"");
    QCOMPARE(third.resident_bytes, 300);
    QCOMPARE(third.parameter_bytes, 0);
    COMPARE_MS(*second.time_s.at("cpu").forward_s, 30);
    COMPARE_MS(*second.time_s.at("accelerator").forward_s, 3);
    QVERIFY(!second.time_s.at("cpu").backward_s);
    QVERIFY(!first.time_s.contains("accelerator"));

    // The cost belongs to the node at the start of the edges.
    QCOMPARE(first.outputs.size(), 1U);
    COMPARE_MS(*first.outputs[0].transfer_s, 0.5);
    QCOMPARE(first.outputs[0].bytes, 0);
    QVERIFY(third.outputs.empty());
    QCOMPARE(third.inputs.size(), 2U);
}

void TestDnnPartitioning::training() {
    Workload workload = kTriangle;
    workload.nodes[2].more = kBackward;
    const Graph graph = read_network(write("workload.json", text_of(workload)).toStdString()).graph;
    QCOMPARE(graph.training(), Training::explicit_);
    QCOMPARE(graph.op(1).phase, Phase::forward);
    QCOMPARE(graph.op(2).phase, Phase::backward);
    COMPARE_MS(*graph.op(2).time_s.at("cpu").backward_s, 40);
    QVERIFY(!graph.op(2).time_s.at("cpu").forward_s);

    // Nothing is added to the file's figures: no optimizer state, no derived ops.
    const auto step = problem(workload);
    QCOMPARE(step->ops, 3U);
    QCOMPARE(step->resident_bytes, (std::vector<double>{100, 200, 300}));
    COMPARE_MS(step->time_s(2, 1), 4);
    QCOMPARE(problem(workload, true)->ops, 2U);
}

void TestDnnPartitioning::machine() {
    Workload workload = kTriangle;
    workload.accelerators = 3;
    workload.memory_bytes = 250;
    const auto built = problem(workload);
    const Machine& machine = *built->machine;
    QCOMPARE(machine.devices().size(), 4U);
    QCOMPARE(machine.device(0).name, "cpu:0");
    QCOMPARE(machine.device(0).kind, DeviceKind::cpu);
    QVERIFY(machine.device(0).memory_bytes >= 600);
    QCOMPARE(machine.device(3).name, "accelerator:2");
    QCOMPARE(machine.device(3).kind, DeviceKind::accelerator);
    QCOMPARE(machine.device(3).memory_bytes, 250.0);
    QCOMPARE(machine.channels().size(), 3U);
    QCOMPARE(machine.route(0, 2).size(), 1U);
    QCOMPARE(machine.route(2, 0)[0], machine.route(0, 2)[0]);
    QCOMPARE(machine.route(1, 3).size(), 2U);
    QCOMPARE(machine.route(1, 3)[0], machine.route(1, 0)[0]);
    QCOMPARE(machine.route(1, 3)[1], machine.route(0, 3)[0]);

    // 1 on an accelerator, 2 and 3 on the next: 2 ms, 0.5 ms over each of two channels, then 3 and 4 ms.
    Simulator simulator(built);
    const Outcome& outcome = simulator.run(placed(*built, {{1, 1}, {2, 2}, {3, 2}}));
    COMPARE_MS(outcome.step_time_s, 10);
    QCOMPARE(outcome.transfers, 1U);
    QCOMPARE(outcome.peak_bytes, (std::vector<double>{0, 100, 500, 0}));
    QVERIFY(!outcome.fits);
}

void TestDnnPartitioning::machineWithoutAccelerators() {
    Workload workload = kTriangle;
    workload.accelerators = 0;
    workload.memory_bytes = 1;
    const auto built = problem(workload);
    QCOMPARE(built->devices, 1U);
    const Evaluation evaluation = max_load(*built, Placement(built->groups, 0));
    COMPARE_MS(evaluation.seconds, 90);
    QVERIFY(evaluation.fits);
}

void TestDnnPartitioning::withoutCpus() {
    const QByteArray text = text_of(kTriangle).replace(R"("maxCPUs": 1)", R"("maxCPUs": 0)");
    const auto built = problem_of(write("workload.json", text).toStdString());
    for (GroupId group = 0; group < built->groups; ++group) {
        const auto allowed = built->allowed_devices(group);
        QCOMPARE(std::vector<DeviceId>(allowed.begin(), allowed.end()), (std::vector<DeviceId>{1, 2}));
    }
}

void TestDnnPartitioning::optionalMembers() {
    const QByteArray text =
        R"({"maxFPGAs": 1, "maxSizePerFPGA": 10.5, "edges": [{"sourceId": -3, "destId": 9, "cost": 1},
      {"sourceId": -3, "destId": 9, "cost": 1}], "nodes": [
      {"id": -3, "supportedOnFpga": true, "cpuLatency": 1, "fpgaLatency": 1, "isBackwardNode": false},
      {"id": 9, "supportedOnFpga": false, "cpuLatency": 1, "isBackwardNode": false, "size": 2.5}]})";
    const auto built = problem_of(write("workload.json", text).toStdString());
    QCOMPARE(built->resident_bytes, (std::vector<double>{0, 3}));
    // Repeated edges count once.
    COMPARE_MS(max_load(*built, placed(*built, {{-3, 1}, {9, 0}})).device_s[1], 2);
}

void TestDnnPartitioning::refusedFiles_data() {
    QTest::addColumn<QByteArray>("before");
    QTest::addColumn<QByteArray>("after");
    QTest::addColumn<QByteArray>("complaint");
    const auto row = [](const char* name, const QByteArray& before, const QByteArray& after,
                        const QByteArray& complaint) { QTest::newRow(name) << before << after << complaint; };
    row("no nodes", R"("nodes")", R"("knots")", R"("nodes" is missing)");
    row("no edges", R"("edges")", R"("ledges")", R"("edges" is missing)");
    row("no memory", R"("maxSizePerFPGA")", R"("memory")", R"("maxSizePerFPGA" is missing)");
    row("memory of nothing", R"("maxSizePerFPGA": 1000)", R"("maxSizePerFPGA": 0)",
        "maxSizePerFPGA is 0, expected more than 0");
    row("accelerators", R"("maxFPGAs": 2)", R"("maxFPGAs": -1)", "maxFPGAs is -1, expected at least 0");
    row("too many accelerators", R"("maxFPGAs": 2)", R"("maxFPGAs": 1024)",
        "maxFPGAs is 1024, expected at most 1023");
    row("half a CPU", R"("maxCPUs": 1)", R"("maxCPUs": 0.5)", "maxCPUs is 0.5, expected a whole number");
    row("no id", R"("id": 2)", R"("di": 2)", "nodes[1] has no \"id\"");
    row("id of text", R"("id": 2)", R"("id": "2")",
        "nodes[1].id is the string \"2\", expected a whole number");
    row("repeated id", R"("id": 2)", R"("id": 1)", "nodes[1] \"1\": the id is taken");
    row("no latency", R"("cpuLatency": 30)", R"("latency": 30)", "nodes[1] \"2\": \"cpuLatency\" is missing");
    row("negative latency", R"("fpgaLatency": 3,)", R"("fpgaLatency": -3,)",
        "nodes[1] \"2\": fpgaLatency is -3, expected at least 0");
    row("negative size", R"("size": 200)", R"("size": -200)",
        "nodes[1] \"2\": size is -200, expected at least 0");
    row("endless size", R"("size": 200)", R"("size": 1e300)",
        "nodes[1] \"2\": size is 1e+300, expected at most");
    row("flag", R"("supportedOnFpga": 1)", R"("supportedOnFpga": 2)",
        "nodes[0] \"1\": supportedOnFpga is 2, expected at most 1");
    row("flag of text", R"("isBackwardNode": 0)", R"("isBackwardNode": "no")",
        "isBackwardNode is \"no\", expected true or false");
    row("colour of text", R"("isBackwardNode": 0)", R"("isBackwardNode": 0, "colorClass": "red")",
        "colorClass is the string \"red\", expected a whole number");
    row("nowhere", R"("maxCPUs": 1, "nodes": [{"id": 1, "supportedOnFpga": 1)",
        R"("maxCPUs": 0, "nodes": [{"id": 1, "supportedOnFpga": 0)",
        "nodes[0] \"1\": is not supported on accelerators, but \"maxCPUs\" is 0");
    row("edge from nowhere", R"("sourceId": 2)", R"("sourceId": 8)",
        "edges[2].sourceId is 8, expected the id of a node");
    row("edge to nowhere", R"("destId": 2)", R"("destId": 8)",
        "edges[0].destId is 8, expected the id of a node");
    row("negative cost", R"("cost": 0.25)", R"("cost": -0.25)",
        "edges[2].cost is -0.25, expected at least 0");
    row("two costs", R"("destId": 3, "cost": 0.5)", R"("destId": 3, "cost": 0.500002)",
        "edges[1].cost is 0.500002, but another edge that leaves node 1 costs 0.5");
    row("cycle", R"("sourceId": 2, "destId": 3)", R"("sourceId": 2, "destId": 1)",
        "is on a cycle of 2 ops: 1 -> 2 -> 1");
    row("edge to itself", R"("sourceId": 2, "destId": 3)", R"("sourceId": 2, "destId": 2)",
        "nodes[1] \"2\": is on a cycle of 1 op: 2 -> 2");
}

void TestDnnPartitioning::refusedFiles() {
    QFETCH(QByteArray, before);
    QFETCH(QByteArray, after);
    QFETCH(QByteArray, complaint);
    QByteArray text = text_of(kTriangle);
    const auto at = text.indexOf(before);
    QVERIFY(at >= 0);
    text.replace(at, before.size(), after);
    const QString file = write("refused.json", text);
    const QByteArray error = error_of<InputError>([&] { read_network(file.toStdString()); });
    QVERIFY2(error.startsWith(file.toUtf8() + ": ") && error.contains(complaint), error);
}

void TestDnnPartitioning::costsThatNearlyAgree() {
    const QByteArray text =
        text_of(kTriangle).replace(R"("destId": 3, "cost": 0.5)", R"("destId": 3, "cost": 0.5000005)");
    COMPARE_MS(*read_network(write("workload.json", text).toStdString()).graph.op(0).outputs[0].transfer_s,
               0.5);
    const auto read_batch = [&](std::int64_t batch) {
        read_network(path("workload.json").toStdString(), batch);
    };
    QCOMPARE(error_of<InputError>([&] { read_batch(1); }), QByteArray());
    QVERIFY(error_of<InputError>([&] { read_batch(2); }).contains("expected no batch size but 1"));
}

void TestDnnPartitioning::refusedPlacements_data() {
    QTest::addColumn<QByteArray>("placement");
    QTest::addColumn<QByteArray>("complaint");
    QTest::newRow("fine") << QByteArray(R"({"1": 0, "2": 1, "3": 1})") << QByteArray();
    QTest::newRow("separated colour class")
        << QByteArray(R"({"1": 0, "2": 1, "3": 2})")
        << QByteArray(R"(ops that belong together on different devices: "2" and "3")");
    QTest::newRow("separated from the CPU")
        << QByteArray(R"({"1": 0, "2": 1, "3": 0})") << QByteArray("belong together");
    QTest::newRow("too many devices") << QByteArray(R"({"1": 0, "2": 3, "3": 3})")
                                      << QByteArray(R"(devices that are not in the machine: "3")");
    QTest::newRow("negative device") << QByteArray(R"({"1": -1, "2": 1, "3": 1})")
                                     << QByteArray(R"(devices that are not in the machine: "-1")");
    QTest::newRow("not supported") << QByteArray(R"({"1": 1, "2": 1, "3": 1})")
                                   << QByteArray(R"(devices that they do not allow: "1" on "1")");
    QTest::newRow("missing") << QByteArray(R"({"2": 1, "3": 1})")
                             << QByteArray(R"(ops without a device: "1")");
    QTest::newRow("unknown node") << QByteArray(R"({"1": 0, "2": 1, "3": 1, "4": 1})")
                                  << QByteArray(R"(not in the network: "4")");
}

void TestDnnPartitioning::refusedPlacements() {
    QFETCH(QByteArray, placement);
    QFETCH(QByteArray, complaint);
    Workload workload = kTriangle;
    workload.nodes[0].more = R"("supportedOnFpga": 0)";
    workload.nodes[1].more = workload.nodes[2].more = kRed;
    const auto built = problem(workload);
    const Path file = write("placement.json", placement).toStdString();
    const QByteArray error = error_of<InputError>([&] { read_placement(file, *built); });
    QCOMPARE(error.isEmpty(), complaint.isEmpty());
    QVERIFY2(error.contains(complaint), error);
}

// ---- Graphs and machines in our format ----

void TestDnnPartitioning::ownFormats() {
    Workload workload = kTriangle;
    workload.nodes[0].more = R"("supportedOnFpga": 0)";
    workload.nodes[1].more = kRed;
    workload.nodes[2].more = kRed + R"(, "name": "last")";
    workload.edges[2].cost_ms = 0.1;
    const Path file = write("workload.json", text_of(workload)).toStdString();
    const auto before = problem_of(file);
    const Path graph = path("graph.json").toStdString(), machine = path("machine.json").toStdString();
    write_network(*before->forward, graph);
    write_machine(*before->machine, machine);
    const auto after = test::problem(read_network(graph).graph, read_machine(machine), measured());
    QCOMPARE(*after->machine, *before->machine);
    QCOMPARE(after->op_time_s, before->op_time_s);
    QCOMPARE(after->transfer_s, before->transfer_s);
    QCOMPARE(after->resident_bytes, before->resident_bytes);
    QCOMPARE(after->allowed, before->allowed);
    QCOMPARE(after->grouping.group_of, before->grouping.group_of);
    QCOMPARE(after->graph->op(2).attributes, before->graph->op(2).attributes);

    const auto refused = [&](const QByteArray& from, const QByteArray& to) {
        QFile stream(path("graph.json"));
        if (!stream.open(QIODevice::ReadOnly)) qFatal("the graph cannot be read");
        const Path changed = write("changed.json", stream.readAll().replace(from, to)).toStdString();
        return error_of<InputError>([&] { read_network(changed); });
    };
    QVERIFY(refused(R"("resident_bytes": 200)", R"("resident_bytes": -1)").contains("resident_bytes is -1"));
    QVERIFY(refused(R"("transfer_s": 0.0005)", R"("transfer_s": -1)").contains("output 0: transfer_s is -1"));
}

// ---- Results of the published programs ----

void TestDnnPartitioning::splits_data() {
    QTest::addColumn<QString>("file");
    const QStringList files = QDir(kReference + "/splits").entryList({"*.json"}, QDir::Files, QDir::Name);
    for (const QString& file : files)
        QTest::newRow(qPrintable(file.chopped(5))) << kReference + "/splits/" + file;
    if (files.isEmpty()) QTest::newRow("none") << QString();
}

void TestDnnPartitioning::splits() {
    QFETCH(QString, file);
    if (file.isEmpty()) QSKIP("there are no reference splits");
    constexpr double kTolerance = 1e-6;
    QFile stream(file);
    QVERIFY(stream.open(QIODevice::ReadOnly));
    const QJsonObject split = QJsonDocument::fromJson(stream.readAll()).object();
    const QJsonObject expected = split["expect"].toObject(), derived = split["derived"].toObject();

    QJsonObject by_name;
    const auto place = [&](const QJsonValue& nodes, int device) {
        for (const QJsonValue& node : nodes.toArray()) by_name[QString::number(node.toInt())] = device;
    };
    place(split["cpu"], 0);
    int device = 0;
    for (const QJsonValue& nodes : split["accelerators"].toArray()) place(nodes, ++device);
    const Path placement_file = write("split.json", QJsonDocument(by_name).toJson()).toStdString();

    // Splits come in the order of their workloads, so the last problem is cached.
    static std::pair<QString, ProblemPtr> last;
    const QString input = kReference + '/' + split["input"].toString();
    if (last.first != input) last = {input, problem_of(input.toStdString())};
    const Problem& problem = *last.second;
    if (!derived["colocation_ok"].toBool() || !derived["device_count_ok"].toBool()) {
        QVERIFY(expected["max_load"].isNull());
        QVERIFY(!error_of<InputError>([&] { read_placement(placement_file, problem); }).isEmpty());
        return;
    }
    const Placement placement = read_placement(placement_file, problem);

    const Evaluation load = max_load(problem, placement);
    QVERIFY2(near(ms(load.seconds), expected["max_load"].toDouble(), kTolerance),
             qPrintable(QString::number(ms(load.seconds), 'g', 12)));
    QCOMPARE(load.fits, derived["memory_feasible"].toBool());
    const QJsonArray loads = derived["device_loads"].toArray();
    QCOMPARE(load.device_s.size(), static_cast<std::size_t>(loads.size()));
    for (qsizetype i = 0; i < loads.size(); ++i)
        QVERIFY(near(ms(load.device_s[static_cast<std::size_t>(i)]), loads[i].toDouble(), kTolerance));
    QVERIFY(
        near(std::ranges::max(std::span(load.device_bytes).subspan(1)), derived["max_memory"].toDouble()));

    if (expected["latency_error"].toString() == "not defined for training graphs") {
        QVERIFY(!error_of<GraphError>([&] { block_latency(problem, placement); }).isEmpty());
    } else if (expected["latency"].isNull()) {
        QVERIFY(!error_of<PlacementError>([&] { block_latency(problem, placement); }).isEmpty());
    } else {
        const Evaluation latency = block_latency(problem, placement);
        QVERIFY2(near(ms(latency.seconds), expected["latency"].toDouble(), kTolerance),
                 qPrintable(QString::number(ms(latency.seconds), 'g', 12)));
        QCOMPARE(latency.fits, load.fits);
    }
}

// ---- The command line ----

void TestDnnPartitioning::commandLine() {
    const QString workload = write("triangle.json", text_of(kTriangle));
    const QString placement = write("placement.json", R"({"1": 1, "2": 2, "3": 1})");
    const auto simulate = [&](const QStringList& more) {
        return run(QStringList{"simulate", workload, "--placement", placement} + more);
    };

    const Result load = simulate({"--objective", "max-load", "--json"});
    QCOMPARE(load.status, 0);
    QCOMPARE(load.err, QByteArray());
    const QJsonObject json = load.json();
    QCOMPARE(json["objective"].toString(), "max-load");
    COMPARE_MS(json["objective_s"].toDouble(), 6.75);
    COMPARE_MS(json["score_s"].toDouble(), 6.75);
    // 2; 0.5 twice; 3; 0.25 twice; 4.
    COMPARE_MS(json["step_time_s"].toDouble(), 10.5);
    QCOMPARE(json["fits"].toBool(), true);
    QCOMPARE(json["transfers"].toInt(), 2);
    const QJsonArray devices = json["devices"].toArray();
    QCOMPARE(devices.size(), 3);
    COMPARE_MS(devices[2].toObject()["load_s"].toDouble(), 3.75);
    COMPARE_MS(devices[2].toObject()["busy_s"].toDouble(), 3);
    QCOMPARE(devices[1].toObject()["peak_bytes"].toDouble(), 400.0);

    COMPARE_MS(simulate({"--objective", "block-latency", "--json"}).json()["objective_s"].toDouble(), 11);
    const QJsonObject step = simulate({"--json", "--cost", "measured"}).json();
    QCOMPARE(step["objective"].toString(), "step-time");
    QCOMPARE(step["objective_s"], step["step_time_s"]);
    QVERIFY(!step["devices"].toArray()[0].toObject().contains("load_s"));

    const Result text = simulate({"--objective", "max-load"});
    QCOMPARE(text.status, 0);
    QVERIFY2(text.out.startsWith("Max load 6.75 ms, fits the memory\n"), text.out);
    QVERIFY(text.out.contains("step time 10.5 ms"));

    // Without a placement, all ops are on the fastest device.
    COMPARE_MS(
        run({"simulate", workload, "--objective", "max-load", "--json"}).json()["objective_s"].toDouble(), 9);

    Workload tight = kTriangle;
    tight.memory_bytes = 300;
    const Result over = run({"simulate", write("tight.json", text_of(tight)), "--placement", placement,
                             "--objective", "max-load", "--json"});
    QCOMPARE(over.status, 0);
    QCOMPARE(over.json()["fits"].toBool(true), false);
    COMPARE_MS(over.json()["score_s"].toDouble(), 106.75);
}

void TestDnnPartitioning::commandLineRefusals() {
    const QString workload = write("triangle.json", text_of(kTriangle));
    const auto refused = [&](int status, const QStringList& arguments, const QByteArray& complaint) {
        const Result result = run(arguments);
        if (result.status == status && result.out.isEmpty() && result.err.contains(complaint) &&
            result.err.count('\n') == 1)
            return true;
        qWarning() << result.status << result.out << result.err;
        return false;
    };
    QVERIFY(refused(2, {"simulate", workload, "--machine", "2x-v100-pcie"},
                    "is a workload, which contains its machine"));
    QVERIFY(refused(2, {"simulate", workload, "--cost", "roofline"}, "is a workload; use --cost measured"));
    QVERIFY(refused(2, {"simulate", workload, "--precision", "fp16"},
                    "is a workload, whose times and sizes were measured"));
    QVERIFY(refused(3, {"simulate", workload, "--batch", "2"}, "expected no batch size but 1"));
    QVERIFY(refused(2, {"simulate", "alexnet", "--objective", "max-load"}, "--machine is required"));

    const QString crossed = write(
        "crossed.json", text_of({{{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {4, 1, 1}}, {{1, 2, 1}, {3, 4, 1}}}));
    const QString placement = write("placement.json", R"({"1": 1, "2": 2, "3": 2, "4": 1})");
    const auto simulate = [&](const QString& objective) {
        return QStringList{"simulate", crossed, "--placement", placement, "--objective", objective, "--json"};
    };
    QVERIFY(
        refused(3, simulate("block-latency"), placement.toUtf8() + ": the placement contracts to a cycle"));
    QCOMPARE(run(simulate("max-load")).status, 0);

    Workload step = kTriangle;
    step.nodes[2].more = kBackward;
    const QString training = write("training.json", text_of(step));
    QVERIFY(refused(3, {"simulate", training, "--objective", "block-latency"},
                    training.toUtf8() + ": block latency is not defined for training"));
    QCOMPARE(run({"simulate", training, "--objective", "block-latency", "--inference"}).status, 0);

    const QString machine = path("gpus.json");
    write_machine(test::uniform_machine(2), machine.toStdString());
    QVERIFY(refused(3, {"simulate", "alexnet", "--machine", machine, "--objective", "max-load"},
                    machine.toUtf8() + ": machine \""));
}

void TestDnnPartitioning::commandLineConverts() {
    Workload step = kTriangle;
    step.nodes[2].more = kBackward;
    const QString workload = write("triangle.json", text_of(step));
    const QString graph = path("out-graph.json"), machine = path("out-machine.json");
    QCOMPARE(run({"convert", workload, "--graph", graph, "--machine", machine}).status, 0);
    const QString placement = write("placement.json", R"({"1": 1, "2": 2, "3": 1})");
    const QStringList options{"--placement", placement, "--objective", "max-load", "--json"};
    const Result own =
        run(QStringList{"simulate", graph, "--machine", machine, "--cost", "measured"} + options);
    const Result original = run(QStringList{"simulate", workload} + options);
    QCOMPARE(original.status, 0);
    QCOMPARE(own.out, original.out);

    QVERIFY(QFile::remove(graph));
    QCOMPARE(run({"convert", workload, "--graph", graph}).status, 0);
    QVERIFY(QFile::exists(graph));
    QCOMPARE(run({"convert", workload, path("out.json")}).status, 2);
    QCOMPARE(run({"convert", workload, path("out.json"), "--graph", graph}).status, 2);
    QCOMPARE(run({"convert", graph, "--graph", path("out.json")}).status, 2);
    QCOMPARE(run({"convert", "--network", "alexnet", path("out.json"), "--graph", graph}).status, 2);
    QVERIFY(!QFile::exists(path("out.json")));
}

void TestDnnPartitioning::commandLineSearches() {
    const QString workload = write("triangle.json", text_of(kTriangle)), found = path("found.json");
    const Result result = run(
        {"optimize", workload, "--algorithm", "random", "--evaluations", "200", "--out", found, "--json"});
    QCOMPARE(result.status, 0);
    const double best_s = result.json()["best"].toObject()["step_time_s"].toDouble();
    COMPARE_MS(best_s, 9);
    QCOMPARE(run({"simulate", workload, "--placement", found, "--json"}).json()["step_time_s"].toDouble(),
             best_s);
    QCOMPARE(run({"bound", workload}).status, 0);

    // Bounds on the other objectives and the solvers' bounds; with three nodes the search is exhaustive.
    for (const QString objective : {"max-load", "block-latency"}) {
        const QStringList arguments{workload, "--objective", objective, "--json"};
        const QJsonObject search = run(QStringList{"optimize"} + arguments +
                                       QStringList{"--algorithm", "random", "--evaluations", "200"})
                                       .json();
        const double least_s = search["best"]["objective_s"].toDouble();
        QVERIFY(least_s > 0);
        QVERIFY(search["lower_bound_s"].toDouble() > 0 && search["lower_bound_s"].toDouble() <= least_s);
        // Solvers beside the search may have found a tighter bound.
        const double bound_s = run(QStringList{"bound"} + arguments).json()["lower_bound_s"].toDouble();
        QVERIFY(bound_s > 0 && bound_s <= search["lower_bound_s"].toDouble());
        const QJsonObject proven =
            run(QStringList{"bound"} + arguments + QStringList{"--seconds", "1"}).json();
        QVERIFY(proven["lower_bound_s"].toDouble() >= search["lower_bound_s"].toDouble());
        QVERIFY(proven["lower_bound_s"].toDouble() <= least_s * (1 + 1e-12));
        if (objective == "max-load") QVERIFY(near(proven["lower_bound_s"].toDouble(), least_s, 1e-5));
    }
}

QTEST_GUILESS_MAIN(TestDnnPartitioning)
#include "tst_dnn_partitioning.moc"
