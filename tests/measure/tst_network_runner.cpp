// SPDX-License-Identifier: MIT
// Networks that run with LibTorch: placed over devices they compute what one device computes, and gradients
// are those of autograd over the whole network.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <unistd.h>

#include <QtTest>
#include <sys/resource.h>

#include "core/graph/network_builder.hpp"
#include "core/graph/networks.hpp"
#include "core/measure/measurement.hpp"
#include "tests/support/graphs.hpp"

namespace placewright {
namespace {

constexpr std::array<std::int64_t, 3> kImage{3, 16, 16};

/// Convolutions with and without groups, norms, pools of all sorts, a residual sum, a concatenation, a
/// shifted image.
Graph convolutional() {
    NetworkBuilder net("convolutional", 2);
    Value x = net.input("image", kImage);
    x = net.relu("relu1",
                 net.batch_norm("bn1", net.conv2d("conv1", x, {.channels = 8, .window = {3, 1, 1}})));
    const Value a = net.conv2d("a", x, {.channels = 8, .window = {3, 1, 1}, .bias = true, .groups = 8});
    const Value b = net.conv2d("b", x, {.channels = 8, .window = {{1, 7}, 1, {0, 3}}});
    const Value c = net.avg_pool2d("c", net.shift("shift", x), {3, 1, 1});
    x = net.add("residual", net.relu("relu2", net.add("sum", a, b)), x);
    x = net.cat("cat", std::array{x, c, net.mul("gated", a, net.sigmoid("gate", b))});
    x = net.max_pool2d("pool", x, {3, 2, 1});
    x = net.dropout("dropout", net.flatten("flatten", net.adaptive_avg_pool2d("average", x, 4)));
    net.cross_entropy("loss", net.linear("classifier", x, 10));
    return net.build();
}

/// Attention, norms, a table that is read twice, an index, a slice of positions.
Graph attentive() {
    NetworkBuilder net("attentive", 2);
    const Value table = net.parameter("table", {11, 8});
    const Value tokens = net.tokens("tokens", 6);
    Value x = net.embedding("words", tokens, table);
    x = net.add("positions", x, net.embedding("places", net.tokens("place", 6), 6, 8));
    const Value q = net.linear("q", x, 8), k = net.linear("k", x, 8), v = net.linear("v", x, 8);
    x = net.layer_norm("norm", net.add("skip", x, net.attention("heads", q, k, v, 2)));
    x = net.add("skip2", x, net.linear("outer", net.gelu("gelu", net.linear("inner", x, 16)), 8));
    const Value first = net.tanh("tanh", net.linear("pooler", net.select("first", x), 8));
    net.cross_entropy("loss2", net.linear("classes", first, 3));
    net.cross_entropy("loss1", net.linear("logits", x, table));
    return net.build();
}

/// Steps of two recurrent layers with attention over the outputs of the first.
Graph recurrent() {
    NetworkBuilder net("recurrent", 2);
    const auto steps = net.unbind("steps", net.embedding("table", net.tokens("tokens", 3), 13, 4));
    const Value weights = net.lstm_weights("weights", 4, 4), second = net.lstm_weights("second", 8, 4);
    std::optional<LstmState> state, decoder;
    std::vector<Value> encoded, decoded;
    for (std::size_t k = 0; k < steps.size(); ++k) {
        state = net.lstm_cell("cell" + std::to_string(k), std::array{steps[k]}, state ? &*state : nullptr,
                              weights);
        encoded.push_back(state->hidden);
    }
    const Value memory = net.stack("memory", encoded);
    std::optional<Value> context;
    for (std::size_t k = 0; k < steps.size(); ++k) {
        const std::string at = "step" + std::to_string(k) + "/";
        std::vector<Value> parts{encoded[k]};
        if (context) parts.push_back(*context);
        decoder = net.lstm_cell(at + "cell", parts, decoder ? &*decoder : nullptr, second);
        const Value row = net.reshape(at + "row", decoder->hidden, {2, 1, 4});
        const Value scores = net.reshape(
            at + "scores",
            net.linear(at + "score", net.tanh(at + "tanh", net.add(at + "sum", memory, row)), 1, false),
            {2, 1, 3});
        context = net.reshape(at + "context",
                              net.bmm(at + "mix", net.softmax(at + "softmax", scores), memory), {2, 4});
        decoded.push_back(net.add(at + "residual", decoder->hidden, *context));
    }
    net.cross_entropy("loss", net.linear("logits", net.stack("outputs", decoded), 13));
    return net.build();
}

/// A slice and a halving, whose gradients are parts of those of their input.
Graph partial() {
    GraphBuilder net("partial", 2, Training::implicit);
    const auto add = [&](const char* name, const char* kind, std::vector<std::int64_t> shape,
                         std::vector<std::string> inputs, std::int64_t parameters = 0) {
        Op op;
        op.name = name;
        op.kind = kind;
        op.outputs = {make_tensor(std::move(shape))};
        op.parameter_bytes = 4 * parameters;
        net.add(std::move(op), std::move(inputs));
    };
    add("x", "input", {2, 6, 4}, {});
    add("y", "linear", {2, 6, 4}, {"x"}, 4 * 4 + 4);
    add("part", "slice", {2, 3, 4}, {"y"});
    add("one", "select", {2, 4}, {"y"});
    add("part2", "narrow", {2, 6, 2}, {"y"});
    add("mixed", "permute", {4, 2, 3}, {"part"});
    add("turned", "transpose", {2, 2, 6}, {"part2"});
    add("m", "mean", {2}, {"mixed"});
    add("n", "mean", {2}, {"turned"});
    add("o", "mean", {2}, {"one"});
    add("whole", "mean", {2}, {"y"});
    add("p", "mul", {2}, {"m", "n"});
    add("q", "div", {2}, {"p", "o"});
    add("r", "sub", {2}, {"q", "whole"});
    return net.build();
}

struct Case {
    const char* name;
    Graph (*make)();
};
constexpr std::array kCases{Case{"convolutional", convolutional}, Case{"attentive", attentive},
                            Case{"recurrent", recurrent}, Case{"partial", partial}};

std::unique_ptr<NetworkRunner> runner_of(const std::shared_ptr<const Problem>& problem,
                                         const Placement& placement) {
    NetworkRunnerOptions options;
    options.keeps_values = true;
    return measure_module().make_runner(problem, placement, std::vector<PhysicalDevice>(problem->devices),
                                        options);
}

struct Placed {
    Placed(std::shared_ptr<const Problem> of, Placement where)
        : problem(std::move(of)),
          placement(std::move(where)),
          executor(problem, make_execution_plan(problem, placement),
                   std::vector<PhysicalDevice>(problem->devices), runner_of(problem, placement)) {}

