// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QScopeGuard>
#include <QTemporaryDir>
#include <QTest>

#include "core/base/infinity.hpp"
#include "core/base/path.hpp"
#include "core/base/random.hpp"
#include "core/cost/cost_model.hpp"
#include "core/graph/training.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/io/shipped.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/whole_file.hpp"
#include "tests/support/cpu_time.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/reference.hpp"

using namespace placewright;

namespace {

const Path kData = PLACEWRIGHT_TEST_DATA;
/// Files of the reference system, if they lie beside the checkout.
const Path kReference = test::reference("exprimo");

std::string content_of(const Path& file) {
    std::ifstream stream(file, std::ios::binary);
    return (std::ostringstream() << stream.rdbuf()).str();
}

/// Message of the InputError of `call`; empty if there is none.
template <class Call>
QString refusal(Call call) {
    try {
        call();
    } catch (const InputError& error) {
        return QString::fromStdString(error.what());
    }
    return {};
}

/// `text` with its single occurrence of `before` replaced.
std::string changed(std::string text, const std::string& before, const std::string& after) {
    const std::size_t at = text.find(before);
    if (at == std::string::npos) qFatal("the fixture has no %s", before.c_str());
    return text.replace(at, before.size(), after);
}

std::string repeated(std::string_view text, std::size_t count) {
    std::string result;
    result.reserve(text.size() * count);
    for (std::size_t i = 0; i < count; ++i) result += text;
    return result;
}

const std::string kNetwork = R"({
  "format": "placewright.graph", "version": 1, "name": "small", "batch": 2, "training": "implicit", "author": {"unknown": ["key"]},
  "ops": [
    {"name": "data", "kind": "input", "inputs": [], "outputs": [{"shape": [2, 3], "dtype": "float32"}], "parameter_bytes": 0, "flops": 0},
    {"name": "fc", "kind": "linear", "inputs": ["data"], "outputs": [{"shape": [2, 4], "dtype": "float32"}], "parameter_bytes": 64, "flops": 48},
    {"name": "act", "kind": "relu", "inputs": ["fc:0"], "outputs": [{"bytes": 32}], "parameter_bytes": 0, "flops": 8, "later": 1}
  ]
})";

const std::string kMachine = R"({
  "format": "placewright.machine", "version": 1, "name": "pair", "source": "made up",
  "devices": [
    {"name": "cpu:0", "kind": "cpu", "model": "C", "peak_flops": 1e12, "memory_bandwidth": 1e11, "memory_bytes": 1e11, "efficiency": 0.9},
    {"name": "gpu:0", "kind": "gpu", "model": "G", "peak_flops": 1e13, "memory_bandwidth": 9e11, "memory_bytes": 32e9, "launch_overhead_s": 5e-6}
  ],
  "channels": [{"name": "bus", "bandwidth": 16e9, "latency_s": 1e-5, "efficiency": 0.25, "efficiency_by_bytes": [[1e3, 0.01], [1e7, 0.28]]}],
  "routes": [{"from": "cpu:0", "to": "gpu:0", "channels": ["bus"]}, {"from": "gpu:0", "to": "cpu:0", "channels": ["bus"]}]
})";

const std::string kPlacement = R"({
  "format": "placewright.placement", "version": 1, "graph": "small", "machine": "pair",
  "placement": {"data": "cpu:0", "fc": "gpu:0", "act": "gpu:0"}
})";

void compare_ops(const Op& a, const Op& b) {
    QCOMPARE(a.name, b.name);
    QCOMPARE(a.kind, b.kind);
    QCOMPARE(a.scope, b.scope);
    QVERIFY(a.phase == b.phase);
    QCOMPARE(a.flops, b.flops);
    QVERIFY(a.backward_flops == b.backward_flops);
    QCOMPARE(a.parameter_bytes, b.parameter_bytes);
    QCOMPARE(a.resident_bytes, b.resident_bytes);
    QCOMPARE(a.workspace_bytes, b.workspace_bytes);
    QCOMPARE(a.in_place, b.in_place);
    QVERIFY(a.outputs == b.outputs);
    QVERIFY(a.inputs == b.inputs);
    QCOMPARE(a.colocate, b.colocate);
    QVERIFY(a.devices == b.devices);
    QVERIFY(a.time_s == b.time_s);
    QVERIFY(a.attributes == b.attributes);
}

void compare_graphs(const Graph& a, const Graph& b) {
    QCOMPARE(a.name(), b.name());
    QCOMPARE(a.batch(), b.batch());
    QVERIFY(a.training() == b.training());
    QCOMPARE(a.size(), b.size());
    for (OpId id = 0; id < a.size(); ++id) compare_ops(a.op(id), b.op(id));
}

/// Ops that use every field, with names that look like outputs of other ops.
Graph awkward_graph() {
    GraphBuilder builder("awkward \"name\"\n\u00e9", 7, Training::explicit_);
    Op a;
    a.name = "a";
    a.kind = "split";
    a.scope = "outer/inner";
    a.flops = 0.1;
    a.outputs = {make_tensor({7, 1}), make_tensor({}, DType::int64), make_tensor({0, 5}, DType::bfloat16)};
    a.devices = {"gpu", "cpu:0"};
    a.time_s["NVIDIA V100"] = {0.00012, 0.00025};
    a.time_s["none"] = {};
    a.attributes = {{"kernel", "[1,1]"}, {"padding", "\"same\""}, {"nested", R"({"b":[null,true,1.5,1.0]})"}};
    builder.add(a, {});
    Op b;
    b.name = "a:1";
    b.kind = "relu";
    b.flops = 1e21;
    b.backward_flops = 12345678901234.5;
    b.parameter_bytes = std::int64_t{1} << 60;
    b.resident_bytes = 17;
    b.workspace_bytes = std::int64_t{1} << 50;
    b.in_place = true;
    b.colocate = "label";
    Tensor bare;
    bare.bytes = 12;
    bare.dtype = DType::int8;
    b.outputs = {bare};
    builder.add(b, {"a", "a:2"});
    Op c;
    c.name = "a:1:0";
    c.kind = "add";
    c.phase = Phase::backward;
    c.outputs = {bare};
    c.inputs = {{1, 0}, {0, 1}, {0, 0}, {1, 0}};
    builder.add(c);
    Op d;
    d.name = "d";
    d.kind = "sgd";
    d.phase = Phase::update;
    d.inputs = {{2, 0}};
    builder.add(d);
    return builder.build();
}

class TestIo : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();

    void networkIsRead();
    void networkRoundTrip_data();
    void networkRoundTrip();
    void networkIsWrittenOneOpALine();
    void batchOfAFixedNetwork();
    void badNetworks_data();
    void badNetworks();
    void hugeGarbage_data();
    void hugeGarbage();
    void notAFile();

    void machineIsRead();
    void machineRoundTrip();
    void realMachineIsRead();
    void badMachines_data();
    void badMachines();

    void placementRoundTrip();
    void placementFile();
    void flatPlacement();
    void placementOfOneOpPlacesItsGroup();
    void placementOfDerivedOps();
    void largePlacement();
    void badPlacements_data();
    void badPlacements();

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

    void shippedMachines();
    void transfersBySize();
    void findingModels();
    void modelsFolderFromTheEnvironment();

    void damagedFiles_data();
    void damagedFiles();

    void writeFile();
    void writeKeepsPermissionsAndLinks();
    void failedWriteKeepsTheOldFile();
    void impossibleTargets();

