// SPDX-License-Identifier: MIT
// Workloads of dnn-partitioning and their two objectives.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include "core/base/path.hpp"
#include "core/base/random.hpp"
#include "core/io/file_content.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/io/text/input_error.hpp"
#include "core/sim/block_latency.hpp"
#include "core/sim/max_load.hpp"
#include "core/sim/memory_penalty.hpp"
#include "core/sim/objectives.hpp"
#include "tests/support/cli.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/reference.hpp"

using namespace placewright;

namespace {

const Path kSource = Path(PLACEWRIGHT_TEST_DATA).parent_path().parent_path();
const QString kReference = QString::fromStdString(test::reference("dnn-partitioning").string());

// ---- Workloads as text ----

struct Node {
    int id = 0;
    double accelerator_ms = 0, cpu_ms = 0;
    double bytes = 0;
    QByteArray more = {};  ///< members that come last, and so take effect
};

struct Edge {
    int from = 0, to = 0;
    double cost_ms = 0;
};

struct Workload {
    std::vector<Node> nodes;
    std::vector<Edge> edges;
    int accelerators = 2;
    double memory_bytes = 1000;
};

const QByteArray kBackward = R"("isBackwardNode": 1)";
const QByteArray kRed = R"("isBackwardNode": 0, "colorClass": 7)";

QByteArray text_of(const Workload& workload) {
    const auto number = [](double value) { return QByteArray::number(value, 'g', 17); };
    QByteArray nodes, edges;
    for (const Node& node : workload.nodes) {
        const QByteArray more = node.more.contains("isBackwardNode") ? node.more
                                : node.more.isEmpty()                ? QByteArray(R"("isBackwardNode": 0)")
                                                                     : R"("isBackwardNode": 0, )" + node.more;
        nodes += (nodes.isEmpty() ? "" : ", ") + QByteArray(R"({"id": )") + number(node.id) +
                 (more.contains("supportedOnFpga") ? "" : R"(, "supportedOnFpga": 1)") +
                 R"(, "fpgaLatency": )" + number(node.accelerator_ms) + R"(, "cpuLatency": )" +
                 number(node.cpu_ms) + R"(, "size": )" + number(node.bytes) + ", " + more + '}';
    }
    for (const Edge& edge : workload.edges) {
        edges += (edges.isEmpty() ? "" : ", ") + QByteArray(R"({"sourceId": )") + number(edge.from) +
                 R"(, "destId": )" + number(edge.to) + R"(, "cost": )" + number(edge.cost_ms) + '}';
    }
    return R"({"maxFPGAs": )" + number(workload.accelerators) + R"(, "maxSizePerFPGA": )" +
           number(workload.memory_bytes) + R"(, "maxCPUs": 1, "nodes": [)" + nodes + "], \"edges\": [" +
           edges + "]}";
}

ProblemOptions measured() {
    ProblemOptions options;
    options.cost.model = find_cost_model("measured");
    return options;
}

using ProblemPtr = std::shared_ptr<const Problem>;

ProblemPtr problem_of(const Path& file, bool inference = false) {
    NetworkFile read = read_network(file);
    ProblemOptions options = measured();
    options.inference = inference;
    return test::problem(std::move(read.graph), *std::move(read.machine), options);
}

/// One device per node, in the order of the ids given; ops of a group must agree.
Placement placed(const Problem& problem, const std::map<int, int>& device_of) {
    Placement placement(problem.groups, kInvalidDevice);
    for (const auto& [id, device] : device_of) {
        placement[problem.grouping.group_of[*problem.graph->find(std::to_string(id))]] =
            static_cast<DeviceId>(device);
    }
    return placement;
}

double ms(double seconds) {
    return seconds * 1e3;
}

bool near(double a, double b, double relative = 1e-12) {
    return std::abs(a - b) <= relative * std::max(std::abs(a), std::abs(b));
}

#define COMPARE_MS(seconds, expected_ms)     \
    QVERIFY2(near(ms(seconds), expected_ms), \
             qPrintable(QString("%1 ms, expected %2 ms").arg(ms(seconds)).arg(expected_ms)))

/// Message of the `Error` that `call` throws; empty if it throws nothing.
template <class Error, class Call>
QByteArray error_of(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

// ---- Both models again, in a slow form with sets ----

struct SlowModel {
    const Workload& workload;
    const std::map<int, int>& device_of;

    const Node& node(int id) const { return *std::ranges::find(workload.nodes, id, &Node::id); }
    double cost_ms(int id) const { return std::ranges::find(workload.edges, id, &Edge::from)->cost_ms; }

    double max_load_ms() const {
        double most = 0;
        for (int device = 0; device <= workload.accelerators; ++device) {
            double load = 0;
            std::set<int> crossing;
            for (const Node& n : workload.nodes) {
                if (device_of.at(n.id) == device) load += device == 0 ? n.cpu_ms : n.accelerator_ms;
            }
            for (const Edge& edge : workload.edges) {
                if ((device_of.at(edge.from) == device) != (device_of.at(edge.to) == device))
                    crossing.insert(edge.from);
            }
            for (const int id : crossing) load += device == 0 ? 0 : cost_ms(id);
            most = std::max(most, load);
        }
        return most;
    }

    int level(int id, int device) const {
        const bool inside = device_of.at(id) == device;
        int result = inside ? 1 : 0;
        for (const Edge& edge : workload.edges) {
            if (edge.to == id)
                result = std::max(
                    result, level(edge.from, device) + (inside && device_of.at(edge.from) != device ? 1 : 0));
        }
        return result;
    }

    /// (device, piece), or (0, -id) for a node on the CPU.
    std::pair<int, int> block(int id) const {
        const int device = device_of.at(id);
        return {device, device == 0 ? -1 - id : level(id, device)};
    }

    /// Nothing if blocks wait for each other.
    std::optional<double> latency_ms() const {
        std::map<std::pair<int, int>, std::set<int>> members;
        for (const Node& n : workload.nodes) members[block(n.id)].insert(n.id);
        std::map<std::pair<int, int>, double> end;
        double latest = 0;
        for (bool progress = true; progress;) {
            progress = false;
            for (const auto& [name, nodes] : members) {
                if (end.contains(name)) continue;
                std::set<int> in, out;
                for (const Edge& edge : workload.edges) {
                    const bool from_inside = nodes.contains(edge.from), to_inside = nodes.contains(edge.to);
                    if (!from_inside && to_inside) in.insert(edge.from);
                    if (from_inside && !to_inside) out.insert(edge.from);
                }
                if (std::ranges::any_of(in, [&](int id) { return !end.contains(block(id)); })) continue;
                double time = 0;
                for (const int id : in) time = std::max(time, end.at(block(id)));
                for (const int id : nodes)
                    time += name.first == 0 ? node(id).cpu_ms : node(id).accelerator_ms;
                if (name.first != 0) {
                    for (const int id : in) time += cost_ms(id);
                    for (const int id : out) time += cost_ms(id);
                }
                end[name] = time;
                latest = std::max(latest, time);
                progress = true;
            }
        }
        if (end.size() < members.size()) return {};
        return latest;
    }
};

Workload random_workload(Random& random) {
    Workload workload;
    workload.accelerators = 1 + static_cast<int>(random.index(3));
    const int count = 2 + static_cast<int>(random.index(9));
    for (int id = 0; id < count; ++id) {
        workload.nodes.push_back({id, 1.0 + static_cast<double>(random.index(9)),
                                  10.0 + static_cast<double>(random.index(40)), 1});
        const double cost_ms = 0.25 * static_cast<double>(random.index(9));
        for (int to = id + 1; to < count; ++to) {
            if (random.chance(0.3)) workload.edges.push_back({id, to, cost_ms});
        }
    }
    return workload;
}

// ---- The command line ----

using Result = test::ProgramResult;

Result run(const QStringList& arguments) {
    return test::run_program(PLACEWRIGHT_CLI, arguments);
}

/// 1 -> 2 -> 3 and 1 -> 3; all nodes together fit into 1000 bytes but not into 300.
const Workload kTriangle{{{1, 2, 20, 100}, {2, 3, 30, 200}, {3, 4, 40, 300}},
                         {{1, 2, 0.5}, {1, 3, 0.5}, {2, 3, 0.25}}};

}  // namespace

Q_DECLARE_METATYPE(Workload)
using Placing = std::map<int, int>;
Q_DECLARE_METATYPE(Placing)

class TestDnnPartitioning : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    QString path(const QString& name) const { return m_folder.filePath(name); }
    QString write(const QString& name, const QByteArray& text) const {
        return test::write_file(path(name), text);
    }
    ProblemPtr problem(const Workload& workload, bool inference = false) const {
        return problem_of(write("workload.json", text_of(workload)).toStdString(), inference);
    }

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_folder.isValid()); }

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

    void maxLoads_data();
    void maxLoads();
    void memory();
    void maxLoadOfTraining();
    void latencies_data();
    void latencies();
    void waitingForEachOther();
    void latencyOfTraining();
    void randomWorkloads();
    void otherMachines();
    void scores();
    void listOfObjectives();

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
        << QByteArray(R"(ops that belong together on different devices: "2 and 3")");
    QTest::newRow("separated from the CPU")
        << QByteArray(R"({"1": 0, "2": 1, "3": 0})") << QByteArray("belong together");
    QTest::newRow("too many devices") << QByteArray(R"({"1": 0, "2": 3, "3": 3})")
                                      << QByteArray(R"(devices that are not in the machine: "3")");
    QTest::newRow("negative device") << QByteArray(R"({"1": -1, "2": 1, "3": 1})")
                                     << QByteArray(R"(devices that are not in the machine: "-1")");
    QTest::newRow("not supported") << QByteArray(R"({"1": 1, "2": 1, "3": 1})")
                                   << QByteArray(R"(devices that they do not allow: "1 on 1")");
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

