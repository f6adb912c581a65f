// SPDX-License-Identifier: MIT
// Training, costs and step times of networks with split ops.
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <QtTest>

#include "core/cost/cost_model.hpp"
#include "core/graph/channels.hpp"
#include "core/graph/network_builder.hpp"
#include "core/graph/networks.hpp"
#include "core/graph/sharding.hpp"
#include "core/graph/training.hpp"
#include "core/sim/simulator.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/sharding.hpp"

using namespace placewright;
using test::close, test::find, test::inputs_of, test::make_graph, test::make_op, test::Requests,
    test::small_network;

namespace {

/// Devices on which only arithmetic takes time.
Machine ideal_machine(std::size_t gpus) {
    const Machine machine = test::uniform_machine(gpus);
    std::vector<Device> devices(machine.devices().begin(), machine.devices().end());
    for (Device& device : devices) device.memory_bandwidth = 1e30;
    std::vector<Channel> channels(machine.channels().begin(), machine.channels().end());
    for (Channel& channel : channels) channel.bandwidth = 1e30;
    return Machine("ideal", devices, channels, {machine.routes().begin(), machine.routes().end()});
}

}  // namespace

class TestShardedNetworks : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void training();
    void exprimoTraining();
    void costs();
    void stepTime();
    void idealMachine_data();
    void idealMachine();
    void knownNetworks_data();
    void knownNetworks();
};

void TestShardedNetworks::training() {
    NetworkBuilder net("pair", 2);
    const Value image = net.input("image", std::array<std::int64_t, 3>{3, 8, 8});
    const Value first = net.conv2d("a", image, {.channels = 4, .window = {1}});
    const Value second = net.conv2d("b", first, {.channels = 6, .window = {1}});
    net.relu("relu", second);
    const Graph step = training_graph(shard(net.build(), Requests{{"b", 2}}));
    // Each part returns a gradient of the size of its input, and the producer adds both.
    const Tensor whole = make_tensor({2, 4, 8, 8});
    for (const std::string part : {"b_shard0/backward", "b_shard1/backward"})
        QVERIFY(find(step, part).outputs == std::vector<Tensor>{whole});
    QCOMPARE(inputs_of(step, "a/weight_gradient"),
             QStringLiteral("b_shard0/backward b_shard1/backward image"));
    // Each part gets the gradient of its own channels from the concatenation.
    const Tensor slice = make_tensor({2, 3, 8, 8});
    QVERIFY((find(step, "relu_conc_b/backward").outputs == std::vector<Tensor>{slice, slice}));
    QCOMPARE(inputs_of(step, "b_shard1/backward"), QStringLiteral("relu_conc_b/backward:1"));
    QCOMPARE(find(step, "b_shard1/weight_gradient").outputs.front().bytes, std::int64_t{4 * 3 * 4});
    QCOMPARE(find(step, "b_shard1/update").inputs.size(), std::size_t{1});
}

void TestShardedNetworks::exprimoTraining() {
    const Graph step = exprimo_training_graph(shard(small_network(), Requests{{"block/conv", 3}}));
    QCOMPARE(
        inputs_of(step, "image/backward"),
        QStringLiteral("block/conv_shard0/backward block/conv_shard1/backward block/conv_shard2/backward"));
    QVERIFY(find(step, "block/conv_shard2/backward").outputs ==
            std::vector<Tensor>{make_tensor({2, 4, 8, 8})});
    // One gradient from the concatenation of each reader.
    QCOMPARE(inputs_of(step, "block/conv_shard1/backward"),
             QStringLiteral("relu_conc_block/conv/backward:1 pool_conc_block/conv/backward:1 image"));
}

void TestShardedNetworks::costs() {
    const Graph whole = small_network();
    const Graph graph = shard(whole, Requests{{"block/conv", 3}, {"relu", 3}});
    Device device;
    device.peak_flops = 1e6;
    device.memory_bandwidth = 1e4;
    device.efficiency = 1;
    const double image_bytes = 4.0 * 2 * 4 * 64;
    const double padded_bytes = 4.0 * 2 * 4 * 100;
    const double part_bytes = 4.0 * 3 * 37 + 4.0 * 2 * 3 * 64;  // parameters and output of three channels
    const double flops = 2.0 * 2 * 3 * 64 * 36;
    const OpId part = *graph.find("block/conv_shard0");
    // A part reads the whole input but only its own parameters.
    QVERIFY(
        close(roofline_time_s(graph, part, device), std::max(flops / 1e6, (image_bytes + part_bytes) / 1e4)));
    QVERIFY(close(paleo_time_s(graph, part, device), flops / 1e6 + (padded_bytes + part_bytes) / 1e4));
    // The concatenation reads and writes all channels.
    const OpId cat = *graph.find("pool_conc_block/conv");
    QVERIFY(close(roofline_time_s(graph, cat, device), 2 * 4.0 * 2 * 7 * 64 / 1e4));
    QVERIFY(close(paleo_time_s(graph, cat, device), 2 * 4.0 * 2 * 7 * 64 / 1e4));
    // The parts of an elementwise op take the time of the whole op; a slice of a whole op is a view.
    double relu_s = 0;
    for (std::size_t i = 0; i < 3; ++i)
        relu_s += roofline_time_s(graph, *graph.find(shard_name("relu", i)), device);
    QVERIFY(close(relu_s, roofline_time_s(whole, *whole.find("relu"), device)));
    const Graph sliced = shard(whole, Requests{{"relu", 2}});
    QCOMPARE(roofline_time_s(sliced, *sliced.find("block/conv_narrow_0_4"), device), 0.0);
    QCOMPARE(paleo_time_s(sliced, *sliced.find("block/conv_narrow_0_4"), device), 0.0);
}

