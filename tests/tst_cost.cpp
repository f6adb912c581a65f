// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <set>

#include <QtTest>

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

/// input 400 bytes -> conv 1000 bytes out, 600 bytes of parameters, 1e6 FLOPs -> second, 80 bytes -> flat -> loss, which reads it twice.
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

std::shared_ptr<const Problem> constrained_problem(std::vector<std::string> first, std::vector<std::string> second) {
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
    return test::problem(builder.build(), Machine("mixed", devices, {base.channels().begin(), base.channels().end()},
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
    void measured();
    void transfer_data();
    void transfer();

    void problem_tensors_data();
    void problem_tensors();
    void problem_times();
    void problem_routes();
    void problem_channel_classes();
    void problem_resident_bytes();
    void problem_allowed_devices();
    void problem_without_allowed_device();
    void problem_efficiencies();
    void problem_groups();

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
    // The loss starts its own backward from its output, and cross_entropy keeps its input.
    QTest::newRow("backward of the loss") << "loss/backward" << 4.0 + 1000.0 << 2000.0;
    // The gradient of its output, its input, its parameters; writes the gradient of its input.
    QTest::newRow("backward with parameters") << "second/backward" << 1000.0 + 1000.0 + 80.0 << 1000.0;
    // The same without the parameters; writes a gradient of their size.
    QTest::newRow("weight gradient") << "second/weight_gradient" << 1000.0 + 1000.0 << 80.0;
    QTest::newRow("weight gradient of the first") << "conv/weight_gradient" << 1000.0 + 400.0 << 600.0;
    // Gradient and parameters in, parameters out.
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
    // Efficiency 0.5, overhead 2 s in all rows. conv: 1e6 FLOPs, 2000 bytes.
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
    QCOMPARE(roofline_time_s(graph, *graph.find(op.toStdString()), device_of(peak, bandwidth, 0.5, 2)), seconds);
}

void TestCost::paleo() {
    const Graph graph = training_graph(small_network());
    const auto time_s = [&](const char* op) { return paleo_time_s(graph, *graph.find(op), device_of(1e6, 1e3, 0.5, 2)); };
    // The sum, and no launch overhead: 2e6 / 5e5 + (1000 + 80 + 1000) / 500.
    QCOMPARE(time_s("second"), 4.0 + 4.16);
    QCOMPARE(time_s("conv/weight_gradient"), 2.0 + 4.0);
    QCOMPARE(time_s("conv/update"), 300 / 5e5 + 1800 / 500.0);
    QCOMPARE(time_s("flat"), 0.0);
    QCOMPARE(time_s("input"), 0.0);
}

void TestCost::paleo_padding() {
    // 10 x 10 padded by 1 above and below, 2 left and right: 12 x 14 = 168 values instead of 100, so 400 bytes become 672.
    const Graph graph = training_graph(small_network());
    const Device device = device_of(1e6, 1e3, 0.5, 2);
    QCOMPARE(paleo_time_s(graph, *graph.find("conv"), device), 2.0 + (672.0 + 600.0 + 1000.0) / 500.0);
    QCOMPARE(roofline_time_s(graph, *graph.find("conv"), device), 2.0 + 2000.0 / 500.0);
}

void TestCost::measured() {
    const Graph graph = training_graph(small_network());
    const Device device = device_of(1e6, 1e6, 0.5, 2);
    const auto time_s = [&](const char* op, const Device& on) { return measured_time_s(graph, *graph.find(op), on); };
    QCOMPARE(time_s("conv", device), 0.25);
    // The first convolution has a weight gradient only; the second's backward is split evenly.
    QCOMPARE(time_s("conv/weight_gradient", device), 0.5);
    QCOMPARE(time_s("second/backward", device), 0.375);
    QCOMPARE(time_s("second/weight_gradient", device), 0.375);
    // No time was measured: the roofline.
    QCOMPARE(time_s("conv/update", device), roofline_time_s(graph, *graph.find("conv/update"), device));
    QCOMPARE(time_s("loss", device), roofline_time_s(graph, *graph.find("loss"), device));
    Device other = device;
    other.model = "Other";
    QCOMPARE(time_s("conv", other), 2.0 + 2.0);
}

void TestCost::transfer_data() {
    QTest::addColumn<double>("bytes");
    QTest::addColumn<double>("seconds");
    // 1000 bytes a second, latency 1 s; efficiency 0.1 up to 100 bytes, 0.5 at 10 000, 1 from 40 000 on.
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
        test::problem(test::random_graph(seed, 30, 4, training ? Training::implicit : Training::none), test::random_machine(seed));
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
            const std::vector<OpId> consumers(problem->consumer.begin() + problem->consumer_begin[tensor],
                                              problem->consumer.begin() + problem->consumer_begin[tensor + 1]);
            QCOMPARE(consumers, std::vector<OpId>(readers.begin(), readers.end()));
        }
        std::set<TensorId> reads;
        for (const TensorRef& input : graph.op(op).inputs) reads.insert(problem->output_begin[input.op] + input.output);
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
                QCOMPARE(problem->time_s(op, device), model.op_time_s(*problem->graph, op, machine.device(device)));
            }
        }
        double sum_s = 0;
        for (const OpId op : problem->grouping.members[1]) sum_s += problem->time_s(op, 0);
        // The convolution, its weight gradient and update; in Exprimo's step its one backward.
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
                QCOMPARE(std::vector<ChannelId>(problem->route_channel.begin() + problem->route_begin[pair],
                                                problem->route_channel.begin() + problem->route_begin[pair + 1]),
                         std::vector<ChannelId>(route.begin(), route.end()));
            }
        }
    }
}

