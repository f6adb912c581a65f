// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <QtTest>

#include "core/base/random.hpp"
#include "core/cost/cost_model.hpp"
#include "core/cost/problem.hpp"
#include "core/graph/training.hpp"
#include "tests/support/graphs.hpp"

namespace placewright {
namespace {

Device device_of(double peak_flops, double memory_bandwidth, double efficiency, double launch_overhead_s) {
    Device device;
    device.name = "gpu:0";
    device.model = "Test";
    device.peak_flops = peak_flops;
    device.memory_bandwidth = memory_bandwidth;
    device.memory_bytes = 1e9;
    device.efficiency = efficiency;
    device.launch_overhead_s = launch_overhead_s;
    return device;
}

Op op_of(const char* name, const char* kind, double flops, std::vector<std::int64_t> shape) {
    Op op;
    op.name = name;
    op.kind = kind;
    op.flops = flops;
    op.outputs = {make_tensor(std::move(shape))};
    return op;
}

/// input 400 bytes -> conv with 1000 output bytes, 600 bytes of parameters, 1e6 FLOPs -> second, 80 bytes ->
/// flat -> loss, which reads it twice.
Graph small_network(Training training = Training::implicit) {
    GraphBuilder builder("small", 1, training);
    Op conv = op_of("conv", "conv2d", 1e6, {250});
    conv.parameter_bytes = 600;
    conv.attributes["padding"] = "[1,2]";
    conv.time_s["Test"] = {.forward_s = 0.25, .backward_s = 0.5};
    Op second = op_of("second", "conv2d", 2e6, {250});
    second.parameter_bytes = 80;
    second.time_s["Test"] = {.forward_s = 0.125, .backward_s = 0.75};
    builder.add(op_of("input", "input", 0, {1, 1, 10, 10}), {});
    builder.add(conv, {"input"});
    builder.add(second, {"conv"});
    builder.add(op_of("flat", "flatten", 0, {250}), {"second"});
    builder.add(op_of("loss", "cross_entropy", 100, {}), {"flat", "flat"});
    return builder.build();
}

ProblemOptions with_model(const CostModel& model) {
    ProblemOptions options;
    options.cost.model = &model;
    return options;
}

ProblemOptions with_efficiencies(std::optional<double> compute, std::optional<double> channel) {
    ProblemOptions options;
    options.cost.compute_efficiency = compute;
    options.cost.channel_efficiency = channel;
    return options;
}

ProblemOptions with_states(double states, bool inference = false) {
    ProblemOptions options;
    options.optimizer_states = states;
    options.inference = inference;
    return options;
}

Machine machine_of(std::vector<Device> devices, std::vector<Channel> channels, std::vector<Route> routes) {
    return Machine("machine", std::move(devices), std::move(channels), std::move(routes));
}

std::shared_ptr<const Problem> constrained_problem(std::vector<std::string> first,
                                                   std::vector<std::string> second) {
    GraphBuilder builder("constrained", 1, Training::none);
    Op a = op_of("a", "relu", 1e9, {1});
    a.devices = std::move(first);
    a.colocate = "together";
    Op b = a;
    b.name = "b";
    b.devices = std::move(second);
    builder.add(a, {});
    builder.add(b, {"a"});
    builder.add(op_of("c", "relu", 1e9, {1}), {"b"});
    Machine base = test::uniform_machine(3);
    std::vector<Device> devices(base.devices().begin(), base.devices().end());
    devices[0].name = "cpu:0";
    devices[0].kind = DeviceKind::cpu;
    devices[0].peak_flops /= 10;
    devices[2].peak_flops *= 2;
    return test::problem(builder.build(),
                         Machine("mixed", devices, {base.channels().begin(), base.channels().end()},
                                 {base.routes().begin(), base.routes().end()}));
}

QString message_of(const auto& call) {
    try {
        call();
    } catch (const PlacementError& error) {
        return QString::fromStdString(error.what());
    }
    return {};
}

}  // namespace

class TestCost : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void models_by_name();
    void traffic_data();
    void traffic();
    void traffic_counts_a_tensor_once();
    void roofline_data();
    void roofline();
    void paleo();
    void paleo_padding();
    void optimizer_traffic();
    void measured();
    void transfer_data();
    void transfer();

    void problem_tensors_data();
    void problem_tensors();
    void problem_times();
    void problem_routes();
    void uncountable_times();
    void times_stay_finite();
    void exprimo_takes_the_sender_s_channel();
    void embedding_reads_rows();
    void problem_channel_classes();
    void problem_resident_bytes();
    void problem_shared_memory();
    void problem_works_in_place();
    void problem_recomputes();
    void problem_allowed_devices();
    void problem_without_allowed_device();
    void problem_efficiencies();
    void problem_groups();
    void ceilings();
    void half_efficiency();
    void share_of_a_device();
    void problem_shares();
    void problem_workspace();
    void problem_accumulation();
    void problem_memory_limits();
    void problem_views();
    void problem_in_place_data();
    void problem_in_place();
    void problem_crossing();
    void problem_keeps_the_machine();
    void problem_ticks_data();
    void problem_ticks();
    void problem_ticks_of_nothing();

    void check_placement_errors();
    void single_device();
};