void TestShardedNetworks::stepTime() {
    // x is free; two parts of 1 ms each run on two devices at once; the other half of x and of the output is
    // sent at 1 GB/s.
    Op fc = make_op("fc", "linear", {1, 250'000});
    fc.flops = 2e9;
    Op x = make_op("x", "input", {1, 500'000});
    Op end = make_op("end", "output", {});
    end.outputs.clear();
    const Graph graph =
        shard(make_graph({{x}, {fc, {"x"}}, {end, {"fc"}}}, Training::none), Requests{{"fc", 2}});
    Machine machine = test::uniform_machine(2);
    const auto problem = test::problem(graph, machine);
    Placement placement(problem->groups, 0);
    placement[problem->grouping.group_of[*problem->graph->find("fc_shard1")]] = 1;
    const Outcome outcome = Simulator(problem).run(placement);
    QCOMPARE(outcome.transfers, std::uint64_t{2});
    // 2 MB sent, 1 ms of work, 0.5 MB returned; then 1 MB is read and 1 MB written at 1 TB/s, and 1 MB read.
    QVERIFY2(std::abs(outcome.step_time_s - (2e-3 + 1e-3 + 0.5e-3 + 2e-6 + 1e-6)) < 1e-12,
             qPrintable(QString::number(outcome.step_time_s, 'g', 12)));
}

void TestShardedNetworks::idealMachine_data() {
    QTest::addColumn<QString>("network");
    QTest::addColumn<QStringList>("ops");
    QTest::newRow("convolution") << "resnet50" << QStringList{"layer3/0/conv2"};
    QTest::newRow("logits") << "gpt2" << QStringList{"logits"};
    QTest::newRow("attention") << "bert_base"
                               << QStringList{"layer1/self/query", "layer1/self/key",  "layer1/self/value",
                                              "layer1/self/heads", "layer1/mlp/inner", "layer1/mlp/gelu"};
    QStringList cells{"decoder2/weights"};
    for (int step = 0; step < 32; ++step) cells << QStringLiteral("decoder2/step%1/cell").arg(step);
    QTest::newRow("cells") << "nmt2" << cells;
}

void TestShardedNetworks::idealMachine() {
    QFETCH(const QString, network);
    QFETCH(const QStringList, ops);
    const Graph whole = find_network(network.toStdString())->build(1);
    Requests requests;
    for (const QString& op : ops) requests.push_back({op.toStdString(), 2});
    const Graph graph = shard(whole, requests);
    const auto step_time_s = [](const Graph& forward) {
        const auto problem = test::problem(forward, ideal_machine(2));
        Placement placement(problem->groups, 0);
        for (const Op& op : problem->forward->ops()) {
            if (op.name.ends_with("_shard1"))
                placement[problem->grouping.group_of[*problem->graph->find(op.name)]] = 1;
        }
        return Simulator(problem).run(placement).step_time_s;
    };
    const double before_s = step_time_s(whole), after_s = step_time_s(graph);
    QVERIFY2(after_s < before_s, qPrintable(QString("%1 s, was %2 s").arg(after_s).arg(before_s)));
}

void TestShardedNetworks::knownNetworks_data() {
    QTest::addColumn<QString>("network");
    QTest::addColumn<int>("parts");
    for (const NetworkInfo& info : known_networks()) {
        for (const int parts : {2, 3}) {
            const QString name =
                QString::fromUtf8(info.name.data(), static_cast<qsizetype>(info.name.size()));
            QTest::addRow("%s into %d", qPrintable(name), parts) << name << parts;
        }
    }
}

void TestShardedNetworks::knownNetworks() {
    QFETCH(const QString, network);
    QFETCH(const int, parts);
    const Graph whole = find_network(network.toStdString())->build(4);
    const ChannelMap channels(whole);
    Requests requests;
    for (OpId id = 0; id < whole.size(); ++id) {
        try {
            if (channels.of(id).units >= parts) requests.push_back({whole.op(id).name, parts});
        } catch (const GraphError&) {  // not every op can be split
        }
    }
    QVERIFY(2 * requests.size() > whole.size());
    const Graph graph = shard(whole, requests);
    const GraphTotals before = totals(whole), after = totals(graph);
    QCOMPARE(after.parameter_bytes, before.parameter_bytes);
    QVERIFY(close(after.forward_flops, before.forward_flops));
    for (const ShardRequest& request : requests) {
        const auto all_bytes = [](const Op& op) {
            return std::accumulate(op.outputs.begin(), op.outputs.end(), std::int64_t{0},
                                   [](std::int64_t sum, const Tensor& output) { return sum + output.bytes; });
        };
        std::int64_t bytes = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(parts); ++i)
            bytes += all_bytes(find(graph, shard_name(request.op, i)));
        QCOMPARE(bytes, all_bytes(find(whole, request.op)));
        QVERIFY(!graph.find(request.op));
    }
    // The graph can be trained and placed.
    const auto problem = test::problem(graph, test::uniform_machine(3));
    Placement placement(problem->groups);
    for (std::size_t i = 0; i < placement.size(); ++i) placement[i] = static_cast<DeviceId>(i % 3);
    QCOMPARE(Simulator(problem).run(placement).ops_run, std::uint64_t{problem->ops});
}

QTEST_GUILESS_MAIN(TestShardedNetworks)
#include "tst_sharded_networks.moc"
