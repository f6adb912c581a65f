// SPDX-License-Identifier: MIT
// Exprimo's cost model, training step and memory rule: worked out by hand on small graphs, and compared with
// results of Exprimo itself where they lie beside the checkout.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include <QtTest>
#include <nlohmann/json.hpp>

#include "core/base/path.hpp"
#include "core/cost/exprimo_cost.hpp"
#include "core/graph/training.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/sim/simulator.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/reference.hpp"

namespace placewright {
namespace {

const Path kReference = test::reference("exprimo");

nlohmann::json read_json(const Path& file) {
    return nlohmann::json::parse(std::ifstream(file));
}

bool close(double value, double reference, double relative = 1e-9, double absolute = 1e-15) {
    return std::abs(value - reference) <=
           relative * std::max(std::abs(value), std::abs(reference)) + absolute;
}

ProblemOptions exprimo_options(double compute_efficiency, double channel_efficiency) {
    ProblemOptions options;
    options.cost.model = find_cost_model("exprimo");
    options.cost.compute_efficiency = compute_efficiency;
    options.cost.channel_efficiency = channel_efficiency;
    options.memory = MemoryModel::exprimo;
    return options;
}

/// The network of a case; devices of split ops are added to its file.
Graph network_of(const nlohmann::json& test, const QTemporaryDir& folder) {
    const Path file = kReference / test["net_file"].get<std::string>();
    const auto batch = test["batch_size"].get<std::int64_t>();
    const auto split = test.find("sharded_assignment");
    if (split == test.end() || split->is_null()) return read_network(file, batch).graph;
    auto network = nlohmann::ordered_json::parse(std::ifstream(file));
    for (const auto& [op, devices] : split->items()) network["layers"][op]["device"] = devices;
    const Path changed = Path(folder.path().toStdString()) / file.filename();
    std::ofstream(changed) << network;
    return read_network(changed, batch).graph;
}

struct Case {
    nlohmann::json json;
    std::shared_ptr<const Problem> problem;
    Placement placement;
};

Case load_case(const Path& file) {
    Case result{read_json(file), nullptr, {}};
    const auto& json = result.json;
    const QTemporaryDir folder;
    ProblemOptions options = exprimo_options(json["comp_penalization"], json["comm_penalization"]);
    options.inference = !json["include_backward"].get<bool>();
    result.problem = make_problem(
        std::make_shared<const Graph>(network_of(json, folder)),
        std::make_shared<const Machine>(read_machine(kReference / json["machine_file"].get<std::string>())),
        options);
    result.placement.resize(result.problem->groups);
    for (std::size_t i = 0; i < json["ops"].size(); ++i) {
        const OpId op = *result.problem->graph->find(json["ops"][i].get<std::string>());
        result.placement[result.problem->grouping.group_of[op]] = json["placement"][i].get<DeviceId>();
    }
    return result;
}

/// Whether the outcome of a case depends on the order of simultaneous events.
enum class Ties : std::uint8_t { any, without, with };

void add_cases(Ties wanted) {
    QTest::addColumn<QString>("file");
    if (!std::filesystem::is_directory(kReference)) {
        QTest::newRow("none") << QString();
        return;
    }
    for (const auto& entry : std::filesystem::directory_iterator(kReference / "cases")) {
        const auto json = read_json(entry.path());
        const auto& ties = json["tie_breaking"];
        const bool tied = ties.is_object() &&
                          (ties["makespan_sensitive"].get<bool>() || ties["peak_sensitive"].get<bool>());
        if (wanted != Ties::any && tied != (wanted == Ties::with)) continue;
        QTest::newRow(entry.path().stem().c_str()) << QString::fromStdString(entry.path().string());
    }
}

/// An event of the trace without its times.
using EventKey = std::tuple<bool, std::string, int, int, int, int>;

}  // namespace

class TestExprimo : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void cost_by_hand();
    void negative_padding();
    void training_step();
    void gradients_travel_together();
    void memory_by_hand();
    void inference_memory_grows();
    void costs_agree_data() { add_cases(Ties::any); }
    void costs_agree();
    void split_by_hand();
    void traces_agree_data() { add_cases(Ties::without); }
    void traces_agree();
    void first_come_first_served_where_times_tie_data() { add_cases(Ties::with); }
    void first_come_first_served_where_times_tie();
};