    void step() {
        StepRecord record;
        QVERIFY(executor.run_step(record));
    }
    std::vector<double> output(TensorId tensor) {
        return executor.runner().read_tensor(tensor, executor.plan().device_of[problem->producer[tensor]]);
    }

    std::shared_ptr<const Problem> problem;
    Placement placement;
    Executor executor;
};

/// Runs all of a problem with one device, and releases what is not needed any more.
Executor on_one_device(const std::shared_ptr<const Problem>& problem) {
    const Placement placement(problem->groups, 0);
    const std::vector<PhysicalDevice> devices(1);
    return {problem, make_execution_plan(problem, placement), devices,
            measure_module().make_runner(problem, placement, devices, {})};
}

bool are_close(const std::vector<double>& a, const std::vector<double>& b) {
    if (a.size() != b.size()) return false;
    double largest = 1e-6;
    for (const double value : b) largest = std::max(largest, std::abs(value));
    for (std::size_t k = 0; k < a.size(); ++k) {
        if (!(std::abs(a[k] - b[k]) <= 1e-4 * largest)) return false;
    }
    return true;
}

}  // namespace

class TestNetworkRunner : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void placedEqualsUnplaced_data() {
        QTest::addColumn<int>("network");
        QTest::addColumn<double>("states");
        QTest::addColumn<int>("recomputation");
        for (int k = 0; k < static_cast<int>(kCases.size()); ++k) {
            const std::string name = kCases[static_cast<std::size_t>(k)].name;
            QTest::addRow("%s", name.c_str()) << k << 1.0 << 0;
            QTest::addRow("%s, SGD", name.c_str()) << k << 0.0 << 0;
            QTest::addRow("%s, Adam, recomputed", name.c_str()) << k << 2.0 << 2;
        }
    }
    void placedEqualsUnplaced() {
        QFETCH(int, network);
        QFETCH(double, states);
        QFETCH(int, recomputation);
        ProblemOptions options;
        options.optimizer_states = states;
        options.recomputation = static_cast<Recomputation>(recomputation);
        const auto problem = test::problem(kCases[static_cast<std::size_t>(network)].make(),
                                           test::uniform_machine(3), options);
        QCOMPARE(measure_module().unsupported(*problem), std::vector<std::string>{});
        const bool hasSlices = kCases[static_cast<std::size_t>(network)].make == partial;
        Placed alone(problem, Placement(problem->groups, 0));
        Random random(7);
        for (int trial = 0; trial < 3; ++trial) {
            Placed placed(problem, test::random_placement(*problem, random));
            for (int step = 0; step < 3; ++step) {
                if (trial == 0) alone.step();
                placed.step();
            }
            std::size_t compared = 0, gradients = 0;
            for (TensorId tensor = 0; tensor < problem->tensors; ++tensor) {
                const std::vector<double> expected = alone.output(tensor);
                compare(placed.output(tensor), expected, hasSlices);
                for (const double value : expected) QVERIFY(std::isfinite(value));
                compared += expected.empty() ? 0 : 1;
            }
            for (OpId op = 0; op < problem->forward->size(); ++op) {
                const std::vector<double> expected = alone.executor.runner().read_gradient(op);
                compare(placed.executor.runner().read_gradient(op), expected, hasSlices);
                QCOMPARE(expected.empty(), problem->forward->op(op).parameter_bytes == 0);
                gradients += expected.empty() ? 0 : 1;
            }
            QVERIFY(compared > problem->forward->size());
            QVERIFY(gradients > 0);
        }
    }

