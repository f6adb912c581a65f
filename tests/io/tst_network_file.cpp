// SPDX-License-Identifier: MIT
// Network files of our own format, good and bad.
#include <algorithm>

#include <QTest>

#include "core/base/path.hpp"
#include "core/graph/training.hpp"
#include "core/io/file_content.hpp"
#include "core/io/networks/network_file.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/input_files.hpp"

using namespace placewright;
using test::changed, test::check_refusal, test::compare_graphs, test::content_of, test::kMachine,
    test::kNetwork, test::refusal, test::repeated;

namespace {

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
    b.autocast = true;
    b.parameter_dtype = DType::bfloat16;
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

}  // namespace

class TestNetworkFile : public test::FileFixture {
    Q_OBJECT

private Q_SLOTS:
    void networkIsRead();
    void networkRoundTrip_data();
    void networkRoundTrip();
    void networkIsWrittenOneOpALine();
    void batchOfAFixedNetwork();
    void badNetworks_data();
    void badNetworks();
    void noNetwork_data();
    void noNetwork();
};

void TestNetworkFile::networkIsRead() {
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

void TestNetworkFile::networkRoundTrip_data() {
    QTest::addColumn<int>("seed");
    QTest::newRow("every field") << -1;
    QTest::newRow("derived training graph") << -2;
    for (int seed = 0; seed < 20; ++seed) QTest::addRow("random %d", seed) << seed;
}

void TestNetworkFile::networkRoundTrip() {
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

void TestNetworkFile::networkIsWrittenOneOpALine() {
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

void TestNetworkFile::batchOfAFixedNetwork() {
    const Path path = fileWith("n.json", kNetwork);
    QCOMPARE(read_network(path, 2).graph.batch(), std::int64_t{2});
    QVERIFY(read_network(path).batch_is_open);
    const Graph larger = read_network(path, 8).graph;
    QCOMPARE(larger.batch(), std::int64_t{8});
    QVERIFY(larger.op(1).outputs == std::vector<Tensor>{make_tensor({8, 4})});
    QCOMPARE(larger.op(1).flops, 4 * 48.0);
    const Path own = fileWith("own.json", test::changed(kNetwork, R"("implicit")", R"("explicit")"));
    QVERIFY(!read_network(own).batch_is_open);
    QVERIFY(!read_network(own).fixed_batch.empty());
    check_refusal(refusal([&] { read_network(own, 8); }), own, "fixed at 2, not 8: ");
}

void TestNetworkFile::badNetworks_data() {
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
    add("cut off", "{\n\"name\": \"a", "line 2, column 11: is cut off or damaged: the file ends before");
    add("open list", "{\"ops\": [1, ", "is cut off or damaged: the file ends before");
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
    add("type of parameters",
        with("\"parameter_bytes\": 64", "\"parameter_bytes\": 64, \"parameter_dtype\": \"half\""),
        "ops[1] \"fc\": parameter_dtype is \"half\", expected float64, float32");
    add("autocast as a number", with("\"parameter_bytes\": 64", "\"parameter_bytes\": 64, \"autocast\": 1"),
        "ops[1] \"fc\": autocast is 1, expected true or false");
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

void TestNetworkFile::badNetworks() {
    QFETCH(const std::string, content);
    QFETCH(const QString, fragment);
    const Path path = fileWith("bad.json", content);
    check_refusal(refusal([&] { read_network(path); }), path, fragment);
}

void TestNetworkFile::noNetwork_data() {
    QTest::addColumn<std::string>("name");
    QTest::addColumn<std::string>("content");
    QTest::addColumn<QString>("problem");
    const auto add = [](const char* name, const std::string& content, const char* problem) {
        QTest::addRow("%s, %zu bytes", name, content.size())
            << std::string(name) << content << QString(problem);
    };
    const std::string noise = "\xf3\x11\x90 no model";
    for (const char* name : {"noise.pt", "noise.pth"}) {
        add(name, noise,
            "is not a model of PyTorch, or damaged: write it again with torch.jit.trace(model, "
            "example).save(\"model.pt\")");
    }
    add("noise.pt2", noise, "write it again with torch.export.save(program, \"model.pt2\")");
    add("noise.gguf", noise, "is not a GGUF file, or damaged: download or convert the model again");
    add("noise.safetensors", noise, "is not a safetensors file, or damaged: download or write it again");
    add("noise.dat", noise, "has no format that Placewright reads: open an ONNX, ");
    add("noise.json", noise, "is not a JSON object: it begins with byte 0xf3, expected \"{\"");
    add("table.csv", "op,value\na,1\n", "is a table (CSV), not a JSON object");
    add("packed.json.gz", "\x1f\x8b\x08", "is packed (gzip): unpack it first");
    add("page.pt", "<!DOCTYPE html>", "is not a model of PyTorch");
    add("empty.pt", "", "the file is empty");
    add("text.pt", "{\"format\": 1}", "the format is not a name");
    const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    for (const char* name : {"pointer.onnx", "pointer.pt", "pointer.gguf", "pointer.json"})
        add(name, pointer, "is a pointer of Git LFS, not the file itself: fetch it with \"git lfs pull\"");
    const auto safetensors = [](const std::string& header) {
        return std::string{static_cast<char>(header.size())} + std::string(7, '\0') + header;
    };
    // The length 8 begins an ONNX model, too.
    for (const char* name : {"model.safetensors", "model.bin"}) {
        for (const char* header : {"{}      ", R"({"__metadata__": {"format": "pt"}})"})
            add(name, safetensors(header), "holds weights, not a network: --parameters, or Run > Simulation");
        add(name, safetensors(R"({"__metadata__": {"format": "placewright.policy"}})"),
            "is a policy, not a network: open a network and then the policy");
    }
}

/// What is given in place of a network says what it is. The window asks first what a file contains.
void TestNetworkFile::noNetwork() {
    QFETCH(const std::string, name);
    QFETCH(const std::string, content);
    QFETCH(const QString, problem);
    const Path path = fileWith(name, content);
    check_refusal(refusal([&] { read_network(path); }), path, problem);
    if (!problem.startsWith("the format")) check_refusal(refusal([&] { file_content(path); }), path, problem);
}

QTEST_GUILESS_MAIN(TestNetworkFile)
#include "tst_network_file.moc"