void TestExprimo::cost_by_hand() {
    // Fully connected, 2 x 6 to 2 x 5: 2 * 2 * 6 * 5 = 120 FLOP; 12 + 30 + 10 elements of 4 bytes.
    GraphBuilder builder("fc", 2, Training::implicit);
    Op data;
    data.name = "x";
    data.kind = "input";
    data.outputs = {make_tensor({2, 6})};
    builder.add(data, {});
    Op linear;
    linear.name = "fc";
    linear.kind = "linear";
    linear.parameter_bytes = 4 * (30 + 5);
    linear.outputs = {make_tensor({2, 5})};
    builder.add(linear, {"x"});
    Op relu;
    relu.name = "relu";
    relu.kind = "relu";
    relu.outputs = {make_tensor({2, 5})};
    builder.add(relu, {"fc"});
    const Graph step = exprimo_training_graph(builder.build());
    Device device;
    device.peak_flops = 1e3;
    device.memory_bandwidth = 1e2;
    device.efficiency = 0.5;
    const double expected_s = 120 / 500.0 + 4 * (12 + 30 + 10) / 50.0;
    QVERIFY(close(exprimo_time_s(step, *step.find("fc"), device), expected_s));
    QVERIFY(close(exprimo_time_s(step, *step.find("fc/backward"), device), expected_s));
    QCOMPARE(exprimo_time_s(step, *step.find("relu"), device), 0.0);
    QCOMPARE(exprimo_time_s(step, *step.find("x/backward"), device), 0.0);
    // Each term takes at least one clock cycle, independent of the efficiency.
    device.clock_hz = 1;
    QVERIFY(close(exprimo_time_s(step, *step.find("fc"), device),
                  1 + std::max(1.0, 48 / 50.0) + 120 / 50.0 + std::max(1.0, 40 / 50.0)));
}

void TestExprimo::negative_padding() {
    // A 1x1 convolution with stride 2 and SAME padding over 6 x 6: total padding (3 - 1) * 2 + 1 - 6 = -1,
    // so -1 on each side: 4 x 4 is read.
    GraphBuilder builder("conv", 1, Training::none);
    Op data;
    data.name = "x";
    data.kind = "input";
    data.outputs = {make_tensor({1, 2, 6, 6})};
    builder.add(data, {});
    Op conv;
    conv.name = "conv";
    conv.kind = "conv2d";
    conv.outputs = {make_tensor({1, 3, 3, 3})};
    conv.attributes = {
        {"kernel", "[1,1]"}, {"stride", "[2,2]"}, {"padding", "[0,0]"}, {"exprimo.padding", "\"SAME\""}};
    builder.add(conv, {"x"});
    const Graph graph = builder.build();
    Device device;
    device.peak_flops = 1e30;
    device.memory_bandwidth = 4;
    QVERIFY(close(exprimo_time_s(graph, 1, device), 2 * 4 * 4 + 2 * 3 + 3 * 3 * 3));
}

void TestExprimo::training_step() {
    const Graph step = exprimo_training_graph(test::fork_join(2, 1e9, 1000, Training::implicit));
    QCOMPARE(step.size(), std::size_t{8});
    const Op& sink = step.op(*step.find("sink/backward"));
    QCOMPARE(sink.outputs.size(), std::size_t{2});
    QVERIFY(sink.sends_together);
    QCOMPARE(step.op(*step.find("sink")).outputs.front().bytes, std::int64_t{0});
    // The backward op of the source waits for both branches.
    const Op& source = step.op(*step.find("source/backward"));
    QCOMPARE(source.inputs.size(), std::size_t{2});
    QVERIFY(source.outputs.empty());
    // An inference graph is unchanged.
    QCOMPARE(exprimo_training_graph(test::chain(3)).size(), std::size_t{3});
}

