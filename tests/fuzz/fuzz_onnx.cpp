// SPDX-License-Identifier: MIT
#include "core/io/onnx/onnx.hpp"
#include "core/io/onnx/onnx_placement.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/support/onnx_models.hpp"

using namespace placewright;
using test::Extents;
using test::OnnxModel;

int fuzz(const std::uint8_t* bytes, std::size_t size) {
    const MemoryFile file(bytes, size);
    try {
        read_onnx(file.path(), 2, {});
    } catch (const InputError&) {
    }
    try {
        onnx_placement_text(file.path());
    } catch (const InputError&) {
    }
    return 0;
}

std::vector<std::string> seeds() {
    OnnxModel shapes;
    shapes.input("x", {-2, 4, 6}).numbers("minus", {-1}).numbers("zero", {0}).numbers("two", {2});
    shapes.node("Shape", {"x"}, {"s"})
        .node("Gather", {"s", "zero"}, {"b"})
        .node("Slice", {"s", "two", "minus", "zero"}, {"e"});
    shapes.node("Concat", {"b", "minus", "two"}, {"shape"}, {{"axis", 0}})
        .node("Reshape", {"x", "shape"}, {"r"});
    shapes.node("Range", {"zero", "two", "minus"}, {"range"})
        .node("Expand", {"r", "shape"}, {"wide"})
        .node("Split", {"r"}, {"a", "c"}, {{"axis", -1}});
    shapes.node("ReduceMean", {"a"}, {"y"}, {{"axes", Extents{-1}}}).output("y");

    OnnxModel layers;
    layers.input("x", {-2, 8, 6, 6})
        .weight("conv.weight", {16, 8, 3, 3})
        .weight("t.weight", {16, 4, 2, 2})
        .weight("fc.weight", {5, 64});
    layers.node("Conv", {"x", "conv.weight"}, {"c"},
                {{"kernel_shape", Extents{3, 3}}, {"strides", Extents{2, 2}}});
    layers.node("ConvTranspose", {"c", "t.weight"}, {"t"})
        .node("MaxPool", {"t"}, {"p"}, {{"kernel_shape", Extents{2, 2}}});
    layers.node("Resize", {"p", "", "", "sizes"}, {"r"})
        .numbers("sizes", {2, 4, 4, 4})
        .node("DepthToSpace", {"r"}, {"d"}, {{"blocksize", 2}});
    layers.node("Flatten", {"d"}, {"f"})
        .node("Gemm", {"f", "fc.weight"}, {"g"}, {{"transB", 1}})
        .node("Softmax", {"g"}, {"y"})
        .output("y");

    onnx::StringStringEntryProto& placed = *layers.proto.add_metadata_props();
    placed.set_key("placewright.placement");
    placed.set_value(R"({"format":"placewright.placement","version":1,"placement":{"c":"gpu:0"}})");

    OnnxModel sequence;
    sequence.input("x", {7, 2, 3}).weight("w", {1, 16, 3}).weight("r", {1, 16, 4}).weight("e", {4, 5});
    sequence.node("LSTM", {"x", "w", "r"}, {"l", "h", "c"}, {{"hidden_size", 4}})
        .node("Squeeze", {"l", "one"}, {"q"})
        .numbers("one", {1});
    sequence.node("Einsum", {"q", "e"}, {"s"}, {{"equation", std::string("tbi,ij->tbj")}})
        .node("Pad", {"s", "pads"}, {"y"})
        .numbers("pads", {0, 0, 1, 0, 0, 1});
    sequence.output("y");

    OnnxModel control;
    control.input("x", {4, 6})
        .input("c", {}, onnx::TensorProto::BOOL)
        .weight("w", {6, 6})
        .numbers("trips", {3});
    onnx::GraphProto branch, loop;
    *branch.add_node() = test::onnx_node("MatMul", {"x", "w"}, {"t"});
    branch.add_output()->set_name("t");
    for (const char* input : {"n", "go", "v"}) loop.add_input()->set_name(input);
    *loop.add_node() = test::onnx_node("Relu", {"v"}, {"next"});
    for (const char* output : {"go", "next", "next"}) loop.add_output()->set_name(output);
    control.node("If", {"c"}, {"i"}, {{"then_branch", branch}, {"else_branch", branch}})
        .node("Loop", {"trips", "", "i"}, {"l", "k"}, {{"body", loop}});
    onnx::FunctionProto& function = *control.proto.add_functions();
    function.set_name("F");
    function.set_domain("f");
    function.add_input("a");
    function.add_output("b");
    *function.add_node() = test::onnx_node("Relu", {"a"}, {"b"});
    control.node("F", {"l"}, {"y"}).output("y");
    control.graph().mutable_node(2)->set_domain("f");

    // What operator sets after that of the library added, and what ONNX Runtime adds.
    OnnxModel later(21);
    later.input("x", {1, 4, 6, 6}).weight("s", {}, onnx::TensorProto::FLOAT16).numbers("depth", {3});
    later.node("AveragePool", {"x"}, {"a"}, {{"kernel_shape", Extents{2, 2}}, {"dilations", Extents{2, 2}}})
        .node("Pad", {"a", "pads", "", "axes"}, {"p"})
        .numbers("pads", {1, 1})
        .numbers("axes", {-1});
    later
        .node("Resize", {"p", "", "", "sizes"}, {"r"},
              {{"axes", Extents{2, 3}}, {"keep_aspect_ratio_policy", std::string("not_larger")}})
        .numbers("sizes", {8, 8});
    later.node("QuantizeLinear", {"r", "s"}, {"q"}, {{"output_dtype", 3}})
        .node("DequantizeLinear", {"q", "s"}, {"d"})
        .node("ReduceMean", {"d"}, {"m"}, {{"noop_with_empty_axes", 1}})
        .node("OneHot", {"q", "depth", "s"}, {"y"}, {{"axis", 0}})
        .output("y")
        .output("m");
    OnnxModel runtime;
    runtime.input("x", {2, 5, 32}).weight("n", {32}).weight("w", {32, 16}, onnx::TensorProto::UINT8);
    runtime.weight("k", {2, 5, 2, 2, 4}).weight("f", {2, 16, 5}).weight("v", {1});
    runtime.node("SkipSimplifiedLayerNormalization", {"x", "x", "n"}, {"h", "", "", "sum"})
        .node("GroupQueryAttention", {"h", "", "", "", ""}, {"g", "gk", "gv"},
              {{"num_heads", 4}, {"kv_num_heads", 2}})
        .node("MultiHeadAttention", {"g", "k"}, {"a"}, {{"num_heads", 4}})
        .node("FusedMatMul", {"a", "f"}, {"m"}, {{"transA", 1}, {"transB", 1}})
        .node("MatMulNBits", {"sum", "w", "v"}, {"y"}, {{"K", 32}, {"N", 32}, {"bits", 4}})
        .output("y")
        .output("m");
    for (onnx::NodeProto& node : *runtime.graph().mutable_node()) node.set_domain("com.microsoft");
    return {shapes.bytes(),
            layers.bytes(),
            sequence.bytes(),
            control.bytes(),
            later.bytes(),
            runtime.bytes(),
            test::deep_onnx_model(8).bytes()};
}
