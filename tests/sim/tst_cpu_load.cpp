// SPDX-License-Identifier: MIT
// A CPU that takes most of the step.
#include <QtTest>

#include "core/sim/cpu_load.hpp"
#include "tests/support/graphs.hpp"

namespace placewright {
namespace {

/// A CPU of a tenth of the speed of the GPU, or two GPUs.
Machine machine(bool cpu, bool gpu = true) {
    const Machine pair = test::uniform_machine(2);
    std::vector<Device> devices(pair.devices().begin(), pair.devices().end());
    if (cpu) {
        devices[0].name = "cpu:0";
        devices[0].kind = DeviceKind::cpu;
        devices[0].peak_flops = devices[1].peak_flops / 10;
    }
    if (!gpu) {
        devices[1].name = "cpu:1";
        devices[1].kind = DeviceKind::cpu;
    }
    return {"pair",
            devices,
            {pair.channels().begin(), pair.channels().end()},
            {pair.routes().begin(), pair.routes().end()}};
}

std::optional<CpuLoad> load_of(const Problem& problem, const Placement& placement) {
    const auto shared = std::make_shared<const Problem>(problem);
    return dominating_cpu(problem, placement, Simulator(shared, {}).run(placement));
}

}  // namespace

class TestCpuLoad : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void dominates();
    void onlyWhereThereIsAnAccelerator();
    void opsThatMayRunNowhereElse();
    void onlyWhereAnAcceleratorIsFaster();
};

// A CPU that is as fast as the GPU may do half of the work.
void TestCpuLoad::onlyWhereAnAcceleratorIsFaster() {
    Machine fast = machine(true);
    std::vector<Device> devices(fast.devices().begin(), fast.devices().end());
    devices[0].peak_flops = devices[1].peak_flops;
    fast = {"pair",
            devices,
            {fast.channels().begin(), fast.channels().end()},
            {fast.routes().begin(), fast.routes().end()}};
    QVERIFY(!load_of(*test::problem(test::chain(12), fast), Placement(12, 0)).has_value());
}

// Ops of 1 ms on the GPU and 10 ms on the CPU, which send 1 MB in 1 ms.
void TestCpuLoad::dominates() {
    const auto problem = test::problem(test::chain(12), machine(true));
    QVERIFY(!load_of(*problem, Placement(12, 1)).has_value());
    Placement one(12, 1);
    one.back() = 0;
    // 10 of 22 ms.
    QVERIFY(!load_of(*problem, one).has_value());
    Placement two = one;
    two[10] = 0;
    const auto load = load_of(*problem, two);
    QVERIFY(load.has_value());
    QCOMPARE(load->device, DeviceId{0});
    QCOMPARE(load->ops, 2U);
    QCOMPARE(load->all_ops, 12U);
    QCOMPARE(load->bound, 0U);
    QCOMPARE(load->share, 20.0 / 31);
    QCOMPARE(to_text(*load, *problem),
             std::string("cpu:0 runs 2 of 12 ops and takes 65 % of the step: place them on accelerators, or "
                         "make room for them there"));
}

void TestCpuLoad::onlyWhereThereIsAnAccelerator() {
    QVERIFY(!load_of(*test::problem(test::chain(12), machine(true, false)), Placement(12, 0)).has_value());
    QVERIFY(!load_of(*test::problem(test::chain(12), machine(false)), Placement(12, 0)).has_value());
    QVERIFY(load_of(*test::problem(test::chain(12), machine(true)), Placement(12, 0)).has_value());
}

void TestCpuLoad::opsThatMayRunNowhereElse() {
    GraphBuilder builder("some", 1, Training::none);
    for (const char* name : {"a", "b", "c"}) {
        Op op = test::chain(1).op(0);
        op.name = name;
        if (op.name == "b") op.devices = {"cpu"};
        builder.add(op, op.name == "a" ? std::vector<std::string>{} : std::vector<std::string>{"a"});
    }
    const auto some = test::problem(builder.build(), machine(true));
    const auto load = load_of(*some, Placement{1, 0, 0});
    QVERIFY(load.has_value());
    QCOMPARE(load->bound, 1U);
    QVERIFY(to_text(*load, *some).find("1 of them may run on CPUs alone") != std::string::npos);
    const auto all = load_of(*some, Placement{1, 0, 1});
    QVERIFY(all.has_value());
    QVERIFY(to_text(*all, *some).find(": they may run on CPUs alone") != std::string::npos);
}

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestCpuLoad)
#include "tst_cpu_load.moc"
