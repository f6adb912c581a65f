// SPDX-License-Identifier: MIT
// Chains of ONNX nodes that are one op of PyTorch, as its exporters and other programs write them.
#include <array>
#include <limits>

#include <QTest>

#include "core/graph/flops.hpp"
#include "core/graph/graph.hpp"
#include "core/io/networks/network_file.hpp"
#include "tests/support/onnx_fixture.hpp"
#include "tests/support/onnx_models.hpp"

using namespace placewright;
using test::Extents, test::op_of, test::OnnxModel;

namespace {

constexpr auto kBool = onnx::TensorProto::BOOL;

/// A file of PyTorch's exporter with tensors of batch x heads x tokens x size, whose values are named
/// numbers.
class Exported : public OnnxModel {
public:
    explicit Exported(std::int64_t opset = 14) : OnnxModel(opset) { proto.set_producer_name("pytorch"); }

    Exported& input(const std::string& name, const Extents& shape,
                    std::int32_t type = onnx::TensorProto::FLOAT) {
        OnnxModel::input(name, shape, type);
        return *this;
    }
    Exported& weight(const std::string& name, const Extents& shape) {
        OnnxModel::weight(name, shape);
        return *this;
    }
    /// Nodes are in the module `scope`, if that is not empty.
    Exported& node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<std::string>& outputs,
                   const std::vector<test::OnnxAttribute>& attributes = {}) {
        OnnxModel::node(
            op, inputs, outputs, attributes,
            scope.empty() ? "" : '/' + scope + '/' + op + '_' + std::to_string(graph().node_size()));
        return *this;
    }

    /// A constant of one number, or of a list of whole numbers.
    Exported& constant(const std::string& name, float number) {
        node("Constant", {}, {name}, {{"value_float", number}});
        return *this;
    }
    Exported& constant(const std::string& name, const Extents& numbers) {
        node("Constant", {}, {name}, {{"value_ints", numbers}});
        return *this;
    }

    /// What the symbolic function of operator set 14 writes up to the scores, from queries "q" and keys "k"
    /// that are transposed already as "kt".
    Exported& scaled_scores() {
        constant("-1", Extents{-1}).constant("end", Extents{std::numeric_limits<std::int64_t>::max()});
        constant("one", 1);
        node("Shape", {"q"}, {"q shape"}).node("Slice", {"q shape", "-1", "end"}, {"size"});
        node("Cast", {"size"}, {"real size"}, {{"to", std::int64_t{1}}});
        node("Sqrt", {"real size"}, {"root"}).node("Div", {"one", "root"}, {"scale"});
        node("Sqrt", {"scale"}, {"root of q"}).node("Mul", {"q", "root of q"}, {"scaled q"});
        node("Sqrt", {"scale"}, {"root of k"}).node("Mul", {"kt", "root of k"}, {"scaled k"});
        node("MatMul", {"scaled q", "scaled k"}, {"scores"});
        return *this;
    }

    std::string scope;
    Exported& causal_mask() {
        constant("-2", Extents{-2}).constant("zero", 0).constant("never", -1e30F);
        node("Shape", {"k"}, {"k shape"});
        node("Slice", {"q shape", "-2", "-1"}, {"queries"}).node("Slice", {"k shape", "-2", "-1"}, {"keys"});
        node("Concat", {"queries", "keys"}, {"extents"}, {{"axis", std::int64_t{0}}});
        node("Expand", {"one", "extents"}, {"ones"})
            .node("Trilu", {"ones"}, {"lower"}, {{"upper", std::int64_t{0}}});
        node("Equal", {"lower", "zero"}, {"later"}).node("Where", {"later", "never", "zero"}, {"mask"});
        return *this;
    }
};

/// Queries, keys and values through attention and a sum. `mask`: none, causal, numbers, booleans.
Exported attention(const std::string& mask) {
    Exported model;
    model.input("q", {2, 4, 6, 8}).input("k", {2, 4, 5, 8}).input("v", {2, 4, 5, 3});
    model.node("Transpose", {"k"}, {"kt"}, {{"perm", Extents{0, 1, 3, 2}}}).scaled_scores();
    std::string scores = "scores";
    if (mask != "none") {
        if (mask == "causal") model.causal_mask();
        if (mask == "numbers") model.input("mask", {2, 1, 6, 5});
        if (mask == "booleans") {
            model.input("seen", {2, 1, 6, 5}, kBool).constant("zero", 0).constant("never", -1e30F);
            model.node("Where", {"seen", "zero", "never"}, {"mask"});
        }
        model.node("Add", {"scores", "mask"}, {"masked"});
        scores = "masked";
    }
    model.node("Softmax", {scores}, {"shares"}, {{"axis", std::int64_t{-1}}});
    model.constant("ratio", 0.1F).node("Dropout", {"shares", "ratio"}, {"kept"});
    model.node("MatMul", {"kept", "v"}, {"mixed"}).node("Relu", {"mixed"}, {"y"}).output("y");
    return model;
}