// ---- Max load ----

void TestDnnPartitioning::maxLoads_data() {
    QTest::addColumn<Workload>("workload");
    QTest::addColumn<Placing>("device_of");
    QTest::addColumn<QList<double>>("load_ms");
    const auto row = [](const char* name, const Workload& workload, const Placing& device_of,
                        const QList<double>& load_ms) {
        QTest::newRow(name) << workload << device_of << load_ms;
    };
    row("one accelerator", kTriangle, {{1, 1}, {2, 1}, {3, 1}}, {0, 9, 0});
    row("CPU", kTriangle, {{1, 0}, {2, 0}, {3, 0}}, {90, 0, 0});
    // Node 1 costs 0.5 on both sides, although both 2 and 3 read it.
    row("two accelerators", kTriangle, {{1, 1}, {2, 2}, {3, 2}}, {0, 2.5, 7.5});
    // The CPU has no transfer costs; the accelerator reads 1 and writes 2.
    row("CPU at both ends", kTriangle, {{1, 0}, {2, 1}, {3, 0}}, {60, 3.75, 0});
    // 1 is written once although two devices read it, and read by each: 2 + 0.5; 3 + 0.5 + 0.25; CPU 40.
    row("two readers on two devices", kTriangle, {{1, 1}, {2, 2}, {3, 0}}, {40, 2.5, 3.75});
    // 1 and 3 on the same device with 2 between: 6 + 0.5 for 1 out + 0.25 for 2 in; 3 + 0.5 + 0.25.
    row("not contiguous", kTriangle, {{1, 1}, {2, 2}, {3, 1}}, {0, 6.75, 3.75});
    // Forward 1, 2 and backward 4, 3: the activations that 1 keeps for its backward cross too. 1 + 7 + 0.5
    // out (once) + 0.125 in; 2 + 5 + 0.5 + 0.125.
    const Workload step{{{1, 1, 0}, {2, 2, 0}, {3, 5, 0, 0, kBackward}, {4, 7, 0, 0, kBackward}},
                        {{1, 2, 0.5}, {1, 4, 0.5}, {1, 3, 0.5}, {2, 3, 4}, {3, 4, 0.125}}};
    row("training", step, {{1, 1}, {2, 2}, {3, 2}, {4, 1}}, {0, 8.625, 7.625});
    // From backward to backward, and a forward node on the CPU.
    row("backward to backward", step, {{1, 0}, {2, 0}, {3, 1}, {4, 2}}, {0, 9.625, 7.625});
    row("free transfers", {{{1, 2, 0}, {2, 3, 0}}, {{1, 2, 0}}}, {{1, 1}, {2, 2}}, {0, 2, 3});
}

