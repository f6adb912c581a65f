// SPDX-License-Identifier: MIT
// Seconds of ops and transfers.
#include <cmath>

#include <QtTest>

#include "core/cost/cost_model.hpp"
#include "core/cost/op_work.hpp"
#include "core/cost/problem.hpp"
#include "core/graph/training.hpp"
#include "tests/support/costs.hpp"
#include "tests/support/graphs.hpp"

namespace placewright {

using test::device_of, test::machine_of, test::model_time_s, test::op_of, test::small_network,
    test::with_states;

class TestCost : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void models_by_name();
    void traffic_data();
    void traffic();
    void traffic_counts_a_tensor_once();
    void roofline_data();
    void roofline();
    void gradients_of_views();
    void paleo();
    void paleo_padding();
    void optimizer_traffic();
    void measured();
    void transfer_data();
    void transfer();
    void uncountable_times();
    void times_stay_finite();
    void exprimo_takes_the_sender_s_channel();
    void embedding_reads_rows();
    void look_ups_read_what_they_return();
    void weights_that_are_not_trained_are_read();
    void ceilings();
    void half_efficiency();
};

void TestCost::models_by_name() {
    QCOMPARE(cost_models().size(), std::size_t{4});
    for (const CostModel& model : cost_models()) {
        QCOMPARE(find_cost_model(model.id), &model);
        QVERIFY(!model.title.empty() && !model.help.empty());
    }
    const Graph graph = small_network();
    const Device device = device_of(1e6, 1e3, 0.5, 2);
    QCOMPARE(model_time_s("paleo", graph, 1, device), paleo_time_s(graph, 1, device));
    QCOMPARE(CostOptions{}.model->id, std::string_view("roofline"));
    QVERIFY(find_cost_model("Roofline") == nullptr);
    QVERIFY(find_cost_model("") == nullptr);
}

void TestCost::traffic_data() {
    QTest::addColumn<QString>("op");
    QTest::addColumn<double>("read");
    QTest::addColumn<double>("written");
    QTest::newRow("source") << "input" << 0.0 << 400.0;
    QTest::newRow("forward: input and parameters") << "conv" << 400.0 + 600.0 << 1000.0;
    QTest::newRow("forward without parameters") << "flat" << 1000.0 << 1000.0;
    // The backward op of the loss starts from its output; cross_entropy keeps its input.
    QTest::newRow("backward of the loss") << "loss/backward" << 4.0 + 1000.0 << 2000.0;
    // Reads the gradient of its output and its parameters; writes the gradient of its input.
    QTest::newRow("backward with parameters") << "second/backward" << 1000.0 + 80.0 << 1000.0;
    // Reads the gradient of its output and its input; writes a gradient of the size of the parameters.
    QTest::newRow("weight gradient") << "second/weight_gradient" << 1000.0 + 1000.0 << 80.0;
    QTest::newRow("weight gradient of the first") << "conv/weight_gradient" << 1000.0 + 400.0 << 600.0;
    // Reads gradient and parameters, writes parameters.
    QTest::newRow("update") << "conv/update" << 600.0 + 600.0 << 600.0;
}

void TestCost::traffic() {
    QFETCH(QString, op);
    QFETCH(double, read);
    QFETCH(double, written);
    const Graph graph = training_graph(small_network());
    const auto id = graph.find(op.toStdString());
    QVERIFY(id.has_value());
    const OpTraffic traffic = op_traffic(graph, *id);
    QCOMPARE(traffic.read_bytes, read);
    QCOMPARE(traffic.written_bytes, written);
}

void TestCost::traffic_counts_a_tensor_once() {
    const Graph graph = small_network();
    QCOMPARE(graph.op(4).inputs.size(), std::size_t{2});
    QCOMPARE(op_traffic(graph, 4).read_bytes, 1000.0);
}

