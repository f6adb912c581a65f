// SPDX-License-Identifier: MIT
// Parameters and other stored values of ONNX models.
#include <QRegularExpression>
#include <QTest>
#include <sys/resource.h>

#include "core/base/path.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/onnx/onnx_model.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/support/onnx_fixture.hpp"
#include "tests/support/onnx_models.hpp"

using namespace placewright;
using test::body, test::Extents, test::onnx_node, test::OnnxModel, test::op_of, test::single;

namespace {

constexpr auto kInt64 = onnx::TensorProto::INT64;

}  // namespace

class TestOnnxParameters : public test::OnnxFixture {
    Q_OBJECT

private Q_SLOTS:
    void parametersAreInitializers() {
        OnnxModel model;
        model.input("x", {1, 8, 6, 6});
        model.weight("layer1.0.conv.weight", {8, 8, 3, 3});
        for (const char* part : {"weight", "bias", "running_mean", "running_var"})
            model.weight(std::string("layer1.0.bn.") + part, {8});
        model.node("Conv", {"x", "layer1.0.conv.weight"}, {"c"}, {}, "/layer1/layer1.0/conv/Conv");
        model.node("BatchNormalization",
                   {"c", "layer1.0.bn.weight", "layer1.0.bn.bias", "layer1.0.bn.running_mean",
                    "layer1.0.bn.running_var"},
                   {"n"});
        model.node("Relu", {"n"}, {"y"}, {}, "/layer1/layer1.0/relu/Relu").output("y");
        const Graph graph = read(model).graph;
        const Op& conv = op_of(graph, "/layer1/layer1.0/conv/Conv");
        QCOMPARE(conv.parameter_bytes, 4 * 8 * 8 * 9);
        QCOMPARE(conv.scope, std::string("layer1/0/conv"));
        QCOMPARE(conv.attributes.at("parameters"), std::string(R"(["layer1.0.conv.weight"])"));
        const Op& norm = op_of(graph, "n");
        QCOMPARE(norm.scope, std::string("layer1/0/bn"));
        QCOMPARE(norm.parameter_bytes, 4 * 16);
        QCOMPARE(norm.resident_bytes, 4 * 16);
        QCOMPARE(op_of(graph, "/layer1/layer1.0/relu/Relu").scope, std::string("layer1/0/relu"));
    }

    /// PyTorch's exporter numbers the uses of a module from the second on.
    void laterUsesOfAModuleAreInThatModule() {
        OnnxModel model;
        model.input("x", {1, 8, 6, 6})
            .weight("b.0.conv.weight", {8, 8, 1, 1})
            .weight("b.0.conv_2.weight", {8, 8, 1, 1});
        model.node("Relu", {"x"}, {"r0"}, {}, "/b/b.0/relu/Relu");
        model.node("Conv", {"r0", "b.0.conv.weight"}, {"c0"}, {}, "/b/b.0/conv/Conv");
        model.node("Relu", {"c0"}, {"r1"}, {}, "/b/b.0/relu_1/Relu");
        model.node("Conv", {"r1", "b.0.conv.weight"}, {"c1"}, {}, "/b/b.0/conv_1/Conv");
        model.node("Conv", {"c1", "b.0.conv_2.weight"}, {"c2"}, {}, "/b/b.0/conv_2/Conv");
        model.node("Relu", {"c2"}, {"y"}, {}, "/b/b.0/act_1/Relu").output("y");
        const Graph graph = read(model).graph;
        QCOMPARE(op_of(graph, "/b/b.0/relu_1/Relu").scope, std::string("b/0/relu"));
        QCOMPARE(op_of(graph, "/b/b.0/conv_1/Conv").scope, std::string("b/0/conv"));
        QCOMPARE(op_of(graph, "/b/b.0/conv_2/Conv").scope,
                 std::string("b/0/conv_2"));  // a module with a parameter
        QCOMPARE(op_of(graph, "/b/b.0/act_1/Relu").scope,
                 std::string("b/0/act_1"));  // there is no module "act"
    }