void TestDnnPartitioning::maxLoads() {
    QFETCH(Workload, workload);
    QFETCH(Placing, device_of);
    QFETCH(QList<double>, load_ms);
    const auto built = problem(workload);
    const Evaluation evaluation = max_load(*built, placed(*built, device_of));
    QCOMPARE(evaluation.device_s.size(), static_cast<std::size_t>(load_ms.size()));
    for (qsizetype i = 0; i < load_ms.size(); ++i)
        COMPARE_MS(evaluation.device_s[static_cast<std::size_t>(i)], load_ms[i]);
    COMPARE_MS(evaluation.seconds, std::ranges::max(load_ms));
    QVERIFY(evaluation.fits);
}

void TestDnnPartitioning::memory() {
    Workload workload = kTriangle;
    workload.nodes[2].more = kBackward;
    const auto evaluate = [&](double memory_bytes, const Placing& device_of) {
        workload.memory_bytes = memory_bytes;
        const auto built = problem(workload);
        return max_load(*built, placed(*built, device_of));
    };
    const Placing split{{1, 1}, {2, 2}, {3, 1}};
    // Forward and backward nodes count together; an exact fit is a fit.
    QCOMPARE(evaluate(400, split).device_bytes, (std::vector<double>{0, 400, 200}));
    QVERIFY(evaluate(400, split).fits);
    QVERIFY(!evaluate(399, split).fits);
    // The CPU has no limit.
    QVERIFY(evaluate(1, {{1, 0}, {2, 0}, {3, 0}}).fits);
    QVERIFY(!evaluate(1, {{1, 0}, {2, 0}, {3, 1}}).fits);
}

