// SPDX-License-Identifier: MIT
// What the kernels of an op do, and the time that it takes on a device with known efficiencies.
#include <cmath>
#include <limits>

#include <QTest>

#include "core/base/random.hpp"
#include "core/cost/cost_model.hpp"
#include "core/cost/device_time.hpp"
#include "core/cost/op_work.hpp"
#include "core/graph/precision.hpp"
#include "core/graph/training.hpp"
#include "core/machine/device_model.hpp"

namespace placewright {
namespace {

/// A device of round figures: 10 TFLOP/s, 80 on its matrix units, 1 TB/s.
DeviceModel round_model() {
    DeviceModel model;
    model.model = "Round";
    model.memory_bytes = 16e9;
    model.memory_bandwidth = 1e12;
    model.vector_flops[NumberType::fp32] = 10e12;
    model.vector_flops[NumberType::fp64] = 5e12;
    model.matrix_flops[NumberType::fp16] = 80e12;
    model.matrix_flops[NumberType::tf32] = 40e12;
    Efficiencies shares;
    shares.product_vector = 0.5;
    shares.product_matrix = 0.5;
    shares.half_depth = shares.half_width = shares.half_outputs_per_tflops = 0;
    shares.product_launch_s = 2e-6;
    shares.launch_s = 1e-6;
    shares.elementwise = 0.5;
    shares.product_memory = 0.5;
    shares.winograd = 2;
    shares.grouped_convolution = 1;
    model.efficiencies = std::make_shared<const Efficiencies>(shares);
    return model;
}

Device device_of(const DeviceModel& model) {
    return placewright::device_of(std::make_shared<const DeviceModel>(model));
}

/// The round device with other efficiencies.
template <class Change>
Device changed(Change change) {
    DeviceModel model = round_model();
    Efficiencies shares = *model.efficiencies;
    change(model, shares);
    model.efficiencies = std::make_shared<const Efficiencies>(shares);
    return device_of(model);
}

Op op_of(const std::string& name, const std::string& kind, std::vector<std::int64_t> shape, double flops = 0,
         std::int64_t parameter_bytes = 0, DType dtype = DType::float32) {
    Op op;
    op.name = name;
    op.kind = kind;
    op.flops = flops;
    op.parameter_bytes = parameter_bytes;
    op.outputs = {make_tensor(std::move(shape), dtype)};
    return op;
}

/// A chain of two linear maps on 64 rows, 128 -> 256 -> 32, and a loss.
Graph two_layers(DType dtype = DType::float32) {
    GraphBuilder builder("two", 64);
    builder.add(op_of("x", "input", {64, 128}, 0, 0, dtype), {});
    builder.add(op_of("first", "linear", {64, 256}, 2.0 * 64 * 128 * 256, 128 * 256 * 4, dtype), {"x"});
    builder.add(op_of("second", "linear", {64, 32}, 2.0 * 64 * 256 * 32, 256 * 32 * 4, dtype), {"first"});
    builder.add(op_of("loss", "cross_entropy", {}, 100), {"second"});
    return training_graph(builder.build());
}

OpWork work_of(const Graph& graph, const char* op, double states = 0) {
    return op_work(graph, *graph.find(op), states);
}

class TestDeviceTime : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void linear_shapes();
    void matmul_shapes();
    void convolution_shapes();
    void gradients_of_sums();
    void parts_are_put_together();
    void gradients_of_views();
    void unknown_shapes();
    void casts_of_parameters();
    void times_by_hand();
    void types();
    void recurrent_layers();
    void products_of_bytes();
    void unknown_products();
    void power();
    void small_products();
    void short_products_are_bound_by_bytes();
    void winograd();
    void uniform_efficiency();
    void a_higher_peak_is_not_slower();
    void measured_by_alias();
    void more_work_takes_longer();
};

void TestDeviceTime::linear_shapes() {
    const Graph graph = two_layers();
    const auto shape_of = [&](const char* op) {
        const OpWork work = work_of(graph, op);
        if (work.product_count != 1) qFatal("%s has %zu products", op, work.product_count);
        const ProductShape& shape = work.products[0];
        return std::array{shape.batch, shape.rows, shape.columns, shape.depth};
    };
    QCOMPARE(shape_of("second"), (std::array{1.0, 64.0, 32.0, 256.0}));
    QCOMPARE(shape_of("second/backward"), (std::array{1.0, 64.0, 256.0, 32.0}));
    QCOMPARE(shape_of("second/weight_gradient"), (std::array{1.0, 256.0, 32.0, 64.0}));
    // The data gradient reads gradient and weights and writes 64 x 256 numbers.
    QCOMPARE(work_of(graph, "second/backward").bytes, 4.0 * (64 * 32 + 256 * 32 + 64 * 256));
    QCOMPARE(work_of(graph, "x").work_class, WorkClass::none);
    QCOMPARE(work_of(graph, "second/update").work_class, WorkClass::update);
}

void TestDeviceTime::matmul_shapes() {
    GraphBuilder builder("attention", 1);
    builder.add(op_of("qs", "parameter", {6, 512, 64}, 0, 6 * 512 * 64 * 4), {});
    builder.add(op_of("ks", "parameter", {6, 64, 256}, 0, 6 * 64 * 256 * 4), {});
    builder.add(op_of("q", "relu", {6, 512, 64}), {"qs"});
    builder.add(op_of("k", "relu", {6, 64, 256}), {"ks"});
    builder.add(op_of("w", "parameter", {256, 8}, 0, 256 * 8 * 4), {});
    builder.add(op_of("qk", "matmul", {6, 512, 256}, 2.0 * 6 * 512 * 256 * 64), {"q", "k"});
    builder.add(op_of("out", "matmul", {6, 512, 8}, 2.0 * 6 * 512 * 256 * 8), {"qk", "w"});
    const Graph graph = training_graph(builder.build());
    const OpWork batched = work_of(graph, "qk");
    QCOMPARE(batched.work_class, WorkClass::batched);
    QCOMPARE(batched.products[0].batch, 6.0);
    QCOMPARE(batched.products[0].rows, 512.0);
    QCOMPARE(batched.products[0].depth, 64.0);
    // The second factor has two extents: one product of all rows.
    const OpWork single = work_of(graph, "out");
    QCOMPARE(single.work_class, WorkClass::product);
    QCOMPARE(single.products[0].rows, 6.0 * 512);
    // Both factors have a gradient.
    const OpWork gradients = work_of(graph, "qk/backward");
    QCOMPARE(gradients.product_count, std::size_t{2});
    QCOMPARE(gradients.products[0].flops, batched.flops);
    QCOMPARE(gradients.products[1].flops, batched.flops);
    QCOMPARE(gradients.products[0].depth, 256.0);
    QCOMPARE(gradients.products[1].depth, 512.0);
}

void TestDeviceTime::convolution_shapes() {
    const auto convolution = [](std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t groups,
                                const char* dilation = "[1, 1]") {
        GraphBuilder builder("conv", 2);
        const double flops = 2.0 * 2 * out * 10 * 10 * kernel * kernel * in / groups;
        Op conv = op_of("conv", "conv2d", {2, out, 10, 10}, flops, out * in / groups * kernel * kernel * 4);
        conv.attributes["kernel"] = std::to_string(kernel);
        conv.attributes["stride"] = "[1, 1]";
        conv.attributes["groups"] = std::to_string(groups);
        conv.attributes["dilation"] = dilation;
        Op before = op_of("before", "relu", {2, in, 10, 10});
        builder.add(op_of("x", "parameter", {2, in, 10, 10}, 0, 2 * in * 400), {});
        builder.add(before, {"x"});
        builder.add(conv, {"before"});
        builder.add(op_of("loss", "mse_loss", {}, 1), {"conv"});
        return training_graph(builder.build());
    };
    const Graph plain = convolution(16, 32, 3, 1);
    const OpWork work = work_of(plain, "conv");
    QCOMPARE(work.work_class, WorkClass::convolution);
    QCOMPARE(work.products[0].rows, 200.0);
    QCOMPARE(work.products[0].columns, 32.0);
    QCOMPARE(work.products[0].depth, 16.0 * 9);
    QVERIFY(work.products[0].winograd);
    QVERIFY(!work_of(convolution(16, 32, 3, 1, "[2, 2]"), "conv").products[0].winograd);
    const OpWork data = work_of(plain, "conv/backward");
    QCOMPARE(data.products[0].columns, 16.0);
    QCOMPARE(data.products[0].depth, 32.0 * 9);
    QCOMPARE(data.products[0].rows, 200.0);
    QVERIFY(data.gradient && data.products[0].winograd);
    const OpWork weights = work_of(plain, "conv/weight_gradient");
    QCOMPARE(weights.products[0].depth, 200.0);
    QVERIFY(!weights.products[0].winograd);

    QVERIFY(!work_of(convolution(16, 32, 1, 1), "conv").products[0].winograd);
    const OpWork grouped = work_of(convolution(16, 32, 3, 4), "conv");
    QCOMPARE(grouped.work_class, WorkClass::convolution);
    QCOMPARE(grouped.products[0].batch, 4.0);
    QCOMPARE(grouped.products[0].columns, 8.0);
    QCOMPARE(grouped.products[0].depth, 4.0 * 9);
    QCOMPARE(work_of(convolution(16, 16, 3, 16), "conv").work_class, WorkClass::depthwise);
}

void TestDeviceTime::gradients_of_sums() {
    // x is read by both summands' ops: its gradients are summed; the sum itself passes its gradient on.
    GraphBuilder builder("residual", 1);
    builder.add(op_of("w", "parameter", {1000}, 0, 4000), {});
    builder.add(op_of("x", "relu", {1000}, 1000), {"w"});
    builder.add(op_of("y", "tanh", {1000}, 1000), {"x"});
    builder.add(op_of("bias", "parameter", {1}, 0, 4), {});
    builder.add(op_of("shifted", "add", {1000}, 1000), {"y", "bias"});
    builder.add(op_of("sum", "add", {1000}, 1000), {"x", "shifted"});
    builder.add(op_of("loss", "mse_loss", {}, 1), {"sum"});
    const Graph graph = training_graph(builder.build());
    QCOMPARE(work_of(graph, "sum/backward").work_class, WorkClass::none);
    QCOMPARE(device_time_s(work_of(graph, "sum/backward"), device_of(round_model())), 0.0);
    // The bias was broadcast: its gradient is a sum.
    const OpWork reduced = work_of(graph, "shifted/backward");
    QCOMPARE(reduced.work_class, WorkClass::reduction);
    QCOMPARE(reduced.bytes, 4000.0 + 4);
    const OpWork relu = work_of(graph, "x/backward");
    QCOMPARE(relu.stream_bytes, 3 * 4000.0);
    QCOMPARE(relu.bytes, 3 * 4000.0);
    QCOMPARE(relu.kernels, 2.0);
    QCOMPARE(work_of(graph, "y/backward").stream_bytes, 0.0);
}

void TestDeviceTime::parts_are_put_together() {
    // The gradients of the outputs of a split are copied side by side, not summed.
    GraphBuilder builder("parts", 1);
    builder.add(op_of("w", "parameter", {2, 500}, 0, 4000), {});
    builder.add(op_of("x", "relu", {2, 500}, 1000), {"w"});
    Op halves = op_of("halves", "unbind", {500});
    halves.outputs.push_back(halves.outputs.front());
    builder.add(halves, {"x"});
    builder.add(op_of("product", "mul", {500}, 500), {"halves", "halves:1"});
    builder.add(op_of("loss", "mse_loss", {}, 1), {"product"});
    const Graph graph = training_graph(builder.build());
    const OpWork product = work_of(graph, "product/backward");
    QCOMPARE(product.kernels, 2.0);
    QCOMPARE(product.bytes, 6 * 2000.0);
    const OpWork together = work_of(graph, "halves/backward");
    QCOMPARE(together.stream_bytes, 2 * 4000.0);
    QCOMPARE(together.kernels, 1.0);
    QCOMPARE(work_of(graph, "x/backward").stream_bytes, 0.0);
}

void TestDeviceTime::gradients_of_views() {
    // Each of 4 rows of 1000 numbers that are read alone has a gradient of zeros for the others.
    GraphBuilder builder("rows", 1);
    builder.add(op_of("w", "parameter", {4, 1000}, 0, 16000), {});
    builder.add(op_of("x", "relu", {4, 1000}, 4000), {"w"});
    for (const char* row : {"a", "b", "c", "d"}) builder.add(op_of(row, "select", {1000}), {"x"});
    builder.add(op_of("stacked", "stack", {4, 1000}), {"a", "b", "c", "d"});
    Op index = op_of("index", "input", {2}, 0, 0, DType::int64);
    builder.add(index, {});
    builder.add(op_of("picked", "index_select", {2, 1000}), {"stacked", "index"});
    builder.add(op_of("bias", "parameter", {1000}, 0, 4000), {});
    builder.add(op_of("wide", "expand", {2, 1000}), {"bias"});
    builder.add(op_of("loss", "mse_loss", {}, 1), {"picked", "wide"});
    const Graph graph = training_graph(builder.build());
    QCOMPARE(work_of(graph, "a").work_class, WorkClass::none);
    const OpWork row = work_of(graph, "a/backward");
    QCOMPARE(row.work_class, WorkClass::copy);
    QCOMPARE(row.bytes, 16000.0 + 2 * 4000);
    QCOMPARE(row.kernels, 2.0);
    // Three sums of two gradients of the whole, and the derivative.
    const OpWork sum = work_of(graph, "x/backward");
    QCOMPARE(sum.stream_bytes, 3 * 3 * 16000.0);
    QCOMPARE(sum.kernels, 3.0 + 1);
    // Zeros for 4 rows; 2 rows are read, and added to those that are there.
    const OpWork picked = work_of(graph, "picked/backward");
    QCOMPARE(picked.work_class, WorkClass::scatter);
    QCOMPARE(picked.bytes, 16000.0 + 3 * 8000 + 2 * 8);
    QCOMPARE(picked.kernels, 2.0);
    const OpWork wide = work_of(graph, "wide/backward");
    QCOMPARE(wide.work_class, WorkClass::reduction);
    QCOMPARE(wide.bytes, 8000.0 + 4000);
    QCOMPARE(wide.kernels, 1.0);
}

// A file need not say the shapes, or even the outputs, of its ops.
void TestDeviceTime::unknown_shapes() {
    const double flops = 2 * std::pow(1024, 3);
    const auto shape_of = [&](const std::vector<Tensor>& outputs) {
        Op op;
        op.name = "product";
        op.kind = "linear";
        op.flops = flops;
        op.outputs = outputs;
        GraphBuilder builder("one", 1, Training::none);
        builder.add(op, {});
        const ProductShape shape = work_of(builder.build(), "product").products[0];
        return std::array{std::round(shape.rows), std::round(shape.columns), std::round(shape.depth)};
    };
    Tensor bytes;
    bytes.bytes = 4 * 1024 * 1024;
    const std::array cube{1024.0, 1024.0, 1024.0};
    QCOMPARE(shape_of({make_tensor({1024, 1024})}), cube);
    QCOMPARE(shape_of({bytes}), cube);
    QCOMPARE(shape_of({make_tensor({0, 1024})}), cube);
    QCOMPARE(shape_of({}), cube);
}

void TestDeviceTime::casts_of_parameters() {
    // Parameters of 4 bytes in a product of float16 (autocast) are read and written as float16 each time.
    const OpWork mixed = work_of(two_layers(DType::float16), "second");
    QCOMPARE(mixed.type, NumberType::fp16);
    QCOMPARE(mixed.stream_bytes, 256 * 32 * 6.0);
    QCOMPARE(work_of(two_layers(), "second").stream_bytes, 0.0);

    // Where the types are known they decide: all parameters are cast, and so is their gradient.
    GraphBuilder builder("biased", 64);
    builder.add(op_of("x", "input", {64, 16}), {});
    builder.add(op_of("fc", "linear", {64, 1}, 2.0 * 64 * 16, (16 + 1) * 4), {"x"});
    const Graph plain = builder.build();
    for (const auto& [precision, bytes] :
         {std::pair(Precision::amp_fp16, 17 * 6.0), std::pair(Precision::fp16, 0.0),
          std::pair(Precision::fp32, 0.0)}) {
        const Graph step = training_graph(with_precision(plain, precision));
        QCOMPARE(work_of(step, "fc").stream_bytes, bytes);
        QCOMPARE(work_of(step, "fc/weight_gradient").stream_bytes, bytes);
    }
}

void TestDeviceTime::times_by_hand() {
    const Graph graph = two_layers();
    const Device device = device_of(round_model());
    // 2 x 64 x 256 x 32 FLOPs at 5 TFLOP/s are less than the bytes at 0.5 TB/s.
    const double bytes = 4.0 * (64 * 256 + 256 * 32 + 64 * 32);
    QCOMPARE(device_time_s(work_of(graph, "second"), device), 1e-6 + 2e-6 + bytes / 0.5e12);
    QCOMPARE(roofline_time_s(graph, *graph.find("second"), device), 1e-6 + 2e-6 + bytes / 0.5e12);
    OpWork large;
    large.work_class = WorkClass::product;
    large.kernels = 1;
    large.products[0] = {1, 4096, 4096, 4096, 2 * std::pow(4096, 3), false};
    large.product_count = 1;
    QCOMPARE(device_time_s(large, device), 1e-6 + 2e-6 + 2 * std::pow(4096, 3) / 5e12);
    QCOMPARE(device_busy_share(OpWork{}, device), 0.0);
    QVERIFY(device_busy_share(large, device) > 0.9);
}

OpWork square(double extent, NumberType type) {
    OpWork work;
    work.work_class = WorkClass::product;
    work.type = type;
    work.products[0] = {1, extent, extent, extent, 2 * extent * extent * extent, false};
    work.product_count = 1;
    return work;
}

/// A function of ONNX that computes much for each element multiplies.
void TestDeviceTime::unknown_products() {
    GraphBuilder builder("own", 1, Training::none);
    builder.add(op_of("x", "input", {64, 256}, 0, 0, DType::float16), {});
    builder.add(op_of("much", "com.acme.Layer", {64, 256}, 2.0 * 64 * 256 * 256, 0, DType::float16), {"x"});
    builder.add(op_of("little", "com.acme.Layer", {64, 256}, 10.0 * 64 * 256, 0, DType::float16), {"x"});
    const Graph graph = builder.build();
    QCOMPARE(work_of(graph, "much").product_count, 1u);
    QCOMPARE(work_of(graph, "much").work_class, WorkClass::product);
    QCOMPARE(work_of(graph, "little").work_class, WorkClass::elementwise);
}

/// Products of bytes have sums of 32 bits; they run in the type of their factors.
void TestDeviceTime::products_of_bytes() {
    GraphBuilder builder("bytes", 1, Training::none);
    builder.add(op_of("x", "input", {64, 64}, 0, 0, DType::int8), {});
    builder.add(op_of("y", "matmul", {64, 64}, 2.0 * 64 * 64 * 64, 0, DType::int32), {"x"});
    builder.add(op_of("z", "add", {64, 64}, 64.0 * 64, 0, DType::int32), {"y"});
    const Graph graph = builder.build();
    QCOMPARE(work_of(graph, "y").type, NumberType::int8);
    QCOMPARE(work_of(graph, "z").type, NumberType::fp32);
}

/// A layer of 100 steps, batch 4, from 32 to 64 features in float32: 100 products that wait for each other,
/// each with 4 rows, and the weights of the state read each time.
void TestDeviceTime::recurrent_layers() {
    GraphBuilder builder("recurrent", 4);
    builder.add(op_of("x", "input", {100, 4, 32}), {});
    const double flops = 2.0 * 100 * 4 * 4 * 64 * (32 + 64);
    builder.add(op_of("first", "linear", {100, 4, 32}, 2.0 * 400 * 32 * 32, 4 * 32 * 32), {"x"});
    builder.add(op_of("layer", "lstm", {100, 4, 64}, flops, 4 * 4 * 64 * (32 + 64)), {"first"});
    builder.add(op_of("loss", "cross_entropy", {}, 100), {"layer"});
    const Graph graph = training_graph(builder.build());
    for (const char* op : {"layer", "layer/backward"}) {
        const OpWork work = work_of(graph, op);
        QCOMPARE(work.product_count, 2u);
        QCOMPARE(work.products[0].rows, 400.0);
        QCOMPARE(work.products[0].columns, 256.0);
        QCOMPARE(work.products[0].depth, 32.0);
        QCOMPARE(work.products[1].rows, 4.0);
        QCOMPARE(work.products[1].columns, 256.0);
        QCOMPARE(work.products[1].depth, 64.0);
        QCOMPARE(work.products[1].steps, 100.0);
        QCOMPARE(work.products[1].step_bytes, 4.0 * 4 * 64 * 64);
        QCOMPARE(work.flops, flops);
        QCOMPARE(work.kernels, 201.0);
        // Kernels and starts of products alone take 0.3 ms; the weights of a state half a microsecond.
        const double step_s = std::max(2.0 * 4 * 256 * 64 / 5e12, 65'536 / 0.5e12);
        const double inputs_s = std::max(2.0 * 400 * 256 * 32 / 5e12, work.bytes / 0.5e12);
        QVERIFY(std::abs(device_time_s(work, device_of(round_model())) /
                             (201 * 1e-6 + 101 * 2e-6 + inputs_s + 100 * step_s) -
                         1) < 1e-9);
    }
    // As PyTorch has it with the final state beside the output, in either order and in two directions; as
    // ONNX has it, where the output may be the final state alone.
    using Shape = std::vector<std::int64_t>;
    const auto states_of = [&](const Shape& x, const std::vector<Shape>& outputs, bool onnx) {
        GraphBuilder other("other", x.front(), Training::none);
        other.add(op_of("x", "input", x), {});
        Op layer = op_of("layer", "lstm", outputs.front(), flops, 4 * 4 * 64 * (32 + 64));
        if (outputs.size() > 1) layer.outputs.push_back(make_tensor(outputs[1]));
        if (onnx) layer.attributes["hidden_size"] = "64";
        other.add(layer, {"x"});
        return work_of(other.build(), "layer").products[1];
    };
    for (const ProductShape& states :
         {states_of({100, 4, 32}, {{100, 4, 64}, {1, 4, 64}}, false),
          states_of({4, 100, 32}, {{4, 100, 64}, {1, 4, 64}}, false),
          states_of({100, 4, 32}, {{100, 4, 128}, {2, 4, 64}}, false),
          states_of({100, 4, 32}, {{100, 1, 4, 64}}, true), states_of({100, 4, 32}, {{1, 4, 64}}, true)}) {
        QCOMPARE(states.steps, 100.0);
        QCOMPARE(states.rows, 4.0);
        QCOMPARE(states.depth, 64.0);
    }
    // Without a batch.
    QCOMPARE(states_of({100, 32}, {{100, 64}, {1, 64}}, false).steps, 100.0);
    // The gradient of the weights sums over all steps at once.
    QCOMPARE(work_of(graph, "layer/weight_gradient").products[0].steps, 1.0);
}

void TestDeviceTime::types() {
    Device device = device_of(round_model());
    const double fp32_s = device_time_s(square(4096, NumberType::fp32), device) - 2e-6;
    const auto speed_up = [&](NumberType type) {
        return fp32_s / (device_time_s(square(4096, type), device) - 2e-6);
    };
    const auto close = [](double a, double b) { return std::abs(a / b - 1) < 1e-6; };
    QVERIFY(close(speed_up(NumberType::fp16), 8));
    QVERIFY(close(speed_up(NumberType::fp64), 0.5));
    // The device has no bfloat16: it computes in float32.
    QVERIFY(close(speed_up(NumberType::bf16), 1));
    device.tf32 = true;
    QVERIFY(close(speed_up(NumberType::fp32), 4));
    // Another speed of float32 is another clock.
    device.tf32 = false;
    device.peak_flops /= 2;
    QVERIFY(close(speed_up(NumberType::fp16), 4));
}

void TestDeviceTime::power() {
    const auto seconds = [](double watts) {
        const Device device = changed([&](DeviceModel& model, Efficiencies& shares) {
            model.power_w = watts;
            shares.vector_j_per_flop = 1e-11;
        });
        return device_time_s(square(4096, NumberType::fp32), device) - 2e-6;
    };
    const double flops = 2 * std::pow(4096, 3);
    // 20 W go elsewhere: 40 W are enough for 4 TFLOP/s, 200 W for more than half of the peak.
    QVERIFY(std::abs(seconds(60) * 4e12 / flops - 1) < 1e-6);
    QVERIFY(std::abs(seconds(220) * 5e12 / flops - 1) < 1e-6);
}

void TestDeviceTime::small_products() {
    const Device device = changed([](DeviceModel&, Efficiencies& shares) {
        shares.half_depth = 64;
        shares.half_width = 16;
        shares.half_outputs_per_tflops = 1e4;
    });
    const auto share = [&](double rows, double columns, double depth) {
        OpWork work = square(1, NumberType::fp32);
        work.products[0] = {1, rows, columns, depth, 2 * rows * columns * depth, false};
        return work.products[0].flops / 5e12 / (device_time_s(work, device) - 2e-6);
    };
    QVERIFY(std::abs(share(1 << 20, 1 << 12, 64) - 0.5) < 0.01);
    QVERIFY(std::abs(share(1 << 20, 16, 1 << 12) - 0.5) < 0.01);
    // 1e5 outputs keep half of 10 TFLOP/s busy, unless the depth is split.
    QVERIFY(std::abs(share(1000, 100, 2048) - 0.5 * 2048 / 2112 * 100 / 116) < 0.01);
    QVERIFY(share(1000, 100, 1 << 16) > 0.8);
}

void TestDeviceTime::short_products_are_bound_by_bytes() {
    // A token of a language model: a vector times a matrix is bound by the weights on every GPU.
    GraphBuilder builder("decode", 1, Training::none);
    builder.add(op_of("x", "input", {1, 8192}, 0, 0, DType::bfloat16), {});
    builder.add(op_of("up", "linear", {1, 28672}, 2.0 * 8192 * 28672, 8192LL * 28672 * 2, DType::bfloat16),
                {"x"});
    const Graph graph = builder.build();
    DeviceModel model = round_model();
    model.matrix_flops[NumberType::bf16] = 300e12;
    Efficiencies shares = *model.efficiencies;
    shares.half_depth = 60;
    shares.half_width = 30;
    shares.half_outputs_per_tflops = 3000;
    model.efficiencies = std::make_shared<const Efficiencies>(shares);
    const double time_s = device_time_s(work_of(graph, "up"), device_of(model));
    const double bytes_s = 8192.0 * 28672 * 2 / 0.5e12;
    QVERIFY(time_s > bytes_s && time_s < 1.02 * bytes_s);
}

void TestDeviceTime::winograd() {
    const Device device = device_of(round_model());
    OpWork work = square(4096, NumberType::fp32);
    work.work_class = WorkClass::convolution;
    const double plain_s = device_time_s(work, device) - 2e-6;
    work.products[0].winograd = true;
    QVERIFY(std::abs(plain_s / (device_time_s(work, device) - 2e-6) - 2) < 1e-6);
    work.type = NumberType::fp16;  // matrix units have no use for it
    const double narrow_s = device_time_s(work, device) - 2e-6;
    QVERIFY(std::abs(plain_s / narrow_s - 8) < 1e-6);
}

void TestDeviceTime::uniform_efficiency() {
    Device device = device_of(round_model());
    device.uniform_efficiency = true;
    device.efficiency = 0.25;
    const double product_s = device_time_s(square(4096, NumberType::fp32), device);
    QVERIFY(std::abs(product_s * 2.5e12 / (2 * std::pow(4096, 3)) - 1) < 1e-9);
    OpWork work;
    work.work_class = WorkClass::softmax;
    work.bytes = 1e9;
    QVERIFY(std::abs(device_time_s(work, device) - 1e9 / 0.25e12) < 1e-12);
}

void TestDeviceTime::a_higher_peak_is_not_slower() {
    Device device = changed([&](DeviceModel& model, Efficiencies& shares) {
        model.power_w = 60;
        shares.vector_j_per_flop = 1e-11;
        shares.half_outputs_per_tflops = 1e4;
    });
    double last_s = std::numeric_limits<double>::infinity();
    for (const double peak : {1e12, 5e12, 20e12, 100e12}) {
        device.peak_flops = peak;
        const double time_s = device_time_s(square(512, NumberType::fp32), device);
        QVERIFY2(time_s <= last_s, qPrintable(QString("%1 FLOP/s").arg(peak)));
        last_s = time_s;
    }
}

void TestDeviceTime::measured_by_alias() {
    DeviceModel model = round_model();
    model.aliases = {"Driver Name"};
    const Device device = device_of(model);
    Op op = op_of("op", "relu", {8});
    op.time_s["driver-name"].forward_s = 0.5;
    QCOMPARE(measured_time_s(op, device).value_or(0), 0.5);
    op.time_s["Round"].forward_s = 0.25;
    QCOMPARE(measured_time_s(op, device).value_or(0), 0.25);
    op.phase = Phase::backward;
    QVERIFY(!measured_time_s(op, device));
    // The time that the model's own entry does not have.
    op.time_s["driver-name"].backward_s = 0.75;
    QCOMPARE(measured_time_s(op, device).value_or(0), 0.75);
}

void TestDeviceTime::more_work_takes_longer() {
    Random random(7);
    const Device device = changed([](DeviceModel& model, Efficiencies& shares) {
        shares.half_depth = 64;
        shares.half_width = 16;
        shares.half_outputs_per_tflops = 1e4;
        shares.cache_speed = 3;
        model.cache_bytes = 1e7;
    });
    for (int i = 0; i < 2000; ++i) {
        OpWork work = square(1, i % 2 == 0 ? NumberType::fp32 : NumberType::fp16);
        const auto extent = [&] { return std::pow(2.0, random.uniform() * 12); };
        ProductShape& shape = work.products[0];
        shape = {1, extent(), extent(), extent(), 0, false};
        shape.flops = 2 * shape.rows * shape.columns * shape.depth;
        work.bytes =
            4 * (shape.rows * shape.depth + shape.columns * shape.depth + shape.rows * shape.columns);
        OpWork more = work;
        ProductShape& larger = more.products[0];
        larger.rows *= 1 + random.uniform();
        larger.flops = 2 * larger.rows * larger.columns * larger.depth;
        more.bytes *= 1 + random.uniform();
        // Saturation is no faster than proportional: twice the work never takes less time.
        const bool split_differs =
            (std::min(shape.rows, shape.columns) <= 64) != (std::min(larger.rows, larger.columns) <= 64);
        if (split_differs) continue;
        QVERIFY(device_time_s(more, device) >= device_time_s(work, device) * (1 - 1e-9));
        const double share = device_busy_share(work, device);
        QVERIFY(share > 0 && share <= 1);
    }
}

}  // namespace
}  // namespace placewright

QTEST_APPLESS_MAIN(placewright::TestDeviceTime)
#include "tst_device_time.moc"