/// The modules that a node is in, as torch.onnx.export(dynamo=True) says them.
void set_classes(onnx::NodeProto& node, const std::string& classes) {
    onnx::StringStringEntryProto entry;
    entry.set_key("pkg.torch.onnx.class_hierarchy");
    entry.set_value(classes);
    constexpr int kMetadata = 9;  // NodeProto.metadata_props
    onnx::NodeProto::GetReflection()->MutableUnknownFields(&node)->AddLengthDelimited(
        kMetadata, entry.SerializeAsString());
}

QStringList kinds_of(const Graph& graph) {
    QStringList kinds;
    for (const Op& op : graph.ops()) kinds << QString::fromStdString(op.kind);
    return kinds;
}

}  // namespace

class TestKnownChains : public test::OnnxFixture {
    Q_OBJECT

private Q_SLOTS:
    void attentionIsOneOp_data() {
        QTest::addColumn<QString>("mask");
        QTest::addColumn<int>("inputs");
        QTest::newRow("without a mask") << "none" << 3;
        QTest::newRow("causal") << "causal" << 3;  // the mask follows from the extents
        QTest::newRow("mask of numbers") << "numbers" << 4;
        QTest::newRow("mask of booleans") << "booleans" << 4;
    }
    void attentionIsOneOp() {
        QFETCH(QString, mask);
        QFETCH(int, inputs);
        const Graph graph = read(attention(mask.toStdString())).graph;
        const Op& op = op_of(graph, "mixed");
        QCOMPARE(op.kind, std::string("scaled_dot_product_attention"));
        QCOMPARE(graph.size(), std::size_t(inputs) + 2);
        QCOMPARE(op.inputs.size(), std::size_t(inputs));
        for (std::size_t i = 0; i < op.inputs.size(); ++i) {
            const std::string name = graph.op(op.inputs[i].op).name;
            QVERIFY(name == (std::array{"q", "k", "v", mask == "booleans" ? "seen" : "mask"}[i]));
        }
        // As much as the op of operator set 23.
        OnnxModel fused(23);
        fused.input("q", {2, 4, 6, 8}).input("k", {2, 4, 5, 8}).input("v", {2, 4, 5, 3});
        fused.node("Attention", {"q", "k", "v"}, {"mixed"}).node("Relu", {"mixed"}, {"y"}).output("y");
        const Graph one = read(fused).graph;
        const Op& expected = op_of(one, "mixed");
        QCOMPARE(op.flops, expected.flops);
        QCOMPARE(op.flops, 2.0 * 4 * 6 * 5 * (2 * 8 + 2 * 3 + 5));
        QCOMPARE(op.kind, expected.kind);
        QCOMPARE(*op.outputs[0].shape, *expected.outputs[0].shape);
    }

    void attentionThatIsReadOnItsWayStays() {
        for (const char* value : {"scaled q", "scaled k", "scores", "masked", "shares", "kept"}) {
            Exported model = attention("causal");
            model.output(value);
            QVERIFY(!kinds_of(read(model).graph).contains("scaled_dot_product_attention"));
        }
    }

    // Heads are split and keys transposed by one node.
    void keysMayBeTransposedWithTheHeads() {
        Exported model;
        model.input("q", {2, 4, 6, 8}).input("keys", {2, 5, 4, 8}).input("v", {2, 4, 5, 8});
        model.node("Transpose", {"keys"}, {"kt"}, {{"perm", Extents{0, 2, 3, 1}}}).scaled_scores();
        model.node("Softmax", {"scores"}, {"shares"}, {{"axis", std::int64_t{-1}}});
        model.node("MatMul", {"shares", "v"}, {"y"}).output("y");
        const Graph graph = read(model).graph;
        QCOMPARE(kinds_of(graph),
                 (QStringList{"input", "input", "input", "permute", "scaled_dot_product_attention"}));
        const Op& turn = op_of(graph, "kt");
        QCOMPARE(turn.attributes.at("dims"), std::string("[0,2,1,3]"));
        QCOMPARE(*turn.outputs[0].shape, (Shape{2, 4, 5, 8}));
        QCOMPARE(op_of(graph, "y").flops, 2.0 * 4 * 6 * 5 * (2 * 8 + 2 * 8 + 5));
    }