void TestExprimo::gradients_travel_together() {
    // Both branches are on device 0, the sink on device 1: two transfers forward, one message with both
    // gradients backward. The link takes 1 ms per MB.
    ProblemOptions options = exprimo_options(1, 1);
    const auto problem = test::problem(test::fork_join(2, 1e9, 1'000'000, Training::implicit),
                                       test::uniform_machine(2), options);
    Placement placement(problem->groups, 0);
    placement[problem->grouping.group_of[*problem->graph->find("sink")]] = 1;
    Simulator simulator(problem);
    Trace trace;
    const Outcome outcome = simulator.run(placement, trace);
    QCOMPARE(outcome.transfers, std::uint64_t{3});
    const Span* message = nullptr;
    for (const Span& span : trace.spans) {
        if (span.kind == Span::Kind::transfer && span.from == 1) message = &span;
    }
    QVERIFY(message != nullptr);
    QCOMPARE(message->bytes, 2e6);
    QVERIFY(close(message->end_s - message->start_s, 2e-3));
    QVERIFY(close(outcome.total_time_s, 4e-3));
    // The same problem with a rule that sends each tensor separately: two messages.
    Problem apart = *problem;
    apart.sends_together.assign(apart.ops, false);
    QCOMPARE(Simulator(std::make_shared<const Problem>(apart)).run(placement).transfers, std::uint64_t{4});
}

void TestExprimo::memory_by_hand() {
    // a -> b -> c on one device, 1 MB each, no parameters. Exprimo holds a and b from the end of their op to
    // the end of the backward op of their reader; c has no consumers and is not held; c/backward produces
    // the gradient of b (a, b, gradient: 3 MB) and frees b; b/backward produces the gradient of a and frees
    // a and its input gradient.
    const auto problem = test::problem(test::chain(3, 1e9, 1'000'000, Training::implicit),
                                       test::uniform_machine(1), exprimo_options(1, 1));
    Simulator simulator(problem);
    Trace trace;
    const Outcome& outcome = simulator.run(Placement(problem->groups, 0), trace);
    std::vector<double> after_events;
    for (const MemorySample& sample : trace.memory) after_events.push_back(sample.bytes / 1e6);
    QCOMPARE(after_events.back(), 0.0);
    // Forward 1, 2, 2; c/backward: + gradient of b - b = 2; b/backward: + gradient of a - a - gradient of b =
    // 1; a/backward 0.
    QCOMPARE(outcome.peak_bytes[0], 2e6);
    QCOMPARE(outcome.resident_bytes[0], 0.0);
}

void TestExprimo::inference_memory_grows() {
    ProblemOptions options = exprimo_options(1, 1);
    options.inference = true;
    const auto problem =
        test::problem(test::chain(4, 1e9, 1'000'000, Training::implicit), test::uniform_machine(2), options);
    // Three of the four outputs have a reader; nothing is freed, in any batch.
    Simulator one(problem);
    QCOMPARE(one.run(Placement(4, 0)).peak_bytes[0], 3e6);
    Simulator five(problem, {5, 2});
    QCOMPARE(five.run(Placement(4, 0)).peak_bytes[0], 15e6);
    // A copy that was only sent is freed; the run leaves no state that could affect the next run.
    const Outcome first = five.run(Placement{0, 1, 0, 1});
    QCOMPARE(first.ops_run, std::uint64_t{20});
    QVERIFY(five.run(Placement{0, 1, 0, 1}) == first);
}