    void parametersThatAreNotExportedAreInputs() {
        OnnxModel model;
        model.input("input.1", {-2, 7}).input("fc.weight", {5, 7}).input("fc.bias", {5});
        model.node("Gemm", {"input.1", "fc.weight", "fc.bias"}, {"y"}, {{"transB", 1}}).output("y");
        const Graph graph = read(model, 3).graph;
        QCOMPARE(graph.size(), 2u);
        QCOMPARE(op_of(graph, "y").parameter_bytes, 4 * 40);
        QCOMPARE(op_of(graph, "y").scope, std::string("fc"));
    }

    /// Where constants are folded, PyTorch transposes weights of products while exporting.
    void parametersThatAreFoldedAreInputsOrInitializers() {
        for (const bool stored : {false, true}) {
            OnnxModel model;
            model.input("tokens", {-2, 3, 4});
            const auto parameter = [&](const std::string& name, const Extents& shape) {
                stored ? model.weight(name, shape) : model.input(name, shape);
            };
            parameter("a.in_proj_bias", {12});
            parameter("onnx::MatMul_21", {4, 12});
            model.node("MatMul", {"tokens", "onnx::MatMul_21"}, {"m"}, {}, "/a/MatMul");
            model.node("Add", {"a.in_proj_bias", "m"}, {"y"}, {}, "/a/Add").output("y");
            const Graph graph = read(model, 2).graph;
            QCOMPARE(graph.size(), 2u);
            QCOMPARE(op_of(graph, "/a/Add").attributes.at("parameters"),
                     std::string(R"(["a.in_proj_weight","a.in_proj_bias"])"));
            QCOMPARE(op_of(graph, "/a/Add").attributes.at("parameter_shapes"), std::string("[[12,4],[12]]"));
        }
    }

    void parametersOfTheWholeModelAreNoInputs() {
        OnnxModel model;
        model.input("input", {-2, 7}).input("class_token", {1, 7}).input("fc.weight", {5, 7});
        model.node("Add", {"input", "class_token"}, {"t"})
            .node("Gemm", {"t", "fc.weight"}, {"y"}, {{"transB", 1}})
            .output("y");
        const Graph graph = read(model, 3).graph;
        QCOMPARE(totals(graph).parameter_bytes, 4 * (7 + 35));
        OnnxModel recurrent;
        recurrent.input("x", {-2, 7, 3}).input("weight_ih_l0", {1, 16, 3}).input("weight_hh_l0", {1, 16, 4});
        recurrent.node("LSTM", {"x", "weight_ih_l0", "weight_hh_l0"}, {"y", "h", "c"}, {{"hidden_size", 4}})
            .output("y");
        QCOMPARE(totals(read(recurrent, 2).graph).parameter_bytes, 4 * 16 * 7);
        // The names of PyTorch's own parameters identify them, whether a batch size is open or not.
        OnnxModel module;
        module.input("x", {5, 7}).input("weight", {4, 7}).input("bias", {4});
        module.node("Gemm", {"x", "weight", "bias"}, {"y"}, {{"transB", 1}}).output("y");
        QCOMPARE(totals(read(module).graph).parameter_bytes, 4 * 4 * 8);
        // If a batch size is open, other names identify parameters too, except the names that PyTorch gives
        // to inputs.
        OnnxModel plain;
        plain.proto.set_producer_name("pytorch");
        plain.input("input", {-2, 7}).input("offset", {7}).input("onnx::Mul_1", {7}).input("input.3", {7});
        plain.node("Sum", {"input", "offset", "onnx::Mul_1", "input.3"}, {"y"}).output("y");
        QCOMPARE(totals(read(plain, 2).graph).parameter_bytes, 4 * 7);
        // If no batch size is open, what begins with the batch's extent cannot be told from another input.
        OnnxModel fixed;
        fixed.input("input", {2, 7}).input("mask", {2, 7}).input("class_token", {1, 7}).input("scale", {});
        fixed.input("fc.weight", {5, 7});
        fixed.node("Sum", {"input", "mask", "class_token", "scale"}, {"t"})
            .node("Gemm", {"t", "fc.weight"}, {"y"}, {{"transB", 1}})
            .output("y");
        const Graph summed = read(fixed).graph;
        QCOMPARE(totals(summed).parameter_bytes, 4 * (7 + 1 + 35));
        QCOMPARE(op_of(summed, "t").attributes.at("parameters"), std::string(R"(["class_token","scale"])"));
    }