void TestDnnPartitioning::maxLoadOfTraining() {
    // Only the forward part.
    Workload workload = kTriangle;
    workload.nodes[2].more = kBackward;
    const auto built = problem(workload, true);
    COMPARE_MS(max_load(*built, placed(*built, {{1, 1}, {2, 2}})).seconds, 3.5);
}

// ---- Block latency ----

void TestDnnPartitioning::latencies_data() {
    QTest::addColumn<Workload>("workload");
    QTest::addColumn<Placing>("device_of");
    QTest::addColumn<double>("latency_ms");
    const auto row = [](const char* name, const Workload& workload, const Placing& device_of,
                        double latency_ms) { QTest::newRow(name) << workload << device_of << latency_ms; };
    row("one accelerator", kTriangle, {{1, 1}, {2, 1}, {3, 1}}, 9);
    row("CPU", kTriangle, {{1, 0}, {2, 0}, {3, 0}}, 90);
    // 1: 2 + 0.5 out; 2 and 3 as one block: 0.5 in (once) + 7.
    row("two accelerators", kTriangle, {{1, 1}, {2, 2}, {3, 2}}, 10);
    // 1 and 2 end together after 5 and 0.5 + 0.25 out, although 3 also reads 1; 3 on the CPU.
    row("nothing is seen before the block ends", kTriangle, {{1, 1}, {2, 1}, {3, 0}}, 45.75);
    // Pieces {1} and {3} of one accelerator, with 2 between. 1: 2.5; 2 on the CPU: 32.5; 3: 0.5 and 0.25 in,
    // 4: 37.25.
    row("two pieces", kTriangle, {{1, 1}, {2, 0}, {3, 1}}, 37.25);
    // The same with 2 on another accelerator. 1: 2.5; 2: 0.5 in + 3 + 0.25 out: 6.25; 3: 0.75 in + 4.
    row("two pieces round another accelerator", kTriangle, {{1, 1}, {2, 2}, {3, 1}}, 11);

    // CPUs are unlimited: three branches of 10, 20 and 30 run at once, and 5 after the last.
    const Workload branches{{{1, 1, 10}, {2, 1, 20}, {3, 1, 30}, {4, 1, 5}},
                            {{1, 4, 0.5}, {2, 4, 0.5}, {3, 4, 0.5}}};
    row("as many CPUs as needed", branches, {{1, 0}, {2, 0}, {3, 0}, {4, 0}}, 35);
    // The same branches on one accelerator run one after the other, as one block: 3 + 1.5 out, then 5 on the
    // CPU.
    row("one after the other", branches, {{1, 1}, {2, 1}, {3, 1}, {4, 0}}, 9.5);
    // A block waits for all its inputs: 3 has none itself, but its block waits for 1 on the CPU. 10 + 0.5 in
    // + 3.
    row("all or nothing", branches, {{1, 0}, {2, 1}, {3, 1}, {4, 1}}, 13.5);
    // All inputs are available at 20; each is read once: 0.5 + 0.5 in.
    row("two inputs", branches, {{1, 0}, {2, 0}, {3, 1}, {4, 1}}, 23);

    // 1 -> 2 -> 3 -> 4 -> 5, alternating: three pieces of the accelerator. 1.5; 11.5; 13.5 (0.5 in and
    // out); 23.5; 25.
    const Workload chain{{{1, 1, 10}, {2, 1, 10}, {3, 1, 10}, {4, 1, 10}, {5, 1, 10}},
                         {{1, 2, 0.5}, {2, 3, 0.5}, {3, 4, 0.5}, {4, 5, 0.5}}};
    row("three pieces", chain, {{1, 1}, {2, 0}, {3, 1}, {4, 0}, {5, 1}}, 25);

    // 6 depends only on 1, so it is in the first piece, as is 7, which reads nothing: 1, 6, 7 and 0.5 for 1
    // out, 10 for 2, then 3 with 0.5 in.
    const Workload side{{{1, 1, 10}, {2, 1, 10}, {3, 1, 10}, {6, 1, 10}, {7, 1, 10}},
                        {{1, 2, 0.5}, {2, 3, 0.5}, {1, 6, 0.5}}};
    row("pieces by depth", side, {{1, 1}, {2, 0}, {3, 1}, {6, 1}, {7, 1}}, 15);
    // 3 also reads 7, which is sent by the first piece and read by the second: 0.5 out and 0.5 in.
    Workload kept = side;
    kept.edges.push_back({7, 3, 0.5});
    row("between two pieces", kept, {{1, 1}, {2, 0}, {3, 1}, {6, 1}, {7, 1}}, 16);
}

