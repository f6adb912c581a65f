// SPDX-License-Identifier: MIT
// How far a step time may be off, from the errors of classes of ops and of devices.
#include <cmath>

#include <QTest>

#include "core/io/machines/device_catalogue_file.hpp"
#include "core/machine/device_model.hpp"
#include "core/sim/simulator.hpp"
#include "core/sim/step_error.hpp"
#include "tests/support/graphs.hpp"

namespace placewright {
namespace {

std::shared_ptr<const DeviceModel> model_of(const std::string& name, double device_error) {
    DeviceModel model;
    model.model = name;
    model.memory_bytes = 1e12;
    model.memory_bandwidth = 1e12;
    model.vector_flops[NumberType::fp32] = 1e12;
    Efficiencies shares;
    shares.error_device = device_error;
    shares.error_product = 0.2;
    shares.error_elementwise = 0.1;
    shares.half_depth = shares.half_width = shares.half_outputs_per_tflops = 0;
    model.efficiencies = std::make_shared<const Efficiencies>(shares);
    return std::make_shared<const DeviceModel>(model);
}

/// A linear map and an activation, in inference.
Graph two_ops() {
    GraphBuilder builder("two", 1, Training::none);
    const auto op = [](const char* name, const char* kind, double flops) {
        Op result;
        result.name = name;
        result.kind = kind;
        result.flops = flops;
        result.outputs = {make_tensor({1000, 1000})};
        return result;
    };
    builder.add(op("x", "input", 0), {});
    builder.add(op("product", "linear", 2e12), {"x"});
    builder.add(op("activation", "tanh", 1e6), {"product"});
    return builder.build();
}

/// A machine of two devices and no other.
Machine pair_of(const std::shared_ptr<const DeviceModel>& first,
                const std::shared_ptr<const DeviceModel>& second) {
    std::vector<Device> devices{device_of(first), device_of(second)};
    devices[0].name = "gpu:0";
    devices[1].name = "gpu:1";
    Channel channel;
    channel.name = "link";
    channel.bandwidth = 1e12;
    return Machine("pair", std::move(devices), {channel}, {{0, 1, {0}}, {1, 0, {0}}});
}

class TestStepError : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void one_class();
    void batches();
    void ratios();
    void host();
    void no_statement();
    void machine_file_alone();
    void wider_apart();
};

StepError error_of(const std::shared_ptr<const Problem>& problem, const Placement& placement) {
    const auto error = StepError::of(problem, placement, Simulator(problem).run(placement));
    if (!error) qFatal("no error");
    return *error;
}

void TestStepError::one_class() {
    const auto problem = test::problem(two_ops(), pair_of(model_of("A", 0.3), model_of("A", 0.3)));
    const StepError error = error_of(problem, Placement(problem->groups, 0));
    // Nearly all of the step is the product: its error, the device's, and 0.03 of every step.
    const double deviation = std::sqrt(0.2 * 0.2 + 0.3 * 0.3 + 0.03 * 0.03);
    QVERIFY(std::abs(error.deviation() / deviation - 1) < 0.01);
    const StepInterval interval = error.interval(2);
    QVERIFY(std::abs(interval.high_s / (2 * std::exp(1.2816 * deviation)) - 1) < 0.01);
    QVERIFY(std::abs(interval.low_s * interval.high_s - 4) < 1e-9);
    QVERIFY(std::abs(error.half_width() - (interval.high_s / 2 - 1)) < 1e-12);
}

// Transfers have the same share of the work in one batch and in many.
void TestStepError::batches() {
    const auto problem = test::problem(two_ops(), pair_of(model_of("A", 0.1), model_of("A", 0.1)));
    Placement placement(problem->groups, 0);
    placement.back() = 1;
    const auto deviation = [&](std::uint32_t batches) {
        SimulationOptions execution;
        execution.batches = batches;
        execution.in_flight = 2;
        const Outcome outcome = Simulator(problem, execution).run(placement);
        return StepError::of(problem, placement, outcome).value().deviation();
    };
    QVERIFY(std::abs(deviation(1) / deviation(64) - 1) < 1e-9);
}

void TestStepError::ratios() {
    // Devices of one model: what both placements have in common cancels. Of two models only the class does.
    const auto alike = test::problem(two_ops(), pair_of(model_of("A", 0.3), model_of("A", 0.3)));
    const Placement first(alike->groups, 0), second(alike->groups, 1);
    QVERIFY(error_of(alike, first).deviation_of_ratio(error_of(alike, second)) < 1e-12);
    QVERIFY(error_of(alike, first).deviation() > 0.3);
    const auto unlike = test::problem(two_ops(), pair_of(model_of("A", 0.3), model_of("B", 0.3)));
    const double apart = error_of(unlike, first).deviation_of_ratio(error_of(unlike, second));
    QVERIFY(std::abs(apart / std::sqrt(2 * (0.2 * 0.2 + 0.3 * 0.3)) - 1) < 0.01);
    // 80 % of a normal distribution lie within 1.28 deviations.
    const double half = error_of(unlike, first).half_width_of_ratio(error_of(unlike, second));
    QVERIFY(std::abs(std::log(1 + half) / apart - 1.2816) < 1e-3);
}

/// The host's time is off by half, in so far as the step is the host's.
void TestStepError::host() {
    const auto problem = test::problem(test::chain(20), test::uniform_machine(1));
    const Placement placement(problem->groups, 0);
    const double kernels_s = Simulator(problem).run(placement).step_time_s;
    const auto error = [&](double host_time_s) {
        const SimulationOptions options{.runtime = Runtime::eager, .host_time_s = host_time_s};
        return *StepError::of(problem, placement, Simulator(problem, options).run(placement), options);
    };
    const double ideal = error_of(problem, placement).deviation();
    QVERIFY(std::abs(error(kernels_s / 1e4).deviation() / ideal - 1) < 0.01);
    QVERIFY(std::abs(error(kernels_s).deviation() / std::hypot(0.5, 0.03) - 1) < 0.05);
    // Two steps of one host have its error in common.
    QVERIFY(error(kernels_s).deviation_of_ratio(error(kernels_s)) < 1e-12);
}

void TestStepError::no_statement() {
    for (const char* id : {"paleo", "exprimo"}) {
        ProblemOptions options;
        options.cost.model = find_cost_model(id);
        const auto problem =
            test::problem(two_ops(), pair_of(model_of("A", 0.1), model_of("A", 0.1)), options);
        const Placement placement(problem->groups, 0);
        QVERIFY(!StepError::of(problem, placement, Simulator(problem).run(placement)));
    }
}

void TestStepError::machine_file_alone() {
    // A device that the catalogue does not know, and a measured op.
    Graph graph = two_ops();
    const auto problem = test::problem(graph, test::uniform_machine(1));
    const Placement placement(problem->groups, 0);
    QVERIFY(std::abs(error_of(problem, placement).deviation() / std::hypot(0.3, 0.03) - 1) < 0.01);

    // Times on a CPU are known no better than on one of the catalogue.
    Device cpu = problem->machine->device(0);
    cpu.kind = DeviceKind::cpu;
    const double described =
        error_of(test::problem(graph, Machine("described", {cpu}, {}, {})), placement).deviation();
    Device known = device_of(shipped_devices().find_device("EPYC 7302"));
    known.name = "cpu:0";
    const double catalogued =
        error_of(test::problem(graph, Machine("known", {known}, {}, {})), placement).deviation();
    QVERIFY2(described >= catalogued, qPrintable(QString::number(catalogued)));

    GraphBuilder builder("measured", 1, Training::none);
    Op op;
    op.name = "op";
    op.kind = "linear";
    op.outputs = {make_tensor({8})};
    op.time_s[problem->machine->device(0).model].forward_s = 1;
    builder.add(op, {});
    ProblemOptions options;
    options.cost.model = find_cost_model("measured");
    const auto measured = test::problem(builder.build(), test::uniform_machine(1), options);
    QVERIFY(std::abs(error_of(measured, Placement{0}).deviation() / std::hypot(0.05, 0.03) - 1) < 0.01);
}

void TestStepError::wider_apart() {
    double last = 0;
    for (const double error : {0.0, 0.1, 0.2, 0.4}) {
        const auto with = test::problem(two_ops(), pair_of(model_of("A", error), model_of("A", error)));
        const double half = error_of(with, Placement(with->groups, 0)).half_width();
        QVERIFY(half > last);
        last = half;
    }
}

}  // namespace
}  // namespace placewright

QTEST_APPLESS_MAIN(placewright::TestStepError)
#include "tst_step_error.moc"