    /// Other programs than PyTorch store the numbers of formulas as initializers.
    void numbersOfFormulasAreNotTrained() {
        for (const std::string producer : {"tf2onnx", "pytorch"}) {
            OnnxModel model;
            model.proto.set_producer_name(producer);
            model.input("x", {2, 4}).weight("logit_scale", {}).weight("/norm/Constant_output_0", {1});
            model.weight("norm/eps:0", {}).weight("dense/bias:0", {1}).weight("act/alpha:0", {});
            for (onnx::TensorProto& number : *model.graph().mutable_initializer())
                number.add_float_data(0.5F);
            model.node("Add", {"x", "norm/eps:0"}, {"a"})
                .node("Mul", {"a", "/norm/Constant_output_0"}, {"b"})
                .node("Mul", {"b", "logit_scale"}, {"c"})
                .node("Add", {"c", "dense/bias:0"}, {"d"})
                .node("PRelu", {"d", "act/alpha:0"}, {"y"})
                .output("y");
            const Graph graph = read(model).graph;
            QCOMPARE(op_of(graph, "a").parameter_bytes, 0);
            QCOMPARE(op_of(graph, "b").parameter_bytes, 0);
            QCOMPARE(op_of(graph, "c").parameter_bytes, producer == "pytorch" ? 4 : 0);
            QCOMPARE(op_of(graph, "d").parameter_bytes, 4);
            QCOMPARE(op_of(graph, "y").parameter_bytes, 4);
        }
    }

    void constantsOfBodiesAreHeld() {
        const auto constant = [] {
            onnx::NodeProto node = onnx_node("Constant", {}, {"w"});
            onnx::AttributeProto& value = *node.add_attribute();
            value.set_name("value");
            value.set_type(onnx::AttributeProto::TENSOR);
            *value.mutable_t() = test::onnx_tensor("", {8, 16});
            return node;
        };
        OnnxModel model;
        model.input("x", {2, 8}).node("Lin", {"x"}, {"y"}).output("y");
        model.graph().mutable_node(0)->set_domain("my");
        onnx::FunctionProto& function = *model.proto.add_functions();
        function.set_name("Lin");
        function.set_domain("my");
        function.add_opset_import()->set_version(13);
        function.add_input("a");
        function.add_output("b");
        *function.add_node() = constant();
        *function.add_node() = onnx_node("MatMul", {"a", "w"}, {"b"});
        const Op called = op_of(read(model).graph, "y");
        QCOMPARE(called.resident_bytes, 4 * 128);
        QCOMPARE(called.flops, 2.0 * 2 * 8 * 16);
    }

    void tiedParametersLeaveOpsInTheirModules() {
        OnnxModel model;
        model.input("tokens", {2, 3}, onnx::TensorProto::INT64).weight("wte.weight", {9, 4});
        model.node("Gather", {"wte.weight", "tokens"}, {"e"}, {}, "/wte/Gather");
        model.node("Transpose", {"wte.weight"}, {"w"}, {{"perm", Extents{1, 0}}}, "/lm_head/Transpose");
        model.node("MatMul", {"e", "w"}, {"y"}, {}, "/lm_head/MatMul").output("y");
        const Graph graph = read(model).graph;
        QCOMPARE(op_of(graph, "/wte/Gather").scope, std::string("wte"));
        QCOMPARE(op_of(graph, "/lm_head/MatMul").scope, std::string("lm_head"));
    }

