// SPDX-License-Identifier: MIT
// The tables of a problem: times, routes, devices and groups.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <QtTest>

#include "core/base/random.hpp"
#include "core/cost/cost_model.hpp"
#include "core/cost/problem.hpp"
#include "core/graph/training.hpp"
#include "tests/support/costs.hpp"
#include "tests/support/graphs.hpp"

namespace placewright {
namespace {

using test::device_of, test::machine_of, test::op_of, test::small_network, test::with_states,
    test::model_time_s;

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

class TestProblem : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void problem_tensors_data();
    void problem_tensors();
    void problem_times();
    void problem_routes();
    void problem_channel_classes();
    void problem_allowed_devices();
    void problem_without_allowed_device();
    void problem_efficiencies();
    void problem_groups();
    void share_of_a_device();
    void problem_shares();
    void problem_crossing();
    void problem_keeps_the_machine();
    void problem_precision();
    void problem_ticks_data();
    void problem_ticks();
    void problem_ticks_of_nothing();

    void check_placement_errors();
    void single_device();
};

void TestProblem::problem_tensors_data() {
    QTest::addColumn<quint64>("seed");
    QTest::addColumn<bool>("training");
    for (quint64 seed = 0; seed < 20; ++seed) QTest::addRow("%llu", seed) << seed << (seed % 2 == 0);
}

void TestProblem::problem_tensors() {
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

void TestProblem::problem_times() {
    const Machine machine = test::random_machine(7);
    for (const CostModel& model : cost_models()) {
        const auto problem = test::problem(small_network(), machine, with_model(model));
        QCOMPARE(problem->op_time_s.size(), std::size_t{problem->ops} * problem->devices);
        for (OpId op = 0; op < problem->ops; ++op) {
            for (DeviceId device = 0; device < problem->devices; ++device) {
                const double time_s = model_time_s(model.id, *problem->graph, op, machine.device(device), 1);
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

void TestProblem::problem_routes() {
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

void TestProblem::problem_channel_classes() {
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

void TestProblem::problem_allowed_devices() {
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

void TestProblem::problem_without_allowed_device() {
    const QString apart = message_of([] { constrained_problem({"cpu"}, {"gpu"}); });
    QVERIFY2(apart.contains("\"a\"") && apart.contains("\"mixed\""), qPrintable(apart));
    const QString unknown = message_of([] { constrained_problem({"tpu:9"}, {}); });
    QVERIFY2(unknown.contains("\"a\""), qPrintable(unknown));
}

void TestProblem::problem_efficiencies() {
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
    QVERIFY_THROWS_EXCEPTION(MachineError, test::problem(graph, machine, with_efficiencies(1.5, {})));
}

void TestProblem::problem_groups() {
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

void TestProblem::share_of_a_device() {
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
    QCOMPARE(share("flat/backward", device), 1.0);  // it sums the gradients of two readers
    // An op without FLOPs or bytes may need the whole device.
    GraphBuilder builder("unknown", 1, Training::none);
    builder.add(op_of("op", "custom", 0, {0}), {});
    QCOMPARE(device_share(builder.build(), 0, device), 1.0);
}

void TestProblem::problem_shares() {
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

void TestProblem::problem_crossing() {
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

void TestProblem::problem_keeps_the_machine() {
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

void TestProblem::problem_precision() {
    const auto network = std::make_shared<const Graph>(small_network());
    Device device = device_of(1e12, 1e11, 1, 0);
    device.tf32 = true;
    const auto machine = std::make_shared<const Machine>(machine_of({device}, {}, {}));
    const auto in = [&](Precision precision, bool inference = false) {
        ProblemOptions options = with_states(1, inference);
        options.precision = precision;
        return make_problem(network, machine, options);
    };
    const auto plain = in(Precision::as_given);
    QCOMPARE(plain->network, network);
    QCOMPARE(plain->forward, network);
    QVERIFY(plain->machine->device(0).tf32);
    QVERIFY(!in(Precision::fp32)->machine->device(0).tf32);
    QVERIFY(in(Precision::tf32)->machine->device(0).tf32);
    QVERIFY(in(Precision::amp_fp16)->machine->device(0).tf32);

    const auto bytes_of = [](const Problem& problem, const char* op) {
        return problem.resident_bytes[*problem.graph->find(op)];
    };
    for (const bool inference : {false, true}) {
        const auto mixed = in(Precision::amp_fp16, inference);
        QCOMPARE(mixed->network, network);
        QCOMPARE(mixed->groups, plain->groups);
        // The ids of the forward ops are those of the network with its casts.
        for (OpId id = 0; id < mixed->forward->size(); ++id)
            QCOMPARE(mixed->graph->op(id).name, mixed->forward->op(id).name);
        // Parameters and momentum in float32, and the copy of the parameters that products read.
        QCOMPARE(bytes_of(*mixed, "conv"), inference ? 600 + 300.0 : 2 * 600 + 300.0);
        QCOMPARE(bytes_of(*in(Precision::bf16, inference), "conv"), inference ? 300.0 : 600.0);
    }
    // Gradients of parameters stay in float32.
    const auto mixed = in(Precision::amp_fp16);
    const OpId gradient = *mixed->graph->find("conv/weight_gradient");
    QCOMPARE(mixed->tensor_bytes[mixed->output_begin[gradient]], 600.0);
    QVERIFY(mixed->tensor_stays(mixed->output_begin[gradient]));
    // Each reader's cast is with it: single moves take both.
    for (OpId id = 0; id < mixed->ops; ++id) {
        if (!mixed->graph->op(id).autocast) continue;
        const OpId reader = mixed->graph->consumers(id).front();
        QCOMPARE(mixed->grouping.group_of[id], mixed->grouping.group_of[reader]);
    }
}

void TestProblem::problem_ticks_data() {
    QTest::addColumn<quint64>("seed");
    for (quint64 seed = 0; seed < 20; ++seed) QTest::addRow("%llu", seed) << seed;
}

void TestProblem::problem_ticks() {
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

void TestProblem::problem_ticks_of_nothing() {
    // Ops that take no time: the transfers determine the tick. If nothing takes time, there is no tick.
    const auto problem = test::problem(test::chain(3, 0, 1'000'000), test::uniform_machine(2));
    QVERIFY(problem->transfer_s[0] > 0 && problem->tick_s > 0);
    QVERIFY(problem->tick_s <=
            std::ldexp(std::accumulate(problem->transfer_s.begin(), problem->transfer_s.end(), 0.0), -44));
    QCOMPARE(test::problem(test::chain(3, 0, 0), test::uniform_machine(2))->tick_s, 0.0);
}

void TestProblem::check_placement_errors() {
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

void TestProblem::single_device() {
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

QTEST_GUILESS_MAIN(placewright::TestProblem)
#include "tst_problem.moc"