void TestExprimo::costs_agree() {
    QFETCH(QString, file);
    if (file.isEmpty()) QSKIP("the reference results are not beside this checkout");
    const Case test = load_case(file.toStdString());
    const Problem& problem = *test.problem;
    const auto table = read_json(kReference / test.json["costs"].get<std::string>());
    for (const auto& row : table["ops"]) {
        const auto name = row["name"].get<std::string>();
        const OpId op = *problem.graph->find(name);
        const auto backward = problem.graph->find(name + "/backward");
        for (DeviceId device = 0; device < problem.devices; ++device) {
            const double forward_s = row["forward_ms"][device].get<double>() / 1e3;
            QVERIFY2(close(problem.time_s(op, device), forward_s, 1e-9, problem.tick_s), name.c_str());
            if (!backward) continue;
            const double backward_s = row["backward_ms"][device].get<double>() / 1e3;
            QVERIFY2(close(problem.time_s(*backward, device), backward_s, 1e-9, problem.tick_s),
                     (name + "/backward").c_str());
        }
        QCOMPARE(problem.resident_bytes[op], row["weight_bytes"].get<double>());
    }
}

void TestExprimo::split_by_hand() {
    // A 1x1 convolution of 5 channels over 2 x 2 x 2, split over two devices and read by two layers. A FLOP
    // and a byte take 1 ps each.
    const QTemporaryDir folder;
    const Path file = Path(folder.path().toStdString()) / "net.json";
    std::ofstream(file) << R"({"layers": {
        "x": {"type": "Input", "parents": [], "tensor": [1, 2, 2, 2]},
        "conv": {"type": "Convolution", "parents": ["x"], "filter": [1, 1, 2, 5], "strides": [1, 1, 1, 1], "padding": "VALID",
                 "device": [0, 1]},
        "a": {"type": "Sigmoid", "parents": ["conv"], "device": 1},
        "b": {"type": "Dropout", "parents": ["conv"], "dropout_keep_prob": 0.5, "device": [0, 1]}}})";
    const NetworkFile network = read_network(file);
    const std::map<std::string, std::int64_t> devices{
        {"x", 0},           {"conv_shard0", 0}, {"conv_shard1", 1}, {"a", 1},
        {"a_conc_conv", 1}, {"b", 0},           {"b_conc_conv", 0}};
    QVERIFY(network.device_index == devices);
    const auto problem = test::problem(network.graph, test::uniform_machine(2), exprimo_options(1, 1));
    const auto picoseconds = [&](const std::string& op) {
        return problem->time_s(*problem->graph->find(op), 0) * 1e12;
    };
    // Forward: FLOPs, input, filter, output. Backward: the gradient of the whole input from that of the
    // part's channels.
    QVERIFY(close(picoseconds("conv_shard0"), 2 * 2 * 3 * 4 + 4 * (8 + 2 * 3 + 3 * 4)));
    QVERIFY(close(picoseconds("conv_shard1"), 2 * 2 * 2 * 4 + 4 * (8 + 2 * 2 + 2 * 4)));
    QVERIFY(close(picoseconds("conv_shard1/backward"), 2 * 2 * 2 * 4 + 4 * (2 * 4 + 2 * 2 + 8)));
    for (const char* const op : {"a_conc_conv", "b_conc_conv", "a_conc_conv/backward"})
        QCOMPARE(picoseconds(op), 0.0);
    QCOMPARE(problem->resident_bytes[*problem->graph->find("conv_shard0")], 4.0 * (2 * 3 + 3));

    Placement placement(problem->groups);
    for (const auto& [op, device] : devices) {
        placement[problem->grouping.group_of[*problem->graph->find(op)]] = static_cast<DeviceId>(device);
    }
    const Outcome outcome = Simulator(problem).run(placement);
    // Forward: x to device 1, and each part to the reader on the other device. Backward: a gradient for each
    // part from the other device's concatenation, and a whole gradient of x.
    QCOMPARE(outcome.transfers, std::uint64_t{6});
    double bytes = 0;
    for (const double on_channel : outcome.channel_bytes) bytes += on_channel;
    QCOMPARE(bytes, 2.0 * 4 * (8 + 4 * 3 + 4 * 2));
    // Three batches repeat this three times.
    QCOMPARE(Simulator(problem, {3, 2}).run(placement).transfers, std::uint64_t{18});
}