    void parametersThatAreStoredOnceAreTwo_data() {
        QTest::addColumn<bool>("stored");
        QTest::newRow("stored") << true;
        QTest::newRow("left out") << false;
    }
    void parametersThatAreStoredOnceAreTwo() {
        QFETCH(bool, stored);
        OnnxModel model;
        model.input("x", {2, 4});
        for (const auto& [name, shape] :
             {std::pair("first.weight", Extents{4}), std::pair("table.weight", Extents{4, 4})}) {
            if (stored)
                model.weight(name, shape);
            else
                model.input(name, shape);
        }
        model.node("Identity", {"first.weight"}, {"second.weight"}, {}, "Identity_0");
        model.node("Identity", {"table.weight"}, {"head.weight"}, {}, "Identity_1");  // tied
        model.node("Mul", {"x", "first.weight"}, {"a"}, {}, "/first/Mul")
            .node("Mul", {"a", "second.weight"}, {"b"}, {}, "/second/Mul");
        model.node("MatMul", {"b", "table.weight"}, {"c"}, {}, "/table/MatMul");
        model.node("MatMul", {"c", "head.weight"}, {"y"}, {}, "/head/MatMul").output("y");
        const Graph graph = read(model).graph;
        QCOMPARE(totals(graph).parameter_bytes, 4 * (4 + 4 + 16));
        for (const std::string module : {"first", "second"}) {
            const Op& op = op_of(graph, "/" + module + "/Mul");
            QCOMPARE(op.parameter_bytes, 16);
            QCOMPARE(op.attributes.at("parameters"), "[\"" + module + ".weight\"]");
        }
    }

    void biasesThatAreStoredOnceAreTwo() {
        OnnxModel model;
        model.input("x", {1, 4, 8})
            .weight("a.weight", {4, 4, 1})
            .weight("a.bias", {4})
            .weight("b.weight", {4, 4, 1});
        model.node("Identity", {"a.bias"}, {"onnx::Conv_9"}, {}, "Identity_0");
        model.node("Conv", {"x", "a.weight", "a.bias"}, {"h"}, {}, "/a/Conv");
        model.node("Conv", {"h", "b.weight", "onnx::Conv_9"}, {"y"}, {}, "/b/Conv").output("y");
        const Graph graph = read(model).graph;
        QCOMPARE(graph.size(), 3u);
        QCOMPARE(op_of(graph, "/a/Conv").attributes.at("parameters"),
                 std::string(R"(["a.weight","a.bias"])"));
        QCOMPARE(op_of(graph, "/b/Conv").attributes.at("parameters"),
                 std::string(R"(["b.weight","b.bias"])"));
    }

    void whatIsMadeOfParametersIsNoConstant() {
        OnnxModel model;  // the way exporters build the biases of recurrent layers
        model.input("x", {2, 4})
            .weight("rnn.bias", {4})
            .numbers("begin", {2})
            .numbers("end", {4})
            .numbers("axes", {0});
        onnx::TensorProto& bias = *model.graph().mutable_initializer(0);
        for (int i = 0; i < 4; ++i) bias.add_float_data(0.5F);
        model.node("Slice", {"rnn.bias", "begin", "end", "axes"}, {"half"});
        model.node("Concat", {"half", "half"}, {"both"}, {{"axis", std::int64_t{0}}});
        model.node("Shape", {"rnn.bias"}, {"shape"}).node("Expand", {"both", "shape"}, {"wide"});
        model.node("Add", {"x", "wide"}, {"y"}).output("y");
        const Graph graph = read(model).graph;
        QCOMPARE(totals(graph).parameter_bytes, 16);
        QVERIFY(std::ranges::none_of(graph.ops(), [](const Op& op) { return op.kind == "Shape"; }));
        QCOMPARE(op_of(graph, "half").kind, std::string("slice"));
    }

