// SPDX-License-Identifier: MIT
// What a framework takes of the memory beside the bytes of tensors.
#include <memory>
#include <numeric>

#include <QtTest>

#include "core/cost/framework_memory.hpp"
#include "core/cost/problem.hpp"
#include "core/machine/device_model.hpp"
#include "tests/support/costs.hpp"
#include "tests/support/graphs.hpp"

namespace placewright {

class TestFrameworkMemory : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void blocks_data();
    void blocks();
    void context();
    void context_of_the_whole_memory();
    void tables();
    void counts_on_real_gpus_alone();
};

namespace {

constexpr double kMebibyte = 1048576;

/// A CPU and a GPU of 10 GB; the catalogue knows both or neither.
Machine machine(bool known, bool unified = false) {
    auto model = std::make_shared<DeviceModel>();
    model->model = "Test";
    model->unified_memory = unified;
    model->efficiencies = std::make_shared<const Efficiencies>();
    model->vector_flops[NumberType::fp32] = 1e12;
    model->memory_bandwidth = 1e12;
    std::vector<Device> devices(2, test::device_of(1e12, 1e12, 1, 0));
    devices[0].name = "cpu:0";
    devices[0].kind = DeviceKind::cpu;
    for (Device& device : devices) {
        device.memory_bytes = 10e9;
        if (known) device.known = model;
    }
    return {"test", devices, {{"a", 1e9, 0, 1, {}}, {"b", 1e9, 0, 1, {}}}, {{0, 1, {0}}, {1, 0, {1}}}};
}

std::vector<double> limits(const Machine& machine, const ProblemOptions& options) {
    return test::problem(test::small_network(), machine, options)->memory_limit_bytes;
}

double resident(const Problem& problem) {
    return std::accumulate(problem.resident_bytes.begin(), problem.resident_bytes.end(), 0.0);
}

}  // namespace

void TestFrameworkMemory::blocks_data() {
    QTest::addColumn<double>("bytes");
    QTest::addColumn<double>("blocks");
    QTest::addColumn<double>("segments");
    QTest::newRow("nothing") << 0.0 << 0.0 << 0.0;
    QTest::newRow("one byte") << 1.0 << 512.0 << 512.0;
    QTest::newRow("a block") << 512.0 << 512.0 << 512.0;
    QTest::newRow("a block and a byte") << 513.0 << 1024.0 << 1024.0;
    const double shares = 10 * kMebibyte - 512, splits = 11 * kMebibyte - 512;
    QTest::newRow("shares a segment") << shares << shares << shares;
    QTest::newRow("a segment of its own") << 10 * kMebibyte << 10 * kMebibyte << 10 * kMebibyte;
    QTest::newRow("a rest that is lost") << 11 * kMebibyte << 11 * kMebibyte << 12 * kMebibyte;
    QTest::newRow("a rest that serves others") << splits << splits << splits;
    QTest::newRow("the same, rounded") << splits - 1 << splits << splits;
}

void TestFrameworkMemory::blocks() {
    QFETCH(double, bytes);
    QFETCH(double, blocks);
    QFETCH(double, segments);
    QCOMPARE(allocated_bytes(Allocator::none, bytes), bytes);
    QCOMPARE(allocated_bytes(Allocator::pytorch, bytes), blocks);
    QCOMPARE(allocated_bytes(Allocator::pytorch_segments, bytes), segments);
}

void TestFrameworkMemory::context() {
    ProblemOptions options;
    QCOMPARE(limits(machine(true), options), (std::vector<double>{10e9, 9.5e9}));
    options.usable_memory = 0.5;
    QCOMPARE(limits(machine(true), options), (std::vector<double>{5e9, 4.75e9}));
    options.usable_memory = 1;
    options.framework = Framework::none;
    QCOMPARE(limits(machine(true), options), (std::vector<double>{10e9, 10e9}));
    options.context_bytes = 1e9;
    QCOMPARE(limits(machine(true), options), (std::vector<double>{10e9, 9e9}));
    QCOMPARE(limits(machine(false), options), (std::vector<double>{10e9, 9e9}));
    options.framework = Framework::pytorch;
    options.context_bytes = 0;
    QCOMPARE(limits(machine(true), options), (std::vector<double>{10e9, 10e9}));
}

void TestFrameworkMemory::context_of_the_whole_memory() {
    ProblemOptions options;
    options.context_bytes = 10e9;
    try {
        limits(machine(true), options);
        QFAIL("nothing is left of the memory");
    } catch (const PlacementError& error) {
        QVERIFY2(QString(error.what()).contains("device \"gpu:0\" has 10.0 GB of memory"), error.what());
    }
}

// Memory is rounded, what is sent is not.
void TestFrameworkMemory::tables() {
    ProblemOptions options;
    const auto exact = test::problem(test::small_network(), machine(false), options);
    options.allocator = Allocator::pytorch;
    const auto rounded = test::problem(test::small_network(), machine(false), options);
    QCOMPARE(rounded->tensor_bytes, exact->tensor_bytes);
    QCOMPARE(rounded->transfer_s, exact->transfer_s);
    QCOMPARE(exact->copy_bytes, exact->tensor_bytes);
    QCOMPARE(rounded->tensor_bytes[1], 1000.0);
    QCOMPARE(rounded->copy_bytes[1], 1024.0);
    QCOMPARE(rounded->output_bytes[1], 1024.0);
    // Parameters and momentum of 600 and 80 bytes.
    QCOMPARE(resident(*exact), 2 * 680.0);
    QCOMPARE(resident(*rounded), 2 * (1024.0 + 512.0));
    options.accumulate_gradients = true;
    QCOMPARE(resident(*test::problem(test::small_network(), machine(false), options)), 3 * (1024.0 + 512.0));
    options.workspace_limit_bytes = 100;
    options.accumulate_gradients = false;
    const auto scratch = test::problem(test::small_network(), machine(false), options);
    for (const double bytes : scratch->workspace_bytes) QVERIFY(bytes == 0 || bytes == 512);
}

// What describes its devices itself, or repeats another system, keeps its figures.
void TestFrameworkMemory::counts_on_real_gpus_alone() {
    const auto counts = [](const Machine& machine, const ProblemOptions& options) {
        const auto problem = test::problem(test::small_network(), machine, options);
        const bool context = problem->memory_limit_bytes[1] < 10e9;
        const bool rounds = problem->allocator == Allocator::pytorch;
        return context && rounds ? 2 : context || rounds ? 1 : 0;
    };
    ProblemOptions options;
    QCOMPARE(counts(machine(true), options), 2);
    QCOMPARE(counts(machine(false), options), 0);
    QCOMPARE(counts(machine(true, true), options), 0);  // the memory is the CPU's too
    options.cost.model = find_cost_model("measured");
    QCOMPARE(counts(machine(true), options), 2);
    options.cost.model = find_cost_model("paleo");
    QCOMPARE(counts(machine(true), options), 0);
    options = {};
    options.memory = MemoryModel::exprimo;
    QCOMPARE(counts(machine(true), options), 0);
    options.allocator = Allocator::pytorch;
    QCOMPARE(counts(machine(true), options), 0);
    options = {};
    options.framework = Framework::none;
    QCOMPARE(counts(machine(true), options), 0);
    options = {};
    options.allocator = Allocator::none;
    QCOMPARE(counts(machine(true), options), 1);
}

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestFrameworkMemory)
#include "tst_framework_memory.moc"