    // The exporter of PyTorch 2.6 and later sees the keys as one stack of matrices, and sets rows in which
    // all is hidden to zero.
    void keysMayBeAStackOfMatrices() {
        Exported model(18);
        model.input("q", {2, 4, 6, 8})
            .input("k", {2, 4, 5, 8})
            .input("v", {2, 4, 5, 8})
            .input("mask", {2, 1, 6, 5});
        model.constant("stack", Extents{-1, 5, 8}).constant("heads", Extents{2, 4, 8, 5}).constant("zero", 0);
        model.node("Reshape", {"k", "stack"}, {"matrices"});
        model.node("Transpose", {"matrices"}, {"turned"}, {{"perm", Extents{0, 2, 1}}});
        model.node("Reshape", {"turned", "heads"}, {"kt"}).scaled_scores();
        model.node("Add", {"scores", "mask"}, {"masked"});
        model.node("Softmax", {"masked"}, {"shares"}, {{"axis", std::int64_t{-1}}});
        model.node("IsNaN", {"shares"}, {"hidden"}).node("Where", {"hidden", "zero", "shares"}, {"safe"});
        model.node("MatMul", {"safe", "v"}, {"y"}).output("y");
        const Graph graph = read(model).graph;
        QCOMPARE(kinds_of(graph),
                 (QStringList{"input", "input", "input", "input", "scaled_dot_product_attention"}));
    }

    // torch.nn.MultiheadAttention of PyTorch 2, which calls scaled_dot_product_attention: 3 tokens, a batch
    // of 2, 4 heads of 2.
    void attentionWithinAModuleIsPartOfIt() {
        Exported model;
        model.input("x", {3, 2, 8}).weight("attn.in_proj_weight", {24, 8}).weight("attn.in_proj_bias", {24});
        model.weight("attn.out_proj.weight", {8, 8}).weight("attn.out_proj.bias", {8});
        model.scope = "attn";
        const auto turn = [&](const char* from, const char* to, Extents order) {
            model.node("Transpose", {from}, {to}, {{"perm", std::move(order)}});
        };
        const auto view = [&](const std::string& from, const std::string& to, const Extents& extents) {
            model.constant(to + " extents", extents).node("Reshape", {from, to + " extents"}, {to});
        };
        turn("attn.in_proj_weight", "w", {1, 0});
        model.node("MatMul", {"x", "w"}, {"product"}).node("Add", {"attn.in_proj_bias", "product"}, {"qkv"});
        view("qkv", "parts", {3, 2, 3, 8});
        view("parts", "row", {1, 3, 2, 3, 8});
        turn("row", "turned", {3, 1, 2, 0, 4});
        view("turned", "stack", {3, 3, 2, 8});
        for (const auto& [name, place] : {std::pair("q", 0), std::pair("k", 1), std::pair("v", 2)}) {
            const std::string part(name);
            model.numbers(part + " place", {});
            *model.graph().mutable_initializer()->rbegin() =
                test::onnx_tensor(part + " place", {}, onnx::TensorProto::INT64);
            model.graph().mutable_initializer()->rbegin()->add_int64_data(place);
            model.node("Gather", {"stack", part + " place"}, {part + " part"}, {{"axis", std::int64_t{0}}});
            view(part + " part", part + " heads", {3, 8, 2});
            turn((part + " heads").c_str(), (part + " turned").c_str(), {1, 0, 2});
            view(part + " turned", part, {2, 4, 3, 2});
        }
        turn("k", "kt", {0, 1, 3, 2});
        model.scaled_scores().node("Softmax", {"scores"}, {"shares"}, {{"axis", std::int64_t{-1}}});
        model.node("MatMul", {"shares", "v"}, {"mixed"});
        turn("mixed", "tokens", {2, 0, 1, 3});
        view("tokens", "rows", {6, 8});
        model.node("Gemm", {"rows", "attn.out_proj.weight", "attn.out_proj.bias"}, {"out"},
                   {{"transB", std::int64_t{1}}});
        view("out", "y", {3, 2, 8});
        model.scope.clear();
        const Graph graph = read(model.node("Relu", {"y"}, {"z"}).output("z")).graph;
        QCOMPARE(kinds_of(graph), (QStringList{"input", "multi_head_attention_forward", "relu"}));
        const Op& op = graph.op(1);
        QCOMPARE(op.attributes.at("heads"), std::string("4"));
        QCOMPARE(op.attributes.at("fused"), std::string("1"));
        QCOMPARE(op.inputs, (std::vector<TensorRef>(3, TensorRef{0, 0})));
        // Nodes that were joined before are among those that it stands for: the product of the projection,
        // too.
        const QString merged = QString::fromStdString(op.attributes.at("merged"));
        for (const auto& node : model.graph().node()) {
            const QString name = QString::fromStdString(node.name());
            if (node.op_type() == "MatMul" || node.op_type() == "Add" || node.op_type() == "Softmax")
                QVERIFY2(merged.contains('"' + name + '"'), qPrintable(name + " is not in " + merged));
        }
        QCOMPARE(op.parameter_bytes, 4 * (24 * 8 + 24 + 8 * 8 + 8));
        QCOMPARE(op.flops, 2.0 * 6 * 8 * 24 + 8.0 * 3 * 3 * (2 * 2 + 2 * 2 + 5) + 2.0 * 6 * 8 * 8);
    }