private:
    Path file(const std::string& name) const { return Path(m_folder->path().toStdString()) / name; }
    Path fileWith(const std::string& name, const std::string& content) const {
        std::ofstream(file(name), std::ios::binary) << content;
        return file(name);
    }
    std::vector<std::string> filesInFolder() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(m_folder->path().toStdString()))
            names.push_back(entry.path().filename());
        std::ranges::sort(names);
        return names;
    }

    std::unique_ptr<QTemporaryDir> m_folder;
};

/// Checks for one line that starts with the file and contains the fragment.
void check_refusal(const QString& message, const Path& file, const QString& fragment) {
    QVERIFY2(!message.isEmpty(), "the file was accepted");
    QVERIFY2(message.startsWith(QString::fromStdString(file.string()) + ": "), qPrintable(message));
    QVERIFY2(message.contains(fragment), qPrintable(message));
    QVERIFY2(!message.contains('\n'), qPrintable(message));
    QVERIFY2(message.size() < 1500, qPrintable(message));
}

std::shared_ptr<const Problem> small_problem(const Path& network, const Path& machine) {
    return test::problem(read_network(network).graph, read_machine(machine));
}

void TestIo::init() {
    m_folder = std::make_unique<QTemporaryDir>();
    QVERIFY(m_folder->isValid());
}

// ---- Networks ----

void TestIo::networkIsRead() {
    const NetworkFile network = read_network(fileWith("n.json", "\xef\xbb\xbf" + kNetwork));
    QCOMPARE(network.graph.name(), std::string("small"));
    QCOMPARE(network.graph.batch(), std::int64_t{2});
    QVERIFY(network.graph.training() == Training::implicit);
    QCOMPARE(network.graph.size(), std::size_t{3});
    QVERIFY(network.device_index.empty());
    const Op& fc = network.graph.op(1);
    QCOMPARE(fc.kind, std::string("linear"));
    QCOMPARE(fc.parameter_bytes, std::int64_t{64});
    QCOMPARE(fc.flops, 48.0);
    QVERIFY(fc.outputs == std::vector<Tensor>{make_tensor({2, 4})});
    QVERIFY(network.graph.op(2).inputs == (std::vector<TensorRef>{{1, 0}}));
    QCOMPARE(network.graph.op(2).outputs[0].bytes, std::int64_t{32});
    QVERIFY(!network.graph.op(2).outputs[0].shape);
}

void TestIo::networkRoundTrip_data() {
    QTest::addColumn<int>("seed");
    QTest::newRow("every field") << -1;
    QTest::newRow("derived training graph") << -2;
    for (int seed = 0; seed < 20; ++seed) QTest::addRow("random %d", seed) << seed;
}

void TestIo::networkRoundTrip() {
    QFETCH(const int, seed);
    const auto number = static_cast<std::uint64_t>(std::max(seed, 0));
    const Graph graph = seed == -1 ? awkward_graph()
                        : seed == -2
                            ? training_graph(test::random_graph(5, 40, 3, Training::implicit))
                            : test::random_graph(number, 1 + 7 * number, 4,
                                                 number % 2 == 0 ? Training::implicit : Training::none);
    const Path first = file("first.json"), second = file("second.json");
    write_network(graph, first);
    const Graph read = read_network(first).graph;
    compare_graphs(graph, read);
    write_network(read, second);
    QCOMPARE(content_of(first), content_of(second));
}

void TestIo::networkIsWrittenOneOpALine() {
    const Graph graph = test::chain(5);
    write_network(graph, file("n.json"));
    const QStringList lines = QString::fromStdString(content_of(file("n.json"))).split('\n');
    QCOMPARE(lines.filter("\"kind\": ").size(), 5);
    // Braces, the header, "ops", its bracket, and the empty item after the last line break.
    QCOMPARE(lines.size(), 5 + 6);
    QVERIFY(lines[1].startsWith(
        R"(  "format": "placewright.graph", "version": 1, "name": "chain", "batch": 1, "training": "none")"));
    QVERIFY(lines[3].contains(R"("flops": 1000000000)"));
}

void TestIo::batchOfAFixedNetwork() {
    const Path path = fileWith("n.json", kNetwork);
    QCOMPARE(read_network(path, 2).graph.batch(), std::int64_t{2});
    check_refusal(refusal([&] { read_network(path, 8); }), path,
                  "fixed at 2, not 8; \"convert --network NAME --batch 8\"");
}