    /// Autograd of the whole network in one piece, from the same parameters and random numbers.
    void gradientsAreThoseOfAutograd_data() {
        QTest::addColumn<int>("network");
        QTest::addColumn<int>("recomputation");
        for (int k = 0; k < static_cast<int>(kCases.size()); ++k) {
            const char* const name = kCases[static_cast<std::size_t>(k)].name;
            QTest::addRow("%s", name) << k << 0;
            // The masks of dropout that are recomputed are those of the forward pass.
            QTest::addRow("%s, recomputed", name) << k << 2;
        }
    }
    void gradientsAreThoseOfAutograd() {
        QFETCH(int, network);
        QFETCH(int, recomputation);
        ProblemOptions options;
        options.recomputation = static_cast<Recomputation>(recomputation);
        const auto problem = test::problem(kCases[static_cast<std::size_t>(network)].make(),
                                           test::uniform_machine(2), options);
        Random random(3);
        const Placement placement = test::random_placement(*problem, random);
        const auto expected = runner_of(problem, placement)->whole_gradients(0);
        Placed placed(problem, placement);
        placed.step();
        for (OpId op = 0; op < problem->forward->size(); ++op) {
            if (problem->forward->op(op).parameter_bytes == 0) continue;
            QVERIFY2(are_close(placed.executor.runner().read_gradient(op), expected[op]),
                     problem->forward->op(op).name.c_str());
            QVERIFY2(std::ranges::any_of(expected[op], [](double value) { return value != 0; }),
                     problem->forward->op(op).name.c_str());
        }
    }

    /// 2 x 2 numbers by hand: y = w x + b, and the loss is the mean of y.
    void aLinearMapByHand() {
        GraphBuilder net("hand", 1, Training::implicit);
        Op input;
        input.name = "x";
        input.kind = "input";
        input.outputs = {make_tensor({1, 2})};
        net.add(input, {});
        Op linear;
        linear.name = "y";
        linear.kind = "linear";
        linear.outputs = {make_tensor({1, 2})};
        linear.parameter_bytes = 4 * 6;
        net.add(linear, {"x"});
        Op mean;
        mean.name = "loss";
        mean.kind = "mean";
        mean.outputs = {make_tensor({})};
        net.add(mean, {"y"});
        const auto problem = test::problem(net.build(), test::uniform_machine(1));
        Placed placed(problem, Placement(problem->groups, 0));
        placed.step();
        const std::vector<double> x = placed.output(0), y = placed.output(1), loss = placed.output(2);
        QCOMPARE(x.size(), std::size_t{2});
        QCOMPARE(loss.front(), (y[0] + y[1]) / 2);
        const std::vector<double> gradient = placed.executor.runner().read_gradient(1);
        const std::vector<double> expected{x[0] / 2, x[1] / 2, x[0] / 2, x[1] / 2, 0.5, 0.5};
        QVERIFY(are_close(gradient, expected));
    }