void TestCost::roofline_data() {
    QTest::addColumn<QString>("op");
    QTest::addColumn<double>("peak");
    QTest::addColumn<double>("bandwidth");
    QTest::addColumn<double>("seconds");
    // All rows have efficiency 0.5 and overhead 2 s. conv: 1e6 FLOPs, 2000 bytes.
    QTest::newRow("bound by computing: 1e6 / (1e6 / 2)") << "conv" << 1e6 << 1e6 << 2.0 + 2.0;
    QTest::newRow("bound by memory: 2000 / (1000 / 2)") << "conv" << 1e6 << 1e3 << 2.0 + 4.0;
    QTest::newRow("a view takes no time, not even a launch") << "flat" << 1e6 << 1e3 << 0.0;
    QTest::newRow("nor does a source") << "input" << 1e6 << 1e3 << 0.0;
    // Two ops read it: 1000 + 1000 bytes are read and 1000 written.
    QTest::newRow("sum of gradients: 3000 / (1000 / 2)") << "flat/backward" << 1e6 << 1e3 << 2.0 + 6.0;
    // 2 FLOPs for each of 150 parameters; 1800 bytes.
    QTest::newRow("update, computing: 300 / (100 / 2)") << "conv/update" << 100.0 << 1e6 << 2.0 + 6.0;
    QTest::newRow("update, memory: 1800 / (900 / 2)") << "conv/update" << 1e6 << 900.0 << 2.0 + 4.0;
    // A weight gradient costs as much as the forward op; 2000 bytes.
    QTest::newRow("weight gradient: 1e6 / (1e5 / 2)") << "conv/weight_gradient" << 1e5 << 1e6 << 2.0 + 20.0;
    QTest::newRow("backward, memory: 2080 / (208 / 2)") << "second/backward" << 1e9 << 208.0 << 2.0 + 20.0;
}

void TestCost::roofline() {
    QFETCH(QString, op);
    QFETCH(double, peak);
    QFETCH(double, bandwidth);
    QFETCH(double, seconds);
    const Graph graph = training_graph(small_network());
    QCOMPARE(roofline_time_s(graph, *graph.find(op.toStdString()), device_of(peak, bandwidth, 0.5, 2)),
             seconds);
}

void TestCost::gradients_of_views() {
    // x has 10 rows of 100 bytes; two of them are multiplied. w is broadcast to 10 rows.
    const auto device = device_of(1e12, 1e3, 0.5, 2);
    GraphBuilder builder("views", 1);
    Op rows = op_of("p", "parameter", 0, {10, 25}), row = op_of("w", "parameter", 0, {25});
    rows.parameter_bytes = 1000;
    row.parameter_bytes = 100;
    builder.add(rows, {});
    builder.add(op_of("x", "relu", 0, {10, 25}), {"p"});
    builder.add(op_of("a", "select", 0, {25}), {"x"});
    builder.add(op_of("b", "select", 0, {25}), {"x"});
    builder.add(op_of("product", "mul", 0, {25}), {"a", "b"});
    builder.add(op_of("flat", "flatten", 0, {25}), {"product"});
    builder.add(row, {});
    builder.add(op_of("wide", "expand", 0, {10, 25}), {"w"});
    builder.add(op_of("loss", "mse_loss", 0, {}), {"flat", "wide"});
    const Graph graph = training_graph(builder.build());
    const auto time_s = [&](const char* op) { return roofline_time_s(graph, *graph.find(op), device); };
    for (const char* free : {"a", "flat", "wide", "flat/backward"}) QCOMPARE(time_s(free), 0.0);
    // 1000 bytes of zeros, then a row is read and written.
    QCOMPARE(time_s("a/backward"), 2 * 2.0 + (1000 + 100 + 100) / 500.0);
    // The sum of two gradients of the whole; then the derivative reads it and x, and writes.
    QCOMPARE(time_s("x/backward"), 2 * 2.0 + 3 * 1000 / 500.0 + 3 * 1000 / 500.0);
    // The gradients of ten rows are summed.
    QCOMPARE(time_s("wide/backward"), 2.0 + (1000 + 100) / 500.0);
}

