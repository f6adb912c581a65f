// SPDX-License-Identifier: MIT
// What all readers of exchange formats share: from a program of values to a network.
#include <algorithm>

#include <QTest>

#include "core/graph/flops.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/networks/traced_program.hpp"
#include "core/io/text/input_error.hpp"

using namespace placewright;

namespace {

using Node = Program::Node;

Program::Value value(const std::string& name, std::vector<std::int64_t> shape) {
    return {name, make_tensor(std::move(shape))};
}

Program::Parameter weight(const std::string& path, std::vector<std::int64_t> shape, bool trained = true) {
    return {path, path, make_tensor(std::move(shape)), trained};
}

/// Tokens through a table, a linear map, and back by the same table.
Program tied() {
    Program program;
    program.name = "tied";
    program.batch = 2;
    program.inputs = {{"tokens", make_tensor({2, 5}, DType::int64)}};
    program.parameters = {weight("wte.weight", {100, 8}), weight("h.0.weight", {8, 8}),
                          weight("h.0.bias", {8}), weight("h.0.mask", {3}, false)};
    program.nodes = {
        Node{.name = "embed",
             .kind = "embedding",
             .scope = "wte",
             .inputs = {"wte.weight", "tokens"},
             .outputs = {value("e", {2, 5, 8})}},
        Node{.name = "map",
             .kind = "linear",
             .scope = "h/0",
             .inputs = {"e", "h.0.weight", "h.0.bias", "h.0.mask"},
             .outputs = {value("m", {2, 5, 8})}},
        Node{
            .name = "turn", .kind = "transpose", .inputs = {"wte.weight"}, .outputs = {value("w", {8, 100})}},
        Node{.name = "logits", .kind = "matmul", .inputs = {"m", "w"}, .outputs = {value("y", {2, 5, 100})}},
    };
    program.outputs = {"y"};
    return program;
}

/// A layer norm, a linear map and a GELU in single ops.
Program chains() {
    Program program;
    program.functions = Program::Functions::exported;
    program.batch = 4;
    program.inputs = {value("x", {4, 3, 8})};
    program.parameters = {weight("norm.weight", {8}), weight("norm.bias", {8}), weight("fc.weight", {16, 8}),
                          weight("fc.bias", {16})};
    for (const char* name : {"two", "eps", "root of two", "one", "half"})
        program.parameters.push_back({name, "", make_tensor({}), false});
    const auto add = [&](const std::string& name, const std::string& kind, std::vector<std::string> inputs,
                         const std::string& output, std::vector<std::int64_t> shape) {
        program.nodes.push_back(Node{.name = name,
                                     .kind = kind,
                                     .inputs = std::move(inputs),
                                     .outputs = {value(output, std::move(shape))}});
    };
    add("/norm/ReduceMean", "mean", {"x"}, "mean", {4, 3, 1});
    add("/norm/Sub", "sub", {"x", "mean"}, "centred", {4, 3, 8});
    add("/norm/Pow", "pow", {"centred", "two"}, "square", {4, 3, 8});
    add("/norm/ReduceMean_1", "mean", {"square"}, "variance", {4, 3, 1});
    add("/norm/Add", "add", {"variance", "eps"}, "above", {4, 3, 1});
    add("/norm/Sqrt", "sqrt", {"above"}, "root", {4, 3, 1});
    add("/norm/Div", "div", {"centred", "root"}, "normal", {4, 3, 8});
    add("/norm/Mul", "mul", {"normal", "norm.weight"}, "weighted", {4, 3, 8});
    add("/norm/Add_1", "add", {"weighted", "norm.bias"}, "norm", {4, 3, 8});
    add("/fc/Transpose", "permute", {"fc.weight"}, "turned", {8, 16});
    add("/fc/MatMul", "matmul", {"norm", "turned"}, "product", {4, 3, 16});
    add("/fc/Add", "add", {"fc.bias", "product"}, "map", {4, 3, 16});
    add("/Div", "div", {"map", "root of two"}, "scaled", {4, 3, 16});
    add("/Erf", "erf", {"scaled"}, "erf", {4, 3, 16});
    add("/Add", "add", {"erf", "one"}, "more", {4, 3, 16});
    add("/Mul", "mul", {"map", "more"}, "twice", {4, 3, 16});
    add("/Mul_1", "mul", {"twice", "half"}, "y", {4, 3, 16});
    program.outputs = {"y"};
    return program;
}

std::string error_of(Program program) {
    try {
        network_of("net.onnx", std::move(program));
    } catch (const InputError& error) {
        return error.what();
    }
    return {};
}

}  // namespace

