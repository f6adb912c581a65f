// SPDX-License-Identifier: MIT
// What the simulator allocates, counted by an operator new of this program.
#include <algorithm>
#include <cstdlib>
#include <new>

#include <QtTest>

#include "core/base/random.hpp"
#include "core/sim/simulator.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/spans.hpp"

namespace {

bool counting = false;
std::size_t allocations = 0;
std::size_t bytes_from_new = 0;

void* counted(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) {
    if (counting) {
        ++allocations;
        bytes_from_new += bytes;
    }
    const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
    if (void* memory = std::aligned_alloc(alignment, rounded)) return memory;
    throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) {
    return counted(bytes);
}
void* operator new[](std::size_t bytes) {
    return counted(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {  // std::stable_sort
    return counted(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return counted(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
    return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}

namespace placewright {

using test::kOrders, test::random_placement;

class TestSimulatorAllocation : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void run_allocates_nothing_data();
    void run_allocates_nothing();
    void many_batches();
};

void TestSimulatorAllocation::run_allocates_nothing_data() {
    QTest::addColumn<Order>("order");
    QTest::addColumn<bool>("legs");
    QTest::addColumn<bool>("streams");
    QTest::addColumn<bool>("network");
    QTest::addColumn<bool>("accumulates");
    QTest::newRow("simplest") << Order::fifo << false << false << false << false;
    QTest::newRow("cut-through, copy engines") << Order::fifo << true << false << false << false;
    QTest::newRow("streams") << Order::fifo << false << true << false << false;
    QTest::newRow("workspace") << Order::fifo << false << false << true << false;
    QTest::newRow("accumulation") << Order::fifo << false << false << false << true;
    for (const Order order : kOrders)
        QTest::addRow("all, %s", std::string(to_string(order)).c_str())
            << order << true << true << true << true;
}

void TestSimulatorAllocation::run_allocates_nothing() {
    QFETCH(Order, order);
    QFETCH(bool, legs);
    QFETCH(bool, streams);
    QFETCH(bool, network);
    QFETCH(bool, accumulates);
    test::MachineFeatures features{.streams = streams, .copy_engines = legs, .bus = legs};
    if (legs) features.crossing = Crossing::cut_through;
    ProblemOptions problem_options;
    problem_options.accumulate_gradients = accumulates;
    const auto problem =
        test::problem((network ? test::random_network : test::random_graph)(11, 300, 4, Training::implicit),
                      test::with_features(test::uniform_machine(4), 1, features), problem_options);
    if (network) QVERIFY(std::ranges::max(problem->workspace_bytes) > 0);
    Random random(2);
    std::vector<Placement> placements;
    for (int i = 0; i < 20; ++i) placements.push_back(random_placement(*problem, random));

    for (const std::uint32_t in_flight : {3U, 1U}) {
        Simulator simulator(problem, {.batches = 6, .in_flight = in_flight, .order = order});
        allocations = 0;
        counting = true;
        double sum_s = 0;
        for (const Placement& placement : placements) sum_s += simulator.run(placement).step_time_s;
        counting = false;
        QVERIFY(sum_s > 0);
        QCOMPARE(allocations, std::size_t{0});
    }

    counting = true;
    const Placement copy = placements[0];
    counting = false;
    QVERIFY2(allocations > 0, "the counter must count");
}

/// The peak memory of many batches is that of the batches in flight.
void TestSimulatorAllocation::many_batches() {
    const auto problem =
        test::problem(test::chain(2, 1e9, 1'000'000, Training::implicit), test::uniform_machine(2));
    for (const Order order : kOrders) {
        bytes_from_new = 0;
        counting = true;
        Simulator simulator(problem, {.batches = 1'000'000, .in_flight = 4, .order = order});
        counting = false;
        QVERIFY2(bytes_from_new < 100'000, qPrintable(QString::number(bytes_from_new)));
    }
}

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestSimulatorAllocation)
#include "tst_simulator_allocation.moc"