void TestIo::badNetworks_data() {
    QTest::addColumn<std::string>("content");
    QTest::addColumn<QString>("fragment");
    const auto add = [](const char* name, const std::string& content, const char* fragment) {
        QTest::newRow(name) << content << QString::fromUtf8(fragment);
    };
    const auto with = [](const std::string& before, const std::string& after) {
        return changed(kNetwork, before, after);
    };
    std::string binary;
    for (int i = 0; i < 64 * 256; ++i) binary += static_cast<char>(i);

    add("empty", "", "the file is empty");
    add("blank", " \n\t", "nothing but blanks");
    add("byte order mark alone", "\xef\xbb\xbf", "nothing but blanks");
    add("truncated", kNetwork.substr(0, kNetwork.size() - 60), "line 6, column ");
    add("binary", binary, "begins with byte 0x00");
    add("binary in an object", "{" + binary, "line 1, column 2: ");
    add("not UTF-8", "{\"format\": \"placewright.graph\", \"name\": \"\xff\xfe\"}",
        "invalid string: ill-formed UTF-8");
    add("list", "[]", "it begins with \"[\", expected \"{\"");
    add("number", "3", "it begins with \"3\"");
    add("two objects", kNetwork + kNetwork, "line 8, column 2: ");
    add("syntax error", "{\n\n  \"a\": \u00e9}", "line 3, column 8: ");
    add("trailing comma", with("\"later\": 1}", "\"later\": 1},"), "line 7, column 3: ");
    add("comment", "{ // no\n}", "line 1, column 3: ");
    add("not a number", with("\"flops\": 48", "\"flops\": NaN"), "line 5, column ");
    add("escape in an unfinished string", "{\"\x1b[31m", "line 1, column 3: ");
    add("no format", with("\"format\"", "\"formal\""), "has no \"format\", expected \"placewright.graph\"");
    add("other format", R"({"format": "something.else", "version": 1})",
        "the format is \"something.else\", expected \"placewright.graph\"");
    add("machine", kMachine, "the format is \"placewright.machine\", expected \"placewright.graph\"");
    add("format of a wrong type", with("\"placewright.graph\"", "7"), "the format is not a name");
    add("future version", with("\"version\": 1", "\"version\": 99"),
        "version 99 is newer than this program reads (1)");
    add("version 0", with("\"version\": 1", "\"version\": 0"), "version 0 is unknown");
    add("version as text", with("\"version\": 1", "\"version\": \"1\""),
        "version is the string \"1\", expected a whole number");
    add("no version", with("\"version\": 1, ", ""), "\"version\" is missing");
    add("no name", with("\"name\": \"small\", ", ""), "\"name\" is missing");
    add("batch 0", with("\"batch\": 2", "\"batch\": 0"), "batch is 0, expected at least 1");
    add("training", with("\"implicit\"", "\"often\""),
        "training is \"often\", expected implicit, explicit or none");
    add("no ops key",
        R"({"format": "placewright.graph", "version": 1, "name": "x", "batch": 1, "training": "none"})",
        "\"ops\" is missing");
    add("no ops",
        R"({"format": "placewright.graph", "version": 1, "name": "x", "batch": 1, "training": "none", "ops": []})",
        "ops is empty");
    add("ops not a list",
        R"({"format": "placewright.graph", "version": 1, "name": "x", "batch": 1, "training": "none", "ops": {"a": 1}})",
        "ops is an object, expected a list");
    add("op not an object", with(R"({"name": "data")", R"(5, {"name": "data")"),
        "ops[0]: is 5, expected an object");
    add("op without a name", with(R"("name": "act", )", ""), "ops[2]: \"name\" is missing");
    add("op with an empty name", with("\"act\"", "\"\""), "ops[2]: ");
    add("name of a wrong type", with("\"name\": \"act\"", "\"name\": [1]"),
        "ops[2]: name is a list, expected a string");
    add("op without a kind", with(R"("kind": "relu", )", ""), "ops[2] \"act\": \"kind\" is missing");
    add("op without flops", with(R"(, "flops": 48)", ""), "ops[1] \"fc\": \"flops\" is missing");
    add("duplicate name", with("\"act\"", "\"fc\""), "ops[2] \"fc\": the name is taken");
    add("repeated key", with("\"later\": 1", "\"flops\": 1"), "the key \"flops\" is twice in one object");
    add("unknown input", with("[\"data\"]", "[\"nowhere\"]"), "ops[1] \"fc\": input \"nowhere\" is unknown");
    add("unknown output", with("[\"data\"]", "[\"data:7\"]"), "ops[1] \"fc\": input \"data:7\"");
    add("input of a wrong type", with("[\"data\"]", "[0]"),
        "ops[1] \"fc\": inputs[0] is 0, expected a string");
    add("own input", with("[\"data\"]", "[\"fc\"]"), "cycle");
    add("cycle", with("[\"data\"]", "[\"act\"]"), "ops[1] \"fc\": is on a cycle");
    add("negative bytes", with("\"parameter_bytes\": 64", "\"parameter_bytes\": -4"),
        "ops[1] \"fc\": parameter_bytes is -4");
    add("negative workspace",
        with("\"parameter_bytes\": 64", "\"parameter_bytes\": 64, \"workspace_bytes\": -1"),
        "ops[1] \"fc\": workspace_bytes is -1");
    add("workspace as text",
        with("\"parameter_bytes\": 64", "\"parameter_bytes\": 64, \"workspace_bytes\": \"1 MB\""),
        "ops[1] \"fc\": workspace_bytes is the string \"1 MB\", expected a whole number");
    add("in place as a number", with("\"parameter_bytes\": 64", "\"parameter_bytes\": 64, \"in_place\": 1"),
        "ops[1] \"fc\": in_place is 1, expected true or false");
    add("half a byte", with("\"parameter_bytes\": 64", "\"parameter_bytes\": 1.5"),
        "parameter_bytes is 1.5, expected a whole number");
    add("too many bytes", with("\"parameter_bytes\": 64", "\"parameter_bytes\": 9223372036854775808"),
        "expected a whole number below 2^63");
    add("far too many bytes", with("\"parameter_bytes\": 64", "\"parameter_bytes\": 1e300"),
        "expected a whole number below 2^63");
    add("infinite flops", with("\"flops\": 48", "\"flops\": 1e999"), "line 5, column");
    add("flops as text", with("\"flops\": 48", "\"flops\": \"many\""),
        "ops[1] \"fc\": flops is the string \"many\", expected a number");
    add("flops null", with("\"flops\": 48", "\"flops\": null"), "flops is null, expected a number");
    add("negative flops", with("\"flops\": 48", "\"flops\": -1"), "ops[1] \"fc\": flops is -1");
    add("negative backward", with("\"flops\": 48", "\"flops\": 48, \"backward_flops\": -1"),
        "ops[1] \"fc\": backward_flops is -1");
    add("negative shape", with("[2, 4]", "[-1, 3]"),
        "ops[1] \"fc\": outputs[0].shape[0] is -1, expected at least 0");
    add("overflowing shape", with("[2, 4]", "[1099511627776, 1099511627776]"),
        "ops[1] \"fc\": outputs[0] shape [1099511627776, 1099511627776]");
    add("shape of text", with("[2, 4]", "[\"2\"]"),
        "outputs[0].shape[0] is the string \"2\", expected a whole number");
    add("unknown dtype", with(R"([2, 4], "dtype": "float32")", R"([2, 4], "dtype": "float13")"),
        "outputs[0].dtype is \"float13\", expected float64");
    add("no dtype", with(R"([2, 4], "dtype": "float32")", "[2, 4]"), "outputs[0] has no \"dtype\"");
    add("no size", with(R"({"bytes": 32})", "{}"), "outputs[0] has neither \"shape\" nor \"bytes\"");
    add("bytes against shape", with(R"([2, 4], "dtype")", R"([2, 4], "bytes": 5, "dtype")"),
        "outputs[0].bytes is 5, expected 32");
    add("negative size", with(R"({"bytes": 32})", "{\"bytes\": -1}"),
        "outputs[0].bytes is -1, expected at least 0");
    add("outputs not a list", with(R"([{"bytes": 32}])", R"({"bytes": 32})"),
        "outputs is an object, expected a list");
    add("phase", with("\"later\": 1", "\"phase\": \"sideways\""),
        "phase is \"sideways\", expected forward, backward or update");
    add("backward op in implicit training", with("\"later\": 1", "\"phase\": \"backward\""),
        "ops[2] \"act\": ");
    add("devices", with("\"later\": 1", "\"devices\": \"gpu\""),
        "devices is the string \"gpu\", expected a list");
    add("time", with("\"later\": 1", R"("time_s": {"NVIDIA V100": {"forward": "fast"}})"),
        "time_s[\"NVIDIA V100\"].forward is the string");
    add("negative time", with("\"later\": 1", R"("time_s": {"G": {"forward": -1}})"), "ops[2] \"act\": ");
    add("attributes", with("\"later\": 1", "\"attributes\": []"), "attributes is a list, expected an object");
    add("escape in a name", with("\"fc\"", "\"a\\nb\\u001b[31m\\u009bc\""), "unknown");
    add("wrong type under an escape in a name",
        with(R"("name": "act", "kind": "relu")", R"("name": "a\nb\u001b", "kind": 1)"),
        "ops[2] \"a\\x0ab\\x1b\": kind is 1");
    add("very long name",
        with(R"("name": "act", "kind": "relu")", "\"name\": \"" + repeated("x", 100'000) + "\", \"kind\": 1"),
        "xxx...\": kind is 1");
    add("very long input", with("[\"data\"]", "[\"" + repeated("x", 100'000) + "\"]"), "xxx...");
    add("deep list", repeated("[", 200'000), "it begins with \"[\"");
    add("deep list inside", "{\"a\":" + repeated("[", 200'000), "nested more than 64 levels deep");
    add("deep object", repeated("{\"a\":", 200'000), "nested more than 64 levels deep");
    add("flat placement", R"({"a": 1})", "is a placement, not a network");
}

void TestIo::badNetworks() {
    QFETCH(const std::string, content);
    QFETCH(const QString, fragment);
    const Path path = fileWith("bad.json", content);
    check_refusal(refusal([&] { read_network(path); }), path, fragment);
}

void TestIo::hugeGarbage_data() {
    QTest::addColumn<std::string>("unit");
    QTest::newRow("zeros") << std::string(1, '\0');
    QTest::newRow("blanks") << std::string(" \n");
    QTest::newRow("digits") << std::string("0");
    QTest::newRow("brackets") << std::string("[");
    QTest::newRow("braces") << std::string("{");
    QTest::newRow("nested objects") << std::string("{\"a\":");
    QTest::newRow("binary") << std::string();
}

void TestIo::hugeGarbage() {
    QFETCH(const std::string, unit);
    constexpr std::size_t kBytes = 100'000'000;
    const Path path = file("huge.json");
    {
        std::string block = repeated(unit, unit.empty() ? 0 : (std::size_t{1} << 20) / unit.size());
        if (unit.empty()) {
            Random random(1);
            for (std::size_t i = 0; i < std::size_t{1} << 20; ++i) block += static_cast<char>(random.bits());
            block[0] = '{';
        }
        std::ofstream stream(path, std::ios::binary);
        for (std::size_t written = 0; written < kBytes; written += block.size()) stream << block;
    }
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    const test::CpuTimer timer;
    const QString network = refusal([&] { read_network(path); });
    const QString machine = refusal([&] { read_machine(path); });
    const double elapsed_s = timer.elapsed_s();
    getrusage(RUSAGE_SELF, &after);
    check_refusal(network, path, "");
    QCOMPARE(machine, network);
    QVERIFY2(elapsed_s < 4, qPrintable(QString::number(elapsed_s) + " s"));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers keep freed memory
    // At most the text itself.
    const auto grown_kb = after.ru_maxrss - before.ru_maxrss;
    QVERIFY2(grown_kb < 150'000, qPrintable(QString::number(grown_kb) + " kB"));
#endif
}

void TestIo::notAFile() {
    check_refusal(refusal([&] { read_network(file("none.json")); }), file("none.json"),
                  "there is no such file");
    check_refusal(refusal([&] { read_machine(file("")); }), file(""), "is a folder, expected a file");
    check_refusal(refusal([] { read_machine("/dev/null"); }), "/dev/null", "is not a regular file");
    const Path path = fileWith("n.json", kNetwork);
    check_refusal(refusal([&] { read_network(path / "below.json"); }), path / "below.json", "");
    std::filesystem::resize_file(path, std::uintmax_t{513} << 20);
    check_refusal(refusal([&] { read_network(path); }), path, "has 538 MB, expected at most 537 MB");
}

// ---- Machines ----

void TestIo::machineIsRead() {
    const Machine machine = read_machine(fileWith("m.json", kMachine));
    QCOMPARE(machine.name(), std::string("pair"));
    QCOMPARE(machine.devices().size(), std::size_t{2});
    const Device gpu{"gpu:0", DeviceKind::gpu, "G", 1e13, 9e11, 32e9, 1.0, 5e-6};
    QVERIFY(machine.device(1) == gpu);
    QCOMPARE(machine.device(0).efficiency, 0.9);
    const Channel bus{"bus", 16e9, 1e-5, 0.25, {{1e3, 0.01}, {1e7, 0.28}}};
    QVERIFY(machine.channels()[0] == bus);
    QCOMPARE(machine.route(1, 0).size(), std::size_t{1});
}

void TestIo::machineRoundTrip() {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const Machine machine = test::random_machine(seed);
        write_machine(machine, file("m.json"));
        QVERIFY(read_machine(file("m.json")) == machine);
        QCOMPARE(content_of(file("m.json")), machine_json(machine));
    }
    const Machine machine = read_machine(fileWith("m.json", kMachine));
    write_machine(machine, file("m2.json"));
    QVERIFY(read_machine(file("m2.json")) == machine);
}

void TestIo::realMachineIsRead() {
    const std::string ceilings =
        R"("efficiency": 0.9, "efficiency_by_kind": {"conv2d": 0.6, "linear": 0.8}, "memory_efficiency": 0.75,)"
        R"( "half_efficiency_flops": 2e6, "streams": 4, "copy_engines": 2)";
    const Machine plain = read_machine(fileWith("m.json", kMachine));
    QVERIFY(plain.crossing() == Crossing::store_and_forward);
    const Machine machine = read_machine(
        fileWith("m.json", changed(changed(kMachine, "\"efficiency\": 0.9", ceilings), "\"devices\"",
                                   "\"crossing\": \"cut-through\", \"devices\"")));
    const Device& device = machine.device(0);
    QVERIFY(device.efficiency_by_kind == (std::map<std::string, double>{{"conv2d", 0.6}, {"linear", 0.8}}));
    QCOMPARE(device.memory_efficiency.value_or(0), 0.75);
    QCOMPARE(device.half_efficiency_flops, 2e6);
    QCOMPARE(device.streams, 4U);
    QCOMPARE(device.copy_engines, 2U);
    QVERIFY(machine.device(1) == plain.device(1));
    QVERIFY(machine.crossing() == Crossing::cut_through);
    write_machine(machine, file("m2.json"));
    QVERIFY(read_machine(file("m2.json")) == machine);
    // Defaults are not written.
    for (const char* key : {"crossing", "efficiency_by_kind", "memory_efficiency", "half_efficiency_flops",
                            "streams", "copy_engines"})
        QVERIFY(machine_json(plain).find(key) == std::string::npos);
}

void TestIo::badMachines_data() {
    QTest::addColumn<std::string>("content");
    QTest::addColumn<QString>("fragment");
    const auto add = [](const char* name, const std::string& content, const char* fragment) {
        QTest::newRow(name) << content << QString::fromUtf8(fragment);
    };
    const auto with = [](const std::string& before, const std::string& after) {
        return changed(kMachine, before, after);
    };

    add("empty", "", "the file is empty");
    add("truncated", kMachine.substr(0, 300), "line 5, column ");
    add("list", "[1]", "it begins with \"[\"");
    add("network", kNetwork, "the format is \"placewright.graph\", expected \"placewright.machine\"");
    add("no format", "{\"devices\": []}", "has no \"format\", expected \"placewright.machine\"");
    add("future version", with("\"version\": 1", "\"version\": 2"),
        "version 2 is newer than this program reads (1)");
    add("no name", with(R"("name": "pair", )", ""), "\"name\" is missing");
    add("no devices key", with("\"devices\"", "\"machines\""), "\"devices\" is missing");
    add("no devices",
        R"({"format": "placewright.machine", "version": 1, "name": "x", "devices": [], "channels": [], "routes": []})",
        "has 0 devices");
    add("devices not a list",
        R"({"format": "placewright.machine", "version": 1, "name": "x", "devices": 3, "channels": [], "routes": []})",
        "devices is 3, expected a list");
    add("device not an object", with(R"({"name": "cpu:0", "kind")", R"("cpu", {"name": "cpu:0", "kind")"),
        "devices[0]: is the string \"cpu\"");
    add("device without a name", with(R"("name": "gpu:0", )", ""), "devices[1]: \"name\" is missing");
    add("duplicate device", with(R"("name": "gpu:0")", R"("name": "cpu:0")"),
        "devices[1] \"cpu:0\": the name is taken");
    add("kind", with("\"kind\": \"gpu\"", "\"kind\": \"tpu\""),
        "devices[1] \"gpu:0\": kind is \"tpu\", expected \"cpu\"");
    add("speed as text", with("\"peak_flops\": 1e13", "\"peak_flops\": \"fast\""),
        "devices[1] \"gpu:0\": peak_flops is the string \"fast\"");
    add("no speed", with("\"peak_flops\": 1e13, ", ""), "devices[1] \"gpu:0\": \"peak_flops\" is missing");
    add("zero speed", with("\"peak_flops\": 1e13", "\"peak_flops\": 0"),
        "device \"gpu:0\": peak_flops is 0, expected a positive");
    add("infinite memory", with("32e9", "1e999"), "line 5, column ");
    add("negative memory", with("32e9", "-32e9"), "device \"gpu:0\": memory_bytes is -3.2e+10");
    add("efficiency above 1", with("\"efficiency\": 0.9", "\"efficiency\": 1.1"),
        "device \"cpu:0\": efficiency is 1.1");
    add("efficiency 0", with("\"efficiency\": 0.25", "\"efficiency\": 0"),
        "channel \"bus\": efficiency is 0");
    add("negative overhead", with("5e-6", "-1"), "device \"gpu:0\": launch_overhead_s is -1");
    add("no bandwidth", with("\"bandwidth\": 16e9, ", ""), "channels[0] \"bus\": \"bandwidth\" is missing");
    add("negative latency", with("1e-5", "-1e-5"), "channel \"bus\": latency_s is -1e-05");
    add("efficiencies in a list", with("\"efficiency\": 0.9", "\"efficiency_by_kind\": [0.9]"),
        "devices[0] \"cpu:0\": efficiency_by_kind is a list, expected an object");
    add("efficiency of a kind as text",
        with("\"efficiency\": 0.9", R"("efficiency_by_kind": {"conv2d": "high"})"),
        "devices[0] \"cpu:0\": efficiency_by_kind.conv2d is the string \"high\", expected a number");
    add("efficiency of a kind", with("\"efficiency\": 0.9", R"("efficiency_by_kind": {"conv2d": 60})"),
        "device \"cpu:0\": efficiency_by_kind: \"conv2d\" is 60, expected a number above 0 and up to 1");
    add("memory efficiency", with("\"efficiency\": 0.9", "\"memory_efficiency\": 0"),
        "device \"cpu:0\": memory_efficiency is 0");
    add("half efficiency", with("\"efficiency\": 0.9", "\"half_efficiency_flops\": -1"),
        "device \"cpu:0\": half_efficiency_flops is -1");
    add("half a stream", with("\"efficiency\": 0.9", "\"streams\": 1.5"),
        "devices[0] \"cpu:0\": streams is 1.5, expected a whole number");
    add("no streams", with("\"efficiency\": 0.9", "\"streams\": 0"),
        "device \"cpu:0\": streams is 0, expected 1 to 64");
    add("negative copy engines", with("\"efficiency\": 0.9", "\"copy_engines\": -1"),
        "devices[0] \"cpu:0\": copy_engines is -1, expected at least 0");
    add("many copy engines", with("\"efficiency\": 0.9", "\"copy_engines\": 4294967296"),
        "devices[0] \"cpu:0\": copy_engines is 4294967296, expected at most 4294967295");
    add("crossing", with("\"devices\"", "\"crossing\": \"wormhole\", \"devices\""),
        "crossing is \"wormhole\", expected \"store-and-forward\" or \"cut-through\"");
    add("crossing as a truth", with("\"devices\"", "\"crossing\": true, \"devices\""),
        "crossing is true, expected a string");
    add("cut-through twice over a channel",
        changed(with("\"devices\"", "\"crossing\": \"cut-through\", \"devices\""), "[\"bus\"]",
                "[\"bus\", \"bus\"]"),
        "route from \"cpu:0\" to \"gpu:0\": crosses channel \"bus\" twice, expected it once");
    add("table of triples", with("[1e3, 0.01]", "[1e3, 0.01, 5]"),
        "efficiency_by_bytes[0] has 3 items, expected [bytes, efficiency]");
    add("table of text", with("[1e3, 0.01]", "[\"1e3\", 0.01]"),
        "efficiency_by_bytes[0][0] is the string \"1e3\", expected a number");
    add("table that falls", with("1e3", "1e8"), "channel \"bus\": efficiency_by_bytes is out of order");
    add("unknown device in a route", with("\"from\": \"gpu:0\"", "\"from\": \"gpu:9\""),
        "routes[1]: from is \"gpu:9\", expected the name of a device");
    add("unknown channel in a route", with("[\"bus\"]", "[\"bahn\"]"),
        "routes[0]: channels[0] is \"bahn\", expected the name of a channel");
    add("empty route", with("[\"bus\"]", "[]"), "has no channels");
    add("route twice",
        with("\"from\": \"gpu:0\", \"to\": \"cpu:0\"", "\"from\": \"cpu:0\", \"to\": \"gpu:0\""),
        "is given twice");
    add("route missing", with(R"(, {"from": "gpu:0", "to": "cpu:0", "channels": ["bus"]})", ""),
        "route from \"gpu:0\" to \"cpu:0\": is missing");
    add("route to itself", with("\"to\": \"gpu:0\"", "\"to\": \"cpu:0\""), "leads back to its device");
}

void TestIo::badMachines() {
    QFETCH(const std::string, content);
    QFETCH(const QString, fragment);
    const Path path = fileWith("bad.json", content);
    check_refusal(refusal([&] { read_machine(path); }), path, fragment);
}

// ---- Placements ----

void TestIo::placementRoundTrip() {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const auto training = seed % 2 == 0 ? Training::implicit : Training::none;
        const auto problem =
            test::problem(test::random_graph(seed, 25, 3, training), test::random_machine(seed));
        Random random(seed);
        Placement placement(problem->groups);
        for (GroupId group = 0; group < problem->groups; ++group)
            placement[group] = random.pick(problem->allowed_devices(group));
        write_placement(placement, *problem, {}, file("p.json"));
        QVERIFY(read_placement(file("p.json"), *problem) == placement);
        QCOMPARE(placement_by_name(placement, *problem).size(), std::size_t{25});
    }
}

void TestIo::placementFile() {
    const auto problem = small_problem(fileWith("n.json", kNetwork), fileWith("m.json", kMachine));
    PlacementFile about;
    about.predicted = PlacementFile::Prediction{0.0412, 0.036, {{"gpu:0", 8.1e9}}, true};
    about.produced_by = PlacementFile::Producer{"map-elites",
                                                18446744073709551615ULL,
                                                20000,
                                                {{"mutation_rate", 0.05},
                                                 {"selection", std::string("random")},
                                                 {"size", std::int64_t{3}},
                                                 {"trivial", true}}};
    write_placement({0, 1, 1}, *problem, about, file("p.json"));
    const QByteArray text = QByteArray::fromStdString(content_of(file("p.json")));
    const QJsonObject root = QJsonDocument::fromJson(text).object();
    QCOMPARE(root["format"].toString(), "placewright.placement");
    QCOMPARE(root["version"].toInt(), 1);
    QCOMPARE(root["graph"].toString(), "small");
    QCOMPARE(root["machine"].toString(), "pair");
    QCOMPARE(root["placement"].toObject(),
             (QJsonObject{{"data", "cpu:0"}, {"fc", "gpu:0"}, {"act", "gpu:0"}}));
    QCOMPARE(root["predicted"].toObject(), (QJsonObject{{"step_time_s", 0.0412},
                                                        {"lower_bound_s", 0.036},
                                                        {"peak_bytes", QJsonObject{{"gpu:0", 8.1e9}}},
                                                        {"fits", true}}));
    const QJsonObject producer = root["produced_by"].toObject();
    QCOMPARE(producer["algorithm"].toString(), "map-elites");
    QCOMPARE(producer["evaluations"].toInt(), 20000);
    QCOMPARE(producer["options"].toObject(),
             (QJsonObject{{"mutation_rate", 0.05}, {"selection", "random"}, {"size", 3}, {"trivial", true}}));
    QVERIFY(text.contains("\"seed\": 18446744073709551615"));
    QVERIFY(text.indexOf("\"data\"") < text.indexOf("\"fc\"") &&
            text.indexOf("\"fc\"") < text.indexOf("\"act\""));

    // JSON has no infinity: an unknown time is omitted.
    about.predicted->step_time_s = kInfinity;
    write_placement({0, 1, 1}, *problem, about, file("p.json"));
    const QJsonObject unknown =
        QJsonDocument::fromJson(QByteArray::fromStdString(content_of(file("p.json")))).object();
    QVERIFY(!unknown["predicted"].toObject().contains("step_time_s"));
    QVERIFY(read_placement(file("p.json"), *problem) == (Placement{0, 1, 1}));
}

void TestIo::flatPlacement() {
    const auto problem = small_problem(fileWith("n.json", kNetwork), fileWith("m.json", kMachine));
    QVERIFY(read_placement(fileWith("p.json", R"({"act": 1, "data": 0, "fc": 1})"), *problem) ==
            (Placement{0, 1, 1}));
    QVERIFY(read_placement(fileWith("p.json", R"({"act": [1, 0], "data": 0, "fc": 0})"), *problem) ==
            (Placement{0, 0, 1}));

    // An op may be called "format".
    std::string network = changed(kNetwork, "\"name\": \"act\"", "\"name\": \"format\"");
    const auto other = small_problem(fileWith("n.json", network), file("m.json"));
    QVERIFY(read_placement(fileWith("p.json", R"({"format": 1, "data": 0, "fc": 1})"), *other) ==
            (Placement{0, 1, 1}));
}

void TestIo::placementOfOneOpPlacesItsGroup() {
    const std::string together = changed(changed(kNetwork, "\"later\": 1", "\"colocate\": \"x\""),
                                         "\"flops\": 48", "\"flops\": 48, \"colocate\": \"x\"");
    const auto problem = small_problem(fileWith("n.json", together), fileWith("m.json", kMachine));
    QCOMPARE(problem->groups, 2U);
    QVERIFY(read_placement(fileWith("p.json", R"({"data": 0, "act": 1})"), *problem) == (Placement{0, 1}));
    const Path apart = fileWith("apart.json", R"({"data": 0, "fc": 0, "act": 1})");
    check_refusal(refusal([&] { read_placement(apart, *problem); }), apart,
                  "belong together on different devices: \"fc and act\"");
}

void TestIo::placementOfDerivedOps() {
    // A file may name the backward ops of an explicit graph; inference leaves them out.
    GraphBuilder builder("pair", 1, Training::explicit_);
    Op forward, backward;
    forward.name = "f";
    forward.kind = backward.kind = "relu";
    forward.outputs = backward.outputs = {make_tensor({4})};
    backward.name = "b";
    backward.phase = Phase::backward;
    builder.add(forward, {});
    builder.add(backward, {"f"});
    const Graph graph = builder.build();
    const Machine machine = test::uniform_machine(2);
    const auto training = test::problem(graph, machine);
    ProblemOptions options;
    options.inference = true;
    const auto inference = test::problem(graph, machine, options);
    const auto names = placement_by_name({1, 0}, *training);
    QCOMPARE(names.size(), std::size_t{2});
    QCOMPARE(names[1].second, std::string("gpu:0"));
    write_placement({1, 0}, *training, {}, file("p.json"));
    QVERIFY(read_placement(file("p.json"), *training) == (Placement{1, 0}));
    QVERIFY(read_placement(file("p.json"), *inference) == (Placement{1}));
}

void TestIo::largePlacement() {
    const auto problem = test::problem(test::chain(50'000), test::uniform_machine(2));
    Placement placement(problem->groups);
    for (std::size_t i = 0; i < placement.size(); ++i) placement[i] = i % 2;
    const test::CpuTimer timer;
    write_placement(placement, *problem, {}, file("p.json"));
    QVERIFY(read_placement(file("p.json"), *problem) == placement);
    // A linear search for duplicate keys would take far longer.
    const double elapsed_s = timer.elapsed_s();
    QVERIFY2(elapsed_s < 4, qPrintable(QString::number(elapsed_s) + " s"));
}

void TestIo::badPlacements_data() {
    QTest::addColumn<std::string>("content");
    QTest::addColumn<QString>("fragment");
    const auto add = [](const char* name, const std::string& content, const char* fragment) {
        QTest::newRow(name) << content << QString::fromUtf8(fragment);
    };
    const auto with = [](const std::string& before, const std::string& after) {
        return changed(kPlacement, before, after);
    };

    add("empty", "", "the file is empty");
    add("empty object", "{}", "ops without a device: \"data\", \"fc\", \"act\"");
    add("truncated", kPlacement.substr(0, 150), "line 3, column ");
    add("network", kNetwork, "is a network, not a placement");
    add("no format", with(R"("format": "placewright.placement", )", ""),
        "has no \"format\", expected \"placewright.placement\"");
    add("future version", with("\"version\": 1", "\"version\": 3"),
        "version 3 is newer than this program reads (1)");
    add("no placement", with("\"placement\":", "\"replacement\":"), "\"placement\" is missing");
    add("placement a list", with(R"({"data": "cpu:0", "fc": "gpu:0", "act": "gpu:0"})", "[]"),
        "placement is a list, expected an object");
    add("device index in a file of names", with("\"act\": \"gpu:0\"", "\"act\": 1"),
        "placement.act is 1, expected a string");
    add("unknown op", with("\"act\":", "\"nope\":"),
        "ops that are not in the network: \"nope\"; ops without a device: \"act\"");
    add("missing op", with(", \"act\": \"gpu:0\"", ""),
        "placement: ops without a device: \"act\"; add them: each op of the network needs a device");
    add("missing index", R"({"data": 0, "fc": 1})", "placement: ops without a device: \"act\"; add them");
    add("unknown device", with("\"act\": \"gpu:0\"", "\"act\": \"gpu:7\""),
        "devices that are not in the machine: \"gpu:7\"");
    add("another network",
        R"({"format": "placewright.placement", "version": 1, "graph": "x", "machine": "y", "placement": {"nope": "gpu:0"}})",
        "\"nope\"; ops without a device: \"data\", \"fc\", \"act\" (made for the graph \"x\", not \"small\", "
        "the machine \"y\", not "
        "\"pair\")");
    add("many unknown ops", R"({"a": 0, "b": 0, "c": 0, "d": 0, "e": 0, "f": 0, "g": 0})",
        "\"a\", \"b\", \"c\", \"d\", \"e\" and 2 more; ");
    add("op twice", with("\"act\"", "\"fc\""), "the key \"fc\" is twice in one object");
    add("index too large", R"({"data": 0, "fc": 2, "act": 1})", "devices that are not in the machine: \"2\"");
    add("negative index", R"({"data": 0, "fc": -1, "act": 1})",
        "devices that are not in the machine: \"-1\"");
    add("index as text", R"({"data": 0, "fc": "gpu:0", "act": 1})",
        "fc is the string \"gpu:0\", expected a whole number");
    add("no index", R"({"data": 0, "fc": [], "act": 1})", "fc is an empty list");
    add("forbidden device", R"({"data": 1, "fc": 1, "act": 1})",
        "ops on devices that they do not allow: \"data on 1\"");
    add("graph of a wrong type", with("\"graph\": \"small\"", "\"graph\": 4"),
        "graph is 4, expected a string");
    add("escape in a name", R"({"data": 0, "fc": 0, "act": 1, "\u001b[2J": 1})", "\"\\x1b[2J\"");
}

void TestIo::badPlacements() {
    QFETCH(const std::string, content);
    QFETCH(const QString, fragment);
    const std::string network =
        changed(kNetwork, "\"name\": \"data\"", "\"name\": \"data\", \"devices\": [\"cpu\"]");
    const auto problem = small_problem(fileWith("n.json", network), fileWith("m.json", kMachine));
    const Path path = fileWith("bad.json", content);
    check_refusal(refusal([&] { read_placement(path, *problem); }), path, fragment);
}

// ---- Exprimo ----

void TestIo::exprimoNetwork() {
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

void TestIo::exprimoSplitInBlock() {
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

void TestIo::exprimoPlacement() {
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

void TestIo::exprimoBatch() {
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

void TestIo::badExprimoNetworks_data() {
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

void TestIo::badExprimoNetworks() {
    QFETCH(const std::string, before);
    QFETCH(const std::string, after);
    QFETCH(const QString, fragment);
    const Path path =
        fileWith("bad.json", changed(content_of(kData / "exprimo_network.json"), before, after));
    check_refusal(refusal([&] { read_network(path); }), path, fragment);
}

void TestIo::exprimoMachine() {
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

void TestIo::badExprimoMachines_data() {
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

void TestIo::badExprimoMachines() {
    QFETCH(const std::string, before);
    QFETCH(const std::string, after);
    QFETCH(const QString, fragment);
    const Path path =
        fileWith("bad.json", changed(content_of(kData / "exprimo_machine.json"), before, after));
    check_refusal(refusal([&] { read_machine(path); }), path, fragment);
}

void TestIo::exprimoReferenceNetworks_data() {
    QTest::addColumn<std::string>("table");
    QTest::newRow("folder") << std::string();
    if (!std::filesystem::is_directory(kReference / "costs")) return;
    for (const auto& entry : std::filesystem::directory_iterator(kReference / "costs")) {
        const std::string name = entry.path().filename();
        // Tables of sharded networks contain ops of their own.
        if (name.find("+sharded") == std::string::npos) QTest::newRow(name.c_str()) << entry.path().string();
    }
}

void TestIo::exprimoReferenceNetworks() {
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

void TestIo::exprimoReferenceMachines() {
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

// ---- Shipped models ----

void TestIo::shippedMachines() {
    std::vector<std::string> names;
    for (const ShippedFile& shipped : shipped_machines()) {
        names.push_back(shipped.name);
        const Machine machine = read_machine(shipped.file);
        QCOMPARE(machine.device(0).name, std::string("cpu:0"));
        QVERIFY(machine.devices().size() >= 2);
        for (const Device& device : machine.devices())
            QCOMPARE(device.launch_overhead_s > 0, device.kind == DeviceKind::gpu);
        QVERIFY(find_machine_file(machine.name()) == shipped.file);
        QVERIFY(find_machine_file(shipped.name) == shipped.file);
    }
    const std::vector<std::string> expected{
        "1x-v100",      "2x-v100-malvik", "2x-v100-pcie",       "4x-v100-nvlink",
        "4x-v100-pcie", "8x-a100-nvlink", "mixed-v100-p100-k80"};
    QVERIFY(names == expected);
    // Full duplex: the sends of a GPU do not wait for its receives.
    const Machine pcie = read_machine(find_machine_file("4x V100, PCIe 3"));
    QCOMPARE(pcie.devices().size(), std::size_t{5});
    const auto there = pcie.route(1, 2), back = pcie.route(2, 1);
    QCOMPARE(there.size(), std::size_t{2});
    for (const ChannelId channel : there) QVERIFY(std::ranges::find(back, channel) == back.end());
    QVERIFY(pcie.crossing() == Crossing::cut_through);
    // GPUs of different generations have no peer access.
    QVERIFY(read_machine(find_machine_file("mixed-v100-p100-k80")).crossing() == Crossing::store_and_forward);
}

void TestIo::transfersBySize() {
    const Machine machine = read_machine(find_machine_file("2x-v100-malvik"));
    QCOMPARE(machine.device(1).streams, 8U);
    QCOMPARE(machine.device(1).copy_engines, 7U);
    for (const Channel& channel : machine.channels()) {
        // The thesis: 17 % of the bandwidth, including latency, on average over 10^3 .. 10^9 bytes; 25 us
        // for the smallest message.
        QCOMPARE(channel.efficiency_by_bytes.size(), std::size_t{7});
        double sum = 0;
        for (const auto& [bytes, efficiency] : channel.efficiency_by_bytes)
            sum += bytes / transfer_time_s(channel, bytes) / channel.bandwidth;
        QVERIFY(std::abs(sum / 7 - 0.17) < 0.0005);
        QVERIFY(std::abs(transfer_time_s(channel, 1000) - 25e-6) < 0.5e-6);
    }
}

void TestIo::findingModels() {
    const Path path = fileWith("m.json", kMachine);
    QVERIFY(find_machine_file(path.string()) == path);
    check_refusal(
        refusal([] { find_machine_file("9x-h100"); }), "9x-h100",
        "no shipped machine has this name; there are 1x-v100, 2x-v100-malvik, 2x-v100-pcie, 4x-v100-nvlink");
    check_refusal(refusal([] { find_machine_file(""); }), "\"\"", "not an empty text");
    check_refusal(refusal([] { find_network_file("gpt-9"); }), "gpt-9", "no shipped network has this name");
    for (const ShippedFile& shipped : shipped_networks())
        QVERIFY(find_network_file(shipped.name) == shipped.file);
}

void TestIo::modelsFolderFromTheEnvironment() {
    const QByteArray before = qgetenv("PLACEWRIGHT_MODELS");
    const auto restore = qScopeGuard([&] { qputenv("PLACEWRIGHT_MODELS", before); });
    qputenv("PLACEWRIGHT_MODELS", m_folder->path().toLocal8Bit());
    QVERIFY(models_folder() == file("").parent_path());
    QVERIFY(shipped_machines().empty());
    check_refusal(refusal([] { find_machine_file("pair"); }), "pair", "none was found in ");
    std::filesystem::create_directory(file("machines"));
    const Path path = fileWith("machines/b.json", kMachine);
    fileWith("machines/a.json", "broken");
    fileWith("machines/readme.txt", "no machine");
    QCOMPARE(shipped_machines().size(), std::size_t{2});
    QCOMPARE(shipped_machines()[0].name, std::string("a"));
    QVERIFY(find_machine_file("pair") == path);

    qunsetenv("PLACEWRIGHT_MODELS");
    QVERIFY(std::filesystem::is_directory(models_folder() / "machines"));
}

// ---- Damage ----

void TestIo::damagedFiles_data() {
    QTest::addColumn<std::string>("content");
    QTest::newRow("network") << kNetwork;
    QTest::newRow("machine") << kMachine;
    QTest::newRow("placement") << kPlacement;
    QTest::newRow("Exprimo's network") << content_of(kData / "exprimo_network.json");
    QTest::newRow("Exprimo's device graph") << content_of(kData / "exprimo_machine.json");
}

/// For any damaged file a reader returns or throws InputError with one line.
void TestIo::damagedFiles() {
    QFETCH(const std::string, content);
    const auto problem = small_problem(fileWith("n.json", kNetwork), fileWith("m.json", kMachine));
    static const std::vector<std::string> pieces{"",
                                                 "0",
                                                 "-1",
                                                 "1e300",
                                                 "9223372036854775807",
                                                 "18446744073709551615",
                                                 "null",
                                                 "true",
                                                 "[]",
                                                 "{}",
                                                 "[",
                                                 "\"\"",
                                                 "\"a\"",
                                                 "\xff",
                                                 "\\u0000",
                                                 "2.5",
                                                 "1e-320",
                                                 "\"x\":1,",
                                                 ",",
                                                 "\"cpu:0\""};
    Random random(7);
    std::size_t refused = 0;
    for (int round = 0; round < 1500; ++round) {
        std::string damaged = content;
        for (std::size_t i = random.index(3) + 1; i > 0; --i) {
            // Mostly from a value to the next delimiter, so that much of the file stays well-formed.
            std::size_t begin = random.index(damaged.size());
            std::size_t end = std::min(damaged.size(), begin + random.index(12));
            if (random.chance(0.8)) {
                begin = std::min(damaged.find_first_of(":[", begin), damaged.size() - 1) + 1;
                end = std::min(damaged.find_first_of(",]}", begin), damaged.size());
            }
            damaged.replace(begin, end - begin, pieces[random.index(pieces.size())]);
        }
        const Path path = fileWith("damaged.json", damaged);
        for (const QString& message :
             {refusal([&] {
                  read_network(path, round % 5 == 0 ? std::optional<std::int64_t>(16) : std::nullopt);
              }),
              refusal([&] { read_machine(path); }), refusal([&] { read_placement(path, *problem); })}) {
            if (message.isEmpty()) continue;
            ++refused;
            check_refusal(message, path, "");
            if (QTest::currentTestFailed()) return;
        }
    }
    QVERIFY(refused > 3000);
}

// ---- Writing ----

void TestIo::writeFile() {
    write_file(file("a"), "one");
    QCOMPARE(content_of(file("a")), std::string("one"));
    write_file(file("a"), std::string("t\0wo", 4));
    QCOMPARE(content_of(file("a")), std::string("t\0wo", 4));
    QVERIFY(filesInFolder() == std::vector<std::string>{"a"});
}

void TestIo::writeKeepsPermissionsAndLinks() {
    using std::filesystem::perms;
    write_file(file("a"), "one");
    const auto usual = std::filesystem::status(file("a")).permissions();
    QVERIFY((usual & perms::owner_read) != perms::none);
    std::filesystem::permissions(file("a"), perms::owner_read | perms::owner_write);
    std::filesystem::create_symlink("a", file("link"));
    write_file(file("link"), "two");
    QVERIFY(std::filesystem::is_symlink(file("link")));
    QCOMPARE(content_of(file("a")), std::string("two"));
    QVERIFY(std::filesystem::status(file("a")).permissions() == (perms::owner_read | perms::owner_write));
    // A device file is written to, not replaced.
    write_file("/dev/null", "three");
    QVERIFY(std::filesystem::is_character_file("/dev/null"));
}

void TestIo::failedWriteKeepsTheOldFile() {
    write_file(file("a"), "old");
    rlimit before{};
    QCOMPARE(getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit tight = before;
    tight.rlim_cur = 1000;
    QCOMPARE(setrlimit(RLIMIT_FSIZE, &tight), 0);
    const QString message = refusal([&] { write_file(file("a"), std::string(100'000, 'x')); });
    const QString through_reader = refusal([&] { write_network(test::chain(1000), file("a")); });
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    check_refusal(message, file("a"), "cannot be written: File too large");
    check_refusal(through_reader, file("a"), "cannot be written: File too large");
    QCOMPARE(content_of(file("a")), std::string("old"));
    QVERIFY(filesInFolder() == std::vector<std::string>{"a"});
}

void TestIo::impossibleTargets() {
    const Path nowhere = file("no") / "such" / "folder" / "p.json";
    check_refusal(refusal([&] { write_file(nowhere, "x"); }), nowhere,
                  "cannot be written: there is no folder");
    std::filesystem::create_directory(file("folder"));
    check_refusal(refusal([&] { write_file(file("folder"), "x"); }), file("folder"),
                  "cannot be written: it is a folder");
    write_file(file("plain"), "x");
    check_refusal(refusal([&] { write_file(file("plain") / "below", "x"); }), file("plain") / "below",
                  "cannot be written: there is no folder");
    const Path long_name = file(std::string(300, 'n'));
    check_refusal(refusal([&] { write_file(long_name, "x"); }), long_name, "cannot be written: ");
    QVERIFY((filesInFolder() == std::vector<std::string>{"folder", "plain"}));
}

}  // namespace

QTEST_GUILESS_MAIN(TestIo)
#include "tst_io.moc"
