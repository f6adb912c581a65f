// SPDX-License-Identifier: MIT
// Archives of torch.export, written here as torch/_export/serde/schema.py says.
#include <zip.h>

#include <QTemporaryDir>
#include <QTest>

#include "core/base/path.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/pytorch/exported_program.hpp"
#include "core/io/pytorch/symbolic_size.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/json.hpp"

using namespace placewright;

namespace {

constexpr int kFloat = 7, kLong = 5;

Json tensor(const std::string& name) {
    return {{"as_tensor", {{"name", name}}}};
}
Json integers(const std::vector<int>& values) {
    return {{"as_ints", values}};
}
/// The size of a tensor in an export whose batch, 2 in the example, is open.
Json open_size(const std::string& expression, int hint) {
    return {{"as_expr", {{"expr_str", expression}, {"hint", {{"as_int", hint}}}}}};
}

/// A program that grows call by call.
class Program {
public:
    explicit Program(bool open_batch = false) : open_(open_batch) {}

    void meta(const std::string& name, const std::vector<Json>& sizes, int dtype = kFloat) {
        Json list = Json::array();
        for (const Json& size : sizes) list.push_back(size.is_number() ? Json{{"as_int", size}} : size);
        values[name] = {{"dtype", dtype},
                        {"sizes", list},
                        {"requires_grad", false},
                        {"device", {{"type", "cpu"}, {"index", nullptr}}}};
    }
    Json batch() const { return open_ ? open_size("s77", 2) : Json(2); }
    void input(const std::string& name, const std::vector<Json>& sizes, int dtype = kFloat) {
        meta(name, sizes, dtype);
        specs.push_back({{"user_input", {{"arg", tensor(name)}}}});
    }
    void parameter(const std::string& path, const std::vector<Json>& sizes) {
        meta("p_" + path, sizes);
        specs.push_back({{"parameter", {{"arg", {{"name", "p_" + path}}}, {"parameter_name", path}}}});
    }
    void buffer(const std::string& path, const std::vector<Json>& sizes) {
        meta("b_" + path, sizes);
        specs.push_back(
            {{"buffer", {{"arg", {{"name", "b_" + path}}}, {"buffer_name", path}, {"persistent", true}}}});
    }
    void call(const std::string& target, const std::vector<std::pair<std::string, Json>>& arguments,
              const std::string& output, const std::vector<Json>& sizes, const std::string& module = "") {
        meta(output, sizes);
        call_of(target, arguments, {tensor(output)}, module);
    }
    void call_of(const std::string& target, const std::vector<std::pair<std::string, Json>>& arguments,
                 const std::vector<Json>& node_outputs, const std::string& module = "") {
        Json inputs = Json::array();
        for (const auto& [name, arg] : arguments)
            inputs.push_back({{"name", name}, {"arg", arg}, {"kind", 1}});
        Json metadata = {{"stack_trace", "File \"net.py\", line 1"}};
        if (!module.empty())
            metadata["nn_module_stack"] =
                "L__self__,,net.Net;L__self__x," + module + ",torch.nn.modules.conv.Conv2d";
        nodes.push_back(
            {{"target", target}, {"inputs", inputs}, {"outputs", node_outputs}, {"metadata", metadata}});
    }
    void result(const std::string& name) { outputs.push_back({{"user_output", {{"arg", tensor(name)}}}}); }

    Json json() const {
        return {{"graph_module",
                 {{"graph",
                   {{"inputs", Json::array()},
                    {"outputs", Json::array()},
                    {"nodes", nodes},
                    {"tensor_values", values},
                    {"sym_int_values", {{"sym_size", open_size("s77", 2)}}},
                    {"sym_bool_values", Json::object()}}},
                  {"signature", {{"input_specs", specs}, {"output_specs", outputs}}},
                  {"module_call_graph", Json::array()}}},
                {"opset_version", {{"aten", 10}}},
                {"range_constraints", Json::object()},
                {"schema_version", {{"major", 8}, {"minor", 99}}}};
    }