    void recomputedMasksAreThoseOfTheForwardPass() {
        ProblemOptions options;
        options.recomputation = Recomputation::cheap;
        const auto problem = test::problem(convolutional(), test::uniform_machine(1), options);
        const auto again = problem->graph->find("dropout/recompute");
        QVERIFY(again);
        Placed placed(problem, Placement(problem->groups, 0));
        placed.step();
        const auto of = [&](OpId op) { return placed.output(problem->output_begin[op]); };
        const std::vector<double> first = of(*problem->graph->find("dropout"));
        QVERIFY(std::ranges::count(first, 0.0) > 0);
        QCOMPARE(of(*again), first);
        // Another step draws others.
        placed.step();
        QVERIFY(of(*problem->graph->find("dropout")) != first);
    }

    /// An input of indices that a table and a view read: the view does not say how many rows there are.
    void indicesReachAllRowsOfTheTable() {
        NetworkBuilder net("indices", 2);
        const Value tokens = net.tokens("tokens", 64);
        net.reshape("flat", tokens, {128});
        net.cross_entropy("loss", net.linear("linear", net.embedding("words", tokens, 11, 4), 3));
        const auto problem = test::problem(net.build(), test::uniform_machine(1));
        Placed placed(problem, Placement(problem->groups, 0));
        placed.step();
        const std::vector<double> indices =
            placed.output(problem->output_begin[*problem->graph->find("tokens")]);
        QCOMPARE(indices.size(), std::size_t{128});
        QCOMPARE(std::ranges::min(indices), 0.0);
        QCOMPARE(std::ranges::max(indices), 10.0);
    }

    /// A message of bytes takes no more than its bytes, also while it is made.
    void messagesAreMadeInTheirOwnType() {
        constexpr std::int64_t kBytes = 5'000'000;
        GraphBuilder net("message", 1, Training::none);
        Op source;
        source.name = "message";
        source.kind = "input";
        source.outputs = {make_tensor({kBytes}, DType::uint8)};
        net.add(std::move(source), {});
        const auto problem = test::problem(net.build(), test::uniform_machine(1));
        const auto runner = runner_of(problem, Placement(problem->groups, 0));
        const double peak = runner->peak_bytes()[0];
        QVERIFY2(peak >= kBytes && peak < 1.5 * kBytes, qPrintable(QString::number(peak)));
        runner->start_step(0);
        runner->run(0);
        const std::vector<double> numbers = runner->read_tensor(0, 0);
        QCOMPARE(numbers.size(), static_cast<std::size_t>(kBytes));
        const auto ones = std::ranges::count(numbers, 1.0);
        QCOMPARE(ones + std::ranges::count(numbers, 0.0), kBytes);
        QVERIFY(ones > kBytes / 3 && ones < 2 * kBytes / 3);
    }