void TestCost::paleo() {
    const Graph graph = training_graph(small_network());
    const auto time_s = [&](const char* op) {
        return paleo_time_s(graph, *graph.find(op), device_of(1e6, 1e3, 0.5, 2));
    };
    // The sum of both without launch overhead: 2e6 / 5e5 + (1000 + 80 + 1000) / 500.
    QCOMPARE(time_s("second"), 4.0 + 4.16);
    QCOMPARE(time_s("conv/weight_gradient"), 2.0 + 4.0);
    QCOMPARE(time_s("conv/update"), 300 / 5e5 + 1800 / 500.0);
    QCOMPARE(time_s("flat"), 0.0);
    QCOMPARE(time_s("input"), 0.0);
}

void TestCost::paleo_padding() {
    // 10 x 10 padded by 1 above and below, 2 left and right: 12 x 14 = 168 values instead of 100, so 400
    // bytes become 672.
    const Graph graph = training_graph(small_network());
    const Device device = device_of(1e6, 1e3, 0.5, 2);
    QCOMPARE(paleo_time_s(graph, *graph.find("conv"), device), 2.0 + (672.0 + 600.0 + 1000.0) / 500.0);
    QCOMPARE(roofline_time_s(graph, *graph.find("conv"), device), 2.0 + 2000.0 / 500.0);
}

void TestCost::optimizer_traffic() {
    // 600 bytes of parameters: gradient, parameters and states are read, parameters and states written.
    const Graph graph = training_graph(small_network());
    const OpId update = *graph.find("conv/update");
    for (const double states : {0.0, 1.0, 2.0}) {
        const OpTraffic traffic = op_traffic(graph, update, states);
        QCOMPARE(traffic.read_bytes, 1200 + 600 * states);
        QCOMPARE(traffic.written_bytes, 600 + 600 * states);
    }
    const Device device = device_of(1e6, 1e3, 0.5, 2);
    QCOMPARE(roofline_time_s(graph, update, device, 2), 2.0 + 4200 / 500.0);
    QCOMPARE(model_time_s("measured", graph, update, device, 2), 2.0 + 4200 / 500.0);
    QCOMPARE(paleo_time_s(graph, update, device, 2), 300 / 5e5 + 4200 / 500.0);
    QCOMPARE(model_time_s("exprimo", graph, update, device, 2), 0.0);
    QCOMPARE(device_share(graph, update, device, 2), 8.4 / 10.4);
    for (const char* other : {"conv", "conv/weight_gradient"})
        QCOMPARE(roofline_time_s(graph, *graph.find(other), device, 2),
                 roofline_time_s(graph, *graph.find(other), device));

    const auto update_s = [&](ProblemOptions options) {
        const auto problem = test::problem(small_network(), machine_of({device}, {}, {}), options);
        return problem->time_s(*problem->graph->find("conv/update"), 0);
    };
    const auto close = [](double a, double b) { return std::abs(a - b) < 1e-9; };
    QVERIFY(close(update_s(with_states(0)), 2 + 1800 / 500.0));
    QVERIFY(close(update_s({}), 2 + 3000 / 500.0));  // momentum
    QVERIFY(close(update_s(with_states(2)), 2 + 4200 / 500.0));
    // Exprimo's memory model holds no optimizer states, so none are moved.
    ProblemOptions without = with_states(2);
    without.memory = MemoryModel::exprimo;
    QVERIFY(close(update_s(without), 2 + 1800 / 500.0));
}

void TestCost::measured() {
    const Graph graph = training_graph(small_network());
    const Device device = device_of(1e6, 1e6, 0.5, 2);
    const auto time_s = [&](const char* op, const Device& on) {
        return model_time_s("measured", graph, *graph.find(op), on);
    };
    QCOMPARE(time_s("conv", device), 0.25);
    // The first convolution has only a weight gradient; the backward time of the second is split evenly.
    QCOMPARE(time_s("conv/weight_gradient", device), 0.5);
    QCOMPARE(time_s("second/backward", device), 0.375);
    QCOMPARE(time_s("second/weight_gradient", device), 0.375);
    // Without a measured time the roofline is used.
    QCOMPARE(time_s("conv/update", device), roofline_time_s(graph, *graph.find("conv/update"), device));
    QCOMPARE(time_s("loss", device), roofline_time_s(graph, *graph.find("loss"), device));
    Device other = device;
    other.model = "Other";
    QCOMPARE(time_s("conv", other), 2.0 + 2.0);
}