    void tanhGeluIsOneOp_data() {
        QTest::addColumn<bool>("power");
        QTest::addColumn<bool>("halfFirst");
        QTest::addColumn<bool>("ofPyTorch");
        QTest::addColumn<bool>("merged");
        // torch.nn.functional.gelu, by the exporters of TorchScript and of torch.export.
        QTest::newRow("cube as products") << false << false << true << true;
        QTest::newRow("cube as a power") << true << false << true << true;
        // A model of PyTorch that spells it out, as Transformers' gelu_new does, runs op by op.
        QTest::newRow("in the model itself") << true << true << true << false;
        QTest::newRow("of another program") << true << true << false << true;
    }
    // torch.onnx.export(dynamo=True) stores the numbers of the program beside the weights.
    void numbersMayBeStoredTensors() {
        Exported model(18);
        model.input("x", {2, 5, 8});
        for (const char* name : {"val_0", "val_1", "val_2"}) {
            model.weight(name, {});
            model.graph().mutable_initializer()->rbegin()->add_float_data(1);
        }
        model.node("Div", {"x", "val_0"}, {"scaled"}).node("Erf", {"scaled"}, {"erf"});
        model.node("Add", {"erf", "val_1"}, {"more"}).node("Mul", {"x", "more"}, {"twice"});
        const Graph graph = read(model.node("Mul", {"val_2", "twice"}, {"y"}).output("y")).graph;
        QCOMPARE(kinds_of(graph), (QStringList{"input", "gelu"}));
        QCOMPARE(totals(graph).parameter_bytes, std::int64_t(0));
    }

    void tanhGeluIsOneOp() {
        QFETCH(bool, power);
        QFETCH(bool, halfFirst);
        QFETCH(bool, ofPyTorch);
        QFETCH(bool, merged);
        Exported model;
        if (!ofPyTorch) model.proto.set_producer_name("tf2onnx");
        model.input("x", {2, 5, 8}).constant("three", 3).constant("k", 0.044715F).constant("b", 0.79788F);
        model.constant("one", 1).constant("half", 0.5F);
        if (power) {
            model.node("Pow", {"x", "three"}, {"cube"});
        } else {
            model.node("Mul", {"x", "x"}, {"square"}).node("Mul", {"x", "square"}, {"cube"});
        }
        model.node("Mul", {"k", "cube"}, {"weighted"}).node("Add", {"x", "weighted"}, {"sum"});
        model.node("Mul", {"b", "sum"}, {"scaled"}).node("Tanh", {"scaled"}, {"tanh"});
        model.node("Add", {"tanh", "one"}, {"more"});
        if (halfFirst) {
            model.node("Mul", {"half", "x"}, {"less"}).node("Mul", {"less", "more"}, {"y"});
        } else {
            model.node("Mul", {"x", "more"}, {"twice"}).node("Mul", {"half", "twice"}, {"y"});
        }
        const Graph graph = read(model.output("y")).graph;
        QCOMPARE(graph.size() == 2, merged);
        if (merged) QCOMPARE(op_of(graph, "y").kind, std::string("gelu"));
        if (merged) QCOMPARE(op_of(graph, "y").flops, 8.0 * 2 * 5 * 8);
    }