    Json values = Json::object(), specs = Json::array(), nodes = Json::array(), outputs = Json::array();

private:
    bool open_;
};

/// conv, bn (which gives statistics too), relu in place, pool, linear.
Program network(bool open_batch = false) {
    Program program(open_batch);
    const Json n = program.batch();
    program.parameter("layer1.0.conv1.weight", {16, 3, 3, 3});
    program.parameter("layer1.0.bn1.weight", {16});
    program.parameter("layer1.0.bn1.bias", {16});
    program.parameter("fc.weight", {10, 256});
    program.parameter("fc.bias", {10});
    program.buffer("layer1.0.bn1.running_mean", {16});
    program.buffer("layer1.0.bn1.running_var", {16});
    program.buffer("layer1.0.bn1.num_batches_tracked", {});
    program.input("x", {n, 3, 8, 8});
    const std::string conv = "p_layer1.0.conv1.weight";
    program.call("torch.ops.aten.add.Tensor",
                 {{"self", tensor("b_layer1.0.bn1.num_batches_tracked")}, {"other", {{"as_int", 1}}}},
                 "counted", {});
    program.call("torch.ops.aten.convolution.default",
                 {{"input", tensor("x")},
                  {"weight", tensor(conv)},
                  {"bias", {{"as_none", true}}},
                  {"stride", integers({1, 1})},
                  {"padding", integers({1, 1})},
                  {"dilation", integers({1, 1})},
                  {"transposed", {{"as_bool", false}}},
                  {"output_padding", integers({0, 0})},
                  {"groups", {{"as_int", 1}}}},
                 "convolution", {n, 16, 8, 8}, "layer1.0.conv1");
    program.meta("normalized", {n, 16, 8, 8});
    program.meta("mean", {16});
    program.meta("deviation", {16});
    program.call_of("torch.ops.aten._native_batch_norm_legit.default",
                    {{"input", tensor("convolution")},
                     {"weight", tensor("p_layer1.0.bn1.weight")},
                     {"bias", tensor("p_layer1.0.bn1.bias")},
                     {"running_mean", tensor("b_layer1.0.bn1.running_mean")},
                     {"running_var", tensor("b_layer1.0.bn1.running_var")}},
                    {tensor("normalized"), tensor("mean"), tensor("deviation")}, "layer1.0.bn1");
    program.call("torch.ops.aten.relu_.default", {{"self", tensor("normalized")}}, "relu_", {n, 16, 8, 8},
                 "layer1.0.relu");
    program.call("torch.ops.aten.max_pool2d.default",
                 {{"self", tensor("relu_")}, {"kernel_size", {{"as_ints", {2}}}}}, "pooled", {n, 16, 4, 4},
                 "pool");
    program.nodes.push_back(
        {{"target", "torch.ops.aten.sym_size.int"},
         {"inputs", {{{"name", "self"}, {"arg", tensor("x")}}, {{"name", "dim"}, {"arg", {{"as_int", 0}}}}}},
         {"outputs", Json::array({{{"as_sym_int", {{"as_name", "sym_size"}}}}})},
         {"metadata", Json::object()}});
    program.call("torch.ops.aten.view.default",
                 {{"self", tensor("pooled")},
                  {"size", {{"as_sym_ints", {{{"as_name", "sym_size"}}, {{"as_int", 256}}}}}}},
                 "flat", {n, 256});
    program.call("torch.ops.aten.permute.default",
                 {{"self", tensor("p_fc.weight")}, {"dims", integers({1, 0})}}, "turned", {256, 10}, "fc");
    program.call("torch.ops.aten.addmm.default",
                 {{"self", tensor("p_fc.bias")}, {"mat1", tensor("flat")}, {"mat2", tensor("turned")}},
                 "addmm", {n, 10}, "fc");
    program.outputs.push_back(
        {{"buffer_mutation",
          {{"arg", {{"name", "counted"}}}, {"buffer_name", "layer1.0.bn1.num_batches_tracked"}}}});
    program.result("addmm");
    return program;
}

}  // namespace

class TestExportedProgram : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    using Members = std::vector<std::pair<std::string, std::string>>;
    Path archive(const Members& members) {
        const Path file = folder_.filePath(QStringLiteral("net.pt2")).toStdString();
        std::filesystem::remove(file);
        int code = 0;
        zip_t* const zip = zip_open(file.c_str(), ZIP_CREATE, &code);
        for (const auto& [name, text] : members)
            zip_file_add(zip, name.c_str(), zip_source_buffer(zip, text.data(), text.size(), 0),
                         ZIP_FL_ENC_UTF_8);
        zip_close(zip);
        return file;
    }
    Path file_of(const Json& json) {
        return archive({{"net/archive_format", "pt2"},
                        {"net/models/model.json", json.dump()},
                        {"net/data/weights/weight_0", "bytes"}});
    }
    std::string error_of(const Path& file, const ReadOptions& options = {}) {
        try {
            read_network(file, options);
        } catch (const InputError& error) {
            return error.what();
        }
        return {};
    }
    std::string error_of(const Json& json, const ReadOptions& options = {}) {
        return error_of(file_of(json), options);
    }