    void tooLittleMemoryNamesDeviceAndOp() {
#ifdef __SANITIZE_ADDRESS__
        QSKIP("the sanitizer ends the program at an allocation of this size");
#endif
        GraphBuilder net("huge", 1, Training::none);
        Op source;
        source.name = "ocean";
        source.kind = "input";
        source.outputs = {make_tensor({1'000'000'000'000'000}, DType::uint8)};  // more than addresses
        net.add(std::move(source), {});
        const auto problem = test::problem(net.build(), test::uniform_machine(2));
        try {
            runner_of(problem, Placement(problem->groups, 1));
            QFAIL("it was made");
        } catch (const OutOfMemory& error) {
            QCOMPARE(error.device(), DeviceId{1});
            const std::string text = error.what();
            QVERIFY2(text.starts_with("device \"gpu:1\" has not enough memory for op \"ocean\" (") &&
                         text.find("allocate") != std::string::npos,
                     text.c_str());
        }
    }

    void inferenceRunsTheForwardOps() {
        ProblemOptions options;
        options.inference = true;
        const auto problem = test::problem(convolutional(), test::uniform_machine(2), options);
        Random random(5);
        Placed alone(problem, Placement(problem->groups, 0));
        Placed placed(problem, test::random_placement(*problem, random));
        alone.step();
        placed.step();
        for (TensorId tensor = 0; tensor < problem->tensors; ++tensor)
            QCOMPARE(placed.output(tensor), alone.output(tensor));
        // Dropout lets everything through.
        const OpId dropout = *problem->graph->find("dropout");
        QCOMPARE(placed.output(problem->output_begin[dropout]),
                 placed.output(problem->input[problem->input_begin[dropout]]));
    }

    void otherPrecisionsRun_data() {
        QTest::addColumn<int>("network");
        QTest::addColumn<bool>("autocast");
        for (int k = 0; k < 2; ++k) {
            QTest::addRow("%s, autocast", kCases[static_cast<std::size_t>(k)].name) << k << true;
            QTest::addRow("%s, bfloat16", kCases[static_cast<std::size_t>(k)].name) << k << false;
        }
    }
    void otherPrecisionsRun() {
        QFETCH(int, network);
        QFETCH(bool, autocast);
        ProblemOptions options;
        options.precision = autocast ? Precision::amp_bf16 : Precision::bf16;
        const auto problem = test::problem(kCases[static_cast<std::size_t>(network)].make(),
                                           test::uniform_machine(2), options);
        Random random(7);
        Placed alone(problem, Placement(problem->groups, 0));
        Placed placed(problem, test::random_placement(*problem, random));
        alone.step();
        placed.step();
        if (QTest::currentTestFailed()) return;
        for (OpId op = 0; op < problem->graph->size(); ++op) {
            if (problem->graph->op(op).phase == Phase::update)
                QCOMPARE(placed.executor.runner().read_gradient(problem->graph->op(op).forward_op),
                         alone.executor.runner().read_gradient(problem->graph->op(op).forward_op));
        }
    }

    /// A tensor that begins with page faults takes several times as long as the op that writes it.
    void memoryStaysWhileAPlacementRuns() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        QSKIP("sanitizers have their own allocator");
#endif
        constexpr std::int64_t kElements = 10'000'000;
        GraphBuilder net("large", 1, Training::none);
        std::string last;
        for (const char* name : {"x", "a", "b", "c"}) {
            Op op;
            op.name = name;
            op.kind = last.empty() ? "input" : "relu";
            op.outputs = {make_tensor({1, kElements})};
            net.add(std::move(op),
                    last.empty() ? std::vector<std::string>{} : std::vector<std::string>{last});
            last = name;
        }
        const auto problem = test::problem(net.build(), test::uniform_machine(1));
        Executor executor = on_one_device(problem);
        const auto step = [&] {
            StepRecord record;
            QVERIFY(executor.run_step(record));
        };
        const auto faults = [] {
            rusage usage{};
            getrusage(RUSAGE_SELF, &usage);
            return usage.ru_minflt;
        };
        step();
        step();
        const long before = faults();
        for (int k = 0; k < 4; ++k) step();
        const long pages = 4 * 3 * 4 * kElements / sysconf(_SC_PAGESIZE);
        QVERIFY2(faults() - before < pages / 10, qPrintable(QString::number(faults() - before)));
    }

    /// A transposed convolution, for which LibTorch has no kernel in bfloat16 on a CPU.
    void transposedConvolutionsRunInBfloat16() {
        GraphBuilder net("up", 2, Training::implicit);
        Op op;
        op.name = "x";
        op.kind = "input";
        op.outputs = {make_tensor({2, 4, 5, 5})};
        net.add(op, {});
        op.name = "y";
        op.kind = "conv_transpose2d";
        op.parameter_bytes = 4 * (4 * 3 * 9 + 3);
        op.flops = 2.0 * 200 * 27;
        op.outputs = {make_tensor({2, 3, 10, 10})};
        op.attributes = {{"kernel", "[3,3]"}, {"stride", "[2,2]"}, {"padding", "[1,1]"}};
        net.add(op, {"x"});
        const Graph graph = net.build();
        for (const Precision precision : {Precision::bf16, Precision::amp_bf16}) {
            ProblemOptions options;
            options.precision = precision;
            Placed placed(test::problem(graph, test::uniform_machine(1), options), Placement(2, 0));
            placed.step();
        }
    }

    /// What is kept is bounded, whatever the sizes of the tensors.
    void memoryThatIsKeptIsBounded() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        QSKIP("sanitizers have their own allocator");
#endif
        // Tensors of ten sizes, one after the other.
        constexpr std::int64_t kElements = 20'000'000;
        GraphBuilder net("uneven", 1, Training::none);
        const auto add = [&](const std::string& name, const char* kind, std::int64_t size,
                             const std::string& from) {
            Op op;
            op.name = name;
            op.kind = kind;
            op.outputs = {make_tensor({1, size})};
            op.attributes = {{"dim", "1"}, {"keepdim", "true"}};
            net.add(std::move(op),
                    from.empty() ? std::vector<std::string>{} : std::vector<std::string>{from});
        };
        add("x", "input", kElements, "");
        for (int k = 0; k < 10; ++k) {
            const std::string number = std::to_string(k);
            const std::int64_t size = kElements * (k + 5) / 15;
            add("part" + number, "narrow", size, "x");
            add("relu" + number, "relu", size, "part" + number);
            add("mean" + number, "mean", 1, "relu" + number);
        }
        measure_module();
        const auto resident = [] {
            std::ifstream file("/proc/self/statm");
            long all = 0, pages = 0;
            file >> all >> pages;
            return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE));
        };
        const double before = resident();
        const auto problem = test::problem(net.build(), test::uniform_machine(1));
        Executor executor = on_one_device(problem);
        double peak = 0;
        for (int k = 0; k < 3; ++k) {
            StepRecord record;
            QVERIFY(executor.run_step(record));
            peak = std::max(peak, record.peak_bytes[0]);
        }
        QVERIFY2(resident() - before < 1.5 * peak + 50e6,
                 qPrintable(QString::number(resident() - before) + " of " + QString::number(peak)));
    }

    /// All kinds and attributes of the shipped networks are known. Nothing is run.
    void shippedNetworksCanBeRun_data() {
        QTest::addColumn<QString>("name");
        for (const NetworkInfo& network : known_networks())
            QTest::addRow("%s", std::string(network.name).c_str())
                << QString::fromStdString(std::string(network.name));
    }
    void shippedNetworksCanBeRun() {
        QFETCH(QString, name);
        const auto problem =
            test::problem(find_network(name.toStdString())->build(2), test::uniform_machine(2));
        QCOMPARE(measure_module().unsupported(*problem), std::vector<std::string>{});
    }

    void whatCannotBeRunIsRefusedByName() {
        GraphBuilder net("odd", 1, Training::none);
        for (const char* name : {"first", "second"}) {
            Op op;
            op.name = name;
            op.kind = "my_secret_op";
            op.outputs = {make_tensor({1, 2})};
            net.add(op, {});
        }
        Op conv;
        conv.name = "conv";
        conv.kind = "conv2d";
        conv.outputs = {make_tensor({1, 2, 4, 4})};
        conv.parameter_bytes = 4 * 100;
        net.add(conv, {"image"});
        Op image;
        image.name = "image";
        image.kind = "input";
        image.outputs = {make_tensor({1, 2, 4, 4})};
        net.add(image, {});
        const auto problem = test::problem(net.build(), test::uniform_machine(1));
        const std::vector<PhysicalDevice> devices(1);
        try {
            measure(problem, Placement(problem->groups, 0), devices, {});
            QFAIL("it was run");
        } catch (const MeasureError& error) {
            const std::string text = error.what();
            QVERIFY2(text.find("3 ops of network \"odd\" cannot be run") != std::string::npos, text.c_str());
            QVERIFY2(text.find("op \"first\" (my_secret_op)") != std::string::npos, text.c_str());
            QVERIFY2(text.find("op \"conv\" (conv2d): the network file does not give its window") !=
                         std::string::npos,
                     text.c_str());
        }
    }

    void measurementsHoldAWholeStep() {
        const auto problem = test::problem(convolutional(), test::uniform_machine(2));
        Placement placement(problem->groups, 0);
        placement[problem->grouping.group_of[*problem->graph->find("b")]] = 1;
        MeasureOptions options;
        options.steps = 3;
        std::vector<std::uint32_t> told;
        const std::vector<PhysicalDevice> devices(2);
        const auto measured =
            measure(problem, placement, devices, options, {}, [&](std::uint32_t done, std::uint32_t all) {
                QCOMPARE(all, 4U);
                told.push_back(done);
            });
        QVERIFY(measured);
        QCOMPARE(told, (std::vector<std::uint32_t>{1, 2, 3, 4}));
        QCOMPARE(measured->run.step_times_s.size(), std::size_t{3});
        QCOMPARE(measured->run.placement, placement);
        QVERIFY(measured->step.low_s <= measured->step.median_s &&
                measured->step.median_s <= measured->step.high_s);
        std::size_t ops = 0, transfers = 0;
        double last = 0;
        for (const Span& span : measured->run.trace.spans) {
            ++(span.kind == Span::Kind::op ? ops : transfers);
            QVERIFY(span.queued_s <= span.start_s && span.start_s <= span.end_s);
            last = std::max(last, span.end_s);
        }
        QCOMPARE(ops, std::size_t{problem->ops});
        QCOMPARE(transfers, measured->transfers.size());
        QVERIFY(transfers >= 2);
        QCOMPARE(last, measured->step.median_s);
        QVERIFY(measured->fits);
        // Device 0 holds at least its parameters and their momentum, device 1 those of one convolution.
        const double parameters = static_cast<double>(totals(*problem->forward).parameter_bytes);
        const double moved =
            static_cast<double>(problem->forward->op(*problem->graph->find("b")).parameter_bytes);
        QVERIFY(measured->run.peak_bytes[0] >= 2 * (parameters - moved));
        QVERIFY(measured->run.peak_bytes[1] >= 2 * moved);
        QVERIFY(measured->run.peak_bytes[1] < measured->run.peak_bytes[0]);
        QVERIFY(measured->overhead_s && *measured->overhead_s > 0 && *measured->overhead_s < 1);
    }

    void stepsBeforeACancelCanBeKept() {
        const auto problem = test::problem(convolutional(), test::uniform_machine(1));
        const Placement alone(problem->groups, 0);
        for (const bool keeps : {false, true}) {
            std::stop_source stop;
            int told = 0;
            MeasureOptions options;
            options.steps = 100;
            options.keeps_steps = keeps;
            options.step_told = [&](double) {
                if (++told == 3) stop.request_stop();
            };
            const auto measured =
                measure(problem, alone, std::vector<PhysicalDevice>(1), options, stop.get_token());
            QCOMPARE(measured.has_value(), keeps);
            if (keeps) QCOMPARE(measured->run.step_times_s.size(), std::size_t{3});
        }
    }

    void gradientsStayUntilTheEndOfTheStep() {
        // The parameters are almost all of the memory.
        NetworkBuilder net("wide", 1);
        Value x = net.input("x", std::array<std::int64_t, 1>{500});
        for (const char* name : {"a", "b", "c", "d"}) x = net.linear(name, x, 500);
        net.cross_entropy("loss", x);
        const auto graph = net.build();
        const double parameters = static_cast<double>(totals(graph).parameter_bytes);
        double peaks[2] = {};
        for (const bool at_once : {false, true}) {
            ProblemOptions options;
            options.optimizer_in_backward = at_once;
            options.optimizer_states = 0;
            const auto problem = test::problem(graph, test::uniform_machine(1), options);
            MeasureOptions measuring;
            measuring.steps = 2;
            const auto measured =
                measure(problem, Placement(problem->groups, 0), std::vector<PhysicalDevice>(1), measuring);
            peaks[at_once] = measured->run.peak_bytes[0];
        }
        QVERIFY2(peaks[0] > 1.9 * parameters, qPrintable(QString::number(peaks[0] / parameters)));
        QVERIFY2(peaks[1] < 1.7 * parameters, qPrintable(QString::number(peaks[1] / parameters)));
    }

    void moreMemoryThanTheDeviceHasDoesNotFit() {
        const auto problem = test::problem(convolutional(), test::uniform_machine(1, 20'000));
        MeasureOptions options;
        options.steps = 1;
        const auto measured =
            measure(problem, Placement(problem->groups, 0), std::vector<PhysicalDevice>(1), options);
        QVERIFY(measured && !measured->fits);
    }

    void aMeasurementCanBeCancelled() {
        const auto problem = test::problem(convolutional(), test::uniform_machine(1));
        std::stop_source stop;
        MeasureOptions options;
        options.steps = 1'000'000;
        const auto measured = measure(problem, Placement(problem->groups, 0), std::vector<PhysicalDevice>(1),
                                      options, stop.get_token(), [&](std::uint32_t done, std::uint32_t) {
                                          if (done == 3) stop.request_stop();
                                      });
        QVERIFY(!measured);
    }

private:
    /// Copies of slices have other strides, and sums over them another order.
    static void compare(const std::vector<double>& found, const std::vector<double>& expected, bool rounded) {
        if (rounded) {
            QVERIFY(are_close(found, expected));
        } else {
            QCOMPARE(found, expected);
        }
    }
};

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestNetworkRunner)
#include "tst_network_runner.moc"