void TestDnnPartitioning::latencies() {
    QFETCH(Workload, workload);
    QFETCH(Placing, device_of);
    QFETCH(double, latency_ms);
    const auto built = problem(workload);
    const Evaluation evaluation = block_latency(*built, placed(*built, device_of));
    COMPARE_MS(evaluation.seconds, latency_ms);
    QVERIFY(evaluation.fits);

    workload.memory_bytes = 1;
    for (Node& node : workload.nodes) node.bytes = 1;
    const auto small = problem(workload);
    const Evaluation tight = block_latency(*small, placed(*small, device_of));
    COMPARE_MS(tight.seconds, latency_ms);
    // One node per accelerator fits; pieces of a device count together.
    std::map<int, int> nodes_on;
    for (const auto& [id, device] : device_of) ++nodes_on[device];
    nodes_on.erase(0);
    QCOMPARE(tight.fits, std::ranges::all_of(nodes_on, [](const auto& entry) { return entry.second == 1; }));
}

void TestDnnPartitioning::waitingForEachOther() {
    // 1 -> 2 and 3 -> 4, crosswise on two accelerators: neither device has pieces, and each waits for the
    // other.
    const Workload workload{{{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {4, 1, 1}}, {{1, 2, 1}, {3, 4, 1}}};
    const auto built = problem(workload);
    const Placement crossed = placed(*built, {{1, 1}, {2, 2}, {3, 2}, {4, 1}});
    const QByteArray error = error_of<PlacementError>([&] { block_latency(*built, crossed); });
    QVERIFY2(error.contains("cycle of 2 blocks"), error);
    QVERIFY2(error.contains(R"("accelerator:0" waits for "accelerator:1" (op "4" reads "3"))"), error);
    QVERIFY2(error.contains(R"("accelerator:1" waits for "accelerator:0" (op "2" reads "1"))"), error);
    COMPARE_MS(max_load(*built, crossed).seconds, 4);

    // Nodes that only depend on the cycle are not named.
    Workload behind = workload;
    behind.nodes.push_back({5, 1, 1});
    behind.edges.push_back({4, 5, 1});
    behind.accelerators = 3;
    const auto longer = problem(behind);
    const QByteArray same = error_of<PlacementError>([&] {
        block_latency(*longer, placed(*longer, {{1, 1}, {2, 2}, {3, 2}, {4, 1}, {5, 3}}));
    });
    QVERIFY2(same.contains("cycle of 2 blocks") && !same.contains("accelerator:2"), same);
}

void TestDnnPartitioning::latencyOfTraining() {
    Workload workload = kTriangle;
    workload.nodes[2].more = kBackward;
    const auto step = problem(workload);
    QVERIFY(error_of<GraphError>([&] {
                block_latency(*step, Placement(step->groups, 0));
            }).contains("not defined for training"));
    const auto inference = problem(workload, true);
    COMPARE_MS(block_latency(*inference, Placement(inference->groups, 1)).seconds, 5);
}

void TestDnnPartitioning::randomWorkloads() {
    Random random(7);
    int cyclic = 0, defined = 0;
    for (int i = 0; i < 300; ++i) {
        const Workload workload = random_workload(random);
        const auto built = problem(workload);
        for (int j = 0; j < 5; ++j) {
            Placing device_of;
            for (const Node& node : workload.nodes)
                device_of[node.id] =
                    static_cast<int>(random.index(static_cast<std::size_t>(workload.accelerators) + 1));
            const SlowModel slow{workload, device_of};
            const Placement placement = placed(*built, device_of);
            COMPARE_MS(max_load(*built, placement).seconds, slow.max_load_ms());
            if (const auto latency_ms = slow.latency_ms()) {
                COMPARE_MS(block_latency(*built, placement).seconds, *latency_ms);
                ++defined;
            } else {
                QVERIFY(!error_of<PlacementError>([&] { block_latency(*built, placement); }).isEmpty());
                ++cyclic;
            }
        }
    }
    QVERIFY2(cyclic > 20 && defined > 500,
             qPrintable(QString("%1 cyclic, %2 defined").arg(cyclic).arg(defined)));
}

// ---- Graphs and machines in our format ----

void TestDnnPartitioning::otherMachines() {
    // gpu:0 reaches the first CPU over two channels, at 1 and 2 ms per MB, and is reached over one of 4 ms
    // per MB; the direct link of the GPUs is never used, because all transfers pass the host.
    const auto device = [](const char* name, DeviceKind kind) {
        return Device{name, kind, name, 1e12, 1e12, 2e6, 1, 0};
    };
    const auto channel = [](const char* name, double bandwidth) {
        return Channel{name, bandwidth, 0, 1, {}};
    };
    const auto to_host = [](DeviceId gpu) {
        return std::vector<Route>{{gpu, 0, {0, 1}}, {0, gpu, {2}}, {gpu, 3, {0}}, {3, gpu, {0}}};
    };
    std::vector<Route> routes{{1, 2, {3}}, {2, 1, {3}}, {0, 3, {0}}, {3, 0, {0}}};
    for (const DeviceId gpu : {DeviceId{1}, DeviceId{2}})
        std::ranges::copy(to_host(gpu), std::back_inserter(routes));
    const std::vector<Channel> channels{channel("a", 1e9), channel("b", 5e8), channel("c", 2.5e8),
                                        channel("link", 1e12)};
    const Machine machine("own",
                          {device("cpu:0", DeviceKind::cpu), device("gpu:0", DeviceKind::gpu),
                           device("gpu:1", DeviceKind::gpu), device("cpu:1", DeviceKind::cpu)},
                          channels, routes);
    // Ops of 1 ms with outputs of 1 MB.
    const auto built = test::problem(test::chain(4), machine);
    const Evaluation load = max_load(*built, Placement{1, 2, 3, 0});
    // gpu:0: 1 + (1 + 2) out; gpu:1: 4 in + 1 + 3 out; the CPUs only their op.
    COMPARE_MS(load.device_s[1], 4);
    COMPARE_MS(load.device_s[2], 8);
    COMPARE_MS(load.device_s[3], 1);
    COMPARE_MS(load.device_s[0], 1);
    COMPARE_MS(block_latency(*built, Placement{1, 2, 3, 0}).seconds, 14);
    // Outputs are held beside the resident bytes.
    QCOMPARE(max_load(*built, Placement{1, 1, 2, 2}).device_bytes, (std::vector<double>{0, 2e6, 2e6, 0}));
    QVERIFY(max_load(*built, Placement{1, 1, 2, 2}).fits);
    QVERIFY(!max_load(*built, Placement{1, 1, 1, 2}).fits);

    const auto without_cpu = test::problem(test::chain(4), test::uniform_machine(2));
    QVERIFY(error_of<MachineError>([&] { max_load(*without_cpu, Placement(4, 0)); }).contains("has no CPU"));
    QVERIFY(
        error_of<MachineError>([&] { block_latency(*without_cpu, Placement(4, 0)); }).contains("has no CPU"));
}

void TestDnnPartitioning::scores() {
    Workload workload = kTriangle;
    workload.memory_bytes = 550;
    const auto built = problem(workload);
    const MemoryPenalty penalty;
    const Score fine = penalty.score(*built, max_load(*built, placed(*built, {{1, 1}, {2, 2}, {3, 2}})));
    QCOMPARE(fine, (Score{fine.value_s, fine.value_s, true}));
    COMPARE_MS(fine.penalised_s, 7.5);
    // 50 bytes too many, at 1000 s per MB.
    const Score over = penalty.score(*built, max_load(*built, placed(*built, {{1, 1}, {2, 1}, {3, 1}})));
    QVERIFY(!over.fits);
    COMPARE_MS(over.value_s, 9);
    COMPARE_MS(over.penalised_s, 59);

    // With half of the memory, 275 bytes, the first placement does not fit either: the second accelerator
    // holds 500 bytes.
    ProblemOptions options;
    options.cost.model = find_cost_model("measured");
    options.usable_memory = 0.5;
    const auto half = make_problem(built->forward, built->machine, options);
    const Score tight = penalty.score(*half, max_load(*half, placed(*half, {{1, 1}, {2, 2}, {3, 2}})));
    QVERIFY(!tight.fits);
    COMPARE_MS(tight.penalised_s, 7.5 + 225);
}

void TestDnnPartitioning::listOfObjectives() {
    QStringList ids;
    for (const Objective& objective : objectives()) {
        ids << QString::fromUtf8(objective.id.data(), static_cast<qsizetype>(objective.id.size()));
        QCOMPARE(find_objective(objective.id), &objective);
        QVERIFY(!objective.title.empty() && !objective.help.empty());
    }
    QCOMPARE(ids, (QStringList{"step-time", "max-load", "block-latency"}));
    QCOMPARE(find_objective("fame"), nullptr);
    QVERIFY(find_objective("step-time")->is_step_time());
    QVERIFY(find_objective("max-load")->evaluate == max_load);
    QVERIFY(find_objective("block-latency")->evaluate == block_latency);
}

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
        QCOMPARE(run(QStringList{"bound"} + arguments).json()["lower_bound_s"], search["lower_bound_s"]);
        const QJsonObject proven =
            run(QStringList{"bound"} + arguments + QStringList{"--seconds", "1"}).json();
        QVERIFY(proven["lower_bound_s"].toDouble() >= search["lower_bound_s"].toDouble());
        QVERIFY(proven["lower_bound_s"].toDouble() <= least_s * (1 + 1e-12));
        if (objective == "max-load") QVERIFY(near(proven["lower_bound_s"].toDouble(), least_s, 1e-5));
    }
}

QTEST_GUILESS_MAIN(TestDnnPartitioning)
#include "tst_dnn_partitioning.moc"
