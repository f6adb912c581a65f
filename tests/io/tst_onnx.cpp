// SPDX-License-Identifier: MIT
// ONNX models: conversion of ops, totals of networks that PyTorch exports, placements in models, and files
// that are not models.
#include <array>
#include <cmath>
#include <fstream>
#include <functional>

#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>
#include <sys/resource.h>

#include "core/base/path.hpp"
#include "core/graph/kinds.hpp"
#include "core/graph/networks.hpp"
#include "core/io/file_content.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/onnx/onnx_model.hpp"
#include "core/io/onnx/onnx_placement.hpp"
#include "core/io/placements/placed_network.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/io/placements/placement_formats.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/whole_file.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/onnx_models.hpp"

using namespace placewright;
using test::Extents;
using test::onnx_node;
using test::OnnxAttribute;
using test::OnnxModel;

namespace {

constexpr auto kInt64 = onnx::TensorProto::INT64;

/// x (1 x 8 x 6 x 6) through one node with weights w0, w1, ... to y.
OnnxModel single(const std::string& op, const std::vector<Extents>& weights,
                 const std::vector<OnnxAttribute>& attributes = {}, const Extents& input = {1, 8, 6, 6},
                 std::int64_t opset = 13) {
    OnnxModel model(opset);
    model.input("x", input);
    std::vector<std::string> inputs{"x"};
    for (std::size_t i = 0; i < weights.size(); ++i) {
        inputs.emplace_back(1, 'w') += std::to_string(i);
        model.weight(inputs.back(), weights[i]);
    }
    model.node(op, inputs, {"y"}, attributes).output("y");
    return model;
}

const Op& op_of(const Graph& graph, const std::string& name) {
    const auto id = graph.find(name);
    if (!id) throw std::runtime_error("no op " + name);
    return graph.op(*id);
}

/// FLOPs of products (convolutions, matrix products), which published counts of multiply-adds include.
double product_flops(const Graph& graph) {
    double flops = 0;
    for (const Op& op : graph.ops()) flops += kind_info(op.kind).product ? op.flops : 0;
    return flops;
}

onnx::GraphProto body(const std::vector<onnx::NodeProto>& nodes,
                      const std::vector<onnx::ValueInfoProto>& inputs,
                      const std::vector<std::string>& outputs) {
    onnx::GraphProto graph;
    for (const auto& node : nodes) *graph.add_node() = node;
    for (const auto& input : inputs) *graph.add_input() = input;
    for (const auto& output : outputs) graph.add_output()->set_name(output);
    return graph;
}

}  // namespace

class TestOnnx : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;

    Path write(const std::string& name, const std::string& bytes) {
        const Path file = Path(m_folder.path().toStdString()) / name;
        std::ofstream(file, std::ios::binary) << bytes;
        return file;
    }
    NetworkFile read(const OnnxModel& model, std::optional<std::int64_t> batch = {},
                     const std::map<std::string, std::int64_t>& dims = {}) {
        ReadOptions options(batch);
        options.dims = dims;
        return read_network(write("net.onnx", model.bytes()), options);
    }
    QString error(const std::function<void()>& call) {
        try {
            call();
        } catch (const InputError& problem) {
            return QString::fromUtf8(problem.what()).replace(m_folder.path() + '/', QString());
        }
        return {};
    }
    QString refusal(const std::string& bytes) {
        const Path file = write("bad.onnx", bytes);
        return error([&] { read_network(file); });
    }

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
        row("MatMul", single("MatMul", {{6, 5}}), "matmul", 2.0 * 8 * 6 * 5 * 6, 4 * 8 * 6 * 5);
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
        QCOMPARE(error([&] { read(model, 2); }),
                 QString("net.onnx: input \"x\": leaves extent 1 (\"sequence\") open; give one with --dim "
                         "sequence=NUMBER"));
        QVERIFY(error([&] {
                    read(model, 2, {{"length", 5}});
                }).contains("no input has an open extent called \"length\"; there is \"batch\""));
        QVERIFY(error([&] {
                    read(single("Relu", {}, {}, {1, -1}), 1);
                }).contains("export the model with a fixed one"));
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
        // If no batch size is open, a parameter cannot be told from another input.
        OnnxModel fixed;
        fixed.input("input", {2, 7}).input("mask", {2, 7}).input("fc.weight", {5, 7});
        fixed.node("Add", {"input", "mask"}, {"t"})
            .node("Gemm", {"t", "fc.weight"}, {"y"}, {{"transB", 1}})
            .output("y");
        QCOMPARE(totals(read(fixed).graph).parameter_bytes, 4 * 35);
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
        QVERIFY(most_kilobytes() < before + 150'000);
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
            "node \"y\" (conv2d): the shape of its output \"y\" is unknown: \"strides\" is not positive");
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

    void largeTensorsStayOnTheDisk() {
        OnnxModel model = single("Gemm", {{1000, 1000}}, {}, {1, 1000});
        model.graph().mutable_initializer(0)->set_raw_data(std::string(4'000'000, '\0'));
        const Path file = write("large.onnx", model.bytes());
        QVERIFY(read_onnx_model(file).SerializeAsString().size() < 1000);
        QCOMPARE(read_whole_onnx_model(file).graph().initializer(0).raw_data().size(), 4'000'000u);
        QCOMPARE(op_of(read_network(file).graph, "y").parameter_bytes, 4'000'000);
    }

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
            return "\x4a\x1b\n\x12placewright.device\x12\x05" + device;
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
        QCOMPARE(written.metadata_props_size(), 1);
        const auto& node_fields = onnx::NodeProto::GetReflection()->GetUnknownFields(written.graph().node(0));
        QCOMPARE(node_fields.field_count(), 2);
        QCOMPARE(node_fields.field(1).number(), 10);
        const std::string device_of_h("\n\x0bplacewright\x12\x05\n\x01h\x10\x01");
        QCOMPARE(node_fields.field(1).length_delimited(), device_of_h + std::string("\x18\x00", 2));
        write_file(out, onnx_placement(out, placement, *problem).content);
        written = read_whole_onnx_model(out);
        QCOMPARE(onnx::NodeProto::GetReflection()->GetUnknownFields(written.graph().node(0)).field_count(),
                 1);
        QCOMPARE(onnx::ModelProto::GetReflection()->GetUnknownFields(written).field_count(), 0);
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
                                   .field(1)
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
                    onnx::NodeProto::GetReflection()->GetUnknownFields(node).field(1).length_delimited());
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