class TestTracedProgram : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void parametersBelongToTheirReader() {
        const Graph graph = network_of("net.onnx", tied()).graph;
        const Op& map = graph.op(*graph.find("map"));
        QCOMPARE(map.parameter_bytes, 4 * (64 + 8));
        QCOMPARE(map.resident_bytes, 4 * 3);
        QCOMPARE(map.flops, 2.0 * 2 * 5 * 8 * 8);
        QCOMPARE(map.scope, std::string("h/0"));
        QCOMPARE(map.attributes.at("parameters"), std::string(R"(["h.0.weight","h.0.bias","h.0.mask"])"));
        QCOMPARE(map.attributes.at("parameter_bytes"), std::string("[256,32,12]"));
        QCOMPARE(map.attributes.at("buffers"), std::string(R"(["h.0.mask"])"));
    }

    void sharedParameterIsAnOpThatViewsPointTo() {
        const Graph graph = network_of("net.onnx", tied()).graph;
        QCOMPARE(graph.size(), 5u);  // tokens, the table, embed, map, logits
        const OpId table = *graph.find("wte/weight");
        QCOMPARE(graph.op(table).kind, std::string("parameter"));
        QCOMPARE(graph.op(table).parameter_bytes, 4 * 800);
        QCOMPARE(graph.consumers(table).size(), 2u);
        QCOMPARE(graph.op(*graph.find("logits")).flops, 2.0 * 2 * 5 * 8 * 100);
        QCOMPARE(totals(graph).parameter_bytes, 4 * (800 + 64 + 8));
    }

    void viewOfAParameterHasItsOwnShape() {
        Program program;
        program.inputs = {value("x", {16, 8})};
        program.parameters = {weight("w", {16, 1000})};
        program.nodes = {
            Node{.name = "turn", .kind = "transpose", .inputs = {"w"}, .outputs = {value("t", {1000, 16})}},
            Node{.name = "product",
                 .kind = "matmul",
                 .inputs = {"t", "x"},
                 .outputs = {value("y", {1000, 8})}}};
        const Graph graph = network_of("net.onnx", std::move(program)).graph;
        QCOMPARE(graph.op(*graph.find("product")).flops, 2.0 * 1000 * 8 * 16);
        QCOMPARE(graph.op(*graph.find("product")).parameter_bytes, 4 * 16'000);
    }

    void numbersOfTheProgramAreNoOps() {
        Program program = tied();
        program.parameters.push_back({"shape", "", make_tensor({3}, DType::int64), false});
        program.nodes.insert(program.nodes.begin(),
                             Node{.kind = "cat", .inputs = {"shape", "shape"}, .outputs = {{"shapes", {}}}});
        program.nodes.push_back(Node{.name = "flat",
                                     .kind = "reshape",
                                     .inputs = {"y", "shapes"},
                                     .outputs = {value("z", {10, 100})}});
        program.nodes.push_back(
            Node{.name = "dead", .kind = "relu", .inputs = {"y"}, .outputs = {value("d", {2, 5, 100})}});
        program.outputs = {"z"};
        const Graph graph = network_of("net.onnx", std::move(program)).graph;
        QCOMPARE(graph.size(), 6u);
        QCOMPARE(graph.producers(*graph.find("flat")).size(), 1u);
        QVERIFY(!graph.find("dead"));
    }

    void whatNothingReadsIsHeldNearby() {
        Program program = tied();
        program.parameters.push_back(weight("h.0.unused.weight", {10}));
        program.parameters.push_back(weight("head.weight", {20}));
        program.parameters.push_back({"one", "", make_tensor({30}), false});
        const Graph graph = network_of("net.onnx", std::move(program)).graph;
        const Op& map = graph.op(*graph.find("map"));
        QCOMPARE(map.parameter_bytes, 4 * (64 + 8));
        // It has no gradient.
        QCOMPARE(map.resident_bytes, 4 * (3 + 10));
        QCOMPARE(map.attributes.at("parameters"),
                 std::string(R"(["h.0.weight","h.0.bias","h.0.mask","h.0.unused.weight"])"));
        QCOMPARE(map.attributes.at("buffers"), std::string(R"(["h.0.mask","h.0.unused.weight"])"));
        // Where no op is in the module, or around it, with the first of all. Numbers of the program are no
        // part of the model.
        QCOMPARE(graph.op(*graph.find("embed")).resident_bytes, 4 * 20);
        QCOMPARE(graph.size(), 5u);
    }

    void otherNamesOfATiedParameterTakeNoMemory() {
        Program program = tied();
        program.parameters[0].other_paths = {"lm_head.weight"};
        const Graph graph = network_of("net.onnx", std::move(program)).graph;
        const Op& table = graph.op(*graph.find("wte/weight"));
        QCOMPARE(table.parameter_bytes, 4 * 800);
        QCOMPARE(table.attributes.at("parameters"), std::string(R"(["wte.weight","lm_head.weight"])"));
        QCOMPARE(table.attributes.at("parameter_bytes"), std::string("[3200,0]"));
    }

    void largeSharedConstantIsSent() {
        Program program = tied();
        program.parameters.push_back(weight("mask", {1, 8, 8}, false));
        program.parameters.push_back(weight("large", {1 << 20}, false));
        for (Node& node : program.nodes) {
            if (node.name != "turn") node.inputs.insert(node.inputs.end(), {"mask", "large"});
        }
        const Graph graph = network_of("net.onnx", std::move(program)).graph;
        QVERIFY(!graph.find("mask"));
        QCOMPARE(graph.op(*graph.find("logits")).resident_bytes, 4 * 64);
        const OpId large = *graph.find("large");
        QCOMPARE(graph.op(large).kind, std::string("constant"));
        QCOMPARE(graph.op(large).resident_bytes, 4 << 20);
        QCOMPARE(graph.consumers(large).size(), 3u);
    }

    /// As parameters are: by the op that reads them, not by one that holds them unread, and of a table rows.
    void weightsThatAreNotTrainedAreRead() {
        Program program = tied();
        constexpr std::int64_t kBytes = 4 << 20;
        for (const char* name : {"frozen", "h.0.unread", "rows"})
            program.parameters.push_back(weight(name, {1 << 10, 1 << 10}, false));
        program.nodes[1].inputs.emplace_back("frozen");
        program.nodes.push_back(Node{.name = "look up",
                                     .kind = "index_select",
                                     .inputs = {"rows", "tokens"},
                                     .outputs = {value("r", {2, 5, 1 << 10})}});
        program.outputs = {"y", "r"};
        const Graph graph = network_of("net.onnx", std::move(program)).graph;
        const Op& map = graph.op(*graph.find("map"));
        QCOMPARE(map.resident_bytes, 2 * kBytes + 12);
        QVERIFY(map.read_bytes.has_value());
        QCOMPARE(*map.read_bytes, map.parameter_bytes + kBytes + 12);
        QVERIFY(!graph.op(*graph.find("look up")).read_bytes);
        QVERIFY(!graph.op(*graph.find("embed")).read_bytes);
    }

    /// A product of a constant that the program computes has its extents.
    void computedConstantsAreOperands() {
        Program program;
        program.inputs = {value("x", {200, 5})};
        program.parameters = {{"fill", "", make_tensor({}), false}};
        program.nodes = {
            Node{.name = "ones", .kind = "full", .inputs = {"fill"}, .outputs = {value("o", {80, 200})}},
            Node{
                .name = "product", .kind = "matmul", .inputs = {"o", "x"}, .outputs = {value("y", {80, 5})}}};
        program.outputs = {"y"};
        const Graph graph = network_of("net.onnx", std::move(program)).graph;
        QCOMPARE(graph.size(), 2u);
        QCOMPARE(graph.op(*graph.find("product")).flops, 2.0 * 80 * 200 * 5);
    }

    void resultOfUnknownSizeIsEstimated() {
        Program program = tied();
        program.nodes.push_back(
            Node{.name = "last", .kind = "relu", .inputs = {"y"}, .outputs = {{"z", {}, "it depends"}}});
        program.outputs = {"z"};
        const NetworkFile file = network_of("net.onnx", std::move(program));
        QCOMPARE(file.estimated.size(), 1u);
        QCOMPARE(file.estimated[0].op, std::string("last"));
    }

    void unknownKindIsEstimated() {
        Program program = tied();
        program.nodes[1].kind = "com.acme.Mystery";
        const NetworkFile file = network_of("net.onnx", std::move(program));
        QCOMPARE(file.estimated.size(), 1u);
        QCOMPARE(file.estimated[0].op, std::string("map"));
        QCOMPARE(file.estimated[0].kind, std::string("com.acme.Mystery"));
        QCOMPARE(file.graph.op(*file.graph.find("map")).flops, 0.0);
    }

    void namesAreMadeUnique() {
        Program program = tied();
        program.nodes[3].name = "map";
        program.nodes[0].name = "";
        const Graph graph = network_of("net.onnx", std::move(program)).graph;
        QVERIFY(graph.find("map") && graph.find("map#2") && graph.find("e"));
    }

    void namesAreMadeText() {
        Program program = tied();
        program.parameters[1].path = "h.\xf4.weight";
        program.nodes[1].name = "m\xf4p";
        const Graph graph = network_of("net.onnx", std::move(program)).graph;
        QCOMPARE(graph.op(*graph.find("m\\xf4p")).attributes.at("parameters"),
                 std::string(R"(["h.\\xf4.weight","h.0.bias","h.0.mask"])"));
    }

    void errorsNameTheNode_data() {
        QTest::addColumn<int>("fault");
        QTest::addColumn<QString>("message");
        QTest::newRow("missing")
            << 0
            << R"(net.onnx: node "map" (linear): reads "nowhere", which no input, parameter or earlier node defines)";
        QTest::newRow("unknown shape")
            << 1 << R"(net.onnx: node "map" (linear): the shape of its output "m" is unknown)";
        QTest::newRow("twice") << 2 << R"(net.onnx: node "map": value "e" is defined twice, expected once)";
        QTest::newRow("output") << 3 << R"(net.onnx: outputs: "gone" is not the output of any node)";
        QTest::newRow("input") << 4 << R"(net.onnx: input "tokens": its shape is unknown, expected one)";
    }
    void errorsNameTheNode() {
        QFETCH(int, fault);
        QFETCH(QString, message);
        Program program = tied();
        if (fault == 0) program.nodes[1].inputs[0] = "nowhere";
        if (fault == 1) program.nodes[1].outputs[0].tensor.reset();
        if (fault == 2) program.nodes[1].outputs[0].name = "e";
        if (fault == 3) program.outputs = {"gone"};
        if (fault == 4) program.inputs[0].tensor.reset();
        QCOMPARE(QString::fromStdString(error_of(std::move(program))), message);
    }

    void flopsOfKinds_data() {
        QTest::addColumn<QString>("kind");
        QTest::addColumn<std::vector<Shape>>("inputs");
        QTest::addColumn<Shape>("output");
        QTest::addColumn<double>("flops");
        using Shapes = std::vector<Shape>;
        QTest::newRow("grouped convolution")
            << "conv2d" << Shapes{{1, 8, 4, 4}, {16, 2, 3, 3}} << Shape{1, 16, 4, 4} << 2.0 * 256 * 18;
        QTest::newRow("transposed convolution") << "conv_transpose2d" << Shapes{{1, 8, 4, 4}, {8, 5, 2, 2}}
                                                << Shape{1, 5, 8, 8} << 2.0 * 128 * 20;
        QTest::newRow("addmm") << "addmm" << Shapes{{7}, {3, 5}, {5, 7}} << Shape{3, 7} << 2.0 * 3 * 5 * 7;
        QTest::newRow("batched matmul")
            << "matmul" << Shapes{{2, 3, 4, 5}, {2, 3, 5, 6}} << Shape{2, 3, 4, 6} << 2.0 * 6 * 4 * 5 * 6;
        QTest::newRow("attention") << "scaled_dot_product_attention"
                                   << Shapes{{1, 2, 3, 4}, {1, 2, 5, 4}, {1, 2, 5, 6}} << Shape{1, 2, 3, 6}
                                   << 2.0 * 30 * 4 + 2.0 * 30 * 6 + 5.0 * 30;
        QTest::newRow("lstm") << "lstm" << Shapes{{7, 2, 3}, {16, 3}, {16, 4}, {16}, {16}} << Shape{7, 2, 4}
                              << 14.0 * (2 * 16 * 3 + 2 * 16 * 4 + 13 * 4);
        QTest::newRow("view") << "flatten" << Shapes{{2, 3}} << Shape{6} << 0.0;
    }
    void flopsOfKinds() {
        QFETCH(QString, kind);
        QFETCH(std::vector<Shape>, inputs);
        QFETCH(Shape, output);
        QFETCH(double, flops);
        const std::string name = kind.toStdString();
        QCOMPARE(forward_flops({name, inputs, std::span(&output, 1)}).value(), flops);
    }

    void flopsOfAnEinsteinSum() {
        const auto flops = [](std::string_view equation, const std::vector<Shape>& inputs) {
            return forward_flops({.kind = "einsum", .inputs = inputs, .outputs = {}, .equation = equation});
        };
        QCOMPARE(flops("bhid,bhjd->bhij", {{2, 3, 4, 5}, {2, 3, 6, 5}}).value(), 2.0 * 2 * 3 * 4 * 6 * 5);
        QCOMPARE(flops("ij, jk", {{4, 5}, {5, 6}}).value(), 2.0 * 4 * 5 * 6);
        // What "..." stands for is the same in both, and broadcast.
        QCOMPARE(flops("...ij,...jk->...ik", {{2, 3, 4, 5}, {3, 5, 6}}).value(), 2.0 * 2 * 3 * 4 * 5 * 6);
        QCOMPARE(flops("i...,...->i...", {{7, 2, 3}, {2, 3}}).value(), 2.0 * 7 * 2 * 3);
        for (const char* wrong : {"", "ij", "ijk,jk->ik", "ij,jk,kl->il", "i.j,jk->ik"})
            QVERIFY2(!flops(wrong, {{4, 5}, {5, 6}}), wrong);
    }

    void flopsOfInterpolations() {
        const auto flops = [](std::string_view kind, Shape from, Shape to, std::int64_t window) {
            const std::vector<Shape> inputs{std::move(from)};
            return forward_flops(
                {.kind = kind, .inputs = inputs, .outputs = std::span(&to, 1), .window = window});
        };
        QCOMPARE(flops("interpolate", {1, 2, 4, 4}, {1, 2, 8, 8}, 1).value(), 0.0);
        QCOMPARE(flops("interpolate", {1, 2, 4, 4}, {1, 2, 8, 8}, 2).value(), 2.0 * 4 * 128);
        QCOMPARE(flops("interpolate", {1, 2, 4, 4}, {1, 2, 8, 8}, 4).value(), 2.0 * 16 * 128);
        // An extent that stays is not interpolated.
        QCOMPARE(flops("interpolate", {1, 2, 4, 4, 4}, {1, 2, 8, 4, 8}, 2).value(), 2.0 * 4 * 512);
        QVERIFY(!flops("interpolate", {1, 2, 4, 4}, {1, 2, 8, 8}, 0));
        QCOMPARE(flops("grid_sample", {1, 2, 4, 4}, {1, 2, 4, 3}, 1).value(), 0.0);
        QCOMPARE(flops("grid_sample", {1, 2, 4, 4}, {1, 2, 4, 3}, 2).value(), 2.0 * 4 * 24);
        QCOMPARE(flops("grid_sample", {1, 2, 4, 4, 4}, {1, 2, 4, 3, 2}, 2).value(), 2.0 * 8 * 48);
        QVERIFY(!flops("grid_sample", {1, 2, 4, 4}, {1, 2, 4, 3}, 0));
    }

    // Layer norm, GELU and a linear map as operator sets of ONNX before 17 have them.
    void knownChainsAreOneOp() {
        const Graph graph = network_of("net.onnx", chains()).graph;
        QStringList kinds;
        for (const Op& op : graph.ops()) kinds << QString::fromStdString(op.kind);
        QCOMPARE(kinds, (QStringList{"input", "layer_norm", "linear", "gelu"}));
        const Op& norm = graph.op(*graph.find("/norm/Add_1"));
        QCOMPARE(norm.attributes.at("normalized_shape"), std::string("[8]"));
        QCOMPARE(norm.attributes.at("parameters"), std::string(R"(["norm.weight","norm.bias"])"));
        QCOMPARE(norm.attributes.at("merged"),
                 std::string(R"(["/norm/ReduceMean","/norm/Sub","/norm/Pow","/norm/ReduceMean_1",)"
                             R"("/norm/Add","/norm/Sqrt","/norm/Div","/norm/Mul","/norm/Add_1"])"));
        QCOMPARE(norm.flops, 4.0 * 4 * 3 * 8);
        const Op& map = graph.op(*graph.find("/fc/Add"));
        QCOMPARE(map.flops, 2.0 * 4 * 3 * 8 * 16);
        QCOMPARE(map.parameter_bytes, 4 * (16 * 8 + 16));
        QCOMPARE(graph.op(*graph.find("/Mul_1")).flops, 8.0 * 4 * 3 * 16);
    }

    void chainsThatAreReadOnTheirWayStay() {
        const auto kinds = [](const std::string& value) {
            Program program = chains();
            program.outputs.push_back(value);
            const Graph graph = network_of("net.onnx", program).graph;
            QStringList found;
            for (const char* kind : {"layer_norm", "linear", "gelu"}) {
                if (std::ranges::find(graph.ops(), kind, &Op::kind) != graph.ops().end()) found << kind;
            }
            return found;
        };
        for (const char* value : {"mean", "centred", "square", "variance", "above", "root"})
            QCOMPARE(kinds(value), (QStringList{"linear", "gelu"}));
        for (const char* value : {"scaled", "erf", "more", "twice"})
            QCOMPARE(kinds(value), (QStringList{"layer_norm", "linear"}));
        // A norm without weights and a map without a bias are ones, too.
        for (const char* value : {"normal", "product", "map"})
            QCOMPARE(kinds(value), (QStringList{"layer_norm", "linear", "gelu"}));
    }

    void attentionIsOneOp_data() {
        QTest::addColumn<QString>("steps");
        for (const char* steps : {"products", "products with dropout", "fused"})
            QTest::newRow(steps) << steps;
    }
    void attentionIsOneOp() {
        QFETCH(QString, steps);
        const bool fused = steps == "fused", dropout = steps.endsWith("dropout");
        // Four heads of two, as TorchScript has them; the weight of the inputs is read as it is.
        Program program;
        program.batch = 4;
        program.inputs = {value("x", {3, 4, 8})};
        program.parameters = {weight("a.in_proj_weight", {24, 8}), weight("a.in_proj_bias", {24}),
                              weight("a.out_proj.weight", {8, 8}), weight("a.out_proj.bias", {8})};
        const auto add = [&](const std::string& kind, std::vector<std::string> inputs,
                             std::vector<Program::Value> outputs) {
            program.nodes.push_back(Node{.name = "a/" + kind,
                                         .kind = kind,
                                         .scope = "a",
                                         .inputs = std::move(inputs),
                                         .outputs = std::move(outputs)});
        };
        add("linear", {"x", "a.in_proj_weight", "a.in_proj_bias"}, {value("qkv", {3, 4, 24})});
        add("chunk", {"qkv"}, {value("q", {3, 4, 8}), value("k", {3, 4, 8}), value("v", {3, 4, 8})});
        add("view", {"q"}, {value("qh", {16, 3, 2})});
        add("view", {"k"}, {fused ? value("kh", {16, 3, 2}) : value("kh", {16, 2, 3})});
        add("view", {"v"}, {value("vh", {16, 3, 2})});
        if (fused) {
            add("scaled_dot_product_attention", {"qh", "kh", "vh"}, {value("mixed", {16, 3, 2})});
        } else {
            add("bmm", {"qh", "kh"}, {value("scores", {16, 3, 3})});
            add("softmax", {"scores"}, {value("shares", {16, 3, 3})});
            if (dropout) add("dropout", {"shares"}, {value("left", {16, 3, 3})});
            add("bmm", {dropout ? "left" : "shares", "vh"}, {value("mixed", {16, 3, 2})});
        }
        add("view", {"mixed"}, {value("rows", {12, 8})});
        add("linear", {"rows", "a.out_proj.weight", "a.out_proj.bias"}, {value("out", {12, 8})});
        add("view", {"out"}, {value("y", {3, 4, 8})});
        program.nodes.push_back(
            Node{.name = "relu", .kind = "relu", .inputs = {"y"}, .outputs = {value("z", {3, 4, 8})}});
        program.outputs = {"z"};
        const Graph graph = network_of("net.pt", program).graph;
        QCOMPARE(graph.size(), 3U);
        const Op& attention = graph.op(*graph.find("a/multi_head_attention_forward"));
        QCOMPARE(attention.kind, std::string("multi_head_attention_forward"));
        QCOMPARE(attention.attributes.at("heads"), std::string("4"));
        QCOMPARE(attention.inputs, (std::vector<TensorRef>(3, TensorRef{0, 0})));
        QCOMPARE(attention.parameter_bytes, 4 * (24 * 8 + 24 + 8 * 8 + 8));
        QCOMPARE(attention.flops, 2.0 * 12 * 8 * 24 + 2 * (2.0 * 16 * 3 * 3 * 2) +
                                      (dropout ? 6.0 : 5.0) * 16 * 3 * 3 + 2.0 * 12 * 8 * 8);
        QCOMPARE(attention.attributes.contains("fused"), fused);
        QCOMPARE(attention.attributes.contains("dropout"), dropout);
        QCOMPARE(*attention.outputs[0].shape, (Shape{3, 4, 8}));
        // Weights of attention that are a result keep the ops apart.
        program.outputs.emplace_back(fused ? "mixed" : "shares");
        QVERIFY(network_of("net.pt", program).graph.size() > 9);
    }

    void flopsOfTooFewOperandsAreUnknown() {
        for (const char* kind :
             {"conv2d", "conv_transpose2d", "linear", "addmm", "bilinear", "scaled_dot_product_attention",
              "lstm", "relu", "mean", "interpolate", "grid_sample"})
            QVERIFY2(!forward_flops({kind, {}, {}}), kind);
        QVERIFY(!forward_flops({"com.acme.Mystery", {}, {}}));
    }
};

QTEST_GUILESS_MAIN(TestTracedProgram)
#include "tst_traced_program.moc"