private Q_SLOTS:
    void opsHaveKindsShapesAndParameters() {
        const Graph graph = read_network(file_of(network().json())).graph;
        QCOMPARE(graph.name(), std::string("net"));
        QCOMPARE(graph.batch(), 2);
        QCOMPARE(graph.size(), 7u);  // the input and six; the count of batches and the turned weight are none
        const Op& conv = graph.op(*graph.find("layer1/0/conv1/convolution"));
        QCOMPARE(conv.kind, std::string("conv2d"));
        QCOMPARE(conv.scope, std::string("layer1/0/conv1"));
        QCOMPARE(conv.flops, 2.0 * 2 * 16 * 64 * 27);
        QCOMPARE(conv.parameter_bytes, 4 * 16 * 27);
        QCOMPARE(conv.attributes.at("parameters"), std::string(R"(["layer1.0.conv1.weight"])"));
        QCOMPARE(conv.attributes.at("kernel"), std::string("[3,3]"));
        QCOMPARE(conv.attributes.at("padding"), std::string("[1,1]"));
        QCOMPARE(conv.attributes.at("parameter_shapes"), std::string("[[16,3,3,3]]"));
        QVERIFY(!conv.attributes.contains("dilation"));
        const Op& norm = graph.op(*graph.find("layer1/0/bn1/_native_batch_norm_legit"));
        QCOMPARE(norm.kind, std::string("batch_norm"));
        // With the number of batches, which no op of the network reads.
        QCOMPARE(norm.resident_bytes, 4 * (32 + 1));
        QCOMPARE(norm.outputs.size(), 3u);
        const Op& relu = graph.op(*graph.find("layer1/0/relu/relu"));
        QVERIFY(relu.in_place);
        QCOMPARE(relu.kind, std::string("relu"));
        const Op& pool = graph.op(*graph.find("pool/max_pool2d"));
        QCOMPARE(pool.flops, 2.0 * 16 * 16 * 4);
        QCOMPARE(pool.attributes.at("kernel"), std::string("[2,2]"));
        QCOMPARE(pool.attributes.at("stride"), std::string("[2,2]"));
        const Op& linear = graph.op(*graph.find("fc/addmm"));
        QCOMPARE(linear.flops, 2.0 * 2 * 256 * 10);
        QCOMPARE(linear.attributes.at("parameters"), std::string(R"(["fc.bias","fc.weight"])"));
    }

    void argumentsAreAttributes_data() {
        QTest::addColumn<QString>("op");
        QTest::addColumn<QString>("arguments");
        QTest::addColumn<std::vector<int>>("to");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* op, const char* arguments, const std::vector<int>& to,
                            const char* expected) {
            QTest::addRow("%s %s", op, arguments)
                << QString(op) << QString(arguments) << to << QString(expected);
        };
        // x is [2, 4, 6, 6].
        row("permute.default", R"({"dims":[0,2,3,1]})", {2, 6, 6, 4}, "dims=[0,2,3,1]");
        row("transpose.int", R"({"dim0":-1,"dim1":1})", {2, 6, 6, 4}, "dims=[-1,1]");
        row("select.int", R"({"dim":2,"index":-1})", {2, 4, 6}, "dim=2 index=-1");
        row("slice.Tensor", R"({"dim":1,"start":1,"end":4,"step":2})", {2, 2, 6, 6}, "dim=1 start=1 step=2");
        row("slice.Tensor", R"({"end":1})", {1, 4, 6, 6}, "dim=0 start=0");
        row("narrow.default", R"({"dim":3,"start":2,"length":3})", {2, 4, 6, 3}, "dim=3 start=2");
        row("roll.default", R"({"shifts":[1,-2],"dims":[2,3]})", {2, 4, 6, 6}, "dim=[2,3] shifts=[1,-2]");
        row("flip.default", R"({"dims":[3]})", {2, 4, 6, 6}, "dim=3");
        row("constant_pad_nd.default", R"({"pad":[1,2]})", {2, 4, 6, 9}, "pad=[1,2]");
        row("reflection_pad2d.default", R"({"padding":[1,1,0,2]})", {2, 4, 8, 8},
            "mode=\"reflect\" pad=[1,1,0,2]");
        row("group_norm.default", R"({"num_groups":2})", {2, 4, 6, 6}, "groups=2");
        row("native_group_norm.default", R"({"N":2,"C":4,"HxW":36,"group":4})", {2, 4, 6, 6}, "groups=4");
        row("mean.dim", R"({"dim":[2,3]})", {2, 4}, "dim=[2,3]");
        row("upsample_bilinear2d.vec", R"({"output_size":[12,12]})", {2, 4, 12, 12},
            "mode=\"bilinear\" output_size=[12,12]");
        row("upsample_nearest2d.vec", R"({"output_size":[12,12]})", {2, 4, 12, 12},
            "mode=\"nearest\" output_size=[12,12]");
        row("max_pool2d.default", R"({"kernel_size":[2],"dilation":[2],"ceil_mode":true})", {2, 4, 2, 2},
            "ceil_mode=1 dilation=[2,2] kernel=[2,2] padding=[0,0] stride=[2,2]");
    }
    void argumentsAreAttributes() {
        QFETCH(QString, op);
        QFETCH(QString, arguments);
        QFETCH(std::vector<int>, to);
        QFETCH(QString, expected);
        Program program;
        program.input("x", {2, 4, 6, 6});
        std::vector<std::pair<std::string, Json>> given{{"self", tensor("x")}};
        const Json parsed = Json::parse(arguments.toStdString());
        for (const auto& [name, value] : parsed.items()) {
            const char* const type = value.is_array() ? "as_ints" : value.is_boolean() ? "as_bool" : "as_int";
            given.emplace_back(name, Json{{type, value}});
        }
        program.call("torch.ops.aten." + op.toStdString(), given, "y",
                     std::vector<Json>(to.begin(), to.end()));
        program.result("y");
        const Graph graph = read_network(file_of(program.json())).graph;
        QStringList found;
        for (const auto& [key, value] : graph.op(1).attributes)
            found << QString::fromStdString(key) + '=' + QString::fromStdString(value);
        QCOMPARE(found.join(' '), expected);
    }

    void interpolationsCountTheirPoints_data() {
        QTest::addColumn<QString>("op");
        QTest::addColumn<QString>("kind");
        QTest::addColumn<double>("each");  // FLOPs of an element; negative: not known
        QTest::newRow("nearest") << "upsample_nearest2d.vec"
                                 << "interpolate" << 0.0;
        QTest::newRow("nearest, exact") << "_upsample_nearest_exact2d.default"
                                        << "interpolate" << 0.0;
        QTest::newRow("bilinear") << "upsample_bilinear2d.vec"
                                  << "interpolate" << 8.0;
        QTest::newRow("bicubic") << "upsample_bicubic2d.vec"
                                 << "interpolate" << 32.0;
        QTest::newRow("antialiased") << "_upsample_bilinear2d_aa.default"
                                     << "interpolate" << -1.0;
        QTest::newRow("grid, bilinear") << "grid_sampler.default"
                                        << "grid_sample" << 8.0;
        QTest::newRow("grid, nearest") << "grid_sampler_2d.default"
                                       << "grid_sample" << 0.0;
    }
    /// With an even window, there is more at the end than at the beginning.
    void paddingMayKeepTheSize() {
        const auto padding = [&](int kernel, int dilation) {
            Program program;
            program.input("x", {1, 3, 8, 8});
            program.parameter("conv.weight", {4, 3, kernel, kernel});
            program.call("torch.ops.aten.conv2d.padding",
                         {{"input", tensor("x")},
                          {"weight", tensor("p_conv.weight")},
                          {"bias", {{"as_none", true}}},
                          {"stride", integers({1, 1})},
                          {"padding", {{"as_string", "same"}}},
                          {"dilation", integers({dilation, dilation})},
                          {"groups", {{"as_int", 1}}}},
                         "y", {1, 4, 8, 8});
            program.result("y");
            const Graph graph = read_network(file_of(program.json())).graph;
            return graph.op(1).attributes.at("padding");
        };
        QCOMPARE(padding(3, 1), std::string("[1,1]"));
        QCOMPARE(padding(4, 1), std::string("[1,1,2,2]"));
        QCOMPARE(padding(4, 3), std::string("[4,4,5,5]"));
    }

    void interpolationsCountTheirPoints() {
        QFETCH(QString, op);
        QFETCH(QString, kind);
        QFETCH(double, each);
        Program program;
        program.input("x", {2, 3, 4, 4});
        program.input("grid", {2, 8, 6, 2});
        std::vector<std::pair<std::string, Json>> arguments{{"input", tensor("x")}};
        if (kind == "grid_sample") {
            arguments.emplace_back("grid", tensor("grid"));
            arguments.emplace_back("interpolation_mode",
                                   Json{{"as_int", op.startsWith("grid_sampler_2d") ? 1 : 0}});
        } else {
            arguments.emplace_back("output_size", integers({8, 6}));
        }
        program.call("torch.ops.aten." + op.toStdString(), arguments, "y", {2, 3, 8, 6});
        program.result("y");
        const NetworkFile file = read_network(file_of(program.json()));
        const Op& y = file.graph.ops().back();
        QCOMPARE(QString::fromStdString(y.kind), kind);
        QCOMPARE(file.estimated.size(), each < 0 ? 1u : 0u);
        if (each >= 0) QCOMPARE(y.flops, each * 2 * 3 * 8 * 6);
    }

    void nothingIsEstimated() { QVERIFY(read_network(file_of(network().json())).estimated.empty()); }

    void olderArchivesAreRead() {
        Json json = network().json();
        json["schema_version"] = {{"major", 5}, {"minor", 3}};
        const Path file = archive({{"serialized_exported_program.json", json.dump()},
                                   {"serialized_state_dict.json", "weights"},
                                   {"version", "5"}});
        QCOMPARE(read_network(file).graph.size(), 7u);
    }

    void listsOfTensors() {
        Program program;
        program.input("x", {2, 12});
        program.meta("a", {2, 4});
        program.meta("b", {2, 8});
        program.call_of("torch.ops.aten.split_with_sizes.default",
                        {{"self", tensor("x")}, {"split_sizes", integers({4, 8})}},
                        {{{"as_tensors", Json::array({{{"name", "a"}}, {{"name", "b"}}})}}});
        program.call("torch.ops.aten.cat.default",
                     {{"tensors", {{"as_tensors", Json::array({{{"name", "b"}}, {{"name", "a"}}})}}},
                      {"dim", {{"as_int", 1}}}},
                     "joined", {2, 12});
        program.result("joined");
        const Graph graph = read_network(file_of(program.json())).graph;
        const Op& joined = graph.op(*graph.find("joined"));
        QCOMPARE(joined.kind, std::string("cat"));
        QCOMPARE(joined.inputs, (std::vector<TensorRef>{{1, 1}, {1, 0}}));
        QCOMPARE(joined.attributes.at("dim"), std::string("1"));
        QCOMPARE(graph.op(1).kind, std::string("split"));
    }

    void attentionAndLayerNorm() {
        Program program;
        program.input("tokens", {1, 8}, kLong);
        program.parameter("wte.weight", {50, 16});
        program.parameter("ln.weight", {16});
        program.parameter("ln.bias", {16});
        program.call("torch.ops.aten.embedding.default",
                     {{"weight", tensor("p_wte.weight")}, {"indices", tensor("tokens")}}, "e", {1, 8, 16},
                     "wte");
        program.meta("mean", {1, 8, 1});
        program.meta("n", {1, 8, 16});
        program.call_of("torch.ops.aten.native_layer_norm.default",
                        {{"input", tensor("e")},
                         {"normalized_shape", integers({16})},
                         {"weight", tensor("p_ln.weight")},
                         {"bias", tensor("p_ln.bias")}},
                        {tensor("n"), tensor("mean"), {{"as_none", true}}}, "ln");
        program.call("torch.ops.aten.view.default", {{"self", tensor("n")}, {"size", integers({1, 2, 8, 8})}},
                     "heads", {1, 2, 8, 8});
        program.call("torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default",
                     {{"query", tensor("heads")}, {"key", tensor("heads")}, {"value", tensor("heads")}},
                     "attended", {1, 2, 8, 8});
        program.call("torch.ops.aten.zeros_like.default", {{"self", tensor("attended")}}, "zeros",
                     {1, 2, 8, 8});
        program.call("torch.ops.aten.add.Tensor", {{"self", tensor("attended")}, {"other", tensor("zeros")}},
                     "y", {1, 2, 8, 8});
        program.result("y");
        const NetworkFile file = read_network(file_of(program.json()));
        QVERIFY(file.estimated.empty());
        const Graph& graph = file.graph;
        QVERIFY(!graph.find("zeros"));
        QCOMPARE(graph.op(*graph.find("attended")).flops, 2.0 * 8 * (2 * 8 + 2 * 8 + 5) * 8);
        QCOMPARE(graph.op(*graph.find("ln/native_layer_norm")).flops, 4.0 * 8 * 16);
        QCOMPARE(totals(graph).parameter_bytes, 4 * (50 * 16 + 32));
    }

    void subgraphIsOneEstimatedOp() {
        Program program;
        program.input("x", {2, 3});
        program.meta("y", {2, 3});
        const Json graph_argument = {{"as_graph", {{"name", "body"}, {"graph", Json::object()}}}};
        program.call_of("torch.ops.higher_order.wrap_with_set_grad_enabled",
                        {{"", {{"as_bool", false}}}, {"", graph_argument}, {"", tensor("x")}},
                        {{{"as_tensors", Json::array({{{"name", "y"}}})}}});
        program.result("y");
        const NetworkFile file = read_network(file_of(program.json()));
        QCOMPARE(file.estimated.size(), 1u);
        QCOMPARE(file.estimated[0].kind, std::string("higher_order::wrap_with_set_grad_enabled"));
    }

    /// Ops of "with torch.no_grad()" and the like are in a graph of their own.
    void calledGraphsAreReadInTheirPlace() {
        Program inner;
        inner.meta("arg0_1", {2, 3});
        inner.meta("arg1_1", {5, 3});
        inner.call("torch.ops.aten.linear.default",
                   {{"input", tensor("arg0_1")}, {"weight", tensor("arg1_1")}}, "linear", {2, 5}, "fc");
        inner.call("torch.ops.aten.relu.default", {{"self", tensor("linear")}}, "relu", {2, 5}, "act");
        Json called = inner.json()["graph_module"]["graph"];
        called["inputs"] = {tensor("arg0_1"), tensor("arg1_1")};
        called["outputs"] = {tensor("relu"), tensor("arg0_1")};
        Program program;
        program.parameter("fc.weight", {5, 3});
        program.input("x", {2, 3});
        for (const char* name : {"first", "second"}) {
            const std::string text = name;
            program.meta(text, {2, 5});
            program.meta(text + "_x", {2, 3});
            program.call_of("torch.ops.higher_order.wrap_with_set_grad_enabled",
                            {{"", {{"as_bool", false}}},
                             {"", {{"as_graph", {{"name", "body"}, {"graph", called}}}}},
                             {"", tensor("x")},
                             {"", tensor("p_fc.weight")}},
                            {{{"as_tensors", Json::array({{{"name", text}}, {{"name", text + "_x"}}})}}});
        }
        program.call("torch.ops.aten.add.Tensor", {{"self", tensor("first")}, {"other", tensor("second")}},
                     "sum", {2, 5});
        program.call("torch.ops.aten.neg.default", {{"self", tensor("second_x")}}, "negative", {2, 3});
        program.result("sum");
        program.result("negative");
        const NetworkFile file = read_network(file_of(program.json()));
        QCOMPARE(file.estimated.size(), 0u);
        QCOMPARE(totals(file.graph).parameter_bytes, 4 * 15);
        QCOMPARE(totals(file.graph).forward_flops, 2 * (2.0 * 2 * 5 * 3 + 10) + 10 + 6);
        const auto found = file.graph.find("negative");
        QVERIFY(found.has_value());
        QCOMPARE(file.graph.op(file.graph.op(*found).inputs[0].op).kind, std::string("input"));
    }

    /// Some calls pass their tensors as a list, others have settings behind them; what does not fit stays one
    /// op.
    void callsPassTensorsInSeveralWays() {
        Program inner;
        inner.meta("a", {2, 3});
        inner.meta("b", {2, 3});
        inner.call("torch.ops.aten.add.Tensor", {{"self", tensor("a")}, {"other", tensor("b")}}, "c", {2, 3});
        Json called = inner.json()["graph_module"]["graph"];
        called["inputs"] = {tensor("a"), tensor("b")};
        called["outputs"] = {tensor("c")};
        const auto kinds = [&](const char* target, const std::vector<std::pair<std::string, Json>>& passed) {
            Program program;
            program.input("x", {2, 3});
            program.input("y", {2, 3});
            program.meta("z", {2, 3});
            std::vector<std::pair<std::string, Json>> arguments{
                {"", {{"as_graph", {{"name", "body"}, {"graph", called}}}}}};
            arguments.insert(arguments.end(), passed.begin(), passed.end());
            program.call_of(std::string("torch.ops.higher_order.") + target, arguments,
                            {{{"as_tensors", Json::array({{{"name", "z"}}})}}});
            program.result("z");
            QStringList found;
            const NetworkFile network = read_network(file_of(program.json()));
            for (const Op& op : network.graph.ops()) found << QString::fromStdString(op.kind);
            return found;
        };
        const QStringList expected{"input", "input", "add"};
        const Json list = {{"as_tensors", {{{"name", "x"}}, {{"name", "y"}}}}}, no = {{"as_bool", false}};
        QCOMPARE(kinds("strict_mode", {{"", list}}), expected);
        QCOMPARE(kinds("invoke_subgraph", {{"", {{"as_string", "name"}}}, {"", list}}), expected);
        QCOMPARE(
            kinds("tag_activation_checkpoint", {{"", tensor("x")}, {"", tensor("y")}, {"use_reentrant", no}}),
            expected);
        QCOMPARE(kinds("wrap", {{"", tensor("x")}}), (QStringList{"input", "higher_order::wrap"}));
    }

    /// An extent that also comes elsewhere is the batch size where no other is open.
    void theBatchMayComeTwice() {
        Program program;
        program.input("x", {open_size("s0", 2), 3});
        program.input("pairs", {open_size("s0", 2), open_size("s0", 2)});
        program.call("torch.ops.aten.matmul.default", {{"self", tensor("pairs")}, {"other", tensor("x")}},
                     "y", {open_size("s0", 2), 3});
        program.result("y");
        const Path file = file_of(program.json());
        QCOMPARE(read_network(file, 8).graph.batch(), 8);
        ReadOptions both(8);
        both.dims = {{"s0", 4}};
        const std::string error = error_of(file, both);
        QVERIFY2(error.find("cannot be both 4 and 8") != std::string::npos, error.c_str());
    }

    void expressionsOfSizes_data() {
        QTest::addColumn<QString>("expression");
        QTest::addColumn<int>("value");  // with s0 = 6, s77 = 10; -1: none
        const auto row = [](const char* expression, int value) {
            QTest::newRow(expression) << expression << value;
        };
        row("s77", 10);
        row("2*s77", 20);
        row("s0*s77 - 4*(s0 - 1)", 40);
        row("s77//4 + s77 % 4", 4);
        row("-s0 + s77**2", 94);
        row("s0/4", -1);
        row("floor(s0/4) + ceiling(s0/4)", 3);
        row("((s77 - 1)//2) + 1", 5);
        row("Symbol('s77', positive=True, integer=True)", 10);
        row("Mul(Integer(1024), Symbol('s77', integer=True))", 10'240);
        row("Add(Symbol('s0', integer=True), Mul(Integer(-1), Symbol('s77')), Integer(5))", 1);
        row("FloorDiv(Pow(Symbol('s77'), Integer(2)), Integer(3))", 33);
        row("floor(Mul(Rational(1, 4), Symbol('s0')))", 1);
        row("torch.utils._sympy.functions.FloorDiv(Symbol('s0'), Integer(4))", 1);
        row("Max(Integer(7), Min(s77, s0))", 7);
        row("PythonMod(Integer(-1), s0)", 5);
        row("ModularIndexing(s77, Integer(3), Integer(2))", 1);
        row("s1 + 2", -1);
        row("Integer(99999999999999999999)", -1);
        row("s77**64", -1);
        row("1/0", -1);
        row("Mul(s77", -1);
        row("Symbol('s77", -1);
        row("unknown(s77)", -1);
        row("2 2", -1);
        row("", -1);
        QTest::newRow("deep") << QString(100'000, '(') << -1;
    }
    void expressionsOfSizes() {
        QFETCH(QString, expression);
        QFETCH(int, value);
        const auto found = evaluate_size(expression.toStdString(),
                                         [](const std::string& symbol) -> std::optional<std::int64_t> {
                                             if (symbol == "s0") return 6;
                                             if (symbol == "s77") return 10;
                                             return {};
                                         });
        QCOMPARE(found.value_or(-1), std::int64_t{value});
    }

    /// PyTorch writes sympy.srepr since 2.6.
    void openExtentsOfNewerFiles() {
        const auto symbol = [](const char* name, int hint) {
            return open_size("Symbol('" + std::string(name) + "', positive=True, integer=True)", hint);
        };
        Program program;
        program.input("mask", {1, 4});
        program.input("x", {symbol("s0", 2), symbol("s1", 3), 4});
        program.call("torch.ops.aten.view.default", {{"self", tensor("x")}}, "y",
                     {open_size("Mul(Symbol('s0', integer=True), Symbol('s1', integer=True))", 6), 4});
        program.result("y");
        const Path file = file_of(program.json());
        QCOMPARE(read_network(file).graph.batch(), 2);
        const auto shape = [](const NetworkFile& network) {
            return network.graph.op(*network.graph.find("y")).outputs[0].shape.value();
        };
        const NetworkFile larger = read_network(file, 10);
        QVERIFY(larger.batch_is_open);
        QCOMPARE(larger.graph.batch(), 10);
        QCOMPARE(shape(larger), (std::vector<std::int64_t>{30, 4}));
        ReadOptions options;
        options.dims = {{"s1", 5}};
        QCOMPARE(shape(read_network(file, options)), (std::vector<std::int64_t>{10, 4}));
        options.dims = {{"s9", 5}};
        const std::string error = error_of(file, options);
        QVERIFY2(error.find("called \"s9\"; there are \"s0\", \"s1\"") != std::string::npos, error.c_str());
    }

    void otherModelsAreTold() {
        const std::string text = network().json().dump();
        const NetworkFile file =
            read_network(archive({{"net/models/encoder.json", text}, {"net/models/decoder.json", text}}));
        QCOMPARE(file.notes.size(), 1u);
        QVERIFY2(file.notes[0].find("models/encoder.json") != std::string::npos, file.notes[0].c_str());
    }

    void openBatch() {
        const Path file = file_of(network(true).json());
        const NetworkFile as_exported = read_network(file);
        QVERIFY(as_exported.batch_is_open);
        QCOMPARE(as_exported.graph.batch(), 2);
        const NetworkFile larger = read_network(file, 64);
        QCOMPARE(larger.graph.batch(), 64);
        QCOMPARE(totals(larger.graph).forward_flops, 32 * totals(as_exported.graph).forward_flops);
    }

    void productsFollowTheBatch() {
        Program program(true);
        program.input("x", {program.batch(), 3, 4});
        program.call("torch.ops.aten.view.default", {{"self", tensor("x")}}, "flat",
                     {open_size("3*s77", 6), 4});
        program.call("torch.ops.aten.relu.default", {{"self", tensor("flat")}}, "y",
                     {open_size("3*s77", 6), 4});
        program.result("y");
        const Path file = file_of(program.json());
        QCOMPARE(read_network(file, 10).graph.op(2).outputs[0].shape.value(),
                 (std::vector<std::int64_t>{30, 4}));
        program.meta("y", {open_size("unknown(s77)", 3), 4});
        QCOMPARE(
            QString::fromStdString(error_of(program.json(), 10)).section("net.pt2: ", 1),
            R"~(tensor "y": sizes[0].as_expr is "unknown(s77)", which cannot be computed for another size: leave out --batch and --dim, or export for that size)~");
        QCOMPARE(error_of(program.json()), std::string());
    }

    void faults_data() {
        QTest::addColumn<QString>("pointer");
        QTest::addColumn<QString>("value");
        QTest::addColumn<QString>("message");
        QTest::newRow("schema") << "/schema_version/major"
                                << "9"
                                << "schema_version.major is 9, expected 5 to 8 (PyTorch 2.2 and newer)";
        QTest::newRow("older schema") << "/schema_version/major"
                                      << "4"
                                      << "export the model again";
        QTest::newRow("no graph") << "/graph_module"
                                  << "3"
                                  << "graph_module is 3, expected an object";
        QTest::newRow("negative size") << "/graph_module/graph/tensor_values/x/sizes/0/as_int"
                                       << "-2"
                                       << R"(is -2, expected at least 0)";
        QTest::newRow("huge size") << "/graph_module/graph/tensor_values/convolution/sizes/1/as_int"
                                   << "9223372036854775807"
                                   << R"(tensor "convolution")";
        QTest::newRow("dtype") << "/graph_module/graph/tensor_values/x/dtype"
                               << "11"
                               << "is 11, which is not a supported tensor type";
        QTest::newRow("missing value") << "/graph_module/graph/nodes/3/inputs/0/arg/as_tensor/name"
                                       << "\"gone\""
                                       << R"(node "layer1/0/relu/relu" (relu): reads "gone")";
        QTest::newRow("missing output")
            << "/graph_module/signature/output_specs/1/user_output/arg/as_tensor/name"
            << "\"gone\""
            << R"(names "gone", which no node gives)";
        QTest::newRow("arg") << "/graph_module/graph/nodes/1/inputs/0/arg/as_tensor"
                             << "7"
                             << R"(nodes[1] "torch.ops.aten.convolution.default")";
    }
    void faults() {
        QFETCH(QString, pointer);
        QFETCH(QString, value);
        QFETCH(QString, message);
        Json json = network().json();
        json[Json::json_pointer(pointer.toStdString())] = Json::parse(value.toStdString());
        const std::string error = error_of(json);
        QVERIFY2(QString::fromStdString(error).contains(message), error.c_str());
    }

    void fixedBatchIsSaid() {
        const std::string error = error_of(network().json(), 8);
        QVERIFY2(QString::fromStdString(error).contains("the batch size of this file is fixed at 2, not 8"),
                 error.c_str());
        QCOMPARE(error_of(network().json(), 2), std::string());
    }

    void brokenArchives() {
        const Path file = file_of(network().json());
        const auto bytes = std::filesystem::file_size(file);
        for (const auto part : {bytes / 2, bytes - 1}) {
            file_of(network().json());
            std::filesystem::resize_file(file, part);
            QVERIFY2(error_of(file).find("cannot be read as a zip file") != std::string::npos,
                     error_of(file).c_str());
        }
        QVERIFY(error_of(archive({{"readme", "text"}})).find("neither of TorchScript nor of torch.export") !=
                std::string::npos);
        QVERIFY(error_of(archive({{"models/model.json", "{"}})).find("net.pt2") != std::string::npos);
    }

    void largeMembersAreNotUnpacked() {
        const Archive zip(archive({{"a/b.json", std::string(5000, ' ')}}));
        const Archive::Member* const member = zip.find("b.json");
        QVERIFY(member != nullptr && zip.find(".json") == nullptr);
        QCOMPARE(zip.text(*member, 5000).size(), 5000u);
        try {
            zip.text(*member, 4999);
            QFAIL("it was unpacked");
        } catch (const InputError& error) {
            QVERIFY2(QString(error.what()).contains("member \"a/b.json\"") &&
                         QString(error.what()).contains("expected at most"),
                     error.what());
        }
    }
};

QTEST_GUILESS_MAIN(TestExportedProgram)
#include "tst_exported_program.moc"
