// SPDX-License-Identifier: MIT
// Fits the parameters of the cost model of a device (core/machine/efficiencies.hpp) to measured times of ops.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/cost/op_work.hpp"
#include "core/machine/efficiencies.hpp"
#include "core/machine/machine.hpp"

namespace placewright {

/// An op of a training or inference graph that was measured on the device.
struct CalibrationSample {
    std::string op;         ///< its name, for the user
    std::string signature;  ///< op_signature() of its forward op
    OpWork work;
    double measured_s = 0;
    double before_s = 0;  ///< as the cost model predicts it without calibration
    double weight = 1;    ///< number of such ops that it stands for
};

struct CalibrationOptions {
    /// Share of the signatures that the fit does not see, in [0, 1). Which ones depends on their text alone.
    double held_out = 0.2;
    /// Where the fit starts for a device that has no efficiencies.
    Efficiencies start;
};

/// How far predictions of a set of samples are off, as shares of the measured times.
struct PredictionErrors {
    double median = 0;    ///< of |predicted / measured - 1|
    double weighted = 0;  ///< mean of |predicted / measured - 1|, by measured time
    double total = 0;     ///< predicted over measured time of all together, less 1
};

struct CalibrationPart {
    std::size_t samples = 0;
    double measured_s = 0;           ///< of all samples, by their weights
    PredictionErrors before, after;  ///< 0 without samples
};

struct CalibratedClass {
    WorkClass work_class = WorkClass::none;
    CalibrationPart fitted, held_out;
};

struct CalibratedParameter {
    std::string name;  ///< EfficiencyField::name, "peak_flops" or "memory_bandwidth"
    double before = 0, after = 0;
};

struct Calibration {
    Device device;  ///< with efficiencies of its own (calibrated())
    /// Those on which the fitted samples depend, and errors that the held-out samples show.
    std::vector<CalibratedParameter> parameters;
    std::vector<std::string> not_measured;  ///< parameters that keep their start values
    std::vector<CalibratedClass> classes;   ///< those with samples, in the order of WorkClass
    CalibrationPart fitted, held_out;       ///< all classes together, without WorkClass::none
    /// Ops of WorkClass::none, such as views, take no time in the cost model. What they took is no part of
    /// the figures above.
    std::size_t unpredicted = 0;
    double unpredicted_s = 0;
    struct Residual {
        bool held_out = false;
        double after_s = 0;
    };
    std::vector<Residual> residuals;  ///< [sample]
};

/// Called after each round of the fit with what is minimised (calibrate()).
using CalibrationProgress = std::function<void(std::size_t round, double value)>;

/// Fits the parameters to samples with a positive time. What is minimised is the weighted mean of
/// sqrt(e^2 + d^2) - d, e the logarithm of predicted over measured time and d = 0.3: squares of small errors,
/// sizes of large ones (Charbonnier and others, 1994), plus a small penalty on the squared logarithm of each
/// parameter over its start value, by the width of its prior. A class of ops weighs as the square root of
/// its time, so that small classes count and tiny ones do not decide what all share. Half of its weight goes
/// to the total of its ops, which steps are made of, half to the ops each, by their time. One parameter after
/// the other is moved by Brent's method, then all along the sum of these moves (Powell, 1964), until a round
/// gains nothing. The same samples give the same result.
///
/// Peak FLOP/s and bandwidth of a device of the catalogue stay. Those of a device that the machine file
/// describes alone are fitted with the shares: they get almost no penalty, so that they scale all ops, and
/// the shares say how classes differ.
///
/// error_* are the standard deviations of the total of a class, from the held-out samples: sqrt(m^2 + v / n),
/// with the mean m and the variance v of their logarithms by time, and the number n of signatures of equal
/// time that would vary as much: ops of one signature, wherever they are, and their gradients of the same
/// class are off alike, and count as one. error_device is that of all samples. Where fewer than 3 signatures,
/// or less than 5 % of the time, were held out, they stay.
///
/// Nothing if `stop` was requested. Throws std::invalid_argument if no sample is left to fit to.
std::optional<Calibration> calibrate(const Device& device, std::span<const CalibrationSample> samples,
                                     const CalibrationOptions& options = {}, std::stop_token stop = {},
                                     const CalibrationProgress& progress = {});

}  // namespace placewright