void TestCost::transfer_data() {
    QTest::addColumn<double>("bytes");
    QTest::addColumn<double>("seconds");
    // 1000 bytes per second, latency 1 s; efficiency 0.1 up to 100 bytes, 0.5 at 10 000, 1 from 40 000.
    QTest::newRow("nothing") << 0.0 << 1.0;
    QTest::newRow("below the table") << 10.0 << 1.0 + 10 / (1000 * 0.1);
    QTest::newRow("first entry") << 100.0 << 1.0 + 100 / (1000 * 0.1);
    // 1000 is half-way between 100 and 10 000 on a log scale.
    QTest::newRow("half-way") << 1000.0 << 1.0 + 1000 / (1000 * 0.3);
    QTest::newRow("second entry") << 10000.0 << 1.0 + 10000 / (1000 * 0.5);
    QTest::newRow("half-way again") << 20000.0 << 1.0 + 20000 / (1000 * 0.75);
    QTest::newRow("last entry") << 40000.0 << 1.0 + 40000 / 1000.0;
    QTest::newRow("above the table") << 8e6 << 1.0 + 8e6 / 1000;
}

void TestCost::transfer() {
    QFETCH(double, bytes);
    QFETCH(double, seconds);
    Channel channel;
    channel.name = "table";
    channel.bandwidth = 1000;
    channel.latency_s = 1;
    channel.efficiency = 0.01;
    channel.efficiency_by_bytes = {{100, 0.1}, {10000, 0.5}, {40000, 1}};
    QCOMPARE(transfer_time_s(channel, bytes), seconds);

    channel.efficiency_by_bytes.clear();
    QCOMPARE(transfer_time_s(channel, bytes), 1 + bytes / (1000 * 0.01));
    channel.efficiency_by_bytes = {{500, 0.25}};
    QCOMPARE(transfer_time_s(channel, bytes), 1 + bytes / (1000 * 0.25));
}