void TestExprimo::traces_agree() {
    QFETCH(QString, file);
    if (file.isEmpty()) QSKIP("the reference results are not beside this checkout");
    const Case test = load_case(file.toStdString());
    const Problem& problem = *test.problem;
    Simulator simulator(test.problem, {test.json["batches"].get<std::uint32_t>(),
                                       test.json["pipeline_batches"].get<std::uint32_t>()});
    Trace trace;
    const Outcome& outcome = simulator.run(test.placement, trace);
    QVERIFY(close(outcome.total_time_s, test.json["expected"]["makespan_ms"].get<double>() / 1e3));

    // Events with equal times may be in another order; each must occur with its times.
    std::multimap<EventKey, std::pair<double, double>> expected;
    for (const auto& row : test.json["trace"]) {
        const auto kind = row[0].get<std::string>();
        if (kind != "op" && kind != "tr") continue;
        const bool transfer = kind == "tr";
        const std::string name = test.json["ops"][row[1].get<std::size_t>()].get<std::string>() +
                                 (row[2].get<int>() != 0 ? "/backward" : "");
        const EventKey key = transfer ? EventKey{true,
                                                 name,
                                                 row[3].get<int>(),
                                                 row[4].get<int>(),
                                                 row[5].get<int>(),
                                                 row[6].get<int>()}
                                      : EventKey{false, name, row[3].get<int>(), row[4].get<int>(), -1, -1};
        const std::size_t start = transfer ? 8 : 5;
        expected.emplace(key, std::pair(row[start].get<double>() / 1e3, row[start + 1].get<double>() / 1e3));
    }
    QCOMPARE(trace.spans.size(), expected.size());
    for (const Span& span : trace.spans) {
        const std::string& name = problem.graph->op(span.op).name;
        const int batch = static_cast<int>(span.batch);
        const EventKey key = span.kind == Span::Kind::transfer
                                 ? EventKey{true, name, batch, span.resource, span.from, span.to}
                                 : EventKey{false, name, batch, span.resource, -1, -1};
        const auto [first, last] = expected.equal_range(key);
        const auto match = std::find_if(first, last, [&](const auto& entry) {
            return close(entry.second.first, span.start_s) && close(entry.second.second, span.end_s);
        });
        QVERIFY2(match != last, qPrintable(QStringLiteral("%1 from %2 to %3 s")
                                               .arg(QString::fromStdString(name))
                                               .arg(span.start_s)
                                               .arg(span.end_s)));
        expected.erase(match);
    }
}

/// Where Exprimo's result depends on how ties are broken, ours equals the one in order of arrival.
void TestExprimo::first_come_first_served_where_times_tie() {
    QFETCH(QString, file);
    if (file.isEmpty()) QSKIP("the reference results are not beside this checkout");
    const Case test = load_case(file.toStdString());
    Simulator simulator(test.problem, {test.json["batches"].get<std::uint32_t>(),
                                       test.json["pipeline_batches"].get<std::uint32_t>()});
    const Outcome& outcome = simulator.run(test.placement);
    const auto& fifo = test.json["tie_breaking"]["fifo"];
    QVERIFY(close(outcome.total_time_s, fifo["makespan_ms"].get<double>() / 1e3));
    for (DeviceId device = 0; device < test.problem->devices; ++device)
        QCOMPARE(outcome.peak_bytes[device], fifo["peak_memory_bytes"][device].get<double>());
}

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestExprimo)
#include "tst_exprimo.moc"