    void littleOfWhatNodesGiveIsKept_data() {
        QTest::addColumn<std::string>("bytes");
        // Stored separately, all of it would take at least 262 MB.
        constexpr int kMany = 4'000;
        const auto name = [](int i) { return "n" + std::to_string(i); };
        OnnxModel numbers;
        numbers.input("x", {8192}).numbers("length", {8192});
        for (int i = 0; i < kMany; ++i) numbers.node("ConstantOfShape", {"length"}, {name(i)});
        numbers.node("Add", {"x", "n0"}, {"y"}).output("y");
        QTest::newRow("numbers") << numbers.bytes();

        OnnxModel aliases;
        aliases.input("x", {8192}).numbers("length", {8192}).node("ConstantOfShape", {"length"}, {"c"});
        aliases.node("F", std::vector<std::string>(kMany, "c"), {"z"});
        aliases.graph().mutable_node(1)->set_domain("own");
        aliases.node("Add", {"x", "z"}, {"y"}).output("y");
        onnx::FunctionProto& function = *aliases.proto.add_functions();
        function.set_name("F");
        function.set_domain("own");
        function.add_opset_import()->set_version(13);
        for (int i = 0; i < kMany; ++i) function.add_input(name(i));
        function.add_output("o");
        *function.add_node() = onnx_node("Relu", {"n0"}, {"o"});
        QTest::newRow("arguments of a function") << aliases.bytes();

        OnnxModel extents;
        extents.input("x", {8}).numbers("shape", Extents(8192, 1));
        for (int i = 0; i < kMany / 4; ++i) extents.node("ConstantOfShape", {"shape"}, {name(i)});
        extents.node("Relu", {"x"}, {"y"}).output("y");
        QTest::newRow("extents") << extents.bytes();
    }
    void littleOfWhatNodesGiveIsKept() {
        QFETCH(std::string, bytes);
        const auto most_kilobytes = [] {
            rusage usage{};
            getrusage(RUSAGE_SELF, &usage);
            return usage.ru_maxrss;
        };
        const Path file = write("net.onnx", bytes);
        const auto before = most_kilobytes();
        try {
            read_network(file);
        } catch (const InputError&) {  // values without a shape
        }
#ifndef __SANITIZE_ADDRESS__  // which keeps freed memory
        QVERIFY(most_kilobytes() < before + 150'000);
#endif
    }

    void foldedParametersAreNamedByTheirModule() {
        OnnxModel model;
        model.input("x", {2, 7}).weight("onnx::MatMul_21", {7, 5});
        model.node("MatMul", {"x", "onnx::MatMul_21"}, {"y"}, {}, "/layers.0/query/MatMul").output("y");
        const Graph graph = read(model).graph;
        QCOMPARE(op_of(graph, "/layers.0/query/MatMul").attributes.at("parameters"),
                 std::string(R"(["layers.0.query.weight"])"));
    }

    void externalDataIsNotRead() {
        OnnxModel model = single("Gemm", {{1 << 16, 1 << 14}}, {}, {1, 1 << 16});
        onnx::TensorProto& weight = *model.graph().mutable_initializer(0);
        weight.set_data_location(onnx::TensorProto::EXTERNAL);
        auto& location = *weight.add_external_data();
        location.set_key("location");
        location.set_value("../../etc/passwd");
        QCOMPARE(op_of(read(model).graph, "y").parameter_bytes, std::int64_t{4} << 30);
    }

    void sparseInitializersTakeWhatTheyStore() {
        OnnxModel model = single("MatMul", {}, {}, {1, 100});
        model.graph().mutable_node(0)->add_input("s");
        onnx::SparseTensorProto& sparse = *model.graph().add_sparse_initializer();
        sparse.add_dims(100);
        sparse.add_dims(10);
        *sparse.mutable_values() = test::onnx_tensor("s", {7});
        *sparse.mutable_indices() = test::onnx_tensor("", {7}, kInt64);
        QCOMPARE(op_of(read(model).graph, "y").parameter_bytes, 7 * 12);
    }

    void fourBitsAreTwoInAByte() {
        constexpr std::int32_t kUint4 = 21, kInt4 = 22, kFloat4 = 23;
        for (const std::int32_t type : {kUint4, kInt4, kFloat4}) {
            for (const auto& [elements, bytes] : {std::pair{1, 1}, {2, 1}, {3, 2}, {8, 4}}) {
                OnnxModel model = single("Mystery", {}, {}, {2, 3});
                model.graph().mutable_node(0)->set_domain("com.acme");
                *model.graph().mutable_output(0) = test::onnx_value("y", {elements}, type);
                QCOMPARE(op_of(read(model).graph, "y").outputs[0].bytes, bytes);
            }
        }
    }

    void largeAttributesOfBodiesAreCounted() {
        // The node of the body and the attribute of the call each contain a text.
        const auto calls = [](int count, const std::string& in_body, const std::string& in_call) {
            OnnxModel model;
            onnx::FunctionProto& function = *model.proto.add_functions();
            function.set_name("Turn");
            function.set_domain("local");
            function.add_opset_import()->set_version(13);
            function.add_input("a");
            function.add_output("b");
            onnx::NodeProto& transpose = *function.add_node() =
                onnx_node("Transpose", {"a"}, {"b"}, {{"perm", Extents{}}});
            transpose.mutable_attribute(0)->set_ref_attr_name("order");
            transpose.set_doc_string(in_body);
            model.input("v0", {2, 4, 6});
            for (int i = 0; i < count; ++i) {
                model.node("Turn", {'v' + std::to_string(i)}, {'v' + std::to_string(i + 1)},
                           {{"order", Extents{1, 2, 0}}});
                onnx::NodeProto& call = *model.graph().mutable_node(i);
                call.set_domain("local");
                call.mutable_attribute(0)->set_doc_string(in_call);
            }
            model.output('v' + std::to_string(count));
            return model;
        };
        QCOMPARE(*op_of(read(calls(2, "small", "small")).graph, "v2").outputs.at(0).shape,
                 (Extents{6, 2, 4}));
        const std::string large(std::size_t{64} << 20, 'a');
        const QString refused = refusal(calls(9, large, "").bytes());
        QVERIFY2(refused.contains(QRegularExpression("node \"v\\d\" \\(Turn\\): .*each run counts")),
                 qPrintable(refused));
        // The attribute of the call is copied for each node that refers to it.
        OnnxModel many = calls(1, "", large);
        for (int i = 0; i < 9; ++i)
            *many.proto.mutable_functions(0)->add_node() = many.proto.functions(0).node(0);
        const QString given = refusal(many.bytes());
        QVERIFY2(given.contains("node \"v1\" (Turn): ") && given.contains("each run counts"),
                 qPrintable(given));
    }

    void largeTensorsStayOnTheDisk() {
        OnnxModel model = single("Gemm", {{1000, 1000}}, {}, {1, 1000});
        model.graph().mutable_initializer(0)->set_raw_data(std::string(4'000'000, '\0'));
        const Path file = write("large.onnx", model.bytes());
        QVERIFY(read_onnx_model(file).SerializeAsString().size() < 1000);
        QCOMPARE(read_whole_onnx_model(file).graph().initializer(0).raw_data().size(), 4'000'000u);
        QCOMPARE(op_of(read_network(file).graph, "y").parameter_bytes, 4'000'000);
    }
};

QTEST_GUILESS_MAIN(TestOnnxParameters)
#include "tst_onnx_parameters.moc"
