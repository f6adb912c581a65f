// SPDX-License-Identifier: MIT
// The tables of a problem on memory.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <QtTest>

#include "core/cost/cost_model.hpp"
#include "core/cost/problem.hpp"
#include "core/graph/training.hpp"
#include "tests/support/costs.hpp"
#include "tests/support/graphs.hpp"

namespace placewright {

using test::device_of, test::machine_of, test::op_of, test::small_network, test::with_states;

class TestProblemMemory : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void problem_resident_bytes();
    void problem_shared_memory();
    void problem_works_in_place();
    void problem_recomputes();
    void problem_workspace();
    void problem_accumulation();
    void problem_memory_limits();
    void problem_views();
    void problem_in_place_data();
    void problem_in_place();
};

void TestProblemMemory::problem_resident_bytes() {
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
void TestProblemMemory::problem_shared_memory() {
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
void TestProblemMemory::problem_works_in_place() {
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
void TestProblemMemory::problem_recomputes() {
    ProblemOptions options;
    options.recomputation = Recomputation::cheap;
    options.cost.model = find_cost_model("exprimo");
    QVERIFY_THROWS_EXCEPTION(GraphError, test::problem(small_network(), test::uniform_machine(2), options));
    options.inference = true;
    QVERIFY(test::problem(small_network(), test::uniform_machine(2), options)->graph->training() ==
            Training::none);
}

void TestProblemMemory::problem_workspace() {
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

void TestProblemMemory::problem_accumulation() {
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

void TestProblemMemory::problem_memory_limits() {
    ProblemOptions options;
    options.usable_memory = 0.75;
    QCOMPARE(test::problem(small_network(), test::uniform_machine(2, 1e9))->memory_limit_bytes,
             (std::vector<double>{1e9, 1e9}));
    QCOMPARE(test::problem(small_network(), test::uniform_machine(2, 1e9), options)->memory_limit_bytes,
             (std::vector<double>{7.5e8, 7.5e8}));
}

void TestProblemMemory::problem_views() {
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
    // The gradient of a row is sent as it is; that of the flattened tensor has zeros around it, and that of
    // the halves needs both.
    QCOMPARE(alias("row/backward"), std::string("loss/backward"));
    QCOMPARE(alias("flat/backward"), std::string("none"));
    QCOMPARE(alias("halves/backward"), std::string("none"));
    options.memory = MemoryModel::exprimo;
    QCOMPARE(alias("flat"), std::string("none"));
}

void TestProblemMemory::problem_in_place_data() {
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

void TestProblemMemory::problem_in_place() {
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

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestProblemMemory)
#include "tst_problem_memory.moc"