    void rmsNormOfOtherProgramsIsOneOp_data() {
        QTest::addColumn<QString>("root");
        for (const char* root : {"Div", "Reciprocal", "one by root"}) QTest::newRow(root) << root;
    }
    void rmsNormOfOtherProgramsIsOneOp() {
        QFETCH(QString, root);
        for (const auto& [ofPyTorch, classes] :
             {std::pair(false, ""), std::pair(true, ""),
              std::pair(true, "['Net', 'llama.RMSNorm', 'aten.mean.dim']"),
              std::pair(true, "['Net', 'torch.nn.modules.normalization.RMSNorm', 'aten.mean.dim']")}) {
            Exported model;
            if (!ofPyTorch) model.proto.set_producer_name("tf2onnx");
            model.input("x", {2, 5, 8}).weight("norm.weight", {8}).constant("two", 2).constant("eps", 1e-6F);
            model.constant("one", 1).node("Pow", {"x", "two"}, {"square"});
            model.node("ReduceMean", {"square"}, {"mean"}, {{"axes", Extents{-1}}});
            model.node("Add", {"mean", "eps"}, {"above"}).node("Sqrt", {"above"}, {"root"});
            if (root == "Div") {
                model.node("Div", {"x", "root"}, {"normal"});
            } else {
                root == "Reciprocal" ? model.node("Reciprocal", {"root"}, {"inverse"})
                                     : model.node("Div", {"one", "root"}, {"inverse"});
                model.node("Mul", {"x", "inverse"}, {"normal"});
            }
            model.node("Mul", {"norm.weight", "normal"}, {"y"}).output("y");
            for (auto& node : *model.graph().mutable_node()) set_classes(node, classes);
            const Graph graph = read(model).graph;
            // PyTorch runs the norm that a model spells out op by op, and its own at once.
            if (ofPyTorch && !QString(classes).contains("torch.nn")) {
                QVERIFY(graph.size() > 5);
                continue;
            }
            QCOMPARE(kinds_of(graph), (QStringList{"input", "rms_norm"}));
            QCOMPARE(op_of(graph, "y").flops, 4.0 * 2 * 5 * 8);
            QCOMPARE(op_of(graph, "y").attributes.at("normalized_shape"), std::string("[8]"));
            QCOMPARE(op_of(graph, "y").attributes.at("parameters"), std::string(R"(["norm.weight"])"));
        }
    }

    void functionsThatAreNodesStayWhole_data() {
        QTest::addColumn<QString>("type");
        QTest::addColumn<QString>("kind");
        QTest::newRow("LayerNormalization") << "LayerNormalization"
                                            << "layer_norm";
        QTest::newRow("RMSNormalization") << "RMSNormalization"
                                          << "rms_norm";
        QTest::newRow("SimplifiedLayerNormalization") << "SimplifiedLayerNormalization"
                                                      << "rms_norm";
        QTest::newRow("Gelu") << "Gelu"
                              << "gelu";
    }
    void functionsThatAreNodesStayWhole() {
        QFETCH(QString, type);
        QFETCH(QString, kind);
        OnnxModel model(23);
        model.input("x", {2, 5, 8}).weight("w", {8});
        if (type == "Gelu") {
            model.node("Gelu", {"x"}, {"y"}, {{"approximate", std::string("tanh")}});
        } else {
            model.node(type.toStdString(), {"x", "w"}, {"y"}, {{"axis", std::int64_t{-1}}});
        }
        const Graph graph = read(model.output("y")).graph;
        QCOMPARE(kinds_of(graph), (QStringList{"input", kind}));
        QCOMPARE(op_of(graph, "y").flops, (type == "Gelu" ? 8.0 : 4.0) * 2 * 5 * 8);
        QCOMPARE(*op_of(graph, "y").outputs[0].shape, (Shape{2, 5, 8}));
    }
};

QTEST_GUILESS_MAIN(TestKnownChains)
#include "tst_known_chains.moc"
