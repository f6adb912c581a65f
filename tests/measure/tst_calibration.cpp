// SPDX-License-Identifier: MIT
// The fit of the cost model to measured times: samples are made by the model itself, with noise.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <stdexcept>
#include <stop_token>

#include <QtTest>

#include "core/base/random.hpp"
#include "core/cost/device_time.hpp"
#include "core/machine/device_model.hpp"
#include "core/measure/calibration.hpp"

namespace placewright {
namespace {

constexpr std::array kByteClasses{WorkClass::elementwise, WorkClass::norm, WorkClass::copy,
                                  WorkClass::reduction, WorkClass::update};

/// 1 TFLOP/s, 100 GB/s.
Device plain_device() {
    Device device;
    device.name = "cpu:0";
    device.kind = DeviceKind::cpu;
    device.model = "Made up";
    device.peak_flops = 1e12;
    device.memory_bandwidth = 1e11;
    device.memory_bytes = 1e10;
    return device;
}

Device listed_device() {
    DeviceModel model;
    model.model = "Listed";
    model.memory_bytes = 1e10;
    model.memory_bandwidth = 1e11;
    model.vector_flops[NumberType::fp32] = 1e12;
    model.efficiencies = std::make_shared<const Efficiencies>();
    Device device = device_of(std::make_shared<const DeviceModel>(std::move(model)));
    device.name = "gpu:0";
    return device;
}

/// What the device really reaches.
Efficiencies real_shares() {
    Efficiencies shares;
    shares.product_vector = 0.45;
    shares.half_depth = 30;
    shares.convolution_vector = 0.6;
    shares.convolution_gradient = 0.7;
    shares.elementwise = 0.4;
    shares.norm = 0.2;
    shares.copy = 0.3;
    shares.reduction = 0.25;
    shares.update = 0.6;
    shares.launch_s = 2e-5;
    return shares;
}

/// A size between the two, even in its logarithm.
double between(Random& random, double least, double most) {
    return std::round(least * std::pow(most / least, random.uniform()));
}

/// Ops of several classes with the times of `device`, off by a factor of e^(+-noise).
std::vector<CalibrationSample> samples_on(const Device& device, const Device& before, double noise,
                                          std::size_t count = 400) {
    Random random(7);
    std::vector<CalibrationSample> samples;
    for (std::size_t i = 0; i < count; ++i) {
        OpWork work;
        work.kernels = 1;
        const std::size_t kind = i % (2 + kByteClasses.size());
        if (kind < 2) {
            work.work_class = kind == 0 ? WorkClass::product : WorkClass::convolution;
            work.gradient = kind == 1 && i % 2 == 0;
            ProductShape& shape = work.products[0];
            shape.rows = between(random, 64, 8192);
            shape.columns = between(random, 16, 2048);
            shape.depth = between(random, 16, 2048);
            shape.flops = 2 * shape.rows * shape.columns * shape.depth;
            work.product_count = 1;
            work.flops = shape.flops;
            work.bytes = 4 * (shape.rows * shape.columns + (shape.rows + shape.columns) * shape.depth);
        } else {
            work.work_class = kByteClasses[kind - 2];
            work.bytes = between(random, 1e4, 1e8);
        }
        CalibrationSample sample;
        sample.op = "op " + std::to_string(i);
        sample.signature = "made up op " + std::to_string(i);
        sample.work = work;
        sample.measured_s = device_time_s(work, device) * std::exp(noise * (2 * random.uniform() - 1));
        sample.before_s = device_time_s(work, before);
        samples.push_back(std::move(sample));
    }
    return samples;
}

double value_of(const Calibration& found, const char* name) {
    const auto parameter = std::ranges::find(found.parameters, name, &CalibratedParameter::name);
    return parameter == found.parameters.end() ? -1 : parameter->after;
}

bool keeps(const Calibration& found, const char* name) {
    return std::ranges::find(found.not_measured, name) != found.not_measured.end();
}

class TestCalibration : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void predictionsAreRecovered();
    void figuresOfAnUnknownDevice();
    void aClassWithoutSamples();
    void theSameEachTime();
    void heldOutBySignature();
    void errorsOfHeldOutSamples();
    void viewsAreCountedApart();
    void nothingToFit();
    void stopped();
};

void TestCalibration::predictionsAreRecovered() {
    const Device start = listed_device(), real = calibrated(start, real_shares());
    const auto samples = samples_on(real, start, 0.05);
    const Calibration found = calibrate(start, samples).value();
    QVERIFY2(found.held_out.before.weighted > 0.2, "the test needs a start that is far off");
    QVERIFY(found.fitted.samples > 250 && found.held_out.samples > 40);
    QCOMPARE(found.fitted.samples + found.held_out.samples, samples.size());
    // The noise alone is 2.5 % on average.
    QVERIFY2(found.fitted.after.weighted < 0.04, qPrintable(QString::number(found.fitted.after.weighted)));
    QVERIFY2(found.held_out.after.weighted < 0.05,
             qPrintable(QString::number(found.held_out.after.weighted)));
    QCOMPARE(found.classes.size(), 2 + kByteClasses.size());
    for (const CalibratedClass& each : found.classes)
        QVERIFY2(each.fitted.after.weighted < 0.06 && each.held_out.after.weighted < 0.08,
                 qPrintable(QString::fromStdString(std::string(to_string(each.work_class)))));
    // The catalogue's figures stay, and the parameter of a class alone is found.
    QCOMPARE(found.device.peak_flops, start.peak_flops);
    QCOMPARE(found.device.memory_bandwidth, start.memory_bandwidth);
    QVERIFY(found.device.known->in_catalogue && found.device.known->own_efficiencies);
    QVERIFY(std::abs(value_of(found, "norm") - 0.2) < 0.02);
    QVERIFY(std::abs(value_of(found, "launch_s") / 2e-5 - 1) < 0.1);
    QCOMPARE(found.device.launch_overhead_s, value_of(found, "launch_s"));
    // The device predicts what the report says.
    for (std::size_t i = 0; i < samples.size(); ++i)
        QVERIFY(std::abs(device_time_s(samples[i].work, found.device) / found.residuals[i].after_s - 1) <
                1e-9);
}

void TestCalibration::figuresOfAnUnknownDevice() {
    // The machine file says a tenth of the speed and five times the bandwidth.
    const Device real = calibrated(plain_device(), real_shares());
    Device start = plain_device();
    start.peak_flops /= 10;
    start.memory_bandwidth *= 5;
    start.efficiency_by_kind["linear"] = 0.5;
    const auto samples = samples_on(real, calibrated(start, Efficiencies()), 0.05);
    const Calibration found = calibrate(start, samples).value();
    QVERIFY(found.held_out.before.weighted > 1);
    QVERIFY2(found.held_out.after.weighted < 0.06,
             qPrintable(QString::number(found.held_out.after.weighted)));
    QVERIFY(found.device.peak_flops > 3e11 && found.device.memory_bandwidth < 2e11);
    QCOMPARE(value_of(found, "peak_flops"), found.device.peak_flops);
    QCOMPARE(value_of(found, "memory_bandwidth"), found.device.memory_bandwidth);
    const DeviceModel& model = *found.device.known;
    QVERIFY(!model.in_catalogue);
    QCOMPARE(model.model, std::string("Made up"));
    QCOMPARE(model.peak_flops(), found.device.peak_flops);
    QVERIFY(found.device.efficiency_by_kind.empty());
    for (const EfficiencyField& field : efficiency_fields()) {
        const double value = (*model.efficiencies).*(field.value);
        QVERIFY2(value >= field.least && value <= field.most, std::string(field.name).c_str());
    }
    for (std::size_t i = 0; i < samples.size(); ++i)
        QVERIFY(std::abs(device_time_s(samples[i].work, found.device) / found.residuals[i].after_s - 1) <
                1e-9);
}

void TestCalibration::aClassWithoutSamples() {
    const Device start = listed_device(), real = calibrated(start, real_shares());
    const Calibration found = calibrate(start, samples_on(real, start, 0)).value();
    const Efficiencies& fitted = *found.device.known->efficiencies;
    for (const char* name : {"softmax", "gather", "scatter", "depthwise", "batched_product", "product_matrix",
                             "winograd", "cache_speed", "error_softmax", "error_gather"}) {
        QVERIFY2(keeps(found, name), name);
        QCOMPARE(value_of(found, name), -1.0);
        const auto field = std::ranges::find(efficiency_fields(), name, &EfficiencyField::name);
        QCOMPARE(fitted.*(field->value), Efficiencies().*(field->value));
    }
    QVERIFY(!keeps(found, "norm"));
    QVERIFY(!keeps(found, "error_norm"));
    // Each field is in one of the lists.
    QCOMPARE(found.parameters.size() + found.not_measured.size(), efficiency_fields().size());
}

void TestCalibration::theSameEachTime() {
    const Device start = listed_device(), real = calibrated(start, real_shares());
    const auto samples = samples_on(real, start, 0.2);
    const Calibration first = calibrate(start, samples).value(), second = calibrate(start, samples).value();
    QVERIFY(*first.device.known->efficiencies == *second.device.known->efficiencies);
    QVERIFY(first.device == second.device);
}

void TestCalibration::heldOutBySignature() {
    const Device start = listed_device();
    auto samples = samples_on(start, start, 0.1);
    // An op and its gradient.
    samples[1].signature = samples[0].signature;
    const auto parts = [&](double share) {
        CalibrationOptions options;
        options.held_out = share;
        std::map<std::string, std::vector<bool>> held_out;
        const Calibration found = calibrate(start, samples, options).value();
        for (std::size_t i = 0; i < samples.size(); ++i)
            held_out[samples[i].signature].push_back(found.residuals[i].held_out);
        return held_out;
    };
    const auto given = parts(0.2), more = parts(0.5);
    const auto twice = given.at(samples[0].signature);
    QCOMPARE(twice.size(), std::size_t{2});
    QCOMPARE(twice[0], twice[1]);
    std::ranges::reverse(samples);
    QVERIFY(parts(0.2) == given);
    // A larger share holds out the same ones, and more.
    std::size_t count = 0, larger = 0;
    for (const auto& [signature, flags] : given) {
        QVERIFY(!flags[0] || more.at(signature)[0]);
        count += flags[0] ? 1 : 0;
        larger += more.at(signature)[0] ? 1 : 0;
    }
    QVERIFY(count > 50 && count < 110);
    QVERIFY(larger > 160 && larger < 240);
    for (const auto& [signature, flags] : parts(0)) QVERIFY(!flags[0]);
}

void TestCalibration::errorsOfHeldOutSamples() {
    const Device start = listed_device(), real = calibrated(start, real_shares());
    const auto error = [&](double noise) {
        return value_of(calibrate(start, samples_on(real, start, noise)).value(), "error_norm");
    };
    const double small = error(0.02), large = error(1.2);
    QVERIFY(small >= 0.02 && small < 0.05);
    QVERIFY2(large > 2 * small, qPrintable(QString::number(large)));
    // Held-out samples of little time say nothing of the others.
    auto short_ones = samples_on(real, start, 0.02);
    const Calibration first = calibrate(start, short_ones).value();
    for (std::size_t i = 0; i < short_ones.size(); ++i) {
        if (short_ones[i].work.work_class == WorkClass::norm && first.residuals[i].held_out)
            short_ones[i].weight = 1e-6;
    }
    QVERIFY(keeps(calibrate(start, short_ones).value(), "error_norm"));
    // Samples of one signature are off alike: in ten parts they say no more.
    const auto whole = samples_on(real, start, 1.2);
    std::vector<CalibrationSample> parts;
    for (CalibrationSample sample : whole) {
        sample.weight /= 10;
        parts.insert(parts.end(), 10, sample);
    }
    const double of_parts = value_of(calibrate(start, parts).value(), "error_norm");
    QVERIFY2(std::abs(of_parts / large - 1) < 0.01, qPrintable(QString::number(of_parts)));
    // Nor do many samples of one signature alone say how far others are off.
    auto alike = whole;
    const Calibration split = calibrate(start, alike).value();
    std::string one;
    for (std::size_t i = 0; i < alike.size(); ++i) {
        if (alike[i].work.work_class != WorkClass::norm || !split.residuals[i].held_out) continue;
        if (one.empty()) one = alike[i].signature;
        alike[i].signature = one;
    }
    QVERIFY(!keeps(split, "error_norm"));
    QVERIFY(keeps(calibrate(start, alike).value(), "error_norm"));
    // Without held-out samples they stay.
    CalibrationOptions options;
    options.held_out = 0;
    const Calibration found = calibrate(start, samples_on(real, start, 0.02), options).value();
    QCOMPARE(found.held_out.samples, std::size_t{0});
    QVERIFY(keeps(found, "error_norm") && keeps(found, "error_device"));
}

void TestCalibration::viewsAreCountedApart() {
    const Device start = listed_device();
    auto samples = samples_on(start, start, 0, 50);
    const Calibration without = calibrate(start, samples).value();
    CalibrationSample view;
    view.op = view.signature = "view";
    view.measured_s = 3e-6;
    view.weight = 2;
    samples.push_back(view);
    const Calibration found = calibrate(start, samples).value();
    QCOMPARE(found.unpredicted, std::size_t{1});
    QCOMPARE(found.unpredicted_s, 6e-6);
    QCOMPARE(found.residuals.back().after_s, 0.0);
    QCOMPARE(found.fitted.measured_s, without.fitted.measured_s);
    QVERIFY(found.device == without.device);
}

void TestCalibration::nothingToFit() {
    const Device start = listed_device();
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, calibrate(start, {}));
    std::vector<CalibrationSample> views(3);
    for (CalibrationSample& view : views) view.measured_s = 1e-6;
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, calibrate(start, views));
}

void TestCalibration::stopped() {
    const Device start = listed_device(), real = calibrated(start, real_shares());
    const auto samples = samples_on(real, start, 0.05);
    std::stop_source stop;
    std::size_t rounds = 0;
    const auto found = calibrate(start, samples, {}, stop.get_token(), [&](std::size_t round, double error) {
        rounds = round;
        QVERIFY(error > 0);
        stop.request_stop();
    });
    QVERIFY(!found);
    QCOMPARE(rounds, std::size_t{1});
}

}  // namespace
}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestCalibration)
#include "tst_calibration.moc"