void TestCost::problem_channel_classes() {
    // 12 channels of one speed are one class; a slower one and one with a table make three.
    const Machine base = test::uniform_machine(4);
    std::vector<Channel> channels(base.channels().begin(), base.channels().end());
    channels[3].bandwidth = 5e8;
    channels[7].efficiency_by_bytes = {{1000, 0.1}, {1e9, 0.9}};
    const Machine machine =
        machine_of({base.devices().begin(), base.devices().end()}, channels, {base.routes().begin(), base.routes().end()});
    QCOMPARE(test::problem(test::chain(3), base)->channel_classes, 1U);
    const auto problem = test::problem(test::random_graph(2, 20), machine);
    QCOMPARE(problem->channel_classes, 3U);
    QCOMPARE(problem->channel_class, (std::vector<std::uint32_t>{0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0}));
    QCOMPARE(problem->transfer_s.size(), std::size_t{problem->tensors} * 3);
    for (TensorId tensor = 0; tensor < problem->tensors; ++tensor) {
        for (ChannelId channel = 0; channel < problem->channels; ++channel) {
            QCOMPARE(problem->transfer_s[tensor * 3 + problem->channel_class[channel]],
                     transfer_time_s(channels[channel], problem->tensor_bytes[tensor]));
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
    // An explicit training graph has its optimizer too.
    QCOMPARE(resident(training_graph(graph), {}), std::pair(1200.0, 1360.0));
}

void TestCost::problem_allowed_devices() {
    const auto allowed = [](std::vector<std::string> first, std::vector<std::string> second, GroupId group = 0) {
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
    // Without training the graph is what was read, less what other phases it held.
    const auto inference = test::problem(training_graph(small_network()), test::uniform_machine(2), with_states(1, true));
    QCOMPARE(inference->ops, 5U);
}

void TestCost::check_placement_errors() {
    const auto problem = constrained_problem({"gpu"}, {});
    check_placement(*problem, Placement{1, 0});
    const QString few = message_of([&] { check_placement(*problem, Placement{1}); });
    QVERIFY2(few.contains("1 groups") && few.contains('2'), qPrintable(few));
    const QString unknown = message_of([&] { check_placement(*problem, Placement{1, 3}); });
    QVERIFY2(unknown.contains("\"c\"") && unknown.contains('3') && unknown.contains("0 to 2"), qPrintable(unknown));
    const QString forbidden = message_of([&] { check_placement(*problem, Placement{0, 0}); });
    QVERIFY2(forbidden.contains("\"a\"") && forbidden.contains("\"cpu:0\""), qPrintable(forbidden));
}

void TestCost::single_device() {
    // Device 2 is the fastest, device 0 (the CPU) the slowest.
    const auto free = constrained_problem({}, {});
    QCOMPARE(single_device_placement(*free), (Placement{2, 2}));
    QCOMPARE(single_device_placement(*free, 0), (Placement{0, 0}));
    // The first group may only be on the CPU; the rest does not follow it there.
    const auto bound_to_cpu = constrained_problem({"cpu"}, {});
    QCOMPARE(single_device_placement(*bound_to_cpu), (Placement{0, 2}));
    // What may not be there goes to the fastest device that it allows.
    QCOMPARE(single_device_placement(*bound_to_cpu, 1), (Placement{0, 1}));
    QCOMPARE(single_device_placement(*constrained_problem({"gpu"}, {}), 0), (Placement{2, 0}));
    QCOMPARE(single_device_placement(*constrained_problem({"gpu"}, {})), (Placement{2, 2}));
}

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestCost)
#include "tst_cost.moc"