/// 12 indices of 8 bytes select numbers of 16 bytes each from a table, which is a parameter of the op or an
/// input tensor in either order; a table that is smaller than what is returned is read once.
void TestCost::look_ups_read_what_they_return() {
    for (const std::int64_t rows : {62'500, 3}) {
        for (const std::vector<std::string>& inputs :
             {std::vector<std::string>{"indices"}, {"indices", "table"}, {"table", "indices"}}) {
            GraphBuilder builder("look-up", 1, Training::none);
            Op indices, table, look_up;
            indices.name = "indices";
            indices.kind = table.kind = "input";
            indices.outputs = {make_tensor({12}, DType::int64)};
            table.name = "table";
            table.outputs = {make_tensor({rows, 4})};
            builder.add(indices, {});
            builder.add(table, {});
            look_up.name = "look_up";
            look_up.kind = "index_select";
            look_up.parameter_bytes = inputs.size() == 1 ? rows * 16 : 0;
            look_up.outputs = {make_tensor({12, 4})};
            builder.add(look_up, inputs);
            const Graph graph = builder.build();
            const double read = rows == 3 && inputs.size() == 1 ? 48.0 + 96
                                : rows == 3                     ? 96.0 + 48
                                                                : 96.0 + 192;
            QCOMPARE(op_traffic(graph, *graph.find("look_up")).read_bytes, read);
        }
    }
}

/// A linear map with weights that the file holds and nothing trains, and its gradient for its input.
void TestCost::weights_that_are_not_trained_are_read() {
    GraphBuilder builder("frozen", 4);
    Op x, first, frozen, loss;
    x.name = "x";
    x.kind = "input";
    x.outputs = {make_tensor({4, 8})};
    builder.add(x, {});
    first.name = "first";
    first.kind = "linear";
    first.parameter_bytes = 256;
    first.outputs = {make_tensor({4, 8})};
    builder.add(first, {"x"});
    frozen.name = "frozen";
    frozen.kind = "linear";
    frozen.resident_bytes = 1'000'000;
    frozen.read_bytes = 1'000'000;
    frozen.flops = 1000;
    frozen.outputs = {make_tensor({4, 8})};
    builder.add(frozen, {"first"});
    loss.name = "loss";
    loss.kind = "cross_entropy";
    loss.outputs = {make_tensor({})};
    builder.add(loss, {"frozen"});
    const Graph graph = training_graph(builder.build());
    QCOMPARE(op_traffic(graph, *graph.find("frozen")).read_bytes, 128.0 + 1'000'000);
    QCOMPARE(op_traffic(graph, *graph.find("frozen/backward")).read_bytes, 128.0 + 1'000'000);
    QVERIFY(op_work(graph, *graph.find("frozen/backward")).bytes > 1'000'000);
    QVERIFY(!graph.find("frozen/weight_gradient"));
}

/// 12 indices of 8 bytes select rows of 16 bytes from a table of 1 MB, which is a parameter of the op or an
/// input tensor.
void TestCost::embedding_reads_rows() {
    for (const bool own : {true, false}) {
        GraphBuilder builder("look-up", 1, Training::none);
        Op indices, table, look_up;
        indices.name = "indices";
        indices.kind = "input";
        indices.outputs = {make_tensor({12}, DType::int64)};
        builder.add(indices, {});
        if (!own) {
            table.name = "table";
            table.kind = "parameter";
            table.parameter_bytes = 1'000'000;
            table.outputs = {make_tensor({62'500, 4})};
            builder.add(table, {});
        }
        look_up.name = "look_up";
        look_up.kind = "embedding";
        look_up.parameter_bytes = own ? 1'000'000 : 0;
        // A buffer of the module beside it is no table.
        look_up.resident_bytes = 16;
        look_up.outputs = {make_tensor({12, 4})};
        builder.add(look_up,
                    own ? std::vector<std::string>{"indices"} : std::vector<std::string>{"indices", "table"});
        const Graph graph = builder.build();
        const OpTraffic traffic = op_traffic(graph, *graph.find("look_up"));
        QCOMPARE(traffic.read_bytes, 12.0 * 8 + 12 * 16);
        QCOMPARE(traffic.written_bytes, 12.0 * 16);
    }
}

void TestCost::uncountable_times() {
    const auto refused = [](double flops, double bandwidth) {
        Machine machine = test::uniform_machine(2);
        std::vector<Device> devices(machine.devices().begin(), machine.devices().end());
        for (Device& device : devices) device.peak_flops = 1;
        std::vector<Channel> channels(machine.channels().begin(), machine.channels().end());
        for (Channel& channel : channels) channel.bandwidth = bandwidth;
        machine = Machine("slow", devices, channels, {machine.routes().begin(), machine.routes().end()});
        QVERIFY_THROWS_EXCEPTION(PlacementError, test::problem(test::chain(3, flops), machine));
    };
    refused(1.7e308, 1e9);
    refused(1, 1e-305);
}

void TestCost::times_stay_finite() {
    // Much longer than the fastest op, by which times are rounded: they stay as they are, and their sums are
    // finite.
    const auto step_s = [](auto change) {
        Machine machine = test::uniform_machine(2);
        std::vector<Device> devices(machine.devices().begin(), machine.devices().end());
        std::vector<Channel> channels(machine.channels().begin(), machine.channels().end());
        for (Device& device : devices) device.peak_flops = 1e300;
        change(devices, channels);
        const auto problem = test::problem(
            test::chain(3, 1),
            Machine("odd", devices, channels, {machine.routes().begin(), machine.routes().end()}));
        for (const double seconds : problem->op_time_s)
            QVERIFY2(std::isfinite(seconds), qPrintable(QString::number(seconds)));
        for (const double seconds : problem->transfer_s)
            QVERIFY2(std::isfinite(seconds), qPrintable(QString::number(seconds)));
        for (const double seconds : problem->channel_latency_s)
            QVERIFY2(std::isfinite(seconds), qPrintable(QString::number(seconds)));
    };
    step_s([](auto&, auto& channels) { channels[0].latency_s = 1e199; });
    step_s([](auto& devices, auto&) { devices[1].launch_overhead_s = 1e199; });
    const auto refused = [&](auto change) { QVERIFY_THROWS_EXCEPTION(PlacementError, step_s(change)); };
    refused([](auto&, auto& channels) { channels[0].latency_s = 1e300; });
    refused([](auto&, auto& channels) { channels[0].bandwidth = 1e-288; });
    refused([](auto& devices, auto&) { devices[1].launch_overhead_s = 1e305; });
}

void TestCost::exprimo_takes_the_sender_s_channel() {
    const Machine base = test::uniform_machine(2);
    std::vector<Route> routes(base.routes().begin(), base.routes().end());
    for (Route& route : routes) route.channels = {0, 1};
    const Machine machine("two links", {base.devices().begin(), base.devices().end()},
                          {base.channels().begin(), base.channels().end()}, routes);
    ProblemOptions options;
    QCOMPARE(test::problem(test::chain(3), machine, options)->machine->route(0, 1).size(), std::size_t{2});
    options.cost.model = find_cost_model("exprimo");
    const auto problem = test::problem(test::chain(3), machine, options);
    QCOMPARE(problem->machine->route(1, 0).size(), std::size_t{1});
    QCOMPARE(problem->machine->route(1, 0)[0], ChannelId{0});
    QCOMPARE(problem->route_channel, (std::vector<ChannelId>(problem->route_channel.size(), 0)));
}

void TestCost::ceilings() {
    // conv: 1e6 FLOPs, 2000 bytes; loss: 100 FLOPs, 1004 bytes.
    const Graph graph = training_graph(small_network());
    const auto time_s = [&](const char* op, const Device& device) {
        return roofline_time_s(graph, *graph.find(op), device);
    };
    Device device = device_of(1e6, 1e6, 0.5, 2);
    device.efficiency_by_kind = {{"conv2d", 0.25}, {"relu", 1}};
    QCOMPARE(time_s("conv", device), 2 + 1e6 / (0.25 * 1e6));
    QCOMPARE(time_s("conv/weight_gradient", device),
             2 + 1e6 / (0.25 * 1e6));  // derived ops have the same kind
    QCOMPARE(time_s("loss", device), 2 + 1004 / (0.5 * 1e6));
    device.memory_efficiency = 0.1;
    QCOMPARE(time_s("loss", device), 2 + 1004 / (0.1 * 1e6));
    QCOMPARE(time_s("conv", device), 2 + 4.0);
    device.memory_bandwidth = 1000;
    QCOMPARE(time_s("conv", device), 2 + 2000 / (0.1 * 1000));
    // Other cost models use one efficiency.
    QCOMPARE(paleo_time_s(graph, *graph.find("conv"), device), 1e6 / (0.5 * 1e6) + 2272 / (0.5 * 1000));
}

void TestCost::half_efficiency() {
    const Graph graph = training_graph(small_network());
    const auto time_s = [&](const char* op, const Device& device) {
        return roofline_time_s(graph, *graph.find(op), device);
    };
    Device device = device_of(1e6, 1e6, 0.5, 2);
    device.half_efficiency_flops = 1e6;
    // An op of this many FLOPs takes twice its time at the ceiling of 5e5 FLOP/s; one of twice as many takes
    // 1.5 times.
    QCOMPARE(time_s("conv", device), 2 + 2 * 2.0);
    QCOMPARE(time_s("second", device), 2 + 1.5 * 4.0);
    // Memory traffic is not affected, nor are ops without FLOPs.
    device.memory_bandwidth = 100;
    QCOMPARE(time_s("conv", device), 2 + 2000 / 50.0);
    GraphBuilder builder("copy", 1, Training::none);
    builder.add(op_of("from", "input", 0, {250}), {});
    builder.add(op_of("to", "cat", 0, {250}), {"from"});
    QCOMPARE(roofline_time_s(builder.build(), 1, device), 2 + 2000 / 50.0);
    QCOMPARE(time_s("flat", device), 0.0);
}

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestCost)
#include "tst_cost.moc"
