// SPDX-License-Identifier: MIT
// ONNX models: conversion of ops, totals of networks that PyTorch exports, and files that are not models.
#include <cmath>

#include <QTest>

#include "core/base/path.hpp"
#include "core/graph/kinds.hpp"
#include "core/io/file_content.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/onnx_fixture.hpp"
#include "tests/support/onnx_models.hpp"

using namespace placewright;
using test::body, test::Extents, test::onnx_node, test::OnnxAttribute, test::OnnxModel, test::op_of,
    test::single;

namespace {

constexpr auto kInt64 = onnx::TensorProto::INT64;

/// FLOPs of products (convolutions, matrix products), which published counts of multiply-adds include.
double product_flops(const Graph& graph) {
    double flops = 0;
    for (const Op& op : graph.ops()) flops += kind_info(op.kind).product ? op.flops : 0;
    return flops;
}

}  // namespace

class TestOnnx : public test::OnnxFixture {
    Q_OBJECT

private Q_SLOTS:
    void kinds_data() {
        QTest::addColumn<std::string>("bytes");
        QTest::addColumn<QString>("kind");
        QTest::addColumn<double>("flops");
        QTest::addColumn<qint64>("outputBytes");
        const auto row = [](const char* name, const OnnxModel& model, const char* kind, double flops,
                            std::int64_t output_bytes) {
            QTest::newRow(name) << model.bytes() << QString(kind) << flops << qint64{output_bytes};
        };
        const OnnxAttribute kernel{"kernel_shape", Extents{3, 3}};
        const double image = 8 * 6 * 6;
        row("Conv", single("Conv", {{16, 4, 3, 3}, {16}}, {kernel, {"group", 2}}), "conv2d",
            2.0 * 16 * 16 * 36, 4 * 16 * 16);
        row("Conv 1d", single("Conv", {{16, 8, 3}}, {}, {1, 8, 6}), "conv1d", 2.0 * 64 * 24, 4 * 64);
        row("ConvTranspose", single("ConvTranspose", {{8, 5, 2, 2}}, {{"strides", Extents{2, 2}}}),
            "conv_transpose2d", 2.0 * image * 20, 4 * 5 * 144);
        row("MaxPool", single("MaxPool", {}, {kernel}), "max_pool2d", 8 * 16 * 9, 4 * 8 * 16);
        row("AveragePool", single("AveragePool", {}, {kernel}), "avg_pool2d", 8 * 16 * 9, 4 * 8 * 16);
        row("GlobalAveragePool", single("GlobalAveragePool", {}), "adaptive_avg_pool2d", image, 4 * 8);
        row("BatchNormalization", single("BatchNormalization", {{8}, {8}, {8}, {8}}), "batch_norm", 4 * image,
            4 * 288);
        row("Gemm as linear", single("Gemm", {{5, 7}, {5}}, {{"transB", 1}}, {3, 7}), "linear",
            2.0 * 3 * 5 * 7, 4 * 15);
        row("Gemm as addmm", single("Gemm", {{7, 5}, {5}}, {}, {3, 7}), "addmm", 2.0 * 3 * 5 * 7, 4 * 15);
        row("Gemm as mm", single("Gemm", {{7, 5}}, {{"transA", 1}}, {7, 3}), "mm", 2.0 * 3 * 5 * 7, 4 * 15);
        row("MatMul", single("MatMul", {{6, 5}}), "linear", 2.0 * 8 * 6 * 5 * 6, 4 * 8 * 6 * 5);
        row("Einsum", single("Einsum", {{6, 5}}, {{"equation", std::string("bij,jk->bik")}}, {2, 4, 6}),
            "einsum", 2.0 * 2 * 4 * 6 * 5, 4 * 40);
        row("Einsum with dots",
            single("Einsum", {{6, 5}}, {{"equation", std::string("...ij,jk->...ik")}}, {3, 2, 4, 6}),
            "einsum", 2.0 * 3 * 2 * 4 * 6 * 5, 4 * 120);
        row("Einsum without an arrow",
            single("Einsum", {{6, 5}}, {{"equation", std::string("ij,jk")}}, {4, 6}), "einsum",
            2.0 * 4 * 6 * 5, 4 * 20);
        row("LSTM", single("LSTM", {{1, 16, 3}, {1, 16, 4}, {1, 32}}, {{"hidden_size", 4}}, {7, 2, 3}),
            "lstm", 14.0 * 4 * (8 * 3 + 8 * 4 + 13), 4 * 56);
        row("GRU",
            single("GRU", {{2, 12, 3}, {2, 12, 4}},
                   {{"hidden_size", 4}, {"direction", std::string("bidirectional")}}, {7, 2, 3}),
            "gru", 2 * 14.0 * 4 * (6 * 3 + 6 * 4 + 12), 4 * 112);
        row("RNN", single("RNN", {{1, 4, 3}, {1, 4, 4}}, {{"hidden_size", 4}}, {7, 2, 3}), "rnn",
            14.0 * 4 * (2 * 3 + 2 * 4 + 3), 4 * 56);
        row("LRN", single("LRN", {}, {{"size", 5}}), "local_response_norm", 10 * image, 4 * 288);
        row("LayerNormalization", single("LayerNormalization", {{6}, {6}}, {}, {2, 5, 6}, 17), "layer_norm",
            4.0 * 60, 4 * 60);
        row("Softmax", single("Softmax", {}), "softmax", 5 * image, 4 * 288);
        row("Relu", single("Relu", {}), "relu", image, 4 * 288);
        row("Erf", single("Erf", {}), "erf", image, 4 * 288);
        row("Sum", single("Sum", {{8, 6, 6}, {1}}), "add", 2 * image, 4 * 288);
        row("ReduceMean", single("ReduceMean", {}, {{"axes", Extents{-1}}}), "mean", image, 4 * 48);
        row("Trilu", single("Trilu", {}, {{"upper", 0}}, {6, 6}, 14), "tril", 0, 4 * 36);
        row("Trilu, the upper part", single("Trilu", {}, {}, {6, 6}, 14), "triu", 0, 4 * 36);
        row("Mean", single("Mean", {{8, 6, 6}, {1}}), "add", 3 * image, 4 * 288);
        row("ReduceLogSum", single("ReduceLogSum", {}, {{"axes", Extents{-1}}}), "logsumexp", image + 48,
            4 * 48);
        row("Hardmax", single("Hardmax", {}), "argmax", image, 4 * 288);
        row("Slice with bounds from the end",
            single("Slice", {}, {{"starts", Extents{-4}}, {"ends", Extents{-1}}, {"axes", Extents{1}}},
                   {1, 8, 6, 6}, 9),
            "slice", 0, 4 * 108);
        row("Slice of nothing",
            single("Slice", {}, {{"starts", Extents{5}}, {"ends", Extents{2}}}, {7, 6}, 9), "slice", 0, 0);
        // Two heads of size 4 for 5 queries over 7 keys, with values of size 6; one key head for both.
        const double heads = 3.0 * 2 * 5 * 7 * (2 * 4 + 2 * 6 + 5);
        row("Attention", single("Attention", {{3, 2, 7, 4}, {3, 2, 7, 6}}, {}, {3, 2, 5, 4}, 23),
            "scaled_dot_product_attention", heads, 4 * 3 * 2 * 5 * 6);
        row("Attention with heads side by side",
            single("Attention", {{3, 7, 4}, {3, 7, 6}}, {{"q_num_heads", 2}, {"kv_num_heads", 1}}, {3, 5, 8},
                   23),
            "scaled_dot_product_attention", heads, 4 * 3 * 5 * 12);
        OnnxModel heads_of_runtime =
            single("MultiHeadAttention", {{3, 7, 8}, {3, 7, 12}}, {{"num_heads", 2}}, {3, 5, 8});
        heads_of_runtime.graph().mutable_node(0)->set_domain("com.microsoft");
        row("MultiHeadAttention", heads_of_runtime, "scaled_dot_product_attention", heads, 4 * 3 * 5 * 12);
        // Keys and values in one tensor, then all three; groups of queries that share a key.
        const auto of_runtime = [](OnnxModel model) {
            model.graph().mutable_node(0)->set_domain("com.microsoft");
            return model;
        };
        const double scores = 3 * 2 * 5 * 7;
        row("MultiHeadAttention, packed keys",
            of_runtime(single("MultiHeadAttention", {{3, 7, 2, 2, 4}}, {{"num_heads", 2}}, {3, 5, 8})),
            "scaled_dot_product_attention", scores * 21, 4 * 3 * 5 * 8);
        row("MultiHeadAttention, packed",
            of_runtime(single("MultiHeadAttention", {}, {{"num_heads", 2}}, {3, 7, 2, 3, 4})),
            "scaled_dot_product_attention", 3 * 2 * 7 * 7 * 21, 4 * 3 * 7 * 8);
        row("GroupQueryAttention",
            of_runtime(single("GroupQueryAttention", {{3, 5, 8}, {3, 5, 8}, {3, 2, 2, 4}, {3, 2, 2, 4}},
                              {{"num_heads", 4}, {"kv_num_heads", 2}}, {3, 5, 16})),
            "scaled_dot_product_attention", 3 * 4 * 5 * 7 * 21, 4 * 3 * 5 * 16);
        row("GroupQueryAttention, packed",
            of_runtime(
                single("GroupQueryAttention", {}, {{"num_heads", 4}, {"kv_num_heads", 2}}, {3, 5, 32})),
            "scaled_dot_product_attention", 3 * 4 * 5 * 5 * 21, 4 * 3 * 5 * 16);
        row("FusedMatMul", of_runtime(single("FusedMatMul", {{9, 7}}, {{"transB", 1}}, {2, 5, 7})), "linear",
            2.0 * 2 * 5 * 9 * 7, 4 * 2 * 5 * 9);
        row("FusedMatMul, turned",
            of_runtime(single("FusedMatMul", {{2, 9, 7}}, {{"transA", 1}, {"transB", 1}}, {2, 7, 5})),
            "com.microsoft.FusedMatMul", 2.0 * 2 * 5 * 9 * 7, 4 * 2 * 5 * 9);
        // Inputs that are left out have no type, whatever an earlier node has left out.
        OnnxModel left_out =
            of_runtime(single("SkipSimplifiedLayerNormalization", {{3, 5, 32}, {32}}, {}, {3, 5, 32}));
        onnx::NodeProto& norm = *left_out.graph().mutable_node(0);
        norm.clear_output();
        for (const char* output : {"n", "", "", "sum"}) norm.add_output(output);
        left_out.node("GroupQueryAttention", {"n", "", "", "", ""}, {"y"},
                      {{"num_heads", 4}, {"kv_num_heads", 2}});
        left_out.graph().mutable_node(1)->set_domain("com.microsoft");
        row("GroupQueryAttention after a norm", left_out, "scaled_dot_product_attention", 3 * 4 * 5 * 5 * 21,
            4 * 3 * 5 * 16);
        row("Transpose", single("Transpose", {}), "permute", 0, 4 * 288);
        row("Cast", single("Cast", {}, {{"to", kInt64}}), "to", 0, 8 * 288);
        row("Gelu, which is younger than the library", single("Gelu", {}, {}, {2, 3}, 20), "gelu", 8.0 * 6,
            4 * 6);
        OnnxModel mean = single("ReduceMean", {}, {}, {2, 3, 4}, 18);
        mean.numbers("axes", {1});
        mean.graph().mutable_node(0)->add_input("axes");
        row("ReduceMean of operator set 18", mean, "mean", 24, 4 * 8);
        OnnxModel resize = single("Resize", {}, {{"mode", std::string("linear")}}, {1, 2, 4, 4});
        resize.numbers("sizes", {1, 2, 8, 8});
        for (const char* input : {"", "", "sizes"}) resize.graph().mutable_node(0)->add_input(input);
        row("Resize", resize, "interpolate", 2.0 * 4 * 128, 4 * 128);
        resize.graph().mutable_node(0)->mutable_attribute(0)->set_s("nearest");
        row("Resize to the nearest", resize, "interpolate", 0, 4 * 128);
        row("GridSample", single("GridSample", {{1, 5, 7, 2}}, {}, {1, 8, 6, 6}, 16), "grid_sample",
            2.0 * 4 * 8 * 35, 4 * 8 * 35);
        row("GridSample of the nearest",
            single("GridSample", {{1, 5, 7, 2}}, {{"mode", std::string("nearest")}}, {1, 8, 6, 6}, 16),
            "grid_sample", 0, 4 * 8 * 35);
        OnnxModel quantized;
        quantized.input("x", {1, 8, 6, 6}, onnx::TensorProto::UINT8);
        for (const char* scale : {"xs", "ws", "ys"}) quantized.weight(scale, {});
        for (const char* zero : {"xz", "yz"}) quantized.weight(zero, {}, onnx::TensorProto::UINT8);
        quantized.weight("wz", {}, onnx::TensorProto::INT8)
            .weight("w", {16, 8, 3, 3}, onnx::TensorProto::INT8);
        quantized.node("QLinearConv", {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz"}, {"y"}).output("y");
        row("QLinearConv", quantized, "conv2d", 2.0 * 16 * 16 * 72, 256);
        // What operator sets after 17 added, which the ONNX library may not know.
        row("AveragePool with dilations",
            single("AveragePool", {}, {kernel, {"dilations", Extents{2, 2}}}, {1, 8, 6, 6}, 19), "avg_pool2d",
            8 * 4 * 9, 4 * 8 * 4);
        row("ReduceMean over no axes", single("ReduceMean", {}, {{"noop_with_empty_axes", 1}}, {2, 3}, 18),
            "mean", 6, 4 * 6);
        const auto of_numbers = [&](const char* op, const Extents& input, std::int64_t opset,
                                    const std::vector<std::pair<std::string, Extents>>& numbers,
                                    const std::vector<OnnxAttribute>& attributes) {
            OnnxModel model(opset);
            model.input("x", input);
            std::vector<std::string> names{"x"};
            for (const auto& [name, values] : numbers) {
                names.push_back(name);
                if (!name.empty()) model.numbers(name, values);
            }
            return model.node(op, names, {"y"}, attributes).output("y");
        };
        row("Resize by a policy",
            of_numbers("Resize", {1, 2, 4, 8}, 18, {{"", {}}, {"", {}}, {"sizes", {8, 8}}},
                       {{"axes", Extents{2, 3}}, {"keep_aspect_ratio_policy", std::string("not_smaller")}}),
            "interpolate", 0, 4 * 2 * 8 * 16);
        row("Pad of an axis",
            of_numbers("Pad", {2, 3, 4}, 18, {{"pads", {1, 2}}, {"", {}}, {"axes", {-1}}}, {}), "pad", 0,
            4 * 6 * 7);
        OnnxModel one_hot(13);
        one_hot.input("x", {2, 3}, kInt64).numbers("depth", {10}).weight("values", {2});
        row("OneHot", one_hot.node("OneHot", {"x", "depth", "values"}, {"y"}).output("y"), "one_hot", 0,
            4 * 60);
        OnnxModel half(19);
        half.input("x", {4, 8}, onnx::TensorProto::INT8).weight("s", {}, onnx::TensorProto::FLOAT16);
        row("DequantizeLinear to float16", half.node("DequantizeLinear", {"x", "s"}, {"y"}).output("y"),
            "dequantize", 2 * 32, 2 * 32);
        OnnxModel wide(21);
        wide.input("x", {4, 8}).weight("s", {});
        row("QuantizeLinear to int16",
            wide.node("QuantizeLinear", {"x", "s"}, {"y"}, {{"output_dtype", std::int64_t{5}}}).output("y"),
            "quantize_per_tensor", 3 * 32, 2 * 32);
        OnnxModel packed;
        packed.input("x", {2, 64}).weight("w", {32, 1, 32}, onnx::TensorProto::UINT8).weight("s", {32});
        packed.node("MatMulNBits", {"x", "w", "s"}, {"y"}, {{"K", 64}, {"N", 32}, {"bits", 4}}).output("y");
        packed.graph().mutable_node(0)->set_domain("com.microsoft");
        row("MatMulNBits", packed, "linear", 2.0 * 2 * 32 * 64, 4 * 64);
        row(
            "own word",
            [] {
                OnnxModel model = single("Mystery", {}, {}, {2, 3});
                model.graph().mutable_node(0)->set_domain("com.acme");
                *model.graph().mutable_output(0) = test::onnx_value("y", {2, 3});
                return model;
            }(),
            "com.acme.Mystery", 0, 4 * 6);
    }
    void kinds() {
        QFETCH(std::string, bytes);
        QFETCH(QString, kind);
        QFETCH(double, flops);
        QFETCH(qint64, outputBytes);
        const NetworkFile network = read_network(write("net.onnx", bytes));
        const Op& op = op_of(network.graph, "y");
        QCOMPARE(QString::fromStdString(op.kind), kind);
        QCOMPARE(op.flops, flops);
        QVERIFY(!op.outputs.empty());
        QCOMPARE(op.outputs[0].bytes, outputBytes);
        QCOMPARE(network.estimated.size(), kind.startsWith("com.acme") ? 1u : 0u);
        QVERIFY(op.outputs[0].shape.has_value());
    }

    void windowsAreAttributes() {
        const Graph graph = read(single("Conv", {{16, 4, 3, 3}},
                                        {{"kernel_shape", Extents{3, 3}},
                                         {"strides", Extents{2, 1}},
                                         {"pads", Extents{1, 0, 1, 0}},
                                         {"group", 2}}))
                                .graph;
        const auto& attributes = op_of(graph, "y").attributes;
        QCOMPARE(attributes.at("kernel"), std::string("[3,3]"));
        QCOMPARE(attributes.at("stride"), std::string("[2,1]"));
        QCOMPARE(attributes.at("padding"), std::string("[1,0]"));
        QCOMPARE(attributes.at("groups"), std::string("2"));
    }

    /// Under the names that files of PyTorch have, with numbers from inputs, attributes and defaults.
    void argumentsAreAttributes_data() {
        QTest::addColumn<std::string>("bytes");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* name, const OnnxModel& model, const char* expected) {
            QTest::newRow(name) << model.bytes() << QString(expected);
        };
        const auto sliced = [](const Extents& starts, const Extents& ends, const Extents& axes,
                               const Extents& steps) {
            OnnxModel model;
            model.input("x", {4, 6, 8});
            return model.numbers("starts", starts)
                .numbers("ends", ends)
                .numbers("axes", axes)
                .numbers("steps", steps)
                .node("Slice", {"x", "starts", "ends", "axes", "steps"}, {"y"})
                .output("y");
        };
        row("Transpose", single("Transpose", {}, {{"perm", Extents{0, 2, 3, 1}}}), "dims=[0,2,3,1]");
        row("Transpose to the reverse", single("Transpose", {}, {}, {2, 3}), "dims=[1,0]");
        row("Slice", sliced({1}, {5}, {1}, {1}), "dim=1 start=1");
        row("Slice from the end", sliced({-3}, {100}, {-1}, {2}), "dim=2 start=5 step=2");
        row("Slice of two dimensions", sliced({1, 0, 2}, {3, 6, 8}, {0, 1, 2}, {1, 1, 1}),
            "dim=[0,2] start=[1,2]");
        row("Slice backwards", sliced({5}, {-100}, {1}, {-1}), "");
        OnnxModel gather;
        gather.input("x", {4, 6, 8});
        onnx::TensorProto index;
        index.set_name("index");
        index.set_data_type(kInt64);
        index.add_int64_data(-2);
        *gather.graph().add_initializer() = index;
        row("Gather of one", gather.node("Gather", {"x", "index"}, {"y"}, {{"axis", 1}}).output("y"),
            "dim=1 index=-2");
        OnnxModel padded;
        padded.input("x", {2, 3, 5, 7});
        row("Pad",
            padded.numbers("pads", {0, 0, 1, 2, 0, 0, 3, 4})
                .node("Pad", {"x", "pads"}, {"y"}, {{"mode", std::string("reflect")}})
                .output("y"),
            "mode=\"reflect\" pad=[2,4,1,3,0,0,0,0]");
        row("Resize", single("Upsample", {}, {{"mode", std::string("linear")}}, {1, 2, 4, 4}),
            "mode=\"linear\"");
        row("ReduceMean", single("ReduceMean", {}, {{"axes", Extents{2, 3}}, {"keepdims", 0}}), "dim=[2,3]");
        row("Softmax", single("Softmax", {}, {}, {2, 3}), "dim=-1");
        const OnnxAttribute kernel{"kernel_shape", Extents{3, 2}};
        row("auto_pad", single("MaxPool", {}, {kernel, {"auto_pad", std::string("SAME_UPPER")}}),
            "kernel=[3,2] padding=[1,0,1,1]");
        row("auto_pad with strides",
            single("Conv", {{16, 8, 3, 2}},
                   {kernel, {"strides", Extents{2, 2}}, {"auto_pad", std::string("SAME_LOWER")}}),
            "kernel=[3,2] padding=[1,0,0,0]");
        row("window of the weight", single("Conv", {{16, 4, 3, 2}}, {{"group", 2}}), "groups=2 kernel=[3,2]");
        row("auto_pad of a transposed convolution",
            single("ConvTranspose", {{8, 5, 3, 3}},
                   {{"strides", Extents{2, 2}}, {"auto_pad", std::string("SAME_UPPER")}}),
            "kernel=[3,3] padding=[0,0,1,1]");
    }
    void argumentsAreAttributes() {
        QFETCH(std::string, bytes);
        QFETCH(QString, expected);
        const NetworkFile network = read_network(write("net.onnx", bytes));
        QStringList found;
        for (const auto& [key, value] : op_of(network.graph, "y").attributes) {
            static const QStringList others{"axes",       "keepdims", "parameter_bytes", "parameter_shapes",
                                            "parameters", "perm",     "stride"};
            const QString name = QString::fromStdString(key);
            if (!others.contains(name)) found << name + '=' + QString::fromStdString(value);
        }
        QCOMPARE(found.join(' '), expected);
    }

    void batchIsGivenWhereItIsOpen() {
        OnnxModel model = single("Relu", {}, {}, {-2, 3});
        *model.graph().mutable_output(0) = test::onnx_value("y", {-2, 3});
        const NetworkFile network = read(model, 6);
        QVERIFY(network.batch_is_open);
        QCOMPARE(network.graph.batch(), std::int64_t{6});
        QCOMPARE(op_of(network.graph, "y").outputs[0].bytes, 4 * 18);
        QCOMPARE(error([&] { read(model); }),
                 QString("net.onnx: input \"x\": leaves the batch size open; give one with --batch"));
        QVERIFY_THROWS_EXCEPTION(BatchNeeded, read(model));
        QVERIFY(!read(single("Relu", {}), 1).batch_is_open);
        QVERIFY(error([&] { read(single("Relu", {}), 4); }).contains("fixed at 1, not 4"));
    }

    void otherExtentsAreGivenByName() {
        const OnnxModel model = single("Relu", {}, {}, {-2, -3});
        QCOMPARE(op_of(read(model, 2, {{"sequence", 5}}).graph, "y").outputs[0].bytes, 4 * 10);
        // That of the batch may be given by its name, too.
        QCOMPARE(read(model, {}, {{"batch", 6}, {"sequence", 5}}).graph.batch(), std::int64_t{6});
        QCOMPARE(
            error([&] {
                read(model, 4, {{"batch", 6}, {"sequence", 5}});
            }),
            QString(
                "net.onnx: the batch size is given twice: 6 by --dim batch and 4 by --batch; leave one out"));
        // It is not that of an input of positions alone.
        OnnxModel positions;
        positions.input("p", {-3}).input("x", {-2, -3}).node("Add", {"x", "p"}, {"y"}).output("y");
        QCOMPARE(read(positions, 4, {{"sequence", 5}}).graph.batch(), std::int64_t{4});
        QCOMPARE(read(positions, {}, {{"sequence", 5}, {"batch", 4}}).graph.batch(), std::int64_t{4});
    }

    void shapesAreComputedBeforeTheRun() {
        // view(x.size(0), -1, x.size(2) / 2) as PyTorch exports it.
        OnnxModel model;
        model.input("x", {-2, 4, 6}).numbers("minus", {-1}).numbers("zero", {0});
        model.node("Shape", {"x"}, {"s0"}).node("Gather", {"s0", "zero"}, {"b"});
        model.node("Shape", {"x"}, {"s1"})
            .numbers("two", {2})
            .node("Gather", {"s1", "two"}, {"n"})
            .node("Div", {"n", "two"}, {"half"});
        model.node("Cast", {"half"}, {"h"}, {{"to", kInt64}});
        model.node("Concat", {"b", "minus", "h"}, {"shape"}, {{"axis", 0}});
        model.node("Reshape", {"x", "shape"}, {"y"}).output("y");
        const Graph graph = read(model, 5).graph;
        QCOMPARE(graph.size(), 2u);
        QCOMPARE(*op_of(graph, "y").outputs[0].shape, (Extents{5, 8, 3}));
        QCOMPARE(op_of(graph, "y").resident_bytes, 0);
    }

    void padsAreTurnedAround() {
        // pad(x, (0, 0, 0, -x.size(2) % 4, 0, 7 - x.size(1) % 7)) as PyTorch exports it: pairs from the last
        // extent to the first.
        OnnxModel model(14);
        model.input("x", {2, 10, 6})
            .numbers("seven", {7})
            .numbers("four", {4})
            .numbers("rows", {1})
            .numbers("columns", {2});
        model.node("Shape", {"x"}, {"s"})
            .node("Gather", {"s", "rows"}, {"r"})
            .node("Gather", {"s", "columns"}, {"c"});
        model.node("Mod", {"r", "seven"}, {"rest"}).node("Sub", {"seven", "rest"}, {"below"});
        model.node("Neg", {"c"}, {"minus_c"}).node("Mod", {"minus_c", "four"}, {"right"});
        model.numbers("zero", {0})
            .node("Concat", {"zero", "right", "zero", "below"}, {"given"}, {{"axis", 0}});
        model.numbers("two", {2}).numbers("rank", {3}).node("Mul", {"rank", "two"}, {"all"});
        model.node("Shape", {"given"}, {"length"}).node("Sub", {"all", "length"}, {"missing"});
        model.node("ConstantOfShape", {"missing"}, {"others"});
        model.node("Cast", {"others"}, {"none"}, {{"to", kInt64}})
            .node("Concat", {"given", "none"}, {"list"}, {{"axis", 0}});
        model.numbers("to_pairs", {-1, 2}).node("Reshape", {"list", "to_pairs"}, {"pairs"});
        model.numbers("last", {-1}).numbers("before_first", {std::numeric_limits<std::int64_t>::min() + 1});
        model.node("Slice", {"pairs", "last", "before_first", "zero", "last"}, {"reversed"});
        model.node("Transpose", {"reversed"}, {"turned"}, {{"perm", Extents{1, 0}}})
            .node("Reshape", {"turned", "last"}, {"flat"});
        model.node("Cast", {"flat"}, {"pads"}, {{"to", kInt64}})
            .node("Pad", {"x", "pads"}, {"y"})
            .output("y");
        const Graph graph = read(model).graph;
        QCOMPARE(graph.size(), 2u);
        QCOMPARE(*op_of(graph, "y").outputs[0].shape, (Extents{2, 14, 8}));
    }

    void matricesOfNumbersAreRearranged_data() {
        QTest::addColumn<std::string>("op");
        QTest::addColumn<std::vector<std::int64_t>>("numbers");
        QTest::addColumn<std::vector<std::int64_t>>("shape");
        // Applied to [[2, 3, 4], [5, 6, 7]]; x is expanded to the result.
        const auto row = [](const char* name, const char* op, const Extents& numbers, const Extents& shape) {
            QTest::newRow(name) << std::string(op) << numbers << shape;
        };
        row("all", "Reshape", {6}, {2, 3, 4, 5, 6, 7});
        row("an extent as it is", "Reshape", {0, -1}, {2, 3, 4, 5, 6, 7});
        row("the second row", "Slice", {1, 2, 0, 1}, {5, 6, 7});
        row("the last column", "Slice", {-1, 9, 1, 1}, {4, 7});
        row("columns backwards", "Slice", {2, -9, -1, -2}, {4, 2, 7, 5});
        row("transposed", "Transpose", {}, {2, 5, 3, 6, 4, 7});
    }
    void matricesOfNumbersAreRearranged() {
        QFETCH(std::string, op);
        QFETCH(std::vector<std::int64_t>, numbers);
        QFETCH(std::vector<std::int64_t>, shape);
        OnnxModel model(14);
        model.input("x", {1})
            .numbers("list", {2, 3, 4, 5, 6, 7})
            .numbers("extents", {2, 3})
            .numbers("all", {-1});
        model.node("Reshape", {"list", "extents"}, {"matrix"});
        std::vector<std::string> inputs{"matrix"};
        if (op == "Reshape") inputs.push_back("numbers");
        if (op == "Slice") {
            for (std::size_t i = 0; i < numbers.size(); ++i) {
                inputs.push_back("numbers" + std::to_string(i));
                model.numbers(inputs.back(), {numbers[i]});
            }
        }
        model.numbers("numbers", numbers)
            .node(op, inputs, {"other"})
            .node("Reshape", {"other", "all"}, {"shape"});
        model.node("Expand", {"x", "shape"}, {"y"}).output("y");
        QCOMPARE(*op_of(read(model).graph, "y").outputs[0].shape, shape);
    }

    void remaindersHaveTheSignOfTheDivisorOrOfTheDividend() {
        for (const auto& [fmod, extent] : {std::pair{0, std::int64_t{2}}, {1, std::int64_t{4}}}) {
            OnnxModel model(14);
            model.input("x", {1}).numbers("a", {-7}).numbers("b", {3}).node("Mod", {"a", "b"}, {"rest"},
                                                                            {{"fmod", fmod}});
            model.numbers("five", {fmod == 0 ? 0 : 5}).node("Add", {"rest", "five"}, {"shape"});
            model.node("Expand", {"x", "shape"}, {"y"}).output("y");
            QCOMPARE(*op_of(read(model).graph, "y").outputs[0].shape, Extents{extent});
        }
    }

    void functionsAreSingleOps() {
        OnnxModel model;
        model.input("x", {4, 6}).weight("w", {6, 5});
        onnx::FunctionProto& function = *model.proto.add_functions();
        function.set_name("Block");
        function.set_domain("local");
        function.add_opset_import()->set_version(13);
        for (const char* input : {"a", "b"}) function.add_input(input);
        function.add_output("c");
        *function.add_node() = onnx_node("MatMul", {"a", "b"}, {"m"});
        *function.add_node() = onnx_node("Relu", {"m"}, {"c"});
        model.proto.add_opset_import()->set_domain("local");
        model.proto.mutable_opset_import(1)->set_version(1);
        model.node("Block", {"x", "w"}, {"y"}).output("y");
        model.graph().mutable_node(0)->set_domain("local");
        const NetworkFile network = read(model);
        QCOMPARE(network.graph.size(), 2u);
        const Op& op = op_of(network.graph, "y");
        QCOMPARE(op.kind, std::string("local.Block"));
        QCOMPARE(op.flops, 2.0 * 4 * 6 * 5 + 20);
        QCOMPARE(op.parameter_bytes, 4 * 30);
        QCOMPARE(op.outputs[0].bytes, 4 * 20);
        QVERIFY(network.estimated.empty());

        // A function that calls itself, twice.
        *function.add_node() = onnx_node("Block", {"a", "b"}, {"d"});
        *function.add_node() = onnx_node("Block", {"a", "b"}, {"e"});
        for (int i : {2, 3}) function.mutable_node(i)->set_domain("local");
        QVERIFY(refusal(model.bytes()).contains("node \"y\" (Block): its body runs more than"));
    }

    // The library would make millions of extents of the output, one by one.
    void outputsOfManyExtents() {
        for (const char* op : {"Expand", "Reshape", "Tile"}) {
            OnnxModel model;
            model.input("x", {2, 3}).input("s", {10'000'000}, kInt64).node(op, {"x", "s"}, {"y"}).output("y");
            QCOMPARE(read(model).graph.size(), 3u);  // what is unknown stays so
        }
    }

    void bagsAreLoopsOverSlices() {
        // As PyTorch's exporter writes EmbeddingBag: the rows of a bag are known only at run time.
        OnnxModel model;
        model.input("words", {20}, kInt64)
            .weight("table", {100, 8})
            .numbers("begins", {0, 5, 10, 15})
            .numbers("zero", {0});
        onnx::TensorProto trips = test::onnx_tensor("trips", {}, kInt64);
        trips.add_int64_data(4);
        *model.graph().add_initializer() = trips;
        model.node(
            "Loop", {"trips", ""}, {"y"},
            {{"body",
              body({onnx_node("Identity", {"go"}, {"on"}), onnx_node("Gather", {"begins", "n"}, {"number"}),
                    onnx_node("Unsqueeze", {"number", "zero"}, {"begin"}),
                    onnx_node("Slice", {"words", "zero", "begin", "zero"}, {"bag"}),
                    onnx_node("Gather", {"table", "bag"}, {"rows"}),
                    onnx_node("ReduceSum", {"rows", "zero"}, {"sum"}, {{"keepdims", std::int64_t{0}}})},
                   {test::onnx_value("n", {}, kInt64), test::onnx_value("go", {}, onnx::TensorProto::BOOL)},
                   {"on", "sum"})}});
        model.output("y");
        const Op loop = op_of(read(model).graph, "y");
        QCOMPARE(loop.outputs[0].shape.value(), (Extents{4, 8}));
        QCOMPARE(loop.parameter_bytes, 4 * 800);
    }

    void branchesAndLoopsAreSingleOps() {
        OnnxModel model;
        model.input("x", {4, 6}).input("c", {}, onnx::TensorProto::BOOL).weight("w", {6, 6});
        model.node("If", {"c"}, {"i"},
                   {{"then_branch", body({onnx_node("MatMul", {"x", "w"}, {"t"})}, {}, {"t"})},
                    {"else_branch", body({onnx_node("Relu", {"x"}, {"e"})}, {}, {"e"})}});
        onnx::TensorProto trips = test::onnx_tensor("trips", {}, kInt64);
        trips.add_int64_data(10);
        *model.graph().add_initializer() = trips;
        model.node(
            "Loop", {"trips", "", "i"}, {"l", "stack"},
            {{"body",
              body({onnx_node("Identity", {"go"}, {"on"}), onnx_node("MatMul", {"v", "w"}, {"next"}),
                    onnx_node("Relu", {"next"}, {"item"})},
                   {test::onnx_value("n", {}, kInt64), test::onnx_value("go", {}, onnx::TensorProto::BOOL),
                    test::onnx_value("v", {4, 6})},
                   {"on", "next", "item"})}});
        model.node(
            "Scan", {"l", "stack"}, {"state", "all"},
            {{"num_scan_inputs", 1},
             {"body",
              body({onnx_node("Add", {"s", "slice"}, {"sum"}), onnx_node("Tanh", {"sum"}, {"out"})},
                   {test::onnx_value("s", {4, 6}), test::onnx_value("slice", {4, 6})}, {"sum", "out"})}});
        model.node("Add", {"state", "all"}, {"y"}).output("y");
        const NetworkFile network = read(model);
        const Graph& graph = network.graph;
        QCOMPARE(op_of(graph, "i").flops, 2.0 * 4 * 6 * 6);
        QCOMPARE(op_of(graph, "l").flops, 10 * (2.0 * 4 * 6 * 6 + 24));
        QCOMPARE(*op_of(graph, "l").outputs.at(1).shape, (Extents{10, 4, 6}));
        QCOMPARE(op_of(graph, "state").flops, 10 * 48.0);
        QCOMPARE(*op_of(graph, "state").outputs.at(1).shape, (Extents{10, 4, 6}));
        QVERIFY(network.estimated.empty());
        // Values that a body reads from outside are inputs: the condition and x; the tied parameter is an
        // op.
        QCOMPARE(graph.producers(*graph.find("i")).size(), 3u);
        QCOMPARE(graph.consumers(*graph.find("w")).size(), 2u);
    }

    void errors_data() {
        QTest::addColumn<std::string>("bytes");
        QTest::addColumn<QString>("message");
        const auto row = [](const char* name, const std::string& bytes, const char* message) {
            QTest::newRow(name) << bytes << QString(message);
        };
        const std::string good = single("Conv", {{16, 8, 3, 3}}).bytes();
        row("empty", "", "the file is empty");
        row("text", "hello, world", "is no ONNX model, or is cut off or damaged at byte");
        row("cut", good.substr(0, good.size() - 20), "is no ONNX model, or is cut off or damaged at byte");
        row("old", single("Relu", {}, {}, {1}, 6).bytes(),
            "opset_import: the operator set is 6, expected 7 or later; onnx.version_converter");
        row("no batch", single("Relu", {}, {}, {1, -3}).bytes(),
            "input \"x\": leaves extent 1 (\"sequence\") open");
        row("negative", single("Gemm", {{-7, 5}}, {}, {3, 7}).bytes(),
            "initializer \"w0\": its size is unknown, or too large");
        row("huge", single("Gemm", {{std::int64_t{1} << 40, std::int64_t{1} << 40}}, {}, {3, 7}).bytes(),
            "initializer \"w0\": its size is unknown, or too large");
        row("no shape",
            OnnxModel()
                .input("x", {4})
                .node("NonZero", {"x"}, {"n"})
                .node("Relu", {"n"}, {"y"})
                .output("y")
                .bytes(),
            "node \"n\" (NonZero): the shape of its output \"n\" is unknown: it depends on numbers that are "
            "known only when the model "
            "runs; "
            "from PyTorch, export such a model with placewright.export");
        row("unknown op",
            OnnxModel()
                .input("x", {4})
                .node("Mystery", {"x"}, {"n"})
                .node("Relu", {"n"}, {"y"})
                .output("y")
                .bytes(),
            "node \"n\" (Mystery): the shape of its output \"n\" is unknown: this op is not known");
        row("stride",
            single("Conv", {{16, 8, 3, 3}}, {{"strides", Extents{0, 0}}})
                .node("Relu", {"y"}, {"z"})
                .output("z")
                .bytes(),
            "node \"y\" (conv2d): the shape of its output \"y\" is unknown: \"strides\" is not a number from "
            "1 to "
            "2147483647");
        row("parameters of an op",
            single("Sum", {{std::int64_t{1} << 60}, {std::int64_t{1} << 60}}, {}, {1}).bytes(),
            "\"y\": its parameters are too large: their bytes exceed 2^63");
        // The library divides by its square, which would overflow to 0.
        row("block size",
            single("DepthToSpace", {}, {{"blocksize", std::int64_t{1} << 33}})
                .node("Relu", {"y"}, {"z"})
                .output("z")
                .bytes(),
            "node \"y\" (pixel_shuffle): the shape of its output \"y\" is unknown: \"blocksize\" is not a "
            "number from "
            "1 to 2147483647");
        row("rank", single("ConvTranspose", {{8}}).node("Relu", {"y"}, {"z"}).output("z").bytes(),
            "node \"y\" (conv_transpose2d): the shape of its output \"y\" is unknown: its weight does "
            "not have as many extents as its input");
        row("cycle",
            OnnxModel()
                .input("x", {4})
                .node("Add", {"x", "b"}, {"a"})
                .node("Relu", {"a"}, {"b"})
                .output("b")
                .bytes(),
            "node \"a\" (Add): reads \"b\", which no input, parameter or earlier node defines");
        row("twice",
            OnnxModel()
                .input("x", {4})
                .node("Relu", {"x"}, {"a"}, {}, "one")
                .node("Relu", {"x"}, {"a"}, {}, "two")
                .output("a")
                .bytes(),
            "node \"two\": value \"a\" is defined twice");
        row("output", single("Relu", {}).output("z").bytes(), "outputs: \"z\" is not the output of any node");
        onnx::GraphProto nested = body({}, {}, {});
        for (int depth = 0; depth < 40; ++depth)
            nested = body({onnx_node("If", {"c"}, {"y"}, {{"then_branch", nested}})}, {}, {"y"});
        OnnxModel deep;
        deep.graph() = nested;
        row("nested", deep.bytes(), "is nested more than 64 levels deep");
        OnnxModel far = single("Reshape", {});
        far.weight("shape", {2}, kInt64).graph().mutable_node(0)->add_input("shape");
        far.graph().mutable_initializer(0)->set_data_location(onnx::TensorProto::EXTERNAL);
        row("numbers elsewhere", far.node("Relu", {"y"}, {"z"}).output("z").bytes(),
            "node \"y\" (reshape): the shape of its output \"y\" is unknown: the numbers of its input "
            "\"shape\" are in another file");
        OnnxModel sequence = single("Relu", {});
        sequence.graph().mutable_input(0)->mutable_type()->mutable_sequence_type();
        row("sequence", sequence.bytes(), "input \"x\": is not a tensor");
    }
    void errors() {
        QFETCH(std::string, bytes);
        QFETCH(QString, message);
        const QString problem = refusal(bytes);
        QVERIFY2(problem.startsWith("bad.onnx: " + message), qPrintable(problem));
    }

    void filesAreToldByTheirContent() {
        const Path file = write("renamed", single("Relu", {}).bytes());
        QCOMPARE(file_content(file), FileContent::network);
        QCOMPARE(read_network(file).graph.name(), std::string("renamed"));
    }

    void outputsOfNormalizationsHaveShapes() {
        OnnxModel model;
        model.input("x", {2, 5, 8}).weight("scale", {8});
        model.node("SkipLayerNormalization", {"x", "x", "scale"}, {"normal", "mean", "deviation", "sum"});
        model.graph().mutable_node(0)->set_domain("com.microsoft");
        model.node("Relu", {"mean"}, {"of_mean"})
            .node("Relu", {"sum"}, {"of_sum"})
            .output("of_mean")
            .output("of_sum");
        const Graph graph = read(model).graph;
        QCOMPARE(op_of(graph, "of_mean").outputs[0].bytes, 4 * 10);
        QCOMPARE(op_of(graph, "of_sum").outputs[0].bytes, 4 * 80);
    }

    /// Multiply-adds: from torchvision's model pages ("GFLOPS"); for the transformers from
    /// core/graph/networks.hpp, here for 128 tokens: a layer of width d has 12 d d T + 2 T T d, the logits T
    /// d V.
    void totalsOfExportedNetworks_data() {
        QTest::addColumn<double>("parameters");
        QTest::addColumn<double>("multiplyAdds");
        QTest::newRow("alexnet") << 61'100'840.0 << 0.714e9;
        QTest::newRow("vgg16") << 138'357'544.0 << 15.470e9;
        QTest::newRow("resnet18") << 11'689'512.0 << 1.814e9;
        QTest::newRow("resnet50") << 25'557'032.0 << 4.089e9;
        QTest::newRow("resnet101") << 44'549'160.0 << 7.801e9;
        QTest::newRow("resnet152") << 60'192'808.0 << 11.514e9;
        QTest::newRow("googlenet") << 6'624'904.0 << 1.498e9;
        QTest::newRow("inception_v3") << 27'161'264.0 << 5.719e9;
        QTest::newRow("densenet121") << 7'978'856.0 << 2.834e9;
        QTest::newRow("mobilenet_v2") << 3'504'872.0 << 0.301e9;
        QTest::newRow("bert_like") << 109'482'240.0 << 11.17e9;
        QTest::newRow("gpt2_like") << 124'439'808.0
                                   << 12 * (12 * 768.0 * 768 * 128 + 2 * 128.0 * 128 * 768) +
                                          128.0 * 768 * 50257;
    }
    void totalsOfExportedNetworks() {
        QFETCH(double, parameters);
        QFETCH(double, multiplyAdds);
        const Path file =
            Path(PLACEWRIGHT_EXPORTED_MODELS) / (std::string(QTest::currentDataTag()) + ".onnx");
        if (!std::filesystem::exists(file)) QSKIP("PyTorch is not there to export it");
        for (const std::int64_t batch : {1, 3}) {
            const NetworkFile network = read_network(file, batch);
            const Graph& graph = network.graph;
            QVERIFY2(network.estimated.empty(),
                     network.estimated.empty() ? "" : network.estimated[0].kind.c_str());
            QVERIFY(network.batch_is_open);
            QCOMPARE(static_cast<double>(totals(graph).parameter_bytes) / 4, parameters);
            const double ratio = product_flops(graph) / 2 / static_cast<double>(batch) / multiplyAdds;
            QVERIFY2(std::abs(ratio - 1) < 0.01, qPrintable(QString::number(ratio)));
        }
    }
};

QTEST_GUILESS_MAIN(TestOnnx)
#include "tst_onnx.moc"