void TestCost::models_by_name() {
    QCOMPARE(cost_models().size(), std::size_t{4});
    for (const CostModel& model : cost_models()) {
        QCOMPARE(find_cost_model(model.id), &model);
        QVERIFY(!model.title.empty() && !model.help.empty());
    }
    QVERIFY(find_cost_model("paleo")->op_time_s == &paleo_time_s);
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
    // Reads the gradient of its output, its input and its parameters; writes the gradient of its input.
    QTest::newRow("backward with parameters") << "second/backward" << 1000.0 + 1000.0 + 80.0 << 1000.0;
    // Reads the same without the parameters; writes a gradient of their size.
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
    QTest::newRow("nor the backward of a view") << "flat/backward" << 1e6 << 1e3 << 0.0;
    // 2 FLOPs for each of 150 parameters; 1800 bytes.
    QTest::newRow("update, computing: 300 / (100 / 2)") << "conv/update" << 100.0 << 1e6 << 2.0 + 6.0;
    QTest::newRow("update, memory: 1800 / (900 / 2)") << "conv/update" << 1e6 << 900.0 << 2.0 + 4.0;
    // A weight gradient costs as much as the forward op; 2000 bytes.
    QTest::newRow("weight gradient: 1e6 / (1e5 / 2)") << "conv/weight_gradient" << 1e5 << 1e6 << 2.0 + 20.0;
    QTest::newRow("backward, memory: 3080 / (308 / 2)") << "second/backward" << 1e9 << 308.0 << 2.0 + 20.0;
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
    QCOMPARE(measured_time_s(graph, update, device, 2), 2.0 + 4200 / 500.0);
    QCOMPARE(paleo_time_s(graph, update, device, 2), 300 / 5e5 + 4200 / 500.0);
    QCOMPARE(find_cost_model("exprimo")->op_time_s(graph, update, device, 2), 0.0);
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
        return measured_time_s(graph, *graph.find(op), on);
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

void TestCost::problem_tensors_data() {
    QTest::addColumn<quint64>("seed");
    QTest::addColumn<bool>("training");
    for (quint64 seed = 0; seed < 20; ++seed) QTest::addRow("%llu", seed) << seed << (seed % 2 == 0);
}

void TestCost::problem_tensors() {
    QFETCH(quint64, seed);
    QFETCH(bool, training);
    const auto problem =
        test::problem(test::random_graph(seed, 30, 4, training ? Training::implicit : Training::none),
                      test::random_machine(seed));
    const Graph& graph = *problem->graph;
    QCOMPARE(problem->ops, graph.size());
    QVERIFY(training ? graph.size() > 30 : graph.size() == 30);
    QCOMPARE(problem->forward->size(), std::size_t{30});
    QCOMPARE(problem->output_begin.size(), std::size_t{problem->ops} + 1);
    QCOMPARE(problem->output_begin.back(), problem->tensors);
    QCOMPARE(problem->consumer_begin.back(), problem->consumer.size());
    QCOMPARE(problem->input_begin.back(), problem->input.size());
    QCOMPARE(problem->input.size(), problem->consumer.size());

    std::vector<OpId> sources;
    for (OpId op = 0; op < graph.size(); ++op) {
        QCOMPARE(problem->output_begin[op + 1] - problem->output_begin[op], graph.op(op).outputs.size());
        for (std::uint32_t k = 0; k < graph.op(op).outputs.size(); ++k) {
            const TensorId tensor = problem->output_begin[op] + k;
            QCOMPARE(problem->producer[tensor], op);
            QCOMPARE(problem->tensor_bytes[tensor], static_cast<double>(graph.op(op).outputs[k].bytes));
            std::set<OpId> readers;
            for (OpId reader = 0; reader < graph.size(); ++reader) {
                if (std::ranges::count(graph.op(reader).inputs, TensorRef{op, k}) > 0) readers.insert(reader);
            }
            const std::vector<OpId> consumers(
                problem->consumer.begin() + problem->consumer_begin[tensor],
                problem->consumer.begin() + problem->consumer_begin[tensor + 1]);
            QCOMPARE(consumers, std::vector<OpId>(readers.begin(), readers.end()));
        }
        std::set<TensorId> reads;
        for (const TensorRef& input : graph.op(op).inputs)
            reads.insert(problem->output_begin[input.op] + input.output);
        std::vector<TensorId> inputs(problem->input.begin() + problem->input_begin[op],
                                     problem->input.begin() + problem->input_begin[op + 1]);
        std::ranges::sort(inputs);
        QCOMPARE(inputs, std::vector<TensorId>(reads.begin(), reads.end()));
        if (reads.empty()) sources.push_back(op);
    }
    QCOMPARE(problem->sources, sources);
}

void TestCost::problem_times() {
    const Machine machine = test::random_machine(7);
    for (const CostModel& model : cost_models()) {
        const auto problem = test::problem(small_network(), machine, with_model(model));
        QCOMPARE(problem->op_time_s.size(), std::size_t{problem->ops} * problem->devices);
        for (OpId op = 0; op < problem->ops; ++op) {
            for (DeviceId device = 0; device < problem->devices; ++device) {
                const double time_s = model.op_time_s(*problem->graph, op, machine.device(device), 1);
                QVERIFY(std::abs(problem->time_s(op, device) - time_s) <= problem->tick_s / 2);
            }
        }
        double sum_s = 0;
        for (const OpId op : problem->grouping.members[1]) sum_s += problem->time_s(op, 0);
        // The convolution, its weight gradient and update; for Exprimo its one backward op.
        QCOMPARE(problem->grouping.members[1].size(), std::size_t{model.id == "exprimo" ? 2U : 3U});
        QCOMPARE(problem->group_time_s(1, 0), sum_s);
    }
}

void TestCost::problem_routes() {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Machine machine = test::random_machine(seed);
        const auto problem = test::problem(test::chain(3), machine);
        for (DeviceId from = 0; from < problem->devices; ++from) {
            for (DeviceId to = 0; to < problem->devices; ++to) {
                const std::size_t pair = std::size_t{from} * problem->devices + to;
                const auto route = machine.route(from, to);
                QCOMPARE(
                    std::vector<ChannelId>(problem->route_channel.begin() + problem->route_begin[pair],
                                           problem->route_channel.begin() + problem->route_begin[pair + 1]),
                    std::vector<ChannelId>(route.begin(), route.end()));
            }
        }
    }
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
        QVERIFY_EXCEPTION_THROWN(test::problem(test::chain(3, flops), machine), PlacementError);
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
    const auto refused = [&](auto change) { QVERIFY_EXCEPTION_THROWN(step_s(change), PlacementError); };
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

void TestCost::problem_channel_classes() {
    // 12 channels of one speed form one class; a slower one and one with a table make three.
    const Machine base = test::uniform_machine(4);
    std::vector<Channel> channels(base.channels().begin(), base.channels().end());
    channels[3].bandwidth = 5e8;
    channels[7].efficiency_by_bytes = {{1000, 0.1}, {1e9, 0.9}};
    const Machine machine = machine_of({base.devices().begin(), base.devices().end()}, channels,
                                       {base.routes().begin(), base.routes().end()});
    QCOMPARE(test::problem(test::chain(3), base)->channel_classes, 1U);
    const auto problem = test::problem(test::random_graph(2, 20), machine);
    QCOMPARE(problem->channel_classes, 3U);
    QCOMPARE(problem->channel_class, (std::vector<std::uint32_t>{0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0}));
    QCOMPARE(problem->transfer_s.size(), std::size_t{problem->tensors} * 3);
    for (TensorId tensor = 0; tensor < problem->tensors; ++tensor) {
        for (ChannelId channel = 0; channel < problem->channels; ++channel) {
            const double time_s = transfer_time_s(channels[channel], problem->tensor_bytes[tensor]);
            QVERIFY(std::abs(problem->transfer_s[tensor * 3 + problem->channel_class[channel]] - time_s) <=
                    problem->tick_s / 2);
        }
    }
}

void TestCost::problem_resident_bytes() {
    const auto resident = [](const Graph& graph, const ProblemOptions& options) {
        const auto problem = test::problem(graph, test::uniform_machine(1), options);
        double sum = 0;
        for (const double bytes : problem->resident_bytes) sum += bytes;
        return std::pair(problem->resident_bytes[1], sum);
    };
    const Graph graph = small_network();
    QCOMPARE(resident(graph, {}), std::pair(1200.0, 1360.0));  // momentum
    QCOMPARE(resident(graph, with_states(0)), std::pair(600.0, 680.0));
    QCOMPARE(resident(graph, with_states(2)), std::pair(1800.0, 2040.0));
    QCOMPARE(resident(graph, with_states(2, true)), std::pair(600.0, 680.0));
    QCOMPARE(resident(small_network(Training::none), with_states(2)), std::pair(600.0, 680.0));
    // An explicit training graph has optimizer states too.
    QCOMPARE(resident(training_graph(graph), {}), std::pair(1200.0, 1360.0));
}

// Parameters read as a tensor are already resident; no op may overwrite them, nor a tensor of which a view
// is kept.
void TestCost::problem_shared_memory() {
    GraphBuilder builder("shared", 1, Training::none);
    const auto add = [&](const char* name, const char* kind, std::vector<std::string> inputs) {
        Op op = op_of(name, kind, 0, {250});
        op.in_place = op.kind == "relu";
        op.parameter_bytes = op.kind == "parameter" ? 1000 : 0;
        builder.add(std::move(op), std::move(inputs));
    };
    add("weights", "parameter", {});
    add("of_weights", "relu", {"weights"});
    add("seen_weights", "view", {"weights"});
    add("a", "add", {"of_weights", "seen_weights"});
    add("seen_a", "view", {"a"});
    add("of_a", "relu", {"seen_a"});
    add("seen_of_a", "view", {"of_a"});
    add("of_seen", "relu", {"seen_of_a"});
    add("end", "add", {"of_a", "of_seen"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(2));
    constexpr TensorId kNone = kNoTensor;
    QCOMPARE(problem->alias_of, (std::vector<TensorId>{kNone, kNone, 0, kNone, 3, 4, 5, kNone, kNone}));
    QCOMPARE(problem->output_bytes, (std::vector<double>{0, 1000, 0, 1000, 0, 0, 0, 1000, 1000}));
    QCOMPARE(problem->tensor_bytes, std::vector<double>(9, 1000));
    QCOMPARE(problem->resident_bytes[0], 1000.0);
}

// The relu may overwrite the norm's output, and again in the backward pass; the gelu keeps its input, and
// the pool's input has another size.
void TestCost::problem_works_in_place() {
    GraphBuilder builder("in place", 1, Training::implicit);
    Op conv = op_of("conv", "conv2d", 1e6, {250});
    conv.parameter_bytes = 40;
    builder.add(op_of("input", "input", 0, {250}), {});
    builder.add(conv, {"input"});
    builder.add(op_of("norm", "batch_norm", 1e3, {250}), {"conv"});
    builder.add(op_of("relu", "relu", 1e3, {250}), {"norm"});
    conv.name = "conv2";
    builder.add(conv, {"relu"});
    builder.add(op_of("gelu", "gelu", 1e3, {250}), {"conv2"});
    builder.add(op_of("pool", "max_pool2d", 1e3, {250}), {"gelu"});
    builder.add(op_of("loss", "mse_loss", 1e3, {}), {"pool"});
    const Graph graph = builder.build();
    const auto overwriting = [&](bool in_place, Recomputation recomputation) {
        ProblemOptions options;
        options.in_place = in_place;
        options.recomputation = recomputation;
        const auto problem = test::problem(graph, test::uniform_machine(2), options);
        std::set<std::string> ops;
        for (TensorId tensor = 0; tensor < problem->tensors; ++tensor) {
            if (problem->alias_of[tensor] != kNoTensor)
                ops.insert(problem->graph->op(problem->producer[tensor]).name);
        }
        return ops;
    };
    QCOMPARE(overwriting(false, Recomputation::none), std::set<std::string>());
    QCOMPARE(overwriting(true, Recomputation::none), (std::set<std::string>{"relu"}));
    QCOMPARE(overwriting(true, Recomputation::cheap), (std::set<std::string>{"relu", "relu/recompute"}));
}

// Exprimo's rules have no recomputation, and inference has nothing to recompute.
void TestCost::problem_recomputes() {
    ProblemOptions options;
    options.recomputation = Recomputation::cheap;
    options.cost.model = find_cost_model("exprimo");
    QVERIFY_EXCEPTION_THROWN(test::problem(small_network(), test::uniform_machine(2), options), GraphError);
    options.inference = true;
    QVERIFY(test::problem(small_network(), test::uniform_machine(2), options)->graph->training() ==
            Training::none);
}

void TestCost::problem_allowed_devices() {
    const auto allowed = [](std::vector<std::string> first, std::vector<std::string> second,
                            GroupId group = 0) {
        const auto problem = constrained_problem(std::move(first), std::move(second));
        const auto devices = problem->allowed_devices(group);
        return std::vector<DeviceId>(devices.begin(), devices.end());
    };
    using Devices = std::vector<DeviceId>;
    QCOMPARE(allowed({}, {}), (Devices{0, 1, 2}));
    QCOMPARE(allowed({"gpu"}, {}), (Devices{1, 2}));
    QCOMPARE(allowed({"cpu"}, {}), (Devices{0}));
    QCOMPARE(allowed({"gpu:1", "cpu"}, {}), (Devices{0, 1}));
    QCOMPARE(allowed({"gpu"}, {"gpu:2", "cpu:0"}), (Devices{2}));
    QCOMPARE(allowed({"cpu"}, {}, 1), (Devices{0, 1, 2}));
}

void TestCost::problem_without_allowed_device() {
    const QString apart = message_of([] { constrained_problem({"cpu"}, {"gpu"}); });
    QVERIFY2(apart.contains("\"a\"") && apart.contains("\"mixed\""), qPrintable(apart));
    const QString unknown = message_of([] { constrained_problem({"tpu:9"}, {}); });
    QVERIFY2(unknown.contains("\"a\""), qPrintable(unknown));
}

void TestCost::problem_efficiencies() {
    Device device = device_of(1e6, 1e6, 0.5, 0);
    Device second = device;
    second.name = "gpu:1";
    second.efficiency = 0.1;
    Channel channel;
    channel.name = "link";
    channel.bandwidth = 1000;
    channel.efficiency_by_bytes = {{1, 0.01}, {1e6, 0.02}};
    const Machine machine = machine_of({device, second}, {channel}, {{0, 1, {0}}, {1, 0, {0}}});
    const Graph graph = small_network(Training::none);
    const auto own = test::problem(graph, machine);
    QCOMPARE(own->time_s(1, 0), 2.0);
    QCOMPARE(own->time_s(1, 1), 10.0);
    QVERIFY(own->transfer_s[1] > 50);

    const auto set = test::problem(graph, machine, with_efficiencies(1, 0.25));
    QCOMPARE(set->time_s(1, 0), 1.0);
    QCOMPARE(set->time_s(1, 1), 1.0);
    QCOMPARE(set->transfer_s[1], 1000 / (1000 * 0.25));
    QCOMPARE(set->machine->device(1).efficiency, 1.0);
    QVERIFY_EXCEPTION_THROWN(test::problem(graph, machine, with_efficiencies(1.5, {})), MachineError);
}

void TestCost::problem_groups() {
    const auto problem = test::problem(small_network(), test::uniform_machine(2));
    QCOMPARE(problem->groups, 5U);
    for (OpId op = 0; op < problem->ops; ++op) {
        const Op& derived = problem->graph->op(op);
        const OpId forward = derived.forward_op == kInvalidOp ? op : derived.forward_op;
        QCOMPARE(problem->grouping.group_of[op], forward);
    }
    // Without training the graph is the one that was read, without ops of other phases.
    const auto inference =
        test::problem(training_graph(small_network()), test::uniform_machine(2), with_states(1, true));
    QCOMPARE(inference->ops, 5U);
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

void TestCost::share_of_a_device() {
    const Graph graph = training_graph(small_network());
    const auto share = [&](const char* op, const Device& device) {
        return device_share(graph, *graph.find(op), device);
    };
    Device device = device_of(1e6, 1e6, 0.5, 2);
    QCOMPARE(share("conv", device), 2.0 / 4.0);
    QCOMPARE(share("second", device), 4.0 / 6.0);
    device.half_efficiency_flops = 1e6;
    QCOMPARE(share("conv", device), 2.0 / 6.0);
    device.memory_bandwidth = 100;
    QCOMPARE(share("conv", device), 40.0 / 42.0);
    device.launch_overhead_s = 0;
    QCOMPARE(share("conv", device), 1.0);
    QCOMPARE(share("flat", device), 0.0);
    QCOMPARE(share("flat/backward", device), 0.0);
    // An op without FLOPs or bytes may need the whole device.
    GraphBuilder builder("unknown", 1, Training::none);
    builder.add(op_of("op", "custom", 0, {0}), {});
    QCOMPARE(device_share(builder.build(), 0, device), 1.0);
}

void TestCost::problem_shares() {
    const Machine machine = test::random_machine(3);
    std::vector<Device> devices(machine.devices().begin(), machine.devices().end());
    const auto problem_of = [&] {
        return test::problem(small_network(),
                             machine_of(devices, {machine.channels().begin(), machine.channels().end()},
                                        {machine.routes().begin(), machine.routes().end()}));
    };
    QVERIFY(problem_of()->op_share.empty());
    devices[0].streams = 2;
    const auto problem = problem_of();
    QCOMPARE(problem->op_share.size(), std::size_t{problem->ops} * problem->devices);
    for (OpId op = 0; op < problem->ops; ++op) {
        for (DeviceId device = 0; device < problem->devices; ++device) {
            const double share = problem->op_share[std::size_t{op} * problem->devices + device];
            const double exact = device_share(*problem->graph, op, devices[device], 1);
            QVERIFY(share >= exact && share <= 1 && share - exact < 0x1p-20);
        }
    }
}

void TestCost::problem_workspace() {
    // 3 input channels, kernel 5 x 3, output 2 x 8 x 7: 2 * 8 * 7 positions of a batch of 2, 3 * 15 values of
    // 4 bytes each.
    constexpr double kUnfolded = 2.0 * (8 * 7) * (3 * 15) * 4;
    const auto workspace = [](const char* kind, const char* kernel, std::vector<std::int64_t> from,
                              std::vector<std::int64_t> to, double limit_bytes, std::int64_t own_bytes = 0) {
        GraphBuilder builder("conv", 2);
        builder.add(op_of("data", "input", 0, std::move(from)), {});
        Op op = op_of("conv", kind, 1e6, std::move(to));
        op.parameter_bytes = 100;
        op.workspace_bytes = own_bytes;
        op.attributes["kernel"] = kernel;
        builder.add(std::move(op), {"data"});
        ProblemOptions options;
        options.workspace_limit_bytes = limit_bytes;
        return test::problem(builder.build(), test::uniform_machine(1), options)->workspace_bytes;
    };
    using Bytes = std::vector<double>;  // input, conv, weight gradient, update
    QCOMPARE(workspace("conv2d", "[5,3]", {2, 3, 12, 9}, {2, 16, 8, 7}, 0), (Bytes{0, 0, 0, 0}));
    QCOMPARE(workspace("conv2d", "[5,3]", {2, 3, 12, 9}, {2, 16, 8, 7}, 1e9),
             (Bytes{0, kUnfolded, kUnfolded, 0}));
    QCOMPARE(workspace("conv2d", "[5,3]", {2, 3, 12, 9}, {2, 16, 8, 7}, 1000.5), (Bytes{0, 1000, 1000, 0}));
    QCOMPARE(workspace("conv2d", "[5,3]", {2, 3, 12, 9}, {2, 16, 8, 7}, 0, 77)[1], 77.0);
    QCOMPARE(workspace("conv2d", "[5,3]", {2, 3, 12, 9}, {2, 16, 8, 7}, 50, 77)[1], 77.0);
    // One number for all dimensions, and one dimension.
    QCOMPARE(workspace("conv2d", "3", {2, 3, 10, 9}, {2, 16, 8, 7}, 1e9)[1], 2.0 * (8 * 7) * (3 * 9) * 4);
    QCOMPARE(workspace("conv1d", "3", {2, 3, 10}, {2, 16, 8}, 1e9)[1], 2.0 * 8 * (3 * 3) * 4);
    // The transposed convolution goes from the small side to the large one.
    QCOMPARE(workspace("conv_transpose2d", "[5,3]", {2, 16, 8, 7}, {2, 3, 12, 9}, 1e9)[1], kUnfolded);
    // A 1 x 1 convolution reads its input in place, unless it skips positions.
    QCOMPARE(workspace("conv2d", "1", {2, 3, 8, 7}, {2, 16, 8, 7}, 1e9)[1], 0.0);
    QCOMPARE(workspace("conv2d", "1", {2, 3, 16, 14}, {2, 16, 8, 7}, 1e9)[1], 2.0 * (8 * 7) * 3 * 4);
    // No workspace is known for these.
    QCOMPARE(workspace("conv2d", "\"same\"", {2, 3, 8, 7}, {2, 16, 8, 7}, 1e9)[1], 0.0);
    QCOMPARE(workspace("conv2d", "[-3,3]", {2, 3, 8, 7}, {2, 16, 8, 7}, 1e9)[1], 0.0);
    QCOMPARE(workspace("conv2d", "3", {2, 3}, {2, 16}, 1e9)[1], 0.0);
    QCOMPARE(workspace("max_pool2d", "3", {2, 3, 10, 9}, {2, 3, 8, 7}, 1e9)[1], 0.0);
}

void TestCost::problem_accumulation() {
    ProblemOptions options;
    options.accumulate_gradients = true;
    Device device = device_of(1e6, 1e6, 0.5, 2);
    const Machine machine = machine_of({device}, {}, {});
    QVERIFY(!test::problem(small_network(), machine)->accumulates);
    QVERIFY(test::problem(small_network(), machine)->accumulate_s.empty());
    const auto problem = test::problem(small_network(), machine, options);
    QVERIFY(problem->accumulates);
    QCOMPARE(problem->accumulate_s.size(), std::size_t{problem->ops});
    for (OpId op = 0; op < problem->ops; ++op) {
        // 150 additions and 1800 bytes for conv, 20 and 240 for second: the bytes take longer.
        const std::string& name = problem->graph->op(op).name;
        const double expected = name == "conv/update"     ? 2 + 1800 / 5e5
                                : name == "second/update" ? 2 + 240 / 5e5
                                                          : 0;
        QVERIFY2(std::abs(problem->accumulate_s[op] - expected) <= problem->tick_s / 2, name.c_str());
    }
    // The accumulated gradients are held beside parameters and momentum.
    const auto resident = [&](ProblemOptions with) {
        const auto made = test::problem(small_network(), machine, with);
        return std::accumulate(made->resident_bytes.begin(), made->resident_bytes.end(), 0.0);
    };
    QCOMPARE(resident(options), 3 * 680.0);
    // A graph with explicit update ops does not say whose gradients they apply; they accumulate what they
    // read from backward ops.
    const auto own_updates = [](bool read_gradients) {
        const Graph step = training_graph(small_network());
        GraphBuilder builder("own", 1, Training::explicit_);
        for (Op op : step.ops()) {
            op.forward_op = kInvalidOp;
            if (op.phase == Phase::update && !read_gradients) op.inputs = {{0, 0}};
            builder.add(std::move(op));
        }
        return builder.build();
    };
    const auto given = test::problem(own_updates(true), machine, options);
    for (OpId op = 0; op < given->ops; ++op) {
        QVERIFY(std::abs(given->accumulate_s[op] - problem->accumulate_s[op]) <=
                problem->tick_s + given->tick_s);
    }
    QCOMPARE(std::accumulate(given->resident_bytes.begin(), given->resident_bytes.end(), 0.0), 3 * 680.0);
    try {
        test::problem(own_updates(false), machine, options);
        QFAIL("nothing is added up");
    } catch (const PlacementError& error) {
        QVERIFY2(
            QString(error.what()).contains("op \"second/update\" updates parameters but reads no gradient"),
            error.what());
    }
    options.memory = MemoryModel::exprimo;
    QCOMPARE(resident(options), 680.0);
}

void TestCost::problem_memory_limits() {
    ProblemOptions options;
    options.usable_memory = 0.75;
    QCOMPARE(test::problem(small_network(), test::uniform_machine(2, 1e9))->memory_limit_bytes,
             (std::vector<double>{1e9, 1e9}));
    QCOMPARE(test::problem(small_network(), test::uniform_machine(2, 1e9), options)->memory_limit_bytes,
             (std::vector<double>{7.5e8, 7.5e8}));
}

void TestCost::problem_views() {
    GraphBuilder builder("views", 1);
    Op weights = op_of("conv", "conv2d", 1e6, {4, 4, 4});
    weights.parameter_bytes = 100;
    builder.add(op_of("data", "input", 0, {4, 4, 4}), {});
    builder.add(weights, {"data"});
    Op halves = op_of("halves", "split", 0, {2, 4, 4});
    halves.outputs.push_back(halves.outputs.front());
    builder.add(halves, {"conv"});
    builder.add(op_of("flat", "flatten", 0, {32}), {"halves:1"});
    builder.add(op_of("row", "select", 0, {8}), {"flat"});
    builder.add(op_of("loss", "cross_entropy", 100, {}), {"row", "halves:0"});
    ProblemOptions options;
    const Graph graph = builder.build();
    const auto alias = [&](const char* name, std::uint32_t output = 0) {
        const auto problem = test::problem(graph, test::uniform_machine(1), options);
        const TensorId of = problem->alias_of[problem->output_begin[*problem->graph->find(name)] + output];
        return of == kNoTensor ? std::string("none") : problem->graph->op(problem->producer[of]).name;
    };
    QCOMPARE(alias("data"), std::string("none"));
    QCOMPARE(alias("conv"), std::string("none"));
    QCOMPARE(alias("halves", 0), std::string("conv"));
    QCOMPARE(alias("halves", 1), std::string("conv"));
    QCOMPARE(alias("flat"), std::string("halves"));
    QCOMPARE(alias("row"), std::string("flat"));
    // The gradient of a flattened tensor is its gradient in another shape; that of a row is padded with
    // zeros, and that of the halves needs both.
    QCOMPARE(alias("flat/backward"), std::string("row/backward"));
    QCOMPARE(alias("row/backward"), std::string("none"));
    QCOMPARE(alias("halves/backward"), std::string("none"));
    options.memory = MemoryModel::exprimo;
    QCOMPARE(alias("flat"), std::string("none"));
}

void TestCost::problem_in_place_data() {
    QTest::addColumn<QString>("kind");
    QTest::addColumn<QString>("before");
    QTest::addColumn<int>("length");
    QTest::addColumn<bool>("read_again");
    QTest::addColumn<bool>("marked");
    QTest::addColumn<bool>("asked");
    QTest::addColumn<bool>("training");
    QTest::addColumn<bool>("overwrites");
    QTest::newRow("not asked for") << "relu"
                                   << "batch_norm" << 16 << false << false << false << false << false;
    QTest::newRow("marked") << "relu"
                            << "batch_norm" << 16 << false << true << false << false << true;
    QTest::newRow("asked for") << "relu"
                               << "batch_norm" << 16 << false << false << true << false << true;
    QTest::newRow("after what needs its input alone")
        << "relu"
        << "batch_norm" << 16 << false << false << true << true << true;
    QTest::newRow("after what needs its output") << "relu"
                                                 << "tanh" << 16 << false << true << false << true << false;
    QTest::newRow("that is for the backward pass") << "relu"
                                                   << "tanh" << 16 << false << true << false << false << true;
    QTest::newRow("what needs its input itself")
        << "gelu"
        << "batch_norm" << 16 << false << true << true << true << false;
    QTest::newRow("somebody else reads it") << "relu"
                                            << "batch_norm" << 16 << true << true << true << false << false;
    QTest::newRow("of another size") << "relu"
                                     << "batch_norm" << 8 << false << true << true << false << false;
    QTest::newRow("elements do not correspond")
        << "softmax"
        << "batch_norm" << 16 << false << false << true << false << false;
}

void TestCost::problem_in_place() {
    QFETCH(QString, kind);
    QFETCH(QString, before);
    QFETCH(int, length);
    QFETCH(bool, read_again);
    QFETCH(bool, marked);
    QFETCH(bool, asked);
    QFETCH(bool, training);
    QFETCH(bool, overwrites);
    GraphBuilder builder("in place", 1, training ? Training::implicit : Training::none);
    Op first = op_of("first", "linear", 1e3, {16});
    first.parameter_bytes = 64;
    builder.add(first, {});
    builder.add(op_of("before", before.toUtf8(), 16, {16}), {"first"});
    Op op = op_of("op", kind.toUtf8(), 16, {length});
    op.in_place = marked;
    builder.add(op, {"before"});
    builder.add(op_of("end", "linear", 16, {1}),
                read_again ? std::vector<std::string>{"op", "before"} : std::vector<std::string>{"op"});
    ProblemOptions options;
    options.in_place = asked;
    const auto problem = test::problem(builder.build(), test::uniform_machine(1), options);
    QCOMPARE(problem->alias_of[2], overwrites ? TensorId{1} : kNoTensor);
    // Nothing else shares memory.
    QCOMPARE(std::ranges::count(problem->alias_of, kNoTensor),
             std::ptrdiff_t{problem->tensors} - (overwrites ? 1 : 0));
}

void TestCost::problem_crossing() {
    const Machine base = test::uniform_machine(2);
    const auto crossing = [&](Crossing own, std::optional<Crossing> asked) {
        ProblemOptions options;
        options.crossing = asked;
        const auto problem = test::problem(test::chain(2),
                                           Machine("m", {base.devices().begin(), base.devices().end()},
                                                   {base.channels().begin(), base.channels().end()},
                                                   {base.routes().begin(), base.routes().end()}, own),
                                           options);
        return problem->crossing == problem->machine->crossing() ? std::optional(problem->crossing)
                                                                 : std::nullopt;
    };
    for (const Crossing own : {Crossing::store_and_forward, Crossing::cut_through}) {
        QVERIFY(crossing(own, {}) == own);
        QVERIFY(crossing(own, Crossing::store_and_forward) == Crossing::store_and_forward);
        QVERIFY(crossing(own, Crossing::cut_through) == Crossing::cut_through);
    }
}

void TestCost::problem_keeps_the_machine() {
    Device device = device_of(1e6, 1e6, 0.5, 2);
    device.clock_hz = 1e9;
    device.efficiency_by_kind["relu"] = 0.5;
    device.memory_efficiency = 0.5;
    device.half_efficiency_flops = 3;
    device.streams = 2;
    device.copy_engines = 2;
    Device second = device;
    second.name = "gpu:1";
    Channel channel{"link", 1000, 0.5, 0.25, {{10, 0.5}}};
    const Machine machine("machine", {device, second}, {channel}, {{0, 1, {0}}, {1, 0, {0}}},
                          Crossing::cut_through);
    QVERIFY(*test::problem(small_network(), machine)->machine == machine);
    // An efficiency for all devices replaces the figures per device.
    const auto replaced = test::problem(small_network(), machine, with_efficiencies(0.75, {}))->machine;
    device.efficiency = second.efficiency = 0.75;
    device.efficiency_by_kind = second.efficiency_by_kind = {};
    device.memory_efficiency = second.memory_efficiency = {};
    device.half_efficiency_flops = second.half_efficiency_flops = 0;
    QVERIFY(*replaced == Machine("machine", {device, second}, {channel}, {{0, 1, {0}}, {1, 0, {0}}},
                                 Crossing::cut_through));
}

void TestCost::problem_ticks_data() {
    QTest::addColumn<quint64>("seed");
    for (quint64 seed = 0; seed < 20; ++seed) QTest::addRow("%llu", seed) << seed;
}

void TestCost::problem_ticks() {
    QFETCH(quint64, seed);
    ProblemOptions options;
    options.accumulate_gradients = true;
    const auto problem = test::problem(test::random_graph(seed, 25, 3, Training::implicit),
                                       test::random_machine(seed), options);
    double fastest_s = 0;
    for (OpId op = 0; op < problem->ops; ++op) {
        double least_s = problem->time_s(op, 0);
        for (DeviceId device = 1; device < problem->devices; ++device)
            least_s = std::min(least_s, problem->time_s(op, device));
        fastest_s += least_s;
    }
    int exponent = 0;
    QCOMPARE(std::frexp(problem->tick_s, &exponent), 0.5);  // a power of two
    QVERIFY(problem->tick_s <= std::ldexp(fastest_s, -44));
    std::vector<double> all;
    for (const auto* const table :
         {&problem->op_time_s, &problem->transfer_s, &problem->accumulate_s, &problem->channel_latency_s})
        all.insert(all.end(), table->begin(), table->end());
    for (const double seconds : all) QCOMPARE(std::fmod(seconds, problem->tick_s), 0.0);
    const double forth = std::accumulate(all.begin(), all.end(), 0.0);
    QCOMPARE(std::accumulate(all.rbegin(), all.rend(), 0.0) - forth, 0.0);
    Random(seed).shuffle(std::span(all));
    QCOMPARE(std::accumulate(all.begin(), all.end(), 0.0) - forth, 0.0);
}

void TestCost::problem_ticks_of_nothing() {
    // Ops that take no time: the transfers determine the tick. If nothing takes time, there is no tick.
    const auto problem = test::problem(test::chain(3, 0, 1'000'000), test::uniform_machine(2));
    QVERIFY(problem->transfer_s[0] > 0 && problem->tick_s > 0);
    QVERIFY(problem->tick_s <=
            std::ldexp(std::accumulate(problem->transfer_s.begin(), problem->transfer_s.end(), 0.0), -44));
    QCOMPARE(test::problem(test::chain(3, 0, 0), test::uniform_machine(2))->tick_s, 0.0);
}

void TestCost::check_placement_errors() {
    const auto problem = constrained_problem({"gpu"}, {});
    check_placement(*problem, Placement{1, 0});
    const QString few = message_of([&] { check_placement(*problem, Placement{1}); });
    QVERIFY2(few.contains("1 groups") && few.contains('2'), qPrintable(few));
    const QString unknown = message_of([&] { check_placement(*problem, Placement{1, 3}); });
    QVERIFY2(unknown.contains("\"c\"") && unknown.contains('3') && unknown.contains("0 to 2"),
             qPrintable(unknown));
    const QString forbidden = message_of([&] { check_placement(*problem, Placement{0, 0}); });
    QVERIFY2(forbidden.contains("\"a\"") && forbidden.contains("\"cpu:0\""), qPrintable(forbidden));
}

void TestCost::single_device() {
    // Device 2 is the fastest, device 0 (the CPU) the slowest.
    const auto free = constrained_problem({}, {});
    QCOMPARE(single_device_placement(*free), (Placement{2, 2}));
    QCOMPARE(single_device_placement(*free, 0), (Placement{0, 0}));
    // The first group may only be on the CPU; the others do not follow it.
    const auto bound_to_cpu = constrained_problem({"cpu"}, {});
    QCOMPARE(single_device_placement(*bound_to_cpu), (Placement{0, 2}));
    // A group that is not allowed on the device goes to the fastest device that it allows.
    QCOMPARE(single_device_placement(*bound_to_cpu, 1), (Placement{0, 1}));
    QCOMPARE(single_device_placement(*constrained_problem({"gpu"}, {}), 0), (Placement{2, 0}));
    QCOMPARE(single_device_placement(*constrained_problem({"gpu"}, {})), (Placement{2, 2}));
}

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestCost)
#include "tst_cost.moc"
